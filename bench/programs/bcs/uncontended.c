/* uncontended.c: a section while nobody else is there, against a pair of lock and unlock. The
 * process has a second thread, which sleeps: with only one, glibc would leave the atomics out. */
#include <semaphore.h>
#include <stdlib.h>

#include "bcs_bench.h"

static uint64_t total; /* what the sections do: add to it */

static void add(void *arg) {
  *(uint64_t *)arg += 1;
}

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

LOOP(pthread_pair, pthread_mutex_t, pthread_mutex_lock(it); add(&total); pthread_mutex_unlock(it))
LOOP(mutex_pair, volt_mutex, volt_mutex_lock_no_deadline(it); add(&total); volt_mutex_unlock(it))
LOOP(bcs_run_one, volt_bcs_lock, volt_bcs_node node; volt_bcs_lock_run(it, &node, add, &total))

static void *sleep_to_the_end(void *never) {
  while (sem_wait((sem_t *)never) != 0) continue;
  return NULL;
}

#define CASE(name, peer, object, loop) \
  { name, peer, bench_measure_loop, object, loop, NULL, 0 }

void bcs_uncontended(void) {
  static VOLT_CACHE_ALIGNED pthread_mutex_t pm = PTHREAD_MUTEX_INITIALIZER;
  static VOLT_CACHE_ALIGNED volt_mutex m = VOLT_MUTEX_INIT;
  static VOLT_CACHE_ALIGNED volt_bcs_lock waitfree = VOLT_BCS_LOCK_INIT;
  static VOLT_CACHE_ALIGNED volt_bcs_lock lockfree = VOLT_BCS_LOCK_LOCKFREE_INIT;
  static const char peer[] = "pthread_mutex lock+unlock";
  bench_case cases[] = {
      CASE(peer, NULL, &pm, pthread_pair),
      CASE("volt_mutex lock+unlock", peer, &m, mutex_pair),
      CASE(BCS_RUN_ALONE, peer, &waitfree, bcs_run_one),
      CASE("volt_bcs_lock lock-free run", peer, &lockfree, bcs_run_one),
  };
  const bench_table table = {
      "bcs-uncontended",
      "a section that adds to a number, nobody else there (one thread; a second one sleeps)",
      NULL,
      "x pthread",
      cases,
      sizeof cases / sizeof *cases};
  sem_t never;
  pthread_t second;
  sem_init(&never, 0, 0);
  if (pthread_create(&second, NULL, sleep_to_the_end, &never) != 0) abort();
  bench_run(&table);
  sem_post(&never);
  pthread_join(second, NULL);
  sem_destroy(&never);
}
