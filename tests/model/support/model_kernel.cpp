// model_kernel.cpp: see model_kernel.hpp.
#include "model_kernel.hpp"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "core/os/futex.h"

static model_kernel *only;

model_kernel::model_kernel() {
  only = this;
  memset(readable, 0, sizeof readable);
  memset(in_epoll, 0, sizeof in_epoll);
  for (auto &r : rings_) {
    r.user = nullptr;
    memset(r.requests, 0, sizeof r.requests);
  }
}

// ---- events ----

bool model_kernel::is_readable(int fd) {
  if (fd != epoll) return readable[fd] > 0;
  for (auto &w : in_epoll) {
    if (w.is_due) return true;
  }
  return false;
}

// One step, but for the flag.
void model_kernel::make_due(ring_state *r, int fd) {
  volt_fetch_add_relaxed(&r->word, 1u);
  bool any = false;
  for (auto &q : r->requests) {
    if (!q.is_under_way || q.sqe.fd != fd) continue;
    q.is_due = true;
    any = true;
  }
  if (!any) return;
  volt_fetch_or_relaxed(&r->flags, static_cast<uint32_t>(IORING_SQ_TASKRUN));
  volt_futex_wake32_(&r->word, 1);
}

void model_kernel::trigger(int fd) {
  volt_fetch_add_relaxed(&epoll_word, 1u);
  readable[fd] += 1;
  bool is_watched = in_epoll[fd].is_watched;
  in_epoll[fd].is_due = is_watched;
  if (is_watched) volt_futex_wake32_(&epoll_word, 1);
  for (unsigned i = 0; i < ring_count; i++) {
    make_due(&rings_[i], fd);
    if (is_watched) make_due(&rings_[i], epoll);
  }
}

void model_kernel::arrive(int file) {
  trigger(file);
}

// ---- a ring ----

void model_kernel::post(ring_state *r, uint64_t user_data, int result, uint32_t flags) {
  io_uring *u = r->user;
  EXPECT(u->cq.tail - u->cq.head < MODEL_CQ);
  u->cq.cqes[u->cq.tail & u->cq.ring_mask] = io_uring_cqe{user_data, result, flags};
  u->cq.tail += 1;
}

void model_kernel::complete(ring_state *r, request *q) {
  q->is_due = false;
  if (!is_readable(q->sqe.fd)) return;
  if (q->sqe.opcode == IORING_OP_RECV) {
    readable[q->sqe.fd] -= 1;
    q->is_under_way = false;
    post(r, q->sqe.user_data, 1, 0);
    return;
  }
  bool ends = watches_to_end > 0;
  if (ends) watches_to_end -= 1;
  q->is_under_way = !ends;
  post(r, q->sqe.user_data, POLLIN, ends ? 0 : IORING_CQE_F_MORE);
}

void model_kernel::complete_due(ring_state *r) {
  for (auto &q : r->requests) {
    if (q.is_under_way && q.is_due) complete(r, &q);
  }
}

void model_kernel::cancel(ring_state *r, const io_uring_sqe &sqe) {
  for (auto &q : r->requests) {
    if (!q.is_under_way || q.sqe.user_data != sqe.target) continue;
    if (q.is_due && q.sqe.opcode == IORING_OP_RECV && volt_model_choice()) { // it goes on
      post(r, sqe.user_data, -EALREADY, 0);
      return;
    }
    q.is_under_way = false;
    bool is_first = volt_model_choice();
    if (is_first) post(r, q.sqe.user_data, -ECANCELED, 0);
    post(r, sqe.user_data, 0, 0);
    if (!is_first) post(r, q.sqe.user_data, -ECANCELED, 0);
    return;
  }
  post(r, sqe.user_data, -ENOENT, 0);
}

void model_kernel::submit(ring_state *r, const io_uring_sqe &sqe) {
  if (sqe.opcode == IORING_OP_ASYNC_CANCEL) {
    cancel(r, sqe);
    return;
  }
  for (auto &q : r->requests) {
    if (q.is_under_way) continue;
    q.sqe = sqe;
    q.is_under_way = true;
    q.is_due = is_readable(sqe.fd);
    return;
  }
  EXPECT(!"room for a request");
}

int model_kernel::enter(io_uring *user) {
  ring_state *r = &rings_[user->ring_fd - ring];
  user->uses += 1;
  volt_fetch_and_relaxed(&r->flags, 0u);
  int count = static_cast<int>(user->sq.staged);
  for (unsigned i = 0; i < user->sq.staged; i++) submit(r, user->sq.sqes[i]);
  user->sq.staged = 0;
  complete_due(r);
  return count;
}

struct model_kernel_calls {
  static int init(io_uring *user) {
    EXPECT(only->ring_count < 2);
    model_kernel::ring_state *r = &only->rings_[only->ring_count];
    r->user = user;
    user->sq.kflags = &r->flags;
    user->sq.staged = 0;
    user->cq.khead = &user->cq.head;
    user->cq.head = 0;
    user->cq.tail = 0;
    user->cq.ring_mask = MODEL_CQ - 1;
    user->features = IORING_FEAT_EXT_ARG | IORING_FEAT_NODROP;
    user->ring_fd = model_kernel::ring + static_cast<int>(only->ring_count);
    only->ring_count += 1;
    return 0;
  }
  static int wait(io_uring *user) {
    model_kernel::ring_state *r = &only->rings_[user->ring_fd - model_kernel::ring];
    int count = only->enter(user);
    for (;;) {
      uint32_t seen = volt_fetch_add_relaxed(&r->word, 0u);
      only->complete_due(r);
      if (io_uring_cq_ready(user) > 0) return count;
      volt_futex_wait32_(&r->word, seen, VOLT_NO_DEADLINE);
    }
  }
  static int enter(io_uring *user) {
    return only->enter(user);
  }
  static ssize_t recv(int number, void *, size_t, int) {
    volt_fetch_add_relaxed(&only->epoll_word, 0u);
    if (only->readable[number] == 0) return -EAGAIN;
    only->readable[number] -= 1;
    return 1;
  }
  static int close_file(int) {
    return 0;
  }
  static int epoll_add(int fd, uint64_t data) {
    volt_fetch_add_relaxed(&only->epoll_word, 1u);
    model_kernel::watched *w = &only->in_epoll[fd];
    w->is_watched = true;
    w->data = data;
    w->is_due = only->readable[fd] > 0;
    bool is_due = w->is_due;
    if (!is_due) return 0;
    volt_futex_wake32_(&only->epoll_word, 1);
    for (unsigned i = 0; i < only->ring_count; i++) {
      only->make_due(&only->rings_[i], model_kernel::epoll);
    }
    return 0;
  }
  static int epoll_remove(int fd) {
    volt_fetch_add_relaxed(&only->epoll_word, 0u);
    only->in_epoll[fd].is_watched = false;
    only->in_epoll[fd].is_due = false;
    return 0;
  }
  static int epoll_take(struct epoll_event *events) {
    int count = 0;
    for (auto &w : only->in_epoll) {
      if (!w.is_due) continue;
      w.is_due = false;
      events[count].events = EPOLLIN;
      events[count++].data.u64 = w.data;
    }
    return count;
  }
  static int wait_in_epoll(struct epoll_event *events, bool sleeps) {
    for (;;) {
      uint32_t seen = volt_fetch_add_relaxed(&only->epoll_word, 0u);
      int count = epoll_take(events);
      if (count > 0 || !sleeps) return count;
      volt_futex_wait32_(&only->epoll_word, seen, VOLT_NO_DEADLINE);
    }
  }
  static volt_sys_ make_sys() {
    volt_sys_ sys;
    memset(&sys, 0, sizeof sys);
    sys.recv = recv;
    sys.close = close_file;
    return sys;
  }
};

int io_uring_queue_init_params(unsigned, io_uring *user, io_uring_params *) {
  return model_kernel_calls::init(user);
}

void io_uring_queue_exit(io_uring *) {
}

int io_uring_submit_and_get_events(io_uring *user) {
  return model_kernel_calls::enter(user);
}

int io_uring_submit_and_wait_timeout(io_uring *user, io_uring_cqe **, unsigned, __kernel_timespec *,
                                     sigset_t *) {
  return model_kernel_calls::wait(user);
}

io_uring_sqe *io_uring_get_sqe(io_uring *user) {
  user->uses += 1;
  return user->sq.staged < MODEL_SQ ? &user->sq.sqes[user->sq.staged++] : nullptr;
}

// ---- epoll, eventfd ----

int model_epoll_create() {
  return model_kernel::epoll;
}

int model_epoll_add(int, int fd, struct epoll_event *event) {
  return model_kernel_calls::epoll_add(fd, event->data.u64);
}

int model_epoll_remove(int, int fd) {
  return model_kernel_calls::epoll_remove(fd);
}

int model_epoll_wait(int, struct epoll_event *events, int, int timeout_ms) {
  return model_kernel_calls::wait_in_epoll(events, timeout_ms != 0);
}

int model_epoll_pwait2(int, struct epoll_event *events, int, const int64_t *) {
  return model_kernel_calls::wait_in_epoll(events, true);
}

int model_close(int) {
  return 0;
}

ssize_t model_ring(int fd) {
  only->rings(fd - model_kernel::bell);
  return 8;
}

void model_kernel::ring_bell(int fd) {
  only->trigger(fd);
}

// ---- what is not modelled: uring_sqe.c, sys.c, offload.c ----

const volt_sys_ volt_sys_real_ = model_kernel_calls::make_sys();

void volt_uring_fill_in_(io_uring_sqe *sqe, volt_op *op) {
  EXPECT(op->kind == VOLT_OP_RECV_);
  sqe->opcode = IORING_OP_RECV;
  sqe->fd = op->fd->number;
}

int volt_uring_result_(volt_op *, int result) {
  return result;
}

int volt_op_begin_pool_(volt_op *, volt_ctx *) {
  volt_panic_("volt_op_begin_pool_", "no model has a blocking pool");
}

int volt_op_move_to_pool_(volt_op *, bool, volt_ctx *) {
  volt_panic_("volt_op_move_to_pool_", "no model has a blocking pool");
}

// ---- a runtime with io_uring ----

static void *uring_alloc(size_t bytes, void *) {
  EXPECT(bytes == sizeof(volt_uring_)); // of one worker
  volt_uring_ *u = new volt_uring_;
  std::destroy_at(&u->share[0]); // the back end makes it
  return u;
}

static void uring_free(void *memory, size_t, void *) {
  delete static_cast<volt_uring_ *>(memory);
}

model_uring::model_uring(volt_rt *rt) {
  static const volt_uring_setup_ setup = {MODEL_SQ, MODEL_CQ, &volt_uring_real_};
  config = rt->config;
  config.allocator = volt_rt_allocator{uring_alloc, uring_free, nullptr};
  bell.next = nullptr;
  bell.eventfd = model_kernel::bell;
  int number = bell.eventfd;
  EXPECT(volt_uring_create_with_(&driver_, rt, &config, &number, &setup) == VOLT_OK);
  rt->driver = driver_;
  slots = static_cast<volt_watch_slot *>(calloc(VOLT_WATCH_FIRST, sizeof *slots));
  for (int i = 0; i < model_kernel::files; i++) ::new (&slots[i]) volt_watch_slot;
  volt_uring_ *u = share()->uring;
  volt_store_relaxed(&u->epoll.table.chunks[0], slots);
  rt->worker[0].doorbell = &bell;
}

model_uring::~model_uring() {
  for (int i = 0; i < model_kernel::files; i++) std::destroy_at(&slots[i]);
  volt_store_relaxed(&share()->uring->epoll.table.chunks[0],
                     static_cast<volt_watch_slot *>(nullptr));
  free(slots); // there were no more of them than files: the driver would look at all
  driver_->ops->destroy(driver_);
}
