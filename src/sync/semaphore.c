/* semaphore.c: the permits of permits.h, with a limit that may change.
 *
 * Algorithm: how many permits exist is counted nowhere. When the limit changes, the word changes by
 * the difference. A waiter that wants all permits reads the limit each time it is served at the
 * head of the FIFO. A release of a bounded semaphore compares the word with the limit before it
 * changes the word, by a compare-and-swap or under the FIFO's lock. So does a forget.
 *
 * Invariants
 *   I6  reached >= the permits that exist: held, in the pool, or set aside (without those that were
 *       released beside the limit). It equals the limit while no thread is changing the limit.
 *   I7  Of a bounded semaphore: limit >= the permits that exist, and they are equal while no thread
 *       is changing the limit. So a permit that is neither in the pool nor set aside is held, and
 *       can be released.
 *
 * Races
 *   R9  Interleaving: a waiter that wants all is granted as many as the limit, and another thread
 *       has one more permit. Prevented by: when the limit rises, reached rises before the permits
 *       exist; when it falls, reached falls after they are gone.
 *   R10 Interleaving: a waiter that wants all reads reached and queues while reached falls, and no
 *       release comes that would serve it. Prevented by: a thread that lowers reached changes the
 *       word afterwards, by 0. If that comes before the waiter's own change of the word, the waiter
 *       sees the lower value. If it comes later, it finds the waiter queued and serves it.
 *   R11 Interleaving: a waiter gets all permits because another thread forgets those it holds, and
 *       does not see what that thread did before. Prevented by: a thread that lowers reached
 *       changes the word before, by 0 at least. The waiter reads reached under the FIFO's lock. If
 *       reached is lower by then, that change of the word came before the lock was taken, and was
 *       acquired with it (A1, L1 in permits.c). That change of the word acquires, too: so the
 *       relaxed change of reached cannot be seen before it.
 *   R12 Interleaving: a thread has lowered the limit and not yet taken the difference from the
 *       word; another thread forgets more than the limit, so that some of its permits just
 *       disappear; the difference becomes an excess that no release will reduce. Prevented by: a
 *       thread that lowers the limit, or forgets, keeps the limit locked until the word has
 *       changed as well. No waker runs meanwhile: waiters are served afterwards.
 *   R14 Interleaving: a release reads the word; the limit falls, and takes permits from the word;
 *       the release reads the limit, and finds that it gives too much. Prevented by: the release
 *       looks again with the limit locked. (A forget has it locked already.) Under the FIFO's lock
 *       there is no such gap: the word stays as it is, and the limit rises before the word does and
 *       falls after it, so I7 holds for what the release reads.
 *   R15 Interleaving: a holder releases, and then reads whether a thread wants permits back; that
 *       thread writes that it does, lowers the limit, and then reads the excess; neither sees what
 *       the other did. Prevented by: both change the word in between, and both acquire. If the
 *       release comes first, its permits, and what came before it, are there when the excess is
 *       read. If the limit comes first, the releaser sees what was written before.
 *   R16 Interleaving: several threads change the limit at once. Prevented by: each changes the word
 *       by the difference from the limit that it replaces. The sum is right in any order.
 *
 * Labels: permits */
#define VOLT_NO_PLACES /* where its caller stands stays noted */
#include <volt/semaphore.h>

#include "../core/hooks/holding.h"
#include "../core/inspect/describe.h"
#include "../core/os/check.h"
#include "../core/park/spin.h"
#include "../core/wait/permits.h"
#include "semaphore_limit.h"

static volt_sem *sem_of(const volt_waiter *w) {
  return volt_container_of((volt_fifo_ *)(void *)w->queue, volt_sem, queue);
}

/* The result of acquire_all: w->want, as sem_serve_all() has left it. */
static uint32_t sem_taken(const volt_waiter *w) {
  return w->want;
}

/* Serve *w, the head, which wants all permits: what it has gathered becomes available again, then
 * it takes as many as the limit, or gathers what is available. */
static bool sem_serve_all(volt_waiter *w, uint32_t *available) {
  volt_sem *sem = sem_of(w);
  uint32_t all = volt_load_relaxed(&sem->reached); /* R10: if it falls later, *w is served again */
  if ((int32_t)all < 0) all = 0;                   /* R16: it was lowered before it was raised */
  *available += volt_permits_gathered_(w);
  int32_t there = (int32_t)*available;
  if (there >= (int32_t)all) {
    w->want = all;
    w->need = 0;
    *available -= all;
    return all == 0 || *available > 0;
  }
  uint32_t gathered = there > 0 ? *available : 0;
  w->want = all > 0 ? all : 1; /* I5: 0 < need while it is linked */
  w->need = w->want - gathered;
  *available -= gathered;
  return false;
}

/* Whether *w wants all permits, of a limit of 0. */
static bool sem_wants_none(const volt_waiter *w) {
  if (!w || !volt_sem_limit_wants_all_(w)) return false;
  volt_sem *sem = sem_of(w);
  return (int32_t)volt_load_relaxed(&sem->reached) <= 0; /* R10 */
}

static bool sem_serve(volt_waiter *w, uint32_t *available) {
  if (volt_sem_limit_wants_all_(w)) return sem_serve_all(w, available);
  return volt_permits_serve_(w, available) || (w->need == 0 && sem_wants_none(w->next));
}

#if VOLT_SIGHT
static const volt_holdable_ sem_holdable = {.kept = offsetof(volt_sem, kept)};
#endif

static volt_permits_bound_fn_ sem_bound;
static const volt_future_ops_ *sem_ops(void);
static const volt_permit_kind_ sem_kind = {.kind = VOLT_KIND_SEMAPHORE_,
                                           .excess = "release past VOLT_SEM_MAX",
                                           .full = 0,
                                           .max = VOLT_SEM_MAX,
                                           .shared = 0,
                                           .serve = sem_serve,
                                           .bound = sem_bound,
                                           .ops = sem_ops,
                                           .holds = VOLT_HOLDS_(&sem_holdable)};

static void sem_all_describe(volt_future *f, volt_description_ *description) {
  volt_sem *sem = volt_container_of((volt_fifo_ *)f->object, volt_sem, queue);
  volt_describe_queue_(description, &sem->queue, VOLT_ENDS_HOLDERS_);
  if (description->is_granted) return;
  uint32_t limit = volt_load_relaxed(&sem->limit); /* a snapshot, like what follows */
  uint32_t there = volt_permits_available_(&sem->queue, &sem_kind);
  if (limit > 0) {
    volt_describe_state_(description, "%u of %u free", there, limit);
  } else {
    volt_describe_state_(description, "%u free", there);
  }
}

static void sem_describe(volt_future *f, volt_description_ *description) {
  description->wanted = volt_future_n_(f);
  sem_all_describe(f, description);
}

static VOLT_INLINED_ int sem_start_fast(volt_future *f, const volt_waker *waker) {
  return volt_permit_future_start_fast_(f, &sem_kind, waker);
}

static int sem_poll_ctx(volt_future *f, volt_ctx *ctx);
static const volt_permit_future_ops_ sem_future_ops = VOLT_PERMIT_FUTURE_OPS_(
    "volt_sem_acquire", VOLT_KIND_SEMAPHORE_, &sem_kind, sem_poll_ctx, sem_describe, &sem_holdable);

static const volt_future_ops_ *sem_ops(void) {
  return &sem_future_ops.base;
}

static int sem_poll_ctx(volt_future *f, volt_ctx *ctx) {
  return volt_leaf_poll_ctx_(f, ctx, &sem_future_ops.base, sem_start_fast);
}

extern inline int volt_sem_try_acquire(volt_sem *, uint32_t);
extern inline int volt_sem_acquire_waiter(volt_sem *, volt_waiter *, uint32_t, volt_waker);
extern inline int volt_sem_acquire_until(volt_sem *, uint32_t, uint64_t);
extern inline void volt_sem_release(volt_sem *, uint32_t);
extern inline int volt_sem_acquire_all(volt_sem *, uint32_t *);
extern inline int volt_sem_acquire(volt_sem *, uint32_t);

void volt_sem_init(volt_sem *sem, uint32_t permits) {
  VOLT_CHECK(permits <= VOLT_SEM_MAX, "volt_sem_init", "%p: %u permits, at most %u", (void *)sem,
             permits, VOLT_SEM_MAX);
  volt_fifo_init_(&sem->queue, permits);
  volt_store_relaxed(&sem->limit, permits); /* not shared yet */
  volt_store_relaxed(&sem->reached, permits);
  volt_permits_init_(&sem->kept);
}

void volt_sem_init_bounded(volt_sem *sem, uint32_t permits) {
  volt_sem_init(sem, permits);
  volt_store_relaxed(&sem->queue.word,
                     VOLT_WORD_(permits) | VOLT_WORD_BOUNDED_); /* not shared yet */
}

int volt_sem_acquire_waiter_slow_(volt_sem *sem, volt_waiter *w, uint32_t n, volt_waker waker) {
  return volt_holdable_note_call_(&sem_holdable, sem, n,
                                  volt_permits_acquire_(&sem->queue, &sem_kind, w, n, waker));
}

int volt_sem_acquire_until_slow_(volt_sem *sem, uint32_t n, uint64_t deadline_ns) {
  volt_check_blocks_("volt_sem_acquire_until", deadline_ns);
  return volt_holdable_note_blocking_(
      &sem_holdable, sem, n, volt_permits_acquire_until_(&sem->queue, &sem_kind, n, deadline_ns));
}

volt_future *volt_sem_acquire_future(volt_future *f, volt_sem *sem, uint32_t n) {
  return volt_future_make_(f, &sem_future_ops.base, &sem->queue, n);
}

bool volt_sem_cancel(volt_sem *sem, volt_waiter *w) {
  return volt_permits_cancel_(&sem->queue, &sem_kind, w);
}

void volt_sem_release_slow_(volt_sem *sem, uint32_t n) {
  volt_permits_release_fast_(&sem->queue, &sem_kind, n);
}

/* Take permits that are in the pool, n at most. Returns how many. */
static uint32_t sem_take_up_to(volt_sem *sem, uint32_t n) {
  uint64_t word = volt_load_relaxed(&sem->queue.word); /* a guess: the CAS decides */
  while ((word & VOLT_WORD_QUEUED_) == 0 && (int32_t)VOLT_WORD_VALUE_(word) > 0) {
    uint32_t taken = VOLT_WORD_VALUE_(word) < n ? VOLT_WORD_VALUE_(word) : n;
    uint64_t next = word - VOLT_WORD_(taken);
    /* permits:T1 <- permits:F1, fifo:U1: permits carry their releasers' past */
    if (volt_cas_weak_acquire(&sem->queue.word, &word, next)) {
      volt_permits_took_(sem, taken);
      return taken;
    }
  }
  return 0;
}

uint32_t volt_sem_drain(volt_sem *sem) {
  return sem_take_up_to(sem, UINT32_MAX);
}

/* ---- acquire all ---- */

int volt_sem_acquire_all_waiter(volt_sem *sem, volt_waiter *w, volt_waker waker) {
  int result = volt_sem_limit_acquire_all_(&sem->queue, &sem_kind, w, &waker);
  return volt_holdable_note_call_(&sem_holdable, sem, sem_taken(w), result);
}

uint32_t volt_sem_taken(const volt_waiter *w) {
  return sem_taken(w);
}

static VOLT_INLINED_ int sem_all_begin(volt_future *f, const volt_waker *waker) {
  return volt_sem_limit_acquire_all_((volt_fifo_ *)f->object, &sem_kind, &f->waiter, waker);
}

static int sem_all_start(volt_future *f, volt_waker waker) {
  return sem_all_begin(f, &waker);
}

static void sem_all_give_back(volt_future *f) {
  volt_permits_release_((volt_fifo_ *)f->object, &sem_kind, sem_taken(&f->waiter));
}

static int sem_all_poll_ctx(volt_future *f, volt_ctx *ctx);

static const volt_permit_future_ops_ sem_all_ops = {
    .base = {.operation = "volt_sem_acquire_all",
             .kind = VOLT_KIND_SEMAPHORE_,
             .start = sem_all_start,
             .cancel = volt_permit_future_cancel_,
             .set_waker = volt_permit_future_set_waker_,
             .give_back = sem_all_give_back,
             .due = volt_permit_future_due_,
             .poll_ctx = sem_all_poll_ctx,
             .describe = sem_all_describe,
             .holds = VOLT_HOLDS_(&sem_holdable)},
    .kind = &sem_kind};

static int sem_all_poll_ctx(volt_future *f, volt_ctx *ctx) {
  return volt_leaf_poll_ctx_(f, ctx, &sem_all_ops.base, sem_all_begin);
}

volt_future *volt_sem_acquire_all_future(volt_future *f, volt_sem *sem) {
  return volt_future_make_(f, &sem_all_ops.base, &sem->queue, 0);
}

uint32_t volt_sem_future_taken(const volt_future *f) {
  return sem_taken(&f->waiter);
}

int volt_sem_acquire_all_until(volt_sem *sem, uint32_t *taken, uint64_t deadline_ns) {
  volt_check_blocks_("volt_sem_acquire_all_until", deadline_ns);
  volt_future f;
  int result = volt_future_wait_until(volt_sem_acquire_all_future(&f, sem), deadline_ns);
  if (taken) *taken = result == VOLT_OK ? volt_sem_future_taken(&f) : 0;
  return result;
}

/* ---- the limit ---- */

/* Set in the limit while a thread has it locked. */
#define LIMIT_LOCKED (VOLT_SEM_MAX + 1)

/* Lock the limit. Returns it. */
static uint32_t sem_limit_lock(volt_sem *sem) {
  for (unsigned spins = 0;;) {
    uint32_t limit = volt_load_relaxed(&sem->limit); /* a guess: the CAS decides */
    if (limit & LIMIT_LOCKED) {
      volt_pause_(&spins);
      /* permits:H1 <- permits:H2: a thread that locks the limit sees the word as the last one left
       * it (R14). R12 and R16 need it by the letter of C11 only, because the changes of the word are
       * RMWs, each on what the one before has left */
    } else if (volt_cas_acquire(&sem->limit, &limit, limit | LIMIT_LOCKED)) {
      return limit;
    }
  }
}

/* Unlock the limit, and set it. */
static void sem_limit_unlock(volt_sem *sem, uint32_t limit) {
  /* permits:H2 -> permits:H1: the next thread sees the word as this one left it */
  volt_store_release(&sem->limit, limit);
}

/* Whether so many permits may be given to those that are there (I7). there: in the pool or set
 * aside; below zero, the excess. */
static bool sem_fits(uint32_t limit, uint32_t given, int32_t there) {
  return (int64_t)there + given <= (int64_t)limit;
}

static void sem_check_fits(volt_sem *sem, uint32_t limit, uint32_t given, int32_t there) {
  VOLT_CHECK(sem_fits(limit, given, there), volt_kind_api_(VOLT_KIND_SEMAPHORE_),
             "%p: more than is held (%u given back, %d there, limit %u)", (void *)sem, given, there,
             limit);
}

static bool sem_bound(volt_fifo_ *q, uint64_t word, uint32_t given, int32_t there) {
  volt_sem *sem = volt_container_of(q, volt_sem, queue);
  uint32_t limit = volt_sem_limit(sem);
  if (word & VOLT_WORD_QUEUED_) sem_check_fits(sem, limit, given, there); /* R14: under the lock */
  if (sem_fits(limit, given, there)) return true;
  limit = sem_limit_lock(sem);        /* R14 */
  word = volt_load_relaxed(&q->word); /* as the last change of the limit left it (H1), or later */
  if (!(word & VOLT_WORD_QUEUED_))
    sem_check_fits(sem, limit, given, (int32_t)VOLT_WORD_VALUE_(word));
  sem_limit_unlock(sem, limit);
  return false;
}

/* -n modulo 2^32: to subtract by an addition. */
static uint32_t sem_minus(uint32_t n) {
  return 0u - n;
}

/* The word has been changed already: n permits fewer exist. */
static void sem_lower_reached(volt_sem *sem, uint32_t n) {
  volt_fetch_add_relaxed(&sem->reached, sem_minus(n)); /* R10: the next line publishes it */
  volt_sem_limit_change_(&sem->queue, &sem_kind, 0);
}

void volt_sem_set_limit(volt_sem *sem, uint32_t limit) {
  VOLT_CHECK(limit <= VOLT_SEM_MAX, "volt_sem_set_limit", "%p: %u permits, at most %u", (void *)sem,
             limit, VOLT_SEM_MAX);
  uint32_t before = sem_limit_lock(sem);
  /* R9, R12: while the limit is locked */
  if (limit < before) volt_sem_limit_lower_(&sem->queue, &sem_kind, before - limit);
  sem_limit_unlock(sem, limit);
  if (limit > before) {
    volt_fetch_add_relaxed(&sem->reached, limit - before); /* R9: the next line publishes it */
    volt_sem_limit_change_(&sem->queue, &sem_kind, (int32_t)(limit - before));
  } else if (limit < before) {
    sem_lower_reached(sem, before - limit);
  }
}

void volt_sem_forget(volt_sem *sem, uint32_t n) {
  if (n == 0) return;
  volt_permits_releasing_(sem, n, &sem->kept);
  uint32_t limit = sem_limit_lock(sem);
  uint32_t left = n - volt_sem_limit_reduce_excess_(&sem->queue, &sem_kind, n); /* R11, R12 */
  uint32_t fewer = left < limit ? left : limit;
  sem_limit_unlock(sem, limit - fewer);
  sem_lower_reached(sem, fewer);
}

uint32_t volt_sem_forget_up_to(volt_sem *sem, uint32_t n) {
  uint32_t taken = sem_take_up_to(sem, n); /* held by this call for a moment */
  volt_sem_forget(sem, taken);
  return taken;
}

uint32_t volt_sem_limit(const volt_sem *sem) {
  return volt_load_relaxed(&sem->limit) & VOLT_SEM_MAX; /* a snapshot */
}

uint32_t volt_sem_excess(const volt_sem *sem) {
  return volt_sem_limit_excess_(&sem->queue, &sem_kind);
}

void volt_sem_turn_away_(volt_sem *sem) {
  volt_sem_limit_turn_away_(&sem->queue, &sem_kind);
}

void volt_sem_close(volt_sem *sem) {
  volt_permits_close_(&sem->queue, &sem_kind);
}

void volt_sem_destroy(volt_sem *sem) {
  volt_unname_at_end_(sem);
  volt_permits_destroy_(&sem->queue, &sem_kind);
}

uint32_t volt_sem_available(const volt_sem *sem) {
  return volt_permits_available_(&sem->queue, &sem_kind);
}

uint32_t volt_sem_waiters(const volt_sem *sem) {
  return volt_fifo_count_(&sem->queue);
}

bool volt_sem_is_closed(const volt_sem *sem) {
  return volt_fifo_is_closed_(&sem->queue);
}
