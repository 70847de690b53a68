// group_model: tasks that end together: spawned, ended, cancelled, taken one by one, waited for and
// destroyed at any moment. group.c I1-I5, R1-R4; task_list.h.
// PROGRAM: task
#include "fake_rt.hpp"
#include "poller.hpp"

enum { FAILURE = -99, RESULT = 7 };

struct group_model : model {
  fake_rt rt;
  event never;
  volt_group *g = new volt_group; // whoever needs it after it was destroyed is reported
  model_task::trace left[2];

  explicit group_model(unsigned how = VOLT_GROUP_FAIL_FAST) {
    volt_group_init_how(g, how);
  }
  model_task *make(unsigned i, model_task::body_fn *body) {
    return model_task::make(rt.handle(), body, this, &left[i], true);
  }
  void spawn(unsigned i, model_task::body_fn *body) {
    EXPECT(volt_group_spawn(g, rt.handle(), &make(i, body)->task) == VOLT_OK);
  }
  void destroy() {
    volt_group_destroy(g);
    g->count = 0;
    g->result = 0;
    g->is_cancelled = 0;
    g->waiter = nullptr;
    g->running.next = nullptr;
    g->cancelled.next = nullptr;
    g->ended.next = nullptr;
    delete g;
    g = nullptr;
  }
  // At quiescence.
  void expect_over(int result) {
    rt.drain();
    EXPECT(rt.alive() == 0);
    if (!g) return;
    EXPECT(volt_group_count(g) == 0 && g->result == result && !g->waiter);
    destroy();
  }

  // *t was taken: it returned that, and is given back.
  void expect_taken(volt_task *t, int result) {
    EXPECT(volt_task_result(t) == result);
    volt_task_detach(t);
  }

  // ---- what the tasks do ----

  static int succeed(void *, model_task *, volt_ctx *) {
    return VOLT_OK;
  }
  static int fail(void *, model_task *, volt_ctx *) {
    return FAILURE;
  }
  // Ends when it is told to, and never else.
  static int until_cancelled(void *m, model_task *, volt_ctx *ctx) {
    group_model *self = static_cast<group_model *>(m);
    if (ctx->cancel == VOLT_CTX_GO_ON) {
      self->never.poll(ctx);
      return VOLT_PENDING;
    }
    self->never.drop(ctx);
    volt_ctx_obeyed_(ctx);
    return VOLT_ECANCELED;
  }
};

// R1: the last task ends, and who waits destroys the group.
struct group_end_x_wait_destroy : group_model {
  group_end_x_wait_destroy() {
    spawn(0, fail);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      rt.run(1);
      return;
    }
    EXPECT(volt_group_wait(g) == FAILURE);
    destroy();
  }
  void check() override {
    expect_over(FAILURE);
    EXPECT(left[0].gone(FAILURE));
  }
};
MODEL(group_end_x_wait_destroy, 2, bounded)

// R1, I1: two tasks end on two workers; the waker, called once, destroys the group.
struct group_last_of_two_wakes : group_model {
  volt_future f;
  VOLT_PLAIN(uint32_t) woken;
  group_last_of_two_wakes() {
    spawn(0, succeed);
    spawn(1, succeed);
    volt_future_made(volt_group_wait_future(&f, g));
    EXPECT(volt_future_poll(&f, volt_waker{wake, this}) == VOLT_PENDING);
  }
  static void wake(void *p) {
    group_last_of_two_wakes *self = static_cast<group_last_of_two_wakes *>(p);
    self->woken += 1;
    EXPECT(volt_future_poll(&self->f, volt_waker{nullptr, nullptr}) == VOLT_OK);
    EXPECT(self->left[0].gone(VOLT_OK) && self->left[1].gone(VOLT_OK));
    self->destroy();
  }
  void thread(unsigned) override {
    rt.run(1);
  }
  void check() override {
    expect_over(VOLT_OK);
    EXPECT(woken == 1 && !g);
  }
};
MODEL(group_last_of_two_wakes, 2, bounded)

// Who waits gives up as the last task ends: told or dropped, once.
struct group_wait_cancel_x_end : group_model {
  volt_future f;
  poller::trace waiting;
  group_wait_cancel_x_end() {
    spawn(0, succeed);
    poller *p = new poller(&waiting);
    EXPECT(p->poll(volt_group_wait_future(&f, g)) == VOLT_PENDING);
    EXPECT(p->end() == 1);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      rt.run(1);
      return;
    }
    volt_future_cancel(&f);
    poison(&f.waiter);
    volt_store_relaxed(&f.waiter.state, VOLT_WAITER_AWAITED_); // its memory is used again
  }
  void check() override {
    expect_over(VOLT_OK);
    EXPECT(waiting.gone(1));
    EXPECT(volt_load_relaxed(&f.waiter.state) == VOLT_WAITER_AWAITED_); // by no other thread
  }
};
MODEL(group_wait_cancel_x_end, 2, bounded)

// Somebody else polls who waits, as the last task ends.
struct group_set_waker_x_end : group_model {
  volt_future f;
  poller::trace waiting[2];
  poller *after = new poller(&waiting[1]);
  int result = VOLT_PENDING;
  group_set_waker_x_end() {
    spawn(0, succeed);
    poller *before = new poller(&waiting[0]);
    EXPECT(before->poll(volt_group_wait_future(&f, g)) == VOLT_PENDING);
    EXPECT(before->end() == 1);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      rt.run(1);
      return;
    }
    result = after->poll(&f);
    EXPECT(after->end() == (result == VOLT_PENDING ? 1u : 0u));
  }
  void check() override {
    expect_over(VOLT_OK);
    EXPECT(result == VOLT_OK ? waiting[0].gone(1, 0) && waiting[1].gone(0, 0)
                             : waiting[0].gone(0, 1) && waiting[1].gone(1, 0));
    EXPECT(volt_waiter_result(&f.waiter) == VOLT_OK);
  }
};
MODEL(group_set_waker_x_end, 2, bounded)

// The group is waited for first as the last task ends, until a deadline.
struct group_wait_deadline_x_end : group_model {
  int result = VOLT_PENDING;
  group_wait_deadline_x_end() {
    spawn(0, succeed);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      rt.run(1);
      return;
    }
    result = volt_group_wait_until(g, 1);
    EXPECT(result == VOLT_OK || result == VOLT_ETIMEDOUT);
    if (result == VOLT_OK) destroy();
  }
  void check() override {
    expect_over(VOLT_OK);
  }
};
MODEL(group_wait_deadline_x_end, 2, bounded)

// R2: spawned while the group is cancelled: refused, or told to end.
struct group_cancel_x_spawn : group_model {
  model_task *t = make(0, until_cancelled);
  int spawned = VOLT_PENDING;
  int after = VOLT_PENDING;
  void thread(unsigned index) override {
    if (index == 0) {
      volt_group_cancel(g);
      model_task *late = make(1, until_cancelled);
      after = volt_group_spawn(g, rt.handle(), &late->task);
      volt_task_detach(&late->task);
    } else {
      spawned = volt_group_spawn(g, rt.handle(), &t->task);
      if (spawned != VOLT_OK) volt_task_detach(&t->task);
    }
  }
  void check() override {
    EXPECT(spawned == VOLT_OK || spawned == VOLT_ECANCELED);
    expect_over(spawned == VOLT_OK ? VOLT_ECANCELED : VOLT_OK);
    EXPECT(left[0].gone(spawned == VOLT_OK ? VOLT_ECANCELED : VOLT_OK));
    EXPECT(after == VOLT_ECANCELED);
  }
};
MODEL(group_cancel_x_spawn, 2, bounded)

// I3, R2: a task fails as another is spawned: that is refused, or told to end; the failure stands.
struct group_failure_x_spawn : group_model {
  model_task *t = make(1, until_cancelled);
  int spawned = VOLT_PENDING;
  group_failure_x_spawn() {
    spawn(0, fail);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      rt.run(1);
    } else {
      spawned = volt_group_spawn(g, rt.handle(), &t->task);
      if (spawned != VOLT_OK) volt_task_detach(&t->task);
    }
  }
  void check() override {
    EXPECT(spawned == VOLT_OK || spawned == VOLT_ECANCELED);
    expect_over(FAILURE);
    EXPECT(left[0].gone(FAILURE));
    EXPECT(left[1].gone(spawned == VOLT_OK ? VOLT_ECANCELED : VOLT_OK));
  }
};
MODEL(group_failure_x_spawn, 2, bounded)

// The group is cancelled as its task ends: freed once, and nobody asks it afterwards.
struct group_cancel_x_end : group_model {
  group_cancel_x_end() {
    spawn(0, succeed);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      rt.run(1);
    } else {
      volt_group_cancel(g);
    }
  }
  void check() override {
    expect_over(VOLT_OK);
    EXPECT(left[0].gone(VOLT_OK));
  }
};
MODEL(group_cancel_x_end, 2, bounded)

// One fails as the other, which waits, is told so; the first failure is the group's.
struct group_failure_cancels_other : group_model {
  group_failure_cancels_other() {
    spawn(0, until_cancelled);
    spawn(1, fail);
  }
  void thread(unsigned) override {
    rt.run(1);
  }
  void check() override {
    expect_over(FAILURE);
    EXPECT(left[0].gone(VOLT_ECANCELED) && left[1].gone(FAILURE));
  }
};
MODEL(group_failure_cancels_other, 2, bounded)

// The runtime takes no more as a task is spawned into the group and the group is cancelled: what was
// not spawned is the spawner's alone.
struct group_spawn_x_shutdown_x_cancel : group_model {
  model_task *t = make(0, until_cancelled);
  int spawned = VOLT_PENDING;
  void thread(unsigned index) override {
    if (index == 0) {
      volt_registry_close_(rt.registry());
    } else if (index == 1) {
      volt_group_cancel(g);
    } else {
      spawned = volt_group_spawn(g, rt.handle(), &t->task);
      if (spawned != VOLT_OK) volt_task_detach(&t->task);
    }
  }
  void check() override {
    expect_over(spawned == VOLT_OK ? VOLT_ECANCELED : VOLT_OK);
    EXPECT(left[0].gone(spawned == VOLT_OK ? VOLT_ECANCELED : VOLT_OK));
  }
};
MODEL(group_spawn_x_shutdown_x_cancel, 3, bounded)

// ==== tasks are taken one by one as they end, and cancelled alone ====

// ---- the next ----

struct next_model : group_model {
  explicit next_model(unsigned how = VOLT_GROUP_KEEP_GOING)
      : group_model(how | VOLT_GROUP_KEEP_RESULTS) {
  }
  void take(int result) {
    volt_task *t;
    EXPECT(volt_group_next(g, &t) == VOLT_OK);
    expect_taken(t, result);
  }
};

// R1, R4: a task ends as somebody waits for the next, takes it, and destroys the group.
struct group_end_x_next : next_model {
  group_end_x_next() {
    spawn(0, fail);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      rt.run(1);
      return;
    }
    take(FAILURE);
    volt_task *t;
    EXPECT(volt_group_try_next(g, &t) == VOLT_EEMPTY && !t);
    destroy();
  }
  void check() override {
    expect_over(FAILURE);
    EXPECT(left[0].gone(FAILURE));
  }
};
MODEL(group_end_x_next, 2, bounded)

// The same with a deadline: told, or not; the task is taken once.
struct group_next_deadline_x_end : next_model {
  int result = VOLT_PENDING;
  group_next_deadline_x_end() {
    spawn(0, succeed);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      rt.run(1);
      return;
    }
    volt_task *t;
    result = volt_group_next_until(g, &t, 1);
    EXPECT(result == VOLT_OK || result == VOLT_ETIMEDOUT);
    EXPECT((result == VOLT_OK) == (t != nullptr));
    if (t) expect_taken(t, VOLT_OK);
  }
  void check() override {
    rt.drain();
    if (result == VOLT_ETIMEDOUT) take(VOLT_OK);
    expect_over(VOLT_OK);
    EXPECT(left[0].gone(VOLT_OK));
  }
};
MODEL(group_next_deadline_x_end, 2, bounded)

// R1: the failure of one cancels the other, and both are taken, as they end, by whoever then destroys
// the group.
struct group_failure_x_next_destroy : next_model {
  group_failure_x_next_destroy() : next_model(VOLT_GROUP_FAIL_FAST) {
    spawn(0, fail);
    spawn(1, until_cancelled);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      rt.run(4);
      return;
    }
    volt_task *first;
    volt_task *second;
    EXPECT(volt_group_next(g, &first) == VOLT_OK);
    EXPECT(volt_group_next(g, &second) == VOLT_OK);
    bool in_order = volt_task_result(first) == FAILURE;
    expect_taken(first, in_order ? static_cast<int>(FAILURE) : static_cast<int>(VOLT_ECANCELED));
    expect_taken(second, in_order ? static_cast<int>(VOLT_ECANCELED) : static_cast<int>(FAILURE));
    destroy();
  }
  void check() override {
    expect_over(FAILURE);
    EXPECT(left[0].gone(FAILURE) && left[1].gone(VOLT_ECANCELED));
  }
};
MODEL(group_failure_x_next_destroy, 2, bounded)

// Two tasks end on two workers as a third thread takes both.
struct group_two_ends_x_next : next_model {
  group_two_ends_x_next() {
    spawn(0, succeed);
    spawn(1, succeed);
  }
  void thread(unsigned index) override {
    if (index < 2) {
      rt.run(1);
      return;
    }
    take(VOLT_OK);
    take(VOLT_OK);
    destroy();
  }
  void check() override {
    expect_over(VOLT_OK);
    EXPECT(left[0].gone(VOLT_OK) && left[1].gone(VOLT_OK));
  }
};
MODEL(group_two_ends_x_next, 3, bounded)

// R4: whoever waits for the next gives up as a task ends: that is the next one's, and told or dropped.
struct group_next_cancel_x_end : next_model {
  volt_future f;
  volt_task *t;
  poller::trace waiting;
  group_next_cancel_x_end() {
    spawn(0, succeed);
    poller *p = new poller(&waiting);
    EXPECT(p->poll(volt_group_next_future(&f, g, &t)) == VOLT_PENDING);
    EXPECT(p->end() == 1);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      rt.run(1);
      return;
    }
    volt_future_cancel(&f);
    EXPECT(!t);
    poison(&f.waiter);
  }
  void check() override {
    rt.drain();
    take(VOLT_OK);
    expect_over(VOLT_OK);
    EXPECT(waiting.gone(1) && left[0].gone(VOLT_OK));
  }
};
MODEL(group_next_cancel_x_end, 2, bounded)

// R4, I5: one that was given to somebody who gives up, goes to whoever begins to wait meanwhile.
struct group_next_given_back_x_next : next_model {
  volt_future f;
  volt_task *t;
  group_next_given_back_x_next() {
    spawn(0, succeed);
    EXPECT(volt_future_poll(volt_group_next_future(&f, g, &t), volt_waker{nullptr, nullptr}) ==
           VOLT_PENDING);
    rt.drain();
    spawn(1, until_cancelled); // else the group is empty for now
    rt.drain();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_future_cancel(&f);
    } else {
      take(VOLT_OK);
    }
  }
  void check() override {
    EXPECT(left[0].gone(VOLT_OK));
    volt_group_cancel(g);
    rt.drain();
    take(VOLT_ECANCELED);
    expect_over(VOLT_ECANCELED);
  }
};
MODEL(group_next_given_back_x_next, 2, bounded)

// The group is cancelled as somebody waits for the next.
struct group_cancel_x_next : next_model {
  group_cancel_x_next() {
    spawn(0, until_cancelled);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_group_cancel(g);
      rt.run(2);
    } else {
      take(VOLT_ECANCELED);
    }
  }
  void check() override {
    expect_over(VOLT_ECANCELED);
    EXPECT(left[0].gone(VOLT_ECANCELED));
  }
};
MODEL(group_cancel_x_next, 2, bounded)

// ---- one alone ----

struct member_model : group_model {
  volt_group_member *m =
      new volt_group_member; // whoever needs it after it was given up is reported
  event e;
  member_model(model_task::body_fn *body, unsigned how) : group_model(how) {
    EXPECT(volt_group_spawn_member(g, rt.handle(), &make(0, body)->task, m) == VOLT_OK);
  }
  void end_handle() {
    m->link.next = nullptr;
    m->link.prev = nullptr;
    m->task = nullptr;
    delete m;
    m = nullptr;
  }
  // Ends when it is told to, or the event has happened.
  static int one_or_cancel(void *model, model_task *, volt_ctx *ctx) {
    member_model *self = static_cast<member_model *>(model);
    if (ctx->cancel != VOLT_CTX_GO_ON) {
      self->e.drop(ctx);
      volt_ctx_obeyed_(ctx);
      return VOLT_ECANCELED;
    }
    return self->e.poll(ctx) ? static_cast<int>(RESULT) : static_cast<int>(VOLT_PENDING);
  }
};

// R3: a task ends, and is freed, as it is cancelled alone.
struct group_member_cancel_x_end : member_model {
  group_member_cancel_x_end() : member_model(succeed, VOLT_GROUP_FAIL_FAST) {
  }
  void thread(unsigned index) override {
    if (index == 0) {
      rt.run(1);
      return;
    }
    bool asked = volt_group_member_cancel(m);
    EXPECT(!volt_group_member_cancel(m));
    if (!asked) end_handle();
  }
  void check() override {
    expect_over(VOLT_OK);
    EXPECT(left[0].gone(VOLT_OK));
    if (m) end_handle();
  }
};
MODEL(group_member_cancel_x_end, 2, bounded)

// R3: the same with one that waits and is woken as it is cancelled: it ends with either, which is no
// failure.
struct group_member_cancel_x_wake : member_model {
  bool asked = false;
  group_member_cancel_x_wake() : member_model(one_or_cancel, VOLT_GROUP_FAIL_FAST) {
    rt.drain();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      e.fire();
      rt.run(2);
    } else {
      asked = volt_group_member_cancel(m);
    }
  }
  void check() override {
    expect_over(VOLT_OK);
    EXPECT(left[0].gone(RESULT) || (asked && left[0].gone(VOLT_ECANCELED)));
    end_handle();
  }
};
MODEL(group_member_cancel_x_wake, 2, bounded)

// R3: the same in a group that keeps it: whoever takes it frees it.
struct group_member_cancel_x_next : member_model {
  group_member_cancel_x_next()
      : member_model(succeed, VOLT_GROUP_KEEP_GOING | VOLT_GROUP_KEEP_RESULTS) {
  }
  void thread(unsigned index) override {
    if (index == 1) {
      volt_group_member_cancel(m);
      return;
    }
    rt.run(2);
    volt_task *t;
    if (volt_group_try_next(g, &t) == VOLT_OK) expect_taken(t, VOLT_OK);
  }
  void check() override {
    rt.drain();
    volt_task *t;
    if (volt_group_try_next(g, &t) == VOLT_OK) expect_taken(t, VOLT_OK);
    expect_over(VOLT_OK);
    EXPECT(left[0].gone(VOLT_OK));
    end_handle();
  }
};
MODEL(group_member_cancel_x_next, 2, bounded)

// I4: asked by its handle and with its group: it ends once, and the group's cancel is its failure.
struct group_member_x_group_cancel : member_model {
  group_member_x_group_cancel() : member_model(until_cancelled, VOLT_GROUP_FAIL_FAST) {
    rt.drain();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_group_cancel(g);
    } else {
      bool asked = volt_group_member_cancel(m);
      end_handle();
      if (asked) rt.run(1);
    }
  }
  void check() override {
    rt.drain();
    EXPECT(left[0].gone(VOLT_ECANCELED) && volt_group_count(g) == 0);
    destroy();
  }
};
MODEL(group_member_x_group_cancel, 2, bounded)

// I4: the handle is given up, and its memory used again, as the task ends.
struct group_member_drop_x_end : member_model {
  group_member_drop_x_end() : member_model(succeed, VOLT_GROUP_FAIL_FAST) {
  }
  void thread(unsigned index) override {
    if (index == 0) {
      rt.run(1);
    } else {
      volt_group_member_drop(m);
      end_handle();
    }
  }
  void check() override {
    expect_over(VOLT_OK);
    EXPECT(left[0].gone(VOLT_OK));
  }
};
MODEL(group_member_drop_x_end, 2, bounded)
