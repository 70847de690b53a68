/* pipeline.h: what the four stages share.
 *
 *   walk            read             hash                    write
 *   a thread  --->  threads   --->   tasks, a lane each  ---> the main thread
 *             paths           blocks                    sums
 *
 * Every arrow is a bounded channel: a stage that is too fast waits there for the next. Two more run
 * backwards and make that a bound on memory: free buffers, and free files.
 *
 * A stage that waits for a channel waits for the token, too (stages.h): when it is cancelled, every
 * stage ends. A stage that has ended closes the channel behind it, and the next ends when it has
 * drained it. */
#ifndef PIPELINE_PIPELINE_H
#define PIPELINE_PIPELINE_H

#include <volt/runtime.h>
#include <volt/volt.h>

#include "common/console.h"
#include "common/sums/hash.h"
#include "common/sums/progress.h"
#include "common/sums/results.h"
#include "common/sums/roots.h"

/* What the command line says. */
struct options {
  unsigned readers;   /* threads that read */
  unsigned hashers;   /* tasks that hash */
  unsigned capacity;  /* of each channel between two stages */
  unsigned buffers;   /* blocks in memory */
  unsigned files;     /* files on their way */
  const char *output; /* or NULL: standard output */
  char *const *roots; /* ends with NULL */
};

#define BLOCK_BYTES ((size_t)128 * 1024)

/* A file on its way. */
struct file {
  char *path;
  int fd; /* open while it is read */
  struct stat status;
  struct sha256 hash;
  struct sha256_sum sum;
};

/* A part of a file; the last one has no buffer. */
struct block {
  struct file *file;
  unsigned char *buffer;
  size_t bytes;
};

VOLT_CHAN_DECLARE(path_chan, char *);
VOLT_CHAN_DECLARE(block_chan, struct block);
VOLT_CHAN_DECLARE(buffer_chan, unsigned char *);
VOLT_CHAN_DECLARE(file_chan, struct file *);

struct pipeline {
  const struct options *options;
  struct console *console;
  struct roots roots;
  struct tally tally;
  struct results results;
  struct stat list; /* the file that the list goes to, which is left out; or all zero */
  volt_token stop;
  volt_latch reading; /* counts the threads that read */

  path_chan paths;
  block_chan *lanes; /* one for each task that hashes */
  file_chan sums;
  buffer_chan free_buffers;
  file_chan free_files;

  struct file *files;
  unsigned char *buffers;
  void **memory; /* of the channels */
  unsigned channels;
};

/* options, console: stay the caller's. */
void pipeline_init(struct pipeline *p, const struct options *options, struct console *console);

/* Hash all regular files in and below options->roots, into p->results. Returns when all is done, or
 * when the token was cancelled and every stage has ended. Returns whether all was done. */
bool pipeline_run(struct pipeline *p);

/* Give back what is free to use again. Their channels have a place for each of them. */
void pipeline_free_buffer(struct pipeline *p, unsigned char *buffer);
void pipeline_free_file(struct pipeline *p, struct file *file);

void pipeline_destroy(struct pipeline *p);

#endif
