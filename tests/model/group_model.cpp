// group_model: tasks that end together: spawned, ended, cancelled, waited for and destroyed at any
// moment. group.c I1-I3, R1, R2; task_list.h.
// PROGRAM: task
#include "groups.hpp"
#include "poller.hpp"

// R1: the last task ends, and who waits destroys the group.
struct group_end_x_wait_destroy : group_model {
  group_end_x_wait_destroy() {
    spawn(0, fail);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      rt.run(1);
      return;
    }
    EXPECT(volt_group_wait_blocking(g, VOLT_NO_DEADLINE) == FAILURE);
    destroy();
  }
  void check() override {
    expect_over(FAILURE);
    EXPECT(left[0].gone(FAILURE));
  }
};
MODEL(group_end_x_wait_destroy, 2, bounded)

// R1, I1: two tasks end on two workers; the waker, called once, destroys the group.
struct group_last_of_two_wakes : group_model {
  volt_future f;
  VOLT_PLAIN(uint32_t) woken;
  group_last_of_two_wakes() {
    spawn(0, succeed);
    spawn(1, succeed);
    volt_group_wait_future(&f, g);
    EXPECT(volt_future_poll(&f, volt_waker{wake, this}) == VOLT_PENDING);
  }
  static void wake(void *p) {
    group_last_of_two_wakes *self = static_cast<group_last_of_two_wakes *>(p);
    self->woken += 1;
    EXPECT(volt_future_poll(&self->f, volt_waker{nullptr, nullptr}) == VOLT_OK);
    EXPECT(self->left[0].gone(VOLT_OK) && self->left[1].gone(VOLT_OK));
    self->destroy();
  }
  void thread(unsigned) override {
    rt.run(1);
  }
  void check() override {
    expect_over(VOLT_OK);
    EXPECT(woken == 1 && !g);
  }
};
MODEL(group_last_of_two_wakes, 2, bounded)

// Who waits gives up as the last task ends: told or dropped, once.
struct group_wait_cancel_x_end : group_model {
  volt_future f;
  poller::trace waiting;
  group_wait_cancel_x_end() {
    spawn(0, succeed);
    poller *p = new poller(&waiting);
    EXPECT(p->poll(volt_group_wait_future(&f, g)) == VOLT_PENDING);
    EXPECT(p->end() == 1);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      rt.run(1);
      return;
    }
    volt_future_cancel(&f);
    poison(&f.waiter);
  }
  void check() override {
    expect_over(VOLT_OK);
    EXPECT(waiting.gone(1));
  }
};
MODEL(group_wait_cancel_x_end, 2, bounded)

// Somebody else polls who waits, as the last task ends.
struct group_set_waker_x_end : group_model {
  volt_future f;
  poller::trace waiting[2];
  poller *after = new poller(&waiting[1]);
  int result = VOLT_PENDING;
  group_set_waker_x_end() {
    spawn(0, succeed);
    poller *before = new poller(&waiting[0]);
    EXPECT(before->poll(volt_group_wait_future(&f, g)) == VOLT_PENDING);
    EXPECT(before->end() == 1);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      rt.run(1);
      return;
    }
    result = after->poll(&f);
    EXPECT(after->end() == (result == VOLT_PENDING ? 1u : 0u));
  }
  void check() override {
    expect_over(VOLT_OK);
    EXPECT(result == VOLT_OK ? waiting[0].gone(1, 0) && waiting[1].gone(0, 0)
                             : waiting[0].gone(0, 1) && waiting[1].gone(1, 0));
    EXPECT(volt_waiter_result(&f.waiter) == VOLT_OK);
  }
};
MODEL(group_set_waker_x_end, 2, bounded)

// The group is waited for first as the last task ends, until a deadline.
struct group_wait_deadline_x_end : group_model {
  int result = VOLT_PENDING;
  group_wait_deadline_x_end() {
    spawn(0, succeed);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      rt.run(1);
      return;
    }
    result = volt_group_wait_blocking(g, 1);
    EXPECT(result == VOLT_OK || result == VOLT_ETIMEDOUT);
    if (result == VOLT_OK) destroy();
  }
  void check() override {
    expect_over(VOLT_OK);
  }
};
MODEL(group_wait_deadline_x_end, 2, bounded)

// R2: spawned while the group is cancelled: refused, or told to end.
struct group_cancel_x_spawn : group_model {
  model_task *t = make(0, until_cancelled);
  int spawned = VOLT_PENDING;
  int after = VOLT_PENDING;
  void thread(unsigned index) override {
    if (index == 0) {
      volt_group_cancel(g);
      model_task *late = make(1, until_cancelled);
      after = volt_group_spawn(g, rt.handle(), &late->task);
      volt_task_detach(&late->task);
    } else {
      spawned = volt_group_spawn(g, rt.handle(), &t->task);
      if (spawned != VOLT_OK) volt_task_detach(&t->task);
    }
  }
  void check() override {
    EXPECT(spawned == VOLT_OK || spawned == VOLT_ECANCELED);
    expect_over(spawned == VOLT_OK ? VOLT_ECANCELED : VOLT_OK);
    EXPECT(left[0].gone(spawned == VOLT_OK ? VOLT_ECANCELED : VOLT_PENDING));
    EXPECT(after == VOLT_ECANCELED);
  }
};
MODEL(group_cancel_x_spawn, 2, bounded)

// I3, R2: a task fails as another is spawned: that is refused, or told to end; the failure stands.
struct group_failure_x_spawn : group_model {
  model_task *t = make(1, until_cancelled);
  int spawned = VOLT_PENDING;
  group_failure_x_spawn() {
    spawn(0, fail);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      rt.run(1);
    } else {
      spawned = volt_group_spawn(g, rt.handle(), &t->task);
      if (spawned != VOLT_OK) volt_task_detach(&t->task);
    }
  }
  void check() override {
    EXPECT(spawned == VOLT_OK || spawned == VOLT_ECANCELED);
    expect_over(FAILURE);
    EXPECT(left[0].gone(FAILURE));
    EXPECT(left[1].gone(spawned == VOLT_OK ? VOLT_ECANCELED : VOLT_PENDING));
  }
};
MODEL(group_failure_x_spawn, 2, bounded)

// The group is cancelled as its task ends: freed once, and nobody asks it afterwards.
struct group_cancel_x_end : group_model {
  group_cancel_x_end() {
    spawn(0, succeed);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      rt.run(1);
    } else {
      volt_group_cancel(g);
    }
  }
  void check() override {
    expect_over(VOLT_OK);
    EXPECT(left[0].gone(VOLT_OK));
  }
};
MODEL(group_cancel_x_end, 2, bounded)

// One fails as the other, which waits, is told so; the first failure is the group's.
struct group_failure_cancels_other : group_model {
  group_failure_cancels_other() {
    spawn(0, until_cancelled);
    spawn(1, fail);
  }
  void thread(unsigned) override {
    rt.run(1);
  }
  void check() override {
    expect_over(FAILURE);
    EXPECT(left[0].gone(VOLT_ECANCELED) && left[1].gone(FAILURE));
  }
};
MODEL(group_failure_cancels_other, 2, bounded)

// The runtime takes no more as a task is spawned into the group and the group is cancelled: what was
// not spawned is the spawner's alone.
struct group_spawn_x_shutdown_x_cancel : group_model {
  model_task *t = make(0, until_cancelled);
  int spawned = VOLT_PENDING;
  void thread(unsigned index) override {
    if (index == 0) {
      volt_live_close_(rt.live());
    } else if (index == 1) {
      volt_group_cancel(g);
    } else {
      spawned = volt_group_spawn(g, rt.handle(), &t->task);
      if (spawned != VOLT_OK) volt_task_detach(&t->task);
    }
  }
  void check() override {
    expect_over(spawned == VOLT_OK ? VOLT_ECANCELED : VOLT_OK);
    EXPECT(left[0].gone(spawned == VOLT_OK ? VOLT_ECANCELED : VOLT_PENDING));
  }
};
MODEL(group_spawn_x_shutdown_x_cancel, 3, bounded)
