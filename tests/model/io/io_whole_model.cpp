// io_whole_model: operations that the back end does as a whole, as they end, are cancelled and change
// wakers: on their home and elsewhere. whole.c R4 to R6; uring.c I4, R3, R4 (its mail and its order of
// reports are the model's). A cancel's report comes before the operation's or after it.
// PROGRAM: io
#include <errno.h>

#include "blocker.hpp"
#include "model_io.hpp"
#include "poller.hpp"

struct io_whole_model : model {
  model_io io;
  volt_fd *d;
  volt_op op;
  poller::trace left[2];
  char buffer[2];

  io_whole_model() : io(model_io::does::whole), d(io.make()) {
  }
  // In the constructor: it is under way on worker 0.
  void receive() {
    begin(volt_fd_recv_future(&op, d, buffer, 1, 0));
  }
  void send() {
    begin(volt_fd_send_future(&op, d, buffer, 2, 0));
  }
  void begin(volt_future *f, unsigned home = 0, unsigned i = 0) {
    poller *p = new poller(&left[i]);
    model_io::be_worker(static_cast<int>(home));
    EXPECT(p->poll(f) == VOLT_PENDING);
    model_io::be_worker(-1);
    p->end();
  }
  void be_home(uint32_t others = 1) {
    model_io::be_worker(0);
    io.serve(0, others);
  }
  // It has ended, or was given up: n says what was moved.
  void has_ended() {
    blocker b;
    int result = b.poll(&op.as.future);
    EXPECT(result == VOLT_OK || result == VOLT_ECANCELED);
    EXPECT(op.n == io.moved(op.home) &&
           (op.n == op.size ? result == VOLT_OK : result == VOLT_ECANCELED));
    poison(&op);
  }
  void check() override {
    expect_untouched(&op);
    io.expect_idle();
    EXPECT(!d->waiting && !d->receiver && !d->sender && d->calls == 0);
    EXPECT(left[0].gone(1));
    volt_fd_close(d);
    io.free(d);
  }
};

// The owner, no worker, gives it up.
struct io_whole_cancel_model : io_whole_model {
  void thread(unsigned index) override {
    if (index == 1) {
      be_home();
      return;
    }
    volt_future_cancel(&op.as.future);
    has_ended();
    io.is_done();
  }
};

// R5: given up elsewhere as it ends.
struct whole_cancel_x_end : io_whole_cancel_model {
  whole_cancel_x_end() {
    receive();
  }
};
MODEL(whole_cancel_x_end, 2, bounded)

// R4: given up when a part was sent, and the rest is submitted.
struct whole_cancel_x_part : io_whole_cancel_model {
  whole_cancel_x_part() {
    send();
  }
};
MODEL(whole_cancel_x_part, 2, bounded)

// R4: the same if there is no room for the rest: it ends because it is asked to.
struct whole_cancel_x_part_that_waits : whole_cancel_x_part {
  whole_cancel_x_part_that_waits() {
    io.end_by_themselves(1);
  }
};
MODEL(whole_cancel_x_part_that_waits, 2, bounded)

// Ended by the system although no one had asked, and given up.
struct whole_cancel_x_unasked_end : io_whole_cancel_model {
  whole_cancel_x_unasked_end() {
    io.script(-EAGAIN);
    receive();
  }
};
MODEL(whole_cancel_x_unasked_end, 2, bounded)

// Ended by the system although no one had asked, and submitted again.
struct whole_unasked_end : io_whole_model {
  whole_unasked_end() {
    io.script(-EINTR, -EAGAIN);
    receive();
  }
  void thread(unsigned index) override {
    if (index == 1) {
      be_home();
      return;
    }
    blocker b;
    EXPECT(b.poll_or_await(&op.as.future) == VOLT_OK && op.n == 1);
    poison(&op);
    io.is_done();
  }
};
MODEL(whole_unasked_end, 2, bounded)

// The call itself says ECANCELED, and no one has asked: that is its result.
struct whole_says_cancelled : io_whole_model {
  whole_says_cancelled() {
    io.script(-ECANCELED);
    receive();
  }
  void thread(unsigned index) override {
    if (index == 1) {
      be_home();
      return;
    }
    blocker b;
    EXPECT(b.poll_or_await(&op.as.future) == VOLT_ERRNO(ECANCELED) && op.n == 0);
    poison(&op);
    io.is_done();
  }
};
MODEL(whole_says_cancelled, 2, bounded)

// What was accepted as the owner gave it up is closed, once.
struct whole_accept_x_cancel : io_whole_model {
  volt_fd connection;
  whole_accept_x_cancel() {
    begin(volt_fd_accept_future(&op, d, &connection));
  }
  void thread(unsigned index) override {
    if (index == 1) {
      be_home();
      return;
    }
    volt_future_cancel(&op.as.future);
    blocker b;
    EXPECT(b.poll(&op.as.future) == VOLT_ECANCELED);
    poison(&op);
    io.is_done();
  }
  void check() override {
    EXPECT(volt_load_relaxed(&io.closed) == volt_load_relaxed(&io.accepted));
    io_whole_model::check();
  }
};
MODEL(whole_accept_x_cancel, 2, bounded)

// The same of a file that was opened.
struct whole_open_x_cancel : io_whole_model {
  whole_open_x_cancel() {
    begin(volt_open_future(&op, nullptr, d, 0, "", 0, 0));
  }
  void thread(unsigned index) override {
    if (index == 1) {
      be_home();
      return;
    }
    volt_future_cancel(&op.as.future);
    poison(&op);
    io.is_done();
  }
  void check() override {
    EXPECT(volt_load_relaxed(&io.closed) == volt_load_relaxed(&io.accepted));
    EXPECT(volt_fd_number(d) == -1);
    io_whole_model::check();
  }
};
MODEL(whole_open_x_cancel, 2, bounded)

// Polled elsewhere by somebody else as it ends.
struct whole_set_waker_x_end : io_whole_model {
  poller *after;
  whole_set_waker_x_end() : after(new poller(&left[1])) {
    receive();
  }
  void thread(unsigned index) override {
    if (index == 1) {
      be_home();
      return;
    }
    int result = after->poll(&op.as.future);
    EXPECT(after->end() == (result == VOLT_PENDING ? 1u : 0u));
    if (result != VOLT_PENDING) has_ended();
    io.is_done();
  }
  void check() override {
    bool is_pending = op.fd != nullptr;
    EXPECT(is_pending ? left[0].gone(0, 1) && left[1].gone(1, 0) : left[0].gone(1, 0));
    if (is_pending) has_ended();
    io_whole_model::check();
  }
};
MODEL(whole_set_waker_x_end, 2, bounded)

// Left without a waker as it ends; then given up.
struct whole_leave_x_end : io_whole_model {
  whole_leave_x_end() {
    receive();
  }
  void thread(unsigned index) override {
    if (index == 1) {
      be_home();
      return;
    }
    volt_future_leave_(&op.as.future);
    volt_future_cancel(&op.as.future);
    has_ended();
    io.is_done();
  }
};
MODEL(whole_leave_x_end, 2, bounded)

// Its poller is cancelled: it stays pending until the reports have come, and that may be within the poll.
struct whole_obey_x_end : io_whole_model {
  poller *after;
  bool is_over = false;
  whole_obey_x_end() : after(new poller(&left[1])) {
    receive();
    after->ctx.cancel = VOLT_CTX_CANCEL_ONCE;
  }
  void thread(unsigned index) override {
    if (index == 1) {
      be_home();
      return;
    }
    int result = after->poll(&op.as.future);
    after->end();
    EXPECT(result == VOLT_PENDING || result == VOLT_OK || result == VOLT_ECANCELED);
    is_over = result == VOLT_ECANCELED; // not before the reports
    if (is_over) has_ended();
    io.is_done();
  }
  void check() override {
    if (!is_over) has_ended();
    EXPECT(left[1].gone(0) || left[1].gone(1, 0));
    io_whole_model::check();
  }
};
MODEL(whole_obey_x_end, 2, bounded)

// R5: its poller is cancelled, and it is polled by somebody else as its reports come.
struct whole_cancel_x_poll : io_whole_model {
  poller *cancels, *after;
  poller::trace third;
  whole_cancel_x_poll() : cancels(new poller(&left[1])), after(new poller(&third)) {
    receive();
    cancels->ctx.cancel = VOLT_CTX_CANCEL_ONCE;
    ignore_result(cancels->poll(&op.as.future)); // by mail
    cancels->end();
  }
  void thread(unsigned index) override {
    if (index == 1) {
      be_home();
      return;
    }
    int result = after->poll(&op.as.future);
    EXPECT(after->end() == (result == VOLT_PENDING ? 1u : 0u));
    io.is_done();
  }
  void check() override {
    has_ended();
    EXPECT(left[1].gone(1) && (third.gone(0) || third.gone(1, 0)));
    io_whole_model::check();
  }
};
MODEL(whole_cancel_x_poll, 2, bounded)

// It is in a select from now on, so it goes on by calls; or it has ended.
struct whole_in_select_x_end : io_whole_model {
  volt_select s;
  volt_future *branches[1];
  whole_in_select_x_end() {
    receive();
    io.arrive(0);
    branches[0] = &op.as.future;
    volt_future_made(volt_select_future(&s, branches, 1, VOLT_SELECT_BIASED));
  }
  void thread(unsigned index) override {
    if (index == 1) {
      be_home();
      return;
    }
    EXPECT(volt_future_wait(&s.future) == VOLT_OK);
    EXPECT(op.n == 1 && io.moved(0) + 1 - io.left(0) == 1);
    io.is_done();
  }
};
MODEL(whole_in_select_x_end, 2, bounded)

// R6: two workers give up operations whose home is the other.
struct whole_cancel_crosswise : io_whole_model {
  volt_op other;
  whole_cancel_crosswise() {
    receive();
    begin(volt_fd_send_future(&other, d, buffer, 1, 0), 1, 1);
  }
  void thread(unsigned index) override {
    model_io::be_worker(static_cast<int>(index));
    volt_op *mine = index == 0 ? &other : &op;
    volt_future_cancel(&mine->as.future);
    EXPECT(mine->n == io.moved(mine->home));
    poison(mine);
    io.is_done();
    io.serve(index, 2);
  }
  void check() override {
    EXPECT(left[1].gone(1));
    io_whole_model::check();
  }
};
MODEL(whole_cancel_crosswise, 2, bounded)
