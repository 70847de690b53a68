/* slots.c: the slots whose nodes are this host's, and where each is: new, in use, returning.
 *
 * Invariant
 *   I1  a slot is RETURNING only if the host's half does not have it: it was never offered, was
 *       collected, or is lost. Only then is its node deleted.
 *   I2  a slot is NEW for 3/8 of the session's time at most, while the host is connected. With the way of
 *       the DELETE, its node is there for half of it at most. */
#include <stdlib.h>

#include "../../core/os/check.h"
#include "../recipe/recipe.h"
#include "cluster.h"
#include "engine.h"
#include "lease.h"
#include "session.h"
#include "slots.h"

enum { SLOTS_AT_ONCE = 32 };

engine_slot *slots_find_(volt_cluster_lease *l, uint32_t slot) {
  for (uint32_t i = 0; i < l->slot_count; i++) {
    if (l->slots[i].slot.slot == slot) return &l->slots[i];
  }
  return NULL;
}

bool slots_reserve_(volt_cluster_lease *l, uint32_t more) {
  uint32_t needed = l->slot_count + more;
  if (needed <= l->slot_capacity) return true;
  uint32_t capacity = l->slot_capacity * 2 > needed ? l->slot_capacity * 2 : needed;
  engine_slot *slots = (engine_slot *)realloc(l->slots, capacity * sizeof *slots);
  if (!slots) return false;
  l->slots = slots;
  l->slot_capacity = capacity;
  return true;
}

void slots_add_(volt_cluster_lease *l, uint32_t slot, uint64_t epoch, uint64_t since_ns) {
  VOLT_ASSERT(l->slot_count < l->slot_capacity && !slots_find_(l, slot));
  l->slots[l->slot_count++] =
      (engine_slot){.slot = {.slot = slot, .era = l->data.era, .epoch = epoch},
                    .state = SLOT_NEW,
                    .since_ns = since_ns};
  l->in_state[SLOT_NEW] += 1;
  l->stats.epoch = epoch;
}

void slots_set_(volt_cluster_lease *l, engine_slot *s, enum engine_slot_state state) {
  l->in_state[s->state] -= 1;
  s->state = state;
  l->in_state[state] += 1;
}

void slots_remove_(volt_cluster_lease *l, engine_slot *s) {
  l->in_state[s->state] -= 1;
  *s = l->slots[--l->slot_count];
}

void slots_clear_(volt_cluster_lease *l) {
  l->slot_count = 0;
  for (int i = 0; i < 3; i++) l->in_state[i] = 0;
}

/* Whether the host's half may have it, once it is valid. */
static bool slots_may_use(const volt_cluster_lease *l, const engine_slot *s) {
  return l->result != VOLT_CLUSTER_EERA && !l->is_closed && s->slot.slot < l->data.limit;
}

void slots_offer_(volt_cluster_lease *l) {
  if (l->in_state[SLOT_NEW] == 0) return;
  bool is_valid = host_session_stays_valid_(l->c);
  uint32_t room = l->local.room(l->local.ctx);
  for (uint32_t i = 0; i < l->slot_count; i++) {
    engine_slot *s = &l->slots[i];
    if (s->state != SLOT_NEW) continue;
    bool is_used = room > 0 && slots_may_use(l, s);
    if (is_used) room -= 1;
    if (is_used && !is_valid) continue;
    slots_set_(l, s, is_used ? SLOT_IN_USE : SLOT_RETURNING);
    if (!is_used) continue;
    l->stats.leases += 1;
    if (l->served_since_ns == 0) l->served_since_ns = cluster_now_(l->c);
    l->local.add(l->local.ctx, &s->slot, 1);
  }
}

void slots_give_up_(volt_cluster_lease *l) {
  uint64_t now_ns = cluster_now_(l->c), patience_ns = l->c->stats.session_ns / 8 * 3;
  uint32_t count = 0;
  for (uint32_t i = 0; i < l->slot_count && l->in_state[SLOT_NEW] > 0; i++) {
    engine_slot *s = &l->slots[i];
    if (s->state != SLOT_NEW) continue;
    if (now_ns < s->since_ns + patience_ns) {
      recipe_wake_at_(l, s->since_ns + patience_ns);
      continue;
    }
    slots_set_(l, s, SLOT_RETURNING);
    count += 1;
  }
  if (count == 0) return;
  l->stats.given_up += count;
  cluster_log_(l->c, VOLT_CLUSTER_WARN, "%s: %u slots are given back: they did not become valid",
               l->name, (unsigned)count);
  host_session_doubt_(l->c);
}

void slots_collect_(volt_cluster_lease *l) {
  cluster_slot free[SLOTS_AT_ONCE];
  uint32_t count = SLOTS_AT_ONCE;
  while (l->in_state[SLOT_IN_USE] > 0 && count == SLOTS_AT_ONCE) {
    count = l->local.collect(l->local.ctx, free, SLOTS_AT_ONCE);
    for (uint32_t i = 0; i < count; i++) {
      engine_slot *s = slots_find_(l, free[i].slot);
      VOLT_CHECK(s && s->state == SLOT_IN_USE && s->slot.epoch == free[i].epoch, "volt_cluster",
                 "%s: slot %u was collected, and not in use", l->name, (unsigned)free[i].slot);
      slots_set_(l, s, SLOT_RETURNING);
    }
  }
}

void slots_lose_(volt_cluster_lease *l) {
  uint32_t lost = l->in_state[SLOT_IN_USE];
  l->stats.lost_ever += lost;
  for (uint32_t i = 0; i < l->slot_count; i++) slots_set_(l, &l->slots[i], SLOT_RETURNING);
  l->served_since_ns = 0;
  lease_publish_(l);
  if (lost > 0) l->local.lose(l->local.ctx, NULL);
}
