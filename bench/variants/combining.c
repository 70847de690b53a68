/* combining.c: the semaphore that stands on combine.c: what each operation does in which state of
 * the word. The invariants and races are in combine.c.
 *
 * Neither BUSY nor QUEUED: permits come and go by one CAS. QUEUED alone: become the combiner. BUSY:
 * leave the work to the combiner. destroy() waits (D1) for the last of U1, F1, N1, B1.
 *
 * Labels: combine */
#include "combining.h"

#include "atomic_more.h"
#include "combine.h"
#include "core/os/check.h"
#include "core/park/spin.h"

#define QUEUED VOLT_COMBINING_QUEUED_
#define BUSY VOLT_COMBINING_BUSY_
#define CLOSED VOLT_COMBINING_CLOSED_
#define PERMITS VOLT_COMBINING_PERMITS_
#define PERMITS_IN VOLT_COMBINING_PERMITS_IN_
#define DIRTY VOLT_COMBINING_DIRTY_
#define DIRTY_OF VOLT_COMBINING_DIRTY_OF_
#define NAME VOLT_COMBINING_NAME_

int volt_combining_sem_try_acquire_slow_(volt_combining_sem *sem, uint32_t n) {
  volt_request_ r;
  uint64_t word;
  r.what = VOLT_REQUEST_TAKE_;
  r.n = n;
  r.waiter = NULL;
  for (;;) {
    if (volt_combining_sem_take_(sem, n, &word)) return VOLT_OK;
    if ((word & CLOSED) || PERMITS_IN(word) < n) return volt_refused_(n, (word & CLOSED) != 0);
    uint32_t answer = volt_combining_sem_ask_(sem, &r); /* R5 */
    if (answer != VOLT_ANSWER_ASK_AGAIN_) return answer == VOLT_ANSWER_YES_ ? VOLT_OK : VOLT_EAGAIN;
  }
}

static int combining_acquire(volt_combining_sem *sem, volt_waiter *w, uint32_t n,
                             volt_waker waker) {
  if (n > VOLT_SEM_MAX) return VOLT_EINVAL;
  if (n == 0) return VOLT_OK;
  volt_waiter_prepare_(NAME, sem, w, n, waker);
  volt_combiner_ t;
  uint64_t word = volt_load_relaxed(&sem->word); /* a guess: the CAS decides */
  int result = VOLT_PENDING;
  for (;;) {
    if (word & CLOSED) {
      /* combine:C1 <- combine:X1, combine:U1: a thread that sees CLOSED sees what came before
       * close() */
      (void)volt_load_acquire(&sem->word);
      result = VOLT_ECLOSED;
      break;
    }
    if (word & BUSY) {
      volt_combining_sem_submit_(sem, w);
      return VOLT_PENDING;
    }
    if (!(word & QUEUED) && PERMITS_IN(word) >= n) {
      result = VOLT_OK;
      /* combine:T1 <- combine:F1, combine:U1: permits carry their releasers' past */
      if (volt_cas_acquire(&sem->word, &word, word - PERMITS(n))) break;
    } else if (volt_combining_begin_(&t, sem, &word)) {
      volt_variant_fifo_push_back_(&sem->fifo, w);
      volt_combiner_run_(&t);
      return VOLT_PENDING;
    }
  }
  volt_store_relaxed(&w->state, VOLT_WAITER_UNUSED_); /* never linked: its owner's alone */
  return result;
}

int volt_combining_sem_acquire_waiter_slow_(volt_combining_sem *sem, volt_waiter *w, uint32_t n,
                                            volt_waker waker) {
  return combining_acquire(sem, w, n, waker);
}

int volt_combining_sem_acquire_until_slow_(volt_combining_sem *sem, uint32_t n,
                                           uint64_t deadline_ns) {
  volt_waiter w = VOLT_WAITER_INIT;
  volt_parker parker = VOLT_PARKER_INIT;
  int result = combining_acquire(sem, &w, n, volt_parker_waker(&parker));
  if (result != VOLT_PENDING) return result;
  if (volt_park_until(&parker, 1, deadline_ns) == VOLT_ETIMEDOUT) {
    if (volt_combining_sem_cancel(sem, &w)) return VOLT_ETIMEDOUT;
    volt_park_until(&parker, 1, VOLT_NO_DEADLINE); /* its wake is on the way to this parker */
  }
  return volt_waiter_result(&w);
}

/* Ask the combiner for something that is possible only while *w waits. Returns false if *w has
 * completed. */
static bool combining_ask_of_waiter(volt_combining_sem *sem, volt_request_ *r, uint32_t what,
                                    volt_waiter *w) {
  VOLT_CHECK((void *)w->queue == (void *)sem, NAME, "waiter %p is queued on %p, not on %p",
             (void *)w, (void *)w->queue, (void *)sem);
  r->what = what;
  r->waiter = w;
  if (volt_combining_sem_ask_(sem, r) == VOLT_ANSWER_YES_) return true;
  volt_waiter_await_(w); /* R4: claimed, and no foreign code runs before its grant */
  return false;
}

bool volt_combining_sem_cancel(volt_combining_sem *sem, volt_waiter *w) {
  int result = volt_waiter_result(w);
  if (result != VOLT_PENDING) return result == VOLT_ECANCELED;
  volt_request_ r;
  if (!combining_ask_of_waiter(sem, &r, VOLT_REQUEST_CANCEL_, w)) return false;
  volt_store_relaxed(&w->state, VOLT_WAITER_UNUSED_); /* unlinked: its owner's alone again */
  return true;
}

bool volt_combining_sem_set_waker(volt_combining_sem *sem, volt_waiter *w, volt_waker waker) {
  if (volt_waiter_result(w) != VOLT_PENDING) return false;
  volt_request_ r;
  r.wake = waker.wake;
  r.ctx = waker.ctx;
  return combining_ask_of_waiter(sem, &r, VOLT_REQUEST_SET_WAKER_, w);
}

void volt_combining_sem_release_slow_(volt_combining_sem *sem, uint32_t n) {
  if (n == 0) return;
  volt_combiner_ t;
  uint64_t word = volt_load_relaxed(&sem->word); /* a guess: the CAS decides */
  for (;;) {
    volt_check_excess_(NAME, sem, n, PERMITS_IN(word));
    if ((word & (QUEUED | BUSY)) != QUEUED) {
      /* combine:F1 -> combine:T1, combine:L1, combine:N2: permits, and what is granted with them,
       * carry their releasers' past; combine:F1 -> combine:D1: this is the last access to *sem */
      if (volt_cas_release(&sem->word, &word, word + PERMITS(n))) return;
    } else if (volt_combining_begin_(&t, sem, &word)) {
      break;
    }
  }
  volt_combiner_give_(&t, n);
  volt_combiner_run_(&t);
}

void volt_combining_sem_close(volt_combining_sem *sem) {
  volt_combiner_ t;
  uint64_t word = volt_load_relaxed(&sem->word); /* a guess: the CAS decides */
  for (;;) {
    if ((word & (QUEUED | BUSY)) != QUEUED) {
      /* combine:X1 -> combine:C1, combine:N2: a thread that sees CLOSED sees what came before
       * close() */
      if (volt_cas_release(&sem->word, &word, word | CLOSED)) return;
    } else if (volt_combining_begin_(&t, sem, &word)) {
      break;
    }
  }
  t.closed = true; /* U1 sets CLOSED */
  volt_combiner_run_(&t);
}

/* ---- life and inspection ---- */

void volt_combining_sem_init(volt_combining_sem *sem, uint32_t permits) {
  VOLT_CHECK(permits <= VOLT_SEM_MAX, NAME, "%p: %u permits, at most %u", (void *)sem, permits,
             VOLT_SEM_MAX);
  volt_store_relaxed(&sem->word, PERMITS(permits)); /* not shared yet */
  volt_store_relaxed(&sem->inbox, (volt_waiter *)NULL);
  sem->fifo.head = NULL;
  sem->fifo.tail = NULL;
  sem->fifo.waiters = 0;
}

void volt_combining_sem_destroy(volt_combining_sem *sem) {
  for (unsigned spins = 0;;) {
    /* combine:D1 <- combine:U1, combine:F1, combine:N1, combine:B1: the semaphore ends after the
     * last access of every other operation */
    uint64_t word = volt_load_acquire(&sem->word);
    VOLT_CHECK((word & (QUEUED | BUSY)) != QUEUED, NAME,
               "%p: destroyed while %u waiters are queued", (void *)sem,
               volt_combining_sem_waiters(sem));
    if (!(word & BUSY) && DIRTY_OF(word) == 0) return;
    volt_pause_(&spins); /* R3, R7 */
  }
}

bool volt_combining_sem_is_closed(volt_combining_sem *sem) {
  /* combine:C1 <- combine:X1, combine:U1: a thread that sees CLOSED sees what came before
   * close() */
  return (volt_load_acquire(&sem->word) & CLOSED) != 0;
}

static uint32_t combining_count(volt_combining_sem *sem, uint32_t what) {
  volt_request_ r;
  r.what = what;
  r.waiter = NULL;
  return volt_combining_sem_ask_(sem, &r);
}

uint32_t volt_combining_sem_available(volt_combining_sem *sem) {
  uint64_t word = volt_load_relaxed(&sem->word); /* a snapshot */
  if (PERMITS_IN(word) == 0 || !(word & (QUEUED | BUSY))) return PERMITS_IN(word);
  return combining_count(sem, VOLT_REQUEST_PERMITS_); /* R5 */
}

uint32_t volt_combining_sem_waiters(volt_combining_sem *sem) {
  uint64_t word = volt_load_relaxed(&sem->word); /* a snapshot */
  return word & (QUEUED | BUSY) ? combining_count(sem, VOLT_REQUEST_WAITERS_) : 0;
}
