/* channel_reference_test.c: random operations, each compared with a channel that is obviously
 * right: an array of elements and an array of who waits. The seeds are fixed; a failure says
 * which. */
#include "alloc_count.h"
#include "channel_crowd.h"
#include "rng.h"

enum { PLAYERS = 12, MOST = 5, STEPS = 2500, SEEDS = 12 };

/* The memory of player i: what it sends, or receives into. */
static uint32_t elems[PLAYERS][MOST];
static channel_crowd c;

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
    got = sends ? volt_chan_send(&c.chan, w, elems[who], waker)
                : volt_chan_recv(&c.chan, w, elems[who], waker);
  } else {
    got = sends ? volt_chan_send_many(&c.chan, w, elems[who], n, waker)
                : volt_chan_recv_many(&c.chan, w, elems[who], n, waker);
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
      cmocka_unit_test_teardown(one_by_one, say_seed),
      cmocka_unit_test_teardown(two_at_once, say_seed),
      cmocka_unit_test_teardown(many_at_once, say_seed),
  };
  return cmocka_run_group_tests_name("random operations on a channel", tests, NULL, NULL);
}
