// budget_model: amounts of two kinds, in batches of one waiter.
// Checks budget.c B1-B5, R1-R9.
// PROGRAM: monitors
#include "model.hpp"
#include "poller.hpp"

// One budget of two kinds, three askers with a waker that counts. What was granted and what is held are the same at the
// end.
struct budget_model : model {
  volt_budget *b = new volt_budget();
  volt_amounts need[3];
  volt_waiter w[3];
  wake_count woken[3];
  int result[3] = {VOLT_ECANCELED, VOLT_ECANCELED, VOLT_ECANCELED};
  VOLT_PLAIN(int) message;

  explicit budget_model(uint64_t first = 1, uint64_t second = 1, uint32_t k = 0) {
    const uint64_t limits[] = {first, second};
    volt_budget_init_bypass(b, 2, limits, k);
  }
  ~budget_model() override {
    if (!b) return;
    for (volt_waiter &waiter : w) ignore_result(volt_budget_cancel(b, &waiter));
    end();
  }
  // Its life ends here: no thread is to use it.
  void end() {
    volt_budget_destroy(b);
    poison(&b->queue);
    for (uint32_t i = 0; i < VOLT_BUDGET_KINDS; i++) {
      b->held[i] = 0xdead;
      b->limit[i] = 0xdead;
    }
    delete b;
    b = nullptr;
  }
  static volt_amounts of(uint64_t first, uint64_t second) {
    return volt_amounts{{first, second}};
  }
  // The asker's amounts are its own: what it asks for next stands there.
  int ask(unsigned i, uint64_t first, uint64_t second) {
    need[i] = of(first, second);
    return result[i] = volt_budget_acquire_waiter(b, &w[i], &need[i], woken[i].waker());
  }
  int try_it(uint64_t first, uint64_t second) {
    volt_amounts amounts = of(first, second);
    return volt_budget_try_acquire(b, &amounts);
  }
  int block(uint64_t first, uint64_t second, uint64_t deadline_ns = VOLT_NO_DEADLINE) {
    volt_amounts amounts = of(first, second);
    return volt_budget_acquire_until(b, &amounts, deadline_ns);
  }
  void give(uint64_t first, uint64_t second) {
    volt_amounts amounts = of(first, second);
    volt_budget_release(b, &amounts);
  }
  // What has become of a waiter, by its owner. Reads no budget: it may be gone.
  int look(unsigned i) {
    if (result[i] == VOLT_PENDING && volt_waiter_result(&w[i]) != VOLT_PENDING) {
      result[i] = volt_waiter_result(&w[i]);
      need[i] = of(7, 7); // R6
      poison(&w[i]);
    }
    return result[i];
  }
  bool holds(uint64_t first, uint64_t second) {
    return volt_budget_held(b, 0) == first && volt_budget_held(b, 1) == second;
  }
};

// R1: one releases while another begins to wait; what was done before is seen.
struct budget_release_x_acquire : budget_model {
  budget_release_x_acquire() {
    EXPECT(try_it(1, 1) == VOLT_OK);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      message = 1;
      give(1, 1);
    } else {
      ask(0, 1, 1);
      if (look(0) == VOLT_OK) EXPECT(message == 1);
    }
  }
  void check() override {
    EXPECT(look(0) == VOLT_OK && holds(1, 1) && volt_budget_waiters(b) == 0);
    give(1, 1);
  }
};
MODEL(budget_release_x_acquire, 2, full)

// What two threads release comes together.
struct budget_two_releases : budget_model {
  budget_two_releases() {
    EXPECT(try_it(1, 1) == VOLT_OK);
    EXPECT(ask(0, 1, 1) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    give(index == 0, index == 1);
  }
  void check() override {
    EXPECT(look(0) == VOLT_OK && woken[0].seen() == 1 && holds(1, 1));
  }
};
MODEL(budget_two_releases, 2, full)

// B1: takes and releases without a waiter.
struct budget_tries : budget_model {
  budget_tries() : budget_model(2, 2) {
  }
  void thread(unsigned) override {
    if (try_it(2, 1) == VOLT_OK) {
      message = message + 1;
      give(2, 1);
    }
  }
  void check() override {
    EXPECT(holds(0, 0) && message >= 1);
  }
};
MODEL(budget_tries, 2, full)

// Each needs both: they exclude each other, and each comes to its end.
struct budget_excludes : budget_model {
  void thread(unsigned index) override {
    EXPECT(block(1, 1) == VOLT_OK);
    message = message + 1;
    if (index == 0) {
      give(1, 1);
    } else {
      give(1, 0);
      give(0, 1);
    }
  }
  void check() override {
    EXPECT(message >= 2 && holds(0, 0));
  }
};
MODEL(budget_excludes, 2, bounded)
struct budget_three_exclude : budget_excludes {};
MODEL(budget_three_exclude, 3, bounded)

// Each of three needs what the two others need, a part of it: none waits for ever.
struct budget_in_a_ring : budget_model {
  VOLT_PLAIN(int) of_first;
  void thread(unsigned index) override {
    uint64_t first = index != 1, second = index != 0;
    EXPECT(block(first, second) == VOLT_OK);
    if (first) of_first = of_first + 1;
    if (second) message = message + 1;
    give(first, second);
  }
  void check() override {
    EXPECT(of_first == 2 && message == 2 && holds(0, 0));
  }
};
MODEL(budget_in_a_ring, 3, bounded)

// The outcome of a cancel is true.
struct budget_release_x_cancel : budget_model {
  budget_release_x_cancel() {
    EXPECT(try_it(1, 0) == VOLT_OK);
    EXPECT(ask(0, 1, 1) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      give(1, 0);
    } else if (volt_budget_cancel(b, &w[0])) {
      result[0] = VOLT_ECANCELED;
      poison(&w[0]);
    } else {
      EXPECT(look(0) == VOLT_OK);
    }
  }
  void check() override {
    bool got = result[0] == VOLT_OK;
    EXPECT(holds(got, got) && woken[0].seen() == (got ? 1u : 0u));
  }
};
MODEL(budget_release_x_cancel, 2, full)

// R5: the oldest gives up while another comes: that one is granted by one of the two.
struct budget_cancel_x_acquire : budget_model {
  budget_cancel_x_acquire() {
    EXPECT(try_it(1, 0) == VOLT_OK);
    EXPECT(ask(0, 1, 1) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      EXPECT(volt_budget_cancel(b, &w[0]));
      result[0] = VOLT_ECANCELED;
    } else {
      ask(1, 0, 1);
    }
  }
  void check() override {
    EXPECT(look(1) == VOLT_OK && holds(1, 1));
  }
};
MODEL(budget_cancel_x_acquire, 2, full)

// R2: a granted thread frees it; the releasing one does not touch it any more.
struct budget_release_x_free : budget_model {
  budget_release_x_free() {
    EXPECT(try_it(1, 1) == VOLT_OK);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      give(1, 1);
    } else {
      EXPECT(block(1, 1) == VOLT_OK);
      end();
    }
  }
};
MODEL(budget_release_x_free, 2, bounded)

struct budget_release_x_try_and_free : budget_release_x_free {
  void thread(unsigned index) override {
    if (index == 0) {
      give(1, 1);
    } else if (try_it(1, 1) == VOLT_OK) {
      end();
    }
  }
};
MODEL(budget_release_x_try_and_free, 2, full)

// R2: two waiters are two batches; the first one ends it when both have completed, maybe before the thread of the first
// batch has come back.
struct budget_batches_x_free : budget_model {
  budget_batches_x_free() : budget_model(2, 1) {
    EXPECT(try_it(2, 0) == VOLT_OK);
    EXPECT(ask(0, 1, 0) == VOLT_PENDING && ask(1, 1, 0) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      give(2, 0);
    } else if (look(0) == VOLT_OK) {
      give(1, 0); // which may grant the second, before the other thread comes back for it
      if (look(1) == VOLT_OK) end();
    }
  }
  void check() override {
    EXPECT(look(0) == VOLT_OK && look(1) == VOLT_OK);
    EXPECT(woken[0].seen() == 1 && woken[1].seen() == 1);
  }
};
MODEL(budget_batches_x_free, 2, bounded)

// R4: between two batches a newcomer takes nothing; it does not matter how it asks.
struct budget_batches_x_newcomer : budget_batches_x_free {
  void thread(unsigned index) override {
    if (index == 0) give(2, 0);
    if (index == 1) EXPECT(try_it(1, 0) == VOLT_EAGAIN);
  }
  void check() override {
    EXPECT(look(0) == VOLT_OK && look(1) == VOLT_OK && holds(2, 0));
  }
};
MODEL(budget_batches_x_newcomer, 2, full)

struct budget_batches_x_bypass : budget_model {
  budget_batches_x_bypass() : budget_model(2, 1, 8) {
    EXPECT(try_it(2, 1) == VOLT_OK);
    EXPECT(ask(0, 1, 0) == VOLT_PENDING && ask(1, 1, 0) == VOLT_PENDING);
    EXPECT(ask(2, 0, 1) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) give(2, 1);
    if (index == 1) EXPECT(try_it(0, 1) == VOLT_EAGAIN);
  }
  void check() override {
    EXPECT(look(0) == VOLT_OK && look(1) == VOLT_OK && look(2) == VOLT_OK && holds(2, 1));
  }
};
MODEL(budget_batches_x_bypass, 2, bounded)

// R3: an acquire is dropped while something is released: the next one has it.
struct budget_release_x_drop : budget_model {
  volt_future f;
  poller::trace left;
  budget_release_x_drop() {
    need[2] = of(1, 1);
    EXPECT(try_it(1, 0) == VOLT_OK);
    poller *p = new poller(&left);
    EXPECT(p->poll(volt_budget_acquire_future(&f, b, &need[2])) == VOLT_PENDING);
    EXPECT(p->end() == 1);
    EXPECT(ask(0, 1, 0) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      give(1, 0);
    } else {
      volt_future_cancel(&f);
      poison(&f.waiter);
    }
  }
  void check() override {
    EXPECT(left.gone(1) && look(0) == VOLT_OK && holds(1, 0) && volt_budget_waiters(b) == 0);
  }
};
MODEL(budget_release_x_drop, 2, bounded)

// R6: what was asked for is the asker's again once it is granted (look() changes it).
struct budget_release_x_look : budget_model {
  budget_release_x_look() {
    EXPECT(try_it(1, 1) == VOLT_OK);
    EXPECT(ask(0, 1, 1) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) give(1, 1);
    if (index == 1) look(0);
  }
  void check() override {
    EXPECT(look(0) == VOLT_OK && holds(1, 1));
  }
};
MODEL(budget_release_x_look, 2, full)

// R7: a limit falls while one asks for more than that: it is refused by one of the two.
struct budget_limit_x_acquire : budget_model {
  budget_limit_x_acquire() : budget_model(2, 1) {
    EXPECT(try_it(1, 0) == VOLT_OK);
  }
  void thread(unsigned index) override {
    if (index == 0) volt_budget_set_limit(b, 0, 1);
    if (index == 1) ask(0, 2, 0);
  }
  void check() override {
    EXPECT(look(0) == VOLT_EINVAL && holds(1, 0) && volt_budget_waiters(b) == 0);
    EXPECT(try_it(0, 1) == VOLT_OK);
  }
};
MODEL(budget_limit_x_acquire, 2, full)

// R7: and what it held up is granted; what is held beyond the limit comes back first.
struct budget_limit_x_release : budget_model {
  budget_limit_x_release() : budget_model(2, 1) {
    EXPECT(try_it(2, 0) == VOLT_OK);
    EXPECT(ask(0, 2, 0) == VOLT_PENDING && ask(1, 0, 1) == VOLT_PENDING);
    EXPECT(ask(2, 1, 0) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) volt_budget_set_limit(b, 0, 1);
    if (index == 1) give(1, 0);
  }
  void check() override {
    EXPECT(look(0) == VOLT_EINVAL && look(1) == VOLT_OK && look(2) == VOLT_PENDING);
    EXPECT(holds(1, 1) && volt_budget_available(b, 0) == 0 && volt_budget_excess(b, 0) == 0);
    give(1, 0);
    EXPECT(look(2) == VOLT_OK && woken[0].seen() == 1 && woken[1].seen() == 1);
  }
};
MODEL(budget_limit_x_release, 2, bounded)

// R9: between two batches of refused ones the next that is to be examined is cancelled, and its memory is another's.
struct budget_limit_x_cancel : budget_model {
  bool is_cancelled = false;
  budget_limit_x_cancel() : budget_model(2, 1) {
    EXPECT(try_it(2, 0) == VOLT_OK);
    for (unsigned i = 0; i < 3; i++) EXPECT(ask(i, 2, 0) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) volt_budget_set_limit(b, 0, 1);
    if (index == 1 && (is_cancelled = volt_budget_cancel(b, &w[1]))) {
      result[1] = VOLT_ECANCELED;
      poison(&w[1]);
    }
  }
  void check() override {
    EXPECT(look(0) == VOLT_EINVAL && look(2) == VOLT_EINVAL);
    EXPECT(look(1) == (is_cancelled ? VOLT_ECANCELED : VOLT_EINVAL));
    EXPECT(volt_budget_waiters(b) == 0 && holds(2, 0));
  }
};
MODEL(budget_limit_x_cancel, 2, bounded)

// B1: nothing is taken while more is held than the limit.
struct budget_limit_x_try : budget_model {
  budget_limit_x_try() : budget_model(2, 1) {
    EXPECT(try_it(2, 0) == VOLT_OK);
  }
  void thread(unsigned index) override {
    if (index == 0) volt_budget_set_limit(b, 0, 1);
    if (index == 1) EXPECT(try_it(1, 0) == VOLT_EAGAIN);
  }
  void check() override {
    EXPECT(try_it(1, 0) == VOLT_EAGAIN && holds(2, 0) && volt_budget_excess(b, 0) == 1);
  }
};
MODEL(budget_limit_x_try, 2, full)

struct budget_limit_up_x_acquire : budget_model {
  void thread(unsigned index) override {
    if (index == 0) volt_budget_set_limit(b, 0, 2);
    if (index == 1 && ask(0, 2, 1) == VOLT_EINVAL) ask(0, 1, 1);
  }
  void check() override {
    EXPECT(look(0) == VOLT_OK && volt_budget_held(b, 1) == 1);
  }
};
MODEL(budget_limit_up_x_acquire, 2, full)

// R8: who sees that it is closed, sees each future so, before the closing thread has come to it.
struct budget_close_x_poll : budget_model {
  volt_future f;
  poller *p;
  poller::trace left;
  int polled = VOLT_PENDING;
  explicit budget_close_x_poll(bool by_limit = false) : budget_model(2, 1) {
    need[2] = of(2, 0);
    p = new poller(&left);
    EXPECT(try_it(2, 0) == VOLT_OK);
    EXPECT(ask(0, 2, 0) == VOLT_PENDING && ask(1, by_limit ? 2 : 1, 0) == VOLT_PENDING);
    EXPECT(p->poll(volt_budget_acquire_future(&f, b, &need[2])) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      message = 1;
      volt_budget_close(b);
    } else {
      bool is_closed = volt_budget_is_closed(b);
      polled = p->poll(&f);
      if (is_closed) EXPECT(message == 1 && polled == VOLT_ECLOSED);
      (void)p->end();
    }
  }
  void check() override {
    if (polled == VOLT_PENDING) {
      poller *other = new poller(&left);
      polled = other->poll(&f);
      (void)other->end();
    }
    EXPECT(polled == VOLT_ECLOSED && look(0) == VOLT_ECLOSED && look(1) == VOLT_ECLOSED);
    EXPECT(woken[0].seen() == 1 && woken[1].seen() == 1 && holds(2, 0));
  }
};
MODEL(budget_close_x_poll, 2, bounded)

struct budget_limit_x_poll : budget_close_x_poll {
  budget_limit_x_poll() : budget_close_x_poll(true) {
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_budget_set_limit(b, 0, 1);
    } else {
      bool is_refused = volt_budget_limit(b, 0) == 1;
      polled = p->poll(&f);
      if (is_refused) EXPECT(polled == VOLT_EINVAL);
      (void)p->end();
    }
  }
  void check() override {
    if (polled == VOLT_PENDING) {
      poller *other = new poller(&left);
      polled = other->poll(&f);
      (void)other->end();
    }
    EXPECT(polled == VOLT_EINVAL && look(0) == VOLT_EINVAL && look(1) == VOLT_EINVAL);
  }
};
MODEL(budget_limit_x_poll, 2, bounded)

// A close, and one who comes.
struct budget_close_x_acquire : budget_model {
  budget_close_x_acquire() {
    EXPECT(try_it(1, 0) == VOLT_OK);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      message = 1;
      volt_budget_close(b);
    } else {
      ask(0, 1, 1);
      if (look(0) == VOLT_ECLOSED) EXPECT(message == 1);
    }
  }
  void check() override {
    EXPECT(look(0) == VOLT_ECLOSED && holds(1, 0));
  }
};
MODEL(budget_close_x_acquire, 2, full)

// C1: who sees that it is closed, sees what came before.
struct budget_close_x_read : budget_model {
  void thread(unsigned index) override {
    if (index == 0) {
      message = 1;
      volt_budget_close(b);
    } else if (volt_budget_is_closed(b)) {
      EXPECT(message == 1 && try_it(1, 1) == VOLT_ECLOSED);
    }
  }
};
MODEL(budget_close_x_read, 2, full)

// B4: at most k pass, whoever they are.
struct budget_two_pass : budget_model {
  int passed[2] = {VOLT_PENDING, VOLT_PENDING};
  budget_two_pass() : budget_model(1, 2, 1) {
    EXPECT(try_it(1, 0) == VOLT_OK);
    EXPECT(ask(2, 1, 0) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    passed[index] = index == 0 ? try_it(0, 1) : ask(0, 0, 1);
  }
  void check() override {
    EXPECT((passed[0] == VOLT_OK) + (look(0) == VOLT_OK) == 1);
    EXPECT(look(2) == VOLT_PENDING && holds(1, 1));
    give(1, 0);
    EXPECT(look(2) == VOLT_OK && look(0) == VOLT_OK);
  }
};
MODEL(budget_two_pass, 2, full)

// B5: what comes back for the oldest is not taken by another one, and does not come later for those that pass.
struct budget_release_x_pass : budget_model {
  budget_release_x_pass() : budget_model(2, 2, 8) {
    EXPECT(try_it(2, 0) == VOLT_OK);
    EXPECT(ask(0, 2, 1) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      give(1, 0);
      give(1, 0);
      EXPECT(look(0) == VOLT_OK);
    } else if (index == 1) {
      EXPECT(try_it(1, 0) == VOLT_EAGAIN);
    } else {
      ask(1, 0, 1);
    }
  }
  void check() override {
    EXPECT(look(0) == VOLT_OK && look(1) == VOLT_OK && holds(2, 2));
  }
};
MODEL(budget_release_x_pass, 3, bounded)
struct budget_release_x_pass_two : budget_release_x_pass {
  void thread(unsigned index) override {
    budget_release_x_pass::thread(index);
    if (index == 1) ask(1, 0, 1);
  }
};
MODEL(budget_release_x_pass_two, 2, bounded)

// Three: one releases, one gives up, one comes.
struct budget_release_x_cancel_x_acquire : budget_model {
  budget_release_x_cancel_x_acquire() : budget_model(2, 1, 1) {
    EXPECT(try_it(1, 1) == VOLT_OK);
    EXPECT(ask(0, 2, 0) == VOLT_PENDING && ask(1, 1, 1) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) give(1, 1);
    if (index == 1 && volt_budget_cancel(b, &w[0])) result[0] = VOLT_ECANCELED;
    if (index == 2) ask(2, 0, 1);
  }
  void check() override {
    uint64_t first = 0, second = 0;
    for (unsigned i = 0; i < 3; i++) {
      if (look(i) != VOLT_OK) continue;
      first += i == 0 ? 2 : i == 1;
      second += i > 0;
    }
    EXPECT(holds(first, second) && result[0] != VOLT_PENDING);
    EXPECT(result[0] == VOLT_OK || result[1] == VOLT_OK || result[2] == VOLT_OK);
  }
};
MODEL(budget_release_x_cancel_x_acquire, 3, bounded)

// A thread whose deadline passes at any moment.
struct budget_release_x_deadline : budget_model {
  int got = VOLT_PENDING;
  budget_release_x_deadline() {
    EXPECT(try_it(1, 1) == VOLT_OK);
  }
  void thread(unsigned index) override {
    if (index == 0) give(1, 1);
    if (index == 1) got = block(1, 1, 1);
  }
  void check() override {
    EXPECT(got == VOLT_OK || got == VOLT_ETIMEDOUT);
    EXPECT(holds(got == VOLT_OK, got == VOLT_OK) && volt_budget_waiters(b) == 0);
  }
};
MODEL(budget_release_x_deadline, 2, bounded)
