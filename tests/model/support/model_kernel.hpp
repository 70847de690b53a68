// model_kernel.hpp: what io_uring, epoll and eventfds do, for models of the back ends as shipped. It orders
// nothing between threads that the real ones are not asked to order: each call of it is relaxed.
//
// A ring completes in the calls of its own thread alone, and says in its flags that there is something to
// complete, as with DEFER_TASKRUN. What a cancel meets, and which of the two reports is first, may be
// either. An eventfd that is never read stays readable; it is reported once for each time that it rings.
#ifndef VOLT_MODEL_KERNEL_HPP
#define VOLT_MODEL_KERNEL_HPP

#define _GNU_SOURCE 1
#include "io/backend/uring.h"
#include "io/op/fd.h"
#include "io/op/op.h"
#include "model.hpp"
#include "rt/host/doorbell.h"
#include "rt/host/driver.h"
#include "rt/host/runtime.h"

// There is one at a time.
class model_kernel {
 public:
  enum : int { files = 2, bell = 2, bells = 2, epoll = 4, descriptors = 5, ring = 5 };

  model_kernel();
  // A byte comes to that file, on any thread.
  void arrive(int file);
  // That doorbell rings, on any thread.
  void rings(int which) {
    trigger(bell + which);
  }
  // As volt_doorbell_ring_().
  static void ring_bell(int fd);
  // At quiescence: how many bytes were not taken.
  uint32_t left(int file) {
    return readable[file];
  }
  // So many times the system ends what a ring watches when it reports it.
  unsigned watches_to_end = 0;

 private:
  friend struct model_kernel_calls;
  struct watched {
    bool is_watched, is_due;
    uint64_t data;
  };
  struct request {
    io_uring_sqe sqe;
    bool is_under_way, is_due;
  };
  struct ring_state {
    io_uring *user;
    request requests[6];
    VOLT_ATOMIC(uint32_t) flags;
    VOLT_ATOMIC(uint32_t) word; // counts events: what its thread sleeps on
  };

  void trigger(int fd);
  bool is_readable(int fd);
  void make_due(ring_state *r, int fd);
  void submit(ring_state *r, const io_uring_sqe &sqe);
  void cancel(ring_state *r, const io_uring_sqe &sqe);
  void complete(ring_state *r, request *q);
  void complete_due(ring_state *r);
  void post(ring_state *r, uint64_t user_data, int result, uint32_t flags);
  int enter(io_uring *user);

  // The kernel's own: each of its steps is one step of the model.
  uint32_t readable[descriptors]; // bytes, or rings
  watched in_epoll[epoll];
  ring_state rings_[2];
  unsigned ring_count = 0;
  VOLT_ATOMIC(uint32_t) epoll_word; // counts events: what sleeps in epoll sleeps on it
};

// A runtime whose driver is io_uring as shipped; its worker is a thread of the model.
class model_uring {
 public:
  explicit model_uring(volt_rt *rt);
  ~model_uring();
  volt_driver_ *driver() {
    return driver_;
  }
  volt_uring_share_ *share() {
    return volt_uring_share_of_(driver_, 0);
  }
  volt_io_ *io() {
    return volt_io_of_driver_(driver_);
  }

 private:
  volt_rt_config config;
  volt_driver_ *driver_ = nullptr;
  volt_doorbell bell;
  volt_watch_slot *slots; // of what is watched: as many as there are files
};

// The memory of an operation is its owner's again.
inline void poison(volt_op *op) {
  poison(&op->as.future.waiter);
  op->fd = nullptr;
  op->next = nullptr;
  op->prev = nullptr;
  op->mail = nullptr;
  op->result = 0xdead;
  op->is_asked = 0;
  op->ends_due = 0;
  volt_store_relaxed(&op->stage, 0xde);
  volt_store_relaxed(&op->as.future.waiter.state, 0xdead);
}

#endif
