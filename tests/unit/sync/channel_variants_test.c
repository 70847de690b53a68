/* channel_variants_test.c: the same scenarios on the library's channel and on those of variants/:
 * what they have in common. Elements are numbers. */
#include "channel_ops.h"
#include "death.h"
#include "fake_waker.h"
#include "unit.h"

/* ---- a channel with many around it ---- */

enum { MANY = 80, NOTHING = 0xdead };

typedef struct fixture {
  const channel_ops *ops;
  any_channel chan;
  uint64_t memory[256];
  wake_log log;
  volt_waiter w[MANY];
  hostile_waker waker[MANY];
  uint32_t elem[MANY];
} fixture;

static void begin(fixture *f, const channel_ops *ops, uint32_t capacity) {
  memset(f, 0, sizeof *f);
  memset(f->memory, 0xee, sizeof f->memory);
  f->ops = ops;
  size_t bytes = ops->bytes(capacity, sizeof(uint32_t));
  assert_in_range(bytes, 1, sizeof f->memory);
  assert_result(ops->init(&f->chan, capacity, sizeof(uint32_t), f->memory, bytes), VOLT_OK);
  wake_log_init(&f->log);
  for (uint32_t i = 0; i < MANY; i++) {
    hostile_waker_init(&f->waker[i], i, &f->log, NULL, f);
    f->elem[i] = NOTHING;
  }
}

static void expect(fixture *f, uint32_t waiters, uint32_t len) {
  assert_int_equal(f->ops->waiters(&f->chan), waiters);
  assert_int_equal(f->ops->len(&f->chan), len);
}

static void end(fixture *f) {
  expect(f, 0, 0);
  f->ops->destroy(&f->chan, NULL, NULL);
}

static int send(fixture *f, uint32_t i, uint32_t elem) {
  f->elem[i] = elem;
  return f->ops->send(&f->chan, &f->w[i], &f->elem[i], hostile_waker_of(&f->waker[i]));
}

static int recv(fixture *f, uint32_t i) {
  f->elem[i] = NOTHING;
  return f->ops->recv(&f->chan, &f->w[i], &f->elem[i], hostile_waker_of(&f->waker[i]));
}

static int try_send(fixture *f, uint32_t elem) {
  return f->ops->try_send(&f->chan, &elem);
}

static void expect_recv(fixture *f, uint32_t elem) {
  uint32_t got = NOTHING;
  assert_result(f->ops->try_recv(&f->chan, &got), VOLT_OK);
  assert_int_equal(got, elem);
}

static void expect_try_recv(fixture *f, int result) {
  uint32_t got = NOTHING;
  assert_result(f->ops->try_recv(&f->chan, &got), result);
  assert_int_equal(got, NOTHING);
}

/* Waiter i has this result, its waker has been called so often, and its element is this. */
static void expect_waiter(fixture *f, uint32_t i, int result, uint32_t wakes, uint32_t elem) {
  assert_result(volt_waiter_result(&f->w[i]), result);
  assert_int_equal(hostile_waker_calls(&f->waker[i]), wakes);
  assert_int_equal(f->elem[i], elem);
}

/* ---- the scenarios ---- */

static void takes_what_init_is_given(fixture *f, const channel_ops *ops) {
  assert_int_equal(ops->bytes(0, 4), 0);
  assert_int_equal(ops->bytes(VOLT_CHAN_MAX + 1, 4), 0);
  size_t bytes = ops->bytes(3, 4);
  assert_result(ops->init(&f->chan, 3, 4, f->memory, bytes - 1), VOLT_EINVAL);
  assert_result(ops->init(&f->chan, 3, 4, NULL, bytes), VOLT_EINVAL);
  assert_result(ops->init(&f->chan, 3, 4, (unsigned char *)f->memory + 4, bytes), VOLT_EINVAL);
}

static void keeps_order_at_every_capacity(fixture *f, const channel_ops *ops) {
  for (uint32_t capacity = 1; capacity <= 9; capacity++) {
    begin(f, ops, capacity);
    uint32_t sent = 0, received = 0;
    for (uint32_t round = 0; round < 40; round++) {
      for (uint32_t k = 0; k < 1 + round % capacity; k++) {
        if (try_send(f, sent) == VOLT_OK) sent += 1;
      }
      expect(f, 0, sent - received);
      while (sent - received > round % 3) expect_recv(f, received++);
    }
    while (received < sent) expect_recv(f, received++);
    while (try_send(f, sent) == VOLT_OK) sent += 1;
    assert_int_equal(sent - received, capacity);
    while (received < sent) expect_recv(f, received++);
    expect_try_recv(f, VOLT_EAGAIN);
    end(f);
  }
}

static void hands_over_to_who_waits(fixture *f, const channel_ops *ops) {
  begin(f, ops, 2);
  for (uint32_t i = 0; i < 3; i++) assert_result(recv(f, i), VOLT_PENDING);
  expect(f, 3, 0);
  expect_try_recv(f, VOLT_EAGAIN);
  for (uint32_t i = 0; i < 3; i++) {
    assert_result(try_send(f, 10 + i), VOLT_OK);
    expect_waiter(f, i, VOLT_OK, 1, 10 + i);
    expect(f, 2 - i, 0);
  }
  assert_true(wake_log_is_run(&f->log, 0, 3));
  assert_result(try_send(f, 20), VOLT_OK);
  expect_recv(f, 20);
  end(f);
}

static void moves_up_who_waits(fixture *f, const channel_ops *ops) {
  begin(f, ops, 2);
  assert_result(send(f, 0, 1), VOLT_OK);
  assert_result(send(f, 1, 2), VOLT_OK);
  for (uint32_t i = 2; i < 5; i++) assert_result(send(f, i, i + 1), VOLT_PENDING);
  assert_result(try_send(f, 99), VOLT_EAGAIN);
  expect(f, 3, 2);
  for (uint32_t i = 2; i < 5; i++) {
    expect_recv(f, i - 1);
    expect_waiter(f, i, VOLT_OK, 1, i + 1);
    expect(f, 4 - i, 2);
  }
  expect_recv(f, 4);
  expect_recv(f, 5);
  end(f);
}

static void cancels_any_of_them(fixture *f, const channel_ops *ops) {
  for (uint32_t gone = 0; gone < 3; gone++) {
    begin(f, ops, 1);
    for (uint32_t i = 0; i < 3; i++) assert_result(recv(f, i), VOLT_PENDING);
    assert_true(ops->cancel_recv(&f->chan, &f->w[gone]));
    assert_true(ops->cancel_recv(&f->chan, &f->w[gone]));
    expect_waiter(f, gone, VOLT_ECANCELED, 0, NOTHING);
    expect(f, 2, 0);
    for (uint32_t i = 0; i < 3; i++) {
      if (i == gone) continue;
      assert_result(try_send(f, 10 + i), VOLT_OK);
      expect_waiter(f, i, VOLT_OK, 1, 10 + i);
      assert_false(ops->cancel_recv(&f->chan, &f->w[i]));
    }
    assert_result(try_send(f, 1), VOLT_OK);
    for (uint32_t i = 3; i < 6; i++) assert_result(send(f, i, 100 + i), VOLT_PENDING);
    assert_true(ops->cancel_send(&f->chan, &f->w[3 + gone]));
    expect_waiter(f, 3 + gone, VOLT_ECANCELED, 0, 103 + gone);
    expect_recv(f, 1);
    for (uint32_t i = 3; i < 6; i++) {
      if (i == 3 + gone) continue;
      expect_recv(f, 100 + i);
      expect_waiter(f, i, VOLT_OK, 1, 100 + i);
      assert_false(ops->cancel_send(&f->chan, &f->w[i]));
    }
    end(f);
  }
}

static void closes(fixture *f, const channel_ops *ops) {
  begin(f, ops, 2);
  assert_false(ops->is_closed(&f->chan));
  assert_result(send(f, 0, 1), VOLT_OK);
  assert_result(send(f, 1, 2), VOLT_OK);
  assert_result(send(f, 2, 3), VOLT_PENDING);
  assert_result(send(f, 3, 4), VOLT_PENDING);
  ops->close(&f->chan);
  ops->close(&f->chan);
  assert_true(ops->is_closed(&f->chan));
  expect_waiter(f, 2, VOLT_ECLOSED, 1, 3);
  expect_waiter(f, 3, VOLT_ECLOSED, 1, 4);
  assert_result(try_send(f, 5), VOLT_ECLOSED);
  assert_result(send(f, 4, 5), VOLT_ECLOSED);
  assert_int_equal(hostile_waker_calls(&f->waker[4]), 0);
  expect_recv(f, 1);
  assert_result(recv(f, 5), VOLT_OK);
  assert_int_equal(f->elem[5], 2);
  expect_try_recv(f, VOLT_ECLOSED);
  assert_result(recv(f, 6), VOLT_ECLOSED);
  end(f);
}

static void tells_everybody_of_a_close(fixture *f, const channel_ops *ops) {
  begin(f, ops, 2);
  for (uint32_t i = 0; i < MANY; i++) assert_result(recv(f, i), VOLT_PENDING);
  ops->close(&f->chan);
  for (uint32_t i = 0; i < MANY; i++) expect_waiter(f, i, VOLT_ECLOSED, 1, NOTHING);
  assert_true(wake_log_is_run(&f->log, 0, MANY));
  end(f);
}

static void replaces_wakers(fixture *f, const channel_ops *ops) {
  begin(f, ops, 1);
  for (uint32_t i = 0; i < 2; i++) {
    assert_result(recv(f, i), VOLT_PENDING);
    assert_true(ops->set_waker(&f->chan, &f->w[i], hostile_waker_of(&f->waker[10 + i])));
  }
  expect(f, 2, 0);
  for (uint32_t i = 0; i < 2; i++) {
    assert_result(try_send(f, i), VOLT_OK);
    expect_waiter(f, i, VOLT_OK, 0, i);
    assert_int_equal(hostile_waker_calls(&f->waker[10 + i]), 1);
    assert_false(ops->set_waker(&f->chan, &f->w[i], hostile_waker_of(&f->waker[20])));
  }
  end(f);
}

/* Wakers run with nothing held: this one sends and cancels in the channel that wakes it. */
static void act(hostile_waker *self) {
  fixture *f = (fixture *)self->object;
  self->result = try_send(f, 77);
  assert_true(f->ops->cancel_recv(&f->chan, &f->w[2]));
  assert_int_equal(f->ops->waiters(&f->chan), 0);
}

static void wakes_with_nothing_held(fixture *f, const channel_ops *ops) {
  begin(f, ops, 1);
  for (uint32_t i = 0; i < 3; i++) assert_result(recv(f, i), VOLT_PENDING);
  f->waker[0].act = act;
  assert_result(try_send(f, 7), VOLT_OK);
  expect_waiter(f, 0, VOLT_OK, 1, 7);
  assert_result(f->waker[0].result, VOLT_OK);
  expect_waiter(f, 1, VOLT_OK, 1, 77);
  expect_waiter(f, 2, VOLT_ECANCELED, 0, NOTHING);
  end(f);
}

static void polls_as_futures(fixture *f, const channel_ops *ops) {
  begin(f, ops, 1);
  volt_future r, s;
  uint32_t got = NOTHING, one = 1, two = 2;
  volt_waker waker = hostile_waker_of(&f->waker[0]);
  ops->recv_future(&r, &f->chan, &got);
  assert_result(volt_future_poll(&r, waker), VOLT_PENDING);
  assert_result(volt_future_poll(ops->send_future(&s, &f->chan, &one), waker), VOLT_OK);
  assert_int_equal(hostile_waker_calls(&f->waker[0]), 1);
  assert_result(volt_future_poll(&r, waker), VOLT_OK);
  assert_int_equal(got, 1);
  assert_result(try_send(f, 9), VOLT_OK);
  assert_result(volt_future_poll(ops->send_future(&s, &f->chan, &two), waker), VOLT_PENDING);
  volt_waker other = hostile_waker_of(&f->waker[1]);
  assert_result(volt_future_poll(&s, other), VOLT_PENDING);
  expect_recv(f, 9);
  assert_int_equal(hostile_waker_calls(&f->waker[0]), 1);
  assert_int_equal(hostile_waker_calls(&f->waker[1]), 1);
  volt_future_cancel(&s); /* too late: what has been moved stays moved */
  assert_result(volt_future_poll(&s, other), VOLT_OK);
  expect_recv(f, 2);
  ops->recv_future(&r, &f->chan, &got);
  assert_result(volt_future_poll(&r, waker), VOLT_PENDING);
  volt_future_cancel(&r);
  assert_result(volt_future_poll(&r, waker), VOLT_ECANCELED);
  assert_result(ops->recv_until(&f->chan, &got, PAST_DEADLINE), VOLT_ETIMEDOUT);
  assert_result(ops->send_until(&f->chan, &one, VOLT_NO_DEADLINE), VOLT_OK);
  assert_result(ops->send_until(&f->chan, &two, PAST_DEADLINE), VOLT_ETIMEDOUT);
  assert_result(ops->recv_until(&f->chan, &got, VOLT_NO_DEADLINE), VOLT_OK);
  assert_int_equal(got, 1);
  end(f);
}

static void add(void *elem, void *ctx) {
  *(uint32_t *)ctx = *(uint32_t *)ctx * 10 + *(uint32_t *)elem;
}

static void drops_what_is_left(fixture *f, const channel_ops *ops) {
  begin(f, ops, 3);
  for (uint32_t i = 1; i <= 3; i++) assert_result(try_send(f, i), VOLT_OK);
  expect_recv(f, 1);
  assert_result(try_send(f, 4), VOLT_OK);
  uint32_t dropped = 0;
  ops->destroy(&f->chan, add, &dropped);
  assert_int_equal(dropped, 234);
}

static void destroy_it(void *arg) {
  fixture *f = (fixture *)arg;
  f->ops->destroy(&f->chan, NULL, NULL);
}

static void queue_it_again(void *arg) {
  (void)recv((fixture *)arg, 0);
}

static void cancel_it_elsewhere(void *arg) {
  static fixture other;
  fixture *f = (fixture *)arg;
  begin(&other, f->ops, 1);
  (void)recv(&other, 1);
  f->ops->cancel_recv(&other.chan, &f->w[0]);
}

static void refuses_misuse(fixture *f, const channel_ops *ops) {
  begin(f, ops, 1);
  assert_result(recv(f, 0), VOLT_PENDING);
  assert_death(destroy_it, f, ops->name, "destroyed while 1 waiters are queued");
  assert_death(queue_it_again, f, ops->name, "already queued");
  assert_death(cancel_it_elsewhere, f, ops->name, "is queued on", death_address(&f->chan));
  assert_true(ops->cancel_recv(&f->chan, &f->w[0]));
  end(f);
}

static void on_each(void (*scenario)(fixture *, const channel_ops *)) {
  static fixture f;
  for (size_t i = 0; i < CHANNEL_ENGINES; i++) {
    print_message("%s\n", channel_engines[i]->name);
    scenario(&f, channel_engines[i]);
  }
}

#define SCENARIO(name)                   \
  static void name##_all(void **state) { \
    (void)state;                         \
    on_each(name);                       \
  }

SCENARIO(takes_what_init_is_given)
SCENARIO(keeps_order_at_every_capacity)
SCENARIO(hands_over_to_who_waits)
SCENARIO(moves_up_who_waits)
SCENARIO(cancels_any_of_them)
SCENARIO(closes)
SCENARIO(tells_everybody_of_a_close)
SCENARIO(replaces_wakers)
SCENARIO(wakes_with_nothing_held)
SCENARIO(polls_as_futures)
SCENARIO(drops_what_is_left)
SCENARIO(refuses_misuse)

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(takes_what_init_is_given_all),
      cmocka_unit_test(keeps_order_at_every_capacity_all),
      cmocka_unit_test(hands_over_to_who_waits_all),
      cmocka_unit_test(moves_up_who_waits_all),
      cmocka_unit_test(cancels_any_of_them_all),
      cmocka_unit_test(closes_all),
      cmocka_unit_test(tells_everybody_of_a_close_all),
      cmocka_unit_test(replaces_wakers_all),
      cmocka_unit_test(wakes_with_nothing_held_all),
      cmocka_unit_test(polls_as_futures_all),
      cmocka_unit_test(drops_what_is_left_all),
      cmocka_unit_test(refuses_misuse_all),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
