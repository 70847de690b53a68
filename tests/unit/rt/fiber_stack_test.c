/* fiber_stack_test.c: what an inspector sees of a fiber that waits: which functions it is in, and what
 * it awaits. */
#include "rt/fiber/fiber_stack.h"
#include "core/inspect/describe.h"
#include "fiber_scene.h"
#include "rt/fiber/fiber_switch.h"
#include "rt/inspect/inspect.h"

enum { DEPTH = 20, MOST = 64 };

#if defined(VOLT_SWITCH_UNWINDS_)
enum { UNWINDS = 1 };
#else
enum { UNWINDS = 0 };
#endif

static void *returns_to[DEPTH]; /* where each call of the fiber returns to, the innermost first */
static volatile unsigned deepest = DEPTH, came_up;

/* Calls itself, and waits at last. No loop can stand for that: it does something afterwards. */
static VOLT_NOINLINE int goes_down(unsigned depth) {
  returns_to[depth] = __builtin_return_address(0);
  if (depth > 0) {
    int below = goes_down(depth - 1);
    came_up = came_up + 1;
    return below + 1;
  }
  REQUIRE(volt_sem_acquire(&sem, 1) == VOLT_OK);
  return 0;
}

static int waits_deep(void *arg) {
  (void)arg;
  REQUIRE(goes_down(deepest - 1) == (int)deepest - 1);
  return VOLT_OK;
}

/* Where the fiber's own functions begin in pcs: those of the library come first. */
static unsigned find(void *const *pcs, unsigned count, const void *pc) {
  unsigned i = 0;
  while (i < count && pcs[i] != pc) i++;
  return i;
}

static void every_function_is_seen(void **state) {
  (void)state;
  void *pcs[MOST];
  volt_task *t = start_fiber(waits_deep, NULL);
  unsigned count = volt_fiber_stack_(t, pcs, MOST);
  if (UNWINDS) {
    unsigned own = find(pcs, count, returns_to[0]);
    assert_in_range(own, 1, count - DEPTH);
    for (unsigned i = 0; i < DEPTH; i++) assert_ptr_equal(pcs[own + i], returns_to[i]);
    assert_in_range(count, own + DEPTH, own + DEPTH + 3); /* volt_fiber_entry_() is the last */
  } else {
    assert_int_equal(count, 0);
  }
  volt_sem_release(&sem, 1);
  by_hand_run(&h);
  expect_end(t, VOLT_OK);
}

static void no_more_than_there_is_room_for(void **state) {
  (void)state;
  void *all[MOST], *some[MOST];
  volt_task *t = start_fiber(waits_deep, NULL);
  unsigned count = volt_fiber_stack_(t, all, MOST);
  for (unsigned max = 0; max <= count; max++) {
    memset(some, 0, sizeof some);
    assert_int_equal(volt_fiber_stack_(t, some, max), max);
    for (unsigned i = 0; i < MOST; i++) assert_ptr_equal(some[i], i < max ? all[i] : NULL);
  }
  volt_sem_release(&sem, 1);
  by_hand_run(&h);
  expect_end(t, VOLT_OK);
}

/* Of the fiber's stack nothing is used, however little is left. */
static void the_stack_is_only_read(void **state) {
  (void)state;
  void *pcs[MOST];
  volt_task *t = start_fiber(waits_deep, NULL);
  size_t used = volt_fiber_stack_used(t);
  for (int i = 0; i < 3; i++) (void)volt_fiber_stack_(t, pcs, MOST);
  assert_int_equal(volt_fiber_stack_used(t), used);
  volt_sem_release(&sem, 1);
  by_hand_run(&h);
  expect_end(t, VOLT_OK);
}

static int ends_at_once(volt_task *t, volt_ctx *ctx) {
  (void)t;
  (void)ctx;
  return VOLT_OK;
}

static void what_has_no_stack_has_no_functions(void **state) {
  (void)state;
  void *pcs[MOST];
  volt_task task;
  volt_task_init(&task, ends_at_once);
  assert_int_equal(volt_fiber_stack_(&task, pcs, MOST), 0); /* no fiber */
  volt_task *t = spawn_fiber(waits_deep, NULL);
  assert_int_equal(volt_fiber_stack_(t, pcs, MOST), 0); /* it has not begun */
  volt_sem_release(&sem, 1);
  by_hand_run(&h);
  assert_int_equal(volt_fiber_stack_(t, pcs, MOST), 0); /* it has ended */
  expect_end(t, VOLT_OK);
}

/* ---- what it awaits ---- */

static struct {
  unsigned tasks;
  volt_description_ description;
  unsigned frames;
} inspected;

static bool look_at_stop(void *ctx, const volt_stop_ *stop) {
  (void)ctx;
  if (stop->future) volt_describe_(stop->future, &inspected.description);
  return true;
}

static bool see(void *ctx, const volt_seen_ *tasks, unsigned count) {
  void *pcs[MOST];
  (void)ctx;
  for (unsigned i = 0; i < count; i++) {
    assert_int_equal(tasks[i].how, VOLT_SEEN_WAITS_);
    assert_true(tasks[i].fn != NULL);
    inspected.tasks += 1;
    volt_walk_(tasks[i].task, look_at_stop, NULL);
    inspected.frames = volt_fiber_stack_(tasks[i].task, pcs, MOST);
  }
  return true;
}

static void expect_awaits(const char *operation, const char *kind, const void *object) {
  memset(&inspected, 0, sizeof inspected);
  inspected.description.operation = "";
  assert_result(volt_inspect_(h.rt, 8, see, NULL), VOLT_OK);
  assert_int_equal(inspected.tasks, 1);
  assert_string_equal(inspected.description.operation, operation);
  assert_string_equal(volt_kind_name_(inspected.description.kind), kind);
  assert_ptr_equal(inspected.description.object, object);
  assert_int_equal(inspected.frames > 2, UNWINDS);
}

static volt_mutex mutex;
static volt_cond cond;
static volt_parker parker;

static int waits_in_turn(void *arg) {
  (void)arg;
  REQUIRE(volt_sem_acquire(&sem, 1) == VOLT_OK);
  REQUIRE(volt_sem_acquire_until(&sem, 1, volt_deadline_s(3600)) == VOLT_OK);
  volt_mutex_lock(&mutex);
  REQUIRE(volt_cond_wait(&cond, &mutex) == VOLT_OK);
  volt_mutex_unlock(&mutex);
  return volt_park_until(&parker, 1, VOLT_NO_DEADLINE);
}

static void what_it_awaits_is_seen(void **state) {
  (void)state;
  volt_mutex_init(&mutex);
  volt_cond_init(&cond);
  memset((void *)&parker, 0, sizeof parker);
  assert_result(volt_mutex_try_lock(&mutex), VOLT_OK);
  volt_task *t = start_fiber(waits_in_turn, NULL);
  for (int i = 0; i < 2; i++) { /* with a deadline, too */
    expect_awaits("volt_sem_acquire", "semaphore", &sem);
    volt_sem_release(&sem, 1);
    by_hand_run(&h);
  }
  expect_awaits("volt_mutex_lock", "mutex", &mutex);
  volt_mutex_unlock(&mutex);
  by_hand_run(&h);
  expect_awaits("volt_cond_wait_until", "cond", &cond);
  volt_cond_signal(&cond);
  by_hand_run(&h);
  expect_awaits("volt_park_until", "parker", &parker);
  volt_unpark(&parker);
  by_hand_run(&h);
  expect_end(t, VOLT_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      A_TEST(every_function_is_seen), A_TEST(no_more_than_there_is_room_for),
      A_TEST(the_stack_is_only_read), A_TEST(what_has_no_stack_has_no_functions),
      A_TEST(what_it_awaits_is_seen),
  };
  return cmocka_run_group_tests_name("fiber_stack", tests, NULL, NULL);
}
