/* select_test.c: every sentence of volt/select.h about selects; joins are in join_test.c. */
#include "alloc_count.h"
#include "death.h"
#include "fake_waker.h"
#include "poller.h"

enum { BRANCHES = 5 };

static volt_sem sem[BRANCHES]; /* branch i wants one permit of sem[i] */
static volt_future f[BRANCHES];
static volt_future *branches[BRANCHES];
static volt_select s;
static fake_waker a;
static fake_waker b;

static int set_up(void **state) {
  (void)state;
  for (int i = 0; i < BRANCHES; i++) {
    volt_sem_init(&sem[i], 0);
    branches[i] = volt_sem_acquire_future(&f[i], &sem[i], 1);
  }
  memset((void *)&s, 0xee, sizeof s); /* its content is overwritten */
  fake_waker_init(&a, 0, NULL);
  fake_waker_init(&b, 1, NULL);
  return 0;
}

/* The select of the first count branches. */
static void select_of(uint32_t count, unsigned how) {
  assert_ptr_equal(volt_select_future(&s, branches, count, how), &s.future);
  assert_int_equal(volt_select_winner(&s), UINT32_MAX);
}

static void expect_poll(int result, uint32_t winner) {
  assert_result(volt_future_poll(&s.future, fake_waker_of(&a)), result);
  assert_int_equal(volt_select_winner(&s), winner);
}

/* What a poll of branch i returns, and what there is of its semaphore. */
static void expect_branch(uint32_t i, int result, uint32_t available) {
  assert_result(volt_future_poll(&f[i], fake_waker_of(&b)), result);
  assert_int_equal(volt_sem_available(&sem[i]), available);
  assert_int_equal(volt_sem_waiters(&sem[i]), result == VOLT_PENDING);
}

/* ---- the first that is ready ---- */

static void nothing_happens_before_the_first_poll(void **state) {
  (void)state;
  volt_sem_release(&sem[0], 1);
  select_of(BRANCHES, VOLT_SELECT_FAIR);
  for (int i = 0; i < BRANCHES; i++) assert_int_equal(volt_sem_waiters(&sem[i]), 0);
  assert_int_equal(volt_sem_available(&sem[0]), 1);
}

static void each_branch_can_win(void **state) {
  for (unsigned how = VOLT_SELECT_FAIR; how <= VOLT_SELECT_BIASED; how++) {
    for (uint32_t i = 0; i < BRANCHES; i++) {
      set_up(state);
      select_of(BRANCHES, how);
      for (int j = 0; j < 3; j++) expect_poll(VOLT_PENDING, UINT32_MAX);
      volt_sem_release(&sem[i], 1);
      assert_int_equal(fake_waker_calls(&a), 1);
      for (int j = 0; j < 3; j++) expect_poll(VOLT_OK, i);
      assert_int_equal(fake_waker_calls(&a), 1); /* the losers' wakes do not come */
      for (uint32_t j = 0; j < BRANCHES; j++) {
        expect_branch(j, j == i ? VOLT_OK : VOLT_ECANCELED, 0);
        volt_sem_release(&sem[j], 1);
      }
      assert_int_equal(fake_waker_calls(&a), 1);
    }
  }
}

static void the_result_is_the_winners(void **state) {
  (void)state;
  select_of(2, VOLT_SELECT_FAIR);
  expect_poll(VOLT_PENDING, UINT32_MAX);
  volt_sem_close(&sem[1]);
  expect_poll(VOLT_ECLOSED, 1); /* a failure wins, too */
  expect_branch(1, VOLT_ECLOSED, 0);
  expect_branch(0, VOLT_ECANCELED, 0);
}

static void a_branch_that_is_ready_already_wins(void **state) {
  (void)state;
  volt_future_cancel(&f[3]);
  select_of(BRANCHES, VOLT_SELECT_FAIR);
  expect_poll(VOLT_ECANCELED, 3);
}

static void it_moves_to_another_waker(void **state) {
  (void)state;
  select_of(BRANCHES, VOLT_SELECT_FAIR);
  expect_poll(VOLT_PENDING, UINT32_MAX);
  assert_result(volt_future_poll(&s.future, fake_waker_of(&b)), VOLT_PENDING);
  volt_sem_release(&sem[2], 1);
  volt_sem_release(&sem[4], 1);
  assert_int_equal(fake_waker_calls(&a), 0);
  assert_int_equal(fake_waker_calls(&b), 2); /* once for each of its leaves */
}

/* ---- fair, biased ---- */

static void biased_takes_the_first_in_the_array(void **state) {
  for (uint32_t first = 0; first < BRANCHES; first++) {
    for (int polled = 0; polled < 2; polled++) {
      set_up(state);
      select_of(BRANCHES, VOLT_SELECT_BIASED);
      if (polled) expect_poll(VOLT_PENDING, UINT32_MAX);
      for (uint32_t i = BRANCHES; i > first; i--) volt_sem_release(&sem[i - 1], 1);
      expect_poll(VOLT_OK, first);
      for (uint32_t i = first + 1; i < BRANCHES; i++) {
        expect_branch(i, VOLT_ECANCELED, 1); /* not asked for, or given back */
      }
    }
  }
}

/* All are ready: who is looked at first wins. */
static uint32_t winner_of_all(void **state, int polled) {
  set_up(state);
  select_of(BRANCHES, VOLT_SELECT_FAIR);
  if (polled) expect_poll(VOLT_PENDING, UINT32_MAX);
  for (uint32_t i = 0; i < BRANCHES; i++) volt_sem_release(&sem[i], 1);
  assert_result(volt_future_poll(&s.future, fake_waker_of(&a)), VOLT_OK);
  uint32_t winner = volt_select_winner(&s);
  assert_true(winner < BRANCHES);
  for (uint32_t i = 0; i < BRANCHES; i++) {
    assert_int_equal(volt_sem_available(&sem[i]), i == winner ? 0 : 1);
  }
  return winner;
}

/* Of 2000 each gets 400 on average; half of that is eleven standard deviations away. */
static void fair_lets_every_branch_win(void **state) {
  for (int polled = 0; polled < 2; polled++) {
    uint32_t won[BRANCHES] = {0};
    volt_select_seed(4711);
    for (int i = 0; i < 2000; i++) won[winner_of_all(state, polled)] += 1;
    for (int i = 0; i < BRANCHES; i++) assert_in_range(won[i], 200, 600);
  }
}

static void the_same_seed_has_the_same_winners(void **state) {
  enum { RUNS = 100 };
  uint32_t winners[2][RUNS];
  uint32_t others = 0;
  const uint64_t seeds[] = {0, 1, 2, UINT64_C(0x123456789abcdef)};
  for (size_t i = 0; i < sizeof seeds / sizeof seeds[0]; i++) {
    for (int turn = 0; turn < 2; turn++) {
      volt_select_seed(seeds[i]);
      for (int j = 0; j < RUNS; j++) winners[turn][j] = winner_of_all(state, turn);
    }
    assert_memory_equal(winners[0], winners[1], sizeof winners[0]);
    volt_select_seed(seeds[i] + 17);
    for (int j = 0; j < RUNS; j++) others += winner_of_all(state, 0) != winners[0][j];
  }
  assert_true(others > 0);
}

/* From a random one on, in turn: round the end of the array. */
static void fair_looks_at_them_in_turn(void **state) {
  volt_select_seed(1);
  for (int i = 0; i < 100; i++) {
    uint64_t seed = (uint64_t)i;
    volt_select_seed(seed);
    uint32_t first = winner_of_all(state, 0);
    set_up(state);
    volt_select_seed(seed);
    select_of(BRANCHES, VOLT_SELECT_FAIR);
    uint32_t at[2] = {(first + 2) % BRANCHES, (first + 4) % BRANCHES};
    for (int j = 0; j < 2; j++) volt_sem_release(&sem[at[j]], 1);
    expect_poll(VOLT_OK, at[0]);
  }
}

/* ---- branches that take no part ---- */

static void a_null_branch_takes_no_part(void **state) {
  for (unsigned how = VOLT_SELECT_FAIR; how <= VOLT_SELECT_BIASED; how++) {
    for (uint32_t left = 0; left < BRANCHES; left++) {
      set_up(state);
      for (uint32_t i = 0; i < BRANCHES; i++) {
        if (i != left) branches[i] = NULL;
        volt_sem_release(&sem[i], 1);
      }
      select_of(BRANCHES, how);
      expect_poll(VOLT_OK, left);
      for (uint32_t i = 0; i < BRANCHES; i++) {
        assert_int_equal(volt_sem_available(&sem[i]), i == left ? 0 : 1);
      }
    }
  }
}

static void no_branch_at_all(void **state) {
  (void)state;
  for (unsigned how = VOLT_SELECT_FAIR; how <= (VOLT_SELECT_BIASED | VOLT_SELECT_KEEP); how++) {
    select_of(0, how);
    expect_poll(VOLT_EINVAL, UINT32_MAX);
    memset(branches, 0, sizeof branches);
    select_of(BRANCHES, how);
    expect_poll(VOLT_EINVAL, UINT32_MAX);
    assert_result(volt_future_wait(&s.future), VOLT_EINVAL);
    volt_future_cancel(&s.future);
    expect_poll(VOLT_EINVAL, UINT32_MAX);
  }
}

/* ---- losers, in every state ---- */

/* The winner is the first; the others: not polled yet, waiting, granted in the same instant, and
 * ready with a result of its own. */
static void losers_are_cancelled_in_every_state(void **state) {
  (void)state;
  for (uint32_t i = 2; i < BRANCHES; i++) {
    assert_result(volt_future_poll(&f[i], fake_waker_of(&a)), VOLT_PENDING);
  }
  volt_sem_release(&sem[4], 1);
  assert_result(volt_future_poll(&f[4], fake_waker_of(&a)), VOLT_OK);
  select_of(BRANCHES, VOLT_SELECT_BIASED);
  volt_sem_release(&sem[3], 1);
  volt_sem_release(&sem[0], 1);
  expect_poll(VOLT_OK, 0);
  expect_branch(0, VOLT_OK, 0);
  expect_branch(1, VOLT_ECANCELED, 0);
  expect_branch(2, VOLT_ECANCELED, 0);
  expect_branch(3, VOLT_ECANCELED, 1); /* given back */
  expect_branch(4, VOLT_OK, 0);        /* its result stands, and what it got is the owner's */
}

static void what_a_loser_got_goes_to_the_next(void **state) {
  (void)state;
  volt_future next;
  select_of(2, VOLT_SELECT_BIASED);
  expect_poll(VOLT_PENDING, UINT32_MAX);
  volt_future_made(volt_sem_acquire_future(&next, &sem[1], 1));
  assert_result(volt_future_poll(&next, fake_waker_of(&b)), VOLT_PENDING);
  volt_sem_release(&sem[1], 1);
  volt_sem_release(&sem[0], 1);
  assert_int_equal(fake_waker_calls(&a), 2);
  assert_int_equal(fake_waker_calls(&b), 0);
  expect_poll(VOLT_OK, 0);
  assert_int_equal(fake_waker_calls(&b), 1);
  assert_result(volt_future_poll(&next, fake_waker_of(&b)), VOLT_OK);
}

static void two_branches_on_one_object(void **state) {
  (void)state;
  for (uint32_t i = 0; i < BRANCHES; i++)
    volt_future_made(volt_sem_acquire_future(&f[i], &sem[0], i + 1));
  select_of(BRANCHES, VOLT_SELECT_BIASED);
  expect_poll(VOLT_PENDING, UINT32_MAX);
  volt_sem_release(&sem[0], 4); /* one for the first, two for the second, the rest is gathered */
  expect_poll(VOLT_OK, 0);
  assert_int_equal(volt_sem_available(&sem[0]), 3);
  assert_int_equal(volt_sem_waiters(&sem[0]), 0);
}

/* ---- keep ---- */

static void keep_leaves_the_losers_pending(void **state) {
  (void)state;
  bool has_won[BRANCHES] = {false};
  for (uint32_t i = 0; i < BRANCHES; i++) { /* one select after the other, over the same branches */
    select_of(BRANCHES, VOLT_SELECT_KEEP);
    expect_poll(VOLT_PENDING, UINT32_MAX);
    uint32_t winner = (i * 3 + 1) % BRANCHES;
    volt_sem_release(&sem[winner], 1);
    expect_poll(VOLT_OK, winner);
    has_won[winner] = true;
    branches[winner] = NULL;
    for (uint32_t j = 0; j < BRANCHES; j++) {
      assert_int_equal(volt_sem_waiters(&sem[j]), has_won[j] ? 0 : 1);
    }
  }
  assert_int_equal(fake_waker_calls(&a), BRANCHES);
}

static void keep_leaves_a_grant_where_it_is(void **state) {
  (void)state;
  select_of(2, VOLT_SELECT_BIASED | VOLT_SELECT_KEEP);
  expect_poll(VOLT_PENDING, UINT32_MAX);
  volt_sem_release(&sem[0], 1);
  volt_sem_release(&sem[1], 1);
  expect_poll(VOLT_OK, 0);
  assert_int_equal(volt_sem_available(&sem[1]), 0);
  branches[0] = NULL;
  select_of(2, VOLT_SELECT_BIASED | VOLT_SELECT_KEEP);
  expect_poll(VOLT_OK, 1);
}

/* ---- given up ---- */

static void given_up_it_cancels_all(void **state) {
  for (int keep = 0; keep < 2; keep++) {
    for (int polled = 0; polled < 2; polled++) {
      set_up(state);
      select_of(2, keep ? VOLT_SELECT_KEEP : VOLT_SELECT_FAIR);
      if (polled) expect_poll(VOLT_PENDING, UINT32_MAX);
      volt_sem_release(&sem[0], 1);
      volt_future_cancel(&s.future);
      expect_poll(VOLT_ECANCELED, UINT32_MAX);
      expect_branch(0, keep ? VOLT_OK : VOLT_ECANCELED, keep ? 0 : 1);
      expect_branch(1, keep ? VOLT_PENDING : VOLT_ECANCELED, 0);
      volt_future_cancel(&f[1]);
    }
  }
}

static void a_deadline_gives_it_up(void **state) {
  (void)state;
  select_of(BRANCHES, VOLT_SELECT_FAIR);
  assert_result(volt_future_wait_until(&s.future, PAST_DEADLINE), VOLT_ETIMEDOUT);
  expect_poll(VOLT_ETIMEDOUT, UINT32_MAX);
  for (uint32_t i = 0; i < BRANCHES; i++) expect_branch(i, VOLT_ECANCELED, 0);
}

static void cancelled_after_it_was_ready(void **state) {
  (void)state;
  volt_sem_release(&sem[0], 1);
  select_of(2, VOLT_SELECT_BIASED);
  expect_poll(VOLT_OK, 0);
  volt_future_cancel(&s.future);
  expect_poll(VOLT_OK, 0);
  assert_int_equal(volt_sem_available(&sem[0]), 0);
}

/* ---- any mixture ---- */

static void selects_and_joins_are_branches(void **state) {
  (void)state;
  volt_select inner;
  volt_join join;
  volt_future *pair[] = {&f[0], &f[1]};
  volt_future *both[] = {&f[2], &f[3]};
  volt_future *three[] = {volt_select_future(&inner, pair, 2, VOLT_SELECT_FAIR),
                          volt_join_future(&join, both, 2, VOLT_JOIN_ALL), &f[4]};
  volt_future_made(volt_select_future(&s, three, 3, VOLT_SELECT_FAIR));
  expect_poll(VOLT_PENDING, UINT32_MAX);
  volt_sem_release(&sem[3], 1);
  expect_poll(VOLT_PENDING, UINT32_MAX); /* the join has only one of its two */
  volt_sem_release(&sem[1], 1);
  expect_poll(VOLT_OK, 0);
  assert_int_equal(volt_select_winner(&inner), 1);
  expect_branch(0, VOLT_ECANCELED, 0);
  expect_branch(2, VOLT_ECANCELED, 0);
  expect_branch(3, VOLT_OK, 0); /* it was ready: its owner's */
  expect_branch(4, VOLT_ECANCELED, 0);
}

static void registrations_are_counted(void **state) {
  (void)state;
  poller p;
  poller_init(&p);
  select_of(BRANCHES, VOLT_SELECT_BIASED);
  assert_result(poller_poll(&p, &s.future), VOLT_PENDING);
  poller_expect(&p, BRANCHES, 0, 0);
  volt_sem_release(&sem[0], 1);
  volt_sem_release(&sem[3], 1); /* granted, and loses: its wake has come */
  assert_result(poller_poll(&p, &s.future), VOLT_OK);
  poller_expect(&p, BRANCHES, 2, BRANCHES - 2);
}

static void nothing_is_allocated(void **state) {
  (void)state;
  uint64_t before = alloc_count_allocations();
  for (int i = 0; i < 100; i++) (void)winner_of_all(state, i % 2);
  assert_int_equal(alloc_count_allocations() - before, 0);
}

static void make_it_strange(void *arg) {
  volt_future_made(volt_select_future(&s, branches, 1, *(unsigned *)arg));
}

static void how_is_out_of_range(void **state) {
  (void)state;
  unsigned how = (VOLT_SELECT_BIASED | VOLT_SELECT_KEEP) + 1;
  assert_death(make_it_strange, &how, "volt_select_future", death_address(&s), "how is 4");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(nothing_happens_before_the_first_poll, set_up),
      cmocka_unit_test_setup(each_branch_can_win, set_up),
      cmocka_unit_test_setup(the_result_is_the_winners, set_up),
      cmocka_unit_test_setup(a_branch_that_is_ready_already_wins, set_up),
      cmocka_unit_test_setup(it_moves_to_another_waker, set_up),
      cmocka_unit_test_setup(biased_takes_the_first_in_the_array, set_up),
      cmocka_unit_test_setup(fair_lets_every_branch_win, set_up),
      cmocka_unit_test_setup(the_same_seed_has_the_same_winners, set_up),
      cmocka_unit_test_setup(fair_looks_at_them_in_turn, set_up),
      cmocka_unit_test_setup(a_null_branch_takes_no_part, set_up),
      cmocka_unit_test_setup(no_branch_at_all, set_up),
      cmocka_unit_test_setup(losers_are_cancelled_in_every_state, set_up),
      cmocka_unit_test_setup(what_a_loser_got_goes_to_the_next, set_up),
      cmocka_unit_test_setup(two_branches_on_one_object, set_up),
      cmocka_unit_test_setup(keep_leaves_the_losers_pending, set_up),
      cmocka_unit_test_setup(keep_leaves_a_grant_where_it_is, set_up),
      cmocka_unit_test_setup(given_up_it_cancels_all, set_up),
      cmocka_unit_test_setup(a_deadline_gives_it_up, set_up),
      cmocka_unit_test_setup(cancelled_after_it_was_ready, set_up),
      cmocka_unit_test_setup(selects_and_joins_are_branches, set_up),
      cmocka_unit_test_setup(registrations_are_counted, set_up),
      cmocka_unit_test_setup(nothing_is_allocated, set_up),
      cmocka_unit_test_setup(how_is_out_of_range, set_up),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
