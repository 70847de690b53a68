/* channel_end_test.c: who awaits the close of a channel, and senders that are counted. */
#include "alloc_count.h"
#include "death.h"
#include "fake_waker.h"
#include "poller.h"

static volt_chan c;
static uint64_t ring[16];
static uint64_t elem;
static volt_waiter w;
static volt_future f;
static volt_future g;
static fake_waker a;
static fake_waker b;

static int set_up(void **state) {
  (void)state;
  memset((void *)&c, 0xee, sizeof c);
  assert_result(volt_chan_init(&c, 2, sizeof elem, ring, sizeof ring), VOLT_OK);
  memset((void *)&w, 0, sizeof w);
  fake_waker_init(&a, 0, NULL);
  fake_waker_init(&b, 1, NULL);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  volt_chan_destroy(&c, NULL, NULL);
  return 0;
}

static int poll(volt_future *future, fake_waker *waker) {
  return volt_future_poll(future, fake_waker_of(waker));
}

/* ---- who awaits the close ---- */

static void it_is_ready_when_it_is_closed(void **state) {
  (void)state;
  assert_ptr_equal(volt_chan_closed_future(&f, &c), &f);
  assert_result(poll(&f, &a), VOLT_PENDING);
  assert_int_equal(fake_waker_calls(&a), 0);
  volt_chan_close(&c);
  assert_int_equal(fake_waker_calls(&a), 1);
  assert_result(poll(&f, &a), VOLT_OK);
  volt_chan_close(&c); /* does nothing more */
  assert_int_equal(fake_waker_calls(&a), 1);
  volt_chan_closed_future(&g, &c);
  assert_result(poll(&g, &b), VOLT_OK);
}

static void it_takes_no_place_in_the_fifo(void **state) {
  (void)state;
  uint64_t got = 0;
  volt_chan_closed_future(&f, &c);
  assert_result(poll(&f, &a), VOLT_PENDING);
  assert_int_equal(volt_chan_waiters(&c), 0);
  for (elem = 1; elem <= 40; elem++) { /* around the ring, and through the lock */
    assert_result(volt_chan_recv(&c, &w, &got, fake_waker_of(&b)), VOLT_PENDING);
    assert_result(volt_chan_try_send(&c, &elem), VOLT_OK);
    assert_int_equal(got, elem);
    assert_result(volt_chan_try_send(&c, &elem), VOLT_OK);
    assert_result(volt_chan_try_recv(&c, &got), VOLT_OK);
  }
  assert_result(poll(&f, &a), VOLT_PENDING);
  assert_int_equal(volt_chan_len(&c), 0);
  volt_chan_close(&c);
  assert_int_equal(fake_waker_calls(&a), 1);
  assert_result(poll(&f, &a), VOLT_OK);
}

/* The first watcher comes while somebody is queued: the word is under its lock then. */
static void it_watches_a_channel_that_is_queued_on(void **state) {
  for (int closed_first = 0; closed_first < 2; closed_first++) {
    set_up(state);
    uint64_t got = 0;
    assert_result(volt_chan_recv(&c, &w, &got, fake_waker_of(&b)), VOLT_PENDING);
    if (closed_first) volt_chan_close(&c);
    volt_chan_closed_future(&f, &c);
    assert_result(poll(&f, &a), closed_first ? VOLT_OK : VOLT_PENDING);
    volt_chan_close(&c);
    assert_result(volt_waiter_result(&w), VOLT_ECLOSED);
    assert_int_equal(fake_waker_calls(&b), 1);
    assert_int_equal(fake_waker_calls(&a), closed_first ? 0 : 1);
    assert_result(poll(&f, &a), VOLT_OK);
  }
}

/* Behind those who are queued, oldest first, however many they are. */
static void all_who_watch_are_told(void **state) {
  (void)state;
  enum { CROWD = 40 };
  static volt_future crowd[CROWD];
  static fake_waker wakers[CROWD + 1];
  static wake_log log;
  uint64_t got = 0;
  wake_log_init(&log);
  for (uint32_t i = 0; i <= CROWD; i++) fake_waker_init(&wakers[i], i, &log);
  for (uint32_t i = 0; i < CROWD; i++) {
    volt_chan_closed_future(&crowd[i], &c);
    assert_result(poll(&crowd[i], &wakers[i + 1]), VOLT_PENDING);
  }
  assert_result(volt_chan_recv(&c, &w, &got, fake_waker_of(&wakers[0])), VOLT_PENDING);
  volt_chan_close(&c);
  assert_true(wake_log_is_run(&log, 0, CROWD + 1));
  for (uint32_t i = 0; i < CROWD; i++) assert_result(poll(&crowd[i], &a), VOLT_OK);
}

static void watching_can_be_given_up(void **state) {
  for (int late = 0; late < 2; late++) {
    set_up(state);
    poller p;
    poller_init(&p);
    volt_chan_closed_future(&f, &c);
    assert_result(poller_poll(&p, &f), VOLT_PENDING);
    if (late) volt_chan_close(&c);
    volt_future_cancel(&f);
    poller_expect(&p, 1, late ? 1 : 0, late ? 0 : 1);
    assert_result(poll(&f, &a), VOLT_ECANCELED);
  }
}

static void a_sender_waits_for_a_place_or_the_end(void **state) {
  (void)state;
  volt_select s;
  volt_future *branches[] = {volt_chan_closed_future(&f, &c), volt_chan_send_future(&g, &c, &elem)};
  while (volt_chan_try_send(&c, &elem) == VOLT_OK) {
  }
  volt_select_future(&s, branches, 2, VOLT_SELECT_BIASED);
  assert_result(volt_future_poll(&s.future, fake_waker_of(&a)), VOLT_PENDING);
  volt_chan_close(&c);
  assert_result(volt_future_poll(&s.future, fake_waker_of(&a)), VOLT_OK);
  assert_int_equal(volt_select_winner(&s), 0);
}

/* ---- counted senders ---- */

static void the_last_drop_closes(void **state) {
  (void)state;
  assert_int_equal(volt_chan_senders(&c), 0);
  assert_result(volt_chan_add_sender(&c), VOLT_OK);
  assert_result(volt_chan_add_sender(&c), VOLT_OK);
  assert_int_equal(volt_chan_senders(&c), 2);
  assert_result(volt_chan_try_send(&c, &elem), VOLT_OK);
  volt_chan_drop_sender(&c);
  assert_false(volt_chan_is_closed(&c));
  assert_result(volt_chan_add_sender(&c), VOLT_OK);
  volt_chan_drop_sender(&c);
  assert_int_equal(volt_chan_senders(&c), 1);
  volt_chan_closed_future(&f, &c);
  assert_result(poll(&f, &a), VOLT_PENDING);
  volt_chan_drop_sender(&c);
  assert_int_equal(volt_chan_senders(&c), 0);
  assert_true(volt_chan_is_closed(&c));
  assert_int_equal(fake_waker_calls(&a), 1);
  assert_result(volt_chan_try_send(&c, &elem), VOLT_ECLOSED);
  assert_result(volt_chan_try_recv(&c, &elem), VOLT_OK); /* it drains */
  assert_result(volt_chan_try_recv(&c, &elem), VOLT_ECLOSED);
}

static void after_the_last_none_comes(void **state) {
  (void)state;
  assert_result(volt_chan_add_sender(&c), VOLT_OK);
  volt_chan_drop_sender(&c);
  assert_result(volt_chan_add_sender(&c), VOLT_ECLOSED);
  assert_int_equal(volt_chan_senders(&c), 0);
}

static void closed_otherwise_it_counts_on(void **state) {
  (void)state;
  assert_result(volt_chan_add_sender(&c), VOLT_OK);
  volt_chan_close(&c);
  assert_result(volt_chan_add_sender(&c), VOLT_OK);
  volt_chan_drop_sender(&c);
  volt_chan_drop_sender(&c);
  assert_result(volt_chan_add_sender(&c), VOLT_ECLOSED);
}

static void receivers_who_wait_are_told_by_the_last(void **state) {
  (void)state;
  assert_result(volt_chan_add_sender(&c), VOLT_OK);
  assert_result(volt_chan_recv(&c, &w, &elem, fake_waker_of(&a)), VOLT_PENDING);
  volt_chan_drop_sender(&c);
  assert_int_equal(fake_waker_calls(&a), 1);
  assert_result(volt_waiter_result(&w), VOLT_ECLOSED);
}

/* ---- misuse, memory ---- */

static void destroy_it(void *arg) {
  volt_chan_destroy((volt_chan *)arg, NULL, NULL);
}

static void drop_one(void *arg) {
  volt_chan_drop_sender((volt_chan *)arg);
}

static void misuse_aborts(void **state) {
  (void)state;
  assert_death(drop_one, &c, "volt_chan", death_address(&c), "never added");
  volt_chan_closed_future(&f, &c);
  assert_result(poll(&f, &a), VOLT_PENDING);
  assert_death(destroy_it, &c, "volt_chan", "1 waiters");
  assert_result(volt_chan_add_sender(&c), VOLT_OK);
  volt_chan_drop_sender(&c);
  assert_death(drop_one, &c, "volt_chan", death_address(&c), "never added");
}

static void nothing_is_allocated(void **state) {
  uint64_t before = alloc_count_allocations();
  it_is_ready_when_it_is_closed(state);
  assert_int_equal(alloc_count_allocations(), before);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(it_is_ready_when_it_is_closed),
      TEST(it_takes_no_place_in_the_fifo),
      TEST(it_watches_a_channel_that_is_queued_on),
      TEST(all_who_watch_are_told),
      TEST(watching_can_be_given_up),
      TEST(a_sender_waits_for_a_place_or_the_end),
      TEST(the_last_drop_closes),
      TEST(after_the_last_none_comes),
      TEST(closed_otherwise_it_counts_on),
      TEST(receivers_who_wait_are_told_by_the_last),
      TEST(misuse_aborts),
      TEST(nothing_is_allocated),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
