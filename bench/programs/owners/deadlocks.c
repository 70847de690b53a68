/* deadlocks.c: bench-deadlocks, how long a deadlock stands before it is reported, with VOLT_SIGHT=1 and
 * the watcher as volt_sight_enable() starts it. Two tasks lock two mutexes in two orders; the time goes
 * from the last of their four calls until the report. Then one of them is cancelled, and the next two
 * follow after some time that is random, so that they meet the watcher at any time of its period.
 *
 *   usage: bench-deadlocks [--runs N]
 *
 * One line of JSON: p50, p99 and the longest, how many were not found within 5 s (lost), and reports of
 * deadlocks while there was none (false). */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <volt/runtime.h>
#include <volt/sight.h>
#include <volt/time.h>
#include <volt/volt.h>

enum { MOST = 100000, MS = 1000000 };

static volt_mutex m[2] = {VOLT_MUTEX_INIT, VOLT_MUTEX_INIT};
static _Atomic(uint32_t) arrived, reports, is_standing;
static _Atomic(uint64_t) reported_ns, stands_ns;
static _Atomic(uint32_t) false_reports;

typedef struct locker {
  volt_task task;
  volt_future f;
  volt_sleep_op sleep;
  unsigned first;
  int result;
} locker;

static int locker_poll(volt_task *t, volt_ctx *ctx) {
  locker *self = volt_container_of(t, locker, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, volt_mutex_lock_future(&self->f, &m[self->first]));
  atomic_fetch_add(&arrived, 1);
  while (atomic_load(&arrived) < 2) {
    VOLT_AWAIT(self, volt_sleep_future(&self->sleep, volt_rt_timers(volt_rt_current()),
                                       volt_rt_now_ns(volt_rt_current()) + MS));
  }
  atomic_store(&stands_ns, volt_now_ns()); /* the later of the two stores counts */
  VOLT_AWAIT_RESULT(self, self->result, volt_mutex_lock_future(&self->f, &m[1 - self->first]));
  if (self->result == VOLT_OK) volt_mutex_unlock(&m[1 - self->first]);
  volt_mutex_unlock(&m[self->first]);
  VOLT_TASK_END(self);
}

static void hear(void *ctx, const char *text, size_t length) {
  (void)ctx;
  if (length < 8 || memcmp(text, "deadlock", 8) != 0) return; /* the order of locks */
  atomic_store(&reported_ns, volt_now_ns());
  if (!atomic_load(&is_standing)) atomic_fetch_add(&false_reports, 1);
  atomic_fetch_add(&reports, 1);
}

static void require(bool so, const char *what) {
  if (so) return;
  fprintf(stderr, "bench-deadlocks: not so: %s\n", what);
  _exit(1);
}

static locker *spawn(volt_rt *rt, unsigned first) {
  locker *l = VOLT_TASK_NEW(rt, locker, locker_poll);
  require(l != NULL, "there is memory");
  l->first = first;
  require(volt_spawn(rt, &l->task) == VOLT_OK, "it is spawned");
  return l;
}

static void nap_ns(uint64_t ns) {
  volt_parker parker = VOLT_PARKER_INIT;
  (void)volt_park_until(&parker, 1, volt_deadline_ns(ns));
}

/* Returns how long it took; UINT64_MAX: it was not reported. */
static uint64_t one_deadlock(volt_rt *rt) {
  uint32_t before = atomic_load(&reports);
  atomic_store(&arrived, 0);
  atomic_store(&is_standing, 1);
  locker *l[2] = {spawn(rt, 0), spawn(rt, 1)};
  uint64_t until_ns = volt_deadline_s(5);
  while (atomic_load(&reports) == before && volt_now_ns() < until_ns) nap_ns(MS / 4);
  bool found = atomic_load(&reports) != before;
  uint64_t took_ns = found ? atomic_load(&reported_ns) - atomic_load(&stands_ns) : UINT64_MAX;
  (void)volt_task_cancel(&l[0]->task);
  for (unsigned i = 0; i < 2; i++) {
    (void)volt_task_join(&l[i]->task);
    volt_task_detach(&l[i]->task);
  }
  atomic_store(&is_standing, 0);
  return took_ns;
}

static int in_order(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

int main(int argc, char **argv) {
  static uint64_t took_ns[MOST];
  unsigned runs = argc == 3 ? (unsigned)strtoul(argv[2], NULL, 10) : 100, lost = 0;
  require(runs > 0 && runs <= MOST, "1 to 100000 runs");
  const volt_rt_config config = {.workers = 2};
  const volt_sight_config watch = {.flags = VOLT_SIGHT_DEADLOCKS, .report = hear};
  volt_rt *rt;
  require(volt_rt_create(&rt, &config) == VOLT_OK, "there is a runtime");
  require(volt_sight_enable(&watch) == VOLT_OK, "it is watched");
  uint64_t random = (uint64_t)getpid() * UINT64_C(0x9e3779b97f4a7c15) | 1;
  for (unsigned i = 0; i < runs; i++) {
    random = random * UINT64_C(6364136223846793005) + 1;
    nap_ns((random >> 33) % (400 * MS));
    took_ns[i] = one_deadlock(rt);
    lost += took_ns[i] == UINT64_MAX;
  }
  volt_sight_disable();
  (void)volt_rt_destroy(rt);
  qsort(took_ns, runs, sizeof took_ns[0], in_order);
  printf("{\"ns\": %" PRIu64 ", \"p50_ns\": %" PRIu64 ", \"p99_ns\": %" PRIu64
         ", \"most_ns\": %" PRIu64 ", \"lost\": %u, \"false\": %u, \"runs\": %u}\n",
         took_ns[runs / 2], took_ns[runs / 2], took_ns[(runs * 99 - 1) / 100], took_ns[runs - 1],
         lost, atomic_load(&false_reports), runs);
  return lost > 0;
}
