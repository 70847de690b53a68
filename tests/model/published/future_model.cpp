// future_model: the future of "Zero-Allocation Waiters" as printed, on the printed semaphores.
// docs/errata.md, E6, E7, E9. A case that must fail tells how the printed form loses, and what of
// src/core/wait/permits.c and src/core/future/future.c does not.
// PROGRAM: published
#include "two_tier.hpp"

namespace {

using published::locked_sem;
using published::two_tier_sem;
using published::waiter;

// A task is its count of wakes; a future's waker is the task to wake.
using task = wake_count;

// Where the future keeps that waker: a plain field, as printed; or an atomic one, with which the
// order of the steps is all that can be wrong.
using plain_waker = VOLT_PLAIN(task *);
using atomic_waker = VOLT_ATOMIC(task *);

task *load(plain_waker *p) {
  return *p;
}
void store(plain_waker *p, task *t) {
  *p = t;
}
task *load(atomic_waker *p) {
  return volt_load_seq_cst(p);
}
void store(atomic_waker *p, task *t) {
  volt_exchange_seq_cst(p, t);
}

bool start(locked_sem *sem, waiter *w) {
  return sem->acquire_wait(w);
}
bool start(two_tier_sem *sem, waiter *w) {
  if (!sem->try_acquire(w->permits_requested)) return sem->acquire_wait_direct(w);
  volt_store_release(&w->state, 0);
  return true;
}

template <typename semaphore_type, typename waker_type>
struct acquire_future {
  semaphore_type *semaphore;
  waiter w;
  enum { INIT, WAITING, ACQUIRED } state = INIT;
  waker_type stored_waker;

  acquire_future(semaphore_type *sem, uint32_t n)
      : semaphore(sem), w(n, volt_waker{wake_callback, this}) {
  }

  // Returns true: ready.
  bool poll(task *current) {
    if (state == ACQUIRED) return true;
    if (state == INIT) {
      store(&stored_waker, current);
      state = start(semaphore, &w) ? ACQUIRED : WAITING;
      return state == ACQUIRED;
    }
    if (w.is_complete()) {
      state = ACQUIRED;
      return true;
    }
    if (load(&stored_waker) != current) store(&stored_waker, current);
    return false;
  }

  // Nothing to clean up in ACQUIRED but the waker.
  void deinit() {
    if (state == WAITING) semaphore->cancel_acquire(&w);
    store(&stored_waker, nullptr);
  }

 private:
  static void wake_callback(void *ctx) {
    task *t = load(&static_cast<acquire_future *>(ctx)->stored_waker);
    if (!t) return;
    volt_waker waker = t->waker();
    waker.wake(waker.ctx);
  }
};

// A future that waits for a permit, polled by one task.
template <typename semaphore_type, typename waker_type = plain_waker>
struct waiting_future : model {
  using future = acquire_future<semaphore_type, waker_type>;
  semaphore_type sem;
  task first, second;
  future *f = new future(&sem, 1);

  waiting_future() : sem(0) {
    EXPECT(!f->poll(&first));
  }
  ~waiting_future() override {
    delete f;
  }
};

// Granted, then dropped, while somebody else asks for the permit.
template <typename semaphore_type>
struct dropped_after_grant : waiting_future<semaphore_type> {
  waiter other{1, this->second.waker()};
  dropped_after_grant() {
    this->sem.release(1);
  }
  void thread(unsigned index) override {
    if (index == 0) this->f->deinit();
    if (index == 1) this->sem.acquire_wait(&other);
  }
  void check() override {
    EXPECT(other.is_complete());
  }
};

} // namespace

// E6. The waiter is complete, and nobody has polled the future: it is still `waiting`, its cancel
// sees a complete waiter and returns, and the permit is gone. Closed by R4 and
// volt_future_cancel(), which gives back what no poll has returned. Control: drop_x_grant,
// drop_x_grant_x_waiter.
struct e6_drop_after_grant_locked : dropped_after_grant<locked_sem> {};
MUST_FAIL(e6_drop_after_grant_locked, 2, full)

// E6 on the two tiers.
struct e6_drop_after_grant_two_tier : dropped_after_grant<two_tier_sem> {};
MUST_FAIL(e6_drop_after_grant_two_tier, 2, full)

// E7. The release copies the waker before it stores state = 0, as "Fast Waiter Slot" has it; but
// the copied ctx is the future. Its owner polls, has the permit and frees it; the callback reads
// stored_waker there. Closed by R3 with a waker whose ctx is the task, never the waiter or the
// future.
struct e7_callback_reads_freed_future : waiting_future<two_tier_sem> {
  void thread(unsigned index) override {
    if (index == 0 && f->poll(&first)) {
      f->deinit();
      delete f;
      f = nullptr;
    }
    if (index == 1) sem.release(1);
  }
};
MUST_FAIL(e7_callback_reads_freed_future, 2, full)

// E7's story on the library.
struct e7_control_poll_then_free : model {
  volt_sem sem;
  wake_count woken;
  volt_future *f = new volt_future();
  e7_control_poll_then_free() {
    volt_sem_init(&sem, 0);
    volt_future_made(volt_sem_acquire_future(f, &sem, 1));
    EXPECT(volt_future_poll(f, woken.waker()) == VOLT_PENDING);
  }
  ~e7_control_poll_then_free() override {
    delete f;
  }
  void thread(unsigned index) override {
    if (index == 0 && volt_future_poll(f, woken.waker()) == VOLT_OK) {
      poison(&f->waiter);
      delete f;
      f = nullptr;
    }
    if (index == 1) volt_sem_release(&sem, 1);
  }
  void check() override {
    EXPECT(woken.seen() == 1 && volt_sem_available(&sem) == 0);
  }
};
MODEL(e7_control_poll_then_free, 2, full)

// E9. Another task polls and replaces stored_waker while the callback reads it. Closed by R5: both
// are done under the lock. Control: migrate_x_grant.
struct e9_stored_waker_race : waiting_future<locked_sem> {
  void thread(unsigned index) override {
    if (index == 0) f->poll(&second);
    if (index == 1) sem.release(1);
  }
};
MUST_FAIL(e9_stored_waker_race, 2, full)

// E9. And if the replacement were atomic: the poll sees no completion, the grant comes and wakes
// the old task, the poll puts the new one in its place and says "pending": the task that polls is
// never woken. Closed by R5: under the lock the waiter is either not granted or seen to be.
// Control: migrate_x_grant.
struct e9_old_task_woken : waiting_future<locked_sem, atomic_waker> {
  bool ready = false;
  void thread(unsigned index) override {
    if (index == 0) ready = f->poll(&second);
    if (index == 1) sem.release(1);
  }
  void check() override {
    EXPECT(ready || second.seen() == 1);
  }
};
MUST_FAIL(e9_old_task_woken, 2, full)
