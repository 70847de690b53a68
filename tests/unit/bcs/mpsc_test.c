/* mpsc_test.c: every sentence of volt/mpsc.h. A producer that is stuck between its two steps is
 * played by hand: it has swapped the tail, and has not linked yet. */
#include "alloc_count.h"
#include "futex_hook.h"
#include "require.h"
#include "thread_team.h"
#include "unit.h"

enum { NODES = 8 };
static volt_mpsc queue;
static volt_bcs_node nodes[NODES];

static int set_up(void **state) {
  (void)state;
  memset((void *)&queue, 0xee, sizeof queue);
  memset((void *)nodes, 0xee, sizeof nodes); /* push overwrites what is private */
  volt_mpsc_init(&queue);
  return 0;
}

static void expect_node(volt_bcs_node *node) {
  volt_bcs_node *got = NULL;
  assert_result(volt_mpsc_pop(&queue, &got), VOLT_OK);
  assert_ptr_equal(got, node);
  memset((void *)got, 0xa5, sizeof *got); /* it is the caller's */
}

static void expect_nothing(int result) {
  volt_bcs_node *got = &nodes[0];
  assert_result(volt_mpsc_pop(&queue, &got), result);
}

/* The two steps of a push. first() returns the node to link to, or 0. */
static uintptr_t first_step(volt_bcs_node *node) {
  volt_store_relaxed(&node->next, 0);
  return volt_exchange_acq_rel(&queue.tail, volt_bcs_link_to_(node));
}

static void second_step(uintptr_t last, volt_bcs_node *node) {
  if (last == 0) {
    volt_store_release(&queue.head, volt_bcs_link_to_(node));
  } else {
    volt_store_release(&volt_bcs_node_of_(last)->next, volt_bcs_link_to_(node));
  }
}

/* ---- the queue ---- */

static void an_empty_queue(void **state) {
  (void)state;
  expect_nothing(VOLT_EAGAIN);
  expect_nothing(VOLT_EAGAIN);
  volt_mpsc made = VOLT_MPSC_INIT;
  volt_bcs_node *got;
  assert_result(volt_mpsc_pop(&made, &got), VOLT_EAGAIN);
  memset((void *)&queue, 0, sizeof queue); /* all-zero */
  expect_nothing(VOLT_EAGAIN);
  volt_mpsc_push(&queue, &nodes[0]);
  expect_node(&nodes[0]);
}

static void first_in_first_out(void **state) {
  (void)state;
  for (int i = 0; i < NODES; i++) volt_mpsc_push(&queue, &nodes[i]);
  for (int i = 0; i < NODES; i++) expect_node(&nodes[i]);
  expect_nothing(VOLT_EAGAIN);
}

static void a_node_is_used_again(void **state) {
  (void)state;
  for (int i = 0; i < 5; i++) {
    volt_mpsc_push(&queue, &nodes[0]);
    expect_node(&nodes[0]);
    expect_nothing(VOLT_EAGAIN);
  }
  volt_mpsc_push(&queue, &nodes[0]);
  for (int i = 0; i < 20; i++) { /* two that chase each other */
    volt_mpsc_push(&queue, &nodes[(i + 1) % 2]);
    expect_node(&nodes[i % 2]);
  }
  expect_node(&nodes[0]);
  expect_nothing(VOLT_EAGAIN);
}

static void what_a_node_carries(void **state) {
  (void)state;
  int value = 42;
  nodes[0].data = &value;
  volt_mpsc_push(&queue, &nodes[0]);
  volt_bcs_node *got;
  assert_result(volt_mpsc_pop(&queue, &got), VOLT_OK);
  assert_ptr_equal(got->data, &value);
}

/* ---- stalled producers ---- */

static void the_first_producer_is_stalled(void **state) {
  (void)state;
  uintptr_t last = first_step(&nodes[0]);
  assert_int_equal(last, 0);
  expect_nothing(VOLT_ESTALLED); /* not "empty" */
  volt_mpsc_push(&queue, &nodes[1]);
  expect_nothing(VOLT_ESTALLED); /* this push has returned, and cannot be reached */
  second_step(last, &nodes[0]);
  expect_node(&nodes[0]);
  expect_node(&nodes[1]);
  expect_nothing(VOLT_EAGAIN);
}

static void the_next_producer_is_stalled(void **state) {
  (void)state;
  volt_mpsc_push(&queue, &nodes[0]);
  uintptr_t last = first_step(&nodes[1]);
  expect_nothing(VOLT_ESTALLED); /* the oldest is still the link to the next */
  expect_nothing(VOLT_ESTALLED);
  volt_mpsc_push(&queue, &nodes[2]);
  expect_nothing(VOLT_ESTALLED);
  second_step(last, &nodes[1]);
  for (int i = 0; i < 3; i++) expect_node(&nodes[i]);
  expect_nothing(VOLT_EAGAIN);
}

static void a_producer_behind_is_stalled(void **state) {
  (void)state;
  volt_mpsc_push(&queue, &nodes[0]);
  volt_mpsc_push(&queue, &nodes[1]);
  uintptr_t last = first_step(&nodes[2]);
  expect_node(&nodes[0]); /* its next is known */
  expect_nothing(VOLT_ESTALLED);
  second_step(last, &nodes[2]);
  expect_node(&nodes[1]);
  expect_node(&nodes[2]);
  expect_nothing(VOLT_EAGAIN);
}

static void stalled_on_a_queue_that_has_been_emptied(void **state) {
  (void)state;
  volt_mpsc_push(&queue, &nodes[0]);
  expect_node(&nodes[0]);
  uintptr_t last = first_step(&nodes[1]);
  assert_int_equal(last, 0); /* not the one that was popped */
  expect_nothing(VOLT_ESTALLED);
  second_step(last, &nodes[1]);
  expect_node(&nodes[1]);
  expect_nothing(VOLT_EAGAIN);
}

/* ---- the actor ---- */

static volt_actor actor;
static volt_bcs_node *handled[64];
static uint32_t handled_count;

static int set_up_actor(void **state) {
  set_up(state);
  memset((void *)&actor, 0xee, sizeof actor);
  volt_actor_init(&actor);
  handled_count = 0;
  return 0;
}

static void handle(volt_bcs_node *node, void *ctx) {
  REQUIRE(ctx == &handled_count);
  handled[handled_count++] = node;
}

static void expect_handled(uint32_t count) {
  assert_int_equal(handled_count, count);
  for (uint32_t i = 0; i < count; i++) assert_ptr_equal(handled[i], &nodes[i]);
}

static void submitted_before_it_runs(void **state) {
  (void)state;
  for (int i = 0; i < NODES; i++) volt_actor_submit(&actor, &nodes[i]);
  assert_int_equal(handled_count, 0);
  volt_actor_stop(&actor);
  volt_actor_run(&actor, handle, &handled_count);
  expect_handled(NODES);
}

static void it_is_stopped_and_runs_again(void **state) {
  (void)state;
  volt_actor made = VOLT_ACTOR_INIT;
  actor = made;
  for (uint32_t i = 0; i < 5; i++) {
    volt_actor_submit(&actor, &nodes[i]);
    volt_actor_stop(&actor);
    volt_actor_run(&actor, handle, &handled_count);
    expect_handled(i + 1);
  }
  volt_actor_stop(&actor); /* nothing to do */
  volt_actor_run(&actor, handle, &handled_count);
  expect_handled(5);
}

static void submitted_after_stop(void **state) {
  (void)state;
  volt_actor_stop(&actor);
  volt_actor_submit(&actor, &nodes[0]); /* run() sees it in time */
  volt_actor_run(&actor, handle, &handled_count);
  expect_handled(1);
  volt_actor_submit(&actor, &nodes[1]); /* it is not running: the next one does */
  volt_actor_stop(&actor);
  volt_actor_run(&actor, handle, &handled_count);
  expect_handled(2);
}

/* What handle() does to its own node: submit it again, free it. */
static void handle_thrice(volt_bcs_node *node, void *ctx) {
  uint32_t *turns = (uint32_t *)ctx;
  *turns += 1;
  if (*turns == 1) volt_actor_stop(&actor); /* what follows is after the stop, and still seen */
  if (*turns < 3) {
    volt_actor_submit(&actor, node);
  } else {
    memset((void *)node, 0xa5, sizeof *node);
    free(node);
  }
}

static void handle_owns_the_node(void **state) {
  (void)state;
  uint32_t turns = 0;
  volt_bcs_node *node = (volt_bcs_node *)malloc(sizeof *node);
  assert_non_null(node);
  volt_actor_submit(&actor, node);
  volt_actor_run(&actor, handle_thrice, &turns);
  assert_int_equal(turns, 3);
}

static void nothing_is_allocated(void **state) {
  (void)state;
  uint64_t before = alloc_count_allocations();
  for (int i = 0; i < NODES; i++) volt_actor_submit(&actor, &nodes[i]);
  volt_actor_stop(&actor);
  volt_actor_run(&actor, handle, &handled_count);
  assert_int_equal(alloc_count_allocations(), before);
}

/* ---- it sleeps ---- */

/* What happens while the actor's thread sleeps, one event for each time it does. */
struct night {
  uint32_t sleeps;
  uint32_t wakes;
  uint32_t *slept_on;
  void (*event)(struct night *n);
};

static futex_outcome sleep_and_wake(void *arg, const futex_call *call) {
  struct night *n = (struct night *)arg;
  if (!call->is_wait) {
    REQUIRE(call->address == n->slept_on);
    n->wakes += 1;
    return FUTEX_RETURN_0;
  }
  REQUIRE(call->timeout == NULL);
  n->slept_on = call->address;
  n->sleeps += 1;
  n->event(n);
  return FUTEX_RETURN_0;
}

static void run_through(struct night *n) {
  futex_hook_set(sleep_and_wake, n);
  volt_actor_run(&actor, handle, &handled_count);
  futex_hook_set(NULL, NULL);
}

static void submit_twice_then_stop(struct night *n) {
  if (n->sleeps <= 2) {
    volt_actor_submit(&actor, &nodes[2 * (n->sleeps - 1)]);
    volt_actor_submit(&actor, &nodes[2 * (n->sleeps - 1) + 1]);
  } else {
    volt_actor_stop(&actor);
  }
}

static void it_sleeps_while_there_is_nothing(void **state) {
  (void)state;
  struct night n = {0, 0, NULL, submit_twice_then_stop};
  run_through(&n);
  expect_handled(4);
  assert_int_equal(n.sleeps, 3);
  assert_int_equal(n.wakes, 3); /* the second submit finds it told already */
}

/* Woken for no reason, it sleeps again. */
static void stop_the_third_time(struct night *n) {
  if (n->sleeps == 3) volt_actor_stop(&actor);
}

static void it_is_woken_for_no_reason(void **state) {
  (void)state;
  struct night n = {0, 0, NULL, stop_the_third_time};
  run_through(&n);
  assert_int_equal(n.sleeps, 3);
  assert_int_equal(n.wakes, 1);
}

/* R4: stopped, it finds a stalled producer, sleeps; and does not return without that one's node. */
static void come_to_an_end(struct night *n) {
  if (n->sleeps == 1) {
    uintptr_t last = volt_exchange_acq_rel(&actor.queue.tail, volt_bcs_link_to_(&nodes[0]));
    REQUIRE(last == 0);
    volt_actor_stop(&actor);
  } else {
    volt_store_release(&actor.queue.head, volt_bcs_link_to_(&nodes[0]));
    volt_actor_submit(&actor, &nodes[1]); /* tells, as the stalled one would */
  }
}

static void stopped_with_a_stalled_producer(void **state) {
  (void)state;
  volt_store_relaxed(&nodes[0].next, 0);
  struct night n = {0, 0, NULL, come_to_an_end};
  run_through(&n);
  expect_handled(2);
  assert_int_equal(n.sleeps, 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(an_empty_queue, set_up),
      cmocka_unit_test_setup(first_in_first_out, set_up),
      cmocka_unit_test_setup(a_node_is_used_again, set_up),
      cmocka_unit_test_setup(what_a_node_carries, set_up),
      cmocka_unit_test_setup(the_first_producer_is_stalled, set_up),
      cmocka_unit_test_setup(the_next_producer_is_stalled, set_up),
      cmocka_unit_test_setup(a_producer_behind_is_stalled, set_up),
      cmocka_unit_test_setup(stalled_on_a_queue_that_has_been_emptied, set_up),
      cmocka_unit_test_setup(submitted_before_it_runs, set_up_actor),
      cmocka_unit_test_setup(it_is_stopped_and_runs_again, set_up_actor),
      cmocka_unit_test_setup(submitted_after_stop, set_up_actor),
      cmocka_unit_test_setup(handle_owns_the_node, set_up_actor),
      cmocka_unit_test_setup(nothing_is_allocated, set_up_actor),
      cmocka_unit_test_setup(it_sleeps_while_there_is_nothing, set_up_actor),
      cmocka_unit_test_setup(it_is_woken_for_no_reason, set_up_actor),
      cmocka_unit_test_setup(stopped_with_a_stalled_producer, set_up_actor),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
