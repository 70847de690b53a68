/* colourless_test.c: each call that blocks a thread suspends a fiber. The same function is called on a
 * thread and in a fiber by hand, where no worker may be blocked: what ends the wait comes from
 * another task of the same worker. When a deadline or a cancel has ended it, nothing is held and
 * nothing is lost: what happens then goes to the next call. */
#include "colourless_scenes.h"

static VOLT_ATOMIC(uint32_t) blocked; /* how often a call was about to block the worker */

static void counts_blocked(const char *call, volt_task *t, void *ctx) {
  (void)t;
  (void)ctx;
  fprintf(stderr, "%s blocks\n", call);
  volt_fetch_add_relaxed(&blocked, 1);
}

static const scene *scene_of(void **state) {
  return (const scene *)*state;
}

static int set_up(void **state) {
  volt_rt_config config = by_hand_config(&h);
  config.hooks.blocks = counts_blocked;
  volt_store_relaxed(&blocked, 0);
  OK(volt_rt_create(&h.rt, &config));
  scene_of(state)->begin();
  return 0;
}

static int tear_down(void **state) {
  scene_of(state)->end();
  by_hand_end(&h, 0);
  assert_int_equal(volt_load_relaxed(&blocked), 0);
  return 0;
}

/* ---- a thread ---- */

typedef struct thread_call {
  const scene *of;
  uint64_t deadline_ns;
  int result;
  VOLT_ATOMIC(uint32_t) is_over;
} thread_call;

static void calls_on_a_thread(void *arg, uint32_t index) {
  thread_call *c = (thread_call *)arg;
  (void)index;
  c->result = c->of->call(c->deadline_ns);
  volt_store_release(&c->is_over, 1);
}

static void a_thread_blocks(void **state) {
  thread_call c = {.of = scene_of(state), .deadline_ns = VOLT_NO_DEADLINE};
  by_hand_run(&h);
  thread_team team;
  thread_team_start(&team, 1, calls_on_a_thread, &c);
  WAIT_UNTIL(c.of->waits());
  c.of->happens();
  while (volt_load_acquire(&c.is_over) == 0) {
    by_hand_run(&h);
    sched_yield();
  }
  thread_team_join(&team);
  assert_true(volt_is_ok(c.result));
}

static void a_thread_does_not_wait(void **state) {
  const scene *s = scene_of(state);
  by_hand_run(&h);
  assert_result(s->call(PAST_DEADLINE), VOLT_ETIMEDOUT);
  s->happens();
  by_hand_run(&h);
  if (!(s->how & LATER)) assert_true(volt_is_ok(s->call(VOLT_NO_DEADLINE)));
}

/* ---- a fiber ---- */

enum { DELAY_NS = 1000 };

typedef struct fiber_call {
  const scene *of;
  bool is_timed;
  bool is_shielded;
  int result;
  int next;  /* of a wait after the call */
  int again; /* of the same call, if the first has failed */
  bool has_returned;
} fiber_call;

static int calls_in_a_fiber(void *arg) {
  fiber_call *c = (fiber_call *)arg;
  uint64_t deadline_ns = c->is_timed ? volt_deadline_ns(DELAY_NS) : VOLT_NO_DEADLINE;
  if (c->is_shielded) volt_fiber_shield();
  c->result = c->of->call(deadline_ns);
  if (c->is_shielded) volt_fiber_unshield();
  c->has_returned = true;
  c->next = volt_fiber_yield();
  if (!volt_is_ok(c->result)) c->again = c->of->call(VOLT_NO_DEADLINE);
  return VOLT_OK;
}

static volt_task *new_caller(fiber_call *c, void **state) {
  memset(c, 0, sizeof *c);
  c->of = scene_of(state);
  volt_task *t = volt_fiber_new(h.rt, calls_in_a_fiber, c, NULL);
  assert_non_null(t);
  return t;
}

static bool has_ended(volt_task *t) {
  return volt_task_result(t) != VOLT_PENDING;
}

/* Run until the fiber waits again: nothing may be left to run. */
static void run_caller(volt_task *t) {
  OK(volt_spawn(h.rt, t));
  by_hand_run(&h);
}

static void expect_suspended(fiber_call *c, volt_task *t) {
  assert_false(c->has_returned);
  assert_false(has_ended(t));
  WAIT_UNTIL(c->of->waits());
  by_hand_run(&h);
  assert_false(c->has_returned);
}

/* What happens, happens in a task of the same worker. */
static const scene *happening;
static int happens_in_a_task(volt_task *t, volt_ctx *ctx) {
  (void)t;
  (void)ctx;
  happening->happens();
  return VOLT_OK;
}

static void let_it_happen(const scene *s) {
  volt_task t;
  happening = s;
  volt_task_init(&t, happens_in_a_task);
  OK(volt_spawn(h.rt, &t));
  by_hand_run(&h);
  assert_result(volt_task_result(&t), VOLT_OK);
}

/* Other threads may have their part in it. */
static void expect_end(volt_task *t) {
  while (!has_ended(t)) {
    by_hand_run(&h);
    sched_yield();
  }
  volt_task_detach(t);
}

static void a_fiber_is_suspended(void **state) {
  fiber_call c;
  volt_task *t = new_caller(&c, state);
  run_caller(t);
  expect_suspended(&c, t);
  let_it_happen(c.of);
  expect_end(t);
  assert_true(volt_is_ok(c.result));
  assert_result(c.next, VOLT_OK);
}

static void a_deadline_ends_it(void **state) {
  fiber_call c;
  volt_task *t = new_caller(&c, state);
  c.is_timed = true;
  run_caller(t);
  expect_suspended(&c, t);
  volt_rt_advance(h.rt, DELAY_NS);
  by_hand_run(&h);
  assert_true(c.has_returned);
  assert_result(c.result, VOLT_ETIMEDOUT);
  assert_result(c.next, VOLT_OK);
  assert_false(has_ended(t));
  let_it_happen(c.of);
  expect_end(t);
  assert_true(volt_is_ok(c.again));
}

/* The call has returned because of a cancel, or the wait after it has. */
static void expect_one_cancel(const fiber_call *c) {
  assert_true((c->result == VOLT_ECANCELED) != (c->next == VOLT_ECANCELED));
  assert_true(c->result == VOLT_ECANCELED || volt_is_ok(c->result));
}

/* The same call once more, after a cancel. */
static bool is_as_before(const fiber_call *c) {
  return c->of->how & FATAL ? c->again == VOLT_ECANCELED : volt_is_ok(c->again);
}

static void a_cancel_ends_it(void **state) {
  fiber_call c;
  volt_task *t = new_caller(&c, state);
  run_caller(t);
  expect_suspended(&c, t);
  assert_true(volt_task_cancel(t));
  by_hand_run(&h);
  assert_true(c.has_returned);
  assert_result(c.result, VOLT_ECANCELED);
  assert_result(c.next, VOLT_OK);
  let_it_happen(c.of);
  expect_end(t);
  assert_true(is_as_before(&c));
}

static void a_cancel_before_it_ends_it(void **state) {
  fiber_call c;
  volt_task *t = new_caller(&c, state);
  OK(volt_spawn(h.rt, t));
  assert_true(volt_task_cancel(t));
  by_hand_run(&h);
  assert_result(c.result, VOLT_ECANCELED);
  assert_result(c.next, VOLT_OK);
  let_it_happen(c.of);
  expect_end(t);
  assert_true(is_as_before(&c));
}

/* Of a call that no cancel ends, or of one in a shield. */
static void expect_cancel_to_wait(fiber_call *c, volt_task *t) {
  run_caller(t);
  expect_suspended(c, t);
  assert_true(volt_task_cancel(t));
  by_hand_run(&h);
  expect_suspended(c, t);
  let_it_happen(c->of);
  expect_end(t);
  assert_true(volt_is_ok(c->result));
  assert_result(c->next, VOLT_ECANCELED);
}

static void a_cancel_waits(void **state) {
  fiber_call c;
  volt_task *t = new_caller(&c, state);
  expect_cancel_to_wait(&c, t);
}

static void a_shield_keeps_a_cancel_away(void **state) {
  fiber_call c;
  volt_task *t = new_caller(&c, state);
  c.is_shielded = true;
  expect_cancel_to_wait(&c, t);
}

/* It has happened, and the fiber does not know yet. */
static void a_cancel_meets_what_happens(void **state) {
  fiber_call c;
  volt_task *t = new_caller(&c, state);
  run_caller(t);
  expect_suspended(&c, t);
  c.of->happens();
  assert_true(volt_task_cancel(t));
  while (!c.has_returned) by_hand_run(&h);
  expect_one_cancel(&c);
  if (!volt_is_ok(c.result) && (c.of->how & (LATER | ONCE))) let_it_happen(c.of);
  expect_end(t);
  assert_true(volt_is_ok(c.result) || is_as_before(&c));
}

/* A call that need not wait does not look. */
static void what_has_happened_is_not_canceled(void **state) {
  fiber_call c;
  volt_task *t = new_caller(&c, state);
  c.of->happens();
  by_hand_run(&h);
  OK(volt_spawn(h.rt, t));
  assert_true(volt_task_cancel(t));
  expect_end(t);
  assert_true(volt_is_ok(c.result));
  assert_result(c.next, VOLT_ECANCELED);
}

/* Of which scenes: those whose `how` has all of `with` and none of `without`. */
static const struct way {
  const char *name;
  CMUnitTestFunction fn;
  unsigned with;
  unsigned without;
} ways[] = {
    {"a_thread_blocks", a_thread_blocks, 0, 0},
    {"a_thread_does_not_wait", a_thread_does_not_wait, TIMED, 0},
    {"a_fiber_is_suspended", a_fiber_is_suspended, 0, 0},
    {"a_deadline_ends_it", a_deadline_ends_it, TIMED, 0},
    {"a_cancel_ends_it", a_cancel_ends_it, CANCELED, 0},
    {"a_cancel_before_it_ends_it", a_cancel_before_it_ends_it, CANCELED, 0},
    {"a_cancel_waits", a_cancel_waits, 0, CANCELED},
    {"a_shield_keeps_a_cancel_away", a_shield_keeps_a_cancel_away, CANCELED, 0},
    {"a_cancel_meets_what_happens", a_cancel_meets_what_happens, 0, 0},
    {"what_has_happened_is_not_canceled", what_has_happened_is_not_canceled, 0, LATER},
};

enum { WAYS = sizeof ways / sizeof ways[0] };

int main(void) {
  static struct CMUnitTest tests[SCENE_COUNT * WAYS];
  static char names[SCENE_COUNT * WAYS][100];
  size_t count = 0;
  for (unsigned i = 0; i < SCENE_COUNT * WAYS; i++) {
    const scene *s = &scenes[i / WAYS];
    const struct way *way = &ways[i % WAYS];
    if ((s->how & way->with) != way->with || (s->how & way->without)) continue;
    snprintf(names[count], sizeof names[count], "%s: %s", s->name, way->name);
    tests[count] =
        (struct CMUnitTest){names[count], way->fn, set_up, tear_down, (void *)(uintptr_t)s};
    count += 1;
  }
  return _cmocka_run_group_tests("colourless", tests, count, NULL, NULL);
}
