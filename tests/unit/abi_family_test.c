/* abi_family_test.c: abi_test.c for the channels, and for what else one waits with. */
#include "abi.h"
#include "fake_waker.h"
#include "unit.h"

/* Called through these, no compiler can use the inline body. */
static void (*volatile const latch_add)(volt_latch *, uint32_t) = volt_latch_add;
static void (*volatile const latch_count_down)(volt_latch *, uint32_t) = volt_latch_count_down;
static void (*volatile const latch_done)(volt_latch *) = volt_latch_done;
static int (*volatile const latch_try_wait)(volt_latch *) = volt_latch_try_wait;
static bool (*volatile const once_is_done)(const volt_once *) = volt_once_is_done;
static int (*volatile const once_call)(volt_once *, volt_once_fn *, void *) = volt_once_call;
static bool (*volatile const token_is_cancelled)(const volt_token *) = volt_token_is_cancelled;

/* The rest has one form only; that it converts to these types is the test. */
static any_fn *const others[] = {
    /* channel.h */
    FN(size_t(*)(uint32_t, size_t), volt_chan_bytes),
    FN(int (*)(volt_chan *, uint32_t, size_t, void *, size_t), volt_chan_init),
    FN(void (*)(volt_chan *, void (*)(void *, void *), void *), volt_chan_destroy),
    FN(void (*)(volt_chan *), volt_chan_close),
    FN(int (*)(volt_chan *, volt_waiter *, const void *, volt_waker), volt_chan_send_slow_),
    FN(int (*)(volt_chan *, volt_waiter *, void *, volt_waker), volt_chan_recv_slow_),
    FN(int (*)(volt_chan *, const void *), volt_chan_try_send_slow_),
    FN(int (*)(volt_chan *, void *), volt_chan_try_recv_slow_),
    FN(uint64_t (*)(volt_chan *), volt_chan_contended_slow_),
    FN(void (*)(volt_chan_slot *, uint32_t), volt_chan_await_turn_slow_),
    FN(int (*)(volt_chan *, const void *), volt_chan_try_send),
    FN(int (*)(volt_chan *, void *), volt_chan_try_recv),
    FN(int (*)(volt_chan *, volt_waiter *, const void *, volt_waker), volt_chan_send),
    FN(int (*)(volt_chan *, volt_waiter *, void *, volt_waker), volt_chan_recv),
    FN(bool (*)(volt_chan *, volt_waiter *), volt_chan_cancel_send),
    FN(bool (*)(volt_chan *, volt_waiter *), volt_chan_cancel_recv),
    FN(int (*)(volt_chan *, const void *, uint64_t), volt_chan_send_blocking),
    FN(int (*)(volt_chan *, void *, uint64_t), volt_chan_recv_blocking),
    FN(volt_future *(*)(volt_future *, volt_chan *, const void *), volt_chan_send_future),
    FN(volt_future *(*)(volt_future *, volt_chan *, void *), volt_chan_recv_future),
    FN(int (*)(volt_chan *, const void *, uint32_t, uint32_t *), volt_chan_try_send_many),
    FN(int (*)(volt_chan *, void *, uint32_t, uint32_t *), volt_chan_try_recv_many),
    FN(int (*)(volt_chan *, volt_waiter *, const void *, uint32_t, volt_waker),
       volt_chan_send_many),
    FN(int (*)(volt_chan *, volt_waiter *, void *, uint32_t, volt_waker), volt_chan_recv_many),
    FN(uint32_t (*)(const volt_waiter *), volt_chan_moved),
    FN(int (*)(volt_chan *, const void *, uint32_t, uint32_t *, uint64_t),
       volt_chan_send_many_blocking),
    FN(int (*)(volt_chan *, void *, uint32_t, uint32_t *, uint64_t), volt_chan_recv_many_blocking),
    FN(volt_future *(*)(volt_future *, volt_chan *, const void *, uint32_t),
       volt_chan_send_many_future),
    FN(volt_future *(*)(volt_future *, volt_chan *, void *, uint32_t), volt_chan_recv_many_future),
    FN(uint32_t (*)(const volt_future *), volt_chan_future_moved),
    FN(uint32_t (*)(const volt_chan *), volt_chan_len),
    FN(uint32_t (*)(const volt_chan *), volt_chan_capacity),
    FN(uint32_t (*)(const volt_chan *), volt_chan_waiters),
    FN(bool (*)(const volt_chan *), volt_chan_is_closed),
    FN(volt_future *(*)(volt_future *, volt_chan *), volt_chan_closed_future),
    FN(int (*)(volt_chan *), volt_chan_add_sender),
    FN(void (*)(volt_chan *), volt_chan_drop_sender),
    FN(uint32_t (*)(const volt_chan *), volt_chan_senders),
    /* permit_channel.h */
    FN(int (*)(volt_permit_chan *, uint32_t, size_t, void *, size_t), volt_permit_chan_init),
    FN(void (*)(volt_permit_chan *, void (*)(void *, void *), void *), volt_permit_chan_destroy),
    FN(void (*)(volt_permit_chan *), volt_permit_chan_close),
    FN(int (*)(volt_permit_chan *), volt_permit_chan_try_reserve),
    FN(int (*)(volt_permit_chan *, uint64_t), volt_permit_chan_reserve_blocking),
    FN(volt_future *(*)(volt_future *, volt_permit_chan *), volt_permit_chan_reserve_future),
    FN(void (*)(volt_permit_chan *), volt_permit_chan_unreserve),
    FN(int (*)(volt_permit_chan *, const void *), volt_permit_chan_send_reserved),
    FN(int (*)(volt_permit_chan *, const void *), volt_permit_chan_try_send),
    FN(int (*)(volt_permit_chan *, const void *, uint64_t), volt_permit_chan_send_blocking),
    FN(int (*)(volt_permit_chan *, void *), volt_permit_chan_try_recv),
    FN(int (*)(volt_permit_chan *, void *, uint64_t), volt_permit_chan_recv_blocking),
    FN(volt_future *(*)(volt_future *, volt_permit_chan *, void *), volt_permit_chan_recv_future),
    FN(uint32_t (*)(const volt_permit_chan *), volt_permit_chan_len),
    FN(uint32_t (*)(volt_permit_chan *), volt_permit_chan_free),
    FN(bool (*)(const volt_permit_chan *), volt_permit_chan_is_closed),
    /* mailbox.h */
    FN(void (*)(volt_mailbox *), volt_mailbox_init),
    FN(void (*)(volt_mailbox *, void (*)(volt_mailbox_node *, void *), void *),
       volt_mailbox_destroy),
    FN(int (*)(volt_mailbox *, volt_mailbox_node *), volt_mailbox_send),
    FN(void (*)(volt_mailbox *), volt_mailbox_close),
    FN(int (*)(volt_mailbox *, volt_mailbox_node **), volt_mailbox_try_recv),
    FN(int (*)(volt_mailbox *, volt_waiter *, volt_mailbox_node **, volt_waker), volt_mailbox_recv),
    FN(int (*)(volt_mailbox *, volt_mailbox_node **, uint64_t), volt_mailbox_recv_blocking),
    FN(bool (*)(volt_mailbox *, volt_waiter *), volt_mailbox_cancel),
    FN(volt_future *(*)(volt_future *, volt_mailbox *, volt_mailbox_node **),
       volt_mailbox_recv_future),
    FN(uint64_t (*)(const volt_mailbox *), volt_mailbox_len),
    FN(uint32_t (*)(const volt_mailbox *), volt_mailbox_waiters),
    FN(bool (*)(const volt_mailbox *), volt_mailbox_is_closed),
    /* oneshot.h */
    FN(void (*)(volt_oneshot *, size_t, void *), volt_oneshot_init),
    FN(void (*)(volt_oneshot *), volt_oneshot_destroy),
    FN(int (*)(volt_oneshot *, const void *), volt_oneshot_send),
    FN(void (*)(volt_oneshot *), volt_oneshot_close),
    FN(int (*)(volt_oneshot *, void *), volt_oneshot_try_recv),
    FN(int (*)(volt_oneshot *, volt_waiter *, void *, volt_waker), volt_oneshot_recv),
    FN(int (*)(volt_oneshot *, void *, uint64_t), volt_oneshot_recv_blocking),
    FN(bool (*)(volt_oneshot *, volt_waiter *), volt_oneshot_cancel),
    FN(volt_future *(*)(volt_future *, volt_oneshot *, void *), volt_oneshot_recv_future),
    FN(volt_future *(*)(volt_future *, volt_oneshot *), volt_oneshot_closed_future),
    FN(bool (*)(const volt_oneshot *), volt_oneshot_is_closed),
    FN(bool (*)(const volt_oneshot *), volt_oneshot_is_empty),
    FN(uint32_t (*)(const volt_oneshot *), volt_oneshot_waiters),
    /* broadcast.h */
    FN(size_t (*)(uint32_t, size_t), volt_broadcast_bytes),
    FN(int (*)(volt_broadcast *, uint32_t, size_t, void *, size_t), volt_broadcast_init),
    FN(void (*)(volt_broadcast *), volt_broadcast_destroy),
    FN(void (*)(volt_broadcast *), volt_broadcast_close),
    FN(int (*)(volt_broadcast *, const void *), volt_broadcast_send),
    FN(void (*)(volt_broadcast *, volt_broadcast_receiver *), volt_broadcast_subscribe),
    FN(int (*)(volt_broadcast_receiver *, void *), volt_broadcast_try_recv),
    FN(int (*)(volt_broadcast_receiver *, volt_waiter *, void *, volt_waker), volt_broadcast_recv),
    FN(int (*)(volt_broadcast_receiver *, void *, uint64_t), volt_broadcast_recv_blocking),
    FN(bool (*)(volt_broadcast_receiver *, volt_waiter *), volt_broadcast_cancel),
    FN(volt_future *(*)(volt_future *, volt_broadcast_receiver *, void *),
       volt_broadcast_recv_future),
    FN(uint64_t (*)(const volt_broadcast_receiver *), volt_broadcast_lost),
    FN(uint64_t (*)(const volt_broadcast_receiver *), volt_broadcast_len),
    FN(uint64_t (*)(const volt_broadcast_receiver *), volt_broadcast_lag),
    FN(uint64_t (*)(const volt_broadcast *), volt_broadcast_sent),
    FN(bool (*)(const volt_broadcast *), volt_broadcast_is_closed),
    FN(uint32_t (*)(const volt_broadcast *), volt_broadcast_waiters),
    /* watch.h */
    FN(void (*)(volt_watch *, size_t, void *, const void *), volt_watch_init),
    FN(void (*)(volt_watch *), volt_watch_destroy),
    FN(int (*)(volt_watch *, const void *), volt_watch_send),
    FN(int (*)(volt_watch *, volt_watch_fn *, void *), volt_watch_modify),
    FN(void (*)(volt_watch *), volt_watch_close),
    FN(uint64_t (*)(volt_watch *, void *), volt_watch_get),
    FN(int (*)(volt_watch *, uint64_t *), volt_watch_try_changed),
    FN(int (*)(volt_watch *, uint64_t *, volt_waiter *, volt_waker), volt_watch_changed),
    FN(int (*)(volt_watch *, uint64_t *, uint64_t), volt_watch_changed_blocking),
    FN(bool (*)(volt_watch *, volt_waiter *), volt_watch_cancel),
    FN(volt_future *(*)(volt_future *, volt_watch *, uint64_t *), volt_watch_changed_future),
    FN(uint64_t (*)(const volt_watch *), volt_watch_version),
    FN(bool (*)(const volt_watch *), volt_watch_is_closed),
    FN(uint32_t (*)(const volt_watch *), volt_watch_waiters),
    /* barrier.h */
    FN(void (*)(volt_barrier *, uint32_t), volt_barrier_init),
    FN(void (*)(volt_barrier *), volt_barrier_destroy),
    FN(int (*)(volt_barrier *, volt_waiter *, volt_waker), volt_barrier_wait),
    FN(int (*)(volt_barrier *, uint64_t), volt_barrier_wait_blocking),
    FN(bool (*)(volt_barrier *, volt_waiter *), volt_barrier_cancel),
    FN(volt_future *(*)(volt_future *, volt_barrier *), volt_barrier_wait_future),
    FN(uint32_t (*)(const volt_barrier *), volt_barrier_waiters),
    /* latch.h */
    FN(void (*)(volt_latch *, uint32_t), volt_latch_add_slow_),
    FN(void (*)(volt_latch *, uint32_t), volt_latch_count_down_slow_),
    FN(void (*)(volt_latch *, uint32_t), volt_latch_init),
    FN(void (*)(volt_latch *), volt_latch_destroy),
    FN(int (*)(volt_latch *, volt_waiter *, volt_waker), volt_latch_wait),
    FN(int (*)(volt_latch *, uint64_t), volt_latch_wait_blocking),
    FN(bool (*)(volt_latch *, volt_waiter *), volt_latch_cancel),
    FN(volt_future *(*)(volt_future *, volt_latch *), volt_latch_wait_future),
    FN(void (*)(volt_latch *), volt_latch_wait_no_deadline),
    FN(uint32_t (*)(const volt_latch *), volt_latch_count),
    FN(uint32_t (*)(const volt_latch *), volt_latch_waiters),
    /* once.h */
    FN(int (*)(volt_once *, volt_once_fn *, void *), volt_once_call_slow_),
    FN(void (*)(volt_once *), volt_once_init),
    FN(void (*)(volt_once *), volt_once_destroy),
    FN(int (*)(volt_once *, volt_waiter *, volt_waker), volt_once_begin),
    FN(int (*)(volt_once *, uint64_t), volt_once_begin_blocking),
    FN(int (*)(volt_waiter *), volt_once_result),
    FN(bool (*)(volt_once *, volt_waiter *), volt_once_cancel),
    FN(volt_future *(*)(volt_future *, volt_once *), volt_once_begin_future),
    FN(void (*)(volt_once *), volt_once_done),
    FN(void (*)(volt_once *), volt_once_failed),
    FN(uint32_t (*)(const volt_once *), volt_once_waiters),
    /* notify.h */
    FN(void (*)(volt_notify *), volt_notify_init),
    FN(void (*)(volt_notify *), volt_notify_destroy),
    FN(void (*)(volt_notify *), volt_notify_one),
    FN(void (*)(volt_notify *), volt_notify_all),
    FN(int (*)(volt_notify *, volt_waiter *, volt_waker), volt_notify_wait),
    FN(int (*)(volt_notify *, uint64_t), volt_notify_wait_blocking),
    FN(bool (*)(volt_notify *, volt_waiter *), volt_notify_cancel),
    FN(volt_future *(*)(volt_future *, volt_notify *), volt_notify_future),
    FN(uint32_t (*)(const volt_notify *), volt_notify_waiters),
    /* cond.h */
    FN(void (*)(volt_cond *), volt_cond_init),
    FN(int (*)(volt_cond *, volt_mutex *, volt_waiter *, volt_waker), volt_cond_wait),
    FN(int (*)(volt_cond *, volt_mutex *, uint64_t), volt_cond_wait_blocking),
    FN(volt_future *(*)(volt_future *, volt_cond *, volt_mutex *), volt_cond_wait_future),
    FN(bool (*)(volt_cond *, volt_waiter *), volt_cond_cancel),
    FN(bool (*)(volt_cond *, volt_waiter *, volt_waker), volt_cond_set_waker),
    FN(void (*)(volt_cond *), volt_cond_signal),
    FN(void (*)(volt_cond *), volt_cond_broadcast),
    FN(void (*)(volt_cond *), volt_cond_destroy),
    FN(uint32_t (*)(const volt_cond *), volt_cond_waiters),
    /* token.h */
    FN(void (*)(volt_token *), volt_token_init),
    FN(void (*)(volt_token *, volt_token *), volt_token_init_child),
    FN(void (*)(volt_token *), volt_token_cancel),
    FN(int (*)(volt_token *, volt_waiter *, volt_waker), volt_token_wait),
    FN(int (*)(volt_token *, uint64_t), volt_token_wait_blocking),
    FN(volt_future *(*)(volt_future *, volt_token *), volt_token_future),
    FN(bool (*)(volt_token *, volt_waiter *), volt_token_cancel_wait),
    FN(uint32_t (*)(const volt_token *), volt_token_waiters),
    FN(void (*)(volt_token *), volt_token_destroy),
};

static void every_function_has_a_symbol(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) assert_true(others[i] != NULL);
}

static void twins_of_the_latch(void **state) {
  (void)state;
  volt_latch latch = VOLT_LATCH_INIT(0);
  volt_waiter w = VOLT_WAITER_INIT;
  fake_waker waker;
  fake_waker_init(&waker, 0, NULL);
  assert_result(latch_try_wait(&latch), VOLT_OK);
  latch_add(&latch, 4);
  assert_result(latch_try_wait(&latch), VOLT_EAGAIN);
  latch_count_down(&latch, 2);
  assert_int_equal(volt_latch_count(&latch), 2);
  assert_result(volt_latch_wait(&latch, &w, fake_waker_of(&waker)), VOLT_PENDING);
  latch_add(&latch, 1);
  latch_done(&latch);
  assert_int_equal(fake_waker_calls(&waker), 0);
  latch_count_down(&latch, 2);
  assert_result(volt_waiter_result(&w), VOLT_OK);
  assert_int_equal(fake_waker_calls(&waker), 1);
  assert_result(latch_try_wait(&latch), VOLT_OK);
  volt_latch_destroy(&latch);
}

static int count_and_return(void *arg) {
  int *calls = (int *)arg;
  *calls += 1;
  return *calls == 1 ? VOLT_ENOMEM : VOLT_OK;
}

static void twins_of_the_once(void **state) {
  (void)state;
  volt_once once = VOLT_ONCE_INIT;
  int calls = 0;
  assert_result(once_call(&once, count_and_return, &calls), VOLT_ENOMEM);
  assert_false(once_is_done(&once));
  assert_result(once_call(&once, count_and_return, &calls), VOLT_OK);
  assert_true(once_is_done(&once));
  assert_result(once_call(&once, count_and_return, &calls), VOLT_OK);
  assert_int_equal(calls, 2);
  volt_once_destroy(&once);
}

static void twin_of_the_token(void **state) {
  (void)state;
  volt_token token = VOLT_TOKEN_INIT;
  assert_false(token_is_cancelled(&token));
  volt_token_cancel(&token);
  assert_true(token_is_cancelled(&token));
  volt_token_destroy(&token);
}

#define EVERY_TYPE(X) \
  X(volt_chan)        \
  X(volt_mailbox)     \
  X(volt_oneshot)     \
  X(volt_broadcast)   \
  X(volt_watch)       \
  X(volt_barrier)     \
  X(volt_latch)       \
  X(volt_once)        \
  X(volt_notify)      \
  X(volt_cond)        \
  X(volt_token)

/* malloc() can place them, and the hot word comes first. */
static void alignment(void **state) {
  (void)state;
#define ALIGNED(type) assert_true(_Alignof(type) <= _Alignof(max_align_t));
#define WORD_FIRST(type) assert_int_equal(offsetof(type, queue.word), 0);
  EVERY_TYPE(ALIGNED)
  EVERY_TYPE(WORD_FIRST)
#undef WORD_FIRST
#undef ALIGNED
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_function_has_a_symbol),
      cmocka_unit_test(twins_of_the_latch),
      cmocka_unit_test(twins_of_the_once),
      cmocka_unit_test(twin_of_the_token),
      cmocka_unit_test(alignment),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
