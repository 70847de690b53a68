/* wait.h: a thread waits, and what is noted of it; what it holds. */
#ifndef WATCH_WAIT_H
#define WATCH_WAIT_H

#include <time.h>

#include "watch/books.h"

/* Of the thread that calls; on its stack. */
struct wait {
  struct books_thread *self;
  uint32_t lock; /* 0: it joins a thread */
  uint64_t since_ns;
};

void wait_begin(struct wait *w, struct books_thread *self, uint32_t lock, unsigned how,
                uintptr_t at);

/* Take the stack, for the report: before the thread waits for long. */
void wait_take_stack(struct wait *w);

/* is_taken: it has the lock. Call it before held_add(). */
void wait_end(struct wait *w, bool is_taken);

/* Whether it is a time that a wait may have as its end. */
static inline bool wait_is_time(clockid_t clock, const struct timespec *until) {
  return (clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC) && until->tv_nsec >= 0 &&
         until->tv_nsec < 1000000000;
}

/* ---- what a thread holds ---- */

/* how: BOOKS_LOCKS_IT, BOOKS_READS_IT. may_nest: it may hold the lock already. */
void held_add(struct books_thread *self, uint32_t lock, enum books_how how, bool may_nest,
              uintptr_t at);

/* Of a lock that this thread holds. Returns how often it had taken it; 0: it has no entry of it. */
uint16_t held_set_times(struct books_thread *self, uint32_t lock, uint16_t times);

/* Before the lock is given back. Returns how it was held; BOOKS_RUNS: this thread did not hold it. */
enum books_how held_remove(struct books_thread *self, uint32_t lock, uintptr_t at);

/* Leave out what another thread has given back, and objects that are no more. Returns whether there were any. */
bool held_forget(struct books_thread *self);

/* The program has done what it must not. */
void wait_note_fault(struct books_thread *self, uint32_t lock, enum books_fault fault,
                     uintptr_t at);

#endif
