/* coro_outcome.hpp: what a coroutine has come to: a value, or an exception. Not an interface:
 * programs use volt/coro.hpp. */
#ifndef VOLT_CPP_CORO_OUTCOME_HPP
#define VOLT_CPP_CORO_OUTCOME_HPP

#include <exception>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "coro_chain.hpp"

VOLT_CORO_BEGIN_

/* What C code gets of a coroutine that an exception has left which is no volt::error. */
inline constexpr int threw_ = VOLT_ERRNO(131); /* ENOTRECOVERABLE */

inline constexpr char moved_text_[] = "this volt::task has no coroutine: it was moved from";

/* A task is empty. code: why. Private. */
[[noreturn]] VOLT_NOINLINE inline void no_coroutine_(int code) {
#if VOLT_CPP_THROWS_
  if (code == VOLT_EINVAL) throw error(code, moved_text_);
  throw error(code);
#else
  misuse_(code == VOLT_EINVAL ? moved_text_
                              : "a coroutine without memory was awaited: use volt::as_result()");
#endif
}

/* The exception of an outcome, or none. Private. */
class failure_ {
 public:
#if VOLT_CPP_THROWS_
  void set_empty(int why) noexcept {
    try {
      no_coroutine_(why);
    } catch (...) {
      set_exception();
    }
  }
  /* In a handler. */
  void set_exception() noexcept {
    error_ = std::current_exception();
  }
  bool has_exception() const noexcept {
    return static_cast<bool>(error_);
  }
  /* VOLT_OK: there is none; the code of a volt::error; threw_. */
  int code() const noexcept {
    return error_ ? code_of(error_) : static_cast<int>(VOLT_OK);
  }
  void rethrow_any() const {
    if (VOLT_UNLIKELY(error_)) std::rethrow_exception(error_);
  }
  void move_exception_from(failure_ &other) noexcept {
    error_ = std::move(other.error_);
  }
  const std::exception_ptr &exception() const noexcept {
    return error_;
  }

 private:
  VOLT_NOINLINE static int code_of(const std::exception_ptr &e) noexcept {
    try {
      std::rethrow_exception(e);
    } catch (const error &known) {
      bool is_failure = !volt_is_ok(known.code()) && known.code() != VOLT_PENDING;
      return is_failure ? known.code() : static_cast<int>(VOLT_EINVAL);
    } catch (...) {
      return threw_;
    }
  }
  std::exception_ptr error_;
#else
  void set_empty(int why) noexcept {
    no_coroutine_(why);
  }
  void set_exception() noexcept {
    std::terminate();
  }
  bool has_exception() const noexcept {
    return false;
  }
  int code() const noexcept {
    return VOLT_OK;
  }
  void rethrow_any() const noexcept {
  }
  void move_exception_from(failure_ &) noexcept {
  }
#endif
};

template <class T>
class outcome_ : public failure_ {
  using stored = std::conditional_t<std::is_reference_v<T>, std::remove_reference_t<T> *, T>;

 public:
  outcome_() noexcept {
  }
  outcome_(outcome_ &&other) noexcept(std::is_nothrow_move_constructible_v<stored>) {
    move_from(other);
  }
  outcome_ &operator=(outcome_ &&) = delete;
  static outcome_ of_empty(int why) noexcept {
    outcome_ o;
    o.set_empty(why);
    return o;
  }
  ~outcome_() {
    if (has_value_) value_.~stored();
  }

  template <class U>
  void set_value(U &&value) {
    if constexpr (std::is_reference_v<T>) {
      static_assert(std::is_convertible_v<U &&, T>, "co_return gives what the task refers to");
      T bound = static_cast<T>(value);
      value_ = std::addressof(bound);
    } else {
      ::new (static_cast<void *>(std::addressof(value_))) T(std::forward<U>(value));
    }
    has_value_ = true;
  }
  /* other has ended. */
  void move_from(outcome_ &other) noexcept(std::is_nothrow_move_constructible_v<stored>) {
    move_exception_from(other);
    if (!other.has_value_) return;
    ::new (static_cast<void *>(std::addressof(value_))) stored(std::move(other.value_));
    has_value_ = true;
  }
  /* The value, once; or throw. */
  T take() {
    rethrow_any();
    if constexpr (std::is_reference_v<T>) {
      return *value_;
    } else {
      return std::move(value_);
    }
  }
  /* The value or the code of a volt::error; or throw. */
  result<T> take_result() {
    int code = this->code();
    if (VOLT_LIKELY(code == VOLT_OK)) {
      static_assert(!std::is_reference_v<T>, "volt::as_result() takes a task that gives a value");
      return result<T>::success(code, std::move(value_));
    }
    if (code == threw_) rethrow_any();
    return result<T>::failure(code);
  }

 private:
  bool has_value_ = false;
  union {
    stored value_;
  };
};

template <>
class outcome_<void> : public failure_ {
 public:
  static outcome_ of_empty(int why) noexcept {
    outcome_ o;
    o.set_empty(why);
    return o;
  }
  void set_value() noexcept {
  }
  void move_from(outcome_ &other) noexcept {
    move_exception_from(other);
  }
  void take() {
    rethrow_any();
  }
  result<void> take_result() {
    int code = this->code();
    if (code == threw_) rethrow_any();
    return VOLT_LIKELY(code == VOLT_OK) ? result<void>::success(code) : result<void>::failure(code);
  }
};

VOLT_CORO_END_

#endif
