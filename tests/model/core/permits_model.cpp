// permits_model: more waiters than a wake batch holds, and the end of the object.
// Checks permits.c R2, R3 and R7. Built with VOLT_WAKE_BATCH=1.
// PROGRAM: batch BATCH 1 MUTANTS
#include "model.hpp"

static_assert(VOLT_WAKE_BATCH == 1, "every release that serves two has to come back");

struct batch_model : model {
  volt_sem sem;
  volt_waiter w[3];
  wake_count woken[3];

  explicit batch_model(unsigned waiters) {
    volt_sem_init(&sem, 0);
    for (unsigned i = 0; i < waiters; i++) {
      EXPECT(volt_sem_acquire_waiter(&sem, &w[i], 1, woken[i].waker()) == VOLT_PENDING);
    }
  }
  bool has(unsigned i) {
    EXPECT(woken[i].seen() == (granted(&w[i]) ? 1u : 0u));
    return granted(&w[i]);
  }
  ~batch_model() override {
    EXPECT((volt_load_relaxed(&sem.queue.word) & VOLT_WORD_ALL_RETURNING_) == 0);
  }
};

// R7: two releases of two serve three waiters in turns.
struct batch_two_releasers : batch_model {
  batch_two_releasers() : batch_model(3) {
  }
  void thread(unsigned) override {
    volt_sem_release(&sem, 2);
  }
  void check() override {
    EXPECT(has(0) && has(1) && has(2));
    EXPECT(volt_sem_available(&sem) == 1);
  }
};
MODEL(batch_two_releasers, 2, bounded)

// R7, E13: the waker of a full batch uses the semaphore.
struct batch_waker_reenters : batch_model {
  VOLT_ATOMIC(uint32_t) reentered;
  batch_waker_reenters() : batch_model(0) {
    EXPECT(volt_sem_acquire_waiter(&sem, &w[0], 1, volt_waker{reenter, this}) == VOLT_PENDING);
    EXPECT(volt_sem_acquire_waiter(&sem, &w[1], 1, woken[1].waker()) == VOLT_PENDING);
    EXPECT(volt_sem_acquire_waiter(&sem, &w[2], 1, woken[2].waker()) == VOLT_PENDING);
  }
  static void reenter(void *ctx) {
    batch_waker_reenters *self = static_cast<batch_waker_reenters *>(ctx);
    volt_fetch_add_relaxed(&self->reentered, 1);
    volt_sem_release(&self->sem, 1);
  }
  void thread(unsigned index) override {
    volt_sem_release(&sem, index == 0 ? 2 : 1);
  }
  void check() override {
    EXPECT(granted(&w[0]) && has(1) && has(2) && volt_load_relaxed(&reentered) == 1);
    EXPECT(volt_sem_available(&sem) == 1);
  }
};
MODEL(batch_waker_reenters, 2, bounded)

// R7: the queue empties while the release is away.
struct batch_x_cancel : batch_model {
  bool was_cancelled[2] = {false, false};
  batch_x_cancel() : batch_model(3) {
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_sem_release(&sem, 3);
      return;
    }
    was_cancelled[0] = volt_sem_cancel(&sem, &w[1]);
    was_cancelled[1] = volt_sem_cancel(&sem, &w[2]);
  }
  void check() override {
    uint32_t back = (was_cancelled[0] ? 1u : 0u) + (was_cancelled[1] ? 1u : 0u);
    EXPECT(has(0));
    EXPECT(has(1) != was_cancelled[0] && has(2) != was_cancelled[1]);
    EXPECT(volt_sem_available(&sem) == back);
  }
};
MODEL(batch_x_cancel, 2, bounded)

// R7: permits come to the emptied queue's pool, and leave it, while the release is away.
struct batch_x_cancel_x_acquire : batch_model {
  int result = VOLT_ECANCELED;
  bool cancelled = false;
  batch_x_cancel_x_acquire() : batch_model(2) {
  }
  void thread(unsigned index) override {
    if (index == 0) volt_sem_release(&sem, 2);
    if (index == 1) cancelled = volt_sem_cancel(&sem, &w[1]);
    if (index == 2) result = volt_sem_acquire_waiter(&sem, &w[2], 1, woken[2].waker());
  }
  void check() override {
    bool third = result == VOLT_OK || (result == VOLT_PENDING && granted(&w[2]));
    uint32_t held = (has(0) ? 1u : 0u) + (granted(&w[1]) ? 1u : 0u) + (third ? 1u : 0u);
    EXPECT(volt_sem_available(&sem) + held == 2);
    EXPECT(third || granted(&w[1]));
    EXPECT(cancelled != granted(&w[1]));
  }
};
MODEL(batch_x_cancel_x_acquire, 3, bounded)

// R7: somebody queues for more than there is while a release is away, and is not the end of it.
struct batch_x_cancel_x_big_acquire : batch_model {
  bool was_cancelled = false;
  int result = VOLT_ECANCELED;
  batch_x_cancel_x_big_acquire() : batch_model(2) {
  }
  void thread(unsigned index) override {
    if (index == 0) volt_sem_release(&sem, 2);
    if (index == 1) {
      was_cancelled = volt_sem_cancel(&sem, &w[1]);
      if (was_cancelled) result = volt_sem_acquire_waiter(&sem, &w[2], 2, woken[2].waker());
    }
    if (index == 2) volt_sem_release(&sem, 1);
  }
  void check() override {
    EXPECT(has(0) && has(1) != was_cancelled);
    if (was_cancelled) EXPECT(result == VOLT_OK || has(2));
    EXPECT(volt_sem_available(&sem) == (was_cancelled ? 0u : 1u));
  }
};
MODEL(batch_x_cancel_x_big_acquire, 3, bounded)

// R7: the queue empties, and somebody else's permits lie in the pool when the release comes back.
struct batch_x_cancel_x_release : batch_model {
  bool was_cancelled = false;
  batch_x_cancel_x_release() : batch_model(2) {
  }
  void thread(unsigned index) override {
    if (index == 0) volt_sem_release(&sem, 2);
    if (index == 1) was_cancelled = volt_sem_cancel(&sem, &w[1]);
    if (index == 2) volt_sem_release(&sem, 1);
  }
  void check() override {
    EXPECT(has(0) && has(1) != was_cancelled);
    EXPECT(volt_sem_available(&sem) == (was_cancelled ? 2u : 1u));
  }
};
MODEL(batch_x_cancel_x_release, 3, bounded)

// R7: close comes back for everybody.
struct batch_close_x_cancel : batch_model {
  bool was_cancelled = false;
  batch_close_x_cancel() : batch_model(3) {
  }
  void thread(unsigned index) override {
    if (index == 0) volt_sem_close(&sem);
    if (index == 1) was_cancelled = volt_sem_cancel(&sem, &w[2]);
  }
  void check() override {
    for (unsigned i = 0; i < 3; i++) {
      bool gave_up = i == 2 && was_cancelled;
      EXPECT(volt_waiter_result(&w[i]) == (gave_up ? VOLT_ECANCELED : VOLT_ECLOSED));
      EXPECT(woken[i].seen() == (gave_up ? 0u : 1u));
    }
    EXPECT(volt_sem_is_closed(&sem) && volt_sem_waiters(&sem) == 0);
  }
};
MODEL(batch_close_x_cancel, 2, bounded)

// R7: permits that come once anybody has been told that it is closed go to the pool.
struct batch_close_x_release : batch_model {
  bool after = false;
  batch_close_x_release() : batch_model(2) {
  }
  void thread(unsigned index) override {
    if (index == 0) volt_sem_close(&sem);
    if (index == 1) {
      after = volt_waiter_result(&w[0]) == VOLT_ECLOSED;
      volt_sem_release(&sem, 1);
    }
  }
  void check() override {
    uint32_t held = (granted(&w[0]) ? 1u : 0u) + (granted(&w[1]) ? 1u : 0u);
    EXPECT(volt_sem_available(&sem) + held == 1);
    if (after) EXPECT(held == 0);
    EXPECT(woken[0].seen() == 1 && woken[1].seen() == 1);
  }
};
MODEL(batch_close_x_release, 2, bounded)

// R7: once anybody has been told that it is closed, nobody is queued any more.
struct batch_close_is_final : batch_model {
  int result = VOLT_ECLOSED;
  batch_close_is_final() : batch_model(2) {
  }
  void thread(unsigned index) override {
    if (index == 0) volt_sem_close(&sem);
    if (index == 1 && volt_waiter_result(&w[0]) == VOLT_ECLOSED) {
      result = volt_sem_acquire_waiter(&sem, &w[2], 1, woken[2].waker());
    }
  }
  void check() override {
    EXPECT(result == VOLT_ECLOSED && volt_sem_waiters(&sem) == 0);
  }
};
MODEL(batch_close_is_final, 2, full)

// R7: the last waiter gives up, destroys the semaphore and frees it while releases are away.
// destroy() waits until they are done with it.
struct destroy_model : model {
  volt_sem *sem;
  volt_waiter w[4];
  wake_count woken[4];

  explicit destroy_model(unsigned waiters) : sem(new volt_sem()) {
    for (unsigned i = 0; i < waiters; i++) {
      EXPECT(volt_sem_acquire_waiter(sem, &w[i], 1, woken[i].waker()) == VOLT_PENDING);
    }
  }
  void end() {
    volt_sem_destroy(sem);
    delete sem;
    sem = nullptr;
  }
  ~destroy_model() override {
    if (!sem) return;
    for (volt_waiter &waiter : w) ignore_result(volt_sem_cancel(sem, &waiter));
    end();
  }
};

struct batch_x_destroy : destroy_model {
  batch_x_destroy() : destroy_model(2) {
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_sem_release(sem, 2);
    } else if (granted(&w[0])) {
      ignore_result(volt_sem_cancel(sem, &w[1])); /* or it has the other permit */
      end();
    }
  }
};
MODEL(batch_x_destroy, 2, bounded)

// R2: a release comes back and finds its work done by another, and one waiter left; that one gives
// up, and it was the last user.
struct batch_comes_back_for_nothing : destroy_model {
  batch_comes_back_for_nothing() : destroy_model(4) {
  }
  void thread(unsigned index) override {
    if (index < 2) {
      volt_sem_release(sem, 2 - index);
    } else if (granted(&w[0]) && granted(&w[1]) && granted(&w[2])) {
      EXPECT(volt_sem_cancel(sem, &w[3])); /* all three permits are held */
      end();
    }
  }
};
MODEL(batch_comes_back_for_nothing, 3, bounded)

// Whoever takes the last permit destroys it, while the release that was away sleeps for the lock:
// destroy() must not swallow its wake.
struct batch_x_take_and_destroy : destroy_model {
  batch_x_take_and_destroy() : destroy_model(2) {
  }
  void thread(unsigned index) override {
    if (index < 2) {
      volt_sem_release(sem, 2 - index);
    } else if (volt_sem_try_acquire(sem, 1) == VOLT_OK) {
      end(); /* both waiters have theirs, and this is the third */
    }
  }
};
MODEL(batch_x_take_and_destroy, 3, bounded)

struct batch_x_batch_x_destroy : destroy_model {
  batch_x_batch_x_destroy() : destroy_model(3) {
  }
  void thread(unsigned index) override {
    if (index < 2) {
      volt_sem_release(sem, 2);
    } else if (granted(&w[0]) && granted(&w[1]) && volt_sem_cancel(sem, &w[2])) {
      if (volt_sem_available(sem) == 2) end(); /* that is all of both */
    }
  }
};
MODEL(batch_x_batch_x_destroy, 3, bounded)

// R7: a writer's unlock is away, with permits left to give; readers come and go meanwhile, and are
// not taken for somebody who unlocks what a writer holds.
struct batch_readers_x_cancel : model {
  volt_rwlock rw;
  volt_waiter w[2];
  wake_count woken[2];
  bool left = false;

  batch_readers_x_cancel() {
    volt_rwlock_init(&rw);
    EXPECT(volt_rwlock_try_write(&rw) == VOLT_OK);
    for (unsigned i = 0; i < 2; i++) {
      EXPECT(volt_rwlock_read_waiter(&rw, &w[i], woken[i].waker()) == VOLT_PENDING);
    }
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_rwlock_write_unlock(&rw);
      return;
    }
    if (!volt_rwlock_cancel(&rw, &w[1])) volt_rwlock_read_unlock(&rw);
    left = granted(&w[0]);
    if (left) volt_rwlock_read_unlock(&rw);
  }
  void check() override {
    EXPECT(volt_rwlock_readers(&rw) == (left ? 0u : 1u));
  }
};
MODEL(batch_readers_x_cancel, 2, bounded)

// R7: a try takes a permit that is there while nobody waits, whatever a release on its way back
// does.
struct batch_x_try : batch_model {
  bool taken = false, alone = false;
  batch_x_try() : batch_model(2) {
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_sem_release(&sem, 2);
      return;
    }
    alone = granted(&w[0]) && volt_sem_cancel(&sem, &w[1]);
    if (!alone) return;
    volt_sem_release(&sem, 1);
    taken = volt_sem_try_acquire(&sem, 1) == VOLT_OK;
  }
  void check() override {
    EXPECT(taken == alone);
    EXPECT(volt_sem_available(&sem) == (alone ? 1u : 0u));
  }
};
MODEL(batch_x_try, 2, bounded)

// The same for a reader, when all readers but one that gave up have been admitted.
struct batch_x_try_read : model {
  volt_rwlock rw;
  volt_waiter w[2];
  wake_count woken[2];

  batch_x_try_read() {
    volt_rwlock_init(&rw);
    EXPECT(volt_rwlock_try_write(&rw) == VOLT_OK);
    for (unsigned i = 0; i < 2; i++) {
      EXPECT(volt_rwlock_read_waiter(&rw, &w[i], woken[i].waker()) == VOLT_PENDING);
    }
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_rwlock_write_unlock(&rw);
    } else if (granted(&w[0]) && volt_rwlock_cancel(&rw, &w[1])) {
      EXPECT(volt_rwlock_readers(&rw) == 1);
      EXPECT(volt_rwlock_try_read(&rw) == VOLT_OK);
      EXPECT(volt_rwlock_try_write(&rw) == VOLT_EAGAIN);
    }
  }
};
MODEL(batch_x_try_read, 2, full)

// The same for a writer, when they have all left again.
struct batch_x_try_write : batch_x_try_read {
  void thread(unsigned index) override {
    if (index == 0) {
      volt_rwlock_write_unlock(&rw);
    } else if (granted(&w[0]) && volt_rwlock_cancel(&rw, &w[1])) {
      volt_rwlock_read_unlock(&rw);
      EXPECT(volt_rwlock_try_write(&rw) == VOLT_OK);
      volt_rwlock_write_unlock(&rw);
    }
  }
};
MODEL(batch_x_try_write, 2, bounded)

// R7: a close meets a release that is away.
struct batch_x_close : batch_model {
  batch_x_close() : batch_model(3) {
  }
  void thread(unsigned index) override {
    if (index == 0) volt_sem_release(&sem, 2);
    if (index == 1) volt_sem_close(&sem);
  }
  void check() override {
    uint32_t held = 0;
    for (unsigned i = 0; i < 3; i++) {
      EXPECT(volt_waiter_result(&w[i]) != VOLT_PENDING && woken[i].seen() == 1);
      held += granted(&w[i]) ? 1 : 0;
    }
    EXPECT(volt_sem_available(&sem) + held == 2 && volt_sem_is_closed(&sem));
  }
};
MODEL(batch_x_close, 2, bounded)

// R2: the classic: whoever gets the only permit frees the semaphore, while the release is on its
// way out; here the release also meets a waiter that gives up.
struct release_x_free : destroy_model {
  release_x_free() : destroy_model(1) {
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_sem_release(sem, 1);
      return;
    }
    if (volt_sem_cancel(sem, &w[0])) {
      EXPECT(volt_sem_acquire(sem, 1) == VOLT_OK);
    }
    end();
  }
};
MODEL(release_x_free, 2, bounded)

// The same without anybody queued in between, by try, and without destroy().
struct release_x_try_and_free : destroy_model {
  release_x_try_and_free() : destroy_model(1) {
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_sem_release(sem, 1);
    } else if (!volt_sem_cancel(sem, &w[0]) || volt_sem_try_acquire(sem, 1) == VOLT_OK) {
      poison(&sem->queue);
      delete sem;
      sem = nullptr;
    }
  }
};
MODEL(release_x_try_and_free, 2, full)

// R3: a waiter is gone as soon as its owner sees the grant.
struct waiter_freed_at_grant : batch_model {
  volt_waiter *mine = new volt_waiter;
  waiter_freed_at_grant() : batch_model(0) {
    EXPECT(volt_sem_acquire_waiter(&sem, mine, 1, woken[0].waker()) == VOLT_PENDING);
  }
  void free_if_granted() {
    if (!granted(mine)) return;
    delete mine;
    mine = nullptr;
  }
  void thread(unsigned index) override {
    if (index == 0) free_if_granted();
    if (index == 1) volt_sem_release(&sem, 1);
  }
  void check() override {
    if (mine) free_if_granted();
    EXPECT(!mine && woken[0].seen() == 1);
  }
};
MODEL(waiter_freed_at_grant, 2, full)
