/* wait.c: waits and holds: how long, for whom, and where.
 *
 * A lock that no thread has waited for costs a count and an entry in its holder's list: no clock, no stack. From
 * its first waiter on, it has details, and each hold of it is timed. The stack of a wait is taken when it has
 * lasted for 2 ms, or before, where a wait cannot be divided; that of a hold as it ends, by the thread that
 * held, if it is the longest so far. */
#define _GNU_SOURCE 1 /* as a C++ compiler has it, for the models */
#include "watch/wait.h"

#include <string.h>

#include "watch/orders.h"

/* Returns false: another thread is just there, and this one is not put down: it is a statistic, for which no thread
 * waits. */
static bool moments_lock(struct books_detail *d) {
  for (int i = 0; i < 100; i++) {
    if (!atomic_flag_test_and_set_explicit(&d->is_busy, memory_order_acquire)) return true;
  }
  return false;
}

static void moments_unlock(struct books_detail *d) {
  atomic_flag_clear_explicit(&d->is_busy, memory_order_release);
}

static void moment_set(struct books_moment *m, uint64_t ns, const struct books_thread *self,
                       uintptr_t at) {
  m->ns = ns;
  m->tid = atomic_load(&self->tid);
  memcpy(m->name, self->name, sizeof m->name);
  m->at = at;
  m->depth = 0;
}

static void count(_Atomic(uint64_t) *counter, uint64_t n) {
  atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

/* ---- waits ---- */

static void wait_changes(struct books_thread *self) {
  uint32_t changes = atomic_load_explicit(&self->changes, memory_order_relaxed); /* its own */
  atomic_store_explicit(&self->changes, changes + 1, memory_order_release);
}

void wait_begin(struct wait *w, struct books_thread *self, uint32_t lock, unsigned how,
                uintptr_t at) {
  *w = (struct wait){.self = self, .lock = lock, .since_ns = books_now_ns()};
  if (lock) {
    (void)books_detail(lock);
    atomic_fetch_add(&books_lock(lock)->waiters, 1);
  }
  atomic_store_explicit(&self->depth, 0, memory_order_relaxed);
  atomic_store_explicit(&self->at, at, memory_order_relaxed);
  atomic_store_explicit(&self->since_ns, w->since_ns, memory_order_relaxed);
  wait_changes(self);
  atomic_store_explicit(&self->checks, 0, memory_order_release); /* circle.c R7 */
  atomic_store_explicit(&self->waits_for, lock, memory_order_release);
  atomic_store_explicit(&self->how, how, memory_order_release);
}

void wait_take_stack(struct wait *w) {
  uint32_t depth = books_stack(w->self->stack, atomic_load(&w->self->at));
  atomic_store_explicit(&w->self->depth, depth, memory_order_release);
}

static void wait_note(struct wait *w, uint64_t ns, bool is_taken) {
  struct books_detail *d = books_detail_of(books_lock(w->lock));
  struct books_thread *self = w->self;
  if (!d) return;
  count(&d->waits, 1);
  count(&d->waited_ns, ns);
  atomic_fetch_add_explicit(&d->wait_times[books_time_part(ns)], 1, memory_order_relaxed);
  if (books_lock(w->lock)->kind != BOOKS_CONDITION) {
    uint64_t since_ns = w->since_ns - watch_books->begun_ns;
    slots_add(&watch_books->slots, since_ns, since_ns + ns);
  }
  if (ns <= d->longest_wait.ns) return; /* a hint: looked at again below */
  if (!moments_lock(d)) return;
  if (ns > d->longest_wait.ns) {
    moment_set(&d->longest_wait, ns, self, atomic_load(&self->at));
    d->longest_wait.depth = atomic_load(&self->depth);
    memcpy(d->longest_wait.stack, self->stack, sizeof self->stack);
    d->its_hold = is_taken ? d->last_hold : (struct books_moment){0};
  }
  moments_unlock(d);
}

void wait_end(struct wait *w, bool is_taken) {
  struct books_thread *self = w->self;
  uint64_t ns = books_now_ns() - w->since_ns;
  atomic_store(&self->how, BOOKS_RUNS);
  atomic_store(&self->waits_for, 0);
  wait_changes(self);
  self->waits++;
  self->waited_ns += ns;
  if (!w->lock) return;
  wait_note(w, ns, is_taken);
  uint32_t waiters = atomic_load(&books_lock(w->lock)->waiters);
  while (waiters &&
         !atomic_compare_exchange_weak(&books_lock(w->lock)->waiters, &waiters, waiters - 1)) {
  }
}

/* ---- holds ---- */

static bool held_is(const struct books_held *h, uint32_t lock) {
  return h->lock == lock &&
         h->generation == atomic_load_explicit(&books_lock(lock)->generation, memory_order_relaxed);
}

static __attribute__((noinline)) struct books_held *held_search(struct books_thread *self,
                                                                uint32_t lock, uint32_t count) {
  for (uint32_t i = count; i-- > 0;) {
    if (held_is(&self->held[i], lock)) return &self->held[i];
  }
  return NULL;
}

/* Most often it is the last one, or there is none. */
static struct books_held *held_find(struct books_thread *self, uint32_t lock) {
  uint32_t held = atomic_load_explicit(&self->held_count, memory_order_relaxed);
  if (held == 0) return NULL;
  if (held_is(&self->held[held - 1], lock)) return &self->held[held - 1];
  return held_search(self, lock, held - 1);
}

void held_add(struct books_thread *self, uint32_t lock, enum books_how how, bool may_nest,
              uintptr_t at) {
  struct books_lock *l = books_lock(lock);
  atomic_store_explicit(
      &l->acquires, atomic_load_explicit(&l->acquires, memory_order_relaxed) + 1,
      memory_order_relaxed); /* shared holders may lose one: it is shown, no more */
  struct books_held *h = held_find(self, lock);
  if (atomic_load_explicit(&self->how, memory_order_relaxed) !=
      BOOKS_RUNS) { /* it was left by a jump */
    atomic_store(&self->how, BOOKS_RUNS);
    atomic_store(&self->waits_for, 0);
  }
  if (h && may_nest && h->times < UINT16_MAX) {
    h->times++;
    return;
  }
  if (how == BOOKS_LOCKS_IT) {
    atomic_store_explicit(&l->owner, books_tag(self), memory_order_relaxed);
    atomic_store_explicit(&l->taken_at, at, memory_order_relaxed);
    uint64_t now_ns = atomic_load_explicit(&l->detail, memory_order_relaxed) ? books_now_ns() : 0;
    atomic_store_explicit(&l->taken_ns, now_ns, memory_order_relaxed);
  }
  uint32_t held = atomic_load_explicit(&self->held_count, memory_order_relaxed);
  if (h) return;            /* another thread has unlocked it meanwhile */
  if (held == BOOKS_HELD) { /* of one that it holds alone, it is still the owner */
    if (how != BOOKS_LOCKS_IT) atomic_fetch_or(&l->flags, BOOKS_IS_UNKNOWN);
    return;
  }
  uint32_t generation = atomic_load_explicit(&l->generation, memory_order_relaxed);
  self->held[held] = (struct books_held){
      .lock = lock, .generation = generation, .how = (uint16_t)how, .times = 1, .at = at};
  unsigned flags = atomic_load_explicit(&l->flags, memory_order_relaxed);
  if (__builtin_expect(flags & BOOKS_WANTS_STACKS, 0))
    self->held[held].stack = orders_take_stack(l, at);
  atomic_store_explicit(&self->held_count, held + 1, memory_order_release);
}

/* A hold that is the longest, or that threads have waited for. */
static __attribute__((noinline)) void held_note_moment(const struct books_thread *self,
                                                       const struct books_lock *l,
                                                       struct books_detail *d, uint64_t ns,
                                                       uintptr_t at) {
  bool is_longest = ns > d->longest_hold.ns; /* a hint: looked at again below */
  uintptr_t stack[BOOKS_DEPTH];
  uint32_t depth = is_longest ? books_stack(stack, at) : 0;
  if (!moments_lock(d)) return;
  moment_set(&d->last_hold, ns, self, atomic_load_explicit(&l->taken_at, memory_order_relaxed));
  d->last_hold.depth = depth;
  memcpy(d->last_hold.stack, stack, depth * sizeof stack[0]);
  if (ns > d->longest_hold.ns) d->longest_hold = d->last_hold;
  moments_unlock(d);
}

/* A hold that was timed ends. Threads wait for it, or have before. */
static void held_note(const struct books_thread *self, const struct books_lock *l, uint64_t ns,
                      uintptr_t at) {
  struct books_detail *d = books_detail_of(l);
  if (!d) return;
  /* it was held alone, so no other thread counts here now */
  _Atomic(uint32_t) *times = &d->hold_times[books_time_part(ns)];
  atomic_store_explicit(times, atomic_load_explicit(times, memory_order_relaxed) + 1,
                        memory_order_relaxed);
  if (ns > d->longest_hold.ns || atomic_load_explicit(&l->waiters, memory_order_relaxed) != 0)
    held_note_moment(self, l, d, ns, at);
}

/* It was held alone. */
static void held_ends(const struct books_thread *self, struct books_lock *l, uintptr_t at) {
  uint64_t since_ns = atomic_load_explicit(&l->taken_ns, memory_order_relaxed);
  if (since_ns) held_note(self, l, books_now_ns() - since_ns, at);
  atomic_store_explicit(&l->owner, 0, memory_order_relaxed);
}

void held_end_timed(struct books_thread *self, uintptr_t at) {
  uint32_t last = atomic_load_explicit(&self->held_count, memory_order_relaxed) - 1;
  struct books_lock *l = books_lock(self->held[last].lock);
  atomic_store_explicit(&self->held_count, last, memory_order_release);
  held_ends(self, l, at);
}

uint16_t held_set_times(struct books_thread *self, uint32_t lock, uint16_t times) {
  struct books_held *h = held_find(self, lock);
  uint16_t before = h ? h->times : 0;
  if (h) h->times = times;
  return before;
}

enum books_how held_remove(struct books_thread *self, uint32_t lock, uintptr_t at) {
  struct books_held *h = held_find(self, lock);
  struct books_lock *l = books_lock(lock);
  if (!h && atomic_load(&l->owner) != books_tag(self)) return BOOKS_RUNS;
  enum books_how how =
      h ? (enum books_how)h->how : BOOKS_LOCKS_IT; /* no entry: it holds too many */
  if (h && h->times > 1) {
    h->times--;
    return how;
  }
  if (h) {
    uint32_t last = atomic_load_explicit(&self->held_count, memory_order_relaxed) - 1;
    if (h != &self->held[last]) memmove(h, h + 1, (size_t)(&self->held[last] - h) * sizeof *h);
    atomic_store_explicit(&self->held_count, last, memory_order_release);
  }
  if (how == BOOKS_LOCKS_IT) held_ends(self, l, at);
  return how;
}

bool held_forget(struct books_thread *self) {
  uint32_t held = atomic_load_explicit(&self->held_count, memory_order_relaxed), left = 0;
  for (uint32_t i = 0; i < held; i++) {
    const struct books_held *h = &self->held[i];
    const struct books_lock *l = books_lock(h->lock);
    bool is_same = atomic_load_explicit(&l->generation, memory_order_relaxed) == h->generation;
    bool is_own = h->how == BOOKS_LOCKS_IT
                      ? atomic_load_explicit(&l->owner, memory_order_relaxed) == books_tag(self)
                      : !(atomic_load_explicit(&l->flags, memory_order_relaxed) & BOOKS_IS_UNKNOWN);
    if (is_same && is_own) self->held[left++] = *h;
  }
  if (left < held) atomic_store_explicit(&self->held_count, left, memory_order_release);
  return left < held;
}

/* ---- faults ---- */

void wait_note_fault(struct books_thread *self, uint32_t lock, enum books_fault fault,
                     uintptr_t at) {
  struct books_detail *d = books_detail(lock);
  if (!d) return;
  atomic_store(&d->fault, fault);
  atomic_fetch_add(&d->faults, 1);
  if (!moments_lock(d)) return;
  moment_set(&d->fault_at, 0, self, at);
  d->fault_at.depth = books_stack(d->fault_at.stack, at);
  moments_unlock(d);
}
