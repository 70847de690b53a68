// channel_end_model: those who await the close of a channel, and senders that are counted. Checks
// channel_end.c I5, I6, R11-R13; a case names what it is after.
// PROGRAM: channel
#include "channels.hpp"
#include "poller.hpp"

// ---- who awaits the close ----

struct watched_model : channel_model {
  VOLT_PLAIN(int) before; // the close
  volt_future f;
  int seen = VOLT_PENDING; // by the last poll of the watcher
  poller::trace left;
  poller *p = new poller(&left);
  explicit watched_model(bool waits) {
    volt_chan_closed_future(&f, chan());
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
