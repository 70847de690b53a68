/* slots.h: when threads waited: how often, and how long in all, in each slice of the program's time. */
#ifndef WATCH_SLOTS_H
#define WATCH_SLOTS_H

#include <stdatomic.h>
#include <stdint.h>

#ifndef SLOTS_COUNT
#define SLOTS_COUNT 256 /* a model has few */
#endif

enum { SLOTS = SLOTS_COUNT, SLOTS_FIRST_SHIFT = 20, SLOTS_LAST_SHIFT = 55 };

/* As it is made: all zero. A slot is 2 to the power of (SLOTS_FIRST_SHIFT + doubled) ns: 1 ms at first. */
struct slots {
  _Atomic(uint32_t) doubled;
  atomic_flag is_folded_now;
  _Atomic(uint64_t) waits[SLOTS]; /* that ended in it */
  _Atomic(uint64_t) ns[SLOTS];    /* of all waits, the part that lies in it */
};

static inline uint32_t slots_shift(const struct slots *s) {
  return SLOTS_FIRST_SHIFT + atomic_load_explicit(&s->doubled, memory_order_acquire);
}

/* A wait from since_ns to end_ns; both since the program began. May be called by a signal handler. */
void slots_add(struct slots *s, uint64_t since_ns, uint64_t end_ns);

/* In the child of a fork: the thread that folded is not there. */
void slots_forked(struct slots *s);

#endif
