// channel_close_model: the end of a channel, with a batch of one waiter: channel.c R2, R7, R10 and
// the pair C1, C2. Futures of the close, and senders that are counted: channel.c I5, I6, R11-R13.
// A case names what it is after.
// PROGRAM: channel
#include "channels.hpp"
#include "poller.hpp"

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
      EXPECT(recv_until(1) == VOLT_OK && got(1) == 1);
      EXPECT(recv_until(2) == VOLT_ECLOSED && closed(2));
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

// R7: receivers wait, more than it tells at once: once the oldest is told, nobody sends to the next.
struct close_x_waiting_recvs_x_send : close_model {
  close_x_waiting_recvs_x_send() {
    EXPECT(recv(0) == VOLT_PENDING && recv(1) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) close();
    if (index == 1) EXPECT(send(2, 1) == VOLT_OK || closed(2));
  }
  void check() override {
    EXPECT(look(0) == look(2) && look(1) == VOLT_ECLOSED);
    close_model::check();
  }
};
MODEL(close_x_waiting_recvs_x_send, 2, bounded)

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
      volt_future_made(volt_chan_recv_future(&f[i], chan(), &received[i]));
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
      EXPECT(recv_until(1) == VOLT_OK && got(1) == 1);
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

// ==== the close is awaited, and senders are counted; channel.c ====

// ---- who awaits the close ----

struct watched_model : channel_model {
  VOLT_PLAIN(int) before; // the close
  volt_future f;
  int seen = VOLT_PENDING; // by the last poll of the watcher
  poller::trace left;
  poller *p = new poller(&left);
  explicit watched_model(bool waits) {
    volt_future_made(volt_chan_closed_future(&f, chan()));
    if (waits) EXPECT(watch() == VOLT_PENDING);
  }
  void close() {
    before = 1;
    volt_chan_close(chan());
  }
  int watch() {
    seen = p->poll(&f);
    if (seen == VOLT_OK) EXPECT(before == 1);
    return seen;
  }
  // It learns of the close, and is told of it once if it was waiting.
  void check() override {
    EXPECT(seen == VOLT_OK || volt_waiter_result(&f.waiter) == VOLT_OK);
    EXPECT(watch() == VOLT_OK);
    p->end();
    EXPECT(left.freed == 1 && left.drops == 0 && left.wakes <= 1);
    channel_model::check();
  }
};

// R11: it begins to wait while it is closed.
struct watch_x_close : watched_model {
  watch_x_close() : watched_model(false) {
  }
  void thread(unsigned index) override {
    if (index == 0) close();
    if (index == 1) watch();
  }
};
MODEL(watch_x_close, 2, full)

// R14: it waits, and is polled while it is closed: if that can be seen, it sees it.
struct watched_close_x_poll : watched_model {
  watched_close_x_poll() : watched_model(true) {
  }
  void thread(unsigned index) override {
    if (index == 0) {
      close();
      return;
    }
    bool is_closed = volt_chan_is_closed(chan());
    EXPECT(watch() == VOLT_OK || !is_closed);
  }
};
MODEL(watched_close_x_poll, 2, full)

// The same while a receiver is queued: the word is the lock's.
struct watch_x_close_queued : watched_model {
  watch_x_close_queued() : watched_model(false) {
    recv(0);
  }
  void thread(unsigned index) override {
    if (index == 0) close();
    if (index == 1) watch();
  }
  void check() override {
    EXPECT(look(0) == VOLT_ECLOSED);
    watched_model::check();
  }
};
MODEL(watch_x_close_queued, 2, full)

// I5: it is told, although the channel was queued on, moved through, and emptied since.
struct watch_x_send_x_recv : watched_model {
  watch_x_send_x_recv() : watched_model(false) {
  }
  void thread(unsigned index) override {
    if (index == 0) send(0, 1);
    if (index == 1) watch();
    if (index == 2) recv(1);
  }
  void check() override {
    EXPECT(look(0) == VOLT_OK && look(1) == VOLT_OK && got(1) == 1);
    close();
    watched_model::check();
  }
};
MODEL(watch_x_send_x_recv, 3, bounded)

// Two close it: told once.
struct watched_two_close : watched_model {
  watched_two_close() : watched_model(true) {
    before = 1;
  }
  void thread(unsigned) override {
    volt_chan_close(chan());
  }
};
MODEL(watched_two_close, 2, bounded)

// It gives up in the instant of the close.
struct watched_drop_x_close : watched_model {
  watched_drop_x_close() : watched_model(true) {
    p->end();
  }
  void thread(unsigned index) override {
    if (index == 0) close();
    if (index == 1) {
      volt_future_cancel(&f);
      poison(&f.waiter);
    }
  }
  void check() override {
    EXPECT(left.gone(1));
    channel_model::check();
  }
};
MODEL(watched_drop_x_close, 2, bounded)

// R12: who is told so ends it, while the closer is still to tell the watchers. Its own future, which
// waits, is dropped before.
struct watched_end : watched_model {
  watched_end() : watched_model(true) {
    p->end();
  }
  void drop_and_end() {
    volt_future_cancel(&f);
    poison(&f.waiter);
    end();
  }
  void check() override {
    EXPECT(left.gone(1));
    channel_model::check();
  }
};
struct watched_end_x_close : watched_end {
  void thread(unsigned index) override {
    if (index == 0) close();
    if (index == 1 && try_recv(0) == VOLT_ECLOSED) drop_and_end();
  }
};
MODEL(watched_end_x_close, 2, bounded)

struct watched_end_x_close_queued : watched_end {
  watched_end_x_close_queued() {
    recv(0);
  }
  void thread(unsigned index) override {
    if (index == 0) close();
    if (index == 1 && look(0) == VOLT_ECLOSED) drop_and_end();
  }
};
MODEL(watched_end_x_close_queued, 2, bounded)

// R12: the watcher itself does.
struct watched_close_x_told : watched_model {
  watched_close_x_told() : watched_model(true) {
  }
  void thread(unsigned index) override {
    if (index == 0) close();
    if (index == 1 && watch() == VOLT_OK) end();
  }
  void check() override {
    EXPECT(seen == VOLT_OK || watch() == VOLT_OK);
    p->end();
    EXPECT(left.gone(1, 0));
    channel_model::check();
  }
};
MODEL(watched_close_x_told, 2, full)

// ---- counted senders ----

struct senders_model : channel_model {
  VOLT_PLAIN(int) message[2];
  explicit senders_model(unsigned count) {
    for (unsigned i = 0; i < count; i++) EXPECT(volt_chan_add_sender(chan()) == VOLT_OK);
  }
};

// R13: one is added while the last leaves: it has come in time, and can send, or the end has come.
struct add_x_last_drop : senders_model {
  int added = VOLT_PENDING;
  add_x_last_drop() : senders_model(1) {
  }
  void thread(unsigned index) override {
    if (index == 0) volt_chan_drop_sender(chan());
    if (index == 1) {
      added = volt_chan_add_sender(chan());
      if (added != VOLT_OK) return;
      EXPECT(!volt_chan_is_closed(chan()));
      EXPECT(try_send(0, 1) == VOLT_OK);
      volt_chan_drop_sender(chan());
    }
  }
  void check() override {
    EXPECT(added == VOLT_OK || added == VOLT_ECLOSED);
    EXPECT(volt_chan_is_closed(chan()) && volt_chan_senders(chan()) == 0);
    EXPECT(volt_chan_add_sender(chan()) == VOLT_ECLOSED);
    channel_model::check();
  }
};
MODEL(add_x_last_drop, 2, full)

// The same with two who come back: while one has it, the other finds it open.
struct add_x_add_x_drop : senders_model {
  add_x_add_x_drop() : senders_model(1) {
  }
  void thread(unsigned index) override {
    if (index < 2) {
      if (volt_chan_add_sender(chan()) != VOLT_OK) return;
      EXPECT(!volt_chan_is_closed(chan()));
    }
    volt_chan_drop_sender(chan());
  }
  void check() override {
    EXPECT(volt_chan_is_closed(chan()) && volt_chan_senders(chan()) == 0);
    channel_model::check();
  }
};
MODEL(add_x_add_x_drop, 3, bounded)

// N1: who is told of the end sees what all who left did before.
struct two_drops_x_recv : senders_model {
  two_drops_x_recv() : senders_model(2) {
  }
  void thread(unsigned index) override {
    if (index < 2) {
      message[index] = 1;
      volt_chan_drop_sender(chan());
    } else {
      recv(0);
      if (look(0) == VOLT_ECLOSED) EXPECT(message[0] == 1 && message[1] == 1);
    }
  }
  void check() override {
    EXPECT(look(0) == VOLT_ECLOSED);
    channel_model::check();
  }
};
MODEL(two_drops_x_recv, 3, bounded)

// Who leaves first is done with it.
struct two_drops_x_end : senders_model {
  two_drops_x_end() : senders_model(2) {
  }
  void thread(unsigned index) override {
    if (index < 2) volt_chan_drop_sender(chan());
    if (index == 2 && try_recv(0) == VOLT_ECLOSED) end();
  }
};
MODEL(two_drops_x_end, 3, bounded)
