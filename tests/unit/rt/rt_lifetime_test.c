/* rt_lifetime_test.c: how runtimes begin and end: configurations, memory that runs out at each place
 * in turn, workers on CPUs, shutdown; two runtimes side by side. */
#define _GNU_SOURCE /* sched_getaffinity */
#include <sched.h>

#include "by_hand.h"
#include "thread_team.h"

typedef struct job {
  volt_task task;
  volt_future permit;
  volt_future slow;
  volt_future join;
  volt_task *other;
  volt_rt *ran_on;
  int result;
  int cpu;
} job;

static by_hand h; /* where a test wants one */
static volt_sem sem;
static volt_sem last;

static int set_up(void **state) {
  (void)state;
  volt_sem_init(&sem, 0);
  volt_sem_init(&last, 0);
  memset((void *)&h, 0, sizeof h);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  assert_int_equal(volt_sem_waiters(&sem), 0);
  assert_int_equal(volt_sem_waiters(&last), 0);
  return 0;
}

static job *job_of(volt_task *t) {
  return volt_container_of(t, job, task);
}

/* Takes a permit; in the end one of last, if it did not get that. */
static int waits(volt_task *t, volt_ctx *ctx) {
  job *self = job_of(t);
  VOLT_TASK_BEGIN(self);
  self->ran_on = volt_rt_current();
  self->cpu = sched_getcpu();
  VOLT_AWAIT_RESULT(self, self->result, volt_sem_acquire_future(&self->permit, &sem, 1));
  if (self->result != VOLT_OK) {
    VOLT_AWAIT(self, volt_sem_acquire_future(&self->slow, &last, 1));
  }
  VOLT_RETURN(self, self->result);
  VOLT_TASK_END(self);
}

static job *new_job(volt_rt *rt) {
  job *j = VOLT_TASK_NEW(rt, job, waits);
  assert_non_null(j);
  return j;
}

static job *spawn(volt_rt *rt) {
  job *j = new_job(rt);
  assert_result(volt_spawn(rt, &j->task), VOLT_OK);
  return j;
}

static void end(job *j, int result) {
  assert_result(volt_task_join(&j->task), result);
  volt_task_detach(&j->task);
}

/* ---- configurations ---- */

static void expect_refused(const volt_rt_config *config) {
  volt_rt *rt = (volt_rt *)(void *)&h;
  assert_result(volt_rt_create(&rt, config), VOLT_EINVAL);
  assert_null(rt);
}

static void what_is_refused(void **state) {
  (void)state;
  int cpu = 0;
  expect_refused(&(volt_rt_config){.workers = VOLT_RT_WORKERS_MAX + 1});
  expect_refused(&(volt_rt_config){.workers = UINT32_MAX});
  expect_refused(&(volt_rt_config){.flags = 32});
  expect_refused(&(volt_rt_config){.flags = ~0u});
  expect_refused(&(volt_rt_config){.workers = 2, .flags = VOLT_RT_BY_HAND});
  expect_refused(&(volt_rt_config){.workers = 1, .cpus = &cpu, .cpu_count = 0});
  expect_refused(&(volt_rt_config){.workers = 1, .fiber_stack_bytes = 16 * 1024 - 1});
  expect_refused(&(volt_rt_config){.workers = 1, .fiber_stack_bytes = 64 * 1024 * 1024 + 1});
  for (size_t i = 0; i < sizeof((volt_rt_config *)0)->reserved / sizeof(uint64_t); i++) {
    volt_rt_config later = {.workers = 1};
    later.reserved[i] = 1;
    expect_refused(&later);
  }
}

static uint32_t workers_of(const volt_rt_config *config) {
  volt_rt *rt;
  volt_rt_stats_of stats;
  assert_result(volt_rt_create(&rt, config), VOLT_OK);
  volt_rt_stats(rt, &stats);
  volt_worker_stats worker;
  for (uint32_t i = 0; i < stats.workers; i++) {
    assert_result(volt_rt_worker_stats(rt, i, &worker), VOLT_OK);
  }
  assert_result(volt_rt_worker_stats(rt, stats.workers, &worker), VOLT_EINVAL);
  assert_int_equal(volt_rt_destroy(rt), 0);
  return stats.workers;
}

static void how_many_workers(void **state) {
  (void)state;
  cpu_set_t set;
  assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
  uint32_t cpus = (uint32_t)CPU_COUNT(&set);
  if (cpus > VOLT_RT_WORKERS_MAX) cpus = VOLT_RT_WORKERS_MAX;
  assert_int_equal(workers_of(NULL), cpus);
  assert_int_equal(workers_of(&(volt_rt_config){.workers = 0}), cpus);
  assert_int_equal(workers_of(&(volt_rt_config){.workers = 3}), 3);
  assert_int_equal(workers_of(&(volt_rt_config){.workers = VOLT_RT_WORKERS_MAX}),
                   VOLT_RT_WORKERS_MAX);
  assert_int_equal(workers_of(&(volt_rt_config){.flags = VOLT_RT_BY_HAND}), 1);
  assert_int_equal(volt_rt_destroy(NULL), 0);
}

static void the_config_is_copied(void **state) {
  (void)state;
  volt_rt_config config = by_hand_config(&h);
  assert_result(volt_rt_create(&h.rt, &config), VOLT_OK);
  memset((void *)&config, 0xa5, sizeof config);
  volt_sem_release(&sem, 1);
  job *j = spawn(h.rt);
  assert_int_equal(fake_waker_calls(&h.waker), 1);
  by_hand_run(&h);
  end(j, VOLT_OK);
  by_hand_end(&h, 0);
}

/* ---- pinned ---- */

static int first_cpu(void) {
  cpu_set_t set;
  assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
  int cpu = 0;
  while (!CPU_ISSET((size_t)cpu, &set)) cpu++;
  return cpu;
}

static void workers_on_a_cpu(void **state) {
  (void)state;
  int cpu = first_cpu();
  volt_rt *rt;
  volt_rt_config config = {.workers = 3, .cpus = &cpu, .cpu_count = 1};
  assert_result(volt_rt_create(&rt, &config), VOLT_OK);
  cpu = -1; /* copied */
  volt_sem_release(&sem, 8);
  job *jobs[8];
  for (int i = 0; i < 8; i++) jobs[i] = spawn(rt);
  for (int i = 0; i < 8; i++) {
    assert_result(volt_task_join(&jobs[i]->task), VOLT_OK);
    assert_int_equal(jobs[i]->cpu, first_cpu());
    assert_ptr_equal(jobs[i]->ran_on, rt);
    volt_task_detach(&jobs[i]->task);
  }
  assert_int_equal(volt_rt_destroy(rt), 0);
}

static void workers_on_a_cpu_that_is_none(void **state) {
  (void)state;
  static const int bad[] = {-1, 1023, 1024, 1 << 30};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    for (uint32_t good = 0; good < 3; good++) { /* the first, the second or the third of them */
      int cpus[3] = {first_cpu(), first_cpu(), first_cpu()};
      cpus[good] = bad[i];
      volt_rt_config config = by_hand_config(&h);
      config.flags = 0;
      config.workers = 3;
      config.cpus = cpus;
      config.cpu_count = 3;
      expect_refused(&config);
      assert_int_equal(by_hand_held(&h), 0);
    }
  }
}

/* ---- no memory ---- */

static struct {
  uint64_t held;
  uint64_t calls;
  uint64_t fails_at; /* 0: never */
} memory;

static void *may_fail(size_t bytes, void *ctx) {
  (void)ctx;
  if (++memory.calls == memory.fails_at) return NULL;
  memory.held += bytes;
  return malloc(bytes);
}

static void give_back(void *p, size_t bytes, void *ctx) {
  (void)ctx;
  memory.held -= bytes;
  free(p);
}

/* Make tasks of many sizes, run some. Returns how often there was no memory. */
static unsigned use_memory(void) {
  enum { TASKS = 300 };
  volt_rt_config config = {.flags = VOLT_RT_BY_HAND, .allocator = {may_fail, give_back, NULL}};
  volt_rt *rt;
  unsigned failures = 0;
  int result = volt_rt_create(&rt, &config);
  if (result != VOLT_OK) {
    assert_result(result, VOLT_ENOMEM);
    assert_null(rt);
    return 1;
  }
  job *jobs[TASKS];
  for (unsigned i = 0; i < TASKS; i++) {
    size_t bytes = sizeof(job) + i % 10 * 200; /* small ones, and too big for blocks */
    jobs[i] = (job *)volt_task_new(rt, bytes, waits);
    result = volt_spawn(rt, jobs[i] ? &jobs[i]->task : NULL);
    assert_result(result, jobs[i] ? VOLT_OK : VOLT_ENOMEM);
    failures += result == VOLT_ENOMEM;
  }
  volt_sem_release(&sem, TASKS - failures);
  while (volt_rt_run(rt) == 0) {
  }
  for (unsigned i = 0; i < TASKS; i++) {
    if (jobs[i]) end(jobs[i], VOLT_OK);
  }
  assert_int_equal(volt_sem_available(&sem), 0);
  assert_int_equal(volt_rt_destroy(rt), 0);
  return failures;
}

static void memory_that_runs_out_at_each_place(void **state) {
  (void)state;
  memset(&memory, 0, sizeof memory);
  assert_int_equal(use_memory(), 0);
  assert_int_equal(memory.held, 0);
  uint64_t calls = memory.calls;
  assert_in_range(calls, 100, 400);
  for (uint64_t n = 1; n <= calls; n++) {
    memory.calls = 0;
    memory.fails_at = n;
    assert_int_equal(use_memory(), 1);
    assert_int_equal(memory.held, 0);
  }
}

/* Before the chunk comes for which the first task asks, a second task is made, as another thread may. */
static struct {
  volt_rt *rt; /* until then */
  job *second;
  size_t chunk_bytes;
} overtaken;

static void *may_be_overtaken(size_t bytes, void *ctx) {
  volt_rt *rt = overtaken.rt;
  overtaken.rt = NULL;
  overtaken.chunk_bytes = bytes;
  if (rt) overtaken.second = new_job(rt);
  return may_fail(bytes, ctx);
}

static void two_that_need_a_chunk_share_one(void **state) {
  (void)state;
  memset(&memory, 0, sizeof memory);
  volt_rt_config config = {.flags = VOLT_RT_BY_HAND,
                           .allocator = {may_be_overtaken, give_back, NULL}};
  volt_rt *rt;
  assert_result(volt_rt_create(&rt, &config), VOLT_OK);
  uint64_t before = memory.held;
  overtaken.rt = rt;
  job *first = new_job(rt);
  assert_non_null(overtaken.second);
  assert_int_equal(memory.held - before, overtaken.chunk_bytes);
  volt_task_detach(&first->task);
  volt_task_detach(&overtaken.second->task);
  assert_int_equal(volt_rt_destroy(rt), 0);
  assert_int_equal(memory.held, 0);
}

static void a_size_that_overflows_is_no_memory(void **state) {
  (void)state;
  by_hand_begin(&h);
  assert_null(volt_task_new(h.rt, SIZE_MAX, waits));
  assert_null(volt_task_new(h.rt, SIZE_MAX - 15, waits));
  by_hand_end(&h, 0);
}

/* ---- the end ---- */

static void a_runtime_that_is_over(void **state) {
  (void)state;
  by_hand_begin(&h);
  job *before = spawn(h.rt);
  job *late = new_job(h.rt);
  by_hand_run(&h);
  assert_result(volt_rt_shutdown(h.rt, PAST_DEADLINE), VOLT_ETIMEDOUT);
  assert_result(before->result, VOLT_ECANCELED); /* it was asked, and is not ready to end */
  by_hand_expect_live(&h, 1);
  assert_int_equal(by_hand_stats(&h).cancelled, 1);
  for (int i = 0; i < 2; i++) {
    assert_result(volt_spawn(h.rt, &late->task), VOLT_ECLOSED);
    assert_result(volt_task_result(&late->task), VOLT_PENDING);
  }
  volt_task_detach(&late->task);
  assert_result(volt_rt_shutdown(h.rt, volt_deadline_ns(1000000)), VOLT_ETIMEDOUT);
  volt_sem_release(&last, 1);
  assert_result(volt_rt_shutdown(h.rt, VOLT_NO_DEADLINE), VOLT_OK);
  assert_result(volt_rt_shutdown(h.rt, PAST_DEADLINE), VOLT_OK);
  end(before, VOLT_ECANCELED);
  by_hand_end(&h, 1); /* asked once */
}

static void destroy_counts_whom_it_has_cancelled(void **state) {
  (void)state;
  by_hand_begin(&h);
  for (int i = 0; i < 200; i++) volt_task_detach(&spawn(h.rt)->task);
  volt_sem_release(&last, 200);
  by_hand_run(&h);
  volt_sem_release(&sem, 50); /* granted and not polled: cancelled, and given back */
  by_hand_end(&h, 200);
  assert_int_equal(volt_sem_available(&sem), 50);
  assert_int_equal(volt_sem_available(&last), 0);
}

static void release_last(void *arg, uint32_t index) {
  (void)index;
  WAIT_UNTIL(volt_sem_waiters(&last) == *(uint32_t *)arg);
  volt_sem_release(&last, *(uint32_t *)arg);
}

/* workers 0: by hand. Its tasks end only by what another thread does. */
static void end_with_help(uint32_t workers) {
  uint32_t tasks = 20;
  thread_team helper;
  volt_rt *rt;
  volt_rt_config config = {.workers = workers, .flags = workers ? 0 : VOLT_RT_BY_HAND};
  assert_result(volt_rt_create(&rt, &config), VOLT_OK);
  for (uint32_t i = 0; i < tasks; i++) volt_task_detach(&spawn(rt)->task);
  thread_team_start(&helper, 1, release_last, &tasks);
  assert_int_equal(volt_rt_destroy(rt), tasks);
  thread_team_join(&helper);
}

static void the_end_waits_for_what_tasks_await(void **state) {
  (void)state;
  for (uint32_t workers = 0; workers < 4; workers++) end_with_help(workers);
}

/* ---- two ---- */

static int joins(volt_task *t, volt_ctx *ctx) {
  job *self = job_of(t);
  VOLT_TASK_BEGIN(self);
  self->ran_on = volt_rt_current();
  VOLT_AWAIT_RESULT(self, self->result, volt_task_join_future(&self->join, self->other));
  VOLT_TASK_END(self);
}

static int spawns_elsewhere(volt_task *t, volt_ctx *ctx) {
  job *self = job_of(t);
  (void)ctx;
  return volt_spawn(h.rt, self->other);
}

static void a_task_awaits_one_of_another_runtime(void **state) {
  (void)state;
  by_hand two;
  by_hand_begin(&h);
  by_hand_begin(&two);
  job target; /* in memory that outlives its runtime */
  memset((void *)&target, 0, sizeof target);
  volt_task_init(&target.task, waits);
  job *spawner = VOLT_TASK_NEW(two.rt, job, spawns_elsewhere);
  job *joiner = VOLT_TASK_NEW(two.rt, job, joins);
  spawner->other = &target.task;
  joiner->other = &target.task;
  assert_result(volt_spawn(two.rt, &spawner->task), VOLT_OK);
  by_hand_run(&two);
  end(spawner, VOLT_OK);
  assert_int_equal(fake_waker_calls(&h.waker), 1);
  assert_result(volt_spawn(two.rt, &joiner->task), VOLT_OK);
  by_hand_run(&two);
  by_hand_run(&h);
  assert_ptr_equal(target.ran_on, h.rt);
  assert_ptr_equal(joiner->ran_on, two.rt);
  volt_sem_release(&sem, 1);
  assert_result(volt_task_result(&joiner->task), VOLT_PENDING);
  by_hand_run(&h); /* ends the target, which wakes the joiner */
  assert_result(volt_task_result(&target.task), VOLT_OK);
  assert_result(volt_task_result(&joiner->task), VOLT_PENDING);
  by_hand_end(&h, 0); /* it needs its runtime no more */
  by_hand_run(&two);
  assert_result(joiner->result, VOLT_OK);
  end(joiner, VOLT_OK);
  by_hand_end(&two, 0);
}

static void two_with_workers(void **state) {
  (void)state;
  enum { PAIRS = 200 };
  volt_rt *one;
  volt_rt *two;
  volt_rt_config config = {.workers = 2};
  assert_result(volt_rt_create(&one, &config), VOLT_OK);
  assert_result(volt_rt_create(&two, &config), VOLT_OK);
  job *targets[PAIRS];
  job *joiners[PAIRS];
  for (int i = 0; i < PAIRS; i++) {
    targets[i] = spawn(i % 2 ? one : two);
    joiners[i] = VOLT_TASK_NEW(i % 2 ? two : one, job, joins);
    joiners[i]->other = &targets[i]->task;
    assert_result(volt_spawn(i % 2 ? two : one, &joiners[i]->task), VOLT_OK);
    if (i % 4 == 0) volt_sem_release(&sem, 4);
  }
  for (int i = 0; i < PAIRS; i++) {
    assert_result(volt_task_join(&joiners[i]->task), VOLT_OK);
    assert_result(joiners[i]->result, VOLT_OK);
    assert_ptr_equal(joiners[i]->ran_on, i % 2 ? two : one);
    assert_ptr_equal(targets[i]->ran_on, i % 2 ? one : two);
    volt_task_detach(&joiners[i]->task);
    volt_task_detach(&targets[i]->task);
  }
  assert_int_equal(volt_rt_destroy(one), 0);
  assert_int_equal(volt_rt_destroy(two), 0);
  assert_int_equal(volt_sem_available(&sem), 0);
}

#define A_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      A_TEST(what_is_refused),
      A_TEST(how_many_workers),
      A_TEST(the_config_is_copied),
      A_TEST(workers_on_a_cpu),
      A_TEST(workers_on_a_cpu_that_is_none),
      A_TEST(memory_that_runs_out_at_each_place),
      A_TEST(two_that_need_a_chunk_share_one),
      A_TEST(a_size_that_overflows_is_no_memory),
      A_TEST(a_runtime_that_is_over),
      A_TEST(destroy_counts_whom_it_has_cancelled),
      A_TEST(the_end_waits_for_what_tasks_await),
      A_TEST(a_task_awaits_one_of_another_runtime),
      A_TEST(two_with_workers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
