/* counts_test.c: volt_counts(), with exact numbers of scenes that are polled by hand. */
#include <limits.h>
#include <stdio.h>
#include <volt/counts.h>
#include <volt/timer.h>

#include "alloc_count.h"
#include "core/hooks/counters.h"
#include "fake_waker.h"
#include "futex_hook.h"
#include "require.h"
#include "thread_team.h"
#include "unit.h"

enum { MANY = 80, KINDS_MAX = 64 };

static volt_waiter w[MANY];
static volt_future f[MANY];
static volt_counts_of before[KINDS_MAX];
static const volt_waker none = {NULL, NULL};

static void begin(void **state) {
  (void)state;
  memset((void *)w, 0, sizeof w);
  assert_true(volt_counts(before, KINDS_MAX) <= KINDS_MAX);
}

/* What has been counted for this kind since begin(), and for no other kind but `also`. */
typedef struct counted {
  uint64_t waits, grants, cancels, timeouts, closes, sleeps, naps;
} counted;

static counted difference(const volt_counts_of *now, const volt_counts_of *then) {
  counted d = {now->waits - then->waits,     now->grants - then->grants,
               now->cancels - then->cancels, now->timeouts - then->timeouts,
               now->closes - then->closes,   now->sleeps - then->sleeps,
               now->naps - then->naps};
  return d;
}

static bool is_same(const counted *a, const counted *b) {
  return memcmp(a, b, sizeof *a) == 0;
}

static void print(const char *kind, const char *what, const counted *c) {
  fprintf(stderr, "%s, %s: %u waits, %u grants, %u cancels, %u timeouts, %u closes, %u sleeps\n",
          kind, what, (unsigned)c->waits, (unsigned)c->grants, (unsigned)c->cancels,
          (unsigned)c->timeouts, (unsigned)c->closes, (unsigned)c->sleeps);
}

static void assert_counted_also(const char *kind, counted want, const char *also) {
  volt_counts_of now[KINDS_MAX];
  const counted nothing = {0, 0, 0, 0, 0, 0, 0};
  unsigned kinds = volt_counts(now, KINDS_MAX);
  bool found = false;
  for (unsigned i = 0; i < kinds; i++) {
    counted got = difference(&now[i], &before[i]);
    bool is_it = strcmp(now[i].kind, kind) == 0;
    const counted *its = is_it ? &want : &nothing;
    bool may_differ = also && strcmp(now[i].kind, also) == 0;
    if (!may_differ && !is_same(&got, its)) {
      print(now[i].kind, "counted", &got);
      print(now[i].kind, "wanted", its);
      fail();
    }
    found |= is_it;
  }
  assert_true(found);
}

#define ASSERT_COUNTED(kind, ...) assert_counted_also(kind, (counted){.naps = 0, __VA_ARGS__}, NULL)

/* ---- what it returns ---- */

static void kinds_and_room(void **state) {
  begin(state);
  unsigned kinds = volt_counts(NULL, 0);
  assert_int_equal(kinds, VOLT_KINDS_COUNTED_);
  volt_counts_of some[2] = {{.kind = NULL}, {.kind = "untouched"}};
  assert_int_equal(volt_counts(some, 1), kinds);
  assert_string_equal(some[0].kind, "parker");
  assert_string_equal(some[1].kind, "untouched");
  for (unsigned i = 0; i < kinds; i++) {
    for (unsigned j = 0; j < i; j++) assert_string_not_equal(before[i].kind, before[j].kind);
  }
}

/* Each is counted as a kind that volt_counts() has; those that it has, as themselves. */
static void kinds_of_objects(void **state) {
  begin(state);
  for (unsigned i = 0; i < VOLT_KINDS_; i++) {
    volt_kind_ counted_as = volt_kind_counted_((volt_kind_)i);
    unsigned number = volt_kind_number_(counted_as);
    assert_true(number < VOLT_KINDS_COUNTED_);
    assert_string_equal(before[number].kind, volt_kind_name_(counted_as));
    bool has_counts = i != VOLT_KIND_NONE_ && i <= VOLT_KINDS_COUNTED_;
    assert_int_equal(counted_as == i, has_counts);
  }
}

/* ---- permits: fast paths count nothing ---- */

static void a_mutex(void **state) {
  begin(state);
  volt_mutex m = VOLT_MUTEX_INIT;
  for (unsigned i = 0; i < MANY; i++) {
    volt_mutex_lock(&m);
    volt_mutex_unlock(&m);
  }
  assert_result(volt_mutex_try_lock(&m), VOLT_OK);
  assert_result(volt_mutex_try_lock(&m), VOLT_EAGAIN);
  ASSERT_COUNTED("mutex", .waits = 0);
  for (unsigned i = 0; i < 3; i++)
    assert_result(volt_mutex_lock_waiter(&m, &w[i], none), VOLT_PENDING);
  ASSERT_COUNTED("mutex", .waits = 3);
  volt_mutex_unlock(&m);
  ASSERT_COUNTED("mutex", .waits = 3, .grants = 1);
  assert_true(volt_mutex_cancel(&m, &w[1]));
  assert_true(volt_mutex_cancel(&m, &w[1]));
  ASSERT_COUNTED("mutex", .waits = 3, .grants = 1, .cancels = 1);
  volt_mutex_unlock(&m);
  ASSERT_COUNTED("mutex", .waits = 3, .grants = 2, .cancels = 1);
  assert_false(volt_mutex_cancel(&m, &w[2]));
  volt_mutex_unlock(&m);
  volt_mutex_destroy(&m);
  ASSERT_COUNTED("mutex", .waits = 3, .grants = 2, .cancels = 1);
}

static void a_mutex_with_bypass(void **state) {
  begin(state);
  volt_mutex m;
  volt_mutex_init_bypass(&m, 4);
  fake_waker waker;
  fake_waker_init(&waker, 0, NULL);
  volt_mutex_lock(&m);
  assert_result(volt_future_poll(volt_mutex_lock_future(&f[0], &m), fake_waker_of(&waker)),
                VOLT_PENDING);
  assert_result(volt_mutex_lock_waiter(&m, &w[1], none), VOLT_PENDING);
  assert_result(volt_mutex_lock_waiter(&m, &w[2], none), VOLT_PENDING);
  volt_mutex_unlock(&m); /* the first is nudged */
  ASSERT_COUNTED("mutex", .waits = 3);
  assert_int_equal(fake_waker_calls(&waker), 1);
  assert_result(volt_future_poll(&f[0], fake_waker_of(&waker)), VOLT_OK);
  ASSERT_COUNTED("mutex", .waits = 3, .grants = 1);
  volt_mutex_unlock(&m);
  ASSERT_COUNTED("mutex", .waits = 3, .grants = 2);
  assert_true(volt_mutex_cancel(&m, &w[2]));
  ASSERT_COUNTED("mutex", .waits = 3, .grants = 2, .cancels = 1);
  volt_mutex_unlock(&m);
  volt_mutex_destroy(&m);
}

static void a_semaphore(void **state) {
  begin(state);
  volt_sem sem;
  volt_sem_init(&sem, 2);
  assert_result(volt_sem_acquire_waiter(&sem, &w[0], 2, none), VOLT_OK);
  ASSERT_COUNTED("semaphore", .waits = 0);
  for (unsigned i = 0; i < MANY; i++) {
    assert_result(volt_sem_acquire_waiter(&sem, &w[i], 1, none), VOLT_PENDING);
  }
  volt_sem_release(&sem, MANY / 2); /* more than a batch */
  ASSERT_COUNTED("semaphore", .waits = MANY, .grants = MANY / 2);
  volt_sem_close(&sem);
  ASSERT_COUNTED("semaphore", .waits = MANY, .grants = MANY / 2, .closes = MANY / 2);
  volt_sem_destroy(&sem);
}

static void a_semaphore_asked_for_all(void **state) {
  begin(state);
  volt_sem sem;
  volt_sem_init_bounded(&sem, 4);
  assert_result(volt_sem_try_acquire(&sem, 1), VOLT_OK);
  assert_result(volt_future_poll(volt_sem_acquire_all_future(&f[0], &sem), none), VOLT_PENDING);
  ASSERT_COUNTED("semaphore", .waits = 1);
  volt_sem_release(&sem, 1);
  ASSERT_COUNTED("semaphore", .waits = 1, .grants = 1);
  assert_result(volt_future_poll(&f[0], none), VOLT_OK);
  volt_sem_release(&sem, 4);
  volt_sem_destroy(&sem);
}

static void a_rwlock(void **state) {
  begin(state);
  volt_rwlock rw = VOLT_RWLOCK_INIT;
  volt_rwlock_write(&rw);
  for (unsigned i = 0; i < 40; i++)
    assert_result(volt_rwlock_read_waiter(&rw, &w[i], none), VOLT_PENDING);
  ASSERT_COUNTED("rwlock", .waits = 40);
  volt_rwlock_write_unlock(&rw);
  ASSERT_COUNTED("rwlock", .waits = 40, .grants = 40);
  for (unsigned i = 0; i < 40; i++) volt_rwlock_read_unlock(&rw);
  volt_rwlock_destroy(&rw);
}

/* A thread that gives up counts as a cancel and as a timeout. Its sleeps are counted. */
static futex_outcome times_out(void *arg, const futex_call *call) {
  (void)call;
  return *(unsigned *)arg += 1, *(unsigned *)arg <= 3 ? FUTEX_EINTR : FUTEX_ETIMEDOUT;
}

static void a_thread_that_times_out(void **state) {
  begin(state);
  unsigned sleeps = 0;
  volt_sem sem;
  volt_sem_init(&sem, 0);
  assert_result(volt_sem_acquire_until(&sem, 1, PAST_DEADLINE), VOLT_ETIMEDOUT);
  uint64_t naps = 0;
  futex_hook_set(times_out, &sleeps);
  assert_result(volt_sem_acquire(&sem, 1), VOLT_ETIMEDOUT);
  futex_hook_set(NULL, NULL);
  assert_int_equal(sleeps, 4);
  (void)naps;
  volt_counts_of now[KINDS_MAX];
  (void)volt_counts(now, KINDS_MAX);
  counted got = difference(&now[volt_kind_number_(VOLT_KIND_SEMAPHORE_)],
                           &before[volt_kind_number_(VOLT_KIND_SEMAPHORE_)]);
  assert_int_equal(got.waits, 2);
  assert_int_equal(got.cancels, 2);
  assert_int_equal(got.timeouts, 2);
  assert_int_equal(got.grants, 0);
  assert_true(got.sleeps >= sleeps && got.sleeps <= sleeps + 1); /* the first call may not sleep */
  volt_sem_destroy(&sem);
}

static void a_future_that_times_out(void **state) {
  begin(state);
  volt_latch l = VOLT_LATCH_INIT(1);
  unsigned sleeps = 3;
  futex_hook_set(times_out, &sleeps);
  assert_result(volt_future_wait(volt_latch_wait_future(&f[0], &l)), VOLT_ETIMEDOUT);
  futex_hook_set(NULL, NULL);
  ASSERT_COUNTED("latch", .waits = 1, .cancels = 1, .timeouts = 1, .sleeps = 1);
  volt_latch_done(&l);
  volt_latch_destroy(&l);
}

/* ---- monitors ---- */

static void a_latch(void **state) {
  begin(state);
  volt_latch l = VOLT_LATCH_INIT(1);
  for (unsigned i = 0; i < MANY; i++)
    assert_result(volt_latch_wait_waiter(&l, &w[i], none), VOLT_PENDING);
  assert_true(volt_latch_cancel(&l, &w[MANY - 1]));
  ASSERT_COUNTED("latch", .waits = MANY, .cancels = 1);
  volt_latch_done(&l);
  ASSERT_COUNTED("latch", .waits = MANY, .cancels = 1, .grants = MANY - 1);
  assert_result(volt_latch_wait_waiter(&l, &w[0], none), VOLT_OK);
  volt_latch_destroy(&l);
  ASSERT_COUNTED("latch", .waits = MANY, .cancels = 1, .grants = MANY - 1);
}

/* What is counted is nowhere in a waiter: `need` says whether it is linked, and nothing else. */
static void a_waiter_of_a_monitor(void **state) {
  begin(state);
  volt_latch l = VOLT_LATCH_INIT(1);
  assert_result(volt_latch_wait_waiter(&l, &w[0], none), VOLT_PENDING);
  assert_int_equal(w[0].need, 1);
  volt_latch_done(&l);
  assert_int_equal(w[0].need, 0);
  volt_latch_destroy(&l);
}

static void a_notify(void **state) {
  begin(state);
  volt_notify n = VOLT_NOTIFY_INIT;
  for (unsigned i = 0; i < 5; i++) {
    assert_result(volt_future_poll(volt_notify_wait_future(&f[i], &n), none), VOLT_PENDING);
  }
  volt_notify_one(&n);
  ASSERT_COUNTED("notify", .waits = 5, .grants = 1);
  volt_notify_all(&n);
  ASSERT_COUNTED("notify", .waits = 5, .grants = 5);
  volt_notify_destroy(&n);
}

static void a_barrier(void **state) {
  begin(state);
  volt_barrier b;
  volt_barrier_init(&b, 3);
  for (unsigned i = 0; i < 2; i++)
    assert_result(volt_barrier_wait_waiter(&b, &w[i], none), VOLT_PENDING);
  assert_result(volt_barrier_wait_waiter(&b, &w[2], none), VOLT_LEADER);
  ASSERT_COUNTED("barrier", .waits = 2, .grants = 2);
  volt_barrier_destroy(&b);
}

static void a_watch_that_is_closed(void **state) {
  begin(state);
  volt_watch it;
  uint64_t seen;
  volt_watch_init(&it, 0, NULL, NULL);
  seen = volt_watch_version(&it);
  for (unsigned i = 0; i < 3; i++) {
    assert_result(volt_future_poll(volt_watch_changed_future(&f[i], &it, &seen), none),
                  VOLT_PENDING);
  }
  volt_watch_close(&it);
  ASSERT_COUNTED("watch", .waits = 3, .closes = 3);
  volt_watch_destroy(&it);
}

static void a_token(void **state) {
  begin(state);
  volt_token t;
  volt_token_init(&t);
  assert_result(volt_future_poll(volt_token_wait_future(&f[0], &t), none), VOLT_PENDING);
  volt_token_cancel(&t);
  ASSERT_COUNTED("token", .waits = 1, .grants = 1);
  volt_token_destroy(&t);
}

/* A signal moves its waiter to the mutex, and it waits there. */
static void a_condition(void **state) {
  begin(state);
  volt_cond c;
  volt_mutex m = VOLT_MUTEX_INIT;
  volt_cond_init(&c);
  for (unsigned i = 0; i < 3; i++) {
    volt_mutex_lock(&m);
    assert_result(volt_cond_wait_waiter(&c, &m, &w[i], none), VOLT_PENDING);
  }
  volt_mutex_lock(&m);
  assert_true(volt_cond_cancel(&c, &w[2]));
  assert_counted_also("cond", (counted){.waits = 3, .cancels = 1}, NULL);
  volt_cond_broadcast(&c);
  assert_counted_also("cond", (counted){.waits = 3, .cancels = 1, .grants = 2}, "mutex");
  assert_counted_also("mutex", (counted){.waits = 2}, "cond");
  volt_mutex_unlock(&m);
  volt_mutex_unlock(&m);
  assert_counted_also("mutex", (counted){.waits = 2, .grants = 2}, "cond");
  volt_mutex_unlock(&m);
  volt_cond_destroy(&c);
  volt_mutex_destroy(&m);
}

/* ---- channels ---- */

static void a_channel(void **state) {
  begin(state);
  volt_chan c;
  uint64_t ring[64], elem = 7, got[4];
  assert_result(volt_chan_init(&c, 1, sizeof elem, ring, sizeof ring), VOLT_OK);
  assert_result(volt_chan_recv_waiter(&c, &w[0], &got[0], none), VOLT_PENDING);
  assert_result(volt_chan_send_waiter(&c, &w[1], &elem, none), VOLT_OK); /* to the receiver */
  ASSERT_COUNTED("channel", .waits = 1, .grants = 1);
  assert_result(volt_chan_send_waiter(&c, &w[1], &elem, none), VOLT_OK); /* into the ring */
  assert_result(volt_chan_send_waiter(&c, &w[1], &elem, none), VOLT_PENDING);
  assert_result(volt_chan_recv_waiter(&c, &w[0], &got[0], none), VOLT_OK);
  ASSERT_COUNTED("channel", .waits = 2, .grants = 2);
  assert_result(volt_chan_recv_waiter(&c, &w[0], &got[0], none), VOLT_OK);
  for (unsigned i = 0; i < 3; i++)
    assert_result(volt_chan_recv_waiter(&c, &w[i], &got[i], none), VOLT_PENDING);
  assert_true(volt_chan_cancel_recv(&c, &w[1]));
  ASSERT_COUNTED("channel", .waits = 5, .grants = 2, .cancels = 1);
  assert_result(volt_future_poll(volt_chan_closed_future(&f[0], &c), none), VOLT_PENDING);
  volt_chan_close(&c);
  ASSERT_COUNTED("channel", .waits = 6, .grants = 3, .cancels = 1, .closes = 2);
  volt_chan_destroy(&c, NULL, NULL);
}

/* ---- others ---- */

static void a_timer(void **state) {
  begin(state);
  volt_timers t;
  static volt_timer timers[3];
  memset((void *)timers, 0, sizeof timers);
  volt_timers_init(&t, none);
  for (unsigned i = 0; i < 3; i++) volt_timer_start(&t, &timers[i], 10 + i, none);
  assert_true(volt_timer_cancel(&t, &timers[1]));
  assert_int_equal(volt_timers_expire(&t, 11), 1);
  ASSERT_COUNTED("timer", .waits = 3, .grants = 1, .cancels = 1);
  assert_true(volt_timer_cancel(&t, &timers[2]));
  volt_timers_destroy(&t);
}

/* ---- threads ---- */

static void wait_in_vain(void *arg, uint32_t index) {
  (void)index;
  volt_waiter mine = VOLT_WAITER_INIT;
  for (unsigned i = 0; i < 10; i++) {
    REQUIRE(volt_sem_acquire_waiter((volt_sem *)arg, &mine, 1, none) == VOLT_PENDING);
    REQUIRE(volt_sem_cancel((volt_sem *)arg, &mine));
  }
}

/* ---- counted as what they are made of ---- */

static void a_permit_channel(void **state) {
  begin(state);
  uint64_t got, ring[4];
  volt_permit_chan c;
  assert_result(volt_permit_chan_init(&c, 1, sizeof got, ring, sizeof ring), VOLT_OK);
  assert_result(volt_future_poll(volt_permit_chan_recv_future(&f[0], &c, &got), none),
                VOLT_PENDING);
  ASSERT_COUNTED("channel", .waits = 1);
  volt_future_cancel(&f[0]);
  ASSERT_COUNTED("channel", .waits = 1, .cancels = 1);
  volt_permit_chan_destroy(&c, NULL, NULL);
}

/* What a thread has counted stays when it ends, and another goes on from there. */
static void threads_that_have_ended(void **state) {
  begin(state);
  volt_sem sem;
  volt_sem_init(&sem, 0);
  thread_team_run(1, wait_in_vain, &sem);
  thread_team_run(8, wait_in_vain, &sem);
  thread_team_run(1, wait_in_vain, &sem);
  assert_counted_also("semaphore", (counted){.waits = 100, .cancels = 100}, "internal lock");
  volt_sem_destroy(&sem);
}

/* More threads at a time than there are tallies. */
enum { CROWD = 300 };
static VOLT_ATOMIC(uint32_t) arrived;

static void *wait_in_a_crowd(void *sem) {
  wait_in_vain(sem, 0);
  volt_fetch_add_relaxed(&arrived, 1); /* the test's own count */
  WAIT_UNTIL(volt_load_relaxed(&arrived) == CROWD);
  wait_in_vain(sem, 0);
  return NULL;
}

static void more_threads_than_tallies(void **state) {
  begin(state);
  static pthread_t threads[CROWD];
  pthread_attr_t small;
  volt_sem sem;
  volt_sem_init(&sem, 0);
  pthread_attr_init(&small);
  assert_int_equal(pthread_attr_setstacksize(&small, 128 * 1024), 0);
  for (unsigned i = 0; i < CROWD; i++) {
    assert_int_equal(pthread_create(&threads[i], &small, wait_in_a_crowd, &sem), 0);
  }
  for (unsigned i = 0; i < CROWD; i++) pthread_join(threads[i], NULL);
  assert_counted_also("semaphore", (counted){.waits = CROWD * 20, .cancels = CROWD * 20},
                      "internal lock");
  volt_sem_destroy(&sem);
}

/* Also the first count of a thread allocates nothing. */
static void count_without_memory(void *arg, uint32_t index) {
  uint64_t allocations = alloc_count_allocations();
  wait_in_vain(arg, index);
  REQUIRE(alloc_count_allocations() == allocations);
}

static void nothing_is_allocated(void **state) {
  begin(state);
  volt_sem sem;
  volt_sem_init(&sem, 0);
  thread_team_run(1, count_without_memory, &sem);
  uint64_t allocations = alloc_count_allocations();
  wait_in_vain(&sem, 0);
  (void)volt_counts(before, KINDS_MAX);
  assert_int_equal(alloc_count_allocations(), allocations);
  volt_sem_destroy(&sem);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(kinds_and_room),
      cmocka_unit_test(kinds_of_objects),
      cmocka_unit_test(a_mutex),
      cmocka_unit_test(a_mutex_with_bypass),
      cmocka_unit_test(a_semaphore),
      cmocka_unit_test(a_semaphore_asked_for_all),
      cmocka_unit_test(a_rwlock),
      cmocka_unit_test(a_thread_that_times_out),
      cmocka_unit_test(a_future_that_times_out),
      cmocka_unit_test(a_latch),
      cmocka_unit_test(a_waiter_of_a_monitor),
      cmocka_unit_test(a_notify),
      cmocka_unit_test(a_barrier),
      cmocka_unit_test(a_watch_that_is_closed),
      cmocka_unit_test(a_token),
      cmocka_unit_test(a_condition),
      cmocka_unit_test(a_channel),
      cmocka_unit_test(a_timer),
      cmocka_unit_test(a_permit_channel),
      cmocka_unit_test(threads_that_have_ended),
      cmocka_unit_test(more_threads_than_tallies),
      cmocka_unit_test(nothing_is_allocated),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
