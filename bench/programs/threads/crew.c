/* crew.c: the threads of a run, when they start and stop, and what came out of it. */
#include "threads.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { STRIDE_MAX = 1024 };
static const uint64_t limit_ns[2] = {20000000, 100000000}; /* of a contest's phases */

void bench_require(bool so, const char *what) {
  if (so) return;
  fprintf(stderr, "bench: not so: %s\n", what);
  _exit(1); /* other threads still run */
}

static uint64_t clock_ns(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t bench_cpu_ns(void) {
  return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

bench_outcome bench_nothing(void) {
  const double none = BENCH_NOTHING;
  return (bench_outcome){none, none, none, none, none, none, none, none, none};
}

void bench_show_waits(bench_outcome *outcome, const histogram *waits) {
  outcome->p50_ns = (double)histogram_quantile(waits, 0.5);
  outcome->p99_ns = (double)histogram_quantile(waits, 0.99);
  outcome->p999_ns = (double)histogram_quantile(waits, 0.999);
  outcome->longest_ns = (double)waits->max;
}

/* ---- the members ---- */

static uint32_t stride_of(const bench_options *o) {
  uint64_t stride = o->operations / 64;
  if (stride > STRIDE_MAX) return STRIDE_MAX;
  return stride > 0 ? (uint32_t)stride : 1;
}

static void start_crew(bench_crew *c, const bench_options *o, void *object, bench_body *body,
                       void *(*thread)(void *)) {
  c->tasks = o->tasks;
  c->operations = o->operations;
  c->body = body;
  size_t bytes = o->tasks * sizeof *c->members;
  c->members = (bench_member *)aligned_alloc(VOLT_CACHE_LINE, bytes);
  bench_require(c->members != NULL, "there is memory for threads");
  memset((void *)c->members, 0, bytes);
  bench_require(pthread_barrier_init(&c->gate, NULL, o->tasks + 1) == 0, "there is a barrier");
  for (unsigned i = 0; i < o->tasks; i++) {
    bench_member *m = &c->members[i];
    m->crew = c;
    m->object = object;
    m->index = i;
    m->tasks = o->tasks;
    m->amount = o->amount;
    m->stride = stride_of(o);
    bench_require(pthread_create(&m->thread, NULL, thread, m) == 0, "a thread starts");
  }
}

static void join_crew(bench_crew *c) {
  for (unsigned i = 0; i < c->tasks; i++) pthread_join(c->members[i].thread, NULL);
  pthread_barrier_destroy(&c->gate);
}

static bench_outcome outcome_of(const bench_crew *c, uint64_t operations, uint64_t cpu_ns) {
  bench_outcome outcome = bench_nothing();
  uint64_t first_ns = UINT64_MAX, last_ns = 0, own_ns = 0;
  for (unsigned i = 0; i < c->tasks; i++) {
    const bench_member *m = &c->members[i];
    if (m->start_ns < first_ns) first_ns = m->start_ns;
    if (m->end_ns > last_ns) last_ns = m->end_ns;
    own_ns += m->end_ns - m->start_ns;
  }
  bench_require(operations > 0 && last_ns > first_ns, "something was done");
  double whole_ns = (double)(last_ns - first_ns);
  outcome.ns = whole_ns / (double)operations;
  outcome.cpu_ns = (double)cpu_ns / (double)operations;
  outcome.overlap = (double)own_ns / whole_ns / c->tasks;
  return outcome;
}

/* ---- marches ---- */

static void *march_thread(void *arg) {
  bench_member *m = (bench_member *)arg;
  bench_crew *c = m->crew;
  pthread_barrier_wait(&c->gate);
  m->operations = c->operations / 8 + 1;
  c->body(m);
  pthread_barrier_wait(&c->gate); /* all have warmed up: the CPU time is looked at */
  pthread_barrier_wait(&c->gate);
  m->phase = BENCH_MEASURE;
  m->operations = c->operations;
  m->start_ns = bench_now_ns();
  c->body(m);
  m->end_ns = bench_now_ns();
  return NULL;
}

bench_outcome bench_march(bench_crew *c, const bench_options *o, void *object, bench_body *body) {
  start_crew(c, o, object, body, march_thread);
  pthread_barrier_wait(&c->gate);
  pthread_barrier_wait(&c->gate);
  uint64_t cpu_ns = bench_cpu_ns();
  pthread_barrier_wait(&c->gate);
  join_crew(c); /* the first thread sleeps: no thread is alone in its process */
  cpu_ns = bench_cpu_ns() - cpu_ns;
  return outcome_of(c, o->operations * o->tasks, cpu_ns);
}

/* ---- contests ---- */

static void *contest_thread(void *arg) {
  bench_member *m = (bench_member *)arg;
  bench_crew *c = m->crew;
  pthread_barrier_wait(&c->gate);
  c->body(m);
  m->phase = BENCH_MEASURE;
  memset(&m->waits, 0, sizeof m->waits);
  m->start_ns = bench_now_ns();
  c->body(m);
  m->end_ns = bench_now_ns();
  return NULL;
}

static void futex(void *word, int operation, uint32_t value, const struct timespec *timeout) {
  syscall(SYS_futex, word, operation, value, timeout, NULL, 0);
}

/* End a phase, unless somebody else has. */
static void end_phase(bench_crew *c, uint32_t phase) {
  uint32_t seen = phase;
  if (!volt_cas_relaxed(&c->phase, &seen, phase + 1)) return; /* ends loops, orders nothing */
  c->cpu_ns[phase] = bench_cpu_ns();                          /* looked at when all are joined */
  futex(&c->phase, FUTEX_WAKE_PRIVATE, 1, NULL);
}

uint32_t bench_tell(bench_member *m, uint32_t n) {
  bench_crew *c = m->crew;
  m->done[m->phase] += n;
  uint64_t before = volt_fetch_add_relaxed(&c->done[m->phase], n); /* a count, nothing else */
  if (before + n >= c->budget[m->phase]) end_phase(c, m->phase);
  return 0;
}

/* Sleep until a phase has ended, or end it when its time is over. */
static void sleep_through(bench_crew *c, uint32_t phase) {
  uint64_t deadline_ns = bench_now_ns() + limit_ns[phase];
  while (volt_load_relaxed(&c->phase) == phase) {
    uint64_t now_ns = bench_now_ns();
    if (now_ns >= deadline_ns) break;
    struct timespec left = {0, (long)(deadline_ns - now_ns)};
    futex(&c->phase, FUTEX_WAIT_PRIVATE, phase, &left);
  }
  end_phase(c, phase);
}

static void look_at_shares(const bench_crew *c, bench_outcome *outcome) {
  uint64_t least = UINT64_MAX, most = 0;
  for (unsigned i = 0; i < c->tasks; i++) {
    uint64_t own = c->members[i].done[BENCH_MEASURE];
    if (own < least) least = own;
    if (own > most) most = own;
  }
  outcome->slowest_share = (double)least / (double)most;
}

bench_outcome bench_contest(bench_crew *c, const bench_options *o, void *object, bench_body *body) {
  c->budget[BENCH_MEASURE] = o->operations * o->tasks;
  c->budget[BENCH_WARM_UP] = c->budget[BENCH_MEASURE] / 8 + 1;
  start_crew(c, o, object, body, contest_thread);
  pthread_barrier_wait(&c->gate);
  sleep_through(c, BENCH_WARM_UP);
  sleep_through(c, BENCH_MEASURE);
  join_crew(c);
  uint64_t cpu_ns = c->cpu_ns[BENCH_MEASURE] - c->cpu_ns[BENCH_WARM_UP];
  bench_outcome outcome = outcome_of(c, volt_load_relaxed(&c->done[BENCH_MEASURE]), cpu_ns);
  look_at_shares(c, &outcome);
  return outcome;
}

uint64_t bench_crew_did(const bench_crew *c, unsigned first, unsigned end) {
  uint64_t did = 0;
  for (unsigned i = first; i < end; i++) {
    const bench_member *m = &c->members[i];
    for (unsigned phase = 0; phase < 2; phase++) did += m->done[phase] - m->lost[phase];
  }
  return did;
}

double bench_crew_lost(const bench_crew *c) {
  uint64_t done = 0, lost = 0;
  for (unsigned i = 0; i < c->tasks; i++) {
    done += c->members[i].done[BENCH_MEASURE];
    lost += c->members[i].lost[BENCH_MEASURE];
  }
  return (double)lost / (double)done;
}

void bench_crew_waits(const bench_crew *c, bench_outcome *outcome) {
  static histogram all;
  for (unsigned i = 0; i < c->tasks; i++) histogram_merge(&all, &c->members[i].waits);
  bench_show_waits(outcome, &all);
}

/* ---- wake: how long a thread that sleeps takes until it has what it is given.
 *
 * Many locks spin before they sleep, each for a time of its own; so the first thread looks whether
 * the sleeper is asleep, and gives when it has been for 100 us: the kernel has then let its core go
 * idle. The giver itself is awake all the time. ---- */

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
