/* async_test.c: the sentences of volt/async.h, but for those on cancellation and on misuse
 * (async_cancel_test.c). What ran of a function, and in what order, is its trace: a letter for each
 * stretch of it. */
#include <volt/channel.h>

#include "alloc_count.h"
#include "fake_waker.h"
#include "poller.h"

typedef struct run {
  volt_async async;
  volt_future first;
  volt_future second;
  struct run *inner;
  int result;
  int leave_with;
  int leaving; /* what VOLT_FINALLY was told */
  uint32_t i;
  char trace[32];
} run;

static volt_sem sem;
static volt_sem other_sem;
static fake_waker a;
static fake_waker b;
static run r;
static run inner_run;

static int set_up(void **state) {
  (void)state;
  volt_sem_init(&sem, 0);
  volt_sem_init(&other_sem, 0);
  fake_waker_init(&a, 0, NULL);
  fake_waker_init(&b, 1, NULL);
  memset((void *)&r, 0, sizeof r);
  memset((void *)&inner_run, 0, sizeof inner_run);
  r.inner = &inner_run;
  return 0;
}

static run *run_of(volt_async *async) {
  return volt_container_of(async, run, async);
}

static void note(run *self, char letter) {
  size_t length = strlen(self->trace);
  assert_true(length + 1 < sizeof self->trace);
  self->trace[length] = letter;
}

static volt_future *begin(volt_async_fn *fn) {
  memset((void *)&r.async, 0xee, sizeof r.async); /* its content is overwritten */
  memset(r.trace, 0, sizeof r.trace);
  volt_future *f = volt_async_future(&r.async, fn);
  assert_ptr_equal(f, &r.async.future);
  return f;
}

static void expect_poll(fake_waker *waker, int result, const char *trace) {
  assert_result(volt_future_poll(&r.async.future, fake_waker_of(waker)), result);
  assert_string_equal(r.trace, trace);
}

/* ---- await ---- */

static int two_awaits(volt_async *async, volt_ctx *ctx) {
  run *self = run_of(async);
  VOLT_ASYNC_BEGIN(self);
  note(self, 'a');
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->first, &sem, 1));
  note(self, 'b');
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->second, &sem, 2));
  note(self, 'c');
  VOLT_ASYNC_END(self);
}

static void nothing_runs_before_the_first_poll(void **state) {
  (void)state;
  r.i = 4711;
  begin(two_awaits);
  assert_string_equal(r.trace, "");
  assert_int_equal(r.i, 4711); /* the rest of the struct is the caller's */
  assert_int_equal(volt_sem_waiters(&sem), 0);
}

static void it_goes_on_where_it_waited(void **state) {
  (void)state;
  begin(two_awaits);
  for (int i = 0; i < 3; i++) expect_poll(&a, VOLT_PENDING, "a");
  assert_int_equal(volt_sem_waiters(&sem), 1);
  volt_sem_release(&sem, 1);
  assert_string_equal(r.trace, "a"); /* only a poll makes it go on */
  assert_int_equal(fake_waker_calls(&a), 1);
  expect_poll(&a, VOLT_PENDING, "ab");
  volt_sem_release(&sem, 1);
  expect_poll(&a, VOLT_PENDING, "ab");
  volt_sem_release(&sem, 1);
  assert_int_equal(fake_waker_calls(&a), 2);
  for (int i = 0; i < 3; i++) expect_poll(&a, VOLT_OK, "abc"); /* the result stands */
  assert_int_equal(volt_sem_available(&sem), 0);
  assert_int_equal(fake_waker_calls(&a), 2);
}

static void what_is_ready_is_not_waited_for(void **state) {
  (void)state;
  volt_sem_release(&sem, 4);
  begin(two_awaits);
  expect_poll(&a, VOLT_OK, "abc");
  assert_int_equal(volt_sem_available(&sem), 1);
  assert_int_equal(fake_waker_calls(&a), 0);
}

static void a_failure_leaves(void **state) {
  (void)state;
  begin(two_awaits);
  expect_poll(&a, VOLT_PENDING, "a");
  volt_sem_close(&sem);
  for (int i = 0; i < 3; i++) expect_poll(&a, VOLT_ECLOSED, "a");
  assert_int_equal(fake_waker_calls(&a), 1);
  begin(two_awaits);
  expect_poll(&a, VOLT_ECLOSED, "a"); /* also at once */
}

static void it_moves_to_another_waker(void **state) {
  (void)state;
  begin(two_awaits);
  expect_poll(&a, VOLT_PENDING, "a");
  expect_poll(&b, VOLT_PENDING, "a");
  volt_sem_release(&sem, 1);
  assert_int_equal(fake_waker_calls(&a), 0);
  assert_int_equal(fake_waker_calls(&b), 1);
  expect_poll(&a, VOLT_PENDING, "ab");
  volt_sem_release(&sem, 2);
  assert_int_equal(fake_waker_calls(&a), 1);
  expect_poll(&b, VOLT_OK, "abc");
}

static int three_results(volt_async *async, volt_ctx *ctx) {
  run *self = run_of(async);
  VOLT_ASYNC_BEGIN(self);
  VOLT_AWAIT_RESULT(self, self->result, volt_sem_acquire_future(&self->first, &sem, 1));
  note(self, self->result == VOLT_OK ? 'o' : 'x');
  VOLT_AWAIT_RESULT(self, self->result, volt_sem_acquire_future(&self->first, &sem, 1));
  note(self, self->result == VOLT_ECLOSED ? 'c' : 'x');
  VOLT_AWAIT_RESULT(self, self->result, volt_sem_acquire_future(&self->first, &sem, UINT32_MAX));
  note(self, self->result == VOLT_EINVAL ? 'i' : 'x');
  VOLT_ASYNC_END(self);
}

static void await_result_takes_whatever_it_is(void **state) {
  (void)state;
  begin(three_results);
  expect_poll(&a, VOLT_PENDING, "");
  volt_sem_release(&sem, 1);
  expect_poll(&a, VOLT_PENDING, "o");
  volt_sem_close(&sem);
  expect_poll(&a, VOLT_OK, "oci"); /* it was not left, and so it has succeeded */
}

enum { TURNS = 100 };

static int in_loops(volt_async *async, volt_ctx *ctx) {
  run *self = run_of(async);
  VOLT_ASYNC_BEGIN(self);
  for (self->i = 0; self->i < TURNS; self->i++) {
    if (self->i % 2) {
      VOLT_AWAIT(self, volt_sem_acquire_future(&self->first, &sem, 1));
    } else {
      VOLT_AWAIT_RESULT(self, self->result, volt_sem_acquire_future(&self->second, &sem, 1));
    }
  }
  while (true) {
    VOLT_AWAIT(self, volt_sem_acquire_future(&self->first, &sem, 1));
    if (++self->i == 2 * TURNS) break;
  }
  do {
    VOLT_YIELD(self);
  } while (++self->i < 3 * TURNS);
  VOLT_ASYNC_END(self);
}

static void awaits_stand_in_loops_and_branches(void **state) {
  (void)state;
  begin(in_loops);
  for (uint32_t i = 0; i < 2 * TURNS; i++) {
    expect_poll(&a, VOLT_PENDING, "");
    assert_int_equal(r.i, i);
    if (i % 3) expect_poll(&b, VOLT_PENDING, "");
    volt_sem_release(&sem, 1);
    assert_int_equal(fake_waker_calls(&a) + fake_waker_calls(&b), i + 1);
  }
  assert_int_equal(volt_sem_waiters(&sem), 0);
  for (uint32_t i = 0; i < TURNS; i++) expect_poll(&a, VOLT_PENDING, "");
  expect_poll(&a, VOLT_OK, "");
  assert_int_equal(r.i, 3 * TURNS);
}

/* ---- yield ---- */

static int yields(volt_async *async, volt_ctx *ctx) {
  run *self = run_of(async);
  VOLT_ASYNC_BEGIN(self);
  note(self, 'a');
  VOLT_YIELD(self);
  note(self, 'b');
  VOLT_YIELD(self);
  note(self, 'c');
  VOLT_ASYNC_END(self);
}

static void yield_wakes_inside_the_poll(void **state) {
  (void)state;
  begin(yields);
  expect_poll(&a, VOLT_PENDING, "a");
  assert_int_equal(fake_waker_calls(&a), 1);
  expect_poll(&b, VOLT_PENDING, "ab");
  assert_int_equal(fake_waker_calls(&a), 1);
  assert_int_equal(fake_waker_calls(&b), 1);
  expect_poll(&a, VOLT_OK, "abc");
  assert_int_equal(fake_waker_calls(&a) + fake_waker_calls(&b), 2);
  begin(yields);
  assert_result(volt_future_poll(&r.async.future, (volt_waker){NULL, NULL}), VOLT_PENDING);
}

static void yield_tells_the_ctx(void **state) {
  (void)state;
  poller p;
  poller_init(&p);
  volt_future *f = begin(yields);
  for (int i = 0; i < 2; i++) {
    assert_result(poller_poll(&p, f), VOLT_PENDING);
    assert_true(p.ctx.yield);
  }
  assert_result(poller_poll(&p, f), VOLT_OK);
  assert_false(p.ctx.yield);
  poller_expect(&p, 0, 0, 0); /* nobody holds the waker */
}

static void block_on_polls_again_after_yield(void **state) {
  (void)state;
  assert_result(volt_future_wait(begin(yields)), VOLT_OK);
  assert_string_equal(r.trace, "abc");
}

static int yields_for_ever(volt_async *async, volt_ctx *ctx) {
  run *self = run_of(async);
  VOLT_ASYNC_BEGIN(self);
  for (;;) {
    self->i += 1;
    VOLT_YIELD(self);
  }
  VOLT_ASYNC_END(self);
}

static void block_on_gives_up_what_only_yields(void **state) {
  (void)state;
  uint64_t deadline_ns = volt_deadline_ns(100000);
  assert_result(volt_future_wait_until(begin(yields_for_ever), deadline_ns), VOLT_ETIMEDOUT);
  assert_true(volt_now_ns() >= deadline_ns);
  assert_true(r.i > 0);
  expect_poll(&a, VOLT_ETIMEDOUT, "");
}

/* ---- return, and finally ---- */

static int returns_early(volt_async *async, volt_ctx *ctx) {
  run *self = run_of(async);
  VOLT_ASYNC_BEGIN(self);
  note(self, 'a');
  if (self->leave_with != VOLT_PENDING) VOLT_RETURN(self, self->leave_with);
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->first, &sem, 1));
  for (;;) {
    for (;;) {
      note(self, 'b');
      VOLT_RETURN(self, 4711);
    }
  }
  VOLT_ASYNC_END(self);
}

static void return_leaves_with_a_result(void **state) {
  (void)state;
  const int results[] = {VOLT_OK, VOLT_EINVAL, 17};
  for (size_t i = 0; i < sizeof results / sizeof results[0]; i++) {
    r.leave_with = results[i];
    volt_future *f = begin(returns_early);
    for (int j = 0; j < 2; j++) {
      assert_int_equal(volt_future_poll(f, fake_waker_of(&a)), results[i]);
      assert_string_equal(r.trace, "a");
    }
  }
  r.leave_with = VOLT_PENDING;
  volt_future *f = begin(returns_early);
  expect_poll(&a, VOLT_PENDING, "a");
  volt_sem_release(&sem, 1);
  assert_int_equal(volt_future_poll(f, fake_waker_of(&a)), 4711); /* out of two loops */
  assert_string_equal(r.trace, "ab");
}

/* Leaves by VOLT_RETURN (result is not PENDING) or by its first await, or comes to VOLT_FINALLY. */
static int with_finally(volt_async *async, volt_ctx *ctx) {
  run *self = run_of(async);
  VOLT_ASYNC_BEGIN(self);
  note(self, 'a');
  if (self->result != VOLT_PENDING) VOLT_RETURN(self, self->result);
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->first, &sem, 1));
  note(self, 'b');
  VOLT_FINALLY(self);
  note(self, 'f');
  self->leaving = VOLT_LEAVING(self);
  if (self->leave_with != VOLT_PENDING) VOLT_RETURN(self, self->leave_with);
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->second, &other_sem, 1));
  note(self, 'g');
  VOLT_ASYNC_END(self);
}

static void finally_is_reached_every_way(void **state) {
  const struct {
    int result; /* returned; PENDING: awaits instead */
    bool closed;
    int want;
    const char *before;
    const char *after;
  } ways[] = {
      {VOLT_PENDING, false, VOLT_OK, "abf", "abfg"},
      {VOLT_PENDING, true, VOLT_ECLOSED, "af", "afg"},
      {VOLT_LEADER, false, VOLT_LEADER, "af", "afg"},
      {VOLT_EINVAL, false, VOLT_EINVAL, "af", "afg"},
      {VOLT_OK, false, VOLT_OK, "af", "afg"},
  };
  for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
    set_up(state);
    r.leave_with = VOLT_PENDING;
    r.result = ways[i].result;
    begin(with_finally);
    if (ways[i].closed) volt_sem_close(&sem);
    if (!ways[i].closed) volt_sem_release(&sem, 1);
    for (int j = 0; j < 2; j++) expect_poll(&a, VOLT_PENDING, ways[i].before);
    assert_result(r.leaving, ways[i].want);
    volt_sem_release(&other_sem, 1);
    for (int j = 0; j < 2; j++) expect_poll(&a, ways[i].want, ways[i].after);
    assert_int_equal(fake_waker_calls(&a), 1);
  }
}

static void the_first_failure_stands(void **state) {
  const struct {
    int result;     /* returned before VOLT_FINALLY */
    int leave_with; /* returned in it; PENDING: an await fails in it */
    int want;
  } ways[] = {
      {VOLT_OK, VOLT_EINVAL, VOLT_EINVAL},      {VOLT_EINVAL, VOLT_ENOMEM, VOLT_EINVAL},
      {VOLT_EINVAL, VOLT_OK, VOLT_EINVAL},      {VOLT_OK, VOLT_OK, VOLT_OK},
      {VOLT_EINVAL, VOLT_PENDING, VOLT_EINVAL}, {VOLT_OK, VOLT_PENDING, VOLT_ECLOSED},
      {VOLT_DONE, VOLT_EINVAL, VOLT_EINVAL},    {VOLT_DONE, VOLT_PENDING, VOLT_ECLOSED},
      {VOLT_DONE, VOLT_OK, VOLT_DONE},          {VOLT_DONE, VOLT_LEADER, VOLT_DONE},
      {VOLT_OK, VOLT_LEADER, VOLT_LEADER},      {VOLT_EINVAL, VOLT_DONE, VOLT_EINVAL},
  };
  for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
    set_up(state);
    volt_sem_close(&other_sem);
    r.result = ways[i].result;
    r.leave_with = ways[i].leave_with;
    begin(with_finally);
    expect_poll(&a, ways[i].want, "af"); /* it has gone to the end, not into VOLT_FINALLY again */
  }
}

/* What its inner function has left with is a success: it goes on. */
static int goes_on(volt_async *async, volt_ctx *ctx) {
  run *self = run_of(async);
  VOLT_ASYNC_BEGIN(self);
  note(self, 'a');
  VOLT_AWAIT(self, volt_async_future(&self->inner->async, with_finally));
  note(self, 'b');
  VOLT_ASYNC_END(self);
}

static void await_goes_on_with_every_success(void **state) {
  const int successes[] = {VOLT_OK, VOLT_LEADER, VOLT_DONE};
  for (size_t i = 0; i < sizeof successes / sizeof successes[0]; i++) {
    set_up(state);
    inner_run.result = successes[i];
    inner_run.leave_with = VOLT_OK;
    begin(goes_on);
    expect_poll(&a, VOLT_OK, "ab");
    assert_result(volt_future_poll(&inner_run.async.future, fake_waker_of(&a)), successes[i]);
  }
}

/* ---- functions that await functions ---- */

static int outer(volt_async *async, volt_ctx *ctx) {
  run *self = run_of(async);
  VOLT_ASYNC_BEGIN(self);
  note(self, '(');
  VOLT_AWAIT(self, volt_async_future(&self->inner->async, two_awaits));
  note(self, ')');
  VOLT_FINALLY(self);
  note(self, 'f');
  VOLT_AWAIT_RESULT(self, self->result, volt_async_future(&self->inner->async, yields));
  VOLT_ASYNC_END(self);
}

static void a_function_awaits_another(void **state) {
  (void)state;
  begin(outer);
  expect_poll(&a, VOLT_PENDING, "(");
  assert_string_equal(inner_run.trace, "a");
  volt_sem_release(&sem, 1);
  expect_poll(&a, VOLT_PENDING, "(");
  assert_string_equal(inner_run.trace, "ab");
  volt_sem_release(&sem, 2);
  assert_int_equal(fake_waker_calls(&a), 2);
  expect_poll(&a, VOLT_PENDING, "()f");
  assert_string_equal(inner_run.trace, "abca");
  assert_int_equal(fake_waker_calls(&a), 3); /* the inner one yields */
  expect_poll(&a, VOLT_PENDING, "()f");
  expect_poll(&a, VOLT_OK, "()f");
  assert_string_equal(inner_run.trace, "abcabc");
}

static void the_failure_of_an_inner_one_leaves_both(void **state) {
  (void)state;
  begin(outer);
  expect_poll(&a, VOLT_PENDING, "(");
  volt_sem_close(&sem);
  expect_poll(&a, VOLT_PENDING, "(f");
  expect_poll(&a, VOLT_PENDING, "(f");
  expect_poll(&a, VOLT_ECLOSED, "(f");
  assert_result(r.result, VOLT_OK);
  assert_string_equal(inner_run.trace, "aabc");
}

/* ---- again ---- */

static void an_ended_function_is_run_again_by_its_constructor(void **state) {
  (void)state;
  volt_sem_release(&sem, 6);
  begin(two_awaits);
  expect_poll(&a, VOLT_OK, "abc");
  expect_poll(&a, VOLT_OK, "abc"); /* without it nothing runs */
  r.i = 4711;
  volt_future_made(volt_async_future(&r.async, two_awaits));
  assert_string_equal(r.trace, "abc");
  expect_poll(&a, VOLT_OK, "abcabc");
  assert_int_equal(r.i, 4711); /* the rest of the struct is the caller's */
  volt_future_made(volt_async_future(&r.async, two_awaits));
  expect_poll(&a, VOLT_PENDING, "abcabca");
  volt_future_cancel(&r.async.future);
  volt_sem_release(&sem, 3);
  volt_future_made(volt_async_future(&r.async, two_awaits)); /* once it was cancelled, too */
  expect_poll(&a, VOLT_OK, "abcabcaabc");
}

/* ---- no allocation ---- */

static void nothing_is_allocated(void **state) {
  (void)state;
  uint64_t before = alloc_count_allocations();
  for (uint32_t i = 0; i < 100; i++) {
    volt_future *f = begin(outer);
    memset(inner_run.trace, 0, sizeof inner_run.trace);
    int result = volt_future_poll(f, fake_waker_of(&a));
    volt_sem_release(&sem, 3);
    while (result == VOLT_PENDING) result = volt_future_poll(f, fake_waker_of(&a));
    assert_result(result, VOLT_OK);
  }
  assert_int_equal(alloc_count_allocations() - before, 0);
}

/* ==== VOLT_AWAIT_TRY ====
 *
 * The attempt comes first, is counted as a ready future is, and is not made where a future would
 * not be polled either. */

typedef struct tries {
  volt_async async;
  volt_future future;
  uint64_t value;
  int result;
  uint32_t received;
} tries;

VOLT_CHAN_DECLARE(numbers, uint64_t);

static uint64_t memory[64];
static numbers chan;
static poller p;
static tries t;
static uint32_t attempts;

static int set_up_tries(void **state) {
  (void)state;
  assert_result(numbers_init(&chan, 8, memory, sizeof memory), VOLT_OK);
  poller_init(&p);
  memset((void *)&t, 0, sizeof t);
  attempts = 0;
  return 0;
}

static int tear_down_tries(void **state) {
  (void)state;
  volt_future_cancel(&t.async.future);
  volt_chan_destroy(&chan.chan, NULL, NULL);
  return 0;
}

static int try_recv(uint64_t *value) {
  attempts += 1;
  return numbers_try_recv(&chan, value);
}

/* Receives until the channel is closed, or an await fails. */
static int receive_all(volt_async *async, volt_ctx *ctx) {
  tries *self = volt_container_of(async, tries, async);
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
  volt_future_made(volt_async_future(&t.async, receive_all));
  send(0, 3);
  assert_result(poller_poll(&p, &t.async.future), VOLT_PENDING);
  assert_int_equal(t.received, 3);
  assert_int_equal(attempts, 4);
  poller_expect(&p, 1, 0, 0);
  send(3, 1); /* straight to the waiter */
  poller_expect(&p, 1, 1, 0);
  assert_result(poller_poll(&p, &t.async.future), VOLT_PENDING);
  assert_int_equal(t.received, 4);
  volt_chan_close(&chan.chan);
  assert_result(poller_poll(&p, &t.async.future), VOLT_ECLOSED);
  poller_expect(&p, 2, 2, 0);
}

static void an_error_of_the_attempt_is_the_result(void **state) {
  (void)state;
  volt_future_made(volt_async_future(&t.async, receive_all));
  send(0, 1);
  volt_chan_close(&chan.chan);
  assert_result(poller_poll(&p, &t.async.future), VOLT_ECLOSED);
  assert_int_equal(t.received, 1);
  poller_expect(&p, 0, 0, 0);
}

static void an_attempt_costs_budget(void **state) {
  (void)state;
  volt_future_made(volt_async_future(&t.async, receive_all));
  send(0, 5);
  p.ctx.budget = 3;
  assert_result(poller_poll(&p, &t.async.future), VOLT_PENDING);
  assert_true(p.ctx.yield);
  assert_int_equal(t.received, 3);
  assert_int_equal(attempts, 3); /* none without budget */
  poller_expect(&p, 0, 0, 0);
  p.ctx.budget = 10;
  assert_result(poller_poll(&p, &t.async.future), VOLT_PENDING);
  assert_false(p.ctx.yield);
  assert_int_equal(t.received, 5);
  assert_int_equal(p.ctx.budget, 8); /* one by the future that had yielded, one by an attempt */
}

static void a_cancel_comes_before_the_attempt(void **state) {
  (void)state;
  volt_future_made(volt_async_future(&t.async, receive_all));
  send(0, 2);
  p.ctx.cancel = VOLT_CTX_CANCEL_ONCE;
  assert_result(poller_poll(&p, &t.async.future), VOLT_ECANCELED);
  assert_int_equal(p.ctx.cancel, VOLT_CTX_GO_ON); /* obeyed */
  assert_int_equal(attempts, 0);
  assert_int_equal(volt_chan_len(&chan.chan), 2);
}

static void a_cancel_that_meets_a_grant_meets_the_next_await(void **state) {
  (void)state;
  volt_future_made(volt_async_future(&t.async, receive_all));
  assert_result(poller_poll(&p, &t.async.future), VOLT_PENDING);
  send(0, 2); /* the first is moved to the waiter */
  p.ctx.cancel = VOLT_CTX_CANCEL_ONCE;
  assert_result(poller_poll(&p, &t.async.future), VOLT_ECANCELED);
  assert_int_equal(t.received, 1);
  assert_int_equal(p.ctx.cancel, VOLT_CTX_GO_ON);
  assert_int_equal(volt_chan_len(&chan.chan), 1);
  poller_expect(&p, 1, 1, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(nothing_runs_before_the_first_poll, set_up),
      cmocka_unit_test_setup(it_goes_on_where_it_waited, set_up),
      cmocka_unit_test_setup(what_is_ready_is_not_waited_for, set_up),
      cmocka_unit_test_setup(a_failure_leaves, set_up),
      cmocka_unit_test_setup(it_moves_to_another_waker, set_up),
      cmocka_unit_test_setup(await_result_takes_whatever_it_is, set_up),
      cmocka_unit_test_setup(awaits_stand_in_loops_and_branches, set_up),
      cmocka_unit_test_setup(yield_wakes_inside_the_poll, set_up),
      cmocka_unit_test_setup(yield_tells_the_ctx, set_up),
      cmocka_unit_test_setup(block_on_polls_again_after_yield, set_up),
      cmocka_unit_test_setup(block_on_gives_up_what_only_yields, set_up),
      cmocka_unit_test_setup(return_leaves_with_a_result, set_up),
      cmocka_unit_test_setup(finally_is_reached_every_way, set_up),
      cmocka_unit_test_setup(the_first_failure_stands, set_up),
      cmocka_unit_test_setup(await_goes_on_with_every_success, set_up),
      cmocka_unit_test_setup(a_function_awaits_another, set_up),
      cmocka_unit_test_setup(the_failure_of_an_inner_one_leaves_both, set_up),
      cmocka_unit_test_setup(an_ended_function_is_run_again_by_its_constructor, set_up),
      cmocka_unit_test_setup(nothing_is_allocated, set_up),
      cmocka_unit_test_setup_teardown(it_tries_first_and_waits_then, set_up_tries, tear_down_tries),
      cmocka_unit_test_setup_teardown(an_error_of_the_attempt_is_the_result, set_up_tries,
                                      tear_down_tries),
      cmocka_unit_test_setup_teardown(an_attempt_costs_budget, set_up_tries, tear_down_tries),
      cmocka_unit_test_setup_teardown(a_cancel_comes_before_the_attempt, set_up_tries,
                                      tear_down_tries),
      cmocka_unit_test_setup_teardown(a_cancel_that_meets_a_grant_meets_the_next_await,
                                      set_up_tries, tear_down_tries),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
