// home_model: tasks that only one worker may poll, as they are woken there and elsewhere, go to another
// home, and end. home.h I1 to I3, R1 to R5; parking.c I1. A fiber is a task here whose polls go on to its
// next wait; its poll expects to be on its home (model_rt.cpp). A wake that is lost is a deadlock.
// PROGRAM: rt SOURCES inspect.c describe.c
#include "model_driver.hpp"
#include "model_rt.hpp"

#include "rt/inspect/inspect.h"

using sleeps = model_driver::sleeps;

struct home_model : model {
  model_rt rt;
  event e;
  model_task::trace left[3];
  VOLT_ATOMIC(uint32_t) to_come; // it ends when all that was to come has come
  volt_parker waits[3];          // a task has registered with the event

  explicit home_model(unsigned workers, unsigned flags = 0) : rt(workers, 1, flags) {
    for (unsigned i = 0; i < workers; i++)
      rt->worker[i].until_check = 9; // it looks when it has no task
    volt_store_relaxed(&to_come, 1u);
  }
  void begin(unsigned i, model_task *t) {
    EXPECT(volt_spawn(rt.handle(), &t->task) == VOLT_OK);
    left[i].begun = true;
    volt_task_detach(&t->task);
  }
  void spawn(unsigned i, model_task::body_fn *body) {
    begin(i, model_task::make(rt.handle(), body, this, &left[i], true));
  }
  void spawn_fiber(unsigned i, model_task::body_fn *body) {
    begin(i, model_task::make_fiber(rt.handle(), body, this, &left[i]));
  }
  void end_workers() {
    volt_exchange_seq_cst(&rt->is_over, 1u);
    volt_idle_fence_(&rt->idle);
    for (unsigned i = 0; i < rt->workers; i++) {
      if (volt_idle_claim_(&rt->idle, i)) volt_worker_unpark_(&rt->worker[i]);
    }
  }
  int one_less() {
    if (volt_fetch_sub_acq_rel(&to_come, 1u) == 1) end_workers();
    return VOLT_OK;
  }
  static home_model *of(void *m) {
    return static_cast<home_model *>(m);
  }
  // Waits for the event.
  static int wait(void *m, model_task *, volt_ctx *ctx) {
    return of(m)->e.poll(ctx) ? of(m)->one_less() : static_cast<int>(VOLT_PENDING);
  }
  // The same, and says that it does.
  static int wait_and_say(void *m, model_task *self, volt_ctx *ctx) {
    bool happened = of(m)->e.poll(ctx);
    if (self->polls == 1) volt_unpark(&of(m)->waits[0]);
    return happened ? of(m)->one_less() : static_cast<int>(VOLT_PENDING);
  }
  static int fire(void *m, model_task *, volt_ctx *) {
    of(m)->e.fire();
    return of(m)->one_less();
  }
  static int count(void *m, model_task *, volt_ctx *) {
    return of(m)->one_less();
  }
  static int yield_once(void *m, model_task *self, volt_ctx *ctx) {
    if (self->polls > 1) return of(m)->one_less();
    ctx->yield = true;
    return VOLT_PENDING;
  }
  void check() override {
    for (auto &l : left) EXPECT(!l.begun || l.gone(VOLT_OK));
    rt.abandon();
  }
};

// ---- woken from outside ----

// R1: a fiber is woken by another thread as its worker parks.
struct home_wake_x_park : home_model {
  home_wake_x_park() : home_model(1) {
    spawn_fiber(0, wait);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      rt.work(0);
    } else {
      e.fire();
    }
  }
};
MODEL(home_wake_x_park, 2, bounded)

// The same of two workers: it is the fiber's home that must wake, whoever else sleeps or searches.
struct home_wake_x_two_park : home_model {
  home_wake_x_two_park() : home_model(2) {
    spawn_fiber(0, wait);
  }
  void thread(unsigned index) override {
    if (index < 2) {
      rt.work(index);
    } else {
      e.fire();
    }
  }
};
MODEL(home_wake_x_two_park, 3, bounded)

// R1: it is woken twice, and its worker sleeps in between.
struct home_wakes_x_park : home_model {
  event second;
  home_wakes_x_park() : home_model(1) {
    spawn_fiber(0, wait_twice);
  }
  static int wait_twice(void *m, model_task *, volt_ctx *ctx) {
    home_wakes_x_park *self = static_cast<home_wakes_x_park *>(m);
    if (!self->e.poll(ctx) || !self->second.poll(ctx)) return VOLT_PENDING;
    return self->one_less();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      rt.work(0);
      return;
    }
    e.fire();
    second.fire();
  }
};
MODEL(home_wakes_x_park, 2, bounded)

// R2: two fibers of one worker are woken by two threads.
struct home_two_wakes_x_park : home_model {
  event other;
  home_two_wakes_x_park() : home_model(1) {
    volt_store_relaxed(&to_come, 2u);
    spawn_fiber(0, wait);
    spawn_fiber(1, wait_for_other);
  }
  static int wait_for_other(void *m, model_task *, volt_ctx *ctx) {
    home_two_wakes_x_park *self = static_cast<home_two_wakes_x_park *>(m);
    return self->other.poll(ctx) ? self->one_less() : static_cast<int>(VOLT_PENDING);
  }
  void thread(unsigned index) override {
    switch (index) {
      case 0: rt.work(0); break;
      case 1: e.fire(); break;
      default: other.fire();
    }
  }
};
MODEL(home_two_wakes_x_park, 3, bounded)

// task.c R9: it is woken as an inspector has claimed it, which then queues it at its home.
struct home_claim_x_wake : home_model {
  home_claim_x_wake() : home_model(1) {
    spawn_fiber(0, wait_and_say_twice);
  }
  static int wait_and_say_twice(void *m, model_task *self, volt_ctx *ctx) {
    if (self->polls == 1) volt_unpark(&of(m)->waits[1]);
    return wait_and_say(m, self, ctx);
  }
  static bool see(void *, const volt_seen_ *, unsigned) {
    return true;
  }
  void thread(unsigned index) override {
    switch (index) {
      case 0: rt.work(0); break;
      case 1:
        volt_park_until(&waits[0], 1, VOLT_NO_DEADLINE);
        e.fire();
        break;
      default:
        volt_park_until(&waits[1], 1, VOLT_NO_DEADLINE);
        EXPECT(volt_inspect_(rt.handle(), 1, see, nullptr) == VOLT_OK);
    }
  }
};
MODEL(home_claim_x_wake, 3, bounded)

// R3: the fiber runs and ends, and the runtime is destroyed, while the thread that has woken it still
// looks for the worker.
struct home_wake_x_shutdown : home_model {
  home_wake_x_shutdown() : home_model(1) {
    spawn_fiber(0, wait_or_obey);
  }
  static int wait_or_obey(void *m, model_task *, volt_ctx *ctx) {
    if (of(m)->e.poll(ctx)) return VOLT_OK;
    if (ctx->cancel == VOLT_CTX_GO_ON) return VOLT_PENDING;
    ctx->cancel = VOLT_CTX_GO_ON;
    return of(m)->e.drop(ctx) ? static_cast<int>(VOLT_ECANCELED) : static_cast<int>(VOLT_PENDING);
  }
  void thread(unsigned index) override {
    switch (index) {
      case 0: rt.work(0); break;
      case 1: e.fire(); break;
      default: rt.destroy();
    }
  }
  void check() override {
    EXPECT(left[0].freed == 1);
    rt.is_gone();
  }
};
MODEL(home_wake_x_shutdown, 3, bounded)

// parking.c R1, R5: its worker goes to sleep in its driver.
struct home_wake_x_driver_sleep : home_model {
  model_driver driver;
  home_wake_x_driver_sleep() : home_model(1), driver(rt, sleeps::always, nullptr, nullptr) {
    spawn_fiber(0, wait);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      rt.work(0);
    } else {
      e.fire();
    }
  }
};
MODEL(home_wake_x_driver_sleep, 2, bounded)

// ---- woken by a worker ----

// Another worker wakes it: its registration is settled before it is queued.
struct home_wake_by_worker : home_model {
  home_wake_by_worker() : home_model(2) {
    spawn_fiber(0, wait);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      rt.work(0);
      return;
    }
    volt_worker_begin_here_(&rt->worker[1]);
    e.fire();
    EXPECT(!volt_worker_has_tasks_(&rt->worker[1]));
  }
};
MODEL(home_wake_by_worker, 2, bounded)

// A task of another worker, or of its own, wakes it.
struct home_wake_x_run : home_model {
  home_wake_x_run() : home_model(2) {
    volt_store_relaxed(&to_come, 2u);
    spawn_fiber(0, wait);
    spawn(1, fire);
  }
  void thread(unsigned index) override {
    rt.work(index);
  }
};
MODEL(home_wake_x_run, 2, bounded)

// It is displaced from the slot: no worker steals it.
struct home_displaced_x_steal : home_model {
  home_displaced_x_steal() : home_model(2) {
    volt_store_relaxed(&to_come, 3u);
    spawn_fiber(0, begin_here);
  }
  static int begin_here(void *m, model_task *self, volt_ctx *ctx) {
    if (self->polls == 1) of(m)->spawn(1, wake_and_displace); // on this worker, from the slot
    return wait(m, self, ctx);
  }
  static int wake_and_displace(void *m, model_task *, volt_ctx *) {
    of(m)->e.fire();
    of(m)->spawn(2, count);
    return of(m)->one_less();
  }
  void thread(unsigned index) override {
    rt.work(index);
  }
};
MODEL(home_displaced_x_steal, 2, bounded)

// It yields: no worker steals it.
struct home_yield_x_steal : home_model {
  home_yield_x_steal() : home_model(2) {
    volt_store_relaxed(&to_come, 2u);
    spawn_fiber(0, yield_once);
    spawn(1, yield_once);
  }
  void thread(unsigned index) override {
    rt.work(index);
  }
};
MODEL(home_yield_x_steal, 2, bounded)

// R5: it is stolen before its first poll, and has its home there. The worker that has spawned it has
// polled no such task, and wakes it.
struct spawn_stolen_before_first_poll : home_model {
  spawn_stolen_before_first_poll() : home_model(2) {
    volt_store_relaxed(&to_come, 3u);
    spawn(1, spawn_and_wake);
  }
  static int spawn_and_wake(void *m, model_task *, volt_ctx *) {
    of(m)->spawn_fiber(0, wait_and_say);
    of(m)->spawn(2, count); // in the slot; the one before is in the ring
    volt_park_until(&of(m)->waits[0], 1, VOLT_NO_DEADLINE);
    of(m)->e.fire();
    return of(m)->one_less();
  }
  void thread(unsigned index) override {
    rt.work(index);
  }
};
MODEL(spawn_stolen_before_first_poll, 2, bounded)

// R5: two tasks get a home at the same time, and a third worker wakes the second: it goes to its home.
struct home_second_x_wake : home_model {
  volt_homed_ f[2];
  VOLT_ATOMIC(uint32_t) registered;
  home_second_x_wake() : home_model(3) {
    for (auto &each : f) {
      volt_task_init(&each.task, volt_fiber_poll_);
      each.task.rt = rt.handle();
      each.home = 0;
    }
  }
  void thread(unsigned index) override {
    volt_worker_begin_here_(&rt->worker[index]);
    if (index < 2) {
      volt_homed_settle_(&f[index]);
      if (index == 1) volt_store_release(&registered, 1u);
    } else if (volt_load_acquire(&registered)) {
      volt_rt_schedule_next_(volt_thread_here_(), &f[1].task);
      EXPECT(!rt->worker[2].lifo);
    }
  }
  void check() override {
    for (unsigned i = 0; i < 2; i++) EXPECT(f[i].home == 1 + i);
    home_model::check();
  }
};
MODEL(home_second_x_wake, 3, bounded)

// The tasks that two threads push are taken in the order in which each has pushed them.
struct home_pushes_in_order : model {
  volt_home h;
  struct item : volt_homed_ {
    unsigned pusher, number;
    VOLT_PLAIN(uint32_t) written;
  } items[3];
  unsigned last[2] = {0, 0};
  unsigned taken = 0;
  home_pushes_in_order() {
    volt_home_init_(&h);
    for (unsigned i = 0; i < 3; i++) {
      items[i].pusher = i / 2;
      items[i].number = 1 + i % 2;
    }
  }
  void take_all() {
    volt_home_receive_(&h, 0);
    while (h.first) {
      item *i = static_cast<item *>(volt_homed_of_(volt_home_pop_(&h)));
      EXPECT(i->written == 1);
      EXPECT(i->number == last[i->pusher] + 1);
      last[i->pusher] = i->number;
      taken += 1;
    }
  }
  void thread(unsigned index) override {
    if (index == 2) {
      take_all();
      take_all();
      return;
    }
    for (auto &i : items) {
      if (i.pusher != index) continue;
      i.written = 1;
      volt_home_send_(&h, &i);
    }
  }
  void check() override {
    take_all();
    EXPECT(taken == 3 && volt_home_count_(&h) == 0 && !volt_home_was_sent_any_(&h));
  }
};
MODEL(home_pushes_in_order, 3, bounded)

// ---- another home ----

// R4: it goes to the other worker while it is woken.
struct rehome_x_wake : home_model {
  rehome_x_wake() : home_model(2) {
    spawn_fiber(0, wait_elsewhere);
  }
  static int wait_elsewhere(void *m, model_task *self, volt_ctx *ctx) {
    if (of(m)->e.poll(ctx)) return of(m)->one_less();
    volt_homed_wander_(&self->homed);
    return VOLT_PENDING;
  }
  void thread(unsigned index) override {
    if (index < 2) {
      rt.work(index);
    } else {
      e.fire();
    }
  }
};
MODEL(rehome_x_wake, 3, bounded)

// It yields as it goes: the worker that puts it down queues it there.
struct rehome_x_park : home_model {
  rehome_x_park() : home_model(2) {
    spawn_fiber(0, go_elsewhere);
  }
  static int go_elsewhere(void *m, model_task *self, volt_ctx *ctx) {
    if (self->polls == 1) volt_homed_wander_(&self->homed);
    return yield_once(m, self, ctx);
  }
  void thread(unsigned index) override {
    rt.work(index);
  }
};
MODEL(rehome_x_park, 2, bounded)

// ---- by hand ----

// It is woken by another thread as volt_rt_run() is about to return: it is run, or the loop's waker is
// called.
struct home_wake_x_hand_run : home_model {
  VOLT_ATOMIC(uint32_t) woken;
  home_wake_x_hand_run() : home_model(1, VOLT_RT_BY_HAND) {
    rt->config.waker = volt_waker{wake, this};
    volt_store_relaxed(&woken, 0u);
    volt_store_relaxed(&to_come, 2u); // no worker to end
    spawn_fiber(0, wait);
    EXPECT(volt_load_relaxed(&woken) == 1);
    EXPECT(volt_rt_run(rt.handle()) == VOLT_NO_DEADLINE); // it waits
  }
  static void wake(void *m) {
    volt_fetch_add_relaxed(&static_cast<home_wake_x_hand_run *>(m)->woken, 1u);
  }
  void thread(unsigned index) override {
    if (index == 1) {
      e.fire();
    } else {
      EXPECT(volt_rt_run(rt.handle()) == VOLT_NO_DEADLINE);
    }
  }
  void check() override {
    if (!left[0].gone(VOLT_OK)) {
      EXPECT(volt_load_relaxed(&woken) == 2);
      EXPECT(volt_rt_run(rt.handle()) == VOLT_NO_DEADLINE);
    }
    home_model::check();
  }
};
MODEL(home_wake_x_hand_run, 2, bounded)

// The same as a thread in volt_rt_run_until() goes to sleep.
struct home_wake_x_hand_until : home_model {
  model_task *t;
  volt_future joined;
  home_wake_x_hand_until() : home_model(1, VOLT_RT_BY_HAND) {
    volt_store_relaxed(&to_come, 2u);
    t = model_task::make_fiber(rt.handle(), wait, this, &left[0]);
    left[0].begun = true;
    EXPECT(volt_spawn(rt.handle(), &t->task) == VOLT_OK);
  }
  void thread(unsigned index) override {
    if (index == 1) {
      e.fire();
      return;
    }
    volt_future_made(volt_task_join_future(&joined, &t->task));
    EXPECT(volt_rt_run_until(rt.handle(), &joined, VOLT_NO_DEADLINE) == VOLT_OK);
    volt_task_detach(&t->task);
  }
};
MODEL(home_wake_x_hand_until, 2, bounded)

// R3: the same; then it ends, and the runtime is destroyed, while the thread that has woken it still looks
// for the worker.
struct home_wake_x_hand_destroy : home_wake_x_hand_until {
  void thread(unsigned index) override {
    home_wake_x_hand_until::thread(index);
    if (index == 0) EXPECT(rt.destroy() == 0);
  }
};
MODEL(home_wake_x_hand_destroy, 2, bounded)
