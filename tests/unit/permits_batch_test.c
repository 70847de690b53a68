/* permits_batch_test.c: more waiters than one turn of the lock serves. What the world looks like
 * from inside a waker, between two batches, and what may be done to the queue there. */
#include "core/permits.h"
#include "fake_waker.h"
#include "unit.h"

enum { BATCH = VOLT_WAKE_BATCH, MANY = 3 * VOLT_WAKE_BATCH + 4, LATE = MANY };

static const volt_permit_kind_ kind = {"test", "too much", 0, 1000, 0, volt_permits_serve_, NULL};

static volt_fifo_ q;
static volt_waiter waiters[MANY + 1]; /* the last one comes late */
static hostile_waker wakers[MANY + 1];
static wake_log wakes;

static int ask(uint32_t i, uint32_t n) {
  return volt_permits_acquire_(&q, &kind, &waiters[i], n, hostile_waker_of(&wakers[i]));
}

/* Without the count of those who will come back. */
static uint64_t word(void) {
  return volt_load_acquire(&q.word) & ~VOLT_WORD_ALL_RETURNING_;
}

static uint32_t returning(void) {
  return (uint32_t)((volt_load_acquire(&q.word) & VOLT_WORD_ALL_RETURNING_) / VOLT_WORD_RETURNING_);
}

/* count waiters for a permit each; the first one's waker does this. */
static void gather(uint32_t count, void (*act)(hostile_waker *)) {
  volt_fifo_init_(&q, 0);
  wake_log_init(&wakes);
  memset(waiters, 0, sizeof waiters);
  for (uint32_t i = 0; i <= MANY; i++) hostile_waker_init(&wakers[i], i, &wakes, NULL, &q);
  for (uint32_t i = 0; i < count; i++) assert_result(ask(i, 1), VOLT_PENDING);
  wakers[0].act = act;
}

static void expect_run(uint32_t first, uint32_t count, int result, uint32_t calls) {
  for (uint32_t i = first; i < first + count; i++) {
    assert_result(volt_waiter_result(&waiters[i]), result);
    assert_int_equal(hostile_waker_calls(&wakers[i]), calls);
  }
}

static void expect_at_rest(uint64_t want) {
  assert_int_equal(word(), want);
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
  for (uint32_t i = 0; i < MANY; i++) {
    uint32_t state = volt_load_acquire(&waiters[i].state);
    if (state == VOLT_WAITER_GRANTED_ || state == VOLT_WAITER_CLOSED_) granted_at_first_wake += 1;
  }
  returning_at_first_wake = returning();
  word_at_first_wake = word();
}

static void a_batch_is_granted_before_its_first_wake(void **state) {
  (void)state;
  const uint32_t counts[] = {1, BATCH - 1, BATCH, BATCH + 1, MANY};
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
    uint32_t first_batch = counts[i] < BATCH ? counts[i] : BATCH;
    gather(counts[i], look);
    volt_permits_release_(&q, &kind, counts[i] + 3);
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
  gather(MANY, look);
  volt_permits_release_(&q, &kind, BATCH);
  assert_int_equal(granted_at_first_wake, BATCH);
  assert_int_equal(returning_at_first_wake, 0);
  expect_run(0, BATCH, VOLT_OK, 1);
  expect_run(BATCH, MANY - BATCH, VOLT_PENDING, 0);
  assert_int_equal(word(), VOLT_WORD_QUEUED_);
  assert_int_equal(returning(), 0);
  assert_int_equal(q.rest, 0);
}

static void close_works_in_batches_too(void **state) {
  (void)state;
  gather(MANY, look);
  volt_permits_close_(&q, &kind);
  assert_int_equal(granted_at_first_wake, BATCH);
  assert_int_equal(returning_at_first_wake, 1);
  assert_int_equal(word_at_first_wake, VOLT_WORD_QUEUED_ | VOLT_WORD_CLOSED_);
  expect_run(0, MANY, VOLT_ECLOSED, 1);
  assert_true(wake_log_is_run(&wakes, 0, MANY));
  expect_at_rest(VOLT_WORD_CLOSED_);
}

/* ---- meddling between two batches ---- */

static void cancel_the_last(hostile_waker *self) {
  self->n = volt_permits_cancel_(&q, &kind, &waiters[BATCH]) ? 1 : 0;
  word_at_first_wake = word();
  returning_at_first_wake = returning();
}

static void nobody_is_left(void **state) {
  (void)state;
  gather(BATCH + 1, cancel_the_last);
  volt_permits_release_(&q, &kind, BATCH + 1);
  assert_int_equal(wakers[0].n, 1);
  assert_int_equal(word_at_first_wake, VOLT_WORD_(1)); /* nobody waits: it is there to take */
  assert_int_equal(returning_at_first_wake, 1);
  expect_run(0, BATCH, VOLT_OK, 1);
  expect_run(BATCH, 1, VOLT_ECANCELED, 0);
  expect_at_rest(VOLT_WORD_(1));
}

static void cancel_the_last_and_release(hostile_waker *self) {
  cancel_the_last(self);
  volt_permits_release_(&q, &kind, 5);
  word_at_first_wake = word();
}

static void nobody_is_left_and_the_pool_is_filled(void **state) {
  (void)state;
  gather(BATCH + 1, cancel_the_last_and_release);
  volt_permits_release_(&q, &kind, BATCH + 1);
  assert_int_equal(word_at_first_wake, VOLT_WORD_(6));
  expect_at_rest(VOLT_WORD_(6));
}

static void cancel_the_last_and_ask(hostile_waker *self) {
  cancel_the_last(self);
  self->result = ask(LATE, 2);
}

static void nobody_is_left_and_one_comes(void **state) {
  (void)state;
  gather(BATCH + 1, cancel_the_last_and_ask);
  volt_permits_release_(&q, &kind, BATCH + 3);
  assert_result(wakers[0].result, VOLT_OK); /* of what nobody waits for */
  expect_at_rest(VOLT_WORD_(1));
}

/* Whoever has the lock meanwhile takes the rest along: the younger do not wait for the release. */
static void a_cancel_serves_the_rest(void **state) {
  (void)state;
  gather(MANY, cancel_the_last);
  volt_permits_release_(&q, &kind, MANY);
  assert_int_equal(wakers[0].n, 1);
  assert_int_equal(word_at_first_wake, VOLT_WORD_(1));
  expect_run(0, BATCH, VOLT_OK, 1);
  expect_run(BATCH, 1, VOLT_ECANCELED, 0);
  expect_run(BATCH + 1, MANY - BATCH - 1, VOLT_OK, 1);
  expect_at_rest(VOLT_WORD_(1));
}

static void release_one_more(hostile_waker *self) {
  (void)self;
  volt_permits_release_(&q, &kind, 1);
}

static void another_release_serves_meanwhile(void **state) {
  (void)state;
  gather(MANY, release_one_more);
  volt_permits_release_(&q, &kind, MANY - 1);
  expect_run(0, MANY, VOLT_OK, 1);
  assert_int_equal(wake_log_at(&wakes, 0), 0);
  assert_int_equal(wake_log_at(&wakes, 1), BATCH); /* the next one, from within the first wake */
  expect_at_rest(0);
}

static void close_it(hostile_waker *self) {
  (void)self;
  volt_permits_close_(&q, &kind);
}

static void it_is_closed_meanwhile(void **state) {
  (void)state;
  gather(MANY, close_it);
  volt_permits_release_(&q, &kind, MANY);
  expect_run(0, BATCH, VOLT_OK, 1);
  expect_run(BATCH, MANY - BATCH, VOLT_ECLOSED, 1);
  expect_at_rest(VOLT_WORD_(MANY - BATCH) | VOLT_WORD_CLOSED_);
}

static void cancel_one_of_the_same_batch(hostile_waker *self) {
  self->n = volt_permits_cancel_(&q, &kind, &waiters[1]) ? 1 : 0;
  self->result = volt_waiter_result(&waiters[1]);
}

static void one_of_the_same_batch_is_granted(void **state) {
  (void)state;
  gather(2, cancel_one_of_the_same_batch);
  volt_permits_release_(&q, &kind, 2);
  assert_int_equal(wakers[0].n, 0);
  assert_result(wakers[0].result, VOLT_OK);
  expect_run(0, 2, VOLT_OK, 1); /* its one wake came */
  expect_at_rest(0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
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
