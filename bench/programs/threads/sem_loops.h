/* sem_loops.h: the workloads of a semaphore: alone-sem, alone-try, sem, pingpong, wake.
 *
 * Who includes it has defined the type bench_sem, bench_sem_init(sem, permits),
 * bench_sem_take(sem), bench_sem_give(sem) and bench_sem_try_take(sem). */
#ifndef VOLT_BENCH_SEM_LOOPS_H
#define VOLT_BENCH_SEM_LOOPS_H

#include "threads.h"

static struct bench_pool {
  VOLT_CACHE_ALIGNED bench_sem sem;
  uint64_t count; /* plain: protected by the semaphore if there is but one permit */
} bench_pools[2]; /* pingpong has two */

static void bench_sem_march(bench_member *m) {
  struct bench_pool *it = (struct bench_pool *)m->object;
  for (uint64_t i = 0; i < m->operations; i++) {
    bench_sem_take(&it->sem);
    bench_sem_give(&it->sem);
  }
}

/* No permit has been lost, and none has been made. */
static void bench_sem_check(bench_sem *sem, uint64_t permits) {
  for (uint64_t i = 0; i < permits; i++) {
    bench_require(bench_sem_try_take(sem), "every permit has come back");
  }
  bench_require(!bench_sem_try_take(sem), "there are as many permits as there were");
}

static bench_outcome bench_sem_alone(const bench_options *o) {
  static bench_crew crew;
  bench_sem_init(&bench_pools[0].sem, 1);
  bench_outcome outcome = bench_march(&crew, o, &bench_pools[0], bench_sem_march);
  bench_sem_check(&bench_pools[0].sem, 1);
  return outcome;
}

static void bench_sem_try_march(bench_member *m) {
  struct bench_pool *it = (struct bench_pool *)m->object;
  uint64_t taken = 0;
  for (uint64_t i = 0; i < m->operations; i++) {
    taken += bench_sem_try_take(&it->sem);
    bench_sem_give(&it->sem);
  }
  bench_require(taken == m->operations, "every try has found the permit");
}

static bench_outcome bench_sem_alone_try(const bench_options *o) {
  static bench_crew crew;
  bench_sem_init(&bench_pools[0].sem, 1);
  bench_outcome outcome = bench_march(&crew, o, &bench_pools[0], bench_sem_try_march);
  bench_sem_check(&bench_pools[0].sem, 1);
  return outcome;
}

static void bench_sem_contend(bench_member *m) {
  struct bench_pool *it = (struct bench_pool *)m->object;
  bool counts = m->amount == 1;
  uint32_t n = 0;
  while (bench_goes_on(m)) {
    bench_sem_take(&it->sem);
    if (counts) it->count += 1;
    bench_sem_give(&it->sem);
    if (++n == m->stride) n = bench_tell(m, n);
  }
  bench_tell(m, n);
}

static bench_outcome bench_sem_sem(const bench_options *o) {
  static bench_crew crew;
  bench_sem_init(&bench_pools[0].sem, (uint32_t)o->amount);
  bench_outcome outcome = bench_contest(&crew, o, &bench_pools[0], bench_sem_contend);
  bench_sem_check(&bench_pools[0].sem, o->amount);
  bench_require(o->amount > 1 || bench_pools[0].count == bench_crew_did(&crew, 0, o->tasks),
                "one thread at a time has the permit");
  return outcome;
}

/* Member 0 serves: it gives first, and the other one gives when it has received. */
static void bench_sem_play(bench_member *m) {
  struct bench_pool *pools = (struct bench_pool *)m->object;
  bench_sem *mine = &pools[m->index].sem, *others = &pools[1 - m->index].sem;
  for (uint64_t i = 0; i < m->operations; i++) {
    if (m->index == 0) bench_sem_give(others);
    bench_sem_take(mine);
    if (m->index == 1) bench_sem_give(others);
  }
}

static bench_outcome bench_sem_pingpong(const bench_options *o) {
  static bench_crew crew;
  for (unsigned i = 0; i < 2; i++) bench_sem_init(&bench_pools[i].sem, 0);
  bench_outcome outcome = bench_march(&crew, o, bench_pools, bench_sem_play);
  for (unsigned i = 0; i < 2; i++) bench_sem_check(&bench_pools[i].sem, 0);
  return outcome;
}

static void bench_sem_wake_take(void *object) {
  bench_sem_take((bench_sem *)object);
}

static void bench_sem_wake_give(void *object) {
  bench_sem_give((bench_sem *)object);
}

static bench_outcome bench_sem_wake(const bench_options *o) {
  const bench_wake wake = {bench_sem_wake_take, bench_sem_wake_give, &bench_pools[0].sem};
  bench_sem_init(&bench_pools[0].sem, 0);
  bench_outcome outcome = bench_wake_run(o, &wake);
  bench_sem_check(&bench_pools[0].sem, 0);
  return outcome;
}

#define BENCH_SEM_WORKLOADS                                                                   \
  {"alone-sem", bench_sem_alone}, {"alone-try", bench_sem_alone_try}, {"sem", bench_sem_sem}, \
      {"pingpong", bench_sem_pingpong}, {                                                     \
    "wake", bench_sem_wake                                                                    \
  }

#endif
