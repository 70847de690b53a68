/* recipe_hold.c: a host that holds slots: it gives some back that other hosts need more.
 *
 * Shares
 *   high and low are limit / hosts, rounded up and down. If a host in the queue has fewer slots than
 *   this one, this one gives what it has beyond high; or one, if it has just high, and high is more
 *   than low: so the odd slots go round. With more hosts than slots, high is 1 and low is 0: each
 *   slot goes round. A slot moves from more to fewer only, so this ends when all have their share.
 *   Slots in use have served a quantum first, and stay while many slots are free: then hosts do not wait
 *   for slots, but for the first of the queue. Idle ones go to any host that waits.
 *   How many slots another host has is read from its entry among the holders. That is a hint: a wrong
 *   one makes the shares wrong, and nothing else.
 *
 * When a host looks
 *   At the end of its first quantum, and then each quantum while another host is in the queue. After
 *   it has found none there, it relies on a chain: the first holder watches the queue, each other
 *   one the holder before it. A holder that gives gets a new entry, at the end; so the next one
 *   becomes the first, and looks.
 *
 * Races
 *   R1  Interleaving: the first holder finds a host that waits, and has nothing to give, or only slots
 *       that tasks keep; another holder has too many, and relies on the chain. Prevented by: the first
 *       moves its entry to the end, if by the lists another one would have to give. It does so once
 *       for each newest entry of the queue, because a holder that has looked once looks by itself
 *       from then on.
 *   R2  Interleaving: the first holder is itself the one that waits, alone. Prevented by: its own
 *       entry counts for R1, and the watch on the queue fires for it, too.
 *   R3  Interleaving: a host that has not yet read of a new generation queues in the old directory,
 *       which no holder watches. Prevented by: until that directory is deleted, holders look each
 *       quantum. */
#include "recipe_hold.h"
#include "../host/cluster.h"
#include "../host/engine.h"
#include "../host/session.h"
#include "../host/slots.h"
#include "names.h"
#include "recipe.h"
#include "recipe_lost.h"
#include "recipe_node.h"
#include "recipe_pass.h"
#include "recipe_view.h"
#include "recipe_write.h"

enum { HOLD_FREE_PART = 8 };

static uint32_t hold_min(uint32_t a, uint32_t b) {
  return a < b ? a : b;
}

/* ---- giving ---- */

/* The queue's part of a GIVE: a host that gives because others wait goes behind them. */
static void hold_requeue(volt_cluster_lease *l, uint32_t kept) {
  uint32_t want = pass_is_resting_(l) ? 0 : recipe_want_(l);
  bool changes = l->in_queue ? l->steps_back || want == 0 : want > 0;
  if (changes) write_queue_(l, kept, want);
}

static uint32_t hold_return_slots(volt_cluster_lease *l) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < l->slot_count && count < ENGINE_BATCH; i++) {
    if (l->slots[i].state != SLOT_RETURNING) continue;
    write_give_slot_(l, l->slots[i].slot.slot);
    count += 1;
  }
  return count;
}

bool hold_give_(volt_cluster_lease *l) {
  uint32_t returning = l->in_state[SLOT_RETURNING];
  uint32_t kept = recipe_kept_(l);
  uint32_t left = returning > ENGINE_BATCH ? kept + returning - ENGINE_BATCH : kept;
  bool is_true = l->in_holders ? l->holders_entry.has == left : left == 0;
  bool is_old = l->in_holders && l->holders_entry.generation != l->data.queue;
  if (returning == 0 && is_true && !is_old) return false;
  if (!write_begin_(l, hold_min(returning, ENGINE_BATCH) + 4)) return true;
  if (hold_return_slots(l) > 0) {
    hold_requeue(l, left);
    l->yields = false;
    if (kept == 0) l->served_since_ns = 0;
  }
  l->steps_back = false;
  write_holders_(l, left);
  return write_submit_(l);
}

/* ---- shares ---- */

uint32_t hold_share_low_(const volt_cluster_lease *l) {
  uint32_t hosts = l->stats.hosts > 0 ? l->stats.hosts : 1;
  return l->data.limit / hosts;
}

uint32_t hold_share_high_(const volt_cluster_lease *l) {
  uint32_t hosts = l->stats.hosts > 0 ? l->stats.hosts : 1;
  return l->data.limit / hosts + (l->data.limit % hosts > 0);
}

uint32_t hold_must_(const volt_cluster_lease *l, uint32_t has) {
  uint32_t high = hold_share_high_(l);
  if (has > high) return has - high;
  return has == high && high > hold_share_low_(l) ? 1 : 0;
}

/* What the hosts in the queue have and want, by the lists. */
typedef struct hold_others {
  uint32_t count;              /* of the others */
  uint64_t want;               /* all of them */
  uint64_t need;               /* those that have fewer than this host, up to their share */
  uint32_t fewest;             /* slots that one has, this host included if it is in the queue */
  const cluster_entry *newest; /* this host's included. NULL: the queue is empty */
} hold_others;

static hold_others hold_read_others(volt_cluster_lease *l, uint32_t mine) {
  hold_others o = {.fewest = UINT32_MAX};
  (void)view_hosts_(l);
  uint32_t high = hold_share_high_(l);
  for (uint32_t i = 0; i < l->queue.count; i++) {
    const cluster_entry *e = &l->queue.at[i];
    if (e->want == 0 || pass_is_marked_(l, e)) continue;
    bool is_mine = cluster_guid_is_(&e->guid, &l->guid);
    uint32_t has = is_mine ? mine : view_has_(l, &e->guid);
    o.fewest = hold_min(o.fewest, has);
    o.newest = e;
    if (is_mine) continue;
    o.count += 1;
    o.want += e->want;
    if (has < mine) o.need += hold_min(e->want, high > has ? high - has : 1);
  }
  return o;
}

/* Whether this host has used its slots for a quantum. */
static bool hold_has_served(const volt_cluster_lease *l) {
  return cluster_now_(l->c) >= l->served_since_ns + recipe_quantum_(l);
}

/* Whether hosts wait for slots, and not for the first of the queue, which may be dead. Then free slots
 * pile up, until its session ends. */
static bool hold_are_short(const volt_cluster_lease *l, uint64_t need) {
  uint32_t free = view_free_count_(l);
  return free < need && free <= l->data.limit / HOLD_FREE_PART;
}

/* How many slots to take back from the tasks now. */
static uint32_t hold_amount(volt_cluster_lease *l, const hold_others *o, uint32_t mine) {
  uint64_t owed = recipe_owed_(l);
  uint64_t idle = l->local.idle(l->local.ctx);
  uint32_t reserved = recipe_reserved_(l); /* for a task that tries */
  if (reserved > idle) reserved = (uint32_t)idle;
  idle -= reserved;
  uint64_t amount = o->want > owed ? o->want - owed : 0;
  if (amount > idle) amount = idle;
  if (!hold_has_served(l) || o->need <= owed) return (uint32_t)amount;
  if (!hold_are_short(l, o->need - owed)) return (uint32_t)amount;
  uint64_t must = hold_must_(l, mine - hold_min(reserved, mine));
  if (must > o->need - owed) must = o->need - owed;
  return (uint32_t)(must > amount ? must : amount);
}

/* ---- the chain ---- */

static bool hold_is_first(const volt_cluster_lease *l) {
  uint32_t place = view_place_(&l->holders, &l->holders_entry);
  return place != UINT32_MAX && !view_before_(l, &l->holders, place);
}

/* Whether another holder would have to give, if it looked. */
static bool hold_could_others(const volt_cluster_lease *l, const hold_others *o) {
  for (uint32_t i = 0; i < l->holders.count; i++) {
    const cluster_entry *e = &l->holders.at[i];
    if (cluster_guid_is_(&e->guid, &l->guid)) continue;
    if (o->fewest < e->has && hold_must_(l, e->has) > 0) return true;
  }
  return false;
}

/* R1: let the next holder look, by moving to the end. */
static bool hold_pass_on(volt_cluster_lease *l, const hold_others *o) {
  if (!o->newest || !hold_is_first(l) || !hold_could_others(l, o)) return false;
  if (l->has_passed && cluster_entry_by_age_(o->newest, &l->passed_for) <= 0) return false;
  if (!write_begin_(l, 2)) return false;
  l->has_passed = true;
  l->passed_for = *o->newest;
  write_holders_(l, recipe_kept_(l));
  return write_submit_(l);
}

/* Another host is in the queue. */
static bool hold_serve(volt_cluster_lease *l, const hold_others *o, uint32_t mine) {
  uint32_t amount = hold_amount(l, o, mine);
  if (amount > 0) {
    l->steps_back = l->in_queue;
    l->stats.revoked += amount;
    if (hold_has_served(l)) {
      l->served_since_ns = cluster_now_(l->c); /* what stays begins anew */
      pass_begin_rest_(l);
    }
    recipe_take_back_(l, amount);
    if (hold_give_(l)) return true;
  }
  return hold_pass_on(l, o);
}

/* None is. Be woken when one comes. */
static bool hold_watch(volt_cluster_lease *l) {
  uint32_t place = view_place_(&l->holders, &l->holders_entry);
  if (place == UINT32_MAX) { /* it was deleted by hand */
    l->write.count = 0;
    again_begin_(l);
    return false;
  }
  const cluster_entry *before = view_before_(l, &l->holders, place);
  if (before) return view_watch_entry_(l, ASK_BEFORE_IN_HOLDERS, before);
  return view_watch_(l, ASK_QUEUE);
}

/* The first of the holders deletes what is left of the generation before. */
static bool hold_delete_old(volt_cluster_lease *l) {
  if (!hold_is_first(l)) return false;
  return node_delete_old_(l, CLUSTER_HOLDERS) || node_delete_old_(l, CLUSTER_QUEUE);
}

bool hold_check_(volt_cluster_lease *l) {
  uint32_t lists = ENGINE_BIT(ASK_QUEUE) | ENGINE_BIT(ASK_HOLDERS);
  if (!l->in_holders) {
    l->check_at_ns = 0;
    return false;
  }
  uint64_t now_ns = cluster_now_(l->c);
  if (l->check_at_ns > now_ns) {
    recipe_wake_at_(l, l->check_at_ns);
    return false;
  }
  bool is_due = l->check_at_ns != 0;
  if (!is_due && (l->watched & ENGINE_BIT(ASK_BEFORE_IN_HOLDERS))) return false;
  bool is_watching = (l->watched & ENGINE_BIT(ASK_QUEUE)) != 0;
  if (!is_due && is_watching && !(l->seen & ENGINE_BIT(ASK_QUEUE))) return false;
  if (is_due && hold_has_served(l)) lists |= ENGINE_BIT(ASK_SLOTS); /* it may have to give */
  if (view_need_(l, lists)) return true;
  if (hold_delete_old(l)) return true;
  uint32_t mine = recipe_active_(l);
  hold_others o = hold_read_others(l, mine);
  if (l->yields && o.need == 0) {
    l->yields = false;
    l->is_dirty = true; /* it may queue again */
  }
  if (o.need > 0 && hold_has_served(l) && view_need_(l, ENGINE_BIT(ASK_SLOTS))) return true;
  bool is_late = node_has_old_(l, CLUSTER_QUEUE); /* R3 */
  if (o.count == 0 && !is_late) {
    l->check_at_ns = 0;
    if (hold_pass_on(l, &o)) return true; /* R2 */
    return is_watching ? false : hold_watch(l);
  }
  uint64_t served_ns = l->served_since_ns + recipe_quantum_(l);
  l->check_at_ns = served_ns > now_ns ? served_ns : now_ns + recipe_quantum_(l);
  recipe_wake_at_(l, l->check_at_ns);
  return o.count > 0 && hold_serve(l, &o, mine);
}
