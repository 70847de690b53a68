// PROGRAM: library BATCH 2 MUTANTS ENGINES
/* ENGINE: all */
// semaphore_model: the wait queue through the semaphore, and every variant of it.
// Checks permits.c I1-I5 and R1-R5; a case names the race it is after.
#include "engine.h"
#include "model.hpp"

// One semaphore, up to three waiters with a waker that counts. The quiescent checks say what
// became of each, and that permits are conserved.
struct sem_model : model {
  engine_sem sem;
  volt_waiter w[3];
  wake_count woken[3];
  int result[3];

  explicit sem_model(uint32_t permits) : result{VOLT_ECANCELED, VOLT_ECANCELED, VOLT_ECANCELED} {
    engine_sem_init(&sem, permits);
  }

  // Whoever still waits leaves: a variant may have memory for it.
  ~sem_model() override {
    for (volt_waiter &waiter : w) ignore_result(engine_sem_cancel(&sem, &waiter));
  }

  int acquire(unsigned i, uint32_t n) {
    return result[i] = engine_sem_acquire_waiter(&sem, &w[i], n, woken[i].waker());
  }

  // Whether waiter i has what it asked for. A pending one must have been granted, and woken once,
  // or neither.
  bool has(unsigned i) {
    if (result[i] == VOLT_OK) EXPECT(woken[i].seen() == 0);
    if (result[i] != VOLT_PENDING) return result[i] == VOLT_OK;
    EXPECT(woken[i].seen() == (granted(&w[i]) ? 1u : 0u));
    return granted(&w[i]);
  }

  // Waiter i was cancelled and was told so.
  void cancelled(unsigned i) {
    EXPECT(volt_waiter_result(&w[i]) == VOLT_ECANCELED);
    EXPECT(woken[i].seen() == 0);
    result[i] = VOLT_ECANCELED;
  }
};

// R1: permits come while a waiter queues; neither may miss the other.
struct acquire_x_release : sem_model {
  acquire_x_release() : sem_model(0) {
  }
  void thread(unsigned index) override {
    if (index == 0) acquire(0, 1);
    if (index == 1) engine_sem_release(&sem, 1);
  }
  void check() override {
    EXPECT(has(0));
    EXPECT(engine_sem_available(&sem) == 0);
  }
};
MODEL(acquire_x_release, 2, full)

// R1, I3: what the pool held is set aside while the rest is released.
struct absorb_x_release : sem_model {
  absorb_x_release() : sem_model(1) {
  }
  void thread(unsigned index) override {
    if (index == 0) acquire(0, 2);
    if (index == 1) engine_sem_release(&sem, 2);
  }
  void check() override {
    EXPECT(has(0));
    EXPECT(engine_sem_available(&sem) == 1);
  }
};
MODEL(absorb_x_release, 2, full)

// I3: two partial releases meet one waiter, which queues meanwhile.
struct partial_releases : sem_model {
  partial_releases() : sem_model(0) {
  }
  void thread(unsigned index) override {
    if (index == 0) acquire(0, 2);
    if (index != 0) engine_sem_release(&sem, 1);
  }
  void check() override {
    EXPECT(has(0));
    EXPECT(engine_sem_available(&sem) == 0);
  }
};
MODEL(partial_releases, 3, bounded)

// I3: E3's story: one release serves in part, another finds the rest.
struct partial_then_surplus : sem_model {
  partial_then_surplus() : sem_model(0) {
    acquire(0, 3);
  }
  void thread(unsigned index) override {
    engine_sem_release(&sem, index == 0 ? 1 : 3);
  }
  void check() override {
    EXPECT(has(0));
    EXPECT(engine_sem_available(&sem) == 1);
  }
};
MODEL(partial_then_surplus, 2, full)

// R4: the outcome of a cancel is true, and the permits are somewhere.
struct cancel_x_release : sem_model {
  bool was_cancelled = false;
  cancel_x_release() : sem_model(0) {
    acquire(0, 1);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      was_cancelled = engine_sem_cancel(&sem, &w[0]);
      if (!was_cancelled) EXPECT(granted(&w[0]));
    }
    if (index == 1) engine_sem_release(&sem, 1);
  }
  void check() override {
    if (was_cancelled) cancelled(0);
    EXPECT(engine_sem_available(&sem) == (has(0) ? 0u : 1u));
    EXPECT(has(0) != was_cancelled);
  }
};
MODEL(cancel_x_release, 2, full)

// R3, R4: after either outcome the memory is the owner's: it writes all over it.
struct cancel_then_reuse : sem_model {
  bool was_cancelled = false;
  cancel_then_reuse() : sem_model(0) {
    acquire(0, 2);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      was_cancelled = engine_sem_cancel(&sem, &w[0]);
      poison(&w[0]);
    }
    if (index == 1) engine_sem_release(&sem, 1);
    if (index == 2) engine_sem_release(&sem, 1);
  }
  void check() override {
    EXPECT(engine_sem_available(&sem) == (was_cancelled ? 2u : 0u));
  }
};
MODEL(cancel_then_reuse, 3, bounded)

// R1, R4: three at once.
struct cancel_x_acquire_x_release : sem_model {
  cancel_x_acquire_x_release() : sem_model(0) {
    acquire(0, 1);
  }
  void thread(unsigned index) override {
    if (index == 0 && engine_sem_cancel(&sem, &w[0])) cancelled(0);
    if (index == 1) acquire(1, 1);
    if (index == 2) engine_sem_release(&sem, 1);
  }
  void check() override {
    EXPECT(has(0) != has(1));
    EXPECT(engine_sem_available(&sem) == 0);
  }
};
MODEL(cancel_x_acquire_x_release, 3, bounded)

// I3, I4: the head has gathered; when it leaves, the next has enough.
struct cancel_partial_head : sem_model {
  cancel_partial_head() : sem_model(1) {
    acquire(0, 3);
    acquire(1, 1);
  }
  void thread(unsigned index) override {
    if (index == 0 && engine_sem_cancel(&sem, &w[0])) cancelled(0);
    if (index == 1) engine_sem_release(&sem, 1);
  }
  void check() override {
    EXPECT(!has(0) && has(1));
    EXPECT(engine_sem_available(&sem) == 1);
  }
};
MODEL(cancel_partial_head, 2, full)

// I5: a waiter in the middle leaves while those around it are served.
struct cancel_middle : sem_model {
  bool was_cancelled = false;
  cancel_middle() : sem_model(0) {
    for (unsigned i = 0; i < 3; i++) acquire(i, 1);
  }
  void thread(unsigned index) override {
    if (index == 0) was_cancelled = engine_sem_cancel(&sem, &w[1]);
    if (index == 1) engine_sem_release(&sem, 2);
  }
  void check() override {
    if (was_cancelled) cancelled(1);
    EXPECT(has(0) && has(1) != was_cancelled && has(2) == was_cancelled);
    EXPECT(engine_sem_available(&sem) == 0);
  }
};
MODEL(cancel_middle, 2, full)

// R4: two leave while one permit comes.
struct two_cancels_x_release : sem_model {
  two_cancels_x_release() : sem_model(0) {
    acquire(0, 1);
    acquire(1, 1);
  }
  void thread(unsigned index) override {
    if (index == 2) {
      engine_sem_release(&sem, 1);
    } else if (engine_sem_cancel(&sem, &w[index])) {
      cancelled(index);
    }
  }
  void check() override {
    unsigned holders = (has(0) ? 1u : 0u) + (has(1) ? 1u : 0u);
    EXPECT(engine_sem_available(&sem) + holders == 1);
  }
};
MODEL(two_cancels_x_release, 3, bounded)

// R1: two register, one release for both.
struct two_acquires_x_release : sem_model {
  two_acquires_x_release() : sem_model(0) {
  }
  void thread(unsigned index) override {
    if (index == 2) {
      engine_sem_release(&sem, 2);
    } else {
      acquire(index, 1);
    }
  }
  void check() override {
    EXPECT(has(0) && has(1));
    EXPECT(engine_sem_available(&sem) == 0);
  }
};
MODEL(two_acquires_x_release, 3, bounded)

// R1, I4: unequal requests; what is released suffices for both in any order.
struct unequal_acquires_x_release : sem_model {
  unequal_acquires_x_release() : sem_model(1) {
  }
  void thread(unsigned index) override {
    if (index == 2) {
      engine_sem_release(&sem, 2);
    } else {
      acquire(index, index + 1);
    }
  }
  void check() override {
    EXPECT(has(0) && has(1));
    EXPECT(engine_sem_available(&sem) == 0);
  }
};
MODEL(unequal_acquires_x_release, 3, bounded)

// FIFO: who arrived first on one thread is served first.
struct fifo_same_thread : sem_model {
  fifo_same_thread() : sem_model(0) {
  }
  void thread(unsigned index) override {
    if (index == 0) {
      acquire(0, 1);
      acquire(1, 1);
    } else {
      engine_sem_release(&sem, 1);
    }
  }
  void check() override {
    EXPECT(has(0) && !has(1));
    EXPECT(engine_sem_available(&sem) == 0);
  }
};
MODEL(fifo_same_thread, 2, bounded)

// FIFO: a small request does not pass a big one that has gathered some.
struct fifo_behind_partial_head : sem_model {
  fifo_behind_partial_head() : sem_model(1) {
    acquire(0, 3);
  }
  void thread(unsigned index) override {
    if (index == 0) acquire(1, 1);
    if (index == 1) engine_sem_release(&sem, 1);
  }
  void check() override {
    EXPECT(!has(0) && !has(1));
    EXPECT(engine_sem_available(&sem) == 0);
  }
};
MODEL(fifo_behind_partial_head, 2, full)

// FIFO across threads: whoever finds the other queued comes after it.
struct fifo_across_threads : sem_model {
  VOLT_ATOMIC(uint32_t) first_is_queued;
  bool second_came_later = false;
  fifo_across_threads() : sem_model(0) {
  }
  void thread(unsigned index) override {
    if (index == 0 && acquire(0, 1) == VOLT_PENDING) {
      volt_store_relaxed(&first_is_queued, 1);
    }
    if (index == 1) {
      second_came_later = volt_load_relaxed(&first_is_queued) == 1;
      acquire(1, 1);
    }
    if (index == 2) engine_sem_release(&sem, 1);
  }
  void check() override {
    EXPECT(has(0) != has(1));
    if (second_came_later) EXPECT(has(0));
    EXPECT(engine_sem_available(&sem) == 0);
  }
};
MODEL(fifo_across_threads, 3, bounded)

// No barging: while a waiter waits, a try takes nothing.
struct no_barging : sem_model {
  bool barged = false;
  no_barging() : sem_model(0) {
    acquire(0, 1);
  }
  void thread(unsigned index) override {
    if (index == 0) engine_sem_release(&sem, 1);
    if (index == 1) barged = engine_sem_try_acquire(&sem, 1) == VOLT_OK;
  }
  void check() override {
    EXPECT(has(0) && !barged);
  }
};
MODEL(no_barging, 2, full)

// No barging while the one release is handed out in two steps.
struct no_barging_between_releases : sem_model {
  bool barged = false;
  no_barging_between_releases() : sem_model(0) {
    acquire(0, 2);
  }
  void thread(unsigned index) override {
    if (index == 2) {
      barged = engine_sem_try_acquire(&sem, 1) == VOLT_OK;
    } else {
      engine_sem_release(&sem, 1);
    }
  }
  void check() override {
    EXPECT(has(0) && !barged);
  }
};
MODEL(no_barging_between_releases, 3, bounded)

// R3: the moment the grant is visible the owner writes all over the waiter and queues it again.
struct reuse_at_grant : sem_model {
  bool reused = false;
  reuse_at_grant() : sem_model(0) {
    acquire(0, 1);
  }
  void thread(unsigned index) override {
    if (index == 1) engine_sem_release(&sem, 1);
    if (index == 0 && granted(&w[0])) {
      reused = true;
      poison(&w[0]);
      acquire(0, 1);
    }
  }
  void check() override {
    EXPECT(woken[0].seen() == 1);
    EXPECT(granted(&w[0]) != reused);
  }
};
MODEL(reuse_at_grant, 2, full)

// The same with two waiters that one release grants.
struct reuse_at_grant_of_two : sem_model {
  bool reused = false;
  reuse_at_grant_of_two() : sem_model(0) {
    acquire(0, 1);
    acquire(1, 1);
  }
  void thread(unsigned index) override {
    if (index == 1) engine_sem_release(&sem, 2);
    if (index == 0 && granted(&w[0])) {
      reused = true;
      poison(&w[0]);
      acquire(0, 1);
    }
  }
  void check() override {
    EXPECT(woken[0].seen() == 1 && woken[1].seen() == 1);
    EXPECT(granted(&w[0]) != reused && granted(&w[1]));
  }
};
MODEL(reuse_at_grant_of_two, 2, full)

// W1 <- G1, and A1 <- R1: the permits of two releases carry the past of both.
struct grant_carries_the_past : sem_model {
  VOLT_PLAIN(int) message[2];
  grant_carries_the_past() : sem_model(0) {
    acquire(0, 2);
  }
  void thread(unsigned index) override {
    if (index < 2) {
      message[index] = 1;
      engine_sem_release(&sem, 1);
    } else if (granted(&w[0])) {
      EXPECT(message[0] == 1 && message[1] == 1);
    }
  }
};
MODEL(grant_carries_the_past, 3, bounded)

// A1 <- R1: so do permits that lie in the pool, however they got together.
struct pool_carries_the_past : sem_model {
  VOLT_PLAIN(int) message[2];
  pool_carries_the_past() : sem_model(0) {
  }
  void thread(unsigned index) override {
    if (index < 2) {
      message[index] = 1;
      engine_sem_release(&sem, 1);
    } else if (engine_sem_try_acquire(&sem, 2) == VOLT_OK) {
      EXPECT(message[0] == 1 && message[1] == 1);
    }
  }
};
MODEL(pool_carries_the_past, 3, bounded)

// A1 <- R1: so do permits that the waiter takes from the pool when it queues.
struct absorbed_carries_the_past : sem_model {
  VOLT_PLAIN(int) message[2];
  absorbed_carries_the_past() : sem_model(0) {
  }
  void thread(unsigned index) override {
    if (index < 2) {
      message[index] = 1;
      engine_sem_release(&sem, 1);
    } else if (acquire(0, 2) == VOLT_OK || granted(&w[0])) {
      EXPECT(message[0] == 1 && message[1] == 1);
    }
  }
};
MODEL(absorbed_carries_the_past, 3, bounded)

// L1 <- U1: permits that go by way of a waiter who gives up carry their past to the next one.
struct cancel_carries_the_past : sem_model {
  VOLT_PLAIN(int) message;
  cancel_carries_the_past() : sem_model(0) {
    acquire(0, 2);
    acquire(1, 1);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      message = 1;
      engine_sem_release(&sem, 1);
    }
    if (index == 1 && engine_sem_cancel(&sem, &w[0])) cancelled(0);
    if (index == 2 && granted(&w[1])) EXPECT(message == 1);
  }
};
MODEL(cancel_carries_the_past, 3, bounded)

// R5: either waker is called, once, and set_waker knows which.
struct set_waker_x_release : sem_model {
  wake_count second;
  bool replaced = false;
  set_waker_x_release() : sem_model(0) {
    acquire(0, 1);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      replaced = engine_sem_set_waker(&sem, &w[0], second.waker());
      if (!replaced) EXPECT(granted(&w[0]));
    }
    if (index == 1) engine_sem_release(&sem, 1);
  }
  void check() override {
    EXPECT(granted(&w[0]));
    EXPECT(woken[0].seen() == (replaced ? 0u : 1u));
    EXPECT(second.seen() == (replaced ? 1u : 0u));
  }
};
MODEL(set_waker_x_release, 2, full)

// R7, E13: a waker uses the semaphore it was woken by.
struct waker_reenters : sem_model {
  VOLT_ATOMIC(uint32_t) reentered;
  waker_reenters() : sem_model(0) {
    EXPECT(engine_sem_acquire_waiter(&sem, &w[0], 1, volt_waker{reenter, this}) == VOLT_PENDING);
    acquire(1, 1);
  }
  static void reenter(void *ctx) {
    waker_reenters *self = static_cast<waker_reenters *>(ctx);
    volt_fetch_add_relaxed(&self->reentered, 1);
    EXPECT(engine_sem_waiters(&self->sem) <= 1);
    engine_sem_release(&self->sem, 1);
  }
  void thread(unsigned index) override {
    if (index == 0) engine_sem_release(&sem, 1);
    if (index == 1 && engine_sem_cancel(&sem, &w[1])) cancelled(1);
  }
  void check() override {
    EXPECT(granted(&w[0]) && volt_load_relaxed(&reentered) == 1);
    EXPECT(engine_sem_available(&sem) == (has(1) ? 0u : 1u));
  }
};
MODEL(waker_reenters, 2, bounded)

// R1: close and a newcomer: it is told, now or by its wake.
struct close_x_acquire : sem_model {
  close_x_acquire() : sem_model(0) {
  }
  void thread(unsigned index) override {
    if (index == 0) acquire(0, 1);
    if (index == 1) engine_sem_close(&sem);
  }
  void check() override {
    EXPECT(result[0] == VOLT_ECLOSED || result[0] == VOLT_PENDING);
    if (result[0] == VOLT_PENDING) {
      EXPECT(volt_waiter_result(&w[0]) == VOLT_ECLOSED);
      EXPECT(woken[0].seen() == 1);
    }
    EXPECT(engine_sem_is_closed(&sem) && engine_sem_waiters(&sem) == 0);
  }
};
MODEL(close_x_acquire, 2, full)

// I3: what a closed waiter had gathered, and what comes meanwhile, is in the pool or granted.
struct close_x_release : sem_model {
  close_x_release() : sem_model(1) {
    acquire(0, 2);
  }
  void thread(unsigned index) override {
    if (index == 0) engine_sem_close(&sem);
    if (index == 1) engine_sem_release(&sem, 1);
  }
  void check() override {
    EXPECT(woken[0].seen() == 1);
    bool got = volt_waiter_result(&w[0]) == VOLT_OK;
    EXPECT(got || volt_waiter_result(&w[0]) == VOLT_ECLOSED);
    EXPECT(engine_sem_available(&sem) == (got ? 0u : 2u));
    EXPECT(engine_sem_is_closed(&sem));
  }
};
MODEL(close_x_release, 2, full)

// L1 <- U1: close takes the lock of a queue that a release has just emptied.
struct close_after_release : sem_model {
  close_after_release() : sem_model(0) {
    acquire(0, 1);
  }
  void thread(unsigned index) override {
    if (index == 0) engine_sem_release(&sem, 1);
    if (index == 1) engine_sem_close(&sem);
  }
  void check() override {
    EXPECT(woken[0].seen() == 1);
    EXPECT(engine_sem_available(&sem) == (granted(&w[0]) ? 0u : 1u));
  }
};
MODEL(close_after_release, 2, full)

// R4: close and cancel.
struct close_x_cancel : sem_model {
  bool was_cancelled = false;
  close_x_cancel() : sem_model(1) {
    acquire(0, 2);
  }
  void thread(unsigned index) override {
    if (index == 0) was_cancelled = engine_sem_cancel(&sem, &w[0]);
    if (index == 1) engine_sem_close(&sem);
  }
  void check() override {
    EXPECT(volt_waiter_result(&w[0]) == (was_cancelled ? VOLT_ECANCELED : VOLT_ECLOSED));
    EXPECT(woken[0].seen() == (was_cancelled ? 0u : 1u));
    EXPECT(engine_sem_available(&sem) == 1);
  }
};
MODEL(close_x_cancel, 2, full)

// C1 <- U1: who learns that it is closed sees what came before.
struct close_carries_the_past : sem_model {
  VOLT_PLAIN(int) message;
  close_carries_the_past() : sem_model(0) {
  }
  void thread(unsigned index) override {
    if (index == 0) {
      message = 1;
      engine_sem_close(&sem);
    } else if (acquire(0, 1) == VOLT_ECLOSED) {
      EXPECT(message == 1);
    }
  }
};
MODEL(close_carries_the_past, 2, full)

// C1 <- U1, F1: so does who only asks.
struct is_closed_carries_the_past : sem_model {
  VOLT_PLAIN(int) message;
  is_closed_carries_the_past() : sem_model(0) {
  }
  void thread(unsigned index) override {
    if (index == 0) {
      message = 1;
      engine_sem_close(&sem);
    } else if (engine_sem_is_closed(&sem)) {
      EXPECT(message == 1);
    }
  }
};
MODEL(is_closed_carries_the_past, 2, full)

// A waiter that an acquire did not need is as it was: it can be queued by the next one.
struct acquired_then_queued : sem_model {
  int second = VOLT_ECANCELED;
  acquired_then_queued() : sem_model(1) {
  }
  void thread(unsigned index) override {
    if (index == 0) {
      acquire(0, 1);
      if (result[0] == VOLT_OK)
        second = engine_sem_acquire_waiter(&sem, &w[0], 1, woken[0].waker());
    }
    if (index == 1 && engine_sem_try_acquire(&sem, 1) == VOLT_OK) engine_sem_release(&sem, 1);
  }
  void check() override {
    EXPECT(result[0] == VOLT_OK ? second == VOLT_PENDING : granted(&w[0]));
    EXPECT(engine_sem_available(&sem) == 0);
  }
};
MODEL(acquired_then_queued, 2, full)

// Threads block; at most two are inside a semaphore of two.
struct blocking_threads : sem_model {
  VOLT_ATOMIC(uint32_t) inside;
  blocking_threads() : sem_model(2) {
  }
  void thread(unsigned) override {
    EXPECT(engine_sem_acquire_until(&sem, 1, VOLT_NO_DEADLINE) == VOLT_OK);
    EXPECT(volt_fetch_add_relaxed(&inside, 1) < 2);
    volt_fetch_add_relaxed(&inside, ~UINT32_C(0));
    engine_sem_release(&sem, 1);
  }
  void check() override {
    EXPECT(engine_sem_available(&sem) == 2);
  }
};
MODEL(blocking_threads, 3, bounded)

// R4 for a thread: its deadline passes at any moment; it has the permit or it has not.
struct blocking_deadline_x_release : sem_model {
  int outcome = VOLT_PENDING;
  blocking_deadline_x_release() : sem_model(0) {
  }
  void thread(unsigned index) override {
    if (index == 0) outcome = engine_sem_acquire_until(&sem, 1, 1);
    if (index == 1) engine_sem_release(&sem, 1);
  }
  void check() override {
    EXPECT(outcome == VOLT_OK || outcome == VOLT_ETIMEDOUT);
    EXPECT(engine_sem_available(&sem) == (outcome == VOLT_OK ? 0u : 1u));
    EXPECT(engine_sem_waiters(&sem) == 0);
  }
};
MODEL(blocking_deadline_x_release, 2, bounded)

// The same beside a second waiter, who must get what the first leaves.
struct blocking_deadline_x_blocking : sem_model {
  int outcome = VOLT_PENDING;
  blocking_deadline_x_blocking() : sem_model(0) {
  }
  void thread(unsigned index) override {
    if (index == 0) {
      outcome = engine_sem_acquire_until(&sem, 1, 1);
      if (outcome == VOLT_OK) engine_sem_release(&sem, 1);
    }
    if (index == 1) EXPECT(engine_sem_acquire_until(&sem, 1, VOLT_NO_DEADLINE) == VOLT_OK);
    if (index == 2) engine_sem_release(&sem, 1);
  }
  void check() override {
    EXPECT(engine_sem_available(&sem) == 0);
  }
};
MODEL(blocking_deadline_x_blocking, 3, bounded)
