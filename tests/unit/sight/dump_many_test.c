/* dump_many_test.c: dumps of many tasks, and of what is in the way: a dump has a limit to its
 * memory, to the time that it waits for a lock, and to the tasks that it holds back. What it says,
 * word for word, is in dump_test.c. */
#define _GNU_SOURCE /* usleep, memmem */
#include "alloc_count.h"
#include "dump_kit.h"

#include <pthread.h>
#include <unistd.h>

#include "core/inspect/sleepers.h"
#include "core/park/locals.h"
#include "core/wait/fifo.h"
#include "rt/host/runtime.h"
#include "rt/sched/registry.h"
#include "rt/sched/short_lock.h"
#include "rt/sched/worker.h"
#include "sight/dump/dump.h"

enum { MANY = 100000, OBJECTS = 1000 };

typedef struct waiter {
  volt_task task;
  volt_future f;
  volt_sem *sem;
  int again; /* how often it waits once more */
  int result;
} waiter;

static by_hand h;
static volt_sem pool;
static volt_sem own[OBJECTS];
static waiter *waiters; /* in memory of the test */
static unsigned spawned;

static int set_up(void **state) {
  (void)state;
  dumped_begin();
  by_hand_begin(&h);
  volt_sem_init(&pool, 0);
  for (unsigned i = 0; i < OBJECTS; i++) volt_sem_init(&own[i], 0);
  dumped_call(h.rt, "RT");
  dumped_call(&pool, "POOL");
  waiters = calloc(MANY, sizeof *waiters);
  assert_non_null(waiters);
  spawned = 0;
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  volt_sem_close(&pool);
  for (unsigned i = 0; i < OBJECTS; i++) volt_sem_close(&own[i]);
  by_hand_run(&h);
  for (unsigned i = 0; i < spawned; i++) {
    assert_result(volt_task_join_until(&waiters[i].task, PAST_DEADLINE), VOLT_OK);
  }
  by_hand_end(&h, 0);
  free(waiters);
  return 0;
}

static int wait_poll(volt_task *t, volt_ctx *ctx) {
  waiter *self = volt_container_of(t, waiter, task);
  VOLT_TASK_BEGIN(self);
  do {
    VOLT_AWAIT_RESULT(self, self->result, volt_sem_acquire_future(&self->f, self->sem, 1));
  } while (self->result == VOLT_OK && self->again-- > 0);
  VOLT_TASK_END(self);
}

static void spawn(volt_sem *sem) {
  waiter *w = &waiters[spawned++];
  volt_task_init(&w->task, wait_poll);
  w->sem = sem;
  assert_result(volt_spawn(h.rt, &w->task), VOLT_OK);
}

/* How often the words are in the text. */
static unsigned times(const char *words) {
  unsigned count = 0;
  for (const char *at = dumped_plain_(); (at = strstr(at, words)) != NULL; at++) count++;
  return count;
}

#define TASK "  dump_many_test.c:L wait_poll: volt_sem_acquire 1 of "

/* ---- groups ---- */

static void a_hundred_thousand_tasks_are_one_group(void **state) {
  (void)state;
  for (unsigned i = 0; i < MANY; i++) spawn(&pool);
  by_hand_run(&h);
  uint64_t before = alloc_count_allocations();
  assert_result(dumped_whole(NULL, 0), VOLT_OK);
  assert_int_equal(alloc_count_allocations(), before);
  assert_true(dumped_has("run by hand, 100,000 tasks\n"));
  assert_true(dumped_has("100,000 tasks wait_poll wait, the longest for 0 ms\n" TASK
                         "semaphore POOL (0 free, 100,000 wait)\n"));
  assert_int_equal(times("\n  task 0x, waits for 0 ms, poll 1\n"), VOLT_GROUP_OLDEST_);
  assert_true(dumped_has("  and 99,990 more\n"));
  assert_true(dump.length < 2000);
}

static void each_of_them_is_shown(void **state) {
  (void)state;
  for (unsigned i = 0; i < 5000; i++) spawn(&pool);
  by_hand_run(&h);
  uint64_t before = alloc_count_allocations();
  assert_result(dumped_whole(h.rt, VOLT_DUMP_EACH), VOLT_OK);
  assert_int_equal(alloc_count_allocations(), before);
  assert_int_equal(times("task 0x wait_poll, waits for 0 ms, poll 1\n" TASK), 5000);
}

static void the_memory_of_a_dump_is_of_one_size(void **state) {
  (void)state;
  assert_true(sizeof(volt_dump_) < 4u << 20);
}

/* Each object with a few tasks: a group each. */
static void objects_of_several_tasks_have_groups(void **state) {
  (void)state;
  for (unsigned i = 0; i < 100 * 3; i++) spawn(&own[i % 100]);
  by_hand_run(&h);
  assert_result(dumped_whole(h.rt, 0), VOLT_OK);
  assert_int_equal(times("3 tasks wait_poll wait"), 100);
}

/* An object each: together; but those of an object that many wait for are not among them, whichever
 * were seen first. */
static void objects_of_one_task_are_shown_together(void **state) {
  (void)state;
  for (unsigned i = 0; i < OBJECTS / 2; i++) spawn(&own[i]);
  for (unsigned i = 0; i < 700; i++) spawn(&pool);
  for (unsigned i = OBJECTS / 2; i < OBJECTS; i++) spawn(&own[i]);
  by_hand_run(&h);
  assert_result(dumped_whole(h.rt, 0), VOLT_OK);
  assert_true(dumped_has("1,000 tasks wait_poll wait, the longest for 0 ms\n" TASK
                         "various objects, here a semaphore\n"));
  assert_true(dumped_has("700 tasks wait_poll wait, the longest for 0 ms\n" TASK "semaphore POOL"));
  assert_int_equal(times("wait_poll wait"), 2);
}

/* A few with an object each are shown by themselves. */
static void a_few_objects_of_one_task_are_shown_singly(void **state) {
  (void)state;
  for (unsigned i = 0; i < VOLT_GROUP_SINGLES_ - 1; i++) spawn(&own[i]);
  by_hand_run(&h);
  assert_result(dumped_whole(h.rt, 0), VOLT_OK);
  assert_int_equal(times("task 0x wait_poll, waits for 0 ms, poll 1\n"), VOLT_GROUP_SINGLES_ - 1);
}

static void the_largest_group_is_first_and_the_oldest_task(void **state) {
  (void)state;
  spawn(&own[0]);
  by_hand_run(&h);
  for (unsigned i = 0; i < 30; i++) {
    volt_rt_advance(h.rt, 10000000);
    spawn(&pool);
    by_hand_run(&h);
  }
  dumped_call(&waiters[1].task, "OLDEST");
  dumped_call(&waiters[10].task, "TENTH");
  dumped_call(&waiters[11].task, "NEXT");
  assert_result(dumped_whole(h.rt, 0), VOLT_OK);
  assert_true(
      dumped_has("worker 0: no thread runs it\n30 tasks wait_poll wait, the longest for 290"
                 " ms\n" TASK "semaphore POOL (0 free, 30 wait)\n"
                 "  task OLDEST, waits for 290 ms"));
  assert_true(
      dumped_has("  task TENTH, waits for 200 ms, poll 1\n  and 20 more\ntask 0x wait_poll"));
  assert_false(dumped_has("NEXT"));
}

/* Whichever was spawned first. */
static void the_oldest_may_be_seen_last(void **state) {
  (void)state;
  for (unsigned i = 0; i < 30; i++) {
    spawn(&pool);
    waiters[i].again = i < 20;
  }
  by_hand_run(&h);
  volt_rt_advance(h.rt, 100000000);
  volt_sem_release(&pool, 20); /* the first twenty wait again */
  by_hand_run(&h);
  volt_rt_advance(h.rt, 100000000);
  assert_result(dumped_whole(h.rt, 0), VOLT_OK);
  assert_int_equal(times("  task 0x, waits for 200 ms, poll 1\n"), 10);
  assert_int_equal(times("  task 0x, waits for 100 ms"), 0);
}

static void more_runtimes_than_are_shown(void **state) {
  (void)state;
  static by_hand others[VOLT_DUMP_RTS_ + 2]; /* and the one of every test */
  for (unsigned i = 0; i < VOLT_DUMP_RTS_ + 2; i++) by_hand_begin(&others[i]);
  assert_result(dumped_whole(NULL, 0), VOLT_OK);
  assert_int_equal(times("run by hand, 0 tasks\n"), VOLT_DUMP_RTS_);
  assert_true(dumped_has("and 3 more runtimes, which are not shown\n"));
  for (unsigned i = 0; i < VOLT_DUMP_RTS_ + 2; i++) by_hand_end(&others[i], 0);
}

/* ---- locks that are not to be had ---- */

static void a_lock_of_the_runtime_is_not_waited_for(void **state) {
  (void)state;
  spawn(&pool);
  by_hand_run(&h);
  volt_registry *registry = volt_registry_lock_(h.rt, 1);
  assert_result(dumped_result(h.rt, 0), VOLT_ETIMEDOUT);
  assert_true(
      dumped_has("SOME TASKS ARE NOT SHOWN: a lock of it was not to be had within 50 ms\n"));
  assert_result(dumped_result(h.rt, VOLT_DUMP_EACH), VOLT_ETIMEDOUT);
  volt_registry_unlock_(registry);
  assert_result(dumped_whole(h.rt, 0), VOLT_OK);
  assert_false(dumped_has("NOT SHOWN"));
}

static void a_lock_of_an_object_is_not_waited_for(void **state) {
  (void)state;
  spawn(&pool);
  by_hand_run(&h);
  uint64_t word;
  volt_fifo_lock_(&pool.queue, &word);
  assert_result(dumped_whole(h.rt, 0), VOLT_OK);
  assert_true(dumped_has(TASK "semaphore POOL (0 free)\n"));
  volt_fifo_unlock_exact_(&pool.queue, word);
  assert_result(dumped_whole(h.rt, 0), VOLT_OK);
  assert_true(dumped_has(TASK "semaphore POOL (0 free, 1 waits), 1st in line\n"));
}

static void the_lock_of_the_threads_is_not_waited_for(void **state) {
  (void)state;
  volt_fifo_ *lock = &volt_sleepers_of_process_()->lock;
  uint64_t word;
  volt_fifo_lock_(lock, &word);
  assert_result(dumped_result(NULL, 0), VOLT_ETIMEDOUT);
  assert_true(dumped_has("SOME THREADS ARE NOT SHOWN"));
  assert_result(dumped_whole(h.rt, 0), VOLT_OK); /* of one runtime: no threads */
  volt_fifo_unlock_exact_(lock, word);
  assert_result(dumped_whole(NULL, 0), VOLT_OK);
}

/* ---- workers that hang ---- */

typedef struct hang {
  volt_task task;
  VOLT_ATOMIC(uint32_t) has_begun, may_end;
} hang;

static int hang_poll(volt_task *t, volt_ctx *ctx) {
  hang *self = volt_container_of(t, hang, task);
  VOLT_TASK_BEGIN(self);
  VOLT_YIELD(self);
  volt_store_relaxed(&self->has_begun, 1);
  while (volt_load_relaxed(&self->may_end) == 0) usleep(1000);
  VOLT_TASK_END(self);
}

static void a_dump_while_all_workers_hang(void **state) {
  (void)state;
  volt_rt *rt;
  static hang stuck;
  waiter behind = {.sem = &pool};
  volt_rt_config config = {.workers = 1};
  assert_result(volt_rt_create(&rt, &config), VOLT_OK);
  volt_task_init(&stuck.task, hang_poll);
  volt_task_init(&behind.task, wait_poll);
  dumped_call(&stuck.task, "STUCK");
  assert_result(volt_spawn(rt, &stuck.task), VOLT_OK);
  while (volt_load_relaxed(&stuck.has_begun) == 0) usleep(1000);
  assert_result(volt_spawn(rt, &behind.task), VOLT_OK);
  usleep(150000); /* a poll that takes this long is a stall */
  assert_result(dumped_whole(rt, 0), VOLT_OK);
  assert_true(strncmp(dumped_plain_(),
                      "A POLL DOES NOT END: 'volt' worker 0: runs STUCK hang_poll for", 62) == 0);
  assert_true(dumped_has("(dump_many_test.c:L hang_poll or later)"));
  assert_true(dumped_has("1 worker, 2 tasks (1 run, 1 ready)\n"));
  volt_store_relaxed(&stuck.may_end, 1);
  volt_sem_release(&pool, 1);
  assert_result(volt_task_join(&stuck.task), VOLT_OK);
  assert_result(volt_task_join(&behind.task), VOLT_OK);
  assert_int_equal(volt_rt_destroy(rt), 0);
}

/* ---- calls on the blocking pool ---- */

typedef struct caller {
  volt_task task;
  volt_blocking call;
  int result;
} caller;

static volt_sem calls; /* what they wait for */
static VOLT_ATOMIC(uint32_t) calls_begun;

static int wait_for_permit(void *arg) {
  (void)volt_fetch_add_relaxed(&calls_begun, 1);
  return volt_sem_acquire(arg, 1);
}

static int call_poll(volt_task *t, volt_ctx *ctx) {
  caller *self = volt_container_of(t, caller, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, volt_blocking_future(&self->call, t->rt, wait_for_permit, &calls));
  VOLT_TASK_END(self);
}

static void the_blocking_pool_is_full(void **state) {
  (void)state;
  volt_rt *rt;
  static caller callers[3];
  volt_rt_config config = {.workers = 1, .blocking_max = 1};
  volt_sem_init(&calls, 0);
  assert_result(volt_rt_create(&rt, &config), VOLT_OK);
  for (int i = 0; i < 3; i++) {
    volt_task_init(&callers[i].task, call_poll);
    assert_result(volt_spawn(rt, &callers[i].task), VOLT_OK);
  }
#define FULL "1 thread for blocking calls, none idle, 2 calls wait for one\n"
  do {
    assert_result(dumped_whole(rt, 0), VOLT_OK);
  } while (!dumped_has("\n" FULL));
  assert_int_equal(strncmp(dump.plain, "THE BLOCKING POOL IS FULL: 'volt' has " FULL, 80), 0);
  while (volt_load_relaxed(&calls_begun) == 0 || !dumped_has("3 tasks call_poll wait")) {
    assert_result(dumped_whole(rt, 0), VOLT_OK);
  }
  assert_true(
      dumped_has("dump_many_test.c:L call_poll: volt_blocking of function"
                 " unit.dump_many+0x"));
  volt_short_lock_lock_(&rt->blocking.lock);
  assert_result(dumped_result(rt, 0), VOLT_ETIMEDOUT);
  volt_short_lock_unlock_(&rt->blocking.lock);
  assert_true(dumped_has("ITS BLOCKING POOL IS NOT SHOWN"));
  assert_false(dumped_has("IS FULL"));
  volt_sem_release(&calls, 3);
  for (int i = 0; i < 3; i++) {
    assert_result(volt_task_join(&callers[i].task), VOLT_OK);
  }
  assert_int_equal(volt_rt_destroy(rt), 0);
}

/* ---- a sink that takes its time ---- */

typedef struct slow {
  waiter *w;
  unsigned shown;
} slow;

/* The task is woken by another thread, and has ended before the sink returns. */
static void *release_one(void *arg) {
  volt_sem_release(((slow *)arg)->w->sem, 1);
  return NULL;
}

static bool slow_sink(void *ctx, const char *text, size_t length) {
  slow *s = ctx;
  const char *words = "volt_sem_acquire";
  bool shows_it = memmem(text, length, words, strlen(words)) != NULL;
  if (!shows_it || s->shown++ > 0) return true;
  pthread_t thread;
  REQUIRE(pthread_create(&thread, NULL, release_one, s) == 0);
  pthread_join(thread, NULL);
  while (volt_task_result(&s->w->task) == VOLT_PENDING) usleep(1000);
  return true;
}

static void no_task_is_held_back_while_the_sink_runs(void **state) {
  (void)state;
  for (unsigned how = 0; how <= VOLT_DUMP_EACH; how++) {
    volt_rt *rt;
    volt_rt_config config = {.workers = 1};
    waiter w = {.sem = &pool};
    slow s = {&w, 0};
    assert_result(volt_rt_create(&rt, &config), VOLT_OK);
    volt_task_init(&w.task, wait_poll);
    assert_result(volt_spawn(rt, &w.task), VOLT_OK);
    while (volt_sem_waiters(&pool) == 0) usleep(1000);
    int result;
    while ((result = volt_dump(rt, how, slow_sink, &s)) == VOLT_ETIMEDOUT) continue;
    assert_result(result, VOLT_OK);
    assert_true(s.shown > 0);
    assert_result(volt_task_join(&w.task), VOLT_OK);
    assert_int_equal(volt_rt_destroy(rt), 0);
  }
}

int main(void) {
#define IN_SCENE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      IN_SCENE(a_hundred_thousand_tasks_are_one_group),
      IN_SCENE(each_of_them_is_shown),
      IN_SCENE(the_memory_of_a_dump_is_of_one_size),
      IN_SCENE(objects_of_several_tasks_have_groups),
      IN_SCENE(objects_of_one_task_are_shown_together),
      IN_SCENE(a_few_objects_of_one_task_are_shown_singly),
      IN_SCENE(the_largest_group_is_first_and_the_oldest_task),
      IN_SCENE(the_oldest_may_be_seen_last),
      IN_SCENE(more_runtimes_than_are_shown),
      IN_SCENE(a_lock_of_the_runtime_is_not_waited_for),
      IN_SCENE(a_lock_of_an_object_is_not_waited_for),
      IN_SCENE(the_lock_of_the_threads_is_not_waited_for),
      IN_SCENE(a_dump_while_all_workers_hang),
      IN_SCENE(the_blocking_pool_is_full),
      IN_SCENE(no_task_is_held_back_while_the_sink_runs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
