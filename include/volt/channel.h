/* channel.h: a bounded channel of many senders and many receivers.
 *
 * Elements of one size go through a ring in the caller's memory, first in, first out. Who finds it
 * full, or empty, waits in a FIFO; what such a waiter waits for is handed to it directly: a sender
 * writes into the memory of the oldest waiting receiver, a receiver moves the element of the oldest
 * waiting sender into the ring. So nothing is tried again after a wake, nobody overtakes (not even
 * by try_send or try_recv), and what a granted operation has moved is moved. Tasks, threads and
 * event loops wait in the same FIFO. Nothing is ever allocated.
 *
 *   static uint64_t memory[1024];
 *   volt_chan jobs;
 *   volt_chan_init(&jobs, 64, sizeof(struct job), memory, sizeof memory);
 *   volt_chan_send_blocking(&jobs, &job, VOLT_NO_DEADLINE);                       a thread
 *   VOLT_AWAIT(self, volt_chan_recv_future(&self->f, &jobs, &self->job));         a task
 *
 * Elements are copied with memcpy(). VOLT_CHAN_DECLARE() makes a front for one type, whose copies
 * are moves of a known size and whose arguments the compiler checks.
 *
 * close() ends the sending: senders fail at once and keep their elements; receivers first get what
 * was sent before, then VOLT_ECLOSED.
 *
 * Lifetime: a send that hands its element over, or puts it into the ring, does not touch the
 * channel afterwards: whoever receives the last element may destroy the channel while that send is
 * still returning. A send that waited, and every receive, ends when it has returned.
 *
 * Progress: a thread that is descheduled in the middle of a copy delays those who come to the same
 * place of the ring, those that are queued behind them, and the senders that are served together
 * with one whose element goes there; they spin a little, then nap. */
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
  VOLT_ATOMIC(uint32_t) closing; /* threads that are away from a close() and will come back */
  VOLT_ATOMIC(uint32_t) senders; /* that are counted; bit 31: the last of them has left */
  volt_fifo_ watchers;           /* futures that await the close */
} volt_chan;
VOLT_SIZE_AT_MOST_(volt_chan, 96);
VOLT_STATIC_ASSERT_(offsetof(volt_chan, watchers) <= 64, "its operations touch a line");

VOLT_BEGIN_DECLS

/* ---- life ---- */

/* Bytes of memory for a channel of this capacity (1..VOLT_CHAN_MAX elements) and elements of
 * elem_bytes each (0: nothing but the signal): places are a power of two, with 8 bytes more each.
 * Returns 0 if there can be no such channel. */
VOLT_API size_t volt_chan_bytes(uint32_t capacity, size_t elem_bytes);

/* Make *c an empty channel.
 * mem: the caller's, mem_bytes of it, aligned to 8; the channel's until volt_chan_destroy().
 * Returns VOLT_OK, or VOLT_EINVAL (capacity or elem_bytes out of range, mem NULL or not aligned,
 *   mem_bytes below volt_chan_bytes()): then *c is untouched. */
VOLT_API VOLT_NODISCARD int volt_chan_init(volt_chan *c, uint32_t capacity, size_t elem_bytes,
                                           void *mem, size_t mem_bytes);

/* End its life. No waiter may be queued (aborts), and no thread may use *c again. Waits for a
 * close() that is still at work, if that has more than 32 waiters to tell, or if the close was ever
 * awaited by a volt_chan_closed_future(). So it must not be called from a waker of that close().
 * drop(elem, ctx): called for each element that nobody received, oldest first; NULL: for none.
 *   elem is in the ring, aligned to 8. */
VOLT_API void volt_chan_destroy(volt_chan *c, void (*drop)(void *elem, void *ctx), void *ctx);

/* ---- one element ---- */

/* Send *elem if there is a place and no sender waits, or a receiver waits. Never waits for one,
 * never fails spuriously.
 * elem: elem_bytes are copied; NULL if that is 0.
 * Returns VOLT_OK, VOLT_EAGAIN (nothing sent), or VOLT_ECLOSED.
 * Wakes: the receiver it hands to, with nothing held. Threads: any; not from a signal handler.
 * Order: releases what this thread did before to whoever receives the element. */
VOLT_API VOLT_NODISCARD int volt_chan_try_send(volt_chan *c, const void *elem);

/* Receive the oldest element if there is one. As volt_chan_try_send(); VOLT_ECLOSED: closed, and
 * nothing is left. Wakes: the sender that moves up. Order: acquires what its sender did before. */
VOLT_API VOLT_NODISCARD int volt_chan_try_recv(volt_chan *c, void *elem);

/* Send *elem, or queue *w to do it.
 * w: the caller's memory, unused or completed; must stay where it is while queued.
 * elem: the caller's, and must stay too: it is copied when a receiver makes room.
 * Returns VOLT_OK (sent; *w unused), VOLT_PENDING (queued), or VOLT_ECLOSED (not sent). A queued
 *   send completes with VOLT_OK (sent) or VOLT_ECLOSED (not sent): volt_waiter_result().
 * Wakes: waker, exactly once, on the thread that receives or closes, with nothing held; and as
 *   volt_chan_try_send(). Cancel: volt_chan_cancel_send().
 * Threads: any; not from a signal handler. Order: as volt_chan_try_send(). */
VOLT_API VOLT_NODISCARD int volt_chan_send(volt_chan *c, volt_waiter *w, const void *elem,
                                           volt_waker waker);

/* Receive the oldest element, or queue *w for one.
 * elem: the caller's, elem_bytes; must stay while *w is queued: it is written by the sender.
 * Returns VOLT_OK (received; *w unused), VOLT_PENDING (queued), or VOLT_ECLOSED (closed, nothing is
 *   left). A queued receive completes with VOLT_OK (received) or VOLT_ECLOSED. Else as
 *   volt_chan_send(). Cancel: volt_chan_cancel_recv(). */
VOLT_API VOLT_NODISCARD int volt_chan_recv(volt_chan *c, volt_waiter *w, void *elem,
                                           volt_waker waker);
/* Send, or receive; block this thread until it is done or the deadline has passed. It looks for a
 * moment before it takes its place in the queue, as in semaphore.h; ..._many queue at once.
 * deadline_ns: as volt_now_ns(); a time in the past: do not wait; VOLT_NO_DEADLINE: for ever.
 * Returns VOLT_OK, VOLT_ETIMEDOUT (nothing moved), or VOLT_ECLOSED (nothing moved).
 * Threads: any that may block. */
VOLT_API VOLT_NODISCARD int volt_chan_send_blocking(volt_chan *c, const void *elem,
                                                    uint64_t deadline_ns);
VOLT_API VOLT_NODISCARD int volt_chan_recv_blocking(volt_chan *c, void *elem, uint64_t deadline_ns);

/* A send, or a receive, as a future: nothing happens before it is polled.
 * f: not WAITING; its content is overwritten. elem: the caller's, until the future is ready.
 * Cancelled in the instant in which it was granted, it is not cancelled: it polls as VOLT_OK, and
 * the element is sent, or is in *elem. In a volt_select that does not happen to a branch that has
 * lost (volt/select.h).
 * Returns f. */
VOLT_API volt_future *volt_chan_send_future(volt_future *f, volt_chan *c, const void *elem);
VOLT_API volt_future *volt_chan_recv_future(volt_future *f, volt_chan *c, void *elem);

/* ---- many elements: up to n at once, at least one ---- */

/* Send the first of n elements, as many as there are places and waiting receivers for, in order; or
 * fewer: while somebody waits, one call serves 32 waiters at most and receives 32 elements, and it
 * leaves out what another thread is still moving.
 * elems: an array of n (0: VOLT_OK, nothing is done) times elem_bytes. *moved: how many were; NULL:
 *   nobody wants to know.
 * Returns VOLT_OK (*moved is above 0), VOLT_EAGAIN, or VOLT_ECLOSED (*moved is 0). */
VOLT_API VOLT_NODISCARD int volt_chan_try_send_many(volt_chan *c, const void *elems, uint32_t n,
                                                    uint32_t *moved);
VOLT_API VOLT_NODISCARD int volt_chan_try_recv_many(volt_chan *c, void *elems, uint32_t n,
                                                    uint32_t *moved);

/* The same, or queue *w until at least one can be. As volt_chan_send() and volt_chan_recv(); how
 * many were moved, at once or later, volt_chan_moved(w) tells. n: 0 is VOLT_EINVAL. */
VOLT_API VOLT_NODISCARD int volt_chan_send_many(volt_chan *c, volt_waiter *w, const void *elems,
                                                uint32_t n, volt_waker waker);
VOLT_API VOLT_NODISCARD int volt_chan_recv_many(volt_chan *c, volt_waiter *w, void *elems,
                                                uint32_t n, volt_waker waker);

/* How many elements the last volt_chan_send_many() or volt_chan_recv_many() with *w moved, if its
 * result is VOLT_OK. */
VOLT_API uint32_t volt_chan_moved(const volt_waiter *w);

/* The same, blocking. *moved: how many were; 0 unless VOLT_OK; or NULL. n: 0 is VOLT_EINVAL. */
VOLT_API VOLT_NODISCARD int volt_chan_send_many_blocking(volt_chan *c, const void *elems,
                                                         uint32_t n, uint32_t *moved,
                                                         uint64_t deadline_ns);
VOLT_API VOLT_NODISCARD int volt_chan_recv_many_blocking(volt_chan *c, void *elems, uint32_t n,
                                                         uint32_t *moved, uint64_t deadline_ns);

/* The same as futures; once one polls as VOLT_OK, volt_chan_future_moved() tells how many. */
VOLT_API volt_future *volt_chan_send_many_future(volt_future *f, volt_chan *c, const void *elems,
                                                 uint32_t n);
VOLT_API volt_future *volt_chan_recv_many_future(volt_future *f, volt_chan *c, void *elems,
                                                 uint32_t n);
VOLT_API uint32_t volt_chan_future_moved(const volt_future *f);

/* ---- cancel ---- */

/* Give up waiting.
 * w: of a send, or a receive, on this channel that has returned VOLT_PENDING; or never used. Of one
 *   that returned VOLT_OK at once it was not used: this tells nothing of the element then.
 * Returns true: cancelled, no wake will come, nothing was or will be moved. Returns false: too
 *   late, it has completed: see volt_waiter_result(w): VOLT_OK, the element is sent, or received;
 *   VOLT_ECLOSED, it is not. Its one wake has come or will come. Either way *w and the memory of
 *   the element are the caller's again.
 * Threads: the owner of *w. */
VOLT_API VOLT_NODISCARD bool volt_chan_cancel_send(volt_chan *c, volt_waiter *w);
VOLT_API VOLT_NODISCARD bool volt_chan_cancel_recv(volt_chan *c, volt_waiter *w);

/* ---- close ---- */

/* No more sends: every waiting sender completes with VOLT_ECLOSED and keeps its element, every
 * later send returns it; every waiting receiver completes with VOLT_ECLOSED, later receives get
 * what is left and then return it. Closing twice does nothing more.
 * Wakes: every waiter, oldest first, on this thread, with nothing held; then the futures that await
 *   the close.
 * Threads: any. Order: who sees VOLT_ECLOSED acquires what the closer did before. */
VOLT_API void volt_chan_close(volt_chan *c);

/* The close of *c as a future, for a thread or task that wants to know of it without a send or a
 * receive: nothing happens before it is polled. It takes no place in the FIFO, and costs senders
 * and receivers nothing.
 * f: not WAITING; its content is overwritten.
 * Returns f. It polls as VOLT_OK once the channel is closed, by volt_chan_close() or by the last
 *   volt_chan_drop_sender(); never as anything else, unless it is cancelled.
 * Wakes: the future's waker, on the thread that closes or, if more than 32 futures await the close,
 *   possibly on another one. Cancel: volt_future_cancel().
 * Threads: any. Order: acquires what the closer did before. */
VOLT_API volt_future *volt_chan_closed_future(volt_future *f, volt_chan *c);

/* ---- counted senders: the last one closes the channel; optional ---- */

/* Count one sender more: no volt_chan_drop_sender() closes the channel before this one is dropped,
 * too (volt_chan_close() still does). It is called for the first sender, for a copy of a counted
 * one, and by a sender that was dropped, has kept the address, and wants to come back.
 * Returns VOLT_OK, or VOLT_ECLOSED: the last sender has been dropped, for good. (A channel that
 *   volt_chan_close() has closed goes on counting: VOLT_OK.) The 2^31st at a time aborts.
 * Threads: any. Order: none. */
VOLT_API VOLT_NODISCARD int volt_chan_add_sender(volt_chan *c);

/* Count one sender fewer. The last of them closes the channel, as volt_chan_close(), for good: none
 * can be added any more. A call that does not drop the last one touches the channel no more once it
 * has counted. Aborts if more are dropped than were added. A sender that was not added is not
 * counted, and is not dropped.
 * Wakes: the last one, as volt_chan_close(). Threads: any; not from a signal handler.
 * Order: a thread that sees VOLT_ECLOSED acquires what all did before that dropped a sender. */
VOLT_API void volt_chan_drop_sender(volt_chan *c);

/* ---- inspection: snapshots; any thread ---- */

/* Elements in the ring; what waiting senders have is not counted. */
VOLT_API uint32_t volt_chan_len(const volt_chan *c);
VOLT_API uint32_t volt_chan_capacity(const volt_chan *c);
/* How many wait: senders, or receivers. */
VOLT_API uint32_t volt_chan_waiters(const volt_chan *c);
/* How many senders are counted. */
VOLT_API uint32_t volt_chan_senders(const volt_chan *c);
/* Whether volt_chan_close() has been called. Order: acquires what the closer did. */
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

/* Declare a channel type `name` for elements of `type`, and inline functions name_init(),
 * name_try_send(), ...: as those of volt_chan, with elements of that type (sent by value).
 * Everything else goes through its member `chan`: volt_chan_close(&c->chan). */
#define VOLT_CHAN_DECLARE(name, type)                                                              \
  VOLT_CHAN_CHECK_(type)                                                                           \
  typedef struct name {                                                                            \
    volt_chan chan;                                                                                \
  } name;                                                                                          \
  VOLT_UNUSED_OK_ static inline size_t name##_bytes(uint32_t capacity) {                           \
    return volt_chan_bytes(capacity, sizeof(type));                                                \
  }                                                                                                \
  VOLT_UNUSED_OK_ VOLT_NODISCARD static inline int name##_init(name *c, uint32_t capacity,         \
                                                               void *mem, size_t mem_bytes) {      \
    return volt_chan_init(&c->chan, capacity, sizeof(type), mem, mem_bytes);                       \
  }                                                                                                \
  VOLT_UNUSED_OK_ VOLT_NODISCARD static inline int name##_try_send(name *c, type elem) {           \
    return volt_chan_try_send_(&c->chan, &elem, sizeof elem);                                      \
  }                                                                                                \
  VOLT_UNUSED_OK_ VOLT_NODISCARD static inline int name##_try_recv(name *c, type *elem) {          \
    return volt_chan_try_recv_(&c->chan, elem, sizeof *elem);                                      \
  }                                                                                                \
  VOLT_UNUSED_OK_ VOLT_NODISCARD static inline int name##_send(                                    \
      name *c, volt_waiter *w, type const *elem, volt_waker waker) {                               \
    return volt_chan_send_(&c->chan, w, elem, sizeof *elem, waker);                                \
  }                                                                                                \
  VOLT_UNUSED_OK_ VOLT_NODISCARD static inline int name##_recv(name *c, volt_waiter *w,            \
                                                               type *elem, volt_waker waker) {     \
    return volt_chan_recv_(&c->chan, w, elem, sizeof *elem, waker);                                \
  }                                                                                                \
  VOLT_UNUSED_OK_ VOLT_NODISCARD static inline int name##_send_blocking(name *c, type elem,        \
                                                                        uint64_t deadline_ns) {    \
    int result = name##_try_send(c, elem);                                                         \
    return result == VOLT_EAGAIN ? volt_chan_send_blocking(&c->chan, &elem, deadline_ns) : result; \
  }                                                                                                \
  VOLT_UNUSED_OK_ VOLT_NODISCARD static inline int name##_recv_blocking(name *c, type *elem,       \
                                                                        uint64_t deadline_ns) {    \
    int result = name##_try_recv(c, elem);                                                         \
    return result == VOLT_EAGAIN ? volt_chan_recv_blocking(&c->chan, elem, deadline_ns) : result;  \
  }                                                                                                \
  VOLT_UNUSED_OK_ static inline volt_future *name##_send_future(volt_future *f, name *c,           \
                                                                type const *elem) {                \
    return volt_chan_send_future(f, &c->chan, elem);                                               \
  }                                                                                                \
  VOLT_UNUSED_OK_ static inline volt_future *name##_recv_future(volt_future *f, name *c,           \
                                                                type *elem) {                      \
    return volt_chan_recv_future(f, &c->chan, elem);                                               \
  }                                                                                                \
  struct name /* takes the semicolon */

#endif
