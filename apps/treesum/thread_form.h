/* thread_form.h: the scan with plain threads: a walker, workers, one that drives the timers. */
#ifndef TREESUM_THREAD_FORM_H
#define TREESUM_THREAD_FORM_H

#include "scan.h"

/* Sum all regular files in and below roots (ends with NULL) with so many worker threads. Returns
 * when all is done, or when it was stopped and everybody has left. Errors are printed. */
void thread_form_run(struct scan *scan, char *const *roots, unsigned threads);

/* Make thread_form_run() return soon: everybody who waits leaves, who reads stops. Any thread, any
 * number of times; not from a signal handler. */
void thread_form_stop(struct scan *scan);

#endif
