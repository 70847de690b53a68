/* combine.c: no lock: a word, a FIFO that whoever sets BUSY in the word has to himself, and an
 * inbox for those who come meanwhile.
 *
 * Algorithm: an operation that needs the FIFO sets BUSY and is the combiner. One that finds BUSY
 * leaves what it has: a release its permits in the word, a close its bit, an acquire its waiter on
 * the inbox; and goes its way. Cancel, a new waker and a look inside push a request and wait for
 * the answer. Whoever has pushed lowers DIRTY afterwards, or if BUSY is gone, becomes the combiner.
 * The combiner serves the FIFO with the permits in the word, and leaves by a CAS on the word that
 * it has seen before it looked: if that fails, there is news, and it looks again. Answers, grants
 * and wakes come after that.
 *
 * Source: seed 001, "Batched Critical Sections", its lock-free form; the state rides in the word.
 * Corrected: each batch is reversed (errata E15); the stack is taken as a whole by an exchange, so
 * that no node is compared with (E14).
 *
 * Invariants
 *   I1  not BUSY, not QUEUED => the FIFO is empty. Not BUSY, QUEUED => it is not, and if permits
 *       are in the word too (or CLOSED is), a thread with a full batch is on its way back
 *   I2  held + in the word + in the combiner's hand + gathered by waiters = constant. What is in
 *       the word while BUSY is all that releases that have returned have given and nobody has got
 *   I3  only the head of the FIFO is partially served
 *   I4  need > 0 exactly while a waiter is on the inbox or in the FIFO
 *   I5  DIRTY = returning + found on the inbox - said to be there. Not BUSY => all that was said to
 *       be there was found
 *
 * Races
 *   R1  The combiner finds nothing more, somebody leaves something, the combiner leaves: permits
 *       beside a sleeper (errata E1), or a waiter on the inbox that nobody looks at. Closed: it
 *       leaves by a CAS, and each kind of news changes the word: permits go up, DIRTY goes down,
 *       even if it has done so already.
 *   R2  The combiner empties the inbox, somebody pushes and says so, the combiner takes the new
 *       DIRTY for what it has found. Closed: DIRTY is read before the inbox is looked at.
 *   R3  A waiter is pushed, found and granted before its pusher lowers DIRTY; its owner destroys
 *       the semaphore. Closed: what was found raises DIRTY, and destroy() waits until it is 0.
 *   R4  Cancel or a new waker meets a release (E5, E9). Closed: both are requests, and the combiner
 *       knows who was first (need). If it was not they, they wait for the grant (E6).
 *   R5  A release that has left its permits and returned; then its thread asks: a try that fails, a
 *       cancel that succeeds, a pool that is empty. Closed: while there are permits in a word that
 *       is BUSY they ask the combiner, who takes what is in the word and serves before it answers.
 *   R6  The owner sees the grant or the answer and re-uses the memory while it is read (E7, E8).
 *       Closed: unlink and copy while BUSY; the exchange that tells is the last access.
 *   R7  More waiters than a batch holds (E13). Closed: leave the rest of the permits in the word,
 *       wake, come back; or let be, if there is a combiner, for it cannot leave before that is
 *       done.
 *
 * Pairs
 *   L1 (acquire) <- U1 (release)         the combiner sees the FIFO as the last one has left it
 *   T1, L1, N2 (acquire) <- F1, U1 (release)   permits, and what is granted with them, carry their
 *                                        releasers' past: all writes of the word are RMWs
 *   I1 (acquire) <- P1 (release)         who takes what is on the inbox sees what is in it
 *   N2 (acquire) <- N1 (release)         who sees that DIRTY was lowered sees what was pushed
 *   C1, N2 (acquire) <- X1, U1 (release) who sees CLOSED sees what came before close()
 *   D1 (acquire) <- U1, F1, N1, B1 (release)   the object ends after the last is done with it
 *   W1 (acquire, volt_waiter_result) <- G1 (release; here for answers, and in serve.h)
 *
 * Costs: 1 RMW to acquire, 1 to release; 2 to queue or to serve if nobody is in the way, 2 to queue
 * and 1 to release if somebody is. */
#include "combine.h"

#include "atomic_more.h"
#include "core/check.h"

#define QUEUED VOLT_COMBINING_QUEUED_
#define BUSY VOLT_COMBINING_BUSY_
#define CLOSED VOLT_COMBINING_CLOSED_
#define PERMITS VOLT_COMBINING_PERMITS_
#define PERMITS_IN VOLT_COMBINING_PERMITS_IN_
#define DIRTY VOLT_COMBINING_DIRTY_
#define DIRTY_OF VOLT_COMBINING_DIRTY_OF_
#define NAME VOLT_COMBINING_NAME_

static uint32_t combine_gathered_by(volt_waiter *w) {
  return w->want - w->need;
}

/* ---- while BUSY ---- */

void volt_combiner_give_(volt_combiner_ *t, uint32_t n) {
  volt_waiter *head = t->sem->fifo.head;
  volt_check_excess_(NAME, t->sem, n, t->hand + (head ? combine_gathered_by(head) : 0)); /* I3 */
  t->hand += n;
}

static void combine_see(volt_combiner_ *t, uint64_t word) {
  uint32_t permits = PERMITS_IN(word);
  volt_combiner_give_(t, permits - t->counted); /* R1: others only add to it */
  t->counted = permits;
  t->word = word;
  if (word & CLOSED) t->closed = true;
}

/* BUSY was not set in word, and is now. */
static void combine_start(volt_combiner_ *t, volt_combining_sem *sem, uint64_t word) {
  t->sem = sem;
  t->looked = DIRTY_OF(word);
  t->hand = 0;
  t->counted = 0;
  t->found = 0;
  t->closed = false;
  t->answered = NULL;
  t->batch.count = 0;
  combine_see(t, word | BUSY);
}

/* Give the head of the FIFO what it may have. Returns true if it waits no more. */
static bool combine_give_head(volt_combiner_ *t, volt_waiter *head) {
  uint32_t need = head->need;
  if (t->closed) { /* it goes with nothing: what it had gathered comes back */
    t->hand += combine_gathered_by(head);
    head->need = 0;
    return true;
  }
  uint32_t given = t->hand < need ? t->hand : need;
  t->hand -= given;
  head->need = need - given;
  return given == need;
}

/* Serve the FIFO from its head. Returns true if the batch is full and there is more to do. */
static bool combine_serve(volt_combiner_ *t) {
  volt_variant_fifo_ *fifo = &t->sem->fifo;
  while (fifo->head && (t->hand > 0 || t->closed)) {
    volt_waiter *head = fifo->head;
    if (t->batch.count == VOLT_WAKE_BATCH) return true;
    if (!combine_give_head(t, head)) return false; /* I3 */
    volt_variant_fifo_remove_(fifo, head);
    t->batch.claims[t->batch.count++] =
        volt_variant_claim_of_(head, head, t->closed ? VOLT_WAITER_CLOSED_ : VOLT_WAITER_GRANTED_);
  }
  return false;
}

static uint32_t combine_take(volt_combiner_ *t, uint32_t n, bool full) {
  if (full) return VOLT_ANSWER_ASK_AGAIN_; /* after the next batch there may be some left */
  if (t->sem->fifo.head || t->hand < n || t->closed) return VOLT_ANSWER_NO_;
  t->hand -= n;
  return VOLT_ANSWER_YES_;
}

static uint32_t combine_answer_to(volt_combiner_ *t, volt_request_ *r, bool full) {
  volt_waiter *w = r->waiter;
  switch (r->what) {
    case VOLT_REQUEST_WAITERS_: return t->sem->fifo.waiters;
    case VOLT_REQUEST_PERMITS_: return t->sem->fifo.head ? 0 : t->hand;
    case VOLT_REQUEST_TAKE_: return combine_take(t, r->n, full);
    default: break;
  }
  if (w->need == 0) return VOLT_ANSWER_NO_; /* I4, R4 */
  if (r->what == VOLT_REQUEST_SET_WAKER_) {
    w->wake = r->wake;
    w->ctx = r->ctx;
    return VOLT_ANSWER_YES_;
  }
  volt_variant_fifo_remove_(&t->sem->fifo, w);
  t->hand += combine_gathered_by(w);
  w->need = 0;
  return VOLT_ANSWER_YES_;
}

static void combine_answer(volt_combiner_ *t, volt_request_ *r) {
  /* combine:N2 <- combine:N1, combining:F1, combining:X1: who sees that DIRTY was lowered sees
   * what was pushed; R5 */
  combine_see(t, volt_load_acquire(&t->sem->word));
  bool full = combine_serve(t);
  r->answer = combine_answer_to(t, r, full);
  r->older = t->answered;
  t->answered = r;
}

/* What was on the inbox, oldest first. */
static volt_waiter *combine_take_inbox(volt_combiner_ *t) {
  volt_combining_sem *sem = t->sem;
  /* relaxed: whatever was said to be there is seen, by N2; the rest will be said */
  if (!volt_load_relaxed(&sem->inbox)) return NULL;
  volt_waiter *node = volt_exchange_acquire(&sem->inbox, (volt_waiter *)NULL); /* I1: pairs P1 */
  volt_waiter *oldest = NULL;
  while (node) {
    volt_waiter *older = node->next;
    node->next = oldest;
    oldest = node;
    node = older;
    t->found += 1; /* R3 */
  }
  return oldest;
}

static void combine_empty_inbox(volt_combiner_ *t) {
  t->looked = DIRTY_OF(t->word); /* R2: first */
  for (volt_waiter *node = combine_take_inbox(t), *next; node; node = next) {
    next = node->next;
    if (node->need > 0) {
      volt_variant_fifo_push_back_(&t->sem->fifo, node);
    } else {
      combine_answer(t, (volt_request_ *)(void *)node);
    }
  }
}

/* End BUSY, if there is no news. The last access to the semaphore, if it has returned true, and
 * again is false. */
static bool combine_try_end(volt_combiner_ *t, bool again) {
  uint64_t seen = t->word;
  uint64_t next = (t->closed ? CLOSED : 0) | (t->sem->fifo.head ? QUEUED : 0) | PERMITS(t->hand);
  next += DIRTY_OF(seen) + DIRTY(t->found + (again ? 1u : 0u)); /* R3, R7 */
  /* combine:U1 -> combine:L1, combining:C1, combining:D1, combining:T1: permits, and what is
   * granted with them, carry their releasers' past; What was left in the word came with L1 or N2 */
  if (volt_cas_release(&t->sem->word, &seen, next)) return true;
  /* combine:N2 <- combine:N1, combining:F1, combining:X1: who sees that DIRTY was lowered sees
   * what was pushed */
  combine_see(t, volt_load_acquire(&t->sem->word));
  return false;
}

/* ---- not BUSY any more ---- */

/* Tell all: first who asked, for no foreign code may run before. */
static void combine_grant(volt_combiner_ *t) {
  for (volt_request_ *r = t->answered, *older; r; r = older) {
    older = r->older;
    volt_variant_grant_(&r->node, VOLT_WAITER_GRANTED_);
  }
  volt_publish_(t->batch.claims, t->batch.count, NULL);
}

/* The batch was full. Returns true if there is still something to do and nobody who does it: BUSY
 * is set again. */
static bool combine_come_back(volt_combiner_ *t) {
  volt_combining_sem *sem = t->sem;
  uint64_t word = volt_load_relaxed(&sem->word); /* a guess: the CAS decides */
  for (;;) {
    uint64_t next = word - DIRTY(1);
    if ((word & (QUEUED | BUSY)) == QUEUED && ((word & CLOSED) || PERMITS_IN(word) > 0)) {
      /* combine:L1 <- combine:U1, combining:F1: permits, and what is granted with them, carry
       * their releasers' past */
      if (volt_cas_acquire(&sem->word, &word, next | BUSY)) {
        combine_start(t, sem, next);
        return true;
      }
      /* combine:B1 -> combining:D1: the last access */
    } else if (volt_cas_release(&sem->word, &word, next)) {
      return false;
    }
  }
}

/* BUSY is set, and t has begun: do all there is to do. */
void volt_combiner_run_(volt_combiner_ *t) {
  for (;;) {
    bool again;
    do {
      while (t->looked != DIRTY_OF(t->word)) combine_empty_inbox(t);
      again = combine_serve(t);
    } while (!combine_try_end(t, again));
    combine_grant(t);
    if (!again || !combine_come_back(t)) return;
  }
}

/* ---- to BUSY, or to the combiner ---- */

/* Set BUSY, if the word is still *word, which does not have it. */
bool volt_combining_begin_(volt_combiner_ *t, volt_combining_sem *sem, uint64_t *word) {
  /* combine:L1 <- combine:U1, combining:F1: permits, and what is granted with them, carry their
   * releasers' past */
  if (!volt_cas_acquire(&sem->word, word, *word | BUSY)) return false;
  combine_start(t, sem, *word);
  return true;
}

/* Put a waiter or a request on the inbox. From there on it is the combiner's. */
static void combine_push(volt_combining_sem *sem, volt_waiter *node) {
  volt_waiter *top = volt_load_relaxed(&sem->inbox); /* a guess: the CAS decides */
  do {
    node->next = top;
    /* combine:P1 -> TODO-AREA():I1: who takes what is on the inbox sees what is in it */
  } while (!volt_cas_weak_release(&sem->inbox, &top, node));
}

/* Something was pushed: say so, or see to it. */
void volt_combining_sem_submit_(volt_combining_sem *sem, volt_waiter *node) {
  combine_push(sem, node);
  uint64_t word = volt_load_relaxed(&sem->word); /* a guess: the CAS decides */
  for (;;) {
    uint64_t next = word - DIRTY(1);
    if (word & BUSY) {
      /* combine:N1 -> combine:N2, combining:D1: who sees that DIRTY was lowered sees what was
       * pushed; the last access */
      if (volt_cas_release(&sem->word, &word, next)) return;
      /* combine:L1 <- combine:U1, combining:F1: permits, and what is granted with them, carry
       * their releasers' past */
    } else if (volt_cas_acquire(&sem->word, &word, next | BUSY)) {
      break;
    }
  }
  volt_combiner_ t;
  combine_start(&t, sem, word - DIRTY(1));
  t.looked = DIRTY_OF(word); /* there is news: our own */
  volt_combiner_run_(&t);
}

/* The answer of the combiner, or our own as the combiner. */
uint32_t volt_combining_sem_ask_(volt_combining_sem *sem, volt_request_ *r) {
  r->node.need = 0;
  r->node.wake = NULL;
  volt_store_relaxed(&r->node.state, VOLT_WAITER_PENDING_); /* published by P1, or our own */
  uint64_t word = volt_load_relaxed(&sem->word);            /* a guess: the CAS decides */
  volt_combiner_ t;
  while (!(word & BUSY)) {
    if (!volt_combining_begin_(&t, sem, &word)) continue;
    combine_answer(&t, r);
    volt_combiner_run_(&t);
    return r->answer;
  }
  volt_combining_sem_submit_(sem, &r->node);
  volt_waiter_await_(&r->node);
  return r->answer;
}
