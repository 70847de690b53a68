/* channel_life.c: the beginning and the end of a channel: init(); close(), futures that await it,
 * senders of which the last one closes the channel, and destroy(). And inspection.
 *
 * Algorithm: close() sets CLOSED, by a compare-and-swap or under the lock, and completes all
 * waiters batch by batch. Futures that await the close (watchers) have a FIFO of their own with a
 * monitor (monitor.h), because the channel's holds senders or receivers alone. The first watcher
 * sets WATCHED in the channel's word, for good. The closer sees WATCHED in the step that sets
 * CLOSED, and releases the watchers afterwards. Sends and receives keep the bit, and ignore it.
 *   Senders are a count. When the last sender is dropped, ENDED replaces the count, for good.
 *
 * Invariants, beside those of channel.c
 *   I5  a watcher is queued and not completed => the word is WATCHED and not CLOSED, or the closer
 *       is about to release the watchers
 *   I6  ENDED => the channel is closed, or the thread that has set ENDED is about to close it
 *
 * Races, beside those of channel.c
 *   R11 Interleaving: a watcher finds the channel open; the channel is closed, and all watchers are
 *       released; the watcher queues, and is never released. Prevented by: a watcher holds the
 *       watchers' lock while it sets WATCHED in a word that is not CLOSED; the closer takes that
 *       lock after it has set CLOSED.
 *   R12 Interleaving: a thread that sees the close destroys the channel before the closer has
 *       released the watchers, or completed the waiters of its next batch. Prevented by: the closer
 *       is counted (closing) before the word is CLOSED, and destroy waits for the count.
 *   R13 Interleaving: the last sender is dropped; another one is added, and finds itself on a
 *       channel that is being closed. Prevented by: both change one count, and ENDED stays.
 *   R14 Interleaving: the channel is closed; a watcher is polled before the closer has released it,
 *       and is pending while a new one is ready. Prevented by: the poll looks at the channel's
 *       word, and completes the watcher itself.
 *
 * Labels: channel */
#include "../core/future/future_ops.h"
#include "../core/inspect/describe.h"
#include "../core/os/check.h"
#include "../core/wait/fifo.h"
#include "../core/wait/monitor.h"
#include "channel_engine.h"

#define CLOSED VOLT_WORD_CLOSED_
#define WATCHED VOLT_CHAN_WATCHED_

/* ---- the beginning of its life ---- */

/* stride: bytes from slot to slot. The ring has 1 << shift slots. */
static void chan_layout(uint32_t capacity, size_t elem_bytes, size_t *stride, uint32_t *shift) {
  *stride = sizeof(volt_chan_slot) + ((elem_bytes + 7) & ~(size_t)7);
  *shift = 0;
  while ((UINT32_C(1) << *shift) < capacity) *shift += 1;
}

size_t volt_chan_bytes(uint32_t capacity, size_t elem_bytes) {
  size_t stride;
  uint32_t shift;
  if (capacity == 0 || capacity > VOLT_CHAN_MAX || elem_bytes > UINT32_MAX / 2) return 0;
  chan_layout(capacity, elem_bytes, &stride, &shift);
  return stride > SIZE_MAX >> shift ? 0 : stride << shift;
}

int volt_chan_init(volt_chan *c, uint32_t capacity, size_t elem_bytes, void *mem,
                   size_t mem_bytes) {
  size_t bytes = volt_chan_bytes(capacity, elem_bytes);
  if (bytes == 0 || mem_bytes < bytes || !mem || (uintptr_t)mem % 8 != 0) return VOLT_EINVAL;
  size_t stride;
  chan_layout(capacity, elem_bytes, &stride, &c->shift);
  volt_fifo_init_(&c->queue, 0);
  c->slots = (unsigned char *)mem;
  c->capacity = capacity;
  c->elem_bytes = (uint32_t)elem_bytes;
  c->stride = (uint32_t)stride;
  volt_store_relaxed(&c->closing, 0); /* not shared yet */
  volt_store_relaxed(&c->senders, 0);
  volt_fifo_init_(&c->watchers, 0);
  for (uint32_t i = 0; i < UINT32_C(1) << c->shift; i++) {
    volt_chan_slot *slot = VOLT_CONSTRUCT_(volt_chan_slot, c->slots + (size_t)i * stride);
    volt_store_relaxed(&slot->sequence, 0); /* not shared yet */
  }
  return VOLT_OK;
}

/* ---- close ---- */

/* The word is CLOSED, and this close() is counted. */
static void chan_complete_watchers(volt_chan *c) {
  volt_monitor_ t;
  volt_monitor_enter_(&t, &c->watchers, VOLT_KIND_CHANNEL_);
  volt_monitor_release_all_(&t);
  volt_monitor_exit_(&t);
}

/* Count this close(), which uses *c after it has set CLOSED: destroy() waits until D2 (R12). */
static void chan_count_closer(volt_chan *c, bool *counted) {
  if (!*counted) volt_fetch_add_relaxed(&c->closing, 1); /* relaxed: published by C2 or U1 */
  *counted = true;
}

/* The lock is held, and the next word is CLOSED. Complete a batch of waiters. Releases the lock.
 * Returns whether waiters are left (R7). */
static bool chan_close_batch(volt_chan *c, uint64_t word, bool *counted) {
  volt_chan_batch_ b;
  b.count = 0;
  while (c->queue.head && b.count < VOLT_WAKE_BATCH) {
    b.claimed[b.count++] = volt_fifo_claim_(&c->queue, c->queue.head);
  }
  bool more = c->queue.head != NULL;
  if (more || (word & WATCHED)) chan_count_closer(c, counted);
  volt_fifo_unlock_(&c->queue, word);
  volt_count_claims_(VOLT_KIND_CHANNEL_, b.count, true);
  volt_waiters_grant_(b.claimed, b.count, VOLT_WAITER_CLOSED_);
  return more;
}

bool volt_chan_complete_closed_(volt_chan *c, volt_waiter *w) {
  /* relaxed: the lock, or the grant, carries what came before the close */
  bool closed = (volt_load_relaxed(&c->queue.word) & CLOSED) != 0;
  if (closed) volt_fifo_complete_(&c->queue, VOLT_KIND_CHANNEL_, w, VOLT_WAITER_CLOSED_); /* R10 */
  return closed;
}

/* Set CLOSED while no waiter is queued. Returns false: a waiter is queued, and the lock is held. */
static bool chan_close_unlocked(volt_chan *c, uint64_t *word, bool *counted) {
  while (!volt_fifo_lock_if_queued_(&c->queue, word)) {
    if (*word & WATCHED) chan_count_closer(c, counted);
    /* channel:C2 -> channel:C1: a thread that sees CLOSED sees what came before */
    if (volt_cas_release(&c->queue.word, word, *word | CLOSED)) return true;
  }
  return false;
}

void volt_chan_close(volt_chan *c) {
  uint64_t word;
  bool counted = false;
  VOLT_PROBE1(close, c);
  bool more = !chan_close_unlocked(c, &word, &counted);
  while (more) {
    more =
        chan_close_batch(c, word | CLOSED, &counted) && volt_fifo_lock_if_queued_(&c->queue, &word);
  }
  if (!counted) return;
  chan_complete_watchers(c);
  /* channel:D2 -> channel:D1: destroy() comes after this, the last access to *c (R12) */
  volt_fetch_add_release(&c->closing, (uint32_t)-1);
}

/* ---- futures that await the close ---- */

/* The watchers' lock is held. Set WATCHED. Returns false: the channel is closed. */
static bool chan_watch(volt_chan *c) {
  for (;;) {
    /* channel:C1 <- channel:C2, channel:P1, fifo:U1: the watcher sees what came before the close */
    uint64_t word = volt_load_acquire(&c->queue.word);
    if (word & CLOSED) return false;
    if (word & WATCHED) return true; /* R11 */
    if (volt_fifo_lock_if_queued_(&c->queue, &word)) {
      volt_fifo_unlock_(&c->queue, word | WATCHED);
    } else {
      /* relaxed, no data: the next round looks whether the bit is set */
      (void)volt_cas_relaxed(&c->queue.word, &word, word | WATCHED);
    }
  }
}

static volt_chan *chan_closed_object(volt_future *f) {
  return volt_container_of(f->object, volt_chan, watchers);
}

static int chan_closed_start(volt_future *f, volt_waker waker) {
  volt_chan *c = chan_closed_object(f);
  volt_monitor_ t;
  volt_monitor_lock_(&t, &c->watchers, VOLT_KIND_CHANNEL_);
  int result = chan_watch(c) ? volt_monitor_append_(&t, &f->waiter, waker) : (int)VOLT_OK;
  volt_monitor_unlock_(&t);
  return result;
}

/* R14 */
static bool chan_closed_due(volt_future *f) {
  volt_chan *c = chan_closed_object(f);
  /* channel:C1 <- channel:C2, channel:P1, fifo:U1: the watcher sees what came before the close */
  bool closed = (volt_load_acquire(&c->queue.word) & CLOSED) != 0;
  if (closed)
    volt_fifo_complete_(&c->watchers, VOLT_KIND_CHANNEL_, &f->waiter, VOLT_WAITER_GRANTED_);
  return closed;
}

static void chan_closed_give_back(volt_future *f) {
  (void)f; /* a grant gives nothing that could be given back */
}

static void chan_closed_describe(volt_future *f, volt_description_ *description) {
  volt_chan *c = chan_closed_object(f);
  description->object = c;
  if (description->is_granted) return;
  volt_describe_queue_(description, &c->watchers, VOLT_ENDS_UNKNOWN_);
  volt_chan_describe_(c, description);
}

static const volt_future_ops_ chan_closed_ops = {.operation = "volt_chan_closed",
                                                 .kind = VOLT_KIND_CHANNEL_,
                                                 .start = chan_closed_start,
                                                 .cancel = volt_monitor_future_cancel_,
                                                 .set_waker = volt_monitor_future_set_waker_,
                                                 .give_back = chan_closed_give_back,
                                                 .due = chan_closed_due,
                                                 .poll_ctx = volt_future_poll_leaf_any_,
                                                 .describe = chan_closed_describe};

volt_future *volt_chan_closed_future(volt_future *f, volt_chan *c) {
  return volt_future_make_(f, &chan_closed_ops, &c->watchers, 0);
}

/* ---- counted senders ---- */

#define ENDED UINT32_C(0x80000000)

int volt_chan_add_sender(volt_chan *c) {
  uint32_t seen = volt_load_relaxed(&c->senders); /* a guess: the CAS decides */
  do {
    if (seen & ENDED) return VOLT_ECLOSED;
    VOLT_CHECK(seen < ENDED - 1, volt_kind_api_(VOLT_KIND_CHANNEL_), "%p: too many senders (%u)",
               (void *)c, seen);
    /* relaxed, no data: the count says nothing of other memory */
  } while (!volt_cas_relaxed(&c->senders, &seen, seen + 1));
  return VOLT_OK;
}

void volt_chan_drop_sender(volt_chan *c) {
  uint32_t seen = volt_load_relaxed(&c->senders); /* a guess: the CAS decides */
  do {
    VOLT_CHECK(seen != 0 && !(seen & ENDED), volt_kind_api_(VOLT_KIND_CHANNEL_),
               "%p: a sender is dropped that was never added", (void *)c);
    /* channel:N1 <-> channel:N1: the last sender sees what those dropped before it did, and C2
     * passes that on; R13 */
  } while (!volt_cas_acq_rel(&c->senders, &seen, seen > 1 ? seen - 1 : ENDED));
  if (seen == 1) volt_chan_close(c); /* else *c may be gone */
}

uint32_t volt_chan_senders(const volt_chan *c) {
  return volt_load_relaxed(&c->senders) & ~ENDED; /* a snapshot */
}

/* ---- the end of its life ---- */

void volt_chan_destroy(volt_chan *c, void (*drop)(void *elem, void *ctx), void *ctx) {
  volt_unname_at_end_(c);
  unsigned spins = 0;
  /* channel:D1 <- channel:D2: a close() is done with *c (R12) */
  while (volt_load_acquire(&c->closing) != 0) volt_pause_(&spins);
  volt_monitor_destroy_(&c->watchers, VOLT_KIND_CHANNEL_);
  /* channel:P1 <- channel:P1, fifo:U1: all earlier claims are seen, as by a claim (R8) */
  uint64_t word = volt_load_acquire(&c->queue.word);
  VOLT_CHECK(!(word & VOLT_WORD_QUEUED_), volt_kind_api_(VOLT_KIND_CHANNEL_),
             "%p: destroyed while %u waiters are queued", (void *)c, volt_fifo_count_(&c->queue));
  volt_chan_ring_ ring = volt_chan_ring_of_(c);
  for (uint32_t i = 0; drop && i < volt_chan_len_in_(word); i++) {
    uint32_t position = volt_chan_head_in_(word) + i;
    volt_chan_slot *slot = volt_chan_slot_(ring, position);
    volt_chan_await_sequence_(slot, volt_chan_sequence_(ring, position) + 1);
    drop(volt_chan_elem_(slot), ctx);
  }
}

/* ---- inspection ---- */

void volt_chan_describe_(volt_chan *c, volt_description_ *description) {
  uint64_t word = volt_load_relaxed(&c->queue.word); /* a snapshot */
  volt_describe_state_(description, "%s%u of %u elements", word & CLOSED ? "closed, " : "",
                       volt_chan_len_in_(word), c->capacity);
}

uint32_t volt_chan_len(const volt_chan *c) {
  return volt_chan_len_in_(volt_load_relaxed(&c->queue.word)); /* a snapshot */
}

uint32_t volt_chan_capacity(const volt_chan *c) {
  return c->capacity;
}

uint32_t volt_chan_waiters(const volt_chan *c) {
  return volt_fifo_count_(&c->queue);
}

bool volt_chan_is_closed(const volt_chan *c) {
  /* channel:C1 <- channel:C2, channel:P1, fifo:U1: the caller sees what came before the close */
  return (volt_load_acquire(&c->queue.word) & CLOSED) != 0;
}
