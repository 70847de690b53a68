/* alloc_test.c: no wait allocates memory: every allocation of the process is counted. */
#include "alloc_count.h"

#include <stdlib.h>

#include "fake_waker.h"
#include "require.h"
#include "sanitizer.h"
#include "thread_team.h"
#include "unit.h"

static volt_mutex mutex;
static volt_sem sem;
static volt_rwlock rw;

/* ---- the count itself ---- */

static void *volatile sink; /* what is stored here cannot be optimised away */

static uint64_t counted;

/* Since the last call, so many allocations have been counted. */
static void expect_counted(uint64_t allocations) {
  uint64_t now = alloc_count_allocations();
  assert_int_equal(now - counted, allocations);
  counted = now;
}

static void every_way_to_allocate_is_counted(void **state) {
  (void)state;
  uint64_t freed = alloc_count_frees();
  counted = alloc_count_allocations();
  sink = malloc(10);
  expect_counted(1);
  free(sink);
  sink = calloc(2, 10);
  expect_counted(1);
  free(sink);
  sink = realloc(NULL, 10);
  expect_counted(1);
  sink = realloc(sink, 10000);
  expect_counted(1);
  free(sink);
  assert_true(alloc_count_frees() - freed >= 3);
  expect_counted(0);
  sink = aligned_alloc(64, 128);
  if (!UNDER_TSAN) expect_counted(1); /* its hooks leave out the aligned ones */
  free(sink);
}

/* ---- contended, polled by hand ---- */

enum { MILLION = 1000000 };

static void a_million_contended_locks(void **state) {
  (void)state;
  volt_waiter waiters[2];
  fake_waker wakers[2];
  memset(waiters, 0, sizeof waiters);
  for (uint32_t i = 0; i < 2; i++) fake_waker_init(&wakers[i], i, NULL);
  volt_mutex_init(&mutex);
  uint64_t before = alloc_count_allocations();
  uint32_t pending = 0;
  uint32_t granted = 0;
  REQUIRE(volt_mutex_try_lock(&mutex) == VOLT_OK);
  for (uint32_t i = 0; i < MILLION; i++) { /* one always holds it, the other always waits */
    volt_waiter *w = &waiters[i % 2];
    pending += volt_mutex_lock_waiter(&mutex, w, fake_waker_of(&wakers[i % 2])) == VOLT_PENDING;
    volt_mutex_unlock(&mutex);
    granted += volt_waiter_result(w) == VOLT_OK;
  }
  volt_mutex_unlock(&mutex);
  assert_int_equal(alloc_count_allocations() - before, 0);
  assert_int_equal(pending, MILLION);
  assert_int_equal(granted, MILLION);
  assert_int_equal(fake_waker_calls(&wakers[0]) + fake_waker_calls(&wakers[1]), MILLION);
  volt_mutex_destroy(&mutex);
}

/* ---- every operation there is ---- */

static volt_waiter crowd[100];
static const volt_waker nobody = {NULL, NULL};

static void use_the_semaphore(void) {
  volt_sem_init(&sem, 1);
  for (uint32_t i = 0; i < 100; i++) {
    REQUIRE(volt_sem_acquire_waiter(&sem, &crowd[i], 2, nobody) == VOLT_PENDING);
  }
  REQUIRE(volt_sem_try_acquire(&sem, 1) == VOLT_EAGAIN);
  REQUIRE(volt_sem_cancel(&sem, &crowd[50]));
  REQUIRE(volt_waiter_set_waker(&crowd[51], nobody));
  volt_sem_release(&sem, 100);
  REQUIRE(volt_sem_acquire_until(&sem, 1, PAST_DEADLINE) == VOLT_ETIMEDOUT);
  (void)volt_sem_waiters(&sem);
  volt_sem_close(&sem);
  volt_sem_destroy(&sem);
}

static void use_the_rwlock(void) {
  volt_rwlock_init(&rw);
  REQUIRE(volt_rwlock_try_write(&rw) == VOLT_OK);
  for (uint32_t i = 0; i < 99; i++) {
    REQUIRE(volt_rwlock_read_waiter(&rw, &crowd[i], nobody) == VOLT_PENDING);
  }
  REQUIRE(volt_rwlock_write_waiter(&rw, &crowd[99], nobody) == VOLT_PENDING);
  REQUIRE(volt_rwlock_read_until(&rw, PAST_DEADLINE) == VOLT_ETIMEDOUT);
  volt_rwlock_downgrade(&rw);
  REQUIRE(volt_rwlock_cancel(&rw, &crowd[99]));
  for (uint32_t i = 0; i < 100; i++) volt_rwlock_read_unlock(&rw);
  volt_rwlock_destroy(&rw);
}

static void use_futures(void) {
  volt_future f[3];
  volt_sem_init(&sem, 0);
  volt_mutex_init(&mutex);
  volt_rwlock_init(&rw);
  REQUIRE(volt_mutex_try_lock(&mutex) == VOLT_OK);
  REQUIRE(volt_rwlock_try_read(&rw) == VOLT_OK);
  volt_future_made(volt_sem_acquire_future(&f[0], &sem, 1));
  volt_future_made(volt_mutex_lock_future(&f[1], &mutex));
  volt_future_made(volt_rwlock_write_future(&f[2], &rw));
  for (int i = 0; i < 3; i++) REQUIRE(volt_future_poll(&f[i], nobody) == VOLT_PENDING);
  REQUIRE(volt_future_wait_until(&f[0], PAST_DEADLINE) == VOLT_ETIMEDOUT);
  volt_mutex_unlock(&mutex);
  volt_rwlock_read_unlock(&rw);
  for (int i = 0; i < 3; i++) volt_future_cancel(&f[i]);
  volt_sem_destroy(&sem);
  volt_mutex_destroy(&mutex);
  volt_rwlock_destroy(&rw);
}

/* ---- what is composed of futures ---- */

typedef struct composed {
  volt_async async;
  volt_future lock;
  volt_future permit;
  volt_future other;
  volt_sleep_op nap;
  volt_select select;
  volt_join join;
  volt_timeout timeout;
  volt_interval interval;
  volt_future *branches[2];
  volt_timers timers;
} composed;

static int await_all_kinds(volt_async *async, volt_ctx *ctx) {
  composed *self = volt_container_of(async, composed, async);
  VOLT_ASYNC_BEGIN(self);
  self->branches[0] = volt_sem_acquire_future(&self->permit, &sem, 1);
  self->branches[1] = volt_sleep_future(&self->nap, &self->timers, 10);
  VOLT_AWAIT(self, volt_select_future(&self->select, self->branches, 2, VOLT_SELECT_FAIR));
  volt_future_made(volt_mutex_lock_future(&self->lock, &mutex));
  self->branches[1] = volt_interval_tick_future(&self->interval);
  self->branches[0] = volt_timeout_future(&self->timeout, &self->lock, &self->timers, 100);
  VOLT_AWAIT(self, volt_join_future(&self->join, self->branches, 2, VOLT_JOIN_FAIL_FAST));
  VOLT_YIELD(self);
  VOLT_FINALLY(self);
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->other, &sem, 1));
  VOLT_ASYNC_END(self);
}

/* To its end, or cancelled in the middle of the join. */
static void use_composed_futures(bool to_its_end) {
  composed c;
  volt_sem_init(&sem, 0);
  volt_mutex_init(&mutex);
  REQUIRE(volt_mutex_try_lock(&mutex) == VOLT_OK);
  volt_timers_init_virtual(&c.timers, nobody);
  volt_interval_init(&c.interval, &c.timers, 20, 10, VOLT_INTERVAL_SKIP);
  volt_future *f = volt_async_future(&c.async, await_all_kinds);
  REQUIRE(volt_future_poll(f, nobody) == VOLT_PENDING);
  REQUIRE(volt_timers_expire(&c.timers, 10) == 1);
  REQUIRE(volt_future_poll(f, nobody) == VOLT_PENDING);
  volt_mutex_unlock(&mutex);
  if (to_its_end) {
    REQUIRE(volt_timers_expire(&c.timers, 20) == 1);
    REQUIRE(volt_future_poll(f, nobody) == VOLT_PENDING); /* it yields */
    volt_sem_release(&sem, 1);
    REQUIRE(volt_future_wait(f) == VOLT_OK);
    volt_mutex_unlock(&mutex);
  } else {
    volt_future_cancel(f);
    REQUIRE(volt_future_poll(f, nobody) == VOLT_ECANCELED);
  }
  REQUIRE(!volt_mutex_is_locked(&mutex));
  volt_timers_destroy(&c.timers);
  volt_mutex_destroy(&mutex);
  volt_sem_destroy(&sem);
}

/* ---- what the unit tests of single primitives (family.h) leave out ---- */

static volt_future future;
static volt_future other;

static void given_up(volt_future *f) {
  REQUIRE(volt_future_poll(f, nobody) == VOLT_PENDING);
  volt_future_cancel(f);
}

static void use_a_channel(void) {
  static uint64_t memory[64];
  volt_chan c;
  uint64_t sent[4] = {1, 2, 3, 4};
  uint64_t got[4];
  uint32_t moved;
  REQUIRE(volt_chan_init(&c, 2, sizeof sent[0], memory, sizeof memory) == VOLT_OK);
  for (int i = 0; i < 2; i++) {
    given_up(volt_chan_recv_future(&future, &c, got));
    REQUIRE(volt_chan_recv_until(&c, got, PAST_DEADLINE) == VOLT_ETIMEDOUT);
    REQUIRE(volt_chan_recv_waiter(&c, &crowd[0], got, nobody) == VOLT_PENDING);
    REQUIRE(volt_chan_try_send_many(&c, sent, 3, &moved) == VOLT_OK && moved == 3);
    REQUIRE(volt_chan_send_waiter(&c, &crowd[1], &sent[3], nobody) == VOLT_PENDING);
    given_up(volt_chan_send_future(&future, &c, sent));
    REQUIRE(volt_chan_recv_many_until(&c, got, 4, &moved, PAST_DEADLINE) == VOLT_OK && moved == 2);
    REQUIRE(volt_chan_try_recv(&c, got) == VOLT_OK && got[0] == 4);
  }
  volt_chan_close(&c);
  volt_chan_destroy(&c, NULL, NULL);
}

static void use_a_select_of_channels(void) {
  static uint64_t memory[2][16];
  volt_chan c[2];
  volt_select s;
  uint64_t got[2];
  uint64_t elem = 7;
  for (int i = 0; i < 2; i++) {
    REQUIRE(volt_chan_init(&c[i], 1, sizeof elem, memory[i], sizeof memory[i]) == VOLT_OK);
  }
  for (int i = 0; i < 2; i++) {
    volt_future *both[] = {volt_chan_recv_future(&future, &c[0], &got[0]),
                           volt_chan_recv_future(&other, &c[1], &got[1])};
    volt_future *one = volt_select_future(&s, both, 2, VOLT_SELECT_FAIR);
    REQUIRE(volt_future_poll(one, nobody) == VOLT_PENDING);
    REQUIRE(volt_chan_try_send(&c[i % 2], &elem) == VOLT_OK);
    REQUIRE(volt_future_poll(one, nobody) == VOLT_OK);
  }
  for (int i = 0; i < 2; i++) volt_chan_destroy(&c[i], NULL, NULL);
}

static void use_a_limit(void) {
  volt_sem_init(&sem, 2);
  for (int i = 0; i < 2; i++) {
    REQUIRE(volt_sem_try_acquire(&sem, 2) == VOLT_OK);
    volt_sem_set_limit(&sem, 1);
    given_up(volt_sem_acquire_all_future(&future, &sem));
    REQUIRE(volt_future_poll(volt_sem_acquire_all_future(&future, &sem), nobody) == VOLT_PENDING);
    volt_sem_release(&sem, 2);
    REQUIRE(volt_future_poll(&future, nobody) == VOLT_OK);
    volt_sem_release(&sem, volt_sem_future_taken(&future));
    volt_sem_set_limit(&sem, 2);
  }
  volt_sem_destroy(&sem);
}

static void no_operation_allocates(void **state) {
  (void)state;
  uint64_t before = alloc_count_allocations();
  uint64_t freed = alloc_count_frees();
  for (int i = 0; i < 100; i++) {
    use_the_semaphore();
    use_the_rwlock();
    use_futures();
    use_composed_futures(i % 2 == 0);
    use_a_channel();
    use_a_select_of_channels();
    use_a_limit();
  }
  assert_int_equal(alloc_count_allocations() - before, 0);
  assert_int_equal(alloc_count_frees() - freed, 0);
}

/* ---- contended, by threads ---- */

enum { THREADS = 4, ROUNDS = 10000 };

static VOLT_ATOMIC(uint32_t) ready;
static VOLT_ATOMIC(uint32_t) go;
static VOLT_ATOMIC(uint32_t) done;
static VOLT_ATOMIC(uint32_t) leave;
static uint32_t plain;

static void lock_and_unlock(void *arg, uint32_t index) {
  (void)arg;
  (void)index;
  (void)volt_fetch_add_release(&ready, 1);
  WAIT_UNTIL(volt_load_acquire(&go) != 0);
  for (uint32_t i = 0; i < ROUNDS; i++) {
    REQUIRE(volt_mutex_lock_until(&mutex, VOLT_NO_DEADLINE) == VOLT_OK);
    plain += 1;
    volt_mutex_unlock(&mutex);
    if (i % 16) continue;
    REQUIRE(volt_sem_acquire(&sem, 1) == VOLT_OK);
    volt_sem_release(&sem, 1);
    REQUIRE(volt_rwlock_read_until(&rw, VOLT_NO_DEADLINE) == VOLT_OK);
    volt_rwlock_read_unlock(&rw);
  }
  (void)volt_fetch_add_release(&done, 1);
  WAIT_UNTIL(volt_load_acquire(&leave) != 0);
}

/* Starting and ending a thread does allocate: count between the two. */
static void threads_allocate_nothing(void **state) {
  (void)state;
  volt_mutex_init(&mutex);
  volt_sem_init(&sem, 2);
  volt_rwlock_init(&rw);
  plain = 0;
  thread_team t;
  thread_team_start(&t, THREADS, lock_and_unlock, NULL);
  WAIT_UNTIL(volt_load_acquire(&ready) == THREADS);
  uint64_t before = alloc_count_allocations();
  (void)volt_fetch_add_release(&go, 1);
  WAIT_UNTIL(volt_load_acquire(&done) == THREADS);
  uint64_t after = alloc_count_allocations();
  (void)volt_fetch_add_release(&leave, 1);
  thread_team_join(&t);
  assert_int_equal(after - before, 0);
  assert_int_equal(plain, THREADS * ROUNDS);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_way_to_allocate_is_counted),
      cmocka_unit_test(a_million_contended_locks),
      cmocka_unit_test(no_operation_allocates),
      cmocka_unit_test(threads_allocate_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
