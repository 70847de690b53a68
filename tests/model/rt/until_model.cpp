// until_model: a thread runs a runtime by hand until a future is ready, and sleeps, as other threads make
// it ready, or a call that blocks returns. by_hand.c; idle.h R1. A wake that is lost is a
// deadlock.
// PROGRAM: rt
#include "model_rt.hpp"

#include "core/wait/grant.h"
#include "rt/inspect/inspect.h"

// A future that is ready once fire() has been called.
struct fired_future {
  enum : uint32_t { idle, armed, fired };
  volt_future future;
  VOLT_ATOMIC(uint32_t) state;

  fired_future() {
    static const volt_future_ops_ ops = make_ops();
    volt_store_relaxed(&state, static_cast<uint32_t>(idle));
    volt_future_make_(&future, &ops, this, 0);
  }
  void fire() {
    if (volt_exchange_acq_rel(&state, static_cast<uint32_t>(fired)) != armed) return;
    volt_claimed_ claimed = volt_waiter_claim_(&future.waiter);
    volt_waiters_grant_(&claimed, 1, VOLT_WAITER_GRANTED_);
  }

 private:
  static volt_future_ops_ make_ops() {
    volt_future_ops_ ops;
    memset(&ops, 0, sizeof ops);
    ops.start = start;
    ops.cancel = cancel;
    ops.give_back = give_back;
    ops.poll_ctx = volt_future_poll_leaf_any_;
    return ops;
  }
  static int start(volt_future *f, volt_waker waker) {
    fired_future *self = static_cast<fired_future *>(f->object);
    volt_waiter_arm_(&f->waiter, self, waker);
    uint32_t seen = idle;
    return volt_cas_acq_rel(&self->state, &seen, static_cast<uint32_t>(armed)) ? VOLT_PENDING
                                                                               : VOLT_OK;
  }
  static bool cancel(volt_future *f) {
    fired_future *self = static_cast<fired_future *>(f->object);
    uint32_t seen = armed;
    bool cancelled = volt_cas_acq_rel(&self->state, &seen, static_cast<uint32_t>(idle));
    if (cancelled) {
      volt_store_relaxed(&f->waiter.state, static_cast<uint32_t>(VOLT_WAITER_UNUSED_));
    } else {
      volt_waiter_await_(&f->waiter);
    }
    return cancelled;
  }
  static void give_back(volt_future *) {
  }
};

// R4: made ready on another thread at any moment; that thread may be the one that settles the last
// registration of the task that awaits it. Then the runtime ends.
struct until_wake_x_sleep : model {
  model_rt rt;
  fired_future f;
  until_wake_x_sleep() : rt(1, 1, VOLT_RT_BY_HAND) {
  }
  void thread(unsigned index) override {
    if (index == 1) {
      f.fire();
      return;
    }
    EXPECT(volt_rt_run_until(rt.handle(), &f.future, VOLT_NO_DEADLINE) == VOLT_OK);
    EXPECT(rt.destroy() == 0);
  }
  void check() override {
    rt.abandon();
  }
};
MODEL(until_wake_x_sleep, 2, bounded)

// A task of the runtime waits for e, and then makes f ready.
struct until_task_gives : model {
  model_rt rt;
  fired_future f;
  event e;
  model_task::trace left;
  explicit until_task_gives(unsigned flags) : rt(1, 1, VOLT_RT_BY_HAND | flags) {
    model_task *t = model_task::make(rt.handle(), gives, this, &left, true);
    EXPECT(volt_spawn(rt.handle(), &t->task) == VOLT_OK);
    volt_task_detach(&t->task);
  }
  static int gives(void *m, model_task *, volt_ctx *ctx) {
    until_task_gives *self = static_cast<until_task_gives *>(m);
    if (!self->e.poll(ctx)) return VOLT_PENDING;
    self->f.fire();
    return VOLT_OK;
  }
  void expect_ready() {
    EXPECT(volt_rt_run_until(rt.handle(), &f.future, VOLT_NO_DEADLINE) == VOLT_OK);
  }
  void check() override {
    EXPECT(left.gone(VOLT_OK));
    rt.abandon();
  }
};

// Another thread wakes it; its last is settled there.
struct until_task_wakes : until_task_gives {
  until_task_wakes() : until_task_gives(0) {
  }
  void thread(unsigned index) override {
    if (index == 1) {
      e.fire();
    } else {
      expect_ready();
    }
  }
};
MODEL(until_task_wakes, 2, bounded)

// by_hand.c R1: virtual time, and nothing else can make it ready, so it is cancelled, as another thread
// makes it ready.
struct until_stalled_x_wake : model {
  model_rt rt;
  fired_future f;
  until_stalled_x_wake() : rt(1, 1, VOLT_RT_BY_HAND | VOLT_RT_VIRTUAL_CLOCK) {
  }
  void thread(unsigned index) override {
    if (index == 1) {
      f.fire();
      return;
    }
    int result = volt_rt_run_until(rt.handle(), &f.future, VOLT_NO_DEADLINE);
    EXPECT(result == VOLT_OK || result == VOLT_ESTALLED);
    EXPECT(rt.destroy() == 0);
  }
  void check() override {
    rt.abandon();
  }
};
MODEL(until_stalled_x_wake, 2, bounded)

// R4: virtual time passes once a call that blocks has returned, and not before.
struct until_call_x_sleep : model {
  model_rt rt;
  volt_blocking call;
  volt_sleep_op nap;
  VOLT_ATOMIC(uint32_t) returned;
  until_call_x_sleep() : rt(1, 1, VOLT_RT_BY_HAND | VOLT_RT_VIRTUAL_CLOCK) {
    model_threads_to_start(1);
    volt_store_relaxed(&returned, 0u);
    volt_future_made(volt_blocking_future(&call, rt.handle(), returns, this));
    EXPECT(volt_future_poll(&call.future, volt_waker{nullptr, nullptr}) == VOLT_PENDING);
  }
  static int returns(void *m) {
    until_call_x_sleep *self = static_cast<until_call_x_sleep *>(m);
    EXPECT(volt_rt_now_ns(self->rt.handle()) == 0);
    volt_store_relaxed(&self->returned, 1u);
    return VOLT_OK;
  }
  void thread(unsigned index) override {
    if (index == 1) {
      model_serve(0);
      return;
    }
    volt_future_made(volt_sleep_future(&nap, volt_rt_timers(rt.handle()), 10));
    EXPECT(volt_rt_run_until(rt.handle(), &nap.future, VOLT_NO_DEADLINE) == VOLT_OK);
    EXPECT(volt_load_relaxed(&returned) == 1 && volt_rt_now_ns(rt.handle()) == 10);
    volt_blocking_pool_close_(&rt->blocking);
  }
  void check() override {
    EXPECT(volt_future_poll(&call.future, volt_waker{nullptr, nullptr}) == VOLT_OK);
    rt.abandon();
  }
};
MODEL(until_call_x_sleep, 2, bounded)

// R4: the last call that is queued is given up on another thread, which no queue tells, either; or it is
// taken meanwhile.
struct until_call_x_cancel : model {
  model_rt rt;
  volt_blocking call;
  volt_sleep_op nap;
  until_call_x_cancel() : rt(1, 1, VOLT_RT_BY_HAND | VOLT_RT_VIRTUAL_CLOCK) {
    model_threads_to_start(1);
    volt_future_made(volt_blocking_future(&call, rt.handle(), returns, nullptr));
    EXPECT(volt_future_poll(&call.future, volt_waker{nullptr, nullptr}) == VOLT_PENDING);
  }
  static int returns(void *) {
    return VOLT_OK;
  }
  void thread(unsigned index) override {
    if (index == 2) {
      model_serve(0);
      return;
    }
    if (index == 1) {
      volt_future_cancel(&call.future);
      return;
    }
    volt_future_made(volt_sleep_future(&nap, volt_rt_timers(rt.handle()), 10));
    EXPECT(volt_rt_run_until(rt.handle(), &nap.future, VOLT_NO_DEADLINE) == VOLT_OK);
    EXPECT(volt_rt_now_ns(rt.handle()) == 10);
    volt_blocking_pool_close_(&rt->blocking);
  }
  void check() override {
    rt.abandon();
  }
};
MODEL(until_call_x_cancel, 3, bounded)

// R4: no thread can be started for the last that is queued.
struct until_call_x_no_thread : model {
  model_rt rt;
  volt_sleep_op nap;
  until_call_x_no_thread() : rt(1, 1, VOLT_RT_BY_HAND | VOLT_RT_VIRTUAL_CLOCK) {
    model_threads_to_start(0);
  }
  static int returns(void *) {
    return VOLT_OK;
  }
  void thread(unsigned index) override {
    if (index == 1) {
      volt_blocking call;
      volt_future_made(volt_blocking_future(&call, rt.handle(), returns, nullptr));
      EXPECT(volt_future_poll(&call.future, volt_waker{nullptr, nullptr}) == VOLT_ENOMEM);
      return;
    }
    volt_future_made(volt_sleep_future(&nap, volt_rt_timers(rt.handle()), 10));
    EXPECT(volt_rt_run_until(rt.handle(), &nap.future, VOLT_NO_DEADLINE) == VOLT_OK);
  }
  void check() override {
    rt.abandon();
  }
};
MODEL(until_call_x_no_thread, 2, bounded)

// by_hand.c R3: a loop that has nothing more to do is told, and calls volt_rt_run() on the thread that has
// told it, as the last one returns.
struct until_waker_x_return : model {
  model_rt rt;
  model_task::trace left[2];
  until_waker_x_return() : rt(1, 1, VOLT_RT_BY_HAND) {
    spawn(0);
    rt->config.waker = volt_waker{again, rt.handle()};
  }
  void spawn(unsigned i) {
    model_task *t = model_task::make(rt.handle(), once, this, &left[i], true);
    EXPECT(volt_spawn(rt.handle(), &t->task) == VOLT_OK);
    volt_task_detach(&t->task);
  }
  static void again(void *ctx) {
    (void)volt_rt_run(static_cast<volt_rt *>(ctx));
  }
  static int once(void *, model_task *, volt_ctx *) {
    return VOLT_OK;
  }
  void thread(unsigned index) override {
    if (index == 0) {
      (void)volt_rt_run(rt.handle());
    } else {
      spawn(1);
    }
  }
  void check() override {
    EXPECT(left[0].gone(VOLT_OK) && left[1].gone(VOLT_OK));
    rt.abandon();
  }
};
MODEL(until_waker_x_return, 2, bounded)

// inspect.c R3: with virtual time a task is woken as an inspector has claimed it. It is in no queue then, and
// all the same that is no stall, and no time passes.
struct until_claim_x_wake : until_task_gives {
  until_claim_x_wake() : until_task_gives(VOLT_RT_VIRTUAL_CLOCK) {
    volt_rt_run(rt.handle());
  }
  static bool see(void *, const volt_seen_ *, unsigned) {
    return true;
  }
  void thread(unsigned index) override {
    if (index == 0) {
      EXPECT(volt_inspect_(rt.handle(), 1, see, nullptr) == VOLT_OK);
    } else {
      e.fire();
      expect_ready();
    }
  }
};
MODEL(until_claim_x_wake, 2, bounded)

// The same, and the wake is by a task, after which the thread takes no lock of a registry that the inspector
// has held: whether the task is in its hands, only the lock `inspected` says.
struct until_claim_x_run : model {
  model_rt rt;
  event e;
  model_task::trace left;
  until_claim_x_run() : rt(1, 1, VOLT_RT_BY_HAND | VOLT_RT_VIRTUAL_CLOCK) {
    model_task *t = model_task::make(rt.handle(), wait, this, &left, true);
    EXPECT(volt_spawn(rt.handle(), &t->task) == VOLT_OK);
    volt_task_detach(&t->task);
    volt_rt_run(rt.handle());
  }
  static int wait(void *m, model_task *, volt_ctx *ctx) {
    until_claim_x_run *self = static_cast<until_claim_x_run *>(m);
    return self->e.poll(ctx) ? static_cast<int>(VOLT_OK) : static_cast<int>(VOLT_PENDING);
  }
  static bool see(void *, const volt_seen_ *, unsigned) {
    return true;
  }
  void thread(unsigned index) override {
    if (index == 0) {
      EXPECT(volt_inspect_(rt.handle(), 1, see, nullptr) == VOLT_OK);
      return;
    }
    e.fire();
    volt_rt_run(rt.handle());
    EXPECT(left.gone(VOLT_OK)); // nothing is ready any more
  }
  void check() override {
    rt.abandon();
  }
};
MODEL(until_claim_x_run, 2, bounded)

// task.c R9: a loop runs the runtime, which has no other task than one that an inspector has claimed as it
// is woken. The loop is told of it, or finds it; then all is gone, but not before the inspector.
struct loop_claim_x_end : model {
  model_rt rt;
  event e;
  model_task::trace left;
  volt_parker bell;
  bool has_returned = false; // the task: on the thread of the loop
  bool is_woken_elsewhere;
  explicit loop_claim_x_end(bool elsewhere = false)
      : rt(1, 1, VOLT_RT_BY_HAND), is_woken_elsewhere(elsewhere) {
    rt->config.waker = volt_waker{ring, this};
    model_task *t = model_task::make(rt.handle(), wait, this, &left, true);
    EXPECT(volt_spawn(rt.handle(), &t->task) == VOLT_OK);
    volt_task_detach(&t->task);
    volt_rt_run(rt.handle());
    EXPECT(volt_pins_make_(&rt->pins));
  }
  static void ring(void *m) {
    volt_unpark(&static_cast<loop_claim_x_end *>(m)->bell);
  }
  static int wait(void *m, model_task *, volt_ctx *ctx) {
    loop_claim_x_end *self = static_cast<loop_claim_x_end *>(m);
    self->has_returned = self->e.poll(ctx);
    return self->has_returned ? static_cast<int>(VOLT_OK) : static_cast<int>(VOLT_PENDING);
  }
  static bool see(void *, const volt_seen_ *, unsigned) {
    return true;
  }
  void inspect() {
    volt_rt *its = rt.handle();
    EXPECT(volt_inspect_(its, 1, see, nullptr) == VOLT_OK);
    volt_pins_end_(&its->pins);
  }
  void loop() {
    uint32_t rung = volt_unparks_since_(&bell, 0);
    for (;;) {
      volt_rt_run(rt.handle());
      if (has_returned) break; // a late wake may still have to end it
      volt_park_until(&bell, rung + 1, VOLT_NO_DEADLINE);
      rung += volt_unparks_since_(&bell, rung);
    }
    EXPECT(rt.destroy() == 0);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      inspect();
    } else if (index == 1) {
      if (!is_woken_elsewhere) e.fire();
      loop();
    } else {
      e.fire();
    }
  }
  void check() override {
    EXPECT(left.gone(VOLT_OK));
  }
};
MODEL(loop_claim_x_end, 2, bounded)

struct loop_claim_x_wake : loop_claim_x_end {
  loop_claim_x_wake() : loop_claim_x_end(true) {
  }
};
MODEL(loop_claim_x_wake, 3, bounded)
