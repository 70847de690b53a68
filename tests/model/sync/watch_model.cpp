// watch_model: a value that changes under those who look at it.
// Checks watch.c R1-R3; a case names the race it is after.
// PROGRAM: monitors
#include "channels.hpp"

// The value of each version is that version, twice.
struct watch_model : model {
  volt_watch watch;
  volt_model_element value[2], got[2][2];
  uint64_t seen[2] = {1, 1};
  volt_waiter w[2];
  wake_count woken[2];
  int result[2] = {VOLT_ECANCELED, VOLT_ECANCELED};

  watch_model() {
    volt_model_element initial[2];
    initial[0].value = initial[1].value = 1;
    volt_watch_init(&watch, sizeof value, value, initial);
  }
  int changed(unsigned i) {
    return result[i] = volt_watch_changed_waiter(&watch, &seen[i], &w[i], woken[i].waker());
  }
  void send(uint64_t version) {
    volt_model_element e[2];
    e[0].value = e[1].value = version;
    EXPECT(volt_watch_send(&watch, e) == VOLT_OK);
  }
  uint64_t get(unsigned i) {
    uint64_t version = volt_watch_get(&watch, got[i]);
    EXPECT(got[i][0].value == got[i][1].value);
    return version;
  }
  void expect_seen_once(unsigned i, uint64_t version) {
    EXPECT(volt_watch_try_changed(&watch, &seen[i]) == VOLT_OK && seen[i] == version);
    EXPECT(volt_watch_try_changed(&watch, &seen[i]) == VOLT_EAGAIN);
  }
};

// Somebody waits already, and another comes while it changes: both see it, or are told.
struct watch_changed_x_send : watch_model {
  VOLT_PLAIN(int) message;
  watch_changed_x_send() {
    EXPECT(changed(1) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      changed(0);
      if (result[0] == VOLT_OK || granted(&w[0])) EXPECT(message == 1);
    } else {
      message = 1;
      send(2);
    }
  }
  void check() override {
    EXPECT(granted(&w[1]) && woken[1].seen() == 1);
    EXPECT(woken[0].seen() == (result[0] == VOLT_PENDING ? 1u : 0u));
    if (result[0] == VOLT_OK) {
      EXPECT(seen[0] == 2);
    } else {
      EXPECT(granted(&w[0]));
      expect_seen_once(0, 2);
    }
    expect_seen_once(1, 2);
  }
};
MODEL(watch_changed_x_send, 2, full)

// Two come, three at once.
struct watch_two_changed_x_send : watch_model {
  void thread(unsigned index) override {
    if (index == 2) {
      send(2);
    } else {
      changed(index);
    }
  }
  void check() override {
    for (unsigned i = 0; i < 2; i++) {
      EXPECT(result[i] == VOLT_OK ? seen[i] == 2 : granted(&w[i]) && woken[i].seen() == 1);
    }
  }
};
MODEL(watch_two_changed_x_send, 3, bounded)

// R2: what is copied is of one version, and of the one it says.
struct watch_get_x_send : watch_model {
  void thread(unsigned index) override {
    if (index == 0) {
      uint64_t version = get(0);
      EXPECT(got[0][0].value == version);
    } else {
      send(2);
    }
  }
  void check() override {
    EXPECT(get(0) == 2 && got[0][0].value == 2 && volt_watch_version(&watch) == 2);
  }
};
MODEL(watch_get_x_send, 2, full)

// R2: two send: each is a version of its own, and the later one stays.
struct watch_two_sends_x_get : watch_model {
  void thread(unsigned index) override {
    if (index == 2) {
      (void)get(0);
    } else {
      send(index + 2);
    }
  }
  void check() override {
    EXPECT(get(1) == 3 && got[1][0].value >= 2);
  }
};
MODEL(watch_two_sends_x_get, 3, bounded)

// R1: it gives up; the change is seen afterwards.
struct watch_cancel_x_send : watch_model {
  bool cancelled = false;
  watch_cancel_x_send() {
    EXPECT(changed(0) == VOLT_PENDING);
    EXPECT(changed(1) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      cancelled = volt_watch_cancel(&watch, &w[0]);
      EXPECT(cancelled || granted(&w[0]));
      poison(&w[0]);
    } else {
      send(2);
    }
  }
  void check() override {
    EXPECT(woken[0].seen() == (cancelled ? 0u : 1u) && woken[1].seen() == 1);
    expect_seen_once(0, 2);
    expect_seen_once(1, 2);
  }
};
MODEL(watch_cancel_x_send, 2, bounded)

// R3 in monitor.c: it gives up while all are told that nothing more will come: it was in time, or is
// told the same.
struct watch_cancel_x_close : watch_model {
  bool cancelled = false;
  watch_cancel_x_close() {
    EXPECT(changed(0) == VOLT_PENDING);
    EXPECT(changed(1) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      cancelled = volt_watch_cancel(&watch, &w[1]);
      EXPECT(cancelled || volt_waiter_result(&w[1]) == VOLT_ECLOSED);
    } else {
      volt_watch_close(&watch);
    }
  }
  void check() override {
    EXPECT(woken[0].seen() == 1 && woken[1].seen() == (cancelled ? 0u : 1u));
    EXPECT(volt_waiter_result(&w[0]) == VOLT_ECLOSED);
  }
};
MODEL(watch_cancel_x_close, 2, bounded)

// The last version is seen before the end, whatever was skipped.
struct watch_last_x_close : watch_model {
  void thread(unsigned index) override {
    if (index == 0) {
      uint64_t last = 1;
      while (volt_watch_changed(&watch, &seen[0]) == VOLT_OK) {
        EXPECT(seen[0] > last);
        last = seen[0];
      }
    } else {
      send(2);
      volt_watch_close(&watch);
    }
  }
  void check() override {
    EXPECT(seen[0] == 2);
    EXPECT(volt_watch_try_changed(&watch, &seen[0]) == VOLT_ECLOSED);
  }
};
MODEL(watch_last_x_close, 2, bounded)

// L1 <- U1: who has only asked for the version sees what its sender did.
struct watch_version_x_send : watch_model {
  VOLT_PLAIN(int) message;
  void thread(unsigned index) override {
    if (index == 0) {
      message = 1;
      send(2);
    } else if (volt_watch_version(&watch) == 2) {
      EXPECT(message == 1);
    }
  }
};
MODEL(watch_version_x_send, 2, full)

// C1: who sees that it is closed sees what came before.
struct watch_close_seen : watch_model {
  VOLT_PLAIN(int) message;
  void thread(unsigned index) override {
    if (index == 0 && volt_watch_is_closed(&watch)) EXPECT(message == 1);
    if (index == 1) {
      message = 1;
      volt_watch_close(&watch);
    }
  }
};
MODEL(watch_close_seen, 2, full)

// R1: a future is polled again, and dropped, while it changes: it has seen the change, or nothing.
struct watch_drop_x_send : watch_model {
  volt_future f;
  watch_drop_x_send() {
    volt_future_made(volt_watch_changed_future(&f, &watch, &seen[0]));
    EXPECT(volt_future_poll(&f, woken[0].waker()) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      result[0] = volt_future_poll(&f, woken[0].waker());
      volt_future_cancel(&f); // changes nothing if it is ready
      poison(&f.waiter);
    } else {
      send(2);
    }
  }
  void check() override {
    EXPECT(result[0] == VOLT_OK || result[0] == VOLT_PENDING);
    if (result[0] == VOLT_OK) {
      EXPECT(seen[0] == 2);
    } else {
      expect_seen_once(0, 2);
    }
  }
};
MODEL(watch_drop_x_send, 2, full)

// R1, R3: in a select with a channel; both are sent to. One takes effect, the other has seen, or
// lost, nothing.
struct watch_select_x_sends : watch_model {
  channel c;
  volt_model_element number, from_chan;
  volt_future f[2];
  volt_future *branches[2];
  volt_select s;
  int outcome = VOLT_PENDING;

  watch_select_x_sends() : c(1, 0) {
    number.value = 5;
    branches[0] = volt_watch_changed_future(&f[0], &watch, &seen[0]);
    branches[1] = volt_chan_recv_future(&f[1], &c.chan, &from_chan);
    volt_future_made(volt_select_future(&s, branches, 2, VOLT_SELECT_BIASED));
    EXPECT(volt_future_poll(&s.future, volt_waker{nullptr, nullptr}) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      (void)volt_future_poll(&s.future, volt_waker{nullptr, nullptr});
      volt_future_cancel(&s.future); // changes nothing if it is ready
      outcome = volt_future_poll(&s.future, volt_waker{nullptr, nullptr});
    } else {
      send(2);
      EXPECT(volt_chan_try_send(&c.chan, &number) == VOLT_OK);
    }
  }
  void check() override {
    uint32_t winner = volt_select_winner(&s);
    EXPECT(outcome == (winner == UINT32_MAX ? VOLT_ECANCELED : VOLT_OK));
    EXPECT(seen[0] == (winner == 0 ? 2u : 1u));
    if (winner != 0) expect_seen_once(0, 2);
    EXPECT(volt_chan_len(&c.chan) == (winner == 1 ? 0u : 1u));
    if (winner == 1) EXPECT(from_chan.value == 5);
  }
};
MODEL(watch_select_x_sends, 2, bounded)

// R2: two modify it in place, and a third looks: no change is lost, no half of one is seen.
struct watch_modify_x_modify : watch_model {
  static bool add_one(void *value, void *) {
    auto *e = static_cast<volt_model_element *>(value);
    e[0].value = e[0].value + 1;
    e[1].value = e[1].value + 1;
    return true;
  }
  watch_modify_x_modify() {
    EXPECT(changed(0) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index < 2) {
      EXPECT(volt_watch_modify(&watch, add_one, nullptr) == VOLT_OK);
    } else {
      EXPECT(get(0) == got[0][0].value);
    }
  }
  void check() override {
    EXPECT(get(1) == 3 && got[1][0].value == 3);
    EXPECT(granted(&w[0]) && woken[0].seen() == 1);
  }
};
MODEL(watch_modify_x_modify, 3, bounded)
