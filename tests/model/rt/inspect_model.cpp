// inspect_model: an inspector claims tasks, looks at them and releases them, while they are woken,
// cancelled, polled, ended and spawned, other inspectors look, and the runtime ends. task.c I1, R8, R9;
// inspect.c I1, I2, R1. What it looks at is plain memory of the task: a poll that is not ordered with the look
// is reported.
// PROGRAM: inspect BATCH 2 MUTANTS DEFINES rt SUPPORT fake_rt.cpp model_task.cpp
// PROGRAM: inspect SOURCES inspect.c task.c task_join.c group.c registry.c future.c permits.c fifo.c grant.c
// PROGRAM: inspect SOURCES park.c fiber_futex.c describe.c
#include "fake_rt.hpp"
#include "rt/host/pins.h"
#include "rt/inspect/inspect.h"

uint64_t volt_timers_now_ns(volt_timers *) {
  return 0;
}

volt_fiber_fn *volt_fiber_function_(const volt_task *, const char **) {
  return nullptr; // there are none
}

enum { RESULT = 7 };

struct inspect_model : model {
  fake_rt rt;
  event e[4];
  model_task::trace left[3];
  model_task *task[3] = {};

  void spawn(unsigned i, model_task::body_fn *body) {
    task[i] = model_task::make(rt.handle(), body, this, &left[i], true);
    EXPECT(rt.spawn(&task[i]->task) == VOLT_OK);
    volt_task_detach(&task[i]->task);
  }
  // In the constructor: all of them wait.
  void run_first() {
    rt.drain();
  }
  void expect_gone(unsigned count, int result = RESULT) {
    rt.drain();
    for (unsigned i = 0; i < count; i++) EXPECT(left[i].gone(result));
    EXPECT(rt.alive() == 0);
  }

  // ---- what the tasks do ----

  static inspect_model *of(void *m) {
    return static_cast<inspect_model *>(m);
  }
  template <unsigned i>
  static int wait(void *m, model_task *, volt_ctx *ctx) {
    return of(m)->e[i].poll(ctx) ? static_cast<int>(RESULT) : static_cast<int>(VOLT_PENDING);
  }
  // Ready with one of them; the other's wake is still to come.
  static int wait_for_any(void *m, model_task *, volt_ctx *ctx) {
    bool first = of(m)->e[0].poll(ctx);
    bool second = of(m)->e[1].poll(ctx);
    return first || second ? static_cast<int>(RESULT) : static_cast<int>(VOLT_PENDING);
  }
  static int wait_for_both(void *m, model_task *self, volt_ctx *ctx) {
    int result = wait<0>(m, self, ctx);
    return result == VOLT_PENDING ? result : wait<1>(m, self, ctx);
  }
  // Ends if it is told to.
  template <unsigned i>
  static int wait_or_cancel(void *m, model_task *self, volt_ctx *ctx) {
    if (ctx->cancel == VOLT_CTX_GO_ON) return wait<i>(m, self, ctx);
    of(m)->e[i].drop(ctx);
    volt_ctx_obeyed_(ctx);
    return VOLT_ECANCELED;
  }

  // ---- an inspector ----

  struct look {
    unsigned shown = 0;
    unsigned times[3] = {};
    unsigned waiting = 0; // tasks that were claimed
    inspect_model *model;
    explicit look(inspect_model *model_) : model(model_) {
    }
    unsigned of(const volt_task *t) {
      unsigned i = 0;
      while (i < 2 && (!model->task[i] || &model->task[i]->task != t)) i++;
      return i;
    }
  };
  // As a worker would touch it: nothing else orders these.
  static void touch(model_task *t) {
    EXPECT(t->polls == t->ended);
    EXPECT(t->task.polls <= t->polls);
  }
  static bool see(void *ctx, const volt_seen_ *seen, unsigned count) {
    look *l = static_cast<look *>(ctx);
    for (unsigned i = 0; i < count; i++) {
      l->shown += 1;
      l->times[l->of(seen[i].task)] += 1;
      if (seen[i].how != VOLT_SEEN_WAITS_) continue;
      l->waiting += 1;
      EXPECT(seen[i].registrations >= 0);
      touch(model_task::of(seen[i].task));
    }
    return true;
  }
  look inspect(unsigned batch) {
    look l(this);
    EXPECT(volt_inspect_(rt.handle(), batch, see, &l) == VOLT_OK);
    return l;
  }
};

// ---- a task that waits: R8, R9 ----

// It is woken and polled by the same thread, or by a third.
struct claim_x_wake : inspect_model {
  claim_x_wake() {
    spawn(0, wait<0>);
    run_first();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      look l = inspect(1);
      EXPECT(l.shown <= 1);
    } else {
      e[0].fire();
      rt.run(1);
    }
  }
  void check() override {
    expect_gone(1);
    EXPECT(left[0].polls == 2);
  }
};
MODEL(claim_x_wake, 2, full)

struct claim_x_wake_x_poll : claim_x_wake {
  void thread(unsigned index) override {
    if (index == 0) {
      inspect(1);
    } else if (index == 1) {
      e[0].fire();
    } else {
      rt.run(1);
    }
  }
};
MODEL(claim_x_wake_x_poll, 3, bounded)

// Nothing wakes it: it waits on, and is not polled.
struct claim_x_nothing : inspect_model {
  claim_x_nothing() {
    spawn(0, wait<0>);
    run_first();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      look l = inspect(1);
      EXPECT(l.waiting == 1 && l.shown == 1);
    } else {
      rt.run(1);
    }
  }
  void check() override {
    EXPECT(!rt.run_one());
    e[0].fire();
    expect_gone(1);
    EXPECT(left[0].polls == 2);
  }
};
MODEL(claim_x_nothing, 2, full)

struct two_wakes_x_release : inspect_model {
  two_wakes_x_release() {
    spawn(0, wait_for_any);
    run_first();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      inspect(1);
      rt.run(1);
    } else {
      e[index - 1].fire();
    }
  }
  void check() override {
    expect_gone(1);
  }
};
MODEL(two_wakes_x_release, 3, bounded)

// It is cancelled as it is claimed.
struct claim_x_cancel : inspect_model {
  claim_x_cancel() {
    task[0] = model_task::make(rt.handle(), wait_or_cancel<0>, this, &left[0], true);
    EXPECT(rt.spawn(&task[0]->task) == VOLT_OK);
    run_first();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      inspect(1);
    } else {
      EXPECT(volt_task_cancel(&task[0]->task));
      volt_task_detach(&task[0]->task);
      rt.run(1);
    }
  }
  void check() override {
    expect_gone(1, VOLT_ECANCELED);
  }
};
MODEL(claim_x_cancel, 2, bounded)

// Two inspectors, and a wake.
struct claim_x_claim : inspect_model {
  claim_x_claim() {
    spawn(0, wait<0>);
    run_first();
  }
  void thread(unsigned index) override {
    if (index < 2) {
      inspect(1);
    } else {
      e[0].fire();
    }
  }
  void check() override {
    expect_gone(1);
    EXPECT(left[0].polls == 2);
  }
};
MODEL(claim_x_claim, 3, bounded)

// ---- a task that ends ----

// An inspector looks while a worker polls what is queued.
struct inspect_x_run : inspect_model {
  unsigned waiting = 0; // how many it has claimed
  void thread(unsigned index) override {
    if (index == 0) {
      waiting = inspect(1).waiting;
    } else {
      rt.run(1);
    }
  }
};

// It is queued, is polled, and returns.
struct claim_x_return : inspect_x_run {
  claim_x_return() {
    spawn(0, wait<0>);
    run_first();
    e[0].fire();
  }
  void check() override {
    EXPECT(waiting == 0);
    expect_gone(1);
  }
};
MODEL(claim_x_return, 2, full)

// It is queued, is polled, and waits again: what the poll has left is seen, or it is not claimed.
struct claim_x_poll : inspect_x_run {
  claim_x_poll() {
    spawn(0, wait_for_both);
    run_first();
    e[0].fire();
  }
  void check() override {
    e[1].fire();
    expect_gone(1);
    EXPECT(left[0].polls == 3);
  }
};
MODEL(claim_x_poll, 2, full)

// It returns with a registration that is open: the wake that ends it meets the inspector. task.c R3.
struct claim_x_late_wake : inspect_model {
  claim_x_late_wake() {
    spawn(0, wait_for_any);
    run_first();
    e[0].fire();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      inspect(1);
    } else {
      rt.run(1);
      e[1].fire();
    }
  }
  void check() override {
    expect_gone(1);
  }
};
MODEL(claim_x_late_wake, 2, bounded)

// It ends as it was released, and tells the thread that joins.
struct claim_x_join : inspect_model {
  volt_future f;
  wake_count woken;
  claim_x_join() {
    task[0] = model_task::make(rt.handle(), wait<0>, this, &left[0], false);
    EXPECT(rt.spawn(&task[0]->task) == VOLT_OK);
    EXPECT(volt_future_poll(volt_task_join_future(&f, &task[0]->task), woken.waker()) ==
           VOLT_PENDING);
    run_first();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      inspect(1);
    } else {
      e[0].fire();
      rt.run(1);
    }
  }
  void check() override {
    rt.drain();
    EXPECT(woken.seen() == 1 && volt_task_result(&task[0]->task) == RESULT);
    task[0]->free();
    EXPECT(left[0].gone(RESULT) && rt.alive() == 0);
  }
};
MODEL(claim_x_join, 2, full)

// It is detached, and is woken and ends, on two threads.
struct claim_x_detach : inspect_model {
  claim_x_detach() {
    task[0] = model_task::make(rt.handle(), wait<0>, this, &left[0], true);
    EXPECT(rt.spawn(&task[0]->task) == VOLT_OK);
    run_first();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      inspect(1);
    } else if (index == 1) {
      volt_task_detach(&task[0]->task);
    } else {
      e[0].fire();
      rt.run(1);
    }
  }
  void check() override {
    expect_gone(1);
  }
};
MODEL(claim_x_detach, 3, bounded)

// A task joins it, which registers as it was claimed; both are claimed at any moment.
struct claim_x_join_by_task : inspect_model {
  volt_future f;
  claim_x_join_by_task() {
    task[0] = model_task::make(rt.handle(), wait<0>, this, &left[0], false);
    EXPECT(rt.spawn(&task[0]->task) == VOLT_OK);
    run_first();
    volt_future_made(volt_task_join_future(&f, &task[0]->task));
    spawn(1, join);
  }
  static int join(void *m, model_task *, volt_ctx *ctx) {
    inspect_model *self = of(m);
    int result = volt_future_poll_ctx(&static_cast<claim_x_join_by_task *>(self)->f, ctx);
    if (result != VOLT_PENDING) self->task[0]->free();
    return result;
  }
  void thread(unsigned index) override {
    if (index == 0) {
      inspect(2);
    } else if (index == 1) {
      rt.run(2);
    } else {
      e[0].fire();
      rt.run(1);
    }
  }
  void check() override {
    expect_gone(2);
  }
};
MODEL(claim_x_join_by_task, 3, bounded)

// Of a group, which is cancelled.
struct claim_x_group : inspect_model {
  volt_group group;
  claim_x_group() {
    volt_group_init(&group);
    task[0] = model_task::make(rt.handle(), wait_or_cancel<0>, this, &left[0], true);
    EXPECT(volt_group_spawn(&group, rt.handle(), &task[0]->task) == VOLT_OK);
    run_first();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      inspect(1);
    } else {
      volt_group_cancel(&group);
      rt.run(1);
    }
  }
  void check() override {
    rt.drain();
    EXPECT(volt_group_is_empty(&group));
    volt_group_destroy(&group);
    expect_gone(1, VOLT_ECANCELED);
  }
};
MODEL(claim_x_group, 2, bounded)

// ---- the list ----

// A task is spawned as the inspector is on its way; another waits all the time.
struct claim_x_spawn : inspect_model {
  claim_x_spawn() {
    spawn(0, wait<0>);
    run_first();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      look l = inspect(1);
      EXPECT(l.times[0] == 1 && l.times[2] == 0);
    } else {
      spawn(1, wait<1>);
    }
  }
  void check() override {
    e[0].fire();
    e[1].fire();
    expect_gone(2);
  }
};
MODEL(claim_x_spawn, 2, bounded)

// R1: another one is spawned as soon as the inspector has shown one: it is not shown, because there were two.
struct claim_x_spawn_between : inspect_model {
  claim_x_spawn_between() {
    spawn(0, wait<0>);
    spawn(1, wait<1>);
    run_first();
  }
  static bool see_and_spawn(void *ctx, const volt_seen_ *seen, unsigned count) {
    look *l = static_cast<look *>(ctx);
    if (!seen && !l->model->task[2]) l->model->spawn(2, wait<2>);
    return !seen || see(ctx, seen, count);
  }
  void thread(unsigned index) override {
    if (index == 1) {
      e[1].fire();
      return;
    }
    look l(this);
    EXPECT(volt_inspect_(rt.handle(), 1, see_and_spawn, &l) == VOLT_OK);
    EXPECT(l.shown == 2 && l.times[2] == 0);
  }
  void check() override {
    e[0].fire();
    e[2].fire();
    expect_gone(3);
  }
};
MODEL(claim_x_spawn_between, 2, bounded)

// I2: of three tasks one ends, before the cursor, behind it, or at it; the others are shown once.
template <unsigned ends>
struct cursor_x_end : inspect_model {
  cursor_x_end() {
    spawn(0, wait<0>);
    spawn(1, wait<1>);
    spawn(2, wait<2>);
    run_first();
    e[ends].fire();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      look l = inspect(1);
      for (unsigned i = 0; i < 3; i++) EXPECT(l.times[i] == 1 || (i == ends && l.times[i] == 0));
    } else {
      rt.run(1);
    }
  }
  void check() override {
    for (unsigned i = 0; i < 3; i++) e[i].fire();
    expect_gone(3);
  }
};
struct cursor_x_unlink_first : cursor_x_end<0> {};
MODEL(cursor_x_unlink_first, 2, bounded)
struct cursor_x_unlink_middle : cursor_x_end<1> {};
MODEL(cursor_x_unlink_middle, 2, bounded)
struct cursor_x_unlink_last : cursor_x_end<2> {};
MODEL(cursor_x_unlink_last, 2, bounded)

// I1: one returns with a registration open, so it stays in the list, at its place, though the next one is
// taken out.
struct cursor_x_link_again : inspect_model {
  cursor_x_link_again() {
    spawn(0, wait_for_any);
    spawn(1, wait<2>);
    spawn(2, wait<3>);
    run_first();
    e[0].fire();
    e[2].fire();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      look l = inspect(1);
      EXPECT(l.times[0] == 1 && l.times[1] <= 1 && l.times[2] == 1);
    } else {
      rt.run(2);
    }
  }
  void check() override {
    e[1].fire();
    e[3].fire();
    expect_gone(3);
  }
};
MODEL(cursor_x_link_again, 2, bounded)

// I1: all are cancelled, which moves them, and the cursor, to the other list: shown once, and the cursor is
// not asked.
struct cursor_x_cancel : inspect_model {
  uint64_t asked = 0;
  cursor_x_cancel() {
    spawn(0, wait_or_cancel<0>);
    spawn(1, wait_or_cancel<1>);
    run_first();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      look l = inspect(1);
      EXPECT(l.times[0] == 1 && l.times[1] == 1 && l.times[2] == 0);
    } else {
      asked = volt_registry_close_(rt.registry());
    }
  }
  void check() override {
    EXPECT(asked == 2);
    expect_gone(2, VOLT_ECANCELED);
  }
};
MODEL(cursor_x_cancel, 2, bounded)

// Two inspectors: each shows every task once, and no cursor.
struct cursor_x_cursor : inspect_model {
  cursor_x_cursor() {
    spawn(0, wait<0>);
    spawn(1, wait<1>);
    run_first();
  }
  void thread(unsigned) override {
    look l = inspect(1);
    EXPECT(l.shown == 2 && l.times[0] == 1 && l.times[1] == 1);
  }
  void check() override {
    e[0].fire();
    e[1].fire();
    expect_gone(2);
  }
};
MODEL(cursor_x_cursor, 2, bounded)

// The runtime shuts down, and is gone when no task is left and no inspector has it pinned.
struct claim_x_shutdown_and_destroy : inspect_model {
  volt_pins_ pins;
  claim_x_shutdown_and_destroy() {
    EXPECT(volt_pins_make_(&pins));
    spawn(0, wait_or_cancel<0>);
    run_first();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      inspect(1);
      volt_pins_end_(&pins);
    } else {
      EXPECT(volt_registry_close_(rt.registry()) == 1);
      rt.run(2);
      volt_pins_close_(&pins);
      if (rt.alive() == 0 && !volt_pins_are_left_(&pins)) rt.end();
    }
  }
  void check() override {
    expect_gone(1, VOLT_ECANCELED);
  }
};
MODEL(claim_x_shutdown_and_destroy, 2, bounded)
