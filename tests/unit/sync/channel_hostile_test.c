/* channel_hostile_test.c: wakers run with nothing held: they call back into the channel that is
 * waking them, and end it. Then random operations. */
#include <stdlib.h>

#include "alloc_count.h"
#include "channel_crowd.h"
#include "require.h"
#include "rng.h"
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
  REQUIRE(volt_chan_recv_until(&c.chan, &elem, PAST_DEADLINE) == VOLT_ETIMEDOUT);
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
      assert_result(volt_chan_recv_waiter(&last->chan, &w, &got, hostile_waker_of(&waker)),
                    VOLT_PENDING);
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
  assert_result(volt_chan_recv_waiter(&last->chan, &w, &got, hostile_waker_of(&waker)),
                VOLT_PENDING);
  volt_chan_close(&last->chan);
  assert_int_equal(hostile_waker_calls(&waker), 1);
}

/* ==== random operations ====
 *
 * Each is compared with a channel that is obviously right: an array of elements and an array of
 * waiters. The seeds are fixed; a failure says which. */

enum { PLAYERS = 12, MOST = 5, STEPS = 2500, SEEDS = 12 };

/* The memory of player i: what it sends, or receives into. */
static uint32_t elems[PLAYERS][MOST];

/* The reference. */
static struct {
  uint32_t capacity;
  bool closed;
  uint32_t len;
  uint32_t ring[CHANNEL_CROWD_CAPACITY]; /* oldest first */
  uint32_t waiting;
  uint32_t queue[PLAYERS]; /* who, oldest first */
  bool sends;              /* those who wait */
  bool sent[PLAYERS];      /* what a player waited for last was to send */
  uint32_t want[PLAYERS];
  int result[PLAYERS]; /* what volt_waiter_result() is to say */
  uint32_t moved[PLAYERS];
  uint32_t wakes[PLAYERS];
  uint32_t expected[PLAYERS][MOST]; /* what is in elems */
  uint32_t logged;                  /* wakes of the last step, in order */
  uint32_t log[PLAYERS];
} ref;

static uint32_t next_elem;
static uint64_t last_seed;

static uint32_t min_of(uint32_t a, uint32_t b) {
  return a < b ? a : b;
}

static void ref_drop(uint32_t at) {
  ref.waiting -= 1;
  memmove(&ref.queue[at], &ref.queue[at + 1], (ref.waiting - at) * sizeof ref.queue[0]);
}

static void ref_complete_head(int result, uint32_t moved) {
  uint32_t who = ref.queue[0];
  ref.result[who] = result;
  ref.moved[who] = moved;
  ref.wakes[who] += 1;
  ref.log[ref.logged++] = who;
  ref_drop(0);
}

/* How many are sent at once. */
static uint32_t ref_send(const uint32_t *from, uint32_t n) {
  uint32_t sent = 0;
  if (ref.waiting > 0 && ref.sends) return 0;
  while (sent < n && ref.waiting > 0) {
    uint32_t who = ref.queue[0];
    uint32_t k = min_of(ref.want[who], n - sent);
    memcpy(ref.expected[who], from + sent, k * sizeof *from);
    sent += k;
    ref_complete_head(VOLT_OK, k);
  }
  for (; sent < n && ref.len < ref.capacity; sent++) ref.ring[ref.len++] = from[sent];
  return sent;
}

static uint32_t ref_recv(uint32_t *to, uint32_t n) {
  n = min_of(n, ref.len);
  memcpy(to, ref.ring, n * sizeof *to);
  ref.len -= n;
  memmove(ref.ring, ref.ring + n, ref.len * sizeof *to);
  while (ref.waiting > 0 && ref.sends && ref.len < ref.capacity) {
    uint32_t who = ref.queue[0];
    uint32_t k = min_of(ref.want[who], ref.capacity - ref.len);
    memcpy(&ref.ring[ref.len], ref.expected[who], k * sizeof *to);
    ref.len += k;
    ref_complete_head(VOLT_OK, k);
  }
  return n;
}

/* Returns what a send or receive that may queue is to return. */
static int ref_run(uint32_t who, bool sends, uint32_t n, uint32_t *moved) {
  uint32_t *mine = ref.expected[who];
  *moved = 0;
  if (sends && ref.closed) return VOLT_ECLOSED;
  *moved = sends ? ref_send(mine, n) : ref_recv(mine, n);
  if (*moved > 0) return VOLT_OK;
  return ref.closed ? VOLT_ECLOSED : VOLT_EAGAIN;
}

static void ref_queue(uint32_t who, bool sends, uint32_t n) {
  ref.sends = sends;
  ref.sent[who] = sends;
  ref.want[who] = n;
  ref.result[who] = VOLT_PENDING;
  ref.queue[ref.waiting++] = who;
}

static bool ref_cancel(uint32_t who) {
  for (uint32_t at = 0; at < ref.waiting; at++) {
    if (ref.queue[at] != who) continue;
    ref_drop(at);
    ref.result[who] = VOLT_ECANCELED;
    return true;
  }
  return ref.result[who] == VOLT_ECANCELED;
}

static void ref_close(void) {
  ref.closed = true;
  while (ref.waiting > 0) ref_complete_head(VOLT_ECLOSED, 0);
}

/* ---- one step of both ---- */

static void prepare(uint32_t who, bool sends) {
  for (uint32_t i = 0; i < MOST; i++) elems[who][i] = sends ? next_elem++ : NO_ELEMENT;
  memcpy(ref.expected[who], elems[who], sizeof elems[who]);
}

static void queue_both(uint32_t who, bool sends, uint32_t n) {
  if (ref.result[who] == VOLT_PENDING) return;
  volt_waiter *w = &c.waiters[who];
  volt_waker waker = hostile_waker_of(&c.wakers[who]);
  prepare(who, sends);
  uint32_t moved;
  int want = ref_run(who, sends, n, &moved);
  if (want == VOLT_EAGAIN) want = VOLT_PENDING;
  int got;
  if (n == 1 && next_elem % 2) {
    got = sends ? volt_chan_send_waiter(&c.chan, w, elems[who], waker)
                : volt_chan_recv_waiter(&c.chan, w, elems[who], waker);
  } else {
    got = sends ? volt_chan_send_many_waiter(&c.chan, w, elems[who], n, waker)
                : volt_chan_recv_many_waiter(&c.chan, w, elems[who], n, waker);
    if (got == VOLT_OK) assert_int_equal(volt_chan_moved(w), moved);
  }
  assert_result(got, want);
  if (want == VOLT_PENDING) {
    ref_queue(who, sends, n);
  } else { /* the waiter is unused: an older result may still stand */
    ref.result[who] = volt_waiter_result(w);
    ref.moved[who] = volt_chan_moved(w);
  }
}

static void try_both(uint32_t who, bool sends, uint32_t n) {
  if (ref.result[who] == VOLT_PENDING) return;
  prepare(who, sends);
  uint32_t moved;
  uint32_t got_moved = 0;
  int want = ref_run(who, sends, n, &moved);
  int got;
  if (n == 1 && next_elem % 2) {
    got = sends ? volt_chan_try_send(&c.chan, elems[who]) : volt_chan_try_recv(&c.chan, elems[who]);
    got_moved = got == VOLT_OK;
  } else {
    got = sends ? volt_chan_try_send_many(&c.chan, elems[who], n, &got_moved)
                : volt_chan_try_recv_many(&c.chan, elems[who], n, &got_moved);
  }
  assert_result(got, want);
  assert_int_equal(got_moved, moved);
}

static void cancel_both(uint32_t who) {
  bool want = ref_cancel(who);
  volt_waiter *w = &c.waiters[who];
  assert_int_equal(
      ref.sent[who] ? volt_chan_cancel_send(&c.chan, w) : volt_chan_cancel_recv(&c.chan, w), want);
}

static void set_waker_both(uint32_t who) {
  bool want = ref.result[who] == VOLT_PENDING;
  volt_waker waker = hostile_waker_of(&c.wakers[who]);
  assert_int_equal(volt_waiter_set_waker(&c.waiters[who], waker), want);
}

/* lean: of 8, how often it sends. */
static void step(rng *r, uint32_t most, uint32_t lean) {
  uint32_t who = rng_below(r, PLAYERS);
  uint32_t n = 1 + rng_below(r, most);
  bool sends = rng_below(r, 8) < lean;
  switch (rng_below(r, 8)) {
    case 0: cancel_both(who); break;
    case 1: set_waker_both(who); break;
    case 2:
    case 3: try_both(who, sends, n); break;
    default: queue_both(who, sends, n); break;
  }
}

static void compare(void) {
  channel_crowd_expect_chan(&c, ref.waiting, ref.len);
  assert_int_equal(volt_chan_is_closed(&c.chan), ref.closed);
  for (uint32_t i = 0; i < PLAYERS; i++) {
    channel_crowd_expect(&c, i, ref.result[i], ref.wakes[i]);
    if (ref.result[i] == VOLT_OK) assert_int_equal(volt_chan_moved(&c.waiters[i]), ref.moved[i]);
    assert_memory_equal(elems[i], ref.expected[i], sizeof elems[i]);
  }
  assert_int_equal(wake_log_count(&c.log), ref.logged);
  for (uint32_t i = 0; i < ref.logged; i++) assert_int_equal(wake_log_at(&c.log, i), ref.log[i]);
  wake_log_init(&c.log);
  ref.logged = 0;
}

static void expect_next_dropped(void *elem, void *ctx) {
  uint32_t *at = (uint32_t *)ctx;
  assert_true(*at < ref.len);
  assert_int_equal(*(uint32_t *)elem, ref.ring[*at]);
  *at += 1;
}

static void play(uint64_t seed, uint32_t capacity, uint32_t most) {
  rng r = rng_seeded(seed);
  last_seed = seed;
  memset(&ref, 0, sizeof ref);
  ref.capacity = capacity;
  next_elem = 1;
  for (uint32_t i = 0; i < PLAYERS; i++) {
    ref.result[i] = VOLT_ECANCELED;
    prepare(i, false);
  }
  channel_crowd_init(&c, capacity);
  uint32_t lean = 4;
  for (uint32_t i = 0; i < STEPS; i++) {
    if (i % 100 == 0) lean = 2 + rng_below(&r, 5); /* full for a while, empty for a while */
    step(&r, most, lean);
    compare();
  }
  ref_close();
  volt_chan_close(&c.chan);
  compare();
  for (uint32_t i = 0; i < capacity / 2; i++) {
    step(&r, most, lean);
    compare();
  }
  uint32_t dropped = 0;
  volt_chan_destroy(&c.chan, expect_next_dropped, &dropped);
  assert_int_equal(dropped, ref.len);
}

static void play_all(uint64_t first_seed, uint32_t most) {
  static const uint32_t capacities[] = {1, 2, 3, 5, 8, 64};
  uint64_t before = alloc_count_allocations();
  for (size_t i = 0; i < sizeof capacities / sizeof capacities[0]; i++) {
    for (uint64_t seed = first_seed; seed < first_seed + SEEDS; seed++) {
      play(seed * 100 + i, capacities[i], most);
    }
  }
  assert_int_equal(alloc_count_allocations() - before, 0);
}

static int say_seed(void **state) {
  (void)state;
  print_message("the last seed was %llu\n", (unsigned long long)last_seed);
  return 0;
}

static void one_by_one(void **state) {
  (void)state;
  play_all(1, 1);
}

static void two_at_once(void **state) {
  (void)state;
  play_all(100, 2);
}

static void many_at_once(void **state) {
  (void)state;
  play_all(200, MOST);
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
      cmocka_unit_test_teardown(one_by_one, say_seed),
      cmocka_unit_test_teardown(two_at_once, say_seed),
      cmocka_unit_test_teardown(many_at_once, say_seed),
  };
  return cmocka_run_group_tests_name("hostile wakers of, and random operations on a channel", tests,
                                     NULL, NULL);
}
