/* channel_misuse_test.c: what must abort, and that it says what, where and the values. */
#include "channel_crowd.h"
#include "death.h"

static channel_crowd c;
static channel_crowd other;
static volt_future f;

static const volt_waker nobody = {NULL, NULL};

static int set_up(void **state) {
  (void)state;
  channel_crowd_init(&c, 1);
  channel_crowd_init(&other, 1);
  return 0;
}

static void destroy(void *arg) {
  volt_chan_destroy((volt_chan *)arg, NULL, NULL);
}

static void destroyed_while_somebody_waits(void **state) {
  (void)state;
  channel_crowd_queue_receivers(&c, 0, 3);
  assert_death(destroy, &c.chan, "volt_chan", death_address(&c.chan),
               "destroyed while 3 waiters are queued");
  channel_crowd_fill(&other, 1, 1);
  channel_crowd_queue_senders(&other, 0, 1);
  assert_death(destroy, &other.chan, "volt_chan", "destroyed while 1 waiters are queued");
}

static void receive_again(void *arg) {
  ignore_result(volt_chan_recv((volt_chan *)arg, &c.waiters[0], &c.elems[0], nobody));
}

static void receive_many_again(void *arg) {
  ignore_result(volt_chan_recv_many((volt_chan *)arg, &c.waiters[0], &c.elems[0], 2, nobody));
}

static void a_waiter_that_is_queued(void **state) {
  (void)state;
  channel_crowd_queue_receivers(&c, 0, 1);
  assert_death(receive_again, &c.chan, "volt_chan", death_address(&c.waiters[0]), "already queued");
  assert_death(receive_many_again, &c.chan, "volt_chan", "already queued");
  assert_death(receive_again, &other.chan, "volt_chan", "already queued");
}

static void a_waiter_that_is_not_initialised(void **state) {
  (void)state;
  memset((void *)&c.waiters[0], 0x5a, sizeof c.waiters[0]);
  assert_death(receive_again, &c.chan, "volt_chan", death_address(&c.waiters[0]),
               "not initialised");
}

static void cancel_there(void *arg) {
  ignore_result(volt_chan_cancel_recv((volt_chan *)arg, &c.waiters[0]));
}

static void the_wrong_channel(void **state) {
  (void)state;
  channel_crowd_queue_receivers(&c, 0, 1);
  assert_death(cancel_there, &other.chan, "volt_chan", death_address(&c.waiters[0]),
               death_address(&c.chan), death_address(&other.chan));
}

#if VOLT_DEBUG
static void poll_it_with_another_waiter(void *arg) {
  (void)arg;
  f.waiter.id += 1;
  (void)volt_future_poll(&f, nobody);
}

static void a_waiter_that_is_used_behind_our_back(void **state) {
  (void)state;
  volt_chan_recv_future(&f, &c.chan, &c.elems[0]);
  assert_result(volt_future_poll(&f, nobody), VOLT_PENDING);
  assert_death(poll_it_with_another_waiter, NULL, "volt_future", death_address(&f),
               "behind its back");
  volt_future_cancel(&f);
}
#endif

static void cancel_what_was_moved(void *arg) {
  volt_future moved = f;
  (void)arg;
  volt_future_cancel(&moved);
}

static void a_waiter_that_is_moved_while_it_waits(void **state) {
  (void)state;
  for (int behind = 0; behind < 2; behind++) {
    if (!behind) channel_crowd_queue_receivers(&c, 0, 1);
    volt_chan_recv_future(&f, &c.chan, &c.elems[1]);
    assert_result(volt_future_poll(&f, nobody), VOLT_PENDING);
    if (behind) channel_crowd_queue_receivers(&c, 0, 1);
    assert_death(cancel_what_was_moved, NULL, "volt_waiter_result", "copied or moved");
    volt_future_cancel(&f);
    assert_true(channel_crowd_cancel_recv(&c, 0));
  }
}

/* Not misuse: what is said to be harmless is. */
static void what_is_harmless(void **state) {
  (void)state;
  assert_true(channel_crowd_cancel_recv(&c, 0)); /* never used */
  volt_chan_close(&c.chan);
  volt_chan_close(&c.chan);
  memset((void *)&f, 0, sizeof f);
  volt_future_cancel(&f);
  volt_chan_destroy(&c.chan, NULL, NULL);
  channel_crowd_fill(&other, 1, 1);
  volt_chan_destroy(&other.chan, NULL, NULL); /* with an element in it */
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup(destroyed_while_somebody_waits, set_up),
    cmocka_unit_test_setup(a_waiter_that_is_queued, set_up),
    cmocka_unit_test_setup(a_waiter_that_is_not_initialised, set_up),
    cmocka_unit_test_setup(the_wrong_channel, set_up),
    cmocka_unit_test_setup(a_waiter_that_is_moved_while_it_waits, set_up),
#if VOLT_DEBUG
    cmocka_unit_test_setup(a_waiter_that_is_used_behind_our_back, set_up),
#endif
    cmocka_unit_test_setup(what_is_harmless, set_up),
  };
  return cmocka_run_group_tests_name("misuse of channels", tests, NULL, NULL);
}
