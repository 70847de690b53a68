/* oneshot.h: one value, from one sender to one receiver.
 *
 * The answer to one request. The value is copied into a slot of the caller's, where the receiver
 * takes it out; so a receive that is given up, by a deadline or a select, leaves it there. The
 * sender never waits. Either side may give up, by volt_oneshot_close(): a receiver is told then
 * that nothing will come, a sender that nobody wants it. Nothing is ever allocated.
 *
 *   struct answer slot, answer;
 *   volt_oneshot reply;
 *   volt_oneshot_init(&reply, sizeof slot, &slot);
 *   ask_somebody(&reply);                                    who calls volt_oneshot_send()
 *   int r = volt_oneshot_recv_blocking(&reply, &answer, volt_deadline_ns(1000000));
 *
 * Lifetime: a send, or a close, does not touch the oneshot any more when the receiver is told:
 * whoever has received, or got VOLT_ECLOSED, may destroy it while that call is still returning
 * (with more than 32 waiters, volt_oneshot_destroy() waits for it). If there are other waiters,
 * none of them may be in a cancel, a set_waker, a further poll or the drop of a future, or a wait
 * with a deadline then: these look at the oneshot until they return. */
#ifndef VOLT_ONESHOT_H
#define VOLT_ONESHOT_H

#include "detail/fifo.h"
#include "future.h"

/* Members are private. */
typedef struct volt_oneshot {
  volt_fifo_ queue; /* of those who wait for a value, or for the end */
  void *slot;
  size_t elem_bytes;
  VOLT_PLAIN(uint32_t) state; /* nothing was sent, the slot is full, or it was received */
} volt_oneshot;
VOLT_SIZE_AT_MOST_(volt_oneshot, 64);

/* An empty one; slot: as of volt_oneshot_init(). */
#define VOLT_ONESHOT_INIT(elem_bytes, slot) \
  { VOLT_FIFO_INIT_(0), (slot), (size_t)(elem_bytes), 0 }

VOLT_BEGIN_DECLS

/* Make *o an empty oneshot for a value of elem_bytes (0: nothing but the signal).
 * slot: the caller's, elem_bytes of any alignment (NULL if that is 0); the oneshot's until
 *   volt_oneshot_destroy(). */
VOLT_API void volt_oneshot_init(volt_oneshot *o, size_t elem_bytes, void *slot);

/* End its life. Nobody may be waiting (aborts) or use it again. A value that was sent and not
 * received is forgotten: if it owns something, receive it first. */
VOLT_API void volt_oneshot_destroy(volt_oneshot *o);

/* Send the value. Never waits.
 * elem: elem_bytes are copied; NULL if that is 0.
 * Returns VOLT_OK, or VOLT_ECLOSED: it was closed, *elem is still the caller's. A second send after
 *   one that returned VOLT_OK aborts.
 * Wakes: everybody who waits, with nothing held, on this thread.
 * Threads: any; not from a signal handler. Order: releases what this thread did before to whoever
 *   receives the value. */
VOLT_API VOLT_NODISCARD int volt_oneshot_send(volt_oneshot *o, const void *elem);

/* Receive the value if it is there.
 * elem: the caller's, elem_bytes; NULL if that is 0.
 * Returns VOLT_OK (received), VOLT_EAGAIN (nothing was sent yet), or VOLT_ECLOSED (nothing will
 *   come: closed, or received before). Threads: any. Order: acquires what the sender did before. */
VOLT_API VOLT_NODISCARD int volt_oneshot_try_recv(volt_oneshot *o, void *elem);

/* Receive the value, or queue *w to be told when it is there.
 * w: the caller's memory, unused or completed; must stay where it is while queued.
 * elem: as of volt_oneshot_try_recv(); only used in this call.
 * Returns VOLT_OK (received; *w unused), VOLT_PENDING (queued), or VOLT_ECLOSED. A queued receive
 *   completes with VOLT_OK: the value lies in the slot, volt_oneshot_try_recv() takes it; or with
 *   VOLT_ECLOSED: volt_waiter_result().
 * Wakes: waker, exactly once, on the thread that sends or closes, with nothing held.
 * Cancel: volt_oneshot_cancel(). Threads: any. Order: as volt_oneshot_try_recv(). */
VOLT_API VOLT_NODISCARD int volt_oneshot_recv(volt_oneshot *o, volt_waiter *w, void *elem,
                                              volt_waker waker);

/* Receive the value; block this thread until it is there or the deadline has passed.
 * deadline_ns: as volt_now_ns(); a time in the past: do not wait; VOLT_NO_DEADLINE: for ever.
 * Returns VOLT_OK, VOLT_ETIMEDOUT (nothing received; it still can be), or VOLT_ECLOSED.
 * Threads: any that may block. */
VOLT_API VOLT_NODISCARD int volt_oneshot_recv_blocking(volt_oneshot *o, void *elem,
                                                       uint64_t deadline_ns);

/* Receiving as a future. The value is taken out of the slot by the poll that returns VOLT_OK; given
 * up before, or the loser of a select, it leaves it there. There
 * are two cases in which the value is taken and put back: a select that this receive has won is
 * cancelled before it is ready; or a join that this receive is part of loses a select. Meanwhile
 * another receiver may have been told VOLT_ECLOSED.
 * f: not WAITING; its content is overwritten. elem: the caller's, until the future is ready.
 * Returns f. It polls as volt_oneshot_recv() returns. */
VOLT_API volt_future *volt_oneshot_recv_future(volt_future *f, volt_oneshot *o, void *elem);

/* Give up waiting.
 * w: last passed to volt_oneshot_recv() on this oneshot (or never used).
 * Returns true: cancelled, no wake will come. Returns false: too late, it has completed; its one
 *   wake has come or will come. Either way nothing was received: a value stays in the slot.
 * Threads: the owner of *w; that wake may come from within. */
VOLT_API VOLT_NODISCARD bool volt_oneshot_cancel(volt_oneshot *o, volt_waiter *w);

/* Give up, from either side: nothing will be sent. Does nothing if a value was sent: that can still
 * be received. Closing twice does nothing more.
 * Wakes: everybody who waits: they complete with VOLT_ECLOSED. Threads: any; not from a signal
 *   handler. Order: releases what this thread did before to who gets VOLT_ECLOSED. */
VOLT_API void volt_oneshot_close(volt_oneshot *o);

/* For the sender: whether there is still somebody to work for, as a future.
 * f: not WAITING; its content is overwritten.
 * Returns f. Polls as VOLT_ECLOSED once the oneshot is closed, VOLT_OK once a value was sent. */
VOLT_API volt_future *volt_oneshot_closed_future(volt_future *f, volt_oneshot *o);

/* ---- inspection: snapshots; any thread ---- */

/* Whether it was closed before anything was sent. Order: acquires what the closer did. */
VOLT_API bool volt_oneshot_is_closed(const volt_oneshot *o);
/* Whether a receive would get no value now: none was sent yet, it was received already, or the
 * oneshot was closed before. */
VOLT_API bool volt_oneshot_is_empty(const volt_oneshot *o);
/* How many wait. */
VOLT_API uint32_t volt_oneshot_waiters(const volt_oneshot *o);

VOLT_END_DECLS
#endif
