/* branch.hpp: what operations that are made of operations (deadline.hpp, select.hpp) take as one: an
 * operation, a future of C by reference or pointer, and, in a coroutine, a task (volt/coro.hpp). */
#ifndef VOLT_CPP_BRANCH_HPP
#define VOLT_CPP_BRANCH_HPP

#include <variant>

#include "operation.hpp"

namespace volt {

/* A future of C as an operation: it gives its result code, failures too. */
class [[nodiscard, gnu::warn_unused]] future_operation
    : public operation<future_operation, int, std::monostate> {
 public:
  explicit future_operation(volt_future & f) noexcept : future_(&f) {
  }
  volt_future *begin(std::monostate &) noexcept {
    return future_;
  }
  int take(int code, std::monostate &) noexcept {
    return code;
  }
  int finish(int code, std::monostate &) noexcept {
    return code;
  }
  void drop(volt_future * f, std::monostate &) noexcept {
    volt_future_cancel(f);
  }

 private:
  volt_future *future_;
};

/* What a branch is as an operation. Private; volt/coro.hpp adds tasks. */
template <class Branch, class = void>
struct branch_of_;
template <class Op>
struct branch_of_<Op, std::enable_if_t<is_operation<Op>>> {
  using type = Op;
};
template <>
struct branch_of_<volt_future> {
  using type = future_operation;
};
template <>
struct branch_of_<volt_future *> {
  using type = future_operation;
};
template <class Branch>
using branch_ = typename branch_of_<std::decay_t<Branch>>::type;

template <class Branch>
branch_<Branch> make_branch_(Branch &&b) {
  return branch_<Branch>(std::forward<Branch>(b));
}
inline future_operation make_branch_(volt_future *f) noexcept {
  return future_operation(*need_future_(f));
}

/* What a branch gives: std::monostate for nothing. Private. */
template <class Op>
using branch_value_ = std::conditional_t<std::is_void_v<typename Op::value_type>, std::monostate,
                                         typename Op::value_type>;

/* The result of a future that is ready. Private. */
inline int ready_code_(volt_future *f) noexcept {
  return volt_future_poll(f, volt_waker{nullptr, nullptr});
}

/* Whether an operation gives a failure as its value, so finish() throws nothing. Private. */
template <class Op>
inline constexpr bool never_fails_ = false;
template <class Op>
inline constexpr bool never_fails_<as_result_operation<Op>> = true;
template <>
inline constexpr bool never_fails_<future_operation> = true;

} // namespace volt

#endif
