/* threads.c: the places of threads in the books. A place is used again once the kernel no longer knows the thread
 * that had it. */
#include <errno.h>
#include <pthread.h>

#include "watch/books.h"
#include "watch/kernel.h"

static bool books_settle(struct books_thread *t, uint32_t number, int32_t expected, int32_t tid) {
  if (!atomic_compare_exchange_strong(&t->tid, &expected, tid)) return false;
  t->number = number;
  atomic_fetch_add(&t->life, 1);
  t->handle = (uintptr_t)pthread_self();
  kernel_name(t->name);
  atomic_store(&t->how, BOOKS_RUNS);
  atomic_store(&t->waits_for, 0);
  atomic_store(&t->checks, 0);
  atomic_store(&t->comes_back_by, 0);
  atomic_store(&t->held_count, 0);
  atomic_fetch_add(&t->changes, 1);
  atomic_store(&t->is_joined, 0);
  atomic_fetch_add(&watch_books->begun, 1);
  t->last_condition = 0;
  t->waits = t->waited_ns = 0;
  return true;
}

/* The place of a thread that has ended, among some. What it held, no thread holds from then on. */
static struct books_thread *books_used_place(int32_t tid, uint32_t count) {
  for (int tries = 0; tries < 4 && count > 0; tries++) {
    uint32_t number = atomic_fetch_add(&watch_books->turn, 1) % count + 1;
    struct books_thread *t = &watch_books->thread[number];
    int32_t old = atomic_load(&t->tid);
    bool is_free = old == 0 || kernel_is_gone(old);
    if (is_free && books_settle(t, number, old, tid)) return t;
  }
  return NULL;
}

/* A place that was not used yet; NULL: there is none. */
static struct books_thread *books_next_place(int32_t tid) {
  for (;;) {
    uint32_t number = atomic_fetch_add(&watch_books->thread_count, 1) + 1;
    if (number > BOOKS_THREADS) {
      atomic_fetch_sub(&watch_books->thread_count, 1);
      return NULL;
    }
    struct books_thread *t = &watch_books->thread[number];
    if (books_settle(t, number, 0, tid))
      return t; /* else another thread has found it unused meanwhile */
  }
}

struct books_thread *books_new_thread(void) {
  int error = errno;
  int32_t tid = kernel_tid();
  uint32_t count = atomic_load(&watch_books->thread_count);
  struct books_thread *t =
      books_used_place(tid, count < BOOKS_THREADS ? count : (uint32_t)BOOKS_THREADS);
  if (!t) t = books_next_place(tid);
  errno = error;
  return books_own = t;
}

uint32_t books_owner(const struct books_lock *l) {
  uint32_t tag = atomic_load(&l->owner), number = tag & 0xffff;
  if (number == 0 || number > BOOKS_THREADS) return 0;
  return books_tag(&watch_books->thread[number]) == tag ? number : 0;
}

void books_joined(uintptr_t handle) {
  uint32_t count = atomic_load(&watch_books->thread_count);
  for (uint32_t i = 1; i <= count && i <= BOOKS_THREADS; i++) {
    struct books_thread *t = &watch_books->thread[i];
    if (t->handle == handle && atomic_load(&t->tid)) atomic_store(&t->is_joined, 1);
  }
}

bool books_is_alone(const struct books_thread *self) {
  uint32_t count = atomic_load(&watch_books->thread_count);
  for (uint32_t i = 1; i <= count && i <= BOOKS_THREADS; i++) {
    const struct books_thread *t = &watch_books->thread[i];
    if (t != self && atomic_load(&t->tid) && !atomic_load(&t->is_joined)) return false;
  }
  return true;
}

void books_forked(void) {
  if (!watch_books) return;
  struct books_thread *own = books_own;
  uint32_t count = atomic_load(&watch_books->thread_count);
  for (uint32_t i = 1; i <= count; i++) {
    struct books_thread *t = &watch_books->thread[i];
    if (t == own) continue;
    uint32_t waited = atomic_exchange(&t->waits_for, 0);
    if (waited) atomic_store(&books_lock(waited)->waiters, 0);
    atomic_store(&t->how, BOOKS_RUNS);
    atomic_store(&t->held_count, 0);
    atomic_fetch_add(&t->life, 1); /* what it held, no thread holds */
    atomic_store(&t->tid, 0);
  }
  count = atomic_load(&watch_books->detail_count);
  for (uint32_t i = 1; i <= count && i <= BOOKS_DETAILS; i++)
    atomic_flag_clear(&watch_books->detail[i].is_busy);
  slots_forked(&watch_books->slots);
  if (own) atomic_store(&own->checks, 0);
  if (own) atomic_store(&own->tid, kernel_tid());
}
