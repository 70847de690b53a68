/* ringread: random reads by many threads through one io_uring.
 *
 * Shows batched critical sections where they gain most: around a system call that takes any number
 * of requests. The ring is in ring.c: threads submit through a queue of batched critical sections,
 * and wait with a parker for their result and with a mutex for the right to wait in the kernel. */
#define _GNU_SOURCE /* getopt_long; liburing.h */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/options.h"
#include "common/program.h"
#include "ringread.h"

#define EXIT_SKIPPED 77 /* io_uring is not to be had here */
#define MAX_THREADS 1024
#define MAX_BLOCK_BYTES (16 << 20)
#define MAX_ENTRIES 32768
#define DIRECT_BYTES 4096 /* what every device and file system takes as a unit */

/* ---- the command line ---- */

static const char usage_text[] =
    "usage: ringread [options] FILE...\n"
    "\n"
    "Reads blocks at random places of files with several threads that share one io_uring, and "
    "says\n"
    "how fast that was and how often the kernel was entered.\n"
    "\n"
    "  -t, --threads N      read with N threads (by default 4)\n"
    "  -n, --operations N   read N blocks, all threads together (by default 100000)\n"
    "  -b, --block BYTES    so many bytes a block (by default 4096)\n"
    "  -s, --seed S         which blocks: the same seed reads the same ones (by default 1)\n"
    "      --submit HOW     bcs: as many operations with one system call as there are (the\n"
    "                       default); mutex: one system call each, under a lock\n"
    "  -e, --entries N      entries of the submission queue (by default 64)\n"
    "  -d, --direct         past the page cache (O_DIRECT; blocks of a multiple of 4096 bytes)\n"
    "  -v, --verify         compare every block with what pread reads\n"
    "  -h, --help           show this\n"
    "\n"
    "Exit code: 0 all is read (and verified), 1 something is not, 2 wrong usage, 77 io_uring is "
    "not\n"
    "to be had here.\n";

/* The word for it on the command line. */
static const char *options_submission_name(enum ring_submission submission) {
  return submission == RING_BCS ? "bcs" : "mutex";
}

static bool parse_submission(const char *text, enum ring_submission *submission) {
  *submission = strcmp(text, "mutex") == 0 ? RING_MUTEX : RING_BCS;
  if (strcmp(text, options_submission_name(*submission)) == 0) return true;
  fprintf(stderr, "ringread: --submit wants bcs or mutex, not '%s'\n", text);
  return false;
}

/* What no option can say alone. */
static bool check_together(const struct options *options) {
  if (options->direct && options->block_bytes % DIRECT_BYTES != 0) {
    fprintf(stderr, "ringread: --direct wants blocks of a multiple of %d bytes\n", DIRECT_BYTES);
    return false;
  }
  if (options->files[0] == NULL) {
    fprintf(stderr, "ringread: no file is given\n");
    return false;
  }
  return true;
}

/* Fill in *options from the command line. Prints the help if it is asked for, and what is wrong if
 * something is. The strings stay where they are in argv. */
static enum options_result options_parse(struct options *options, int argc, char **argv) {
  static const struct option known[] = {
      {"threads", required_argument, NULL, 't'}, {"operations", required_argument, NULL, 'n'},
      {"block", required_argument, NULL, 'b'},   {"seed", required_argument, NULL, 's'},
      {"submit", required_argument, NULL, 'S'},  {"entries", required_argument, NULL, 'e'},
      {"direct", no_argument, NULL, 'd'},        {"verify", no_argument, NULL, 'v'},
      {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0},
  };
  *options = (struct options){
      .threads = 4, .operations = 100000, .block_bytes = 4096, .seed = 1, .entries = 64};
  bool right = true;
  for (int option; (option = getopt_long(argc, argv, "t:n:b:s:e:dvh", known, NULL)) != -1;) {
    switch (option) {
      case 't':
        right &= option_unsigned("threads", optarg, 1, MAX_THREADS, &options->threads);
        break;
      case 'n':
        right &= option_number("operations", optarg, 1, UINT64_MAX / 2, &options->operations);
        break;
      case 'b':
        right &= option_unsigned("block", optarg, 1, MAX_BLOCK_BYTES, &options->block_bytes);
        break;
      case 's': right &= option_number("seed", optarg, 0, UINT64_MAX, &options->seed); break;
      case 'S': right &= parse_submission(optarg, &options->submission); break;
      case 'e':
        right &= option_unsigned("entries", optarg, 1, MAX_ENTRIES, &options->entries);
        break;
      case 'd': options->direct = true; break;
      case 'v': options->verify = true; break;
      case 'h': fputs(usage_text, stdout); return OPTIONS_HELP_SHOWN;
      default: right = false;
    }
  }
  options->files = argv + optind;
  if (right) right = check_together(options);
  if (!right) fputs(usage_text, stderr);
  return right ? OPTIONS_RUN : OPTIONS_WRONG;
}

/* ---- the program ---- */

static void print_report(const struct options *options, const struct files *files,
                         const struct readers_report *report, const struct ring_calls *calls) {
  double operations = report->operations > 0 ? (double)report->operations : 1;
  double seconds = (double)report->elapsed_ns / 1e9;
  uint64_t all = calls->submit + calls->wait;
  printf("%s, %u threads, %u bytes a block, %zu files, %" PRIu64 " blocks, seed %" PRIu64 "%s\n",
         options_submission_name(options->submission), options->threads, options->block_bytes,
         files->count, files->blocks, options->seed, options->direct ? ", direct" : "");
  printf("%" PRIu64 " operations, %" PRIu64 " bytes, %.3f s, %.0f operations/s\n",
         report->operations, report->bytes, seconds, (double)report->operations / seconds);
  printf("io_uring_enter: %" PRIu64 " to submit, %.4f per operation; %" PRIu64
         " in all, %.4f per operation\n",
         calls->submit, (double)calls->submit / operations, all, (double)all / operations);
  printf("operations of a thread: at least %" PRIu64 ", at most %" PRIu64 "\n", report->least,
         report->most);
  if (options->verify && !report->failed) {
    printf("verify: pread agrees on all %" PRIu64 " blocks\n", report->operations);
  }
}

static int refuse(int error) {
  if (error == -ENOSYS || error == -EPERM || error == -EACCES) {
    complain("skipped: io_uring is not to be had here: %s", strerror(-error));
    return EXIT_SKIPPED;
  }
  complain("io_uring: %s", strerror(-error));
  return EXIT_FAILURE;
}

int main(int argc, char **argv) {
  struct options options;
  switch (options_parse(&options, argc, argv)) {
    case OPTIONS_RUN: break;
    case OPTIONS_HELP_SHOWN: return EXIT_SUCCESS;
    case OPTIONS_WRONG: return EXIT_USAGE;
  }
  struct files files;
  if (!files_open(&files, options.files, options.block_bytes, options.direct)) return EXIT_FAILURE;
  struct ring ring;
  int error = ring_init(&ring, options.entries, options.submission);
  if (error != 0) {
    files_close(&files);
    return refuse(error);
  }
  struct readers_report report = readers_run(&ring, &files, &options);
  struct ring_calls calls = ring_calls(&ring);
  ring_destroy(&ring);
  print_report(&options, &files, &report, &calls);
  files_close(&files);
  return report.failed || fflush(stdout) != 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
