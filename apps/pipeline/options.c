/* options.c: the command line. */
#define _GNU_SOURCE
#include "options.h"

#include <getopt.h>
#include <stdio.h>

#include "../treesum/program.h"

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

enum options_result options_parse(struct options *options, int argc, char **argv) {
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
      case 'r': right &= number_parse("readers", optarg, 256, &options->readers); break;
      case 'j': right &= number_parse("hashers", optarg, 256, &options->hashers); break;
      case 'c': right &= number_parse("capacity", optarg, 65536, &options->capacity); break;
      case 'b': right &= number_parse("buffers", optarg, 8192, &options->buffers); break;
      case 'f': right &= number_parse("files", optarg, 65536, &options->files); break;
      case 'o': options->output = optarg; break;
      case 'h': fputs(usage_text, stdout); return OPTIONS_HELP_SHOWN;
      default: right = false;
    }
  }
  options->roots = optind < argc ? argv + optind : default_roots;
  if (!right) fputs(usage_text, stderr);
  return right ? OPTIONS_RUN : OPTIONS_WRONG;
}
