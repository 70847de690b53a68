// driver_model: a worker that sleeps in its driver, as work is queued, mail is left, an operation
// completes, a deadline comes, a timer is started, the runtime ends. parking.c R1 to R7, I3, I4; park.c R3;
// idle.h R1, R4; driver.h. A wake that is lost is a deadlock.
// PROGRAM: rt
#include "model_driver.hpp"

#include "model_rt.hpp"

using sleeps = model_driver::sleeps;

// It ends when all that was to come has come: an operation, mail, a task, a deadline.
struct driver_model : model {
  model_rt rt;
  model_driver driver;
  model_task::trace left[2];
  VOLT_ATOMIC(uint32_t) to_come;

  driver_model(unsigned workers, sleeps how, uint32_t to_come_ = 1)
      : rt(workers), driver(rt, how, has_completed, this) {
    volt_store_relaxed(&to_come, to_come_);
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
  static void has_completed(void *m) {
    static_cast<driver_model *>(m)->one_less();
  }
  static int count(void *m, model_task *, volt_ctx *) {
    static_cast<driver_model *>(m)->one_less();
    return VOLT_OK;
  }
  void spawn(unsigned i, model_task::body_fn *body = count) {
    left[i].begun = true;
    model_task *t = model_task::make(rt.handle(), body, this, &left[i], true);
    EXPECT(volt_spawn(rt.handle(), &t->task) == VOLT_OK);
    volt_task_detach(&t->task);
  }
  void check() override {
    EXPECT(volt_load_relaxed(&to_come) == 0);
    for (auto &l : left) EXPECT(!l.begun || l.gone(VOLT_OK));
    rt.abandon();
  }
};

// R3: the runtime ends as the worker goes to sleep in the driver; which is gone with it.
struct driven_x_end : driver_model {
  driven_x_end() : driver_model(1, sleeps::always, 0) {
  }
  void thread(unsigned index) override {
    if (index == 0) {
      rt.work(0);
      return;
    }
    EXPECT(rt.destroy() == 0);
    driver.expect_gone(1);
  }
};
MODEL(driven_x_end, 2, bounded)

// R1: a task is queued by another thread as the worker goes to sleep in the driver.
struct driven_x_inject : driver_model {
  driven_x_inject() : driver_model(1, sleeps::always) {
  }
  void thread(unsigned index) override {
    if (index == 0) {
      rt.work(0);
    } else {
      spawn(0);
    }
  }
};
MODEL(driven_x_inject, 2, bounded)

// R4: mail is left as the worker goes to sleep in the driver.
struct driven_x_mail : driver_model {
  explicit driven_x_mail(sleeps how = sleeps::always) : driver_model(1, how) {
  }
  void thread(unsigned index) override {
    if (index == 0) {
      rt.work(0);
    } else {
      driver.mail(0);
    }
  }
};
MODEL(driven_x_mail, 2, bounded)

// R4: the same on its parker.
struct parked_x_mail : driven_x_mail {
  parked_x_mail() : driven_x_mail(sleeps::never) {
  }
};
MODEL(parked_x_mail, 2, bounded)

// R5: an operation completes, which ends the sleep, as a task is queued; and later there is mail, for
// which the worker has to be awake, or to sleep as it says.
struct driven_x_completion_x_inject : driver_model {
  driven_x_completion_x_inject() : driver_model(1, sleeps::always, 3) {
  }
  void thread(unsigned index) override {
    switch (index) {
      case 0: rt.work(0); break;
      case 1: spawn(0); break;
      default: driver.complete(0); driver.mail(0);
    }
  }
};
MODEL(driven_x_completion_x_inject, 3, bounded)

// R5: the same, all by one thread: fewer interleavings, so what is lost is found sooner.
struct driven_x_completion_and_inject : driver_model {
  driven_x_completion_and_inject() : driver_model(1, sleeps::always, 3) {
  }
  void thread(unsigned index) override {
    if (index == 0) {
      rt.work(0);
      return;
    }
    driver.complete(0);
    spawn(0);
    one_less();
  }
};
MODEL(driven_x_completion_and_inject, 2, bounded)

// R5: the same as mail is left.
struct driven_x_completion_x_mail : driver_model {
  driven_x_completion_x_mail() : driver_model(1, sleeps::always, 2) {
  }
  void thread(unsigned index) override {
    switch (index) {
      case 0: rt.work(0); break;
      case 1: driver.mail(0); break;
      default: driver.complete(0);
    }
  }
};
MODEL(driven_x_completion_x_mail, 3, bounded)

// R5, idle.h R4: the deadline of the keeper, which sleeps in the driver, comes as a task is queued.
struct driven_x_deadline_x_inject : driver_model {
  volt_timer timer;
  driven_x_deadline_x_inject() : driver_model(1, sleeps::keeper, 2) {
    volt_timer_start(volt_rt_timers(rt.handle()), &timer, 5, volt_waker{has_completed, this});
  }
  void thread(unsigned index) override {
    if (index == 0) {
      rt.work(0);
    } else {
      spawn(0);
    }
  }
};
MODEL(driven_x_deadline_x_inject, 2, bounded)

// R2, I3: a timer is started as the keeper goes to sleep in the driver.
struct driven_x_timer : driver_model {
  volt_timer timer;
  explicit driven_x_timer(unsigned workers = 1) : driver_model(workers, sleeps::keeper) {
  }
  void thread(unsigned index) override {
    if (index < rt->workers) {
      rt.work(index);
      return;
    }
    volt_timer_start(volt_rt_timers(rt.handle()), &timer, 0, volt_waker{has_completed, this});
  }
};
MODEL(driven_x_timer, 2, bounded)

// With two workers: one sleeps in the driver and keeps the time, the other on its parker.
struct driven_x_timer_two : driven_x_timer {
  driven_x_timer_two() : driven_x_timer(2) {
  }
};
MODEL(driven_x_timer_two, 3, bounded)

// R9, R10: the same while workers watch.
struct driven_x_timer_watched : driven_x_timer_two {
  driven_x_timer_watched() {
    rt.workers_watch();
  }
};
MODEL(driven_x_timer_watched, 3, bounded)

// Mail for one of two workers, whichever of them sleeps where.
struct driven_x_mail_two : driver_model {
  driven_x_mail_two() : driver_model(2, sleeps::keeper) {
  }
  void thread(unsigned index) override {
    if (index < 2) {
      rt.work(index);
    } else {
      driver.mail(1);
    }
  }
};
MODEL(driven_x_mail_two, 3, bounded)

// The same while workers watch.
struct driven_x_mail_watched : driven_x_mail_two {
  driven_x_mail_watched() {
    rt.workers_watch();
  }
};
MODEL(driven_x_mail_watched, 3, bounded)

// I4: what the keeper alone would see has completed, and the worker that kept the time polls for long:
// the other one sees what completes meanwhile.
struct driven_keeper_polls : driver_model {
  event e;
  volt_parker seen;
  VOLT_ATOMIC(uint32_t) completions;
  driven_keeper_polls() : driver_model(2, sleeps::keeper, 1) {
    driver.on_completion(completes);
    spawn(0, polls_long);
  }
  static void completes(void *m) {
    driven_keeper_polls *self = static_cast<driven_keeper_polls *>(m);
    if (volt_fetch_add_acq_rel(&self->completions, 1u) == 0) {
      self->e.fire();
    } else {
      volt_unpark(&self->seen);
    }
  }
  static int polls_long(void *m, model_task *, volt_ctx *ctx) {
    driven_keeper_polls *self = static_cast<driven_keeper_polls *>(m);
    if (!self->e.poll(ctx)) return VOLT_PENDING;
    self->driver.complete(0);
    volt_park_until(&self->seen, 1, VOLT_NO_DEADLINE);
    self->one_less();
    return VOLT_OK;
  }
  void thread(unsigned index) override {
    if (index < 2) {
      rt.work(index);
    } else {
      driver.complete(0);
    }
  }
};
MODEL(driven_keeper_polls, 3, bounded)

// I4, R8, R9: the same while workers watch.
struct driven_keeper_polls_watched : driven_keeper_polls {
  driven_keeper_polls_watched() {
    rt.workers_watch();
  }
};
MODEL(driven_keeper_polls_watched, 3, bounded)

// R7: the same as the driver wants no keeper at first, and comes to want one at any moment.
struct driven_keeper_wanted : driven_keeper_polls {
  driven_keeper_wanted() {
    driver.wants_no_keeper();
  }
  void thread(unsigned index) override {
    driven_keeper_polls::thread(index);
    if (index == 2) driver.want_keeper();
  }
};
MODEL(driven_keeper_wanted, 3, bounded)

// The same while workers watch.
struct driven_keeper_wanted_watched : driven_keeper_wanted {
  driven_keeper_wanted_watched() {
    rt.workers_watch();
  }
};
MODEL(driven_keeper_wanted_watched, 3, bounded)

// by_hand.c R4: a thread that runs a runtime by hand sleeps in the driver until a task has ended, which
// waits for what completes there, or comes as mail.
struct hand_until_x_completion : model {
  model_rt rt;
  model_driver driver;
  event e;
  model_task::trace left;
  model_task *t;
  volt_future joined;
  explicit hand_until_x_completion(sleeps how = sleeps::always)
      : rt(1, 1, VOLT_RT_BY_HAND), driver(rt, how, completes, this) {
    t = model_task::make(rt.handle(), waits, this, &left, true);
    EXPECT(volt_spawn(rt.handle(), &t->task) == VOLT_OK);
    driver.begin_by_hand();
  }
  static void completes(void *m) {
    static_cast<hand_until_x_completion *>(m)->e.fire();
  }
  static int waits(void *m, model_task *, volt_ctx *ctx) {
    return static_cast<hand_until_x_completion *>(m)->e.poll(ctx) ? VOLT_OK : VOLT_PENDING;
  }
  void thread(unsigned index) override {
    if (index == 1) {
      happens();
      return;
    }
    volt_future_made(volt_task_join_future(&joined, &t->task));
    EXPECT(volt_rt_run_until(rt.handle(), &joined, VOLT_NO_DEADLINE) == VOLT_OK);
    volt_task_detach(&t->task);
  }
  virtual void happens() {
    driver.complete(0);
  }
  void check() override {
    EXPECT(left.gone(VOLT_OK));
    rt.abandon();
  }
};
MODEL(hand_until_x_completion, 2, bounded)

struct hand_until_x_mail : hand_until_x_completion {
  hand_until_x_mail() : hand_until_x_completion(sleeps::never) {
  }
  void happens() override {
    driver.mail(0);
  }
};
MODEL(hand_until_x_mail, 2, bounded)

// by_hand.c R4: mail is left as volt_rt_run() is about to return: it takes the mail, or its waker is
// called.
struct hand_run_x_mail : hand_until_x_mail {
  VOLT_ATOMIC(uint32_t) woken;
  hand_run_x_mail() {
    rt->config.waker = volt_waker{wake, this};
  }
  static void wake(void *m) {
    volt_fetch_add_relaxed(&static_cast<hand_run_x_mail *>(m)->woken, 1u);
  }
  void thread(unsigned index) override {
    if (index == 1) {
      happens();
    } else {
      EXPECT(volt_rt_run(rt.handle()) == VOLT_NO_DEADLINE);
    }
  }
  void check() override {
    if (volt_task_result(&t->task) == VOLT_PENDING) {
      EXPECT(volt_load_relaxed(&woken) == 1);
      EXPECT(volt_rt_run(rt.handle()) == VOLT_NO_DEADLINE);
    }
    volt_task_detach(&t->task);
    hand_until_x_mail::check();
  }
};
MODEL(hand_run_x_mail, 2, bounded)

// by_hand.c R5: another thread looks while volt_rt_run() begins, runs or returns. A task that the look
// has woken is run, or the loop's waker is called for it.
struct hand_run_x_check : hand_run_x_mail {
  bool looked = false;
  void happens() override {
    driver.complete(0);
    looked = volt_rt_check_by_hand_(rt.handle());
  }
  void check() override {
    bool pending = volt_task_result(&t->task) == VOLT_PENDING;
    if (pending && looked) EXPECT(volt_load_relaxed(&woken) == 1);
    if (pending) EXPECT(volt_rt_run(rt.handle()) == VOLT_NO_DEADLINE);
    volt_task_detach(&t->task);
    hand_until_x_mail::check();
  }
};
MODEL(hand_run_x_check, 2, bounded)

// R6: the worker goes on, and is gone, as soon as the unpark has been counted.
struct unpark_x_gone : model {
  volt_worker *w;
  volt_doorbell bell;
  VOLT_ATOMIC(uint32_t) rung;
  VOLT_PLAIN(int) message;
  unpark_x_gone() : w(new volt_worker) {
    model_doorbell(&bell, 0, &rung);
    w->doorbell = &bell;
    message = 0;
    volt_store_relaxed(&w->parker.word, 0u);
  }
  void thread(unsigned index) override {
    if (index == 1) {
      message = 1;
      volt_worker_unpark_(w);
      return;
    }
    if (volt_park_elsewhere_(&w->parker)) {
      volt_futex_wait32_(&rung, 0, 1); // rung, or it ends by itself
      if (!volt_park_was_elsewhere_(&w->parker)) {
        volt_park_spin_(VOLT_KIND_WORKER_, &w->parker, 1, VOLT_NO_DEADLINE, 0, 0);
      }
    }
    EXPECT(message == 1);
    w->doorbell = nullptr; // who still reads it is reported
    delete w;
  }
};
MODEL(unpark_x_gone, 2, full)

// The same, and nothing else ends the sleep.
struct unpark_x_driven : model {
  volt_worker w;
  volt_doorbell bell;
  VOLT_ATOMIC(uint32_t) rung;
  VOLT_PLAIN(int) message;
  unpark_x_driven() {
    model_doorbell(&bell, 0, &rung);
    w.doorbell = &bell;
    message = 0;
    volt_store_relaxed(&w.parker.word, 0u);
  }
  void thread(unsigned index) override {
    if (index == 1) {
      message = 1;
      volt_worker_unpark_(&w);
      return;
    }
    if (volt_park_elsewhere_(&w.parker)) {
      while (volt_load_relaxed(&rung) == 0) volt_futex_wait32_(&rung, 0, VOLT_NO_DEADLINE);
      EXPECT(volt_park_was_elsewhere_(&w.parker));
    }
    EXPECT(message == 1);
  }
};
MODEL(unpark_x_driven, 2, full)

// doorbell.h R2, I1: two threads take and give at once: none gets the other's.
struct doorbells_x_two : model {
  volt_doorbell_list list;
  volt_doorbell bells[3];
  doorbells_x_two() {
    volt_store_relaxed(&list.first, nullptr);
    for (unsigned i = 0; i < 3; i++) {
      bells[i].next = nullptr;
      bells[i].process = i == 1 ? 8 : 7; // one was made by a process before a fork
      volt_doorbells_put_(&list, &bells[i], &bells[i]);
    }
  }
  void thread(unsigned) override {
    for (unsigned round = 0; round < 2; round++) {
      volt_doorbell *bell = volt_doorbells_get_(&list, 7);
      if (!bell) continue; // the other has taken the list, and puts it back
      EXPECT(bell->process == 7);
      bell->next = nullptr; // its own: who still reads it is reported
      volt_doorbells_put_(&list, bell, bell);
    }
  }
  void check() override {
    EXPECT(volt_doorbells_get_(&list, 7) && volt_doorbells_get_(&list, 7));
    EXPECT(!volt_doorbells_get_(&list, 7) && volt_doorbells_get_(&list, 8));
    EXPECT(!volt_load_relaxed(&list.first));
  }
};
MODEL(doorbells_x_two, 2, bounded)
