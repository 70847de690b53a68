// task_join_model: a task is joined as it ends. task.c R7, I4; pairs E1 -> J1, J2 -> E1.
// PROGRAM: task
#include "fake_rt.hpp"
#include "poller.hpp"

enum { RESULT = 7 };

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
      take_back(volt_task_join_blocking(&t->task, VOLT_NO_DEADLINE));
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
    int result = volt_task_join_blocking(&t->task, 1);
    EXPECT(result == RESULT || result == VOLT_ETIMEDOUT);
    if (result == VOLT_ETIMEDOUT) result = volt_task_join_blocking(&t->task, VOLT_NO_DEADLINE);
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
      take_back(volt_task_join_blocking(&t->task, VOLT_NO_DEADLINE));
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
    t->task.block = 1; // from here on as if from the pool
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
