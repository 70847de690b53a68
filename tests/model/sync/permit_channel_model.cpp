// permit_channel_model: a semaphore of places, and a channel. Checks permit_channel.c I1, R1-R3; a
// case names what it is after.
// PROGRAM: permit BATCH 1 MUTANTS
// PROGRAM: permit SOURCES channel semaphore.c semaphore_limit.c permit_channel.c DEFINES -DVOLT_CHAN_POSITION_BITS_=3
#include "channels.hpp"
#include "poller.hpp"

// The channel of channels.hpp, with places. At the end none is reserved; what was sent was received
// or is there.
struct permit_model : model {
  volt_permit_chan *c = new volt_permit_chan();
  alignas(8) unsigned char ring[sizeof(volt_chan_slot) + sizeof(volt_model_element) + 8];
  volt_model_element e[3];
  int result[3] = {VOLT_ECANCELED, VOLT_ECANCELED, VOLT_ECANCELED};

  permit_model() {
    size_t bytes = sizeof(volt_model_element);
    EXPECT(volt_permit_chan_init(c, 1, bytes, ring, sizeof ring) == VOLT_OK);
    ::new (volt_chan_elem_(slot())) volt_model_element;
  }
  // The only one: the capacity is 1.
  volt_chan_slot *slot() {
    return volt_chan_slot_(volt_chan_ring_of_(&c->chan), 0);
  }
  ~permit_model() override {
    end();
  }
  void end() {
    if (!c) return;
    volt_permit_chan_destroy(c, nullptr, nullptr); // I1: aborts if a place is missing
    poison(&c->places.queue);
    poison(&c->chan.queue);
    poison(&c->chan.watchers);
    static_cast<volt_model_element *>(volt_chan_elem_(slot()))->~volt_model_element();
    slot()->~volt_chan_slot();
    delete c;
    c = nullptr;
  }
  int reserve() {
    return volt_permit_chan_reserve(c);
  }
  int send(unsigned i) {
    e[i].value = i + 1;
    return result[i] = volt_permit_chan_send_reserved(c, &e[i]);
  }
  int recv(unsigned i) {
    return result[i] = volt_permit_chan_recv(c, &e[i]);
  }
};

// R1: with one place, two who reserve it, and a receiver: a send finds the slot empty.
struct permit_two_reserve_x_recv : permit_model {
  void thread(unsigned index) override {
    if (index == 0) {
      EXPECT(reserve() == VOLT_OK && send(0) == VOLT_OK);
      EXPECT(reserve() == VOLT_OK && send(1) == VOLT_OK);
    } else {
      EXPECT(recv(2) == VOLT_OK && e[2].value == 1);
    }
  }
  void check() override {
    EXPECT(volt_permit_chan_len(c) == 1 && volt_permit_chan_free(c) == 0);
    EXPECT(volt_permit_chan_try_recv(c, &e[2]) == VOLT_OK && e[2].value == 2);
    EXPECT(volt_permit_chan_free(c) == 1);
  }
};
MODEL(permit_two_reserve_x_recv, 2, bounded)

// One who gives its place back: the other sends.
struct permit_unreserve_x_reserve : permit_model {
  permit_unreserve_x_reserve() {
    EXPECT(volt_permit_chan_try_reserve(c) == VOLT_OK);
  }
  void thread(unsigned index) override {
    if (index == 0) volt_permit_chan_unreserve(c);
    if (index == 1) EXPECT(reserve() == VOLT_OK && send(0) == VOLT_OK);
  }
  void check() override {
    EXPECT(volt_permit_chan_try_recv(c, &e[2]) == VOLT_OK && e[2].value == 1);
  }
};
MODEL(permit_unreserve_x_reserve, 2, bounded)

// R2: a receive is dropped in the instant in which an element is granted: its place is free again.
struct permit_drop_x_send : permit_model {
  volt_future f;
  poller::trace left;
  permit_drop_x_send() {
    poller *p = new poller(&left);
    EXPECT(p->poll(volt_permit_chan_recv_future(&f, c, &e[2])) == VOLT_PENDING);
    EXPECT(p->end() == 1);
    EXPECT(volt_permit_chan_try_reserve(c) == VOLT_OK);
  }
  void thread(unsigned index) override {
    if (index == 0) EXPECT(send(0) == VOLT_OK);
    if (index == 1) {
      volt_future_cancel(&f);
      result[2] = volt_future_poll(&f, volt_waker{nullptr, nullptr});
      poison(&f.waiter);
    }
  }
  void check() override {
    EXPECT(left.gone(1));
    if (result[2] != VOLT_OK) EXPECT(volt_permit_chan_try_recv(c, &e[2]) == VOLT_OK);
    EXPECT(e[2].value == 1 && volt_permit_chan_free(c) == 1);
  }
};
MODEL(permit_drop_x_send, 2, bounded)

// R3: reserved before the close, sent after it or before: the place is not lost, and what was sent
// is received by who is told of the end.
struct permit_close_x_send : permit_model {
  permit_close_x_send() {
    EXPECT(volt_permit_chan_try_reserve(c) == VOLT_OK);
  }
  void thread(unsigned index) override {
    if (index == 0) volt_permit_chan_close(c);
    if (index == 1) send(0);
    if (index == 2) recv(2);
  }
  void check() override {
    EXPECT(result[0] == result[2] && (result[0] == VOLT_OK || result[0] == VOLT_ECLOSED));
    EXPECT(volt_permit_chan_is_closed(c) && volt_permit_chan_free(c) == 1);
    EXPECT(volt_permit_chan_try_reserve(c) == VOLT_ECLOSED);
  }
};
MODEL(permit_close_x_send, 3, bounded)

// R3: the receiver that is told ends it.
struct permit_close_x_end : permit_model {
  void thread(unsigned index) override {
    if (index == 0) volt_permit_chan_close(c);
    if (index == 1 && volt_permit_chan_try_recv(c, &e[2]) == VOLT_ECLOSED) end();
  }
};
MODEL(permit_close_x_end, 2, bounded)
