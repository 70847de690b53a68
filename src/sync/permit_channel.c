/* permit_channel.c: a semaphore of places, and a channel.
 *
 * Why two objects: a volt_chan has one FIFO, of receivers while there is no element, else of
 * senders. If places are reserved and still empty, both may have to wait at once. A position of the
 * ring cannot be the reservation: receivers take positions in order, and would wait behind a
 * reserved position that stays empty.
 *
 * Invariant I1: free places + reserved places + places of elements = capacity. A sender takes a
 *   place before it sends its element, and a receiver gives it back after it has the element. So
 *   there is room for each sender that has a place, and its send is never queued.
 *
 * Races
 *   R1  Interleaving: a place is free before its slot is; a send with that place finds the ring
 *       full. Prevented by: the receiver gives the place back when it has the element. (Another
 *       receiver may still be copying out of the slot that is next. The send waits for that copy:
 *       channel.c R3.)
 *   R2  Interleaving: an element is granted to a receive that is cancelled at the same time, and
 *       its place is lost. Prevented by: an element that was moved stays moved. The poll or the
 *       cancel that finds the grant calls the future's outcome(), once, which gives the place back.
 *   R3  Interleaving: a sender reserves a place, the channel is closed, the sender sends, and the
 *       place is lost. Prevented by: a send that is refused gives the place back; its element stays
 *       the sender's. The semaphore is closed first and the volt_chan last, because a receiver that
 *       sees VOLT_ECLOSED may destroy both, and volt_chan_close() touches neither after that. */
#define VOLT_NO_PLACES /* where its caller stands stays noted */
#include <volt/permit_channel.h>

#include "../core/future/future_ops.h"
#include "../core/hooks/holding.h"
#include "../core/os/check.h"
#include "../core/park/spin.h"
#include "../core/wait/fifo.h"
#include "channel.h"

int volt_permit_chan_init(volt_permit_chan *c, uint32_t capacity, size_t elem_bytes, void *mem,
                          size_t mem_bytes) {
  int result = volt_chan_init(&c->chan, capacity, elem_bytes, mem, mem_bytes);
  if (result == VOLT_OK) volt_sem_init(&c->places, capacity);
  return result;
}

void volt_permit_chan_destroy(volt_permit_chan *c, void (*drop)(void *elem, void *ctx), void *ctx) {
  volt_unname_at_end_(c);
  uint32_t there = volt_sem_available(&c->places) + volt_chan_len(&c->chan);
  volt_sem_destroy(&c->places);
  VOLT_CHECK(there == volt_chan_capacity(&c->chan), volt_kind_api_(VOLT_KIND_PERMIT_CHANNEL_),
             "%p: destroyed with places reserved", (void *)c); /* I1 */
  volt_chan_destroy(&c->chan, drop, ctx);
}

void volt_permit_chan_close(volt_permit_chan *c) {
  volt_sem_close(&c->places);
  volt_chan_close(&c->chan); /* R3: the last access to *c */
}

/* ---- a place ---- */

static void permit_chan_check(const volt_permit_chan *c) {
  VOLT_CHECK(volt_chan_capacity(&c->chan) > 0, volt_kind_api_(VOLT_KIND_PERMIT_CHANNEL_),
             "%p was not initialised: volt_permit_chan_init()", (const void *)c);
}

int volt_permit_chan_try_reserve(volt_permit_chan *c) {
  permit_chan_check(c);
  return volt_sem_try_acquire(&c->places, 1);
}

int volt_permit_chan_reserve_until(volt_permit_chan *c, uint64_t deadline_ns) {
  volt_check_blocks_("volt_permit_chan_reserve_until", deadline_ns);
  permit_chan_check(c);
  return volt_sem_acquire_until(&c->places, 1, deadline_ns);
}

volt_future *volt_permit_chan_reserve_future(volt_future *f, volt_permit_chan *c) {
  permit_chan_check(c);
  return volt_sem_acquire_future(f, &c->places, 1);
}

void volt_permit_chan_unreserve(volt_permit_chan *c) {
  volt_sem_release(&c->places, 1);
}

int volt_permit_chan_send_reserved(volt_permit_chan *c, const void *elem) {
  int result = volt_chan_try_send(&c->chan, elem);
  VOLT_CHECK(result != VOLT_EAGAIN, volt_kind_api_(VOLT_KIND_PERMIT_CHANNEL_),
             "%p: sent without a place", (void *)c);         /* I1 */
  if (result == VOLT_ECLOSED) volt_permit_chan_unreserve(c); /* R3 */
  if (result == VOLT_OK) volt_permits_passed_(&c->places, 1);
  return result;
}

/* ---- both in one ---- */

int volt_permit_chan_try_send(volt_permit_chan *c, const void *elem) {
  int result = volt_permit_chan_try_reserve(c);
  return result == VOLT_OK ? volt_permit_chan_send_reserved(c, elem) : result;
}

extern inline int volt_permit_chan_send(volt_permit_chan *, const void *);
extern inline int volt_permit_chan_recv(volt_permit_chan *, void *);
extern inline int volt_permit_chan_reserve(volt_permit_chan *);

int volt_permit_chan_send_until(volt_permit_chan *c, const void *elem, uint64_t deadline_ns) {
  volt_check_blocks_("volt_permit_chan_send_until", deadline_ns);
  int result = volt_permit_chan_reserve_until(c, deadline_ns);
  return result == VOLT_OK ? volt_permit_chan_send_reserved(c, elem) : result;
}

/* ---- receive ---- */

/* A receive has returned result. If it has an element, give the place back (R1). */
static int permit_chan_received(volt_permit_chan *c, int result) {
  if (result == VOLT_OK) volt_permit_chan_unreserve(c);
  return result;
}

int volt_permit_chan_try_recv(volt_permit_chan *c, void *elem) {
  return permit_chan_received(c, volt_chan_try_recv(&c->chan, elem));
}

static volt_permit_chan *permit_chan_of(volt_future *f) {
  return volt_container_of(f->object, volt_permit_chan, chan);
}

static int permit_chan_recv_start(volt_future *f, volt_waker waker) {
  return permit_chan_received(permit_chan_of(f), volt_chan_recv_start_(f, waker));
}

static int permit_chan_recv_outcome(volt_future *f) {
  return permit_chan_received(permit_chan_of(f), VOLT_OK); /* R2 */
}

static bool permit_chan_recv_cancel(volt_future *f) {
  return volt_fifo_cancel_(&permit_chan_of(f)->chan.queue, VOLT_KIND_PERMIT_CHANNEL_, &f->waiter);
}

static bool permit_chan_recv_set_waker(volt_future *f, volt_waker waker) {
  return volt_fifo_set_waker_(&permit_chan_of(f)->chan.queue, VOLT_KIND_PERMIT_CHANNEL_, &f->waiter,
                              waker);
}

static bool permit_chan_recv_due(volt_future *f) {
  return volt_chan_complete_closed_(&permit_chan_of(f)->chan, &f->waiter);
}

static void permit_chan_recv_describe(volt_future *f, volt_description_ *description) {
  volt_permit_chan *c = permit_chan_of(f);
  description->object = c;
  if (description->is_granted) return;
  volt_describe_queue_(description, &c->chan.queue, VOLT_ENDS_UNKNOWN_);
  volt_chan_describe_(&c->chan, description);
}

/* No give_back: an element that was moved stays moved. */
static const volt_future_ops_ permit_chan_recv_ops = {.operation = "volt_permit_chan_recv",
                                                      .kind = VOLT_KIND_PERMIT_CHANNEL_,
                                                      .start = permit_chan_recv_start,
                                                      .cancel = permit_chan_recv_cancel,
                                                      .set_waker = permit_chan_recv_set_waker,
                                                      .outcome = permit_chan_recv_outcome,
                                                      .due = permit_chan_recv_due,
                                                      .poll_ctx = volt_future_poll_leaf_any_,
                                                      .describe = permit_chan_recv_describe};

volt_future *volt_permit_chan_recv_future(volt_future *f, volt_permit_chan *c, void *elem) {
  f->waiter.data = elem;
  return volt_future_make_(f, &permit_chan_recv_ops, &c->chan, 1);
}

int volt_permit_chan_recv_until(volt_permit_chan *c, void *elem, uint64_t deadline_ns) {
  volt_check_blocks_("volt_permit_chan_recv_until", deadline_ns);
  return permit_chan_received(c, volt_chan_recv_until(&c->chan, elem, deadline_ns));
}

/* ---- inspection ---- */

uint32_t volt_permit_chan_len(const volt_permit_chan *c) {
  return volt_chan_len(&c->chan);
}

uint32_t volt_permit_chan_free(volt_permit_chan *c) {
  return volt_sem_available(&c->places);
}

bool volt_permit_chan_is_closed(const volt_permit_chan *c) {
  return volt_chan_is_closed(&c->chan);
}
