/* volt-query: many callers of one function that waits, as fibers or as threads.
 *
 *   query.c        the function: one of eight connections, first come first served
 *   connections.c  a statement on a connection to PostgreSQL
 *
 * Callers that were not served within 50 ms ask again. */
#define _GNU_SOURCE /* getopt_long */
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <volt/fiber.h>
#include <volt/io.h>

#include "common/options.h"
#include "query.h"

static const char usage_text[] =
    "usage: volt-query [options] SERVER\n"
    "\n"
    "Runs a statement on PostgreSQL many times: each caller once, at most eight at a time, in the\n"
    "order in which they ask.\n"
    "\n"
    "  SERVER            as PostgreSQL's own clients take it: 'host=/tmp dbname=postgres'\n"
    "  -f, --fibers N    so many callers, each a fiber (by default 10000)\n"
    "  -t, --threads N   so many callers, each a thread\n"
    "  -s, --sql TEXT    the statement (by default: select 1)\n"
    "  -w, --workers N   with so many threads for the fibers (by default as many as CPUs)\n"
    "  -h, --help        show this\n"
    "\n"
    "Exit code: 0 all were served, 1 some were not, 2 wrong usage.\n";

struct options {
  const char *sql, *server;
  unsigned fibers, threads, workers;
};

struct caller {
  const char *sql;
  uint64_t asked; /* times */
  int result;
};

/* What each of them does, a fiber or a thread. */
static int call(void *arg) {
  struct caller *caller = arg;
  do {
    caller->asked += 1;
    caller->result = query(caller->sql);
  } while (caller->result == VOLT_ETIMEDOUT);
  return caller->result;
}

static void *call_on_thread(void *arg) {
  (void)call(arg);
  return NULL;
}

static bool run_threads(struct caller *callers, unsigned count) {
  pthread_t *threads = calloc(count, sizeof *threads);
  unsigned started = 0;
  if (!threads) return false;
  while (started < count &&
         pthread_create(&threads[started], NULL, call_on_thread, &callers[started]) == 0) {
    started += 1;
  }
  for (unsigned i = 0; i < started; i++) pthread_join(threads[i], NULL);
  free(threads);
  return started == count;
}

static bool run_fibers(volt_rt *rt, struct caller *callers, unsigned count) {
  const volt_fiber_config config = {.name = "caller"};
  volt_group group;
  unsigned spawned = 0;
  volt_group_init_how(&group, VOLT_GROUP_KEEP_GOING);
  while (spawned < count) {
    volt_task *fiber = volt_fiber_new(rt, call, &callers[spawned], &config);
    if (volt_group_spawn(&group, rt, fiber) != VOLT_OK) break;
    spawned += 1;
  }
  (void)volt_group_wait(&group);
  volt_group_destroy(&group);
  return spawned == count;
}

/* Returns whether every caller was served. */
static bool run(volt_rt *rt, const struct options *options) {
  unsigned count = options->threads > 0 ? options->threads : options->fibers;
  const char *kind = options->threads > 0 ? "threads" : "fibers";
  struct caller *callers = calloc(count, sizeof *callers);
  if (!callers) return false;
  for (unsigned i = 0; i < count; i++) {
    callers[i] = (struct caller){.sql = options->sql, .result = VOLT_ENOMEM};
  }
  uint64_t since_ns = volt_now_ns();
  bool all_ran =
      options->threads > 0 ? run_threads(callers, count) : run_fibers(rt, callers, count);
  double seconds = (double)(volt_now_ns() - since_ns) / 1e9;
  uint64_t served = 0, asked = 0;
  for (unsigned i = 0; i < count; i++) {
    served += callers[i].result == VOLT_OK;
    asked += callers[i].asked;
  }
  printf("%u %s: %" PRIu64 " served, asked %" PRIu64 " times, at most %u at once, %.2f s\n", count,
         kind, served, asked, connections_peak(), seconds);
  free(callers);
  return all_ran && served == count;
}

static bool parse_option(struct options *options, int option) {
  switch (option) {
    case 'f': return option_unsigned("fibers", optarg, 1, 1000000, &options->fibers);
    case 't': return option_unsigned("threads", optarg, 1, 10000, &options->threads);
    case 's': options->sql = optarg; return true;
    case 'w': return option_unsigned("workers", optarg, 1, VOLT_RT_WORKERS_MAX, &options->workers);
    default: return false;
  }
}

static bool parse(struct options *options, int argc, char **argv) {
  static const struct option known[] = {
      {"fibers", required_argument, NULL, 'f'}, {"threads", required_argument, NULL, 't'},
      {"sql", required_argument, NULL, 's'},    {"workers", required_argument, NULL, 'w'},
      {"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0},
  };
  *options = (struct options){.sql = "select 1", .fibers = 10000};
  bool right = true;
  for (int option; (option = getopt_long(argc, argv, "f:t:s:w:h", known, NULL)) != -1;) {
    if (option == 'h') {
      fputs(usage_text, stdout);
      exit(EXIT_SUCCESS);
    }
    right &= parse_option(options, option);
  }
  if (right && optind == argc - 1) {
    options->server = argv[optind];
    return true;
  }
  fputs(usage_text, stderr);
  return false;
}

int main(int argc, char **argv) {
  struct options options;
  if (!parse(&options, argc, argv)) return EXIT_USAGE;
  volt_rt *rt;
  const volt_rt_config config = {.workers = options.workers, .io = volt_io_auto()};
  int result = volt_rt_create(&rt, &config);
  if (result != VOLT_OK) {
    fprintf(stderr, "volt-query: cannot start: %s\n", volt_strerror(result));
    return EXIT_FAILURE;
  }
  connections_begin(rt, options.server);
  bool served = run(rt, &options);
  connections_end();
  volt_rt_destroy(rt);
  return served ? EXIT_SUCCESS : EXIT_FAILURE;
}
