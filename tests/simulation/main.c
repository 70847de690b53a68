/* main.c: cluster_simulation [--slow | --crowd] [--seed N] [--seeds N] [--seconds N] [--trace] [--show]: many
 * hosts in one thread, by seeds. The tests run 100 of them; `./x cluster simulation --seeds 10000` more.
 * --slow: rounds with slow hosts (slow.c). --crowd: many hosts come at once (crowd.c). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulation.h"

typedef struct wanted {
  uint64_t first, seeds, seconds;
  bool is_traced, is_shown, is_slow, is_crowd;
} wanted;

static void main_usage(void) {
  fprintf(
      stderr,
      "usage: cluster_simulation [--slow | --crowd] [--seed N] [--seeds N] [--seconds N] [--trace] "
      "[--show]\n");
  exit(2);
}

static wanted main_arguments(int argc, char **argv) {
  const char *seed = getenv("VOLT_TEST_SEED");
  wanted it = {.first = seed ? strtoull(seed, NULL, 10) : 1, .seeds = 100};
  for (int i = 1; i < argc; i++) {
    uint64_t *number = strcmp(argv[i], "--seed") == 0      ? &it.first
                       : strcmp(argv[i], "--seeds") == 0   ? &it.seeds
                       : strcmp(argv[i], "--seconds") == 0 ? &it.seconds
                                                           : NULL;
    if (strcmp(argv[i], "--trace") == 0) {
      it.is_traced = true;
    } else if (strcmp(argv[i], "--slow") == 0) {
      it.is_slow = true;
    } else if (strcmp(argv[i], "--crowd") == 0) {
      it.is_crowd = true;
    } else if (strcmp(argv[i], "--show") == 0) {
      it.is_shown = true;
    } else if (number && i + 1 < argc) {
      *number = strtoull(argv[++i], NULL, 10);
      if (number == &it.first) it.seeds = 1;
    } else {
      main_usage();
    }
  }
  if (it.seconds > 0) it.seeds = UINT64_MAX - it.first;
  return it;
}

static void main_show(const world *w) {
  const plan *p = &w->plan;
  const results *r = &w->results;
  printf("seed %" PRIu64 ": %u hosts x %u tasks, %u x limit %u, faults %04x: %" PRIu64
         " steps, %" PRIu64 " grants, %" PRIu64 " lost, %" PRIu64 " timeouts, %" PRIu64
         " faults, %" PRIu64 " writes, events %" PRIu64 " of %" PRIu64 " departures (most %" PRIu64
         "), waits %" PRIu64 " ms, head %" PRIu64 " ms, hash %016" PRIx64 "\n",
         p->seed, p->hosts, p->tasks, p->sems, p->limit, p->faults & ((1u << FAULTS) - 1), r->steps,
         r->grants, r->lost, r->timeouts, r->faults, r->writes, r->events, r->departures,
         r->events_most, r->wait_most_ns / MS, r->head_most_ns / MS, r->hash);
}

static void main_add(results *sum, const results *r) {
  sum->grants += r->grants;
  sum->lost += r->lost;
  sum->steps += r->steps;
  sum->faults += r->faults;
  sum->events += r->events;
  sum->departures += r->departures;
  sum->marks += r->marks;
  sum->grants_alone += r->grants_alone;
  double part = r->grants_alone > 0 ? (double)r->grants / (double)r->grants_alone : 1;
  if (part < sum->least_part) sum->least_part = part;
  if (r->events_most > sum->events_most) sum->events_most = r->events_most;
  if (r->head_most_ns > sum->head_most_ns) sum->head_most_ns = r->head_most_ns;
}

static bool main_run(world *w, const wanted *it, uint64_t seed) {
  if (it->is_slow) return slow_run(w, seed, it->is_traced, it->is_shown);
  if (it->is_crowd) return crowd_run(w, seed, it->is_traced, it->is_shown);
  plan p;
  plan_of_seed(&p, seed);
  bool held = world_run(w, &p, it->is_traced);
  if (!held || it->is_shown) main_show(w);
  return held;
}

static void main_say_slow(const results *sum, uint64_t count) {
  printf("%" PRIu64 " rounds with slow hosts: %" PRIu64
         " permits, %.1f %% of those of the healthy hosts "
         "alone, and %.1f %% at least; %" PRIu64 " marks: all held\n",
         count, sum->grants, 100 * (double)sum->grants / (double)sum->grants_alone,
         100 * sum->least_part, sum->marks);
}

int main(int argc, char **argv) {
  static world w;
  wanted it = main_arguments(argc, argv);
  uint64_t end_ns = volt_now_ns() + it.seconds * SECOND, count = 0;
  results sum = {.least_part = 1};
  for (; count < it.seeds && (it.seconds == 0 || volt_now_ns() < end_ns); count++) {
    if (!main_run(&w, &it, it.first + count)) {
      printf("to repeat it: %s --seed %" PRIu64 "%s --trace\n", argv[0], it.first + count,
             it.is_slow    ? " --slow"
             : it.is_crowd ? " --crowd"
                           : "");
      return 1;
    }
    main_add(&sum, &w.results);
  }
  if (it.is_slow) {
    main_say_slow(&sum, count);
    return 0;
  }
  printf("%" PRIu64 " seeds: %" PRIu64 " steps, %" PRIu64 " permits, %" PRIu64 " lost, %" PRIu64
         " faults, %.2f events a departure (most %" PRIu64 "), first in a queue for %" PRIu64
         " ms at most: all held\n",
         count, sum.steps, sum.grants, sum.lost, sum.faults,
         sum.departures ? (double)sum.events / (double)sum.departures : 0.0, sum.events_most,
         sum.head_most_ns / MS);
  return 0;
}
