// uring_model: io_uring as shipped, but for uring_sqe.c, and a worker that looks there and parks: as other
// threads have descriptors watched, leave cancels as mail, and operations complete. uring.c I2, R2, R3, R5;
// uring_ring.c R3. What the system does is the model's (support/model_kernel.hpp). A wake that is lost is a
// deadlock.
// PROGRAM: rt SUPPORT model_kernel.cpp DEFINES kernel
// PROGRAM: rt SOURCES uring.c uring_ring.c epoll.c watched.c nap.c op.c whole.c fd.c close.c call.c make.c select.c
#include "blocker.hpp"
#include "model_kernel.hpp"
#include "model_rt.hpp"

struct uring_model : model {
  model_kernel kernel;
  model_rt rt;
  model_uring uring;
  volt_fd *d[2];

  uring_model() : rt(1), uring(rt.handle()) {
    for (int i = 0; i < 2; i++) {
      d[i] = new volt_fd;
      volt_fd_set_(d[i], uring.io(), i, VOLT_FD_OTHER_);
    }
    be_worker();
    uring.driver()->ops->begin(uring.driver(), 0);
    volt_worker_end_here_();
  }
  ~uring_model() override {
    for (auto &each : d) delete each;
  }
  void be_worker() {
    volt_worker_begin_here_(&rt->worker[0]);
  }
  // As a worker without tasks.
  void look_or_park() {
    if (!uring.driver()->ops->check(uring.driver(), 0)) volt_worker_park_(&rt->worker[0]);
  }
  void run_until_over() {
    be_worker();
    while (!volt_rt_is_over_(rt.handle())) look_or_park();
    uring.driver()->ops->end(uring.driver(), 0);
    volt_worker_end_here_();
  }
  // Any other thread.
  void end_worker() {
    volt_exchange_seq_cst(&rt->is_over, 1u);
    volt_idle_fence_(&rt->idle);
    if (volt_idle_claim_(&rt->idle, 0)) volt_worker_unpark_(&rt->worker[0]);
  }
  void check() override {
    EXPECT(uring.share()->in_flight == 0 && !volt_mail_has_any_(&uring.share()->mail));
    rt.abandon();
  }
};

// R2: the first descriptor is watched as the worker goes to sleep; it hears of what comes there.
struct uring_watch_x_sleep : uring_model {
  uint32_t due;
  explicit uring_watch_x_sleep(uint32_t due_ = 1) : due(due_) {
  }
  void thread(unsigned index) override {
    if (index == 0) {
      be_worker();
      while (d[0]->reports == 0 || (due > 1 && d[1]->reports == 0)) look_or_park();
      uring.driver()->ops->end(uring.driver(), 0);
      volt_worker_end_here_();
      return;
    }
    uint32_t mark;
    EXPECT(uring.io()->ops->watch(uring.io(), d[index - 1], &mark) == VOLT_OK);
    kernel.arrive(static_cast<int>(index - 1));
  }
};
MODEL(uring_watch_x_sleep, 2, bounded)

// R2: the first two by two threads, of which one finds that the other has said so, or is about to.
struct uring_watch_x_watch : uring_watch_x_sleep {
  uring_watch_x_watch() : uring_watch_x_sleep(2) {
  }
};
MODEL(uring_watch_x_watch, 3, bounded)

// An operation of the worker's ring, which it has begun.
struct uring_op_model : uring_model {
  volt_op ops[2];
  char buffer[2];
  int result = VOLT_PENDING;

  // In the constructor.
  void begin(blocker *b, unsigned i) {
    be_worker();
    EXPECT(b->poll(volt_fd_recv_future(&ops[i], d[i], &buffer[i], 1, 0)) == VOLT_PENDING);
    volt_worker_end_here_();
  }
  // It has ended, or was given up: n says what was moved.
  void has_ended(unsigned i) {
    EXPECT(result == VOLT_OK || result == VOLT_ECANCELED);
    EXPECT(ops[i].n == (result == VOLT_OK ? 1u : 0u));
  }
};

// R3: given up elsewhere, at any moment, as it completes or does not.
struct uring_cancel_x_end : uring_op_model {
  blocker owner;
  uint32_t arrives;
  explicit uring_cancel_x_end(uint32_t arrives_ = 1) : arrives(arrives_) {
    begin(&owner, 0);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      run_until_over();
    } else if (index == 2) {
      kernel.arrive(0);
    } else {
      volt_future_cancel(&ops[0].as.future);
      result = owner.poll(&ops[0].as.future);
      has_ended(0);
      poison(&ops[0]);
      end_worker();
    }
  }
  void check() override {
    EXPECT(kernel.left(0) == arrives - (result == VOLT_OK));
    uring_model::check();
  }
};
MODEL(uring_cancel_x_end, 3, bounded)

struct uring_cancel : uring_cancel_x_end {
  uring_cancel() : uring_cancel_x_end(0) {
  }
};
MODEL(uring_cancel, 2, bounded)

// R3: the byte is there, and the system may have said so, before the worker and the owner begin.
struct uring_cancel_x_ended : uring_cancel_x_end {
  uring_cancel_x_ended() {
    kernel.arrive(0);
  }
};
MODEL(uring_cancel_x_ended, 2, bounded)

// I2: it completes as the worker goes to sleep.
struct uring_complete_x_sleep : uring_op_model {
  blocker owner;
  uring_complete_x_sleep() {
    begin(&owner, 0);
  }
  void thread(unsigned index) override {
    if (index == 1) {
      kernel.arrive(0);
      return;
    }
    be_worker();
    while (volt_waiter_result(&ops[0].as.future.waiter) == VOLT_PENDING) look_or_park();
    result = owner.poll(&ops[0].as.future);
    EXPECT(result == VOLT_OK);
    has_ended(0);
    uring.driver()->ops->end(uring.driver(), 0);
    volt_worker_end_here_();
  }
};
MODEL(uring_complete_x_sleep, 2, bounded)

// uring_ring.c R3: the watch of the doorbell ends by itself; two cancels, one after the other.
struct uring_cancel_x_watch_ends : uring_op_model {
  blocker owners[2];
  uring_cancel_x_watch_ends() {
    for (unsigned i = 0; i < 2; i++) begin(&owners[i], i);
    kernel.watches_to_end = 1;
  }
  void thread(unsigned index) override {
    if (index == 0) {
      run_until_over();
      return;
    }
    for (unsigned i = 0; i < 2; i++) {
      volt_future_cancel(&ops[i].as.future);
      result = owners[i].poll(&ops[i].as.future);
      EXPECT(result == VOLT_ECANCELED);
      poison(&ops[i]);
    }
    end_worker();
  }
};
MODEL(uring_cancel_x_watch_ends, 2, bounded)

// R5: two operations are asked to end by a thread that closes their descriptors; the waker of the second
// drops the first, whose cancel may be in the same mail, and waits for its end.
struct uring_drop_x_mail : uring_op_model {
  blocker first;
  VOLT_PLAIN(uint32_t) wakes;
  volt_op closes[2];
  uring_drop_x_mail() {
    begin(&first, 0);
    be_worker();
    volt_ctx ctx = VOLT_CTX_INIT((volt_waker{drop_first, this}));
    ctx.drop = drop_first;
    volt_future *f = volt_fd_recv_future(&ops[1], d[1], &buffer[1], 1, 0);
    EXPECT(volt_future_poll_ctx(f, &ctx) == VOLT_PENDING);
    volt_worker_end_here_();
    kernel.arrive(1);
  }
  static void drop_first(void *m) {
    uring_drop_x_mail *self = static_cast<uring_drop_x_mail *>(m);
    self->wakes += 1;
    volt_future_cancel(&self->ops[0].as.future);
    EXPECT(self->ops[0].n == 0);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      run_until_over();
      return;
    }
    blocker closer[2];
    int results[2];
    for (unsigned i = 0; i < 2; i++) {
      results[i] = closer[i].poll(volt_fd_close_future(&closes[i], d[i]));
    }
    for (unsigned i = 0; i < 2; i++) {
      if (results[i] == VOLT_PENDING) results[i] = closer[i].await(&closes[i].as.future);
      EXPECT(results[i] == VOLT_OK);
    }
    end_worker();
  }
  void check() override {
    EXPECT(wakes == 1);
    uring_model::check();
  }
};
MODEL(uring_drop_x_mail, 2, bounded)
