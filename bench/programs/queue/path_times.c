/* path_times.c: what each path of a semaphore costs by itself: one thread, nobody else there.
 *
 * A take cannot be repeated without a give, so neither can be timed in a loop of its own. Here what
 * is timed happens once to each semaphore of a small batch; the batch is made and taken apart
 * outside of the time. A batch takes a microsecond or so: of a slice's many batches the middle half
 * counts, which no interrupt and no preemption gets into, so the cheap clock of the system will do
 * (that of the thread's CPU time is a system call). The clock and the loop are taken off: an empty
 * batch is timed beside each. What stays is the path on a warm cache with every branch foreseen.
 *
 * Where in a cache line the stack begins is chance, in every process anew, and one place in four
 * costs some variants 8 ns: those that keep a list of whom to wake there. So the batches run at all
 * four in turn, and the mean of the four is taken.
 *
 * The variant that allocates needs more waiters at a time here than the C library's thread cache
 * holds, as a program does in which many wait. */
#include <stdio.h>

#include <volt/volt.h>

#include "engines.h"

/* The figures are those of the table "Performance Characteristics" of the text that two_tier comes
 * from, for its own form. */
static const bench_path paths[] = {
    {"path-try_acquire", "try_acquire, finds a permit (the text says 5-10 ns)", BENCH_TRY_ACQUIRE,
     2, 0},
    {"path-acquire", "acquire, finds a permit (the text says 5-10 ns)", BENCH_ACQUIRE, 2, 0},
    {"path-queue-first", "acquire, queues as the first (the text says 50-100 ns)", BENCH_ACQUIRE, 0,
     0},
    {"path-queue-second", "acquire, queues behind one (the text says 50-100 ns)", BENCH_ACQUIRE, 0,
     1},
    {"path-queue-ninth", "acquire, queues behind 8 (the text says 50-100 ns)", BENCH_ACQUIRE, 0, 8},
    {"path-release", "release, nobody waits (the text says 30 ns)", BENCH_RELEASE, 0, 0},
    {"path-grant-only", "release, grants the only waiter (the text says 10-30 ns)", BENCH_RELEASE,
     0, 1},
    {"path-grant-oldest", "release, grants the oldest of 8 (the text says 50-100 ns)",
     BENCH_RELEASE, 0, 8},
    {"path-cancel-only", "cancel, the only waiter (the text says 5 ns)", BENCH_CANCEL, 0, 1},
    {"path-cancel-ninth", "cancel, behind 8 (the text says: with its mutex)", BENCH_CANCEL, 0, 9},
};
enum { PATHS = sizeof paths / sizeof *paths };

/* What a case runs: extra of its bench_case. */
struct trial {
  const bench_engine *engine;
  const bench_path *path;
};

enum { PLACES = 4, MAX_BATCHES = 1024 }; /* batches at each place */

/* One batch, with the stack 16 bytes further down for each place. */
static uint64_t run_batch(const struct trial *trial, unsigned place, uint64_t *empty_ns) {
  char room[16 * (place + 1)];
  __asm__ __volatile__("" : : "r"(room) : "memory"); /* it is there */
  return trial->engine->batch(trial->path, empty_ns);
}

static double measure_path(bench_case *c, uint64_t slice_ns) {
  static double ns[PLACES][MAX_BATCHES], empty_ns[PLACES][MAX_BATCHES];
  const struct trial *trial = (const struct trial *)c->extra;
  uint64_t end_ns = volt_now_ns() + slice_ns;
  unsigned n = 0;
  do {
    for (unsigned place = 0; place < PLACES; place++) {
      uint64_t empty, whole = run_batch(trial, place, &empty);
      if (whole == BENCH_WRONG) bench_wrong(c->name);
      ns[place][n] = (double)whole;
      empty_ns[place][n] = (double)empty;
    }
    n += 1;
  } while (n < MAX_BATCHES && volt_now_ns() < end_ns);
  double sum = 0;
  for (unsigned place = 0; place < PLACES; place++) {
    sum += bench_middle(ns[place], n) - bench_middle(empty_ns[place], n);
  }
  return sum / PLACES / BENCH_BATCH;
}

void bench_path_times(void) {
  static struct trial trials[PATHS][BENCH_ENGINES];
  for (unsigned p = 0; p < PATHS; p++) {
    bench_case cases[BENCH_ENGINES];
    for (unsigned i = 0; i < BENCH_ENGINES; i++) {
      const bench_engine *e = bench_engines[i];
      const char *peer = i == BENCH_VOLT ? NULL : bench_engines[BENCH_VOLT]->name;
      trials[p][i] = (struct trial){e, &paths[p]};
      cases[i] = (bench_case){e->name, peer, measure_path, NULL, NULL, &trials[p][i], 0};
    }
    const bench_table table = {paths[p].section, paths[p].title, NULL,
                               "x volt",         cases,          BENCH_ENGINES};
    bench_run(&table);
  }
}
