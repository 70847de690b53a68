/* slots.c: the slots whose nodes are this host's, and where each is: new, in use, returning.
 *
 * Invariant
 *   I1  a slot is RETURNING only if the host's half does not have it: it was never offered, was
 *       collected, or is lost. Only then is its node deleted. */
#include <stdlib.h>

#include "engine.h"

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

void slots_add_(volt_cluster_lease *l, uint32_t slot, uint64_t epoch) {
  VOLT_ASSERT(l->slot_count < l->slot_capacity && !slots_find_(l, slot));
  l->slots[l->slot_count++] =
      (engine_slot){.slot = {.slot = slot, .era = l->data.era, .epoch = epoch}, .state = SLOT_NEW};
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

void slots_offer_(volt_cluster_lease *l) {
  if (l->in_state[SLOT_NEW] == 0 || !session_is_valid_(l->c)) return;
  uint32_t room = l->local.room(l->local.ctx);
  for (uint32_t i = 0; i < l->slot_count; i++) {
    engine_slot *s = &l->slots[i];
    if (s->state != SLOT_NEW) continue;
    bool is_offered =
        room > 0 && l->result != VOLT_CLUSTER_EERA && !l->is_closed && s->slot.slot < l->data.limit;
    slots_set_(l, s, is_offered ? SLOT_IN_USE : SLOT_RETURNING);
    if (!is_offered) continue;
    room -= 1;
    l->stats.leases += 1;
    if (l->served_since_ns == 0) l->served_since_ns = cluster_now_(l->c);
    l->local.add(l->local.ctx, &s->slot, 1);
  }
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
  lease_say_(l);
  if (lost > 0) l->local.lose(l->local.ctx, NULL);
}
