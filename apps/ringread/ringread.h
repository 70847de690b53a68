/* ringread.h: what the program is made of, beside the ring: its options, the files, the threads
 * that read them. */
#ifndef RINGREAD_RINGREAD_H
#define RINGREAD_RINGREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ring.h"

/* ---- what the command line says ---- */

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

/* ---- the files that are read, cut into blocks: files.c ---- */

struct file {
  const char *name;
  int fd;                /* what the ring reads from */
  int plain_fd;          /* through the page cache: what pread verifies with */
  uint64_t size_bytes;   /* when it was opened */
  uint64_t blocks_until; /* the blocks of this file and of all before it */
};

struct files {
  struct file *list;
  size_t count;
  uint64_t blocks;
  unsigned block_bytes;
};

/* A piece of a file: whole blocks, but for the last one of a file that is no multiple of them. */
struct block {
  const struct file *file;
  uint64_t offset;
  unsigned size_bytes; /* what there is to be read */
};

/* Open regular files that are not empty. names: stay where they are; ends with NULL. direct: past
 * the page cache. Returns false if one cannot be had, after a message for each. */
bool files_open(struct files *files, char *const *names, unsigned block_bytes, bool direct);

/* The block with this number, of 0..files->blocks - 1. */
struct block files_block(const struct files *files, uint64_t number);

void files_close(struct files *files);

/* ---- threads that read random blocks through one ring: readers.c ---- */

/* What the threads have done. */
struct readers_report {
  uint64_t operations; /* that have succeeded */
  uint64_t bytes;
  uint64_t least; /* operations of the thread with the fewest */
  uint64_t most;
  uint64_t elapsed_ns; /* from the start of the first to the end of the last */
  bool failed;         /* one has met an error and said so; then all stop */
};

/* Read options->operations blocks of the files with options->threads threads. Returns when the last
 * of them has ended. */
struct readers_report readers_run(struct ring *ring, const struct files *files,
                                  const struct options *options);

#endif
