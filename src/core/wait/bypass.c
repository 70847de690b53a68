/* bypass.c: the engine of a mutex or rwlock whose oldest waiter up to `bypass` callers may pass.
 *
 * Algorithm
 *   The object is idle from a grant until the granted waiter runs. So a release here leaves the
 *   object free instead, and nudges the head, the oldest waiter: it calls the head's waker so that
 *   its owner looks. Until the owner looks, callers that do not queue may take the object and give
 *   it back, by one compare-and-swap each. Each caller that takes it lowers LEFT. The release that
 *   finds LEFT at 0 grants the object to the head, and calls no waker, because the nudge was the
 *   head's wake. An owner that looks takes the object if it is free. If not, it registers its waker
 *   again and sets LEFT to 0. So a waiter looks in vain once at most; then it is granted the object
 *   as in permits.c.
 *   A release nudges the head only if its owner looks (w->data). Two kinds of waiters do not look:
 *   a waiter of volt_mutex_lock_waiter(), whose waker means "granted", and a waiter that a condition
 *   variable has moved. They are granted the object, and while one of them is the head, no caller
 *   passes it.
 *   A mutex is a rwlock without readers. A reader shares the object. A writer has it alone, as the
 *   holder of a mutex has. Only a writer is nudged. Readers at the head wait for a writer that is
 *   inside; its release admits them all, up to the next writer. A reader that passes the head
 *   lowers LEFT when it enters, so readers that overlap cannot keep the head out.
 *
 * The word, beside QUEUED, LOCKED and RETURNING (detail/fifo.h)
 *   value   What is held, also while QUEUED is set: 0, kind->full, or how many readers are inside.
 *   OPEN    The head is a writer whose owner looks.
 *   NUDGED  The head's waker has been called, or will be, and its owner has not looked yet.
 *   LEFT    While OPEN is set: how many callers may still pass the head. It is `bypass` when a
 *           waiter comes to be the head because the FIFO was empty, or because the head got the
 *           object. It stays as it is when the head was cancelled.
 *   The word is written by compare-and-swap from a word without LOCKED, and by the holder of the
 *   lock with a plain store. A word with LOCKED has QUEUED, so the inline paths never see LOCKED
 *   alone. A free object is 0, whatever `bypass` is.
 *
 * How long a waiter waits: while a waiter is the head, at most LEFT callers that do not queue get
 * the object (I5). A waiter with p before it waits for the present holder, for these p, and for at
 * most (p + 1) * `bypass` callers that pass. A waiter's time in the FIFO does not count, and no
 * clock is read: else each waiter of a long FIFO would count as starving, and no release would
 * leave the object free any more.
 *
 * Source: Linux (mutex: the woken waiter that fails once is handed the lock; rwsem: readers that
 * steal must not keep the count above zero), Go (sync.Mutex: normal and starving), and "Fissile
 * Locks" by Dice and Kogan (a queue that is bypassed a bounded number of times).
 *
 * Invariants, whenever the lock is free
 *   I1  If QUEUED is set and the value is 0, then OPEN and NUDGED are set and LEFT is above 0. So
 *       while the object is free, a waiter is on its way to it.
 *   I2  While QUEUED is set, and LEFT is 0 or OPEN is clear, the object goes to waiters only.
 *   I3  NUDGED is set exactly if the head's state is NUDGED. No other waiter has that state.
 *   I4  Each registration of a waker is settled once: by the call of a nudge, by the call of a
 *       grant, or by a cancel or a new waker that says so. A grant to a waiter that is NUDGED calls
 *       nothing.
 *   I5  While some waiter is the head, and since the last waiter got the object, at most `bypass`
 *       callers that did not queue get the object.
 *   I6  If the head is a reader, a writer is inside, or RETURNING counts a thread that will admit
 *       it (or the last reader inside admits it, if that one leaves before).
 *
 * Races
 *   R1  Interleaving: a caller takes the object while a release holds the lock and decides from the
 *       word that it has read. Prevented by: all others change the word by a compare-and-swap from
 *       a word without LOCKED.
 *   R2  Interleaving: a release leaves the object free, and no waiter was called. Prevented by: a
 *       release that does not take the lock frees the object only by a compare-and-swap from a word
 *       with NUDGED (I1).
 *   R3  Interleaving: the head looks in vain and clears NUDGED, while the holder frees the object
 *       because it has read NUDGED. Prevented by: both change the one word. NUDGED is cleared under
 *       the lock, in a word whose value is not 0.
 *   R4  Interleaving: a nudged head is cancelled while the object is free, and no other waiter
 *       knows. Prevented by: the cancel serves the next waiter under the same lock: it nudges that
 *       one, or grants it the object.
 *   R5  Interleaving: the waker of a nudge runs when the owner has cancelled, ended, and freed what
 *       the waker uses. Prevented by: the registration is open until the waker has run, and the
 *       owner waits for it as for a grant's. The nudge uses its copy of the waker, and nothing of
 *       the waiter, after it has released the lock.
 *   R6  Interleaving: the owner reads the result, which is pending because the waiter is NUDGED; a
 *       release grants the object and calls no waker; the owner reads that the state is not NUDGED,
 *       and sleeps. Prevented by: the owner reads whether the state is NUDGED first, and the result
 *       after that.
 *   R7  Interleaving: a cancel or a new waker meets a nudge, and the owner counts the registration
 *       as dropped although the waker is called. Prevented by: the state is read under the lock. If
 *       it is NUDGED, the registration is settled by the nudge; and a new waker is a look.
 *   R8  Interleaving: a release grants the object to a nudged head whose owner is about to lock, to
 *       look. Prevented by: `need` is 0 under the lock; then the owner waits for the grant.
 *   R9  Interleaving: the last reader leaves while a reader passes the head writer. Prevented by:
 *       the value and LEFT are in one word, so one compare-and-swap fails.
 *   R10 Interleaving: callers that pass make the compare-and-swap of a thread that wants the lock
 *       fail again and again. Prevented by: LEFT. Each head lets the word change 2 * `bypass` times
 *       at most.
 *   R11 Interleaving: a release frees the object; the nudged owner takes it, is its last user, and
 *       frees its memory; the release touches the object. Prevented by: the compare-and-swap, or
 *       the store that releases the lock, is the last access of a release.
 *   R12 Interleaving: more readers are admitted than a batch holds (permits.c R7). Prevented by: as
 *       there. In between, readers are still queued; a thread that gets the lock may admit them.
 *       destroy() waits for RETURNING. */
#include "bypass.h"

#include "../hooks/wait_times.h"
#include "../os/check.h"
#include "../park/blocker.h"
#include "../park/call.h"
#include "../park/spin.h"
#include "fifo.h"

#define QUEUED VOLT_WORD_QUEUED_
#define LOCKED VOLT_WORD_LOCKED_
#define OPEN VOLT_WORD_OPEN_
#define NUDGED VOLT_WORD_NUDGED_
#define LEFT VOLT_WORD_LEFT_
#define ALL_LEFT VOLT_WORD_ALL_LEFT_
#define RETURNING VOLT_WORD_RETURNING_

/* ---- what the word says ---- */

/* Whether a caller that does not queue may add `want` to the value. */
static bool bypass_has_room(const volt_bypass_kind_ *kind, uint64_t word, uint32_t want) {
  uint32_t value = VOLT_WORD_VALUE_(word);
  bool fits = want == kind->full ? value == 0 : value < kind->full - 1;
  return fits && (!(word & QUEUED) || ((word & OPEN) && (word & ALL_LEFT))); /* I2 */
}

/* The word after such a caller has taken the object. */
static uint64_t bypass_taken(uint64_t word, uint32_t want) {
  return word + VOLT_WORD_(want) - (word & QUEUED ? LEFT : 0); /* I5 */
}

/* Whether the object may become as `next` says without the lock. given: what is given back. */
static bool bypass_may_leave(const volt_bypass_kind_ *kind, uint64_t next, uint32_t given) {
  if (!(next & QUEUED)) return true;
  if (VOLT_WORD_VALUE_(next) != 0) return given == kind->share; /* the last reader serves */
  return (next & NUDGED) && (next & ALL_LEFT);                  /* R2 */
}

static void bypass_check_held(volt_fifo_ *q, const volt_bypass_kind_ *kind, uint64_t word,
                              uint32_t given) {
  uint32_t value = VOLT_WORD_VALUE_(word);
  bool held = given == kind->share ? value != 0 && value != kind->full : value == kind->full;
  VOLT_CHECK(held, volt_kind_api_(kind->kind), "%p: %s (%u given back, %u held)", (void *)q,
             kind->excess, given, value);
}

/* Whether the owner of *w looks when its waker is called. */
static bool bypass_may_look(const volt_fifo_ *q, const volt_waiter *w) {
  return w->data == (const void *)q;
}

/* Under the lock: the bits of the word that go with the head, if it has not been nudged. left: how
 * many may pass it, in LEFT. */
static uint64_t bypass_of_head(const volt_fifo_ *q, uint64_t left) {
  if (!q->head) return 0;
  return QUEUED | left | (bypass_may_look(q, q->head) ? OPEN : 0);
}

/* The same for a head that no caller has passed yet. */
static uint64_t bypass_of_new_head(volt_fifo_ *q, const volt_bypass_kind_ *kind) {
  return bypass_of_head(q, LEFT * volt_bypass_check_(volt_kind_api_(kind->kind), kind->budget(q)));
}

/* The bits of the word that do not depend on the head. */
static uint64_t bypass_without_head(uint64_t word) {
  return word & (VOLT_WORD_(UINT32_MAX) | VOLT_WORD_ALL_RETURNING_);
}

/* ---- serving; the lock is held ---- */

/* Call *w, the head, to look, and release the lock. word has a value of 0. */
static void bypass_nudge_and_unlock(volt_fifo_ *q, uint64_t word, volt_waiter *w) {
  volt_waker waker = volt_waiter_claim_(w).waker;     /* R5: a copy; *w stays in the FIFO */
  volt_store_relaxed(&w->state, VOLT_WAITER_NUDGED_); /* published by the unlock */
  volt_fifo_unlock_exact_(q, word | NUDGED);          /* R11 */
  if (waker.wake) waker.wake(waker.ctx);
}

/* Grant the object, whose value is 0, to *w alone, and release the lock. */
static void bypass_grant_and_unlock(volt_fifo_ *q, const volt_bypass_kind_ *kind, uint64_t word,
                                    volt_waiter *w) {
  volt_holdable_granted_(kind->holds, q, w);
  volt_claimed_ claimed = volt_fifo_claim_(q, w);
  if (word & NUDGED) claimed.waker.wake = NULL; /* I4: the nudge was its wake */
  volt_fifo_unlock_exact_(
      q, bypass_without_head(word) | VOLT_WORD_(kind->full) | bypass_of_new_head(q, kind));
  volt_count_claims_(kind->kind, 1, false);
  volt_waiters_grant_(&claimed, 1, VOLT_WAITER_GRANTED_);
}

/* Whether the head is a reader that may enter. */
static bool bypass_head_may_share(const volt_fifo_ *q, const volt_bypass_kind_ *kind,
                                  uint64_t word) {
  return q->head && q->head->want == kind->share && VOLT_WORD_VALUE_(word) != kind->full;
}

/* Admit readers from the head on, up to the next writer, and release the lock. */
static void bypass_admit_and_unlock(volt_fifo_ *q, const volt_bypass_kind_ *kind, uint64_t word) {
  for (bool again = true; again; word -= RETURNING) {
    volt_claimed_ batch[VOLT_WAKE_BATCH];
    unsigned count = 0;
    while (count < VOLT_WAKE_BATCH && bypass_head_may_share(q, kind, word)) {
      word += VOLT_WORD_(kind->share);
      VOLT_CHECK(VOLT_WORD_VALUE_(word) != kind->full, volt_kind_api_(kind->kind),
                 "%p: too many holders", (void *)q);
      batch[count++] = volt_fifo_claim_(q, q->head);
    }
    if (count > 0) word = bypass_without_head(word) | bypass_of_new_head(q, kind);
    again = bypass_head_may_share(q, kind, word);
    if (again) word += RETURNING; /* R12 */
    volt_fifo_unlock_exact_(q, word);
    volt_count_claims_(kind->kind, count, false);
    volt_waiters_grant_(batch, count, VOLT_WAITER_GRANTED_);
    if (!again || !volt_fifo_lock_again_(q, &word)) return; /* R12 */
  }
}

/* Give the object to the waiters that may have it now, and release the lock. word: what the word is
 * to be if no waiter may have it. */
static void bypass_serve_and_unlock(volt_fifo_ *q, const volt_bypass_kind_ *kind, uint64_t word) {
  volt_waiter *w = q->head;
  if (bypass_head_may_share(q, kind, word)) {
    bypass_admit_and_unlock(q, kind, word);
  } else if (!w || VOLT_WORD_VALUE_(word) != 0) {
    volt_fifo_unlock_exact_(q, word);
  } else if ((word & (OPEN | NUDGED)) == OPEN && (word & ALL_LEFT)) {
    bypass_nudge_and_unlock(q, word, w);
  } else {
    bypass_grant_and_unlock(q, kind, word, w);
  }
}

/* ---- the operations ---- */

int volt_bypass_try_(volt_fifo_ *q, const volt_bypass_kind_ *kind, uint32_t want) {
  for (unsigned spins = 0;;) {
    uint64_t word = volt_load_relaxed(&q->word); /* a guess: the CAS decides */
    if (!bypass_has_room(kind, word, want)) return VOLT_EAGAIN;
    if (word & LOCKED) { /* R1 */
      volt_pause_(&spins);
      /* bypass:A1 <- bypass:F1, fifo:U1, permits:F1: this thread sees what the last holders did */
    } else if (volt_cas_acquire(&q->word, &word, bypass_taken(word, want))) {
      return VOLT_OK;
    }
  }
}

/* data: what *w gets if it is queued; not NULL: its owner looks when its waker is called, by
 * bypass_set_waker(). */
static VOLT_INLINED_ int bypass_acquire(volt_fifo_ *q, const volt_bypass_kind_ *kind,
                                        volt_waiter *w, uint32_t want, volt_waker waker,
                                        void *data) {
  volt_waiter_check_unused_(kind->kind, w);
  uint64_t word;
  for (unsigned spins = 0;;) {
    if (volt_bypass_try_(q, kind, want) == VOLT_OK) return VOLT_OK;
    word = volt_load_relaxed(&q->word); /* a guess: the CAS decides */
    if (bypass_has_room(kind, word, want)) continue;
    VOLT_CHECK(want == kind->full || VOLT_WORD_VALUE_(word) != kind->full - 1,
               volt_kind_api_(kind->kind), "%p: too many holders", (void *)q);
    if (word & LOCKED) {
      volt_pause_(&spins);
      /* bypass:L1 <- bypass:F1, fifo:U1, permits:F1: the holder of the lock sees what the last
       * holder did, and publishes what releases did */
    } else if (volt_cas_acquire(&q->word, &word, word | QUEUED | LOCKED)) {
      break;
    }
  }
  w->data = data;
  volt_fifo_append_(q, w, want, 1, waker);
  volt_count_wait_(kind->kind);
  if (!(word & QUEUED)) word |= bypass_of_new_head(q, kind);
  volt_fifo_unlock_exact_(q, word);
  return VOLT_PENDING;
}

int volt_bypass_acquire_(volt_fifo_ *q, const volt_bypass_kind_ *kind, volt_waiter *w,
                         uint32_t want, volt_waker waker) {
  return bypass_acquire(q, kind, w, want, waker, NULL);
}

/* spent: of LEFT, how much is taken as spent. */
static void bypass_release(volt_fifo_ *q, const volt_bypass_kind_ *kind, uint32_t given,
                           uint64_t spent) {
  for (unsigned spins = 0;;) {
    uint64_t word = volt_load_relaxed(&q->word); /* a guess: the CAS decides */
    if (word & LOCKED) {                         /* R1 */
      volt_pause_(&spins);
      continue;
    }
    bypass_check_held(q, kind, word, given);
    uint64_t next = word - VOLT_WORD_(given);
    if (bypass_may_leave(kind, next & ~spent, given)) {
      /* R11: the last access to *q. bypass:F1 -> bypass:A1, bypass:L1, fifo:L1, permits:D1,
       * permits:T1: a thread that takes the object sees what this one did before */
      if (volt_cas_release(&q->word, &word, next)) return;
      /* bypass:L1 <- bypass:F1, fifo:U1, permits:F1: the holder of the lock sees what the last
       * holder did, and publishes what releases did */
    } else if (volt_cas_acquire(&q->word, &word, word | LOCKED)) {
      bypass_serve_and_unlock(q, kind, next & ~spent);
      return;
    }
  }
}

void volt_bypass_release_(volt_fifo_ *q, const volt_bypass_kind_ *kind, uint32_t given) {
  bypass_release(q, kind, given, 0);
}

void volt_bypass_release_fair_(volt_fifo_ *q, const volt_bypass_kind_ *kind, uint32_t given) {
  bypass_release(q, kind, given, ALL_LEFT);
}

bool volt_bypass_cancel_(volt_fifo_ *q, const volt_bypass_kind_ *kind, volt_waiter *w,
                         bool *was_nudged) {
  uint64_t word;
  *was_nudged = false;
  if (volt_waiter_result(w) != VOLT_PENDING ||
      !volt_fifo_lock_if_linked_(q, kind->kind, w, &word)) {
    return volt_waiter_result(w) == VOLT_ECANCELED; /* R8 */
  }
  *was_nudged = volt_bypass_is_nudged_(w); /* R7 */
  bool was_first = q->head == w;
  volt_count_cancel_(kind->kind);
  volt_fifo_withdraw_(q, w);
  if (was_first) {
    word = bypass_without_head(word) | bypass_of_head(q, word & ALL_LEFT);
    bypass_serve_and_unlock(q, kind, word); /* R4 */
  } else {
    volt_fifo_unlock_exact_(q, word);
  }
  return true;
}

/* As volt_waiter_set_waker(). If *w was nudged, its owner looks: it takes the object if that is
 * free (then this returns false, and the result of *w is VOLT_OK), or waits on with the new waker.
 * *was_nudged: the old waker was called for that, or will be. */
static VOLT_INLINED_ bool bypass_set_waker(volt_fifo_ *q, const volt_bypass_kind_ *kind,
                                           volt_waiter *w, volt_waker waker, bool *was_nudged) {
  uint64_t word;
  *was_nudged = false;
  if (volt_waiter_result(w) != VOLT_PENDING) return false;
  if (!volt_fifo_lock_if_linked_(q, kind->kind, w, &word)) return false; /* R8 */
  *was_nudged = volt_bypass_is_nudged_(w);                               /* R7 */
  if (*was_nudged && VOLT_WORD_VALUE_(word) == 0) {
    volt_fifo_remove_(q, w);
    volt_store_relaxed(&w->state, VOLT_WAITER_GRANTED_); /* its owner has granted it */
    word = bypass_without_head(word) | VOLT_WORD_(kind->full);
    volt_fifo_unlock_exact_(q, word | bypass_of_new_head(q, kind));
    volt_count_claims_(kind->kind, 1, false);
    return false;
  }
  volt_waiter_put_waker_(w, waker);
  if (*was_nudged) {
    volt_store_relaxed(&w->state, VOLT_WAITER_PENDING_); /* published by the unlock */
    word &= ~(NUDGED | ALL_LEFT);                        /* R3: the value is not 0 */
  }
  volt_fifo_unlock_exact_(q, word);
  return true;
}

void volt_bypass_move_(volt_fifo_ *q, const volt_bypass_kind_ *kind, volt_fifo_ *from,
                       uint64_t from_word, volt_waiter *last, uint32_t count) {
  uint64_t word;
  volt_fifo_move_(q, &word, from, from_word, last, count);
  volt_count_many_(kind->kind, VOLT_COUNTER_WAITS_, count);
  if (word & QUEUED) {
    volt_fifo_unlock_exact_(q, word);
  } else {
    bypass_serve_and_unlock(q, kind, word | bypass_of_new_head(q, kind));
  }
}

uint32_t volt_bypass_value_(const volt_fifo_ *q) {
  return VOLT_WORD_VALUE_(volt_load_relaxed(&q->word)); /* a snapshot */
}

/* ---- threads and fibers ---- */

/* Try to take the object for about 10 us. Returns false if the caller has to queue. */
static bool bypass_spin_and_take(volt_fifo_ *q, const volt_bypass_kind_ *kind, uint32_t want,
                                 uint64_t deadline_ns) {
  volt_spin_ spins = {0, 0};
  do {
    if (volt_bypass_try_(q, kind, want) == VOLT_OK) return true;
  } while (volt_spin_again_(&spins, deadline_ns));
  return false;
}

/* Each registration of the waker unparks once, by a nudge or by a grant. So this call waits for as
 * many unparks as there were registrations (R5). */
static int bypass_block(volt_fifo_ *q, const volt_bypass_kind_ *kind, uint32_t want, volt_waiter *w,
                        volt_parker *parker, uint64_t deadline_ns) {
  volt_waker waker = volt_parker_waker(parker);
  uint32_t registered = 1;
  bool was_nudged = false;
  const volt_call_ call = {.name = volt_kind_api_(kind->kind),
                           .kind = kind->kind,
                           .ops = kind->ops(),
                           .object = q,
                           .n = want,
                           .waiter = w};
  while (volt_park_in_(&call, parker, registered, deadline_ns) == VOLT_OK) {
    if (!bypass_set_waker(q, kind, w, waker, &was_nudged)) return volt_waiter_result(w);
    registered += 1; /* it has looked in vain */
  }
  bool cancelled = volt_bypass_cancel_(q, kind, w, &was_nudged);
  if (cancelled) volt_count_(kind->kind, VOLT_COUNTER_TIMEOUTS_);
  if (!cancelled || was_nudged) volt_park_out_(parker, registered); /* R7 */
  return cancelled ? VOLT_ETIMEDOUT : volt_waiter_result(w);
}

int volt_bypass_acquire_until_(volt_fifo_ *q, const volt_bypass_kind_ *kind, uint32_t want,
                               uint64_t deadline_ns) {
  volt_blocker_ *fiber = volt_fiber_blocker_();
#if VOLT_SIGHT /* the future notes that it is taken */
  if (fiber) return volt_future_suspend_(fiber, kind->ops(), q, want, deadline_ns);
#endif
  if (bypass_spin_and_take(q, kind, want, deadline_ns)) return VOLT_OK;
  if (fiber) return volt_future_suspend_(fiber, kind->ops(), q, want, deadline_ns);
  volt_waiter w = VOLT_WAITER_INIT;
  volt_parker parker = VOLT_PARKER_INIT;
  volt_waker waker = volt_parker_waker(&parker);
  void *data = want == kind->full ? q : NULL;
  if (bypass_acquire(q, kind, &w, want, waker, data) == VOLT_OK) return VOLT_OK;
  uint64_t since_ns = volt_wait_times_start_();
  int result = bypass_block(q, kind, want, &w, &parker, deadline_ns);
  volt_wait_times_stop_(kind->kind, q, since_ns);
  return result;
}

/* ---- futures ---- */

bool volt_bypass_future_cancel_(volt_future *f) {
  bool was_nudged = false;
  bool cancelled = volt_bypass_cancel_(volt_bypass_future_queue_(f), volt_bypass_future_kind_(f),
                                       &f->waiter, &was_nudged);
  volt_bypass_future_settle_(f, was_nudged); /* R7 */
  return cancelled;
}

void volt_bypass_future_give_back_(volt_future *f) {
  volt_holdable_returned_(f->ops->holds, f->object, volt_future_n_(f));
  volt_bypass_release_(volt_bypass_future_queue_(f), volt_bypass_future_kind_(f),
                       volt_future_n_(f));
}

int volt_bypass_future_poll_(volt_future *f, volt_ctx *ctx) {
  bool nudged = volt_future_is_waiting_(f) && volt_bypass_is_nudged_(&f->waiter);
  if (nudged && volt_bypass_future_set_waker_(f, ctx->waker)) { /* R6: before the result is read */
    volt_future_set_drop_(f, ctx->drop);
    ctx->registered += 1;
    return VOLT_PENDING;
  }
  return volt_future_poll_leaf_(f, ctx);
}

/* ---- what a future calls on its usual path: so it has its own copy of the operation ---- */

int volt_bypass_future_start_(volt_future *f, volt_waker waker) {
  volt_fifo_ *q = volt_bypass_future_queue_(f);
  const volt_bypass_kind_ *kind = volt_bypass_future_kind_(f);
  uint32_t want = volt_future_n_(f);
  return bypass_acquire(q, kind, &f->waiter, want, waker, want == kind->full ? q : NULL);
}

bool volt_bypass_future_set_waker_(volt_future *f, volt_waker waker) {
  bool was_nudged = false;
  bool replaced = bypass_set_waker(volt_bypass_future_queue_(f), volt_bypass_future_kind_(f),
                                   &f->waiter, waker, &was_nudged);
  volt_bypass_future_settle_(f, was_nudged); /* R7 */
  return replaced;
}
