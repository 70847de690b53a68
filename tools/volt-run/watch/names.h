/* names.h: the names that threads have now. */
#ifndef WATCH_NAMES_H
#define WATCH_NAMES_H

#include <sys/types.h>

#include "watch/books.h"

/* In a copy of the books of this process: threads have the names of now, and the numbers of those that have ended are
 * below 0. thread[1] is the first one. */
void names_put(struct books_thread *thread, uint32_t count, pid_t process);

#endif
