// semaphore_limit_model: a limit that changes, excess, and requests for everything.
// Checks semaphore.c I6, I7, R9-R12, R14, R16, and permits.c I3 with excess; a case names what it
// is after.
// PROGRAM: library
#include "model.hpp"

struct limit_model : model {
  volt_sem sem;
  volt_waiter w[2];
  wake_count woken[2];
  int result[2] = {VOLT_ECANCELED, VOLT_ECANCELED};
  VOLT_PLAIN(uint32_t) guarded; // by holding all permits

  explicit limit_model(uint32_t permits) {
    volt_sem_init(&sem, permits);
  }
  void acquire(unsigned i, uint32_t n) {
    result[i] = volt_sem_acquire_waiter(&sem, &w[i], n, woken[i].waker());
  }
  void acquire_all(unsigned i) {
    result[i] = volt_sem_acquire_all_waiter(&sem, &w[i], woken[i].waker());
  }
  bool has(unsigned i) {
    if (result[i] == VOLT_OK) EXPECT(woken[i].seen() == 0);
    if (result[i] != VOLT_PENDING) return result[i] == VOLT_OK;
    EXPECT(woken[i].seen() == (granted(&w[i]) ? 1u : 0u));
    return granted(&w[i]);
  }
  // When everything is back, it is as much as the limit says.
  void expect_all_back() {
    EXPECT(volt_sem_waiters(&sem) == 0 && volt_sem_excess(&sem) == 0);
    EXPECT(volt_sem_available(&sem) == volt_sem_limit(&sem));
  }
};

// R16: two at once; the word ends as the last of them says.
struct limit_two_changes : limit_model {
  limit_two_changes() : limit_model(2) {
  }
  void thread(unsigned index) override {
    volt_sem_set_limit(&sem, index == 0 ? 1 : 4);
  }
  void check() override {
    EXPECT(volt_sem_limit(&sem) == 1 || volt_sem_limit(&sem) == 4);
    expect_all_back();
    EXPECT(volt_load_relaxed(&sem.reached) == volt_sem_limit(&sem));
  }
};
MODEL(limit_two_changes, 2, full)

// I3: it shrinks while somebody queues and somebody releases: excess goes to the queue and back.
struct limit_debt_x_acquire_x_release : limit_model {
  limit_debt_x_acquire_x_release() : limit_model(2) {
    EXPECT(volt_sem_try_acquire(&sem, 2) == VOLT_OK);
  }
  void thread(unsigned index) override {
    if (index == 0) volt_sem_set_limit(&sem, 1);
    if (index == 1) acquire(0, 1);
    if (index == 2) volt_sem_release(&sem, 1);
  }
  void check() override {
    if (!has(0)) EXPECT(volt_sem_excess(&sem) == 0 && volt_sem_available(&sem) == 0);
    volt_sem_release(&sem, 1);
    EXPECT(has(0));
    volt_sem_release(&sem, 1);
    expect_all_back();
  }
};
MODEL(limit_debt_x_acquire_x_release, 3, bounded)

// I3: the same, and who has queued leaves.
struct limit_debt_x_cancel : limit_model {
  limit_debt_x_cancel() : limit_model(2) {
    EXPECT(volt_sem_try_acquire(&sem, 1) == VOLT_OK);
    acquire(0, 2);
  }
  void thread(unsigned index) override {
    if (index == 0) volt_sem_set_limit(&sem, 0);
    if (index == 1) EXPECT(volt_sem_cancel(&sem, &w[0]));
  }
  void check() override {
    EXPECT(volt_sem_excess(&sem) == 1);
    volt_sem_release(&sem, 1);
    expect_all_back();
  }
};
MODEL(limit_debt_x_cancel, 2, bounded)

// It grows while somebody queues.
struct limit_grows_x_acquire : limit_model {
  limit_grows_x_acquire() : limit_model(0) {
  }
  void thread(unsigned index) override {
    if (index == 0) volt_sem_set_limit(&sem, 1);
    if (index == 1) acquire(0, 1);
  }
  void check() override {
    EXPECT(has(0));
  }
};
MODEL(limit_grows_x_acquire, 2, full)

// Debt is looked at as such by who takes without waiting, too.
struct limit_debt_x_try : limit_model {
  bool taken = false;
  limit_debt_x_try() : limit_model(1) {
    EXPECT(volt_sem_try_acquire(&sem, 1) == VOLT_OK);
  }
  void thread(unsigned index) override {
    if (index == 0) volt_sem_set_limit(&sem, 0);
    if (index == 1) taken = volt_sem_try_acquire(&sem, 1) == VOLT_OK;
  }
  void check() override {
    EXPECT(!taken && volt_sem_drain(&sem) == 0);
  }
};
MODEL(limit_debt_x_try, 2, full)

// T1: who drains gets each permit once, and sees what its releaser did.
struct limit_drain_x_release : limit_model {
  VOLT_PLAIN(int) message;
  uint32_t drained = 0;
  limit_drain_x_release() : limit_model(0) {
  }
  void thread(unsigned index) override {
    if (index == 0) {
      message = 1;
      volt_sem_release(&sem, 2);
    }
    if (index == 1) {
      drained = volt_sem_drain(&sem);
      if (drained > 0) EXPECT(message == 1 && drained == 2);
    }
  }
  void check() override {
    EXPECT(drained + volt_sem_available(&sem) == 2);
  }
};
MODEL(limit_drain_x_release, 2, full)

// R9: it changes while one wants all and another takes one.
struct limit_change_model : limit_model {
  limit_change_model(uint32_t permits, uint32_t to) : limit_model(permits), to_(to) {
  }
  void thread(unsigned index) override {
    if (index == 0) volt_sem_set_limit(&sem, to_);
    if (index == 1) {
      acquire_all(0);
      if (result[0] == VOLT_OK) {
        alone();
        volt_sem_release(&sem, volt_sem_taken(&w[0]));
      }
    }
    if (index == 2 && volt_sem_try_acquire(&sem, 1) == VOLT_OK) {
      alone();
      volt_sem_release(&sem, 1);
    }
  }
  void check() override {
    EXPECT(has(0));
    EXPECT(volt_sem_taken(&w[0]) == 1 || volt_sem_taken(&w[0]) == 2);
    if (result[0] == VOLT_PENDING) volt_sem_release(&sem, volt_sem_taken(&w[0]));
    expect_all_back();
  }

 private:
  virtual void alone() {
  }
  uint32_t to_;
};
struct limit_all_x_grow : limit_change_model {
  limit_all_x_grow() : limit_change_model(1, 2) {
  }
};
MODEL(limit_all_x_grow, 3, bounded)
// While it falls who has all is alone.
struct limit_all_x_shrink : limit_change_model {
  limit_all_x_shrink() : limit_change_model(2, 1) {
  }
  void alone() override {
    guarded += 1;
  }
};
MODEL(limit_all_x_shrink, 3, bounded)
// While it grows: who has seen that there are two knows that who has all then has both.
struct limit_all_x_grow_seen : limit_model {
  limit_all_x_grow_seen() : limit_model(1) {
  }
  void thread(unsigned index) override {
    if (index == 0) volt_sem_set_limit(&sem, 2);
    if (index == 1) {
      acquire_all(0);
      if (result[0] == VOLT_OK) {
        guarded += 1;
        volt_sem_release(&sem, volt_sem_taken(&w[0]));
      }
    }
    if (index == 2 && volt_sem_try_acquire(&sem, 2) == VOLT_OK) {
      volt_sem_release(&sem, 2);
      if (volt_sem_try_acquire(&sem, 1) == VOLT_OK) {
        guarded += 1;
        volt_sem_release(&sem, 1);
      }
    }
  }
  void check() override {
    EXPECT(has(0));
    if (result[0] == VOLT_PENDING) volt_sem_release(&sem, volt_sem_taken(&w[0]));
    expect_all_back();
  }
};
MODEL(limit_all_x_grow_seen, 3, bounded)

// R10, R11: what the other one holds is forgotten while this one looks for all.
struct limit_all_x_forget : limit_model {
  limit_all_x_forget() : limit_model(2) {
    EXPECT(volt_sem_try_acquire(&sem, 1) == VOLT_OK);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      guarded += 1;
      volt_sem_forget(&sem, 1);
    }
    if (index == 1) {
      acquire_all(0);
      if (result[0] == VOLT_OK) guarded += 1;
    }
  }
  void check() override {
    EXPECT(has(0) && volt_sem_taken(&w[0]) == 1);
    volt_sem_release(&sem, 1);
    expect_all_back();
  }
};
MODEL(limit_all_x_forget, 2, bounded)

// R10: the same with a limit that shrinks to what is left.
struct limit_all_x_shrink_x_release : limit_model {
  limit_all_x_shrink_x_release() : limit_model(2) {
    EXPECT(volt_sem_try_acquire(&sem, 1) == VOLT_OK);
    acquire_all(0);
  }
  void thread(unsigned index) override {
    if (index == 0) volt_sem_set_limit(&sem, 1);
    if (index == 1) volt_sem_release(&sem, 1);
  }
  void check() override {
    EXPECT(has(0));
    volt_sem_release(&sem, volt_sem_taken(&w[0]));
    expect_all_back();
  }
};
MODEL(limit_all_x_shrink_x_release, 2, bounded)

// What is given back one by one, and is all that the head lacks as far as it was asked, is not all.
struct limit_all_behind_one : limit_model {
  limit_all_behind_one() : limit_model(2) {
    EXPECT(volt_sem_try_acquire(&sem, 2) == VOLT_OK);
    acquire(0, 1);
    acquire_all(1);
  }
  void thread(unsigned) override {
    volt_sem_release(&sem, 1);
  }
  void check() override {
    EXPECT(has(0) && !has(1));
    volt_sem_release(&sem, 1);
    EXPECT(has(1) && volt_sem_taken(&w[1]) == 2);
    volt_sem_release(&sem, 2);
    expect_all_back();
  }
};
MODEL(limit_all_behind_one, 2, bounded)

// Who wants all of a limit of 0 is granted with the one before it, by the release that gives what
// that one lacks; or finds that nobody is before it.
struct limit_none_behind_one : limit_model {
  limit_none_behind_one() : limit_model(0) {
    acquire(0, 1);
  }
  void thread(unsigned index) override {
    if (index == 0) volt_sem_release(&sem, 1);
    if (index == 1) acquire_all(1);
  }
  void check() override {
    EXPECT(has(0) && has(1) && volt_sem_taken(&w[1]) == 0);
    expect_all_back();
  }
};
MODEL(limit_none_behind_one, 2, full)

// R12: what is forgotten repays the excess, whoever is lowering the limit meanwhile: when all is back
// it is as much as the limit.
struct forget_model : limit_model {
  forget_model(uint32_t permits, uint32_t forgotten) : limit_model(permits), forgotten_(forgotten) {
    EXPECT(volt_sem_try_acquire(&sem, permits) == VOLT_OK);
  }
  void thread(unsigned index) override {
    if (index == 0) volt_sem_forget(&sem, forgotten_);
    if (index == 1) volt_sem_set_limit(&sem, 1);
    if (index == 2) volt_sem_release(&sem, 1);
  }

 private:
  uint32_t forgotten_;
};
struct forget_x_lower : forget_model {
  forget_x_lower() : forget_model(3, 3) {
  }
  void check() override {
    expect_all_back();
    EXPECT(volt_load_relaxed(&sem.reached) == volt_sem_limit(&sem));
  }
};
MODEL(forget_x_lower, 2, full)
struct forget_x_lower_x_release : forget_model {
  forget_x_lower_x_release() : forget_model(3, 2) {
  }
  void check() override {
    expect_all_back();
    EXPECT(volt_load_relaxed(&sem.reached) == volt_sem_limit(&sem));
  }
};
MODEL(forget_x_lower_x_release, 3, bounded)

// The same while somebody waits: the excess is in the queue, and what repays it is not granted.
struct forget_x_lower_while_queued : forget_model {
  forget_x_lower_while_queued() : forget_model(2, 2) {
    acquire(0, 1);
  }
  void check() override {
    EXPECT(volt_sem_excess(&sem) == 0);
    EXPECT(has(0) == (volt_sem_limit(&sem) == 1));
    if (has(0)) volt_sem_release(&sem, 1);
    if (!has(0)) EXPECT(volt_sem_cancel(&sem, &w[0]));
    expect_all_back();
  }
};
MODEL(forget_x_lower_while_queued, 2, bounded)

// Who wants all is granted none by what repays the last excess.
struct forget_x_lower_x_all : limit_model {
  forget_x_lower_x_all() : limit_model(1) {
    EXPECT(volt_sem_try_acquire(&sem, 1) == VOLT_OK);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      guarded += 1;
      volt_sem_forget(&sem, 1);
    }
    if (index == 1) volt_sem_set_limit(&sem, 0);
    if (index == 2) {
      acquire_all(0);
      if (result[0] == VOLT_OK) guarded += 1;
    }
  }
  void check() override {
    EXPECT(has(0) && volt_sem_taken(&w[0]) == 0);
    expect_all_back();
  }
};
MODEL(forget_x_lower_x_all, 3, bounded)

// R16: who wants all looks while the limit rises and falls: it may see the fall before the rise.
struct limit_all_x_rise_x_fall : limit_model {
  limit_all_x_rise_x_fall() : limit_model(1) {
  }
  void thread(unsigned index) override {
    if (index == 0) volt_sem_set_limit(&sem, 2);
    if (index == 1) volt_sem_set_limit(&sem, 0);
    if (index == 2) acquire_all(0);
  }
  void check() override {
    EXPECT(has(0) || volt_sem_excess(&sem) > 0);
    EXPECT(volt_sem_taken(&w[0]) <= 2);
    volt_sem_release(&sem, volt_sem_taken(&w[0]));
    expect_all_back();
  }
};
MODEL(limit_all_x_rise_x_fall, 3, bounded)

// Debt in the queue is read under the lock.
struct limit_debt_x_look : limit_model {
  limit_debt_x_look() : limit_model(1) {
    EXPECT(volt_sem_try_acquire(&sem, 1) == VOLT_OK);
    acquire(0, 1);
  }
  void thread(unsigned index) override {
    if (index == 0) volt_sem_set_limit(&sem, 0);
    if (index == 1) EXPECT(volt_sem_excess(&sem) <= 1);
  }
  void check() override {
    EXPECT(volt_sem_excess(&sem) == 1);
    EXPECT(volt_sem_cancel(&sem, &w[0]));
  }
};
MODEL(limit_debt_x_look, 2, full)

// Closed, it stays so, whatever becomes of the limit.
struct limit_change_x_close : limit_model {
  limit_change_x_close() : limit_model(2) {
    EXPECT(volt_sem_try_acquire(&sem, 1) == VOLT_OK);
  }
  void thread(unsigned index) override {
    if (index == 0) volt_sem_close(&sem);
    if (index == 1) {
      volt_sem_set_limit(&sem, 3);
      volt_sem_set_limit(&sem, 1);
      volt_sem_forget(&sem, 1);
    }
  }
  void check() override {
    EXPECT(volt_sem_is_closed(&sem));
    acquire(0, 1);
    EXPECT(result[0] == VOLT_ECLOSED);
    expect_all_back();
  }
};
MODEL(limit_change_x_close, 2, bounded)

// I7: what is there, given and held is what the limit says; the check of each release aborts if not.
struct bounded_model : limit_model {
  explicit bounded_model(uint32_t permits) : limit_model(0) {
    volt_sem_init_bounded(&sem, permits);
  }
  bool is_bounded() {
    return (volt_load_relaxed(&sem.queue.word) & VOLT_WORD_BOUNDED_) != 0;
  }
  void expect_all_back() {
    EXPECT(is_bounded());
    limit_model::expect_all_back();
  }
};

// R14: the limit falls and rises while what is held is released: never too much.
struct bounded_release_x_lower : bounded_model {
  bounded_release_x_lower() : bounded_model(2) {
    EXPECT(volt_sem_try_acquire(&sem, 1) == VOLT_OK);
  }
  void thread(unsigned index) override {
    if (index == 0) volt_sem_set_limit(&sem, 1);
    if (index == 1) volt_sem_release(&sem, 1);
  }
  void check() override {
    expect_all_back();
  }
};
MODEL(bounded_release_x_lower, 2, full)
struct bounded_release_x_raise : bounded_model {
  bounded_release_x_raise() : bounded_model(1) {
    EXPECT(volt_sem_try_acquire(&sem, 1) == VOLT_OK);
  }
  void thread(unsigned index) override {
    if (index == 0) volt_sem_set_limit(&sem, 2);
    if (index == 1) volt_sem_release(&sem, 1);
  }
  void check() override {
    expect_all_back();
  }
};
MODEL(bounded_release_x_raise, 2, full)
struct bounded_release_x_lower_x_raise : bounded_model {
  bounded_release_x_lower_x_raise() : bounded_model(2) {
    EXPECT(volt_sem_try_acquire(&sem, 1) == VOLT_OK);
  }
  void thread(unsigned index) override {
    if (index == 0) volt_sem_set_limit(&sem, 1);
    if (index == 1) volt_sem_release(&sem, 1);
    if (index == 2) volt_sem_set_limit(&sem, 3);
  }
  void check() override {
    expect_all_back();
  }
};
MODEL(bounded_release_x_lower_x_raise, 3, bounded)

// The same while somebody queues, or takes: the word is compared under the lock, or without it.
struct bounded_queued_model : bounded_model {
  explicit bounded_queued_model(uint32_t to) : bounded_model(2), to_(to) {
    EXPECT(volt_sem_try_acquire(&sem, 2) == VOLT_OK);
  }
  void thread(unsigned index) override {
    if (index == 0) volt_sem_set_limit(&sem, to_);
    if (index == 1) acquire(0, 1);
    if (index == 2) volt_sem_release(&sem, 1);
  }
  void check() override {
    volt_sem_release(&sem, 1);
    EXPECT(has(0));
    volt_sem_release(&sem, 1);
    expect_all_back();
  }

 private:
  uint32_t to_;
};
struct bounded_release_x_acquire_x_lower : bounded_queued_model {
  bounded_release_x_acquire_x_lower() : bounded_queued_model(1) {
  }
};
MODEL(bounded_release_x_acquire_x_lower, 3, bounded)
struct bounded_release_x_acquire_x_raise : bounded_queued_model {
  bounded_release_x_acquire_x_raise() : bounded_queued_model(3) {
  }
};
MODEL(bounded_release_x_acquire_x_raise, 3, bounded)

// What another forgets is not released; what this one holds is not too much, whatever is forgotten.
struct bounded_release_x_forget_x_lower : bounded_model {
  bounded_release_x_forget_x_lower() : bounded_model(3) {
    EXPECT(volt_sem_try_acquire(&sem, 2) == VOLT_OK);
  }
  void thread(unsigned index) override {
    if (index == 0) volt_sem_forget(&sem, 1);
    if (index == 1) volt_sem_release(&sem, 1);
    if (index == 2) volt_sem_set_limit(&sem, 0);
  }
  void check() override {
    expect_all_back();
  }
};
MODEL(bounded_release_x_forget_x_lower, 3, bounded)

// I7: two release what one holds: the second one aborts.
struct bounded_released_twice : bounded_model {
  bounded_released_twice() : bounded_model(1) {
    EXPECT(volt_sem_try_acquire(&sem, 1) == VOLT_OK);
  }
  void thread(unsigned) override {
    volt_sem_release(&sem, 1);
  }
};
MUST_FAIL(bounded_released_twice, 2, full)

// The same while somebody queues who has gathered one of two; the other one is held.
struct bounded_released_too_many : bounded_model {
  bounded_released_too_many() : bounded_model(2) {
    EXPECT(volt_sem_try_acquire(&sem, 1) == VOLT_OK);
    acquire(0, 2);
  }
  void thread(unsigned index) override {
    if (index == 0) volt_sem_release(&sem, 2);
    if (index == 1) EXPECT(!volt_sem_is_closed(&sem));
  }
};
MUST_FAIL(bounded_released_too_many, 2, full)

// I7: more is forgotten than is held.
struct bounded_forgotten_too_many : bounded_model {
  bounded_forgotten_too_many() : bounded_model(2) {
    EXPECT(volt_sem_try_acquire(&sem, 1) == VOLT_OK);
  }
  void thread(unsigned) override {
    volt_sem_forget(&sem, 1);
  }
};
MUST_FAIL(bounded_forgotten_too_many, 2, full)
