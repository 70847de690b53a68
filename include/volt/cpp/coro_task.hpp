/* coro_task.hpp: volt::task<T>, the return type of a coroutine, and what such a coroutine may await.
 * Part of volt/coro.hpp. */
#ifndef VOLT_CPP_CORO_TASK_HPP
#define VOLT_CPP_CORO_TASK_HPP

#include <string_view>

#include "coro_chain.hpp"
#include "coro_memory.hpp"
#include "coro_outcome.hpp"

/* Of clang 20 and later: a child's frame may be part of its parent's. (Not coro_return_type: with that
 * every function that only passes a task on has to be marked, those of programs as well.) */
#if defined(__clang__) && __has_cpp_attribute(clang::coro_await_elidable)
#define VOLT_CORO_ELIDABLE_ [[clang::coro_await_elidable]]
#else
#define VOLT_CORO_ELIDABLE_
#endif

VOLT_CORO_BEGIN_

template <class T>
class task;
template <class T>
struct promise_;

/* The first parameter of a lambda that volt::invoke() keeps until its coroutine has ended. Nothing else
 * can make one. */
class kept {
  kept() = default;
  friend struct invoker_;
};

/* Calls what volt::invoke() keeps, with a volt::kept first if it takes that. Private. */
struct invoker_ {
  template <class F, class... Args>
  static decltype(auto) call(F &f, Args &&...args) {
    if constexpr (std::is_invocable_v<F &, kept, Args...>) {
      return f(kept(), std::forward<Args>(args)...);
    } else {
      return f(std::forward<Args>(args)...);
    }
  }
};

/* ---- awaiting ---- */

/* Internal: a coroutine asks for its chain. Private. */
struct ask_chain_ {};

struct ask_chain_awaiter_ {
  chain_ *chain_of;
  bool await_ready() const noexcept {
    return true;
  }
  void await_suspend(std::coroutine_handle<>) const noexcept {
  }
  chain_ &await_resume() const noexcept {
    return *chain_of;
  }
};

/* A child has ended: the parent goes on. If the child never waited, it does so by itself.
 * Private. */
struct end_awaiter_ {
  bool await_ready() const noexcept {
    return false;
  }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> h) const noexcept {
    auto &p = h.promise();
    if (!p.trail.parent) return;
    p.chain_of->next = std::coroutine_handle<>::from_address(p.trail.parent);
    p.chain_of->at = p.trail.awaited_by; /* the child's own is about to go */
  }
  void await_resume() const noexcept {
  }
};

/* What as_result(task) returns. */
template <class T>
struct [[nodiscard]] as_result_task {
  explicit as_result_task(task<T> t) noexcept;
  task<T> of;
};

/* Internal: a child whose exception is not thrown. Private. */
template <class T>
struct as_outcome_task_ {
  explicit as_outcome_task_(
      task<T> t) noexcept; /* gcc 12 destroys aggregates in a co_await twice */
  task<T> of;
};

/* What a co_await of a child gives. Private. */
enum class gives_ { value, result, outcome };

template <class T, gives_ What>
class child_awaiter_;

/* What every promise has. Private. */
struct promise_base_ : frame_memory_ {
  chain_ *chain_of = nullptr;
  volt_trail_ trail; /* with its parent, to be resumed at its end, if it has waited */

  promise_base_() noexcept {
    trail.parent = nullptr; /* the rest is written when it waits */
  }
  /* The coroutine is about to begin, in this chain. */
  void begin(chain_ *c) noexcept {
    if (VOLT_UNLIKELY(chain_of)) misuse_("a volt::task that has begun: it runs once");
    chain_of = c;
  }
  std::suspend_always initial_suspend() const noexcept {
    return {};
  }
  end_awaiter_ final_suspend() const noexcept {
    return {};
  }

  template <class Op, class = std::enable_if_t<is_operation<Op>>>
  op_awaiter_<Op> await_transform(Op op VOLT_CORO_WHERE_) {
    static_assert(
        requires(Op o, typename Op::state_type s) { o.finish(0, s); },
        "without exceptions: co_await volt::as_result(operation)");
    return op_awaiter_<Op>(chain_of, &trail, where, std::move(op));
  }
  /* A join_handle. */
  template <class Handle, class Op = decltype(std::declval<Handle &>().join()),
            class = std::enable_if_t<is_operation<Op>>>
  op_awaiter_<Op> await_transform(Handle &&handle VOLT_CORO_WHERE_) {
    return op_awaiter_<Op>(chain_of, &trail, where, handle.join());
  }
  future_awaiter_ await_transform(volt_future *f VOLT_CORO_WHERE_) noexcept {
    return future_awaiter_(chain_of, need_future_(f), &trail, where);
  }
  future_awaiter_ await_transform(volt_future &f VOLT_CORO_WHERE_) noexcept {
    return future_awaiter_(chain_of, &f, &trail, where);
  }
  yield_awaiter_ await_transform(yield_operation) noexcept {
    return yield_awaiter_(chain_of);
  }
  template <class U>
  child_awaiter_<U, gives_::value> await_transform(task<U> &&child VOLT_CORO_WHERE_) noexcept {
    return {where, child};
  }
  template <class U>
  child_awaiter_<U, gives_::result> await_transform(
      as_result_task<U> &&child VOLT_CORO_WHERE_) noexcept {
    return {where, child.of};
  }
  template <class U>
  child_awaiter_<U, gives_::outcome> await_transform(
      as_outcome_task_<U> &&child VOLT_CORO_WHERE_) noexcept {
    return {where, child.of};
  }
  template <class U>
  void await_transform(task<U> &) = delete; /* co_await std::move(task): it runs once */
  ask_chain_awaiter_ await_transform(ask_chain_) const noexcept {
    return {chain_of};
  }
};

/* Stands for a coroutine that there was no memory for. Private. */
inline constexpr char no_memory_ = 0;

/* Whether a task with this handle has a coroutine: VOLT_OK, VOLT_ENOMEM, or VOLT_EINVAL: it was moved
 * from. Private. */
inline int code_of_(std::coroutine_handle<> h) noexcept {
  if (VOLT_UNLIKELY(!static_cast<bool>(h))) return VOLT_EINVAL;
  return VOLT_LIKELY(h.address() != &no_memory_) ? VOLT_OK : VOLT_ENOMEM;
}

template <class T>
struct promise_ : promise_base_, outcome_<T> {
  task<T> get_return_object() noexcept {
    return task<T>(std::coroutine_handle<promise_>::from_promise(*this));
  }
  static task<T> get_return_object_on_allocation_failure() noexcept {
    return task<T>::without_memory_();
  }
  void unhandled_exception() noexcept {
    this->set_exception();
  }
  template <class U = T>
  void return_value(U &&value) {
    this->set_value(std::forward<U>(value));
  }
};

template <>
struct promise_<void> : promise_base_, outcome_<void> {
  task<void> get_return_object() noexcept;
  static task<void> get_return_object_on_allocation_failure() noexcept;
  void unhandled_exception() noexcept {
    set_exception();
  }
  void return_void() noexcept {
    set_value();
  }
};

/* Destroy a coroutine where it stands. Private. */
template <class Promise>
void destroy_coroutine_(std::coroutine_handle<Promise> h) {
  if (VOLT_UNLIKELY(!h.done())) {
    chain_ *c = h.promise().chain_of;
    if (c) c->drop();
  }
  frames_end_ given_up;
  h.destroy();
}

/* Starts a child, and waits for it. Private. */
template <class T, gives_ What>
class child_awaiter_ {
 public:
  child_awaiter_(const volt_place_ *where, const task<T> &child) noexcept
      : where_(where), child_(child.handle_) {
  }
  bool await_ready() const noexcept {
    return code_of_(child_) != VOLT_OK;
  }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> parent) noexcept {
    auto &p = child_.promise();
    promise_base_ &awaits = parent.promise();
    chain_ *c = awaits.chain_of;
    p.begin(c);
    if (c->nested == chain_::starts) {
      waits(p, awaits, parent);
      c->next = child_;
      return true;
    }
    c->nested += 1;
    child_.resume();
    c->nested -= 1;
    if (child_.done()) return false;
    waits(p, awaits, parent);
    return true;
  }
  decltype(auto) await_resume() {
    int code = code_of_(child_);
    if constexpr (What == gives_::result) {
      return code == VOLT_OK ? child_.promise().take_result() : result<T>::failure(code);
    } else if constexpr (What == gives_::outcome) {
      return code == VOLT_OK ? outcome_<T>(std::move(child_.promise()))
                             : outcome_<T>::of_empty(code);
    } else {
      if (VOLT_UNLIKELY(code != VOLT_OK)) no_coroutine_(code);
      return child_.promise().take();
    }
  }

 private:
  void waits(promise_base_ &child, promise_base_ &awaits, std::coroutine_handle<> parent) noexcept {
    awaits.trail.place = where_;
    child.trail.awaited_by = &awaits.trail;
    child.trail.parent = parent.address();
  }
  const volt_place_ *where_;
  std::coroutine_handle<promise_<T>> child_;
};

/* ---- task ---- */

/* A coroutine that has not begun: what a function returns whose body has co_await or co_return. It
 * begins when it is awaited, spawned (volt::spawn()), or waited for (volt::sync_wait()), and runs
 * once. A task that is destroyed before has run nothing. An empty one has no coroutine: to await or
 * spawn it fails with VOLT_EINVAL if it was moved from, or made by task(); with VOLT_ENOMEM if there
 * was no memory for its frame. */
template <class T = void>
class [[nodiscard]] VOLT_CORO_ELIDABLE_ task {
  static_assert(!std::is_rvalue_reference_v<T>, "a volt::task gives a value or an lvalue");

 public:
  using promise_type = promise_<T>;
  using value_type = T;

  task() noexcept = default;
  task(task &&other) noexcept : handle_(std::exchange(other.handle_, {})) {
  }
  task &operator=(task &&other) noexcept {
    task mine(std::move(*this));
    handle_ = std::exchange(other.handle_, {});
    return *this;
  }
  ~task() {
    if (*this) destroy_coroutine_(handle_);
  }

  /* Whether it has a coroutine. */
  explicit operator bool() const noexcept {
    return code_of_(handle_) == VOLT_OK;
  }
  /* Private: VOLT_OK, or why it is empty. */
  int code_() const noexcept {
    return code_of_(handle_);
  }
  /* Private. */
  std::coroutine_handle<promise_type> disown_() noexcept {
    return std::exchange(handle_, {});
  }

 private:
  friend promise_<T>;
  template <class U, gives_ What>
  friend class child_awaiter_;
  explicit task(std::coroutine_handle<promise_type> h) noexcept : handle_(h) {
  }
  static task without_memory_() noexcept {
    void *mark = const_cast<char *>(&no_memory_);
    return task(std::coroutine_handle<promise_type>::from_address(mark));
  }
  std::coroutine_handle<promise_type> handle_{};
};

template <class T>
as_outcome_task_<T>::as_outcome_task_(task<T> t) noexcept : of(std::move(t)) {
}
template <class T>
as_result_task<T>::as_result_task(task<T> t) noexcept : of(std::move(t)) {
}

inline task<void> promise_<void>::get_return_object() noexcept {
  return task<void>(std::coroutine_handle<promise_>::from_promise(*this));
}
inline task<void> promise_<void>::get_return_object_on_allocation_failure() noexcept {
  return task<void>::without_memory_();
}

/* Let an awaited task give a volt::result: what it returns, or the code of a volt::error that has
 * left it. Any other exception is thrown. */
template <class T>
as_result_task<T> as_result(task<T> t) noexcept {
  return as_result_task<T>(std::move(t));
}

/* Let others run: `co_await volt::yield()`. Throws volt::canceled if the task is cancelled. */
inline yield_operation yield() noexcept {
  return {};
}

/* ---- lambdas ---- */

/* Call f with copies of args, and run the coroutine that it returns. f and the copies live until
 * that has ended, so f may be a lambda with captures. Its first parameter is then volt::kept:
 *
 *   spawn(rt, volt::invoke([&pool](volt::kept) -> volt::task<> { co_await pool.acquire(); }));
 *
 * A lambda with captures that is a coroutine and lacks that parameter does not compile: the
 * captures are in the lambda, and are gone when that is, usually at the end of the statement that
 * has called it.
 *
 * In a co_await with gcc 12, which destroys captures twice that are written there, the lambda has a name:
 *   auto f = [p](volt::kept) -> volt::task<> { ... };
 *   co_await volt::invoke(std::move(f)); */
template <class F, class... Args>
auto invoke(F f, Args... args)
    -> decltype(invoker_::call(std::declval<F &>(), std::declval<Args>()...)) {
  co_return co_await invoker_::call(f, std::move(args)...);
}

/* Whether the name of a type, as compilers spell it, is that of a lambda itself. Private. */
constexpr bool names_lambda_(std::string_view name) noexcept {
  auto end = name.rfind(']');
  if (end == name.npos || end == 0) return false;
  name = name.substr(0, end);
  if (name.back() == ')') return name.find("(lambda at ") != name.npos; /* clang */
  if (name.back() != '>') return false;
  std::size_t depth = 0;
  for (std::size_t i = name.size(); i-- > 0;) {
    if (name[i] == '>') depth += 1;
    if (name[i] == '<' && --depth == 0) return name.substr(i).starts_with("<lambda("); /* gcc */
  }
  return false;
}
template <class C>
constexpr bool is_lambda_() noexcept {
  return names_lambda_(__PRETTY_FUNCTION__);
}

/* A lambda's promise. Whether the lambda has captures is known only when it is complete, so at the end
 * of the source file, where this function is made. Private. */
template <class T, class Lambda>
struct lambda_promise_ : promise_<T> {
  std::suspend_always initial_suspend() const noexcept {
    static_assert(std::is_empty_v<Lambda>,
                  "the captures of this lambda are gone before its coroutine has ended: pass the "
                  "lambda to volt::invoke(), and let its first parameter be volt::kept");
    return {};
  }
};

/* Of a coroutine with these parameters, the reference to its object first. Private. */
template <class T, class First, class... Rest>
constexpr auto promise_type_() noexcept {
  if constexpr (std::is_lvalue_reference_v<First>) {
    using object = std::remove_cvref_t<First>;
    if constexpr (is_lambda_<object>() && !(std::is_same_v<Rest, kept> || ...)) {
      return std::type_identity<lambda_promise_<T, object>>();
    } else {
      return std::type_identity<promise_<T>>();
    }
  } else {
    return std::type_identity<promise_<T>>();
  }
}

VOLT_CORO_END_

template <class T, class First, class... Rest>
struct std::coroutine_traits<volt::task<T>, First, Rest...> {
  using promise_type = typename decltype(volt::promise_type_<T, First, Rest...>())::type;
};

#endif
