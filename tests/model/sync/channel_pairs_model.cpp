// channel_pairs_model: what the other models of channels leave out: cancel, close, a new waker and
// many elements, two of them at a time. Checks channel.c I2, I3, R4, R5, R7, with a batch of one.
// PROGRAM: channel
#include "channels.hpp"

// ---- two that wait give up ----

// I2: the last one leaves an empty FIFO, whoever that is.
struct cancel_recv_x_cancel_recv : channel_model {
  cancel_recv_x_cancel_recv() {
    EXPECT(recv(0) == VOLT_PENDING && recv(1) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    EXPECT(cancel(index));
  }
  void check() override {
    EXPECT(try_send(2, 1) == VOLT_OK && volt_chan_len(chan()) == 1);
    channel_model::check();
  }
};
MODEL(cancel_recv_x_cancel_recv, 2, full)

struct cancel_send_x_cancel_send : channel_model {
  cancel_send_x_cancel_send() {
    put(1);
    EXPECT(send(0, 2) == VOLT_PENDING && send(1, 3) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    EXPECT(cancel(index));
  }
  void check() override {
    EXPECT(try_recv(2) == VOLT_OK && volt_chan_len(chan()) == 0);
    channel_model::check();
  }
};
MODEL(cancel_send_x_cancel_send, 2, full)

// R4: and one of them may be granted.
struct cancel_sends_x_recv : channel_model {
  cancel_sends_x_recv() {
    put(1);
    EXPECT(send(0, 2) == VOLT_PENDING && send(1, 3) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index < 2) cancel(index);
    if (index == 2) EXPECT(recv(2) == VOLT_OK && got(2) == 1);
  }
  void check() override {
    EXPECT(look(0) == VOLT_ECANCELED || look(1) == VOLT_ECANCELED);
    channel_model::check();
  }
};
MODEL(cancel_sends_x_recv, 3, bounded)

struct cancel_recvs_x_send : channel_model {
  cancel_recvs_x_send() {
    EXPECT(recv(0) == VOLT_PENDING && recv(1) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index < 2) cancel(index);
    if (index == 2) EXPECT(send(2, 1) == VOLT_OK);
  }
  void check() override {
    EXPECT(look(0) == VOLT_ECANCELED || look(1) == VOLT_ECANCELED);
    channel_model::check();
  }
};
MODEL(cancel_recvs_x_send, 3, bounded)

// ---- close ----

// R4, R7: the receivers are told in two turns, and give up in between, the second one first.
struct close_x_cancel_recv : channel_model {
  close_x_cancel_recv() {
    EXPECT(recv(0) == VOLT_PENDING && recv(1) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) volt_chan_close(chan());
    if (index == 1) cancel(1);
    if (index == 1) cancel(0);
  }
  void check() override {
    for (unsigned i = 0; i < 2; i++) EXPECT(look(i) == VOLT_ECLOSED || look(i) == VOLT_ECANCELED);
    EXPECT(volt_chan_is_closed(chan()));
    channel_model::check();
  }
};
MODEL(close_x_cancel_recv, 2, bounded)

// I3: a batch goes to who waits and into the ring, or nothing of it is sent.
struct close_x_send_many : channel_model {
  close_x_send_many() : channel_model(2) {
    EXPECT(recv(0) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) volt_chan_close(chan());
    if (index == 1) send_many(1, 1, 3);
  }
  void check() override {
    EXPECT(look(1) == VOLT_OK ? p[1].moved == 3 && got(0) == 1 : look(0) == VOLT_ECLOSED);
    EXPECT(look(1) == VOLT_OK || look(1) == VOLT_ECLOSED);
    channel_model::check();
  }
};
MODEL(close_x_send_many, 2, bounded)

// Closed in the middle of it: a receiver of many gets what was sent before, in order.
struct close_x_recv_many : channel_model {
  close_x_recv_many() : channel_model(2, 7) {
    put(1);
    put(2);
    EXPECT(send(0, 3) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) volt_chan_close(chan());
    if (index == 1) EXPECT(recv_many(1, 3) == VOLT_OK && got(1) == 1);
  }
  void check() override {
    EXPECT(look(0) == VOLT_OK || look(0) == VOLT_ECLOSED);
    channel_model::check();
  }
};
MODEL(close_x_recv_many, 2, bounded)

// R5: of two who wait the second gets a new waker; one of them is called.
struct set_waker_x_close : channel_model {
  wake_count other;
  bool replaced = false;
  set_waker_x_close() {
    EXPECT(recv(0) == VOLT_PENDING && recv(1) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) volt_chan_close(chan());
    if (index == 1) replaced = volt_waiter_set_waker(&p[1].w, other.waker());
  }
  void check() override {
    EXPECT(look(1) == VOLT_ECLOSED);
    EXPECT(p[1].woken.seen() == (replaced ? 0u : 1u) && other.seen() == (replaced ? 1u : 0u));
    p[1].waited = !replaced;
    channel_model::check();
  }
};
MODEL(set_waker_x_close, 2, bounded)

// ---- by deadline ----

// Both block, and either may have no more time: what is there is received all the same.
struct send_deadline_x_recv_deadline : channel_model {
  send_deadline_x_recv_deadline() {
    put(1);
  }
  void thread(unsigned index) override {
    if (index == 0) send_until(0, 2, 1);
    if (index == 1) recv_until(1, 1);
  }
  void check() override {
    EXPECT(got(1) == 1 && (look(0) == VOLT_OK || look(0) == VOLT_ETIMEDOUT));
    channel_model::check();
  }
};
MODEL(send_deadline_x_recv_deadline, 2, bounded)
