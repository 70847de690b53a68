/* promise.hpp: volt/promise.h in C++: the result of an operation that is not volt's.
 *
 *   volt::promise<std::string> page;
 *   library_fetch(url, [&](std::string text) { page.set(std::move(text)); });     its callback
 *   std::string text = page.get().wait_for(5s);                                   its waiter
 *
 * The value may be of any type: it stays in the promise until it is taken. The operation completes
 * by itself; one that is begun or stopped by its waiter is written with volt_promise_ops. */
#ifndef VOLT_CPP_PROMISE_HPP
#define VOLT_CPP_PROMISE_HPP

#include <optional>

#include "../promise.h"
#include "operation.hpp"

namespace volt {

/* What promise.get() returns. */
template <class T>
class [[nodiscard, gnu::warn_unused]] promise_operation
    : public operation<promise_operation<T>, T> {
 public:
  promise_operation(volt_promise & p, std::optional<T> & value) noexcept
      : promise_(&p), value_(&value) {
  }
  volt_future *begin(volt_future & f) noexcept {
    return volt_promise_future(&f, promise_);
  }
  T take(int, volt_future &) noexcept(std::is_nothrow_move_constructible_v<T>) {
    T value = *std::move(*value_);
    value_->reset();
    return value;
  }

 private:
  volt_promise *promise_;
  std::optional<T> *value_;
};

template <>
class [[nodiscard, gnu::warn_unused]] promise_operation<void>
    : public operation<promise_operation<void>, void> {
 public:
  explicit promise_operation(volt_promise & p) noexcept : promise_(&p) {
  }
  volt_future *begin(volt_future & f) noexcept {
    return volt_promise_future(&f, promise_);
  }
  void take(int, volt_future &) noexcept {
  }

 private:
  volt_promise *promise_;
};

/* The result of an operation that is not volt's, and completes by itself: of a callback, a device,
 * a thread of another library (volt/promise.h without its three functions). One waits at a time. */
template <class T = void>
class promise {
 public:
  using value_type = T;
  constexpr promise() noexcept : c_ VOLT_PROMISE_INIT(nullptr) {
  }
  /* No waiter may wait (aborts). */
  ~promise() {
    volt_promise_destroy(&c_);
  }
  promise(const promise &) = delete;
  promise &operator=(const promise &) = delete;

  /* Complete it with a value. It must not be complete already (aborts). Any thread. */
  template <class... Args>
  void set(Args &&...args) {
    value_.emplace(std::forward<Args>(args)...);
    volt_promise_complete(&c_, VOLT_OK);
  }
  /* Complete it with a failure. code: a failure (aborts). */
  void fail(int code) noexcept {
    if (volt_is_ok(code)) misuse_("a volt::promise fails with a code of success");
    volt_promise_complete(&c_, code);
  }
  /* Wait for the value. Afterwards it can be completed again. */
  promise_operation<T> get() noexcept {
    return promise_operation<T>(c_, value_);
  }
  volt_promise *c() noexcept {
    return &c_;
  }

 private:
  volt_promise c_;
  std::optional<T> value_;
};

template <>
class promise<void> {
 public:
  using value_type = void;
  constexpr promise() noexcept : c_ VOLT_PROMISE_INIT(nullptr) {
  }
  ~promise() {
    volt_promise_destroy(&c_);
  }
  promise(const promise &) = delete;
  promise &operator=(const promise &) = delete;
  void set() noexcept {
    volt_promise_complete(&c_, VOLT_OK);
  }
  void fail(int code) noexcept {
    if (volt_is_ok(code)) misuse_("a volt::promise fails with a code of success");
    volt_promise_complete(&c_, code);
  }
  promise_operation<void> get() noexcept {
    return promise_operation<void>(c_);
  }
  volt_promise *c() noexcept {
    return &c_;
  }

 private:
  volt_promise c_;
};

} // namespace volt

#endif
