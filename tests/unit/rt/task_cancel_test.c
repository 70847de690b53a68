/* task_cancel_test.c: a task that is asked to end, in each state that it can be in. What an async
 * function does about it is in async_cancel_test.c. What ran is the trace. */
#include "by_hand.h"

typedef struct job {
  volt_task task;
  volt_future first;
  volt_future second;
  volt_future third;
  volt_select select;
  volt_future *branches[2];
  struct {
    volt_async async;
    volt_future permit;
  } inner;
  volt_task *other;
  int result; /* of its first await */
  int returns;
  bool asked; /* what its own cancel has returned */
} job;

static by_hand h;
static volt_sem sem;
static volt_sem last; /* for what VOLT_FINALLY awaits */
static trace t;
static job *j;

static int set_up(void **state) {
  (void)state;
  by_hand_begin(&h);
  volt_sem_init(&sem, 0);
  volt_sem_init(&last, 0);
  trace_begin(&t);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  assert_int_equal(volt_sem_waiters(&sem), 0);
  assert_int_equal(volt_sem_waiters(&last), 0);
  volt_task_detach(&j->task);
  by_hand_end(&h, 0);
  return 0;
}

static job *job_of(volt_task *task) {
  return volt_container_of(task, job, task);
}

static void spawn(volt_task_fn *poll) {
  j = VOLT_TASK_NEW(h.rt, job, poll);
  assert_non_null(j);
  assert_result(volt_spawn(h.rt, &j->task), VOLT_OK);
}

/* It runs until it waits. */
static void spawn_and_run(volt_task_fn *poll) {
  spawn(poll);
  by_hand_run(&h);
}

static void cancel_and_run(void) {
  assert_true(volt_task_cancel(&j->task));
  by_hand_run(&h);
}

static void expect(const char *ran, int result) {
  assert_string_equal(t.text, ran);
  assert_result(volt_task_result(&j->task), result);
}

/* Takes two permits one after the other, and in the end one of last. */
static int with_finally(volt_task *task, volt_ctx *ctx) {
  job *self = job_of(task);
  VOLT_TASK_BEGIN(self);
  trace_note(&t, 'a');
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->first, &sem, 1));
  trace_note(&t, 'b');
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->second, &sem, 1));
  trace_note(&t, 'c');
  VOLT_FINALLY(self);
  trace_note(&t, 'f');
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->third, &last, 1));
  trace_note(&t, 'g');
  VOLT_TASK_END(self);
}

static void before_its_first_poll(void **state) {
  (void)state;
  volt_sem_release(&sem, 1);
  spawn(with_finally);
  cancel_and_run();
  expect("af", VOLT_PENDING); /* it has begun; its first await has failed, with a permit there */
  assert_int_equal(volt_sem_available(&sem), 1);
  volt_sem_release(&last, 1);
  by_hand_run(&h);
  expect("afg", VOLT_ECANCELED);
}

static void while_it_waits(void **state) {
  (void)state;
  spawn_and_run(with_finally);
  cancel_and_run();
  expect("af", VOLT_PENDING); /* obeyed once: what VOLT_FINALLY awaits is awaited */
  assert_int_equal(volt_sem_waiters(&sem), 0);
  assert_int_equal(volt_sem_waiters(&last), 1);
  volt_sem_release(&last, 1);
  by_hand_run(&h);
  expect("afg", VOLT_ECANCELED);
}

static void granted_in_the_same_instant(void **state) {
  (void)state;
  spawn_and_run(with_finally);
  volt_sem_release(&sem, 1);
  assert_int_equal(volt_sem_available(&sem), 0); /* it has been given it, and is queued */
  volt_sem_release(&last, 1);
  cancel_and_run();
  expect("afg", VOLT_ECANCELED);
  assert_int_equal(volt_sem_available(&sem), 1);
}

static void cancelled_and_then_granted(void **state) {
  (void)state;
  spawn_and_run(with_finally);
  assert_true(volt_task_cancel(&j->task));
  volt_sem_release(&sem, 1); /* it is queued and waits still */
  volt_sem_release(&last, 1);
  by_hand_run(&h);
  expect("afg", VOLT_ECANCELED);
  assert_int_equal(volt_sem_available(&sem), 1);
}

static void in_the_second_await(void **state) {
  (void)state;
  volt_sem_release(&sem, 1);
  spawn_and_run(with_finally);
  volt_sem_release(&last, 1);
  cancel_and_run();
  expect("abfg", VOLT_ECANCELED);
  assert_int_equal(volt_sem_available(&sem), 0); /* the first permit was its own */
}

static void twice_before_it_obeys_is_once(void **state) {
  (void)state;
  spawn_and_run(with_finally);
  assert_true(volt_task_cancel(&j->task));
  cancel_and_run();
  expect("af", VOLT_PENDING);
  volt_sem_release(&last, 1);
  by_hand_run(&h);
  expect("afg", VOLT_ECANCELED);
}

static void once_more_does_not_end_what_finally_awaits(void **state) {
  (void)state;
  spawn_and_run(with_finally);
  cancel_and_run();
  cancel_and_run();
  expect("af", VOLT_PENDING);
  volt_sem_release(&last, 1);
  by_hand_run(&h);
  expect("afg", VOLT_ECANCELED);
  assert_false(volt_task_cancel(&j->task));
}

static void after_it_has_returned(void **state) {
  (void)state;
  volt_sem_release(&sem, 2);
  volt_sem_release(&last, 1);
  spawn_and_run(with_finally);
  expect("abcfg", VOLT_OK);
  assert_false(volt_task_cancel(&j->task));
  assert_result(volt_task_join(&j->task), VOLT_OK);
  assert_false(volt_task_cancel(&j->task));
  expect("abcfg", VOLT_OK);
}

static void it_may_look_whether_it_was_asked(void **state) {
  (void)state;
  volt_sem_release(&last, 1);
  spawn(with_finally);
  assert_false(volt_task_is_cancelled(&j->task));
  by_hand_run(&h);
  assert_false(volt_task_is_cancelled(&j->task));
  assert_true(volt_task_cancel(&j->task));
  assert_true(volt_task_is_cancelled(&j->task));
  by_hand_run(&h);
  expect("afg", VOLT_ECANCELED);
  assert_true(volt_task_is_cancelled(&j->task)); /* also when it has obeyed, and ended */
}

/* ---- by itself, in its poll ---- */

static int cancels_itself(volt_task *task, volt_ctx *ctx) {
  job *self = job_of(task);
  VOLT_TASK_BEGIN(self);
  self->asked = volt_task_cancel(task);
  VOLT_AWAIT_RESULT(self, self->result, volt_sem_acquire_future(&self->first, &sem, 1));
  trace_note(&t, 'a');
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->second, &last, 1));
  trace_note(&t, 'b');
  VOLT_TASK_END(self);
}

static void during_its_own_poll(void **state) {
  (void)state;
  spawn_and_run(cancels_itself);
  assert_true(j->asked);
  expect("a", VOLT_PENDING);
  assert_result(j->result, VOLT_ECANCELED);
  volt_sem_release(&last, 1);
  by_hand_run(&h);
  expect("ab", VOLT_OK);
}

/* Asked again after it has obeyed, in the same poll: both count. */
static int cancels_itself_again(volt_task *task, volt_ctx *ctx) {
  job *self = job_of(task);
  int result;
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT_RESULT(self, result, volt_sem_acquire_future(&self->first, &sem, 1));
  trace_note(&t, result == VOLT_ECANCELED ? 'f' : '?');
  self->asked = volt_task_cancel(task);
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->second, &last, 1));
  trace_note(&t, 'g');
  VOLT_TASK_END(self);
}

static void asked_again_after_it_has_obeyed(void **state) {
  (void)state;
  spawn_and_run(cancels_itself_again);
  cancel_and_run();
  assert_true(j->asked);
  bool lost = volt_task_result(&j->task) == VOLT_PENDING;
  volt_sem_release(&last, 1);
  by_hand_run(&h);
  assert_false(lost);
  expect("f", VOLT_ECANCELED);
}

static int cancels_itself_and_returns(volt_task *task, volt_ctx *ctx) {
  job *self = job_of(task);
  (void)ctx;
  self->asked = volt_task_cancel(task);
  return self->returns;
}

static void what_it_returns_is_the_outcome(void **state) {
  (void)state;
  spawn_and_run(cancels_itself_and_returns);
  assert_true(j->asked);
  expect("", VOLT_OK);
}

/* ---- what it awaits ---- */

static int takes_what_comes(volt_task *task, volt_ctx *ctx) {
  job *self = job_of(task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT_RESULT(self, self->result, volt_sem_acquire_future(&self->first, &sem, 1));
  trace_note(&t, 'a');
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->second, &sem, 1));
  trace_note(&t, 'b');
  VOLT_TASK_END(self);
}

static void it_may_go_on(void **state) {
  (void)state;
  spawn_and_run(takes_what_comes);
  cancel_and_run();
  expect("a", VOLT_PENDING);
  assert_result(j->result, VOLT_ECANCELED);
  volt_sem_release(&sem, 1);
  by_hand_run(&h);
  expect("ab", VOLT_OK);
}

static int yields(volt_task *task, volt_ctx *ctx) {
  job *self = job_of(task);
  VOLT_TASK_BEGIN(self);
  self->asked = self->other && volt_task_cancel(self->other);
  trace_note(&t, 'a');
  VOLT_YIELD(self);
  trace_note(&t, 'b');
  VOLT_FINALLY(self);
  trace_note(&t, 'f');
  VOLT_YIELD(self);
  trace_note(&t, 'g');
  VOLT_TASK_END(self);
}

static void a_yield_obeys(void **state) {
  (void)state;
  spawn(yields);
  j->other = &j->task;
  by_hand_run(&h);
  assert_true(j->asked);
  expect("afg", VOLT_ECANCELED);
}

static void another_task_cancels_it_where_it_is_queued(void **state) {
  (void)state;
  spawn(yields);
  job *victim = j;
  spawn(yields); /* runs after the victim's first stretch */
  j->other = &victim->task;
  by_hand_run(&h);
  assert_true(j->asked);
  expect("aafbfgg", VOLT_OK); /* the victim: a, f, g; the other: a, bf, g */
  assert_result(volt_task_result(&victim->task), VOLT_ECANCELED);
  volt_task_detach(&victim->task);
}

static int inner_poll(volt_async *a, volt_ctx *ctx) {
  job *self = volt_container_of(a, job, inner.async);
  VOLT_ASYNC_BEGIN(&self->inner);
  VOLT_AWAIT(&self->inner, volt_sem_acquire_future(&self->inner.permit, &sem, 1));
  VOLT_FINALLY(&self->inner);
  trace_note(&t, 'i');
  VOLT_AWAIT(&self->inner, volt_sem_acquire_future(&self->third, &last, 1));
  trace_note(&t, 'n');
  VOLT_ASYNC_END(&self->inner);
}

static int awaits_inner(volt_task *task, volt_ctx *ctx) {
  job *self = job_of(task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT_RESULT(self, self->result, volt_async_future(&self->inner.async, inner_poll));
  trace_note(&t, 'o');
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->second, &last, 1));
  trace_note(&t, 'p');
  VOLT_TASK_END(self);
}

static void the_innermost_await_obeys(void **state) {
  (void)state;
  spawn_and_run(awaits_inner);
  cancel_and_run();
  expect("i", VOLT_PENDING);
  volt_sem_release(&last, 1);
  by_hand_run(&h);
  expect("ino", VOLT_PENDING);
  assert_result(j->result, VOLT_ECANCELED);
  volt_sem_release(&last, 1);
  by_hand_run(&h);
  expect("inop", VOLT_OK);
}

static int selects(volt_task *task, volt_ctx *ctx) {
  job *self = job_of(task);
  VOLT_TASK_BEGIN(self);
  self->branches[0] = volt_sem_acquire_future(&self->first, &sem, 2);
  self->branches[1] = volt_sem_acquire_future(&self->second, &last, 1);
  VOLT_AWAIT(self, volt_select_future(&self->select, self->branches, 2, VOLT_SELECT_BIASED));
  trace_note(&t, 's');
  VOLT_TASK_END(self);
}

static void a_select_gives_everything_back(void **state) {
  (void)state;
  for (int granted = 0; granted < 3; granted++) {
    volt_sem_init(&sem, 0);
    volt_sem_init(&last, 0);
    spawn_and_run(selects);
    if (granted > 0) volt_sem_release(&sem, 2);
    if (granted > 1) volt_sem_release(&last, 1); /* both in the same instant */
    cancel_and_run();
    expect("", VOLT_ECANCELED);
    assert_int_equal(volt_sem_available(&sem), granted > 0 ? 2 : 0);
    assert_int_equal(volt_sem_available(&last), granted > 1);
    if (granted < 2) volt_task_detach(&j->task);
  }
}

static int joins(volt_task *task, volt_ctx *ctx) {
  job *self = job_of(task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, volt_task_join_future(&self->first, self->other));
  VOLT_TASK_END(self);
}

static void a_join_leaves_the_other_alone(void **state) {
  (void)state;
  spawn_and_run(takes_what_comes);
  job *other = j;
  spawn(joins);
  j->other = &other->task;
  by_hand_run(&h);
  cancel_and_run();
  expect("", VOLT_ECANCELED);
  volt_sem_release(&sem, 2);
  by_hand_run(&h);
  assert_result(volt_task_join(&other->task), VOLT_OK);
  assert_result(other->result, VOLT_OK);
  volt_task_detach(&other->task);
}

#define A_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      A_TEST(before_its_first_poll),
      A_TEST(while_it_waits),
      A_TEST(granted_in_the_same_instant),
      A_TEST(cancelled_and_then_granted),
      A_TEST(in_the_second_await),
      A_TEST(twice_before_it_obeys_is_once),
      A_TEST(once_more_does_not_end_what_finally_awaits),
      A_TEST(after_it_has_returned),
      A_TEST(it_may_look_whether_it_was_asked),
      A_TEST(during_its_own_poll),
      A_TEST(asked_again_after_it_has_obeyed),
      A_TEST(what_it_returns_is_the_outcome),
      A_TEST(it_may_go_on),
      A_TEST(a_yield_obeys),
      A_TEST(another_task_cancels_it_where_it_is_queued),
      A_TEST(the_innermost_await_obeys),
      A_TEST(a_select_gives_everything_back),
      A_TEST(a_join_leaves_the_other_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
