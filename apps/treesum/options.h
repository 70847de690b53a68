/* options.h: the command line. */
#ifndef TREESUM_OPTIONS_H
#define TREESUM_OPTIONS_H

#include <stdbool.h>

struct options {
  unsigned jobs;          /* files that are summed at once */
  bool threads;           /* by a thread each, not by tasks */
  unsigned open_files;    /* at once, at most */
  unsigned slow_after_ms; /* name files that take longer; 0: do not */
  bool verify;
  const char *output; /* NULL: standard output */
  char *const *roots; /* ends with NULL */
};

/* What to do after reading the command line. */
enum options_result { OPTIONS_RUN, OPTIONS_HELP_SHOWN, OPTIONS_WRONG };

/* Fill in *options from the command line. Prints the help if it is asked for, and what is wrong if
 * something is. The strings stay where they are in argv. */
enum options_result options_parse(struct options *options, int argc, char **argv);

#endif
