// channel_future_model: one send, or one receive, as a future that begins while another thread uses
// the channel. Checks channel.c R1, R2 and the pair L1 where a future queues in one step
// (volt_chan_queue_first_()), and its end: by an element, by a close, or by nothing.
// PROGRAM: channel
#include "channels.hpp"

// Futures 0 and 1 are those of parties 0 and 1.
struct channel_future_model : channel_model {
  volt_future f[2];
  bool made[2] = {false, false};

  void make_send(unsigned i, uint64_t value) {
    make(i, true);
    p[i].e[0].value = p[i].value[0] = value;
    volt_future_made(volt_chan_send_future(&f[i], chan(), p[i].e));
  }
  void make_recv(unsigned i) {
    make(i, false);
    volt_future_made(volt_chan_recv_future(&f[i], chan(), p[i].e));
  }
  int poll(unsigned i) {
    party &q = p[i];
    int result = volt_future_poll(&f[i], q.woken.waker());
    if (result == VOLT_PENDING) q.waited = true;
    if (result != VOLT_PENDING && !q.ours) {
      q.result = result;
      if (result == VOLT_OK) q.moved = volt_chan_future_moved(&f[i]);
      look(i);
    }
    return result;
  }
  // It waits: for good reason.
  void check_pending(unsigned i) {
    EXPECT(!volt_chan_is_closed(chan()) && volt_chan_waiters(chan()) > 0);
    EXPECT(volt_chan_len(chan()) == (p[i].sends ? volt_chan_capacity(chan()) : 0));
    volt_future_cancel(&f[i]);
    p[i].waited = false;
    EXPECT(poll(i) == VOLT_ECANCELED);
  }
  void check() override {
    for (unsigned i = 0; i < 2; i++) {
      if (made[i] && poll(i) == VOLT_PENDING) check_pending(i);
    }
    channel_model::check();
  }

 private:
  void make(unsigned i, bool sends) {
    made[i] = true;
    p[i].in_use = true;
    p[i].sends = sends;
    p[i].n = 1;
  }
};

// R1: neither misses the other.
struct future_recv_x_send : channel_future_model {
  future_recv_x_send() {
    make_recv(0);
  }
  void thread(unsigned index) override {
    if (index == 0) poll(0);
    if (index == 1) EXPECT(send(2, 1) == VOLT_OK);
  }
  void check() override {
    EXPECT(poll(0) == VOLT_OK && got(0) == 1);
    channel_future_model::check();
  }
};
MODEL(future_recv_x_send, 2, full)

// R1: the same the other way round.
struct future_send_x_recv : channel_future_model {
  future_send_x_recv() {
    put(1);
    make_send(0, 2);
  }
  void thread(unsigned index) override {
    if (index == 0) poll(0);
    if (index == 1) EXPECT(recv(2) == VOLT_OK && got(2) == 1);
  }
  void check() override {
    EXPECT(poll(0) == VOLT_OK && volt_chan_len(chan()) == 1);
    channel_future_model::check();
  }
};
MODEL(future_send_x_recv, 2, full)

// R1: both are futures.
struct future_recv_x_future_send : channel_future_model {
  future_recv_x_future_send() {
    make_recv(0);
    make_send(1, 1);
  }
  void thread(unsigned index) override {
    poll(index);
  }
  void check() override {
    EXPECT(poll(0) == VOLT_OK && got(0) == 1 && poll(1) == VOLT_OK);
    channel_future_model::check();
  }
};
MODEL(future_recv_x_future_send, 2, full)

// L1: a future queues where another one has just left.
struct future_recv_x_cancel_recv : channel_future_model {
  future_recv_x_cancel_recv() {
    EXPECT(recv(2) == VOLT_PENDING);
    make_recv(0);
  }
  void thread(unsigned index) override {
    if (index == 0) poll(0);
    if (index == 1) EXPECT(cancel(2));
  }
  void check() override {
    EXPECT(send(3, 1) == VOLT_OK && poll(0) == VOLT_OK && got(0) == 1);
    channel_future_model::check();
  }
};
MODEL(future_recv_x_cancel_recv, 2, full)

// Two begin at once: both are queued.
struct future_recv_x_recv : channel_future_model {
  future_recv_x_recv() {
    make_recv(0);
  }
  void thread(unsigned index) override {
    if (index == 0) EXPECT(poll(0) == VOLT_PENDING);
    if (index == 1) EXPECT(recv(2) == VOLT_PENDING);
  }
  void check() override {
    EXPECT(send(1, 1) == VOLT_OK && send(3, 2) == VOLT_OK);
    EXPECT(poll(0) == VOLT_OK && got(0) + got(2) == 3);
    channel_future_model::check();
  }
};
MODEL(future_recv_x_recv, 2, full)

// The channel is closed before it begins, or while it waits.
struct future_recv_x_close : channel_future_model {
  future_recv_x_close() {
    make_recv(0);
  }
  void thread(unsigned index) override {
    if (index == 0) begin();
    if (index == 1) volt_chan_close(chan());
  }
  void begin() {
    bool closed = volt_chan_is_closed(chan());
    EXPECT(poll(0) == VOLT_ECLOSED || !closed);
  }
  void check() override {
    EXPECT(poll(0) == VOLT_ECLOSED);
    channel_future_model::check();
  }
};
MODEL(future_recv_x_close, 2, full)

struct future_send_x_close : channel_future_model {
  future_send_x_close() {
    put(1);
    make_send(0, 2);
  }
  void thread(unsigned index) override {
    if (index == 0) poll(0);
    if (index == 1) volt_chan_close(chan());
  }
  void check() override {
    EXPECT(poll(0) == VOLT_ECLOSED);
    channel_future_model::check();
  }
};
MODEL(future_send_x_close, 2, full)

// R2: a send hands its element to the oldest, whose owner sees it, and ends the channel.
struct future_recv_frees_x_send : channel_future_model {
  future_recv_frees_x_send() {
    make_recv(0);
    EXPECT(poll(0) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 1) {
      EXPECT(send(2, 1) == VOLT_OK);
    } else if (poll(0) == VOLT_OK) {
      EXPECT(got(0) == 1);
      end();
    }
  }
  void check() override {
    EXPECT(poll(0) == VOLT_OK && got(0) == 1);
    channel_future_model::check();
  }
};
MODEL(future_recv_frees_x_send, 2, full)
