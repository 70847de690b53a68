/* rt_threads_test.c: the threads of a runtime: that none is left behind, what they are called,
 * which signals they take, and what is called when one begins and ends. A task that blocks its
 * worker. */
#define _GNU_SOURCE /* pthread_getname_np, dup2, pipe */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <volt/runtime.h>

#include "death.h"
#include "require.h"
#include "thread_team.h"
#include "unit.h"

enum { CALLS = 4 };

/* A call on a thread of the pool. */
typedef struct caller {
  volt_blocking call;
  volt_parker parker;
  volt_future *f;
} caller;

static volt_rt *create(const volt_rt_config *config) {
  volt_rt *rt;
  assert_result(volt_rt_create(&rt, config), VOLT_OK);
  return rt;
}

static void start(caller *c, volt_rt *rt, int (*fn)(void *arg), void *arg) {
  c->parker = (volt_parker)VOLT_PARKER_INIT;
  c->f = volt_blocking_future(&c->call, rt, fn, arg);
  assert_result(volt_future_poll(c->f, volt_parker_waker(&c->parker)), VOLT_PENDING);
}

static int await(caller *c) {
  volt_park_until(&c->parker, 1, VOLT_NO_DEADLINE);
  return volt_future_poll(c->f, volt_parker_waker(&c->parker));
}

static int call_on_pool(volt_rt *rt, int (*fn)(void *arg), void *arg) {
  volt_blocking b;
  return volt_future_wait(volt_blocking_future(&b, rt, fn, arg));
}

/* ---- none is left behind ---- */

static pthread_key_t key;
static VOLT_ATOMIC(uint32_t) here; /* calls that have begun */
static VOLT_ATOMIC(uint32_t) gone; /* threads that have ended */

/* It takes its time: nobody who does not wait for the thread sees it done. */
static void thread_ends(void *arg) {
  const struct timespec nap = {0, 20000000};
  (void)arg;
  nanosleep(&nap, NULL);
  (void)volt_fetch_add_relaxed(&gone, 1); /* whoever has joined the thread sees it */
}

/* On a thread for each. */
static int mark_thread(void *arg) {
  (void)arg;
  REQUIRE(pthread_setspecific(key, &gone) == 0);
  (void)volt_fetch_add_relaxed(&here, 1); /* a count */
  WAIT_UNTIL(volt_load_relaxed(&here) == CALLS);
  return VOLT_OK;
}

static void mark_threads(volt_rt *rt) {
  caller c[CALLS];
  for (int i = 0; i < CALLS; i++) start(&c[i], rt, mark_thread, NULL);
  for (int i = 0; i < CALLS; i++) assert_result(await(&c[i]), VOLT_OK);
}

static int key_set_up(void **state) {
  (void)state;
  volt_rt_destroy(create(NULL)); /* a sanitizer has a thread of its own from the first on */
  volt_store_relaxed(&here, 0);
  volt_store_relaxed(&gone, 0);
  return pthread_key_create(&key, thread_ends);
}

static int key_tear_down(void **state) {
  (void)state;
  return pthread_key_delete(key);
}

static void the_end_waits_for_idle_threads(void **state) {
  (void)state;
  unsigned before = thread_team_of_process();
  volt_rt *rt = create(NULL);
  mark_threads(rt);
  volt_rt_destroy(rt);
  assert_int_equal(volt_load_relaxed(&gone), CALLS);
  WAIT_UNTIL(thread_team_of_process() ==
             before); /* one that was joined is in the kernel's list for a moment */
}

static void the_end_waits_for_threads_that_have_left(void **state) {
  (void)state;
  volt_rt_stats_of stats;
  unsigned before = thread_team_of_process();
  volt_rt *rt = create(&(volt_rt_config){.blocking_idle_ns = 1});
  mark_threads(rt);
  do {
    volt_rt_stats(rt, &stats);
  } while (stats.blocking_threads > 0);
  volt_rt_destroy(rt);
  assert_int_equal(volt_load_relaxed(&gone), CALLS);
  WAIT_UNTIL(thread_team_of_process() == before);
}

/* ---- signals ---- */

static bool is_blocked(int signal_number) {
  sigset_t now;
  REQUIRE(pthread_sigmask(SIG_SETMASK, NULL, &now) == 0);
  return sigismember(&now, signal_number) == 1;
}

/* The mask that a child process begins with: what the kernel says of it. */
static int child_mask(void *arg) {
  int ends[2];
  int status;
  REQUIRE(pipe(ends) == 0);
  pid_t child = fork();
  if (child == 0) {
    (void)dup2(ends[1], STDOUT_FILENO);
    (void)execlp("grep", "grep", "SigBlk", "/proc/self/status", (char *)NULL);
    _exit(127);
  }
  close(ends[1]);
  FILE *out = fdopen(ends[0], "r");
  REQUIRE(child > 0 && out && fscanf(out, "SigBlk: %llx", (unsigned long long *)arg) == 1);
  fclose(out);
  REQUIRE(waitpid(child, &status, 0) == child);
  return status;
}

static int is_usr1_blocked(void *arg) {
  *(bool *)arg = is_blocked(SIGUSR1);
  return VOLT_OK;
}

static void calls_have_the_signals_of_the_creator(void **state) {
  (void)state;
  unsigned long long mask = ~0ull;
  bool blocked = true;
  volt_rt *rt = create(NULL);
  assert_int_equal(call_on_pool(rt, child_mask, &mask), 0);
  assert_int_equal(mask, 0);
  assert_int_equal(call_on_pool(rt, is_usr1_blocked, &blocked), 0);
  assert_false(blocked);
  volt_rt_destroy(rt);

  sigset_t usr1, before;
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  assert_int_equal(pthread_sigmask(SIG_BLOCK, &usr1, &before), 0);
  rt = create(NULL);
  assert_int_equal(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
  assert_int_equal(call_on_pool(rt, child_mask, &mask), 0);
  assert_int_equal(mask, 1ull << (SIGUSR1 - 1));
  volt_rt_destroy(rt);
}

/* ---- names and hooks ---- */

enum { NAMES = 64 };

static struct {
  pthread_mutex_t lock;
  char names[NAMES][16];
  unsigned started;
  unsigned stopped;
} seen = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void started(const char *name, void *ctx) {
  char system[16];
  REQUIRE(ctx == &seen);
  REQUIRE(volt_rt_current() == NULL);
  REQUIRE(pthread_getname_np(pthread_self(), system, sizeof system) == 0);
  REQUIRE(strcmp(system, name) == 0);
  pthread_mutex_lock(&seen.lock);
  REQUIRE(seen.started < NAMES);
  memcpy(seen.names[seen.started++], system, sizeof system);
  pthread_mutex_unlock(&seen.lock);
}

static void stopped(const char *name, void *ctx) {
  REQUIRE(ctx == &seen);
  pthread_mutex_lock(&seen.lock);
  unsigned i = 0;
  while (i < seen.started && strcmp(seen.names[i], name) != 0) i++;
  REQUIRE(i < seen.started);
  seen.stopped += 1;
  pthread_mutex_unlock(&seen.lock);
}

static void expect_name(const char *name) {
  unsigned found = 0;
  for (unsigned i = 0; i < seen.started; i++) found += strcmp(seen.names[i], name) == 0;
  if (found != 1) fprintf(stderr, "%u threads are called %s\n", found, name);
  assert_int_equal(found, 1);
}

static volt_rt_config watched(const char *prefix) {
  volt_rt_config config = {.workers = 2, .thread_prefix = prefix};
  config.hooks.thread_start = started;
  config.hooks.thread_stop = stopped;
  config.hooks.ctx = &seen;
  seen.started = 0;
  seen.stopped = 0;
  return config;
}

static int wait_for_all(void *arg) {
  (void)arg;
  (void)volt_fetch_add_relaxed(&here, 1); /* a count */
  WAIT_UNTIL(volt_load_relaxed(&here) == CALLS);
  return VOLT_OK;
}

static void call_on_each_thread(volt_rt *rt) {
  caller c[CALLS];
  volt_store_relaxed(&here, 0); /* the start of the calls orders it */
  for (int i = 0; i < CALLS; i++) start(&c[i], rt, wait_for_all, NULL);
  for (int i = 0; i < CALLS; i++) assert_result(await(&c[i]), VOLT_OK);
}

static void threads_have_names_and_say_when_they_begin_and_end(void **state) {
  (void)state;
  volt_rt_config config = watched(NULL);
  volt_rt *rt = create(&config);
  memset((void *)&config, 0xa5, sizeof config); /* copied */
  call_on_each_thread(rt);
  volt_rt_destroy(rt);
  assert_int_equal(seen.started, 2 + CALLS);
  assert_int_equal(seen.stopped, 2 + CALLS);
  expect_name("volt-w0");
  expect_name("volt-w1");
  for (int i = 0; i < CALLS; i++) {
    char name[32];
    (void)snprintf(name, sizeof name, "volt-b%d", i);
    expect_name(name);
  }
}

static void a_prefix_is_cut_and_the_number_is_not(void **state) {
  (void)state;
  char prefix[] = "a-very-long-prefix";
  volt_rt_config config = watched(prefix);
  volt_rt *rt = create(&config);
  memset(prefix, 'x', sizeof prefix - 1); /* copied */
  assert_int_equal(call_on_pool(rt, wait_for_all, (volt_store_relaxed(&here, CALLS - 1), NULL)), 0);
  volt_rt_destroy(rt);
  expect_name("a-very-long--w0");
  expect_name("a-very-long--w1");
  expect_name("a-very-long--b0");
}

static void threads_that_leave_early_have_said_so(void **state) {
  (void)state;
  volt_rt_stats_of stats;
  volt_rt_config config = watched("io");
  config.blocking_idle_ns = 1;
  volt_rt *rt = create(&config);
  for (int i = 0; i < 2; i++) {
    call_on_each_thread(rt);
    do {
      volt_rt_stats(rt, &stats);
    } while (stats.blocking_threads > 0);
  }
  volt_rt_destroy(rt);
  assert_int_equal(seen.started, seen.stopped);
  expect_name("io-b0");
}

static void change_signals(const char *name, void *ctx) {
  sigset_t set;
  (void)name;
  (void)ctx;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  REQUIRE(pthread_sigmask(SIG_SETMASK, &set, NULL) == 0);
}

static void a_hook_may_choose_the_signals(void **state) {
  (void)state;
  unsigned long long mask = 0;
  volt_rt_config config = {.workers = 1};
  config.hooks.thread_start = change_signals;
  volt_rt *rt = create(&config);
  assert_int_equal(call_on_pool(rt, child_mask, &mask), 0);
  assert_int_equal(mask, 1ull << (SIGUSR2 - 1));
  volt_rt_destroy(rt);
}

/* ==== a task that blocks its worker by a call of volt ====
 *
 * Which report is made, and by which thread. */

static volt_rt *rt_of_task;
static VOLT_ATOMIC(uint32_t) reports;
static const char *reported_call;
static volt_task *reported_task;

static void report(const char *call, volt_task *t, void *ctx) {
  volt_sem none = VOLT_SEM_INIT(0);
  REQUIRE(ctx == (void *)&reports);
  REQUIRE(volt_sem_acquire_until(&none, 1, PAST_DEADLINE) == VOLT_ETIMEDOUT); /* it may block */
  reported_call = call;
  reported_task = t;
  (void)volt_fetch_add_release(&reports, 1); /* its end orders the rest */
}

static int blocks_in_sem(volt_task *t, volt_ctx *ctx) {
  volt_sem none = VOLT_SEM_INIT(0);
  (void)t;
  (void)ctx;
  return volt_sem_acquire_until(&none, 1, volt_deadline_ns(1000000));
}

static int blocks_on_future(volt_task *t, volt_ctx *ctx) {
  volt_sem none = VOLT_SEM_INIT(0);
  volt_future f;
  (void)t;
  (void)ctx;
  return volt_future_wait_until(volt_sem_acquire_future(&f, &none, 1), volt_deadline_ns(1000000));
}

static int waits_for_report(void *arg) {
  (void)volt_fetch_add_release((VOLT_ATOMIC(uint32_t) *)arg, 1);
  WAIT_UNTIL(volt_load_acquire(&reports) > 0);
  return VOLT_OK;
}

/* Gives up a call that runs, and ends only when that is reported. */
static int cancels_a_call(volt_task *t, volt_ctx *ctx) {
  volt_blocking b;
  volt_parker parker = VOLT_PARKER_INIT;
  VOLT_ATOMIC(uint32_t) runs = 0;
  (void)t;
  (void)ctx;
  volt_future *f = volt_blocking_future(&b, rt_of_task, waits_for_report, (void *)&runs);
  REQUIRE(volt_future_poll(f, volt_parker_waker(&parker)) == VOLT_PENDING);
  WAIT_UNTIL(volt_load_acquire(&runs) > 0);
  volt_future_cancel(f);
  WAIT_UNTIL(volt_load_relaxed(&parker.word) != 0); /* its wake: the parker may go */
  return VOLT_ETIMEDOUT;
}

static void run_task(volt_task_fn *poll) {
  volt_task t;
  memset((void *)&t, 0, sizeof t);
  volt_task_init(&t, poll);
  assert_result(volt_spawn(rt_of_task, &t), VOLT_OK);
  (void)volt_task_join(&t);
  assert_result(volt_task_result(&t), VOLT_ETIMEDOUT);
  if (volt_load_acquire(&reports) > 0) assert_ptr_equal(reported_task, &t);
}

static void who_blocks_a_worker_is_told(void **state) {
  (void)state;
  volt_rt_config config = {.workers = 1};
  config.hooks.blocks = report;
  config.hooks.ctx = (void *)&reports;
  rt_of_task = create(&config);
  volt_store_relaxed(&reports, 0); /* nothing runs yet */
  run_task(blocks_in_sem);
  uint32_t before = volt_load_acquire(&reports);
  assert_true(before > 0);
  assert_string_equal(reported_call, "volt_sem");
  run_task(blocks_on_future);
  assert_true(volt_load_acquire(&reports) > before);
  assert_string_equal(reported_call, "volt_future_wait_until");
  volt_store_relaxed(&reports, 0); /* nothing runs */
  run_task(cancels_a_call);
  assert_string_equal(reported_call, "volt_future_cancel");
  volt_rt_destroy(rt_of_task);
}

static void block_thrice(void *arg) {
  (void)arg;
  rt_of_task = create(&(volt_rt_config){.workers = 1});
  for (int i = 0; i < 3; i++) run_task(blocks_in_sem);
  volt_rt_destroy(rt_of_task);
}

#if defined(VOLT_DEBUG) && VOLT_DEBUG
static void blocks(void *ctx) {
  ignore_result(volt_sem_acquire((volt_sem *)ctx, 1));
}

/* No task runs meanwhile. */
static void block_in_a_waker(void *arg) {
  volt_parker never = VOLT_PARKER_INIT;
  volt_timer timer;
  volt_waker waker = {blocks, arg};
  memset((void *)&timer, 0, sizeof timer);
  rt_of_task = create(&(volt_rt_config){.workers = 1});
  volt_timer_start(volt_rt_timers(rt_of_task), &timer, 0, waker);
  (void)volt_park_until(&never, 1, VOLT_NO_DEADLINE);
}

static void without_a_hook_it_is_said_once_or_aborts(void **state) {
  volt_sem sem = VOLT_SEM_INIT(0);
  (void)state;
  assert_death(block_thrice, NULL, "volt: volt_sem_acquire_until: task 0x", "must not block");
  assert_death(block_in_a_waker, &sem, "volt: volt_sem_acquire_until: ", "a waker that worker 0",
               "must not block");
}
#else
/* What act() says on standard error. */
static void listen(void (*act)(void *arg), char *text, size_t size) {
  int ends[2];
  int before = dup(STDERR_FILENO);
  assert_true(before >= 0);
  assert_int_equal(pipe(ends), 0);
  assert_true(dup2(ends[1], STDERR_FILENO) >= 0);
  act(NULL);
  assert_true(dup2(before, STDERR_FILENO) >= 0);
  close(before);
  close(ends[1]);
  ssize_t length = read(ends[0], text, size - 1);
  close(ends[0]);
  assert_true(length >= 0);
  text[length] = '\0';
}

static void without_a_hook_it_is_said_once_or_aborts(void **state) {
  (void)state;
  char text[1024];
  volt_store_relaxed(&reports, 0); /* nothing runs */
  listen(block_thrice, text, sizeof text);
  assert_ptr_equal(strstr(text, "volt: volt_sem: task 0x"), text);
  assert_non_null(strstr(text, "blocks worker 0"));
  assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(the_end_waits_for_idle_threads, key_set_up, key_tear_down),
      cmocka_unit_test_setup_teardown(the_end_waits_for_threads_that_have_left, key_set_up,
                                      key_tear_down),
      cmocka_unit_test(calls_have_the_signals_of_the_creator),
      cmocka_unit_test(threads_have_names_and_say_when_they_begin_and_end),
      cmocka_unit_test(a_prefix_is_cut_and_the_number_is_not),
      cmocka_unit_test(threads_that_leave_early_have_said_so),
      cmocka_unit_test(a_hook_may_choose_the_signals),
      cmocka_unit_test(who_blocks_a_worker_is_told),
      cmocka_unit_test(without_a_hook_it_is_said_once_or_aborts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
