/* chan_ring.h: what the two published channels have in common: a ring with a sequence number for
 * each place, and beside it, behind one lock, a FIFO of senders and a FIFO of receivers. The
 * protocol is in chan_ring.c. What is inline here is what is done without the lock.
 *
 * A position is a lap and an index, (lap << 32) + index, so any capacity from 1 on will do. The
 * sequence number of a place is 2 * lap when it is to be filled, 2 * lap + 1 when it is to be
 * emptied. */
#ifndef VOLT_VARIANTS_CHAN_RING_H
#define VOLT_VARIANTS_CHAN_RING_H

#include <volt/channel.h> /* VOLT_CHAN_MAX: the variants have the limits of the library */

#include "atomic_more.h"
#include "state.h"

/* One place; its element follows. */
typedef struct volt_variant_ring_place_ {
  VOLT_ATOMIC(uint32_t) sequence;
  uint32_t unused; /* elements are aligned to 8 */
} volt_variant_ring_place_;

enum { VOLT_VARIANT_RING_SENDERS_ = 0, VOLT_VARIANT_RING_RECEIVERS_ = 1 };

/* The first member of both variants. The two ends of the ring have cache lines of their own. */
typedef struct volt_variant_ring_ {
  unsigned char *places;
  uint32_t capacity;
  uint32_t elem_bytes;
  uint32_t stride; /* bytes from place to place */
  /* For each side. Odd: a waiter is linked there, or is about to be. Each change adds 1. Written
   * with the lock held. */
  VOLT_ATOMIC(uint32_t) flag[2];
  unsigned char apart_from_tail[VOLT_CACHE_LINE];
  VOLT_ATOMIC(uint64_t) tail; /* the next position to fill, and CLOSED */
  unsigned char apart_from_head[VOLT_CACHE_LINE];
  VOLT_ATOMIC(uint64_t) head; /* the next position to empty */
  unsigned char apart_from_lock[VOLT_CACHE_LINE];
  volt_short_lock lock;
  VOLT_PLAIN(uint32_t) returning; /* operations that wake a batch and will come back */
  volt_variant_fifo_ fifo[2];
} volt_variant_ring_;

#define VOLT_VARIANT_RING_LAP_ (UINT64_C(1) << 32)
#define VOLT_VARIANT_RING_CLOSED_ \
  (UINT64_C(1) << 31) /* in tail: no position will be filled any more */
#define VOLT_VARIANT_RING_INDEX_(position) ((uint32_t)(position)&UINT32_C(0x7fffffff))

/* What differs between the variants: where a waiter can be besides the FIFO. A member may be NULL.
 * The lock is held, except in withdraw(). */
typedef struct volt_variant_ring_kind_ {
  const char *name; /* for messages */
  /* Move each waiter that is elsewhere to the front of its FIFO. */
  void (*gather)(volt_variant_ring_ *r);
  /* Every waiter that can be served has been: a waiter may be moved elsewhere. */
  void (*settle)(volt_variant_ring_ *r);
  /* Take *w out from elsewhere, without the lock. Returns whether it was there. */
  bool (*withdraw)(volt_variant_ring_ *r, volt_waiter *w);
} volt_variant_ring_kind_;

/* A send, or a receive. */
typedef struct volt_variant_ring_op_ {
  int side;
  volt_waiter *w; /* NULL: it does not wait */
  void *elem;
  volt_waker waker;
} volt_variant_ring_op_;

VOLT_BEGIN_DECLS

/* Each as the function of volt/channel.h that it implements. */
size_t volt_variant_ring_bytes_(uint32_t capacity, size_t elem_bytes);
int volt_variant_ring_init_(volt_variant_ring_ *r, uint32_t capacity, size_t elem_bytes, void *mem,
                            size_t mem_bytes);
void volt_variant_ring_destroy_(const volt_variant_ring_kind_ *v, volt_variant_ring_ *r,
                                void (*drop)(void *elem, void *ctx), void *ctx);
bool volt_variant_ring_cancel_(const volt_variant_ring_kind_ *v, volt_variant_ring_ *r,
                               volt_waiter *w);
bool volt_variant_ring_set_waker_(const volt_variant_ring_kind_ *v, volt_variant_ring_ *r,
                                  volt_waiter *w, volt_waker waker);
void volt_variant_ring_close_(const volt_variant_ring_kind_ *v, volt_variant_ring_ *r);
uint32_t volt_variant_ring_len_(volt_variant_ring_ *r);
uint32_t volt_variant_ring_waiters_(const volt_variant_ring_kind_ *v, volt_variant_ring_ *r);
bool volt_variant_ring_is_closed_(volt_variant_ring_ *r);

/* A send or a receive with the lock: VOLT_OK, VOLT_EAGAIN or VOLT_PENDING, VOLT_ECLOSED. */
int volt_variant_ring_run_(const volt_variant_ring_kind_ *v, volt_variant_ring_ *r,
                           const volt_variant_ring_op_ *op);

/* An element was put into the ring, or a place became free: take the lock and serve the waiters.
 * claimed: NULL, or a waiter that the caller has claimed, and whose element it has moved, to be
 * granted with the others. */
void volt_variant_ring_serve_(const volt_variant_ring_kind_ *v, volt_variant_ring_ *r,
                              volt_waiter *claimed);

/* Grant a waiter that was taken out from elsewhere, and call its waker; or complete it with
 * VOLT_ECLOSED. */
void volt_variant_ring_complete_(volt_waiter *w);
void volt_variant_ring_complete_closed_(volt_waiter *w);

VOLT_END_DECLS

static inline volt_variant_ring_place_ *volt_variant_ring_place_at_(const volt_variant_ring_ *r,
                                                                    uint64_t position) {
  return (volt_variant_ring_place_ *)(void *)(r->places +
                                              (size_t)VOLT_VARIANT_RING_INDEX_(position) *
                                                  r->stride);
}

static inline void *volt_variant_ring_elem_(volt_variant_ring_place_ *place) {
  return (unsigned char *)(void *)place + sizeof *place;
}

static inline uint32_t volt_variant_ring_sequence_(uint64_t position) {
  return (uint32_t)(position >> 32) << 1;
}

static inline uint64_t volt_variant_ring_next_(const volt_variant_ring_ *r, uint64_t position) {
  if (VOLT_VARIANT_RING_INDEX_(position) + 1 < r->capacity) return position + 1;
  return ((position >> 32) + 1) << 32;
}

/* The lock is held: a waiter is about to be linked on that side. */
static inline void volt_variant_ring_raise_(volt_variant_ring_ *r, int side) {
  uint32_t flag = volt_load_relaxed(&r->flag[side]); /* only written under the lock */
  /* chan_ring:D1 <-> chan_ring:D3: a thread that changes the ring and does not see the flag raised
   * has changed it before this thread reads it again (R1) */
  if (!(flag & 1)) volt_store_seq_cst(&r->flag[side], flag + 1);
}

/* This thread has changed the ring: whether a waiter of that side is in the FIFO. */
static inline bool volt_variant_ring_is_flagged_(volt_variant_ring_ *r, int side) {
  /* chan_ring:D3 <-> chan_ring:D1: this thread sees the flag raised, or the waiter sees the change
   * of the ring (R1); chan_ring:D3 <- chan_ring:F1: if the flag was lowered, the slot is filled
   * (R9) */
  return (volt_load_seq_cst(&r->flag[side]) & 1) != 0;
}

/* Fill the next place. Returns VOLT_OK; VOLT_EAGAIN: it is not empty; VOLT_ECLOSED. */
static inline int volt_variant_ring_push_(volt_variant_ring_ *r, const void *elem, size_t bytes) {
  uint64_t at = volt_load_relaxed(&r->tail); /* a guess: the CAS decides */
  for (;;) {
    if (at & VOLT_VARIANT_RING_CLOSED_) {
      /* chan_ring:C1 <- chan_ring:C2: a thread that sees CLOSED sees what came before close() */
      (void)volt_load_acquire(&r->tail);
      return VOLT_ECLOSED;
    }
    volt_variant_ring_place_ *place = volt_variant_ring_place_at_(r, at);
    uint32_t sequence = volt_variant_ring_sequence_(at);
    /* chan_ring:S1 <-> chan_ring:S4: a place is filled after its last element was copied out;
     * chan_ring:D4 <-> chan_ring:D2: a sender that has raised its flag sees a place that was
     * emptied without seeing the flag (R1) */
    uint32_t now = volt_load_seq_cst(&place->sequence);
    if (now == sequence) {
      /* chan_ring:D5 <-> chan_ring:D6: a thread that would move a receiver to its slot sees this
       * claim and does not, or this sender sees the receiver's flag (R7) */
      if (volt_cas_seq_cst(&r->tail, &at, volt_variant_ring_next_(r, at))) {
        VOLT_COPY_(volt_variant_ring_elem_(place), elem, bytes);
        /* chan_ring:S2 <-> chan_ring:S3: a receiver sees the element, and what its sender did
         * before; chan_ring:D2 <-> chan_ring:D4: a receiver that has raised its flag sees the
         * element if this thread does not see the flag (R1) */
        volt_store_seq_cst(&place->sequence, sequence + 1);
        return VOLT_OK;
      }
    } else if ((int32_t)(now - sequence) < 0) {
      return VOLT_EAGAIN;
    } else {
      at = volt_load_relaxed(&r->tail); /* relaxed: S1 has shown that it was changed */
    }
  }
}

/* Claim the next place to empty. Returns VOLT_OK, and the position in *at; VOLT_EAGAIN: it is not
 * filled; VOLT_ECLOSED: it is not, and never will be. */
static inline int volt_variant_ring_claim_(volt_variant_ring_ *r, uint64_t *at) {
  *at = volt_load_relaxed(&r->head); /* a guess: the CAS decides */
  for (;;) {
    uint32_t sequence = volt_variant_ring_sequence_(*at) + 1;
    /* chan_ring:S3 <-> chan_ring:S2: this thread sees the element, and what its sender did before;
     * chan_ring:D4 <-> chan_ring:D2: a receiver that has raised its flag sees an element that was
     * put there without seeing the flag (R1) */
    uint32_t now = volt_load_seq_cst(&volt_variant_ring_place_at_(r, *at)->sequence);
    if (now == sequence) {
      /* relaxed, by chan_ring:S3: the sequence number gives the order, not the claim */
      if (volt_cas_relaxed(&r->head, at, volt_variant_ring_next_(r, *at))) return VOLT_OK;
    } else if ((int32_t)(now - sequence) < 0) {
      /* chan_ring:C1 <- chan_ring:C2: a thread that sees CLOSED sees what came before close() */
      uint64_t tail = volt_load_acquire(&r->tail);
      return tail == (*at | VOLT_VARIANT_RING_CLOSED_) ? VOLT_ECLOSED : VOLT_EAGAIN;
    } else {
      *at = volt_load_relaxed(&r->head); /* relaxed: S3 has shown that it was changed */
    }
  }
}

/* The claimed place is empty. */
static inline void volt_variant_ring_give_place_(volt_variant_ring_ *r, uint64_t at) {
  volt_variant_ring_place_ *place = volt_variant_ring_place_at_(r, at);
  /* chan_ring:S4 <-> chan_ring:S1: a place is filled after its last element was copied out;
   * chan_ring:D2 <-> chan_ring:D4: a sender that has raised its flag sees the place if this thread
   * does not see the flag (R1) */
  volt_store_seq_cst(&place->sequence, volt_variant_ring_sequence_(at) + 2);
}

/* Empty the next place. Returns as volt_variant_ring_claim_(). */
static inline int volt_variant_ring_pop_(volt_variant_ring_ *r, void *elem, size_t bytes) {
  uint64_t at;
  int result = volt_variant_ring_claim_(r, &at);
  if (result != VOLT_OK) return result;
  VOLT_COPY_(elem, volt_variant_ring_elem_(volt_variant_ring_place_at_(r, at)), bytes);
  volt_variant_ring_give_place_(r, at);
  return VOLT_OK;
}

#endif
