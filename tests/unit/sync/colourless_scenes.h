/* colourless_scenes.h: for each exported call that can block: an object on which it has to wait, the
 * call, and what ends the wait. The same function is called on a thread and in a fiber.
 *
 * SCENE(function, begin, call, happens, waits, end): function may have a suffix after two
 * underscores; tests/compile/colourless.py wants a scene for each function that can block.
 *   begin    makes the object so that the call has to wait
 *   call     calls it, d being its deadline, and gives back what it got; its result goes into r
 *   happens  what ends the wait; it does not wait itself
 *   waits    whether the caller is waiting by now, where that can be seen, else true
 *   end      ends the object, which aborts if something is held, or waits, that should not */
#ifndef VOLT_TEST_COLOURLESS_SCENES_H
#define VOLT_TEST_COLOURLESS_SCENES_H

#include <volt/fiber.h>

#include "bcs_holder.h"
#include "by_hand.h"

typedef struct scene {
  const char *name;
  unsigned how;
  void (*begin)(void);
  int (*call)(uint64_t deadline_ns);
  void (*happens)(void);
  bool (*waits)(void);
  void (*end)(void);
} scene;

enum {
  TIMED = 1,    /* it has a deadline */
  CANCELED = 2, /* a cancel ends it; else it waits on, and the next wait is cancelled */
  LATER = 4,    /* it has to wait although `happens` came before it */
  ONCE = 8,     /* a cancel that meets what happens uses that up */
  FATAL = 16    /* a cancel ends what it waits for, too */
};

#define SCENE(name, begin_, call_, happens_, waits_, end_) \
  static void name##_begin(void) {                         \
    begin_;                                                \
  }                                                        \
  static int name##_call(uint64_t d) {                     \
    int r = VOLT_OK;                                       \
    (void)d;                                               \
    call_;                                                 \
    return r;                                              \
  }                                                        \
  static void name##_happens(void) {                       \
    happens_;                                              \
  }                                                        \
  static bool name##_waits(void) {                         \
    return waits_;                                         \
  }                                                        \
  static void name##_end(void) {                           \
    end_;                                                  \
  }

/* The form without a deadline of a call that has one: all else as there. */
#define PLAIN_SCENE(name, call_)                                                         \
  SCENE(name, name##_until_begin(), call_, name##_until_happens(), name##_until_waits(), \
        name##_until_end())

#define OK(call) assert_result(call, VOLT_OK)
#define MUST(call) REQUIRE((call) == VOLT_OK)

/* The runtime by hand on which fibers and tasks run, and what the scenes use, one at a time. */
static by_hand h;
static volt_waker nobody;
static volt_waiter own;
static volt_future future;
static fake_waker woken;
static volt_sem sem;
static volt_mutex mutex;
static volt_rwlock rwlock;
static uint64_t ring[16];
static uint64_t value;

/* ---- waiting for what others do ---- */

static volt_parker parker;
SCENE(volt_park_until, volt_store_relaxed(&parker.word, 0), r = volt_park_until(&parker, 1, d),
      volt_unpark(&parker), true, )

SCENE(volt_future_wait_until, volt_sem_init(&sem, 0), volt_future f;
      r = volt_future_wait_until(volt_sem_acquire_future(&f, &sem, 1), d),
      volt_sem_release(&sem, 1), volt_sem_waiters(&sem) == 1, volt_sem_destroy(&sem))

SCENE(volt_future_wait, volt_sem_init(&sem, 0), volt_future f;
      r = volt_future_wait(volt_sem_acquire_future(&f, &sem, 1)), volt_sem_release(&sem, 1),
      volt_sem_waiters(&sem) == 1, volt_sem_destroy(&sem))

static volt_latch latch;
SCENE(volt_latch_wait_until, volt_latch_init(&latch, 1), r = volt_latch_wait_until(&latch, d),
      if (volt_latch_count(&latch) > 0) volt_latch_done(&latch), volt_latch_waiters(&latch) == 1,
      volt_latch_destroy(&latch))
SCENE(volt_latch_wait, volt_latch_init(&latch, 1), volt_latch_wait(&latch), volt_latch_done(&latch),
      volt_latch_waiters(&latch) == 1, volt_latch_destroy(&latch))

static volt_notify notify;
SCENE(volt_notify_wait_until, volt_notify_init(&notify), r = volt_notify_wait_until(&notify, d),
      volt_notify_one(&notify), volt_notify_waiters(&notify) == 1, volt_notify_destroy(&notify))
PLAIN_SCENE(volt_notify_wait, r = volt_notify_wait(&notify))

static volt_token token;
SCENE(volt_token_wait_until, volt_token_init(&token), r = volt_token_wait_until(&token, d),
      volt_token_cancel(&token), volt_token_waiters(&token) == 1, volt_token_destroy(&token))
PLAIN_SCENE(volt_token_wait, r = volt_token_wait(&token))

static volt_barrier barrier;
SCENE(volt_barrier_wait_until, volt_barrier_init(&barrier, 2),
      r = volt_barrier_wait_until(&barrier, d), memset((void *)&own, 0, sizeof own);
      ignore_result(volt_barrier_wait_waiter(&barrier, &own, nobody)),
      volt_barrier_waiters(&barrier) == 1, (void)volt_barrier_cancel(&barrier, &own);
      volt_barrier_destroy(&barrier))
PLAIN_SCENE(volt_barrier_wait, r = volt_barrier_wait(&barrier))

static volt_once once;
static int once_runs(void *arg) {
  (void)arg;
  return VOLT_OK;
}
static void once_begins(void) {
  volt_once_init(&once);
  memset((void *)&own, 0, sizeof own);
  OK(volt_once_begin_waiter(&once, &own, nobody));
}
SCENE(volt_once_begin_until, once_begins(), r = volt_once_begin_until(&once, d);
      if (r == VOLT_OK) volt_once_done(&once), volt_once_failed(&once),
      volt_once_waiters(&once) == 1, volt_once_destroy(&once))
PLAIN_SCENE(volt_once_begin, r = volt_once_begin(&once); if (r == VOLT_OK) volt_once_done(&once))
SCENE(volt_once_call, once_begins(), r = volt_once_call(&once, once_runs, NULL),
      volt_once_failed(&once), volt_once_waiters(&once) == 1, volt_once_destroy(&once))

/* ---- locks ---- */

static void mutex_begins(uint32_t bypass) {
  volt_mutex_init_bypass(&mutex, bypass);
  OK(volt_mutex_try_lock(&mutex));
}
#define MUTEX_SCENE(name, bypass, call)                                         \
  SCENE(name, mutex_begins(bypass), call;                                       \
        if (r == VOLT_OK) volt_mutex_unlock(&mutex), volt_mutex_unlock(&mutex), \
        volt_mutex_waiters(&mutex) == 1, volt_mutex_destroy(&mutex))
MUTEX_SCENE(volt_mutex_lock_until, 0, r = volt_mutex_lock_until(&mutex, d))
MUTEX_SCENE(volt_mutex_lock_until__bypass, 4, r = volt_mutex_lock_until(&mutex, d))
MUTEX_SCENE(volt_mutex_lock, 0, volt_mutex_lock(&mutex))
MUTEX_SCENE(volt_mutex_lock__bypass, 4, volt_mutex_lock(&mutex))

static void rwlock_begins(uint32_t bypass) {
  volt_rwlock_init_bypass(&rwlock, bypass);
  OK(volt_rwlock_try_write(&rwlock));
}
#define RWLOCK_SCENE(name, bypass, call, unlock)                              \
  SCENE(name, rwlock_begins(bypass), call;                                    \
        if (r == VOLT_OK) unlock(&rwlock), volt_rwlock_write_unlock(&rwlock), \
        volt_rwlock_waiters(&rwlock) == 1, volt_rwlock_destroy(&rwlock))
RWLOCK_SCENE(volt_rwlock_read_until, 0, r = volt_rwlock_read_until(&rwlock, d),
             volt_rwlock_read_unlock)
RWLOCK_SCENE(volt_rwlock_read_until__bypass, 4, r = volt_rwlock_read_until(&rwlock, d),
             volt_rwlock_read_unlock)
RWLOCK_SCENE(volt_rwlock_read, 0, volt_rwlock_read(&rwlock), volt_rwlock_read_unlock)
RWLOCK_SCENE(volt_rwlock_write_until, 0, r = volt_rwlock_write_until(&rwlock, d),
             volt_rwlock_write_unlock)
RWLOCK_SCENE(volt_rwlock_write_until__bypass, 4, r = volt_rwlock_write_until(&rwlock, d),
             volt_rwlock_write_unlock)
RWLOCK_SCENE(volt_rwlock_write, 0, volt_rwlock_write(&rwlock), volt_rwlock_write_unlock)

/* The second shard is taken: a writer has the first when it has to wait. */
static volt_rwlock_shard shards[2];
static volt_sharded_rwlock sharded;
static void sharded_begins(void) {
  volt_sharded_rwlock_init(&sharded, shards, 2);
  OK(volt_rwlock_try_write(&shards[1].lock));
}
#define SHARDED_SCENE(name, call, unlock)                                    \
  SCENE(name, sharded_begins(), call;                                        \
        if (r == VOLT_OK) unlock, volt_rwlock_write_unlock(&shards[1].lock), \
        volt_sharded_rwlock_waiters(&sharded) == 1, volt_sharded_rwlock_destroy(&sharded))
SHARDED_SCENE(volt_sharded_rwlock_read_until, r = volt_sharded_rwlock_read_until(&sharded, 1, d),
              volt_sharded_rwlock_read_unlock(&sharded, 1))
SHARDED_SCENE(volt_sharded_rwlock_read, volt_sharded_rwlock_read(&sharded, 1),
              volt_sharded_rwlock_read_unlock(&sharded, 1))
SHARDED_SCENE(volt_sharded_rwlock_write_until, r = volt_sharded_rwlock_write_until(&sharded, d),
              volt_sharded_rwlock_write_unlock(&sharded))
SHARDED_SCENE(volt_sharded_rwlock_write, volt_sharded_rwlock_write(&sharded),
              volt_sharded_rwlock_write_unlock(&sharded))

/* It has the mutex at its end in any case. */
static volt_cond cond;
SCENE(volt_cond_wait_until, volt_cond_init(&cond);
      volt_mutex_init(&mutex), MUST(volt_mutex_try_lock(&mutex));
      r = volt_cond_wait_until(&cond, &mutex, d); REQUIRE(volt_mutex_is_locked(&mutex));
      volt_mutex_unlock(&mutex), volt_cond_signal(&cond), volt_cond_waiters(&cond) == 1,
      volt_cond_destroy(&cond);
      volt_mutex_destroy(&mutex))
PLAIN_SCENE(volt_cond_wait, MUST(volt_mutex_try_lock(&mutex)); r = volt_cond_wait(&cond, &mutex);
            REQUIRE(volt_mutex_is_locked(&mutex)); volt_mutex_unlock(&mutex))

static volt_bcs_lock bcs;
static bcs_holder holder;
static uintptr_t bcs_last;
static void bcs_runs(void *arg) {
  *(uint64_t *)arg += 1;
}
static void bcs_begins(bcs_init_fn *init) {
  init(&bcs);
  bcs_holder_start(&holder, &bcs);
  bcs_last = bcs_lock_last(&bcs);
  value = 0;
}
#define BCS_SCENE(name, init)                                                             \
  SCENE(name, bcs_begins(init), volt_bcs_node node;                                       \
        volt_bcs_lock_run(&bcs, &node, bcs_runs, &value);                                 \
        REQUIRE(value == 1), bcs_holder_let_go(&holder), bcs_lock_last(&bcs) != bcs_last, \
        thread_team_join(&holder.team);                                                   \
        volt_bcs_lock_destroy(&bcs))
BCS_SCENE(volt_bcs_lock_run, volt_bcs_lock_init)
BCS_SCENE(volt_bcs_lock_run__lockfree, volt_bcs_lock_init_lockfree)

/* ---- permits ---- */

SCENE(volt_sem_acquire_until, volt_sem_init(&sem, 2), r = volt_sem_acquire_until(&sem, 3, d),
      volt_sem_release(&sem, 3), volt_sem_waiters(&sem) == 1, volt_sem_destroy(&sem))
PLAIN_SCENE(volt_sem_acquire, r = volt_sem_acquire(&sem, 3))
static volt_budget budget;
static const volt_amounts one_and_two = {{1, 2}}, two_of_second = {{0, 2}};
static void budget_begins(void) {
  static const uint64_t limits[] = {1, 2};
  volt_budget_init(&budget, 2, limits);
  OK(volt_budget_try_acquire(&budget, &two_of_second));
}
static void budget_happens(void) {
  bool is_held = volt_budget_held(&budget, 0) == 0 && volt_budget_held(&budget, 1) == 2;
  if (is_held) volt_budget_release(&budget, &two_of_second);
}
static void budget_ends(void) {
  assert_int_equal(volt_budget_held(&budget, 0), 0);
  volt_budget_destroy(&budget);
}
SCENE(volt_budget_acquire_until, budget_begins(),
      r = volt_budget_acquire_until(&budget, &one_and_two, d);
      if (r == VOLT_OK) volt_budget_release(&budget, &one_and_two), budget_happens(),
      volt_budget_waiters(&budget) == 1, budget_ends())
PLAIN_SCENE(volt_budget_acquire, r = volt_budget_acquire(&budget, &one_and_two);
            if (r == VOLT_OK) volt_budget_release(&budget, &one_and_two))

static volt_lockable both[2], first[1];
static bool is_first_held;
static void lock_all_begins(void) {
  const volt_lockable all[] = {{.mutex = &mutex}, {.sem = &sem, .permits = 1}};
  volt_mutex_init(&mutex);
  volt_sem_init_bounded(&sem, 1);
  memcpy((void *)both, all, sizeof both);
  first[0] = all[0];
  MUST(volt_try_lock_all(first, 1));
  is_first_held = true;
}
static void lock_all_happens(void) {
  if (is_first_held) volt_unlock_all(first, 1);
  is_first_held = false;
}
static void lock_all_ends(void) {
  volt_mutex_destroy(&mutex);
  volt_sem_destroy(&sem);
}
SCENE(volt_lock_all_until, lock_all_begins(), r = volt_lock_all_until(both, 2, d);
      if (r == VOLT_OK) volt_unlock_all(both, 2), lock_all_happens(),
      volt_mutex_waiters(&mutex) == 1, lock_all_ends())
PLAIN_SCENE(volt_lock_all, r = volt_lock_all(both, 2); if (r == VOLT_OK) volt_unlock_all(both, 2))

SCENE(volt_sem_acquire_all_until, volt_sem_init_bounded(&sem, 1);
      OK(volt_sem_try_acquire(&sem, 1)), uint32_t taken;
      r = volt_sem_acquire_all_until(&sem, &taken, d);
      if (r == VOLT_OK) volt_sem_release(&sem, taken), volt_sem_release(&sem, 1),
      volt_sem_waiters(&sem) == 1, volt_sem_destroy(&sem))
PLAIN_SCENE(volt_sem_acquire_all, uint32_t taken; r = volt_sem_acquire_all(&sem, &taken);
            if (r == VOLT_OK) volt_sem_release(&sem, taken))

/* ---- channels ---- */

static volt_chan chan;
static void chan_begins(uint32_t elems) {
  uint64_t one = 1;
  OK(volt_chan_init(&chan, 1, sizeof value, ring, sizeof ring));
  for (; elems > 0; elems--) OK(volt_chan_try_send(&chan, &one));
}
static void chan_drops(void *elem, void *ctx) {
  (void)elem;
  (void)ctx;
}
static void chan_gives(void) {
  uint64_t five = 5;
  MUST(volt_chan_try_send(&chan, &five));
}
static void chan_takes(void) {
  uint64_t got;
  MUST(volt_chan_try_recv(&chan, &got));
}
#define CHAN_SCENE(name, elems, call, happens)                                    \
  SCENE(name, chan_begins(elems), call, happens(), volt_chan_waiters(&chan) == 1, \
        volt_chan_destroy(&chan, chan_drops, NULL))
CHAN_SCENE(volt_chan_recv_until, 0, uint64_t got; r = volt_chan_recv_until(&chan, &got, d);
           REQUIRE(r != VOLT_OK || got == 5), chan_gives)
PLAIN_SCENE(volt_chan_recv, uint64_t got; r = volt_chan_recv(&chan, &got);
            REQUIRE(r != VOLT_OK || got == 5))
CHAN_SCENE(volt_chan_recv_many_until, 0, uint64_t got[2]; uint32_t moved;
           r = volt_chan_recv_many_until(&chan, got, 2, &moved, d);
           REQUIRE(moved == (r == VOLT_OK ? 1 : 0)), chan_gives)
PLAIN_SCENE(volt_chan_recv_many, uint64_t got[2]; uint32_t moved;
            r = volt_chan_recv_many(&chan, got, 2, &moved);
            REQUIRE(moved == (r == VOLT_OK ? 1 : 0)))
CHAN_SCENE(volt_chan_send_until, 1, uint64_t two = 2;
           r = volt_chan_send_until(&chan, &two, d), chan_takes)
PLAIN_SCENE(volt_chan_send, uint64_t two = 2; r = volt_chan_send(&chan, &two))
CHAN_SCENE(volt_chan_send_many_until, 1, uint64_t two[2]; two[0] = 2; two[1] = 2; uint32_t moved;
           r = volt_chan_send_many_until(&chan, two, 2, &moved, d);
           REQUIRE(moved == (r == VOLT_OK ? 1 : 0)), chan_takes)
PLAIN_SCENE(volt_chan_send_many, uint64_t two[2]; two[0] = 2; two[1] = 2; uint32_t moved;
            r = volt_chan_send_many(&chan, two, 2, &moved);
            REQUIRE(moved == (r == VOLT_OK ? 1 : 0)))

static volt_permit_chan places;
static void places_begins(bool is_full) {
  OK(volt_permit_chan_init(&places, 1, sizeof value, ring, sizeof ring));
  if (is_full) OK(volt_permit_chan_try_reserve(&places));
}
static void places_gives(void) {
  uint64_t five = 5;
  MUST(volt_permit_chan_try_send(&places, &five));
}
static void places_takes(void) {
  volt_permit_chan_unreserve(&places);
}
#define PLACES_SCENE(name, is_full, call, happens)           \
  SCENE(name, places_begins(is_full), call, happens(), true, \
        volt_permit_chan_destroy(&places, chan_drops, NULL))
PLACES_SCENE(volt_permit_chan_recv_until, false, uint64_t got;
             r = volt_permit_chan_recv_until(&places, &got, d);
             REQUIRE(r != VOLT_OK || got == 5), places_gives)
PLAIN_SCENE(volt_permit_chan_recv, uint64_t got; r = volt_permit_chan_recv(&places, &got);
            REQUIRE(r != VOLT_OK || got == 5))
PLACES_SCENE(volt_permit_chan_reserve_until, true, r = volt_permit_chan_reserve_until(&places, d);
             if (r == VOLT_OK) volt_permit_chan_unreserve(&places), places_takes)
PLAIN_SCENE(volt_permit_chan_reserve, r = volt_permit_chan_reserve(&places);
            if (r == VOLT_OK) volt_permit_chan_unreserve(&places))
PLACES_SCENE(volt_permit_chan_send_until, true, uint64_t two = 2;
             r = volt_permit_chan_send_until(&places, &two, d), places_takes)
PLAIN_SCENE(volt_permit_chan_send, uint64_t two = 2; r = volt_permit_chan_send(&places, &two))

static volt_oneshot oneshot;
SCENE(volt_oneshot_recv_until, volt_oneshot_init(&oneshot, sizeof value, ring), uint64_t got;
      r = volt_oneshot_recv_until(&oneshot, &got, d); REQUIRE(r != VOLT_OK || got == 5), value = 5;
      MUST(volt_oneshot_send(&oneshot, &value)), volt_oneshot_waiters(&oneshot) == 1,
      volt_oneshot_destroy(&oneshot))
PLAIN_SCENE(volt_oneshot_recv, uint64_t got; r = volt_oneshot_recv(&oneshot, &got);
            REQUIRE(r != VOLT_OK || got == 5))

static volt_broadcast broadcast;
static volt_broadcast_receiver receiver;
SCENE(volt_broadcast_recv_until,
      OK(volt_broadcast_init(&broadcast, 2, sizeof value, ring, sizeof ring));
      volt_broadcast_subscribe(&broadcast, &receiver), uint64_t got;
      r = volt_broadcast_recv_until(&receiver, &got, d);
      REQUIRE(r != VOLT_OK || got == 5), value = 5;
      (void)volt_broadcast_send(&broadcast, &value), volt_broadcast_waiters(&broadcast) == 1,
      volt_broadcast_destroy(&broadcast))
PLAIN_SCENE(volt_broadcast_recv, uint64_t got; r = volt_broadcast_recv(&receiver, &got);
            REQUIRE(r != VOLT_OK || got == 5))

static volt_watch watch;
static uint64_t version;
SCENE(volt_watch_changed_until, value = 0; volt_watch_init(&watch, sizeof value, ring, &value);
      version = volt_watch_version(&watch), r = volt_watch_changed_until(&watch, &version, d),
      value += 1;
      (void)volt_watch_send(&watch, &value), volt_watch_waiters(&watch) == 1,
      volt_watch_destroy(&watch))
PLAIN_SCENE(volt_watch_changed, r = volt_watch_changed(&watch, &version))

static volt_mailbox mailbox;
static volt_mailbox_node letter;
SCENE(volt_mailbox_recv_until, volt_mailbox_init(&mailbox), volt_mailbox_node *got;
      r = volt_mailbox_recv_until(&mailbox, &got, d);
      REQUIRE(r != VOLT_OK || got == &letter), MUST(volt_mailbox_send(&mailbox, &letter)),
      volt_mailbox_waiters(&mailbox) == 1, volt_mailbox_destroy(&mailbox, NULL, NULL))
PLAIN_SCENE(volt_mailbox_recv, volt_mailbox_node *got; r = volt_mailbox_recv(&mailbox, &got);
            REQUIRE(r != VOLT_OK || got == &letter))

static volt_actor actor;
static volt_bcs_node order;
static void actor_handles(volt_bcs_node *node, void *arg) {
  (void)node;
  *(uint64_t *)arg += 1;
}
SCENE(volt_actor_run, volt_actor_init(&actor);
      value = 0, volt_actor_run(&actor, actor_handles, &value);
      REQUIRE(value == 1), volt_actor_submit(&actor, &order); volt_actor_stop(&actor), true, )

/* ---- event loops ---- */

static volt_loop loop;
static void loop_begins(void) {
  volt_sem_init(&sem, 0);
  fake_waker_init(&woken, 0, NULL);
  volt_loop_init(&loop, fake_waker_of(&woken));
  assert_result(volt_loop_poll(&loop, volt_sem_acquire_future(&future, &sem, 1)), VOLT_PENDING);
}
SCENE(volt_loop_close_until, loop_begins(), r = volt_loop_close_until(&loop, d),
      volt_sem_release(&sem, 1), true, volt_future_cancel(&future);
      volt_sem_destroy(&sem))
PLAIN_SCENE(volt_loop_close, r = volt_loop_close(&loop))

/* ---- tasks ---- */

typedef struct waiting_task {
  volt_task task;
  volt_future permit;
} waiting_task;
static int waits_for_sem(volt_task *t, volt_ctx *ctx) {
  waiting_task *self = volt_container_of(t, waiting_task, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->permit, &sem, 1));
  VOLT_TASK_END(self);
}
static volt_task *waiter;
static volt_group group;
static volt_task *new_waiter(volt_rt *rt) {
  waiting_task *t = VOLT_TASK_NEW(rt, waiting_task, waits_for_sem);
  REQUIRE(t);
  return &t->task;
}
static void task_begins(void) {
  volt_sem_init(&sem, 0);
  waiter = new_waiter(h.rt);
  OK(volt_spawn(h.rt, waiter));
}
SCENE(volt_task_join_until, task_begins(), r = volt_task_join_until(waiter, d),
      volt_sem_release(&sem, 1), true, volt_task_detach(waiter);
      volt_sem_destroy(&sem))
PLAIN_SCENE(volt_task_join, r = volt_task_join(waiter))

static void group_begins(unsigned how) {
  volt_sem_init(&sem, 0);
  volt_group_init_how(&group, how);
  OK(volt_group_spawn(&group, h.rt, new_waiter(h.rt)));
}
static int takes_next(uint64_t d) {
  volt_task *t;
  int result = volt_group_next_until(&group, &t, d);
  REQUIRE((t != NULL) == (result == VOLT_OK));
  if (t) volt_task_detach(t);
  return result;
}
SCENE(volt_group_wait_until, group_begins(0), r = volt_group_wait_until(&group, d),
      volt_sem_release(&sem, 1), true, volt_group_destroy(&group);
      volt_sem_destroy(&sem))
PLAIN_SCENE(volt_group_wait, r = volt_group_wait(&group))
SCENE(volt_group_next_until, group_begins(VOLT_GROUP_KEEP_RESULTS), r = takes_next(d),
      volt_sem_release(&sem, 1), true, volt_group_destroy(&group);
      volt_sem_destroy(&sem))
PLAIN_SCENE(volt_group_next, volt_task *t; r = volt_group_next(&group, &t);
            REQUIRE((t != NULL) == (r == VOLT_OK)); if (t) volt_task_detach(t))

/* Another runtime, with a worker, and a task that takes its time to end. */
static volt_rt *other;
typedef struct slow_task {
  volt_task task;
  volt_future permit;
} slow_task;
static int ends_slowly(volt_task *t, volt_ctx *ctx) {
  slow_task *self = volt_container_of(t, slow_task, task);
  VOLT_TASK_BEGIN(self);
  VOLT_YIELD(self);
  VOLT_FINALLY(self);
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->permit, &sem, 1));
  VOLT_TASK_END(self);
}
static void other_begins(void) {
  static const volt_rt_config config = {.workers = 1};
  volt_sem_init(&sem, 0);
  OK(volt_rt_create(&other, &config));
  slow_task *t = VOLT_TASK_NEW(other, slow_task, ends_slowly);
  REQUIRE(t);
  OK(volt_spawn(other, &t->task));
  volt_task_detach(&t->task);
  WAIT_UNTIL(volt_sem_waiters(&sem) == 1);
}
SCENE(volt_rt_shutdown, other_begins(), r = volt_rt_shutdown(other, d), volt_sem_release(&sem, 1),
      true, volt_rt_destroy(other);
      volt_sem_destroy(&sem))
SCENE(volt_rt_destroy, other_begins(), volt_rt_destroy(other), volt_sem_release(&sem, 1), true,
      volt_sem_destroy(&sem))

/* ---- calls on the blocking pool ---- */

static volt_parker gate;
static VOLT_ATOMIC(uint32_t) pool_calls;
static volt_blocking call_of_pool;
static int waits_at_the_gate(void *arg) {
  (void)arg;
  volt_fetch_add_relaxed(&pool_calls, 1);
  volt_park_until(&gate, 1, VOLT_NO_DEADLINE);
  return VOLT_OK;
}
static void gate_begins(void) {
  volt_store_relaxed(&gate.word, 0);
  volt_store_relaxed(&pool_calls, 0);
}
static bool call_runs(void) {
  return volt_load_relaxed(&pool_calls) == 1;
}
SCENE(volt_fiber_offload, gate_begins(), r = volt_fiber_offload(waits_at_the_gate, NULL),
      volt_unpark(&gate), call_runs(), )

/* What must come to its end is awaited by its cancel. */
static void pool_begins(void) {
  gate_begins();
  fake_waker_init(&woken, 0, NULL);
  volt_future_made(volt_blocking_future(&call_of_pool, h.rt, waits_at_the_gate, NULL));
  assert_result(volt_future_poll(&call_of_pool.future, fake_waker_of(&woken)), VOLT_PENDING);
  WAIT_UNTIL(call_runs());
}
SCENE(volt_future_cancel, pool_begins(), volt_future_cancel(&call_of_pool.future),
      volt_unpark(&gate), call_runs(), WAIT_UNTIL(fake_waker_calls(&woken) == 1))

/* ---- all ---- */

#define SCENES(X)                                      \
  X(volt_park_until, TIMED | CANCELED)                 \
  X(volt_future_wait_until, TIMED | CANCELED)          \
  X(volt_future_wait, CANCELED)                        \
  X(volt_latch_wait_until, TIMED | CANCELED)           \
  X(volt_latch_wait, 0)                                \
  X(volt_notify_wait_until, TIMED | CANCELED)          \
  X(volt_notify_wait, CANCELED)                        \
  X(volt_token_wait_until, TIMED | CANCELED)           \
  X(volt_token_wait, CANCELED)                         \
  X(volt_barrier_wait_until, TIMED | CANCELED | ONCE)  \
  X(volt_barrier_wait, CANCELED | ONCE)                \
  X(volt_once_begin_until, TIMED | CANCELED)           \
  X(volt_once_begin, CANCELED)                         \
  X(volt_once_call, CANCELED)                          \
  X(volt_mutex_lock_until, TIMED | CANCELED)           \
  X(volt_mutex_lock_until__bypass, TIMED | CANCELED)   \
  X(volt_mutex_lock, 0)                                \
  X(volt_mutex_lock__bypass, 0)                        \
  X(volt_rwlock_read_until, TIMED | CANCELED)          \
  X(volt_rwlock_read_until__bypass, TIMED | CANCELED)  \
  X(volt_rwlock_read, 0)                               \
  X(volt_rwlock_write_until, TIMED | CANCELED)         \
  X(volt_rwlock_write_until__bypass, TIMED | CANCELED) \
  X(volt_rwlock_write, 0)                              \
  X(volt_sharded_rwlock_read_until, TIMED | CANCELED)  \
  X(volt_sharded_rwlock_read, 0)                       \
  X(volt_sharded_rwlock_write_until, TIMED | CANCELED) \
  X(volt_sharded_rwlock_write, 0)                      \
  X(volt_cond_wait_until, TIMED | CANCELED | LATER)    \
  X(volt_cond_wait, CANCELED | LATER)                  \
  X(volt_bcs_lock_run, 0)                              \
  X(volt_bcs_lock_run__lockfree, 0)                    \
  X(volt_sem_acquire_until, TIMED | CANCELED)          \
  X(volt_sem_acquire, CANCELED)                        \
  X(volt_budget_acquire_until, TIMED | CANCELED)       \
  X(volt_budget_acquire, CANCELED)                     \
  X(volt_lock_all_until, TIMED | CANCELED)             \
  X(volt_lock_all, CANCELED)                           \
  X(volt_sem_acquire_all_until, TIMED | CANCELED)      \
  X(volt_sem_acquire_all, CANCELED)                    \
  X(volt_chan_recv_until, TIMED | CANCELED)            \
  X(volt_chan_recv, CANCELED)                          \
  X(volt_chan_recv_many_until, TIMED | CANCELED)       \
  X(volt_chan_recv_many, CANCELED)                     \
  X(volt_chan_send_until, TIMED | CANCELED)            \
  X(volt_chan_send, CANCELED)                          \
  X(volt_chan_send_many_until, TIMED | CANCELED)       \
  X(volt_chan_send_many, CANCELED)                     \
  X(volt_permit_chan_recv_until, TIMED | CANCELED)     \
  X(volt_permit_chan_recv, CANCELED)                   \
  X(volt_permit_chan_reserve_until, TIMED | CANCELED)  \
  X(volt_permit_chan_reserve, CANCELED)                \
  X(volt_permit_chan_send_until, TIMED | CANCELED)     \
  X(volt_permit_chan_send, CANCELED)                   \
  X(volt_oneshot_recv_until, TIMED | CANCELED)         \
  X(volt_oneshot_recv, CANCELED)                       \
  X(volt_broadcast_recv_until, TIMED | CANCELED)       \
  X(volt_broadcast_recv, CANCELED)                     \
  X(volt_watch_changed_until, TIMED | CANCELED)        \
  X(volt_watch_changed, CANCELED)                      \
  X(volt_mailbox_recv_until, TIMED | CANCELED)         \
  X(volt_mailbox_recv, CANCELED)                       \
  X(volt_actor_run, 0)                                 \
  X(volt_loop_close_until, TIMED | CANCELED)           \
  X(volt_loop_close, CANCELED)                         \
  X(volt_task_join_until, TIMED | CANCELED)            \
  X(volt_task_join, CANCELED)                          \
  X(volt_group_wait_until, TIMED | CANCELED | FATAL)   \
  X(volt_group_wait, CANCELED | FATAL)                 \
  X(volt_group_next_until, TIMED | CANCELED)           \
  X(volt_group_next, CANCELED)                         \
  X(volt_rt_shutdown, TIMED | CANCELED | LATER)        \
  X(volt_rt_destroy, 0)                                \
  X(volt_fiber_offload, LATER)                         \
  X(volt_future_cancel, 0)

#define A_SCENE(name, how) \
  {#name, how, name##_begin, name##_call, name##_happens, name##_waits, name##_end},
static const scene scenes[] = {SCENES(A_SCENE)};
enum { SCENE_COUNT = sizeof scenes / sizeof scenes[0] };

#endif
