/* rwlock.hpp: volt/rwlock.h and volt/sharded_rwlock.h in C++: read-write locks and their guards.
 *
 *   volt::rwlock config_lock;
 *   volt::read_lock reads = config_lock.read().wait();
 *   auto writes = config_lock.write().wait_for(10ms);      or throws volt::timed_out
 *   volt::read_lock reads = std::move(writes).downgrade();
 *
 *   volt::sharded_rwlock table_lock(16);                   16 shards: many cores read, few write
 *   auto reads = table_lock.read().wait();                 by a shard of this thread */
#ifndef VOLT_CPP_RWLOCK_HPP
#define VOLT_CPP_RWLOCK_HPP

#include <memory>

#include "../rwlock.h"
#include "../sharded_rwlock.h"
#include "operation.hpp"

namespace volt {

/* The one that holds a lock for reading: a volt_rwlock, or a shard. It may be moved. */
class [[nodiscard]] read_lock {
 public:
  read_lock() noexcept = default;
  /* Take over a lock that the caller has locked for reading. rw: not nullptr. */
  read_lock(volt_rwlock *rw, adopt_t) noexcept : rwlock_(rw) {
    VOLT_ASSUME_(rw != nullptr);
  }
  read_lock(volt_rwlock &rw, adopt_t) noexcept : rwlock_(&rw) {
  }
  read_lock(read_lock &&other) noexcept : rwlock_(other.release()) {
  }
  read_lock &operator=(read_lock &&other) noexcept {
    volt_rwlock *rw = other.release();
    unlock();
    rwlock_ = rw;
    return *this;
  }
  ~read_lock() {
    unlock();
  }

  /* Whether it holds a lock. */
  explicit operator bool() const noexcept {
    return rwlock_ != nullptr;
  }
  /* Unlock now. Does nothing if it holds nothing. */
  void unlock() noexcept {
    volt_rwlock *rw = release();
    if (rw) volt_rwlock_read_unlock(rw);
  }
  /* Give it up without unlocking it. Returns the lock, or nullptr: the caller unlocks. */
  [[nodiscard]] volt_rwlock *release() noexcept {
    volt_rwlock *rw = rwlock_;
    rwlock_ = nullptr;
    return rw;
  }

 private:
  volt_rwlock *rwlock_ = nullptr;
};

/* The one that holds a lock for writing. It may be moved. */
class [[nodiscard]] write_lock {
 public:
  write_lock() noexcept = default;
  /* Take over a lock that the caller has locked for writing. rw: not nullptr. */
  write_lock(volt_rwlock *rw, adopt_t) noexcept : rwlock_(rw) {
    VOLT_ASSUME_(rw != nullptr);
  }
  write_lock(volt_rwlock &rw, adopt_t) noexcept : rwlock_(&rw) {
  }
  write_lock(write_lock &&other) noexcept : rwlock_(other.release()) {
  }
  write_lock &operator=(write_lock &&other) noexcept {
    volt_rwlock *rw = other.release();
    unlock();
    rwlock_ = rw;
    return *this;
  }
  ~write_lock() {
    unlock();
  }

  /* Whether it holds a lock. */
  explicit operator bool() const noexcept {
    return rwlock_ != nullptr;
  }
  /* Unlock now. Does nothing if it holds nothing. */
  void unlock() noexcept {
    volt_rwlock *rw = release();
    if (rw) volt_rwlock_write_unlock(rw);
  }
  /* Unlock now, in favour of the oldest waiter: volt_rwlock_write_unlock_fair(). */
  void unlock_fair() noexcept {
    volt_rwlock *rw = release();
    if (rw) volt_rwlock_write_unlock_fair(rw);
  }
  /* Go on reading; no writer gets the lock in between. It must hold a lock (aborts). */
  read_lock downgrade() &&noexcept {
    volt_rwlock *rw = release();
    if (!rw) misuse_("a volt::write_lock that holds nothing is downgraded");
    volt_rwlock_downgrade(rw);
    return read_lock(*rw, adopt);
  }
  /* Give it up without unlocking it. Returns the lock, or nullptr: the caller unlocks. */
  [[nodiscard]] volt_rwlock *release() noexcept {
    volt_rwlock *rw = rwlock_;
    rwlock_ = nullptr;
    return rw;
  }

 private:
  volt_rwlock *rwlock_ = nullptr;
};

/* What read() returns. */
class [[nodiscard, gnu::warn_unused]] read_operation
    : public operation<read_operation, volt::read_lock> {
 public:
  static constexpr bool tries = true;
  explicit read_operation(volt_rwlock & rw) noexcept : rwlock_(&rw) {
  }
  int try_now() noexcept {
    return volt_rwlock_try_read(rwlock_);
  }
  volt_future *begin(volt_future & f) noexcept {
    return volt_rwlock_read_future(&f, rwlock_);
  }
  int block(volt_future &, uint64_t deadline_ns) noexcept {
    return volt_rwlock_read_until(rwlock_, deadline_ns);
  }
  volt::read_lock take(int, volt_future &) noexcept {
    return volt::read_lock(rwlock_, adopt);
  }

 private:
  volt_rwlock *rwlock_;
};

/* What write() returns. */
class [[nodiscard, gnu::warn_unused]] write_operation
    : public operation<write_operation, volt::write_lock> {
 public:
  static constexpr bool tries = true;
  explicit write_operation(volt_rwlock & rw) noexcept : rwlock_(&rw) {
  }
  int try_now() noexcept {
    return volt_rwlock_try_write(rwlock_);
  }
  volt_future *begin(volt_future & f) noexcept {
    return volt_rwlock_write_future(&f, rwlock_);
  }
  int block(volt_future &, uint64_t deadline_ns) noexcept {
    return volt_rwlock_write_until(rwlock_, deadline_ns);
  }
  volt::write_lock take(int, volt_future &) noexcept {
    return volt::write_lock(rwlock_, adopt);
  }

 private:
  volt_rwlock *rwlock_;
};

/* A read-write lock, fair to readers and writers (volt/rwlock.h). */
class rwlock {
 public:
  constexpr rwlock() noexcept : c_ VOLT_RWLOCK_INIT {
  }
  /* One whose oldest waiter, if that is a writer, up to k callers may pass. */
  static rwlock with_bypass(uint32_t k) noexcept {
    return rwlock(k);
  }
  ~rwlock() {
    volt_rwlock_destroy(&c_);
  }
  rwlock(const rwlock &) = delete;
  rwlock &operator=(const rwlock &) = delete;

  /* Lock for reading: gives a volt::read_lock. */
  read_operation read() noexcept {
    return read_operation(c_);
  }
  volt::result<volt::read_lock> try_read() noexcept {
    return read().result_now();
  }
  /* Lock for writing: gives a volt::write_lock. */
  write_operation write() noexcept {
    return write_operation(c_);
  }
  volt::result<volt::write_lock> try_write() noexcept {
    return write().result_now();
  }

  /* Snapshots. */
  uint32_t readers() const noexcept {
    return volt_rwlock_readers(&c_);
  }
  uint32_t waiters() const noexcept {
    return volt_rwlock_waiters(&c_);
  }
  /* The lock as C code uses it. */
  volt_rwlock *c() noexcept {
    return &c_;
  }

 private:
  explicit rwlock(uint32_t k) noexcept {
    volt_rwlock_init_bypass(&c_, k);
  }
  volt_rwlock c_;
};

/* ---- sharded ---- */

/* The one that holds every shard, for writing. It may be moved. */
class [[nodiscard]] sharded_write_lock {
 public:
  sharded_write_lock() noexcept = default;
  /* Take over a lock that the caller has locked for writing. */
  sharded_write_lock(volt_sharded_rwlock &s, adopt_t) noexcept : lock_(&s) {
  }
  sharded_write_lock(sharded_write_lock &&other) noexcept : lock_(other.release()) {
  }
  sharded_write_lock &operator=(sharded_write_lock &&other) noexcept {
    volt_sharded_rwlock *s = other.release();
    unlock();
    lock_ = s;
    return *this;
  }
  ~sharded_write_lock() {
    unlock();
  }

  explicit operator bool() const noexcept {
    return lock_ != nullptr;
  }
  void unlock() noexcept {
    volt_sharded_rwlock *s = release();
    if (s) volt_sharded_rwlock_write_unlock(s);
  }
  [[nodiscard]] volt_sharded_rwlock *release() noexcept {
    volt_sharded_rwlock *s = lock_;
    lock_ = nullptr;
    return s;
  }

 private:
  volt_sharded_rwlock *lock_ = nullptr;
};

/* What write() of a sharded lock returns. */
class [[nodiscard, gnu::warn_unused]] sharded_write_operation
    : public operation<sharded_write_operation, volt::sharded_write_lock, volt_sharded_write> {
 public:
  static constexpr bool tries = true;
  explicit sharded_write_operation(volt_sharded_rwlock & s) noexcept : lock_(&s) {
  }
  int try_now() noexcept {
    return volt_sharded_rwlock_try_write(lock_);
  }
  volt_future *begin(volt_sharded_write & w) noexcept {
    return volt_sharded_rwlock_write_future(&w, lock_);
  }
  int block(volt_sharded_write &, uint64_t deadline_ns) noexcept {
    return volt_sharded_rwlock_write_until(lock_, deadline_ns);
  }
  volt::sharded_write_lock take(int, volt_sharded_write &) noexcept {
    return volt::sharded_write_lock(*lock_, adopt);
  }

 private:
  volt_sharded_rwlock *lock_;
};

/* A read-write lock of shards, for data that many cores read (volt/sharded_rwlock.h). */
class sharded_rwlock {
 public:
  /* One of so many shards, at least 1 (aborts). Allocates them: a line of the cache each. */
  explicit sharded_rwlock(uint32_t shards) : memory_(new volt_rwlock_shard[shards]) {
    volt_sharded_rwlock_init(&c_, memory_.get(), shards);
  }
  /* The same in memory of the caller's, which lives as long. Allocates nothing. */
  sharded_rwlock(volt_rwlock_shard *shards, uint32_t count) noexcept {
    volt_sharded_rwlock_init(&c_, shards, count);
  }
  ~sharded_rwlock() {
    volt_sharded_rwlock_destroy(&c_);
  }
  sharded_rwlock(const sharded_rwlock &) = delete;
  sharded_rwlock &operator=(const sharded_rwlock &) = delete;

  /* Lock the shard of this thread for reading: gives a volt::read_lock. */
  read_operation read() noexcept {
    return read(volt_sharded_rwlock_here(&c_));
  }
  /* Lock a shard for reading. shard: below the count (aborts). */
  read_operation read(uint32_t shard) noexcept {
    return read_operation(*volt_sharded_rwlock_shard_(&c_, shard));
  }
  volt::result<volt::read_lock> try_read() noexcept {
    return read().result_now();
  }
  /* Lock all shards for writing: gives a volt::sharded_write_lock. */
  sharded_write_operation write() noexcept {
    return sharded_write_operation(c_);
  }
  volt::result<volt::sharded_write_lock> try_write() noexcept {
    return write().result_now();
  }

  /* Snapshots. */
  uint32_t readers() const noexcept {
    return volt_sharded_rwlock_readers(&c_);
  }
  uint32_t waiters() const noexcept {
    return volt_sharded_rwlock_waiters(&c_);
  }
  /* The lock as C code uses it. */
  volt_sharded_rwlock *c() noexcept {
    return &c_;
  }

 private:
  std::unique_ptr<volt_rwlock_shard[]> memory_;
  volt_sharded_rwlock c_;
};

} // namespace volt

#endif
