/* wake.c: how long a thread that sleeps takes until it has what it is given.
 *
 * Many locks spin before they sleep, each for a time of its own; so the first thread looks whether
 * the sleeper is asleep, and gives when it has been for 100 us: the kernel has then let its core go
 * idle. The giver itself is awake all the time. */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "crew.h"

enum { ASLEEP_NS = 100000, PATIENCE_NS = 2000000000 };

struct sleeper {
  const bench_wake *wake;
  pthread_t thread;
  uint64_t operations;
  uint64_t taken_ns; /* published by taken */
  VOLT_CACHE_ALIGNED VOLT_ATOMIC(uint32_t) tid;
  VOLT_ATOMIC(uint64_t) awaited, taken; /* how often it has begun to wait, and ended */
};

static void *sleep_often(void *arg) {
  struct sleeper *s = (struct sleeper *)arg;
  volt_store_release(&s->tid, (uint32_t)syscall(SYS_gettid));
  for (uint64_t i = 1; i <= s->operations; i++) {
    volt_store_release(&s->awaited, i);
    s->wake->take(s->wake->object);
    s->taken_ns = bench_now_ns();
    volt_store_release(&s->taken, i);
  }
  return NULL;
}

/* The state of a thread is the letter behind its name, which is in parentheses. */
static bool is_asleep(int stat) {
  char text[256];
  ssize_t length = pread(stat, text, sizeof text - 1, 0);
  bench_require(length > 0, "the state of a thread can be read");
  text[length] = '\0';
  const char *name_end = strrchr(text, ')');
  return name_end != NULL && strncmp(name_end, ") S", 3) == 0;
}

static void await_sleep(int stat) {
  uint64_t began_ns = bench_now_ns();
  for (;;) {
    uint64_t asleep_ns = bench_now_ns();
    bench_require(asleep_ns - began_ns < PATIENCE_NS, "a thread that waits goes to sleep");
    if (!is_asleep(stat)) continue;
    bench_work(asleep_ns, ASLEEP_NS);
    if (is_asleep(stat)) return; /* and not in something that came before its wait */
  }
}

/* The sleeper may have been woken on this core. */
static void await_count(VOLT_ATOMIC(uint64_t) *count, uint64_t value) {
  while (volt_load_acquire(count) < value) sched_yield();
}

static int open_stat(struct sleeper *s) {
  char path[64];
  uint32_t tid;
  while ((tid = volt_load_acquire(&s->tid)) == 0) sched_yield();
  snprintf(path, sizeof path, "/proc/self/task/%u/stat", (unsigned)tid);
  int stat = open(path, O_RDONLY | O_CLOEXEC);
  bench_require(stat >= 0, "the state of a thread can be looked at");
  return stat;
}

bench_outcome bench_wake_run(const bench_options *o, const bench_wake *wake) {
  static struct sleeper s;
  static histogram waits;
  s.wake = wake;
  s.operations = o->operations;
  bench_require(pthread_create(&s.thread, NULL, sleep_often, &s) == 0, "a thread starts");
  int stat = open_stat(&s);
  for (uint64_t i = 1; i <= o->operations; i++) {
    await_count(&s.awaited, i);
    await_sleep(stat);
    uint64_t given_ns = bench_now_ns();
    wake->give(wake->object);
    await_count(&s.taken, i);
    bench_require(s.taken_ns >= given_ns, "nobody is given what is not there");
    if (i > o->operations / 8) histogram_add(&waits, s.taken_ns - given_ns);
  }
  close(stat);
  pthread_join(s.thread, NULL);
  bench_outcome outcome = bench_nothing();
  bench_show_waits(&outcome, &waits);
  outcome.ns = outcome.p50_ns;
  return outcome;
}
