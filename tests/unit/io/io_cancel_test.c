/* io_cancel_test.c: what a cancel leaves behind: nothing was moved, or all of it stands. Each kind of
 * operation, in each state, ended in each way.
 * BACK ENDS: epoll, uring */
#define _GNU_SOURCE

#include "io_scene.h"

/* Either outcome is right; what it says has to be true. */
static void expect_what_it_says(scene *s, const scene_kind *what, int result) {
  if (result == VOLT_OK) {
    what->expect_done(s);
  } else {
    assert_result(result, VOLT_ECANCELED);
    (what->let == scene_let_accept ? scene_accept_unseen : what->expect_nothing)(s);
  }
}

/* ---- not polled ---- */

static void one_that_was_never_polled_has_moved_nothing(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_SCENE(what) {
    scene s;
    poller p;
    scene_begin(&s, k, what);
    what->let(&s);
    volt_future *f = what->begin(&s);
    volt_future_cancel(f);
    volt_future_cancel(f);
    poller_init(&p);
    assert_result(poller_poll(&p, f), VOLT_ECANCELED);
    poller_expect(&p, 0, 0, 0);
    what->expect_nothing(&s);
    scene_end(&s);
  }
}

static void a_task_that_is_cancelled_before_its_first_poll_moves_nothing(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_SCENE(what) {
    scene s;
    kit_one one;
    scene_begin(&s, k, what);
    what->let(&s);
    memset((void *)&one, 0, sizeof one);
    one.way = BY_TASK;
    one.f = what->begin(&s);
    volt_task_init(&one.task, kit_one_poll_);
    assert_result(volt_spawn(k->rt, &one.task), VOLT_OK);
    assert_result(kit_cancel(k, &one), VOLT_ECANCELED);
    what->expect_nothing(&s);
    scene_end(&s);
  }
}

/* ---- waiting ---- */

static void one_that_waits_has_moved_nothing(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    FOR_EACH_SCENE(what) {
      scene s;
      kit_one one;
      scene_begin(&s, k, what);
      kit_start(k, &one, (kit_way)way, what->begin(&s));
      assert_result(kit_check(k, &one), VOLT_PENDING);
      assert_result(kit_cancel(k, &one), VOLT_ECANCELED);
      assert_int_equal(s.op.n, 0);
      what->let(&s); /* too late */
      kit_settle(k);
      what->expect_nothing(&s);
      scene_end(&s);
    }
  }
}

/* The memory of an operation that was cancelled is used again at once: a late report, of it or of its
 * cancel, would end the next one. */
static void its_memory_may_be_used_again_at_once(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    FOR_EACH_SCENE(what) {
      scene s;
      kit_one one;
      scene_begin(&s, k, what);
      for (int i = 0; i < 5; i++) {
        kit_start(k, &one, (kit_way)way, what->begin(&s));
        assert_result(kit_cancel(k, &one), VOLT_ECANCELED);
      }
      kit_start(k, &one, (kit_way)way, what->begin(&s));
      assert_result(kit_check(k, &one), VOLT_PENDING);
      what->let(&s);
      assert_result(kit_finish(k, &one), VOLT_OK);
      what->expect_done(&s);
      scene_end(&s);
    }
  }
}

/* ---- it can be done, or was done, and no poll has seen it ---- */

static void one_that_could_be_done_says_whether_it_was(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    FOR_EACH_SCENE(what) {
      for (int looked = 0; looked < 2; looked++) {
        scene s;
        kit_one one;
        scene_begin(&s, k, what);
        kit_start(k, &one, (kit_way)way, what->begin(&s));
        what->let(&s);
        if (looked && way == BY_THREAD) kit_settle(k); /* its waker was called, it is not polled */
        if (looked && way == BY_TASK) (void)volt_task_cancel(&one.task);
        expect_what_it_says(&s, what, kit_cancel(k, &one));
        scene_end(&s);
      }
    }
  }
}

/* A thread that is no worker makes its calls in its polls: the answer is always the same one. */
static void one_that_a_thread_waits_for_was_not_done(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_SCENE(what) {
    scene s;
    kit_one one;
    scene_begin(&s, k, what);
    kit_start(k, &one, BY_THREAD, what->begin(&s));
    what->let(&s);
    WAIT_UNTIL((kit_settle(k), volt_load_acquire(&one.poller.wakes)) == 1);
    assert_result(kit_cancel(k, &one), VOLT_ECANCELED);
    what->expect_nothing(&s);
    scene_end(&s);
  }
}

/* ---- in the middle ---- */

static void a_send_that_has_moved_a_part_says_how_much(void **state) {
  io_kit *k = (io_kit *)*state;
  enum { SIZE = 6 << 20 };
  unsigned char *bytes = (unsigned char *)malloc(SIZE);
  REQUIRE(bytes);
  for (size_t i = 0; i < SIZE; i++) bytes[i] = (unsigned char)(i % 251);
  FOR_EACH_WAY(way) {
    for (int kind = TCP4; kind <= PIPE; kind++) {
      kit_link l;
      volt_op op;
      kit_one one;
      size_t at = 0;
      kit_link_out(k, &l, kind);
      kit_start(k, &one, (kit_way)way,
                kind == PIPE ? volt_fd_write_future(&op, &l.near, bytes, SIZE, -1)
                             : volt_fd_send_future(&op, &l.near, bytes, SIZE, 0));
      for (int i = 0; i < 3; i++) {
        kit_take(l.far, &at, 4096);
        assert_result(kit_check(k, &one), VOLT_PENDING);
      }
      assert_result(kit_cancel(k, &one), VOLT_ECANCELED);
      assert_true(op.n >= at && op.n < SIZE);
      size_t taken = op.n;
      assert_int_equal(shutdown(volt_fd_number(&l.near), SHUT_WR), kind == PIPE ? -1 : 0);
      if (kind == PIPE) volt_fd_close(&l.near);
      while (at < taken) (void)kit_drain(l.far, &at);
      (void)kit_drain(l.far, &at);
      assert_int_equal(at, taken); /* not one more */
      kit_unlink(&l);
    }
  }
  free(bytes);
}

/* ---- by what: deadlines, groups, a drop within a task ---- */

static void a_deadline_ends_it(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    FOR_EACH_SCENE(what) {
      for (int passed = 0; passed < 2; passed++) {
        scene s;
        volt_timeout t;
        uint64_t deadline_ns = passed ? PAST_DEADLINE : volt_deadline_us(300);
        scene_begin(&s, k, what);
        volt_future *f =
            volt_timeout_future(&t, what->begin(&s), volt_rt_timers(k->rt), deadline_ns);
        assert_result(kit_run(k, (kit_way)way, f), VOLT_ETIMEDOUT);
        what->let(&s);
        what->expect_nothing(&s);
        scene_end(&s);
      }
    }
  }
}

static void what_is_ready_never_times_out(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_SCENE(what) {
    scene s;
    volt_timeout t;
    scene_begin(&s, k, what);
    what->let(&s);
    volt_future *f = volt_timeout_future(&t, what->begin(&s), volt_rt_timers(k->rt), PAST_DEADLINE);
    assert_result(kit_run(k, BY_THREAD, f), VOLT_OK);
    what->expect_done(&s);
    scene_end(&s);
  }
}

static void the_deadline_of_a_run_ends_it(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_SCENE(what) {
    scene s;
    scene_begin(&s, k, what);
    volt_future *f = what->begin(&s);
    assert_result(volt_rt_run_until(k->rt, f, volt_deadline_us(300)), VOLT_ETIMEDOUT);
    what->let(&s);
    what->expect_nothing(&s);
    f = what->begin(&s);
    scene_end(&s);
    scene_begin(&s, k, what);
    f = what->begin(&s);
    what->let(&s);
    assert_result(volt_rt_run_until(k->rt, f, volt_deadline_s(KIT_SECONDS)), VOLT_OK);
    what->expect_done(&s);
    scene_end(&s);
  }
}

static void a_group_that_is_cancelled_ends_it(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_SCENE(what) {
    scene s;
    volt_group g;
    volt_future all;
    kit_one one;
    scene_begin(&s, k, what);
    memset((void *)&one, 0, sizeof one);
    one.f = what->begin(&s);
    volt_task_init(&one.task, kit_one_poll_);
    volt_group_init(&g);
    assert_result(volt_group_spawn(&g, k->rt, &one.task), VOLT_OK);
    kit_settle(k);
    volt_group_cancel(&g);
    assert_result(volt_rt_run_until(k->rt, volt_group_wait_future(&all, &g), VOLT_NO_DEADLINE),
                  VOLT_ECANCELED);
    volt_group_destroy(&g);
    what->let(&s);
    what->expect_nothing(&s);
    scene_end(&s);
  }
}

/* A task that polls a future, waits for a permit, and drops the future in the middle of its poll. */
typedef struct dropper {
  volt_task task;
  volt_future *f;
  volt_sem *go;
  volt_future permit;
  int result;
} dropper;

static int dropper_poll(volt_task *t, volt_ctx *ctx) {
  dropper *self = volt_container_of(t, dropper, task);
  volt_future_poll_ctx(self->f, ctx);
  if (volt_future_poll_ctx(&self->permit, ctx) == VOLT_PENDING) return VOLT_PENDING;
  volt_future_cancel(self->f);
  self->result = volt_future_poll_ctx(self->f, ctx);
  return VOLT_OK;
}

static void a_task_drops_it_without_blocking_for_ever(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_SCENE(what) {
    scene s;
    volt_sem go = VOLT_SEM_INIT(0);
    dropper d;
    scene_begin(&s, k, what);
    memset((void *)&d, 0, sizeof d);
    d.f = what->begin(&s);
    volt_future_made(volt_sem_acquire_future(&d.permit, &go, 1));
    volt_task_init(&d.task, dropper_poll);
    assert_result(volt_spawn(k->rt, &d.task), VOLT_OK);
    kit_settle(k);
    volt_sem_release(&go, 1);
    kit_settle(k);
    assert_result(volt_task_join_until(&d.task, PAST_DEADLINE), VOLT_OK);
    assert_result(d.result, VOLT_ECANCELED);
    what->let(&s);
    what->expect_nothing(&s);
    volt_sem_destroy(&go);
    scene_end(&s);
  }
}

/* Polled by a task first, so the worker may have submitted it; ended by a thread that is no worker. */
static void who_is_no_worker_may_take_it_over_and_end_it(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_SCENE(what) {
    scene s;
    volt_sem go = VOLT_SEM_INIT(0);
    dropper d;
    poller p;
    scene_begin(&s, k, what);
    memset((void *)&d, 0, sizeof d);
    d.f = what->begin(&s);
    volt_future_made(volt_sem_acquire_future(&d.permit, &go, 1));
    volt_task_init(&d.task, dropper_poll);
    assert_result(volt_spawn(k->rt, &d.task), VOLT_OK);
    kit_settle(k);
    poller_init(&p);
    assert_result(poller_poll(&p, d.f), VOLT_PENDING); /* it has its waker now, the task none */
    what->let(&s);
    WAIT_UNTIL((kit_settle(k), volt_load_acquire(&p.wakes)) == 1);
    assert_result(poller_poll(&p, d.f), VOLT_OK);
    what->expect_done(&s);
    volt_sem_release(&go, 1);
    kit_settle(k);
    assert_result(volt_task_join_until(&d.task, PAST_DEADLINE), VOLT_OK);
    assert_result(d.result, VOLT_OK);
    volt_sem_destroy(&go);
    scene_end(&s);
  }
}

static void a_runtime_that_shuts_down_ends_it(void **state) {
  io_kit *k = (io_kit *)*state;
  (void)k;
  FOR_EACH_SCENE(what) {
    io_kit own;
    scene s;
    kit_one one;
    kit_begin(&own, 0);
    scene_begin(&s, &own, what);
    kit_start(&own, &one, BY_TASK, what->begin(&s));
    assert_result(volt_rt_shutdown(own.rt, volt_deadline_s(KIT_SECONDS)), VOLT_OK);
    assert_result(volt_task_result(&one.task), VOLT_ECANCELED);
    what->let(&s);
    what->expect_nothing(&s);
    scene_end(&s);
    REQUIRE(volt_rt_destroy(own.rt) == 1);
    kit_expect_descriptors(own.descriptors);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      kit_test(one_that_was_never_polled_has_moved_nothing),
      kit_test(a_task_that_is_cancelled_before_its_first_poll_moves_nothing),
      kit_test(one_that_waits_has_moved_nothing),
      kit_test(its_memory_may_be_used_again_at_once),
      kit_test(one_that_could_be_done_says_whether_it_was),
      kit_test(one_that_a_thread_waits_for_was_not_done),
      kit_test(a_send_that_has_moved_a_part_says_how_much),
      kit_test(a_deadline_ends_it),
      kit_test(what_is_ready_never_times_out),
      kit_test(the_deadline_of_a_run_ends_it),
      kit_test(a_group_that_is_cancelled_ends_it),
      kit_test(a_task_drops_it_without_blocking_for_ever),
      kit_test(who_is_no_worker_may_take_it_over_and_end_it),
      kit_test(a_runtime_that_shuts_down_ends_it),
  };
  return kit_main(tests);
}
