/* describe_test.c: what a future says of itself while it waits (src/core/inspect/describe.h). Which
 * kinds there are says tests/compile/described.py. */
#include "described.h"

static poller p;
static volt_future f;
static volt_sem sem;
static volt_mutex mutex;
static volt_rwlock rw;

static int set_up(void **state) {
  (void)state;
  poller_init(&p);
  volt_sem_init(&sem, 8);
  volt_mutex_init(&mutex);
  volt_rwlock_init(&rw);
  return 0;
}

/* ---- locks ---- */

static void volt_sem_acquire_future_is_described(void **state) {
  (void)state;
  assert_result(volt_sem_try_acquire(&sem, 8), VOLT_OK);
  described_check(volt_sem_acquire_future(&f, &sem, 2), "volt_sem_acquire", "semaphore", &sem,
                  VOLT_ENDS_HOLDERS_, "0 of 8 free");
  volt_future_made(volt_sem_acquire_future(&f, &sem, 2));
  assert_int_equal(described_waiting(&p, &f).wanted, 2);
  described_end(&p, &f);
}

static void a_semaphore_without_a_limit_says_what_is_free(void **state) {
  (void)state;
  volt_sem_init(&sem, 0);
  described_check(volt_sem_acquire_future(&f, &sem, 1), "volt_sem_acquire", "semaphore", &sem,
                  VOLT_ENDS_HOLDERS_, "0 free");
}

static void volt_sem_acquire_all_future_is_described(void **state) {
  (void)state;
  assert_result(volt_sem_try_acquire(&sem, 1), VOLT_OK);
  described_check(volt_sem_acquire_all_future(&f, &sem), "volt_sem_acquire_all", "semaphore", &sem,
                  VOLT_ENDS_HOLDERS_, "0 of 8 free");
}

static void volt_mutex_lock_future_is_described(void **state) {
  (void)state;
  for (uint32_t bypass = 0; bypass < 2; bypass++) {
    volt_mutex_init_bypass(&mutex, bypass);
    assert_result(volt_mutex_try_lock(&mutex), VOLT_OK);
    described_check(volt_mutex_lock_future(&f, &mutex), "volt_mutex_lock", "mutex", &mutex,
                    VOLT_ENDS_HOLDERS_, "locked");
  }
}

static void volt_rwlock_read_future_is_described(void **state) {
  (void)state;
  for (uint32_t bypass = 0; bypass < 2; bypass++) {
    volt_rwlock_init_bypass(&rw, bypass);
    assert_result(volt_rwlock_try_write(&rw), VOLT_OK);
    described_check(volt_rwlock_read_future(&f, &rw), "volt_rwlock_read", "rwlock", &rw,
                    VOLT_ENDS_HOLDERS_, bypass ? "locked for writing" : "locked");
    volt_future_made(volt_rwlock_read_future(&f, &rw));
    assert_false(described_waiting(&p, &f).for_write);
    described_end(&p, &f);
  }
}

static void volt_rwlock_write_future_is_described(void **state) {
  (void)state;
  for (uint32_t bypass = 0; bypass < 2; bypass++) {
    volt_rwlock_init_bypass(&rw, bypass);
    assert_result(volt_rwlock_try_read(&rw), VOLT_OK);
    assert_result(volt_rwlock_try_read(&rw), VOLT_OK);
    described_check(volt_rwlock_write_future(&f, &rw), "volt_rwlock_write", "rwlock", &rw,
                    VOLT_ENDS_HOLDERS_, bypass ? "2 readers" : "locked");
    volt_future_made(volt_rwlock_write_future(&f, &rw));
    assert_true(described_waiting(&p, &f).for_write);
    described_end(&p, &f);
  }
}

/* ---- channels ---- */

static volt_chan chan;
static uint64_t memory[64];
static uint64_t elem;

static void chan_begin(void) {
  assert_true(volt_chan_bytes(2, sizeof elem) <= sizeof memory);
  assert_result(volt_chan_init(&chan, 2, sizeof elem, memory, sizeof memory), VOLT_OK);
}

static void volt_chan_recv_future_is_described(void **state) {
  (void)state;
  chan_begin();
  described_check(volt_chan_recv_future(&f, &chan, &elem), "volt_chan_recv", "channel", &chan,
                  VOLT_ENDS_UNKNOWN_, "0 of 2 elements");
}

static void volt_chan_recv_many_future_is_described(void **state) {
  (void)state;
  uint64_t two[2];
  chan_begin();
  described_check(volt_chan_recv_many_future(&f, &chan, two, 2), "volt_chan_recv", "channel", &chan,
                  VOLT_ENDS_UNKNOWN_, "0 of 2 elements");
}

static void chan_fill(void) {
  chan_begin();
  assert_result(volt_chan_try_send(&chan, &elem), VOLT_OK);
  assert_result(volt_chan_try_send(&chan, &elem), VOLT_OK);
}

static void volt_chan_send_future_is_described(void **state) {
  (void)state;
  chan_fill();
  described_check(volt_chan_send_future(&f, &chan, &elem), "volt_chan_send", "channel", &chan,
                  VOLT_ENDS_UNKNOWN_, "2 of 2 elements");
}

static void volt_chan_send_many_future_is_described(void **state) {
  (void)state;
  const uint64_t two[2] = {1, 2};
  chan_fill();
  described_check(volt_chan_send_many_future(&f, &chan, two, 2), "volt_chan_send", "channel", &chan,
                  VOLT_ENDS_UNKNOWN_, "2 of 2 elements");
}

static void volt_chan_closed_future_is_described(void **state) {
  (void)state;
  chan_begin();
  described_check(volt_chan_closed_future(&f, &chan), "volt_chan_closed", "channel", &chan,
                  VOLT_ENDS_UNKNOWN_, "0 of 2 elements");
}

/* ---- time ---- */

static volt_timers timers;

static int timers_begin(void **state) {
  static const volt_waker no_driver = {NULL, NULL};
  volt_timers_init_virtual(&timers, no_driver);
  (void)volt_timers_expire(&timers, 1000);
  return set_up(state);
}

static int timers_end(void **state) {
  (void)state;
  volt_timers_destroy(&timers);
  return 0;
}

static void volt_sleep_future_is_described(void **state) {
  (void)state;
  volt_sleep_op s;
  described_check(volt_sleep_future(&s, &timers, 1500), "volt_sleep", "", NULL, VOLT_ENDS_TIME_,
                  "");
  volt_description_ description = described_waiting(&p, volt_sleep_future(&s, &timers, 1500));
  assert_int_equal(description.deadline_ns, 1500);
  assert_int_equal(description.left_ns, 500);
  described_end(&p, &s.future);
}

static void volt_interval_tick_future_is_described(void **state) {
  (void)state;
  volt_interval i;
  volt_interval_init(&i, &timers, 1200, 100, VOLT_INTERVAL_SKIP);
  described_check(volt_interval_tick_future(&i), "volt_interval_tick", "interval", &i,
                  VOLT_ENDS_TIME_, "");
  volt_description_ description = described_waiting(&p, volt_interval_tick_future(&i));
  assert_int_equal(description.left_ns, 200);
  described_end(&p, &i.future);
}

static void volt_timeout_future_is_described(void **state) {
  (void)state;
  volt_timeout t;
  volt_sem_init(&sem, 0);
  volt_future_made(volt_sem_acquire_future(&f, &sem, 1));
  volt_description_ description = described_waiting(&p, volt_timeout_future(&t, &f, &timers, 1700));
  described_expect(&description, "volt_timeout", "", NULL, VOLT_ENDS_INNER_);
  assert_int_equal(description.left_ns, 700);
  assert_ptr_equal(volt_future_inside_(&t.future, 0), &f);
  assert_null(volt_future_inside_(&t.future, 1));
  described_end(&p, &t.future);
  assert_null(volt_future_inside_(&t.future, 0));
}

static void a_timeout_that_ends_its_inner_future_has_no_deadline(void **state) {
  (void)state;
  volt_timeout t;
  volt_sleep_op s;
  volt_future_made(
      volt_timeout_future(&t, volt_sleep_future(&s, &timers, VOLT_NO_DEADLINE), &timers, 1700));
  volt_description_ description = described_waiting(&p, &t.future);
  t.result = VOLT_ETIMEDOUT; /* as it is while the inner future comes to its end */
  volt_describe_(&t.future, &description);
  assert_true(description.deadline_ns == VOLT_NO_DEADLINE);
  t.result = VOLT_PENDING;
  volt_future_cancel(&t.future);
}

/* ---- what is composed ---- */

static void volt_select_future_is_described(void **state) {
  (void)state;
  volt_select s;
  volt_future g;
  volt_sem_init(&sem, 0);
  volt_future *const branches[] = {volt_sem_acquire_future(&f, &sem, 1), NULL,
                                   volt_sem_acquire_future(&g, &sem, 2)};
  volt_future_made(volt_select_future(&s, branches, 3, VOLT_SELECT_FAIR));
  volt_description_ description = described_waiting(&p, &s.future);
  described_expect(&description, "volt_select", "", NULL, VOLT_ENDS_ANY_);
  assert_ptr_equal(volt_future_inside_(&s.future, 0), &f);
  assert_ptr_equal(volt_future_inside_(&s.future, 1), &g);
  assert_null(volt_future_inside_(&s.future, 2));
  described_end(&p, &s.future);
  assert_null(volt_future_inside_(&s.future, 0));
}

static void volt_join_future_is_described(void **state) {
  (void)state;
  volt_join j;
  volt_future g;
  volt_sem_init(&sem, 1);
  volt_future *const branches[] = {volt_sem_acquire_future(&f, &sem, 1),
                                   volt_sem_acquire_future(&g, &sem, 1)};
  volt_future_made(volt_join_future(&j, branches, 2, VOLT_JOIN_ALL));
  volt_description_ description = described_waiting(&p, &j.future);
  described_expect(&description, "volt_join", "", NULL, VOLT_ENDS_ALL_);
  volt_describe_(volt_future_inside_(&j.future, 0), &description);
  assert_true(description.is_ready); /* a branch that has what it wants is shown, too */
  volt_describe_(volt_future_inside_(&j.future, 1), &description);
  assert_false(description.is_ready);
  assert_null(volt_future_inside_(&j.future, 2));
  described_end(&p, &j.future);
}

struct asyncs {
  volt_async async;
  volt_future f;
};

static int asyncs_poll(volt_async *a, volt_ctx *ctx) {
  struct asyncs *self = volt_container_of(a, struct asyncs, async);
  VOLT_ASYNC_BEGIN(self);
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->f, &sem, 1));
  VOLT_YIELD(self);
  VOLT_ASYNC_END(self);
}

static void volt_async_future_is_described(void **state) {
  (void)state;
  struct asyncs a;
  volt_sem_init(&sem, 0);
  volt_description_ description = described_waiting(&p, volt_async_future(&a.async, asyncs_poll));
  described_expect(&description, "volt_async", "", NULL, VOLT_ENDS_INNER_);
  assert_ptr_equal(volt_future_frame_(&a.async.future), &a.async.frame);
  assert_ptr_equal(volt_future_inside_(&a.async.future, 0), &a.f);
  assert_null(volt_future_inside_(&a.async.future, 1));
  assert_null(volt_future_frame_(&a.f));
  volt_sem_release(&sem, 1);
  description = described_waiting(&p, &a.async.future); /* it yields */
  described_expect(&description, "volt_async", "", NULL, VOLT_ENDS_UNKNOWN_);
  assert_null(volt_future_inside_(&a.async.future, 0));
  assert_result(poller_poll(&p, &a.async.future), VOLT_OK);
}

/* ---- what no describe says ---- */

static void a_future_without_an_operation_awaits_nothing(void **state) {
  (void)state;
  volt_future none = VOLT_FUTURE_INIT;
  volt_description_ description;
  volt_describe_(&none, &description);
  assert_string_equal(description.operation, "nothing");
  assert_null(description.object);
  assert_null(volt_future_inside_(&none, 0));
  assert_null(volt_future_frame_(&none));
}

static void a_future_that_has_not_begun_says_what_it_is(void **state) {
  (void)state;
  volt_description_ description;
  volt_describe_(volt_mutex_lock_future(&f, &mutex), &description);
  described_expect(&description, "volt_mutex_lock", "mutex", &mutex, VOLT_ENDS_HOLDERS_);
  assert_string_equal(description.state, "free");
}

/* ---- granted ---- */

static void a_grant_that_was_not_polled_is_seen_and_its_object_is_not_read(void **state) {
  (void)state;
  volt_description_ description;
  assert_result(volt_mutex_try_lock(&mutex), VOLT_OK);
  (void)described_waiting(&p, volt_mutex_lock_future(&f, &mutex));
  volt_mutex_unlock(&mutex);
  volt_mutex before = mutex;
  memset((void *)&mutex, 0xff, sizeof mutex); /* as if it were gone */
  volt_describe_(&f, &description);
  volt_describe_place_(&f, &description, 8);
  assert_true(description.is_granted);
  assert_false(description.is_ready);
  described_expect(&description, "volt_mutex_lock", "mutex", &mutex, VOLT_ENDS_HOLDERS_);
  assert_string_equal(description.state, "");
  assert_int_equal(description.place, 0);
  memcpy((void *)&mutex, (void *)&before, sizeof mutex);
  volt_future_cancel(&f);
  assert_false(volt_mutex_is_locked(&mutex));
}

/* ---- the place in the queue ---- */

enum { QUEUED = 5 };

static void the_place_in_the_queue_is_counted_from_1(void **state) {
  (void)state;
  volt_future each[QUEUED];
  volt_sem_init(&sem, 0);
  for (unsigned i = 0; i < QUEUED; i++)
    (void)described_waiting(&p, volt_sem_acquire_future(&each[i], &sem, 1));
  for (unsigned i = 0; i < QUEUED; i++) {
    volt_description_ description;
    volt_describe_(&each[i], &description);
    assert_int_equal(description.place, 0); /* that needs the lock */
    volt_describe_place_(&each[i], &description, QUEUED);
    assert_int_equal(description.place, i + 1);
    assert_int_equal(description.waiters, QUEUED);
    volt_describe_place_(&each[i], &description, 3);
    assert_int_equal(description.place,
                     i < 3 ? i + 1 : 0); /* it is not looked for behind the third */
    assert_int_equal(description.waiters, QUEUED);
  }
  for (unsigned i = 0; i < QUEUED; i++) volt_future_cancel(&each[i]);
}

static void a_queue_whose_lock_is_taken_is_left_alone(void **state) {
  (void)state;
  volt_sem_init(&sem, 0);
  volt_description_ description = described_waiting(&p, volt_sem_acquire_future(&f, &sem, 1));
  uint64_t word = volt_load_relaxed(&sem.queue.word);
  volt_store_relaxed(&sem.queue.word, word | VOLT_WORD_LOCKED_);
  volt_describe_place_(&f, &description, 8);
  assert_int_equal(description.place, 0);
  assert_int_equal(description.waiters, 0);
  volt_store_relaxed(&sem.queue.word, word);
  volt_future_cancel(&f);
}

static void a_look_changes_nothing(void **state) {
  (void)state;
  volt_sem_init(&sem, 0);
  volt_description_ description = described_waiting(&p, volt_sem_acquire_future(&f, &sem, 1));
  volt_sem before = sem;
  volt_future f_before = f;
  volt_describe_(&f, &description);
  volt_describe_place_(&f, &description, 8);
  assert_memory_equal((void *)&before, (void *)&sem, sizeof sem);
  assert_memory_equal((void *)&f_before, (void *)&f, sizeof f);
  poller_expect(&p, 1, 0, 0);
  volt_future_cancel(&f);
}

static void a_waiter_that_was_signalled_waits_for_the_mutex(void **state) {
  (void)state;
  volt_cond cond;
  volt_cond_init(&cond);
  assert_result(volt_mutex_try_lock(&mutex), VOLT_OK);
  volt_future_made(volt_cond_wait_future(&f, &cond, &mutex));
  assert_result(volt_mutex_try_lock(&mutex), VOLT_OK);
  volt_description_ description = described_waiting(&p, &f);
  volt_describe_place_(&f, &description, 8);
  assert_int_equal(description.place, 1);
  assert_ptr_equal(description.object, &cond);
  volt_cond_signal(&cond);
  volt_describe_(&f, &description);
  volt_describe_place_(&f, &description, 8);
  described_expect(&description, "volt_cond_wait", "mutex", &mutex, VOLT_ENDS_HOLDERS_);
  assert_string_equal(description.state, "signalled");
  assert_int_equal(description.place, 1);
  assert_int_equal(description.waiters, 1);
  volt_future_cancel(&f);
  volt_mutex_unlock(&mutex);
  volt_cond_destroy(&cond);
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)
#define TIMED(name) cmocka_unit_test_setup_teardown(name, timers_begin, timers_end)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(volt_sem_acquire_future_is_described),
      TEST(a_semaphore_without_a_limit_says_what_is_free),
      TEST(volt_sem_acquire_all_future_is_described),
      TEST(volt_mutex_lock_future_is_described),
      TEST(volt_rwlock_read_future_is_described),
      TEST(volt_rwlock_write_future_is_described),
      TEST(volt_chan_recv_future_is_described),
      TEST(volt_chan_recv_many_future_is_described),
      TEST(volt_chan_send_future_is_described),
      TEST(volt_chan_send_many_future_is_described),
      TEST(volt_chan_closed_future_is_described),
      TIMED(volt_sleep_future_is_described),
      TIMED(volt_interval_tick_future_is_described),
      TIMED(volt_timeout_future_is_described),
      TIMED(a_timeout_that_ends_its_inner_future_has_no_deadline),
      TEST(volt_select_future_is_described),
      TEST(volt_join_future_is_described),
      TEST(volt_async_future_is_described),
      TEST(a_future_without_an_operation_awaits_nothing),
      TEST(a_future_that_has_not_begun_says_what_it_is),
      TEST(a_grant_that_was_not_polled_is_seen_and_its_object_is_not_read),
      TEST(the_place_in_the_queue_is_counted_from_1),
      TEST(a_queue_whose_lock_is_taken_is_left_alone),
      TEST(a_look_changes_nothing),
      TEST(a_waiter_that_was_signalled_waits_for_the_mutex),
  };
  int failed = 0;
  for (described_how = DESCRIBED_CANCELLED; described_how < DESCRIBED_WAYS;
       described_how = (described_way)(described_how + 1))
    failed += cmocka_run_group_tests_name("look", tests, NULL, NULL);
  return failed;
}
