/* options.h: the command line. */
#ifndef RINGREAD_OPTIONS_H
#define RINGREAD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "ring.h"

struct options {
  unsigned threads;
  uint64_t operations; /* by all threads together */
  unsigned block_bytes;
  uint64_t seed;
  enum ring_submission submission;
  unsigned entries; /* of the submission queue */
  bool direct;
  bool verify;
  char *const *files; /* ends with NULL */
};

/* What to do after reading the command line. */
enum options_result { OPTIONS_RUN, OPTIONS_HELP_SHOWN, OPTIONS_WRONG };

/* Fill in *options from the command line. Prints the help if it is asked for, and what is wrong if
 * something is. The strings stay where they are in argv. */
enum options_result options_parse(struct options *options, int argc, char **argv);

/* The word for it on the command line. */
const char *options_submission_name(enum ring_submission submission);

#endif
