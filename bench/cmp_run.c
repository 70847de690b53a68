/* cmp_run.c: rounds, and in them one process for each run. */
#define _GNU_SOURCE /* wait4 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <volt/base.h>

#include "cmp.h"

enum { RUN_SECONDS = 120, LINE_OPERATIONS = 20000 };

/* ---- what else is going on ---- */

/* CPU time that all of the machine has used, in seconds. */
static double busy_seconds(void) {
  unsigned long long t[8] = {0};
  FILE *in = fopen("/proc/stat", "r");
  if (!in) return 0;
  int read = fscanf(in, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &t[0], &t[1], &t[2], &t[3],
                    &t[4], &t[5], &t[6], &t[7]);
  fclose(in);
  if (read != 8) return 0; /* 3 and 4: idle */
  return (double)(t[0] + t[1] + t[2] + t[5] + t[6] + t[7]) / (double)sysconf(_SC_CLK_TCK);
}

static double seconds_of(const struct rusage *used) {
  return (double)(used->ru_utime.tv_sec + used->ru_stime.tv_sec) +
         (double)(used->ru_utime.tv_usec + used->ru_stime.tv_usec) / 1e6;
}

/* ---- a run ---- */

/* What the program says of a number; 0 if it says nothing. */
static double number_in(const char *text, const char *name) {
  char pattern[32];
  snprintf(pattern, sizeof pattern, "\"%s\": ", name);
  const char *at = strstr(text, pattern);
  return at ? strtod(at + strlen(pattern), NULL) : 0;
}

/* The same of a text; bytes is the size of value, which remains as it is if nothing is said. */
static void text_in(const char *text, const char *name, char *value, size_t bytes) {
  char pattern[32];
  snprintf(pattern, sizeof pattern, "\"%s\": \"", name);
  const char *at = strstr(text, pattern);
  if (!at) return;
  at += strlen(pattern);
  size_t length = strcspn(at, "\"");
  if (length < bytes) snprintf(value, length + 1, "%s", at);
}

static void fail(char *const *argv, const char *how) {
  fprintf(stderr, "bench: %s:", how);
  for (; *argv; argv++) fprintf(stderr, " %s", *argv);
  fprintf(stderr, "\n");
  exit(1);
}

/* Start it with its output in a pipe. Returns the end to read from. */
static FILE *start(char *const *argv, pid_t *child) {
  int ends[2];
  fflush(NULL);
  if (pipe(ends) != 0 || (*child = fork()) < 0) fail(argv, "cannot start");
  if (*child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    alarm(RUN_SECONDS); /* kept across exec: a run that hangs ends */
    execv(argv[0], argv);
    _exit(127);
  }
  close(ends[1]);
  FILE *in = fdopen(ends[0], "r");
  if (!in) fail(argv, "cannot start");
  return in;
}

/* version: 64 bytes, or NULL. */
static cmp_sample run_program(char *const *argv, char *version) {
  char text[512];
  int status;
  struct rusage used;
  pid_t child;
  double busy_before = busy_seconds();
  uint64_t before_ns = volt_now_ns();
  FILE *in = start(argv, &child);
  size_t length = fread(text, 1, sizeof text - 1, in);
  text[length] = '\0';
  fclose(in);
  if (wait4(child, &status, 0, &used) != child || status != 0) fail(argv, "did not succeed");
  double wall = (double)(volt_now_ns() - before_ns) / 1e9;
  double cores = seconds_of(&used) / wall;
  double others = (busy_seconds() - busy_before) / wall - cores;
  cmp_sample s = {number_in(text, "ns"),           number_in(text, "cpu_ns"),
                  number_in(text, "overlap"),      number_in(text, "bytes"),
                  number_in(text, "header_bytes"), cores,
                  others > 0 ? others : 0};
  if (s.ns <= 0) fail(argv, "measured nothing");
  if (version) text_in(text, "version", version, 64);
  return s;
}

/* ---- rounds ---- */

static uint64_t scaled(uint64_t count, unsigned percent) {
  uint64_t some = count * percent / 100;
  return some > 1 ? some : 1;
}

static cmp_sample run_arm(const cmp_plan *plan, const cmp_row *row, const cmp_arm *arm,
                          char *version) {
  char workers[24], tasks[24], amount[24], operations[24], option[32];
  bool many = row->tasks >= 1000000; /* it is tasks that make this run long */
  uint64_t task_count = many ? scaled(row->tasks, plan->percent) : row->tasks;
  snprintf(workers, sizeof workers, "%u", row->workers);
  snprintf(tasks, sizeof tasks, "%" PRIu64, task_count);
  snprintf(option, sizeof option, "--%s", cmp_of.amount);
  snprintf(amount, sizeof amount, "%u", row->amount);
  snprintf(operations, sizeof operations, "%" PRIu64, scaled(row->operations, plan->percent));
  const char *argv[] = {plan->programs[arm->program],
                        row->workload,
                        "--workers",
                        workers,
                        "--tasks",
                        tasks,
                        option,
                        amount,
                        "--operations",
                        operations,
                        arm->engine ? "--engine" : NULL,
                        arm->engine,
                        NULL};
  return run_program((char *const *)argv, version);
}

/* A run during which something else was busy shows that as well: do it again, but do not let a
 * machine that is never quiet make the benchmark endless. */
static cmp_sample run_undisturbed(const cmp_plan *plan, const cmp_row *row, const cmp_arm *arm,
                                  char *version) {
  static unsigned runs, repeats;
  for (runs += 1;; repeats += 1) {
    cmp_sample s = run_arm(plan, row, arm, version);
    if (s.others < CMP_DISTURBED || repeats >= runs / 5) return s;
  }
}

static double line_now(const cmp_plan *plan) {
  char operations[24];
  snprintf(operations, sizeof operations, "%d", LINE_OPERATIONS);
  const char *argv[] = {plan->programs[0], "line", "--operations", operations, NULL};
  return run_program((char *const *)argv, NULL).ns;
}

static void run_row(const cmp_plan *plan, unsigned row, unsigned round, cmp_results *r) {
  const cmp_row *of = &cmp_of.rows[row];
  if (of->contended) r->lines[row][round] = line_now(plan);
  for (unsigned i = 0; i < of->arm_count; i++) {
    unsigned arm = (i + round) % of->arm_count;
    if (round >= cmp_rounds(plan, row, arm)) continue;
    r->samples[row][arm][round] = run_undisturbed(plan, of, &of->arms[arm], r->versions[row][arm]);
  }
}

void cmp_run(cmp_plan *plan, cmp_results *r) {
  uint64_t end_ns = volt_now_ns() + plan->seconds * UINT64_C(1000000000);
  unsigned round = 0;
  do {
    for (unsigned row = 0; row < cmp_of.row_count; row++) run_row(plan, row, round, r);
    round += 1;
    fprintf(stderr, "bench: round %u of at most %u\n", round, plan->rounds);
  } while (round < plan->rounds && volt_now_ns() < end_ns);
  plan->rounds = round;
}
