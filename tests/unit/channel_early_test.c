/* channel_early_test.c: who comes to a slot whose element somebody else is still moving naps, and
 * claims nothing; and lets nobody wait for what is there. */
#include "channel_crowd.h"
#include "futex_hook.h"

static channel_crowd c;
static uint32_t elems[4] = {10, 11, 12, 13};
static uint32_t moved;

/* The one of whom that is so has claimed the position, and is done by the third nap. */
static struct {
  uint64_t word; /* what it is until then */
  volt_chan_slot *slot;
  uint32_t sequence; /* when it is done */
  uint32_t naps;
} early;

static futex_outcome nap_once_more(void *arg, const futex_call *call) {
  (void)arg;
  assert_true(call->is_wait && call->timeout);
  assert_int_equal(volt_load_relaxed(&c.chan.queue.word), early.word);
  early.naps += 1;
  if (early.naps == 3) volt_store_relaxed(&early.slot->sequence, early.sequence);
  return FUTEX_ETIMEDOUT;
}

static void begin_early(uint32_t position, uint32_t until_then) {
  early.word = volt_load_relaxed(&c.chan.queue.word);
  early.slot = volt_chan_slot_(volt_chan_ring_of_(&c.chan), position);
  early.sequence = volt_load_relaxed(&early.slot->sequence);
  early.naps = 0;
  volt_store_relaxed(&early.slot->sequence, until_then);
  futex_hook_set(nap_once_more, NULL);
}

static void end_early(uint32_t naps) {
  futex_hook_set(NULL, NULL);
  assert_int_equal(early.naps, naps);
  if (naps == 0) volt_store_relaxed(&early.slot->sequence, early.sequence);
}

/* Empty, and both places have been used. */
static void begin_used(void) {
  channel_crowd_init(&c, 2);
  channel_crowd_fill(&c, 0, 2);
  channel_crowd_drain(&c, 0, 2);
}

static void no_element_is_claimed(void **state) {
  (void)state;
  for (uint32_t many = 0; many < 2; many++) {
    channel_crowd_init(&c, 2);
    channel_crowd_fill(&c, 7, 1);
    uint32_t elem = 0;
    begin_early(0, 0);
    assert_result(many ? volt_chan_try_recv_many(&c.chan, &elem, 1, &moved)
                       : volt_chan_try_recv(&c.chan, &elem),
                  VOLT_OK);
    end_early(3);
    assert_int_equal(elem, 7);
    channel_crowd_destroy(&c);
  }
}

static void no_place_is_claimed(void **state) {
  (void)state;
  for (uint32_t many = 0; many < 2; many++) {
    begin_used();
    uint32_t elem = 7;
    begin_early(0, 1);
    assert_result(many ? volt_chan_try_send_many(&c.chan, &elem, 1, &moved)
                       : volt_chan_try_send(&c.chan, &elem),
                  VOLT_OK);
    end_early(3);
    channel_crowd_drain(&c, 7, 1);
    channel_crowd_destroy(&c);
  }
}

/* ---- under the lock ---- */

/* Behind senders that wait. */
static void no_element_is_claimed_for_others(void **state) {
  (void)state;
  channel_crowd_init(&c, 2);
  channel_crowd_fill(&c, 7, 2);
  channel_crowd_queue_senders(&c, 0, 1);
  uint32_t elem = 0;
  begin_early(0, 0);
  assert_result(volt_chan_try_recv(&c.chan, &elem), VOLT_OK);
  end_early(3);
  assert_int_equal(elem, 7);
  assert_result(volt_waiter_result(&c.waiters[0]), VOLT_OK);
  channel_crowd_drain(&c, 8, 1);
  channel_crowd_drain(&c, 0, 1);
  channel_crowd_destroy(&c);
}

/* The first element is there, the second is not. */
static void what_is_there_is_received(void **state) {
  (void)state;
  channel_crowd_init(&c, 2);
  channel_crowd_fill(&c, 7, 2);
  channel_crowd_queue_senders(&c, 0, 1);
  uint32_t into[2] = {0, 0};
  begin_early(1, 0);
  assert_result(volt_chan_try_recv_many(&c.chan, into, 2, &moved), VOLT_OK);
  end_early(0);
  assert_int_equal(moved, 1);
  assert_int_equal(into[0], 7);
  channel_crowd_expect(&c, 0, VOLT_OK, 1);
  channel_crowd_drain(&c, 8, 1);
  channel_crowd_drain(&c, 0, 1);
  channel_crowd_destroy(&c);
}

/* One is handed over, the place for the second is not there: the receiver does not wait for it. */
static void what_is_waited_for_is_sent(void **state) {
  (void)state;
  begin_used();
  channel_crowd_queue_receivers(&c, 0, 1);
  begin_early(0, 1);
  assert_result(volt_chan_try_send_many(&c.chan, elems, 2, &moved), VOLT_OK);
  end_early(0);
  assert_int_equal(moved, 1);
  channel_crowd_expect(&c, 0, VOLT_OK, 1);
  channel_crowd_expect_elem(&c, 0, 10);
  channel_crowd_destroy(&c);
}

/* The same, and it is the place after that. */
static void what_there_is_room_for_is_sent(void **state) {
  (void)state;
  begin_used();
  channel_crowd_queue_receivers(&c, 0, 1);
  begin_early(1, 1);
  assert_result(volt_chan_try_send_many(&c.chan, elems, 3, &moved), VOLT_OK);
  end_early(0);
  assert_int_equal(moved, 2);
  channel_crowd_expect_elem(&c, 0, 10);
  channel_crowd_drain(&c, 11, 1);
  channel_crowd_destroy(&c);
}

/* ---- in a select ---- */

static volt_chan other;
static uint64_t memory[2];
static uint32_t in[2];
static volt_future f[2];
static volt_select s;
static volt_future *branches[2];
static const volt_waker nobody = {NULL, NULL};

static void begin_select(volt_future *here) {
  assert_result(volt_chan_init(&other, 1, 4, memory, sizeof memory), VOLT_OK);
  branches[0] = volt_chan_recv_future(&f[0], &other, &in[0]);
  branches[1] = here;
  volt_select_future(&s, branches, 2, VOLT_SELECT_BIASED);
}

/* It has the lock, for another branch waits, and nobody waits here. */
static void a_select_claims_no_place(void **state) {
  (void)state;
  begin_used();
  begin_select(volt_chan_send_future(&f[1], &c.chan, elems));
  begin_early(0, 1);
  assert_result(volt_future_poll(&s.future, nobody), VOLT_OK);
  end_early(3);
  assert_int_equal(volt_select_winner(&s), 1);
  channel_crowd_drain(&c, 10, 1);
  channel_crowd_destroy(&c);
  volt_chan_destroy(&other, NULL, NULL);
}

/* Nobody waits but the loser of one: the only case in which one place is claimed before. */
static void behind_a_loser_one_place_is_claimed(void **state) {
  (void)state;
  begin_used();
  begin_select(volt_chan_recv_future(&f[1], &c.chan, &in[1]));
  assert_result(volt_future_poll(&s.future, nobody), VOLT_PENDING);
  assert_result(volt_chan_try_send(&other, elems), VOLT_OK);
  assert_int_equal(volt_chan_waiters(&c.chan), 1);
  begin_early(0, 1);
  uint64_t claimed = volt_chan_word_(1, 1);
  early.word = (early.word & ~(uint64_t)VOLT_WORD_QUEUED_) + claimed;
  assert_result(volt_chan_try_send_many(&c.chan, elems + 1, 2, &moved), VOLT_OK);
  end_early(3);
  assert_int_equal(moved, 1);
  channel_crowd_drain(&c, 11, 1);
  assert_result(volt_future_poll(&s.future, nobody), VOLT_OK);
  assert_int_equal(volt_select_winner(&s), 0);
  channel_crowd_destroy(&c);
  volt_chan_destroy(&other, NULL, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_element_is_claimed),
      cmocka_unit_test(no_place_is_claimed),
      cmocka_unit_test(no_element_is_claimed_for_others),
      cmocka_unit_test(what_is_there_is_received),
      cmocka_unit_test(what_is_waited_for_is_sent),
      cmocka_unit_test(what_there_is_room_for_is_sent),
      cmocka_unit_test(a_select_claims_no_place),
      cmocka_unit_test(behind_a_loser_one_place_is_claimed),
  };
  return cmocka_run_group_tests_name("a channel's slots in use", tests, NULL, NULL);
}
