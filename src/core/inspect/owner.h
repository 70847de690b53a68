/* owner.h: which party holds what, for the library itself and for the inspector. owner.c says how it works,
 * volt/detail/owner.h what is stored. Without VOLT_SIGHT nothing is known, and nothing stored.
 */
#ifndef VOLT_CORE_INSPECT_OWNER_H
#define VOLT_CORE_INSPECT_OWNER_H

#include <volt/counts.h>
#include <volt/detail/fifo.h>
#include <volt/detail/owner.h>

#include "../park/blocker.h"
#include "look.h"
#include "order.h"

/* ---- for the inspector ---- */

/* The party that has an object, as it was seen. */
typedef struct volt_owner_seen_ {
  uintptr_t who;    /* the lowest two bits: VOLT_WHO_...; 0: not known */
  const char *file; /* where it was taken; NULL: not known */
  uint32_t line;
  uint32_t since; /* in 2^20 ns on CLOCK_MONOTONIC; 0: not known */
} volt_owner_seen_;

/* Look which party has the object that *look waits for: a mutex, or a rwlock that is locked for writing. Of
 * one whose object may be read: volt_look_at_(). Returns whether that is known. */
VOLT_API bool volt_owner_see_(const volt_look_ *look, volt_owner_seen_ *seen);

/* What a party holds. */
typedef struct volt_held_seen_ {
  const void *object;
  const char *file;
  uint32_t line;
  uint32_t n;   /* permits; VOLT_RWLOCK_WRITER_: to write */
  unsigned how; /* VOLT_HELD_... */
} volt_held_seen_;

/* See what a party holds, the last one taken first: of a claimed task its `held`, or what a blocked
 * thread has (blocked.h). party: NULL: it holds nothing. Returns how many, at most max. */
VOLT_API unsigned volt_held_see_(const void *party, volt_held_seen_ *seen, unsigned max);

/* Whether one party has given an object back that another had taken: then the lists say nothing of
 * which parties hold it. Also if that has happened with some few other objects. */
VOLT_API bool volt_owner_is_passed_on_(const void *object);

#if VOLT_SIGHT

/* ---- for primitives ---- */

/* How a mutex and a rwlock begin. */
typedef struct volt_owned_ {
  volt_fifo_ queue;
  uint32_t bypass;
  volt_owner_ owner;
} volt_owned_;

/* Beside a type that begins so. */
#define VOLT_IS_OWNED_(type)                                                     \
  VOLT_STATIC_ASSERT_(offsetof(type, owner) == offsetof(volt_owned_, owner) &&   \
                          offsetof(type, queue) == offsetof(volt_owned_, queue), \
                      #type " has its owner at another place")

/* What can be held. Offsets are from its FIFO, which it begins with. */
typedef struct volt_holdable_ {
  uint32_t alone; /* a party with so many permits has the object alone; 0: none has */
  uint16_t owner; /* a volt_owner_; if alone is not 0 */
  uint16_t kept;  /* of a semaphore; else 0 */
} volt_holdable_;

#define VOLT_HOLDS_(holdable) .holds = (holdable),

/* This party has taken n permits of *object, or is about to release them. */
VOLT_SIGHT_API_ void volt_holdable_took_(const volt_holdable_ *h, void *object, uint32_t n);
VOLT_SIGHT_API_ void volt_holdable_left_(const volt_holdable_ *h, void *object, uint32_t n);

/* This party is about to wait for *object, and nothing but a release ends that: abort if it holds the
 * object alone itself. Not if the object was ever passed on: a mutex may be unlocked by another than
 * the one that has locked it. */
VOLT_SIGHT_API_ void volt_holdable_check_relock_(const volt_holdable_ *h, const void *object,
                                                 const char *call);

/* What is known of *object in this party, behind a message: where the call stands, and where it was
 * taken. */
void volt_owner_describe_(const void *object, char *text, size_t size);

/* A call that has taken n permits of *object if its result is VOLT_OK. Returns result. A blocking
 * call: in a fiber, its future has noted it. */
static inline int volt_holdable_called_(const volt_holdable_ *h, void *object, uint32_t n,
                                        int result) {
  if (result == VOLT_OK) volt_holdable_took_(h, object, n);
  return result;
}
static inline int volt_holdable_blocked_(const volt_holdable_ *h, void *object, uint32_t n,
                                         int result) {
  if (result == VOLT_OK && !volt_fiber_blocker_()) volt_holdable_took_(h, object, n);
  return result;
}

/* A release has claimed *w, a waiter of *object. The lock of its FIFO is held. */
static inline void volt_holdable_granted_(const volt_holdable_ *h, void *object,
                                          const volt_waiter *w) {
  if (!h || h->alone == 0 || w->want != h->alone) return;
  volt_owner_ *owner = (volt_owner_ *)(void *)((char *)object + h->owner);
  volt_store_relaxed(&owner->file, NULL);
  volt_store_relaxed(&owner->since, 0);
  /* a waiter that a select has left has no waker, and is the task's all the same */
  volt_store_relaxed(&owner->who, w->who != 0 ? w->who | VOLT_WHO_GRANTED_ : 0);
}

/* The caller gives n permits of a semaphore to another party, which will release them. */
static inline void volt_permits_passed_(const void *object, uint32_t n) {
  VOLT_ATOMIC(uint32_t) kept = 0;
  volt_permits_left_(object, n, &kept);
}

/* A grant that no poll has seen is given back. */
static inline void volt_holdable_returned_(const volt_holdable_ *h, void *object, uint32_t n) {
  if (!h || h->alone == 0 || n != h->alone) return;
  volt_store_relaxed(&((volt_owner_ *)(void *)((char *)object + h->owner))->who, 0);
}

/* A caller is about to wait for *object: its owner has it since now at least, if since when is not
 * known. */
void volt_owner_is_waited_for_(volt_owner_ *owner);

/* ---- for locals.c ---- */

/* A thread ends. party: of its slot (blocked.h), or NULL. */
void volt_party_thread_ends_(void *party);
/* In the child of a fork(): this thread holds nothing (volt/base.h). */
void volt_party_forget_(void);

/* ---- for the runtime ---- */

/* A task waits, and *p has what it holds: returns a copy that is the task's, and *p holds nothing.
 * NULL: there is no room; then what it holds is not known. */
VOLT_SIGHT_API_ volt_party_ *volt_party_keep_(volt_party_ *p);
/* What volt_party_keep_() has returned is empty, or its task has ended. */
VOLT_SIGHT_API_ void volt_party_drop_(volt_party_ *p);
/* A task has ended. What it holds will be given back by others. */
VOLT_SIGHT_API_ void volt_party_ends_(volt_party_ *p);

/* ---- counts ---- */

/* *object was held for so long, one time of VOLT_HOLDS_SAMPLE_. */
void volt_holds_record_(const void *object, uint64_t ns);

/* An object has this slot of the names now: it begins with none. */
void volt_holds_clear_(unsigned name_slot);

#else
#define VOLT_HOLDS_(holdable)
#define volt_holdable_granted_(h, object, w) ((void)0)
#define volt_holdable_called_(h, object, n, result) (result)
#define volt_holdable_blocked_(h, object, n, result) (result)
#define volt_holdable_took_(h, object, n) ((void)0)
#define volt_holdable_left_(h, object, n) ((void)0)
#define volt_holdable_returned_(h, object, n) ((void)0)
#define volt_permits_passed_(object, n) ((void)0)
#define volt_owner_is_waited_for_(owner) ((void)0)
#define volt_holdable_check_relock_(h, object, call) ((void)0)
#endif

#endif
