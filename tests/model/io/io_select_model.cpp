// io_select_model: an operation that has moved a part in a select, beside a channel: whatever comes
// in between, one branch takes effect in full, and none is forgotten. select.c R4; op.c; channel.c R9.
// PROGRAM: io_select BATCH 2 MUTANTS SUPPORT model_io.cpp
// PROGRAM: io_select SOURCES op.c whole.c fd.c close.c call.c make.c watched.c select.c channel
// PROGRAM: io_select DEFINES -DVOLT_CHAN_POSITION_BITS_=3 small_sections
#include "blocker.hpp"
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
