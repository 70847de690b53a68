/* blocking_test.c: calls that block, on threads of the runtime; the tasks that await them are run by
 * hand. A call holds its thread until the test opens its gate, so nothing here depends on time but
 * how long an idle thread stays: that is looked at until it is so. */
#include "by_hand.h"
#include "core/park/spin.h"
#include "thread_team.h"

/* What a call is given. */
typedef struct gate {
  volt_parker open;
  VOLT_ATOMIC(uint32_t) began;
  int result;
} gate;

typedef struct job {
  volt_task task;
  volt_blocking blocking;
  volt_sem may_end;
  volt_future end;
  gate *gate;
  int result;
} job;

static by_hand h;
static fake_waker a;
static fake_waker b;

static int begin(uint32_t max, uint64_t idle_ns) {
  volt_rt_config config = by_hand_config(&h);
  config.blocking_max = max;
  config.blocking_idle_ns = idle_ns;
  assert_result(volt_rt_create(&h.rt, &config), VOLT_OK);
  fake_waker_init(&a, 0, NULL);
  fake_waker_init(&b, 1, NULL);
  return 0;
}

static int one_thread(void **state) {
  (void)state;
  return begin(1, 0);
}

static int four_threads(void **state) {
  (void)state;
  return begin(4, 0);
}

static int impatient_threads(void **state) {
  (void)state;
  return begin(4, 1000);
}

static int tear_down(void **state) {
  (void)state;
  by_hand_end(&h, 0);
  return 0;
}

static int hold(void *arg) {
  gate *g = (gate *)arg;
  (void)volt_fetch_add_release(&g->began, 1);
  volt_park_until(&g->open, 1, VOLT_NO_DEADLINE);
  return g->result;
}

static uint32_t begun(gate *g) {
  return volt_load_acquire(&g->began);
}

static int calls(volt_task *t, volt_ctx *ctx) {
  job *self = volt_container_of(t, job, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT_RESULT(self, self->result,
                    volt_blocking_future(&self->blocking, h.rt, hold, self->gate));
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->end, &self->may_end, 1));
  VOLT_TASK_END(self);
}

static job *spawn(gate *g) {
  job *j = VOLT_TASK_NEW(h.rt, job, calls);
  assert_non_null(j);
  j->gate = g;
  j->result = VOLT_PENDING;
  assert_result(volt_spawn(h.rt, &j->task), VOLT_OK);
  by_hand_run(&h);
  return j;
}

/* Run it until its call has a result. */
static void run_until_called(job *j) {
  while (j->result == VOLT_PENDING) {
    by_hand_run(&h);
    sched_yield();
  }
}

static void end(job *j, int result) {
  volt_sem_release(&j->may_end, 1);
  while (volt_task_result(&j->task) == VOLT_PENDING) by_hand_run(&h);
  assert_result(volt_task_result(&j->task), result);
  volt_task_detach(&j->task);
}

static void a_call_has_its_result(void **state) {
  (void)state;
  gate g = {.result = 42};
  job *j = spawn(&g);
  WAIT_UNTIL(begun(&g) == 1);
  by_hand_run(&h);
  assert_result(j->result, VOLT_PENDING);
  assert_int_equal(by_hand_stats(&h).blocking_threads, 1);
  volt_unpark(&g.open);
  run_until_called(j);
  assert_int_equal(j->result, 42);
  end(j, VOLT_OK);
}

static void nothing_begins_before_the_first_poll(void **state) {
  (void)state;
  gate g = {.result = 1234};
  volt_blocking call;
  volt_future *f = volt_blocking_future(&call, h.rt, hold, &g);
  assert_int_equal(by_hand_stats(&h).blocking_threads, 0);
  volt_future_cancel(f);
  assert_result(volt_future_poll(f, fake_waker_of(&a)), VOLT_ECANCELED);
  assert_int_equal(by_hand_stats(&h).blocking_threads, 0);
  assert_int_equal(begun(&g), 0);
}

static void a_thread_may_block_on_it(void **state) {
  (void)state;
  gate g = {.result = -77};
  volt_blocking call;
  volt_unpark(&g.open);
  volt_future *f = volt_blocking_future(&call, h.rt, hold, &g);
  assert_int_equal(volt_future_wait(f), -77);
  assert_int_equal(volt_future_poll(f, fake_waker_of(&a)), -77);
}

static void its_last_waker_is_called_once(void **state) {
  (void)state;
  gate g = {.result = 5};
  volt_blocking call;
  volt_future *f = volt_blocking_future(&call, h.rt, hold, &g);
  assert_result(volt_future_poll(f, fake_waker_of(&a)), VOLT_PENDING);
  assert_result(volt_future_poll(f, fake_waker_of(&b)), VOLT_PENDING);
  volt_unpark(&g.open);
  WAIT_UNTIL(fake_waker_calls(&b) == 1);
  assert_int_equal(volt_future_poll(f, fake_waker_of(&a)), 5);
  assert_int_equal(fake_waker_calls(&a), 0);
}

/* ---- more than there are threads ---- */

static void beyond_the_bound_they_queue_in_order(void **state) {
  (void)state;
  enum { CALLS = 6 };
  gate gates[CALLS];
  job *j[CALLS];
  memset((void *)gates, 0, sizeof gates);
  for (int i = 0; i < CALLS; i++) {
    gates[i].result = 100 + i;
    j[i] = spawn(&gates[i]);
  }
  for (int i = 0; i < CALLS; i++) {
    WAIT_UNTIL(begun(&gates[i]) == 1);
    assert_int_equal(by_hand_stats(&h).blocking_threads, 1);
    assert_int_equal(by_hand_stats(&h).blocking_queued, CALLS - 1 - i);
    for (int k = i + 1; k < CALLS; k++) assert_int_equal(begun(&gates[k]), 0);
    volt_unpark(&gates[i].open);
    run_until_called(j[i]);
    assert_int_equal(j[i]->result, 100 + i);
  }
  for (int i = 0; i < CALLS; i++) end(j[i], VOLT_OK);
}

static void threads_come_up_to_the_bound(void **state) {
  (void)state;
  enum { CALLS = 7 };
  gate gates[CALLS];
  job *j[CALLS];
  memset((void *)gates, 0, sizeof gates);
  for (int i = 0; i < CALLS; i++) j[i] = spawn(&gates[i]);
  for (int i = 0; i < 4; i++) WAIT_UNTIL(begun(&gates[i]) == 1);
  assert_int_equal(by_hand_stats(&h).blocking_threads, 4);
  assert_int_equal(by_hand_stats(&h).blocking_queued, 3);
  assert_int_equal(by_hand_stats(&h).blocking_idle, 0);
  for (int i = 0; i < CALLS; i++) volt_unpark(&gates[i].open);
  for (int i = 0; i < CALLS; i++) {
    run_until_called(j[i]);
    assert_int_equal(begun(&gates[i]), 1);
    end(j[i], VOLT_OK);
  }
  WAIT_UNTIL(by_hand_stats(&h).blocking_idle == 4);
  gate g = {.result = 3};
  job *again = spawn(&g);
  assert_int_equal(by_hand_stats(&h).blocking_threads, 4); /* one that was idle */
  volt_unpark(&g.open);
  run_until_called(again);
  end(again, VOLT_OK);
}

static void idle_threads_leave(void **state) {
  (void)state;
  for (int again = 0; again < 2; again++) {
    gate gates[3];
    job *j[3];
    memset((void *)gates, 0, sizeof gates);
    for (int i = 0; i < 3; i++) j[i] = spawn(&gates[i]);
    for (int i = 0; i < 3; i++) volt_unpark(&gates[i].open);
    for (int i = 0; i < 3; i++) {
      run_until_called(j[i]);
      end(j[i], VOLT_OK);
    }
    WAIT_UNTIL(by_hand_stats(&h).blocking_threads == 0);
    assert_int_equal(by_hand_stats(&h).blocking_idle, 0);
  }
}

/* ---- cancel ---- */

static void cancelled_in_the_queue_it_never_begins(void **state) {
  (void)state;
  gate gates[3];
  job *j[3];
  memset((void *)gates, 0, sizeof gates);
  for (int i = 0; i < 3; i++) j[i] = spawn(&gates[i]);
  WAIT_UNTIL(begun(&gates[0]) == 1);
  assert_int_equal(by_hand_stats(&h).blocking_queued, 2);
  assert_true(volt_task_cancel(&j[1]->task));
  by_hand_run(&h);
  assert_result(j[1]->result, VOLT_ECANCELED);
  assert_int_equal(by_hand_stats(&h).blocking_queued, 1);
  end(j[1], VOLT_OK); /* it has obeyed: what it awaits afterwards is awaited */
  for (int i = 0; i < 3; i++) volt_unpark(&gates[i].open);
  run_until_called(j[0]);
  run_until_called(j[2]);
  end(j[0], VOLT_OK);
  end(j[2], VOLT_OK);
  assert_int_equal(begun(&gates[1]), 0);
  assert_int_equal(begun(&gates[2]), 1);
}

static void cancelled_while_it_runs_it_goes_on_to_its_end(void **state) {
  (void)state;
  gate g = {.result = 8};
  job *j = spawn(&g);
  WAIT_UNTIL(begun(&g) == 1);
  assert_true(volt_task_cancel(&j->task));
  by_hand_run(&h);
  assert_result(j->result, VOLT_PENDING);
  volt_unpark(&g.open);
  run_until_called(j);
  assert_int_equal(j->result, 8);
  while (volt_task_result(&j->task) == VOLT_PENDING) by_hand_run(&h);
  assert_result(volt_task_result(&j->task), VOLT_ECANCELED); /* by the next await */
  volt_task_detach(&j->task);
}

static void cancelled_before_its_first_poll(void **state) {
  (void)state;
  gate g = {.result = 8};
  job *j = VOLT_TASK_NEW(h.rt, job, calls);
  j->gate = &g;
  assert_result(volt_spawn(h.rt, &j->task), VOLT_OK);
  assert_true(volt_task_cancel(&j->task));
  by_hand_run(&h);
  assert_result(j->result, VOLT_ECANCELED);
  assert_int_equal(by_hand_stats(&h).blocking_threads, 0);
  end(j, VOLT_OK);
}

static void open_the_gate(void *arg, uint32_t index) {
  gate *g = (gate *)arg;
  (void)index;
  WAIT_UNTIL(begun(g) == 1);
  volt_unpark(&g->open);
}

static void a_future_that_is_cancelled_waits_for_the_call(void **state) {
  (void)state;
  gate g = {.result = 8};
  volt_blocking call;
  volt_future *f = volt_blocking_future(&call, h.rt, hold, &g);
  assert_result(volt_future_poll(f, fake_waker_of(&a)), VOLT_PENDING);
  WAIT_UNTIL(begun(&g) == 1);
  thread_team opener;
  thread_team_start(&opener, 1, open_the_gate, &g);
  volt_future_cancel(f);
  /* it was opened before */
  assert_int_equal(volt_load_relaxed(&g.open.word) / VOLT_PARKER_UNPARK_, 1);
  memset((void *)&call, 0xa5, sizeof call); /* the caller's again */
  thread_team_join(&opener);
  WAIT_UNTIL(fake_waker_calls(&a) == 1);
}

static void shutdown_waits_for_a_call(void **state) {
  (void)state;
  gate running = {.result = 8};
  gate queued = {.result = 9};
  job *j[] = {spawn(&running), spawn(&queued)};
  WAIT_UNTIL(begun(&running) == 1);
  assert_result(volt_rt_shutdown(h.rt, PAST_DEADLINE), VOLT_ETIMEDOUT);
  assert_result(j[1]->result, VOLT_ECANCELED); /* it was in the queue; it awaits still */
  by_hand_expect_live(&h, 2);
  volt_sem_release(&j[1]->may_end, 1);
  volt_unpark(&running.open);
  assert_result(volt_rt_shutdown(h.rt, VOLT_NO_DEADLINE), VOLT_OK);
  assert_int_equal(j[0]->result, 8);
  assert_result(volt_task_result(&j[0]->task), VOLT_ECANCELED);
  assert_result(volt_task_result(&j[1]->task), VOLT_OK);
  for (int i = 0; i < 2; i++) volt_task_detach(&j[i]->task);
  assert_int_equal(begun(&queued), 0);
  assert_int_equal(volt_rt_destroy(h.rt), 2);
  begin(1, 0);
}

#define A_TEST(name, set_up) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      A_TEST(a_call_has_its_result, four_threads),
      A_TEST(nothing_begins_before_the_first_poll, four_threads),
      A_TEST(a_thread_may_block_on_it, four_threads),
      A_TEST(its_last_waker_is_called_once, four_threads),
      A_TEST(beyond_the_bound_they_queue_in_order, one_thread),
      A_TEST(threads_come_up_to_the_bound, four_threads),
      A_TEST(idle_threads_leave, impatient_threads),
      A_TEST(cancelled_in_the_queue_it_never_begins, one_thread),
      A_TEST(cancelled_while_it_runs_it_goes_on_to_its_end, one_thread),
      A_TEST(cancelled_before_its_first_poll, one_thread),
      A_TEST(a_future_that_is_cancelled_waits_for_the_call, one_thread),
      A_TEST(shutdown_waits_for_a_call, one_thread),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
