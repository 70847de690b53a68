/* rt_time_test.c: tasks and time, on a virtual clock: nothing passes but by volt_rt_advance(). */
#include "by_hand.h"
#include "rng.h"

typedef struct job {
  volt_task task;
  volt_sleep_op nap;
  volt_future inner;
  volt_timeout timeout;
  volt_interval interval;
  volt_task *other;
  uint64_t deadline_ns;
  uint64_t woke_ns;
  unsigned left;
  int result;
  char letter;
} job;

static by_hand h;
static volt_sem sem;
static trace t;

static int set_up(void **state) {
  (void)state;
  by_hand_begin(&h);
  volt_sem_init(&sem, 0);
  trace_begin(&t);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  assert_int_equal(volt_sem_waiters(&sem), 0);
  by_hand_end(&h, 0);
  return 0;
}

static job *job_of(volt_task *task) {
  return volt_container_of(task, job, task);
}

static job *spawn(volt_task_fn *poll, uint64_t deadline_ns, char letter) {
  job *j = VOLT_TASK_NEW(h.rt, job, poll);
  assert_non_null(j);
  j->deadline_ns = deadline_ns;
  j->letter = letter;
  assert_result(volt_spawn(h.rt, &j->task), VOLT_OK);
  return j;
}

static void advance(uint64_t by_ns) {
  volt_rt_advance(h.rt, by_ns);
  by_hand_run(&h);
}

static void end(job *j, int result) {
  assert_result(volt_task_join_until(&j->task, PAST_DEADLINE), result);
  volt_task_detach(&j->task);
}

static void the_clock_stands_unless_it_is_told(void **state) {
  (void)state;
  assert_int_equal(volt_rt_now_ns(h.rt), 0);
  assert_int_equal(volt_timers_now_ns(volt_rt_timers(h.rt)), 0);
  advance(0);
  assert_int_equal(volt_rt_now_ns(h.rt), 0);
  advance(5);
  advance(7);
  assert_int_equal(volt_rt_now_ns(h.rt), 12);
  assert_int_equal(volt_timers_now_ns(volt_rt_timers(h.rt)), 12);
}

/* ---- sleep ---- */

static int sleeps(volt_task *task, volt_ctx *ctx) {
  job *self = job_of(task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, volt_sleep_future(&self->nap, volt_rt_timers(h.rt), self->deadline_ns));
  self->woke_ns = volt_rt_now_ns(h.rt);
  trace_note(&t, self->letter);
  VOLT_FINALLY(self);
  VOLT_TASK_END(self);
}

static void they_wake_in_the_order_of_their_deadlines(void **state) {
  (void)state;
  static const uint64_t deadlines[] = {30, 10, 20, 40, 1};
  job *j[5];
  for (int i = 0; i < 5; i++) j[i] = spawn(sleeps, deadlines[i], (char)('a' + i));
  assert_int_equal(by_hand_run(&h), 1);
  advance(9);
  assert_string_equal(t.text, "e");
  assert_int_equal(by_hand_run(&h), 10);
  advance(1);
  assert_string_equal(t.text, "eb");
  advance(29);
  assert_int_equal(by_hand_run(&h), 40);
  advance(1);
  assert_true(by_hand_run(&h) == VOLT_NO_DEADLINE);
  assert_int_equal(t.length, 5);
  assert_int_equal(j[0]->woke_ns, 39);
  for (int i = 0; i < 5; i++) {
    assert_true(j[i]->woke_ns >= deadlines[i]);
    end(j[i], VOLT_OK);
  }
}

static void what_has_come_is_no_sleep(void **state) {
  (void)state;
  advance(100);
  job *past = spawn(sleeps, 99, 'p');
  job *now = spawn(sleeps, 100, 'n');
  job *later = spawn(sleeps, 101, 'l');
  assert_int_equal(by_hand_run(&h), 101);
  assert_string_equal(t.text, "pn");
  advance(1);
  end(past, VOLT_OK);
  end(now, VOLT_OK);
  end(later, VOLT_OK);
}

static void a_sleep_that_is_cancelled(void **state) {
  (void)state;
  job *j = spawn(sleeps, 50, 'a');
  job *expired = spawn(sleeps, 40, 'b');
  assert_int_equal(by_hand_run(&h), 40);
  assert_true(volt_task_cancel(&j->task));
  by_hand_run(&h);
  end(j, VOLT_ECANCELED);
  volt_rt_advance(h.rt, 40); /* in the same instant */
  assert_true(volt_task_cancel(&expired->task));
  assert_true(by_hand_run(&h) == VOLT_NO_DEADLINE);
  end(expired, VOLT_ECANCELED);
  assert_string_equal(t.text, "");
}

static void nobody_wakes_without_a_deadline(void **state) {
  (void)state;
  job *never = spawn(sleeps, VOLT_NO_DEADLINE, 'n');
  job *last = spawn(sleeps, VOLT_NO_DEADLINE - 1, 'l');
  by_hand_run(&h);
  advance(UINT64_MAX);
  assert_string_equal(t.text, "l");
  advance(UINT64_MAX); /* beyond all time */
  advance(1);
  assert_int_equal(volt_rt_now_ns(h.rt), VOLT_NO_DEADLINE - 1);
  assert_string_equal(t.text, "l");
  assert_true(volt_task_cancel(&never->task));
  by_hand_run(&h);
  end(never, VOLT_ECANCELED);
  end(last, VOLT_OK);
}

enum { SLEEPERS = 10000, SPAN_NS = 100000 };

static uint64_t woken;
static uint64_t last_deadline_ns;

static int sleeps_in_order(volt_task *task, volt_ctx *ctx) {
  job *self = job_of(task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, volt_sleep_future(&self->nap, volt_rt_timers(h.rt), self->deadline_ns));
  REQUIRE(volt_rt_now_ns(h.rt) >= self->deadline_ns);
  woken += 1;
  if (self->deadline_ns > last_deadline_ns) last_deadline_ns = self->deadline_ns;
  VOLT_TASK_END(self);
}

static void ten_thousand_sleep(void **state) {
  (void)state;
  static uint64_t due[SPAN_NS + 1]; /* how many at each time */
  memset(due, 0, sizeof due);
  woken = 0;
  rng random = rng_seeded(1);
  for (int i = 0; i < SLEEPERS; i++) {
    uint64_t deadline_ns = 1 + rng_below(&random, SPAN_NS);
    volt_task_detach(&spawn(sleeps_in_order, deadline_ns, 0)->task);
    due[deadline_ns] += 1;
  }
  by_hand_run(&h);
  by_hand_expect_live(&h, SLEEPERS);
  uint64_t expected = 0;
  for (uint64_t now_ns = 0; now_ns < SPAN_NS;) {
    uint64_t by_ns = 1 + rng_below(&random, 300);
    if (by_ns > SPAN_NS - now_ns) by_ns = SPAN_NS - now_ns;
    for (uint64_t i = 1; i <= by_ns; i++) expected += due[now_ns + i];
    now_ns += by_ns;
    advance(by_ns);
    assert_int_equal(woken, expected); /* all that were due, and no others */
    assert_true(last_deadline_ns <= now_ns);
  }
  assert_int_equal(woken, SLEEPERS);
  by_hand_expect_live(&h, 0);
}

/* ---- timeout ---- */

static int takes_in_time(volt_task *task, volt_ctx *ctx) {
  job *self = job_of(task);
  VOLT_TASK_BEGIN(self);
  volt_future_made(volt_sem_acquire_future(&self->inner, &sem, 1));
  VOLT_AWAIT_RESULT(
      self, self->result,
      volt_timeout_future(&self->timeout, &self->inner, volt_rt_timers(h.rt), self->deadline_ns));
  VOLT_RETURN(self, self->result);
  VOLT_TASK_END(self);
}

static void a_timeout(void **state) {
  (void)state;
  job *late = spawn(takes_in_time, 10, 'a');
  job *in_time = spawn(takes_in_time, 20, 'b');
  assert_int_equal(by_hand_run(&h), 10);
  advance(10);
  end(late, VOLT_ETIMEDOUT);
  assert_int_equal(volt_sem_waiters(&sem), 1);
  volt_sem_release(&sem, 1);
  assert_true(by_hand_run(&h) == VOLT_NO_DEADLINE); /* and the timer is gone */
  end(in_time, VOLT_OK);
}

static void what_is_granted_is_not_timed_out(void **state) {
  (void)state;
  for (int time_first = 0; time_first < 2; time_first++) {
    job *j = spawn(takes_in_time, volt_rt_now_ns(h.rt) + 10, 'a');
    by_hand_run(&h);
    if (time_first) volt_rt_advance(h.rt, 10);
    volt_sem_release(&sem, 1);
    if (!time_first) volt_rt_advance(h.rt, 10);
    by_hand_run(&h);
    end(j, VOLT_OK);
    assert_int_equal(volt_sem_available(&sem), 0);
  }
}

static void a_timeout_that_is_cancelled_gives_back(void **state) {
  (void)state;
  job *j = spawn(takes_in_time, 10, 'a');
  by_hand_run(&h);
  volt_sem_release(&sem, 1);
  volt_rt_advance(h.rt, 10);
  assert_true(volt_task_cancel(&j->task));
  assert_true(by_hand_run(&h) == VOLT_NO_DEADLINE);
  end(j, VOLT_ECANCELED);
  assert_int_equal(volt_sem_available(&sem), 1);
}

static int joins_in_time(volt_task *task, volt_ctx *ctx) {
  job *self = job_of(task);
  VOLT_TASK_BEGIN(self);
  volt_future_made(volt_task_join_future(&self->inner, self->other));
  VOLT_AWAIT(self, volt_timeout_future(&self->timeout, &self->inner, volt_rt_timers(h.rt),
                                       self->deadline_ns));
  VOLT_TASK_END(self);
}

static void a_join_that_times_out_leaves_the_other(void **state) {
  (void)state;
  job *other = spawn(sleeps, 100, 'o');
  job *j = spawn(joins_in_time, 50, 'j');
  j->other = &other->task;
  by_hand_run(&h);
  advance(50);
  end(j, VOLT_ETIMEDOUT);
  assert_result(volt_task_result(&other->task), VOLT_PENDING);
  job *again = spawn(joins_in_time, 150, 'k');
  again->other = &other->task;
  by_hand_run(&h);
  advance(50);
  end(again, VOLT_OK);
  end(other, VOLT_OK);
}

/* ---- interval ---- */

static int ticks(volt_task *task, volt_ctx *ctx) {
  job *self = job_of(task);
  VOLT_TASK_BEGIN(self);
  volt_interval_init(&self->interval, volt_rt_timers(h.rt), self->deadline_ns, 10,
                     VOLT_INTERVAL_SKIP);
  for (; self->left > 0; self->left--) {
    VOLT_AWAIT(self, volt_interval_tick_future(&self->interval));
    self->woke_ns = volt_rt_now_ns(h.rt);
    trace_note(&t, (char)('0' + volt_interval_due_ns(&self->interval) / 10));
  }
  VOLT_TASK_END(self);
}

static void an_interval(void **state) {
  (void)state;
  job *j = spawn(ticks, 20, 0);
  j->left = 5;
  assert_int_equal(by_hand_run(&h), 20);
  advance(20);
  assert_string_equal(t.text, "2");
  advance(9);
  assert_string_equal(t.text, "2");
  advance(1);
  assert_string_equal(t.text, "23");
  advance(35); /* at 65: the tick of 40 is late, those of 50 and 60 are skipped */
  assert_string_equal(t.text, "234");
  assert_int_equal(by_hand_run(&h), 70);
  advance(5);
  advance(10);
  assert_string_equal(t.text, "23478");
  assert_int_equal(j->woke_ns, 80);
  end(j, VOLT_OK);
  assert_true(by_hand_run(&h) == VOLT_NO_DEADLINE);
}

/* ---- the real clock, by hand ---- */

static void with_the_real_clock_a_sleep_is_never_short(void **state) {
  (void)state;
  volt_rt_config config;
  memset(&config, 0, sizeof config);
  config.flags = VOLT_RT_BY_HAND;
  by_hand virtual_one = h;
  assert_result(volt_rt_create(&h.rt, &config), VOLT_OK);
  uint64_t deadline_ns = volt_deadline_ns(300000);
  uint64_t now_ns = volt_rt_now_ns(h.rt);
  assert_in_range(now_ns, deadline_ns - 300000, volt_now_ns());
  job *j = spawn(sleeps, deadline_ns, 'r');
  while (volt_task_result(&j->task) == VOLT_PENDING) {
    uint64_t next_ns = volt_rt_run(h.rt);
    assert_true(next_ns == deadline_ns || next_ns == VOLT_NO_DEADLINE);
  }
  assert_true(j->woke_ns >= deadline_ns);
  end(j, VOLT_OK);
  assert_int_equal(volt_rt_destroy(h.rt), 0);
  h.rt = virtual_one.rt;
}

#define A_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      A_TEST(the_clock_stands_unless_it_is_told),
      A_TEST(they_wake_in_the_order_of_their_deadlines),
      A_TEST(what_has_come_is_no_sleep),
      A_TEST(a_sleep_that_is_cancelled),
      A_TEST(nobody_wakes_without_a_deadline),
      A_TEST(ten_thousand_sleep),
      A_TEST(a_timeout),
      A_TEST(what_is_granted_is_not_timed_out),
      A_TEST(a_timeout_that_is_cancelled_gives_back),
      A_TEST(a_join_that_times_out_leaves_the_other),
      A_TEST(an_interval),
      A_TEST(with_the_real_clock_a_sleep_is_never_short),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
