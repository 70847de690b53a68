/* zeroed_test.c: objects whose memory is all zero because nothing has initialised them. Each is
 * either valid, as its header says, and then works; or its first use aborts and says what is missing.
 * tests/compile/misuse.py sees to it that each type with an init() is here. */
#include <volt/task.h>
#include <volt/volt.h>

#include "death.h"
#include "unit.h"

static const volt_waker nobody = {NULL, NULL};
static uint64_t elem;

/* What every act finds: memory of zeros. */
static union {
  volt_actor actor;
  volt_barrier barrier;
  volt_bcs_lock bcs_lock;
  volt_bcs_lockfree lockfree;
  volt_bcs_waitfree waitfree;
  volt_bcs_waitfree_stub stub;
  volt_broadcast broadcast;
  volt_budget budget;
  volt_chan chan;
  volt_cond cond;
  volt_group group;
  volt_interval interval;
  volt_latch latch;
  volt_loop loop;
  volt_mailbox mailbox;
  volt_mpsc mpsc;
  volt_mutex mutex;
  volt_notify notify;
  volt_once once;
  volt_oneshot oneshot;
  volt_permit_chan permit_chan;
  volt_promise promise;
  volt_rwlock rwlock;
  volt_sem sem;
  volt_sharded_rwlock sharded;
  volt_task task;
  volt_timers timers;
  volt_token token;
  volt_watch watch;
} it;
static volt_mutex other;

static void poll_pending(volt_future *f) {
  assert_result(volt_future_poll(f, nobody), VOLT_PENDING);
  volt_future_cancel(f);
}

/* ---- not valid ---- */

static volt_future future;
static volt_broadcast_receiver receiver;
static volt_sharded_write write_;

static void chan_send(void *arg) {
  (void)arg;
  (void)volt_future_poll(volt_chan_send_future(&future, &it.chan, &elem), nobody);
}
static void chan_recv(void *arg) {
  (void)arg;
  (void)volt_future_poll(volt_chan_recv_future(&future, &it.chan, &elem), nobody);
}
static void chan_send_until(void *arg) {
  (void)arg;
  ignore_result(volt_chan_send_until(&it.chan, &elem, PAST_DEADLINE));
}
static void chan_recv_until(void *arg) {
  (void)arg;
  ignore_result(volt_chan_recv_until(&it.chan, &elem, PAST_DEADLINE));
}
static void permit_chan_reserve(void *arg) {
  (void)arg;
  volt_future_made(volt_permit_chan_reserve_future(&future, &it.permit_chan));
}
static void permit_chan_try_reserve(void *arg) {
  (void)arg;
  ignore_result(volt_permit_chan_try_reserve(&it.permit_chan));
}
static void permit_chan_recv(void *arg) {
  (void)arg;
  (void)volt_future_poll(volt_permit_chan_recv_future(&future, &it.permit_chan, &elem), nobody);
}
static void broadcast_send(void *arg) {
  (void)arg;
  ignore_result(volt_broadcast_send(&it.broadcast, &elem));
}
static void broadcast_subscribe(void *arg) {
  (void)arg;
  volt_broadcast_subscribe(&it.broadcast, &receiver);
}
#if VOLT_DEBUG
static void watch_send(void *arg) {
  (void)arg;
  ignore_result(volt_watch_send(&it.watch, &elem));
}
static void watch_get(void *arg) {
  (void)arg;
  (void)volt_watch_get(&it.watch, &elem);
}
#endif
static void watch_changed(void *arg) {
  (void)arg;
  uint64_t seen = 0;
  (void)volt_future_poll(volt_watch_changed_future(&future, &it.watch, &seen), nobody);
}
static void barrier_wait(void *arg) {
  (void)arg;
  (void)volt_future_poll(volt_barrier_wait_future(&future, &it.barrier), nobody);
}
static void sharded_here(void *arg) {
  (void)arg;
  (void)volt_sharded_rwlock_here(&it.sharded);
}
static void sharded_read(void *arg) {
  (void)arg;
  ignore_result(volt_sharded_rwlock_try_read(&it.sharded, 0));
}
static void sharded_try_write(void *arg) {
  (void)arg;
  ignore_result(volt_sharded_rwlock_try_write(&it.sharded));
}
static void sharded_write_blocking(void *arg) {
  (void)arg;
  ignore_result(volt_sharded_rwlock_write_until(&it.sharded, PAST_DEADLINE));
}
static void sharded_write_no_deadline(void *arg) {
  (void)arg;
  volt_sharded_rwlock_write(&it.sharded);
}
static void sharded_write_future(void *arg) {
  (void)arg;
  volt_future_made(volt_sharded_rwlock_write_future(&write_, &it.sharded));
}
static void loop_poll(void *arg) {
  (void)arg;
  volt_sem none = VOLT_SEM_INIT(0);
  ignore_result(volt_loop_poll(&it.loop, volt_sem_acquire_future(&future, &none, 1)));
}
static void group_spawn(void *arg) {
  (void)arg;
  ignore_result(volt_group_spawn(&it.group, NULL, NULL));
}
static void group_wait(void *arg) {
  (void)arg;
  volt_future_made(volt_group_wait_future(&future, &it.group));
}
static void group_cancel(void *arg) {
  (void)arg;
  volt_group_cancel(&it.group);
}
static void group_destroy(void *arg) {
  (void)arg;
  volt_group_destroy(&it.group);
}
static void task_spawn(void *arg) {
  (void)arg;
  ignore_result(volt_spawn(NULL, &it.task));
}
static void interval_tick(void *arg) {
  (void)arg;
  (void)volt_future_poll(volt_interval_tick_future(&it.interval), nobody);
}
static void future_poll(void *arg) {
  (void)arg;
  memset(&future, 0, sizeof future);
  (void)volt_future_poll(&future, nobody);
}

static void what_is_not_valid_says_so(void **state) {
  (void)state;
  const struct {
    const char *type;
    void (*act)(void *arg);
    const char *says;
  } acts[] = {
    {"volt_chan", chan_send, "volt_chan_init()"},
    {"volt_chan", chan_recv, "volt_chan_init()"},
    {"volt_chan", chan_send_until, "volt_chan_init()"},
    {"volt_chan", chan_recv_until, "volt_chan_init()"},
    {"volt_permit_chan", permit_chan_reserve, "volt_permit_chan_init()"},
    {"volt_permit_chan", permit_chan_try_reserve, "volt_permit_chan_init()"},
    {"volt_chan", permit_chan_recv, "volt_chan_init()"},
    {"volt_broadcast", broadcast_send, "volt_broadcast_init()"},
    {"volt_broadcast", broadcast_subscribe, "volt_broadcast_init()"},
#if VOLT_DEBUG
    {"volt_watch", watch_send, "volt_watch_init()"},
    {"volt_watch", watch_get, "volt_watch_init()"},
#endif
    {"volt_watch", watch_changed, "volt_watch_init()"},
    {"volt_barrier", barrier_wait, "volt_barrier_init()"},
    {"volt_sharded_rwlock", sharded_here, "volt_sharded_rwlock_init()"},
    {"volt_sharded_rwlock", sharded_read, "volt_sharded_rwlock_init()"},
    {"volt_sharded_rwlock", sharded_try_write, "volt_sharded_rwlock_init()"},
    {"volt_sharded_rwlock", sharded_write_blocking, "volt_sharded_rwlock_init()"},
    {"volt_sharded_rwlock", sharded_write_no_deadline, "volt_sharded_rwlock_init()"},
    {"volt_sharded_rwlock", sharded_write_future, "volt_sharded_rwlock_init()"},
    {"volt_loop", loop_poll, "volt_loop_init()"},
    {"volt_group", group_spawn, "volt_group_init()"},
    {"volt_group", group_wait, "volt_group_init()"},
    {"volt_group", group_cancel, "volt_group_init()"},
    {"volt_group", group_destroy, "volt_group_init()"},
    {"volt_spawn", task_spawn, "not initialised"},
    {"volt_interval", interval_tick, "volt_interval_init()"},
    {"volt_future_poll", future_poll, "never given an operation"},
  };
  for (size_t i = 0; i < sizeof acts / sizeof acts[0]; i++) {
    memset(&it, 0, sizeof it);
    assert_death(acts[i].act, NULL, acts[i].type, acts[i].says);
  }
}

/* ---- valid ---- */

static void count_up(void *arg) {
  *(int *)arg += 1;
}

static void count_call(void *arg) {
  count_up(arg);
}

static void locks(void) {
  assert_result(volt_mutex_try_lock(&it.mutex), VOLT_OK);
  volt_mutex_unlock(&it.mutex);
  memset(&it, 0, sizeof it);
  assert_result(volt_rwlock_try_write(&it.rwlock), VOLT_OK);
  volt_rwlock_write_unlock(&it.rwlock);
  memset(&it, 0, sizeof it);
  assert_result(volt_sem_try_acquire(&it.sem, 1), VOLT_EAGAIN); /* no permits */
  volt_sem_release(&it.sem, 1);
  assert_result(volt_sem_try_acquire(&it.sem, 1), VOLT_OK);
  memset(&it, 0, sizeof it);
  static const volt_amounts nothing;
  assert_result(volt_budget_try_acquire(&it.budget, &nothing), VOLT_OK); /* no kinds */
}

static void events(void) {
  volt_future f;
  memset(&it, 0, sizeof it);
  volt_notify_one(&it.notify);
  assert_result(volt_future_poll(volt_notify_wait_future(&f, &it.notify), nobody), VOLT_OK);
  memset(&it, 0, sizeof it);
  assert_result(volt_latch_try_wait(&it.latch), VOLT_OK); /* open */
  memset(&it, 0, sizeof it);
  assert_false(volt_token_is_cancelled(&it.token));
  volt_token_cancel(&it.token);
  assert_true(volt_token_is_cancelled(&it.token));
  memset(&it, 0, sizeof it);
  assert_result(volt_future_poll(volt_once_begin_future(&f, &it.once), nobody), VOLT_OK);
  memset(&it, 0, sizeof it);
  assert_result(volt_mutex_try_lock(&other), VOLT_OK);
  volt_cond_signal(&it.cond);
  volt_mutex_unlock(&other);
}

static void values(void) {
  volt_future f;
  volt_mailbox_node *node = NULL;
  memset(&it, 0, sizeof it);
  assert_result(volt_oneshot_send(&it.oneshot, NULL), VOLT_OK); /* a signal: of no bytes */
  assert_result(volt_oneshot_try_recv(&it.oneshot, NULL), VOLT_OK);
  memset(&it, 0, sizeof it);
  poll_pending(volt_promise_future(&f, &it.promise)); /* it has no functions to begin it */
  memset(&it, 0, sizeof it);
  poll_pending(volt_mailbox_recv_future(&f, &it.mailbox, &node));
}

static void queues(void) {
  int calls = 0;
  volt_bcs_node bcs_node, *popped = NULL;
  memset(&it, 0, sizeof it);
  volt_bcs_lock_run(&it.bcs_lock, &bcs_node, count_call, &calls);
  assert_int_equal(calls, 1);
  memset(&it, 0, sizeof it);
  assert_int_equal(volt_timers_expire(&it.timers, volt_now_ns()), 0);
  memset(&it, 0, sizeof it);
  assert_result(volt_mpsc_pop(&it.mpsc, &popped), VOLT_EAGAIN);
  memset(&it, 0, sizeof it);
  assert_int_equal(volt_bcs_lockfree_state(&it.lockfree), 0);
  assert_int_equal(volt_bcs_waitfree_state(&it.waitfree), 0);
}

static void what_is_valid_works(void **state) {
  (void)state;
  memset(&it, 0, sizeof it);
  locks();
  events();
  values();
  queues();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_not_valid_says_so),
      cmocka_unit_test(what_is_valid_works),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
