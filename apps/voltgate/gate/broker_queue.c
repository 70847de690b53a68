/* broker_queue.c: how a client of a permit gate takes, waits, and gives back.
 *
 * broker.c has the invariants. A future is polled for the first time under the lock, which takes its place
 * in the FIFO; that poll has no waker, and the session's own brings one.
 *
 * Places. To move by one changes the place of all behind, so no client hears of it at once: a task looks each
 * 100 ms while clients wait and any has moved, numbers all in one go, and wakes those to which it makes a
 * difference: the place that a client knows is off by more than a 32nd. So those near the front hear of
 * each step, and one that comes as number n hears of it some 32 log(n) times. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "gate/broker.h"
#include "gate/gate.h"

/* ---- lists; the lock is held ---- */

void broker_list_remove(struct broker_list *l, struct broker_entry *e, unsigned which) {
  struct broker_link *link = &e->links[which];
  *(link->previous ? &link->previous->links[which].next : &l->first) = link->next;
  *(link->next ? &link->next->links[which].previous : &l->last) = link->previous;
  *link = (struct broker_link){NULL, NULL};
  l->count -= 1;
}

void broker_list_add(struct broker_list *l, struct broker_entry *e, unsigned which) {
  e->links[which] = (struct broker_link){NULL, l->last};
  *(l->last ? &l->last->links[which].next : &l->first) = e;
  l->last = e;
  l->count += 1;
}

/* From where it is to another place. */
static void broker_move(struct broker *b, struct broker_entry *e, enum broker_where where) {
  bool is_outside = e->where == BROKER_OUTSIDE;
  if (is_outside || e->where == BROKER_AT_GATE) b->has_moved = true;
  if (is_outside && e->tenant) broker_list_remove(&e->tenant->outside, e, BROKER_IN_TENANT);
  if (e->where != BROKER_NOWHERE) broker_list_remove(&b->lists[e->where], e, BROKER_IN_ALL);
  e->where = where;
  e->order = ++b->orders;
  if (where != BROKER_NOWHERE) broker_list_add(&b->lists[where], e, BROKER_IN_ALL);
  if (where == BROKER_OUTSIDE && e->tenant) {
    broker_list_add(&e->tenant->outside, e, BROKER_IN_TENANT);
  }
}

/* ---- words; the lock is held ---- */

/* Whether a request is within the limits. Returns BROKER_QUEUED: it may wait. */
enum broker_outcome broker_judge(const struct broker *b, const struct broker_entry *e) {
  for (uint32_t i = 0; i < b->kinds; i++) {
    if (e->tenant && e->amounts.of[i] > e->tenant->limit.of[i]) return BROKER_NEVER;
  }
  for (uint32_t i = 0; i < b->kinds; i++) {
    if (e->amounts.of[i] > volt_budget_limit(&b->budget, i)) return BROKER_IMPOSSIBLE;
  }
  return BROKER_QUEUED;
}

/* Whether other requests of its tenant come first, or it has too little left. */
static bool broker_waits_for_tenant(const struct broker *b, const struct broker_entry *e) {
  const struct broker_tenant *t = e->tenant;
  return t && (t->outside.count > 0 || broker_tenant_short(b, t, &e->amounts) < b->kinds);
}

static enum broker_outcome broker_refuse(struct broker *b, struct broker_entry *e,
                                         enum broker_outcome outcome, char why[BROKER_WHY]) {
  bool is_tenant =
      outcome == BROKER_NEVER || (outcome == BROKER_BUSY && broker_waits_for_tenant(b, e));
  if (is_tenant) {
    broker_explain_tenant(b, e, why);
  } else if (volt_budget_explain(&b->budget, &e->amounts, why, BROKER_WHY) == VOLT_OK) {
    snprintf(why, BROKER_WHY, "clients can still claim what they held");
  }
  e->tenant = NULL;
  return outcome;
}

/* ---- to wait; the lock is held ---- */

static void broker_tenant_give(struct broker *b, struct broker_tenant *t,
                               const volt_amounts *amounts) {
  if (!t) return;
  broker_tenant_return(b, t, amounts);
  broker_let_in(b, t);
}

/* A request has one number from its beginning to its end, in the order of arrival. */
static void broker_give_id(struct broker *b, struct broker_entry *e) {
  if (e->id == 0) e->id = ++b->ids;
}

void broker_wait_at(struct broker *b, struct broker_entry *e, enum broker_where where) {
  broker_give_id(b, e);
  e->stand = BROKER_WAITS;
  broker_move(b, e, where);
  e->place = b->lists[BROKER_AT_GATE].count;
  if (where == BROKER_OUTSIDE) e->place += b->lists[BROKER_OUTSIDE].count;
  if (where == BROKER_AT_GATE && b->lists[BROKER_OUTSIDE].count > 0) b->has_moved = true;
}

void broker_grant(struct broker *b, struct broker_entry *e, uint64_t now_ns) {
  broker_give_id(b, e);
  e->stand = BROKER_HOLDS;
  e->since_ns = now_ns;
  e->place = e->told = 0;
  broker_move(b, e, BROKER_HOLDERS);
}

static bool broker_has_place(const struct broker *b) {
  uint32_t waiting = b->lists[BROKER_OUTSIDE].count + b->lists[BROKER_AT_GATE].count;
  return waiting < atomic_load_explicit(&b->gate->queue_bound, memory_order_relaxed);
}

/* Begin the future of a place in the gate's FIFO. Returns VOLT_PENDING: it has one. */
static int broker_queue(struct broker *b, struct broker_entry *e) {
  static const volt_waker none = {NULL, NULL};
  return volt_future_poll(volt_budget_acquire_future(&e->leaf, &b->budget, &e->amounts), none);
}

/* It goes from outside into the FIFO. Its owner finds what the future says. */
static void broker_let_one_in(struct broker *b, struct broker_entry *e) {
  broker_tenant_take(b, e->tenant, &e->amounts);
  broker_move(b, e, BROKER_AT_GATE);
  (void)broker_queue(b, e); /* it may be granted at once: its future keeps that */
  volt_notify_one(&e->moved);
}

void broker_let_in(struct broker *b, struct broker_tenant *t) {
  struct broker_entry *e;
  while (!b->is_claiming && (e = t->outside.first) != NULL) {
    if (broker_tenant_short(b, t, &e->amounts) < b->kinds) return;
    broker_let_one_in(b, e);
  }
}

void broker_let_all_in(struct broker *b) {
  for (struct broker_entry *e = b->lists[BROKER_OUTSIDE].first, *next; e; e = next) {
    next = e->links[BROKER_IN_ALL].next;
    if (b->is_claiming) return;
    if (e->tenant && e->tenant->outside.first != e) continue; /* one before it stays */
    if (broker_tenant_short(b, e->tenant, &e->amounts) == b->kinds) broker_let_one_in(b, e);
  }
}

void broker_notify_those_at_gate(struct broker *b) {
  for (struct broker_entry *e = b->lists[BROKER_AT_GATE].first; e;
       e = e->links[BROKER_IN_ALL].next) {
    if (broker_judge(b, e) == BROKER_NEVER) volt_notify_one(&e->moved);
  }
}

void broker_refuse_outside(struct broker *b) {
  for (struct broker_entry *e = b->lists[BROKER_OUTSIDE].first, *next; e; e = next) {
    next = e->links[BROKER_IN_ALL].next;
    e->refusal = broker_judge(b, e);
    if (e->refusal == BROKER_QUEUED) continue;
    broker_move(b, e, BROKER_NOWHERE);
    volt_notify_one(&e->moved);
  }
}

/* It may not go on to the gate yet. */
static enum broker_outcome broker_stay_outside(struct broker *b, struct broker_entry *e,
                                               bool may_wait, char why[BROKER_WHY]) {
  if (!may_wait) return broker_refuse(b, e, BROKER_BUSY, why);
  if (!broker_has_place(b)) return broker_refuse(b, e, BROKER_FULL, why);
  broker_wait_at(b, e, BROKER_OUTSIDE);
  return BROKER_QUEUED;
}

/* Its tenant has as much. */
static enum broker_outcome broker_go_in(struct broker *b, struct broker_entry *e, bool may_wait,
                                        char why[BROKER_WHY]) {
  int result = volt_budget_try_acquire(&b->budget, &e->amounts);
  if (result == VOLT_EAGAIN && !may_wait) return broker_refuse(b, e, BROKER_BUSY, why);
  if (result == VOLT_EAGAIN && !broker_has_place(b)) return broker_refuse(b, e, BROKER_FULL, why);
  if (result == VOLT_EAGAIN) result = broker_queue(b, e);
  if (result != VOLT_OK && result != VOLT_PENDING) {
    return broker_refuse(b, e, BROKER_IMPOSSIBLE, why);
  }
  broker_tenant_take(b, e->tenant, &e->amounts);
  if (result == VOLT_PENDING) broker_wait_at(b, e, BROKER_AT_GATE);
  return result == VOLT_PENDING ? BROKER_QUEUED : BROKER_GRANTED;
}

void broker_entry_init(struct broker_entry *e) {
  volt_notify_init(&e->moved);
}

enum broker_outcome broker_take(struct broker *b, struct broker_entry *e, bool may_wait,
                                uint64_t now_ns, char why[BROKER_WHY]) {
  broker_lock(b);
  e->tenant = broker_find_tenant(b, e);
  e->since_ns = now_ns;
  e->told = 0;
  e->id = 0;
  enum broker_outcome outcome = broker_judge(b, e);
  if (outcome != BROKER_QUEUED) {
    outcome = broker_refuse(b, e, outcome, why);
  } else if (b->is_claiming || broker_waits_for_tenant(b, e)) {
    outcome = broker_stay_outside(b, e, may_wait, why);
  } else {
    outcome = broker_go_in(b, e, may_wait, why);
  }
  if (outcome == BROKER_GRANTED) broker_grant(b, e, now_ns);
  broker_unlock(b);
  return outcome;
}

/* ---- claims ---- */

/* Take what was claimed, also above the limit. Returns false: a client waits there, or it would be more than can be
 * counted. The lock is held. */
bool broker_claim_at_gate(struct broker *b, const volt_amounts *amounts) {
  uint64_t limits[VOLT_BUDGET_KINDS];
  bool can = volt_budget_waiters(&b->budget) == 0;
  for (uint32_t i = 0; i < b->kinds; i++) {
    limits[i] = volt_budget_limit(&b->budget, i);
    can = can && amounts->of[i] <= VOLT_BUDGET_MAX - volt_budget_held(&b->budget, i);
  }
  if (!can) return false;
  for (uint32_t i = 0; i < b->kinds; i++) {
    uint64_t all = volt_budget_held(&b->budget, i) + amounts->of[i];
    if (all > limits[i]) volt_budget_set_limit(&b->budget, i, all);
  }
  int result = volt_budget_try_acquire(&b->budget, amounts);
  for (uint32_t i = 0; i < b->kinds; i++) volt_budget_set_limit(&b->budget, i, limits[i]);
  return result == VOLT_OK;
}

bool broker_claim(struct broker *b, struct broker_entry *e, uint64_t now_ns) {
  broker_lock(b);
  bool is_claimed = b->is_claiming && broker_claim_at_gate(b, &e->amounts); /* R3 */
  if (is_claimed) {
    e->tenant = broker_find_tenant(b, e);
    broker_tenant_take(b, e->tenant, &e->amounts);
    e->id = 0;
    broker_grant(b, e, now_ns);
  }
  broker_unlock(b);
  return is_claimed;
}

/* ---- while it waits ---- */

volt_future *broker_future(struct broker *b, struct broker_entry *e) {
  broker_lock(b);
  bool is_at_gate = e->where == BROKER_AT_GATE;
  broker_unlock(b);
  return is_at_gate ? &e->leaf : NULL;
}

/* It gives its place in the FIFO up, and what it was granted there. The lock is held. */
static void broker_leave_gate(struct broker *b, struct broker_entry *e) {
  static const volt_waker none = {NULL, NULL};
  volt_future_cancel(&e->leaf);
  bool is_granted = volt_future_poll(&e->leaf, none) == VOLT_OK; /* R1: a poll had returned it */
  if (is_granted) volt_budget_release(&b->budget, &e->amounts);
}

void broker_forget_waiters(struct broker *b) {
  struct broker_entry *e;
  while ((e = b->lists[BROKER_OUTSIDE].first) != NULL) broker_move(b, e, BROKER_NOWHERE);
  while ((e = b->lists[BROKER_AT_GATE].first) != NULL) {
    broker_leave_gate(b, e);
    if (e->tenant) broker_tenant_return(b, e->tenant, &e->amounts);
    broker_move(b, e, BROKER_NOWHERE);
  }
}

/* How its place in the FIFO stands. The lock is held. */
static enum broker_outcome broker_ready_at_gate(struct broker *b, struct broker_entry *e,
                                                uint64_t now_ns, char why[BROKER_WHY]) {
  static const volt_waker none = {NULL, NULL};
  bool is_never = broker_judge(b, e) == BROKER_NEVER; /* its tenant's limit is lower now */
  int result = is_never ? (int)VOLT_EINVAL : volt_future_poll(&e->leaf, none);
  if (result == VOLT_PENDING) return BROKER_QUEUED;
  if (result == VOLT_OK) {
    broker_grant(b, e, now_ns);
    return BROKER_GRANTED;
  }
  struct broker_tenant *t = e->tenant;
  if (is_never) broker_leave_gate(b, e);
  e->stand = BROKER_IDLE;
  broker_move(b, e, BROKER_NOWHERE);
  enum broker_outcome outcome =
      broker_refuse(b, e, is_never ? BROKER_NEVER : BROKER_IMPOSSIBLE, why);
  broker_tenant_give(b, t, &e->amounts);
  return outcome;
}

enum broker_outcome broker_ready(struct broker *b, struct broker_entry *e, uint64_t now_ns,
                                 char why[BROKER_WHY]) {
  enum broker_outcome outcome = BROKER_QUEUED;
  broker_lock(b);
  if (e->where == BROKER_AT_GATE) {
    outcome = broker_ready_at_gate(b, e, now_ns, why);
  } else if (e->where == BROKER_NOWHERE) {
    e->stand = BROKER_IDLE;
    outcome = broker_refuse(b, e, e->refusal, why);
  }
  broker_unlock(b);
  return outcome;
}

void broker_leave(struct broker *b, struct broker_entry *e) {
  broker_lock(b);
  struct broker_tenant *t = e->tenant;
  bool is_at_gate = e->where == BROKER_AT_GATE, was_outside = e->where == BROKER_OUTSIDE;
  broker_move(b, e, BROKER_NOWHERE);
  e->stand = BROKER_IDLE;
  e->tenant = NULL;
  if (is_at_gate) {
    broker_leave_gate(b, e);
    broker_tenant_give(b, t, &e->amounts);
  } else if (was_outside && t) {
    broker_let_in(b, t); /* K6: it may have been the oldest */
  }
  broker_unlock(b);
}

/* ---- to give back ---- */

static void broker_release(struct broker *b, struct broker_entry *e, const volt_amounts *part) {
  volt_budget_release(&b->budget, part);
  broker_tenant_give(b, e->tenant, part);
}

void broker_give_all(struct broker *b, struct broker_entry *e) {
  broker_lock(b);
  broker_move(b, e, BROKER_NOWHERE);
  e->stand = BROKER_IDLE;
  broker_release(b, e, &e->amounts);
  e->tenant = NULL;
  broker_unlock(b);
}

bool broker_give(struct broker *b, struct broker_entry *e, const volt_amounts *part) {
  bool is_held = true, is_all = true;
  for (uint32_t i = 0; i < b->kinds; i++) { /* its owner alone changes them */
    if (part->of[i] > e->amounts.of[i]) is_held = false;
    if (part->of[i] < e->amounts.of[i]) is_all = false;
  }
  if (!is_held) return false;
  if (is_all) {
    broker_give_all(b, e);
    return true;
  }
  broker_lock(b);
  for (uint32_t i = 0; i < b->kinds; i++) e->amounts.of[i] -= part->of[i];
  broker_release(b, e, part);
  broker_unlock(b);
  return true;
}

/* ---- places ---- */

static bool broker_is_news(const struct broker_entry *e) {
  uint32_t difference = e->told > e->place ? e->told - e->place : e->place - e->told;
  return difference > e->told / 32;
}

void broker_number_places(struct broker *b) {
  uint32_t place = 0;
  broker_lock(b);
  b->has_moved = false;
  for (int where = BROKER_AT_GATE; where >= BROKER_OUTSIDE; where--) {
    for (struct broker_entry *e = b->lists[where].first; e; e = e->links[BROKER_IN_ALL].next) {
      e->place = ++place;
      if (e->told != 0 && broker_is_news(e)) volt_notify_one(&e->moved);
    }
  }
  broker_unlock(b);
}

uint32_t broker_news(struct broker *b, struct broker_entry *e) {
  broker_lock(b);
  bool is_waiting = e->where == BROKER_OUTSIDE || e->where == BROKER_AT_GATE;
  uint32_t place = is_waiting && broker_is_news(e) ? e->place : 0;
  if (place) e->told = place;
  broker_unlock(b);
  return place;
}
