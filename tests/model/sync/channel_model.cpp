// channel_model: sends, receives and cancels of a channel, in pairs, with a batch of one waiter.
// Checks channel.c I1-I4 and R1, R3-R5, R7; a case names what it is after. What every one checks at
// its end is in channels.hpp: each number is received once, or left, or still its sender's; who
// waits does so for good reason; who waits no more was woken once.
// PROGRAM: channel BATCH 1 MUTANTS SOURCES channel DEFINES -DVOLT_CHAN_POSITION_BITS_=3
#include "channels.hpp"

// ---- two at a time, on a channel that is empty, or full ----

// R1: neither misses the other.
struct send_x_recv : channel_model {
  void thread(unsigned index) override {
    if (index == 0) send(0, 1);
    if (index == 1) recv(1);
  }
  void check() override {
    EXPECT(look(0) == VOLT_OK && got(1) == 1);
    channel_model::check();
  }
};
MODEL(send_x_recv, 2, full)

// R1: the same the other way round.
struct full_send_x_recv : channel_model {
  full_send_x_recv() {
    put(1);
  }
  void thread(unsigned index) override {
    if (index == 0) send(0, 2);
    if (index == 1) EXPECT(recv(1) == VOLT_OK && got(1) == 1);
  }
  void check() override {
    EXPECT(look(0) == VOLT_OK && volt_chan_len(chan()) == 1);
    channel_model::check();
  }
};
MODEL(full_send_x_recv, 2, full)

// A try takes what is there, or finds that nothing is; the send is none the worse for it.
struct send_x_try_recv : channel_model {
  void thread(unsigned index) override {
    if (index == 0) send(0, 1);
    if (index == 1) try_recv(1);
  }
  void check() override {
    EXPECT(look(0) == VOLT_OK && (look(1) == VOLT_OK || look(1) == VOLT_EAGAIN));
    channel_model::check();
  }
};
MODEL(send_x_try_recv, 2, full)

// The same beside a waiter.
struct full_try_send_x_recv : channel_model {
  full_try_send_x_recv() {
    put(1);
  }
  void thread(unsigned index) override {
    if (index == 0) try_send(0, 2);
    if (index == 1) EXPECT(recv(1) == VOLT_OK && got(1) == 1);
  }
  void check() override {
    EXPECT(look(0) == VOLT_OK || look(0) == VOLT_EAGAIN);
    channel_model::check();
  }
};
MODEL(full_try_send_x_recv, 2, full)

// I4: of two, one has the place.
struct send_x_send : channel_model {
  void thread(unsigned index) override {
    send(index, index + 1);
  }
  void check() override {
    EXPECT((look(0) == VOLT_OK) != (look(1) == VOLT_OK));
    channel_model::check();
  }
};
MODEL(send_x_send, 2, full)

// I4: of two, one has the element.
struct recv_x_recv : channel_model {
  recv_x_recv() {
    put(1);
  }
  void thread(unsigned index) override {
    recv(index);
  }
  void check() override {
    EXPECT((look(0) == VOLT_OK) != (look(1) == VOLT_OK));
    channel_model::check();
  }
};
MODEL(recv_x_recv, 2, full)

// ---- three at a time ----

// R3: an element that is claimed and not there yet, with a sender that waits behind it.
struct sends_x_recv : channel_model {
  void thread(unsigned index) override {
    if (index < 2) send(index, index + 1);
    if (index == 2) recv(2);
  }
  void check() override {
    EXPECT(look(0) == VOLT_OK && look(1) == VOLT_OK && look(2) == VOLT_OK);
    channel_model::check();
  }
};
MODEL(sends_x_recv, 3, bounded)

struct send_x_recvs : channel_model {
  void thread(unsigned index) override {
    if (index == 0) send(0, 1);
    if (index > 0) recv(index);
  }
  void check() override {
    EXPECT(look(0) == VOLT_OK && (look(1) == VOLT_OK) != (look(2) == VOLT_OK));
    channel_model::check();
  }
};
MODEL(send_x_recvs, 3, bounded)

// I3: one sender waits, two receivers come: the second gets what the first has moved up.
struct waiting_send_x_recvs : channel_model {
  waiting_send_x_recvs() {
    put(1);
    EXPECT(send(0, 2) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    recv(index + 1);
  }
  void check() override {
    EXPECT(look(0) == VOLT_OK && got(1) + got(2) == 3);
    channel_model::check();
  }
};
MODEL(waiting_send_x_recvs, 2, bounded)

// I3: two receivers wait, two senders come.
struct waiting_recvs_x_sends : channel_model {
  waiting_recvs_x_sends() {
    EXPECT(recv(2) == VOLT_PENDING && recv(3) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    EXPECT(send(index, index + 1) == VOLT_OK);
  }
  void check() override {
    EXPECT(got(2) + got(3) == 3 && volt_chan_len(chan()) == 0);
    channel_model::check();
  }
};
MODEL(waiting_recvs_x_sends, 2, bounded)

// ---- the ring ----

// R3, S1, S3, I4: the positions wrap around, and so do the turns; in order.
template <uint32_t capacity>
struct order : channel_model {
  order() : channel_model(capacity, 7) {
  }
  void thread(unsigned index) override {
    for (unsigned i = 0; i < 2; i++) {
      if (index == 0) try_send(i, i + 1);
      if (index == 1) try_recv(2 + i);
    }
  }
  void check() override {
    bool first = look(0) == VOLT_OK;
    if (look(2) == VOLT_OK) EXPECT(first && got(2) == 1);
    if (look(3) == VOLT_OK) EXPECT(got(3) == (look(2) == VOLT_OK ? 2u : 1u));
    if (capacity == 2) EXPECT(first && look(1) == VOLT_OK);
    channel_model::check();
  }
};
struct order_in_one_place : order<1> {};
MODEL(order_in_one_place, 2, bounded)
struct order_in_two_places : order<2> {};
MODEL(order_in_two_places, 2, bounded)

// R3: a place is filled again while it may still be being emptied.
struct recv_then_send_x_recv : channel_model {
  recv_then_send_x_recv() : channel_model(1, 7) {
    put(1);
  }
  void thread(unsigned index) override {
    if (index == 0) recv(0);
    if (index == 1) try_send(1, 2);
    if (index == 2) try_recv(2);
  }
};
MODEL(recv_then_send_x_recv, 3, bounded)

// R3: three elements in four slots: who moves the second sender up fills the slot that the other
// receiver is still emptying.
struct refill_x_empty : channel_model {
  refill_x_empty() : channel_model(3, 6) {
    for (uint64_t i = 1; i <= 3; i++) put(i);
    EXPECT(send(0, 4) == VOLT_PENDING && send(1, 5) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    EXPECT(recv(2 + index) == VOLT_OK);
  }
  void check() override {
    EXPECT(look(0) == VOLT_OK && look(1) == VOLT_OK && got(2) + got(3) == 3);
    channel_model::check();
  }
};
MODEL(refill_x_empty, 2, bounded)

// R8: beside one send, or receive, somebody moves as many elements as there are positions, so that
// the word is the same again while the slot is being moved.
struct same_word_again : channel_model {
  static const uint32_t many = 4;
  volt_model_element e[many];
  uint32_t received = 0, next = 2; // received: the numbers, as bits; next: to be sent
  bool sends;
  explicit same_word_again(bool sends_) : channel_model(many, 6), sends(sends_) {
    for (uint32_t i = 0; i < many && !sends; i++) put(next++);
  }
  void send_all() {
    uint32_t moved;
    for (uint32_t i = 0; i < many; i++) e[i].value = next + i;
    EXPECT(volt_chan_try_send_many(chan(), e, many, &moved) == VOLT_OK);
    for (uint32_t i = 0; i < moved; i++) put_in |= 1u << next++;
  }
  void recv_all() {
    uint32_t moved;
    EXPECT(volt_chan_try_recv_many(chan(), e, many, &moved) == VOLT_OK);
    for (uint32_t i = 0; i < moved; i++) {
      EXPECT(e[i].value < 16 && !(received & 1u << e[i].value));
      received |= 1u << e[i].value;
    }
  }
  void thread(unsigned index) override {
    if (index == 0 && sends) try_send(0, 1);
    if (index == 0 && !sends) try_recv(0);
    for (unsigned i = 0; i < 2 && index == 1; i++) {
      if (sends) send_all();
      recv_all();
      if (!sends) send_all();
    }
  }
  void check() override {
    put_in &= ~received;
    if (look(0) == VOLT_OK && sends && (received & 2)) p[0].in_use = false;
    channel_model::check();
  }
};
struct same_word_again_x_send : same_word_again {
  same_word_again_x_send() : same_word_again(true) {
  }
};
MODEL(same_word_again_x_send, 2, bounded)
struct same_word_again_x_recv : same_word_again {
  same_word_again_x_recv() : same_word_again(false) {
  }
};
MODEL(same_word_again_x_recv, 2, bounded)

// I3, R7: a receiver of two meets two senders, and a batch of one: every place it makes is filled.
struct recv_two_x_sends_waiting : channel_model {
  recv_two_x_sends_waiting() : channel_model(2, 7) {
    put(1);
    put(2);
    EXPECT(send(0, 3) == VOLT_PENDING && send(1, 4) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) EXPECT(recv_many(2, 2) == VOLT_OK && got(2) == 1);
    if (index == 1) EXPECT(try_send(3, 5) == VOLT_EAGAIN);
  }
  void check() override {
    EXPECT(look(0) == VOLT_OK);
    channel_model::check();
  }
};
MODEL(recv_two_x_sends_waiting, 2, bounded)

// I3, R7: a sender of two meets two receivers, and a batch of one: nothing is put beside the other.
struct send_two_x_recvs_waiting : channel_model {
  send_two_x_recvs_waiting() {
    EXPECT(recv(0) == VOLT_PENDING && recv(1) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) EXPECT(send_many(2, 1, 2) == VOLT_OK);
    if (index == 1) EXPECT(try_recv(3) == VOLT_EAGAIN);
  }
  void check() override {
    EXPECT(got(0) == 1);
    channel_model::check();
  }
};
MODEL(send_two_x_recvs_waiting, 2, bounded)

// FIFO: of one sender the first comes first, also through the queue.
struct fifo_of_sends : channel_model {
  void thread(unsigned index) override {
    if (index == 0) {
      send(0, 1);
      send(1, 2);
    } else {
      recv(2);
      if (look(2) == VOLT_OK) recv(3);
    }
  }
  void check() override {
    EXPECT(got(2) == 1 && look(0) == VOLT_OK && look(1) == VOLT_OK);
    if (p[3].in_use) EXPECT(got(3) == 2);
    channel_model::check();
  }
};
MODEL(fifo_of_sends, 2, bounded)

// FIFO: of two who wait the first is served.
struct fifo_of_waiters : channel_model {
  void thread(unsigned index) override {
    if (index == 0) {
      recv(0);
      recv(1);
    } else {
      send(2, 1);
    }
  }
  void check() override {
    EXPECT(got(0) == 1 && look(1) == VOLT_PENDING);
    channel_model::check();
  }
};
MODEL(fifo_of_waiters, 2, bounded)

// No barging: what was sent while somebody waits is handed over, and not for anybody to take.
struct try_recv_behind_waiter : channel_model {
  try_recv_behind_waiter() {
    EXPECT(recv(0) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) EXPECT(send(1, 1) == VOLT_OK);
    if (index == 1) EXPECT(try_recv(2) == VOLT_EAGAIN);
  }
  void check() override {
    EXPECT(got(0) == 1);
    channel_model::check();
  }
};
MODEL(try_recv_behind_waiter, 2, full)

struct try_send_behind_waiter : channel_model {
  try_send_behind_waiter() {
    put(1);
    EXPECT(send(0, 2) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) EXPECT(recv(1) == VOLT_OK && got(1) == 1);
    if (index == 1) EXPECT(try_send(2, 3) == VOLT_EAGAIN);
  }
  void check() override {
    EXPECT(look(0) == VOLT_OK);
    channel_model::check();
  }
};
MODEL(try_send_behind_waiter, 2, bounded)

// ---- cancel ----

// R4: it is cancelled, or it has the element; either way its memory is its own.
struct cancel_recv_x_send : channel_model {
  cancel_recv_x_send() {
    EXPECT(recv(0) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) cancel(0);
    if (index == 1) EXPECT(send(1, 1) == VOLT_OK);
  }
};
MODEL(cancel_recv_x_send, 2, full)

struct cancel_send_x_recv : channel_model {
  cancel_send_x_recv() {
    put(1);
    EXPECT(send(0, 2) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) cancel(0);
    if (index == 1) EXPECT(recv(1) == VOLT_OK && got(1) == 1);
  }
  void check() override {
    EXPECT(volt_chan_len(chan()) == (look(0) == VOLT_OK ? 1u : 0u));
    channel_model::check();
  }
};
MODEL(cancel_send_x_recv, 2, bounded)

// R4: nobody sees the grant before the memory of the element is left alone.
struct grant_x_look : channel_model {
  grant_x_look() {
    put(1);
    EXPECT(send(0, 2) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) look(0);
    if (index == 1) EXPECT(recv(1) == VOLT_OK && got(1) == 1);
  }
};
MODEL(grant_x_look, 2, full)

// R1, R4: the one who waits leaves, and another comes.
struct cancel_recv_x_send_x_recv : channel_model {
  cancel_recv_x_send_x_recv() {
    EXPECT(recv(0) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) cancel(0);
    if (index == 1) EXPECT(send(1, 1) == VOLT_OK);
    if (index == 2) recv(2);
  }
};
MODEL(cancel_recv_x_send_x_recv, 3, bounded)

struct cancel_send_x_recv_x_send : channel_model {
  cancel_send_x_recv_x_send() {
    put(1);
    EXPECT(send(0, 2) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) cancel(0);
    if (index == 1) EXPECT(recv(1) == VOLT_OK);
    if (index == 2) send(2, 3);
  }
};
MODEL(cancel_send_x_recv_x_send, 3, bounded)

// R4: of two who wait, one leaves.
struct cancel_first_send_x_recv : channel_model {
  cancel_first_send_x_recv() {
    put(1);
    EXPECT(send(0, 2) == VOLT_PENDING && send(2, 3) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) cancel(0);
    if (index == 1) EXPECT(recv(1) == VOLT_OK && got(1) == 1);
  }
};
MODEL(cancel_first_send_x_recv, 2, bounded)

// R4: the same as a future, which is not cancelled if it has the element.
struct future_cancel_x_send : channel_model {
  volt_future f;
  future_cancel_x_send() {
    p[0].in_use = true;
    p[0].n = 1;
    volt_future_made(volt_chan_recv_future(&f, chan(), p[0].e));
    EXPECT(volt_future_poll(&f, p[0].woken.waker()) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 1) {
      EXPECT(send(1, 1) == VOLT_OK);
      return;
    }
    volt_future_cancel(&f);
    p[0].result = volt_future_poll(&f, p[0].woken.waker());
    p[0].waited = p[0].result == VOLT_OK;
    p[0].moved = p[0].waited ? volt_chan_future_moved(&f) : 0;
    EXPECT(look(0) == VOLT_OK || look(0) == VOLT_ECANCELED);
  }
};
MODEL(future_cancel_x_send, 2, full)

// R5: one wake, by the old waker or by the new one.
struct set_waker_x_send : channel_model {
  wake_count other;
  bool replaced = false;
  set_waker_x_send() {
    EXPECT(recv(0) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) replaced = volt_waiter_set_waker(&p[0].w, other.waker());
    if (index == 1) EXPECT(send(1, 1) == VOLT_OK);
  }
  void check() override {
    EXPECT(got(0) == 1);
    EXPECT(p[0].woken.seen() == (replaced ? 0u : 1u) && other.seen() == (replaced ? 1u : 0u));
    p[0].waited = !replaced;
    channel_model::check();
  }
};
MODEL(set_waker_x_send, 2, full)

// A deadline passes at any moment.
struct recv_deadline_x_send : channel_model {
  void thread(unsigned index) override {
    if (index == 0) recv_until(0, 1);
    if (index == 1) EXPECT(send(1, 1) == VOLT_OK);
  }
  void check() override {
    EXPECT(look(0) == VOLT_OK || look(0) == VOLT_ETIMEDOUT);
    channel_model::check();
  }
};
MODEL(recv_deadline_x_send, 2, bounded)
