// monitor_poll_model: a waiting future is polled while what it waits for happens. In batches of one
// waiter, so that whoever lets two go is away between them.
// Checks monitor.c R6 (with R1-R4), permits.c R13, and future.c I1; a case names what it is after.
// PROGRAM: monitors
#include "model.hpp"
#include "poller.hpp"

// Two futures that wait, the first told before the second; one thread opens, one polls.
struct turn_poll : model {
  volt_future f[2];
  wake_count woken[2];
  int result[2] = {VOLT_PENDING, VOLT_PENDING};

  int poll(unsigned i) {
    return result[i] = volt_future_poll(&f[i], woken[i].waker());
  }
  void begin() {
    for (unsigned i = 0; i < 2; i++) EXPECT(poll(i) == VOLT_PENDING);
  }
  // At quiescence: both have this result, and each waker was called once.
  void expect(int want) {
    for (unsigned i = 0; i < 2; i++) {
      EXPECT(poll(i) == want);
      EXPECT(woken[i].seen() == 1);
    }
  }
};

// R6: whoever finds the token cancelled finds both futures ready, one of a child's.
struct poll_x_token_cancel : turn_poll {
  volt_token parent, child;
  VOLT_PLAIN(int) message;
  poll_x_token_cancel() {
    volt_token_init(&parent);
    volt_token_init_child(&child, &parent);
    volt_future_made(volt_token_wait_future(&f[0], &child));
    volt_future_made(volt_token_wait_future(&f[1], &child));
    begin();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      message = 1;
      volt_token_cancel(&parent);
    } else {
      bool cancelled = volt_token_is_cancelled(&child);
      if (poll(1) == VOLT_OK) EXPECT(message == 1);
      EXPECT(!cancelled || result[1] == VOLT_OK);
    }
  }
  void check() override {
    expect(VOLT_OK);
    volt_token_destroy(&child);
    volt_token_destroy(&parent);
  }
};
MODEL(poll_x_token_cancel, 2, bounded)

// R6: notifications have no flag; whoever finds the first ready finds the second ready. Wakers that
// a poll calls run with nothing held.
struct poll_x_notify_all : turn_poll {
  volt_notify n;
  struct reentering : wake_count {
    volt_notify *n;
    wake_count *inner;
    static void reenter(void *ctx) {
      auto *self = static_cast<reentering *>(ctx);
      (void)volt_notify_waiters(self->n);
      volt_waker counts = self->inner->waker();
      counts.wake(counts.ctx);
    }
  } wakers[2];
  int poll(unsigned i) {
    return volt_future_poll(&f[i], volt_waker{reentering::reenter, &wakers[i]});
  }
  poll_x_notify_all() {
    volt_notify_init(&n);
    for (unsigned i = 0; i < 2; i++) {
      wakers[i].n = &n;
      wakers[i].inner = &woken[i];
      volt_future_made(volt_notify_wait_future(&f[i], &n));
      EXPECT(poll(i) == VOLT_PENDING);
    }
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_notify_all(&n);
    } else {
      bool first = poll(0) == VOLT_OK;
      EXPECT(!first || poll(1) == VOLT_OK);
    }
  }
  void check() override {
    expect(VOLT_OK);
    volt_notify_destroy(&n);
  }
};
MODEL(poll_x_notify_all, 2, bounded)

// R6 with R2: a poller that has found all of them ready ends the latch at once.
struct poll_x_latch_open_x_end : turn_poll {
  volt_latch *l = new volt_latch();
  poll_x_latch_open_x_end() {
    volt_latch_init(l, 1);
    volt_future_made(volt_latch_wait_future(&f[0], l));
    volt_future_made(volt_latch_wait_future(&f[1], l));
    begin();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_latch_done(l);
    } else {
      bool open = volt_latch_try_wait(l) == VOLT_OK;
      poll(1);
      poll(0);
      EXPECT(!open || (result[0] == VOLT_OK && result[1] == VOLT_OK));
      if (result[0] == VOLT_OK && result[1] == VOLT_OK) {
        poison(&f[0].waiter);
        poison(&f[1].waiter);
        end();
      }
    }
  }
  void end() {
    volt_latch_destroy(l);
    poison(&l->queue);
    delete l;
    l = nullptr;
  }
  void check() override {
    expect(VOLT_OK);
    if (l) end();
  }
};
MODEL(poll_x_latch_open_x_end, 2, bounded)

// R6: a latch that is shut again has let go whoever waited, and nobody else.
struct poll_x_latch_shut_again : turn_poll {
  volt_latch l;
  volt_future late;
  int later = VOLT_ECANCELED;
  poll_x_latch_shut_again() {
    volt_latch_init(&l, 1);
    for (volt_future &one : f) volt_future_made(volt_latch_wait_future(&one, &l));
    begin();
    volt_future_made(volt_latch_wait_future(&late, &l));
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_latch_done(&l);
    } else if (volt_latch_try_wait(&l) == VOLT_OK) {
      volt_latch_add(&l, 1);
      for (unsigned i = 0; i < 2; i++) {
        later = volt_future_poll(&late, volt_waker{nullptr, nullptr});
        EXPECT(later == VOLT_PENDING);
      }
      poll(1);
    }
  }
  void check() override {
    expect(VOLT_OK);
    EXPECT(volt_latch_waiters(&l) == (later == VOLT_PENDING ? 1u : 0u));
    volt_future_cancel(&late);
    volt_latch_destroy(&l);
  }
};
MODEL(poll_x_latch_shut_again, 2, bounded)

// R6 where the opening is counted: another thread's version is known, and so is each wait for it.
struct poll_x_watch_send : turn_poll {
  volt_watch w;
  uint64_t seen[2] = {1, 1};
  poll_x_watch_send() {
    volt_watch_init(&w, 0, nullptr, nullptr);
    for (unsigned i = 0; i < 2; i++)
      volt_future_made(volt_watch_changed_future(&f[i], &w, &seen[i]));
    begin();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      EXPECT(volt_watch_send(&w, nullptr) == VOLT_OK);
    } else {
      uint64_t version = volt_watch_version(&w);
      EXPECT(poll(1) == VOLT_OK || version == 1);
    }
  }
  void check() override {
    expect(VOLT_OK);
    EXPECT(seen[0] == 2 && seen[1] == 2);
    volt_watch_destroy(&w);
  }
};
MODEL(poll_x_watch_send, 2, bounded)

// The same, closed: they complete as closed.
struct poll_x_oneshot_close : turn_poll {
  volt_oneshot o;
  poll_x_oneshot_close() {
    volt_oneshot_init(&o, 0, nullptr);
    volt_future_made(volt_oneshot_recv_future(&f[0], &o, nullptr));
    volt_future_made(volt_oneshot_closed_future(&f[1], &o));
    begin();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_oneshot_close(&o);
    } else {
      bool closed = volt_oneshot_is_closed(&o);
      EXPECT(poll(1) == VOLT_ECLOSED || !closed);
    }
  }
  void check() override {
    expect(VOLT_ECLOSED);
    volt_oneshot_destroy(&o);
  }
};
MODEL(poll_x_oneshot_close, 2, bounded)

// The barrier's round is over for all of them: the leader knows.
struct poll_x_barrier_open : turn_poll {
  volt_barrier b;
  VOLT_ATOMIC(uint32_t) led;
  volt_waiter last;
  poll_x_barrier_open() : led(0u) {
    volt_barrier_init(&b, 3);
    for (volt_future &one : f) volt_future_made(volt_barrier_wait_future(&one, &b));
    begin();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      EXPECT(volt_barrier_wait_waiter(&b, &last, volt_waker{nullptr, nullptr}) == VOLT_LEADER);
    } else {
      bool first = poll(0) == VOLT_OK;
      EXPECT(!first || poll(1) == VOLT_OK);
    }
  }
  void check() override {
    expect(VOLT_OK);
    volt_barrier_destroy(&b);
  }
};
MODEL(poll_x_barrier_open, 2, bounded)

// R6 with R3: one polls, one cancels, one opens: each waiter is told, or taken out, once.
struct poll_x_cancel_x_open : turn_poll {
  volt_once o;
  volt_waiter first;
  poll_x_cancel_x_open() {
    volt_once_init(&o);
    EXPECT(volt_once_begin_waiter(&o, &first, volt_waker{nullptr, nullptr}) == VOLT_OK);
    for (volt_future &one : f) volt_future_made(volt_once_begin_future(&one, &o));
    begin();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_once_done(&o);
    } else if (index == 1) {
      bool done = volt_once_is_done(&o);
      EXPECT(poll(1) == VOLT_DONE || !done);
    } else {
      volt_future_cancel(&f[0]);
      poison(&f[0].waiter);
    }
  }
  void check() override {
    EXPECT(poll(1) == VOLT_DONE && woken[1].seen() == 1);
    EXPECT(woken[0].seen() <= 1 && volt_once_waiters(&o) == 0);
    volt_once_destroy(&o);
  }
};
MODEL(poll_x_cancel_x_open, 3, bounded)

// R6 with I1 of future.c: polled by another task meanwhile, every registration is settled once.
struct poll_by_another_x_open : model {
  volt_notify n;
  volt_future f[2];
  poller::trace left[2];
  poller *task[2];
  poll_by_another_x_open() {
    volt_notify_init(&n);
    for (unsigned i = 0; i < 2; i++) {
      task[i] = new poller(&left[i]);
      volt_future_made(volt_notify_wait_future(&f[i], &n));
    }
    for (volt_future &one : f) EXPECT(task[0]->poll(&one) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_notify_all(&n);
      return;
    }
    bool first = task[1]->poll(&f[0]) == VOLT_OK;
    EXPECT(!first || task[1]->poll(&f[1]) == VOLT_OK);
    volt_future_cancel(&f[0]);
    volt_future_cancel(&f[1]);
  }
  void check() override {
    uint32_t owed[2] = {task[0]->end(), task[1]->end()};
    EXPECT(left[0].gone(owed[0]) && left[1].gone(owed[1]));
    volt_notify_destroy(&n);
  }
};
MODEL(poll_by_another_x_open, 2, bounded)

// R13: whoever finds the semaphore closed finds both futures closed, and may end it then.
struct poll_x_sem_close : turn_poll {
  volt_sem *sem = new volt_sem();
  poll_x_sem_close() {
    volt_sem_init(sem, 1);
    volt_future_made(volt_sem_acquire_future(&f[0], sem, 2));
    volt_future_made(volt_sem_acquire_future(&f[1], sem, 2));
    begin();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_sem_close(sem);
    } else {
      bool closed = volt_sem_is_closed(sem);
      EXPECT(poll(0) == VOLT_ECLOSED || !closed);
      EXPECT(poll(1) == VOLT_ECLOSED || !closed);
      if (result[0] != VOLT_PENDING && result[1] != VOLT_PENDING) end();
    }
  }
  void end() {
    EXPECT(volt_sem_available(sem) == 1);
    volt_sem_destroy(sem);
    poison(&sem->queue);
    delete sem;
    sem = nullptr;
  }
  void check() override {
    expect(VOLT_ECLOSED);
    if (sem) end();
  }
};
MODEL(poll_x_sem_close, 2, bounded)

// The same beside a release: no permit is lost.
struct poll_x_sem_close_x_release : turn_poll {
  volt_sem sem;
  poll_x_sem_close_x_release() {
    volt_sem_init(&sem, 1);
    volt_future_made(volt_sem_acquire_future(&f[0], &sem, 3));
    volt_future_made(volt_sem_acquire_future(&f[1], &sem, 3));
    begin();
  }
  void thread(unsigned index) override {
    if (index == 0) volt_sem_close(&sem);
    if (index == 1) volt_sem_release(&sem, 1);
    if (index == 2) poll(0);
  }
  void check() override {
    expect(VOLT_ECLOSED);
    EXPECT(volt_sem_available(&sem) == 2);
    volt_sem_destroy(&sem);
  }
};
MODEL(poll_x_sem_close_x_release, 3, bounded)
