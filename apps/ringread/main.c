/* ringread: random reads by many threads through one io_uring.
 *
 * Shows batched critical sections where they pay most: around a system call that takes any number
 * of requests. The ring is in ring.c: threads submit through a queue of batched critical sections,
 * and wait with a parker for their result and with a mutex for the turn to wait in the kernel. */
#define _GNU_SOURCE /* liburing.h */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "message.h"
#include "options.h"
#include "readers.h"
#include "ring.h"

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
