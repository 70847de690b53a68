/* std.hpp: locks and signals with the names and the members that the standard library gives them.
 *
 * volt/volt.hpp has guards and operations of its own. What is here is for code that is written for std:
 * std::lock_guard, std::unique_lock, std::shared_lock, std::scoped_lock, std::lock() and
 * std::condition_variable_any work with it, and another namespace is all that changes.
 *
 *   using volt::as_std::shared_mutex;                  instead of std::shared_mutex
 *   namespace fair = volt::as_std;                     or all of them: fair::mutex, fair::latch
 *
 *   volt::as_std::mutex accounts;                      also volt::std_mutex
 *   std::lock_guard guard(accounts);
 *
 * They are the C objects, which c() gives. So they are fair: first come, first served, by threads, fibers,
 * and what waits by the C functions; a thread blocks, and a fiber is suspended. What std calls
 * undefined, such as unlocking a mutex that is free, aborts with a message.
 *
 * In a fiber that is cancelled
 *   lock() and lock_shared() wait on, as those of std cannot fail: the cancel meets the next wait.
 *   acquire(), wait(), arrive_and_wait() and all that has a deadline throw volt::canceled. With
 *   -fno-exceptions, those without a deadline wait on, too, and the others return false.
 *
 * A deadline may be of any clock. That of std::chrono::steady_clock is on the clock of the fiber's
 * runtime, and so is a duration; on another clock a fiber waits until that says that it is time.
 *
 * std::condition_variable_any blocks the thread of the fiber that waits: use
 * volt::as_std::condition_variable. Of volt's libraries libvolt-sync suffices. */
#ifndef VOLT_STD_HPP
#define VOLT_STD_HPP

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <shared_mutex>

#include "barrier.h"
#include "cond.h"
#include "cpp/operation.hpp"
#include "cpp/signals.hpp"
#include "mutex.h"
#include "rwlock.h"
#include "semaphore.h"

namespace volt {

namespace detail {

/* Calls wait(deadline_ns), which says whether the deadline has passed, until a time of a clock. */
template <class Wait, class Duration>
int wait_by_clock(Wait wait,
                  const std::chrono::time_point<std::chrono::steady_clock, Duration> &time) {
  return wait(deadline_ns(time));
}
/* The clock may be set, and may be slower: it is asked again. */
template <class Wait, class Clock, class Duration>
int wait_by_clock(Wait wait, const std::chrono::time_point<Clock, Duration> &time) {
  for (;;) {
    auto now = Clock::now();
    if (time <= now) return wait(0);
    int code = wait(deadline_after(time - now));
    if (code != VOLT_ETIMEDOUT) return code;
  }
}

/* Whether a wait with a deadline has got what it waited for. */
inline bool is_got(int code) {
#if VOLT_CPP_THROWS_
  if (VOLT_UNLIKELY(code == VOLT_ECANCELED)) throw_(code);
#endif
  return volt_is_ok(code);
}

/* What a wait without a deadline waits for, where it cannot say that it was cancelled: its waker opens
 * a latch, and no cancel ends the wait for that. */
class uncancelled {
 public:
  volt_waiter waiter VOLT_WAITER_INIT;

  uncancelled() noexcept = default;
  uncancelled(const uncancelled &) = delete;
  uncancelled &operator=(const uncancelled &) = delete;
  volt_waker waker() noexcept {
    return {[](void *woken) { volt_latch_done(static_cast<volt_latch *>(woken)); }, &woken_};
  }
  /* code: of the call that has queued the waiter, or not. */
  void wait(int code) noexcept {
    if (code == VOLT_PENDING) volt_latch_wait(&woken_);
  }

 private:
  volt_latch woken_ VOLT_LATCH_INIT(1);
};

/* The completion function of a barrier that has none. */
struct no_completion {
  void operator()() const noexcept {
  }
};

} // namespace detail

} // namespace volt

namespace volt::as_std {

/* ---- locks ---- */

/* std::mutex (volt/mutex.h). */
class mutex {
 public:
  using native_handle_type = volt_mutex *;

  constexpr mutex() noexcept : c_ VOLT_MUTEX_INIT {
  }
  /* One whose oldest waiter up to k callers may pass. k: VOLT_BYPASS for most uses. */
  static mutex with_bypass(uint32_t k) noexcept {
    return mutex(k);
  }
  /* It must be unlocked (aborts). */
  ~mutex() {
    volt_mutex_destroy(&c_);
  }
  mutex(const mutex &) = delete;
  mutex &operator=(const mutex &) = delete;

  /* Wait for the lock. No cancel ends that. */
  void lock() noexcept {
    volt_mutex_lock(&c_);
  }
  /* Lock if it is free. Never fails spuriously. */
  [[nodiscard]] bool try_lock() noexcept {
    return volt_mutex_try_lock(&c_) == VOLT_OK;
  }
  /* It must be locked (aborts), by whomever. */
  void unlock() noexcept {
    volt_mutex_unlock(&c_);
  }

  /* How many wait for it. A snapshot. */
  uint32_t waiters() const noexcept {
    return volt_mutex_waiters(&c_);
  }
  /* The mutex as C code uses it. */
  volt_mutex *c() noexcept {
    return &c_;
  }
  native_handle_type native_handle() noexcept {
    return &c_;
  }

 protected:
  explicit mutex(uint32_t k) noexcept {
    volt_mutex_init_bypass(&c_, k);
  }

 private:
  volt_mutex c_;
};

/* std::timed_mutex (volt/mutex.h). */
class timed_mutex : public mutex {
 public:
  constexpr timed_mutex() noexcept = default;
  static timed_mutex with_bypass(uint32_t k) noexcept {
    return timed_mutex(k);
  }

  /* Wait for the lock, at most for so long, or until then. Returns whether it is locked. Throws
   * volt::canceled. */
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period> &d) {
    return try_lock() || detail::is_got(volt_mutex_lock_until(c(), deadline_after(d)));
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration> &time) {
    auto wait = [this](uint64_t deadline_ns) { return volt_mutex_lock_until(c(), deadline_ns); };
    return try_lock() || detail::is_got(detail::wait_by_clock(wait, time));
  }

 private:
  explicit timed_mutex(uint32_t k) noexcept : mutex(k) {
  }
};

/* std::shared_mutex and std::shared_timed_mutex (volt/rwlock.h): neither readers nor writers starve. */
class shared_mutex {
 public:
  using native_handle_type = volt_rwlock *;

  constexpr shared_mutex() noexcept : c_ VOLT_RWLOCK_INIT {
  }
  /* One whose oldest waiter, if that is a writer, up to k callers may pass. */
  static shared_mutex with_bypass(uint32_t k) noexcept {
    return shared_mutex(k);
  }
  /* It must be unlocked (aborts). */
  ~shared_mutex() {
    volt_rwlock_destroy(&c_);
  }
  shared_mutex(const shared_mutex &) = delete;
  shared_mutex &operator=(const shared_mutex &) = delete;

  /* Wait for the lock, for writing. No cancel ends that. */
  void lock() noexcept {
    volt_rwlock_write(&c_);
  }
  /* Lock for writing if it is free. Never fails spuriously. */
  [[nodiscard]] bool try_lock() noexcept {
    return volt_rwlock_try_write(&c_) == VOLT_OK;
  }
  /* Wait for the lock, at most for so long, or until then. Returns whether it is locked. Throws
   * volt::canceled. */
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period> &d) {
    return try_lock() || detail::is_got(volt_rwlock_write_until(&c_, deadline_after(d)));
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration> &time) {
    auto wait = [this](uint64_t deadline_ns) { return volt_rwlock_write_until(&c_, deadline_ns); };
    return try_lock() || detail::is_got(detail::wait_by_clock(wait, time));
  }
  /* It must be locked for writing (aborts), by whomever. */
  void unlock() noexcept {
    volt_rwlock_write_unlock(&c_);
  }

  /* Wait for the lock, for reading: behind writers that wait. A thread that reads and locks again for
   * reading may wait for a writer that waits for it. No cancel ends that. */
  void lock_shared() noexcept {
    volt_rwlock_read(&c_);
  }
  /* Lock for reading if no writer holds it or waits for it. Never fails spuriously. */
  [[nodiscard]] bool try_lock_shared() noexcept {
    return volt_rwlock_try_read(&c_) == VOLT_OK;
  }
  /* As try_lock_for() and try_lock_until(), for reading. */
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_shared_for(const std::chrono::duration<Rep, Period> &d) {
    return try_lock_shared() || detail::is_got(volt_rwlock_read_until(&c_, deadline_after(d)));
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration> &time) {
    auto wait = [this](uint64_t deadline_ns) { return volt_rwlock_read_until(&c_, deadline_ns); };
    return try_lock_shared() || detail::is_got(detail::wait_by_clock(wait, time));
  }
  /* It must be locked for reading (aborts). */
  void unlock_shared() noexcept {
    volt_rwlock_read_unlock(&c_);
  }

  /* How many wait for it. A snapshot. */
  uint32_t waiters() const noexcept {
    return volt_rwlock_waiters(&c_);
  }
  /* The lock as C code uses it. */
  volt_rwlock *c() noexcept {
    return &c_;
  }
  native_handle_type native_handle() noexcept {
    return &c_;
  }

 private:
  explicit shared_mutex(uint32_t k) noexcept {
    volt_rwlock_init_bypass(&c_, k);
  }
  volt_rwlock c_;
};

/* The same: it has the members of both. */
using shared_timed_mutex = shared_mutex;

/* std::condition_variable (volt/cond.h), for a std::unique_lock of a mutex or timed_mutex of these. No
 * wait ends spuriously. */
class condition_variable {
 public:
  constexpr condition_variable() noexcept : c_ VOLT_COND_INIT {
  }
  ~condition_variable() {
    volt_cond_destroy(&c_);
  }
  condition_variable(const condition_variable &) = delete;
  condition_variable &operator=(const condition_variable &) = delete;

  void notify_one() noexcept {
    volt_cond_signal(&c_);
  }
  void notify_all() noexcept {
    volt_cond_broadcast(&c_);
  }

  /* Unlock, wait to be notified, and lock again. lock: owns its mutex (aborts), which is that of all that
   * wait now (aborts). Throws volt::canceled, with the mutex locked. */
  template <class Mutex>
  void wait(std::unique_lock<Mutex> &lock) {
    (void)wait_(lock, VOLT_NO_DEADLINE);
  }
  template <class Mutex, class Predicate>
  void wait(std::unique_lock<Mutex> &lock, Predicate predicate) {
    while (!predicate()) wait(lock);
  }
  template <class Mutex, class Clock, class Duration>
  std::cv_status wait_until(std::unique_lock<Mutex> &lock,
                            const std::chrono::time_point<Clock, Duration> &time) {
    auto wait = [&](uint64_t deadline_ns) { return wait_(lock, deadline_ns); };
    return status_(detail::wait_by_clock(wait, time));
  }
  /* Returns predicate(). */
  template <class Mutex, class Clock, class Duration, class Predicate>
  bool wait_until(std::unique_lock<Mutex> &lock,
                  const std::chrono::time_point<Clock, Duration> &time, Predicate predicate) {
    while (!predicate()) {
      if (wait_until(lock, time) == std::cv_status::timeout) return predicate();
    }
    return true;
  }
  template <class Mutex, class Rep, class Period>
  std::cv_status wait_for(std::unique_lock<Mutex> &lock,
                          const std::chrono::duration<Rep, Period> &d) {
    return status_(wait_(lock, deadline_after(d)));
  }
  template <class Mutex, class Rep, class Period, class Predicate>
  bool wait_for(std::unique_lock<Mutex> &lock, const std::chrono::duration<Rep, Period> &d,
                Predicate predicate) {
    const uint64_t deadline_ns = deadline_after(d);
    while (!predicate()) {
      if (wait_(lock, deadline_ns) == VOLT_ETIMEDOUT) return predicate();
    }
    return true;
  }

  /* How many wait to be notified. A snapshot. */
  uint32_t waiters() const noexcept {
    return volt_cond_waiters(&c_);
  }
  /* The condition variable as C code uses it. */
  volt_cond *c() noexcept {
    return &c_;
  }

 private:
  template <class Mutex>
  int wait_(std::unique_lock<Mutex> &lock, uint64_t deadline_ns) {
    if (!lock.owns_lock()) misuse_("a condition_variable waits with a lock that owns no mutex");
    int code = volt_cond_wait_until(&c_, lock.mutex()->c(), deadline_ns);
    (void)detail::is_got(code); /* may throw; without exceptions a cancelled wait just ends */
    return code;
  }
  static std::cv_status status_(int code) noexcept {
    return code == VOLT_ETIMEDOUT ? std::cv_status::timeout : std::cv_status::no_timeout;
  }
  volt_cond c_;
};

/* ---- semaphores ---- */

/* std::counting_semaphore (volt/semaphore.h). */
template <std::ptrdiff_t LeastMax = static_cast<std::ptrdiff_t>(VOLT_SEM_MAX)>
class counting_semaphore {
  static_assert(LeastMax >= 0, "no semaphore can hold less than 0 permits");
  static_assert(LeastMax <= static_cast<std::ptrdiff_t>(VOLT_SEM_MAX),
                "a semaphore holds at most VOLT_SEM_MAX permits");

 public:
  static constexpr std::ptrdiff_t max() noexcept {
    return LeastMax;
  }
  /* permits: 0..max() (aborts). */
  explicit constexpr counting_semaphore(std::ptrdiff_t permits) noexcept
      : c_ VOLT_SEM_INIT(permits) {
    if (permits < 0 || permits > LeastMax)
      misuse_("a counting_semaphore begins below 0 or above max()");
  }
  ~counting_semaphore() {
    volt_sem_destroy(&c_);
  }
  counting_semaphore(const counting_semaphore &) = delete;
  counting_semaphore &operator=(const counting_semaphore &) = delete;

  /* n: 0 or more, and no more than there is room for below max() (aborts). */
  void release(std::ptrdiff_t n = 1) noexcept {
    if (n < 0 || n > LeastMax || (is_small_ && n > LeastMax - available_()))
      misuse_("a counting_semaphore is released below 0, or beyond its max()");
    volt_sem_release(&c_, static_cast<uint32_t>(n));
  }
  /* Wait for a permit, and take it. Throws volt::canceled. */
  void acquire() {
#if VOLT_CPP_THROWS_
    check(volt_sem_acquire(&c_, 1));
#else
    if (try_acquire()) return;
    detail::uncancelled w;
    w.wait(volt_sem_acquire_waiter(&c_, &w.waiter, 1, w.waker()));
#endif
  }
  /* Take a permit if there is one and nothing waits for it. Never fails spuriously. */
  [[nodiscard]] bool try_acquire() noexcept {
    return volt_sem_try_acquire(&c_, 1) == VOLT_OK;
  }
  /* Wait for a permit, at most for so long, or until then. Returns whether it is taken. Throws
   * volt::canceled. */
  template <class Rep, class Period>
  [[nodiscard]] bool try_acquire_for(const std::chrono::duration<Rep, Period> &d) {
    return try_acquire() || detail::is_got(volt_sem_acquire_until(&c_, 1, deadline_after(d)));
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_acquire_until(const std::chrono::time_point<Clock, Duration> &time) {
    auto wait = [this](uint64_t deadline_ns) {
      return volt_sem_acquire_until(&c_, 1, deadline_ns);
    };
    return try_acquire() || detail::is_got(detail::wait_by_clock(wait, time));
  }

  /* How many wait for a permit. A snapshot. */
  uint32_t waiters() const noexcept {
    return volt_sem_waiters(&c_);
  }
  /* The semaphore as C code uses it. */
  volt_sem *c() noexcept {
    return &c_;
  }

 private:
  /* volt_sem_release() looks itself at what all semaphores can hold. */
  static constexpr bool is_small_ = LeastMax < static_cast<std::ptrdiff_t>(VOLT_SEM_MAX);
  std::ptrdiff_t available_() const noexcept {
    return static_cast<std::ptrdiff_t>(volt_sem_available(&c_));
  }
  volt_sem c_;
};

/* std::binary_semaphore. */
using binary_semaphore = counting_semaphore<1>;

/* ---- latch and barrier ---- */

/* It has std's members, too. */
using volt::latch;

/* std::barrier, made of a volt_mutex and a volt_notify. Completion: called without arguments when all that
 * are expected have arrived, by the one that was the last, before the others go on; it must not
 * throw, and may wait. (volt::barrier has no completion function, but leaves a barrier that waits too
 * long.) */
template <class Completion = detail::no_completion>
class barrier {
  static_assert(std::is_nothrow_invocable_v<Completion &>,
                "the completion function of a barrier is noexcept");

 public:
  /* What arrive() gives, for wait(). */
  class arrival_token {
   public:
    arrival_token(arrival_token &&) noexcept = default;
    arrival_token &operator=(arrival_token &&) noexcept = default;

   private:
    friend class barrier;
    arrival_token(const barrier *of, uint64_t phase) noexcept : of_(of), phase_(phase) {
    }
    const barrier *of_;
    uint64_t phase_;
  };

  static constexpr std::ptrdiff_t max() noexcept {
    return PTRDIFF_MAX;
  }
  /* expected: how many arrivals end a phase; 0 or more (aborts). */
  explicit constexpr barrier(std::ptrdiff_t expected, Completion completion = Completion())
      : lock_ VOLT_MUTEX_INIT_BYPASS(VOLT_BYPASS),
        changed_ VOLT_NOTIFY_INIT,
        phase_(0),
        missing_(expected),
        expected_(expected),
        completion_(std::move(completion)) {
    if (expected < 0) misuse_("a barrier expects less than 0 arrivals");
  }
  /* All that have waited have returned; the last to arrive need not have: that is waited for. */
  ~barrier() {
    volt_mutex_lock(&lock_); /* the last to arrive still wakes the others */
    volt_mutex_unlock(&lock_);
    volt_notify_destroy(&changed_);
    volt_mutex_destroy(&lock_);
  }
  barrier(const barrier &) = delete;
  barrier &operator=(const barrier &) = delete;

  /* Arrive n times in this phase, and do not wait. n: 1 or more, and not more than are still expected
   * (aborts). */
  [[nodiscard]] arrival_token arrive(std::ptrdiff_t n = 1) {
    volt_mutex_lock(&lock_);
    arrival_token token(this, phase_);
    arrive_locked_(n);
    volt_mutex_unlock(&lock_);
    return token;
  }
  /* Wait until the phase of that arrival has ended. token: of this barrier (aborts). Throws
   * volt::canceled: the arrival stands. */
  void wait(arrival_token &&token) const {
    if (token.of_ != this) misuse_("a barrier waits with the arrival_token of another one");
    volt_mutex_lock(&lock_);
    wait_locked_(token.phase_);
  }
  /* Arrive, and wait. Throws volt::canceled: the arrival stands. */
  void arrive_and_wait() {
    volt_mutex_lock(&lock_);
    const uint64_t phase = phase_;
    arrive_locked_(1);
    wait_locked_(phase);
  }
  /* Arrive in this phase, and not in those that come: they expect one less. */
  void arrive_and_drop() {
    volt_mutex_lock(&lock_);
    if (expected_ == 0) misuse_("a barrier that expects no thread is left");
    expected_ -= 1;
    arrive_locked_(1);
    volt_mutex_unlock(&lock_);
  }

  /* How many wait. A snapshot. */
  uint32_t waiters() const noexcept {
    return volt_notify_waiters(&changed_);
  }

 private:
  void arrive_locked_(std::ptrdiff_t n) {
    if (n < 1 || n > missing_)
      misuse_("a barrier has more arrivals than it expects, or less than 1");
    missing_ -= n;
    if (missing_ != 0) return;
    volt_mutex_unlock(&lock_); /* nothing else may arrive now */
    completion_();
    volt_mutex_lock(&lock_);
    missing_ = expected_;
    phase_ += 1;
    volt_notify_all(&changed_); /* locked, so that it is still there */
  }
  /* Unlocks. */
  void wait_locked_(uint64_t phase) const {
    if (phase_ != phase) {
      volt_mutex_unlock(&lock_);
      return;
    }
#if VOLT_CPP_THROWS_
    volt_future f;
    volt_future_made(volt_notify_wait_future(&f, &changed_)); /* from now on it misses no change */
    volt_mutex_unlock(&lock_);
    check(volt_future_wait(&f));
#else
    detail::uncancelled w;
    int code = volt_notify_wait_waiter(&changed_, &w.waiter, w.waker());
    volt_mutex_unlock(&lock_);
    w.wait(code);
#endif
  }

  mutable volt_mutex lock_;
  mutable volt_notify changed_; /* the phase has */
  uint64_t phase_;
  std::ptrdiff_t missing_;  /* in this phase */
  std::ptrdiff_t expected_; /* in the next one */
  Completion completion_;
};

} // namespace volt::as_std

namespace volt {

/* The same by names that do not hide those of volt/volt.hpp: a Lockable, */
using std_mutex = as_std::mutex;
/* a TimedLockable, */
using std_timed_mutex = as_std::timed_mutex;
/* a SharedTimedLockable, */
using std_shared_mutex = as_std::shared_mutex;
/* what waits with a std::unique_lock of the first two, */
using std_condition_variable = as_std::condition_variable;
/* and a barrier with a completion function. */
template <class Completion = detail::no_completion>
using std_barrier = as_std::barrier<Completion>;
using as_std::binary_semaphore;
using as_std::counting_semaphore;

} // namespace volt

#endif
