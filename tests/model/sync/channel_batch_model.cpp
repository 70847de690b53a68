// channel_batch_model: many elements at once, and more waiters than one, with a batch of two.
// Checks channel.c I3, R2, R3, R6 and R7.
// PROGRAM: channel_batch BATCH 2 MUTANTS SOURCES channel
// PROGRAM: channel_batch DEFINES -DVOLT_CHAN_POSITION_BITS_=3
#include "channels.hpp"

// I3: as much as there is room for, at least one, in order; the rest stays.
struct send_two_x_recv : channel_model {
  void thread(unsigned index) override {
    if (index == 0) EXPECT(send_many(0, 1, 2) == VOLT_OK);
    if (index == 1) recv(1);
  }
  void check() override {
    EXPECT(got(1) == 1);
    channel_model::check();
  }
};
MODEL(send_two_x_recv, 2, full)

struct send_two_x_recv_two : channel_model {
  send_two_x_recv_two() : channel_model(2, 7) {
  }
  void thread(unsigned index) override {
    if (index == 0) EXPECT(send_many(0, 1, 2) == VOLT_OK && p[0].moved == 2);
    if (index == 1) recv_many(1, 2);
  }
  void check() override {
    EXPECT(got(1) == 1 && (p[1].moved == 1 || p[1].value[1] == 2));
    channel_model::check();
  }
};
MODEL(send_two_x_recv_two, 2, bounded)

// R6: two are sent at once, one to the receiver that waits, the other into the ring; the receiver's waker receives
// that one. Another thread looks on.
struct waker_receives_x_look : model {
  channel *c = new channel(2, 7);
  volt_waiter receiver, sender;
  volt_model_element sent[2], received[2];
  int result = VOLT_PENDING;
  waker_receives_x_look() {
    for (unsigned i = 0; i < 2; i++) {
      sent[i].value = i + 1;
      received[i].value = 0;
    }
    volt_waker waker = {receive_next, this};
    EXPECT(volt_chan_recv_waiter(&c->chan, &receiver, &received[0], waker) == VOLT_PENDING);
  }
  static void receive_next(void *m) {
    waker_receives_x_look *self = static_cast<waker_receives_x_look *>(m);
    self->result = volt_chan_try_recv(&self->c->chan, &self->received[1]);
  }
  void thread(unsigned index) override {
    if (index == 1) {
      EXPECT(volt_chan_len(&c->chan) <= 1);
      return;
    }
    volt_waker none = {nullptr, nullptr};
    EXPECT(volt_chan_send_many_waiter(&c->chan, &sender, sent, 2, none) == VOLT_OK);
  }
  void check() override {
    EXPECT(result == VOLT_OK && volt_waiter_result(&receiver) == VOLT_OK);
    EXPECT(received[0].value == 1 && received[1].value == 2);
    volt_chan_destroy(&c->chan, nullptr, nullptr);
    delete c;
  }
};
MODEL(waker_receives_x_look, 2, bounded)

// One who wants two waits, others come with one each.
struct sends_x_recv_two : channel_model {
  void thread(unsigned index) override {
    if (index < 2) send(index, index + 1);
    if (index == 2) recv_many(2, 2);
  }
  void check() override {
    EXPECT(look(2) == VOLT_OK);
    channel_model::check();
  }
};
MODEL(sends_x_recv_two, 3, bounded)

// I3: two elements for two who wait, one of whom gives up: what is left goes to the ring.
struct send_two_x_cancel : channel_model {
  send_two_x_cancel() {
    EXPECT(recv(0) == VOLT_PENDING && recv(1) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) EXPECT(send_many(2, 1, 2) == VOLT_OK && p[2].moved == 2);
    if (index == 1) cancel(0);
  }
  void check() override {
    EXPECT(got(1) == (look(0) == VOLT_OK ? 2u : 1u));
    channel_model::check();
  }
};
MODEL(send_two_x_cancel, 2, bounded)

// I3: two elements for two who wait; what another sends then goes to the ring.
struct send_two_x_send : channel_model {
  send_two_x_send() {
    EXPECT(recv(0) == VOLT_PENDING && recv(1) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) EXPECT(send_many(2, 1, 2) == VOLT_OK);
    if (index == 1) EXPECT(send(3, 3) == VOLT_OK);
  }
  void check() override {
    EXPECT(look(0) == VOLT_OK && look(1) == VOLT_OK);
    channel_model::check();
  }
};
MODEL(send_two_x_send, 2, bounded)

// I3: two places are made at once, for a sender who waits and for the next who comes.
struct recv_two_x_send : channel_model {
  recv_two_x_send() : channel_model(2, 7) {
    put(1);
    put(2);
    EXPECT(send(0, 3) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) EXPECT(recv_many(1, 2) == VOLT_OK && got(1) == 1);
    if (index == 1) send(2, 4);
  }
  void check() override {
    EXPECT(look(0) == VOLT_OK && look(2) == VOLT_OK);
    channel_model::check();
  }
};
MODEL(recv_two_x_send, 2, bounded)

// A sender of two who waits, and there is room for one: that is all it sends.
struct waiting_send_two_x_recv : channel_model {
  waiting_send_two_x_recv() : channel_model(2) {
    put(1);
    put(2);
    EXPECT(send_many(0, 3, 2) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) EXPECT(recv(1) == VOLT_OK && got(1) == 1);
    if (index == 1) cancel(0);
  }
  void check() override {
    if (look(0) == VOLT_OK) EXPECT(p[0].moved == 1);
    channel_model::check();
  }
};
MODEL(waiting_send_two_x_recv, 2, bounded)

// R2: two are granted at once, and the second frees it.
struct grants_x_free : channel_model {
  grants_x_free() {
    EXPECT(recv(0) == VOLT_PENDING && recv(1) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) EXPECT(send_many(2, 1, 2) == VOLT_OK && p[2].moved == 2);
    if (index == 1 && look(1) == VOLT_OK) {
      EXPECT(look(0) == VOLT_OK);
      free();
    }
  }
};
MODEL(grants_x_free, 2, bounded)

// I1, R2: of three one is handed over, one goes to the ring, one stays; who receives the second
// ends it.
struct handed_and_put_x_end : channel_model {
  handed_and_put_x_end() {
    EXPECT(recv(0) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) EXPECT(send_many(1, 1, 3) == VOLT_OK && p[1].moved == 2);
    if (index == 1 && look(0) == VOLT_OK) {
      EXPECT(recv(2) == VOLT_OK && got(2) == 2);
      end();
    }
  }
};
MODEL(handed_and_put_x_end, 2, bounded)
