/* channel.h: a bounded channel of many senders and many receivers.
 *
 * Elements of one size go through a ring in the caller's memory, first in, first out. A sender that
 * finds the ring full waits, and so does a receiver that finds it empty. Threads, tasks and event
 * loops wait in one FIFO. An operation that waits is completed by another thread, copy included: a
 * sender copies its element into the memory of the oldest waiting receiver, and a receiver copies
 * the element of the oldest waiting sender into the ring. So a woken thread has nothing to try
 * again, and no operation overtakes one that waits, not even a try. Nothing is ever allocated.
 *
 *   static uint64_t memory[1024];
 *   volt_chan jobs;
 *   volt_chan_init(&jobs, 64, sizeof(struct job), memory, sizeof memory);
 *   volt_chan_send(&jobs, &job);                       a thread
 *   VOLT_AWAIT(self, volt_chan_recv_future(&self->f, &jobs, &self->job));         a task
 *
 * All-zero is not valid: an operation that has to wait aborts, and so do tries of many. A try of one
 * element returns VOLT_EAGAIN. Elements are copied with memcpy(). VOLT_CHAN_DECLARE() declares a
 * channel of one element type: the compiler checks the arguments, and knows the size of the copies.
 *
 * close() ends the sending. A send fails at once then, and its element stays the sender's. Receives
 * first get what was sent before, then VOLT_ECLOSED.
 *
 * Lifetime: once an element can be received, a send that did not wait touches the channel no more.
 * So the receiver of the last element may destroy the channel while that send is still returning. A
 * send that waited, and every receive, uses the channel until it has returned.
 *
 * Progress: a thread that is descheduled in the middle of a copy delays the operations that come to
 * the same place of the ring, those that are queued behind them, and the waiting senders that are
 * served together with one whose element goes there. They spin a little, then nap. */
#ifndef VOLT_CHANNEL_H
#define VOLT_CHANNEL_H

#include "detail/fifo.h"
#include "future.h"

#ifdef __cplusplus
extern "C++" {
#include <type_traits>
}
#endif

/* The most elements that a channel can hold. */
#define VOLT_CHAN_MAX UINT32_C(0x100000)

/* Members are private. */
typedef struct volt_chan {
  volt_fifo_ queue; /* of senders or of receivers, never of both */
  unsigned char *slots;
  uint32_t capacity;
  uint32_t elem_bytes;
  uint32_t stride;               /* bytes from slot to slot */
  uint32_t shift;                /* the ring has 1 << shift slots, at least capacity */
  VOLT_ATOMIC(uint32_t) closing; /* calls of close() that will use the channel again */
  VOLT_ATOMIC(uint32_t) senders; /* that are counted; bit 31: the last one was dropped */
  volt_fifo_ watchers;           /* futures that await the close */
} volt_chan;
VOLT_SIZE_AT_MOST_(volt_chan, 96);
VOLT_STATIC_ASSERT_(offsetof(volt_chan, watchers) <= 64, "its operations touch a line");

VOLT_BEGIN_DECLS

/* ---- life ---- */

/* The bytes of memory that a channel needs. Its places are a power of two, at least capacity; each
 * takes elem_bytes, rounded up to 8, and 8 bytes more.
 * capacity: in elements, 1..VOLT_CHAN_MAX. elem_bytes: of one element; 0: it is only a signal.
 * Returns the number of bytes; 0: there can be no such channel. */
VOLT_API size_t volt_chan_bytes(uint32_t capacity, size_t elem_bytes);

/* Make *c an empty channel.
 * capacity: as of volt_chan_bytes(). elem_bytes: likewise.
 * mem: the caller's memory, aligned to 8; the channel's until volt_chan_destroy(). mem_bytes: its
 *   size, at least volt_chan_bytes(capacity, elem_bytes).
 * Returns VOLT_OK, or VOLT_EINVAL (an argument is out of range, or mem is NULL or not aligned; *c
 *   is untouched).
 * Threads: one, before others use *c. */
VOLT_API VOLT_NODISCARD int volt_chan_init(volt_chan *c, uint32_t capacity, size_t elem_bytes,
                                           void *mem, size_t mem_bytes);

/* End the life of *c; frees nothing. No waiter may be queued (aborts), and no thread may use *c
 * again. Waits for a volt_chan_close() in progress if that has more than 32 waiters to complete, or
 * if a volt_chan_closed_future() was ever polled. So no waker that a close calls may call it.
 * drop(elem, ctx): called for each element that was not received, oldest first. elem is in the
 *   ring, aligned to 8. NULL: no call. ctx: passed to drop. */
VOLT_API void volt_chan_destroy(volt_chan *c, void (*drop)(void *elem, void *ctx), void *ctx);

/* ---- one element ---- */

/* Send *elem if no wait is needed: a receiver is queued, or there is room and no sender is queued.
 * Never fails spuriously: it pauses for a copy in progress on another thread.
 * elem: the caller's memory; elem_bytes are copied. NULL if that is 0.
 * Returns VOLT_OK (sent), VOLT_EAGAIN (not sent), or VOLT_ECLOSED (not sent).
 * Wakes: the receiver that gets the element, on this thread, with nothing held.
 * Threads: any; not from a signal handler.
 * Order: releases what this thread did before to the receiver of the element. */
VOLT_API VOLT_NODISCARD int volt_chan_try_send(volt_chan *c, const void *elem);

/* Receive the oldest element if there is one.
 * elem: the caller's memory, elem_bytes of it; written if VOLT_OK is returned. NULL if that is 0.
 * Returns VOLT_OK (received), VOLT_EAGAIN (there is no element), or VOLT_ECLOSED (closed, and no
 *   element is left).
 * Wakes: the sender whose element moves into the ring, on this thread, with nothing held.
 * Threads: any; not from a signal handler. Order: acquires what the element's sender did before. */
VOLT_API VOLT_NODISCARD int volt_chan_try_recv(volt_chan *c, void *elem);

/* Send *elem, or queue *w until it is sent.
 * w: the caller's memory, unused or completed; must stay where it is while it is queued.
 * elem: the caller's memory; must stay as it is while *w is queued, because a receiver copies it.
 * Returns VOLT_OK (sent; *w unused), VOLT_PENDING (queued), or VOLT_ECLOSED (not sent). A queued
 *   send completes with VOLT_OK (sent) or VOLT_ECLOSED (not sent): volt_waiter_result().
 * Wakes: waker, exactly once if *w is queued, on the thread that receives or closes, with nothing
 *   held; and as volt_chan_try_send(). Cancel: volt_chan_cancel_send().
 * Threads: any; not from a signal handler. Order: as volt_chan_try_send(). */
VOLT_API VOLT_NODISCARD int volt_chan_send_waiter(volt_chan *c, volt_waiter *w, const void *elem,
                                                  volt_waker waker);

/* Receive the oldest element, or queue *w for one.
 * w: the caller's memory, unused or completed; must stay where it is while it is queued.
 * elem: the caller's memory; must stay where it is while *w is queued, because a sender writes it.
 * Returns VOLT_OK (received; *w unused), VOLT_PENDING (queued), or VOLT_ECLOSED (closed, and no
 *   element is left). A queued receive completes with VOLT_OK (received) or VOLT_ECLOSED.
 * Wakes: waker, exactly once if *w is queued, on the thread that sends or closes, with nothing
 *   held; and as volt_chan_try_recv(). Cancel: volt_chan_cancel_recv().
 * Threads: any; not from a signal handler. Order: as volt_chan_try_recv(). */
VOLT_API VOLT_NODISCARD int volt_chan_recv_waiter(volt_chan *c, volt_waiter *w, void *elem,
                                                  volt_waker waker);

/* Send *elem, or receive into it; block this thread until that is done or the deadline has passed.
 * A call that has to wait spins for about 10 us before it queues: until then it is no waiter.
 * deadline_ns: as volt_now_ns(); a time in the past: do not wait; VOLT_NO_DEADLINE: for ever.
 * volt_chan_send() has no deadline: it waits for as long as that takes.
 * volt_chan_recv() has no deadline: it waits for as long as that takes.
 * Returns VOLT_OK, VOLT_ETIMEDOUT (nothing moved), or VOLT_ECLOSED (nothing moved).
 * Wakes, order: as volt_chan_try_send() and volt_chan_try_recv(). Threads: any that may block. */
VOLT_API VOLT_NODISCARD int volt_chan_send_until(volt_chan *c, const void *elem,
                                                 uint64_t deadline_ns);
VOLT_INLINE VOLT_NODISCARD int volt_chan_send(volt_chan *c, const void *elem) {
  return volt_chan_send_until(c, elem, VOLT_NO_DEADLINE);
}
VOLT_API VOLT_NODISCARD int volt_chan_recv_until(volt_chan *c, void *elem, uint64_t deadline_ns);
VOLT_INLINE VOLT_NODISCARD int volt_chan_recv(volt_chan *c, void *elem) {
  return volt_chan_recv_until(c, elem, VOLT_NO_DEADLINE);
}

/* A send, or a receive, as a future: nothing happens before it is polled.
 * f: not WAITING; its content is overwritten. elem: the caller's memory, which must stay until the
 *   future is ready or cancelled.
 * Returns f. It polls as VOLT_OK (sent, or received) or VOLT_ECLOSED (nothing moved).
 * Cancel: volt_future_cancel(). A future that was granted before the cancel is not cancelled: it
 *   polls as VOLT_OK, and the element is sent, or is in *elem. A branch that has lost a volt_select
 *   was not granted (volt/select.h). */
VOLT_API VOLT_NODISCARD volt_future *volt_chan_send_future(volt_future *f, volt_chan *c,
                                                           const void *elem);
VOLT_API VOLT_NODISCARD volt_future *volt_chan_recv_future(volt_future *f, volt_chan *c,
                                                           void *elem);

/* ---- many elements: up to n at once, at least one ---- */

/* Send, or receive, the first of n elements, in order: as many as need no wait, or fewer. While
 * waiters are queued, one call serves at most 32 of them and receives at most 32 elements. A call
 * also leaves out what another thread is still copying.
 * elems: the caller's memory, an array of n elements. n: if it is 0, VOLT_OK is returned.
 * moved: where to store how many elements were moved, above 0 only with VOLT_OK; or NULL.
 * Returns VOLT_OK, VOLT_EAGAIN (nothing moved), or VOLT_ECLOSED (nothing moved).
 * Wakes, order: as volt_chan_try_send() and volt_chan_try_recv().
 * Threads: any; not from a signal handler. */
VOLT_API VOLT_NODISCARD int volt_chan_try_send_many(volt_chan *c, const void *elems, uint32_t n,
                                                    uint32_t *moved);
VOLT_API VOLT_NODISCARD int volt_chan_try_recv_many(volt_chan *c, void *elems, uint32_t n,
                                                    uint32_t *moved);

/* The same, or queue *w until at least one element is moved. As volt_chan_send_waiter() and
 * volt_chan_recv_waiter(); volt_chan_moved(w) says how many elements were moved, at once or later.
 * n: above 0, or VOLT_EINVAL is returned. */
VOLT_API VOLT_NODISCARD int volt_chan_send_many_waiter(volt_chan *c, volt_waiter *w,
                                                       const void *elems, uint32_t n,
                                                       volt_waker waker);
VOLT_API VOLT_NODISCARD int volt_chan_recv_many_waiter(volt_chan *c, volt_waiter *w, void *elems,
                                                       uint32_t n, volt_waker waker);

/* How many elements the last volt_chan_send_many_waiter() or volt_chan_recv_many_waiter() with *w
 * has moved. Meaningful if its result is VOLT_OK. Threads: the owner of *w. */
VOLT_API uint32_t volt_chan_moved(const volt_waiter *w);

/* Send, or receive, up to n elements; block this thread until at least one is moved or the deadline
 * has passed. It queues without spinning before.
 * n: above 0, or VOLT_EINVAL is returned. moved: as of volt_chan_try_send_many().
 * volt_chan_send_many() has no deadline: it waits for as long as that takes.
 * volt_chan_recv_many() has no deadline: it waits for as long as that takes.
 * Returns VOLT_OK, VOLT_ETIMEDOUT (nothing moved), VOLT_ECLOSED (nothing moved), or VOLT_EINVAL.
 * Threads: any that may block. */
VOLT_API VOLT_NODISCARD int volt_chan_send_many_until(volt_chan *c, const void *elems, uint32_t n,
                                                      uint32_t *moved, uint64_t deadline_ns);
VOLT_INLINE VOLT_NODISCARD int volt_chan_send_many(volt_chan *c, const void *elems, uint32_t n,
                                                   uint32_t *moved) {
  return volt_chan_send_many_until(c, elems, n, moved, VOLT_NO_DEADLINE);
}
VOLT_API VOLT_NODISCARD int volt_chan_recv_many_until(volt_chan *c, void *elems, uint32_t n,
                                                      uint32_t *moved, uint64_t deadline_ns);
VOLT_INLINE VOLT_NODISCARD int volt_chan_recv_many(volt_chan *c, void *elems, uint32_t n,
                                                   uint32_t *moved) {
  return volt_chan_recv_many_until(c, elems, n, moved, VOLT_NO_DEADLINE);
}

/* The same as futures, each as volt_chan_send_future() or volt_chan_recv_future(). Once one polls
 * as VOLT_OK, volt_chan_future_moved() is how many elements it has moved. */
VOLT_API VOLT_NODISCARD volt_future *volt_chan_send_many_future(volt_future *f, volt_chan *c,
                                                                const void *elems, uint32_t n);
VOLT_API VOLT_NODISCARD volt_future *volt_chan_recv_many_future(volt_future *f, volt_chan *c,
                                                                void *elems, uint32_t n);
VOLT_API uint32_t volt_chan_future_moved(const volt_future *f);

/* ---- cancel ---- */

/* Give up waiting.
 * w: of a send, or a receive, on this channel that returned VOLT_PENDING; or never used. (If that
 *   operation returned VOLT_OK at once, it has not used *w, and this call says nothing of it.)
 * Returns true: cancelled; nothing was or will be moved, and no wake comes. Returns false: too
 *   late, the operation has completed, as volt_waiter_result(w) says, and its one wake has come or
 *   will come. Either way *w and the element's memory are the caller's again.
 * Threads: the owner of *w. */
VOLT_API VOLT_NODISCARD bool volt_chan_cancel_send(volt_chan *c, volt_waiter *w);
VOLT_API VOLT_NODISCARD bool volt_chan_cancel_recv(volt_chan *c, volt_waiter *w);

/* ---- close ---- */

/* Close *c: no more sends. Every waiter completes with VOLT_ECLOSED; the elements of senders that
 * waited stay theirs. Later sends return VOLT_ECLOSED; later receives get the elements that are
 * left, then VOLT_ECLOSED. A second close does nothing.
 * Wakes: every waiter, oldest first, on this thread, with nothing held; then the futures that await
 *   the close.
 * Threads: any; not from a signal handler.
 * Order: a thread that sees VOLT_ECLOSED acquires what this thread did before. */
VOLT_API void volt_chan_close(volt_chan *c);

/* The close of *c as a future, for a thread or task that neither sends nor receives: nothing
 * happens before it is polled. It is not in the FIFO, and costs senders and receivers nothing.
 * f: not WAITING; its content is overwritten.
 * Returns f. It polls as VOLT_OK once *c is closed, by volt_chan_close() or by the last
 *   volt_chan_drop_sender(); as nothing else, unless it is cancelled.
 * Wakes: the future's waker, on the thread that closes or, if more than 32 futures await the close,
 *   possibly on another one. Cancel: volt_future_cancel().
 * Threads: any. Order: acquires what the closer did before. */
VOLT_API VOLT_NODISCARD volt_future *volt_chan_closed_future(volt_future *f, volt_chan *c);

/* Count one sender more: the channel closes when the last one is dropped. Counting is optional. A
 * copy of a counted sender is a sender more, and so is one that was dropped and comes back.
 * Returns VOLT_OK (counted), or VOLT_ECLOSED (the last sender was dropped before, for good). A
 *   channel that volt_chan_close() has closed goes on counting. The 2^31st sender at a time aborts.
 * Threads: any. Order: none. */
VOLT_API VOLT_NODISCARD int volt_chan_add_sender(volt_chan *c);

/* Count one sender fewer. The last one closes the channel, as volt_chan_close(), and none can be
 * added again. A call that drops another one does not touch *c after it has counted. Aborts if more
 * senders are dropped than were added.
 * Wakes: if it drops the last one, as volt_chan_close(). Threads: any; not from a signal handler.
 * Order: a thread that sees VOLT_ECLOSED acquires what each thread did before it dropped a
 *   sender. */
VOLT_API void volt_chan_drop_sender(volt_chan *c);

/* ---- inspection: snapshots; any thread ---- */

/* How many elements are in the ring, without those of senders that wait. */
VOLT_API uint32_t volt_chan_len(const volt_chan *c);
/* How many elements the channel can hold. */
VOLT_API uint32_t volt_chan_capacity(const volt_chan *c);
/* How many waiters are queued: senders, or receivers. */
VOLT_API uint32_t volt_chan_waiters(const volt_chan *c);
/* How many senders are counted. */
VOLT_API uint32_t volt_chan_senders(const volt_chan *c);
/* Whether the channel is closed. Order: acquires what the closer did before. */
VOLT_API bool volt_chan_is_closed(const volt_chan *c);

VOLT_END_DECLS

#include "detail/channel.h"

/* ---- a front for one type ---- */

#ifdef __cplusplus
#define VOLT_CHAN_CHECK_(type)                           \
  static_assert(std::is_trivially_copyable<type>::value, \
                "elements of a channel are copied with memcpy()");
#else
#define VOLT_CHAN_CHECK_(type)
#endif

/* Declare a channel type `name` for elements of `type`, with inline functions name_bytes(),
 * name_init(), name_try_send(), name_try_recv(), name_send(), name_recv(), name_send_until(),
 * name_recv_until(), name_send_waiter(), name_recv_waiter(), name_send_future() and
 * name_recv_future(). They are as those of volt_chan, but elements have that type, and send,
 * send_until and try_send take one by value. For all else use the member `chan`:
 * volt_chan_close(&c->chan). */
#define VOLT_CHAN_DECLARE(name, type)                                                           \
  VOLT_CHAN_CHECK_(type)                                                                        \
  typedef struct name {                                                                         \
    volt_chan chan;                                                                             \
  } name;                                                                                       \
  VOLT_UNUSED_OK_ static inline size_t name##_bytes(uint32_t capacity) {                        \
    return volt_chan_bytes(capacity, sizeof(type));                                             \
  }                                                                                             \
  VOLT_UNUSED_OK_ VOLT_NODISCARD static inline int name##_init(name *c, uint32_t capacity,      \
                                                               void *mem, size_t mem_bytes) {   \
    return volt_chan_init(&c->chan, capacity, sizeof(type), mem, mem_bytes);                    \
  }                                                                                             \
  VOLT_UNUSED_OK_ VOLT_NODISCARD static inline int name##_try_send(name *c, type elem) {        \
    return volt_chan_try_send_(&c->chan, &elem, sizeof elem);                                   \
  }                                                                                             \
  VOLT_UNUSED_OK_ VOLT_NODISCARD static inline int name##_try_recv(name *c, type *elem) {       \
    return volt_chan_try_recv_(&c->chan, elem, sizeof *elem);                                   \
  }                                                                                             \
  VOLT_UNUSED_OK_ VOLT_NODISCARD static inline int name##_send_waiter(                          \
      name *c, volt_waiter *w, type const *elem, volt_waker waker) {                            \
    return volt_chan_send_(&c->chan, w, elem, sizeof *elem, waker);                             \
  }                                                                                             \
  VOLT_UNUSED_OK_ VOLT_NODISCARD static inline int name##_recv_waiter(                          \
      name *c, volt_waiter *w, type *elem, volt_waker waker) {                                  \
    return volt_chan_recv_(&c->chan, w, elem, sizeof *elem, waker);                             \
  }                                                                                             \
  VOLT_UNUSED_OK_ VOLT_NODISCARD static inline int name##_send_until(name *c, type elem,        \
                                                                     uint64_t deadline_ns) {    \
    int result = name##_try_send(c, elem);                                                      \
    return result == VOLT_EAGAIN ? volt_chan_send_until(&c->chan, &elem, deadline_ns) : result; \
  }                                                                                             \
  VOLT_UNUSED_OK_ VOLT_NODISCARD static inline int name##_recv_until(name *c, type *elem,       \
                                                                     uint64_t deadline_ns) {    \
    int result = name##_try_recv(c, elem);                                                      \
    return result == VOLT_EAGAIN ? volt_chan_recv_until(&c->chan, elem, deadline_ns) : result;  \
  }                                                                                             \
  VOLT_UNUSED_OK_ VOLT_NODISCARD static inline int name##_send(name *c, type elem) {            \
    return name##_send_until(c, elem, VOLT_NO_DEADLINE);                                        \
  }                                                                                             \
  VOLT_UNUSED_OK_ VOLT_NODISCARD static inline int name##_recv(name *c, type *elem) {           \
    return name##_recv_until(c, elem, VOLT_NO_DEADLINE);                                        \
  }                                                                                             \
  VOLT_UNUSED_OK_ VOLT_NODISCARD static inline volt_future *name##_send_future(                 \
      volt_future *f, name *c, type const *elem) {                                              \
    return volt_chan_send_future(f, &c->chan, elem);                                            \
  }                                                                                             \
  VOLT_UNUSED_OK_ VOLT_NODISCARD static inline volt_future *name##_recv_future(                 \
      volt_future *f, name *c, type *elem) {                                                    \
    return volt_chan_recv_future(f, &c->chan, elem);                                            \
  }                                                                                             \
  struct name /* takes the semicolon */

#endif
