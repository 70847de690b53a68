/* options.c: the command line. */
#define _GNU_SOURCE
#include "options.h"

#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "number.h"

#define MIN_DEFAULT_JOBS 4
#define MAX_JOBS 1024
#define DEFAULT_OPEN_FILES 16
#define MAX_OPEN_FILES 1000000
#define MAX_SLOW_AFTER_MS (24 * 60 * 60 * 1000)

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

enum options_result options_parse(struct options *options, int argc, char **argv) {
  static const struct option known[] = {
      {"jobs", required_argument, NULL, 'j'},
      {"threads", required_argument, NULL, 't'},
      {"open-files", required_argument, NULL, 'n'},
      {"output", required_argument, NULL, 'o'},
      {"slow-after", required_argument, NULL, 's'},
      {"verify", no_argument, NULL, 'v'},
      {"help", no_argument, NULL, 'h'},
      {NULL, 0, NULL, 0},
  };
  static char *const default_roots[] = {"/usr/include", NULL};
  *options = (struct options){.jobs = default_jobs(), .open_files = DEFAULT_OPEN_FILES};
  bool right = true, jobs = false;
  for (int option; (option = getopt_long(argc, argv, "j:t:n:o:s:vh", known, NULL)) != -1;) {
    switch (option) {
      case 'j':
        right &= number_parse("jobs", optarg, MAX_JOBS, &options->jobs);
        jobs = true;
        break;
      case 't':
        right &= number_parse("threads", optarg, MAX_JOBS, &options->jobs);
        options->threads = true;
        break;
      case 'n':
        right &= number_parse("open-files", optarg, MAX_OPEN_FILES, &options->open_files);
        break;
      case 'o': options->output = optarg; break;
      case 's':
        right &= number_parse("slow-after", optarg, MAX_SLOW_AFTER_MS, &options->slow_after_ms);
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
