// io_mail_model: mail is left as the home takes it and goes to sleep. mail.h R1, R2; the idle word as
// shipped, and what a worker does with it (parking.c).
// PROGRAM: io
#include "core/os/futex.h"
#include "model_io.hpp"
#include "rt/sched/idle.h"

struct io_mail_model : model {
  volt_mail_ mail;
  volt_idle idle;
  volt_parker parker;
  volt_op *ops[2];
  VOLT_ATOMIC(uint32_t) taken[2];

  io_mail_model() {
    volt_mail_init_(&mail);
    volt_idle_init_(&idle);
    for (auto &op : ops) op = new volt_op;
  }
  ~io_mail_model() override {
    for (auto &op : ops) delete op;
  }
  // As uring_cancel() and volt_rt_mail_left_().
  void leave(unsigned i) {
    ops[i]->result = static_cast<int>(i + 1); // the home sees it
    volt_mail_leave_(&mail, ops[i]);
    volt_idle_fence_(&idle);
    if (volt_idle_claim_(&idle, 0)) volt_unpark(&parker);
  }
  // Returns how many.
  uint32_t take() {
    uint32_t count = 0;
    for (volt_op *op = volt_mail_take_(&mail), *next; op; op = next) {
      next = op->mail;
      unsigned i = op == ops[0] ? 0 : 1;
      EXPECT(op->result == static_cast<int>(i + 1));
      op->mail = nullptr; // it is its owner's again
      op->result = 0;
      volt_fetch_add_release(&taken[i], 1u);
      count += 1;
    }
    return count;
  }
  // As the home, until so many have come. One that is left unseen is a deadlock.
  void be_home(uint32_t due) {
    uint32_t wakes = 0;
    while (due > 0) {
      due -= take();
      if (due == 0) break;
      volt_idle_park_(&idle, 0, 0);
      if (volt_mail_has_any_(&mail) && volt_idle_claim_(&idle, 0)) continue;
      volt_park_until(&parker, ++wakes, VOLT_NO_DEADLINE);
    }
  }
};

// R1: one is left as the home goes to sleep.
struct mail_x_sleep : io_mail_model {
  void thread(unsigned index) override {
    if (index == 0) {
      be_home(1);
    } else {
      leave(0);
    }
  }
};
MODEL(mail_x_sleep, 2, full)

// R1: two from one thread.
struct mail_two_x_sleep : io_mail_model {
  void thread(unsigned index) override {
    if (index == 0) {
      be_home(2);
    } else {
      leave(0);
      leave(1);
    }
  }
};
MODEL(mail_two_x_sleep, 2, bounded)

// Two from two threads: none is lost.
struct mail_x_mail_x_sleep : io_mail_model {
  void thread(unsigned index) override {
    if (index == 0) {
      be_home(2);
    } else {
      leave(index - 1);
    }
  }
};
MODEL(mail_x_mail_x_sleep, 3, bounded)

// R2: what was on top is taken, and left again, as another thread is about to leave its own.
struct mail_again_x_mail : io_mail_model {
  void thread(unsigned index) override {
    if (index == 0) {
      be_home(3);
      return;
    }
    leave(index - 1);
    if (index == 2) return;
    while (volt_load_acquire(&taken[0]) == 0) volt_yield_();
    leave(0);
  }
};
MODEL(mail_again_x_mail, 3, bounded)
