// select_monitors_model: a select whose second branch could take effect at once, by a turn (monitor.h),
// in the poll in which a channel decides for the first one. A case names the race it is after.
// PROGRAM: select_channel
#include "channels.hpp"

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
      volt_select_future(&s, branches, 2, VOLT_SELECT_BIASED);
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
    EXPECT(volt_barrier_wait(&b, &other, woken.waker()) == VOLT_PENDING);
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
    EXPECT(volt_once_begin(&o, &w, volt_waker{nullptr, nullptr}) == VOLT_OK);
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
    volt_select_future(&s, branches, 2, VOLT_SELECT_BIASED);
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
