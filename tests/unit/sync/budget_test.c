/* budget_test.c: every sentence of volt/budget.h, polled by hand. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "alloc_count.h"
#include "death.h"
#include "fake_waker.h"
#include "family.h"
#include "poller.h"

static const volt_amounts one_each = {{1, 1}};

FAMILY(budget, volt_budget it[1] = {VOLT_BUDGET_INIT(2, 1, 1)};
       FAMILY_OK(volt_budget_try_acquire(it, &one_each)),
       volt_budget_acquire_waiter(it, w, &one_each, waker),
       volt_budget_acquire_until(it, &one_each, past), volt_budget_acquire_future(f, it, &one_each),
       volt_budget_release(it, &one_each), volt_budget_destroy(it))

enum { CORES, MEMORY, CONNECTIONS, ASKERS = 100 };
static const uint64_t limits[] = {8, 16, 4};

static volt_budget b;
static volt_waiter w[ASKERS];
static fake_waker woken[ASKERS];
static wake_log order;
static volt_amounts need[ASKERS];

/* That of the library, too: a call that spins yields. */
static VOLT_ATOMIC(uint32_t) yields;
int sched_yield(void) {
  (void)volt_fetch_add_relaxed(&yields, 1); /* a count */
  return 0;
}

static void begin(uint32_t k) {
  memset((void *)&b, 0xee, sizeof b);
  volt_budget_init_bypass(&b, 3, limits, k);
  wake_log_init(&order);
  for (uint32_t i = 0; i < ASKERS; i++) {
    memset((void *)&w[i], 0, sizeof w[i]);
    fake_waker_init(&woken[i], i, &order);
  }
}

static int set_up(void **state) {
  (void)state;
  begin(0);
  return 0;
}

static int set_up_bypass(void **state) {
  (void)state;
  begin(2);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  volt_budget_destroy(&b);
  return 0;
}

static volt_amounts of(uint64_t cores, uint64_t memory, uint64_t connections) {
  volt_amounts amounts = {{cores, memory, connections}};
  return amounts;
}

static int ask(uint32_t i, uint64_t cores, uint64_t memory, uint64_t connections) {
  need[i] = of(cores, memory, connections);
  return volt_budget_acquire_waiter(&b, &w[i], &need[i], fake_waker_of(&woken[i]));
}

static int try(uint64_t cores, uint64_t memory, uint64_t connections) {
  volt_amounts amounts = of(cores, memory, connections);
  return volt_budget_try_acquire(&b, &amounts);
}

static void give(uint64_t cores, uint64_t memory, uint64_t connections) {
  volt_amounts amounts = of(cores, memory, connections);
  volt_budget_release(&b, &amounts);
}

static void expect(uint32_t i, int result) {
  assert_result(volt_waiter_result(&w[i]), result);
  assert_int_equal(fake_waker_calls(&woken[i]),
                   result == VOLT_PENDING || result == VOLT_ECANCELED ? 0 : 1);
}

static void expect_held(uint64_t cores, uint64_t memory, uint64_t connections) {
  assert_int_equal(volt_budget_held(&b, CORES), cores);
  assert_int_equal(volt_budget_held(&b, MEMORY), memory);
  assert_int_equal(volt_budget_held(&b, CONNECTIONS), connections);
}

/* ---- life, and what is there ---- */

static void init_gives_each_its_limit(void **state) {
  (void)state;
  for (uint32_t i = 0; i < 3; i++) {
    assert_int_equal(volt_budget_limit(&b, i), limits[i]);
    assert_int_equal(volt_budget_available(&b, i), limits[i]);
    assert_int_equal(volt_budget_held(&b, i), 0);
    assert_int_equal(volt_budget_excess(&b, i), 0);
  }
  assert_int_equal(volt_budget_waiters(&b), 0);
  assert_false(volt_budget_is_closed(&b));
}

static void a_static_one_is_the_same(void **state) {
  (void)state;
  static volt_budget by_macro = VOLT_BUDGET_INIT(3, 8, 16, 4);
  static volt_budget with_bypass = VOLT_BUDGET_INIT_BYPASS(2, 3, 8, 16, 4);
  assert_memory_equal(&by_macro, &b, sizeof b);
  begin(2);
  assert_memory_equal(&with_bypass, &b, sizeof b);
}

static void all_zero_has_no_kinds(void **state) {
  (void)state;
  static volt_budget zero;
  static const volt_amounts nothing;
  assert_result(volt_budget_try_acquire(&zero, &nothing), VOLT_OK);
  volt_budget_release(&zero, &nothing);
  volt_budget_destroy(&zero);
}

static void limits_go_to_two_to_the_forty(void **state) {
  (void)state;
  static const uint64_t bytes[] = {VOLT_BUDGET_MAX};
  static const volt_amounts all = {{VOLT_BUDGET_MAX}}, more = {{VOLT_BUDGET_MAX + 1}},
                            most = {{UINT64_MAX}};
  volt_budget big;
  volt_budget_init(&big, 1, bytes);
  assert_result(volt_budget_try_acquire(&big, &more), VOLT_EINVAL);
  assert_result(volt_budget_try_acquire(&big, &most), VOLT_EINVAL);
  assert_result(volt_budget_try_acquire(&big, &all), VOLT_OK);
  assert_result(volt_budget_try_acquire(&big, &all), VOLT_EAGAIN);
  assert_result(volt_budget_try_acquire(&big, &most), VOLT_EINVAL);
  volt_budget_release(&big, &all);
  volt_budget_destroy(&big);
}

/* ---- all or nothing ---- */

static void a_try_takes_all_or_nothing(void **state) {
  (void)state;
  assert_result(try(2, 4, 1), VOLT_OK);
  expect_held(2, 4, 1);
  assert_result(try(7, 1, 1), VOLT_EAGAIN);
  assert_result(try(1, 13, 1), VOLT_EAGAIN);
  assert_result(try(1, 1, 4), VOLT_EAGAIN);
  expect_held(2, 4, 1);
  assert_result(try(6, 12, 3), VOLT_OK);
  expect_held(8, 16, 4);
  give(8, 16, 4);
}

static void nothing_is_there_always(void **state) {
  (void)state;
  assert_result(try(8, 16, 4), VOLT_OK);
  assert_result(ask(0, 1, 0, 0), VOLT_PENDING);
  assert_result(try(0, 0, 0), VOLT_OK);
  volt_budget_close(&b);
  assert_result(try(0, 0, 0), VOLT_OK);
  assert_result(ask(1, 0, 0, 0), VOLT_OK);
  give(8, 16, 4);
}

static void a_waiter_holds_nothing(void **state) {
  (void)state;
  assert_result(try(7, 0, 0), VOLT_OK);
  assert_result(ask(0, 2, 4, 1), VOLT_PENDING);
  expect_held(7, 0, 0);
  give(1, 0, 0);
  expect(0, VOLT_OK);
  expect_held(8, 4, 1);
  give(8, 4, 1);
}

static void the_order_is_that_of_arrival(void **state) {
  (void)state;
  assert_result(try(8, 0, 0), VOLT_OK);
  assert_result(ask(0, 8, 0, 0), VOLT_PENDING);
  assert_result(ask(1, 0, 1, 0), VOLT_PENDING); /* though it is there */
  assert_result(try(0, 1, 0), VOLT_EAGAIN);
  give(7, 0, 0);
  expect(0, VOLT_PENDING);
  expect(1, VOLT_PENDING);
  give(1, 0, 0);
  expect(0, VOLT_OK);
  expect(1, VOLT_OK);
  assert_true(wake_log_is_run(&order, 0, 2));
  give(8, 1, 0);
}

static void a_part_is_given_back(void **state) {
  (void)state;
  assert_result(try(8, 16, 4), VOLT_OK);
  assert_result(ask(0, 1, 8, 0), VOLT_PENDING);
  give(0, 8, 0);
  expect(0, VOLT_PENDING);
  give(1, 0, 0);
  expect(0, VOLT_OK);
  give(8, 16, 4);
}

static void more_than_a_batch_is_granted(void **state) {
  (void)state;
  begin(0);
  volt_budget_set_limit(&b, MEMORY, ASKERS);
  assert_result(try(8, 0, 0), VOLT_OK);
  for (uint32_t i = 0; i < ASKERS; i++) assert_result(ask(i, i == 0 ? 1 : 0, 1, 0), VOLT_PENDING);
  give(8, 0, 0);
  for (uint32_t i = 0; i < ASKERS; i++) expect(i, VOLT_OK);
  assert_true(wake_log_is_run(&order, 0, ASKERS));
  give(1, ASKERS, 0);
}

/* ---- bypass ---- */

static void what_the_oldest_needs_is_set_aside(void **state) {
  (void)state;
  assert_result(try(6, 0, 0), VOLT_OK);
  assert_result(ask(0, 4, 10, 0), VOLT_PENDING); /* lacks 2 cores; 10 of 16 are set aside */
  assert_result(try(1, 0, 0), VOLT_EAGAIN);      /* nothing of what it lacks */
  assert_result(try(0, 7, 0), VOLT_EAGAIN);      /* no more than it leaves */
  assert_result(ask(1, 0, 6, 4), VOLT_OK);       /* just that */
  volt_budget_state state_;
  volt_budget_inspect(&b, &state_);
  assert_int_equal(state_.passed, 1);
  assert_int_equal(state_.of[CORES].aside, 2);
  assert_int_equal(state_.of[MEMORY].aside, 10);
  assert_int_equal(state_.of[CONNECTIONS].aside, 0);
  give(2, 0, 0);
  expect(0, VOLT_OK);
  give(8, 16, 4);
}

static void a_waiter_is_passed_k_times(void **state) {
  (void)state;
  assert_result(try(8, 0, 0), VOLT_OK);
  assert_result(ask(0, 1, 0, 0), VOLT_PENDING);
  assert_result(ask(1, 1, 0, 0), VOLT_PENDING);
  assert_result(try(0, 1, 0), VOLT_OK);
  assert_result(ask(2, 0, 1, 0), VOLT_OK);
  assert_result(try(0, 1, 0), VOLT_EAGAIN);
  assert_result(ask(3, 0, 1, 0), VOLT_PENDING);
  give(1, 0, 0);
  expect(0, VOLT_OK);
  assert_result(try(0, 1, 0), VOLT_EAGAIN); /* the next one was passed by those two as well */
  expect(3, VOLT_PENDING);
  give(1, 0, 0);
  expect(1, VOLT_OK);
  expect(3, VOLT_OK);
  give(8, 3, 0);
}

static void a_release_lets_younger_ones_pass(void **state) {
  (void)state;
  assert_result(try(8, 16, 0), VOLT_OK);
  assert_result(ask(0, 8, 0, 0), VOLT_PENDING);
  assert_result(ask(1, 0, 9, 0), VOLT_PENDING);
  assert_result(ask(2, 0, 4, 0), VOLT_PENDING);
  assert_result(ask(3, 0, 2, 0), VOLT_PENDING);
  assert_result(ask(4, 0, 1, 0), VOLT_PENDING);
  give(0, 8, 0);
  expect(1, VOLT_PENDING); /* does not fit */
  expect(2, VOLT_OK);
  expect(3, VOLT_OK);
  expect(4, VOLT_PENDING); /* two have passed */
  give(8, 0, 0);
  expect(0, VOLT_OK);
  expect(4, VOLT_PENDING); /* they have passed 1 as well, which comes first */
  give(0, 8, 0);
  expect(1, VOLT_OK);
  expect(4, VOLT_OK);
  give(8, 1 + 4 + 2 + 9, 0);
}

static void one_that_was_not_passed_may_be(void **state) {
  (void)state;
  assert_result(try(8, 16, 0), VOLT_OK);
  assert_result(ask(0, 8, 0, 0), VOLT_PENDING);
  assert_result(ask(1, 0, 1, 0), VOLT_PENDING);
  assert_result(ask(2, 0, 1, 0), VOLT_PENDING);
  assert_result(ask(3, 1, 0, 0), VOLT_PENDING);
  give(0, 2, 0); /* 1 and 2 pass 0, not 3 */
  expect(2, VOLT_OK);
  give(8, 0, 0);
  expect(0, VOLT_OK);
  expect(3, VOLT_PENDING);
  assert_result(try(0, 0, 1), VOLT_OK);
  assert_result(try(0, 0, 1), VOLT_OK);
  assert_result(try(0, 0, 1), VOLT_EAGAIN);
  give(8, 0, 2);
  expect(3, VOLT_OK);
  give(1, 16, 0);
}

static void only_the_first_of_them_pass(void **state) {
  (void)state;
  begin(VOLT_BUDGET_BYPASS_MAX);
  assert_result(try(8, 16, 0), VOLT_OK);
  for (uint32_t i = 0; i < VOLT_BUDGET_REACH; i++) assert_result(ask(i, 1, 0, 0), VOLT_PENDING);
  assert_result(ask(90, 0, 0, 1), VOLT_PENDING); /* so many are before it */
  assert_result(try(0, 0, 1), VOLT_EAGAIN);
  assert_true(volt_budget_cancel(&b, &w[5]));
  expect(90, VOLT_OK);
  assert_result(ask(91, 0, 1, 0), VOLT_PENDING);
  assert_result(ask(92, 0, 1, 0), VOLT_PENDING);
  give(0, 1, 0);
  expect(91, VOLT_OK);
  expect(92, VOLT_PENDING);
  assert_result(ask(93, 0, 2, 0), VOLT_PENDING);
  give(0, 3, 0); /* after the first of these two, as many are before the second */
  expect(92, VOLT_OK);
  expect(93, VOLT_OK);
  for (uint32_t i = 0; i < VOLT_BUDGET_REACH; i++) ignore_result(volt_budget_cancel(&b, &w[i]));
  give(8, 16, 1);
}

/* What need not wait does not spin before: it would yield. */
static void what_need_not_wait_does_not_spin(void **state) {
  (void)state;
  const volt_amounts passes = of(0, 1, 0), nothing = of(0, 0, 0), too_much = of(9, 0, 0);
  assert_result(try(8, 0, 0), VOLT_OK);
  assert_result(ask(0, 1, 0, 0), VOLT_PENDING);
  volt_store_relaxed(&yields, 0); /* a count, as below */
  assert_result(volt_budget_acquire(&b, &passes), VOLT_OK);
  assert_result(volt_budget_acquire(&b, &nothing), VOLT_OK);
  assert_result(volt_budget_acquire(&b, &too_much), VOLT_EINVAL);
  assert_int_equal(volt_load_relaxed(&yields), 0);
  give(8, 1, 0);
  expect(0, VOLT_OK);
  give(1, 0, 0);
}

/* ---- give up ---- */

static void a_cancel_says_who_was_first(void **state) {
  (void)state;
  assert_true(volt_budget_cancel(&b, &w[0])); /* never used */
  assert_result(try(8, 0, 0), VOLT_OK);
  assert_result(ask(0, 8, 0, 0), VOLT_PENDING);
  assert_result(ask(1, 0, 1, 0), VOLT_PENDING);
  assert_true(volt_budget_cancel(&b, &w[0]));
  expect(0, VOLT_ECANCELED);
  expect(1, VOLT_OK); /* nothing is before it any more */
  assert_false(volt_budget_cancel(&b, &w[1]));
  give(8, 1, 0);
}

static void a_waker_is_replaced(void **state) {
  (void)state;
  assert_result(try(8, 0, 0), VOLT_OK);
  assert_result(ask(0, 1, 0, 0), VOLT_PENDING);
  assert_true(volt_waiter_set_waker(&w[0], fake_waker_of(&woken[1])));
  give(8, 0, 0);
  assert_result(volt_waiter_result(&w[0]), VOLT_OK);
  assert_int_equal(fake_waker_calls(&woken[0]), 0);
  assert_int_equal(fake_waker_calls(&woken[1]), 1);
  give(1, 0, 0);
}

static void a_dropped_future_gives_back(void **state) {
  (void)state;
  volt_future f;
  volt_amounts all = of(8, 16, 4);
  assert_result(try(1, 0, 0), VOLT_OK);
  assert_result(
      volt_future_poll(volt_budget_acquire_future(&f, &b, &all), fake_waker_of(&woken[0])),
      VOLT_PENDING);
  give(1, 0, 0);
  expect_held(8, 16, 4);
  volt_future_cancel(&f);
  expect_held(0, 0, 0);
  assert_result(volt_future_poll(&f, fake_waker_of(&woken[0])), VOLT_ECANCELED);
}

static void a_deadline_ends_it(void **state) {
  (void)state;
  volt_amounts one = of(1, 0, 0);
  assert_result(volt_budget_acquire(&b, &one), VOLT_OK);
  assert_result(try(7, 0, 0), VOLT_OK);
  assert_result(volt_budget_acquire_until(&b, &one, PAST_DEADLINE), VOLT_ETIMEDOUT);
  assert_result(volt_budget_acquire_until(&b, &one, volt_deadline_us(200)), VOLT_ETIMEDOUT);
  assert_int_equal(volt_budget_waiters(&b), 0);
  give(8, 0, 0);
  assert_result(volt_budget_acquire_until(&b, &one, PAST_DEADLINE), VOLT_OK);
  give(1, 0, 0);
}

/* ---- close ---- */

static void a_close_ends_all_waits(void **state) {
  (void)state;
  volt_future f;
  volt_amounts one = of(1, 0, 0);
  assert_result(try(8, 0, 0), VOLT_OK);
  for (uint32_t i = 0; i < ASKERS; i++) assert_result(ask(i, 1, 0, 0), VOLT_PENDING);
  assert_result(
      volt_future_poll(volt_budget_acquire_future(&f, &b, &one), fake_waker_of(&woken[0])),
      VOLT_PENDING);
  volt_budget_close(&b);
  for (uint32_t i = 1; i < ASKERS; i++) expect(i, VOLT_ECLOSED);
  assert_result(volt_future_poll(&f, fake_waker_of(&woken[0])), VOLT_ECLOSED);
  assert_true(volt_budget_is_closed(&b));
  assert_result(try(0, 1, 0), VOLT_ECLOSED);
  assert_result(ask(0, 0, 1, 0), VOLT_ECLOSED);
  assert_result(volt_budget_acquire(&b, &one), VOLT_ECLOSED);
  volt_budget_close(&b);
  give(8, 0, 0);
  expect_held(0, 0, 0);
}

/* ---- limits ---- */

static void a_higher_limit_grants(void **state) {
  (void)state;
  assert_result(try(0, 0, 4), VOLT_OK);
  assert_result(ask(0, 1, 1, 2), VOLT_PENDING);
  volt_budget_set_limit(&b, CONNECTIONS, 6);
  expect(0, VOLT_OK);
  give(1, 1, 6);
}

static void a_lower_limit_makes_an_excess(void **state) {
  (void)state;
  assert_result(try(6, 0, 0), VOLT_OK);
  volt_budget_set_limit(&b, CORES, 4);
  assert_int_equal(volt_budget_excess(&b, CORES), 2);
  assert_int_equal(volt_budget_available(&b, CORES), 0);
  expect_held(6, 0, 0);
  assert_result(ask(0, 1, 0, 0), VOLT_PENDING);
  give(2, 0, 0); /* reduces it */
  assert_int_equal(volt_budget_excess(&b, CORES), 0);
  expect(0, VOLT_PENDING);
  give(1, 0, 0);
  expect(0, VOLT_OK);
  volt_budget_set_limit(&b, CORES, 0);
  assert_int_equal(volt_budget_excess(&b, CORES), 4);
  assert_result(try(0, 16, 4), VOLT_OK); /* the others are not concerned */
  give(4, 16, 4);
  volt_budget_set_limit(&b, CORES, 8);
  assert_int_equal(volt_budget_available(&b, CORES), 8);
}

static void what_cannot_be_is_refused(void **state) {
  (void)state;
  volt_amounts nine = of(9, 0, 0);
  volt_future f;
  assert_result(try(9, 0, 0), VOLT_EINVAL);
  assert_result(ask(0, 1, 17, 0), VOLT_EINVAL);
  assert_result(volt_budget_acquire(&b, &nine), VOLT_EINVAL);
  assert_result(
      volt_future_poll(volt_budget_acquire_future(&f, &b, &nine), fake_waker_of(&woken[0])),
      VOLT_EINVAL);
  assert_result(try(8, 0, 0), VOLT_OK);
  assert_result(ask(0, 1, 0, 0), VOLT_PENDING);
  assert_result(ask(1, 9, 0, 0), VOLT_EINVAL); /* also behind others */
  give(8, 0, 0);
  give(1, 0, 0);
}

static void a_lower_limit_refuses_waiters(void **state) {
  (void)state;
  volt_future f;
  volt_amounts six = of(6, 0, 0);
  assert_result(try(8, 0, 0), VOLT_OK);
  for (uint32_t i = 0; i < ASKERS; i++) assert_result(ask(i, i == 50 ? 4 : 5, 0, 0), VOLT_PENDING);
  assert_result(
      volt_future_poll(volt_budget_acquire_future(&f, &b, &six), fake_waker_of(&woken[0])),
      VOLT_PENDING);
  volt_budget_set_limit(&b, CORES, 4);
  for (uint32_t i = 1; i < ASKERS; i++) expect(i, i == 50 ? VOLT_PENDING : VOLT_EINVAL);
  assert_result(volt_future_poll(&f, fake_waker_of(&woken[0])), VOLT_EINVAL);
  assert_false(volt_budget_cancel(&b, &w[1]));
  assert_int_equal(volt_budget_waiters(&b), 1);
  assert_result(ask(1, 0, 1, 0), VOLT_PENDING); /* its memory may be used again */
  assert_true(volt_budget_cancel(&b, &w[1]));
  give(8, 0, 0);
  expect(50, VOLT_OK);
  give(4, 0, 0);
}

/* ---- in words ---- */

static void explain(int result, const char *words, uint64_t cores, uint64_t memory,
                    uint64_t connections) {
  char text[80];
  volt_amounts amounts = of(cores, memory, connections);
  assert_result(volt_budget_explain(&b, &amounts, text, sizeof text), result);
  assert_string_equal(text, words);
  assert_result(volt_budget_explain(&b, &amounts, text, 4), result);
  assert_int_equal(strlen(text), 3);
}

static void it_explains(void **state) {
  (void)state;
  explain(VOLT_OK, "all is there", 8, 16, 4);
  explain(VOLT_OK, "nothing is asked for", 0, 0, 0);
  explain(VOLT_EINVAL, "kind 1: 17 asked for, the limit is 16", 8, 17, 4);
  volt_budget_name_kind(&b, MEMORY, "memory");
  explain(VOLT_EINVAL, "memory: 17 asked for, the limit is 16", 8, 17, 4);
  assert_result(try(7, 10, 0), VOLT_OK);
  explain(VOLT_EAGAIN, "memory: 7 asked for, 6 of 16 free", 1, 7, 4);
  explain(VOLT_EAGAIN, "kind 0: 2 asked for, 1 of 8 free", 2, 7, 4);
  assert_result(ask(0, 2, 0, 0), VOLT_PENDING);
  explain(VOLT_EAGAIN, "1 requests come first", 0, 1, 0);
  expect_held(7, 10, 0);
  volt_budget_close(&b);
  explain(VOLT_ECLOSED, "the budget is closed", 1, 1, 1);
  give(7, 10, 0);
}

static void it_is_inspected(void **state) {
  (void)state;
  volt_budget_state s;
  volt_budget_name_kind(&b, CORES, "cores");
  assert_result(try(7, 16, 1), VOLT_OK);
  volt_budget_set_limit(&b, MEMORY, 12);
  assert_result(ask(0, 2, 0, 1), VOLT_PENDING);
  assert_result(ask(1, 1, 3, 0), VOLT_PENDING);
  volt_budget_inspect(&b, &s);
  assert_int_equal(s.kinds, 3);
  assert_int_equal(s.waiters, 2);
  assert_int_equal(s.counted, 2);
  assert_int_equal(s.passed, 0);
  assert_false(s.is_closed);
  assert_string_equal(s.of[CORES].name, "cores");
  assert_null(s.of[MEMORY].name);
  const struct {
    uint64_t limit, held, free, excess, aside;
    uint32_t waiters;
  } want[] = {{8, 7, 1, 0, 1, 1}, {12, 16, 0, 4, 0, 1}, {4, 1, 3, 0, 1, 0}};
  for (uint32_t i = 0; i < 3; i++) {
    assert_int_equal(s.of[i].limit, want[i].limit);
    assert_int_equal(s.of[i].held, want[i].held);
    assert_int_equal(s.of[i].free, want[i].free);
    assert_int_equal(s.of[i].excess, want[i].excess);
    assert_int_equal(s.of[i].aside, want[i].aside);
    assert_int_equal(s.of[i].waiters, want[i].waiters);
  }
  volt_budget_close(&b);
  volt_budget_inspect(&b, &s);
  assert_true(s.is_closed && s.waiters == 0);
  give(7, 16, 1);
}

/* ---- wakers that call back ---- */

/* Between two batches of refused ones: all are cancelled but the last, which a release does not refuse. */
static void cancels_all_but_the_last(hostile_waker *h) {
  const volt_amounts one = of(0, 1, 0);
  for (uint32_t i = 1; i < ASKERS - 1; i++) {
    if (volt_budget_cancel(&b, &w[i])) memset((void *)&w[i], 0, sizeof w[i]);
  }
  volt_budget_release(&b, &one);
  h->result = volt_waiter_result(&w[ASKERS - 1]);
}

static void between_two_batches_of_refused_ones(void **state) {
  (void)state;
  hostile_waker hostile;
  hostile_waker_init(&hostile, 0, NULL, cancels_all_but_the_last, NULL);
  assert_result(try(8, 1, 0), VOLT_OK);
  need[0] = of(5, 0, 0);
  assert_result(volt_budget_acquire_waiter(&b, &w[0], &need[0], hostile_waker_of(&hostile)),
                VOLT_PENDING);
  for (uint32_t i = 1; i < ASKERS; i++) assert_result(ask(i, 5, 0, 0), VOLT_PENDING);
  volt_budget_set_limit(&b, CORES, 4);
  assert_result(hostile.result, VOLT_PENDING);
  expect(ASKERS - 1, VOLT_EINVAL);
  assert_int_equal(volt_budget_waiters(&b), 0);
  expect_held(8, 0, 0);
  assert_result(ask(1, 1, 0, 0), VOLT_PENDING);
  give(8, 0, 0);
  assert_result(volt_waiter_result(&w[1]), VOLT_OK);
  give(1, 0, 0);
}

static void asks_again(hostile_waker *h) {
  static const volt_amounts one = {{1}};
  h->result = volt_budget_try_acquire((volt_budget *)h->object, &one);
}

static void a_waker_overtakes_no_waiter(void **state) {
  (void)state;
  hostile_waker hostile;
  hostile_waker_init(&hostile, 0, NULL, asks_again, &b);
  volt_budget_set_limit(&b, CORES, ASKERS);
  assert_result(try(ASKERS, 0, 0), VOLT_OK);
  need[0] = of(1, 0, 0);
  assert_result(volt_budget_acquire_waiter(&b, &w[0], &need[0], hostile_waker_of(&hostile)),
                VOLT_PENDING);
  for (uint32_t i = 1; i < ASKERS; i++) assert_result(ask(i, 1, 0, 0), VOLT_PENDING);
  give(ASKERS, 0, 0); /* the first batch: the others are not granted yet */
  assert_result(hostile.result, VOLT_EAGAIN);
  for (uint32_t i = 1; i < ASKERS; i++) expect(i, VOLT_OK);
  give(ASKERS, 0, 0);
}

/* ---- misuse ---- */

static void gives_too_much(void *arg) {
  (void)arg;
  give(1, 3, 0);
}
static void tell_what_is_held(int signal) {
  char text[80];
  (void)signal;
  int length = snprintf(text, sizeof text, "held: %u, %u\n", (unsigned)volt_budget_held(&b, CORES),
                        (unsigned)volt_budget_held(&b, MEMORY));
  ignore_result((int)write(STDERR_FILENO, text, (size_t)length));
}
static void gives_too_much_of_the_first(void *arg) {
  (void)arg;
  const volt_amounts more = of(3, 2, 0);
  (void)signal(SIGABRT, tell_what_is_held);
  give(6, 0, 0);
  volt_budget_release(&b, &more);
}
static void gives_all_there_is(void *arg) {
  (void)arg;
  give(UINT64_MAX, 0, 0);
}
static void ends_it(void *arg) {
  (void)arg;
  volt_budget_destroy(&b);
}
static void asks_twice(void *arg) {
  (void)arg;
  (void)ask(0, 1, 0, 0);
}
static void asks_for_the_limit_of(void *arg) {
  volt_budget_set_limit(&b, *(uint32_t *)arg, 1);
}
static void sets_too_much(void *arg) {
  (void)arg;
  volt_budget_set_limit(&b, 0, VOLT_BUDGET_MAX + 1);
}
static void has_no_kinds(void *arg) {
  (void)arg;
  volt_budget_init(&b, 0, limits);
}
static void has_too_many_kinds(void *arg) {
  (void)arg;
  volt_budget_init(&b, VOLT_BUDGET_KINDS + 1, limits);
}
static void has_too_high_a_bypass(void *arg) {
  (void)arg;
  volt_budget_init_bypass(&b, 1, limits, VOLT_BUDGET_BYPASS_MAX + 1);
}
#if VOLT_DEBUG
static void asks_for_another_kind(void *arg) {
  static const volt_amounts fourth = {{0, 0, 0, 5}};
  (void)arg;
  ignore_result(volt_budget_try_acquire(&b, &fourth));
}
#endif

static void misuse_aborts_with_values(void **state) {
  (void)state;
  uint32_t third = 3;
  assert_result(try(8, 2, 0), VOLT_OK);
  volt_budget_name_kind(&b, MEMORY, "memory");
  assert_death(gives_too_much, NULL, "volt_budget", "kind 1, memory", "3 given back", "2 held");
  assert_death(gives_too_much_of_the_first, NULL, "kind 0", "3 given back", "2 held", "held: 2, 2");
  assert_death(gives_all_there_is, NULL, "kind 0", "8 held");
  assert_death(asks_for_the_limit_of, &third, "kind 3 of 3");
  assert_death(sets_too_much, NULL, "1099511627777");
  assert_death(has_no_kinds, NULL, "0 kinds");
  assert_death(has_too_many_kinds, NULL, "9 kinds");
  assert_death(has_too_high_a_bypass, NULL, "bypass of 2147483648");
#if VOLT_DEBUG
  assert_death(asks_for_another_kind, NULL, "5 of kind 3", "3 kinds");
#endif
  assert_result(ask(0, 1, 0, 0), VOLT_PENDING);
  assert_death(ends_it, NULL, "destroyed while 1 waiters are queued");
  assert_death(asks_twice, NULL, "already queued");
  give(8, 2, 0);
  give(1, 0, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define BYPASS(name) cmocka_unit_test_setup_teardown(name, set_up_bypass, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      FAMILY_TEST(budget),
      TEST(init_gives_each_its_limit),
      TEST(a_static_one_is_the_same),
      TEST(all_zero_has_no_kinds),
      TEST(limits_go_to_two_to_the_forty),
      TEST(a_try_takes_all_or_nothing),
      TEST(nothing_is_there_always),
      TEST(a_waiter_holds_nothing),
      TEST(the_order_is_that_of_arrival),
      TEST(a_part_is_given_back),
      TEST(more_than_a_batch_is_granted),
      BYPASS(what_the_oldest_needs_is_set_aside),
      BYPASS(a_waiter_is_passed_k_times),
      BYPASS(a_release_lets_younger_ones_pass),
      BYPASS(one_that_was_not_passed_may_be),
      BYPASS(only_the_first_of_them_pass),
      BYPASS(what_need_not_wait_does_not_spin),
      TEST(a_cancel_says_who_was_first),
      TEST(a_waker_is_replaced),
      TEST(a_dropped_future_gives_back),
      TEST(a_deadline_ends_it),
      TEST(a_close_ends_all_waits),
      TEST(a_higher_limit_grants),
      TEST(a_lower_limit_makes_an_excess),
      TEST(what_cannot_be_is_refused),
      TEST(a_lower_limit_refuses_waiters),
      TEST(it_explains),
      TEST(it_is_inspected),
      TEST(between_two_batches_of_refused_ones),
      TEST(a_waker_overtakes_no_waiter),
      TEST(misuse_aborts_with_values),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
