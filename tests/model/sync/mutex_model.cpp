// mutex_model: mutual exclusion, and the death of the object in its last user's hands.
// Checks permits.c R2 and all pairs through a plain variable.
// PROGRAM: library
#include "model.hpp"

// Each thread locks, reads and writes what only a holder may touch, and unlocks.
struct mutex_model : model {
  volt_mutex m;
  VOLT_PLAIN(int) count;

  mutex_model() {
    volt_mutex_init(&m);
  }

  void section() {
    EXPECT(volt_mutex_lock_until(&m, VOLT_NO_DEADLINE) == VOLT_OK);
    count += 1;
    volt_mutex_unlock(&m);
  }
  void expect_sections(int sections) {
    EXPECT(count == sections);
    EXPECT(!volt_mutex_is_locked(&m) && volt_mutex_waiters(&m) == 0);
  }
};

struct exclusion_2x1 : mutex_model {
  void thread(unsigned) override {
    section();
  }
  void check() override {
    expect_sections(2);
  }
};
MODEL(exclusion_2x1, 2, full)

struct exclusion_2x2 : mutex_model {
  void thread(unsigned) override {
    section();
    section();
  }
  void check() override {
    expect_sections(4);
  }
};
MODEL(exclusion_2x2, 2, bounded)

struct exclusion_3x1 : mutex_model {
  void thread(unsigned) override {
    section();
  }
  void check() override {
    expect_sections(3);
  }
};
MODEL(exclusion_3x1, 3, bounded)

// One tries, one blocks.
struct try_x_lock : mutex_model {
  VOLT_ATOMIC(uint32_t) tried;
  void thread(unsigned index) override {
    if (index == 0) {
      section();
    } else if (volt_mutex_try_lock(&m) == VOLT_OK) {
      volt_store_relaxed(&tried, 1);
      count += 1;
      volt_mutex_unlock(&m);
    }
  }
  void check() override {
    expect_sections(volt_load_relaxed(&tried) ? 2 : 1);
  }
};
MODEL(try_x_lock, 2, full)

// A try fails only if the mutex is held: not after an unlock that the caller knows of, although the
// word that it reads first is a guess.
struct try_after_unlock : mutex_model {
  VOLT_ATOMIC(uint32_t) is_over;
  bool locked = false;
  void thread(unsigned index) override {
    if (index == 0) {
      section();
      volt_store_release(&is_over, 1);
    } else if (volt_load_acquire(&is_over) != 0) {
      locked = volt_mutex_try_lock(&m) == VOLT_OK;
      EXPECT(locked);
      count += 1;
      volt_mutex_unlock(&m);
    }
  }
  void check() override {
    expect_sections(locked ? 2 : 1);
  }
};
MODEL(try_after_unlock, 2, full)

// A deadline passes at any moment; whoever locked unlocks, and the lock is free in the end.
struct lock_deadline_x_lock : mutex_model {
  bool in_time = false;
  void thread(unsigned index) override {
    if (index == 0) {
      section();
      return;
    }
    in_time = volt_mutex_lock_until(&m, 1) == VOLT_OK;
    if (in_time) {
      count += 1;
      volt_mutex_unlock(&m);
    }
  }
  void check() override {
    expect_sections(in_time ? 2 : 1);
  }
};
MODEL(lock_deadline_x_lock, 2, bounded)

// R2: "lock, see that we are the last user, unlock, free", with every thread but the last still on
// its way out of unlock().
struct last_user_frees : model {
  volt_mutex *m;
  VOLT_PLAIN(int) users;

  explicit last_user_frees(int threads) : m(new volt_mutex()), users(threads) {
  }

  void leave() {
    EXPECT(volt_mutex_lock_until(m, VOLT_NO_DEADLINE) == VOLT_OK);
    bool last = --users == 0;
    volt_mutex_unlock(m);
    if (!last) return;
    poison(&m->queue);
    delete m;
  }
};

struct last_of_two_frees : last_user_frees {
  last_of_two_frees() : last_user_frees(2) {
  }
  void thread(unsigned) override {
    leave();
  }
};
MODEL(last_of_two_frees, 2, full)

struct last_of_three_frees : last_user_frees {
  last_of_three_frees() : last_user_frees(3) {
  }
  void thread(unsigned) override {
    leave();
  }
};
MODEL(last_of_three_frees, 3, bounded)

// The same with one that gives up waiting and tries again: the unlock meets a queue that empties
// under its eyes.
struct last_user_frees_beside_deadline : last_user_frees {
  last_user_frees_beside_deadline() : last_user_frees(2) {
  }
  void thread(unsigned index) override {
    if (index == 0) {
      leave();
      return;
    }
    if (volt_mutex_lock_until(m, 1) == VOLT_OK) {
      volt_mutex_unlock(m);
    }
    leave();
  }
};
MODEL(last_user_frees_beside_deadline, 2, bounded)

// Three that meet at the queue's own lock, which is left for the last time under their eyes.
struct lock_meets : mutex_model {
  volt_waiter w[2];
  wake_count woken[2];
  lock_meets() {
    EXPECT(volt_mutex_try_lock(&m) == VOLT_OK);
    for (unsigned i = 0; i < 2; i++) {
      EXPECT(volt_mutex_lock_waiter(&m, &w[i], woken[i].waker()) == VOLT_PENDING);
    }
  }
  void thread(unsigned index) override {
    if (index == 2) {
      volt_mutex_unlock(&m);
    } else if (!volt_mutex_cancel(&m, &w[index])) {
      volt_mutex_unlock(&m);
    }
  }
  void check() override {
    EXPECT(!volt_mutex_is_locked(&m) && volt_mutex_waiters(&m) == 0);
  }
};
MODEL(lock_meets, 3, bounded)
