/* poll_consistency_test.c: a waiting future says what its object says, also while the thread that
 * lets all waiters go is still telling them: a waker polls futures whose own turn has not come. */
#include "fake_waker.h"
#include "unit.h"

enum { BATCH = 32, WAITERS = 2 * BATCH + 6 };

/* What is waited for, by future number i. */
typedef struct subject {
  void (*init)(void);
  volt_future *(*make)(volt_future *f, uint32_t i);
  void (*open)(void);
  void (*destroy)(void);
  int result; /* as which they poll then */
  int fresh;  /* and as which one that is made then */
} subject;

static const subject *now;

static struct crowd {
  volt_future futures[WAITERS];
  hostile_waker wakers[WAITERS];
  wake_log log;
  volt_ctx ctx;
  uint32_t wakes, drops;
} crowd;

/* ---- the subjects ---- */

static volt_notify notify;
static volt_latch latch;
static volt_barrier barrier;
static volt_once once;
static volt_oneshot oneshot;
static volt_watch watch;
static volt_broadcast broadcast;
static volt_broadcast_receiver receivers[WAITERS + 1];
static volt_token token, middle, below;
static volt_sem sem;
static volt_chan chan;
static volt_chan_slot slots[2 * 2];
static volt_budget budget;
static volt_mailbox mailbox;
static volt_mailbox_node *nodes[WAITERS + 1];
static volt_permit_chan permit_chan;
static uint64_t seen[WAITERS + 1], values[WAITERS + 1], slot;

static void notify_init(void) {
  volt_notify_init(&notify);
}
static volt_future *notify_make(volt_future *f, uint32_t i) {
  (void)i;
  return volt_notify_wait_future(f, &notify);
}
static void notify_open(void) {
  volt_notify_all(&notify);
}
static void notify_destroy(void) {
  volt_notify_destroy(&notify);
}

static void latch_init(void) {
  volt_latch_init(&latch, 1);
}
static volt_future *latch_make(volt_future *f, uint32_t i) {
  (void)i;
  return volt_latch_wait_future(f, &latch);
}
static void latch_open(void) {
  volt_latch_done(&latch);
}
static void latch_destroy(void) {
  volt_latch_destroy(&latch);
}

static void barrier_init(void) {
  volt_barrier_init(&barrier, WAITERS + 1);
}
static volt_future *barrier_make(volt_future *f, uint32_t i) {
  (void)i;
  return volt_barrier_wait_future(f, &barrier);
}
static void barrier_open(void) {
  volt_waiter last = VOLT_WAITER_INIT;
  assert_result(volt_barrier_wait_waiter(&barrier, &last, (volt_waker){NULL, NULL}), VOLT_LEADER);
}
static void barrier_destroy(void) {
  volt_barrier_destroy(&barrier);
}

static void once_init(void) {
  volt_once_init(&once);
  volt_waiter first = VOLT_WAITER_INIT;
  assert_result(volt_once_begin_waiter(&once, &first, (volt_waker){NULL, NULL}), VOLT_OK);
}
static volt_future *once_make(volt_future *f, uint32_t i) {
  (void)i;
  return volt_once_begin_future(f, &once);
}
static void once_open(void) {
  volt_once_done(&once);
}
static void once_destroy(void) {
  volt_once_destroy(&once);
}

static void oneshot_init(void) {
  volt_oneshot_init(&oneshot, sizeof slot, &slot);
}
static volt_future *oneshot_make(volt_future *f, uint32_t i) {
  (void)i;
  return volt_oneshot_closed_future(f, &oneshot);
}
static volt_future *oneshot_make_recv(volt_future *f, uint32_t i) {
  return volt_oneshot_recv_future(f, &oneshot, &values[i]);
}
static void oneshot_open(void) {
  assert_result(volt_oneshot_send(&oneshot, &slot), VOLT_OK);
}
static void oneshot_close(void) {
  volt_oneshot_close(&oneshot);
}
static void oneshot_destroy(void) {
  volt_oneshot_destroy(&oneshot);
}

static void watch_init(void) {
  volt_watch_init(&watch, 0, NULL, NULL);
}
static volt_future *watch_make(volt_future *f, uint32_t i) {
  seen[i] = 1;
  return volt_watch_changed_future(f, &watch, &seen[i]);
}
static void watch_open(void) {
  assert_result(volt_watch_send(&watch, NULL), VOLT_OK);
}
static void watch_close(void) {
  volt_watch_close(&watch);
}
static void watch_destroy(void) {
  volt_watch_destroy(&watch);
}

static void broadcast_init(void) {
  assert_result(volt_broadcast_init(&broadcast, 1, sizeof slot, &slot, sizeof slot), VOLT_OK);
  volt_broadcast_subscribe(&broadcast, &receivers[WAITERS]);
}
static volt_future *broadcast_make(volt_future *f, uint32_t i) {
  receivers[i] = receivers[WAITERS];
  return volt_broadcast_recv_future(f, &receivers[i], &values[i]);
}
static void broadcast_open(void) {
  uint64_t value = 7;
  assert_result(volt_broadcast_send(&broadcast, &value), VOLT_OK);
}
static void broadcast_close(void) {
  volt_broadcast_close(&broadcast);
}
static void broadcast_destroy(void) {
  volt_broadcast_destroy(&broadcast);
}

static void token_init(void) {
  volt_token_init(&token);
  volt_token_init_child(&middle, &token);
  volt_token_init_child(&below, &middle);
}
/* Of all levels: those of the root are told first. */
static volt_future *token_make(volt_future *f, uint32_t i) {
  return volt_token_wait_future(f, i % 3 == 0 ? &token : i % 3 == 1 ? &middle : &below);
}
static void token_open(void) {
  volt_token_cancel(&token);
}
static void token_destroy(void) {
  volt_token_destroy(&below);
  volt_token_destroy(&middle);
  volt_token_destroy(&token);
}

static void sem_init(void) {
  volt_sem_init(&sem, 3);
}
/* The first has gathered some, which stay. */
static volt_future *sem_make(volt_future *f, uint32_t i) {
  return volt_sem_acquire_future(f, &sem, 4 + i);
}
static void sem_open(void) {
  volt_sem_close(&sem);
}
static void sem_destroy(void) {
  assert_int_equal(volt_sem_available(&sem), 3);
  volt_sem_destroy(&sem);
}

static void chan_init(void) {
  assert_result(volt_chan_init(&chan, 1, sizeof slot, slots, sizeof slots), VOLT_OK);
}
static void chan_init_full(void) {
  chan_init();
  assert_result(volt_chan_try_send(&chan, &slot), VOLT_OK);
}
static volt_future *chan_make_recv(volt_future *f, uint32_t i) {
  return volt_chan_recv_future(f, &chan, &values[i]);
}
static volt_future *chan_make_send(volt_future *f, uint32_t i) {
  return volt_chan_send_future(f, &chan, &values[i]);
}
static void chan_open(void) {
  volt_chan_close(&chan);
}
static void chan_destroy(void) {
  volt_chan_destroy(&chan, NULL, NULL);
}
static volt_future *chan_make_closed(volt_future *f, uint32_t i) {
  (void)i;
  return volt_chan_closed_future(f, &chan);
}

static void permit_init(void) {
  assert_result(volt_permit_chan_init(&permit_chan, 1, sizeof slot, slots, sizeof slots), VOLT_OK);
}
static volt_future *permit_make(volt_future *f, uint32_t i) {
  return volt_permit_chan_recv_future(f, &permit_chan, &values[i]);
}
static void permit_open(void) {
  volt_permit_chan_close(&permit_chan);
}
static void permit_destroy(void) {
  volt_permit_chan_destroy(&permit_chan, NULL, NULL);
}

static void mailbox_init(void) {
  volt_mailbox_init(&mailbox);
}
static volt_future *mailbox_make(volt_future *f, uint32_t i) {
  return volt_mailbox_recv_future(f, &mailbox, &nodes[i]);
}
static void mailbox_open(void) {
  volt_mailbox_close(&mailbox);
}
static void mailbox_destroy(void) {
  volt_mailbox_destroy(&mailbox, NULL, NULL);
}

static const volt_amounts one_permit = {{1}};

static void budget_init(void) {
  static const uint64_t limit = 1;
  volt_budget_init(&budget, 1, &limit);
  assert_result(volt_budget_try_acquire(&budget, &one_permit), VOLT_OK);
}
static volt_future *budget_make(volt_future *f, uint32_t i) {
  (void)i;
  return volt_budget_acquire_future(f, &budget, &one_permit);
}
static void budget_open(void) {
  volt_budget_close(&budget);
}
static void budget_lower(void) {
  volt_budget_set_limit(&budget, 0, 0);
}
static void budget_destroy(void) {
  volt_budget_destroy(&budget);
}

/* ---- the crowd ---- */

/* All of them are queued, with a waker that does this. */
static void begin(const subject *s, void (*act)(hostile_waker *)) {
  now = s;
  memset((void *)&crowd, 0, sizeof crowd);
  wake_log_init(&crowd.log);
  s->init();
  for (uint32_t i = 0; i < WAITERS; i++) {
    hostile_waker_init(&crowd.wakers[i], i, &crowd.log, act, NULL);
    volt_future *f = s->make(&crowd.futures[i], i);
    assert_result(volt_future_poll(f, hostile_waker_of(&crowd.wakers[i])), VOLT_PENDING);
  }
}

/* Each has been told, and woken once. */
static void end(void) {
  assert_int_equal(wake_log_count(&crowd.log), WAITERS);
  for (uint32_t i = 0; i < WAITERS; i++) {
    assert_int_equal(hostile_waker_calls(&crowd.wakers[i]), 1);
    assert_result(volt_future_poll(&crowd.futures[i], (volt_waker){NULL, NULL}), now->result);
  }
  now->destroy();
}

static bool is_first(void) {
  return wake_log_count(&crowd.log) == 1;
}

/* ---- what wakers do ---- */

/* A poll of the same waker. */
static void poll_all(hostile_waker *self) {
  (void)self;
  if (!is_first()) return;
  for (uint32_t i = 0; i < WAITERS; i++) {
    volt_waker its = hostile_waker_of(&crowd.wakers[i]);
    assert_result(volt_future_poll(&crowd.futures[i], its), now->result);
  }
}

/* A poll from elsewhere: the first waker is still the one that is called. */
static void poll_all_with_another(hostile_waker *self) {
  (void)self;
  if (!is_first()) return;
  for (uint32_t i = WAITERS; i-- > 0;) {
    fake_waker another;
    fake_waker_init(&another, 0, NULL);
    int result = volt_future_poll(&crowd.futures[i], fake_waker_of(&another));
    assert_result(result, now->result);
    assert_int_equal(fake_waker_calls(&another), 0);
  }
}

/* The oldest that waits still agrees with one that is made now. */
static void compare_with_a_fresh_one(hostile_waker *self) {
  (void)self;
  if (!is_first()) return;
  volt_future fresh;
  volt_waker nobody = {NULL, NULL};
  assert_result(volt_future_poll(now->make(&fresh, WAITERS), nobody), now->fresh);
  volt_waker its = hostile_waker_of(&crowd.wakers[WAITERS - 1]);
  assert_result(volt_future_poll(&crowd.futures[WAITERS - 1], its), now->result);
  volt_future_cancel(&fresh);
}

static void each_way(const subject *s) {
  begin(s, poll_all);
  s->open();
  end();
  begin(s, poll_all_with_another);
  s->open();
  end();
  begin(s, compare_with_a_fresh_one);
  s->open();
  end();
}

/* ---- tests ---- */

#define SUBJECT_TEST(name, ...)        \
  static void name(void **state) {     \
    const subject its = {__VA_ARGS__}; \
    (void)state;                       \
    each_way(&its);                    \
  }

SUBJECT_TEST(notify_all, notify_init, notify_make, notify_open, notify_destroy, VOLT_OK,
             VOLT_PENDING)
SUBJECT_TEST(latch_open_, latch_init, latch_make, latch_open, latch_destroy, VOLT_OK, VOLT_OK)
SUBJECT_TEST(barrier_open_, barrier_init, barrier_make, barrier_open, barrier_destroy, VOLT_OK,
             VOLT_PENDING)
SUBJECT_TEST(once_done, once_init, once_make, once_open, once_destroy, VOLT_DONE, VOLT_DONE)
SUBJECT_TEST(oneshot_sent, oneshot_init, oneshot_make, oneshot_open, oneshot_destroy, VOLT_OK,
             VOLT_OK)
SUBJECT_TEST(oneshot_closed, oneshot_init, oneshot_make, oneshot_close, oneshot_destroy,
             VOLT_ECLOSED, VOLT_ECLOSED)
SUBJECT_TEST(oneshot_recv_closed, oneshot_init, oneshot_make_recv, oneshot_close, oneshot_destroy,
             VOLT_ECLOSED, VOLT_ECLOSED)
SUBJECT_TEST(watch_sent, watch_init, watch_make, watch_open, watch_destroy, VOLT_OK, VOLT_OK)
SUBJECT_TEST(watch_closed, watch_init, watch_make, watch_close, watch_destroy, VOLT_ECLOSED,
             VOLT_ECLOSED)
SUBJECT_TEST(broadcast_sent, broadcast_init, broadcast_make, broadcast_open, broadcast_destroy,
             VOLT_OK, VOLT_OK)
SUBJECT_TEST(broadcast_closed, broadcast_init, broadcast_make, broadcast_close, broadcast_destroy,
             VOLT_ECLOSED, VOLT_ECLOSED)
SUBJECT_TEST(token_cancelled, token_init, token_make, token_open, token_destroy, VOLT_OK, VOLT_OK)
SUBJECT_TEST(semaphore_closed, sem_init, sem_make, sem_open, sem_destroy, VOLT_ECLOSED,
             VOLT_ECLOSED)
SUBJECT_TEST(channel_closed_for_receivers, chan_init, chan_make_recv, chan_open, chan_destroy,
             VOLT_ECLOSED, VOLT_ECLOSED)
SUBJECT_TEST(channel_closed_for_senders, chan_init_full, chan_make_send, chan_open, chan_destroy,
             VOLT_ECLOSED, VOLT_ECLOSED)
SUBJECT_TEST(channel_closed_for_watchers, chan_init, chan_make_closed, chan_open, chan_destroy,
             VOLT_OK, VOLT_OK)
SUBJECT_TEST(permit_channel_closed, permit_init, permit_make, permit_open, permit_destroy,
             VOLT_ECLOSED, VOLT_ECLOSED)
SUBJECT_TEST(mailbox_closed, mailbox_init, mailbox_make, mailbox_open, mailbox_destroy,
             VOLT_ECLOSED, VOLT_ECLOSED)
SUBJECT_TEST(budget_closed, budget_init, budget_make, budget_open, budget_destroy, VOLT_ECLOSED,
             VOLT_ECLOSED)
SUBJECT_TEST(budget_refused, budget_init, budget_make, budget_lower, budget_destroy, VOLT_EINVAL,
             VOLT_EINVAL)

/* ---- one receiver of a oneshot has the value, each of the others is told so ---- */

static void receive_with_the_last(hostile_waker *self) {
  (void)self;
  if (!is_first()) return;
  for (uint32_t i = WAITERS; i-- > 0;) {
    volt_waker its = hostile_waker_of(&crowd.wakers[i]);
    int want = i == WAITERS - 1 ? VOLT_OK : VOLT_ECLOSED;
    assert_result(volt_future_poll(&crowd.futures[i], its), want);
  }
  assert_int_equal(values[WAITERS - 1], 7);
}

static void one_receiver_has_the_value(void **state) {
  (void)state;
  const subject its = {oneshot_init, oneshot_make_recv, NULL, oneshot_destroy, 0, 0};
  begin(&its, receive_with_the_last);
  uint64_t value = 7;
  assert_result(volt_oneshot_send(&oneshot, &value), VOLT_OK);
  assert_int_equal(wake_log_count(&crowd.log), WAITERS);
  oneshot_destroy();
}

/* ---- who counts ---- */

static void count_wake(void *ctx) {
  (void)ctx;
  crowd.wakes += 1;
  if (crowd.wakes > 1) return;
  for (uint32_t i = 0; i < WAITERS; i++) {
    assert_result(volt_future_poll_ctx(&crowd.futures[i], &crowd.ctx), VOLT_OK);
  }
}

static void count_drop(void *ctx) {
  (void)ctx;
  crowd.drops += 1;
}

static void each_registration_is_settled_once(void **state) {
  (void)state;
  memset((void *)&crowd, 0, sizeof crowd);
  crowd.ctx.waker = (volt_waker){count_wake, NULL};
  crowd.ctx.drop = count_drop;
  crowd.ctx.budget = VOLT_CTX_BUDGET_MAX_;
  token_init();
  for (uint32_t i = 0; i < WAITERS; i++) {
    token_make(&crowd.futures[i], i);
    assert_result(volt_future_poll_ctx(&crowd.futures[i], &crowd.ctx), VOLT_PENDING);
  }
  volt_token_cancel(&token);
  assert_int_equal(crowd.ctx.registered, WAITERS);
  assert_int_equal(crowd.wakes, WAITERS);
  assert_int_equal(crowd.drops, 0);
  token_destroy();
}

/* ---- who is served keeps to that, whatever becomes of the object ---- */

static void shut_and_poll_all(hostile_waker *self) {
  if (is_first()) volt_latch_add(&latch, 1);
  poll_all(self);
}

static void a_latch_that_is_shut_again_has_let_them_go(void **state) {
  (void)state;
  const subject its = {latch_init, latch_make, latch_open, latch_destroy, VOLT_OK, VOLT_PENDING};
  begin(&its, shut_and_poll_all);
  latch_open();
  end();
}

static void wait_again_and_poll(hostile_waker *self) {
  static volt_future again;
  (void)self;
  if (!is_first()) return;
  volt_waker nobody = {NULL, NULL};
  notify_make(&again, 0);
  assert_result(volt_future_poll(&again, nobody), VOLT_PENDING);
  assert_result(volt_future_poll(&again, nobody), VOLT_PENDING); /* not of those that were let go */
  volt_future_cancel(&again);
  poll_all(self);
}

static void who_comes_later_waits(void **state) {
  (void)state;
  const subject its = {notify_init, notify_make, notify_open, notify_destroy, VOLT_OK, 0};
  begin(&its, wait_again_and_poll);
  notify_open();
  end();
}

/* ---- a biased select with the token first takes no job once the token is cancelled ---- */

static struct worker {
  volt_future branch[2];
  volt_future *branches[2];
  volt_select select;
  uint64_t job;
} worker;

static void give_a_job_and_poll(hostile_waker *self) {
  (void)self;
  if (!is_first()) return;
  assert_true(volt_token_is_cancelled(&below));
  uint64_t job = 7;
  assert_result(volt_broadcast_send(&broadcast, &job), VOLT_OK);
  volt_waker nobody = {NULL, NULL};
  assert_result(volt_future_poll(&worker.select.future, nobody), VOLT_OK);
  assert_int_equal(volt_select_winner(&worker.select), 0);
}

static void a_cancelled_token_comes_first(void **state) {
  (void)state;
  const subject its = {token_init, token_make, token_open, token_destroy, VOLT_OK, VOLT_OK};
  broadcast_init();
  begin(&its, give_a_job_and_poll);
  worker.branches[0] = volt_token_wait_future(&worker.branch[0], &below);
  worker.branches[1] =
      volt_broadcast_recv_future(&worker.branch[1], &receivers[WAITERS], &worker.job);
  volt_future_made(volt_select_future(&worker.select, worker.branches, 2, VOLT_SELECT_BIASED));
  volt_waker nobody = {NULL, NULL};
  assert_result(volt_future_poll(&worker.select.future, nobody), VOLT_PENDING);
  token_open();
  end();
  broadcast_destroy();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(notify_all),
      cmocka_unit_test(latch_open_),
      cmocka_unit_test(barrier_open_),
      cmocka_unit_test(once_done),
      cmocka_unit_test(oneshot_sent),
      cmocka_unit_test(oneshot_closed),
      cmocka_unit_test(oneshot_recv_closed),
      cmocka_unit_test(watch_sent),
      cmocka_unit_test(watch_closed),
      cmocka_unit_test(broadcast_sent),
      cmocka_unit_test(broadcast_closed),
      cmocka_unit_test(token_cancelled),
      cmocka_unit_test(semaphore_closed),
      cmocka_unit_test(channel_closed_for_receivers),
      cmocka_unit_test(channel_closed_for_senders),
      cmocka_unit_test(channel_closed_for_watchers),
      cmocka_unit_test(permit_channel_closed),
      cmocka_unit_test(mailbox_closed),
      cmocka_unit_test(budget_closed),
      cmocka_unit_test(budget_refused),
      cmocka_unit_test(one_receiver_has_the_value),
      cmocka_unit_test(each_registration_is_settled_once),
      cmocka_unit_test(a_latch_that_is_shut_again_has_let_them_go),
      cmocka_unit_test(who_comes_later_waits),
      cmocka_unit_test(a_cancelled_token_comes_first),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
