// waiter.hpp: the published waiter, its list, and the wakers collected on the way through it.
//
// Names, order of steps and memory orders here and in the headers beside it are those of the
// published text; "..." in that text is filled with what its prose says. One difference: a failed
// compare-and-swap orders nothing (published: acquire). It leads to another one or to the mutex.
#ifndef VOLT_PUBLISHED_WAITER_HPP
#define VOLT_PUBLISHED_WAITER_HPP

#include "model.hpp"

namespace published {

struct waiter {
  VOLT_ATOMIC(uint32_t) state; // permits still needed; 0: complete
  VOLT_PLAIN(uint32_t) permits_requested;
  VOLT_PLAIN(volt_wake_fn) waker;
  VOLT_PLAIN(void *) waker_ctx;
  VOLT_PLAIN(waiter *) prev;
  VOLT_PLAIN(waiter *) next;

  waiter(uint32_t n, volt_waker w)
      : state(n), permits_requested(n), waker(w.wake), waker_ctx(w.ctx) {
  }

  bool is_complete() {
    return volt_load_acquire(&state) == 0;
  }
  volt_waker copy_waker() {
    return volt_waker{waker, waker_ctx};
  }
};

// As poison() of the library's waiter.
inline void poison(waiter *w) {
  w->prev = nullptr;
  w->next = nullptr;
  w->waker = nullptr;
  w->waker_ctx = nullptr;
  w->permits_requested = 0xdead;
}

// Pushed at the front, served from the back.
struct waiter_list {
  VOLT_PLAIN(waiter *) head;
  VOLT_PLAIN(waiter *) tail;

  waiter *back() {
    return tail;
  }

  void push_front(waiter *w) {
    w->prev = nullptr;
    w->next = head;
    if (head) {
      head->prev = w;
    } else {
      tail = w;
    }
    head = w;
  }

  void pop_back() {
    waiter *w = tail;
    remove(w);
    reset(w);
  }

  void remove(waiter *w) {
    if (w->prev) {
      w->prev->next = w->next;
    } else {
      head = w->next;
    }
    if (w->next) {
      w->next->prev = w->prev;
    } else {
      tail = w->prev;
    }
  }

  static void reset(waiter *w) {
    w->prev = nullptr;
    w->next = nullptr;
  }
};

struct wake_list {
  volt_waker wakers[4];
  unsigned count = 0;

  void push(volt_waker w) {
    EXPECT(count < 4);
    wakers[count++] = w;
  }
  void wake_all() {
    for (unsigned i = 0; i < count; i++) wakers[i].wake(wakers[i].ctx);
  }
};

inline uint32_t at_most(uint32_t a, uint32_t b) {
  return a < b ? a : b;
}

} // namespace published

#endif
