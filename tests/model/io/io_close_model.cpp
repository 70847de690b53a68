// io_close_model: a descriptor is closed and freed as operations on it wait, are polled, are done as a
// whole, and begin. op.h I1, I2, I4, R1; whole.c R14. Whoever frees it does so as soon as the close is ready.
// PROGRAM: io
#include <errno.h>

#include "blocker.hpp"
#include "core/os/futex.h"
#include "model_io.hpp"
#include "poller.hpp"

struct io_close_model : model {
  model_io io;
  volt_fd *d;
  volt_op op;
  volt_op closer;
  poller::trace left[2];
  char buffer[2];

  explicit io_close_model(model_io::does how = model_io::does::calls) : io(how), d(io.make()) {
    volt_future_made(volt_fd_recv_future(&op, d, buffer, 1, 0));
  }
  void wait() {
    poller *p = new poller(&left[0]);
    model_io::be_worker(0);
    EXPECT(p->poll(&op.as.future) == VOLT_PENDING);
    model_io::be_worker(-1);
    p->end();
  }
  void close() {
    EXPECT(volt_future_wait(volt_fd_close_future(&closer, d)) == VOLT_OK);
  }
  void close_and_free() {
    close();
    io.free(d);
  }
  // It has ended or will, and is polled once more afterwards.
  void end() {
    int result = volt_future_wait(&op.as.future);
    EXPECT(result == VOLT_OK ? op.n == 1 : result == VOLT_ECLOSED && op.n == 0);
    EXPECT(volt_future_wait(&op.as.future) == result);
    poison(&op);
  }
  void check() override {
    expect_untouched(&op);
    EXPECT(left[0].gone(1));
    io.expect_idle();
  }
};

// R1: it waits, and is polled by somebody else as the descriptor is closed.
struct close_x_waiting : io_close_model {
  close_x_waiting() {
    wait();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      close_and_free();
    } else {
      end();
    }
  }
};
MODEL(close_x_waiting, 2, bounded)

// It waits, and its owner learns by its waker alone.
struct close_x_waker : io_close_model {
  blocker b;
  close_x_waker() {
    EXPECT(b.poll(&op.as.future) == VOLT_PENDING);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      close_and_free();
    } else {
      EXPECT(b.await(&op.as.future) == VOLT_ECLOSED);
      EXPECT(b.settled());
      poison(&op);
    }
  }
  void check() override {
    io.expect_idle();
  }
};
MODEL(close_x_waker, 2, bounded)

// R1: it is given up as the descriptor is closed.
struct close_x_cancel : io_close_model {
  close_x_cancel() {
    wait();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      close_and_free();
    } else {
      volt_future_cancel(&op.as.future);
      poison(&op);
    }
  }
};
MODEL(close_x_cancel, 2, bounded)

// R1: it is left without a waker as the descriptor is closed, and given up when that is gone.
struct close_x_leave : io_close_model {
  close_x_leave() {
    wait();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      close_and_free();
    } else {
      volt_future_leave_(&op.as.future);
    }
  }
  void check() override {
    volt_future_cancel(&op.as.future);
    EXPECT(op.result == VOLT_ECLOSED);
    io_close_model::check();
  }
};
MODEL(close_x_leave, 2, bounded)

// R1: it was woken, and its poller calls again.
struct close_x_woken : io_close_model {
  close_x_woken() {
    wait();
    io.arrive(0);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      close_and_free();
    } else {
      end();
    }
  }
};
MODEL(close_x_woken, 2, bounded)

// It was woken for nothing: another thread has taken the byte. Its poller calls, and would wait.
struct close_x_woken_for_nothing : io_close_model {
  close_x_woken_for_nothing() {
    wait();
    volt_fd_became_ready_(d, POLLIN);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      close_and_free();
    } else {
      EXPECT(volt_future_wait(&op.as.future) == VOLT_ECLOSED);
      poison(&op);
    }
  }
};
MODEL(close_x_woken_for_nothing, 2, bounded)

// It is woken by a report as the descriptor is closed; the report comes late.
struct close_x_report : io_close_model {
  close_x_report() {
    wait();
  }
  void thread(unsigned index) override {
    switch (index) {
      case 0: close_and_free(); break;
      case 1: end(); break;
      default: io.arrive(0);
    }
  }
};
MODEL(close_x_report, 3, bounded)

// R1: it is polled by somebody else as a report comes, and then the close.
struct close_after_report_x_poll : io_close_model {
  close_after_report_x_poll() {
    wait();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      io.arrive(0);
      close_and_free();
    } else {
      end();
    }
  }
};
MODEL(close_after_report_x_poll, 2, bounded)

// I2: it begins as the descriptor is closed, and waits, or is too late.
struct close_x_begin : io_close_model {
  void thread(unsigned index) override {
    if (index == 0) {
      close();
    } else {
      EXPECT(volt_future_wait(&op.as.future) == VOLT_ECLOSED);
      poison(&op);
    }
  }
  void check() override {
    EXPECT(!d->waiting && d->calls == 0 && !d->receiver);
    io.free(d);
  }
};
MODEL(close_x_begin, 2, bounded)

// The two operations on it end in one close.
struct close_x_two : io_close_model {
  volt_op asks;
  poller *p;
  close_x_two() : p(new poller(&left[1])) {
    wait();
    EXPECT(p->poll(volt_fd_ready_future(&asks, d, POLLIN)) == VOLT_PENDING);
    p->end();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      close_and_free();
    } else {
      end();
      volt_future_cancel(&asks.as.future);
      poison(&asks);
    }
  }
  void check() override {
    EXPECT(left[1].gone(1));
    io_close_model::check();
  }
};
MODEL(close_x_two, 2, bounded)

// ---- what the back end does as a whole ----

struct io_close_whole_model : io_close_model {
  io_close_whole_model() : io_close_model(model_io::does::whole) {
    wait();
  }
};

// The closer is elsewhere. Its home polls it when it has ended.
struct close_x_whole : io_close_whole_model {
  void thread(unsigned index) override {
    if (index == 0) {
      close_and_free();
      io.is_done();
    } else {
      model_io::be_worker(0);
      io.serve(0, 1);
      end();
    }
  }
};
MODEL(close_x_whole, 2, bounded)

// The same if nothing comes: it ends because it is asked to.
struct close_x_whole_that_waits : close_x_whole {
  close_x_whole_that_waits() {
    io.end_by_themselves(0);
  }
};
MODEL(close_x_whole_that_waits, 2, bounded)

// I4: there are two; the later of them grants the closer.
struct close_x_two_whole : io_close_whole_model {
  volt_op other;
  close_x_two_whole() {
    poller *p = new poller(&left[1]);
    model_io::be_worker(0);
    EXPECT(p->poll(volt_fd_send_future(&other, d, buffer, 1, 0)) == VOLT_PENDING);
    model_io::be_worker(-1);
    p->end();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      close_and_free();
      io.is_done();
    } else {
      model_io::be_worker(0);
      io.serve(0, 1);
    }
  }
  void check() override {
    EXPECT(left[1].gone(1));
    io_close_model::check();
  }
};
MODEL(close_x_two_whole, 2, bounded)

// The closer is the home. The owner is elsewhere, and polls with a new waker.
struct close_at_home_x_poll : io_close_whole_model {
  void thread(unsigned index) override {
    if (index == 0) {
      model_io::be_worker(0);
      volt_future *f = volt_fd_close_future(&closer, d);
      poller *p = new poller(&left[1]);
      int result = p->poll(f);
      p->end();
      volt_future_cancel(f); // it waits for its end
      EXPECT(result == VOLT_OK || result == VOLT_PENDING);
      io.free(d);
      io.serve(0, 1);
    } else {
      end();
      io.is_done();
    }
  }
};
MODEL(close_at_home_x_poll, 2, bounded)

// The owner gives it up elsewhere, and the home closes: one of the two asks.
struct close_at_home_x_cancel : io_close_whole_model {
  void thread(unsigned index) override {
    if (index == 1) {
      model_io::be_worker(0);
      volt_future_made(volt_fd_close_future(&closer, d));
      poller *p = new poller(&left[1]);
      (void)p->poll(&closer.as.future);
      p->end();
      volt_future_cancel(&closer.as.future);
      io.free(d);
      io.serve(0, 1);
    } else {
      volt_future_cancel(&op.as.future);
      poison(&op);
      io.is_done();
    }
  }
};
MODEL(close_at_home_x_cancel, 2, bounded)

// The close is polled by somebody else as the last operation leaves.
struct close_set_waker_x_end : io_close_whole_model {
  poller *first;
  close_set_waker_x_end() : first(new poller(&left[1])) {
    EXPECT(first->poll(volt_fd_close_future(&closer, d)) == VOLT_PENDING);
    first->end();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      EXPECT(volt_future_wait(&closer.as.future) == VOLT_OK);
      io.free(d);
      io.is_done();
    } else {
      model_io::be_worker(0);
      io.serve(0, 1);
      end();
    }
  }
  void check() override {
    EXPECT(left[1].gone(1));
    io_close_model::check();
  }
};
MODEL(close_set_waker_x_end, 2, bounded)

// It was done as a whole, and goes on by calls, for a select, when it is polled again.
struct close_x_woken_whole : io_close_model {
  volt_decision_ decision;
  close_x_woken_whole() : io_close_model(model_io::does::whole) {
    decision.mine = false;
    decision.shared = false;
    wait();
    io.end_by_themselves(0);
    poller *p = new poller(&left[1]);
    p->ctx.decision = &decision;
    model_io::be_worker(0);
    EXPECT(p->poll(&op.as.future) == VOLT_PENDING);
    while (io.check(0)) continue;
    model_io::be_worker(-1);
    p->end();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      close_and_free();
    } else {
      volt_future_leave_(&op.as.future);
    }
  }
  void check() override {
    volt_future_cancel(&op.as.future);
    EXPECT(op.result == VOLT_ECLOSED && left[1].gone(1, 0));
    io_close_model::check();
  }
};
MODEL(close_x_woken_whole, 2, bounded)

// ---- and its runtime ends ----

// whole.c R14: the home closes, and as soon as no descriptor is open the runtime ends. The owner is
// elsewhere.
struct close_x_whole_x_end : io_close_model {
  close_x_whole_x_end() : io_close_model(model_io::does::whole) {
    io.give_numbers();
    io.free(d);
    d = io.make();
    volt_future_made(volt_fd_recv_future(&op, d, buffer, 1, 0));
    wait();
  }
  virtual void give_up() {
    volt_future_cancel(&op.as.future);
    poison(&op);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      give_up();
      return;
    }
    model_io::be_worker(0);
    volt_future_made(volt_fd_close_future(&closer, d));
    poller *p = new poller(&left[1]);
    (void)p->poll(&closer.as.future);
    p->end();
    volt_future_cancel(&closer.as.future);
    EXPECT(d->number == -1);
    EXPECT(io.end_if_unused());
    io.free(d);
  }
};
struct close_x_cancel_whole_x_end : close_x_whole_x_end {};
MODEL(close_x_cancel_whole_x_end, 2, bounded)

// The same by hand: the owner looks for its end there, too.
struct close_x_cancel_by_hand_x_end : close_x_whole_x_end {
  close_x_cancel_by_hand_x_end() {
    io.be_by_hand();
  }
};
MODEL(close_x_cancel_by_hand_x_end, 2, bounded)

// The owner's poll asks it to end.
struct close_x_obey_whole_x_end : close_x_whole_x_end {
  poller *asks;
  poller::trace third;
  close_x_obey_whole_x_end() : asks(new poller(&third)) {
    asks->ctx.cancel = VOLT_CTX_CANCEL_ONCE;
  }
  void give_up() override {
    (void)asks->poll(&op.as.future);
    asks->end();
  }
  void check() override {
    volt_future_cancel(&op.as.future);
    EXPECT(third.freed == 1);
    io_close_model::check();
  }
};
MODEL(close_x_obey_whole_x_end, 2, bounded)

// watched.c R13: an operation that opens a file is given up elsewhere, and there is no number before it ends.
struct open_x_cancel_x_end : model {
  model_io io;
  volt_fd d;
  volt_op op;
  poller::trace left;

  open_x_cancel_x_end() : io(model_io::does::whole) {
    io.give_numbers();
    poller *p = new poller(&left);
    model_io::be_worker(0);
    EXPECT(p->poll(volt_open_future(&op, nullptr, &d, 0, "", 0, 0)) == VOLT_PENDING);
    model_io::be_worker(-1);
    p->end();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      volt_future_cancel(&op.as.future);
      return;
    }
    model_io::be_worker(0);
    while (volt_waiter_result(&op.as.future.waiter) == VOLT_PENDING) {
      if (!io.check(0)) volt_yield_();
    }
    (void)io.end_if_unused();
  }
  void check() override {
    EXPECT(d.number == -1 && left.freed == 1 && io.is_unused());
    io.expect_idle();
  }
};
MODEL(open_x_cancel_x_end, 2, bounded)
