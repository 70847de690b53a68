/* life.h: which of ours stands for an object of the program's: how a life of it begins, when several threads use it for
 * the first time at once. objects.c says what for. */
#ifndef SERVE_LIFE_H
#define SERVE_LIFE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <volt/detail/atomic.h>

/* The word of a program's object that has the mark. glibc does not use it, or not for what is served. */
typedef VOLT_ATOMIC(uint64_t) served_place;

struct served_life {
  VOLT_ATOMIC(uint64_t) mark;     /* what the program's object has in its place; 0: never used */
  VOLT_ATOMIC(uintptr_t) address; /* of that object */
  VOLT_ATOMIC(uint32_t) is_busy;  /* a thread begins a life */
};

/* What makes the one of ours anew, and what waits a moment for another thread. */
struct served_maker {
  void (*make)(void *ctx, bool had_life);
  void (*pause)(void);
  void *ctx;
};

/* Whether it is the one that an object at this address with this mark means. */
static inline bool served_life_is(const struct served_life *life, uint64_t mark,
                                  uintptr_t address) {
  return volt_load_relaxed(&life->mark) == mark && /* relaxed: M1 has ordered it */
         volt_load_relaxed(&life->address) == address;
}

#define SERVED_MAGIC UINT64_C(0x5e)

static inline bool served_is_mark(uint64_t mark) {
  return mark >> 56 == SERVED_MAGIC;
}

/* The mark in that place. */
static inline uint64_t served_mark_in(const served_place *place) {
  /* objects:M1 <- objects:M2: all that was made before the mark was set is seen */
  return volt_load_acquire(place);
}

/* Begin a life, if none has begun meanwhile. number: of this one. is_new: what was there has ended in any case. */
void served_life_begin(struct served_life *life, served_place *place, uintptr_t address,
                       uint32_t number, bool is_new, const struct served_maker *maker);

#endif
