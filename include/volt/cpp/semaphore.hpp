/* semaphore.hpp: volt/semaphore.h in C++: a semaphore, and the guard that holds permits.
 *
 *   volt::semaphore pool(8);
 *   volt::permits one(pool);                           waits; releases at the end of the block
 *   auto four = pool.acquire(4).wait_for(10ms);        or throws volt::timed_out
 *   auto all = co_await pool.acquire_all();            a coroutine
 *
 * c() gives the volt_sem, for C code that uses the same semaphore. */
#ifndef VOLT_CPP_SEMAPHORE_HPP
#define VOLT_CPP_SEMAPHORE_HPP

#include "../semaphore.h"
#include "operation.hpp"

namespace volt {

class semaphore;

/* The one that holds permits of a semaphore. It may be moved, also to another thread. */
class [[nodiscard]] permits {
 public:
  permits() noexcept = default;
  /* Take over n permits that the caller has acquired. */
  permits(volt_sem &s, uint32_t n, adopt_t) noexcept : sem_(&s), count_(n) {
  }
  inline permits(semaphore &s, uint32_t n, adopt_t) noexcept;
#if VOLT_CPP_THROWS_
  /* Wait for n permits: the same as s.acquire(n).wait(). */
  [[nodiscard]] inline explicit permits(semaphore &s, uint32_t n = 1);
#endif
  permits(permits &&other) noexcept : sem_(other.sem_), count_(other.disown()) {
  }
  permits &operator=(permits &&other) noexcept {
    if (this == &other) return *this;
    release();
    sem_ = other.sem_;
    count_ = other.disown();
    return *this;
  }
  ~permits() {
    release();
  }

  /* Whether it holds any, and how many. */
  explicit operator bool() const noexcept {
    return count_ != 0;
  }
  uint32_t count() const noexcept {
    return count_;
  }
  /* Give all that it holds back to the semaphore now. */
  void release() noexcept {
    uint32_t n = disown();
    if (n != 0) volt_sem_release(sem_, n);
  }
  /* Give n of them back now. n: at most count() (aborts). */
  void release(uint32_t n) noexcept {
    if (n > count_) misuse_("a volt::permits releases more than it holds");
    count_ -= n;
    if (n != 0) volt_sem_release(sem_, n);
  }
  /* Let what it holds disappear: volt_sem_forget(). */
  void forget() noexcept {
    uint32_t n = disown();
    if (n != 0) volt_sem_forget(sem_, n);
  }
  /* Take n of them out, into a guard of their own. n: at most count() (aborts). */
  permits split(uint32_t n) noexcept {
    if (n > count_) misuse_("a volt::permits splits off more than it holds");
    count_ -= n;
    return permits(*sem_, n, adopt);
  }
  /* Give them up without releasing them. Returns how many: the caller releases them. */
  [[nodiscard]] uint32_t disown() noexcept {
    uint32_t n = count_;
    count_ = 0;
    return n;
  }

 private:
  volt_sem *sem_ = nullptr;
  uint32_t count_ = 0;
};

/* What semaphore.acquire() returns. It can be made from a volt_sem of C as well. */
class [[nodiscard, gnu::warn_unused]] acquire_operation
    : public operation<acquire_operation, volt::permits> {
 public:
  static constexpr bool tries = true;
  acquire_operation(volt_sem & s, uint32_t n) noexcept : sem_(&s), count_(n) {
  }
  int try_now() noexcept {
    return volt_sem_try_acquire(sem_, count_);
  }
  volt_future *begin(volt_future & f) noexcept {
    return volt_sem_acquire_future(&f, sem_, count_);
  }
  int block(volt_future &, uint64_t deadline_ns) noexcept {
    return volt_sem_acquire_until(sem_, count_, deadline_ns);
  }
  volt::permits take(int, volt_future &) noexcept {
    return volt::permits(*sem_, count_, adopt);
  }

 private:
  volt_sem *sem_;
  uint32_t count_;
};

/* What semaphore.acquire_all() returns. */
class [[nodiscard, gnu::warn_unused]] acquire_all_operation
    : public operation<acquire_all_operation, volt::permits> {
 public:
  explicit acquire_all_operation(volt_sem & s) noexcept : sem_(&s) {
  }
  volt_future *begin(volt_future & f) noexcept {
    return volt_sem_acquire_all_future(&f, sem_);
  }
  volt::permits take(int, volt_future &f) noexcept {
    return volt::permits(*sem_, volt_sem_future_taken(&f), adopt);
  }

 private:
  volt_sem *sem_;
};

/* A counting semaphore, fair to threads, fibers, coroutines and tasks (volt/semaphore.h). */
class semaphore {
 public:
  /* One with so many permits, at most VOLT_SEM_MAX (aborts). */
  explicit constexpr semaphore(uint32_t permits) noexcept : c_ VOLT_SEM_INIT(permits) {
    if (permits > VOLT_SEM_MAX) misuse_("a volt::semaphore with too many permits");
  }
  /* The same, which aborts if more is released than is held. */
  static semaphore bounded(uint32_t permits) noexcept {
    return semaphore(permits, bounded_());
  }
  ~semaphore() {
    volt_sem_destroy(&c_);
  }
  semaphore(const semaphore &) = delete;
  semaphore &operator=(const semaphore &) = delete;

  /* Take n permits: gives a volt::permits. VOLT_ECLOSED if it is closed. */
  acquire_operation acquire(uint32_t n = 1) noexcept {
    return acquire_operation(c_, n);
  }
  /* Take all permits of the limit: gives a volt::permits. */
  acquire_all_operation acquire_all() noexcept {
    return acquire_all_operation(c_);
  }
  /* Take n permits if they are there and no waiter is queued. */
  volt::result<volt::permits> try_acquire(uint32_t n = 1) noexcept {
    return acquire(n).result_now();
  }
  /* Take all that are in the pool now: maybe none. */
  volt::permits drain() noexcept {
    return volt::permits(c_, volt_sem_drain(&c_), adopt);
  }
  /* Add n permits that no guard holds. To give back what a guard holds, use the guard. */
  void release(uint32_t n) noexcept {
    volt_sem_release(&c_, n);
  }

  /* The limit: how many permits exist, held or not. */
  uint32_t limit() const noexcept {
    return volt_sem_limit(&c_);
  }
  void set_limit(uint32_t limit) noexcept {
    volt_sem_set_limit(&c_, limit);
  }
  /* By how much what is held exceeds the limit. */
  uint32_t excess() const noexcept {
    return volt_sem_excess(&c_);
  }
  /* Let up to n permits of the pool disappear. Returns how many did. */
  uint32_t forget_up_to(uint32_t n) noexcept {
    return volt_sem_forget_up_to(&c_, n);
  }

  /* End all waits, now and later, with VOLT_ECLOSED. What is held can still be released. */
  void close() noexcept {
    volt_sem_close(&c_);
  }
  bool is_closed() const noexcept {
    return volt_sem_is_closed(&c_);
  }

  /* Snapshots. */
  uint32_t available() const noexcept {
    return volt_sem_available(&c_);
  }
  uint32_t waiters() const noexcept {
    return volt_sem_waiters(&c_);
  }
  /* The semaphore as C code uses it. */
  volt_sem *c() noexcept {
    return &c_;
  }

 private:
  struct bounded_ {};
  semaphore(uint32_t permits, bounded_) noexcept {
    volt_sem_init_bounded(&c_, permits);
  }
  volt_sem c_;
};

inline permits::permits(semaphore &s, uint32_t n, adopt_t) noexcept : sem_(s.c()), count_(n) {
}
#if VOLT_CPP_THROWS_
inline permits::permits(semaphore &s, uint32_t n) : permits(s.acquire(n).wait()) {
}
#endif

} // namespace volt

#endif
