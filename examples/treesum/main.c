/* treesum: the SHA-256 sums of all files of a tree, computed in parallel.
 *
 * A program in the shape real programs have, to show volt at work. Its threads are the main thread,
 * which walks the tree, a pool of workers (worker.c), one that waits until a timer is due, and one
 * that waits for Ctrl-C. They meet at
 *   a semaphore that bounds open files, and measures the waits for it       open_files.c
 *   two semaphores and a mutex that make a bounded queue of paths           path_queue.c
 *   a rwlock around the results, which every worker looks into              results.c
 *   mutexes around the statistics and around standard error                 tally.c, console.c
 *   a queue of timers, and a semaphore with a deadline to wait for them     alarms.c
 *   a timer that restarts itself, one that is mostly cancelled              progress.c, slow.c
 * Stopping is closing the semaphores: whoever waits leaves, so no thread polls a flag while it
 * waits, and nothing hangs. No wait allocates memory. */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alarms.h"
#include "console.h"
#include "listing.h"
#include "memory.h"
#include "options.h"
#include "progress.h"
#include "scan.h"
#include "signals.h"
#include "verify.h"

#define EXIT_USAGE 2

static FILE *open_list(const char *output, struct stat *status) {
  FILE *list = output != NULL ? fopen(output, "we") : stdout;
  if (list == NULL) fatal("%s: %s", output, strerror(errno));
  if (fstat(fileno(list), status) != 0) *status = (struct stat){.st_ino = 0}; /* it is closed */
  return list;
}

/* On the thread that waits for signals. */
static void stop(void *ctx, int signal) {
  struct scan *scan = ctx;
  console_print(scan->console, "%s: stopping", strsignal(signal));
  scan_stop(scan);
}

static void report_waits(struct console *console, const struct open_files_use *use) {
  const struct wait_times *waits = &use->waits;
  console_print(console,
                "waits for an open file: %" PRIu64 " of %" PRIu64
                ", total %.6f s, p50 %.6f s, p99 %.6f s, max %.6f s",
                waits->count, use->entered, (double)waits->total_ns / 1e9,
                (double)wait_times_percentile_ns(waits, 50) / 1e9,
                (double)wait_times_percentile_ns(waits, 99) / 1e9, (double)waits->max_ns / 1e9);
}

static void report(struct scan *scan, const struct options *options, uint64_t elapsed_ns) {
  struct counts counts = tally_read(&scan->tally);
  struct open_files_use use = open_files_measured(&scan->open_files);
  double seconds = (double)elapsed_ns / 1e9;
  console_print(
      scan->console, "%" PRIu64 " files, %" PRIu64 " bytes, %.3f s, %.1f MB/s, %u threads",
      counts.summed, counts.bytes, seconds, (double)counts.bytes / 1e6 / seconds, options->threads);
  console_print(scan->console,
                "%" PRIu64 " errors, %" PRIu64 " files with a further name, %" PRIu64
                " symbolic links not followed",
                console_complaints(scan->console), counts.repeated, counts.symlinks);
  console_print(scan->console, "open files: at most %" PRIu32 " at once, %u allowed", use.most,
                options->open_files);
  report_waits(scan->console, &use);
  if (counts.slow > 0) {
    console_print(scan->console, "%" PRIu64 " files took longer than %u ms", counts.slow,
                  options->slow_after_ms);
  }
}

static void write_list(struct scan *scan, FILE *list) {
  results_sort(&scan->results);
  if (!listing_write(list, &scan->results) || fclose(list) != 0) {
    console_complain(scan->console, "the list", strerror(errno));
  }
}

/* What remains when all is written. signal: what has stopped the scan, or 0. Returns the exit
 * code. */
static int conclude(struct scan *scan, const struct options *options, int signal) {
  if (signal != 0) {
    struct counts counts = tally_read(&scan->tally);
    bool all = counts.walked && counts.summed + counts.skipped == counts.found;
    console_print(scan->console, "stopped by %s%s", strsignal(signal),
                  all ? "" : ": the list is incomplete");
    return 128 + signal;
  }
  int checked = options->verify ? verify(&scan->results, scan->console) : 0;
  if (checked != 0) return checked;
  return console_complaints(scan->console) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv) {
  struct options options;
  switch (options_parse(&options, argc, argv)) {
    case OPTIONS_RUN: break;
    case OPTIONS_HELP_SHOWN: return EXIT_SUCCESS;
    case OPTIONS_WRONG: return EXIT_USAGE;
  }
  struct console console;
  struct alarms alarms;
  struct scan scan;
  struct slow slow = {options.slow_after_ms, &alarms.timers, &console};
  console_init(&console);
  scan_init(&scan, options.open_files, &slow, &console);
  FILE *list = open_list(options.output, &scan.list);

  struct signals signals;
  struct progress progress;
  signals_watch(&signals, stop, &scan);
  alarms_start(&alarms);
  progress_start(&progress, &alarms.timers, &console, &scan.tally);
  uint64_t start_ns = volt_now_ns();
  scan_run(&scan, options.roots, options.threads);
  uint64_t elapsed_ns = volt_now_ns() - start_ns;
  alarms_stop(&alarms);
  progress_end(&progress);
  alarms_destroy(&alarms);
  write_list(&scan, list);
  int signal = signals_unwatch(&signals);

  report(&scan, &options, elapsed_ns);
  int code = conclude(&scan, &options, signal);
  scan_destroy(&scan);
  console_destroy(&console);
  return code;
}
