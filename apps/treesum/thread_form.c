/* thread_form.c: starts the workers, walks, and ends what it has started. */
#define _GNU_SOURCE
#include "thread_form.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "alarms.h"
#include "memory.h"
#include "progress_timer.h"
#include "walk.h"
#include "worker.h"

static void start(struct worker *worker, unsigned number) {
  int error = pthread_create(&worker->thread, NULL, worker_run, worker);
  if (error != 0) fatal("cannot start thread %u: %s", number, strerror(error));
}

void thread_form_run(struct scan *scan, char *const *roots, unsigned threads) {
  struct alarms alarms;
  struct progress progress;
  struct progress_timer timer;
  struct worker *workers = must_allocate(threads, sizeof *workers);
  for (unsigned i = 0; i < threads; i++) worker_init(&workers[i], scan, &alarms.timers);
  alarms_start(&alarms);
  progress_begin(&progress, scan->console, &scan->tally);
  progress_timer_start(&timer, &progress, &alarms.timers);
  for (unsigned i = 0; i < threads; i++) start(&workers[i], i + 1);
  walk(scan, roots);
  path_queue_close(&scan->queue);
  for (unsigned i = 0; i < threads; i++) pthread_join(workers[i].thread, NULL);
  for (unsigned i = 0; i < threads; i++) worker_destroy(&workers[i]);
  free(workers);
  alarms_stop(&alarms);
  progress_timer_stop(&timer);
  progress_end(&progress);
  alarms_destroy(&alarms);
}

void thread_form_stop(struct scan *scan) {
  open_files_close(&scan->open_files);
  path_queue_close(&scan->queue);
}
