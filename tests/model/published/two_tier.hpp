// two_tier.hpp: the printed semaphore with two tiers: that of locked.hpp, and a slot for one waiter
// that a release looks at before it takes the mutex.
#ifndef VOLT_PUBLISHED_TWO_TIER_HPP
#define VOLT_PUBLISHED_TWO_TIER_HPP

#include "locked.hpp"

namespace published {

struct two_tier_sem : locked_sem {
  VOLT_ATOMIC(waiter *) fast_waiter;

  explicit two_tier_sem(uint32_t n) : locked_sem(n) {
  }

  // As acquire_wait, for a caller whose try_acquire has just failed.
  bool acquire_wait_direct(waiter *w) {
    uint32_t needed = volt_load_acquire(&w->state);
    mutex.lock();
    bool enough = drain(w, needed);
    if (!enough && !into_slot(w)) waiters.push_front(w);
    mutex.unlock();
    return enough;
  }

  void release(uint32_t num) {
    if (num == 0) return;
    waiter *w = swap_out();
    if (w) {
      release_to_slot(w, num);
      return;
    }
    mutex.lock();
    release_locked(num);
  }

  void cancel_acquire(waiter *w) {
    if (w->is_complete()) return;
    waiter *seen = w;
    if (volt_cas_acq_rel(&fast_waiter, &seen, nullptr)) {
      release(w->permits_requested - volt_load_relaxed(&w->state));
      return;
    }
    release(cancel_under_mutex(w));
  }

 protected:
  waiter *swap_out() {
    return volt_exchange_acq_rel(&fast_waiter, nullptr);
  }

  bool into_slot(waiter *w) {
    waiter *seen = nullptr;
    return volt_cas_release(&fast_waiter, &seen, w);
  }

  // *w has been swapped out of the slot.
  void release_to_slot(waiter *w, uint32_t num) {
    volt_waker waker = w->copy_waker();
    uint32_t remaining = volt_load_relaxed(&w->state);
    if (num >= remaining) {
      volt_store_release(&w->state, 0);
      if (num > remaining) release_surplus(num - remaining);
      waker.wake(waker.ctx);
      return;
    }
    volt_store_release(&w->state, remaining - num);
    if (into_slot(w)) return;
    mutex.lock();
    waiters.push_front(w);
    mutex.unlock();
  }

  void release_surplus(uint32_t surplus) {
    mutex.lock();
    release_locked(surplus);
  }
};

} // namespace published

#endif
