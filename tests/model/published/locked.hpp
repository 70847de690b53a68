// locked.hpp: the printed semaphore without a slot: mutex before CAS, release always locks.
#ifndef VOLT_PUBLISHED_LOCKED_HPP
#define VOLT_PUBLISHED_LOCKED_HPP

#include "mutex.hpp"
#include "waiter.hpp"

namespace published {

struct locked_sem {
  VOLT_ATOMIC(uint32_t) permits;
  published::mutex mutex;
  waiter_list waiters;

  explicit locked_sem(uint32_t n) : permits(n) {
  }

  bool try_acquire(uint32_t num) {
    uint32_t current = volt_load_acquire(&permits);
    while (current >= num) {
      if (volt_cas_weak_acq_rel(&permits, &current, current - num)) return true;
    }
    return false;
  }

  // Returns true: *w has all it needs; false: it is queued.
  bool acquire_wait(waiter *w) {
    uint32_t needed = volt_load_acquire(&w->state);
    if (try_acquire(needed)) {
      volt_store_release(&w->state, 0);
      return true;
    }
    mutex.lock();
    bool enough = drain(w, needed);
    if (!enough) waiters.push_front(w);
    mutex.unlock();
    return enough;
  }

  void release(uint32_t num) {
    if (num == 0) return;
    mutex.lock();
    release_locked(num);
  }

  void cancel_acquire(waiter *w) {
    if (w->is_complete()) return;
    release(cancel_under_mutex(w));
  }

 protected:
  // Under the mutex: take what there is. Returns true: it is all that *w needs.
  bool drain(waiter *w, uint32_t needed) {
    uint32_t acquired = 0;
    uint32_t curr = volt_load_acquire(&permits);
    while (acquired < needed && curr > 0) {
      uint32_t take = at_most(curr, needed - acquired);
      if (!volt_cas_weak_acq_rel(&permits, &curr, curr - take)) continue;
      acquired += take;
      curr = volt_load_acquire(&permits);
    }
    if (acquired > 0) volt_store_release(&w->state, needed - acquired);
    return acquired >= needed;
  }

  // Under the mutex, which it leaves: to the pool if nobody is listed, else to the waiters.
  void release_locked(uint32_t num) {
    if (waiters.back()) {
      release_to_waiters(num);
      return;
    }
    volt_fetch_add_release(&permits, num);
    mutex.unlock();
  }

  void release_to_waiters(uint32_t num) {
    wake_list wakers;
    uint32_t rem = num;
    while (rem > 0) {
      waiter *w = waiters.back();
      if (!w) break;
      uint32_t remaining = volt_load_relaxed(&w->state); // under the mutex
      if (remaining > 0) {
        uint32_t assign = at_most(rem, remaining);
        volt_store_release(&w->state, remaining - assign);
        rem -= assign;
        if (remaining > assign) break;
      }
      waiters.pop_back();
      wakers.push(w->copy_waker());
    }
    if (rem > 0) volt_fetch_add_release(&permits, rem);
    mutex.unlock();
    wakers.wake_all();
  }

  // Returns, under the mutex, what *w had gathered; 0 if it is complete.
  uint32_t take_out(waiter *w) {
    if (w->is_complete()) return 0;
    waiters.remove(w);
    waiter_list::reset(w);
    return w->permits_requested - volt_load_relaxed(&w->state);
  }

  uint32_t cancel_under_mutex(waiter *w) {
    mutex.lock();
    uint32_t acquired = take_out(w);
    mutex.unlock();
    return acquired;
  }
};

} // namespace published

#endif
