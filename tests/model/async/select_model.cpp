// select_model: of several futures exactly one takes effect, or all of them. select.c R1, R2;
// future.c I1.
// PROGRAM: library
#include "core/future/future_ops.h"
#include "poller.hpp"

// Two semaphores without a permit, a select of one permit of either, pending for a poller that is
// gone: what refers to it is all that it has registered.
struct select_model : model {
  volt_sem sem[2];
  volt_future f[2];
  volt_future *branches[2];
  volt_select s;
  poller::trace first;
  wake_count second;

  explicit select_model(unsigned how = VOLT_SELECT_BIASED) {
    for (unsigned i = 0; i < 2; i++) {
      volt_sem_init(&sem[i], 0);
      branches[i] = volt_sem_acquire_future(&f[i], &sem[i], 1);
    }
    volt_future_made(volt_select_future(&s, branches, 2, how));
  }
  void poll_first() {
    poller *p = new poller(&first);
    EXPECT(p->poll(&s.future) == VOLT_PENDING);
    EXPECT(p->end() == 2);
  }
  // By another poller; given up if it is not ready yet.
  int poll_or_cancel() {
    int result = volt_future_poll(&s.future, second.waker());
    if (result == VOLT_PENDING) volt_future_cancel(&s.future);
    poison(&f[0].waiter);
    poison(&f[1].waiter);
    return result;
  }
  // Both permits were given: the winner's is held, if there is one; the others are in the pool.
  void expect_one_taken(int result) {
    EXPECT(result == VOLT_OK || result == VOLT_PENDING);
    EXPECT((volt_select_winner(&s) != UINT32_MAX) == (result == VOLT_OK));
    for (uint32_t i = 0; i < 2; i++) {
      EXPECT(volt_sem_available(&sem[i]) == (volt_select_winner(&s) == i ? 0u : 1u));
    }
  }
};

// R1: polled, and given up, while one thread grants both.
struct select_x_grants : select_model {
  int result = VOLT_PENDING;
  select_x_grants() {
    poll_first();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      result = poll_or_cancel();
    } else {
      volt_sem_release(&sem[1], 1);
      volt_sem_release(&sem[0], 1);
    }
  }
  void check() override {
    expect_one_taken(result);
    EXPECT(first.gone(2));
  }
};
MODEL(select_x_grants, 2, bounded)

// The same with a thread for each grant, and nobody who counts.
struct select_x_grant_x_grant : select_model {
  int result = VOLT_PENDING;
  select_x_grant_x_grant() {
    EXPECT(volt_future_poll(&s.future, volt_waker{nullptr, nullptr}) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 2) {
      result = volt_future_poll(&s.future, volt_waker{nullptr, nullptr});
    } else {
      volt_sem_release(&sem[index], 1);
    }
  }
  void check() override {
    volt_future_cancel(&s.future); // changes nothing if it is ready
    expect_one_taken(result);
  }
};
MODEL(select_x_grant_x_grant, 3, bounded)

// R1 with two mutexes that another thread unlocks: at most one is locked again, and what it guards
// can be seen.
struct select_of_mutexes : model {
  volt_mutex mutex[2];
  volt_future f[2];
  volt_future *branches[2];
  volt_select s;
  wake_count woken;
  VOLT_PLAIN(int) data[2];
  int result = VOLT_PENDING;

  select_of_mutexes() {
    for (unsigned i = 0; i < 2; i++) {
      volt_mutex_init(&mutex[i]);
      EXPECT(volt_mutex_try_lock(&mutex[i]) == VOLT_OK);
      branches[i] = volt_mutex_lock_future(&f[i], &mutex[i]);
    }
    volt_future_made(volt_select_future(&s, branches, 2, VOLT_SELECT_FAIR));
  }
  void thread(unsigned index) override {
    if (index == 1) {
      for (unsigned i = 0; i < 2; i++) {
        data[i] = 1;
        volt_mutex_unlock(&mutex[i]);
      }
      return;
    }
    result = volt_future_poll(&s.future, woken.waker());
    if (result == VOLT_PENDING) result = volt_future_poll(&s.future, woken.waker());
    if (result == VOLT_OK) EXPECT(data[volt_select_winner(&s)] == 1);
    volt_future_cancel(&s.future); // changes nothing if it is ready
  }
  void check() override {
    EXPECT(result == VOLT_OK || result == VOLT_PENDING);
    EXPECT((volt_select_winner(&s) != UINT32_MAX) == (result == VOLT_OK));
    for (uint32_t i = 0; i < 2; i++) {
      EXPECT(volt_mutex_is_locked(&mutex[i]) == (volt_select_winner(&s) == i));
    }
  }
};
MODEL(select_of_mutexes, 2, bounded)

// What a loser was granted goes to the waiter behind it.
struct select_loser_x_waiter : select_model {
  volt_waiter w;
  wake_count woken;
  int result = VOLT_PENDING;
  select_loser_x_waiter() {
    EXPECT(volt_future_poll(&s.future, volt_waker{nullptr, nullptr}) == VOLT_PENDING);
    EXPECT(volt_sem_acquire_waiter(&sem[1], &w, 1, woken.waker()) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      result = poll_or_cancel();
    } else {
      volt_sem_release(&sem[1], 1);
      volt_sem_release(&sem[0], 1);
    }
  }
  void check() override {
    uint32_t winner = volt_select_winner(&s);
    EXPECT((winner != UINT32_MAX) == (result == VOLT_OK));
    EXPECT(volt_sem_available(&sem[0]) == (winner == 0 ? 0u : 1u));
    EXPECT(volt_sem_available(&sem[1]) == 0);
    EXPECT(granted(&w) == (winner != 1) && woken.seen() == (winner != 1 ? 1u : 0u));
    if (winner == 1) EXPECT(volt_sem_cancel(&sem[1], &w));
  }
};
MODEL(select_loser_x_waiter, 2, bounded)

// R2: given up while one grant comes; its poller is freed by the wake or by the drop.
struct select_cancel_x_grant : select_model {
  select_cancel_x_grant() {
    poll_first();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_future_cancel(&s.future);
      poison(&f[0].waiter);
      poison(&f[1].waiter);
    } else {
      volt_sem_release(&sem[1], 1);
    }
  }
  void check() override {
    EXPECT(volt_sem_available(&sem[0]) == 0 && volt_sem_available(&sem[1]) == 1);
    EXPECT(first.gone(1, 1) || first.gone(0, 2));
    EXPECT(volt_future_poll(&s.future, second.waker()) == VOLT_ECANCELED);
  }
};
MODEL(select_cancel_x_grant, 2, bounded)

// KEEP: the loser stays pending, and what it is granted is its own; giving up the select gives up
// no branch.
struct select_keep_x_grants : select_model {
  int result = VOLT_PENDING;
  select_keep_x_grants() : select_model(VOLT_SELECT_BIASED | VOLT_SELECT_KEEP) {
    poll_first();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      result = volt_future_poll(&s.future, second.waker());
      if (result == VOLT_PENDING) volt_future_cancel(&s.future);
    } else {
      volt_sem_release(&sem[1], 1);
      volt_sem_release(&sem[0], 1);
    }
  }
  void check() override {
    EXPECT(result == VOLT_OK || result == VOLT_PENDING);
    for (unsigned i = 0; i < 2; i++) {
      EXPECT(volt_sem_available(&sem[i]) == 0);
      EXPECT(volt_future_poll(&f[i], second.waker()) == VOLT_OK);
    }
    EXPECT(first.gone(2));
  }
};
MODEL(select_keep_x_grants, 2, bounded)

// KEEP, and then the loser is cancelled: a grant that its owner has not seen is given back, though
// the select may have come across it.
struct select_keep_then_cancel : select_model {
  int result = VOLT_PENDING;
  select_keep_then_cancel() : select_model(VOLT_SELECT_BIASED | VOLT_SELECT_KEEP) {
    EXPECT(volt_future_poll(&s.future, volt_waker{nullptr, nullptr}) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 1) {
      volt_sem_release(&sem[1], 1);
      volt_sem_release(&sem[0], 1);
      return;
    }
    result = volt_future_poll(&s.future, volt_waker{nullptr, nullptr});
    for (uint32_t i = 0; i < 2; i++) {
      if (i != volt_select_winner(&s)) volt_future_cancel(&f[i]);
    }
  }
  void check() override {
    expect_one_taken(result);
  }
};
MODEL(select_keep_then_cancel, 2, bounded)

// R2: a thread blocks on it; the loser's wake comes to the parker on its stack, or is dropped.
struct block_on_select_x_grants : select_model {
  int result = VOLT_PENDING;
  void thread(unsigned index) override {
    if (index == 0) {
      result = volt_future_wait(&s.future);
    } else {
      volt_sem_release(&sem[0], 1);
      volt_sem_release(&sem[1], 1);
    }
  }
  void check() override {
    EXPECT(result == VOLT_OK);
    expect_one_taken(result);
  }
};
MODEL(block_on_select_x_grants, 2, bounded)

// The same with a deadline, that passes at any moment.
struct block_on_select_deadline : select_model {
  int result = VOLT_PENDING;
  void thread(unsigned index) override {
    if (index == 0) {
      result = volt_future_wait_until(&s.future, 1);
      poison(&f[0].waiter);
      poison(&f[1].waiter);
    } else {
      volt_sem_release(&sem[1], 1);
    }
  }
  void check() override {
    EXPECT(result == VOLT_OK || result == VOLT_ETIMEDOUT);
    EXPECT(volt_sem_available(&sem[1]) == (result == VOLT_OK ? 0u : 1u));
    EXPECT(volt_sem_available(&sem[0]) == 0);
  }
};
MODEL(block_on_select_deadline, 2, bounded)

// With KEEP the loser goes on waiting, but this thread does not: it returns when one is ready.
struct block_on_select_keep : select_model {
  block_on_select_keep() : select_model(VOLT_SELECT_BIASED | VOLT_SELECT_KEEP) {
  }
  void thread(unsigned index) override {
    if (index == 1) {
      volt_sem_release(&sem[0], 1);
      return;
    }
    EXPECT(volt_future_wait(&s.future) == VOLT_OK);
    EXPECT(volt_select_winner(&s) == 0);
    volt_future_cancel(&f[1]);
  }
  void check() override {
    EXPECT(volt_sem_available(&sem[0]) == 0 && volt_sem_available(&sem[1]) == 0);
  }
};
MODEL(block_on_select_keep, 2, bounded)

// The same when its deadline passes: no branch is given up, and none keeps the thread.
struct block_on_select_keep_deadline : block_on_select_keep {
  int result = VOLT_PENDING;
  void thread(unsigned index) override {
    if (index == 1) {
      volt_sem_release(&sem[0], 1);
      return;
    }
    result = volt_future_wait_until(&s.future, 1);
    volt_future_cancel(&f[0]); // changes nothing if it has won
    volt_future_cancel(&f[1]);
  }
  void check() override {
    EXPECT(result == VOLT_OK || result == VOLT_ETIMEDOUT);
    EXPECT(volt_sem_available(&sem[0]) == (result == VOLT_OK ? 0u : 1u));
    EXPECT(volt_sem_available(&sem[1]) == 0);
  }
};
MODEL(block_on_select_keep_deadline, 2, bounded)

// ==== joins: of several futures all take effect, or none of their grants is lost ====

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
    volt_future_made(volt_join_future(&j, branches, 2, how));
  }
  // By their owner, when the join is ready or was given up: every branch has ended. What a branch
  // has returned is its owner's, and nothing else is gone.
  void look_at_branches() {
    for (unsigned i = 0; i < 2; i++) {
      EXPECT(volt_future_state_(&f[i]) == VOLT_FUTURE_READY_);
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
      result = volt_future_wait_until(&j.future, 1);
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
      result = volt_future_wait(&j.future);
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
