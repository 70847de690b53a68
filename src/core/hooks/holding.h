/* holding.h: how a primitive says that its caller has taken something, or gives it back (holders.c
 * keeps the books). Without VOLT_SIGHT nothing is said: each of these is nothing then. */
#ifndef VOLT_CORE_HOOKS_HOLDING_H
#define VOLT_CORE_HOOKS_HOLDING_H

#include <volt/detail/fifo.h>
#include <volt/detail/holders.h>

#include "../park/blocker.h"

#if VOLT_SIGHT

/* How a mutex and a rwlock begin. */
typedef struct volt_with_holder_ {
  volt_fifo_ queue;
  uint32_t bypass;
  volt_holder_ holder;
} volt_with_holder_;

/* Beside a type that begins so. */
#define VOLT_HAS_HOLDER_(type)                                                         \
  VOLT_STATIC_ASSERT_(offsetof(type, holder) == offsetof(volt_with_holder_, holder) && \
                          offsetof(type, queue) == offsetof(volt_with_holder_, queue), \
                      #type " has its owner at another place")

/* What can be held. Offsets are from its FIFO, which it begins with. */
typedef struct volt_holdable_ {
  uint32_t alone;  /* a party with so many permits has the object alone; 0: none has */
  uint16_t holder; /* a volt_holder_; if alone is not 0 */
  uint16_t kept;   /* of a semaphore; else 0 */
} volt_holdable_;

/* .holds of a table: what a grant of it gives to hold. */
#define VOLT_HOLDS_(holdable) (holdable)

/* This party has taken n permits of *object, or is about to release them. */
VOLT_SIGHT_API_ void volt_holdable_took_(const volt_holdable_ *h, void *object, uint32_t n);
VOLT_SIGHT_API_ void volt_holdable_releasing_(const volt_holdable_ *h, void *object, uint32_t n);

/* This party is about to wait for *object, and nothing but a release ends that: abort if it holds the
 * object alone itself. Not if the object was ever passed on: a mutex may be unlocked by another than
 * the one that has locked it. */
VOLT_SIGHT_API_ void volt_holdable_check_relock_(const volt_holdable_ *h, const void *object,
                                                 const char *call);

/* What is known of *object in this party, behind a message: where the call stands, and where it was
 * taken. */
void volt_holder_describe_(const void *object, char *text, size_t size);

/* A call that has taken n permits of *object if its result is VOLT_OK. Returns result. A blocking
 * call: in a fiber, its future has noted it. */
static inline int volt_holdable_note_call_(const volt_holdable_ *h, void *object, uint32_t n,
                                           int result) {
  if (result == VOLT_OK) volt_holdable_took_(h, object, n);
  return result;
}
static inline int volt_holdable_note_blocking_(const volt_holdable_ *h, void *object, uint32_t n,
                                               int result) {
  if (result == VOLT_OK && !volt_fiber_blocker_()) volt_holdable_took_(h, object, n);
  return result;
}

/* A release has claimed *w, a waiter of *object. The lock of its FIFO is held. */
static inline void volt_holdable_granted_(const volt_holdable_ *h, void *object,
                                          const volt_waiter *w) {
  if (!h || h->alone == 0 || w->want != h->alone) return;
  volt_holder_ *holder = (volt_holder_ *)(void *)((char *)object + h->holder);
  volt_store_relaxed(&holder->file, NULL);
  volt_store_relaxed(&holder->since, 0);
  /* a waiter that a select has left has no waker, and is the task's all the same */
  volt_store_relaxed(&holder->who, w->who != 0 ? w->who | VOLT_WHO_GRANTED_ : 0);
}

/* The caller gives n permits of a semaphore to another party, which will release them. */
static inline void volt_permits_passed_(const void *object, uint32_t n) {
  VOLT_ATOMIC(uint32_t) kept = 0;
  volt_permits_releasing_(object, n, &kept);
}

/* A grant that no poll has seen is given back. */
static inline void volt_holdable_returned_(const volt_holdable_ *h, void *object, uint32_t n) {
  if (!h || h->alone == 0 || n != h->alone) return;
  volt_store_relaxed(&((volt_holder_ *)(void *)((char *)object + h->holder))->who, 0);
}

/* A caller is about to wait for *object: its holder has it since now at least, if since when is not
 * known. */
void volt_holder_is_waited_for_(volt_holder_ *holder);

#else
#define VOLT_HOLDS_(holdable) NULL
#define volt_holdable_granted_(h, object, w) ((void)0)
#define volt_holdable_note_call_(h, object, n, result) (result)
#define volt_holdable_note_blocking_(h, object, n, result) (result)
#define volt_holdable_took_(h, object, n) ((void)0)
#define volt_holdable_releasing_(h, object, n) ((void)0)
#define volt_holdable_returned_(h, object, n) ((void)0)
#define volt_permits_passed_(object, n) ((void)0)
#define volt_holder_is_waited_for_(holder) ((void)0)
#define volt_holdable_check_relock_(h, object, call) ((void)0)
#endif

#endif
