/* deadline.hpp: a deadline for any operation.
 *
 *   auto permit = co_await volt::within(pool.acquire(), 50ms);      or throws volt::timed_out
 *   auto permit = co_await volt::until(pool.acquire(), time);
 *   auto permit = volt::within(pool.acquire(), 50ms).wait();        a thread, a fiber
 *
 * What is late is cancelled. What must come to its end first is awaited, as volt/time.h says: a task,
 * a call on the blocking pool. */
#ifndef VOLT_CPP_DEADLINE_HPP
#define VOLT_CPP_DEADLINE_HPP

#include "../runtime.h"
#include "branch.hpp"
#include "runtime.hpp"

namespace volt {

/* When a wait has to end: a time, or so long after it has begun. Private. */
struct limit_ {
  uint64_t ns;
  bool is_duration;

  /* On the clock of these timers. */
  uint64_t on(volt_timers *timers) const noexcept {
    if (!is_duration || ns == VOLT_NO_DEADLINE) return ns;
    uint64_t now_ns = volt_timers_now_ns(timers);
    return ns < VOLT_NO_DEADLINE - now_ns ? now_ns + ns : VOLT_NO_DEADLINE;
  }
  /* On the clock of what blocks here. */
  uint64_t here() const noexcept {
    return !is_duration || ns == VOLT_NO_DEADLINE ? ns : volt_deadline_ns(ns);
  }
};

template <class Rep, class Period>
limit_ limit_after_(std::chrono::duration<Rep, Period> d) noexcept {
  return {duration_ns(d), true};
}

/* The state of a wait with a deadline. Private. */
template <class State>
struct timeout_state_ {
  State inner;
  volt_future *future; /* of inner */
  volt_timeout timeout;
};

/* What volt::until() and volt::within() return. */
template <class Op>
class [[nodiscard, gnu::warn_unused]] timeout_operation
    : public operation<timeout_operation<Op>, typename Op::value_type,
                       timeout_state_<typename Op::state_type>> {
 public:
  using value_type = typename Op::value_type;
  using state_type = timeout_state_<typename Op::state_type>;
  static constexpr bool tries = Op::tries;

  timeout_operation(volt_timers * timers, Op && op, limit_ limit)
      : op_(std::move(op)), limit_of_(limit), timers_(timers) {
    op_.forgo();
  }
  int try_now() noexcept {
    return op_.try_now();
  }
  volt_future *begin(state_type & s) noexcept {
    volt_timers *timers = timers_ ? timers_ : timers_here();
    s.future = op_.begin(s.inner);
    return volt_timeout_future(&s.timeout, s.future, timers, limit_of_.on(timers));
  }
  int block(state_type & s, uint64_t deadline_ns) noexcept {
    uint64_t own_ns = limit_of_.here();
    return op_.block(s.inner, own_ns < deadline_ns ? own_ns : deadline_ns);
  }
  value_type take(int code, state_type &s) {
    return op_.take(code, s.inner);
  }
#if VOLT_CPP_THROWS_
  value_type finish(int code, state_type &s) {
    return op_.finish(code, s.inner);
  }
#endif
  volt::result<value_type> finish_result(int code, state_type &s) {
    return op_.finish_result(code, s.inner);
  }
  void drop(volt_future * f, state_type & s) {
    volt_future_cancel(f);
    op_.drop(s.future, s.inner);
  }

 private:
  static volt_timers *timers_here() noexcept {
    volt_rt *rt = volt_rt_current();
    if (!rt) misuse_("a deadline where no runtime runs: give volt::until() the runtime");
    return volt_rt_timers(rt);
  }

  Op op_;
  limit_ limit_of_;
  volt_timers *timers_; /* NULL: of the runtime that runs this */
};

/* Wait for op, at most until a time of std::chrono::steady_clock: VOLT_ETIMEDOUT if it has come.
 * The time is by the clock of the runtime that runs this, which may be virtual; a thread that runs
 * no tasks waits by the real clock.
 * op: an operation, a future of C, or a task. */
template <class Branch, class Duration>
timeout_operation<branch_<Branch>> until(
    Branch &&op, std::chrono::time_point<std::chrono::steady_clock, Duration> deadline) {
  return {nullptr, make_branch_(std::forward<Branch>(op)), {deadline_ns(deadline), false}};
}
/* The same, at most for so long, from when the wait begins. */
template <class Branch, class Rep, class Period>
timeout_operation<branch_<Branch>> within(Branch &&op, std::chrono::duration<Rep, Period> d) {
  return {nullptr, make_branch_(std::forward<Branch>(op)), limit_after_(d)};
}
/* The same on the timers of a runtime, for coroutines that no runtime runs (volt::sync_wait()). */
template <class Branch, class Duration>
timeout_operation<branch_<Branch>> until(
    volt_rt *rt, Branch &&op,
    std::chrono::time_point<std::chrono::steady_clock, Duration> deadline) {
  return {volt_rt_timers(detail::rt_of(rt)),
          make_branch_(std::forward<Branch>(op)),
          {deadline_ns(deadline), false}};
}
template <class Branch, class Rep, class Period>
timeout_operation<branch_<Branch>> within(volt_rt *rt, Branch &&op,
                                          std::chrono::duration<Rep, Period> d) {
  return {volt_rt_timers(detail::rt_of(rt)), make_branch_(std::forward<Branch>(op)),
          limit_after_(d)};
}

} // namespace volt

#endif
