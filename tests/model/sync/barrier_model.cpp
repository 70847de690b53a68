// barrier_model: turns that let everybody go, again and again. In batches of one waiter.
// Checks barrier.c I1, and monitor.c I1, I2, R1-R3 once more.
// PROGRAM: monitors
#include "model.hpp"
#include "poller.hpp"

// One barrier, up to four waiters with a waker that counts.
struct barrier_model : model {
  volt_barrier *b;
  volt_waiter w[4];
  wake_count woken[4];
  int result[4] = {VOLT_ECANCELED, VOLT_ECANCELED, VOLT_ECANCELED, VOLT_ECANCELED};

  barrier_model(uint32_t count, unsigned waiters) : b(new volt_barrier()) {
    volt_barrier_init(b, count);
    for (unsigned i = 0; i < waiters; i++) EXPECT(wait(i) == VOLT_PENDING);
  }
  ~barrier_model() override {
    if (!b) return;
    for (volt_waiter &waiter : w) volt_barrier_cancel(b, &waiter);
    end();
  }
  void end() {
    volt_barrier_destroy(b);
    poison(&b->queue);
    delete b;
    b = nullptr;
  }
  int wait(unsigned i) {
    return result[i] = volt_barrier_wait_waiter(b, &w[i], woken[i].waker());
  }
  void cancel(unsigned i) {
    if (volt_barrier_cancel(b, &w[i])) {
      result[i] = VOLT_ECANCELED;
    } else if (result[i] == VOLT_PENDING) {
      EXPECT(granted(&w[i]));
    }
    poison(&w[i]);
  }
  bool leads(unsigned i) {
    return result[i] == VOLT_LEADER;
  }
  // At quiescence: whether waiter i has passed, and was woken if it had to be.
  bool passed(unsigned i) {
    bool was_granted = result[i] == VOLT_PENDING && granted(&w[i]);
    EXPECT(woken[i].seen() == (was_granted ? 1u : 0u));
    return was_granted || leads(i);
  }
};

// All arrive at once: one leads, and whoever passes sees what the others did before.
struct barrier_of_two : barrier_model {
  VOLT_PLAIN(int) message[2];
  barrier_of_two() : barrier_model(2, 0) {
  }
  void thread(unsigned index) override {
    message[index] = 1;
    if (wait(index) == VOLT_LEADER || granted(&w[index])) EXPECT(message[1 - index] == 1);
  }
  void check() override {
    EXPECT(passed(0) && passed(1) && leads(0) != leads(1));
  }
};
MODEL(barrier_of_two, 2, full)

struct barrier_of_three : barrier_model {
  VOLT_PLAIN(int) message[3];
  barrier_of_three() : barrier_model(3, 0) {
  }
  void thread(unsigned index) override {
    message[index] = 1;
    if (wait(index) != VOLT_LEADER && !granted(&w[index])) return;
    EXPECT(message[(index + 1) % 3] == 1 && message[(index + 2) % 3] == 1);
  }
  void check() override {
    unsigned leaders = 0;
    for (unsigned i = 0; i < 3; i++) {
      EXPECT(passed(i));
      leaders += leads(i) ? 1 : 0;
    }
    EXPECT(leaders == 1 && volt_barrier_waiters(b) == 0);
  }
};
MODEL(barrier_of_three, 3, bounded)

// Round after round by the same threads.
struct barrier_rounds : barrier_model {
  VOLT_ATOMIC(uint32_t) leaders;
  VOLT_PLAIN(int) arrived[2][2];
  barrier_rounds() : barrier_model(2, 0) {
  }
  void thread(unsigned index) override {
    for (int i = 0; i < 2; i++) {
      arrived[index][i] = 1;
      int blocked = volt_barrier_wait(b);
      EXPECT(blocked == VOLT_OK || blocked == VOLT_LEADER);
      EXPECT(arrived[1 - index][i] == 1);
      if (blocked == VOLT_LEADER) volt_fetch_add_relaxed(&leaders, 1);
    }
  }
  void check() override {
    EXPECT(volt_load_relaxed(&leaders) == 2);
  }
};
MODEL(barrier_rounds, 2, bounded)

// R4: who leaves has not arrived, or it has opened.
struct barrier_cancel_x_arrive : barrier_model {
  barrier_cancel_x_arrive() : barrier_model(2, 1) {
  }
  void thread(unsigned index) override {
    if (index == 0) cancel(0);
    if (index == 1) wait(1);
  }
  void check() override {
    bool left = result[0] == VOLT_ECANCELED;
    EXPECT(leads(1) == !left && passed(1) == !left);
    EXPECT(woken[0].seen() == (left ? 0u : 1u));
    EXPECT(volt_barrier_waiters(b) == (left ? 1u : 0u));
  }
};
MODEL(barrier_cancel_x_arrive, 2, full)

// The others are not broken: the next to arrive makes up for the one who left.
struct barrier_cancel_x_two : barrier_model {
  barrier_cancel_x_two() : barrier_model(3, 2) {
  }
  void thread(unsigned index) override {
    if (index == 0) {
      cancel(0);
    } else {
      wait(2);
      wait(3);
    }
  }
  void check() override {
    bool left = result[0] == VOLT_ECANCELED;
    EXPECT(passed(1) && leads(left ? 3 : 2) && passed(2) && passed(3) == left);
    EXPECT(volt_barrier_waiters(b) == (left ? 0u : 1u));
  }
};
MODEL(barrier_cancel_x_two, 2, bounded)

// R1, I1: one who was let go arrives again while the others have not been told.
struct barrier_next_round : barrier_model {
  bool again = false;
  barrier_next_round() : barrier_model(3, 2) {
  }
  void thread(unsigned index) override {
    if (index == 0) wait(2);
    if (index == 1 && granted(&w[0])) {
      again = true;
      poison(&w[0]);
      EXPECT(wait(0) == VOLT_PENDING); // one of three, whoever is still queued
      EXPECT(wait(3) == VOLT_PENDING);
    }
  }
  void check() override {
    EXPECT(leads(2) && passed(1));
    EXPECT(woken[0].seen() == 1 && granted(&w[0]) == !again);
    EXPECT(volt_barrier_waiters(b) == (again ? 2u : 0u));
  }
};
MODEL(barrier_next_round, 2, bounded)

// R3: it has opened, and one who has not been told yet cannot leave any more.
struct barrier_open_x_cancel : barrier_model {
  barrier_open_x_cancel() : barrier_model(3, 2) {
  }
  void thread(unsigned index) override {
    if (index == 0) wait(2);
    if (index == 1) cancel(1);
  }
  void check() override {
    bool left = result[1] == VOLT_ECANCELED;
    EXPECT(leads(2) == !left && passed(0) == !left);
    EXPECT(woken[1].seen() == (left ? 0u : 1u));
  }
};
MODEL(barrier_open_x_cancel, 2, bounded)

// A thread whose deadline passes at any moment.
struct barrier_deadline_x_arrive : barrier_model {
  int blocked = VOLT_PENDING;
  barrier_deadline_x_arrive() : barrier_model(2, 0) {
  }
  void thread(unsigned index) override {
    if (index == 0) blocked = volt_barrier_wait_until(b, 1);
    if (index == 1) wait(0);
  }
  void check() override {
    EXPECT(passed(0) == (blocked != VOLT_ETIMEDOUT));
    if (blocked != VOLT_ETIMEDOUT) EXPECT((blocked == VOLT_LEADER) != leads(0));
  }
};
MODEL(barrier_deadline_x_arrive, 2, bounded)

// A future that is dropped; each of its registrations is settled.
struct barrier_drop_x_arrive : barrier_model {
  volt_future f;
  poller::trace left;
  barrier_drop_x_arrive() : barrier_model(2, 0) {
    poller *p = new poller(&left);
    EXPECT(p->poll(volt_barrier_wait_future(&f, b)) == VOLT_PENDING);
    EXPECT(p->end() == 1);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_future_cancel(&f);
      poison(&f.waiter);
    }
    if (index == 1) wait(0);
  }
  void check() override {
    EXPECT(passed(0) ? left.gone(1, 0) : left.gone(0, 1));
  }
};
MODEL(barrier_drop_x_arrive, 2, bounded)

// R2: the first to be told is the last user: all have passed, told or not.
struct barrier_x_free : barrier_model {
  barrier_x_free() : barrier_model(3, 2) {
  }
  void thread(unsigned index) override {
    if (index == 0) EXPECT(wait(2) == VOLT_LEADER);
    if (index == 1 && granted(&w[0])) end();
  }
  void check() override {
    EXPECT(passed(0) && passed(1));
  }
};
MODEL(barrier_x_free, 2, bounded)
