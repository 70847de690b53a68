// worker_model: workers that search, sleep, are woken and end; the whole runtime from the first task to
// volt_rt_destroy(). worker.c, parking.c I1-I3, R1-R3; runtime.c R1 to R3; idle.h I1, I2, R1-R4; inject.h.
// A wake that is lost is a deadlock: of a worker that sleeps, and of the thread that waits for its task.
// PROGRAM: rt BATCH 1 MUTANTS SUPPORT model_rt.cpp model_task.cpp model_driver.cpp
// PROGRAM: rt SOURCES worker.c home.c parking.c driver.c by_hand.c runtime.c registry.c task.c task_join.c group.c blocking.c async.c time.c
// PROGRAM: rt SOURCES timer.c bcs_lock.c bcs_job.c bcs_queue.c
// PROGRAM: rt SOURCES future.c permits.c fifo.c grant.c park.c fiber_futex.c
// PROGRAM: rt DEFINES rt small_sections -DVOLT_RT_SEARCH_ROUNDS=1
#include "model_rt.hpp"

#include "rt/inspect/inspect.h"

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
    volt_idle_fence_(&rt->idle);
    for (unsigned i = 0; i < rt->workers; i++) {
      if (volt_idle_claim_(&rt->idle, i)) volt_worker_unpark_(&rt->worker[i]);
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

// The same where workers watch; the only one does not come to it, because no other is awake.
struct worker_inject_x_unwatched : worker_inject_x_park {
  worker_inject_x_unwatched() {
    rt.workers_watch();
  }
};
MODEL(worker_inject_x_unwatched, 2, bounded)

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

// The same while they watch: parking.c R9.
struct worker_timer_x_watched : worker_timer_x_two_park {
  worker_timer_x_watched() {
    rt.workers_watch();
  }
};
MODEL(worker_timer_x_watched, 3, bounded)

// R7, R8: the keeper's time comes. The task that this wakes starts another timer, and waits for it in its poll:
// the other worker, which sleeps or is about to, keeps the time then.
struct worker_timer_in_poll : worker_model {
  event e;
  volt_timer timer[2];
  worker_timer_in_poll() : worker_model(2) {
    for (unsigned i = 0; i < 2; i++) rt->worker[i].until_check = 9;
    volt_worker_begin_here_(&rt->worker[0]);
    spawn_detached(0, starts_and_waits);
    volt_worker_run_ready_(&rt->worker[0], nullptr);
    volt_worker_end_here_();
    start(0, 5, fires);
  }
  void start(unsigned i, uint64_t deadline_ns, volt_wake_fn wake) {
    volt_timer_start(volt_rt_timers(rt.handle()), &timer[i], deadline_ns, volt_waker{wake, this});
  }
  static void fires(void *m) {
    static_cast<worker_timer_in_poll *>(m)->e.fire();
  }
  static void has_come(void *m) {
    volt_unpark(&static_cast<worker_timer_in_poll *>(m)->ran[0]);
  }
  static int starts_and_waits(void *m, model_task *, volt_ctx *ctx) {
    worker_timer_in_poll *self = static_cast<worker_timer_in_poll *>(m);
    if (!self->e.poll(ctx)) return VOLT_PENDING;
    self->start(1, 0, has_come);
    self->wait_for(0);
    self->end_workers();
    return VOLT_OK;
  }
  void thread(unsigned index) override {
    rt.work(index);
  }
};
MODEL(worker_timer_in_poll, 2, bounded)

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
    rt->worker[0].until_check = rt->worker[1].until_check = 9; // nobody looks at other queues first
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
    rt->worker[0].until_check = rt->worker[1].until_check = 9; // found by searching
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

// runtime.c R1: destroyed as another thread is in volt_rt_shutdown(), which has begun, and a task ends.
struct worker_shutdown_x_destroy : worker_model {
  worker_shutdown_x_destroy() : worker_model(0) {
    rt->registry[0].count = 1; // as if a task were live
  }
  bool has_begun() {
    volt_registry *registry = volt_registry_lock_(rt.handle(), 0);
    bool closed = registry->is_closed != 0;
    volt_registry_unlock_(registry);
    return closed;
  }
  void thread(unsigned index) override {
    if (index == 0) {
      EXPECT(volt_rt_shutdown(rt.handle(), VOLT_NO_DEADLINE) == VOLT_OK);
      return;
    }
    while (!has_begun()) volt_yield_();
    volt_registry_count_off_and_unlock_(volt_registry_lock_(rt.handle(), 0));
    rt.destroy();
  }
};
MODEL(worker_shutdown_x_destroy, 2, bounded)

// Given up by a thread that goes on: whoever ends it does so while that thread is on its way out.
struct worker_background_end : worker_model {
  explicit worker_background_end(unsigned workers = 0) : worker_model(workers) {
    model_threads_to_start(1);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      model_serve(0);
    } else {
      EXPECT(volt_rt_shutdown_background(rt.handle()) == VOLT_OK);
    }
  }
  void check() override {
    rt.is_gone();
    worker_model::check();
  }
};
MODEL(worker_background_end, 2, bounded)

// runtime.c R2: by a task of it.
struct worker_background_by_task : worker_background_end {
  worker_background_by_task() : worker_background_end(1) {
    spawn_detached(0, give_up);
  }
  static int give_up(void *m, model_task *, volt_ctx *) {
    EXPECT(volt_rt_shutdown_background(static_cast<worker_model *>(m)->rt.handle()) == VOLT_OK);
    return VOLT_OK;
  }
  void thread(unsigned index) override {
    if (index == 0) {
      rt.work(0);
    } else {
      model_serve(0);
    }
  }
};
MODEL(worker_background_by_task, 2, bounded)

// runtime.c R3: as it ends, a thread that has a descriptor starts a timer, closes the descriptor, and cancels
// the timer. Its end may find it used; else whoever still uses it is reported.
struct worker_background_x_timer : worker_background_end {
  struct opened : volt_driver_ {
    volt_driver_ops_ ops;
    VOLT_ATOMIC(uint32_t) count;
    bool is_gone = false;
  } driver;
  volt_timer timer;

  worker_background_x_timer() {
    memset(&driver.ops, 0, sizeof driver.ops);
    driver.ops.is_used = is_used;
    driver.ops.destroy = destroy;
    static_cast<volt_driver_ &>(driver).ops = &driver.ops;
    volt_store_relaxed(&driver.count, 1u);
    rt->driver = &driver;
    EXPECT(volt_rt_shutdown_background(rt.handle()) == VOLT_OK);
  }
  static bool is_used(volt_driver_ *d) {
    return volt_load_acquire(&static_cast<opened *>(d)->count) > 0;
  }
  static void destroy(volt_driver_ *d) {
    static_cast<opened *>(d)->is_gone = true;
  }
  void thread(unsigned index) override {
    if (index == 0) {
      model_serve(0);
    } else {
      volt_timers *timers = volt_rt_timers(rt.handle());
      volt_timer_start(timers, &timer, VOLT_NO_DEADLINE, volt_waker{nullptr, nullptr});
      volt_fetch_add_release(&driver.count, ~0u);
      EXPECT(volt_timer_cancel(timers, &timer));
    }
  }
  void check() override {
    if (driver.is_gone) {
      rt.is_gone();
    } else {
      rt.abandon();
    }
    worker_model::check();
  }
};
MODEL(worker_background_x_timer, 2, bounded)

// No thread for it: it is the caller's still.
struct worker_background_no_thread : worker_model {
  worker_background_no_thread() : worker_model(0) {
  }
  void thread(unsigned index) override {
    if (index == 0) return;
    EXPECT(volt_rt_shutdown_background(rt.handle()) == VOLT_ENOMEM);
    EXPECT(rt.destroy() == 0);
  }
};
MODEL(worker_background_no_thread, 2, full)

// task.c R9, R1: two tasks are woken as an inspector has claimed them. It queues them one after the other, as
// the worker parks; it may park in between.
struct worker_claim_x_park : worker_model {
  event e[2];
  explicit worker_claim_x_park(unsigned workers = 1) : worker_model(workers) {
    volt_store_relaxed(&to_come, 2u);
    for (unsigned i = 0; i < workers; i++) rt->worker[i].until_check = 9;
    volt_worker_begin_here_(&rt->worker[0]);
    spawn_detached(0, wait<0>);
    spawn_detached(1, wait<1>);
    volt_worker_run_ready_(&rt->worker[0], nullptr);
    volt_worker_end_here_();
  }
  template <unsigned i>
  static int wait(void *m, model_task *, volt_ctx *ctx) {
    worker_claim_x_park *self = static_cast<worker_claim_x_park *>(m);
    if (!self->e[i].poll(ctx)) return VOLT_PENDING;
    self->one_less();
    return VOLT_OK;
  }
  // Both are claimed.
  static bool see(void *m, const volt_seen_ *seen, unsigned count) {
    if (!seen) return true;
    EXPECT(count == 2 && seen[0].how == VOLT_SEEN_WAITS_ && seen[1].how == VOLT_SEEN_WAITS_);
    for (auto &e : static_cast<worker_claim_x_park *>(m)->e) e.fire();
    return true;
  }
  void thread(unsigned index) override {
    if (index < rt->workers) {
      rt.work(index);
    } else {
      EXPECT(volt_inspect_(rt.handle(), 2, see, this) == VOLT_OK);
    }
  }
};
MODEL(worker_claim_x_park, 2, bounded)

// With two workers that park.
struct worker_claim_x_two_park : worker_claim_x_park {
  worker_claim_x_two_park() : worker_claim_x_park(2) {
  }
};
MODEL(worker_claim_x_two_park, 3, bounded)

// The same while they watch.
struct worker_claim_x_watched : worker_claim_x_two_park {
  worker_claim_x_watched() {
    rt.workers_watch();
  }
};
MODEL(worker_claim_x_watched, 3, bounded)
