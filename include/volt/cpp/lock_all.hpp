/* lock_all.hpp: volt/lock_all.h in C++: several mutexes and semaphores, locked together, and the guard of them.
 *
 *   auto held = volt::lock_all(from.lock, to.lock).wait_for(50ms);           or throws volt::timed_out
 *   auto more = co_await volt::lock_all(m, volt::permits_of(pool, 2));       a coroutine */
#ifndef VOLT_CPP_LOCK_ALL_HPP
#define VOLT_CPP_LOCK_ALL_HPP

#include <array>
#include <type_traits>
#include <utility>

#include "../lock_all.h"
#include "mutex.hpp"
#include "operation.hpp"
#include "semaphore.hpp"

namespace volt {

/* The one that holds N objects. It may be moved, also to another thread. */
template <size_t N>
class [[nodiscard]] all_locks {
 public:
  all_locks() noexcept = default;
  /* Take over what the caller has locked. */
  all_locks(const std::array<volt_lockable, N> &items, adopt_t) noexcept
      : items_(items), holds_(true) {
  }
  all_locks(all_locks &&other) noexcept
      : items_(other.items_), holds_(std::exchange(other.holds_, false)) {
  }
  all_locks &operator=(all_locks &&other) noexcept {
    if (this == &other) return *this;
    unlock();
    items_ = other.items_;
    holds_ = std::exchange(other.holds_, false);
    return *this;
  }
  ~all_locks() {
    unlock();
  }
  explicit operator bool() const noexcept {
    return holds_;
  }
  /* Unlock all of them now. */
  void unlock() noexcept {
    if (std::exchange(holds_, false)) volt_unlock_all(items_.data(), N);
  }

 private:
  std::array<volt_lockable, N> items_{};
  bool holds_ = false;
};

/* What volt::lock_all() returns. */
template <size_t N>
class [[nodiscard, gnu::warn_unused]] lock_all_operation
    : public operation<lock_all_operation<N>, volt::all_locks<N>, volt_lock_all_op> {
 public:
  static constexpr bool tries = true;
  explicit lock_all_operation(const std::array<volt_lockable, N> &items) noexcept : items_(items) {
  }
  int try_now() noexcept {
    return volt_try_lock_all(items_.data(), N);
  }
  volt_future *begin(volt_lock_all_op & op) noexcept {
    return volt_lock_all_future(&op, items_.data(), N); /* it does not move from now on */
  }
  int block(volt_lock_all_op &, uint64_t deadline_ns) noexcept {
    return volt_lock_all_until(items_.data(), N, deadline_ns);
  }
  volt::all_locks<N> take(int, volt_lock_all_op &) noexcept {
    return volt::all_locks<N>(items_, adopt);
  }

 private:
  std::array<volt_lockable, N> items_;
};

/* n permits of a semaphore, for volt::lock_all(). */
inline volt_lockable permits_of(semaphore &s, uint32_t n = 1) noexcept {
  return volt_lockable{nullptr, s.c(), n};
}

/* Private. */
inline volt_lockable lockable_(mutex &m) noexcept {
  return volt_lockable{m.c(), nullptr, 0};
}
inline volt_lockable lockable_(const volt_lockable &item) noexcept {
  return item;
}

/* Private: what can be locked so. */
template <class Item, class = void>
struct is_lockable_ : std::false_type {};
template <class Item>
struct is_lockable_<Item, std::void_t<decltype(lockable_(std::declval<Item &>()))>>
    : std::true_type {};

/* Lock all of them: volt::mutex, or volt::permits_of(semaphore, n). Gives a volt::all_locks. */
template <class... Items>
lock_all_operation<sizeof...(Items)> lock_all(Items &&...items) noexcept {
  static_assert(sizeof...(Items) <= VOLT_LOCK_ALL_MAX, "volt::lock_all() locks 64 objects at most");
  static_assert((is_lockable_<Items>::value && ...),
                "volt::lock_all() locks a volt::mutex, or volt::permits_of(semaphore, n)");
  return lock_all_operation<sizeof...(Items)>({lockable_(items)...});
}

} // namespace volt

#endif
