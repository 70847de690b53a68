// latch_model: a count in the word, and turns. In batches of one waiter.
// Checks latch.c I1, R1, R2, and monitor.c R1-R3 once more.
// PROGRAM: monitors
#include "model.hpp"
#include "poller.hpp"

// One latch, up to three waiters with a waker that counts.
struct latch_model : model {
  volt_latch *l;
  volt_waiter w[3];
  wake_count woken[3];
  int result[3] = {VOLT_ECANCELED, VOLT_ECANCELED, VOLT_ECANCELED};

  latch_model(uint32_t count, unsigned waiters) : l(new volt_latch()) {
    volt_latch_init(l, count);
    for (unsigned i = 0; i < waiters; i++) EXPECT(wait(i) == VOLT_PENDING);
  }
  ~latch_model() override {
    if (!l) return;
    for (volt_waiter &waiter : w) volt_latch_cancel(l, &waiter);
    end();
  }
  void end() {
    volt_latch_destroy(l);
    free_it();
  }
  void free_it() {
    poison(&l->queue);
    delete l;
    l = nullptr;
  }
  int wait(unsigned i) {
    return result[i] = volt_latch_wait_waiter(l, &w[i], woken[i].waker());
  }
  // At quiescence: whether waiter i was let go, and was woken if it had to be.
  bool has(unsigned i) {
    bool was_granted = result[i] == VOLT_PENDING && granted(&w[i]);
    EXPECT(woken[i].seen() == (was_granted ? 1u : 0u));
    return was_granted || result[i] == VOLT_OK;
  }
};

// R1: the last one counts down while somebody begins to wait.
struct latch_done_x_wait : latch_model {
  VOLT_PLAIN(int) message;
  latch_done_x_wait() : latch_model(1, 0) {
  }
  void thread(unsigned index) override {
    if (index == 0) {
      message = 1;
      volt_latch_done(l);
    } else if (wait(0) == VOLT_OK || granted(&w[0])) {
      EXPECT(message == 1);
    }
  }
  void check() override {
    EXPECT(has(0) && volt_latch_count(l) == 0 && volt_latch_waiters(l) == 0);
  }
};
MODEL(latch_done_x_wait, 2, full)

// F1: two count down, one of them by the fast path: who is told sees what both did.
struct latch_two_done_x_wait : latch_model {
  VOLT_PLAIN(int) message[2];
  latch_two_done_x_wait() : latch_model(2, 0) {
  }
  void thread(unsigned index) override {
    if (index < 2) {
      message[index] = 1;
      volt_latch_done(l);
    } else if (wait(0) == VOLT_OK || granted(&w[0])) {
      EXPECT(message[0] == 1 && message[1] == 1);
    }
  }
  void check() override {
    EXPECT(has(0) && volt_latch_count(l) == 0);
  }
};
MODEL(latch_two_done_x_wait, 3, bounded)

// T1: so does who finds it open.
struct latch_two_done_x_try : latch_model {
  VOLT_PLAIN(int) message[2];
  latch_two_done_x_try() : latch_model(2, 0) {
  }
  void thread(unsigned index) override {
    if (index < 2) {
      message[index] = 1;
      volt_latch_done(l);
    } else if (volt_latch_try_wait(l) == VOLT_OK) {
      EXPECT(message[0] == 1 && message[1] == 1);
    }
  }
};
MODEL(latch_two_done_x_try, 3, bounded)

// T1 <- U1: the same when it was opened in a turn.
struct latch_turn_x_try : latch_model {
  VOLT_PLAIN(int) message;
  latch_turn_x_try() : latch_model(1, 1) {
  }
  void thread(unsigned index) override {
    if (index == 0) {
      message = 1;
      volt_latch_done(l);
    } else if (volt_latch_try_wait(l) == VOLT_OK) {
      EXPECT(message == 1);
    }
  }
  void check() override {
    EXPECT(has(0));
  }
};
MODEL(latch_turn_x_try, 2, full)

// R1: counts are not lost to those who have the lock.
struct latch_done_x_turns : latch_model {
  latch_done_x_turns() : latch_model(3, 1) {
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_latch_add(l, 1);
      volt_latch_count_down(l, 2);
    } else {
      if (volt_latch_cancel(l, &w[0])) result[0] = VOLT_ECANCELED;
      wait(1);
      volt_latch_done(l);
    }
  }
  void check() override {
    EXPECT(volt_latch_count(l) == 1 && volt_latch_waiters(l) == 1);
    EXPECT(result[0] == VOLT_ECANCELED && !has(1));
  }
};
MODEL(latch_done_x_turns, 2, bounded)

// R1: one of two steps to zero finds the other's, whoever is last.
struct latch_done_x_done : latch_model {
  latch_done_x_done() : latch_model(2, 1) {
  }
  void thread(unsigned) override {
    volt_latch_done(l);
  }
  void check() override {
    EXPECT(has(0) && volt_latch_count(l) == 0);
  }
};
MODEL(latch_done_x_done, 2, full)

// R4: the outcome of a cancel is true.
struct latch_done_x_cancel : latch_model {
  latch_done_x_cancel() : latch_model(1, 2) {
  }
  void thread(unsigned index) override {
    if (index == 0) volt_latch_done(l);
    if (index == 1) {
      if (volt_latch_cancel(l, &w[1])) {
        result[1] = VOLT_ECANCELED;
      } else {
        EXPECT(granted(&w[1]));
      }
      poison(&w[1]);
    }
  }
  void check() override {
    EXPECT(has(0) && woken[1].seen() == (result[1] == VOLT_PENDING ? 1u : 0u));
    EXPECT(volt_latch_waiters(l) == 0);
  }
};
MODEL(latch_done_x_cancel, 2, bounded)

// R1 of monitor.c: shut again while those who were let go have not been told.
struct latch_shut_again : latch_model {
  bool again = false;
  latch_shut_again() : latch_model(1, 2) {
  }
  void thread(unsigned index) override {
    if (index == 0) volt_latch_done(l);
    if (index == 1 && granted(&w[0])) {
      again = true;
      volt_latch_add(l, 1);
      EXPECT(wait(2) == VOLT_PENDING);
    }
  }
  void check() override {
    EXPECT(has(0) && has(1) && !has(2));
    EXPECT(volt_latch_count(l) == (again ? 1u : 0u));
    EXPECT(volt_latch_waiters(l) == (again ? 1u : 0u));
  }
};
MODEL(latch_shut_again, 2, bounded)

// The same, and open again.
struct latch_open_again : latch_model {
  latch_open_again() : latch_model(1, 2) {
  }
  void thread(unsigned index) override {
    if (index == 0) volt_latch_done(l);
    if (index == 1 && granted(&w[0])) {
      volt_latch_add(l, 1);
      wait(2);
      volt_latch_done(l);
    }
  }
  void check() override {
    EXPECT(has(0) && has(1) && has(2) == (result[2] == VOLT_PENDING));
    EXPECT(volt_latch_count(l) == 0 && volt_latch_waiters(l) == 0);
  }
};
MODEL(latch_open_again, 2, bounded)

// R2: the waiter is the last user, however it learns that it is open.
struct latch_x_free : latch_model {
  latch_x_free() : latch_model(1, 0) {
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_latch_done(l);
    } else {
      EXPECT(volt_latch_wait_until(l, VOLT_NO_DEADLINE) == VOLT_OK);
      free_it(); // without destroy()
    }
  }
};
MODEL(latch_x_free, 2, bounded)

struct latch_try_x_free : latch_model {
  latch_try_x_free() : latch_model(2, 0) {
  }
  void thread(unsigned index) override {
    if (index < 2) {
      volt_latch_done(l);
    } else if (volt_latch_try_wait(l) == VOLT_OK) {
      free_it();
    }
  }
};
MODEL(latch_try_x_free, 3, bounded)

// R2: the first to be told, before the second is.
struct latch_told_x_free : latch_model {
  latch_told_x_free() : latch_model(1, 2) {
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_latch_done(l);
    } else if (granted(&w[0])) {
      end();
    }
  }
  void check() override {
    EXPECT(has(0) && has(1));
  }
};
MODEL(latch_told_x_free, 2, bounded)

// A thread whose deadline passes at any moment, and a future that is dropped.
struct latch_done_x_deadline : latch_model {
  int blocked = VOLT_PENDING;
  latch_done_x_deadline() : latch_model(1, 0) {
  }
  void thread(unsigned index) override {
    if (index == 0) volt_latch_done(l);
    if (index == 1) blocked = volt_latch_wait_until(l, 1);
  }
  void check() override {
    EXPECT(blocked == VOLT_OK || blocked == VOLT_ETIMEDOUT);
    EXPECT(volt_latch_waiters(l) == 0);
  }
};
MODEL(latch_done_x_deadline, 2, bounded)

struct latch_done_x_drop : latch_model {
  volt_future f;
  poller::trace left;
  latch_done_x_drop() : latch_model(1, 0) {
    poller *p = new poller(&left);
    EXPECT(p->poll(volt_latch_wait_future(&f, l)) == VOLT_PENDING);
    EXPECT(p->end() == 1);
  }
  void thread(unsigned index) override {
    if (index == 0) volt_latch_done(l);
    if (index == 1) {
      volt_future_cancel(&f);
      poison(&f.waiter);
    }
  }
  void check() override {
    EXPECT(left.gone(1) && volt_latch_waiters(l) == 0);
  }
};
MODEL(latch_done_x_drop, 2, bounded)
