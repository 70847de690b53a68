/* subject.h: the object under stress, as a table: anything of which parts, or the whole, can be
 * taken, waited for and given back. A semaphore is that, a mutex (the whole is 1), a read-write
 * lock (a reader takes 1, a writer the whole). */
#ifndef VOLT_STRESS_SUBJECT_H
#define VOLT_STRESS_SUBJECT_H

#include "harness.h"

typedef struct stress_subject stress_subject;

/* One way to take n of the object. Returns VOLT_OK (taken), VOLT_ECLOSED, or another result (not
 * taken; nothing is pending). */
typedef int stress_way(stress_worker *w, const stress_subject *s, void *object, uint32_t n);

typedef struct stress_named_way {
  const char *name;
  stress_way *take;
} stress_named_way;

struct stress_subject {
  size_t bytes; /* of an object */
  void (*init)(void *object, uint32_t total);
  void (*destroy)(void *object);
  int (*try_acquire)(void *object, uint32_t n);
  int (*acquire)(void *object, volt_waiter *w, uint32_t n, volt_waker waker);
  int (*acquire_until)(void *object, uint32_t n, uint64_t deadline_ns);
  bool (*cancel)(void *object, volt_waiter *w);
  bool (*set_waker)(void *object, volt_waiter *w, volt_waker waker);
  void (*release)(void *object, uint32_t n);
  void (*close)(void *object);         /* NULL if it cannot be closed */
  uint32_t (*available)(void *object); /* of an object that nobody holds: total */
  uint32_t (*waiters)(void *object);
  volt_future *(*future)(volt_future *f, void *object, uint32_t n);
  const stress_named_way *ways;
  unsigned way_count;
  const uint32_t *totals; /* sizes an object may have; each round picks one */
  unsigned total_count;
  bool divisible;       /* n may be given back in parts */
  bool wakes_elsewhere; /* what is given back may be granted by another thread, and later */
};

/* The ways of everything that has the functions above. */
extern const stress_named_way stress_ways[];
extern const unsigned stress_way_count;

/* Take n one way or another; each attempt counts as progress. */
int stress_take(stress_worker *w, const stress_subject *s, void *object, uint32_t n);

/* How much to ask of an object with so much: mostly little, often all. */
uint32_t stress_pick(stress_worker *w, const stress_subject *s, uint32_t total);

/* Give back n, at once or in parts. */
void stress_give(stress_worker *w, const stress_subject *s, void *object, uint32_t n);

/* Rounds of each scenario on an object of the turn's size. */
void stress_rounds(const stress_subject *s, unsigned turn);

/* The same, turn after turn, until the time is over. */
void stress_run(const stress_subject *s);

/* One round of each kind; scenarios.c and fifo.c say what is checked. */
void stress_mixed_round(const stress_subject *s, uint32_t total);
void stress_last_user_round(const stress_subject *s, uint32_t total);
void stress_close_round(const stress_subject *s, uint32_t total);
void stress_fifo_round(const stress_subject *s, uint32_t total);

#endif
