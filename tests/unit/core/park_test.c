/* park_test.c: block a thread, and every way the kernel can answer. The futex is played by a hook:
 * "the thread sleeps, and meanwhile ..." happens inside the call. */
#define _GNU_SOURCE /* sigaction, pthread_kill */
#include "core/park/spin.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include "core/os/futex.h"
#include "fake_waker.h"
#include "futex_hook.h"
#include "require.h"
#include "thread_team.h"
#include "unit.h"

enum { AN_HOUR = 3600 };
#define IN_AN_HOUR volt_deadline_ns(UINT64_C(1000000000) * AN_HOUR)

/* What the hook answers, call after call; the last answer is given again and again. */
struct script {
  futex_outcome answers[4];
  uint32_t count;
  uint32_t unpark_at; /* the wait during which the thread is unparked, from 1; 0: none */
  volt_parker *parker;
  uint32_t waits;
  uint32_t wakes;
  futex_call last_wait;
  struct timespec last_timeout;
};

static futex_outcome play(void *arg, const futex_call *call) {
  struct script *s = (struct script *)arg;
  if (!call->is_wait) {
    s->wakes += 1;
    return FUTEX_RETURN_0;
  }
  s->waits += 1;
  s->last_wait = *call;
  if (call->timeout) s->last_timeout = *call->timeout;
  if (s->waits == s->unpark_at) volt_unpark(s->parker);
  uint32_t at = s->waits - 1 < s->count ? s->waits - 1 : s->count - 1;
  return s->answers[at];
}

static int park_with(struct script *s, uint32_t unparks, uint64_t deadline_ns) {
  futex_hook_set(play, s);
  int result = volt_park_until(s->parker, unparks, deadline_ns);
  futex_hook_set(NULL, NULL);
  return result;
}

/* ---- without sleeping ---- */

static void unparked_before(void **state) {
  (void)state;
  volt_parker p = {0};
  struct script s = {{FUTEX_REAL}, 1, 0, &p, 0, 0, {0}, {0}};
  futex_hook_set(play, &s);
  volt_unpark(&p);
  futex_hook_set(NULL, NULL);
  assert_int_equal(s.wakes, 0); /* nobody slept: no system call */
  assert_result(park_with(&s, 1, VOLT_NO_DEADLINE), VOLT_OK);
  assert_result(park_with(&s, 1, PAST_DEADLINE), VOLT_OK); /* it counts from init on */
  assert_int_equal(s.waits, 0);
}

static void unparks_are_counted(void **state) {
  (void)state;
  volt_parker p = {0};
  for (int i = 0; i < 3; i++) volt_unpark(&p);
  assert_result(volt_park_until(&p, 3, VOLT_NO_DEADLINE), VOLT_OK);
  assert_result(volt_park_until(&p, 4, PAST_DEADLINE), VOLT_ETIMEDOUT);
  volt_unpark(&p);
  assert_result(volt_park_until(&p, 4, VOLT_NO_DEADLINE), VOLT_OK);
}

/* Counts are compared as those of a clock that goes round. */
static void the_count_goes_round(void **state) {
  (void)state;
  volt_parker p = {0};
  const uint32_t last = UINT32_MAX / VOLT_PARKER_UNPARK_; /* the most that 30 bits hold */
  volt_store_relaxed(&p.word, (last - 1) * VOLT_PARKER_UNPARK_);
  assert_result(volt_park_until(&p, last, PAST_DEADLINE), VOLT_ETIMEDOUT);
  volt_unpark(&p);
  assert_result(volt_park_until(&p, last, PAST_DEADLINE), VOLT_OK);
  for (uint32_t unparks = last + 1; unparks < last + 4; unparks++) {
    assert_result(volt_park_until(&p, unparks, PAST_DEADLINE), VOLT_ETIMEDOUT);
    volt_unpark(&p);
    assert_result(volt_park_until(&p, unparks, PAST_DEADLINE), VOLT_OK);
    assert_result(volt_park_until(&p, last, PAST_DEADLINE), VOLT_OK);
  }
}

static void the_waker_unparks(void **state) {
  (void)state;
  volt_parker p = {0};
  volt_waker waker = volt_parker_waker(&p);
  assert_ptr_equal(waker.ctx, &p);
  waker.wake(waker.ctx);
  assert_result(volt_park_until(&p, 1, PAST_DEADLINE), VOLT_OK);
  assert_result(volt_park_until(&p, 2, PAST_DEADLINE), VOLT_ETIMEDOUT);
}

static void a_deadline_in_the_past(void **state) {
  (void)state;
  volt_parker p = {0};
  assert_result(volt_park_until(&p, 1, 0), VOLT_ETIMEDOUT);
  assert_result(volt_park_until(&p, 1, PAST_DEADLINE), VOLT_ETIMEDOUT);
  assert_result(volt_park_until(&p, 1, volt_now_ns()), VOLT_ETIMEDOUT);
}

static void a_deadline_is_reached(void **state) {
  (void)state;
  volt_parker p = {0};
  uint64_t deadline_ns = volt_deadline_ns(300000);
  assert_result(volt_park_until(&p, 1, deadline_ns), VOLT_ETIMEDOUT);
  assert_true(volt_now_ns() >= deadline_ns);
}

/* ---- what the kernel may answer ---- */

static void woken_for_no_reason(void **state) {
  (void)state;
  const futex_outcome reasons[] = {FUTEX_RETURN_0, FUTEX_EINTR, FUTEX_EAGAIN};
  for (int i = 0; i < 3; i++) {
    const uint64_t deadlines[] = {VOLT_NO_DEADLINE, IN_AN_HOUR};
    for (int j = 0; j < 2; j++) {
      volt_parker p = {0};
      struct script s = {{reasons[i]}, 1, 5, &p, 0, 0, {0}, {0}};
      errno = 4711;
      assert_result(park_with(&s, 1, deadlines[j]), VOLT_OK);
      assert_int_equal(errno, 4711);
      assert_int_equal(s.waits, 5); /* back to sleep four times */
      assert_int_equal(s.wakes, 1);
    }
  }
}

static void one_unpark_of_two(void **state) {
  (void)state;
  volt_parker p = {0};
  struct script s = {{FUTEX_RETURN_0, FUTEX_RETURN_0, FUTEX_ETIMEDOUT}, 3, 1, &p, 0, 0, {0}, {0}};
  assert_result(park_with(&s, 2, IN_AN_HOUR), VOLT_ETIMEDOUT);
  assert_int_equal(s.waits, 3);
}

static void unparked_in_the_last_moment(void **state) {
  (void)state;
  volt_parker p = {0};
  struct script s = {{FUTEX_ETIMEDOUT}, 1, 1, &p, 0, 0, {0}, {0}};
  errno = 4711;
  assert_result(park_with(&s, 1, IN_AN_HOUR), VOLT_OK);
  assert_int_equal(errno, 4711);
  assert_int_equal(s.waits, 1);
}

static void timed_out(void **state) {
  (void)state;
  volt_parker p = {0};
  struct script s = {{FUTEX_EINTR, FUTEX_ETIMEDOUT}, 2, 0, &p, 0, 0, {0}, {0}};
  errno = 4711;
  assert_result(park_with(&s, 1, IN_AN_HOUR), VOLT_ETIMEDOUT);
  assert_int_equal(errno, 4711);
  assert_int_equal(s.waits, 2);
}

/* The kernel is given the word, what it was seen to hold, and the absolute deadline each time. */
static void what_the_kernel_is_told(void **state) {
  (void)state;
  volt_parker p = {0};
  struct script s = {{FUTEX_EINTR}, 1, 3, &p, 0, 0, {0}, {0}};
  uint64_t deadline_ns = IN_AN_HOUR;
  assert_result(park_with(&s, 1, deadline_ns), VOLT_OK);
  assert_ptr_equal(s.last_wait.address, &p.word);
  assert_int_equal(s.last_wait.value, 1); /* parked, no unparks */
  assert_int_equal(s.last_timeout.tv_sec, deadline_ns / 1000000000u);
  assert_int_equal(s.last_timeout.tv_nsec, deadline_ns % 1000000000u);

  volt_parker q = {0};
  struct script forever = {{FUTEX_EINTR}, 1, 1, &q, 0, 0, {0}, {0}};
  assert_result(park_with(&forever, 1, VOLT_NO_DEADLINE), VOLT_OK);
  assert_null(forever.last_wait.timeout);
}

/* ---- a list of threads to wake ---- */

enum { CROWD = VOLT_UNPARK_LIST_MAX + 3, PARKED = 1 };

/* The wakes that the kernel was asked for, in order. */
struct wakes {
  uint32_t count;
  uint32_t *addresses[2 * CROWD];
};

static futex_outcome note_wake(void *arg, const futex_call *call) {
  struct wakes *s = (struct wakes *)arg;
  REQUIRE(!call->is_wait && call->value == 1 && s->count < 2 * CROWD);
  s->addresses[s->count++] = call->address;
  return FUTEX_RETURN_0;
}

static volt_parker crowd[CROWD];
static volt_unpark_list list;
static struct wakes wakes;

/* All of the crowd look like threads that sleep. */
static int set_up_crowd(void **state) {
  (void)state;
  for (int i = 0; i < CROWD; i++) volt_store_relaxed(&crowd[i].word, PARKED);
  list.count = 0;
  wakes.count = 0;
  futex_hook_set(note_wake, &wakes);
  return 0;
}

static int tear_down_crowd(void **state) {
  (void)state;
  futex_hook_set(NULL, NULL);
  return 0;
}

static void expect_wakes(uint32_t count) {
  assert_int_equal(wakes.count, count);
  for (uint32_t i = 0; i < count; i++) assert_ptr_equal(wakes.addresses[i], &crowd[i].word);
}

static void who_still_looks_goes_on_at_once(void **state) {
  (void)state;
  volt_parker p = {0};
  volt_unpark_later(&p, &list);
  assert_result(volt_park_until(&p, 1, PAST_DEADLINE), VOLT_OK); /* before the list is woken */
  memset((void *)&p, 0xa5, sizeof p);                            /* and has gone */
  volt_unpark_all(&list);
  expect_wakes(0);
}

static void who_sleeps_is_woken_with_the_list(void **state) {
  (void)state;
  for (int i = 0; i < 3; i++) volt_unpark_later(&crowd[i], &list);
  expect_wakes(0);
  for (int i = 0; i < 3; i++) { /* counted now */
    assert_result(volt_park_until(&crowd[i], 1, PAST_DEADLINE), VOLT_OK);
  }
  volt_unpark_all(&list);
  expect_wakes(3); /* one each, in the order of the unparks */
  volt_unpark_all(&list);
  expect_wakes(3); /* it is empty */
}

static void an_empty_list(void **state) {
  (void)state;
  volt_unpark_all(&list);
  expect_wakes(0);
}

static void a_full_list_is_woken_first(void **state) {
  (void)state;
  for (int i = 0; i < VOLT_UNPARK_LIST_MAX; i++) volt_unpark_later(&crowd[i], &list);
  expect_wakes(0);
  volt_unpark_later(&crowd[VOLT_UNPARK_LIST_MAX], &list);
  expect_wakes(VOLT_UNPARK_LIST_MAX); /* not the new one */
  for (int i = VOLT_UNPARK_LIST_MAX + 1; i < CROWD; i++) volt_unpark_later(&crowd[i], &list);
  expect_wakes(VOLT_UNPARK_LIST_MAX);
  volt_unpark_all(&list);
  expect_wakes(CROWD);
}

/* A fiber has no futex. Those of the full list are woken, and the list has a thread in the first place. */
static void a_full_list_forgets_who_was_a_fiber(void **state) {
  (void)state;
  for (int i = 0; i < VOLT_UNPARK_LIST_MAX; i++) {
    volt_store_relaxed(&crowd[i].word, VOLT_PARKER_SUSPENDED_);
    volt_unpark_later(&crowd[i], &list);
  }
  volt_unpark_later(&crowd[VOLT_UNPARK_LIST_MAX], &list);
  expect_wakes(0);
  volt_unpark_all(&list);
  assert_int_equal(wakes.count, 1);
  assert_ptr_equal(wakes.addresses[0], &crowd[VOLT_UNPARK_LIST_MAX].word);
}

/* ---- with threads ---- */

static volt_parker sleeper;
static uint32_t message;

static void write_and_unpark(void *arg, uint32_t index) {
  (void)arg;
  (void)index;
  message = 42;
  volt_unpark(&sleeper);
}

static void an_unpark_carries_the_past(void **state) {
  (void)state;
  for (int i = 0; i < 200; i++) {
    thread_team t;
    volt_store_relaxed(&sleeper.word, 0);
    message = 0;
    thread_team_start(&t, 1, write_and_unpark, NULL);
    assert_result(volt_park_until(&sleeper, 1, VOLT_NO_DEADLINE), VOLT_OK);
    assert_int_equal(message, 42);
    thread_team_join(&t);
  }
}

static void unpark_once(void *arg, uint32_t index) {
  (void)arg;
  (void)index;
  volt_unpark(&sleeper);
}

static void unparks_of_many_threads_are_counted(void **state) {
  (void)state;
  thread_team t;
  volt_store_relaxed(&sleeper.word, 0);
  thread_team_start(&t, 8, unpark_once, NULL);
  assert_result(volt_park_until(&sleeper, 8, VOLT_NO_DEADLINE), VOLT_OK);
  thread_team_join(&t);
}

/* ---- a thread does not return before its wake has come ----
 *
 * A release serves two: the first one's waker takes its time, so the second, a blocked thread, is
 * granted and not yet unparked when its deadline passes. Its parker is on its stack: it must wait
 * for the unpark that is on the way. */

struct late_wake {
  volt_sem sem;
  volt_future future;
  bool by_future;
  VOLT_ATOMIC(uint32_t) waking;  /* the slow waker has begun */
  VOLT_ATOMIC(uint32_t) go_on;   /* and may end */
  VOLT_ATOMIC(uint32_t) waits;   /* of the blocked thread */
  VOLT_ATOMIC(uint32_t) blocked; /* it is about to sleep */
  int result;
};

static void be_slow(hostile_waker *self) {
  struct late_wake *s = (struct late_wake *)self->object;
  (void)volt_fetch_add_release(&s->waking, 1);
  WAIT_UNTIL(volt_load_acquire(&s->go_on) != 0);
}

static futex_outcome past_the_deadline(void *arg, const futex_call *call) {
  struct late_wake *s = (struct late_wake *)arg;
  if (!call->is_wait) return FUTEX_REAL;
  uint32_t wait = volt_fetch_add_relaxed(&s->waits, 1);
  if (wait == 0) {
    (void)volt_fetch_add_release(&s->blocked, 1);
    WAIT_UNTIL(volt_load_acquire(&s->waking) != 0);
    return FUTEX_ETIMEDOUT;
  }
  (void)volt_fetch_add_release(&s->go_on, 1); /* it is waiting for its wake, as it must */
  return FUTEX_REAL;
}

static void block_for_one(void *arg, uint32_t index) {
  struct late_wake *s = (struct late_wake *)arg;
  (void)index;
  s->result = s->by_future ? volt_future_wait_until(&s->future, IN_AN_HOUR)
                           : volt_sem_acquire_until(&s->sem, 1, IN_AN_HOUR);
  if (volt_load_relaxed(&s->waits) < 2) (void)volt_fetch_add_release(&s->go_on, 1);
}

static void a_wake_on_the_way(bool by_future) {
  static struct late_wake s;
  memset(&s, 0, sizeof s);
  s.by_future = by_future;
  volt_future_made(volt_sem_acquire_future(&s.future, &s.sem, 1));
  volt_waiter first = VOLT_WAITER_INIT;
  hostile_waker slow;
  hostile_waker_init(&slow, 0, NULL, be_slow, &s);
  assert_result(volt_sem_acquire_waiter(&s.sem, &first, 1, hostile_waker_of(&slow)), VOLT_PENDING);
  futex_hook_set(past_the_deadline, &s);
  thread_team t;
  thread_team_start(&t, 1, block_for_one, &s);
  WAIT_UNTIL(volt_load_acquire(&s.blocked) != 0);
  volt_sem_release(&s.sem, 2);
  thread_team_join(&t);
  futex_hook_set(NULL, NULL);
  assert_result(s.result, VOLT_OK); /* the grant came before the cancel */
  assert_true(volt_load_relaxed(&s.waits) >= 2);
  assert_int_equal(volt_sem_available(&s.sem), 0);
}

static void acquire_waits_for_its_wake(void **state) {
  (void)state;
  a_wake_on_the_way(false);
}

static void block_on_waits_for_its_wake(void **state) {
  (void)state;
  a_wake_on_the_way(true);
}

/* ---- a pause ---- */

/* At first no system call that sleeps; then naps, each of which ends by itself. */
static void a_pause_looks_on_and_then_naps(void **state) {
  (void)state;
  volt_parker nobody = {0};
  struct script s = {{FUTEX_ETIMEDOUT, FUTEX_RETURN_0}, 2, 0, &nobody, 0, 0, {0}, {0}};
  futex_hook_set(play, &s);
  errno = 4711;
  unsigned looks = 0;
  while (s.waits == 0) volt_pause_(&looks);
  assert_int_equal(looks, VOLT_SPIN + VOLT_YIELDS + 1);
  uint64_t until_ns =
      (uint64_t)s.last_timeout.tv_sec * 1000000000u + (uint64_t)s.last_timeout.tv_nsec;
  assert_true(until_ns <= volt_now_ns() + VOLT_NAP_NS);
  volt_pause_(&looks);
  futex_hook_set(NULL, NULL);
  assert_int_equal(s.waits, 2);
  assert_int_equal(s.wakes, 0);
  assert_int_equal(errno, 4711);
}

static volt_parker unparked_by_a_handler;

static void unpark_it(int signal) {
  (void)signal;
  volt_unpark(&unparked_by_a_handler);
}

static void *signal_when_it_sleeps(void *thread) {
  while (!(volt_load_acquire(&unparked_by_a_handler.word) & 1)) sched_yield();
  pthread_kill(*(pthread_t *)thread, SIGUSR1);
  return NULL;
}

static void a_handler_unparks_its_thread(void **state) {
  (void)state;
  pthread_t self = pthread_self(), other;
  struct sigaction action = {.sa_handler = unpark_it}, before;
  assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
  assert_int_equal(pthread_create(&other, NULL, signal_when_it_sleeps, &self), 0);
  assert_result(volt_park_until(&unparked_by_a_handler, 1, VOLT_NO_DEADLINE), VOLT_OK);
  pthread_join(other, NULL);
  sigaction(SIGUSR1, &before, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_pause_looks_on_and_then_naps),
      cmocka_unit_test(unparked_before),
      cmocka_unit_test(unparks_are_counted),
      cmocka_unit_test(the_count_goes_round),
      cmocka_unit_test(the_waker_unparks),
      cmocka_unit_test(a_deadline_in_the_past),
      cmocka_unit_test(a_deadline_is_reached),
      cmocka_unit_test(woken_for_no_reason),
      cmocka_unit_test(one_unpark_of_two),
      cmocka_unit_test(unparked_in_the_last_moment),
      cmocka_unit_test(timed_out),
      cmocka_unit_test(what_the_kernel_is_told),
      cmocka_unit_test_setup_teardown(who_still_looks_goes_on_at_once, set_up_crowd,
                                      tear_down_crowd),
      cmocka_unit_test_setup_teardown(who_sleeps_is_woken_with_the_list, set_up_crowd,
                                      tear_down_crowd),
      cmocka_unit_test_setup_teardown(an_empty_list, set_up_crowd, tear_down_crowd),
      cmocka_unit_test_setup_teardown(a_full_list_is_woken_first, set_up_crowd, tear_down_crowd),
      cmocka_unit_test_setup_teardown(a_full_list_forgets_who_was_a_fiber, set_up_crowd,
                                      tear_down_crowd),
      cmocka_unit_test(an_unpark_carries_the_past),
      cmocka_unit_test(a_handler_unparks_its_thread),
      cmocka_unit_test(unparks_of_many_threads_are_counted),
      cmocka_unit_test(acquire_waits_for_its_wake),
      cmocka_unit_test(block_on_waits_for_its_wake),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
