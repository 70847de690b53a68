/* slot_in_word.h: the fast waiter slot and the permits in one word: to wait alone, and to serve a
 * waiter that is alone, takes one RMW and no lock.
 *
 * Function by function the contract of volt/semaphore.h. What differs: it is not part of the
 * library, so it has no symbol there; it has no futures. The thread that acquires the last permit
 * may destroy the semaphore at once. But only volt_slot_in_word_sem_destroy() makes its memory
 * free: a release may still be about to unlock, and destroy waits for that.
 *
 * The word:
 *   bits 0-1    tag     FREE: no thread waits; ONE: one waiter, which needs one more permit; LIST:
 *                       all waiters are in the FIFO
 *   FREE, LIST  bit 2   CLOSED: no waiter will be queued again
 *   FREE        bits 32-63  permits
 *   ONE         the other bits: the address of the waiter
 * Any thread changes FREE and ONE, by CAS; only the holder of the lock changes LIST. */
#ifndef VOLT_VARIANTS_SLOT_IN_WORD_H
#define VOLT_VARIANTS_SLOT_IN_WORD_H

#include "state.h"

#define VOLT_SLOT_TAG_ UINT64_C(3)
#define VOLT_SLOT_FREE_ UINT64_C(0)
#define VOLT_SLOT_ONE_ UINT64_C(1)
#define VOLT_SLOT_LIST_ UINT64_C(2)
#define VOLT_SLOT_CLOSED_ UINT64_C(4)
#define VOLT_SLOT_PERMITS_(n) ((uint64_t)(n) << 32)
#define VOLT_SLOT_PERMITS_IN_(word) ((uint32_t)((word) >> 32))

/* Members are private. */
typedef struct volt_slot_in_word_sem {
  volt_line_ line; /* first: see serve.h */
  VOLT_ATOMIC(uint64_t) word;
} volt_slot_in_word_sem;

/* permits: 0..VOLT_SEM_MAX, not checked. */
#define VOLT_SLOT_IN_WORD_SEM_INIT(permits) \
  { VOLT_LINE_INIT_, VOLT_SLOT_PERMITS_(permits) }

VOLT_BEGIN_DECLS

void volt_slot_in_word_sem_init(volt_slot_in_word_sem *sem, uint32_t permits);
void volt_slot_in_word_sem_destroy(volt_slot_in_word_sem *sem);

int volt_slot_in_word_sem_acquire_waiter_slow_(volt_slot_in_word_sem *, volt_waiter *, uint32_t n,
                                               volt_waker);
int volt_slot_in_word_sem_acquire_until_slow_(volt_slot_in_word_sem *, uint32_t n,
                                              uint64_t deadline_ns);
void volt_slot_in_word_sem_release_slow_(volt_slot_in_word_sem *, uint32_t n);

static inline int volt_slot_in_word_sem_try_acquire(volt_slot_in_word_sem *sem, uint32_t n) {
  uint64_t word = volt_load_relaxed(&sem->word); /* a guess: the CAS decides */
  while ((uint32_t)word == VOLT_SLOT_FREE_ && VOLT_SLOT_PERMITS_IN_(word) >= n) {
    /* slot_in_word:T1 <- slot_in_word:F1, slot_in_word:H1, slot_in_word:B1, slot_in_word:U1:
     * permits carry their releasers' past */
    if (volt_cas_weak_acquire(&sem->word, &word, word - VOLT_SLOT_PERMITS_(n))) return VOLT_OK;
  }
  bool has_one = (word & VOLT_SLOT_TAG_) == VOLT_SLOT_ONE_;
  return volt_refused_(n, !has_one && (word & VOLT_SLOT_CLOSED_) != 0);
}

static inline int volt_slot_in_word_sem_acquire_waiter(volt_slot_in_word_sem *sem, volt_waiter *w,
                                                       uint32_t n, volt_waker waker) {
  if (VOLT_LIKELY(volt_slot_in_word_sem_try_acquire(sem, n) == VOLT_OK)) return VOLT_OK;
  return volt_slot_in_word_sem_acquire_waiter_slow_(sem, w, n, waker);
}

static inline int volt_slot_in_word_sem_acquire_until(volt_slot_in_word_sem *sem, uint32_t n,
                                                      uint64_t deadline_ns) {
  if (VOLT_LIKELY(volt_slot_in_word_sem_try_acquire(sem, n) == VOLT_OK)) return VOLT_OK;
  return volt_slot_in_word_sem_acquire_until_slow_(sem, n, deadline_ns);
}

bool volt_slot_in_word_sem_cancel(volt_slot_in_word_sem *sem, volt_waiter *w);
bool volt_slot_in_word_sem_set_waker(volt_slot_in_word_sem *sem, volt_waiter *w, volt_waker waker);

static inline void volt_slot_in_word_sem_release(volt_slot_in_word_sem *sem, uint32_t n) {
  uint64_t word = volt_load_relaxed(&sem->word); /* a guess: the CAS decides */
  while ((word & VOLT_SLOT_TAG_) == VOLT_SLOT_FREE_ &&
         n <= VOLT_SEM_MAX - VOLT_SLOT_PERMITS_IN_(word)) {
    /* slot_in_word:F1 -> slot_in_word:T1, slot_in_word:D1, slot_in_word:O1: permits carry their
     * releasers' past; the last access to *sem */
    if (volt_cas_weak_release(&sem->word, &word, word + VOLT_SLOT_PERMITS_(n))) return;
  }
  volt_slot_in_word_sem_release_slow_(sem, n);
}

void volt_slot_in_word_sem_close(volt_slot_in_word_sem *sem);
bool volt_slot_in_word_sem_is_closed(volt_slot_in_word_sem *sem);
uint32_t volt_slot_in_word_sem_available(volt_slot_in_word_sem *sem);
uint32_t volt_slot_in_word_sem_waiters(volt_slot_in_word_sem *sem);

VOLT_END_DECLS
#endif
