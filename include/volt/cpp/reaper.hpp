/* reaper.hpp: a call that comes when a task ends whose handle nothing waits with. Private.
 *
 * A future must not be polled by two threads at once, and the wake of a join may come while the
 * poll that has asked for it has not returned. So what is called waits for both, by a semaphore:
 * for the permit of that poll and for the permit of the wake. */
#ifndef VOLT_CPP_REAPER_HPP
#define VOLT_CPP_REAPER_HPP

#include "../semaphore.h"
#include "../task.h"

namespace volt::detail {

class reaper {
 public:
  /* Call then(ctx) when t has ended: on the thread on which it ends, or, if it has ended, within
   * this call. then may free the reaper, and what has it, and may detach the task. */
  void begin(volt_task *t, volt_wake_fn then, void *ctx) noexcept {
    then_ = volt_waker{then, ctx};
    (void)!volt_sem_acquire_waiter(&both_, &waiter_, 2,
                                   volt_waker{over, this}); /* queued: there is none */
    volt_future *f = volt_task_join_future(&join_, t);
    uint32_t permits = volt_future_poll(f, volt_waker{ended, this}) == VOLT_PENDING ? 1 : 2;
    volt_sem_release(&both_, permits); /* this may be gone afterwards */
  }

 private:
  static void ended(void *self) {
    volt_sem_release(&static_cast<reaper *>(self)->both_, 1);
  }
  static void over(void *self) {
    auto *r = static_cast<reaper *>(self);
    (void)volt_future_poll(&r->join_, volt_waker{nullptr, nullptr});
    r->then_.wake(r->then_.ctx);
  }
  volt_future join_ = VOLT_FUTURE_INIT;
  volt_sem both_ = VOLT_SEM_INIT(0);
  volt_waiter waiter_ = VOLT_WAITER_INIT;
  volt_waker then_ = {nullptr, nullptr};
};

} // namespace volt::detail

#endif
