/* slot_stack.h: the slots that a host leases, each in a place; and the stack of those that are free.
 *
 * A place never moves and is never freed while its semaphore lives, so a thread may read a place that
 * another thread has taken meanwhile. The stack is LIFO, so that few slots are used, and others stay
 * idle, while there is little to do.
 *
 * The stack's head is one word:
 *   bits 0-23   the index of the place on top, plus 1; 0: the stack is empty
 *   bit 24      OPEN. Not set: the driver takes places out of the middle. Or this is a child of
 *               fork(), where the whole word is 0 (wiped.h), and no place is taken or put back: the
 *               ways that are quick fail, and a caller asks what it is before it waits
 *   bits 25-63  counts takes and locks, so that a head that comes back is not taken for the old one.
 *               (A thread would have to stop between its load and its compare-and-swap for exactly
 *               2^39 of them.)
 *
 * Races
 *   R1  Interleaving: a taker reads the top and the one below it; others take both, and put the top
 *       back; the taker's compare-and-swap makes a place the top that is in use. Prevented by: each
 *       take changes the count.
 *   R2  Interleaving: a permit is marked as lost or retired while its place is put back; the mark is
 *       not seen, and the driver finds the place neither in the stack nor among those that come back.
 *       Prevented by: a thread that puts a place back reads the head, then the mark, and then swaps
 *       the head. The driver marks, and then locks the stack, which changes the count. If the swap
 *       came before the lock, the driver finds the place in the stack. If not, the swap fails, and
 *       the thread reads the head again, and with it (P2) the mark.
 *
 * Labels: slots */
#ifndef VOLT_CLUSTER_HOST_SLOT_STACK_H
#define VOLT_CLUSTER_HOST_SLOT_STACK_H

#include <volt/latch.h>

#include "../../core/os/check.h"
#include "../../core/park/spin.h"

/* What a place is for. The driver writes it. */
enum {
  CLUSTER_PLACE_UNUSED = 0,  /* for no slot */
  CLUSTER_PLACE_LEASED = 1,  /* its slot may be used */
  CLUSTER_PLACE_RETIRED = 2, /* its slot is beyond the limit: it comes back when it is released */
  CLUSTER_PLACE_LOST = 3,    /* its lease is void, and its permit is out */
  CLUSTER_PLACE_READY = 4    /* taken back, and not collected yet */
};

/* The members that are no atomics are written by the driver while no permit has the place; grants by
 * the taker of the place. */
typedef struct cluster_place {
  VOLT_ATOMIC(uint32_t) next; /* in a stack or list: the next one's index plus 1, or 0 */
  VOLT_ATOMIC(uint32_t) state;
  VOLT_PLAIN(uint32_t) slot;
  VOLT_PLAIN(uint32_t) era;
  VOLT_PLAIN(uint64_t) epoch;
  VOLT_PLAIN(uint64_t) grants; /* permits so far, of all leases of the place */
  VOLT_PLAIN(uint64_t) before; /* as many of them were of earlier leases */
  volt_latch lost;             /* open: the lease is void */
} cluster_place;

typedef struct slot_stack {
  cluster_place *places;
  VOLT_ATOMIC(uint64_t) head; /* the last member, and the last one of the semaphore: it is wiped */
} slot_stack;

#define SLOT_STACK_INDEX UINT64_C(0xffffff)
#define SLOT_STACK_OPEN UINT64_C(0x1000000)
#define SLOT_STACK_COUNT UINT64_C(0x2000000) /* one take or lock */
#define SLOT_STACK_PLACES (1u << 20)         /* how many there are at most */

static inline uint32_t slot_stack_top_(uint64_t head) {
  return (uint32_t)(head & SLOT_STACK_INDEX);
}

/* The place with this index plus 1. */
static inline cluster_place *slot_stack_at_(const slot_stack *s, uint32_t index) {
  return &s->places[index - 1];
}

/* *s becomes one without places. */
static inline void slot_stack_init_(slot_stack *s, cluster_place *places) {
  s->places = places;
  volt_store_relaxed(&s->head, SLOT_STACK_OPEN); /* no thread knows it yet */
}

/* The head, when the driver has unlocked the stack. */
static inline uint64_t slot_stack_head_(slot_stack *s) {
  for (unsigned spins = 0;;) {
    /* slots:T1 <- slots:P1, slots:U1: a taker sees which place is below, what the slot is, and what
     * the last holder did; slots:P2 <- slots:U1: a thread that puts a place back sees what was
     * marked before (R2) */
    uint64_t head = volt_load_acquire(&s->head);
    if (VOLT_LIKELY(head & SLOT_STACK_OPEN)) return head;
    volt_pause_(&spins);
  }
}

/* Take the place on top, if the head is still so. It is neither locked nor empty. Returns the index of
 * the place plus 1; 0: the head has changed. */
static inline uint32_t slot_stack_take_(slot_stack *s, uint64_t head) {
  uint32_t top = slot_stack_top_(head);
  uint32_t below = volt_load_relaxed(&slot_stack_at_(s, top)->next); /* if it is old: R1 */
  uint64_t next = ((head + SLOT_STACK_COUNT) & ~SLOT_STACK_INDEX) | below;
  /* relaxed, by slots:T1: the load of the head has acquired the same value, which comes once; R1 */
  return VOLT_LIKELY(volt_cas_relaxed(&s->head, &head, next)) ? top : 0;
}

/* Take the place on top. Returns its index plus 1; 0: there is none. */
static inline uint32_t slot_stack_pop_(slot_stack *s) {
  for (;;) {
    uint64_t head = slot_stack_head_(s);
    if (slot_stack_top_(head) == 0) return 0;
    uint32_t index = slot_stack_take_(s, head);
    if (index != 0) return index;
  }
}

/* The same in one attempt, without a wait. 0: there is none, or it has failed. */
static inline uint32_t slot_stack_pop_fast_(slot_stack *s) {
  uint64_t head = volt_load_acquire(
      &s->head); /* slots:T1 <- slots:P1, slots:U1: the taker sees the same as in slot_stack_head_() */
  bool may_try = (head & SLOT_STACK_OPEN) && slot_stack_top_(head) != 0;
  return VOLT_LIKELY(may_try) ? slot_stack_take_(s, head) : 0;
}

/* Put *place on top, if the head is still so and not locked. index: its index plus 1. */
static inline bool slot_stack_put_(slot_stack *s, uint64_t head, cluster_place *place,
                                   uint32_t index) {
  volt_store_relaxed(&place->next, slot_stack_top_(head));
  /* slots:P1 -> slots:T1, slots:L1: the taker sees what is below, and what this thread did */
  return volt_cas_release(&s->head, &head, (head & ~SLOT_STACK_INDEX) | index);
}

static inline bool slot_stack_is_usable_(const cluster_place *place) {
  return volt_load_relaxed(&place->state) == CLUSTER_PLACE_LEASED; /* R2: after the head */
}

/* Put *place on top, if its slot may be used further. Returns false: it may not. */
static inline bool slot_stack_push_(slot_stack *s, cluster_place *place, uint32_t index) {
  for (;;) {
    uint64_t head = slot_stack_head_(s);
    if (!slot_stack_is_usable_(place)) return false;
    if (slot_stack_put_(s, head, place, index)) return true;
  }
}

/* The same in one attempt, without a wait. Returns false: it may not, or it has failed. */
static inline bool slot_stack_push_fast_(slot_stack *s, cluster_place *place, uint32_t index) {
  uint64_t head = volt_load_acquire(
      &s->head); /* slots:P2 <- slots:U1: this thread sees the same as in slot_stack_head_() */
  bool may_try = (head & SLOT_STACK_OPEN) && slot_stack_is_usable_(place);
  return VOLT_LIKELY(may_try) && VOLT_LIKELY(slot_stack_put_(s, head, place, index));
}

/* Lock the stack: until it is unlocked the driver alone changes it. Returns the head. */
static inline uint64_t slot_stack_lock_(slot_stack *s) {
  uint64_t head = volt_load_relaxed(&s->head); /* a guess: the CAS decides */
  /* slots:L1 <- slots:P1: the driver sees what is in the stack */
  while (!volt_cas_acquire(&s->head, &head, head & ~SLOT_STACK_OPEN)) continue;
  return head;
}

/* Unlock it. head: as slot_stack_lock_() returned it. top: the new top, an index plus 1. */
static inline void slot_stack_unlock_(slot_stack *s, uint64_t head, uint32_t top) {
  /* slots:U1 -> slots:T1, slots:P2: what the driver has taken out and marked (R2) */
  volt_store_release(&s->head, ((head + SLOT_STACK_COUNT) & ~SLOT_STACK_INDEX) | top);
}

#endif
