/* broadcast_test.c: every sentence of volt/broadcast.h, polled by hand. */
#include "alloc_count.h"
#include "death.h"
#include "fake_waker.h"
#include "family.h"
#include "poller.h"
#include "rng.h"

FAMILY(broadcast, uint64_t slot[1]; uint64_t value = 7; volt_broadcast it[1];
       volt_broadcast_receiver receiver[1];
       FAMILY_OK(volt_broadcast_init(it, 1, sizeof value, slot, sizeof slot));
       volt_broadcast_subscribe(it, receiver),
       volt_broadcast_recv_waiter(receiver, w, &value, waker),
       volt_broadcast_recv_until(receiver, &value, past),
       volt_broadcast_recv_future(f, receiver, &value), FAMILY_OK(volt_broadcast_send(it, &value)),
       volt_broadcast_destroy(it))

enum { CAPACITY = 4 };

typedef struct event {
  uint32_t number;
  char odd[3];
} event;

static volt_broadcast b;
static event memory[CAPACITY];
static volt_broadcast_receiver r;
static event got;
static volt_waiter w;
static volt_future f;
static fake_waker a;
static fake_waker other;

static int set_up(void **state) {
  (void)state;
  memset((void *)&b, 0xee, sizeof b);
  memset(memory, 0xee, sizeof memory);
  memset(&r, 0xee, sizeof r);
  memset(&got, 0, sizeof got);
  memset((void *)&w, 0, sizeof w);
  int result = volt_broadcast_init(&b, CAPACITY, sizeof(event), memory, sizeof memory);
  assert_result(result, VOLT_OK);
  volt_broadcast_subscribe(&b, &r);
  fake_waker_init(&a, 0, NULL);
  fake_waker_init(&other, 1, NULL);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  volt_broadcast_destroy(&b);
  return 0;
}

static void send_numbers(uint32_t from, uint32_t to) {
  for (uint32_t i = from; i <= to; i++) {
    event e = {i, {0, 0, (char)i}};
    assert_result(volt_broadcast_send(&b, &e), VOLT_OK);
  }
}

static void expect_before(uint64_t len, uint64_t lag) {
  assert_int_equal(volt_broadcast_len(&r), len);
  assert_int_equal(volt_broadcast_lag(&r), lag);
}

/* What len and lag say is what the receives then return. */
static void it_says_what_is_before_a_receiver(void **state) {
  (void)state;
  expect_before(0, 0);
  send_numbers(1, CAPACITY);
  expect_before(CAPACITY, 0);
  assert_result(volt_broadcast_try_recv(&r, &got), VOLT_OK);
  expect_before(CAPACITY - 1, 0);
  send_numbers(5, 8);
  expect_before(CAPACITY, 3);
  assert_result(volt_broadcast_try_recv(&r, &got), VOLT_ELAGGED);
  assert_int_equal(volt_broadcast_lost(&r), 3);
  expect_before(CAPACITY, 0);
  for (uint64_t left = CAPACITY; left > 0; left--) {
    expect_before(left, 0);
    assert_result(volt_broadcast_try_recv(&r, &got), VOLT_OK);
  }
  expect_before(0, 0);
  assert_result(volt_broadcast_try_recv(&r, &got), VOLT_EAGAIN);
}

static void expect_got(uint32_t number) {
  assert_int_equal(got.number, number);
  assert_int_equal(got.odd[2], (char)number);
  memset(&got, 0, sizeof got);
}

/* What a receive returns: a number, or 0 and a result. */
static void expect_try(volt_broadcast_receiver *from, int result, uint32_t number) {
  assert_result(volt_broadcast_try_recv(from, &got), result);
  expect_got(number);
}

static void expect_numbers(volt_broadcast_receiver *from, uint32_t first, uint32_t last) {
  for (uint32_t i = first; i <= last; i++) expect_try(from, VOLT_OK, i);
  expect_try(from, VOLT_EAGAIN, 0);
}

static void expect_poll(int result) {
  assert_result(volt_future_poll(&f, fake_waker_of(&a)), result);
}

static void expect_wakes(uint32_t count) {
  assert_int_equal(fake_waker_calls(&a), count);
}

static int start_waiting(void) {
  return volt_broadcast_recv_waiter(&r, &w, &got, fake_waker_of(&a));
}

/* ---- init ---- */

static void init_looks_at_its_arguments(void **state) {
  (void)state;
  unsigned char mem[12];
  volt_broadcast other_b;
  assert_int_equal(volt_broadcast_bytes(4, 3), 12);
  assert_int_equal(volt_broadcast_bytes(0, 3), 0);
  assert_int_equal(volt_broadcast_bytes(4, 0), 0);
  assert_int_equal(volt_broadcast_bytes(4, SIZE_MAX / 2), 0);
  assert_result(volt_broadcast_init(&other_b, 4, 3, mem, 11), VOLT_EINVAL);
  assert_result(volt_broadcast_init(&other_b, 4, 3, NULL, 12), VOLT_EINVAL);
  assert_result(volt_broadcast_init(&other_b, 0, 3, mem, 12), VOLT_EINVAL);
  assert_result(volt_broadcast_init(&other_b, 4, 0, mem, 12), VOLT_EINVAL);
  assert_result(volt_broadcast_init(&other_b, 4, 3, mem, 12), VOLT_OK);
  volt_broadcast_destroy(&other_b);
}

/* ---- without waiting ---- */

static void every_receiver_receives_every_value(void **state) {
  (void)state;
  volt_broadcast_receiver second;
  volt_broadcast_receiver late;
  volt_broadcast_subscribe(&b, &second);
  expect_try(&r, VOLT_EAGAIN, 0);
  send_numbers(1, 3);
  expect_numbers(&r, 1, 3);
  volt_broadcast_subscribe(&b, &late);
  expect_numbers(&late, 1, 0); /* nothing that was sent before */
  send_numbers(4, 4);
  expect_numbers(&second, 1, 4);
  expect_numbers(&r, 4, 4);
  expect_numbers(&late, 4, 4);
  assert_int_equal(volt_broadcast_sent(&b), 4);
  assert_int_equal(volt_broadcast_lost(&r) + volt_broadcast_lost(&late), 0);
}

static void a_copy_begins_where_the_first_is(void **state) {
  (void)state;
  send_numbers(1, 3);
  expect_try(&r, VOLT_OK, 1);
  volt_broadcast_receiver copy = r;
  expect_numbers(&copy, 2, 3);
  expect_numbers(&r, 2, 3);
}

static void a_slow_one_learns_how_many_it_lost(void **state) {
  (void)state;
  send_numbers(1, CAPACITY + 3);
  expect_try(&r, VOLT_ELAGGED, 0);
  assert_int_equal(volt_broadcast_lost(&r), 3);
  expect_numbers(&r, 4, CAPACITY + 3);
  send_numbers(100, 100 + CAPACITY); /* just one too many */
  expect_try(&r, VOLT_ELAGGED, 0);
  assert_int_equal(volt_broadcast_lost(&r), 4);
  send_numbers(200, 201); /* it is too slow again */
  expect_try(&r, VOLT_ELAGGED, 0);
  assert_int_equal(volt_broadcast_lost(&r), 6);
  expect_try(&r, VOLT_OK, 103);
}

static void a_ring_of_one_has_the_newest(void **state) {
  (void)state;
  event one;
  volt_broadcast_receiver own;
  assert_result(volt_broadcast_init(&b, 1, sizeof one, &one, sizeof one), VOLT_OK);
  volt_broadcast_subscribe(&b, &own);
  send_numbers(1, 3);
  expect_try(&own, VOLT_ELAGGED, 0);
  expect_numbers(&own, 3, 3);
}

/* ---- close ---- */

static void closed_it_is_drained(void **state) {
  (void)state;
  send_numbers(1, CAPACITY + 1);
  assert_false(volt_broadcast_is_closed(&b));
  for (int i = 0; i < 2; i++) volt_broadcast_close(&b);
  assert_true(volt_broadcast_is_closed(&b));
  assert_result(volt_broadcast_send(&b, &got), VOLT_ECLOSED);
  expect_try(&r, VOLT_ELAGGED, 0);
  for (uint32_t i = 2; i <= CAPACITY; i++) expect_try(&r, VOLT_OK, i);
  assert_result(volt_broadcast_recv(&r, &got), VOLT_OK);
  expect_got(CAPACITY + 1);
  expect_try(&r, VOLT_ECLOSED, 0);
  assert_result(start_waiting(), VOLT_ECLOSED);
  assert_result(volt_broadcast_recv(&r, &got), VOLT_ECLOSED);
  volt_future_made(volt_broadcast_recv_future(&f, &r, &got));
  expect_poll(VOLT_ECLOSED);
}

static void close_tells_those_who_wait(void **state) {
  (void)state;
  assert_result(start_waiting(), VOLT_PENDING);
  volt_broadcast_close(&b);
  expect_wakes(1);
  assert_result(volt_waiter_result(&w), VOLT_ECLOSED);
}

/* ---- waiting ---- */

static void a_waiter_is_told_to_look(void **state) {
  (void)state;
  assert_result(start_waiting(), VOLT_PENDING);
  assert_int_equal(volt_broadcast_waiters(&b), 1);
  send_numbers(1, 2);
  expect_wakes(1);
  assert_int_equal(volt_broadcast_waiters(&b), 0);
  assert_result(volt_waiter_result(&w), VOLT_OK);
  expect_got(0);
  assert_result(start_waiting(), VOLT_OK); /* *w is unused again */
  expect_got(1);
  expect_numbers(&r, 2, 2);
}

static void what_was_lost_needs_no_wait(void **state) {
  (void)state;
  send_numbers(1, CAPACITY + 1);
  assert_result(start_waiting(), VOLT_ELAGGED);
  send_numbers(10, 10);
  assert_result(volt_broadcast_recv_until(&r, &got, PAST_DEADLINE), VOLT_ELAGGED);
  send_numbers(11, 11);
  volt_future_made(volt_broadcast_recv_future(&f, &r, &got));
  expect_poll(VOLT_ELAGGED);
  assert_int_equal(volt_broadcast_lost(&r), 3);
  expect_wakes(0);
}

enum { CROWD = 70 }; /* more than two batches */

static void all_who_wait_are_told_in_order(void **state) {
  (void)state;
  static volt_waiter waiters[CROWD];
  static fake_waker wakers[CROWD];
  static volt_broadcast_receiver receivers[CROWD];
  static wake_log log;
  wake_log_init(&log);
  for (uint32_t i = 0; i < CROWD; i++) {
    fake_waker_init(&wakers[i], i, &log);
    memset((void *)&waiters[i], 0, sizeof waiters[i]);
    volt_broadcast_subscribe(&b, &receivers[i]);
    assert_result(
        volt_broadcast_recv_waiter(&receivers[i], &waiters[i], &got, fake_waker_of(&wakers[i])),
        VOLT_PENDING);
  }
  send_numbers(1, 1);
  assert_true(wake_log_is_run(&log, 0, CROWD));
  for (uint32_t i = 0; i < CROWD; i++) expect_numbers(&receivers[i], 1, 1);
}

static void a_cancelled_wait_loses_nothing(void **state) {
  for (int late = 0; late < 2; late++) {
    set_up(state);
    assert_result(start_waiting(), VOLT_PENDING);
    if (late) send_numbers(1, 1);
    assert_int_equal(volt_broadcast_cancel(&r, &w), !late);
    expect_wakes((uint32_t)late);
    if (!late) send_numbers(1, 1);
    expect_numbers(&r, 1, 1);
  }
}

static void a_waker_is_replaced(void **state) {
  (void)state;
  assert_result(start_waiting(), VOLT_PENDING);
  assert_true(volt_waiter_set_waker(&w, fake_waker_of(&other)));
  send_numbers(1, 1);
  expect_wakes(0);
  assert_int_equal(fake_waker_calls(&other), 1);
  assert_false(volt_waiter_set_waker(&w, fake_waker_of(&a)));
}

static void send_from_within(hostile_waker *self) {
  send_numbers(2, 2);
  self->result = volt_broadcast_try_recv((volt_broadcast_receiver *)self->object, &got);
}

static void a_waker_may_send_and_receive(void **state) {
  (void)state;
  hostile_waker h;
  hostile_waker_init(&h, 0, NULL, send_from_within, &r);
  assert_result(volt_broadcast_recv_waiter(&r, &w, &got, hostile_waker_of(&h)), VOLT_PENDING);
  send_numbers(1, 1);
  assert_result(h.result, VOLT_OK);
  expect_got(1);
  expect_numbers(&r, 2, 2);
}

/* ---- futures ---- */

static void a_future_receives_when_it_looks(void **state) {
  (void)state;
  assert_ptr_equal(volt_broadcast_recv_future(&f, &r, &got), &f);
  expect_poll(VOLT_PENDING);
  send_numbers(1, 2);
  expect_wakes(1);
  expect_got(0);
  for (int i = 0; i < 2; i++) expect_poll(VOLT_OK); /* once */
  expect_got(1);
  expect_numbers(&r, 2, 2);
}

static void a_future_that_looks_late_has_lost_some(void **state) {
  (void)state;
  volt_future_made(volt_broadcast_recv_future(&f, &r, &got));
  expect_poll(VOLT_PENDING);
  send_numbers(1, CAPACITY + 2);
  expect_poll(VOLT_ELAGGED);
  expect_got(0);
  assert_int_equal(volt_broadcast_lost(&r), 2);
  expect_numbers(&r, 3, CAPACITY + 2);
}

static void a_future_finds_it_received_by_other_means(void **state) {
  (void)state;
  volt_future_made(volt_broadcast_recv_future(&f, &r, &got));
  expect_poll(VOLT_PENDING);
  send_numbers(1, 1);
  expect_numbers(&r, 1, 1);
  expect_poll(VOLT_EAGAIN);
}

/* Sent, then closed: the future was told of the value. */
static void a_future_gets_what_came_before_the_end(void **state) {
  (void)state;
  volt_future_made(volt_broadcast_recv_future(&f, &r, &got));
  expect_poll(VOLT_PENDING);
  send_numbers(1, 1);
  volt_broadcast_close(&b);
  expect_poll(VOLT_OK);
  expect_got(1);
  expect_try(&r, VOLT_ECLOSED, 0);
}

static void a_dropped_future_loses_nothing(void **state) {
  for (int late = 0; late < 2; late++) {
    set_up(state);
    volt_future_made(volt_broadcast_recv_future(&f, &r, &got));
    expect_poll(VOLT_PENDING);
    if (late) send_numbers(1, 1);
    volt_future_cancel(&f);
    expect_poll(VOLT_ECANCELED);
    if (!late) send_numbers(1, 1);
    expect_numbers(&r, 1, 1);
  }
}

static void a_deadline_loses_nothing(void **state) {
  (void)state;
  assert_result(volt_broadcast_recv_until(&r, &got, PAST_DEADLINE), VOLT_ETIMEDOUT);
  volt_timers timers;
  volt_timeout timeout;
  volt_timers_init_virtual(&timers, fake_waker_of(&other));
  volt_future_made(volt_broadcast_recv_future(&f, &r, &got));
  volt_future *t = volt_timeout_future(&timeout, &f, &timers, 1000);
  assert_result(volt_future_poll(t, fake_waker_of(&a)), VOLT_PENDING);
  (void)volt_timers_expire(&timers, 1000);
  assert_result(volt_future_poll(t, fake_waker_of(&a)), VOLT_ETIMEDOUT);
  send_numbers(1, 1);
  expect_numbers(&r, 1, 1);
  volt_timers_destroy(&timers);
}

static void registrations_are_settled(void **state) {
  (void)state;
  poller p;
  poller q;
  poller_init(&p);
  poller_init(&q);
  volt_future_made(volt_broadcast_recv_future(&f, &r, &got));
  assert_result(poller_poll(&p, &f), VOLT_PENDING);
  assert_result(poller_poll(&q, &f), VOLT_PENDING); /* it moves */
  poller_expect_dropped(&p, 1);
  send_numbers(1, 1);
  poller_expect(&q, 1, 1, 0);
  assert_result(poller_poll(&q, &f), VOLT_OK);
}

/* ---- against a reference: what each has received and lost adds up, in order ---- */

static void random_sends_and_receives(void **state) {
  enum { RECEIVERS = 3, STEPS = 20000 };
  rng random = rng_seeded(4711);
  for (uint32_t capacity = 1; capacity <= CAPACITY; capacity++) {
    volt_broadcast_receiver receivers[RECEIVERS];
    uint64_t next[RECEIVERS] = {0}; /* what it gets next, if it is still there */
    uint64_t lost[RECEIVERS] = {0};
    uint32_t sent = 0;
    set_up(state);
    assert_result(volt_broadcast_init(&b, capacity, sizeof(event), memory, sizeof memory), VOLT_OK);
    for (int i = 0; i < RECEIVERS; i++) volt_broadcast_subscribe(&b, &receivers[i]);
    for (int step = 0; step < STEPS; step++) {
      uint32_t i = rng_below(&random, RECEIVERS + 2);
      if (i >= RECEIVERS) {
        send_numbers(sent + 1, sent + 1);
        sent += 1;
        continue;
      }
      uint64_t oldest = sent > capacity ? sent - capacity : 0;
      if (next[i] < oldest) {
        lost[i] += oldest - next[i];
        next[i] = oldest;
        expect_try(&receivers[i], VOLT_ELAGGED, 0);
      } else if (next[i] == sent) {
        expect_try(&receivers[i], VOLT_EAGAIN, 0);
      } else {
        next[i] += 1;
        expect_try(&receivers[i], VOLT_OK, (uint32_t)next[i]);
      }
      assert_int_equal(volt_broadcast_lost(&receivers[i]), lost[i]);
    }
  }
}

/* ---- misuse, memory ---- */

static void destroy_it(void *arg) {
  volt_broadcast_destroy((volt_broadcast *)arg);
}

static void queue_again(void *arg) {
  (void)arg;
  (void)start_waiting();
}

static void receive_it(void *arg) {
  ignore_result(volt_broadcast_try_recv((volt_broadcast_receiver *)arg, &got));
}

/* It was made anew, and its receivers have ended with what it was. */
static void an_old_receiver(void) {
  volt_broadcast_receiver old;
  send_numbers(1, 2);
  volt_broadcast_subscribe(&b, &old);
  volt_broadcast_destroy(&b);
  int result = volt_broadcast_init(&b, CAPACITY, sizeof(event), memory, sizeof memory);
  assert_result(result, VOLT_OK);
  send_numbers(1, 1);
  assert_death(receive_it, &old, "volt_broadcast", death_address(&b), death_address(&old),
               "is at 2 of 1");
  volt_broadcast_subscribe(&b, &r);
}

static void misuse_aborts(void **state) {
  (void)state;
  assert_result(start_waiting(), VOLT_PENDING);
  assert_death(destroy_it, &b, "volt_broadcast", death_address(&b), "1 waiters");
  assert_death(queue_again, NULL, "volt_broadcast", death_address(&w), "already queued");
  assert_true(volt_broadcast_cancel(&r, &w));
  an_old_receiver();
}

static void nothing_is_allocated(void **state) {
  uint64_t before = alloc_count_allocations();
  a_future_receives_when_it_looks(state);
  assert_int_equal(alloc_count_allocations(), before);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      FAMILY_TEST(broadcast),
      TEST(it_says_what_is_before_a_receiver),
      TEST(init_looks_at_its_arguments),
      TEST(every_receiver_receives_every_value),
      TEST(a_copy_begins_where_the_first_is),
      TEST(a_slow_one_learns_how_many_it_lost),
      TEST(a_ring_of_one_has_the_newest),
      TEST(closed_it_is_drained),
      TEST(close_tells_those_who_wait),
      TEST(a_waiter_is_told_to_look),
      TEST(what_was_lost_needs_no_wait),
      TEST(all_who_wait_are_told_in_order),
      TEST(a_cancelled_wait_loses_nothing),
      TEST(a_waker_is_replaced),
      TEST(a_waker_may_send_and_receive),
      TEST(a_future_receives_when_it_looks),
      TEST(a_future_that_looks_late_has_lost_some),
      TEST(a_future_finds_it_received_by_other_means),
      TEST(a_future_gets_what_came_before_the_end),
      TEST(a_dropped_future_loses_nothing),
      TEST(a_deadline_loses_nothing),
      TEST(registrations_are_settled),
      TEST(random_sends_and_receives),
      TEST(misuse_aborts),
      TEST(nothing_is_allocated),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
