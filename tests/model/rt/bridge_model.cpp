// bridge_model: a loop that is not of volt runs a bridge when its alarm has rung, and closes it, while
// another thread wakes what it waits for. bridge.c I1 to I3, R1 to R3; registry.c R4. A wake that is lost is
// a deadlock; a use of the bridge, the runtime or a wait after the end is reported.
// PROGRAM: rt SOURCES bridge.c semaphore.c semaphore_limit.c SUPPORT model_alarm.cpp
#include "model_alarm.hpp"
#include "model_rt.hpp"
#include "rt/host/alarm.h"

struct bridge_model : model {
  // A wait for a permit, in memory of its own, which its callback frees.
  struct wait {
    volt_bridge_call call;
    volt_future f;
    bridge_model *m;
  };

  model_rt rt;
  model_bell bell;
  volt_bridge *b = new volt_bridge;
  volt_sem sem;
  wait *w = new wait;
  VOLT_PLAIN(uint32_t) calls;
  VOLT_PLAIN(uint32_t) closed;
  int result = VOLT_PENDING;

  bridge_model() : rt(1, 1, VOLT_RT_BY_HAND) {
    calls = 0;
    closed = 0;
    bell.seen = 0;
    volt_sem_init(&sem, 0);
    b->alarm.bell = reinterpret_cast<volt_doorbell *>(&bell);
    rt->config.waker = bell.waker();
    volt_bridge_begin_(b, rt.handle(), volt_bridge_stopped);
    w->m = this;
  }
  void begin_wait() {
    volt_future_made(volt_sem_acquire_future(&w->f, &sem, 1));
    volt_bridge_then(b, &w->call, &w->f, called, w);
  }
  static void called(int result, void *arg) {
    wait *w = static_cast<wait *>(arg);
    bridge_model *m = w->m;
    m->calls += 1;
    m->result = result;
    poison(&w->f.waiter);
    w->call.task.joiner = nullptr;
    w->call.task.next = nullptr;
    w->call.task.entry.next = nullptr;
    w->call.task.sibling.next = nullptr;
    delete w;
    m->w = nullptr;
    m->then();
  }
  virtual void then() {
    close();
  }
  void close() {
    volt_bridge_close(b, free_it, this);
  }
  // closed(): a thread that still uses the bridge is reported.
  static void free_it(void *arg) {
    bridge_model *m = static_cast<bridge_model *>(arg);
    volt_bridge *b = m->b;
    b->waits.count = 0;
    b->waits.result = 0;
    b->waits.is_cancelled = 0;
    b->waits.waiter = nullptr;
    b->waits.running.next = nullptr;
    b->waits.cancelled.next = nullptr;
    b->waits.ended.next = nullptr;
    poison(&b->ended_future.waiter);
    delete b;
    m->rt.is_gone();
    m->closed += 1;
  }
  // As the loop does: sleep until it rings, run the bridge.
  void run() {
    while (closed == 0) {
      volt_park_until(&bell.rings, bell.seen + 1, VOLT_NO_DEADLINE);
      volt_bridge_run(b);
    }
  }
  void expect_ended() {
    EXPECT(closed == 1 && calls == 1);
    EXPECT(result == VOLT_OK || result == VOLT_ECANCELED);
  }
};

// R1: what it waits for comes at any moment, and then it ends.
struct bridge_wait_x_release : bridge_model {
  bridge_wait_x_release() {
    begin_wait();
  }
  void thread(unsigned index) override {
    if (index == 1) {
      volt_sem_release(&sem, 1);
    } else {
      run();
    }
  }
  void check() override {
    expect_ended();
    EXPECT(result == VOLT_OK && volt_sem_available(&sem) == 0);
  }
};
MODEL(bridge_wait_x_release, 2, bounded)

// R2: it is closed as the wait is granted, or its wake is on its way.
struct bridge_close_x_release : bridge_model {
  bridge_close_x_release() {
    begin_wait();
    volt_bridge_run(b);
  }
  void then() override {
  }
  void thread(unsigned index) override {
    if (index == 1) {
      volt_sem_release(&sem, 1);
      return;
    }
    close();
    run();
  }
  void check() override {
    expect_ended();
    EXPECT(volt_sem_available(&sem) == (result == VOLT_OK ? 0u : 1u));
  }
};
MODEL(bridge_close_x_release, 2, bounded)

// I2: the wait is cancelled as it is granted; its late wake alone may end it, on the other thread.
struct bridge_cancel_x_release : bridge_model {
  bridge_cancel_x_release() {
    begin_wait();
    volt_bridge_run(b);
  }
  void thread(unsigned index) override {
    if (index == 1) {
      volt_sem_release(&sem, 1);
      return;
    }
    volt_bridge_cancel(&w->call);
    run();
  }
  void check() override {
    expect_ended();
    EXPECT(volt_sem_available(&sem) == (result == VOLT_OK ? 0u : 1u));
  }
};
MODEL(bridge_cancel_x_release, 2, bounded)

// R3: a task has returned, and a wake for it is on its way, which is the last that refers to the runtime.
struct bridge_close_x_late_wake : bridge_model {
  event e;
  model_task::trace left;
  bridge_close_x_late_wake() {
    model_task *t = model_task::make(rt.handle(), leave_wake, this, &left, true);
    EXPECT(volt_spawn(rt.handle(), &t->task) == VOLT_OK);
    volt_task_detach(&t->task);
    volt_bridge_run(b);
  }
  static int leave_wake(void *m, model_task *, volt_ctx *ctx) {
    static_cast<bridge_close_x_late_wake *>(m)->e.poll(ctx);
    return VOLT_OK;
  }
  void thread(unsigned index) override {
    if (index == 1) {
      e.fire();
      return;
    }
    close();
    run();
  }
  void check() override {
    EXPECT(closed == 1 && left.gone(VOLT_OK));
    delete w;
  }
};
MODEL(bridge_close_x_late_wake, 2, bounded)

// R2, I2: a wait has its result, and a wake for it is on its way: the callback comes after that, once.
struct late_wait_model : bridge_model {
  struct late : volt_async {
    event e;
  } late;
  late_wait_model() {
    volt_bridge_then(b, &w->call, volt_async_future(&late, leave_wake), called, w);
    volt_bridge_run(b);
    EXPECT(calls == 0);
  }
  static int leave_wake(volt_async *a, volt_ctx *ctx) {
    static_cast<struct late *>(a)->e.poll(ctx);
    return VOLT_OK;
  }
  void check() override {
    EXPECT(closed == 1 && calls == 1 && result == VOLT_OK);
  }
};

struct bridge_close_x_late_wait : late_wait_model {
  void then() override {
  }
  void thread(unsigned index) override {
    if (index == 1) {
      late.e.fire();
      return;
    }
    close();
    run();
  }
};
MODEL(bridge_close_x_late_wait, 2, bounded)

struct bridge_sleeps_x_late_wait : late_wait_model {
  void thread(unsigned index) override {
    if (index == 1) {
      late.e.fire();
    } else {
      run();
    }
  }
};
MODEL(bridge_sleeps_x_late_wait, 2, bounded)

// R1: a task is spawned by another thread as the loop looks, and then sleeps; the task closes the bridge.
struct bridge_spawn_x_run : bridge_model {
  model_task::trace left;
  model_task *t = model_task::make(rt.handle(), closes, this, &left, true);
  static int closes(void *m, model_task *, volt_ctx *) {
    static_cast<bridge_spawn_x_run *>(m)->close();
    return VOLT_OK;
  }
  void thread(unsigned index) override {
    if (index == 1) {
      EXPECT(volt_spawn(rt.handle(), &t->task) == VOLT_OK);
      volt_task_detach(&t->task);
      return;
    }
    volt_bridge_run(b); // without a cause
    run();
  }
  void check() override {
    EXPECT(closed == 1 && left.gone(VOLT_OK));
    delete w;
  }
};
MODEL(bridge_spawn_x_run, 2, bounded)
