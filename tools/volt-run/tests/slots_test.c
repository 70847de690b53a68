/* slots_test.c: waits over time (slots.c): where a wait is put down, what a fold keeps, and that nothing is lost when
 * several threads add and fold at once. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "watch/slots.h"

#define REQUIRE(so)                                                    \
  do {                                                                 \
    if (!(so)) {                                                       \
      fprintf(stderr, "slots_test.c:%d: not so: %s\n", __LINE__, #so); \
      exit(1);                                                         \
    }                                                                  \
  } while (0)

static const uint64_t width = UINT64_C(1) << SLOTS_FIRST_SHIFT;

static uint64_t sum(const _Atomic uint64_t *slot) {
  uint64_t all = 0;
  for (int i = 0; i < SLOTS; i++) all += atomic_load(&slot[i]);
  return all;
}

/* Each slot has the part that lies in it, and the last one the wait. */
static void spread(void) {
  static struct slots s;
  slots_add(&s, width / 2, 3 * width + 7);
  REQUIRE(s.ns[0] == width / 2 && s.ns[1] == width && s.ns[2] == width && s.ns[3] == 7);
  REQUIRE(s.waits[3] == 1 && sum(s.waits) == 1 && sum(s.ns) == 3 * width + 7 - width / 2);
  slots_add(&s, 5 * width, 5 * width);
  REQUIRE(s.waits[5] == 1 && s.ns[5] == 0);
}

static void folds(void) {
  static struct slots s;
  for (uint64_t i = 0; i < SLOTS; i++) slots_add(&s, i * width, i * width + i);
  REQUIRE(slots_shift(&s) == SLOTS_FIRST_SHIFT);
  slots_add(&s, SLOTS * width, SLOTS * width + 5);
  REQUIRE(slots_shift(&s) == SLOTS_FIRST_SHIFT + 1);
  for (uint64_t i = 0; i < SLOTS / 2; i++) REQUIRE(s.ns[i] == 4 * i + 1 && s.waits[i] == 2);
  REQUIRE(s.ns[SLOTS / 2] == 5 && s.waits[SLOTS / 2] == 1);
}

/* After a long time without a wait, and at the end of all times. */
static void far(void) {
  static struct slots s;
  uint64_t week = UINT64_C(604800) * 1000000000;
  slots_add(&s, 0, 9);
  slots_add(&s, week, week + 11);
  REQUIRE(s.ns[0] == 9 && s.ns[week >> slots_shift(&s)] == 11);
  slots_add(&s, UINT64_MAX - 3, UINT64_MAX);
  REQUIRE(slots_shift(&s) == SLOTS_LAST_SHIFT && s.ns[SLOTS - 1] == 3 && sum(s.waits) == 3);
}

enum { THREADS = 4, ROUNDS = 20000 };
static struct slots shared;
static pthread_barrier_t all_begin;

static void *adds(void *ctx) {
  uint64_t *added = (uint64_t *)ctx, at = 0;
  pthread_barrier_wait(&all_begin);
  for (uint64_t i = 0; i < ROUNDS; i++) {
    at += width / 8 + i * i; /* so time goes faster and faster: 14 folds */
    uint64_t ns = i % 64 == 0 ? 300 * width : i;
    slots_add(&shared, at, at + ns);
    *added += ns;
  }
  return NULL;
}

static void threads(void) {
  pthread_t thread[THREADS];
  uint64_t added[THREADS] = {0}, all = 0;
  pthread_barrier_init(&all_begin, NULL, THREADS);
  for (int i = 0; i < THREADS; i++) REQUIRE(pthread_create(&thread[i], NULL, adds, &added[i]) == 0);
  for (int i = 0; i < THREADS; i++) {
    pthread_join(thread[i], NULL);
    all += added[i];
  }
  REQUIRE(sum(shared.ns) == all);
  REQUIRE(sum(shared.waits) == THREADS * ROUNDS);
  REQUIRE(slots_shift(&shared) > SLOTS_FIRST_SHIFT + 8);
}

/* In the child of a fork that was made while a thread folded. */
static void forked(void) {
  static struct slots s;
  REQUIRE(!atomic_flag_test_and_set(&s.is_folded_now));
  slots_add(&s, SLOTS * width, SLOTS * width + 1);
  REQUIRE(slots_shift(&s) == SLOTS_FIRST_SHIFT && s.ns[SLOTS - 1] == 1);
  slots_forked(&s);
  slots_add(&s, SLOTS * width, SLOTS * width + 1);
  REQUIRE(slots_shift(&s) == SLOTS_FIRST_SHIFT + 1 && sum(s.ns) == 2);
}

int main(void) {
  spread();
  folds();
  far();
  threads();
  forked();
  return 0;
}
