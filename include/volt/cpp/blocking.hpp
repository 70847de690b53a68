/* blocking.hpp: calls that block, on the blocking pool of a runtime.
 *
 *   int rows = co_await volt::blocking(rt, [&] { return run(sql); });     or .wait() in a fiber
 *
 * What the call returns is what the operation gives; what it throws, the operation throws. Cancel:
 * a call that has begun is awaited all the same, as volt_blocking_future() says. */
#ifndef VOLT_CPP_BLOCKING_HPP
#define VOLT_CPP_BLOCKING_HPP

#include <optional>
#include <variant>

#include "../runtime.h"
#include "operation.hpp"
#include "runtime.hpp"

namespace volt {

/* What a call has come to. Private. */
template <class Value>
struct blocking_state_ {
  using stored = std::conditional_t<std::is_void_v<Value>, std::monostate, Value>;
  volt_blocking blocking;
  std::optional<stored> value;
#if VOLT_CPP_THROWS_
  std::exception_ptr thrown;
#endif
  void *operation;
};

/* What volt::blocking() returns. */
template <class F>
class [[nodiscard, gnu::warn_unused]] blocking_operation
    : public operation<blocking_operation<F>, std::invoke_result_t<F &>,
                       blocking_state_<std::invoke_result_t<F &>>> {
 public:
  using value_type = std::invoke_result_t<F &>;
  using state_type = blocking_state_<value_type>;
  static_assert(!std::is_reference_v<value_type>, "a call on the blocking pool gives a value");

  blocking_operation(volt_rt * rt, F && call) : rt_(rt), call_(std::move(call)) {
  }
  volt_future *begin(state_type & s) noexcept {
    s.operation = this;
    return volt_blocking_future(&s.blocking, rt_, run, &s);
  }
  value_type take(int, state_type &s) {
#if VOLT_CPP_THROWS_
    if (s.thrown) std::rethrow_exception(std::move(s.thrown));
#endif
    if constexpr (!std::is_void_v<value_type>) return *std::move(s.value);
  }
  /* A call that is given up drops what it came to. */
  void drop(volt_future * f, state_type &) noexcept {
    volt_future_cancel(f);
  }

 private:
  static int run(void *state) noexcept {
    auto &s = *static_cast<state_type *>(state);
#if VOLT_CPP_THROWS_
    try {
      call(s);
    } catch (...) {
      s.thrown = std::current_exception();
    }
#else
    call(s);
#endif
    return VOLT_OK;
  }
  static void call(state_type & s) {
    auto &f = static_cast<blocking_operation *>(s.operation)->call_;
    if constexpr (std::is_void_v<value_type>) {
      f();
    } else {
      s.value.emplace(f());
    }
  }

  volt_rt *rt_;
  F call_;
};

/* Call f on the blocking pool of a runtime.
 * rt: a volt_rt *, or anything whose c() is one.
 * f: what it refers to has to live until the operation has ended. */
template <class Runtime, class F>
blocking_operation<F> blocking(Runtime &&rt, F f) {
  return blocking_operation<F>(detail::rt_of(rt), std::move(f));
}

} // namespace volt

#endif
