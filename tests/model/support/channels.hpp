// channels.hpp: a channel of a model, and those who send and receive.
#ifndef VOLT_CHANNELS_HPP
#define VOLT_CHANNELS_HPP

#include "model.hpp"

// A channel with its ring, on the heap. The models are built with positions of three bits, so that
// they wrap: first says where it begins.
struct channel {
  volt_chan chan;
  alignas(8) unsigned char ring[4 * (sizeof(volt_chan_slot) + sizeof(volt_model_element) + 8)];

  channel(uint32_t capacity, uint32_t first) {
    size_t bytes = sizeof(volt_model_element);
    EXPECT(volt_chan_init(&chan, capacity, bytes, ring, sizeof ring) == VOLT_OK);
    volt_store_relaxed(&chan.queue.word, volt_chan_word_(first, 0));
    for (uint32_t i = 0; i < 1u << chan.shift; i++) {
      volt_chan_slot *slot = slot_at(first + i);
      ::new (volt_chan_elem_(slot)) volt_model_element;
      volt_store_relaxed(&slot->sequence,
                         volt_chan_sequence_(volt_chan_ring_of_(&chan), first + i));
    }
  }
  // Whoever still uses it is reported, or finds nonsense.
  ~channel() {
    poison(&chan.queue);
    poison(&chan.watchers);
    for (uint32_t i = 0; i < 1u << chan.shift; i++) {
      volt_chan_slot *slot = slot_at(i);
      volt_model_element *elem = static_cast<volt_model_element *>(volt_chan_elem_(slot));
      elem->value = 0xdead;
      elem->~volt_model_element();
      slot->~volt_chan_slot();
    }
    chan.capacity = 0;
    chan.elem_bytes = 0;
    chan.stride = 0;
  }

 private:
  volt_chan_slot *slot_at(uint32_t position) {
    return volt_chan_slot_(volt_chan_ring_of_(&chan), position);
  }
};

// Up to four who send or receive once. An element is a number, 1 to 15, and sent once. At the end
// each is where it belongs: received, dropped by destroy(), or still its sender's.
struct channel_model : model {
  struct party {
    volt_waiter w;
    wake_count woken;
    volt_model_element e[3];
    bool in_use = false, sends = false, waited = false, ours = false;
    int result = VOLT_ECANCELED;
    uint32_t n = 0, moved = 0;
    uint64_t value[3] = {0, 0, 0}; // sent, or received
  };
  channel *c;
  party p[4];
  uint32_t put_in = 0; // those that were there from the beginning, as bits

  explicit channel_model(uint32_t capacity = 1, uint32_t first = 0)
      : c(new channel(capacity, first)) {
  }
  ~channel_model() override {
    if (c) end();
  }
  volt_chan *chan() {
    return &c->chan;
  }

  // In the constructor.
  void put(uint64_t value) {
    volt_model_element e;
    e.value = value;
    EXPECT(volt_chan_try_send(chan(), &e) == VOLT_OK);
    put_in |= 1u << value;
  }

  // ---- operations ----

  int send(unsigned i, uint64_t value) {
    party &q = begin(i, true, 1, value);
    q.result = volt_chan_send_waiter(chan(), &q.w, q.e, q.woken.waker());
    return began(q);
  }
  int recv(unsigned i) {
    party &q = begin(i, false, 1);
    q.result = volt_chan_recv_waiter(chan(), &q.w, q.e, q.woken.waker());
    return began(q);
  }
  int try_send(unsigned i, uint64_t value) {
    party &q = begin(i, true, 1, value);
    q.result = volt_chan_try_send(chan(), q.e);
    return began(q);
  }
  int try_recv(unsigned i) {
    party &q = begin(i, false, 1);
    q.result = volt_chan_try_recv(chan(), q.e);
    return began(q);
  }
  int send_until(unsigned i, uint64_t value, uint64_t deadline_ns = VOLT_NO_DEADLINE) {
    party &q = begin(i, true, 1, value);
    q.result = volt_chan_send_until(chan(), q.e, deadline_ns);
    return began(q);
  }
  int recv_until(unsigned i, uint64_t deadline_ns = VOLT_NO_DEADLINE) {
    party &q = begin(i, false, 1);
    q.result = volt_chan_recv_until(chan(), q.e, deadline_ns);
    return began(q);
  }
  // value and the next ones.
  int send_many(unsigned i, uint64_t value, uint32_t n) {
    party &q = begin(i, true, n, value);
    q.result = volt_chan_send_many_waiter(chan(), &q.w, q.e, n, q.woken.waker());
    return began(q);
  }
  int recv_many(unsigned i, uint32_t n) {
    party &q = begin(i, false, n);
    q.result = volt_chan_recv_many_waiter(chan(), &q.w, q.e, n, q.woken.waker());
    return began(q);
  }

  // What has become of it. Once it has ended its memory is ours, which we write all over.
  int look(unsigned i) {
    party &q = p[i];
    if (q.result == VOLT_PENDING) {
      int result = volt_waiter_result(&q.w);
      if (result == VOLT_PENDING) return result;
      q.result = result;
      q.waited = true;
      q.moved = result == VOLT_OK ? volt_chan_moved(&q.w) : 0;
      poison(&q.w);
      q.w.data = nullptr;
    }
    if (!q.ours) claim(q);
    return q.result;
  }
  bool cancel(unsigned i) {
    party &q = p[i];
    bool cancelled =
        q.sends ? volt_chan_cancel_send(chan(), &q.w) : volt_chan_cancel_recv(chan(), &q.w);
    if (q.result == VOLT_PENDING && cancelled) {
      EXPECT(volt_waiter_result(&q.w) == VOLT_ECANCELED);
      q.result = VOLT_ECANCELED;
      poison(&q.w);
      q.w.data = nullptr;
    }
    int result = look(i);
    EXPECT(cancelled == (result == VOLT_ECANCELED) && result != VOLT_PENDING);
    return cancelled;
  }
  // The number that i has received.
  uint64_t got(unsigned i) {
    EXPECT(look(i) == VOLT_OK);
    return p[i].value[0];
  }
  // Its life ends here: nobody is to use it.
  void end() {
    volt_chan_destroy(chan(), nullptr, nullptr);
    free();
  }
  void free() {
    delete c;
    c = nullptr;
  }

  // ---- at the end ----

  void check() override {
    uint32_t sent = put_in;
    there = 0;
    for (unsigned i = 0; i < 4; i++) {
      party &q = p[i];
      if (!q.in_use) continue;
      if (look(i) == VOLT_PENDING) must_wait(i);
      EXPECT(q.woken.seen() == (q.waited ? 1u : 0u));
      if (q.result != VOLT_OK) continue;
      EXPECT(q.moved >= 1 && q.moved <= q.n);
      for (uint32_t k = 0; k < q.moved; k++) count(q.sends ? &sent : &there, q.value[k]);
    }
    if (c) {
      EXPECT(volt_chan_waiters(chan()) == 0);
      volt_chan_destroy(chan(), drop, this);
      free();
    }
    EXPECT(sent == there);
  }

 private:
  uint32_t there; // received, or dropped

  party &begin(unsigned i, bool sends, uint32_t n, uint64_t value = 0) {
    party &q = p[i];
    q.in_use = true;
    q.sends = sends;
    q.n = n;
    for (uint32_t k = 0; k < n && sends; k++) q.e[k].value = q.value[k] = value + k;
    return q;
  }
  // Reads no channel: it may be gone.
  static int began(party &q) {
    if (q.result == VOLT_OK) q.moved = q.n == 1 ? 1 : volt_chan_moved(&q.w);
    if (q.result != VOLT_PENDING) claim(q);
    return q.result;
  }
  static void claim(party &q) {
    for (uint32_t k = 0; k < q.n; k++) {
      if (q.sends) {
        EXPECT(q.e[k].value == q.value[k]);
      } else if (k < q.moved) {
        q.value[k] = q.e[k].value;
      } else {
        EXPECT(q.e[k].value == 0); // nothing was moved
      }
      q.e[k].value = 0xdead;
    }
    q.ours = true;
  }
  // It waits: for good reason.
  void must_wait(unsigned i) {
    EXPECT(!volt_chan_is_closed(chan()));
    EXPECT(volt_chan_len(chan()) == (p[i].sends ? volt_chan_capacity(chan()) : 0));
    EXPECT(volt_chan_waiters(chan()) > 0);
    EXPECT(cancel(i));
  }
  static void count(uint32_t *numbers, uint64_t value) {
    EXPECT(value >= 1 && value <= 15 && !(*numbers & 1u << value));
    *numbers |= 1u << value;
  }
  static void drop(void *elem, void *self) {
    count(&static_cast<channel_model *>(self)->there,
          static_cast<volt_model_element *>(elem)->value);
  }
};

#endif
