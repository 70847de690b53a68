// mutex.hpp: the lock that the published forms take as given: a word and its futex.
#ifndef VOLT_PUBLISHED_MUTEX_HPP
#define VOLT_PUBLISHED_MUTEX_HPP

#include "core/os/futex.h"
#include "model.hpp"

namespace published {

class mutex {
 public:
  void lock() {
    uint32_t seen = FREE;
    if (volt_cas_acquire(&word_, &seen, LOCKED)) return;      // L1: pairs U1
    while (volt_exchange_acquire(&word_, SLEEPERS) != FREE) { // L1: pairs U1
      volt_futex_wait32_(&word_, SLEEPERS, VOLT_NO_DEADLINE);
    }
  }

  void unlock() {
    if (volt_exchange_release(&word_, FREE) == SLEEPERS) { // U1: pairs L1
      volt_futex_wake32_(&word_, 1);
    }
  }

 private:
  enum : uint32_t { FREE = 0, LOCKED = 1, SLEEPERS = 2 };
  VOLT_ATOMIC(uint32_t) word_;
};

} // namespace published

#endif
