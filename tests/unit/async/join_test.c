/* join_test.c: every sentence of volt/select.h about joins. */
#include "alloc_count.h"
#include "death.h"
#include "fake_waker.h"
#include "poller.h"

enum { BRANCHES = 5 };

static volt_sem sem[BRANCHES]; /* branch i wants one permit of sem[i] */
static volt_future f[BRANCHES];
static volt_future *branches[BRANCHES];
static volt_join join;
static fake_waker a;

static int set_up(void **state) {
  (void)state;
  for (int i = 0; i < BRANCHES; i++) {
    volt_sem_init(&sem[i], 0);
    branches[i] = volt_sem_acquire_future(&f[i], &sem[i], 1);
  }
  memset((void *)&join, 0xee, sizeof join); /* its content is overwritten */
  fake_waker_init(&a, 0, NULL);
  return 0;
}

static void join_all(unsigned how) {
  assert_ptr_equal(volt_join_future(&join, branches, BRANCHES, how), &join.future);
}

static void expect_poll(int result) {
  assert_result(volt_future_poll(&join.future, fake_waker_of(&a)), result);
}

static void expect_branch(uint32_t i, int result, uint32_t available) {
  assert_result(volt_future_poll(&f[i], fake_waker_of(&a)), result);
  assert_int_equal(volt_sem_available(&sem[i]), available);
  assert_int_equal(volt_sem_waiters(&sem[i]), 0);
}

/* ---- all ---- */

static void it_is_ready_when_all_are(void **state) {
  for (unsigned how = VOLT_JOIN_ALL; how <= VOLT_JOIN_FAIL_FAST; how++) {
    set_up(state);
    join_all(how);
    for (uint32_t i = 0; i < BRANCHES; i++) assert_int_equal(volt_sem_waiters(&sem[i]), 0);
    for (uint32_t i = 0; i < BRANCHES; i++) {
      expect_poll(VOLT_PENDING);
      volt_sem_release(&sem[(i * 3 + 1) % BRANCHES], 1);
      assert_int_equal(fake_waker_calls(&a), i + 1);
    }
    for (int i = 0; i < 3; i++) expect_poll(VOLT_OK);
    for (uint32_t i = 0; i < BRANCHES; i++) expect_branch(i, VOLT_OK, 0);
    assert_int_equal(fake_waker_calls(&a), BRANCHES);
  }
}

static void all_at_once(void **state) {
  (void)state;
  for (uint32_t i = 0; i < BRANCHES; i++) volt_sem_release(&sem[i], 1);
  join_all(VOLT_JOIN_ALL);
  expect_poll(VOLT_OK);
  assert_int_equal(fake_waker_calls(&a), 0);
}

/* All of them want one permit of the same: who is queued first gets it first. */
static void it_starts_them_in_the_order_of_the_array(void **state) {
  (void)state;
  for (uint32_t i = 0; i < BRANCHES; i++)
    volt_future_made(volt_sem_acquire_future(&f[i], &sem[0], 1));
  join_all(VOLT_JOIN_ALL);
  expect_poll(VOLT_PENDING);
  for (uint32_t i = 0; i < BRANCHES; i++) {
    volt_sem_release(&sem[0], 1);
    for (uint32_t k = 0; k < BRANCHES; k++) {
      int result = volt_future_poll(&f[k], fake_waker_of(&a));
      assert_result(result, k <= i ? (int)VOLT_OK : (int)VOLT_PENDING);
    }
  }
  expect_poll(VOLT_OK);
}

/* Those behind the first that fails are not started any more. */
static void fail_fast_starts_none_behind_a_failure(void **state) {
  (void)state;
  volt_sem_close(&sem[1]);
  volt_sem_release(&sem[2], 1);
  join_all(VOLT_JOIN_FAIL_FAST);
  expect_poll(VOLT_ECLOSED);
  expect_branch(0, VOLT_ECANCELED, 0);
  expect_branch(2, VOLT_ECANCELED, 1);
}

static void null_branches_take_no_part(void **state) {
  (void)state;
  branches[0] = branches[2] = branches[4] = NULL;
  join_all(VOLT_JOIN_ALL);
  expect_poll(VOLT_PENDING);
  volt_sem_release(&sem[1], 1);
  expect_poll(VOLT_PENDING);
  volt_sem_release(&sem[3], 1);
  expect_poll(VOLT_OK);
  assert_int_equal(volt_sem_waiters(&sem[0]), 0);
}

/* All of none are ready. */
static void no_branch_at_all(void **state) {
  (void)state;
  memset(branches, 0, sizeof branches);
  join_all(VOLT_JOIN_ALL);
  expect_poll(VOLT_OK);
  volt_future_made(volt_join_future(&join, NULL, 0, VOLT_JOIN_FAIL_FAST));
  expect_poll(VOLT_OK);
}

static void it_moves_to_another_waker(void **state) {
  (void)state;
  fake_waker b;
  fake_waker_init(&b, 1, NULL);
  join_all(VOLT_JOIN_ALL);
  expect_poll(VOLT_PENDING);
  assert_result(volt_future_poll(&join.future, fake_waker_of(&b)), VOLT_PENDING);
  for (uint32_t i = 0; i < BRANCHES; i++) volt_sem_release(&sem[i], 1);
  assert_int_equal(fake_waker_calls(&a), 0);
  assert_int_equal(fake_waker_calls(&b), BRANCHES); /* once for each of its leaves */
  expect_poll(VOLT_OK);
}

/* ---- failures ---- */

/* Branch i becomes ready with a failure of its own: closed, or cancelled by its owner. */
static void end_badly(uint32_t i) {
  if (i % 2) {
    volt_sem_close(&sem[i]);
  } else {
    volt_future_cancel(&f[i]);
  }
}

static int failure_of(uint32_t i) {
  return i % 2 ? VOLT_ECLOSED : VOLT_ECANCELED;
}

static void a_failure_does_not_end_the_others(void **state) {
  for (uint32_t i = 0; i < BRANCHES; i++) {
    set_up(state);
    join_all(VOLT_JOIN_ALL);
    expect_poll(VOLT_PENDING);
    end_badly(i);
    expect_poll(VOLT_PENDING);
    for (uint32_t j = 0; j < BRANCHES; j++) {
      if (j == i) continue;
      assert_int_equal(volt_sem_waiters(&sem[j]), 1);
      expect_poll(VOLT_PENDING);
      volt_sem_release(&sem[j], 1);
    }
    expect_poll(failure_of(i));
    for (uint32_t j = 0; j < BRANCHES; j++) expect_branch(j, j == i ? failure_of(j) : VOLT_OK, 0);
  }
}

/* Not the first in time. */
static void the_first_failure_in_the_array_counts(void **state) {
  for (uint32_t i = 0; i + 1 < BRANCHES; i++) {
    set_up(state);
    join_all(VOLT_JOIN_ALL);
    expect_poll(VOLT_PENDING);
    end_badly(i + 1);
    expect_poll(VOLT_PENDING);
    end_badly(i);
    expect_poll(VOLT_PENDING);
    for (uint32_t j = 0; j < BRANCHES; j++) volt_sem_release(&sem[j], 1);
    expect_poll(failure_of(i));
  }
}

static void fail_fast_cancels_the_others(void **state) {
  for (uint32_t i = 0; i < BRANCHES; i++) {
    uint32_t granted = (i + 1) % BRANCHES;
    uint32_t ready = (i + 2) % BRANCHES;
    set_up(state);
    join_all(VOLT_JOIN_FAIL_FAST);
    volt_sem_release(&sem[ready], 1);
    expect_poll(VOLT_PENDING);
    end_badly(i);
    volt_sem_release(&sem[granted], 1);
    expect_poll(failure_of(i));
    /* the poll came to the granted one before the failed one, or it gave back */
    bool was_seen = granted < i;
    expect_branch(granted, was_seen ? VOLT_OK : VOLT_ECANCELED, was_seen ? 0 : 1);
    expect_branch(ready, VOLT_OK, 0);
    for (uint32_t j = 3; j < BRANCHES; j++) expect_branch((i + j) % BRANCHES, VOLT_ECANCELED, 0);
    expect_poll(failure_of(i));
  }
}

/* Two have failed by themselves before it looks. Those that it cancels do not count. */
static void fail_fast_takes_the_first_in_the_array(void **state) {
  for (uint32_t i = 0; i + 1 < BRANCHES; i++) {
    for (int polled = 0; polled < 2; polled++) {
      set_up(state);
      join_all(VOLT_JOIN_FAIL_FAST);
      if (polled) expect_poll(VOLT_PENDING);
      end_badly(i + 1);
      end_badly(i);
      expect_poll(failure_of(i));
    }
  }
}

/* ---- given up ---- */

static void given_up_it_cancels_what_was_not_ready(void **state) {
  for (int timed_out = 0; timed_out < 2; timed_out++) {
    set_up(state);
    join_all(VOLT_JOIN_ALL);
    volt_sem_release(&sem[0], 1);
    expect_poll(VOLT_PENDING);
    volt_sem_close(&sem[1]);
    expect_poll(VOLT_PENDING);
    if (!timed_out) volt_sem_release(&sem[2], 1); /* in the same instant, and nobody polls it */
    if (timed_out)
      assert_result(volt_future_wait_until(&join.future, PAST_DEADLINE), VOLT_ETIMEDOUT);
    if (!timed_out) volt_future_cancel(&join.future);
    expect_poll(timed_out ? VOLT_ETIMEDOUT : VOLT_ECANCELED);
    expect_branch(0, VOLT_OK, 0); /* keeps what it got */
    expect_branch(1, VOLT_ECLOSED, 0);
    expect_branch(2, VOLT_ECANCELED, timed_out ? 0 : 1);
    expect_branch(3, VOLT_ECANCELED, 0);
  }
}

static void given_up_before_the_first_poll(void **state) {
  (void)state;
  volt_sem_release(&sem[0], 1);
  join_all(VOLT_JOIN_ALL);
  volt_future_cancel(&join.future);
  expect_poll(VOLT_ECANCELED);
  expect_branch(0, VOLT_ECANCELED, 1);
}

/* ---- any mixture ---- */

static void selects_and_joins_are_branches(void **state) {
  (void)state;
  volt_select select;
  volt_join inner;
  volt_future *pair[] = {&f[0], &f[1]};
  volt_future *both[] = {&f[2], &f[3]};
  volt_future *three[] = {volt_select_future(&select, pair, 2, VOLT_SELECT_FAIR),
                          volt_join_future(&inner, both, 2, VOLT_JOIN_FAIL_FAST), &f[4]};
  volt_future_made(volt_join_future(&join, three, 3, VOLT_JOIN_ALL));
  expect_poll(VOLT_PENDING);
  volt_sem_release(&sem[1], 1);
  volt_sem_close(&sem[3]);
  expect_poll(VOLT_PENDING);
  assert_int_equal(volt_select_winner(&select), 1);
  expect_branch(2, VOLT_ECANCELED, 0); /* the inner one has failed already */
  volt_sem_release(&sem[4], 1);
  expect_poll(VOLT_ECLOSED);
}

static void registrations_are_counted(void **state) {
  (void)state;
  poller p;
  poller_init(&p);
  join_all(VOLT_JOIN_FAIL_FAST);
  assert_result(poller_poll(&p, &join.future), VOLT_PENDING);
  poller_expect(&p, BRANCHES, 0, 0);
  volt_sem_release(&sem[0], 1);
  volt_sem_release(&sem[3], 1);
  volt_sem_close(&sem[2]);
  assert_result(poller_poll(&p, &join.future), VOLT_ECLOSED);
  poller_expect(&p, BRANCHES, 3, BRANCHES - 3);
}

static void nothing_is_allocated(void **state) {
  uint64_t before = alloc_count_allocations();
  for (int i = 0; i < 100; i++) {
    set_up(state);
    join_all(i % 2 ? VOLT_JOIN_ALL : VOLT_JOIN_FAIL_FAST);
    expect_poll(VOLT_PENDING);
    volt_sem_close(&sem[3]);
    expect_poll(i % 2 ? VOLT_PENDING : VOLT_ECLOSED);
    volt_future_cancel(&join.future);
  }
  assert_int_equal(alloc_count_allocations() - before, 0);
}

static void make_it_strange(void *arg) {
  volt_future_made(volt_join_future(&join, branches, 1, *(unsigned *)arg));
}

static void how_is_out_of_range(void **state) {
  (void)state;
  unsigned how = VOLT_JOIN_FAIL_FAST + 1;
  assert_death(make_it_strange, &how, "volt_join_future", death_address(&join), "how is 2");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(it_is_ready_when_all_are, set_up),
      cmocka_unit_test_setup(all_at_once, set_up),
      cmocka_unit_test_setup(it_starts_them_in_the_order_of_the_array, set_up),
      cmocka_unit_test_setup(fail_fast_starts_none_behind_a_failure, set_up),
      cmocka_unit_test_setup(null_branches_take_no_part, set_up),
      cmocka_unit_test_setup(no_branch_at_all, set_up),
      cmocka_unit_test_setup(it_moves_to_another_waker, set_up),
      cmocka_unit_test_setup(a_failure_does_not_end_the_others, set_up),
      cmocka_unit_test_setup(the_first_failure_in_the_array_counts, set_up),
      cmocka_unit_test_setup(fail_fast_cancels_the_others, set_up),
      cmocka_unit_test_setup(fail_fast_takes_the_first_in_the_array, set_up),
      cmocka_unit_test_setup(given_up_it_cancels_what_was_not_ready, set_up),
      cmocka_unit_test_setup(given_up_before_the_first_poll, set_up),
      cmocka_unit_test_setup(selects_and_joins_are_branches, set_up),
      cmocka_unit_test_setup(registrations_are_counted, set_up),
      cmocka_unit_test_setup(nothing_is_allocated, set_up),
      cmocka_unit_test_setup(how_is_out_of_range, set_up),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
