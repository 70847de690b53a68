/* idle.h: which workers sleep, and how many search, in one word: so that work wakes somebody
 * exactly when it has to.
 *
 *   bits 0..47    parked: the worker sleeps or is about to. Set by itself; cleared by whoever wakes
 *                 it, who then owes it one unpark, or by itself, when it is owed none
 *   bits 48..63   searching: how many workers look for work in vain so far. A worker is counted by
 *                 itself, or by whoever wakes it, before it is unparked
 *
 * Invariants
 *   I1  a bit is cleared once for each time that it is set, and by one party
 *   I2  while a task is queued where others can take it, a worker searches, or none is parked, or
 *       whoever has queued it is still about to look here
 *
 * Races
 *   R1  Work is queued, nobody is seen parked; a worker finds no work and parks. Closed: queue,
 *       then look here; set the bit, then look at all queues (D1..D4 in sequentially consistent
 *       order: one of the two sees the other).
 *   R2  Work is queued while somebody searches, so nobody is woken; the searcher has passed that
 *       queue already, finds other work, and is gone for long. Closed: the last who stops searching
 *       looks at all queues once more, and wakes a successor.
 *   R3  Two who queue work wake the same worker. Closed: the bit is cleared by a CAS.
 *   R4  A worker's deadline comes while it is being woken. Closed: it clears its bit by an RMW, and
 *       if that was cleared already it waits for the unpark that it is owed.
 *
 * Pairs: D1 (ring.h, inject.h: queue) then D3 (look here), D4 (park) or D5 (stop searching) then D2
 *   (look at the queues): all seq_cst. */
#ifndef VOLT_RT_IDLE_H
#define VOLT_RT_IDLE_H

#include <volt/base.h>
#include <volt/detail/atomic.h>

#define VOLT_IDLE_WORKERS 48u
#define VOLT_IDLE_SEARCHING_ (UINT64_C(1) << VOLT_IDLE_WORKERS)
#define VOLT_IDLE_PARKED_ (VOLT_IDLE_SEARCHING_ - 1)
#define VOLT_IDLE_ONE_LESS_ (UINT64_C(0) - VOLT_IDLE_SEARCHING_)

typedef struct volt_idle {
  VOLT_ATOMIC(uint64_t) word;
} volt_idle;

static inline void volt_idle_init_(volt_idle *idle) {
  volt_store_relaxed(&idle->word, 0); /* not shared yet */
}

static inline unsigned volt_idle_searching_(uint64_t word) {
  return (unsigned)(word >> VOLT_IDLE_WORKERS);
}

static inline unsigned volt_idle_lowest_(uint64_t bits) {
  unsigned at = 0;
  while (!(bits >> at & 1)) at++;
  return at;
}

/* Clear the bit of worker i, which then searches and is owed an unpark, if it is parked. */
static inline bool volt_idle_claim_(volt_idle *idle, unsigned i) {
  uint64_t bit = UINT64_C(1) << i;
  uint64_t word = volt_load_relaxed(&idle->word); /* a guess: the CAS decides */
  while (word & bit) {
    /* relaxed: what the worker has to see comes with the unpark */
    if (volt_cas_relaxed(&idle->word, &word, (word & ~bit) + VOLT_IDLE_SEARCHING_)) return true;
  }
  return false;
}

/* Work has been queued: who has to be woken for it? Never `spare` if there is another.
 * Returns a worker that was claimed, or VOLT_IDLE_WORKERS: nobody. */
static inline unsigned volt_idle_wake_one_(volt_idle *idle, unsigned spare) {
  for (;;) {
    uint64_t word = volt_load_seq_cst(&idle->word); /* idle:D3 <-> idle:D4, idle:D5: TODO-REASON */
    uint64_t parked = word & VOLT_IDLE_PARKED_;
    if (parked == 0 || volt_idle_searching_(word) > 0) return VOLT_IDLE_WORKERS;
    uint64_t others = spare < VOLT_IDLE_WORKERS ? parked & ~(UINT64_C(1) << spare) : parked;
    unsigned i = volt_idle_lowest_(others ? others : parked);
    uint64_t next = (word & ~(UINT64_C(1) << i)) + VOLT_IDLE_SEARCHING_;
    if (volt_cas_relaxed(&idle->word, &word, next)) return i; /* R3; relaxed: as in claim */
  }
}

/* A worker begins to search, unless as many as half of them do. */
static inline bool volt_idle_search_(volt_idle *idle, unsigned workers) {
  uint64_t word = volt_load_relaxed(&idle->word); /* a guess: the CAS decides */
  while (2 * volt_idle_searching_(word) < workers) {
    /* relaxed: what counts is where it stops, D4 or D5 */
    if (volt_cas_relaxed(&idle->word, &word, word + VOLT_IDLE_SEARCHING_)) return true;
  }
  return false;
}

/* A worker has found work. Returns true: it was the last that searched, and owes a look at all
 * queues (R2). */
static inline bool volt_idle_found_(volt_idle *idle) {
  /* idle:D5 <-> idle:D3: TODO-REASON */
  uint64_t before = volt_fetch_add_seq_cst(&idle->word, VOLT_IDLE_ONE_LESS_);
  return volt_idle_searching_(before) == 1;
}

/* Worker i is about to sleep: it owes a look at all queues (R1). searching: 1 if it did, else 0. */
static inline void volt_idle_park_(volt_idle *idle, unsigned i, unsigned searching) {
  uint64_t change = (UINT64_C(1) << i) - searching * VOLT_IDLE_SEARCHING_;
  volt_fetch_add_seq_cst(&idle->word, change); /* idle:D4 <-> idle:D3: TODO-REASON */
}

/* Work may have come through the clock: see worker.c, R2. An RMW, so that it is before or after
 * every D4. Returns what the word is. */
static inline uint64_t volt_idle_look_(volt_idle *idle) {
  return volt_fetch_add_acq_rel(&idle->word, 0); /* idle:K2 <-> TODO-AREA():K1: TODO-REASON */
}

/* A hint: whether anybody sleeps and nobody searches. */
static inline bool volt_idle_wants_work_(volt_idle *idle) {
  uint64_t word = volt_load_relaxed(&idle->word); /* hint only: volt_idle_wake_one_() decides */
  return (word & VOLT_IDLE_PARKED_) != 0 && volt_idle_searching_(word) == 0;
}

#endif
