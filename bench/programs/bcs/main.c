/* main.c: the program: what to measure, and in what form to give it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bcs_bench.h"

enum { MAX_VALUES = 6 };

/* The values of an option that may be repeated; the grid of the benchmark if it is not given. */
struct values {
  uint64_t value[MAX_VALUES];
  unsigned count;
};

struct options {
  struct values threads, locked, unlocked;
  bcs_plan plan;
  bool any_candidate, quick, cells, uncontended;
  const char *json, *markdown, *plot_data;
};

static int usage(FILE *out, int status) {
  fprintf(out,
          "usage: bench-bcs [--quick] [--rounds N] [--slice MS] [--threads N]... [--locked NS]...\n"
          "                 [--unlocked NS]... [--only CANDIDATE]... [--uncontended]\n"
          "                 [--json FILE] [--markdown FILE] [--plot-data FILE]\n"
          "  --quick         half a minute instead of 12: 2 and 8 threads, 1 us outside, fewer "
          "rounds,\n"
          "                  volt_bcs_lock, volt_mutex, pthread_mutex and nsync_mu only\n"
          "  --rounds N      how often each candidate runs in each cell (1..%d)\n"
          "  --slice MS      for how long each time\n"
          "  --threads, --locked, --unlocked, up to %d times each: these cells only, %d at most\n"
          "  --uncontended   one thread alone; without other cells if none are named\n"
          "  --json, --markdown, --plot-data FILE: the results once more, for bcs.gp the last\n"
          "  --only          ",
          BENCH_MAX_ROUNDS, MAX_VALUES, BCS_MAX_CELLS);
  for (unsigned i = 0; i < BCS_CANDIDATES; i++) {
    fprintf(out, i + 1 < BCS_CANDIDATES ? "%s, " : "%s\n", bcs_candidates[i].key);
  }
  return status;
}

static bool add_value(struct values *v, uint64_t value, uint64_t least, uint64_t most) {
  if (v->count == MAX_VALUES || value < least || value > most) return false;
  v->value[v->count++] = value;
  return true;
}

static bool choose(struct options *o, const char *key) {
  for (unsigned i = 0; i < BCS_CANDIDATES; i++) {
    if (strcmp(bcs_candidates[i].key, key) == 0) return o->any_candidate = o->plan.chosen[i] = true;
  }
  return false;
}

/* An option with a value. Returns false if it is none, or the value is out of range. */
static bool take(struct options *o, const char *name, const char *value) {
  if (strcmp(name, "--only") == 0) return choose(o, value);
  if (strcmp(name, "--json") == 0) return (o->json = value) != NULL;
  if (strcmp(name, "--markdown") == 0) return (o->markdown = value) != NULL;
  if (strcmp(name, "--plot-data") == 0) return (o->plot_data = value) != NULL;
  char *end;
  uint64_t number = strtoull(value, &end, 10);
  if (*value == '\0' || *end != '\0') return false;
  if (strcmp(name, "--rounds") == 0) {
    o->plan.rounds = (unsigned)number;
    return number >= 1 && number <= BENCH_MAX_ROUNDS;
  }
  if (strcmp(name, "--slice") == 0) {
    o->plan.slice_ns = number * 1000000;
    return number >= 1 && number <= 60000;
  }
  o->cells = true;
  if (strcmp(name, "--threads") == 0) return add_value(&o->threads, number, 1, BCS_MAX_THREADS);
  if (strcmp(name, "--locked") == 0) return add_value(&o->locked, number, 0, 100000000);
  if (strcmp(name, "--unlocked") == 0) return add_value(&o->unlocked, number, 0, 100000000);
  return false;
}

static void default_to(struct values *v, struct values all) {
  if (v->count == 0) *v = all;
}

/* What is in a quick run: enough to plot, and those whom the text compares. */
static void default_to_quick(struct options *o) {
  static const unsigned candidates[] = {BCS_WAITFREE, BCS_LOCKFREE, BCS_MUTEX, BCS_PTHREAD,
                                        BCS_NSYNC};
  default_to(&o->threads, (struct values){{2, 8}, 2});
  default_to(&o->locked, (struct values){{0, 100, 1000, 10000, 100000}, 5});
  default_to(&o->unlocked, (struct values){{BCS_PLOT_UNLOCKED_NS}, 1});
  if (o->plan.rounds == 0) o->plan.rounds = 3;
  if (o->plan.slice_ns == 0) o->plan.slice_ns = 120000000;
  if (o->any_candidate) return;
  o->any_candidate = true;
  for (unsigned i = 0; i < sizeof candidates / sizeof *candidates; i++) {
    o->plan.chosen[candidates[i]] = true;
  }
}

/* Returns false if these are too many cells. */
static bool complete(struct options *o) {
  bcs_plan *plan = &o->plan;
  if (o->quick) default_to_quick(o);
  default_to(&o->threads, (struct values){{2, 4, 8}, 3});
  default_to(&o->locked, (struct values){{0, 100, 1000, 10000}, 4});
  default_to(&o->unlocked, (struct values){{0, BCS_PLOT_UNLOCKED_NS}, 2});
  if (plan->rounds == 0) plan->rounds = 5;
  if (plan->slice_ns == 0) plan->slice_ns = 500000000;
  for (unsigned i = 0; i < BCS_CANDIDATES && !o->any_candidate; i++) plan->chosen[i] = true;
  if (o->uncontended && !o->cells) return true;
  if (o->threads.count * o->unlocked.count * o->locked.count > BCS_MAX_CELLS) return false;
  for (unsigned t = 0; t < o->threads.count; t++) {
    for (unsigned u = 0; u < o->unlocked.count; u++) {
      for (unsigned l = 0; l < o->locked.count; l++) {
        plan->cells[plan->cell_count++] =
            (bcs_cell){(unsigned)o->threads.value[t], o->locked.value[l], o->unlocked.value[u]};
      }
    }
  }
  return true;
}

/* How long the work takes that is said to take so long; whoever reads the results should know. */
static void check_work(const char *when) {
  static const unsigned lengths[] = {100, 1000, 10000};
  bool off = false;
  printf("work, %s, in ns of CPU time:", when);
  for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    double ns = bcs_work_check(lengths[i]);
    printf(" %u is %.1f;", lengths[i], ns);
    off |= ns < lengths[i] * 0.95 || ns > lengths[i] * 1.05;
  }
  printf("%s\n", off ? " more than 5 % off, measure again" : " within 5 %");
}

static bool parse(struct options *o, int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--quick") == 0) {
      o->quick = true;
    } else if (strcmp(argv[i], "--uncontended") == 0) {
      o->uncontended = true;
    } else if (i + 1 < argc && take(o, argv[i], argv[i + 1])) {
      i += 1;
    } else {
      return false;
    }
  }
  return complete(o);
}

/* What was asked for; no file can hide that another could not be written. */
static bool write_files(const struct options *o, bcs_rows rows) {
  bool written = true;
  if (o->json) written &= bcs_write_json(o->json, &o->plan, rows);
  if (o->markdown) written &= bcs_write_markdown(o->markdown, &o->plan, rows);
  if (o->plot_data) written &= bcs_write_plot_data(o->plot_data, &o->plan, rows);
  return written;
}

int main(int argc, char **argv) {
  static struct options o;
  static bcs_rows rows;
  if (argc == 2 && strcmp(argv[1], "--help") == 0) return usage(stdout, 0);
  if (!parse(&o, argc, argv)) return usage(stderr, 2);
  bcs_print_head(&o.plan);
  bcs_work_calibrate();
  check_work("before");
  if (!o.cells || o.uncontended) bcs_uncontended();
  bcs_run(&o.plan, rows);
  bcs_print(&o.plan, rows);
  check_work("after");
  return write_files(&o, rows) ? 0 : 1;
}
