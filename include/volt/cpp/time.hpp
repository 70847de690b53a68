/* time.hpp: volt/time.h in C++: sleeps and ticks, as operations.
 *
 *   volt::sleep_for(5ms).wait();                       a thread or a fiber
 *   co_await volt::sleep_for(5ms);                     a coroutine
 *   volt::sleep_until(steady_clock::now() + 1s).wait();
 *
 *   volt::interval every(rt, 100ms);
 *   for (;;) { every.tick().wait(); ... }
 *
 * In a fiber or a coroutine the time is that of its runtime, which may be virtual. */
#ifndef VOLT_CPP_TIME_HPP
#define VOLT_CPP_TIME_HPP

#include "../fiber.h"
#include "../runtime.h"
#include "../time.h"
#include "operation.hpp"
#include "runtime.hpp"

namespace volt {

namespace detail {

/* The runtime whose tasks this thread runs. */
inline volt_rt *rt_here() noexcept {
  volt_rt *rt = volt_rt_current();
  if (!rt) misuse_("a sleep without a runtime is polled on a thread that runs no tasks");
  return rt;
}

} // namespace detail

/* What sleep_for() and sleep_until() return. */
class [[nodiscard, gnu::warn_unused]] sleep_operation
    : public operation<sleep_operation, void, volt_sleep_op> {
 public:
  /* rt: whose timers; nullptr: of the runtime that the waiter runs on. by_ns: a deadline, or, if
   * is_delay, how long from the beginning of the wait. */
  sleep_operation(volt_rt * rt, uint64_t by_ns, bool is_delay) noexcept
      : rt_(rt), by_ns_(by_ns), is_delay_(is_delay) {
  }
  volt_future *begin(volt_sleep_op & s) noexcept {
    volt_rt *rt = rt_ ? rt_ : detail::rt_here();
    return volt_sleep_future(&s, volt_rt_timers(rt), deadline_(volt_rt_now_ns(rt)));
  }
  int block(volt_sleep_op & s, uint64_t deadline_ns) noexcept {
    if (rt_) return volt_future_wait_until(begin(s), deadline_ns);
    uint64_t until = deadline_(is_delay_ ? volt_deadline_ns(0) : 0);
    int code = volt_sleep_until(until < deadline_ns ? until : deadline_ns);
    return code == VOLT_OK && deadline_ns < until ? VOLT_ETIMEDOUT : code;
  }
  void take(int, volt_sleep_op &) noexcept {
  }

 private:
  uint64_t deadline_(uint64_t now_ns) const noexcept {
    if (!is_delay_) return by_ns_;
    return by_ns_ < VOLT_NO_DEADLINE - now_ns ? now_ns + by_ns_ : VOLT_NO_DEADLINE;
  }
  volt_rt *rt_;
  uint64_t by_ns_;
  bool is_delay_;
};

/* Wait so long, from the beginning of the wait on: of a thread, or on the runtime of the fiber or
 * coroutine that waits. A thread that waits for it in a select has no runtime: name one
 * (aborts). */
template <class Rep, class Period>
sleep_operation sleep_for(std::chrono::duration<Rep, Period> d) noexcept {
  return sleep_operation(nullptr, duration_ns(d), true);
}
/* The same on the clock of a runtime. rt: a volt_rt *, or anything whose c() is one. */
template <class Runtime, class Rep, class Period>
sleep_operation sleep_for(Runtime &&rt, std::chrono::duration<Rep, Period> d) noexcept {
  return sleep_operation(detail::rt_of(rt), duration_ns(d), true);
}

/* Wait until a time. */
template <class Duration>
sleep_operation sleep_until(
    std::chrono::time_point<std::chrono::steady_clock, Duration> t) noexcept {
  return sleep_operation(nullptr, deadline_ns(t), false);
}
template <class Runtime, class Duration>
sleep_operation sleep_until(
    Runtime &&rt, std::chrono::time_point<std::chrono::steady_clock, Duration> t) noexcept {
  return sleep_operation(detail::rt_of(rt), deadline_ns(t), false);
}

/* The state of a wait whose future is in the object. */
struct no_state {};

/* What interval.tick() returns. */
class [[nodiscard, gnu::warn_unused]] tick_operation
    : public operation<tick_operation, void, no_state> {
 public:
  explicit tick_operation(volt_interval & i) noexcept : interval_(&i) {
  }
  volt_future *begin(no_state &) noexcept {
    return volt_interval_tick_future(interval_);
  }
  void take(int, no_state &) noexcept {
  }

 private:
  volt_interval *interval_;
};

/* Ticks at once, and then after each period. Of one owner. Not to be destroyed while tick()
 * waits. */
class interval {
 public:
  /* rt: a volt_rt *, or anything whose c() is one. period: above 0 (aborts). missed: what happens
   * with ticks that nothing has waited for in time. */
  template <class Runtime, class Rep, class Period>
  interval(Runtime &&rt, std::chrono::duration<Rep, Period> period,
           volt_interval_missed missed = VOLT_INTERVAL_BURST) noexcept {
    volt_rt *its = detail::rt_of(rt);
    volt_interval_init(&c_, volt_rt_timers(its), volt_rt_now_ns(its), duration_ns(period), missed);
  }
  interval(const interval &) = delete;
  interval &operator=(const interval &) = delete;

  /* Wait for the next tick. One at a time (aborts). */
  tick_operation tick() noexcept {
    return tick_operation(c_);
  }
  /* When the last tick was due, on the clock of the runtime. */
  std::chrono::nanoseconds due() const noexcept {
    return std::chrono::nanoseconds(static_cast<int64_t>(volt_interval_due_ns(&c_)));
  }
  volt_interval *c() noexcept {
    return &c_;
  }

 private:
  volt_interval c_;
};

} // namespace volt

#endif
