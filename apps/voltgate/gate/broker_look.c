/* broker_look.c: what is seen of a permit gate. */
#include <stdio.h>
#include <string.h>

#include "gate/broker.h"
#include "gate/gate.h"

/* Kinds of which it asks for more than is free where it waits. */
static uint32_t broker_lacks(const struct broker *b, const struct broker_entry *e) {
  const struct broker_tenant *t = e->where == BROKER_OUTSIDE ? e->tenant : NULL;
  uint32_t lacks = 0;
  for (uint32_t i = 0; i < b->kinds; i++) {
    uint64_t there = volt_budget_available(&b->budget, i);
    if (t) there = t->limit.of[i] > t->held.of[i] ? t->limit.of[i] - t->held.of[i] : 0;
    if (e->amounts.of[i] > there) lacks |= 1u << i;
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
                             .has_peer = e->has_peer};
  if (e->where != BROKER_HOLDERS) to->lacks = broker_lacks(b, e);
  broker_write(b, &e->amounts, &to->amounts);
  memcpy(to->label, e->label, sizeof to->label);
  memcpy(to->command, e->command, sizeof to->command);
  snprintf(to->tenant, sizeof to->tenant, "%s", e->tenant ? e->tenant->name : "");
}

size_t broker_look(struct broker *b, bool are_holders, struct broker_cursor *at,
                   struct broker_seen *to, size_t room, size_t *all) {
  size_t count = 0;
  uint32_t place = 0;
  *all = 0;
  broker_lock(b);
  for (int where = BROKER_PLACES - 1; where > BROKER_NOWHERE; where--) {
    if ((where == BROKER_HOLDERS) != are_holders) continue;
    *all += b->lists[where].count;
    const struct broker_entry *e = b->lists[where].first;
    for (; e && count < room; e = e->links[BROKER_IN_ALL].next) {
      bool is_seen = at->where != BROKER_NOWHERE &&
                     (where > (int)at->where || (where == (int)at->where && e->order <= at->order));
      place += 1;
      if (!is_seen) broker_see(b, e, place, &to[count++]);
      if (!is_seen) *at = (struct broker_cursor){(enum broker_where)where, e->order};
    }
  }
  broker_unlock(b);
  return count;
}

uint32_t broker_holders(struct broker *b) {
  broker_lock(b);
  uint32_t holders = b->lists[BROKER_HOLDERS].count;
  broker_unlock(b);
  return holders;
}

/* Of the oldest that wait, how many lack a kind. The lock is held. */
static void broker_count_lacks(const struct broker *b, struct broker_view *v) {
  uint32_t seen = 0;
  for (int where = BROKER_AT_GATE; where >= BROKER_OUTSIDE; where--) {
    const struct broker_entry *e = b->lists[where].first;
    for (; e && seen < VOLT_BUDGET_REACH; e = e->links[BROKER_IN_ALL].next, seen++) {
      uint32_t lacks = broker_lacks(b, e);
      for (uint32_t i = 0; i < b->kinds; i++) v->of[i].waiters += lacks >> i & 1;
    }
  }
}

void broker_read_view(struct broker *b, struct broker_view *v) {
  volt_budget_state state;
  broker_lock(b);
  volt_budget_inspect(&b->budget, &state);
  *v = (struct broker_view){
      .kinds = b->kinds,
      .holders = b->lists[BROKER_HOLDERS].count,
      .waiters = b->lists[BROKER_OUTSIDE].count + b->lists[BROKER_AT_GATE].count,
      .is_claiming = b->is_claiming};
  for (uint32_t i = 0; i < b->kinds; i++) {
    v->of[i] = (struct broker_kind_view){.name = b->names[i],
                                         .limit = state.of[i].limit,
                                         .held = state.of[i].held,
                                         .free = state.of[i].free,
                                         .excess = state.of[i].excess};
  }
  broker_count_lacks(b, v);
  broker_unlock(b);
}
