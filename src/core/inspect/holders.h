/* holders.h: which party holds what, for the inspector, the runtime and locals.c. holders.c says
 * how it works, volt/detail/holders.h what is stored, hooks/holding.h how primitives say it.
 * Without VOLT_SIGHT nothing is known, and nothing stored. */
#ifndef VOLT_CORE_INSPECT_HOLDERS_H
#define VOLT_CORE_INSPECT_HOLDERS_H

#include <volt/counts.h>
#include <volt/detail/fifo.h>
#include <volt/detail/holders.h>

#include "../hooks/holding.h"
#include "describe.h"
#include "lock_order.h"

/* ---- for the inspector ---- */

/* The party that has an object, as it was seen. */
typedef struct volt_holder_seen_ {
  uintptr_t who;    /* the lowest two bits: VOLT_WHO_...; 0: not known */
  const char *file; /* where it was taken; NULL: not known */
  uint32_t line;
  uint32_t since; /* in 2^20 ns on CLOCK_MONOTONIC; 0: not known */
} volt_holder_seen_;

/* Look which party has the object that *description waits for: a mutex, or a rwlock that is locked
 * for writing. Of one whose object may be read: volt_describe_(). Returns whether that is known. */
VOLT_API bool volt_holder_see_(const volt_description_ *description, volt_holder_seen_ *seen);

/* What a party holds. */
typedef struct volt_held_seen_ {
  const void *object;
  const char *file;
  uint32_t line;
  uint32_t n;   /* permits; VOLT_RWLOCK_WRITER_: to write */
  unsigned how; /* VOLT_HELD_... */
} volt_held_seen_;

/* See what a party holds, the last one taken first: of a claimed task its `held`, or what a blocked
 * thread has (sleepers.h). party: NULL: it holds nothing. Returns how many, at most max. */
VOLT_API unsigned volt_held_see_(const void *party, volt_held_seen_ *seen, unsigned max);

/* Whether one party has given an object back that another had taken: then the lists say nothing of
 * which parties hold it. Also if that has happened with some few other objects. */
VOLT_API bool volt_holder_is_passed_on_(const void *object);

#if VOLT_SIGHT

/* ---- for locals.c ---- */

/* A thread ends. party: of its slot (sleepers.h), or NULL. */
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
void volt_hold_times_record_(const void *object, uint64_t ns);

/* An object has this slot of the names now: it begins with none. */
void volt_hold_times_clear_(unsigned name_slot);

#endif

#endif
