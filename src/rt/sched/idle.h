/* idle.h: which workers sleep, how many search, and which one watches, in one word; so work wakes a
 * worker exactly when that is needed.
 *
 *   bits 0..47    parked: the worker sleeps, or is about to. The worker sets its bit. The thread
 *                 that wakes it clears the bit, and then unparks it once; or the worker clears the
 *                 bit itself, and then no unpark comes
 *   bits 48..55   searching: how many workers have found no work so far and search for it. A
 *                 worker counts itself, or the thread that wakes it counts it before the unpark
 *   bits 56..63   the watcher: 1 + the worker that is parked and searches again by itself within
 *                 a millisecond; 0: none does. The worker sets it with its bit. The thread that
 *                 clears the bit clears it, too
 *
 * Invariants
 *   I1  a bit is cleared once for each time that it is set, by one thread
 *   I2  while a task is queued where other workers can take it, a worker searches, or one watches,
 *       or none is parked, or the thread that has queued it has yet to read this word
 *   I3  the watcher's bit is set
 *
 * Races
 *   R1  Interleaving: a thread queues work and sees no parked worker; a worker finds no work and
 *       parks. Prevented by: the thread queues the work, then reads the word; the worker sets its
 *       bit, then looks at all queues. All four are sequentially consistent (D1 to D4), so one of
 *       the two sees the other.
 *   R2  Interleaving: a thread queues work while a worker searches, so it wakes none; the searcher
 *       has passed that queue, finds other work, and polls for long. Prevented by: the last worker
 *       that stops searching looks at all queues once more, and wakes a successor (D5).
 *   R3  Interleaving: two threads that queue work wake the same worker. Prevented by: the bit is
 *       cleared by a CAS.
 *   R4  Interleaving: a worker's deadline comes while a thread wakes it. Prevented by: the worker
 *       clears its bit by a CAS. If the bit was cleared already, it waits for the unpark.
 *   R5  Interleaving: a worker makes its parker new by a relaxed store, and sets its bit; a thread
 *       clears the bit and unparks it; the worker's store comes behind the unpark in the order of
 *       the parker's word, so the worker sleeps for ever. Prevented by: the thread that clears the
 *       bit acquires what the worker that set it did (C1, C2), so its unpark comes after that.
 *   R6  Interleaving: a thread queues work, sees a watcher, and wakes none; the watcher comes back,
 *       has searched that queue already, and sleeps without being the watcher. Prevented by: as R1.
 *       The watcher's bit was cleared after the thread had read the word, so it looks at all queues
 *       after it has set the bit again.
 *   R7  Interleaving: a thread sees a watcher, and wakes none; another one claims the watcher for a
 *       task, which is polled for long. Prevented by: the claimed worker is counted as searching. As
 *       it stops, it looks at all queues if it was the last (R2); else another one still searches,
 *       which will look, or watch. */
#ifndef VOLT_RT_SCHED_IDLE_H
#define VOLT_RT_SCHED_IDLE_H

#include <volt/base.h>
#include <volt/detail/atomic.h>

#define VOLT_IDLE_WORKERS 48u
#define VOLT_IDLE_SEARCHING_ (UINT64_C(1) << VOLT_IDLE_WORKERS)
#define VOLT_IDLE_PARKED_ (VOLT_IDLE_SEARCHING_ - 1)
#define VOLT_IDLE_ONE_LESS_ (UINT64_C(0) - VOLT_IDLE_SEARCHING_)
#define VOLT_IDLE_WATCHER_AT_ 56
#define VOLT_IDLE_NO_WATCHER_ ((UINT64_C(1) << VOLT_IDLE_WATCHER_AT_) - 1)

typedef struct volt_idle {
  VOLT_ATOMIC(uint64_t) word;
} volt_idle;

static inline void volt_idle_init_(volt_idle *idle) {
  volt_store_relaxed(&idle->word, 0); /* not shared yet */
}

static inline unsigned volt_idle_searching_(uint64_t word) {
  return (unsigned)(word >> VOLT_IDLE_WORKERS) & 0xffu;
}

/* 1 + the worker, or 0. */
static inline unsigned volt_idle_watcher_(uint64_t word) {
  return (unsigned)(word >> VOLT_IDLE_WATCHER_AT_);
}

/* The word when worker i, which is parked, begins to search. */
static inline uint64_t volt_idle_roused_(uint64_t word, unsigned i) {
  if (volt_idle_watcher_(word) == i + 1) word &= VOLT_IDLE_NO_WATCHER_;
  return (word & ~(UINT64_C(1) << i)) + VOLT_IDLE_SEARCHING_;
}

static inline unsigned volt_idle_lowest_(uint64_t bits) {
  unsigned at = 0;
  while (!(bits >> at & 1)) at++;
  return at;
}

/* If worker i is parked, clear its bit and count it as searching. word: a guess. Returns whether it
 * was: then the caller unparks it, or is that worker. */
static inline bool volt_idle_claim_in_(volt_idle *idle, unsigned i, uint64_t word) {
  while (word >> i & 1) {
    /* idle:C1 <- idle:D4: the unpark comes after the worker has made its parker new; R5 */
    if (volt_cas_acquire(&idle->word, &word, volt_idle_roused_(word, i))) return true;
  }
  return false;
}

static inline bool volt_idle_claim_(volt_idle *idle, unsigned i) {
  return volt_idle_claim_in_(idle, i, volt_load_relaxed(&idle->word)); /* the CAS decides */
}

/* The same, by a thread that has queued a task which worker i alone may take (home.h R1). */
static inline bool volt_idle_claim_alone_(volt_idle *idle, unsigned i) {
  /* idle:D6 <-> idle:D4: after home:D1: sees the bit, or home:D2 sees the task */
  return volt_idle_claim_in_(idle, i, volt_load_seq_cst(&idle->word));
}

/* Which of the parked to wake: one that needs no doorbell, and rather not the watcher. */
static inline unsigned volt_idle_choose_(uint64_t parked, uint64_t driven, unsigned watcher) {
  uint64_t on_parkers = parked & ~driven;
  uint64_t others = on_parkers & ~(UINT64_C(1) << watcher >> 1);
  return volt_idle_lowest_(others ? others : on_parkers ? on_parkers : parked);
}

/* Work was queued: claim a worker to wake for it; the keeper or one that sleeps in the driver only if
 * no other is parked. keeper: 1 + that worker, or 0; driven: a bit for each. is_urgent: also if there
 * is a watcher. Returns the worker, or VOLT_IDLE_WORKERS if none needs to be woken. */
static inline unsigned volt_idle_wake_one_(volt_idle *idle, unsigned keeper, uint64_t driven,
                                           bool is_urgent) {
  for (;;) {
    /* idle:D3 <-> idle:D4, idle:D5: after ring:D1 or inject:D1: sees the sleeper, or its D2 sees
     * the task; R1, R2 */
    uint64_t word = volt_load_seq_cst(&idle->word);
    uint64_t parked = word & VOLT_IDLE_PARKED_;
    unsigned watcher = volt_idle_watcher_(word);
    if (parked == 0 || volt_idle_searching_(word) > 0) return VOLT_IDLE_WORKERS;
    if (watcher != 0 && !is_urgent) return VOLT_IDLE_WORKERS; /* R6 */
    unsigned i = volt_idle_choose_(parked, driven | UINT64_C(1) << keeper >> 1, watcher);
    /* idle:C2 <- idle:D4: the unpark comes after the last time that the bit was set, which may be
     * later than D3; R3, R5 */
    if (volt_cas_acquire(&idle->word, &word, volt_idle_roused_(word, i))) return i;
  }
}

/* A worker begins to search, unless as many as half of them do. */
static inline bool volt_idle_search_(volt_idle *idle, unsigned workers) {
  uint64_t word = volt_load_relaxed(&idle->word); /* a guess: the CAS decides */
  while (2 * volt_idle_searching_(word) < workers) {
    /* relaxed, by idle:D4, idle:D5: the order counts where it stops to search */
    if (volt_cas_relaxed(&idle->word, &word, word + VOLT_IDLE_SEARCHING_)) return true;
  }
  return false;
}

/* A worker has found work. Returns the word before that: if it was the only one that searched, it
 * must look at all queues once more (R2). */
static inline uint64_t volt_idle_found_(volt_idle *idle) {
  /* idle:D5 <-> idle:D3: before its last look at the queues: sees the task, or is seen; R2 */
  return volt_fetch_add_seq_cst(&idle->word, VOLT_IDLE_ONE_LESS_);
}

static inline bool volt_idle_is_parked_(volt_idle *idle, uint64_t word, unsigned i) {
  (void)idle; /* the word says all */
  return word >> i & 1;
}

/* Whether every worker but i is parked. word: a guess, or what it is. */
static inline bool volt_idle_is_alone_(uint64_t word, unsigned i, unsigned workers) {
  uint64_t all = (UINT64_C(1) << workers) - 1;
  return ((word | UINT64_C(1) << i) & all) == all;
}

/* Worker i is about to sleep, and must look at all queues after this (R1).
 * word: a guess; if it was none, it is set to the right one, and nothing has changed. searching: 1
 * if it was counted as searching, else 0. watches: it is the watcher from now on, and *word has
 * none. Returns whether its bit is set. */
static inline bool volt_idle_try_park_(volt_idle *idle, unsigned i, uint64_t *word,
                                       unsigned searching, bool watches) {
  uint64_t next = (*word | UINT64_C(1) << i) - searching * VOLT_IDLE_SEARCHING_;
  if (watches) next |= (uint64_t)(i + 1) << VOLT_IDLE_WATCHER_AT_;
  /* idle:D4 <-> idle:C1, idle:C2, idle:D3, idle:D6, idle:K2: then ring:D2, inject:D2, home:D2: sees
   * the task, or its bit is seen; R1. Before it: the parker is new; R5 */
  return volt_cas_seq_cst(&idle->word, word, next);
}

/* The same, whatever the word is; where no worker watches. */
static inline void volt_idle_park_(volt_idle *idle, unsigned i, unsigned searching) {
  uint64_t change = (UINT64_C(1) << i) - searching * VOLT_IDLE_SEARCHING_;
  /* idle:D4 <-> idle:C1, idle:C2, idle:D3, idle:D6, idle:K2: sees the task, or its bit is seen, as above */
  volt_fetch_add_seq_cst(&idle->word, change);
}

/* Something other than a queued task has happened that a sleeper must see: a timer was started,
 * mail was left, the runtime ends (parking.c R2, R3, R4; by_hand.c R2, R3). The caller looks for
 * sleepers after this. It changes nothing, but is an RMW, so it comes before or after every
 * idle:D4. */
static inline void volt_idle_fence_(volt_idle *idle) {
  /* idle:K2 <-> idle:D4: the later of the two threads sees what the other did before */
  volt_fetch_add_acq_rel(&idle->word, 0);
}

/* A hint: whether a worker sleeps, none searches, and none watches; is_urgent: or one does. */
static inline bool volt_idle_wants_work_(volt_idle *idle, bool is_urgent) {
  uint64_t word = volt_load_relaxed(&idle->word); /* hint only: volt_idle_wake_one_() decides */
  if (is_urgent) word &= VOLT_IDLE_NO_WATCHER_;
  return word - 1 < VOLT_IDLE_PARKED_; /* the others are above those bits */
}

#endif
