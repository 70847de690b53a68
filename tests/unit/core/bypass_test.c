/* bypass_test.c: a mutex whose oldest waiter may be passed: each step of src/core/wait/bypass.c. */
#include "core/wait/bypass.h"
#include "bypass_owners.h"
#include "family.h"

FAMILY(mutex_with_bypass, volt_mutex it[1] = {VOLT_MUTEX_INIT_BYPASS(2)};
       volt_mutex_lock(it), volt_mutex_lock_waiter(it, w, waker), volt_mutex_lock_until(it, past),
       volt_mutex_lock_future(f, it), volt_mutex_unlock(it), volt_mutex_unlock(it);
       volt_mutex_destroy(it))

/* ---- begin ---- */

static void ways_to_begin(void **state) {
  (void)state;
  volt_mutex by_macro = VOLT_MUTEX_INIT_BYPASS(VOLT_BYPASS);
  volt_mutex by_call;
  memset(&by_call, 0xee, sizeof by_call);
  volt_mutex_init_bypass(&by_call, VOLT_BYPASS);
  const size_t used = offsetof(volt_mutex, bypass) + sizeof by_macro.bypass;
  assert_memory_equal(&by_macro, &by_call, used);
  volt_mutex strict;
  memset(&strict, 0xee, sizeof strict);
  volt_mutex_init_bypass(&strict, 0);
  volt_mutex zero;
  memset(&zero, 0, sizeof zero);
  assert_memory_equal(&strict, &zero, used);
#if !VOLT_SIGHT
  assert_int_equal(sizeof zero, sizeof(volt_fifo_) + 8);
#endif
}

static void bypass_of_0_grants(void **state) {
  (void)state;
  begin(0);
  lock_and_queue(1);
  volt_mutex_unlock(&mutex);
  assert_true(volt_mutex_is_locked(&mutex));
  assert_result(volt_mutex_try_lock(&mutex), VOLT_EAGAIN);
  expect_poll(0, VOLT_OK);
  unlock_and_end();
}

static void no_waiter_no_difference(void **state) {
  (void)state;
  for (int i = 0; i < 1000; i++) {
    pass(1);
    expect_word(0, 0, 0);
    assert_result(volt_mutex_lock_waiter(&mutex, &raw, fake_waker_of(&raw_waker)), VOLT_OK);
    expect_word(1, 0, 0);
    assert_result(volt_mutex_try_lock(&mutex), VOLT_EAGAIN);
    volt_mutex_unlock(&mutex);
  }
  end();
}

/* ---- release, look ---- */

static void unlock_nudges_the_oldest(void **state) {
  (void)state;
  lock_and_queue(2);
  expect_word(1, QUEUED | OPEN, K);
  volt_mutex_unlock(&mutex);
  expect_word(0, QUEUED | OPEN | NUDGED, K);
  expect_settled(0, 1, 1, 0);
  expect_settled(1, 1, 0, 0);
  expect_poll(1, VOLT_PENDING); /* a poll without a wake is harmless */
  expect_settled(1, 1, 0, 0);
  expect_poll(0, VOLT_OK);
  expect_word(1, QUEUED | OPEN, K); /* for the next head */
  volt_mutex_unlock(&mutex);
  expect_poll(1, VOLT_OK);
  expect_word(1, 0, 0);
  unlock_and_end();
}

static void as_many_may_pass(void **state) {
  (void)state;
  static const uint32_t budgets[] = {1, 2, 255};
  for (int b = 0; b < 3; b++) {
    begin(budgets[b]);
    queue_and_nudge(2);
    for (uint32_t left = budgets[b]; left > 0; left--) {
      expect_word(0, QUEUED | OPEN | NUDGED, left);
      assert_result(volt_mutex_try_lock(&mutex), VOLT_OK);
      expect_word(1, QUEUED | OPEN | NUDGED, left - 1);
      volt_mutex_unlock(&mutex);
    }
    expect_word(1, QUEUED | OPEN, budgets[b]); /* granted to 0; 1 is first */
    assert_result(volt_mutex_try_lock(&mutex), VOLT_EAGAIN);
    expect_settled(0, 1, 1, 0); /* the nudge was its wake */
    expect_poll(0, VOLT_OK);
    volt_mutex_unlock(&mutex);
    expect_settled(1, 1, 1, 0);
    expect_poll(1, VOLT_OK);
    unlock_and_end();
  }
}

static void each_way_to_lock_passes(void **state) {
  (void)state;
  begin(4);
  queue_and_nudge(1);
  pass(1);
  assert_result(volt_mutex_lock_waiter(&mutex, &raw, fake_waker_of(&raw_waker)), VOLT_OK);
  volt_mutex_unlock(&mutex);
  assert_result(volt_mutex_lock_until(&mutex, PAST_DEADLINE), VOLT_OK);
  volt_mutex_unlock(&mutex);
  expect_word(0, QUEUED | OPEN | NUDGED, 1);
  expect_poll(1, VOLT_OK); /* it does not queue */
  expect_settled(1, 0, 0, 0);
  volt_mutex_unlock(&mutex);
  expect_poll(0, VOLT_OK);
  expect_raw(VOLT_ECANCELED, 0);
  unlock_and_end();
}

static void one_look_in_vain(void **state) {
  (void)state;
  queue_and_nudge(2);
  assert_result(volt_mutex_try_lock(&mutex), VOLT_OK);
  expect_poll(0, VOLT_PENDING);
  expect_settled(0, 2, 1, 0); /* it waits for another wake */
  expect_word(1, QUEUED | OPEN, 0);
  expect_poll(0, VOLT_PENDING); /* no wake has come */
  expect_settled(0, 2, 1, 0);
  volt_mutex_unlock(&mutex); /* no second nudge */
  expect_settled(0, 2, 2, 0);
  expect_word(1, QUEUED | OPEN, K);
  assert_result(volt_mutex_try_lock(&mutex), VOLT_EAGAIN);
  expect_poll(0, VOLT_OK);
  volt_mutex_unlock(&mutex);
  expect_settled(1, 1, 1, 0);
  expect_poll(1, VOLT_OK);
  unlock_and_end();
}

static void granted_before_it_looks(void **state) {
  (void)state;
  queue_and_nudge(1);
  pass(K);
  expect_word(1, 0, 0);
  expect_settled(0, 1, 1, 0);
  volt_future_cancel(&owners[0].f); /* gives it back */
  expect_poll(0, VOLT_ECANCELED);
  expect_settled(0, 1, 1, 0);
  end();
}

static void in_order_of_arrival(void **state) {
  (void)state;
  lock_and_queue(OWNERS);
  for (int i = 0; i < OWNERS; i++) {
    volt_mutex_unlock(&mutex);
    for (int other = 0; other < OWNERS; other++) assert_int_equal(owners[other].wakes, other <= i);
    pass((uint32_t)i % 2); /* some are passed, none by the others */
    for (int other = i + 1; other < OWNERS; other++) expect_poll(other, VOLT_PENDING);
    expect_poll(i, VOLT_OK);
  }
  unlock_and_end();
}

/* ---- a new waker ---- */

static uint32_t other_wakes;

static void other_wake(void *wakes) {
  *(uint32_t *)wakes += 1;
}

static const volt_waker other_waker = {other_wake, &other_wakes};

static void new_waker_before_a_nudge(void **state) {
  (void)state;
  other_wakes = 0;
  lock_and_queue(1);
  assert_result(volt_future_poll(&owners[0].f, other_waker), VOLT_PENDING);
  expect_settled(0, 1, 0, 1);
  volt_mutex_unlock(&mutex);
  assert_int_equal(other_wakes, 1);
  assert_result(volt_future_poll(&owners[0].f, other_waker), VOLT_OK);
  unlock_and_end();
}

static void new_waker_after_a_nudge(void **state) {
  (void)state;
  other_wakes = 0;
  queue_and_nudge(2);
  assert_result(volt_mutex_try_lock(&mutex), VOLT_OK);
  assert_result(volt_future_poll(&owners[0].f, other_waker), VOLT_PENDING); /* it looks in vain */
  expect_settled(0, 1, 1, 0);                                               /* and drops nothing */
  expect_word(1, QUEUED | OPEN, 0);
  volt_mutex_unlock(&mutex);
  assert_int_equal(other_wakes, 1);
  expect_settled(0, 1, 1, 0);
  assert_result(volt_future_poll(&owners[0].f, other_waker), VOLT_OK);
  volt_mutex_unlock(&mutex);
  assert_result(volt_future_poll(&owners[1].f, other_waker), VOLT_OK); /* it takes it */
  expect_settled(1, 1, 1, 0);
  unlock_and_end();
}

/* A poll that sees no nudge, and then meets it in set_waker: as the library calls that. */
static void the_nudge_comes_inside_the_poll(void **state) {
  (void)state;
  for (int held = 0; held < 2; held++) {
    set_up(state);
    other_wakes = 0;
    queue_and_nudge(1);
    if (held) assert_result(volt_mutex_try_lock(&mutex), VOLT_OK);
    volt_future *f = &owners[0].f;
    bool waits = volt_bypass_future_set_waker_(f, other_waker);
    assert_int_equal(waits, held);
    assert_null(f->until.drop);
    if (held) {
      expect_word(1, QUEUED | OPEN, 0);
      volt_mutex_unlock(&mutex);
    }
    assert_int_equal(other_wakes, held);
    expect_settled(0, 1, 1, 0);
    expect_word(1, 0, 0);
    expect_poll(0, VOLT_OK);
    unlock_and_end();
  }
}

/* ---- cancel ---- */

static void cancel_behind_the_head(void **state) {
  (void)state;
  queue_and_nudge(3);
  volt_future_cancel(&owners[1].f);
  expect_settled(1, 1, 0, 1);
  expect_word(0, QUEUED | OPEN | NUDGED, K);
  volt_future_cancel(&owners[2].f);
  expect_settled(2, 1, 0, 1);
  expect_word(0, QUEUED | OPEN | NUDGED, K);
  expect_poll(0, VOLT_OK);
  unlock_and_end();
}

static void cancel_of_the_head_while_held(void **state) {
  (void)state;
  lock_and_queue(2);
  volt_future_cancel(&owners[0].f);
  expect_settled(0, 1, 0, 1);
  expect_word(1, QUEUED | OPEN, K);
  volt_mutex_unlock(&mutex);
  expect_settled(1, 1, 1, 0);
  assert_result(volt_mutex_try_lock(&mutex), VOLT_OK);
  volt_future_cancel(&owners[1].f); /* nudged: no drop */
  expect_settled(1, 1, 1, 0);
  expect_word(1, 0, 0);
  unlock_and_end();
}

/* What callers have used of the bound stays used: the next one to be served was passed, too. */
static void the_next_head_keeps_what_is_left(void **state) {
  (void)state;
  queue_and_nudge(3);
  assert_result(volt_mutex_try_lock(&mutex), VOLT_OK);
  volt_future_cancel(&owners[0].f);
  expect_word(1, QUEUED | OPEN, K - 1);
  volt_mutex_unlock(&mutex);
  expect_settled(1, 1, 1, 0);
  expect_word(0, QUEUED | OPEN | NUDGED, K - 1);
  volt_future_cancel(&owners[1].f); /* free: the nudge goes on */
  expect_settled(1, 1, 1, 0);
  expect_settled(2, 1, 1, 0);
  expect_word(0, QUEUED | OPEN | NUDGED, K - 1);
  pass(K - 1);
  expect_word(1, 0, 0);
  expect_poll(2, VOLT_OK);
  unlock_and_end();
}

static void a_look_in_vain_and_then_a_cancel(void **state) {
  (void)state;
  queue_and_nudge(2);
  assert_result(volt_mutex_try_lock(&mutex), VOLT_OK);
  expect_poll(0, VOLT_PENDING);
  volt_future_cancel(&owners[0].f);
  expect_settled(0, 2, 1, 1);
  expect_word(1, QUEUED | OPEN, 0);
  volt_mutex_unlock(&mutex);
  expect_word(1, 0, 0); /* granted at once */
  expect_settled(1, 1, 1, 0);
  expect_poll(1, VOLT_OK);
  unlock_and_end();
}

static void a_nudged_one_is_cancelled_while_it_is_free(void **state) {
  (void)state;
  queue_and_nudge(1);
  volt_future_cancel(&owners[0].f);
  expect_settled(0, 1, 1, 0);
  expect_poll(0, VOLT_ECANCELED);
  expect_word(0, 0, 0);
  set_up(state);
  queue_and_nudge(1);
  assert_result(volt_mutex_try_lock(&mutex), VOLT_OK);
  queue_raw();
  volt_mutex_unlock(&mutex);
  expect_raw(VOLT_PENDING, 0);
  volt_future_cancel(&owners[0].f); /* the next one does not look: it is granted the lock */
  expect_raw(VOLT_OK, 1);
  expect_word(1, 0, 0);
  unlock_and_end();
}

static void cancel_by_the_ctx(void **state) {
  (void)state;
  queue_and_nudge(2);
  owners[0].ctx.cancel = VOLT_CTX_CANCEL_ONCE;
  expect_poll(0, VOLT_ECANCELED);
  expect_settled(0, 1, 1, 0);
  expect_settled(1, 1, 1, 0);
  owners[1].ctx.budget = 0;
  expect_poll(1, VOLT_PENDING); /* only to let others run */
  assert_true(owners[1].ctx.yield);
  expect_settled(1, 1, 1, 0);
  owners[1].ctx.budget = 1;
  expect_poll(1, VOLT_OK);
  assert_int_equal(owners[1].ctx.budget, 0);
  unlock_and_end();
}

/* ---- waiters that do not look ---- */

static void a_raw_waiter_is_granted(void **state) {
  (void)state;
  lock_and_queue(0);
  queue_raw();
  expect_word(1, QUEUED, K);
  expect_poll(0, VOLT_PENDING);
  volt_mutex_unlock(&mutex);
  expect_raw(VOLT_OK, 1);
  expect_word(1, QUEUED | OPEN, K); /* owner 0 is first now */
  volt_mutex_unlock(&mutex);
  expect_poll(0, VOLT_OK);
  unlock_and_end();
}

static void a_raw_waiter_is_cancelled(void **state) {
  (void)state;
  lock_and_queue(0);
  queue_raw();
  expect_poll(0, VOLT_PENDING);
  assert_true(volt_waiter_set_waker(&raw, other_waker));
  assert_true(volt_mutex_cancel(&mutex, &raw));
  assert_true(volt_mutex_cancel(&mutex, &raw));
  expect_word(1, QUEUED | OPEN, K);
  volt_mutex_unlock(&mutex);
  expect_poll(0, VOLT_OK);
  queue_raw();
  volt_mutex_unlock(&mutex);
  assert_false(volt_mutex_cancel(&mutex, &raw)); /* too late */
  expect_raw(VOLT_OK, 1);
  unlock_and_end();
}

/* A condition variable moves its waiter to a mutex that is free, held, and free with a nudged
 * head. */
static void a_moved_waiter_is_granted(void **state) {
  (void)state;
  volt_cond c = VOLT_COND_INIT;
  for (int how = 0; how < 3; how++) {
    set_up(state);
    assert_result(volt_mutex_try_lock(&mutex), VOLT_OK);
    volt_waker waker = fake_waker_of(&raw_waker);
    assert_result(volt_cond_wait_waiter(&c, &mutex, &raw, waker), VOLT_PENDING);
    expect_word(0, 0, 0);
    if (how == 1) assert_result(volt_mutex_try_lock(&mutex), VOLT_OK);
    if (how == 2) queue_and_nudge(1);
    volt_cond_signal(&c);
    if (how == 1) {
      expect_word(1, QUEUED, K);
      volt_mutex_unlock(&mutex);
    } else if (how == 2) {
      expect_raw(VOLT_PENDING, 0);
      expect_word(0, QUEUED | OPEN | NUDGED, K);
      expect_poll(0, VOLT_OK);
      expect_word(1, QUEUED, K);
      volt_mutex_unlock(&mutex);
    }
    expect_raw(VOLT_OK, 1);
    expect_word(1, 0, 0);
    unlock_and_end();
  }
  volt_cond_destroy(&c);
}

static void a_broadcast_moves_several(void **state) {
  (void)state;
  volt_cond c = VOLT_COND_INIT;
  volt_waiter waiters[3];
  memset(waiters, 0, sizeof waiters);
  for (int i = 0; i < 3; i++) {
    assert_result(volt_mutex_try_lock(&mutex), VOLT_OK);
    volt_waker waker = fake_waker_of(&raw_waker);
    assert_result(volt_cond_wait_waiter(&c, &mutex, &waiters[i], waker), VOLT_PENDING);
  }
  volt_cond_broadcast(&c);
  for (int i = 0; i < 3; i++) {
    assert_int_equal(fake_waker_calls(&raw_waker), i + 1);
    assert_result(volt_waiter_result(&waiters[i]), VOLT_OK);
    assert_result(volt_mutex_try_lock(&mutex), VOLT_EAGAIN);
    volt_mutex_unlock(&mutex);
  }
  volt_cond_destroy(&c);
  end();
}

/* ---- unlock_fair ---- */

static void unlock_fair_grants(void **state) {
  (void)state;
  for (uint32_t k = 0; k <= K; k += K) {
    begin(k);
    assert_result(volt_mutex_try_lock(&mutex), VOLT_OK);
    volt_mutex_unlock_fair(&mutex); /* no waiter: it is free */
    assert_false(volt_mutex_is_locked(&mutex));
    lock_and_queue(2);
    volt_mutex_unlock_fair(&mutex);
    expect_settled(0, 1, 1, 0);
    assert_true(volt_mutex_is_locked(&mutex));
    assert_result(volt_mutex_try_lock(&mutex), VOLT_EAGAIN);
    expect_poll(0, VOLT_OK);
    volt_mutex_unlock_fair(&mutex);
    expect_poll(1, VOLT_OK);
    unlock_and_end();
  }
  begin(K);
  queue_and_nudge(1);
  assert_result(volt_mutex_try_lock(&mutex), VOLT_OK);
  volt_mutex_unlock_fair(&mutex); /* it was nudged, and may be passed once more */
  expect_word(1, 0, 0);
  expect_settled(0, 1, 1, 0); /* no second wake */
  expect_poll(0, VOLT_OK);
  unlock_and_end();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FAMILY_TEST(mutex_with_bypass),
      cmocka_unit_test_setup(ways_to_begin, set_up),
      cmocka_unit_test_setup(bypass_of_0_grants, set_up),
      cmocka_unit_test_setup(no_waiter_no_difference, set_up),
      cmocka_unit_test_setup(unlock_nudges_the_oldest, set_up),
      cmocka_unit_test_setup(as_many_may_pass, set_up),
      cmocka_unit_test_setup(each_way_to_lock_passes, set_up),
      cmocka_unit_test_setup(one_look_in_vain, set_up),
      cmocka_unit_test_setup(granted_before_it_looks, set_up),
      cmocka_unit_test_setup(in_order_of_arrival, set_up),
      cmocka_unit_test_setup(new_waker_before_a_nudge, set_up),
      cmocka_unit_test_setup(new_waker_after_a_nudge, set_up),
      cmocka_unit_test_setup(the_nudge_comes_inside_the_poll, set_up),
      cmocka_unit_test_setup(cancel_behind_the_head, set_up),
      cmocka_unit_test_setup(cancel_of_the_head_while_held, set_up),
      cmocka_unit_test_setup(the_next_head_keeps_what_is_left, set_up),
      cmocka_unit_test_setup(a_look_in_vain_and_then_a_cancel, set_up),
      cmocka_unit_test_setup(a_nudged_one_is_cancelled_while_it_is_free, set_up),
      cmocka_unit_test_setup(cancel_by_the_ctx, set_up),
      cmocka_unit_test_setup(a_raw_waiter_is_granted, set_up),
      cmocka_unit_test_setup(a_raw_waiter_is_cancelled, set_up),
      cmocka_unit_test_setup(a_moved_waiter_is_granted, set_up),
      cmocka_unit_test_setup(a_broadcast_moves_several, set_up),
      cmocka_unit_test_setup(unlock_fair_grants, set_up),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
