/* asio.hpp: volt's waits as asynchronous operations of Asio: standalone Asio, or Boost.Asio.
 *
 *   volt::async_mutex mutex;                           what asio's issue 935 asks for
 *   co_await mutex.lock();                             in an asio::awaitable
 *   ...
 *   mutex.unlock();
 *
 *   volt::semaphore connections(8);                    any object of volt/volt.hpp, any operation
 *   volt::permits p = co_await volt::async_wait(connections.acquire());
 *   volt::async_wait(jobs.recv(), [](std::error_code ec, job j) { ... });
 *   std::future<volt::lock> held = volt::async_wait(m.lock(), asio::use_future);
 *   volt::async_wait(io, latch.opened(), handler);     io: where a handler runs that has no executor
 *
 * Threads, fibers, tasks and what waits in Asio wait in the same queues, first come, first served.
 *
 * The completion token may be any: a function, use_future, use_awaitable (which is the default, where
 * there are coroutines), deferred, yield. A handler is called through its associated executor, and never
 * within the initiating function. It gets an error_code, and what the operation gives: a guard,
 * a value, or nothing. The place in the queue is taken by the initiating function; that of
 * use_awaitable and deferred is called when they are awaited.
 *   Errors: asio::error::operation_aborted if it was cancelled; else a code of volt/base.h, such as
 * `ec == VOLT_ECLOSED`, or an error of the system.
 *
 * Cancel: by the handler's cancellation slot, with any of terminal, partial and total; the slot is to be
 * emitted as Asio says, by what is in the handler's executor. The outcome is exact. Either the wait has
 * come to nothing: what it had got is given back to those that wait behind it, and the handler
 * gets operation_aborted. Or the handler gets it all: when the cancel comes after its call has begun; or
 * when an element of a channel has moved, which cannot be given back. What a handler would have got
 * that is never called, because its io_context ends, is given back as well.
 *
 * Memory: one block by the handler's associated allocator, for the wait, the handler, and its way to
 * the executor; nothing else is allocated, but for what an executor itself allocates that hides its type
 * (any_io_executor). An executor that throws when a function is posted to it ends the program.
 *
 * Objects must outlive the waits on them, also those that an io_context has when it ends: it cancels
 * them. volt::blocking(), a task, a fiber's join: what volt's runtime has to end, or what may throw the
 * exceptions of others, does not belong here.
 *
 * Which Asio: Boost's, if <boost/asio.hpp> was included before, or there is no <asio.hpp>. VOLT_ASIO_BOOST
 * as 0 or 1 decides. Cancellation slots are there from Asio 1.20 and Boost 1.77 on. Programs link
 * libvolt-sync, and no library of volt's besides. */
#ifndef VOLT_ASIO_HPP
#define VOLT_ASIO_HPP

#include "cpp/asio_error.hpp"
#include "cpp/asio_wait.hpp"
#include "cpp/asio_which.hpp"
#include "cpp/channel.hpp"
#include "cpp/mutex.hpp"
#include "cpp/operation.hpp"
#include "cpp/rwlock.hpp"
#include "cpp/semaphore.hpp"
#include "cpp/signals.hpp"

VOLT_ASIO_BEGIN_

/* ---- any operation ---- */

/* Wait for an operation of volt/volt.hpp. token: a completion token for void(error_code, value), or
 * void(error_code) where the operation gives nothing. */
template <class Op, class Token VOLT_ASIO_TOKEN_, class = std::enable_if_t<is_operation<Op>>>
auto async_wait(Op op, Token &&token = Token()) {
  op.forgo();
  return asio_detail::net::async_initiate<Token, asio_detail::asio_signature<Op>>(
      asio_detail::asio_initiate(), token, std::move(op));
}
/* The same of a handler that runs on this executor, or in this context, if it has none of its own. */
template <class Executor, class Op, class Token VOLT_ASIO_TOKEN_,
          class = std::enable_if_t<!is_operation<Executor> && is_operation<Op>>>
auto async_wait(Executor &&executor, Op op, Token &&token = Token()) {
  op.forgo();
  if constexpr (asio_detail::is_asio_context<std::decay_t<Executor>>) {
    return asio_detail::net::async_initiate<Token, asio_detail::asio_signature<Op>>(
        asio_detail::asio_initiate(), token, std::move(op), executor.get_executor());
  } else {
    return asio_detail::net::async_initiate<Token, asio_detail::asio_signature<Op>>(
        asio_detail::asio_initiate(), token, std::move(op), std::decay_t<Executor>(executor));
  }
}

/* ---- without guards ---- */

namespace asio_detail {

/* An operation that leaves what it has got to the caller, to be given back by hand. */
template <class Op>
class [[nodiscard, gnu::warn_unused]] unguarded : public operation<unguarded<Op>, void> {
 public:
  explicit unguarded(Op op) noexcept : op_(std::move(op)) {
    op_.forgo();
  }
  volt_future *begin(volt_future & f) noexcept {
    return op_.begin(f);
  }
  void take(int code, volt_future &f) noexcept {
    auto guard = op_.take(code, f);
    if constexpr (std::is_same_v<decltype(guard), volt::permits>)
      (void)guard.disown();
    else
      (void)guard.release();
  }

 private:
  Op op_;
};

} // namespace asio_detail

/* A mutex that is locked and unlocked by hand: it is a volt_mutex, as volt::mutex is, whose lock() an
 * asio::awaitable awaits. What locks it may be std::lock_guard(m, std::adopt_lock). */
class async_mutex {
 public:
  constexpr async_mutex() noexcept = default;

  /* Lock. token: for void(error_code). */
  template <class Token VOLT_ASIO_TOKEN_>
  auto async_lock(Token &&token = Token()) {
    return async_wait(asio_detail::unguarded<lock_operation>(mutex_.lock()),
                      std::forward<Token>(token));
  }
#if defined(BOOST_ASIO_HAS_CO_AWAIT) || defined(ASIO_HAS_CO_AWAIT)
  /* The same, in a coroutine. */
  auto lock() {
    return async_lock(asio_detail::net::use_awaitable);
  }
#endif
  bool try_lock() noexcept {
    return volt_mutex_try_lock(mutex_.c()) == VOLT_OK;
  }
  void unlock() noexcept {
    volt_mutex_unlock(mutex_.c());
  }
  uint32_t waiters() const noexcept {
    return mutex_.waiters();
  }
  /* The mutex as C code uses it; volt::lock_operation(*c()) gives a guard. */
  volt_mutex *c() noexcept {
    return mutex_.c();
  }

 private:
  volt::mutex mutex_;
};

/* A semaphore whose permits are taken and released by hand: it is a volt_sem, as volt::semaphore is. */
class async_semaphore {
 public:
  explicit constexpr async_semaphore(uint32_t permits) noexcept : semaphore_(permits) {
  }

  /* Take n permits. token: for void(error_code). */
  template <class Token VOLT_ASIO_TOKEN_>
  auto async_acquire(uint32_t n, Token &&token = Token()) {
    return async_wait(asio_detail::unguarded<acquire_operation>(semaphore_.acquire(n)),
                      std::forward<Token>(token));
  }
#if defined(BOOST_ASIO_HAS_CO_AWAIT) || defined(ASIO_HAS_CO_AWAIT)
  /* The same, in a coroutine. */
  auto acquire(uint32_t n = 1) {
    return async_acquire(n, asio_detail::net::use_awaitable);
  }
#endif
  bool try_acquire(uint32_t n = 1) noexcept {
    return volt_sem_try_acquire(semaphore_.c(), n) == VOLT_OK;
  }
  void release(uint32_t n = 1) noexcept {
    volt_sem_release(semaphore_.c(), n);
  }
  /* End all waits, now and later, with VOLT_ECLOSED. */
  void close() noexcept {
    semaphore_.close();
  }
  uint32_t available() const noexcept {
    return semaphore_.available();
  }
  uint32_t waiters() const noexcept {
    return semaphore_.waiters();
  }
  volt_sem *c() noexcept {
    return semaphore_.c();
  }

 private:
  volt::semaphore semaphore_;
};

} // namespace on_asio or on_boost_asio
} // namespace volt

#endif
