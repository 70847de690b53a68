/* permit_channel.h: a bounded channel whose places are taken before the element is there.
 *
 * A sender may have to know that an element can be sent before it makes the element, or may have an
 * element that must not be lost. It takes a place first: it waits for the place, and can give it
 * back. With a place it sends without waiting, whenever it likes.
 *
 *   volt_permit_chan jobs;
 *   volt_permit_chan_init(&jobs, 64, sizeof(struct job), memory, sizeof memory);
 *
 *   VOLT_AWAIT(self, volt_permit_chan_reserve_future(&self->f, &jobs));      the task has a place
 *   ... make the job, or volt_permit_chan_unreserve(&jobs) ...
 *   if (volt_permit_chan_send_reserved(&jobs, &job) != VOLT_OK) ...          it was closed
 *
 * It is a volt_sem with a permit for each place, and a volt_chan. Places are counted; a place
 * is no position of the ring. So a reserved place that stays empty for long keeps no receiver from
 * the elements that others send. All senders wait for places in one FIFO, the semaphore's;
 * receivers wait in the channel's. A place is free again when what was sent with it has been
 * received, or when it is given back.
 *
 * So elements are received in the order in which they are sent, not in that of the reservations. A
 * channel that needs no reservations is cheaper as a volt_chan: one atomic instruction less at each
 * end.
 *
 * close() ends both: a sender that waits for a place completes with VOLT_ECLOSED, a sender that has
 * one gets VOLT_ECLOSED when it sends. Receivers first get what was sent before.
 *
 * Lifetime: as of a volt_chan. A place that is reserved is sent with or given back, and every
 * receive has returned, or its future is ready or cancelled, before the channel is destroyed. */
#ifndef VOLT_PERMIT_CHANNEL_H
#define VOLT_PERMIT_CHANNEL_H

#include "channel.h"
#include "semaphore.h"

/* Members are private. */
typedef struct volt_permit_chan {
  volt_sem places; /* that nobody has, with or without an element */
  volt_chan chan;
} volt_permit_chan;
VOLT_SIZE_AT_MOST_(volt_permit_chan, 136);

VOLT_BEGIN_DECLS

/* Make *c an empty channel whose places are all free. All as volt_chan_init(): mem is the caller's,
 * and the channel's until volt_permit_chan_destroy(); mem_bytes is at least
 * volt_chan_bytes(capacity, elem_bytes). Returns VOLT_OK or VOLT_EINVAL. */
VOLT_API VOLT_NODISCARD int volt_permit_chan_init(volt_permit_chan *c, uint32_t capacity,
                                                  size_t elem_bytes, void *mem, size_t mem_bytes);

/* End its life, as volt_chan_destroy(). Aborts if a waiter is queued, or a place is reserved, or a
 * future that was granted an element has been neither polled nor cancelled. */
VOLT_API void volt_permit_chan_destroy(volt_permit_chan *c, void (*drop)(void *elem, void *ctx),
                                       void *ctx);

/* No more places and no more sends. A sender that waits for a place completes with VOLT_ECLOSED; a
 * send with a place that was reserved before returns it, and gives the place back. Receivers get
 * what is left, then VOLT_ECLOSED.
 * Wakes: the senders that wait for places, then the receivers, oldest first, with nothing held.
 * Threads: any. Order: a receiver that sees VOLT_ECLOSED acquires what the closer did before. */
VOLT_API void volt_permit_chan_close(volt_permit_chan *c);

/* ---- a place ---- */

/* Take a place if there is one and no sender waits for it. Never waits.
 * Returns VOLT_OK (the place is the caller's, who sends with it or gives it back), VOLT_EAGAIN (no
 *   place, or a sender waits), or VOLT_ECLOSED. Threads: any. */
VOLT_API VOLT_NODISCARD int volt_permit_chan_try_reserve(volt_permit_chan *c);

/* Take a place; block this thread until there is one or the deadline has passed.
 * deadline_ns: as volt_now_ns(); VOLT_NO_DEADLINE: for ever.
 * Returns VOLT_OK (the place is the caller's), VOLT_ETIMEDOUT, or VOLT_ECLOSED.
 * Threads: any that may block. */
VOLT_API VOLT_NODISCARD int volt_permit_chan_reserve_blocking(volt_permit_chan *c,
                                                              uint64_t deadline_ns);

/* The same as a future: nothing happens before it is polled. If it was granted a place and is
 * cancelled before it is polled, or loses a select, the place goes to the sender that waits next.
 * f: not WAITING; its content is overwritten.
 * Returns f. It polls as VOLT_OK (the place is the caller's) or VOLT_ECLOSED. */
VOLT_API volt_future *volt_permit_chan_reserve_future(volt_future *f, volt_permit_chan *c);

/* Give a place back that the caller has reserved and not sent with: to the oldest sender that
 * waits, or to those that are free. Works on a closed channel, too. A place that was never reserved
 * is not noticed here; then a later send, or volt_permit_chan_destroy(), may abort.
 * Wakes: as volt_sem_release(). Threads: any; not from a signal handler. */
VOLT_API void volt_permit_chan_unreserve(volt_permit_chan *c);

/* Send *elem with a place that the caller has reserved. It is never queued; it may
 * pause for a receiver in the middle of a copy, as volt_chan_try_send(). The place is not the
 * caller's afterwards, whatever this returns.
 * elem: the caller's; copied if it is sent.
 * Returns VOLT_OK, or VOLT_ECLOSED (not sent). A send without a place aborts if the ring is full.
 * Wakes: the receiver that gets the element; if closed, as volt_permit_chan_unreserve().
 * Threads: any; not from a signal handler.
 * Order: releases what this thread did before to the receiver of the element. */
VOLT_API VOLT_NODISCARD int volt_permit_chan_send_reserved(volt_permit_chan *c, const void *elem);

/* ---- both in one ---- */

/* As volt_permit_chan_try_reserve() and volt_permit_chan_send_reserved(). Returns VOLT_OK,
 * VOLT_EAGAIN, or VOLT_ECLOSED. */
VOLT_API VOLT_NODISCARD int volt_permit_chan_try_send(volt_permit_chan *c, const void *elem);

/* The same; block this thread until there is a place or the deadline has passed. Returns VOLT_OK,
 * or VOLT_ETIMEDOUT or VOLT_ECLOSED (not sent). Threads: any that may block. */
VOLT_API VOLT_NODISCARD int volt_permit_chan_send_blocking(volt_permit_chan *c, const void *elem,
                                                           uint64_t deadline_ns);

/* ---- receive ---- */

/* As volt_chan_try_recv(), volt_chan_recv_blocking() and volt_chan_recv_future(); each also gives
 * the element's place back, which may wake a sender on this thread. A future that waited gives the
 * place back when it is polled or cancelled, not when it is granted. */
VOLT_API VOLT_NODISCARD int volt_permit_chan_try_recv(volt_permit_chan *c, void *elem);
VOLT_API VOLT_NODISCARD int volt_permit_chan_recv_blocking(volt_permit_chan *c, void *elem,
                                                           uint64_t deadline_ns);
VOLT_API volt_future *volt_permit_chan_recv_future(volt_future *f, volt_permit_chan *c, void *elem);

/* ---- inspection: snapshots; any thread ---- */

/* Elements in the ring. */
VOLT_API uint32_t volt_permit_chan_len(const volt_permit_chan *c);
/* Places that can be reserved now. */
VOLT_API uint32_t volt_permit_chan_free(volt_permit_chan *c);
/* Whether volt_permit_chan_close() has closed the channel for receivers: a reserve may have
 * returned VOLT_ECLOSED a moment earlier. Order: acquires what the closer did. */
VOLT_API bool volt_permit_chan_is_closed(const volt_permit_chan *c);

VOLT_END_DECLS
#endif
