/* alloc_count.h: how often this process has asked the allocator for memory.
 *
 * The functions of malloc(3) are replaced within the test executable; under a sanitizer, which has
 * replaced them already, its hooks are used instead. */
#ifndef VOLT_TEST_ALLOC_COUNT_H
#define VOLT_TEST_ALLOC_COUNT_H

#include <stdbool.h>
#include <stdint.h>

/* Calls of malloc, calloc, realloc, aligned_alloc, posix_memalign, ... so far, on all threads. */
uint64_t alloc_count_allocations(void);

/* Calls of free so far, free(NULL) not counted. */
uint64_t alloc_count_frees(void);

/* From here on calloc() finds no memory on this thread, or does again. Returns whether that can be: not under a
 * sanitizer. */
bool alloc_count_lack_memory(bool lacks);

#endif
