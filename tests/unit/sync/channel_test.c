/* channel_test.c: what volt/channel.h says of sends and receives, of one element and of several:
 * order, who waits, what is full and what is empty. */
#include <errno.h>

#include "channel_crowd.h"
#include "family.h"

FAMILY(channel, uint64_t slot[4]; uint64_t value = 7; volt_chan it[1];
       FAMILY_OK(volt_chan_init(it, 1, sizeof value, slot, sizeof slot)),
       volt_chan_recv_waiter(it, w, &value, waker), volt_chan_recv_until(it, &value, past),
       volt_chan_recv_future(f, it, &value), FAMILY_OK(volt_chan_try_send(it, &value)),
       volt_chan_close(it);
       volt_chan_destroy(it, NULL, NULL))

static channel_crowd c;

/* ---- life ---- */

static void bytes_for_every_place(void **state) {
  (void)state;
  assert_int_equal(volt_chan_bytes(1, 0), 8);
  assert_int_equal(volt_chan_bytes(1, 1), 16);
  assert_int_equal(volt_chan_bytes(1, 8), 16);
  assert_int_equal(volt_chan_bytes(2, 9), 48);
  assert_int_equal(volt_chan_bytes(3, 24), 4 * 32); /* a power of two */
  assert_int_equal(volt_chan_bytes(64, 8), 64 * 16);
  assert_int_equal(volt_chan_bytes(65, 8), 128 * 16);
  assert_int_equal(volt_chan_bytes(VOLT_CHAN_MAX, 8), (size_t)VOLT_CHAN_MAX * 16);
}

static void there_is_no_such_channel(void **state) {
  (void)state;
  assert_int_equal(volt_chan_bytes(0, 8), 0);
  assert_int_equal(volt_chan_bytes(VOLT_CHAN_MAX + 1, 8), 0);
  assert_int_equal(volt_chan_bytes(UINT32_MAX, 8), 0);
  assert_int_equal(volt_chan_bytes(1, SIZE_MAX), 0);
  assert_int_equal(volt_chan_bytes(1, (size_t)UINT32_MAX), 0);
}

static void a_refused_init_touches_nothing(void **state) {
  (void)state;
  volt_chan chan;
  volt_chan before;
  uint64_t memory[8];
  memset((void *)&chan, 0x5a, sizeof chan);
  memcpy((void *)&before, (void *)&chan, sizeof chan);
  unsigned char *odd = (unsigned char *)memory + 4;
  assert_result(volt_chan_init(&chan, 0, 8, memory, sizeof memory), VOLT_EINVAL);
  assert_result(volt_chan_init(&chan, VOLT_CHAN_MAX + 1, 0, memory, SIZE_MAX), VOLT_EINVAL);
  assert_result(volt_chan_init(&chan, 1, SIZE_MAX, memory, SIZE_MAX), VOLT_EINVAL);
  assert_result(volt_chan_init(&chan, 4, 8, memory, sizeof memory - 1), VOLT_EINVAL);
  assert_result(volt_chan_init(&chan, 4, 8, NULL, sizeof memory), VOLT_EINVAL);
  assert_result(volt_chan_init(&chan, 1, 8, odd, 16), VOLT_EINVAL);
  assert_memory_equal(&chan, &before, sizeof chan);
  assert_result(volt_chan_init(&chan, 4, 8, memory, sizeof memory), VOLT_OK);
  volt_chan_destroy(&chan, NULL, NULL);
}

static void it_begins_empty(void **state) {
  (void)state;
  for (uint32_t capacity = 1; capacity <= 9; capacity++) {
    channel_crowd_init(&c, capacity);
    assert_int_equal(volt_chan_capacity(&c.chan), capacity);
    assert_false(volt_chan_is_closed(&c.chan));
    channel_crowd_expect_chan(&c, 0, 0);
    channel_crowd_expect_try_recv(&c, VOLT_EAGAIN, 0);
    channel_crowd_destroy(&c);
  }
}

/* ---- through the ring ---- */

static const uint32_t capacities[] = {1, 2, 3, 5, 8, 64, 100};
enum { CAPACITIES = sizeof capacities / sizeof capacities[0] };

static void full_is_full(void **state) {
  (void)state;
  for (int i = 0; i < CAPACITIES; i++) {
    channel_crowd_init(&c, capacities[i]);
    for (uint32_t lap = 0; lap < 5; lap++) {
      channel_crowd_fill(&c, 1000 * lap, capacities[i]);
      assert_result(channel_crowd_try_send(&c, 999), VOLT_EAGAIN);
      channel_crowd_expect_chan(&c, 0, capacities[i]);
      channel_crowd_drain(&c, 1000 * lap, capacities[i]);
      channel_crowd_expect_try_recv(&c, VOLT_EAGAIN, 0);
    }
    channel_crowd_destroy(&c);
  }
}

/* With any number of elements in it, round and round. */
static void first_in_first_out(void **state) {
  (void)state;
  for (int i = 0; i < CAPACITIES; i++) {
    for (uint32_t len = 0; len < capacities[i]; len++) {
      channel_crowd_init(&c, capacities[i]);
      channel_crowd_fill(&c, 0, len);
      for (uint32_t at = 0; at < 3 * capacities[i]; at++) {
        channel_crowd_fill(&c, len + at, 1);
        channel_crowd_drain(&c, at, 1);
        assert_int_equal(volt_chan_len(&c.chan), len);
      }
      channel_crowd_drain(&c, 3 * capacities[i], len);
      channel_crowd_destroy(&c);
    }
  }
}

/* Positions count modulo 2^28, and so does the turn of a slot: start a little below. */
static void positions_wrap_around(void **state) {
  (void)state;
  for (int i = 0; i < CAPACITIES; i++) {
    channel_crowd_init(&c, capacities[i]);
    uint32_t slots = UINT32_C(1) << c.chan.shift;
    uint32_t start = volt_chan_wrap_(0 - 2 * slots);
    volt_store_relaxed(&c.chan.queue.word, volt_chan_word_(start, 0));
    for (uint32_t j = 0; j < slots; j++) { /* start is at the first slot */
      unsigned char *slot = c.chan.slots + (size_t)j * c.chan.stride;
      uint32_t sequence = start >> c.chan.shift << 1;
      volt_store_relaxed(&((volt_chan_slot *)(void *)slot)->sequence, sequence);
    }
    for (uint32_t lap = 0; lap < 6; lap++) {
      channel_crowd_fill(&c, 1000 * lap, capacities[i]);
      channel_crowd_queue_senders(&c, 0, 1);
      channel_crowd_drain(&c, 1000 * lap, capacities[i]);
      channel_crowd_drain(&c, 0, 1);
      channel_crowd_queue_receivers(&c, 1, 1);
      channel_crowd_fill(&c, 7, 1);
      channel_crowd_expect_elem(&c, 1, 7);
    }
    assert_true(volt_chan_tail_in_(volt_load_relaxed(&c.chan.queue.word)) < start);
    channel_crowd_destroy(&c);
  }
}

/* ---- who waits ---- */

static void a_send_that_need_not_wait(void **state) {
  (void)state;
  channel_crowd_init(&c, 2);
  assert_result(channel_crowd_send(&c, 0, 7), VOLT_OK);
  c.elems[0] = 0;                                 /* it was copied */
  channel_crowd_expect(&c, 0, VOLT_ECANCELED, 0); /* not used */
  channel_crowd_expect_try_recv(&c, VOLT_OK, 7);
  channel_crowd_destroy(&c);
}

static void a_receive_that_need_not_wait(void **state) {
  (void)state;
  channel_crowd_init(&c, 2);
  channel_crowd_fill(&c, 7, 1);
  assert_result(channel_crowd_recv(&c, 0), VOLT_OK);
  channel_crowd_expect(&c, 0, VOLT_ECANCELED, 0);
  channel_crowd_expect_elem(&c, 0, 7);
  channel_crowd_destroy(&c);
}

static void a_sender_waits_for_a_place(void **state) {
  (void)state;
  for (int i = 0; i < CAPACITIES; i++) {
    channel_crowd_init(&c, capacities[i]);
    channel_crowd_fill(&c, 100, capacities[i]);
    channel_crowd_queue_senders(&c, 0, 1);
    channel_crowd_expect_chan(&c, 1, capacities[i]);
    channel_crowd_expect(&c, 0, VOLT_PENDING, 0);
    channel_crowd_drain(&c, 100, 1);
    channel_crowd_expect(&c, 0, VOLT_OK, 1);
    c.elems[0] = 1; /* it was copied before the wake */
    channel_crowd_expect_chan(&c, 0, capacities[i]);
    channel_crowd_drain(&c, 101, capacities[i] - 1);
    channel_crowd_drain(&c, 0, 1);
    channel_crowd_destroy(&c);
  }
}

static void a_receiver_waits_for_an_element(void **state) {
  (void)state;
  channel_crowd_init(&c, 3);
  channel_crowd_queue_receivers(&c, 0, 1);
  channel_crowd_expect_chan(&c, 1, 0);
  channel_crowd_expect(&c, 0, VOLT_PENDING, 0);
  channel_crowd_expect_elem(&c, 0, NO_ELEMENT);
  channel_crowd_fill(&c, 7, 1);
  channel_crowd_expect(&c, 0, VOLT_OK, 1);
  channel_crowd_expect_elem(&c, 0, 7);
  channel_crowd_destroy(&c);
}

/* ---- in the order in which they came ---- */

static const uint32_t counts[] = {2, 31, 32, 33, 64, 65, CHANNEL_CROWD_MAX};
enum { COUNTS = sizeof counts / sizeof counts[0] };

static void senders_in_their_order(void **state) {
  (void)state;
  for (int i = 0; i < CAPACITIES; i++) {
    for (int j = 0; j < COUNTS; j++) {
      channel_crowd_init(&c, capacities[i]);
      channel_crowd_fill(&c, 1000, capacities[i]);
      channel_crowd_queue_senders(&c, 0, counts[j]);
      channel_crowd_expect_chan(&c, counts[j], capacities[i]);
      channel_crowd_drain(&c, 1000, capacities[i]);
      channel_crowd_drain(&c, 0, counts[j]);
      channel_crowd_expect_run(&c, 0, counts[j], VOLT_OK, 1);
      assert_true(wake_log_is_run(&c.log, 0, counts[j]));
      channel_crowd_destroy(&c);
    }
  }
}

static void receivers_in_their_order(void **state) {
  (void)state;
  for (int j = 0; j < COUNTS; j++) {
    channel_crowd_init(&c, 3);
    channel_crowd_queue_receivers(&c, 0, counts[j]);
    channel_crowd_fill(&c, 1000, counts[j]);
    channel_crowd_expect_elems(&c, 0, counts[j], 1000);
    channel_crowd_expect_run(&c, 0, counts[j], VOLT_OK, 1);
    assert_true(wake_log_is_run(&c.log, 0, counts[j]));
    channel_crowd_destroy(&c);
  }
}

/* Each receive makes one place, which belongs to the oldest who waits. */
static void nobody_overtakes_a_sender(void **state) {
  (void)state;
  channel_crowd_init(&c, 2);
  channel_crowd_fill(&c, 100, 2);
  channel_crowd_queue_senders(&c, 0, 3);
  assert_result(channel_crowd_try_send(&c, 9), VOLT_EAGAIN);
  channel_crowd_drain(&c, 100, 1);
  assert_result(channel_crowd_try_send(&c, 9), VOLT_EAGAIN);
  assert_result(channel_crowd_send(&c, 3, 3), VOLT_PENDING);
  channel_crowd_drain(&c, 101, 1);
  channel_crowd_drain(&c, 0, 4);
  assert_true(wake_log_is_run(&c.log, 0, 4));
  channel_crowd_destroy(&c);
}

static void nobody_overtakes_a_receiver(void **state) {
  (void)state;
  channel_crowd_init(&c, 2);
  channel_crowd_queue_receivers(&c, 0, 2);
  channel_crowd_expect_try_recv(&c, VOLT_EAGAIN, 0);
  channel_crowd_fill(&c, 100, 1);
  channel_crowd_expect_try_recv(&c, VOLT_EAGAIN, 0); /* it is the first one's, the second waits */
  channel_crowd_queue_receivers(&c, 2, 1);
  channel_crowd_fill(&c, 101, 3);
  channel_crowd_expect_elems(&c, 0, 3, 100);
  channel_crowd_drain(&c, 103, 1);
  channel_crowd_destroy(&c);
}

/* ---- wakers ---- */

static void another_waker(void **state) {
  (void)state;
  fake_waker other;
  fake_waker_init(&other, 0, NULL);
  channel_crowd_init(&c, 1);
  assert_false(volt_waiter_set_waker(&c.waiters[0], fake_waker_of(&other)));
  channel_crowd_queue_receivers(&c, 0, 2);
  assert_true(volt_waiter_set_waker(&c.waiters[1], fake_waker_of(&other)));
  channel_crowd_fill(&c, 7, 2);
  channel_crowd_expect(&c, 0, VOLT_OK, 1);
  channel_crowd_expect(&c, 1, VOLT_OK, 0);
  assert_int_equal(fake_waker_calls(&other), 1);
  assert_false(volt_waiter_set_waker(&c.waiters[1], fake_waker_of(&other)));
  channel_crowd_destroy(&c);
}

static void no_waker_at_all(void **state) {
  (void)state;
  const volt_waker nobody = {NULL, NULL};
  channel_crowd_init(&c, 1);
  assert_result(volt_chan_recv_waiter(&c.chan, &c.waiters[0], &c.elems[0], nobody), VOLT_PENDING);
  channel_crowd_fill(&c, 7, 1);
  channel_crowd_expect(&c, 0, VOLT_OK, 0);
  channel_crowd_expect_elem(&c, 0, 7);
  channel_crowd_destroy(&c);
}

static void errno_is_untouched(void **state) {
  (void)state;
  channel_crowd_init(&c, 1);
  errno = 4711;
  assert_result(volt_chan_recv_until(&c.chan, c.elems, PAST_DEADLINE), VOLT_ETIMEDOUT);
  assert_result(volt_chan_recv_until(&c.chan, c.elems, volt_deadline_ns(1000)), VOLT_ETIMEDOUT);
  channel_crowd_fill(&c, 7, 1);
  channel_crowd_drain(&c, 7, 1);
  assert_int_equal(errno, 4711);
  channel_crowd_destroy(&c);
}

/* ==== several elements at once ====
 *
 * As many as there are, or there is room for, at least one, in their order. */

enum { MOST = 200 };

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
  static const uint32_t sizes[] = {1, 2, 3, 5, 64, 100};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    uint32_t capacity = sizes[i];
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
  assert_result(volt_chan_send_many_waiter(&c.chan, &w, from, 0, nobody), VOLT_EINVAL);
  assert_result(volt_chan_recv_many_waiter(&c.chan, &w, into, 0, nobody), VOLT_EINVAL);
  assert_result(volt_chan_send_many_until(&c.chan, from, 0, &moved, PAST_DEADLINE), VOLT_EINVAL);
  assert_int_equal(moved, 0);
  moved = 99;
  assert_result(volt_chan_recv_many_until(&c.chan, into, 0, &moved, PAST_DEADLINE), VOLT_EINVAL);
  assert_int_equal(moved, 0);
  volt_future_made(volt_chan_send_many_future(&f, &c.chan, from, 0));
  assert_result(volt_future_poll(&f, nobody), VOLT_EINVAL);
  volt_future_made(volt_chan_recv_many_future(&f, &c.chan, into, 0));
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
  assert_result(volt_chan_send_many_until(&c.chan, from, 1, NULL, PAST_DEADLINE), VOLT_OK);
  assert_result(volt_chan_recv_many_until(&c.chan, into, 1, NULL, PAST_DEADLINE), VOLT_OK);
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
      assert_result(volt_chan_recv_many_waiter(&c.chan, &c.waiters[i], got[i], EACH,
                                               hostile_waker_of(&c.wakers[i])),
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
        volt_chan_send_many_waiter(&c.chan, &c.waiters[0], from, 3, hostile_waker_of(&c.wakers[0])),
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
  assert_result(volt_chan_recv_many_waiter(&c.chan, &c.waiters[0], into, 5, nobody), VOLT_PENDING);
  assert_true(channel_crowd_cancel_recv(&c, 0));
  channel_crowd_fill(&c, 100, 1);
  expect_into(0, 0);
  assert_result(volt_chan_send_many_waiter(&c.chan, &c.waiters[0], from, 5, nobody), VOLT_PENDING);
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
  assert_result(volt_chan_send_many_until(&c.chan, from, 3, &moved, PAST_DEADLINE), VOLT_OK);
  assert_int_equal(moved, 3);
  volt_future_made(volt_chan_send_many_future(&f, &c.chan, from + 3, 3));
  assert_result(volt_future_poll(&f, nobody), VOLT_OK);
  assert_int_equal(volt_chan_future_moved(&f), 1);
  assert_result(volt_chan_send_many_until(&c.chan, from, 3, &moved, PAST_DEADLINE), VOLT_ETIMEDOUT);
  assert_int_equal(moved, 0);
  volt_future_made(volt_chan_send_many_future(&f, &c.chan, from + 4, 3));
  assert_result(volt_future_poll(&f, nobody), VOLT_PENDING);
  moved = 99;
  assert_result(volt_chan_recv_many_until(&c.chan, into, 2, &moved, PAST_DEADLINE), VOLT_OK);
  assert_int_equal(moved, 2);
  expect_into(0, 2);
  assert_result(volt_future_poll(&f, nobody), VOLT_OK);
  assert_int_equal(volt_chan_future_moved(&f), 2);
  volt_future_made(volt_chan_recv_many_future(&f, &c.chan, into, MOST));
  assert_result(volt_future_poll(&f, nobody), VOLT_OK);
  assert_int_equal(volt_chan_future_moved(&f), 4);
  expect_into(2, 4);
  volt_future_made(volt_chan_recv_many_future(&f, &c.chan, into, MOST));
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
      FAMILY_TEST(channel),
      cmocka_unit_test(bytes_for_every_place),
      cmocka_unit_test(there_is_no_such_channel),
      cmocka_unit_test(a_refused_init_touches_nothing),
      cmocka_unit_test(it_begins_empty),
      cmocka_unit_test(full_is_full),
      cmocka_unit_test(first_in_first_out),
      cmocka_unit_test(positions_wrap_around),
      cmocka_unit_test(a_send_that_need_not_wait),
      cmocka_unit_test(a_receive_that_need_not_wait),
      cmocka_unit_test(a_sender_waits_for_a_place),
      cmocka_unit_test(a_receiver_waits_for_an_element),
      cmocka_unit_test(senders_in_their_order),
      cmocka_unit_test(receivers_in_their_order),
      cmocka_unit_test(nobody_overtakes_a_sender),
      cmocka_unit_test(nobody_overtakes_a_receiver),
      cmocka_unit_test(another_waker),
      cmocka_unit_test(no_waker_at_all),
      cmocka_unit_test(errno_is_untouched),
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
  return cmocka_run_group_tests_name("channel", tests, NULL, NULL);
}
