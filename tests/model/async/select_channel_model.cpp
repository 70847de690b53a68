// select_channel_model: of several futures exactly one takes effect, though a channel cannot take
// back what it has moved: no element is lost, none comes twice. channel.c R9; select.c R1, R2;
// future.c I1.
// PROGRAM: select_channel BATCH 2 MUTANTS
// PROGRAM: select_channel SOURCES channel semaphore.c semaphore_limit.c select.c async.c time.c timer.c
// PROGRAM: select_channel SOURCES bcs_lock.c bcs_job.c bcs_queue.c barrier.c once.c oneshot.c watch.c
// PROGRAM: select_channel DEFINES -DVOLT_CHAN_POSITION_BITS_=3 small_sections
#include "select_channels.hpp"

// ---- two branches are granted in the same instant ----

// R9: both branches are queued; each is sent to by a thread of its own.
struct select_queued_x_send_x_send : two_receives {
  select_queued_x_send_x_send() {
    poll_first();
  }
  void thread(unsigned index) override {
    if (index == 2) {
      result = poll_and_cancel(p);
    } else {
      EXPECT(c[index].send(index + 1) == VOLT_OK);
    }
  }
  void check() override {
    two_receives::check();
    EXPECT(first.gone(2));
  }
};
MODEL(select_queued_x_send_x_send, 3, bounded)

// R9: the same when the poller comes while it is decided: one branch may be queued already.
struct select_starts_x_sends : two_receives {
  void thread(unsigned index) override {
    if (index == 0) {
      result = poll_and_cancel(p);
      return;
    }
    EXPECT(c[1].send(2) == VOLT_OK);
    EXPECT(c[0].send(1) == VOLT_OK);
  }
};
MODEL(select_starts_x_sends, 2, bounded)

// A thread blocks on it: it is woken, and every registration is settled.
struct select_blocks_x_sends : two_receives {
  void thread(unsigned index) override {
    if (index == 0) {
      EXPECT(volt_future_wait(&s.future) == VOLT_OK);
      p->end();
      result = ended();
      return;
    }
    EXPECT(c[1].send(2) == VOLT_OK);
    EXPECT(c[0].send(1) == VOLT_OK);
  }
};
MODEL(select_blocks_x_sends, 2, bounded)

// The same in memory that another select was in.
struct select_used_again : two_receives {
  select_used_again() {
    EXPECT(c[0].send(7) == VOLT_OK);
    EXPECT(volt_future_wait(&s.future) == VOLT_OK && element[0].value == 7);
    receives(0);
    receives(1);
    select();
  }
  void thread(unsigned index) override {
    if (index == 1) {
      EXPECT(c[0].send(1) == VOLT_OK);
      return;
    }
    EXPECT(volt_future_wait(&s.future) == VOLT_OK);
    p->end();
    result = ended();
  }
  void check() override {
    EXPECT(won(0));
    expect_received(0);
  }
};
MODEL(select_used_again, 2, bounded)

// With a deadline, that may pass at any moment: an element that has been moved stands.
struct select_deadline_x_send : two_receives {
  void thread(unsigned index) override {
    if (index == 1) {
      EXPECT(c[1].send(2) == VOLT_OK);
      return;
    }
    int blocked = volt_future_wait_until(&s.future, 1);
    p->end();
    EXPECT(blocked == VOLT_OK || blocked == VOLT_ETIMEDOUT);
    EXPECT(volt_future_poll(&s.future, volt_waker{nullptr, nullptr}) == blocked);
    result = blocked == VOLT_OK ? (int)VOLT_OK : (int)VOLT_ECANCELED;
    poison(&f[1].waiter);
  }
  void check() override {
    expect_ended();
    expect_received(1);
    EXPECT(last.freed == 1);
  }
};
MODEL(select_deadline_x_send, 2, bounded)

// ---- a receive or a send ----

struct receive_or_send : select_channel_model {
  poller *p = new poller(&last);
  receive_or_send() {
    EXPECT(c[1].send(7) == VOLT_OK);
    receives(0);
    sends(1);
    select();
  }
  void check() override {
    expect_ended();
    expect_received(0);
    EXPECT(c[1].out.value == 7);
    EXPECT(c[1].left() == (won(1) ? 2 : 0));
    EXPECT(last.freed == 1);
  }
};

// R9: one branch is sent to, the other's channel gets room.
struct select_x_send_x_receive : receive_or_send {
  select_x_send_x_receive() {
    poll_first();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      EXPECT(c[0].send(1) == VOLT_OK);
    } else if (index == 1) {
      EXPECT(c[1].receive() == VOLT_OK);
    } else {
      result = poll_and_cancel(p);
    }
  }
  void check() override {
    receive_or_send::check();
    EXPECT(first.gone(2));
  }
};
MODEL(select_x_send_x_receive, 3, bounded)

// The other way round, by another select of whatever can be done: exactly one pair matches, and
// both return.
struct selects_face_each_other : receive_or_send {
  volt_model_element other[2];
  volt_future g[2];
  volt_future *others[2] = {&g[0], &g[1]};
  volt_select t;
  selects_face_each_other() {
    p->end();
    other[0].value = 1;
    other[1].value = 0;
    volt_future_made(volt_chan_send_future(&g[0], &c[0].chan, &other[0]));
    volt_future_made(volt_chan_recv_future(&g[1], &c[1].chan, &other[1]));
    volt_future_made(volt_select_future(&t, others, 2, VOLT_SELECT_BIASED));
  }
  void thread(unsigned index) override {
    EXPECT(volt_future_wait(index == 0 ? &s.future : &t.future) == VOLT_OK);
    if (index == 0) result = ended();
  }
  void check() override {
    uint32_t winner = volt_select_winner(&t);
    EXPECT(winner == 0 && won(0)); // it is looked at first, and there is a place
    EXPECT(element[0].value == 1 && other[1].value == 0);
    EXPECT(c[0].left() == 0 && c[1].left() == 7);
  }
};
MODEL(selects_face_each_other, 2, bounded)

// Both queued on both, and a thread for each channel: each select takes one element.
struct selects_beside_each_other : two_receives {
  volt_model_element other[2];
  volt_future g[2];
  volt_future *others[2] = {&g[1], &g[0]};
  volt_select t;
  selects_beside_each_other() {
    p->end();
    for (unsigned i = 0; i < 2; i++) {
      other[i].value = 0;
      volt_future_made(volt_chan_recv_future(&g[i], &c[i].chan, &other[i]));
    }
    volt_future_made(volt_select_future(&t, others, 2, VOLT_SELECT_BIASED));
    EXPECT(volt_future_poll(&s.future, volt_waker{nullptr, nullptr}) == VOLT_PENDING);
    EXPECT(volt_future_poll(&t.future, volt_waker{nullptr, nullptr}) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    EXPECT(c[index].send(index + 1) == VOLT_OK);
  }
  void check() override {
    EXPECT(volt_future_poll(&t.future, volt_waker{nullptr, nullptr}) == VOLT_OK);
    EXPECT(volt_future_poll(&s.future, volt_waker{nullptr, nullptr}) == VOLT_OK);
    uint64_t sum = 0;
    for (unsigned i = 0; i < 2; i++) {
      sum += element[i].value + 10 * other[i].value;
      EXPECT(c[i].left() == 0);
    }
    EXPECT(sum == 12 || sum == 21);
  }
};
MODEL(selects_beside_each_other, 2, bounded)

// Both directions of one channel: a select does not take what it sends itself.
struct select_both_directions : select_channel_model {
  poller *p = new poller(&last);
  bool sent = false;
  bool received = false;
  select_both_directions() {
    receives(0);
    element[1].value = 2;
    volt_future_made(volt_chan_send_future(&f[1], &c[0].chan, &element[1]));
    select();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      result = poll_and_cancel(p);
    } else {
      sent = c[0].send(1) == VOLT_OK;
      received = c[0].receive() == VOLT_OK;
    }
  }
  void check() override {
    EXPECT(result == VOLT_OK && last.freed == 1); // one of them can always be done
    uint64_t there = (sent ? 1 : 0) + (won(1) ? 2 : 0);
    uint64_t taken = (received ? uint64_t(c[0].out.value) : 0) + element[0].value;
    EXPECT((element[0].value == 1) == won(0) && element[0].value <= 1);
    EXPECT(there == taken + c[0].left());
  }
};
MODEL(select_both_directions, 2, bounded)

// ---- a receive or a permit ----

// R1: the permit is given back if the element has been moved, and no element is moved if the permit
// is taken. at: which of the branches the receive is.
template <unsigned at>
struct receive_or_permit : select_channel_model {
  volt_sem sem;
  poller *p = new poller(&last);
  receive_or_permit() {
    volt_sem_init(&sem, 0);
    receives(at);
    volt_future_made(volt_sem_acquire_future(&f[1 - at], &sem, 1));
    select();
    poll_first();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      EXPECT(c[at].send(at + 1) == VOLT_OK);
    } else if (index == 1) {
      volt_sem_release(&sem, 1);
    } else {
      result = poll_and_cancel(p);
    }
  }
  void check() override {
    expect_ended();
    expect_received(at);
    EXPECT(volt_sem_available(&sem) == (won(1 - at) ? 0u : 1u));
    EXPECT(first.gone(2) && last.freed == 1);
  }
};
struct select_receive_or_permit : receive_or_permit<0> {};
MODEL(select_receive_or_permit, 3, bounded)
struct select_permit_or_receive : receive_or_permit<1> {};
MODEL(select_permit_or_receive, 3, bounded)

// ---- close ----

// A branch that is closed wins only if no element was moved for the other.
struct select_x_close_x_send : two_receives {
  select_x_close_x_send() {
    poll_first();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_chan_close(&c[0].chan);
    } else if (index == 1) {
      EXPECT(c[1].send(2) == VOLT_OK);
    } else {
      result = poll_and_cancel(p);
    }
  }
  void check() override {
    EXPECT(result == VOLT_OK || result == VOLT_ECLOSED || result == VOLT_ECANCELED);
    EXPECT(result != VOLT_OK || volt_select_winner(&s) == 1);
    EXPECT(result != VOLT_ECLOSED || volt_select_winner(&s) == 0);
    expect_received(1);
    EXPECT(first.gone(2) && last.freed == 1);
  }
};
MODEL(select_x_close_x_send, 3, bounded)

// ---- given up ----

// What has been moved stands, and is reported.
struct select_cancel_x_sends : two_receives {
  select_cancel_x_sends() {
    poll_first();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      p->end();
      volt_future_cancel(&s.future);
      result = ended();
      return;
    }
    EXPECT(c[1].send(2) == VOLT_OK);
    EXPECT(c[0].send(1) == VOLT_OK);
  }
  void check() override {
    two_receives::check();
    EXPECT(first.gone(2));
  }
};
MODEL(select_cancel_x_sends, 2, bounded)

// The poller's await is cancelled: that is taken back if the select has ended because of it, and
// only then.
struct select_cancel_once_x_send : two_receives {
  select_cancel_once_x_send() {
    poll_first();
  }
  void thread(unsigned index) override {
    if (index == 1) {
      EXPECT(c[1].send(2) == VOLT_OK);
      return;
    }
    p->ctx.cancel = VOLT_CTX_CANCEL_ONCE;
    result = p->poll(&s.future);
    EXPECT(p->ctx.cancel == (result == VOLT_OK ? VOLT_CTX_CANCEL_ONCE : VOLT_CTX_GO_ON));
    EXPECT(p->end() == 0);
    ended();
  }
  void check() override {
    expect_ended();
    expect_received(1);
    EXPECT(first.gone(2) && last.gone(0));
  }
};
MODEL(select_cancel_once_x_send, 2, bounded)

// The same of a receive alone.
struct receive_cancel_once_x_send : two_receives {
  receive_cancel_once_x_send() {
    EXPECT(volt_future_poll(&f[1], volt_waker{nullptr, nullptr}) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 1) {
      EXPECT(c[1].send(2) == VOLT_OK);
      return;
    }
    p->ctx.cancel = VOLT_CTX_CANCEL_ONCE;
    result = p->poll(&f[1]);
    EXPECT(p->ctx.cancel == (result == VOLT_OK ? VOLT_CTX_CANCEL_ONCE : VOLT_CTX_GO_ON));
    EXPECT(p->end() == 0);
    poison(&f[1].waiter);
  }
  void check() override {
    EXPECT(result == VOLT_OK || result == VOLT_ECANCELED);
    EXPECT(element[1].value == (result == VOLT_OK ? 2u : 0u));
    EXPECT(c[1].left() == (result == VOLT_OK ? 0u : 2u));
    EXPECT(last.gone(0));
  }
};
MODEL(receive_cancel_once_x_send, 2, bounded)
