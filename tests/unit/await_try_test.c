/* await_try_test.c: VOLT_AWAIT_TRY: the attempt comes first, is counted as a ready future is, and is
 * not made where a future would not be polled either. */
#include <volt/channel.h>

#include "poller.h"

typedef struct run {
  volt_async async;
  volt_future future;
  uint64_t value;
  int result;
  uint32_t received;
} run;

VOLT_CHAN_DECLARE(numbers, uint64_t);

static uint64_t memory[64];
static numbers chan;
static poller p;
static run r;
static uint32_t attempts;

static int set_up(void **state) {
  (void)state;
  assert_result(numbers_init(&chan, 8, memory, sizeof memory), VOLT_OK);
  poller_init(&p);
  memset((void *)&r, 0, sizeof r);
  attempts = 0;
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  volt_future_cancel(&r.async.future);
  volt_chan_destroy(&chan.chan, NULL, NULL);
  return 0;
}

static int try_recv(uint64_t *value) {
  attempts += 1;
  return numbers_try_recv(&chan, value);
}

/* Receives until the channel is closed, or an await fails. */
static int receive_all(volt_async *async, volt_ctx *ctx) {
  run *self = volt_container_of(async, run, async);
  VOLT_ASYNC_BEGIN(self);
  for (;;) {
    VOLT_AWAIT_TRY(self, self->result, try_recv(&self->value),
                   numbers_recv_future(&self->future, &chan, &self->value));
    if (self->result != VOLT_OK) VOLT_RETURN(self, self->result);
    assert_int_equal(self->value, self->received);
    self->received += 1;
  }
  VOLT_ASYNC_END(self);
}

static void send(uint64_t first, uint64_t count) {
  for (uint64_t i = 0; i < count; i++) assert_result(numbers_try_send(&chan, first + i), VOLT_OK);
}

static void it_tries_first_and_waits_then(void **state) {
  (void)state;
  volt_async_future(&r.async, receive_all);
  send(0, 3);
  assert_result(poller_poll(&p, &r.async.future), VOLT_PENDING);
  assert_int_equal(r.received, 3);
  assert_int_equal(attempts, 4);
  poller_expect(&p, 1, 0, 0);
  send(3, 1); /* straight to the waiter */
  poller_expect(&p, 1, 1, 0);
  assert_result(poller_poll(&p, &r.async.future), VOLT_PENDING);
  assert_int_equal(r.received, 4);
  volt_chan_close(&chan.chan);
  assert_result(poller_poll(&p, &r.async.future), VOLT_ECLOSED);
  poller_expect(&p, 2, 2, 0);
}

static void an_error_of_the_attempt_is_the_result(void **state) {
  (void)state;
  volt_async_future(&r.async, receive_all);
  send(0, 1);
  volt_chan_close(&chan.chan);
  assert_result(poller_poll(&p, &r.async.future), VOLT_ECLOSED);
  assert_int_equal(r.received, 1);
  poller_expect(&p, 0, 0, 0);
}

static void an_attempt_costs_budget(void **state) {
  (void)state;
  volt_async_future(&r.async, receive_all);
  send(0, 5);
  p.ctx.budget = 3;
  assert_result(poller_poll(&p, &r.async.future), VOLT_PENDING);
  assert_true(p.ctx.yield);
  assert_int_equal(r.received, 3);
  assert_int_equal(attempts, 3); /* none without budget */
  poller_expect(&p, 0, 0, 0);
  p.ctx.budget = 10;
  assert_result(poller_poll(&p, &r.async.future), VOLT_PENDING);
  assert_false(p.ctx.yield);
  assert_int_equal(r.received, 5);
  assert_int_equal(p.ctx.budget, 8); /* one by the future that had yielded, one by an attempt */
}

static void a_cancel_comes_before_the_attempt(void **state) {
  (void)state;
  volt_async_future(&r.async, receive_all);
  send(0, 2);
  p.ctx.cancel = VOLT_CTX_CANCEL_ONCE;
  assert_result(poller_poll(&p, &r.async.future), VOLT_ECANCELED);
  assert_int_equal(p.ctx.cancel, VOLT_CTX_GO_ON); /* obeyed */
  assert_int_equal(attempts, 0);
  assert_int_equal(volt_chan_len(&chan.chan), 2);
}

static void a_cancel_that_meets_a_grant_meets_the_next_await(void **state) {
  (void)state;
  volt_async_future(&r.async, receive_all);
  assert_result(poller_poll(&p, &r.async.future), VOLT_PENDING);
  send(0, 2); /* the first is moved to the waiter */
  p.ctx.cancel = VOLT_CTX_CANCEL_ONCE;
  assert_result(poller_poll(&p, &r.async.future), VOLT_ECANCELED);
  assert_int_equal(r.received, 1);
  assert_int_equal(p.ctx.cancel, VOLT_CTX_GO_ON);
  assert_int_equal(volt_chan_len(&chan.chan), 1);
  poller_expect(&p, 1, 1, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(it_tries_first_and_waits_then, set_up, tear_down),
      cmocka_unit_test_setup_teardown(an_error_of_the_attempt_is_the_result, set_up, tear_down),
      cmocka_unit_test_setup_teardown(an_attempt_costs_budget, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_cancel_comes_before_the_attempt, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_cancel_that_meets_a_grant_meets_the_next_await, set_up,
                                      tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
