/* slot_in_word.c: one word that is the permits, or the only waiter, or says that there is a FIFO.
 *
 * Algorithm: the fast waiter slot and the pool are one word. An acquirer that needs one permit more
 * than there is takes the permits and becomes the waiter in the slot by one CAS, FREE -> ONE. A
 * release gives it that permit and makes the rest free by one CAS, ONE -> FREE. A second waiter, or
 * one that needs more, takes the lock: the word becomes LIST, with the older waiter first in the
 * FIFO, and releases serve the FIFO as in locked.c until it is empty. Then the word is FREE again.
 * It does not go back from LIST to ONE, because with two waiters that come and go it would change
 * all the time.
 *
 * Source: "Fast Waiter Slot" and "Counting Semaphore Algorithm" (docs/errata.md), with the question
 * "does a thread wait?" and its answer in one word. That leaves nothing of docs/errata.md, E1 to
 * E4, to prevent.
 *
 * Invariants, besides those of serve.c:
 *   I6  ONE: exactly one thread waits; it needs one permit, and has gathered the others
 *   I7  LIST => all waiters are in the FIFO; and the lock is held or the FIFO is not empty. Not
 *       LIST => the FIFO is empty
 *   I8  a thread that changes ONE takes the waiter: a releaser has claimed it, its owner has
 *       cancelled it, the holder of the lock has put it into the FIFO
 *
 * Races
 *   R1  Interleaving: a releaser reads a waiter in the word; another one grants it, and its owner
 *       frees it. Prevented by: nothing of the waiter is read before the CAS has succeeded. If it
 *       was queued again meanwhile, at the same address, the CAS succeeds and is right, because I6
 *       holds for the new wait as well.
 *   R2  Interleaving: a cancel, or a new waker, meets a releaser. Prevented by: once the waiter has
 *       been queued, a word that is neither LIST nor ONE with its address, or LIST with need = 0,
 *       means that it is claimed (I8); they wait for the grant. A waker is replaced in the FIFO,
 *       never in the word.
 *   R3  Interleaving: with the lock held the FIFO is empty and the word FREE; before the permits
 *       are added the word becomes ONE. Prevented by: the CAS fails, and the newcomer is served.
 *
 * Costs: 1 RMW to acquire, 1 to release, 1 to wait alone, 1 to serve a waiter that is alone. */
#include "slot_in_word.h"

#include "atomic_more.h"
#include "core/os/check.h"
#include "serve.h"

#define FREE VOLT_SLOT_FREE_
#define ONE VOLT_SLOT_ONE_
#define LIST VOLT_SLOT_LIST_
#define CLOSED VOLT_SLOT_CLOSED_
#define PERMITS VOLT_SLOT_PERMITS_
#define PERMITS_IN VOLT_SLOT_PERMITS_IN_

static uint64_t slot_tag_of(uint64_t word) {
  return word & VOLT_SLOT_TAG_;
}

static bool slot_has_closed(uint64_t word) {
  return slot_tag_of(word) != ONE && (word & CLOSED);
}

static uint64_t slot_one_of(volt_waiter *w) {
  return (uint64_t)(uintptr_t)w | ONE;
}

static volt_waiter *slot_waiter_of(uint64_t word) {
  return (volt_waiter *)(uintptr_t)(word & ~VOLT_SLOT_TAG_);
}

static volt_slot_in_word_sem *slot_sem_of(volt_line_ *line) {
  return (volt_slot_in_word_sem *)(void *)line;
}

/* ---- with the lock held ---- */

/* Move the only waiter, which *word names, into the FIFO. Returns false if the word has changed,
 * and in *word what it is now. */
static bool slot_one_to_list(volt_line_ *line, uint64_t *word) {
  volt_waiter *w = slot_waiter_of(*word);
  /* slot_in_word:A1 <- slot_in_word:O1: a thread that takes the waiter sees what its owner wrote */
  if (!volt_cas_acquire(&slot_sem_of(line)->word, word, LIST)) return false;
  w->need = 1; /* I6 */
  volt_variant_fifo_push_back_(&line->fifo, w);
  return true;
}

static void slot_gather(volt_line_ *line) {
  uint64_t word = volt_load_relaxed(&slot_sem_of(line)->word); /* LIST is certain */
  while (slot_tag_of(word) == ONE) {
    if (slot_one_to_list(line, &word)) return;
  }
}

static int slot_take(volt_line_ *line, volt_waiter *w) {
  volt_slot_in_word_sem *sem = slot_sem_of(line);
  uint32_t n = w->need;
  uint64_t word = volt_load_relaxed(&sem->word); /* LIST is certain; else the CAS decides */
  for (;;) {
    if (slot_has_closed(word)) return VOLT_ECLOSED;
    if (slot_tag_of(word) == LIST) return VOLT_PENDING;
    if (slot_tag_of(word) == ONE) {
      if (slot_one_to_list(line, &word)) return VOLT_PENDING;
      continue;
    }
    uint32_t permits = PERMITS_IN(word);
    uint64_t next = permits >= n ? word - PERMITS(n) : LIST;
    /* slot_in_word:D1 <- slot_in_word:F1, slot_in_word:H1, slot_in_word:B1, slot_in_word:U1:
     * permits carry their releasers' past */
    if (volt_cas_acquire(&sem->word, &word, next)) {
      if (permits >= n) return VOLT_OK;
      w->need = n - permits;
      return VOLT_PENDING;
    }
  }
}

static bool slot_settle(const volt_variant_ *v, volt_line_ *line, uint32_t hand) {
  volt_slot_in_word_sem *sem = slot_sem_of(line);
  if (line->fifo.head) return true;
  uint64_t word = volt_load_relaxed(&sem->word); /* LIST is certain; else the CAS decides */
  for (;;) {
    if (slot_tag_of(word) == LIST) {
      /* slot_in_word:U1 -> slot_in_word:T1, slot_in_word:D1, slot_in_word:O1: permits carry their
       * releasers' past; slot_in_word:U1 -> slot_in_word:C1: CLOSED carries the past of close() */
      volt_store_release(&sem->word, PERMITS(hand) | (word & CLOSED));
      return true;
    }
    if (hand == 0) return true;
    if (slot_tag_of(word) == ONE) {
      if (slot_one_to_list(line, &word)) return false; /* R3 */
      continue;
    }
    volt_check_excess_(v->name, line, hand, PERMITS_IN(word));
    /* slot_in_word:F1 -> slot_in_word:T1, slot_in_word:D1, slot_in_word:O1: permits carry their
     * releasers' past */
    if (volt_cas_release(&sem->word, &word, word + PERMITS(hand))) return true;
  }
}

static bool slot_is_closed(volt_line_ *line) {
  /* slot_in_word:C1 <- slot_in_word:U1, slot_in_word:X1: a thread that sees CLOSED sees what came
   * before close() */
  return slot_has_closed(volt_load_acquire(&slot_sem_of(line)->word));
}

static void slot_set_closed(volt_line_ *line) {
  volt_slot_in_word_sem *sem = slot_sem_of(line);
  uint64_t word = volt_load_relaxed(&sem->word); /* LIST is certain; else the CAS decides */
  for (;;) {
    if (slot_tag_of(word) == ONE) {
      if (slot_one_to_list(line, &word)) word = LIST;
      /* slot_in_word:X1 -> slot_in_word:C1: a thread that sees CLOSED sees what came before
       * close() */
    } else if (volt_cas_release(&sem->word, &word, word | CLOSED)) {
      return;
    }
  }
}

/* ---- without the lock ---- */

static int slot_acquire(const volt_variant_ *v, volt_line_ *line, volt_waiter *w, uint32_t n,
                        volt_waker waker) {
  if (n > VOLT_SEM_MAX) return VOLT_EINVAL;
  if (n == 0) return VOLT_OK;
  volt_waiter_prepare_(v->name, line, w, n, waker);
  volt_slot_in_word_sem *sem = slot_sem_of(line);
  uint64_t word = volt_load_relaxed(&sem->word); /* a guess: the CAS decides */
  w->need = 0;                                   /* in no FIFO, once O1 has succeeded */
  while ((uint32_t)word == FREE && PERMITS_IN(word) == n - 1) {
    /* slot_in_word:O1 -> slot_in_word:A1, slot_in_word:H1: a thread that takes the waiter sees what
     * its owner wrote; slot_in_word:O1 <- slot_in_word:F1, slot_in_word:H1, slot_in_word:B1,
     * slot_in_word:U1: the permits it takes carry their releasers' past. From here *w may be
     * claimed */
    if (volt_cas_acq_rel(&sem->word, &word, slot_one_of(w))) return VOLT_PENDING;
  }
  w->need = n;
  return volt_line_queue_(v, line, w);
}

static bool slot_cancel(const volt_variant_ *v, volt_line_ *line, volt_waiter *w) {
  bool cancelled;
  if (volt_line_cancel_done_(v, line, w, &cancelled)) return cancelled;
  uint64_t word = slot_one_of(w);
  /* slot_in_word:B1 -> slot_in_word:T1, slot_in_word:D1, slot_in_word:O1: permits carry their
   * releasers' past. What *w had gathered (I6) becomes free, because no other thread waits */
  if (!volt_cas_release(&slot_sem_of(line)->word, &word, PERMITS(w->want - 1))) {
    return volt_line_cancel_(v, line, w);
  }
  volt_store_relaxed(&w->state, VOLT_WAITER_UNUSED_); /* in no place: its owner's alone again */
  return true;
}

static const volt_variant_ slot_in_word_variant = {
    .name = "volt_slot_in_word_sem",
    .take = slot_take,
    .gather = slot_gather,
    .settle = slot_settle,
    .is_closed = slot_is_closed,
    .close = slot_set_closed,
    .acquire = slot_acquire,
    .cancel = slot_cancel,
};

/* ---- the interface ---- */

void volt_slot_in_word_sem_init(volt_slot_in_word_sem *sem, uint32_t permits) {
  volt_line_init_(&slot_in_word_variant, &sem->line, permits);
  volt_store_relaxed(&sem->word, PERMITS(permits)); /* not shared yet */
}

void volt_slot_in_word_sem_destroy(volt_slot_in_word_sem *sem) {
  volt_line_destroy_(&slot_in_word_variant, &sem->line);
}

int volt_slot_in_word_sem_acquire_waiter_slow_(volt_slot_in_word_sem *sem, volt_waiter *w,
                                               uint32_t n, volt_waker waker) {
  return slot_acquire(&slot_in_word_variant, &sem->line, w, n, waker);
}

int volt_slot_in_word_sem_acquire_until_slow_(volt_slot_in_word_sem *sem, uint32_t n,
                                              uint64_t deadline_ns) {
  return volt_line_acquire_until_(&slot_in_word_variant, &sem->line, n, deadline_ns);
}

bool volt_slot_in_word_sem_cancel(volt_slot_in_word_sem *sem, volt_waiter *w) {
  return slot_cancel(&slot_in_word_variant, &sem->line, w);
}

bool volt_slot_in_word_sem_set_waker(volt_slot_in_word_sem *sem, volt_waiter *w, volt_waker waker) {
  return volt_line_set_waker_(&slot_in_word_variant, &sem->line, w, waker);
}

void volt_slot_in_word_sem_release_slow_(volt_slot_in_word_sem *sem, uint32_t n) {
  if (n == 0) return;
  volt_check_excess_(slot_in_word_variant.name, sem, n, 0);
  uint64_t word = volt_load_relaxed(&sem->word); /* a guess: the CAS decides */
  while (slot_tag_of(word) == ONE) {
    volt_waiter *w = slot_waiter_of(word);
    /* slot_in_word:H1 <- slot_in_word:O1: a thread that takes the waiter (I8) sees what its owner
     * wrote; slot_in_word:H1 -> slot_in_word:T1, slot_in_word:D1, slot_in_word:O1: permits carry
     * their releasers' past. The last access to *sem */
    if (!volt_cas_acq_rel(&sem->word, &word, PERMITS(n - 1))) continue;
    volt_check_excess_(slot_in_word_variant.name, sem, n, w->want - 1);
    volt_variant_claim_ claim = volt_variant_claim_of_(w, w, VOLT_WAITER_GRANTED_);
    volt_publish_(&claim, 1, NULL);
    return;
  }
  volt_line_release_(&slot_in_word_variant, &sem->line, NULL, n);
}

void volt_slot_in_word_sem_close(volt_slot_in_word_sem *sem) {
  volt_line_close_(&slot_in_word_variant, &sem->line);
}

bool volt_slot_in_word_sem_is_closed(volt_slot_in_word_sem *sem) {
  return slot_is_closed(&sem->line);
}

uint32_t volt_slot_in_word_sem_available(volt_slot_in_word_sem *sem) {
  uint64_t word = volt_load_relaxed(&sem->word); /* a snapshot */
  return slot_tag_of(word) == FREE ? PERMITS_IN(word) : 0;
}

uint32_t volt_slot_in_word_sem_waiters(volt_slot_in_word_sem *sem) {
  uint64_t word = volt_load_relaxed(&sem->word); /* a snapshot */
  if (slot_tag_of(word) != LIST) return slot_tag_of(word) == ONE ? 1 : 0;
  return volt_line_waiters_(&slot_in_word_variant, &sem->line);
}
