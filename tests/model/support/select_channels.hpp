// select_channels.hpp: a select of two futures, of channels if nothing else is said.
#ifndef VOLT_SELECT_CHANNELS_HPP
#define VOLT_SELECT_CHANNELS_HPP

#include "core/future/future_ops.h"
#include "poller.hpp"

// A channel of one place.
struct lane {
  volt_chan chan;
  struct {
    alignas(volt_chan_slot) unsigned char slot[sizeof(volt_chan_slot)]; // made by volt_chan_init()
    volt_model_element element;
  } place;
  volt_model_element in, out; // of the threads beside the select

  lane() {
    static_assert(sizeof place == sizeof(volt_chan_slot) + sizeof(volt_model_element), "no gap");
    EXPECT(volt_chan_init(&chan, 1, sizeof(volt_model_element), &place, sizeof place) == VOLT_OK);
  }
  ~lane() {
    reinterpret_cast<volt_chan_slot *>(place.slot)->~volt_chan_slot();
  }
  int send(uint64_t value) {
    in.value = value;
    return volt_chan_try_send(&chan, &in);
  }
  int receive() {
    return volt_chan_try_recv(&chan, &out);
  }
  // At quiescence: what a receive would get; 0: nothing.
  uint64_t left() {
    return receive() == VOLT_OK ? uint64_t(out.value) : 0;
  }
};

// Two channels, two branches, and an element for each: value i + 1 goes through channel i.
struct select_channel_model : model {
  lane c[2];
  volt_model_element element[2]; // received by the branch, or to be sent by it
  volt_future f[2];
  volt_future *branches[2] = {&f[0], &f[1]};
  volt_select s;
  poller::trace first, last;
  int result = VOLT_PENDING;

  void receives(unsigned i) {
    element[i].value = 0;
    volt_future_made(volt_chan_recv_future(&f[i], &c[i].chan, &element[i]));
  }
  void sends(unsigned i) {
    element[i].value = i + 1;
    volt_future_made(volt_chan_send_future(&f[i], &c[i].chan, &element[i]));
  }
  void select() {
    volt_future_made(volt_select_future(&s, branches, 2, VOLT_SELECT_BIASED));
  }
  void poll_first() {
    poller *p = new poller(&first);
    EXPECT(p->poll(&s.future) == VOLT_PENDING);
    EXPECT(p->end() == 2);
  }
  // Polled by p for the last time; given up if it is not ready. Returns what it polls as then.
  int poll_and_cancel(poller *p) {
    int one = p->poll(&s.future);
    p->end();
    if (one == VOLT_PENDING) volt_future_cancel(&s.future);
    return ended();
  }
  int ended() {
    int one = volt_future_poll(&s.future, volt_waker{nullptr, nullptr});
    for (unsigned i = 0; i < 2; i++) {
      poison(&f[i].waiter);
      EXPECT((volt_future_result_(&f[i]) == VOLT_OK) ==
             (one == VOLT_OK && i == volt_select_winner(&s)));
    }
    return one;
  }
  bool won(unsigned i) {
    return result == VOLT_OK && volt_select_winner(&s) == i;
  }
  void expect_ended() {
    EXPECT(result == VOLT_OK || result == VOLT_ECANCELED);
    EXPECT((volt_select_winner(&s) != UINT32_MAX) == (result == VOLT_OK));
  }
  // Value i + 1 was sent to branch i: it has it, or it is in the channel.
  void expect_received(unsigned i) {
    EXPECT(element[i].value == (won(i) ? i + 1 : 0));
    EXPECT(c[i].left() == (won(i) ? 0 : i + 1));
  }
};

// Both receive.
struct two_receives : select_channel_model {
  poller *p = new poller(&last);
  two_receives() {
    receives(0);
    receives(1);
    select();
  }
  void check() override {
    expect_ended();
    expect_received(0);
    expect_received(1);
    EXPECT(last.freed == 1);
  }
};

#endif
