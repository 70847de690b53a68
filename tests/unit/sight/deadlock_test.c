/* deadlock_test.c: deadlocks of real tasks and threads, and what is none: by looks at a runtime by
 * hand; by the call and by the watcher; the order of locks. */
#include <volt/async.h>
#include <volt/cond.h>
#include <volt/fiber.h>
#include <volt/sight.h>

#include "by_hand.h"
#include "core/inspect/lock_order.h"
#include "core/inspect/sleepers.h"
#include "sight/graph/deadlocks.h"
#include "thread_team.h"

enum { MOST = 8 };

static by_hand h;
static volt_deadlocks_ *d;
static volt_mutex a, b;
static volt_rwlock rw;
static volt_sem sem, gate;
static volt_cond cond;

typedef struct step {
  int what; /* of steps below */
  void *on;
} step;

/* A task that does its steps, and at its end, or as it is cancelled, gives back what it has got. */
typedef struct actor {
  volt_task task;
  const step *steps;
  unsigned at, done;
  int result;
  volt_future f;
  volt_future g;
  volt_future *both[2];
  volt_select select;
  volt_join join;
  volt_timeout timeout;
  volt_sleep_op sleep;
} actor;

enum {
  END,
  LOCK,
  READ,
  WRITE,
  ACQUIRE,
  AWAIT_TASK,
  AWAIT_GROUP,
  EITHER,
  BOTH,
  LOCK_FOR_1_S,
  WAIT,
  GATE
};

static actor *actors[MOST];
static unsigned count;

static int set_up(void **state) {
  (void)state;
  by_hand_begin(&h);
  d = volt_deadlocks_new_();
  assert_non_null(d);
  volt_mutex_init(&a);
  volt_mutex_init(&b);
  volt_rwlock_init(&rw);
  volt_sem_init(&sem, 2);
  volt_sem_init(&gate, 0);
  volt_cond_init(&cond);
  count = 0;
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  volt_deadlocks_free_(d);
  for (unsigned i = 0; i < count; i++) (void)volt_task_cancel(&actors[i]->task);
  by_hand_run(&h);
  for (unsigned i = 0; i < count; i++) volt_task_detach(&actors[i]->task);
  by_hand_end(&h, 0);
  return 0;
}

static volt_future *begin(actor *self, volt_future *f, const step *s) {
  switch (s->what) {
    case LOCK: return volt_mutex_lock_future(f, s->on);
    case READ: return volt_rwlock_read_future(f, s->on);
    case WRITE: return volt_rwlock_write_future(f, s->on);
    case ACQUIRE: return volt_sem_acquire_future(f, s->on, 1);
    case AWAIT_TASK: return volt_task_join_future(f, *(volt_task **)s->on);
    case AWAIT_GROUP: return volt_group_wait_future(f, s->on);
    case GATE: return volt_sem_acquire_future(f, &gate, 1);
    case LOCK_FOR_1_S:
      return volt_timeout_future(&self->timeout, volt_mutex_lock_future(f, s->on),
                                 volt_rt_timers(h.rt), volt_rt_now_ns(h.rt) + 1000000000);
    case WAIT: return volt_cond_wait_future(f, &cond, s->on);
    default: return NULL;
  }
}

static volt_future *next(actor *self) {
  const step *s = &self->steps[self->at++];
  if (s->what != EITHER && s->what != BOTH) return begin(self, &self->f, s);
  self->both[0] = begin(self, &self->f, s + 1);
  self->both[1] = begin(self, &self->g, s + 2);
  self->at += 2;
  return s->what == EITHER ? volt_select_future(&self->select, self->both, 2, 0)
                           : volt_join_future(&self->join, self->both, 2, VOLT_JOIN_ALL);
}

static void give_back(const step *s) {
  if (s->what == LOCK) volt_mutex_unlock(s->on);
  if (s->what == READ) volt_rwlock_read_unlock(s->on);
  if (s->what == WRITE) volt_rwlock_write_unlock(s->on);
  if (s->what == ACQUIRE) volt_sem_release(s->on, 1);
}

static int act(volt_task *t, volt_ctx *ctx) {
  actor *self = volt_container_of(t, actor, task);
  VOLT_TASK_BEGIN(self);
  while (self->steps[self->at].what != END) {
    VOLT_AWAIT_RESULT(self, self->result, next(self));
    bool waited = self->steps[self->done].what == WAIT; /* for a signal, with the lock before it */
    if (self->result != VOLT_OK && waited) self->done -= 1;
    if (self->result != VOLT_OK) break;
    self->done = self->at;
  }
  while (self->done > 0) give_back(&self->steps[--self->done]);
  VOLT_TASK_END(self);
}

static actor *actor_new(const step *steps) {
  actor *it = VOLT_TASK_NEW(h.rt, actor, act);
  it->steps = steps;
  actors[count++] = it;
  return it;
}

static void plays(const step *steps) {
  assert_result(volt_spawn(h.rt, &actor_new(steps)->task), VOLT_OK);
}

static void open_gate(void) {
  by_hand_run(&h);
  volt_sem_release(&gate, count);
  by_hand_run(&h);
}

/* Both looks. */
static unsigned stuck(void) {
  by_hand_run(&h);
  if (!volt_deadlocks_search_(d)) return 0;
  return volt_deadlocks_search_again_(d) ? d->stuck : 0;
}

static void expect_stuck(unsigned want) {
#if !VOLT_SIGHT
  want = 0; /* nobody knows the holders */
#endif
  assert_int_equal(stuck(), want);
}

static const char *said(void) {
  static char text[VOLT_DEADLOCK_TEXT_ + 1];
  volt_deadlocks_print_(d);
  size_t length = volt_text_length_(&d->text);
  memcpy(text, d->memory, length);
  text[length] = 0;
  return text;
}

/* ---- deadlocks ---- */

static const step a_then_b[] = {{LOCK, &a}, {GATE, NULL}, {LOCK, &b}, {END, NULL}};
static const step b_then_a[] = {{LOCK, &b}, {GATE, NULL}, {LOCK, &a}, {END, NULL}};

static void two_tasks_lock_in_two_orders(void **state) {
  (void)state;
  plays(a_then_b);
  plays(b_then_a);
  expect_stuck(0);
  open_gate();
  expect_stuck(2);
#if VOLT_SIGHT
  const char *text = said();
  assert_non_null(strstr(text, "deadlock:\n"));
  assert_non_null(strstr(text, "act waits for mutex"));
  assert_non_null(strstr(text, ", held by task"));
  assert_non_null(strstr(text, "(deadlock_test.c:"));
  assert_non_null(strstr(text, "volt_mutex_lock of mutex"));
  assert_int_equal(d->cycles, 1);
#endif
}

static void three_and_one_behind(void **state) {
  (void)state;
  static const step behind[] = {{GATE, NULL}, {LOCK, &a}, {END, NULL}};
  plays(a_then_b);
  plays(b_then_a);
  plays(behind);
  open_gate();
  expect_stuck(3);
#if VOLT_SIGHT
  assert_non_null(strstr(said(), "behind it:\n"));
#endif
}

static void a_task_locks_twice(void **state) {
  (void)state;
  static const step steps[] = {{LOCK, &a}, {LOCK, &a}, {END, NULL}};
  plays(steps);
  expect_stuck(1);
}

static void with_bypass(void **state) {
  (void)state;
  volt_mutex_init_bypass(&a, 4);
  two_tasks_lock_in_two_orders(NULL);
}

static void a_reader_behind_a_writer_behind_itself(void **state) {
  (void)state;
  static const step reader[] = {{READ, &rw}, {GATE, NULL}, {READ, &rw}, {END, NULL}};
  static const step writer[] = {{WRITE, &rw}, {END, NULL}};
  plays(reader);
  by_hand_run(&h);
  plays(writer);
  by_hand_run(&h);
  volt_sem_release(&gate, 1);
  expect_stuck(2);
}

static void two_readers_want_to_write(void **state) {
  (void)state;
  static const step steps[] = {{READ, &rw}, {GATE, NULL}, {WRITE, &rw}, {END, NULL}};
  plays(steps);
  plays(steps);
  open_gate();
  expect_stuck(2);
}

static void two_take_the_permits_one_by_one(void **state) {
  (void)state;
  static const step steps[] = {{ACQUIRE, &sem}, {GATE, NULL}, {ACQUIRE, &sem}, {END, NULL}};
  plays(steps);
  plays(steps);
  open_gate();
  expect_stuck(0); /* perhaps they are places in a queue */
}

static void the_same_when_holders_release(void **state) {
  (void)state;
  static const step steps[] = {{ACQUIRE, &sem}, {GATE, NULL}, {ACQUIRE, &sem}, {END, NULL}};
  assert_result(volt_sem_try_acquire(&sem, 1), VOLT_OK);
  volt_sem_release(&sem, 1); /* as a lock is used */
  plays(steps);
  plays(steps);
  open_gate();
  expect_stuck(2);
}

static void selects(void **state) {
  (void)state;
  static volt_mutex c;
  volt_mutex_init(&c);
  static const step one[] = {{LOCK, &a}, {GATE, NULL}, {EITHER, NULL},
                             {LOCK, &b}, {LOCK, &c},   {END, NULL}};
  static const step other[] = {{LOCK, &b}, {LOCK, &c}, {GATE, NULL}, {EITHER, NULL},
                               {LOCK, &a}, {LOCK, &a}, {END, NULL}};
  plays(one);
  plays(other);
  open_gate();
  expect_stuck(2);
}

static void joins_in_a_ring(void **state) {
  (void)state;
  static volt_task *first, *second;
  static const step one[] = {{AWAIT_TASK, &second}, {END, NULL}};
  static const step other[] = {{AWAIT_TASK, &first}, {END, NULL}};
  actor *x = actor_new(one), *y = actor_new(other);
  first = &x->task;
  second = &y->task;
  assert_result(volt_spawn(h.rt, first), VOLT_OK);
  assert_result(volt_spawn(h.rt, second), VOLT_OK);
  assert_int_equal(stuck(), 2); /* in every build */
  assert_non_null(strstr(said(), "waits for task"));
}

static volt_group group;

static void a_group_waits_for_its_parent(void **state) {
  (void)state;
  static const step parent[] = {{LOCK, &a}, {GATE, NULL}, {AWAIT_GROUP, &group}, {END, NULL}};
  static const step child[] = {{LOCK, &a}, {END, NULL}};
  volt_group_init(&group);
  plays(parent);
  by_hand_run(&h);
  actor *it = VOLT_TASK_NEW(h.rt, actor, act);
  it->steps = child;
  assert_result(volt_group_spawn(&group, h.rt, &it->task), VOLT_OK);
  volt_sem_release(&gate, 1);
  expect_stuck(2);
#if VOLT_SIGHT
  assert_non_null(strstr(said(), ", of which is task"));
#endif
  (void)volt_task_cancel(&actors[0]->task);
  by_hand_run(&h);
  volt_group_destroy(&group);
}

static void a_signal_into_a_deadlock(void **state) {
  (void)state;
  static const step waits[] = {{LOCK, &b}, {LOCK, &a}, {WAIT, &a}, {END, NULL}};
  static const step has_a[] = {{GATE, NULL}, {LOCK, &a}, {LOCK, &b}, {END, NULL}};
  plays(waits);
  plays(has_a);
  expect_stuck(0);
  open_gate(); /* one has a and wants b; the other has b and waits for a signal */
  expect_stuck(0);
  volt_cond_signal(&cond); /* now it waits for a */
  expect_stuck(2);
}

static int fiber_locks(void *arg) {
  const step *s = arg;
  volt_mutex_lock(s[0].on);
  int result = volt_sem_acquire(&gate, 1);
  if (result == VOLT_OK) result = volt_mutex_lock_until(s[2].on, VOLT_NO_DEADLINE);
  if (result == VOLT_OK) volt_mutex_unlock(s[2].on);
  volt_mutex_unlock(s[0].on);
  return result;
}

static int fiber_looks(void *arg) {
  *(int *)arg = volt_deadlocks(NULL, NULL);
  return VOLT_OK;
}

/* Between the two looks others run. A cancel is for a later call. */
static void a_fiber_looks(void **state) {
  (void)state;
  int result = VOLT_PENDING;
  plays(a_then_b);
  plays(b_then_a);
  open_gate();
  volt_task *t = volt_fiber_new(h.rt, fiber_looks, &result, NULL);
  assert_non_null(t);
  assert_result(volt_spawn(h.rt, t), VOLT_OK);
  by_hand_run(&h);
  assert_int_equal(volt_task_result(t), VOLT_SIGHT ? VOLT_PENDING : VOLT_OK);
  if (VOLT_SIGHT) assert_true(volt_task_cancel(t));
  by_hand_run(&h);
  volt_rt_advance(h.rt, 100000000);
  by_hand_run(&h);
  assert_result(volt_task_result(t), VOLT_OK);
  assert_result(result, VOLT_SIGHT ? VOLT_ESTALLED : VOLT_EAGAIN);
  volt_task_detach(t);
}

static void a_fiber_and_a_task(void **state) {
  (void)state;
  if (volt_fiber_supported()) skip();
  char name[] = "dora";
  const volt_fiber_config config = {.name = name};
  plays(a_then_b);
  volt_task *t = volt_fiber_new(h.rt, fiber_locks, (void *)(uintptr_t)b_then_a, &config);
  assert_result(volt_spawn(h.rt, t), VOLT_OK);
  by_hand_run(&h);
  volt_sem_release(&gate, 2);
  unsigned found = stuck();
  (void)volt_task_cancel(t);
  by_hand_run(&h);
  volt_task_detach(t);
  memset(name, '?', sizeof name - 1); /* it has ended, so its name may be gone as this is said */
  bool is_said = strstr(said(), " 'dora' waits for mutex");
  assert_int_equal(found, VOLT_SIGHT ? 2 : 0);
  assert_int_equal(is_said, VOLT_SIGHT);
}

/* ---- what is none ---- */

static void a_deadline_ends_it(void **state) {
  (void)state;
  static const step patient[] = {{LOCK, &b}, {GATE, NULL}, {LOCK_FOR_1_S, &a}, {END, NULL}};
  plays(a_then_b);
  plays(patient);
  open_gate();
  expect_stuck(0);
}

static void a_holder_that_may_go_on(void **state) {
  (void)state;
  static const step sleeps[] = {{LOCK, &b}, {GATE, NULL}, {GATE, NULL}, {END, NULL}};
  plays(a_then_b);
  plays(sleeps);
  by_hand_run(&h);
  volt_sem_release(&gate, 2);
  expect_stuck(0);
}

static void a_holder_that_is_not_known(void **state) {
  (void)state;
  volt_waiter w = VOLT_WAITER_INIT;
  const volt_waker none = {NULL, NULL};
  static const step steps[] = {{GATE, NULL}, {LOCK, &a}, {END, NULL}};
  assert_result(volt_mutex_try_lock(&a), VOLT_OK);
  assert_result(volt_mutex_lock_waiter(&a, &w, none), VOLT_PENDING);
  volt_mutex_unlock(&a); /* to a waiter that polls by itself */
  plays(steps);
  open_gate();
  expect_stuck(0);
  volt_mutex_unlock(&a);
}

static void what_another_has_unlocked_before(void **state) {
  (void)state;
  static volt_mutex passed = VOLT_MUTEX_INIT; /* no other test uses this one */
  static const step once[] = {{LOCK, &passed}, {GATE, NULL}, {END, NULL}};
  static const step twice[] = {{LOCK, &passed}, {LOCK, &passed}, {END, NULL}};
  plays(once);
  by_hand_run(&h);
  volt_mutex_unlock(&passed); /* which the task has locked */
  assert_result(volt_mutex_try_lock(&passed), VOLT_OK);
  open_gate();
  assert_false(volt_mutex_is_locked(&passed));
  plays(twice);
  expect_stuck(0); /* there is a deadlock, but who knows who will unlock it */
}

static void a_wait_that_ends_between_the_looks(void **state) {
  (void)state;
  plays(a_then_b);
  plays(b_then_a);
  open_gate();
  bool first = volt_deadlocks_search_(d);
  assert_int_equal(first, VOLT_SIGHT);
  (void)volt_task_cancel(&actors[0]->task);
  by_hand_run(&h);
  assert_false(volt_deadlocks_search_again_(d));
}

static void a_grant_between_the_looks(void **state) {
  (void)state;
  static volt_sem two = VOLT_SEM_INIT(2);
  static const step steps[] = {{ACQUIRE, &two}, {GATE, NULL}, {ACQUIRE, &two}, {END, NULL}};
  assert_result(volt_sem_try_acquire(&two, 1), VOLT_OK);
  volt_sem_release(&two, 1);
  plays(steps);
  plays(steps);
  open_gate();
  bool first = volt_deadlocks_search_(d);
  assert_int_equal(first, VOLT_SIGHT);
  volt_sem_set_limit(&two, 3); /* granted, and not polled yet */
  assert_false(volt_deadlocks_search_again_(d));
  by_hand_run(&h);
  volt_sem_set_limit(&two, 2);
}

static void tasks_that_are_idle(void **state) {
  (void)state;
  static const step steps[] = {{GATE, NULL}, {END, NULL}};
  for (unsigned i = 0; i < 4; i++) plays(steps);
  expect_stuck(0);
}

/* ---- what a function by hand awaits ---- */

/* Goes on if its time has come, whether or not it has got the lock. */
typedef struct by_itself {
  volt_task task;
  volt_future lock;
  volt_sleep_op sleep;
} by_itself;

static volt_future *by_itself_inside(const void *its, unsigned i) {
  by_itself *self = volt_container_of((volt_task *)(uintptr_t)its, by_itself, task);
  return i == 0 ? &self->lock : i == 1 ? &self->sleep.future : NULL;
}

static int by_itself_poll(volt_task *t, volt_ctx *ctx) {
  by_itself *self = volt_container_of(t, by_itself, task);
  VOLT_TASK_SHOWS(self, by_itself_inside);
  int result = volt_future_poll_ctx(&self->lock, ctx);
  if (result == VOLT_OK) volt_mutex_unlock(&a);
  if (result != VOLT_PENDING) {
    volt_future_cancel(&self->sleep.future);
    return result;
  }
  result = volt_future_poll_ctx(&self->sleep.future, ctx);
  if (result != VOLT_PENDING) volt_future_cancel(&self->lock);
  return result;
}

/* Whoever joins it gets on. */
static void a_function_by_hand_that_awaits_two(void **state) {
  (void)state;
  static volt_task *its;
  static const step joins[] = {{LOCK, &a}, {GATE, NULL}, {AWAIT_TASK, &its}, {END, NULL}};
  by_itself *self = VOLT_TASK_NEW(h.rt, by_itself, by_itself_poll);
  volt_future_made(volt_mutex_lock_future(&self->lock, &a));
  volt_future_made(
      volt_sleep_future(&self->sleep, volt_rt_timers(h.rt), volt_rt_now_ns(h.rt) + 1000000000));
  its = &self->task;
  plays(joins);
  by_hand_run(&h);
  assert_result(volt_spawn(h.rt, its), VOLT_OK);
  open_gate();
  unsigned found_stuck = stuck();
  volt_rt_advance(h.rt, 1000000000);
  by_hand_run(&h);
  volt_task_detach(its);
  assert_int_equal(found_stuck, 0);
}

/* ---- threads ---- */

static VOLT_ATOMIC(uint32_t) ready;
static volt_mutex x = VOLT_MUTEX_INIT, y = VOLT_MUTEX_INIT; /* of threads alone */

static void lock_both(void *arg, uint32_t index) {
  (void)arg;
  volt_mutex *mine = index == 0 ? &x : &y, *other = index == 0 ? &y : &x;
  volt_mutex_lock(mine);
  (void)volt_fetch_add_release(&ready, 1);
  while (volt_load_acquire(&ready) < 2) sched_yield();
  volt_mutex_lock(other);
  volt_mutex_unlock(other);
  if (index == 1) volt_mutex_unlock(mine); /* the test has unlocked the other one */
}

static unsigned sleepers(void) {
  volt_sleeper_seen_ seen[8];
  uint64_t cursor = 0;
  return volt_sleepers_copy_(seen, 8, &cursor);
}

static void two_threads(void **state) {
  (void)state;
  thread_team team;
  volt_store_relaxed(&ready, 0);
  thread_team_start(&team, 2, lock_both, NULL);
  WAIT_UNTIL(sleepers() == 2);
  expect_stuck(2);
#if VOLT_SIGHT
  assert_non_null(strstr(said(), "thread "));
#endif
  volt_mutex_unlock(&x);
  thread_team_join(&team);
  assert_int_equal(stuck(), 0);
}

/* ---- a thread and a task; the call, and the watcher ---- */

static void lock_two(void *arg, uint32_t index) {
  static volt_mutex *const of[2] = {&b, &a};
  (void)arg;
  (void)index;
  volt_mutex_lock(of[0]);
  (void)volt_fetch_add_release(&ready, 1);
  if (volt_mutex_lock_until(of[1], VOLT_NO_DEADLINE) == VOLT_OK) volt_mutex_unlock(of[1]);
  volt_mutex_unlock(of[0]);
}

static char heard[2 * VOLT_DEADLOCK_TEXT_];

static bool hear(void *ctx, const char *text, size_t length) {
  assert_ptr_equal(ctx, heard);
  memcpy(heard, text, length);
  heard[length] = 0;
  return true;
}

static void a_thread_and_a_task(void **state) {
  (void)state;
  thread_team team;
  volt_store_relaxed(&ready, 0);
  heard[0] = 0;
  plays(a_then_b);
  by_hand_run(&h);
  thread_team_start(&team, 1, lock_two, NULL);
  WAIT_UNTIL(volt_load_acquire(&ready) == 1);
  volt_sem_release(&gate, 1);
  by_hand_run(&h);
  WAIT_UNTIL(sleepers() == 1);
  int result = volt_deadlocks(hear, heard);
#if VOLT_SIGHT
  assert_result(result, VOLT_ESTALLED);
  assert_non_null(strstr(heard, "deadlock:\n"));
  assert_result(volt_deadlocks(NULL, NULL), VOLT_ESTALLED);
#else
  assert_result(result, VOLT_EAGAIN); /* it does not know who holds what, and says so */
  assert_memory_equal(heard, "who holds a lock is known in builds with VOLT_SIGHT=1", 53);
  assert_result(volt_deadlocks(NULL, NULL), VOLT_EAGAIN);
#endif
  (void)volt_task_cancel(&actors[0]->task);
  by_hand_run(&h);
  thread_team_join(&team);
  assert_result(volt_deadlocks(hear, heard), VOLT_SIGHT ? VOLT_OK : VOLT_EAGAIN);
}

static VOLT_ATOMIC(uint32_t) reports;

static void hear_report(void *ctx, const char *text, size_t length) {
  memcpy(ctx, text, length);
  ((char *)ctx)[length] = 0;
  (void)volt_fetch_add_release(&reports, 1);
}

#if !VOLT_SIGHT
/* A watcher that cannot know deadlocks of locks says so, once; that is no reason to abort. */
static void a_watcher_that_knows_no_holders_says_so(void **state) {
  (void)state;
  const volt_sight_config config = {.flags = VOLT_SIGHT_DEADLOCKS | VOLT_SIGHT_ABORT,
                                    .period_ns = 1000000,
                                    .report = hear_report,
                                    .ctx = heard};
  for (uint32_t i = 1; i <= 2; i++) {
    assert_result(volt_sight_enable(&config), VOLT_OK);
    WAIT_UNTIL(volt_load_acquire(&reports) == i);
    assert_memory_equal(heard, "who holds a lock is known in builds with VOLT_SIGHT=1", 53);
    volt_sight_disable();
    assert_int_equal(volt_load_acquire(&reports), i);
  }
}
#endif

#if VOLT_SIGHT

static bool keep(void *ctx, const char *text, size_t length) {
  return hear_report(ctx, text, length), true;
}

static void the_watcher_reports_once(void **state) {
  (void)state;
  const volt_sight_config config = {
      .flags = VOLT_SIGHT_DEADLOCKS, .period_ns = 1000000, .report = hear_report, .ctx = heard};
  static char known[VOLT_DEADLOCK_TEXT_];
  volt_store_relaxed(&reports, 0);
  volt_deadlocks_known_(keep, known);
  assert_int_equal(volt_load_acquire(&reports), 0); /* nothing is known */
  static volt_mutex p = VOLT_MUTEX_INIT;            /* whose order no test has seen */
  static const step steps[] = {{LOCK, &p}, {LOCK, &p}, {END, NULL}};
  assert_result(volt_sight_enable(&config), VOLT_OK);
  plays(steps);
  by_hand_run(&h);
  WAIT_UNTIL(volt_load_acquire(&reports) == 1);
  assert_non_null(strstr(heard, "deadlock:\n"));
  plays(a_then_b);
  plays(b_then_a);
  by_hand_run(&h);
  volt_sem_release(&gate, 2);
  by_hand_run(&h);
  WAIT_UNTIL(volt_load_acquire(&reports) >= 3); /* their order, and both deadlocks together */
  volt_sight_disable();
  uint32_t after = volt_load_acquire(&reports);
  assert_in_range(after, 3, 4);
  volt_deadlocks_known_(keep, known);
  assert_int_equal(volt_load_acquire(&reports), after); /* nothing is known any more */
}

/* ---- the order of locks ---- */

static char order[1024];

static void found(void) {
  (void)volt_fetch_add_release(&reports, 1);
}

static size_t order_taken(void) {
  size_t length = volt_lock_order_take_(order, sizeof order - 1);
  order[length] = 0;
  return length;
}

static void nest(volt_mutex *outer, volt_mutex *inner) {
  volt_mutex_lock(outer);
  volt_mutex_lock(inner);
  volt_mutex_unlock(inner);
  volt_mutex_unlock(outer);
}

static void a_cycle_is_reported_before_it_hangs(void **state) {
  (void)state;
  volt_mutex m[3] = {VOLT_MUTEX_INIT, VOLT_MUTEX_INIT, VOLT_MUTEX_INIT};
  volt_store_relaxed(&reports, 0);
  nest(&m[0], &m[1]);
  volt_lock_order_switch_(found);
  nest(&m[1], &m[0]); /* what was before does not count */
  assert_int_equal(order_taken(), 0);
  nest(&m[0], &m[2]);
  nest(&m[2], &m[1]);
  assert_true(order_taken() > 0);
  assert_int_equal(volt_load_acquire(&reports), 1);
  assert_non_null(strstr(order, "lock order"));
  assert_non_null(strstr(order, "deadlock_test.c:"));
  nest(&m[2], &m[1]);
  assert_int_equal(order_taken(), 0); /* once */
  volt_lock_order_switch_(NULL);
}

static void lock_all_behind(volt_mutex *outer, volt_mutex *first, volt_mutex *second) {
  volt_lockable both[] = {{.mutex = first}, {.mutex = second}};
  volt_mutex_lock(outer);
  assert_result(volt_lock_all(both, 2), VOLT_OK);
  volt_unlock_all(both, 2);
  volt_mutex_unlock(outer);
}

/* Those that are locked together come behind what was held before, and have no order by name. */
static void locked_together_they_come_behind_the_others(void **state) {
  (void)state;
  volt_mutex m[5] = {VOLT_MUTEX_INIT, VOLT_MUTEX_INIT, VOLT_MUTEX_INIT, VOLT_MUTEX_INIT,
                     VOLT_MUTEX_INIT};
  for (unsigned i = 0; i < 4; i++)
    assert_result(volt_name(&m[i], i == 1 || i == 2 ? "right" : "left"), VOLT_OK);
  volt_lock_order_switch_(found);
  lock_all_behind(&m[4], &m[0], &m[1]);
  lock_all_behind(&m[4], &m[3], &m[2]); /* by address: the other name first */
  assert_int_equal(order_taken(), 0);
  nest(&m[1], &m[4]);
  assert_true(order_taken() > 0);
  assert_non_null(strstr(order, "'right'"));
  assert_non_null(strstr(order, "deadlock_test.c:"));
  volt_lock_order_switch_(NULL);
  for (unsigned i = 0; i < 4; i++) volt_unname(&m[i]);
}

static void names_are_classes(void **state) {
  (void)state;
  volt_mutex m[4] = {VOLT_MUTEX_INIT, VOLT_MUTEX_INIT, VOLT_MUTEX_INIT, VOLT_MUTEX_INIT};
  assert_result(volt_name(&m[0], "outer"), VOLT_OK);
  assert_result(volt_name(&m[1], "inner"), VOLT_OK);
  assert_result(volt_name(&m[2], "outer"), VOLT_OK);
  assert_result(volt_name(&m[3], "inner"), VOLT_OK);
  volt_lock_order_switch_(found);
  nest(&m[0], &m[1]);
  nest(&m[0], &m[2]); /* of one class: no order */
  assert_int_equal(order_taken(), 0);
  nest(&m[3], &m[2]);
  assert_true(order_taken() > 0);
  assert_non_null(strstr(order, "'inner'"));
  assert_non_null(strstr(order, "'outer'"));
  volt_lock_order_switch_(NULL);
  for (unsigned i = 0; i < 4; i++) volt_unname(&m[i]);
}

/* Once an object is unnamed, the name may be gone. */
static void a_name_that_is_gone(void **state) {
  (void)state;
  volt_mutex m[3] = {VOLT_MUTEX_INIT, VOLT_MUTEX_INIT, VOLT_MUTEX_INIT};
  char *name = malloc(8);
  assert_non_null(name);
  strcpy(name, "passing");
  assert_result(volt_name(&m[1], name), VOLT_OK);
  volt_lock_order_switch_(found);
  nest(&m[0], &m[1]);
  nest(&m[1], &m[2]);
  volt_unname(&m[1]);
  memset(name, '?', 7);
  free(name);
  nest(&m[2], &m[0]);
  assert_true(order_taken() > 0);
  assert_non_null(strstr(order, "'passing'"));
  volt_lock_order_switch_(NULL);
}

static void levels_are_classes(void **state) {
  (void)state;
  volt_mutex m[3] = {VOLT_MUTEX_INIT, VOLT_MUTEX_INIT, VOLT_MUTEX_INIT};
  for (unsigned i = 0; i < 3; i++) assert_result(volt_name_nested(&m[i], "node", i), VOLT_OK);
  volt_lock_order_switch_(found);
  nest(&m[0], &m[1]);
  nest(&m[1], &m[2]);
  assert_int_equal(order_taken(), 0);
  nest(&m[2], &m[0]);
  assert_true(order_taken() > 0);
  volt_lock_order_switch_(NULL);
  for (unsigned i = 0; i < 3; i++) volt_unname(&m[i]);
}

static void a_lock_around_keeps_them_apart(void **state) {
  (void)state;
  volt_mutex m[3] = {VOLT_MUTEX_INIT, VOLT_MUTEX_INIT, VOLT_MUTEX_INIT};
  volt_lock_order_switch_(found);
  for (unsigned i = 0; i < 2; i++) {
    volt_mutex_lock(&m[2]);
    nest(&m[i], &m[1 - i]);
    volt_mutex_unlock(&m[2]);
  }
  assert_int_equal(order_taken(), 0);
  volt_lock_order_switch_(NULL);
}

static void what_does_not_wait_has_no_order(void **state) {
  (void)state;
  volt_mutex m[2] = {VOLT_MUTEX_INIT, VOLT_MUTEX_INIT};
  volt_lock_order_switch_(found);
  nest(&m[0], &m[1]);
  volt_mutex_lock(&m[1]);
  assert_result(volt_mutex_try_lock(&m[0]), VOLT_OK);
  volt_mutex_unlock(&m[0]);
  volt_mutex_unlock(&m[1]);
  assert_int_equal(order_taken(), 0);
  volt_lock_order_switch_(NULL);
}

/* A new object at the same place is another. */
static void what_was_there_before(void **state) {
  (void)state;
  volt_mutex m[2] = {VOLT_MUTEX_INIT, VOLT_MUTEX_INIT};
  volt_lock_order_switch_(found);
  nest(&m[0], &m[1]);
  volt_mutex_init(&m[0]);
  volt_mutex_init(&m[1]);
  nest(&m[1], &m[0]);
  assert_int_equal(order_taken(), 0);
  volt_lock_order_switch_(NULL);
}

static void more_edges_than_there_is_room(void **state) {
  (void)state;
  enum { MANY = 5000 };
  volt_mutex outer = VOLT_MUTEX_INIT;
  volt_lock_order_switch_(found);
  for (unsigned i = 0; i < MANY; i++) {
    volt_mutex inner = VOLT_MUTEX_INIT;
    nest(&outer, &inner);
    nest(&outer, &inner);
  }
  assert_int_equal(order_taken(), 0);
  volt_mutex last = VOLT_MUTEX_INIT;
  nest(&outer, &last);
  nest(&last, &outer);
  assert_true(order_taken() > 0);
  volt_lock_order_switch_(NULL);
}

static void tasks_have_an_order_too(void **state) {
  (void)state;
  static volt_mutex p = VOLT_MUTEX_INIT, q = VOLT_MUTEX_INIT;
  static const step one[] = {{LOCK, &p}, {LOCK, &q}, {END, NULL}};
  static const step other[] = {{LOCK, &q}, {LOCK, &p}, {END, NULL}};
  volt_lock_order_switch_(found);
  plays(one);
  by_hand_run(&h);
  assert_int_equal(order_taken(), 0);
  plays(other);
  by_hand_run(&h);
  assert_true(order_taken() > 0);
  volt_lock_order_switch_(NULL);
}

enum { ROUNDS = 400 };

typedef struct crossing {
  volt_mutex m[2][2]; /* of each thread, its own: of the same two names, so nobody waits */
  char name[2][24];
} crossing;

static VOLT_ATOMIC(uint32_t) crossed;
static unsigned cycles;

static void meet(uint32_t times) {
  volt_fetch_add_acq_rel(&crossed, 1);
  WAIT_UNTIL(volt_load_acquire(&crossed) >= 2 * times);
}

/* Both threads nest at the same time, in two orders. */
static void cross(void *arg, uint32_t me) {
  crossing *all = arg;
  for (uint32_t i = 0; i < ROUNDS; i++) {
    meet(2 * i + 1);
    nest(&all[i].m[me][me], &all[i].m[me][1 - me]);
    meet(2 * i + 2);
    if (me == 0) cycles += order_taken() > 0;
  }
}

/* No edge is lost because another thread adds one: who deadlocks has no second try. */
static void two_threads_at_the_same_time(void **state) {
  (void)state;
  crossing *all = calloc(ROUNDS, sizeof *all);
  assert_non_null(all);
  for (unsigned i = 0; i < ROUNDS; i++) {
    for (unsigned k = 0; k < 2; k++) {
      (void)snprintf(all[i].name[k], sizeof all[i].name[k], "%u of %u", k, i);
      for (unsigned t = 0; t < 2; t++) {
        volt_mutex_init(&all[i].m[t][k]);
        assert_result(volt_name(&all[i].m[t][k], all[i].name[k]), VOLT_OK);
      }
    }
  }
  volt_store_relaxed(&crossed, 0);
  cycles = 0;
  volt_lock_order_switch_(found);
  thread_team_run(2, cross, all);
  volt_lock_order_switch_(NULL);
  assert_int_equal(cycles, ROUNDS);
  for (unsigned i = 0; i < 4 * ROUNDS; i++) volt_unname(&all[i / 4].m[i / 2 % 2][i % 2]);
  free(all);
}
#endif

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
#if VOLT_SIGHT
    /* the first: nothing was passed on yet, or is taken for that by chance (holders.c) */
    TEST(two_threads_at_the_same_time),
#endif
    TEST(two_tasks_lock_in_two_orders),
    TEST(three_and_one_behind),
    TEST(a_task_locks_twice),
    TEST(with_bypass),
    TEST(a_reader_behind_a_writer_behind_itself),
    TEST(two_readers_want_to_write),
    TEST(two_take_the_permits_one_by_one),
    TEST(the_same_when_holders_release),
    TEST(selects),
    TEST(joins_in_a_ring),
    TEST(a_group_waits_for_its_parent),
    TEST(a_signal_into_a_deadlock),
    TEST(a_fiber_and_a_task),
    TEST(a_fiber_looks),
    TEST(a_deadline_ends_it),
    TEST(a_holder_that_may_go_on),
    TEST(a_holder_that_is_not_known),
    TEST(what_another_has_unlocked_before),
    TEST(a_wait_that_ends_between_the_looks),
    TEST(a_grant_between_the_looks),
    TEST(tasks_that_are_idle),
    TEST(a_function_by_hand_that_awaits_two),
    TEST(a_thread_and_a_task),
#if !VOLT_SIGHT
    TEST(a_watcher_that_knows_no_holders_says_so),
#else
    TEST(the_watcher_reports_once),
    TEST(a_cycle_is_reported_before_it_hangs),
    TEST(locked_together_they_come_behind_the_others),
    TEST(names_are_classes),
    TEST(a_name_that_is_gone),
    TEST(levels_are_classes),
    TEST(a_lock_around_keeps_them_apart),
    TEST(what_does_not_wait_has_no_order),
    TEST(what_was_there_before),
    TEST(more_edges_than_there_is_room),
    TEST(tasks_have_an_order_too),
#endif
    TEST(two_threads), /* the last: it unlocks what a thread holds */
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
