// broadcast_model: values that overwrite each other, receivers that come and go.
// Checks broadcast.c I1, R1-R3; a case names the race it is after.
// PROGRAM: monitors
#include "channels.hpp"

// Values are 1, 2, 3, ...: position + 1, if one thread sends them.
struct broadcast_model : model {
  volt_broadcast b;
  volt_model_element ring[2];
  volt_broadcast_receiver r[2];
  volt_waiter w[2];
  volt_model_element got[2];
  wake_count woken[2];
  int result[2] = {VOLT_ECANCELED, VOLT_ECANCELED};

  explicit broadcast_model(uint32_t capacity) {
    size_t bytes = sizeof(volt_model_element);
    EXPECT(volt_broadcast_init(&b, capacity, bytes, ring, sizeof ring) == VOLT_OK);
    for (unsigned i = 0; i < 2; i++) volt_broadcast_subscribe(&b, &r[i]);
  }
  int recv(unsigned i) {
    return result[i] = volt_broadcast_recv_waiter(&r[i], &w[i], &got[i], woken[i].waker());
  }
  int send(uint64_t value) {
    volt_model_element e;
    e.value = value;
    return volt_broadcast_send(&b, &e);
  }
  // What it receives next; 0: nothing.
  uint64_t next(unsigned i) {
    result[i] = volt_broadcast_try_recv(&r[i], &got[i]);
    return result[i] == VOLT_OK ? static_cast<uint64_t>(got[i].value) : 0;
  }
  // It receives the values from first to last, less those it is told that it has lost.
  void expect_rest(unsigned i, uint64_t first, uint64_t last) {
    uint64_t lost = volt_broadcast_lost(&r[i]);
    got[i].value = 0;
    if (volt_broadcast_try_recv(&r[i], &got[i]) == VOLT_ELAGGED) {
      first += volt_broadcast_lost(&r[i]) - lost;
    } else if (first <= last) {
      EXPECT(got[i].value == first++);
    }
    for (; first <= last; first++) EXPECT(next(i) == first);
    EXPECT(next(i) == 0);
  }
};

// I1: a receiver comes while a value is sent: it has it, or is told; so does a second one.
struct broadcast_recv_x_send : broadcast_model {
  VOLT_PLAIN(int) message;
  broadcast_recv_x_send() : broadcast_model(1) {
    EXPECT(recv(1) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      recv(0);
      if (result[0] == VOLT_OK || granted(&w[0])) EXPECT(message == 1);
    } else {
      message = 1;
      EXPECT(send(1) == VOLT_OK);
    }
  }
  void check() override {
    EXPECT(woken[0].seen() == (result[0] == VOLT_PENDING ? 1u : 0u) && woken[1].seen() == 1);
    EXPECT(granted(&w[1]) && (result[0] == VOLT_OK || granted(&w[0])));
    if (result[0] == VOLT_OK) EXPECT(got[0].value == 1);
    expect_rest(0, result[0] == VOLT_OK ? 2 : 1, 1);
    expect_rest(1, 1, 1);
  }
};
MODEL(broadcast_recv_x_send, 2, full)

// Two come, three at once.
struct broadcast_two_recv_x_send : broadcast_model {
  broadcast_two_recv_x_send() : broadcast_model(1) {
  }
  void thread(unsigned index) override {
    if (index == 2) {
      EXPECT(send(1) == VOLT_OK);
    } else {
      recv(index);
    }
  }
  void check() override {
    for (unsigned i = 0; i < 2; i++) {
      EXPECT(result[i] == VOLT_OK || (granted(&w[i]) && woken[i].seen() == 1));
      expect_rest(i, result[i] == VOLT_OK ? 2 : 1, 1);
    }
  }
};
MODEL(broadcast_two_recv_x_send, 3, bounded)

// R2: a value is overwritten while it is received: it is received whole, or known to be lost.
struct broadcast_overwritten : broadcast_model {
  uint64_t first = 0;
  broadcast_overwritten() : broadcast_model(1) {
    EXPECT(send(1) == VOLT_OK);
  }
  void thread(unsigned index) override {
    if (index == 0) first = next(0);
    if (index == 1) EXPECT(send(2) == VOLT_OK);
  }
  void check() override {
    EXPECT(first == (volt_broadcast_lost(&r[0]) == 1 ? 0u : 1u));
    expect_rest(0, 2, 2);
    expect_rest(1, 1, 2);
  }
};
MODEL(broadcast_overwritten, 2, full)

// R1: it gives up; what was sent is received afterwards.
struct broadcast_cancel_x_send : broadcast_model {
  bool cancelled = false;
  broadcast_cancel_x_send() : broadcast_model(2) {
    EXPECT(recv(0) == VOLT_PENDING);
    EXPECT(recv(1) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      cancelled = volt_broadcast_cancel(&r[0], &w[0]);
      EXPECT(cancelled || granted(&w[0]));
      poison(&w[0]);
    } else {
      EXPECT(send(1) == VOLT_OK);
    }
  }
  void check() override {
    EXPECT(woken[0].seen() == (cancelled ? 0u : 1u) && woken[1].seen() == 1);
    expect_rest(0, 1, 1);
    expect_rest(1, 1, 1);
  }
};
MODEL(broadcast_cancel_x_send, 2, bounded)

// Two senders: both values are received, in one order for all.
struct broadcast_two_sends : broadcast_model {
  uint64_t seen[2][2];
  broadcast_two_sends() : broadcast_model(2) {
    EXPECT(recv(0) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    EXPECT(send(index + 1) == VOLT_OK);
  }
  void check() override {
    EXPECT(granted(&w[0]) && woken[0].seen() == 1);
    for (unsigned i = 0; i < 2; i++) {
      for (unsigned k = 0; k < 2; k++) seen[i][k] = next(i);
      EXPECT(seen[i][0] + seen[i][1] == 3 && seen[i][0] * seen[i][1] == 2);
    }
    EXPECT(seen[0][0] == seen[1][0]);
  }
};
MODEL(broadcast_two_sends, 2, full)

// Closed meanwhile: what was sent is received first. C1: who sees that it is closed sees what came
// before.
struct broadcast_close_x_send_x_recv : broadcast_model {
  VOLT_PLAIN(int) message;
  uint64_t received = 0;
  int was_sent = VOLT_ECANCELED;
  broadcast_close_x_send_x_recv() : broadcast_model(1) {
  }
  void thread(unsigned index) override {
    if (index == 0) {
      while (volt_broadcast_recv(&r[0], &got[0]) == VOLT_OK) received++;
      EXPECT(message == 1);
    }
    if (index == 1) was_sent = send(1);
    if (index == 2) {
      message = 1;
      volt_broadcast_close(&b);
    }
  }
  void check() override {
    EXPECT(received == (was_sent == VOLT_OK ? 1u : 0u));
    EXPECT(was_sent == VOLT_OK || was_sent == VOLT_ECLOSED);
    if (was_sent == VOLT_OK) EXPECT(next(1) == 1);
    EXPECT(next(1) == 0 && result[1] == VOLT_ECLOSED);
  }
};
MODEL(broadcast_close_x_send_x_recv, 3, bounded)

// C1: the same by looking.
struct broadcast_close_seen : broadcast_model {
  VOLT_PLAIN(int) message;
  broadcast_close_seen() : broadcast_model(1) {
  }
  void thread(unsigned index) override {
    if (index == 0 && volt_broadcast_is_closed(&b)) EXPECT(message == 1);
    if (index == 1) {
      message = 1;
      volt_broadcast_close(&b);
    }
  }
};
MODEL(broadcast_close_seen, 2, full)

// Who subscribes gets all that is sent after it, and nothing before.
struct broadcast_subscribe_x_send : broadcast_model {
  uint64_t first = 0;
  broadcast_subscribe_x_send() : broadcast_model(2) {
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_broadcast_subscribe(&b, &r[0]);
      first = next(0);
    } else {
      EXPECT(send(1) == VOLT_OK);
      EXPECT(send(2) == VOLT_OK);
    }
  }
  void check() override {
    uint64_t second = next(0);
    EXPECT(first == 0 || second == (first == 1 ? 2u : 0u));
    if (first == 0 && second == 1) EXPECT(next(0) == 2);
    EXPECT(next(0) == 0 && volt_broadcast_lost(&r[0]) == 0);
  }
};
MODEL(broadcast_subscribe_x_send, 2, bounded)

// R1, R3: in a select with a channel; both are sent to. One takes effect, the other loses nothing.
struct broadcast_select_x_sends : broadcast_model {
  channel c;
  volt_model_element number, from_chan;
  volt_future f[2];
  volt_future *branches[2];
  volt_select s;
  int outcome = VOLT_PENDING;

  explicit broadcast_select_x_sends(uint32_t capacity = 2) : broadcast_model(capacity), c(1, 0) {
    number.value = 5;
    branches[0] = volt_broadcast_recv_future(&f[0], &r[0], &got[0]);
    branches[1] = volt_chan_recv_future(&f[1], &c.chan, &from_chan);
    volt_future_made(volt_select_future(&s, branches, 2, VOLT_SELECT_BIASED));
    EXPECT(volt_future_poll(&s.future, volt_waker{nullptr, nullptr}) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      (void)volt_future_poll(&s.future, volt_waker{nullptr, nullptr});
      volt_future_cancel(&s.future); // changes nothing if it is ready
      outcome = volt_future_poll(&s.future, volt_waker{nullptr, nullptr});
    } else {
      EXPECT(send(1) == VOLT_OK);
      EXPECT(volt_chan_try_send(&c.chan, &number) == VOLT_OK);
    }
  }
  void check() override {
    uint32_t winner = volt_select_winner(&s);
    EXPECT(outcome == (winner == UINT32_MAX ? VOLT_ECANCELED : VOLT_OK));
    if (winner == 0) EXPECT(got[0].value == 1);
    expect_rest(0, winner == 0 ? 2 : 1, 1);
    EXPECT(volt_chan_len(&c.chan) == (winner == 1 ? 0u : 1u));
    if (winner == 1) EXPECT(from_chan.value == 5);
  }
};
MODEL(broadcast_select_x_sends, 2, bounded)

// R3: the same, and it may be too slow: it is told, by the select or by the next receive.
struct broadcast_select_x_too_many : broadcast_select_x_sends {
  broadcast_select_x_too_many() : broadcast_select_x_sends(1) {
  }
  void thread(unsigned index) override {
    if (index == 1) EXPECT(send(1) == VOLT_OK);
    if (index == 1) EXPECT(send(2) == VOLT_OK);
    if (index == 1) EXPECT(volt_chan_try_send(&c.chan, &number) == VOLT_OK);
    if (index == 0) broadcast_select_x_sends::thread(0);
  }
  void check() override {
    bool won = volt_select_winner(&s) == 0;
    if (won && outcome == VOLT_OK) {
      EXPECT(got[0].value == 1);
    } else {
      EXPECT(volt_broadcast_lost(&r[0]) == (won ? 1u : 0u));
      EXPECT(outcome == (won                           ? VOLT_ELAGGED
                         : volt_chan_len(&c.chan) == 0 ? VOLT_OK
                                                       : VOLT_ECANCELED));
      if (!won) EXPECT(next(0) == 0 && result[0] == VOLT_ELAGGED);
      EXPECT(volt_broadcast_lost(&r[0]) == 1);
    }
    EXPECT(next(0) == 2 && next(0) == 0);
  }
};
MODEL(broadcast_select_x_too_many, 2, bounded)
