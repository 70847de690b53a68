// two_tier_model: the printed semaphore with a fast waiter slot. docs/errata.md, E1 to E5.
// A case that must fail tells how the printed form loses, and what of src/core/wait/permits.c does not.
// PROGRAM: published
#include "two_tier.hpp"

namespace {

using published::waiter;

// A semaphore without permits, and waiters with a waker that counts.
struct two_tier_model : model {
  published::two_tier_sem sem;
  wake_count woken[3];

  two_tier_model() : sem(0) {
  }

  uint32_t in_pool() {
    return volt_load_relaxed(&sem.permits);
  }
  static bool waits(waiter *w) {
    return !w->is_complete();
  }
};

// With E1 closed: a release looks at the slot again under the mutex.
struct second_look_sem : published::two_tier_sem {
  using two_tier_sem::two_tier_sem;

  void release(uint32_t num) {
    waiter *w = swap_out();
    if (!w) {
      mutex.lock();
      w = swap_out();
      if (!w) {
        release_locked(num);
        return;
      }
      mutex.unlock();
    }
    release_to_slot(w, num);
  }
};

// A waiter that needs 3, and releases of 1 and of 2.
template <typename sem_type>
struct put_back : model {
  sem_type sem{0};
  wake_count woken;
  waiter w{3, woken.waker()};

  put_back() {
    sem.acquire_wait_direct(&w);
  }
  void thread(unsigned index) override {
    sem.release(index + 1);
  }
  void check() override {
    EXPECT(w.is_complete() || volt_load_relaxed(&sem.permits) == 0);
  }
};

} // namespace

// E1. The release finds the slot empty; the acquirer, under the mutex, finds no permits and takes
// the slot; the release, under the mutex, looks at the list alone, and its permit goes to the pool
// beside a waiter that nobody will look at. Closed by R1, I1. Control: acquire_x_release.
struct e1_release_tier3_lost_wakeup : two_tier_model {
  waiter w{1, woken[0].waker()};
  void thread(unsigned index) override {
    if (index == 0) sem.acquire_wait_direct(&w);
    if (index == 1) sem.release(1);
  }
  void check() override {
    EXPECT(!(waits(&w) && in_pool() > 0));
  }
};
MUST_FAIL(e1_release_tier3_lost_wakeup, 2, full)

// E2. A release serves the slot and has a permit over; a newcomer takes the empty slot; the surplus
// looks at the list alone and goes to the pool. Closed by R1, I1.
struct e2_surplus_lost_wakeup : two_tier_model {
  waiter first{1, woken[0].waker()};
  waiter second{1, woken[1].waker()};
  e2_surplus_lost_wakeup() {
    sem.acquire_wait_direct(&first);
  }
  void thread(unsigned index) override {
    if (index == 0) sem.acquire_wait_direct(&second);
    if (index == 1) sem.release(2);
  }
  void check() override {
    EXPECT(!waits(&first));
    EXPECT(!(waits(&second) && in_pool() > 0));
  }
};
MUST_FAIL(e2_surplus_lost_wakeup, 2, full)

// E2's story on the library.
struct e2_control_surplus_x_acquire : model {
  volt_sem sem;
  volt_waiter w[2];
  wake_count woken[2];
  int result = VOLT_PENDING;
  e2_control_surplus_x_acquire() {
    volt_sem_init(&sem, 0);
    EXPECT(volt_sem_acquire_waiter(&sem, &w[0], 1, woken[0].waker()) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) result = volt_sem_acquire_waiter(&sem, &w[1], 1, woken[1].waker());
    if (index == 1) volt_sem_release(&sem, 2);
  }
  void check() override {
    EXPECT(granted(&w[0]) && (result == VOLT_OK || granted(&w[1])));
    EXPECT(volt_sem_available(&sem) == 0);
  }
};
MODEL(e2_control_surplus_x_acquire, 2, full)

// E3. The waiter needs 3. One release takes it out of the slot to give it what it has; the other
// finds neither slot nor list, and adds to the pool; the first puts the waiter back, still in need
// of what now lies in the pool. Closed by I3, I5: whoever needs more stays linked while it is
// served in part. Control: partial_then_surplus.
struct e3_put_back_lost_wakeup : put_back<published::two_tier_sem> {};
MUST_FAIL(e3_put_back_lost_wakeup, 2, full)

// E3 alone: the same on a release that E1 cannot happen to.
struct e3_put_back_without_e1 : put_back<second_look_sem> {};
MUST_FAIL(e3_put_back_without_e1, 2, full)

// E4. The slot has been served while an older waiter is listed; a newcomer takes the slot, and the
// next release serves the newcomer: so for ever. Closed by the one FIFO (I5), to whose back alone a
// waiter comes. Control: fifo_same_thread.
struct e4_newcomer_takes_slot : two_tier_model {
  waiter first{1, woken[0].waker()};
  waiter second{1, woken[1].waker()};
  waiter newcomer{1, woken[2].waker()};
  e4_newcomer_takes_slot() {
    sem.acquire_wait_direct(&first);
    sem.acquire_wait_direct(&second);
    sem.release(1);
    EXPECT(!waits(&first) && waits(&second));
  }
  void thread(unsigned index) override {
    if (index == 0) sem.acquire_wait_direct(&newcomer);
    if (index == 1) sem.release(1);
  }
  void check() override {
    EXPECT(!waits(&second));
  }
};
MUST_FAIL(e4_newcomer_takes_slot, 2, full)

// E4. The oldest waiter, served in part, finds its slot taken and goes to the front of the list,
// which is the end of the youngest: the second is served before it. Closed by I4: only the head is
// served in part, where it is. Control: fifo_behind_partial_head.
struct e4_put_back_at_young_end : two_tier_model {
  waiter oldest{2, woken[0].waker()};
  waiter second{1, woken[1].waker()};
  waiter newcomer{1, woken[2].waker()};
  e4_put_back_at_young_end() {
    sem.acquire_wait_direct(&oldest);
    sem.acquire_wait_direct(&second);
  }
  void thread(unsigned index) override {
    if (index == 0) sem.release(1);
    if (index == 1) sem.acquire_wait_direct(&newcomer);
  }
  void check() override {
    sem.release(1);
    sem.release(1);
    EXPECT(!waits(&oldest) || waits(&second));
  }
};
MUST_FAIL(e4_put_back_at_young_end, 2, full)

// E5. A release has swapped the waiter out of the slot and not yet completed it; the cancel finds
// it in no slot, takes it for listed, and removes a node without neighbours: the list is empty, and
// the waiter that was in it is lost. Closed by R4, I5. Control: cancel_middle.
struct e5_cancel_corrupts_list : two_tier_model {
  waiter w{1, woken[0].waker()};
  waiter listed{1, woken[1].waker()};
  e5_cancel_corrupts_list() {
    sem.acquire_wait_direct(&w);
    sem.acquire_wait_direct(&listed);
  }
  void thread(unsigned index) override {
    if (index == 0) sem.cancel_acquire(&w);
    if (index == 1) sem.release(1);
  }
  void check() override {
    EXPECT(!waits(&listed) || sem.waiters.back() == &listed);
  }
};
MUST_FAIL(e5_cancel_corrupts_list, 2, full)

// E5. The same cancel returns, and the owner frees the waiter that the release is about to
// complete. Closed by R4: cancel waits until it is granted. Control: cancel_then_reuse. This is the
// case that is rejected only if the checker sees accesses to freed memory.
struct e5_cancel_returns_too_early : two_tier_model {
  waiter *w = new waiter(1, woken[0].waker());
  e5_cancel_returns_too_early() {
    sem.acquire_wait_direct(w);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      sem.cancel_acquire(w);
      delete w;
    }
    if (index == 1) sem.release(1);
  }
};
MUST_FAIL(e5_cancel_returns_too_early, 2, full)
