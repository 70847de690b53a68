/* cluster_sem_test.c: a semaphore of the cluster on one host. The test is the driver. */
#include <volt/fiber.h>

#include "alloc_count.h"
#include "by_hand.h"
#include "cluster_crowd.h"
#include "death.h"
#include "poller.h"
#include "rng.h"

/* ---- acquire and release ---- */

static void without_slots_a_task_waits_and_rings(void **state) {
  (void)state;
  begin(8);
  volt_cluster_permit p;
  assert_result(volt_cluster_try_acquire(sem, &p), VOLT_EAGAIN);
  assert_true(fake_lease_take_ring()); /* it does not wait, but will try again */
  ask(0);
  expect(0, VOLT_PENDING);
  assert_true(fake_lease_take_ring());
  assert_int_equal(wanted(), 1);
  expect(0, VOLT_PENDING);
  assert_false(fake_lease_take_ring()); /* it has said so */
  add(1);
  expect_wakes(0, 1);
  expect(0, VOLT_OK);
  assert_int_equal(wanted(), 1);
  give(0);
  assert_int_equal(wanted(), 0);
  assert_false(fake_lease_take_ring()); /* the driver waits for nothing */
  end();
}

static enum cluster_tries tries(bool hears) {
  return local()->tries(sem, hears);
}

/* A try in vain rings, and the next one when the driver has heard of it. */
static void a_try_in_vain_is_noted(void **state) {
  (void)state;
  begin(8);
  volt_cluster_permit p;
  assert_int_equal(tries(true), CLUSTER_TRIES_NONE);
  for (int heard = 0; heard < 2; heard++) {
    for (int i = 0; i < 3; i++) {
      assert_result(volt_cluster_try_acquire(sem, &p), VOLT_EAGAIN);
      assert_int_equal(fake_lease_take_ring(), i == 0);
    }
    assert_int_equal(tries(false), CLUSTER_TRIES_ASKED);
    assert_int_equal(tries(true), CLUSTER_TRIES_ASKED);
    assert_int_equal(tries(true), CLUSTER_TRIES_HEARD);
  }
  assert_int_equal(wanted(), 0); /* it does not wait */
  add(1);
  assert_result(volt_cluster_try_acquire(sem, &p), VOLT_OK);
  assert_int_equal(tries(true), CLUSTER_TRIES_NONE);
  assert_result(volt_cluster_acquire_until(sem, &p, PAST_DEADLINE), VOLT_ETIMEDOUT);
  assert_int_equal(tries(true), CLUSTER_TRIES_ASKED);
  end_with_permits(1);
}

/* Once the driver wants to know, a release rings; else none does. */
static void a_release_rings_if_none_was_idle(void **state) {
  (void)state;
  begin(8);
  add(2);
  take(0);
  take(1);
  assert_int_equal(local()->watch_idle(sem, true), 0);
  assert_false(fake_lease_take_ring());
  give(0);
  assert_true(fake_lease_take_ring());
  assert_int_equal(local()->watch_idle(sem, true), 1);
  assert_int_equal(local()->watch_idle(sem, false), 1);
  expect_stats(1, 0, 0, 0);
  give(1);
  assert_false(fake_lease_take_ring());
  end();
}

static void a_free_slot_is_taken_at_once(void **state) {
  (void)state;
  begin(8);
  add(2);
  take(0);
  volt_cluster_permit p;
  assert_result(volt_cluster_try_acquire(sem, &p), VOLT_OK);
  assert_int_equal(local()->idle(sem), 0);
  assert_result(volt_cluster_try_acquire(sem, &p), VOLT_EAGAIN);
  assert_null(p.sem);
  give(0);
  assert_int_equal(local()->idle(sem), 1);
  end_with_permits(1);
}

static void tasks_are_served_in_their_order(void **state) {
  (void)state;
  begin(8);
  add(1);
  take(0);
  for (int i = 1; i < 4; i++) {
    ask(i);
    expect(i, VOLT_PENDING);
  }
  assert_int_equal(wanted(), 4);
  volt_cluster_permit p;
  give(0);
  assert_result(volt_cluster_try_acquire(sem, &p), VOLT_EAGAIN); /* it is granted already */
  expect(1, VOLT_OK);
  expect(2, VOLT_PENDING);
  add(1);
  expect(2, VOLT_OK);
  expect(3, VOLT_PENDING);
  volt_future_cancel(&tasks[3].acquire.future);
  give(1);
  give(2);
  end();
}

static void the_slot_that_was_used_last_is_used_next(void **state) {
  (void)state;
  begin(8);
  add(3);
  for (int i = 0; i < 3; i++) take(i);
  uint32_t second = slot_of(1), third = slot_of(2);
  give(2);
  give(1);
  take(4);
  assert_int_equal(slot_of(4), second);
  take(5);
  assert_int_equal(slot_of(5), third);
  give(0);
  give(4);
  give(5);
  end();
}

static void a_fence_rises(void **state) {
  (void)state;
  begin(8);
  add(1);
  volt_cluster_fence fences[4];
  for (int i = 0; i < 3; i++) {
    take(0);
    fences[i] = volt_cluster_permit_fence(&tasks[0].permit);
    assert_int_equal(fences[i].slot, 0);
    assert_int_equal(fences[i].grant, i + 1);
    give(0);
  }
  assert_int_equal(take_back_and_collect(1), 1);
  add(1);
  take(0);
  fences[3] = volt_cluster_permit_fence(&tasks[0].permit);
  assert_int_equal(fences[3].grant, 1);
  assert_int_equal(fences[3].epoch, fences[2].epoch + 1);
  for (int i = 0; i < 3; i++) {
    assert_true(volt_cluster_fence_compare(&fences[i], &fences[i + 1]) < 0);
    assert_true(volt_cluster_fence_compare(&fences[i + 1], &fences[i]) > 0);
    assert_int_equal(volt_cluster_fence_compare(&fences[i], &fences[i]), 0);
  }
  give(0);
  end();
}

static int acquires(void *arg) {
  volt_cluster_permit *p = (volt_cluster_permit *)arg;
  return volt_cluster_acquire_until(sem, p, volt_deadline_ns(1000));
}

static volt_task *fiber_that_acquires(by_hand *h, volt_cluster_permit *p) {
  volt_task *t = volt_fiber_new(h->rt, acquires, p, NULL);
  assert_non_null(t);
  assert_result(volt_spawn(h->rt, t), VOLT_OK);
  by_hand_run(h);
  assert_result(volt_task_result(t), VOLT_PENDING);
  assert_int_equal(wanted(), 1);
  return t;
}

static void expect_fiber(by_hand *h, volt_task *t, int result) {
  by_hand_run(h);
  assert_result(volt_task_result(t), result);
  volt_task_detach(t);
  assert_int_equal(wanted(), result == VOLT_OK ? 1 : 0);
}

static void a_fiber_is_suspended(void **state) {
  (void)state;
  by_hand h;
  volt_cluster_permit p;
  begin(8);
  by_hand_begin(&h);
  volt_task *t = fiber_that_acquires(&h, &p);
  volt_rt_advance(h.rt, 1000);
  expect_fiber(&h, t, VOLT_ETIMEDOUT);
  t = fiber_that_acquires(&h, &p);
  assert_true(volt_task_cancel(t));
  expect_fiber(&h, t, VOLT_ECANCELED);
  t = fiber_that_acquires(&h, &p);
  add(1);
  expect_fiber(&h, t, VOLT_OK);
  volt_cluster_release(&p);
  by_hand_end(&h, 0);
  end();
}

static void a_thread_waits(void **state) {
  (void)state;
  begin(8);
  volt_cluster_permit p;
  assert_result(volt_cluster_acquire_until(sem, &p, PAST_DEADLINE), VOLT_ETIMEDOUT);
  assert_true(fake_lease_take_ring());
  assert_int_equal(wanted(), 0);
  add(1);
  assert_result(volt_cluster_acquire_until(sem, &p, PAST_DEADLINE), VOLT_OK);
  volt_cluster_release(&p);
  volt_cluster_sem_close(sem);
  assert_result(volt_cluster_acquire(sem, &p), VOLT_ECLOSED);
  end();
}

static void nothing_is_allocated(void **state) {
  (void)state;
  begin(8);
  uint64_t before = alloc_count_allocations();
  add(1);
  take(0);
  ask(1);
  expect(1, VOLT_PENDING);
  give(0);
  expect(1, VOLT_OK);
  lose_all();
  give(1);
  assert_int_equal(wanted(), 0);
  assert_int_equal(alloc_count_allocations(), before);
  end();
}

/* ---- dropping ---- */

static void what_was_granted_and_not_polled_goes_to_the_next(void **state) {
  (void)state;
  begin(8);
  ask(0);
  expect(0, VOLT_PENDING);
  ask(1);
  expect(1, VOLT_PENDING);
  add(1);
  expect_wakes(0, 1);
  assert_int_equal(take_back_and_collect(0), 0);
  volt_future_cancel(&tasks[0].acquire.future);
  expect_wakes(1, 1);
  expect(1, VOLT_OK);
  give(1);
  ask(0); /* never polled */
  volt_future_cancel(&tasks[0].acquire.future);
  assert_result(volt_future_poll(&tasks[0].acquire.future, no_waker), VOLT_ECANCELED);
  assert_int_equal(local()->idle(sem), 1);
  end();
}

static void a_dropped_grant_rings_if_its_slot_is_asked_back(void **state) {
  (void)state;
  begin(8);
  ask(0);
  expect(0, VOLT_PENDING);
  add(1);
  assert_int_equal(take_back_and_collect(1), 0);
  (void)fake_lease_take_ring();
  volt_future_cancel(&tasks[0].acquire.future);
  assert_true(fake_lease_take_ring());
  assert_int_equal(collect(), 1);
  end();
}

static void a_select_drops_the_branch_that_loses(void **state) {
  (void)state;
  begin(8);
  volt_latch open = VOLT_LATCH_INIT(1);
  volt_future wait;
  volt_select select;
  ask(0);
  volt_future *branches[] = {volt_latch_wait_future(&wait, &open), &tasks[0].acquire.future};
  volt_future *either = volt_select_future(&select, branches, 2, VOLT_SELECT_BIASED);
  assert_result(volt_future_poll(either, no_waker), VOLT_PENDING);
  add(1); /* both branches are granted */
  volt_latch_done(&open);
  assert_result(volt_future_poll(either, no_waker), VOLT_OK);
  assert_int_equal(volt_select_winner(&select), 0);
  assert_int_equal(local()->idle(sem), 1);
  end();
}

/* A channel has moved its element for the select; the slot that the first branch has taken is given
 * back. */
static void a_select_undoes_the_branch_that_came_too_late(void **state) {
  (void)state;
  begin(8);
  volt_chan chan;
  static char memory[1024];
  uint64_t element = 7, received = 0;
  assert_result(volt_chan_init(&chan, 1, sizeof element, memory, sizeof memory), VOLT_OK);
  volt_future recv;
  volt_select select;
  ask(0);
  volt_future *branches[] = {&tasks[0].acquire.future,
                             volt_chan_recv_future(&recv, &chan, &received)};
  volt_future *either = volt_select_future(&select, branches, 2, VOLT_SELECT_BIASED);
  assert_result(volt_future_poll(either, no_waker), VOLT_PENDING);
  assert_result(volt_chan_try_send(&chan, &element), VOLT_OK);
  add(1);
  local()->take_back(sem, 1);
  (void)fake_lease_take_ring();
  assert_result(volt_future_poll(either, no_waker), VOLT_OK);
  assert_int_equal(volt_select_winner(&select), 1);
  assert_int_equal(received, 7);
  assert_null(tasks[0].permit.sem);
  assert_true(fake_lease_take_ring());
  assert_int_equal(collect(), 1);
  volt_chan_destroy(&chan, NULL, NULL);
  end();
}

static void a_select_may_keep_it(void **state) {
  (void)state;
  begin(8);
  volt_latch open = VOLT_LATCH_INIT(1);
  volt_future wait;
  volt_select select;
  ask(0);
  volt_future *branches[] = {volt_latch_wait_future(&wait, &open), &tasks[0].acquire.future};
  volt_future *either =
      volt_select_future(&select, branches, 2, VOLT_SELECT_BIASED | VOLT_SELECT_KEEP);
  assert_result(volt_future_poll(either, fake_waker_of(&tasks[0].waker)), VOLT_PENDING);
  volt_latch_done(&open);
  expect_wakes(0, 1);
  assert_result(volt_future_poll(either, fake_waker_of(&tasks[0].waker)), VOLT_OK);
  add(1);
  expect_wakes(0, 1); /* it is kept without a waker */
  expect(0, VOLT_OK);
  give(0);
  end();
}

static void a_poller_counts_its_wakes(void **state) {
  (void)state;
  begin(8);
  add(1);
  take(1);
  poller p;
  poller_init(&p);
  ask(0);
  assert_result(poller_poll(&p, &tasks[0].acquire.future), VOLT_PENDING);
  poller_expect(&p, 1, 0, 0);
  give(1);
  poller_expect(&p, 1, 1, 0);
  assert_result(poller_poll(&p, &tasks[0].acquire.future), VOLT_OK);
  give(0);
  poller_init(&p);
  take(1);
  ask(0);
  p.ctx.budget = 0;
  assert_result(poller_poll(&p, &tasks[0].acquire.future), VOLT_PENDING);
  assert_true(p.ctx.yield);
  poller_expect(&p, 0, 0, 0);
  p.ctx.budget = 2;
  assert_result(poller_poll(&p, &tasks[0].acquire.future), VOLT_PENDING);
  p.ctx.cancel = VOLT_CTX_CANCEL_ONCE;
  assert_result(poller_poll(&p, &tasks[0].acquire.future), VOLT_ECANCELED);
  assert_int_equal(p.ctx.cancel, VOLT_CTX_GO_ON);
  poller_expect_dropped(&p, 1);
  give(1);
  p.ctx.budget = 2;
  ask(0);
  assert_result(poller_poll(&p, &tasks[0].acquire.future), VOLT_OK);
  assert_int_equal(p.ctx.budget, 1);
  give(0);
  end();
}

/* ---- slots are asked back ---- */

static void idle_slots_are_free_at_once(void **state) {
  (void)state;
  begin(8);
  add(4);
  take(0);
  local()->take_back(sem, 2);
  expect_stats(1, 2, 0, 0);
  assert_int_equal(local()->idle(sem), 1);
  assert_int_equal(collect(), 2);
  assert_int_not_equal(collected[0].slot, collected[1].slot);
  assert_int_not_equal(collected[0].slot, slot_of(0));
  assert_int_not_equal(collected[1].slot, slot_of(0));
  assert_int_equal(collect(), 0);
  take(1);
  queue(2);
  volt_future_cancel(&tasks[2].acquire.future);
  give(0);
  assert_false(fake_lease_take_ring() && collect());
  give(1);
  end();
}

static void what_is_in_use_comes_back_when_it_is_released(void **state) {
  (void)state;
  begin(8);
  add(2);
  take(0);
  take(1);
  queue(2);
  (void)fake_lease_take_ring();
  assert_int_equal(take_back_and_collect(1), 0);
  expect_stats(2, 1, 0, 1);
  uint32_t slot = slot_of(1);
  give(1);
  assert_true(fake_lease_take_ring());
  expect(2, VOLT_PENDING); /* what is asked back comes first */
  assert_int_equal(collect(), 1);
  assert_int_equal(collected[0].slot, slot);
  expect_stats(1, 0, 0, 1);
  give(0);
  assert_false(fake_lease_take_ring());
  expect(2, VOLT_OK);
  give(2);
  end();
}

static void a_slot_that_a_task_was_granted_is_not_collected(void **state) {
  (void)state;
  begin(8);
  add(1);
  take(0);
  queue(1);
  give(0);
  expect_wakes(1, 1);
  assert_int_equal(take_back_and_collect(1), 0); /* it is in the stack, and task 1 may take it */
  expect(1, VOLT_OK);
  assert_int_equal(collect(), 0);
  give(1);
  assert_int_equal(collect(), 1);
  end();
}

static void no_more_is_taken_back_than_there_is(void **state) {
  (void)state;
  begin(8);
  add(3);
  take(0);
  local()->take_back(sem, 2);
  local()->take_back(sem, 2);
  expect_stats(1, 3, 0, 0);
  assert_int_equal(collect(), 2);
  give(0);
  assert_int_equal(collect(), 1);
  add(2);
  take(0);
  take(1);
  give(0);
  give(1);
  end();
}

static void collecting_stops_where_there_is_no_room(void **state) {
  (void)state;
  begin(8);
  add(8);
  assert_int_equal(local()->room(sem), 0);
  assert_int_equal(local()->take_back_from(sem, 6), 2);
  local()->take_back(sem, 4);
  cluster_slot slots[8];
  uint32_t seen = 0;
  for (int i = 0; i < 3; i++) {
    assert_int_equal(local()->collect(sem, slots, 2), 2);
    seen |= 1u << slots[0].slot | 1u << slots[1].slot;
  }
  assert_int_equal(local()->collect(sem, slots, 2), 0);
  assert_int_equal(seen & 0xc0, 0xc0);
  assert_int_equal(local()->room(sem), 6);
  owned = 2;
  end();
}

/* ---- those with high numbers ---- */

static void idle_slots_beyond_the_limit_are_free_at_once(void **state) {
  (void)state;
  begin(8);
  add(4);
  take(0); /* 3 */
  assert_int_equal(slot_of(0), 3);
  assert_int_equal(local()->take_back_from(sem, 2), 2);
  assert_int_equal(local()->take_back_from(sem, 2), 2);
  expect_stats(1, 2, 0, 0);
  assert_int_equal(local()->idle(sem), 2);
  assert_int_equal(collect(), 1);
  assert_int_equal(collected[0].slot, 2);
  assert_int_equal(local()->take_back_from(sem, 2), 1);
  take(1);
  take(2);
  queue(3);
  (void)fake_lease_take_ring();
  assert_true(is_valid(0)); /* it is leased until it is released */
  give(0);
  assert_true(fake_lease_take_ring());
  expect(3, VOLT_PENDING);
  assert_int_equal(collect(), 1);
  assert_int_equal(collected[0].slot, 3);
  assert_int_equal(collect(), 0);
  assert_int_equal(local()->take_back_from(sem, 2), 0);
  expect(3, VOLT_PENDING);
  give(1);
  expect(3, VOLT_OK);
  give(2);
  give(3);
  end();
}

/* The task that was granted the slot keeps its place: it gets it, and gives it back afterwards. */
static void a_slot_beyond_the_limit_that_was_granted_is_used_once_more(void **state) {
  (void)state;
  begin(8);
  next_slot = 5;
  add(1);
  take(0);
  queue(1);
  queue(2);
  give(0);
  assert_int_equal(local()->take_back_from(sem, 4), 1);
  assert_int_equal(collect(), 0);
  expect(1, VOLT_OK);
  assert_int_equal(slot_of(1), 5);
  (void)fake_lease_take_ring();
  give(1);
  assert_true(fake_lease_take_ring());
  assert_int_equal(collect(), 1);
  expect(2, VOLT_PENDING);
  volt_future_cancel(&tasks[2].acquire.future);
  end();
}

static void a_grant_beyond_the_limit_that_is_dropped_comes_back(void **state) {
  (void)state;
  begin(8);
  add(2);
  take(0);
  take(1);
  queue(2);
  queue(3);
  give(0);
  give(1);
  assert_int_equal(local()->take_back_from(sem, 1), 1);
  assert_int_equal(collect(), 0);
  (void)fake_lease_take_ring();
  volt_future_cancel(&tasks[2].acquire.future);
  assert_true(fake_lease_take_ring());
  assert_int_equal(collect(), 1);
  assert_int_equal(collected[0].slot, 1);
  expect(3, VOLT_OK);
  give(3);
  end();
}

static void both_ways_of_asking_back(void **state) {
  (void)state;
  begin(8);
  add(4);
  for (int i = 0; i < 4; i++) take(i); /* 3, 2, 1, 0 */
  local()->take_back(sem, 3);
  assert_int_equal(local()->take_back_from(sem, 2), 2);
  expect_stats(4, 4, 0, 0); /* all: two by their numbers, two of the others */
  for (int i = 0; i < 4; i++) {
    give(i);
    assert_true(fake_lease_take_ring());
    assert_int_equal(collect(), 1);
  }
  end();
}

/* ---- loss ---- */

static void what_is_held_is_lost(void **state) {
  (void)state;
  begin(8);
  add(3);
  take(0);
  take(1);
  watch(0);
  expect_lost(0, VOLT_PENDING);
  assert_true(is_valid(0));
  volt_cluster_fence fence = volt_cluster_permit_fence(&tasks[0].permit);
  lose_all();
  expect_lost_wakes(0, 1);
  expect_lost(0, VOLT_OK);
  assert_false(is_valid(0));
  assert_false(is_valid(1));
  volt_cluster_fence after = volt_cluster_permit_fence(&tasks[0].permit);
  assert_int_equal(volt_cluster_fence_compare(&fence, &after), 0);
  expect_stats(0, 0, 2, 0);
  assert_int_equal(wanted(), 0);
  assert_int_equal(local()->idle(sem), 0);
  assert_int_equal(collect(), 0);
  assert_int_equal(local()->room(sem), 6);
  watch(1); /* afterwards */
  expect_lost(1, VOLT_OK);
  give(0);
  assert_true(fake_lease_take_ring());
  assert_int_equal(local()->room(sem), 7);
  assert_false(local()->is_free(sem));
  give(1);
  assert_int_equal(local()->room(sem), 8);
  assert_int_equal(collect(), 0);
  end();
}

static void a_permit_is_not_valid_when_the_time_has_passed(void **state) {
  (void)state;
  begin(8);
  add(1);
  take(0);
  assert_int_equal(volt_cluster_permit_valid_until_ns(&tasks[0].permit), 2000);
  volt_store_relaxed(&fake_cluster.now_ns, 1999); /* one thread */
  assert_true(volt_cluster_permit_is_valid(&tasks[0].permit));
  volt_store_relaxed(&fake_cluster.now_ns, 2000);
  assert_false(volt_cluster_permit_is_valid(&tasks[0].permit));
  volt_store_relaxed(&fake_cluster.valid_until_ns, 3000);
  assert_true(volt_cluster_permit_is_valid(&tasks[0].permit));
  give(0);
  end();
}

static void waiters_stay_queued_and_get_what_is_leased_next(void **state) {
  (void)state;
  begin(8);
  add(2);
  take(0);
  take(1);
  for (int i = 2; i < 5; i++) queue(i);
  lose_all();
  assert_int_equal(wanted(), 3);
  give(0);
  assert_int_equal(wanted(), 3);
  expect(2, VOLT_PENDING); /* it does not get the permit of a slot that is lost */
  expect_wakes(2, 0);
  add(2);                    /* while a lost permit is out */
  assert_false(is_valid(1)); /* a lost one stays lost, although its slot is leased anew */
  expect(2, VOLT_OK);
  expect(3, VOLT_OK);
  expect(4, VOLT_PENDING);
  assert_true(is_valid(2));
  assert_true(is_valid(3));
  expect_stats(2, 0, 1, 1);
  give(1);
  assert_int_equal(wanted(), 3);
  expect(4, VOLT_PENDING);
  give(3);
  expect(4, VOLT_OK);
  give(2);
  give(4);
  end();
}

static void a_place_can_be_lost_again(void **state) {
  (void)state;
  begin(1);
  for (uint32_t i = 1; i <= 3; i++) {
    add(1);
    take(0);
    assert_true(is_valid(0));
    watch(0);
    expect_lost(0, VOLT_PENDING);
    lose_all();
    assert_int_equal(local()->room(sem), 0);
    expect_lost(0, VOLT_OK);
    expect_lost_wakes(0, i);
    give(0);
    assert_int_equal(local()->room(sem), 1);
  }
  end();
}

/* Those that were granted, and not polled before the loss, keep their places before the others. */
static void a_task_that_was_granted_a_lost_slot_waits_on(void **state) {
  (void)state;
  begin(8);
  add(2);
  take(0);
  take(1);
  queue(2);
  queue(3);
  give(0);
  give(1);
  queue(4);
  lose_all();
  expect(2, VOLT_PENDING);
  assert_true(fake_lease_take_ring());
  expect(3, VOLT_PENDING);
  assert_int_equal(wanted(), 3);
  expect_stats(0, 0, 0, 3);
  add(1);
  expect(4, VOLT_PENDING);
  expect(2, VOLT_OK);
  expect(3, VOLT_PENDING);
  (void)fake_lease_take_ring();
  uint32_t before = fake_waker_calls(&tasks[3].waker);
  give(2);
  assert_true(fake_lease_take_ring());
  assert_int_equal(wanted(), 2); /* the driver looks, and so does the task */
  expect_wakes(3, before + 1);
  expect(4, VOLT_PENDING);
  expect(3, VOLT_OK);
  give(3);
  expect(4, VOLT_OK);
  give(4);
  end();
}

/* The same, but new slots came before it was polled: there is one for it. */
static void a_task_that_was_granted_a_lost_slot_gets_a_new_one(void **state) {
  (void)state;
  begin(8);
  add(1);
  take(0);
  queue(1);
  give(0);
  lose_all();
  add(1);
  volt_cluster_permit p;
  assert_result(volt_cluster_try_acquire(sem, &p), VOLT_EAGAIN);
  expect(1, VOLT_OK);
  assert_true(is_valid(1));
  give(1);
  end();
}

static void a_dropped_grant_of_a_lost_slot_is_gone(void **state) {
  (void)state;
  begin(8);
  add(1);
  take(0);
  queue(1);
  queue(2);
  give(0);
  lose_all();
  volt_future_cancel(&tasks[1].acquire.future);
  expect(2, VOLT_PENDING);
  add(1);
  expect(2, VOLT_OK);
  give(2);
  end();
}

static void one_lease_is_lost(void **state) {
  (void)state;
  begin(8);
  add(3);
  take(0); /* 2 */
  take(1); /* 1 */
  watch(0);
  watch(1);
  expect_lost(0, VOLT_PENDING);
  expect_lost(1, VOLT_PENDING);
  local()->lose(sem, &(cluster_slot){.slot = 1});
  owned -= 1;
  expect_lost(0, VOLT_PENDING);
  expect_lost_wakes(1, 1);
  assert_true(is_valid(0));
  assert_false(is_valid(1));
  local()->lose(sem, &(cluster_slot){.slot = 0}); /* a free one */
  owned -= 1;
  local()->lose(sem, &(cluster_slot){.slot = 7}); /* none */
  expect_stats(1, 0, 1, 0);
  queue(2);
  volt_future_cancel(&tasks[0].lost);
  give(0);
  expect(2, VOLT_OK);
  assert_int_equal(slot_of(2), 2);
  give(1);
  give(2);
  end();
}

static void what_is_asked_back_is_lost_too(void **state) {
  (void)state;
  begin(8);
  add(6);
  for (int i = 0; i < 3; i++) take(i); /* 5, 4, 3 */
  assert_int_equal(local()->take_back_from(sem, 4), 2);
  local()->take_back(sem, 2);
  expect_stats(3, 4, 0, 0);
  lose_all();
  expect_stats(0, 0, 3, 0);
  assert_int_equal(collect(), 0);
  for (int i = 0; i < 3; i++) {
    assert_false(is_valid(i));
    give(i);
  }
  assert_int_equal(local()->room(sem), 8);
  assert_int_equal(collect(), 0);
  end();
}

static void what_is_ready_to_be_collected_is_lost_alone(void **state) {
  (void)state;
  begin(8);
  add(3);
  assert_int_equal(local()->take_back_from(sem, 1), 2);
  local()->lose(sem, &(cluster_slot){.slot = 1});
  owned -= 1;
  expect_stats(0, 1, 0, 0);
  assert_int_equal(collect(), 1);
  assert_int_equal(collected[0].slot, 2);
  take(0);
  assert_int_equal(slot_of(0), 0);
  give(0);
  end();
}

/* ---- close ---- */

static void closing_ends_the_waits(void **state) {
  (void)state;
  begin(8);
  add(1);
  take(0);
  queue(1);
  (void)fake_lease_take_ring();
  volt_cluster_sem_close(sem);
  assert_true(fake_lease_take_ring());
  assert_true(volt_load_relaxed(&fake_lease.is_closed) != 0);
  expect_wakes(1, 1);
  expect(1, VOLT_ECLOSED);
  volt_cluster_permit p;
  assert_result(volt_cluster_try_acquire(sem, &p), VOLT_ECLOSED);
  ask(2);
  expect(2, VOLT_ECLOSED);
  assert_true(is_valid(0));
  local()->close(sem);
  assert_int_equal(collect(), 0);
  assert_false(local()->is_free(sem));
  give(0);
  assert_true(fake_lease_take_ring());
  assert_int_equal(collect(), 1);
  end();
}

/* The task finds the slot lost and the semaphore closed. */
static void a_lost_grant_of_a_closed_semaphore_is_refused(void **state) {
  (void)state;
  begin(8);
  add(1);
  take(0);
  queue(1);
  give(0);
  lose_all();
  volt_cluster_sem_close(sem);
  local()->close(sem);
  expect(1, VOLT_ECLOSED);
  end();
}

/* ---- the rest of the interface ---- */

static void opening_can_fail(void **state) {
  (void)state;
  volt_cluster_sem_config config = {.capacity = (1u << 20) + 1};
  volt_cluster_sem *s = (volt_cluster_sem *)&config;
  assert_result(volt_cluster_sem_open(&s, &fake_cluster, "it", &config), VOLT_EINVAL);
  assert_null(s);
  assert_result(volt_cluster_sem_open(&s, NULL, "it", NULL), VOLT_EINVAL);
  fake_lease.opens_with = VOLT_ECLOSED;
  assert_result(volt_cluster_sem_open(&s, &fake_cluster, "it", NULL), VOLT_ECLOSED);
  assert_null(s);
  fake_lease.opens_with = VOLT_OK;
  const struct {
    volt_cluster_sem_config config;
    uint32_t room;
  } rooms[] = {{{.limit = 0}, 256},
               {{.limit = 300}, 300},
               {{.limit = 300, .capacity = 4}, 4},
               {{.limit = VOLT_SEM_MAX}, 1u << 20}};
  for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) {
    assert_result(volt_cluster_sem_open(&s, &fake_cluster, "it", &rooms[i].config), VOLT_OK);
    assert_int_equal(local()->room(s), rooms[i].room);
    local()->destroy(s);
  }
}

static void the_limit_of_all_goes_to_the_lease(void **state) {
  (void)state;
  begin(8);
  volt_cluster_change change;
  assert_ptr_equal(volt_cluster_sem_set_limit_future(&change, sem, 12), &change.future);
  assert_int_equal(fake_lease.limit, 12);
  end();
}

/* ---- misuse ---- */

static void release_task_0(void *arg) {
  (void)arg;
  give(0);
}

static void a_permit_is_released_once(void **state) {
  (void)state;
  begin(8);
  assert_death(release_task_0, NULL, "volt_cluster_release", "is no permit");
  add(1);
  take(0);
  volt_cluster_permit copy = tasks[0].permit;
  give(0);
  assert_death(release_task_0, NULL, "volt_cluster_release", "is no permit");
  take(1);
  tasks[0].permit = copy;
  assert_death(release_task_0, NULL, "volt_cluster_release", "was released already");
  give(1);
  end();
}

static void no_lost_future_waits_when_it_is_released(void **state) {
  (void)state;
  begin(8);
  add(1);
  take(0);
  watch(0);
  expect_lost(0, VOLT_PENDING);
  assert_death(release_task_0, NULL, "volt_cluster_release", "a lost future still waits");
  volt_future_cancel(&tasks[0].lost);
  give(0);
  end();
}

static void add_too_many(void *arg) {
  (void)arg;
  add(3);
}

static void no_more_is_added_than_fits(void **state) {
  (void)state;
  begin(2);
  assert_death(add_too_many, NULL, "volt_cluster_sem", "3 slots, room for 2");
  end();
}

/* ---- everything, at random ---- */

enum { NOTHING, WAITS, HOLDS };
static int phases[TASKS];

static uint32_t count_in(int phase) {
  uint32_t count = 0;
  for (int i = 0; i < TASKS; i++) count += phases[i] == phase;
  return count;
}

static uint32_t slots_in_stack(void) {
  uint32_t count = 0;
  uint32_t at = slot_stack_top_(volt_load_relaxed(&sem->stack.head)); /* one thread */
  for (; at; count++) at = volt_load_relaxed(&sem->stack.places[at - 1].next);
  return count;
}

static bool is_lost(int i) {
  return volt_cluster_permit_valid_until_ns(&tasks[i].permit) == 0;
}

/* I1 and I2 of sem.c; no slot has two permits. */
static void expect_books(void) {
  (void)wanted(); /* it takes in what has come back */
  assert_int_equal(volt_sem_limit(&sem->local), sem->usable - sem->recalled + sem->lost);
  assert_int_equal(sem->usable + sem->ready, owned);
  uint32_t seen = 0, lost_here = 0, granted = 0;
  for (int i = 0; i < TASKS; i++) {
    granted += phases[i] == WAITS && tasks[i].acquire.local.object == (void *)&sem->local.queue &&
               volt_waiter_result(&tasks[i].acquire.local.waiter) == VOLT_OK;
    if (phases[i] != HOLDS) continue;
    lost_here += is_lost(i);
    if (is_lost(i)) continue;
    assert_false(seen >> slot_of(i) & 1);
    seen |= 1u << slot_of(i);
  }
  uint32_t slotless = volt_load_relaxed(&sem->slotless); /* one thread */
  assert_int_equal(sem->lost, lost_here);
  uint32_t available = volt_sem_available(&sem->local), excess = volt_sem_excess(&sem->local);
  assert_int_equal(slots_in_stack(), available - excess + sem->recalled + granted + slotless);
  if (count_in(WAITS) > granted + slotless) assert_int_equal(available, 0);
}

static uint32_t leased_numbers; /* one bit for each slot that the driver has given */

static void random_add(rng *r) {
  cluster_slot slots[4];
  uint32_t count = 0;
  uint32_t room = local()->room(sem);
  next_epoch += 1;
  for (uint32_t i = 0; i < 12 && count < room && count < 4; i++) {
    uint32_t slot = rng_below(r, 12);
    if (leased_numbers >> slot & 1) continue;
    leased_numbers |= 1u << slot;
    slots[count++] = (cluster_slot){.slot = slot, .era = 1, .epoch = next_epoch};
  }
  local()->add(sem, slots, count);
  owned += count;
}

static void random_collect(void) {
  uint32_t count = collect();
  for (uint32_t i = 0; i < count; i++) {
    assert_true(leased_numbers >> collected[i].slot & 1);
    leased_numbers &= ~(1u << collected[i].slot);
    for (int k = 0; k < TASKS; k++)
      assert_false(phases[k] == HOLDS && !is_lost(k) && slot_of(k) == collected[i].slot);
  }
}

static void random_loss(rng *r) {
  if (rng_below(r, 3) == 0) {
    lose_all();
    leased_numbers = 0;
    return;
  }
  cluster_slot slot = {.slot = rng_below(r, 12)};
  local()->lose(sem, &slot);
  if (!(leased_numbers >> slot.slot & 1)) return;
  leased_numbers &= ~(1u << slot.slot);
  owned -= 1;
}

static void random_task(int i, rng *r) {
  if (phases[i] == NOTHING) {
    ask(i);
    phases[i] = WAITS;
  }
  if (phases[i] == HOLDS) {
    give(i);
    phases[i] = NOTHING;
  } else if (rng_below(r, 4) == 0) {
    volt_future_cancel(&tasks[i].acquire.future);
    phases[i] = NOTHING;
  } else if (volt_future_poll(&tasks[i].acquire.future, no_waker) == VOLT_OK) {
    phases[i] = HOLDS;
  }
}

static void random_step(rng *r) {
  switch (rng_below(r, 16)) {
    case 0:
    case 1: random_add(r); break;
    case 2: local()->take_back(sem, 1 + rng_below(r, 4)); break;
    case 3: (void)local()->take_back_from(sem, rng_below(r, 12)); break;
    case 4:
    case 5: random_collect(); break;
    case 6: random_loss(r); break;
    default: random_task((int)rng_below(r, TASKS), r);
  }
}

static void the_books_balance(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 200; seed++) {
    rng r = rng_seeded(seed);
    begin(12);
    leased_numbers = 0;
    memset(phases, 0, sizeof phases);
    for (int i = 0; i < 300; i++) {
      random_step(&r);
      expect_books();
    }
    for (int i = 0; i < TASKS; i++) {
      if (phases[i] == HOLDS) give(i);
      if (phases[i] == WAITS) volt_future_cancel(&tasks[i].acquire.future);
      phases[i] = NOTHING;
    }
    assert_int_equal(wanted(), 0);
    random_collect();
    local()->take_back(sem, owned);
    random_collect();
    assert_int_equal(leased_numbers, 0);
    assert_int_equal(local()->room(sem), 12);
    end();
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(without_slots_a_task_waits_and_rings),
      cmocka_unit_test(a_try_in_vain_is_noted),
      cmocka_unit_test(a_release_rings_if_none_was_idle),
      cmocka_unit_test(a_free_slot_is_taken_at_once),
      cmocka_unit_test(tasks_are_served_in_their_order),
      cmocka_unit_test(the_slot_that_was_used_last_is_used_next),
      cmocka_unit_test(a_fence_rises),
      cmocka_unit_test(a_fiber_is_suspended),
      cmocka_unit_test(a_thread_waits),
      cmocka_unit_test(nothing_is_allocated),
      cmocka_unit_test(what_was_granted_and_not_polled_goes_to_the_next),
      cmocka_unit_test(a_dropped_grant_rings_if_its_slot_is_asked_back),
      cmocka_unit_test(a_select_drops_the_branch_that_loses),
      cmocka_unit_test(a_select_undoes_the_branch_that_came_too_late),
      cmocka_unit_test(a_select_may_keep_it),
      cmocka_unit_test(a_poller_counts_its_wakes),
      cmocka_unit_test(idle_slots_are_free_at_once),
      cmocka_unit_test(what_is_in_use_comes_back_when_it_is_released),
      cmocka_unit_test(a_slot_that_a_task_was_granted_is_not_collected),
      cmocka_unit_test(no_more_is_taken_back_than_there_is),
      cmocka_unit_test(collecting_stops_where_there_is_no_room),
      cmocka_unit_test(idle_slots_beyond_the_limit_are_free_at_once),
      cmocka_unit_test(a_slot_beyond_the_limit_that_was_granted_is_used_once_more),
      cmocka_unit_test(a_grant_beyond_the_limit_that_is_dropped_comes_back),
      cmocka_unit_test(both_ways_of_asking_back),
      cmocka_unit_test(what_is_held_is_lost),
      cmocka_unit_test(a_permit_is_not_valid_when_the_time_has_passed),
      cmocka_unit_test(waiters_stay_queued_and_get_what_is_leased_next),
      cmocka_unit_test(a_place_can_be_lost_again),
      cmocka_unit_test(a_task_that_was_granted_a_lost_slot_waits_on),
      cmocka_unit_test(a_task_that_was_granted_a_lost_slot_gets_a_new_one),
      cmocka_unit_test(a_dropped_grant_of_a_lost_slot_is_gone),
      cmocka_unit_test(one_lease_is_lost),
      cmocka_unit_test(what_is_asked_back_is_lost_too),
      cmocka_unit_test(what_is_ready_to_be_collected_is_lost_alone),
      cmocka_unit_test(closing_ends_the_waits),
      cmocka_unit_test(a_lost_grant_of_a_closed_semaphore_is_refused),
      cmocka_unit_test(opening_can_fail),
      cmocka_unit_test(the_limit_of_all_goes_to_the_lease),
      cmocka_unit_test(a_permit_is_released_once),
      cmocka_unit_test(no_lost_future_waits_when_it_is_released),
      cmocka_unit_test(no_more_is_added_than_fits),
      cmocka_unit_test(the_books_balance),
  };
  return cmocka_run_group_tests_name("volt_cluster_sem", tests, NULL, NULL);
}
