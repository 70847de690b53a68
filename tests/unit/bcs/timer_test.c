/* timer_test.c: timers on a clock of the test's own: expire() is told the time, so nothing
 * waits. Then random operations. */
#include <stdlib.h>

#include "alloc_count.h"
#include "bcs/pairing_heap.h"
#include "death.h"
#include "fake_waker.h"
#include "rng.h"
#include "sanitizer.h"
#include "unit.h"

enum { TIMERS = 100 }; /* more than expire() takes out at once */

static volt_timers timers;
static volt_timers other_timers;
static volt_timer timer[TIMERS];
static hostile_waker waker[TIMERS]; /* of the timer with the same number, which is its name */
static hostile_waker driver;
static wake_log woken;

static const volt_waker nobody = {NULL, NULL};

static int set_up(void **state) {
  (void)state;
  hostile_waker_init(&driver, 0, NULL, NULL, NULL);
  volt_timers_init(&timers, hostile_waker_of(&driver));
  memset((void *)timer, 0, sizeof timer);
  wake_log_init(&woken);
  for (uint32_t i = 0; i < TIMERS; i++) hostile_waker_init(&waker[i], i, &woken, NULL, NULL);
  return 0;
}

static void start(uint32_t i, uint64_t deadline_ns) {
  volt_timer_start(&timers, &timer[i], deadline_ns, hostile_waker_of(&waker[i]));
}

static bool cancel(uint32_t i) {
  return volt_timer_cancel(&timers, &timer[i]);
}

/* What has become of timer i, and how often its waker has been called so far. */
static void expect(uint32_t i, int result, uint32_t calls) {
  assert_result(volt_timer_result(&timer[i]), result);
  assert_int_equal(hostile_waker_calls(&waker[i]), calls);
}

/* So many expire; the earliest of the others is then that. */
static void expire(uint64_t now_ns, size_t count, uint64_t earliest_ns) {
  assert_int_equal(volt_timers_expire(&timers, now_ns), count);
  assert_int_equal(volt_timers_earliest_ns(&timers), earliest_ns);
}

static void expect_earliest(uint64_t earliest_ns) {
  assert_int_equal(volt_timers_earliest_ns(&timers), earliest_ns);
}

static void expect_told(uint32_t calls) {
  assert_int_equal(hostile_waker_calls(&driver), calls);
}

/* ---- start and expire ---- */

static void all_zero_is_unused_and_empty(void **state) {
  (void)state;
  static volt_timers zero = VOLT_TIMERS_INIT;
  volt_timer unused = VOLT_TIMER_INIT;
  assert_result(volt_timer_result(&unused), VOLT_ECANCELED);
  assert_true(volt_timer_cancel(&zero, &unused));
  assert_int_equal(volt_timers_earliest_ns(&zero), VOLT_NO_DEADLINE);
  assert_int_equal(volt_timers_expire(&zero, UINT64_MAX), 0);
  volt_timer_start(&zero, &unused, 5, hostile_waker_of(&waker[0])); /* there is no driver */
  assert_int_equal(volt_timers_earliest_ns(&zero), 5);
  assert_int_equal(volt_timers_expire(&zero, 5), 1);
  assert_result(volt_timer_result(&unused), VOLT_OK);
  assert_int_equal(hostile_waker_calls(&waker[0]), 1);
  volt_timers_destroy(&zero);
}

static void a_timer_expires_at_its_deadline(void **state) {
  (void)state;
  start(0, 1000);
  expect(0, VOLT_PENDING, 0);
  expire(999, 0, 1000);
  expect(0, VOLT_PENDING, 0);
  expire(1000, 1, VOLT_NO_DEADLINE);
  expect(0, VOLT_OK, 1);
  expire(UINT64_MAX, 0, VOLT_NO_DEADLINE); /* once only */
  expect(0, VOLT_OK, 1);
  volt_timers_destroy(&timers);
}

static void the_past_expires_at_the_next_expire(void **state) {
  (void)state;
  expire(1000, 0, VOLT_NO_DEADLINE);
  start(1, 500);
  start(0, 0);
  expect(0, VOLT_PENDING, 0);
  expect(1, VOLT_PENDING, 0);
  expect_earliest(0);
  expire(1000, 2, VOLT_NO_DEADLINE);
  assert_true(wake_log_is_run(&woken, 0, 2));
  volt_timers_destroy(&timers);
}

static void no_deadline_never_comes(void **state) {
  (void)state;
  start(0, VOLT_NO_DEADLINE);
  expect_earliest(VOLT_NO_DEADLINE);
  start(1, VOLT_NO_DEADLINE - 1);
  start(2, VOLT_NO_DEADLINE);
  expire(VOLT_NO_DEADLINE, 1, VOLT_NO_DEADLINE);
  expect(1, VOLT_OK, 1);
  expire(VOLT_NO_DEADLINE, 0, VOLT_NO_DEADLINE);
  expect(0, VOLT_PENDING, 0);
  assert_true(cancel(0));
  assert_true(cancel(2));
  volt_timers_destroy(&timers);
}

/* The number of the timer that is at place i of a permutation of them all. */
static uint32_t shuffled(uint32_t i) {
  return i * 37 % TIMERS;
}

static void the_earliest_expires_first(void **state) {
  (void)state;
  for (uint32_t i = 0; i < TIMERS; i++) start(shuffled(i), 10 * shuffled(i));
  for (uint32_t i = 0; i < 50; i++) {
    expect_earliest(10 * i);
    expire(10 * i + 9, 1, 10 * (i + 1));
  }
  expire(10000, TIMERS - 50, VOLT_NO_DEADLINE); /* the rest in one call */
  assert_true(wake_log_is_run(&woken, 0, TIMERS));
  volt_timers_destroy(&timers);
}

static void the_same_deadline_expires_in_order_of_start(void **state) {
  (void)state;
  start(TIMERS - 1, 8);
  for (uint32_t i = 0; i < 49; i++) {
    start(i, 7);
    start(50 + i, 8);
  }
  assert_true(cancel(TIMERS - 1)); /* it gives up its place, and is the last from now on */
  start(TIMERS - 1, 8);
  start(49, 7);
  expire(7, 50, 8);
  assert_true(wake_log_is_run(&woken, 0, 50));
  expire(8, 50, VOLT_NO_DEADLINE);
  assert_true(wake_log_is_run(&woken, 0, TIMERS));
  volt_timers_destroy(&timers);
}

static void init_makes_it_empty(void **state) {
  (void)state;
  start(0, 1);
  expire(1, 1, VOLT_NO_DEADLINE);
  volt_timers_init(&timers, nobody);
  expect_earliest(VOLT_NO_DEADLINE);
  start(0, 3);
  expire(3, 1, VOLT_NO_DEADLINE);
  expect_told(1); /* by the first life's */
  volt_timers_destroy(&timers);
}

/* ---- cancel ---- */

enum { START_ASCENDING, START_DESCENDING, START_SHUFFLED, START_ORDERS };

static uint32_t nth_started(int order, uint32_t i) {
  if (order == START_ASCENDING) return i;
  return order == START_DESCENDING ? TIMERS - 1 - i : shuffled(i);
}

/* Cancel each place in turn: the root, what is in the middle, leaves; before and after the heap has
 * been restructured by taking out the first. */
static void cancel_takes_out_that_one(void **state) {
  for (int order = 0; order < START_ORDERS; order++) {
    for (uint32_t victim = 1; victim < TIMERS; victim++) {
      set_up(state);
      for (uint32_t i = 0; i < TIMERS; i++) {
        start(nth_started(order, i), nth_started(order, i));
      }
      if (victim % 2) expire(0, 1, 1);
      assert_true(cancel(victim));
      expect(victim, VOLT_ECANCELED, 0);
      uint32_t first = victim % 2 ? 1 : 0;
      expect_earliest(victim == first ? first + 1 : first);
      expire(TIMERS, TIMERS - 1 - first, VOLT_NO_DEADLINE);
      for (uint32_t i = 0; i < TIMERS - 1; i++) {
        assert_int_equal(wake_log_at(&woken, i), i < victim ? i : i + 1);
      }
      expect(victim, VOLT_ECANCELED, 0);
      volt_timers_destroy(&timers);
    }
  }
}

static void cancel_of_all_empties_it(void **state) {
  for (int order = 0; order < START_ORDERS; order++) {
    set_up(state);
    for (uint32_t i = 0; i < TIMERS; i++) start(nth_started(order, i), 10 + nth_started(order, i));
    for (uint32_t i = 0; i < TIMERS; i++) { /* the root each time, but for the shuffled */
      assert_true(cancel(order == START_SHUFFLED ? shuffled(shuffled(i)) : i));
    }
    expire(UINT64_MAX, 0, VOLT_NO_DEADLINE);
    assert_int_equal(wake_log_count(&woken), 0);
    volt_timers_destroy(&timers);
  }
}

static void cancel_says_the_outcome_again(void **state) {
  (void)state;
  start(0, 5);
  start(1, 6);
  assert_true(cancel(0));
  assert_true(cancel(0));
  expire(6, 1, VOLT_NO_DEADLINE);
  assert_false(cancel(1));
  assert_false(cancel(1));
  expect(0, VOLT_ECANCELED, 0);
  expect(1, VOLT_OK, 1);
  volt_timers_destroy(&timers);
}

static void its_memory_is_its_owners_again(void **state) {
  (void)state;
  for (uint32_t i = 0; i < 1000; i++) {
    start(1, 500); /* company */
    start(0, i);
    start(2, i);
    if (i % 3 == 0) assert_true(cancel(0));
    if (i % 3 == 1) assert_int_equal(volt_timers_expire(&timers, i), i < 500 ? 2 : 3);
    if (i % 3 == 2) { /* used again without being cleared */
      assert_true(cancel(0));
      start(0, i + 1);
      assert_true(cancel(0));
    }
    memset((void *)&timer[0], 0xa5, sizeof timer[0]);
    (void)cancel(2);
    (void)cancel(1);
    expire(UINT64_MAX, 0, VOLT_NO_DEADLINE);
    memset((void *)&timer[0], 0, sizeof timer[0]);
  }
  volt_timers_destroy(&timers);
}

/* ---- from inside a waker ---- */

static void start_the_next(hostile_waker *self) {
  uint32_t next = self->seen.name + 1;
  assert_result(volt_timer_result(&timer[next - 1]), VOLT_OK); /* told before the waker is called */
  start(next, *(uint64_t *)self->object);
}

static void a_waker_starts_for_a_time_that_has_passed(void **state) {
  (void)state;
  uint64_t at_ns = 3;
  for (uint32_t i = 0; i < TIMERS - 1; i++) {
    waker[i].act = start_the_next;
    waker[i].object = &at_ns;
  }
  start(0, 10);
  expire(10, TIMERS, VOLT_NO_DEADLINE); /* each by the one before it, in one call */
  assert_true(wake_log_is_run(&woken, 0, TIMERS));
  volt_timers_destroy(&timers);
}

static void a_waker_starts_for_a_time_to_come(void **state) {
  (void)state;
  uint64_t at_ns = 11;
  waker[0].act = start_the_next;
  waker[0].object = &at_ns;
  start(0, 10);
  expire(10, 1, 11);
  expect_told(2);
  expire(11, 1, VOLT_NO_DEADLINE);
  assert_true(wake_log_is_run(&woken, 0, 2));
  volt_timers_destroy(&timers);
}

static void start_itself_again(hostile_waker *self) {
  self->n += 10;
  start(self->seen.name, self->n);
}

static void a_periodic_timer(void **state) {
  (void)state;
  waker[0].act = start_itself_again;
  start(0, 0);
  for (uint32_t i = 1; i <= 100; i++) {
    expire(10 * i - 1, 1, 10 * i);
    expect(0, VOLT_PENDING, i);
  }
  assert_true(cancel(0));
  volt_timers_destroy(&timers);
}

static void cancel_the_nth(hostile_waker *self) {
  self->result = cancel(self->n);
}

/* All are due, and the first waker cancels one of the others. Whether that comes in time is for
 * cancel() to say, and for the waker to bear out. */
static void a_waker_cancels_another_that_is_due(void **state) {
  bool outcomes[2] = {false, false};
  for (uint32_t victim = 1; victim < TIMERS; victim++) {
    set_up(state);
    waker[0].act = cancel_the_nth;
    waker[0].n = victim;
    for (uint32_t i = 0; i < TIMERS; i++) start(i, i);
    uint32_t stopped = TIMERS - (uint32_t)volt_timers_expire(&timers, TIMERS);
    assert_int_equal(waker[0].result, stopped);
    expect(victim, stopped ? VOLT_ECANCELED : VOLT_OK, 1 - stopped);
    assert_int_equal(wake_log_count(&woken), TIMERS - stopped);
    outcomes[stopped] = true;
    volt_timers_destroy(&timers);
  }
  assert_true(outcomes[false] && outcomes[true]);
}

static void expire_more(hostile_waker *self) {
  self->result = (int)volt_timers_expire(&timers, self->n);
}

static void a_waker_expires_others(void **state) {
  (void)state;
  waker[0].act = expire_more;
  waker[0].n = TIMERS;
  for (uint32_t i = 0; i < TIMERS; i++) start(i, i);
  size_t expired = volt_timers_expire(&timers, 50);
  assert_int_equal(expired + (size_t)waker[0].result, TIMERS);
  for (uint32_t i = 0; i < TIMERS; i++) expect(i, VOLT_OK, 1);
  volt_timers_destroy(&timers);
}

static void a_zero_waker_wakes_nobody(void **state) {
  (void)state;
  volt_timer_start(&timers, &timer[0], 1, nobody);
  start(1, 1);
  expire(1, 2, VOLT_NO_DEADLINE);
  expect(0, VOLT_OK, 0);
  expect(1, VOLT_OK, 1);
  volt_timers_destroy(&timers);
}

/* ---- no allocation ---- */

static void no_operation_allocates(void **state) {
  (void)state;
  uint64_t before = alloc_count_allocations();
  for (uint32_t round = 0; round < 10; round++) {
    for (uint32_t i = 0; i < TIMERS; i++) start(i, TIMERS - i);
    for (uint32_t i = 0; i < TIMERS; i += 3) (void)cancel(i);
    (void)volt_timers_earliest_ns(&timers);
    (void)volt_timers_expire(&timers, 50);
    (void)volt_timers_expire(&timers, TIMERS);
    wake_log_init(&woken);
  }
  volt_timers_destroy(&timers);
  assert_int_equal(alloc_count_allocations() - before, 0);
  assert_int_equal(hostile_waker_calls(&waker[1]), 10);
}

/* ---- misuse ---- */

static void start_it(void *arg) {
  volt_timer_start(&timers, (volt_timer *)arg, 1, nobody);
}

static void start_it_elsewhere(void *arg) {
  volt_timer_start(&other_timers, (volt_timer *)arg, 1, nobody);
}

static void cancel_it_elsewhere(void *arg) {
  (void)volt_timer_cancel(&other_timers, (volt_timer *)arg);
}

static void destroy_them(void *arg) {
  volt_timers_destroy((volt_timers *)arg);
}

static void start_of_a_started_timer(void **state) {
  (void)state;
  const char *at = death_address(&timer[0]);
  start(0, 10);
  assert_death(start_it, &timer[0], "volt_timer", at, "already queued");
  assert_death(start_it_elsewhere, &timer[0], "volt_timer", at, "already queued");
  expire(10, 1, VOLT_NO_DEADLINE);
  start_it(&timer[0]);
  assert_true(cancel(0));
  memset((void *)&timer[1], 0xa5, sizeof timer[1]);
  assert_death(start_it, &timer[1], "volt_timer", "not initialised", "state 2779096485");
}

static void cancel_on_another_queue(void **state) {
  (void)state;
  volt_timers_init(&other_timers, nobody);
  start(0, 10);
  assert_death(cancel_it_elsewhere, &timer[0], "volt_timer", death_address(&timer[0]),
               death_address(&timers), death_address(&other_timers));
  assert_true(cancel(0));
}

static void destroy_with_a_started_timer(void **state) {
  (void)state;
  const char *at = death_address(&timers);
  start(0, VOLT_NO_DEADLINE);
  assert_death(destroy_them, &timers, "volt_timers_destroy", at, "a timer is started");
  assert_true(cancel(0));
  destroy_them(&timers);
}

/* ==== random operations, against a sorted array ====
 *
 * And what the heap costs, counted. The seeds are fixed. */

/* ---- against a sorted array ---- */

enum { STEPS = 3000, SEEDS = 20 };

static fake_waker ref_waker[TIMERS];
static fake_waker ref_driver;
static wake_log ref_woken;

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
  volt_timer_start(&timers, &timer[who], deadline_ns, fake_waker_of(&ref_waker[who]));
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
  wake_log_init(&ref_woken);
  size_t expired = volt_timers_expire(&timers, now_ns);
  assert_int_equal(wake_log_count(&ref_woken), expired);
  for (uint32_t i = 0; i < expired; i++) {
    assert_true(ref.count > 0 && ref_earliest() <= now_ns);
    assert_int_equal(wake_log_at(&ref_woken, i), ref.at[0]);
    assert_result(volt_timer_result(&timer[ref.at[0]]), VOLT_OK);
    ref_remove(0);
  }
  assert_true(ref_earliest() > now_ns || ref_earliest() == VOLT_NO_DEADLINE);
}

static void expect_same(void) {
  assert_int_equal(volt_timers_earliest_ns(&timers), ref_earliest());
  assert_int_equal(fake_waker_calls(&ref_driver), ref.told);
}

static void ref_set_up(void) {
  memset(&ref, 0, sizeof ref);
  memset((void *)timer, 0, sizeof timer);
  fake_waker_init(&ref_driver, 0, NULL);
  volt_timers_init(&timers, fake_waker_of(&ref_driver));
  for (uint32_t i = 0; i < TIMERS; i++) fake_waker_init(&ref_waker[i], i, &ref_woken);
}

/* patience: how far deadlines lie ahead; the smaller, the more are the same. */
static void play(uint64_t seed, uint32_t patience) {
  ref_set_up();
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
      cmocka_unit_test_setup(all_zero_is_unused_and_empty, set_up),
      cmocka_unit_test_setup(a_timer_expires_at_its_deadline, set_up),
      cmocka_unit_test_setup(the_past_expires_at_the_next_expire, set_up),
      cmocka_unit_test_setup(no_deadline_never_comes, set_up),
      cmocka_unit_test_setup(the_earliest_expires_first, set_up),
      cmocka_unit_test_setup(the_same_deadline_expires_in_order_of_start, set_up),
      cmocka_unit_test_setup(init_makes_it_empty, set_up),
      cmocka_unit_test_setup(cancel_takes_out_that_one, set_up),
      cmocka_unit_test_setup(cancel_of_all_empties_it, set_up),
      cmocka_unit_test_setup(cancel_says_the_outcome_again, set_up),
      cmocka_unit_test_setup(its_memory_is_its_owners_again, set_up),
      cmocka_unit_test_setup(a_waker_starts_for_a_time_that_has_passed, set_up),
      cmocka_unit_test_setup(a_waker_starts_for_a_time_to_come, set_up),
      cmocka_unit_test_setup(a_periodic_timer, set_up),
      cmocka_unit_test_setup(a_waker_cancels_another_that_is_due, set_up),
      cmocka_unit_test_setup(a_waker_expires_others, set_up),
      cmocka_unit_test_setup(a_zero_waker_wakes_nobody, set_up),
      cmocka_unit_test_setup(no_operation_allocates, set_up),
      cmocka_unit_test_setup(start_of_a_started_timer, set_up),
      cmocka_unit_test_setup(cancel_on_another_queue, set_up),
      cmocka_unit_test_setup(destroy_with_a_started_timer, set_up),
      cmocka_unit_test(random_operations),
      cmocka_unit_test(expire_costs_a_logarithm),
      cmocka_unit_test(cancel_costs_a_logarithm),
      cmocka_unit_test(a_million),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
