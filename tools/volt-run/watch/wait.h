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

/* Whether it may be put down behind what the thread holds already. */
static inline bool held_is_new(const struct books_thread *self, uint32_t lock, uint32_t held) {
  for (uint32_t i = 0; i < held; i++) {
    if (self->held[i].lock == lock) return false;
  }
  return held < BOOKS_HELD;
}

/* The same, of a lock that the thread does not hold yet, which is what most are. Returns false: there is more to do, and
 * nothing is put down. `taken_ns` of a lock without details is 0: they are never taken back, and the thread looks when it has
 * the lock, so it sees them if a holder before it has. */
static inline __attribute__((always_inline)) bool held_add_new(struct books_thread *self,
                                                               uint32_t lock, enum books_how how,
                                                               uintptr_t at) {
  struct books_lock *l = books_lock(lock);
  uint32_t held = atomic_load_explicit(&self->held_count, memory_order_relaxed);
  unsigned flags = atomic_load_explicit(&l->flags, memory_order_relaxed);
  bool is_plain = atomic_load_explicit(&self->how, memory_order_relaxed) == BOOKS_RUNS &&
                  !(flags & BOOKS_WANTS_STACKS);
  if (__builtin_expect(!is_plain, 0)) return false;
  if (__builtin_expect(held > 0, 0) && !held_is_new(self, lock, held)) return false;
  atomic_store_explicit(&l->acquires, atomic_load_explicit(&l->acquires, memory_order_relaxed) + 1,
                        memory_order_relaxed); /* shared holders may lose one, as in held_add() */
  if (how == BOOKS_LOCKS_IT) {
    atomic_store_explicit(&l->owner, books_tag(self), memory_order_relaxed);
    atomic_store_explicit(&l->taken_at, at, memory_order_relaxed);
    if (__builtin_expect(atomic_load_explicit(&l->detail, memory_order_relaxed) != 0, 0))
      atomic_store_explicit(&l->taken_ns, books_now_ns(), memory_order_relaxed);
  }
  struct books_held *h = &self->held[held];
  h->lock = lock;
  h->generation = atomic_load_explicit(&l->generation, memory_order_relaxed);
  h->how = (uint16_t)how;
  h->times = 1;
  h->stack = 0;
  h->at = at;
  atomic_store_explicit(&self->held_count, held + 1, memory_order_release);
  return true;
}

/* Of a lock that this thread holds. Returns how often it had taken it; 0: it has no entry of it. */
uint16_t held_set_times(struct books_thread *self, uint32_t lock, uint16_t times);

/* Before the lock is given back. Returns how it was held; BOOKS_RUNS: this thread did not hold it. */
enum books_how held_remove(struct books_thread *self, uint32_t lock, uintptr_t at);

enum held_end { HELD_IS_NOT_LAST, HELD_IS_TIMED, HELD_HAS_ENDED };

/* The same, of the lock that was taken last, and once, which is what most are given back as; the object is not
 * searched. HELD_IS_NOT_LAST: that is for held_remove(); HELD_IS_TIMED: held_end_timed() has to follow. In both cases nothing
 * has changed. */
static inline enum held_end held_remove_last(struct books_thread *self, const void *object,
                                             enum books_kind kind, enum books_how how) {
  uint32_t held = atomic_load_explicit(&self->held_count, memory_order_relaxed);
  if (__builtin_expect(held == 0, 0)) return HELD_IS_NOT_LAST;
  const struct books_held *h = &self->held[held - 1];
  struct books_lock *l = books_lock(h->lock);
  bool is_it = books_is(h->lock, object, kind) && h->how == how && h->times == 1 &&
               h->generation == atomic_load_explicit(&l->generation, memory_order_relaxed);
  if (__builtin_expect(!is_it, 0)) return HELD_IS_NOT_LAST;
  bool is_timed =
      how == BOOKS_LOCKS_IT && atomic_load_explicit(&l->taken_ns, memory_order_relaxed) != 0;
  if (__builtin_expect(is_timed, 0)) return HELD_IS_TIMED;
  atomic_store_explicit(&self->held_count, held - 1, memory_order_release);
  if (how == BOOKS_LOCKS_IT) atomic_store_explicit(&l->owner, 0, memory_order_relaxed);
  return HELD_HAS_ENDED;
}

/* Of the lock that was taken last. */
void held_end_timed(struct books_thread *self, uintptr_t at);

/* Leave out what another thread has given back, and objects that are no more. Returns whether there were any. */
bool held_forget(struct books_thread *self);

/* The program has done what it must not. */
void wait_note_fault(struct books_thread *self, uint32_t lock, enum books_fault fault,
                     uintptr_t at);

#endif
