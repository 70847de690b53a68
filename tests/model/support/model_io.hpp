// model_io.hpp: the I/O library as shipped, on a system of the model's own: files whose bytes come when
// a thread of the model says so, and a back end for each of the two ways of an operation.
#ifndef VOLT_MODEL_IO_HPP
#define VOLT_MODEL_IO_HPP

#include "io/backend/mail.h"
#include "io/op/fd.h"
#include "io/op/op.h"
#include "io/op/watched.h"
#include "model.hpp"

// There is one at a time. What it does in the place of the kernel orders nothing between threads.
class model_io {
 public:
  // What a file's word says beside how many bytes there are.
  enum : uint32_t { bytes = 0xff, armed = 0x100, mark_at = 16 };
  enum : int { opened = 7 }; // the number of what is accepted or opened
  // Whether it does operations as WHOLE; whether the table of what is watched has memory already.
  enum class does { calls, whole };
  enum class table { made, empty };

  explicit model_io(does how = does::calls, table t = table::made);
  ~model_io();
  volt_io_ *handle() {
    return &io;
  }
  // A new descriptor. kind: VOLT_FD_TCP_, ...
  volt_fd *make(int number = 0, unsigned kind = VOLT_FD_OTHER_);
  // From here on a descriptor that is made has its number.
  void give_numbers() {
    io.numbers = &watched;
  }
  // As the end of a runtime in the background: whether no descriptor has a number. Then nobody is to
  // use this any more: whoever does is reported.
  bool end_if_unused();
  bool is_unused() {
    return !volt_watched_owns_any_(&watched);
  }
  // Nobody is to use it any more: whoever does is reported.
  static void free(volt_fd *d);

  // ---- calls ----

  // So many bytes come, on any thread. If the file is watched, that thread reports it.
  void arrive(int number, uint32_t n = 1) {
    report(number, arrive_unreported(number, n));
  }
  // The same in two steps: a report that was taken, and is to be delivered.
  uint32_t arrive_unreported(int number, uint32_t n = 1) {
    return volt_fetch_add_relaxed(&files[number], n);
  }
  void report(int number, uint32_t was) {
    if (was & armed)
      (void)volt_watched_report_(&watched, (uint32_t)number, was >> mark_at, reported);
  }
  // Bytes are also room, or only that.
  void report_as(uint32_t events) {
    reported = events;
  }
  // At quiescence.
  uint32_t left(int number) {
    return volt_load_relaxed(&files[number]) & bytes;
  }

  // A call takes as much as its memory has room for, and leaves the rest; else it has to take all.
  void take_parts() {
    takes_parts = true;
  }

  // ---- whole ----

  // What the next submissions end with.
  void script(int first, int second = 1, int third = 1) {
    results[0] = first;
    results[1] = second;
    results[2] = third;
  }
  // Those after the first so many end by a cancel only, as if no byte came.
  void end_by_themselves(uint32_t count) {
    by_themselves = count;
  }
  // This thread is that worker from here on; -1: none.
  static void be_worker(int worker);
  // As that worker: what a worker does in its driver. What has not ended, ends now.
  bool check(unsigned worker);
  // As that worker, until so many threads are done, and nothing is under way.
  void serve(unsigned worker, uint32_t others);
  void is_done() {
    volt_fetch_add_release(&done, 1u);
  }
  // At quiescence: nothing is under way.
  void expect_idle();
  // What that worker's operations have moved. By the owner of the last that has ended, or at
  // quiescence.
  uint32_t moved(unsigned worker) {
    return shares[worker].moved;
  }

  // Its runtime is run by hand.
  void be_by_hand() {
    is_by_hand = true;
  }
  bool is_by_hand = false;
  // Of what is used of the runtime.
  void use_runtime() {
    EXPECT(has_ended == 0);
  }

  VOLT_ATOMIC(uint32_t) closed; // how often opened was closed
  VOLT_ATOMIC(uint32_t) accepted;

 private:
  // An operation that is under way, the home's own.
  struct flight {
    VOLT_PLAIN(volt_op *) op;
    VOLT_PLAIN(uint8_t) own_due;
    VOLT_PLAIN(uint8_t) cancel_due;
    VOLT_PLAIN(uint8_t) was_cancelled;
  };
  struct share {
    volt_mail_ mail;
    flight flights[2];
    VOLT_PLAIN(uint32_t) submitted;
    VOLT_PLAIN(uint32_t) moved;
    bool is_under_way() {
      return flights[0].own_due || flights[0].cancel_due || flights[1].own_due ||
             flights[1].cancel_due;
    }
  };
  friend struct model_io_calls;

  flight *find(volt_op *op);
  void cancel_here(volt_op *op);
  bool take_mail(unsigned worker);
  bool ends_by_itself(const share *s) const;
  void end(share *s, flight *f);
  void end_cancel(share *s, flight *f);
  bool look_at(share *s, flight *f);

  volt_io_ io; // first
  VOLT_PLAIN(uint32_t) has_ended;
  volt_watch_table watched;
  volt_watch_slot *slots;
  VOLT_ATOMIC(uint32_t) files[2];
  share shares[2];
  bool takes_parts = false;
  uint32_t reported = POLLIN;
  int results[3] = {1, 1, 1};
  uint32_t by_themselves = 3;
  VOLT_ATOMIC(uint32_t) done;
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

// At quiescence: nobody has written to it since it was poisoned, if it was.
inline void expect_untouched(volt_op *op) {
  EXPECT(op->fd || volt_load_relaxed(&op->as.future.waiter.state) == 0xdead);
}

#endif
