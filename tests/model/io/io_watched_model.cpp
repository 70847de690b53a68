// io_watched_model: a report that is late, as the number it names is given to another descriptor.
// watched.c I6, R7, R13; watched.c E1, E2, W1, W2.
// PROGRAM: io
#include "blocker.hpp"
#include "model_io.hpp"
#include "poller.hpp"

// R7: a report was taken; the descriptor is closed, freed, and its number used again, and watched.
struct watched_report_x_new_use : model {
  model_io io;
  volt_fd *d, *next;
  volt_op op;
  poller::trace left[2];
  poller *first, *second;
  char buffer[2];
  VOLT_PLAIN(uint32_t) was_late;

  watched_report_x_new_use()
      : d(io.make()), next(nullptr), first(new poller(&left[0])), second(new poller(&left[1])) {
    EXPECT(first->poll(volt_fd_recv_future(&op, d, buffer, 1, 0)) == VOLT_PENDING);
    volt_future_cancel(&op.as.future);
    first->end();
  }
  void thread(unsigned index) override {
    if (index == 1) {
      io.arrive(0);
      return;
    }
    volt_fd_close(d);
    io.free(d);
    next = io.make();
    int result = second->poll(volt_fd_recv_future(&op, next, buffer, 1, 0));
    if (second->end() == 0) EXPECT(result == VOLT_OK);
  }
  void check() override {
    // what came before it was closed is gone with it, and reported to nobody
    uint32_t waits = next->waiting && next->reports == 0;
    EXPECT(!waits || io.left(0) == 0);
    EXPECT(left[1].gone(waits ? 0u : 1u, 0) || next->reports == 0 || op.n == 1);
    volt_future_cancel(&op.as.future);
    EXPECT(left[0].gone(0, 1) && left[1].freed == 1);
    volt_fd_close(next);
    io.free(next);
  }
};
MODEL(watched_report_x_new_use, 2, bounded)

// W1, W2: two threads need the first chunk of the table; and each finds its own slot all-zero.
struct watched_first_chunk : model {
  model_io io;
  volt_fd *d[2];
  volt_op op[2];
  poller *p[2];
  poller::trace left[2];
  char buffer[2];

  watched_first_chunk() : io(model_io::does::calls, model_io::table::empty) {
    for (unsigned i = 0; i < 2; i++) {
      d[i] = io.make(static_cast<int>(i));
      p[i] = new poller(&left[i]);
      volt_future_made(volt_fd_recv_future(&op[i], d[i], buffer, 1, 0));
    }
  }
  void thread(unsigned index) override {
    EXPECT(p[index]->poll(&op[index].as.future) == VOLT_PENDING);
    p[index]->end();
    io.arrive(static_cast<int>(index));
  }
  void check() override {
    for (unsigned i = 0; i < 2; i++) {
      EXPECT(left[i].gone(1, 0));
      volt_future_cancel(&op[i].as.future);
      volt_fd_close(d[i]);
      io.free(d[i]);
    }
  }
};
MODEL(watched_first_chunk, 2, bounded)

// R13: the runtime ends in the background while a thread closes the last of its descriptors.
template <bool by_future>
struct watched_close_x_end : model {
  model_io io;
  volt_fd *d;
  volt_op op, closing;
  poller *receiver, *closer;
  poller::trace left[2];
  char buffer[1];

  watched_close_x_end() : receiver(new poller(&left[0])), closer(new poller(&left[1])) {
    io.give_numbers();
    d = io.make();
    EXPECT(receiver->poll(volt_fd_recv_future(&op, d, buffer, 1, 0)) == VOLT_PENDING);
    volt_future_cancel(&op.as.future); // it stays watched
    receiver->end();
  }
  void close() {
    if (!by_future) return volt_fd_close(d);
    EXPECT(closer->poll(volt_fd_close_future(&closing, d)) == VOLT_OK);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      close();
    } else {
      (void)io.end_if_unused();
    }
  }
  void check() override {
    closer->end();
    EXPECT(d->number == -1 && left[0].gone(0, 1) && left[1].gone(0));
    io.free(d);
  }
};
struct watched_close_now_x_end : watched_close_x_end<false> {};
struct watched_close_future_x_end : watched_close_x_end<true> {};
MODEL(watched_close_now_x_end, 2, full)
MODEL(watched_close_future_x_end, 2, full)

// R13: it accepts a connection, or moves a descriptor, and then closes: there is one open at any time.
struct watched_next_x_end : model {
  model_io io;
  volt_fd *first, *next;

  watched_next_x_end() : first(nullptr), next(nullptr) {
    io.give_numbers();
    first = io.make(1);
  }
  virtual void go_on() {
    next = io.make(0);
    volt_fd_close(first);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      go_on();
      volt_fd_close(next);
    } else {
      (void)io.end_if_unused();
    }
  }
  void check() override {
    EXPECT(first->number == -1 && next->number == -1 && io.is_unused());
    io.free(first);
    io.free(next);
  }
};
MODEL(watched_next_x_end, 2, full)

struct watched_move_x_end : watched_next_x_end {
  void go_on() override {
    next = new volt_fd;
    volt_fd_move_(next, first);
  }
};
MODEL(watched_move_x_end, 2, full)

// R13: an operation begins as its descriptor is closed, and the runtime ends.
struct watched_begin_x_close_x_end : model {
  model_io io;
  volt_fd *d;
  volt_op op, closing;
  poller *p;
  poller::trace left;
  char buffer[1];

  watched_begin_x_close_x_end() : p(new poller(&left)) {
    io.give_numbers();
    d = io.make();
    volt_future_made(volt_fd_recv_future(&op, d, buffer, 1, 0));
  }
  void thread(unsigned index) override {
    if (index == 0) {
      EXPECT(volt_future_wait(volt_fd_close_future(&closing, d)) == VOLT_OK);
    } else if (index == 1) {
      (void)p->poll(&op.as.future);
      volt_future_cancel(&op.as.future);
      p->end();
    } else {
      (void)io.end_if_unused();
    }
  }
  void check() override {
    EXPECT(d->number == -1 && left.freed == 1 && io.is_unused());
    io.free(d);
  }
};
MODEL(watched_begin_x_close_x_end, 3, bounded)
