// time_model: futures of time beside what they race. time.c on timer.c R1; future.c I1; select.c
// R1, R2.
// PROGRAM: bcs
#include "poller.hpp"

// A clock of its own, that stands at 0 until expire() tells it another time.
struct time_model : model {
  volt_timers timers;
  volt_sem sem;
  volt_future permit;
  poller::trace first;
  wake_count second;
  int result = VOLT_PENDING;

  time_model() {
    volt_timers_init_virtual(&timers, volt_waker{nullptr, nullptr});
    volt_sem_init(&sem, 0);
    volt_future_made(volt_sem_acquire_future(&permit, &sem, 1));
  }
  void poll_first(volt_future *f, uint32_t leaves) {
    poller *p = new poller(&first);
    EXPECT(p->poll(f) == VOLT_PENDING);
    EXPECT(p->end() == leaves);
  }
  // At quiescence: no timer is left.
  void expect_no_timer() {
    EXPECT(volt_timers_earliest_ns(&timers) == VOLT_NO_DEADLINE);
    volt_timers_destroy(&timers);
  }
};

static void poison(volt_sleep_op *s) {
  poison(&s->timer.waiter);
  s->timer.deadline_ns = 0;
  s->timer.section.job.fn = nullptr;
}

// I1: a sleep is moved to another poller and cancelled by it while it expires.
struct sleep_moves_x_expire : time_model {
  volt_sleep_op nap;
  poller::trace moved;
  poller *after = new poller(&moved);
  sleep_moves_x_expire() {
    poll_first(volt_sleep_future(&nap, &timers, 5), 1);
  }
  void thread(unsigned index) override {
    if (index == 1) {
      volt_timers_expire(&timers, 10);
      return;
    }
    result = after->poll(&nap.future);
    EXPECT(after->end() == (result == VOLT_PENDING ? 1u : 0u));
  }
  void check() override {
    EXPECT(result == VOLT_OK || result == VOLT_PENDING);
    EXPECT(result == VOLT_OK ? first.gone(1, 0) && moved.gone(0, 0)
                             : first.gone(0, 1) && moved.gone(1, 0));
    EXPECT(volt_future_poll(&nap.future, second.waker()) == VOLT_OK);
    expect_no_timer();
  }
};
MODEL(sleep_moves_x_expire, 2, bounded)

// I1: dropped while it expires: its poller is settled once, and the memory is ours.
struct sleep_drop_x_expire : time_model {
  volt_sleep_op nap;
  sleep_drop_x_expire() {
    poll_first(volt_sleep_future(&nap, &timers, 5), 1);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_future_cancel(&nap.future);
      poison(&nap);
    } else {
      volt_timers_expire(&timers, 10);
    }
  }
  void check() override {
    EXPECT(first.gone(1));
    expect_no_timer();
  }
};
MODEL(sleep_drop_x_expire, 2, bounded)

// A thread blocks on a sleep that has been started; another tells the time.
struct block_on_sleep_x_expire : time_model {
  volt_sleep_op nap;
  block_on_sleep_x_expire() {
    poll_first(volt_sleep_future(&nap, &timers, 5), 1);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      EXPECT(volt_future_wait(&nap.future) == VOLT_OK);
      poison(&nap);
    } else {
      volt_timers_expire(&timers, 10);
    }
  }
  void check() override {
    EXPECT(first.gone(1));
    expect_no_timer();
  }
};
MODEL(block_on_sleep_x_expire, 2, bounded)

// ---- a permit, or a sleep ----

struct permit_or_sleep : time_model {
  volt_sleep_op nap;
  volt_future *branches[2];
  volt_select s;
  permit_or_sleep() {
    branches[0] = &permit;
    branches[1] = volt_sleep_future(&nap, &timers, 5);
    volt_future_made(volt_select_future(&s, branches, 2, VOLT_SELECT_BIASED));
  }
  void poll_or_cancel() {
    result = volt_future_poll(&s.future, second.waker());
    if (result == VOLT_PENDING) volt_future_cancel(&s.future);
    poison(&permit.waiter);
    poison(&nap);
  }
  void check() override {
    EXPECT(result == VOLT_OK || result == VOLT_PENDING);
    EXPECT((volt_select_winner(&s) != UINT32_MAX) == (result == VOLT_OK));
    EXPECT(volt_sem_available(&sem) == (volt_select_winner(&s) == 0 ? 0u : 1u));
    expect_no_timer();
  }
};

// The time comes, then the permit, while it is polled and given up.
struct select_x_expire_x_release : permit_or_sleep {
  select_x_expire_x_release() {
    poll_first(&s.future, 2);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      poll_or_cancel();
    } else {
      volt_timers_expire(&timers, 10);
      volt_sem_release(&sem, 1);
    }
  }
  void check() override {
    permit_or_sleep::check();
    EXPECT(first.gone(2));
  }
};
MODEL(select_x_expire_x_release, 2, bounded)

// The other way round, and nobody counts.
struct select_x_release_x_expire : permit_or_sleep {
  select_x_release_x_expire() {
    EXPECT(volt_future_poll(&s.future, volt_waker{nullptr, nullptr}) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      poll_or_cancel();
    } else {
      volt_sem_release(&sem, 1);
      volt_timers_expire(&timers, 10);
    }
  }
};
MODEL(select_x_release_x_expire, 2, bounded)

// ---- a timeout ----

struct timeout_model : time_model {
  volt_timeout t;
  timeout_model() {
    volt_future_made(volt_timeout_future(&t, &permit, &timers, 5));
  }
  // By its owner: never early.
  void poll(volt_waker waker) {
    result = volt_future_poll(&t.future, waker);
    if (result == VOLT_ETIMEDOUT) EXPECT(volt_timers_now_ns(&timers) == 10);
  }
  void expect_conserved() {
    EXPECT(volt_sem_available(&sem) == (result == VOLT_OK ? 0u : 1u));
    expect_no_timer();
  }
};

// The permit comes, and then the time.
struct timeout_x_grant_x_expire : timeout_model {
  timeout_x_grant_x_expire() {
    EXPECT(volt_future_poll(&t.future, volt_waker{nullptr, nullptr}) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      poll(second.waker());
      if (result == VOLT_PENDING) volt_future_cancel(&t.future);
      poison(&permit.waiter);
      poison(&t.sleep);
    } else {
      volt_sem_release(&sem, 1);
      volt_timers_expire(&timers, 10);
    }
  }
  void check() override {
    EXPECT(result == VOLT_OK || result == VOLT_ETIMEDOUT || result == VOLT_PENDING);
    expect_conserved();
  }
};
MODEL(timeout_x_grant_x_expire, 2, bounded)

// The same with a thread for each, polled once more.
struct timeout_x_expire_x_grant : timeout_model {
  timeout_x_expire_x_grant() {
    EXPECT(volt_future_poll(&t.future, volt_waker{nullptr, nullptr}) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) poll(volt_waker{nullptr, nullptr});
    if (index == 1) volt_timers_expire(&timers, 10);
    if (index == 2) volt_sem_release(&sem, 1);
  }
  void check() override {
    EXPECT(result == VOLT_OK || result == VOLT_ETIMEDOUT || result == VOLT_PENDING);
    volt_future_cancel(&t.future); // changes nothing if it is ready
    expect_conserved();
  }
};
MODEL(timeout_x_expire_x_grant, 3, bounded)

// A thread blocks on it: it returns when both the permit's wake and the timer's have been settled.
struct block_on_timeout : timeout_model {
  void thread(unsigned index) override {
    if (index == 0) {
      result = volt_future_wait(&t.future);
      poison(&permit.waiter);
      poison(&t.sleep);
    } else {
      volt_timers_expire(&timers, 10);
      volt_sem_release(&sem, 1);
    }
  }
  void check() override {
    EXPECT(result == VOLT_OK || result == VOLT_ETIMEDOUT);
    expect_conserved();
  }
};
MODEL(block_on_timeout, 2, bounded)
