/* channel_batch_test.c: several elements at once: as many as there are, or there is room for, at
 * least one, in their order. */
#include "channel_crowd.h"

enum { MOST = 200 };

static channel_crowd c;
static uint32_t from[MOST]; /* 0, 1, 2, ... */
static uint32_t into[MOST];

static int set_up(void **state) {
  (void)state;
  for (uint32_t i = 0; i < MOST; i++) from[i] = i;
  memset(into, 0xff, sizeof into);
  return 0;
}

/* into is a run of count from first on, and is not written behind it. */
static void expect_into(uint32_t first, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) assert_int_equal(into[i], first + i);
  for (uint32_t i = count; i < MOST; i++) assert_int_equal(into[i], UINT32_MAX);
  memset(into, 0xff, sizeof into);
}

static void try_send_many(uint32_t first, uint32_t n, int result, uint32_t want) {
  uint32_t moved = 99;
  assert_result(volt_chan_try_send_many(&c.chan, from + first, n, &moved), result);
  assert_int_equal(moved, want);
}

static void try_recv_many(uint32_t n, int result, uint32_t first, uint32_t want) {
  uint32_t moved = 99;
  assert_result(volt_chan_try_recv_many(&c.chan, into, n, &moved), result);
  assert_int_equal(moved, want);
  expect_into(first, want);
}

static uint32_t min_of(uint32_t a, uint32_t b) {
  return a < b ? a : b;
}

static void as_many_as_there_are(void **state) {
  (void)state;
  static const uint32_t capacities[] = {1, 2, 3, 5, 64, 100};
  for (size_t i = 0; i < sizeof capacities / sizeof capacities[0]; i++) {
    uint32_t capacity = capacities[i];
    for (uint32_t n = 1; n <= capacity + 2; n++) {
      channel_crowd_init(&c, capacity);
      uint32_t sent = 0;
      for (uint32_t k; sent < capacity; sent += k) {
        k = min_of(n, capacity - sent);
        try_send_many(sent, n, VOLT_OK, k);
      }
      try_send_many(0, n, VOLT_EAGAIN, 0);
      for (uint32_t got = 0; got < sent; got += min_of(n, sent - got)) {
        try_recv_many(n, VOLT_OK, got, min_of(n, sent - got));
      }
      try_recv_many(n, VOLT_EAGAIN, 0, 0);
      channel_crowd_destroy(&c);
    }
  }
}

static void none_at_all(void **state) {
  (void)state;
  const volt_waker nobody = {NULL, NULL};
  volt_waiter w = VOLT_WAITER_INIT;
  volt_future f;
  uint32_t moved = 99;
  channel_crowd_init(&c, 1);
  try_send_many(0, 0, VOLT_OK, 0);
  try_recv_many(0, VOLT_OK, 0, 0);
  assert_result(volt_chan_send_many(&c.chan, &w, from, 0, nobody), VOLT_EINVAL);
  assert_result(volt_chan_recv_many(&c.chan, &w, into, 0, nobody), VOLT_EINVAL);
  assert_result(volt_chan_send_many_blocking(&c.chan, from, 0, &moved, PAST_DEADLINE), VOLT_EINVAL);
  assert_int_equal(moved, 0);
  moved = 99;
  assert_result(volt_chan_recv_many_blocking(&c.chan, into, 0, &moved, PAST_DEADLINE), VOLT_EINVAL);
  assert_int_equal(moved, 0);
  volt_chan_send_many_future(&f, &c.chan, from, 0);
  assert_result(volt_future_poll(&f, nobody), VOLT_EINVAL);
  volt_chan_recv_many_future(&f, &c.chan, into, 0);
  assert_result(volt_future_poll(&f, nobody), VOLT_EINVAL);
  channel_crowd_destroy(&c);
}

/* Whoever does not want to know how many. */
static void nobody_counts(void **state) {
  (void)state;
  channel_crowd_init(&c, 2);
  assert_result(volt_chan_try_send_many(&c.chan, from, 0, NULL), VOLT_OK);
  assert_result(volt_chan_try_send_many(&c.chan, from, 3, NULL), VOLT_OK);
  assert_result(volt_chan_try_send_many(&c.chan, from, 3, NULL), VOLT_EAGAIN);
  assert_result(volt_chan_try_recv_many(&c.chan, into, 3, NULL), VOLT_OK);
  expect_into(0, 2);
  assert_result(volt_chan_try_recv_many(&c.chan, into, 3, NULL), VOLT_EAGAIN);
  assert_result(volt_chan_send_many_blocking(&c.chan, from, 1, NULL, PAST_DEADLINE), VOLT_OK);
  assert_result(volt_chan_recv_many_blocking(&c.chan, into, 1, NULL, PAST_DEADLINE), VOLT_OK);
  channel_crowd_destroy(&c);
}

/* ---- to those who wait ---- */

static void to_receivers_then_into_the_ring(void **state) {
  (void)state;
  for (uint32_t receivers = 1; receivers <= 40; receivers++) {
    for (uint32_t n = 1; n <= receivers + 5; n += receivers > 6 ? 7 : 1) {
      channel_crowd_init(&c, 3);
      channel_crowd_queue_receivers(&c, 0, receivers);
      uint32_t sent = 0;
      for (uint32_t want = min_of(n, receivers + 3); sent < want;) {
        uint32_t moved = 0;
        assert_result(volt_chan_try_send_many(&c.chan, from + sent, n - sent, &moved), VOLT_OK);
        assert_in_range(moved, min_of(want - sent, 32), want - sent); /* a batch of them at least */
        sent += moved;
      }
      uint32_t served = min_of(n, receivers);
      channel_crowd_expect_elems(&c, 0, served, 0);
      channel_crowd_expect_run(&c, 0, served, VOLT_OK, 1);
      channel_crowd_expect_run(&c, served, receivers - served, VOLT_PENDING, 0);
      channel_crowd_expect_chan(&c, receivers - served, sent - served);
      channel_crowd_drain(&c, served, sent - served);
      volt_chan_close(&c.chan);
      channel_crowd_destroy(&c);
    }
  }
}

/* Each of the receivers wants three. */
static void a_batch_for_batches(void **state) {
  (void)state;
  enum { RECEIVERS = 3, EACH = 3 };
  for (uint32_t n = 1; n <= RECEIVERS * EACH + 3; n++) {
    uint32_t got[RECEIVERS][EACH];
    channel_crowd_init(&c, 2);
    memset(got, 0xff, sizeof got);
    for (uint32_t i = 0; i < RECEIVERS; i++) {
      assert_result(
          volt_chan_recv_many(&c.chan, &c.waiters[i], got[i], EACH, hostile_waker_of(&c.wakers[i])),
          VOLT_PENDING);
    }
    uint32_t all = min_of(n, RECEIVERS * EACH + 2);
    try_send_many(0, n, VOLT_OK, all);
    for (uint32_t i = 0; i < RECEIVERS; i++) {
      uint32_t begin = i * EACH;
      uint32_t count = n <= begin ? 0 : min_of(EACH, n - begin);
      channel_crowd_expect(&c, i, count ? VOLT_OK : VOLT_PENDING, count ? 1 : 0);
      if (count) assert_int_equal(volt_chan_moved(&c.waiters[i]), count);
      for (uint32_t j = 0; j < EACH; j++) {
        assert_int_equal(got[i][j], j < count ? begin + j : UINT32_MAX);
      }
    }
    if (n > RECEIVERS * EACH) channel_crowd_drain(&c, RECEIVERS * EACH, all - RECEIVERS * EACH);
    volt_chan_close(&c.chan);
    channel_crowd_destroy(&c);
  }
}

/* Each place that a batch makes goes to who waits, as far as it goes. */
static void the_places_of_a_batch(void **state) {
  (void)state;
  for (uint32_t n = 1; n <= 6; n++) {
    channel_crowd_init(&c, 5);
    channel_crowd_fill(&c, 100, 5);
    channel_crowd_queue_senders(&c, 0, 3);
    uint32_t k = min_of(n, 5);
    try_recv_many(n, VOLT_OK, 100, k);
    channel_crowd_expect_run(&c, 0, min_of(k, 3), VOLT_OK, 1);
    channel_crowd_expect_chan(&c, 3 - min_of(k, 3), 5 - k + min_of(k, 3));
    channel_crowd_drain(&c, 100 + k, 5 - k);
    channel_crowd_drain(&c, 0, 3);
    channel_crowd_destroy(&c);
  }
}

/* More senders than one receive serves at once: each place that is made has its sender. */
static void the_places_of_a_large_batch(void **state) {
  (void)state;
  enum { CAPACITY = 64, SENDERS = 40 };
  for (uint32_t n = 31; n <= CAPACITY; n++) {
    channel_crowd_init(&c, CAPACITY);
    channel_crowd_fill(&c, 100, CAPACITY);
    channel_crowd_queue_senders(&c, 0, SENDERS);
    for (uint32_t received = 0; received < n;) {
      uint32_t moved = 0;
      assert_result(volt_chan_try_recv_many(&c.chan, into, n - received, &moved), VOLT_OK);
      assert_in_range(moved, min_of(n - received, 32), n - received);
      expect_into(100 + received, moved);
      received += moved;
      uint32_t served = min_of(received, SENDERS);
      channel_crowd_expect_chan(&c, SENDERS - served, CAPACITY - received + served);
      channel_crowd_expect_run(&c, 0, served, VOLT_OK, 1);
    }
    channel_crowd_drain(&c, 100 + n, CAPACITY - n);
    channel_crowd_drain(&c, 0, SENDERS);
    channel_crowd_destroy(&c);
  }
}

/* A sender of many waits, and sends what there is room for: not the rest. */
static void a_waiting_batch_sends_a_part(void **state) {
  (void)state;
  for (uint32_t room = 1; room <= 5; room++) {
    channel_crowd_init(&c, 5);
    channel_crowd_fill(&c, 100, 5);
    assert_result(
        volt_chan_send_many(&c.chan, &c.waiters[0], from, 3, hostile_waker_of(&c.wakers[0])),
        VOLT_PENDING);
    channel_crowd_queue_senders(&c, 50, 1);
    try_recv_many(room, VOLT_OK, 100, room);
    uint32_t sent = min_of(room, 3);
    channel_crowd_expect(&c, 0, VOLT_OK, 1);
    assert_int_equal(volt_chan_moved(&c.waiters[0]), sent);
    channel_crowd_expect(&c, 50, room > 3 ? VOLT_OK : VOLT_PENDING, room > 3);
    channel_crowd_drain(&c, 100 + room, 5 - room);
    channel_crowd_drain(&c, 0, sent);
    channel_crowd_drain(&c, 50, 1);
    channel_crowd_destroy(&c);
  }
}

static void a_waiting_batch_is_cancelled(void **state) {
  (void)state;
  const volt_waker nobody = {NULL, NULL};
  channel_crowd_init(&c, 1);
  assert_result(volt_chan_recv_many(&c.chan, &c.waiters[0], into, 5, nobody), VOLT_PENDING);
  assert_true(channel_crowd_cancel_recv(&c, 0));
  channel_crowd_fill(&c, 100, 1);
  expect_into(0, 0);
  assert_result(volt_chan_send_many(&c.chan, &c.waiters[0], from, 5, nobody), VOLT_PENDING);
  assert_true(channel_crowd_cancel_send(&c, 0));
  channel_crowd_drain(&c, 100, 1);
  channel_crowd_destroy(&c);
}

/* ---- blocking, futures ---- */

static void blocking_and_futures_tell_how_many(void **state) {
  (void)state;
  const volt_waker nobody = {NULL, NULL};
  volt_future f;
  uint32_t moved = 99;
  channel_crowd_init(&c, 4);
  assert_result(volt_chan_send_many_blocking(&c.chan, from, 3, &moved, PAST_DEADLINE), VOLT_OK);
  assert_int_equal(moved, 3);
  volt_chan_send_many_future(&f, &c.chan, from + 3, 3);
  assert_result(volt_future_poll(&f, nobody), VOLT_OK);
  assert_int_equal(volt_chan_future_moved(&f), 1);
  assert_result(volt_chan_send_many_blocking(&c.chan, from, 3, &moved, PAST_DEADLINE),
                VOLT_ETIMEDOUT);
  assert_int_equal(moved, 0);
  volt_chan_send_many_future(&f, &c.chan, from + 4, 3);
  assert_result(volt_future_poll(&f, nobody), VOLT_PENDING);
  moved = 99;
  assert_result(volt_chan_recv_many_blocking(&c.chan, into, 2, &moved, PAST_DEADLINE), VOLT_OK);
  assert_int_equal(moved, 2);
  expect_into(0, 2);
  assert_result(volt_future_poll(&f, nobody), VOLT_OK);
  assert_int_equal(volt_chan_future_moved(&f), 2);
  volt_chan_recv_many_future(&f, &c.chan, into, MOST);
  assert_result(volt_future_poll(&f, nobody), VOLT_OK);
  assert_int_equal(volt_chan_future_moved(&f), 4);
  expect_into(2, 4);
  volt_chan_recv_many_future(&f, &c.chan, into, MOST);
  assert_result(volt_future_poll(&f, nobody), VOLT_PENDING);
  try_send_many(7, 2, VOLT_OK, 2);
  volt_future_cancel(&f); /* it was granted: it stands */
  assert_result(volt_future_poll(&f, nobody), VOLT_OK);
  assert_int_equal(volt_chan_future_moved(&f), 2);
  expect_into(7, 2);
  channel_crowd_destroy(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(as_many_as_there_are, set_up),
      cmocka_unit_test_setup(none_at_all, set_up),
      cmocka_unit_test_setup(nobody_counts, set_up),
      cmocka_unit_test_setup(to_receivers_then_into_the_ring, set_up),
      cmocka_unit_test_setup(a_batch_for_batches, set_up),
      cmocka_unit_test_setup(the_places_of_a_batch, set_up),
      cmocka_unit_test_setup(the_places_of_a_large_batch, set_up),
      cmocka_unit_test_setup(a_waiting_batch_sends_a_part, set_up),
      cmocka_unit_test_setup(a_waiting_batch_is_cancelled, set_up),
      cmocka_unit_test_setup(blocking_and_futures_tell_how_many, set_up),
  };
  return cmocka_run_group_tests_name("many elements at once", tests, NULL, NULL);
}
