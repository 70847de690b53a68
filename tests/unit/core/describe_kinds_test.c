/* describe_kinds_test.c: as describe_test.c: the kinds of the sync library that have no owner, and
 * those of the runtime. */
#include "bcs_holder.h"
#include "by_hand.h"
#include "core/park/fiber_futex.h"
#include "described.h"
#include "thread_team.h"

static poller p;
static volt_future f;
static uint64_t elem;
static const volt_waker nobody = {NULL, NULL};

static int set_up(void **state) {
  (void)state;
  poller_init(&p);
  return 0;
}

/* Any thread may end it. */
static void check(volt_future *future, const char *operation, const char *kind, const void *object,
                  const char *state) {
  described_check(future, operation, kind, object, VOLT_ENDS_UNKNOWN_, state);
}

/* As check(); and it has a place in a queue. */
static void check_queued(volt_future *future, const char *operation, const char *kind,
                         const void *object, const char *state) {
  volt_description_ description = described_waiting(&p, future);
  volt_describe_place_(future, &description, 8);
  assert_int_equal(description.place, 1);
  assert_int_equal(description.waiters, 1);
  check(future, operation, kind, object, state);
}

/* ---- the sync library ---- */

static void volt_latch_wait_future_is_described(void **state) {
  (void)state;
  volt_latch latch = VOLT_LATCH_INIT(3);
  check_queued(volt_latch_wait_future(&f, &latch), "volt_latch_wait", "latch", &latch, "3 to go");
}

static void volt_barrier_wait_future_is_described(void **state) {
  (void)state;
  volt_barrier barrier = VOLT_BARRIER_INIT(2);
  check_queued(volt_barrier_wait_future(&f, &barrier), "volt_barrier_wait", "barrier", &barrier,
               "for 2 arrivals");
}

static void volt_notify_wait_future_is_described(void **state) {
  (void)state;
  volt_notify notify = VOLT_NOTIFY_INIT;
  check_queued(volt_notify_wait_future(&f, &notify), "volt_notify", "notify", &notify, "");
}

static void volt_once_begin_future_is_described(void **state) {
  (void)state;
  volt_once once = VOLT_ONCE_INIT;
  assert_result(poller_poll(&p, volt_once_begin_future(&f, &once)), VOLT_OK);
  check_queued(volt_once_begin_future(&f, &once), "volt_once_begin", "once", &once, "");
  volt_once_done(&once);
}

static void volt_token_wait_future_is_described(void **state) {
  (void)state;
  volt_token token = VOLT_TOKEN_INIT;
  check_queued(volt_token_wait_future(&f, &token), "volt_token", "token", &token, "");
}

static void volt_oneshot_recv_future_is_described(void **state) {
  (void)state;
  volt_oneshot oneshot = VOLT_ONESHOT_INIT(sizeof elem, &elem);
  uint64_t got;
  volt_description_ description =
      described_waiting(&p, volt_oneshot_recv_future(&f, &oneshot, &got));
  described_expect(&description, "volt_oneshot_recv", "oneshot", &oneshot, VOLT_ENDS_UNKNOWN_);
  described_end(&p, &f);
}

static void volt_oneshot_closed_future_is_described(void **state) {
  (void)state;
  volt_oneshot oneshot = VOLT_ONESHOT_INIT(sizeof elem, &elem);
  check_queued(volt_oneshot_closed_future(&f, &oneshot), "volt_oneshot_closed", "oneshot", &oneshot,
               "");
}

static void volt_promise_future_is_described(void **state) {
  (void)state;
  static const volt_promise_ops ops = {.start = NULL};
  volt_promise promise;
  volt_promise_init(&promise, &ops);
  volt_description_ description = described_waiting(&p, volt_promise_future(&f, &promise));
  described_expect(&description, "volt_promise", "promise", &promise, VOLT_ENDS_UNKNOWN_);
  volt_promise_complete(&promise, VOLT_OK);
  assert_result(poller_poll(&p, &f), VOLT_OK);
}

static void volt_mailbox_recv_future_is_described(void **state) {
  (void)state;
  volt_mailbox mailbox = VOLT_MAILBOX_INIT;
  volt_mailbox_node *node;
  check_queued(volt_mailbox_recv_future(&f, &mailbox, &node), "volt_mailbox_recv", "mailbox",
               &mailbox, "");
}

static void volt_budget_acquire_future_is_described(void **state) {
  (void)state;
  volt_budget budget = VOLT_BUDGET_INIT(2, 8, 16);
  static const volt_amounts held = {{1, 10}}, need = {{8, 7}}, other = {{1, 0}};
  volt_future g;
  assert_result(volt_budget_try_acquire(&budget, &held), VOLT_OK);
  volt_budget_name_kind(&budget, 0, "cores");
  check_queued(volt_budget_acquire_future(&f, &budget, &need), "volt_budget_acquire", "budget",
               &budget, "cores: 8 wanted, 7 of 8 free");
  assert_result(volt_future_poll(volt_budget_acquire_future(&g, &budget, &need), nobody),
                VOLT_PENDING);
  volt_description_ description =
      described_waiting(&p, volt_budget_acquire_future(&f, &budget, &other));
  assert_string_equal(description.state, "others come first");
  described_end(&p, &f);
  volt_future_cancel(&g);
}

static void volt_watch_changed_future_is_described(void **state) {
  (void)state;
  volt_watch watch;
  uint64_t value = 1, now, seen;
  volt_watch_init(&watch, sizeof value, &now, &value);
  seen = volt_watch_get(&watch, &value);
  check_queued(volt_watch_changed_future(&f, &watch, &seen), "volt_watch_changed", "watch", &watch,
               "");
}

static void volt_broadcast_recv_future_is_described(void **state) {
  (void)state;
  static uint64_t ring[64];
  volt_broadcast broadcast;
  volt_broadcast_receiver receiver;
  assert_result(volt_broadcast_init(&broadcast, 2, sizeof elem, ring, sizeof ring), VOLT_OK);
  volt_broadcast_subscribe(&broadcast, &receiver);
  check_queued(volt_broadcast_recv_future(&f, &receiver, &elem), "volt_broadcast_recv", "broadcast",
               &broadcast, "");
}

static void volt_cond_wait_future_is_described(void **state) {
  (void)state;
  volt_cond cond;
  volt_mutex mutex;
  volt_cond_init(&cond);
  volt_mutex_init(&mutex);
  assert_result(volt_mutex_try_lock(&mutex), VOLT_OK);
  check_queued(volt_cond_wait_future(&f, &cond, &mutex), "volt_cond_wait", "cond", &cond, "");
}

static volt_rwlock_shard shards[2];

static void volt_sharded_rwlock_read_future_is_described(void **state) {
  (void)state;
  volt_sharded_rwlock s;
  volt_sharded_rwlock_init(&s, shards, 2);
  assert_result(volt_sharded_rwlock_try_write(&s), VOLT_OK);
  described_check(volt_sharded_rwlock_read_future(&f, &s, 1), "volt_rwlock_read", "rwlock",
                  &shards[1], VOLT_ENDS_HOLDERS_, "locked");
  volt_sharded_rwlock_write_unlock(&s);
}

static void volt_sharded_rwlock_write_future_is_described(void **state) {
  (void)state;
  volt_sharded_rwlock s;
  volt_sharded_write w;
  volt_description_ description;
  volt_sharded_rwlock_init(&s, shards, 2);
  assert_result(volt_sharded_rwlock_try_read(&s, 1), VOLT_OK);
  (void)described_waiting(&p, volt_sharded_rwlock_write_future(&w, &s));
  volt_describe_(&w.future, &description);
  described_expect(&description, "volt_sharded_rwlock_write", "sharded_rwlock", &s,
                   VOLT_ENDS_INNER_);
  assert_string_equal(description.state, "has 1 of 2 shards");
  assert_true(description.for_write);
  volt_describe_(volt_future_inside_(&w.future, 0), &description);
  described_expect(&description, "volt_rwlock_write", "rwlock", &shards[1], VOLT_ENDS_HOLDERS_);
  assert_null(volt_future_inside_(&w.future, 1));
  described_end(&p, &w.future);
  volt_sharded_rwlock_read_unlock(&s, 1);
}

static void volt_lock_all_future_is_described(void **state) {
  (void)state;
  volt_mutex mutexes[2] = {VOLT_MUTEX_INIT, VOLT_MUTEX_INIT};
  volt_lockable both[] = {{.mutex = &mutexes[0]}, {.mutex = &mutexes[1]}};
  volt_lock_all_op op;
  volt_description_ description;
  assert_result(volt_mutex_try_lock(&mutexes[1]), VOLT_OK);
  (void)described_waiting(&p, volt_lock_all_future(&op, both, 2));
  volt_describe_(&op.future, &description);
  assert_string_equal(description.operation, "volt_lock_all");
  assert_int_equal(description.ends, VOLT_ENDS_INNER_);
  assert_string_equal(description.state, "has 1 of 2 objects");
  volt_describe_(volt_future_inside_(&op.future, 0), &description);
  described_expect(&description, "volt_mutex_lock", "mutex", &mutexes[1], VOLT_ENDS_HOLDERS_);
  assert_null(volt_future_inside_(&op.future, 1));
  described_end(&p, &op.future);
  volt_mutex_unlock(&mutexes[1]);
}

static volt_permit_chan permit_chan;

static void permit_chan_begin(void) {
  static uint64_t memory[64];
  assert_true(volt_chan_bytes(1, sizeof elem) <= sizeof memory);
  assert_result(volt_permit_chan_init(&permit_chan, 1, sizeof elem, memory, sizeof memory),
                VOLT_OK);
}

static void volt_permit_chan_recv_future_is_described(void **state) {
  (void)state;
  permit_chan_begin();
  check_queued(volt_permit_chan_recv_future(&f, &permit_chan, &elem), "volt_permit_chan_recv",
               "permit_channel", &permit_chan, "0 of 1 elements");
}

static void volt_permit_chan_reserve_future_is_described(void **state) {
  (void)state;
  permit_chan_begin();
  assert_result(volt_permit_chan_try_reserve(&permit_chan), VOLT_OK);
  described_check(volt_permit_chan_reserve_future(&f, &permit_chan), "volt_sem_acquire",
                  "semaphore", &permit_chan.places, VOLT_ENDS_HOLDERS_, "0 of 1 free");
}

/* ---- bcs: a section waits while another one runs ---- */

static volt_bcs_lock bcs_lock;
static bcs_holder holder;

static void does_nothing(void *arg) {
  (void)arg;
}

static void volt_bcs_lock_run_future_is_described(void **state) {
  (void)state;
  volt_bcs_section section;
  volt_description_ description;
  memset((void *)&section, 0, sizeof section);
  volt_bcs_lock_init(&bcs_lock);
  bcs_holder_start(&holder, &bcs_lock);
  description =
      described_waiting(&p, volt_bcs_lock_run_future(&f, &bcs_lock, &section, does_nothing, NULL));
  described_expect(&description, "volt_bcs_lock_run", "bcs_lock", &bcs_lock, VOLT_ENDS_UNKNOWN_);
  bcs_holder_end(&holder);
  volt_describe_(&f, &description);
  assert_true(description.is_granted); /* it has run, and no poll has seen it */
  assert_result(poller_poll(&p, &f), VOLT_OK);
  volt_bcs_lock_destroy(&bcs_lock);
}

/* ---- the runtime ---- */

static by_hand h;

static void run_tasks(void) {
  by_hand_run(&h);
}

static int rt_begin(void **state) {
  by_hand_begin(&h);
  described_run = run_tasks;
  return set_up(state);
}

static int rt_end(void **state) {
  (void)state;
  described_run = NULL;
  by_hand_end(&h, 0);
  return 0;
}

static int ends_at_once(volt_task *t, volt_ctx *ctx) {
  (void)t;
  (void)ctx;
  return VOLT_OK;
}

static void volt_task_join_future_is_described(void **state) {
  (void)state;
  volt_task task;
  volt_task_init(&task, ends_at_once);
  assert_result(volt_spawn(h.rt, &task), VOLT_OK);
  described_check(volt_task_join_future(&f, &task), "volt_task_join", "task", &task,
                  VOLT_ENDS_TASK_, "");
  by_hand_run(&h);
}

static void group_spawn(volt_group *g) {
  volt_task *t = (volt_task *)volt_task_new(h.rt, sizeof *t, ends_at_once);
  assert_non_null(t);
  assert_result(volt_group_spawn(g, h.rt, t), VOLT_OK);
}

static void volt_group_wait_future_is_described(void **state) {
  (void)state;
  volt_group g;
  volt_group_init(&g);
  group_spawn(&g);
  described_check(volt_group_wait_future(&f, &g), "volt_group_wait", "group", &g, VOLT_ENDS_GROUP_,
                  "");
  by_hand_run(&h);
  volt_group_destroy(&g);
}

static void volt_group_next_future_is_described(void **state) {
  (void)state;
  volt_group g;
  volt_task *t;
  volt_group_init_how(&g, VOLT_GROUP_KEEP_RESULTS);
  group_spawn(&g);
  described_check(volt_group_next_future(&f, &g, &t), "volt_group_next", "group", &g,
                  VOLT_ENDS_MEMBER_, "");
  by_hand_run(&h);
  assert_result(volt_group_try_next(&g, &t), VOLT_OK);
  volt_task_detach(t);
  volt_group_destroy(&g);
}

static volt_parker gate;

static int waits_at_the_gate(void *arg) {
  (void)arg;
  return volt_park_until(&gate, 1, VOLT_NO_DEADLINE);
}

static void volt_blocking_future_is_described(void **state) {
  (void)state;
  volt_blocking b;
  memset((void *)&gate, 0, sizeof gate);
  volt_future_made(volt_blocking_future(&b, h.rt, waits_at_the_gate, NULL));
  volt_description_ description = described_waiting(&p, &b.future);
  described_expect(&description, "volt_blocking", "function", (void *)(uintptr_t)waits_at_the_gate,
                   VOLT_ENDS_UNKNOWN_);
  volt_unpark(&gate);
  WAIT_UNTIL(volt_load_acquire(&p.wakes) == 1);
  volt_describe_(&b.future, &description);
  assert_true(description.is_granted);
  assert_result(poller_poll(&p, &b.future), VOLT_OK);
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)
#define WITH_RT(name) cmocka_unit_test_setup_teardown(name, rt_begin, rt_end)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(volt_latch_wait_future_is_described),
      TEST(volt_barrier_wait_future_is_described),
      TEST(volt_notify_wait_future_is_described),
      TEST(volt_once_begin_future_is_described),
      TEST(volt_token_wait_future_is_described),
      TEST(volt_oneshot_recv_future_is_described),
      TEST(volt_oneshot_closed_future_is_described),
      TEST(volt_promise_future_is_described),
      TEST(volt_mailbox_recv_future_is_described),
      TEST(volt_budget_acquire_future_is_described),
      TEST(volt_watch_changed_future_is_described),
      TEST(volt_broadcast_recv_future_is_described),
      TEST(volt_cond_wait_future_is_described),
      TEST(volt_sharded_rwlock_read_future_is_described),
      TEST(volt_sharded_rwlock_write_future_is_described),
      TEST(volt_lock_all_future_is_described),
      TEST(volt_permit_chan_recv_future_is_described),
      TEST(volt_permit_chan_reserve_future_is_described),
      TEST(volt_bcs_lock_run_future_is_described),
      WITH_RT(volt_task_join_future_is_described),
      WITH_RT(volt_group_wait_future_is_described),
      WITH_RT(volt_group_next_future_is_described),
      WITH_RT(volt_blocking_future_is_described),
  };
  int failed = 0;
  for (described_how = DESCRIBED_CANCELLED; described_how < DESCRIBED_WAYS;
       described_how = (described_way)(described_how + 1))
    failed += cmocka_run_group_tests_name("look_kinds", tests, NULL, NULL);
  return failed;
}
