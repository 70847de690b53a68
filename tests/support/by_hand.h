/* by_hand.h: a runtime that has no thread and whose clock is virtual: whatever happens, happens in
 * volt_rt_run() or volt_rt_advance(), and always in the same order. Its allocator counts. */
#ifndef VOLT_TEST_BY_HAND_H
#define VOLT_TEST_BY_HAND_H

#include <stdlib.h>
#include <volt/runtime.h>

#include "fake_waker.h"
#include "require.h"
#include "unit.h"

typedef struct by_hand {
  volt_rt *rt;
  fake_waker waker;           /* of the config */
  VOLT_ATOMIC(uint64_t) held; /* bytes that the runtime has */
} by_hand;

static inline void *by_hand_alloc_(size_t bytes, void *ctx) {
  (void)volt_fetch_add_relaxed(&((by_hand *)ctx)->held, bytes);
  return malloc(bytes);
}

static inline void by_hand_free_(void *memory, size_t bytes, void *ctx) {
  (void)volt_fetch_add_relaxed(&((by_hand *)ctx)->held, 0 - (uint64_t)bytes);
  free(memory);
}

static inline volt_rt_config by_hand_config(by_hand *h) {
  volt_rt_config config;
  memset(&config, 0, sizeof config);
  fake_waker_init(&h->waker, 0, NULL);
  volt_store_relaxed(&h->held, 0);
  config.flags = VOLT_RT_BY_HAND | VOLT_RT_VIRTUAL_CLOCK;
  config.waker = fake_waker_of(&h->waker);
  config.seed = 1;
  config.allocator = (volt_rt_allocator){by_hand_alloc_, by_hand_free_, h};
  return config;
}

static inline void by_hand_begin(by_hand *h) {
  volt_rt_config config = by_hand_config(h);
  assert_result(volt_rt_create(&h->rt, &config), VOLT_OK);
}

static inline uint64_t by_hand_held(by_hand *h) {
  return volt_load_relaxed(&h->held);
}

/* Nothing is left; so many tasks had to be cancelled. */
static inline void by_hand_end(by_hand *h, uint64_t cancelled) {
  assert_int_equal(volt_rt_destroy(h->rt), cancelled);
  assert_int_equal(by_hand_held(h), 0);
  h->rt = NULL;
}

/* Until nothing is ready. Returns the next deadline. */
static inline uint64_t by_hand_run(by_hand *h) {
  uint64_t deadline_ns;
  do {
    deadline_ns = volt_rt_run(h->rt);
  } while (deadline_ns == 0);
  return deadline_ns;
}

static inline volt_rt_stats_of by_hand_stats(by_hand *h) {
  volt_rt_stats_of stats;
  volt_rt_stats(h->rt, &stats);
  return stats;
}

static inline volt_worker_stats by_hand_worker(by_hand *h) {
  volt_worker_stats stats;
  assert_result(volt_rt_worker_stats(h->rt, 0, &stats), VOLT_OK);
  return stats;
}

static inline void by_hand_expect_live(by_hand *h, uint64_t live) {
  assert_int_equal(by_hand_stats(h).live, live);
}

/* What ran, and in what order: a letter for each stretch. */
typedef struct trace {
  char text[128];
  size_t length;
} trace;

static inline void trace_begin(trace *t) {
  memset(t, 0, sizeof *t);
}

static inline void trace_note(trace *t, char letter) {
  REQUIRE(t->length + 1 < sizeof t->text);
  t->text[t->length++] = letter;
}

#endif
