// task_model: a task is woken, polled, cancelled, joined, detached and freed at any moment. task.c
// I1-I4, R1-R7, with wakes on workers and on other threads.
// PROGRAM: task BATCH 2 MUTANTS DEFINES rt SUPPORT fake_rt.cpp model_task.cpp
// PROGRAM: task SOURCES task.c task_join.c group.c registry.c future.c permits.c fifo.c grant.c park.c
// PROGRAM: task SOURCES fiber_futex.c
#include "fake_rt.hpp"
#include "poller.hpp"

enum { RESULT = 7 };

struct task_model : model {
  fake_rt rt;
  event e[3];
  model_task::trace left;
  model_task *t;

  task_model(model_task::body_fn *body, bool from_pool) {
    t = model_task::make(rt.handle(), body, this, &left, from_pool);
    EXPECT(rt.spawn(&t->task) == VOLT_OK);
  }
  // In the constructor.
  void run_first() {
    rt.run(1);
    rt.leave();
  }
  void expect_gone(int result = RESULT) {
    rt.drain();
    EXPECT(left.gone(result) && rt.alive() == 0);
  }

  // ---- what the task does ----

  static int at_once(void *, model_task *, volt_ctx *) {
    return RESULT;
  }
  template <unsigned count>
  static int all_of(void *m, model_task *, volt_ctx *ctx) {
    task_model *self = static_cast<task_model *>(m);
    for (unsigned i = 0; i < count; i++) {
      if (!self->e[i].poll(ctx)) return VOLT_PENDING;
    }
    return RESULT;
  }
  // Ready with one of them; the others' wakes are still to come.
  template <unsigned count>
  static int any_of(void *m, model_task *, volt_ctx *ctx) {
    task_model *self = static_cast<task_model *>(m);
    bool ready = false;
    for (unsigned i = 0; i < count; i++) ready |= self->e[i].poll(ctx);
    return ready ? static_cast<int>(RESULT) : static_cast<int>(VOLT_PENDING);
  }
  // Ends if it is told to.
  static int one_or_cancel(void *m, model_task *, volt_ctx *ctx) {
    task_model *self = static_cast<task_model *>(m);
    if (ctx->cancel != VOLT_CTX_GO_ON) {
      self->e[0].drop(ctx);
      volt_ctx_obeyed_(ctx);
      return VOLT_ECANCELED;
    }
    return self->e[0].poll(ctx) ? static_cast<int>(RESULT) : static_cast<int>(VOLT_PENDING);
  }
};

// ---- wakes: R1, R2, I1, I2 ----

// A wake at any moment of the life of a task that awaits one event. R4: and then the runtime ends.
template <bool on_worker>
struct wake_model : task_model {
  wake_model() : task_model(all_of<1>, true) {
    volt_task_detach(&t->task);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      rt.run(2);
      rt.end_if_empty();
    } else {
      if (on_worker) rt.be_worker();
      e[0].fire();
    }
  }
  void check() override {
    expect_gone();
    EXPECT(left.polls <= 2);
  }
};
struct task_wake_x_poll : wake_model<false> {};
MODEL(task_wake_x_poll, 2, full)
struct task_wake_here_x_poll : wake_model<true> {};
MODEL(task_wake_here_x_poll, 2, full)

// Two wakes, one after the other.
struct task_two_wakes_x_poll : task_model {
  task_two_wakes_x_poll() : task_model(all_of<2>, true) {
    volt_task_detach(&t->task);
    run_first();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      rt.run(3);
    } else {
      e[0].fire();
      e[1].fire();
    }
  }
  void check() override {
    expect_gone();
  }
};
MODEL(task_two_wakes_x_poll, 2, bounded)

// Two wakes from two threads, one of them a worker.
struct task_wake_x_wake_x_poll : task_model {
  task_wake_x_wake_x_poll() : task_model(any_of<2>, true) {
    volt_task_detach(&t->task);
    run_first();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      rt.run(2);
      rt.end_if_empty();
    } else {
      if (index == 2) rt.be_worker();
      e[index - 1].fire();
    }
  }
  void check() override {
    expect_gone();
  }
};
MODEL(task_wake_x_wake_x_poll, 3, bounded)

// I1: two workers poll, and never both at once; each poll sees what the one before did.
struct task_two_workers : task_model {
  task_two_workers() : task_model(all_of<2>, true) {
    volt_task_detach(&t->task);
    run_first();
    e[0].fire();
  }
  void thread(unsigned index) override {
    if (index < 2) {
      rt.run(2);
    } else {
      e[1].fire();
    }
  }
  void check() override {
    expect_gone();
  }
};
MODEL(task_two_workers, 3, bounded)

// I2, W1 -> P1: what was done before a wake is seen by a poll after it, though only the wake tells.
struct task_wake_tells : task_model {
  volt_waker waker = {nullptr, nullptr};
  VOLT_ATOMIC(uint32_t) said;
  VOLT_PLAIN(uint32_t) heard;
  task_wake_tells() : task_model(listen, true) {
    volt_task_detach(&t->task);
    run_first();
    e[0].fire(); // queued: the wake of the model meets a poll
  }
  static int listen(void *m, model_task *self, volt_ctx *ctx) {
    task_wake_tells *model = static_cast<task_wake_tells *>(m);
    model->heard = volt_load_relaxed(&model->said); // ordered by the wake alone
    if (self->polls == 1) {
      EXPECT(!model->e[0].poll(ctx));
      model->waker = ctx->waker;
      ctx->registered += 1;
    }
    return VOLT_PENDING;
  }
  void thread(unsigned index) override {
    if (index == 0) {
      rt.run(2);
    } else {
      volt_store_relaxed(&said, 1u); // ordered by the wake alone
      waker.wake(waker.ctx);
    }
  }
  void check() override {
    rt.drain();
    EXPECT(heard == 1);
    delete t;
  }
};
MODEL(task_wake_tells, 2, full)

// It lets others run as the wake comes: queued once, and polled again.
struct task_yield_x_wake : task_model {
  task_yield_x_wake() : task_model(yield, true) {
    volt_task_detach(&t->task);
  }
  static int yield(void *m, model_task *self, volt_ctx *ctx) {
    task_yield_x_wake *model = static_cast<task_yield_x_wake *>(m);
    bool ready = model->e[0].poll(ctx);
    if (self->polls > 1) return ready ? static_cast<int>(RESULT) : static_cast<int>(VOLT_PENDING);
    ctx->yield = true;
    return VOLT_PENDING;
  }
  void thread(unsigned index) override {
    if (index == 0) {
      rt.run(3);
    } else {
      e[0].fire();
    }
  }
  void check() override {
    expect_gone();
  }
};
MODEL(task_yield_x_wake, 2, bounded)

// ---- the end: R3, R5, I3, I4 ----

// R3: it has seen the event in a poll that another wake has caused, and only then comes the wake.
template <bool on_worker>
struct late_wake_model : task_model {
  late_wake_model() : task_model(any_of<2>, true) {
    volt_task_detach(&t->task);
    run_first();
    e[0].fire();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      rt.run(1);
      rt.end_if_empty();
    } else {
      if (on_worker) rt.be_worker();
      e[1].fire();
    }
  }
  void check() override {
    expect_gone();
    EXPECT(left.polls == 2);
  }
};
struct task_late_wake : late_wake_model<false> {};
MODEL(task_late_wake, 2, full)
struct task_late_wake_here : late_wake_model<true> {};
MODEL(task_late_wake_here, 2, full)

// R5: it has returned; the last two registrations are settled at once, by a wake and a drop.
struct task_drop_x_late_wake : task_model {
  volt_waker nobody = {nullptr, nullptr};
  volt_ctx ctx = VOLT_CTX_INIT(nobody);
  task_drop_x_late_wake() : task_model(note_drop, true) {
    volt_task_detach(&t->task);
    run_first();
    e[0].fire();
    run_first();
    EXPECT(left.freed == 0);
  }
  static int note_drop(void *m, model_task *self, volt_ctx *by) {
    task_drop_x_late_wake *model = static_cast<task_drop_x_late_wake *>(m);
    model->ctx.drop = by->drop;
    return any_of<3>(m, self, by);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      e[1].fire();
    } else {
      EXPECT(e[2].drop(&ctx));
    }
  }
  void check() override {
    expect_gone();
  }
};
MODEL(task_drop_x_late_wake, 2, full)

// I4: the handle is given up as it ends; on a worker, and by a late wake.
struct task_detach_x_complete : task_model {
  task_detach_x_complete() : task_model(at_once, true) {
  }
  void thread(unsigned index) override {
    if (index == 0) {
      rt.run(1);
    } else {
      volt_task_detach(&t->task);
    }
  }
  void check() override {
    expect_gone();
  }
};
MODEL(task_detach_x_complete, 2, full)

struct task_detach_x_late_wake : task_model {
  task_detach_x_late_wake() : task_model(any_of<2>, true) {
    run_first();
    e[0].fire();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      rt.run(1);
    } else if (index == 1) {
      e[1].fire();
    } else {
      volt_task_detach(&t->task);
    }
  }
  void check() override {
    expect_gone();
  }
};
MODEL(task_detach_x_late_wake, 3, bounded)

// Its holder looks for the result, and frees its own memory at once.
struct task_result_x_end : task_model {
  bool seen = false;
  explicit task_result_x_end(model_task::body_fn *body = at_once) : task_model(body, false) {
  }
  void look() {
    int result = volt_task_result(&t->task);
    EXPECT(result == RESULT || result == VOLT_PENDING);
    seen = result == RESULT;
    if (seen) t->free();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      rt.run(1);
    } else {
      look();
    }
  }
  void check() override {
    rt.drain();
    if (!seen) look();
    EXPECT(left.gone(RESULT) && rt.alive() == 0);
  }
};
MODEL(task_result_x_end, 2, full)

struct task_result_x_late_wake : task_result_x_end {
  task_result_x_late_wake() : task_result_x_end(any_of<2>) {
    run_first();
    e[0].fire();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      rt.run(1);
    } else if (index == 1) {
      e[1].fire();
    } else {
      look();
    }
  }
};
MODEL(task_result_x_late_wake, 3, bounded)

// ---- cancel: R6 ----

// It awaits what never comes.
struct task_cancel_x_poll : task_model {
  task_cancel_x_poll() : task_model(one_or_cancel, true) {
  }
  void thread(unsigned index) override {
    if (index == 0) {
      rt.run(2);
      rt.end_if_empty();
    } else {
      EXPECT(volt_task_cancel(&t->task));
      volt_task_detach(&t->task);
    }
  }
  void check() override {
    expect_gone(VOLT_ECANCELED);
  }
};
MODEL(task_cancel_x_poll, 2, bounded)

// It returns as it is asked. The canceller gives up the handle before it delivers: its hold alone
// keeps the task.
struct task_cancel_x_complete : task_model {
  task_cancel_x_complete() : task_model(at_once, true) {
  }
  void thread(unsigned index) override {
    if (index == 0) {
      rt.run(1);
      return;
    }
    bool schedule = false;
    bool asked = volt_task_ask_(&t->task, &schedule);
    EXPECT(!schedule);
    volt_task_detach(&t->task);
    if (asked) volt_task_deliver_(&t->task, schedule);
  }
  void check() override {
    expect_gone();
  }
};
MODEL(task_cancel_x_complete, 2, full)

// Cancelled and woken as it waits: it is queued by one of them, and ends with either result.
struct task_cancel_x_wake : task_model {
  task_cancel_x_wake() : task_model(one_or_cancel, true) {
    run_first();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      rt.run(2);
      rt.end_if_empty();
    } else if (index == 1) {
      e[0].fire();
    } else {
      volt_task_cancel(&t->task);
      volt_task_detach(&t->task);
    }
  }
  void check() override {
    rt.drain();
    EXPECT(left.gone(RESULT) || left.gone(VOLT_ECANCELED));
    EXPECT(rt.alive() == 0);
  }
};
MODEL(task_cancel_x_wake, 3, bounded)

// A cancel that an await has obeyed is over: the next await waits. One that comes while the poll runs
// is for the next.
struct task_cancel_obeyed : task_model {
  VOLT_PLAIN(uint32_t) obeyed;
  task_cancel_obeyed() : task_model(ends_second, true) {
    run_first();
  }
  static int ends_second(void *m, model_task *, volt_ctx *ctx) {
    task_cancel_obeyed *model = static_cast<task_cancel_obeyed *>(m);
    if (ctx->cancel != VOLT_CTX_GO_ON) {
      model->obeyed += 1;
      volt_ctx_obeyed_(ctx);
    }
    return model->e[0].poll(ctx) ? static_cast<int>(RESULT) : static_cast<int>(VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      rt.run(2);
    } else {
      EXPECT(volt_task_cancel(&t->task));
      volt_task_detach(&t->task);
    }
  }
  void check() override {
    rt.drain();
    EXPECT(left.freed == 0 && t->polls == 2);
    e[0].fire();
    expect_gone();
    EXPECT(left.polls == 3 && obeyed == 1);
  }
};
MODEL(task_cancel_obeyed, 2, full)

// ==== a task is joined as it ends: R7, I4; pairs E1 -> J1, J2 -> E1 ====

struct task_join_model : model {
  fake_rt rt;
  event e[1];
  model_task::trace left;
  model_task *t;
  VOLT_PLAIN(uint32_t) done;

  explicit task_join_model(model_task::body_fn *body = at_once) {
    t = model_task::make(rt.handle(), body, this, &left, false);
    EXPECT(rt.spawn(&t->task) == VOLT_OK);
  }
  static int at_once(void *m, model_task *, volt_ctx *) {
    static_cast<task_join_model *>(m)->done = 1;
    return RESULT;
  }
  // Its wake is late: it has seen the event before.
  static int first_awaits(void *m, model_task *self, volt_ctx *ctx) {
    task_join_model *model = static_cast<task_join_model *>(m);
    if (self->polls > 1) return at_once(m, self, ctx);
    EXPECT(!model->e[0].poll(ctx));
    ctx->yield = true;
    return VOLT_PENDING;
  }
  // By the holder: it has ended, and the memory is ours at once.
  void take_back(int result) {
    EXPECT(result == RESULT && done == 1);
    t->free();
  }
  void check() override {
    rt.drain();
    EXPECT(left.gone(RESULT) && rt.alive() == 0);
  }
};

// A thread waits for it.
struct task_join_x_complete : task_join_model {
  void thread(unsigned index) override {
    if (index == 0) {
      rt.run(1);
    } else {
      take_back(volt_task_join(&t->task));
    }
  }
};
MODEL(task_join_x_complete, 2, full)

// The same until a deadline, and then once more.
struct task_join_deadline_x_complete : task_join_model {
  void thread(unsigned index) override {
    if (index == 0) {
      rt.run(1);
      return;
    }
    int result = volt_task_join_until(&t->task, 1);
    EXPECT(result == RESULT || result == VOLT_ETIMEDOUT);
    if (result == VOLT_ETIMEDOUT) result = volt_task_join(&t->task);
    take_back(result);
  }
};
MODEL(task_join_deadline_x_complete, 2, bounded)

// It is ended by a late wake, on a thread that is no worker.
struct task_join_x_late_wake : task_join_model {
  task_join_x_late_wake() : task_join_model(first_awaits) {
    rt.run(1);
    rt.leave();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      rt.run(1);
    } else if (index == 1) {
      e[0].fire();
    } else {
      take_back(volt_task_join(&t->task));
    }
  }
};
MODEL(task_join_x_late_wake, 3, bounded)

// Somebody else waits with a future already, who gives up as it ends: told or dropped, once.
struct task_join_cancel_x_complete : task_join_model {
  volt_future f;
  poller::trace waiting;
  task_join_cancel_x_complete() {
    poller *p = new poller(&waiting);
    EXPECT(p->poll(volt_task_join_future(&f, &t->task)) == VOLT_PENDING);
    EXPECT(p->end() == 1);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      rt.run(1);
      return;
    }
    volt_future_cancel(&f);
    poison(&f.waiter);
    t->task.frame.block = 1; // from here on as if from the pool
    volt_task_detach(&t->task);
  }
  void check() override {
    EXPECT(waiting.gone(1));
    task_join_model::check();
  }
};
MODEL(task_join_cancel_x_complete, 2, full)

// A future that waits is polled by somebody else as it ends: they are told, or see it.
struct task_join_set_waker_x_complete : task_join_model {
  volt_future f;
  poller::trace waiting[2];
  poller *after = new poller(&waiting[1]);
  int result = VOLT_PENDING;
  task_join_set_waker_x_complete() {
    poller *before = new poller(&waiting[0]);
    EXPECT(before->poll(volt_task_join_future(&f, &t->task)) == VOLT_PENDING);
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
    rt.drain();
    EXPECT(result == RESULT || result == VOLT_PENDING);
    EXPECT(result == RESULT ? waiting[0].gone(1, 0) && waiting[1].gone(0, 0)
                            : waiting[0].gone(0, 1) && waiting[1].gone(1, 0));
    EXPECT(volt_future_poll(&f, volt_waker{nullptr, nullptr}) == RESULT);
    take_back(RESULT);
    task_join_model::check();
  }
};
MODEL(task_join_set_waker_x_complete, 2, full)

// It is joined by a future for the first time as it ends.
struct task_join_start_x_complete : task_join_model {
  volt_future f;
  wake_count woken;
  int result = VOLT_PENDING;
  void thread(unsigned index) override {
    if (index == 0) {
      rt.run(1);
      return;
    }
    result = volt_future_poll(volt_task_join_future(&f, &t->task), woken.waker());
    if (result != VOLT_PENDING) take_back(result);
  }
  void check() override {
    rt.drain();
    EXPECT(woken.seen() == (result == VOLT_PENDING ? 1u : 0u));
    if (result == VOLT_PENDING) take_back(volt_future_poll(&f, woken.waker()));
    task_join_model::check();
  }
};
MODEL(task_join_start_x_complete, 2, full)
