// circle_model: how volt-run finds a deadlock, and reports it once: tools/volt-run/watch/circle.c, wait.c and threads.c,
// as they are shipped. Checks circle.c I1-I3, R1-R7. The locks, the kernel, and what is true, are the model's.
// PROGRAM: volt_run BATCH 2 MUTANTS SOURCES watch DEFINES watch SUPPORT model_watch.cpp
#include "core/os/futex.h"
#include "model_watch.hpp"
#include "watch/circle.h"

#include <errno.h>
#include <setjmp.h>

namespace {

struct watch_world;
watch_world *world;

// Whether it sleeps for ever: all that it waits for does, and then in a circle, or for a thread that has ended.
bool is_asleep_for_ever(unsigned t, bool *is_in_circle) {
  unsigned at = t;
  for (unsigned i = 0; i <= THREADS; i++) {
    if (watch_now.wants[at] == 0) return watch_now.is_away[at];
    if (watch_now.will_wake[at]) return false;
    unsigned next = watch_now.holder[watch_now.wants[at]];
    if (next == NONE) return false;
    if (next == ENDED) return true;
    if (next == t) return *is_in_circle = true;
    at = next;
  }
  return true;
}

struct watch_world : model {
  struct books books;
  VOLT_ATOMIC(uint32_t) taken[LOCKS + 1]; // the program's locks
  struct books_thread *self[THREADS];
  struct wait before[THREADS];

  watch_world() {
    watch_now = watch_truth();
    world = this;
    watch_books = &books;
    memset(watch_steps, 0, sizeof watch_steps);
    for (unsigned &holder : watch_now.holder) holder = NONE;
    for (uint32_t i = 1; i <= LOCKS; i++) {
      volt_store_relaxed(&books.lock[i].generation, 1);
      books.lock[i].address.store(i, rl::mo_relaxed, $);
    }
  }
  // Before the threads run: each has its place, and what it holds from the beginning.
  void come(unsigned t, uint32_t lock = 0) {
    enter(t);
    if (lock) EXPECT(try_lock(t, lock));
  }
  void enter(unsigned t) {
    watch_now.enters = static_cast<int>(t);
    self[t] = books_new_thread();
    watch_now.thread_at[self[t]->number] = t;
  }

  // ---- as mutexes.c does it; the address of a lock is its number ----

  static void *object(uint32_t lock) {
    return reinterpret_cast<void *>(static_cast<uintptr_t>(lock));
  }
  void add(unsigned t, uint32_t lock) {
    if (!held_add_new(self[t], lock, BOOKS_LOCKS_IT, 1))
      held_add(self[t], lock, BOOKS_LOCKS_IT, false, 1);
  }
  void remove(unsigned t, uint32_t lock) {
    if (held_remove_last(self[t], object(lock), BOOKS_MUTEX, BOOKS_LOCKS_IT) == HELD_IS_NOT_LAST)
      EXPECT(held_remove(self[t], lock, 1) == BOOKS_LOCKS_IT);
  }

  bool really_try(unsigned t, uint32_t lock) {
    uint32_t free = 0;
    if (!volt_cas_acquire(&taken[lock], &free, 1)) return false;
    watch_now.holder[lock] = t;
    watch_now.wants[t] = 0;
    return true;
  }
  bool try_lock(unsigned t, uint32_t lock) {
    if (!really_try(t, lock)) return false;
    add(t, lock);
    return true;
  }
  // Returns false: it sleeps for ever.
  bool really_lock(unsigned t, uint32_t lock) {
    bool is_in_circle = false;
    watch_now.sleeps[t] = true;
    while (!really_try(t, lock)) {
      if (is_asleep_for_ever(t, &is_in_circle)) return false;
      volt_yield_();
    }
    watch_now.sleeps[t] = false;
    return true;
  }
  bool lock(unsigned t, uint32_t lock) {
    if (try_lock(t, lock)) return true;
    struct wait w;
    watch_now.wants[t] = lock;
    wait_begin(&w, self[t], lock, BOOKS_LOCKS_IT, 1);
    if (circle_check(&w, attempt, &lock) == ETIMEDOUT && !really_lock(t, lock)) return false;
    wait_end(&w, true);
    add(t, lock);
    return true;
  }
  // A wait that has begun before the threads do, and that a signal ends.
  void sleep_before(unsigned t, uint32_t lock, bool will_wake) {
    wait_begin(&before[t], self[t], lock, BOOKS_LOCKS_IT, 1);
    watch_now.wants[t] = lock;
    watch_now.sleeps[t] = true;
    watch_now.will_wake[t] = will_wake;
  }
  void wake(unsigned t) {
    watch_now.sleeps[t] = watch_now.will_wake[t] = false;
    watch_now.wants[t] = 0;
    wait_end(&before[t], false);
  }
  void unlock(unsigned t, uint32_t lock) {
    remove(t, lock);
    watch_now.holder[lock] = NONE;
    volt_store_release(&taken[lock], 0);
  }

  // For a while, which is over when each other thread has come further, or sleeps.
  static int attempt(void *object, const struct timespec *) {
    unsigned t = volt_model_thread();
    uint32_t lock = *static_cast<uint32_t *>(object);
    if (world->really_try(t, lock)) return 0;
    if (watch_now.is_jump && t == 0) longjmp(watch_now.jump, 1);
    watch_now.sleeps[t] = true;
    volt_yield_();
    watch_now.sleeps[t] = false;
    return world->really_try(t, lock) ? 0 : ETIMEDOUT;
  }

  // Every circle that stays has been reported, once, and nothing else has.
  void expect_reports() {
    bool is_in_circle = false;
    for (unsigned t = 0; t < THREADS; t++) (void)is_asleep_for_ever(t, &is_in_circle);
    EXPECT(watch_now.reports == (is_in_circle ? 1 : 0));
  }
  void check() override {
    expect_reports();
  }
};

} // namespace

// ---- circles ----

// R1, R4: two threads that close one; what they hold, they hold from the beginning.
struct circle_of_two : watch_world {
  circle_of_two() {
    come(0, 1);
    come(1, 2);
  }
  void thread(unsigned index) override {
    EXPECT(!lock(index, 2 - index));
  }
};
MODEL(circle_of_two, 2, bounded)

// R1, R5: each takes both; they may come past each other, and then there is none.
struct circle_of_two_perhaps : watch_world {
  circle_of_two_perhaps() {
    come(0);
    come(1);
  }
  void thread(unsigned index) override {
    if (!lock(index, 1 + index) || !lock(index, 2 - index)) return;
    unlock(index, 2 - index);
    unlock(index, 1 + index);
  }
};
MODEL(circle_of_two_perhaps, 2, bounded)

// R1, R2: three threads.
struct circle_of_three : watch_world {
  circle_of_three() {
    for (unsigned t = 0; t < 3; t++) come(t, 1 + t);
  }
  void thread(unsigned index) override {
    EXPECT(!lock(index, 1 + (index + 1) % 3));
  }
};
MODEL(circle_of_three, 3, bounded)

// R3: a signal ends a thread's wait, and it waits again, while the other one checks.
struct circle_interrupted : watch_world {
  circle_interrupted() {
    come(0, 1);
    come(1, 2);
    sleep_before(1, 1, true);
  }
  void thread(unsigned index) override {
    if (index == 1) wake(1);
    EXPECT(!lock(index, 2 - index));
  }
};
MODEL(circle_interrupted, 2, bounded)

// R7: a thread leaves its wait by a jump while it checks, because the other one's wait closes a circle; that one's is
// ended by a signal. Then the first waits for a condition, and the other one takes the mutex that it has to have back, and
// waits for what it holds.
struct circle_after_a_jump : circle_interrupted {
  circle_after_a_jump() {
    watch_now.is_jump = true;
  }
  void await_condition() {
    struct wait w;
    remove(0, 3);
    wait_begin(&w, self[0], 4, BOOKS_AWAITS_IT, 1);
    atomic_store(&self[0]->comes_back_by, 3);
    watch_now.wants[0] = 3;
    watch_now.sleeps[0] = true;
    watch_now.holder[3] = NONE;
    volt_store_release(&taken[3], 0);
  }
  void thread(unsigned index) override {
    if (index == 1) {
      wake(1);
      if (lock(1, 3)) EXPECT(!lock(1, 1));
    } else if (setjmp(watch_now.jump) == 0) {
      EXPECT(!lock(0, 2)); // there was no jump
    } else {
      watch_now.is_jump = false;
      watch_now.wants[0] = 0;
      if (lock(0, 3)) await_condition();
    }
  }
};
MODEL(circle_after_a_jump, 2, bounded)

// ---- none ----

// R5: a lock is given back, and then its holder waits for the one that has it now, or will.
struct circle_given_back : watch_world {
  circle_given_back() {
    come(0, 1);
    come(1, 2);
  }
  void thread(unsigned index) override {
    if (index == 1) {
      unlock(1, 2);
      EXPECT(lock(1, 1));
      unlock(1, 1);
      return;
    }
    EXPECT(lock(0, 2));
    unlock(0, 2);
    unlock(0, 1);
  }
};
MODEL(circle_given_back, 2, bounded)

// R5: the same, and a third thread has the lock for a while.
struct circle_passed_on : watch_world {
  circle_passed_on() {
    come(0, 1);
    come(1, 2);
    come(2);
  }
  void thread(unsigned index) override {
    if (index == 2) {
      if (!try_lock(2, 2)) return;
      unlock(2, 2);
      return;
    }
    if (index == 1) unlock(1, 2);
    EXPECT(lock(index, 2 - index));
    unlock(index, 2 - index);
    if (index == 0) unlock(0, 1);
  }
};
MODEL(circle_passed_on, 3, bounded)

// R5: thread 0 waits for 3, which sleeps; that one waits for a lock that 1 gives back, and 2 takes for ever; then 1 waits
// for 0.
struct circle_through_another : watch_world {
  circle_through_another() {
    come(0, 1);
    come(1, 3);
    come(2);
    come(3, 2);
    sleep_before(3, 3, false);
  }
  void thread(unsigned index) override {
    if (index == 2) {
      watch_now.is_away[2] = lock(2, 3);
      return;
    }
    if (index == 1) unlock(1, 3);
    EXPECT(!lock(index, 2 - index));
  }
};
MODEL(circle_through_another, 3, bounded)

// R5: the same; 1 has waited for 0 before, and a signal has ended that.
struct circle_through_another_again : circle_through_another {
  circle_through_another_again() {
    sleep_before(1, 1, true);
  }
  void thread(unsigned index) override {
    if (index == 1) wake(1);
    circle_through_another::thread(index);
  }
};
MODEL(circle_through_another_again, 3, bounded)

// R6: a thread has ended with a lock that another one waits for, and a third gets its place, and waits for what that one
// holds.
struct circle_place_used_again : watch_world {
  circle_place_used_again() {
    come(0, 1);
    enter(1);
    held_add(self[1], 2, BOOKS_LOCKS_IT, false, 1);
    atomic_store(&self[1]->tid, ENDED + 1);
    watch_now.holder[2] = ENDED;
    volt_store_relaxed(&taken[2], 1);
  }
  void thread(unsigned index) override {
    if (index == 1) {
      enter(1);
      EXPECT(self[1]->number == 2 || self[1]->number == 3);
    }
    EXPECT(!lock(index, 2 - index));
  }
};
MODEL(circle_place_used_again, 2, bounded)
