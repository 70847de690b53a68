/* oneshot_test.c: every sentence of volt/oneshot.h, polled by hand. */
#include "alloc_count.h"
#include "death.h"
#include "fake_waker.h"
#include "family.h"
#include "poller.h"

FAMILY(oneshot, uint64_t slot; uint64_t value = 7;
       volt_oneshot it[1] = {VOLT_ONESHOT_INIT(sizeof slot, &slot)},
       volt_oneshot_recv_waiter(it, w, &value, waker), volt_oneshot_recv_until(it, &value, past),
       volt_oneshot_recv_future(f, it, &value), FAMILY_OK(volt_oneshot_send(it, &value)),
       volt_oneshot_destroy(it))

typedef struct answer {
  uint32_t number;
  char text[13];
} answer;

static const answer first = {17, "seventeen"};
static const answer none = {0, ""};

static volt_oneshot o;
static answer slot;
static answer got;
static volt_waiter w;
static volt_future f;
static fake_waker a;
static fake_waker b;

static int set_up(void **state) {
  (void)state;
  memset((void *)&o, 0xee, sizeof o);
  volt_oneshot_init(&o, sizeof slot, &slot);
  slot = got = none;
  memset((void *)&w, 0, sizeof w);
  fake_waker_init(&a, 0, NULL);
  fake_waker_init(&b, 1, NULL);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  volt_oneshot_destroy(&o);
  return 0;
}

static void expect_got(const answer *want) {
  assert_int_equal(got.number, want->number);
  assert_string_equal(got.text, want->text);
  got = none;
}

static void it_is_empty_but_for_a_value(void **state) {
  (void)state;
  assert_true(volt_oneshot_is_empty(&o));
  assert_result(volt_oneshot_send(&o, &first), VOLT_OK);
  assert_false(volt_oneshot_is_empty(&o));
  volt_oneshot_close(&o); /* too late */
  assert_false(volt_oneshot_is_empty(&o));
  assert_result(volt_oneshot_try_recv(&o, &got), VOLT_OK);
  assert_true(volt_oneshot_is_empty(&o));

  volt_oneshot closed = VOLT_ONESHOT_INIT(0, NULL);
  volt_oneshot_close(&closed);
  assert_true(volt_oneshot_is_empty(&closed));
  volt_oneshot_destroy(&closed);
}

static void expect_poll(int result) {
  assert_result(volt_future_poll(&f, fake_waker_of(&a)), result);
}

static void expect_wakes(uint32_t count) {
  assert_int_equal(fake_waker_calls(&a), count);
}

/* The value can be received now, and once. */
static void expect_received(void) {
  assert_result(volt_oneshot_try_recv(&o, &got), VOLT_OK);
  expect_got(&first);
  assert_result(volt_oneshot_try_recv(&o, &got), VOLT_ECLOSED);
  expect_got(&none);
}

/* ---- without waiting ---- */

static void one_value_goes_through(void **state) {
  (void)state;
  assert_result(volt_oneshot_try_recv(&o, &got), VOLT_EAGAIN);
  expect_got(&none);
  assert_result(volt_oneshot_send(&o, &first), VOLT_OK);
  expect_received();
}

static void all_waits_find_what_was_sent(void **state) {
  for (int way = 0; way < 3; way++) {
    set_up(state);
    assert_result(volt_oneshot_send(&o, &first), VOLT_OK);
    if (way == 0) {
      assert_result(volt_oneshot_recv_waiter(&o, &w, &got, fake_waker_of(&a)), VOLT_OK);
      assert_result(volt_waiter_result(&w), VOLT_ECANCELED); /* not used */
    } else if (way == 1) {
      assert_result(volt_oneshot_recv_until(&o, &got, PAST_DEADLINE), VOLT_OK);
    } else {
      volt_future_made(volt_oneshot_recv_future(&f, &o, &got));
      expect_poll(VOLT_OK);
      got = none;
      expect_poll(VOLT_OK); /* and takes nothing more */
      expect_got(&none);
      got = first;
    }
    expect_got(&first);
    expect_wakes(0);
  }
}

static void the_static_one_is_empty(void **state) {
  (void)state;
  static answer place;
  static volt_oneshot still = VOLT_ONESHOT_INIT(sizeof place, &place);
  assert_result(volt_oneshot_try_recv(&still, &got), VOLT_EAGAIN);
  assert_result(volt_oneshot_send(&still, &first), VOLT_OK);
  assert_result(volt_oneshot_try_recv(&still, &got), VOLT_OK);
  expect_got(&first);
  volt_oneshot_destroy(&still);
}

static void a_signal_has_no_value(void **state) {
  (void)state;
  volt_oneshot_init(&o, 0, NULL);
  assert_result(volt_oneshot_try_recv(&o, NULL), VOLT_EAGAIN);
  assert_result(volt_oneshot_send(&o, NULL), VOLT_OK);
  assert_result(volt_oneshot_try_recv(&o, NULL), VOLT_OK);
  assert_result(volt_oneshot_try_recv(&o, NULL), VOLT_ECLOSED);
}

/* ---- close ---- */

static void closed_before_a_value_nothing_comes(void **state) {
  (void)state;
  assert_false(volt_oneshot_is_closed(&o));
  for (int i = 0; i < 2; i++) { /* closing twice does nothing more */
    volt_oneshot_close(&o);
    assert_true(volt_oneshot_is_closed(&o));
    assert_result(volt_oneshot_send(&o, &first), VOLT_ECLOSED);
    assert_result(volt_oneshot_try_recv(&o, &got), VOLT_ECLOSED);
    assert_result(volt_oneshot_recv_waiter(&o, &w, &got, fake_waker_of(&a)), VOLT_ECLOSED);
    assert_result(volt_oneshot_recv(&o, &got), VOLT_ECLOSED);
    volt_future_made(volt_oneshot_recv_future(&f, &o, &got));
    expect_poll(VOLT_ECLOSED);
  }
  expect_got(&none);
  expect_wakes(0);
}

static void closed_after_a_value_it_can_be_received(void **state) {
  (void)state;
  assert_result(volt_oneshot_send(&o, &first), VOLT_OK);
  volt_oneshot_close(&o);
  assert_false(volt_oneshot_is_closed(&o));
  expect_received();
}

/* ---- waiting ---- */

static void a_waiter_is_told_that_it_is_there(void **state) {
  (void)state;
  assert_result(volt_oneshot_recv_waiter(&o, &w, &got, fake_waker_of(&a)), VOLT_PENDING);
  assert_int_equal(volt_oneshot_waiters(&o), 1);
  assert_result(volt_waiter_result(&w), VOLT_PENDING);
  assert_result(volt_oneshot_send(&o, &first), VOLT_OK);
  expect_wakes(1);
  assert_int_equal(volt_oneshot_waiters(&o), 0);
  assert_result(volt_waiter_result(&w), VOLT_OK);
  expect_got(&none); /* it lies in the slot */
  expect_received();
  expect_wakes(1);
}

static void a_waiter_is_told_of_the_end(void **state) {
  (void)state;
  assert_result(volt_oneshot_recv_waiter(&o, &w, &got, fake_waker_of(&a)), VOLT_PENDING);
  volt_oneshot_close(&o);
  expect_wakes(1);
  assert_result(volt_waiter_result(&w), VOLT_ECLOSED);
}

static void a_cancelled_wait_loses_nothing(void **state) {
  for (int late = 0; late < 2; late++) {
    set_up(state);
    assert_result(volt_oneshot_recv_waiter(&o, &w, &got, fake_waker_of(&a)), VOLT_PENDING);
    if (late) assert_result(volt_oneshot_send(&o, &first), VOLT_OK);
    assert_int_equal(volt_oneshot_cancel(&o, &w), !late);
    if (!late) assert_result(volt_oneshot_send(&o, &first), VOLT_OK);
    expect_wakes((uint32_t)late);
    expect_received();
  }
}

static void a_waker_is_replaced(void **state) {
  (void)state;
  assert_result(volt_oneshot_recv_waiter(&o, &w, &got, fake_waker_of(&a)), VOLT_PENDING);
  assert_true(volt_waiter_set_waker(&w, fake_waker_of(&b)));
  assert_result(volt_oneshot_send(&o, &first), VOLT_OK);
  expect_wakes(0);
  assert_int_equal(fake_waker_calls(&b), 1);
  assert_false(volt_waiter_set_waker(&w, fake_waker_of(&a)));
}

static void send_from_within(hostile_waker *self) {
  self->result = volt_oneshot_try_recv((volt_oneshot *)self->object, &got);
  volt_oneshot_destroy((volt_oneshot *)self->object);
  memset(self->object, 0xaa, sizeof o);
}

/* Nothing is held when the waker runs, and nothing is touched afterwards. */
static void the_waker_may_end_it(void **state) {
  hostile_waker h;
  hostile_waker_init(&h, 0, NULL, send_from_within, &o);
  assert_result(volt_oneshot_recv_waiter(&o, &w, &got, hostile_waker_of(&h)), VOLT_PENDING);
  assert_result(volt_oneshot_send(&o, &first), VOLT_OK);
  assert_result(h.result, VOLT_OK);
  expect_got(&first);
  assert_int_equal(((unsigned char *)&o)[0], 0xaa);
  set_up(state);
}

/* ---- futures ---- */

static void a_future_receives_when_it_looks(void **state) {
  (void)state;
  assert_ptr_equal(volt_oneshot_recv_future(&f, &o, &got), &f);
  expect_poll(VOLT_PENDING);
  assert_result(volt_oneshot_send(&o, &first), VOLT_OK);
  expect_wakes(1);
  expect_got(&none);
  expect_poll(VOLT_OK);
  expect_got(&first);
  assert_result(volt_oneshot_try_recv(&o, &got), VOLT_ECLOSED);
}

static void a_future_learns_of_the_end(void **state) {
  (void)state;
  volt_future_made(volt_oneshot_recv_future(&f, &o, &got));
  expect_poll(VOLT_PENDING);
  volt_oneshot_close(&o);
  expect_wakes(1);
  expect_poll(VOLT_ECLOSED);
}

static void a_dropped_future_loses_nothing(void **state) {
  for (int late = 0; late < 2; late++) {
    set_up(state);
    volt_future_made(volt_oneshot_recv_future(&f, &o, &got));
    expect_poll(VOLT_PENDING);
    if (late) assert_result(volt_oneshot_send(&o, &first), VOLT_OK);
    volt_future_cancel(&f);
    expect_poll(VOLT_ECANCELED);
    if (!late) assert_result(volt_oneshot_send(&o, &first), VOLT_OK);
    expect_received();
  }
}

static void a_deadline_loses_nothing(void **state) {
  (void)state;
  assert_result(volt_oneshot_recv_until(&o, &got, PAST_DEADLINE), VOLT_ETIMEDOUT);
  volt_timers timers;
  volt_timeout timeout;
  volt_timers_init_virtual(&timers, fake_waker_of(&b));
  volt_future_made(volt_oneshot_recv_future(&f, &o, &got));
  volt_future *t = volt_timeout_future(&timeout, &f, &timers, 1000);
  assert_result(volt_future_poll(t, fake_waker_of(&a)), VOLT_PENDING);
  assert_result(volt_oneshot_send(&o, &first), VOLT_OK);
  (void)volt_timers_expire(&timers, 1000); /* in the same instant */
  volt_future_cancel(t);
  assert_result(volt_future_poll(t, fake_waker_of(&a)), VOLT_ECANCELED);
  expect_got(&none);
  expect_received();
  volt_timers_destroy(&timers);
}

static void the_loser_of_a_select_loses_nothing(void **state) {
  for (int polled = 0; polled < 2; polled++) {
    set_up(state);
    volt_sem sem = VOLT_SEM_INIT(0);
    volt_future permit;
    volt_future *branches[] = {volt_sem_acquire_future(&permit, &sem, 1),
                               volt_oneshot_recv_future(&f, &o, &got)};
    volt_select s;
    volt_future_made(volt_select_future(&s, branches, 2, VOLT_SELECT_BIASED));
    if (polled) {
      assert_result(volt_future_poll(&s.future, fake_waker_of(&a)), VOLT_PENDING);
    }
    assert_result(volt_oneshot_send(&o, &first), VOLT_OK);
    volt_sem_release(&sem, 1);
    assert_result(volt_future_poll(&s.future, fake_waker_of(&a)), VOLT_OK);
    assert_int_equal(volt_select_winner(&s), 0);
    expect_got(&none);
    expect_received();
  }
}

/* It took the value, and then it turned out that a channel had won. */
static void undone_it_puts_the_value_back(void **state) {
  (void)state;
  uint64_t memory[4];
  volt_chan chan;
  uint32_t from_chan = 0;
  const uint32_t five = 5;
  volt_future recv;
  assert_result(volt_chan_init(&chan, 1, sizeof five, memory, sizeof memory), VOLT_OK);
  volt_future *branches[] = {volt_oneshot_recv_future(&f, &o, &got),
                             volt_chan_recv_future(&recv, &chan, &from_chan)};
  volt_select s;
  volt_future_made(volt_select_future(&s, branches, 2, VOLT_SELECT_BIASED));
  assert_result(volt_future_poll(&s.future, fake_waker_of(&a)), VOLT_PENDING);
  assert_result(volt_oneshot_send(&o, &first), VOLT_OK);
  assert_result(volt_chan_try_send(&chan, &five), VOLT_OK);
  assert_result(volt_future_poll(&s.future, fake_waker_of(&a)), VOLT_OK);
  assert_int_equal(volt_select_winner(&s), 1);
  assert_int_equal(from_chan, 5);
  assert_result(volt_future_poll(&f, fake_waker_of(&a)), VOLT_ECANCELED);
  got = none;
  expect_received();
  volt_chan_destroy(&chan, NULL, NULL);
}

static void the_winner_of_a_select_has_it(void **state) {
  (void)state;
  volt_sem sem = VOLT_SEM_INIT(0);
  volt_future permit;
  volt_future *branches[] = {volt_sem_acquire_future(&permit, &sem, 1),
                             volt_oneshot_recv_future(&f, &o, &got)};
  volt_select s;
  volt_future_made(volt_select_future(&s, branches, 2, VOLT_SELECT_FAIR));
  assert_result(volt_future_poll(&s.future, fake_waker_of(&a)), VOLT_PENDING);
  assert_result(volt_oneshot_send(&o, &first), VOLT_OK);
  assert_result(volt_future_poll(&s.future, fake_waker_of(&a)), VOLT_OK);
  assert_int_equal(volt_select_winner(&s), 1);
  expect_got(&first);
  assert_result(volt_oneshot_try_recv(&o, &got), VOLT_ECLOSED);
}

static void registrations_are_settled(void **state) {
  (void)state;
  poller p;
  poller q;
  poller_init(&p);
  poller_init(&q);
  volt_future_made(volt_oneshot_recv_future(&f, &o, &got));
  assert_result(poller_poll(&p, &f), VOLT_PENDING);
  assert_result(poller_poll(&q, &f), VOLT_PENDING); /* it moves */
  poller_expect_dropped(&p, 1);
  assert_result(volt_oneshot_send(&o, &first), VOLT_OK);
  poller_expect(&q, 1, 1, 0);
  assert_result(poller_poll(&q, &f), VOLT_OK);
}

/* ---- the sender waits for the end ---- */

static void the_sender_learns_that_nobody_wants_it(void **state) {
  (void)state;
  assert_ptr_equal(volt_oneshot_closed_future(&f, &o), &f);
  expect_poll(VOLT_PENDING);
  volt_oneshot_close(&o);
  expect_wakes(1);
  expect_poll(VOLT_ECLOSED);
  volt_future_made(volt_oneshot_closed_future(&f, &o));
  expect_poll(VOLT_ECLOSED);
}

static void the_sender_learns_that_it_was_sent(void **state) {
  (void)state;
  volt_future recv;
  volt_future_made(volt_oneshot_closed_future(&f, &o));
  expect_poll(VOLT_PENDING);
  volt_future_made(volt_oneshot_recv_future(&recv, &o, &got));
  assert_result(volt_future_poll(&recv, fake_waker_of(&b)), VOLT_PENDING);
  assert_int_equal(volt_oneshot_waiters(&o), 2);
  assert_result(volt_oneshot_send(&o, &first), VOLT_OK);
  expect_wakes(1);
  assert_int_equal(fake_waker_calls(&b), 1);
  expect_poll(VOLT_OK);
  assert_result(volt_future_poll(&recv, fake_waker_of(&b)), VOLT_OK);
  expect_got(&first);
  volt_future_made(volt_oneshot_closed_future(&f, &o));
  expect_poll(VOLT_OK);
}

static void waiting_for_the_end_can_be_given_up(void **state) {
  for (int late = 0; late < 2; late++) {
    set_up(state);
    volt_future_made(volt_oneshot_closed_future(&f, &o));
    expect_poll(VOLT_PENDING);
    if (late) assert_result(volt_oneshot_send(&o, &first), VOLT_OK);
    volt_future_cancel(&f);
    expect_poll(VOLT_ECANCELED);
    assert_int_equal(volt_oneshot_waiters(&o), 0);
    if (!late) assert_result(volt_oneshot_send(&o, &first), VOLT_OK);
    expect_received();
  }
}

/* ---- misuse, memory ---- */

static void send_again(void *arg) {
  ignore_result(volt_oneshot_send((volt_oneshot *)arg, &first));
}

static void destroy_it(void *arg) {
  volt_oneshot_destroy((volt_oneshot *)arg);
}

static void queue_again(void *arg) {
  ignore_result(volt_oneshot_recv_waiter((volt_oneshot *)arg, &w, &got, fake_waker_of(&a)));
}

static void misuse_aborts(void **state) {
  (void)state;
  assert_result(volt_oneshot_recv_waiter(&o, &w, &got, fake_waker_of(&a)), VOLT_PENDING);
  assert_death(destroy_it, &o, "volt_oneshot", death_address(&o), "1 waiters");
  assert_death(queue_again, &o, "volt_oneshot", death_address(&w), "already queued");
  assert_result(volt_oneshot_send(&o, &first), VOLT_OK);
  assert_death(send_again, &o, "volt_oneshot", death_address(&o), "a second value");
  assert_result(volt_oneshot_try_recv(&o, &got), VOLT_OK);
  assert_death(send_again, &o, "volt_oneshot", death_address(&o), "a second value");
}

static void nothing_is_allocated(void **state) {
  uint64_t before = alloc_count_allocations();
  a_future_receives_when_it_looks(state);
  assert_int_equal(alloc_count_allocations(), before);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      FAMILY_TEST(oneshot),
      TEST(it_is_empty_but_for_a_value),
      TEST(one_value_goes_through),
      TEST(all_waits_find_what_was_sent),
      TEST(the_static_one_is_empty),
      TEST(a_signal_has_no_value),
      TEST(closed_before_a_value_nothing_comes),
      TEST(closed_after_a_value_it_can_be_received),
      TEST(a_waiter_is_told_that_it_is_there),
      TEST(a_waiter_is_told_of_the_end),
      TEST(a_cancelled_wait_loses_nothing),
      TEST(a_waker_is_replaced),
      TEST(the_waker_may_end_it),
      TEST(a_future_receives_when_it_looks),
      TEST(a_future_learns_of_the_end),
      TEST(a_dropped_future_loses_nothing),
      TEST(a_deadline_loses_nothing),
      TEST(the_loser_of_a_select_loses_nothing),
      TEST(undone_it_puts_the_value_back),
      TEST(the_winner_of_a_select_has_it),
      TEST(registrations_are_settled),
      TEST(the_sender_learns_that_nobody_wants_it),
      TEST(the_sender_learns_that_it_was_sent),
      TEST(waiting_for_the_end_can_be_given_up),
      TEST(misuse_aborts),
      TEST(nothing_is_allocated),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
