/* worker.h: a worker of the thread form: takes paths from the queue and sums the files. */
#ifndef TREESUM_WORKER_H
#define TREESUM_WORKER_H

#include <pthread.h>

#include "file_sum.h"

struct worker {
  struct scan *scan;
  struct hasher hasher;
  volt_timers *timers; /* of the slow files */
  pthread_t thread;    /* for whoever starts it */
};

void worker_init(struct worker *worker, struct scan *scan, volt_timers *timers);

/* Sum files until the queue is closed and empty, or the scan is stopped. worker: a struct worker.
 * Returns NULL. */
void *worker_run(void *worker);

void worker_destroy(struct worker *worker);

#endif
