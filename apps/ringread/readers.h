/* readers.h: threads that read random blocks through one ring. */
#ifndef RINGREAD_READERS_H
#define RINGREAD_READERS_H

#include "files.h"
#include "options.h"
#include "ring.h"

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
