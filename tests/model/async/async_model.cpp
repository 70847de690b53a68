// async_model: a function that waits may be dropped, cancelled, moved and blocked on at any moment:
// what it awaits is given back, and its end is run once. async.c; future.c I1; select.c R1 within.
// PROGRAM: library
#include "poller.hpp"

// Locks a mutex, adds to what it guards, unlocks.
struct adder {
  volt_async async;
  volt_future lock;
  volt_mutex mutex;
  VOLT_PLAIN(int) data;
  unsigned ends;
  adder() : ends(0) {
    volt_mutex_init(&mutex);
    volt_future_made(volt_async_future(&async, run));
  }

 private:
  static int run(volt_async *a, volt_ctx *ctx) {
    adder *self = volt_container_of(a, adder, async);
    VOLT_ASYNC_BEGIN(self);
    VOLT_AWAIT(self, volt_mutex_lock_future(&self->lock, &self->mutex));
    self->data += 1;
    volt_mutex_unlock(&self->mutex);
    VOLT_FINALLY(self);
    self->ends += 1;
    VOLT_ASYNC_END(self);
  }
};

// It waits for a lock that somebody holds, for a poller that is gone.
struct async_model : model {
  adder work;
  poller::trace first;
  wake_count second;

  async_model() {
    EXPECT(volt_mutex_try_lock(&work.mutex) == VOLT_OK);
  }
  void poll_first() {
    poller *p = new poller(&first);
    EXPECT(p->poll(&work.async.future) == VOLT_PENDING);
    EXPECT(p->end() == 1);
  }
  // The holder's end.
  void unlock() {
    work.data = 10;
    volt_mutex_unlock(&work.mutex);
  }
  void expect_free() {
    EXPECT(!volt_mutex_is_locked(&work.mutex));
    EXPECT(work.ends == 1);
  }
};

// Dropped while the lock is handed to it: the mutex ends free, and its poller is settled.
struct async_drop_x_unlock : async_model {
  async_drop_x_unlock() {
    poll_first();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_future_cancel(&work.async.future);
      poison(&work.lock.waiter);
    } else {
      unlock();
    }
  }
  void check() override {
    expect_free();
    EXPECT(work.data == 10);
    EXPECT(first.gone(1));
    EXPECT(volt_future_poll(&work.async.future, second.waker()) == VOLT_ECANCELED);
  }
};
MODEL(async_drop_x_unlock, 2, full)

// The same beside a thread that waits behind it and must get the lock.
struct async_drop_x_waiter : async_model {
  volt_waiter w;
  async_drop_x_waiter() {
    EXPECT(volt_future_poll(&work.async.future, volt_waker{nullptr, nullptr}) == VOLT_PENDING);
    EXPECT(volt_mutex_lock_waiter(&work.mutex, &w, second.waker()) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_future_cancel(&work.async.future);
      poison(&work.lock.waiter);
    } else {
      unlock();
    }
  }
  void check() override {
    EXPECT(granted(&w) && second.seen() == 1);
    EXPECT(volt_mutex_is_locked(&work.mutex) && work.ends == 1);
  }
};
MODEL(async_drop_x_waiter, 2, full)

// Polled by another poller as the lock comes: it has run, or that poller is woken and it runs then.
struct async_move_x_unlock : async_model {
  poller::trace moved;
  poller *after = new poller(&moved);
  int result = VOLT_PENDING;
  async_move_x_unlock() {
    poll_first();
  }
  void thread(unsigned index) override {
    if (index == 1) {
      unlock();
      return;
    }
    result = after->poll(&work.async.future);
    EXPECT(after->end() == (result == VOLT_PENDING ? 1u : 0u));
  }
  void check() override {
    EXPECT(result == VOLT_OK ? first.gone(1, 0) && moved.gone(0, 0)
                             : first.gone(0, 1) && moved.gone(1, 0));
    EXPECT(volt_future_poll(&work.async.future, second.waker()) == VOLT_OK);
    EXPECT(work.data == 11);
    expect_free();
  }
};
MODEL(async_move_x_unlock, 2, bounded)

// A thread blocks on it; the deadline passes at any moment.
struct block_on_async_deadline : async_model {
  int result = VOLT_PENDING;
  void thread(unsigned index) override {
    if (index == 0) {
      result = volt_future_wait_until(&work.async.future, 1);
      poison(&work.lock.waiter);
    } else {
      unlock();
    }
  }
  void check() override {
    expect_free();
    EXPECT(result == VOLT_OK || result == VOLT_ETIMEDOUT);
    EXPECT(work.data == (result == VOLT_OK ? 11 : 10));
  }
};
MODEL(block_on_async_deadline, 2, bounded)

// ---- more than one await ----

// Takes a permit of either of two semaphores, and at its end, whatever came, one of a third.
struct picker {
  volt_async async;
  volt_sem sem[3];
  volt_future either[2], last;
  volt_future *branches[2];
  volt_select select;
  int picked;
  unsigned ends;
  picker() : picked(VOLT_PENDING), ends(0) {
    for (volt_sem &s : sem) volt_sem_init(&s, 0);
    volt_future_made(volt_async_future(&async, run));
  }

 private:
  static int run(volt_async *a, volt_ctx *ctx) {
    picker *self = volt_container_of(a, picker, async);
    VOLT_ASYNC_BEGIN(self);
    for (unsigned i = 0; i < 2; i++) {
      self->branches[i] = volt_sem_acquire_future(&self->either[i], &self->sem[i], 1);
    }
    VOLT_AWAIT_RESULT(self, self->picked,
                      volt_select_future(&self->select, self->branches, 2, VOLT_SELECT_BIASED));
    if (self->picked != VOLT_OK) VOLT_RETURN(self, self->picked);
    volt_sem_release(&self->sem[volt_select_winner(&self->select)], 1);
    VOLT_FINALLY(self);
    VOLT_AWAIT(self, volt_sem_acquire_future(&self->last, &self->sem[2], 1));
    self->ends += 1;
    VOLT_ASYNC_END(self);
  }
};

struct picker_model : model {
  picker work;
  poller::trace first;
  wake_count second;
  int result = VOLT_PENDING;
  picker_model() {
    poller *p = new poller(&first);
    EXPECT(p->poll(&work.async.future) == VOLT_PENDING);
    EXPECT(p->end() == 2);
  }
  void expect_given_back() {
    EXPECT(volt_sem_available(&work.sem[0]) == 0 && volt_sem_available(&work.sem[1]) == 1);
    EXPECT(first.gone(2));
  }
};

// Dropped: no await waits, its last one neither, and no grant stays with it.
struct async_drop_select_x_grant : picker_model {
  void thread(unsigned index) override {
    if (index == 0) {
      volt_future_cancel(&work.async.future);
      for (volt_future &f : work.either) poison(&f.waiter);
    } else {
      volt_sem_release(&work.sem[1], 1);
    }
  }
  void check() override {
    EXPECT(work.picked == VOLT_ECANCELED && work.ends == 0);
    EXPECT(volt_sem_waiters(&work.sem[2]) == 0);
    expect_given_back();
  }
};
MODEL(async_drop_select_x_grant, 2, bounded)

// Its poller is cancelled, once: the await that it stands at ends, and the one at its end waits.
struct async_cancel_once_x_grant : picker_model {
  poller::trace again;
  poller *after = new poller(&again);
  uint32_t owed = 0;
  void thread(unsigned index) override {
    if (index == 1) {
      volt_sem_release(&work.sem[1], 1);
      volt_sem_release(&work.sem[2], 1);
      return;
    }
    after->ctx.cancel = VOLT_CTX_CANCEL_ONCE;
    result = after->poll(&work.async.future);
    EXPECT(after->ctx.cancel == VOLT_CTX_GO_ON);
    owed = after->end();
  }
  void check() override {
    EXPECT(work.picked == VOLT_ECANCELED);
    EXPECT(result == VOLT_PENDING ? owed == 1 : result == VOLT_ECANCELED && owed == 0);
    EXPECT(again.gone(owed, 0));
    EXPECT(volt_future_poll(&work.async.future, second.waker()) == VOLT_ECANCELED);
    EXPECT(work.ends == 1 && volt_sem_available(&work.sem[2]) == 0);
    expect_given_back();
  }
};
MODEL(async_cancel_once_x_grant, 2, bounded)
