/* thread_form.h: the scan with plain threads: a walker, workers, one that drives the timers. */
#ifndef TREESUM_THREAD_FORM_H
#define TREESUM_THREAD_FORM_H

#include <volt/volt.h>

#include "scan.h"

/* ---- the bounded queue between the walker and the workers ----
 *
 * Two volt semaphores count what there is to take and where there is room, a volt mutex protects
 * the ring. The walker waits when the queue is full: the tree may have more names than memory. */

#define PATH_QUEUE_CAPACITY 256

struct path_queue {
  volt_sem items;  /* a permit for each path in the ring */
  volt_sem slots;  /* a permit for each free place in it */
  volt_mutex lock; /* around the rest */
  char *ring[PATH_QUEUE_CAPACITY];
  unsigned first, count;
};

/* ---- the form ---- */

struct thread_form {
  struct scan *scan;
  struct path_queue queue;
};

void thread_form_init(struct thread_form *form, struct scan *scan);

/* Sum all regular files in and below roots (ends with NULL) with so many worker threads. Returns
 * when all is done, or when it was stopped and all threads have ended. Errors are printed. */
void thread_form_run(struct thread_form *form, char *const *roots, unsigned threads);

/* Make thread_form_run() return soon: a thread that waits leaves, a thread that reads stops. Any
 * thread, any number of times, also before and after; not from a signal handler. */
void thread_form_stop(struct thread_form *form);

/* It does not run. */
void thread_form_destroy(struct thread_form *form);

#endif
