// notify_model: turns on a queue, through the notify. Built with batches of one waiter, so that to
// let go more than one is always more than one batch.
// Checks monitor.c I1, I2 and R1-R5, notify.c R1 and R2; a case names the race it is after.
// PROGRAM: monitors BATCH 1 MUTANTS
#include "model.hpp"
#include "poller.hpp"

// One notify, up to four waiters with a waker that counts.
struct notify_model : model {
  volt_notify *n;
  volt_waiter w[4];
  wake_count woken[4];
  int result[4] = {VOLT_ECANCELED, VOLT_ECANCELED, VOLT_ECANCELED, VOLT_ECANCELED};

  explicit notify_model(unsigned waiters) : n(new volt_notify()) {
    volt_notify_init(n);
    for (unsigned i = 0; i < waiters; i++) EXPECT(wait(i) == VOLT_PENDING);
  }
  ~notify_model() override {
    if (!n) return;
    for (volt_waiter &waiter : w) ignore_result(volt_notify_cancel(n, &waiter));
    end();
  }
  // The last user frees it: whoever still looks at it is reported.
  void end() {
    volt_notify_destroy(n);
    poison(&n->queue);
    delete n;
    n = nullptr;
  }
  int wait(unsigned i) {
    return result[i] = volt_notify_wait_waiter(n, &w[i], woken[i].waker());
  }
  // At quiescence: whether waiter i was notified. If it queued, it was woken then, once, or not.
  bool has(unsigned i) {
    if (result[i] != VOLT_PENDING) {
      EXPECT(woken[i].seen() == 0);
      return result[i] == VOLT_OK;
    }
    EXPECT(woken[i].seen() == (granted(&w[i]) ? 1u : 0u));
    return granted(&w[i]);
  }
  void cancel(unsigned i) {
    if (volt_notify_cancel(n, &w[i])) result[i] = VOLT_ECANCELED;
  }
  // At quiescence: take what is stored.
  bool take_stored() {
    volt_waiter mine;
    bool was = volt_notify_wait_waiter(n, &mine, volt_waker{nullptr, nullptr}) == VOLT_OK;
    if (!was) EXPECT(volt_notify_cancel(n, &mine));
    return was;
  }
};

// A notification meets one who begins to wait: it is woken, or takes what is stored.
struct notify_one_x_wait : notify_model {
  VOLT_PLAIN(int) message;
  notify_one_x_wait() : notify_model(0) {
  }
  void thread(unsigned index) override {
    if (index == 0) {
      message = 1;
      volt_notify_one(n);
    } else if (wait(0) == VOLT_OK || granted(&w[0])) {
      EXPECT(message == 1); // L1 <- U1, W1 <- G1
    }
  }
  void check() override {
    EXPECT(has(0) && !take_stored());
  }
};
MODEL(notify_one_x_wait, 2, full)

// R4: the outcome of a cancel is true, and the notification is somewhere.
struct notify_one_x_cancel : notify_model {
  notify_one_x_cancel() : notify_model(2) {
  }
  void thread(unsigned index) override {
    if (index == 0) volt_notify_one(n);
    if (index == 1) {
      cancel(0);
      if (result[0] == VOLT_PENDING) EXPECT(granted(&w[0]));
      poison(&w[0]);
    }
  }
  void check() override {
    EXPECT(has(0) != has(1));
    EXPECT(!take_stored());
  }
};
MODEL(notify_one_x_cancel, 2, full)

// W1 in grant.c: a cancel that came too late has waited for the grant, so that the waiter's memory
// is its owner's, who does not look again.
struct notify_cancel_then_reuse : notify_model {
  notify_cancel_then_reuse() : notify_model(1) {
  }
  void thread(unsigned index) override {
    if (index == 0) volt_notify_one(n);
    if (index == 1) {
      cancel(0);
      poison(&w[0]);
    }
  }
  void check() override {
    EXPECT(has(0) != take_stored());
  }
};
MODEL(notify_cancel_then_reuse, 2, full)

// R5: one of the two wakers is called, and set_waker() knows which.
struct notify_one_x_set_waker : notify_model {
  wake_count second;
  bool replaced = false;
  notify_one_x_set_waker() : notify_model(1) {
  }
  void thread(unsigned index) override {
    if (index == 0) volt_notify_one(n);
    if (index == 1) replaced = volt_waiter_set_waker(&w[0], second.waker());
  }
  void check() override {
    EXPECT(granted(&w[0]));
    EXPECT(woken[0].seen() == (replaced ? 0u : 1u) && second.seen() == (replaced ? 1u : 0u));
  }
};
MODEL(notify_one_x_set_waker, 2, full)

// R5: a new waker for one that has been served and is not told yet.
struct notify_all_x_set_waker : notify_model {
  wake_count second;
  bool replaced = false;
  notify_all_x_set_waker() : notify_model(2) {
  }
  void thread(unsigned index) override {
    if (index == 0) volt_notify_all(n);
    if (index == 1) replaced = volt_waiter_set_waker(&w[1], second.waker());
  }
  void check() override {
    EXPECT(has(0) && granted(&w[1]));
    EXPECT(woken[1].seen() == (replaced ? 0u : 1u) && second.seen() == (replaced ? 1u : 0u));
  }
};
MODEL(notify_all_x_set_waker, 2, bounded)

// Whatever the condition is looked at with: who makes the future first misses nothing.
struct notify_condition : notify_model {
  VOLT_ATOMIC(uint32_t) condition;
  bool all;
  explicit notify_condition(bool all_ = false) : notify_model(0), all(all_) {
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_store_relaxed(&condition, 1);
      if (all) {
        volt_notify_all(n);
      } else {
        volt_notify_one(n);
      }
      return;
    }
    volt_future f;
    volt_future_made(volt_notify_wait_future(&f, n));
    if (volt_load_relaxed(&condition) == 0) {
      EXPECT(volt_future_wait(&f) == VOLT_OK);
      EXPECT(volt_load_relaxed(&condition) == 1);
    }
  }
};
MODEL(notify_condition, 2, bounded)

struct notify_condition_all : notify_condition {
  notify_condition_all() : notify_condition(true) {
  }
};
MODEL(notify_condition_all, 2, bounded)

// A future that is dropped when it has been notified alone passes that on.
struct notify_one_x_drop : notify_model {
  volt_future f;
  poller::trace left;
  notify_one_x_drop() : notify_model(0) {
    poller *p = new poller(&left);
    EXPECT(p->poll(volt_notify_wait_future(&f, n)) == VOLT_PENDING);
    EXPECT(p->end() == 1);
    EXPECT(wait(0) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) volt_notify_one(n);
    if (index == 1) {
      volt_future_cancel(&f);
      poison(&f.waiter);
    }
  }
  void check() override {
    EXPECT(has(0) && !take_stored() && left.gone(1));
  }
};
MODEL(notify_one_x_drop, 2, bounded)

// And nothing of the kind if everybody was.
struct notify_all_x_drop : notify_one_x_drop {
  void thread(unsigned index) override {
    if (index == 0) volt_notify_all(n);
    if (index == 1) volt_future_cancel(&f);
  }
};
MODEL(notify_all_x_drop, 2, bounded)

// I2, R3: a waiter leaves while everybody is told: it was in time, or its wake comes.
struct notify_all_x_cancel : notify_model {
  notify_all_x_cancel() : notify_model(3) {
  }
  void thread(unsigned index) override {
    if (index == 0) volt_notify_all(n);
    if (index == 1) {
      bool first_is_told = granted(&w[0]);
      cancel(2);
      if (first_is_told) EXPECT(result[2] == VOLT_PENDING); // the same notification is both's
      if (result[2] == VOLT_PENDING) EXPECT(granted(&w[2]));
      poison(&w[2]);
    }
  }
  void check() override {
    EXPECT(has(0) && has(1));
    EXPECT(woken[2].seen() == (result[2] == VOLT_PENDING ? 1u : 0u));
    EXPECT(volt_notify_waiters(n) == 0);
  }
};
MODEL(notify_all_x_cancel, 2, bounded)

// R1: who begins to wait after a notification waits for the next one.
struct notify_all_x_newcomer : notify_model {
  bool queued = false;
  notify_all_x_newcomer() : notify_model(2) {
  }
  void thread(unsigned index) override {
    if (index == 0) volt_notify_all(n);
    if (index == 1 && granted(&w[0])) {
      queued = true;
      EXPECT(wait(2) == VOLT_PENDING);
    }
  }
  void check() override {
    EXPECT(has(0) && has(1) && !has(2));
    EXPECT(volt_notify_waiters(n) == (queued ? 1u : 0u));
  }
};
MODEL(notify_all_x_newcomer, 2, bounded)

// R1: a single notification does not go to one who has been served.
struct notify_all_x_one : notify_model {
  bool after = false;
  notify_all_x_one() : notify_model(2) {
  }
  void thread(unsigned index) override {
    if (index == 0) volt_notify_all(n);
    if (index == 1) {
      after = granted(&w[0]);
      volt_notify_one(n);
    }
  }
  void check() override {
    bool stored = take_stored();
    EXPECT(has(0) && has(1));
    if (after) EXPECT(stored);
  }
};
MODEL(notify_all_x_one, 2, bounded)

// R1: two who notify everybody, and one who comes between.
struct notify_all_x_all : notify_model {
  notify_all_x_all() : notify_model(2) {
  }
  void thread(unsigned index) override {
    if (index == 0) volt_notify_all(n);
    if (index == 1) {
      if (granted(&w[0])) wait(2);
      volt_notify_all(n);
    }
  }
  void check() override {
    EXPECT(has(0) && has(1) && (has(2) || result[2] == VOLT_ECANCELED));
    EXPECT(volt_notify_waiters(n) == 0);
  }
};
MODEL(notify_all_x_all, 2, bounded)

// R2: nobody is left to be told, and it is freed, while the opener is away.
struct notify_all_x_free : notify_model {
  notify_all_x_free() : notify_model(2) {
  }
  void thread(unsigned index) override {
    if (index == 0) volt_notify_all(n);
    if (index == 1 && granted(&w[0])) {
      EXPECT(!volt_notify_cancel(n, &w[1])); // R3: tells it
      end();
    }
  }
};
MODEL(notify_all_x_free, 2, bounded)

// R2: the same when one of them has not been told yet. It does not have to be: it is served.
struct notify_all_x_free_early : notify_model {
  notify_all_x_free_early() : notify_model(2) {
  }
  void thread(unsigned index) override {
    if (index == 0) volt_notify_all(n);
    if (index == 1 && granted(&w[0])) end();
  }
};
MODEL(notify_all_x_free_early, 2, bounded)

// R2: the waiter that is told is the last user. Nothing comes after it is told.
struct notify_one_x_free : notify_model {
  notify_one_x_free() : notify_model(1) {
  }
  void thread(unsigned index) override {
    if (index == 0) volt_notify_one(n);
    if (index == 1) {
      cancel(0);
      if (result[0] == VOLT_PENDING) end();
    }
  }
};
MODEL(notify_one_x_free, 2, full)

// A thread waits, and gives up at any moment.
struct notify_one_x_deadline : notify_model {
  int blocked = VOLT_PENDING;
  notify_one_x_deadline() : notify_model(0) {
  }
  void thread(unsigned index) override {
    if (index == 0) volt_notify_one(n);
    if (index == 1) blocked = volt_notify_wait_until(n, 1);
  }
  void check() override {
    EXPECT(blocked == VOLT_OK || blocked == VOLT_ETIMEDOUT);
    EXPECT(take_stored() == (blocked == VOLT_ETIMEDOUT));
  }
};
MODEL(notify_one_x_deadline, 2, bounded)

// R1: a single notification comes while one waits behind those whom an earlier one has served: they
// are gone before it looks for the oldest.
struct notify_all_x_wait_x_one : notify_model {
  notify_all_x_wait_x_one() : notify_model(3) {
  }
  void thread(unsigned index) override {
    if (index == 0) volt_notify_all(n);
    if (index == 1) wait(3);
    if (index == 2) volt_notify_one(n);
  }
  void check() override {
    if (!has(3)) EXPECT(!take_stored());
  }
};
MODEL(notify_all_x_wait_x_one, 3, bounded)
