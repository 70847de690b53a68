// loop_model: a foreign loop is told of its wakes, and ends while they are on their way.
// Checks loop.c I1, R1-R4; a case names the race it is after.
// PROGRAM: library
#include "model.hpp"

struct loop_model : model {
  volt_sem sem[2];
  volt_future f[2];
  volt_loop l;
  volt_parker event; // the loop's eventfd
  VOLT_PLAIN(uint32_t) alive;
  VOLT_PLAIN(uint32_t) freed;
  int result[2] = {VOLT_PENDING, VOLT_PENDING};

  loop_model() {
    alive = 1;
    freed = 0;
    volt_loop_init(&l, volt_waker{tell, this});
    for (unsigned i = 0; i < 2; i++) {
      volt_sem_init(&sem[i], 0);
      volt_future_made(volt_sem_acquire_future(&f[i], &sem[i], 1));
    }
  }
  static void tell(void *arg) {
    loop_model *m = static_cast<loop_model *>(arg);
    EXPECT(m->alive == 1);
    volt_unpark(&m->event);
    EXPECT(m->alive == 1);
  }
  // It is the caller's, and what notify() touches: a thread that still reads it is reported.
  void free_it() {
    EXPECT(alive == 1);
    alive = 0;
    l.notify = nullptr;
    l.arg = nullptr;
    l.settled = nullptr;
    freed += 1;
  }
  static void free_when_settled(void *arg) {
    static_cast<loop_model *>(arg)->free_it();
  }
  // Poll all that wait each time that it is told.
  void run(unsigned count) {
    uint32_t told = 0;
    for (unsigned waiting = count; waiting > 0;) {
      waiting = 0;
      for (unsigned i = 0; i < count; i++) {
        if (result[i] == VOLT_PENDING) result[i] = volt_loop_poll(&l, &f[i]);
        if (result[i] == VOLT_PENDING) waiting += 1;
      }
      if (waiting == 0) break;
      volt_park_until(&event, told + 1, VOLT_NO_DEADLINE);
      told += volt_unparks_since_(&event, told);
    }
  }
  void start(unsigned count) {
    for (unsigned i = 0; i < count; i++) EXPECT(volt_loop_poll(&l, &f[i]) == VOLT_PENDING);
  }
};

// R1, R2: it waits for two, is told of both, and is gone when they are ready.
struct loop_waits_for_two : loop_model {
  void thread(unsigned index) override {
    if (index == 1) {
      volt_sem_release(&sem[1], 1);
      volt_sem_release(&sem[0], 1);
      return;
    }
    run(2);
    EXPECT(volt_loop_close(&l) == VOLT_OK);
    free_it();
  }
  void check() override {
    EXPECT(result[0] == VOLT_OK && result[1] == VOLT_OK && freed == 1);
  }
};
MODEL(loop_waits_for_two, 2, bounded)

// The same, woken by two threads: one of them may leave it to the other to tell the loop.
struct loop_is_told_once_for_two : loop_model {
  loop_is_told_once_for_two() {
    start(2);
  }
  void thread(unsigned index) override {
    if (index > 0) {
      volt_sem_release(&sem[index - 1], 1);
      return;
    }
    run(2);
    EXPECT(volt_loop_close(&l) == VOLT_OK);
    free_it();
  }
  void check() override {
    EXPECT(result[0] == VOLT_OK && result[1] == VOLT_OK && freed == 1);
  }
};
MODEL(loop_is_told_once_for_two, 3, bounded)

// R2, R3: it gives up while it is woken, and ends. It is freed once, by the loop or the last wake.
struct loop_closes_x_wake : loop_model {
  loop_closes_x_wake() {
    start(1);
  }
  void thread(unsigned index) override {
    if (index == 1) {
      volt_sem_release(&sem[0], 1);
      return;
    }
    volt_future_cancel(&f[0]);
    poison(&f[0].waiter);
    if (volt_loop_close_then(&l, volt_waker{free_when_settled, this}) == VOLT_OK) free_it();
  }
  void check() override {
    EXPECT(freed == 1 && volt_sem_available(&sem[0]) == 1);
  }
};
MODEL(loop_closes_x_wake, 2, full)

// The same the other way round: closed first, so that the cancel may be what settles it.
struct loop_closes_before_cancel : loop_model {
  loop_closes_before_cancel() {
    start(2);
  }
  void thread(unsigned index) override {
    if (index == 1) {
      volt_sem_release(&sem[0], 1);
      return;
    }
    EXPECT(volt_loop_close_then(&l, volt_waker{free_when_settled, this}) == VOLT_PENDING);
    for (unsigned i = 0; i < 2; i++) volt_future_cancel(&f[i]);
  }
  void check() override {
    EXPECT(freed == 1 && volt_sem_available(&sem[0]) == 1);
  }
};
MODEL(loop_closes_before_cancel, 2, bounded)

// R2: it looks whether it is settled.
struct loop_settled_x_wake : loop_model {
  loop_settled_x_wake() {
    start(1);
  }
  void thread(unsigned index) override {
    if (index == 1) {
      volt_sem_release(&sem[0], 1);
      return;
    }
    volt_future_cancel(&f[0]);
    if (volt_loop_is_settled(&l)) free_it();
  }
  void check() override {
    EXPECT(volt_loop_is_settled(&l));
  }
};
MODEL(loop_settled_x_wake, 2, full)

// R4: the deadline passes at any moment; then it is open, and can be closed once more.
struct loop_close_deadline_x_wake : loop_model {
  int closed = VOLT_PENDING;
  loop_close_deadline_x_wake() {
    start(1);
  }
  void thread(unsigned index) override {
    if (index == 1) {
      volt_sem_release(&sem[0], 1);
      return;
    }
    closed = volt_loop_close_until(&l, 1);
    volt_future_cancel(&f[0]);
    if (closed == VOLT_ETIMEDOUT) {
      EXPECT(volt_loop_close(&l) == VOLT_OK);
    }
    free_it();
  }
  void check() override {
    EXPECT(freed == 1 && volt_sem_available(&sem[0]) == 1);
  }
};
MODEL(loop_close_deadline_x_wake, 2, bounded)
