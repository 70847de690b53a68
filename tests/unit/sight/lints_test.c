/* lints_test.c: what is wrong with a task for certain, and what only looks so. */
#include "dump_kit.h"

#include <pthread.h>
#include <volt/fiber.h>

#include "core/future/future_ops.h"
#include "core/future/leaf.h"
#include "core/inspect/describe.h"

/* A future of two others. Its second poll, and each after that, does not look at the first. */
typedef struct careless {
  volt_future future;
  volt_future *first;
  volt_future lock, permit;
  volt_sleep_op sleep;
  bool was_polled;
} careless;

typedef struct job {
  volt_task task;
  careless careless;
  volt_future *branches[2];
  volt_select select;
  volt_timeout timeout;
  int result;
} job;

enum { MS = 1000000 };

static by_hand h;
static volt_mutex lock;
static volt_sem pool;

static int set_up(void **state) {
  (void)state;
  dumped_begin();
  by_hand_begin(&h);
  volt_mutex_init(&lock);
  assert_true(volt_mutex_try_lock(&lock) == VOLT_OK);
  volt_sem_init(&pool, 0);
  dumped_call(&lock, "LOCK");
  dumped_call(&pool, "POOL");
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  by_hand_end(&h, 0);
  return 0;
}

static careless *careless_of(volt_future *f) {
  return volt_container_of(f, careless, future);
}

static int careless_end(careless *c, int result) {
  volt_future_cancel(c->first);
  volt_future_cancel(&c->permit);
  return result;
}

static int careless_poll(volt_future *f, volt_ctx *ctx) {
  careless *c = careless_of(f);
  if (ctx->cancel != VOLT_CTX_GO_ON) return careless_end(c, VOLT_ECANCELED);
  if (!c->was_polled) {
    c->was_polled = true;
    int result = volt_future_poll_ctx(c->first, ctx);
    if (result != VOLT_PENDING) return careless_end(c, result);
  }
  int result = volt_future_poll_ctx(&c->permit, ctx);
  return result == VOLT_PENDING ? result : careless_end(c, result);
}

static bool careless_cancel(volt_future *f) {
  (void)careless_end(careless_of(f), VOLT_ECANCELED);
  return true;
}

static void careless_leave(volt_future *f) {
  (void)f;
}

static volt_future *careless_inside(volt_future *f, unsigned i) {
  careless *c = careless_of(f);
  return i == 0 ? c->first : i == 1 ? &c->permit : NULL;
}

static void careless_describe(volt_future *f, volt_description_ *description) {
  (void)f;
  description->ends = VOLT_ENDS_ANY_;
}

static const volt_future_ops_ careless_ops = {.operation = "careless",
                                              .cancel = careless_cancel,
                                              .poll_ctx = volt_future_poll_any_,
                                              .poll = careless_poll,
                                              .leave = careless_leave,
                                              .inside = careless_inside,
                                              .describe = careless_describe,
                                              .ends_itself = true};

static int use_poll(volt_task *t, volt_ctx *ctx) {
  job *self = volt_container_of(t, job, task);
  VOLT_TASK_BEGIN(self);
  self->careless.first = volt_mutex_lock_future(&self->careless.lock, &lock);
  volt_future_made(volt_sem_acquire_future(&self->careless.permit, &pool, 1));
  VOLT_AWAIT_RESULT(self, self->result,
                    volt_future_make_(&self->careless.future, &careless_ops, NULL, 0));
  VOLT_TASK_END(self);
}

/* It sleeps for a second in place of the lock. */
static int doze_poll(volt_task *t, volt_ctx *ctx) {
  job *self = volt_container_of(t, job, task);
  VOLT_TASK_BEGIN(self);
  self->careless.first =
      volt_sleep_future(&self->careless.sleep, volt_rt_timers(h.rt), 1000 * (uint64_t)MS);
  volt_future_made(volt_sem_acquire_future(&self->careless.permit, &pool, 1));
  VOLT_AWAIT_RESULT(self, self->result,
                    volt_future_make_(&self->careless.future, &careless_ops, NULL, 0));
  VOLT_TASK_END(self);
}

/* It awaits the same two with care. */
static int select_poll(volt_task *t, volt_ctx *ctx) {
  job *self = volt_container_of(t, job, task);
  VOLT_TASK_BEGIN(self);
  self->branches[0] = volt_mutex_lock_future(&self->careless.lock, &lock);
  self->branches[1] = volt_sem_acquire_future(&self->careless.permit, &pool, 1);
  VOLT_AWAIT_RESULT(self, self->result,
                    volt_select_future(&self->select, self->branches, 2, VOLT_SELECT_FAIR));
  if (self->result == VOLT_OK && volt_select_winner(&self->select) == 0) volt_mutex_unlock(&lock);
  VOLT_TASK_END(self);
}

static int sleepless_poll(volt_task *t, volt_ctx *ctx) {
  (void)t;
  return ctx->cancel ? VOLT_ECANCELED : VOLT_PENDING;
}

static job *spawn(volt_task_fn *poll) {
  job *j = VOLT_TASK_NEW(h.rt, job, poll);
  assert_non_null(j);
  dumped_call(j, "TASK");
  assert_result(volt_spawn(h.rt, &j->task), VOLT_OK);
  by_hand_run(&h);
  return j;
}

static void end(job *j) {
  volt_task_cancel(&j->task);
  by_hand_run(&h);
  assert_true(volt_task_result(&j->task) != VOLT_PENDING);
  volt_task_detach(&j->task);
}

static bool is_said(const char *words) {
  assert_result(dumped_whole(h.rt, 0), VOLT_OK);
  return dumped_has(words);
}

#define GRANTED "NOT POLLED"
#define LOST "NOTHING CAN WAKE IT: no registration is open"

static void a_grant_that_no_poll_looks_at(void **state) {
  (void)state;
  job *j = spawn(use_poll);
  assert_false(is_said(GRANTED));
  volt_mutex_unlock(&lock);
  by_hand_run(&h);
  volt_rt_advance(h.rt, 1500 * (uint64_t)MS);
  by_hand_run(&h);
  assert_true(
      is_said("task TASK use_poll, waits for 1.5 s, poll 2: GRANTED MORE THAN 1.5 s AGO, NOT"
              " POLLED: others may wait for what it holds\n"
              "  lints_test.c:L use_poll: careless\n"
              "    volt_mutex_lock of mutex LOCK: granted, not polled\n"
              "    volt_sem_acquire 1 of semaphore POOL (0 free, 1 waits), 1st in line\n"));
  assert_int_equal(strncmp(dump.plain, "task TASK", 9), 0); /* before all else */
  end(j);
}

/* A second has not passed. */
static void a_grant_that_is_young(void **state) {
  (void)state;
  job *j = spawn(use_poll);
  volt_mutex_unlock(&lock);
  by_hand_run(&h);
  volt_rt_advance(h.rt, 900 * (uint64_t)MS);
  assert_false(is_said(GRANTED));
  end(j);
}

/* Nothing is held by a timer that has fired: no other task can wait for it. */
static void a_timer_that_no_poll_looks_at(void **state) {
  (void)state;
  job *j = spawn(doze_poll);
  volt_rt_advance(h.rt, 1500 * (uint64_t)MS);
  by_hand_run(&h);
  volt_rt_advance(h.rt, 1500 * (uint64_t)MS);
  by_hand_run(&h);
  assert_true(is_said("    volt_sleep, its time has come: not polled\n"));
  assert_false(is_said(GRANTED));
  end(j);
}

/* It was granted long after the last poll, and its task is ready. */
static void a_grant_whose_wake_has_come(void **state) {
  (void)state;
  job *j = spawn(select_poll);
  volt_rt_advance(h.rt, 5000 * (uint64_t)MS);
  volt_mutex_unlock(&lock);
  assert_false(is_said(GRANTED));
  by_hand_run(&h);
  assert_result(j->result, VOLT_OK);
  volt_task_detach(&j->task);
}

/* The wake has not come: the waiter is granted, and its granter has not called the waker. */
static void a_grant_whose_wake_is_on_its_way(void **state) {
  (void)state;
  job *j = spawn(select_poll);
  volt_rt_advance(h.rt, 5000 * (uint64_t)MS);
  volt_waiter *w = &j->careless.permit.waiter;
  uint32_t before = volt_load_relaxed(&w->state);
  volt_store_relaxed(&w->state, VOLT_WAITER_GRANTED_);
  assert_true(is_said("granted, not polled\n"));
  assert_false(is_said(GRANTED));
  volt_store_relaxed(&w->state, before);
  end(j);
}

static void a_task_without_a_registration(void **state) {
  (void)state;
  job *j = spawn(sleepless_poll);
  assert_true(is_said(LOST));
  end(j);
}

/* ---- what is all right ---- */

static int nap_in_fiber(void *arg) {
  return volt_park_until(arg, 1, VOLT_NO_DEADLINE);
}

/* It waits for no object that could be shown, but for a thread. */
static void a_fiber_that_is_parked(void **state) {
  (void)state;
  volt_parker parker = VOLT_PARKER_INIT;
  volt_task *f = volt_fiber_new(h.rt, nap_in_fiber, &parker, NULL);
  assert_result(volt_spawn(h.rt, f), VOLT_OK);
  by_hand_run(&h);
  assert_false(is_said(LOST));
  volt_unpark(&parker);
  by_hand_run(&h);
  assert_result(volt_task_result(f), VOLT_OK);
  volt_task_detach(f);
}

static int group_poll(volt_task *t, volt_ctx *ctx) {
  struct grouped {
    volt_task task;
    volt_future f;
    volt_group group;
    volt_blocking call;
  } *self = (void *)t;
  VOLT_TASK_BEGIN(self);
  volt_group_init(&self->group);
  if (volt_group_spawn(&self->group, t->rt, &VOLT_TASK_NEW(t->rt, job, select_poll)->task)) {
    VOLT_RETURN(self, VOLT_ENOMEM);
  }
  VOLT_AWAIT(self, volt_group_wait_future(&self->f, &self->group));
  VOLT_TASK_END(self);
}

static void a_task_that_waits_for_a_group(void **state) {
  (void)state;
  volt_task *t = volt_task_new(h.rt, 1024, group_poll);
  assert_result(volt_spawn(h.rt, t), VOLT_OK);
  by_hand_run(&h);
  assert_false(is_said(LOST));
  volt_sem_release(&pool, 1);
  by_hand_run(&h);
  assert_result(volt_task_result(t), VOLT_OK);
  volt_task_detach(t);
}

/* ---- the watch ---- */

typedef struct reports {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  unsigned count;
  char text[4096];
} reports;

static void note_report(void *ctx, const char *text, size_t length) {
  reports *r = ctx;
  pthread_mutex_lock(&r->mutex);
  r->count += 1;
  REQUIRE(length < sizeof r->text);
  memcpy(r->text, text, length);
  r->text[length] = 0;
  pthread_cond_broadcast(&r->changed);
  pthread_mutex_unlock(&r->mutex);
}

static void expect_reports(reports *r, unsigned count) {
  pthread_mutex_lock(&r->mutex);
  while (r->count < count) pthread_cond_wait(&r->changed, &r->mutex);
  assert_int_equal(r->count, count);
  pthread_mutex_unlock(&r->mutex);
}

/* Each once, as long as it is not polled. */
static void the_watch_reports_each_once(void **state) {
  (void)state;
  static reports r = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
  volt_sight_config config = {
      .flags = VOLT_SIGHT_LINTS, .period_ns = MS, .report = note_report, .ctx = &r};
  assert_result(volt_sight_enable(&config), VOLT_OK);
  job *first = spawn(sleepless_poll);
  expect_reports(&r, 1);
  assert_non_null(strstr(r.text, "volt: task 0x"));
  assert_non_null(strstr(r.text, LOST));
  job *second = spawn(sleepless_poll);
  expect_reports(&r, 2);
  char address[32];
  snprintf(address, sizeof address, "task %p ", (void *)second);
  assert_non_null(strstr(r.text, address));
  volt_sight_disable();
  assert_int_equal(r.count, 2);
  end(first);
  end(second);
}

int main(void) {
#define IN_SCENE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      IN_SCENE(a_timer_that_no_poll_looks_at),
      IN_SCENE(a_grant_that_no_poll_looks_at),
      IN_SCENE(a_grant_that_is_young),
      IN_SCENE(a_grant_whose_wake_has_come),
      IN_SCENE(a_grant_whose_wake_is_on_its_way),
      IN_SCENE(a_task_without_a_registration),
      IN_SCENE(a_fiber_that_is_parked),
      IN_SCENE(a_task_that_waits_for_a_group),
      IN_SCENE(the_watch_reports_each_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
