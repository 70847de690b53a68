// cond_model: a condition variable and its mutex.
// Checks cond.c I2, I4 and R1-R6; a case names the race it is after.
// PROGRAM: monitors
#include "model.hpp"

struct cond_model : model {
  volt_cond cond;
  volt_mutex mutex;
  volt_waiter w[3];
  wake_count woken[3];
  VOLT_PLAIN(uint32_t) guarded; // by the mutex

  cond_model() {
    volt_cond_init(&cond);
    volt_mutex_init(&mutex);
  }
  void lock() {
    EXPECT(volt_mutex_lock_until(&mutex, VOLT_NO_DEADLINE) == VOLT_OK);
  }
  void unlock() {
    volt_mutex_unlock(&mutex);
  }
  // In the constructor: waiter i waits.
  void queue(unsigned i) {
    lock();
    wait(i);
  }
  void wait(unsigned i) {
    EXPECT(volt_cond_wait_waiter(&cond, &mutex, &w[i], woken[i].waker()) == VOLT_PENDING);
  }
  // Waiter i has the mutex, was woken once; it leaves.
  void use(unsigned i) {
    EXPECT(granted(&w[i]) && woken[i].seen() == 1);
    guarded += 1;
    unlock();
  }
  // At quiescence: one after the other has had the mutex; it is free, and nobody waits.
  void expect_over() {
    EXPECT(!volt_mutex_is_locked(&mutex));
    EXPECT(volt_mutex_waiters(&mutex) == 0 && volt_cond_waiters(&cond) == 0);
  }
};

// R1, R2: wait until it is so; whoever makes it so signals with the mutex held, or not.
struct cond_wait_x_signal : cond_model {
  bool waited = false;
  void thread(unsigned index) override {
    lock();
    if (index == 0) {
      if (guarded == 0) {
        waited = true;
        wait(0);
      } else {
        unlock();
      }
    } else {
      guarded = 1;
      volt_cond_signal(&cond);
      unlock();
    }
  }
  void check() override {
    if (waited) use(0);
    expect_over();
  }
};
MODEL(cond_wait_x_signal, 2, bounded)

struct cond_wait_x_signal_later : cond_model {
  bool waited = false;
  void thread(unsigned index) override {
    lock();
    if (index == 0) {
      if (guarded == 0) {
        waited = true;
        wait(0);
      } else {
        unlock();
      }
    } else {
      guarded = 1;
      unlock();
      volt_cond_signal(&cond);
    }
  }
  void check() override {
    if (waited) use(0);
    expect_over();
  }
};
MODEL(cond_wait_x_signal_later, 2, bounded)

// The threads block.
struct cond_blocking_x_broadcast : cond_model {
  void thread(unsigned index) override {
    lock();
    if (index == 0) {
      guarded = 1;
      volt_cond_broadcast(&cond);
    } else {
      while (guarded == 0) {
        EXPECT(volt_cond_wait(&cond, &mutex) == VOLT_OK);
      }
      guarded += 1;
    }
    unlock();
  }
  void check() override {
    EXPECT(guarded == 3);
    expect_over();
  }
};
MODEL(cond_blocking_x_broadcast, 3, bounded)

// I4: the mutex is unlocked while a signal brings somebody: one of the two grants it.
struct cond_signal_x_unlock : cond_model {
  cond_signal_x_unlock() {
    queue(0);
    lock();
  }
  void thread(unsigned index) override {
    if (index == 0) volt_cond_signal(&cond);
    if (index == 1) {
      guarded += 1;
      unlock();
    }
  }
  void check() override {
    use(0);
    expect_over();
  }
};
MODEL(cond_signal_x_unlock, 2, full)

// Exclusion: others lock while the waiter gets it from a signal.
struct cond_signal_x_lock : cond_model {
  cond_signal_x_lock() {
    queue(0);
  }
  void thread(unsigned index) override {
    if (index == 0) volt_cond_signal(&cond);
    if (index == 1 && volt_mutex_try_lock(&mutex) == VOLT_OK) {
      guarded += 1;
      unlock();
    }
    if (index == 2 && granted(&w[0])) guarded += 1;
  }
  void check() override {
    use(0);
    expect_over();
  }
};
MODEL(cond_signal_x_lock, 3, bounded)

// R3: the outcome of a cancel is true, and the signal goes to the next.
struct cond_signal_x_cancel : cond_model {
  bool was_cancelled = false;
  cond_signal_x_cancel() {
    queue(0);
    queue(1);
  }
  void thread(unsigned index) override {
    if (index == 0) volt_cond_signal(&cond);
    if (index == 1) {
      was_cancelled = volt_cond_cancel(&cond, &w[0]);
      if (!was_cancelled) {
        EXPECT(granted(&w[0]));
        guarded += 1;
        unlock();
      }
      poison(&w[0]);
    }
  }
  void check() override {
    EXPECT(woken[0].seen() == (was_cancelled ? 0u : 1u));
    if (was_cancelled) use(1);
    if (!was_cancelled) EXPECT(volt_cond_cancel(&cond, &w[1]) && woken[1].seen() == 0);
    expect_over();
  }
};
MODEL(cond_signal_x_cancel, 2, bounded)

// R3: the same while the mutex is held, so that the waiter is cancelled in its queue.
struct cond_signal_x_cancel_x_unlock : cond_model {
  bool was_cancelled = false;
  cond_signal_x_cancel_x_unlock() {
    queue(0);
    queue(1);
    lock();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_cond_signal(&cond);
      guarded += 1;
      unlock();
    }
    if (index == 1) {
      was_cancelled = volt_cond_cancel(&cond, &w[0]);
      if (!was_cancelled) {
        EXPECT(granted(&w[0]));
        guarded += 1;
        unlock();
      }
      poison(&w[0]);
    }
  }
  void check() override {
    EXPECT(woken[0].seen() == (was_cancelled ? 0u : 1u));
    if (was_cancelled) use(1);
    if (!was_cancelled) EXPECT(volt_cond_cancel(&cond, &w[1]) && woken[1].seen() == 0);
    expect_over();
  }
};
MODEL(cond_signal_x_cancel_x_unlock, 2, bounded)

// A broadcast takes all of them, whoever cancels meanwhile.
struct cond_broadcast_x_cancel_x_unlock : cond_model {
  bool was_cancelled = false;
  cond_broadcast_x_cancel_x_unlock() {
    queue(0);
    queue(1);
    lock();
  }
  void thread(unsigned index) override {
    if (index == 0) volt_cond_broadcast(&cond);
    if (index == 1) {
      was_cancelled = volt_cond_cancel(&cond, &w[0]);
      poison(&w[0]);
    }
    if (index == 2) {
      guarded += 1;
      unlock();
    }
  }
  void check() override {
    EXPECT(woken[0].seen() == (was_cancelled ? 0u : 1u));
    if (!was_cancelled) unlock();
    use(1);
    expect_over();
  }
};
MODEL(cond_broadcast_x_cancel_x_unlock, 3, bounded)

// R3: nobody who waits since has got anything of a broadcast.
struct cond_broadcast_not_passed_on : cond_model {
  cond_broadcast_not_passed_on() {
    queue(0);
    lock();
    volt_cond_broadcast(&cond);
  }
  void thread(unsigned index) override {
    if (index == 0) wait(1);
    if (index == 1 && volt_cond_cancel(&cond, &w[0])) EXPECT(woken[0].seen() == 0);
  }
  void check() override {
    if (granted(&w[0])) unlock();
    EXPECT(woken[1].seen() == 0 && volt_cond_cancel(&cond, &w[1]));
    expect_over();
  }
};
MODEL(cond_broadcast_not_passed_on, 2, bounded)

// R5: the one who gets the mutex ends the life of both, while the signal returns; of the condition
// variable without destroy(), which would wait for its lock.
struct cond_last_user : cond_model {
  cond_last_user() {
    queue(0);
  }
  void thread(unsigned index) override {
    if (index == 0) volt_cond_signal(&cond);
    if (index == 1 && granted(&w[0])) {
      unlock();
      volt_mutex_destroy(&mutex);
      poison(&cond.queue);
      poison(&mutex.queue);
      cond.mutex = nullptr;
    }
  }
};
MODEL(cond_last_user, 2, full)

// R5: the same, by the unlock of a third.
struct cond_last_user_x_unlock : cond_model {
  cond_last_user_x_unlock() {
    queue(0);
    lock();
  }
  void thread(unsigned index) override {
    if (index == 0) volt_cond_signal(&cond);
    if (index == 1) unlock();
    if (index == 2 && granted(&w[0])) {
      unlock();
      volt_cond_destroy(&cond);
      poison(&cond.queue);
      cond.mutex = nullptr;
    }
  }
};
MODEL(cond_last_user_x_unlock, 3, bounded)

// R6: a deadline at any moment: held in any case, and the signal is his or the other's.
struct cond_timeout_x_signal : cond_model {
  int result = VOLT_PENDING;
  cond_timeout_x_signal() {
    lock();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      result = volt_cond_wait_until(&cond, &mutex, 1000);
      guarded += 1;
      wait(1);
    }
    if (index == 1) {
      lock();
      guarded += 1;
      volt_cond_signal(&cond);
      unlock();
    }
  }
  void check() override {
    EXPECT(result == VOLT_OK || result == VOLT_ETIMEDOUT);
    if (result == VOLT_OK) EXPECT(volt_cond_cancel(&cond, &w[1]) && woken[1].seen() == 0);
    if (!volt_cond_cancel(&cond, &w[1])) use(1);
    expect_over();
  }
};
MODEL(cond_timeout_x_signal, 2, bounded)

// R7: a broadcast, and the end of the condition variable, while the deadline of its waiter passes.
struct cond_timeout_x_freed : cond_model {
  int result = VOLT_PENDING;
  cond_timeout_x_freed() {
    lock();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      result = volt_cond_wait_until(&cond, &mutex, 1000);
      guarded += 1;
      unlock();
    }
    if (index == 1) {
      lock();
      guarded += 1;
      volt_cond_broadcast(&cond);
      unlock();
      volt_cond_destroy(&cond);
      poison(&cond.queue);
      cond.mutex = nullptr;
    }
  }
  void check() override {
    EXPECT(result == VOLT_OK || result == VOLT_ETIMEDOUT);
    EXPECT(!volt_mutex_is_locked(&mutex) && volt_mutex_waiters(&mutex) == 0);
  }
};
MODEL(cond_timeout_x_freed, 2, bounded)

// R7: a signal that meets a waiter that is leaving goes to the next one, and to one only.
struct cond_timeout_x_signal_of_two : cond_model {
  int result = VOLT_PENDING;
  bool second = false; // had the mutex
  cond_timeout_x_signal_of_two() {
    lock();
  }
  static void use_second(void *ctx) {
    auto *m = static_cast<cond_timeout_x_signal_of_two *>(ctx);
    m->second = true;
    m->guarded += 1;
    m->unlock();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      result = volt_cond_wait_until(&cond, &mutex, 1000);
      guarded += 1;
      unlock();
    }
    if (index == 1) {
      lock();
      EXPECT(volt_cond_wait_waiter(&cond, &mutex, &w[1], volt_waker{use_second, this}) ==
             VOLT_PENDING);
      volt_cond_signal(&cond);
    }
  }
  void check() override {
    EXPECT(second == (result == VOLT_ETIMEDOUT));
    if (!second) EXPECT(volt_cond_cancel(&cond, &w[1]));
    expect_over();
  }
};
MODEL(cond_timeout_x_signal_of_two, 2, bounded)

// R4: whoever polls last is woken, or has it.
struct cond_new_waker_x_signal : cond_model {
  bool replaced = false;
  cond_new_waker_x_signal() {
    queue(0);
    lock();
  }
  void thread(unsigned index) override {
    if (index == 0) replaced = volt_cond_set_waker(&cond, &w[0], woken[1].waker());
    if (index == 1) {
      volt_cond_signal(&cond);
      unlock();
    }
  }
  void check() override {
    EXPECT(granted(&w[0]));
    EXPECT(woken[0].seen() == (replaced ? 0u : 1u) && woken[1].seen() == (replaced ? 1u : 0u));
    unlock();
    expect_over();
  }
};
MODEL(cond_new_waker_x_signal, 2, bounded)

// A future that is dropped: the mutex is left alone, or unlocked again; the signal goes on.
struct cond_drop_x_signal : cond_model {
  volt_future f;
  cond_drop_x_signal() {
    lock();
    volt_future_made(volt_cond_wait_future(&f, &cond, &mutex));
    queue(1);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_future_cancel(&f);
      poison(&f.waiter);
    }
    if (index == 1) volt_cond_signal(&cond);
  }
  void check() override {
    EXPECT(volt_cond_waiters(&cond) == 0);
    use(1);
    expect_over();
  }
};
MODEL(cond_drop_x_signal, 2, bounded)
