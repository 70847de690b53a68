/* mutex.hpp: volt/mutex.h in C++: a mutex, and the guard that holds it.
 *
 *   volt::mutex accounts;
 *   {
 *     volt::lock guard(accounts);                      waits; unlocks at the end of the block
 *     ...
 *   }
 *   auto guard = accounts.lock().wait_for(10ms);       or throws volt::timed_out
 *   if (auto guard = accounts.try_lock()) ...
 *   volt::lock guard = co_await accounts.lock();       a coroutine
 *
 * volt::mutex has no unlock(), so std::lock_guard does not compile with it: only a volt::lock
 * unlocks. c() gives the volt_mutex, for C code that uses the same mutex. */
#ifndef VOLT_CPP_MUTEX_HPP
#define VOLT_CPP_MUTEX_HPP

#include "../mutex.h"
#include "operation.hpp"

namespace volt {

class lock_operation;
class mutex;

/* The one that holds a mutex. It may be moved, also to another thread. */
class [[nodiscard]] lock {
 public:
  lock() noexcept = default;
  /* Take over a mutex that the caller has locked. m: not nullptr. */
  lock(volt_mutex *m, adopt_t) noexcept : mutex_(m) {
    VOLT_ASSUME_(m != nullptr); /* so the destructor of one that was not moved has no test */
  }
  lock(volt_mutex &m, adopt_t) noexcept : mutex_(&m) {
  }
  inline lock(mutex &m, adopt_t) noexcept;
#if VOLT_CPP_THROWS_
  /* Wait for the mutex: the same as m.lock().wait(). */
  [[nodiscard]] inline explicit lock(mutex &m);
#endif
  lock(lock &&other) noexcept : mutex_(other.release()) {
  }
  lock &operator=(lock &&other) noexcept {
    volt_mutex *m = other.release();
    unlock();
    mutex_ = m;
    return *this;
  }
  ~lock() {
    if (mutex_) volt_mutex_unlock(mutex_); /* nothing is stored: a coroutine's frame would be */
  }

  /* Whether it holds a mutex. */
  explicit operator bool() const noexcept {
    return mutex_ != nullptr;
  }
  /* The mutex that it holds, or nullptr. */
  volt_mutex *c() const noexcept {
    return mutex_;
  }
  /* Unlock now. Does nothing if it holds nothing. */
  void unlock() noexcept {
    volt_mutex *m = release();
    if (m) volt_mutex_unlock(m);
  }
  /* Unlock now, in favour of the oldest waiter: volt_mutex_unlock_fair(). */
  void unlock_fair() noexcept {
    volt_mutex *m = release();
    if (m) volt_mutex_unlock_fair(m);
  }
  /* Give the mutex up without unlocking it. Returns it, or nullptr: the caller unlocks. */
  [[nodiscard]] volt_mutex *release() noexcept {
    volt_mutex *m = mutex_;
    mutex_ = nullptr;
    return m;
  }

 private:
  volt_mutex *mutex_ = nullptr;
};

/* What mutex.lock() returns. It can be made from a volt_mutex of C as well. */
class [[nodiscard, gnu::warn_unused]] lock_operation
    : public operation<lock_operation, volt::lock> {
 public:
  static constexpr bool tries = true;
  explicit lock_operation(volt_mutex & m) noexcept : mutex_(&m) {
  }
  int try_now() noexcept {
    return volt_mutex_try_from_(mutex_, 0); /* as quick as it can be while the mutex is free */
  }
  volt_future *begin(volt_future & f) noexcept {
    return volt_mutex_lock_future(&f, mutex_);
  }
  int block(volt_future &, uint64_t deadline_ns) noexcept {
    return volt_mutex_lock_until(mutex_, deadline_ns);
  }
  volt::lock take(int, volt_future &) noexcept {
    return volt::lock(mutex_, adopt);
  }

 private:
  volt_mutex *mutex_;
};

/* A mutual exclusion lock, fair to threads, fibers, coroutines and tasks (volt/mutex.h). */
class mutex {
 public:
  constexpr mutex() noexcept : c_ VOLT_MUTEX_INIT {
  }
  /* One whose oldest waiter up to k callers may pass. k: VOLT_BYPASS for most uses. */
  static mutex with_bypass(uint32_t k) noexcept {
    return mutex(k);
  }
  ~mutex() {
    volt_mutex_destroy(&c_);
  }
  mutex(const mutex &) = delete;
  mutex &operator=(const mutex &) = delete;

  /* Lock: gives a volt::lock. Never VOLT_ECLOSED. */
  lock_operation lock() noexcept {
    return lock_operation(c_);
  }
  /* Lock if it is free. */
  volt::result<volt::lock> try_lock() noexcept {
    return lock().result_now();
  }

  /* Snapshots. */
  bool is_locked() const noexcept {
    return volt_mutex_is_locked(&c_);
  }
  uint32_t waiters() const noexcept {
    return volt_mutex_waiters(&c_);
  }
  /* The mutex as C code uses it. */
  volt_mutex *c() noexcept {
    return &c_;
  }

 private:
  explicit mutex(uint32_t k) noexcept {
    volt_mutex_init_bypass(&c_, k);
  }
  volt_mutex c_;
};

inline lock::lock(mutex &m, adopt_t) noexcept : mutex_(m.c()) {
}
#if VOLT_CPP_THROWS_
inline lock::lock(mutex &m) : lock(m.lock().wait()) {
}
#endif

} // namespace volt

#endif
