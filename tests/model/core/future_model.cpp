// future_model: a future may be dropped, moved between wakers and timed out at any moment.
// Checks permits.c R4, R5 through volt_future, that a grant nobody polled is given back, and
// future.c I1.
// PROGRAM: library
#include "poller.hpp"

struct future_model : model {
  volt_sem sem;
  volt_future f;
  wake_count first, second;

  explicit future_model(uint32_t permits) {
    volt_sem_init(&sem, permits);
    volt_future_made(volt_sem_acquire_future(&f, &sem, 1));
  }
};

// Dropped while the permit comes: it is back in the pool, whoever was first.
struct drop_x_grant : future_model {
  drop_x_grant() : future_model(0) {
    EXPECT(volt_future_poll(&f, first.waker()) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_future_cancel(&f);
      poison(&f.waiter);
    }
    if (index == 1) volt_sem_release(&sem, 1);
  }
  void check() override {
    EXPECT(volt_sem_available(&sem) == 1);
    EXPECT(first.seen() <= 1);
  }
};
MODEL(drop_x_grant, 2, full)

// The same beside another waiter: the permit goes to it.
struct drop_x_grant_x_waiter : future_model {
  volt_waiter w;
  int result = VOLT_ECANCELED;
  drop_x_grant_x_waiter() : future_model(0) {
    EXPECT(volt_future_poll(&f, first.waker()) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) volt_future_cancel(&f);
    if (index == 1) volt_sem_release(&sem, 1);
    if (index == 2) result = volt_sem_acquire_waiter(&sem, &w, 1, second.waker());
  }
  void check() override {
    EXPECT(result == VOLT_OK || (granted(&w) && second.seen() == 1));
    EXPECT(volt_sem_available(&sem) == 0);
  }
};
MODEL(drop_x_grant_x_waiter, 3, bounded)

// Polled from another task while the grant comes: that task is woken, or this poll is ready.
struct migrate_x_grant : future_model {
  int result = VOLT_PENDING;
  migrate_x_grant() : future_model(0) {
    EXPECT(volt_future_poll(&f, first.waker()) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) result = volt_future_poll(&f, second.waker());
    if (index == 1) volt_sem_release(&sem, 1);
  }
  void check() override {
    if (result == VOLT_PENDING) EXPECT(first.seen() == 0 && second.seen() == 1);
    if (result == VOLT_OK) EXPECT(first.seen() == 1 && second.seen() == 0);
    EXPECT(volt_future_poll(&f, second.waker()) == VOLT_OK);
    EXPECT(volt_sem_available(&sem) == 0);
  }
};
MODEL(migrate_x_grant, 2, full)

// First polled while the permit comes.
struct start_x_grant : future_model {
  VOLT_PLAIN(int) message;
  start_x_grant() : future_model(0) {
  }
  void thread(unsigned index) override {
    if (index == 0) {
      if (volt_future_poll(&f, first.waker()) == VOLT_OK) EXPECT(message == 1);
      if (volt_future_poll(&f, first.waker()) == VOLT_OK) EXPECT(message == 1);
    }
    if (index == 1) {
      message = 1;
      volt_sem_release(&sem, 1);
    }
  }
  void check() override {
    EXPECT(volt_future_poll(&f, first.waker()) == VOLT_OK);
  }
};
MODEL(start_x_grant, 2, full)

// A thread blocks on it; the deadline passes at any moment.
struct block_on_deadline_x_grant : future_model {
  int result = VOLT_PENDING;
  block_on_deadline_x_grant() : future_model(0) {
  }
  void thread(unsigned index) override {
    if (index == 0) {
      result = volt_future_wait_until(&f, 1);
      poison(&f.waiter);
    }
    if (index == 1) volt_sem_release(&sem, 1);
  }
  void check() override {
    EXPECT(result == VOLT_OK || result == VOLT_ETIMEDOUT);
    EXPECT(volt_sem_available(&sem) == (result == VOLT_OK ? 0u : 1u));
  }
};
MODEL(block_on_deadline_x_grant, 2, bounded)

// Granted to a future of one task, dropped by it; a thread waits behind.
struct drop_x_block_on : future_model {
  volt_future behind;
  drop_x_block_on() : future_model(0) {
    EXPECT(volt_future_poll(&f, first.waker()) == VOLT_PENDING);
    volt_future_made(volt_sem_acquire_future(&behind, &sem, 1));
  }
  void thread(unsigned index) override {
    if (index == 0) volt_future_cancel(&f);
    if (index == 1) volt_sem_release(&sem, 1);
    if (index == 2) EXPECT(volt_future_wait(&behind) == VOLT_OK);
  }
  void check() override {
    EXPECT(volt_sem_available(&sem) == 0);
  }
};
MODEL(drop_x_block_on, 3, bounded)

// I1: polled by another poller while the grant comes. The first has ended: it is freed by its wake
// or its drop, and so is the second.
struct move_x_grant : future_model {
  poller::trace left[2];
  poller *after = new poller(&left[1]);
  int result = VOLT_PENDING;
  move_x_grant() : future_model(0) {
    poller *before = new poller(&left[0]);
    EXPECT(before->poll(&f) == VOLT_PENDING);
    EXPECT(before->poll(&f) == VOLT_PENDING); // the same once more registers nothing
    EXPECT(before->end() == 1);
  }
  void thread(unsigned index) override {
    if (index == 1) {
      volt_sem_release(&sem, 1);
      return;
    }
    result = after->poll(&f);
    EXPECT(after->end() == (result == VOLT_PENDING ? 1u : 0u));
  }
  void check() override {
    EXPECT(result == VOLT_OK || result == VOLT_PENDING);
    EXPECT(result == VOLT_OK ? left[0].gone(1, 0) && left[1].gone(0, 0)
                             : left[0].gone(0, 1) && left[1].gone(1, 0));
    EXPECT(volt_future_poll(&f, second.waker()) == VOLT_OK);
    EXPECT(volt_sem_available(&sem) == 0);
  }
};
MODEL(move_x_grant, 2, full)

// I1: cancelled while the grant comes: one wake, or one drop.
struct counted_drop_x_grant : future_model {
  poller::trace left;
  counted_drop_x_grant() : future_model(0) {
    poller *p = new poller(&left);
    EXPECT(p->poll(&f) == VOLT_PENDING);
    EXPECT(p->end() == 1);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_future_cancel(&f);
      poison(&f.waiter);
    }
    if (index == 1) volt_sem_release(&sem, 1);
  }
  void check() override {
    EXPECT(left.gone(1));
    EXPECT(volt_sem_available(&sem) == 1);
  }
};
MODEL(counted_drop_x_grant, 2, full)

// Polled by a poller that is cancelled, once, while the grant comes: it ends, and says so.
struct cancel_once_x_grant : future_model {
  poller::trace left;
  poller *p = new poller(&left);
  cancel_once_x_grant() : future_model(0) {
    EXPECT(volt_future_poll(&f, first.waker()) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 1) {
      volt_sem_release(&sem, 1);
      return;
    }
    p->ctx.cancel = VOLT_CTX_CANCEL_ONCE;
    EXPECT(p->poll(&f) == VOLT_ECANCELED);
    EXPECT(p->ctx.cancel == VOLT_CTX_GO_ON);
    EXPECT(p->end() == 0);
    poison(&f.waiter);
  }
  void check() override {
    EXPECT(left.gone(0, 0) && first.seen() <= 1);
    EXPECT(volt_sem_available(&sem) == 1);
  }
};
MODEL(cancel_once_x_grant, 2, full)

// I1: moved from one poller to another and cancelled there, all while the grant comes.
struct move_then_drop_x_grant : future_model {
  poller::trace left[2];
  poller *after = new poller(&left[1]);
  move_then_drop_x_grant() : future_model(0) {
    poller *before = new poller(&left[0]);
    EXPECT(before->poll(&f) == VOLT_PENDING);
    before->end();
  }
  void thread(unsigned index) override {
    if (index == 1) {
      volt_sem_release(&sem, 1);
      return;
    }
    int result = after->poll(&f);
    volt_future_cancel(&f); // changes nothing if it is ready
    if (result == VOLT_OK) volt_sem_release(&sem, 1);
    poison(&f.waiter);
    after->end();
  }
  void check() override {
    EXPECT(left[0].gone(1) && left[1].freed == 1);
    EXPECT(volt_sem_available(&sem) == 1);
  }
};
MODEL(move_then_drop_x_grant, 2, bounded)

// I1 of the future of a section: moved and cancelled while another thread serves it.
struct section_moves_x_run : model {
  volt_bcs_lock lock;
  volt_future f;
  volt_bcs_section section;
  poller::trace left[2];
  poller *by[2] = {new poller(&left[0]), new poller(&left[1])};
  uint32_t owed[2];
  VOLT_PLAIN(uint32_t) ran;
  int result = VOLT_PENDING;
  section_moves_x_run() {
    volt_bcs_lock_init(&lock);
    volt_future_made(volt_bcs_lock_run_future(&f, &lock, &section, run, this));
  }
  static void run(void *arg) {
    static_cast<section_moves_x_run *>(arg)->ran += 1;
  }
  void thread(unsigned index) override {
    if (index == 1) {
      volt_bcs_node node;
      volt_bcs_lock_run(&lock, &node, run, this);
      return;
    }
    for (unsigned i = 0; i < 2; i++) {
      result = by[i]->poll(&f);
      owed[i] = by[i]->end();
    }
    volt_future_cancel(&f); // changes nothing if it is ready
    poison(&f.waiter);
  }
  void check() override {
    EXPECT(left[0].gone(owed[0]) && left[1].gone(owed[1]));
    EXPECT(ran == 2 || (ran == 1 && result == VOLT_PENDING));
    volt_bcs_lock_destroy(&lock);
  }
};
MODEL(section_moves_x_run, 2, bounded)
