/* slow.h: names a file that takes long to sum, while it is still being summed.
 *
 * A volt timer per file, started when the worker begins and cancelled when it is done, which is the
 * usual end. All of it is on the worker's stack, the path that is printed is the worker's, and both
 * are reused at once. That is safe because cancelling says who was first: if the timer was, its
 * waker is running or about to, and the worker waits for it to tell that it is done. */
#ifndef TREESUM_SLOW_H
#define TREESUM_SLOW_H

#include <volt/volt.h>

#include "console.h"

/* What counts as slow, for all workers. Does not change. */
struct slow {
  unsigned after_ms; /* 0: nothing does */
  volt_timers *timers;
  struct console *console;
};

/* One file being summed. */
struct slow_watch {
  const struct slow *slow;
  const char *path;
  volt_timer timer;
  volt_parker told; /* unparked when the file has been named */
};

/* The file at path is being summed from now on; print its name if that takes too long. path and
 * *watch must stay as they are until slow_watch_end(). */
void slow_watch_begin(struct slow_watch *watch, const struct slow *slow, const char *path);

/* It is done. Waits if it is just being named. Returns whether it has been. */
bool slow_watch_end(struct slow_watch *watch);

#endif
