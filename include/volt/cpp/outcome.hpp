/* outcome.hpp: what a function that runs elsewhere has returned or thrown. Private. */
#ifndef VOLT_CPP_OUTCOME_HPP
#define VOLT_CPP_OUTCOME_HPP

#include <exception>
#include <optional>

#include "result.hpp"

namespace volt::detail {

#if VOLT_CPP_THROWS_
/* The code that a task returns because of the exception that is being handled. */
inline int code_of_exception() noexcept {
  try {
    throw;
  } catch (const error &e) {
    return volt_is_ok(e.code()) || e.code() == VOLT_PENDING ? static_cast<int>(VOLT_EINVAL)
                                                            : e.code();
  } catch (...) {
    return VOLT_EINVAL;
  }
}
#endif

/* Nothing yet, a value, or an exception. */
template <class T>
class outcome {
 public:
  /* Call fn and keep what it returns or throws. Returns VOLT_OK, or the code of the exception. */
  template <class Fn>
  int call(Fn &fn) noexcept {
#if VOLT_CPP_THROWS_
    try {
      call_(fn);
    } catch (...) {
      exception_ = std::current_exception();
      return code_of_exception();
    }
#else
    call_(fn);
#endif
    return VOLT_OK;
  }
  bool has_value() const noexcept {
    return value_.has_value();
  }
#if VOLT_CPP_THROWS_
  /* What was thrown, or nullptr. */
  const std::exception_ptr &exception() const noexcept {
    return exception_;
  }
#endif
  /* The value, once. There must be one. */
  T take() {
    if constexpr (!std::is_void_v<T>) {
      T value = std::move(*value_);
      value_.reset();
      return value;
    }
  }

 private:
  struct nothing {};
  template <class Fn>
  void call_(Fn &fn) {
    if constexpr (std::is_void_v<T>) {
      fn();
      value_.emplace();
    } else {
      value_.emplace(fn());
    }
  }
  std::optional<std::conditional_t<std::is_void_v<T>, nothing, T>> value_;
#if VOLT_CPP_THROWS_
  std::exception_ptr exception_;
#endif
};

} // namespace volt::detail

#endif
