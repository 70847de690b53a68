// registry_model: which tasks have not ended, and who waits for the last. registry.c I1-I3, R1-R3; and the
// lock of all short sections, short_lock.h.
// PROGRAM: task
#include "fake_rt.hpp"

struct registry_model : model {
  fake_rt rt;
  event e[2];
  model_task::trace left[2];

  model_task *make(unsigned i, model_task::body_fn *body) {
    return model_task::make(rt.handle(), body, this, &left[i], true);
  }
  // It has returned, and a wake is still to come: event i.
  void spawn_late(unsigned i, model_task::body_fn *body) {
    model_task *t = make(i, body);
    EXPECT(rt.spawn(&t->task) == VOLT_OK);
    volt_task_detach(&t->task);
    rt.drain();
    EXPECT(left[i].freed == 0);
  }
  template <unsigned i>
  static int leave_wake(void *m, model_task *, volt_ctx *ctx) {
    static_cast<registry_model *>(m)->e[i].poll(ctx);
    return VOLT_OK;
  }
  static int until_cancelled(void *m, model_task *, volt_ctx *ctx) {
    registry_model *self = static_cast<registry_model *>(m);
    if (ctx->cancel == VOLT_CTX_GO_ON) {
      self->e[0].poll(ctx);
      return VOLT_PENDING;
    }
    self->e[0].drop(ctx);
    volt_ctx_obeyed_(ctx);
    return VOLT_ECANCELED;
  }
};

// R1: spawned as the runtime shuts down: refused, or told to end.
struct registry_spawn_x_shutdown : registry_model {
  model_task *t = make(0, until_cancelled);
  int spawned = VOLT_PENDING;
  uint64_t asked = 0;
  void thread(unsigned index) override {
    if (index == 0) {
      asked = volt_registry_close_(rt.registry());
      return;
    }
    spawned = rt.spawn(&t->task);
    volt_task_detach(&t->task);
    rt.run(2);
  }
  void check() override {
    rt.drain();
    EXPECT(spawned == (asked ? VOLT_OK : VOLT_ECLOSED));
    EXPECT(left[0].gone(asked ? VOLT_ECANCELED : VOLT_OK));
    EXPECT(volt_registry_wait_(rt.registry(), VOLT_NO_DEADLINE) == VOLT_OK);
  }
};
MODEL(registry_spawn_x_shutdown, 2, bounded)

// I2: it is told to end as it ends: by its holder, and by the shutdown.
struct registry_shutdown_x_cancel_x_end : registry_model {
  model_task *t = make(0, once);
  registry_shutdown_x_cancel_x_end() {
    EXPECT(rt.spawn(&t->task) == VOLT_OK);
  }
  static int once(void *, model_task *, volt_ctx *) {
    return VOLT_OK;
  }
  void thread(unsigned index) override {
    if (index == 0) {
      rt.run(1);
    } else if (index == 1) {
      volt_registry_close_(rt.registry());
    } else {
      volt_task_cancel(&t->task);
      volt_task_detach(&t->task);
    }
  }
  void check() override {
    rt.drain();
    EXPECT(left[0].gone(VOLT_OK) && rt.alive() == 0);
  }
};
MODEL(registry_shutdown_x_cancel_x_end, 3, bounded)

// I1: the last task ends on another thread, and who waited for it frees the runtime at once.
struct registry_end_x_wait : registry_model {
  registry_end_x_wait() {
    spawn_late(0, leave_wake<0>);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      EXPECT(volt_registry_wait_(rt.registry(), VOLT_NO_DEADLINE) == VOLT_OK);
      rt.end();
    } else {
      e[0].fire();
    }
  }
  void check() override {
    EXPECT(left[0].gone(VOLT_OK));
  }
};
MODEL(registry_end_x_wait, 2, full)

// The same with two tasks and two threads.
struct registry_last_of_two_x_wait : registry_model {
  registry_last_of_two_x_wait() {
    spawn_late(0, leave_wake<0>);
    spawn_late(1, leave_wake<1>);
  }
  void thread(unsigned index) override {
    if (index == 2) {
      EXPECT(volt_registry_wait_(rt.registry(), VOLT_NO_DEADLINE) == VOLT_OK);
      rt.end();
    } else {
      e[index].fire();
    }
  }
  void check() override {
    EXPECT(left[0].gone(VOLT_OK) && left[1].gone(VOLT_OK));
  }
};
MODEL(registry_last_of_two_x_wait, 3, bounded)

// I2: two tasks have returned, one after the other, and end in the other order, as the runtime shuts
// down: each is in the registry until it ends.
struct registry_two_end_x_shutdown : registry_model {
  registry_two_end_x_shutdown() {
    task_of<0>();
    task_of<1>();
    rt.drain();
  }
  template <unsigned i>
  void task_of() {
    model_task *t = make(i, leave_wake<i>);
    EXPECT(rt.spawn(&t->task) == VOLT_OK);
    volt_task_detach(&t->task);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      EXPECT(volt_registry_close_(rt.registry()) == 0);
    } else {
      e[1].fire();
      e[0].fire();
    }
  }
  void check() override {
    EXPECT(left[0].gone(VOLT_OK) && left[1].gone(VOLT_OK) && rt.alive() == 0);
  }
};
MODEL(registry_two_end_x_shutdown, 2, bounded)

// R2: who waits gives up as it ends, and waits again.
struct registry_wait_deadline_x_end : registry_model {
  registry_wait_deadline_x_end() {
    spawn_late(0, leave_wake<0>);
  }
  void thread(unsigned index) override {
    if (index == 1) {
      e[0].fire();
      return;
    }
    int result = volt_registry_wait_(rt.registry(), 1);
    EXPECT(result == VOLT_OK || result == VOLT_ETIMEDOUT);
    if (result == VOLT_ETIMEDOUT) {
      EXPECT(volt_registry_wait_(rt.registry(), VOLT_NO_DEADLINE) == VOLT_OK);
    }
    rt.end();
  }
  void check() override {
    EXPECT(left[0].gone(VOLT_OK));
  }
};
MODEL(registry_wait_deadline_x_end, 2, bounded)

// R3: two threads wait for it, and the one that comes out last frees the runtime at once.
struct registry_end_x_two_wait : registry_model {
  VOLT_ATOMIC(uint32_t) waiting;
  registry_end_x_two_wait() {
    spawn_late(0, leave_wake<0>);
    volt_store_relaxed(&waiting, 2u);
  }
  virtual int wait(unsigned) {
    return volt_registry_wait_(rt.registry(), VOLT_NO_DEADLINE);
  }
  void thread(unsigned index) override {
    if (index == 2) {
      e[0].fire();
      return;
    }
    EXPECT(wait(index) == VOLT_OK);
    if (volt_fetch_sub_acq_rel(&waiting, 1u) == 1) rt.end();
  }
  void check() override {
    EXPECT(left[0].gone(VOLT_OK));
  }
};
MODEL(registry_end_x_two_wait, 3, bounded)

// R2, R3: one of them gives up meanwhile, and waits again.
struct registry_end_x_two_wait_deadline : registry_end_x_two_wait {
  int wait(unsigned index) override {
    int result = index == 1 ? volt_registry_wait_(rt.registry(), 1) : VOLT_ETIMEDOUT;
    return result == VOLT_OK ? result : registry_end_x_two_wait::wait(index);
  }
};
MODEL(registry_end_x_two_wait_deadline, 3, bounded)

// It ends on a worker.
struct registry_end_here_x_wait : registry_model {
  model_task *t = make(0, leave_wake<0>);
  registry_end_here_x_wait() {
    EXPECT(rt.spawn(&t->task) == VOLT_OK);
    volt_task_detach(&t->task);
    e[0].fire();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      rt.run(1);
    } else {
      EXPECT(volt_registry_wait_(rt.registry(), VOLT_NO_DEADLINE) == VOLT_OK);
    }
  }
  void check() override {
    EXPECT(left[0].gone(VOLT_OK));
  }
};
MODEL(registry_end_here_x_wait, 2, full)

// The lock: one at a time; leaving it is the last access, so the last user may free it.
template <unsigned users>
struct short_lock_model : model {
  struct shared {
    volt_short_lock lock;
    VOLT_PLAIN(uint32_t) to_come;
  } *s = new shared;
  VOLT_PLAIN(uint32_t) freed;
  short_lock_model() {
    volt_short_lock_init_(&s->lock);
    s->to_come = users;
  }
  void thread(unsigned) override {
    shared *mine = s;
    volt_short_lock_lock_(&mine->lock);
    mine->to_come -= 1;
    bool last = mine->to_come == 0;
    volt_short_lock_unlock_(&mine->lock);
    if (!last) return;
    freed += 1;
    mine->to_come = 0; // whoever still uses it is reported
    delete mine;
  }
  void check() override {
    EXPECT(freed == 1);
  }
};
struct short_lock_two : short_lock_model<2> {};
MODEL(short_lock_two, 2, full)
struct short_lock_three : short_lock_model<3> {};
MODEL(short_lock_three, 3, bounded)
