// locked_model: the list path of the printed semaphore. docs/errata.md, E6 and E8.
// A case that must fail tells how the printed form loses, and what of src/core/wait/permits.c does not.
// PROGRAM: published BATCH 2
#include "locked.hpp"

namespace {

using published::waiter;

// One waiter on the heap, queued on a semaphore without permits. Its waker outlives it.
struct locked_model : model {
  published::locked_sem sem;
  wake_count woken;
  waiter *w = new waiter(1, woken.waker());

  locked_model() : sem(0) {
    sem.acquire_wait(w);
  }
  ~locked_model() override {
    delete w;
  }
};

} // namespace

// E6. The release comes first; the cancel sees a complete waiter and returns as it does after a
// removal; its owner, who gave up, does not know of the permit. Closed by R4: cancel has an
// outcome. Control: cancel_x_release.
struct e6_cancel_x_grant_leaks : locked_model {
  void thread(unsigned index) override {
    if (index == 0) sem.cancel_acquire(w);
    if (index == 1) sem.release(1);
  }
  void check() override {
    EXPECT(volt_load_relaxed(&sem.permits) == 1);
  }
};
MUST_FAIL(e6_cancel_x_grant_leaks, 2, full)

// E8. The release stores state = 0 before it unlinks the waiter; its owner polls, sees it complete
// and frees a node that is still in the list. Closed by R3: the grant is the last access. Control:
// reuse_at_grant.
struct e8_freed_before_unlinked : locked_model {
  void thread(unsigned index) override {
    if (index == 0 && w->is_complete()) {
      poison(w);
      delete w;
      w = nullptr;
    }
    if (index == 1) sem.release(1);
  }
};
MUST_FAIL(e8_freed_before_unlinked, 2, full)

// E8. The same release reads the waker after it has told the owner, who by then has set the waiter
// up for its next wait, with another waker. Closed by R3: the waker is copied before the grant.
// Control: reuse_at_grant.
struct e8_reused_before_waker_read : locked_model {
  wake_count next;
  void thread(unsigned index) override {
    if (index == 0 && w->is_complete()) {
      w->waker = next.waker().wake;
      w->waker_ctx = next.waker().ctx;
    }
    if (index == 1) sem.release(1);
  }
  void check() override {
    EXPECT(woken.seen() == 1 && next.seen() == 0);
  }
};
MUST_FAIL(e8_reused_before_waker_read, 2, full)
