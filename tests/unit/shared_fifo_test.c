/* shared_fifo_test.c: one FIFO for threads that block, futures that are polled by hand, and bare
 * waiters: who came first is served first, whatever it is. */
#include "fake_waker.h"
#include "ledger.h"
#include "thread_team.h"
#include "unit.h"

enum { GUESTS = 12 };

typedef enum guest_kind { THREAD, FUTURE, WAITER, BLOCK_ON } guest_kind;

static volt_sem sem;
static volt_mutex mutex;
static volt_rwlock rw;

/* Somebody who waits, one way or another. */
typedef struct guest {
  guest_kind kind;
  uint32_t n;
  uint32_t name;
  volt_future future;
  volt_waiter waiter;
  fake_waker waker;
  thread_team team;
  VOLT_ATOMIC(uint32_t) served; /* a thread has returned */
} guest;

static guest guests[GUESTS];
static wake_log order; /* of threads, as they return */

static bool is_thread(const guest *g) {
  return g->kind == THREAD || g->kind == BLOCK_ON;
}

/* The kinds take turns, so that every pair of kinds are neighbours somewhere. */
static guest_kind kind_of(uint32_t i) {
  static const guest_kind kinds[GUESTS] = {THREAD, FUTURE,   WAITER, THREAD,   WAITER, FUTURE,
                                           THREAD, BLOCK_ON, FUTURE, BLOCK_ON, WAITER, BLOCK_ON};
  return kinds[i];
}

static void begin(guest *g, uint32_t name, uint32_t n) {
  memset(g, 0, sizeof *g);
  g->kind = kind_of(name);
  g->name = name;
  g->n = n;
  fake_waker_init(&g->waker, name, NULL);
}

/* ---- semaphore ---- */

static void block_on_sem(void *arg, uint32_t index) {
  guest *g = (guest *)arg;
  (void)index;
  int result = g->kind == THREAD ? volt_sem_acquire_blocking(&sem, g->n, VOLT_NO_DEADLINE)
                                 : volt_block_on(&g->future, VOLT_NO_DEADLINE);
  REQUIRE(result == VOLT_OK);
  wake_log_add(&order, g->name);
  (void)volt_fetch_add_release(&g->served, 1);
}

static void queue_on_sem(guest *g) {
  uint32_t before = volt_sem_waiters(&sem);
  volt_sem_acquire_future(&g->future, &sem, g->n);
  if (is_thread(g)) {
    thread_team_start(&g->team, 1, block_on_sem, g);
  } else if (g->kind == FUTURE) {
    assert_result(volt_future_poll(&g->future, fake_waker_of(&g->waker)), VOLT_PENDING);
  } else {
    assert_result(volt_sem_acquire(&sem, &g->waiter, g->n, fake_waker_of(&g->waker)), VOLT_PENDING);
  }
  WAIT_UNTIL(volt_sem_waiters(&sem) == before + 1);
}

static bool is_served(guest *g) {
  if (is_thread(g)) return volt_load_acquire(&g->served) != 0;
  if (g->kind == WAITER) return volt_waiter_result(&g->waiter) == VOLT_OK;
  return volt_future_poll(&g->future, fake_waker_of(&g->waker)) == VOLT_OK;
}

/* Threads need a moment to return; the others are served when the release returns. */
static void expect_served(guest *g) {
  if (is_thread(g)) {
    thread_team_join(&g->team);
  } else {
    assert_int_equal(fake_waker_calls(&g->waker), 1);
  }
  assert_true(is_served(g));
}

static void everybody_queues(uint32_t n_of(uint32_t)) {
  volt_sem_init(&sem, 0);
  wake_log_init(&order);
  for (uint32_t i = 0; i < GUESTS; i++) {
    begin(&guests[i], i, n_of(i));
    queue_on_sem(&guests[i]);
  }
}

static uint32_t one(uint32_t i) {
  (void)i;
  return 1;
}

static uint32_t several(uint32_t i) {
  return 1 + i * 5 % 4;
}

/* A permit at a time: each permit goes to the oldest, and when that has enough, only it returns. */
static void one_permit_after_the_other(uint32_t n_of(uint32_t)) {
  everybody_queues(n_of);
  for (uint32_t i = 0; i < GUESTS; i++) {
    for (uint32_t given = 0; given < guests[i].n; given++) {
      assert_int_equal(volt_sem_waiters(&sem), GUESTS - i);
      for (uint32_t j = i; j < GUESTS; j++) assert_false(is_served(&guests[j]));
      assert_result(volt_sem_try_acquire(&sem, 1), VOLT_EAGAIN);
      volt_sem_release(&sem, 1);
    }
    expect_served(&guests[i]);
  }
  assert_int_equal(volt_sem_waiters(&sem), 0);
  assert_int_equal(volt_sem_available(&sem), 0);
  volt_sem_destroy(&sem);
}

static void a_permit_each(void **state) {
  (void)state;
  one_permit_after_the_other(one);
}

static void requests_of_different_size(void **state) {
  (void)state;
  one_permit_after_the_other(several);
}

static void all_at_once(void **state) {
  (void)state;
  everybody_queues(several);
  uint32_t sum = 0;
  for (uint32_t i = 0; i < GUESTS; i++) sum += guests[i].n;
  volt_sem_release(&sem, sum + 1);
  for (uint32_t i = 0; i < GUESTS; i++) expect_served(&guests[i]);
  assert_int_equal(volt_sem_available(&sem), 1);
  volt_sem_destroy(&sem);
}

static void some_give_up(void **state) {
  (void)state;
  everybody_queues(one);
  volt_future_cancel(&guests[1].future);
  assert_true(volt_sem_cancel(&sem, &guests[4].waiter));
  for (uint32_t i = 0; i < GUESTS; i++) {
    if (i == 1 || i == 4) continue;
    volt_sem_release(&sem, 1);
    expect_served(&guests[i]);
    for (uint32_t j = i + 1; j < GUESTS; j++) {
      if (j != 1 && j != 4) assert_false(is_served(&guests[j]));
    }
  }
  assert_int_equal(fake_waker_calls(&guests[1].waker), 0);
  assert_int_equal(fake_waker_calls(&guests[4].waker), 0);
  assert_int_equal(volt_sem_waiters(&sem), 0);
  volt_sem_destroy(&sem);
}

/* ---- mutex: each one unlocks for the next, on its own thread ---- */

static fifo_check fifo;

static void lock_in_turn(void *arg, uint32_t index) {
  guest *g = (guest *)arg;
  (void)index;
  int result = g->kind == THREAD ? volt_mutex_lock_blocking(&mutex, VOLT_NO_DEADLINE)
                                 : volt_block_on(&g->future, VOLT_NO_DEADLINE);
  REQUIRE(result == VOLT_OK);
  fifo_check_serve(&fifo, g->name);
  volt_mutex_unlock(&mutex);
}

static void queue_on_mutex(guest *g) {
  uint32_t before = volt_mutex_waiters(&mutex);
  volt_mutex_lock_future(&g->future, &mutex);
  if (is_thread(g)) {
    thread_team_start(&g->team, 1, lock_in_turn, g);
  } else if (g->kind == FUTURE) {
    assert_result(volt_future_poll(&g->future, fake_waker_of(&g->waker)), VOLT_PENDING);
  } else {
    assert_result(volt_mutex_lock(&mutex, &g->waiter, fake_waker_of(&g->waker)), VOLT_PENDING);
  }
  WAIT_UNTIL(volt_mutex_waiters(&mutex) == before + 1);
}

static void a_mutex_goes_from_hand_to_hand(void **state) {
  (void)state;
  volt_mutex_init(&mutex);
  fifo_check_init(&fifo);
  assert_result(volt_mutex_try_lock(&mutex), VOLT_OK);
  for (uint32_t i = 0; i < GUESTS; i++) {
    begin(&guests[i], fifo_check_arrive(&fifo), 1);
    queue_on_mutex(&guests[i]);
  }
  volt_mutex_unlock(&mutex);
  for (uint32_t i = 0; i < GUESTS; i++) {
    guest *g = &guests[i];
    if (is_thread(g)) {
      thread_team_join(&g->team);
      continue;
    }
    WAIT_UNTIL(fake_waker_calls(&g->waker) == 1); /* a thread before it may still be at it */
    assert_true(is_served(g));
    fifo_check_serve(&fifo, g->name);
    volt_mutex_unlock(&mutex);
  }
  assert_false(volt_mutex_is_locked(&mutex));
  volt_mutex_destroy(&mutex);
}

/* ---- rwlock: threads and futures of both kinds ---- */

static void read_in_thread(void *arg, uint32_t index) {
  guest *g = (guest *)arg;
  (void)index;
  REQUIRE(volt_rwlock_read_blocking(&rw, VOLT_NO_DEADLINE) == VOLT_OK);
  (void)volt_fetch_add_release(&g->served, 1);
}

static void readers_of_both_kinds_are_admitted_together(void **state) {
  (void)state;
  volt_future writer;
  fake_waker waker;
  fake_waker_init(&waker, 0, NULL);
  volt_rwlock_init(&rw);
  assert_result(volt_rwlock_try_write(&rw), VOLT_OK);
  for (uint32_t i = 0; i < 4; i++) {
    begin(&guests[i], i, 1);
    guests[i].kind = i % 2 ? FUTURE : THREAD;
    if (is_thread(&guests[i])) {
      thread_team_start(&guests[i].team, 1, read_in_thread, &guests[i]);
    } else {
      volt_rwlock_read_future(&guests[i].future, &rw);
      assert_result(volt_future_poll(&guests[i].future, fake_waker_of(&guests[i].waker)),
                    VOLT_PENDING);
    }
    WAIT_UNTIL(volt_rwlock_waiters(&rw) == i + 1);
  }
  volt_rwlock_write_future(&writer, &rw);
  assert_result(volt_future_poll(&writer, fake_waker_of(&waker)), VOLT_PENDING);
  volt_rwlock_write_unlock(&rw);
  for (uint32_t i = 0; i < 4; i++) expect_served(&guests[i]);
  for (uint32_t i = 0; i < 4; i++) {
    assert_int_equal(fake_waker_calls(&waker), 0);
    volt_rwlock_read_unlock(&rw);
  }
  assert_result(volt_future_poll(&writer, fake_waker_of(&waker)), VOLT_OK);
  volt_rwlock_write_unlock(&rw);
  volt_rwlock_destroy(&rw);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_permit_each),
      cmocka_unit_test(requests_of_different_size),
      cmocka_unit_test(all_at_once),
      cmocka_unit_test(some_give_up),
      cmocka_unit_test(a_mutex_goes_from_hand_to_hand),
      cmocka_unit_test(readers_of_both_kinds_are_admitted_together),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
