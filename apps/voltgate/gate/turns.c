/* turns.c: which tenant is next.
 *
 * A tenant's clients queue in a FIFO of their own, that of the semaphore `grants`. It has no permits
 * but those that are dealt: one for the oldest client, after the client's cost was taken from the
 * tenant's limit and from the gate's. So a client waits in one FIFO only, as one leaf, and leaves it
 * as any future is left. All that comes before its grant is done by the thread that lets it happen:
 * a thread that releases a permit goes on until no client can be granted any more. No task has to
 * run before the next client gets its permit.
 *
 * The round has the tenants that could use a permit of the gate: each has a client without a grant,
 * and the cost of it in hand, from its own limit. The first is dealt as many grants as its weight,
 * one by one, each for its cost of the gate's permits, then goes to the end. A tenant that leaves
 * the round comes back at its end. For what is not there a waiter waits in the FIFO of the
 * semaphore: the tenant's at its limit, the gate's at the gate's permits, where it is the only one
 * (but for clients from before the gate had tenants). So no thread polls, and nothing free is
 * overlooked.
 *
 * The dealer: a thread that reports a change pushes a note, once for each cause. If no thread deals,
 * it becomes the dealer until there is no note; else the dealer reads the note before it ends. That
 * may be the same thread, further up its stack: a release within a deal only leaves a note. So the
 * stack does not grow with the number of clients. No thread waits for another.
 *
 *   notes     NULL -> note (its thread deals) -> &dealing -> notes on top of &dealing -> &dealing
 *             -> NULL, or &waiting if the round is not empty
 *
 * Invariants
 *   I1  A grant that is given, and not picked up, stands for `cost` permits of the gate and of the
 *       tenant, which no client has. The cost does not change while there is such a grant. So both
 *       limits hold at every moment, and a client that has the grant knows what it is worth.
 *   I2  One thread deals at a time. What is TURNS_DEALT is its own.
 *   I3  After the deal no more grants are given than clients are queued. A client that leaves
 *       without its grant has put it back into `grants` before: it is granted to the next, or is
 *       there to be taken back.
 *   I4  While no thread deals: a tenant that has a client without a grant has its waiter queued at
 *       its permits, or is in the round, or awaits a pickup (I1). If the round is not empty, the
 *       gate's waiter is queued for what the first one costs, or was granted and its wake is on its
 *       way. So no client that is next waits while there is what it needs.
 *   I5  FIFO within a tenant, of any weight and cost: a client is admitted by a grant, in the FIFO's
 *       order, or by turns_take(), and that fails while a client is queued that has no grant. One
 *       that has joined before this call (it happens before) is seen by it: the word `demand` that
 *       it reads is that of the join or a later one.
 *   I6  Round robin: turns_take() fails while a tenant is in the round, and while a thread deals. A
 *       client that has joined before the call, and could use a permit of the gate, has reported
 *       that before.
 *   I7  With leases: a tenant's `wants` are its clients without a grant that have no permit of it in
 *       hand; the gate's are the permits in hand, and what the tenants' free permits would add to
 *       them. So a client that waits for its tenant's own limit wants none of the gate's. Whatever
 *       makes one of these more comes with a note, and the dealer calls the lease after it has
 *       counted. (A release within a tenant that is in the round is counted at its next note; until
 *       then the gate wants at least one for it.)
 *
 * Races
 *   R1  Interleaving: a thread finds is_noted set, and does not push; the dealer has read the note
 *       already, and has not seen what that thread did. Prevented by: the dealer clears is_noted
 *       before it looks, by an RMW: one of the two RMWs comes second, and its thread sees what the
 *       other did (N1, N2).
 *   R2  Interleaving: a client hangs up; at the same time it is dealt a grant, which finds no client.
 *       Prevented by: the grant stays in `grants` until a client comes, or the dealer finds more
 *       given than queued; a client that leaves without a grant reports that.
 *   R3  Interleaving: the cost changes between the deal and the pickup; the client gives back more
 *       than was taken. Prevented by: I1. The dealer asks by an RMW whether a grant is given, after
 *       it has set awaits_pickup. If one is, the RMW of its pickup comes later, and sees that (D1,
 *       D2).
 *   R4  Interleaving: one permit is released; the waiter is granted, and the releasing thread has
 *       not called its wake. Another is released; no waiter is queued, so it is free; a client that
 *       has just come takes it, and overtakes those that are queued. Prevented by: notes is not
 *       NULL, and a client without a grant is seen in `demand`, until a deal says otherwise.
 *   R5  Interleaving: a waiter is granted; the dealer sees that for another reason, and queues it
 *       again; then the wake of the first grant comes. It is one note more, for which there is
 *       nothing to do. It needs the memory of the note: that of a tenant is kept until the gate ends
 *       (tenant.c). */
#include "gate/turns.h"

static void turns_note_init(struct turns_note *note, struct turns *t, struct turns_member *m) {
  note->turns = t;
  note->member = m;
}

void turns_init(struct turns *t, volt_sem *permits) {
  t->permits = permits;
  turns_note_init(&t->note, t, NULL);
}

void turns_member_init(struct turns_member *m, struct turns *t, uint32_t limit, uint32_t weight,
                       uint32_t cost) {
  turns_note_init(&m->note, t, m);
  volt_sem_init(&m->grants, 0);
  volt_sem_init(&m->permits, limit);
  atomic_store_explicit(&m->weight, weight, memory_order_relaxed);
  atomic_store_explicit(&m->cost_set, cost, memory_order_relaxed);
  atomic_store_explicit(&m->cost, cost, memory_order_relaxed);
}

void turns_member_set(struct turns_member *m, uint32_t limit, uint32_t weight, uint32_t cost) {
  bool is_leased = atomic_load_explicit(&m->lease, memory_order_relaxed) != NULL;
  if (!is_leased) volt_sem_set_limit(&m->permits, limit);
  atomic_store_explicit(&m->weight, weight, memory_order_relaxed);
  atomic_store_explicit(&m->cost_set, cost, memory_order_relaxed);
  turns_report(&m->note);
}

/* ---- the round ---- */

static void turns_leave_round(struct turns *t, struct turns_member *m) {
  if (!m->is_in_round) return;
  *(m->before ? &m->before->behind : &t->first) = m->behind;
  *(m->behind ? &m->behind->before : &t->last) = m->before;
  m->is_in_round = false;
}

/* A tenant with credit left is first; one without gets new credit, and is last. */
static void turns_enter_round(struct turns *t, struct turns_member *m) {
  if (m->is_in_round) return;
  m->is_in_round = true;
  if (m->credit > 0) {
    m->before = NULL;
    m->behind = t->first;
  } else {
    m->credit = atomic_load_explicit(&m->weight, memory_order_relaxed);
    m->before = t->last;
    m->behind = NULL;
  }
  *(m->before ? &m->before->behind : &t->first) = m;
  *(m->behind ? &m->behind->before : &t->last) = m;
}

/* ---- a tenant ---- */

static uint32_t turns_queued(uint64_t demand) {
  return (uint32_t)(demand >> 32);
}
static uint32_t turns_given(uint64_t demand) {
  return (uint32_t)demand;
}

static uint64_t turns_demand(struct turns_member *m) {
  /* turns:D1 <- turns:D2: an RMW, so that it is before or behind each pickup (R3); what a client
   * that leaves has given back is in `grants` */
  return atomic_fetch_add_explicit(&m->demand, 0, memory_order_acq_rel);
}

static void turns_wake(void *note) {
  turns_report((struct turns_note *)note);
}

/* It waits for no permit of its own, and has none in hand. */
static void turns_withdraw(struct turns *t, struct turns_member *m) {
  turns_leave_round(t, m);
  m->credit = 0;
  if (m->asked != 0 && !volt_sem_cancel(&m->permits, &m->waiter)) m->in_hand = m->asked;
  m->asked = 0;
  uint32_t permits = m->in_hand;
  m->in_hand = 0;
  if (permits != 0) volt_sem_release(&m->permits, permits);
}

/* It has one of its permits, or waits for it. Returns whether it has. */
static bool turns_claim(struct turns_member *m) {
  if (m->in_hand != 0) return true;
  uint32_t cost = m->asked;
  if (cost == 0) {
    cost = atomic_load_explicit(&m->cost, memory_order_relaxed);
    volt_waker waker = {turns_wake, &m->note};
    if (volt_sem_acquire_waiter(&m->permits, &m->waiter, cost, waker) == VOLT_PENDING)
      m->asked = cost;
  } else if (volt_waiter_result(&m->waiter) != VOLT_PENDING) {
    m->asked = 0;
  }
  if (m->asked != 0) return false;
  m->in_hand = cost;
  return true;
}

/* Grants that were given to clients that have left (R2). */
static void turns_take_back(struct turns *t, struct turns_member *m) {
  uint64_t demand = turns_demand(m);
  uint32_t cost = atomic_load_explicit(&m->cost, memory_order_relaxed);
  while (turns_given(demand) > turns_queued(demand) &&
         volt_sem_try_acquire(&m->grants, 1) == VOLT_OK) {
    /* relaxed: no client sees it */
    demand = atomic_fetch_sub_explicit(&m->demand, TURNS_GIVEN, memory_order_relaxed) - TURNS_GIVEN;
    volt_sem_release(&m->permits, cost);
    volt_sem_release(t->permits, cost);
  }
}

/* What a client costs: as the settings say, but not more than it can ever get. */
static uint32_t turns_right_cost(const struct turns *t, const struct turns_member *m) {
  uint32_t cost = atomic_load_explicit(&m->cost_set, memory_order_relaxed);
  uint32_t limit = volt_sem_limit(t->permits), own_limit = volt_sem_limit(&m->permits);
  if (cost > limit) cost = limit;
  if (cost > own_limit) cost = own_limit;
  return cost ? cost : 1;
}

/* The cost follows settings and limits (I1). Returns false: it will, and no grant may be given until
 * then. If it falls, the tenant keeps its place in the round. */
static bool turns_set_cost(struct turns *t, struct turns_member *m) {
  uint32_t cost = turns_right_cost(t, m);
  bool is_right = cost == atomic_load_explicit(&m->cost, memory_order_relaxed);
  atomic_store_explicit(&m->awaits_pickup, !is_right, memory_order_relaxed);
  if (is_right) return true;
  uint32_t in_hand = m->in_hand;
  bool may_change = turns_given(turns_demand(m)) == 0;
  if (may_change && in_hand > cost) {
    m->in_hand = cost;
    volt_sem_release(&m->permits, in_hand - cost);
  } else {
    turns_withdraw(t, m);
  }
  if (!may_change) return false;
  atomic_store_explicit(&m->cost, cost, memory_order_relaxed);
  atomic_store_explicit(&m->awaits_pickup, false, memory_order_relaxed);
  return true;
}

/* ---- leases ---- */

static struct lease *turns_lease(_Atomic(struct lease *) *lease) {
  /* turns:E2 <- turns:E1: the lease that was set */
  return atomic_load_explicit(lease, memory_order_acquire);
}

/* Set a count of what could be used, and say it if it is more. */
static void turns_want(atomic_uint *wants, uint32_t now, struct lease *lease) {
  /* relaxed: a thread that looks has been called since; only the thread that deals changes it */
  uint32_t before = atomic_load_explicit(wants, memory_order_relaxed);
  if (now != before) atomic_store_explicit(wants, now, memory_order_relaxed);
  if (lease && now > before) gate_lease_look(lease);
  gate_lease_released(lease); /* withdrawn, or taken back */
}

/* Count what this tenant's clients could use: of its own limit, besides what it holds; and of the
 * gate's. A client costs one permit where there are leases. */
static void turns_count(struct turns *t, struct turns_member *m) {
  struct lease *of_gate = turns_lease(&t->lease), *of_member = turns_lease(&m->lease);
  if (!of_gate && !of_member) return;
  uint64_t demand = atomic_load_explicit(&m->demand, memory_order_relaxed);
  uint32_t queued = turns_queued(demand), given = turns_given(demand);
  uint32_t in_hand = m->in_hand, clients = queued > given ? queued - given : 0;
  uint32_t more = clients > in_hand ? clients - in_hand : 0;
  uint32_t free_own = volt_sem_available(&m->permits);
  uint32_t usable = in_hand + (more < free_own ? more : free_own), before = m->usable;
  m->usable = usable;
  turns_want(&m->wants, more, of_member);
  turns_want(&t->wants, atomic_load_explicit(&t->wants, memory_order_relaxed) - before + usable,
             of_gate);
}

void turns_set_lease(struct turns *t, struct lease *lease) {
  /* turns:E1 -> turns:E2 */
  atomic_store_explicit(&t->lease, lease, memory_order_release);
}

void turns_member_set_lease(struct turns_member *m, struct lease *lease) {
  /* turns:E1 -> turns:E2 */
  atomic_store_explicit(&m->lease, lease, memory_order_release);
}

static void turns_look(struct turns *t, struct turns_member *m) {
  turns_take_back(t, m);
  bool may_have = turns_set_cost(t, m);
  uint64_t demand = turns_demand(m);
  if (!may_have || turns_queued(demand) <= turns_given(demand)) {
    turns_withdraw(t, m);
  } else if (turns_claim(m)) {
    turns_enter_round(t, m);
  } else {
    m->credit = 0;
  }
  turns_count(t, m);
}

/* ---- the gate ---- */

static void turns_need(struct loan *loan, uint32_t permits) {
  /* turns:B1 -> loan:B2: what was taken before */
  uint32_t before = atomic_exchange_explicit(&loan->needs, permits, memory_order_acq_rel);
  if (before != permits) loan_tell(loan);
}

/* Take so many of a loan at once, or say that they are needed. Nothing is set aside meanwhile: two
 * processes that each had a part of what a client costs would wait for each other. */
static bool turns_borrow(struct turns *t, struct loan *loan, uint32_t permits) {
  uint32_t asked = t->asked;
  t->asked = 0;
  if (asked != 0 && !volt_sem_cancel(t->permits, &t->waiter)) volt_sem_release(t->permits, asked);
  if (permits != 0 && volt_sem_try_acquire(&loan->permits, permits) == VOLT_OK) {
    turns_need(loan, 0);
    return true;
  }
  turns_need(loan, permits);
  return false;
}

/* Take so many of the gate's permits, or have its waiter wait for them. permits: 0: neither. Returns
 * whether they are taken. */
static bool turns_obtain(struct turns *t, uint32_t permits) {
  uint32_t asked = t->asked;
  /* turns:L2 <- turns:L1: the loan that was set */
  struct loan *loan = atomic_load_explicit(&t->loan, memory_order_acquire);
  if (loan) return turns_borrow(t, loan, permits);
  if (asked != 0 && asked == permits) {
    if (volt_waiter_result(&t->waiter) == VOLT_PENDING) return false;
    t->asked = 0;
    return true;
  }
  t->asked = 0;
  if (asked != 0 && !volt_sem_cancel(t->permits, &t->waiter)) volt_sem_release(t->permits, asked);
  if (permits == 0) return false;
  volt_waker waker = {turns_wake, &t->note};
  if (volt_sem_acquire_waiter(t->permits, &t->waiter, permits, waker) == VOLT_OK) return true;
  t->asked = permits;
  return false;
}

static void turns_deal(struct turns *t) {
  while (turns_obtain(t, t->first ? (uint32_t)t->first->in_hand : 0)) {
    struct turns_member *m = t->first;
    m->in_hand = 0;
    m->credit -= 1;
    turns_leave_round(t, m);
    /* relaxed: the client that gets the grant comes after it */
    atomic_fetch_add_explicit(&m->demand, TURNS_GIVEN, memory_order_relaxed);
    volt_sem_release(&m->grants, 1);
    turns_look(t, m);
  }
}

static void turns_read(struct turns *t, struct turns_note *notes) {
  struct turns_note *oldest = NULL;
  while (notes != NULL && notes != &t->dealing && notes != &t->waiting) {
    struct turns_note *next = notes->next;
    notes->next = oldest;
    oldest = notes;
    notes = next;
  }
  while (oldest != NULL) {
    struct turns_note *note = oldest;
    oldest = note->next;
    /* turns:N2 <-> turns:N1: what was done before is seen from here on; next is the pusher's again */
    atomic_exchange_explicit(&note->is_noted, false, memory_order_acq_rel);
    if (note->member) turns_look(t, note->member);
  }
}

/* Deal until there is no note. */
static void turns_run(struct turns *t) {
  struct turns_note *notes;
  do {
    /* turns:P2 <- turns:P1, turns:P3: the notes; what the dealer before has left */
    turns_read(t, atomic_exchange_explicit(&t->notes, &t->dealing, memory_order_acquire));
    turns_deal(t);
    notes = &t->dealing;
    /* turns:P3 -> turns:P2: to the next dealer */
  } while (!atomic_compare_exchange_strong_explicit(&t->notes, &notes,
                                                    t->first ? &t->waiting : NULL,
                                                    memory_order_release, memory_order_relaxed));
}

void turns_report(struct turns_note *note) {
  struct turns *t = note->turns;
  /* turns:N1 <-> turns:N2: if it is set, the thread that has set it pushes for this one, too */
  if (atomic_exchange_explicit(&note->is_noted, true, memory_order_acq_rel)) return;
  struct turns_note *notes = atomic_load_explicit(&t->notes, memory_order_relaxed);
  do {
    note->next = notes;
    /* turns:P1 -> turns:P2 */
  } while (!atomic_compare_exchange_weak_explicit(&t->notes, &notes, note, memory_order_release,
                                                  memory_order_relaxed));
  if (notes == NULL || notes == &t->waiting) turns_run(t);
}

void turns_set_loan(struct turns *t, struct loan *loan) {
  /* turns:L1 -> turns:L2 */
  atomic_store_explicit(&t->loan, loan, memory_order_release);
  turns_brought(t);
}

void turns_brought(struct turns *t) {
  turns_report(&t->note);
}

/* ---- a client ---- */

void turns_join(struct turns_member *m) {
  /* relaxed: the note says the rest */
  atomic_fetch_add_explicit(&m->demand, TURNS_QUEUED, memory_order_relaxed);
  turns_report(&m->note);
}

uint32_t turns_leave(struct turns_member *m, bool is_granted) {
  /* it stays as it is until D2 */
  uint32_t cost = is_granted ? atomic_load_explicit(&m->cost, memory_order_relaxed) : 0;
  uint64_t less = is_granted ? TURNS_QUEUED + TURNS_GIVEN : TURNS_QUEUED;
  /* turns:D2 <-> turns:D1: the cost has been read; awaits_pickup was set */
  atomic_fetch_sub_explicit(&m->demand, less, memory_order_acq_rel);
  if (!is_granted || atomic_load_explicit(&m->awaits_pickup, memory_order_relaxed)) {
    turns_report(&m->note);
  }
  return cost;
}

uint32_t turns_take(struct turns_member *m) {
  struct turns *t = m->note.turns;
  /* relaxed: coherence is enough (I5, I6) */
  uint64_t demand = atomic_load_explicit(&m->demand, memory_order_relaxed);
  if (turns_queued(demand) > turns_given(demand)) return 0;
  if (atomic_load_explicit(&t->notes, memory_order_relaxed) != NULL) return 0;
  uint32_t cost = atomic_load_explicit(&m->cost, memory_order_relaxed);
  if (volt_sem_try_acquire(&m->permits, cost) != VOLT_OK) return 0;
  if (volt_sem_try_acquire(t->permits, cost) == VOLT_OK) return cost;
  volt_sem_release(&m->permits, cost);
  return 0;
}

void turns_give_back(struct turns_member *m, uint32_t permits) {
  struct turns *t = m->note.turns;
  volt_sem_release(&m->permits, permits);
  volt_sem_release(t->permits, permits);
  gate_lease_released(turns_lease(&m->lease));
  gate_lease_released(turns_lease(&t->lease));
}
