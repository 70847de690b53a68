/* permits_test.c: the wait queue from inside: the word after each operation, and the invariants
 * I1 to I5 of permits.c whenever the lock is free. Polled by hand. */
#include "core/permits.h"

#include "fake_waker.h"
#include "rng.h"
#include "unit.h"

enum { TOTAL = 1000, MANY = 16 };

/* Two ways to keep permits in the word: as they are, and so that all of them are zero. */
static const volt_permit_kind_ plain = {"plain", "too much",          0,   TOTAL,
                                        0,       volt_permits_serve_, NULL};
static const volt_permit_kind_ inverse = {"inverse", "too much",          TOTAL, TOTAL,
                                          0,         volt_permits_serve_, NULL};

static volt_fifo_ q;
static volt_waiter waiters[MANY];
static fake_waker wakers[MANY];

static void begin(uint32_t value) {
  memset(&q, 0xee, sizeof q);
  volt_fifo_init_(&q, value);
  memset(waiters, 0, sizeof waiters);
  for (uint32_t i = 0; i < MANY; i++) fake_waker_init(&wakers[i], i, NULL);
}

static int ask(const volt_permit_kind_ *kind, uint32_t i, uint32_t n) {
  return volt_permits_acquire_(&q, kind, &waiters[i], n, fake_waker_of(&wakers[i]));
}

static uint64_t word(void) {
  return volt_load_acquire(&q.word);
}

static void expect_word(uint64_t want) {
  assert_int_equal(word(), want);
}

/* The FIFO is well linked. Returns what its waiters have gathered. */
static uint32_t check_fifo(void) {
  uint32_t count = 0;
  uint32_t gathered = 0;
  volt_waiter *before = NULL;
  for (volt_waiter *w = q.head; w; w = w->next) {
    assert_ptr_equal(w->prev, before);
    assert_ptr_equal(w->queue, &q);
    assert_true(w->need > 0 && w->need <= w->want); /* I5 */
    assert_int_equal(volt_load_acquire(&w->state), VOLT_WAITER_PENDING_);
    if (before) assert_int_equal(w->need, w->want); /* I4 */
    gathered += w->want - w->need;
    before = w;
    count += 1;
    assert_true(count <= MANY);
  }
  assert_ptr_equal(q.tail, before);
  assert_int_equal(q.waiters, count);
  return gathered;
}

/* All of it, with so many permits in the callers' hands. */
static void check_invariants(const volt_permit_kind_ *kind, uint32_t held) {
  uint64_t now = word();
  assert_int_equal(now & VOLT_WORD_LOCKED_, 0);
  assert_int_equal((now & VOLT_WORD_QUEUED_) != 0, q.head != NULL); /* I2 */
  uint32_t gathered = check_fifo();
  uint32_t value = VOLT_WORD_VALUE_(now) ^ kind->full;
  if (now & VOLT_WORD_QUEUED_) {
    assert_int_equal(VOLT_WORD_VALUE_(now), 0); /* I1 */
    value = 0;
  }
  assert_int_equal(held + value + gathered, TOTAL); /* I3 */
  assert_int_equal(volt_permits_available_(&q, kind), value);
  assert_int_equal(volt_fifo_count_(&q), q.waiters);
  assert_int_equal(now & VOLT_WORD_ALL_RETURNING_, 0);
  assert_int_equal(q.rest, 0);
}

/* ---- the word ---- */

static void words_of_permits(void **state) {
  (void)state;
  begin(5);
  expect_word(VOLT_WORD_(5));
  assert_result(ask(&plain, 0, 2), VOLT_OK);
  expect_word(VOLT_WORD_(3));
  assert_result(ask(&plain, 0, 4), VOLT_PENDING);
  expect_word(VOLT_WORD_QUEUED_);
  assert_int_equal(waiters[0].want, 4);
  assert_int_equal(waiters[0].need, 1);
  volt_permits_release_(&q, &plain, 3);
  expect_word(VOLT_WORD_(2));
  assert_int_equal(waiters[0].need, 0);
  volt_permits_release_(&q, &plain, 1);
  expect_word(VOLT_WORD_(3));
  volt_permits_destroy_(&q, &plain);
  expect_word(VOLT_WORD_(3));
}

static void words_of_inverse_permits(void **state) {
  (void)state;
  begin(0);
  expect_word(0); /* all of them are there */
  assert_int_equal(volt_permits_available_(&q, &inverse), TOTAL);
  assert_result(ask(&inverse, 0, TOTAL), VOLT_OK);
  expect_word(VOLT_WORD_(TOTAL));
  assert_int_equal(volt_permits_available_(&q, &inverse), 0);
  assert_result(ask(&inverse, 0, 1), VOLT_PENDING);
  expect_word(VOLT_WORD_QUEUED_);
  assert_int_equal(volt_permits_available_(&q, &inverse), 0);
  volt_permits_release_(&q, &inverse, TOTAL);
  expect_word(VOLT_WORD_((TOTAL - 1) ^ TOTAL));
  volt_permits_release_(&q, &inverse, 1);
  expect_word(0);
}

static void words_of_a_closed_queue(void **state) {
  (void)state;
  begin(2);
  assert_result(ask(&plain, 0, 3), VOLT_PENDING);
  assert_result(ask(&plain, 1, 3), VOLT_PENDING);
  volt_permits_close_(&q, &plain);
  expect_word(VOLT_WORD_(2) | VOLT_WORD_CLOSED_);
  assert_result(ask(&plain, 0, 1), VOLT_ECLOSED);
  assert_result(volt_waiter_result(&waiters[0]), VOLT_ECLOSED); /* as it was */
  expect_word(VOLT_WORD_(2) | VOLT_WORD_CLOSED_);
  volt_permits_release_(&q, &plain, 4);
  expect_word(VOLT_WORD_(6) | VOLT_WORD_CLOSED_);
  volt_permits_close_(&q, &plain);
  expect_word(VOLT_WORD_(6) | VOLT_WORD_CLOSED_);
  assert_int_equal(volt_permits_available_(&q, &plain), 6);
  volt_permits_destroy_(&q, &plain);
  expect_word(VOLT_WORD_(6) | VOLT_WORD_CLOSED_);
}

static void states_of_a_waiter(void **state) {
  (void)state;
  begin(0);
  assert_int_equal(volt_load_acquire(&waiters[0].state), VOLT_WAITER_UNUSED_);
  assert_result(ask(&plain, 0, 1), VOLT_PENDING);
  assert_int_equal(volt_load_acquire(&waiters[0].state), VOLT_WAITER_PENDING_);
  assert_ptr_equal(waiters[0].queue, &q);
  volt_permits_release_(&q, &plain, 1);
  assert_int_equal(volt_load_acquire(&waiters[0].state), VOLT_WAITER_GRANTED_);
  assert_result(ask(&plain, 0, 1), VOLT_PENDING);
  assert_true(volt_permits_cancel_(&q, &plain, &waiters[0]));
  assert_int_equal(volt_load_acquire(&waiters[0].state), VOLT_WAITER_UNUSED_);
  assert_int_equal(waiters[0].need, 0);
  volt_permits_release_(&q, &plain, 1);
  assert_result(ask(&plain, 0, 1), VOLT_OK);
  assert_int_equal(volt_load_acquire(&waiters[0].state), VOLT_WAITER_UNUSED_);
  assert_result(ask(&plain, 0, 1), VOLT_PENDING);
  volt_permits_close_(&q, &plain);
  assert_int_equal(volt_load_acquire(&waiters[0].state), VOLT_WAITER_CLOSED_);
  assert_result(volt_waiter_await_(&waiters[0]), VOLT_ECLOSED);
}

static void only_pending_and_awaited_are_pending(void **state) {
  (void)state;
  volt_waiter w = VOLT_WAITER_INIT;
  volt_waiter_name_(&w);
  const int want[] = {VOLT_ECANCELED, VOLT_PENDING, VOLT_PENDING, VOLT_OK, VOLT_ECLOSED};
  for (uint32_t i = 0; i < 5; i++) {
    volt_store_relaxed(&w.state, i);
    assert_result(volt_waiter_result(&w), want[i]);
  }
}

/* ---- the invariants ---- */

/* What each waiter holds; 0 while it waits. */
static uint32_t held[MANY];

/* Those that were granted since the last look hold what they wanted. */
static uint32_t look_around(void) {
  uint32_t sum = 0;
  for (uint32_t i = 0; i < MANY; i++) {
    if (held[i] == 0 && volt_waiter_result(&waiters[i]) == VOLT_OK) held[i] = waiters[i].want;
    sum += held[i];
  }
  return sum;
}

static void give_back(const volt_permit_kind_ *kind, uint32_t i) {
  uint32_t n = held[i];
  held[i] = 0;
  if (n > 0) volt_store_relaxed(&waiters[i].state, VOLT_WAITER_UNUSED_); /* looked at: ours */
  volt_permits_release_(&q, kind, n);
}

static void act(const volt_permit_kind_ *kind, rng *r) {
  uint32_t i = rng_below(r, MANY);
  bool waits = volt_waiter_result(&waiters[i]) == VOLT_PENDING;
  switch (rng_below(r, 6)) {
    case 0: give_back(kind, i); break;
    case 1:
      if (held[i] == 0) assert_true(volt_permits_cancel_(&q, kind, &waiters[i]));
      break;
    case 2:
      assert_int_equal(volt_fifo_set_waker_(&q, kind->name, &waiters[i], fake_waker_of(&wakers[i])),
                       waits);
      break;
    default:
      if (!waits && held[i] == 0) {
        uint32_t n = 1 + rng_below(r, TOTAL / 2);
        if (ask(kind, i, n) == VOLT_OK) held[i] = n;
      }
  }
}

static void invariants_hold(const volt_permit_kind_ *kind, uint32_t value) {
  for (uint64_t seed = 1; seed <= 20; seed++) {
    rng r = rng_seeded(seed);
    begin(value);
    memset(held, 0, sizeof held);
    for (int i = 0; i < 2000; i++) {
      act(kind, &r);
      check_invariants(kind, look_around());
    }
    volt_permits_close_(&q, kind);
    check_invariants(kind, look_around());
    for (uint32_t i = 0; i < MANY; i++) give_back(kind, i);
    check_invariants(kind, 0);
  }
}

static void invariants_of_plain_permits(void **state) {
  (void)state;
  invariants_hold(&plain, TOTAL);
}

static void invariants_of_inverse_permits(void **state) {
  (void)state;
  invariants_hold(&inverse, 0);
}

/* ---- serve() ---- */

static void serve_gives_as_much_as_is_missing(void **state) {
  (void)state;
  volt_waiter w = VOLT_WAITER_INIT;
  uint32_t hand = 3;
  w.need = 5;
  assert_false(volt_permits_serve_(&w, &hand)); /* nothing is left: look no further */
  assert_int_equal(w.need, 2);
  assert_int_equal(hand, 0);
  hand = 2;
  assert_false(volt_permits_serve_(&w, &hand));
  assert_int_equal(w.need, 0);
  w.need = 2;
  hand = 3;
  assert_true(volt_permits_serve_(&w, &hand));
  assert_int_equal(w.need, 0);
  assert_int_equal(hand, 1);
}

/* A primitive whose release lets one go, whatever it is given ... */
static bool serve_one(volt_waiter *w, uint32_t *hand) {
  w->need = 0;
  *hand = 0;
  return false;
}

/* ... and one that lets all go. */
static bool serve_all(volt_waiter *w, uint32_t *hand) {
  w->need = 0;
  *hand = 0;
  return true;
}

static void serve_says_how_far_to_look(void **state) {
  (void)state;
  const volt_permit_kind_ one = {"one", "too much", 0, TOTAL, 0, serve_one, NULL};
  const volt_permit_kind_ all = {"all", "too much", 0, TOTAL, 0, serve_all, NULL};
  begin(0);
  for (uint32_t i = 0; i < MANY; i++) assert_result(ask(&one, i, 1), VOLT_PENDING);
  volt_permits_release_(&q, &one, 0); /* nothing: nobody is looked at */
  assert_int_equal(volt_fifo_count_(&q), MANY);
  for (uint32_t i = 0; i < 3; i++) {
    volt_permits_release_(&q, &one, 7);
    assert_int_equal(volt_fifo_count_(&q), MANY - i - 1);
    assert_int_equal(fake_waker_calls(&wakers[i]), 1);
  }
  volt_permits_release_(&q, &all, 2); /* more than the head needs, or nobody would be asked */
  for (uint32_t i = 0; i < MANY; i++) assert_int_equal(fake_waker_calls(&wakers[i]), 1);
  expect_word(0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(words_of_permits),
      cmocka_unit_test(words_of_inverse_permits),
      cmocka_unit_test(words_of_a_closed_queue),
      cmocka_unit_test(states_of_a_waiter),
      cmocka_unit_test(only_pending_and_awaited_are_pending),
      cmocka_unit_test(invariants_of_plain_permits),
      cmocka_unit_test(invariants_of_inverse_permits),
      cmocka_unit_test(serve_gives_as_much_as_is_missing),
      cmocka_unit_test(serve_says_how_far_to_look),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
