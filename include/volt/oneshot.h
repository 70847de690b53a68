/* oneshot.h: one value, from one sender to one receiver.
 *
 * The answer to one request. A send copies the value into a slot in the caller's memory, and the
 * receiver takes it from there. So a receive that is given up, by a deadline or a select, leaves
 * the value in the slot. The sender never waits. Either side may give up, by volt_oneshot_close():
 * then a receiver learns that no value will come, and a sender that no receiver wants one. Nothing
 * is ever allocated.
 *
 *   struct answer slot, answer;
 *   volt_oneshot reply;
 *   volt_oneshot_init(&reply, sizeof slot, &slot);
 *   submit_request(&reply);                      another thread calls volt_oneshot_send()
 *   int r = volt_oneshot_recv_until(&reply, &answer, volt_deadline_ns(1000000));
 *
 * All-zero is an empty oneshot for a value of no bytes: a signal.
 *
 * If r is VOLT_ETIMEDOUT, the sender may still send: before slot and reply end, close the oneshot,
 * and make sure that no thread is in volt_oneshot_send() or will call it.
 *
 * Lifetime: a send or a close does not access the oneshot any more when a receiver completes. So a
 * receiver that has the value, or VOLT_ECLOSED, may destroy the oneshot while that call is still
 * returning. (With more than 32 waiters, volt_oneshot_destroy() waits for that call.) If there are
 * other waiters, none of them may be in a cancel, a set_waker, a further poll or the drop of a
 * future, or a wait with a deadline then, because these access the oneshot until they return. */
#ifndef VOLT_ONESHOT_H
#define VOLT_ONESHOT_H

#include "detail/fifo.h"
#include "future.h"

/* Members are private. */
typedef struct volt_oneshot {
  volt_fifo_ queue; /* waiters for a value, or for the close */
  void *slot;
  size_t elem_bytes;
  VOLT_PLAIN(uint32_t) state; /* not sent yet; sent, the value is in the slot; or received */
} volt_oneshot;
VOLT_SIZE_AT_MOST_(volt_oneshot, 64);

/* An empty oneshot. elem_bytes, slot: as of volt_oneshot_init(). */
#define VOLT_ONESHOT_INIT(elem_bytes, slot) \
  { VOLT_FIFO_INIT_(0), (slot), (size_t)(elem_bytes), 0 }

VOLT_BEGIN_DECLS

/* ---- life ---- */

/* Make *o an empty oneshot for a value of elem_bytes (0: only that it was sent).
 * slot: the caller's, elem_bytes of any alignment (NULL if that is 0); the oneshot's until
 *   volt_oneshot_destroy(). */
VOLT_API void volt_oneshot_init(volt_oneshot *o, size_t elem_bytes, void *slot);

/* End its life. Frees nothing. No waiter may be queued (aborts), and no thread may use *o again. A
 * value that was sent and not received is lost: if it owns something, receive it first. */
VOLT_API void volt_oneshot_destroy(volt_oneshot *o);

/* ---- send ---- */

/* Send the value. Never waits.
 * elem: elem_bytes are copied; NULL if that is 0.
 * Returns VOLT_OK (sent), or VOLT_ECLOSED (the oneshot was closed; *elem is still the caller's).
 *   Aborts if a value was sent before.
 * Wakes: every waiter, with nothing held, on this thread; those beyond the first 32 possibly on
 *   another thread that uses the oneshot meanwhile, and that of a future possibly by its own poll.
 * Threads: any; not from a signal handler.
 * Order: releases what this thread did before to the thread that receives the value. */
VOLT_API VOLT_NODISCARD int volt_oneshot_send(volt_oneshot *o, const void *elem);

/* ---- receive ---- */

/* Receive the value if it is there. Never waits.
 * elem: the caller's, elem_bytes; NULL if that is 0. Written if VOLT_OK.
 * Returns VOLT_OK (received), VOLT_EAGAIN (no value was sent yet), or VOLT_ECLOSED (no value will
 *   come: the oneshot was closed, or its value was received before).
 * Threads: any. Order: VOLT_OK acquires what the sender did before. */
VOLT_API VOLT_NODISCARD int volt_oneshot_try_recv(volt_oneshot *o, void *elem);

/* Receive the value, or queue *w until it is there.
 * w: the caller's memory, unused or completed; must stay where it is while queued.
 * elem: as of volt_oneshot_try_recv(); only used in this call.
 * Returns VOLT_OK (received; *w unused), VOLT_PENDING (queued), or VOLT_ECLOSED (no value will
 *   come; *w unused). A queued receive completes with VOLT_OK: the value is in the slot, and
 *   volt_oneshot_try_recv() takes it. Or it completes with VOLT_ECLOSED. volt_waiter_result() says
 *   which.
 * Wakes: waker, exactly once unless *w is cancelled, with nothing held, on the thread that sends or
 *   closes, or (beyond the first 32 waiters) on one that uses the oneshot meanwhile.
 * Cancel: volt_oneshot_cancel().
 * Threads: any. Order: as volt_oneshot_try_recv(). */
VOLT_API VOLT_NODISCARD int volt_oneshot_recv_waiter(volt_oneshot *o, volt_waiter *w, void *elem,
                                                     volt_waker waker);

/* Receive the value; block this thread until it is there or the deadline has passed.
 * elem: as of volt_oneshot_try_recv().
 * deadline_ns: as volt_now_ns(); a time in the past: do not wait; VOLT_NO_DEADLINE: for ever.
 * volt_oneshot_recv() has no deadline: it waits for as long as that takes.
 * Returns VOLT_OK (received), VOLT_ETIMEDOUT (not received; it still can be), or VOLT_ECLOSED (no
 *   value will come).
 * Threads: any that may block. Order: as volt_oneshot_try_recv(). */
VOLT_API VOLT_NODISCARD int volt_oneshot_recv_until(volt_oneshot *o, void *elem,
                                                    uint64_t deadline_ns);
VOLT_INLINE VOLT_NODISCARD int volt_oneshot_recv(volt_oneshot *o, void *elem) {
  return volt_oneshot_recv_until(o, elem, VOLT_NO_DEADLINE);
}

/* Receiving as a future. The poll that returns VOLT_OK takes the value out of the slot. A future
 * that is given up before, or loses a select, leaves it there. In two cases the value is taken and
 * put back: a select that this receive has won is cancelled before it is ready; or a join that this
 * receive is part of loses a select. In between, another receiver may have got VOLT_ECLOSED.
 * f: not in use (not WAITING, future.h); its content is overwritten. elem: the caller's, until the
 *   future is ready.
 * Returns f. It polls as volt_oneshot_recv_waiter() returns. */
VOLT_API VOLT_NODISCARD volt_future *volt_oneshot_recv_future(volt_future *f, volt_oneshot *o,
                                                              void *elem);

/* Give up waiting.
 * w: last passed to volt_oneshot_recv_waiter() on this oneshot (or never used).
 * Returns true: cancelled, no wake will come. Returns false: too late, *w has completed; its one
 *   wake has come or will come. Either way nothing was received: a value stays in the slot.
 * Wakes: if false, possibly the waker of *w, from within this call. Threads: the owner of *w. */
VOLT_API VOLT_NODISCARD bool volt_oneshot_cancel(volt_oneshot *o, volt_waiter *w);

/* ---- close ---- */

/* Give up, from either side: no value will be sent. Does nothing if a value was sent, which can
 * still be received. Closing twice does nothing more.
 * Wakes: every waiter, as volt_oneshot_send(); they complete with VOLT_ECLOSED.
 * Threads: any; not from a signal handler.
 * Order: releases what this thread did before to the threads that get VOLT_ECLOSED. */
VOLT_API void volt_oneshot_close(volt_oneshot *o);

/* For the sender: whether the value is still wanted, as a future.
 * f: not in use (not WAITING, future.h); its content is overwritten.
 * Returns f. It polls as VOLT_ECLOSED once the oneshot is closed, as VOLT_OK once a value was
 *   sent. */
VOLT_API VOLT_NODISCARD volt_future *volt_oneshot_closed_future(volt_future *f, volt_oneshot *o);

/* ---- inspection: snapshots; any thread ---- */

/* Whether it was closed before a value was sent. Order: true acquires what the closer did
 * before. */
VOLT_API bool volt_oneshot_is_closed(const volt_oneshot *o);
/* Whether a receive would get no value now: none was sent yet, it was received already, or the
 * oneshot was closed before. */
VOLT_API bool volt_oneshot_is_empty(const volt_oneshot *o);
/* How many waiters are queued. */
VOLT_API uint32_t volt_oneshot_waiters(const volt_oneshot *o);

VOLT_END_DECLS
#endif
