// select_composed_model: selects that contain timeouts, selects and functions, or are contained:
// channel.c R9; select.c R1 to R3; time.c; future.c I1. And selects whose second branch could take
// effect at once by a critical section of monitor.h, in the poll in which a channel decides for the
// first one. A case names the race it is after.
// PROGRAM: select_channel
#include "channels.hpp"
#include "select_channels.hpp"

// A timeout is cancelled: that is taken back if it has ended because of it, and only then.
struct timeout_cancel_once_x_send : two_receives {
  volt_timers timers;
  volt_timeout t;
  timeout_cancel_once_x_send() {
    volt_timers_init_virtual(&timers, volt_waker{nullptr, nullptr});
    volt_future_made(volt_timeout_future(&t, &f[1], &timers, 5));
    EXPECT(volt_future_poll(&t.future, volt_waker{nullptr, nullptr}) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 1) {
      EXPECT(c[1].send(2) == VOLT_OK);
      return;
    }
    p->ctx.cancel = VOLT_CTX_CANCEL_ONCE;
    result = p->poll(&t.future);
    EXPECT(p->ctx.cancel == (result == VOLT_OK ? VOLT_CTX_CANCEL_ONCE : VOLT_CTX_GO_ON));
    EXPECT(p->end() == 0);
    poison(&f[1].waiter);
  }
  void check() override {
    EXPECT(result == VOLT_OK || result == VOLT_ECANCELED);
    EXPECT(element[1].value == (result == VOLT_OK ? 2u : 0u));
    EXPECT(c[1].left() == (result == VOLT_OK ? 0u : 2u));
    EXPECT(last.gone(0));
    volt_timers_destroy(&timers);
  }
};
MODEL(timeout_cancel_once_x_send, 2, bounded)

// Given up by a thread that blocks on it, at any moment.
struct timeout_deadline_x_send : two_receives {
  volt_timers timers;
  volt_timeout t;
  timeout_deadline_x_send() {
    p->end();
    volt_timers_init_virtual(&timers, volt_waker{nullptr, nullptr});
    volt_future_made(volt_timeout_future(&t, &f[1], &timers, 5));
  }
  void thread(unsigned index) override {
    if (index == 1) {
      EXPECT(c[1].send(2) == VOLT_OK);
      return;
    }
    result = volt_future_wait_until(&t.future, 1);
    poison(&f[1].waiter);
  }
  void check() override {
    EXPECT(result == VOLT_OK || result == VOLT_ETIMEDOUT);
    EXPECT(element[1].value == (result == VOLT_OK ? 2u : 0u));
    EXPECT(c[1].left() == (result == VOLT_OK ? 0u : 2u));
    volt_timers_destroy(&timers);
  }
};
MODEL(timeout_deadline_x_send, 2, bounded)

// A loser that has to come to its end: until then the select is pending, though one has won.
struct slow_loser {
  volt_async async;
  volt_future go, end;
  volt_sem never;
  slow_loser() {
    volt_sem_init(&never, 0);
    volt_future_made(volt_async_future(&async, run));
  }

 private:
  static int run(volt_async *a, volt_ctx *ctx) {
    slow_loser *self = volt_container_of(a, slow_loser, async);
    VOLT_ASYNC_BEGIN(self);
    VOLT_AWAIT(self, volt_sem_acquire_future(&self->go, &self->never, 1));
    VOLT_FINALLY(self);
    VOLT_AWAIT(self, volt_sem_acquire_future(&self->end, &self->never, 1));
    VOLT_ASYNC_END(self);
  }
};

// Given up while it waits for the loser: an element stands.
struct select_with_slow_loser : two_receives {
  slow_loser loser;
  select_with_slow_loser() {
    branches[1] = &loser.async.future;
    select();
    poll_first();
  }
  void thread(unsigned index) override {
    if (index == 1) {
      EXPECT(c[0].send(1) == VOLT_OK);
      return;
    }
    EXPECT(p->poll(&s.future) == VOLT_PENDING);
    p->end();
    volt_future_cancel(&s.future);
    result = volt_future_poll(&s.future, volt_waker{nullptr, nullptr});
    poison(&f[0].waiter);
  }
  void check() override {
    expect_ended();
    expect_received(0);
    EXPECT(first.gone(2) && last.freed == 1);
  }
};
MODEL(select_with_slow_loser, 2, bounded)

// The same: a permit is given back.
struct permit_with_slow_loser : select_with_slow_loser {
  volt_sem sem;
  permit_with_slow_loser() {
    p->end();
    volt_sem_init(&sem, 0);
    volt_future_cancel(&s.future);
    volt_future_made(volt_sem_acquire_future(&f[0], &sem, 1));
    volt_future_made(volt_async_future(&loser.async, loser.async.poll));
    select();
    EXPECT(volt_future_poll(&s.future, volt_waker{nullptr, nullptr}) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 1) {
      volt_sem_release(&sem, 1);
      return;
    }
    EXPECT(volt_future_poll(&s.future, volt_waker{nullptr, nullptr}) == VOLT_PENDING);
    volt_future_cancel(&s.future);
    result = volt_future_poll(&s.future, volt_waker{nullptr, nullptr});
    poison(&f[0].waiter);
  }
  void check() override {
    EXPECT(result == VOLT_ECANCELED && volt_select_winner(&s) == UINT32_MAX);
    EXPECT(volt_sem_available(&sem) == 1);
  }
};
MODEL(permit_with_slow_loser, 2, bounded)

// R3: a select inside has received, and is pending until its loser has come to its end. The other branch,
// which becomes ready meanwhile, has lost.
struct select_taken_x_send : select_channel_model {
  slow_loser loser;
  volt_select inner;
  volt_future *inside[2] = {&loser.async.future, &f[0]};
  poller *p = new poller(&last);
  select_taken_x_send() {
    EXPECT(c[0].send(1) == VOLT_OK);
    receives(0);
    receives(1);
    branches[0] = volt_select_future(&inner, inside, 2, VOLT_SELECT_BIASED);
    select();
  }
  void thread(unsigned index) override {
    if (index == 1) {
      EXPECT(c[1].send(2) == VOLT_OK);
      return;
    }
    EXPECT(p->poll(&s.future) == VOLT_PENDING);
    volt_sem_release(&loser.never, 1);
    result = p->poll(&s.future);
    p->end();
  }
  void check() override {
    EXPECT(won(0) && volt_select_winner(&inner) == 1);
    expect_received(0);
    expect_received(1);
    EXPECT(volt_sem_available(&loser.never) == 0 && last.freed == 1);
  }
};
MODEL(select_taken_x_send, 2, bounded)

// ---- a select of what is composed ----

// What a timeout has got is given back if it is not the one.
struct select_timeout_or_receive : two_receives {
  volt_sem sem;
  volt_timers timers;
  volt_timeout t;
  select_timeout_or_receive() {
    volt_sem_init(&sem, 0);
    volt_timers_init_virtual(&timers, volt_waker{nullptr, nullptr});
    volt_future_made(volt_sem_acquire_future(&f[0], &sem, 1));
    branches[0] = volt_timeout_future(&t, &f[0], &timers, 5);
    p->end();
    EXPECT(volt_future_poll(&s.future, volt_waker{nullptr, nullptr}) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      EXPECT(c[1].send(2) == VOLT_OK);
      volt_sem_release(&sem, 1);
      return;
    }
    result = volt_future_poll(&s.future, volt_waker{nullptr, nullptr});
    if (result == VOLT_PENDING) volt_future_cancel(&s.future);
    result = ended();
  }
  void check() override {
    expect_ended();
    expect_received(1);
    EXPECT(volt_sem_available(&sem) == (won(0) ? 0u : 1u));
    volt_timers_destroy(&timers);
  }
};
MODEL(select_timeout_or_receive, 2, bounded)

// The time of one has come; what was moved for it before stands.
struct select_timeouts_x_expire_x_send : two_receives {
  volt_timers timers;
  volt_timeout t;
  select_timeouts_x_expire_x_send() {
    volt_timers_init_virtual(&timers, volt_waker{nullptr, nullptr});
    branches[0] = volt_timeout_future(&t, &f[0], &timers, 5);
    EXPECT(volt_future_poll(&s.future, volt_waker{nullptr, nullptr}) == VOLT_PENDING);
    volt_timers_expire(&timers, 10);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      result = p->poll(&s.future);
      p->end();
      EXPECT(result != VOLT_PENDING);
      poison(&f[0].waiter);
      poison(&f[1].waiter);
    } else {
      EXPECT(c[2 - index].send(3 - index) == VOLT_OK);
    }
  }
  void check() override {
    EXPECT(result == VOLT_OK || result == VOLT_ETIMEDOUT);
    EXPECT(result == VOLT_OK || volt_select_winner(&s) == 0);
    expect_received(0);
    expect_received(1);
    EXPECT(last.freed == 1);
    volt_timers_destroy(&timers);
  }
};
MODEL(select_timeouts_x_expire_x_send, 3, bounded)

// One decision for all that is inside.
struct select_of_select_x_sends : two_receives {
  volt_select inner;
  volt_future *inside[1] = {&f[0]};
  select_of_select_x_sends() {
    branches[0] = volt_select_future(&inner, inside, 1, VOLT_SELECT_BIASED);
    poll_first();
  }
  void thread(unsigned index) override {
    if (index == 1) {
      EXPECT(c[1].send(2) == VOLT_OK);
      EXPECT(c[0].send(1) == VOLT_OK);
      return;
    }
    result = poll_and_cancel(p);
  }
  void check() override {
    two_receives::check();
    EXPECT(won(0) == (volt_select_winner(&inner) == 0));
    EXPECT(first.gone(2));
  }
};
MODEL(select_of_select_x_sends, 2, bounded)

// Kept, and left by a poller that goes on: a branch that was dismissed does not keep it.
struct block_on_kept_select_x_sends : two_receives {
  volt_sem sem;
  volt_future permit;
  volt_select keeps;
  volt_future *kept[2] = {&permit, &s.future};
  block_on_kept_select_x_sends() {
    p->end();
    volt_sem_init(&sem, 0);
    volt_future_made(volt_sem_acquire_future(&permit, &sem, 1));
    volt_future_made(volt_select_future(&keeps, kept, 2, VOLT_SELECT_BIASED | VOLT_SELECT_KEEP));
  }
  void thread(unsigned index) override {
    if (index == 1) {
      EXPECT(c[0].send(1) == VOLT_OK);
      EXPECT(c[1].send(2) == VOLT_OK);
      volt_sem_release(&sem, 1);
      return;
    }
    EXPECT(volt_future_wait(&keeps.future) == VOLT_OK);
    volt_future_cancel(&s.future);
    result = ended();
  }
};
MODEL(block_on_kept_select_x_sends, 2, bounded)

// A join of two permits as a branch: it has won with both, or has lost and gives back what is ready.
struct select_join_x_grants : two_receives {
  volt_sem sem;
  volt_future permit[2];
  volt_future *both[2] = {&permit[0], &permit[1]};
  volt_join join;
  select_join_x_grants() {
    volt_sem_init(&sem, 0);
    for (volt_future *one : both) volt_future_made(volt_sem_acquire_future(one, &sem, 1));
    branches[0] = volt_join_future(&join, both, 2, VOLT_JOIN_ALL);
    EXPECT(p->poll(&s.future) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 1) {
      EXPECT(c[1].send(2) == VOLT_OK);
      volt_sem_release(&sem, 2);
      return;
    }
    result = p->poll(&s.future);
    p->end();
    if (result == VOLT_PENDING) volt_future_cancel(&s.future);
    result = volt_future_poll(&s.future, volt_waker{nullptr, nullptr});
  }
  void check() override {
    uint32_t held = 0;
    for (volt_future *one : both) {
      if (volt_future_poll(one, volt_waker{nullptr, nullptr}) == VOLT_OK) held++;
    }
    expect_ended();
    EXPECT(won(0) ? held == 2 : held < 2);
    EXPECT(volt_sem_available(&sem) == 2 - held);
    expect_received(1);
  }
};
MODEL(select_join_x_grants, 2, bounded)

// ==== the second branch stands on the monitor ====

struct turn_in_select : model {
  channel c;
  volt_model_element number, received;
  volt_future f[2];
  volt_future *branches[2];
  volt_select s;
  int outcome = VOLT_PENDING;

  turn_in_select() : c(1, 0) {
    number.value = 5;
    branches[0] = volt_chan_recv_future(&f[0], &c.chan, &received);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      branches[1] = second();
      volt_future_made(volt_select_future(&s, branches, 2, VOLT_SELECT_BIASED));
      outcome = volt_future_poll(&s.future, volt_waker{nullptr, nullptr});
      EXPECT(outcome != VOLT_PENDING);
    } else {
      EXPECT(volt_chan_try_send(&c.chan, &number) == VOLT_OK);
    }
  }
  virtual volt_future *second() = 0;
  // The second one has won; or it has not, and the element was moved.
  bool won() {
    bool second_won = volt_select_winner(&s) == 1;
    volt_model_element left;
    EXPECT((volt_chan_try_recv(&c.chan, &left) == VOLT_OK) == second_won);
    return second_won;
  }
};

// R1 in barrier.c: the last to arrive leads, or has not arrived.
struct select_barrier_x_send : turn_in_select {
  volt_barrier b;
  volt_waiter other;
  wake_count woken;
  select_barrier_x_send() {
    volt_barrier_init(&b, 2);
    EXPECT(volt_barrier_wait_waiter(&b, &other, woken.waker()) == VOLT_PENDING);
  }
  volt_future *second() override {
    return volt_barrier_wait_future(&f[1], &b);
  }
  void check() override {
    bool leads = won();
    EXPECT(outcome == (leads ? VOLT_LEADER : VOLT_OK));
    EXPECT(granted(&other) == leads && woken.seen() == (leads ? 1u : 0u));
    EXPECT(leads || volt_future_poll(&f[1], volt_waker{nullptr, nullptr}) == VOLT_ECANCELED);
    if (!leads) EXPECT(volt_barrier_cancel(&b, &other));
    volt_barrier_destroy(&b);
  }
};
MODEL(select_barrier_x_send, 2, bounded)

// It was its turn at once; if it has lost, it has passed that on.
struct select_once_x_send : turn_in_select {
  volt_once o;
  select_once_x_send() {
    volt_once_init(&o);
    f[1].waiter.data = nullptr;
  }
  volt_future *second() override {
    return volt_once_begin_future(&f[1], &o);
  }
  void check() override {
    if (won()) volt_once_failed(&o);
    volt_waiter w;
    EXPECT(volt_once_begin_waiter(&o, &w, volt_waker{nullptr, nullptr}) == VOLT_OK);
    volt_once_done(&o);
    volt_once_destroy(&o);
  }
};
MODEL(select_once_x_send, 2, bounded)

// R3 in watch.c: it has looked at once; if it has lost, it has seen nothing, however much it had
// missed.
struct select_watch_x_send : turn_in_select {
  volt_watch w;
  uint64_t seen;
  explicit select_watch_x_send(uint64_t before = 0) : seen(before) {
    volt_watch_init(&w, 0, nullptr, nullptr);
  }
  volt_future *second() override {
    return volt_watch_changed_future(&f[1], &w, &seen);
  }
  void check() override {
    bool sees = won();
    EXPECT((seen == 1) == sees);
    EXPECT(sees || volt_watch_try_changed(&w, &seen) == VOLT_OK);
  }
};
MODEL(select_watch_x_send, 2, bounded)
struct select_watch_far_x_send : select_watch_x_send {
  select_watch_far_x_send() : select_watch_x_send(1 - (uint64_t(1) << 32)) {
  }
};
MODEL(select_watch_far_x_send, 2, bounded)

// R3 in oneshot.c: in a join it has received at once; if that has lost, the value is in the slot
// again, while a close looks whether one was sent.
struct select_oneshot_join_x_send_x_close : turn_in_select {
  volt_oneshot o;
  volt_join join;
  volt_future *inner[1];
  select_oneshot_join_x_send_x_close() {
    volt_oneshot_init(&o, 0, nullptr);
    EXPECT(volt_oneshot_send(&o, nullptr) == VOLT_OK);
  }
  void thread(unsigned index) override {
    if (index == 2) {
      volt_oneshot_close(&o);
    } else {
      turn_in_select::thread(index);
    }
  }
  volt_future *second() override {
    inner[0] = volt_oneshot_recv_future(&f[1], &o, nullptr);
    return volt_join_future(&join, inner, 1, 0);
  }
  void check() override {
    EXPECT(volt_oneshot_try_recv(&o, nullptr) == (won() ? VOLT_ECLOSED : VOLT_OK));
  }
};
MODEL(select_oneshot_join_x_send_x_close, 3, bounded)

// R4 in oneshot.c: another receiver comes meanwhile: it is told that nothing will come only if the
// select has won by the value.
struct select_oneshot_x_send_x_recv : turn_in_select {
  volt_oneshot o;
  int other = VOLT_PENDING;
  select_oneshot_x_send_x_recv() {
    volt_oneshot_init(&o, 0, nullptr);
    EXPECT(volt_oneshot_send(&o, nullptr) == VOLT_OK);
  }
  void thread(unsigned index) override {
    if (index == 2) {
      other = volt_oneshot_try_recv(&o, nullptr);
    } else {
      turn_in_select::thread(index);
    }
  }
  volt_future *second() override {
    return volt_oneshot_recv_future(&f[1], &o, nullptr);
  }
  void check() override {
    bool received = won() && outcome == VOLT_OK;
    EXPECT(other == (received ? VOLT_ECLOSED : VOLT_OK));
    EXPECT(volt_oneshot_try_recv(&o, nullptr) == VOLT_ECLOSED);
  }
};
MODEL(select_oneshot_x_send_x_recv, 3, bounded)

// The same for a receive that has waited.
struct select_oneshot_waits_x_send_x_recv : turn_in_select {
  volt_oneshot o;
  int other = VOLT_EAGAIN;
  wake_count woken;
  select_oneshot_waits_x_send_x_recv() {
    volt_oneshot_init(&o, 0, nullptr);
    branches[1] = second();
    volt_future_made(volt_select_future(&s, branches, 2, VOLT_SELECT_BIASED));
    EXPECT(volt_future_poll(&s.future, woken.waker()) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      outcome = volt_future_poll(&s.future, woken.waker());
    } else if (index == 1) {
      EXPECT(volt_oneshot_send(&o, nullptr) == VOLT_OK);
      EXPECT(volt_chan_try_send(&c.chan, &number) == VOLT_OK);
    } else {
      other = volt_oneshot_try_recv(&o, nullptr);
    }
  }
  volt_future *second() override {
    return volt_oneshot_recv_future(&f[1], &o, nullptr);
  }
  void check() override {
    if (outcome == VOLT_PENDING) outcome = volt_future_poll(&s.future, woken.waker());
    bool received = won() && outcome == VOLT_OK;
    if (other == VOLT_EAGAIN) other = volt_oneshot_try_recv(&o, nullptr);
    EXPECT(other == (received ? VOLT_ECLOSED : VOLT_OK));
    EXPECT(volt_oneshot_try_recv(&o, nullptr) == VOLT_ECLOSED);
  }
};
MODEL(select_oneshot_waits_x_send_x_recv, 3, bounded)
