/* channel_cancel_test.c: sends and receives that are given up, with a known outcome: nothing was
 * moved, or all of it was. */
#include "channel_crowd.h"

static channel_crowd c;

static void a_send_gives_its_element_back(void **state) {
  (void)state;
  channel_crowd_init(&c, 2);
  channel_crowd_fill(&c, 100, 2);
  channel_crowd_queue_senders(&c, 7, 1);
  assert_true(channel_crowd_cancel_send(&c, 7));
  channel_crowd_expect(&c, 7, VOLT_ECANCELED, 0);
  channel_crowd_expect_elem(&c, 7, 7);
  channel_crowd_expect_chan(&c, 0, 2);
  channel_crowd_drain(&c, 100, 2);
  channel_crowd_expect_try_recv(&c, VOLT_EAGAIN, 0);
  channel_crowd_expect(&c, 7, VOLT_ECANCELED, 0); /* no wake comes later, either */
  channel_crowd_destroy(&c);
}

static void a_receive_takes_nothing(void **state) {
  (void)state;
  channel_crowd_init(&c, 2);
  channel_crowd_queue_receivers(&c, 7, 1);
  assert_true(channel_crowd_cancel_recv(&c, 7));
  channel_crowd_fill(&c, 100, 1);
  channel_crowd_expect(&c, 7, VOLT_ECANCELED, 0);
  channel_crowd_expect_elem(&c, 7, NO_ELEMENT);
  channel_crowd_drain(&c, 100, 1);
  channel_crowd_destroy(&c);
}

static void a_granted_send_is_sent(void **state) {
  (void)state;
  channel_crowd_init(&c, 1);
  channel_crowd_fill(&c, 100, 1);
  channel_crowd_queue_senders(&c, 7, 1);
  channel_crowd_drain(&c, 100, 1);
  assert_false(channel_crowd_cancel_send(&c, 7));
  channel_crowd_expect(&c, 7, VOLT_OK, 1);
  channel_crowd_drain(&c, 7, 1);
  channel_crowd_destroy(&c);
}

static void a_granted_receive_is_received(void **state) {
  (void)state;
  channel_crowd_init(&c, 1);
  channel_crowd_queue_receivers(&c, 7, 1);
  channel_crowd_fill(&c, 100, 1);
  assert_false(channel_crowd_cancel_recv(&c, 7));
  channel_crowd_expect(&c, 7, VOLT_OK, 1);
  channel_crowd_expect_elem(&c, 7, 100);
  channel_crowd_destroy(&c);
}

static void twice_and_never_used(void **state) {
  (void)state;
  channel_crowd_init(&c, 1);
  assert_true(channel_crowd_cancel_send(&c, 0));
  assert_true(channel_crowd_cancel_recv(&c, 0));
  channel_crowd_queue_receivers(&c, 0, 1);
  assert_true(channel_crowd_cancel_recv(&c, 0));
  assert_true(channel_crowd_cancel_recv(&c, 0));
  channel_crowd_destroy(&c);
}

/* Used again, for the reverse. */
static void its_memory_is_its_owners(void **state) {
  (void)state;
  channel_crowd_init(&c, 1);
  for (int i = 0; i < 3; i++) {
    channel_crowd_queue_receivers(&c, 0, 1);
    assert_true(channel_crowd_cancel_recv(&c, 0));
    memset((void *)&c.waiters[0], 0, sizeof c.waiters[0]);
    channel_crowd_fill(&c, 100, 1);
    channel_crowd_queue_senders(&c, 0, 1);
    assert_true(channel_crowd_cancel_send(&c, 0));
    channel_crowd_drain(&c, 100, 1);
  }
  channel_crowd_destroy(&c);
}

/* ---- among others ---- */

/* Of count who wait, one gives up: the others are served as if it had not been there. */
static void one_of(uint32_t count, uint32_t victim, bool sends) {
  const uint32_t capacity = 2;
  channel_crowd_init(&c, capacity);
  if (sends) {
    channel_crowd_fill(&c, 1000, capacity);
    channel_crowd_queue_senders(&c, 0, count);
    assert_true(channel_crowd_cancel_send(&c, victim));
    channel_crowd_expect_chan(&c, count - 1, capacity);
    channel_crowd_drain(&c, 1000, capacity);
    channel_crowd_drain(&c, 0, victim);
    channel_crowd_drain(&c, victim + 1, count - victim - 1);
    channel_crowd_expect_elems(&c, 0, count, 0);
  } else {
    channel_crowd_queue_receivers(&c, 0, count);
    assert_true(channel_crowd_cancel_recv(&c, victim));
    channel_crowd_expect_chan(&c, count - 1, 0);
    channel_crowd_fill(&c, 1000, count - 1);
    channel_crowd_expect_elems(&c, 0, victim, 1000);
    channel_crowd_expect_elem(&c, victim, NO_ELEMENT);
    channel_crowd_expect_elems(&c, victim + 1, count - victim - 1, 1000 + victim);
  }
  assert_int_equal(wake_log_count(&c.log), count - 1);
  for (uint32_t i = 0; i < count; i++) {
    channel_crowd_expect(&c, i, i == victim ? VOLT_ECANCELED : VOLT_OK, i == victim ? 0 : 1);
  }
  channel_crowd_destroy(&c);
}

static void one_of_many(void **state) {
  (void)state;
  static const uint32_t counts[] = {1, 2, 3, 33, CHANNEL_CROWD_MAX};
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
    for (uint32_t victim = 0; victim < counts[i]; victim++) {
      one_of(counts[i], victim, true);
      one_of(counts[i], victim, false);
    }
  }
}

/* The last who waits is gone: others come in at once, from either end. */
static void who_waits_for_nobody(void **state) {
  (void)state;
  channel_crowd_init(&c, 2);
  channel_crowd_queue_receivers(&c, 0, 2);
  assert_true(channel_crowd_cancel_recv(&c, 1));
  assert_true(channel_crowd_cancel_recv(&c, 0));
  channel_crowd_fill(&c, 100, 2);
  channel_crowd_queue_senders(&c, 2, 1);
  assert_true(channel_crowd_cancel_send(&c, 2));
  channel_crowd_drain(&c, 100, 1);
  assert_result(channel_crowd_try_send(&c, 102), VOLT_OK);
  channel_crowd_drain(&c, 101, 2);
  channel_crowd_destroy(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_send_gives_its_element_back),
      cmocka_unit_test(a_receive_takes_nothing),
      cmocka_unit_test(a_granted_send_is_sent),
      cmocka_unit_test(a_granted_receive_is_received),
      cmocka_unit_test(twice_and_never_used),
      cmocka_unit_test(its_memory_is_its_owners),
      cmocka_unit_test(one_of_many),
      cmocka_unit_test(who_waits_for_nobody),
  };
  return cmocka_run_group_tests_name("cancelled sends and receives", tests, NULL, NULL);
}
