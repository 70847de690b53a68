// io_select_model: an operation that has moved a part in a select, beside a channel: whatever comes
// in between, one branch takes effect in full, and none is forgotten. select.c R4; op.c; channel.c R9.
// PROGRAM: io_select BATCH 2 MUTANTS SUPPORT model_io.cpp
// PROGRAM: io_select SOURCES op.c whole.c fd.c close.c call.c make.c watched.c select.c channel
// PROGRAM: io_select DEFINES -DVOLT_CHAN_POSITION_BITS_=3 small_sections
#include "blocker.hpp"
#include "core/os/futex.h"
#include "model_io.hpp"
#include "select_channels.hpp"

static void nothing(void *) {
}

// A receive of one channel, and a send of two bytes, for which there is room one by one.
struct io_select_model : model {
  enum : uint32_t { CHANNEL = 0, SEND = 1, NONE = UINT32_MAX };
  model_io io;
  volt_fd *d = io.make(0);
  volt_op op;
  char bytes[2];
  lane c;
  volt_model_element got;
  volt_future f;
  volt_future *branches[2]; // the second receives if the first sends
  volt_select s;
  volt_parker parker; // of await_or_yield(): a late wake may come when that has returned
  uint32_t first;

  explicit io_select_model(uint32_t first_ = CHANNEL) : first(first_) {
    got.value = 0;
    branches[first == CHANNEL ? 0 : 1] = &f;
    branches[first == CHANNEL ? 1 : 0] = &op.as.future;
    volt_future_made(volt_chan_recv_future(&f, &c.chan, &got));
    volt_future_made(volt_fd_send_future(&op, d, bytes, sizeof bytes, 0));
    volt_future_made(volt_select_future(&s, branches, 2, VOLT_SELECT_BIASED));
  }
  // As a task: what was dropped does not wake it.
  void await() {
    blocker b;
    b.ctx.drop = nothing;
    EXPECT(b.poll_or_await(&s.future) == VOLT_OK);
  }
  // The same, and it polls again at once if a poll has asked for that.
  void await_or_yield() {
    volt_waker waker = volt_parker_waker(&parker);
    volt_ctx ctx = VOLT_CTX_INIT(waker);
    ctx.drop = nothing;
    ctx.budget = VOLT_CTX_BUDGET_MAX_;
    uint32_t seen = 0;
    int result;
    while ((result = volt_future_poll_ctx(&s.future, &ctx)) == VOLT_PENDING) {
      if (ctx.yield) {
        ctx.yield = false;
        volt_yield_();
      } else {
        volt_park_until(&parker, ++seen, VOLT_NO_DEADLINE);
      }
    }
    EXPECT(result == VOLT_OK);
  }
  uint32_t winner() {
    uint32_t at = volt_select_winner(&s);
    return at == NONE ? at : at ^ first;
  }
  void expect_winner(uint32_t which, uint32_t room, uint64_t element) {
    EXPECT(winner() == which);
    EXPECT(volt_future_result_(&f) == (which == CHANNEL ? VOLT_OK : VOLT_ECANCELED));
    EXPECT(volt_future_result_(&op.as.future) == (which == SEND ? VOLT_OK : VOLT_ECANCELED));
    EXPECT(op.n + io.left(0) == room && (op.n == sizeof bytes) == (which == SEND));
    EXPECT(got.value == (which == CHANNEL ? element : 0));
    EXPECT(c.left() == (which == CHANNEL ? 0 : element));
  }
  void end() {
    EXPECT(!d->waiting && !d->sender && d->calls == 0);
    volt_fd_close(d);
    io.free(d);
  }
};

// There is room for a part: the element wins, whenever it comes.
struct io_part_x_element : io_select_model {
  using io_select_model::io_select_model;
  void thread(unsigned index) override {
    if (index == 0) await();
    if (index == 1) io.arrive(0);
    if (index == 2) EXPECT(c.send(7) == VOLT_OK);
  }
  void check() override {
    expect_winner(CHANNEL, 1, 7);
    end();
  }
};
MODEL(io_part_x_element, 3, bounded)

// The element comes while the call is made that moves a part.
struct io_part_x_element_two : io_select_model {
  io_part_x_element_two() {
    io.arrive(0);
  }
  void thread(unsigned index) override {
    if (index == 0) await();
    if (index == 1) EXPECT(c.send(7) == VOLT_OK);
  }
  void check() override {
    expect_winner(CHANNEL, 1, 7);
    end();
  }
};
MODEL(io_part_x_element_two, 2, bounded)

// The same, the send first, so that a part may move before the receive is queued, and after.
struct io_part_first_x_element : io_part_x_element {
  io_part_first_x_element() : io_part_x_element(SEND) {
  }
};
MODEL(io_part_first_x_element, 3, bounded)

// The receive is inside a select of its own: what was withdrawn there is queued again, and wins.
struct io_part_x_inner_element : io_part_x_element {
  volt_select inner;
  volt_future *inside[1] = {&f};
  io_part_x_inner_element() {
    branches[0] = volt_select_future(&inner, inside, 1, VOLT_SELECT_BIASED);
  }
};
MODEL(io_part_x_inner_element, 3, bounded)

// The same as io_part_x_element, and the poller is woken for the room, too.
struct io_part_woken_x_element : io_part_x_element {
  io_part_woken_x_element() {
    io.report_as(POLLOUT);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      await_or_yield();
    } else {
      io_part_x_element::thread(index);
    }
  }
};
MODEL(io_part_woken_x_element, 3, bounded)

// No element comes, and there is room for all of it, in two steps: the send wins, although the select
// was decided for it, and decided anew, in between.
struct io_parts_alone : io_select_model {
  explicit io_parts_alone(uint32_t first_ = CHANNEL) : io_select_model(first_) {
    io.report_as(POLLOUT);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      await_or_yield();
    } else {
      io.arrive(0);
      io.arrive(0);
    }
  }
  void check() override {
    expect_winner(SEND, 2, 0);
    end();
  }
};
MODEL(io_parts_alone, 2, bounded)

// The same, the send first.
struct io_parts_first_alone : io_parts_alone {
  io_parts_first_alone() : io_parts_alone(SEND) {
  }
};
MODEL(io_parts_first_alone, 2, bounded)

// There is room for all of it, in two steps: one of the two takes effect.
struct io_parts_x_element : io_select_model {
  using io_select_model::io_select_model;
  void thread(unsigned index) override {
    if (index == 0) await();
    if (index == 1) {
      io.arrive(0);
      io.arrive(0);
    }
    if (index == 2) EXPECT(c.send(7) == VOLT_OK);
  }
  void check() override {
    expect_winner(winner(), 2, 7);
    end();
  }
};
MODEL(io_parts_x_element, 3, bounded)

// The same, the send first.
struct io_parts_first_x_element : io_parts_x_element {
  io_parts_first_x_element() : io_parts_x_element(SEND) {
  }
};
MODEL(io_parts_first_x_element, 3, bounded)

// It is given up as the element comes, when a part was moved.
struct io_part_cancel_x_element : io_select_model {
  poller::trace left;
  poller *p = new poller(&left);
  io_part_cancel_x_element() {
    io.arrive(0);
  }
  void thread(unsigned index) override {
    if (index == 1) {
      EXPECT(c.send(7) == VOLT_OK);
      return;
    }
    int one = p->poll(&s.future);
    p->end();
    if (one == VOLT_PENDING) volt_future_cancel(&s.future);
  }
  void check() override {
    EXPECT(winner() != SEND);
    expect_winner(winner(), 1, 7);
    EXPECT(left.freed == 1);
    end();
  }
};
MODEL(io_part_cancel_x_element, 2, bounded)
