/* channel_close_test.c: a closed channel takes nothing more and gives what it has; what nobody
 * received is dropped. Sends and receives that are cancelled. What aborts. */
#include <stdlib.h>

#include "channel_crowd.h"
#include "death.h"
#include "require.h"
#include "thread_team.h"

static channel_crowd c;

static const uint32_t counts[] = {1, 2, 31, 32, 33, 64, 65, CHANNEL_CROWD_MAX};
enum { COUNTS = sizeof counts / sizeof counts[0] };

static void expect_no_sends(void) {
  const volt_waker nobody = {NULL, NULL};
  uint32_t elems[3] = {1, 2, 3};
  uint32_t moved = 9;
  volt_future f;
  volt_waiter w = VOLT_WAITER_INIT;
  assert_true(volt_chan_is_closed(&c.chan));
  assert_result(channel_crowd_try_send(&c, 7), VOLT_ECLOSED);
  assert_result(volt_chan_send_waiter(&c.chan, &w, elems, nobody), VOLT_ECLOSED);
  assert_result(volt_chan_send_many_waiter(&c.chan, &w, elems, 3, nobody), VOLT_ECLOSED);
  assert_result(volt_waiter_result(&w), VOLT_ECANCELED); /* not used */
  assert_result(volt_chan_send(&c.chan, elems), VOLT_ECLOSED);
  assert_result(volt_chan_try_send_many(&c.chan, elems, 3, &moved), VOLT_ECLOSED);
  assert_int_equal(moved, 0);
  moved = 9;
  assert_result(volt_chan_send_many(&c.chan, elems, 3, &moved), VOLT_ECLOSED);
  assert_int_equal(moved, 0);
  volt_future_made(volt_chan_send_future(&f, &c.chan, elems));
  assert_result(volt_future_poll(&f, nobody), VOLT_ECLOSED);
}

static void expect_no_receives(void) {
  const volt_waker nobody = {NULL, NULL};
  uint32_t elems[3];
  uint32_t moved = 9;
  volt_future f;
  volt_waiter w = VOLT_WAITER_INIT;
  channel_crowd_expect_try_recv(&c, VOLT_ECLOSED, 0);
  assert_result(volt_chan_recv_waiter(&c.chan, &w, elems, nobody), VOLT_ECLOSED);
  assert_result(volt_chan_recv_many_waiter(&c.chan, &w, elems, 3, nobody), VOLT_ECLOSED);
  assert_result(volt_waiter_result(&w), VOLT_ECANCELED);
  assert_result(volt_chan_recv(&c.chan, elems), VOLT_ECLOSED);
  assert_result(volt_chan_try_recv_many(&c.chan, elems, 3, &moved), VOLT_ECLOSED);
  assert_int_equal(moved, 0);
  moved = 9;
  assert_result(volt_chan_recv_many(&c.chan, elems, 3, &moved), VOLT_ECLOSED);
  assert_int_equal(moved, 0);
  volt_future_made(volt_chan_recv_future(&f, &c.chan, elems));
  assert_result(volt_future_poll(&f, nobody), VOLT_ECLOSED);
}

/* With 0, 1, ... elements in it. */
static void what_was_sent_is_received(void **state) {
  (void)state;
  for (uint32_t capacity = 1; capacity <= 5; capacity++) {
    for (uint32_t len = 0; len <= capacity; len++) {
      channel_crowd_init(&c, capacity);
      channel_crowd_fill(&c, 100, len);
      volt_chan_close(&c.chan);
      expect_no_sends();
      channel_crowd_expect_chan(&c, 0, len);
      channel_crowd_drain(&c, 100, len);
      expect_no_receives();
      volt_chan_close(&c.chan); /* nothing more */
      expect_no_sends();
      expect_no_receives();
      channel_crowd_destroy(&c);
    }
  }
}

static void every_way_to_receive_the_rest(void **state) {
  (void)state;
  const volt_waker nobody = {NULL, NULL};
  volt_waiter w = VOLT_WAITER_INIT;
  volt_future f;
  uint32_t elems[4] = {0};
  uint32_t moved = 0;
  channel_crowd_init(&c, 8);
  channel_crowd_fill(&c, 100, 8);
  volt_chan_close(&c.chan);
  assert_result(volt_chan_recv_waiter(&c.chan, &w, elems, nobody), VOLT_OK);
  assert_int_equal(elems[0], 100);
  assert_result(volt_chan_recv_until(&c.chan, elems, PAST_DEADLINE), VOLT_OK);
  assert_int_equal(elems[0], 101);
  volt_future_made(volt_chan_recv_future(&f, &c.chan, elems));
  assert_result(volt_future_poll(&f, nobody), VOLT_OK);
  assert_int_equal(elems[0], 102);
  assert_result(volt_chan_try_recv_many(&c.chan, elems, 2, &moved), VOLT_OK);
  assert_int_equal(moved, 2);
  assert_int_equal(elems[1], 104);
  assert_result(volt_chan_recv_many_until(&c.chan, elems, 4, &moved, PAST_DEADLINE), VOLT_OK);
  assert_int_equal(moved, 3);
  assert_int_equal(elems[2], 107);
  expect_no_receives();
  channel_crowd_destroy(&c);
}

static void receivers_are_told(void **state) {
  (void)state;
  for (int i = 0; i < COUNTS; i++) {
    channel_crowd_init(&c, 3);
    channel_crowd_queue_receivers(&c, 0, counts[i]);
    volt_chan_close(&c.chan);
    channel_crowd_expect_run(&c, 0, counts[i], VOLT_ECLOSED, 1);
    assert_true(wake_log_is_run(&c.log, 0, counts[i]));
    for (uint32_t j = 0; j < counts[i]; j++) channel_crowd_expect_elem(&c, j, NO_ELEMENT);
    expect_no_receives();
    channel_crowd_destroy(&c);
  }
}

static void senders_keep_theirs(void **state) {
  (void)state;
  for (int i = 0; i < COUNTS; i++) {
    channel_crowd_init(&c, 3);
    channel_crowd_fill(&c, 100, 3);
    channel_crowd_queue_senders(&c, 0, counts[i]);
    volt_chan_close(&c.chan);
    channel_crowd_expect_run(&c, 0, counts[i], VOLT_ECLOSED, 1);
    channel_crowd_expect_elems(&c, 0, counts[i], 0);
    assert_true(wake_log_is_run(&c.log, 0, counts[i]));
    channel_crowd_drain(&c, 100, 3);
    expect_no_receives();
    channel_crowd_destroy(&c);
  }
}

/* The first of many who are told receives, while the others are still in the queue: no place goes
 * to one of those. */
static void drain_it(hostile_waker *self) {
  self->act = NULL;
  channel_crowd_drain(&c, 100, 2);
}

static void received_from_while_it_closes(void **state) {
  (void)state;
  channel_crowd_init(&c, 3);
  channel_crowd_fill(&c, 100, 3);
  channel_crowd_queue_senders(&c, 0, CHANNEL_CROWD_MAX);
  c.wakers[0].act = drain_it;
  volt_chan_close(&c.chan);
  channel_crowd_expect_run(&c, 0, CHANNEL_CROWD_MAX, VOLT_ECLOSED, 1);
  channel_crowd_expect_chan(&c, 0, 1);
  channel_crowd_drain(&c, 102, 1);
  expect_no_receives();
  channel_crowd_destroy(&c);
}

static void cancelled_after_it_was_closed(void **state) {
  (void)state;
  channel_crowd_init(&c, 1);
  channel_crowd_queue_receivers(&c, 0, 1);
  volt_chan_close(&c.chan);
  assert_false(channel_crowd_cancel_recv(&c, 0));
  channel_crowd_expect(&c, 0, VOLT_ECLOSED, 1);
  channel_crowd_destroy(&c);
}

/* ---- what is left ---- */

static uint32_t dropped[8];
static uint32_t drops;

static void drop(void *elem, void *ctx) {
  assert_ptr_equal(ctx, &c);
  dropped[drops++] = *(uint32_t *)elem;
}

static void what_is_left_is_dropped_in_order(void **state) {
  (void)state;
  for (int closed = 0; closed < 2; closed++) {
    for (uint32_t len = 0; len <= 5; len++) {
      channel_crowd_init(&c, 5);
      channel_crowd_fill(&c, 1, 3); /* not from the first place on */
      channel_crowd_drain(&c, 1, 3);
      channel_crowd_fill(&c, 100, len);
      if (closed) volt_chan_close(&c.chan);
      drops = 0;
      volt_chan_destroy(&c.chan, drop, &c);
      assert_int_equal(drops, len);
      for (uint32_t i = 0; i < len; i++) assert_int_equal(dropped[i], 100 + i);
    }
  }
}

static void nobody_has_to_be_told_of_what_is_left(void **state) {
  (void)state;
  channel_crowd_init(&c, 5);
  channel_crowd_fill(&c, 100, 5);
  volt_chan_destroy(&c.chan, NULL, NULL);
  channel_crowd_init(&c, 5); /* the memory is ours again */
  channel_crowd_expect_try_recv(&c, VOLT_EAGAIN, 0);
  channel_crowd_destroy(&c);
}

/* ---- it ends while a close() is away ---- */

enum { TOLD = 33 }; /* one more than it tells at once */

static struct {
  volt_chan *chan;
  volt_waiter waiters[TOLD];
  uint32_t elems[TOLD];
  uint64_t memory[8];
} away;

/* One closes it. The other is told, cancels the rest, ends it, and frees it: what close() does last
 * comes before (D1, D2), which ThreadSanitizer sees. */
static void close_or_end(void *arg, uint32_t index) {
  (void)arg;
  if (index == 0) {
    volt_chan_close(away.chan);
    return;
  }
  WAIT_UNTIL(volt_waiter_result(&away.waiters[0]) != VOLT_PENDING);
  for (uint32_t i = 0; i < TOLD; i++) {
    bool cancelled = volt_chan_cancel_recv(away.chan, &away.waiters[i]);
    int result = volt_waiter_result(&away.waiters[i]);
    REQUIRE(result == (cancelled ? VOLT_ECANCELED : VOLT_ECLOSED));
  }
  volt_chan_destroy(away.chan, NULL, NULL);
  memset((void *)away.chan, 0xee, sizeof *away.chan);
  free(away.chan);
}

static void it_ends_while_a_close_is_away(void **state) {
  (void)state;
  const volt_waker nobody = {NULL, NULL};
  for (int round = 0; round < 100; round++) {
    away.chan = (volt_chan *)malloc(sizeof *away.chan);
    assert_non_null(away.chan);
    assert_result(volt_chan_init(away.chan, 4, 4, away.memory, sizeof away.memory), VOLT_OK);
    memset((void *)away.waiters, 0, sizeof away.waiters);
    for (uint32_t i = 0; i < TOLD; i++) {
      assert_result(volt_chan_recv_waiter(away.chan, &away.waiters[i], &away.elems[i], nobody),
                    VOLT_PENDING);
    }
    thread_team_run(2, close_or_end, NULL);
  }
}

/* ==== sends and receives that are given up ====
 *
 * The outcome is known: nothing was moved, or all of it was. */

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
  static const uint32_t crowds[] = {1, 2, 3, 33, CHANNEL_CROWD_MAX};
  for (size_t i = 0; i < sizeof crowds / sizeof crowds[0]; i++) {
    for (uint32_t victim = 0; victim < crowds[i]; victim++) {
      one_of(crowds[i], victim, true);
      one_of(crowds[i], victim, false);
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

/* ==== what must abort, and that it says what, where and the values ==== */

static channel_crowd other;
static volt_future f;

static const volt_waker nobody = {NULL, NULL};

static int set_up(void **state) {
  (void)state;
  channel_crowd_init(&c, 1);
  channel_crowd_init(&other, 1);
  return 0;
}

static void destroy(void *arg) {
  volt_chan_destroy((volt_chan *)arg, NULL, NULL);
}

static void destroyed_while_somebody_waits(void **state) {
  (void)state;
  channel_crowd_queue_receivers(&c, 0, 3);
  assert_death(destroy, &c.chan, "volt_chan", death_address(&c.chan),
               "destroyed while 3 waiters are queued");
  channel_crowd_fill(&other, 1, 1);
  channel_crowd_queue_senders(&other, 0, 1);
  assert_death(destroy, &other.chan, "volt_chan", "destroyed while 1 waiters are queued");
}

static void receive_again(void *arg) {
  ignore_result(volt_chan_recv_waiter((volt_chan *)arg, &c.waiters[0], &c.elems[0], nobody));
}

static void receive_many_again(void *arg) {
  ignore_result(
      volt_chan_recv_many_waiter((volt_chan *)arg, &c.waiters[0], &c.elems[0], 2, nobody));
}

static void a_waiter_that_is_queued(void **state) {
  (void)state;
  channel_crowd_queue_receivers(&c, 0, 1);
  assert_death(receive_again, &c.chan, "volt_chan", death_address(&c.waiters[0]), "already queued");
  assert_death(receive_many_again, &c.chan, "volt_chan", "already queued");
  assert_death(receive_again, &other.chan, "volt_chan", "already queued");
}

static void a_waiter_that_is_not_initialised(void **state) {
  (void)state;
  memset((void *)&c.waiters[0], 0x5a, sizeof c.waiters[0]);
  assert_death(receive_again, &c.chan, "volt_chan", death_address(&c.waiters[0]),
               "not initialised");
}

static void cancel_there(void *arg) {
  ignore_result(volt_chan_cancel_recv((volt_chan *)arg, &c.waiters[0]));
}

static void the_wrong_channel(void **state) {
  (void)state;
  channel_crowd_queue_receivers(&c, 0, 1);
  assert_death(cancel_there, &other.chan, "volt_chan", death_address(&c.waiters[0]),
               death_address(&c.chan), death_address(&other.chan));
}

static void cancel_what_was_moved(void *arg) {
  volt_future moved = f;
  (void)arg;
  volt_future_cancel(&moved);
}

static void a_waiter_that_is_moved_while_it_waits(void **state) {
  (void)state;
  for (int behind = 0; behind < 2; behind++) {
    if (!behind) channel_crowd_queue_receivers(&c, 0, 1);
    volt_future_made(volt_chan_recv_future(&f, &c.chan, &c.elems[1]));
    assert_result(volt_future_poll(&f, nobody), VOLT_PENDING);
    if (behind) channel_crowd_queue_receivers(&c, 0, 1);
    assert_death(cancel_what_was_moved, NULL, "volt_waiter_result", "copied or moved");
    volt_future_cancel(&f);
    assert_true(channel_crowd_cancel_recv(&c, 0));
  }
}

/* Not misuse: what is said to be harmless is. */
static void what_is_harmless(void **state) {
  (void)state;
  assert_true(channel_crowd_cancel_recv(&c, 0)); /* never used */
  volt_chan_close(&c.chan);
  volt_chan_close(&c.chan);
  memset((void *)&f, 0, sizeof f);
  volt_future_cancel(&f);
  volt_chan_destroy(&c.chan, NULL, NULL);
  channel_crowd_fill(&other, 1, 1);
  volt_chan_destroy(&other.chan, NULL, NULL); /* with an element in it */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_was_sent_is_received),
      cmocka_unit_test(every_way_to_receive_the_rest),
      cmocka_unit_test(receivers_are_told),
      cmocka_unit_test(senders_keep_theirs),
      cmocka_unit_test(received_from_while_it_closes),
      cmocka_unit_test(cancelled_after_it_was_closed),
      cmocka_unit_test(what_is_left_is_dropped_in_order),
      cmocka_unit_test(nobody_has_to_be_told_of_what_is_left),
      cmocka_unit_test(it_ends_while_a_close_is_away),
      cmocka_unit_test(a_send_gives_its_element_back),
      cmocka_unit_test(a_receive_takes_nothing),
      cmocka_unit_test(a_granted_send_is_sent),
      cmocka_unit_test(a_granted_receive_is_received),
      cmocka_unit_test(twice_and_never_used),
      cmocka_unit_test(its_memory_is_its_owners),
      cmocka_unit_test(one_of_many),
      cmocka_unit_test(who_waits_for_nobody),
      cmocka_unit_test_setup(destroyed_while_somebody_waits, set_up),
      cmocka_unit_test_setup(a_waiter_that_is_queued, set_up),
      cmocka_unit_test_setup(a_waiter_that_is_not_initialised, set_up),
      cmocka_unit_test_setup(the_wrong_channel, set_up),
      cmocka_unit_test_setup(a_waiter_that_is_moved_while_it_waits, set_up),
      cmocka_unit_test_setup(what_is_harmless, set_up),
  };
  return cmocka_run_group_tests_name("channels that are closed, cancelled and misused", tests, NULL,
                                     NULL);
}
