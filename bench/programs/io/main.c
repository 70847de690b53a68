/* main.c: the command line and the line of JSON of bench-io (io.h). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io.h"

typedef struct workload {
  const char *name;
  void (*run)(const io_options *o, const io_children *c, io_said *said);
  uint32_t tasks, amount, operations; /* without options */
} workload;

static const workload workloads[] = {
    {"echo", io_echo, 64, 64, 1000},
    {"connects", io_connects, 64, 64, 1000},
    {"idle", io_idle, 10000, 64, 2000},
    {"http", io_http, 16, 0, 1000},
};
enum { WORKLOADS = sizeof workloads / sizeof *workloads };

static int usage(FILE *out, int status) {
  fprintf(
      out,
      "usage: bench-io echo|connects|idle|http --server COMMAND [--origin COMMAND] [--path PATH]\n"
      "                [--tasks N] [--amount N] [--operations N] [--rate N] [--work N]\n"
      "                [--all-cores 0|1] [--tls 0|1|2]\n"
      "  COMMAND      @: the port to listen at; %%: that of the origin, which a relay connects to\n"
      "  --tasks      connections; --amount: bytes of a message; --operations: milliseconds\n"
      "  --rate       messages a second; 0: each connection sends when it has its answer\n"
      "  --work       nanoseconds that the client computes for each answer\n"
      "  --all-cores  1: for the server and the client; 0: one for each\n"
      "  --tls        1: TLS 1.3; 2: a connection resumes the session of the one before\n"
      "  --path       of HTTP; http compares the answer with $BENCH_DIR/www/PATH\n");
  return status;
}

static bool take_number(const char *text, uint32_t least, uint32_t most, uint32_t *number) {
  char *end;
  if (*text < '0' || *text > '9') return false;
  errno = 0;
  unsigned long n = strtoul(text, &end, 10);
  if (*end != '\0' || errno != 0 || n < least || n > most) return false;
  *number = (uint32_t)n;
  return true;
}

static bool take(io_options *o, const char *name, const char *value) {
  struct {
    const char *name;
    const char **text;
  } texts[] = {{"--server", &o->server}, {"--origin", &o->origin}, {"--path", &o->path}};
  struct {
    const char *name;
    uint32_t *number, least, most;
  } numbers[] = {
      {"--tasks", &o->tasks, 1, IO_TASKS_MOST},     {"--amount", &o->amount, 1, IO_BYTES_MOST},
      {"--operations", &o->operations, 1, 600000},  {"--rate", &o->rate, 0, 10000000},
      {"--work", &o->work, 0, 1000000000},          {"--all-cores", &o->all_cores, 0, 1},
      {"--tls", &o->tls, IO_PLAIN, IO_TLS_RESUMED},
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    if (strcmp(name, texts[i].name) != 0) continue;
    *texts[i].text = value;
    return true;
  }
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    if (strcmp(name, numbers[i].name) != 0) continue;
    return take_number(value, numbers[i].least, numbers[i].most, numbers[i].number);
  }
  return false;
}

static void print(const io_options *o, const io_said *said) {
  static const struct {
    const char *name;
    double quantile;
  } quantiles[] = {{"p50_ns", 0.5}, {"p99_ns", 0.99}, {"p999_ns", 0.999}};
  double operations = (double)said->operations;
  if (said->operations == 0) io_fail("no answer has come");
  printf("{\"version\": \"\", \"ns\": %.1f, \"cpu_ns\": %.1f", said->wall_ns / operations,
         said->server_ns / operations);
  printf(", \"client_idle\": %.4f, \"per_second\": %.1f", said->client_idle,
         operations / said->wall_ns * 1e9);
  if (o->rate) printf(", \"of_rate\": %.4f", operations / said->wall_ns * 1e9 / o->rate);
  if (said->bytes >= 0) printf(", \"bytes\": %.1f", said->bytes);
  if (said->cores >= 0) printf(", \"cores\": %.6f", said->cores);
  for (size_t i = 0; said->waits.count && i < sizeof quantiles / sizeof *quantiles; i++) {
    printf(", \"%s\": %llu", quantiles[i].name,
           (unsigned long long)histogram_quantile(&said->waits, quantiles[i].quantile));
  }
  printf("}\n");
}

int main(int count, char **values) {
  const workload *w = NULL;
  for (int i = 0; count > 1 && i < WORKLOADS; i++) {
    if (strcmp(values[1], workloads[i].name) == 0) w = &workloads[i];
  }
  if (!w) return usage(stderr, 2);
  io_options o = {.tasks = w->tasks, .amount = w->amount, .operations = w->operations};
  for (int i = 2; i < count; i += 2) {
    if (i + 1 == count || !take(&o, values[i], values[i + 1])) return usage(stderr, 2);
  }
  if (!o.server) return usage(stderr, 2);
  io_children children;
  static io_said said;
  io_said_new(&said);
  io_children_start(&children, &o);
  w->run(&o, &children, &said);
  io_children_stop(&children);
  print(&o, &said);
  return 0;
}
