/* waiter_loops.h: what the waiters of a semaphore cost by themselves. One thread queues, grants and
 * cancels them by hand; no other thread wants the semaphore. Workloads handoff, cancel-queued and
 * path-*. Part of volt.c.
 *
 * A take cannot be repeated without a give, so neither can be timed in a loop of its own. A path
 * happens once to each semaphore of a small batch; the batch is made and taken apart outside of the
 * time. A batch takes a microsecond or so: of the many batches the middle half counts, which no
 * interrupt and no preemption gets into. The clock and the loop are taken off: an empty batch is
 * timed beside each. What stays is the path on a warm cache with every branch foreseen.
 *
 * Where in a cache line the stack begins is chance, in every process anew, and one place in four
 * costs some variants 8 ns: those that keep a list of whom to wake there. So the batches run at all
 * four in turn, and the mean of the four is taken.
 *
 * The variant that allocates needs more waiters at a time here than the C library's thread cache
 * holds, as a program does in which many wait. */
#ifndef VOLT_BENCH_WAITER_LOOPS_H
#define VOLT_BENCH_WAITER_LOOPS_H

#include <stdlib.h>
#include <string.h>

#include "threads.h"

enum { BENCH_WAITERS = 10 };

static void bench_count_wake(void *ctx) {
  *(uint64_t *)ctx += 1;
}

/* amount waiters stand in the queue of a semaphore without permits; a release grants the oldest,
 * which queues again at the end. */
static void bench_waiter_handoff(bench_member *m) {
  engine_sem *sem = (engine_sem *)m->object;
  unsigned waiting = (unsigned)m->amount, oldest = 0, youngest = waiting - 1;
  volt_waiter waiters[BENCH_WAITERS];
  uint64_t wakes = 0;
  volt_waker waker = {bench_count_wake, &wakes};
  memset((void *)waiters, 0, sizeof waiters);
  for (unsigned i = 0; i < youngest; i++) {
    ignore_result(engine_sem_acquire_waiter(sem, &waiters[i], 1, waker));
  }
  for (uint64_t i = 0; i < m->operations; i++) {
    ignore_result(engine_sem_acquire_waiter(sem, &waiters[youngest], 1, waker));
    engine_sem_release(sem, 1);
    youngest = oldest;
    oldest = oldest + 1 == waiting ? 0 : oldest + 1;
  }
  if (waiting > 1) engine_sem_release(sem, waiting - 1);
  bench_require(wakes == m->operations + waiting - 1, "each waiter was woken once");
}

/* A waiter queues behind amount others and gives up. */
static void bench_waiter_cancel(bench_member *m) {
  engine_sem *sem = (engine_sem *)m->object;
  unsigned others = (unsigned)m->amount;
  volt_waiter waiters[BENCH_WAITERS];
  uint64_t wakes = 0, cancelled = 0;
  volt_waker waker = {bench_count_wake, &wakes};
  memset((void *)waiters, 0, sizeof waiters);
  for (unsigned i = 0; i < others; i++) {
    ignore_result(engine_sem_acquire_waiter(sem, &waiters[i], 1, waker));
  }
  for (uint64_t i = 0; i < m->operations; i++) {
    ignore_result(engine_sem_acquire_waiter(sem, &waiters[others], 1, waker));
    cancelled += engine_sem_cancel(sem, &waiters[others]);
  }
  if (others > 0) engine_sem_release(sem, others);
  bench_require(cancelled == m->operations && wakes == others, "each cancel was in time");
}

static bench_outcome bench_waiter_march(const bench_options *o, bench_body *body) {
  static bench_crew crew;
  static VOLT_CACHE_ALIGNED engine_sem sem;
  engine_sem_init(&sem, 0);
  return bench_march(&crew, o, &sem, body);
}

static bench_outcome bench_waiter_run_handoff(const bench_options *o) {
  return bench_waiter_march(o, bench_waiter_handoff);
}

static bench_outcome bench_waiter_run_cancel(const bench_options *o) {
  return bench_waiter_march(o, bench_waiter_cancel);
}

/* ---- one path, alone ---- */

/* Semaphores in a batch, and how many may wait for each: few enough that all of it stays in a
 * first-level cache of 32 KB. */
enum { BENCH_BATCH = 32, BENCH_BATCH_WAITERS = 9 };
enum { BENCH_PLACES = 4, BENCH_BATCHES = 1024 }; /* batches at each place */

typedef struct bench_path {
  enum { BENCH_TRY, BENCH_TAKE, BENCH_GIVE, BENCH_CANCEL } what;
  uint32_t permits;
  unsigned waiting;
} bench_path;

#define BENCH_EACH(i) for (unsigned i = 0; i < BENCH_BATCH; i++)

/* The compiler may assume nothing about a semaphore that was just made. */
#define BENCH_HIDE(sem) __asm__ __volatile__("" : "+r"(sem) : : "memory")

static struct bench_batched {
  VOLT_CACHE_ALIGNED engine_sem sem;
  VOLT_CACHE_ALIGNED volt_waiter waiters[BENCH_BATCH_WAITERS];
} bench_batched[BENCH_BATCH];

/* Returns how many had to wait, of those who should. */
static uint64_t bench_batch_make(const bench_path *path, volt_waker waker) {
  uint64_t queued = 0;
  BENCH_EACH(i) {
    struct bench_batched *it = &bench_batched[i];
    engine_sem_init(&it->sem, path->permits);
    for (unsigned n = 0; n < path->waiting; n++) {
      queued += engine_sem_acquire_waiter(&it->sem, &it->waiters[n], 1, waker) == VOLT_PENDING;
    }
  }
  return queued;
}

/* Grant all who still wait. */
static void bench_batch_unmake(void) {
  BENCH_EACH(i) {
    engine_sem *sem = &bench_batched[i].sem;
    engine_sem_release(sem, engine_sem_waiters(sem));
    engine_sem_destroy(sem);
  }
}

/* Returns how often the outcome was the one of this path. */
static uint64_t bench_batch_happen(const bench_path *path, volt_waker waker) {
  int outcome = path->permits > 0 ? VOLT_OK : VOLT_PENDING;
  unsigned newcomer = path->waiting;
  uint64_t as_expected = 0;
#define BENCH_LOOP(operation)                  \
  BENCH_EACH(i) {                              \
    engine_sem *sem = &bench_batched[i].sem;   \
    volt_waiter *w = bench_batched[i].waiters; \
    (void)w;                                   \
    BENCH_HIDE(sem);                           \
    as_expected += (operation) ? 1u : 0u;      \
  }
  switch (path->what) {
    case BENCH_TRY: BENCH_LOOP(engine_sem_try_acquire(sem, 1) == VOLT_OK); break;
    case BENCH_TAKE:
      BENCH_LOOP(engine_sem_acquire_waiter(sem, &w[newcomer], 1, waker) == outcome);
      break;
    case BENCH_GIVE: BENCH_LOOP((engine_sem_release(sem, 1), true)); break;
    case BENCH_CANCEL: BENCH_LOOP(engine_sem_cancel(sem, &w[newcomer - 1])); break;
  }
#undef BENCH_LOOP
  return as_expected;
}

static void bench_batch_nothing(void) {
  BENCH_EACH(i) {
    engine_sem *sem = &bench_batched[i].sem;
    BENCH_HIDE(sem);
  }
}

/* Whether as many were woken, meanwhile and in the end, as should have been. */
static bool bench_batch_adds_up(const bench_path *path, uint64_t before, uint64_t after) {
  bool grants = path->what == BENCH_GIVE && path->waiting > 0;
  bool queues = path->what == BENCH_TAKE && path->permits == 0;
  uint64_t in_the_end = path->waiting + queues - (path->what == BENCH_CANCEL);
  return before == (grants ? BENCH_BATCH : 0) && after == BENCH_BATCH * in_the_end;
}

/* One batch, with the stack 16 bytes further down for each place. Returns its nanoseconds; *empty:
 * the same with nothing in it. */
static double bench_batch_run(const bench_path *path, unsigned place, double *empty) {
  char room[16 * (place + 1)];
  __asm__ __volatile__("" : : "r"(room) : "memory"); /* it is there */
  uint64_t wakes = 0;
  volt_waker waker = {bench_count_wake, &wakes};
  bool right = bench_batch_make(path, waker) == BENCH_BATCH * path->waiting;
  atomic_thread_fence(memory_order_seq_cst); /* what was stored so far is not paid for below */
  uint64_t start_ns = bench_now_ns();
  bench_batch_nothing();
  uint64_t between_ns = bench_now_ns();
  uint64_t as_expected = bench_batch_happen(path, waker);
  uint64_t end_ns = bench_now_ns();
  uint64_t wakes_before = wakes;
  bench_batch_unmake();
  *empty = (double)(between_ns - start_ns);
  right &= as_expected == BENCH_BATCH && bench_batch_adds_up(path, wakes_before, wakes);
  bench_require(right, "each of a batch went its path");
  return (double)(end_ns - between_ns);
}

static int bench_compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The mean of the middle half: as robust as a median, finer than a clock's steps. Sorts them. */
static double bench_middle(double *values, unsigned count) {
  qsort(values, count, sizeof *values, bench_compare);
  unsigned from = count / 4, to = count - count / 4;
  double sum = 0;
  for (unsigned i = from; i < to; i++) sum += values[i];
  return sum / (to - from);
}

static double bench_path_ns; /* of the last phase */

static void bench_path_measure(bench_member *m) {
  static double ns[BENCH_PLACES][BENCH_BATCHES], empty[BENCH_PLACES][BENCH_BATCHES];
  unsigned count = m->operations < BENCH_BATCHES ? (unsigned)m->operations : BENCH_BATCHES;
  for (unsigned n = 0; n < count; n++) {
    for (unsigned place = 0; place < BENCH_PLACES; place++) {
      ns[place][n] = bench_batch_run((const bench_path *)m->object, place, &empty[place][n]);
    }
  }
  double sum = 0;
  for (unsigned place = 0; place < BENCH_PLACES; place++) {
    sum += bench_middle(ns[place], count) - bench_middle(empty[place], count);
  }
  bench_path_ns = sum / BENCH_PLACES / BENCH_BATCH;
}

static bench_outcome bench_path_run(const bench_options *o, bench_path path) {
  static bench_crew crew;
  (void)bench_march(&crew, o, &path, bench_path_measure);
  bench_outcome outcome = bench_nothing();
  outcome.ns = bench_path_ns;
  return outcome;
}

#define BENCH_PATH(name, what, permits, waiting)                                \
  static bench_outcome bench_path_##name(const bench_options *o) {              \
    return bench_path_run(o, (bench_path){what, permits, (unsigned)(waiting)}); \
  }
BENCH_PATH(try, BENCH_TRY, 2, 0)
BENCH_PATH(take, BENCH_TAKE, 2, 0)
BENCH_PATH(queue, BENCH_TAKE, 0, o->amount)
BENCH_PATH(give, BENCH_GIVE, 0, 0)
BENCH_PATH(grant, BENCH_GIVE, 0, o->amount)
BENCH_PATH(cancel, BENCH_CANCEL, 0, o->amount + 1)

#define BENCH_WAITER_WORKLOADS                                                       \
  {"handoff", bench_waiter_run_handoff}, {"cancel-queued", bench_waiter_run_cancel}, \
      {"path-try", bench_path_try}, {"path-take", bench_path_take},                  \
      {"path-queue", bench_path_queue}, {"path-give", bench_path_give},              \
      {"path-grant", bench_path_grant}, {                                            \
    "path-cancel", bench_path_cancel                                                 \
  }

#endif
