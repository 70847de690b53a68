/* broadcast.h: every receiver receives every value.
 *
 * Values of one size go through a ring in the caller's memory, which keeps the newest `capacity` of
 * them. A send never waits: it overwrites the oldest value, whether it was received or not. A
 * receiver is a position in the stream of values, in the caller's memory. It gets every value that
 * is sent after it subscribed, in order. If a receiver is too slow, a receive returns VOLT_ELAGGED
 * and counts the values that were lost. There may be any number of senders and receivers; tasks,
 * threads and event loops wait in the same FIFO. Nothing is ever allocated.
 *
 *   static struct event memory[64];
 *   volt_broadcast events;
 *   volt_broadcast_init(&events, 64, sizeof(struct event), memory, sizeof memory);
 *
 *   volt_broadcast_receiver r;
 *   volt_broadcast_subscribe(&events, &r);
 *   for (;;) {
 *     int result = volt_broadcast_recv(&r, &event);
 *     if (result == VOLT_ECLOSED) break;
 *     if (result == VOLT_OK) use(&event);          else VOLT_ELAGGED: some were lost, go on
 *   }
 *
 * Values are copied with memcpy(), once for each receiver, under the broadcast's lock. They should
 * be small, and own nothing. All-zero is not valid: to send or to subscribe aborts. */
#ifndef VOLT_BROADCAST_H
#define VOLT_BROADCAST_H

#include "detail/fifo.h"
#include "future.h"

/* Members are private. */
typedef struct volt_broadcast {
  volt_fifo_ queue; /* waiters of receivers that have received every value */
  unsigned char *ring;
  size_t elem_bytes;
  uint32_t capacity;
  VOLT_PLAIN(uint64_t) tail; /* how many values were sent: the position of the next */
} volt_broadcast;
VOLT_SIZE_AT_MOST_(volt_broadcast, 64);

/* One receiver. It has one owner, which receives one value at a time. It may be moved, or just
 * forgotten, at any time but while a receive is pending. A copy of it is another receiver, at the
 * same position. Members are private. */
typedef struct volt_broadcast_receiver {
  volt_broadcast *broadcast;
  uint64_t next; /* the position of the value that it receives next */
  uint64_t lost;
} volt_broadcast_receiver;

VOLT_BEGIN_DECLS

/* ---- life ---- */

/* How many bytes of memory a ring of this capacity (1 or more) needs for values of elem_bytes (1 or
 * more).
 * Returns 0 if there can be no such ring. */
VOLT_API size_t volt_broadcast_bytes(uint32_t capacity, size_t elem_bytes);

/* Make *b an empty broadcast.
 * mem: the caller's, mem_bytes of any alignment; the broadcast's until volt_broadcast_destroy().
 * Returns VOLT_OK, or VOLT_EINVAL (capacity or elem_bytes is 0, mem is NULL, or mem_bytes is below
 *   volt_broadcast_bytes(); *b is untouched). */
VOLT_API VOLT_NODISCARD int volt_broadcast_init(volt_broadcast *b, uint32_t capacity,
                                                size_t elem_bytes, void *mem, size_t mem_bytes);

/* End its life, and that of its receivers. Frees nothing. No waiter may be queued (aborts), and no
 * thread may use *b or its receivers again. Waits for a send or a close that has more than 32
 * waiters to wake; so do not call it from a waker that this broadcast calls. */
VOLT_API void volt_broadcast_destroy(volt_broadcast *b);

/* ---- send ---- */

/* Send *elem to all receivers that there are. Never waits. If the ring is full, it overwrites the
 * oldest value.
 * elem: elem_bytes are copied.
 * Returns VOLT_OK (sent, also if there is no receiver), or VOLT_ECLOSED (nothing was sent).
 * Wakes: every waiter, oldest first, with nothing held, on this thread; those after the first 32
 *   possibly on another thread that uses the broadcast meanwhile.
 * Threads: any; not from a signal handler.
 * Order: releases what this thread did before to the threads that receive the value. */
VOLT_API int volt_broadcast_send(volt_broadcast *b, const void *elem);

/* ---- receive ---- */

/* Make *r a receiver of the values that are sent from now on.
 * r: the caller's memory; its content is overwritten. Threads: any. */
VOLT_API void volt_broadcast_subscribe(volt_broadcast *b, volt_broadcast_receiver *r);

/* Receive the next value if it is there. Never waits.
 * elem: the caller's, elem_bytes; written if VOLT_OK.
 * Returns VOLT_OK (received), VOLT_EAGAIN (*r has received every value that was sent), VOLT_ELAGGED
 *   (nothing was received, because values were overwritten: they are counted in
 *   volt_broadcast_lost(), and the next receive begins with the oldest value in the ring), or
 *   VOLT_ECLOSED (closed, and *r has received every value).
 * Threads: the owner of *r. Order: VOLT_OK acquires what the value's sender did before. */
VOLT_API VOLT_NODISCARD int volt_broadcast_try_recv(volt_broadcast_receiver *r, void *elem);

/* Receive the next value, or queue *w until it is there.
 * w: the caller's memory, unused or completed; must stay where it is while queued.
 * elem: as of volt_broadcast_try_recv(); only used in this call.
 * Returns VOLT_OK, VOLT_ELAGGED or VOLT_ECLOSED (as volt_broadcast_try_recv(); *w unused), or
 *   VOLT_PENDING (queued). A queued receive completes with VOLT_OK: call volt_broadcast_try_recv()
 *   again. Or it completes with VOLT_ECLOSED. volt_waiter_result() says which.
 * Wakes: waker, exactly once, on the thread that sends or closes, with nothing held.
 * Cancel: volt_broadcast_cancel().
 * Threads: the owner of *r. Order: as volt_broadcast_try_recv(). */
VOLT_API VOLT_NODISCARD int volt_broadcast_recv_waiter(volt_broadcast_receiver *r, volt_waiter *w,
                                                       void *elem, volt_waker waker);

/* Receive the next value; block this thread until it is there or the deadline has passed.
 * elem: as of volt_broadcast_try_recv().
 * deadline_ns: as volt_now_ns(); a time in the past: do not wait; VOLT_NO_DEADLINE: for ever.
 * volt_broadcast_recv() has no deadline: it waits for as long as that takes.
 * Returns VOLT_OK, VOLT_ELAGGED or VOLT_ECLOSED (as volt_broadcast_try_recv()), or VOLT_ETIMEDOUT
 *   (nothing was received).
 * Threads: the owner of *r, if it may block. Order: as volt_broadcast_try_recv(). */
VOLT_API VOLT_NODISCARD int volt_broadcast_recv_until(volt_broadcast_receiver *r, void *elem,
                                                      uint64_t deadline_ns);
VOLT_INLINE VOLT_NODISCARD int volt_broadcast_recv(volt_broadcast_receiver *r, void *elem) {
  return volt_broadcast_recv_until(r, elem, VOLT_NO_DEADLINE);
}

/* Receiving as a future. The poll that returns VOLT_OK copies the value. A future that is given up
 * before, or loses a select, leaves *r where it was; if values were overwritten, the next receive
 * reports them.
 * f: not WAITING; its content is overwritten. r, elem: the caller's, until the future is ready.
 * Returns f. It polls as volt_broadcast_recv_waiter() returns; as VOLT_EAGAIN if the value that it
 *   waited for was received with *r by another call meanwhile. */
VOLT_API VOLT_NODISCARD volt_future *volt_broadcast_recv_future(volt_future *f,
                                                                volt_broadcast_receiver *r,
                                                                void *elem);

/* Give up waiting.
 * w: last passed to volt_broadcast_recv_waiter() with this receiver (or never used).
 * Returns true: cancelled, no wake will come. Returns false: too late, *w has completed; its one
 *   wake has come or will come. Either way nothing was received: *r is where it was.
 * Threads: the owner of *w; that wake may come from within. */
VOLT_API VOLT_NODISCARD bool volt_broadcast_cancel(volt_broadcast_receiver *r, volt_waiter *w);

/* ---- close ---- */

/* Allow no more sends: every later one returns VOLT_ECLOSED. A receiver gets the values that were
 * sent before, then VOLT_ECLOSED. Closing twice does nothing more.
 * Wakes: every waiter; they complete with VOLT_ECLOSED.
 * Threads: any; not from a signal handler.
 * Order: releases what this thread did before to the threads that get VOLT_ECLOSED. */
VOLT_API void volt_broadcast_close(volt_broadcast *b);

/* ---- inspection of a receiver, by its owner ---- */

/* How many values this receiver has lost since it subscribed. Threads: the owner of *r. */
VOLT_API uint64_t volt_broadcast_lost(const volt_broadcast_receiver *r);

/* How many values this receiver can receive. If no more are sent meanwhile, so many receives in a
 * row return VOLT_OK; if volt_broadcast_lag() is above 0, one VOLT_ELAGGED comes first.
 * Threads: the owner of *r. Order: acquires what the values' senders did before. */
VOLT_API uint64_t volt_broadcast_len(const volt_broadcast_receiver *r);

/* How many values were overwritten before this receiver has received them. The next VOLT_ELAGGED
 * adds so many to volt_broadcast_lost().
 * Threads: the owner of *r. */
VOLT_API uint64_t volt_broadcast_lag(const volt_broadcast_receiver *r);

/* ---- inspection: snapshots; any thread ---- */

/* How many values were sent. Order: acquires what their senders did before. */
VOLT_API uint64_t volt_broadcast_sent(const volt_broadcast *b);
/* Whether volt_broadcast_close() was called. Order: true acquires what the closer did before. */
VOLT_API bool volt_broadcast_is_closed(const volt_broadcast *b);
/* How many receivers wait. */
VOLT_API uint32_t volt_broadcast_waiters(const volt_broadcast *b);

VOLT_END_DECLS
#endif
