/* scheduler_test.c: in which order tasks run. By hand it is always the same. */
#include "by_hand.h"

typedef struct job {
  volt_task task;
  volt_future permit;
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

static void expect_trace(const char *want) {
  assert_string_equal(t.text, want);
}

static int notes(volt_task *task, volt_ctx *ctx) {
  (void)ctx;
  trace_note(&t, job_of(task)->letter);
  return VOLT_OK;
}

/* ---- order ---- */

static void from_outside_first_come_first_served(void **state) {
  (void)state;
  for (char letter = 'a'; letter <= 'z'; letter++) spawn(notes, letter);
  by_hand_run(&h);
  expect_trace("abcdefghijklmnopqrstuvwxyz");
}

static int spawns_three(volt_task *task, volt_ctx *ctx) {
  (void)notes(task, ctx);
  for (char letter = '1'; letter <= '3'; letter++) spawn(notes, letter);
  return VOLT_OK;
}

static void what_was_spawned_last_is_next(void **state) {
  (void)state;
  spawn(spawns_three, 'a');
  spawn(notes, 'b');
  by_hand_run(&h);
  expect_trace("a3b12");
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

static job *hold(job *j) {
  assert_result(volt_spawn(h.rt, &j->task), VOLT_OK);
  return j;
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

/* What a ring does with 1..MANY-1 (the last one stays in the slot): full, it moves its older half to
 * the injection queue, and the new one after it. */
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
