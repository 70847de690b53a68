/* signals.hpp: in C++ what has no value, and happens: notify, latch, barrier, once, token.
 *
 *   news.notified().wait_for(1s);                          a notify: news.one(), news.all()
 *   done.opened().wait();                                  a latch: done.count_down()
 *   if (round.arrive().wait()) report();                   a barrier: true for the last to arrive
 *   loaded.call([&] { load(); });                          a once; what load() throws is thrown
 *   stop.cancelled().wait();                               a token: stop.cancel()
 *
 * Each is its C struct: volt/notify.h, latch.h, barrier.h, once.h, token.h. */
#ifndef VOLT_CPP_SIGNALS_HPP
#define VOLT_CPP_SIGNALS_HPP

#include "../barrier.h"
#include "../latch.h"
#include "../notify.h"
#include "../once.h"
#include "../token.h"
#include "operation.hpp"

namespace volt {

/* ---- notify ---- */

/* What notify.notified() returns. */
class [[nodiscard, gnu::warn_unused]] notify_operation : public operation<notify_operation, void> {
 public:
  explicit notify_operation(volt_notify & n) noexcept : notify_(&n) {
  }
  volt_future *begin(volt_future & f) noexcept {
    return volt_notify_wait_future(&f, notify_);
  }
  int block(volt_future &, uint64_t deadline_ns) noexcept {
    return volt_notify_wait_until(notify_, deadline_ns);
  }
  void take(int, volt_future &) noexcept {
  }

 private:
  volt_notify *notify_;
};

/* Wakes one waiter or all (volt/notify.h). */
class notify {
 public:
  constexpr notify() noexcept : c_ VOLT_NOTIFY_INIT {
  }
  ~notify() {
    volt_notify_destroy(&c_);
  }
  notify(const notify &) = delete;
  notify &operator=(const notify &) = delete;

  /* Wait for one() or all(), or take the one() that is stored. */
  notify_operation notified() noexcept {
    return notify_operation(c_);
  }
  /* Wake the oldest waiter; if there is none, store that for the next one. */
  void one() noexcept {
    volt_notify_one(&c_);
  }
  /* Wake all that wait now. */
  void all() noexcept {
    volt_notify_all(&c_);
  }
  uint32_t waiters() const noexcept {
    return volt_notify_waiters(&c_);
  }
  volt_notify *c() noexcept {
    return &c_;
  }

 private:
  volt_notify c_;
};

/* ---- latch ---- */

/* What latch.opened() returns. */
class [[nodiscard, gnu::warn_unused]] latch_operation : public operation<latch_operation, void> {
 public:
  static constexpr bool tries = true;
  explicit latch_operation(volt_latch & l) noexcept : latch_(&l) {
  }
  int try_now() noexcept {
    return volt_latch_try_wait(latch_);
  }
  volt_future *begin(volt_future & f) noexcept {
    return volt_latch_wait_future(&f, latch_);
  }
  int block(volt_future &, uint64_t deadline_ns) noexcept {
    return volt_latch_wait_until(latch_, deadline_ns);
  }
  void take(int, volt_future &) noexcept {
  }

 private:
  volt_latch *latch_;
};

/* Opens when a count has come down to zero (volt/latch.h). It has the members of std::latch, too. */
class latch {
 public:
  static constexpr std::ptrdiff_t max() noexcept {
    return sizeof(std::ptrdiff_t) > 4 ? static_cast<std::ptrdiff_t>(VOLT_LATCH_MAX) : PTRDIFF_MAX;
  }
  /* count: 0..VOLT_LATCH_MAX (aborts). */
  explicit constexpr latch(int64_t count) noexcept : c_ VOLT_LATCH_INIT(count) {
    if (count < 0 || count > VOLT_LATCH_MAX) misuse_("a volt::latch begins below 0, or too high");
  }
  ~latch() {
    volt_latch_destroy(&c_);
  }
  latch(const latch &) = delete;
  latch &operator=(const latch &) = delete;

  /* Wait until the count is zero. */
  latch_operation opened() noexcept {
    return latch_operation(c_);
  }
  bool is_open() const noexcept {
    return count() == 0;
  }
  void add(uint32_t n = 1) noexcept {
    volt_latch_add(&c_, n);
  }
  /* n: 0 or more, and no more than the count (aborts). */
  void count_down(int64_t n = 1) noexcept {
    if (n < 0 || n > VOLT_LATCH_MAX)
      misuse_("a volt::latch is counted down by less than 0, or too much");
    volt_latch_count_down(&c_, static_cast<uint32_t>(n));
  }
  uint32_t count() const noexcept {
    return volt_latch_count(&c_);
  }
  uint32_t waiters() const noexcept {
    return volt_latch_waiters(&c_);
  }
  volt_latch *c() noexcept {
    return &c_;
  }

  /* Those of std::latch: the same as is_open(), and, by a thread or a fiber, as opened().wait(). With
   * -fno-exceptions no cancel of its fiber ends wait(). */
  [[nodiscard]] bool try_wait() const noexcept {
    return volt_latch_try_wait(&c_) == VOLT_OK;
  }
  void wait() const {
#if VOLT_CPP_THROWS_
    check(volt_latch_wait_until(&c_, VOLT_NO_DEADLINE));
#else
    volt_latch_wait(&c_);
#endif
  }
  void arrive_and_wait(int64_t n = 1) {
    count_down(n);
    wait();
  }

 private:
  mutable volt_latch c_; /* waiters are queued in it */
};

/* ---- barrier ---- */

/* What barrier.arrive() returns. */
class [[nodiscard, gnu::warn_unused]] arrive_operation : public operation<arrive_operation, bool> {
 public:
  explicit arrive_operation(volt_barrier & b) noexcept : barrier_(&b) {
  }
  volt_future *begin(volt_future & f) noexcept {
    return volt_barrier_wait_future(&f, barrier_);
  }
  int block(volt_future &, uint64_t deadline_ns) noexcept {
    return volt_barrier_wait_until(barrier_, deadline_ns);
  }
  bool take(int code, volt_future &) noexcept {
    return code == VOLT_LEADER;
  }

 private:
  volt_barrier *barrier_;
};

/* Opens when so many have arrived, again and again (volt/barrier.h). */
class barrier {
 public:
  /* count: 1 or more (0 aborts). */
  explicit barrier(uint32_t count) noexcept {
    volt_barrier_init(&c_, count);
  }
  ~barrier() {
    volt_barrier_destroy(&c_);
  }
  barrier(const barrier &) = delete;
  barrier &operator=(const barrier &) = delete;

  /* Arrive and wait for the others. Gives true to the last to arrive, false to the others. */
  arrive_operation arrive() noexcept {
    return arrive_operation(c_);
  }
  uint32_t waiters() const noexcept {
    return volt_barrier_waiters(&c_);
  }
  volt_barrier *c() noexcept {
    return &c_;
  }

 private:
  volt_barrier c_;
};

/* ---- once ---- */

/* What begin() of a once gives: true to the caller that has to do it, false to those that found it
 * done. Unless done() is called, its destructor says that it has failed, and the next waiter
 * becomes the initialiser. */
class [[nodiscard]] initialiser {
 public:
  initialiser() noexcept = default;
  initialiser(volt_once &o, adopt_t) noexcept : once_(&o) {
  }
  initialiser(initialiser &&other) noexcept : once_(other.once_) {
    other.once_ = nullptr;
  }
  initialiser &operator=(initialiser &&other) noexcept {
    volt_once *o = other.once_;
    other.once_ = nullptr;
    failed();
    once_ = o;
    return *this;
  }
  ~initialiser() {
    failed();
  }

  /* true: do it, then call done(). false: it has been done. */
  explicit operator bool() const noexcept {
    return once_ != nullptr;
  }
  void done() noexcept {
    volt_once *o = once_;
    once_ = nullptr;
    if (o) volt_once_done(o);
  }
  void failed() noexcept {
    volt_once *o = once_;
    once_ = nullptr;
    if (o) volt_once_failed(o);
  }

 private:
  volt_once *once_ = nullptr;
};

/* What once.begin() returns. */
class [[nodiscard, gnu::warn_unused]] once_operation
    : public operation<once_operation, initialiser> {
 public:
  explicit once_operation(volt_once & o) noexcept : once_(&o) {
  }
  int try_now() noexcept {
    return volt_once_is_done(once_) ? VOLT_DONE : VOLT_EAGAIN;
  }
  volt_future *begin(volt_future & f) noexcept {
    return volt_once_begin_future(&f, once_);
  }
  int block(volt_future &, uint64_t deadline_ns) noexcept {
    return try_now() == VOLT_DONE ? VOLT_DONE : volt_once_begin_until(once_, deadline_ns);
  }
  initialiser take(int code, volt_future &) noexcept {
    return code == VOLT_OK ? initialiser(*once_, adopt) : initialiser();
  }

 private:
  volt_once *once_;
};

/* Something that is done once (volt/once.h). */
class once {
 public:
  constexpr once() noexcept : c_ VOLT_ONCE_INIT {
  }
  ~once() {
    volt_once_destroy(&c_);
  }
  once(const once &) = delete;
  once &operator=(const once &) = delete;

  /* Wait until it is done, or this caller becomes the initialiser. */
  once_operation begin() noexcept {
    return once_operation(c_);
  }
  bool is_done() const noexcept {
    return volt_once_is_done(&c_);
  }
#if VOLT_CPP_THROWS_
  /* Do it by calling fn(), unless it is done; a thread or fiber waits while another one does it. If
   * fn throws, it is not done, this call throws the same, and the next caller does it. fn must
   * not call this for the same once (it would wait for itself, for ever). */
  template <class Fn>
  void call(Fn &&fn) {
    if (VOLT_LIKELY(is_done())) return;
    initialiser mine = begin().wait();
    if (!mine) return;
    std::forward<Fn>(fn)();
    mine.done();
  }
#endif
  uint32_t waiters() const noexcept {
    return volt_once_waiters(&c_);
  }
  volt_once *c() noexcept {
    return &c_;
  }

 private:
  volt_once c_;
};

/* ---- token ---- */

/* What token.cancelled() returns. */
class [[nodiscard, gnu::warn_unused]] token_operation : public operation<token_operation, void> {
 public:
  static constexpr bool tries = true;
  explicit token_operation(volt_token & t) noexcept : token_(&t) {
  }
  int try_now() noexcept {
    return volt_token_is_cancelled(token_) ? VOLT_OK : VOLT_EAGAIN;
  }
  volt_future *begin(volt_future & f) noexcept {
    return volt_token_wait_future(&f, token_);
  }
  int block(volt_future &, uint64_t deadline_ns) noexcept {
    return volt_token_wait_until(token_, deadline_ns);
  }
  void take(int, volt_future &) noexcept {
  }

 private:
  volt_token *token_;
};

/* Says that something must end. Tokens form trees (volt/token.h). */
class token {
 public:
  constexpr token() noexcept : c_ VOLT_TOKEN_INIT {
  }
  /* One that is cancelled with its parent. */
  static token child_of(token &parent) noexcept {
    return token(parent.c_, child_());
  }
  ~token() {
    volt_token_destroy(&c_);
  }
  token(const token &) = delete;
  token &operator=(const token &) = delete;

  /* Cancel it and all that descend from it. */
  void cancel() noexcept {
    volt_token_cancel(&c_);
  }
  bool is_cancelled() const noexcept {
    return volt_token_is_cancelled(&c_);
  }
  /* Wait until it is cancelled. */
  token_operation cancelled() noexcept {
    return token_operation(c_);
  }
  uint32_t waiters() const noexcept {
    return volt_token_waiters(&c_);
  }
  volt_token *c() noexcept {
    return &c_;
  }

 private:
  struct child_ {};
  token(volt_token &parent, child_) noexcept {
    volt_token_init_child(&c_, &parent);
  }
  volt_token c_;
};

} // namespace volt

#endif
