/* io_hand_test.c: by hand, a future that a task has begun is dropped between two runs.
 * BACK ENDS: epoll, uring */
#define _GNU_SOURCE

#include "io_scene.h"

static int begins(volt_task *t, volt_ctx *ctx) {
  kit_one *self = volt_container_of(t, kit_one, task);
  (void)volt_future_poll_ctx(self->f, ctx);
  return VOLT_OK; /* it has ended when its registration has: by the drop */
}

static void a_future_is_dropped_between_two_runs(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_SCENE(what) {
    scene s;
    kit_one one;
    scene_begin(&s, k, what);
    memset((void *)&one, 0, sizeof one);
    one.f = what->begin(&s);
    volt_task_init(&one.task, begins);
    assert_result(volt_spawn(k->rt, &one.task), VOLT_OK);
    kit_settle(k);
    volt_future_cancel(one.f);
    kit_settle(k);
    assert_result(volt_task_result(&one.task), VOLT_OK);
    what->let(&s);
    what->expect_nothing(&s);
    scene_end(&s);
  }
}

typedef struct guest {
  volt_task task;
  volt_future *f;
  volt_rt *before, *after;
} guest;

static int drops(volt_task *t, volt_ctx *ctx) {
  guest *self = volt_container_of(t, guest, task);
  (void)ctx;
  self->before = volt_rt_current();
  volt_future_cancel(self->f);
  self->after = volt_rt_current();
  return VOLT_OK;
}

/* The thread that drops it is a worker of another runtime, and stays one. */
static void a_worker_of_another_runtime_drops_it(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_rt *other;
  const volt_rt_config config = {.workers = 1};
  assert_result(volt_rt_create(&other, &config), VOLT_OK);
  FOR_EACH_SCENE(what) {
    scene s;
    kit_one one;
    guest g;
    scene_begin(&s, k, what);
    memset((void *)&one, 0, sizeof one);
    memset((void *)&g, 0, sizeof g);
    one.f = g.f = what->begin(&s);
    volt_task_init(&one.task, begins);
    assert_result(volt_spawn(k->rt, &one.task), VOLT_OK);
    kit_settle(k);
    volt_task_init(&g.task, drops);
    assert_result(volt_spawn(other, &g.task), VOLT_OK);
    assert_result(volt_task_join(&g.task), VOLT_OK);
    assert_ptr_equal(g.before, other);
    assert_ptr_equal(g.after, other);
    kit_settle(k);
    assert_result(volt_task_result(&one.task), VOLT_OK);
    what->let(&s);
    what->expect_nothing(&s);
    scene_end(&s);
  }
  assert_int_equal(volt_rt_destroy(other), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {kit_test(a_future_is_dropped_between_two_runs),
                                     kit_test(a_worker_of_another_runtime_drops_it)};
  return kit_main(tests);
}
