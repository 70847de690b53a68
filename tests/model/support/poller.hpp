// poller.hpp: whoever polls with a volt_ctx; on the heap, and gone when all that it has registered
// is settled.
#ifndef VOLT_POLLER_HPP
#define VOLT_POLLER_HPP

#include "model.hpp"

// future.c I1: each registration is settled by one wake or one drop. The poller is freed by whoever
// settles the last, or by end() if that comes later; who touches it afterwards, or settles one
// more, is reported. One that is owed something for ever is what check() finds by gone().
//
// A model makes its pollers before its threads run: one at an address that another thread has freed
// would be taken for the old one, since in the checker a free() and a malloc() order nothing.
class poller {
 public:
  // What is left of it: the owner's, of the model.
  struct trace {
    VOLT_PLAIN(uint32_t) freed;
    VOLT_PLAIN(uint32_t) wakes;
    VOLT_PLAIN(uint32_t) drops;
    bool gone(uint32_t wakes_, uint32_t drops_) {
      return freed == 1 && wakes == wakes_ && drops == drops_;
    }
    // However they were divided.
    bool gone(uint32_t registered) {
      return freed == 1 && wakes + drops == registered;
    }
  };

  explicit poller(trace *left) : left_(left), alive_(1u) {
    volt_waker waker = {wake, this};
    volt_ctx fresh = VOLT_CTX_INIT(waker);
    ctx = fresh;
    ctx.drop = drop;
    ctx.budget = VOLT_CTX_BUDGET_MAX_;
  }
  int poll(volt_future *f) {
    return volt_future_poll_ctx(f, &ctx);
  }
  // It will not poll again, and this is the owner's last access. Returns how many it is owed.
  uint32_t end() {
    uint32_t registered = ctx.registered;
    settle(ended | registered << 16);
    return registered;
  }

  volt_ctx ctx;

 private:
  enum : uint32_t { one_wake = 1, one_drop = 1 << 8, ended = 1u << 31 };

  static void wake(void *p) {
    static_cast<poller *>(p)->settle(one_wake);
  }
  static void drop(void *p) {
    static_cast<poller *>(p)->settle(one_drop);
  }
  // Bits 0-7: wakes; 8-15: drops; from 16 on, once it has ended: registered.
  void settle(uint32_t what) {
    EXPECT(alive_ == 1);
    uint32_t word = volt_fetch_add_acq_rel(&word_, what) + what;
    if (!(word & ended)) return;
    uint32_t wakes = word & 0xff, drops = word >> 8 & 0xff, registered = word >> 16 & 0xff;
    EXPECT(wakes + drops <= registered);
    if (wakes + drops < registered) return;
    left_->freed += 1;
    left_->wakes = wakes;
    left_->drops = drops;
    alive_ = 0; // whoever still reads it is reported
    delete this;
  }

  trace *left_;
  VOLT_PLAIN(uint32_t) alive_;
  VOLT_ATOMIC(uint32_t) word_;
};

#endif
