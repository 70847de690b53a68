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

int main(void) {
  const struct CMUnitTest tests[] = {kit_test(a_future_is_dropped_between_two_runs)};
  return kit_main(tests);
}
