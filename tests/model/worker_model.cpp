// worker_model: workers that search, sleep, are woken and end; the whole runtime from the first task to
// volt_rt_destroy(). worker.c I1-I3, R1-R3; idle.h I1, I2, R1-R4; inject.h. A wake that is lost is a
// deadlock: of a worker that sleeps, and of who waits for its task.
#include "model_rt.hpp"

struct worker_model : model {
  model_rt rt;
  model_task::trace left[3];
  volt_parker ran[3]; // a task says so

  explicit worker_model(unsigned workers) : rt(workers) {
  }
  model_task *spawn(unsigned i, model_task::body_fn *body) {
    left[i].begun = true;
    model_task *t = model_task::make(rt.handle(), body, this, &left[i], true);
    EXPECT(volt_spawn(rt.handle(), &t->task) == VOLT_OK);
    return t;
  }
  void spawn_detached(unsigned i, model_task::body_fn *body) {
    volt_task_detach(&spawn(i, body)->task);
  }
  void wait_for(unsigned i) {
    volt_park_until(&ran[i], 1, VOLT_NO_DEADLINE);
  }
  // What volt_rt_destroy() does to the workers, by whoever has done the last: so that a search is over
  // sooner.
  void end_workers() {
    volt_exchange_seq_cst(&rt->is_over, 1u);
    volt_idle_look_(&rt->idle);
    for (unsigned i = 0; i < rt->workers; i++) {
      if (volt_idle_claim_(&rt->idle, i)) volt_unpark(&rt->worker[i].parker);
    }
  }
  static int end(void *m, model_task *, volt_ctx *) {
    static_cast<worker_model *>(m)->end_workers();
    return VOLT_OK;
  }
  static void time_has_come(void *m) {
    static_cast<worker_model *>(m)->end_workers();
  }
  // As many tasks as that end it together.
  VOLT_ATOMIC(uint32_t) to_come;
  void one_less() {
    if (volt_fetch_sub_acq_rel(&to_come, 1u) == 1) end_workers();
  }
  static int count(void *m, model_task *, volt_ctx *) {
    static_cast<worker_model *>(m)->one_less();
    return VOLT_OK;
  }
  void check() override {
    for (auto &l : left) EXPECT(!l.begun || l.gone(VOLT_OK));
    rt.abandon();
  }
  template <unsigned i>
  static int say(void *m, model_task *, volt_ctx *) {
    volt_unpark(&static_cast<worker_model *>(m)->ran[i]);
    return VOLT_OK;
  }
};

// R3: the runtime ends as the worker parks.
struct worker_end_x_park : worker_model {
  worker_end_x_park() : worker_model(1) {
  }
  void thread(unsigned index) override {
    if (index == 0) {
      rt.work(0);
    } else {
      EXPECT(rt.destroy() == 0);
    }
  }
};
MODEL(worker_end_x_park, 2, bounded)

// R1: a task is queued by another thread as the worker parks.
struct worker_inject_x_park : worker_model {
  worker_inject_x_park() : worker_model(1) {
  }
  void thread(unsigned index) override {
    if (index == 0) {
      rt.work(0);
    } else {
      spawn_detached(0, end);
    }
  }
};
MODEL(worker_inject_x_park, 2, bounded)

// The same, and then the runtime is destroyed: a life from the beginning to the end.
struct worker_life : worker_model {
  worker_life() : worker_model(1) {
  }
  void thread(unsigned index) override {
    if (index == 0) {
      rt.work(0);
      return;
    }
    spawn_detached(0, say<0>);
    wait_for(0);
    EXPECT(rt.destroy() <= 1); // it may not have returned yet
  }
};
MODEL(worker_life, 2, bounded)

// R2: a timer is started as the worker becomes keeper and parks.
struct worker_timer_x_park : worker_model {
  volt_timer timer;
  explicit worker_timer_x_park(unsigned workers = 1) : worker_model(workers) {
  }
  void thread(unsigned index) override {
    if (index < rt->workers) {
      rt.work(index);
      return;
    }
    volt_timer_start(volt_rt_timers(rt.handle()), &timer, 0, volt_waker{time_has_come, this});
  }
};
MODEL(worker_timer_x_park, 2, bounded)

// With two workers, one of which keeps the time.
struct worker_timer_x_two_park : worker_timer_x_park {
  worker_timer_x_two_park() : worker_timer_x_park(2) {
  }
};
MODEL(worker_timer_x_two_park, 3, bounded)

// R4 of idle.h, I3: a task is queued as the keeper's deadline comes.
struct worker_deadline_x_inject : worker_model {
  volt_timer timer;
  worker_deadline_x_inject() : worker_model(1) {
    volt_store_relaxed(&to_come, 2u);
    volt_timer_start(volt_rt_timers(rt.handle()), &timer, 5, volt_waker{deadline, this});
  }
  static void deadline(void *m) {
    static_cast<worker_model *>(m)->one_less();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      rt.work(0);
    } else {
      spawn_detached(0, count);
    }
  }
};
MODEL(worker_deadline_x_inject, 2, bounded)

// ring.h R3, idle.h R1: a worker queues a task for others, and its own task runs for long: the other
// worker, which parks, runs what was queued.
struct worker_push_x_park : worker_model {
  worker_push_x_park() : worker_model(2) {
    rt->worker[0].until_look = rt->worker[1].until_look = 9; // nobody looks at other queues first
    volt_store_relaxed(&to_come, 2u);
    spawn_detached(0, push);
  }
  static int push(void *m, model_task *, volt_ctx *) {
    worker_push_x_park *self = static_cast<worker_push_x_park *>(m);
    self->spawn_detached(1, say<1>);
    self->spawn_detached(2, count); // in the slot; the one before is in the ring
    self->wait_for(1);
    self->one_less();
    return VOLT_OK;
  }
  void thread(unsigned index) override {
    rt.work(index);
  }
};
MODEL(worker_push_x_park, 2, bounded)

// idle.h R2: two tasks are queued from outside; the first runs for long: the last that searched has
// woken another for the second.
struct worker_search_x_inject : worker_model {
  worker_search_x_inject() : worker_model(2) {
    rt->worker[0].until_look = rt->worker[1].until_look = 9; // found by searching
  }
  static int run_long(void *m, model_task *, volt_ctx *) {
    worker_search_x_inject *self = static_cast<worker_search_x_inject *>(m);
    self->wait_for(1);
    self->end_workers();
    return VOLT_OK;
  }
  void thread(unsigned index) override {
    if (index < 2) {
      rt.work(index);
      return;
    }
    spawn_detached(0, run_long);
    spawn_detached(1, say<1>);
  }
};
MODEL(worker_search_x_inject, 3, bounded)

// The same when the first is queued before anybody searches.
struct worker_found_x_inject : worker_search_x_inject {
  worker_found_x_inject() {
    spawn_detached(0, run_long);
  }
  void thread(unsigned index) override {
    if (index < 2) {
      rt.work(index);
    } else {
      spawn_detached(1, say<1>);
    }
  }
};
MODEL(worker_found_x_inject, 3, bounded)

// idle.h R1: a task is queued by another thread as both workers park.
struct worker_inject_x_two_park : worker_model {
  worker_inject_x_two_park() : worker_model(2) {
  }
  void thread(unsigned index) override {
    if (index < 2) {
      rt.work(index);
    } else {
      spawn_detached(0, end);
    }
  }
};
MODEL(worker_inject_x_two_park, 3, bounded)
