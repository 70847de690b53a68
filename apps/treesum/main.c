/* treesum: the SHA-256 sums of all files of a tree, computed in parallel.
 *
 * A program in the shape real programs have, to show volt at work. A walker finds files, others sum
 * them, something shows the progress; each of them is a task of volt's runtime, or with --threads a
 * thread. They meet at
 *   a semaphore that bounds open files, and measures the waits for it         open_files.c
 *   a rwlock around the results, which is looked into for every file          results.c
 *   mutexes around the statistics and around standard error                   progress.c, console.c
 * and do the same with a directory and with a file                            tree.c, scan.c
 *
 *                    tasks, task_form.c               threads, thread_form.c
 *   finding files    a task                           the main thread
 *   summing them     a task per file   file_task.c    workers
 *   not too many     two semaphores                   a bounded queue
 *   the progress     a task, by an interval           a timer, again and again   alarms.c
 *   slow files       a task sleeps     file_task.c    a timer, often cancelled   alarms.c
 *   time             the runtime's timers             a thread for timers        alarms.c
 *   stopping         a group is cancelled             semaphores are closed
 *
 * A thread waits for Ctrl-C (common/signals.c). No thread polls a flag while it waits, and nothing hangs.
 * No wait allocates memory. */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/console.h"
#include "common/options.h"
#include "common/program.h"
#include "common/signals.h"
#include "common/sums/results.h"
#include "scan.h"
#include "task_form.h"
#include "thread_form.h"

#define MIN_DEFAULT_JOBS 4
#define MAX_JOBS 1024
#define DEFAULT_OPEN_FILES 16
#define MAX_OPEN_FILES 1000000
#define MAX_INTERVAL_MS (24 * 60 * 60 * 1000)

/* ---- the command line ---- */

struct options {
  unsigned jobs;          /* files that are summed at once */
  bool threads;           /* by a thread each, not by tasks */
  unsigned open_files;    /* at once, at most */
  unsigned slow_after_ms; /* name files that take longer; 0: do not */
  unsigned progress_ms;   /* how often to show it; 0: as console.h says */
  bool verify;
  const char *output; /* NULL: standard output */
  char *const *roots; /* ends with NULL */
};

static const char usage_text[] =
    "usage: treesum [options] [directory or file ...]\n"
    "\n"
    "Prints the SHA-256 sums of all regular files in and below the directories (by default\n"
    "/usr/include), sorted by path, in the format of sha256sum. Symbolic links are not followed.\n"
    "\n"
    "  -j, --jobs N         sum N files at once (by default one per core, at least 4), as tasks:\n"
    "                       one thread per core runs them, others wait for the disk\n"
    "  -t, --threads N      sum N files at once, with N threads instead; not with --jobs\n"
    "  -n, --open-files N   have at most N files and directories open at once (by default 16)\n"
    "  -o, --output FILE    write the list to FILE, not to standard output\n"
    "  -p, --progress MS    show the progress each MS milliseconds (by default each 1000, the bar\n"
    "                       each 100)\n"
    "  -s, --slow-after MS  name each file that takes longer than MS milliseconds, meanwhile\n"
    "  -v, --verify         have sha256sum check the list\n"
    "  -h, --help           show this\n"
    "\n"
    "Exit code: 0 all files are summed (and verified), 1 some are not, 2 wrong usage,\n"
    "128 + signal if interrupted: the list then has the files that were done.\n";

static unsigned default_jobs(void) {
  cpu_set_t cores;
  unsigned usable =
      sched_getaffinity(0, sizeof cores, &cores) == 0 ? (unsigned)CPU_COUNT(&cores) : 0;
  return usable > MIN_DEFAULT_JOBS ? usable : MIN_DEFAULT_JOBS;
}

/* Fill in *options from the command line. Prints the help if it is asked for, and what is wrong if
 * something is. The strings stay where they are in argv. */
static enum options_result options_parse(struct options *options, int argc, char **argv) {
  static const struct option known[] = {
      {"jobs", required_argument, NULL, 'j'},
      {"threads", required_argument, NULL, 't'},
      {"open-files", required_argument, NULL, 'n'},
      {"output", required_argument, NULL, 'o'},
      {"progress", required_argument, NULL, 'p'},
      {"slow-after", required_argument, NULL, 's'},
      {"verify", no_argument, NULL, 'v'},
      {"help", no_argument, NULL, 'h'},
      {NULL, 0, NULL, 0},
  };
  static char *const default_roots[] = {"/usr/include", NULL};
  *options = (struct options){.jobs = default_jobs(), .open_files = DEFAULT_OPEN_FILES};
  bool right = true, jobs = false;
  for (int option; (option = getopt_long(argc, argv, "j:t:n:o:p:s:vh", known, NULL)) != -1;) {
    switch (option) {
      case 'j':
        right &= option_unsigned("jobs", optarg, 1, MAX_JOBS, &options->jobs);
        jobs = true;
        break;
      case 't':
        right &= option_unsigned("threads", optarg, 1, MAX_JOBS, &options->jobs);
        options->threads = true;
        break;
      case 'n':
        right &= option_unsigned("open-files", optarg, 1, MAX_OPEN_FILES, &options->open_files);
        break;
      case 'o': options->output = optarg; break;
      case 'p':
        right &= option_unsigned("progress", optarg, 1, MAX_INTERVAL_MS, &options->progress_ms);
        break;
      case 's':
        right &= option_unsigned("slow-after", optarg, 1, MAX_INTERVAL_MS, &options->slow_after_ms);
        break;
      case 'v': options->verify = true; break;
      case 'h': fputs(usage_text, stdout); return OPTIONS_HELP_SHOWN;
      default: right = false;
    }
  }
  if (jobs && options->threads) {
    fprintf(stderr, "treesum: --jobs and --threads exclude each other: it is tasks or threads\n");
    right = false;
  }
  options->roots = optind < argc ? argv + optind : default_roots;
  if (!right) fputs(usage_text, stderr);
  return right ? OPTIONS_RUN : OPTIONS_WRONG;
}

/* ---- the work ---- */

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
  struct thread_form threads; /* if they are threads */
  volt_group tasks;           /* walker and jobs, if they are tasks */
};

/* On the thread that waits for signals. */
static void stop(void *ctx, int signal) {
  struct work *work = ctx;
  console_print(work->scan.console, "%s: stopping", strsignal(signal));
  if (work->options->threads) {
    thread_form_stop(&work->threads);
  } else {
    volt_group_cancel(&work->tasks);
  }
}

/* Returns how long it has taken. */
static uint64_t run(struct work *work) {
  const struct options *options = work->options;
  uint64_t start_ns = volt_now_ns();
  if (options->threads) {
    thread_form_run(&work->threads, options->roots, options->jobs);
  } else {
    task_form_run(&work->scan, &work->tasks, options->roots, options->jobs);
  }
  return volt_now_ns() - start_ns;
}

/* ---- what is said of it ---- */

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
  console.progress_ms = options.progress_ms;
  scan_init(scan, options.roots, options.open_files, options.slow_after_ms, &console);
  thread_form_init(&work.threads, scan);
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
  thread_form_destroy(&work.threads);
  scan_destroy(scan);
  console_destroy(&console);
  return code;
}
