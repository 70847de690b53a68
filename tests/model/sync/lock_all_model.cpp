// lock_all_model: mutexes and semaphores that are locked together.
// Checks lock_all.c I1, I2, R1, R2.
// PROGRAM: monitors
#include "model.hpp"
#include "poller.hpp"

// Two mutexes and a semaphore of one permit, at addresses of that order. What each of them guards is counted.
struct lock_all_model : model {
  struct {
    volt_mutex mutex[2];
    volt_sem sem;
  } it;
  VOLT_PLAIN(int) uses[3];

  lock_all_model() {
    for (volt_mutex &m : it.mutex) volt_mutex_init(&m);
    volt_sem_init_bounded(&it.sem, 1);
  }
  ~lock_all_model() override {
    for (volt_mutex &m : it.mutex) volt_mutex_destroy(&m);
    volt_sem_destroy(&it.sem);
  }
  // 0, 1: a mutex; 2: the permit.
  volt_lockable item(unsigned i) {
    return i < 2 ? volt_lockable{&it.mutex[i], nullptr, 0} : volt_lockable{nullptr, &it.sem, 1};
  }
  int lock(volt_lockable *both, unsigned first, unsigned second, uint64_t deadline_ns) {
    both[0] = item(first);
    both[1] = item(second);
    return volt_lock_all_until(both, 2, deadline_ns);
  }
  void use(unsigned first, unsigned second, uint64_t deadline_ns = VOLT_NO_DEADLINE) {
    volt_lockable both[2];
    int result = lock(both, first, second, deadline_ns);
    EXPECT(result == VOLT_OK || (deadline_ns != VOLT_NO_DEADLINE && result == VOLT_ETIMEDOUT));
    if (result != VOLT_OK) return;
    uses[first] = uses[first] + 1;
    uses[second] = uses[second] + 1;
    volt_unlock_all(both, 2);
  }
  bool is_free() {
    return !volt_mutex_is_locked(&it.mutex[0]) && !volt_mutex_is_locked(&it.mutex[1]) &&
           volt_sem_available(&it.sem) == 1;
  }
};

// I2: each names them in the other order.
struct lock_all_crosswise : lock_all_model {
  void thread(unsigned index) override {
    use(index, 1 - index);
  }
  void check() override {
    EXPECT(uses[0] == 2 && uses[1] == 2 && is_free());
  }
};
MODEL(lock_all_crosswise, 2, bounded)

// I2: three of them, in a ring.
struct lock_all_ring : lock_all_model {
  void thread(unsigned index) override {
    use(index, (index + 1) % 3);
  }
  void check() override {
    EXPECT(uses[0] == 2 && uses[1] == 2 && uses[2] == 2 && is_free());
  }
};
MODEL(lock_all_ring, 3, bounded)

// R1: the deadline of one passes at any moment: nothing is kept.
struct lock_all_x_deadline : lock_all_model {
  void thread(unsigned index) override {
    if (index == 0) use(1, 2);
    if (index == 1) use(2, 0, 1);
  }
  void check() override {
    EXPECT(uses[1] == 1 && uses[2] == 1 + uses[0] && is_free());
  }
};
MODEL(lock_all_x_deadline, 2, bounded)

// The semaphore is closed while one waits for it.
struct lock_all_x_close : lock_all_model {
  int result = VOLT_PENDING;
  lock_all_x_close() {
    EXPECT(volt_sem_try_acquire(&it.sem, 1) == VOLT_OK);
  }
  void thread(unsigned index) override {
    if (index == 0) volt_sem_close(&it.sem);
    volt_lockable both[2];
    if (index == 1) result = lock(both, 2, 1, VOLT_NO_DEADLINE);
  }
  void check() override {
    volt_sem_release(&it.sem, 1);
    EXPECT(result == VOLT_ECLOSED && is_free());
  }
};
MODEL(lock_all_x_close, 2, bounded)

// R2: a future is dropped while what it waits for is released.
struct lock_all_x_drop : lock_all_model {
  volt_lockable held[2], both[2];
  volt_lock_all_op op;
  poller::trace left;
  lock_all_x_drop() {
    both[0] = held[0] = item(0);
    both[1] = held[1] = item(1);
    EXPECT(volt_try_lock_all(&held[1], 1) == VOLT_OK);
    poller *p = new poller(&left);
    EXPECT(p->poll(volt_lock_all_future(&op, both, 2)) == VOLT_PENDING);
    EXPECT(p->end() == 1);
  }
  void thread(unsigned index) override {
    if (index == 0) volt_unlock_all(&held[1], 1);
    if (index == 1) volt_future_cancel(&op.future);
  }
  void check() override {
    EXPECT(left.gone(1) && is_free());
  }
};
MODEL(lock_all_x_drop, 2, full)
