// channel.hpp: the channel of "Fast Waiter Slot" (docs/errata.md): a ring, and for each side a fast
// slot, a flag and a list of waiters. What the text leaves to its reader is filled with what is
// right: the ring, the mutex, and that a waiter that is woken and finds nothing waits again. The
// ring has one place.
#ifndef VOLT_PUBLISHED_CHANNEL_HPP
#define VOLT_PUBLISHED_CHANNEL_HPP

#include "mutex.hpp"
#include "waiter.hpp"

namespace published {

// With the orders of the text; or with those that were shipped (errata E11).
struct printed_orders {
  static void raise(VOLT_ATOMIC(uint32_t) *flag) {
    (void)volt_exchange_seq_cst(flag, 1);
  }
  static bool is_raised(VOLT_ATOMIC(uint32_t) *flag) {
    return volt_load_seq_cst(flag) != 0;
  }
  static void publish(VOLT_ATOMIC(uint32_t) *turn, uint32_t now) {
    (void)volt_exchange_seq_cst(turn, now);
  }
  static uint32_t turn_of(VOLT_ATOMIC(uint32_t) *turn) {
    return volt_load_seq_cst(turn);
  }
};

struct shipped_orders {
  static void raise(VOLT_ATOMIC(uint32_t) *flag) {
    volt_store_release(flag, 1);
  }
  static bool is_raised(VOLT_ATOMIC(uint32_t) *flag) {
    return volt_load_acquire(flag) != 0;
  }
  static void publish(VOLT_ATOMIC(uint32_t) *turn, uint32_t now) {
    volt_store_release(turn, now);
  }
  static uint32_t turn_of(VOLT_ATOMIC(uint32_t) *turn) {
    return volt_load_acquire(turn);
  }
};

// One place: filled when its turn is odd.
template <typename orders>
struct ring_of_one {
  VOLT_ATOMIC(uint32_t) turn;
  VOLT_ATOMIC(uint32_t) tail;
  VOLT_ATOMIC(uint32_t) head;
  VOLT_PLAIN(uint32_t) value;

  bool push(uint32_t v) {
    uint32_t at = volt_load_relaxed(&tail);
    if (orders::turn_of(&turn) != 2 * at) return false;
    if (!volt_cas_relaxed(&tail, &at, at + 1)) return false;
    value = v;
    orders::publish(&turn, 2 * at + 1);
    return true;
  }
  bool pop(uint32_t *v) {
    uint32_t at = volt_load_relaxed(&head);
    if (orders::turn_of(&turn) != 2 * at + 1) return false;
    if (!volt_cas_relaxed(&head, &at, at + 1)) return false;
    *v = value;
    orders::publish(&turn, 2 * at + 2);
    return true;
  }
};

// The waiters of one side.
template <typename orders>
struct channel_side {
  VOLT_ATOMIC(uint32_t) has_waiters;
  VOLT_ATOMIC(waiter *) fast_waiter;
  waiter_list waiters;
};

template <typename orders, bool slots>
struct channel {
  ring_of_one<orders> ring;
  published::mutex mutex;
  channel_side<orders> send_side, recv_side;

  bool try_send(uint32_t value) {
    if (!ring.push(value)) return false;
    wake_one(&recv_side);
    return true;
  }
  bool try_recv(uint32_t *value) {
    if (!ring.pop(value)) return false;
    wake_one(&send_side);
    return true;
  }

  // Returns true: received at once, into *value; false: *w waits.
  bool recv_wait(waiter *w, uint32_t *value) {
    mutex.lock();
    orders::raise(&recv_side.has_waiters);
    bool received = ring.pop(value); // looked at again
    if (!received) link(&recv_side, w);
    lower_if_empty(&recv_side);
    mutex.unlock();
    if (received) wake_one(&send_side);
    return received;
  }

  // Returns true: sent at once; false: *w waits, and nobody has the value but its owner.
  bool send_wait(waiter *w, uint32_t value) {
    mutex.lock();
    orders::raise(&send_side.has_waiters);
    bool sent = ring.push(value);
    if (!sent) link(&send_side, w);
    lower_if_empty(&send_side);
    mutex.unlock();
    if (sent) wake_one(&recv_side);
    return sent;
  }

 private:
  void link(channel_side<orders> *side, waiter *w) {
    waiter *seen = nullptr;
    if (slots && volt_cas_release(&side->fast_waiter, &seen, w)) return;
    side->waiters.push_front(w);
  }
  // With slots the flag stays raised, as nothing in the text lowers it for who is in one.
  void lower_if_empty(channel_side<orders> *side) {
    if (!slots && !side->waiters.back()) volt_store_release(&side->has_waiters, 0);
  }
  static void complete(waiter *w) {
    volt_waker waker = w->copy_waker();
    volt_store_release(&w->state, 0);
    waker.wake(waker.ctx);
  }
  // 2. the fast slot, 3. the flag; the mutex, and then the list alone.
  void wake_one(channel_side<orders> *side) {
    waiter *w = slots ? volt_exchange_acq_rel(&side->fast_waiter, nullptr) : nullptr;
    if (w) {
      complete(w);
      return;
    }
    if (!orders::is_raised(&side->has_waiters)) return;
    mutex.lock();
    w = side->waiters.back();
    if (w) side->waiters.pop_back();
    lower_if_empty(side);
    mutex.unlock();
    if (w) complete(w);
  }
};

} // namespace published

#endif
