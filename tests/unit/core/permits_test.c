/* permits_test.c: the FIFO of permits from inside: the word after each operation, and the
 * invariants I1 to I5 of permits.c whenever the lock is free. Polled by hand. Then crowds, larger
 * than a batch. */
#include "core/wait/permits.h"
#include "fake_waker.h"
#include "rng.h"
#include "unit.h"

enum { TOTAL = 1000, MANY = 16 };

/* Two ways to keep permits in the word: as they are, and so that all of them are zero. */
static const volt_permit_kind_ plain = {
    .kind = VOLT_KIND_SEMAPHORE_, .excess = "too much", .max = TOTAL, .serve = volt_permits_serve_};
static const volt_permit_kind_ inverse = {.kind = VOLT_KIND_SEMAPHORE_,
                                          .excess = "too much",
                                          .full = TOTAL,
                                          .max = TOTAL,
                                          .serve = volt_permits_serve_};

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

static void act_at_random(const volt_permit_kind_ *kind, rng *r) {
  uint32_t i = rng_below(r, MANY);
  bool waits = volt_waiter_result(&waiters[i]) == VOLT_PENDING;
  switch (rng_below(r, 6)) {
    case 0: give_back(kind, i); break;
    case 1:
      if (held[i] == 0) assert_true(volt_permits_cancel_(&q, kind, &waiters[i]));
      break;
    case 2:
      assert_int_equal(volt_fifo_set_waker_(&q, kind->kind, &waiters[i], fake_waker_of(&wakers[i])),
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
      act_at_random(kind, &r);
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
  const volt_permit_kind_ one = {
      .kind = VOLT_KIND_SEMAPHORE_, .excess = "too much", .max = TOTAL, .serve = serve_one};
  const volt_permit_kind_ all = {
      .kind = VOLT_KIND_SEMAPHORE_, .excess = "too much", .max = TOTAL, .serve = serve_all};
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

/* ==== more waiters than one turn of the lock serves ====
 *
 * What the world looks like from inside a waker, between two batches, and what may be done to the
 * queue there. */

enum { BATCH = VOLT_WAKE_BATCH, CROWD = 3 * VOLT_WAKE_BATCH + 4, LATE = CROWD };

static const volt_permit_kind_ crowd_kind = {
    .kind = VOLT_KIND_SEMAPHORE_, .excess = "too much", .max = 1000, .serve = volt_permits_serve_};

static volt_waiter crowd[CROWD + 1]; /* the last one comes late */
static hostile_waker crowd_wakers[CROWD + 1];
static wake_log wakes;

static int ask_in_crowd(uint32_t i, uint32_t n) {
  return volt_permits_acquire_(&q, &crowd_kind, &crowd[i], n, hostile_waker_of(&crowd_wakers[i]));
}

/* Without the count of those who will come back. */
static uint64_t word_at_rest(void) {
  return volt_load_acquire(&q.word) & ~VOLT_WORD_ALL_RETURNING_;
}

static uint32_t returning(void) {
  return (uint32_t)((volt_load_acquire(&q.word) & VOLT_WORD_ALL_RETURNING_) / VOLT_WORD_RETURNING_);
}

/* count waiters for a permit each; the first one's waker does this. */
static void gather(uint32_t count, void (*act)(hostile_waker *)) {
  volt_fifo_init_(&q, 0);
  wake_log_init(&wakes);
  memset(crowd, 0, sizeof crowd);
  for (uint32_t i = 0; i <= CROWD; i++) hostile_waker_init(&crowd_wakers[i], i, &wakes, NULL, &q);
  for (uint32_t i = 0; i < count; i++) assert_result(ask_in_crowd(i, 1), VOLT_PENDING);
  crowd_wakers[0].act = act;
}

static void expect_run(uint32_t first, uint32_t count, int result, uint32_t calls) {
  for (uint32_t i = first; i < first + count; i++) {
    assert_result(volt_waiter_result(&crowd[i]), result);
    assert_int_equal(hostile_waker_calls(&crowd_wakers[i]), calls);
  }
}

static void expect_at_rest(uint64_t want) {
  assert_int_equal(word_at_rest(), want);
  assert_int_equal(returning(), 0);
  assert_int_equal(q.rest, 0);
  assert_null(q.head);
  assert_null(q.tail);
  assert_int_equal(q.waiters, 0);
}

/* ---- looking ---- */

static uint32_t granted_at_first_wake;
static uint32_t returning_at_first_wake;
static uint64_t word_at_first_wake;

static void look(hostile_waker *self) {
  (void)self;
  granted_at_first_wake = 0;
  for (uint32_t i = 0; i < CROWD; i++) {
    uint32_t state = volt_load_acquire(&crowd[i].state);
    if (state == VOLT_WAITER_GRANTED_ || state == VOLT_WAITER_CLOSED_) granted_at_first_wake += 1;
  }
  returning_at_first_wake = returning();
  word_at_first_wake = word_at_rest();
}

static void a_batch_is_granted_before_its_first_wake(void **state) {
  (void)state;
  const uint32_t counts[] = {1, BATCH - 1, BATCH, BATCH + 1, CROWD};
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
    uint32_t first_batch = counts[i] < BATCH ? counts[i] : BATCH;
    gather(counts[i], look);
    volt_permits_release_(&q, &crowd_kind, counts[i] + 3);
    assert_int_equal(granted_at_first_wake, first_batch);
    if (counts[i] > BATCH) { /* the lock is free, and the rest still queued */
      assert_int_equal(word_at_first_wake, VOLT_WORD_QUEUED_);
      assert_int_equal(returning_at_first_wake, 1);
    } else { /* nothing more to do: the surplus is there already */
      assert_int_equal(word_at_first_wake, VOLT_WORD_(3));
      assert_int_equal(returning_at_first_wake, 0);
    }
    expect_run(0, counts[i], VOLT_OK, 1);
    assert_true(wake_log_is_run(&wakes, 0, counts[i]));
    expect_at_rest(VOLT_WORD_(3));
  }
}

static void a_batch_that_uses_up_the_permits_is_the_last(void **state) {
  (void)state;
  gather(CROWD, look);
  volt_permits_release_(&q, &crowd_kind, BATCH);
  assert_int_equal(granted_at_first_wake, BATCH);
  assert_int_equal(returning_at_first_wake, 0);
  expect_run(0, BATCH, VOLT_OK, 1);
  expect_run(BATCH, CROWD - BATCH, VOLT_PENDING, 0);
  assert_int_equal(word_at_rest(), VOLT_WORD_QUEUED_);
  assert_int_equal(returning(), 0);
  assert_int_equal(q.rest, 0);
}

static void close_works_in_batches_too(void **state) {
  (void)state;
  gather(CROWD, look);
  volt_permits_close_(&q, &crowd_kind);
  assert_int_equal(granted_at_first_wake, BATCH);
  assert_int_equal(returning_at_first_wake, 1);
  assert_int_equal(word_at_first_wake, VOLT_WORD_QUEUED_ | VOLT_WORD_CLOSED_);
  expect_run(0, CROWD, VOLT_ECLOSED, 1);
  assert_true(wake_log_is_run(&wakes, 0, CROWD));
  expect_at_rest(VOLT_WORD_CLOSED_);
}

/* ---- meddling between two batches ---- */

static void cancel_the_last(hostile_waker *self) {
  self->n = volt_permits_cancel_(&q, &crowd_kind, &crowd[BATCH]) ? 1 : 0;
  word_at_first_wake = word_at_rest();
  returning_at_first_wake = returning();
}

static void nobody_is_left(void **state) {
  (void)state;
  gather(BATCH + 1, cancel_the_last);
  volt_permits_release_(&q, &crowd_kind, BATCH + 1);
  assert_int_equal(crowd_wakers[0].n, 1);
  assert_int_equal(word_at_first_wake, VOLT_WORD_(1)); /* nobody waits: it is there to take */
  assert_int_equal(returning_at_first_wake, 1);
  expect_run(0, BATCH, VOLT_OK, 1);
  expect_run(BATCH, 1, VOLT_ECANCELED, 0);
  expect_at_rest(VOLT_WORD_(1));
}

static void cancel_the_last_and_release(hostile_waker *self) {
  cancel_the_last(self);
  volt_permits_release_(&q, &crowd_kind, 5);
  word_at_first_wake = word_at_rest();
}

static void nobody_is_left_and_the_pool_is_filled(void **state) {
  (void)state;
  gather(BATCH + 1, cancel_the_last_and_release);
  volt_permits_release_(&q, &crowd_kind, BATCH + 1);
  assert_int_equal(word_at_first_wake, VOLT_WORD_(6));
  expect_at_rest(VOLT_WORD_(6));
}

static void cancel_the_last_and_ask(hostile_waker *self) {
  cancel_the_last(self);
  self->result = ask_in_crowd(LATE, 2);
}

static void nobody_is_left_and_one_comes(void **state) {
  (void)state;
  gather(BATCH + 1, cancel_the_last_and_ask);
  volt_permits_release_(&q, &crowd_kind, BATCH + 3);
  assert_result(crowd_wakers[0].result, VOLT_OK); /* of what nobody waits for */
  expect_at_rest(VOLT_WORD_(1));
}

/* Whoever has the lock meanwhile takes the rest along: the younger do not wait for the release. */
static void a_cancel_serves_the_rest(void **state) {
  (void)state;
  gather(CROWD, cancel_the_last);
  volt_permits_release_(&q, &crowd_kind, CROWD);
  assert_int_equal(crowd_wakers[0].n, 1);
  assert_int_equal(word_at_first_wake, VOLT_WORD_(1));
  expect_run(0, BATCH, VOLT_OK, 1);
  expect_run(BATCH, 1, VOLT_ECANCELED, 0);
  expect_run(BATCH + 1, CROWD - BATCH - 1, VOLT_OK, 1);
  expect_at_rest(VOLT_WORD_(1));
}

static void release_one_more(hostile_waker *self) {
  (void)self;
  volt_permits_release_(&q, &crowd_kind, 1);
}

static void another_release_serves_meanwhile(void **state) {
  (void)state;
  gather(CROWD, release_one_more);
  volt_permits_release_(&q, &crowd_kind, CROWD - 1);
  expect_run(0, CROWD, VOLT_OK, 1);
  assert_int_equal(wake_log_at(&wakes, 0), 0);
  assert_int_equal(wake_log_at(&wakes, 1), BATCH); /* the next one, from within the first wake */
  expect_at_rest(0);
}

static void close_it(hostile_waker *self) {
  (void)self;
  volt_permits_close_(&q, &crowd_kind);
}

static void it_is_closed_meanwhile(void **state) {
  (void)state;
  gather(CROWD, close_it);
  volt_permits_release_(&q, &crowd_kind, CROWD);
  expect_run(0, BATCH, VOLT_OK, 1);
  expect_run(BATCH, CROWD - BATCH, VOLT_ECLOSED, 1);
  expect_at_rest(VOLT_WORD_(CROWD - BATCH) | VOLT_WORD_CLOSED_);
}

static void cancel_one_of_the_same_batch(hostile_waker *self) {
  self->n = volt_permits_cancel_(&q, &crowd_kind, &crowd[1]) ? 1 : 0;
  self->result = volt_waiter_result(&crowd[1]);
}

static void one_of_the_same_batch_is_granted(void **state) {
  (void)state;
  gather(2, cancel_one_of_the_same_batch);
  volt_permits_release_(&q, &crowd_kind, 2);
  assert_int_equal(crowd_wakers[0].n, 0);
  assert_result(crowd_wakers[0].result, VOLT_OK);
  expect_run(0, 2, VOLT_OK, 1); /* its one wake came */
  expect_at_rest(0);
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
      cmocka_unit_test(a_batch_is_granted_before_its_first_wake),
      cmocka_unit_test(a_batch_that_uses_up_the_permits_is_the_last),
      cmocka_unit_test(close_works_in_batches_too),
      cmocka_unit_test(nobody_is_left),
      cmocka_unit_test(nobody_is_left_and_the_pool_is_filled),
      cmocka_unit_test(nobody_is_left_and_one_comes),
      cmocka_unit_test(a_cancel_serves_the_rest),
      cmocka_unit_test(another_release_serves_meanwhile),
      cmocka_unit_test(it_is_closed_meanwhile),
      cmocka_unit_test(one_of_the_same_batch_is_granted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
