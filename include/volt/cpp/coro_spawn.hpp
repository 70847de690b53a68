/* coro_spawn.hpp: coroutines as tasks of a runtime: spawn, join, detach, stop tokens. Part of
 * volt/coro.hpp.
 *
 * The root of a chain of coroutines is one C task: root_. It has the chain, and, when the coroutine
 * has ended, what it has come to. The coroutine's frame goes as soon as it has ended.
 *
 * A handle that is given up leaves its root a reaper. That is called when the task has ended, drops
 * the outcome, and detaches the task. So until it has ended a task has a handle, and a stop token can
 * cancel it. */
#ifndef VOLT_CPP_CORO_SPAWN_HPP
#define VOLT_CPP_CORO_SPAWN_HPP

#if defined(__has_include)
#if __has_include(<stop_token>)
#include <stop_token>
#endif
#endif

#include <optional>

#include "branch.hpp"
#include "coro_task.hpp"
#include "fiber.hpp"
#include "reaper.hpp"
#include "runtime.hpp"

VOLT_CORO_BEGIN_

/* Private. */
template <class T>
struct root_ {
  volt_task task; /* first */
  std::coroutine_handle<promise_<T>> handle;
  detail::reaper reaper;
  chain_ chain;
  outcome_<T> outcome;

  /* Memory for a Root, with a task that is not spawned; NULL: there is none. All that is not set is
   * zero. t: not empty. */
  template <class Root>
  static Root *make(volt_rt *rt, volt::task<T> &t) noexcept {
    void *memory = volt_task_new(rt, sizeof(Root), Root::poll);
    if (!memory) return nullptr;
    Root *r = static_cast<Root *>(memory);
    r->handle = t.disown_();
    r->handle.promise().begin(&r->chain);
    r->chain.begin_in_zeros(&r->task.frame, r->handle);
    ::new (static_cast<void *>(&r->outcome)) outcome_<T>;
    return r;
  }
  static root_ *of(volt_task *t) noexcept {
    return static_cast<root_ *>(static_cast<void *>(t));
  }
  static int poll(volt_task *t, volt_ctx *ctx) {
    root_ *r = of(t);
    if (!r->chain.run(&r->task.frame, ctx) || !r->handle.done()) return VOLT_PENDING;
    return r->end();
  }
  /* The coroutine has ended: its frame goes. Returns the task's result. */
  VOLT_NOINLINE int end() noexcept {
    outcome.move_from(handle.promise());
    std::exchange(handle, {}).destroy();
    chain.at = nullptr;
    return outcome.code();
  }

  /* Not spawned, or ended: drop what it has, and give its memory back. */
  void destroy() noexcept {
    if (handle) {
      frames_end_ given_up;
      handle.destroy();
    }
    outcome.~outcome_<T>();
    volt_task_detach(&task);
  }
  /* The same for one that was detached: an exception that is no volt::error ends the program. */
  void destroy_detached() noexcept {
    if (VOLT_LIKELY(outcome.code() != threw_)) return destroy();
    std::fputs("volt: an exception has left a coroutine that is detached\n", stderr);
    outcome.rethrow_any(); /* does not leave this function: std::terminate() */
    std::terminate();
  }
  /* Call then at the end of the task. */
  void end_by_itself(volt_wake_fn then) noexcept {
    (::new (static_cast<void *>(&reaper)) detail::reaper)->begin(&task, then, this);
  }
  static void reap(void *root) noexcept {
    static_cast<root_ *>(root)->destroy();
  }
  static void reap_detached(void *root) noexcept {
    static_cast<root_ *>(root)->destroy_detached();
  }
};

#if defined(__cpp_lib_jthread)
/* A root that a stop token cancels. Private. */
template <class T>
struct stoppable_root_ : root_<T> {
  struct cancel {
    volt_task *task;
    void operator()() const noexcept {
      (void)volt_task_cancel(task);
    }
  };
  std::optional<std::stop_token> token;
  std::optional<std::stop_callback<cancel>> callback;

  void set(std::stop_token t) noexcept {
    ::new (static_cast<void *>(&token)) std::optional<std::stop_token>(std::move(t));
    ::new (static_cast<void *>(&callback)) std::optional<std::stop_callback<cancel>>();
  }
  void unset() noexcept {
    token.reset();
  }
  /* The callback is made by the first poll, when the task is spawned for sure, and is gone before
   * the task has ended. */
  static int poll(volt_task *t, volt_ctx *ctx) {
    auto *r = static_cast<stoppable_root_ *>(root_<T>::of(t));
    if (r->token) {
      r->callback.emplace(*std::move(r->token), cancel{t});
      r->token.reset();
    }
    if (!r->chain.run(&r->task.frame, ctx) || !r->handle.done()) return VOLT_PENDING;
    r->callback.reset();
    return r->end();
  }
};
#endif

template <class T>
class task_join_operation;

/* The handle of a coroutine that was spawned. One caller joins it: get(), or co_await. A handle that
 * is destroyed before asks its task to end, as cancel() does, and waits for that where it may: on a
 * thread, in a fiber. On a worker, so in a coroutine, it does not wait, and the task ends by itself
 * later. So a coroutine that lends its locals to others uses volt::all() or volt::with_group(). Of a
 * runtime by hand: on the thread that runs it, join it before (runtime.run_until()): to destroy the
 * handle would wait for ever. */
template <class T>
class [[nodiscard]] join_handle {
 public:
  /* Of no task. */
  join_handle() noexcept = default;
  join_handle(join_handle &&other) noexcept
      : root_of_(std::exchange(other.root_of_, nullptr)), code_(other.code_) {
  }
  join_handle &operator=(join_handle &&other) noexcept {
    if (this == &other) return *this;
    drop();
    root_of_ = std::exchange(other.root_of_, nullptr);
    code_ = other.code_;
    return *this;
  }
  ~join_handle() {
    drop();
  }

  /* Whether it has a task that was spawned and not joined or detached. */
  explicit operator bool() const noexcept {
    return root_of_ != nullptr;
  }
  /* VOLT_OK: the task was spawned; else why not: VOLT_ENOMEM, VOLT_ECLOSED; VOLT_EINVAL: it was moved
   * from. */
  int spawned() const noexcept {
    return code_;
  }
  /* Whether the task has ended, so that get() does not wait. */
  bool is_done() const noexcept {
    return !root_of_ || volt_task_result(&root_of_->task) != VOLT_PENDING;
  }
  /* Ask the task to end: volt_task_cancel(). Returns whether it was asked. */
  bool cancel() noexcept {
    return root_of_ && volt_task_cancel(&root_of_->task);
  }
  /* The task as C code sees it, for volt_task_join_future() and others; NULL: none. */
  volt_task *c() noexcept {
    return root_of_ ? &root_of_->task : nullptr;
  }
  /* Let the task run on without a handle. What it returns is dropped, and so is a volt::error that
   * leaves it. Any other exception that leaves it ends the program by std::terminate(). */
  void detach() noexcept {
    if (root_of_) std::exchange(root_of_, nullptr)->end_by_itself(root_<T>::reap_detached);
  }

  /* Join: an operation. It gives what the coroutine returns, or throws what has left it. After that
   * the handle has no task, and another join fails with VOLT_EINVAL, or with spawned().
   * `co_await h` and volt::select(h, ...) do so, too. */
  task_join_operation<T> join() noexcept;
#if VOLT_CPP_THROWS_
  /* Wait here: a thread blocks, a fiber is suspended. The same as join().wait(). */
  T get() {
    return join().wait();
  }
#endif

 private:
  friend class task_join_operation<T>;
  template <class Root, class U, class... Args>
  friend join_handle<U> spawn_(volt_rt *rt, task<U> t, Args &&...args);

  void drop() noexcept {
    root_<T> *r = std::exchange(root_of_, nullptr);
    if (!r) return;
    (void)volt_task_cancel(&r->task);
    if (may_wait_()) {
      shield no_cancel;
      (void)volt_task_join(&r->task);
    }
    r->end_by_itself(root_<T>::reap);
  }
  /* Whether this thread may block, or this is a fiber. */
  static bool may_wait_() noexcept {
    return !volt_rt_current() || volt_fiber_self();
  }

  root_<T> *root_of_ = nullptr;
  int code_ = VOLT_OK;
};

/* What join_handle::join() returns. */
template <class T>
class [[nodiscard, gnu::warn_unused]] task_join_operation
    : public operation<task_join_operation<T>, T> {
 public:
  static constexpr bool tries = true;
  explicit task_join_operation(join_handle<T> & of) noexcept : of_(&of) {
  }
  int try_now() noexcept {
    if (!of_->root_of_) return failed();
    int code = volt_task_result(&of_->root_of_->task);
    return code == VOLT_PENDING ? static_cast<int>(VOLT_EAGAIN) : hide_eagain(code);
  }
  volt_future *begin(volt_future & f) noexcept {
    if (!of_->root_of_) return volt_future_known_(&f, failed());
    return volt_task_join_future(&f, &of_->root_of_->task);
  }
  int block(volt_future &, uint64_t deadline_ns) noexcept {
    if (!of_->root_of_) return failed();
    return volt_task_join_until(&of_->root_of_->task, deadline_ns);
  }
  T take(int, volt_future &) {
    joined j(*of_);
    return j.root_of->outcome.take();
  }
#if VOLT_CPP_THROWS_
  T finish(int code, volt_future &f) {
    if (!of_->root_of_) throw_no_task(code);
    if (!of_->is_done()) throw_(code); /* this wait has failed, not the task */
    return take(code, f);
  }
#endif
  result<T> finish_result(int code, volt_future &) {
    if (!of_->is_done() || !of_->root_of_) return result<T>::failure(code);
    joined j(*of_);
    return j.root_of->outcome.take_result();
  }

 private:
  /* The root, which goes at the end of a scope. */
  struct joined {
    explicit joined(join_handle<T> &h) noexcept : root_of(std::exchange(h.root_of_, nullptr)) {
    }
    joined(const joined &) = delete;
    joined &operator=(const joined &) = delete;
    ~joined() {
      root_of->destroy();
    }
    root_<T> *root_of;
  };
#if VOLT_CPP_THROWS_
  [[noreturn]] static void throw_no_task(int code) {
    if (code != VOLT_EINVAL) throw_(code);
    throw error(code, "this volt::join_handle has no task: it was joined, detached or moved from");
  }
#endif
  int failed() const noexcept {
    return of_->code_ == VOLT_OK ? static_cast<int>(VOLT_EINVAL) : of_->code_;
  }
  /* A task may have come to this code, which a try has another meaning for. */
  static int hide_eagain(int code) noexcept {
    return code == VOLT_EAGAIN ? static_cast<int>(VOLT_EINVAL) : code;
  }
  join_handle<T> *of_;
};

template <class T>
task_join_operation<T> join_handle<T>::join() noexcept {
  return task_join_operation<T>(*this);
}

VOLT_CORO_END_

namespace volt {
template <class T>
struct branch_of_<join_handle<T>> {
  using type = task_join_operation<T>;
};
} // namespace volt

VOLT_CORO_BEGIN_

/* ---- spawn ---- */

/* Private. args: what is set in the root before it is spawned. */
template <class Root, class U, class... Args>
join_handle<U> spawn_(volt_rt *rt, task<U> t, Args &&...args) {
  join_handle<U> h;
  h.code_ = t.code_();
  if (h.code_ != VOLT_OK) return h;
  Root *r = Root::template make<Root>(rt, t);
  h.code_ = VOLT_ENOMEM;
  if (!r) return h;
  if constexpr (sizeof...(Args) > 0) r->set(std::forward<Args>(args)...);
  h.code_ = volt_spawn(rt, &r->task);
  if (VOLT_LIKELY(h.code_ == VOLT_OK)) {
    h.root_of_ = r;
    return h;
  }
  if constexpr (sizeof...(Args) > 0) r->unset();
  r->destroy();
  return h;
}

/* Let a coroutine run as a task of a runtime, as volt_spawn() does.
 * rt: a volt_rt *, or an object whose c() gives one.
 * Returns its handle. If the task was not spawned (VOLT_ENOMEM, VOLT_ECLOSED: join_handle::spawned()
 * says so), the handle has no task, and to join it fails with that code. */
template <class Runtime, class T>
join_handle<T> spawn(Runtime &&rt, task<T> t) {
  return spawn_<root_<T>>(detail::rt_of(rt), std::move(t));
}

#if defined(__cpp_lib_jthread)
/* The same. A stop that is requested by token asks the task to end, as join_handle::cancel() does,
 * also if the task is detached. */
template <class Runtime, class T>
join_handle<T> spawn(Runtime &&rt, task<T> t, std::stop_token token) {
  return spawn_<stoppable_root_<T>>(detail::rt_of(rt), std::move(t), std::move(token));
}
#endif

/* Call f with args, and spawn the coroutine that it returns. The coroutine's frame is from the pool
 * of rt, also if this thread is no worker. What is copied into the frame are the parameters of f. An
 * f that has state, as a lambda with captures, is kept by volt::invoke(). */
template <class Runtime, class F, class... Args, class Task = std::invoke_result_t<F &, Args...>>
join_handle<typename Task::value_type> spawn(Runtime &&rt, F f, Args &&...args) {
  frames_for_ from(detail::rt_of(rt));
  return spawn(detail::rt_of(rt), f(std::forward<Args>(args)...));
}

VOLT_CORO_END_

#endif
