// oneshot_model: one value, a receiver that may give up, a sender that may.
// Checks oneshot.c R1-R3; a case names the race it is after.
// PROGRAM: monitors
#include "channels.hpp"

struct oneshot_model : model {
  volt_oneshot o;
  volt_model_element slot, sent, got;
  volt_waiter w;
  wake_count woken;
  VOLT_PLAIN(int) message;
  int received = VOLT_ECANCELED, was_sent = VOLT_ECANCELED;

  oneshot_model() {
    volt_oneshot_init(&o, sizeof slot, &slot);
    sent.value = 7;
  }
  int recv() {
    return received = volt_oneshot_recv_waiter(&o, &w, &got, woken.waker());
  }
  int send() {
    message = 1;
    return was_sent = volt_oneshot_send(&o, &sent);
  }
  // The value can be received now, and once.
  void expect_value() {
    got.value = 0;
    EXPECT(volt_oneshot_try_recv(&o, &got) == VOLT_OK && got.value == 7);
    EXPECT(volt_oneshot_try_recv(&o, &got) == VOLT_ECLOSED);
  }
};

// The receiver comes meanwhile: it has the value, or is told; and sees what came before.
struct oneshot_recv_x_send : oneshot_model {
  void thread(unsigned index) override {
    if (index == 0) {
      recv();
      if (received == VOLT_OK || granted(&w)) EXPECT(message == 1);
    } else {
      send();
    }
  }
  void check() override {
    EXPECT(was_sent == VOLT_OK);
    EXPECT(woken.seen() == (received == VOLT_OK ? 0u : 1u));
    if (received == VOLT_OK) {
      EXPECT(got.value == 7 && volt_oneshot_try_recv(&o, &got) == VOLT_ECLOSED);
    } else {
      EXPECT(received == VOLT_PENDING && granted(&w));
      expect_value();
    }
  }
};
MODEL(oneshot_recv_x_send, 2, full)

// R1: it gives up; the value stays.
struct oneshot_cancel_x_send : oneshot_model {
  bool cancelled = false;
  oneshot_cancel_x_send() {
    EXPECT(recv() == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      cancelled = volt_oneshot_cancel(&o, &w);
      EXPECT(cancelled || granted(&w));
      poison(&w);
    } else {
      send();
    }
  }
  void check() override {
    EXPECT(woken.seen() == (cancelled ? 0u : 1u));
    expect_value();
  }
};
MODEL(oneshot_cancel_x_send, 2, full)

// Either the value was sent, or it was closed before.
struct oneshot_close_x_send : oneshot_model {
  void thread(unsigned index) override {
    if (index == 0) volt_oneshot_close(&o);
    if (index == 1) send();
  }
  void check() override {
    EXPECT(volt_oneshot_is_closed(&o) == (was_sent == VOLT_ECLOSED));
    if (was_sent == VOLT_OK) {
      expect_value();
    } else {
      EXPECT(volt_oneshot_try_recv(&o, &got) == VOLT_ECLOSED);
    }
  }
};
MODEL(oneshot_close_x_send, 2, full)

// The sender gives up while the receiver comes. C1: who sees that sees what came before.
struct oneshot_recv_x_close : oneshot_model {
  void thread(unsigned index) override {
    if (index == 0) {
      recv();
      if (volt_oneshot_is_closed(&o)) EXPECT(message == 1);
    } else {
      message = 1;
      volt_oneshot_close(&o);
    }
  }
  void check() override {
    EXPECT(received == VOLT_ECLOSED || received == VOLT_PENDING);
    if (received == VOLT_PENDING) EXPECT(volt_waiter_result(&w) == VOLT_ECLOSED);
    EXPECT(woken.seen() == (received == VOLT_PENDING ? 1u : 0u));
  }
};
MODEL(oneshot_recv_x_close, 2, full)

// A receiver and a sender wait for what becomes of it: both are told of the one close, or send.
struct oneshot_both_wait : oneshot_model {
  volt_future f;
  wake_count second;
  oneshot_both_wait() {
    EXPECT(volt_future_poll(volt_oneshot_closed_future(&f, &o), second.waker()) == VOLT_PENDING);
    EXPECT(recv() == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) volt_oneshot_close(&o);
    if (index == 1) send();
  }
  void check() override {
    EXPECT(woken.seen() == 1 && second.seen() == 1);
    EXPECT(volt_waiter_result(&w) == was_sent);
    EXPECT(volt_future_poll(&f, second.waker()) == was_sent);
  }
};
MODEL(oneshot_both_wait, 2, bounded)

// R2: who has received frees it, while the send returns.
struct oneshot_received_and_freed : model {
  struct shared {
    volt_oneshot o;
    volt_model_element slot;
  } *s = new shared;
  VOLT_PLAIN(uint32_t) ended;

  oneshot_received_and_freed() {
    volt_oneshot_init(&s->o, sizeof s->slot, &s->slot);
  }
  void thread(unsigned index) override {
    volt_model_element e;
    e.value = 7;
    if (index == 1) {
      EXPECT(volt_oneshot_send(&s->o, &e) == VOLT_OK);
      return;
    }
    e.value = 0;
    EXPECT(volt_oneshot_recv(&s->o, &e) == VOLT_OK);
    EXPECT(e.value == 7);
    volt_oneshot_destroy(&s->o);
    poison(&s->o.queue);
    s->o.state = 0xdead;
    s->slot.value = 0xdead;
    delete s;
  }
};
MODEL(oneshot_received_and_freed, 2, bounded)

// R1: a deadline passes at any moment. The value is received once, by the wait or afterwards.
struct oneshot_deadline_x_send : oneshot_model {
  void thread(unsigned index) override {
    if (index == 0) received = volt_oneshot_recv_until(&o, &got, 1);
    if (index == 1) send();
  }
  void check() override {
    if (received == VOLT_OK) {
      EXPECT(got.value == 7 && volt_oneshot_try_recv(&o, &got) == VOLT_ECLOSED);
    } else {
      EXPECT(received == VOLT_ETIMEDOUT);
      expect_value();
    }
  }
};
MODEL(oneshot_deadline_x_send, 2, bounded)

// R1: a future is dropped, whether it was told or not.
struct oneshot_drop_x_send : oneshot_model {
  volt_future f;
  oneshot_drop_x_send() {
    volt_future_made(volt_oneshot_recv_future(&f, &o, &got));
    EXPECT(volt_future_poll(&f, woken.waker()) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_future_cancel(&f);
      poison(&f.waiter);
    } else {
      send();
    }
  }
  void check() override {
    EXPECT(woken.seen() <= 1);
    expect_value();
  }
};
MODEL(oneshot_drop_x_send, 2, full)

// R1, R4: in a select with a channel; both are sent to. One takes effect, the other's value stays.
// R3: the same in a join, which takes the value without a decision.
template <bool joined>
struct oneshot_in_select_x_sends : oneshot_model {
  channel c;
  volt_model_element number, from_chan;
  volt_future f[2];
  volt_future *branches[2];
  volt_select s;
  volt_join join;
  volt_future *inner[1];
  int result = VOLT_PENDING;

  oneshot_in_select_x_sends() : c(1, 0) {
    number.value = 5;
    inner[0] = volt_oneshot_recv_future(&f[0], &o, &got);
    branches[0] = joined ? volt_join_future(&join, inner, 1, 0) : inner[0];
    branches[1] = volt_chan_recv_future(&f[1], &c.chan, &from_chan);
    volt_future_made(volt_select_future(&s, branches, 2, VOLT_SELECT_BIASED));
    EXPECT(volt_future_poll(&s.future, volt_waker{nullptr, nullptr}) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      result = volt_future_poll(&s.future, volt_waker{nullptr, nullptr});
      volt_future_cancel(&s.future); // changes nothing if it is ready
      result = volt_future_poll(&s.future, volt_waker{nullptr, nullptr});
    } else {
      send();
      EXPECT(volt_chan_try_send(&c.chan, &number) == VOLT_OK);
    }
  }
  void check() override {
    uint32_t winner = volt_select_winner(&s);
    EXPECT(result == (winner == UINT32_MAX ? VOLT_ECANCELED : VOLT_OK));
    if (winner == 0) {
      EXPECT(got.value == 7 && volt_oneshot_try_recv(&o, &got) == VOLT_ECLOSED);
    } else {
      expect_value();
    }
    EXPECT(volt_chan_len(&c.chan) == (winner == 1 ? 0u : 1u));
    if (winner == 1) EXPECT(from_chan.value == 5);
  }
};
struct oneshot_select_x_sends : oneshot_in_select_x_sends<false> {};
MODEL(oneshot_select_x_sends, 2, bounded)
struct oneshot_join_in_select_x_sends : oneshot_in_select_x_sends<true> {};
MODEL(oneshot_join_in_select_x_sends, 2, bounded)
