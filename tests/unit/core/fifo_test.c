/* fifo_test.c: one FIFO for threads that block, futures that are polled by hand, and bare waiters: the
 * first to come is the first to be served, whatever it is. Then threads that meet at its lock. */
#include <errno.h>

#include "core/park/spin.h"
#include "core/wait/permits.h"
#include "fake_waker.h"
#include "futex_hook.h"
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
  int result = g->kind == THREAD ? volt_sem_acquire(&sem, g->n) : volt_future_wait(&g->future);
  REQUIRE(result == VOLT_OK);
  wake_log_add(&order, g->name);
  (void)volt_fetch_add_release(&g->served, 1);
}

static void queue_on_sem(guest *g) {
  uint32_t before = volt_sem_waiters(&sem);
  volt_future_made(volt_sem_acquire_future(&g->future, &sem, g->n));
  if (is_thread(g)) {
    thread_team_start(&g->team, 1, block_on_sem, g);
  } else if (g->kind == FUTURE) {
    assert_result(volt_future_poll(&g->future, fake_waker_of(&g->waker)), VOLT_PENDING);
  } else {
    assert_result(volt_sem_acquire_waiter(&sem, &g->waiter, g->n, fake_waker_of(&g->waker)),
                  VOLT_PENDING);
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
  int result = g->kind == THREAD ? volt_mutex_lock_until(&mutex, VOLT_NO_DEADLINE)
                                 : volt_future_wait(&g->future);
  REQUIRE(result == VOLT_OK);
  fifo_check_serve(&fifo, g->name);
  volt_mutex_unlock(&mutex);
}

static void queue_on_mutex(guest *g) {
  uint32_t before = volt_mutex_waiters(&mutex);
  volt_future_made(volt_mutex_lock_future(&g->future, &mutex));
  if (is_thread(g)) {
    thread_team_start(&g->team, 1, lock_in_turn, g);
  } else if (g->kind == FUTURE) {
    assert_result(volt_future_poll(&g->future, fake_waker_of(&g->waker)), VOLT_PENDING);
  } else {
    assert_result(volt_mutex_lock_waiter(&mutex, &g->waiter, fake_waker_of(&g->waker)),
                  VOLT_PENDING);
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
  REQUIRE(volt_rwlock_read_until(&rw, VOLT_NO_DEADLINE) == VOLT_OK);
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
      volt_future_made(volt_rwlock_read_future(&guests[i].future, &rw));
      assert_result(volt_future_poll(&guests[i].future, fake_waker_of(&guests[i].waker)),
                    VOLT_PENDING);
    }
    WAIT_UNTIL(volt_rwlock_waiters(&rw) == i + 1);
  }
  volt_future_made(volt_rwlock_write_future(&writer, &rw));
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

/* ==== threads that meet at the lock, or between claim and grant, and nap there ====
 *
 * The other thread is played by a hook on the futex. */

#define QUEUED VOLT_WORD_QUEUED_
#define LOCKED VOLT_WORD_LOCKED_

static const volt_permit_kind_ kind = {
    .kind = VOLT_KIND_SEMAPHORE_, .excess = "too much", .max = 1000, .serve = volt_permits_serve_};

static volt_fifo_ q;
static volt_waiter w;
static fake_waker waker;

/* What happens while the thread under test sleeps. */
struct other {
  void (*act)(void);
  futex_outcome outcome;
  uint32_t waits;
  uint32_t wakes;
  futex_call last_wait;
  futex_call last_wake;
  struct timespec timeout;
};

static struct other other;

static futex_outcome play(void *arg, const futex_call *call) {
  (void)arg;
  if (!call->is_wait) {
    other.wakes += 1;
    other.last_wake = *call;
    return FUTEX_RETURN_0;
  }
  other.waits += 1;
  other.last_wait = *call;
  if (call->timeout) other.timeout = *call->timeout;
  if (other.act) other.act();
  return other.outcome;
}

static void other_does(void (*act)(void), futex_outcome outcome) {
  memset(&other, 0, sizeof other);
  other.act = act;
  other.outcome = outcome;
  futex_hook_set(play, NULL);
}

static void set_word(uint64_t word) {
  volt_store_relaxed(&q.word, word);
}

static int ask(uint32_t n) {
  return volt_permits_acquire_(&q, &kind, &w, n, fake_waker_of(&waker));
}

/* w waits for two permits. */
static int set_up(void **state) {
  (void)state;
  volt_fifo_init_(&q, 0);
  memset(&w, 0, sizeof w);
  fake_waker_init(&waker, 0, NULL);
  return ask(2) == VOLT_PENDING ? 0 : -1;
}

static int tear_down(void **state) {
  (void)state;
  futex_hook_set(NULL, NULL);
  return 0;
}

/* ---- the lock ---- */

static void leave_the_lock(void) {
  set_word(QUEUED);
}

static void serve_and_leave_the_lock(void) {
  q.head = NULL;
  q.tail = NULL;
  q.waiters = 0;
  set_word(VOLT_WORD_(4));
}

static void no_system_call_without_a_meeting(void **state) {
  (void)state;
  other_does(NULL, FUTEX_REAL);
  volt_permits_release_(&q, &kind, 3);
  assert_result(ask(1), VOLT_OK);
  assert_result(ask(1), VOLT_PENDING);
  assert_int_equal(volt_fifo_count_(&q), 1);
  assert_true(volt_fifo_set_waker_(&q, kind.kind, &w, fake_waker_of(&waker)));
  assert_true(volt_permits_cancel_(&q, &kind, &w));
  volt_permits_close_(&q, &kind);
  volt_permits_destroy_(&q, &kind);
  assert_int_equal(other.waits, 0);
  assert_int_equal(other.wakes, 0);
}

/* On a word of its own, which nobody wakes; not for long. */
static void expect_naps(uint32_t naps) {
  assert_int_equal(other.waits, naps);
  assert_int_equal(other.wakes, 0);
  const char *address = (const char *)other.last_wait.address;
  assert_true(address < (char *)&q || address >= (char *)(&q + 1));
  assert_non_null(other.last_wait.timeout);
  uint64_t until_ns =
      (uint64_t)other.timeout.tv_sec * 1000000000u + (uint64_t)other.timeout.tv_nsec;
  assert_true(until_ns <= volt_now_ns() + VOLT_NAP_NS);
}

static void who_finds_it_locked_naps(void **state) {
  (void)state;
  const futex_outcome outcomes[] = {FUTEX_RETURN_0, FUTEX_EINTR, FUTEX_EAGAIN, FUTEX_ETIMEDOUT};
  for (int i = 0; i < 4; i++) {
    set_word(QUEUED | LOCKED);
    other_does(leave_the_lock, outcomes[i]);
    errno = 4711;
    assert_int_equal(volt_fifo_count_(&q), 1);
    assert_int_equal(errno, 4711);
    expect_naps(1);
    assert_int_equal(volt_load_acquire(&q.word), QUEUED);
  }
}

static void leave_the_lock_at_last(void) {
  if (other.waits == 3) leave_the_lock();
}

static void who_finds_it_still_locked_naps_again(void **state) {
  (void)state;
  set_word(QUEUED | LOCKED);
  other_does(leave_the_lock_at_last, FUTEX_ETIMEDOUT);
  volt_permits_release_(&q, &kind, 2);
  expect_naps(3);
  assert_result(volt_waiter_result(&w), VOLT_OK);
}

static void who_finds_nobody_queued_takes_no_lock(void **state) {
  (void)state;
  set_word(QUEUED | LOCKED);
  other_does(serve_and_leave_the_lock, FUTEX_ETIMEDOUT);
  volt_permits_release_(&q, &kind, 1); /* the fast path after all */
  expect_naps(1);
  assert_int_equal(volt_load_acquire(&q.word), VOLT_WORD_(5));
}

static void an_acquirer_that_napped_takes_what_is_there(void **state) {
  (void)state;
  volt_waiter late = VOLT_WAITER_INIT;
  set_word(QUEUED | LOCKED);
  other_does(serve_and_leave_the_lock, FUTEX_RETURN_0);
  int result = volt_permits_acquire_(&q, &kind, &late, 3, fake_waker_of(&waker));
  assert_result(result, VOLT_OK);
  expect_naps(1);
  assert_int_equal(volt_load_acquire(&q.word), VOLT_WORD_(1));
}

static void close_and_leave_the_lock(void) {
  serve_and_leave_the_lock();
  set_word(VOLT_WORD_(4) | VOLT_WORD_CLOSED_);
}

static void an_acquirer_that_napped_is_told_of_close(void **state) {
  (void)state;
  volt_waiter late = VOLT_WAITER_INIT;
  set_word(QUEUED | LOCKED);
  other_does(close_and_leave_the_lock, FUTEX_RETURN_0);
  int result = volt_permits_acquire_(&q, &kind, &late, 3, fake_waker_of(&waker));
  assert_result(result, VOLT_ECLOSED);
  assert_result(volt_waiter_result(&late), VOLT_ECANCELED);
  assert_int_equal(volt_load_acquire(&q.word), VOLT_WORD_(4) | VOLT_WORD_CLOSED_);
}

/* Between two batches of close() somebody is still queued, but nobody can join them. */
static void an_acquirer_between_two_batches_of_close(void **state) {
  (void)state;
  volt_waiter late = VOLT_WAITER_INIT;
  set_word(QUEUED | VOLT_WORD_CLOSED_);
  int result = volt_permits_acquire_(&q, &kind, &late, 1, fake_waker_of(&waker));
  assert_result(result, VOLT_ECLOSED);
  assert_result(volt_waiter_result(&late), VOLT_ECANCELED);
  assert_int_equal(q.waiters, 1);
  assert_int_equal(volt_load_acquire(&q.word), QUEUED | VOLT_WORD_CLOSED_);
}

/* ---- between claim and grant ---- */

static void grant_it(void) {
  volt_store_relaxed(&w.state, VOLT_WAITER_GRANTED_);
}

static void close_it(void) {
  volt_store_relaxed(&w.state, VOLT_WAITER_CLOSED_);
}

/* A releaser has taken w off the FIFO and not yet told it; others may still be queued. */
static void claim_it(uint64_t word) {
  q.head = NULL;
  q.tail = NULL;
  q.waiters = 0;
  w.need = 0;
  set_word(word);
}

static void cancel_waits_for_the_grant(void **state) {
  (void)state;
  const uint64_t words[] = {0, VOLT_WORD_(3), VOLT_WORD_CLOSED_};
  for (int i = 0; i < 3; i++) {
    claim_it(words[i]);
    volt_store_relaxed(&w.state, VOLT_WAITER_PENDING_);
    other_does(i == 2 ? close_it : grant_it, FUTEX_RETURN_0);
    assert_false(volt_permits_cancel_(&q, &kind, &w));
    assert_int_equal(other.waits, 1);
    assert_ptr_equal(other.last_wait.address, &w.state);
    assert_int_equal(other.last_wait.value, VOLT_WAITER_AWAITED_);
    assert_result(volt_waiter_result(&w), i == 2 ? VOLT_ECLOSED : VOLT_OK);
    assert_int_equal(volt_load_acquire(&q.word), words[i]);
  }
}

static void cancel_waits_for_the_grant_while_others_queue(void **state) {
  (void)state;
  volt_waiter next = VOLT_WAITER_INIT;
  claim_it(0);
  assert_result(volt_permits_acquire_(&q, &kind, &next, 2, fake_waker_of(&waker)), VOLT_PENDING);
  other_does(grant_it, FUTEX_EINTR);
  assert_false(volt_permits_cancel_(&q, &kind, &w));
  assert_int_equal(other.waits, 1);
  assert_int_equal(volt_load_acquire(&q.word), QUEUED); /* the lock was left */
  assert_int_equal(volt_fifo_count_(&q), 1);
  assert_result(volt_waiter_result(&next), VOLT_PENDING);
}

static void set_waker_waits_for_the_grant(void **state) {
  (void)state;
  fake_waker late;
  fake_waker_init(&late, 1, NULL);
  claim_it(0);
  other_does(grant_it, FUTEX_RETURN_0);
  assert_false(volt_fifo_set_waker_(&q, kind.kind, &w, fake_waker_of(&late)));
  assert_int_equal(other.waits, 1);
  assert_result(volt_waiter_result(&w), VOLT_OK);
  assert_ptr_equal(w.ctx, &waker); /* the copy that was taken is the one that is called */
}

static void grant_at_the_third_look(void) {
  if (other.waits == 3) grant_it();
}

static void an_awaiting_owner_survives_wakes_for_nothing(void **state) {
  (void)state;
  claim_it(0);
  other_does(grant_at_the_third_look, FUTEX_EINTR);
  assert_result(volt_waiter_await_(&w), VOLT_OK);
  assert_int_equal(other.waits, 3);
}

static void a_grant_wakes_the_awaiting_owner(void **state) {
  (void)state;
  other_does(NULL, FUTEX_REAL);
  volt_store_relaxed(&w.state, VOLT_WAITER_AWAITED_);
  assert_result(volt_waiter_result(&w), VOLT_PENDING);
  volt_permits_release_(&q, &kind, 2);
  assert_int_equal(other.wakes, 1);
  assert_ptr_equal(other.last_wake.address, &w.state);
  assert_result(volt_waiter_result(&w), VOLT_OK);
  assert_int_equal(fake_waker_calls(&waker), 1);
}

/* ---- destroy ---- */

static void come_back(void) {
  if (other.waits == 2) set_word(0);
}

/* A release that is calling the wakers of a batch will come back. */
static void destroy_waits_for_a_release_on_its_way_back(void **state) {
  (void)state;
  assert_true(volt_permits_cancel_(&q, &kind, &w));
  set_word(VOLT_WORD_RETURNING_);
  other_does(come_back, FUTEX_ETIMEDOUT);
  volt_permits_destroy_(&q, &kind);
  expect_naps(2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_permit_each),
      cmocka_unit_test(requests_of_different_size),
      cmocka_unit_test(all_at_once),
      cmocka_unit_test(some_give_up),
      cmocka_unit_test(a_mutex_goes_from_hand_to_hand),
      cmocka_unit_test(readers_of_both_kinds_are_admitted_together),
      cmocka_unit_test_setup_teardown(no_system_call_without_a_meeting, set_up, tear_down),
      cmocka_unit_test_setup_teardown(who_finds_it_locked_naps, set_up, tear_down),
      cmocka_unit_test_setup_teardown(who_finds_it_still_locked_naps_again, set_up, tear_down),
      cmocka_unit_test_setup_teardown(who_finds_nobody_queued_takes_no_lock, set_up, tear_down),
      cmocka_unit_test_setup_teardown(an_acquirer_that_napped_takes_what_is_there, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(an_acquirer_that_napped_is_told_of_close, set_up, tear_down),
      cmocka_unit_test_setup_teardown(an_acquirer_between_two_batches_of_close, set_up, tear_down),
      cmocka_unit_test_setup_teardown(cancel_waits_for_the_grant, set_up, tear_down),
      cmocka_unit_test_setup_teardown(cancel_waits_for_the_grant_while_others_queue, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(set_waker_waits_for_the_grant, set_up, tear_down),
      cmocka_unit_test_setup_teardown(an_awaiting_owner_survives_wakes_for_nothing, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(a_grant_wakes_the_awaiting_owner, set_up, tear_down),
      cmocka_unit_test_setup_teardown(destroy_waits_for_a_release_on_its_way_back, set_up,
                                      tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
