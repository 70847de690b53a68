/* described.h: what a look at a future that waits says; and that it leaves nothing behind, however
 * it ends. */
#ifndef VOLT_TEST_LOOKED_H
#define VOLT_TEST_LOOKED_H

#include <volt/promise.h>
#include <volt/select.h>

#include "../../src/core/inspect/describe.h"
#include "../../src/core/wait/fifo.h"
#include "poller.h"
#include "unit.h"

/* Poll f, which waits then, and look at it. */
static inline volt_description_ described_waiting(poller *p, volt_future *f) {
  volt_description_ description;
  assert_result(poller_poll(p, f), VOLT_PENDING);
  volt_describe_(f, &description);
  assert_false(description.is_ready);
  assert_false(description.is_granted);
  return description;
}

static inline void described_expect(const volt_description_ *description, const char *operation,
                                    const char *kind, const void *object, volt_ends_ ends) {
  assert_string_equal(description->operation, operation);
  assert_string_equal(volt_kind_name_(description->kind), kind);
  assert_ptr_equal(description->object, object);
  assert_int_equal(description->ends, ends);
}

/* How a future that waits ends without what it waits for. A program of looks runs its tests in each
 * way. */
typedef enum described_way {
  DESCRIBED_CANCELLED,
  DESCRIBED_LOSES,
  DESCRIBED_FAILS,
  DESCRIBED_WAYS
} described_way;
static described_way described_how;
static void (*described_run)(
    void); /* what has to run before a loser that comes to its end has ended */

/* Poll f, a select or join, until it is ready. */
static inline void described_await(poller *p, volt_future *f, int result) {
  int got = poller_poll(p, f);
  if (got == VOLT_PENDING && described_run) {
    described_run();
    got = poller_poll(p, f);
  }
  assert_result(got, result);
}

/* f, which p has polled, waits. It is cancelled; or it is a branch of a select in which the other
 * branch wins, or of a join in which the other one fails. */
static inline void described_end(poller *p, volt_future *f) {
  static const volt_promise_ops ops = {.start = NULL};
  volt_promise promise;
  volt_future other;
  volt_select s;
  volt_join j;
  volt_promise_init(&promise, &ops);
  volt_future *const branches[] = {f, volt_promise_future(&other, &promise)};
  if (described_how == DESCRIBED_CANCELLED) {
    volt_future_cancel(f);
  } else if (described_how == DESCRIBED_LOSES) {
    volt_future_made(volt_select_future(&s, branches, 2, VOLT_SELECT_BIASED));
    assert_result(poller_poll(p, &s.future), VOLT_PENDING);
    volt_promise_complete(&promise, VOLT_OK);
    described_await(p, &s.future, VOLT_OK);
    assert_int_equal(volt_select_winner(&s), 1);
  } else {
    volt_future_made(volt_join_future(&j, branches, 2, VOLT_JOIN_FAIL_FAST));
    assert_result(poller_poll(p, &j.future), VOLT_PENDING);
    volt_promise_complete(&promise, VOLT_ECLOSED);
    described_await(p, &j.future, VOLT_ECLOSED);
  }
  volt_description_ description;
  volt_describe_(f, &description);
  assert_true(description.is_ready);
}

/* f waits after a poll, and says that; if that is in a queue, it is alone there, and when it has ended,
 * the queue is empty. */
static inline void described_check(volt_future *f, const char *operation, const char *kind,
                                   const void *object, volt_ends_ ends, const char *state) {
  poller p;
  poller_init(&p);
  volt_description_ description = described_waiting(&p, f);
  described_expect(&description, operation, kind, object, ends);
  assert_string_equal(description.state, state);
  bool is_queued = description.queue != NULL;
  volt_describe_place_(f, &description, 8);
  assert_int_equal(description.place, is_queued);
  assert_int_equal(description.waiters, is_queued);
  const volt_fifo_ *queue = description.queue;
  described_end(&p, f);
  assert_true(!queue || !queue->head);
  volt_describe_(f, &description);
  assert_string_equal(description.operation, operation);
}

#endif
