// mailbox_model: a list of nodes, and turns. In batches of one waiter.
// Checks mailbox.c I1, R1-R4, and monitor.c R2 once more.
// PROGRAM: monitors
#include "model.hpp"
#include "poller.hpp"

struct parcel {
  volt_mailbox_node node;
  VOLT_PLAIN(unsigned) number; // 1, 2, ...
};

// One mailbox, up to three parcels, two receivers with a waker that counts. A parcel that was sent
// is somewhere, once: each receive frees it.
struct mailbox_model : model {
  volt_mailbox *m = new volt_mailbox();
  parcel *parcels[3];
  int sent[3] = {VOLT_PENDING, VOLT_PENDING, VOLT_PENDING};
  volt_waiter w[2];
  wake_count woken[2];
  volt_mailbox_node *node[2] = {nullptr, nullptr};
  int result[2] = {VOLT_ECANCELED, VOLT_ECANCELED};
  unsigned number[2] = {0, 0}; // of what it has received
  VOLT_PLAIN(int) message;

  explicit mailbox_model(unsigned waiters = 0) {
    volt_mailbox_init(m);
    for (parcel *&p : parcels) p = new parcel;
    for (unsigned i = 0; i < waiters; i++) EXPECT(recv(i) == VOLT_PENDING);
  }
  ~mailbox_model() override {
    for (unsigned i = 0; i < 3; i++) {
      if (sent[i] != VOLT_OK) delete parcels[i];
    }
    if (!m) return;
    for (volt_waiter &waiter : w) volt_mailbox_cancel(m, &waiter);
    end();
  }
  // Its life ends here: nobody is to use it.
  void end() {
    volt_mailbox_destroy(m, drop, nullptr);
    poison(&m->queue);
    m->first = nullptr;
    m->last = nullptr;
    m->len = 0xdead;
    delete m;
    m = nullptr;
  }
  static void drop(volt_mailbox_node *n, void *) {
    free_it(n);
  }
  // What was received is the receiver's: whoever still uses it is reported.
  static unsigned free_it(volt_mailbox_node *n) {
    parcel *p = volt_container_of(n, parcel, node);
    unsigned number = p->number;
    n->next = nullptr;
    p->number = 0xdead;
    delete p;
    return number;
  }
  int send(unsigned i) {
    parcels[i]->number = i + 1;
    sent[i] = VOLT_OK; // as seen by the receiver, who may be faster than the return
    int r = volt_mailbox_send(m, &parcels[i]->node);
    if (r != VOLT_OK) sent[i] = r;
    return r;
  }
  int recv(unsigned i) {
    return began(i, volt_mailbox_recv_waiter(m, &w[i], &node[i], woken[i].waker()));
  }
  int try_recv(unsigned i) {
    return began(i, volt_mailbox_try_recv(m, &node[i]));
  }
  int recv_until(unsigned i, uint64_t deadline_ns = VOLT_NO_DEADLINE) {
    return began(i, volt_mailbox_recv_until(m, &node[i], deadline_ns));
  }
  int began(unsigned i, int r) {
    if (r == VOLT_OK) number[i] = free_it(node[i]);
    return result[i] = r;
  }
  // What has become of a waiter, by its owner. Reads no mailbox: it may be gone.
  int look(unsigned i) {
    if (result[i] == VOLT_PENDING && volt_waiter_result(&w[i]) != VOLT_PENDING) {
      began(i, volt_waiter_result(&w[i]));
      poison(&w[i]);
    }
    return result[i];
  }
  // At quiescence: the number of the next one in it, or 0.
  unsigned next() {
    volt_mailbox_node *n;
    return volt_mailbox_try_recv(m, &n) == VOLT_OK ? free_it(n) : 0;
  }
};

// R1: one sends while another begins to wait; what was done before is seen.
struct mailbox_send_x_recv : mailbox_model {
  void thread(unsigned index) override {
    if (index == 0) {
      message = 1;
      EXPECT(send(0) == VOLT_OK);
    } else {
      recv(0);
      if (look(0) == VOLT_OK) EXPECT(message == 1);
    }
  }
  void check() override {
    EXPECT(look(0) == VOLT_OK && number[0] == 1 && volt_mailbox_len(m) == 0);
    EXPECT(volt_mailbox_waiters(m) == 0 && next() == 0);
  }
};
MODEL(mailbox_send_x_recv, 2, full)

// Two senders: nothing is lost, and the order of each is kept.
struct mailbox_two_senders : mailbox_model {
  void thread(unsigned index) override {
    if (index == 0) {
      send(0);
      send(1);
    } else if (index == 1) {
      send(2);
    } else {
      recv(0);
    }
  }
  void check() override {
    unsigned seen = 0;
    bool first = false;
    EXPECT(look(0) == VOLT_OK);
    for (unsigned n = number[0]; n != 0; n = next()) {
      EXPECT(!(seen & 1u << n) && (n != 2 || first));
      if (n == 1) first = true;
      seen |= 1u << n;
    }
    EXPECT(seen == 14 && volt_mailbox_len(m) == 0);
  }
};
MODEL(mailbox_two_senders, 3, bounded)

// Two receivers: each gets one.
struct mailbox_two_receivers : mailbox_model {
  void thread(unsigned index) override {
    if (index == 2) {
      send(0);
      send(1);
    } else {
      recv(index);
    }
  }
  void check() override {
    EXPECT(look(0) == VOLT_OK && look(1) == VOLT_OK && number[0] + number[1] == 3);
    EXPECT(volt_mailbox_waiters(m) == 0);
  }
};
MODEL(mailbox_two_receivers, 3, bounded)

// The outcome of a cancel is true.
struct mailbox_send_x_cancel : mailbox_model {
  mailbox_send_x_cancel() : mailbox_model(1) {
  }
  void thread(unsigned index) override {
    if (index == 0) {
      send(0);
    } else if (volt_mailbox_cancel(m, &w[0])) {
      result[0] = VOLT_ECANCELED;
      poison(&w[0]);
    } else {
      EXPECT(look(0) == VOLT_OK && number[0] == 1);
    }
  }
  void check() override {
    EXPECT(next() == (result[0] == VOLT_ECANCELED ? 1u : 0u));
    EXPECT(woken[0].seen() == (result[0] == VOLT_OK ? 1u : 0u));
  }
};
MODEL(mailbox_send_x_cancel, 2, full)

// R3: a receive is dropped while one is sent: the next one who waits has it.
struct mailbox_dropped : mailbox_model {
  volt_future f;
  volt_mailbox_node *seen = nullptr;
  poller::trace left;
  explicit mailbox_dropped(bool another) {
    poller *p = new poller(&left);
    EXPECT(p->poll(volt_mailbox_recv_future(&f, m, &seen)) == VOLT_PENDING);
    EXPECT(p->end() == 1);
    if (another) EXPECT(recv(0) == VOLT_PENDING);
  }
  void drop_it() {
    volt_future_cancel(&f);
    poison(&f.waiter);
  }
};
struct mailbox_send_x_drop : mailbox_dropped {
  mailbox_send_x_drop() : mailbox_dropped(true) {
  }
  void thread(unsigned index) override {
    if (index == 0) send(0);
    if (index == 1) drop_it();
  }
  void check() override {
    EXPECT(left.gone(1) && look(0) == VOLT_OK && number[0] == 1);
    EXPECT(volt_mailbox_waiters(m) == 0 && volt_mailbox_len(m) == 0);
  }
};
MODEL(mailbox_send_x_drop, 2, bounded)

// R3: with nobody else there, it is the oldest again.
struct mailbox_dropped_in_order : mailbox_dropped {
  mailbox_dropped_in_order() : mailbox_dropped(false) {
  }
  void thread(unsigned index) override {
    if (index == 0) {
      send(0);
      send(1);
    }
    if (index == 1) drop_it();
  }
  void check() override {
    EXPECT(left.gone(1) && volt_mailbox_len(m) == 2);
    EXPECT(next() == 1);
    EXPECT(next() == 2 && next() == 0);
  }
};
MODEL(mailbox_dropped_in_order, 2, bounded)

// R3: and the list is whole when what was given back is its last, too.
struct mailbox_dropped_x_send_after : mailbox_dropped {
  mailbox_dropped_x_send_after() : mailbox_dropped(false) {
    send(0);
  }
  void thread(unsigned index) override {
    if (index == 0) send(1);
    if (index == 1) drop_it();
  }
  void check() override {
    EXPECT(left.gone(1) && volt_mailbox_len(m) == 2);
    EXPECT(next() == 1);
    EXPECT(next() == 2 && next() == 0);
  }
};
MODEL(mailbox_dropped_x_send_after, 2, full)

// R4: who is told of the end has missed nothing.
struct mailbox_close_x_send_x_recv : mailbox_model {
  void thread(unsigned index) override {
    if (index == 0) send(0);
    if (index == 1) {
      message = 1;
      volt_mailbox_close(m);
    }
    if (index == 2 && recv_until(0) == VOLT_ECLOSED) {
      EXPECT(message == 1 && volt_mailbox_is_closed(m));
      EXPECT(try_recv(1) == VOLT_ECLOSED);
    }
  }
  void check() override {
    EXPECT(sent[0] == result[0] && (sent[0] == VOLT_OK || sent[0] == VOLT_ECLOSED));
    EXPECT(volt_mailbox_len(m) == 0 && volt_mailbox_waiters(m) == 0);
  }
};
MODEL(mailbox_close_x_send_x_recv, 3, bounded)

// C1: who sees that it is closed.
struct mailbox_close_x_look : mailbox_model {
  void thread(unsigned index) override {
    if (index == 0) {
      message = 1;
      volt_mailbox_close(m);
    } else if (volt_mailbox_is_closed(m)) {
      EXPECT(message == 1 && send(0) == VOLT_ECLOSED);
    }
  }
};
MODEL(mailbox_close_x_look, 2, full)

// R2: who receives the last one frees it, and the mailbox.
struct mailbox_send_x_free : mailbox_model {
  void thread(unsigned index) override {
    if (index == 0) {
      send(0);
    } else {
      EXPECT(recv_until(0) == VOLT_OK && number[0] == 1);
      end();
    }
  }
};
MODEL(mailbox_send_x_free, 2, bounded)

struct mailbox_send_x_try_and_free : mailbox_model {
  void thread(unsigned index) override {
    if (index == 0) {
      send(0);
    } else if (try_recv(0) == VOLT_OK) {
      end();
    }
  }
};
MODEL(mailbox_send_x_try_and_free, 2, full)

// R2 of monitor.c: the first to be told of the end, before the second is.
struct mailbox_close_x_end : mailbox_model {
  mailbox_close_x_end() : mailbox_model(2) {
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_mailbox_close(m);
    } else if (look(0) == VOLT_ECLOSED) {
      end();
    }
  }
  void check() override {
    EXPECT(look(0) == VOLT_ECLOSED && look(1) == VOLT_ECLOSED);
    EXPECT(woken[0].seen() == 1 && woken[1].seen() == 1);
  }
};
MODEL(mailbox_close_x_end, 2, bounded)

// A thread whose deadline passes at any moment.
struct mailbox_send_x_deadline : mailbox_model {
  void thread(unsigned index) override {
    if (index == 0) send(0);
    if (index == 1) recv_until(0, 1);
  }
  void check() override {
    EXPECT(result[0] == VOLT_OK || result[0] == VOLT_ETIMEDOUT);
    EXPECT(next() == (result[0] == VOLT_OK ? 0u : 1u) && volt_mailbox_waiters(m) == 0);
  }
};
MODEL(mailbox_send_x_deadline, 2, bounded)
