/* chan_ring.h: what the two published channels have in common: a ring with a turn for each place,
 * and beside it, behind one lock, a FIFO of senders and a FIFO of receivers. The protocol is in
 * chan_ring.c. What is inline here is all that is done without the lock.
 *
 * A position is a lap and an index, (lap << 32) + index, so that any capacity from 1 on will do.
 * The turn of a place is 2 * lap when it is to be filled, 2 * lap + 1 when it is to be emptied. */
#ifndef VOLT_VARIANTS_CHAN_RING_H
#define VOLT_VARIANTS_CHAN_RING_H

#include <volt/channel.h> /* VOLT_CHAN_MAX: the variants have the limits of the library */

#include "atomic_more.h"
#include "state.h"

/* One place; its element follows. */
typedef struct volt_variant_ring_place_ {
  VOLT_ATOMIC(uint32_t) turn;
  uint32_t unused; /* elements are aligned to 8 */
} volt_variant_ring_place_;

enum { VOLT_VARIANT_RING_SENDERS_ = 0, VOLT_VARIANT_RING_RECEIVERS_ = 1 };

/* The first member of both variants. The two ends of the ring have cache lines of their own. */
typedef struct volt_variant_ring_ {
  unsigned char *places;
  uint32_t capacity;
  uint32_t elem_bytes;
  uint32_t stride; /* bytes from place to place */
  /* For each side. Odd: somebody is linked there, or about to be. Each change adds 1. Written with
   * the lock held. */
  VOLT_ATOMIC(uint32_t) flag[2];
  unsigned char apart_from_tail[VOLT_CACHE_LINE];
  VOLT_ATOMIC(uint64_t) tail; /* the next position to fill, and CLOSED */
  unsigned char apart_from_head[VOLT_CACHE_LINE];
  VOLT_ATOMIC(uint64_t) head; /* the next position to empty */
  unsigned char apart_from_lock[VOLT_CACHE_LINE];
  volt_short_lock lock;
  VOLT_PLAIN(uint32_t) returning; /* operations that are waking a batch and will come back */
  volt_variant_fifo_ fifo[2];
} volt_variant_ring_;

#define VOLT_VARIANT_RING_LAP_ (UINT64_C(1) << 32)
#define VOLT_VARIANT_RING_CLOSED_ \
  (UINT64_C(1) << 31) /* in tail: no position will be filled any more */
#define VOLT_VARIANT_RING_INDEX_(position) ((uint32_t)(position)&UINT32_C(0x7fffffff))

/* What the variants do differently: where a waiter can be besides the FIFO. The lock is held. */
typedef struct volt_variant_ring_kind_ {
  const char *name; /* for messages */
  /* Bring whoever waits elsewhere into its FIFO, at the front. */
  void (*gather)(volt_variant_ring_ *r);
  /* All who can be served have been: a waiter may be moved elsewhere. */
  void (*settle)(volt_variant_ring_ *r);
  /* Take *w out from elsewhere without the lock. Returns whether it was there. */
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

/* Each as the function of volt/channel.h that it stands behind. */
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

/* Something was put into the ring, or a place became free: serve with the lock whoever waits.
 * claimed: a waiter that the caller has taken out and moved the element of, to be told with the
 * others; or NULL. */
void volt_variant_ring_serve_(const volt_variant_ring_kind_ *v, volt_variant_ring_ *r,
                              volt_waiter *claimed);

/* Grant a waiter that was taken out from elsewhere; or complete it as closed. */
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

static inline uint32_t volt_variant_ring_turn_(uint64_t position) {
  return (uint32_t)(position >> 32) << 1;
}

static inline uint64_t volt_variant_ring_next_(const volt_variant_ring_ *r, uint64_t position) {
  if (VOLT_VARIANT_RING_INDEX_(position) + 1 < r->capacity) return position + 1;
  return ((position >> 32) + 1) << 32;
}

/* The lock is held: somebody is about to be linked on that side. */
static inline void volt_variant_ring_raise_(volt_variant_ring_ *r, int side) {
  uint32_t flag = volt_load_relaxed(&r->flag[side]); /* ours to write */
  /* chan_ring:D1 <-> chan_ring:D3, chan_ring:D4: who sees a flag lowered sees where its waiter
   * has been moved */
  if (!(flag & 1)) volt_store_seq_cst(&r->flag[side], flag + 1);
}

/* Whether somebody of that side waits in the FIFO: D3 of the one who has changed the ring. */
static inline bool volt_variant_ring_is_flagged_(volt_variant_ring_ *r, int side) {
  /* chan_ring:D3 <-> chan_ring:D1, chan_ring:D2, chan_ring:F1: who sees a flag lowered sees
   * where its waiter has been moved */
  return (volt_load_seq_cst(&r->flag[side]) & 1) != 0;
}

/* Fill the next place. Returns VOLT_OK; VOLT_EAGAIN: it is not empty; VOLT_ECLOSED. */
static inline int volt_variant_ring_push_(volt_variant_ring_ *r, const void *elem, size_t bytes) {
  uint64_t at = volt_load_relaxed(&r->tail); /* a guess: the CAS decides */
  for (;;) {
    if (at & VOLT_VARIANT_RING_CLOSED_) {
      /* chan_ring:C1 <- chan_ring:C2: who sees CLOSED sees what came before close() */
      (void)volt_load_acquire(&r->tail);
      return VOLT_ECLOSED;
    }
    volt_variant_ring_place_ *place = volt_variant_ring_place_at_(r, at);
    uint32_t turn = volt_variant_ring_turn_(at);
    /* chan_ring:S1 <-> chan_ring:S4: who fills a place; chan_ring:D4 <-> chan_ring:D1,
     * chan_ring:D2, chan_slots:D2: TODO-REASON */
    uint32_t now = volt_load_seq_cst(&place->turn);
    if (now == turn) {
      /* chan_ring:D5 <-> TODO-AREA(chan_slots|inject):D6: TODO-REASON */
      if (volt_cas_seq_cst(&r->tail, &at, volt_variant_ring_next_(r, at))) {
        VOLT_COPY_(volt_variant_ring_elem_(place), elem, bytes);
        /* chan_ring:S2 <-> chan_ring:S3: who takes an element sees it, and what its sender did
         * before; chan_ring:D2 <-> chan_ring:D3, chan_ring:D4: who sees a flag lowered sees
         * where its waiter has been moved */
        volt_store_seq_cst(&place->turn, turn + 1);
        return VOLT_OK;
      }
    } else if ((int32_t)(now - turn) < 0) {
      return VOLT_EAGAIN;
    } else {
      at = volt_load_relaxed(&r->tail); /* S1 has shown that it was changed */
    }
  }
}

/* Claim the next place to empty. Returns VOLT_OK, and the position in *at; VOLT_EAGAIN: it is not
 * filled; VOLT_ECLOSED: nor will it be. */
static inline int volt_variant_ring_claim_(volt_variant_ring_ *r, uint64_t *at) {
  *at = volt_load_relaxed(&r->head); /* a guess: the CAS decides */
  for (;;) {
    uint32_t turn = volt_variant_ring_turn_(*at) + 1;
    /* chan_ring:S3 <-> chan_ring:S2, chan_slots:S2: who takes an element sees it, and what its
     * sender did before; chan_ring:D4 <-> chan_ring:D1, chan_ring:D2, chan_slots:D2: TODO-REASON */
    uint32_t now = volt_load_seq_cst(&volt_variant_ring_place_at_(r, *at)->turn);
    if (now == turn) {
      /* relaxed: who claims a position learns nothing by it; its turn orders the rest */
      if (volt_cas_relaxed(&r->head, at, volt_variant_ring_next_(r, *at))) return VOLT_OK;
    } else if ((int32_t)(now - turn) < 0) {
      /* chan_ring:C1 <- chan_ring:C2: who sees CLOSED sees what came before close() */
      uint64_t tail = volt_load_acquire(&r->tail);
      return tail == (*at | VOLT_VARIANT_RING_CLOSED_) ? VOLT_ECLOSED : VOLT_EAGAIN;
    } else {
      *at = volt_load_relaxed(&r->head); /* S3 has shown that it was changed */
    }
  }
}

/* The claimed place is empty. */
static inline void volt_variant_ring_give_place_(volt_variant_ring_ *r, uint64_t at) {
  volt_variant_ring_place_ *place = volt_variant_ring_place_at_(r, at);
  /* chan_ring:S4 <-> chan_ring:S1: who fills a place; chan_ring:D2 <-> chan_ring:D3,
   * chan_ring:D4: who sees a flag lowered sees where its waiter has been moved */
  volt_store_seq_cst(&place->turn, volt_variant_ring_turn_(at) + 2);
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
