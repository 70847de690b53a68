/* limits.c: what nothing can be faster than, on this machine, now. Engine "limit". */
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "threads.h"

/* ---- line: a cache line goes from core to core. What that costs changes with the placement of
 * virtual machines, and with it everything that is contended. ---- */

enum { CHUNKS = 8 };

struct side {
  pthread_t thread;
  int cpu; /* -1: there are no two */
  uint32_t me;
  uint64_t passes; /* of a chunk */
  uint64_t least_ns;
};

/* Alone on its line. */
static struct ball { VOLT_CACHE_ALIGNED VOLT_ATOMIC(uint32_t) turn; } ball;

static void pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET((size_t)cpu, &set);
  bench_require(sched_setaffinity(0, sizeof set, &set) == 0, "a thread is pinned");
}

static void pass(const struct side *s) {
  for (uint64_t i = 0; i < s->passes; i++) {
    for (unsigned looks = 1; (volt_load_relaxed(&ball.turn) & 1) != s->me; looks++) {
      if (looks % 4096 == 0) sched_yield(); /* it may not have a core to itself */
    }
    volt_fetch_add_relaxed(&ball.turn, 1); /* the word is all that is passed */
  }
}

/* One chunk to begin with, then the fastest of the others: somebody else's time slice is not the
 * line's price. */
static void *play_sides(void *arg) {
  struct side *s = (struct side *)arg;
  if (s->cpu >= 0) pin(s->cpu);
  pass(s);
  s->least_ns = UINT64_MAX;
  for (unsigned chunk = 0; chunk < CHUNKS; chunk++) {
    uint64_t start_ns = bench_now_ns();
    pass(s);
    uint64_t ns = bench_now_ns() - start_ns;
    if (ns < s->least_ns) s->least_ns = ns;
  }
  return NULL;
}

/* The first two CPUs that this process may use. */
static void choose_cpus(struct side *sides) {
  cpu_set_t set;
  unsigned found = 0;
  bench_require(sched_getaffinity(0, sizeof set, &set) == 0, "there are CPUs");
  for (int cpu = 0; cpu < CPU_SETSIZE && found < 2; cpu++) {
    if (CPU_ISSET((size_t)cpu, &set)) sides[found++].cpu = cpu;
  }
  if (found < 2) sides[0].cpu = sides[1].cpu = -1;
}

static bench_outcome line(const bench_options *o) {
  uint64_t passes = o->operations / CHUNKS + 1;
  struct side sides[2] = {{.me = 0, .passes = passes}, {.me = 1, .passes = passes}};
  choose_cpus(sides);
  for (unsigned i = 0; i < 2; i++) {
    int failed = pthread_create(&sides[i].thread, NULL, play_sides, &sides[i]);
    bench_require(!failed, "a thread starts");
  }
  for (unsigned i = 0; i < 2; i++) pthread_join(sides[i].thread, NULL);
  bench_require(volt_load_relaxed(&ball.turn) == (uint32_t)(2 * passes * (CHUNKS + 1)),
                "each has passed it as often as the other");
  bench_outcome outcome = bench_nothing();
  outcome.ns = (double)sides[0].least_ns / (2 * (double)passes);
  return outcome;
}

/* ---- futex: two threads wake each other ---- */

static void play_futex(bench_member *m) {
  for (uint64_t i = 0; i < m->operations; i++) {
    uint32_t seen;
    while (((seen = volt_load_acquire(&ball.turn)) & 1) != m->index) {
      syscall(SYS_futex, &ball.turn, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
    }
    volt_store_release(&ball.turn, seen + 1);
    syscall(SYS_futex, &ball.turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
  }
}

static bench_outcome futex(const bench_options *o) {
  static bench_crew crew;
  bench_outcome outcome = bench_march(&crew, o, NULL, play_futex);
  uint64_t all = 2 * (o->operations + o->operations / 8 + 1);
  bench_require(volt_load_relaxed(&ball.turn) == (uint32_t)all, "they take turns");
  return outcome;
}

/* ---- wake: a thread that sleeps in a futex is given what it waits for ---- */

static struct gift { VOLT_CACHE_ALIGNED VOLT_ATOMIC(uint32_t) there; } gift;

static void take_gift(void *object) {
  (void)object;
  while (volt_load_acquire(&gift.there) == 0) {
    syscall(SYS_futex, &gift.there, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
  }
  volt_store_relaxed(&gift.there, 0); /* the giver gives again when this thread waits again */
}

static void give_gift(void *object) {
  (void)object;
  volt_store_release(&gift.there, 1);
  syscall(SYS_futex, &gift.there, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static bench_outcome wake(const bench_options *o) {
  const bench_wake bare_futex = {take_gift, give_gift, NULL};
  return bench_wake_run(o, &bare_futex);
}

/* ---- atomics, adds: take and give without anything around it ---- */

static struct bare { VOLT_CACHE_ALIGNED VOLT_ATOMIC(uint64_t) word; } bare;

static void swap_up_and_down(bench_member *m) {
  for (uint64_t i = 0; i < m->operations; i++) {
    uint64_t seen = 0;
    m->wrong += !volt_cas_acquire(&bare.word, &seen, 1);
    seen = 1;
    m->wrong += !volt_cas_release(&bare.word, &seen, 0);
  }
}

static bench_outcome atomics(const bench_options *o) {
  static bench_crew crew;
  bench_outcome outcome = bench_march(&crew, o, NULL, swap_up_and_down);
  bench_require(crew.members[0].wrong == 0, "every swap has been done");
  return outcome;
}

static void add_up_and_down(bench_member *m) {
  for (uint64_t i = 0; i < m->operations; i++) {
    m->wrong += volt_fetch_add_acq_rel(&bare.word, 1) != 0;
    m->wrong += volt_fetch_add_acq_rel(&bare.word, UINT64_MAX) != 1;
  }
}

static bench_outcome adds(const bench_options *o) {
  static bench_crew crew;
  bench_outcome outcome = bench_march(&crew, o, NULL, add_up_and_down);
  bench_require(crew.members[0].wrong == 0, "nobody else has added");
  return outcome;
}

static const bench_workload workloads[] = {{"line", line},       {"futex", futex}, {"wake", wake},
                                           {"atomics", atomics}, {"adds", adds},   {NULL, NULL}};

const bench_engine bench_engine_limit = {"limit", NULL, workloads};
