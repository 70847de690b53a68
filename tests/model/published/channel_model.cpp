// channel_model: the channel of "Fast Waiter Slot" as printed, and as it was shipped.
// docs/errata.md, E10 to E12. A case that must fail says how the printed form loses, and what of
// the variants and of channel.c does not.
// PROGRAM: published
#include "channel.hpp"

namespace {

using published::printed_orders;
using published::shipped_orders;
using published::waiter;

// An empty channel: one sends, one receives. Nobody waits beside an element.
template <typename orders, bool slots>
struct send_x_recv : model {
  published::channel<orders, slots> channel;
  wake_count woken;
  waiter w{1, woken.waker()};
  bool received = false;
  uint32_t value = 0;

  void thread(unsigned index) override {
    if (index == 0) channel.try_send(1);
    if (index == 1) received = channel.recv_wait(&w, &value);
  }
  void check() override {
    EXPECT(received || w.is_complete());
  }
};

// A full channel: one receives, one sends. Nobody waits beside a place.
template <typename orders, bool slots>
struct recv_x_send : model {
  published::channel<orders, slots> channel;
  wake_count woken;
  waiter w{1, woken.waker()};
  bool sent = false;
  uint32_t value = 0;

  recv_x_send() {
    channel.try_send(1);
  }
  void thread(unsigned index) override {
    if (index == 0) channel.try_recv(&value);
    if (index == 1) sent = channel.send_wait(&w, 2);
  }
  void check() override {
    EXPECT(sent || w.is_complete());
  }
};

} // namespace

// E10. The sender finds the receivers' slot empty; the receiver, under the mutex, has found nothing
// in the ring and takes the slot; the sender finds the flag raised, takes the mutex, and looks at
// the list alone. Closed by gather() (chan_slots.c R9), which empties the slots first. Control:
// ring_send_x_recv.
struct e10_slot_beside_flag : send_x_recv<printed_orders, true> {};
MUST_FAIL(e10_slot_beside_flag, 2, full)

// E10, the other side.
struct e10_send_slot_beside_flag : recv_x_send<printed_orders, true> {};
MUST_FAIL(e10_send_slot_beside_flag, 2, full)

// Without the slots the printed handshake is right: what fails above is the slot.
struct e10_control_without_slots : send_x_recv<printed_orders, false> {};
MODEL(e10_control_without_slots, 2, full)

struct e10_control_send_without_slots : recv_x_send<printed_orders, false> {};
MODEL(e10_control_send_without_slots, 2, full)

// E11. The sender fills the place and does not see the flag, the receiver raises the flag and does
// not see the element: each store waits in its processor while the other loads. Closed by four
// seq_cst accesses (chan_ring.c R1), or by one word that says both (channel.c R1). Control:
// e10_control_without_slots.
struct e11_store_buffering : send_x_recv<shipped_orders, false> {};
MUST_FAIL(e11_store_buffering, 2, full)

struct e11_send_store_buffering : recv_x_send<shipped_orders, false> {};
MUST_FAIL(e11_send_store_buffering, 2, full)

// E12. The waiting sender is told "complete" when a place is free, and its value was never put
// anywhere. Closed by R3 of chan_ring.c: the element is moved before its waiter is told. Control:
// ring_waiting_send_x_recvs.
struct e12_value_lost : model {
  published::channel<printed_orders, false> channel;
  wake_count woken;
  waiter w{1, woken.waker()};
  uint32_t first = 0, second = 0;

  e12_value_lost() {
    channel.try_send(1);
    EXPECT(!channel.send_wait(&w, 2));
  }
  void thread(unsigned index) override {
    if (index == 0) channel.try_recv(&first);
    if (index == 1) w.is_complete();
  }
  void check() override {
    EXPECT(first == 1 && w.is_complete());
    EXPECT(channel.try_recv(&second) && second == 2);
  }
};
MUST_FAIL(e12_value_lost, 2, full)
