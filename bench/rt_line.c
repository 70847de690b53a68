/* rt_line.c: what it costs to move a cache line from one core to another, now: it changes with the
 * placement of virtual machines, and with it everything that is contended. */
#define _GNU_SOURCE /* sched_getaffinity */
#include <pthread.h>
#include <sched.h>

#include "rt_bench.h"

enum { CHUNKS = 8 };

struct side {
  pthread_t thread;
  int cpu; /* -1: there are no two */
  uint32_t me;
  uint64_t passes; /* of a chunk */
  uint64_t least_ns;
};

static VOLT_CACHE_ALIGNED VOLT_ATOMIC(uint32_t) turn;

static void pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET((size_t)cpu, &set);
  rt_require(pthread_setaffinity_np(pthread_self(), sizeof set, &set) == 0, "a thread is pinned");
}

static void pass(const struct side *s) {
  for (uint64_t i = 0; i < s->passes; i++) {
    for (unsigned looks = 1; (volt_load_relaxed(&turn) & 1) != s->me; looks++) {
      if (looks % 4096 == 0) sched_yield(); /* it may not have a core to itself */
    }
    volt_fetch_add_relaxed(&turn, 1); /* the word is all that is passed */
  }
}

/* One chunk to begin with, then the fastest of the others: somebody else's time slice is not the
 * line's price. */
static void *play(void *arg) {
  struct side *s = (struct side *)arg;
  if (s->cpu >= 0) pin(s->cpu);
  pass(s);
  s->least_ns = UINT64_MAX;
  for (unsigned chunk = 0; chunk < CHUNKS; chunk++) {
    uint64_t start_ns = volt_now_ns();
    pass(s);
    uint64_t ns = volt_now_ns() - start_ns;
    if (ns < s->least_ns) s->least_ns = ns;
  }
  return NULL;
}

/* The first two CPUs that this process may use. */
static void choose_cpus(struct side *sides) {
  cpu_set_t set;
  unsigned found = 0;
  rt_require(sched_getaffinity(0, sizeof set, &set) == 0, "there are CPUs");
  for (int cpu = 0; cpu < CPU_SETSIZE && found < 2; cpu++) {
    if (CPU_ISSET((size_t)cpu, &set)) sides[found++].cpu = cpu;
  }
  if (found < 2) sides[0].cpu = sides[1].cpu = -1;
}

rt_outcome rt_line(const rt_options *o) {
  uint64_t passes = o->operations / CHUNKS + 1;
  struct side sides[2] = {{.me = 0, .passes = passes}, {.me = 1, .passes = passes}};
  choose_cpus(sides);
  for (unsigned i = 0; i < 2; i++) {
    rt_require(pthread_create(&sides[i].thread, NULL, play, &sides[i]) == 0, "a thread starts");
  }
  for (unsigned i = 0; i < 2; i++) pthread_join(sides[i].thread, NULL);
  return (rt_outcome){(double)sides[0].least_ns / (2 * (double)passes), 0, 0, 0};
}
