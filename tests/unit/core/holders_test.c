/* holders_test.c: in builds with VOLT_SIGHT=1, who holds what: threads and tasks, by each way to lock;
 * the lists of what they hold; what is passed on; how long things are held. */
#define VOLT_NO_PLACES /* where its caller stands stays noted */
#include <volt/cond.h>
#include <volt/fiber.h>
#include <volt/permit_channel.h>
#include <volt/sharded_rwlock.h>

#include "by_hand.h"
#include "core/inspect/holders.h"
#include "thread_team.h"

#if !VOLT_SIGHT

static void nothing_is_known(void **state) {
  (void)state;
  volt_mutex m = VOLT_MUTEX_INIT;
  volt_future f;
  volt_description_ description;
  volt_holder_seen_ seen;
  volt_held_seen_ held;
  volt_histogram holds;
  assert_result(volt_mutex_try_lock(&m), VOLT_OK);
  volt_describe_(volt_mutex_lock_future(&f, &m), &description);
  assert_false(volt_holder_see_(&description, &seen));
  assert_int_equal(seen.who, 0);
  assert_int_equal(volt_held_see_(NULL, &held, 1), 0);
  assert_true(volt_holder_is_passed_on_(&m));
  assert_result(volt_name(&m, "m"), VOLT_OK);
  assert_result(volt_holds_of(&m, &holds), VOLT_EAGAIN);
  volt_unname(&m);
  assert_result(volt_holds_of(&m, &holds), VOLT_EINVAL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_is_known)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

/* Where a call stands is what the program's own calls say. */
#define volt_mutex_try_lock(m) volt_mutex_try_lock(volt_mutex_tried_at_((m), "here.c", 1))
#define volt_mutex_lock(m) volt_mutex_lock(volt_mutex_locked_at_((m), "here.c", 2))
#define volt_rwlock_try_read(rw) volt_rwlock_try_read(volt_rwlock_tried_at_((rw), "here.c", 3))
#define volt_rwlock_try_write(rw) volt_rwlock_try_write(volt_rwlock_tried_at_((rw), "here.c", 4))
#define volt_sem_try_acquire(sem, n) \
  volt_sem_try_acquire(volt_sem_tried_at_((sem), "here.c", 5), (n))

static volt_held_seen_ held[16];

/* What this thread holds. */
static unsigned look_at_list(void) {
  memset(held, 0, sizeof held);
  return volt_held_see_(volt_party_here_, held, 16);
}

static void expect_held(unsigned i, const void *object, unsigned how, uint32_t n, uint32_t line) {
  assert_ptr_equal(held[i].object, object);
  assert_int_equal(held[i].how, how);
  assert_int_equal(held[i].n, n);
  assert_int_equal(held[i].line, line);
  if (line != 0) assert_string_equal(held[i].file, "here.c");
}

static volt_holder_seen_ holder_of(volt_holder_ *holder) {
  return (volt_holder_seen_){volt_load_relaxed(&holder->who), volt_load_relaxed(&holder->file),
                             volt_load_relaxed(&holder->line), volt_load_relaxed(&holder->since)};
}

static uintptr_t me(void) {
  return volt_party_now_()->who;
}

/* ---- threads ---- */

static void a_thread_owns_a_mutex(void **state) {
  (void)state;
  volt_mutex m = VOLT_MUTEX_INIT;
  assert_int_equal(holder_of(&m.holder).who, 0);
  assert_result(volt_mutex_try_lock(&m), VOLT_OK);
  volt_holder_seen_ seen = holder_of(&m.holder);
  assert_int_equal(seen.who, me());
  assert_int_equal(seen.who & 3, VOLT_WHO_THREAD_);
  assert_string_equal(seen.file, "here.c");
  assert_int_equal(seen.line, 1);
  assert_int_equal(look_at_list(), 1);
  expect_held(0, &m, VOLT_HELD_ALONE_, 1, 1);
  assert_result(volt_mutex_try_lock(&m), VOLT_EAGAIN);
  assert_int_equal(look_at_list(), 1);
  volt_mutex_unlock(&m);
  assert_int_equal(holder_of(&m.holder).who, 0);
  assert_int_equal(look_at_list(), 0);
  volt_mutex_lock(&m);
  assert_int_equal(holder_of(&m.holder).line, 2);
  volt_mutex_unlock_fair(&m);
  assert_int_equal(look_at_list(), 0);
}

static void each_way_to_lock_a_mutex(void **state) {
  (void)state;
  for (uint32_t bypass = 0; bypass < 2; bypass++) {
    volt_mutex m = VOLT_MUTEX_INIT_BYPASS(bypass);
    volt_waiter w = VOLT_WAITER_INIT;
    volt_future f;
    const volt_waker none = {NULL, NULL};
    for (unsigned way = 0; way < 5; way++) {
      int result = VOLT_EAGAIN;
      if (way == 0) result = volt_mutex_try_lock(&m);
      if (way == 1) result = volt_mutex_lock_waiter(&m, &w, none);
      if (way == 2) result = volt_mutex_lock_until(&m, VOLT_NO_DEADLINE);
      if (way == 3) result = volt_future_wait(volt_mutex_lock_future(&f, &m));
      if (way == 4) result = volt_future_poll(volt_mutex_lock_future(&f, &m), none);
      assert_result(result, VOLT_OK);
      assert_int_equal(holder_of(&m.holder).who, me());
      assert_int_equal(look_at_list(), 1);
      assert_ptr_equal(held[0].object, &m);
      if (way % 2 == 0) volt_mutex_unlock(&m);
      if (way % 2 == 1) volt_mutex_unlock_fair(&m);
      assert_int_equal(holder_of(&m.holder).who, 0);
      assert_int_equal(look_at_list(), 0);
    }
    assert_false(volt_holder_is_passed_on_(&m));
  }
}

static void a_rwlock_knows_its_writer(void **state) {
  (void)state;
  for (uint32_t bypass = 0; bypass < 2; bypass++) {
    volt_rwlock rw = VOLT_RWLOCK_INIT_BYPASS(bypass);
    assert_result(volt_rwlock_try_write(&rw), VOLT_OK);
    assert_int_equal(holder_of(&rw.holder).who, me());
    assert_int_equal(look_at_list(), 1);
    expect_held(0, &rw, VOLT_HELD_ALONE_, VOLT_RWLOCK_WRITER_, 4);
    volt_rwlock_downgrade(&rw);
    assert_int_equal(holder_of(&rw.holder).who, 0);
    assert_int_equal(look_at_list(), 1);
    expect_held(0, &rw, VOLT_HELD_READ_, 1, 4);
    assert_result(volt_rwlock_try_read(&rw), VOLT_OK);
    assert_int_equal(look_at_list(), 2);
    expect_held(0, &rw, VOLT_HELD_READ_, 1, 3);
    volt_rwlock_read_unlock(&rw);
    volt_rwlock_read_unlock(&rw);
    assert_int_equal(look_at_list(), 0);
    assert_result(volt_rwlock_write_until(&rw, VOLT_NO_DEADLINE), VOLT_OK);
    assert_int_equal(holder_of(&rw.holder).who, me());
    volt_rwlock_write_unlock_fair(&rw);
    assert_int_equal(look_at_list(), 0);
    assert_false(volt_holder_is_passed_on_(&rw));
  }
}

static void permits_are_counted(void **state) {
  (void)state;
  volt_sem sem = VOLT_SEM_INIT(10);
  assert_result(volt_sem_try_acquire(&sem, 2), VOLT_OK);
  assert_result(volt_sem_try_acquire(&sem, 3), VOLT_OK);
  assert_int_equal(look_at_list(), 1);
  expect_held(0, &sem, VOLT_HELD_PERMITS_, 5, 5);
  assert_int_equal(volt_load_relaxed(&sem.kept), 0);
  volt_sem_release(&sem, 1);
  assert_int_equal(volt_load_relaxed(&sem.kept), 1); /* they give back what they took */
  assert_int_equal(look_at_list(), 1);
  expect_held(0, &sem, VOLT_HELD_PERMITS_, 4, 5);
  assert_int_equal(volt_sem_drain(&sem), 6);
  assert_int_equal(look_at_list(), 1);
  assert_int_equal(held[0].n, 10);
  volt_sem_forget(&sem, 2);
  assert_int_equal(look_at_list(), 1);
  assert_int_equal(held[0].n, 8);
  volt_sem_release(&sem, 8);
  assert_int_equal(look_at_list(), 0);
  uint32_t taken;
  assert_result(volt_sem_acquire_all(&sem, &taken), VOLT_OK);
  assert_int_equal(look_at_list(), 1);
  assert_int_equal(held[0].n, taken);
  volt_sem_release(&sem, taken);
  assert_int_equal(look_at_list(), 0);
  assert_result(volt_sem_try_acquire(&sem, 0), VOLT_OK);
  assert_int_equal(look_at_list(), 0);
  assert_false(volt_holder_is_passed_on_(&sem));
}

static void out_of_order(void **state) {
  (void)state;
  volt_mutex m[3] = {VOLT_MUTEX_INIT, VOLT_MUTEX_INIT, VOLT_MUTEX_INIT};
  for (unsigned i = 0; i < 3; i++) assert_result(volt_mutex_try_lock(&m[i]), VOLT_OK);
  volt_mutex_unlock(&m[0]);
  assert_int_equal(look_at_list(), 2);
  assert_ptr_equal(held[0].object, &m[2]);
  assert_ptr_equal(held[1].object, &m[1]);
  volt_mutex_unlock(&m[1]);
  volt_mutex_unlock(&m[2]);
  assert_int_equal(look_at_list(), 0);
  for (unsigned i = 0; i < 3; i++) assert_false(volt_holder_is_passed_on_(&m[i]));
}

static void what_does_not_fit_has_no_owner(void **state) {
  (void)state;
  enum { MANY = VOLT_HELD_MAX_ + 2 };
  volt_mutex m[MANY];
  for (unsigned i = 0; i < MANY; i++) {
    volt_mutex_init(&m[i]);
    assert_result(volt_mutex_try_lock(&m[i]), VOLT_OK);
    assert_int_equal(holder_of(&m[i].holder).who, i < VOLT_HELD_MAX_ ? me() : 0);
  }
  assert_int_equal(look_at_list(), VOLT_HELD_MAX_);
  for (unsigned i = 0; i < MANY; i++) volt_mutex_unlock(&m[i]);
  assert_int_equal(look_at_list(), 0);
  for (unsigned i = 0; i < MANY; i++) assert_false(volt_holder_is_passed_on_(&m[i]));
}

/* ---- others unlock ---- */

typedef struct two_locks {
  volt_mutex m;
  volt_rwlock rw;
  volt_sem sem;
} two_locks;

static void unlock_all(void *arg, uint32_t index) {
  (void)index;
  two_locks *l = arg;
  volt_mutex_unlock(&l->m);
  volt_rwlock_read_unlock(&l->rw);
  volt_sem_release(&l->sem, 1);
}

static void what_another_thread_unlocks_is_passed_on(void **state) {
  (void)state;
  two_locks l = {.m = VOLT_MUTEX_INIT, .rw = VOLT_RWLOCK_INIT, .sem = VOLT_SEM_INIT(1)};
  assert_result(volt_mutex_try_lock(&l.m), VOLT_OK);
  assert_result(volt_rwlock_try_read(&l.rw), VOLT_OK);
  assert_result(volt_sem_try_acquire(&l.sem, 1), VOLT_OK);
  assert_int_equal(look_at_list(), 3);
  thread_team team;
  thread_team_start(&team, 1, unlock_all, &l);
  thread_team_join(&team);
  assert_true(volt_holder_is_passed_on_(&l.m));
  assert_true(volt_holder_is_passed_on_(&l.rw));
  assert_true(volt_holder_is_passed_on_(&l.sem));
  assert_int_equal(holder_of(&l.m.holder).who, 0);
  /* the list is put in order when there is no more room */
  volt_mutex more[VOLT_HELD_MAX_];
  for (unsigned i = 0; i < VOLT_HELD_MAX_; i++) {
    volt_mutex_init(&more[i]);
    assert_result(volt_mutex_try_lock(&more[i]), VOLT_OK);
    assert_int_equal(holder_of(&more[i].holder).who, me());
  }
  for (unsigned i = 0; i < VOLT_HELD_MAX_; i++) volt_mutex_unlock(&more[i]);
  assert_int_equal(look_at_list(), 0);
}

static void places_in_a_channel_are_passed_on(void **state) {
  (void)state;
  volt_permit_chan c;
  _Alignas(max_align_t) char memory[1024];
  int got;
  assert_result(volt_permit_chan_init(&c, 4, sizeof got, memory, sizeof memory), VOLT_OK);
  assert_result(volt_permit_chan_try_send(&c, &(int){1}), VOLT_OK);
  assert_int_equal(look_at_list(), 0);
  assert_int_equal(volt_load_relaxed(&c.places.kept), 0);
  assert_result(volt_permit_chan_try_recv(&c, &got), VOLT_OK);
  assert_true(volt_holder_is_passed_on_(&c.places));
  volt_permit_chan_destroy(&c, NULL, NULL);
}

/* ---- tasks ---- */

static by_hand h;
static volt_mutex first, second;
static volt_cond cond;
static volt_sem gate;

typedef struct locker {
  volt_task task;
  volt_future f;
  volt_future g;
  volt_future *either[2];
  volt_select select;
  unsigned held;
  volt_mutex *won;
  bool is_it;
  uintptr_t owner_inside;
} locker;

static int set_up_tasks(void **state) {
  (void)state;
  by_hand_begin(&h);
  volt_mutex_init(&first);
  volt_mutex_init(&second);
  volt_cond_init(&cond);
  volt_sem_init(&gate, 0);
  return 0;
}

static int tear_down_tasks(void **state) {
  (void)state;
  by_hand_end(&h, 0);
  return 0;
}

static int line_of_lock;

static int locker_poll(volt_task *t, volt_ctx *ctx) {
  locker *self = volt_container_of(t, locker, task);
  VOLT_TASK_BEGIN(self);
  line_of_lock = __LINE__ + 1;
  VOLT_AWAIT(self, volt_mutex_lock_future(&self->f, &first));
  self->owner_inside = holder_of(&first.holder).who;
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->f, &gate, 1));
  volt_mutex_unlock(&first);
  VOLT_TASK_END(self);
}

static locker *spawn(volt_task_fn *fn) {
  locker *l = VOLT_TASK_NEW(h.rt, locker, fn);
  assert_result(volt_spawn(h.rt, &l->task), VOLT_OK);
  by_hand_run(&h);
  return l;
}

static void end(locker *l) {
  assert_result(volt_task_result(&l->task), VOLT_OK);
  volt_task_detach(&l->task);
}

static void a_task_owns_what_it_awaited(void **state) {
  (void)state;
  locker *l = spawn(locker_poll);
  uintptr_t who = (uintptr_t)&l->task | VOLT_WHO_TASK_;
  assert_int_equal(l->owner_inside, who);
  volt_holder_seen_ seen = holder_of(&first.holder);
  assert_int_equal(seen.who, who);
  assert_int_equal(seen.line, line_of_lock);
  assert_non_null(strstr(seen.file, "holders_test.c"));
  assert_int_not_equal(seen.since, 0);
  assert_int_equal(look_at_list(), 0); /* it is not this thread's */
  assert_int_equal(volt_held_see_(l->task.held, held, 16), 1);
  assert_ptr_equal(held[0].object, &first);
  assert_int_equal(held[0].line, line_of_lock);
  volt_sem_release(&gate, 1);
  by_hand_run(&h);
  assert_int_equal(holder_of(&first.holder).who, 0);
  end(l);
  assert_false(volt_holder_is_passed_on_(&first));
}

static void a_lock_is_handed_over(void **state) {
  (void)state;
  assert_result(volt_mutex_try_lock(&first), VOLT_OK);
  locker *l = spawn(locker_poll);
  assert_int_equal(holder_of(&first.holder).who, me());
  volt_mutex_unlock(&first); /* granted, and not polled yet */
  assert_int_equal(holder_of(&first.holder).who, (uintptr_t)&l->task | VOLT_WHO_GRANTED_);
  by_hand_run(&h);
  assert_int_equal(holder_of(&first.holder).who, (uintptr_t)&l->task | VOLT_WHO_TASK_);
  assert_int_equal(holder_of(&first.holder).line, line_of_lock);
  volt_sem_release(&gate, 1);
  by_hand_run(&h);
  end(l);
  assert_false(volt_holder_is_passed_on_(&first));
}

static void a_grant_that_nobody_polls_is_given_back(void **state) {
  (void)state;
  volt_future f;
  const volt_waker none = {NULL, NULL};
  for (uint32_t bypass = 0; bypass < 2; bypass++) {
    volt_mutex_init_bypass(&first, bypass);
    assert_result(volt_mutex_try_lock(&first), VOLT_OK);
    assert_result(volt_future_poll(volt_mutex_lock_future(&f, &first), none), VOLT_PENDING);
    volt_mutex_unlock_fair(&first);
    assert_true(volt_mutex_is_locked(&first));
    volt_future_cancel(&f);
    assert_false(volt_mutex_is_locked(&first));
    assert_int_equal(holder_of(&first.holder).who, 0);
    assert_int_equal(look_at_list(), 0);
    assert_false(volt_holder_is_passed_on_(&first));
  }
}

static int keeper_poll(volt_task *t, volt_ctx *ctx) {
  locker *self = volt_container_of(t, locker, task);
  VOLT_TASK_BEGIN(self);
  self->either[0] = volt_mutex_lock_future(&self->f, &first);
  self->either[1] = volt_sem_acquire_future(&self->g, &gate, 1);
  VOLT_AWAIT(self, volt_select_future(&self->select, self->either, 2, VOLT_SELECT_KEEP));
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->g, &gate, 1));
  volt_future_cancel(&self->f);
  VOLT_TASK_END(self);
}

/* The select has left it without a waker; it is the task's all the same. */
static void a_branch_that_was_left_is_granted_to_its_task(void **state) {
  (void)state;
  assert_result(volt_mutex_try_lock(&first), VOLT_OK);
  locker *l = spawn(keeper_poll);
  volt_sem_release(&gate, 1);
  by_hand_run(&h);
  volt_mutex_unlock(&first);
  assert_int_equal(holder_of(&first.holder).who, (uintptr_t)&l->task | VOLT_WHO_GRANTED_);
  volt_sem_release(&gate, 1);
  by_hand_run(&h);
  assert_int_equal(holder_of(&first.holder).who, 0);
  end(l);
}

static int select_poll(volt_task *t, volt_ctx *ctx) {
  locker *self = volt_container_of(t, locker, task);
  VOLT_TASK_BEGIN(self);
  self->either[0] = volt_mutex_lock_future(&self->f, &first);
  self->either[1] = volt_mutex_lock_future(&self->g, &second);
  VOLT_AWAIT(self, volt_select_future(&self->select, self->either, 2, 0));
  self->held = look_at_list();
  self->won = volt_select_winner(&self->select) == 0 ? &first : &second;
  self->is_it = held[0].object == self->won;
  self->owner_inside = holder_of(self->won == &first ? &second.holder : &first.holder).who;
  volt_mutex_unlock(self->won);
  VOLT_TASK_END(self);
}

static void the_loser_of_a_select_is_not_held(void **state) {
  (void)state;
  assert_result(volt_mutex_try_lock(&first), VOLT_OK);
  assert_result(volt_mutex_try_lock(&second), VOLT_OK);
  locker *l = spawn(select_poll);
  volt_mutex_unlock(&first);
  volt_mutex_unlock(&second); /* both are granted before it polls */
  by_hand_run(&h);
  assert_int_equal(l->held, 1);
  assert_true(l->is_it);
  assert_int_equal(l->owner_inside, 0);
  end(l);
  assert_false(volt_mutex_is_locked(&first));
  assert_false(volt_mutex_is_locked(&second));
  assert_false(volt_holder_is_passed_on_(&first));
  assert_false(volt_holder_is_passed_on_(&second));
}

static int forgetful_poll(volt_task *t, volt_ctx *ctx) {
  locker *self = volt_container_of(t, locker, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, volt_mutex_lock_future(&self->f, &first));
  VOLT_TASK_END(self);
}

static void a_task_that_ends_with_a_lock_passes_it_on(void **state) {
  (void)state;
  volt_mutex local = VOLT_MUTEX_INIT; /* the first is used by other tests */
  memcpy((void *)&first, (const void *)&local, sizeof first);
  locker *l = spawn(forgetful_poll);
  end(l);
  assert_true(volt_holder_is_passed_on_(&first));
  volt_mutex_unlock(&first);
}

static int waits_poll(volt_task *t, volt_ctx *ctx) {
  locker *self = volt_container_of(t, locker, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, volt_mutex_lock_future(&self->f, &second));
  VOLT_AWAIT(self, volt_cond_wait_future(&self->f, &cond, &second));
  self->owner_inside = holder_of(&second.holder).who;
  self->held = look_at_list();
  volt_mutex_unlock(&second);
  VOLT_TASK_END(self);
}

static void a_signal_leads_to_the_mutex(void **state) {
  (void)state;
  locker *l = spawn(waits_poll);
  assert_int_equal(holder_of(&second.holder).who, 0);
  assert_int_equal(volt_held_see_(l->task.held, held, 16), 0);
  volt_cond_signal(&cond);
  assert_int_equal(holder_of(&second.holder).who, (uintptr_t)&l->task | VOLT_WHO_GRANTED_);
  by_hand_run(&h);
  assert_int_equal(l->owner_inside, (uintptr_t)&l->task | VOLT_WHO_TASK_);
  assert_int_equal(l->held, 1);
  end(l);
  assert_false(volt_holder_is_passed_on_(&second));
}

static uintptr_t fiber_saw[3];
static unsigned fiber_held;

static int fiber_main(void *arg) {
  (void)arg;
  volt_mutex_lock(&first);
  fiber_saw[0] = holder_of(&first.holder).who;
  int result = volt_sem_acquire(&gate, 1);
  fiber_saw[1] = holder_of(&first.holder).who;
  fiber_held = look_at_list();
  volt_mutex_unlock(&first);
  fiber_saw[2] = look_at_list();
  volt_sem_release(&gate, 1);
  return result;
}

static void a_fiber_is_a_task(void **state) {
  (void)state;
  if (volt_fiber_supported()) skip();
  assert_result(volt_mutex_try_lock(&first), VOLT_OK);
  volt_task *t = volt_fiber_new(h.rt, fiber_main, NULL, NULL);
  assert_result(volt_spawn(h.rt, t), VOLT_OK);
  by_hand_run(&h);
  volt_mutex_unlock(&first);
  by_hand_run(&h);
  assert_int_equal(fiber_saw[0], (uintptr_t)t | VOLT_WHO_TASK_);
  assert_int_equal(holder_of(&first.holder).line, 2); /* where it locks, and not where it goes on */
  assert_int_equal(volt_held_see_(t->held, held, 16), 1);
  volt_sem_release(&gate, 1);
  by_hand_run(&h);
  assert_int_equal(fiber_saw[1], (uintptr_t)t | VOLT_WHO_TASK_);
  assert_int_equal(fiber_held, 2);
  assert_int_equal(fiber_saw[2], 1);
  assert_result(volt_task_result(t), VOLT_OK);
  volt_task_detach(t);
}

typedef struct nested {
  volt_async async, inner;
} nested;

/* It waits in its poll, and holds something then: the fiber gets a list of its own. */
static int inner_poll(volt_async *a, volt_ctx *ctx) {
  (void)a;
  (void)ctx;
  volt_mutex_lock(&first);
  return volt_fiber_yield();
}

static int outer_poll(volt_async *a, volt_ctx *ctx) {
  nested *self = volt_container_of(a, nested, async);
  VOLT_ASYNC_BEGIN(self);
  VOLT_AWAIT(self, volt_async_future(&self->inner, inner_poll));
  VOLT_ASYNC_END(self);
}

static int fiber_nests(void *arg) {
  static volt_mutex before = VOLT_MUTEX_INIT;
  nested n;
  volt_future f;
  (void)arg;
  REQUIRE(volt_mutex_try_lock(&before) == VOLT_OK); /* "here.c", 1: its place from now on */
  volt_mutex_unlock(&before);
  REQUIRE(volt_future_wait(volt_async_future(&n.async, outer_poll)) == VOLT_OK);
  REQUIRE(volt_future_wait(volt_mutex_lock_future(&f, &second)) == VOLT_OK);
  fiber_held = look_at_list();
  volt_mutex_unlock(&second);
  volt_mutex_unlock(&first);
  return VOLT_OK;
}

static void a_place_comes_back_where_the_fiber_goes_on(void **state) {
  (void)state;
  if (volt_fiber_supported()) skip();
  volt_task *t = volt_fiber_new(h.rt, fiber_nests, NULL, NULL);
  assert_result(volt_spawn(h.rt, t), VOLT_OK);
  by_hand_run(&h);
  assert_result(volt_task_result(t), VOLT_OK);
  volt_task_detach(t);
  assert_int_equal(fiber_held, 2);
  expect_held(0, &second, VOLT_HELD_ALONE_, 1, 1);
}

/* ---- how long ---- */

static void holds_are_counted(void **state) {
  (void)state;
  static volt_mutex m = VOLT_MUTEX_INIT;
  volt_histogram holds;
  assert_result(volt_holds_of(&m, &holds), VOLT_EINVAL);
  assert_result(volt_name(&m, "held"), VOLT_OK);
  assert_result(volt_holds_of(&m, &holds), VOLT_OK);
  assert_int_equal(holds.count, 0);
  for (unsigned i = 0; i < 64 * 10; i++) {
    assert_result(volt_mutex_try_lock(&m), VOLT_OK);
    volt_mutex_unlock(&m);
  }
  assert_result(volt_holds_of(&m, &holds), VOLT_OK);
  assert_int_equal(holds.count, 64 * 10); /* ten, which stand for 64 each */
  volt_unname(&m);
  assert_result(volt_name(&m, "again"), VOLT_OK);
  assert_result(volt_holds_of(&m, &holds), VOLT_OK);
  assert_int_equal(holds.count, 0);
  volt_unname(&m);
}

int main(void) {
#define TASKS(name) cmocka_unit_test_setup_teardown(name, set_up_tasks, tear_down_tasks)
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_thread_owns_a_mutex),
      cmocka_unit_test(each_way_to_lock_a_mutex),
      cmocka_unit_test(a_rwlock_knows_its_writer),
      cmocka_unit_test(permits_are_counted),
      cmocka_unit_test(out_of_order),
      cmocka_unit_test(what_does_not_fit_has_no_owner),
      TASKS(a_task_owns_what_it_awaited),
      TASKS(a_lock_is_handed_over),
      TASKS(a_grant_that_nobody_polls_is_given_back),
      TASKS(a_branch_that_was_left_is_granted_to_its_task),
      TASKS(the_loser_of_a_select_is_not_held),
      TASKS(a_signal_leads_to_the_mutex),
      TASKS(a_fiber_is_a_task),
      TASKS(a_place_comes_back_where_the_fiber_goes_on),
      cmocka_unit_test(holds_are_counted),
      cmocka_unit_test(what_another_thread_unlocks_is_passed_on),
      cmocka_unit_test(places_in_a_channel_are_passed_on),
      TASKS(a_task_that_ends_with_a_lock_passes_it_on), /* the last that uses it */
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
