/* standstill.h: whether any thread of a process can still wake another one. */
#ifndef VOLT_RUN_STANDSTILL_H
#define VOLT_RUN_STANDSTILL_H

#include <stdbool.h>
#include <stdint.h>

#include "watch/books.h"

enum { STANDSTILL_THREADS = BOOKS_THREADS };

/* What the kernel says of all threads of a process, at one moment. */
struct standstill {
  uint32_t count;
  struct {
    int32_t tid;
    uint64_t ran_ns;
  } thread[STANDSTILL_THREADS];
};

/* Look whether all threads of a process sleep. process: its directory in /proc. Returns false: one does not, it has
 * more than there is room for, or the kernel does not say. */
bool standstill_look(int process, struct standstill *s);

/* thread[0..count): the books. Returns whether each of those that were looked at has slept from one look to the other,
 * in a wait without a deadline. */
bool standstill_is(const struct standstill *before, const struct standstill *after,
                   const struct books_thread *thread, uint32_t count);

#endif
