// served_queue_model: a thread waits in a queue as volt-run has it wait: a wake meets a cancel, a deadline, a signal and a
// fork. Checks queue.c R5, R7 to R10, C1 and C2.
// PROGRAM: queue BATCH 2 MUTANTS SOURCES tools/volt-run/serve/queue.c semaphore.c semaphore_limit.c mutex.c cond.c
// PROGRAM: queue SOURCES permits.c bypass.c fifo.c grant.c park.c fiber_futex.c future.c monitor.c
// PROGRAM: queue SUPPORT model_queue.cpp DEFINES queue
#include "core/os/futex.h"
#include "model_queue.hpp"

static const struct timespec soon = {0, 1};

static void acquires(struct queued *q, void *semaphore) {
  volt_future_made(volt_sem_acquire_future(&q->future, static_cast<volt_sem *>(semaphore), 1));
}

// The memory of a thread's wait is used again: whoever still uses it is reported.
static void use_again(struct queued *q) {
  q->object = nullptr;
  q->was_woken = true;
  poison(&q->future.waiter);
}

// How often a thread was told that it has it.
struct counted : served {
  uint32_t taken = 0;
  static void take(served *object) {
    static_cast<counted *>(object)->taken += 1;
  }
};

// ---- semaphores ----

// Thread 0 acquires, thread 1 releases. `other` waits behind thread 0: what that one gives up goes there.
struct queue_semaphore : model {
  volt_sem sem;
  counted object;
  queued q;
  volt_waiter other;
  wake_count wakes;
  unsigned ends;
  const struct timespec *until;
  int result;

  explicit queue_semaphore(unsigned ends_ = 0, const struct timespec *until_ = nullptr)
      : object(), ends(ends_), until(until_), result(EINPROGRESS) {
    queue_begin_model();
    object.kind = BOOKS_SEMAPHORE;
  }
  int begin() {
    queued_begin(&q, &object, ends, counted::take);
    queued_start(&q, acquires, &sem);
    return queued_poll(&q);
  }
  void begin_other() {
    EXPECT(volt_sem_acquire_waiter(&sem, &other, 1, wakes.waker()) == VOLT_PENDING);
  }
  void begin_both() {
    EXPECT(begin() == EINPROGRESS);
    begin_other();
  }
  void wait() {
    if (result == EINPROGRESS) result = queued_wait(&q, CLOCK_MONOTONIC, until);
  }
  void acquire() {
    result = begin();
    queue_moment(); // the caller goes on
    wait();
  }
  void expect_state(int state, int type) {
    EXPECT(queue_here()->handler_count == 0 && object.taken == (result == 0 ? 1 : 0));
    EXPECT(queue_here()->state == state && queue_here()->type == type);
  }
  // Thread 0, to its end.
  virtual void run() {
    wait();
  }
  void thread(unsigned index) override {
    if (index == 1) {
      volt_sem_release(&sem, 1);
      return;
    }
    if (!queue_run<queue_semaphore>(this, &queue_semaphore::run)) result = ECANCELED;
    EXPECT(!queue_here()->is_blocked && object.taken <= 1);
    if (result != ECANCELED) expect_state(PTHREAD_CANCEL_ENABLE, PTHREAD_CANCEL_DEFERRED);
    use_again(&q);
  }
  // One of them has the permit, or nobody; and no post is on its way.
  void expect_one(bool has_it, bool has_other) {
    EXPECT(has_it + has_other + volt_sem_available(&sem) == 1);
    EXPECT(volt_load_relaxed(&object.on_the_way) == 0);
    EXPECT(wakes.seen() == (has_other ? 1 : 0));
  }
};

// R8, R9: from the first look to the end.
struct queue_sleep_x_wake : queue_semaphore {
  void run() override {
    acquire();
  }
  void check() override {
    EXPECT(result == 0);
    expect_one(true, false);
  }
};
MODEL(queue_sleep_x_wake, 2, full)

// R8, R9: it is queued already.
struct queue_queued_x_wake : queue_sleep_x_wake {
  queue_queued_x_wake() {
    EXPECT(begin() == EINPROGRESS);
  }
  void run() override {
    wait();
  }
};
MODEL(queue_queued_x_wake, 2, full)

// C1, C2: what was done before the post is seen, also by the thread that goes on without a sleep.
struct queue_message : queue_queued_x_wake {
  VOLT_PLAIN(int) message;
  void thread(unsigned index) override {
    if (index == 1) message = 7;
    queue_semaphore::thread(index);
    if (index == 0) EXPECT(message == 7);
  }
};
MODEL(queue_message, 2, full)

// R5: the one that ends early leaves the permit to the other one.
struct queue_early : queue_semaphore {
  int early;
  queue_early(unsigned ends_, const struct timespec *until_, int early_, bool has_other = true)
      : queue_semaphore(ends_, until_), early(early_) {
    EXPECT(begin() == EINPROGRESS);
    if (has_other) begin_other();
  }
  void check() override {
    EXPECT(result == 0 || result == early);
    expect_one(result == 0, granted(&other));
  }
};

struct queue_deadline_x_wake : queue_early {
  queue_deadline_x_wake() : queue_early(0, &soon, ETIMEDOUT) {
  }
};
MODEL(queue_deadline_x_wake, 2, bounded)

struct queue_signal_x_wake : queue_early {
  queue_signal_x_wake() : queue_early(QUEUED_BY_SIGNAL, nullptr, EINTR) {
  }
  void run() override {
    queue_here()->event = QUEUE_SIGNAL;
    wait();
  }
};
MODEL(queue_signal_x_wake, 2, bounded)

// The handler of the signal posts: the thread has its own permit, or the other one.
struct queue_signal_posts : queue_signal_x_wake {
  uint32_t posts = 1;
  static void post(void *self) {
    queue_signal_posts *m = static_cast<queue_signal_posts *>(self);
    EXPECT(!queue_here()->is_blocked);
    m->posts += 1;
    volt_sem_release(&m->sem, 1);
  }
  void run() override {
    queue_here()->handler = post;
    queue_here()->arg = this;
    queue_signal_x_wake::run();
  }
  void check() override {
    EXPECT(result == 0 || result == EINTR);
    EXPECT((result == 0) + granted(&other) + volt_sem_available(&sem) == posts);
    EXPECT(granted(&other) || volt_sem_available(&sem) == 0);
    EXPECT(volt_load_relaxed(&object.on_the_way) == 0);
  }
};
MODEL(queue_signal_posts, 2, bounded)

struct queue_cancel_x_wake : queue_early {
  queue_cancel_x_wake() : queue_early(QUEUED_BY_CANCEL, nullptr, ECANCELED) {
  }
  void run() override {
    queue_here()->event = QUEUE_CANCEL;
    wait();
  }
};
MODEL(queue_cancel_x_wake, 2, bounded)

// R5, R9: both wait in this way, the first is cancelled; there is a post for each.
struct queue_two_x_wakes : queue_early {
  counted second;
  queued behind;
  int behind_result;
  queue_two_x_wakes()
      : queue_early(QUEUED_BY_CANCEL, nullptr, ECANCELED, false), behind_result(EINPROGRESS) {
    second.kind = BOOKS_SEMAPHORE;
    queued_begin(&behind, &second, 0, counted::take);
    queued_start(&behind, acquires, &sem);
    EXPECT(queued_poll(&behind) == EINPROGRESS);
  }
  void run() override {
    queue_here()->event = QUEUE_CANCEL;
    wait();
  }
  void thread(unsigned index) override {
    if (index == 1) volt_sem_release(&sem, 1);
    if (index == 2) {
      behind_result = queued_wait(&behind, CLOCK_MONOTONIC, nullptr);
      use_again(&behind);
    } else {
      queue_semaphore::thread(index);
    }
  }
  void check() override {
    EXPECT(behind_result == 0 && second.taken == 1);
    EXPECT((result == 0) + volt_sem_available(&sem) == 1);
  }
};
MODEL(queue_two_x_wakes, 3, bounded)

// R7: a thread that may be cancelled at any instruction, in what is no place for a cancel.
struct queue_async_x_wake : queue_semaphore {
  queue_async_x_wake() : queue_semaphore(0, &soon) {
  }
  void run() override {
    queue_here()->event = QUEUE_CANCEL;
    queue_here()->type = PTHREAD_CANCEL_ASYNCHRONOUS;
    acquire();
    EXPECT(queue_here()->type == PTHREAD_CANCEL_ASYNCHRONOUS);
    queue_here()->event = QUEUE_NOTHING;
    queue_here()->type = PTHREAD_CANCEL_DEFERRED;
  }
  void check() override {
    // It may be cancelled when it has the permit: then it keeps that.
    EXPECT(volt_sem_waiters(&sem) == 0);
    EXPECT(result == 0 || result == ECANCELED || result == ETIMEDOUT);
    EXPECT(volt_sem_available(&sem) + object.taken == 1);
  }
};
MODEL(queue_async_x_wake, 2, bounded)

// It looks for deadlocks in between, and keeps its place before the other one.
struct queue_attempt_x_wake : queue_semaphore {
  queue_attempt_x_wake() : queue_semaphore(QUEUED_BY_SIGNAL) {
    begin_both();
  }
  void run() override {
    queue_here()->event = QUEUE_SIGNAL; // not in an attempt
    result = queued_attempt(&q, &soon);
    EXPECT(result == 0 || result == ETIMEDOUT);
    queue_here()->event = QUEUE_NOTHING;
    if (result == ETIMEDOUT) result = EINPROGRESS;
    wait();
  }
  void check() override {
    EXPECT(result == 0);
    expect_one(true, false);
  }
};
MODEL(queue_attempt_x_wake, 2, bounded)

// R5, R7: a cancel in the attempt.
struct queue_attempt_x_cancel : queue_early {
  queue_attempt_x_cancel() : queue_early(QUEUED_BY_CANCEL | QUEUED_BY_SIGNAL, nullptr, ECANCELED) {
  }
  void run() override {
    queue_here()->event = QUEUE_CANCEL;
    result = queued_attempt(&q, &soon);
    if (result == ETIMEDOUT) result = EINPROGRESS;
    wait();
  }
};
MODEL(queue_attempt_x_cancel, 2, bounded)

// The child of a fork, which a thread makes in its sleep; another thread of the model is one of the child's.
struct child_of_fork {
  VOLT_ATOMIC(uint32_t) is_there;
  void comes(void (*fork)(void *), void *arg) {
    queue_here()->event = QUEUE_FORK;
    queue_here()->handler = fork;
    queue_here()->arg = arg;
  }
  void begins() {
    served_forks++;
    volt_store_release(&is_there, 1u);
    volt_futex_wake32_(&is_there, 1);
  }
  void await() {
    while (volt_load_acquire(&is_there) == 0) volt_futex_wait32_(&is_there, 0, VOLT_NO_DEADLINE);
  }
};

// R10: a handler forks, and returns in the child. There the semaphore is made anew, without permits and without waiters;
// a thread of the child posts. The wait begins anew.
struct queue_fork_x_wake : queue_semaphore {
  volt_sem fresh;
  child_of_fork child;
  explicit queue_fork_x_wake(unsigned ends_ = 0) : queue_semaphore(ends_) {
    begin_both();
  }
  static void fork(void *self) {
    queue_fork_x_wake *m = static_cast<queue_fork_x_wake *>(self);
    m->q.volts = &m->fresh; // in the child at the same address
    m->child.begins();
  }
  void run() override {
    child.comes(fork, this);
    wait();
  }
  void thread(unsigned index) override {
    if (index == 0) {
      queue_semaphore::thread(index);
      return;
    }
    child.await();
    volt_sem_release(&fresh, 1);
  }
  void check() override {
    EXPECT(result == (ends == 0 ? 0 : EINTR));
    EXPECT(volt_sem_waiters(&fresh) == 0);
    EXPECT((result == 0) + volt_sem_available(&fresh) == 1);
  }
};
MODEL(queue_fork_x_wake, 2, bounded)

// The same of a wait that signals end.
struct queue_fork_ends : queue_fork_x_wake {
  queue_fork_ends() : queue_fork_x_wake(QUEUED_BY_SIGNAL) {
  }
};
MODEL(queue_fork_ends, 2, bounded)

// ---- mutexes ----

// R9: each has it alone.
struct queue_lock_x_lock : model {
  volt_mutex m;
  served object[1];
  VOLT_PLAIN(int) inside;
  queue_lock_x_lock() : object() {
    queue_begin_model();
    object[0].kind = BOOKS_MUTEX;
  }
  void thread(unsigned) override {
    queued_lock(&m, object, nullptr);
    inside += 1;
    volt_mutex_unlock(&m);
  }
  void check() override {
    EXPECT(inside == 2 && !volt_mutex_is_locked(&m));
  }
};
MODEL(queue_lock_x_lock, 2, bounded)

// R8, R9: with a bypass a waiter is also woken to look. One caller may pass it, and no second one.
struct queue_bypass : model {
  enum { WAITS, HAS_IT };
  volt_mutex m;
  counted object;
  queued q;
  VOLT_PLAIN(int) passed; // by the holder of the mutex
  VOLT_PLAIN(int) stage;
  queue_bypass() : object() {
    queue_begin_model();
    object.kind = BOOKS_MUTEX;
    volt_mutex_init_bypass(&m, 1);
    EXPECT(volt_mutex_try_lock(&m) == VOLT_OK);
    queued_begin(&q, &object, 0, counted::take);
    queued_start(&q, queued_for_mutex, &m);
    EXPECT(queued_poll(&q) == EINPROGRESS);
  }
  void pass() {
    if (volt_mutex_try_lock(&m) != VOLT_OK) return;
    if (stage == WAITS) passed += 1;
    volt_mutex_unlock(&m);
  }
  void thread(unsigned index) override {
    if (index == 1) {
      volt_mutex_unlock(&m);
      pass();
      pass();
      return;
    }
    EXPECT(queued_wait(&q, CLOCK_MONOTONIC, nullptr) == 0);
    use_again(&q);
    stage = HAS_IT;
    volt_mutex_unlock(&m);
  }
  void check() override {
    EXPECT(stage == HAS_IT && passed <= 1 && object.taken == 1);
    EXPECT(!volt_mutex_is_locked(&m));
  }
};
MODEL(queue_bypass, 2, bounded)

// ---- conditions ----

// Thread 0 waits, as condition_calls.c does, and `other` behind it; thread 1 signals once.
struct queue_condition : model {
  volt_mutex m;
  volt_cond cond;
  served object;
  queued q;
  volt_waiter other;
  VOLT_PLAIN(int) inside; // how many have had the mutex
  VOLT_PLAIN(int) wakes;
  int result;

  queue_condition() : object(), result(EINPROGRESS) {
    queue_begin_model();
    object.kind = BOOKS_CONDITION;
    lock_at_once();
    queued_begin(&q, &object, QUEUED_BY_CANCEL, nullptr);
    queued_start(&q, nullptr, nullptr);
    volt_future_made(volt_cond_wait_future(&q.future, &cond, &m));
    EXPECT(queued_poll(&q) == EINPROGRESS);
  }
  void lock_at_once() {
    EXPECT(volt_mutex_try_lock(&m) == VOLT_OK);
  }
  // It has the mutex when it is woken, and gives it back at once.
  static void wake_other(void *self) {
    queue_condition *c = static_cast<queue_condition *>(self);
    c->wakes += 1;
    volt_mutex_unlock(&c->m);
  }
  void begin_other() {
    lock_at_once();
    EXPECT(volt_cond_wait_waiter(&cond, &m, &other, volt_waker{wake_other, this}) == VOLT_PENDING);
  }
  static void take_back(void *self) {
    queue_condition *c = static_cast<queue_condition *>(self);
    queued_lock(&c->m, &c->object, nullptr);
  }
  void wait_until(const struct timespec *until) {
    queue_push(take_back, this);
    result = queued_wait(&q, CLOCK_MONOTONIC, until);
    queue_pop();
    if (result != 0) take_back(this);
  }
  virtual void run() = 0;
  void thread(unsigned index) override {
    if (index == 1) {
      queued_lock(&m, &object, nullptr);
      inside += 1;
      volt_cond_signal(&cond);
    } else {
      if (!queue_run<queue_condition>(this, &queue_condition::run)) result = ECANCELED;
      use_again(&q);
      inside += 1; // it has the mutex in every case
    }
    volt_mutex_unlock(&m);
  }
  void expect_one() {
    EXPECT(inside == 2);
    EXPECT((result == 0) != granted(&other) && wakes == granted(&other));
    EXPECT(!volt_mutex_is_locked(&m));
  }
};

// R5: the signal wakes one of them, also if thread 0 is cancelled.
struct queue_condition_x_cancel : queue_condition {
  queue_condition_x_cancel() {
    begin_other();
  }
  void run() override {
    queue_here()->event = QUEUE_CANCEL;
    wait_until(nullptr);
  }
  void check() override {
    EXPECT(result == 0 || result == ECANCELED);
    expect_one();
  }
};
MODEL(queue_condition_x_cancel, 2, bounded)

// R5: the same with a deadline.
struct queue_condition_x_deadline : queue_condition_x_cancel {
  void run() override {
    wait_until(&soon);
  }
  void check() override {
    EXPECT(result == 0 || result == ETIMEDOUT);
    expect_one();
  }
};
MODEL(queue_condition_x_deadline, 2, bounded)

// R10: in the child it ends, as if woken for nothing, and the mutex is taken back.
struct queue_condition_x_fork : queue_condition {
  child_of_fork child;
  static void fork(void *self) {
    queue_condition_x_fork *c = static_cast<queue_condition_x_fork *>(self);
    volt_cond_init(&c->cond); // child.c
    c->child.begins();
  }
  void run() override {
    child.comes(fork, this);
    wait_until(nullptr);
  }
  void thread(unsigned index) override {
    if (index == 0) {
      queue_condition::thread(index);
    } else {
      child.await();
      queued_lock(&m, &object, nullptr);
      inside += 1;
      volt_mutex_unlock(&m);
    }
  }
  void check() override {
    EXPECT(result == ECHILD && inside == 2);
  }
};
MODEL(queue_condition_x_fork, 2, bounded)
