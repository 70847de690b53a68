/* uncontended.c: take and give back in one thread: the fast paths, against two bare atomic
 * operations on one line (no lock can do with less) and against glibc.
 *
 * The fast paths of volt are inline and glibc's functions are called through the PLT: each as its
 * users get it. */
#define _GNU_SOURCE /* pthread_rwlock */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

#include <volt/volt.h>

#include "engines.h"

/* One loop of the shape all of them have: count times `operations`, timed. */
#define LOOP(name, type, operations)                   \
  static uint64_t name(void *object, uint64_t count) { \
    type *it = (type *)object;                         \
    uint64_t start_ns = bench_cpu_ns();                \
    for (uint64_t i = 0; i < count; i++) {             \
      operations;                                      \
    }                                                  \
    return bench_cpu_ns() - start_ns;                  \
  }

typedef VOLT_ATOMIC(uint64_t) atomic_word;

static inline void cas_up_and_down(atomic_word *word) {
  uint64_t seen = 0;
  (void)volt_cas_acquire(word, &seen, VOLT_WORD_ONE_);
  seen = VOLT_WORD_ONE_;
  (void)volt_cas_release(word, &seen, 0);
}

LOOP(two_cas, atomic_word, cas_up_and_down(it))
LOOP(sem_t_try, sem_t, sem_trywait(it); sem_post(it))
LOOP(sem_t_wait, sem_t, sem_wait(it); sem_post(it))
LOOP(mutex, volt_mutex, volt_mutex_lock_no_deadline(it); volt_mutex_unlock(it))
LOOP(pthread_lock, pthread_mutex_t, pthread_mutex_lock(it); pthread_mutex_unlock(it))
LOOP(read_lock, volt_rwlock, volt_rwlock_read_no_deadline(it); volt_rwlock_read_unlock(it))
LOOP(pthread_read, pthread_rwlock_t, pthread_rwlock_rdlock(it); pthread_rwlock_unlock(it))
LOOP(write_lock, volt_rwlock, volt_rwlock_write_no_deadline(it); volt_rwlock_write_unlock(it))
LOOP(pthread_write, pthread_rwlock_t, pthread_rwlock_wrlock(it); pthread_rwlock_unlock(it))

#define CASE(name, peer, object, loop) \
  { name, peer, bench_measure_loop, object, loop, NULL, 0 }

void bench_uncontended(void) {
  static VOLT_CACHE_ALIGNED atomic_word word;
  static VOLT_CACHE_ALIGNED volt_mutex m = VOLT_MUTEX_INIT;
  static VOLT_CACHE_ALIGNED volt_rwlock rw = VOLT_RWLOCK_INIT;
  static VOLT_CACHE_ALIGNED pthread_mutex_t pm = PTHREAD_MUTEX_INITIALIZER;
  static VOLT_CACHE_ALIGNED pthread_rwlock_t prw = PTHREAD_RWLOCK_INITIALIZER;
  static VOLT_CACHE_ALIGNED sem_t psem;
  static VOLT_CACHE_ALIGNED bench_memory engines[BENCH_ENGINES];
  static char names[BENCH_ENGINES][48];
  bench_case cases[BENCH_MAX_CASES] = {CASE("two bare lock cmpxchg", NULL, &word, two_cas)};
  unsigned n = 1;
  sem_init(&psem, 0, 1);
  for (unsigned i = 0; i < BENCH_ENGINES; i++) {
    const bench_engine *e = bench_engines[i];
    e->init(&engines[i], 1);
    snprintf(names[i], sizeof names[i], "%s sem try_acquire+release", e->name);
    cases[n++] = (bench_case)CASE(names[i], "sem_t trywait+post", &engines[i], e->try_pair);
  }
  const bench_case others[] = {
      CASE("sem_t trywait+post", NULL, &psem, sem_t_try),
      CASE("volt sem acquire_blocking+release", "sem_t wait+post", &engines[BENCH_VOLT],
           bench_engines[BENCH_VOLT]->blocking_pair),
      CASE("sem_t wait+post", NULL, &psem, sem_t_wait),
      CASE("volt mutex lock+unlock", "pthread_mutex lock+unlock", &m, mutex),
      CASE("pthread_mutex lock+unlock", NULL, &pm, pthread_lock),
      CASE("volt rwlock read+unlock", "pthread_rwlock rdlock+unlock", &rw, read_lock),
      CASE("pthread_rwlock rdlock+unlock", NULL, &prw, pthread_read),
      CASE("volt rwlock write+unlock", "pthread_rwlock wrlock+unlock", &rw, write_lock),
      CASE("pthread_rwlock wrlock+unlock", NULL, &prw, pthread_write),
  };
  for (unsigned i = 0; i < sizeof others / sizeof *others; i++) cases[n++] = others[i];
  const bench_table table = {
      "uncontended",
      "uncontended: take and give back, one thread (the process has two). volt is inline, glibc is "
      "called through the PLT, as users get them",
      "two bare lock cmpxchg",
      "x glibc",
      cases,
      n};
  bench_run(&table);
}
