/* serve.h: everything that a variant does with its lock held, once for all of them. A variant adds
 * where else, outside the FIFO, a waiter can be, and what is done without the lock. */
#ifndef VOLT_VARIANTS_SERVE_H
#define VOLT_VARIANTS_SERVE_H

#include "state.h"
#include "variant_grant.h"

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

#endif
