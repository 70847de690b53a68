// promise_model: a result that comes from elsewhere, and a future that may give up.
// Checks promise.c R1 to R3; a case names the race it is after.
// PROGRAM: monitors
#include "core/future/future_ops.h"
#include "model.hpp"

enum { RESULT = VOLT_EINVAL };

// The promise, and the model that it is of.
struct promise_of_model {
  volt_promise p;
  struct promise_model *model;
};

struct promise_model : model, promise_of_model {
  volt_future f;
  wake_count woken;
  VOLT_PLAIN(int) message;
  VOLT_PLAIN(int) discarded;
  VOLT_ATOMIC(uint32_t) owner; // of the operation: taken by who completes it, or stops it
  bool stopped = false;
  int result = VOLT_PENDING;

  explicit promise_model(const volt_promise_ops *ops) {
    message = 0;
    discarded = 0;
    promise_of_model::model = this;
    volt_promise_init(&p, ops);
    volt_future_made(volt_promise_future(&f, &p));
  }
  static promise_model *of(volt_promise *p) {
    return volt_container_of(p, promise_of_model, p)->model;
  }
  static int start(volt_promise *) {
    return VOLT_PENDING;
  }
  static bool stop(volt_promise *p) {
    return of(p)->stopped = volt_exchange_acq_rel(&of(p)->owner, 1) == 0;
  }
  static void discard(volt_promise *p, int result) {
    EXPECT(result == (of(p)->stopped ? (int)VOLT_ECANCELED : (int)RESULT));
    EXPECT(of(p)->message == (of(p)->stopped ? 0 : 1));
    of(p)->discarded += 1;
    of(p)->free_it();
  }
  void free_it() { // whoever still uses it is reported
    p.ops = nullptr;
    p.state = 0xdead;
    p.result = 0;
    poison(&p.queue);
  }
  void complete() {
    message = 1;
    volt_promise_complete(&p, RESULT);
  }
  void complete_unless_stopped() {
    if (volt_exchange_acq_rel(&owner, 1) == 0) complete();
  }
  int poll() {
    return volt_future_poll(&f, woken.waker());
  }
};

// R2: it is awaited and freed while it is completed.
struct promise_await_x_complete : promise_model {
  promise_await_x_complete() : promise_model(nullptr) {
  }
  void thread(unsigned index) override {
    if (index == 1) return complete();
    result = volt_future_wait(&f);
    EXPECT(result == RESULT && message == 1);
    free_it();
  }
};
MODEL(promise_await_x_complete, 2, bounded)

// Polled while it completes: ready, or woken once.
struct promise_poll_x_complete : promise_model {
  promise_poll_x_complete() : promise_model(nullptr) {
  }
  void thread(unsigned index) override {
    if (index == 1) return complete();
    result = poll();
    if (result == RESULT) EXPECT(message == 1);
  }
  void check() override {
    EXPECT(woken.seen() == (result == VOLT_PENDING ? 1u : 0u));
    EXPECT(poll() == RESULT);
  }
};
MODEL(promise_poll_x_complete, 2, full)

// R1: given up while it completes: discarded once, by whoever is later.
struct promise_drop_x_complete : promise_model {
  static constexpr volt_promise_ops ops = {start, nullptr, discard};
  promise_drop_x_complete() : promise_model(&ops) {
    EXPECT(poll() == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 1) return complete();
    volt_future_cancel(&f);
    poison(&f.waiter);
  }
  void check() override {
    EXPECT(discarded == 1 && woken.seen() <= 1);
  }
};
MODEL(promise_drop_x_complete, 2, full)

// R1: the same, and the result is kept for another future.
struct promise_drop_keeps : promise_model {
  static constexpr volt_promise_ops ops = {start, nullptr, nullptr};
  promise_drop_keeps() : promise_model(&ops) {
    EXPECT(poll() == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 1) return complete();
    volt_future_cancel(&f);
    volt_future_made(volt_promise_future(&f, &p));
    result = poll();
  }
  void check() override {
    EXPECT(poll() == RESULT);
  }
};
MODEL(promise_drop_keeps, 2, bounded)

// R3: a poll has taken the result, and its select has lost: the next future gets it.
struct promise_undo_x_complete : promise_model {
  static constexpr volt_promise_ops ops = {start, nullptr, nullptr};
  promise_undo_x_complete() : promise_model(&ops) {
    EXPECT(poll() == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 1) {
      message = 1;
      volt_promise_complete(&p, VOLT_OK);
      return;
    }
    result = poll();
    if (result == VOLT_PENDING) {
      volt_future_cancel(&f);
    } else {
      EXPECT(result == VOLT_OK && message == 1);
      volt_future_undo_(&f);
    }
  }
  void check() override {
    EXPECT(volt_future_result_(&f) == VOLT_ECANCELED);
    volt_future_made(volt_promise_future(&f, &p));
    EXPECT(poll() == VOLT_OK && message == 1);
  }
};
MODEL(promise_undo_x_complete, 2, full)

// The operation is stopped, or completes: never both, and it ends once.
struct promise_stop_x_complete : promise_model {
  static constexpr volt_promise_ops ops = {start, stop, discard};
  promise_stop_x_complete() : promise_model(&ops) {
    EXPECT(poll() == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 1) return complete_unless_stopped();
    volt_future_cancel(&f);
  }
  void check() override {
    EXPECT(discarded == 1 && (message == 1) != stopped);
  }
};
MODEL(promise_stop_x_complete, 2, bounded)
