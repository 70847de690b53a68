/* scan.c: what the parallel part works on. */
#define _GNU_SOURCE
#include "scan.h"

void scan_init(struct scan *scan, char *const *roots, unsigned open_files, unsigned slow_after_ms,
               struct console *console) {
  *scan = (struct scan){.console = console};
  scan->slow = (struct slow){slow_after_ms, console, &scan->tally};
  roots_init(&scan->roots, roots);
  path_queue_init(&scan->queue);
  open_files_init(&scan->open_files, open_files);
  results_init(&scan->results);
  tally_init(&scan->tally);
}

void scan_destroy(struct scan *scan) {
  path_queue_destroy(&scan->queue);
  open_files_destroy(&scan->open_files);
  results_destroy(&scan->results);
  tally_destroy(&scan->tally);
  roots_destroy(&scan->roots);
}
