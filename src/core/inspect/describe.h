/* describe.h: what an inspector sees of one wait. A future says it by describe() of its operations
 * (future_ops.h). dump.c prints it, the graph of deadlocks follows it, the server of volt-top sends
 * it. describe.c says what may be read. */
#ifndef VOLT_CORE_INSPECT_DESCRIBE_H
#define VOLT_CORE_INSPECT_DESCRIBE_H

#include <volt/detail/fifo.h>
#include <volt/future.h>

#include "../hooks/kind.h"
#include "../os/check.h"

/* What can end the wait. */
typedef enum volt_ends_ {
  VOLT_ENDS_UNKNOWN_, /* any thread may: a channel, a notify, I/O, what has no describe() */
  VOLT_ENDS_HOLDERS_, /* those that hold the object: mutex, rwlock, semaphore */
  VOLT_ENDS_TIME_,    /* the clock, at deadline_ns */
  VOLT_ENDS_TASK_,    /* the task `object` */
  VOLT_ENDS_GROUP_,   /* the tasks of the group `object` */
  VOLT_ENDS_MEMBER_,  /* any task of the group `object`, which may get more: its next */
  VOLT_ENDS_ANY_,     /* any of the futures within: select */
  VOLT_ENDS_ALL_,     /* all of the futures within: join */
  VOLT_ENDS_INNER_    /* the one future within, or the clock if there is a deadline_ns */
} volt_ends_;

typedef struct volt_description_ {
  const char *operation; /* "volt_sem_acquire": the function, without "_future" */
  volt_kind_ kind;       /* of the object; VOLT_KIND_NONE_: there is none */
  const void *object;    /* NULL: none */
  volt_ends_ ends;
  uint32_t wanted;      /* permits; 0: it does not count */
  uint32_t waiters;     /* queued at the object; volt_describe_place_() */
  uint32_t place;       /* in its queue, from 1; 0: not known; volt_describe_place_() */
  uint64_t deadline_ns; /* on the clock of its timers; VOLT_NO_DEADLINE: none */
  uint64_t left_ns;     /* until deadline_ns, by that clock; 0: it has passed, or there is none */
  bool is_ready;        /* it has a result: nothing else but operation and kind is known */
  bool is_granted;      /* what it waits for has come, and no poll has seen it */
  bool for_write;       /* of a rwlock: it wants to write */
  bool is_brief;        /* volt_describe_briefly_() */
  char state[80];       /* of the object, in words: "0 of 8 free"; "": nothing to say */
  volt_fifo_ *queue;    /* for volt_describe_place_(); NULL: it has none that can be looked at */
} volt_description_;

/* What f waits for. The caller is its owner, or has claimed the task that is
 * (rt/inspect/inspect.h), and f is WAITING or composed. So this reads what a poll might read: words
 * of the object, relaxed. It locks nothing and changes nothing. */
VOLT_API void volt_describe_(volt_future *f, volt_description_ *description);

/* The same in 50 ns: without state and left_ns. */
VOLT_API void volt_describe_briefly_(volt_future *f, volt_description_ *description);

/* The i-th of the futures that f awaits; NULL: there are no more. Those that are ready are among
 * them. */
VOLT_API volt_future *volt_future_inside_(volt_future *f, unsigned i);

/* If f is an async function: where it stands; else NULL. */
VOLT_API struct volt_frame *volt_future_frame_(volt_future *f);

/* Set description->waiters, and description->place if f is among the first `max` of the queue of
 * its object. Both stay 0 if that is not to be had at once. *description is what volt_describe_()
 * has said of f. Takes the lock of the queue if that is free within a moment. */
VOLT_API void volt_describe_place_(volt_future *f, volt_description_ *description, unsigned max);

/* ---- for describe() ---- */

/* A description of nothing but that. */
VOLT_API void volt_describe_as_(volt_description_ *description, const char *operation,
                                volt_kind_ kind, const void *object);

/* Write the state of the object, as printf. Does nothing if the description is brief. */
VOLT_API void volt_describe_state_(volt_description_ *description, const char *format, ...)
    VOLT_PRINTF_(2, 3);

/* It waits with a waiter in *q. */
static inline void volt_describe_queue_(volt_description_ *description, volt_fifo_ *q,
                                        volt_ends_ ends) {
  description->queue = q;
  description->ends = ends;
}

#endif
