/* coro_scope.hpp: coroutines whose lifetimes are nested: a cleanup that awaits, a group of children.
 * Part of volt/coro.hpp. */
#ifndef VOLT_CPP_CORO_SCOPE_HPP
#define VOLT_CPP_CORO_SCOPE_HPP

#include "../mutex.h"
#include "coro_spawn.hpp"

VOLT_CORO_BEGIN_

/* While this lives, a cancel of the poller is not for this chain: as after VOLT_FINALLY. Private. */
class shield_ {
 public:
  explicit shield_(chain_ &c) noexcept : frame_(c.frame), before_(c.frame->is_finally != 0) {
    frame_->is_finally = 1;
  }
  shield_(const shield_ &) = delete;
  shield_ &operator=(const shield_ &) = delete;
  ~shield_() {
    frame_->is_finally = before_;
  }

 private:
  volt_frame *frame_;
  bool before_;
};

/* Run body, and then cleanup, whether body has returned or thrown: a co_await is not allowed in a
 * catch. The cleanup waits as always if the task is cancelled, before or meanwhile, and is cancelled
 * only if the whole is dropped: it is what follows VOLT_FINALLY (volt/async.h).
 *
 *   co_await volt::finally(transfer(a, b), release(a, b));
 *
 * Gives what body gives, or throws what it has thrown. An exception that leaves cleanup is thrown
 * only if body has thrown none. */
template <class T>
task<T> finally(task<T> body, task<void> cleanup) {
  outcome_<T> outcome = co_await as_outcome_task_<T>(std::move(body));
  {
    shield_ shielded(co_await ask_chain_());
    outcome_<void> cleaned = co_await as_outcome_task_<void>(std::move(cleanup));
    if (!outcome.has_exception()) cleaned.take();
  }
  co_return outcome.take();
}

/* ---- groups ---- */

/* Children of a coroutine: made by volt::with_group(). */
class task_group {
 public:
  explicit task_group(volt_rt *rt) noexcept : rt_(rt) {
    volt_group_init(&c_);
    volt_mutex_init(&first_);
  }
  task_group(const task_group &) = delete;
  task_group &operator=(const task_group &) = delete;
  /* A with_group() that is dropped waits for its tasks, which blocks this thread. */
  ~task_group() {
    if (volt_group_count(&c_) != 0) {
      shield no_cancel;
      volt_group_cancel(&c_);
      (void)volt_group_wait(&c_);
    }
    volt_group_destroy(&c_);
  }

  /* Spawn a task into the group. What it gives is dropped.
   * Returns VOLT_OK; VOLT_ECLOSED (the runtime shuts down), VOLT_ECANCELED (the group was
   *   cancelled), VOLT_ENOMEM, or VOLT_EINVAL (it was moved from): then the task is gone.
   * Threads: any, also a task of the group. */
  template <class T>
  [[nodiscard]] int try_spawn(task<T> t) noexcept {
    using member = member_<T>;
    if (t.code_() != VOLT_OK) return t.code_();
    auto *m = root_<T>::template make<member>(rt_, t);
    if (!m) return VOLT_ENOMEM;
    m->of = this;
    int code = volt_group_spawn(&c_, rt_, &m->task);
    if (code != VOLT_OK) m->destroy();
    return code;
  }
#if VOLT_CPP_THROWS_
  /* The same; throws the error. */
  template <class T>
  void spawn(task<T> t) {
    check(try_spawn(std::move(t)));
  }
#endif
  /* Ask all tasks of the group to end, and add no more. Threads: any. */
  void cancel() noexcept {
    volt_group_cancel(&c_);
  }
  /* How many have not ended. A snapshot. */
  uint64_t count() noexcept {
    return volt_group_count(&c_);
  }
  /* The group as C code uses it. */
  volt_group *c() noexcept {
    return &c_;
  }

 private:
  template <class T>
  struct member_ : root_<T> {
    task_group *of;
    static int poll(volt_task *t, volt_ctx *ctx) {
      auto *m = static_cast<member_ *>(root_<T>::of(t));
      if (!m->chain.run(&t->frame, ctx) || !m->handle.done()) return VOLT_PENDING;
      int code = m->end();
      m->of->note(m->outcome);
      m->outcome.~outcome_<T>(); /* the group frees the memory */
      return code;
    }
  };
  template <class Body>
  friend task<void> with_group_(volt_rt *rt, Body body);

  /* A task has ended. The first to lock the mutex, which is never unlocked, leaves its exception. The
   * end of the group comes after. */
  void note(failure_ &f) noexcept {
    if (f.has_exception() && volt_mutex_try_lock(&first_) == VOLT_OK)
      failure_of_.move_exception_from(f);
  }
  void rethrow() {
    failure_of_.rethrow_any();
  }

  volt_group c_;
  volt_mutex first_;
  failure_ failure_of_;
  volt_rt *rt_;
};

/* Private. */
template <class Body>
task<void> with_group_(volt_rt *rt, Body body) {
  task_group g(rt);
  int code = g.try_spawn(invoker_::call(body, g));
  volt_future all_ended;
  int ended = co_await volt_group_wait_future(&all_ended, g.c());
  g.rethrow();
#if VOLT_CPP_THROWS_
  check(code);
  check(ended);
#else
  (void)code;
  (void)ended;
#endif
}

/* Run body with a group, and wait until it and all tasks of the group have ended. So they may refer
 * to what the caller has. body is a task of the group itself. The first of them that throws cancels
 * the others, and its exception is thrown here. If the caller is cancelled, all of them are, and are
 * awaited.
 *
 *   co_await volt::with_group(rt, [&](volt::kept, volt::task_group &g) -> volt::task<> {
 *     for (auto &url : urls) g.spawn(fetch(url, results));
 *     co_return;
 *   });
 *
 * With gcc 12 a body whose captures have destructors has a name, and is moved: see volt::invoke(). */
template <class Runtime, class Body>
task<void> with_group(Runtime &&rt, Body body) {
  return with_group_(detail::rt_of(rt), std::move(body));
}

VOLT_CORO_END_

#endif
