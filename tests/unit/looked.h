/* looked.h: what a look at a future that waits says. */
#ifndef VOLT_TEST_LOOKED_H
#define VOLT_TEST_LOOKED_H

#include "../../src/core/look.h"
#include "poller.h"
#include "unit.h"

/* Poll f, which waits then, and look at it. */
static inline volt_look_ looked_at_waiting(poller *p, volt_future *f) {
  volt_look_ look;
  assert_result(poller_poll(p, f), VOLT_PENDING);
  volt_look_at_(f, &look);
  assert_false(look.is_ready);
  assert_false(look.is_granted);
  return look;
}

static inline void looked_expect(const volt_look_ *look, const char *operation, const char *kind,
                                 const void *object, volt_ends_ ends) {
  assert_string_equal(look->operation, operation);
  assert_string_equal(look->kind, kind);
  assert_ptr_equal(look->object, object);
  assert_int_equal(look->ends, ends);
}

/* f waits after a poll, and says that; if that is in a queue, it is alone there. It is cancelled. */
static inline void looked_check(volt_future *f, const char *operation, const char *kind,
                                const void *object, volt_ends_ ends, const char *state) {
  poller p;
  poller_init(&p);
  volt_look_ look = looked_at_waiting(&p, f);
  looked_expect(&look, operation, kind, object, ends);
  assert_string_equal(look.state, state);
  bool is_queued = look.queue != NULL;
  volt_look_for_place_(f, &look, 8);
  assert_int_equal(look.place, is_queued);
  assert_int_equal(look.waiters, is_queued);
  volt_future_cancel(f);
  volt_look_at_(f, &look);
  assert_true(look.is_ready);
  assert_string_equal(look.operation, operation);
}

#endif
