/* mailbox_test.c: every sentence of volt/mailbox.h, polled by hand. */
#include "alloc_count.h"
#include "death.h"
#include "fake_waker.h"
#include "family.h"
#include "poller.h"

FAMILY(mailbox, volt_mailbox it[1] = {VOLT_MAILBOX_INIT}; volt_mailbox_node node;
       volt_mailbox_node * to, volt_mailbox_recv_waiter(it, w, &to, waker),
       volt_mailbox_recv_until(it, &to, past), volt_mailbox_recv_future(f, it, &to),
       FAMILY_OK(volt_mailbox_send(it, &node)), volt_mailbox_destroy(it, NULL, NULL);
       (void)&node)

typedef struct letter {
  uint32_t number;
  volt_mailbox_node node;
} letter;

enum { LETTERS = 40 };

static volt_mailbox m;
static letter letters[LETTERS]; /* numbers 1, 2, ... */
static volt_mailbox_node *got;
static volt_mailbox_node *other;
static volt_waiter w;
static volt_waiter v;
static volt_future f;
static volt_future g;
static fake_waker a;
static fake_waker b;

static int set_up(void **state) {
  (void)state;
  memset((void *)&m, 0xee, sizeof m);
  volt_mailbox_init(&m);
  memset((void *)letters, 0xee, sizeof letters);
  for (uint32_t i = 0; i < LETTERS; i++) letters[i].number = i + 1;
  got = other = NULL;
  memset((void *)&w, 0, sizeof w);
  memset((void *)&v, 0, sizeof v);
  fake_waker_init(&a, 0, NULL);
  fake_waker_init(&b, 1, NULL);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  volt_mailbox_destroy(&m, NULL, NULL);
  return 0;
}

static void send(uint32_t number) {
  assert_result(volt_mailbox_send(&m, &letters[number - 1].node), VOLT_OK);
}

static void expect_node(volt_mailbox_node *node, uint32_t number) {
  assert_non_null(node);
  assert_int_equal(volt_container_of(node, letter, node)->number, number);
}

static void expect_next(uint32_t number) {
  got = NULL;
  assert_result(volt_mailbox_try_recv(&m, &got), VOLT_OK);
  expect_node(got, number);
}

static void expect_none(void) {
  volt_mailbox_node *before = got;
  assert_result(volt_mailbox_try_recv(&m, &got), VOLT_EAGAIN);
  assert_ptr_equal(got, before); /* untouched */
}

static int poll(volt_future *future, fake_waker *waker) {
  return volt_future_poll(future, fake_waker_of(waker));
}

/* ---- without waiting ---- */

static void nodes_come_in_order(void **state) {
  (void)state;
  expect_none();
  for (uint32_t i = 1; i <= LETTERS; i++) {
    send(i);
    assert_int_equal(volt_mailbox_len(&m), i);
  }
  for (uint32_t i = 1; i <= LETTERS; i++) expect_next(i);
  expect_none();
  assert_int_equal(volt_mailbox_len(&m), 0);
}

static void a_node_can_be_sent_again(void **state) {
  (void)state;
  for (int i = 0; i < 3; i++) {
    send(1);
    send(2);
    expect_next(1);
    send(1);
    expect_next(2);
    expect_next(1);
    expect_none();
  }
}

static void all_receives_find_what_was_sent(void **state) {
  (void)state;
  send(1);
  send(2);
  send(3);
  assert_result(volt_mailbox_recv_waiter(&m, &w, &got, fake_waker_of(&a)), VOLT_OK);
  expect_node(got, 1);
  assert_result(volt_waiter_result(&w), VOLT_ECANCELED); /* not used */
  assert_result(volt_mailbox_recv_until(&m, &got, PAST_DEADLINE), VOLT_OK);
  expect_node(got, 2);
  assert_ptr_equal(volt_mailbox_recv_future(&f, &m, &got), &f);
  assert_int_equal(volt_mailbox_len(&m), 1); /* nothing happens before it is polled */
  assert_result(poll(&f, &a), VOLT_OK);
  expect_node(got, 3);
  assert_result(poll(&f, &a), VOLT_OK); /* and takes nothing more */
  expect_none();
  assert_int_equal(fake_waker_calls(&a), 0);
}

static void the_static_one_is_empty(void **state) {
  (void)state;
  static volt_mailbox still = VOLT_MAILBOX_INIT;
  static volt_mailbox zero;
  assert_result(volt_mailbox_try_recv(&still, &got), VOLT_EAGAIN);
  assert_result(volt_mailbox_try_recv(&zero, &got), VOLT_EAGAIN);
  assert_result(volt_mailbox_send(&zero, &letters[6].node), VOLT_OK);
  assert_result(volt_mailbox_try_recv(&zero, &got), VOLT_OK);
  expect_node(got, 7);
  volt_mailbox_destroy(&still, NULL, NULL);
  volt_mailbox_destroy(&zero, NULL, NULL);
}

/* ---- waiting ---- */

static void the_oldest_receiver_gets_it(void **state) {
  (void)state;
  assert_result(volt_mailbox_recv_waiter(&m, &w, &got, fake_waker_of(&a)), VOLT_PENDING);
  assert_result(volt_mailbox_recv_waiter(&m, &v, &other, fake_waker_of(&b)), VOLT_PENDING);
  assert_int_equal(volt_mailbox_waiters(&m), 2);
  send(1);
  assert_int_equal(volt_mailbox_len(&m), 0); /* it was handed over: nobody else can take it */
  expect_node(got, 1);
  assert_result(volt_waiter_result(&w), VOLT_OK);
  assert_int_equal(fake_waker_calls(&a), 1);
  assert_int_equal(fake_waker_calls(&b), 0);
  send(2);
  expect_node(other, 2);
  assert_int_equal(fake_waker_calls(&b), 1);
  send(3);
  expect_next(3);
}

static void a_cancelled_wait_loses_nothing(void **state) {
  (void)state;
  assert_result(volt_mailbox_recv_waiter(&m, &w, &got, fake_waker_of(&a)), VOLT_PENDING);
  assert_true(volt_mailbox_cancel(&m, &w));
  assert_true(volt_mailbox_cancel(&m, &v)); /* never used */
  send(1);
  expect_next(1);
  assert_int_equal(fake_waker_calls(&a), 0);
  assert_result(volt_mailbox_recv_waiter(&m, &w, &got, fake_waker_of(&a)), VOLT_PENDING);
  send(2);
  assert_false(volt_mailbox_cancel(&m, &w)); /* too late: it is ours */
  assert_result(volt_waiter_result(&w), VOLT_OK);
  expect_node(got, 2);
  expect_none();
}

static void a_waker_is_replaced(void **state) {
  (void)state;
  assert_result(volt_mailbox_recv_waiter(&m, &w, &got, fake_waker_of(&a)), VOLT_PENDING);
  assert_true(volt_waiter_set_waker(&w, fake_waker_of(&b)));
  send(1);
  assert_false(volt_waiter_set_waker(&w, fake_waker_of(&a)));
  assert_int_equal(fake_waker_calls(&a), 0);
  assert_int_equal(fake_waker_calls(&b), 1);
}

static void a_deadline_loses_nothing(void **state) {
  (void)state;
  assert_result(volt_mailbox_recv_until(&m, &got, PAST_DEADLINE), VOLT_ETIMEDOUT);
  assert_null(got);
  assert_int_equal(volt_mailbox_waiters(&m), 0);
  send(1);
  expect_next(1);
}

static void end_it(hostile_waker *self) {
  volt_mailbox_destroy((volt_mailbox *)self->object, NULL, NULL);
  memset(self->object, 0xa5, sizeof(volt_mailbox));
}

static void who_has_the_last_may_end_it(void **state) {
  (void)state;
  static volt_mailbox box;
  volt_mailbox_init(&box);
  hostile_waker h;
  hostile_waker_init(&h, 0, NULL, end_it, &box);
  assert_result(volt_mailbox_recv_waiter(&box, &w, &got, hostile_waker_of(&h)), VOLT_PENDING);
  assert_result(volt_mailbox_send(&box, &letters[0].node), VOLT_OK);
  assert_int_equal(hostile_waker_calls(&h), 1);
  expect_node(got, 1);
}

/* ---- futures ---- */

static void a_future_receives(void **state) {
  (void)state;
  volt_future_made(volt_mailbox_recv_future(&f, &m, &got));
  assert_result(poll(&f, &a), VOLT_PENDING);
  send(1);
  assert_int_equal(fake_waker_calls(&a), 1);
  assert_result(poll(&f, &a), VOLT_OK);
  expect_node(got, 1);
}

/* Before its grant, after it, and after its poll. */
static void a_dropped_future_gives_back(void **state) {
  for (int when = 0; when < 3; when++) {
    set_up(state);
    volt_future_made(volt_mailbox_recv_future(&f, &m, &got));
    assert_result(poll(&f, &a), VOLT_PENDING);
    if (when > 0) send(1);
    send(2);
    if (when == 2) assert_result(poll(&f, &a), VOLT_OK);
    volt_future_cancel(&f);
    assert_result(poll(&f, &a), when == 2 ? VOLT_OK : VOLT_ECANCELED);
    if (when == 1) expect_next(1); /* the oldest again */
    expect_next(2);
    expect_none();
  }
}

static void what_is_given_back_goes_to_the_next_who_waits(void **state) {
  (void)state;
  volt_future_made(volt_mailbox_recv_future(&f, &m, &got));
  volt_future_made(volt_mailbox_recv_future(&g, &m, &other));
  assert_result(poll(&f, &a), VOLT_PENDING);
  assert_result(poll(&g, &b), VOLT_PENDING);
  send(1);
  assert_int_equal(fake_waker_calls(&b), 0);
  volt_future_cancel(&f);
  assert_int_equal(fake_waker_calls(&b), 1);
  assert_result(poll(&g, &b), VOLT_OK);
  expect_node(other, 1);
  expect_none();
}

static void what_is_given_back_alone_is_also_the_last(void **state) {
  (void)state;
  volt_future_made(volt_mailbox_recv_future(&f, &m, &got));
  assert_result(poll(&f, &a), VOLT_PENDING);
  send(1);
  volt_future_cancel(&f);
  send(2);
  assert_int_equal(volt_mailbox_len(&m), 2);
  expect_next(1);
  expect_next(2);
  expect_none();
}

/* Both are granted before the select looks: one wins, the other's node is where it was. */
static void the_loser_of_a_select_loses_nothing(void **state) {
  (void)state;
  volt_mailbox second = VOLT_MAILBOX_INIT;
  volt_future *branches[] = {volt_mailbox_recv_future(&f, &m, &got),
                             volt_mailbox_recv_future(&g, &second, &other)};
  volt_select s;
  volt_future_made(volt_select_future(&s, branches, 2, VOLT_SELECT_BIASED));
  assert_result(poll(&s.future, &a), VOLT_PENDING);
  assert_result(volt_mailbox_send(&second, &letters[1].node), VOLT_OK);
  send(1);
  assert_result(poll(&s.future, &a), VOLT_OK);
  assert_int_equal(volt_select_winner(&s), 0);
  expect_node(got, 1);
  expect_none();
  assert_result(volt_mailbox_try_recv(&second, &other), VOLT_OK);
  expect_node(other, 2);
  volt_mailbox_destroy(&second, NULL, NULL);
}

/* A channel has taken the decision of the select: a receive that has polled as ready is undone. */
static void undone_it_gives_back(void **state) {
  (void)state;
  uint64_t ring[8];
  uint64_t sent = 5;
  uint64_t from_chan = 0;
  volt_chan chan;
  assert_result(volt_chan_init(&chan, 1, sizeof sent, ring, sizeof ring), VOLT_OK);
  volt_future *branches[] = {volt_mailbox_recv_future(&f, &m, &got),
                             volt_chan_recv_future(&g, &chan, &from_chan)};
  volt_select s;
  volt_future_made(volt_select_future(&s, branches, 2, VOLT_SELECT_BIASED));
  assert_result(poll(&s.future, &a), VOLT_PENDING);
  assert_result(volt_chan_try_send(&chan, &sent), VOLT_OK);
  send(1);
  assert_result(poll(&s.future, &a), VOLT_OK);
  assert_int_equal(volt_select_winner(&s), 1);
  assert_int_equal(from_chan, 5);
  assert_result(poll(&f, &a), VOLT_ECANCELED);
  expect_next(1);
  volt_chan_destroy(&chan, NULL, NULL);
}

static void registrations_are_settled(void **state) {
  (void)state;
  poller p;
  poller q;
  poller_init(&p);
  poller_init(&q);
  volt_future_made(volt_mailbox_recv_future(&f, &m, &got));
  assert_result(poller_poll(&p, &f), VOLT_PENDING);
  assert_result(poller_poll(&q, &f), VOLT_PENDING); /* it moves */
  poller_expect_dropped(&p, 1);
  send(1);
  poller_expect(&q, 1, 1, 0);
  assert_result(poller_poll(&q, &f), VOLT_OK);
}

/* ---- close ---- */

static void closed_it_drains(void **state) {
  (void)state;
  send(1);
  send(2);
  for (int i = 0; i < 2; i++) { /* closing twice does nothing more */
    assert_int_equal(volt_mailbox_is_closed(&m), i == 1);
    volt_mailbox_close(&m);
    assert_true(volt_mailbox_is_closed(&m));
    assert_result(volt_mailbox_send(&m, &letters[2].node), VOLT_ECLOSED);
  }
  expect_next(1);
  assert_result(volt_mailbox_recv_waiter(&m, &w, &got, fake_waker_of(&a)), VOLT_OK);
  expect_node(got, 2);
  assert_result(volt_mailbox_try_recv(&m, &got), VOLT_ECLOSED);
  assert_result(volt_mailbox_recv_waiter(&m, &w, &got, fake_waker_of(&a)), VOLT_ECLOSED);
  assert_result(volt_mailbox_recv(&m, &got), VOLT_ECLOSED);
  volt_future_made(volt_mailbox_recv_future(&f, &m, &got));
  assert_result(poll(&f, &a), VOLT_ECLOSED);
  expect_node(got, 2); /* untouched */
}

static void all_who_wait_are_told_of_the_end(void **state) {
  (void)state;
  static volt_waiter crowd[40];
  static volt_mailbox_node *theirs[40];
  static wake_log log;
  static fake_waker wakers[40];
  wake_log_init(&log);
  memset((void *)crowd, 0, sizeof crowd);
  for (uint32_t i = 0; i < 40; i++) {
    fake_waker_init(&wakers[i], i, &log);
    int result = volt_mailbox_recv_waiter(&m, &crowd[i], &theirs[i], fake_waker_of(&wakers[i]));
    assert_result(result, VOLT_PENDING);
  }
  volt_mailbox_close(&m);
  assert_true(wake_log_is_run(&log, 0, 40)); /* oldest first */
  for (uint32_t i = 0; i < 40; i++) {
    assert_result(volt_waiter_result(&crowd[i]), VOLT_ECLOSED);
    assert_null(theirs[i]);
  }
}

static void given_back_after_the_end_it_can_be_received(void **state) {
  (void)state;
  volt_future_made(volt_mailbox_recv_future(&f, &m, &got));
  assert_result(poll(&f, &a), VOLT_PENDING);
  send(1);
  volt_mailbox_close(&m);
  volt_future_cancel(&f);
  expect_next(1);
  assert_result(volt_mailbox_try_recv(&m, &got), VOLT_ECLOSED);
}

/* ---- the end, misuse, memory ---- */

static void drop_one(volt_mailbox_node *node, void *ctx) {
  uint32_t *next = (uint32_t *)ctx;
  expect_node(node, *next);
  *next += 1;
  memset((void *)volt_container_of(node, letter, node), 0xa5, sizeof(letter));
}

static void destroy_drops_what_is_left(void **state) {
  (void)state;
  uint32_t next = 2;
  for (uint32_t i = 1; i <= 4; i++) send(i);
  expect_next(1);
  volt_mailbox_destroy(&m, drop_one, &next);
  assert_int_equal(next, 5);
}

static void destroy_it(void *arg) {
  volt_mailbox_destroy((volt_mailbox *)arg, NULL, NULL);
}

static void queue_again(void *arg) {
  int result = volt_mailbox_recv_waiter((volt_mailbox *)arg, &w, &got, fake_waker_of(&a));
  (void)result; /* it does not return */
}

static void misuse_aborts(void **state) {
  (void)state;
  assert_result(volt_mailbox_recv_waiter(&m, &w, &got, fake_waker_of(&a)), VOLT_PENDING);
  assert_death(destroy_it, &m, "volt_mailbox", death_address(&m), "1 waiters");
  assert_death(queue_again, &m, "volt_mailbox", death_address(&w), "already queued");
  assert_true(volt_mailbox_cancel(&m, &w));
}

static void nothing_is_allocated(void **state) {
  uint64_t before = alloc_count_allocations();
  a_future_receives(state);
  what_is_given_back_goes_to_the_next_who_waits(state);
  assert_int_equal(alloc_count_allocations(), before);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      FAMILY_TEST(mailbox),
      TEST(nodes_come_in_order),
      TEST(a_node_can_be_sent_again),
      TEST(all_receives_find_what_was_sent),
      TEST(the_static_one_is_empty),
      TEST(the_oldest_receiver_gets_it),
      TEST(a_cancelled_wait_loses_nothing),
      TEST(a_waker_is_replaced),
      TEST(a_deadline_loses_nothing),
      TEST(who_has_the_last_may_end_it),
      TEST(a_future_receives),
      TEST(a_dropped_future_gives_back),
      TEST(what_is_given_back_goes_to_the_next_who_waits),
      TEST(what_is_given_back_alone_is_also_the_last),
      TEST(the_loser_of_a_select_loses_nothing),
      TEST(undone_it_gives_back),
      TEST(registrations_are_settled),
      TEST(closed_it_drains),
      TEST(all_who_wait_are_told_of_the_end),
      TEST(given_back_after_the_end_it_can_be_received),
      TEST(destroy_drops_what_is_left),
      TEST(misuse_aborts),
      TEST(nothing_is_allocated),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
