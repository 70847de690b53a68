// once_model: one does it, the others wait. In batches of one waiter.
// Checks once.c I1 and T1, and monitor.c R1-R4 once more.
// PROGRAM: monitors
#include "model.hpp"
#include "poller.hpp"

// One once, up to three waiters with a waker that counts, and what is to be done.
struct once_model : model {
  volt_once *o;
  volt_waiter w[3];
  wake_count woken[3];
  int result[3] = {VOLT_ECANCELED, VOLT_ECANCELED, VOLT_ECANCELED};
  VOLT_PLAIN(int) value;    // what is done
  VOLT_PLAIN(int) attempts; // only by whoever has the turn
  int must_fail = 0;        // so many attempts

  once_model() : o(new volt_once()) {
    volt_once_init(o);
  }
  ~once_model() override {
    if (o) end();
  }
  void end() {
    volt_once_destroy(o);
    poison(&o->queue);
    delete o;
    o = nullptr;
  }
  int begin(unsigned i) {
    return result[i] = volt_once_begin_waiter(o, &w[i], woken[i].waker());
  }
  // By the owner of waiter i.
  int now(unsigned i) {
    return result[i] == VOLT_PENDING ? volt_once_result(&w[i]) : result[i];
  }
  void expect_woken_if_told(unsigned i) {
    bool told = result[i] == VOLT_PENDING && now(i) != VOLT_PENDING && now(i) != VOLT_ECANCELED;
    EXPECT(woken[i].seen() == (told ? 1u : 0u));
  }
  static int do_it(void *arg) {
    once_model *self = static_cast<once_model *>(arg);
    self->attempts += 1;
    if (self->attempts <= self->must_fail) return VOLT_ENOMEM;
    EXPECT(self->value == 0);
    self->value = 1;
    return VOLT_OK;
  }
};

// It is done once, and whoever returns sees it.
struct once_two_calls : once_model {
  void thread(unsigned) override {
    EXPECT(volt_once_call(o, do_it, this) == VOLT_OK);
    EXPECT(value == 1);
  }
  void check() override {
    EXPECT(attempts == 1 && volt_once_is_done(o) && volt_once_waiters(o) == 0);
  }
};
MODEL(once_two_calls, 2, bounded)

// The first one fails, and the other one's turn has come, or comes.
struct once_call_fails : once_model {
  int called[2];
  once_call_fails() {
    must_fail = 1;
  }
  void thread(unsigned index) override {
    called[index] = volt_once_call(o, do_it, this);
    if (called[index] == VOLT_OK) EXPECT(value == 1);
  }
  void check() override {
    EXPECT((called[0] == VOLT_OK) != (called[1] == VOLT_OK));
    EXPECT(attempts == 2 && volt_once_is_done(o));
  }
};
MODEL(once_call_fails, 2, bounded)

// T1: who finds it done sees what was done.
struct once_done_x_is_done : once_model {
  once_done_x_is_done() {
    EXPECT(begin(0) == VOLT_OK);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      value = 1;
      volt_once_done(o);
    } else if (volt_once_is_done(o)) {
      EXPECT(value == 1);
    }
  }
};
MODEL(once_done_x_is_done, 2, full)

struct once_done_x_begin : once_model {
  once_done_x_begin() {
    EXPECT(begin(0) == VOLT_OK);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      value = 1;
      volt_once_done(o);
    } else {
      begin(1);
      if (now(1) == VOLT_DONE) EXPECT(value == 1);
    }
  }
  void check() override {
    EXPECT(now(1) == VOLT_DONE);
    expect_woken_if_told(1);
  }
};
MODEL(once_done_x_begin, 2, full)

// The turn is not lost: it goes to one who begins, before or after.
struct once_failed_x_begin : once_model {
  once_failed_x_begin() {
    EXPECT(begin(0) == VOLT_OK);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      value = 1;
      volt_once_failed(o);
    } else {
      begin(1);
      if (now(1) == VOLT_OK) EXPECT(value == 1);
    }
  }
  void check() override {
    EXPECT(now(1) == VOLT_OK);
    expect_woken_if_told(1);
    volt_once_done(o);
  }
};
MODEL(once_failed_x_begin, 2, full)

// R4: the turn meets one who gives up: it is its own to end, or the next one's.
struct once_failed_x_cancel : once_model {
  once_failed_x_cancel() {
    EXPECT(begin(0) == VOLT_OK && begin(1) == VOLT_PENDING && begin(2) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_once_failed(o);
    } else if (volt_once_cancel(o, &w[1])) {
      EXPECT(volt_once_result(&w[1]) == VOLT_ECANCELED);
      result[1] = VOLT_ECANCELED;
    } else {
      EXPECT(volt_once_result(&w[1]) == VOLT_OK);
      volt_once_failed(o); // pass it on
    }
  }
  void check() override {
    EXPECT(now(2) == VOLT_OK && volt_once_waiters(o) == 0);
    expect_woken_if_told(1);
    expect_woken_if_told(2);
    volt_once_done(o);
  }
};
MODEL(once_failed_x_cancel, 2, bounded)

// R3: it is done, and one who has not been told yet gives up.
struct once_done_x_cancel : once_model {
  once_done_x_cancel() {
    EXPECT(begin(0) == VOLT_OK && begin(1) == VOLT_PENDING && begin(2) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) volt_once_done(o);
    if (index == 1) {
      bool was_done = volt_once_is_done(o);
      bool cancelled = volt_once_cancel(o, &w[2]);
      if (was_done) EXPECT(!cancelled);
      EXPECT(volt_once_result(&w[2]) == (cancelled ? VOLT_ECANCELED : VOLT_DONE));
    }
  }
  void check() override {
    EXPECT(now(1) == VOLT_DONE && volt_once_waiters(o) == 0);
    expect_woken_if_told(1);
    expect_woken_if_told(2);
  }
};
MODEL(once_done_x_cancel, 2, bounded)

// A future that is dropped when its turn has come passes it on.
struct once_failed_x_drop : once_model {
  volt_future f;
  poller::trace left;
  once_failed_x_drop() {
    EXPECT(begin(0) == VOLT_OK);
    poller *p = new poller(&left);
    EXPECT(p->poll(volt_once_begin_future(&f, o)) == VOLT_PENDING);
    EXPECT(p->end() == 1);
    EXPECT(begin(2) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) volt_once_failed(o);
    if (index == 1) {
      volt_future_cancel(&f);
      poison(&f.waiter);
    }
  }
  void check() override {
    EXPECT(now(2) == VOLT_OK && left.gone(1));
    expect_woken_if_told(2);
    volt_once_done(o);
  }
};
MODEL(once_failed_x_drop, 2, bounded)

// A thread whose deadline passes at any moment: it has the turn, or has not.
struct once_failed_x_deadline : once_model {
  int blocked = VOLT_PENDING;
  once_failed_x_deadline() {
    EXPECT(begin(0) == VOLT_OK);
  }
  void thread(unsigned index) override {
    if (index == 0) volt_once_failed(o);
    if (index == 1) {
      blocked = volt_once_begin_until(o, 1);
      if (blocked == VOLT_OK) volt_once_failed(o);
    }
  }
  void check() override {
    EXPECT(blocked == VOLT_OK || blocked == VOLT_ETIMEDOUT);
    EXPECT(begin(1) == VOLT_OK); // it is nobody's
    volt_once_done(o);
  }
};
MODEL(once_failed_x_deadline, 2, bounded)

// R2 of monitor.c: the first to be told that it is done frees it.
struct once_done_x_free : once_model {
  once_done_x_free() {
    EXPECT(begin(0) == VOLT_OK && begin(1) == VOLT_PENDING && begin(2) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_once_done(o);
    } else if (now(1) == VOLT_DONE) {
      end();
    }
  }
  void check() override {
    EXPECT(now(1) == VOLT_DONE && now(2) == VOLT_DONE);
  }
};
MODEL(once_done_x_free, 2, bounded)
