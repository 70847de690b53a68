// io_call_model: operations that are done by calls that do not wait, as reports come, wakers change and
// owners give up. fd.c R2, R3; op.h I1, I3; op.c I5; future.c I1.
// PROGRAM: io BATCH 2 MUTANTS SUPPORT model_io.cpp
// PROGRAM: io SOURCES op.c whole.c fd.c close.c call.c make.c watched.c future.c select.c grant.c park.c
// PROGRAM: io SOURCES fiber_futex.c fifo.c DEFINES -DVOLT_WATCH_FIRST=8
#include "blocker.hpp"
#include "model_io.hpp"
#include "poller.hpp"

struct io_call_model : model {
  model_io io;
  volt_fd *d;
  volt_op op;
  poller::trace left[2];
  char buffer[8];

  explicit io_call_model(unsigned kind = VOLT_FD_OTHER_) : d(io.make(0, kind)) {
    volt_future_made(volt_fd_recv_future(&op, d, buffer, sizeof buffer, 0));
  }
  // In the constructor: it waits, for a poller that will not poll again.
  void wait() {
    poller *p = new poller(&left[0]);
    EXPECT(p->poll(&op.as.future) == VOLT_PENDING);
    p->end();
  }
  void check() override {
    expect_untouched(&op);
    EXPECT(!d->waiting && !d->receiver && d->calls == 0);
    volt_fd_close(d);
    io.free(d);
  }
};

// R2: the byte comes as a call says EAGAIN, before the file is watched, or after.
struct call_x_report : io_call_model {
  void thread(unsigned index) override {
    if (index == 0) {
      blocker b;
      EXPECT(b.poll_or_await(&op.as.future) == VOLT_OK && op.n == 1);
      poison(&op);
    } else {
      io.arrive(0);
    }
  }
};
MODEL(call_x_report, 2, bounded)

// R2, R3: two that come one after the other. A short read says that no more is there, but there is.
struct call_x_reports : io_call_model {
  explicit call_x_reports(unsigned kind = VOLT_FD_TCP_) : io_call_model(kind) {
  }
  void thread(unsigned index) override {
    if (index == 1) {
      io.arrive(0);
      io.arrive(0);
      return;
    }
    blocker b;
    EXPECT(b.poll_or_await(&op.as.future) == VOLT_OK && op.n >= 1);
    if (op.n == 2) return;
    volt_future_made(volt_fd_recv_future(&op, d, buffer, sizeof buffer, 0));
    EXPECT(b.poll_or_await(&op.as.future) == VOLT_OK && op.n == 1);
  }
};
MODEL(call_x_reports, 2, bounded)

// A report wakes the two operations that wait, each once.
struct call_two_x_report : io_call_model {
  volt_op asks;
  call_two_x_report() {
    wait();
    volt_future_made(volt_fd_ready_future(&asks, d, POLLIN));
  }
  void thread(unsigned index) override {
    if (index == 1) {
      io.arrive(0);
      return;
    }
    blocker b;
    EXPECT(b.poll_or_await(&asks.as.future) == VOLT_OK && asks.n == POLLIN);
    EXPECT(b.settled());
  }
  void check() override {
    EXPECT(left[0].gone(1, 0));
    blocker b;
    EXPECT(b.poll(&op.as.future) == VOLT_OK && op.n == 1);
    io_call_model::check();
  }
};
MODEL(call_two_x_report, 2, bounded)

// Polled by somebody else as the report comes.
struct call_set_waker_x_report : io_call_model {
  poller *after;
  call_set_waker_x_report() : after(new poller(&left[1])) {
    wait();
  }
  void thread(unsigned index) override {
    if (index == 1) {
      io.arrive(0);
      return;
    }
    int result = after->poll(&op.as.future);
    uint32_t registered = after->end();
    EXPECT(registered <= 1 && (result == VOLT_OK || result == VOLT_PENDING));
    if (result == VOLT_OK) poison(&op);
    EXPECT(result == VOLT_PENDING || registered == 0);
  }
  void check() override {
    EXPECT(left[0].gone(1));
    if (left[0].gone(0, 1)) EXPECT(left[1].gone(1, 0)); // else it has taken the byte, or will
    if (op.fd) {
      blocker b;
      EXPECT(b.poll(&op.as.future) == VOLT_OK && op.n == 1);
    }
    EXPECT(io.left(0) == 0);
    io_call_model::check();
  }
};
MODEL(call_set_waker_x_report, 2, bounded)

// Given up as two reports come: one wake at most, and the bytes are still there.
struct call_cancel_x_reports : io_call_model {
  call_cancel_x_reports() {
    wait();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_future_cancel(&op.as.future);
      EXPECT(op.n == 0);
      poison(&op);
    } else {
      io.arrive(0);
      io.arrive(0);
    }
  }
  void check() override {
    EXPECT(left[0].gone(1) && io.left(0) == 2);
    io_call_model::check();
  }
};
MODEL(call_cancel_x_reports, 2, bounded)

// Left without a waker as the report comes: its owner polls again.
struct call_leave_x_report : io_call_model {
  call_leave_x_report() {
    wait();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_future_leave_(&op.as.future);
      blocker b;
      EXPECT(b.poll_or_await(&op.as.future) == VOLT_OK && op.n == 1);
      EXPECT(b.settled());
      poison(&op);
    } else {
      io.arrive(0);
    }
  }
  void check() override {
    EXPECT(left[0].gone(1));
    io_call_model::check();
  }
};
MODEL(call_leave_x_report, 2, bounded)

// In a select: the report comes as another thread chooses another branch. One of them has an effect.
struct call_in_select_x_report : io_call_model {
  volt_decision_ decision;
  poller *first, *second;
  VOLT_PLAIN(uint32_t) is_decided;
  call_in_select_x_report() : first(new poller(&left[0])), second(new poller(&left[1])) {
    decision.mine = false;
    decision.shared = true; // as if another branch waited
    first->ctx.decision = &decision;
    second->ctx.decision = &decision;
    EXPECT(first->poll(&op.as.future) == VOLT_PENDING);
    first->end();
  }
  void thread(unsigned index) override {
    if (index == 1) {
      io.arrive(0);
    } else if (index == 2) {
      is_decided = volt_decide_(&decision);
    } else {
      int result = second->poll(&op.as.future);
      EXPECT(result == VOLT_OK ? decision.mine : !decision.mine);
      if (result == VOLT_PENDING) volt_future_cancel(&op.as.future);
      EXPECT(op.n == (decision.mine ? 1 : 0));
      second->end();
    }
  }
  void check() override {
    EXPECT(!(is_decided && decision.mine));
    EXPECT(op.n + io.left(0) == 1);
    EXPECT(left[0].gone(1) && (left[1].gone(0) || left[1].gone(1)));
    io_call_model::check();
  }
};
MODEL(call_in_select_x_report, 3, bounded)

// A select of two descriptors, which become ready one after the other: one byte is received.
struct call_select_x_reports : io_call_model {
  volt_fd *second;
  volt_op other;
  volt_select s;
  volt_future *branches[2];
  call_select_x_reports() : second(io.make(1)) {
    branches[0] = &op.as.future;
    branches[1] = volt_fd_recv_future(&other, second, buffer, sizeof buffer, 0);
    volt_future_made(volt_select_future(&s, branches, 2, VOLT_SELECT_BIASED));
  }
  void thread(unsigned index) override {
    if (index == 1) {
      io.arrive(1);
      io.arrive(0);
      return;
    }
    EXPECT(volt_future_wait(&s.future) == VOLT_OK);
    EXPECT(op.n + other.n == 1 && (volt_select_winner(&s) == 0 ? op.n : other.n) == 1);
  }
  void check() override {
    EXPECT(io.left(0) == 1 - op.n && io.left(1) == 1 - other.n);
    volt_fd_close(second);
    io.free(second);
    io_call_model::check();
  }
};
MODEL(call_select_x_reports, 2, bounded)
