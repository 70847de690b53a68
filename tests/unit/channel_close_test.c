/* channel_close_test.c: a closed channel takes nothing more and gives what it has; what nobody
 * received is dropped. */
#include <stdlib.h>

#include "channel_crowd.h"
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
  assert_result(volt_chan_send(&c.chan, &w, elems, nobody), VOLT_ECLOSED);
  assert_result(volt_chan_send_many(&c.chan, &w, elems, 3, nobody), VOLT_ECLOSED);
  assert_result(volt_waiter_result(&w), VOLT_ECANCELED); /* not used */
  assert_result(volt_chan_send_blocking(&c.chan, elems, VOLT_NO_DEADLINE), VOLT_ECLOSED);
  assert_result(volt_chan_try_send_many(&c.chan, elems, 3, &moved), VOLT_ECLOSED);
  assert_int_equal(moved, 0);
  moved = 9;
  assert_result(volt_chan_send_many_blocking(&c.chan, elems, 3, &moved, VOLT_NO_DEADLINE),
                VOLT_ECLOSED);
  assert_int_equal(moved, 0);
  volt_chan_send_future(&f, &c.chan, elems);
  assert_result(volt_future_poll(&f, nobody), VOLT_ECLOSED);
}

static void expect_no_receives(void) {
  const volt_waker nobody = {NULL, NULL};
  uint32_t elems[3];
  uint32_t moved = 9;
  volt_future f;
  volt_waiter w = VOLT_WAITER_INIT;
  channel_crowd_expect_try_recv(&c, VOLT_ECLOSED, 0);
  assert_result(volt_chan_recv(&c.chan, &w, elems, nobody), VOLT_ECLOSED);
  assert_result(volt_chan_recv_many(&c.chan, &w, elems, 3, nobody), VOLT_ECLOSED);
  assert_result(volt_waiter_result(&w), VOLT_ECANCELED);
  assert_result(volt_chan_recv_blocking(&c.chan, elems, VOLT_NO_DEADLINE), VOLT_ECLOSED);
  assert_result(volt_chan_try_recv_many(&c.chan, elems, 3, &moved), VOLT_ECLOSED);
  assert_int_equal(moved, 0);
  moved = 9;
  assert_result(volt_chan_recv_many_blocking(&c.chan, elems, 3, &moved, VOLT_NO_DEADLINE),
                VOLT_ECLOSED);
  assert_int_equal(moved, 0);
  volt_chan_recv_future(&f, &c.chan, elems);
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
  assert_result(volt_chan_recv(&c.chan, &w, elems, nobody), VOLT_OK);
  assert_int_equal(elems[0], 100);
  assert_result(volt_chan_recv_blocking(&c.chan, elems, PAST_DEADLINE), VOLT_OK);
  assert_int_equal(elems[0], 101);
  volt_chan_recv_future(&f, &c.chan, elems);
  assert_result(volt_future_poll(&f, nobody), VOLT_OK);
  assert_int_equal(elems[0], 102);
  assert_result(volt_chan_try_recv_many(&c.chan, elems, 2, &moved), VOLT_OK);
  assert_int_equal(moved, 2);
  assert_int_equal(elems[1], 104);
  assert_result(volt_chan_recv_many_blocking(&c.chan, elems, 4, &moved, PAST_DEADLINE), VOLT_OK);
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
      assert_result(volt_chan_recv(away.chan, &away.waiters[i], &away.elems[i], nobody),
                    VOLT_PENDING);
    }
    thread_team_run(2, close_or_end, NULL);
  }
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
  };
  return cmocka_run_group_tests_name("closed channels", tests, NULL, NULL);
}
