/* channel_future_test.c: sends and receives as futures, of threads that block, of tasks; cancelled
 * in every state; and that none of it allocates. A future of the close of a channel, and senders
 * that are counted. */
#include "alloc_count.h"
#include "by_hand.h"
#include "channel_crowd.h"
#include "death.h"
#include "fake_waker.h"
#include "poller.h"
#include "thread_team.h"

static channel_crowd c;
static volt_future f;
static poller p;
static uint32_t elem;

static int set_up(void **state) {
  (void)state;
  channel_crowd_init(&c, 2);
  poller_init(&p);
  memset((void *)&f, 0xee, sizeof f); /* its content is overwritten */
  elem = NO_ELEMENT;
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  assert_int_equal(p.ctx.registered, volt_load_acquire(&p.wakes) + volt_load_acquire(&p.drops));
  channel_crowd_destroy(&c);
  return 0;
}

/* ---- futures ---- */

static void nothing_happens_before_the_first_poll(void **state) {
  (void)state;
  channel_crowd_fill(&c, 100, 1);
  assert_ptr_equal(volt_chan_recv_future(&f, &c.chan, &elem), &f);
  assert_int_equal(volt_chan_len(&c.chan), 1);
  assert_ptr_equal(volt_chan_send_future(&f, &c.chan, &elem), &f);
  assert_int_equal(volt_chan_len(&c.chan), 1);
  channel_crowd_drain(&c, 100, 1);
}

static void ready_at_once(void **state) {
  (void)state;
  elem = 7;
  volt_future_made(volt_chan_send_future(&f, &c.chan, &elem));
  for (int i = 0; i < 3; i++) assert_result(poller_poll(&p, &f), VOLT_OK);
  assert_int_equal(volt_chan_len(&c.chan), 1);
  elem = 0;
  volt_future_made(volt_chan_recv_future(&f, &c.chan, &elem));
  for (int i = 0; i < 3; i++) assert_result(poller_poll(&p, &f), VOLT_OK);
  assert_int_equal(elem, 7);
  poller_expect(&p, 0, 0, 0);
}

static void ready_later(void **state) {
  (void)state;
  volt_future_made(volt_chan_recv_future(&f, &c.chan, &elem));
  for (int i = 0; i < 3; i++) assert_result(poller_poll(&p, &f), VOLT_PENDING);
  poller_expect(&p, 1, 0, 0);
  channel_crowd_fill(&c, 7, 1);
  poller_expect(&p, 1, 1, 0);
  assert_result(poller_poll(&p, &f), VOLT_OK);
  assert_int_equal(elem, 7);
  channel_crowd_fill(&c, 100, 2);
  elem = 8;
  volt_future_made(volt_chan_send_future(&f, &c.chan, &elem));
  assert_result(poller_poll(&p, &f), VOLT_PENDING);
  channel_crowd_drain(&c, 100, 1);
  poller_expect(&p, 2, 2, 0);
  assert_result(poller_poll(&p, &f), VOLT_OK);
  channel_crowd_drain(&c, 101, 1);
  channel_crowd_drain(&c, 8, 1);
}

static void it_moves_to_another_waker(void **state) {
  (void)state;
  fake_waker other;
  fake_waker_init(&other, 0, NULL);
  volt_future_made(volt_chan_recv_future(&f, &c.chan, &elem));
  assert_result(poller_poll(&p, &f), VOLT_PENDING);
  assert_result(volt_future_poll(&f, fake_waker_of(&other)), VOLT_PENDING);
  poller_expect_dropped(&p, 1);
  channel_crowd_fill(&c, 7, 1);
  assert_int_equal(fake_waker_calls(&other), 1);
  assert_result(poller_poll(&p, &f), VOLT_OK);
}

/* In each state that it can be in. */
static void cancelled(void **state) {
  (void)state;
  channel_crowd_fill(&c, 100, 2);
  volt_future_made(volt_chan_recv_future(&f, &c.chan, &elem));
  volt_future_cancel(&f); /* nothing was asked for */
  assert_result(poller_poll(&p, &f), VOLT_ECANCELED);
  elem = 7;
  volt_future_made(volt_chan_send_future(&f, &c.chan, &elem));
  assert_result(poller_poll(&p, &f), VOLT_PENDING);
  volt_future_cancel(&f); /* it waits */
  assert_result(poller_poll(&p, &f), VOLT_ECANCELED);
  poller_expect_dropped(&p, 1);
  channel_crowd_drain(&c, 100, 2);
  volt_future_made(volt_chan_recv_future(&f, &c.chan, &elem));
  assert_result(poller_poll(&p, &f), VOLT_PENDING);
  channel_crowd_fill(&c, 102, 1);
  volt_future_cancel(&f); /* it was granted: what is moved is moved */
  volt_future_cancel(&f);
  assert_result(poller_poll(&p, &f), VOLT_OK);
  assert_int_equal(elem, 102);
  poller_expect(&p, 2, 1, 1);
}

/* By a ctx that is being cancelled, as a task's is: it has obeyed only if nothing was moved. */
static void cancelled_by_its_ctx(void **state) {
  for (int granted = 0; granted < 2; granted++) {
    set_up(state);
    volt_future_made(volt_chan_recv_future(&f, &c.chan, &elem));
    assert_result(poller_poll(&p, &f), VOLT_PENDING);
    if (granted) channel_crowd_fill(&c, 7, 1);
    p.ctx.cancel = VOLT_CTX_CANCEL_ONCE;
    assert_result(poller_poll(&p, &f), granted ? VOLT_OK : VOLT_ECANCELED);
    assert_int_equal(p.ctx.cancel, granted ? VOLT_CTX_CANCEL_ONCE : VOLT_CTX_GO_ON);
    assert_int_equal(elem, granted ? 7 : NO_ELEMENT);
    tear_down(state);
  }
}

/* ---- tasks ---- */

typedef struct job {
  volt_task task;
  volt_future future;
  volt_timeout timeout;
  uint32_t elem;
  int results[2];
} job;

static by_hand h;
static job j;

static int receives_twice(volt_task *task, volt_ctx *ctx) {
  job *self = volt_container_of(task, job, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT_RESULT(self, self->results[0],
                    volt_chan_recv_future(&self->future, &c.chan, &self->elem));
  VOLT_AWAIT_RESULT(
      self, self->results[1],
      volt_timeout_future(&self->timeout, volt_chan_recv_future(&self->future, &c.chan, &elem),
                          volt_rt_timers(h.rt), 1000));
  VOLT_TASK_END(self);
}

static void begin_job(void) {
  by_hand_begin(&h);
  memset((void *)&j, 0, sizeof j);
  volt_task_init(&j.task, receives_twice);
  assert_result(volt_spawn(h.rt, &j.task), VOLT_OK);
  (void)by_hand_run(&h);
}

static void end_job(int first, int second) {
  assert_result(volt_task_result(&j.task), VOLT_OK);
  assert_result(j.results[0], first);
  assert_result(j.results[1], second);
  by_hand_end(&h, 0);
}

static void a_task_receives(void **state) {
  (void)state;
  begin_job();
  channel_crowd_fill(&c, 7, 1);
  (void)by_hand_run(&h);
  channel_crowd_fill(&c, 8, 1);
  (void)by_hand_run(&h);
  end_job(VOLT_OK, VOLT_OK);
  assert_int_equal(j.elem, 7);
  assert_int_equal(elem, 8);
}

static void a_task_has_no_more_time(void **state) {
  for (int granted = 0; granted < 2; granted++) {
    set_up(state);
    begin_job();
    channel_crowd_fill(&c, 7, 1);
    (void)by_hand_run(&h);
    if (granted) channel_crowd_fill(&c, 8, 1); /* in the same instant */
    volt_rt_advance(h.rt, 1000);
    (void)by_hand_run(&h);
    end_job(VOLT_OK, granted ? VOLT_OK : VOLT_ETIMEDOUT);
    assert_int_equal(elem, granted ? 8 : NO_ELEMENT);
    tear_down(state);
  }
}

/* Of a task that is cancelled when its receive was granted, that receive stands, and the next await
 * is cancelled. */
static void a_task_is_cancelled(void **state) {
  for (int granted = 0; granted < 2; granted++) {
    set_up(state);
    begin_job();
    if (granted) channel_crowd_fill(&c, 7, 1);
    assert_true(volt_task_cancel(&j.task));
    (void)by_hand_run(&h);
    if (!granted) { /* the next one is not */
      channel_crowd_fill(&c, 8, 1);
      (void)by_hand_run(&h);
    }
    end_job(granted ? VOLT_OK : VOLT_ECANCELED, granted ? VOLT_ECANCELED : VOLT_OK);
    assert_int_equal(j.elem, granted ? 7 : 0);
    assert_int_equal(elem, granted ? NO_ELEMENT : 8);
    tear_down(state);
  }
}

/* ---- threads that block ---- */

static void not_in_time(void **state) {
  (void)state;
  uint64_t start_ns = volt_now_ns();
  assert_result(volt_chan_recv_until(&c.chan, &elem, PAST_DEADLINE), VOLT_ETIMEDOUT);
  uint64_t deadline_ns = volt_deadline_ns(1000000);
  assert_result(volt_chan_recv_until(&c.chan, &elem, deadline_ns), VOLT_ETIMEDOUT);
  assert_true(volt_now_ns() - start_ns >= 1000000);
  assert_int_equal(elem, NO_ELEMENT);
  channel_crowd_fill(&c, 100, 2);
  assert_result(volt_chan_send_until(&c.chan, &elem, PAST_DEADLINE), VOLT_ETIMEDOUT);
  channel_crowd_drain(&c, 100, 2);
}

enum { SENT = 1000 };

static void send_them(void *arg, uint32_t index) {
  (void)arg;
  (void)index;
  for (uint32_t i = 0; i < SENT; i++) {
    REQUIRE(volt_chan_send(&c.chan, &i) == VOLT_OK);
  }
}

static void threads_hand_over(void **state) {
  (void)state;
  thread_team team;
  thread_team_start(&team, 1, send_them, NULL);
  for (uint32_t i = 0; i < SENT; i++) {
    assert_result(volt_chan_recv(&c.chan, &elem), VOLT_OK);
    assert_int_equal(elem, i);
  }
  thread_team_join(&team);
}

static void wait_for_the_end(void *arg, uint32_t index) {
  uint32_t mine = 5;
  (void)arg;
  if (index == 0) {
    REQUIRE(volt_chan_recv(&c.chan, &mine) == VOLT_ECLOSED);
  } else {
    uint32_t moved;
    REQUIRE(volt_chan_recv_many(&c.chan, &mine, 1, &moved) == VOLT_ECLOSED);
  }
  REQUIRE(mine == 5);
}

static void threads_are_told_that_it_is_closed(void **state) {
  (void)state;
  thread_team team;
  thread_team_start(&team, 2, wait_for_the_end, NULL);
  WAIT_UNTIL(volt_chan_waiters(&c.chan) == 2);
  volt_chan_close(&c.chan);
  thread_team_join(&team);
}

/* ---- no memory ---- */

static void send_and_receive_in_all_ways(void) {
  const volt_waker nobody = {NULL, NULL};
  volt_waiter w = VOLT_WAITER_INIT;
  uint32_t elems[4] = {1, 2, 3, 4};
  uint32_t moved;
  assert_result(volt_chan_try_send(&c.chan, elems), VOLT_OK);
  assert_result(volt_chan_send_until(&c.chan, elems, PAST_DEADLINE), VOLT_OK);
  assert_result(volt_chan_send_until(&c.chan, elems, PAST_DEADLINE), VOLT_ETIMEDOUT);
  assert_result(volt_chan_send_waiter(&c.chan, &w, elems, nobody), VOLT_PENDING);
  volt_future_made(volt_chan_send_future(&f, &c.chan, elems));
  assert_result(poller_poll(&p, &f), VOLT_PENDING);
  assert_result(volt_chan_try_recv_many(&c.chan, elems, 4, &moved), VOLT_OK);
  assert_result(poller_poll(&p, &f), VOLT_OK);
  assert_result(volt_chan_recv_many_until(&c.chan, elems, 4, &moved, PAST_DEADLINE), VOLT_OK);
  volt_future_made(volt_chan_recv_future(&f, &c.chan, elems));
  assert_result(volt_future_wait_until(&f, PAST_DEADLINE), VOLT_ETIMEDOUT);
  assert_result(volt_chan_recv_many_waiter(&c.chan, &w, elems, 3, nobody), VOLT_PENDING);
  assert_true(volt_chan_cancel_recv(&c.chan, &w));
}

static void nothing_is_allocated(void **state) {
  (void)state;
  uint64_t before = alloc_count_allocations();
  for (int i = 0; i < 100; i++) send_and_receive_in_all_ways();
  channel_crowd_queue_receivers(&c, 0, CHANNEL_CROWD_MAX);
  channel_crowd_fill(&c, 0, CHANNEL_CROWD_MAX);
  volt_chan_close(&c.chan);
  assert_int_equal(alloc_count_allocations() - before, 0);
}

/* ==== the close of a channel is awaited, and senders are counted ==== */

static volt_chan watched;
static uint64_t ring[16];
static uint64_t in_ring;
static volt_waiter w;
static volt_future g;
static fake_waker a;
static fake_waker b;

static int set_up_watched(void **state) {
  (void)state;
  memset((void *)&watched, 0xee, sizeof watched);
  assert_result(volt_chan_init(&watched, 2, sizeof in_ring, ring, sizeof ring), VOLT_OK);
  memset((void *)&w, 0, sizeof w);
  fake_waker_init(&a, 0, NULL);
  fake_waker_init(&b, 1, NULL);
  return 0;
}

static int tear_down_watched(void **state) {
  (void)state;
  volt_chan_destroy(&watched, NULL, NULL);
  return 0;
}

static int poll(volt_future *future, fake_waker *waker) {
  return volt_future_poll(future, fake_waker_of(waker));
}

/* ---- who awaits the close ---- */

static void it_is_ready_when_it_is_closed(void **state) {
  (void)state;
  assert_ptr_equal(volt_chan_closed_future(&f, &watched), &f);
  assert_result(poll(&f, &a), VOLT_PENDING);
  assert_int_equal(fake_waker_calls(&a), 0);
  volt_chan_close(&watched);
  assert_int_equal(fake_waker_calls(&a), 1);
  assert_result(poll(&f, &a), VOLT_OK);
  volt_chan_close(&watched); /* does nothing more */
  assert_int_equal(fake_waker_calls(&a), 1);
  volt_future_made(volt_chan_closed_future(&g, &watched));
  assert_result(poll(&g, &b), VOLT_OK);
}

static void it_takes_no_place_in_the_fifo(void **state) {
  (void)state;
  uint64_t got = 0;
  volt_future_made(volt_chan_closed_future(&f, &watched));
  assert_result(poll(&f, &a), VOLT_PENDING);
  assert_int_equal(volt_chan_waiters(&watched), 0);
  for (in_ring = 1; in_ring <= 40; in_ring++) { /* around the ring, and through the lock */
    assert_result(volt_chan_recv_waiter(&watched, &w, &got, fake_waker_of(&b)), VOLT_PENDING);
    assert_result(volt_chan_try_send(&watched, &in_ring), VOLT_OK);
    assert_int_equal(got, in_ring);
    assert_result(volt_chan_try_send(&watched, &in_ring), VOLT_OK);
    assert_result(volt_chan_try_recv(&watched, &got), VOLT_OK);
  }
  assert_result(poll(&f, &a), VOLT_PENDING);
  assert_int_equal(volt_chan_len(&watched), 0);
  volt_chan_close(&watched);
  assert_int_equal(fake_waker_calls(&a), 1);
  assert_result(poll(&f, &a), VOLT_OK);
}

/* The first watcher comes while somebody is queued: the word is under its lock then. */
static void it_watches_a_channel_that_is_queued_on(void **state) {
  for (int closed_first = 0; closed_first < 2; closed_first++) {
    set_up_watched(state);
    uint64_t got = 0;
    assert_result(volt_chan_recv_waiter(&watched, &w, &got, fake_waker_of(&b)), VOLT_PENDING);
    if (closed_first) volt_chan_close(&watched);
    volt_future_made(volt_chan_closed_future(&f, &watched));
    assert_result(poll(&f, &a), closed_first ? VOLT_OK : VOLT_PENDING);
    volt_chan_close(&watched);
    assert_result(volt_waiter_result(&w), VOLT_ECLOSED);
    assert_int_equal(fake_waker_calls(&b), 1);
    assert_int_equal(fake_waker_calls(&a), closed_first ? 0 : 1);
    assert_result(poll(&f, &a), VOLT_OK);
  }
}

/* Behind those who are queued, oldest first, however many they are. */
static void all_who_watch_are_told(void **state) {
  (void)state;
  enum { CROWD = 40 };
  static volt_future crowd[CROWD];
  static fake_waker wakers[CROWD + 1];
  static wake_log log;
  uint64_t got = 0;
  wake_log_init(&log);
  for (uint32_t i = 0; i <= CROWD; i++) fake_waker_init(&wakers[i], i, &log);
  for (uint32_t i = 0; i < CROWD; i++) {
    volt_future_made(volt_chan_closed_future(&crowd[i], &watched));
    assert_result(poll(&crowd[i], &wakers[i + 1]), VOLT_PENDING);
  }
  assert_result(volt_chan_recv_waiter(&watched, &w, &got, fake_waker_of(&wakers[0])), VOLT_PENDING);
  volt_chan_close(&watched);
  assert_true(wake_log_is_run(&log, 0, CROWD + 1));
  for (uint32_t i = 0; i < CROWD; i++) assert_result(poll(&crowd[i], &a), VOLT_OK);
}

static void watching_can_be_given_up(void **state) {
  for (int late = 0; late < 2; late++) {
    set_up_watched(state);
    poller_init(&p);
    volt_future_made(volt_chan_closed_future(&f, &watched));
    assert_result(poller_poll(&p, &f), VOLT_PENDING);
    if (late) volt_chan_close(&watched);
    volt_future_cancel(&f);
    poller_expect(&p, 1, late ? 1 : 0, late ? 0 : 1);
    assert_result(poll(&f, &a), VOLT_ECANCELED);
  }
}

static void a_sender_waits_for_a_place_or_the_end(void **state) {
  (void)state;
  volt_select s;
  volt_future *branches[] = {volt_chan_closed_future(&f, &watched),
                             volt_chan_send_future(&g, &watched, &in_ring)};
  while (volt_chan_try_send(&watched, &in_ring) == VOLT_OK) {
  }
  volt_future_made(volt_select_future(&s, branches, 2, VOLT_SELECT_BIASED));
  assert_result(volt_future_poll(&s.future, fake_waker_of(&a)), VOLT_PENDING);
  volt_chan_close(&watched);
  assert_result(volt_future_poll(&s.future, fake_waker_of(&a)), VOLT_OK);
  assert_int_equal(volt_select_winner(&s), 0);
}

/* ---- counted senders ---- */

static void the_last_drop_closes(void **state) {
  (void)state;
  assert_int_equal(volt_chan_senders(&watched), 0);
  assert_result(volt_chan_add_sender(&watched), VOLT_OK);
  assert_result(volt_chan_add_sender(&watched), VOLT_OK);
  assert_int_equal(volt_chan_senders(&watched), 2);
  assert_result(volt_chan_try_send(&watched, &in_ring), VOLT_OK);
  volt_chan_drop_sender(&watched);
  assert_false(volt_chan_is_closed(&watched));
  assert_result(volt_chan_add_sender(&watched), VOLT_OK);
  volt_chan_drop_sender(&watched);
  assert_int_equal(volt_chan_senders(&watched), 1);
  volt_future_made(volt_chan_closed_future(&f, &watched));
  assert_result(poll(&f, &a), VOLT_PENDING);
  volt_chan_drop_sender(&watched);
  assert_int_equal(volt_chan_senders(&watched), 0);
  assert_true(volt_chan_is_closed(&watched));
  assert_int_equal(fake_waker_calls(&a), 1);
  assert_result(volt_chan_try_send(&watched, &in_ring), VOLT_ECLOSED);
  assert_result(volt_chan_try_recv(&watched, &in_ring), VOLT_OK); /* it drains */
  assert_result(volt_chan_try_recv(&watched, &in_ring), VOLT_ECLOSED);
}

static void after_the_last_none_comes(void **state) {
  (void)state;
  assert_result(volt_chan_add_sender(&watched), VOLT_OK);
  volt_chan_drop_sender(&watched);
  assert_result(volt_chan_add_sender(&watched), VOLT_ECLOSED);
  assert_int_equal(volt_chan_senders(&watched), 0);
}

static void closed_otherwise_it_counts_on(void **state) {
  (void)state;
  assert_result(volt_chan_add_sender(&watched), VOLT_OK);
  volt_chan_close(&watched);
  assert_result(volt_chan_add_sender(&watched), VOLT_OK);
  volt_chan_drop_sender(&watched);
  volt_chan_drop_sender(&watched);
  assert_result(volt_chan_add_sender(&watched), VOLT_ECLOSED);
}

static void receivers_who_wait_are_told_by_the_last(void **state) {
  (void)state;
  assert_result(volt_chan_add_sender(&watched), VOLT_OK);
  assert_result(volt_chan_recv_waiter(&watched, &w, &in_ring, fake_waker_of(&a)), VOLT_PENDING);
  volt_chan_drop_sender(&watched);
  assert_int_equal(fake_waker_calls(&a), 1);
  assert_result(volt_waiter_result(&w), VOLT_ECLOSED);
}

/* ---- misuse, memory ---- */

static void destroy_it(void *arg) {
  volt_chan_destroy((volt_chan *)arg, NULL, NULL);
}

static void drop_one(void *arg) {
  volt_chan_drop_sender((volt_chan *)arg);
}

static void misuse_aborts(void **state) {
  (void)state;
  assert_death(drop_one, &watched, "volt_chan", death_address(&watched), "never added");
  volt_future_made(volt_chan_closed_future(&f, &watched));
  assert_result(poll(&f, &a), VOLT_PENDING);
  assert_death(destroy_it, &watched, "volt_chan", "1 waiters");
  assert_result(volt_chan_add_sender(&watched), VOLT_OK);
  volt_chan_drop_sender(&watched);
  assert_death(drop_one, &watched, "volt_chan", death_address(&watched), "never added");
}

static void waiting_for_the_close_allocates_nothing(void **state) {
  uint64_t before = alloc_count_allocations();
  it_is_ready_when_it_is_closed(state);
  assert_int_equal(alloc_count_allocations(), before);
}

#define WATCHED_TEST(name) cmocka_unit_test_setup_teardown(name, set_up_watched, tear_down_watched)
#define A_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      A_TEST(nothing_happens_before_the_first_poll),
      A_TEST(ready_at_once),
      A_TEST(ready_later),
      A_TEST(it_moves_to_another_waker),
      A_TEST(cancelled),
      A_TEST(cancelled_by_its_ctx),
      A_TEST(a_task_receives),
      A_TEST(a_task_has_no_more_time),
      A_TEST(a_task_is_cancelled),
      A_TEST(not_in_time),
      A_TEST(threads_hand_over),
      A_TEST(threads_are_told_that_it_is_closed),
      A_TEST(nothing_is_allocated),
      WATCHED_TEST(it_is_ready_when_it_is_closed),
      WATCHED_TEST(it_takes_no_place_in_the_fifo),
      WATCHED_TEST(it_watches_a_channel_that_is_queued_on),
      WATCHED_TEST(all_who_watch_are_told),
      WATCHED_TEST(watching_can_be_given_up),
      WATCHED_TEST(a_sender_waits_for_a_place_or_the_end),
      WATCHED_TEST(the_last_drop_closes),
      WATCHED_TEST(after_the_last_none_comes),
      WATCHED_TEST(closed_otherwise_it_counts_on),
      WATCHED_TEST(receivers_who_wait_are_told_by_the_last),
      WATCHED_TEST(misuse_aborts),
      WATCHED_TEST(waiting_for_the_close_allocates_nothing),
  };
  return cmocka_run_group_tests_name("futures of a channel", tests, NULL, NULL);
}
