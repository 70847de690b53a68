/* turns.c: which tenant is next. */
#include "gate/turns.h"

#include <stddef.h>

#include <volt/base.h>

void turns_init(struct turns *t, volt_sem *permits) {
  *t = (struct turns){.permits = permits};
  t->note.turns = t;
  t->end.turns = t;
}

void turns_member_init(struct turns_member *m, struct turns *t, uint32_t limit, uint32_t weight,
                       uint32_t cost) {
  m->note.turns = t;
  volt_sem_init(&m->grants, 0);
  volt_sem_init(&m->permits, limit);
  atomic_init(&m->weight, weight);
  atomic_init(&m->cost_set, cost);
  atomic_init(&m->cost, 1);
}

void turns_member_set(struct turns_member *m, uint32_t limit, uint32_t weight, uint32_t cost) {
  volt_sem_set_limit(&m->permits, limit);
  atomic_store_explicit(&m->weight, weight, memory_order_relaxed);
  atomic_store_explicit(&m->cost_set, cost, memory_order_relaxed);
  turns_tell(&m->note);
}

/* ---- the round ---- */

static void turns_leave_round(struct turns *t, struct turns_member *m) {
  if (!m->is_in_round) return;
  *(m->before ? &m->before->behind : &t->first) = m->behind;
  *(m->behind ? &m->behind->before : &t->last) = m->before;
  m->is_in_round = false;
}

/* Who has turns left is first; who has none gets new ones, and is last. */
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

static uint64_t turns_demand(struct turns_member *m) {
  /* turns:D1 <- turns:D2: an RMW, so that it is before or behind each of the others */
  return atomic_fetch_add_explicit(&m->demand, 0, memory_order_acq_rel);
}

static void turns_wake(void *note) {
  turns_tell(note);
}

/* It waits for no permit of its own, and has none in hand. */
static void turns_withdraw(struct turns *t, struct turns_member *m) {
  turns_leave_round(t, m);
  m->credit = 0;
  if (m->asked != 0) {
    if (!volt_sem_cancel(&m->permits, &m->waiter)) m->in_hand = m->asked;
    m->asked = 0;
  }
  uint32_t permits = m->in_hand;
  m->in_hand = 0;
  if (permits != 0) volt_sem_release(&m->permits, permits);
}

/* It has one of its permits, or waits for it. Returns whether it has. */
static bool turns_claim(struct turns_member *m) {
  if (m->in_hand != 0) return true;
  if (m->asked != 0) {
    if (volt_waiter_result(&m->waiter) == VOLT_PENDING) return false;
    m->in_hand = m->asked;
    m->asked = 0;
    return true;
  }
  uint32_t cost = atomic_load_explicit(&m->cost, memory_order_relaxed);
  volt_waker waker = {turns_wake, &m->note};
  if (volt_sem_acquire(&m->permits, &m->waiter, cost, waker) == VOLT_PENDING) {
    m->asked = cost;
    return false;
  }
  m->in_hand = cost;
  return true;
}

/* Grants that were given to clients that have left. */
static void turns_take_back(struct turns *t, struct turns_member *m) {
  uint64_t demand = turns_demand(m);
  uint32_t cost = atomic_load_explicit(&m->cost, memory_order_relaxed);
  while ((uint32_t)demand > (uint32_t)(demand >> 32) &&
         volt_sem_try_acquire(&m->grants, 1) == VOLT_OK) {
    demand = atomic_fetch_sub_explicit(&m->demand, TURNS_GIVEN, memory_order_acq_rel) - 1;
    volt_sem_release(&m->permits, cost);
    volt_sem_release(t->permits, cost);
  }
}

/* The cost follows the settings and the limits, but not while a client is about to pick up a grant:
 * it has to find the cost that was taken for it. Returns false: that is awaited. */
static bool turns_set_cost(struct turns *t, struct turns_member *m) {
  uint32_t cost = atomic_load_explicit(&m->cost_set, memory_order_relaxed);
  uint32_t limit = volt_sem_limit(t->permits);
  uint32_t own_limit = volt_sem_limit(&m->permits);
  if (cost > limit) cost = limit;
  if (cost > own_limit) cost = own_limit;
  if (cost == 0) cost = 1;
  if (cost == atomic_load_explicit(&m->cost, memory_order_relaxed)) return true;
  turns_withdraw(t, m);
  atomic_store_explicit(&m->is_recosted, true, memory_order_relaxed);
  if ((uint32_t)turns_demand(m) != 0) return false;
  atomic_store_explicit(&m->is_recosted, false, memory_order_relaxed);
  atomic_store_explicit(&m->cost, cost, memory_order_relaxed);
  return true;
}

static void turns_look(struct turns *t, struct turns_member *m) {
  turns_take_back(t, m);
  bool may_have = turns_set_cost(t, m);
  uint64_t demand = turns_demand(m);
  if (!may_have || (uint32_t)(demand >> 32) <= (uint32_t)demand) {
    turns_withdraw(t, m);
  } else if (turns_claim(m)) {
    turns_enter_round(t, m);
  } else {
    m->credit = 0;
  }
}

/* ---- the gate ---- */

/* Returns whether so many of the gate's permits have been taken; else its waiter waits for them.
 * permits: 0: nobody needs any. */
static bool turns_obtain(struct turns *t, uint32_t permits) {
  if (t->asked == permits && permits != 0) {
    if (volt_waiter_result(&t->waiter) == VOLT_PENDING) return false;
    t->asked = 0;
    return true;
  }
  if (t->asked != 0) {
    uint32_t asked = t->asked;
    t->asked = 0;
    if (!volt_sem_cancel(t->permits, &t->waiter)) volt_sem_release(t->permits, asked);
  }
  if (permits == 0) return false;
  volt_waker waker = {turns_wake, &t->note};
  if (volt_sem_acquire(t->permits, &t->waiter, permits, waker) == VOLT_OK) return true;
  t->asked = permits;
  return false;
}

static void turns_deal(struct turns *t) {
  while (turns_obtain(t, t->first ? t->first->in_hand : 0)) {
    struct turns_member *m = t->first;
    m->in_hand = 0;
    m->credit -= 1;
    turns_leave_round(t, m);
    atomic_fetch_add_explicit(&m->demand, TURNS_GIVEN, memory_order_acq_rel);
    volt_sem_release(&m->grants, 1);
    turns_look(t, m);
  }
}

static struct turns_note *turns_reverse(struct turns *t, struct turns_note *notes) {
  struct turns_note *oldest = NULL;
  while (notes != NULL && notes != &t->end) {
    struct turns_note *next = notes->next;
    notes->next = oldest;
    oldest = notes;
    notes = next;
  }
  return oldest;
}

static void turns_read(struct turns *t, struct turns_note *notes) {
  struct turns_note *note = turns_reverse(t, notes);
  while (note != NULL) {
    struct turns_note *next = note->next;
    /* turns:N2 <- turns:N1: what was told before is seen from here on */
    atomic_exchange_explicit(&note->is_noted, false, memory_order_acq_rel);
    if (note != &t->note) turns_look(t, volt_container_of(note, struct turns_member, note));
    note = next;
  }
}

void turns_tell(struct turns_note *note) {
  struct turns *t = note->turns;
  /* turns:N1 -> turns:N2 */
  if (atomic_exchange_explicit(&note->is_noted, true, memory_order_acq_rel)) return;
  struct turns_note *notes = atomic_load_explicit(&t->notes, memory_order_relaxed);
  do {
    note->next = notes;
  } while (!atomic_compare_exchange_weak_explicit(&t->notes, &notes, note, memory_order_acq_rel,
                                                  memory_order_relaxed));
  if (notes != NULL) return; /* another thread deals, or this one further up its stack */
  do {
    turns_read(t, atomic_exchange_explicit(&t->notes, &t->end, memory_order_acq_rel));
    turns_deal(t);
    notes = &t->end;
    /* turns:C1 -> turns:L1 */
  } while (!atomic_compare_exchange_strong_explicit(&t->notes, &notes, NULL, memory_order_acq_rel,
                                                    memory_order_relaxed));
}
