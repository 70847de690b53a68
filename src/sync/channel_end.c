/* channel_end.c: futures that await the close of a channel, senders that close it by leaving, and
 * its destruction.
 *
 * Algorithm: futures that await the close (watchers) have a queue of their own, with turns
 * (monitor.h), because the FIFO has room for senders or receivers alone. The first watcher sets
 * WATCHED in the channel's word, for good. The closer finds WATCHED there in the step that makes
 * the word CLOSED, and opens the watchers' queue afterwards. Sends and receives keep the bit as it
 * is, and do not look at it.
 *   Senders are a count. When the last of them leaves, ENDED takes the place of 1, for good.
 *
 * Invariants
 *   I1  a watcher is queued and not told => the word is WATCHED and not CLOSED, or the closer is
 *       about to open the watchers' queue
 *   I2  ENDED => the channel is closed, or the thread that has set ENDED is about to close it
 *
 * Races
 *   R1  Interleaving: a watcher finds the channel open; the channel is closed, and all watchers are
 *       told; the watcher queues, and is never told. Prevented by: the watcher holds the lock of
 *       the watchers while it looks and sets WATCHED, by one step on the word that the closer
 *       changes; the closer takes that lock afterwards.
 *   R2  Interleaving: a thread that was told of the close destroys the channel while the closer has
 *       yet to tell the watchers. Prevented by: the closer is counted (closing) before the word is
 *       CLOSED, and destroy waits for the count.
 *   R3  Interleaving: the last sender leaves; another one is added, and finds itself on a channel
 *       that is being closed. Prevented by: both change one count, and ENDED is never taken back.
 *   R4  Interleaving: the channel is closed; a watcher is polled before the closer has told it, and
 *       is pending although a new one is ready. Prevented by: the poll looks at the channel's word,
 *       and tells the watcher itself, under the lock of the watchers.
 *
 * Pairs
 *   N1 (acq_rel) -> N1   the last sender sees what those did that left before it; C2 (channel.c)
 *                        hands it on to each thread that sees CLOSED
 *   C1 (acquire) <- C2, U1 (release), P1, D1 <- D2   as in channel.c
 *
 * Labels: channel */
#include "../core/check.h"
#include "../core/fifo.h"
#include "../core/future_ops.h"
#include "../core/monitor.h"
#include "channel_engine.h"

static const char name[] = VOLT_CHAN_NAME_;

#define CLOSED VOLT_WORD_CLOSED_
#define WATCHED VOLT_CHAN_WATCHED_

/* ---- close ---- */

/* The word is CLOSED, and c->closing counts this thread: tell those who await the close. */
static void chan_complete_watchers(volt_chan *c) {
  volt_monitor_ t;
  volt_monitor_enter_(&t, &c->watchers);
  volt_monitor_release_all_(&t);
  volt_monitor_exit_(&t);
}

/* It will need *c when it has said CLOSED: destroy() waits until D2. */
static void chan_count_closer(volt_chan *c, bool *counted) {
  if (!*counted) volt_fetch_add_relaxed(&c->closing, 1); /* published by C2, U1 */
  *counted = true;
}

/* The lock is held, and the word CLOSED: tell a batch. Returns whether there are more. */
static bool chan_close_batch(volt_chan *c, uint64_t word, bool *counted) {
  volt_chan_batch_ b;
  b.count = 0;
  while (c->queue.head && b.count < VOLT_WAKE_BATCH) {
    b.claimed[b.count++] = volt_fifo_claim_(&c->queue, c->queue.head);
  }
  bool more = c->queue.head != NULL;
  if (more || (word & WATCHED)) chan_count_closer(c, counted);
  volt_fifo_unlock_(&c->queue, word);
  volt_waiters_grant_(b.claimed, b.count, VOLT_WAITER_CLOSED_);
  return more;
}

bool volt_chan_complete_closed_(volt_chan *c, volt_waiter *w) {
  /* relaxed: the lock, or the grant, carries what came before the close */
  bool closed = (volt_load_relaxed(&c->queue.word) & CLOSED) != 0;
  if (closed) volt_fifo_complete_(&c->queue, name, w, VOLT_WAITER_CLOSED_); /* R10 */
  return closed;
}

/* Say CLOSED while nobody is queued. Returns false: somebody is, and the lock is held. */
static bool chan_close_unlocked(volt_chan *c, uint64_t *word, bool *counted) {
  while (!volt_fifo_lock_if_queued_(&c->queue, word)) {
    if (*word & WATCHED) chan_count_closer(c, counted);
    /* channel:C2 -> channel:C1: as in channel.c */
    if (volt_cas_release(&c->queue.word, word, *word | CLOSED)) return true;
  }
  return false;
}

void volt_chan_close(volt_chan *c) {
  uint64_t word;
  bool counted = false;
  bool more = !chan_close_unlocked(c, &word, &counted);
  while (more) {
    more =
        chan_close_batch(c, word | CLOSED, &counted) && volt_fifo_lock_if_queued_(&c->queue, &word);
  }
  if (!counted) return;
  chan_complete_watchers(c);
  /* channel:D2 -> channel:D1: the channel ends after a close() is done with it; the last of *c */
  volt_fetch_add_release(&c->closing, (uint32_t)-1);
}

/* ---- who awaits the close ---- */

/* Say that it is watched; the lock of the watchers is held. Returns false: it is closed. */
static bool chan_watch(volt_chan *c) {
  for (;;) {
    /* channel:C1 <- channel:C2, channel:P1, fifo:U1: as in channel.c */
    uint64_t word = volt_load_acquire(&c->queue.word);
    if (word & CLOSED) return false;
    if (word & WATCHED) return true; /* R1: who closes it takes the lock of the watchers later */
    if (volt_fifo_lock_if_queued_(&c->queue, &word)) {
      volt_fifo_unlock_(&c->queue, word | WATCHED);
    } else {
      /* relaxed: it says nothing but itself. Then look again */
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
  volt_monitor_look_(&t, &c->watchers);
  int result = chan_watch(c) ? volt_monitor_append_(&t, &f->waiter, waker) : (int)VOLT_OK;
  volt_monitor_unlock_(&t);
  return result;
}

/* R4 */
static bool chan_closed_due(volt_future *f) {
  volt_chan *c = chan_closed_object(f);
  /* channel:C1 <- channel:C2, channel:P1, fifo:U1: as in channel.c */
  bool closed = (volt_load_acquire(&c->queue.word) & CLOSED) != 0;
  if (closed) volt_fifo_complete_(&c->watchers, name, &f->waiter, VOLT_WAITER_GRANTED_);
  return closed;
}

static void chan_closed_give_back(volt_future *f) {
  (void)f; /* it has taken nothing */
}

static const volt_future_ops_ chan_closed_ops = {.name = name,
                                                 .start = chan_closed_start,
                                                 .cancel = volt_monitor_future_cancel_,
                                                 .set_waker = volt_monitor_future_set_waker_,
                                                 .give_back = chan_closed_give_back,
                                                 .due = chan_closed_due};

volt_future *volt_chan_closed_future(volt_future *f, volt_chan *c) {
  return volt_future_make_(f, &chan_closed_ops, &c->watchers, 0);
}

/* ---- counted senders ---- */

#define ENDED UINT32_C(0x80000000)

int volt_chan_add_sender(volt_chan *c) {
  uint32_t seen = volt_load_relaxed(&c->senders); /* a guess: the CAS decides */
  do {
    if (seen & ENDED) return VOLT_ECLOSED;
    VOLT_CHECK(seen < ENDED - 1, name, "%p: too many senders (%u)", (void *)c, seen);
    /* relaxed: it says nothing but itself */
  } while (!volt_cas_relaxed(&c->senders, &seen, seen + 1));
  return VOLT_OK;
}

void volt_chan_drop_sender(volt_chan *c) {
  uint32_t seen = volt_load_relaxed(&c->senders); /* a guess: the CAS decides */
  do {
    VOLT_CHECK(seen != 0 && !(seen & ENDED), name, "%p: a sender is dropped that was never added",
               (void *)c);
    /* channel:N1 <-> channel:N1: the last sender sees what those did that left before it; R3 */
  } while (!volt_cas_acq_rel(&c->senders, &seen, seen > 1 ? seen - 1 : ENDED));
  if (seen == 1) volt_chan_close(c); /* else it may be gone */
}

uint32_t volt_chan_senders(const volt_chan *c) {
  return volt_load_relaxed(&c->senders) & ~ENDED; /* a snapshot */
}

/* ---- the end of its life ---- */

void volt_chan_destroy(volt_chan *c, void (*drop)(void *elem, void *ctx), void *ctx) {
  unsigned spins = 0;
  /* channel:D1 <- channel:D2: the channel ends after a close() is done with it */
  while (volt_load_acquire(&c->closing) != 0) volt_pause_(&spins);
  volt_monitor_destroy_(&c->watchers, name);
  /* channel:P1 <- channel:C1, channel:P1, fifo:U1: as in channel.c */
  uint64_t word = volt_load_acquire(&c->queue.word);
  VOLT_CHECK(!(word & VOLT_WORD_QUEUED_), name, "%p: destroyed while %u waiters are queued",
             (void *)c, volt_fifo_count_(&c->queue));
  volt_chan_ring_ ring = volt_chan_ring_of_(c);
  for (uint32_t i = 0; drop && i < volt_chan_len_in_(word); i++) {
    uint32_t position = volt_chan_head_in_(word) + i;
    volt_chan_slot *slot = volt_chan_slot_(ring, position);
    volt_chan_await_sequence_(slot, volt_chan_sequence_(ring, position) + 1);
    drop(volt_chan_elem_(slot), ctx);
  }
}
