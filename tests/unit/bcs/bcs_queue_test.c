/* bcs_queue_test.c: every sentence of volt/bcs_queue.h, on its three forms. The half of a second
 * thread is done by hand with the header's own steps: a producer that is stuck between its two
 * swaps. */
#include <volt/bcs_queue.h>

#include "alloc_count.h"
#include "fake_waker.h"
#include "require.h"
#include "unit.h"

/* ---- one queue of each form ---- */

static volt_bcs_lockfree lockfree;
static volt_bcs_waitfree waitfree;
static volt_bcs_waitfree_stub with_stub;

struct form {
  void (*init)(void);
  void (*init_state)(uintptr_t state);
  uintptr_t (*state)(void);
  void (*submit_ops)(volt_bcs_node *node, const volt_bcs_ops *ops, void *ctx);
  void (*submit)(volt_bcs_node *node, volt_bcs_handle *handle, void *ctx);
  bool fifo;
  bool last_is_done_last; /* the last node's done() comes when it has ceased to be consumer */
};

#define FORM(name, queue)                                                                  \
  static void name##_init(void) {                                                          \
    volt_bcs_##name##_init(&(queue));                                                      \
  }                                                                                        \
  static void name##_init_state(uintptr_t state) {                                         \
    volt_bcs_##name##_init_state(&(queue), state);                                         \
  }                                                                                        \
  static uintptr_t name##_state(void) {                                                    \
    return volt_bcs_##name##_state(&(queue));                                              \
  }                                                                                        \
  static void name##_submit_ops(volt_bcs_node *node, const volt_bcs_ops *ops, void *ctx) { \
    volt_bcs_##name##_submit_ops(&(queue), node, ops, ctx);                                \
  }                                                                                        \
  static void name##_submit(volt_bcs_node *node, volt_bcs_handle *handle, void *ctx) {     \
    volt_bcs_##name##_submit(&(queue), node, handle, ctx);                                 \
  }
FORM(lockfree, lockfree)
FORM(waitfree, waitfree)
FORM(waitfree_stub, with_stub)

#define FORM_OF(name) name##_init, name##_init_state, name##_state, name##_submit_ops, name##_submit
static const struct form forms[] = {
    {FORM_OF(lockfree), false, true},
    {FORM_OF(waitfree), true, true},
    {FORM_OF(waitfree_stub), true, false},
};
static const struct form *form; /* the one under test */

#define EVERY_FORM(f) for (form = (f); form < forms + 3; form++)

/* ---- what happened, as one list ---- */

enum { NODES = 6, HANDLED = 0, DONE = 100, FLUSHED = 200 };
static volt_bcs_node nodes[NODES];
static wake_log events;

static uint32_t index_of(const volt_bcs_node *node) {
  return (uint32_t)(node - nodes);
}

static void set_up(void) {
  memset((void *)&lockfree, 0xee, sizeof lockfree);
  memset((void *)&waitfree, 0xee, sizeof waitfree);
  memset((void *)&with_stub, 0xee, sizeof with_stub);
  memset((void *)nodes, 0xee, sizeof nodes);
  form->init();
  wake_log_init(&events);
}

static void expect_events(const uint32_t *expected, uint32_t count) {
  assert_int_equal(wake_log_count(&events), count);
  for (uint32_t i = 0; i < count; i++) assert_int_equal(wake_log_at(&events, i), expected[i]);
}
#define EXPECT_EVENTS(...)                       \
  expect_events((const uint32_t[]){__VA_ARGS__}, \
                sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static uint32_t more; /* how many the handling of node 0 submits: nodes 1.. */
static void handle(volt_bcs_node *node, void *ctx);
static void done(volt_bcs_node *node, void *ctx);
static void flush(void *ctx);
static const volt_bcs_ops ops = {handle, NULL, done, flush};

static void submit_more(void) {
  for (uint32_t i = 1; i <= more; i++) {
    uint32_t before = wake_log_count(&events);
    form->submit_ops(&nodes[i], &ops, &events);
    REQUIRE(wake_log_count(&events) == before); /* later, not now */
  }
}

static void handle(volt_bcs_node *node, void *ctx) {
  REQUIRE(ctx == &events);
  wake_log_add(&events, HANDLED + index_of(node));
  if (node == &nodes[0]) submit_more();
}

static void done(volt_bcs_node *node, void *ctx) {
  REQUIRE(ctx == &events);
  wake_log_add(&events, DONE + index_of(node));
  memset((void *)node, 0xa5, sizeof *node); /* it is its owner's */
}

static void flush(void *ctx) {
  REQUIRE(ctx == &events);
  wake_log_add(&events, FLUSHED);
}

static void handle_quietly(volt_bcs_node *node, void *ctx) {
  REQUIRE(ctx == &events);
  wake_log_add(&events, index_of(node));
}

/* ---- alone ---- */

static void handled_at_once_when_empty(void **state) {
  (void)state;
  EVERY_FORM(forms) {
    set_up();
    uint64_t allocations = alloc_count_allocations();
    for (uint32_t i = 0; i < NODES; i++) {
      form->submit(&nodes[i], handle_quietly, &events);
      assert_true(wake_log_is_run(&events, 0, i + 1));
      if (i > 0) memset((void *)&nodes[i - 1], 0xa5, sizeof nodes[0]); /* a later one was handled */
    }
    assert_int_equal(alloc_count_allocations(), allocations);
  }
}

static void all_zero_is_empty(void **state) {
  (void)state;
  EVERY_FORM(forms) {
    set_up();
    memset((void *)&lockfree, 0, sizeof lockfree);
    memset((void *)&waitfree, 0, sizeof waitfree);
    memset((void *)&with_stub, 0, sizeof with_stub);
    assert_int_equal(form->state(), 0);
    form->submit(&nodes[0], handle_quietly, &events);
    form->submit(&nodes[0], handle_quietly, &events); /* and again */
    assert_int_equal(wake_log_count(&events), 2);
  }
}

static void data_reaches_handle(volt_bcs_node *node, void *ctx) {
  *(int *)ctx += *(int *)node->data;
}

static void the_example(void **state) {
  (void)state;
  EVERY_FORM(forms) {
    set_up();
    int sum = 0, three = 3, four = 4;
    nodes[0].data = &three;
    nodes[1].data = &four;
    form->submit(&nodes[0], data_reaches_handle, &sum);
    form->submit(&nodes[1], data_reaches_handle, &sum);
    assert_int_equal(sum, 7);
  }
}

/* ---- order, done, flush ---- */

static void one_node(void **state) {
  (void)state;
  more = 0;
  EVERY_FORM(forms) {
    set_up();
    form->submit_ops(&nodes[0], &ops, &events);
    if (form->last_is_done_last) {
      EXPECT_EVENTS(HANDLED, FLUSHED, DONE);
    } else {
      EXPECT_EVENTS(HANDLED, DONE, FLUSHED);
    }
  }
}

static void three_from_inside_handle(void **state) {
  (void)state;
  more = 3;
  form = &forms[0]; /* newest first within the batch; the top of each is done last */
  set_up();
  form->submit_ops(&nodes[0], &ops, &events);
  EXPECT_EVENTS(HANDLED, FLUSHED, DONE, 3, 2, DONE + 2, 1, DONE + 1, FLUSHED, DONE + 3);
  form = &forms[1]; /* first come, first served; each is done when its successor is known */
  set_up();
  form->submit_ops(&nodes[0], &ops, &events);
  EXPECT_EVENTS(HANDLED, DONE, 1, DONE + 1, 2, DONE + 2, 3, FLUSHED, DONE + 3);
  form = &forms[2]; /* each is out of the queue when it is handled */
  set_up();
  form->submit_ops(&nodes[0], &ops, &events);
  assert_int_equal(wake_log_at(&events, 0), HANDLED);
  assert_int_equal(wake_log_at(&events, 1), DONE);
  /* the stub came after node 0: it is passed on the way to the others */
  uint32_t flushes = 0, handled = 0;
  for (uint32_t i = 0; i < wake_log_count(&events); i++) {
    uint32_t event = wake_log_at(&events, i);
    if (event == FLUSHED) flushes += 1;
    if (event >= DONE) continue;
    assert_int_equal(event, handled++);
    assert_int_equal(wake_log_at(&events, i + 1), DONE + event); /* right after handle() */
  }
  assert_int_equal(handled, 4);
  assert_true(flushes >= 1);
  assert_int_equal(wake_log_at(&events, wake_log_count(&events) - 1), FLUSHED);
}

/* A node that done() has given back is submitted again, from done() itself. */
static uint32_t again;

static void submit_again(volt_bcs_node *node, void *ctx);
static const volt_bcs_ops again_ops = {handle_quietly, NULL, submit_again, NULL};

static void submit_again(volt_bcs_node *node, void *ctx) {
  if (again++ < 3) form->submit_ops(node, &again_ops, ctx);
}

static void done_submits_again(void **state) {
  (void)state;
  EVERY_FORM(forms) {
    set_up();
    again = 0;
    form->submit_ops(&nodes[0], &again_ops, &events);
    EXPECT_EVENTS(0, 0, 0, 0);
    assert_int_equal(again, 4);
  }
}

/* ---- with stub: handle() has the node ---- */

static void handle_own(volt_bcs_node *node, void *ctx) {
  uint32_t *turns = (uint32_t *)ctx;
  *turns += 1;
  if (*turns < 4) {
    volt_bcs_waitfree_stub_submit(&with_stub, node, handle_own, ctx);
  } else {
    memset((void *)node, 0xa5, sizeof *node);
    free(node);
  }
}

static void with_stub_handle_owns_the_node(void **state) {
  (void)state;
  volt_bcs_waitfree_stub_init(&with_stub);
  for (int i = 0; i < 3; i++) {
    volt_bcs_node *node = (volt_bcs_node *)malloc(sizeof *node);
    assert_non_null(node);
    uint32_t turns = 0;
    volt_bcs_waitfree_stub_submit(&with_stub, node, handle_own, &turns);
    assert_int_equal(turns, 4);
  }
}

/* ---- the state ---- */

static uintptr_t next_ticket(volt_bcs_node *node, void *ctx, uintptr_t count) {
  *(uintptr_t *)node->data = count;
  REQUIRE(form->state() == 0); /* a consumer has it */
  (void)ctx;
  return count + 1;
}

static void a_counter_in_the_queue(void **state) {
  (void)state;
  const volt_bcs_ops count = {NULL, next_ticket, NULL, NULL};
  const uintptr_t starts[] = {0, 1, 41, VOLT_BCS_STATE_MAX - 5};
  EVERY_FORM(forms) {
    for (size_t i = 0; i < 4; i++) {
      set_up();
      form->init_state(starts[i]);
      for (uintptr_t j = 0; j < 5; j++) {
        uintptr_t ticket = UINTPTR_MAX;
        assert_true(form->state() == starts[i] + j);
        nodes[0].data = &ticket;
        form->submit_ops(&nodes[0], &count, NULL);
        assert_true(ticket == starts[i] + j);
      }
      assert_true(form->state() == starts[i] + 5);
    }
    form->init();
    assert_int_equal(form->state(), 0);
  }
}

/* ---- a producer that is stuck between its two swaps ---- */

static uintptr_t stuck_behind; /* what the producer of node 1 has swapped out, and not linked to */

static volt_bcs_node *got_stuck(VOLT_ATOMIC(uintptr_t) *tail, volt_bcs_node *node) {
  stuck_behind = volt_bcs_waitfree_swap_(tail, node);
  REQUIRE(volt_bcs_is_node_(stuck_behind));
  return volt_bcs_node_of_(stuck_behind);
}

static uintptr_t count_and_get_stuck(volt_bcs_node *node, void *ctx, uintptr_t count) {
  VOLT_ATOMIC(uintptr_t) *tail = (VOLT_ATOMIC(uintptr_t) *)ctx;
  wake_log_add(&events, index_of(node));
  if (node == &nodes[0]) got_stuck(tail, &nodes[1]);
  return count + 1;
}

static void note_done(volt_bcs_node *node, void *ctx) {
  (void)ctx;
  wake_log_add(&events, DONE + index_of(node));
}

static void waitfree_hands_off(void **state) {
  (void)state;
  form = &forms[1];
  set_up();
  volt_bcs_waitfree_init_state(&waitfree, 7);
  const volt_bcs_ops stuck = {NULL, count_and_get_stuck, note_done, NULL};
  volt_bcs_waitfree_submit_ops(&waitfree, &nodes[0], &stuck, &waitfree.tail);
  EXPECT_EVENTS(0); /* it has gone, node 0 is handled and in the hands of the next */
  assert_true(stuck_behind == volt_bcs_link_to_(&nodes[0]));
  volt_bcs_waitfree_submit_ops(&waitfree, &nodes[2], &stuck, &waitfree.tail);
  EXPECT_EVENTS(0); /* somebody is about to be the consumer */
  uintptr_t link = volt_bcs_waitfree_link_(stuck_behind, &nodes[1]);
  assert_true(link != 0 && !volt_bcs_is_node_(link)); /* it is the consumer now, with the state */
  assert_int_equal(volt_bcs_state_of_(link), 8);
  assert_true(volt_bcs_waitfree_next_(&nodes[1]) == volt_bcs_link_to_(&nodes[2]));
  assert_int_equal(volt_bcs_waitfree_give_up_(&waitfree.tail, &nodes[2], 9), 0);
  assert_int_equal(volt_bcs_waitfree_state(&waitfree), 9);
}

/* The producer links between the consumer's look and its CAS: the consumer stays the consumer. */
static void link_late(void *ctx) {
  (void)ctx;
  wake_log_add(&events, FLUSHED);
  if (stuck_behind == 0) return;
  REQUIRE(volt_bcs_waitfree_link_(stuck_behind, &nodes[1]) == 0);
  stuck_behind = 0;
}

static void waitfree_linked_in_time(void **state) {
  (void)state;
  form = &forms[1];
  set_up();
  const volt_bcs_ops stuck = {NULL, count_and_get_stuck, note_done, link_late};
  volt_bcs_waitfree_submit_ops(&waitfree, &nodes[0], &stuck, &waitfree.tail);
  EXPECT_EVENTS(0, FLUSHED, DONE, 1, FLUSHED, DONE + 1);
  assert_int_equal(volt_bcs_waitfree_state(&waitfree), 2);
}

/* R5: the stub's CAS meets a stuck producer before node 0 is handled: it goes on unhandled. */
static uintptr_t count_only(volt_bcs_node *node, void *ctx, uintptr_t count) {
  (void)ctx;
  wake_log_add(&events, index_of(node));
  return count + 1;
}

static void stub_hands_off_behind_itself(void **state) {
  (void)state;
  form = &forms[2];
  set_up();
  const volt_bcs_ops stuck = {NULL, count_and_get_stuck, NULL, NULL};
  volt_bcs_waitfree_stub_submit_ops(&with_stub, &nodes[0], &stuck, &with_stub.tail);
  EXPECT_EVENTS(0);
  assert_true(stuck_behind == volt_bcs_link_to_(&with_stub.stub)); /* node 0 was out already */
  memset((void *)&nodes[0], 0xa5, sizeof nodes[0]);
  uintptr_t link = volt_bcs_waitfree_link_(stuck_behind, &nodes[1]);
  assert_true(link != 0 && !volt_bcs_is_node_(link));
  assert_int_equal(volt_bcs_state_of_(link), 1);
}

/* Node 0 hands node 2 in, node 1's producer is stuck behind it: node 2 stays unhandled, until a
 * submission whose own link finds the sentinel begins with it. */
static uintptr_t submit_two_then_stick(volt_bcs_node *node, void *ctx, uintptr_t count) {
  const volt_bcs_ops plain = {NULL, submit_two_then_stick, NULL, NULL};
  wake_log_add(&events, index_of(node));
  if (node == &nodes[0]) {
    volt_bcs_waitfree_stub_submit_ops(&with_stub, &nodes[2], &plain, ctx);
    got_stuck(&with_stub.tail, &nodes[1]);
  }
  return count + 1;
}

static void stub_hands_off_an_unhandled_node(void **state) {
  (void)state;
  form = &forms[2];
  set_up();
  const volt_bcs_ops plain = {NULL, submit_two_then_stick, NULL, NULL};
  volt_bcs_waitfree_stub_submit_ops(&with_stub, &nodes[0], &plain, NULL);
  EXPECT_EVENTS(0); /* node 2 has not been handled */
  assert_true(stuck_behind == volt_bcs_link_to_(&nodes[2]));
  /* let node 1 be a submission of its own, which finds what the stuck one would have found */
  volt_store_relaxed(&with_stub.tail, stuck_behind);
  const volt_bcs_ops count = {NULL, count_only, NULL, NULL};
  volt_bcs_waitfree_stub_submit_ops(&with_stub, &nodes[1], &count, NULL);
  EXPECT_EVENTS(0, 2, 1); /* once each, in order */
  assert_int_equal(volt_bcs_waitfree_stub_state(&with_stub), 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(handled_at_once_when_empty),
      cmocka_unit_test(all_zero_is_empty),
      cmocka_unit_test(the_example),
      cmocka_unit_test(one_node),
      cmocka_unit_test(three_from_inside_handle),
      cmocka_unit_test(done_submits_again),
      cmocka_unit_test(with_stub_handle_owns_the_node),
      cmocka_unit_test(a_counter_in_the_queue),
      cmocka_unit_test(waitfree_hands_off),
      cmocka_unit_test(waitfree_linked_in_time),
      cmocka_unit_test(stub_hands_off_behind_itself),
      cmocka_unit_test(stub_hands_off_an_unhandled_node),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
