/* timer_reference_test.c: random operations, each compared with a timer queue that is obviously
 * right: a sorted array; and what the heap costs, counted. The seeds are fixed. */
#include <stdlib.h>

#include "bcs/pairing_heap.h"
#include "fake_waker.h"
#include "rng.h"
#include "sanitizer.h"
#include "unit.h"

/* ---- against a sorted array ---- */

enum { TIMERS = 100, STEPS = 3000, SEEDS = 20 };

static volt_timers timers;
static volt_timer timer[TIMERS];
static fake_waker waker[TIMERS];
static fake_waker driver;
static wake_log woken;

static struct {
  uint32_t count;
  uint32_t at[TIMERS]; /* who is started, the first to expire first */
  uint64_t deadline_ns[TIMERS];
  uint32_t told;
} ref;

static uint64_t ref_earliest(void) {
  return ref.count > 0 ? ref.deadline_ns[ref.at[0]] : VOLT_NO_DEADLINE;
}

static void ref_remove(uint32_t place) {
  ref.count -= 1;
  memmove(&ref.at[place], &ref.at[place + 1], (ref.count - place) * sizeof ref.at[0]);
}

static void start_both(uint32_t who, uint64_t deadline_ns) {
  uint32_t place = ref.count;
  if (deadline_ns < ref_earliest()) ref.told += 1;
  while (place > 0 && ref.deadline_ns[ref.at[place - 1]] > deadline_ns) place -= 1;
  memmove(&ref.at[place + 1], &ref.at[place], (ref.count - place) * sizeof ref.at[0]);
  ref.at[place] = who;
  ref.count += 1;
  ref.deadline_ns[who] = deadline_ns;
  volt_timer_start(&timers, &timer[who], deadline_ns, fake_waker_of(&waker[who]));
}

static void cancel_both(uint32_t who) {
  uint32_t place = 0;
  while (place < ref.count && ref.at[place] != who) place += 1;
  bool started = place < ref.count;
  if (started) ref_remove(place);
  assert_int_equal(volt_timer_cancel(&timers, &timer[who]),
                   started || volt_timer_result(&timer[who]) == VOLT_ECANCELED);
  if (started) assert_result(volt_timer_result(&timer[who]), VOLT_ECANCELED);
}

static void expire_both(uint64_t now_ns) {
  wake_log_init(&woken);
  size_t expired = volt_timers_expire(&timers, now_ns);
  assert_int_equal(wake_log_count(&woken), expired);
  for (uint32_t i = 0; i < expired; i++) {
    assert_true(ref.count > 0 && ref_earliest() <= now_ns);
    assert_int_equal(wake_log_at(&woken, i), ref.at[0]);
    assert_result(volt_timer_result(&timer[ref.at[0]]), VOLT_OK);
    ref_remove(0);
  }
  assert_true(ref_earliest() > now_ns || ref_earliest() == VOLT_NO_DEADLINE);
}

static void expect_same(void) {
  assert_int_equal(volt_timers_earliest_ns(&timers), ref_earliest());
  assert_int_equal(fake_waker_calls(&driver), ref.told);
}

static void set_up(void) {
  memset(&ref, 0, sizeof ref);
  memset((void *)timer, 0, sizeof timer);
  fake_waker_init(&driver, 0, NULL);
  volt_timers_init(&timers, fake_waker_of(&driver));
  for (uint32_t i = 0; i < TIMERS; i++) fake_waker_init(&waker[i], i, &woken);
}

/* patience: how far deadlines lie ahead; the smaller, the more are the same. */
static void play(uint64_t seed, uint32_t patience) {
  set_up();
  rng r = rng_seeded(seed);
  uint64_t now_ns = 1000;
  for (uint32_t i = 0; i < STEPS; i++) {
    uint32_t who = rng_below(&r, TIMERS);
    uint32_t kind = rng_below(&r, 16);
    if (kind == 0) {
      now_ns += rng_below(&r, patience);
      expire_both(now_ns);
    } else if (kind < 5 || volt_timer_result(&timer[who]) == VOLT_PENDING) {
      cancel_both(who);
    } else {
      start_both(who, kind == 5 ? VOLT_NO_DEADLINE : now_ns - 3 + rng_below(&r, patience));
    }
    expect_same();
  }
  expire_both(UINT64_MAX);
  while (ref.count > 0) cancel_both(ref.at[ref.count / 2]);
  expect_same();
  volt_timers_destroy(&timers);
}

static void random_operations(void **state) {
  (void)state;
  const uint32_t patience[] = {4, 40, 100000};
  for (uint64_t seed = 1; seed <= SEEDS; seed++) {
    for (uint32_t i = 0; i < 3; i++) play(10 * seed + i, patience[i]);
  }
}

/* ---- what it costs ---- */

/* Melding two trees is one comparison. A timer that is taken out leaves its children to be melded
 * into one tree, and that with the rest, unless it was the root: so the children are what it costs.
 * Whoever starts timers pays one comparison each. */
static uint64_t cost_of_removal(volt_timer *t) {
  uint64_t children = 0;
  volt_waiter *at = volt_heap_child_(&t->waiter);
  for (; at; at = at->next) children += 1;
  return children;
}

static uint64_t log2_of(uint64_t n) {
  uint64_t log = 0;
  while (n >> log > 1) log += 1;
  return log;
}

enum { ASCENDING, DESCENDING, RANDOM, ORDERS };

/* The place in time of the i-th timer started: each of 0..n-1 once, if n is a power of two. */
static uint32_t place_of(int order, uint32_t i, uint32_t n) {
  if (order == ASCENDING) return i;
  return order == DESCENDING ? n - 1 - i : (i * UINT32_C(2654435761) + 12345) % n;
}

static volt_timer *start_many(volt_timers *queue, int order, uint32_t n) {
  volt_timer *many = (volt_timer *)calloc(n, sizeof *many);
  assert_non_null(many);
  volt_timers_init(queue, (volt_waker){NULL, NULL});
  for (uint32_t i = 0; i < n; i++) { /* many[place] is due at that time */
    uint32_t place = place_of(order, i, n);
    volt_timer_start(queue, &many[place], place, (volt_waker){NULL, NULL});
  }
  return many;
}

enum { LARGE = 1 << 14 };

static void expire_costs_a_logarithm(void **state) {
  (void)state;
  for (int order = 0; order < ORDERS; order++) {
    volt_timer *many = start_many(&timers, order, LARGE);
    uint64_t cost = 0;
    for (uint32_t i = 0; i < LARGE; i++) {
      cost += cost_of_removal(&many[i]);
      assert_int_equal(volt_timers_expire(&timers, i), 1);
    }
    print_message("%.2f comparisons to expire one of %u\n", (double)cost / LARGE, (unsigned)LARGE);
    assert_true(cost <= 2 * LARGE * log2_of(LARGE));
    volt_timers_destroy(&timers);
    free(many);
  }
}

/* What was started is cancelled and started again for a time to come: the first one and any other,
 * in turn. */
static void cancel_costs_a_logarithm(void **state) {
  (void)state;
  for (int order = 0; order < ORDERS; order++) {
    volt_timer *many = start_many(&timers, order, LARGE);
    rng r = rng_seeded(1);
    uint64_t cost = 0;
    for (uint32_t i = 0; i < 4 * LARGE; i++) {
      volt_timer *first = volt_heap_timer_(timers.root);
      volt_timer *victim = i % 2 ? first : &many[rng_below(&r, LARGE)];
      cost += 1 + cost_of_removal(victim);
      assert_true(volt_timer_cancel(&timers, victim));
      uint64_t deadline_ns = i + 1 + rng_below(&r, LARGE);
      volt_timer_start(&timers, victim, deadline_ns, (volt_waker){NULL, NULL});
    }
    print_message("%.2f comparisons to cancel one of %u\n", (double)cost / (4 * LARGE),
                  (unsigned)LARGE);
    assert_true(cost <= 2 * 4 * LARGE * log2_of(LARGE));
    assert_int_equal(volt_timers_expire(&timers, VOLT_NO_DEADLINE - 1), LARGE);
    volt_timers_destroy(&timers);
    free(many);
  }
}

/* A million levels deep, or a million children: neither is walked by recursion, or twice. */
static void a_million(void **state) {
  (void)state;
  uint32_t n = UNDER_ASAN || UNDER_TSAN ? 1 << 17 : 1 << 20;
  for (int order = 0; order < ORDERS; order++) {
    volt_timer *many = start_many(&timers, order, n);
    assert_int_equal(volt_timers_expire(&timers, n / 2 - 1), n / 2);
    assert_int_equal(volt_timers_earliest_ns(&timers), n / 2);
    for (uint32_t i = 0; i < n; i++)
      assert_int_equal(volt_timer_cancel(&timers, &many[i]), i >= n / 2);
    assert_int_equal(volt_timers_earliest_ns(&timers), VOLT_NO_DEADLINE);
    volt_timers_destroy(&timers);
    free(many);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_operations),
      cmocka_unit_test(expire_costs_a_logarithm),
      cmocka_unit_test(cancel_costs_a_logarithm),
      cmocka_unit_test(a_million),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
