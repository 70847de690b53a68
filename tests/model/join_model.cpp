// join_model: of several futures all take effect, or none of their grants is lost. select.c R2;
// future.c I1.
#include "core/future_ops.h"
// PROGRAM: library
#include "poller.hpp"

// Two semaphores without a permit, and a join of one permit of each.
struct join_model : model {
  volt_sem sem[2];
  volt_future f[2];
  volt_future *branches[2];
  volt_join j;
  wake_count woken;
  int result = VOLT_PENDING;
  int one[2];

  explicit join_model(unsigned how) {
    for (unsigned i = 0; i < 2; i++) {
      volt_sem_init(&sem[i], 0);
      branches[i] = volt_sem_acquire_future(&f[i], &sem[i], 1);
    }
    volt_join_future(&j, branches, 2, how);
  }
  // By their owner, when the join is ready or was given up: every branch has ended. What a branch
  // has returned is its owner's, and nothing else is gone.
  void look_at_branches() {
    for (unsigned i = 0; i < 2; i++) {
      EXPECT(f[i].state == VOLT_FUTURE_READY_);
      one[i] = volt_future_poll(&f[i], volt_waker{nullptr, nullptr});
      poison(&f[i].waiter);
    }
  }
  void expect_conserved(unsigned i) {
    EXPECT(volt_sem_available(&sem[i]) == (one[i] == VOLT_OK ? 0u : 1u));
  }
};

// Polled while both are granted: ready, or woken for what is missing; all permits are the owner's.
struct join_x_grants : join_model {
  poller::trace first, again;
  poller *p = new poller(&again);
  uint32_t registered = 0;
  join_x_grants() : join_model(VOLT_JOIN_ALL) {
    poller *before = new poller(&first);
    EXPECT(before->poll(&j.future) == VOLT_PENDING);
    EXPECT(before->end() == 2);
  }
  void thread(unsigned index) override {
    if (index == 1) {
      volt_sem_release(&sem[1], 1);
      volt_sem_release(&sem[0], 1);
      return;
    }
    result = p->poll(&j.future);
    registered = p->end();
  }
  void check() override {
    EXPECT(result == VOLT_OK ? registered == 0 : result == VOLT_PENDING && registered > 0);
    EXPECT(again.gone(registered, 0) && first.gone(2 - registered, registered));
    EXPECT(volt_future_poll(&j.future, woken.waker()) == VOLT_OK);
    EXPECT(volt_sem_available(&sem[0]) == 0 && volt_sem_available(&sem[1]) == 0);
  }
};
MODEL(join_x_grants, 2, bounded)

// A thread blocks on all; each wake is one of the two that its parker is owed.
struct block_on_join_x_grants : join_model {
  block_on_join_x_grants() : join_model(VOLT_JOIN_ALL) {
  }
  void thread(unsigned index) override {
    if (index == 0) {
      result = volt_block_on(&j.future, 1);
      look_at_branches();
    } else {
      volt_sem_release(&sem[1], 1);
      volt_sem_release(&sem[0], 1);
    }
  }
  void check() override {
    EXPECT(result == VOLT_OK || result == VOLT_ETIMEDOUT);
    for (unsigned i = 0; i < 2; i++) {
      EXPECT(one[i] == VOLT_OK || result != VOLT_OK);
      expect_conserved(i);
    }
  }
};
MODEL(block_on_join_x_grants, 2, bounded)

// The first wake leaves a registration open, and the counts go round: future.c R1, park.c R2.
struct block_on_join_to_its_end : join_model {
  block_on_join_to_its_end() : join_model(VOLT_JOIN_ALL) {
  }
  void thread(unsigned index) override {
    if (index == 0) {
      result = volt_block_on(&j.future, VOLT_NO_DEADLINE);
    } else {
      volt_sem_release(&sem[1], 1);
      volt_sem_release(&sem[0], 1);
    }
  }
  void check() override {
    EXPECT(result == VOLT_OK);
    EXPECT(volt_sem_available(&sem[0]) + volt_sem_available(&sem[1]) == 0);
  }
};
MODEL(block_on_join_to_its_end, 2, bounded)

// One fails while the other is granted: the grant is given back unless a poll has returned it.
struct join_fails_x_grant : join_model {
  join_fails_x_grant() : join_model(VOLT_JOIN_FAIL_FAST) {
    EXPECT(volt_future_poll(&j.future, volt_waker{nullptr, nullptr}) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      result = volt_future_poll(&j.future, woken.waker());
      if (result == VOLT_PENDING) volt_future_cancel(&j.future);
      look_at_branches();
    } else {
      volt_sem_close(&sem[1]);
      volt_sem_release(&sem[0], 1);
    }
  }
  void check() override {
    EXPECT(result == VOLT_ECLOSED || result == VOLT_PENDING);
    EXPECT(one[1] == VOLT_ECLOSED || result == VOLT_PENDING);
    expect_conserved(0);
  }
};
MODEL(join_fails_x_grant, 2, bounded)
