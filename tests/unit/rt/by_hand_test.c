/* by_hand_test.c: a runtime in a loop of one's own: what volt_rt_run() returns, when the waker is
 * called, what is counted; and in which order tasks run. */
#include "by_hand.h"

typedef struct job {
  volt_task task;
  volt_future permit;
  volt_sleep_op nap;
  uint64_t deadline_ns;
  struct job *other;
  volt_sem *takes;
  volt_sem *gives;
  unsigned left; /* rounds */
  unsigned done;
  uint64_t seen; /* a count, when it ran last */
  uint64_t most; /* that a count has grown between two runs */
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
  by_hand_end(&h, 0);
  return 0;
}

static job *job_of(volt_task *task) {
  return volt_container_of(task, job, task);
}

static job *new_job(volt_task_fn *poll, char letter) {
  job *j = VOLT_TASK_NEW(h.rt, job, poll);
  REQUIRE(j);
  j->letter = letter;
  return j;
}

/* Nobody joins it. From a task: of the same runtime. */
static job *spawn(volt_task_fn *poll, char letter) {
  job *j = new_job(poll, letter);
  REQUIRE(volt_spawn(h.rt, &j->task) == VOLT_OK);
  volt_task_detach(&j->task);
  return j;
}

static job *hold(job *j) {
  assert_result(volt_spawn(h.rt, &j->task), VOLT_OK);
  return j;
}

static void expect_trace(const char *want) {
  assert_string_equal(t.text, want);
}

static int notes(volt_task *task, volt_ctx *ctx) {
  (void)ctx;
  trace_note(&t, job_of(task)->letter);
  return VOLT_OK;
}

static int spawns_three(volt_task *task, volt_ctx *ctx) {
  (void)notes(task, ctx);
  for (char letter = '1'; letter <= '3'; letter++) spawn(notes, letter);
  return VOLT_OK;
}

static int takes_one(volt_task *task, volt_ctx *ctx) {
  job *self = job_of(task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->permit, &sem, 1));
  trace_note(&t, self->letter);
  VOLT_TASK_END(self);
}

static int gives_one(volt_task *task, volt_ctx *ctx) {
  (void)notes(task, ctx);
  volt_sem_release(&sem, 1);
  return VOLT_OK;
}

/* ---- volt_rt_run() ---- */

static int turns_until_told(volt_task *task, volt_ctx *ctx) {
  job *self = job_of(task);
  VOLT_TASK_BEGIN(self);
  while (self->left) {
    VOLT_YIELD(self);
  }
  VOLT_TASK_END(self);
}

static void tasks_from_outside_get_their_turn(void **state) {
  (void)state;
  job *turning[3];
  for (int i = 0; i < 3; i++) {
    turning[i] = new_job(turns_until_told, 0);
    turning[i]->left = 1;
    hold(turning[i]);
  }
  for (int again = 0; again < 3; again++) {
    trace_begin(&t);
    assert_int_equal(volt_rt_run(h.rt), 0); /* they are ready still */
    uint64_t before = by_hand_worker(&h).polls;
    spawn(notes, 'x');
    spawn(notes, 'y');
    assert_int_equal(volt_rt_run(h.rt), 0);
    expect_trace("xy");
    uint64_t polls = by_hand_worker(&h).polls - before;
    assert_in_range(polls, 1000, 9999);
  }
  for (int i = 0; i < 3; i++) turning[i]->left = 0;
  assert_true(by_hand_run(&h) == VOLT_NO_DEADLINE);
  for (int i = 0; i < 3; i++) volt_task_detach(&turning[i]->task);
}

static int sleeps(volt_task *task, volt_ctx *ctx) {
  job *self = job_of(task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, volt_sleep_future(&self->nap, volt_rt_timers(h.rt), self->deadline_ns));
  trace_note(&t, self->letter);
  VOLT_TASK_END(self);
}

static void spawn_sleeper(char letter, uint64_t deadline_ns) {
  spawn(sleeps, letter)->deadline_ns = deadline_ns;
}

static void run_returns_the_next_deadline(void **state) {
  (void)state;
  assert_true(volt_rt_run(h.rt) == VOLT_NO_DEADLINE);
  spawn_sleeper('a', 200);
  assert_int_equal(volt_rt_run(h.rt), 200);
  spawn_sleeper('b', 100);
  assert_int_equal(volt_rt_run(h.rt), 100);
  volt_rt_advance(h.rt, 100);
  assert_int_equal(volt_rt_run(h.rt), 200);
  volt_rt_advance(h.rt, 100);
  assert_true(volt_rt_run(h.rt) == VOLT_NO_DEADLINE);
  expect_trace("ba");
}

/* ---- the waker ---- */

static void expect_wakes(uint32_t calls) {
  assert_int_equal(fake_waker_calls(&h.waker), calls);
}

static void the_waker_is_called_once_for_each_return(void **state) {
  (void)state;
  for (uint32_t i = 1; i <= 4; i++) {
    expect_wakes(i - 1);
    for (int k = 0; k < 3; k++) spawn(notes, 'a');
    expect_wakes(i); /* the first time before volt_rt_run() was ever called */
    by_hand_run(&h);
    expect_wakes(i);
  }
}

static void the_waker_is_called_for_a_wake_a_cancel_and_the_time(void **state) {
  (void)state;
  job *j = hold(new_job(takes_one, 'w'));
  spawn_sleeper('s', 10);
  expect_wakes(1);
  by_hand_run(&h);
  volt_sem_release(&sem, 1);
  expect_wakes(2);
  by_hand_run(&h);
  expect_trace("w");
  volt_task_detach(&j->task);
  j = hold(new_job(takes_one, 'w'));
  expect_wakes(3);
  by_hand_run(&h);
  assert_true(volt_task_cancel(&j->task));
  expect_wakes(4);
  by_hand_run(&h);
  volt_rt_advance(h.rt, 9);
  expect_wakes(4);
  volt_rt_advance(h.rt, 1);
  expect_wakes(5);
  by_hand_run(&h);
  expect_trace("ws");
  volt_task_detach(&j->task);
}

static void the_waker_is_called_for_an_earlier_deadline(void **state) {
  (void)state;
  volt_sleep_op late;
  volt_sleep_op early;
  fake_waker a;
  fake_waker_init(&a, 0, NULL);
  by_hand_run(&h);
  volt_future_made(volt_sleep_future(&late, volt_rt_timers(h.rt), 200));
  volt_future_made(volt_sleep_future(&early, volt_rt_timers(h.rt), 100));
  assert_result(volt_future_poll(&late.future, fake_waker_of(&a)), VOLT_PENDING);
  expect_wakes(1);
  assert_int_equal(volt_rt_run(h.rt), 200);
  assert_result(volt_future_poll(&early.future, fake_waker_of(&a)), VOLT_PENDING);
  expect_wakes(2);
  assert_int_equal(volt_rt_run(h.rt), 100);
  volt_future_cancel(&early.future);
  volt_future_cancel(&late.future);
}

static void what_tasks_do_needs_no_waker(void **state) {
  (void)state;
  spawn(takes_one, 'w');
  by_hand_run(&h);
  spawn(gives_one, 'a');
  spawn(spawns_three, 'b');
  expect_wakes(2);
  by_hand_run(&h);
  expect_wakes(2);
}

/* ---- counts ---- */

static void what_is_counted(void **state) {
  (void)state;
  volt_worker_stats worker;
  assert_result(volt_rt_worker_stats(h.rt, 1, &worker), VOLT_EINVAL);
  volt_rt_stats_of stats = by_hand_stats(&h);
  assert_int_equal(stats.workers, 1);
  assert_int_equal(stats.live, 0);
  assert_int_equal(stats.injected, 0);
  job *j = hold(new_job(takes_one, 'w'));
  spawn(spawns_three, 'a');
  stats = by_hand_stats(&h);
  assert_int_equal(stats.live, 2);
  assert_int_equal(stats.spawned, 2);
  assert_int_equal(stats.injected, 2);
  assert_int_equal(by_hand_worker(&h).polls, 0);
  by_hand_run(&h);
  stats = by_hand_stats(&h);
  assert_int_equal(stats.live, 1);
  assert_int_equal(stats.spawned, 5);
  assert_int_equal(stats.injected, 0);
  assert_int_equal(stats.cancelled, 0);
  assert_int_equal(stats.parked, 1);
  assert_int_equal(stats.searching, 0);
  worker = by_hand_worker(&h);
  assert_int_equal(worker.polls, 5);
  assert_int_equal(worker.lifo_hits, 1);
  assert_int_equal(worker.injected, 2);
  assert_int_equal(worker.steals + worker.stolen + worker.overflows + worker.queued, 0);
  volt_sem_release(&sem, 1);
  by_hand_run(&h);
  by_hand_expect_live(&h, 0);
  assert_int_equal(by_hand_stats(&h).spawned, 5);
  volt_task_detach(&j->task);
}

/* ==== in which order tasks run: by hand it is always the same ==== */

/* ---- order ---- */

static void from_outside_first_come_first_served(void **state) {
  (void)state;
  for (char letter = 'a'; letter <= 'z'; letter++) spawn(notes, letter);
  by_hand_run(&h);
  expect_trace("abcdefghijklmnopqrstuvwxyz");
}

static void what_was_spawned_last_is_next(void **state) {
  (void)state;
  spawn(spawns_three, 'a');
  spawn(notes, 'b');
  by_hand_run(&h);
  expect_trace("a3b12");
}

static void what_was_woken_last_is_next(void **state) {
  (void)state;
  spawn(takes_one, 'w');
  by_hand_run(&h);
  spawn(gives_one, 'a');
  spawn(notes, 'b');
  by_hand_run(&h);
  expect_trace("awb");
}

static int yields(volt_task *task, volt_ctx *ctx) {
  job *self = job_of(task);
  VOLT_TASK_BEGIN(self);
  for (; self->left > 0; self->left--) {
    trace_note(&t, self->letter);
    VOLT_YIELD(self);
  }
  VOLT_TASK_END(self);
}

static void a_yield_goes_behind_the_others(void **state) {
  (void)state;
  for (char letter = 'a'; letter <= 'c'; letter++) spawn(yields, letter)->left = 3;
  by_hand_run(&h);
  expect_trace("abcabcabc");
}

/* Two that hand a permit to each other, and one that lets the others run. */
static int plays(volt_task *task, volt_ctx *ctx) {
  job *self = job_of(task);
  VOLT_TASK_BEGIN(self);
  for (; self->left > 0; self->left--) {
    VOLT_AWAIT(self, volt_sem_acquire_future(&self->permit, self->takes, 1));
    self->done += 1;
    volt_sem_release(self->gives, 1);
  }
  VOLT_TASK_END(self);
}

static int watches_the_slot(volt_task *task, volt_ctx *ctx) {
  job *self = job_of(task);
  VOLT_TASK_BEGIN(self);
  while (self->other->done < 50) {
    uint64_t hits = by_hand_worker(&h).lifo_hits;
    if (self->done > 0 && hits - self->seen > self->most) self->most = hits - self->seen;
    self->seen = hits;
    self->done += 1;
    VOLT_YIELD(self);
  }
  VOLT_TASK_END(self);
}

static void at_most_three_in_a_row_from_the_slot(void **state) {
  (void)state;
  volt_sem ping = VOLT_SEM_INIT(1);
  volt_sem pong = VOLT_SEM_INIT(0);
  job *one = new_job(plays, 'p');
  one->left = 100;
  one->takes = &ping;
  one->gives = &pong;
  job *two = new_job(plays, 'q');
  two->left = 100;
  two->takes = &pong;
  two->gives = &ping;
  job *watch = new_job(watches_the_slot, 'w');
  watch->other = one;
  volt_task_detach(&hold(one)->task);
  job *const held[] = {hold(two), hold(watch)};
  by_hand_run(&h);
  assert_int_equal(watch->most, 3);
  assert_true(watch->done >= 50 / 4);
  assert_int_equal(two->done, 100);
  for (int i = 0; i < 2; i++) volt_task_detach(&held[i]->task);
}

/* ---- budget ---- */

static int takes_all(volt_task *task, volt_ctx *ctx) {
  job *self = job_of(task);
  VOLT_TASK_BEGIN(self);
  for (; self->left > 0; self->left--) {
    VOLT_AWAIT(self, volt_sem_acquire_future(&self->permit, &sem, 1));
    self->done += 1;
  }
  VOLT_TASK_END(self);
}

static int watches_the_budget(volt_task *task, volt_ctx *ctx) {
  job *self = job_of(task);
  VOLT_TASK_BEGIN(self);
  for (; self->other->done < 1000; self->done++) {
    if (self->done > 0 && self->other->done != 128 * self->done) trace_note(&t, '!');
    VOLT_YIELD(self);
  }
  VOLT_TASK_END(self);
}

static void what_is_always_ready_is_interrupted_after_128(void **state) {
  (void)state;
  volt_sem_release(&sem, 1000);
  job *watch = new_job(watches_the_budget, 'w');
  watch->other = new_job(takes_all, 't');
  watch->other->left = 1000;
  job *const both[] = {hold(watch), hold(watch->other)};
  by_hand_run(&h);
  expect_trace("");
  assert_int_equal(watch->done, 1000 / 128 + 1);
  for (int i = 0; i < 2; i++) {
    assert_result(volt_task_result(&both[i]->task), VOLT_OK);
    volt_task_detach(&both[i]->task);
  }
}

/* ---- more than a ring holds ---- */

enum { MANY = 600, SLOTS = 256, HALF = 128 };

static unsigned order[MANY]; /* who ran, 1.. */
static unsigned ran;

static int notes_number(volt_task *task, volt_ctx *ctx) {
  (void)ctx;
  order[ran++] = job_of(task)->left;
  return VOLT_OK;
}

static int spawns_many(volt_task *task, volt_ctx *ctx) {
  (void)task;
  (void)ctx;
  for (unsigned i = 1; i <= MANY; i++) spawn(notes_number, 0)->left = i;
  return VOLT_OK;
}

/* What a ring does with 1..MANY-1 (the last one stays in the slot): full, it moves its older half
 * to the injection queue, and the new one after it. */
static unsigned expected_overflow(unsigned *injected, unsigned *ring, unsigned *in_ring) {
  unsigned count = 0;
  *in_ring = 0;
  for (unsigned i = 1; i < MANY; i++) {
    if (*in_ring < SLOTS) {
      ring[(*in_ring)++] = i;
      continue;
    }
    memcpy(injected + count, ring, HALF * sizeof *ring);
    injected[count + HALF] = i;
    count += HALF + 1;
    memmove(ring, ring + HALF, HALF * sizeof *ring);
    *in_ring = HALF;
  }
  return count;
}

/* Of order, those that are in want are in its order. */
static void expect_in_order(const unsigned *want, unsigned count) {
  unsigned at = 0;
  for (unsigned i = 0; i < ran && at < count; i++) at += order[i] == want[at];
  assert_int_equal(at, count);
}

/* The same, but that the first of each batch that is taken from the injection queue is polled at
 * once, ahead of the batch before; there is a batch for eight polls at most. */
static void expect_in_order_by_batches(const unsigned *want, unsigned count) {
  unsigned place[MANY + 1] = {0};
  unsigned last = 0;
  unsigned backwards = 0;
  unsigned found = 0;
  for (unsigned i = 0; i < count; i++) place[want[i]] = i + 1;
  for (unsigned i = 0; i < ran; i++) {
    unsigned at = place[order[i]];
    if (at == 0) continue;
    found += 1;
    backwards += at < last;
    last = at;
  }
  assert_int_equal(found, count);
  assert_in_range(backwards, 0, MANY / 8);
}

static void a_full_ring_loses_nothing_and_keeps_the_order(void **state) {
  (void)state;
  unsigned injected[MANY];
  unsigned ring[SLOTS];
  unsigned in_ring;
  ran = 0;
  spawn(spawns_many, 0);
  by_hand_run(&h);
  assert_int_equal(ran, MANY);
  assert_int_equal(order[0], MANY); /* from the slot */
  unsigned count = expected_overflow(injected, ring, &in_ring);
  expect_in_order_by_batches(injected, count);
  expect_in_order(ring, in_ring);
  assert_int_equal(by_hand_worker(&h).overflows, count / (HALF + 1));
  assert_int_equal(by_hand_worker(&h).injected, 1 + count);
  assert_int_equal(by_hand_worker(&h).polls, 1 + MANY);
}

#define A_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      A_TEST(tasks_from_outside_get_their_turn),
      A_TEST(run_returns_the_next_deadline),
      A_TEST(the_waker_is_called_once_for_each_return),
      A_TEST(the_waker_is_called_for_a_wake_a_cancel_and_the_time),
      A_TEST(the_waker_is_called_for_an_earlier_deadline),
      A_TEST(what_tasks_do_needs_no_waker),
      A_TEST(what_is_counted),
      A_TEST(from_outside_first_come_first_served),
      A_TEST(what_was_spawned_last_is_next),
      A_TEST(what_was_woken_last_is_next),
      A_TEST(a_yield_goes_behind_the_others),
      A_TEST(at_most_three_in_a_row_from_the_slot),
      A_TEST(what_is_always_ready_is_interrupted_after_128),
      A_TEST(a_full_ring_loses_nothing_and_keeps_the_order),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
