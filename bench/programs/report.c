/* report.c: tables for people, JSON for programs. */
#define _GNU_SOURCE /* popen, gmtime_r */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

static void print_ratio(double ratio) {
  if (ratio > 0) {
    printf("  %8.2f", ratio);
  } else {
    printf("  %8s", "");
  }
}

void bench_print(const bench_table *t, const bench_result *results) {
  printf("\n%s\n  %-34s %9s  %19s  %19s", t->title, "", "median ns", "quartiles", "least .. most");
  if (t->limit) printf("  %8s", "x limit");
  if (t->peer_title) printf("  %8s", t->peer_title);
  printf("\n");
  for (unsigned i = 0; i < t->case_count; i++) {
    const bench_result *r = &results[i];
    printf("  %-34s %9.2f  %8.2f ..%9.2f  %8.2f ..%9.2f", r->name, r->ns.median, r->ns.quartile_1,
           r->ns.quartile_3, r->ns.least, r->ns.most);
    if (t->limit) print_ratio(r->to_limit);
    if (t->peer_title) print_ratio(r->to_peer);
    printf("\n");
  }
  fflush(stdout);
}

/* The first line a command prints, or "". */
static void first_line_of(const char *command, char *line, size_t bytes) {
  line[0] = '\0';
  FILE *in = popen(command, "r");
  if (!in) return;
  if (!fgets(line, (int)bytes, in)) line[0] = '\0';
  pclose(in);
  line[strcspn(line, "\n")] = '\0';
}

struct machine {
  struct utsname system;
  char cpu[128];
  char commit[64];
  char date[32];
  long cores;
};

static void describe_machine(struct machine *m) {
  memset(m, 0, sizeof *m);
  uname(&m->system);
  m->cores = sysconf(_SC_NPROCESSORS_ONLN);
  first_line_of("sed -n 's/^model name[^:]*: //p' /proc/cpuinfo", m->cpu, sizeof m->cpu);
  first_line_of("git rev-parse --short HEAD 2>/dev/null", m->commit, sizeof m->commit);
  time_t now = time(NULL);
  struct tm utc;
  gmtime_r(&now, &utc);
  strftime(m->date, sizeof m->date, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

#if defined(__clang__)
#define COMPILER __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif

const char *bench_machine(void) {
  static char text[512];
  struct machine m;
  describe_machine(&m);
  snprintf(text, sizeof text, "%s, %ld cores, %s %s, %s, commit %s, %s",
           m.cpu[0] ? m.cpu : m.system.machine, m.cores, m.system.sysname, m.system.release,
           COMPILER, m.commit[0] ? m.commit : "unknown", m.date);
  return text;
}

void bench_print_machine(void) {
  printf(
      "%s\n%u rounds, interleaved; slices of %.0f ms; ratios are medians of each round's ratio\n",
      bench_machine(), bench_effort_now.rounds, (double)bench_effort_now.slice_ns / 1e6);
}

void bench_json_text(FILE *out, const char *name, const char *text) {
  fprintf(out, "\"%s\": \"", name);
  for (; *text; text++) {
    if (*text == '"' || *text == '\\') fputc('\\', out);
    if ((unsigned char)*text >= ' ') fputc(*text, out);
  }
  fputc('"', out);
}

static void json_text(FILE *out, const char *name, const char *text, const char *after) {
  bench_json_text(out, name, text);
  fputs(after, out);
}

static void json_summary(FILE *out, const char *name, bench_summary s) {
  fprintf(out,
          ", \"%s\": {\"median\": %.4g, \"quartile_1\": %.4g, \"quartile_3\": %.4g, "
          "\"least\": %.4g, \"most\": %.4g}",
          name, s.median, s.quartile_1, s.quartile_3, s.least, s.most);
}

static void json_ratio(FILE *out, const char *to, const char *other, const char *name,
                       double ratio) {
  if (ratio <= 0) return;
  fprintf(out, ", ");
  json_text(out, to, other, ", ");
  fprintf(out, "\"%s\": %.4g", name, ratio);
}

static void json_result(FILE *out, const bench_result *r) {
  fprintf(out, "    {");
  json_text(out, "section", r->section, ", ");
  json_text(out, "table", r->table, ", ");
  json_text(out, "name", r->name, "");
  json_summary(out, "ns", r->ns);
  json_ratio(out, "limit", r->limit, "to_limit", r->to_limit);
  json_ratio(out, "peer", r->peer, "to_peer", r->to_peer);
  if (r->allocations >= 0) fprintf(out, ", \"allocations\": %.4g", r->allocations);
  fprintf(out, "}");
}

bool bench_write_json(const char *path, const bench_result *results, unsigned count) {
  FILE *out = fopen(path, "w");
  if (!out) {
    perror(path);
    return false;
  }
  struct machine m;
  describe_machine(&m);
  fprintf(out, "{\n  ");
  json_text(out, "cpu", m.cpu, ",\n  ");
  json_text(out, "machine", m.system.machine, ",\n  ");
  fprintf(out, "\"cores\": %ld,\n  ", m.cores);
  json_text(out, "kernel", m.system.release, ",\n  ");
  json_text(out, "compiler", COMPILER, ",\n  ");
  json_text(out, "commit", m.commit, ",\n  ");
  json_text(out, "date", m.date, ",\n  ");
  fprintf(out, "\"rounds\": %u,\n  \"slice_ns\": %" PRIu64 ",\n  \"results\": [\n",
          bench_effort_now.rounds, bench_effort_now.slice_ns);
  for (unsigned i = 0; i < count; i++) {
    json_result(out, &results[i]);
    fprintf(out, i + 1 < count ? ",\n" : "\n");
  }
  fprintf(out, "  ]\n}\n");
  if (fclose(out) == 0) return true;
  perror(path);
  return false;
}
