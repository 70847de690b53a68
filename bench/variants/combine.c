/* combine.c: no lock: a word, a FIFO that belongs to the thread that has set BUSY in the word, and
 * an inbox for threads that come meanwhile.
 *
 * Algorithm: an operation that needs the FIFO sets BUSY and is the combiner. One that finds BUSY
 * leaves its work: a release its permits in the word, a close its bit, an acquire its waiter on the
 * inbox; and returns. A cancel, a new waker and an inspection push a request and wait for the
 * answer. A thread that has pushed announces that: it lowers DIRTY or, if BUSY is gone, becomes the
 * combiner.
 * The combiner serves the FIFO with the permits in the word. It ends by a CAS on the word that it
 * read before it emptied the inbox: if that fails there is news, and it goes on. Answers, grants
 * and wakes come after that.
 *
 * Source: "Batched Critical Sections", its lock-free form (docs/errata.md); the state is in the
 * same word. Corrected: each batch is reversed (docs/errata.md, E15); the stack is taken as a whole
 * by an exchange, so no node is compared with another (docs/errata.md, E14).
 *
 * Invariants
 *   I1  not BUSY, not QUEUED => the FIFO is empty. Not BUSY, QUEUED => it is not empty; and if
 *       there are permits in the word too (or CLOSED), a thread with a full batch will come back
 *   I2  held + in the word + in the combiner's hand + gathered by waiters = constant. While BUSY,
 *       the permits in the word are all that returned releases have given and no thread has got
 *   I3  only the head of the FIFO is partially served
 *   I4  need > 0 exactly while a waiter is on the inbox or in the FIFO
 *   I5  DIRTY = threads that will come back + nodes found on the inbox - nodes announced. Not BUSY
 *       => every announced node was found
 *
 * Races
 *   R1  Interleaving: the combiner finds nothing more to do; another thread leaves some work; the
 *       combiner ends. Then permits lie beside a sleeper (docs/errata.md, E1), or no thread empties
 *       the inbox. Prevented by: the combiner ends by a CAS, and each kind of news changes the
 *       word: permits go up; DIRTY goes down, also if it did so before.
 *   R2  Interleaving: the combiner empties the inbox; a thread pushes and lowers DIRTY; the
 *       combiner takes the new DIRTY for that of what it has found. Prevented by: the combiner
 *       reads DIRTY
 *       before it empties the inbox.
 *   R3  Interleaving: a waiter is pushed, found and granted before its pusher lowers DIRTY; its
 *       owner destroys the semaphore. Prevented by: what was found raises DIRTY, and destroy()
 *       waits until it is 0.
 *   R4  Interleaving: a cancel, or a new waker, meets a release (docs/errata.md, E5, E9). Prevented
 *       by: both are requests, and the combiner knows from need which was first. If the release
 *       was, they wait for the grant (docs/errata.md, E6).
 *   R5  Interleaving: a release leaves its permits to the combiner and returns; then the same
 *       thread sees a try fail, a cancel succeed, or no permits. Prevented by: while there are
 *       permits in
 *       a word that is BUSY, these ask the combiner, which takes what is in the word and serves the
 *       FIFO before it answers.
 *   R6  Interleaving: the owner sees the grant or the answer and uses the memory again while it is
 *       read (docs/errata.md, E7, E8). Prevented by: the combiner unlinks and copies while BUSY;
 *       the store of the outcome is the last access.
 *   R7  Interleaving: more waiters are to be served than a batch holds (docs/errata.md, E13).
 *       Prevented by: the combiner leaves the rest of the permits in the word, wakes the batch, and
 *       comes back. If there is another combiner by then, it need not, because that one cannot end
 *       before the rest is done.
 *
 * Costs: 1 RMW to acquire, 1 to release. 2 to queue or to serve if there is no other combiner; 2 to
 * queue and 1 to release if there is one.
 *
 * Labels: combine */
#include "combine.h"

#include "atomic_more.h"
#include "core/os/check.h"

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
  volt_combiner_give_(t, permits - t->counted); /* R1: other threads only add to it */
  t->counted = permits;
  t->word = word;
  if (word & CLOSED) t->closed = true;
}

/* BUSY was not set in word, and this thread has set it. */
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

/* Give the head of the FIFO what there is for it. Returns true if it has all it needs. */
static bool combine_give_head(volt_combiner_ *t, volt_waiter *head) {
  uint32_t need = head->need;
  if (t->closed) { /* it gets nothing: what it had gathered comes back */
    t->hand += combine_gathered_by(head);
    head->need = 0;
    return true;
  }
  uint32_t given = t->hand < need ? t->hand : need;
  t->hand -= given;
  head->need = need - given;
  return given == need;
}

/* Serve the FIFO from its head. Returns true if the batch is full and more is to be done. */
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
  if (full) return VOLT_ANSWER_ASK_AGAIN_; /* after the next batch there may be permits left */
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
  /* combine:N2 <- combine:N1, combine:F1, combine:X1: this thread sees what was pushed before DIRTY
   * was lowered, and what came before a release or a close (R5) */
  combine_see(t, volt_load_acquire(&t->sem->word));
  bool full = combine_serve(t);
  r->answer = combine_answer_to(t, r, full);
  r->older = t->answered;
  t->answered = r;
}

/* Empty the inbox. Returns what was on it, oldest first. */
static volt_waiter *combine_take_inbox(volt_combiner_ *t) {
  volt_combining_sem *sem = t->sem;
  /* relaxed: what was announced is seen, by N2; the rest will be announced */
  if (!volt_load_relaxed(&sem->inbox)) return NULL;
  /* combine:P2 <- combine:P1: this thread sees what is in the nodes it has found */
  volt_waiter *node = volt_exchange_acquire(&sem->inbox, (volt_waiter *)NULL);
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

/* Clear BUSY, if there is no news. If it returns true, and again is false, that was the last access
 * to the semaphore. */
static bool combine_try_end(volt_combiner_ *t, bool again) {
  uint64_t seen = t->word;
  uint64_t next = (t->closed ? CLOSED : 0) | (t->sem->fifo.head ? QUEUED : 0) | PERMITS(t->hand);
  next += DIRTY_OF(seen) + DIRTY(t->found + (again ? 1u : 0u)); /* R3, R7 */
  /* combine:U1 -> combine:L1: the next combiner sees the FIFO as this one leaves it;
   * combine:U1 -> combine:T1: permits carry their releasers' past (those left in the word came with
   * L1 or N2); combine:U1 -> combine:C1: CLOSED carries the past of close(); combine:U1 ->
   * combine:D1: destroy() comes after this access */
  if (volt_cas_release(&t->sem->word, &seen, next)) return true;
  /* combine:N2 <- combine:N1, combine:F1, combine:X1: this thread sees what was pushed before DIRTY
   * was lowered, and what came before a release or a close */
  combine_see(t, volt_load_acquire(&t->sem->word));
  return false;
}

/* ---- after BUSY ---- */

/* Answer the requests first, because no foreign code may run before; then grant and wake. */
static void combine_grant(volt_combiner_ *t) {
  for (volt_request_ *r = t->answered, *older; r; r = older) {
    older = r->older;
    volt_variant_grant_(&r->node, VOLT_WAITER_GRANTED_);
  }
  volt_publish_(t->batch.claims, t->batch.count, NULL);
}

/* The batch was full. Returns true if there is still something to do and no other thread will do
 * it: then BUSY is set again. */
static bool combine_come_back(volt_combiner_ *t) {
  volt_combining_sem *sem = t->sem;
  uint64_t word = volt_load_relaxed(&sem->word); /* a guess: the CAS decides */
  for (;;) {
    uint64_t next = word - DIRTY(1);
    if ((word & (QUEUED | BUSY)) == QUEUED && ((word & CLOSED) || PERMITS_IN(word) > 0)) {
      /* combine:L1 <- combine:U1, combine:F1: the FIFO is as the last combiner left it, and permits
       * carry their releasers' past */
      if (volt_cas_acquire(&sem->word, &word, next | BUSY)) {
        combine_start(t, sem, next);
        return true;
      }
      /* combine:B1 -> combine:D1: destroy() comes after this access, which is the last */
    } else if (volt_cas_release(&sem->word, &word, next)) {
      return false;
    }
  }
}

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

/* ---- how to become the combiner, or to leave work to it ---- */

bool volt_combining_begin_(volt_combiner_ *t, volt_combining_sem *sem, uint64_t *word) {
  /* combine:L1 <- combine:U1, combine:F1: the FIFO is as the last combiner left it, and permits
   * carry their releasers' past */
  if (!volt_cas_acquire(&sem->word, word, *word | BUSY)) return false;
  combine_start(t, sem, *word);
  return true;
}

/* Push a waiter or a request on the inbox. From here it is the combiner's. */
static void combine_push(volt_combining_sem *sem, volt_waiter *node) {
  volt_waiter *top = volt_load_relaxed(&sem->inbox); /* a guess: the CAS decides */
  do {
    node->next = top;
    /* combine:P1 -> combine:P2: the combiner sees what is in the nodes it finds */
  } while (!volt_cas_weak_release(&sem->inbox, &top, node));
}

void volt_combining_sem_submit_(volt_combining_sem *sem, volt_waiter *node) {
  combine_push(sem, node);
  uint64_t word = volt_load_relaxed(&sem->word); /* a guess: the CAS decides */
  for (;;) {
    uint64_t next = word - DIRTY(1);
    if (word & BUSY) {
      /* combine:N1 -> combine:N2: the combiner, which sees that DIRTY was lowered, sees what was
       * pushed; combine:N1 -> combine:D1: destroy() comes after this access, which is the last */
      if (volt_cas_release(&sem->word, &word, next)) return;
      /* combine:L1 <- combine:U1, combine:F1: the FIFO is as the last combiner left it, and permits
       * carry their releasers' past */
    } else if (volt_cas_acquire(&sem->word, &word, next | BUSY)) {
      break;
    }
  }
  volt_combiner_ t;
  combine_start(&t, sem, word - DIRTY(1));
  t.looked = DIRTY_OF(word); /* there is news: the node of this thread */
  volt_combiner_run_(&t);
}

uint32_t volt_combining_sem_ask_(volt_combining_sem *sem, volt_request_ *r) {
  r->node.need = 0;
  r->node.wake = NULL;
  volt_store_relaxed(&r->node.state, VOLT_WAITER_PENDING_); /* published by P1, or not shared */
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
