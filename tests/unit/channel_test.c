/* channel_test.c: what volt/channel.h says of sends and receives, one at a time: order, who waits,
 * what is full and what is empty. */
#include <errno.h>

#include "channel_crowd.h"
#include "family.h"

FAMILY(channel, uint64_t slot[4]; uint64_t value = 7; volt_chan it[1];
       FAMILY_OK(volt_chan_init(it, 1, sizeof value, slot, sizeof slot)),
       volt_chan_recv(it, w, &value, waker), volt_chan_recv_blocking(it, &value, past),
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
  assert_result(volt_chan_recv(&c.chan, &c.waiters[0], &c.elems[0], nobody), VOLT_PENDING);
  channel_crowd_fill(&c, 7, 1);
  channel_crowd_expect(&c, 0, VOLT_OK, 0);
  channel_crowd_expect_elem(&c, 0, 7);
  channel_crowd_destroy(&c);
}

static void errno_is_untouched(void **state) {
  (void)state;
  channel_crowd_init(&c, 1);
  errno = 4711;
  assert_result(volt_chan_recv_blocking(&c.chan, c.elems, PAST_DEADLINE), VOLT_ETIMEDOUT);
  assert_result(volt_chan_recv_blocking(&c.chan, c.elems, volt_deadline_ns(1000)), VOLT_ETIMEDOUT);
  channel_crowd_fill(&c, 7, 1);
  channel_crowd_drain(&c, 7, 1);
  assert_int_equal(errno, 4711);
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
  };
  return cmocka_run_group_tests_name("channel", tests, NULL, NULL);
}
