/* sleepers.h: which threads sleep in a blocking call, and for what. sleepers.c says how. */
#ifndef VOLT_CORE_INSPECT_SLEEPERS_H
#define VOLT_CORE_INSPECT_SLEEPERS_H

#include "../park/call.h"
#include "describe.h"

/* ---- for an inspector ---- */

/* What an inspector may say of the call. */
void volt_call_describe_(const volt_call_ *call, volt_description_ *description);

/* A thread that sleeps, as it was seen. Of its memory nothing may be read: the wait may be over, and
 * the object gone. */
typedef struct volt_sleeper_seen_ {
  volt_description_ description; /* without state, place and left_ns */
  const char *call;              /* of volt_call_.name */
  const volt_future *future;
  const volt_waiter *waiter;
  uint64_t since_ns;
  uint64_t deadline_ns;
  uint32_t wait;   /* which wait of this thread it is: another number is another wait */
  uint32_t number; /* volt_thread_number_() */
  int32_t tid;
  void *party; /* of its slot */
} volt_sleeper_seen_;

/* Copy the threads that sleep, from *cursor on, which is 0 at first; most at most. Returns how many:
 * 0: there are no more; or, and then *cursor is VOLT_SLEEPERS_BUSY_, the lock of the list was not to
 * be had within 50 ms. A thread that sleeps all the time is there once. */
#define VOLT_SLEEPERS_BUSY_ UINT64_MAX
VOLT_API unsigned volt_sleepers_copy_(volt_sleeper_seen_ *seen, unsigned most, uint64_t *cursor);

/* The thread with that number, as the system calls it. 0: it has ended, or has never slept; or the lock
 * of the list was not to be had at once. */
VOLT_API int32_t volt_sleeper_tid_(uint32_t number);

/* ---- the slot of a thread ---- */

/* One wait. */
typedef struct volt_sleeper_wait_ {
  const char *call;
  const char *operation;
  const void *object;
  const volt_future *future;
  const volt_waiter *waiter;
  uint64_t deadline_ns;
  uint64_t since_ns;
  uint32_t wanted;
  uint32_t kind; /* volt_kind_ */
  uint16_t ends; /* volt_ends_ */
  uint16_t for_write;
} volt_sleeper_wait_;

enum { VOLT_SLEEPER_WORDS_ = (sizeof(volt_sleeper_wait_) + 7) / 8 };

/* In the memory of its thread. All-zero: not linked yet. */
typedef struct volt_sleeper_slot_ {
  VOLT_ATOMIC(uint64_t) words[VOLT_SLEEPER_WORDS_]; /* a volt_sleeper_wait_ */
  VOLT_ATOMIC(uint32_t) wait;                       /* odd: the thread sleeps in that */
  VOLT_ATOMIC(void *) party;                        /* holders.c's own */
  int32_t tid;                                      /* these two are set before it is linked */
  uint32_t number;
  VOLT_PLAIN(uint64_t) id; /* under the lock, like all that follows; 0: not linked */
  VOLT_PLAIN(struct volt_sleeper_slot_ *) next;
  VOLT_PLAIN(struct volt_sleeper_slot_ *) prev;
} volt_sleeper_slot_;

/* Those of all threads that have slept once, in the order in which they did so first. */
typedef struct volt_sleeper_list_ {
  volt_fifo_ lock; /* only that of a FIFO: nothing is queued */
  VOLT_PLAIN(volt_sleeper_slot_ *) head;
  VOLT_PLAIN(volt_sleeper_slot_ *) tail;
  VOLT_PLAIN(uint64_t) last_id;
  VOLT_PLAIN(bool) is_closed; /* no slot is linked any more */
} volt_sleeper_list_;

/* This thread's, linked; NULL: it has none, because it is about to end. */
VOLT_API volt_sleeper_slot_ *volt_sleeper_here_(void);

/* For locals.c. The thread of *s ends. */
void volt_sleeper_unlink_(volt_sleeper_list_ *list, volt_sleeper_slot_ *s);
/* In the child of a fork(): only *s is left, or no thread if s is NULL or not linked. */
void volt_sleepers_forget_(volt_sleeper_list_ *list, volt_sleeper_slot_ *s);
/* The library is about to be unloaded. */
void volt_sleepers_close_(volt_sleeper_list_ *list);

#endif
