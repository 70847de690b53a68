/* treesum: the SHA-256 sums of all files of a tree, computed in parallel.
 *
 * A program in the shape real programs have, to show volt at work. A walker finds files, others sum
 * them, something shows the progress; each of them is a task of volt's runtime, or with --threads a
 * thread. They meet at
 *   a semaphore that bounds open files, and measures the waits for it         open_files.c
 *   a rwlock around the results, which is looked into for every file          results.c
 *   mutexes around the statistics and around standard error                   tally.c, console.c
 * and do the same with a directory and with a file                            tree.c, file_sum.c
 *
 *                    tasks, task_form.c               threads, thread_form.c
 *   finding files    walk_task.c                      walk.c
 *   summing them     a task per file   file_task.c    workers                  worker.c
 *   not too many     two semaphores                   a bounded queue          path_queue.c
 *   the progress     an interval   progress_task.c    a timer, again and again progress_timer.c
 *   slow files       a task sleeps     slow_task.c    a timer, often cancelled slow_timer.c
 *   time             the runtime's timers             a thread for timers      alarms.c
 *   stopping         a group is cancelled             semaphores are closed
 *
 * A thread waits for Ctrl-C (signals.c). Nobody polls a flag while it waits, and nothing hangs. No
 * wait allocates memory. */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console.h"
#include "listing.h"
#include "memory.h"
#include "options.h"
#include "scan.h"
#include "signals.h"
#include "task_form.h"
#include "thread_form.h"
#include "verify.h"

#define EXIT_USAGE 2

static FILE *open_list(const char *output, struct stat *status) {
  FILE *list = output != NULL ? fopen(output, "we") : stdout;
  if (list == NULL) fatal("%s: %s", output, strerror(errno));
  if (fstat(fileno(list), status) != 0) *status = (struct stat){.st_ino = 0}; /* it is closed */
  return list;
}

/* The parallel part. */
struct work {
  const struct options *options;
  struct scan scan;
  volt_group tasks; /* walker and jobs, if they are tasks */
};

/* On the thread that waits for signals. */
static void stop(void *ctx, int signal) {
  struct work *work = ctx;
  console_print(work->scan.console, "%s: stopping", strsignal(signal));
  if (work->options->threads) {
    thread_form_stop(&work->scan);
  } else {
    volt_group_cancel(&work->tasks);
  }
}

/* Returns how long it has taken. */
static uint64_t run(struct work *work) {
  const struct options *options = work->options;
  uint64_t start_ns = volt_now_ns();
  if (options->threads) {
    thread_form_run(&work->scan, options->roots, options->jobs);
  } else {
    task_form_run(&work->scan, &work->tasks, options->roots, options->jobs);
  }
  return volt_now_ns() - start_ns;
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
  console_print(scan->console, "%" PRIu64 " files, %" PRIu64 " bytes, %.3f s, %.1f MB/s, %u %s",
                counts.summed, counts.bytes, seconds, (double)counts.bytes / 1e6 / seconds,
                options->jobs, options->threads ? "threads" : "jobs");
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
  memory_begin();
  struct console console;
  struct work work = {.options = &options};
  struct scan *scan = &work.scan;
  console_init(&console);
  scan_init(scan, options.roots, options.open_files, options.slow_after_ms, &console);
  volt_group_init(&work.tasks);
  FILE *list = open_list(options.output, &scan->list);

  struct signals signals;
  signals_watch(&signals, stop, &work);
  uint64_t elapsed_ns = run(&work);
  write_list(scan, list);
  int signal = signals_unwatch(&signals);

  report(scan, &options, elapsed_ns);
  int code = conclude(scan, &options, signal);
  volt_group_destroy(&work.tasks);
  scan_destroy(scan);
  console_destroy(&console);
  return code;
}
