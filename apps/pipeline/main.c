/* pipeline: the SHA-256 sums of all files of a tree, by four stages with channels between them.
 *
 *   walk    a thread finds files                    -> a channel of paths
 *   read    threads read them, block by block       -> a channel of blocks for each hashing task
 *   hash    tasks of volt's runtime hash the blocks -> a channel of files that are done
 *   write   the main thread collects the sums; a task closes each channel when its senders have
 *           ended, which are counted by a latch and by a group (pipeline.c; the others: stages.c)
 *
 * The list is the same as that of apps/treesum, which does it with semaphores and locks: both
 * use common/sums for trees, sums and lists. Memory is bounded whatever the tree is
 * like: buffers and files come from channels, too. Ctrl-C cancels a token that every wait awaits
 * together with its channel (a step: stages.h). */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/options.h"
#include "common/program.h"
#include "common/signals.h"
#include "common/sums/results.h"
#include "pipeline.h"

/* ---- the command line ---- */

static const char usage_text[] =
    "usage: pipeline [options] [directory or file ...]\n"
    "\n"
    "Prints the SHA-256 sums of all regular files in and below the directories (by default\n"
    "/usr/include), sorted by path, in the format of sha256sum: walk, read, hash and write are\n"
    "stages with channels between them.\n"
    "\n"
    "  -r, --readers N     N threads read (by default 4)\n"
    "  -j, --hashers N     N tasks hash (by default 4)\n"
    "  -c, --capacity N    room for N elements between two stages (by default 16)\n"
    "  -b, --buffers N     at most N blocks of 128 KiB in memory (by default 32)\n"
    "  -f, --files N       at most N files between reading and writing (by default 64)\n"
    "  -o, --output FILE   write the list to FILE, not to standard output\n"
    "  -h, --help          show this\n"
    "\n"
    "Exit code: 0 all files are summed, 1 some are not, 2 wrong usage, 128 + signal if\n"
    "interrupted: the list then has the files that were done.\n";

/* Prints what is wrong. */
static enum options_result options_parse(struct options *options, int argc, char **argv) {
  static const struct option known[] = {
      {"readers", required_argument, NULL, 'r'},  {"hashers", required_argument, NULL, 'j'},
      {"capacity", required_argument, NULL, 'c'}, {"buffers", required_argument, NULL, 'b'},
      {"files", required_argument, NULL, 'f'},    {"output", required_argument, NULL, 'o'},
      {"help", no_argument, NULL, 'h'},           {NULL, 0, NULL, 0},
  };
  static char *const default_roots[] = {"/usr/include", NULL};
  *options =
      (struct options){.readers = 4, .hashers = 4, .capacity = 16, .buffers = 32, .files = 64};
  bool right = true;
  for (int option; (option = getopt_long(argc, argv, "r:j:c:b:f:o:h", known, NULL)) != -1;) {
    switch (option) {
      case 'r': right &= option_unsigned("readers", optarg, 1, 256, &options->readers); break;
      case 'j': right &= option_unsigned("hashers", optarg, 1, 256, &options->hashers); break;
      case 'c': right &= option_unsigned("capacity", optarg, 1, 65536, &options->capacity); break;
      case 'b': right &= option_unsigned("buffers", optarg, 1, 8192, &options->buffers); break;
      case 'f': right &= option_unsigned("files", optarg, 1, 65536, &options->files); break;
      case 'o': options->output = optarg; break;
      case 'h': fputs(usage_text, stdout); return OPTIONS_HELP_SHOWN;
      default: right = false;
    }
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
