/* budget.c: amounts of several kinds, granted together, oldest first.
 *
 * Algorithm
 *   All is plain memory under the lock of the FIFO (fifo.c). An operation takes the lock, changes
 *   the amounts, claims the waiters that can be completed now, releases the lock, grants them, and
 *   calls their wakers. While nothing special is on, the word is 0: then one compare-and-swap takes
 *   the lock, and a store of 0 releases it.
 *   A waiter holds nothing: w->data says what it asks for, and what it asks for is taken when it is
 *   claimed. So a cancel has nothing to give back.
 *   What is set aside for the oldest waiter is not noted anywhere. It follows from what is free and
 *   from what that waiter needs: of each kind the smaller of the two. A request that passes it may
 *   take what is free beyond (budget_fits()). When more comes back, more is set aside, up to the need.
 *   How often a waiter was passed is a difference of two counts: q->rest counts the requests that have
 *   passed all waiters, as newcomers do. w->want is that count when *w was queued, less the waiters
 *   from behind *w that have passed it. So a newcomer passes a queue of any length in one step.
 *
 * The word: as in detail/fifo.h. BOUNDED says that of some kind more is held than its limit, OPEN that
 *   a limit was lowered and a waiter may ask for more. The value is 0.
 *
 * Invariants, whenever the lock is free. n(w): what w needs of a kind; h: the oldest waiter.
 *   B1  Of each kind, `held` is what was granted less what was released, and free is limit - held, or 0 if
 *       that is below 0. If EXCESS is clear, it is not.
 *   B2  QUEUED is set exactly if the FIFO is not empty.
 *   B3  If RETURNING is 0, no waiter is left that can be granted: h lacks something (free < n(h) of
 *       some kind), and none of the first VOLT_BUDGET_REACH waiters that h may still be passed by fits
 *       into what h leaves. If a thread is counted in RETURNING, it will claim such waiters.
 *   B4  passed(w) = rest - w->want, modulo 2^32, is how many later requests were granted while w waited.
 *       It is not less than passed(v) of any waiter v behind w, and at most the bypass.
 *       Proof: w came first. So a request that came later than v and was granted passed w, too, and w
 *       may have been passed before v came. A request is granted out of order only while passed(h) is
 *       below the bypass, and h has the largest.
 *   B5  To pass h leaves unchanged what h lacks: max(n(h) - free, 0) of each kind.
 *       Proof: what passes takes a > 0 of a kind only if a <= free - n(h). Then n(h) <= free before,
 *       and n(h) <= free - a afterwards: h lacks 0 of it before and after.
 *   So what is released of a kind that h lacks goes to h alone, and h is granted by the release that
 *   brings the last of it, as it would be without any bypass. (A limit that is lowered takes from
 *   what is free, and h may lack again what those have that passed it.)
 *
 * Races
 *   R1  Interleaving: a request finds too little; a release finds no waiter and adds its amounts; the
 *       request queues beside free amounts, and sleeps. Prevented by: each looks and acts without
 *       releasing the lock in between.
 *   R2  Interleaving: a thread gets the amounts, or its waiter is completed, and frees the budget;
 *       the thread that released them touches it afterwards. Prevented by: the store that releases
 *       the lock is the last access, and waiters are granted after it. A thread that has to come
 *       back for a further batch is counted in RETURNING, and destroy() waits for it.
 *   R3  Interleaving: a future is granted, and is dropped before a poll has returned it; what it was
 *       granted is lost. Prevented by: the drop releases it.
 *   R4  Interleaving: a release has claimed a batch of waiters and calls their wakers; a newcomer
 *       takes what is left for the next waiters, which fit. Prevented by: while RETURNING counts a
 *       thread and a waiter is queued, a newcomer queues.
 *   R5  Interleaving: a cancel takes the oldest waiter out; what was set aside for it stays free,
 *       and the waiters behind it sleep although they fit. Prevented by: a cancel claims as a release
 *       does.
 *   R6  Interleaving: a waiter is granted; its owner changes or frees what it asked for; the granter
 *       reads that to take it. Prevented by: it is read and taken under the lock, before the claim.
 *   R7  Interleaving: a limit is lowered under what a waiter asks for, after that was found possible;
 *       it waits for ever, and all others behind it. Prevented by: what is possible is looked at under
 *       the lock, where the waiter is queued. A thread that lowers a limit sets OPEN, and examines all
 *       that are queued, VOLT_BUDGET_REACH in each critical section, and completes those that ask for too
 *       much. It is counted in RETURNING until it has come to the end, and all that comes back meanwhile
 *       does the same. Others leave it to them.
 *   R8  Interleaving: the budget is closed, or a limit is lowered; a waiting future is polled before
 *       the thread that did so has completed it, and stays pending, while a new one is refused.
 *       Prevented by: the poll sees CLOSED or OPEN, takes the lock, and completes the future, or waits
 *       for the thread that has claimed it. So OPEN stays until each refused waiter has completed: a
 *       thread that refuses comes back, and no other one clears OPEN meanwhile.
 *   R9  Interleaving: a thread has examined some waiters, and calls wakers; the waiter that is to be
 *       examined next is cancelled or granted, and freed; the thread comes back to it. Prevented by: what
 *       leaves the FIFO is not `unexamined` then: that is the next one. */
#include <volt/budget.h>

#include <inttypes.h>
#include <stdio.h>

#include "../core/future/future_ops.h"
#include "../core/future/leaf.h"
#include "../core/hooks/racy.h"
#include "../core/inspect/describe.h"
#include "../core/os/check.h"
#include "../core/park/spin.h"
#include "../core/wait/fifo.h"
#include "../core/wait/monitor.h"

#define QUEUED VOLT_WORD_QUEUED_
#define LOCKED VOLT_WORD_LOCKED_
#define CLOSED VOLT_WORD_CLOSED_
#define EXCESS VOLT_WORD_BOUNDED_
#define NARROWED VOLT_WORD_OPEN_
#define RETURNING VOLT_WORD_RETURNING_

/* ---- life ---- */

void volt_budget_init_bypass(volt_budget *b, uint32_t kinds, const uint64_t *limits, uint32_t k) {
  const char *api = volt_kind_api_(VOLT_KIND_BUDGET_);
  VOLT_CHECK(kinds >= 1 && kinds <= VOLT_BUDGET_KINDS, api, "%p: %u kinds, 1 to %u are possible",
             (void *)b, kinds, (unsigned)VOLT_BUDGET_KINDS);
  VOLT_CHECK(k <= VOLT_BUDGET_BYPASS_MAX, api, "%p: a bypass of %u, at most %u", (void *)b, k,
             VOLT_BUDGET_BYPASS_MAX);
  volt_fifo_init_(&b->queue, 0);
  b->kinds = kinds;
  b->bypass = k;
  for (uint32_t i = 0; i < VOLT_BUDGET_KINDS; i++) {
    uint64_t limit = i < kinds ? limits[i] : 0;
    VOLT_CHECK(limit <= VOLT_BUDGET_MAX, api,
               "%p: kind %u has a limit of %" PRIu64 ", at most %" PRIu64, (void *)b, i, limit,
               VOLT_BUDGET_MAX);
    b->held[i] = 0;
    b->limit[i] = limit;
    b->name[i] = NULL;
  }
  b->unexamined = NULL;
}

void volt_budget_init(volt_budget *b, uint32_t kinds, const uint64_t *limits) {
  volt_budget_init_bypass(b, kinds, limits, 0);
}

void volt_budget_destroy(volt_budget *b) {
  volt_unname_at_end_(b);
  volt_monitor_destroy_(&b->queue, VOLT_KIND_BUDGET_);
}

/* ---- amounts; the lock is held ---- */

/* Below zero: the excess. */
static int64_t budget_left(const volt_budget *b, uint32_t kind) {
  return (int64_t)((uint64_t)b->limit[kind] - b->held[kind]);
}

static uint64_t budget_free(const volt_budget *b, uint32_t kind) {
  return budget_left(b, kind) > 0 ? (uint64_t)budget_left(b, kind) : 0;
}

static const volt_amounts *budget_need(const volt_waiter *w) {
  return (const volt_amounts *)(void *)w->data;
}

/* Debug builds: abort if an amount is of a kind that there is not. */
static void budget_check_kinds(const volt_budget *b, const volt_amounts *amounts) {
#if VOLT_DEBUG
  for (uint32_t i = b->kinds; i < VOLT_BUDGET_KINDS; i++) {
    VOLT_CHECK(amounts->of[i] == 0, volt_kind_api_(VOLT_KIND_BUDGET_),
               "%p: %" PRIu64 " of kind %u, which it does not have: it has %u kinds",
               (const void *)b, amounts->of[i], i, b->kinds);
  }
#else
  (void)b;
  (void)amounts;
#endif
}

static void budget_check_kind(const volt_budget *b, uint32_t kind) {
  VOLT_CHECK(kind < b->kinds, volt_kind_api_(VOLT_KIND_BUDGET_), "%p: kind %u of %u",
             (const void *)b, kind, b->kinds);
}

static bool budget_is_nothing(const volt_budget *b, const volt_amounts *need) {
  uint64_t any = 0;
  for (uint32_t i = 0; i < b->kinds; i++) any |= need->of[i];
  return any == 0;
}

/* Whether no limit is below what is needed. Returns the number of kinds, or that of the first whose
 * limit is. */
static uint32_t budget_first_impossible(const volt_budget *b, const volt_amounts *need) {
  uint32_t i = 0;
  while (i < b->kinds && need->of[i] <= b->limit[i]) i++;
  return i;
}

static bool budget_is_possible(const volt_budget *b, const volt_amounts *need) {
  return budget_first_impossible(b, need) == b->kinds;
}

/* need is possible. Returns the number of kinds if it can be taken beside `aside`, which is possible,
 * or NULL: nothing is set aside (B5). Else the number of the first kind that is short. */
static uint32_t budget_first_short(const volt_budget *b, const volt_amounts *need,
                                   const volt_amounts *aside) {
  for (uint32_t i = 0; i < b->kinds; i++) {
    int64_t there = budget_left(b, i) - (aside ? (int64_t)aside->of[i] : 0);
    if (need->of[i] > 0 && (int64_t)need->of[i] > there) return i;
  }
  return b->kinds;
}

static bool budget_fits(const volt_budget *b, const volt_amounts *need, const volt_amounts *aside) {
  return budget_first_short(b, need, aside) == b->kinds;
}

static void budget_take(volt_budget *b, const volt_amounts *need) {
  for (uint32_t i = 0; i < b->kinds; i++) b->held[i] += need->of[i];
}

/* `first` kinds were not given back: undo the others, and release the lock, for those that handle the abort. */
static VOLT_NOINLINE VOLT_NORETURN void budget_refuse_release(volt_budget *b, uint64_t word,
                                                              const volt_amounts *amounts,
                                                              size_t first) {
  for (size_t i = first; i < b->kinds; i++) b->held[i] += amounts->of[i];
  uint32_t kind = (uint32_t)first - 1;
  const char *name = b->name[kind];
  uint64_t held = b->held[kind];
  volt_fifo_unlock_exact_(&b->queue, word);
  volt_panic_(volt_kind_api_(VOLT_KIND_BUDGET_),
              "%p: more is given back than is held, of kind %u%s%s (%" PRIu64
              " given back, %" PRIu64 " held)",
              (void *)b, kind, name ? ", " : "", name ? name : "", amounts->of[kind], held);
}

/* word: what the word was before the lock was taken. */
static VOLT_INLINED_ void budget_give(volt_budget *b, uint64_t word, const volt_amounts *amounts) {
  for (size_t i = b->kinds; i > 0; i--) {
    uint64_t held = b->held[i - 1], amount = amounts->of[i - 1];
    if (VOLT_UNLIKELY(amount > held)) budget_refuse_release(b, word, amounts, i);
    b->held[i - 1] = held - amount;
  }
}

/* word, with EXCESS as it is now. */
static uint64_t budget_note_excess(const volt_budget *b, uint64_t word) {
  bool is_excess = false;
  for (uint32_t i = 0; i < b->kinds; i++) is_excess = is_excess || b->held[i] > b->limit[i];
  return is_excess ? word | EXCESS : word & ~EXCESS;
}

/* ---- what waits; the lock is held ---- */

/* B4: how many later requests have passed *w. */
static uint32_t budget_passed(const volt_budget *b, const volt_waiter *w) {
  return b->queue.rest - w->want;
}

/* Whether the oldest waiter, *head, may be passed once more. */
static bool budget_may_pass(const volt_budget *b, const volt_waiter *head) {
  return budget_passed(b, head) < b->bypass;
}

/* *w, which is linked and not the first, passes all that are before it. */
static void budget_pass_to(volt_budget *b, const volt_waiter *w) {
  for (volt_waiter *v = b->queue.head; v != w; v = v->next) v->want -= 1; /* B4 */
}

/* *w is about to leave the FIFO. */
static void budget_leave(volt_budget *b, const volt_waiter *w) {
  if (b->unexamined == w) b->unexamined = w->next; /* R9 */
}

static volt_claimed_ budget_claim_one(volt_budget *b, volt_waiter *w) {
  budget_leave(b, w);
  return volt_fifo_claim_(&b->queue, w);
}

static volt_claimed_ budget_grant(volt_budget *b, volt_waiter *w) {
  budget_take(b, budget_need(w)); /* R6 */
  return budget_claim_one(b, w);
}

/* Claim waiters that can be granted, as many as the batch has room for. Returns how many. */
static unsigned budget_claim_granted(volt_budget *b, volt_claimed_ *batch) {
  unsigned count = 0, place = 1;
  while (b->queue.head && count < VOLT_WAKE_BATCH &&
         budget_fits(b, budget_need(b->queue.head), NULL)) {
    batch[count++] = budget_grant(b, b->queue.head);
  }
  volt_waiter *head = b->queue.head;
  if (!head) return count;
  for (volt_waiter *w = head->next, *next; w && place < VOLT_BUDGET_REACH; w = next, place++) {
    if (count == VOLT_WAKE_BATCH || !budget_may_pass(b, head)) break;
    next = w->next;
    if (!budget_fits(b, budget_need(w), budget_need(head))) continue;
    budget_pass_to(b, w);
    batch[count++] = budget_grant(b, w);
    place--;
  }
  return count;
}

/* The same, of waiters that ask for more than a limit, among the next VOLT_BUDGET_REACH that are to be
 * examined. */
static unsigned budget_claim_refused(volt_budget *b, volt_claimed_ *batch) {
  unsigned count = 0;
  for (unsigned i = 0; i < VOLT_BUDGET_REACH && count < VOLT_WAKE_BATCH; i++) {
    volt_waiter *w = b->unexamined;
    if (!w) break;
    b->unexamined = w->next;
    if (!budget_is_possible(b, budget_need(w))) batch[count++] = budget_claim_one(b, w);
  }
  return count;
}

/* The same, of all waiters: the budget is closed. */
static unsigned budget_claim_closed(volt_budget *b, volt_claimed_ *batch) {
  unsigned count = 0;
  while (b->queue.head && count < VOLT_WAKE_BATCH) {
    batch[count++] = budget_claim_one(b, b->queue.head);
  }
  return count;
}

/* Claim a batch of waiters that are to be completed now. Returns how many; *state is what they
 * complete with. examines: this thread lowers a limit, or comes back. */
static unsigned budget_claim(volt_budget *b, uint64_t *word, volt_claimed_ *batch, uint32_t *state,
                             bool examines) {
  if (*word & CLOSED) {
    *state = VOLT_WAITER_CLOSED_;
    return budget_claim_closed(b, batch);
  }
  if (examines && (*word & NARROWED)) { /* R7 */
    *state = VOLT_WAITER_REFUSED_;
    unsigned count = budget_claim_refused(b, batch);
    if (count > 0 || b->unexamined) return count;
    if (!(*word & VOLT_WORD_ALL_RETURNING_)) *word &= ~NARROWED; /* R8 */
  }
  *state = VOLT_WAITER_GRANTED_;
  return budget_claim_granted(b, batch);
}

/* Complete all waiters that can be completed now. examines: this thread lowers a limit. Releases the lock;
 * *b may be gone then (R2). */
static void budget_complete_and_unlock(volt_budget *b, uint64_t word, bool examines) {
  for (;; word -= RETURNING, examines = true) {
    volt_claimed_ batch[VOLT_WAKE_BATCH];
    uint32_t state;
    unsigned count = budget_claim(b, &word, batch, &state, examines);
    bool is_refusal = state == VOLT_WAITER_REFUSED_;
    bool again = is_refusal || (b->queue.head && count == VOLT_WAKE_BATCH);
    if (again) word += RETURNING;
    volt_fifo_unlock_(&b->queue, word); /* R2: if not again, the last access to *b */
    if (count > 0) {
      volt_count_claims_(VOLT_KIND_BUDGET_, count, state != VOLT_WAITER_GRANTED_);
      volt_waiters_grant_(batch, count, state);
    }
    if (!again) return;
    volt_fifo_check_returning_(word);
    volt_fifo_lock_(&b->queue, &word);
  }
}

static void budget_serve_and_unlock(volt_budget *b, uint64_t word) {
  budget_complete_and_unlock(b, word, false);
}

/* ---- acquire ---- */

/* Lock, if nothing at all is on: no waiter is queued, and nothing is in excess. */
static VOLT_INLINED_ bool budget_lock_idle(volt_budget *b) {
  return VOLT_LIKELY(volt_fifo_lock_from_(&b->queue, 0));
}

static VOLT_INLINED_ void budget_unlock_idle(volt_budget *b) {
  volt_fifo_unlock_exact_(&b->queue, 0);
}

/* The lock is held, and EXCESS is clear. Take what is needed, from the last kind on. Returns 0, or how many kinds
 * were not taken: of the last of those there is too little. */
static VOLT_INLINED_ size_t budget_take_idle(volt_budget *b, const volt_amounts *need) {
  for (size_t i = b->kinds; i > 0; i--) {
    uint64_t held = b->held[i - 1], wanted = need->of[i - 1];
    if (VOLT_UNLIKELY(wanted > b->limit[i - 1] - held)) return i;
    b->held[i - 1] = held + wanted;
  }
  return 0;
}

/* `first` kinds were not taken: give the others back, and release the lock. */
static void budget_untake_and_unlock(volt_budget *b, const volt_amounts *need, size_t first) {
  for (size_t i = first; i < b->kinds; i++) b->held[i] -= need->of[i];
  budget_unlock_idle(b);
}

/* Take these amounts if nothing is on and all are there. */
static bool budget_take_fast(volt_budget *b, const volt_amounts *need) {
  budget_check_kinds(b, need);
  if (!budget_lock_idle(b)) return false;
  size_t first = budget_take_idle(b, need);
  if (first > 0) {
    budget_untake_and_unlock(b, need, first);
  } else {
    budget_unlock_idle(b);
  }
  return first == 0;
}

/* The lock is held. Take what is needed if it may be taken now. */
static int budget_attempt(volt_budget *b, uint64_t word, const volt_amounts *need) {
  volt_fifo_ *q = &b->queue;
  if (word & CLOSED) return VOLT_ECLOSED;
  if (!budget_is_possible(b, need)) return VOLT_EINVAL;
  if (q->head) {
    if (word & VOLT_WORD_ALL_RETURNING_) return VOLT_EAGAIN; /* R4 */
    if (q->waiters >= VOLT_BUDGET_REACH || !budget_may_pass(b, q->head)) return VOLT_EAGAIN;
  }
  if (!budget_fits(b, need, q->head ? budget_need(q->head) : NULL)) return VOLT_EAGAIN;
  budget_take(b, need);
  if (q->head) q->rest += 1; /* B4: it has passed them all */
  return VOLT_OK;
}

static VOLT_NOINLINE int budget_try_slow(volt_budget *b, const volt_amounts *need) {
  if (budget_is_nothing(b, need)) return VOLT_OK;
  uint64_t word;
  volt_fifo_lock_(&b->queue, &word);
  int result = budget_attempt(b, word, need);
  volt_fifo_unlock_exact_(&b->queue, word);
  return result;
}

int volt_budget_try_acquire(volt_budget *b, const volt_amounts *need) {
  return budget_take_fast(b, need) ? (int)VOLT_OK : budget_try_slow(b, need);
}

static VOLT_NOINLINE int budget_acquire_slow(volt_budget *b, volt_waiter *w,
                                             const volt_amounts *need, volt_waker waker) {
  if (budget_is_nothing(b, need)) return VOLT_OK;
  uint64_t word;
  volt_fifo_lock_(&b->queue, &word);
  int result = budget_attempt(b, word, need);
  if (result == VOLT_EAGAIN) { /* R1 */
    w->data = (void *)(uintptr_t)need;
    volt_fifo_append_(&b->queue, w, b->queue.rest, 1, waker);
    volt_count_wait_(VOLT_KIND_BUDGET_);
    result = VOLT_PENDING;
  }
  volt_fifo_unlock_(&b->queue, word);
  return result;
}

int volt_budget_acquire_waiter(volt_budget *b, volt_waiter *w, const volt_amounts *need,
                               volt_waker waker) {
  volt_waiter_check_unused_(VOLT_KIND_BUDGET_, w);
  return budget_take_fast(b, need) ? (int)VOLT_OK : budget_acquire_slow(b, w, need, waker);
}

bool volt_budget_cancel(volt_budget *b, volt_waiter *w) {
  uint64_t word;
  if (volt_waiter_result(w) != VOLT_PENDING ||
      !volt_fifo_lock_if_linked_(&b->queue, VOLT_KIND_BUDGET_, w, &word)) {
    return volt_waiter_result(w) == VOLT_ECANCELED;
  }
  budget_leave(b, w);
  volt_fifo_withdraw_(&b->queue, w);
  volt_count_cancel_(VOLT_KIND_BUDGET_);
  budget_serve_and_unlock(b, word); /* R5 */
  return true;
}

/* ---- release, close, limits ---- */

static VOLT_NOINLINE void budget_release_slow(volt_budget *b, const volt_amounts *amounts) {
  uint64_t word;
  volt_fifo_lock_(&b->queue, &word);
  budget_give(b, word, amounts);
  if (word & EXCESS) word = budget_note_excess(b, word);
  budget_serve_and_unlock(b, word);
}

void volt_budget_release(volt_budget *b, const volt_amounts *amounts) {
  budget_check_kinds(b, amounts);
  if (budget_lock_idle(b)) {
    budget_give(b, 0, amounts);
    budget_unlock_idle(b); /* R2: the last access to *b */
  } else {
    budget_release_slow(b, amounts);
  }
}

void volt_budget_close(volt_budget *b) {
  uint64_t word;
  VOLT_PROBE1(close, &b->queue);
  volt_fifo_lock_(&b->queue, &word);
  budget_serve_and_unlock(b, word | CLOSED);
}

void volt_budget_set_limit(volt_budget *b, uint32_t kind, uint64_t limit) {
  uint64_t word;
  budget_check_kind(b, kind);
  VOLT_CHECK(limit <= VOLT_BUDGET_MAX, volt_kind_api_(VOLT_KIND_BUDGET_),
             "%p: kind %u has a limit of %" PRIu64 ", at most %" PRIu64, (void *)b, kind, limit,
             VOLT_BUDGET_MAX);
  volt_fifo_lock_(&b->queue, &word);
  bool is_lower = limit < b->limit[kind];
  b->limit[kind] = limit;
  if (is_lower) { /* R7 */
    word |= NARROWED;
    b->unexamined = b->queue.head;
  }
  budget_complete_and_unlock(b, budget_note_excess(b, word), is_lower);
}

/* ---- inspection ---- */

/* Take the lock to read. Returns the object; budget_read_end() releases it. */
static volt_budget *budget_read_begin(const volt_budget *inspected, uint64_t *word) {
  volt_fifo_ *q = volt_fifo_to_inspect_(&inspected->queue);
  volt_fifo_lock_(q, word);
  return volt_container_of(q, volt_budget, queue);
}

static void budget_read_end(volt_budget *b, uint64_t word) {
  volt_fifo_unlock_exact_(&b->queue, word);
}

void volt_budget_name_kind(volt_budget *b, uint32_t kind, const char *name) {
  uint64_t word;
  budget_check_kind(b, kind);
  volt_fifo_lock_(&b->queue, &word);
  b->name[kind] = name;
  volt_fifo_unlock_exact_(&b->queue, word);
}

uint64_t volt_budget_limit(const volt_budget *inspected, uint32_t kind) {
  uint64_t word;
  budget_check_kind(inspected, kind);
  volt_budget *b = budget_read_begin(inspected, &word);
  uint64_t limit = b->limit[kind];
  budget_read_end(b, word);
  return limit;
}

uint64_t volt_budget_held(const volt_budget *inspected, uint32_t kind) {
  uint64_t word;
  budget_check_kind(inspected, kind);
  volt_budget *b = budget_read_begin(inspected, &word);
  uint64_t held = b->held[kind];
  budget_read_end(b, word);
  return held;
}

uint64_t volt_budget_available(const volt_budget *inspected, uint32_t kind) {
  uint64_t word;
  budget_check_kind(inspected, kind);
  volt_budget *b = budget_read_begin(inspected, &word);
  uint64_t available = budget_free(b, kind);
  budget_read_end(b, word);
  return available;
}

static uint64_t budget_excess(const volt_budget *b, uint32_t kind) {
  int64_t left = budget_left(b, kind);
  return left < 0 ? (uint64_t)-left : 0;
}

uint64_t volt_budget_excess(const volt_budget *inspected, uint32_t kind) {
  uint64_t word;
  budget_check_kind(inspected, kind);
  volt_budget *b = budget_read_begin(inspected, &word);
  uint64_t excess = budget_excess(b, kind);
  budget_read_end(b, word);
  return excess;
}

uint32_t volt_budget_waiters(const volt_budget *b) {
  return volt_fifo_count_(&b->queue);
}

bool volt_budget_is_closed(const volt_budget *b) {
  return volt_fifo_is_closed_(&b->queue);
}

void volt_budget_inspect(const volt_budget *inspected, volt_budget_state *state) {
  uint64_t word;
  volt_budget *b = budget_read_begin(inspected, &word);
  const volt_waiter *head = b->queue.head;
  state->kinds = b->kinds;
  state->waiters = b->queue.waiters;
  state->counted = 0;
  state->passed = head ? budget_passed(b, head) : 0;
  state->is_closed = (word & CLOSED) != 0;
  for (uint32_t i = 0; i < VOLT_BUDGET_KINDS; i++) {
    volt_budget_kind *kind = &state->of[i];
    uint64_t wanted = head && i < b->kinds ? budget_need(head)->of[i] : 0;
    kind->name = b->name[i];
    kind->limit = b->limit[i];
    kind->held = b->held[i];
    kind->free = budget_free(b, i);
    kind->excess = budget_excess(b, i);
    kind->aside = wanted < kind->free ? wanted : kind->free;
    kind->waiters = 0;
  }
  for (const volt_waiter *w = head; w && state->counted < VOLT_BUDGET_REACH; w = w->next) {
    state->counted += 1;
    for (uint32_t i = 0; i < b->kinds; i++) {
      state->of[i].waiters += budget_need(w)->of[i] > state->of[i].free;
    }
  }
  budget_read_end(b, word);
}

/* "memory", or "kind 1". unnamed: of at least 16 bytes. */
static const char *budget_kind_name(const char *name, uint32_t kind, char *unnamed) {
  if (name) return name;
  (void)snprintf(unnamed, 16, "kind %u", kind);
  return unnamed;
}

int volt_budget_explain(const volt_budget *inspected, const volt_amounts *need, char *text,
                        size_t bytes) {
  uint64_t word;
  char unnamed[16];
  budget_check_kinds(inspected, need);
  bool is_nothing = budget_is_nothing(inspected, need);
  volt_budget *b = budget_read_begin(inspected, &word);
  uint32_t over = budget_first_impossible(b, need), kinds = b->kinds;
  uint32_t lacks = over < kinds ? over : budget_first_short(b, need, NULL);
  uint32_t behind = b->queue.waiters;
  bool is_closed = word & CLOSED;
  bool is_behind =
      b->queue.head &&
      ((word & VOLT_WORD_ALL_RETURNING_) || behind >= VOLT_BUDGET_REACH ||
       !budget_may_pass(b, b->queue.head) || !budget_fits(b, need, budget_need(b->queue.head)));
  uint32_t kind = lacks < kinds ? lacks : 0;
  const char *name = b->name[kind];
  uint64_t limit = b->limit[kind], there = budget_free(b, kind);
  budget_read_end(b, word);
  name = budget_kind_name(name, kind, unnamed);
  if (is_nothing) {
    (void)snprintf(text, bytes, "nothing is asked for");
    return VOLT_OK;
  }
  if (is_closed) {
    (void)snprintf(text, bytes, "the budget is closed");
    return VOLT_ECLOSED;
  }
  if (over < kinds) {
    (void)snprintf(text, bytes, "%s: %" PRIu64 " asked for, the limit is %" PRIu64, name,
                   need->of[kind], limit);
    return VOLT_EINVAL;
  }
  if (lacks < kinds) {
    (void)snprintf(text, bytes, "%s: %" PRIu64 " asked for, %" PRIu64 " of %" PRIu64 " free", name,
                   need->of[kind], there, limit);
    return VOLT_EAGAIN;
  }
  if (is_behind) {
    (void)snprintf(text, bytes, "%" PRIu32 " requests come first", behind);
    return VOLT_EAGAIN;
  }
  (void)snprintf(text, bytes, "all is there");
  return VOLT_OK;
}

/* ---- future ---- */

static volt_budget *budget_of(volt_future *f) {
  return volt_container_of((volt_fifo_ *)f->object, volt_budget, queue);
}

static int budget_start(volt_future *f, volt_waker waker) {
  volt_budget *b = budget_of(f);
  const volt_amounts *need = budget_need(&f->waiter);
  return budget_take_fast(b, need) ? (int)VOLT_OK : budget_acquire_slow(b, &f->waiter, need, waker);
}

static bool budget_future_cancel(volt_future *f) {
  return volt_budget_cancel(budget_of(f), &f->waiter);
}

static void budget_give_back(volt_future *f) {
  volt_budget_release(budget_of(f), budget_need(&f->waiter)); /* R3 */
}

static bool budget_due(volt_future *f) {
  volt_budget *b = budget_of(f);
  volt_waiter *w = &f->waiter;
  /* budget:P1 <- fifo:U1: where OPEN is clear again, the refused have completed (R8) */
  uint64_t word = volt_load_acquire(&b->queue.word);
  if (!(word & (CLOSED | NARROWED))) return volt_waiter_result(w) != VOLT_PENDING;
  if (!volt_fifo_lock_if_linked_(&b->queue, VOLT_KIND_BUDGET_, w, &word)) return true;
  bool is_closed = word & CLOSED;
  if (!is_closed && budget_is_possible(b, budget_need(w))) {
    volt_fifo_unlock_exact_(&b->queue, word);
    return false;
  }
  volt_claimed_ claimed = budget_claim_one(b, w); /* R8 */
  volt_fifo_unlock_(&b->queue, word);
  volt_count_claims_(VOLT_KIND_BUDGET_, 1, true);
  volt_claimed_grant_(claimed, is_closed ? VOLT_WAITER_CLOSED_ : VOLT_WAITER_REFUSED_);
  return true;
}

/* Which kind it waits for, as far as that can be seen without the lock. */
static void budget_describe(volt_future *f, volt_description_ *description) {
  if (description->is_granted) return;
  volt_budget *b = budget_of(f);
  const volt_amounts *need = budget_need(&f->waiter);
  volt_describe_queue_(description, &b->queue, VOLT_ENDS_UNKNOWN_);
  for (uint32_t i = 0; i < b->kinds; i++) {
    char unnamed[16];
    uint64_t held = volt_racy_load_64_(&b->held[i]), limit = volt_racy_load_64_(&b->limit[i]);
    const char *name = (const char *)volt_racy_load_pointer_(&b->name[i]);
    uint64_t there = held < limit ? limit - held : 0;
    if (need->of[i] <= there) continue;
    volt_describe_state_(description, "%s: %" PRIu64 " wanted, %" PRIu64 " of %" PRIu64 " free",
                         budget_kind_name(name, i, unnamed), need->of[i], there, limit);
    return;
  }
  volt_describe_state_(description, "others come first");
}

static int budget_poll_ctx(volt_future *f, volt_ctx *ctx);

static const volt_future_ops_ budget_ops = {.operation = "volt_budget_acquire",
                                            .kind = VOLT_KIND_BUDGET_,
                                            .start = budget_start,
                                            .cancel = budget_future_cancel,
                                            .set_waker = volt_monitor_future_set_waker_,
                                            .give_back = budget_give_back,
                                            .due = budget_due,
                                            .poll_ctx = budget_poll_ctx,
                                            .describe = budget_describe};

static int budget_poll_ctx(volt_future *f, volt_ctx *ctx) {
  return volt_leaf_poll_ctx_(f, ctx, &budget_ops, NULL);
}

volt_future *volt_budget_acquire_future(volt_future *f, volt_budget *b, const volt_amounts *need) {
  f->waiter.data = (void *)(uintptr_t)need;
  return volt_future_make_(f, &budget_ops, &b->queue, 0);
}

/* ---- blocking ---- */

extern inline int volt_budget_acquire(volt_budget *, const volt_amounts *);

/* Try, and spin for about 10 us. Returns VOLT_EAGAIN if the caller has to queue. */
static int budget_spin_and_take(volt_budget *b, const volt_amounts *need, uint64_t deadline_ns) {
  volt_spin_ spins = {0, 0};
  uint64_t hopeless =
      b->bypass > 0 ? LOCKED : QUEUED | LOCKED; /* what a try need not be made with */
  int result = volt_budget_try_acquire(b, need);
  while (result == VOLT_EAGAIN && volt_spin_again_(&spins, deadline_ns)) {
    uint64_t word = volt_load_relaxed(&b->queue.word); /* a hint */
    if (!(word & hopeless)) result = volt_budget_try_acquire(b, need);
  }
  return result;
}

static VOLT_NOINLINE int budget_block(volt_budget *b, const volt_amounts *need,
                                      uint64_t deadline_ns) {
  int result = budget_spin_and_take(b, need, deadline_ns);
  if (result != VOLT_EAGAIN) return result;
  volt_future f;
  return volt_future_wait_until(volt_budget_acquire_future(&f, b, need), deadline_ns);
}

/* The lock is held, and there was too little, as budget_take_idle() says. */
static VOLT_NOINLINE int budget_untake_and_block(volt_budget *b, const volt_amounts *need,
                                                 uint64_t deadline_ns, size_t first) {
  budget_untake_and_unlock(b, need, first);
  return budget_block(b, need, deadline_ns);
}

/* All calls are at the end, so that the usual path saves no registers. */
int volt_budget_acquire_until(volt_budget *b, const volt_amounts *need, uint64_t deadline_ns) {
  volt_check_blocks_("volt_budget_acquire_until", deadline_ns);
  budget_check_kinds(b, need);
  if (!budget_lock_idle(b)) return budget_block(b, need, deadline_ns);
  size_t first = budget_take_idle(b, need);
  if (VOLT_UNLIKELY(first > 0)) return budget_untake_and_block(b, need, deadline_ns, first);
  budget_unlock_idle(b);
  return VOLT_OK;
}
