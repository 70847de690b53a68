/* permit_channel.h: a bounded channel whose places are taken before the element is there.
 *
 * A sender that must not begin to make an element before it knows that it can be sent, or must not
 * lose one that it has, takes a place first, as a permit: it waits for that, and can change its mind.
 * With a place it sends without waiting, whenever it likes.
 *
 *   volt_permit_chan jobs;
 *   volt_permit_chan_init(&jobs, 64, sizeof(struct job), memory, sizeof memory);
 *
 *   VOLT_AWAIT(self, volt_permit_chan_reserve_future(&self->f, &jobs));           a place is ours
 *   ... make the job, or volt_permit_chan_unreserve(&jobs) ...
 *   if (volt_permit_chan_send_reserved(&jobs, &job) != VOLT_OK) ...               it was closed
 *
 * It is a volt_sem with a permit for each place, and a volt_chan. A place is counted and is not a
 * position of the ring: a reserved place that stays empty for long keeps no receiver from the
 * elements that others send. Who wants to send, with or without an element in hand, waits in one
 * FIFO, the semaphore's; who wants to receive waits in the channel's. A place is free again when
 * what was sent with it has been received, or when it is given back.
 *
 * So elements are in the order in which they are sent, not in that of the reservations. A channel
 * that needs no reservations is cheaper as a volt_chan: one atomic instruction less at each end.
 *
 * close() ends both: who waits for a place, or has one, gets VOLT_ECLOSED when it sends; receivers
 * first get what was sent before.
 *
 * Lifetime: as of a volt_chan; every receive, and every place that is reserved, ends before the
 * channel does. */
#ifndef VOLT_PERMIT_CHANNEL_H
#define VOLT_PERMIT_CHANNEL_H

#include "channel.h"
#include "semaphore.h"

/* Members are private. */
typedef struct volt_permit_chan {
  volt_sem places; /* that nobody has, with or without an element */
  volt_chan chan;
} volt_permit_chan;

VOLT_BEGIN_DECLS

/* As volt_chan_init(); mem_bytes at least volt_chan_bytes(capacity, elem_bytes). */
VOLT_API VOLT_NODISCARD int volt_permit_chan_init(volt_permit_chan *c, uint32_t capacity,
                                                  size_t elem_bytes, void *mem, size_t mem_bytes);

/* End its life, as volt_chan_destroy(). Nobody may be waiting, or have a place (aborts). */
VOLT_API void volt_permit_chan_destroy(volt_permit_chan *c, void (*drop)(void *elem, void *ctx),
                                       void *ctx);

/* No more places and no more sends: who waits for a place completes with VOLT_ECLOSED, and so does
 * a send with a place that was reserved before. Receivers get what is left, then VOLT_ECLOSED.
 * Wakes: those who wait for places, then the receivers, oldest first, with nothing held.
 * Threads: any. Order: a receiver that sees VOLT_ECLOSED acquires what the closer did before. */
VOLT_API void volt_permit_chan_close(volt_permit_chan *c);

/* ---- a place ---- */

/* Take a place if there is one and nobody waits for it. Never waits.
 * Returns VOLT_OK (it is the caller's: to be sent with, or given back), VOLT_EAGAIN, or
 *   VOLT_ECLOSED. Threads: any. */
VOLT_API VOLT_NODISCARD int volt_permit_chan_try_reserve(volt_permit_chan *c);

/* Take a place; block this thread until there is one or the deadline has passed.
 * deadline_ns: as volt_now_ns(); VOLT_NO_DEADLINE: for ever.
 * Returns VOLT_OK, VOLT_ETIMEDOUT, or VOLT_ECLOSED. Threads: any that may block. */
VOLT_API VOLT_NODISCARD int volt_permit_chan_reserve_blocking(volt_permit_chan *c,
                                                              uint64_t deadline_ns);

/* The same as a future: nothing happens before it is polled. Dropped, or if it loses a select, its
 * place goes to the next who waits.
 * f: not WAITING; its content is overwritten. Returns f. */
VOLT_API volt_future *volt_permit_chan_reserve_future(volt_future *f, volt_permit_chan *c);

/* Give a place back: to the oldest who waits for one. Also on a closed channel.
 * Wakes: as volt_sem_release(). Threads: any. */
VOLT_API void volt_permit_chan_unreserve(volt_permit_chan *c);

/* Send *elem, with a place that is the caller's, and is not afterwards, whatever this returns. Never
 * waits.
 * Returns VOLT_OK, or VOLT_ECLOSED (not sent). Without a place in a full channel it aborts.
 * Wakes: the receiver it hands to. Threads: any. Order: releases to whoever receives it. */
VOLT_API VOLT_NODISCARD int volt_permit_chan_send_reserved(volt_permit_chan *c, const void *elem);

/* ---- both in one ---- */

/* As volt_permit_chan_try_reserve() and volt_permit_chan_send_reserved(). Returns VOLT_OK,
 * VOLT_EAGAIN, or VOLT_ECLOSED. */
VOLT_API VOLT_NODISCARD int volt_permit_chan_try_send(volt_permit_chan *c, const void *elem);

/* The same, blocking. Returns VOLT_OK, VOLT_ETIMEDOUT, or VOLT_ECLOSED: then it was not sent. */
VOLT_API VOLT_NODISCARD int volt_permit_chan_send_blocking(volt_permit_chan *c, const void *elem,
                                                           uint64_t deadline_ns);

/* ---- receive ---- */

/* As volt_chan_try_recv(), volt_chan_recv_blocking() and volt_chan_recv_future(). Of a future that
 * waited, the place is free when it has been polled, or cancelled. */
VOLT_API VOLT_NODISCARD int volt_permit_chan_try_recv(volt_permit_chan *c, void *elem);
VOLT_API VOLT_NODISCARD int volt_permit_chan_recv_blocking(volt_permit_chan *c, void *elem,
                                                           uint64_t deadline_ns);
VOLT_API volt_future *volt_permit_chan_recv_future(volt_future *f, volt_permit_chan *c, void *elem);

/* ---- inspection: snapshots; any thread ---- */

/* Elements in the ring. */
VOLT_API uint32_t volt_permit_chan_len(volt_permit_chan *c);
/* Places that can be reserved now. */
VOLT_API uint32_t volt_permit_chan_free(volt_permit_chan *c);
/* Whether it has been closed. Order: acquires what the closer did. */
VOLT_API bool volt_permit_chan_is_closed(volt_permit_chan *c);

VOLT_END_DECLS
#endif
