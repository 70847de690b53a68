// model_io.cpp: see model_io.hpp; and what the I/O library asks of the runtime.
#include "model_io.hpp"

#include <errno.h>

#include "core/os/futex.h"
#include "core/park/spin.h"

static model_io *only;
static int worker_of[8]; // by thread of the model; the constructor and check() are one more

// ---- the system ----

struct model_io_calls {
  static ssize_t take_part(VOLT_ATOMIC(uint32_t) *file, size_t size) {
    uint32_t word = volt_fetch_or_relaxed(file, 0u), n = word & model_io::bytes;
    for (;;) {
      if (n > size) n = static_cast<uint32_t>(size);
      if (n == 0) return -EAGAIN;
      if (volt_cas_relaxed(file, &word, word - n)) return static_cast<ssize_t>(n);
      n = word & model_io::bytes;
    }
  }
  static ssize_t take(int number, size_t size) {
    EXPECT(number == 0 || number == 1);
    if (only->takes_parts) return take_part(&only->files[number], size);
    uint32_t n = volt_fetch_and_relaxed(&only->files[number], ~(uint32_t)model_io::bytes);
    n &= model_io::bytes;
    EXPECT(n <= size);
    return n ? static_cast<ssize_t>(n) : -EAGAIN;
  }
  static ssize_t recv(int number, void *, size_t size, int) {
    return take(number, size);
  }
  static ssize_t send(int number, const void *, size_t size, int) {
    return take(number, size); // a byte is room for one
  }
  static int accept(int number) {
    if (take(number, 1) < 0) return -EAGAIN;
    volt_fetch_add_relaxed(&only->accepted, 1u);
    return model_io::opened;
  }
  static int ready(int number, short events) {
    return volt_fetch_or_relaxed(&only->files[number], 0u) & model_io::bytes ? events : 0;
  }
  static int close(int number) {
    if (number == model_io::opened) {
      volt_fetch_add_relaxed(&only->closed, 1u);
    } else { // what was there is gone
      volt_fetch_and_relaxed(&only->files[number], 0u);
    }
    return 0;
  }
  static int kind(int) {
    return VOLT_FD_FILE_;
  }

  // ---- the back end ----

  static int watch(volt_io_ *, volt_fd *d, uint32_t *mark) {
    *mark = volt_watched_add_(&only->watched, d);
    uint32_t bits = model_io::armed | *mark << model_io::mark_at;
    uint32_t was = volt_fetch_or_relaxed(&only->files[d->number], bits);
    if (was & model_io::bytes) only->report(d->number, bits);
    return VOLT_OK;
  }
  static void unwatch(volt_io_ *, volt_fd *d) {
    volt_fetch_and_relaxed(&only->files[d->number], (uint32_t)model_io::bytes);
    volt_watched_remove_(&only->watched, d);
  }
  static bool does_whole(volt_io_ *, const volt_op *op) {
    return op->kind != VOLT_OP_CLOSE_;
  }
  static void submit(volt_io_ *io, volt_op *op) {
    EXPECT(volt_rt_worker_here_(io->rt) == op->home);
    model_io::flight *f = only->find(nullptr);
    f->op = op;
    f->own_due = 1;
    f->was_cancelled = 0;
  }
  static void cancel(volt_io_ *io, volt_op *op) { // as uring.c does
    unsigned home = op->home;
    if (volt_rt_worker_here_(io->rt) == static_cast<int>(home)) {
      only->cancel_here(op);
    } else {
      volt_mail_leave_(&only->shares[home].mail, op);
      volt_rt_mail_left_(io->rt, home);
    }
  }
  static unsigned check(volt_driver_ *, unsigned worker) {
    return only->check(worker);
  }
};

static volt_sys_ sys;
static volt_io_ops_ calls_ops, whole_ops;
static volt_driver_ops_ driver_ops;

static void set_tables() {
  sys.recv = model_io_calls::recv;
  sys.send = model_io_calls::send;
  sys.accept = model_io_calls::accept;
  sys.ready = model_io_calls::ready;
  sys.close = model_io_calls::close;
  sys.kind = model_io_calls::kind;
  calls_ops.watch = model_io_calls::watch;
  calls_ops.unwatch = model_io_calls::unwatch;
  whole_ops = calls_ops;
  whole_ops.does_whole = model_io_calls::does_whole;
  whole_ops.submit = model_io_calls::submit;
  whole_ops.cancel = model_io_calls::cancel;
  driver_ops.check = model_io_calls::check;
}

model_io::model_io(does how, table t) : slots(nullptr) {
  set_tables();
  only = this;
  for (auto &w : worker_of) w = -1;
  io.driver.ops = &driver_ops;
  io.rt = nullptr;
  io.ops = how == does::whole ? &whole_ops : &calls_ops;
  io.sys = &sys;
  io.numbers = nullptr;
  volt_watched_init_(&watched);
  for (auto &s : shares) volt_mail_init_(&s.mail);
  if (t == table::empty) return;
  slots = static_cast<volt_watch_slot *>(calloc(VOLT_WATCH_FIRST, sizeof *slots));
  for (unsigned i = 0; i < VOLT_WATCH_FIRST; i++) ::new (&slots[i]) volt_watch_slot;
  volt_store_relaxed(&watched.chunks[0], slots);
}

model_io::~model_io() {
  volt_watch_slot *chunk = volt_load_relaxed(&watched.chunks[0]);
  for (unsigned i = 0; chunk && i < VOLT_WATCH_FIRST; i++) chunk[i].~volt_watch_slot();
  volt_watched_free_(&watched);
}

volt_fd *model_io::make(int number, unsigned kind) {
  volt_fd *d = new volt_fd;
  volt_fd_set_(d, &io, number, kind);
  return d;
}

bool model_io::end_if_unused() {
  if (volt_watched_owns_any_(&watched)) return false;
  volt_watch_slot *chunk = volt_load_relaxed(&watched.chunks[0]);
  for (unsigned i = 0; i < VOLT_WATCH_FIRST; i++) {
    chunk[i].mark = 0xdead;
    chunk[i].fd = nullptr;
  }
  io.sys = nullptr;
  io.rt = nullptr;
  has_ended = 1;
  return true;
}

void model_io::free(volt_fd *d) {
  d->waiting = nullptr;
  d->receiver = nullptr;
  d->sender = nullptr;
  d->closer = nullptr;
  d->ready = 0xdead;
  d->reports = 0xdead;
  d->watched = 0xdead;
  d->calls = 0xdead;
  d->is_closing = 0xde;
  delete d;
}

// ---- whole ----

void model_io::be_worker(int worker) {
  worker_of[volt_model_thread()] = worker;
}

// Of this worker. NULL: one that is free.
model_io::flight *model_io::find(volt_op *op) {
  int here = volt_rt_worker_here_(nullptr);
  EXPECT(here >= 0);
  for (auto &f : shares[here].flights) {
    bool is_free = !f.own_due && !f.cancel_due;
    if (op ? f.op == op && !is_free : is_free) return &f;
  }
  EXPECT(!op);
  return nullptr;
}

void model_io::cancel_here(volt_op *op) {
  flight *f = find(op);
  EXPECT(!f->cancel_due && !f->was_cancelled); // once for each submission
  f->cancel_due = 1;
}

bool model_io::take_mail(unsigned worker) { // as uring.c does
  bool any = false;
  for (volt_op *op = volt_mail_take_(&shares[worker].mail), *next; op; op = next) {
    next = op->mail;
    if (volt_op_is_over_(op)) {
      volt_op_cancel_ended_(op);
      any = true;
    } else {
      cancel_here(op);
    }
  }
  return any;
}

static bool choose() {
  return volt_model_choice();
}

// Whether it ends although no one cancels it.
bool model_io::ends_by_itself(const share *s) const {
  return s->submitted < by_themselves;
}

void model_io::end(share *s, flight *f) {
  volt_op *op = f->op;
  bool is_cancelled = f->was_cancelled || (f->cancel_due && (!ends_by_itself(s) || choose()));
  int result = is_cancelled ? -ECANCELED : results[s->submitted];
  if (!is_cancelled) s->submitted += 1;
  if (result >= 0 && (op->kind == VOLT_OP_ACCEPT_ || op->kind == VOLT_OP_OPEN_)) {
    volt_fetch_add_relaxed(&accepted, 1u);
    result = opened;
  } else if (result > 0) {
    s->moved += static_cast<uint32_t>(result);
  }
  f->own_due = 0;
  volt_op_ended_(op, result);
}

// The report of the cancel is first, or comes alone.
void model_io::end_cancel(share *s, flight *f) {
  volt_op *op = f->op;
  if (f->own_due) f->was_cancelled = !ends_by_itself(s) || choose();
  f->cancel_due = 0;
  volt_op_cancel_ended_(op);
}

// Returns whether something of it was reported.
bool model_io::look_at(share *s, flight *f) {
  if (f->cancel_due && (!f->own_due || choose())) {
    end_cancel(s, f);
    return true;
  }
  if (!f->own_due) return false;
  if (!ends_by_itself(s) && !f->cancel_due && !f->was_cancelled) return false;
  end(s, f);
  return true;
}

bool model_io::check(unsigned worker) {
  bool any = take_mail(worker);
  for (auto &f : shares[worker].flights) any |= look_at(&shares[worker], &f);
  return any;
}

void model_io::serve(unsigned worker, uint32_t others) {
  while (volt_load_acquire(&done) != others) {
    if (!check(worker)) volt_yield_();
  }
  do check(worker);
  while (shares[worker].is_under_way());
}

void model_io::expect_idle() {
  for (auto &s : shares) {
    EXPECT(!volt_mail_has_any_(&s.mail));
    EXPECT(!s.is_under_way());
  }
}

// ---- what the sources call ----

int volt_rt_worker_here_(volt_rt *) {
  return worker_of[volt_model_thread()];
}

volt_driver_ *volt_rt_driver_(volt_rt *) {
  return &only->handle()->driver;
}

void volt_rt_mail_left_(volt_rt *, unsigned) {
  only->use_runtime();
}

bool volt_rt_is_by_hand_(volt_rt *) {
  return only->is_by_hand;
}

// As a thread that does not run it: one that does is at work.
bool volt_rt_check_by_hand_(volt_rt *) {
  only->use_runtime();
  return false;
}

int volt_op_begin_pool_(volt_op *, volt_ctx *) {
  volt_panic_("volt_op_begin_pool_", "no model has a blocking pool");
}
