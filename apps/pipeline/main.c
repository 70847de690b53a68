/* pipeline: the SHA-256 sums of all files of a tree, by four stages with channels between them.
 *
 *   walk.c      a thread finds files                    -> a channel of paths
 *   read.c      threads read them, block by block       -> a channel of blocks for each hashing task
 *   hash.c      tasks of volt's runtime hash the blocks -> a channel of files that are done
 *   pipeline.c  the main thread collects the sums; a task closes each channel when its senders have
 *               left, who are counted by a latch and by a group
 *
 * The list is the same as that of apps/treesum, which does it with semaphores and locks, and
 * whose modules for trees, sums and lists are used here. Memory is bounded whatever the tree is
 * like: buffers and files come from channels, too. Ctrl-C cancels a token that every wait awaits
 * together with its channel (step.c). */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../treesum/results.h"
#include "../treesum/program.h"
#include "pipeline.h"

#define EXIT_USAGE 2

static FILE *open_list(const char *output, struct stat *status) {
  FILE *list = output != NULL ? fopen(output, "we") : stdout;
  if (list == NULL) fatal("%s: %s", output, strerror(errno));
  if (fstat(fileno(list), status) != 0) *status = (struct stat){.st_ino = 0}; /* it is closed */
  return list;
}

/* On the thread that waits for signals. */
static void stop(void *ctx, int signal) {
  struct pipeline *p = ctx;
  console_print(p->console, "%s: stopping", strsignal(signal));
  volt_token_cancel(&p->stop);
}

static void report(struct pipeline *p, uint64_t elapsed_ns) {
  struct counts counts = tally_read(&p->tally);
  double seconds = (double)elapsed_ns / 1e9;
  console_print(p->console, "%" PRIu64 " files, %" PRIu64 " bytes, %.3f s, %.1f MB/s",
                counts.summed, counts.bytes, seconds, (double)counts.bytes / 1e6 / seconds);
  console_print(p->console, "%" PRIu64 " errors, %" PRIu64 " symbolic links not followed",
                console_complaints(p->console), counts.symlinks);
}

int main(int argc, char **argv) {
  struct options options;
  switch (options_parse(&options, argc, argv)) {
    case OPTIONS_RUN: break;
    case OPTIONS_HELP_SHOWN: return EXIT_SUCCESS;
    case OPTIONS_WRONG: return EXIT_USAGE;
  }
  struct console console;
  struct pipeline pipeline;
  console_init(&console);
  pipeline_init(&pipeline, &options, &console);
  FILE *list = open_list(options.output, &pipeline.list);

  struct signals signals;
  signals_watch(&signals, stop, &pipeline);
  uint64_t start_ns = volt_now_ns();
  bool all = pipeline_run(&pipeline);
  uint64_t elapsed_ns = volt_now_ns() - start_ns;
  results_sort(&pipeline.results);
  if (!listing_write(list, &pipeline.results) || fclose(list) != 0) {
    console_complain(&console, "the list", strerror(errno));
  }
  int signal = signals_unwatch(&signals);

  report(&pipeline, elapsed_ns);
  if (signal != 0) {
    console_print(&console, "stopped by %s%s", strsignal(signal),
                  all ? "" : ": the list is incomplete");
  }
  int code = console_complaints(&console) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
  pipeline_destroy(&pipeline);
  console_destroy(&console);
  return signal != 0 ? 128 + signal : code;
}
