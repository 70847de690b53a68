/* async_stress.c: nested async functions that move from thread to thread between two polls.
 *
 * There are more functions than threads. They lie in a ring; a thread takes one out, polls it with
 * its own ctx, and puts it back for whoever comes next; or blocks on it; or gives it up: at once,
 * by a deadline, or by ctx->cancel. Thread 0 only polls, so who is blocked is waiting for somebody
 * who goes on, and a wake that is lost leaves a thread blocked for ever, which the watchdog sees.
 *
 * The books: permits and the lock are conserved, and each time that a ctx was registered it has had
 * one wake or one drop when all functions have ended. */
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "ledger.h"

enum { PERMITS = 4, MOST = 3, TURNS = 3, JOBS_MORE = 6, JOBS_MAX = STRESS_MAX_THREADS + JOBS_MORE };

/* Lock, hold it over a yield, unlock. */
typedef struct inner {
  volt_async async;
  volt_future lock;
  bool has_locked;
} inner;

/* Some permits, and then an inner one; a few times. */
typedef struct job {
  volt_async async;
  volt_future permits;
  inner inner;
  uint32_t want;
  uint32_t has;
  uint32_t turn;
} job;

/* A thread's. They outlive every function. */
typedef struct poller {
  volt_ctx ctx;
  VOLT_ATOMIC(uint32_t) told; /* wakes and drops */
} poller;

static poller pollers[STRESS_MAX_THREADS];

static struct {
  volt_sem sem;
  volt_mutex mutex;
  ledger permits;
  uint64_t locked; /* under the mutex: how often, by the functions and by the threads */
  VOLT_ATOMIC(uint64_t) counted;

  volt_sem filled; /* how many lie in the ring */
  volt_mutex ring_lock;
  job *ring[JOBS_MAX];
  uint32_t first;
  uint32_t count;
  VOLT_ATOMIC(uint32_t) working; /* threads that are not at their end, but for thread 0 */
} shared;

/* ---- the functions ---- */

static int inner_poll(volt_async *a, volt_ctx *ctx) {
  inner *self = volt_container_of(a, inner, async);
  VOLT_ASYNC_BEGIN(self);
  VOLT_AWAIT(self, volt_mutex_lock_future(&self->lock, &shared.mutex));
  self->has_locked = true;
  shared.locked += 1; /* not atomic: the lock must do */
  volt_fetch_add_relaxed(&shared.counted, 1);
  VOLT_YIELD(self);
  shared.locked += 1;
  volt_fetch_add_relaxed(&shared.counted, 1);
  VOLT_FINALLY(self);
  if (self->has_locked) volt_mutex_unlock(&shared.mutex);
  VOLT_ASYNC_END(self);
}

static void give_permits(job *self) {
  ledger_give(&shared.permits, self->has);
  volt_sem_release(&shared.sem, self->has);
  self->has = 0;
}

static int job_poll(volt_async *a, volt_ctx *ctx) {
  job *self = volt_container_of(a, job, async);
  VOLT_ASYNC_BEGIN(self);
  for (self->turn = 0; self->turn < TURNS; self->turn++) {
    VOLT_AWAIT(self, volt_sem_acquire_future(&self->permits, &shared.sem, self->want));
    self->has = self->want;
    ledger_take(&shared.permits, self->has);
    self->inner.has_locked = false;
    VOLT_AWAIT(self, volt_async_future(&self->inner.async, inner_poll));
    give_permits(self);
  }
  VOLT_FINALLY(self);
  if (self->has) give_permits(self);
  VOLT_ASYNC_END(self);
}

static job *new_job(uint32_t want) {
  job *j = (job *)malloc(sizeof *j);
  STRESS_CHECK(j != NULL);
  memset((void *)j, 0xee, sizeof *j);
  j->want = want;
  j->has = 0;
  volt_future_made(volt_async_future(&j->async, job_poll));
  return j;
}

static void end_job(job *j) {
  STRESS_CHECK(j->has == 0);
  memset((void *)j, 0xa5, sizeof *j);
  free(j);
}

/* ---- the ring ---- */

static void put(job *j) {
  STRESS_CHECK(volt_mutex_lock_until(&shared.ring_lock, VOLT_NO_DEADLINE) == VOLT_OK);
  STRESS_CHECK(shared.count < JOBS_MAX);
  shared.ring[(shared.first + shared.count) % JOBS_MAX] = j;
  shared.count += 1;
  volt_mutex_unlock(&shared.ring_lock);
  volt_sem_release(&shared.filled, 1);
}

static job *take(void) {
  STRESS_CHECK(volt_sem_acquire(&shared.filled, 1) == VOLT_OK);
  STRESS_CHECK(volt_mutex_lock_until(&shared.ring_lock, VOLT_NO_DEADLINE) == VOLT_OK);
  job *j = shared.ring[shared.first];
  shared.first = (shared.first + 1) % JOBS_MAX;
  shared.count -= 1;
  volt_mutex_unlock(&shared.ring_lock);
  return j;
}

/* ---- the threads ---- */

static void tell(void *ctx) {
  volt_fetch_add_relaxed(&((poller *)ctx)->told, 1); /* a count; the round's end orders it */
}

static int poll_once(stress_worker *w, job *j, uint32_t cancel) {
  poller *p = &pollers[w->index];
  p->ctx.cancel = cancel;
  p->ctx.yield = false;
  p->ctx.budget = stress_below(w, 4); /* 0, too: to let others run is always allowed */
  return volt_future_poll_ctx(&j->async.future, &p->ctx);
}

static int go_on_with(stress_worker *w, job *j) {
  volt_future *f = &j->async.future;
  uint32_t way = w->index == 0 ? 31 : stress_below(w, 32);
  if (way < 2) return volt_future_wait(f);
  if (way < 4) return volt_future_wait_until(f, volt_deadline_ns(stress_below(w, 50000)));
  if (way == 4) volt_future_cancel(f);
  return poll_once(w, j, way == 5 ? VOLT_CTX_CANCEL_ONCE : VOLT_CTX_GO_ON);
}

static void account_for(stress_worker *w, job *j, int result) {
  STRESS_CHECK(result == VOLT_OK || result == VOLT_ECANCELED || result == VOLT_ETIMEDOUT);
  w->acquired += result == VOLT_OK;
  w->gave_up += result != VOLT_OK;
  end_job(j);
}

/* Thread 0 goes on until nobody else does: they may be blocked on what it must bring to its end. */
static bool is_over(const stress_worker *w) {
  return w->index == 0 ? volt_load_acquire(&shared.working) == 0 : stress_stopping();
}

static void body(stress_worker *w, void *arg) {
  (void)arg;
  while (!is_over(w)) {
    job *j = take();
    int result = go_on_with(w, j);
    if (result != VOLT_PENDING) {
      account_for(w, j, result);
      j = new_job(1 + stress_below(w, MOST));
    }
    put(j);
    /* when the others come to their end, what counts is their progress */
    if (!stress_stopping()) stress_progress(w, result == VOLT_PENDING ? "polled" : "ended");
    stress_dawdle(w);
  }
  if (w->index != 0) volt_fetch_add_release(&shared.working, UINT32_MAX);
}

static void begin_round(unsigned threads) {
  volt_sem_init(&shared.sem, PERMITS);
  volt_mutex_init(&shared.mutex);
  volt_mutex_init(&shared.ring_lock);
  volt_sem_init(&shared.filled, 0);
  ledger_init(&shared.permits, PERMITS);
  shared.locked = 0;
  volt_store_relaxed(&shared.working, threads - 1);
  volt_store_relaxed(&shared.counted, 0); /* published by the threads' start, as all of it */
  for (uint32_t i = 0; i < threads; i++) {
    volt_waker waker = {tell, &pollers[i]};
    pollers[i].ctx = (volt_ctx)VOLT_CTX_INIT(waker);
    pollers[i].ctx.drop = tell;
    pollers[i].ctx.budget = 0;
    volt_store_relaxed(&pollers[i].told, 0);
  }
  for (uint32_t i = 0; i < threads + JOBS_MORE; i++) put(new_job(1 + i % MOST));
}

/* Nobody runs any more: all ends. */
static void end_round(unsigned threads) {
  while (shared.count > 0) {
    job *j = take();
    volt_future_cancel(&j->async.future);
    end_job(j);
  }
  STRESS_CHECK(shared.locked == volt_load_relaxed(&shared.counted));
  STRESS_CHECK(ledger_held(&shared.permits) == 0);
  STRESS_CHECK(volt_sem_available(&shared.sem) == PERMITS);
  STRESS_CHECK(!volt_mutex_is_locked(&shared.mutex));
  for (uint32_t i = 0; i < threads; i++) {
    STRESS_CHECK(volt_load_relaxed(&pollers[i].told) == pollers[i].ctx.registered);
  }
  volt_sem_destroy(&shared.sem);
  volt_sem_destroy(&shared.filled);
  volt_mutex_destroy(&shared.mutex);
  volt_mutex_destroy(&shared.ring_lock);
}

int main(void) {
  stress_begin("async", NULL, NULL);
  for (unsigned turn = 0; stress_time_left(); turn++) {
    unsigned threads = 2 + turn % (stress_threads() - 1);
    begin_round(threads);
    stress_round(threads, 30000000, body, NULL);
    end_round(threads);
  }
  return stress_end();
}
