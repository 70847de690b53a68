/* bypass_rwlock_test.c: a rwlock whose oldest writer may be passed: each rule of src/core/wait/bypass.c
 * for readers and writers, polled by hand. */
#include <stdlib.h>

#include "death.h"
#include "fake_waker.h"
#include "family.h"
#include "require.h"
#include "thread_team.h"
#include "unit.h"

FAMILY(rwlock_with_bypass, volt_rwlock it[1] = {VOLT_RWLOCK_INIT_BYPASS(2)};
       volt_rwlock_write(it), volt_rwlock_write_waiter(it, w, waker),
       volt_rwlock_write_until(it, past), volt_rwlock_write_future(f, it),
       volt_rwlock_write_unlock(it), volt_rwlock_write_unlock(it);
       volt_rwlock_destroy(it))

enum { OWNERS = 6, K = 2, WRITER = VOLT_RWLOCK_WRITER_ };
enum { QUEUED = VOLT_WORD_QUEUED_, OPEN = VOLT_WORD_OPEN_, NUDGED = VOLT_WORD_NUDGED_ };

struct owner {
  volt_future f;
  volt_ctx ctx;
  uint32_t wakes;
  uint32_t drops;
};

static volt_rwlock rw;
static struct owner owners[OWNERS];
static volt_waiter raw;
static fake_waker raw_waker;

static void owner_wake(void *ctx) {
  ((struct owner *)ctx)->wakes += 1;
}

static void owner_drop(void *ctx) {
  ((struct owner *)ctx)->drops += 1;
}

/* kinds: 'r' or 'w' for each owner. */
static void begin(uint32_t k, const char *kinds) {
  volt_rwlock_init_bypass(&rw, k);
  memset(&raw, 0, sizeof raw);
  fake_waker_init(&raw_waker, 0, NULL);
  memset(owners, 0, sizeof owners);
  for (int i = 0; i < OWNERS && kinds[i]; i++) {
    volt_waker waker = {owner_wake, &owners[i]};
    volt_ctx ctx = VOLT_CTX_INIT(waker);
    owners[i].ctx = ctx;
    owners[i].ctx.drop = owner_drop;
    if (kinds[i] == 'r') {
      volt_future_made(volt_rwlock_read_future(&owners[i].f, &rw));
    } else {
      volt_future_made(volt_rwlock_write_future(&owners[i].f, &rw));
    }
  }
}

static void expect_poll(int i, int result) {
  assert_result(volt_future_poll_ctx(&owners[i].f, &owners[i].ctx), result);
}

static void expect_settled(int i, uint32_t registered, uint32_t wakes, uint32_t drops) {
  assert_int_equal(owners[i].ctx.registered, registered);
  assert_int_equal(owners[i].wakes, wakes);
  assert_int_equal(owners[i].drops, drops);
}

static void expect_word(uint32_t value, uint64_t flags, uint32_t left) {
  uint64_t word = volt_load_acquire(&rw.queue.word);
  assert_int_equal(VOLT_WORD_VALUE_(word), value);
  assert_int_equal(VOLT_WORD_FLAGS_(word), flags | left * VOLT_WORD_LEFT_);
  assert_int_equal(volt_rwlock_readers(&rw), value == WRITER ? 0 : value);
}

static void read_in(void) {
  assert_result(volt_rwlock_try_read(&rw), VOLT_OK);
}

static void write_in(void) {
  assert_result(volt_rwlock_try_write(&rw), VOLT_OK);
}

static void nothing_passes(void) {
  assert_result(volt_rwlock_try_read(&rw), VOLT_EAGAIN);
  assert_result(volt_rwlock_try_write(&rw), VOLT_EAGAIN);
}

static void end(void) {
  expect_word(0, 0, 0);
  volt_rwlock_destroy(&rw);
  for (int i = 0; i < OWNERS; i++) {
    assert_int_equal(owners[i].ctx.registered, owners[i].wakes + owners[i].drops);
  }
}

static void write_unlock_and_end(void) {
  volt_rwlock_write_unlock(&rw);
  end();
}

/* ---- begin ---- */

static void ways_to_begin(void **state) {
  (void)state;
  const size_t used = offsetof(volt_rwlock, bypass) + sizeof rw.bypass;
  volt_rwlock by_macro = VOLT_RWLOCK_INIT_BYPASS(VOLT_BYPASS);
  volt_rwlock by_call;
  memset(&by_call, 0xee, sizeof by_call);
  volt_rwlock_init_bypass(&by_call, VOLT_BYPASS);
  assert_memory_equal(&by_macro, &by_call, used);
  volt_rwlock zero;
  memset(&zero, 0, sizeof zero);
  volt_rwlock_init(&by_call);
  assert_memory_equal(&by_call, &zero, used);
#if !VOLT_SIGHT
  assert_int_equal(sizeof zero, sizeof(volt_fifo_) + 8);
#endif
}

static void bypass_of_0_lets_nothing_pass(void **state) {
  (void)state;
  begin(0, "w");
  read_in();
  expect_poll(0, VOLT_PENDING);
  nothing_passes();
  volt_rwlock_read_unlock(&rw);
  nothing_passes();
  expect_poll(0, VOLT_OK);
  volt_rwlock_write_unlock_fair(&rw);
  end();
}

/* ---- readers and the head writer ---- */

static void readers_pass_a_writer(void **state) {
  (void)state;
  begin(K, "wr");
  read_in();
  expect_poll(0, VOLT_PENDING);
  expect_word(1, QUEUED | OPEN, K);
  read_in();
  expect_word(2, QUEUED | OPEN, K - 1);
  expect_poll(1, VOLT_OK); /* a future passes, too */
  expect_settled(1, 0, 0, 0);
  expect_word(3, QUEUED | OPEN, 0);
  nothing_passes();
  for (int i = 0; i < 3; i++) {
    expect_settled(0, 1, 0, 0);
    volt_rwlock_read_unlock(&rw);
  }
  expect_word(WRITER, 0, 0); /* it is granted: it may not be passed any more */
  expect_settled(0, 1, 1, 0);
  expect_poll(0, VOLT_OK);
  write_unlock_and_end();
}

/* Readers that overlap for ever do not keep the writer out. */
static void an_entry_counts_not_a_release(void **state) {
  (void)state;
  begin(100, "w");
  read_in();
  expect_poll(0, VOLT_PENDING);
  for (uint32_t left = 100; left > 0; left--) {
    read_in();
    volt_rwlock_read_unlock(&rw);
    expect_word(1, QUEUED | OPEN, left - 1);
  }
  nothing_passes();
  volt_rwlock_read_unlock(&rw);
  expect_settled(0, 1, 1, 0);
  expect_poll(0, VOLT_OK);
  write_unlock_and_end();
}

static void the_last_reader_nudges(void **state) {
  (void)state;
  begin(K, "w");
  read_in();
  read_in();
  expect_poll(0, VOLT_PENDING);
  volt_rwlock_read_unlock(&rw);
  expect_settled(0, 1, 0, 0);
  volt_rwlock_read_unlock(&rw);
  expect_word(0, QUEUED | OPEN | NUDGED, K);
  expect_settled(0, 1, 1, 0);
  read_in();
  read_in();
  expect_word(2, QUEUED | OPEN | NUDGED, 0);
  volt_rwlock_read_unlock(&rw);
  expect_word(1, QUEUED | OPEN | NUDGED, 0);
  volt_rwlock_read_unlock(&rw);
  expect_word(WRITER, 0, 0);
  expect_settled(0, 1, 1, 0); /* the nudge was its wake */
  expect_poll(0, VOLT_OK);
  write_unlock_and_end();
}

static void the_last_of_the_readers_that_passed_leaves_it_free(void **state) {
  (void)state;
  begin(K, "w");
  read_in();
  expect_poll(0, VOLT_PENDING);
  volt_rwlock_read_unlock(&rw);
  read_in();
  volt_rwlock_read_unlock(&rw);
  expect_word(0, QUEUED | OPEN | NUDGED, K - 1);
  write_in(); /* a writer passes as well */
  expect_word(WRITER, QUEUED | OPEN | NUDGED, K - 2);
  nothing_passes();
  volt_rwlock_write_unlock(&rw);
  expect_word(WRITER, 0, 0);
  expect_poll(0, VOLT_OK);
  expect_settled(0, 1, 1, 0);
  write_unlock_and_end();
}

static void a_writer_looks(void **state) {
  (void)state;
  begin(K, "ww");
  write_in();
  expect_poll(0, VOLT_PENDING);
  expect_poll(1, VOLT_PENDING);
  volt_rwlock_write_unlock(&rw);
  expect_word(0, QUEUED | OPEN | NUDGED, K);
  read_in();
  expect_poll(0, VOLT_PENDING); /* in vain: a reader is inside */
  expect_settled(0, 2, 1, 0);
  expect_word(1, QUEUED | OPEN, 0);
  nothing_passes();
  volt_rwlock_read_unlock(&rw);
  expect_word(WRITER, QUEUED | OPEN, K);
  expect_settled(0, 2, 2, 0);
  expect_poll(0, VOLT_OK);
  volt_rwlock_write_unlock(&rw);
  expect_poll(1, VOLT_OK); /* it takes it */
  expect_word(WRITER, 0, 0);
  write_unlock_and_end();
}

static void a_raw_writer_is_not_passed(void **state) {
  (void)state;
  begin(K, "");
  read_in();
  assert_result(volt_rwlock_write_waiter(&rw, &raw, fake_waker_of(&raw_waker)), VOLT_PENDING);
  expect_word(1, QUEUED, K);
  nothing_passes();
  volt_rwlock_read_unlock(&rw);
  assert_result(volt_waiter_result(&raw), VOLT_OK);
  assert_int_equal(fake_waker_calls(&raw_waker), 1);
  write_unlock_and_end();
}

/* ---- readers that are queued ---- */

static void head_readers_are_admitted_together(void **state) {
  (void)state;
  begin(K, "rrwrw");
  write_in();
  for (int i = 0; i < 5; i++) expect_poll(i, VOLT_PENDING);
  expect_word(WRITER, QUEUED, K); /* the head is a reader */
  volt_rwlock_write_unlock(&rw);
  expect_word(2, QUEUED | OPEN, K); /* the head is a writer */
  for (int i = 0; i < 5; i++) expect_settled(i, 1, i < 2, 0);
  expect_poll(0, VOLT_OK);
  expect_poll(1, VOLT_OK);
  read_in(); /* passes 2 */
  for (int i = 0; i < 3; i++) volt_rwlock_read_unlock(&rw);
  expect_word(0, QUEUED | OPEN | NUDGED, K - 1);
  expect_poll(2, VOLT_OK);
  expect_word(WRITER, QUEUED, K);
  volt_rwlock_write_unlock_fair(&rw); /* readers are admitted by that, too */
  expect_word(1, QUEUED | OPEN, K);
  expect_poll(3, VOLT_OK);
  volt_rwlock_read_unlock(&rw);
  expect_poll(4, VOLT_OK);
  write_unlock_and_end();
}

static void write_unlock_fair_grants(void **state) {
  (void)state;
  for (uint32_t nudged = 0; nudged < 2; nudged++) {
    begin(K, "w");
    write_in();
    expect_poll(0, VOLT_PENDING);
    if (nudged) {
      volt_rwlock_write_unlock(&rw);
      write_in();
    }
    volt_rwlock_write_unlock_fair(&rw);
    expect_word(WRITER, 0, 0);
    expect_settled(0, 1, 1, 0);
    expect_poll(0, VOLT_OK);
    write_unlock_and_end();
  }
}

static void downgrade_admits_readers(void **state) {
  (void)state;
  begin(K, "rrw");
  write_in();
  for (int i = 0; i < 3; i++) expect_poll(i, VOLT_PENDING);
  volt_rwlock_downgrade(&rw);
  expect_word(3, QUEUED | OPEN, K);
  expect_poll(0, VOLT_OK);
  expect_poll(1, VOLT_OK);
  for (int i = 0; i < 3; i++) volt_rwlock_read_unlock(&rw);
  expect_settled(2, 1, 1, 0);
  expect_poll(2, VOLT_OK);
  volt_rwlock_downgrade(&rw); /* no waiter */
  expect_word(1, 0, 0);
  volt_rwlock_read_unlock(&rw);
  end();
}

static void downgrade_before_a_writer(void **state) {
  (void)state;
  for (uint32_t nudged = 0; nudged < 2; nudged++) {
    begin(K, "w");
    write_in();
    expect_poll(0, VOLT_PENDING);
    uint32_t left = K;
    uint64_t flags = QUEUED | OPEN;
    if (nudged) {
      volt_rwlock_write_unlock(&rw);
      write_in();
      flags |= NUDGED;
      left -= 1;
    }
    volt_rwlock_downgrade(&rw);
    expect_word(1, flags, left); /* it waits on */
    expect_settled(0, 1, nudged, 0);
    volt_rwlock_read_unlock(&rw);
    expect_word(0, QUEUED | OPEN | NUDGED, left);
    expect_poll(0, VOLT_OK);
    expect_settled(0, 1, 1, 0);
    write_unlock_and_end();
  }
}

/* ---- cancel ---- */

static void readers_behind_a_cancelled_writer_are_admitted(void **state) {
  (void)state;
  begin(1, "wrrw");
  read_in();
  expect_poll(0, VOLT_PENDING);
  read_in();
  for (int i = 1; i < 4; i++) expect_poll(i, VOLT_PENDING);
  volt_rwlock_read_unlock(&rw);
  expect_word(1, QUEUED | OPEN, 0);
  volt_future_cancel(&owners[0].f);
  expect_settled(0, 1, 0, 1);
  expect_word(3, QUEUED | OPEN, 1);
  for (int i = 0; i < 3; i++) volt_rwlock_read_unlock(&rw);
  expect_poll(1, VOLT_OK);
  expect_poll(2, VOLT_OK);
  expect_poll(3, VOLT_OK);
  write_unlock_and_end();
}

static void a_nudged_writer_is_cancelled_while_it_is_free(void **state) {
  (void)state;
  begin(K, "wrw");
  write_in();
  for (int i = 0; i < 3; i++) expect_poll(i, VOLT_PENDING);
  volt_rwlock_write_unlock(&rw);
  expect_word(0, QUEUED | OPEN | NUDGED, K);
  volt_future_cancel(&owners[0].f);
  expect_settled(0, 1, 1, 0);
  expect_settled(1, 1, 1, 0);
  expect_word(1, QUEUED | OPEN, K);
  expect_poll(1, VOLT_OK);
  volt_future_cancel(&owners[2].f);
  expect_settled(2, 1, 0, 1);
  expect_word(1, 0, 0);
  volt_rwlock_read_unlock(&rw);
  end();
}

static void a_nudged_writer_is_cancelled_before_a_writer(void **state) {
  (void)state;
  begin(K, "ww");
  write_in();
  expect_poll(0, VOLT_PENDING);
  expect_poll(1, VOLT_PENDING);
  volt_rwlock_write_unlock(&rw);
  read_in();
  volt_future_cancel(&owners[0].f);
  expect_settled(0, 1, 1, 0);
  expect_settled(1, 1, 0, 0);
  expect_word(1, QUEUED | OPEN, K - 1);
  volt_rwlock_read_unlock(&rw);
  expect_settled(1, 1, 1, 0);
  expect_word(0, QUEUED | OPEN | NUDGED, K - 1);
  expect_poll(1, VOLT_OK);
  write_unlock_and_end();
}

static void cancel_of_a_queued_reader(void **state) {
  (void)state;
  begin(K, "rrw");
  write_in();
  for (int i = 0; i < 3; i++) expect_poll(i, VOLT_PENDING);
  volt_future_cancel(&owners[1].f);
  expect_word(WRITER, QUEUED, K);
  volt_future_cancel(&owners[0].f);
  expect_word(WRITER, QUEUED | OPEN, K);
  volt_rwlock_write_unlock(&rw);
  volt_future_cancel(&owners[2].f);
  end();
}

static void a_granted_reader_is_dropped(void **state) {
  (void)state;
  begin(K, "rw");
  write_in();
  expect_poll(0, VOLT_PENDING);
  expect_poll(1, VOLT_PENDING);
  volt_rwlock_write_unlock(&rw);
  volt_future_cancel(&owners[0].f); /* gives it back */
  expect_poll(0, VOLT_ECANCELED);
  expect_settled(1, 1, 1, 0);
  expect_poll(1, VOLT_OK);
  write_unlock_and_end();
}

/* ---- batches ---- */

enum { MANY = 3 * 32 + 5 };

static volt_waiter readers[MANY];
static uint32_t admitted;

static void count_and_stay(void *arg) {
  (void)arg;
  admitted += 1;
}

static void count_and_leave(void *arg) {
  count_and_stay(arg);
  volt_rwlock_read_unlock(&rw);
}

static void queue_many(void (*wake)(void *)) {
  admitted = 0;
  memset(readers, 0, sizeof readers);
  write_in();
  for (int i = 0; i < MANY; i++) {
    volt_waker waker = {wake, NULL};
    assert_result(volt_rwlock_read_waiter(&rw, &readers[i], waker), VOLT_PENDING);
  }
}

static void more_readers_than_a_batch_holds(void **state) {
  (void)state;
  begin(K, "w");
  queue_many(count_and_stay);
  expect_poll(0, VOLT_PENDING);
  volt_rwlock_write_unlock(&rw);
  assert_int_equal(admitted, MANY);
  expect_word(MANY, QUEUED | OPEN, K);
  for (int i = 0; i < MANY; i++) {
    assert_result(volt_waiter_result(&readers[i]), VOLT_OK);
    volt_rwlock_read_unlock(&rw);
  }
  expect_poll(0, VOLT_OK);
  write_unlock_and_end();
}

/* Each leaves inside its wake: the last of a batch finds readers that are still queued. */
static void wakers_of_a_batch_unlock(void **state) {
  (void)state;
  begin(K, "w");
  queue_many(count_and_leave);
  volt_rwlock_write_unlock(&rw);
  assert_int_equal(admitted, MANY);
  end();
  begin(K, "w");
  queue_many(count_and_leave);
  expect_poll(0, VOLT_PENDING);
  volt_rwlock_write_unlock(&rw);
  assert_int_equal(admitted, MANY);
  expect_settled(0, 1, 1, 0);
  expect_poll(0, VOLT_OK);
  write_unlock_and_end();
}

static uint32_t cancelled;

static void cancel_the_rest(void *arg) {
  count_and_stay(arg);
  for (int i = 0; i < MANY && admitted == 1; i++) cancelled += volt_rwlock_cancel(&rw, &readers[i]);
}

static void wakers_of_a_batch_cancel(void **state) {
  (void)state;
  begin(K, "");
  cancelled = 0;
  queue_many(cancel_the_rest);
  volt_rwlock_write_unlock(&rw);
  assert_int_equal(cancelled + admitted, MANY);
  assert_true(cancelled > 0);
  expect_word(admitted, 0, 0);
  for (uint32_t i = 0; i < admitted; i++) volt_rwlock_read_unlock(&rw);
  end();
}

/* ---- threads ---- */

static uint32_t plain;

static void read_and_write(void *arg, uint32_t index) {
  (void)arg;
  for (uint32_t i = 0; i < 400; i++) {
    if (i % 4 == index % 4) {
      volt_rwlock_write(&rw);
      plain += 1;
      if (i % 8 == 0) {
        volt_rwlock_write_unlock_fair(&rw);
      } else if (i % 8 == 1) {
        volt_rwlock_downgrade(&rw);
        volt_rwlock_read_unlock(&rw);
      } else {
        volt_rwlock_write_unlock(&rw);
      }
    } else if (volt_rwlock_read_until(&rw, volt_deadline_ns(i % 7 * 10000)) == VOLT_OK) {
      REQUIRE(plain <= 4 * 400);
      volt_rwlock_read_unlock(&rw);
    }
  }
}

static void readers_or_one_writer(void **state) {
  (void)state;
  for (uint32_t k = 1; k < 256; k *= 15) {
    plain = 0;
    begin(k, "");
    thread_team_run(4, read_and_write, NULL);
    assert_int_equal(plain, 4 * 100);
    end();
  }
}

/* ---- misuse ---- */

static void init_with(void *k) {
  volt_rwlock_init_bypass(&rw, *(const uint32_t *)k);
}

static void read_unlock(void *arg) {
  (void)arg;
  volt_rwlock_read_unlock(&rw);
}

static void write_unlock(void *arg) {
  (void)arg;
  volt_rwlock_write_unlock(&rw);
}

static void write_unlock_fair(void *arg) {
  (void)arg;
  volt_rwlock_write_unlock_fair(&rw);
}

static void downgrade(void *arg) {
  (void)arg;
  volt_rwlock_downgrade(&rw);
}

static void destroy(void *arg) {
  (void)arg;
  volt_rwlock_destroy(&rw);
}

static void read_the_full(void *arg) {
  volt_rwlock_read((volt_rwlock *)arg);
}

static void no_more_readers_than_the_maximum(void **state) {
  (void)state;
  volt_rwlock full = {.queue = VOLT_FIFO_INIT_(VOLT_RWLOCK_MAX_READERS - 1), .bypass = K};
  assert_result(volt_rwlock_read_waiter(&full, &raw, fake_waker_of(&raw_waker)), VOLT_OK);
  assert_result(volt_rwlock_try_read(&full), VOLT_EAGAIN);
  assert_death(read_the_full, &full, "volt_rwlock", "too many holders");
  volt_rwlock_read_unlock(&full);
  assert_int_equal(volt_rwlock_readers(&full), VOLT_RWLOCK_MAX_READERS - 1);
}

static void misuse_aborts(void **state) {
  (void)state;
  uint32_t k = 256;
  assert_death(init_with, &k, "volt_rwlock_init_bypass", "bypass is 256, more than 255");
  begin(K, "w");
  for (int queued = 0; queued < 2; queued++) { /* also while a writer is queued */
    assert_death(read_unlock, NULL, "volt_rwlock", "read unlock, but it is not locked");
    assert_death(write_unlock, NULL, "volt_rwlock", "write unlock, but it is not locked");
    assert_death(downgrade, NULL, "volt_rwlock", "downgrade, but it is not locked");
    read_in();
    assert_death(write_unlock, NULL, "volt_rwlock", "write unlock, but it is read-locked");
    assert_death(write_unlock_fair, NULL, "volt_rwlock", "but it is read-locked");
    assert_death(destroy, NULL, "volt_rwlock", "destroyed while");
    if (queued == 0) expect_poll(0, VOLT_PENDING);
    volt_rwlock_read_unlock(&rw);
  }
  expect_poll(0, VOLT_OK);
  assert_death(read_unlock, NULL, "volt_rwlock", "read unlock, but it is locked for writing");
  write_unlock_and_end();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FAMILY_TEST(rwlock_with_bypass),
      cmocka_unit_test(ways_to_begin),
      cmocka_unit_test(bypass_of_0_lets_nothing_pass),
      cmocka_unit_test(readers_pass_a_writer),
      cmocka_unit_test(an_entry_counts_not_a_release),
      cmocka_unit_test(the_last_reader_nudges),
      cmocka_unit_test(the_last_of_the_readers_that_passed_leaves_it_free),
      cmocka_unit_test(a_writer_looks),
      cmocka_unit_test(a_raw_writer_is_not_passed),
      cmocka_unit_test(head_readers_are_admitted_together),
      cmocka_unit_test(write_unlock_fair_grants),
      cmocka_unit_test(downgrade_admits_readers),
      cmocka_unit_test(downgrade_before_a_writer),
      cmocka_unit_test(readers_behind_a_cancelled_writer_are_admitted),
      cmocka_unit_test(a_nudged_writer_is_cancelled_while_it_is_free),
      cmocka_unit_test(a_nudged_writer_is_cancelled_before_a_writer),
      cmocka_unit_test(cancel_of_a_queued_reader),
      cmocka_unit_test(a_granted_reader_is_dropped),
      cmocka_unit_test(more_readers_than_a_batch_holds),
      cmocka_unit_test(wakers_of_a_batch_unlock),
      cmocka_unit_test(wakers_of_a_batch_cancel),
      cmocka_unit_test(readers_or_one_writer),
      cmocka_unit_test(no_more_readers_than_the_maximum),
      cmocka_unit_test(misuse_aborts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
