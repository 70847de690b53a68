/* kernel.h: what the kernel says of threads, and memory for a moment. Models have their own. */
#ifndef WATCH_KERNEL_H
#define WATCH_KERNEL_H

#include "watch/books.h"

/* Of the thread that calls. */
int32_t kernel_tid(void);
void kernel_name(char *name);

/* Whether this process has no such thread. */
bool kernel_is_gone(int32_t tid);

#define KERNEL_IS_AWAKE UINT64_MAX

/* How long a thread has run in all; KERNEL_IS_AWAKE: it is not asleep. Without /proc always the same. */
uint64_t kernel_ran_ns(const struct books_thread *t);

/* Zeroed. Returns NULL: there is none. */
void *kernel_memory(size_t size);
void kernel_memory_back(void *memory, size_t size);

#endif
