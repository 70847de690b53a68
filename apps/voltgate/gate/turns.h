/* turns.h: which tenant is next. turns.c says how. */
#ifndef VOLTGATE_GATE_TURNS_H
#define VOLTGATE_GATE_TURNS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <volt/semaphore.h>

#include "gate/lease.h"
#include "gate/loan.h"

/* What belongs to the thread that deals. The model checker looks whether that is so. */
#ifndef TURNS_DEALT
#define TURNS_DEALT(T) T
#endif

struct turns;
struct turns_member;

/* Word that something has changed, for the thread that deals. */
struct turns_note {
  struct turns *turns;
  struct turns_member *member;           /* NULL: the gate's own */
  TURNS_DEALT(struct turns_note *) next; /* among the notes; before that the pusher's */
  atomic_bool is_noted;
};

/* Two numbers in one word. */
#define TURNS_QUEUED (UINT64_C(1) << 32) /* a client that has joined and has not left */
#define TURNS_GIVEN UINT64_C(1)          /* a grant that no client has picked up */

/* A tenant's part. */
struct turns_member {
  volt_sem grants;             /* its clients' FIFO */
  volt_sem permits;            /* its limit */
  atomic_uint_fast64_t demand; /* TURNS_QUEUED, TURNS_GIVEN */
  atomic_uint weight;          /* turns in a row */
  atomic_uint cost_set;        /* permits of each client, as the settings say */
  atomic_uint cost;            /* the same, but not above a limit */
  atomic_bool awaits_pickup;   /* the cost will change as soon as no grant is given */
  struct turns_note note;
  _Atomic(struct lease *) lease; /* which sets its limit, or NULL */
  atomic_uint wants;             /* with leases: permits of its own that clients could use more */
  TURNS_DEALT(uint32_t) usable;  /* with leases: its part of the gate's wants */
  volt_waiter waiter;            /* for its permits */
  TURNS_DEALT(uint32_t) asked;   /* for which the waiter is queued; 0: it is not */
  TURNS_DEALT(uint32_t) in_hand; /* of its permits, for its next client */
  TURNS_DEALT(uint32_t) credit;  /* turns that are left to it */
  TURNS_DEALT(bool) is_in_round;
  TURNS_DEALT(struct turns_member *) before; /* in the round */
  TURNS_DEALT(struct turns_member *) behind;
};

/* Of a gate. */
struct turns {
  _Atomic(struct turns_note *) notes; /* NULL: no thread deals, and no tenant is in the round */
  struct turns_note dealing;          /* the end of the notes, while a thread deals */
  struct turns_note waiting;          /* notes is this: no thread deals, a tenant is in the round */
  volt_sem *permits;                  /* the gate's */
  _Atomic(struct loan *) loan;        /* or where they come from instead; NULL: from there */
  _Atomic(struct lease *) lease;      /* which sets the gate's limit, or NULL */
  atomic_uint wants;                  /* with leases: permits that clients could use more */
  struct turns_note note;             /* its waiter was granted */
  volt_waiter waiter;                 /* for its permits */
  TURNS_DEALT(uint32_t) asked;        /* for which the waiter is queued; 0: it is not */
  TURNS_DEALT(struct turns_member *)
  first; /* the round: tenants that can use permits of the gate */
  TURNS_DEALT(struct turns_member *) last;
};

/* *t is all-zero. */
void turns_init(struct turns *t, volt_sem *permits);

/* *m is all-zero. limit: VOLT_SEM_MAX: none. */
void turns_member_init(struct turns_member *m, struct turns *t, uint32_t limit, uint32_t weight,
                       uint32_t cost);

/* Change it; with a lease, the limit stays the lease's. One thread at a time. */
void turns_member_set(struct turns_member *m, uint32_t limit, uint32_t weight, uint32_t cost);

/* Permits come from there from now on, or, loan being NULL, from the gate's again. They go back to the
 * gate's in both cases. One thread at a time. */
void turns_set_loan(struct turns *t, struct loan *loan);

/* The limit of the gate, or of the tenant, is set by that lease from now on, or, lease being NULL, by
 * none. With the gate's, what clients could use is counted in `wants` from then on. */
void turns_set_lease(struct turns *t, struct lease *lease);
void turns_member_set_lease(struct turns_member *m, struct lease *lease);

/* What has come to the loan can be dealt. Any thread. */
void turns_brought(struct turns *t);

/* ---- a client of the tenant ---- */

/* It queues: acquire 1 of m->grants, and when that is granted or given up, turns_leave(). */
void turns_join(struct turns_member *m);

/* It leaves, with a grant or without. Returns the permits that come with the grant, or 0. */
uint32_t turns_leave(struct turns_member *m, bool is_granted);

/* Take the permits without queueing, if they are free and no other client is next. Returns how many
 * they are, or 0. */
uint32_t turns_take(struct turns_member *m);

/* Give them back. */
void turns_give_back(struct turns_member *m, uint32_t permits);

/* ---- */

/* A limit has changed. Any thread. It may deal turns, to clients of any tenant, before it returns. */
void turns_report(struct turns_note *note);

#endif
