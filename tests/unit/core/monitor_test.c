/* monitor_test.c: wakers that use the object that calls them, while there are more waiters than a
 * batch holds: the stack does not grow with those who wait. */
#include "unit.h"

enum { WAITERS = 100000, BATCH = 32, STACK_BYTES = 64 * 1024 };

static struct crowd {
  volt_waiter waiters[WAITERS];
  volt_waiter others[WAITERS];
  volt_waker waker;
  uint32_t woken;
  uintptr_t base, deepest;
} crowd;

static volt_watch watch;
static volt_broadcast broadcast;
static volt_broadcast_receiver receivers[WAITERS];
static volt_notify notify;
static volt_latch latch;
static volt_once once;
static volt_token token;
static volt_token child;
static uint64_t seen, slot;

/* However the compiler keeps its locals. */
static uintptr_t stack_now(void) {
  return (uintptr_t)__builtin_frame_address(0);
}

static void begin(void (*wake)(void *)) {
  memset((void *)&crowd, 0, sizeof crowd);
  crowd.waker = (volt_waker){wake, NULL};
  crowd.base = stack_now();
}

/* Returns how many were woken before. */
static uint32_t note(void) {
  uintptr_t here = stack_now();
  uintptr_t depth = here < crowd.base ? crowd.base - here : here - crowd.base;
  if (depth > crowd.deepest) crowd.deepest = depth;
  return crowd.woken++;
}

static void end(uint32_t woken) {
  assert_int_equal(crowd.woken, woken);
  assert_true(crowd.deepest < STACK_BYTES);
}

/* ---- look ---- */

static void look_at_watch(void *ctx) {
  (void)ctx;
  (void)note();
  assert_int_equal(volt_watch_get(&watch, NULL), 2);
  assert_int_equal(volt_watch_version(&watch), 2);
  assert_result(volt_watch_try_changed(&watch, &seen), VOLT_EAGAIN);
}

static void a_watch_is_looked_at(void **state) {
  (void)state;
  begin(look_at_watch);
  volt_watch_init(&watch, 0, NULL, NULL);
  seen = 1;
  for (uint32_t i = 0; i < WAITERS; i++) {
    assert_result(volt_watch_changed_waiter(&watch, &seen, &crowd.waiters[i], crowd.waker),
                  VOLT_PENDING);
  }
  seen = 2;
  assert_result(volt_watch_send(&watch, NULL), VOLT_OK);
  end(WAITERS);
  volt_watch_destroy(&watch);
}

static void receive(void *ctx) {
  (void)ctx;
  volt_broadcast_receiver *r = &receivers[note()];
  uint64_t value;
  assert_int_equal(volt_broadcast_sent(&broadcast), 1);
  assert_result(volt_broadcast_try_recv(r, &value), VOLT_OK);
  assert_result(volt_broadcast_try_recv(r, &value), VOLT_EAGAIN);
}

static void a_broadcast_is_received(void **state) {
  (void)state;
  begin(receive);
  assert_result(volt_broadcast_init(&broadcast, 1, sizeof seen, &slot, sizeof slot), VOLT_OK);
  for (uint32_t i = 0; i < WAITERS; i++) {
    volt_broadcast_subscribe(&broadcast, &receivers[i]);
    int result = volt_broadcast_recv_waiter(&receivers[i], &crowd.waiters[i], &seen, crowd.waker);
    assert_result(result, VOLT_PENDING);
  }
  assert_result(volt_broadcast_send(&broadcast, &seen), VOLT_OK);
  end(WAITERS);
  volt_broadcast_destroy(&broadcast);
}

/* ---- queue again, or leave ---- */

static void wait_again(void *ctx) {
  (void)ctx;
  volt_waiter *w = &crowd.others[note()];
  assert_result(volt_notify_wait_waiter(&notify, w, (volt_waker){NULL, NULL}), VOLT_PENDING);
}

static void who_is_notified_waits_again(void **state) {
  (void)state;
  begin(wait_again);
  volt_notify_init(&notify);
  for (uint32_t i = 0; i < WAITERS; i++) {
    assert_result(volt_notify_wait_waiter(&notify, &crowd.waiters[i], crowd.waker), VOLT_PENDING);
  }
  volt_notify_all(&notify);
  end(WAITERS);
  assert_int_equal(volt_notify_waiters(&notify), WAITERS); /* for the next one */
  for (uint32_t i = 0; i < WAITERS; i++) {
    assert_true(volt_notify_cancel(&notify, &crowd.others[i]));
  }
  volt_notify_destroy(&notify);
}

static void cancel_another(void *ctx) {
  (void)ctx;
  uint32_t i = note();
  if (i < BATCH) assert_false(volt_once_cancel(&once, &crowd.waiters[WAITERS - 1 - i]));
}

/* It is told in the cancel, and its waker is called there; nobody else's. */
static void who_is_let_go_cancels_another(void **state) {
  (void)state;
  begin(cancel_another);
  volt_once_init(&once);
  volt_waiter first = VOLT_WAITER_INIT;
  assert_result(volt_once_begin_waiter(&once, &first, crowd.waker), VOLT_OK);
  for (uint32_t i = 0; i < WAITERS; i++) {
    assert_result(volt_once_begin_waiter(&once, &crowd.waiters[i], crowd.waker), VOLT_PENDING);
  }
  volt_once_done(&once);
  end(WAITERS);
  volt_once_destroy(&once);
}

static void shut_and_wait(void *ctx) {
  (void)ctx;
  uint32_t i = note();
  if (i == 0) volt_latch_add(&latch, 1);
  int result = volt_latch_wait_waiter(&latch, &crowd.others[i], (volt_waker){NULL, NULL});
  assert_result(result, VOLT_PENDING);
}

static void a_latch_is_shut_by_who_is_let_go(void **state) {
  (void)state;
  begin(shut_and_wait);
  volt_latch_init(&latch, 1);
  for (uint32_t i = 0; i < WAITERS; i++) {
    assert_result(volt_latch_wait_waiter(&latch, &crowd.waiters[i], crowd.waker), VOLT_PENDING);
  }
  volt_latch_done(&latch);
  end(WAITERS);
  assert_int_equal(volt_latch_waiters(&latch), WAITERS);
  volt_latch_done(&latch);
  assert_result(volt_waiter_result(&crowd.others[WAITERS - 1]), VOLT_OK);
  volt_latch_destroy(&latch);
}

/* ---- a tree ---- */

static void use_the_tree(void *ctx) {
  (void)ctx;
  (void)note();
  volt_token_init_child(&child, &token);
  assert_true(volt_token_is_cancelled(&child));
  volt_token_destroy(&child);
  volt_token_cancel(&token);
}

static void a_token_is_cancelled_again(void **state) {
  (void)state;
  begin(use_the_tree);
  volt_token_init(&token);
  for (uint32_t i = 0; i < WAITERS; i++) {
    assert_result(volt_token_wait_waiter(&token, &crowd.waiters[i], crowd.waker), VOLT_PENDING);
  }
  volt_token_cancel(&token);
  end(WAITERS);
  volt_token_destroy(&token);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_watch_is_looked_at),
      cmocka_unit_test(a_broadcast_is_received),
      cmocka_unit_test(who_is_notified_waits_again),
      cmocka_unit_test(who_is_let_go_cancels_another),
      cmocka_unit_test(a_latch_is_shut_by_who_is_let_go),
      cmocka_unit_test(a_token_is_cancelled_again),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
