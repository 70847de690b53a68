/* recipe_queue.c: a host that waits: it enters the queue, watches the one before it, takes slots.
 *
 * No host takes a free slot without queueing. The first one without a mark (recipe_pass.c) stays that until
 * it leaves, because entries that are made later have greater numbers, and marks stay. So it may decide on
 * lists that it reads one after the other. If they are wrong all the same (a slot of a session that has not
 * quite ended, or one that a marked host has taken), the transaction fails as a whole.
 *   The first one must be able to take, or it stands in the way of the others. So it leaves as soon as
 * it wants nothing, or may have nothing: no task waits, its own bounds are reached, there is no room
 * for lost permits that are still out, the ensemble refuses, the era is wrong. It steps back behind
 * the others if it has its share and one of them has fewer. After a TAKE that leaves such hosts behind
 * it does not queue again before it has looked, at the end of its quantum. */
#include "../host/cluster.h"
#include "../host/engine.h"
#include "../host/session.h"
#include "../host/slots.h"
#include "names.h"
#include "recipe.h"
#include "recipe_hold.h"
#include "recipe_lost.h"
#include "recipe_node.h"
#include "recipe_pass.h"
#include "recipe_view.h"
#include "recipe_write.h"

static uint32_t queue_min(uint32_t a, uint32_t b) {
  return a < b ? a : b;
}

static bool queue_enter(volt_cluster_lease *l, uint32_t want) {
  if (!write_begin_(l, 2)) return false;
  write_queue_(l, recipe_kept_(l), want);
  return write_submit_(l);
}

/* A host that could not use a slot would stand in the way for nothing. */
static bool queue_begin(volt_cluster_lease *l, uint32_t want) {
  if (!host_session_is_slow_(l->c) || host_session_is_proved_(l->c)) return queue_enter(l, want);
  host_session_doubt_(l->c);
  return false;
}

/* Queue anew, behind the others; after a rest, if the others would wait for this host again. */
static bool queue_step_back(volt_cluster_lease *l, uint32_t want) {
  pass_begin_rest_(l);
  return queue_enter(l, pass_is_resting_(l) ? 0 : want);
}

/* No task waits any more, or this host may lease nothing. */
static bool queue_is_unwanted(volt_cluster_lease *l, uint32_t want) {
  if (want > 0) {
    l->unwanted_since_ns = 0;
    return false;
  }
  uint64_t now_ns = cluster_now_(l->c);
  if (l->unwanted_since_ns == 0) l->unwanted_since_ns = now_ns;
  uint64_t until_ns = l->unwanted_since_ns + recipe_linger_(l);
  bool is_over = l->result != VOLT_OK || l->is_closed || !host_session_may_lease_(l->c);
  if (is_over || now_ns >= until_ns) return true;
  recipe_wake_at_(l, until_ns);
  return false;
}

/* ---- the one before ---- */

/* An entry of this host that it does not know of: it would wait behind itself. */
static bool queue_delete_stray(volt_cluster_lease *l) {
  for (uint32_t i = 0; i < l->queue.count; i++) {
    const cluster_entry *e = &l->queue.at[i];
    if (!cluster_guid_is_(&e->guid, &l->guid) || cluster_entry_by_age_(e, &l->queue_entry) == 0) {
      continue;
    }
    char path[VOLT_CLUSTER_PATH];
    if (!write_begin_(l, 1)) return false;
    write_entry_path_(l, path, CLUSTER_QUEUE, e);
    write_delete_(l, EFFECT_DELETE_STRAY, path);
    return write_submit_(l);
  }
  return false;
}

/* ---- the first in the queue ---- */

/* Whether it has found none, and the watch that it has set then has not fired. */
static bool queue_waits_for_slot(const volt_cluster_lease *l) {
  bool is_to_decide = (l->seen & ENGINE_BIT(ASK_SLOTS)) && l->calls[ASK_SLOTS].is_watched;
  return (l->watched & ENGINE_BIT(ASK_SLOTS)) && !is_to_decide;
}

/* Whether a host with so many slots has its share, and another one that queues has fewer. */
static bool queue_has_enough(volt_cluster_lease *l, uint32_t mine) {
  (void)view_hosts_(l);
  uint32_t high = hold_share_high_(l);
  if (mine == 0 || mine < high) return false;
  for (uint32_t i = 0; i < l->queue.count; i++) {
    const cluster_entry *e = &l->queue.at[i];
    if (cluster_guid_is_(&e->guid, &l->guid) || pass_is_marked_(l, e)) continue;
    uint32_t has = view_has_(l, &e->guid);
    if (has < mine && has < high) return true;
  }
  return false;
}

/* How many slots to take now. */
static uint32_t queue_amount(volt_cluster_lease *l, uint32_t want, uint32_t free, bool has_others) {
  uint32_t amount = queue_min(queue_min(want, free), ENGINE_BATCH);
  if (!has_others) return amount;
  uint32_t mine = recipe_active_(l);
  uint32_t share = hold_share_low_(l);
  uint32_t lacks = share > mine ? share - mine : 0;
  return queue_min(amount, lacks > 1 ? lacks : 1);
}

static bool queue_take(volt_cluster_lease *l, uint32_t want, uint32_t free, bool has_others) {
  uint32_t slots[ENGINE_BATCH];
  uint32_t count = view_free_slots_(l, slots, queue_amount(l, want, free, has_others));
  if (!slots_reserve_(l, count) || !write_begin_(l, count + 4)) return false;
  for (uint32_t i = 0; i < count; i++) write_take_slot_(l, slots[i]);
  bool stays = !has_others && want > count && free > count;
  uint32_t has = recipe_kept_(l) + count;
  l->yields = has_others && queue_has_enough(l, recipe_active_(l) + count);
  if (!stays) write_queue_(l, has, l->yields ? 0 : want - count);
  write_holders_(l, has);
  return write_submit_(l);
}

/* Whether others queue that would take. */
static bool queue_has_others(const volt_cluster_lease *l) {
  for (uint32_t i = 0; i < l->queue.count; i++) {
    const cluster_entry *e = &l->queue.at[i];
    if (!cluster_guid_is_(&e->guid, &l->guid) && !pass_is_marked_(l, e)) return true;
  }
  return false;
}

static bool queue_first(volt_cluster_lease *l, uint32_t want) {
  bool has_others = queue_has_others(l);
  if (want == 0) return queue_enter(l, 0);
  if (node_delete_old_(l, CLUSTER_QUEUE)) return true;
  if (queue_waits_for_slot(l) && !l->pass.is_marked) return false;
  uint32_t lists = ENGINE_BIT(ASK_SLOTS) | (has_others ? ENGINE_BIT(ASK_HOLDERS) : 0);
  if (view_need_(l, lists)) return true;
  if (has_others && node_delete_old_(l, CLUSTER_HOLDERS)) return true;
  again_drop_missing_(l);
  if (has_others && queue_has_enough(l, recipe_active_(l))) return queue_step_back(l, want);
  uint32_t free = view_free_count_(l);
  if (free > 0) return queue_take(l, want, free, has_others);
  if (l->pass.is_marked) return queue_step_back(l, want);
  if (l->watched & ENGINE_BIT(ASK_SLOTS)) return false;
  pass_check_own_(l);
  return view_watch_(l, ASK_SLOTS);
}

bool queue_check_(volt_cluster_lease *l) {
  uint32_t want = recipe_want_(l);
  bool has_asked = false;
  if (!l->in_holders) l->yields = false;
  if (want > 0 && pass_rests_(l, &has_asked)) {
    return has_asked || (l->in_queue && queue_enter(l, 0));
  }
  if (!l->in_queue) return want > 0 && !l->yields && queue_begin(l, want);
  if (queue_is_unwanted(l, want)) return queue_enter(l, 0);
  if (l->watched & ENGINE_BIT(ASK_BEFORE_IN_QUEUE)) return pass_check_(l);
  uint32_t lists =
      ENGINE_BIT(ASK_QUEUE) | l->first_check; /* it may be the first now: save a read */
  l->first_check = 0;
  bool is_first = queue_waits_for_slot(l) && !l->pass.is_marked;
  if (is_first && want > 0) return false; /* and it stays it */
  if (view_need_(l, lists)) return true;
  uint32_t place = view_place_(&l->queue, &l->queue_entry);
  if (place == UINT32_MAX) { /* it was deleted by hand */
    l->write.count = 0;
    again_begin_(l);
    return false;
  }
  if (queue_delete_stray(l)) return true;
  l->stats.hosts_before = place;
  const cluster_entry *before = pass_before_(l, place);
  return before ? view_watch_entry_(l, ASK_BEFORE_IN_QUEUE, before) : queue_first(l, want);
}
