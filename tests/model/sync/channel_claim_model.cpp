// channel_claim_model: who claims a position sees the past of all earlier claims. Checks P1 of
// channel.c.
//
// Positions have two bits: with four slots a turn is the same again after one lap, so that the
// value that a slot had before, which whoever sees no past may still read (the checker lets it read
// the last but one), is the one it waits for. With 28 bits that takes 2^28 elements.
// PROGRAM: channel_claim BATCH 1 MUTANTS SOURCES channel
// PROGRAM: channel_claim DEFINES -DVOLT_CHAN_POSITION_BITS_=2
#include "channels.hpp"

// Three elements at most, in four slots. Each that was sent is received once, or left.
struct claim_model : model {
  channel *c = new channel(3, 0);
  volt_model_element sent[3][3], received[3][3];
  uint32_t was_sent[3] = {0, 0, 0}, was_received[3] = {0, 0, 0}; // as bits, a thread each

  static void count(uint32_t *numbers, uint64_t value) {
    EXPECT(value >= 1 && value <= 15 && !(*numbers & 1u << value));
    *numbers |= 1u << value;
  }
  static void drop(void *elem, void *self) {
    count(&static_cast<claim_model *>(self)->was_received[0],
          static_cast<volt_model_element *>(elem)->value);
  }
  void send(unsigned i, uint64_t first, uint32_t n) {
    uint32_t moved = 0;
    for (uint32_t k = 0; k < n; k++) sent[i][k].value = first + k;
    if (volt_chan_try_send_many(&c->chan, sent[i], n, &moved) != VOLT_OK) return;
    for (uint32_t k = 0; k < moved; k++) count(&was_sent[i], first + k);
  }
  void receive(unsigned i, uint32_t n = 1) {
    uint32_t moved = 0;
    if (volt_chan_try_recv_many(&c->chan, received[i], n, &moved) != VOLT_OK) return;
    for (uint32_t k = 0; k < moved; k++) count(&was_received[i], received[i][k].value);
  }
  void check() override {
    for (unsigned i = 1; i < 3; i++) {
      EXPECT((was_received[0] & was_received[i]) == 0);
      was_received[0] |= was_received[i];
      was_sent[0] |= was_sent[i];
    }
    volt_chan_destroy(&c->chan, drop, this);
    delete c;
    EXPECT(was_sent[0] == was_received[0]);
  }
};

// The release of elements: who comes to places that both have emptied knows of the round before.
struct claim_round_x_claim : claim_model {
  void thread(unsigned index) override {
    if (index == 0) {
      send(0, 1, 1);
      receive(0);
    } else {
      send(1, 2, 3);
      receive(1);
      send(1, 9, 1);
    }
  }
};
MODEL(claim_round_x_claim, 2, bounded)

// The acquire of places: a place of the second round is claimed by who was not there in the first,
// and is not empty yet.
struct empty_x_claim_place_x_recv : claim_model {
  void thread(unsigned index) override {
    if (index == 0) send(0, 1, 3);
    if (index == 0) receive(0);
    if (index == 1) send(1, 4, 2);
    if (index == 2) receive(2);
  }
};
MODEL(empty_x_claim_place_x_recv, 3, bounded)

// The acquire of elements: the same of an element, which is not there yet.
struct fill_x_claim_element : claim_model {
  fill_x_claim_element() {
    send(0, 1, 3);
  }
  void thread(unsigned index) override {
    if (index == 1) {
      receive(1);
      return;
    }
    receive(0, 3);
    send(0, 4, 1);
    receive(0);
    send(0, 5, 1);
  }
};
MODEL(fill_x_claim_element, 2, bounded)

// The release of places: that an element of the first round was taken, its receiver tells only who
// claims the place next; and that one, who receives what is sent there.
struct recv_x_claim_place_x_claim_element : claim_model {
  recv_x_claim_place_x_claim_element() {
    send(0, 1, 3);
  }
  void thread(unsigned index) override {
    if (index == 0) receive(0);
    if (index == 1) send(1, 5, 1);
    if (index == 2) {
      receive(2, 2);
      send(2, 4, 1);
      receive(2);
      receive(2);
    }
  }
};
MODEL(recv_x_claim_place_x_claim_element, 3, bounded)
