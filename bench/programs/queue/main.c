/* main.c: bench-queue: the library's wait queue beside those of variants/ and glibc's locks, in one
 * process and one thread. Contention is measured by the other programs. */
#define _GNU_SOURCE /* pthread */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engines.h"

static const struct {
  const char *name;
  void (*run)(void);
} sections[] = {
    {"uncontended", bench_uncontended},
    {"paths", bench_path_times},
    {"handoff", bench_handoff},
    {"allocation", bench_allocation},
};
enum { SECTIONS = sizeof sections / sizeof *sections };

static int usage(FILE *out, int status) {
  fprintf(out,
          "usage: bench-queue [--quick] [--rounds N] [--only SECTION]... [--json FILE]\n"
          "  --quick         about ten seconds instead of half a minute\n"
          "  --rounds N      how often each candidate runs (3..%d)\n"
          "  --only SECTION  uncontended, paths, handoff, allocation\n"
          "  --json FILE     the results once more, for programs\n",
          BENCH_MAX_ROUNDS);
  return status;
}

/* glibc leaves the atomics out while a process has one thread. This one sleeps to the end. */
static void *sleep_to_the_end(void *never) {
  while (sem_wait((sem_t *)never) != 0) continue;
  return NULL;
}

static bool choose(bool *chosen, const char *name) {
  for (unsigned i = 0; i < SECTIONS; i++) {
    if (strcmp(sections[i].name, name) == 0) return chosen[i] = true;
  }
  return false;
}

int main(int argc, char **argv) {
  bool chosen[SECTIONS] = {false};
  bool any = false;
  const char *json = NULL;
  unsigned rounds = 0;
  for (int i = 1; i < argc; i++) {
    const char *value = i + 1 < argc ? argv[i + 1] : NULL;
    if (strcmp(argv[i], "--help") == 0) return usage(stdout, 0);
    if (strcmp(argv[i], "--quick") == 0) {
      bench_effort_now = (bench_effort){11, 6000000};
    } else if (strcmp(argv[i], "--only") == 0 && value && choose(chosen, value)) {
      any = true;
      i += 1;
    } else if (strcmp(argv[i], "--json") == 0 && value) {
      json = value;
      i += 1;
    } else if (strcmp(argv[i], "--rounds") == 0 && value && atoi(value) >= 3 &&
               atoi(value) <= BENCH_MAX_ROUNDS) {
      rounds = (unsigned)atoi(value);
      i += 1;
    } else {
      return usage(stderr, 2);
    }
  }
  if (rounds > 0) bench_effort_now.rounds = rounds;
  static sem_t never;
  pthread_t second;
  sem_init(&never, 0, 0);
  if (pthread_create(&second, NULL, sleep_to_the_end, &never) != 0) return 1;
  bench_print_machine();
  for (unsigned i = 0; i < SECTIONS; i++) {
    if (!any || chosen[i]) sections[i].run();
  }
  unsigned count;
  const bench_result *results = bench_results(&count);
  int status = json && !bench_write_json(json, results, count) ? 1 : 0;
  sem_post(&never);
  pthread_join(second, NULL);
  return status;
}
