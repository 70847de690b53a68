/* inspect_test.c: an inspector looks at the tasks of a runtime by hand with a virtual clock: what it
 * sees; what happens to a task that is claimed; that it sees each once; and runtimes that are pinned. */
#define _DEFAULT_SOURCE /* fork */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#include <volt/fiber.h>

#include "by_hand.h"
#include "rt/host/pins.h"
#include "rt/host/runtime.h"
#include "rt/inspect/inspect.h"
#include "rt/sched/registry.h"
#include "rt/sched/worker.h"
#include "thread_team.h"

enum { MANY = 150 };
#define MS UINT64_C(1000000)

typedef struct job {
  volt_task task;
  volt_future wait;
  int result;
} job;

static by_hand h;
static volt_sem sem;

/* What one inspection has seen, in order. */
static struct {
  volt_seen_ all[MANY];
  unsigned count;
  unsigned batches;
  unsigned gaps;
  void (*during)(void);  /* each batch, while the tasks are claimed */
  void (*between)(void); /* after each batch */
  unsigned most;         /* batches, before it says to stop; 0: any number */
} seen;

static int set_up(void **state) {
  (void)state;
  by_hand_begin(&h);
  volt_sem_init(&sem, 0);
  memset(&seen, 0, sizeof seen);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  if (h.rt) by_hand_end(&h, 0);
  return 0;
}

static bool see(void *ctx, const volt_seen_ *tasks, unsigned count) {
  assert_ptr_equal(ctx, &seen);
  if (!tasks) {
    seen.gaps += 1;
    if (seen.between) seen.between();
    return true;
  }
  assert_in_range(count, 1, VOLT_SEEN_BATCH_);
  assert_in_range(seen.count + count, 1, MANY);
  memcpy(&seen.all[seen.count], tasks, count * sizeof *tasks);
  seen.count += count;
  seen.batches += 1;
  if (seen.during) seen.during();
  return seen.batches != seen.most;
}

static int inspect_by(unsigned batch) {
  seen.count = 0;
  seen.batches = 0;
  seen.gaps = 0;
  return volt_inspect_(h.rt, batch, see, &seen);
}

/* There is one task. */
static const volt_seen_ *inspect_one(void) {
  assert_result(inspect_by(VOLT_SEEN_BATCH_), VOLT_OK);
  assert_int_equal(seen.count, 1);
  assert_int_equal(seen.gaps, 1);
  return &seen.all[0];
}

static uint32_t line_of_wait;

static int job_poll(volt_task *t, volt_ctx *ctx) {
  job *self = volt_container_of(t, job, task);
  VOLT_TASK_BEGIN(self);
  line_of_wait = __LINE__ + 1;
  VOLT_AWAIT_RESULT(self, self->result, volt_sem_acquire_future(&self->wait, &sem, 1));
  VOLT_RETURN(self, self->result);
  VOLT_TASK_END(self);
}

static job *spawn(volt_task_fn *poll) {
  job *j = VOLT_TASK_NEW(h.rt, job, poll);
  assert_non_null(j);
  assert_result(volt_spawn(h.rt, &j->task), VOLT_OK);
  return j;
}

static job *spawn_waiting(void) {
  job *j = spawn(job_poll);
  by_hand_run(&h);
  return j;
}

static void expect_end(job *j, int result) {
  by_hand_run(&h);
  assert_result(volt_task_result(&j->task), result);
  volt_task_detach(&j->task);
}

/* ---- what is seen ---- */

static void it_waits(void **state) {
  (void)state;
  volt_rt_advance(h.rt, 5000 * MS);
  job *j = spawn_waiting();
  volt_rt_advance(h.rt, 3000 * MS);
  const volt_seen_ *s = inspect_one();
  assert_int_equal(s->how, VOLT_SEEN_WAITS_);
  assert_ptr_equal(s->task, &j->task);
  assert_ptr_equal(s->poll, job_poll);
  assert_string_equal(s->site->function, "job_poll");
  assert_non_null(strstr(s->site->file, "inspect_test.c"));
  assert_int_equal(s->site->bytes, sizeof(job));
  assert_int_equal(s->site->version, VOLT_SITE_VERSION_);
  assert_int_equal(s->line, line_of_wait);
  assert_int_equal(s->polls, 1);
  assert_int_equal(s->registrations, 1);
  assert_in_range(volt_rt_now_ns(h.rt) - s->since_ns, 3000 * MS, 3002 * MS);
  assert_null(s->fn);
  assert_false(s->is_cancelled);
  volt_sem_release(&sem, 1);
  expect_end(j, VOLT_OK);
}

/* A poll that ends in a wait counts; one that lets others run does not. */
static int yields_then_waits(volt_task *t, volt_ctx *ctx) {
  job *self = volt_container_of(t, job, task);
  VOLT_TASK_BEGIN(self);
  VOLT_YIELD(self);
  VOLT_YIELD(self);
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->wait, &sem, 1));
  VOLT_YIELD(self);
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->wait, &sem, 1));
  VOLT_TASK_END(self);
}

static void its_waits_are_counted(void **state) {
  (void)state;
  job *j = spawn(yields_then_waits);
  by_hand_run(&h);
  assert_int_equal(inspect_one()->polls, 1);
  assert_int_equal(inspect_one()->polls, 1); /* to look changes nothing */
  volt_sem_release(&sem, 1);
  by_hand_run(&h);
  assert_int_equal(inspect_one()->polls, 2);
  volt_sem_release(&sem, 1);
  expect_end(j, VOLT_OK);
}

static void it_is_queued(void **state) {
  (void)state;
  job *j = spawn(job_poll);
  const volt_seen_ *s = inspect_one();
  assert_int_equal(s->how, VOLT_SEEN_QUEUED_);
  assert_null(s->site); /* its function has not begun */
  assert_int_equal(s->line, 0);
  assert_int_equal(s->since_ns, 0);
  assert_int_equal(s->registrations, -1);
  by_hand_run(&h);
  volt_sem_release(&sem, 1);
  s = inspect_one();
  assert_int_equal(s->how, VOLT_SEEN_QUEUED_);
  assert_string_equal(s->site->function, "job_poll");
  assert_int_equal(s->line, line_of_wait);
  expect_end(j, VOLT_OK);
}

static volt_worker_seen_ worker_polls(const volt_task *t) {
  volt_worker_seen_ w;
  volt_worker_see_(h.rt, 0, &w);
  assert_ptr_equal(w.task, t);
  return w;
}

static volt_worker_seen_ first_check;

static int looks_at_itself(volt_task *t, volt_ctx *ctx) {
  job *self = volt_container_of(t, job, task);
  VOLT_TASK_BEGIN(self);
  VOLT_YIELD(self);
  assert_int_equal(inspect_one()->how, VOLT_SEEN_RUNS_);
  assert_int_equal(seen.all[0].worker, 0);
  assert_int_equal(seen.all[0].line, __LINE__ - 3);
  first_check = worker_polls(t);
  assert_int_equal(worker_polls(t).instance, first_check.instance);
  VOLT_YIELD(self);
  assert_int_not_equal(worker_polls(t).instance, first_check.instance);
  VOLT_TASK_END(self);
}

static void it_runs(void **state) {
  (void)state;
  assert_true(worker_polls(NULL).is_parked);
  job *j = spawn(looks_at_itself);
  assert_int_equal(worker_polls(NULL).queued, 0); /* not yet: in the injection queue */
  expect_end(j, VOLT_OK);
  volt_worker_seen_ w = worker_polls(NULL);
  assert_true(w.is_parked);
  assert_int_equal(w.queued, 0);
}

static volt_waker kept; /* of a task, which does not count it */

static int keeps_its_waker(volt_task *t, volt_ctx *ctx) {
  job *self = volt_container_of(t, job, task);
  kept = ctx->waker;
  if (self->result == 0) return VOLT_PENDING;
  return VOLT_OK;
}

static void nothing_can_wake_it(void **state) {
  (void)state;
  job *j = spawn(keeps_its_waker);
  by_hand_run(&h);
  const volt_seen_ *s = inspect_one();
  assert_int_equal(s->how, VOLT_SEEN_WAITS_);
  assert_int_equal(s->registrations, 0);
  assert_null(s->site); /* it has no BEGIN */
  j->result = 1;
  assert_true(volt_task_cancel(&j->task));
  expect_end(j, VOLT_OK);
}

static volt_task_fn far_down;

static void in_a_long_file(void **state) {
  (void)state;
  job *j = spawn(far_down);
  by_hand_run(&h);
  const volt_seen_ *s = inspect_one();
  assert_int_equal(s->line, 123459);
  assert_string_equal(s->site->file, "generated/long.c");
  assert_string_equal(s->site->function, "far_down");
  volt_sem_release(&sem, 1);
  expect_end(j, VOLT_OK);
}

/* The distance has 32 bits. */
static void its_source_is_too_far(void **state) {
  (void)state;
  static const volt_site_ site;
  volt_frame frame = {.site = 0};
  uintptr_t here = (uintptr_t)&site;
  volt_frame_note_site_(&frame, &site, here + 4096);
  assert_int_equal(frame.site, -4096);
  volt_frame_note_site_(&frame, &site, here - INT32_MAX);
  assert_int_equal(frame.site, INT32_MAX);
  frame.site = 0;
  volt_frame_note_site_(&frame, &site, here + (UINT64_C(1) << 31) + 1);
  assert_int_equal(frame.site, 0);
  volt_frame_note_site_(&frame, &site, here - (UINT64_C(1) << 40));
  assert_int_equal(frame.site, 0);
}

/* What it awaits: async functions, and the branches of a select. */
typedef struct inner {
  volt_async async;
  volt_future one, other;
  volt_future *either[2];
  volt_select select;
} inner;

typedef struct outer {
  volt_task task;
  inner inner;
} outer;

static uint32_t line_of_select, line_of_call;

static int inner_poll(volt_async *a, volt_ctx *ctx) {
  inner *self = volt_container_of(a, inner, async);
  VOLT_ASYNC_BEGIN(self);
  self->either[0] = volt_sem_acquire_future(&self->one, &sem, 2);
  self->either[1] = volt_sem_acquire_future(&self->other, &sem, 1);
  line_of_select = __LINE__ + 1;
  VOLT_AWAIT(self, volt_select_future(&self->select, self->either, 2, VOLT_SELECT_BIASED));
  VOLT_ASYNC_END(self);
}

static int outer_poll(volt_task *t, volt_ctx *ctx) {
  outer *self = volt_container_of(t, outer, task);
  VOLT_TASK_BEGIN(self);
  line_of_call = __LINE__ + 1;
  VOLT_AWAIT(self, volt_async_future(&self->inner.async, inner_poll));
  VOLT_TASK_END(self);
}

static struct {
  volt_stop_ all[8];
  unsigned count;
  unsigned most; /* then it says to stop */
} stops;

static bool note_stop(void *ctx, const volt_stop_ *stop) {
  (void)ctx;
  stops.all[stops.count++] = *stop;
  return stops.count < stops.most;
}

static void walk_one(void) {
  stops.count = 0;
  volt_walk_(seen.all[0].task, note_stop, NULL);
}

static void expect_stop(unsigned i, unsigned depth, const char *function, uint32_t line,
                        const volt_future *future) {
  assert_int_equal(stops.all[i].depth, depth);
  if (function) assert_string_equal(stops.all[i].site->function, function);
  if (!function) assert_null(stops.all[i].site);
  assert_int_equal(stops.all[i].line, line);
  assert_ptr_equal(stops.all[i].future, future);
}

static void what_it_awaits(void **state) {
  (void)state;
  outer *o = VOLT_TASK_NEW(h.rt, outer, outer_poll);
  assert_non_null(o);
  assert_result(volt_spawn(h.rt, &o->task), VOLT_OK);
  by_hand_run(&h);
  seen.during = walk_one;
  stops.most = 8;
  (void)inspect_one();
  assert_int_equal(stops.count, 4);
  expect_stop(0, 0, "outer_poll", line_of_call, &o->inner.async.future);
  expect_stop(1, 1, "inner_poll", line_of_select, &o->inner.select.future);
  expect_stop(2, 2, NULL, 0, &o->inner.one);
  expect_stop(3, 2, NULL, 0, &o->inner.other);
  stops.most = 3;
  (void)inspect_one();
  assert_int_equal(stops.count, 3);
  seen.during = NULL;
  volt_sem_release(&sem, 1);
  by_hand_run(&h);
  assert_result(inspect_by(1), VOLT_OK);
  assert_int_equal(seen.count, 1); /* the first in line wants two */
  volt_sem_release(&sem, 1);
  by_hand_run(&h);
  assert_result(volt_task_result(&o->task), VOLT_OK);
  volt_task_detach(&o->task);
}

/* It is ready by the second of two, and the first still has its waker. */
static volt_ctx held;

static int leaves_a_wake(volt_task *t, volt_ctx *ctx) {
  (void)t;
  held = *ctx;
  ctx->registered += 1;
  return VOLT_OK;
}

static void it_has_returned(void **state) {
  (void)state;
  job *j = spawn(leaves_a_wake);
  by_hand_run(&h);
  const volt_seen_ *s = inspect_one();
  assert_int_equal(s->how, VOLT_SEEN_ENDS_);
  assert_int_equal(s->registrations, 1);
  assert_result(volt_task_result(&j->task), VOLT_PENDING);
  held.waker.wake(held.waker.ctx);
  assert_result(inspect_by(1), VOLT_OK);
  assert_int_equal(seen.count, 0);
  expect_end(j, VOLT_OK);
}

static int fiber_main(void *arg) {
  (void)arg;
  return volt_sem_acquire(&sem, 1);
}

static void a_fiber(void **state) {
  (void)state;
  if (volt_fiber_supported()) skip();
  char name[] = "alba"; /* its owner may free it when the fiber has ended, so a copy is shown */
  const volt_fiber_config config = {.name = name};
  volt_task *t = volt_fiber_new(h.rt, fiber_main, NULL, &config);
  assert_non_null(t);
  assert_result(volt_spawn(h.rt, t), VOLT_OK);
  const volt_seen_ *s = inspect_one();
  name[0] = 'e';
  assert_int_equal(s->how, VOLT_SEEN_QUEUED_);
  assert_string_equal(s->name, "alba");
  by_hand_run(&h);
  s = inspect_one();
  name[0] = 'a';
  assert_int_equal(s->how, VOLT_SEEN_WAITS_);
  assert_string_equal(s->name, "elba");
  assert_ptr_equal(s->fn, fiber_main);
  assert_int_equal(s->registrations, 1);
  assert_null(s->site);
  volt_sem_release(&sem, 1);
  by_hand_run(&h);
  assert_result(volt_task_result(t), VOLT_OK);
  volt_task_detach(t);
}

/* ---- while it is claimed ---- */

static job *claimed;
static uint32_t calls_before;

static void wake_it(void) {
  calls_before = fake_waker_calls(&h.waker);
  volt_sem_release(&sem, 1);
  assert_int_equal(fake_waker_calls(&h.waker), calls_before); /* it is in no queue yet */
}

static void it_is_woken(void **state) {
  (void)state;
  claimed = spawn_waiting();
  seen.during = wake_it;
  (void)inspect_one();
  assert_int_equal(fake_waker_calls(&h.waker), calls_before + 1);
  expect_end(claimed, VOLT_OK);
}

static void cancel_it(void) {
  calls_before = fake_waker_calls(&h.waker);
  assert_true(volt_task_cancel(&claimed->task));
  assert_int_equal(fake_waker_calls(&h.waker), calls_before);
}

static void it_is_cancelled(void **state) {
  (void)state;
  claimed = spawn_waiting();
  seen.during = cancel_it;
  (void)inspect_one();
  assert_int_equal(fake_waker_calls(&h.waker), calls_before + 1);
  seen.during = NULL;
  assert_true(inspect_one()->is_cancelled);
  expect_end(claimed, VOLT_ECANCELED);
}

static void detach_it(void) {
  volt_task_detach(&claimed->task);
  volt_sem_release(&sem, 1);
}

static void run_now(void) {
  by_hand_run(&h);
  by_hand_expect_live(&h, 0);
}

static void its_handle_is_given_up(void **state) {
  (void)state;
  claimed = spawn_waiting();
  seen.during = detach_it;
  seen.between = run_now;
  assert_result(inspect_by(1), VOLT_OK);
  assert_int_equal(seen.count, 1);
}

static void cancel_group(void) {
  volt_group *g = (volt_group *)claimed->task.joiner;
  volt_group_cancel(g);
  assert_int_equal(volt_group_count(g), 1);
}

static void its_group_is_cancelled(void **state) {
  (void)state;
  volt_group g;
  volt_group_init(&g);
  claimed = VOLT_TASK_NEW(h.rt, job, job_poll);
  assert_non_null(claimed);
  assert_result(volt_group_spawn(&g, h.rt, &claimed->task), VOLT_OK);
  by_hand_run(&h);
  seen.during = cancel_group;
  (void)inspect_one();
  by_hand_run(&h);
  assert_true(volt_group_is_empty(&g));
  volt_group_destroy(&g);
}

static void another_looks(void) {
  static bool inside;
  if (inside) return;
  inside = true;
  unsigned count = seen.count;
  assert_result(volt_inspect_(h.rt, 1, see, &seen), VOLT_ETIMEDOUT);
  assert_int_equal(seen.count, count);
  inside = false;
}

/* One inspector at a time has tasks of a runtime with virtual time. */
static void two_inspectors(void **state) {
  (void)state;
  job *j = spawn_waiting();
  seen.during = another_looks;
  assert_result(inspect_by(1), VOLT_OK);
  volt_sem_release(&sem, 1);
  expect_end(j, VOLT_OK);
}

/* ---- each once ---- */

static job *jobs[MANY];

static void spawn_many(unsigned count) {
  for (unsigned i = 0; i < count; i++) jobs[i] = spawn(job_poll);
  by_hand_run(&h);
}

static void end_rest(unsigned count, unsigned ended) {
  volt_sem_release(&sem, count - ended);
  by_hand_run(&h);
  for (unsigned i = 0; i < count; i++) expect_end(jobs[i], VOLT_OK);
}

static void end_many(unsigned count) {
  end_rest(count, 0);
}

static unsigned times_seen(const job *j) {
  unsigned times = 0;
  for (unsigned i = 0; i < seen.count; i++) times += seen.all[i].task == &j->task;
  return times;
}

static void expect_each_once(unsigned from, unsigned to) {
  for (unsigned i = from; i < to; i++) assert_int_equal(times_seen(jobs[i]), 1);
}

static void in_batches(void **state) {
  (void)state;
  spawn_many(100);
  static const unsigned sizes[] = {1, 3, 33, 50, 64};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    assert_result(inspect_by(sizes[i]), VOLT_OK);
    assert_int_equal(seen.count, 100);
    assert_int_equal(seen.batches, (100 + sizes[i] - 1) / sizes[i]);
    assert_int_equal(seen.gaps, seen.batches);
    expect_each_once(0, 100);
  }
  end_many(100);
}

static void until_it_says_stop(void **state) {
  (void)state;
  spawn_many(10);
  seen.most = 2;
  assert_result(inspect_by(3), VOLT_ECANCELED);
  assert_int_equal(seen.count, 6);
  assert_int_equal(seen.gaps, 2);
  seen.most = 0;
  assert_result(inspect_by(3), VOLT_OK);
  assert_int_equal(seen.count, 10);
  end_many(10);
}

/* Those that were seen end, and so does the next to be seen. */
static void end_some(void) {
  if (seen.batches != 1) return;
  volt_sem_release(&sem, 4);
  by_hand_run(&h);
}

static void some_end(void **state) {
  (void)state;
  spawn_many(10);
  seen.between = end_some;
  assert_result(inspect_by(3), VOLT_OK);
  assert_int_equal(seen.count, 9);
  expect_each_once(0, 3);
  expect_each_once(4, 10);
  end_rest(10, 4);
}

/* More than it ends with: so many are not shown. */
static void spawn_two_more(void) {
  jobs[10 + 2 * seen.gaps - 2] = spawn(job_poll);
  jobs[10 + 2 * seen.gaps - 1] = spawn(job_poll);
}

static void some_are_spawned(void **state) {
  (void)state;
  spawn_many(10);
  seen.between = spawn_two_more;
  assert_result(inspect_by(1), VOLT_OK);
  assert_int_equal(seen.count, 10);
  expect_each_once(0, 10);
  end_many(30);
}

/* A cancel moves them to another list: before, behind and at the cursor. */
static void shut_down(void) {
  if (seen.batches == 1) assert_result(volt_rt_shutdown(h.rt, PAST_DEADLINE), VOLT_ETIMEDOUT);
}

static int ignores_cancel(volt_task *t, volt_ctx *ctx) {
  job *self = volt_container_of(t, job, task);
  VOLT_TASK_BEGIN(self);
  VOLT_FINALLY(self);
  VOLT_AWAIT_RESULT(self, self->result, volt_sem_acquire_future(&self->wait, &sem, 1));
  VOLT_TASK_END(self);
}

static void all_are_cancelled(void **state) {
  (void)state;
  for (unsigned i = 0; i < 10; i++) jobs[i] = spawn(ignores_cancel);
  by_hand_run(&h);
  seen.between = shut_down;
  assert_result(inspect_by(3), VOLT_OK);
  assert_int_equal(seen.count, 10);
  expect_each_once(0, 10);
  for (unsigned i = 0; i < 10; i++) assert_int_equal(seen.all[i].is_cancelled, i >= 3);
  seen.between = NULL;
  assert_result(inspect_by(4), VOLT_OK);
  assert_int_equal(seen.count, 10);
  end_many(10);
  assert_int_equal(volt_rt_destroy(h.rt), 10);
  h.rt = NULL;
}

/* It has returned, and waits for its last wake: it stays where it was in the list. */
static int waits_then_leaves_a_wake(volt_task *t, volt_ctx *ctx) {
  job *self = volt_container_of(t, job, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT_RESULT(self, self->result, volt_sem_acquire_future(&self->wait, &sem, 1));
  held = *ctx;
  ctx->registered += 1;
  VOLT_TASK_END(self);
}

static void return_first(void) {
  if (seen.batches != 1) return;
  volt_sem_release(&sem, 1);
  by_hand_run(&h);
}

static void one_returns(void **state) {
  (void)state;
  jobs[0] = spawn(waits_then_leaves_a_wake);
  by_hand_run(&h);
  for (unsigned i = 1; i < 5; i++) jobs[i] = spawn(job_poll);
  by_hand_run(&h);
  seen.between = return_first;
  assert_result(inspect_by(1), VOLT_OK);
  expect_each_once(0, 5);
  assert_int_equal(seen.count, 5);
  held.waker.wake(held.waker.ctx);
  end_rest(5, 1);
}

static void a_lock_is_not_to_be_had(void **state) {
  (void)state;
  job *j = spawn_waiting();
  volt_registry *registry = volt_registry_lock_(h.rt, j->task.frame.shard);
  assert_result(inspect_by(1), VOLT_ETIMEDOUT);
  assert_int_equal(seen.count, 0);
  volt_registry_unlock_(registry);
  (void)inspect_one();
  volt_sem_release(&sem, 1);
  expect_end(j, VOLT_OK);
}

/* ---- with other threads ---- */

static VOLT_ATOMIC(uint32_t) is_claimed;
static VOLT_ATOMIC(uint32_t) was_woken;

static void stay_until_woken(void) {
  volt_store_release(&is_claimed, 1);
  WAIT_UNTIL(volt_load_acquire(&was_woken));
  for (unsigned i = 0; i < 100; i++) sched_yield(); /* long enough to find that nothing is ready */
}

static void *inspect_on_a_thread(void *arg) {
  (void)arg;
  (void)volt_inspect_(h.rt, 1, see, &seen);
  return NULL;
}

typedef struct waker_job {
  volt_task task;
  volt_sleep_op nap;
} waker_job;

/* Polled before time passes: then the claimed task is the only one that can go on at time 0. */
static int wakes_the_claimed(volt_task *t, volt_ctx *ctx) {
  waker_job *self = volt_container_of(t, waker_job, task);
  VOLT_TASK_BEGIN(self);
  WAIT_UNTIL(volt_load_acquire(&is_claimed));
  volt_sem_release(&sem, 1);
  volt_store_release(&was_woken, 1);
  VOLT_AWAIT(self, volt_sleep_future(&self->nap, volt_rt_timers(h.rt), MS));
  VOLT_TASK_END(self);
}

/* What a claimed task was woken for comes before time passes, and is no stall. */
static void virtual_time_waits(void **state) {
  (void)state;
  claimed = spawn_waiting();
  pthread_t thread;
  seen.during = stay_until_woken;
  volt_store_relaxed(&is_claimed, 0);
  volt_store_relaxed(&was_woken, 0);
  waker_job *w = VOLT_TASK_NEW(h.rt, waker_job, wakes_the_claimed);
  assert_non_null(w);
  assert_int_equal(pthread_create(&thread, NULL, inspect_on_a_thread, NULL), 0);
  WAIT_UNTIL(volt_load_acquire(&is_claimed));
  assert_result(volt_spawn(h.rt, &w->task), VOLT_OK);
  volt_future f;
  assert_result(
      volt_rt_run_until(h.rt, volt_task_join_future(&f, &claimed->task), VOLT_NO_DEADLINE),
      VOLT_OK);
  assert_int_equal(volt_rt_now_ns(h.rt), 0);
  pthread_join(thread, NULL);
  volt_task_detach(&claimed->task);
  volt_rt_advance(h.rt, MS);
  by_hand_run(&h);
  assert_result(volt_task_result(&w->task), VOLT_OK);
  volt_task_detach(&w->task);
}

/* ---- pins ---- */

static VOLT_ATOMIC(uint32_t) is_destroyed;

static void *destroy(void *arg) {
  assert_int_equal(volt_rt_destroy((volt_rt *)arg), 0);
  volt_store_release(&is_destroyed, 1);
  return NULL;
}

static bool is_withdrawn(volt_rt *rt) {
  return volt_load_relaxed(&rt->pins.word) >= VOLT_PINS_CLOSED_;
}

static void destroy_waits_for_pins(void **state) {
  (void)state;
  volt_rt *rt;
  pthread_t thread;
  assert_result(volt_rt_create(&rt, &(volt_rt_config){.workers = 1}), VOLT_OK);
  assert_true(volt_rt_pin_(rt));
  assert_true(volt_rt_pin_(rt));
  volt_store_relaxed(&is_destroyed, 0);
  assert_int_equal(pthread_create(&thread, NULL, destroy, rt), 0);
  WAIT_UNTIL(is_withdrawn(rt));
  assert_false(volt_rt_pin_(rt)); /* no new ones */
  volt_rt_unpin_(rt);
  for (unsigned i = 0; i < 100; i++) sched_yield();
  assert_int_equal(volt_load_acquire(&is_destroyed), 0);
  assert_result(volt_inspect_(rt, 1, see, &seen), VOLT_OK);
  volt_rt_unpin_(rt);
  pthread_join(thread, NULL);
  assert_false(volt_rt_pin_(rt));
}

static void all_runtimes(void **state) {
  (void)state;
  volt_rt *other;
  volt_rt_config config = {.flags = VOLT_RT_BY_HAND};
  assert_result(volt_rt_create(&other, &config), VOLT_OK);
  unsigned found = 0;
  for (volt_rt *rt = volt_rt_pin_next_(NULL); rt; rt = volt_rt_pin_next_(rt)) {
    found += rt == other ? 1 : rt == h.rt ? 2 : 4;
    assert_int_equal(volt_load_relaxed(&rt->pins.word), 1);
  }
  assert_int_equal(found, 3);
  assert_int_equal(volt_load_relaxed(&other->pins.word), 0);
  volt_rt_destroy(other);
}

/* The child of a fork has none of the parent's runtimes, though a thread looks for them all the time,
 * and finds its own. */
static VOLT_ATOMIC(uint32_t) may_end;

static void *look_for_runtimes(void *arg) {
  while (volt_load_relaxed(&may_end) == 0) { /* the join orders the rest */
    for (volt_rt *rt = volt_rt_pin_next_(NULL); rt; rt = volt_rt_pin_next_(rt)) continue;
  }
  return arg;
}

static int look_in_the_child(void) {
  if (volt_rt_pin_next_(NULL)) return 1;
  by_hand own;
  volt_rt_config config = by_hand_config(&own);
  if (volt_rt_create(&own.rt, &config) != VOLT_OK) return 2;
  if (volt_rt_pin_next_(NULL) != own.rt) return 3;
  volt_rt_unpin_(own.rt);
  volt_rt_destroy(own.rt);
  return volt_rt_pin_next_(NULL) ? 4 : 0;
}

static void the_child_of_a_fork(void **state) {
  (void)state;
  pthread_t thread;
  volt_store_relaxed(&may_end, 0);
  assert_int_equal(pthread_create(&thread, NULL, look_for_runtimes, NULL), 0);
  for (unsigned i = 0; i < 50; i++) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
      alarm(60); /* a hang is a failure */
      _exit(look_in_the_child());
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
  }
  volt_store_relaxed(&may_end, 1); /* the join orders the rest */
  pthread_join(thread, NULL);
  assert_true(volt_rt_pin_(h.rt));
  volt_rt_unpin_(h.rt);
}

#define A_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      A_TEST(it_waits),
      A_TEST(its_waits_are_counted),
      A_TEST(it_is_queued),
      A_TEST(it_runs),
      A_TEST(nothing_can_wake_it),
      A_TEST(in_a_long_file),
      A_TEST(its_source_is_too_far),
      A_TEST(what_it_awaits),
      A_TEST(it_has_returned),
      A_TEST(a_fiber),
      A_TEST(it_is_woken),
      A_TEST(it_is_cancelled),
      A_TEST(its_handle_is_given_up),
      A_TEST(its_group_is_cancelled),
      A_TEST(two_inspectors),
      A_TEST(in_batches),
      A_TEST(until_it_says_stop),
      A_TEST(some_end),
      A_TEST(some_are_spawned),
      A_TEST(all_are_cancelled),
      A_TEST(one_returns),
      A_TEST(a_lock_is_not_to_be_had),
      A_TEST(virtual_time_waits),
      A_TEST(destroy_waits_for_pins),
      A_TEST(all_runtimes),
      A_TEST(the_child_of_a_fork),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* As generated code has it: so it is the last here. */
#line 123456 "generated/long.c"
static int far_down(volt_task *t, volt_ctx *ctx) {
  job *self = volt_container_of(t, job, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->wait, &sem, 1));
  VOLT_TASK_END(self);
}
