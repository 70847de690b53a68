/* broadcast.h: every receiver receives every value.
 *
 * Values of one size go through a ring in the caller's memory that keeps the newest `capacity` of
 * them. A send never waits: it overwrites the oldest, whoever has received it. A receiver is a
 * position in the stream, in the caller's memory: it gets every value that was sent after it
 * subscribed, in order, or is told that it was too slow, and how many it has lost. Any number of
 * senders and receivers; tasks, threads and event loops wait in the same FIFO. Nothing is ever
 * allocated.
 *
 *   static struct event memory[64];
 *   volt_broadcast events;
 *   volt_broadcast_init(&events, 64, sizeof(struct event), memory, sizeof memory);
 *
 *   volt_broadcast_receiver r;
 *   volt_broadcast_subscribe(&events, &r);
 *   for (;;) {
 *     int result = volt_broadcast_recv_blocking(&r, &event, VOLT_NO_DEADLINE);
 *     if (result == VOLT_ECLOSED) break;
 *     if (result == VOLT_OK) use(&event);          else VOLT_ELAGGED: some were lost, go on
 *   }
 *
 * Values are copied with memcpy(), once for each receiver, while others wait: they should be small,
 * and own nothing. */
#ifndef VOLT_BROADCAST_H
#define VOLT_BROADCAST_H

#include "detail/fifo.h"
#include "future.h"

/* Members are private. */
typedef struct volt_broadcast {
  volt_fifo_ queue; /* of receivers that have received everything */
  unsigned char *ring;
  size_t elem_bytes;
  uint32_t capacity;
  VOLT_PLAIN(uint64_t) tail; /* how many were sent: the position of the next */
} volt_broadcast;
VOLT_SIZE_AT_MOST_(volt_broadcast, 64);

/* One receiver: of one owner, who receives one value at a time. It may be dropped, or moved, at any
 * time but while a receive is pending. A copy of it is another receiver, at the same position.
 * Members are private. */
typedef struct volt_broadcast_receiver {
  volt_broadcast *broadcast;
  uint64_t next; /* the position it is at */
  uint64_t lost;
} volt_broadcast_receiver;

VOLT_BEGIN_DECLS

/* ---- life ---- */

/* Bytes of memory for a ring of this capacity (1 or more) and values of elem_bytes (1 or more).
 * Returns 0 if there can be no such ring. */
VOLT_API size_t volt_broadcast_bytes(uint32_t capacity, size_t elem_bytes);

/* Make *b an empty broadcast.
 * mem: the caller's, mem_bytes of any alignment; the broadcast's until volt_broadcast_destroy().
 * Returns VOLT_OK, or VOLT_EINVAL (capacity or elem_bytes 0, mem NULL, mem_bytes below
 *   volt_broadcast_bytes()): then *b is untouched. */
VOLT_API VOLT_NODISCARD int volt_broadcast_init(volt_broadcast *b, uint32_t capacity,
                                                size_t elem_bytes, void *mem, size_t mem_bytes);

/* End its life, and that of its receivers. Nobody may be waiting (aborts) or use it again. Waits
 * for a send or a close that has more than 32 receivers to tell; so not from a waker that this
 * broadcast calls. */
VOLT_API void volt_broadcast_destroy(volt_broadcast *b);

/* ---- send ---- */

/* Send *elem to all receivers there are. Never waits; overwrites the oldest value of a full ring.
 * elem: elem_bytes are copied.
 * Returns VOLT_OK, also if there is no receiver, or VOLT_ECLOSED: nothing was sent.
 * Wakes: everybody who waits, oldest first, with nothing held, on this thread; those beyond the
 *   first 32 possibly on another one that uses the broadcast meanwhile.
 * Threads: any; not from a signal handler. Order: releases what this thread did before to whoever
 *   receives the value. */
VOLT_API int volt_broadcast_send(volt_broadcast *b, const void *elem);

/* ---- receive ---- */

/* Make *r a receiver of what is sent from now on.
 * r: the caller's memory; its content is overwritten. Threads: any. */
VOLT_API void volt_broadcast_subscribe(volt_broadcast *b, volt_broadcast_receiver *r);

/* Receive the next value if it is there.
 * elem: the caller's, elem_bytes; written if VOLT_OK.
 * Returns VOLT_OK (received), VOLT_EAGAIN (everything was received), VOLT_ELAGGED (nothing was
 *   received: values were overwritten; volt_broadcast_lost() has counted them, and the next receive
 *   begins with the oldest that is left), or VOLT_ECLOSED (closed, and everything was received).
 * Threads: the owner of *r. Order: acquires what the value's sender did before. */
VOLT_API VOLT_NODISCARD int volt_broadcast_try_recv(volt_broadcast_receiver *r, void *elem);

/* Receive the next value, or queue *w to be told when it is there.
 * w: the caller's memory, unused or completed; must stay where it is while queued.
 * elem: as of volt_broadcast_try_recv(); only used in this call.
 * Returns VOLT_OK, VOLT_ELAGGED or VOLT_ECLOSED (*w unused) as volt_broadcast_try_recv(), or
 *   VOLT_PENDING (queued). A queued receive completes with VOLT_OK: there is something to look at,
 *   by volt_broadcast_try_recv(); or with VOLT_ECLOSED: volt_waiter_result().
 * Wakes: waker, exactly once, on the thread that sends or closes, with nothing held.
 * Cancel: volt_broadcast_cancel(). Threads: the owner of *r.
 * Order: as volt_broadcast_try_recv(). */
VOLT_API VOLT_NODISCARD int volt_broadcast_recv(volt_broadcast_receiver *r, volt_waiter *w,
                                                void *elem, volt_waker waker);

/* Receive the next value; block this thread until it is there or the deadline has passed.
 * deadline_ns: as volt_now_ns(); a time in the past: do not wait; VOLT_NO_DEADLINE: for ever.
 * Returns VOLT_OK, VOLT_ELAGGED, VOLT_ECLOSED, or VOLT_ETIMEDOUT (nothing received).
 * Threads: the owner of *r, if it may block. */
VOLT_API VOLT_NODISCARD int volt_broadcast_recv_blocking(volt_broadcast_receiver *r, void *elem,
                                                         uint64_t deadline_ns);

/* Receiving as a future. The value is copied by the poll that returns VOLT_OK; given up before, or
 * the loser of a select, it leaves *r where it was, and what it has lost is told by the next
 * receive.
 * f: not WAITING; its content is overwritten. r, elem: the caller's, until the future is ready.
 * Returns f. It polls as volt_broadcast_recv() returns; as VOLT_EAGAIN if what it waited for was
 *   received with *r by other means meanwhile. */
VOLT_API volt_future *volt_broadcast_recv_future(volt_future *f, volt_broadcast_receiver *r,
                                                 void *elem);

/* Give up waiting.
 * w: last passed to volt_broadcast_recv() with this receiver (or never used).
 * Returns true: cancelled, no wake will come. Returns false: too late, it has completed; its one
 *   wake has come or will come. Either way nothing was received: *r is where it was.
 * Threads: the owner of *w; that wake may come from within. */
VOLT_API VOLT_NODISCARD bool volt_broadcast_cancel(volt_broadcast_receiver *r, volt_waiter *w);

/* No more sends: every later one returns VOLT_ECLOSED. Receivers get what was sent before, then
 * VOLT_ECLOSED. Closing twice does nothing more.
 * Wakes: everybody who waits; they complete with VOLT_ECLOSED. Threads: any; not from a signal
 *   handler. Order: who sees VOLT_ECLOSED acquires what the closer did before. */
VOLT_API void volt_broadcast_close(volt_broadcast *b);

/* How many values this receiver has lost since it subscribed. Threads: the owner of *r. */
VOLT_API uint64_t volt_broadcast_lost(const volt_broadcast_receiver *r);

/* How many values there are for this receiver to receive. If no more are sent meanwhile, so many
 * receives in a row return VOLT_OK; if volt_broadcast_lag() is above 0, one VOLT_ELAGGED comes
 * first.
 * Threads: the owner of *r. Order: acquires what the values' senders did before. */
VOLT_API uint64_t volt_broadcast_len(const volt_broadcast_receiver *r);

/* How many values were overwritten before this receiver has received them: what the next
 * VOLT_ELAGGED will add to volt_broadcast_lost(). Threads: the owner of *r. */
VOLT_API uint64_t volt_broadcast_lag(const volt_broadcast_receiver *r);

/* ---- inspection: snapshots; any thread ---- */

/* How many were sent. Order: acquires what their senders did before. */
VOLT_API uint64_t volt_broadcast_sent(const volt_broadcast *b);
/* Whether volt_broadcast_close() has been called. Order: acquires what the closer did. */
VOLT_API bool volt_broadcast_is_closed(const volt_broadcast *b);
/* How many receivers wait. */
VOLT_API uint32_t volt_broadcast_waiters(const volt_broadcast *b);

VOLT_END_DECLS
#endif
