/* async_cancel_test.c: async functions that are cancelled: from outside (volt_future_cancel(), a
 * deadline of volt_future_wait_until()), which every await sees; and by the ctx, once, as a task
 * is; and what aborts. What ran of a function, and in what order, is its trace: a letter for each
 * stretch of it. */
#include <stdio.h>

#include "core/os/check.h"
#include "death.h"
#include "fake_waker.h"
#include "poller.h"

typedef struct run {
  volt_async async;
  volt_future first;
  volt_future second;
  volt_future third;
  struct run *inner;
  volt_select select;
  volt_future *branches[2];
  int results[3];
} run;

static volt_sem sem;
static volt_sem other_sem;
static fake_waker a;
static poller p;
static run r;
static run inner_run;
static char trace[32]; /* of both: its order counts */

static int set_up(void **state) {
  (void)state;
  volt_sem_init(&sem, 0);
  volt_sem_init(&other_sem, 0);
  fake_waker_init(&a, 0, NULL);
  poller_init(&p);
  memset((void *)&r, 0, sizeof r);
  memset((void *)&inner_run, 0, sizeof inner_run);
  memset(trace, 0, sizeof trace);
  r.inner = &inner_run;
  return 0;
}

static run *run_of(volt_async *async) {
  return volt_container_of(async, run, async);
}

static void note(char letter) {
  size_t length = strlen(trace);
  assert_true(length + 1 < sizeof trace);
  trace[length] = letter;
}

static void expect_trace(const char *want) {
  assert_string_equal(trace, want);
}

static void expect_nobody_waits(uint32_t available) {
  assert_int_equal(volt_sem_waiters(&sem), 0);
  assert_int_equal(volt_sem_waiters(&other_sem), 0);
  assert_int_equal(volt_sem_available(&sem), available);
}

/* r runs fn and waits: its waker is a. */
static volt_future *wait_in(volt_async_fn *fn) {
  volt_future *f = volt_async_future(&r.async, fn);
  assert_result(volt_future_poll(f, fake_waker_of(&a)), VOLT_PENDING);
  return f;
}

/* The same by ctx, and then it is cancelled once. */
static volt_future *cancel_once_in(volt_async_fn *fn) {
  volt_future *f = volt_async_future(&r.async, fn);
  assert_result(poller_poll(&p, f), VOLT_PENDING);
  p.ctx.cancel = VOLT_CTX_CANCEL_ONCE;
  return f;
}

static void expect_canceled(volt_future *f) {
  for (int i = 0; i < 2; i++) {
    assert_result(volt_future_poll(f, fake_waker_of(&a)), VOLT_ECANCELED);
    volt_future_cancel(f);
  }
}

/* Two permits of sem, then one of other_sem; and in the end one more. */
static int with_finally(volt_async *async, volt_ctx *ctx) {
  run *self = run_of(async);
  VOLT_ASYNC_BEGIN(self);
  note('a');
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->first, &sem, 2));
  note('b');
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->second, &other_sem, 1));
  note('c');
  VOLT_FINALLY(self);
  note('f');
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->third, &other_sem, 1));
  note('g');
  VOLT_ASYNC_END(self);
}

/* ---- from outside ---- */

static void cancel_before_the_first_poll(void **state) {
  (void)state;
  volt_sem_release(&sem, 9);
  volt_future *f = volt_async_future(&r.async, with_finally);
  volt_future_cancel(f);
  expect_canceled(f);
  expect_trace(""); /* nothing of it has run */
  expect_nobody_waits(9);
}

static void cancel_while_it_waits(void **state) {
  (void)state;
  volt_future *f = wait_in(with_finally);
  volt_sem_release(&sem, 1); /* half of what it wants */
  volt_future_cancel(f);
  expect_trace("af"); /* to its end: the await in VOLT_FINALLY has failed, too */
  expect_canceled(f);
  expect_nobody_waits(1);
  assert_int_equal(fake_waker_calls(&a), 0);
}

static void cancel_gives_a_grant_back(void **state) {
  (void)state;
  volt_future *f = wait_in(with_finally);
  volt_sem_release(&sem, 2);
  assert_int_equal(volt_sem_available(&sem), 0);
  assert_int_equal(fake_waker_calls(&a), 1);
  volt_future_cancel(f);
  expect_trace("af");
  expect_canceled(f);
  expect_nobody_waits(2);
}

static void cancel_in_its_finally(void **state) {
  (void)state;
  volt_sem_release(&sem, 2);
  volt_sem_release(&other_sem, 1);
  volt_future *f = wait_in(with_finally);
  expect_trace("abcf");
  volt_future_cancel(f);
  expect_trace("abcf");
  expect_canceled(f);
  expect_nobody_waits(0); /* what it had got was its own */
}

static void cancel_of_one_that_has_ended(void **state) {
  (void)state;
  volt_sem_release(&sem, 2);
  volt_sem_release(&other_sem, 2);
  volt_future *f = volt_async_future(&r.async, with_finally);
  assert_result(volt_future_poll(f, fake_waker_of(&a)), VOLT_OK);
  volt_future_cancel(f);
  assert_result(volt_future_poll(f, fake_waker_of(&a)), VOLT_OK);
  expect_trace("abcfg");
  expect_nobody_waits(0);
}

/* It takes what comes, and succeeds. */
static int takes_what_comes(volt_async *async, volt_ctx *ctx) {
  run *self = run_of(async);
  VOLT_ASYNC_BEGIN(self);
  VOLT_AWAIT_RESULT(self, self->results[0], volt_sem_acquire_future(&self->first, &sem, 1));
  note('a');
  VOLT_AWAIT_RESULT(self, self->results[1], volt_sem_acquire_future(&self->second, &sem, 1));
  note('b');
  VOLT_AWAIT_RESULT(self, self->results[2], volt_sem_acquire_future(&self->third, &sem, 1));
  note('c');
  VOLT_ASYNC_END(self);
}

static void expect_results(int one, int two, int three) {
  assert_result(r.results[0], one);
  assert_result(r.results[1], two);
  assert_result(r.results[2], three);
}

static void every_await_is_cancelled_from_outside(void **state) {
  (void)state;
  volt_sem_release(&sem, 1);
  volt_future *f = wait_in(takes_what_comes);
  volt_sem_release(&sem, 5); /* granted in the same instant */
  volt_future_cancel(f);
  expect_trace("abc");
  expect_results(VOLT_OK, VOLT_ECANCELED, VOLT_ECANCELED);
  expect_canceled(f); /* whatever it said itself */
  expect_nobody_waits(5);
}

static int yields_after_its_await(volt_async *async, volt_ctx *ctx) {
  run *self = run_of(async);
  VOLT_ASYNC_BEGIN(self);
  VOLT_AWAIT_RESULT(self, self->results[0], volt_sem_acquire_future(&self->first, &sem, 1));
  note('a');
  VOLT_YIELD(self);
  note('b');
  VOLT_FINALLY(self);
  note('f');
  VOLT_YIELD(self);
  note('g');
  VOLT_ASYNC_END(self);
}

static void the_rest_does_not_yield(void **state) {
  (void)state;
  volt_future *f = wait_in(yields_after_its_await);
  volt_future_cancel(f);
  expect_trace("af");
  expect_canceled(f);

  set_up(state);
  volt_sem_release(&sem, 1);
  f = wait_in(yields_after_its_await); /* stands at its first yield */
  volt_future_cancel(f);
  expect_trace("af");
  expect_canceled(f);
}

static int awaits_another(volt_async *async, volt_ctx *ctx) {
  run *self = run_of(async);
  VOLT_ASYNC_BEGIN(self);
  note('(');
  VOLT_AWAIT(self, volt_async_future(&self->inner->async, with_finally));
  note(')');
  VOLT_FINALLY(self);
  note('F');
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->first, &other_sem, 1));
  note('G');
  VOLT_ASYNC_END(self);
}

static void the_innermost_ends_first(void **state) {
  (void)state;
  volt_future *f = wait_in(awaits_another);
  volt_sem_release(&sem, 2);
  volt_future_cancel(f);
  expect_trace("(afF");
  expect_canceled(f);
  expect_nobody_waits(2);
}

static void a_deadline_cancels_it_as_well(void **state) {
  (void)state;
  volt_sem_release(&sem, 1);
  volt_future *f = volt_async_future(&r.async, awaits_another);
  assert_result(volt_future_wait_until(f, PAST_DEADLINE), VOLT_ETIMEDOUT);
  expect_trace("(afF");
  assert_result(volt_future_poll(f, fake_waker_of(&a)), VOLT_ETIMEDOUT);
  expect_nobody_waits(1);
}

static void the_loser_of_a_select_runs_to_its_end(void **state) {
  (void)state;
  volt_select select;
  volt_future *branches[] = {volt_async_future(&r.async, awaits_another),
                             volt_sem_acquire_future(&r.third, &other_sem, 1)};
  volt_future *f = volt_select_future(&select, branches, 2, VOLT_SELECT_BIASED);
  assert_result(volt_future_poll(f, fake_waker_of(&a)), VOLT_PENDING);
  volt_sem_release(&other_sem, 1); /* the select has won, and waits for what its loser awaits */
  assert_result(volt_future_poll(f, fake_waker_of(&a)), VOLT_PENDING);
  expect_trace("(af");
  volt_sem_release(&other_sem, 1);
  assert_result(volt_future_poll(f, fake_waker_of(&a)), VOLT_PENDING);
  expect_trace("(afgF");
  volt_sem_release(&other_sem, 1);
  assert_result(volt_future_poll(f, fake_waker_of(&a)), VOLT_OK);
  expect_trace("(afgFG");
  assert_int_equal(volt_select_winner(&select), 1);
  assert_result(volt_future_poll(branches[0], fake_waker_of(&a)), VOLT_ECANCELED);
  expect_nobody_waits(0);
}

/* ---- by the ctx, once ---- */

static void once_is_taken_back_by_the_await_it_meets(void **state) {
  (void)state;
  volt_future *f = cancel_once_in(with_finally);
  volt_sem_release(&sem, 2);
  assert_result(poller_poll(&p, f), VOLT_PENDING);
  assert_int_equal(p.ctx.cancel, VOLT_CTX_GO_ON);
  expect_trace("af"); /* in VOLT_FINALLY it waits */
  assert_int_equal(volt_sem_available(&sem), 2);
  assert_int_equal(volt_sem_waiters(&other_sem), 1);
  volt_sem_release(&other_sem, 1);
  assert_result(poller_poll(&p, f), VOLT_ECANCELED);
  expect_trace("afg");
  expect_nobody_waits(2);
  poller_expect(&p, 2, 2, 0);
}

static void once_meets_the_innermost_await(void **state) {
  (void)state;
  volt_future *f = cancel_once_in(awaits_another);
  assert_result(poller_poll(&p, f), VOLT_PENDING);
  expect_trace("(af");
  assert_int_equal(p.ctx.cancel, VOLT_CTX_GO_ON);
  poller_expect(&p, 2, 0, 1);
  volt_sem_release(&other_sem, 1);
  assert_result(poller_poll(&p, f), VOLT_PENDING);
  expect_trace("(afgF");
  volt_sem_release(&other_sem, 1);
  assert_result(poller_poll(&p, f), VOLT_ECANCELED);
  expect_trace("(afgFG");
  poller_expect(&p, 3, 2, 1);
}

static void finally_is_shielded(void **state) {
  (void)state;
  volt_future *f = cancel_once_in(with_finally);
  assert_result(poller_poll(&p, f), VOLT_PENDING);
  p.ctx.cancel = VOLT_CTX_CANCEL_ONCE; /* once more */
  assert_result(poller_poll(&p, f), VOLT_PENDING);
  expect_trace("af");
  assert_int_equal(p.ctx.cancel, VOLT_CTX_CANCEL_ONCE); /* nobody has obeyed */
  volt_sem_release(&other_sem, 1);
  assert_result(poller_poll(&p, f), VOLT_ECANCELED);
  expect_trace("afg");
  poller_expect(&p, 2, 1, 1);
}

static void once_meets_one_await_of_many(void **state) {
  (void)state;
  volt_future *f = cancel_once_in(takes_what_comes);
  assert_result(poller_poll(&p, f), VOLT_PENDING);
  expect_trace("a");
  volt_sem_release(&sem, 2);
  assert_result(poller_poll(&p, f), VOLT_OK); /* it has decided to go on */
  expect_results(VOLT_ECANCELED, VOLT_OK, VOLT_OK);
}

static void all_meets_every_await(void **state) {
  (void)state;
  volt_future *f = cancel_once_in(takes_what_comes);
  p.ctx.cancel = VOLT_CTX_CANCEL_ALL;
  volt_sem_release(&sem, 2);
  assert_result(poller_poll(&p, f), VOLT_OK);
  assert_int_equal(p.ctx.cancel, VOLT_CTX_CANCEL_ALL);
  expect_results(VOLT_ECANCELED, VOLT_ECANCELED, VOLT_ECANCELED);
  expect_nobody_waits(2);
}

static void once_before_the_first_poll_meets_the_first_await(void **state) {
  (void)state;
  volt_sem_release(&sem, 2);
  volt_future *f = volt_async_future(&r.async, with_finally);
  p.ctx.cancel = VOLT_CTX_CANCEL_ONCE;
  assert_result(poller_poll(&p, f), VOLT_PENDING);
  expect_trace("af");
  assert_int_equal(volt_sem_available(&sem), 2); /* not even what is there is taken */
  volt_future_cancel(f);
}

static void once_meets_a_yield(void **state) {
  (void)state;
  volt_sem_release(&sem, 1);
  volt_future *f = cancel_once_in(yields_after_its_await);
  expect_trace("a");
  assert_result(poller_poll(&p, f), VOLT_PENDING);
  assert_true(p.ctx.yield);
  assert_int_equal(p.ctx.cancel, VOLT_CTX_GO_ON);
  expect_trace("af");
  assert_result(poller_poll(&p, f), VOLT_ECANCELED);
  expect_trace("afg");
}

static int selects(volt_async *async, volt_ctx *ctx) {
  run *self = run_of(async);
  VOLT_ASYNC_BEGIN(self);
  self->branches[0] = volt_sem_acquire_future(&self->first, &sem, 2);
  self->branches[1] = volt_async_future(&self->inner->async, with_finally);
  VOLT_AWAIT_RESULT(self, self->results[0],
                    volt_select_future(&self->select, self->branches, 2, VOLT_SELECT_BIASED));
  note('s');
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->second, &other_sem, 1));
  VOLT_ASYNC_END(self);
}

static void once_meets_a_whole_select(void **state) {
  (void)state;
  volt_future *f = cancel_once_in(selects);
  expect_trace("a");
  assert_result(poller_poll(&p, f), VOLT_PENDING);
  expect_trace("af"); /* the branch comes to its end first */
  volt_sem_release(&other_sem, 1);
  assert_result(poller_poll(&p, f), VOLT_PENDING);
  expect_trace("afgs");
  assert_result(r.results[0], VOLT_ECANCELED);
  assert_int_equal(p.ctx.cancel, VOLT_CTX_GO_ON);
  assert_int_equal(volt_sem_waiters(&sem), 0);
  volt_sem_release(&other_sem, 1);
  assert_result(poller_poll(&p, f), VOLT_OK);
  poller_expect(&p, 4, 2, 2);
}

/* ---- a leaf, by the ctx ---- */

static void a_leaf_obeys_in_every_state(void **state) {
  (void)state;
  volt_future f;
  static const uint32_t cancels[] = {VOLT_CTX_CANCEL_ONCE, VOLT_CTX_CANCEL_ALL};
  for (unsigned i = 0; i < sizeof cancels / sizeof *cancels; i++) {
    const uint32_t how = cancels[i];
    for (int granted = 0; granted < 2; granted++) {
      for (int polled = 0; polled < 2; polled++) {
        set_up(state);
        volt_future_made(volt_sem_acquire_future(&f, &sem, 1));
        if (polled) assert_result(poller_poll(&p, &f), VOLT_PENDING);
        if (granted) volt_sem_release(&sem, 1);
        p.ctx.cancel = how;
        assert_result(poller_poll(&p, &f), VOLT_ECANCELED);
        assert_int_equal(p.ctx.cancel, how == VOLT_CTX_CANCEL_ALL ? how : VOLT_CTX_GO_ON);
        expect_nobody_waits((uint32_t)granted);
        poller_expect(&p, (uint32_t)polled, polled && granted, polled && !granted);
      }
    }
  }
}

static void what_is_ready_is_not_cancelled(void **state) {
  (void)state;
  volt_future f;
  volt_sem_release(&sem, 1);
  volt_future_made(volt_sem_acquire_future(&f, &sem, 1));
  assert_result(poller_poll(&p, &f), VOLT_OK);
  p.ctx.cancel = VOLT_CTX_CANCEL_ONCE;
  assert_result(poller_poll(&p, &f), VOLT_OK);
  assert_int_equal(p.ctx.cancel, VOLT_CTX_CANCEL_ONCE); /* for the next to obey */
}

/* ==== what aborts in an async function, and what it says ====
 *
 * Misuse that is an error of the compiler is in tests/compile/await_misuse.sh. */

typedef struct misused {
  volt_async async;
  volt_future first;
  uint32_t i;
} misused;

static misused m;

static int set_up_misused(void **state) {
  (void)state;
  volt_sem_init(&sem, 0);
  fake_waker_init(&a, 0, NULL);
  memset((void *)&m, 0, sizeof m);
  return 0;
}

static misused *misused_of(volt_async *async) {
  return volt_container_of(async, misused, async);
}

static void expect_poll(int result) {
  assert_result(volt_future_poll(&m.async.future, fake_waker_of(&a)), result);
}

static int awaits_in_a_switch(volt_async *async, volt_ctx *ctx) {
  misused *self = misused_of(async);
  VOLT_ASYNC_BEGIN(self);
  switch (self->i) {
    case 4711: break;
    default: VOLT_AWAIT(self, volt_sem_acquire_future(&self->first, &sem, 1));
  }
  VOLT_ASYNC_END(self);
}

static void poll_r(void *arg) {
  (void)arg;
  (void)volt_future_poll(&m.async.future, fake_waker_of(&a));
}

static void an_await_inside_a_switch_aborts_at_the_next_poll(void **state) {
  (void)state;
  volt_future_made(volt_async_future(&m.async, awaits_in_a_switch));
  expect_poll(VOLT_PENDING);
  char line[32];
  (void)snprintf(line, sizeof line, "line %u ", (unsigned)m.async.frame.step);
  assert_death(poll_r, NULL, "awaits_in_a_switch", "inside a switch", line);
  volt_sem_release(&sem, 1);
  assert_death(poll_r, NULL, "awaits_in_a_switch", "inside a switch", line);
}

static int inside_turn;

static int one_await(volt_async *async, volt_ctx *ctx) {
  misused *self = misused_of(async);
  VOLT_ASYNC_BEGIN(self);
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->first, &sem, 1));
  VOLT_ASYNC_END(self);
}

/* As a future it is never polled again: its result stands. */
static void call_it(void *arg) {
  volt_async *async = (volt_async *)arg;
  poller_init(&p);
  (void)async->poll(async, &p.ctx);
}

/* It leaves as async.h forbids: at its beginning (turn 0), behind an await, or after VOLT_FINALLY. */
static int returns_inside(volt_async *async, volt_ctx *ctx) {
  misused *self = misused_of(async);
  VOLT_ASYNC_BEGIN(self);
  if (inside_turn == 0) return VOLT_EINVAL;
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->first, &sem, 1));
  if (inside_turn == 1) return VOLT_ECLOSED;
  VOLT_FINALLY(self);
  if (inside_turn == 2) return VOLT_OK;
  VOLT_ASYNC_END(self);
}

static void cancel_m(void *arg) {
  (void)arg;
  volt_future_cancel(&m.async.future);
}

static void a_return_that_skips_finally(void **state) {
  (void)state;
  if (!VOLT_DEBUG) skip();
  volt_future_made(volt_async_future(&m.async, returns_inside));
  inside_turn = 0;
  assert_death(poll_r, NULL, "returns_inside", "async_cancel_test.c:", "returned VOLT_EINVAL (-5)",
               "VOLT_RETURN(self, -5)", "VOLT_FINALLY");
  inside_turn = 1;
  expect_poll(VOLT_PENDING);
  char line[32];
  (void)snprintf(line, sizeof line, "last at line %u", (unsigned)m.async.frame.step);
  volt_sem_release(&sem, 1);
  assert_death(poll_r, NULL, "returns_inside", "returned VOLT_ECLOSED (-2)", line);
  inside_turn = 2;
  assert_death(poll_r, NULL, "returns_inside", "returned VOLT_OK (0)");
  assert_death(cancel_m, NULL, "returns_inside", "returned VOLT_OK (0)");
  inside_turn = 3;
  expect_poll(VOLT_OK); /* as it should */
}

static void polled_after_it_has_returned(void **state) {
  (void)state;
  volt_sem_release(&sem, 1);
  volt_future_made(volt_async_future(&m.async, one_await));
  expect_poll(VOLT_OK);
  assert_death(call_it, &m.async, "one_await", "polled after it has returned", "VOLT_OK");
  volt_sem_close(&sem);
  volt_future_made(volt_async_future(&m.async, one_await));
  expect_poll(VOLT_ECLOSED);
  assert_death(call_it, &m.async, "one_await", "polled after it has returned", "VOLT_ECLOSED");
}

static int returns_pending(volt_async *async, volt_ctx *ctx) {
  misused *self = misused_of(async);
  (void)ctx;
  VOLT_ASYNC_BEGIN(self);
  VOLT_RETURN(self, VOLT_PENDING);
  VOLT_ASYNC_END(self);
}

static void pending_is_not_a_result(void **state) {
  (void)state;
  volt_future_made(volt_async_future(&m.async, returns_pending));
  assert_death(poll_r, NULL, "VOLT_RETURN", "VOLT_PENDING");
}

/* Written by hand, it does not obey. */
static int always_pending(volt_async *async, volt_ctx *ctx) {
  (void)async;
  (void)ctx;
  return VOLT_PENDING;
}

static void cancel_r(void *arg) {
  (void)arg;
  volt_future_cancel(&m.async.future);
}

static void block_on_r(void *arg) {
  (void)arg;
  ignore_result(volt_future_wait_until(&m.async.future, PAST_DEADLINE));
}

static void still_pending_when_everything_is_cancelled(void **state) {
  (void)state;
  const char *at = death_address(&m.async);
  volt_future_made(volt_async_future(&m.async, always_pending));
  volt_future_cancel(&m.async.future); /* nothing of it has run */
  volt_future_made(volt_async_future(&m.async, always_pending));
  expect_poll(VOLT_PENDING);
  assert_death(cancel_r, NULL, "volt_future_cancel", at, "still pending");
  assert_death(block_on_r, NULL, "volt_future_cancel", at, "still pending");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(cancel_before_the_first_poll, set_up),
      cmocka_unit_test_setup(cancel_while_it_waits, set_up),
      cmocka_unit_test_setup(cancel_gives_a_grant_back, set_up),
      cmocka_unit_test_setup(cancel_in_its_finally, set_up),
      cmocka_unit_test_setup(cancel_of_one_that_has_ended, set_up),
      cmocka_unit_test_setup(every_await_is_cancelled_from_outside, set_up),
      cmocka_unit_test_setup(the_rest_does_not_yield, set_up),
      cmocka_unit_test_setup(the_innermost_ends_first, set_up),
      cmocka_unit_test_setup(a_deadline_cancels_it_as_well, set_up),
      cmocka_unit_test_setup(the_loser_of_a_select_runs_to_its_end, set_up),
      cmocka_unit_test_setup(once_is_taken_back_by_the_await_it_meets, set_up),
      cmocka_unit_test_setup(once_meets_the_innermost_await, set_up),
      cmocka_unit_test_setup(finally_is_shielded, set_up),
      cmocka_unit_test_setup(once_meets_one_await_of_many, set_up),
      cmocka_unit_test_setup(all_meets_every_await, set_up),
      cmocka_unit_test_setup(once_before_the_first_poll_meets_the_first_await, set_up),
      cmocka_unit_test_setup(once_meets_a_yield, set_up),
      cmocka_unit_test_setup(once_meets_a_whole_select, set_up),
      cmocka_unit_test_setup(a_leaf_obeys_in_every_state, set_up),
      cmocka_unit_test_setup(what_is_ready_is_not_cancelled, set_up),
      cmocka_unit_test_setup(an_await_inside_a_switch_aborts_at_the_next_poll, set_up_misused),
      cmocka_unit_test_setup(a_return_that_skips_finally, set_up_misused),
      cmocka_unit_test_setup(polled_after_it_has_returned, set_up_misused),
      cmocka_unit_test_setup(pending_is_not_a_result, set_up_misused),
      cmocka_unit_test_setup(still_pending_when_everything_is_cancelled, set_up_misused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
