/* rwlock_test.c: every sentence of volt/rwlock.h. */
#include <errno.h>
#include <stdlib.h>

#include "fake_waker.h"
#include "family.h"
#include "require.h"
#include "thread_team.h"
#include "unit.h"

FAMILY(rwlock, volt_rwlock it[1] = {VOLT_RWLOCK_INIT};
       volt_rwlock_write(it), volt_rwlock_write_waiter(it, w, waker),
       volt_rwlock_write_until(it, past), volt_rwlock_write_future(f, it),
       volt_rwlock_write_unlock(it), volt_rwlock_write_unlock(it);
       volt_rwlock_destroy(it))

enum { MANY = 100 };

static volt_rwlock rw;
static wake_log wakes;
static volt_waiter waiters[MANY];
static hostile_waker wakers[MANY];

static int set_up(void **state) {
  (void)state;
  volt_rwlock_init(&rw);
  wake_log_init(&wakes);
  memset(waiters, 0, sizeof waiters);
  for (uint32_t i = 0; i < MANY; i++) hostile_waker_init(&wakers[i], i, &wakes, NULL, &rw);
  return 0;
}

static void queue_reader(uint32_t i) {
  assert_result(volt_rwlock_read_waiter(&rw, &waiters[i], hostile_waker_of(&wakers[i])),
                VOLT_PENDING);
}

static void queue_writer(uint32_t i) {
  assert_result(volt_rwlock_write_waiter(&rw, &waiters[i], hostile_waker_of(&wakers[i])),
                VOLT_PENDING);
}

/* 'r' and 'w' for waiters 0, 1, ... */
static void queue_all(const char *kinds) {
  for (uint32_t i = 0; kinds[i]; i++) {
    if (kinds[i] == 'r')
      queue_reader(i);
    else
      queue_writer(i);
  }
}

static void hold_for_reading(uint32_t readers) {
  for (uint32_t i = 0; i < readers; i++) assert_result(volt_rwlock_try_read(&rw), VOLT_OK);
}

static void expect(uint32_t i, int result) {
  assert_result(volt_waiter_result(&waiters[i]), result);
  assert_int_equal(hostile_waker_calls(&wakers[i]), result == VOLT_OK ? 1 : 0);
}

static void expect_free(void) {
  assert_int_equal(volt_rwlock_waiters(&rw), 0);
  assert_int_equal(volt_rwlock_readers(&rw), 0);
  assert_result(volt_rwlock_try_write(&rw), VOLT_OK);
  volt_rwlock_write_unlock(&rw);
}

/* ---- begin, try ---- */

static void three_ways_to_begin(void **state) {
  (void)state;
  volt_rwlock by_macro = VOLT_RWLOCK_INIT;
  volt_rwlock zero;
  volt_rwlock by_call;
  memset(&zero, 0, sizeof zero);
  memset(&by_call, 0xee, sizeof by_call);
  volt_rwlock_init(&by_call);
  volt_rwlock *all[] = {&by_macro, &zero, &by_call};
  for (int i = 0; i < 3; i++) {
    assert_int_equal(volt_rwlock_readers(all[i]), 0);
    assert_int_equal(volt_rwlock_waiters(all[i]), 0);
    assert_result(volt_rwlock_try_write(all[i]), VOLT_OK);
    volt_rwlock_write_unlock(all[i]);
    assert_result(volt_rwlock_try_read(all[i]), VOLT_OK);
    volt_rwlock_read_unlock(all[i]);
    volt_rwlock_destroy(all[i]);
  }
}

static void many_readers(void **state) {
  (void)state;
  for (uint32_t i = 0; i < 1000; i++) {
    assert_int_equal(volt_rwlock_readers(&rw), i);
    assert_result(volt_rwlock_try_read(&rw), VOLT_OK);
  }
  assert_result(volt_rwlock_read_waiter(&rw, &waiters[0], hostile_waker_of(&wakers[0])), VOLT_OK);
  expect(0, VOLT_ECANCELED); /* *w was not used */
  assert_result(volt_rwlock_try_write(&rw), VOLT_EAGAIN);
  for (uint32_t i = 0; i < 1001; i++) volt_rwlock_read_unlock(&rw);
  expect_free();
}

static void one_writer(void **state) {
  (void)state;
  for (int i = 0; i < 1000; i++) {
    assert_result(volt_rwlock_try_write(&rw), VOLT_OK);
    assert_result(volt_rwlock_try_write(&rw), VOLT_EAGAIN);
    assert_result(volt_rwlock_try_read(&rw), VOLT_EAGAIN);
    assert_int_equal(volt_rwlock_readers(&rw), 0); /* a writer has it */
    volt_rwlock_write_unlock(&rw);
  }
  assert_result(volt_rwlock_write_waiter(&rw, &waiters[0], hostile_waker_of(&wakers[0])), VOLT_OK);
  expect(0, VOLT_ECANCELED);
  volt_rwlock_write_unlock(&rw);
  expect_free();
}

static void no_more_readers_than_the_maximum(void **state) {
  (void)state;
  volt_rwlock full = {.queue = VOLT_FIFO_INIT_(VOLT_RWLOCK_MAX_READERS - 1)};
  assert_result(volt_rwlock_try_read(&full), VOLT_OK);
  assert_int_equal(volt_rwlock_readers(&full), VOLT_RWLOCK_MAX_READERS);
  assert_result(volt_rwlock_try_read(&full), VOLT_EAGAIN);
  assert_int_equal(volt_rwlock_readers(&full), VOLT_RWLOCK_MAX_READERS);
  volt_rwlock_read_unlock(&full);
  assert_int_equal(volt_rwlock_readers(&full), VOLT_RWLOCK_MAX_READERS - 1);
}

/* ---- readers and writers in one queue ---- */

static void a_reader_waits_for_the_writer(void **state) {
  (void)state;
  assert_result(volt_rwlock_try_write(&rw), VOLT_OK);
  queue_all("rr");
  assert_int_equal(volt_rwlock_waiters(&rw), 2);
  volt_rwlock_write_unlock(&rw);
  expect(0, VOLT_OK);
  expect(1, VOLT_OK);
  assert_int_equal(volt_rwlock_readers(&rw), 2);
  assert_result(volt_rwlock_try_write(&rw), VOLT_EAGAIN);
  volt_rwlock_read_unlock(&rw);
  volt_rwlock_read_unlock(&rw);
  expect_free();
}

static void a_writer_waits_for_the_writer(void **state) {
  (void)state;
  assert_result(volt_rwlock_try_write(&rw), VOLT_OK);
  queue_all("ww");
  volt_rwlock_write_unlock(&rw);
  expect(0, VOLT_OK);
  expect(1, VOLT_PENDING);
  volt_rwlock_write_unlock(&rw);
  expect(1, VOLT_OK);
  assert_result(volt_rwlock_try_read(&rw), VOLT_EAGAIN);
  volt_rwlock_write_unlock(&rw);
  expect_free();
}

static void a_writer_waits_for_the_last_reader(void **state) {
  (void)state;
  hold_for_reading(3);
  queue_all("w");
  for (int i = 0; i < 3; i++) {
    expect(0, VOLT_PENDING);
    volt_rwlock_read_unlock(&rw); /* it gathers what each gives back */
  }
  expect(0, VOLT_OK);
  assert_result(volt_rwlock_try_read(&rw), VOLT_EAGAIN);
  volt_rwlock_write_unlock(&rw);
  expect_free();
}

static void no_new_reader_passes_a_queued_writer(void **state) {
  (void)state;
  hold_for_reading(2);
  queue_writer(0);
  assert_result(volt_rwlock_try_read(&rw), VOLT_EAGAIN);
  assert_result(volt_rwlock_try_write(&rw), VOLT_EAGAIN);
  assert_int_equal(volt_rwlock_readers(&rw), 2); /* though somebody waits */
  queue_reader(1);
  assert_result(volt_rwlock_read_until(&rw, PAST_DEADLINE), VOLT_ETIMEDOUT);
  assert_int_equal(volt_rwlock_waiters(&rw), 2);
  volt_rwlock_read_unlock(&rw);
  assert_int_equal(volt_rwlock_readers(&rw), 1); /* what the writer has gathered is no reader's */
  assert_result(volt_rwlock_try_read(&rw), VOLT_EAGAIN);
  volt_rwlock_read_unlock(&rw);
  expect(0, VOLT_OK);
  expect(1, VOLT_PENDING);
  assert_int_equal(volt_rwlock_readers(&rw), 0); /* a writer has it, and somebody waits */
  volt_rwlock_write_unlock(&rw);
  expect(1, VOLT_OK);
  volt_rwlock_read_unlock(&rw);
  expect_free();
}

static void readers_behind_a_writer_are_admitted_together(void **state) {
  (void)state;
  assert_result(volt_rwlock_try_write(&rw), VOLT_OK);
  queue_all("wrrrwrr");
  volt_rwlock_write_unlock(&rw);
  assert_true(wake_log_is_run(&wakes, 0, 1));
  volt_rwlock_write_unlock(&rw);
  assert_true(wake_log_is_run(&wakes, 0, 4)); /* all before the next writer */
  expect(4, VOLT_PENDING);
  for (int i = 0; i < 3; i++) {
    expect(4, VOLT_PENDING);
    volt_rwlock_read_unlock(&rw);
  }
  expect(4, VOLT_OK);
  expect(5, VOLT_PENDING);
  volt_rwlock_write_unlock(&rw);
  assert_true(wake_log_is_run(&wakes, 0, 7));
  assert_int_equal(volt_rwlock_readers(&rw), 2);
  volt_rwlock_read_unlock(&rw);
  volt_rwlock_read_unlock(&rw);
  expect_free();
}

static void a_crowd_of_readers_is_admitted_together(void **state) {
  (void)state;
  assert_result(volt_rwlock_try_write(&rw), VOLT_OK);
  for (uint32_t i = 0; i < MANY; i++) queue_reader(i);
  volt_rwlock_write_unlock(&rw);
  assert_true(wake_log_is_run(&wakes, 0, MANY));
  assert_int_equal(volt_rwlock_readers(&rw), MANY);
  for (uint32_t i = 0; i < MANY; i++) volt_rwlock_read_unlock(&rw);
  expect_free();
}

/* ---- downgrade ---- */

static void downgrade_of_a_lone_writer(void **state) {
  (void)state;
  assert_result(volt_rwlock_try_write(&rw), VOLT_OK);
  volt_rwlock_downgrade(&rw);
  assert_int_equal(volt_rwlock_readers(&rw), 1);
  assert_result(volt_rwlock_try_read(&rw), VOLT_OK);
  assert_result(volt_rwlock_try_write(&rw), VOLT_EAGAIN);
  volt_rwlock_read_unlock(&rw);
  volt_rwlock_read_unlock(&rw);
  expect_free();
}

static void downgrade_admits_the_readers_at_the_head(void **state) {
  (void)state;
  assert_result(volt_rwlock_try_write(&rw), VOLT_OK);
  queue_all("rrwr");
  volt_rwlock_downgrade(&rw);
  assert_true(wake_log_is_run(&wakes, 0, 2));
  expect(2, VOLT_PENDING);
  expect(3, VOLT_PENDING);
  assert_result(volt_rwlock_try_read(&rw), VOLT_EAGAIN); /* the writer is queued */
  for (int i = 0; i < 3; i++) {
    expect(2, VOLT_PENDING);
    volt_rwlock_read_unlock(&rw);
  }
  expect(2, VOLT_OK);
  volt_rwlock_write_unlock(&rw);
  expect(3, VOLT_OK);
  volt_rwlock_read_unlock(&rw);
  expect_free();
}

static void downgrade_lets_no_writer_in_between(void **state) {
  (void)state;
  assert_result(volt_rwlock_try_write(&rw), VOLT_OK);
  queue_all("wr");
  volt_rwlock_downgrade(&rw);
  expect(0, VOLT_PENDING);
  expect(1, VOLT_PENDING); /* the writer is at the head */
  volt_rwlock_read_unlock(&rw);
  expect(0, VOLT_OK);
  volt_rwlock_write_unlock(&rw);
  expect(1, VOLT_OK);
  volt_rwlock_read_unlock(&rw);
  expect_free();
}

/* ---- cancel, set_waker ---- */

static void cancel_of_a_writer_admits_the_readers_behind_it(void **state) {
  (void)state;
  hold_for_reading(1);
  queue_all("wrrwr");
  assert_true(volt_rwlock_cancel(&rw, &waiters[0]));
  expect(0, VOLT_ECANCELED);
  assert_true(wake_log_is_run(&wakes, 1, 2));
  expect(3, VOLT_PENDING);
  assert_true(volt_rwlock_cancel(&rw, &waiters[3]));
  expect(4, VOLT_OK);
  assert_int_equal(volt_rwlock_readers(&rw), 4);
  for (int i = 0; i < 4; i++) volt_rwlock_read_unlock(&rw);
  expect_free();
}

static void cancel_under_a_writer_admits_nobody(void **state) {
  (void)state;
  assert_result(volt_rwlock_try_write(&rw), VOLT_OK);
  queue_all("wrr");
  assert_true(volt_rwlock_cancel(&rw, &waiters[0]));
  assert_true(volt_rwlock_cancel(&rw, &waiters[1]));
  assert_true(volt_rwlock_cancel(&rw, &waiters[1]));
  expect(2, VOLT_PENDING);
  volt_rwlock_write_unlock(&rw);
  expect(2, VOLT_OK);
  assert_false(volt_rwlock_cancel(&rw, &waiters[2])); /* granted: the lock is the caller's */
  expect(2, VOLT_OK);
  assert_int_equal(volt_rwlock_readers(&rw), 1);
  volt_rwlock_read_unlock(&rw);
  expect_free();
}

static void a_granted_writer_is_not_cancelled(void **state) {
  (void)state;
  hold_for_reading(1);
  queue_all("w");
  volt_rwlock_read_unlock(&rw);
  assert_false(volt_rwlock_cancel(&rw, &waiters[0]));
  assert_result(volt_rwlock_try_read(&rw), VOLT_EAGAIN);
  volt_rwlock_write_unlock(&rw);
  expect_free();
}

static void set_waker_replaces(void **state) {
  (void)state;
  hold_for_reading(1);
  queue_all("wr");
  fake_waker others[2];
  for (uint32_t i = 0; i < 2; i++) {
    fake_waker_init(&others[i], i, NULL);
    assert_true(volt_waiter_set_waker(&waiters[i], fake_waker_of(&others[i])));
  }
  volt_rwlock_read_unlock(&rw);
  volt_rwlock_write_unlock(&rw);
  for (uint32_t i = 0; i < 2; i++) {
    assert_int_equal(fake_waker_calls(&others[i]), 1);
    assert_false(volt_waiter_set_waker(&waiters[i], hostile_waker_of(&wakers[i])));
    assert_int_equal(hostile_waker_calls(&wakers[i]), 0);
  }
  volt_rwlock_read_unlock(&rw);
  expect_free();
}

/* ---- wakers that call back ---- */

static void unlock_write(hostile_waker *self) {
  volt_rwlock_write_unlock((volt_rwlock *)self->object);
}

static void unlock_read(hostile_waker *self) {
  volt_rwlock_read_unlock((volt_rwlock *)self->object);
}

static void wakers_unlock(void **state) {
  (void)state;
  for (uint32_t i = 0; i < MANY; i++) wakers[i].act = i % 3 == 0 ? unlock_write : unlock_read;
  assert_result(volt_rwlock_try_write(&rw), VOLT_OK);
  for (uint32_t i = 0; i < MANY; i++) {
    if (i % 3 == 0)
      queue_writer(i);
    else
      queue_reader(i);
  }
  volt_rwlock_write_unlock(&rw);
  assert_int_equal(wake_log_count(&wakes), MANY);
  for (uint32_t i = 0; i < MANY; i++) expect(i, VOLT_OK);
  expect_free();
}

/* More readers than one turn of the unlock admits: the first gives up those that are still queued
 * and leaves, while the unlock has yet to come back. */
static void dismiss_the_rest_and_leave(hostile_waker *self) {
  for (uint32_t i = 1; i < MANY; i++) self->n += volt_rwlock_cancel(&rw, &waiters[i]) ? 1 : 0;
  REQUIRE(volt_rwlock_waiters(&rw) == 0);
  REQUIRE(volt_rwlock_try_write(&rw) == VOLT_EAGAIN);
  volt_rwlock_read_unlock(&rw);
}

static void a_reader_leaves_while_others_are_admitted(void **state) {
  (void)state;
  wakers[0].act = dismiss_the_rest_and_leave;
  assert_result(volt_rwlock_try_write(&rw), VOLT_OK);
  for (uint32_t i = 0; i < MANY; i++) queue_reader(i);
  volt_rwlock_write_unlock(&rw);
  uint32_t admitted = MANY - wakers[0].n;
  assert_true(admitted < MANY);
  for (uint32_t i = 0; i < MANY; i++) {
    expect(i, volt_waiter_result(&waiters[i]) == VOLT_OK ? VOLT_OK : VOLT_ECANCELED);
  }
  assert_int_equal(volt_rwlock_readers(&rw), admitted - 1);
  for (uint32_t i = 1; i < admitted; i++) volt_rwlock_read_unlock(&rw);
  expect_free();
}

static void unlock_and_free(hostile_waker *self) {
  volt_rwlock *lock = (volt_rwlock *)self->object;
  volt_rwlock_write_unlock(lock);
  volt_rwlock_destroy(lock);
  memset(lock, 0xee, sizeof *lock);
  free(lock);
}

static void the_granted_one_frees_it(void **state) {
  (void)state;
  volt_rwlock *lock = (volt_rwlock *)calloc(1, sizeof *lock);
  assert_non_null(lock);
  assert_result(volt_rwlock_try_read(lock), VOLT_OK);
  hostile_waker_init(&wakers[0], 0, NULL, unlock_and_free, lock);
  assert_result(volt_rwlock_write_waiter(lock, &waiters[0], hostile_waker_of(&wakers[0])),
                VOLT_PENDING);
  volt_rwlock_read_unlock(lock);
  expect(0, VOLT_OK);
}

/* ---- threads ---- */

static void blocking_keeps_its_deadline(void **state) {
  (void)state;
  assert_result(volt_rwlock_read_until(&rw, PAST_DEADLINE), VOLT_OK);
  assert_result(volt_rwlock_read_until(&rw, PAST_DEADLINE), VOLT_OK);
  assert_result(volt_rwlock_write_until(&rw, PAST_DEADLINE), VOLT_ETIMEDOUT);
  assert_int_equal(volt_rwlock_readers(&rw), 2); /* what it had gathered is back */
  volt_rwlock_read_unlock(&rw);
  volt_rwlock_read_unlock(&rw);
  assert_result(volt_rwlock_write_until(&rw, PAST_DEADLINE), VOLT_OK);
  assert_result(volt_rwlock_read_until(&rw, volt_deadline_ns(100000)), VOLT_ETIMEDOUT);
  assert_result(volt_rwlock_write_until(&rw, volt_deadline_ns(100000)), VOLT_ETIMEDOUT);
  volt_rwlock_write_unlock(&rw);
  expect_free();
}

static uint32_t plain[2]; /* the same, but while a writer is at it */

static void read_and_write(void *arg, uint32_t index) {
  (void)arg;
  for (uint32_t i = 0; i < 300; i++) {
    if ((i + index) % 3 == 0) {
      volt_rwlock_write(&rw);
      plain[0] += 1;
      plain[1] += 1;
      if (i % 2 == 0) {
        volt_rwlock_write_unlock(&rw);
        continue;
      }
      volt_rwlock_downgrade(&rw);
    } else {
      volt_rwlock_read(&rw);
    }
    REQUIRE(plain[0] == plain[1]);
    volt_rwlock_read_unlock(&rw);
  }
}

static void writers_are_alone(void **state) {
  (void)state;
  plain[0] = 0;
  plain[1] = 0;
  thread_team_run(4, read_and_write, NULL);
  assert_int_equal(plain[0], 4 * 100);
  expect_free();
}

static void errno_is_never_set(void **state) {
  (void)state;
  errno = 4711;
  assert_result(volt_rwlock_try_write(&rw), VOLT_OK);
  queue_all("rwr");
  assert_result(volt_rwlock_read_until(&rw, PAST_DEADLINE), VOLT_ETIMEDOUT);
  assert_result(volt_rwlock_write_until(&rw, PAST_DEADLINE), VOLT_ETIMEDOUT);
  volt_rwlock_downgrade(&rw);
  assert_true(volt_rwlock_cancel(&rw, &waiters[1]));
  for (int i = 0; i < 3; i++) volt_rwlock_read_unlock(&rw);
  volt_rwlock_destroy(&rw);
  assert_int_equal(errno, 4711);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FAMILY_TEST(rwlock),
      cmocka_unit_test_setup(three_ways_to_begin, set_up),
      cmocka_unit_test_setup(many_readers, set_up),
      cmocka_unit_test_setup(one_writer, set_up),
      cmocka_unit_test_setup(no_more_readers_than_the_maximum, set_up),
      cmocka_unit_test_setup(a_reader_waits_for_the_writer, set_up),
      cmocka_unit_test_setup(a_writer_waits_for_the_writer, set_up),
      cmocka_unit_test_setup(a_writer_waits_for_the_last_reader, set_up),
      cmocka_unit_test_setup(no_new_reader_passes_a_queued_writer, set_up),
      cmocka_unit_test_setup(readers_behind_a_writer_are_admitted_together, set_up),
      cmocka_unit_test_setup(a_crowd_of_readers_is_admitted_together, set_up),
      cmocka_unit_test_setup(downgrade_of_a_lone_writer, set_up),
      cmocka_unit_test_setup(downgrade_admits_the_readers_at_the_head, set_up),
      cmocka_unit_test_setup(downgrade_lets_no_writer_in_between, set_up),
      cmocka_unit_test_setup(cancel_of_a_writer_admits_the_readers_behind_it, set_up),
      cmocka_unit_test_setup(cancel_under_a_writer_admits_nobody, set_up),
      cmocka_unit_test_setup(a_granted_writer_is_not_cancelled, set_up),
      cmocka_unit_test_setup(set_waker_replaces, set_up),
      cmocka_unit_test_setup(wakers_unlock, set_up),
      cmocka_unit_test_setup(a_reader_leaves_while_others_are_admitted, set_up),
      cmocka_unit_test_setup(the_granted_one_frees_it, set_up),
      cmocka_unit_test_setup(blocking_keeps_its_deadline, set_up),
      cmocka_unit_test_setup(writers_are_alone, set_up),
      cmocka_unit_test_setup(errno_is_never_set, set_up),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
