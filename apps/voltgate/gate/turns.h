/* turns.h: which tenant is next. turns.c says how. */
#ifndef VOLTGATE_GATE_TURNS_H
#define VOLTGATE_GATE_TURNS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <volt/semaphore.h>

struct turns;

/* Word that something has changed, for the thread that deals the turns. */
struct turns_note {
  struct turns *turns;
  struct turns_note *next; /* among the notes */
  atomic_bool is_noted;
};

/* Two numbers of a tenant in one word. */
#define TURNS_QUEUED (UINT64_C(1) << 32) /* a client that has joined and has not left */
#define TURNS_GIVEN UINT64_C(1)          /* a grant that no client has picked up */

/* A tenant's part. From waiter on it belongs to the thread that deals. */
struct turns_member {
  struct turns_note note;               /* first */
  volt_sem grants;                      /* its clients' FIFO */
  volt_sem permits;                     /* its limit */
  atomic_uint_fast64_t demand;          /* TURNS_QUEUED, TURNS_GIVEN */
  atomic_uint weight;                   /* turns in a row */
  atomic_uint cost_set;                 /* permits of each client, as the settings say */
  atomic_uint cost;                     /* the same, but not above a limit */
  atomic_bool is_recosted;              /* cost changes as soon as no grant is given */
  volt_waiter waiter;                   /* for its permits */
  uint32_t asked;                       /* for which the waiter is queued; 0: it is not */
  uint32_t in_hand;                     /* of its permits, for its next client */
  uint32_t credit;                      /* turns that are left to it */
  struct turns_member *before, *behind; /* in the round */
  bool is_in_round;
};

/* Of a gate. */
struct turns {
  _Atomic(struct turns_note *) notes; /* NULL: no thread deals */
  volt_sem *permits;                  /* the gate's */
  struct turns_note note;             /* of the gate: its waiter was granted */
  struct turns_note end;              /* of the notes, while a thread deals */
  volt_waiter waiter;                 /* for the gate's permits */
  uint32_t asked;                     /* for which it is queued; 0: it is not */
  struct turns_member *first, *last;  /* the round: tenants that can use a permit of the gate */
};

void turns_init(struct turns *t, volt_sem *permits);
/* limit: VOLT_SEM_MAX: none. */
void turns_member_init(struct turns_member *m, struct turns *t, uint32_t limit, uint32_t weight,
                       uint32_t cost);
void turns_member_set(struct turns_member *m, uint32_t limit, uint32_t weight, uint32_t cost);

/* Something has changed: a client has joined or left; a limit, a weight, a cost. Any thread. It may
 * deal turns before it returns, to clients of any tenant. */
void turns_tell(struct turns_note *note);

/* Whether nobody is dealing, so that what is free is free for all. */
static inline bool turns_is_quiet(const struct turns *t) {
  /* turns:L1 <- turns:C1: all that was told before has been dealt with */
  return atomic_load_explicit(&t->notes, memory_order_acquire) == NULL;
}

#endif
