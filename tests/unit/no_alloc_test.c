/* no_alloc_test.c: nothing that one can wait for allocates, whether it is waited for by a waiter, by
 * a future that is granted or cancelled, or by a thread: every allocation of the process is counted. */
#include "alloc_count.h"
#include "fake_waker.h"
#include "unit.h"

enum { ROUNDS = 1000, WAITERS = 3 };

static fake_waker wakers[WAITERS];
static volt_waiter waiters[WAITERS];
static volt_future futures[WAITERS];
static uint64_t allocations;
static uint64_t past; /* a deadline */

static int set_up(void **state) {
  (void)state;
  for (uint32_t i = 0; i < WAITERS; i++) {
    fake_waker_init(&wakers[i], i, NULL);
    memset((void *)&waiters[i], 0, sizeof waiters[i]);
  }
  allocations = alloc_count_allocations();
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  assert_int_equal(alloc_count_allocations() - allocations, 0);
  return 0;
}

static volt_waker waker_of(uint32_t i) {
  return fake_waker_of(&wakers[i]);
}

/* A future that has to wait, and is given up; and one that is polled again when it is granted. */
static void expect_pending(volt_future *f) {
  if (volt_future_poll(f, waker_of(0)) != VOLT_PENDING) fail();
}

static void expect_ready(volt_future *f, int result) {
  if (volt_future_poll(f, waker_of(0)) != result) fail();
}

static void given_up(volt_future *f) {
  expect_pending(f);
  volt_future_cancel(f);
}

static void of_a_channel(void **state) {
  (void)state;
  static uint64_t memory[64];
  volt_chan c;
  uint64_t sent[4] = {1, 2, 3, 4};
  uint64_t got[4];
  uint32_t moved;
  if (volt_chan_init(&c, 2, sizeof sent[0], memory, sizeof memory) != VOLT_OK) fail();
  for (int i = 0; i < ROUNDS; i++) {
    given_up(volt_chan_recv_future(&futures[0], &c, got));
    if (volt_chan_recv_blocking(&c, got, past) != VOLT_ETIMEDOUT) fail();
    if (volt_chan_recv(&c, &waiters[0], got, waker_of(0)) != VOLT_PENDING) fail();
    if (volt_chan_try_send_many(&c, sent, 3, &moved) != VOLT_OK || moved != 3) fail();
    if (volt_chan_send(&c, &waiters[1], &sent[3], waker_of(1)) != VOLT_PENDING) fail();
    given_up(volt_chan_send_future(&futures[0], &c, sent));
    if (volt_chan_recv_many_blocking(&c, got, 4, &moved, past) != VOLT_OK || moved != 2) fail();
    if (volt_chan_try_recv(&c, got) != VOLT_OK || got[0] != 4) fail();
  }
  volt_chan_close(&c);
  volt_chan_destroy(&c, NULL, NULL);
}

static void of_a_select(void **state) {
  (void)state;
  static uint64_t memory[2][16];
  volt_chan c[2];
  volt_select s;
  uint64_t got[2];
  uint64_t elem = 7;
  for (int i = 0; i < 2; i++) {
    if (volt_chan_init(&c[i], 1, sizeof elem, memory[i], sizeof memory[i]) != VOLT_OK) fail();
  }
  for (int i = 0; i < ROUNDS; i++) {
    volt_future *both[] = {volt_chan_recv_future(&futures[0], &c[0], &got[0]),
                           volt_chan_recv_future(&futures[1], &c[1], &got[1])};
    volt_future *one = volt_select_future(&s, both, 2, VOLT_SELECT_FAIR);
    expect_pending(one);
    if (volt_chan_try_send(&c[i % 2], &elem) != VOLT_OK) fail();
    expect_ready(one, VOLT_OK);
  }
  for (int i = 0; i < 2; i++) volt_chan_destroy(&c[i], NULL, NULL);
}

static void of_notify_and_cond(void **state) {
  (void)state;
  volt_notify n = VOLT_NOTIFY_INIT;
  volt_mutex m;
  volt_cond c;
  volt_mutex_init(&m);
  volt_cond_init(&c);
  for (int i = 0; i < ROUNDS; i++) {
    given_up(volt_notify_future(&futures[0], &n));
    if (volt_notify_wait_blocking(&n, past) != VOLT_ETIMEDOUT) fail();
    if (volt_notify_wait(&n, &waiters[0], waker_of(0)) != VOLT_PENDING) fail();
    volt_notify_all(&n);
    if (volt_mutex_try_lock(&m) != VOLT_OK) fail();
    if (volt_cond_wait(&c, &m, &waiters[1], waker_of(1)) != VOLT_PENDING) fail();
    volt_cond_broadcast(&c);
    if (volt_waiter_result(&waiters[1]) != VOLT_OK) fail();
    if (volt_cond_wait_blocking(&c, &m, past) != VOLT_ETIMEDOUT) fail();
    volt_mutex_unlock(&m);
  }
  volt_cond_destroy(&c);
  volt_mutex_destroy(&m);
  volt_notify_destroy(&n);
}

static void of_those_that_open(void **state) {
  (void)state;
  for (int i = 0; i < ROUNDS; i++) {
    volt_barrier b = VOLT_BARRIER_INIT(2);
    volt_latch l = VOLT_LATCH_INIT(1);
    volt_once o = VOLT_ONCE_INIT;
    volt_token t;
    volt_token_init(&t);
    given_up(volt_barrier_wait_future(&futures[0], &b));
    expect_pending(volt_barrier_wait_future(&futures[0], &b));
    if (volt_barrier_wait_blocking(&b, past) != VOLT_LEADER) fail();
    expect_ready(&futures[0], VOLT_OK);
    given_up(volt_latch_wait_future(&futures[0], &l));
    if (volt_latch_wait(&l, &waiters[0], waker_of(0)) != VOLT_PENDING) fail();
    volt_latch_done(&l);
    if (volt_once_begin(&o, &waiters[1], waker_of(1)) != VOLT_OK) fail();
    given_up(volt_once_begin_future(&futures[0], &o));
    volt_once_done(&o);
    given_up(volt_token_future(&futures[0], &t));
    if (volt_token_wait(&t, &waiters[1], waker_of(1)) != VOLT_PENDING) fail();
    volt_token_cancel(&t);
    volt_barrier_destroy(&b);
    volt_latch_destroy(&l);
    volt_once_destroy(&o);
    volt_token_destroy(&t);
  }
}

static void of_values(void **state) {
  (void)state;
  static uint64_t memory[4];
  uint64_t elem = 1;
  uint64_t got;
  for (int i = 0; i < ROUNDS; i++) {
    volt_oneshot o = VOLT_ONESHOT_INIT(sizeof elem, memory);
    given_up(volt_oneshot_recv_future(&futures[0], &o, &got));
    expect_pending(volt_oneshot_recv_future(&futures[0], &o, &got));
    if (volt_oneshot_send(&o, &elem) != VOLT_OK) fail();
    expect_ready(&futures[0], VOLT_OK);
    volt_oneshot_destroy(&o);

    volt_broadcast b;
    volt_broadcast_receiver r;
    if (volt_broadcast_init(&b, 2, sizeof elem, memory, sizeof memory) != VOLT_OK) fail();
    volt_broadcast_subscribe(&b, &r);
    given_up(volt_broadcast_recv_future(&futures[0], &r, &got));
    expect_pending(volt_broadcast_recv_future(&futures[0], &r, &got));
    if (volt_broadcast_send(&b, &elem) != VOLT_OK) fail();
    expect_ready(&futures[0], VOLT_OK);
    volt_broadcast_destroy(&b);

    volt_watch w;
    uint64_t seen = 1;
    volt_watch_init(&w, sizeof elem, memory, &elem);
    given_up(volt_watch_changed_future(&futures[0], &w, &seen));
    expect_pending(volt_watch_changed_future(&futures[0], &w, &seen));
    if (volt_watch_send(&w, &elem) != VOLT_OK) fail();
    expect_ready(&futures[0], VOLT_OK);
    volt_watch_destroy(&w);
  }
}

static void of_a_limit(void **state) {
  (void)state;
  volt_sem sem = VOLT_SEM_INIT(2);
  for (int i = 0; i < ROUNDS; i++) {
    if (volt_sem_try_acquire(&sem, 2) != VOLT_OK) fail();
    volt_sem_set_limit(&sem, 1);
    given_up(volt_sem_acquire_all_future(&futures[0], &sem));
    expect_pending(volt_sem_acquire_all_future(&futures[0], &sem));
    volt_sem_release(&sem, 2);
    expect_ready(&futures[0], VOLT_OK);
    volt_sem_release(&sem, volt_sem_future_taken(&futures[0]));
    volt_sem_set_limit(&sem, 2);
  }
  volt_sem_destroy(&sem);
}

int main(void) {
  past = volt_now_ns();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(of_a_channel, set_up, tear_down),
      cmocka_unit_test_setup_teardown(of_a_select, set_up, tear_down),
      cmocka_unit_test_setup_teardown(of_notify_and_cond, set_up, tear_down),
      cmocka_unit_test_setup_teardown(of_those_that_open, set_up, tear_down),
      cmocka_unit_test_setup_teardown(of_values, set_up, tear_down),
      cmocka_unit_test_setup_teardown(of_a_limit, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
