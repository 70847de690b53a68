/* group.hpp: the groups of volt/task.h in C++: fibers and tasks that end before their group does.
 *
 *   volt::group requests;
 *   requests.spawn(rt, [&] { serve(a); });
 *   requests.spawn(rt, [&] { serve(b); });
 *   requests.joined().wait();                          throws the first exception of a fiber
 *
 * The first fiber that fails, by an exception, cancels the others, unless the group is made with
 * VOLT_GROUP_KEEP_GOING. The destructor cancels what is left and waits until it has ended. */
#ifndef VOLT_CPP_GROUP_HPP
#define VOLT_CPP_GROUP_HPP

#include <memory>

#include "../semaphore.h"
#include "fiber.hpp"

namespace volt {

class group;

namespace detail {

/* The first exception of a group. */
class first_exception {
 public:
  /* Called while an exception is handled. */
  void note() noexcept {
#if VOLT_CPP_THROWS_
    if (volt_sem_try_acquire(&one_, 1) == VOLT_OK) exception_ = std::current_exception();
#endif
  }
#if VOLT_CPP_THROWS_
  /* When no fiber of the group runs. */
  const std::exception_ptr &get() const noexcept {
    return exception_;
  }
#endif

 private:
  volt_sem one_ = VOLT_SEM_INIT(1);
#if VOLT_CPP_THROWS_
  std::exception_ptr exception_;
#endif
};

/* The function of a fiber of a group. It ends with the fiber, or when that cannot begin. */
template <class Fn>
struct group_call {
  Fn fn;
  first_exception *first;

  static int run(void *arg) {
    std::unique_ptr<group_call> self(static_cast<group_call *>(arg));
#if VOLT_CPP_THROWS_
    try {
      (void)self->fn();
    } catch (...) {
      self->first->note();
      return code_of_exception();
    }
#else
    (void)self->fn();
#endif
    return VOLT_OK;
  }
  static void unrun(void *arg) {
    delete static_cast<group_call *>(arg);
  }
};

} // namespace detail

/* What group.joined() returns. */
class [[nodiscard, gnu::warn_unused]] group_operation : public operation<group_operation, void> {
 public:
  group_operation(volt_group & g, detail::first_exception & first) noexcept
      : group_(&g), first_(&first) {
  }
  volt_future *begin(volt_future & f) noexcept {
    return volt_group_wait_future(&f, group_);
  }
  int block(volt_future &, uint64_t deadline_ns) noexcept {
    return volt_group_wait_until(group_, deadline_ns);
  }
  void take(int, volt_future &) noexcept {
    (void)first_; /* without exceptions it has no other use */
  }
#if VOLT_CPP_THROWS_
  void finish(int code, volt_future &) {
    if (volt_is_ok(code)) return;
    if (volt_group_count(group_) == 0 && first_->get()) std::rethrow_exception(first_->get());
    throw_(code);
  }
#endif

 private:
  volt_group *group_;
  detail::first_exception *first_;
};

/* Fibers and tasks of which one waits for all. */
class group {
 public:
  /* how: of volt_group_how. */
  explicit group(unsigned how = VOLT_GROUP_FAIL_FAST) noexcept {
    volt_group_init_how(&c_, how);
  }
  /* Cancels what has not ended, and waits for it. */
  ~group() {
    if (volt_group_count(&c_) != 0) {
      shield no_cancel;
      volt_group_cancel(&c_);
      (void)volt_group_wait(&c_);
    }
    volt_group_destroy(&c_);
  }
  group(const group &) = delete;
  group &operator=(const group &) = delete;

  /* Spawn a fiber that runs fn(). Returns VOLT_OK; VOLT_ENOMEM; VOLT_ECLOSED; VOLT_ECANCELED: the
   * group was cancelled. rt, config: as of volt::fiber. */
  template <class Runtime, class Fn>
  [[nodiscard]] int try_spawn(Runtime &&rt, Fn &&fn,
                              volt_fiber_config config = volt_fiber_config()) {
    using call = detail::group_call<std::decay_t<Fn>>;
    auto *c = new (std::nothrow) call{std::forward<Fn>(fn), &first_};
    if (!c) return VOLT_ENOMEM;
    config.unrun = call::unrun;
    volt_task *task = volt_fiber_new(detail::rt_of(rt), call::run, c, &config);
    int code =
        task ? volt_group_spawn(&c_, detail::rt_of(rt), task) : static_cast<int>(VOLT_ENOMEM);
    if (code == VOLT_OK) return code;
    if (task) volt_task_detach(task);
    delete c;
    return code;
  }
#if VOLT_CPP_THROWS_
  /* The same; throws if it fails. */
  template <class Runtime, class Fn>
  void spawn(Runtime &&rt, Fn &&fn, const volt_fiber_config &config = volt_fiber_config()) {
    check(try_spawn(rt, std::forward<Fn>(fn), config));
  }
#endif

  /* Wait until all have ended. A failure: of the first that has failed. */
  group_operation joined() noexcept {
    return group_operation(c_, first_);
  }
  /* Ask all to end, and take no more. */
  void cancel() noexcept {
    volt_group_cancel(&c_);
  }
  bool is_cancelled() noexcept {
    return volt_group_is_cancelled(&c_);
  }
  /* How many have not ended. */
  uint64_t size() noexcept {
    return volt_group_count(&c_);
  }
  /* The group as C code uses it, for tasks. */
  volt_group *c() noexcept {
    return &c_;
  }

 private:
  volt_group c_;
  detail::first_exception first_;
};

} // namespace volt

#endif
