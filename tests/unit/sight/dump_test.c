/* dump_test.c: what volt_dump() says of tasks, word for word, and what it returns. Stacks of many,
 * and limits, are in dump_many_test.c. */
#include "dump_kit.h"

#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <volt/fiber.h>
#include <volt/name.h>

#include "sight/dump/dump_text.h"

typedef struct job {
  volt_task task;
  volt_future f[3];
  volt_future *branches[3];
  volt_select select;
  volt_join join;
  volt_sleep_op nap;
  volt_timeout timeout;
  struct inner {
    volt_async async;
    volt_future f;
  } inner;
  volt_task *other;
  int result;
} job;

enum { MS = 1000000 };

static by_hand h;
static volt_sem pool;
static volt_mutex lock;
static job *jobs[16];
static volt_task *tasks[16];
static unsigned spawned;
static int hurry_line; /* of the await of hurry_poll() */

static int set_up(void **state) {
  (void)state;
  dumped_begin();
  by_hand_begin(&h);
  volt_sem_init(&pool, 0);
  volt_mutex_init(&lock);
  spawned = 0;
  dumped_call(h.rt, "RT");
  dumped_call(&pool, "POOL");
  dumped_call(&lock, "LOCK");
  return 0;
}

/* All tasks are cancelled, and end. */
static int tear_down(void **state) {
  (void)state;
  for (unsigned i = 0; i < spawned; i++) volt_task_cancel(tasks[i]);
  by_hand_run(&h);
  for (unsigned i = 0; i < spawned; i++) volt_task_detach(tasks[i]);
  by_hand_end(&h, 0);
  return 0;
}

static void spawn_task(volt_task *t) {
  static const char *const names[] = {"T0", "T1", "T2", "T3", "T4", "T5", "T6", "T7",
                                      "T8", "T9", "Ta", "Tb", "Tc", "Td", "Te", "Tf"};
  assert_non_null(t);
  tasks[spawned] = t;
  dumped_call(t, names[spawned++]);
  assert_result(volt_spawn(h.rt, t), VOLT_OK);
}

static job *spawn(volt_task_fn *poll) {
  job *j = VOLT_TASK_NEW(h.rt, job, poll);
  jobs[spawned] = j;
  spawn_task(&j->task);
  return j;
}

static job *job_of(volt_task *t) {
  return volt_container_of(t, job, task);
}

static void advance(uint64_t ms) {
  volt_rt_advance(h.rt, ms * MS);
  by_hand_run(&h);
}

/* ---- what they wait for ---- */

static uint64_t in_ms(uint64_t ms) {
  return volt_rt_now_ns(h.rt) + ms * MS;
}

static int acquire_poll(volt_task *t, volt_ctx *ctx) {
  job *self = job_of(t);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->f[0], &pool, 2));
  VOLT_TASK_END(self);
}

static int hurry_poll(volt_task *t, volt_ctx *ctx) {
  job *self = job_of(t);
  VOLT_TASK_BEGIN(self);
  volt_future_made(volt_sem_acquire_future(&self->f[0], &pool, 2));
  volt_future_made(
      volt_timeout_future(&self->timeout, &self->f[0], volt_rt_timers(h.rt), in_ms(5000)));
  hurry_line = __LINE__ + 1;
  VOLT_AWAIT(self, &self->timeout.future);
  VOLT_TASK_END(self);
}

static int choose_poll(volt_task *t, volt_ctx *ctx) {
  job *self = job_of(t);
  VOLT_TASK_BEGIN(self);
  self->branches[0] = volt_sem_acquire_future(&self->f[0], &pool, 1);
  self->branches[1] = volt_mutex_lock_future(&self->f[1], &lock);
  self->branches[2] = volt_sleep_future(&self->nap, volt_rt_timers(h.rt), in_ms(60000));
  VOLT_AWAIT(self, volt_select_future(&self->select, self->branches, 3, VOLT_SELECT_FAIR));
  VOLT_TASK_END(self);
}

static int gather_poll(volt_task *t, volt_ctx *ctx) {
  job *self = job_of(t);
  VOLT_TASK_BEGIN(self);
  self->branches[0] = volt_sem_acquire_future(&self->f[0], &pool, 1);
  self->branches[1] = volt_mutex_lock_future(&self->f[1], &lock);
  VOLT_AWAIT(self, volt_join_future(&self->join, self->branches, 2, VOLT_JOIN_ALL));
  VOLT_TASK_END(self);
}

static int inner_poll(volt_async *a, volt_ctx *ctx) {
  struct inner *self = volt_container_of(a, struct inner, async);
  VOLT_ASYNC_BEGIN(self);
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->f, &pool, 1));
  VOLT_ASYNC_END(self);
}

static int outer_poll(volt_task *t, volt_ctx *ctx) {
  job *self = job_of(t);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, volt_async_future(&self->inner.async, inner_poll));
  VOLT_TASK_END(self);
}

static int join_poll(volt_task *t, volt_ctx *ctx) {
  job *self = job_of(t);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, volt_task_join_future(&self->f[0], self->other));
  VOLT_TASK_END(self);
}

#define RUNTIME(n) "runtime RT 'volt': run by hand, " n "\nworker 0: no thread runs it\n"

static void no_task(void **state) {
  (void)state;
  dumped_is(h.rt, 0, RUNTIME("0 tasks"));
}

static void one_task(void **state) {
  (void)state;
  spawn(acquire_poll);
  by_hand_run(&h);
  advance(4250);
  dumped_is(h.rt, 0,
            RUNTIME("1 task") "task T0 acquire_poll, waits for 4.2 s, poll 1\n"
                              "  dump_test.c:L acquire_poll: volt_sem_acquire 2 of semaphore POOL"
                              " (0 free, 1 waits), 1st in line\n");
}

static void a_task_and_its_object_have_names(void **state) {
  (void)state;
  job *j = spawn(acquire_poll);
  assert_result(volt_name(&pool, "pool"), VOLT_OK);
  assert_result(volt_name(j, "the first"), VOLT_OK);
  by_hand_run(&h);
  dumped_is(h.rt, 0,
            RUNTIME("1 task") "task T0 acquire_poll 'the first', waits for 0 ms, poll 1\n"
                              "  dump_test.c:L acquire_poll: volt_sem_acquire 2 of 'pool'"
                              " (semaphore POOL: 0 free, 1 waits), 1st in line\n");
  volt_unname(&pool);
  volt_unname(j);
}

static void the_line_is_that_of_the_await(void **state) {
  (void)state;
  spawn(hurry_poll);
  by_hand_run(&h);
  assert_result(dumped_whole(h.rt, 0), VOLT_OK);
  char expected[64];
  snprintf(expected, sizeof expected, "  dump_test.c:%d hurry_poll: ", hurry_line);
  assert_non_null(strstr(dump.text, expected));
}

static void a_timeout_has_what_it_limits_below_it(void **state) {
  (void)state;
  spawn(hurry_poll);
  by_hand_run(&h);
  advance(1500);
  dumped_is(h.rt, 0,
            RUNTIME("1 task") "task T0 hurry_poll, waits for 1.5 s, poll 1\n"
                              "  dump_test.c:L hurry_poll: timeout, 3.5 s left\n"
                              "    volt_sem_acquire 2 of semaphore POOL (0 free, 1 waits), 1st in"
                              " line\n");
}

static void a_select_has_its_branches_below_it(void **state) {
  (void)state;
  assert_true(volt_mutex_try_lock(&lock) == VOLT_OK);
  spawn(choose_poll);
  by_hand_run(&h);
  dumped_is(h.rt, 0,
            RUNTIME("1 task") "task T0 choose_poll, waits for 0 ms, poll 1\n"
                              "  dump_test.c:L choose_poll: select, 3 branches\n"
                              "    volt_sem_acquire 1 of semaphore POOL (0 free, 1 waits), 1st in"
                              " line\n"
                              "    volt_mutex_lock of mutex LOCK (locked, 1 waits), 1st in line\n"
                              "    volt_sleep, 1 min 0 s left\n");
  volt_mutex_unlock(&lock);
}

static void a_join_has_its_branches_below_it(void **state) {
  (void)state;
  spawn(gather_poll);
  by_hand_run(&h);
  dumped_is(h.rt, 0,
            RUNTIME("1 task") "task T0 gather_poll, waits for 0 ms, poll 1\n"
                              "  dump_test.c:L gather_poll: join, 2 branches\n"
                              "    volt_sem_acquire 1 of semaphore POOL (0 free, 1 waits), 1st in"
                              " line\n"
                              "    volt_mutex_lock of mutex LOCK: ready\n");
}

static void a_function_that_awaits_another(void **state) {
  (void)state;
  spawn(outer_poll);
  by_hand_run(&h);
  dumped_is(h.rt, 0,
            RUNTIME("1 task") "task T0 outer_poll, waits for 0 ms, poll 1\n"
                              "  dump_test.c:L outer_poll\n"
                              "    dump_test.c:L inner_poll: volt_sem_acquire 1 of semaphore POOL"
                              " (0 free, 1 waits), 1st in line\n");
}

static void a_task_that_joins_another(void **state) {
  (void)state;
  job *j = spawn(join_poll);
  spawn(acquire_poll);
  j->other = tasks[1];
  by_hand_run(&h);
  dumped_is(h.rt, 0,
            RUNTIME("2 tasks") "task T0 join_poll, waits for 0 ms, poll 1\n"
                               "  dump_test.c:L join_poll: volt_task_join of task T1\n"
                               "task T1 acquire_poll, waits for 0 ms, poll 1\n"
                               "  dump_test.c:L acquire_poll: volt_sem_acquire 2 of semaphore POOL"
                               " (0 free, 1 waits), 1st in line\n");
}

static int locker(void *arg) {
  (void)arg;
  return volt_mutex_lock_until(&lock, VOLT_NO_DEADLINE);
}

/* Whether the text says so, and goes on with this thread, as the system calls it. */
static int is_held_here(const char *words) {
  char held[128];
  (void)snprintf(held, sizeof held, "%s%d", words, (int)getpid()); /* the first thread's */
  return strstr(dump.text, held) != NULL;
}

static void the_holder_is_named_if_the_build_knows_it(void **state) {
  (void)state;
  assert_true(volt_mutex_try_lock(&lock) == VOLT_OK);
  spawn(choose_poll);
  by_hand_run(&h);
  assert_result(dumped_whole(h.rt, 0), VOLT_OK);
  assert_int_equal(is_held_here(" (locked, 1 waits), 1st in line, held by thread "), VOLT_SIGHT);
  volt_mutex_unlock(&lock);
}

static void a_fiber(void **state) {
  (void)state;
  assert_true(volt_mutex_try_lock(&lock) == VOLT_OK);
  spawn_task(volt_fiber_new(h.rt, locker, NULL, &(volt_fiber_config){.name = "locker"}));
  by_hand_run(&h);
  dumped_is(h.rt, 0,
            RUNTIME("1 task") "fiber T0 'locker', waits for 0 ms, poll 1\n"
                              "  volt_mutex_lock of mutex LOCK (locked, 1 waits), 1st in line\n");
  volt_mutex_unlock(&lock);
}

static void the_stack_of_a_fiber(void **state) {
  (void)state;
  assert_true(volt_mutex_try_lock(&lock) == VOLT_OK);
  spawn_task(volt_fiber_new(h.rt, locker, NULL, &(volt_fiber_config){.name = "locker"}));
  spawn(acquire_poll);
  by_hand_run(&h);
  for (unsigned how = VOLT_DUMP_STACKS; how <= VOLT_DUMP_STACKS + VOLT_DUMP_EACH; how++) {
    assert_result(dumped_whole(h.rt, how), VOLT_OK);
    assert_true(dumped_has("\n    #0  "));
    assert_true(dumped_has("\n    #1  unit.dump+0x"));
    const char *stack = strstr(dump.plain, "    #0  "), *fiber = strstr(dump.plain, "fiber T0");
    const char *task = strstr(dump.plain, "task T1");
    assert_true(fiber < stack && (task < fiber || stack < task));
  }
  assert_result(dumped_whole(h.rt, VOLT_DUMP_EACH), VOLT_OK);
  assert_false(dumped_has("#0"));
  volt_mutex_unlock(&lock);
}

static void a_task_that_is_ready(void **state) {
  (void)state;
  spawn(acquire_poll);
  spawn(acquire_poll);
  dumped_is(h.rt, 0,
            "runtime RT 'volt': run by hand, 2 tasks (2 ready)\n"
            "worker 0: no thread runs it\n"
            "2 tasks of function unit.dump+0x are ready\n"
            "  task T0, is ready, has not waited yet\n"
            "  task T1, is ready, has not waited yet\n");
}

/* ---- groups ---- */

static void tasks_that_wait_alike_are_one_group(void **state) {
  (void)state;
  for (int i = 0; i < 3; i++) {
    spawn(acquire_poll);
    by_hand_run(&h);
    advance(100);
  }
  spawn(outer_poll);
  by_hand_run(&h);
  dumped_is(h.rt, 0,
            RUNTIME("4 tasks") "3 tasks acquire_poll wait, the longest for 300 ms\n"
                               "  dump_test.c:L acquire_poll: volt_sem_acquire 2 of semaphore POOL"
                               " (0 free, 4 wait)\n"
                               "  task T0, waits for 300 ms, poll 1\n"
                               "  task T1, waits for 200 ms, poll 1\n"
                               "  task T2, waits for 100 ms, poll 1\n"
                               "task T3 outer_poll, waits for 0 ms, poll 1\n"
                               "  dump_test.c:L outer_poll\n"
                               "    dump_test.c:L inner_poll: volt_sem_acquire 1 of semaphore POOL"
                               " (0 free, 4 wait), 4th in line\n");
}

static void each_task_is_shown_if_that_is_asked_for(void **state) {
  (void)state;
  for (int i = 0; i < 3; i++) spawn(acquire_poll);
  by_hand_run(&h);
#define EACH(t, place)                                                                          \
  "task " t                                                                                     \
  " acquire_poll, waits for 0 ms, poll 1\n"                                                     \
  "  dump_test.c:L acquire_poll: volt_sem_acquire 2 of semaphore POOL (0 free, 3 wait), " place \
  " in line\n"
  dumped_is(h.rt, VOLT_DUMP_EACH,
            RUNTIME("3 tasks") EACH("T0", "1st") EACH("T1", "2nd") EACH("T2", "3rd"));
}

static void tasks_that_do_not_wait_are_shown_where_they_stand(void **state) {
  (void)state;
  spawn(acquire_poll);
  by_hand_run(&h);
  volt_sem_release(&pool, 2);
  dumped_is(h.rt, VOLT_DUMP_EACH,
            "runtime RT 'volt': run by hand, 1 task (1 ready)\n"
            "worker 0: no thread runs it\n"
            "task T0 acquire_poll, is ready, began to wait 0 ms ago, poll 1\n"
            "  dump_test.c:L acquire_poll\n");
}

static void no_task_is_shown_if_that_is_asked_for(void **state) {
  (void)state;
  spawn(acquire_poll);
  by_hand_run(&h);
  dumped_is(h.rt, VOLT_DUMP_NO_TASKS,
            "runtime RT 'volt': run by hand\nworker 0: no thread runs it\n");
}

/* ---- what is wrong ---- */

static int lost_poll(volt_task *t, volt_ctx *ctx) {
  job *self = job_of(t);
  (void)self;
  return ctx->cancel ? VOLT_ECANCELED : VOLT_PENDING;
}

static void a_task_that_nothing_can_wake_comes_first(void **state) {
  (void)state;
  spawn(acquire_poll);
  spawn(lost_poll);
  by_hand_run(&h);
  advance(2000);
#define LOST "task T1 of function unit.dump+0x, waits for 2.0 s, poll 1"
  dumped_is(h.rt, 0,
            LOST ": NOTHING CAN WAKE IT: no registration is open\n" RUNTIME("2 tasks")
                "task T0 acquire_poll, waits for 2.0 s, poll 1\n"
                "  dump_test.c:L acquire_poll: volt_sem_acquire 2 of semaphore POOL"
                " (0 free, 1 waits), 1st in line\n" LOST "\n");
}

/* On a small stack. */
static int dump_in_fiber(void *arg) {
  (void)arg;
  return dumped_result(NULL, VOLT_DUMP_EACH | VOLT_DUMP_STACKS);
}

static void a_fiber_that_dumps(void **state) {
  (void)state;
  assert_true(volt_mutex_try_lock(&lock) == VOLT_OK);
  spawn_task(volt_fiber_new(h.rt, locker, NULL, NULL));
  by_hand_run(&h);
  spawn_task(
      volt_fiber_new(h.rt, dump_in_fiber, NULL, &(volt_fiber_config){.stack_bytes = 64 << 10}));
  by_hand_run(&h);
  assert_result(volt_task_result(tasks[1]), VOLT_OK);
  assert_true(dumped_has("fiber T0 of function unit.dump+0x, waits for 0 ms, poll 1\n"));
  assert_true(dumped_has("fiber T1 of function unit.dump+0x, runs on worker 0\n"));
  volt_mutex_unlock(&lock);
}

/* ---- threads ---- */

static void *lock_it(void *arg) {
  if (volt_mutex_lock_until(&lock, VOLT_NO_DEADLINE) == VOLT_OK) volt_mutex_unlock(&lock);
  return arg;
}

static void *acquire_it(void *arg) {
  REQUIRE(volt_sem_acquire(&pool, 1) == VOLT_OK);
  return arg;
}

static unsigned seen_threads(void) {
  assert_result(dumped_whole(NULL, VOLT_DUMP_NO_TASKS), VOLT_OK);
  unsigned count = 0;
  for (const char *at = dump.text; (at = strstr(at, ", waits for ")) != NULL; at++) count++;
  return count;
}

/* They are shown once they sleep. Those of one object are one group. */
static void threads_that_wait(void **state) {
  (void)state;
  pthread_t threads[3];
  assert_true(volt_mutex_try_lock(&lock) == VOLT_OK);
  assert_int_equal(pthread_create(&threads[0], NULL, acquire_it, NULL), 0);
  for (int i = 1; i < 3; i++) assert_int_equal(pthread_create(&threads[i], NULL, lock_it, NULL), 0);
  while (seen_threads() < 3) sched_yield();
  assert_true(
      dumped_has("2 threads wait\n  volt_mutex_lock of mutex LOCK (locked, 2 wait)\n  thread "));
  assert_true(dumped_has("  volt_sem_acquire 1 of semaphore POOL (0 free, 1 waits)\n"));
  assert_int_equal(is_held_here(" (locked, 2 wait), held by thread "), VOLT_SIGHT);
  char name[16], line[40]; /* the program's, or that of what emulates it */
  assert_int_equal(prctl(PR_GET_NAME, name, 0, 0, 0), 0);
  (void)snprintf(line, sizeof line, " '%s', waits for ", name);
  assert_true(dumped_has(line));
  assert_result(dumped_whole(h.rt, 0), VOLT_OK);
  assert_false(dumped_has("threads wait"));
  volt_mutex_unlock(&lock);
  volt_sem_release(&pool, 1);
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
  assert_int_equal(seen_threads(), 0);
}

/* ---- names ---- */

static void names_of_functions_are_short(void **state) {
  (void)state;
  static const char *const names[][2] = {
      {"fetch_poll", "fetch_poll"},
      {"int fetch(int)", "fetch"},
      {"volt::coro_::task<int> {anonymous}::fetch_page()", "fetch_page"},
      {"volt::task<int> (anonymous namespace)::fetch_page()", "fetch_page"},
      {"void site::fetch(site::fetch(std::vector<int>)::_ZN4site5fetchFrame*)", "site::fetch"},
      {"std::map<int, std::pair<int, int>> a::b<c, d>::e(int, f<g>) const", "a::b<c, d>::e"},
      {"bool operator()(int)", "operator"},
      {"", ""},
      {"a name of a function that is longer than all the room that there is for names of functions",
       "functions"},
      {"an_even_longer_name_without_spaces_that_does_not_fit_into_what_there_is_for_it(void)",
       "an_even_longer_name_without_spaces_that_does_not_fit_into_what_t"},
      {"<><>>>(((", "<><>>>"},
  };
  for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
    char text[128];
    volt_text_ t = volt_text_in_(text, sizeof text);
    volt_text_put_short_(&t, names[i][0]);
    text[volt_text_length_(&t)] = 0;
    assert_string_equal(text, names[i][1]);
  }
}

static void durations_and_numbers(void **state) {
  (void)state;
  static const struct {
    uint64_t ns;
    const char *text;
  } durations[] = {{0, "0 ms"},
                   {999999999, "999 ms"},
                   {1000000000, "1.0 s"},
                   {59999999999, "59.9 s"},
                   {60000000000, "1 min 0 s"},
                   {3599000000000, "59 min 59 s"},
                   {3600000000000, "1 h 0 min"},
                   {90000000000000, "1 d 1 h"},
                   {UINT64_MAX, "213,503 d 23 h"}};
  char text[64];
  for (unsigned i = 0; i < sizeof durations / sizeof *durations; i++) {
    volt_text_ t = volt_text_in_(text, sizeof text);
    volt_text_put_duration_(&t, durations[i].ns);
    text[volt_text_length_(&t)] = 0;
    assert_string_equal(text, durations[i].text);
  }
  volt_text_ t = volt_text_in_(text, 8);
  volt_text_put_number_(&t, UINT64_MAX);
  assert_true(t.is_cut && volt_text_length_(&t) == 8);
  assert_memory_equal(text, "18,446,7", 8);
}

/* ---- results ---- */

static void what_it_refuses(void **state) {
  (void)state;
  int on_the_stack;
  assert_result(volt_dump(h.rt, 8, dumped_sink_, &dump), VOLT_EINVAL);
  assert_result(volt_dump(h.rt, 0, NULL, &dump), VOLT_EINVAL);
  assert_result(volt_dump((volt_rt *)(void *)&on_the_stack, 0, dumped_sink_, &dump), VOLT_EINVAL);
  assert_int_equal(dump.calls, 0);
}

static void a_sink_can_end_it(void **state) {
  (void)state;
  spawn(acquire_poll);
  by_hand_run(&h);
  const unsigned hows[] = {0, VOLT_DUMP_EACH, VOLT_DUMP_NO_TASKS};
  for (unsigned i = 0; i < 3; i++) {
    dump.stop_after = 1;
    assert_result(dumped_result(h.rt, hows[i]), VOLT_ECANCELED);
    assert_int_equal(dump.calls, 1);
  }
}

/* It is as it was: it waits, and a wake runs it. */
static void a_task_that_was_shown_goes_on(void **state) {
  (void)state;
  assert_true(volt_mutex_try_lock(&lock) == VOLT_OK);
  spawn(acquire_poll);
  spawn(choose_poll);
  by_hand_run(&h);
  for (unsigned how = 0; how < 4; how++) {
    assert_result(dumped_whole(how & 2 ? h.rt : NULL, how & 1), VOLT_OK);
    assert_int_equal(by_hand_stats(&h).live, 2);
    assert_int_equal(volt_rt_run(h.rt) == 0, false);
  }
  volt_sem_release(&pool, 3);
  by_hand_run(&h);
  assert_result(volt_task_result(tasks[0]), VOLT_OK);
  assert_result(volt_task_result(tasks[1]), VOLT_OK);
  volt_mutex_unlock(&lock);
}

static void all_runtimes(void **state) {
  (void)state;
  by_hand other;
  by_hand_begin(&other);
  dumped_call(other.rt, "OTHER");
  assert_result(dumped_whole(NULL, 0), VOLT_OK);
  assert_true(dumped_has("runtime RT 'volt': run by hand, 0 tasks\n"));
  assert_true(dumped_has("runtime OTHER 'volt': run by hand, 0 tasks\n"));
  by_hand_end(&other, 0);
  assert_result(dumped_whole(NULL, 0), VOLT_OK);
  assert_false(dumped_has("OTHER"));
}

/* ---- from inside ---- */

static int dumping_poll(volt_task *t, volt_ctx *ctx) {
  job *self = job_of(t);
  VOLT_TASK_BEGIN(self);
  self->result = dumped_result(t->rt, 0);
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->f[0], &pool, 1));
  VOLT_TASK_END(self);
}

static void a_task_that_dumps_sees_itself_run(void **state) {
  (void)state;
  job *j = spawn(dumping_poll);
  by_hand_run(&h);
  assert_result(j->result, VOLT_OK);
  assert_true(dumped_has("run by hand, 1 task (1 run)\nworker 0: runs T0 dumping_poll for "));
  assert_true(dumped_has(" (dump_test.c dumping_poll or later)\n"));
}

int main(void) {
#define IN_SCENE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      IN_SCENE(no_task),
      IN_SCENE(one_task),
      IN_SCENE(a_task_and_its_object_have_names),
      IN_SCENE(the_line_is_that_of_the_await),
      IN_SCENE(a_timeout_has_what_it_limits_below_it),
      IN_SCENE(a_select_has_its_branches_below_it),
      IN_SCENE(a_join_has_its_branches_below_it),
      IN_SCENE(a_function_that_awaits_another),
      IN_SCENE(a_task_that_joins_another),
      IN_SCENE(the_holder_is_named_if_the_build_knows_it),
      IN_SCENE(a_fiber),
      IN_SCENE(the_stack_of_a_fiber),
      IN_SCENE(a_task_that_is_ready),
      IN_SCENE(threads_that_wait),
      IN_SCENE(tasks_that_wait_alike_are_one_group),
      IN_SCENE(each_task_is_shown_if_that_is_asked_for),
      IN_SCENE(tasks_that_do_not_wait_are_shown_where_they_stand),
      IN_SCENE(no_task_is_shown_if_that_is_asked_for),
      IN_SCENE(a_task_that_nothing_can_wake_comes_first),
      cmocka_unit_test(names_of_functions_are_short),
      cmocka_unit_test(durations_and_numbers),
      IN_SCENE(what_it_refuses),
      IN_SCENE(a_sink_can_end_it),
      IN_SCENE(a_task_that_was_shown_goes_on),
      IN_SCENE(all_runtimes),
      IN_SCENE(a_task_that_dumps_sees_itself_run),
      IN_SCENE(a_fiber_that_dumps),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
