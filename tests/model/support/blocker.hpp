// blocker.hpp: a poller that sleeps on a parker between two polls, as volt_future_wait_until()
// does. A model may let it poll once before its threads run, so the future is queued when they begin.
#ifndef VOLT_BLOCKER_HPP
#define VOLT_BLOCKER_HPP

#include "model.hpp"

class blocker {
 public:
  blocker() {
    volt_waker waker = volt_parker_waker(&parker_);
    volt_ctx fresh = VOLT_CTX_INIT(waker);
    ctx = fresh;
    ctx.drop = unpark;
    ctx.budget = VOLT_CTX_BUDGET_MAX_;
  }
  int poll(volt_future *f) {
    return volt_future_poll_ctx(f, &ctx);
  }
  // Its last poll was pending: sleep until a wake, poll, and so on. A wake that is lost is a
  // deadlock, which the checker reports.
  int await(volt_future *f) {
    for (;;) {
      volt_park_until(&parker_, ++seen_, VOLT_NO_DEADLINE);
      int result = poll(f);
      if (result != VOLT_PENDING) return result;
    }
  }
  int poll_or_await(volt_future *f) {
    int result = poll(f);
    return result == VOLT_PENDING ? await(f) : result;
  }
  // At quiescence: one wake or one drop for each registration.
  bool settled() {
    return volt_unparks_since_(&parker_, 0) == ctx.registered;
  }

  volt_ctx ctx;

 private:
  static void unpark(void *parker) {
    volt_unpark(static_cast<volt_parker *>(parker));
  }

  volt_parker parker_;
  uint32_t seen_ = 0;
};

// A model for one bound of bypasses.
template <class Model, uint32_t k>
struct with_bypass : Model {
  with_bypass() : Model(k) {
  }
};

#endif
