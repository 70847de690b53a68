/* worker.c: a worker of the thread form. */
#define _GNU_SOURCE
#include "worker.h"

#include "slow_timer.h"

void worker_init(struct worker *worker, struct scan *scan, volt_timers *timers) {
  worker->scan = scan;
  worker->timers = timers;
  hasher_init(&worker->hasher);
}

void worker_destroy(struct worker *worker) {
  hasher_destroy(&worker->hasher);
}

/* path: belongs to this function. Returns false if the scan is stopped. */
static bool sum_file(struct worker *worker, char *path) {
  struct open_files *open_files = &worker->scan->open_files;
  struct file_sum file;
  file_sum_begin(&file, worker->scan, path);
  if (open_files_enter(open_files) == VOLT_OK) {
    struct slow_timer timer;
    slow_timer_begin(&timer, &worker->scan->slow, worker->timers, path);
    do {
      file_sum_step(&file, &worker->hasher);
    } while (file_sum_is_open(&file) && !open_files_closed(open_files));
    file_sum_close(&file);
    slow_timer_end(&timer);
    open_files_leave(open_files);
  }
  file_sum_end(&file, &worker->hasher);
  return !open_files_closed(open_files);
}

void *worker_run(void *ctx) {
  struct worker *worker = ctx;
  for (char *path; (path = path_queue_pop(&worker->scan->queue)) != NULL;) {
    if (!sum_file(worker, path)) break;
  }
  return NULL;
}
