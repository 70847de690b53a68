/* rt_end_test.c: the end of a runtime when more than one thread has to do with it, and the end of one
 * whose calls do not end. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "by_hand.h"
#include "death.h"
#include "thread_team.h"

/* It ends when it is allowed to, and not before: cancelled or not. */
typedef struct slow {
  volt_task task;
  volt_future end;
  volt_blocking call;
  int result;
} slow;

static volt_rt *rt;
static volt_sem may_end;
static VOLT_ATOMIC(uint32_t) asked; /* tasks that were told to end */
static VOLT_ATOMIC(uint32_t) begun; /* calls and threads */
static VOLT_ATOMIC(uint32_t) open;  /* calls may return */
static by_hand h;                   /* counts memory */

static int set_up(void **state) {
  (void)state;
  volt_sem_init(&may_end, 0);
  volt_store_relaxed(&asked, 0); /* nothing runs */
  volt_store_relaxed(&begun, 0);
  volt_store_relaxed(&open, 0);
  return 0;
}

static void create(uint32_t workers) {
  volt_rt_config config = by_hand_config(&h); /* for its memory */
  config.flags = workers ? 0 : config.flags;
  config.workers = workers;
  assert_result(volt_rt_create(&rt, &config), VOLT_OK);
}

static int ends_slowly(volt_task *t, volt_ctx *ctx) {
  slow *self = volt_container_of(t, slow, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT_RESULT(self, self->result, volt_sem_acquire_future(&self->end, &may_end, 2));
  (void)volt_fetch_add_release(&asked, 1);
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->end, &may_end, 1));
  VOLT_TASK_END(self);
}

static int hold(void *arg) {
  (void)arg;
  (void)volt_fetch_add_release(&begun, 1);
  WAIT_UNTIL(volt_load_acquire(&open) != 0);
  return VOLT_OK;
}

static int calls(volt_task *t, volt_ctx *ctx) {
  slow *self = volt_container_of(t, slow, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, volt_blocking_future(&self->call, rt, hold, NULL));
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->end, &may_end, 1));
  VOLT_TASK_END(self);
}

static slow *spawn(volt_task_fn *poll) {
  slow *s = VOLT_TASK_NEW(rt, slow, poll);
  assert_non_null(s);
  assert_result(volt_spawn(rt, &s->task), VOLT_OK);
  return s;
}

/* ---- several threads ---- */

static void shut_down(void *arg, uint32_t index) {
  (void)arg;
  (void)index;
  (void)volt_fetch_add_relaxed(&begun, 1); /* a count */
  REQUIRE(volt_rt_shutdown(rt, VOLT_NO_DEADLINE) == VOLT_OK);
}

static void several_threads_shut_it_down(void **state) {
  (void)state;
  enum { THREADS = 3 };
  create(2);
  volt_task_detach(&spawn(ends_slowly)->task);
  thread_team team;
  thread_team_start(&team, THREADS, shut_down, NULL);
  WAIT_UNTIL(volt_load_relaxed(&begun) == THREADS);
  for (int i = 0; i < 10; i++) {
    assert_result(volt_rt_shutdown(rt, volt_deadline_ns(1000000)), VOLT_ETIMEDOUT);
  }
  volt_sem_release(&may_end, 1);
  assert_result(volt_rt_shutdown(rt, VOLT_NO_DEADLINE), VOLT_OK);
  thread_team_join(&team);
  assert_int_equal(volt_rt_destroy(rt), 1);
}

static void let_end(void *arg, uint32_t index) {
  if (index == 0) {
    shut_down(arg, index);
    return;
  }
  WAIT_UNTIL(volt_load_relaxed(&begun) == 2); /* it is being destroyed, or about to */
  volt_sem_release(&may_end, 1);
}

static void destroyed_while_another_thread_shuts_it_down(void **state) {
  (void)state;
  for (int i = 0; i < 50; i++) {
    set_up(NULL);
    create(1);
    volt_task_detach(&spawn(ends_slowly)->task);
    WAIT_UNTIL(volt_sem_waiters(&may_end) == 1);
    thread_team team;
    thread_team_start(&team, 2, let_end, NULL);
    WAIT_UNTIL(volt_load_acquire(&asked) == 1); /* so the other is in it */
    (void)volt_fetch_add_relaxed(&begun, 1);    /* a count */
    assert_int_equal(volt_rt_destroy(rt), 1);
    assert_int_equal(by_hand_held(&h), 0);
    thread_team_join(&team);
  }
}

static void shut_down_by_two(void *arg) {
  (void)arg;
  create(0);
  (void)spawn(ends_slowly);
  thread_team_run(2, shut_down, NULL);
}

static int waits_for_runner(volt_task *t, volt_ctx *ctx) {
  (void)t;
  (void)ctx;
  (void)volt_fetch_add_release(&begun, 1);
  WAIT_UNTIL(volt_load_acquire(&open) != 0); /* never */
  return VOLT_OK;
}

static void run_it(void *arg, uint32_t index) {
  (void)arg;
  if (index > 0) WAIT_UNTIL(volt_load_acquire(&begun) == 1);
  (void)volt_rt_run(rt);
}

static void run_by_two(void *arg) {
  (void)arg;
  create(0);
  (void)spawn(waits_for_runner);
  thread_team_run(2, run_it, NULL);
}

static int destroy_it(void *arg) {
  (void)arg;
  (void)volt_rt_destroy(rt);
  return VOLT_OK;
}

static void destroy_on_pool(void *arg) {
  volt_blocking b;
  (void)arg;
  create(1);
  REQUIRE(volt_future_wait(volt_blocking_future(&b, rt, destroy_it, NULL)) == 0);
}

static void destroy_in_team(void *arg, uint32_t index) {
  (void)index;
  (void)destroy_it(arg);
}

static void destroy_by_two(void *arg) {
  (void)arg;
  create(1);
  (void)spawn(ends_slowly);
  thread_team_run(2, destroy_in_team, NULL);
}

static int give_up(void *arg) {
  (void)arg;
  return volt_rt_shutdown_background(rt);
}

static void background_by_hand(void *arg) {
  (void)arg;
  create(0);
  (void)give_up(NULL);
}

static void what_aborts(void **state) {
  (void)state;
  assert_death(shut_down_by_two, NULL, "volt_rt_shutdown", "two threads");
  assert_death(run_by_two, NULL, "volt_rt_run", "two threads");
  assert_death(destroy_on_pool, NULL, "volt_rt_destroy", "blocking pool");
  assert_death(destroy_by_two, NULL, "volt_rt_destroy", "being destroyed already");
  assert_death(background_by_hand, NULL, "volt_rt_shutdown_background", "by hand");
}

/* ---- in the background ---- */

static void it_waits_for_no_call_and_ends_with_the_last(void **state) {
  (void)state;
  create(2);
  for (int i = 0; i < 3; i++) volt_task_detach(&spawn(calls)->task);
  volt_task_detach(&spawn(ends_slowly)->task);
  WAIT_UNTIL(volt_load_acquire(&begun) == 3 && volt_sem_waiters(&may_end) == 1);
  slow *late = VOLT_TASK_NEW(rt, slow, calls);
  volt_task_detach(&late->task);
  assert_result(volt_rt_shutdown(rt, PAST_DEADLINE), VOLT_ETIMEDOUT);
  assert_result(volt_rt_shutdown_background(rt), VOLT_OK);
  WAIT_UNTIL(volt_load_acquire(&asked) == 1); /* tasks are told, and run on */
  volt_sem_release(&may_end, 1);
  assert_true(by_hand_held(&h) > 0);
  volt_store_release(&open, 1);
  WAIT_UNTIL(by_hand_held(&h) == 0);
}

static void a_handle_that_is_held_is_good_for_a_join(void **state) {
  (void)state;
  static slow *held; /* its memory is left */
  create(1);
  held = spawn(calls);
  WAIT_UNTIL(volt_load_acquire(&begun) == 1);
  assert_result(volt_rt_shutdown_background(rt), VOLT_OK);
  assert_result(volt_task_join_until(&held->task, PAST_DEADLINE), VOLT_ETIMEDOUT);
  volt_store_release(&open, 1);
  assert_result(volt_task_join(&held->task), VOLT_ECANCELED);
}

static int end_of_child(void (*act)(void)) {
  int status;
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    act();
    exit(1);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void nothing(void *arg, uint32_t index) {
  (void)arg, (void)index;
}

/* Of a child. A sanitizer may start a thread of its own with the first of the program's; and one that
 * was joined is in the kernel's list for a moment, so there may be less of them later. */
static unsigned threads_at_first(void) {
  thread_team_run(1, nothing, NULL);
  return thread_team_of_process();
}

static void start_a_timer_and_give_up(void) {
  volt_timer timer = VOLT_TIMER_INIT;
  const volt_waker none = {NULL, NULL};
  unsigned before = threads_at_first();
  create(2);
  volt_timer_start(volt_rt_timers(rt), &timer, VOLT_NO_DEADLINE, none);
  REQUIRE(volt_rt_shutdown_background(rt) == VOLT_OK);
  WAIT_UNTIL(thread_team_of_process() <= before);
  REQUIRE(volt_timer_cancel(volt_rt_timers(rt), &timer)); /* so it is there still */
  exit(23);
}

static void hold_a_handle_and_give_up(void) {
  unsigned before = threads_at_first();
  create(1);
  slow *held = spawn(calls);
  WAIT_UNTIL(volt_load_acquire(&begun) == 1);
  REQUIRE(volt_rt_shutdown_background(rt) == VOLT_OK);
  volt_store_release(&open, 1);
  WAIT_UNTIL(thread_team_of_process() <= before);
  REQUIRE(volt_task_result(&held->task) == VOLT_ECANCELED); /* so it is there still */
  volt_task_detach(&held->task);
  exit(23);
}

static void a_handle_may_be_detached_when_all_has_ended(void **state) {
  (void)state;
  assert_int_equal(end_of_child(hold_a_handle_and_give_up), 23);
}

static void a_timer_for_ever_keeps_it(void **state) {
  (void)state;
  assert_int_equal(end_of_child(start_a_timer_and_give_up), 23);
}

static int gives_up(volt_task *t, volt_ctx *ctx) {
  (void)t;
  (void)ctx;
  return volt_rt_shutdown_background(rt);
}

static void by_a_task_of_it(void **state) {
  (void)state;
  slow own;
  create(1);
  memset((void *)&own, 0, sizeof own);
  volt_task_init(&own.task, gives_up);
  assert_result(volt_spawn(rt, &own.task), VOLT_OK);
  assert_result(volt_task_join(&own.task), VOLT_OK);
  WAIT_UNTIL(by_hand_held(&h) == 0);
}

static void by_a_call_on_its_pool(void **state) {
  (void)state;
  volt_blocking b;
  create(1);
  assert_result(volt_future_wait(volt_blocking_future(&b, rt, give_up, NULL)), VOLT_OK);
  WAIT_UNTIL(by_hand_held(&h) == 0);
}

static int never(void *arg) {
  (void)volt_fetch_add_release(&begun, 1);
  for (;;) pause();
  return *(int *)arg;
}

static int calls_never(volt_task *t, volt_ctx *ctx) {
  slow *self = volt_container_of(t, slow, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, volt_blocking_future(&self->call, rt, never, NULL));
  VOLT_TASK_END(self);
}

static void give_up_what_calls_for_ever(void) {
  create(2);
  (void)spawn(calls_never);
  WAIT_UNTIL(volt_load_acquire(&begun) == 1);
  exit(volt_rt_shutdown_background(rt) == VOLT_OK ? 23 : 1);
}

static void a_process_ends_although_a_call_does_not(void **state) {
  (void)state;
  assert_int_equal(end_of_child(give_up_what_calls_for_ever), 23);
}

#define A_TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void) {
  const struct CMUnitTest tests[] = {
      A_TEST(what_aborts),
      A_TEST(a_process_ends_although_a_call_does_not),
      A_TEST(a_handle_may_be_detached_when_all_has_ended),
      A_TEST(a_timer_for_ever_keeps_it),
      A_TEST(several_threads_shut_it_down),
      A_TEST(destroyed_while_another_thread_shuts_it_down),
      A_TEST(it_waits_for_no_call_and_ends_with_the_last),
      A_TEST(by_a_task_of_it),
      A_TEST(by_a_call_on_its_pool),
      A_TEST(a_handle_that_is_held_is_good_for_a_join),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
