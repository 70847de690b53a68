/* wait_times_test.c: how long waits take, volt_waits_of(). */
#include <stdlib.h>
#include <volt/counts.h>

#include "alloc_count.h"
#include "core/future/future_ops.h"
#include "core/hooks/wait_times.h"
#include "futex_hook.h"
#include "require.h"
#include "thread_team.h"
#include "unit.h"

static volt_wait_times_ *memory;
static volt_future f[64];
static const volt_waker none = {NULL, NULL};

static int make_memory(void **state) {
  (void)state;
  memory = calloc(1, sizeof *memory);
  return memory ? 0 : -1;
}

static void begin(void **state, uint32_t sample) {
  (void)state;
  memset((void *)f, 0, sizeof f);
  volt_wait_times_switch_on_(memory, sample);
}

static unsigned places_in_use(void) {
  unsigned used = 0;
  for (unsigned i = 0; i < VOLT_TIMED_MAX_; i++) {
    used += volt_load_relaxed(&memory->timed[i].future) != NULL; /* the test's own thread */
  }
  return used;
}

static void end(void) {
  volt_wait_times_switch_off_();
  assert_int_equal(places_in_use(), 0);
}

static uint64_t waits_of(const void *object) {
  volt_histogram h;
  assert_result(volt_waits_of(object, &h), VOLT_OK);
  return h.count;
}

static uint64_t waits_of_kind(volt_kind_ kind) {
  volt_histogram h;
  assert_result(volt_waits_of_kind(volt_kind_number_(kind), &h), VOLT_OK);
  return h.count;
}

static bool is_timed(const volt_future *future) {
  return volt_future_state_(future) == VOLT_FUTURE_TIMED_;
}

static void never_switched_on(void **state) {
  (void)state;
  volt_histogram h;
  volt_mutex m = VOLT_MUTEX_INIT;
  assert_result(volt_waits_of(&m, &h), VOLT_EINVAL);
  assert_result(volt_name(&m, "m"), VOLT_OK);
  assert_result(volt_waits_of(&m, &h), VOLT_EAGAIN);
  assert_result(volt_waits_of_kind(volt_kind_number_(VOLT_KIND_MUTEX_), &h), VOLT_EAGAIN);
  assert_result(volt_waits_of_kind(VOLT_KINDS_COUNTED_, &h), VOLT_EINVAL);
  volt_unname(&m);
}

static void a_task_waits(void **state) {
  begin(state, 1);
  volt_mutex m = VOLT_MUTEX_INIT;
  assert_result(volt_name(&m, "m"), VOLT_OK);
  assert_result(volt_future_poll(volt_mutex_lock_future(&f[0], &m), none), VOLT_OK);
  assert_int_equal(waits_of(&m), 0); /* it did not wait */
  assert_result(volt_future_poll(volt_mutex_lock_future(&f[1], &m), none), VOLT_PENDING);
  assert_true(is_timed(&f[1]));
  assert_result(volt_future_poll(&f[1], none), VOLT_PENDING);
  assert_true(is_timed(&f[1]));
  assert_int_equal(places_in_use(), 1);
  assert_int_equal(waits_of(&m), 0); /* it still waits */
  uint64_t before_ns = volt_now_ns();
  volt_mutex_unlock(&m);
  WAIT_UNTIL(volt_now_ns() > before_ns + 1000000);
  assert_result(volt_future_poll(&f[1], none), VOLT_OK);
  assert_result(volt_future_poll(&f[1], none), VOLT_OK);
  volt_histogram h;
  assert_result(volt_waits_of(&m, &h), VOLT_OK);
  assert_int_equal(h.count, 1);
  assert_true(h.longest_ns >= 1000000); /* until it went on */
  assert_int_equal(h.sum_ns, h.longest_ns);
  assert_int_equal(waits_of_kind(VOLT_KIND_MUTEX_), 1);
  volt_mutex_unlock(&m);
  volt_mutex_destroy(&m);
  end();
}

/* However a wait ends, it is counted, and its place is free. */
static void every_end(void **state) {
  begin(state, 1);
  volt_sem sem;
  volt_sem_init(&sem, 0);
  assert_result(volt_name(&sem, "sem"), VOLT_OK);
  for (unsigned i = 0; i < 4; i++) {
    assert_result(volt_future_poll(volt_sem_acquire_future(&f[i], &sem, 1), none), VOLT_PENDING);
  }
  assert_int_equal(places_in_use(), 4);
  volt_future_cancel(&f[0]);
  assert_int_equal(waits_of(&sem), 1);
  volt_sem_release(&sem, 1);
  volt_future_cancel(&f[1]); /* the grant goes on to the next */
  assert_int_equal(waits_of(&sem), 2);
  assert_result(volt_future_poll(&f[2], none), VOLT_OK);
  assert_int_equal(waits_of(&sem), 3);
  volt_sem_close(&sem);
  assert_result(volt_future_poll(&f[3], none), VOLT_ECLOSED);
  assert_int_equal(waits_of(&sem), 4);
  assert_int_equal(waits_of_kind(VOLT_KIND_SEMAPHORE_), 4);
  volt_sem_destroy(&sem);
  end();
}

static void in_a_select(void **state) {
  begin(state, 1);
  volt_latch a = VOLT_LATCH_INIT(1), b = VOLT_LATCH_INIT(1);
  assert_result(volt_name(&a, "a"), VOLT_OK);
  assert_result(volt_name(&b, "b"), VOLT_OK);
  volt_future *branches[2] = {volt_latch_wait_future(&f[0], &a), volt_latch_wait_future(&f[1], &b)};
  volt_select s;
  volt_future *either = volt_select_future(&s, branches, 2, 0);
  assert_result(volt_future_poll(either, none), VOLT_PENDING);
  assert_true(is_timed(&f[0]) && is_timed(&f[1]));
  assert_false(is_timed(either));
  volt_latch_done(&b);
  assert_result(volt_future_poll(either, none), VOLT_OK);
  assert_int_equal(waits_of(&a), 1); /* the loser, too: it waited as long */
  assert_int_equal(waits_of(&b), 1);
  volt_latch_done(&a);
  volt_latch_destroy(&a);
  volt_latch_destroy(&b);
  end();
}

static void a_mutex_with_bypass(void **state) {
  begin(state, 1);
  volt_mutex m;
  volt_mutex_init_bypass(&m, 4);
  assert_result(volt_name(&m, "m"), VOLT_OK);
  volt_mutex_lock(&m);
  assert_result(volt_future_poll(volt_mutex_lock_future(&f[0], &m), none), VOLT_PENDING);
  assert_true(is_timed(&f[0]));
  volt_mutex_unlock(&m);
  assert_result(volt_mutex_try_lock(&m), VOLT_OK); /* passes it */
  assert_result(volt_future_poll(&f[0], none), VOLT_PENDING);
  assert_true(is_timed(&f[0]));
  volt_mutex_unlock(&m);
  assert_result(volt_future_poll(&f[0], none), VOLT_OK);
  assert_int_equal(waits_of(&m), 1);
  volt_mutex_unlock(&m);
  volt_mutex_destroy(&m);
  end();
}

static void a_condition(void **state) {
  begin(state, 1);
  volt_mutex m = VOLT_MUTEX_INIT;
  volt_cond c;
  volt_cond_init(&c);
  assert_result(volt_name(&c, "c"), VOLT_OK);
  volt_mutex_lock(&m);
  volt_future_made(volt_cond_wait_future(&f[0], &c, &m));
  assert_true(is_timed(&f[0]));
  volt_cond_signal(&c);
  assert_result(volt_future_poll(&f[0], none), VOLT_OK);
  assert_int_equal(waits_of(&c), 1);
  volt_mutex_unlock(&m);
  volt_cond_destroy(&c);
  volt_mutex_destroy(&m);
  end();
}

/* Switched off, then on again, while it waits: the second histogram has all of it. */
static void switched_meanwhile(void **state) {
  begin(state, 1);
  volt_latch l = VOLT_LATCH_INIT(1);
  assert_result(volt_name(&l, "l"), VOLT_OK);
  assert_result(volt_future_poll(volt_latch_wait_future(&f[0], &l), none), VOLT_PENDING);
  volt_wait_times_switch_off_();
  assert_result(volt_future_poll(volt_latch_wait_future(&f[1], &l), none), VOLT_PENDING);
  assert_false(is_timed(&f[1]));
  volt_wait_times_switch_on_(memory, 1);
  volt_latch_done(&l);
  assert_result(volt_future_poll(&f[0], none), VOLT_OK);
  assert_result(volt_future_poll(&f[1], none), VOLT_OK);
  assert_int_equal(waits_of(&l), 1);
  volt_wait_times_switch_on_(memory, 1);
  assert_int_equal(waits_of(&l), 0);
  assert_int_equal(waits_of_kind(VOLT_KIND_LATCH_), 0);
  volt_latch_destroy(&l);
  end();
}

/* One in so many is timed, and stands for so many. */
static void samples(void **state) {
  enum { ROUNDS = 64000, SAMPLE = 16 };
  begin(state, SAMPLE);
  volt_sem sem;
  volt_sem_init(&sem, 0);
  assert_result(volt_name(&sem, "sem"), VOLT_OK);
  unsigned timed = 0;
  for (unsigned i = 0; i < ROUNDS; i++) {
    assert_result(volt_future_poll(volt_sem_acquire_future(&f[0], &sem, 1), none), VOLT_PENDING);
    timed += is_timed(&f[0]);
    volt_future_cancel(&f[0]);
  }
  assert_int_equal(waits_of(&sem), timed * SAMPLE);
  assert_true(timed > ROUNDS / SAMPLE * 9 / 10 && timed < ROUNDS / SAMPLE * 11 / 10);
  volt_sem_destroy(&sem);
  end();
}

/* More waits at a time than there are places: those that have none are not timed. */
static void more_waits_than_places(void **state) {
  enum { CROWD = 2 * VOLT_TIMED_MAX_ };
  begin(state, 1);
  volt_future *crowd = calloc(CROWD, sizeof *crowd);
  volt_latch l = VOLT_LATCH_INIT(1);
  assert_non_null(crowd);
  assert_result(volt_name(&l, "l"), VOLT_OK);
  unsigned timed = 0;
  for (unsigned i = 0; i < CROWD; i++) {
    assert_result(volt_future_poll(volt_latch_wait_future(&crowd[i], &l), none), VOLT_PENDING);
    timed += is_timed(&crowd[i]);
  }
  assert_int_equal(places_in_use(), timed);
  assert_true(timed > VOLT_TIMED_MAX_ / 2);
  volt_latch_done(&l);
  for (unsigned i = 0; i < CROWD; i++) assert_result(volt_future_poll(&crowd[i], none), VOLT_OK);
  assert_int_equal(waits_of(&l), timed);
  volt_latch_destroy(&l);
  free(crowd);
  end();
}

/* ---- threads: each of their waits ---- */

static futex_outcome times_out(void *arg, const futex_call *call) {
  (void)arg;
  return call->is_wait ? FUTEX_ETIMEDOUT : FUTEX_REAL;
}

static void threads_wait(void **state) {
  begin(state, 1000000);
  volt_sem sem;
  volt_mutex m;
  volt_latch l = VOLT_LATCH_INIT(1);
  volt_cond c;
  volt_sem_init(&sem, 0);
  volt_mutex_init_bypass(&m, 4);
  volt_cond_init(&c);
  assert_result(volt_name(&sem, "sem"), VOLT_OK);
  assert_result(volt_name(&m, "m"), VOLT_OK);
  assert_result(volt_name(&l, "l"), VOLT_OK);
  assert_result(volt_name(&c, "c"), VOLT_OK);
  assert_result(volt_mutex_try_lock(&m), VOLT_OK);
  futex_hook_set(times_out, NULL);
  uint64_t never = VOLT_NO_DEADLINE;
  for (unsigned i = 0; i < 3; i++) {
    assert_result(volt_sem_acquire_until(&sem, 1, never), VOLT_ETIMEDOUT);
    assert_result(volt_mutex_lock_until(&m, volt_deadline_s(3600)), VOLT_ETIMEDOUT);
    assert_result(volt_latch_wait_until(&l, never), VOLT_ETIMEDOUT);
  }
  futex_hook_set(NULL, NULL);
  volt_mutex_unlock(&m);
  assert_int_equal(waits_of(&sem), 3);
  assert_int_equal(waits_of(&m), 3);
  assert_int_equal(waits_of(&l), 3);
  volt_mutex plain = VOLT_MUTEX_INIT;
  volt_mutex_lock(&plain);
  assert_result(volt_cond_wait_until(&c, &plain, PAST_DEADLINE), VOLT_ETIMEDOUT);
  volt_mutex_unlock(&plain);
  assert_int_equal(waits_of(&c), 1);
  volt_latch_done(&l);
  volt_latch_destroy(&l);
  volt_sem_destroy(&sem);
  volt_mutex_destroy(&m);
  volt_cond_destroy(&c);
  volt_mutex_destroy(&plain);
  end();
}

/* ---- names ---- */

/* An object that gets a slot of the names begins with an empty histogram. */
static void a_name_anew(void **state) {
  begin(state, 1);
  volt_sem sem;
  volt_sem_init(&sem, 0);
  for (unsigned i = 0; i < 2; i++) {
    assert_result(volt_name(&sem, "sem"), VOLT_OK);
    assert_int_equal(waits_of(&sem), 0);
    assert_result(volt_future_poll(volt_sem_acquire_future(&f[0], &sem, 1), none), VOLT_PENDING);
    volt_future_cancel(&f[0]);
    assert_int_equal(waits_of(&sem), 1);
    volt_unname(&sem);
  }
  assert_result(volt_future_poll(volt_sem_acquire_future(&f[0], &sem, 1), none), VOLT_PENDING);
  volt_future_cancel(&f[0]); /* it has no name now */
  assert_int_equal(waits_of_kind(VOLT_KIND_SEMAPHORE_), 3);
  volt_sem_destroy(&sem);
  end();
}

static void nothing_is_allocated(void **state) {
  begin(state, 1);
  volt_sem sem;
  volt_sem_init(&sem, 0);
  assert_result(volt_name(&sem, "sem"), VOLT_OK);
  uint64_t allocations = alloc_count_allocations();
  for (unsigned i = 0; i < 1000; i++) {
    assert_result(volt_future_poll(volt_sem_acquire_future(&f[0], &sem, 1), none), VOLT_PENDING);
    volt_future_cancel(&f[0]);
  }
  assert_int_equal(alloc_count_allocations(), allocations);
  assert_int_equal(waits_of(&sem), 1000);
  volt_sem_destroy(&sem);
  end();
}

/* ---- at once ---- */

static VOLT_ATOMIC(uint32_t) waiting_left;

static void wait_or_switch(void *arg, uint32_t index) {
  volt_sem *sem = arg;
  if (index == 0) {
    for (uint32_t sample = 1; volt_load_relaxed(&waiting_left) > 0; sample = sample % 3 + 1) {
      volt_wait_times_switch_on_(memory, sample); /* the test's own count above */
      volt_wait_times_switch_off_();
      REQUIRE(volt_name(sem, "sem") == VOLT_OK);
      volt_unname(sem);
    }
    return;
  }
  volt_future mine;
  for (unsigned i = 0; i < 10000; i++) {
    REQUIRE(volt_future_poll(volt_sem_acquire_future(&mine, sem, 1), none) == VOLT_PENDING);
    if (i % 2) REQUIRE(volt_future_poll(&mine, none) == VOLT_PENDING);
    volt_future_cancel(&mine);
  }
  volt_fetch_add_relaxed(&waiting_left, UINT32_MAX); /* as above */
}

static void switched_by_another_thread(void **state) {
  begin(state, 1);
  volt_sem sem;
  volt_sem_init(&sem, 0);
  volt_store_relaxed(&waiting_left, 3); /* not shared yet */
  thread_team_run(4, wait_or_switch, &sem);
  volt_sem_destroy(&sem);
  end();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(never_switched_on),
      cmocka_unit_test(a_task_waits),
      cmocka_unit_test(every_end),
      cmocka_unit_test(in_a_select),
      cmocka_unit_test(a_mutex_with_bypass),
      cmocka_unit_test(a_condition),
      cmocka_unit_test(switched_meanwhile),
      cmocka_unit_test(samples),
      cmocka_unit_test(more_waits_than_places),
      cmocka_unit_test(threads_wait),
      cmocka_unit_test(a_name_anew),
      cmocka_unit_test(nothing_is_allocated),
      cmocka_unit_test(switched_by_another_thread),
  };
  return cmocka_run_group_tests(tests, make_memory, NULL);
}
