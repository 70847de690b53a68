/* family.h: what every primitive does alike, tried in one way. The unit test of a primitive says once
 * how that is made and waited for:
 *
 *   FAMILY(latch, volt_latch it[1] = {VOLT_LATCH_INIT(1)}, volt_latch_wait_waiter(it, w, waker),
 *          volt_latch_wait_until(it, past), volt_latch_wait_future(f, it), volt_latch_done(it),
 *          volt_latch_destroy(it))
 *
 * and has FAMILY_TEST(latch) among its tests: each way to wait ends as it should, and nothing is
 * allocated. tests/compile/library.sh takes the same lines into a program of C and of C++.
 *
 *   make      declares `it` and what else there has to be, so that one has to wait
 *   wait      queues the waiter w with that waker
 *   block     waits until the deadline past
 *   future    makes the future f
 *   complete  lets the one that waits go on; FAMILY_OK() where the result may not be ignored
 *   destroy   ends it all, whether or not somebody waited before
 *
 * FAMILY_OF_FUTURES(name, make, future, complete, destroy): one that is awaited by futures only. */
#ifndef VOLT_TEST_FAMILY_H
#define VOLT_TEST_FAMILY_H

#include <volt/volt.h>

#ifndef FAMILY_EXPECT /* (name, what, right): a program may bring its own */
#include "alloc_count.h"
#include "unit.h"

#define FAMILY_EXPECT(name, what, right) \
  if (!(right)) fail_msg("%s: not so: %s", name, what)

enum { FAMILY_ROUNDS = 100 };

static void family_does_not_allocate(void (*use)(void)) {
  uint64_t allocations = alloc_count_allocations();
  for (int i = 0; i < FAMILY_ROUNDS; i++) use();
  assert_int_equal(alloc_count_allocations() - allocations, 0);
}

#define FAMILY_TEST(name) cmocka_unit_test(name##_does_not_allocate)
#define FAMILY_TEST_(name)                             \
  static void name##_does_not_allocate(void **state) { \
    (void)state;                                       \
    family_does_not_allocate(name##_is_waited_for);    \
  }
#else
#define FAMILY_TEST_(name)
#endif

static inline void family_wake(void *wakes) {
  *(int *)wakes += 1;
}

static inline void family_is(const char *name, const char *what, bool right) {
  FAMILY_EXPECT(name, what, right);
}

static inline int family_poll(volt_future *f) {
  volt_waker nobody = {NULL, NULL};
  return volt_future_poll(f, nobody);
}

static inline void family_drop(const char *name, volt_future *f) {
  family_is(name, "a future waits", family_poll(f) == VOLT_PENDING);
  volt_future_cancel(f);
}

#define FAMILY_OK(call) family_is(__func__, #call, volt_is_ok(call))

/* Each in a block of its own, with one that is made anew. */
#define FAMILY_OF_FUTURES(name, make, future, complete, destroy)                                   \
  static void name##_is_waited_for(void) {                                                         \
    volt_future f[1] = {VOLT_FUTURE_INIT};                                                         \
    {                                                                                              \
      make;                                                                                        \
      family_drop(#name, future);                                                                  \
      destroy;                                                                                     \
    }                                                                                              \
    {                                                                                              \
      make;                                                                                        \
      family_is(#name, "a future times out", volt_future_wait_until(future, 0) == VOLT_ETIMEDOUT); \
      destroy;                                                                                     \
    }                                                                                              \
    {                                                                                              \
      make;                                                                                        \
      family_is(#name, "a future waits", family_poll(future) == VOLT_PENDING);                     \
      complete;                                                                                    \
      family_is(#name, "a future completes", volt_is_ok(family_poll(f)));                          \
      destroy;                                                                                     \
    }                                                                                              \
  }                                                                                                \
  FAMILY_TEST_(name)

#define FAMILY(name, make, wait, block, future, complete, destroy)                                 \
  static void name##_is_waited_for(void) {                                                         \
    volt_future f[1] = {VOLT_FUTURE_INIT};                                                         \
    volt_waiter w[1] = {VOLT_WAITER_INIT};                                                         \
    int wakes = 0;                                                                                 \
    volt_waker waker = {family_wake, &wakes};                                                      \
    uint64_t past = 0;                                                                             \
    {                                                                                              \
      make;                                                                                        \
      family_is(#name, "a waiter waits", (wait) == VOLT_PENDING);                                  \
      complete;                                                                                    \
      family_is(#name, "a waiter completes", volt_waiter_result(w) != VOLT_PENDING && wakes == 1); \
      destroy;                                                                                     \
    }                                                                                              \
    {                                                                                              \
      make;                                                                                        \
      family_is(#name, "a thread gives up", (block) == VOLT_ETIMEDOUT);                            \
      destroy;                                                                                     \
    }                                                                                              \
    {                                                                                              \
      make;                                                                                        \
      family_drop(#name, future);                                                                  \
      destroy;                                                                                     \
    }                                                                                              \
    {                                                                                              \
      make;                                                                                        \
      family_is(#name, "a future times out", volt_future_wait_until(future, 0) == VOLT_ETIMEDOUT); \
      destroy;                                                                                     \
    }                                                                                              \
    {                                                                                              \
      make;                                                                                        \
      family_is(#name, "a future waits", family_poll(future) == VOLT_PENDING);                     \
      complete;                                                                                    \
      family_is(#name, "a future completes", volt_is_ok(family_poll(f)));                          \
      destroy;                                                                                     \
    }                                                                                              \
  }                                                                                                \
  FAMILY_TEST_(name)

#endif
