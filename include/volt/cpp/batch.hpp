/* batch.hpp: volt/bcs_lock.h in C++: a lock that runs functions, those of many callers in one go.
 *
 *   volt::batch_lock counters;
 *   int now = counters.run([&] { return total += 3; });
 *
 * The function may run on another thread than its caller's, so it uses nothing that is
 * thread-local; it must not wait for anything, and must not use the same lock. It may throw: its
 * caller gets the exception. */
#ifndef VOLT_CPP_BATCH_HPP
#define VOLT_CPP_BATCH_HPP

#include "../bcs_lock.h"
#include "operation.hpp"
#include "outcome.hpp"

namespace volt {

/* A lock by batched critical sections (volt/bcs_lock.h). */
class batch_lock {
 public:
  constexpr batch_lock() noexcept : c_ VOLT_BCS_LOCK_INIT {
  }
  ~batch_lock() {
    volt_bcs_lock_destroy(&c_);
  }
  batch_lock(const batch_lock &) = delete;
  batch_lock &operator=(const batch_lock &) = delete;

  /* Run fn() in the critical section; a thread or a fiber waits until it has run. Returns what fn
   * returns, or throws what it throws. */
  template <class Fn>
  auto run(Fn &&fn) -> std::invoke_result_t<Fn &> {
    using value = std::invoke_result_t<Fn &>;
    if constexpr (std::is_void_v<value> && std::is_nothrow_invocable_v<Fn &>) {
      run_(fn, [](void *arg) { (*static_cast<plain<Fn> *>(arg))(); });
    } else {
      call<Fn, value> c{&fn, {}};
      run_(c, [](void *arg) {
        auto *its = static_cast<call<Fn, value> *>(arg);
        (void)its->out.call(*its->fn);
      });
#if VOLT_CPP_THROWS_
      if (c.out.exception()) std::rethrow_exception(c.out.exception());
#endif
      return c.out.take();
    }
  }

  /* A snapshot. */
  bool is_busy() const noexcept {
    return volt_bcs_lock_is_busy(&c_);
  }
  volt_bcs_lock *c() noexcept {
    return &c_;
  }

 private:
  template <class Fn>
  using plain = std::remove_reference_t<Fn>;
  template <class Fn, class Value>
  struct call {
    plain<Fn> *fn;
    detail::outcome<Value> out;
  };
  template <class Arg>
  void run_(Arg &arg, volt_bcs_fn *fn) noexcept {
    volt_bcs_node node;
    volt_bcs_lock_run(&c_, &node, fn, const_cast<void *>(static_cast<const void *>(&arg)));
  }
  volt_bcs_lock c_;
};

} // namespace volt

#endif
