/* rt_block_test.c: a task that blocks its worker by a call of volt: who is told, and by what. */
#define _GNU_SOURCE /* dup2, pipe */
#include <stdlib.h>
#include <unistd.h>
#include <volt/runtime.h>

#include "death.h"
#include "require.h"
#include "thread_team.h"
#include "unit.h"

static volt_rt *create(const volt_rt_config *config) {
  volt_rt *rt;
  assert_result(volt_rt_create(&rt, config), VOLT_OK);
  return rt;
}

static volt_rt *rt_of_task;
static VOLT_ATOMIC(uint32_t) reports;
static const char *reported_call;
static volt_task *reported_task;

static void report(const char *call, volt_task *t, void *ctx) {
  volt_sem none = VOLT_SEM_INIT(0);
  REQUIRE(ctx == (void *)&reports);
  REQUIRE(volt_sem_acquire_blocking(&none, 1, PAST_DEADLINE) == VOLT_ETIMEDOUT); /* it may block */
  reported_call = call;
  reported_task = t;
  (void)volt_fetch_add_release(&reports, 1); /* its end orders the rest */
}

static int blocks_in_sem(volt_task *t, volt_ctx *ctx) {
  volt_sem none = VOLT_SEM_INIT(0);
  (void)t;
  (void)ctx;
  return volt_sem_acquire_blocking(&none, 1, volt_deadline_ns(1000000));
}

static int blocks_on_future(volt_task *t, volt_ctx *ctx) {
  volt_sem none = VOLT_SEM_INIT(0);
  volt_future f;
  (void)t;
  (void)ctx;
  return volt_block_on(volt_sem_acquire_future(&f, &none, 1), volt_deadline_ns(1000000));
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
  (void)volt_task_join_blocking(&t, VOLT_NO_DEADLINE);
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
  assert_string_equal(reported_call, "volt_block_on");
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
static void without_a_hook_it_is_said_once_or_aborts(void **state) {
  (void)state;
  assert_death(block_thrice, NULL, "volt: a blocking call: task 0x", "must not block");
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
      cmocka_unit_test(who_blocks_a_worker_is_told),
      cmocka_unit_test(without_a_hook_it_is_said_once_or_aborts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
