/* broker_queue.c: how a client of a permit gate takes, waits, and gives back; and what is seen of it.
 *
 * broker.c has the invariants. A future is polled for the first time under the lock, which takes its place
 * in the FIFO; that poll has no waker, and the session's own brings one.
 *
 * Places. To move by one changes the place of all behind, so no client hears of it at once: a task looks each
 * 100 ms while clients wait and any has moved, numbers all in one go, and wakes those to which it makes a
 * difference: the place that a client knows is off by more than a 32nd. So those near the front hear of
 * each step, and one that comes as number n hears of it some 32 log(n) times. */
#include <stdio.h>
#include <string.h>

#include "gate/broker.h"
#include "gate/gate.h"

/* ---- lists; the lock is held ---- */

static void broker_unlink(struct broker *b, struct broker_entry *e) {
  struct broker_list *l = &b->lists[e->stand];
  *(e->previous ? &e->previous->next : &l->first) = e->next;
  *(e->next ? &e->next->previous : &l->last) = e->previous;
  l->count -= 1;
  if (e->stand != BROKER_HOLDS) b->has_moved = true;
  e->next = e->previous = NULL;
  e->stand = BROKER_IDLE;
}

static void broker_link(struct broker *b, struct broker_entry *e, enum broker_stand stand) {
  struct broker_list *l = &b->lists[stand];
  e->stand = stand;
  e->previous = l->last;
  e->next = NULL;
  *(l->last ? &l->last->next : &l->first) = e;
  l->last = e;
  l->count += 1;
}

/* ---- to wait ---- */

/* A request has one number from its beginning to its end, in the order of arrival. */
static void broker_give_id(struct broker *b, struct broker_entry *e) {
  if (e->id == 0) e->id = ++b->ids;
}

static void broker_join(struct broker *b, struct broker_entry *e, enum broker_stand stand) {
  broker_give_id(b, e);
  broker_link(b, e, stand);
  e->place = b->lists[BROKER_AT_GATE].count;
  if (stand == BROKER_AT_TENANT) e->place += b->lists[BROKER_AT_TENANT].count;
  if (stand == BROKER_AT_GATE && b->lists[BROKER_AT_TENANT].count > 0) b->has_moved = true;
}

static void broker_grant(struct broker *b, struct broker_entry *e, uint64_t now_ns) {
  broker_give_id(b, e);
  e->since_ns = now_ns;
  e->place = e->told = 0;
  broker_link(b, e, BROKER_HOLDS);
}

static bool broker_has_place(const struct broker *b) {
  uint32_t waiting = b->lists[BROKER_AT_TENANT].count + b->lists[BROKER_AT_GATE].count;
  return waiting < atomic_load_explicit(&b->gate->queue_bound, memory_order_relaxed);
}

static enum broker_outcome broker_refuse(struct broker_pool *pool, const struct broker_entry *e,
                                         enum broker_outcome outcome, char why[BROKER_WHY]) {
  (void)volt_budget_explain(&pool->budget, &e->amounts, why, BROKER_WHY);
  return outcome;
}

enum broker_wait {
  BROKER_NOT,
  BROKER_IF_PLACE,
  BROKER_SURELY /* it has waited, and keeps its place */
};

/* Take from a budget, or wait there. Returns BROKER_GRANTED: it has that. */
static enum broker_outcome broker_step(struct broker *b, struct broker_pool *pool,
                                       struct broker_entry *e, enum broker_stand stand,
                                       enum broker_wait wait, char why[BROKER_WHY]) {
  static const volt_waker none = {NULL, NULL};
  int result = volt_budget_try_acquire(&pool->budget, &e->amounts);
  if (result == VOLT_OK) return BROKER_GRANTED;
  if (result == VOLT_EAGAIN && wait == BROKER_NOT) return broker_refuse(pool, e, BROKER_BUSY, why);
  if (result == VOLT_EAGAIN && wait == BROKER_IF_PLACE && !broker_has_place(b)) {
    return broker_refuse(pool, e, BROKER_FULL, why);
  }
  if (result == VOLT_EAGAIN) {
    result =
        volt_future_poll(volt_budget_acquire_future(&e->leaf, &pool->budget, &e->amounts), none);
  }
  if (result == VOLT_PENDING) {
    broker_join(b, e, stand);
    return BROKER_QUEUED;
  }
  if (result == VOLT_OK) return BROKER_GRANTED;
  return broker_refuse(pool, e, stand == BROKER_AT_TENANT ? BROKER_NEVER : BROKER_IMPOSSIBLE, why);
}

/* It has its tenant's amounts, if it has a tenant. */
static enum broker_outcome broker_step_to_gate(struct broker *b, struct broker_entry *e,
                                               enum broker_wait wait, uint64_t now_ns,
                                               char why[BROKER_WHY]) {
  enum broker_outcome outcome = broker_step(b, &b->pool, e, BROKER_AT_GATE, wait, why);
  if (outcome == BROKER_GRANTED) {
    broker_grant(b, e, now_ns);
  } else if (outcome != BROKER_QUEUED && e->tenant) {
    broker_pool_release(b, &e->tenant->pool, &e->amounts);
    e->tenant = NULL;
  }
  return outcome;
}

void broker_entry_init(struct broker_entry *e) {
  volt_notify_init(&e->moved);
}

enum broker_outcome broker_take(struct broker *b, struct broker_entry *e, bool may_wait,
                                uint64_t now_ns, char why[BROKER_WHY]) {
  enum broker_outcome outcome = BROKER_GRANTED;
  enum broker_wait wait = may_wait ? BROKER_IF_PLACE : BROKER_NOT;
  broker_lock(b);
  e->tenant = broker_find_tenant(b, e);
  e->since_ns = now_ns;
  e->told = 0;
  e->id = 0;
  if (e->tenant) outcome = broker_step(b, &e->tenant->pool, e, BROKER_AT_TENANT, wait, why);
  if (outcome == BROKER_GRANTED) {
    outcome = broker_step_to_gate(b, e, wait, now_ns, why);
  } else if (outcome != BROKER_QUEUED) {
    e->tenant = NULL;
  }
  broker_unlock(b);
  return outcome;
}

bool broker_claim(struct broker *b, struct broker_entry *e, uint64_t now_ns) {
  broker_lock(b);
  bool is_claimed = b->is_claiming; /* R3 */
  if (is_claimed) {
    e->tenant = broker_find_tenant(b, e);
    if (e->tenant) broker_pool_claim(b, &e->tenant->pool, &e->amounts);
    broker_pool_claim(b, &b->pool, &e->amounts);
    e->id = 0;
    broker_grant(b, e, now_ns);
  }
  broker_unlock(b);
  return is_claimed;
}

volt_future *broker_future(struct broker_entry *e) {
  return &e->leaf;
}

enum broker_outcome broker_ready(struct broker *b, struct broker_entry *e, uint64_t now_ns,
                                 char why[BROKER_WHY]) {
  static const volt_waker none = {NULL, NULL};
  int result = volt_future_poll(&e->leaf, none);
  if (result == VOLT_PENDING) return BROKER_QUEUED;
  broker_lock(b);
  bool is_at_gate = e->stand == BROKER_AT_GATE;
  enum broker_outcome outcome = BROKER_GRANTED;
  broker_unlink(b, e);
  if (result == VOLT_OK && is_at_gate) {
    broker_grant(b, e, now_ns);
  } else if (result == VOLT_OK) {
    outcome = broker_step_to_gate(b, e, BROKER_SURELY, now_ns, why);
  } else {
    struct broker_pool *pool = is_at_gate ? &b->pool : &e->tenant->pool;
    outcome = broker_refuse(pool, e, is_at_gate ? BROKER_IMPOSSIBLE : BROKER_NEVER, why);
    if (is_at_gate && e->tenant) broker_pool_release(b, &e->tenant->pool, &e->amounts);
    e->tenant = NULL;
  }
  broker_unlock(b);
  return outcome;
}

void broker_leave(struct broker *b, struct broker_entry *e) {
  static const volt_waker none = {NULL, NULL};
  broker_lock(b);
  bool is_at_gate = e->stand == BROKER_AT_GATE;
  struct broker_pool *pool = is_at_gate ? &b->pool : &e->tenant->pool;
  broker_unlink(b, e);
  volt_future_cancel(&e->leaf);
  bool is_granted = volt_future_poll(&e->leaf, none) == VOLT_OK; /* R1: a poll had returned it */
  if (is_granted) broker_pool_release(b, pool, &e->amounts);
  if (is_at_gate && e->tenant) broker_pool_release(b, &e->tenant->pool, &e->amounts);
  e->tenant = NULL;
  broker_unlock(b);
}

/* ---- to give back ---- */

static void broker_release(struct broker *b, struct broker_entry *e, const volt_amounts *part) {
  broker_pool_release(b, &b->pool, part);
  if (e->tenant) broker_pool_release(b, &e->tenant->pool, part);
}

void broker_give_all(struct broker *b, struct broker_entry *e) {
  broker_lock(b);
  broker_unlink(b, e);
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
  for (int stand = BROKER_AT_GATE; stand >= BROKER_AT_TENANT; stand--) {
    for (struct broker_entry *e = b->lists[stand].first; e; e = e->next) {
      e->place = ++place;
      if (e->told != 0 && broker_is_news(e)) volt_notify_one(&e->moved);
    }
  }
  broker_unlock(b);
}

uint32_t broker_news(struct broker *b, struct broker_entry *e) {
  broker_lock(b);
  bool is_waiting = e->stand == BROKER_AT_TENANT || e->stand == BROKER_AT_GATE;
  uint32_t place = is_waiting && broker_is_news(e) ? e->place : 0;
  if (place) e->told = place;
  broker_unlock(b);
  return place;
}

/* ---- to be looked at ---- */

/* Kinds of which it asks for more than is free where it waits. */
static uint32_t broker_lacks(const struct broker *b, const struct broker_entry *e) {
  const volt_budget *budget = NULL;
  uint32_t lacks = 0;
  if (e->stand == BROKER_AT_GATE) budget = &b->pool.budget;
  if (e->stand == BROKER_AT_TENANT) budget = &e->tenant->pool.budget;
  for (uint32_t i = 0; budget && i < b->kinds; i++) {
    if (e->amounts.of[i] > volt_budget_available(budget, i)) lacks |= 1u << i;
  }
  return lacks;
}

static void broker_see(const struct broker *b, const struct broker_entry *e, uint32_t place,
                       struct broker_seen *to) {
  *to = (struct broker_seen){.id = e->id,
                             .since_ns = e->since_ns,
                             .place = place,
                             .pid = e->pid,
                             .uid = e->uid,
                             .has_peer = e->has_peer,
                             .lacks = broker_lacks(b, e)};
  broker_write(b, &e->amounts, &to->amounts);
  memcpy(to->label, e->label, sizeof to->label);
  memcpy(to->command, e->command, sizeof to->command);
  snprintf(to->tenant, sizeof to->tenant, "%s", e->tenant ? e->tenant->name : "");
}

size_t broker_look(struct broker *b, bool are_holders, struct broker_seen *to, size_t room,
                   size_t *all) {
  size_t count = 0;
  *all = 0;
  broker_lock(b);
  for (int stand = BROKER_STANDS - 1; stand > BROKER_IDLE; stand--) {
    if ((stand == BROKER_HOLDS) != are_holders) continue;
    *all += b->lists[stand].count;
    const struct broker_entry *e = b->lists[stand].first;
    for (; e && count < room; e = e->next, count++)
      broker_see(b, e, (uint32_t)count + 1, &to[count]);
  }
  broker_unlock(b);
  return count;
}

uint32_t broker_holders(struct broker *b) {
  broker_lock(b);
  uint32_t holders = b->lists[BROKER_HOLDS].count;
  broker_unlock(b);
  return holders;
}

void broker_read_view(struct broker *b, struct broker_view *v) {
  volt_budget_state state;
  broker_lock(b);
  volt_budget_inspect(&b->pool.budget, &state);
  *v = (struct broker_view){
      .kinds = b->kinds,
      .holders = b->lists[BROKER_HOLDS].count,
      .waiters = b->lists[BROKER_AT_TENANT].count + b->lists[BROKER_AT_GATE].count,
      .is_claiming = b->is_claiming};
  for (uint32_t i = 0; i < b->kinds; i++) {
    uint64_t limit = b->pool.limit[i];
    uint64_t held = state.of[i].held - b->pool.plug.of[i] + b->pool.beyond.of[i];
    v->of[i] = (struct broker_kind_view){.name = b->names[i],
                                         .limit = limit,
                                         .held = held,
                                         .free = held < limit ? limit - held : 0,
                                         .excess = held > limit ? held - limit : 0,
                                         .waiters = state.of[i].waiters};
  }
  broker_unlock(b);
}
