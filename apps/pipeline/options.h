/* options.h: the command line. */
#ifndef PIPELINE_OPTIONS_H
#define PIPELINE_OPTIONS_H

struct options {
  unsigned readers;   /* threads that read */
  unsigned hashers;   /* tasks that hash */
  unsigned capacity;  /* of each channel between two stages */
  unsigned buffers;   /* blocks in memory */
  unsigned files;     /* files on their way */
  const char *output; /* or NULL: standard output */
  char *const *roots; /* ends with NULL */
};

enum options_result { OPTIONS_RUN, OPTIONS_HELP_SHOWN, OPTIONS_WRONG };

/* Prints what is wrong. */
enum options_result options_parse(struct options *options, int argc, char **argv);

#endif
