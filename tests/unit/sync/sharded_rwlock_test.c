/* sharded_rwlock_test.c: every sentence of volt/sharded_rwlock.h, polled by hand. */
#include <pthread.h>

#include "alloc_count.h"
#include "death.h"
#include "fake_waker.h"
#include "family.h"
#include "poller.h"

FAMILY_OF_FUTURES(sharded_rwlock, volt_rwlock_shard shards[2]; volt_sharded_rwlock it[1];
                  volt_sharded_rwlock_init(it, shards, 2);
                  volt_sharded_rwlock_write(it), volt_sharded_rwlock_read_future(f, it, 1),
                  volt_sharded_rwlock_write_unlock(it);
                  FAMILY_OK(family_poll(f)); volt_sharded_rwlock_read_unlock(it, 1);
                  volt_sharded_rwlock_write(it), volt_sharded_rwlock_write_unlock(it);
                  volt_sharded_rwlock_destroy(it))

enum { SHARDS = 3 };

static volt_rwlock_shard shards[SHARDS];
static volt_sharded_rwlock lock;
static volt_sharded_write writer;
static volt_sharded_write other;
static volt_future reader;
static poller a;
static poller b;

static int set_up(void **state) {
  (void)state;
  memset((void *)shards, 0xee, sizeof shards);
  volt_sharded_rwlock_init(&lock, shards, SHARDS);
  memset((void *)&writer, 0xee, sizeof writer);
  memset((void *)&other, 0xee, sizeof other);
  poller_init(&a);
  poller_init(&b);
  return 0;
}

/* It can be locked for writing, and ends. */
static int tear_down(void **state) {
  (void)state;
  assert_int_equal(volt_sharded_rwlock_waiters(&lock), 0);
  assert_result(volt_sharded_rwlock_try_write(&lock), VOLT_OK);
  volt_sharded_rwlock_write_unlock(&lock);
  volt_sharded_rwlock_destroy(&lock);
  return 0;
}

static void read_shard(uint32_t shard) {
  assert_result(volt_sharded_rwlock_try_read(&lock, shard), VOLT_OK);
}

static volt_future *write_future(void) {
  volt_future *f = volt_sharded_rwlock_write_future(&writer, &lock);
  assert_ptr_equal(f, &writer.future);
  return f;
}

/* What a reader of each shard would get now. */
static void expect_shards(int first, int second, int third) {
  const int results[SHARDS] = {first, second, third};
  for (uint32_t i = 0; i < SHARDS; i++) {
    assert_result(volt_sharded_rwlock_try_read(&lock, i), results[i]);
    if (results[i] == VOLT_OK) volt_sharded_rwlock_read_unlock(&lock, i);
  }
}

/* ---- readers and writers, without waiting ---- */

static void readers_of_all_shards_are_in_together(void **state) {
  (void)state;
  for (uint32_t i = 0; i < SHARDS; i++) read_shard(i);
  read_shard(0);
  assert_int_equal(volt_sharded_rwlock_readers(&lock), SHARDS + 1);
  assert_result(volt_sharded_rwlock_try_write(&lock), VOLT_EAGAIN);
  volt_sharded_rwlock_read_unlock(&lock, 0);
  for (uint32_t i = 0; i < SHARDS; i++) volt_sharded_rwlock_read_unlock(&lock, i);
  assert_int_equal(volt_sharded_rwlock_readers(&lock), 0);
}

static void a_reader_of_any_shard_keeps_writers_out(void **state) {
  (void)state;
  for (uint32_t i = 0; i < SHARDS; i++) {
    read_shard(i);
    assert_result(volt_sharded_rwlock_try_write(&lock), VOLT_EAGAIN);
    assert_result(volt_sharded_rwlock_write_until(&lock, 0), VOLT_ETIMEDOUT);
    expect_shards(VOLT_OK, VOLT_OK, VOLT_OK); /* nothing is left locked */
    volt_sharded_rwlock_read_unlock(&lock, i);
  }
}

static void a_writer_keeps_readers_of_every_shard_out(void **state) {
  (void)state;
  assert_result(volt_sharded_rwlock_write_until(&lock, 0), VOLT_OK);
  expect_shards(VOLT_EAGAIN, VOLT_EAGAIN, VOLT_EAGAIN);
  assert_result(volt_sharded_rwlock_read_until(&lock, 2, 0), VOLT_ETIMEDOUT);
  assert_result(volt_sharded_rwlock_try_write(&lock), VOLT_EAGAIN);
  volt_sharded_rwlock_write_unlock(&lock);
  expect_shards(VOLT_OK, VOLT_OK, VOLT_OK);
}

/* ---- a writer that waits ---- */

static void nothing_happens_before_the_first_poll(void **state) {
  (void)state;
  read_shard(0);
  volt_future *f = write_future();
  assert_int_equal(volt_sharded_rwlock_waiters(&lock), 0);
  assert_result(poller_poll(&a, f), VOLT_PENDING);
  assert_int_equal(volt_sharded_rwlock_waiters(&lock), 1);
  volt_future_cancel(f);
  volt_sharded_rwlock_read_unlock(&lock, 0);
}

static void a_writer_waits_for_one_shard_after_another(void **state) {
  (void)state;
  read_shard(0);
  read_shard(2);
  volt_future *f = write_future();
  assert_result(poller_poll(&a, f), VOLT_PENDING);
  expect_shards(VOLT_EAGAIN, VOLT_OK, VOLT_OK);
  volt_sharded_rwlock_read_unlock(&lock, 0);
  poller_expect(&a, 1, 1, 0);
  assert_result(poller_poll(&a, f), VOLT_PENDING);
  expect_shards(VOLT_EAGAIN, VOLT_EAGAIN, VOLT_EAGAIN);
  volt_sharded_rwlock_read_unlock(&lock, 2);
  poller_expect(&a, 2, 2, 0);
  assert_result(poller_poll(&a, f), VOLT_OK);
  assert_result(poller_poll(&a, f), VOLT_OK); /* the result stands */
  expect_shards(VOLT_EAGAIN, VOLT_EAGAIN, VOLT_EAGAIN);
  volt_sharded_rwlock_write_unlock(&lock);
}

static void writers_come_in_their_order(void **state) {
  (void)state;
  volt_sharded_rwlock_write(&lock);
  volt_future *first = write_future();
  volt_future *second = volt_sharded_rwlock_write_future(&other, &lock);
  assert_result(poller_poll(&a, first), VOLT_PENDING);
  assert_result(poller_poll(&b, second), VOLT_PENDING);
  volt_sharded_rwlock_write_unlock(&lock);
  assert_result(poller_poll(&b, second), VOLT_PENDING);
  assert_result(poller_poll(&a, first), VOLT_OK);
  volt_sharded_rwlock_write_unlock(&lock);
  assert_result(poller_poll(&b, second), VOLT_OK);
  volt_sharded_rwlock_write_unlock(&lock);
}

static void a_reader_waits_for_the_writer_before_it(void **state) {
  (void)state;
  read_shard(1);
  volt_future *f = write_future();
  assert_result(poller_poll(&a, f), VOLT_PENDING);
  volt_future *r = volt_sharded_rwlock_read_future(&reader, &lock, 1);
  assert_result(poller_poll(&b, r), VOLT_PENDING);
  assert_int_equal(volt_sharded_rwlock_waiters(&lock), 2);
  volt_sharded_rwlock_read_unlock(&lock, 1);
  assert_result(poller_poll(&a, f), VOLT_OK);
  assert_result(poller_poll(&b, r), VOLT_PENDING);
  volt_sharded_rwlock_write_unlock(&lock);
  poller_expect(&b, 1, 1, 0);
  assert_result(poller_poll(&b, r), VOLT_OK);
  volt_sharded_rwlock_read_unlock(&lock, 1);
}

static void a_writer_goes_on_when_the_budget_is_used_up(void **state) {
  (void)state;
  a.ctx.budget = 1;
  assert_result(poller_poll(&a, write_future()), VOLT_OK);
  assert_false(a.ctx.yield);
  volt_sharded_rwlock_write_unlock(&lock);
}

/* ---- a writer that gives up ---- */

static void a_cancel_unlocks_what_the_writer_has(void **state) {
  (void)state;
  read_shard(2);
  volt_future *f = write_future();
  assert_result(poller_poll(&a, f), VOLT_PENDING);
  expect_shards(VOLT_EAGAIN, VOLT_EAGAIN, VOLT_EAGAIN);
  volt_future_cancel(f);
  poller_expect_dropped(&a, 1);
  assert_result(poller_poll(&a, f), VOLT_ECANCELED);
  expect_shards(VOLT_OK, VOLT_OK, VOLT_OK);
  volt_future_cancel(f); /* once more: nothing */
  expect_shards(VOLT_OK, VOLT_OK, VOLT_OK);
  volt_sharded_rwlock_read_unlock(&lock, 2);
}

static void a_cancel_gives_back_a_shard_that_was_just_granted(void **state) {
  (void)state;
  read_shard(1);
  volt_future *f = write_future();
  assert_result(poller_poll(&a, f), VOLT_PENDING);
  volt_sharded_rwlock_read_unlock(&lock, 1);
  volt_future_cancel(f);
  poller_expect(&a, 1, 1, 0);
  expect_shards(VOLT_OK, VOLT_OK, VOLT_OK);
}

static void a_deadline_unlocks_what_the_writer_has(void **state) {
  (void)state;
  read_shard(2);
  assert_result(volt_future_wait_until(write_future(), 0), VOLT_ETIMEDOUT);
  expect_shards(VOLT_OK, VOLT_OK, VOLT_OK);
  volt_sharded_rwlock_read_unlock(&lock, 2);
}

static void a_select_that_another_branch_wins_unlocks_all(void **state) {
  (void)state;
  volt_sem sem;
  volt_sem_init(&sem, 1);
  volt_future permit;
  volt_future *branches[] = {volt_sem_acquire_future(&permit, &sem, 1), write_future()};
  volt_select s;
  for (int ready = 0; ready < 2; ready++) {
    branches[0] = volt_sem_acquire_future(&permit, &sem, 1);
    branches[1] = write_future();
    if (ready == 1) read_shard(2);
    assert_result(poller_poll(&a, volt_select_future(&s, branches, 2, VOLT_SELECT_BIASED)),
                  VOLT_OK);
    assert_int_equal(volt_select_winner(&s), 0);
    expect_shards(VOLT_OK, VOLT_OK, VOLT_OK);
    volt_sem_release(&sem, 1);
    if (ready == 1) volt_sharded_rwlock_read_unlock(&lock, 2);
  }
  volt_sem_destroy(&sem);
}

/* The receive is granted, which cannot be undone; the same poll finds the write ready first. */
static void a_write_that_comes_too_late_in_a_select_is_undone(void **state) {
  (void)state;
  uint64_t slots[4], got = 0, sent = 7;
  volt_chan chan;
  assert_result(volt_chan_init(&chan, 1, sizeof got, slots, sizeof slots), VOLT_OK);
  volt_future recv;
  volt_future *branches[] = {write_future(), volt_chan_recv_future(&recv, &chan, &got)};
  volt_select s;
  volt_future *f = volt_select_future(&s, branches, 2, VOLT_SELECT_BIASED);
  read_shard(2);
  assert_result(poller_poll(&a, f), VOLT_PENDING);
  assert_result(volt_chan_try_send(&chan, &sent), VOLT_OK);
  volt_sharded_rwlock_read_unlock(&lock, 2);
  assert_result(poller_poll(&a, f), VOLT_OK);
  assert_int_equal(volt_select_winner(&s), 1);
  assert_int_equal(got, 7);
  assert_result(poller_poll(&a, &writer.future), VOLT_ECANCELED);
  expect_shards(VOLT_OK, VOLT_OK, VOLT_OK);
  volt_chan_destroy(&chan, NULL, NULL);
}

/* ---- shards ---- */

static void *ask_here(void *number) {
  uint32_t first = volt_sharded_rwlock_here(&lock);
  if (volt_sharded_rwlock_here(&lock) == first) *(uint32_t *)number = first;
  return NULL;
}

static void threads_are_spread_over_the_shards(void **state) {
  (void)state;
  uint32_t asked[SHARDS] = {0};
  for (unsigned i = 0; i < 2 * SHARDS; i++) {
    uint32_t number = UINT32_MAX;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, ask_here, &number), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_in_range(number, 0, SHARDS - 1);
    asked[number] += 1;
  }
  for (unsigned i = 0; i < SHARDS; i++) assert_int_equal(asked[i], 2);
}

static void a_shard_has_its_own_cache_line(void **state) {
  (void)state;
  assert_int_equal(sizeof(volt_rwlock_shard), (VOLT_SIGHT ? 2 : 1) * VOLT_CACHE_LINE);
  assert_int_equal((uintptr_t)&shards[1] % VOLT_CACHE_LINE, 0);
}

/* ---- misuse ---- */

static void make_without_shards(void *arg) {
  volt_sharded_rwlock_init((volt_sharded_rwlock *)arg, shards, 0);
}
static void make_askew(void *arg) {
  volt_sharded_rwlock_init((volt_sharded_rwlock *)arg,
                           (volt_rwlock_shard *)(void *)((char *)shards + 8), 1);
}
static void read_beyond(void *arg) {
  volt_sharded_rwlock_read_unlock((volt_sharded_rwlock *)arg, SHARDS);
}
static void unlock_free(void *arg) {
  volt_sharded_rwlock_write_unlock((volt_sharded_rwlock *)arg);
}
static void destroy_locked(void *arg) {
  read_shard(2);
  volt_sharded_rwlock_destroy((volt_sharded_rwlock *)arg);
}

static void misuse_aborts(void **state) {
  (void)state;
  assert_death(make_without_shards, &lock, "volt_sharded_rwlock", "it has no shard");
  assert_death(make_askew, &lock, "volt_sharded_rwlock", "are not aligned to 64");
  assert_death(read_beyond, &lock, "volt_sharded_rwlock", death_address(&lock), "shard 3 of 3");
  assert_death(unlock_free, &lock, "volt_rwlock", "write unlock, but it is not locked");
  assert_death(destroy_locked, &lock, "volt_rwlock_destroy", "destroyed while it is locked");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      FAMILY_TEST(sharded_rwlock),
      TEST(readers_of_all_shards_are_in_together),
      TEST(a_reader_of_any_shard_keeps_writers_out),
      TEST(a_writer_keeps_readers_of_every_shard_out),
      TEST(nothing_happens_before_the_first_poll),
      TEST(a_writer_waits_for_one_shard_after_another),
      TEST(writers_come_in_their_order),
      TEST(a_reader_waits_for_the_writer_before_it),
      TEST(a_writer_goes_on_when_the_budget_is_used_up),
      TEST(a_cancel_unlocks_what_the_writer_has),
      TEST(a_cancel_gives_back_a_shard_that_was_just_granted),
      TEST(a_deadline_unlocks_what_the_writer_has),
      TEST(a_select_that_another_branch_wins_unlocks_all),
      TEST(a_write_that_comes_too_late_in_a_select_is_undone),
      TEST(threads_are_spread_over_the_shards),
      TEST(a_shard_has_its_own_cache_line),
      TEST(misuse_aborts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
