/* cmp_main.c: the program: how long to measure, and in what form to give the results. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmp.h"

struct options {
  cmp_plan plan;
  const char *json, *markdown;
};

static int usage(FILE *out, int status) {
  fprintf(out,
          "usage: OPTIONS, and of each of these programs --NAME PROGRAM, or --no-NAME WHY if it is "
          "left out:\n ");
  for (unsigned i = 0; cmp_of.programs[i]; i++) fprintf(out, " %s", cmp_of.programs[i]);
  fprintf(out,
          "\n"
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

static bool take_program(cmp_plan *plan, const char *name, const char *value) {
  for (unsigned i = 0; cmp_of.programs[i]; i++) {
    if (strcmp(name, cmp_of.programs[i]) == 0) return (plan->programs[i] = value) != NULL;
    bool left_out = i > 0 && strncmp(name, "no-", 3) == 0;
    if (left_out && strcmp(name + 3, cmp_of.programs[i]) == 0) {
      return (plan->why[i] = value) != NULL;
    }
  }
  return false;
}

/* An option with a value. Returns false if it is none, or the value is out of range. */
static bool take(struct options *o, const char *name, const char *value) {
  if (strncmp(name, "--", 2) != 0) return false;
  if (strcmp(name, "--json") == 0) return (o->json = value) != NULL;
  if (strcmp(name, "--markdown") == 0) return (o->markdown = value) != NULL;
  if (strcmp(name, "--percent") == 0) return take_number(value, 100, &o->plan.percent);
  if (strcmp(name, "--rounds") == 0) return take_number(value, BENCH_MAX_ROUNDS, &o->plan.rounds);
  return take_program(&o->plan, name + 2, value);
}

static bool parse(struct options *o, int argc, char **argv) {
  bool quick = false;
  for (unsigned i = 0; cmp_of.programs[i]; i++) o->plan.why[i] = "its program was not named";
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
  return o->plan.programs[0] != NULL;
}

static bool can_run(const cmp_plan *plan) {
  for (unsigned i = 0; cmp_of.programs[i]; i++) {
    if (!plan->programs[i] || access(plan->programs[i], X_OK) == 0) continue;
    perror(plan->programs[i]);
    return false;
  }
  return true;
}

int main(int argc, char **argv) {
  static cmp_results results;
  struct options o;
  memset(&o, 0, sizeof o);
  if (argc == 2 && strcmp(argv[1], "--help") == 0) return usage(stdout, 0);
  if (!parse(&o, argc, argv)) return usage(stderr, 2);
  if (!can_run(&o.plan)) return 1;
  printf("%s\n", bench_machine());
  cmp_run(&o.plan, &results);
  cmp_print(&o.plan, &results);
  bool written = true;
  if (o.json) written &= cmp_write_json(o.json, &o.plan, &results);
  if (o.markdown) written &= cmp_write_markdown(o.markdown, &o.plan, &results);
  return written ? 0 : 1;
}
