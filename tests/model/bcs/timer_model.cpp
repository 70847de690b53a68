// timer_model: timers in a heap that is touched in batched critical sections. timer.c I1-I3, R1-R6.
// PROGRAM: bcs
// PROGRAM: bcs_long
#include "bcs/timer_end.h"
#include "model.hpp"

struct timer_model : model {
  volt_timers timers;

  explicit timer_model(volt_waker driver = volt_waker{nullptr, nullptr}) {
    volt_timers_init(&timers, driver);
  }
  // At quiescence: nobody is left, and the end of time finds nothing.
  void expect_empty() {
    EXPECT(volt_timers_expire(&timers, VOLT_NO_DEADLINE) == 0);
    EXPECT(volt_timers_earliest_ns(&timers) == VOLT_NO_DEADLINE && timers.late == 0);
    volt_timers_destroy(&timers);
  }
};

static void poison(volt_timer *t) {
  poison(&t->waiter);
  t->waiter.data = nullptr;
  t->deadline_ns = 0;
  t->section.job.fn = nullptr;
  t->section.job.wake = nullptr;
}

// One starts, one expires: the waker comes once, in the end.
struct timer_start_x_expire : timer_model {
  volt_timer t;
  wake_count woken;
  void thread(unsigned index) override {
    if (index == 0) {
      volt_timer_start(&timers, &t, 5, woken.waker());
    } else {
      volt_timers_expire(&timers, 10);
    }
  }
  void check() override {
    bool early = volt_timer_result(&t) == VOLT_OK;
    EXPECT(woken.seen() == (early ? 1u : 0u));
    EXPECT(volt_timers_expire(&timers, 5) == (early ? 0u : 1u));
    EXPECT(woken.seen() == 1);
    expect_empty();
  }
};
MODEL(timer_start_x_expire, 2, bounded)

// R1: cancelled, and no wake comes; or expired, and one does. The memory is ours at once.
struct timer_cancel_x_expire : timer_model {
  volt_timer t;
  wake_count woken;
  bool cancelled = false;
  timer_cancel_x_expire() {
    volt_timer_start(&timers, &t, 5, woken.waker());
  }
  void thread(unsigned index) override {
    if (index == 0) {
      cancelled = volt_timer_cancel(&timers, &t);
      poison(&t);
    } else {
      volt_timers_expire(&timers, 10);
    }
  }
  void check() override {
    EXPECT(woken.seen() == (cancelled ? 0u : 1u));
    expect_empty();
  }
};
MODEL(timer_cancel_x_expire, 2, bounded)

// R1: the waker is replaced, and the new one is called; or it has expired, and the old one is. What
// has expired is ours at once.
struct timer_set_waker_x_expire : timer_model {
  volt_timer t;
  wake_count before, after;
  bool replaced = false;
  timer_set_waker_x_expire() {
    volt_timer_start(&timers, &t, 5, before.waker());
  }
  void thread(unsigned index) override {
    if (index == 0) {
      replaced = volt_timer_set_waker(&timers, &t, after.waker());
      if (!replaced) poison(&t);
    } else {
      volt_timers_expire(&timers, 10);
    }
  }
  void check() override {
    EXPECT(before.seen() == (replaced ? 0u : 1u) && after.seen() == (replaced ? 1u : 0u));
    EXPECT(volt_timer_result(&t) == VOLT_OK);
    expect_empty();
  }
};
MODEL(timer_set_waker_x_expire, 2, bounded)

// I1: insert x cancel x expire, with a second timer in the heap that stays in order.
struct timer_start_x_cancel_x_expire : timer_model {
  volt_timer t[2];
  wake_count woken[2];
  bool cancelled = false;
  void thread(unsigned index) override {
    if (index == 0) {
      volt_timer_start(&timers, &t[0], 5, woken[0].waker());
      cancelled = volt_timer_cancel(&timers, &t[0]);
      poison(&t[0]);
    } else if (index == 1) {
      volt_timer_start(&timers, &t[1], 20, woken[1].waker());
    } else {
      volt_timers_expire(&timers, 10);
    }
  }
  void check() override {
    EXPECT(woken[0].seen() == (cancelled ? 0u : 1u) && woken[1].seen() == 0);
    EXPECT(volt_timers_earliest_ns(&timers) == 20);
    EXPECT(volt_timers_expire(&timers, 20) == 1 && woken[1].seen() == 1);
    expect_empty();
  }
};
MODEL(timer_start_x_cancel_x_expire, 3, bounded)

// R2: the waker frees the timer while its start may still be on the way out.
struct timer_waker_frees : timer_model {
  VOLT_ATOMIC(uint32_t) freed;
  struct own {
    volt_timer t;
    timer_waker_frees *model;
  };
  static void wake(void *ctx) {
    own *o = static_cast<own *>(ctx);
    volt_fetch_add_relaxed(&o->model->freed, 1);
    poison(&o->t); // whoever still reads it is reported
    delete o;
  }
  void thread(unsigned index) override {
    if (index == 0) {
      own *o = new own;
      o->model = this;
      volt_timer_start(&timers, &o->t, 5, volt_waker{wake, o});
    } else {
      volt_timers_expire(&timers, 10);
    }
  }
  void check() override {
    volt_timers_expire(&timers, 10);
    EXPECT(volt_load_relaxed(&freed) == 1);
    expect_empty();
  }
};
MODEL(timer_waker_frees, 2, bounded)

// R4: one starts, the other expires and, being the last, destroys and frees, driver or not.
struct timer_last_frees : model {
  volt_timers *timers = new volt_timers;
  volt_timer t;
  wake_count driven;
  bool freed = false;
  timer_last_frees() {
    volt_timers_init(timers, driven.waker());
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_timer_start(timers, &t, 5, volt_waker{nullptr, nullptr});
    } else if (volt_timers_expire(timers, 10) == 1) {
      volt_timers_destroy(timers);
      timers->driver_wake = nullptr; // whoever still reads it is reported
      freed = true;
      delete timers;
    }
  }
  void check() override {
    EXPECT(driven.seen() == 1);
    if (freed) return;
    EXPECT(volt_timers_expire(timers, 10) == 1);
    volt_timers_destroy(timers);
    delete timers;
  }
};
MODEL(timer_last_frees, 2, bounded)

// R4: cancelled, and destroyed, while the section that tells the driver is still queued. Thread 0
// stands for another user of the queue who is done with it.
struct timer_cancelled_destroyed : model {
  volt_timers *timers = new volt_timers;
  volt_timer t;
  wake_count driven;
  VOLT_ATOMIC(uint32_t) ran;
  bool freed = false;
  timer_cancelled_destroyed() {
    volt_timers_init(timers, driven.waker());
  }
  static void note(void *arg) {
    volt_store_release(&static_cast<timer_cancelled_destroyed *>(arg)->ran, 1u);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_bcs_node node;
      volt_bcs_lock_run(&timers->lock, &node, note, this);
      return;
    }
    if (volt_load_acquire(&ran) == 0) return;
    volt_timer_start(timers, &t, 1, volt_waker{nullptr, nullptr});
    EXPECT(volt_timer_cancel(timers, &t));
    volt_timers_destroy(timers);
    freed = true;
    delete timers;
  }
  void check() override {
    if (!freed) delete timers;
  }
};
MODEL(timer_cancelled_destroyed, 2, bounded)

// R4 to R6: the queue is freed by a thread that finds no timer, as the end of a runtime that was given up,
// and with it what the driver is of. Who still uses either is reported.
struct timer_end_model : model {
  volt_timers *timers = new volt_timers;
  VOLT_PLAIN(uint32_t) driven;
  bool freed = false;
  timer_end_model() {
    volt_timers_init(timers, volt_waker{drive, this});
  }
  static void drive(void *ctx) {
    EXPECT(static_cast<timer_end_model *>(ctx)->driven == 0);
  }
  void end() {
    if (freed || volt_timers_are_used_(timers)) return;
    driven = 1;
    volt_timers_destroy(timers);
    timers->driver_wake = nullptr;
    timers->started = 0xdead;
    timers->late = 0xdead;
    timers->lock.next = nullptr;
    freed = true;
    delete timers;
  }
  void check() override {
    end();
    EXPECT(freed);
  }
};

// R5: the last timer is cancelled.
struct timer_cancel_x_end : timer_end_model {
  volt_timer t;
  timer_cancel_x_end() {
    volt_timer_start(timers, &t, 5, volt_waker{nullptr, nullptr});
  }
  void thread(unsigned index) override {
    if (index == 0) {
      EXPECT(volt_timer_cancel(timers, &t));
      poison(&t);
    } else {
      end();
    }
  }
};
MODEL(timer_cancel_x_end, 2, bounded)

// R5: of the last two, one for ever, another thread may run the section that cancels the one.
struct timer_cancel_two_x_end : timer_end_model {
  volt_timer t[2];
  timer_cancel_two_x_end() {
    volt_timer_start(timers, &t[0], 5, volt_waker{nullptr, nullptr});
    volt_timer_start(timers, &t[1], VOLT_NO_DEADLINE, volt_waker{nullptr, nullptr});
  }
  void thread(unsigned index) override {
    if (index < 2) {
      EXPECT(volt_timer_cancel(timers, &t[index]));
      poison(&t[index]);
    } else {
      end();
    }
  }
};
MODEL(timer_cancel_two_x_end, 3, bounded)

// R6: it expires as it is cancelled, or is given another waker.
template <bool cancels>
struct timer_expired_x_end : timer_end_model {
  volt_timer t;
  wake_count woken, after;
  bool was_first = false;
  timer_expired_x_end() {
    volt_timer_start(timers, &t, 5, woken.waker());
  }
  void thread(unsigned index) override {
    if (index == 0) {
      was_first =
          cancels ? volt_timer_cancel(timers, &t) : volt_timer_set_waker(timers, &t, after.waker());
      if (cancels || !was_first) poison(&t);
    } else {
      volt_timers_expire(timers, 10);
      end();
    }
  }
  void check() override {
    EXPECT(woken.seen() == (was_first ? 0u : 1u));
    EXPECT(after.seen() == (cancels || !was_first ? 0u : 1u));
    timer_end_model::check();
  }
};
struct timer_expired_cancel_x_end : timer_expired_x_end<true> {};
struct timer_expired_set_waker_x_end : timer_expired_x_end<false> {};
MODEL(timer_expired_cancel_x_end, 2, bounded)
MODEL(timer_expired_set_waker_x_end, 2, bounded)

// R4: a thread that cancels its own timer calls the driver for the timer of another.
struct timer_driven_x_end : timer_end_model {
  volt_timer t[2];
  timer_driven_x_end() {
    volt_timer_start(timers, &t[0], 9, volt_waker{nullptr, nullptr});
  }
  void thread(unsigned index) override {
    if (index == 1) volt_timer_start(timers, &t[1], 5, volt_waker{nullptr, nullptr});
    EXPECT(volt_timer_cancel(timers, &t[index]));
    poison(&t[index]);
    if (index == 1) end();
  }
};
MODEL(timer_driven_x_end, 2, bounded)

// R3: the driver's last look finds the earliest of all.
template <unsigned count>
struct timer_driver_model : timer_model {
  volt_timer t[count];
  VOLT_ATOMIC(uint32_t) calls;
  VOLT_ATOMIC(uint64_t) looked;

  timer_driver_model() : timer_model(volt_waker{look, this}) {
  }
  static void look(void *ctx) {
    timer_driver_model *self = static_cast<timer_driver_model *>(ctx);
    volt_fetch_add_relaxed(&self->calls, 1);
    uint64_t now = volt_timers_earliest_ns(&self->timers);
    uint64_t seen = volt_load_relaxed(&self->looked); // calls may overlap: the least of all looks
    while ((seen == 0 || now < seen) && !volt_cas_relaxed(&self->looked, &seen, now)) {
    }
  }
  void thread(unsigned index) override {
    volt_timer_start(&timers, &t[index], 9 - index, volt_waker{nullptr, nullptr});
  }
  void check() override {
    EXPECT(volt_timers_earliest_ns(&timers) == 9 - (count - 1));
    EXPECT(volt_load_relaxed(&looked) == 9 - (count - 1));
    EXPECT(volt_load_relaxed(&calls) >= 1 && volt_load_relaxed(&calls) <= count);
    EXPECT(volt_timers_expire(&timers, 9) == count);
    expect_empty();
  }
};
struct timer_driver : timer_driver_model<2> {};
MODEL(timer_driver, 2, bounded)
