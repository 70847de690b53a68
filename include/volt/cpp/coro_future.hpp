/* coro_future.hpp: a coroutine as a future of C, and a thread that waits for one. Part of
 * volt/coro.hpp. */
#ifndef VOLT_CPP_CORO_FUTURE_HPP
#define VOLT_CPP_CORO_FUTURE_HPP

#include "coro_task.hpp"
#include "deadline.hpp"
#include "select.hpp"

VOLT_CORO_BEGIN_

/* A task as a future, for code that drives futures: a select or a function of C, an event loop. It
 * is an async function of C whose poll runs the coroutine, so volt/async.h says what a cancel does.
 *
 *   auto f = volt::as_future(fetch(url));
 *   volt_future *either[] = {f.c(), volt_token_wait_future(&stop, &shutdown)};
 *   ...
 *   if (volt_select_winner(&select) == 0) use(f.take());
 *
 * The future polls as VOLT_OK if the coroutine has returned, as the code of the volt::error that has
 * left it, as VOLT_ERRNO(ENOTRECOVERABLE) if that was another exception, and if the task is empty as
 * VOLT_ENOMEM or VOLT_EINVAL: see volt::task. It does not move. If it is destroyed while it waits, so
 * is the coroutine, where it stands. */
template <class T>
class task_future {
 public:
  /* Of no task, until begin(). */
  task_future() noexcept = default;
  explicit task_future(task<T> t) noexcept {
    begin(std::move(t));
  }
  task_future(const task_future &) = delete;
  task_future &operator=(const task_future &) = delete;
  ~task_future() {
    if (code_of_(handle_) == VOLT_OK) destroy_coroutine_(handle_);
  }

  /* Take a task, if there was none. Returns c(). */
  volt_future *begin(task<T> t) noexcept {
    handle_ = t.disown_();
    volt_future *f = volt_async_future(&async_, poll);
    calls_.begin(&async_.frame, handle_); /* sets step: volt_future_leave_() asks */
    if (code_of_(handle_) == VOLT_OK) handle_.promise().begin(&calls_);
    return f;
  }
  /* The future. */
  volt_future *c() noexcept {
    return &async_.future;
  }
  /* What the coroutine has returned, once; or throw what has left it, or volt::canceled if it was
   * cancelled before it had begun. The future is ready. */
  T take() {
    if (int code = code_of_(handle_); code != VOLT_OK) no_coroutine_(code);
    if (!handle_.done()) never_begun_();
    return handle_.promise().take();
  }
  /* Private: whether it has no coroutine. */
  bool is_empty() const noexcept {
    return code_of_(handle_) != VOLT_OK;
  }
  /* Private: whether it has ended by an exception, with this code. */
  bool threw_code_(int code) const noexcept {
    return code_of_(handle_) == VOLT_OK && handle_.done() && handle_.promise().has_exception() &&
           handle_.promise().code() == code;
  }

 private:
  static int poll(volt_async *a, volt_ctx *ctx) {
    auto *self = reinterpret_cast<task_future *>(a); /* its first member */
    if (int code = code_of_(self->handle_); code != VOLT_OK) return code;
    if (!self->calls_.run(&a->frame, ctx) || !self->handle_.done()) return VOLT_PENDING;
    return self->handle_.promise().code();
  }
  [[noreturn]] static void never_begun_() {
#if VOLT_CPP_THROWS_
    throw canceled();
#else
    misuse_("volt::task_future::take() of a coroutine that was cancelled before it had begun");
#endif
  }

  volt_async async_{};
  chain_ calls_;
  std::coroutine_handle<promise_<T>> handle_{};
};

/* Make a future of C of a task. */
template <class T>
task_future<T> as_future(task<T> t) noexcept {
  return task_future<T>(std::move(t));
}

/* A task as an operation: what volt::select(), all() and within() make of one. Private. */
template <class T>
class [[nodiscard, gnu::warn_unused]] task_operation
    : public operation<task_operation<T>, T, task_future<T>> {
 public:
  explicit task_operation(task<T> t) noexcept : task_(std::move(t)) {
  }
  volt_future *begin(task_future<T> & f) noexcept {
    return f.begin(std::move(task_));
  }
  T take(int, task_future<T> &f) {
    return f.take();
  }
#if VOLT_CPP_THROWS_
  T finish(int code, task_future<T> &f) {
    if (VOLT_LIKELY(code == VOLT_OK) || f.threw_code_(code) || f.is_empty()) return f.take();
    throw_(code);
  }
#endif
  result<T> finish_result(int code, task_future<T> &f) {
    if constexpr (std::is_void_v<T>) {
      if (code == VOLT_OK || code == threw_) f.take();
      return code == VOLT_OK ? result<void>::success(code) : result<void>::failure(code);
    } else {
      if (code == VOLT_OK || code == threw_) return result<T>::success(VOLT_OK, f.take());
      return result<T>::failure(code);
    }
  }

 private:
  task<T> task_;
};

VOLT_CORO_END_

namespace volt {
template <class T>
struct branch_of_<task<T>> {
  using type = task_operation<T>;
};
} // namespace volt

VOLT_CORO_BEGIN_

/* ---- a thread waits ---- */

#if VOLT_CPP_THROWS_
/* Run a task here: a thread blocks, a fiber is suspended, until it has ended. The coroutine runs on
 * this thread, which is no worker: a sleep and a deadline in it name a runtime (volt::within(rt, ...)).
 * Returns what the task returns; throws what has left it. */
template <class T>
T sync_wait(task<T> t) {
  return task_operation<T>(std::move(t)).wait();
}
/* The same until a deadline: throws volt::timed_out if it has passed, and the task has come to its
 * end. On a thread all its awaits were cancelled at once; in a fiber it was ended as by volt::until(),
 * so its cleanups may have waited, and if it has returned a value all the same, that is given. */
template <class T, class Duration>
T sync_wait(task<T> t, std::chrono::time_point<std::chrono::steady_clock, Duration> deadline) {
  return task_operation<T>(std::move(t)).wait_until(deadline);
}
#endif
/* The same; gives a volt::result. */
template <class T>
result<T> sync_result(task<T> t) {
  return task_operation<T>(std::move(t)).result();
}
template <class T, class Duration>
result<T> sync_result(task<T> t,
                      std::chrono::time_point<std::chrono::steady_clock, Duration> deadline) {
  return task_operation<T>(std::move(t)).result_until(deadline);
}

VOLT_CORO_END_

#endif
