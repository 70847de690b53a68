/* watch_test.c: every sentence of volt/watch.h, polled by hand. */
#include "alloc_count.h"
#include "death.h"
#include "fake_waker.h"
#include "family.h"
#include "poller.h"

FAMILY(watch, uint64_t slot; uint64_t value = 7; uint64_t seen = 1; volt_watch it[1];
       volt_watch_init(it, sizeof slot, &slot, &value),
       volt_watch_changed_waiter(it, &seen, w, waker), volt_watch_changed_until(it, &seen, past),
       volt_watch_changed_future(f, it, &seen), FAMILY_OK(volt_watch_send(it, &value)),
       volt_watch_destroy(it))

typedef struct config {
  uint32_t number;
  char odd[3];
} config;

static volt_watch watch;
static config memory;
static config got;
static uint64_t seen;
static volt_waiter w;
static volt_future f;
static fake_waker a;
static fake_waker b;

static int set_up(void **state) {
  (void)state;
  const config initial = {100, {0, 0, 100}};
  memset((void *)&watch, 0xee, sizeof watch);
  volt_watch_init(&watch, sizeof memory, &memory, &initial);
  memset(&got, 0, sizeof got);
  memset((void *)&w, 0, sizeof w);
  seen = 1;
  fake_waker_init(&a, 0, NULL);
  fake_waker_init(&b, 1, NULL);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  volt_watch_destroy(&watch);
  return 0;
}

static void send_number(uint32_t number) {
  config c = {number, {0, 0, (char)number}};
  assert_result(volt_watch_send(&watch, &c), VOLT_OK);
}

static void expect_present(uint64_t version, uint32_t number) {
  assert_int_equal(volt_watch_version(&watch), version);
  assert_int_equal(volt_watch_get(&watch, &got), version);
  assert_int_equal(got.number, number);
  assert_int_equal(got.odd[2], (char)number);
}

static void expect_try(int result, uint64_t now_seen) {
  assert_result(volt_watch_try_changed(&watch, &seen), result);
  assert_int_equal(seen, now_seen);
}

static void expect_poll(int result, uint64_t now_seen) {
  assert_result(volt_future_poll(&f, fake_waker_of(&a)), result);
  assert_int_equal(seen, now_seen);
}

static void expect_wakes(uint32_t count) {
  assert_int_equal(fake_waker_calls(&a), count);
}

static int start_waiting(void) {
  return volt_watch_changed_waiter(&watch, &seen, &w, fake_waker_of(&a));
}

/* ---- without waiting ---- */

static void it_has_the_latest_value(void **state) {
  (void)state;
  expect_present(1, 100);
  send_number(7);
  expect_present(2, 7);
  send_number(8);
  send_number(9);
  expect_present(4, 9);
}

/* arg: by how much. */
static bool add_to_number(void *value, void *arg) {
  config *c = (config *)value;
  uint32_t by = *(uint32_t *)arg;
  c->number += by;
  c->odd[2] = (char)c->number;
  return by > 0;
}

static void it_is_modified_in_place(void **state) {
  (void)state;
  uint32_t by = 7;
  assert_result(volt_watch_changed_waiter(&watch, &seen, &w, fake_waker_of(&a)), VOLT_PENDING);
  assert_result(volt_watch_modify(&watch, add_to_number, &by), VOLT_OK);
  assert_result(volt_waiter_result(&w), VOLT_OK);
  assert_int_equal(fake_waker_calls(&a), 1);
  expect_present(2, 107);
  expect_try(VOLT_OK, 2);
}

static void what_is_not_modified_tells_nobody(void **state) {
  (void)state;
  uint32_t by = 0;
  assert_result(volt_watch_changed_waiter(&watch, &seen, &w, fake_waker_of(&a)), VOLT_PENDING);
  assert_result(volt_watch_modify(&watch, add_to_number, &by), VOLT_EAGAIN);
  assert_result(volt_waiter_result(&w), VOLT_PENDING);
  expect_present(1, 100);
  volt_watch_close(&watch);
  by = 1;
  assert_result(volt_watch_modify(&watch, add_to_number, &by), VOLT_ECLOSED);
  assert_result(volt_waiter_result(&w), VOLT_ECLOSED);
  expect_present(1, 100);
}

static void the_first_value_may_be_there_already(void **state) {
  (void)state;
  memory.number = 12;
  memory.odd[2] = 12;
  volt_watch_init(&watch, sizeof memory, &memory, NULL);
  expect_present(1, 12);
}

static void only_the_version(void **state) {
  (void)state;
  volt_watch_init(&watch, 0, NULL, NULL);
  assert_int_equal(volt_watch_get(&watch, NULL), 1);
  assert_result(volt_watch_send(&watch, NULL), VOLT_OK);
  assert_int_equal(volt_watch_get(&watch, NULL), 2);
}

static void a_change_is_seen_once(void **state) {
  (void)state;
  expect_try(VOLT_EAGAIN, 1);
  send_number(7);
  expect_try(VOLT_OK, 2);
  expect_try(VOLT_EAGAIN, 2);
  send_number(8);
  send_number(9);
  expect_try(VOLT_OK, 4); /* version 3 was skipped */
  expect_try(VOLT_EAGAIN, 4);
  expect_present(4, 9);
}

static void the_first_version_is_a_change_to_nothing(void **state) {
  (void)state;
  seen = 0;
  expect_try(VOLT_OK, 1);
  expect_try(VOLT_EAGAIN, 1);
}

static void all_waits_find_a_change(void **state) {
  for (int way = 0; way < 3; way++) {
    set_up(state);
    send_number(7);
    if (way == 0) assert_result(start_waiting(), VOLT_OK);
    if (way == 1) {
      assert_result(volt_watch_changed_until(&watch, &seen, PAST_DEADLINE), VOLT_OK);
    }
    if (way == 2) {
      volt_future_made(volt_watch_changed_future(&f, &watch, &seen));
      expect_poll(VOLT_OK, 2);
    }
    expect_try(VOLT_EAGAIN, 2);
    expect_wakes(0);
  }
}

/* ---- close ---- */

static void the_last_version_is_seen_before_the_end(void **state) {
  (void)state;
  send_number(7);
  assert_false(volt_watch_is_closed(&watch));
  for (int i = 0; i < 2; i++) volt_watch_close(&watch);
  assert_true(volt_watch_is_closed(&watch));
  assert_result(volt_watch_send(&watch, &got), VOLT_ECLOSED);
  expect_present(2, 7);
  expect_try(VOLT_OK, 2);
  expect_try(VOLT_ECLOSED, 2);
  assert_result(start_waiting(), VOLT_ECLOSED);
  int result = volt_watch_changed(&watch, &seen);
  assert_result(result, VOLT_ECLOSED);
  volt_future_made(volt_watch_changed_future(&f, &watch, &seen));
  expect_poll(VOLT_ECLOSED, 2);
}

static void close_tells_those_who_wait(void **state) {
  (void)state;
  assert_result(start_waiting(), VOLT_PENDING);
  volt_watch_close(&watch);
  expect_wakes(1);
  assert_result(volt_waiter_result(&w), VOLT_ECLOSED);
}

/* ---- waiting ---- */

static void a_waiter_is_told_to_look(void **state) {
  (void)state;
  assert_result(start_waiting(), VOLT_PENDING);
  assert_int_equal(volt_watch_waiters(&watch), 1);
  send_number(7);
  expect_wakes(1);
  assert_int_equal(volt_watch_waiters(&watch), 0);
  assert_result(volt_waiter_result(&w), VOLT_OK);
  assert_int_equal(seen, 1);
  expect_try(VOLT_OK, 2);
  assert_result(start_waiting(), VOLT_PENDING); /* *w is unused again */
  assert_true(volt_watch_cancel(&watch, &w));
}

enum { CROWD = 70 }; /* more than two batches */

static void all_who_wait_are_told_in_order(void **state) {
  (void)state;
  static volt_waiter waiters[CROWD];
  static fake_waker wakers[CROWD];
  static wake_log log;
  wake_log_init(&log);
  for (uint32_t i = 0; i < CROWD; i++) {
    fake_waker_init(&wakers[i], i, &log);
    memset((void *)&waiters[i], 0, sizeof waiters[i]);
    int result = volt_watch_changed_waiter(&watch, &seen, &waiters[i], fake_waker_of(&wakers[i]));
    assert_result(result, VOLT_PENDING);
  }
  send_number(7);
  assert_true(wake_log_is_run(&log, 0, CROWD));
}

static void a_cancelled_wait_loses_nothing(void **state) {
  for (int late = 0; late < 2; late++) {
    set_up(state);
    assert_result(start_waiting(), VOLT_PENDING);
    if (late) send_number(7);
    assert_int_equal(volt_watch_cancel(&watch, &w), !late);
    expect_wakes((uint32_t)late);
    if (!late) send_number(7);
    expect_try(VOLT_OK, 2);
  }
}

static void a_waker_is_replaced(void **state) {
  (void)state;
  assert_result(start_waiting(), VOLT_PENDING);
  assert_true(volt_waiter_set_waker(&w, fake_waker_of(&b)));
  send_number(7);
  expect_wakes(0);
  assert_int_equal(fake_waker_calls(&b), 1);
  assert_false(volt_waiter_set_waker(&w, fake_waker_of(&a)));
}

static void send_from_within(hostile_waker *self) {
  if (self->n-- > 0) send_number(self->n);
  self->result = volt_watch_try_changed((volt_watch *)self->object, &seen);
}

static void a_waker_may_send_and_look(void **state) {
  (void)state;
  hostile_waker h;
  hostile_waker_init(&h, 0, NULL, send_from_within, &watch);
  h.n = 1;
  assert_result(volt_watch_changed_waiter(&watch, &seen, &w, hostile_waker_of(&h)), VOLT_PENDING);
  send_number(7);
  assert_result(h.result, VOLT_OK);
  assert_int_equal(seen, 3);
}

/* ---- futures ---- */

static void a_future_sees_when_it_looks(void **state) {
  (void)state;
  assert_ptr_equal(volt_watch_changed_future(&f, &watch, &seen), &f);
  expect_poll(VOLT_PENDING, 1);
  send_number(7);
  send_number(8);
  expect_wakes(1);
  assert_int_equal(seen, 1);
  expect_poll(VOLT_OK, 3);
  send_number(9);
  expect_poll(VOLT_OK, 3); /* the same again, and sees nothing more */
  expect_try(VOLT_OK, 4);
}

static void a_future_finds_that_it_was_seen(void **state) {
  (void)state;
  volt_future_made(volt_watch_changed_future(&f, &watch, &seen));
  expect_poll(VOLT_PENDING, 1);
  send_number(7);
  seen = volt_watch_get(&watch, &got);
  expect_poll(VOLT_EAGAIN, 2);
}

static void a_future_sees_what_came_before_the_end(void **state) {
  (void)state;
  volt_future_made(volt_watch_changed_future(&f, &watch, &seen));
  expect_poll(VOLT_PENDING, 1);
  send_number(7);
  volt_watch_close(&watch);
  expect_poll(VOLT_OK, 2);
  expect_try(VOLT_ECLOSED, 2);
}

static void a_future_learns_of_the_end(void **state) {
  (void)state;
  volt_future_made(volt_watch_changed_future(&f, &watch, &seen));
  expect_poll(VOLT_PENDING, 1);
  volt_watch_close(&watch);
  expect_wakes(1);
  expect_poll(VOLT_ECLOSED, 1);
}

static void a_dropped_future_loses_nothing(void **state) {
  for (int late = 0; late < 2; late++) {
    set_up(state);
    volt_future_made(volt_watch_changed_future(&f, &watch, &seen));
    expect_poll(VOLT_PENDING, 1);
    if (late) send_number(7);
    volt_future_cancel(&f);
    expect_poll(VOLT_ECANCELED, 1);
    if (!late) send_number(7);
    expect_try(VOLT_OK, 2);
  }
}

static void a_deadline_loses_nothing(void **state) {
  (void)state;
  int result = volt_watch_changed_until(&watch, &seen, PAST_DEADLINE);
  assert_result(result, VOLT_ETIMEDOUT);
  assert_int_equal(seen, 1);
  volt_timers timers;
  volt_timeout timeout;
  volt_timers_init_virtual(&timers, fake_waker_of(&b));
  volt_future_made(volt_watch_changed_future(&f, &watch, &seen));
  volt_future *t = volt_timeout_future(&timeout, &f, &timers, 1000);
  assert_result(volt_future_poll(t, fake_waker_of(&a)), VOLT_PENDING);
  (void)volt_timers_expire(&timers, 1000);
  assert_result(volt_future_poll(t, fake_waker_of(&a)), VOLT_ETIMEDOUT);
  send_number(7);
  expect_try(VOLT_OK, 2);
  volt_timers_destroy(&timers);
}

static void the_loser_of_a_select_loses_nothing(void **state) {
  (void)state;
  volt_sem sem = VOLT_SEM_INIT(0);
  volt_future permit;
  volt_future *branches[] = {volt_sem_acquire_future(&permit, &sem, 1),
                             volt_watch_changed_future(&f, &watch, &seen)};
  volt_select s;
  volt_future_made(volt_select_future(&s, branches, 2, VOLT_SELECT_BIASED));
  assert_result(volt_future_poll(&s.future, fake_waker_of(&a)), VOLT_PENDING);
  send_number(7);
  volt_sem_release(&sem, 1);
  assert_result(volt_future_poll(&s.future, fake_waker_of(&a)), VOLT_OK);
  assert_int_equal(volt_select_winner(&s), 0);
  assert_int_equal(seen, 1);
  expect_try(VOLT_OK, 2);
}

/* It looked, and then it turned out that a channel had won. */
static void undone_it_has_seen_nothing(void **state) {
  enum {
    AFTER = 3
  }; /* the version that it finds: in the last row, 2^32 further than what it had seen */
  static const uint64_t before[] = {
      0, 1, 2, UINT64_C(1) << 33, UINT64_MAX, AFTER - (UINT64_C(1) << 32)};
  uint64_t chan_memory[4];
  volt_chan chan;
  for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
    set_up(state);
    uint32_t from_chan = 0;
    const uint32_t five = 5;
    volt_future recv;
    seen = 1;
    int result = volt_chan_init(&chan, 1, sizeof five, chan_memory, sizeof chan_memory);
    assert_result(result, VOLT_OK);
    volt_future *branches[] = {volt_watch_changed_future(&f, &watch, &seen),
                               volt_chan_recv_future(&recv, &chan, &from_chan)};
    volt_select s;
    volt_future_made(volt_select_future(&s, branches, 2, VOLT_SELECT_BIASED));
    assert_result(volt_future_poll(&s.future, fake_waker_of(&a)), VOLT_PENDING);
    seen = before[i]; /* whatever it says */
    send_number(7);
    send_number(8);
    assert_result(volt_chan_try_send(&chan, &five), VOLT_OK);
    assert_result(volt_future_poll(&s.future, fake_waker_of(&a)), VOLT_OK);
    assert_int_equal(volt_select_winner(&s), 1);
    if (before[i] <= 2) assert_int_equal(seen, before[i]);
    expect_try(VOLT_OK, AFTER);
    volt_chan_destroy(&chan, NULL, NULL);
  }
}

static void registrations_are_settled(void **state) {
  (void)state;
  poller p;
  poller q;
  poller_init(&p);
  poller_init(&q);
  volt_future_made(volt_watch_changed_future(&f, &watch, &seen));
  assert_result(poller_poll(&p, &f), VOLT_PENDING);
  assert_result(poller_poll(&q, &f), VOLT_PENDING); /* it moves */
  poller_expect_dropped(&p, 1);
  send_number(7);
  poller_expect(&q, 1, 1, 0);
  assert_result(poller_poll(&q, &f), VOLT_OK);
}

/* ---- misuse, memory ---- */

static void destroy_it(void *arg) {
  volt_watch_destroy((volt_watch *)arg);
}

static void queue_again(void *arg) {
  (void)arg;
  (void)start_waiting();
}

static void misuse_aborts(void **state) {
  (void)state;
  assert_result(start_waiting(), VOLT_PENDING);
  assert_death(destroy_it, &watch, "volt_watch", death_address(&watch), "1 waiters");
  assert_death(queue_again, NULL, "volt_watch", death_address(&w), "already queued");
  assert_true(volt_watch_cancel(&watch, &w));
}

static void nothing_is_allocated(void **state) {
  uint64_t before = alloc_count_allocations();
  a_future_sees_when_it_looks(state);
  assert_int_equal(alloc_count_allocations(), before);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      FAMILY_TEST(watch),
      TEST(it_has_the_latest_value),
      TEST(it_is_modified_in_place),
      TEST(what_is_not_modified_tells_nobody),
      TEST(the_first_value_may_be_there_already),
      TEST(only_the_version),
      TEST(a_change_is_seen_once),
      TEST(the_first_version_is_a_change_to_nothing),
      TEST(all_waits_find_a_change),
      TEST(the_last_version_is_seen_before_the_end),
      TEST(close_tells_those_who_wait),
      TEST(a_waiter_is_told_to_look),
      TEST(all_who_wait_are_told_in_order),
      TEST(a_cancelled_wait_loses_nothing),
      TEST(a_waker_is_replaced),
      TEST(a_waker_may_send_and_look),
      TEST(a_future_sees_when_it_looks),
      TEST(a_future_finds_that_it_was_seen),
      TEST(a_future_sees_what_came_before_the_end),
      TEST(a_future_learns_of_the_end),
      TEST(a_dropped_future_loses_nothing),
      TEST(a_deadline_loses_nothing),
      TEST(the_loser_of_a_select_loses_nothing),
      TEST(undone_it_has_seen_nothing),
      TEST(registrations_are_settled),
      TEST(misuse_aborts),
      TEST(nothing_is_allocated),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
