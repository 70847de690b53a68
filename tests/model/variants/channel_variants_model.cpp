// channel_variants_model: sends, receives, cancels and closes of the channels of variants/, in all
// pairs, in batches of two. Checks I1 to I7 and R1 to R10 of chan_ring.c and chan_slots.c; the
// comment of a case names its race. Each checks at its end: every number that was sent is received
// once, or left in the ring; a cancelled or refused one is still its sender's; a waiter that waits
// has a reason; a waiter that was completed was woken once. No case shows D5 and D6 to be
// necessary: a thread that misses a claim would have to see a value of tail that is two stores old,
// and a tree search shows one. They rest on the argument in chan_slots.c, R7.
// PROGRAM: chan_dekker BATCH 2 MUTANTS ENGINE chan_dekker
// PROGRAM: chan_slots BATCH 2 MUTANTS ENGINE chan_slots
#ifdef ENGINE_CHAN_DEKKER
#include "chan_dekker.h"
#define ENGINE(op) volt_chan_dekker_##op
typedef volt_chan_dekker engine_chan;
#else
#include "chan_slots.h"
#define ENGINE(op) volt_chan_slots_##op
typedef volt_chan_slots engine_chan;
#endif
#include "model.hpp"

#define engine_chan_set_waker ENGINE(set_waker)
#define engine_chan_init ENGINE(init)
#define engine_chan_destroy ENGINE(destroy)
#define engine_chan_try_send ENGINE(try_send)
#define engine_chan_try_recv ENGINE(try_recv)
#define engine_chan_send ENGINE(send_waiter)
#define engine_chan_recv ENGINE(recv_waiter)
#define engine_chan_cancel_send ENGINE(cancel_send)
#define engine_chan_cancel_recv ENGINE(cancel_recv)
#define engine_chan_close ENGINE(close)
#define engine_chan_is_closed ENGINE(is_closed)
#define engine_chan_len ENGINE(len)
#define engine_chan_waiters ENGINE(waiters)

namespace {

constexpr unsigned PARTIES = 5;

struct ring_model : model {
  struct party {
    volt_waiter w;
    wake_count woken;
    volt_model_element e;
    bool in_use = false, sends = false, waited = false, ours = false;
    int result = VOLT_ECANCELED;
    uint64_t value = 0; // sent, or received
  };
  engine_chan *c = new engine_chan;
  uint32_t capacity;
  alignas(8) unsigned char places[3 * (sizeof(volt_variant_ring_place_) +
                                       sizeof(volt_model_element) + 8)];
  party p[PARTIES];
  uint32_t sent = 0, there = 0; // as bits

  explicit ring_model(uint32_t capacity_ = 1) : capacity(capacity_) {
    size_t bytes = sizeof(volt_model_element);
    EXPECT(engine_chan_init(c, capacity, bytes, places, sizeof places) == VOLT_OK);
    for (uint32_t i = 0; i < capacity; i++) ::new (elem(i)) volt_model_element;
  }

  // In the constructor.
  void put(uint64_t value) {
    volt_model_element e;
    e.value = value;
    EXPECT(engine_chan_try_send(c, &e) == VOLT_OK);
    count(&sent, value);
  }

  int send(unsigned i, uint64_t value) {
    party &q = begin(i, true, value);
    return began(q, engine_chan_send(c, &q.w, &q.e, q.woken.waker()));
  }
  int recv(unsigned i) {
    party &q = begin(i, false, 0);
    return began(q, engine_chan_recv(c, &q.w, &q.e, q.woken.waker()));
  }
  int try_send(unsigned i, uint64_t value) {
    party &q = begin(i, true, value);
    return began(q, engine_chan_try_send(c, &q.e));
  }
  int try_recv(unsigned i) {
    party &q = begin(i, false, 0);
    return began(q, engine_chan_try_recv(c, &q.e));
  }
  void close() {
    engine_chan_close(c);
  }

  // The result of operation i. Once it has ended, its memory is written over.
  int look(unsigned i) {
    party &q = p[i];
    if (q.result == VOLT_PENDING) {
      int result = volt_waiter_result(&q.w);
      if (result == VOLT_PENDING) return result;
      q.waited = true;
      ended(q, result);
    }
    return q.result;
  }
  bool cancel(unsigned i) {
    party &q = p[i];
    bool cancelled = q.sends ? engine_chan_cancel_send(c, &q.w) : engine_chan_cancel_recv(c, &q.w);
    if (cancelled) {
      EXPECT(volt_waiter_result(&q.w) == VOLT_ECANCELED);
      ended(q, VOLT_ECANCELED);
    } else {
      EXPECT(look(i) != VOLT_PENDING && q.result != VOLT_ECANCELED);
    }
    return cancelled;
  }
  // The number that operation i has received; 0: it waits.
  uint64_t got(unsigned i) {
    return look(i) == VOLT_OK ? p[i].value : 0;
  }

  void check() override {
    for (unsigned i = 0; i < PARTIES; i++) {
      party &q = p[i];
      if (!q.in_use) continue;
      if (look(i) == VOLT_PENDING) {
        EXPECT(!engine_chan_is_closed(c));
        EXPECT(engine_chan_len(c) == (q.sends ? capacity : 0));
        EXPECT(engine_chan_waiters(c) > 0);
        EXPECT(cancel(i));
      }
      EXPECT(q.woken.seen() == (q.waited ? 1u : 0u));
      if (q.result == VOLT_OK) count(q.sends ? &sent : &there, q.value);
    }
    EXPECT(engine_chan_waiters(c) == 0);
    engine_chan_destroy(c, drop, this);
    EXPECT(sent == there);
    for (uint32_t i = 0; i < capacity; i++) {
      elem(i)->~volt_model_element();
      volt_variant_ring_place_at_(&c->ring, i)->~volt_variant_ring_place_();
    }
    delete c;
  }

 private:
  volt_model_element *elem(uint32_t i) {
    return static_cast<volt_model_element *>(
        volt_variant_ring_elem_(volt_variant_ring_place_at_(&c->ring, i)));
  }
  party &begin(unsigned i, bool sends, uint64_t value) {
    party &q = p[i];
    q.in_use = true;
    q.sends = sends;
    q.e.value = q.value = value;
    return q;
  }
  static int began(party &q, int result) {
    q.result = result;
    if (result != VOLT_PENDING) ended(q, result);
    return result;
  }
  static void ended(party &q, int result) {
    q.result = result;
    if (q.sends || result != VOLT_OK) {
      EXPECT(q.e.value == q.value); // a sender's element stays as it was; nothing was received
    } else {
      q.value = q.e.value;
    }
    q.e.value = 0xdead;
    poison(&q.w);
    q.w.data = nullptr;
  }
  static void count(uint32_t *numbers, uint64_t value) {
    EXPECT(value >= 1 && value <= 15 && !(*numbers & 1u << value));
    *numbers |= 1u << value;
  }
  static void drop(void *elem, void *self) {
    count(&static_cast<ring_model *>(self)->there, static_cast<volt_model_element *>(elem)->value);
  }
};

} // namespace

// ---- two at a time ----

// R1: neither misses the other (docs/errata.md, E10, E11).
struct ring_send_x_recv : ring_model {
  void thread(unsigned index) override {
    if (index == 0) send(0, 1);
    if (index == 1) recv(1);
  }
  void check() override {
    EXPECT(look(0) == VOLT_OK && got(1) == 1);
    ring_model::check();
  }
};
MODEL(ring_send_x_recv, 2, bounded)

// R1: the same the other way round. R3: the element of a sender that is granted is received, or in
// the ring (docs/errata.md, E12).
struct ring_full_send_x_recv : ring_model {
  ring_full_send_x_recv() {
    put(1);
  }
  void thread(unsigned index) override {
    if (index == 0) send(0, 2);
    if (index == 1) EXPECT(recv(1) == VOLT_OK && got(1) == 1);
  }
  void check() override {
    EXPECT(look(0) == VOLT_OK && engine_chan_len(c) == 1);
    ring_model::check();
  }
};
MODEL(ring_full_send_x_recv, 2, bounded)

// R2, R3: a receiver waits; when it is granted, the element is in its memory.
struct ring_waiting_recv_x_send : ring_model {
  ring_waiting_recv_x_send() {
    EXPECT(recv(0) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) EXPECT(send(1, 1) == VOLT_OK);
    if (index == 1) look(0);
  }
  void check() override {
    EXPECT(got(0) == 1);
    ring_model::check();
  }
};
MODEL(ring_waiting_recv_x_send, 2, full)

// R3: a sender waits; its element follows the one that was there (docs/errata.md, E12).
struct ring_waiting_send_x_recvs : ring_model {
  ring_waiting_send_x_recvs() {
    put(1);
    EXPECT(send(0, 2) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      recv(1);
      recv(2);
      EXPECT(got(1) == 1 && got(2) == 2);
    }
    if (index == 1) look(0);
  }
};
MODEL(ring_waiting_send_x_recvs, 2, full)

// R4, R10: one of the two comes first, and both agree on which.
struct ring_cancel_recv_x_send : ring_model {
  ring_cancel_recv_x_send() {
    EXPECT(recv(0) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) cancel(0);
    if (index == 1) EXPECT(send(1, 1) == VOLT_OK);
  }
};
MODEL(ring_cancel_recv_x_send, 2, bounded)

struct ring_cancel_send_x_recv : ring_model {
  ring_cancel_send_x_recv() {
    put(1);
    EXPECT(send(0, 2) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) cancel(0);
    if (index == 1) EXPECT(recv(1) == VOLT_OK && got(1) == 1);
  }
};
MODEL(ring_cancel_send_x_recv, 2, bounded)

// I5: the second waiter is the first when the first has been cancelled.
struct ring_cancel_first_x_send : ring_model {
  ring_cancel_first_x_send() {
    EXPECT(recv(0) == VOLT_PENDING && recv(1) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) cancel(0);
    if (index == 1) send(2, 1);
  }
  void check() override {
    EXPECT(got(0) + got(1) == 1);
    ring_model::check();
  }
};
MODEL(ring_cancel_first_x_send, 2, bounded)

// R4, R10: the new waker is called or the old one, never both.
struct ring_set_waker_x_send : ring_model {
  wake_count other;
  bool replaced = false;
  ring_set_waker_x_send() {
    EXPECT(recv(0) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) replaced = engine_chan_set_waker(c, &p[0].w, other.waker());
    if (index == 1) EXPECT(send(1, 1) == VOLT_OK);
  }
  void check() override {
    EXPECT(got(0) == 1 && other.seen() == (replaced ? 1u : 0u));
    if (replaced) p[0].waited = false;
    ring_model::check();
  }
};
MODEL(ring_set_waker_x_send, 2, bounded)

// R6: sent before, or refused.
struct ring_close_x_send : ring_model {
  void thread(unsigned index) override {
    if (index == 0) close();
    if (index == 1) send(0, 1);
  }
};
MODEL(ring_close_x_send, 2, bounded)

struct ring_close_x_recv : ring_model {
  void thread(unsigned index) override {
    if (index == 0) close();
    if (index == 1) recv(0);
  }
  void check() override {
    EXPECT(look(0) == VOLT_ECLOSED);
    ring_model::check();
  }
};
MODEL(ring_close_x_recv, 2, bounded)

// R8: the channel is closed after a receiver has swapped the sender out.
struct ring_close_x_refill : ring_model {
  ring_close_x_refill() {
    put(1);
    EXPECT(send(0, 2) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) close();
    if (index == 1) {
      EXPECT(recv(1) == VOLT_OK && got(1) == 1);
      recv(2);
    }
  }
  void check() override {
    EXPECT(look(0) == VOLT_OK ? got(2) == 2 : look(2) == VOLT_ECLOSED);
    ring_model::check();
  }
};
MODEL(ring_close_x_refill, 2, bounded)

// R8: two receivers empty places of a full ring. The second must not swap the sender out, because
// the place that it gives up is not the next to fill.
struct ring_refill_x_recv : ring_model {
  ring_refill_x_recv() : ring_model(2) {
    put(1);
    put(2);
    EXPECT(send(0, 3) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    recv(1 + index);
  }
  void check() override {
    EXPECT(look(0) == VOLT_OK && got(1) + got(2) == 3);
    ring_model::check();
  }
};
MODEL(ring_refill_x_recv, 2, bounded)

// R9: a receiver waits, and is moved from the slot to the FIFO while a sender searches for it. A
// receiver that comes later does not get the element.
struct ring_nobody_barges : ring_model {
  bool waits = false;
  void thread(unsigned index) override {
    if (index == 0) send(0, 1);
    if (index == 1) {
      waits = recv(1) == VOLT_PENDING;
      try_recv(2);
    }
  }
  void check() override {
    EXPECT(got(1) == 1 && (!waits || look(2) == VOLT_EAGAIN));
    ring_model::check();
  }
};
MODEL(ring_nobody_barges, 2, bounded)

// ---- three at a time ----

// R6: a receiver that gets VOLT_ECLOSED has missed no element.
struct ring_close_x_send_x_recv : ring_model {
  void thread(unsigned index) override {
    if (index == 0) close();
    if (index == 1) send(0, 1);
    if (index == 2) recv(1);
  }
  void check() override {
    EXPECT(look(0) == look(1));
    ring_model::check();
  }
};
MODEL(ring_close_x_send_x_recv, 3, bounded)

struct ring_sends_x_recv : ring_model {
  void thread(unsigned index) override {
    if (index < 2) send(index, index + 1);
    if (index == 2) recv(2);
  }
  void check() override {
    EXPECT(look(0) == VOLT_OK && look(1) == VOLT_OK && got(2) != 0);
    ring_model::check();
  }
};
MODEL(ring_sends_x_recv, 3, bounded)

struct ring_send_x_recvs : ring_model {
  void thread(unsigned index) override {
    if (index == 0) send(0, 1);
    if (index > 0) recv(index);
  }
  void check() override {
    EXPECT(look(0) == VOLT_OK && got(1) + got(2) == 1);
    ring_model::check();
  }
};
MODEL(ring_send_x_recvs, 3, bounded)

// R4, R9: beside a cancel the next waiter is not forgotten.
struct ring_cancel_x_send_x_send : ring_model {
  ring_cancel_x_send_x_send() : ring_model(2) {
    EXPECT(recv(0) == VOLT_PENDING && recv(1) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) cancel(0);
    if (index > 0) send(index + 1, index);
  }
  void check() override {
    EXPECT(got(1) != 0);
    ring_model::check();
  }
};
MODEL(ring_cancel_x_send_x_send, 3, bounded)

// I5: waiters are served as they came, and no newcomer overtakes them (R9).
struct ring_recv_is_fifo : ring_model {
  ring_recv_is_fifo() : ring_model(2) {
    EXPECT(recv(0) == VOLT_PENDING && recv(1) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index < 2) send(2 + index, 1 + index);
    if (index == 2) EXPECT(try_recv(4) == VOLT_EAGAIN);
  }
  void check() override {
    EXPECT(got(0) + got(1) == 3);
    ring_model::check();
  }
};
MODEL(ring_recv_is_fifo, 3, bounded)

struct ring_one_send_serves_the_first : ring_model {
  ring_one_send_serves_the_first() {
    EXPECT(recv(0) == VOLT_PENDING && recv(1) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) send(2, 1);
    if (index == 1) recv(3);
  }
  void check() override {
    EXPECT(got(0) == 1 && got(1) == 0 && got(3) == 0);
    ring_model::check();
  }
};
MODEL(ring_one_send_serves_the_first, 2, bounded)

struct ring_send_is_fifo : ring_model {
  ring_send_is_fifo() {
    put(1);
    EXPECT(send(0, 2) == VOLT_PENDING && send(1, 3) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) EXPECT(recv(2) == VOLT_OK && got(2) == 1);
    if (index == 1) EXPECT(try_send(3, 4) == VOLT_EAGAIN);
  }
  void check() override {
    EXPECT(look(0) == VOLT_OK && look(1) == VOLT_PENDING);
    ring_model::check();
  }
};
MODEL(ring_send_is_fifo, 2, bounded)

// R7: one thread sends 2 and 3 while another is in the middle of sending 1: 3 is not received
// first.
struct ring_no_element_overtakes : ring_model {
  ring_no_element_overtakes() : ring_model(3) {
  }
  void thread(unsigned index) override {
    if (index == 0) send(0, 1);
    if (index == 1) {
      send(1, 2);
      send(2, 3);
    }
    if (index == 2) recv(3);
  }
  void check() override {
    EXPECT(got(3) == 1 || got(3) == 2);
    ring_model::check();
  }
};
MODEL(ring_no_element_overtakes, 3, bounded)

// R7: a waiting sender's element is not overtaken by what the same sender sends next.
struct ring_no_refill_is_overtaken : ring_model {
  ring_no_refill_is_overtaken() {
    put(1);
    EXPECT(send(0, 2) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) recv(1);
    if (index == 1) {
      if (look(0) == VOLT_OK) send(2, 3);
    }
    if (index == 2) recv(3);
  }
  void check() override {
    EXPECT(got(1) + got(3) == 3);
    ring_model::check();
  }
};
MODEL(ring_no_refill_is_overtaken, 3, bounded)

// R5: three waiters, and two in a batch.
struct ring_close_x_three : ring_model {
  ring_close_x_three() {
    for (unsigned i = 0; i < 3; i++) EXPECT(recv(i) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) close();
    if (index == 1) send(3, 1);
  }
  void check() override {
    for (unsigned i = 1; i < 3; i++) EXPECT(look(i) == VOLT_ECLOSED);
    EXPECT((look(0) == VOLT_OK) == (look(3) == VOLT_OK));
    ring_model::check();
  }
};
MODEL(ring_close_x_three, 2, bounded)
