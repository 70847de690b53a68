// channel_close_model: the end of a channel, with a batch of one waiter. Checks channel.c R2, R7,
// R10 and the pair C1, C2; a case names what it is after.
// PROGRAM: channel
#include "channels.hpp"

// ---- close ----

struct close_model : channel_model {
  VOLT_PLAIN(int) before; // the close
  explicit close_model(uint32_t capacity = 1) : channel_model(capacity) {
  }
  void close() {
    before = 1;
    volt_chan_close(chan());
  }
  // Who is told so sees what came before.
  bool closed(unsigned i) {
    if (look(i) != VOLT_ECLOSED) return false;
    EXPECT(before == 1);
    return true;
  }
};

// C1, C2: it is sent, or it is not; a send that has ended says which.
struct close_x_send : close_model {
  void thread(unsigned index) override {
    if (index == 0) {
      close();
      EXPECT(try_send(1, 2) == VOLT_ECLOSED);
    }
    if (index == 1) EXPECT(send(0, 1) == VOLT_OK || closed(0));
  }
};
MODEL(close_x_send, 2, full)

struct close_x_recv : close_model {
  void thread(unsigned index) override {
    if (index == 0) close();
    if (index == 1) {
      recv(0);
      closed(0);
    }
  }
  void check() override {
    EXPECT(closed(0));
    close_model::check();
  }
};
MODEL(close_x_recv, 2, full)

// Closed, it is drained: what was sent before is received.
struct close_x_drain : close_model {
  close_x_drain() {
    put(1);
  }
  void thread(unsigned index) override {
    if (index == 0) close();
    if (index == 1) {
      EXPECT(recv(0) == VOLT_OK && got(0) == 1);
      recv(1);
      closed(1);
    }
  }
  void check() override {
    EXPECT(closed(1));
    close_model::check();
  }
};
MODEL(close_x_drain, 2, bounded)

// It has not ended while an element is on its way.
struct close_x_send_x_recv : close_model {
  void thread(unsigned index) override {
    if (index == 0) close();
    if (index == 1) send(0, 1);
    if (index == 2 && try_recv(1) == VOLT_ECLOSED) closed(1);
  }
  void check() override {
    if (look(1) == VOLT_ECLOSED) EXPECT(closed(0));
    close_model::check();
  }
};
MODEL(close_x_send_x_recv, 3, bounded)

// The last sender leaves: what it sent comes first, then the end.
struct last_sender_leaves : close_model {
  void thread(unsigned index) override {
    if (index == 0) {
      EXPECT(send(0, 1) == VOLT_OK);
      close();
    } else {
      EXPECT(recv_blocking(1) == VOLT_OK && got(1) == 1);
      EXPECT(recv_blocking(2) == VOLT_ECLOSED && closed(2));
    }
  }
};
MODEL(last_sender_leaves, 2, bounded)

// C1: it is seen to be closed.
struct close_x_is_closed : close_model {
  void thread(unsigned index) override {
    if (index == 0) close();
    if (index == 1 && volt_chan_is_closed(chan())) EXPECT(before == 1);
  }
};
MODEL(close_x_is_closed, 2, full)

// A sender that waits keeps its element, or a receiver has made room for it.
struct close_x_waiting_send_x_recv : close_model {
  close_x_waiting_send_x_recv() {
    put(1);
    EXPECT(send(0, 2) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) close();
    if (index == 1) {
      EXPECT(recv(1) == VOLT_OK && got(1) == 1);
      try_recv(2);
    }
  }
  void check() override {
    EXPECT(look(0) == VOLT_OK ? got(2) == 2 : closed(0) && look(2) == VOLT_ECLOSED);
    close_model::check();
  }
};
MODEL(close_x_waiting_send_x_recv, 2, bounded)

struct close_x_waiting_recv_x_send : close_model {
  close_x_waiting_recv_x_send() {
    EXPECT(recv(0) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) close();
    if (index == 1) EXPECT(send(1, 1) == VOLT_OK || closed(1));
  }
  void check() override {
    EXPECT(look(0) == look(1));
    close_model::check();
  }
};
MODEL(close_x_waiting_recv_x_send, 2, full)

struct close_x_cancel_send : close_model {
  close_x_cancel_send() {
    put(1);
    EXPECT(send(0, 2) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) close();
    if (index == 1) {
      cancel(0);
      closed(0);
    }
  }
};
MODEL(close_x_cancel_send, 2, full)

// R7: more wait than it tells at once; a receiver and one that gives up come in between.
struct close_x_cancel_x_recv : close_model {
  close_x_cancel_x_recv() {
    put(1);
    for (unsigned i = 0; i < 3; i++) EXPECT(send(i, i + 2) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) close();
    if (index == 1) cancel(1);
    if (index == 2) EXPECT(recv(3) == VOLT_OK && got(3) == 1);
  }
  void check() override {
    EXPECT(look(0) == VOLT_OK || closed(0));
    EXPECT(closed(2));
    close_model::check();
  }
};
MODEL(close_x_cancel_x_recv, 3, bounded)

// R7: a receiver meets a channel that is closed while senders still wait: what is there is drained,
// and none of them is moved up once another was told.
struct close_x_recvs : close_model {
  close_x_recvs() {
    put(1);
    EXPECT(send(0, 2) == VOLT_PENDING && send(1, 3) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) close();
    if (index == 1) {
      EXPECT(recv(2) == VOLT_OK && got(2) == 1);
      if (closed(0)) EXPECT(try_recv(3) == VOLT_ECLOSED);
    }
  }
  void check() override {
    EXPECT(look(0) == VOLT_OK || closed(0));
    EXPECT(closed(1));
    close_model::check();
  }
};
MODEL(close_x_recvs, 2, bounded)

// Two close it: everybody is told once.
struct close_x_close : close_model {
  close_x_close() {
    EXPECT(recv(0) == VOLT_PENDING && recv(1) == VOLT_PENDING);
  }
  void thread(unsigned) override {
    volt_chan_close(chan());
  }
  void check() override {
    EXPECT(look(0) == VOLT_ECLOSED && look(1) == VOLT_ECLOSED);
    before = 1;
    close_model::check();
  }
};
MODEL(close_x_close, 2, bounded)

// R10: whoever finds it closed finds every future that waits closed, and may end it then.
struct close_x_polls : channel_model {
  volt_future f[2];
  wake_count woken[2];
  int result[2] = {VOLT_PENDING, VOLT_PENDING};
  volt_model_element received[2];
  int poll(unsigned i) {
    return result[i] = volt_future_poll(&f[i], woken[i].waker());
  }
  close_x_polls() {
    for (unsigned i = 0; i < 2; i++) {
      volt_chan_recv_future(&f[i], chan(), &received[i]);
      EXPECT(poll(i) == VOLT_PENDING);
    }
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_chan_close(chan());
    } else {
      bool closed = volt_chan_is_closed(chan());
      EXPECT(poll(1) == VOLT_ECLOSED || !closed);
      EXPECT(poll(0) == VOLT_ECLOSED || !closed);
      if (result[0] != VOLT_PENDING && result[1] != VOLT_PENDING) end();
    }
  }
  void check() override {
    for (unsigned i = 0; i < 2; i++) {
      EXPECT(poll(i) == VOLT_ECLOSED);
      EXPECT(woken[i].seen() == 1);
    }
  }
};
MODEL(close_x_polls, 2, bounded)

// ---- the end of its life ----

// R2: who receives the last element frees it, while the send is still returning.
struct recv_frees_x_send : channel_model {
  void thread(unsigned index) override {
    if (index == 0) EXPECT(send(0, 1) == VOLT_OK);
    if (index == 1 && try_recv(1) == VOLT_OK) free();
  }
};
MODEL(recv_frees_x_send, 2, full)

// R2: the same when the element is handed over.
struct waiting_recv_frees_x_send : channel_model {
  waiting_recv_frees_x_send() {
    EXPECT(recv(0) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) EXPECT(send(1, 1) == VOLT_OK);
    if (index == 1 && look(0) == VOLT_OK) free();
  }
};
MODEL(waiting_recv_frees_x_send, 2, full)

// R2: the same when a receiver that blocks is the last.
struct blocking_recv_ends_x_send : channel_model {
  void thread(unsigned index) override {
    if (index == 0) EXPECT(send(0, 1) == VOLT_OK);
    if (index == 1) {
      EXPECT(recv_blocking(1) == VOLT_OK && got(1) == 1);
      end();
    }
  }
};
MODEL(blocking_recv_ends_x_send, 2, bounded)

// R2: two senders, and the last of both elements.
struct recvs_end_x_sends : channel_model {
  recvs_end_x_sends() {
    EXPECT(recv(2) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index < 2) EXPECT(send(index, index + 1) == VOLT_OK);
    if (index == 2 && look(2) == VOLT_OK && try_recv(3) == VOLT_OK) end();
  }
};
MODEL(recvs_end_x_sends, 3, bounded)

// R7: it ends while a close() is away from it.
struct end_x_close : channel_model {
  explicit end_x_close(unsigned waiters = 2) {
    for (unsigned i = 0; i < waiters; i++) EXPECT(recv(i) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_chan_close(chan());
    } else if (look(0) == VOLT_ECLOSED) {
      cancel(1);
      end();
    }
  }
};
MODEL(end_x_close, 2, bounded)

// The same when it has come back, and the last waiter knows.
struct end_x_close_all : end_x_close {
  void thread(unsigned index) override {
    if (index == 0) {
      volt_chan_close(chan());
    } else if (look(0) == VOLT_ECLOSED && look(1) == VOLT_ECLOSED) {
      end();
    }
  }
};
MODEL(end_x_close_all, 2, bounded)
