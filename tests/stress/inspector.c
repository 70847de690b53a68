/* inspector.c: see inspector.h. */
#define _GNU_SOURCE /* pthread, nanosleep */
#include "inspector.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <volt/sight.h>

#include "core/inspect/describe.h"
#include "harness.h"
#include "rt/fiber/fiber_stack.h"
#include "rt/inspect/inspect.h"

enum { PLACES = 100 };

static struct {
  pthread_t thread;
  bool runs;
  VOLT_ATOMIC(uint32_t) stopping;
  rng random;
  uint64_t passes; /* over all runtimes */
  uint64_t tasks;
  uint64_t claimed;
  uint64_t stops; /* of walks */
  uint64_t late;  /* a lock was not to be had */
  uint64_t dumps, lines;
  uint64_t runtimes;
  size_t text; /* bytes, so that what is read is used */
} inspector;

static bool note_stop(void *ctx, const volt_stop_ *stop) {
  (void)ctx;
  inspector.stops += 1;
  if (stop->site) inspector.text += strlen(stop->site->function) + strlen(stop->site->file);
  if (!stop->future) return true;
  volt_description_ description;
  volt_describe_(stop->future, &description);
  if (rng_below(&inspector.random, 4) == 0)
    volt_describe_place_(stop->future, &description, PLACES);
  inspector.text += strlen(description.operation) + strlen(description.state) + description.place;
  return rng_below(&inspector.random, 100) != 0;
}

static bool see(void *ctx, const volt_seen_ *seen, unsigned count) {
  (void)ctx;
  if (!seen) {
    if (rng_below(&inspector.random, 2) == 0) sched_yield();
    return volt_load_relaxed(&inspector.stopping) == 0; /* the join orders the rest */
  }
  for (unsigned i = 0; i < count; i++) {
    inspector.tasks += 1;
    if (seen[i].site) inspector.text += strlen(seen[i].site->function);
    if (seen[i].how != VOLT_SEEN_WAITS_) continue;
    inspector.claimed += 1;
    STRESS_CHECK(seen[i].registrations >= 0 && seen[i].polls > 0);
    volt_walk_(seen[i].task, note_stop, NULL);
    void *pcs[PLACES];
    unsigned frames = seen[i].fn ? volt_fiber_stack_(seen[i].task, pcs, PLACES) : 0;
    for (unsigned k = 0; k < frames; k++) STRESS_CHECK(pcs[k]);
    inspector.stops += frames;
    if (rng_below(&inspector.random, 16) == 0) sched_yield(); /* wakes come meanwhile */
  }
  return true;
}

static bool count_text(void *ctx, const char *text, size_t length) {
  (void)ctx;
  for (size_t i = 0; i < length; i++) inspector.lines += text[i] == '\n';
  return rng_below(&inspector.random, 1000) != 0 && !volt_load_relaxed(&inspector.stopping);
}

static void dump_all(void) {
  int result = volt_dump(NULL, rng_below(&inspector.random, 8), count_text, NULL);
  STRESS_CHECK(result == VOLT_OK || result == VOLT_ETIMEDOUT || result == VOLT_ECANCELED);
  inspector.dumps += 1;
}

static void look_at_workers(volt_rt *rt) {
  volt_rt_stats_of stats;
  volt_rt_stats(rt, &stats);
  for (unsigned i = 0; i < stats.workers; i++) {
    volt_worker_seen_ worker;
    volt_worker_see_(rt, i, &worker);
    inspector.text += worker.queued;
  }
}

static void nap(void) {
  struct timespec time = {0, (long)rng_below(&inspector.random, 200000)};
  nanosleep(&time, NULL);
}

static void *inspect_all(void *arg) {
  while (!volt_load_relaxed(&inspector.stopping)) { /* the join orders the rest */
    for (volt_rt *rt = volt_rt_pin_next_(NULL); rt; rt = volt_rt_pin_next_(rt)) {
      unsigned batch = 1 + rng_below(&inspector.random, VOLT_SEEN_BATCH_);
      int result = volt_inspect_(rt, batch, see, NULL);
      STRESS_CHECK(result == VOLT_OK || result == VOLT_ETIMEDOUT || result == VOLT_ECANCELED);
      inspector.late += result == VOLT_ETIMEDOUT;
      inspector.runtimes += 1;
      look_at_workers(rt);
    }
    inspector.passes += 1;
    if (rng_below(&inspector.random, 2) == 0) dump_all();
    if (rng_below(&inspector.random, 4) == 0) nap();
  }
  return arg;
}

void inspector_begin(uint64_t seed) {
  const char *asked = getenv("VOLT_STRESS_INSPECT");
  if (!asked || strcmp(asked, "1") != 0) return;
  inspector.random = rng_seeded(seed ^ 0x1257ec7);
  inspector.runs = true;
  STRESS_CHECK(pthread_create(&inspector.thread, NULL, inspect_all, NULL) == 0);
}

void inspector_end(void) {
  if (!inspector.runs) return;
  volt_store_relaxed(&inspector.stopping, 1); /* the join orders the rest */
  pthread_join(inspector.thread, NULL);
  printf("  inspected: %" PRIu64 " passes, %" PRIu64 " runtimes, %" PRIu64 " tasks, %" PRIu64
         " of them claimed, %" PRIu64 " stops; late %" PRIu64 " times; %" PRIu64 " dumps, %" PRIu64
         " lines\n",
         inspector.passes, inspector.runtimes, inspector.tasks, inspector.claimed, inspector.stops,
         inspector.late, inspector.dumps, inspector.lines);
}
