/* queue.c: a thread waits in the queue of one of volt's objects, for a future.
 *
 * Why not volt's own blocking calls: a wait may have to end by a cancel or by a signal's handler, its deadline may be
 * on CLOCK_REALTIME, and a thread that only looks for deadlocks in between must not lose its place.
 *
 * Races
 *   R5  Interleaving: a wake meets a cancel (glibc 2.36 loses a semaphore's post like that), a deadline, or a
 *       signal. Prevented by: what the sleep returns decides nothing. The future is asked once more, or cancelled,
 *       under the object's own lock; what it was granted is given back, and goes to the next waiter.
 *   R7  Interleaving: a thread is cancelled asynchronously while it is queued, and its stack goes while the queue
 *       points there. Prevented by: from queued_begin() on it is cancelled only in queued_sleep(), and the handler of
 *       queued_wait() takes it out of the queue.
 *   R8  Interleaving: the future is ready, and the thread returns; the wake comes then, and finds another frame.
 *       Prevented by: each registration has one wake or one drop, and queued_settle() waits for as many. (A thread that
 *       leaves before it was woken finds that. One that polls was woken, and has none to wait for.)
 *   R9  Interleaving: the thread looks at `came`; the wake comes; the thread sleeps. Prevented by: bit 0 is set by a
 *       compare-and-swap on what the thread has seen, and the futex compares the word again.
 *   R10 Interleaving: a handler forks while the thread sleeps in a queue, and returns in the child, too, whose queues
 *       were made anew: the thread is in none. Prevented by: after each sleep it asks whether that was so, and then begins
 *       its wait anew; one for a condition ends, as if woken for nothing. (Not prevented: a handler that forks in the few
 *       instructions of a change of the queue. Of semaphores, signals are blocked there: R6.) */
#define _GNU_SOURCE 1 /* as a C++ compiler has it, for the models */
#include "serve/queue.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As in <linux/futex.h>. */
enum { QUEUED_WAKE = 1 | 128, QUEUED_WAIT = 9 | 128, QUEUED_REALTIME = 256 };

/* ---- wakes ---- */

static void queued_wake(void *ctx) {
  struct queued *q = (struct queued *)ctx;
  struct served *s = q->object;
  VOLT_ATOMIC(uint32_t) *came = &q->came;
  int error = errno;
  q->was_woken = true;
  if (s->kind == BOOKS_SEMAPHORE) volt_fetch_add_relaxed(&s->on_the_way, 1); /* a fork alone asks */
  /* queue:C2 -> queue:C1: the thread sees what was done before; the last access to *q */
  if (volt_fetch_add_release(came, 2) & 1)
    (void)syscall(SYS_futex, came, QUEUED_WAKE, 1, NULL, NULL, 0);
  errno = error;
}

/* A registration of this thread's is void: it asks for the number itself. */
static void queued_drop(void *ctx) {
  struct queued *q = (struct queued *)ctx;
  volt_fetch_add_relaxed(&q->came,
                         2); /* by the thread that reads it, or R8 waits for the number alone */
}

/* ---- sleeps ---- */

/* In a function of its own: when a thread is cancelled at any instruction of it, its caller's handlers run. */
static __attribute__((noinline)) int queued_sleep(struct queued *q, uint32_t seen, clockid_t clock,
                                                  const struct timespec *until, bool may_cancel) {
  int before, program_error = errno;
  int operation = QUEUED_WAIT | (clock == CLOCK_REALTIME ? QUEUED_REALTIME : 0);
  if (may_cancel) {
    pthread_setcancelstate(q->state,
                           &before); /* first: only the other call says that it was cancelled */
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &before);
  }
  long result = syscall(SYS_futex, &q->came, operation, seen, until, NULL, UINT_MAX);
  int error = result == 0 ? 0 : errno;
  if (may_cancel) {
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &before);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  }
  errno = program_error; /* glibc's calls leave it alone */
  return error;
}

/* R8 */
static void queued_settle(struct queued *q) {
  for (;;) {
    /* queue:C1 <- queue:C2: no wake uses *q any more */
    uint32_t came = volt_load_acquire(&q->came);
    if (came >> 1 == q->due) return;
    /* R9; relaxed, no data: the futex compares it again */
    if (!(came & 1) && !volt_cas_relaxed(&q->came, &came, came | 1)) continue;
    (void)queued_sleep(q, came | 1, CLOCK_MONOTONIC, NULL, false);
  }
}

/* ---- in and out of the queue ---- */

void queued_begin(struct queued *q, struct served *object, unsigned ends,
                  void (*taken)(struct served *object)) {
  q->object = object;
  q->taken = taken;
  q->start = NULL;
  q->volts = NULL;
  volt_store_relaxed(&q->came, 0); /* no other thread knows of it yet */
  q->due = q->seen = 0;
  q->was_woken = q->is_masked = false;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &q->state);
  pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &q->type);
  q->ends = ends | (q->type == PTHREAD_CANCEL_ASYNCHRONOUS ? QUEUED_BY_CANCEL : 0);
}

void queued_start(struct queued *q, queued_starts *start, void *volts) {
  q->start = start;
  q->volts = volts;
  q->forks = served_forks;
  if (start) start(q, volts);
}

/* R10 */
static bool queued_is_in_child(const struct queued *q) {
  served_check_fork();
  return q->forks != served_forks;
}

static void queued_start_again(struct queued *q) {
  volt_store_relaxed(&q->came, 0); /* there is no other thread */
  q->due = q->seen = 0;
  q->was_woken = false;
  queued_start(q, q->start, q->volts);
}

void queued_for_mutex(struct queued *q, void *mutex) {
  volt_future_made(volt_mutex_lock_future(&q->future, (volt_mutex *)mutex));
}

void queued_end(struct queued *q) {
  int before;
  pthread_setcancelstate(q->state, &before);
  pthread_setcanceltype(q->type, &before);
}

/* Handlers that use the object wait until its queue has been changed. */
static void queued_block(const struct queued *q, sigset_t *before) {
  sigset_t all;
  if (!(q->ends & QUEUED_BY_SIGNAL)) return;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, before);
}

static void queued_unblock(const struct queued *q, const sigset_t *before) {
  if (q->ends & QUEUED_BY_SIGNAL) pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* The wake of a semaphore has been seen by its thread. */
static void queued_arrives(struct queued *q) {
  if (q->object->kind != BOOKS_SEMAPHORE || !q->was_woken) return;
  uint32_t left = volt_load_relaxed(&q->object->on_the_way);
  while (left > 0 && !volt_cas_relaxed(&q->object->on_the_way, &left, left - 1)) {
    /* relaxed, no data: the number alone counts; a fork may have made it 0 */
  }
}

static int queued_ask(struct queued *q) {
  const volt_waker waker = {queued_wake, q};
  volt_ctx ctx = VOLT_CTX_INIT(waker);
  ctx.drop = queued_drop;
  int result = volt_future_poll_ctx(&q->future, &ctx);
  q->due += ctx.registered;
  return result;
}

int queued_poll(struct queued *q) {
  sigset_t before;
  bool is_granted = q->due > 0 && volt_waiter_result(&q->future.waiter) != VOLT_PENDING;
  q->seen =
      volt_load_relaxed(&q->came) >> 1;      /* a wake that comes later has the thread poll again */
  if (!is_granted) queued_block(q, &before); /* else it does not come to the queue */
  int result = queued_ask(q);
  if (!is_granted) queued_unblock(q, &before);
  if (result == VOLT_PENDING) return EINPROGRESS;
  queued_settle(q);
  queued_arrives(q);
  if (q->taken) q->taken(q->object);
  queued_end(q);
  return 0;
}

static void queued_leave_queue(struct queued *q) {
  sigset_t before;
  queued_block(q, &before);
  volt_future_cancel(&q->future);
  queued_unblock(q, &before);
  queued_settle(q);
  queued_arrives(q);
}

void queued_leave(struct queued *q) {
  if (!queued_is_in_child(q)) queued_leave_queue(q);
  if (q->is_masked) pthread_sigmask(SIG_SETMASK, &q->mask, NULL);
  queued_end(q);
}

static void queued_withdraw(void *queued) {
  queued_leave((struct queued *)queued);
}

/* Sleep until it is woken, and ask. Returns 0, or why the sleep has ended; the future is still queued then. */
static int queued_sleep_until(struct queued *q, clockid_t clock, const struct timespec *until) {
  for (;;) {
    if (__builtin_expect(queued_is_in_child(q), 0)) {
      if (!q->start) return ECHILD;
      queued_start_again(q);
      if (queued_poll(q) == 0) return 0;
    }
    /* queue:C1 <- queue:C2: what the granting thread did before is seen */
    uint32_t came = volt_load_acquire(&q->came);
    if (came >> 1 != q->seen) {
      if (queued_poll(q) == 0) return 0;
      continue;
    }
    /* R9; relaxed, no data: the futex compares it again */
    if (!(came & 1) && !volt_cas_relaxed(&q->came, &came, came | 1)) continue;
    int error = queued_sleep(q, came | 1, clock, until, q->ends & QUEUED_BY_CANCEL);
    bool is_woken = volt_load_relaxed(&q->came) >> 1 != q->seen; /* acquired above */
    if (is_woken) continue;
    if (error == ETIMEDOUT || (error == EINVAL && until))
      return ETIMEDOUT; /* before 1970: long ago */
    if (error == EINTR && (q->ends & QUEUED_BY_SIGNAL) && !q->is_masked) return EINTR;
  }
}

int queued_wait(struct queued *q, clockid_t clock, const struct timespec *until) {
  int result;
  pthread_cleanup_push(queued_withdraw, q);
  result = queued_sleep_until(q, clock, until);
  pthread_cleanup_pop(0);
  if (result != 0) queued_leave(q);
  return result;
}

int queued_attempt(void *queued, const struct timespec *until) {
  struct queued *q = (struct queued *)queued;
  int result;
  queued_block(q, &q->mask);
  q->is_masked = q->ends & QUEUED_BY_SIGNAL;
  pthread_cleanup_push(queued_withdraw, q);
  result = queued_sleep_until(q, CLOCK_MONOTONIC, until);
  pthread_cleanup_pop(0);
  queued_unblock(q, &q->mask);
  q->is_masked = false;
  return result;
}

void queued_lock(volt_mutex *m, struct served *object, void (*taken)(struct served *object)) {
  int state;
  struct queued q;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
  queued_begin(&q, object, 0, taken);
  queued_start(&q, queued_for_mutex, m);
  if (queued_poll(&q) == EINPROGRESS) (void)queued_wait(&q, CLOCK_MONOTONIC, NULL);
  pthread_setcancelstate(state, &state);
}
