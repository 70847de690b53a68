/* serve.h: a waiter's two ends, what a variant does with its lock held, and permits in a word of
 * their own; each once for all variants. A variant adds where else, outside the FIFO, a waiter can
 * be, and what it does without the lock.
 *
 * Labels: grant (what is inline here is the grant of grant.c, and has its pair there) */
#ifndef VOLT_VARIANTS_SERVE_H
#define VOLT_VARIANTS_SERVE_H

#include "core/os/futex.h"
#include "core/wait/permits.h"
#include "state.h"

/* ---- a waiter's two ends ---- */

/* A waiter that is unlinked and not granted yet, so it is its granter's alone; and a copy of all
 * that the granter needs when it is granted. */
typedef struct volt_variant_claim_ {
  volt_waiter *waiter;
  volt_waiter *node; /* what was linked for it: the waiter itself, or memory to be freed */
  volt_waker waker;
  uint32_t state; /* its outcome: VOLT_WAITER_GRANTED_ or VOLT_WAITER_CLOSED_ */
  uint8_t use;
} volt_variant_claim_;

typedef struct volt_batch_ {
  unsigned count;
  volt_variant_claim_ claims[VOLT_WAKE_BATCH];
} volt_batch_;

/* Make *w, unused or completed, a waiter for n permits of object. It is its owner's alone until it
 * is linked. Aborts if it is in use; name: of the primitive, for the message. */
void volt_waiter_prepare_(const char *name, void *object, volt_waiter *w, uint32_t n,
                          volt_waker waker);

/* Copy what the granter of *w needs. node: what is linked for it. */
volt_variant_claim_ volt_variant_claim_of_(volt_waiter *w, volt_waiter *node, uint32_t state);

/* Store the outcome into *w, as grant.c does. The last access to *w. */
static inline void volt_variant_grant_(volt_waiter *w, uint32_t state) {
  /* relaxed: a hint; an owner that sleeps after this load wakes up by itself (grant.c R8) */
  bool sleeps = volt_load_relaxed(&w->state) == VOLT_WAITER_AWAITED_;
  /* grant:G1 -> grant:W1: the owner sees all that this thread did before the grant */
  volt_store_release(&w->state, state);
  if (sleeps) volt_futex_wake32_(&w->state, 1); /* uses the address only */
}

/* Grant every claimed waiter, then pass their nodes to spent() (unless NULL), then call their
 * wakers. No waker runs before the last waiter is granted. The caller holds no lock. */
void volt_publish_(const volt_variant_claim_ *claims, unsigned count,
                   void (*spent)(volt_waiter *node));

/* Abort if the permits that are given back and those that are there exceed VOLT_SEM_MAX. */
void volt_check_excess_(const char *name, const void *object, uint32_t given, uint32_t there);

/* ---- with the lock held ---- */

/* What differs between the variants. The line is the first member of the semaphore, to which it is
 * cast back. The lock is held in all of them except acquire(), cancel() and spent(). */
typedef struct volt_variant_ {
  const char *name; /* for messages */
  /* Take for *w what is free. Returns VOLT_OK: all it needs; VOLT_PENDING: w->need is still
   * missing, and no permit is free; VOLT_ECLOSED: nothing. */
  int (*take)(volt_line_ *line, volt_waiter *w);
  /* Move waiters that are elsewhere into the FIFO, in order of arrival. NULL: there are none. */
  void (*gather)(volt_line_ *line);
  /* The FIFO has been served, and hand permits are left. If it is empty, make them free; returns
   * false if that failed because a waiter has queued. If it is not empty, the caller keeps them,
   * and a waiter may be moved elsewhere. */
  bool (*settle)(const struct volt_variant_ *v, volt_line_ *line, uint32_t hand);
  bool (*is_closed)(volt_line_ *line);
  void (*close)(volt_line_ *line);
  int (*acquire)(const struct volt_variant_ *v, volt_line_ *line, volt_waiter *w, uint32_t n,
                 volt_waker waker);
  bool (*cancel)(const struct volt_variant_ *v, volt_line_ *line, volt_waiter *w);
  volt_waiter *(*claim)(volt_waiter *node); /* the waiter of this node (NULL: the node itself) */
  void (*spent)(volt_waiter *node);         /* free it; no lock is held (NULL: nothing) */
} volt_variant_;

/* Each as the function of volt/semaphore.h that it implements. */
int volt_line_acquire_(const volt_variant_ *v, volt_line_ *line, volt_waiter *w, uint32_t n,
                       volt_waker waker);
int volt_line_acquire_until_(const volt_variant_ *v, volt_line_ *line, uint32_t n,
                             uint64_t deadline_ns);
bool volt_line_cancel_(const volt_variant_ *v, volt_line_ *line, volt_waiter *w);
bool volt_line_set_waker_(const volt_variant_ *v, volt_line_ *line, volt_waiter *w,
                          volt_waker waker);
void volt_line_close_(const volt_variant_ *v, volt_line_ *line);
uint32_t volt_line_waiters_(const volt_variant_ *v, volt_line_ *line);

/* The same for a waiter for which node is linked. */
bool volt_line_cancel_node_(const volt_variant_ *v, volt_line_ *line, volt_waiter *w,
                            volt_waiter *node);
bool volt_line_set_node_waker_(const volt_variant_ *v, volt_line_ *line, volt_waiter *w,
                               volt_waiter *node, volt_waker waker);

/* The second half of acquire: *w is prepared. */
int volt_line_queue_(const volt_variant_ *v, volt_line_ *line, volt_waiter *w);

/* Give back hand permits. claimed: NULL, or a waiter that the caller has claimed and served, to be
 * granted with the others. */
void volt_line_release_(const volt_variant_ *v, volt_line_ *line, volt_waiter *claimed,
                        uint32_t hand);

/* The first half of cancel, for variants that try something of their own next. Returns true if *w
 * has completed or was never queued, and in *cancelled what cancel() is to return. Else *w is or
 * was queued here (checked). */
bool volt_line_cancel_done_(const volt_variant_ *v, volt_line_ *line, volt_waiter *w,
                            bool *cancelled);

void volt_line_init_(const volt_variant_ *v, volt_line_ *line, uint32_t permits);
/* Aborts if a thread waits. Waits for a thread that holds the lock or will take it again. */
void volt_line_destroy_(const volt_variant_ *v, volt_line_ *line);

/* ---- permits in a word of their own ---- */

/* Members of a volt_variant_. The line is that of a volt_variant_pool_. */
int volt_variant_pool_take_(volt_line_ *line, volt_waiter *w);
bool volt_variant_pool_settle_(const volt_variant_ *v, volt_line_ *line, uint32_t hand);
bool volt_variant_pool_is_closed_(volt_line_ *line);
void volt_variant_pool_close_(volt_line_ *line);

/* The available() of a variant. */
uint32_t volt_variant_pool_available_(volt_variant_pool_ *pool);

void volt_variant_pool_init_(const volt_variant_ *v, volt_variant_pool_ *pool, uint32_t permits);

#endif
