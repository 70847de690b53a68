/* calls.h: glibc's functions, as volt's objects do their work. Each does what glibc's manual says, and what glibc does
 * where that says nothing; docs/volt-run.md has the differences. Objects that are not served go to glibc. */
#ifndef SERVE_CALLS_H
#define SERVE_CALLS_H

#include "serve/queue.h"

#define CALLS_DECLARE(result, name, arguments) result served_##name arguments;
REAL_LOCKS(CALLS_DECLARE)
#undef CALLS_DECLARE

/* For conditions. */

/* The one that stands for it. NULL: it is glibc's. */
struct served *served_of_mutex(const pthread_mutex_t *m);

/* Why this thread may not wait with it: EPERM; or 0. */
int served_mutex_check_wait(const struct served *s, const pthread_mutex_t *m);

/* However long it takes; no cancel ends it. */
void served_mutex_relock(struct served *s);

#endif
