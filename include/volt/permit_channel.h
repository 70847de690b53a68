/* permit_channel.h: a bounded channel whose senders take a place before they have an element.
 *
 * For a sender that must know that an element can be sent before it makes the element, or whose
 * element must not be lost. It takes a place first: it waits for the place, and can give it back.
 * With a place it sends without waiting, at any later time.
 *
 *   volt_permit_chan jobs;
 *   volt_permit_chan_init(&jobs, 64, sizeof(struct job), memory, sizeof memory);
 *
 *   VOLT_AWAIT(self, volt_permit_chan_reserve_future(&self->f, &jobs));      the task has a place
 *   ... make the job, or volt_permit_chan_unreserve(&jobs) ...
 *   if (volt_permit_chan_send_reserved(&jobs, &job) != VOLT_OK) ...          it was closed
 *
 * It is a volt_sem with a permit for each place, and a volt_chan. All senders wait for places in
 * the semaphore's FIFO; receivers wait in the channel's. A place is free again when the element
 * that was sent with it has been received, or when it is given back.
 *
 * A place is counted; it is no position of the ring. So a reserved place that stays empty keeps no
 * receiver from the elements of others, and elements are received in the order in which they are
 * sent, not in that of the reservations. A program that needs no reservations uses a volt_chan,
 * which takes one atomic instruction less at each end.
 *
 * close() ends both: a sender that waits for a place completes with VOLT_ECLOSED, and a sender that
 * has one gets VOLT_ECLOSED when it sends. Receivers first get what was sent before.
 *
 * All-zero is not valid: to reserve a place aborts.
 *
 * Lifetime: as of a volt_chan. Before the channel is destroyed, each reserved place is sent with or
 * given back; every receive has returned, and every future of one is ready or cancelled. */
#ifndef VOLT_PERMIT_CHANNEL_H
#define VOLT_PERMIT_CHANNEL_H

#include "channel.h"
#include "semaphore.h"

/* Members are private. */
typedef struct volt_permit_chan {
  volt_sem places; /* the free ones: neither reserved nor with an element */
  volt_chan chan;
} volt_permit_chan;
VOLT_SIZE_AT_MOST_(volt_permit_chan, 136);

VOLT_BEGIN_DECLS

/* ---- life ---- */

/* Make *c an empty channel whose places are all free. Arguments and result as of volt_chan_init():
 * mem is the channel's until volt_permit_chan_destroy(), and mem_bytes at least
 * volt_chan_bytes(capacity, elem_bytes).
 * Returns VOLT_OK, or VOLT_EINVAL (an argument is out of range, or mem is NULL or not aligned).
 * Threads: one, before others use *c. */
VOLT_API VOLT_NODISCARD int volt_permit_chan_init(volt_permit_chan *c, uint32_t capacity,
                                                  size_t elem_bytes, void *mem, size_t mem_bytes);

/* End the life of *c, as volt_chan_destroy(). Aborts if a waiter is queued, if a place is reserved,
 * or if a future that was granted an element was neither polled nor cancelled since.
 * drop(elem, ctx): as of volt_chan_destroy(). */
VOLT_API void volt_permit_chan_destroy(volt_permit_chan *c, void (*drop)(void *elem, void *ctx),
                                       void *ctx);

/* ---- a place ---- */

/* Reserve a place if one is free and no sender waits for it. Never waits.
 * Returns VOLT_OK (the place is the caller's, to send with or to give back), VOLT_EAGAIN (no place
 *   is free, or a sender waits), or VOLT_ECLOSED. Threads: any; not from a signal handler. */
VOLT_API VOLT_NODISCARD int volt_permit_chan_try_reserve(volt_permit_chan *c);

/* Reserve a place; block this thread until one is free or the deadline has passed.
 * deadline_ns: as volt_now_ns(); VOLT_NO_DEADLINE: for ever.
 * volt_permit_chan_reserve() has no deadline: it waits for as long as that takes.
 * Returns VOLT_OK (the place is the caller's), VOLT_ETIMEDOUT (no place), or VOLT_ECLOSED (no
 *   place).
 * Threads: any that may block. */
VOLT_API VOLT_NODISCARD int volt_permit_chan_reserve_until(volt_permit_chan *c,
                                                           uint64_t deadline_ns);
VOLT_INLINE VOLT_NODISCARD int volt_permit_chan_reserve(volt_permit_chan *c) {
  return volt_permit_chan_reserve_until(c, VOLT_NO_DEADLINE);
}

/* A reservation as a future: nothing happens before it is polled.
 * f: not WAITING; its content is overwritten.
 * Returns f. It polls as VOLT_OK (the place is the caller's) or VOLT_ECLOSED (no place).
 * Cancel: volt_future_cancel(). If the future was granted a place and is cancelled before it is
 *   polled, or loses a select, the place goes to the sender that waits next. */
VOLT_API VOLT_NODISCARD volt_future *volt_permit_chan_reserve_future(volt_future *f,
                                                                     volt_permit_chan *c);

/* Give back a place that the caller has reserved and not sent with. It goes to the oldest sender
 * that waits, or is free. Works on a closed channel, too. A place that was never reserved is not
 * noticed here; a later send, or volt_permit_chan_destroy(), may abort because of it.
 * Wakes: the sender that gets the place, on this thread, with nothing held.
 * Threads: any; not from a signal handler. */
VOLT_API void volt_permit_chan_unreserve(volt_permit_chan *c);

/* Send *elem with a place that the caller has reserved. The place is not the caller's afterwards,
 * whatever is returned. The send is never queued; it pauses for a copy in progress on another
 * thread. Aborts if the ring is full, because then the caller has no place.
 * elem: the caller's memory; copied if it is sent.
 * Returns VOLT_OK (sent), or VOLT_ECLOSED (not sent; the place is given back).
 * Wakes: the receiver that gets the element; if closed, as volt_permit_chan_unreserve().
 * Threads: any; not from a signal handler.
 * Order: releases what this thread did before to the receiver of the element. */
VOLT_API VOLT_NODISCARD int volt_permit_chan_send_reserved(volt_permit_chan *c, const void *elem);

/* ---- both in one ---- */

/* Reserve a place and send *elem with it, if no wait is needed.
 * elem: the caller's memory; copied if it is sent.
 * Returns VOLT_OK (sent), VOLT_EAGAIN (not sent), or VOLT_ECLOSED (not sent).
 * Wakes, threads, order: as volt_permit_chan_send_reserved(). */
VOLT_API VOLT_NODISCARD int volt_permit_chan_try_send(volt_permit_chan *c, const void *elem);

/* Reserve a place and send *elem with it; block this thread until a place is free or the deadline
 * has passed.
 * deadline_ns: as volt_now_ns(); VOLT_NO_DEADLINE: for ever.
 * volt_permit_chan_send() has no deadline: it waits for as long as that takes.
 * Returns VOLT_OK (sent), VOLT_ETIMEDOUT (not sent), or VOLT_ECLOSED (not sent).
 * Wakes, order: as volt_permit_chan_send_reserved(). Threads: any that may block. */
VOLT_API VOLT_NODISCARD int volt_permit_chan_send_until(volt_permit_chan *c, const void *elem,
                                                        uint64_t deadline_ns);
VOLT_INLINE VOLT_NODISCARD int volt_permit_chan_send(volt_permit_chan *c, const void *elem) {
  return volt_permit_chan_send_until(c, elem, VOLT_NO_DEADLINE);
}

/* ---- receive ---- */

/* Receive as volt_chan_try_recv(), volt_chan_recv(), volt_chan_recv_until() and
 * volt_chan_recv_future(), and give the element's place back. A future that waited gives it back
 * when it is polled or cancelled, not when it is granted.
 * Wakes: the sender that gets the place, on this thread, with nothing held. */
VOLT_API VOLT_NODISCARD int volt_permit_chan_try_recv(volt_permit_chan *c, void *elem);
VOLT_API VOLT_NODISCARD int volt_permit_chan_recv_until(volt_permit_chan *c, void *elem,
                                                        uint64_t deadline_ns);
VOLT_INLINE VOLT_NODISCARD int volt_permit_chan_recv(volt_permit_chan *c, void *elem) {
  return volt_permit_chan_recv_until(c, elem, VOLT_NO_DEADLINE);
}
VOLT_API VOLT_NODISCARD volt_future *volt_permit_chan_recv_future(volt_future *f,
                                                                  volt_permit_chan *c, void *elem);

/* ---- close ---- */

/* Close *c: no more places and no more sends. A sender that waits for a place completes with
 * VOLT_ECLOSED; a send with a place that was reserved before returns it, and gives the place back.
 * Receivers get what is left, then VOLT_ECLOSED.
 * Wakes: the senders that wait for places, then the receivers, oldest first, with nothing held.
 * Threads: any; not from a signal handler.
 * Order: a receiver that sees VOLT_ECLOSED acquires what this thread did before. */
VOLT_API void volt_permit_chan_close(volt_permit_chan *c);

/* ---- inspection: snapshots; any thread ---- */

/* How many elements are in the ring. */
VOLT_API uint32_t volt_permit_chan_len(const volt_permit_chan *c);
/* How many places can be reserved now. */
VOLT_API uint32_t volt_permit_chan_free(volt_permit_chan *c);
/* Whether the channel is closed for receivers. A reservation may have returned VOLT_ECLOSED a
 * moment earlier. Order: acquires what the closer did before. */
VOLT_API bool volt_permit_chan_is_closed(const volt_permit_chan *c);

VOLT_END_DECLS
#endif
