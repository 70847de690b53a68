/* channel_hostile_test.c: wakers run with nothing held: they call back into the channel that is
 * waking them, and end it. */
#include <stdlib.h>

#include "channel_crowd.h"
#include "require.h"
#include "thread_team.h"

static channel_crowd c;
static const uint32_t counts[] = {1, 2, 33, CHANNEL_CROWD_MAX};
enum { COUNTS = sizeof counts / sizeof counts[0], FULL = 3 };

static void gather_receivers(uint32_t count, void (*act)(hostile_waker *)) {
  channel_crowd_init(&c, FULL);
  for (uint32_t i = 0; i < count; i++) c.wakers[i].act = act;
  channel_crowd_queue_receivers(&c, 0, count);
}

/* Behind elements 1000, ... that fill it. */
static void gather_senders(uint32_t count, void (*act)(hostile_waker *)) {
  channel_crowd_init(&c, FULL);
  channel_crowd_fill(&c, 1000, FULL);
  for (uint32_t i = 0; i < count; i++) c.wakers[i].act = act;
  channel_crowd_queue_senders(&c, 0, count);
}

/* ---- send and receive ---- */

/* What is received is passed on: one send serves everybody, each from within the one before. */
static void pass_on(hostile_waker *self) {
  REQUIRE(volt_chan_try_send(&c.chan, &c.elems[self->seen.name]) == VOLT_OK);
}

static void wakers_send(void **state) {
  (void)state;
  for (int i = 0; i < COUNTS; i++) {
    gather_receivers(counts[i], pass_on);
    channel_crowd_fill(&c, 7, 1);
    channel_crowd_expect_run(&c, 0, counts[i], VOLT_OK, 1);
    for (uint32_t j = 0; j < counts[i]; j++) channel_crowd_expect_elem(&c, j, 7);
    assert_true(wake_log_is_run(&c.log, 0, counts[i]));
    channel_crowd_drain(&c, 7, 1); /* the last one's */
    channel_crowd_destroy(&c);
  }
}

static uint32_t next_expected;

static void receive_the_next(hostile_waker *self) {
  uint32_t elem = NO_ELEMENT;
  (void)self;
  uint32_t want = next_expected++;
  REQUIRE(volt_chan_try_recv(&c.chan, &elem) == VOLT_OK);
  REQUIRE(elem == (want < FULL ? 1000 + want : want - FULL));
}

static void wakers_receive(void **state) {
  (void)state;
  for (int i = 0; i < COUNTS; i++) {
    gather_senders(counts[i], receive_the_next);
    next_expected = 1;
    channel_crowd_drain(&c, 1000, 1);
    channel_crowd_expect_run(&c, 0, counts[i], VOLT_OK, 1);
    assert_int_equal(next_expected, counts[i] + 1);
    channel_crowd_expect_chan(&c, 0, FULL - 1);
    volt_chan_destroy(&c.chan, NULL, NULL);
  }
}

/* Ask again, with the same waiter: it has been granted, so its memory is ours. */
static void receive_again(hostile_waker *self) {
  self->act = NULL;
  self->n = c.elems[self->seen.name];
  self->result = channel_crowd_recv(&c, self->seen.name);
}

static void wakers_queue_again(void **state) {
  (void)state;
  for (int i = 0; i < COUNTS; i++) {
    gather_receivers(counts[i], receive_again);
    channel_crowd_fill(&c, 100, counts[i]);
    for (uint32_t j = 0; j < counts[i]; j++) {
      assert_int_equal(c.wakers[j].n, 100 + j);
      assert_result(c.wakers[j].result, VOLT_PENDING);
    }
    channel_crowd_fill(&c, 500, counts[i]);
    channel_crowd_expect_elems(&c, 0, counts[i], 500);
    channel_crowd_expect_run(&c, 0, counts[i], VOLT_OK, 2);
    channel_crowd_destroy(&c);
  }
}

static void look_at_everything(hostile_waker *self) {
  uint32_t elem;
  uint32_t moved;
  self->n = volt_chan_waiters(&c.chan) + volt_chan_len(&c.chan);
  REQUIRE(!volt_chan_is_closed(&c.chan));
  REQUIRE(volt_chan_try_recv(&c.chan, &elem) == VOLT_EAGAIN);
  REQUIRE(volt_chan_try_recv_many(&c.chan, &elem, 1, &moved) == VOLT_EAGAIN);
  REQUIRE(volt_chan_recv_blocking(&c.chan, &elem, PAST_DEADLINE) == VOLT_ETIMEDOUT);
}

static void wakers_look(void **state) {
  (void)state;
  for (int i = 0; i < COUNTS; i++) {
    gather_receivers(counts[i], look_at_everything);
    channel_crowd_fill(&c, 100, counts[i]);
    for (uint32_t j = 0; j < counts[i]; j++) {
      assert_int_equal(c.wakers[j].n, counts[i] - 1 - j);
    }
    channel_crowd_destroy(&c);
  }
}

static uint32_t taken[2];

static void take_the_rest(hostile_waker *self) {
  (void)self;
  for (uint32_t i = 0; i < 2; i++) {
    REQUIRE(volt_chan_try_recv(&c.chan, &taken[i]) == VOLT_OK);
  }
}

/* One is handed over, the others are in the ring when its receiver is called. */
static void wakers_receive_the_rest(void **state) {
  (void)state;
  const uint32_t elems[] = {7, 8, 9};
  uint32_t moved = 0;
  gather_receivers(1, take_the_rest);
  assert_result(volt_chan_try_send_many(&c.chan, elems, 3, &moved), VOLT_OK);
  assert_int_equal(moved, 3);
  channel_crowd_expect_elem(&c, 0, 7);
  assert_int_equal(taken[0], 8);
  assert_int_equal(taken[1], 9);
  channel_crowd_destroy(&c);
}

/* ---- cancel ---- */

static void cancel_other(hostile_waker *self) {
  self->act = NULL;
  self->result = volt_chan_cancel_recv(&c.chan, self->other) ? VOLT_ECANCELED : VOLT_OK;
}

static void wakers_cancel_others(void **state) {
  (void)state;
  for (uint32_t victim = 1; victim < 40; victim++) {
    for (int served = 0; served < 2; served++) { /* with the same batch, or not yet */
      uint32_t elems[40] = {0};
      uint32_t moved = 0;
      gather_receivers(40, NULL);
      c.wakers[0].act = cancel_other;
      c.wakers[0].other = &c.waiters[victim];
      assert_result(volt_chan_try_send_many(&c.chan, elems, served ? 40 : 1, &moved), VOLT_OK);
      bool granted = victim < moved;
      assert_result(c.wakers[0].result, granted ? VOLT_OK : VOLT_ECANCELED);
      channel_crowd_expect(&c, victim, granted ? VOLT_OK : VOLT_ECANCELED, granted ? 1 : 0);
      volt_chan_close(&c.chan);
      channel_crowd_destroy(&c);
    }
  }
}

static void cancel_self(hostile_waker *self) {
  self->result = volt_waiter_result(&c.waiters[self->seen.name]);
  REQUIRE(!channel_crowd_cancel_recv(&c, self->seen.name));
}

static void wakers_cancel_themselves(void **state) {
  (void)state;
  gather_receivers(2, cancel_self);
  channel_crowd_fill(&c, 100, 1);
  assert_result(c.wakers[0].result, VOLT_OK);
  volt_chan_close(&c.chan);
  assert_result(c.wakers[1].result, VOLT_ECLOSED);
  channel_crowd_destroy(&c);
}

/* ---- close ---- */

static void close_it(hostile_waker *self) {
  (void)self;
  volt_chan_close(&c.chan);
}

static void wakers_close(void **state) {
  (void)state;
  for (int sends = 0; sends < 2; sends++) {
    for (int i = 0; i < COUNTS; i++) {
      if (sends) gather_senders(counts[i], close_it);
      if (!sends) gather_receivers(counts[i], close_it);
      if (sends) channel_crowd_drain(&c, 1000, 1);
      if (!sends) channel_crowd_fill(&c, 7, 1);
      channel_crowd_expect(&c, 0, VOLT_OK, 1);
      channel_crowd_expect_run(&c, 1, counts[i] - 1, VOLT_ECLOSED, 1);
      assert_int_equal(wake_log_count(&c.log), counts[i]);
      if (sends) channel_crowd_drain(&c, 1001, FULL - 1);
      if (sends) channel_crowd_drain(&c, 0, 1);
      channel_crowd_expect_try_recv(&c, VOLT_ECLOSED, 0);
      channel_crowd_destroy(&c);
    }
  }
}

static void use_the_closed(hostile_waker *self) {
  REQUIRE(volt_chan_is_closed(&c.chan));
  REQUIRE(channel_crowd_try_send(&c, 7) == VOLT_ECLOSED);
  REQUIRE(channel_crowd_send(&c, self->seen.name, 7) == VOLT_ECLOSED);
  REQUIRE(channel_crowd_recv(&c, self->seen.name) == VOLT_ECLOSED);
  volt_chan_close(&c.chan);
}

static void wakers_use_the_closed(void **state) {
  (void)state;
  for (int i = 0; i < COUNTS; i++) {
    gather_receivers(counts[i], use_the_closed);
    volt_chan_close(&c.chan);
    channel_crowd_expect_run(&c, 0, counts[i], VOLT_ECLOSED, 1);
    channel_crowd_destroy(&c);
  }
}

/* ---- destroy ---- */

/* Whoever receives the last element may end the channel while the send is still returning: this one
 * does not return before it is gone. */
struct last {
  volt_chan chan;
  uint64_t memory[2];
};

static void destroy_it(void *arg, uint32_t index) {
  struct last *last = (struct last *)arg;
  (void)index;
  volt_chan_destroy(&last->chan, NULL, NULL);
  memset((void *)last, 0xee, sizeof *last);
  free(last);
}

static void destroy_it_here(hostile_waker *self) {
  destroy_it(self->object, 0);
}

static void destroy_it_elsewhere(hostile_waker *self) {
  thread_team_run(1, destroy_it, self->object);
}

static void the_last_element_ends_it(void **state) {
  (void)state;
  for (int elsewhere = 0; elsewhere < 2; elsewhere++) {
    for (int many = 0; many < 2; many++) {
      struct last *last = (struct last *)malloc(sizeof *last);
      hostile_waker waker;
      volt_waiter w = VOLT_WAITER_INIT;
      uint32_t elem = 7;
      uint32_t got = 0;
      uint32_t moved = 1;
      assert_non_null(last);
      assert_result(volt_chan_init(&last->chan, 1, 4, last->memory, sizeof last->memory), VOLT_OK);
      hostile_waker_init(&waker, 0, NULL, elsewhere ? destroy_it_elsewhere : destroy_it_here, last);
      assert_result(volt_chan_recv(&last->chan, &w, &got, hostile_waker_of(&waker)), VOLT_PENDING);
      if (many) {
        assert_result(volt_chan_try_send_many(&last->chan, &elem, 1, &moved), VOLT_OK);
      } else {
        assert_result(volt_chan_try_send(&last->chan, &elem), VOLT_OK);
      }
      assert_int_equal(moved, 1);
      assert_int_equal(got, 7);
      assert_int_equal(hostile_waker_calls(&waker), 1);
    }
  }
}

static void told_that_it_is_closed_one_ends_it(void **state) {
  (void)state;
  struct last *last = (struct last *)malloc(sizeof *last);
  hostile_waker waker;
  volt_waiter w = VOLT_WAITER_INIT;
  uint32_t got = 0;
  assert_non_null(last);
  assert_result(volt_chan_init(&last->chan, 1, 4, last->memory, sizeof last->memory), VOLT_OK);
  hostile_waker_init(&waker, 0, NULL, destroy_it_here, last);
  assert_result(volt_chan_recv(&last->chan, &w, &got, hostile_waker_of(&waker)), VOLT_PENDING);
  volt_chan_close(&last->chan);
  assert_int_equal(hostile_waker_calls(&waker), 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(wakers_send),
      cmocka_unit_test(wakers_receive),
      cmocka_unit_test(wakers_queue_again),
      cmocka_unit_test(wakers_look),
      cmocka_unit_test(wakers_receive_the_rest),
      cmocka_unit_test(wakers_cancel_others),
      cmocka_unit_test(wakers_cancel_themselves),
      cmocka_unit_test(wakers_close),
      cmocka_unit_test(wakers_use_the_closed),
      cmocka_unit_test(the_last_element_ends_it),
      cmocka_unit_test(told_that_it_is_closed_one_ends_it),
  };
  return cmocka_run_group_tests_name("hostile wakers of a channel", tests, NULL, NULL);
}
