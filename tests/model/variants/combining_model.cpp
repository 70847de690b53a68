// combining_model: what only variants/combining has: the inbox, and permits left to the combiner.
// Checks combine.c I1 to I5 and R1 to R7; the comment of a case names its race.
// PROGRAM: combining MUTANTS
#include "combining.h"
#include "model.hpp"

// Only the combiner sees what is on the inbox. A waiter that is forgotten there, or a permit that
// lies beside a sleeper, shows in a waiter that was not granted.
struct combining_model : model {
  volt_combining_sem sem;
  volt_waiter w[5];
  wake_count woken[5];
  int result[5];

  explicit combining_model(uint32_t permits) {
    for (int &r : result) r = VOLT_ECANCELED;
    volt_combining_sem_init(&sem, permits);
  }

  // I5: no thread has still to lower DIRTY.
  ~combining_model() override {
    EXPECT((volt_load_relaxed(&sem.word) & VOLT_COMBINING_BUSY_) == 0);
    EXPECT(volt_load_relaxed(&sem.word) >> 40 == 0);
    EXPECT(volt_load_relaxed(&sem.inbox) == nullptr);
  }

  int acquire(unsigned i, uint32_t n) {
    return result[i] = volt_combining_sem_acquire_waiter(&sem, &w[i], n, woken[i].waker());
  }

  bool cancel(unsigned i) {
    if (!volt_combining_sem_cancel(&sem, &w[i])) {
      EXPECT(granted(&w[i]));
      return false;
    }
    poison(&w[i]);
    EXPECT(volt_waiter_result(&w[i]) == VOLT_ECANCELED);
    result[i] = VOLT_ECANCELED;
    return true;
  }

  bool has(unsigned i) {
    if (result[i] != VOLT_PENDING) return result[i] == VOLT_OK;
    EXPECT(woken[i].seen() == (granted(&w[i]) ? 1u : 0u));
    return granted(&w[i]);
  }

  uint32_t available() {
    return volt_combining_sem_available(&sem);
  }
};

// R1, R2, P1: two threads push while a third works on the FIFO. Both waiters must be found.
struct two_pushers : combining_model {
  two_pushers() : combining_model(0) {
    acquire(0, 1);
  }
  void thread(unsigned index) override {
    if (index == 2) {
      volt_combining_sem_release(&sem, 1);
    } else {
      acquire(index + 1, 1);
    }
  }
  void check() override {
    EXPECT(has(0) && !has(1) && !has(2));
    EXPECT(volt_combining_sem_waiters(&sem) == 2 && available() == 0);
    volt_combining_sem_release(&sem, 2);
    EXPECT(has(1) && has(2));
  }
};
MODEL(two_pushers, 3, bounded)

// P1, P2: a waiter that is found because another one was announced is seen as its owner wrote it.
struct two_pushers_x_two_permits : combining_model {
  two_pushers_x_two_permits() : combining_model(0) {
    acquire(0, 1);
  }
  void thread(unsigned index) override {
    if (index == 2) {
      volt_combining_sem_release(&sem, 3);
    } else {
      acquire(index + 1, 1);
    }
  }
  void check() override {
    EXPECT(has(0) && has(1) && has(2) && available() == 0);
  }
};
MODEL(two_pushers_x_two_permits, 3, bounded)

// docs/errata.md, E15: the waiter that was pushed first is served first.
struct inbox_is_fifo : combining_model {
  inbox_is_fifo() : combining_model(0) {
    acquire(0, 1);
  }
  void thread(unsigned index) override {
    if (index == 0) volt_combining_sem_release(&sem, 1);
    if (index == 1) {
      acquire(1, 1);
      acquire(2, 1);
      volt_combining_sem_release(&sem, 1);
    }
  }
  void check() override {
    EXPECT(has(0) && has(1) && !has(2));
  }
};
MODEL(inbox_is_fifo, 2, bounded)

// R1: a release finds BUSY and leaves its permits: they are served, and carry their past.
struct permits_left : combining_model {
  VOLT_PLAIN(int) message[2];
  permits_left() : combining_model(0) {
    acquire(0, 1);
    acquire(1, 1);
  }
  void thread(unsigned index) override {
    if (index == 2) {
      if (granted(&w[0]) && granted(&w[1])) EXPECT(message[0] == 1 && message[1] == 1);
      return;
    }
    message[index] = 1;
    volt_combining_sem_release(&sem, 1);
  }
  void check() override {
    EXPECT(has(0) && has(1) && available() == 0);
  }
};
MODEL(permits_left, 3, bounded)

// I2: permits are left while a waiter queues for more than there is; the surplus becomes free.
struct permits_left_to_acquirer : combining_model {
  permits_left_to_acquirer() : combining_model(1) {
  }
  void thread(unsigned index) override {
    if (index == 0) {
      acquire(0, 2);
    } else {
      volt_combining_sem_release(&sem, index);
    }
  }
  void check() override {
    EXPECT(has(0) && available() == 2);
  }
};
MODEL(permits_left_to_acquirer, 3, bounded)

// R4: cancel while the waiter may still be on the inbox, beside a combiner.
struct cancel_on_inbox : combining_model {
  bool was_cancelled = false;
  cancel_on_inbox() : combining_model(0) {
    acquire(0, 1);
  }
  void thread(unsigned index) override {
    if (index == 0) volt_combining_sem_release(&sem, 2);
    if (index == 1 && acquire(1, 1) == VOLT_PENDING) was_cancelled = cancel(1);
  }
  void check() override {
    EXPECT(has(0) && has(1) != was_cancelled);
    EXPECT(available() == (was_cancelled ? 1u : 0u));
  }
};
MODEL(cancel_on_inbox, 2, bounded)

// R4, R6: the same beside another pusher. A cancelled waiter is its owner's again, which poisons
// it.
struct cancel_on_inbox_x_push : combining_model {
  bool was_cancelled = false;
  cancel_on_inbox_x_push() : combining_model(0) {
    acquire(0, 1);
  }
  void thread(unsigned index) override {
    if (index == 0) volt_combining_sem_release(&sem, 1);
    if (index == 1 && acquire(1, 1) == VOLT_PENDING) was_cancelled = cancel(1);
    if (index == 2) acquire(2, 1);
  }
  void check() override {
    EXPECT(has(0) && was_cancelled && !has(2));
    EXPECT(volt_combining_sem_waiters(&sem) == 1);
  }
};
MODEL(cancel_on_inbox_x_push, 3, bounded)

// R4: a new waker while the waiter may still be on the inbox: one of the two is called, once.
struct set_waker_on_inbox : combining_model {
  wake_count second;
  bool replaced = false;
  set_waker_on_inbox() : combining_model(0) {
    acquire(0, 1);
  }
  void thread(unsigned index) override {
    if (index == 0) volt_combining_sem_release(&sem, 2);
    if (index == 1 && acquire(1, 1) == VOLT_PENDING) {
      replaced = volt_combining_sem_set_waker(&sem, &w[1], second.waker());
      if (!replaced) EXPECT(granted(&w[1]));
    }
  }
  void check() override {
    bool queued = result[1] == VOLT_PENDING;
    EXPECT(granted(&w[0]) && available() == 0);
    EXPECT(woken[1].seen() == (queued && !replaced ? 1u : 0u));
    EXPECT(second.seen() == (replaced ? 1u : 0u));
  }
};
MODEL(set_waker_on_inbox, 2, bounded)

// R4: the same beside another pusher.
struct set_waker_on_inbox_x_push : combining_model {
  wake_count second;
  bool replaced = false;
  set_waker_on_inbox_x_push() : combining_model(0) {
    acquire(0, 1);
  }
  void thread(unsigned index) override {
    if (index == 0) volt_combining_sem_release(&sem, 3);
    if (index == 1 && acquire(1, 1) == VOLT_PENDING) {
      replaced = volt_combining_sem_set_waker(&sem, &w[1], second.waker());
    }
    if (index == 2) acquire(2, 1);
  }
  void check() override {
    bool queued = result[1] == VOLT_PENDING;
    EXPECT(granted(&w[0]) && has(2) && available() == 0);
    EXPECT(woken[1].seen() == (queued && !replaced ? 1u : 0u));
    EXPECT(second.seen() == (replaced ? 1u : 0u));
  }
};
MODEL(set_waker_on_inbox_x_push, 3, bounded)

// R4: requests are answered before any waker runs, because a waker may wait for the thread that
// asked.
struct answered_before_wakes : combining_model {
  volt_parker gate;
  answered_before_wakes() : combining_model(0) {
    volt_waker waits = {wait_at_gate, this};
    EXPECT(volt_combining_sem_acquire_waiter(&sem, &w[0], 1, waits) == VOLT_PENDING);
    acquire(1, 1);
  }
  static void wait_at_gate(void *ctx) {
    if (volt_model_thread() != 0) return; // the thread that cancels: it cannot wait for itself
    volt_park_until(&static_cast<answered_before_wakes *>(ctx)->gate, 1, VOLT_NO_DEADLINE);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_combining_sem_release(&sem, 1);
    } else {
      EXPECT(cancel(1));
      volt_unpark(&gate);
    }
  }
  void check() override {
    EXPECT(granted(&w[0]) && available() == 0);
  }
};
MODEL(answered_before_wakes, 2, bounded)

// R5: what a thread has released is there for its own try, also if another thread is the combiner.
struct release_then_try : combining_model {
  bool taken = false;
  release_then_try() : combining_model(0) {
    acquire(0, 1);
  }
  void thread(unsigned index) override {
    volt_combining_sem_release(&sem, index + 1);
    if (index == 1) taken = volt_combining_sem_try_acquire(&sem, 1) == VOLT_OK;
  }
  void check() override {
    EXPECT(has(0) && taken && available() == 1);
  }
};
MODEL(release_then_try, 2, bounded)

// R5: the same for an inspection.
struct release_then_look : combining_model {
  release_then_look() : combining_model(0) {
    acquire(0, 1);
  }
  void thread(unsigned index) override {
    volt_combining_sem_release(&sem, 1);
    if (index == 1) {
      EXPECT(volt_combining_sem_waiters(&sem) == 0);
      EXPECT(available() <= 1);
    }
  }
  void check() override {
    EXPECT(has(0) && available() == 1);
  }
};
MODEL(release_then_look, 2, bounded)

// R5: a waiter whose permit was released before its cancel began is granted.
struct release_then_cancel : combining_model {
  bool was_cancelled = false;
  release_then_cancel() : combining_model(0) {
    acquire(0, 1);
    acquire(1, 1);
  }
  void thread(unsigned index) override {
    volt_combining_sem_release(&sem, 1);
    if (index == 1) {
      volt_combining_sem_release(&sem, 1);
      was_cancelled = cancel(1);
    }
  }
  void check() override {
    EXPECT(!was_cancelled && has(0) && has(1) && available() == 1);
  }
};
MODEL(release_then_cancel, 2, bounded)

// R5, N2: the answer to a request that was found before it was announced counts what its thread had
// released.
struct release_then_cancel_x_push : combining_model {
  bool was_cancelled = false;
  release_then_cancel_x_push() : combining_model(0) {
    acquire(0, 2);
  }
  void thread(unsigned index) override {
    if (index == 0) volt_combining_sem_release(&sem, 1);
    if (index == 1) {
      volt_combining_sem_release(&sem, 1);
      volt_combining_sem_release(&sem, 1);
      was_cancelled = cancel(0);
    }
    if (index == 2) acquire(1, 2);
  }
  void check() override {
    EXPECT(!was_cancelled && has(0) && !has(1));
  }
};
MODEL(release_then_cancel_x_push, 3, bounded)

// R5, R7: five permits for three waiters, in batches of two. The rest is served by the thread that
// comes back, or by one that comes meanwhile; what is left then is there for a try.
struct full_batch : combining_model {
  bool taken = false;
  full_batch() : combining_model(0) {
    for (unsigned i = 0; i < 3; i++) acquire(i, 1);
  }
  void thread(unsigned index) override {
    if (index == 0) volt_combining_sem_release(&sem, 1);
    if (index == 1) {
      volt_combining_sem_release(&sem, 4);
      taken = volt_combining_sem_try_acquire(&sem, 1) == VOLT_OK;
    }
  }
  void check() override {
    EXPECT(has(0) && has(1) && has(2) && taken && available() == 1);
  }
};
MODEL(full_batch, 2, bounded)

// R7: no other thread serves the rest.
struct full_batch_x_try : combining_model {
  full_batch_x_try() : combining_model(0) {
    for (unsigned i = 0; i < 3; i++) acquire(i, 1);
  }
  void thread(unsigned index) override {
    if (index == 0) volt_combining_sem_release(&sem, 3);
    if (index == 1) EXPECT(volt_combining_sem_try_acquire(&sem, 1) == VOLT_EAGAIN);
  }
  void check() override {
    EXPECT(has(0) && has(1) && has(2) && available() == 0);
  }
};
MODEL(full_batch_x_try, 2, bounded)

// R7, L1: two threads have a full batch, one after the other, and both come back.
struct two_full_batches : combining_model {
  two_full_batches() : combining_model(0) {
    for (unsigned i = 0; i < 5; i++) acquire(i, 1);
  }
  void thread(unsigned index) override {
    volt_combining_sem_release(&sem, index == 0 ? 3 : 2);
  }
  void check() override {
    for (unsigned i = 0; i < 5; i++) EXPECT(has(i));
    EXPECT(available() == 0);
  }
};
MODEL(two_full_batches, 2, bounded)

// R7: while the release wakes its batch, other operations meet the rest: a cancel, then a newcomer.
struct full_batch_x_cancel : combining_model {
  bool was_cancelled = false;
  full_batch_x_cancel() : combining_model(0) {
    for (unsigned i = 0; i < 3; i++) acquire(i, 1);
  }
  void thread(unsigned index) override {
    if (index == 0) volt_combining_sem_release(&sem, 3);
    if (index == 1) was_cancelled = cancel(2);
    if (index == 2) acquire(3, 1);
  }
  void check() override {
    EXPECT(has(0) && has(1) && has(2) != was_cancelled);
    EXPECT(has(3) == was_cancelled && available() == 0);
  }
};
MODEL(full_batch_x_cancel, 3, bounded)

// R7: a close meets a full batch, and has a full batch itself.
struct full_batch_x_close : combining_model {
  full_batch_x_close() : combining_model(0) {
    for (unsigned i = 0; i < 4; i++) acquire(i, 1);
  }
  void thread(unsigned index) override {
    if (index == 0) volt_combining_sem_release(&sem, 3);
    if (index == 1) volt_combining_sem_close(&sem);
  }
  void check() override {
    uint32_t held = 0;
    for (unsigned i = 0; i < 4; i++) {
      EXPECT(volt_waiter_result(&w[i]) != VOLT_PENDING && woken[i].seen() == 1);
      held += granted(&w[i]) ? 1 : 0;
    }
    EXPECT(available() + held == 3 && volt_combining_sem_is_closed(&sem));
  }
};
MODEL(full_batch_x_close, 2, bounded)

// X1, U1: a close that is left to a combiner carries its past to the waiters that it completes.
struct close_left : combining_model {
  VOLT_PLAIN(int) message;
  close_left() : combining_model(0) {
    acquire(0, 1);
    acquire(1, 1);
  }
  void thread(unsigned index) override {
    if (index == 0) volt_combining_sem_release(&sem, 1);
    if (index == 1) {
      message = 1;
      volt_combining_sem_close(&sem);
    }
    if (index == 2 && volt_waiter_result(&w[1]) == VOLT_ECLOSED) EXPECT(message == 1);
  }
  void check() override {
    EXPECT(volt_waiter_result(&w[1]) == VOLT_ECLOSED && woken[1].seen() == 1);
    EXPECT(available() == (granted(&w[0]) ? 0u : 1u));
  }
};
MODEL(close_left, 3, bounded)

// R3: the semaphore is in memory that is really freed.
struct combining_end : model {
  volt_combining_sem *sem;
  volt_waiter w[2];
  VOLT_ATOMIC(uint32_t) ends, gone;

  combining_end() : sem(new volt_combining_sem()) {
    volt_combining_sem_init(sem, 0);
  }
  ~combining_end() override {
    EXPECT(volt_load_relaxed(&ends) == 1);
  }
  static void end(void *ctx) {
    combining_end *self = static_cast<combining_end *>(ctx);
    volt_fetch_add_relaxed(&self->ends, 1);
    volt_combining_sem_destroy(self->sem);
    self->sem->fifo.head = nullptr; // a thread that still reads it is reported
    delete self->sem;
  }
};

// R3: two waiters are pushed; both are found because one was announced, and granted what a third
// one gives back by its cancel. The second waker destroys the semaphore before the other pusher has
// lowered DIRTY.
struct pushed_granted_destroyed : combining_end {
  volt_waiter other;
  pushed_granted_destroyed() {
    volt_combining_sem_release(sem, 2);
    EXPECT(volt_combining_sem_acquire_waiter(sem, &w[0], 3, volt_waker{nullptr, nullptr}) ==
           VOLT_PENDING);
  }
  // The last of the three threads ends it.
  static void one_less(void *ctx) {
    combining_end *self = static_cast<combining_end *>(ctx);
    if (volt_fetch_add_acq_rel(&self->gone, 1) == 2) end(ctx);
  }
  void thread(unsigned index) override {
    volt_waker waker = {one_less, this};
    if (index == 0) {
      EXPECT(volt_combining_sem_cancel(sem, &w[0]));
      one_less(this);
    } else {
      volt_waiter *mine = index == 1 ? &w[1] : &other;
      if (volt_combining_sem_acquire_waiter(sem, mine, 1, waker) == VOLT_OK) one_less(this);
    }
  }
};
MODEL(pushed_granted_destroyed, 3, bounded)

// R7, D1: the same with a thread that comes back from a full batch, while the third waiter is
// cancelled or granted.
struct batch_granted_destroyed : combining_end {
  volt_waiter more;
  batch_granted_destroyed() {
    volt_waker none = {nullptr, nullptr};
    EXPECT(volt_combining_sem_acquire_waiter(sem, &w[0], 1, none) == VOLT_PENDING);
    EXPECT(volt_combining_sem_acquire_waiter(sem, &w[1], 1, none) == VOLT_PENDING);
    EXPECT(volt_combining_sem_acquire_waiter(sem, &more, 1, none) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_combining_sem_release(sem, 3);
    } else {
      if (volt_combining_sem_cancel(sem, &more)) {
        EXPECT(volt_combining_sem_acquire_until(sem, 1, VOLT_NO_DEADLINE) == VOLT_OK);
      }
      end(this);
    }
  }
};
MODEL(batch_granted_destroyed, 2, bounded)
