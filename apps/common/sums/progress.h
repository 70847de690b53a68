/* progress.h: what is counted, shown and named while files are summed.
 *
 * Walker, workers and tasks add to a tally under a volt mutex. It is shown as a bar ten times a
 * second on a terminal, else as a line a second, or as often as the user says; when to show it
 * again, a timer says (alarms.h) or a task (task_form.c). A file that takes long is named while it
 * is still being summed: threads have a timer for each file, tasks have a task that sleeps. */
#ifndef COMMON_SUMS_PROGRESS_H
#define COMMON_SUMS_PROGRESS_H

#include <volt/volt.h>

#include "common/console.h"

/* ---- the tally ---- */

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

/* ---- showing it ---- */

struct progress {
  struct console *console;
  struct tally *tally;
  uint64_t start_ns;
};

/* Begin to show what is counted in *tally. */
void progress_begin(struct progress *progress, struct console *console, struct tally *tally);

/* How often to show it. */
uint64_t progress_interval_ns(const struct progress *progress);

/* Show how far it is now. One thread at a time. */
void progress_show(const struct progress *progress);

/* Erase the bar. */
void progress_end(const struct progress *progress);

/* ---- slow files ---- */

/* What counts as slow. Does not change. */
struct slow {
  unsigned after_ms; /* 0: nothing does */
  struct console *console;
  struct tally *tally;
};

/* When a file that is begun now is slow. after_ms is not 0. */
uint64_t slow_deadline_ns(const struct slow *slow);

/* Print that the file at path is, and count it. */
void slow_name(const struct slow *slow, const char *path);

#endif
