/* runtime.hpp: volt/runtime.h in C++: a runtime that ends with its scope.
 *
 *   volt::runtime rt;                                  the defaults
 *
 *   volt_rt_config config{};                           or what volt/runtime.h says
 *   config.workers = 4;
 *   volt::runtime rt(config);
 *
 * The destructor is volt_rt_destroy(): it cancels the tasks that are left and waits for them. */
#ifndef VOLT_CPP_RUNTIME_HPP
#define VOLT_CPP_RUNTIME_HPP

#include "../runtime.h"
#include "operation.hpp"

namespace volt {

namespace detail {

/* The runtime in what is one, or has one: a volt_rt *, or anything whose c() is one. Aborts if there is
 * none. */
inline volt_rt *rt_of(volt_rt *rt) noexcept {
  if (VOLT_UNLIKELY(rt == nullptr))
    misuse_("a runtime is needed, and there is none: it was moved or has ended");
  return rt;
}
template <class Runtime>
volt_rt *rt_of(Runtime &rt) noexcept {
  return rt_of(rt.c());
}

} // namespace detail

/* One runtime. It may be moved. */
class runtime {
 public:
#if VOLT_CPP_THROWS_
  /* Start one, or throw as volt_rt_create() returns. config: as there. */
  explicit runtime(const volt_rt_config &config = volt_rt_config()) {
    check(volt_rt_create(&rt_, &config));
  }
#endif
  /* Start one. */
  static volt::result<runtime> make(const volt_rt_config &config = volt_rt_config()) noexcept {
    volt_rt *rt = nullptr;
    int code = volt_rt_create(&rt, &config);
    if (code != VOLT_OK) return volt::result<runtime>::failure(code);
    return volt::result<runtime>::success(VOLT_OK, runtime(rt, adopt));
  }
  /* Take over a runtime of C. */
  runtime(volt_rt *rt, adopt_t) noexcept : rt_(rt) {
  }
  runtime(runtime &&other) noexcept : rt_(other.release()) {
  }
  runtime &operator=(runtime &&other) noexcept {
    volt_rt *rt = other.release();
    (void)destroy();
    rt_ = rt;
    return *this;
  }
  ~runtime() {
    (void)destroy();
  }

  /* End it now. Returns how many tasks had not ended, and were cancelled. Until they have ended c()
   * is still the runtime, because they may use this object to clean up. */
  uint64_t destroy() noexcept {
    uint64_t cancelled = volt_rt_destroy(rt_);
    rt_ = nullptr;
    return cancelled;
  }
  /* Cancel all tasks, take no more, and wait until they have ended, for so long at most.
   * Returns whether they have ended. */
  template <class Rep, class Period>
  bool shutdown_for(std::chrono::duration<Rep, Period> d) noexcept {
    uint64_t ns = duration_ns(d);
    uint64_t now = volt_now_ns();
    return volt_rt_shutdown(detail::rt_of(rt_),
                            ns < VOLT_NO_DEADLINE - now ? now + ns : VOLT_NO_DEADLINE) == VOLT_OK;
  }

  /* Its clock. */
  std::chrono::nanoseconds now() const noexcept {
    return std::chrono::nanoseconds(static_cast<int64_t>(volt_rt_now_ns(detail::rt_of(rt_))));
  }
  /* Let time pass on a virtual clock. */
  template <class Rep, class Period>
  void advance(std::chrono::duration<Rep, Period> d) noexcept {
    volt_rt_advance(detail::rt_of(rt_), duration_ns(d));
  }
  /* By hand: run what is ready. Returns as volt_rt_run(). */
  uint64_t run() noexcept {
    return volt_rt_run(detail::rt_of(rt_));
  }
#if VOLT_CPP_THROWS_
  /* By hand: run tasks on this thread until the operation is done: gives what it gives. */
  template <class Op>
  typename Op::value_type run_until(Op op) {
    op.forgo();
    typename Op::state_type s;
    int code = volt_rt_run_until(detail::rt_of(rt_), op.begin(s), VOLT_NO_DEADLINE);
    return op.finish(code, s);
  }
#endif
  /* The same, which throws nothing of volt's. */
  template <class Op>
  volt::result<typename Op::value_type> result_of(Op op) {
    op.forgo();
    typename Op::state_type s;
    int code = volt_rt_run_until(detail::rt_of(rt_), op.begin(s), VOLT_NO_DEADLINE);
    return op.finish_result(code, s);
  }

  volt_rt_stats_of stats() const noexcept {
    volt_rt_stats_of stats;
    volt_rt_stats(detail::rt_of(rt_), &stats);
    return stats;
  }
  /* The runtime as C code uses it; nullptr: it was moved or ended. */
  volt_rt *c() const noexcept {
    return rt_;
  }
  /* Give it up. Returns it: the caller destroys it. */
  [[nodiscard]] volt_rt *release() noexcept {
    volt_rt *rt = rt_;
    rt_ = nullptr;
    return rt;
  }

 private:
  volt_rt *rt_ = nullptr;
};

} // namespace volt

#endif
