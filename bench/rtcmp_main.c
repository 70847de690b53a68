/* rtcmp_main.c: the program: how long to measure, and in what form to give the results. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rtcmp.h"

struct options {
  rtcmp_plan plan;
  const char *no_tokio, *json, *markdown;
};

static int usage(FILE *out, int status) {
  fprintf(out,
          "usage: bench-rt-compare --volt PROGRAM [--tokio PROGRAM] [--no-tokio WHY] [--quick]\n"
          "                        [--rounds N] [--percent N] [--json FILE] [--markdown FILE]\n"
          "  --volt, --tokio    bench-rt, and the same on Tokio\n"
          "  --no-tokio WHY     why that is left out\n"
          "  --quick            half a minute: 3 rounds; else 15, or as many as fit in 150 s\n"
          "  --rounds N         1..%d\n"
          "  --percent N        of the operations of each run, to see that it works\n"
          "  --json, --markdown FILE: the results once more\n",
          BENCH_MAX_ROUNDS);
  return status;
}

static bool take_number(const char *text, unsigned most, unsigned *number) {
  char *end;
  unsigned long n = strtoul(text, &end, 10);
  *number = (unsigned)n;
  return *text != '\0' && *end == '\0' && n >= 1 && n <= most;
}

/* An option with a value. Returns false if it is none, or the value is out of range. */
static bool take(struct options *o, const char *name, const char *value) {
  if (strcmp(name, "--volt") == 0) return (o->plan.volt = value) != NULL;
  if (strcmp(name, "--tokio") == 0) return (o->plan.tokio = value) != NULL;
  if (strcmp(name, "--no-tokio") == 0) return (o->no_tokio = value) != NULL;
  if (strcmp(name, "--json") == 0) return (o->json = value) != NULL;
  if (strcmp(name, "--markdown") == 0) return (o->markdown = value) != NULL;
  if (strcmp(name, "--percent") == 0) return take_number(value, 100, &o->plan.percent);
  return strcmp(name, "--rounds") == 0 && take_number(value, BENCH_MAX_ROUNDS, &o->plan.rounds);
}

static bool parse(struct options *o, int argc, char **argv) {
  bool quick = false;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--quick") == 0) {
      quick = true;
    } else if (i + 1 < argc && take(o, argv[i], argv[i + 1])) {
      i += 1;
    } else {
      return false;
    }
  }
  if (o->plan.rounds == 0) o->plan.rounds = quick ? 3 : 15;
  o->plan.seconds = quick ? 20 : 150;
  if (o->plan.percent == 0) o->plan.percent = 100;
  return o->plan.volt != NULL;
}

static bool can_run(const char *program) {
  if (access(program, X_OK) == 0) return true;
  perror(program);
  return false;
}

int main(int argc, char **argv) {
  static rtcmp_results results;
  struct options o;
  memset(&o, 0, sizeof o);
  if (argc == 2 && strcmp(argv[1], "--help") == 0) return usage(stdout, 0);
  if (!parse(&o, argc, argv)) return usage(stderr, 2);
  rtcmp_plan *plan = &o.plan;
  if (!can_run(plan->volt) || (plan->tokio && !can_run(plan->tokio))) return 1;
  printf("%s\n", bench_machine());
  if (!plan->tokio)
    printf("tokio: skipped: %s\n", o.no_tokio ? o.no_tokio : "no --tokio was given");
  rtcmp_run(plan, &results);
  rtcmp_print(plan, &results);
  bool written = true;
  if (o.json) written &= rtcmp_write_json(o.json, plan, &results);
  if (o.markdown) written &= rtcmp_write_markdown(o.markdown, plan, &results);
  return written ? 0 : 1;
}
