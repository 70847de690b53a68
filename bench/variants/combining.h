/* combining.h: the semaphore as a batched critical section, without any lock: a thread that finds
 * the FIFO free works on it, for itself and for all threads that come meanwhile.
 *
 * Function by function the contract of volt/semaphore.h. What differs: it is not part of the
 * library, so it has no symbol there; it has no futures. Only volt_combining_sem_destroy() makes
 * its memory free: a thread that has queued may still have to lower DIRTY after its waiter was
 * granted, and destroy waits for that. A release or a close that comes while another thread works
 * on the FIFO leaves the rest to that thread: it returns before the waiters it serves are granted,
 * and their wakers run on that thread. A try_acquire that then finds permits in the word asks that
 * thread, and waits for its answer.
 *
 * The word:
 *   bit 0       QUEUED   the FIFO is not empty: no permit is free
 *   bit 1       BUSY     one thread, the combiner, has the FIFO to itself
 *   bit 2       CLOSED   no waiter will be queued again
 *   bits 8-39   permits  free, if neither QUEUED nor BUSY; else left for the waiters
 *   bits 40-63  DIRTY    a signed number. While BUSY, every thread that has pushed something on the
 *                        inbox lowers it: if it has changed, there is news. Otherwise it is the
 *                        number of threads that have still to lower it: because what they pushed
 *                        was found before they did so, or because they are waking a full batch and
 *                        will come back
 * Neither QUEUED nor BUSY: any thread changes it, by CAS. QUEUED: a thread that changes more than
 * DIRTY sets BUSY. BUSY: other threads add permits, set CLOSED and lower DIRTY; the combiner ends
 * it by a CAS on the word it has seen last. A wrong value of any of them is not tolerated.
 *
 * Labels: combine */
#ifndef VOLT_VARIANTS_COMBINING_H
#define VOLT_VARIANTS_COMBINING_H

#include "state.h"

#define VOLT_COMBINING_QUEUED_ UINT64_C(1)
#define VOLT_COMBINING_BUSY_ UINT64_C(2)
#define VOLT_COMBINING_CLOSED_ UINT64_C(4)
#define VOLT_COMBINING_PERMITS_(n) ((uint64_t)(n) << 8)
#define VOLT_COMBINING_PERMITS_IN_(word) ((uint32_t)((word) >> 8))

/* Members are private. */
typedef struct volt_combining_sem {
  VOLT_ATOMIC(uint64_t) word;
  VOLT_ATOMIC(volt_waiter *) inbox; /* a stack of waiters and requests, newest first */
  volt_variant_fifo_ fifo;          /* the combiner's alone */
} volt_combining_sem;

/* permits: 0..VOLT_SEM_MAX, not checked. */
#define VOLT_COMBINING_SEM_INIT(permits)      \
  {                                           \
    VOLT_COMBINING_PERMITS_(permits), NULL, { \
      NULL, NULL, 0                           \
    }                                         \
  }

VOLT_BEGIN_DECLS

void volt_combining_sem_init(volt_combining_sem *sem, uint32_t permits);
void volt_combining_sem_destroy(volt_combining_sem *sem);

int volt_combining_sem_try_acquire_slow_(volt_combining_sem *sem, uint32_t n);
int volt_combining_sem_acquire_waiter_slow_(volt_combining_sem *, volt_waiter *, uint32_t n,
                                            volt_waker);
int volt_combining_sem_acquire_until_slow_(volt_combining_sem *, uint32_t n, uint64_t deadline_ns);
void volt_combining_sem_release_slow_(volt_combining_sem *, uint32_t n);

/* Take n free permits. Returns false if there were too few, and in *word the word that said so. */
static inline bool volt_combining_sem_take_(volt_combining_sem *sem, uint32_t n, uint64_t *word) {
  const uint64_t refuse = VOLT_COMBINING_QUEUED_ | VOLT_COMBINING_BUSY_ | VOLT_COMBINING_CLOSED_;
  *word = volt_load_relaxed(&sem->word); /* a guess: the CAS decides */
  while (!(*word & refuse) && VOLT_COMBINING_PERMITS_IN_(*word) >= n) {
    /* combine:T1 <- combine:F1, combine:U1: permits carry their releasers' past */
    if (volt_cas_weak_acquire(&sem->word, word, *word - VOLT_COMBINING_PERMITS_(n))) return true;
  }
  return false;
}

static inline int volt_combining_sem_try_acquire(volt_combining_sem *sem, uint32_t n) {
  uint64_t word;
  if (VOLT_LIKELY(volt_combining_sem_take_(sem, n, &word)) || n == 0) return VOLT_OK;
  /* R5: permits in a word that is BUSY or QUEUED may be more than the waiters need */
  if (VOLT_COMBINING_PERMITS_IN_(word) >= n) return volt_combining_sem_try_acquire_slow_(sem, n);
  return volt_refused_(n, (word & VOLT_COMBINING_CLOSED_) != 0);
}

static inline int volt_combining_sem_acquire_waiter(volt_combining_sem *sem, volt_waiter *w,
                                                    uint32_t n, volt_waker waker) {
  uint64_t word;
  if (VOLT_LIKELY(volt_combining_sem_take_(sem, n, &word))) return VOLT_OK;
  return volt_combining_sem_acquire_waiter_slow_(sem, w, n, waker);
}

static inline int volt_combining_sem_acquire_until(volt_combining_sem *sem, uint32_t n,
                                                   uint64_t deadline_ns) {
  uint64_t word;
  if (VOLT_LIKELY(volt_combining_sem_take_(sem, n, &word))) return VOLT_OK;
  return volt_combining_sem_acquire_until_slow_(sem, n, deadline_ns);
}

bool volt_combining_sem_cancel(volt_combining_sem *sem, volt_waiter *w);
bool volt_combining_sem_set_waker(volt_combining_sem *sem, volt_waiter *w, volt_waker waker);

static inline void volt_combining_sem_release(volt_combining_sem *sem, uint32_t n) {
  const uint64_t both = VOLT_COMBINING_QUEUED_ | VOLT_COMBINING_BUSY_;
  uint64_t word = volt_load_relaxed(&sem->word); /* a guess: the CAS decides */
  while ((word & both) != VOLT_COMBINING_QUEUED_ &&
         n <= VOLT_SEM_MAX - VOLT_COMBINING_PERMITS_IN_(word)) {
    /* combine:F1 -> combine:T1, combine:L1, combine:N2: permits, and what is granted with them,
     * carry their releasers' past; combine:F1 -> combine:D1: this is the last access to *sem */
    if (volt_cas_weak_release(&sem->word, &word, word + VOLT_COMBINING_PERMITS_(n))) return;
  }
  volt_combining_sem_release_slow_(sem, n);
}

void volt_combining_sem_close(volt_combining_sem *sem);
bool volt_combining_sem_is_closed(volt_combining_sem *sem);
uint32_t volt_combining_sem_available(volt_combining_sem *sem);
uint32_t volt_combining_sem_waiters(volt_combining_sem *sem);

VOLT_END_DECLS
#endif
