/* cond.hpp: volt/cond.h in C++: a condition variable.
 *
 *   volt::lock guard(mutex);
 *   changed.wait(guard, [&] { return ready; }).wait();
 *
 *   while (!ready) changed.wait(guard).wait();             the same
 *   co_await changed.wait(guard, [&] { return ready; });   a coroutine */
#ifndef VOLT_CPP_COND_HPP
#define VOLT_CPP_COND_HPP

#include "../async.h"
#include "../cond.h"
#include "mutex.hpp"

namespace volt {

namespace detail {

/* The mutex that a wait on a condition variable unlocks. */
inline volt_mutex *mutex_of(const volt::lock &guard) noexcept {
  if (!guard) misuse_("cond.wait() with a volt::lock that holds no mutex");
  return guard.c();
}

} // namespace detail

/* What cond.wait() returns. */
class [[nodiscard, gnu::warn_unused]] cond_operation : public operation<cond_operation, void> {
 public:
  cond_operation(volt_cond & c, volt::lock & guard) noexcept : cond_(&c), guard_(&guard) {
  }
  volt_future *begin(volt_future & f) noexcept {
    mutex_ = detail::mutex_of(*guard_);
    (void)guard_->release(); /* this call unlocks */
    return volt_cond_wait_future(&f, cond_, mutex_);
  }
  int block(volt_future &, uint64_t deadline_ns) noexcept {
    return volt_cond_wait_until(cond_, detail::mutex_of(*guard_),
                                deadline_ns); /* returns with it held */
  }
  void take(int, volt_future &) noexcept {
    if (mutex_) *guard_ = volt::lock(*mutex_, adopt);
  }

 private:
  volt_cond *cond_;
  volt::lock *guard_;
  volt_mutex *mutex_ = nullptr; /* set by begin() */
};

/* The state of a wait for a predicate: a function of C that waits again and again. Private. */
struct cond_until_state_ {
  volt_async async; /* first */
  volt_future wait;
  void *operation;
  int code;
};

/* What cond.wait() with a predicate returns. */
template <class Predicate>
class [[nodiscard, gnu::warn_unused]] cond_until_operation
    : public operation<cond_until_operation<Predicate>, void, cond_until_state_> {
 public:
  static constexpr bool tries = true;
  cond_until_operation(volt_cond & c, volt::lock & guard, Predicate && predicate) noexcept
      : cond_(&c), guard_(&guard), predicate_(std::move(predicate)) {
  }
  int try_now() noexcept {
    (void)detail::mutex_of(*guard_);
    return predicate_() ? VOLT_OK : VOLT_EAGAIN;
  }
  volt_future *begin(cond_until_state_ & s) noexcept {
    mutex_ = detail::mutex_of(*guard_);
    s.operation = this;
    return volt_async_future(&s.async, run);
  }
  int block(cond_until_state_ &, uint64_t deadline_ns) noexcept {
    volt_mutex *mutex = detail::mutex_of(*guard_);
    int code = VOLT_OK;
    while (volt_is_ok(code) && !predicate_())
      code = volt_cond_wait_until(cond_, mutex, deadline_ns);
    return code;
  }
  void take(int, cond_until_state_ &) noexcept {
  }

 private:
  static int run(volt_async * a, volt_ctx * ctx) noexcept {
    auto *self = reinterpret_cast<cond_until_state_ *>(a);
    auto *of = static_cast<cond_until_operation *>(self->operation);
    VOLT_ASYNC_BEGIN(self);
    while (!of->predicate_()) {
      (void)of->guard_->release(); /* the wait unlocks */
      VOLT_AWAIT_RESULT(self, self->code,
                        volt_cond_wait_future(&self->wait, of->cond_, of->mutex_));
      if (self->code != VOLT_OK) VOLT_RETURN(self, self->code);
      *of->guard_ = volt::lock(of->mutex_, adopt);
    }
    VOLT_ASYNC_END(self);
  }
  volt_cond *cond_;
  volt::lock *guard_;
  Predicate predicate_;
  volt_mutex *mutex_ = nullptr; /* set by begin() */
};

/* A condition variable (volt/cond.h). */
class cond {
 public:
  constexpr cond() noexcept : c_ VOLT_COND_INIT {
  }
  ~cond() {
    volt_cond_destroy(&c_);
  }
  cond(const cond &) = delete;
  cond &operator=(const cond &) = delete;

  /* Unlock, wait for a signal, and lock again. A wait of a thread or a fiber that ends otherwise,
   * by its deadline or a cancel, locks again, too. A wait of a coroutine, or a branch of a select,
   * that does leaves guard without the mutex: lock it again if need be. guard: holds the mutex
   * (aborts). */
  cond_operation wait(volt::lock &guard) noexcept {
    return cond_operation(c_, guard);
  }
  /* The same until predicate() is true: it is called with the mutex held, on a thread that runs the
   * waiter, before each wait. It must not throw (terminates). */
  template <class Predicate>
  cond_until_operation<Predicate> wait(volt::lock &guard, Predicate predicate) noexcept {
    return cond_until_operation<Predicate>(c_, guard, std::move(predicate));
  }
  /* Let the oldest waiter go on. */
  void signal() noexcept {
    volt_cond_signal(&c_);
  }
  /* Let all waiters go on. */
  void broadcast() noexcept {
    volt_cond_broadcast(&c_);
  }
  uint32_t waiters() const noexcept {
    return volt_cond_waiters(&c_);
  }
  volt_cond *c() noexcept {
    return &c_;
  }

 private:
  volt_cond c_;
};

} // namespace volt

#endif
