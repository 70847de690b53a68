/* scan.c: starts the workers, walks, and ends what it has started. */
#define _GNU_SOURCE
#include "scan.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "walk.h"
#include "worker.h"

void scan_init(struct scan *scan, unsigned open_files, const struct slow *slow,
               struct console *console) {
  *scan = (struct scan){.slow = *slow, .console = console};
  path_queue_init(&scan->queue);
  open_files_init(&scan->open_files, open_files);
  results_init(&scan->results);
  tally_init(&scan->tally);
}

void scan_run(struct scan *scan, char *const *roots, unsigned threads) {
  struct worker *workers = must_allocate(threads, sizeof *workers);
  for (unsigned i = 0; i < threads; i++) worker_init(&workers[i], scan);
  for (unsigned i = 0; i < threads; i++) {
    int error = pthread_create(&workers[i].thread, NULL, worker_run, &workers[i]);
    if (error != 0) fatal("cannot start thread %u: %s", i + 1, strerror(error));
  }
  walk(scan, roots);
  path_queue_close(&scan->queue);
  for (unsigned i = 0; i < threads; i++) pthread_join(workers[i].thread, NULL);
  for (unsigned i = 0; i < threads; i++) worker_destroy(&workers[i]);
  free(workers);
}

void scan_stop(struct scan *scan) {
  open_files_close(&scan->open_files);
  path_queue_close(&scan->queue);
}

void scan_destroy(struct scan *scan) {
  path_queue_destroy(&scan->queue);
  open_files_destroy(&scan->open_files);
  results_destroy(&scan->results);
  tally_destroy(&scan->tally);
}
