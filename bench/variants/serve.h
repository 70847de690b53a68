/* serve.h: everything that a variant does with its lock held, once for all of them. A variant adds
 * where else, outside the FIFO, a waiter can be, and what is done without the lock.
 *
 * Labels: grant */
#ifndef VOLT_VARIANTS_SERVE_H
#define VOLT_VARIANTS_SERVE_H

#include "core/futex.h"
#include "core/permits.h"
#include "state.h"

/* ---- a waiter's two ends ---- */

/* A waiter that nobody else can reach any more, and that has not been told yet. */
typedef struct volt_variant_claim_ {
  volt_waiter *waiter;
  volt_waiter *node; /* what stood in the FIFO for it: the waiter itself, or memory to be freed */
  volt_waker waker;
  uint32_t state; /* what it will be told: VOLT_WAITER_GRANTED_ or VOLT_WAITER_CLOSED_ */
  uint32_t id;
} volt_variant_claim_;

typedef struct volt_batch_ {
  unsigned count;
  volt_variant_claim_ claims[VOLT_WAKE_BATCH];
} volt_batch_;

/* Make *w, unused or completed, wait for n permits of object. name: for the message, if it is in
 * use. The owner's own until it is linked. */
void volt_waiter_prepare_(const char *name, void *object, volt_waiter *w, uint32_t n,
                          volt_waker waker);

/* What must be known of *w once it has been told: taken before. */
volt_variant_claim_ volt_variant_claim_of_(volt_waiter *w, volt_waiter *node, uint32_t state);

/* The grant, as grant.c has it: the last access to *w. */
static inline void volt_variant_grant_(volt_waiter *w, uint32_t state) {
  /* relaxed: a hint (grant.c R8) */
  bool sleeps = volt_load_relaxed(&w->state) == VOLT_WAITER_AWAITED_;
  /* grant:G1 -> grant:W1: the owner sees all that this thread did before the grant */
  volt_store_release(&w->state, state);
  if (sleeps) volt_futex_wake32_(&w->state, 1); /* by address only */
}

/* Nothing is held. Tell all of them, then give their nodes to spent() (or NULL), then call all
 * their wakers. No foreign code runs before the last of them has been told. */
void volt_publish_(const volt_variant_claim_ *claims, unsigned count,
                   void (*spent)(volt_waiter *node));

/* Permits given and permits there cannot be more than VOLT_SEM_MAX: else abort. */
void volt_check_excess_(const char *name, const void *object, uint32_t given, uint32_t there);

/* ---- with the lock held ---- */

/* What is different. The line is the first member of the semaphore that it is cast back to. The
 * lock is held in all of them but acquire(), cancel() and spent(). */
typedef struct volt_variant_ {
  const char *name; /* for messages */
  /* Give *w what it needs and nobody waits for. Returns VOLT_OK: all of it; VOLT_PENDING: w->need
   * is still missing, and no permit is left to take; VOLT_ECLOSED: nothing. */
  int (*take)(volt_line_ *line, volt_waiter *w);
  /* Bring whoever waits elsewhere into the FIFO, in order of arrival (NULL: nobody does). */
  void (*gather)(volt_line_ *line);
  /* The FIFO has been served. If it is empty, hand permits are there for all; returns false if
   * they could not be put there since somebody has queued. If it is not, hand stays in the
   * caller's hand, and a waiter may be moved elsewhere. */
  bool (*settle)(const struct volt_variant_ *v, volt_line_ *line, uint32_t hand);
  bool (*is_closed)(volt_line_ *line);
  void (*close)(volt_line_ *line);
  int (*acquire)(const struct volt_variant_ *v, volt_line_ *line, volt_waiter *w, uint32_t n,
                 volt_waker waker);
  bool (*cancel)(const struct volt_variant_ *v, volt_line_ *line, volt_waiter *w);
  volt_waiter *(*claim)(volt_waiter *node); /* who waits by this node (NULL: the node itself) */
  void (*spent)(volt_waiter *node);         /* its end, with nothing held (NULL: none) */
} volt_variant_;

/* Each as the function of volt/semaphore.h that it stands behind. */
int volt_line_acquire_(const volt_variant_ *v, volt_line_ *line, volt_waiter *w, uint32_t n,
                       volt_waker waker);
int volt_line_acquire_blocking_(const volt_variant_ *v, volt_line_ *line, uint32_t n,
                                uint64_t deadline_ns);
bool volt_line_cancel_(const volt_variant_ *v, volt_line_ *line, volt_waiter *w);
bool volt_line_set_waker_(const volt_variant_ *v, volt_line_ *line, volt_waiter *w,
                          volt_waker waker);
void volt_line_close_(const volt_variant_ *v, volt_line_ *line);
uint32_t volt_line_waiters_(const volt_variant_ *v, volt_line_ *line);

/* The same, for a waiter in whose place node is linked. */
bool volt_line_cancel_node_(const volt_variant_ *v, volt_line_ *line, volt_waiter *w,
                            volt_waiter *node);
bool volt_line_set_node_waker_(const volt_variant_ *v, volt_line_ *line, volt_waiter *w,
                               volt_waiter *node, volt_waker waker);

/* The second half of acquire: *w is prepared. */
int volt_line_queue_(const volt_variant_ *v, volt_line_ *line, volt_waiter *w);

/* Give hand permits. claimed: a waiter that the caller has taken out with its last permit, to be
 * told with the others when the lock is left, or NULL. */
void volt_line_release_(const volt_variant_ *v, volt_line_ *line, volt_waiter *claimed,
                        uint32_t hand);

/* The first half of cancel, for forms that try something of their own next. Returns true if *w has
 * completed or was never queued, and in *cancelled what cancel() is to return. Else *w is or was
 * queued here (checked). */
bool volt_line_cancel_done_(const volt_variant_ *v, volt_line_ *line, volt_waiter *w,
                            bool *cancelled);

void volt_line_init_(const volt_variant_ *v, volt_line_ *line, uint32_t permits);
/* Aborts if somebody waits; waits for whoever holds the lock, or will be back. */
void volt_line_destroy_(const volt_variant_ *v, volt_line_ *line);

/* ---- permits in a word of their own ---- */

/* Members of volt_variant_: see serve.h. The line is that of a volt_variant_pool_. */
int volt_variant_pool_take_(volt_line_ *line, volt_waiter *w);
bool volt_variant_pool_settle_(const volt_variant_ *v, volt_line_ *line, uint32_t hand);
bool volt_variant_pool_is_closed_(volt_line_ *line);
void volt_variant_pool_close_(volt_line_ *line);

/* As the available() of a variant. */
uint32_t volt_variant_pool_available_(volt_variant_pool_ *pool);

void volt_variant_pool_init_(const volt_variant_ *v, volt_variant_pool_ *pool, uint32_t permits);

#endif
