/* task_misuse_test.c: what aborts of tasks, groups and runtimes, and what it says. */
#include "by_hand.h"
#include "core/os/check.h"
#include "death.h"

typedef struct job {
  volt_task task;
  volt_future permit;
  volt_parker parker;
  void (*act)(void *arg);
} job;

static by_hand h;
static volt_sem sem;
static fake_waker a;
static job *j;
static job own; /* memory of the test's */
static job bare;
static volt_future join;
static volt_group group;

static int waits(volt_task *task, volt_ctx *ctx) {
  job *self = volt_container_of(task, job, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->permit, &sem, 1));
  VOLT_TASK_END(self);
}

static int acts(volt_task *task, volt_ctx *ctx) {
  job *self = volt_container_of(task, job, task);
  (void)ctx;
  self->act(self);
  return VOLT_OK;
}

/* *j: spawned, waits. own: not spawned. bare: not even initialised. */
static int set_up(void **state) {
  (void)state;
  by_hand_begin(&h);
  volt_sem_init(&sem, 0);
  fake_waker_init(&a, 0, NULL);
  memset((void *)&own, 0, sizeof own);
  memset((void *)&join, 0, sizeof join);
  memset((void *)&bare, 0, sizeof bare);
  volt_task_init(&own.task, waits);
  volt_group_init(&group);
  j = VOLT_TASK_NEW(h.rt, job, waits);
  assert_non_null(j);
  assert_result(volt_spawn(h.rt, &j->task), VOLT_OK);
  by_hand_run(&h);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  volt_future_cancel(&join);
  volt_sem_release(&sem, 4);
  by_hand_run(&h);
  volt_task_detach(&j->task);
  by_hand_end(&h, 0);
  return 0;
}

static void end_j(void) {
  volt_sem_release(&sem, 1);
  by_hand_run(&h);
  assert_result(volt_task_result(&j->task), VOLT_OK);
}

static void spawn_own(void) {
  assert_result(volt_spawn(h.rt, &own.task), VOLT_OK);
  by_hand_run(&h);
}

/* What aborts: each in a child process. */

static void spawn(void *arg) {
  ignore_result(volt_spawn(h.rt, (volt_task *)arg));
}
static void spawn_in_group(void *arg) {
  ignore_result(volt_group_spawn(&group, h.rt, (volt_task *)arg));
}
static void cancel(void *arg) {
  (void)volt_task_cancel((volt_task *)arg);
}
static void detach(void *arg) {
  volt_task_detach((volt_task *)arg);
}
static void poll_join(void *arg) {
  volt_future f;
  (void)volt_future_poll(volt_task_join_future(&f, (volt_task *)arg), fake_waker_of(&a));
}
static void join_in_time(void *arg) {
  (void)volt_task_join_until((volt_task *)arg, PAST_DEADLINE);
}
static void run(void *arg) {
  (void)arg;
  by_hand_run(&h);
}
static void spawn_and_run(void *arg) { /* in the child only: the parent never runs it */
  ignore_result(volt_spawn(h.rt, (volt_task *)arg));
  by_hand_run(&h);
}
static void destroy(void *arg) {
  (void)arg;
  (void)volt_rt_destroy(h.rt);
}
static void shut_down(void *arg) {
  (void)arg;
  (void)volt_rt_shutdown(h.rt, PAST_DEADLINE);
}
static void advance(void *arg) {
  (void)arg;
  volt_rt_advance(h.rt, 1);
}
static void destroy_group(void *arg) {
  (void)arg;
  volt_group_destroy(&group);
}
static void poll_group(void *arg) {
  (void)arg;
  volt_future f;
  (void)volt_future_poll(volt_group_wait_future(&f, &group), fake_waker_of(&a));
}
static void block(void *arg) {
  (void)volt_park_until(&((job *)arg)->parker, 1, PAST_DEADLINE);
}
static void new_of_too_little(void *arg) {
  (void)arg;
  REQUIRE(volt_task_new(h.rt, sizeof(volt_task) - 1, waits) != NULL);
}

static void spawned_twice(void **state) {
  (void)state;
  assert_death(spawn, &j->task, "volt_spawn", death_address(&j->task), "spawned before");
  assert_death(spawn_in_group, &j->task, "volt_spawn", death_address(&j->task), "spawned before");
  end_j();
  assert_death(spawn, &j->task, "volt_spawn", death_address(&j->task), "spawned before");
}

static void spawned_without_init(void **state) {
  (void)state;
  assert_death(spawn, &bare.task, "volt_spawn", death_address(&bare.task), "not initialised");
}

static void not_spawned(void **state) {
  (void)state;
  const char *at = death_address(&own.task);
  assert_death(cancel, &own.task, "volt_task_cancel", at, "not spawned");
  assert_death(poll_join, &own.task, "volt_task_join", at, "not spawned");
  assert_death(join_in_time, &own.task, "volt_task_join", at, "not spawned");
}

static void joined_twice_at_once(void **state) {
  (void)state;
  volt_future_made(volt_task_join_future(&join, &j->task));
  assert_result(volt_future_poll(&join, fake_waker_of(&a)), VOLT_PENDING);
  const char *at = death_address(&j->task);
  assert_death(poll_join, &j->task, "volt_task_join", at, "joined already");
  assert_death(join_in_time, &j->task, "volt_task_join", at, "joined already");
  assert_death(detach, &j->task, "volt_task_detach", at, "being joined");
}

static void detached_and_then_used(void **state) {
  (void)state;
  spawn_own();
  for (int ended = 0; ended < 2; ended++) {
    if (!ended) volt_task_detach(&own.task);
    assert_death(poll_join, &own.task, "volt_task_join", death_address(&own.task), "detached");
    assert_death(detach, &own.task, "volt_task_detach", death_address(&own.task),
                 "detached already");
    volt_sem_release(&sem, 2);
    by_hand_run(&h);
  }
}

/* From the pool, where a second detach would free the block twice, and of the test's. */
static void detached_after_its_end_and_then_used(void **state) {
  (void)state;
  spawn_own();
  volt_sem_release(&sem, 2);
  by_hand_run(&h);
  job *last = VOLT_TASK_NEW(h.rt, job, waits); /* never spawned */
  assert_non_null(last);
  volt_task *ended[] = {&own.task, &j->task, &last->task};
  for (size_t i = 0; i < sizeof ended / sizeof *ended; i++) {
    const char *at = death_address(ended[i]);
    volt_task_detach(ended[i]);
    assert_death(detach, ended[i], "volt_task_detach", at, "detached already", "(state 0x");
    assert_death(poll_join, ended[i], "volt_task_join", at, "detached");
    assert_death(cancel, ended[i], "volt_task_cancel", at, "detached");
    assert_death(spawn, ended[i], "volt_spawn", at, "detached");
    assert_death(spawn_in_group, ended[i], "volt_spawn", at, "detached");
  }
  j = VOLT_TASK_NEW(h.rt, job, waits); /* the same block, perhaps: it is as new */
  assert_non_null(j);
  assert_result(volt_spawn(h.rt, &j->task), VOLT_OK);
  by_hand_run(&h);
  end_j();
}

static void a_task_of_a_group_has_no_handle(void **state) {
  (void)state;
  assert_result(volt_group_spawn(&group, h.rt, &own.task), VOLT_OK);
  by_hand_run(&h);
  assert_death(poll_join, &own.task, "volt_task_join", death_address(&own.task), "of a group");
  assert_death(detach, &own.task, "volt_task_detach", death_address(&own.task), "of a group");
}

static void a_group_destroyed_with_tasks(void **state) {
  (void)state;
  assert_result(volt_group_spawn(&group, h.rt, &own.task), VOLT_OK);
  assert_death(destroy_group, NULL, "volt_group_destroy", death_address(&group), "1 tasks");
}

static void a_group_waited_for_twice_at_once(void **state) {
  (void)state;
  assert_result(volt_group_spawn(&group, h.rt, &own.task), VOLT_OK);
  volt_future_made(volt_group_wait_future(&join, &group));
  assert_result(volt_future_poll(&join, fake_waker_of(&a)), VOLT_PENDING);
  assert_death(poll_group, NULL, "volt_group", death_address(&group), "waited for already");
}

static void poll_next(void *arg) {
  volt_future f;
  volt_task *t;
  (void)volt_future_poll(volt_group_next_future(&f, (volt_group *)arg, &t), fake_waker_of(&a));
}
static void try_next(void *arg) {
  volt_task *t;
  (void)!volt_group_try_next((volt_group *)arg, &t);
}
static void init_group_with_all_bits(void *arg) {
  volt_group_init_how((volt_group *)arg, ~0u);
}

static void a_group_waited_for_and_taken_from_at_once(void **state) {
  (void)state;
  volt_group_init_how(&group, VOLT_GROUP_KEEP_RESULTS);
  assert_result(volt_group_spawn(&group, h.rt, &own.task), VOLT_OK);
  const char *at = death_address(&group);
  volt_future_made(volt_group_wait_future(&join, &group));
  assert_result(volt_future_poll(&join, fake_waker_of(&a)), VOLT_PENDING);
  assert_death(poll_next, &group, "volt_group", at, "waited for already");
  volt_future_cancel(&join);
  volt_task *t;
  volt_future_made(volt_group_next_future(&join, &group, &t));
  assert_result(volt_future_poll(&join, fake_waker_of(&a)), VOLT_PENDING);
  assert_death(poll_group, NULL, "volt_group", at, "waited for already");
  assert_death(poll_next, &group, "volt_group", at, "waited for already");
}

static void a_group_that_keeps_no_results(void **state) {
  (void)state;
  assert_death(poll_next, &group, "volt_group_next", death_address(&group), "keeps no results");
  assert_death(try_next, &group, "volt_group_next", death_address(&group), "keeps no results");
  assert_death(init_group_with_all_bits, &group, "volt_group_init_how", death_address(&group),
               "how is 4294967295");
}

static int returns_pending(volt_task *task, volt_ctx *ctx) {
  job *self = volt_container_of(task, job, task);
  (void)ctx;
  VOLT_TASK_BEGIN(self);
  VOLT_RETURN(self, VOLT_PENDING);
  VOLT_TASK_END(self);
}

static void pending_is_not_a_result(void **state) {
  (void)state;
  volt_task_init(&own.task, returns_pending);
  assert_death(spawn_and_run, &own.task, "VOLT_RETURN", "VOLT_PENDING");
}

/* Leaves as async.h forbids. */
static int returns_inside(volt_task *task, volt_ctx *ctx) {
  job *self = volt_container_of(task, job, task);
  (void)ctx;
  VOLT_TASK_BEGIN(self);
  if (volt_task_result(task) == VOLT_PENDING) return -7;
  VOLT_FINALLY(self);
  VOLT_TASK_END(self);
}

static void a_return_that_skips_finally(void **state) {
  (void)state;
  if (!VOLT_DEBUG) skip();
  volt_task_init(&own.task, returns_inside);
  assert_death(spawn_and_run, &own.task, "returns_inside", "task_misuse_test.c:", "(-7)",
               "VOLT_RETURN(self, -7)");
}

/* Calls a function of tasks again that has returned. */
static int comes_again(volt_task *task, volt_ctx *ctx) {
  if (waits(task, ctx) == VOLT_OK) ctx->yield = true;
  return VOLT_PENDING;
}

static void polled_after_its_end(void **state) {
  (void)state;
  volt_task_init(&own.task, comes_again);
  volt_sem_release(&sem, 2); /* for j as well, whom the parent runs later */
  assert_death(spawn_and_run, &own.task, "waits", "polled after it has returned");
}

/* ---- calls that block, and need not wait ---- */

static volt_mutex free_mutex;
static volt_rwlock free_rw;
static volt_sem free_sem;
static volt_latch open_latch;
static volt_notify notified;
static volt_token cancelled;
static volt_once done;

static void locks_mutex(void *arg) {
  (void)arg;
  volt_mutex_lock(&free_mutex);
}
static void locks_mutex_for_now(void *arg) {
  (void)arg;
  ignore_result(volt_mutex_lock_until(&free_mutex, PAST_DEADLINE));
}
static void reads(void *arg) {
  (void)arg;
  volt_rwlock_read(&free_rw);
}
static void writes(void *arg) {
  (void)arg;
  ignore_result(volt_rwlock_write_until(&free_rw, VOLT_NO_DEADLINE));
}
static void acquires(void *arg) {
  (void)arg;
  ignore_result(volt_sem_acquire(&free_sem, 1));
}
static void awaits_latch(void *arg) {
  (void)arg;
  volt_latch_wait(&open_latch);
}
static void awaits_notify(void *arg) {
  (void)arg;
  volt_notify_one(&notified);
  ignore_result(volt_notify_wait(&notified));
}
static void awaits_token(void *arg) {
  (void)arg;
  volt_token_cancel(&cancelled);
  ignore_result(volt_token_wait(&cancelled));
}
static void begins_once(void *arg) {
  (void)arg;
  ignore_result(volt_once_begin(&done));
}
static void blocks_on_what_is_ready(void *arg) {
  volt_future f;
  (void)arg;
  ignore_result(volt_future_wait(volt_sem_acquire_future(&f, &free_sem, 1)));
}

static int blocks_behind_an_await(volt_task *task, volt_ctx *ctx) {
  job *self = volt_container_of(task, job, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->permit, &free_sem, 1));
  volt_mutex_lock(&free_mutex);
  VOLT_TASK_END(self);
}

static void a_task_that_blocks_and_need_not_wait(void **state) {
  (void)state;
  if (!VOLT_DEBUG) skip();
  const struct {
    void (*act)(void *arg);
    const char *call;
  } calls[] = {
      {locks_mutex, "volt_mutex_lock"},
      {locks_mutex_for_now, "volt_mutex_lock_until"},
      {reads, "volt_rwlock_read"},
      {writes, "volt_rwlock_write_until"},
      {acquires, "volt_sem_acquire"},
      {awaits_latch, "volt_latch_wait_until"},
      {awaits_notify, "volt_notify_wait_until"},
      {awaits_token, "volt_token_wait_until"},
      {begins_once, "volt_once_begin_until"},
      {blocks_on_what_is_ready, "volt_future_wait_until"},
  };
  volt_sem_init(&free_sem, 2);
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
    volt_task_init(&own.task, acts);
    own.act = calls[i].act;
    assert_death(spawn_and_run, &own.task, calls[i].call, death_address(&own.task),
                 "await a future instead", "called from ");
  }
  volt_task_init(&own.task, blocks_behind_an_await);
  assert_death(spawn_and_run, &own.task, "volt_mutex_lock", "in blocks_behind_an_await",
               "task_misuse_test.c:", "await a future instead");
}

static void memory_of_less_than_a_task(void **state) {
  (void)state;
  assert_death(new_of_too_little, NULL, "volt_task_new", "bytes");
}

/* ---- runtimes ---- */

static void destroyed_with_tasks_held(void **state) {
  (void)state;
  assert_death(destroy, NULL, "volt_rt_destroy", death_address(h.rt), "1 tasks", "detach");
  end_j();
  assert_death(destroy, NULL, "volt_rt_destroy", death_address(h.rt), "1 tasks", "detach");
}

static void destroyed_with_a_timer(void **state) {
  (void)state;
  volt_sleep_op nap;
  volt_future_made(volt_sleep_future(&nap, volt_rt_timers(h.rt), 1000));
  assert_result(volt_future_poll(&nap.future, fake_waker_of(&a)), VOLT_PENDING);
  volt_sem_release(&sem, 1);
  assert_death(destroy, NULL, "volt_timers_destroy");
  volt_future_cancel(&nap.future);
}

static void from_a_task(void **state) {
  (void)state;
  static const struct {
    void (*act)(void *arg);
    const char *says;
  } cases[] = {{run, "volt_rt_run"},
               {shut_down, "volt_rt_shutdown"},
               {destroy, "volt_rt_destroy"},
               {advance, "volt_rt_advance"}};
  volt_task_init(&own.task, acts);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    own.act = cases[i].act;
    assert_death(spawn_and_run, &own.task, cases[i].says, death_address(h.rt),
                 "called from a task");
  }
}

static void a_task_that_blocks(void **state) {
  (void)state;
#if defined(VOLT_DEBUG) && VOLT_DEBUG
  volt_task_init(&own.task, acts);
  own.act = block;
  assert_death(spawn_and_run, &own.task, "volt_park_until", "must not block");
#else
  (void)block;
  skip();
#endif
}

static void time_that_is_not_ours(void **state) {
  (void)state;
  volt_rt_config config;
  memset(&config, 0, sizeof config);
  config.flags = VOLT_RT_BY_HAND;
  by_hand virtual_one = h;
  assert_result(volt_rt_create(&h.rt, &config), VOLT_OK);
  assert_death(advance, NULL, "volt_rt_advance", death_address(h.rt), "no virtual clock");
  assert_int_equal(volt_rt_destroy(h.rt), 0);
  h.rt = virtual_one.rt;
}

#define A_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      A_TEST(a_return_that_skips_finally),
      A_TEST(spawned_twice),
      A_TEST(spawned_without_init),
      A_TEST(not_spawned),
      A_TEST(joined_twice_at_once),
      A_TEST(detached_and_then_used),
      A_TEST(detached_after_its_end_and_then_used),
      A_TEST(a_task_of_a_group_has_no_handle),
      A_TEST(a_group_destroyed_with_tasks),
      A_TEST(a_group_waited_for_twice_at_once),
      A_TEST(a_group_waited_for_and_taken_from_at_once),
      A_TEST(a_group_that_keeps_no_results),
      A_TEST(pending_is_not_a_result),
      A_TEST(polled_after_its_end),
      A_TEST(memory_of_less_than_a_task),
      A_TEST(destroyed_with_tasks_held),
      A_TEST(destroyed_with_a_timer),
      A_TEST(from_a_task),
      A_TEST(a_task_that_blocks),
      A_TEST(a_task_that_blocks_and_need_not_wait),
      A_TEST(time_that_is_not_ours),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
