/* operation.hpp: what the waiting functions of C++ return, and how it is waited for.
 *
 * pool.acquire(), mutex.lock(), jobs.recv(), fd.recv(to, size) return an operation: a small value
 * that has begun nothing. It is waited for where it is made: `auto guard = mutex.lock();` locks nothing
 * (-Wall warns, and builds with VOLT_SIGHT=1 abort). One operation is waited for in every way there is:
 *
 *   auto permit = pool.acquire().wait();             a thread blocks; a fiber is suspended
 *   auto permit = pool.acquire().wait_for(50ms);     or throws volt::timed_out
 *   auto permit = pool.acquire().wait_until(time);   a time of std::chrono::steady_clock
 *   auto permit = co_await pool.acquire();           a coroutine (volt/coro.hpp)
 *
 *   auto r = pool.acquire().result();                a volt::result: throws nothing
 *   auto r = pool.acquire().result_for(50ms);        and so on
 *   auto r = pool.acquire().result_now();            does not wait: VOLT_EAGAIN
 *   auto r = co_await volt::as_result(pool.acquire());
 *
 * wait() gives what the operation is for (a guard, a value, a number of bytes), or throws
 * (result.hpp). A fiber that is cancelled while it waits gets volt::canceled.
 *
 * The protocol, for code that adds operations, or ways to wait for them. An operation is a class
 * that is derived from volt::operation<itself, value, state>. It has:
 *
 *   volt_future *begin(state_type &s) noexcept;   makes the future, in s. Called once
 *   value_type take(int code, state_type &s);     what a success gives. Called once, at the end
 * and may have:
 *   int try_now() noexcept;                       does it if that needs no wait; else VOLT_EAGAIN.
 *                                                 After another code begin() is not called
 *   int block(state_type &s, uint64_t deadline_ns) noexcept;
 *                                                 does it by a C function that blocks, where that
 *                                                 is faster than begin() and volt_future_wait_until()
 *
 * state_type is what the wait needs: a volt_future, or a struct of C that contains one. It is
 * default-initialised, and made anew for each wait. From begin() on, until the future is ready or
 * was dropped, neither the operation nor the state moves. One that waits calls finish() with the
 * result, once: it calls take(), or throws. If it gives up instead, it calls drop(): what the wait
 * has got is given back, as by a branch that loses a select, or, if that is impossible, taken and
 * destroyed. An operation that reports more to its caller than a value has its own finish() and drop(). */
#ifndef VOLT_CPP_OPERATION_HPP
#define VOLT_CPP_OPERATION_HPP

#include <chrono>
#include <string_view>

#include "../future.h"
#include "result.hpp"

namespace volt {

/* ---- time ---- */

/* A duration in nanoseconds. 292 years or more are UINT64_MAX; below 0 is 0. */
template <class Rep, class Period>
uint64_t duration_ns(std::chrono::duration<Rep, Period> d) noexcept {
  using std::chrono::nanoseconds;
  using wide = std::chrono::duration<long double, Period>;
  if (d <= d.zero()) return 0;
  if (wide(d) >= wide(nanoseconds::max())) return UINT64_MAX;
  return static_cast<uint64_t>(std::chrono::ceil<nanoseconds>(d).count());
}

/* A deadline as the C functions take it. Only std::chrono::steady_clock will do: it is
 * CLOCK_MONOTONIC, the clock of volt_now_ns(). The latest time is VOLT_NO_DEADLINE. */
template <class Duration>
uint64_t deadline_ns(std::chrono::time_point<std::chrono::steady_clock, Duration> t) noexcept {
  return duration_ns(t.time_since_epoch());
}

/* The deadline that is so long from now, on the clock of what waits: of its runtime, in a fiber. */
template <class Rep, class Period>
uint64_t deadline_after(std::chrono::duration<Rep, Period> d) noexcept {
  uint64_t ns = duration_ns(d);
  if (ns == UINT64_MAX) return VOLT_NO_DEADLINE;
  return ns > 0 ? volt_deadline_ns(ns) : 0;
}

/* ---- operations ---- */

/* A future of C that is awaited: there must be one (aborts). Private. */
inline volt_future *need_future_(volt_future *f) noexcept {
  if (VOLT_UNLIKELY(f == nullptr)) misuse_("a volt_future is awaited, and there is none");
  return f;
}

/* What every operation is derived from. */
struct operation_base {};

#if VOLT_SIGHT
/* How many frames of coroutines this thread destroys where they stand. Private. */
inline thread_local unsigned frames_given_up_ = 0;

/* Whether an operation is to be waited for still; a copy and a move take that over. Private. */
class due_ {
 public:
  due_() noexcept : exceptions_(std::uncaught_exceptions()) {
  }
  due_(const due_ &other) noexcept
      : exceptions_(other.exceptions_), is_due_(std::exchange(other.is_due_, false)) {
  }
  due_ &operator=(const due_ &other) noexcept {
    is_due_ = std::exchange(other.is_due_, false);
    return *this;
  }
  void settle() noexcept {
    is_due_ = false;
  }
  /* It is destroyed: not by an exception, nor with a coroutine that is given up. */
  bool is_missed() const noexcept {
    return is_due_ && frames_given_up_ == 0 && std::uncaught_exceptions() <= exceptions_;
  }

 private:
  int exceptions_;
  mutable bool is_due_ = true;
};

/* function: of a member of the operation, with its type, as compilers spell it. Private. */
[[noreturn]] VOLT_NOINLINE inline void never_waited_for_(std::string_view function) noexcept {
  auto from = function.find("Op = ");
  std::string_view type = from == function.npos ? function : function.substr(from + 5);
  type = type.substr(0, type.find_first_of(";]"));
  type = type.substr(0, type.find(", Value = "));
  std::fprintf(stderr,
               "volt: a %.*s ends that was never waited for: it has locked, sent, awaited nothing. "
               "Write .wait() or co_await behind the call that makes it, or call its forgo()\n",
               static_cast<int>(type.size()), type.data());
  std::abort();
}
#endif

/* While this lives, coroutines are destroyed where they stand, with operations that they have not
 * come to. Private. */
class frames_end_ {
 public:
  frames_end_() noexcept {
#if VOLT_SIGHT
    frames_given_up_ += 1;
#endif
  }
  frames_end_(const frames_end_ &) = delete;
  frames_end_ &operator=(const frames_end_ &) = delete;
  ~frames_end_() {
#if VOLT_SIGHT
    frames_given_up_ -= 1;
#endif
  }
};

template <class T>
inline constexpr bool is_operation = std::is_base_of_v<operation_base, std::decay_t<T>>;

template <class Op, class Value, class State = volt_future>
class [[nodiscard, gnu::warn_unused]] operation : public operation_base {
 public:
  using value_type = Value;
  using state_type = State;
  /* Whether it has a try_now(). */
  static constexpr bool tries = false;

#if VOLT_SIGHT
  operation() noexcept = default;
  operation(const operation &) noexcept = default;
  operation &operator=(const operation &) noexcept = default;
  ~operation() {
    if (VOLT_UNLIKELY(due_of_.is_missed())) never_waited_for_(__PRETTY_FUNCTION__);
  }
#endif
  /* Say that this one will not be waited for. (In builds with VOLT_SIGHT=1, and so in debug builds, one
   * aborts that ends unawaited: it is the mistake of `auto guard = m.lock();`.) What waits for an
   * operation by begin() calls this, too. */
  void forgo() noexcept {
#if VOLT_SIGHT
    due_of_.settle();
#endif
  }

  int try_now() noexcept {
    return VOLT_EAGAIN;
  }
  int block(State & s, uint64_t deadline_ns) noexcept {
    int code = self().try_now();
    return code == VOLT_EAGAIN ? volt_future_wait_until(self().begin(s), deadline_ns) : code;
  }

  /* The end of a wait that throws nothing. code: what the future polled as, or another result. */
  volt::result<Value> finish_result(int code, State &s) {
    forgo();
    if (VOLT_UNLIKELY(!volt_is_ok(code))) return volt::result<Value>::failure(code);
    if constexpr (std::is_void_v<Value>) {
      self().take(code, s);
      return volt::result<Value>::success(code);
    } else {
      return volt::result<Value>::success(code, self().take(code, s));
    }
  }

  /* The end of a wait that is given up. future: what begin() has returned. It is cancelled. If it
   * had been done before, what it gave is given back; what cannot be given back is destroyed. */
  void drop(volt_future * future, State & s) {
    forgo();
    volt_future_cancel(future);
    volt_future_undo_(future);
    int code = volt_future_poll(future, volt_waker{nullptr, nullptr});
    if (volt_is_ok(code)) (void)self().take(code, s);
  }

  /* ---- for the caller ---- */

  /* Wait here: a thread blocks, a fiber is suspended. Throws nothing of volt's. */
  VOLT_INLINED_ volt::result<Value> result() {
    return result_by_(VOLT_NO_DEADLINE);
  }
  template <class Duration>
  volt::result<Value> result_until(
      std::chrono::time_point<std::chrono::steady_clock, Duration> deadline) {
    return result_by_(deadline_ns(deadline));
  }
  template <class Rep, class Period>
  VOLT_INLINED_ volt::result<Value> result_for(std::chrono::duration<Rep, Period> d) {
    State s;
    int code = block_for_(s, d);
    return self().finish_result(code, s);
  }
  /* Do it if that needs no wait. Else VOLT_EAGAIN. */
  volt::result<Value> result_now() {
    static_assert(Op::tries, "this operation cannot be tried without waiting for it");
    forgo();
    State s;
    return self().finish_result(self().try_now(), s);
  }

#if VOLT_CPP_THROWS_
  /* The end of a wait: what it gives, or throws. */
  Value finish(int code, State &s) {
    forgo();
    if (VOLT_UNLIKELY(!volt_is_ok(code))) throw_(code);
    return self().take(code, s);
  }

  /* Wait here: a thread blocks, a fiber is suspended. Throws volt::error. */
  VOLT_INLINED_ Value wait() {
    return wait_by_(VOLT_NO_DEADLINE);
  }
  template <class Duration>
  VOLT_INLINED_ Value wait_until(
      std::chrono::time_point<std::chrono::steady_clock, Duration> deadline) {
    return wait_by_(deadline_ns(deadline));
  }
  template <class Rep, class Period>
  VOLT_INLINED_ Value wait_for(std::chrono::duration<Rep, Period> d) {
    State s;
    int code = block_for_(s, d);
    return self().finish(code, s);
  }
#endif

 private:
#if VOLT_SIGHT
  due_ due_of_;
#endif
  Op &self() noexcept {
    return static_cast<Op &>(*this);
  }
  /* A try needs no look at the clock. */
  template <class Rep, class Period>
  VOLT_INLINED_ int block_for_(State & s, std::chrono::duration<Rep, Period> d) {
    forgo();
    int code = self().try_now();
    return code == VOLT_EAGAIN ? self().block(s, deadline_after(d)) : code;
  }
  VOLT_INLINED_ volt::result<Value> result_by_(uint64_t deadline_ns) {
    forgo();
    State s;
    int code = self().block(s, deadline_ns);
    return self().finish_result(code, s);
  }
#if VOLT_CPP_THROWS_
  VOLT_INLINED_ Value wait_by_(uint64_t deadline_ns) {
    forgo();
    State s;
    int code = self().block(s, deadline_ns);
    return self().finish(code, s);
  }
#endif
};

/* The same operation, which gives a volt::result and throws nothing. */
template <class Op>
class [[nodiscard, gnu::warn_unused]] as_result_operation
    : public operation<as_result_operation<Op>, volt::result<typename Op::value_type>,
                       typename Op::state_type> {
 public:
  using value_type = volt::result<typename Op::value_type>;
  using state_type = typename Op::state_type;
  static constexpr bool tries = Op::tries;

  explicit as_result_operation(Op && op) : op_(std::move(op)) {
    op_.forgo();
  }
  int try_now() noexcept {
    return op_.try_now();
  }
  volt_future *begin(state_type & s) noexcept {
    return op_.begin(s);
  }
  int block(state_type & s, uint64_t deadline_ns) noexcept {
    return op_.block(s, deadline_ns);
  }
  value_type take(int code, state_type &s) {
    return op_.finish_result(code, s);
  }
  value_type finish(int code, state_type &s) {
    return op_.finish_result(code, s);
  }
  void drop(volt_future * f, state_type & s) {
    op_.drop(f, s);
  }

 private:
  Op op_;
};

/* Let an operation give a volt::result instead of throwing: `co_await volt::as_result(op)`. */
template <class Op>
as_result_operation<Op> as_result(Op op) {
  static_assert(is_operation<Op>, "volt::as_result() takes an operation");
  return as_result_operation<Op>(std::move(op));
}

/* Do an operation if that needs no wait: the same as its result_now(). */
template <class Op>
volt::result<typename Op::value_type> try_(Op op) {
  static_assert(is_operation<Op>, "volt::try_() takes an operation");
  return op.result_now();
}

/* The type of volt::adopt. */
struct adopt_t {
  explicit adopt_t() = default;
};
/* For guards of what is held already: `volt::lock guard(mutex, volt::adopt)`. */
inline constexpr adopt_t adopt{};

} // namespace volt

#endif
