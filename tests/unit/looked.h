/* looked.h: what a look at a future that waits says; and that it leaves nothing behind, however it ends. */
#ifndef VOLT_TEST_LOOKED_H
#define VOLT_TEST_LOOKED_H

#include <volt/promise.h>
#include <volt/select.h>

#include "../../src/core/inspect/look.h"
#include "../../src/core/wait/fifo.h"
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
  assert_string_equal(volt_kind_name_(look->kind), kind);
  assert_ptr_equal(look->object, object);
  assert_int_equal(look->ends, ends);
}

/* How a future that waits ends without what it waits for. A program of looks runs its tests in each way. */
typedef enum looked_way { LOOKED_CANCELLED, LOOKED_LOSES, LOOKED_FAILS, LOOKED_WAYS } looked_way;
static looked_way looked_how;
static void (*looked_run)(
    void); /* what has to run before a loser that comes to its end has ended */

/* Poll f, a select or join, until it is ready. */
static inline void looked_await(poller *p, volt_future *f, int result) {
  int got = poller_poll(p, f);
  if (got == VOLT_PENDING && looked_run) {
    looked_run();
    got = poller_poll(p, f);
  }
  assert_result(got, result);
}

/* f, which p has polled, waits. It is cancelled; or it is a branch of a select in which the other branch
 * wins, or of a join in which the other one fails. */
static inline void looked_end(poller *p, volt_future *f) {
  static const volt_promise_ops ops = {.start = NULL};
  volt_promise promise;
  volt_future other;
  volt_select s;
  volt_join j;
  volt_promise_init(&promise, &ops);
  volt_future *const branches[] = {f, volt_promise_future(&other, &promise)};
  if (looked_how == LOOKED_CANCELLED) {
    volt_future_cancel(f);
  } else if (looked_how == LOOKED_LOSES) {
    volt_future_made(volt_select_future(&s, branches, 2, VOLT_SELECT_BIASED));
    assert_result(poller_poll(p, &s.future), VOLT_PENDING);
    volt_promise_complete(&promise, VOLT_OK);
    looked_await(p, &s.future, VOLT_OK);
    assert_int_equal(volt_select_winner(&s), 1);
  } else {
    volt_future_made(volt_join_future(&j, branches, 2, VOLT_JOIN_FAIL_FAST));
    assert_result(poller_poll(p, &j.future), VOLT_PENDING);
    volt_promise_complete(&promise, VOLT_ECLOSED);
    looked_await(p, &j.future, VOLT_ECLOSED);
  }
  volt_look_ look;
  volt_look_at_(f, &look);
  assert_true(look.is_ready);
}

/* f waits after a poll, and says that; if that is in a queue, it is alone there, and when it has ended,
 * the queue is empty. */
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
  const volt_fifo_ *queue = look.queue;
  looked_end(&p, f);
  assert_true(!queue || !queue->head);
  volt_look_at_(f, &look);
  assert_string_equal(look.operation, operation);
}

#endif
