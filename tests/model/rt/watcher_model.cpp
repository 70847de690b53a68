// watcher_model: a worker sleeps and watches while another one polls, and what is left to it. idle.h R6, R7,
// I2; parking.c R9, R10, I3, I4, I6. What is not seen is a deadlock: of a task that waits, in the middle of
// its poll, for what only another worker can do.
// PROGRAM: rt
#include "model_driver.hpp"
#include "model_rt.hpp"

struct watcher_model : model {
  model_rt rt;
  model_task::trace left[3];
  VOLT_ATOMIC(uint32_t) to_come;
  volt_parker done; // what a poll waits for

  watcher_model(unsigned workers, uint32_t to_come_, unsigned sees_polls = 0) : rt(workers) {
    rt.workers_watch(sees_polls);
    volt_store_relaxed(&to_come, to_come_);
    for (unsigned i = 0; i < workers; i++) volt_store_relaxed(&rt->worker[i].patience, 3u);
  }
  void end_workers() {
    volt_exchange_seq_cst(&rt->is_over, 1u);
    volt_idle_fence_(&rt->idle);
    for (unsigned i = 0; i < rt->workers; i++) {
      if (volt_idle_claim_(&rt->idle, i)) volt_worker_unpark_(&rt->worker[i]);
    }
  }
  void one_less() {
    if (volt_fetch_sub_acq_rel(&to_come, 1u) == 1) end_workers();
  }
  void spawn(unsigned i, model_task::body_fn *body) {
    left[i].begun = true;
    model_task *t = model_task::make(rt.handle(), body, this, &left[i], true);
    EXPECT(volt_spawn(rt.handle(), &t->task) == VOLT_OK);
    volt_task_detach(&t->task);
  }
  static int count(void *m, model_task *, volt_ctx *) {
    static_cast<watcher_model *>(m)->one_less();
    return VOLT_OK;
  }
  static int say_done(void *m, model_task *, volt_ctx *) {
    watcher_model *self = static_cast<watcher_model *>(m);
    volt_unpark(&self->done);
    self->one_less();
    return VOLT_OK;
  }
  void await_done() {
    volt_park_until(&done, 1, VOLT_NO_DEADLINE);
  }
  void check() override {
    EXPECT(volt_load_relaxed(&to_come) == 0);
    for (auto &l : left) EXPECT(!l.begun || l.gone(VOLT_OK));
    rt.abandon();
  }
};

// I2: a poll queues a task, which is too little to wake a worker that watches, and goes on until that task has
// run.
struct watched_little : watcher_model {
  explicit watched_little(unsigned workers = 2, unsigned sees_polls = 0)
      : watcher_model(workers, 3, sees_polls) {
    spawn(0, queues_and_waits);
  }
  // The first goes to the slot, from where the second one moves it to the ring.
  static int queues_and_waits(void *m, model_task *, volt_ctx *) {
    watched_little *self = static_cast<watched_little *>(m);
    self->spawn(1, say_done);
    self->spawn(2, count);
    self->await_done();
    self->one_less();
    return VOLT_OK;
  }
  void thread(unsigned index) override {
    rt.work(index);
  }
};
MODEL(watched_little, 2, bounded)

// The watcher has come back once, and has seen that tasks are polled.
struct watched_little_again : watched_little {
  watched_little_again() : watched_little(2, 1) {
  }
};
MODEL(watched_little_again, 2, bounded)

// R7, R9: with a third worker, which may search, or sleep and not watch.
struct watched_little_of_three : watched_little {
  watched_little_of_three() : watched_little(3) {
  }
};
MODEL(watched_little_of_three, 3, bounded)

// R7: the watcher is claimed for a task that comes from outside, which waits in its poll for what was left to
// the watcher.
struct watched_claimed : watcher_model {
  explicit watched_claimed(unsigned workers = 2) : watcher_model(workers, 2) {
  }
  static int waits(void *m, model_task *, volt_ctx *) {
    watched_claimed *self = static_cast<watched_claimed *>(m);
    self->await_done();
    self->one_less();
    return VOLT_OK;
  }
  void thread(unsigned index) override {
    if (index < rt->workers) {
      rt.work(index);
      return;
    }
    spawn(0, waits);
    spawn(1, say_done);
  }
};
MODEL(watched_claimed, 3, bounded)

// I3: a timer is started in a poll that waits for it; the other worker sleeps, watches, or is about to.
struct watched_timer : watcher_model {
  volt_timer timer;
  explicit watched_timer(unsigned workers = 2, unsigned sees_polls = 0)
      : watcher_model(workers, 1, sees_polls) {
    spawn(0, starts_and_waits);
  }
  static void has_come(void *m) {
    volt_unpark(&static_cast<watched_timer *>(m)->done);
  }
  static int starts_and_waits(void *m, model_task *, volt_ctx *) {
    watched_timer *self = static_cast<watched_timer *>(m);
    volt_timer_start(volt_rt_timers(self->rt.handle()), &self->timer, 0,
                     volt_waker{has_come, self});
    self->await_done();
    self->one_less();
    return VOLT_OK;
  }
  void thread(unsigned index) override {
    rt.work(index);
  }
};
MODEL(watched_timer, 2, bounded)

// The watcher has come back once before.
struct watched_timer_again : watched_timer {
  watched_timer_again() : watched_timer(2, 1) {
  }
};
MODEL(watched_timer_again, 2, bounded)

// R8 to R10: with a third worker.
struct watched_timer_of_three : watched_timer {
  watched_timer_of_three() : watched_timer(3) {
  }
};
MODEL(watched_timer_of_three, 3, bounded)

// I4: something completes where the keeper alone would see it, while a poll waits for that.
struct watched_driver : watcher_model {
  model_driver driver;
  explicit watched_driver(unsigned workers = 2, unsigned sees_polls = 0)
      : watcher_model(workers, 1, sees_polls),
        driver(rt, model_driver::sleeps::keeper, has_completed, this) {
    spawn(0, waits);
  }
  static void has_completed(void *m) {
    volt_unpark(&static_cast<watched_driver *>(m)->done);
  }
  static int waits(void *m, model_task *, volt_ctx *) {
    watched_driver *self = static_cast<watched_driver *>(m);
    self->driver.complete(0);
    self->await_done();
    self->one_less();
    return VOLT_OK;
  }
  void thread(unsigned index) override {
    rt.work(index);
  }
};
MODEL(watched_driver, 2, bounded)

// The watcher has come back once before.
struct watched_driver_again : watched_driver {
  watched_driver_again() : watched_driver(2, 1) {
  }
};
MODEL(watched_driver_again, 2, bounded)

// R8 to R10: with a third worker.
struct watched_driver_of_three : watched_driver {
  watched_driver_of_three() : watched_driver(3) {
  }
};
MODEL(watched_driver_of_three, 3, bounded)

// I3, R3: it ends while one worker watches and another one does not.
struct watched_end : watcher_model {
  watched_end() : watcher_model(2, 1, 1) {
  }
  void thread(unsigned index) override {
    if (index < rt->workers) {
      rt.work(index);
    } else {
      spawn(0, count);
    }
  }
};
MODEL(watched_end, 3, bounded)

// A worker goes to sleep as another one goes to poll for long; no more than these steps of the two.
struct parks_x_polls : watcher_model {
  model_driver driver;
  explicit parks_x_polls(unsigned workers, model_driver::sleeps how = model_driver::sleeps::keeper)
      : watcher_model(workers, 1), driver(rt, how, has_completed, this) {
  }
  static void has_completed(void *m) {
    volt_unpark(&static_cast<parks_x_polls *>(m)->done);
  }
  void begins(volt_worker *w) {
    volt_worker_begin_here_(w);
    volt_worker_begin_driver_(w);
  }
  // It has found something, and waits in a poll for what another worker must see.
  void polls(volt_worker *w) {
    volt_worker_found_(w);
    driver.complete(0);
    await_done();
    one_less();
  }
  virtual void after_park(volt_worker *w) {
    volt_worker_check_driver_(w, 0);
  }
  void parks(volt_worker *w) {
    begins(w);
    while (!volt_rt_is_over_(rt.handle())) {
      volt_worker_park_(w);
      after_park(w);
    }
    volt_worker_end_here_();
  }
};

// R8: the other one was the keeper. This one has come back, and has seen that no task is polled.
struct parks_x_keeper_polls : parks_x_polls {
  parks_x_keeper_polls() : parks_x_polls(2) {
    volt_store_relaxed(&rt->keeper, 1u);
    volt_store_relaxed(&rt->idle.word, 2 * VOLT_IDLE_SEARCHING_);
    for (unsigned i = 0; i < 2; i++) rt->worker[i].is_searching = true;
    rt->worker[1].back = VOLT_BACK_TO_NONE_;
  }
  void thread(unsigned index) override {
    if (index == 1) {
      parks(&rt->worker[1]);
      return;
    }
    begins(&rt->worker[0]);
    volt_exchange_acq_rel(&rt->keeper, 0u); // as volt_worker_park_() ends
    polls(&rt->worker[0]);
    volt_worker_end_here_();
  }
};
MODEL(parks_x_keeper_polls, 2, bounded)

// R7: the other one was the keeper, as no timer was started. One is started in its poll, which waits for that.
struct parks_x_poll_starts_timer : parks_x_polls {
  volt_timer timer;
  parks_x_poll_starts_timer() : parks_x_polls(2, model_driver::sleeps::never) {
    driver.wants_no_keeper();
    volt_store_relaxed(&rt->keeper, 1u);
    volt_store_relaxed(&rt->idle.word, 2 * VOLT_IDLE_SEARCHING_);
    for (unsigned i = 0; i < 2; i++) rt->worker[i].is_searching = true;
    rt->worker[1].back = VOLT_BACK_TO_NONE_;
  }
  void start() {
    volt_timer_start(volt_rt_timers(rt.handle()), &timer, 0, volt_waker{has_completed, this});
  }
  void after_park(volt_worker *) override {
    volt_timers *timers = volt_rt_timers(rt.handle());
    if (volt_timers_earliest_ns(timers) == 0) volt_timers_expire(timers, 0);
  }
  virtual void is_polled() {
    start();
  }
  void thread(unsigned index) override {
    if (index == 1) {
      parks(&rt->worker[1]);
      return;
    }
    begins(&rt->worker[0]);
    volt_exchange_acq_rel(&rt->keeper, 0u); // as volt_worker_park_() ends
    volt_worker_found_(&rt->worker[0]);
    is_polled();
    await_done();
    one_less();
    volt_worker_end_here_();
  }
};
MODEL(parks_x_poll_starts_timer, 2, bounded)

// R7: the same by a thread that starts it at any moment.
struct parks_x_polls_x_starts_timer : parks_x_poll_starts_timer {
  void is_polled() override {
  }
  void thread(unsigned index) override {
    if (index == 2) {
      start();
    } else {
      parks_x_poll_starts_timer::thread(index);
    }
  }
};
MODEL(parks_x_polls_x_starts_timer, 3, bounded)

// R10: the other one is the watcher, and comes back. A third one is awake, and does nothing.
struct parks_x_watcher_polls : parks_x_polls {
  parks_x_watcher_polls() : parks_x_polls(3) {
    volt_store_relaxed(&rt->idle.word,
                       VOLT_IDLE_SEARCHING_ + (UINT64_C(1) << VOLT_IDLE_WATCHER_AT_) + 1);
    rt->worker[1].is_searching = true;
  }
  void thread(unsigned index) override {
    if (index == 1) {
      parks(&rt->worker[1]);
      return;
    }
    begins(&rt->worker[0]);
    EXPECT(volt_idle_claim_(&rt->idle, 0));
    rt->worker[0].is_searching = true;
    polls(&rt->worker[0]);
    volt_worker_end_here_();
  }
};
MODEL(parks_x_watcher_polls, 2, bounded)
