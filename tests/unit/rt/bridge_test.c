/* bridge_test.c: every sentence of volt/bridge.h, in a real loop of each kind.
 * LOOPS: uv, glib, event, ev, epoll */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "bridge_scene.h"
#include "death.h"

#include <volt/fiber.h>

/* ---- single futures ---- */

static void ready_at_once(void **state) {
  (void)state;
  scene s;
  volt_sem sem = VOLT_SEM_INIT(1);
  scene_begin(&s);
  asked *a = ask(&s, &sem, NULL);
  assert_int_equal(a->calls, 0); /* not within the call */
  SCENE_RUN_UNTIL(&s, a->calls > 0);
  assert_result(a->result, VOLT_OK);
  assert_int_equal(volt_sem_available(&sem), 0);
  scene_end(&s);
  assert_int_equal(a->calls, 1);
  free(a);
}

static void release_later(void *arg, uint32_t index) {
  (void)index;
  volt_sem_release((volt_sem *)arg, 1);
}

static void woken_by_a_thread(void **state) {
  (void)state;
  scene s;
  volt_sem sem = VOLT_SEM_INIT(0);
  thread_team team;
  scene_begin(&s);
  asked *a = ask(&s, &sem, NULL);
  scene_settle(&s);
  assert_int_equal(a->calls, 0);
  thread_team_start(&team, 1, release_later, &sem);
  SCENE_RUN_UNTIL(&s, a->calls > 0);
  assert_result(a->result, VOLT_OK);
  thread_team_join(&team);
  scene_end(&s);
  free(a);
}

enum { THREADS = 3, MANY = 2000 };

static void release_many(void *arg, uint32_t index) {
  (void)index;
  for (int i = 0; i < MANY; i++) volt_sem_release((volt_sem *)arg, 1);
}

static void ask_until_all(asked *a) {
  REQUIRE(a->result == VOLT_OK);
  if (a->calls < THREADS * MANY) ask_again(a);
}

/* The memory of the call is used again in its callback. */
static void woken_many_times(void **state) {
  (void)state;
  scene s;
  volt_sem sem = VOLT_SEM_INIT(0);
  thread_team team;
  scene_begin(&s);
  asked *a = ask(&s, &sem, ask_until_all);
  thread_team_start(&team, THREADS, release_many, &sem);
  SCENE_RUN_UNTIL(&s, a->calls == THREADS * MANY);
  thread_team_join(&team);
  assert_int_equal(volt_sem_available(&sem), 0);
  scene_end(&s);
  free(a);
}

static void cancelled(void **state) {
  (void)state;
  scene s;
  volt_sem sem = VOLT_SEM_INIT(0);
  scene_begin(&s);
  asked *a = ask(&s, &sem, NULL);
  asked *b = ask(&s, &sem, NULL);
  scene_settle(&s);
  volt_bridge_cancel(&a->call);
  volt_bridge_cancel(&a->call);
  assert_int_equal(a->calls, 0);
  SCENE_RUN_UNTIL(&s, a->calls > 0);
  assert_result(a->result, VOLT_ECANCELED);
  volt_sem_release(&sem, 1);
  SCENE_RUN_UNTIL(&s, b->calls > 0);
  assert_result(b->result, VOLT_OK);
  scene_end(&s);
  assert_int_equal(a->calls, 1);
  assert_int_equal(b->calls, 1);
  free(a);
  free(b);
}

/* Granted, and cancelled before the loop has run: the permit is the callback's, or was given back. */
static void cancelled_when_granted(void **state) {
  (void)state;
  scene s;
  volt_sem sem = VOLT_SEM_INIT(0);
  scene_begin(&s);
  asked *a = ask(&s, &sem, NULL);
  scene_settle(&s);
  volt_sem_release(&sem, 1);
  volt_bridge_cancel(&a->call);
  SCENE_RUN_UNTIL(&s, a->calls > 0);
  assert_true(a->result == VOLT_OK || a->result == VOLT_ECANCELED);
  assert_int_equal(volt_sem_available(&sem), a->result == VOLT_ECANCELED);
  scene_end(&s);
  assert_int_equal(a->calls, 1);
  free(a);
}

static void cancelled_before_it_began(void **state) {
  (void)state;
  scene s;
  volt_sem sem = VOLT_SEM_INIT(0);
  scene_begin(&s);
  asked *a = ask(&s, &sem, NULL);
  volt_bridge_cancel(&a->call);
  SCENE_RUN_UNTIL(&s, a->calls > 0);
  assert_result(a->result, VOLT_ECANCELED);
  scene_end(&s);
  free(a);
}

typedef struct naps {
  volt_bridge_call call;
  volt_sleep_op sleep;
  volt_timeout timeout;
  volt_future permit;
  uint64_t until_ns;
  int result;
} naps;

static void napped(int result, void *arg) {
  naps *n = (naps *)arg;
  n->result = result;
  REQUIRE(volt_now_ns() >= n->until_ns);
}

static void a_timer(void **state) {
  (void)state;
  scene s;
  scene_begin(&s);
  static const uint64_t after_ns[] = {3000000, 1000000, 0, 2000000};
  naps n[4];
  volt_timers *timers = volt_rt_timers(volt_bridge_rt(s.b));
  for (unsigned i = 0; i < 4; i++) {
    n[i].result = VOLT_PENDING;
    n[i].until_ns = volt_deadline_ns(after_ns[i]);
    volt_future *f = volt_sleep_future(&n[i].sleep, timers, n[i].until_ns);
    volt_bridge_then(s.b, &n[i].call, f, napped, &n[i]);
  }
  for (unsigned i = 0; i < 4; i++) {
    SCENE_RUN_UNTIL(&s, n[i].result != VOLT_PENDING);
    assert_result(n[i].result, VOLT_OK);
  }
  scene_end(&s);
}

/* An earlier timer is started while the loop sleeps until a later one; and a deadline that the clock
 * does not reach is none. */
static void a_deadline(void **state) {
  (void)state;
  scene s;
  volt_sem sem = VOLT_SEM_INIT(0);
  scene_begin(&s);
  naps n[3];
  const uint64_t until_ns[] = {VOLT_NO_DEADLINE - 1, volt_deadline_ns(UINT64_C(3600000000000)),
                               volt_deadline_ns(1000000)};
  volt_timers *timers = volt_rt_timers(volt_bridge_rt(s.b));
  for (unsigned i = 0; i < 3; i++) {
    n[i].result = VOLT_PENDING;
    n[i].until_ns = i == 2 ? until_ns[i] : 0;
    volt_future_made(volt_sem_acquire_future(&n[i].permit, &sem, 1));
    volt_future *f = volt_timeout_future(&n[i].timeout, &n[i].permit, timers, until_ns[i]);
    volt_bridge_then(s.b, &n[i].call, f, napped, &n[i]);
    scene_settle(&s);
  }
  SCENE_RUN_UNTIL(&s, n[2].result != VOLT_PENDING);
  assert_result(n[2].result, VOLT_ETIMEDOUT);
  assert_result(n[0].result, VOLT_PENDING);
  assert_result(n[1].result, VOLT_PENDING);
  scene_end(&s);
  assert_result(n[0].result, VOLT_ECANCELED);
  assert_result(n[1].result, VOLT_ECANCELED);
}

static void on_virtual_time(void **state) {
  (void)state;
  scene s;
  scene_make_loop(&s);
  volt_rt_config config = scene_config(&s);
  config.flags = VOLT_RT_VIRTUAL_CLOCK;
  scene_begin_with(&s, &config);
  naps n = {.result = VOLT_PENDING};
  volt_rt *rt = volt_bridge_rt(s.b);
  volt_future *f = volt_sleep_future(&n.sleep, volt_rt_timers(rt), UINT64_C(3600000000000));
  volt_bridge_then(s.b, &n.call, f, napped, &n);
  scene_settle(&s);
  assert_result(n.result, VOLT_PENDING);
  volt_rt_advance(rt, UINT64_C(3600000000000));
  SCENE_RUN_UNTIL(&s, n.result != VOLT_PENDING);
  assert_result(n.result, VOLT_OK);
  scene_end(&s);
}

/* ---- tasks ---- */

typedef struct taker {
  volt_task task;
  volt_future permit;
  volt_sem *sem;
  unsigned taken;
  unsigned wanted;
  pthread_t thread; /* that has run it */
} taker;

static int taker_poll(volt_task *t, volt_ctx *ctx) {
  taker *self = volt_container_of(t, taker, task);
  VOLT_TASK_BEGIN(self);
  for (; self->taken < self->wanted; self->taken++) {
    VOLT_AWAIT(self, volt_sem_acquire_future(&self->permit, self->sem, 1));
    REQUIRE(pthread_equal(self->thread, pthread_self()));
  }
  VOLT_TASK_END(self);
}

static void taker_init(taker *t, volt_sem *sem, unsigned wanted) {
  memset((void *)t, 0, sizeof *t);
  volt_task_init(&t->task, taker_poll);
  t->sem = sem;
  t->wanted = wanted;
  t->thread = pthread_self();
}

/* A task may end on another thread, by its last wake: the loop waits for that by a callback, too. */
typedef struct joined {
  volt_bridge_call call;
  volt_future join;
  unsigned calls;
} joined;

static void join_called(int result, void *arg) {
  REQUIRE(result == VOLT_OK);
  ((joined *)arg)->calls += 1;
}

static void join_in_the_loop(scene *s, volt_task *t) {
  joined j = {.calls = 0};
  volt_bridge_then(s->b, &j.call, volt_task_join_future(&j.join, t), join_called, &j);
  SCENE_RUN_UNTIL(s, j.calls > 0);
  REQUIRE(j.calls == 1);
}

static void tasks_in_the_loop(void **state) {
  (void)state;
  scene s;
  volt_sem sem = VOLT_SEM_INIT(0);
  thread_team team;
  taker t[2];
  scene_begin(&s);
  for (unsigned i = 0; i < 2; i++) {
    taker_init(&t[i], &sem, THREADS * MANY / 2);
    assert_result(volt_spawn(volt_bridge_rt(s.b), &t[i].task), VOLT_OK);
  }
  thread_team_start(&team, THREADS, release_many, &sem);
  for (unsigned i = 0; i < 2; i++) join_in_the_loop(&s, &t[i].task);
  thread_team_join(&team);
  scene_end(&s);
}

typedef struct spawning {
  volt_rt *rt;
  taker t[THREADS];
} spawning;

static void spawn_one(void *arg, uint32_t index) {
  spawning *p = (spawning *)arg;
  REQUIRE(volt_spawn(p->rt, &p->t[index].task) == VOLT_OK);
}

static void spawned_by_other_threads(void **state) {
  (void)state;
  scene s;
  volt_sem sem = VOLT_SEM_INIT(THREADS);
  thread_team team;
  spawning p;
  scene_begin(&s);
  p.rt = volt_bridge_rt(s.b);
  for (unsigned i = 0; i < THREADS; i++) taker_init(&p.t[i], &sem, 1);
  thread_team_start(&team, THREADS, spawn_one, &p);
  thread_team_join(&team);
  for (unsigned i = 0; i < THREADS; i++) join_in_the_loop(&s, &p.t[i].task);
  scene_end(&s);
}

/* ---- fibers ---- */

typedef struct straight {
  volt_sem *sem;
  scene *s;
  unsigned taken;
  int result;
} straight;

static int take_all(void *arg) {
  straight *self = (straight *)arg;
  for (; self->taken < THREADS * MANY; self->taken++) {
    self->result = volt_sem_acquire(self->sem, 1);
    if (self->result != VOLT_OK) return self->result;
  }
  uint64_t until_ns = volt_deadline_ns(1000000);
  self->result = volt_sleep_until(until_ns);
  REQUIRE(volt_now_ns() >= until_ns);
  scene_close(self->s);
  return self->result;
}

/* Straight code in the loop: what blocks a thread suspends it, and the loop goes on. */
static void a_fiber_in_the_loop(void **state) {
  (void)state;
  if (volt_fiber_supported()) skip();
  scene s;
  volt_sem sem = VOLT_SEM_INIT(0);
  thread_team team;
  unsigned ticks = 0;
  scene_begin(&s);
  straight f = {.sem = &sem, .s = &s, .result = VOLT_PENDING};
  assert_result(volt_fiber_spawn(volt_bridge_rt(s.b), take_all, &f), VOLT_OK);
  any_loop_tick_start(s.loop, &ticks);
  SCENE_RUN_UNTIL(&s, ticks > 0);
  assert_result(f.result, VOLT_PENDING);
  thread_team_start(&team, THREADS, release_many, &sem);
  SCENE_RUN_UNTIL(&s, s.closed > 0);
  thread_team_join(&team);
  any_loop_tick_stop(s.loop);
  assert_result(f.result, VOLT_OK);
  assert_int_equal(f.taken, THREADS * MANY);
  scene_end(&s);
}

static void closed_while_a_fiber_waits(void **state) {
  (void)state;
  if (volt_fiber_supported()) skip();
  scene s;
  volt_sem sem = VOLT_SEM_INIT(0);
  scene_begin(&s);
  straight f = {.sem = &sem, .s = &s, .result = VOLT_PENDING};
  assert_result(volt_fiber_spawn(volt_bridge_rt(s.b), take_all, &f), VOLT_OK);
  scene_settle(&s);
  scene_end(&s);
  assert_result(f.result, VOLT_ECANCELED);
}

/* ---- what the loop is left ---- */

typedef struct restless {
  volt_task task;
  uint64_t polls;
} restless;

static int restless_poll(volt_task *t, volt_ctx *ctx) {
  restless *self = volt_container_of(t, restless, task);
  self->polls += 1;
  if (ctx->cancel != VOLT_CTX_GO_ON) {
    ctx->cancel = VOLT_CTX_GO_ON;
    return VOLT_ECANCELED;
  }
  ctx->yield = true;
  return VOLT_PENDING;
}

/* A task that is always ready does not keep the loop from its own timer. */
static void fair_to_the_loop(void **state) {
  (void)state;
  scene s;
  unsigned ticks = 0;
  restless r = {.polls = 0};
  scene_begin(&s);
  volt_task_init(&r.task, restless_poll);
  assert_result(volt_spawn(volt_bridge_rt(s.b), &r.task), VOLT_OK);
  volt_bridge_run(s.b);
  assert_in_range(r.polls, 1, 512);
  any_loop_tick_start(s.loop, &ticks);
  SCENE_RUN_UNTIL(&s, ticks >= 3 && r.polls > 10000);
  any_loop_tick_stop(s.loop);
  scene_end(&s);
  assert_result(volt_task_result(&r.task), VOLT_ECANCELED);
}

typedef struct called {
  volt_blocking blocking;
  volt_bridge_call call;
  VOLT_ATOMIC(uint32_t) runs;
  VOLT_ATOMIC(uint32_t) may_return;
  int result;
} called;

static int call_runs(void *arg) {
  called *c = (called *)arg;
  volt_store_release(&c->runs, 1);
  WAIT_UNTIL(volt_load_acquire(&c->may_return));
  return 7;
}

static void call_returned(int result, void *arg) {
  ((called *)arg)->result = result;
}

/* It is closed while a call runs, which has to come to its end first. */
static void on_the_blocking_pool(void **state) {
  (void)state;
  scene s;
  called c = {.result = VOLT_PENDING};
  scene_begin(&s);
  volt_future *f = volt_blocking_future(&c.blocking, volt_bridge_rt(s.b), call_runs, &c);
  volt_bridge_then(s.b, &c.call, f, call_returned, &c);
  while (!volt_load_acquire(&c.runs)) any_loop_look(s.loop);
  scene_close(&s);
  scene_settle(&s);
  assert_result(c.result, VOLT_PENDING);
  assert_int_equal(s.closed, 0);
  volt_store_release(&c.may_return, 1);
  SCENE_RUN_UNTIL(&s, s.closed > 0);
  assert_int_equal(c.result, 7);
  scene_end(&s);
}

/* ---- close ---- */

static void close_cancels(void **state) {
  (void)state;
  scene s;
  volt_sem sem = VOLT_SEM_INIT(0);
  asked *a[3];
  taker t;
  scene_begin(&s);
  taker_init(&t, &sem, 1);
  assert_result(volt_spawn(volt_bridge_rt(s.b), &t.task), VOLT_OK);
  a[0] = ask(&s, &sem, NULL);
  a[1] = ask(&s, &sem, NULL);
  scene_settle(&s);
  a[2] = ask(&s, &sem, NULL); /* has not begun */
  scene_close(&s);
  assert_int_equal(s.closed, 0); /* not within the call */
  assert_int_equal(a[0]->calls, 0);
  SCENE_RUN_UNTIL(&s, s.closed > 0);
  for (unsigned i = 0; i < 3; i++) {
    assert_int_equal(a[i]->calls, 1);
    assert_result(a[i]->result, VOLT_ECANCELED);
    free(a[i]);
  }
  assert_result(volt_task_result(&t.task), VOLT_ECANCELED);
  assert_int_equal(volt_sem_waiters(&sem), 0);
  scene_end(&s);
}

static void wait_is_refused(void **state) {
  (void)state;
  scene s;
  volt_sem sem = VOLT_SEM_INIT(2);
  scene_begin(&s);
  scene_close(&s);
  asked *a = ask(&s, &sem, NULL);
  asked *b = ask(&s, &sem, NULL);
  volt_bridge_cancel(&a->call); /* of no effect */
  assert_int_equal(a->calls, 0);
  SCENE_RUN_UNTIL(&s, s.closed > 0);
  assert_int_equal(a->calls, 1);
  assert_result(a->result, VOLT_ECLOSED);
  assert_result(b->result, VOLT_ECLOSED);
  assert_int_equal(volt_sem_available(&sem), 2); /* not polled */
  scene_end(&s);
  free(a);
  free(b);
}

static void ask_four_times(asked *a) {
  if (a->calls < 4) ask_again(a);
}

static void callback_waits_while_closing(void **state) {
  (void)state;
  scene s;
  volt_sem sem = VOLT_SEM_INIT(0);
  scene_begin(&s);
  asked *a = ask(&s, &sem, ask_four_times);
  scene_settle(&s);
  scene_close(&s);
  SCENE_RUN_UNTIL(&s, s.closed > 0);
  assert_int_equal(a->calls, 4);
  assert_result(a->result, VOLT_ECLOSED);
  scene_end(&s);
  free(a);
}

static void close_it(asked *a) {
  scene_close(a->s);
  REQUIRE(a->s->closed == 0);
}

static void closed_by_a_callback(void **state) {
  (void)state;
  scene s;
  volt_sem sem = VOLT_SEM_INIT(1);
  scene_begin(&s);
  asked *a = ask(&s, &sem, close_it);
  asked *b = ask(&s, &sem, NULL);
  SCENE_RUN_UNTIL(&s, s.closed > 0);
  assert_result(a->result, VOLT_OK);
  assert_result(b->result, VOLT_ECANCELED);
  scene_end(&s);
  free(a);
  free(b);
}

static void free_it(asked *a) {
  a->s->descriptors += 100 * (a->result == VOLT_OK);
  free(a);
}

static void freed_by_its_callback(void **state) {
  (void)state;
  scene s;
  volt_sem sem = VOLT_SEM_INIT(1);
  scene_begin(&s);
  (void)ask(&s, &sem, free_it);
  int before = s.descriptors;
  SCENE_RUN_UNTIL(&s, s.descriptors == before + 100);
  s.descriptors = before;
  scene_end(&s);
}

typedef struct closer {
  volt_task task;
  volt_future permit;
  volt_sem *sem;
  scene *s;
} closer;

static int closer_poll(volt_task *t, volt_ctx *ctx) {
  closer *self = volt_container_of(t, closer, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->permit, self->sem, 1));
  scene_close(self->s);
  VOLT_TASK_END(self);
}

static void closed_by_a_task(void **state) {
  (void)state;
  scene s;
  volt_sem sem = VOLT_SEM_INIT(0);
  thread_team team;
  scene_begin(&s);
  closer c = {.sem = &sem, .s = &s};
  volt_task_init(&c.task, closer_poll);
  assert_result(volt_spawn(volt_bridge_rt(s.b), &c.task), VOLT_OK);
  thread_team_start(&team, 1, release_later, &sem);
  SCENE_RUN_UNTIL(&s, s.closed > 0);
  thread_team_join(&team);
  scene_end(&s);
}

/* A loop closes the bridge before it runs for the first time. */
static void closed_at_once(void **state) {
  (void)state;
  scene s;
  scene_begin(&s);
  scene_end(&s);
}

static void two_in_one_loop(void **state) {
  (void)state;
  scene s;
  volt_sem sem = VOLT_SEM_INIT(0);
  scene_begin(&s);
  scene other = {.loop = s.loop};
  scene_begin_with(&other, NULL);
  asked *a = ask(&s, &sem, NULL);
  asked *b = ask(&other, &sem, NULL);
  scene_settle(&s);
  scene_close(&s);
  SCENE_RUN_UNTIL(&s, s.closed > 0);
  assert_result(a->result, VOLT_ECANCELED);
  volt_sem_release(&sem, 1);
  SCENE_RUN_UNTIL(&s, b->calls > 0);
  assert_result(b->result, VOLT_OK);
  scene_close(&other);
  SCENE_RUN_UNTIL(&s, other.closed > 0);
  scene_end(&s);
  free(a);
  free(b);
}

/* ---- a wake is on its way ---- */

typedef struct stuck {
  volt_sem *sem;
  VOLT_ATOMIC(uint32_t) is_stuck;
  VOLT_ATOMIC(uint32_t) may_go;
} stuck;

static void get_stuck(void *arg) {
  stuck *k = (stuck *)arg;
  volt_store_release(&k->is_stuck, 1);
  WAIT_UNTIL(volt_load_acquire(&k->may_go));
}

static void release_two(void *arg, uint32_t index) {
  (void)index;
  volt_sem_release(((stuck *)arg)->sem, 2);
}

/* A thread has granted two waiters together, and is in the waker of the first: the wake of the
 * second, which is the loop's, is on its way. Returns whether grants come in batches here. */
static bool stuck_begins(stuck *k) {
  WAIT_UNTIL(volt_load_acquire(&k->is_stuck));
  return volt_sem_waiters(k->sem) == 0;
}

/* The bridge is closed meanwhile, and the wait has its result: the bridge stays until the wake has
 * come. late_wait: what waits is a single future, else a task. */
static void closed_while_a_wake_is_on_its_way(bool late_wait) {
  scene s;
  volt_sem sem = VOLT_SEM_INIT(0);
  stuck k = {.sem = &sem};
  volt_waiter first = VOLT_WAITER_INIT;
  thread_team team;
  taker t;
  asked *a = NULL;
  scene_begin(&s);
  assert_result(volt_sem_acquire_waiter(&sem, &first, 1, (volt_waker){get_stuck, &k}),
                VOLT_PENDING);
  if (late_wait) {
    a = ask(&s, &sem, NULL);
  } else {
    taker_init(&t, &sem, 1);
    assert_result(volt_spawn(volt_bridge_rt(s.b), &t.task), VOLT_OK);
  }
  scene_settle(&s);
  thread_team_start(&team, 1, release_two, &k);
  bool both = stuck_begins(&k);
  scene_close(&s);
  scene_settle(&s);
  if (both) assert_int_equal(s.closed, 0);
  volt_store_release(&k.may_go, 1);
  SCENE_RUN_UNTIL(&s, s.closed > 0);
  thread_team_join(&team);
  if (a) assert_int_equal(a->calls, 1);
  scene_end(&s);
  free(a);
}

static void closed_while_a_wait_is_woken(void **state) {
  (void)state;
  closed_while_a_wake_is_on_its_way(true);
}

static void closed_while_a_task_is_woken(void **state) {
  (void)state;
  closed_while_a_wake_is_on_its_way(false);
}

/* The same without a close: the callback comes when the wake has. */
static void called_when_the_wake_has_come(void **state) {
  (void)state;
  scene s;
  volt_sem sem = VOLT_SEM_INIT(0);
  stuck k = {.sem = &sem};
  volt_waiter first = VOLT_WAITER_INIT;
  thread_team team;
  scene_begin(&s);
  assert_result(volt_sem_acquire_waiter(&sem, &first, 1, (volt_waker){get_stuck, &k}),
                VOLT_PENDING);
  asked *a = ask(&s, &sem, NULL);
  scene_settle(&s);
  thread_team_start(&team, 1, release_two, &k);
  bool both = stuck_begins(&k);
  volt_bridge_cancel(&a->call);
  scene_settle(&s);
  if (both) assert_int_equal(a->calls, 0);
  volt_store_release(&k.may_go, 1);
  SCENE_RUN_UNTIL(&s, a->calls > 0);
  thread_team_join(&team);
  scene_end(&s);
  free(a);
}

enum { TEARDOWNS = 1000 };

/* Again and again, with threads that wake whatever waits. */
static void closed_a_thousand_times(void **state) {
  (void)state;
  volt_sem sem = VOLT_SEM_INIT(0);
  unsigned granted = 0;
  for (int i = 0; i < TEARDOWNS; i++) {
    scene s;
    thread_team team;
    scene_begin(&s);
    asked *a[3];
    for (int j = 0; j < 3; j++) a[j] = ask(&s, &sem, NULL);
    if (i % 2) any_loop_look(s.loop);
    thread_team_start(&team, 2, release_later, &sem);
    if (i % 3 == 0) any_loop_look(s.loop);
    scene_end(&s);
    for (int j = 0; j < 3; j++) {
      REQUIRE(a[j]->calls == 1 && (a[j]->result == VOLT_OK || a[j]->result == VOLT_ECANCELED));
      granted += a[j]->result == VOLT_OK;
      free(a[j]);
    }
    thread_team_join(&team);
  }
  assert_int_equal(granted + volt_sem_available(&sem), 2 * TEARDOWNS);
}

/* ---- in a callback ---- */

#if ANY_LOOP_RECURSES
static asked *inner;

static void run_the_loop(asked *a) {
  inner = ask(a->s, a->sem, NULL);
  volt_sem_release(a->sem, 2); /* for the other one that waits, too */
  SCENE_RUN_UNTIL(a->s, inner->calls > 0);
  scene_close(a->s);
  scene_settle(a->s);
  REQUIRE(a->s->closed == 0); /* not within a callback */
}

static void a_callback_runs_the_loop(void **state) {
  (void)state;
  scene s;
  volt_sem sem = VOLT_SEM_INIT(1);
  scene_begin(&s);
  asked *a = ask(&s, &sem, run_the_loop);
  asked *b = ask(&s, &sem, NULL);
  SCENE_RUN_UNTIL(&s, s.closed > 0);
  assert_int_equal(a->calls, 1);
  assert_int_equal(b->calls, 1);
  assert_int_equal(inner->calls, 1);
  scene_end(&s);
  free(inner);
  free(a);
  free(b);
}
#endif

/* It is no task, so it may block. */
static void block_a_while(asked *a) {
  REQUIRE(volt_sem_acquire_until(a->sem, 1, PAST_DEADLINE) == VOLT_ETIMEDOUT);
  REQUIRE(!volt_rt_current());
}

static void a_callback_is_no_task(void **state) {
  (void)state;
  scene s;
  volt_sem sem = VOLT_SEM_INIT(1);
  scene_begin(&s);
  asked *a = ask(&s, &sem, block_a_while);
  SCENE_RUN_UNTIL(&s, a->calls > 0);
  scene_end(&s);
  free(a);
}

/* ---- what is refused ---- */

static void wake_nobody(void *arg) {
  (void)arg;
}

static void not_opened(void **state) {
  (void)state;
  scene s;
  scene_make_loop(&s);
  volt_rt_config config = scene_config(&s);
  config.waker.wake = wake_nobody;
  assert_result(any_loop_open(s.loop, &s.b, &config), VOLT_EINVAL);
  config = scene_config(&s);
  config.workers = 2;
  assert_result(any_loop_open(s.loop, &s.b, &config), VOLT_EINVAL);
  scene_free_loop(&s);
}

static void stop_nothing(volt_bridge *b) {
  (void)b;
}

static void abandoned(void **state) {
  (void)state;
  scene s;
  volt_bridge b;
  scene_make_loop(&s);
  volt_rt_config config = scene_config(&s);
  assert_result(volt_bridge_open(&b, stop_nothing, &config), VOLT_OK);
  volt_bridge_abandon(&b);
  scene_free_loop(&s);
}

static void close_again(void *b) {
  volt_bridge_close((volt_bridge *)b, NULL, NULL);
}

static int runs_the_bridge(volt_task *t, volt_ctx *ctx) {
  (void)ctx;
  scene *s = ((closer *)(void *)t)->s;
  volt_bridge_run(s->b);
  return VOLT_OK;
}

static void run_from_a_task(void *arg) {
  scene *s = (scene *)arg;
  closer c = {.s = s};
  volt_task_init(&c.task, runs_the_bridge);
  (void)!volt_spawn(volt_bridge_rt(s->b), &c.task);
  volt_bridge_run(s->b);
}

static void wait_when_stopped(void *arg) {
  volt_bridge_call call;
  volt_future f;
  volt_sem sem = VOLT_SEM_INIT(0);
  volt_future_made(volt_sem_acquire_future(&f, &sem, 1));
  volt_bridge_then((volt_bridge *)arg, &call, &f, asked_called, NULL);
}

static void misuse(void **state) {
  (void)state;
  scene s;
  scene_begin(&s);
  assert_death(run_from_a_task, &s, "volt_rt_run", "called from a task");
  scene_close(&s);
  assert_death(close_again, s.b, "volt_bridge_close", death_address(s.b), "closed twice");
  scene_end(&s);
  volt_bridge b;
  assert_result(volt_bridge_open(&b, stop_nothing, NULL), VOLT_OK);
  volt_bridge_close(&b, NULL, NULL);
  while (b.rt) volt_bridge_run(&b);
  volt_bridge_run(&b); /* of no effect: stop() was called, the loop is about to stop */
  assert_death(wait_when_stopped, &b, "volt_bridge_then", death_address(&b), "has ended");
  volt_bridge_stopped(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(ready_at_once),
    cmocka_unit_test(woken_by_a_thread),
    cmocka_unit_test(woken_many_times),
    cmocka_unit_test(cancelled),
    cmocka_unit_test(cancelled_when_granted),
    cmocka_unit_test(cancelled_before_it_began),
    cmocka_unit_test(a_timer),
    cmocka_unit_test(a_deadline),
    cmocka_unit_test(on_virtual_time),
    cmocka_unit_test(tasks_in_the_loop),
    cmocka_unit_test(spawned_by_other_threads),
    cmocka_unit_test(a_fiber_in_the_loop),
    cmocka_unit_test(closed_while_a_fiber_waits),
    cmocka_unit_test(fair_to_the_loop),
    cmocka_unit_test(on_the_blocking_pool),
    cmocka_unit_test(close_cancels),
    cmocka_unit_test(wait_is_refused),
    cmocka_unit_test(callback_waits_while_closing),
    cmocka_unit_test(closed_by_a_callback),
    cmocka_unit_test(freed_by_its_callback),
    cmocka_unit_test(closed_by_a_task),
    cmocka_unit_test(closed_at_once),
    cmocka_unit_test(two_in_one_loop),
    cmocka_unit_test(closed_while_a_wait_is_woken),
    cmocka_unit_test(closed_while_a_task_is_woken),
    cmocka_unit_test(called_when_the_wake_has_come),
    cmocka_unit_test(closed_a_thousand_times),
#if ANY_LOOP_RECURSES
    cmocka_unit_test(a_callback_runs_the_loop),
#endif
    cmocka_unit_test(a_callback_is_no_task),
    cmocka_unit_test(not_opened),
    cmocka_unit_test(abandoned),
    cmocka_unit_test(misuse),
  };
  scene_warm_up();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
