/* fiber.hpp: volt/fiber.h in C++: a function on a stack of its own, like a std::thread without the
 * thread.
 *
 *   volt::fiber fetched(rt, [&] { return fetch(url); });     begins to run; its captures are moved
 *   std::string page = fetched.join().wait();                or throws what fetch() has thrown
 *
 *   volt::group all;                                         many: they end before the group does
 *   for (auto &url : urls) all.spawn(rt, [&] { fetch(url); });
 *   all.joined().wait();                                     throws the first exception
 *
 * Every wait() of volt suspends a fiber instead of blocking its thread. A fiber that is cancelled
 * gets volt::canceled from one wait(): let it pass through, and the fiber has ended. Exceptions may
 * be thrown, kept and handled across waits as on a thread.
 *
 * The destructor of a volt::fiber that was neither joined nor detached cancels it and waits until
 * it has ended. A fiber is one allocation besides its task's: for its function and what that
 * returns. */
#ifndef VOLT_CPP_FIBER_HPP
#define VOLT_CPP_FIBER_HPP

#include "../fiber.h"
#include "operation.hpp"
#include "outcome.hpp"
#include "reaper.hpp"
#include "runtime.hpp"

namespace volt {

/* In this scope no wait of the fiber is cancelled: a cancel meets the first wait behind it. For
 * what cleans up. */
class shield {
 public:
  shield() noexcept {
    volt_fiber_shield();
  }
  ~shield() {
    volt_fiber_unshield();
  }
  shield(const shield &) = delete;
  shield &operator=(const shield &) = delete;
};

namespace detail {

template <class Fn>
using result_of = std::decay_t<std::invoke_result_t<std::decay_t<Fn> &>>;

/* What a fiber and its handle share: the handle owns it. */
template <class T>
class fiber_state {
 public:
  volt_task *task = nullptr;
  outcome<T> out;

  virtual ~fiber_state() = default;

  bool has_ended() const noexcept {
    return volt_task_result(task) != VOLT_PENDING;
  }
  void end() noexcept {
    volt_task_detach(task);
    delete this;
  }
  /* End it when the fiber ends. */
  void end_by_itself() noexcept {
    reaper_.begin(
        task, [](void *self) { static_cast<fiber_state *>(self)->end_unjoined(); }, this);
  }

 private:
  /* No caller gets its exception: as one that leaves a thread, it ends the program. */
  void end_unjoined() noexcept {
#if VOLT_CPP_THROWS_
    try {
      if (out.exception()) std::rethrow_exception(out.exception());
    } catch (const error &) {
    } catch (...) {
      std::fputs("volt: an exception has left a fiber that is detached\n", stderr);
      std::terminate(); /* the exception is being handled: its handler may say what it is */
    }
#endif
    end();
  }
  reaper reaper_; /* of a fiber that is detached */
};

template <class T, class Fn>
class fiber_state_of final : public fiber_state<T> {
 public:
  template <class F>
  explicit fiber_state_of(F &&fn) : fn_(std::in_place, std::forward<F>(fn)) {
  }
  /* The function and its captures end with the fiber, on its stack. */
  static int run(void *arg) {
    auto *self = static_cast<fiber_state_of *>(arg);
    int code = self->out.call(*self->fn_);
    self->fn_.reset();
    return code;
  }

 private:
  std::optional<Fn> fn_;
};

} // namespace detail

/* What fiber.join() returns: gives what its function has returned, once, or throws what it has
 * thrown. */
template <class T>
class [[nodiscard, gnu::warn_unused]] join_operation : public operation<join_operation<T>, T> {
 public:
  explicit join_operation(detail::fiber_state<T> & state) noexcept : state_(&state) {
  }
  volt_future *begin(volt_future & f) noexcept {
    if (was_joined_()) return volt_future_known_(&f, VOLT_EINVAL);
    return volt_task_join_future(&f, state_->task);
  }
  T take(int, volt_future &) {
    return state_->out.take();
  }
#if VOLT_CPP_THROWS_
  T finish(int code, volt_future &f) {
    if (state_->has_ended() && state_->out.exception()) {
      std::rethrow_exception(state_->out.exception());
    }
    if (was_joined_())
      throw error(VOLT_EINVAL, "this volt::fiber has been joined: it gives its value once");
    if (!has_value_()) throw_(failure_(code));
    return take(code, f);
  }
#endif
  /* A volt::error is given as its code; every other exception is thrown. */
  volt::result<T> finish_result(int code, volt_future &f) {
    if (!has_value_()) {
#if VOLT_CPP_THROWS_
      rethrow_foreign_();
#endif
      return volt::result<T>::failure(failure_(code));
    }
    if constexpr (std::is_void_v<T>) {
      return volt::result<T>::success(VOLT_OK);
    } else {
      return volt::result<T>::success(VOLT_OK, take(code, f));
    }
  }

 private:
  bool has_value_() const noexcept {
    return state_->has_ended() && state_->out.has_value();
  }
  /* Its value is gone. */
  bool was_joined_() const noexcept {
    return volt_task_result(state_->task) == VOLT_OK && !state_->out.has_value();
  }
  /* Of the wait; or of the fiber, if it has ended. */
  int failure_(int code) const noexcept {
    if (was_joined_()) return VOLT_EINVAL;
    int ended = volt_task_result(state_->task);
    return ended == VOLT_PENDING ? code : ended;
  }
#if VOLT_CPP_THROWS_
  void rethrow_foreign_() {
    if (!state_->has_ended() || !state_->out.exception()) return;
    try {
      std::rethrow_exception(state_->out.exception());
    } catch (const error &) {
    }
  }
#endif
  detail::fiber_state<T> *state_;
};

/* The handle of a fiber whose function returns T. It may be moved. */
template <class T = void>
class [[nodiscard]] fiber {
 public:
  fiber() noexcept = default;
#if VOLT_CPP_THROWS_
  /* Spawn a fiber that runs fn(). rt: a volt_rt *, or anything whose c() is one. config: of
   * volt/fiber.h, without unrun. Throws volt::error: VOLT_ENOMEM, VOLT_ECLOSED. */
  template <class Runtime, class Fn>
  [[nodiscard]] fiber(Runtime &&rt, Fn &&fn, const volt_fiber_config &config = volt_fiber_config())
      : fiber(make(rt, std::forward<Fn>(fn), config).value()) {
  }
#endif
  /* The same, which throws nothing. */
  template <class Runtime, class Fn>
  static volt::result<fiber> make(Runtime &&rt, Fn &&fn,
                                  const volt_fiber_config &config = volt_fiber_config()) {
    using state = detail::fiber_state_of<T, std::decay_t<Fn>>;
    auto *s = new (std::nothrow) state(std::forward<Fn>(fn));
    if (!s) return volt::result<fiber>::failure(VOLT_ENOMEM);
    s->task = volt_fiber_new(detail::rt_of(rt), state::run, s, &config);
    int code = s->task ? volt_spawn(detail::rt_of(rt), s->task) : static_cast<int>(VOLT_ENOMEM);
    if (code == VOLT_OK) return volt::result<fiber>::success(VOLT_OK, fiber(s));
    if (s->task) volt_task_detach(s->task);
    delete s;
    return volt::result<fiber>::failure(code);
  }

  fiber(fiber &&other) noexcept : state_(other.state_) {
    other.state_ = nullptr;
  }
  fiber &operator=(fiber &&other) noexcept {
    detail::fiber_state<T> *s = other.state_;
    other.state_ = nullptr;
    end_();
    state_ = s;
    return *this;
  }
  /* If it is not detached: cancels it, unless it has ended, and waits until it has. Of a runtime by
   * hand, on the thread that runs it: join it before, by run_until(), because it waits for ever. */
  ~fiber() {
    end_();
  }

  explicit operator bool() const noexcept {
    return state_ != nullptr;
  }
  /* Wait until it has ended: gives what its function has returned, once. After that VOLT_EINVAL. */
  join_operation<T> join() noexcept {
    return join_operation<T>(need_());
  }
  /* Ask it to end: one wait of it gets volt::canceled. Returns false: it has ended. */
  bool cancel() noexcept {
    return volt_task_cancel(need_().task);
  }
  /* Let it go on alone. What it returns is lost, and so is a volt::error that it throws; any other
   * exception ends the program by std::terminate(). */
  void detach() noexcept {
    detail::fiber_state<T> &s = need_();
    state_ = nullptr;
    s.end_by_itself();
  }
  bool has_ended() const noexcept {
    return state_ == nullptr || state_->has_ended();
  }
  /* How many bytes of its stack it has used: volt_fiber_stack_used(). */
  size_t stack_used() noexcept {
    return volt_fiber_stack_used(need_().task);
  }
  /* The task as C code uses it. */
  volt_task *c() noexcept {
    return need_().task;
  }

 private:
  explicit fiber(detail::fiber_state<T> *s) noexcept : state_(s) {
  }
  detail::fiber_state<T> &need_() const noexcept {
    if (!state_) misuse_("a volt::fiber that is empty, moved or detached");
    return *state_;
  }
  void end_() noexcept {
    if (!state_) return;
    if (!state_->has_ended()) {
      shield no_cancel;
      volt_task_cancel(state_->task);
      (void)volt_task_join(state_->task);
    }
    state_->end();
    state_ = nullptr;
  }
  detail::fiber_state<T> *state_ = nullptr;
};

template <class Runtime, class Fn>
fiber(Runtime &&, Fn &&) -> fiber<detail::result_of<Fn>>;
template <class Runtime, class Fn>
fiber(Runtime &&, Fn &&, const volt_fiber_config &) -> fiber<detail::result_of<Fn>>;

} // namespace volt

#endif
