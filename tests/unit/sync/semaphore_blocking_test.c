/* semaphore_blocking_test.c: threads that block: deadlines, grants, close, signals, errno.
 * ENGINE: all */
#define _GNU_SOURCE /* sigaction */
#include <errno.h>
#include <signal.h>

#include "crowd.h"
#include "ledger.h"
#include "sanitizer.h"
#include "thread_team.h"

static crowd c;

/* A thread that blocks for n permits. */
typedef struct blocker {
  uint32_t n;
  uint64_t deadline_ns;
  int result;
  VOLT_ATOMIC(uint32_t) returned;
} blocker;

static void block(void *arg, uint32_t index) {
  blocker *b = (blocker *)arg + index;
  b->result = engine_sem_acquire_until(&c.sem, b->n, b->deadline_ns);
  (void)volt_fetch_add_release(&b->returned, 1);
}

/* Start it and wait until it is queued, behind whoever is. */
static void start_blocker(thread_team *t, blocker *b, uint32_t n, uint64_t deadline_ns) {
  uint32_t before = engine_sem_waiters(&c.sem);
  b->n = n;
  b->deadline_ns = deadline_ns;
  b->result = VOLT_PENDING;
  volt_store_relaxed(&b->returned, 0);
  thread_team_start(t, 1, block, b);
  WAIT_UNTIL(engine_sem_waiters(&c.sem) == before + 1);
}

static bool has_returned(blocker *b) {
  return volt_load_acquire(&b->returned) != 0;
}

/* ---- deadlines ---- */

static void takes_at_once_whatever_the_deadline(void **state) {
  (void)state;
  crowd_init(&c, 3);
  assert_result(engine_sem_acquire_until(&c.sem, 1, 0), VOLT_OK);
  assert_result(engine_sem_acquire_until(&c.sem, 1, PAST_DEADLINE), VOLT_OK);
  assert_result(engine_sem_acquire_until(&c.sem, 1, VOLT_NO_DEADLINE), VOLT_OK);
  crowd_destroy(&c, 0);
}

static void a_deadline_in_the_past(void **state) {
  (void)state;
  const uint64_t deadlines[] = {PAST_DEADLINE, volt_now_ns() - 1, volt_now_ns()};
  for (size_t i = 0; i < sizeof deadlines / sizeof deadlines[0]; i++) {
    crowd_init(&c, 2);
    assert_result(engine_sem_acquire_until(&c.sem, 3, deadlines[i]), VOLT_ETIMEDOUT);
    crowd_destroy(&c, 2); /* nothing taken */
  }
}

static void a_deadline_is_reached(void **state) {
  (void)state;
  crowd_init(&c, 0);
  uint64_t deadline_ns = volt_deadline_ns(200000);
  assert_result(engine_sem_acquire_until(&c.sem, 1, deadline_ns), VOLT_ETIMEDOUT);
  assert_true(volt_now_ns() >= deadline_ns);
  crowd_destroy(&c, 0);
}

/* ---- grants ---- */

static void granted_by_another_thread(void **state) {
  (void)state;
  const uint64_t deadlines[] = {VOLT_NO_DEADLINE, volt_deadline_ns(UINT64_C(3600000000000))};
  for (size_t i = 0; i < 2; i++) {
    thread_team t;
    blocker b;
    crowd_init(&c, 0);
    start_blocker(&t, &b, 3, deadlines[i]);
    engine_sem_release(&c.sem, 2);
    assert_false(has_returned(&b));
    assert_int_equal(engine_sem_waiters(&c.sem), 1);
    engine_sem_release(&c.sem, 1);
    thread_team_join(&t);
    assert_result(b.result, VOLT_OK);
    crowd_destroy(&c, 0);
  }
}

static void a_blocked_thread_is_told_of_close(void **state) {
  (void)state;
  thread_team t[3];
  blocker b[3];
  crowd_init(&c, 1);
  for (int i = 0; i < 3; i++) start_blocker(&t[i], &b[i], 2, VOLT_NO_DEADLINE);
  engine_sem_close(&c.sem);
  for (int i = 0; i < 3; i++) {
    thread_team_join(&t[i]);
    assert_result(b[i].result, VOLT_ECLOSED);
  }
  crowd_destroy(&c, 1);
}

/* A plain variable, written before the release, is read after the acquire: no tool may complain. */
static uint32_t message;

static void send_message(void *arg, uint32_t index) {
  (void)arg;
  (void)index;
  message = 42;
  engine_sem_release(&c.sem, 1);
}

static void a_grant_carries_the_past(void **state) {
  (void)state;
  for (int i = 0; i < 100; i++) {
    thread_team t;
    crowd_init(&c, 0);
    message = 0;
    thread_team_start(&t, 1, send_message, NULL);
    assert_result(engine_sem_acquire_until(&c.sem, 1, VOLT_NO_DEADLINE), VOLT_OK);
    assert_int_equal(message, 42);
    thread_team_join(&t);
    crowd_destroy(&c, 0);
  }
}

static void a_result_carries_the_past(void **state) {
  (void)state;
  for (int i = 0; i < 100; i++) {
    thread_team t;
    crowd_init(&c, 0);
    message = 0;
    crowd_queue(&c, 0, 1);
    thread_team_start(&t, 1, send_message, NULL);
    WAIT_UNTIL(crowd_result(&c, 0) != VOLT_PENDING);
    assert_int_equal(message, 42);
    thread_team_join(&t);
    crowd_expect(&c, 0, VOLT_OK, 1);
    crowd_destroy(&c, 0);
  }
}

/* ---- many threads ---- */

static ledger books;

static void take_and_give(void *arg, uint32_t index) {
  (void)arg;
  for (uint32_t i = 0; i < 500; i++) {
    uint32_t n = 1 + (i + index) % 3;
    REQUIRE(engine_sem_acquire_until(&c.sem, n, VOLT_NO_DEADLINE) == VOLT_OK);
    ledger_take(&books, n);
    ledger_give(&books, n);
    engine_sem_release(&c.sem, n);
  }
}

static void permits_are_conserved(void **state) {
  (void)state;
  crowd_init(&c, 3);
  ledger_init(&books, 3);
  thread_team_run(4, take_and_give, NULL);
  assert_int_equal(ledger_held(&books), 0);
  crowd_destroy(&c, 3);
}

/* ---- signals ---- */

enum { SIGNALS = 300 };
static VOLT_ATOMIC(uint32_t) signals_handled;

static void on_signal(int number) {
  (void)number;
  (void)volt_fetch_add_release(&signals_handled, 1);
}

/* Interrupt the blocked thread often. Under the thread sanitizer a handler runs when the thread
 * next calls into it, which a blocked thread does not: there, only send. */
static void pelt_with_signals(thread_team *t) {
  for (uint32_t i = 0; i < SIGNALS; i++) {
    uint32_t before = volt_load_acquire(&signals_handled);
    thread_team_signal(t, SIGUSR1);
    if (!UNDER_TSAN) WAIT_UNTIL(volt_load_acquire(&signals_handled) != before);
  }
}

static void signals_do_not_end_a_wait(void **state) {
  (void)state;
  struct sigaction action;
  struct sigaction old;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_signal; /* no SA_RESTART: system calls return EINTR */
  assert_int_equal(sigaction(SIGUSR1, &action, &old), 0);
  const uint64_t deadlines[] = {VOLT_NO_DEADLINE, volt_deadline_ns(UINT64_C(3600000000000))};
  for (size_t i = 0; i < 2; i++) {
    thread_team t;
    blocker b;
    crowd_init(&c, 0);
    start_blocker(&t, &b, 1, deadlines[i]);
    pelt_with_signals(&t);
    assert_false(has_returned(&b));
    assert_int_equal(engine_sem_waiters(&c.sem), 1);
    engine_sem_release(&c.sem, 1);
    thread_team_join(&t);
    assert_result(b.result, VOLT_OK);
    crowd_destroy(&c, 0);
  }
  assert_int_equal(sigaction(SIGUSR1, &old, NULL), 0);
}

/* ---- errno ---- */

enum { UNTOUCHED = 4711 };

static void errno_is_never_set(void **state) {
  (void)state;
  crowd_init(&c, 2);
  errno = UNTOUCHED;
  assert_result(engine_sem_try_acquire(&c.sem, 3), VOLT_EAGAIN);
  assert_result(engine_sem_acquire_until(&c.sem, 3, PAST_DEADLINE), VOLT_ETIMEDOUT);
  assert_result(engine_sem_acquire_until(&c.sem, 3, volt_deadline_ns(100000)), VOLT_ETIMEDOUT);
  assert_result(engine_sem_acquire_until(&c.sem, VOLT_SEM_MAX + 1, PAST_DEADLINE), VOLT_EINVAL);
  (void)crowd_ask(&c, 0, VOLT_SEM_MAX + 1);
  (void)crowd_ask(&c, 0, 3);
  (void)crowd_ask(&c, 1, 1);
  assert_true(engine_sem_set_waker(&c.sem, &c.waiters[1], hostile_waker_of(&c.wakers[1])));
  (void)crowd_cancel(&c, 0);
  engine_sem_release(&c.sem, 1);
  engine_sem_close(&c.sem);
  assert_result(engine_sem_acquire_until(&c.sem, 1, PAST_DEADLINE), VOLT_ECLOSED);
  (void)engine_sem_available(&c.sem);
  (void)engine_sem_waiters(&c.sem);
  engine_sem_destroy(&c.sem);
  assert_int_equal(errno, UNTOUCHED);
}

static void keep_errno(void *arg, uint32_t index) {
  errno = UNTOUCHED;
  block(arg, index);
  REQUIRE(errno == UNTOUCHED);
}

static void errno_survives_a_sleep(void **state) {
  (void)state;
  thread_team t;
  blocker b = {1, VOLT_NO_DEADLINE, VOLT_PENDING, 0};
  crowd_init(&c, 0);
  thread_team_start(&t, 1, keep_errno, &b);
  WAIT_UNTIL(engine_sem_waiters(&c.sem) == 1);
  errno = UNTOUCHED;
  engine_sem_release(&c.sem, 1);
  assert_int_equal(errno, UNTOUCHED);
  thread_team_join(&t);
  assert_result(b.result, VOLT_OK);
  crowd_destroy(&c, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(takes_at_once_whatever_the_deadline),
      cmocka_unit_test(a_deadline_in_the_past),
      cmocka_unit_test(a_deadline_is_reached),
      cmocka_unit_test(granted_by_another_thread),
      cmocka_unit_test(a_blocked_thread_is_told_of_close),
      cmocka_unit_test(a_grant_carries_the_past),
      cmocka_unit_test(a_result_carries_the_past),
      cmocka_unit_test(permits_are_conserved),
      cmocka_unit_test(signals_do_not_end_a_wait),
      cmocka_unit_test(errno_is_never_set),
      cmocka_unit_test(errno_survives_a_sleep),
  };
  return cmocka_run_group_tests_name("blocking on " ENGINE_NAME, tests, NULL, NULL);
}
