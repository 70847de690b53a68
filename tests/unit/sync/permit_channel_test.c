/* permit_channel_test.c: every sentence of volt/permit_channel.h, polled by hand. */
#include "alloc_count.h"
#include "death.h"
#include "fake_waker.h"
#include "family.h"
#include "poller.h"

FAMILY_OF_FUTURES(permit_channel, uint64_t slot[4]; uint64_t value = 7; volt_permit_chan it[1];
                  FAMILY_OK(volt_permit_chan_init(it, 1, sizeof value, slot, sizeof slot)),
                  volt_permit_chan_recv_future(f, it, &value),
                  FAMILY_OK(volt_permit_chan_try_send(it, &value)),
                  volt_permit_chan_destroy(it, NULL, NULL))

static volt_permit_chan c;
static uint64_t ring[16];
static uint64_t got;
static volt_future f;
static volt_future g;
static fake_waker a;
static fake_waker b;

static int set_up(void **state) {
  (void)state;
  memset((void *)&c, 0xee, sizeof c);
  assert_result(volt_permit_chan_init(&c, 2, sizeof got, ring, sizeof ring), VOLT_OK);
  got = 0;
  fake_waker_init(&a, 0, NULL);
  fake_waker_init(&b, 1, NULL);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  volt_permit_chan_destroy(&c, NULL, NULL);
  return 0;
}

static int poll(volt_future *future, fake_waker *waker) {
  return volt_future_poll(future, fake_waker_of(waker));
}

static void reserve(void) {
  assert_result(volt_permit_chan_try_reserve(&c), VOLT_OK);
}

static void send(uint64_t number) {
  assert_result(volt_permit_chan_send_reserved(&c, &number), VOLT_OK);
}

static void expect_next(uint64_t number) {
  assert_result(volt_permit_chan_try_recv(&c, &got), VOLT_OK);
  assert_int_equal(got, number);
}

static void expect_free(uint32_t places) {
  assert_int_equal(volt_permit_chan_free(&c), places);
}

/* ---- places ---- */

static void it_is_refused_like_a_channel(void **state) {
  (void)state;
  volt_permit_chan other;
  assert_result(volt_permit_chan_init(&other, 0, 8, ring, sizeof ring), VOLT_EINVAL);
  assert_result(volt_permit_chan_init(&other, 64, 8, ring, sizeof ring), VOLT_EINVAL);
}

static void there_are_as_many_as_the_capacity(void **state) {
  (void)state;
  expect_free(2);
  reserve();
  reserve();
  expect_free(0);
  assert_result(volt_permit_chan_try_reserve(&c), VOLT_EAGAIN);
  assert_result(volt_permit_chan_reserve_until(&c, PAST_DEADLINE), VOLT_ETIMEDOUT);
  assert_result(volt_permit_chan_try_send(&c, &got), VOLT_EAGAIN);
  assert_result(volt_permit_chan_send_until(&c, &got, PAST_DEADLINE), VOLT_ETIMEDOUT);
  assert_int_equal(volt_permit_chan_len(&c), 0);
  volt_permit_chan_unreserve(&c);
  expect_free(1);
  send(7);
  expect_free(1);
  assert_int_equal(volt_permit_chan_len(&c), 1);
  expect_next(7);
  expect_free(2);
}

/* A place that is reserved and stays empty keeps no receiver from what others send. */
static void a_reserved_place_is_in_nobodys_way(void **state) {
  (void)state;
  reserve();
  for (uint64_t i = 1; i <= 20; i++) {
    assert_result(volt_permit_chan_try_send(&c, &i), VOLT_OK);
    expect_free(0);
    expect_next(i);
  }
  send(21);
  expect_next(21);
}

static void the_next_gets_the_place_given_back(void **state) {
  (void)state;
  reserve();
  reserve();
  assert_ptr_equal(volt_permit_chan_reserve_future(&f, &c), &f);
  volt_future_made(volt_permit_chan_reserve_future(&g, &c));
  assert_result(poll(&f, &a), VOLT_PENDING);
  assert_result(poll(&g, &b), VOLT_PENDING);
  volt_permit_chan_unreserve(&c);
  assert_int_equal(fake_waker_calls(&a), 1);
  assert_int_equal(fake_waker_calls(&b), 0);
  volt_future_cancel(&f); /* granted, and not seen: on to the next */
  assert_int_equal(fake_waker_calls(&b), 1);
  assert_result(poll(&g, &b), VOLT_OK);
  volt_permit_chan_unreserve(&c);
  volt_permit_chan_unreserve(&c);
  expect_free(2);
}

static void a_receive_makes_a_place(void **state) {
  (void)state;
  reserve();
  send(1);
  reserve();
  send(2);
  volt_future_made(volt_permit_chan_reserve_future(&f, &c));
  assert_result(poll(&f, &a), VOLT_PENDING);
  expect_next(1);
  assert_int_equal(fake_waker_calls(&a), 1);
  assert_result(poll(&f, &a), VOLT_OK);
  send(3);
  expect_next(2);
  assert_result(volt_permit_chan_recv_until(&c, &got, PAST_DEADLINE), VOLT_OK);
  assert_int_equal(got, 3);
  assert_result(volt_permit_chan_recv_until(&c, &got, PAST_DEADLINE), VOLT_ETIMEDOUT);
  expect_free(2);
}

/* ---- receivers ---- */

static void what_is_sent_wakes_a_receiver(void **state) {
  (void)state;
  assert_ptr_equal(volt_permit_chan_recv_future(&f, &c, &got), &f);
  assert_result(poll(&f, &a), VOLT_PENDING);
  reserve();
  assert_int_equal(fake_waker_calls(&a), 0);
  send(5);
  assert_int_equal(fake_waker_calls(&a), 1);
  assert_result(poll(&f, &a), VOLT_OK);
  assert_int_equal(got, 5);
  expect_free(2);
  assert_result(poll(&f, &a), VOLT_OK); /* no second place */
  expect_free(2);
}

static void a_future_takes_what_is_there(void **state) {
  (void)state;
  reserve();
  send(6);
  volt_future_made(volt_permit_chan_recv_future(&f, &c, &got));
  assert_result(poll(&f, &a), VOLT_OK);
  assert_int_equal(got, 6);
  expect_free(2);
}

/* Before its grant: nothing. After it the element is there, and the place free. */
static void a_dropped_receive_keeps_no_place(void **state) {
  for (int late = 0; late < 2; late++) {
    set_up(state);
    poller p;
    poller_init(&p);
    volt_future_made(volt_permit_chan_recv_future(&f, &c, &got));
    assert_result(poller_poll(&p, &f), VOLT_PENDING);
    reserve();
    if (late) send(8);
    volt_future_cancel(&f);
    poller_expect(&p, 1, late ? 1 : 0, late ? 0 : 1);
    assert_result(poll(&f, &a), late ? VOLT_OK : VOLT_ECANCELED);
    assert_int_equal(got, late ? 8 : 0);
    if (!late) volt_permit_chan_unreserve(&c);
    expect_free(2);
  }
}

static void the_loser_of_a_select_moves_nothing(void **state) {
  (void)state;
  volt_sem sem = VOLT_SEM_INIT(0);
  volt_select s;
  volt_future *branches[] = {volt_sem_acquire_future(&g, &sem, 1),
                             volt_permit_chan_recv_future(&f, &c, &got)};
  volt_future_made(volt_select_future(&s, branches, 2, VOLT_SELECT_BIASED));
  assert_result(poll(&s.future, &a), VOLT_PENDING);
  reserve();
  send(9);
  volt_sem_release(&sem, 1);
  assert_result(poll(&s.future, &a), VOLT_OK); /* the channel took the decision first */
  assert_int_equal(volt_select_winner(&s), 1);
  assert_int_equal(got, 9);
  assert_int_equal(volt_sem_available(&sem), 1);
  expect_free(2);
}

/* ---- close ---- */

static void closed_it_drains(void **state) {
  (void)state;
  reserve();
  send(1);
  reserve();
  volt_future_made(volt_permit_chan_reserve_future(&f, &c));
  assert_result(poll(&f, &a), VOLT_PENDING);
  assert_false(volt_permit_chan_is_closed(&c));
  volt_permit_chan_close(&c);
  volt_permit_chan_close(&c);
  assert_true(volt_permit_chan_is_closed(&c));
  assert_result(poll(&f, &a), VOLT_ECLOSED);
  assert_result(volt_permit_chan_send_reserved(&c, &got), VOLT_ECLOSED); /* the place is gone */
  expect_free(1);
  assert_result(volt_permit_chan_try_reserve(&c), VOLT_ECLOSED);
  assert_result(volt_permit_chan_try_send(&c, &got), VOLT_ECLOSED);
  assert_result(volt_permit_chan_send(&c, &got), VOLT_ECLOSED);
  expect_next(1);
  assert_result(volt_permit_chan_try_recv(&c, &got), VOLT_ECLOSED);
  assert_result(volt_permit_chan_recv(&c, &got), VOLT_ECLOSED);
  volt_future_made(volt_permit_chan_recv_future(&g, &c, &got));
  assert_result(poll(&g, &b), VOLT_ECLOSED);
  expect_free(2);
}

static void closed_with_a_place_it_can_be_given_back(void **state) {
  (void)state;
  reserve();
  volt_permit_chan_close(&c);
  volt_permit_chan_unreserve(&c);
  expect_free(2);
}

/* ---- the end, misuse, memory ---- */

static void add_up(void *elem, void *ctx) {
  *(uint64_t *)ctx += *(uint64_t *)elem;
}

static void destroy_drops_what_is_left(void **state) {
  uint64_t sum = 0;
  reserve();
  send(3);
  reserve();
  send(4);
  volt_permit_chan_destroy(&c, add_up, &sum);
  assert_int_equal(sum, 7);
  set_up(state);
}

static void destroy_it(void *arg) {
  volt_permit_chan_destroy((volt_permit_chan *)arg, NULL, NULL);
}

static void send_without(void *arg) {
  int result = volt_permit_chan_send_reserved((volt_permit_chan *)arg, &got);
  (void)result; /* it does not return */
}

static void misuse_aborts(void **state) {
  (void)state;
  reserve();
  assert_death(destroy_it, &c, "volt_permit_chan", death_address(&c), "places reserved");
  send(1);
  reserve();
  send(2);
  assert_death(send_without, &c, "volt_permit_chan", death_address(&c), "without a place");
}

static void nothing_is_allocated(void **state) {
  uint64_t before = alloc_count_allocations();
  what_is_sent_wakes_a_receiver(state);
  assert_int_equal(alloc_count_allocations(), before);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      FAMILY_TEST(permit_channel),
      TEST(it_is_refused_like_a_channel),
      TEST(there_are_as_many_as_the_capacity),
      TEST(a_reserved_place_is_in_nobodys_way),
      TEST(the_next_gets_the_place_given_back),
      TEST(a_receive_makes_a_place),
      TEST(what_is_sent_wakes_a_receiver),
      TEST(a_future_takes_what_is_there),
      TEST(a_dropped_receive_keeps_no_place),
      TEST(the_loser_of_a_select_moves_nothing),
      TEST(closed_it_drains),
      TEST(closed_with_a_place_it_can_be_given_back),
      TEST(destroy_drops_what_is_left),
      TEST(misuse_aborts),
      TEST(nothing_is_allocated),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
