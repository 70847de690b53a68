/* tally.h: the statistics of the run, under a volt mutex.
 *
 * Walker and those who sum add to them, the progress display and the final report read them. */
#ifndef TREESUM_TALLY_H
#define TREESUM_TALLY_H

#include <volt/volt.h>

struct counts {
  uint64_t found;    /* regular files seen by the walker */
  uint64_t summed;   /* of them, those in the results */
  uint64_t repeated; /* of these, further names of a file that was summed already */
  uint64_t skipped;  /* of those found, the ones without a result */
  uint64_t slow;     /* of those found, the ones named for taking long */
  uint64_t bytes;    /* read */
  uint64_t symlinks; /* not followed */
  bool walked;       /* nothing more will be found */
};

struct tally {
  volt_mutex lock; /* around the counts */
  struct counts counts;
};

void tally_init(struct tally *tally);

/* Add to each count: tally_add(&tally, (struct counts){.bytes = n}); */
void tally_add(struct tally *tally, struct counts more);

/* What has been counted so far. */
struct counts tally_read(struct tally *tally);

void tally_destroy(struct tally *tally);

#endif
