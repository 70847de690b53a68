/* select_channel.h: selects whose branches receive from three channels, unless a test makes others
 * of them; and one who polls, whose books must balance in the end. */
#ifndef VOLT_TEST_SELECT_CHANNEL_H
#define VOLT_TEST_SELECT_CHANNEL_H

#include "fake_waker.h"
#include "poller.h"

enum { CHANNELS = 3, CAPACITY = 2 };

static volt_chan chan[CHANNELS];
static uint64_t memory[CHANNELS][2 * CAPACITY];
static volt_future f[CHANNELS];
static volt_future *branches[CHANNELS + 1];
static uint32_t in[CHANNELS];  /* where branch i receives */
static uint32_t out[CHANNELS]; /* what branch i sends */
static volt_select s;
static volt_sem sem;
static volt_future permit;
static volt_timers timers; /* virtual */
static volt_sleep_op nap;
static volt_timeout timeout;
static poller p;
static fake_waker other;

static inline int set_up(void **state) {
  (void)state;
  for (uint32_t i = 0; i < CHANNELS; i++) {
    assert_result(volt_chan_init(&chan[i], CAPACITY, sizeof in[0], memory[i], sizeof memory[i]),
                  VOLT_OK);
    in[i] = 0;
    out[i] = 100 + i;
    memset((void *)&f[i], 0xee, sizeof f[i]); /* its content is overwritten */
    branches[i] = volt_chan_recv_future(&f[i], &chan[i], &in[i]);
  }
  memset((void *)&s, 0xee, sizeof s);
  memset((void *)&permit, 0xee, sizeof permit);
  memset((void *)&nap, 0xee, sizeof nap);
  memset((void *)&timeout, 0xee, sizeof timeout);
  volt_sem_init(&sem, 0);
  volt_timers_init_virtual(&timers, (volt_waker){NULL, NULL});
  poller_init(&p);
  fake_waker_init(&other, 0, NULL);
  return 0;
}

/* Each registration has ended in a wake or a drop. */
static inline int tear_down(void **state) {
  (void)state;
  assert_int_equal(p.ctx.registered, volt_load_acquire(&p.wakes) + volt_load_acquire(&p.drops));
  for (uint32_t i = 0; i < CHANNELS; i++) volt_chan_destroy(&chan[i], NULL, NULL);
  volt_timers_destroy(&timers);
  return 0;
}

static inline void send(uint32_t i, uint32_t elem) {
  assert_result(volt_chan_try_send(&chan[i], &elem), VOLT_OK);
}

static inline void fill(uint32_t i) {
  for (uint32_t elem = 1; elem <= CAPACITY; elem++) send(i, elem);
}

static inline void expect_received(uint32_t i, uint32_t elem) {
  uint32_t got = 0;
  assert_result(volt_chan_try_recv(&chan[i], &got), VOLT_OK);
  assert_int_equal(got, elem);
}

static inline void expect_empty(uint32_t i) {
  uint32_t got = 0;
  assert_int_equal(volt_chan_waiters(&chan[i]), 0);
  assert_int_equal(volt_chan_len(&chan[i]), 0);
  assert_result(volt_chan_try_recv(&chan[i], &got), VOLT_EAGAIN);
}

static inline void select_of(uint32_t count, unsigned how) {
  volt_future_made(volt_select_future(&s, branches, count, how));
}

static inline void expect_poll(int result, uint32_t winner) {
  assert_result(poller_poll(&p, &s.future), result);
  assert_int_equal(volt_select_winner(&s), winner);
}

static inline void expect_pending(void) {
  expect_poll(VOLT_PENDING, UINT32_MAX);
}

/* A branch that has ended keeps its result. */
static inline void expect_branch(uint32_t i, int result) {
  assert_result(volt_future_poll(branches[i], fake_waker_of(&other)), result);
}

/* Branch winner took effect, and no other of the first count. */
static inline void expect_only(uint32_t count, uint32_t winner) {
  for (uint32_t i = 0; i < count; i++) {
    if (branches[i]) expect_branch(i, i == winner ? VOLT_OK : VOLT_ECANCELED);
  }
}

static inline void add_permit(uint32_t at) {
  branches[at] = volt_sem_acquire_future(&permit, &sem, 1);
}

#define A_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
