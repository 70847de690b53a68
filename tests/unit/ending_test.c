/* ending_test.c: branches that must come to their end before what they are a branch of is ready, and
 * branches that never let go: in tasks, on a runtime by hand with a virtual clock. */
#include "by_hand.h"

typedef struct child {
  volt_task task;
  volt_future forever;
} child;

/* An async function that a task races with a deadline. */
typedef struct inner {
  volt_async async;
  volt_future wait;
  volt_future cleanup;
  volt_group group;
} inner;

typedef struct racer {
  volt_task task;
  volt_async_fn *fn;
  inner inner;
  volt_sleep nap;
  volt_timeout timeout;
  volt_select select;
  volt_future *branches[2];
  int result;
} racer;

static by_hand h;
static volt_sem never; /* nobody releases it */
static volt_sem done;  /* what a cleanup waits for */
static volt_mutex mutex;
static unsigned rounds;
static trace t;

static int set_up(void **state) {
  (void)state;
  by_hand_begin(&h);
  volt_sem_init(&never, 0);
  volt_sem_init(&done, 0);
  volt_mutex_init(&mutex);
  rounds = 0;
  trace_begin(&t);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  assert_int_equal(volt_sem_waiters(&never) + volt_sem_waiters(&done), 0);
  by_hand_end(&h, 0);
  return 0;
}

static inner *inner_of(volt_async *a) {
  return volt_container_of(a, inner, async);
}

/* ---- what is raced ---- */

/* Comes to nothing but what is ready. */
static int is_busy(volt_async *a, volt_ctx *ctx) {
  inner *self = inner_of(a);
  VOLT_ASYNC_BEGIN(self);
  for (;;) {
    rounds += 1;
    VOLT_AWAIT(self, volt_mutex_lock_future(&self->wait, &mutex));
    volt_mutex_unlock(&mutex);
  }
  VOLT_ASYNC_END(self);
}

static int cleans_up(volt_async *a, volt_ctx *ctx) {
  inner *self = inner_of(a);
  VOLT_ASYNC_BEGIN(self);
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->wait, &never, 1));
  VOLT_FINALLY(self);
  trace_note(&t, 'f');
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->cleanup, &done, 1));
  trace_note(&t, 'g');
  VOLT_ASYNC_END(self);
}

static int child_poll(volt_task *task, volt_ctx *ctx) {
  child *self = volt_container_of(task, child, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->forever, &never, 1));
  VOLT_FINALLY(self);
  trace_note(&t, 'c');
  VOLT_TASK_END(self);
}

static int has_children(volt_async *a, volt_ctx *ctx) {
  inner *self = inner_of(a);
  VOLT_ASYNC_BEGIN(self);
  volt_group_init(&self->group);
  for (int i = 0; i < 2; i++) {
    child *c = VOLT_TASK_NEW(h.rt, child, child_poll);
    assert_non_null(c);
    assert_result(volt_group_spawn(&self->group, h.rt, &c->task), VOLT_OK);
  }
  VOLT_AWAIT(self, volt_group_wait_future(&self->wait, &self->group));
  VOLT_FINALLY(self);
  trace_note(&t, 'f');
  volt_group_destroy(&self->group); /* aborts if one of them has not ended */
  VOLT_ASYNC_END(self);
}

/* ---- the races ---- */

static int by_timeout(volt_task *task, volt_ctx *ctx) {
  racer *self = volt_container_of(task, racer, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT_RESULT(
      self, self->result,
      volt_timeout_future(&self->timeout, volt_async_future(&self->inner.async, self->fn),
                          volt_rt_timers(h.rt), 100));
  trace_note(&t, 't');
  VOLT_TASK_END(self);
}

static int by_select(volt_task *task, volt_ctx *ctx) {
  racer *self = volt_container_of(task, racer, task);
  VOLT_TASK_BEGIN(self);
  self->branches[0] = volt_async_future(&self->inner.async, self->fn);
  self->branches[1] = volt_sleep_until(&self->nap, volt_rt_timers(h.rt), 100);
  VOLT_AWAIT_RESULT(self, self->result,
                    volt_select_future(&self->select, self->branches, 2, VOLT_SELECT_BIASED));
  assert_int_equal(volt_select_winner(&self->select), 1);
  trace_note(&t, 't');
  VOLT_TASK_END(self);
}

static racer *race(volt_task_fn *how, volt_async_fn *fn) {
  racer *r = VOLT_TASK_NEW(h.rt, racer, how);
  assert_non_null(r);
  r->fn = fn;
  assert_result(volt_spawn(h.rt, &r->task), VOLT_OK);
  return r;
}

static void over(racer *r, int result, const char *expected) {
  assert_result(volt_task_join_blocking(&r->task, PAST_DEADLINE), VOLT_OK);
  assert_result(r->result, result);
  volt_task_detach(&r->task);
  assert_string_equal(t.text, expected);
}

static void a_busy_branch_does_not_stop_the_clock(void **state) {
  (void)state;
  racer *a = race(by_timeout, is_busy);
  racer *b = race(by_select, is_busy);
  assert_int_equal(volt_rt_run(h.rt), 0); /* they would go on for ever */
  assert_true(rounds > 128);
  volt_rt_advance(h.rt, 100);
  assert_true(by_hand_run(&h) == VOLT_NO_DEADLINE);
  over(a, VOLT_ETIMEDOUT, "tt");
  over(b, VOLT_OK, "tt");
}

static void a_busy_future_does_not_stop_a_thread_s_clock(void **state) {
  (void)state;
  inner i;
  volt_future *f = volt_async_future(&i.async, is_busy);
  assert_result(volt_block_on(f, PAST_DEADLINE), VOLT_ETIMEDOUT);
  assert_true(rounds <= 129);
}

static void a_busy_future_lets_a_loop_have_its_turn(void **state) {
  (void)state;
  inner i;
  fake_waker a;
  fake_waker_init(&a, 0, NULL);
  volt_future *f = volt_async_future(&i.async, is_busy);
  for (uint32_t polls = 1; polls <= 3; polls++) {
    assert_result(volt_future_poll(f, fake_waker_of(&a)), VOLT_PENDING);
    assert_int_equal(fake_waker_calls(&a), polls); /* poll again */
  }
  volt_future_cancel(f);
  assert_result(volt_future_poll(f, fake_waker_of(&a)), VOLT_ECANCELED);
}

static void a_loser_cleans_up(volt_task_fn *how, int result) {
  racer *r = race(how, cleans_up);
  by_hand_run(&h);
  volt_rt_advance(h.rt, 100);
  by_hand_run(&h);
  assert_string_equal(t.text, "f"); /* it waits behind VOLT_FINALLY, and so does the whole */
  volt_sem_release(&done, 1);
  by_hand_run(&h);
  over(r, result, "fgt");
}

static void the_inner_one_cleans_up_after_the_deadline(void **state) {
  (void)state;
  a_loser_cleans_up(by_timeout, VOLT_ETIMEDOUT);
}

static void the_loser_of_a_select_cleans_up(void **state) {
  (void)state;
  a_loser_cleans_up(by_select, VOLT_OK);
}

static void a_cancelled_task_cleans_up_inside_a_timeout(void **state) {
  (void)state;
  racer *r = race(by_timeout, cleans_up);
  by_hand_run(&h);
  assert_true(volt_task_cancel(&r->task));
  by_hand_run(&h);
  assert_string_equal(t.text, "f");
  volt_sem_release(&done, 1);
  by_hand_run(&h);
  over(r, VOLT_ECANCELED, "fgt");
}

static void a_group_ends_before_its_function(void **state) {
  (void)state;
  racer *a = race(by_timeout, has_children);
  by_hand_run(&h);
  volt_rt_advance(h.rt, 100);
  by_hand_run(&h);
  over(a, VOLT_ETIMEDOUT, "ccft");
  racer *b = race(by_timeout, has_children);
  assert_true(volt_task_cancel(&b->task));
  by_hand_run(&h);
  assert_result(volt_task_result(&b->task), VOLT_OK);
  volt_task_detach(&b->task);
}

#define A_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      A_TEST(a_busy_branch_does_not_stop_the_clock),
      A_TEST(a_busy_future_does_not_stop_a_thread_s_clock),
      A_TEST(a_busy_future_lets_a_loop_have_its_turn),
      A_TEST(the_inner_one_cleans_up_after_the_deadline),
      A_TEST(the_loser_of_a_select_cleans_up),
      A_TEST(a_cancelled_task_cleans_up_inside_a_timeout),
      A_TEST(a_group_ends_before_its_function),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
