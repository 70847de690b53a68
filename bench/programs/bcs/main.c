/* main.c: bench-bcs: which workload, with what; what was measured as a line of JSON. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bcs.h"

static int usage(FILE *out, int status) {
  fprintf(
      out,
      "usage: bench-bcs sections|alone [--engine NAME] [--tasks N] [--amount NS] [--apart NS]\n"
      "                 [--operations N]\n"
      "  sections  so many threads, with so much work in each section, and so much between two\n"
      "            (--apart), for so many milliseconds (--operations)\n"
      "  alone     sections of one thread, while no other thread is there\n"
      "engines:");
  for (const bcs_candidate *c = bcs_candidates; c->name; c++) {
    fprintf(out, " %s%s%s", c->name, c->alone ? "" : " (not alone)", c->init ? "" : " (not built)");
  }
  fprintf(out, "\n");
  return status;
}

static const bcs_candidate *candidate_named(const char *name) {
  for (const bcs_candidate *c = bcs_candidates; c->name; c++) {
    if (strcmp(c->name, name) == 0) return c;
  }
  return NULL;
}

static bool take_number(const char *text, uint64_t least, uint64_t most, uint64_t *number) {
  char *end;
  errno = 0;
  *number = strtoull(text, &end, 10);
  bool is_number = *text >= '0' && *text <= '9' && *end == '\0' && errno == 0;
  return is_number && *number >= least && *number <= most;
}

/* An option with a value. Returns false if it is none, or the value is out of range. */
static bool take(bcs_options *o, bool alone, const char *name, const char *value) {
  const uint64_t most_ns = 100000000;
  uint64_t n = 0;
  if (strcmp(name, "--amount") == 0) return take_number(value, 0, most_ns, &o->locked_ns);
  if (strcmp(name, "--apart") == 0) return take_number(value, 0, most_ns, &o->unlocked_ns);
  if (strcmp(name, "--workers") == 0) return take_number(value, 0, UINT32_MAX, &n); /* has none */
  if (strcmp(name, "--operations") == 0) {
    return take_number(value, 1, alone ? UINT32_MAX : 20000, &o->operations);
  }
  if (strcmp(name, "--tasks") != 0) return false;
  if (!take_number(value, 1, alone ? 1 : BCS_MAX_THREADS, &n)) return false;
  o->threads = (unsigned)n;
  return true;
}

static void print_field(const char *name, double value) {
  if (value >= 0) printf(", \"%s\": %.6f", name, value);
}

static void print(const char *workload, const char *engine, const bcs_options *o,
                  const bcs_outcome *outcome) {
  printf("{\"version\": \"volt %s\", \"workload\": \"%s\", \"engine\": \"%s\"", volt_version(),
         workload, engine);
  printf(", \"tasks\": %u, \"amount\": %llu, \"apart\": %llu, \"operations\": %llu", o->threads,
         (unsigned long long)o->locked_ns, (unsigned long long)o->unlocked_ns,
         (unsigned long long)o->operations);
  print_field("ns", outcome->ns);
  print_field("cpu_ns", outcome->cpu_ns);
  print_field("slowest_share", outcome->slowest_share);
  print_field("per_second", outcome->per_second);
  print_field("thread_mean", outcome->thread_mean);
  print_field("thread_least", outcome->thread_least);
  print_field("thread_most", outcome->thread_most);
  print_field("thread_deviation", outcome->thread_deviation);
  print_field("cores", outcome->cores);
  print_field("sleeps", outcome->sleeps);
  print_field("work_ns", outcome->work_ns);
  printf("}\n");
}

int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "--help") == 0) return usage(stdout, 0);
  if (argc < 2 || argc % 2 != 0) return usage(stderr, 2);
  bool alone = strcmp(argv[1], "alone") == 0;
  if (!alone && strcmp(argv[1], "sections") != 0) return usage(stderr, 2);
  const char *engine = "waitfree";
  bcs_options o = {alone ? 1 : 4, 0, 0, alone ? 5000000 : 100};
  for (int i = 2; i < argc; i += 2) {
    if (strcmp(argv[i], "--engine") == 0) {
      engine = argv[i + 1];
    } else if (!take(&o, alone, argv[i], argv[i + 1])) {
      return usage(stderr, 2);
    }
  }
  const bcs_candidate *c = candidate_named(engine);
  if (!c || (alone && !c->alone)) return usage(stderr, 2);
  if (!c->init) {
    fprintf(stderr, "bench-bcs: %s is not in this build\n", engine);
    return 2;
  }
  bcs_outcome outcome = alone ? bcs_run_alone(c, &o) : bcs_run_sections(c, &o);
  print(argv[1], engine, &o, &outcome);
  return fflush(stdout) == 0 ? 0 : 1;
}
