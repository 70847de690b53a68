/* worker.h: a worker: takes paths from the queue and sums the files. */
#ifndef TREESUM_WORKER_H
#define TREESUM_WORKER_H

#include <pthread.h>

#include "scan.h"

struct worker {
  struct scan *scan;
  struct sha256 hash;
  unsigned char *buffer;
  pthread_t thread; /* for whoever starts it */
};

void worker_init(struct worker *worker, struct scan *scan);

/* Sum files until the queue is closed and empty, or the scan is stopped. worker: a struct worker.
 * Returns NULL. */
void *worker_run(void *worker);

void worker_destroy(struct worker *worker);

#endif
