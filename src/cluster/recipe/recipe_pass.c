/* recipe_pass.c: hosts in the queue that let slots lie free, because they are dead or their link is slow:
 * they are marked, and the others pass them. And what a slow host does to be no burden.
 *
 * Marks
 *   A host that waits looks at the slots now and then. If some have been free for PATIENCE quanta, at two
 *   looks at least, while the same entry was the first one without a mark, it sets that entry's data:
 *   this is the mark, and the node's version says that it is there. The first entry without a mark may
 *   take, and so may all before it. A mark stays as long as its entry, which keeps its place.
 *   Nor does a holder give for it, if it knows the mark: its host is asked for nothing, and dead perhaps.
 *     So the queue is in order, but for marked entries. Any number of hosts may pass those. Each entry costs
 *   the others the time until it is marked, once: all see the mark with the read that sets a watch on the
 *   entry before their own, or as that watch fires.
 *
 * Slow hosts
 *   A TAKE is an event, a read and a write: three rounds of the host's link at most. One that needs more
 *   than PATIENCE quanta for that says so in the data of its entry, and is waited for so long.
 *   From when slots are free for a host until it can use them, and from when it is asked back until they
 *   are free again, four rounds pass. If that is more than a quantum, the host rests after
 *   such a stay while others queue: for REST such times, and if there are more hosts than slots, for so many
 *   more, but never longer than REST_SESSIONS sessions' time. So a slow host costs the others an eighth of
 *   its share, or more if REST_SESSIONS ends its rest before. (With rounds above T/8 nothing can be leased,
 *   so a stay costs T/2 at most, a sixteenth of the longest rest. If REST_SESSIONS were 4, three slow hosts
 *   at one slot would cost a quarter of all permits.)
 *   A round of the link is what the quickest of the last writes took (host_session_link_ns_(); R6).
 *
 * Invariants
 *   I1  an entry is marked by the ensemble's word alone (version > 0), so no two hosts disagree, and a host
 *       that has forgotten a mark reads it again. A mark is set once: the SET wants version 0.
 *   I2  a host waits for an entry only if it is watched, and not marked as it was read. The SET fires the
 *       watch.
 *   I3  exclusion does not need the order (recipe.c I5), nor do fences: a slot's epoch is the transaction
 *       that made its node, whichever host was the first.
 *
 * Races
 *   R1  Interleaving: the first takes; then it is marked. Prevented by: TAKE deletes the entry, and so the SET
 *       fails. If it takes behind the SET, it is served, and its mark is gone with its entry.
 *   R2  Interleaving: two hosts take, a marked one and the first without a mark, and both have read the same
 *       slot as free. Prevented by: the node of the slot. The TAKE that comes second fails as a whole.
 *   R3  Interleaving: an entry is marked between the read of the queue and the watch. Prevented by: I2: the
 *       read that sets the watch shows the mark.
 *   R4  Interleaving: all that wait have found no free slot, and look again late; then the first dies, and
 *       slots become free. Prevented by: each looks again, the sooner the nearer it is to the front.
 *   R5  Interleaving: a host was stopped, and is marked; it goes on, and the others are quicker each time, or
 *       keep their slots, because they know the mark. Prevented by: when it finds no slot it reads its own
 *       entry, and if that is marked, it queues anew, after a rest if it is slow. (Others have taken behind
 *       the mark, so its watch on the slots has fired since.)
 *   R6  Interleaving: many hosts queue at once, and their writes wait for each other at the leader; a host
 *       that waits writes nothing, so when it gives its slots, seconds later, the average still shows the crowd, and
 *       it rests, though its link is good. Prevented by: one write that is answered quickly shows that the
 *       link is not slow; and before a quarter of the session's time it is not known. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../host/cluster.h"
#include "../host/engine.h"
#include "../host/session.h"
#include "recipe.h"
#include "recipe_pass.h"
#include "recipe_view.h"
#include "recipe_write.h"

enum {
  PASS_CHECK = 2,
  PASS_PATIENCE = 4,
  PASS_REST = 8,
  PASS_REST_SESSIONS = 8,
  PASS_TAKE = 3,
  PASS_STAY = 4
};

static uint64_t pass_min(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}

static uint64_t pass_patience_ns(const volt_cluster_lease *l) {
  return PASS_PATIENCE * recipe_quantum_(l);
}

/* ---- marks ---- */

bool pass_is_marked_(const volt_cluster_lease *l, const cluster_entry *e) {
  return view_place_(&l->marked, e) != UINT32_MAX;
}

/* Those that are not in the queue any more. */
static void pass_forget_gone(volt_cluster_lease *l) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < l->marked.count; i++) {
    const cluster_entry *e = &l->marked.at[i];
    if (view_place_(&l->queue, e) != UINT32_MAX) l->marked.at[kept++] = *e;
  }
  l->marked.count = kept;
}

/* All of them: a mark that is forgotten is read again, and of two that do so in turn none is passed. */
static void pass_remember(volt_cluster_lease *l, const cluster_entry *e) {
  if (!pass_is_marked_(l, e)) {
    pass_forget_gone(l);
    view_append_(l, &l->marked, e);
  }
  if (cluster_entry_by_age_(&l->pass.before, e) == 0)
    l->watched &= ~ENGINE_BIT(ASK_BEFORE_IN_QUEUE);
}

const cluster_entry *pass_before_(const volt_cluster_lease *l, uint32_t place) {
  while (place-- > 0) {
    const cluster_entry *e = &l->queue.at[place];
    if (!cluster_guid_is_(&e->guid, &l->guid) && !pass_is_marked_(l, e)) return e;
  }
  return NULL;
}

/* "patience_ms N". 0: it does not say so. */
static uint64_t pass_asked_ns(const volt_cluster_lease *l, const volt_cluster_request *r) {
  static const char name[] = "patience_ms ";
  char text[32];
  snprintf(text, sizeof text, "%.*s", (int)r->size, r->size > 0 ? r->data : "");
  if (strncmp(text, name, sizeof name - 1) != 0) return 0;
  uint64_t asked_ns = strtoul(text + sizeof name - 1, NULL, 10) * UINT64_C(1000000);
  return pass_min(asked_ns, l->c->stats.session_ns / 2);
}

bool pass_read_(volt_cluster_lease *l, bool is_before, const volt_cluster_request *r) {
  const cluster_entry *e = is_before ? &l->pass.before : &l->pass.first;
  bool is_marked = r->node.version > 0;
  if (is_marked && cluster_guid_is_(&e->guid, &l->guid)) {
    l->pass.is_marked = true;
  } else if (is_marked) {
    pass_remember(l, e);
  } else if (!is_before) {
    l->pass.patience_ns = pass_asked_ns(l, r);
  }
  return is_marked;
}

void pass_marked_(volt_cluster_lease *l, bool is_marked) {
  if (is_marked) pass_remember(l, &l->pass.first);
  l->pass.first_since_ns = 0;
  l->pass.poll_ns = 0;
}

void pass_begin_(volt_cluster_lease *l) {
  l->pass.is_marked = false;
  pass_marked_(l, false);
}

static bool pass_mark(volt_cluster_lease *l) {
  if (!write_begin_(l, 1)) return false;
  write_mark_(l, &l->pass.first);
  l->stats.marks += 1;
  return write_submit_(l);
}

/* ---- looking ---- */

/* Look again at that time. */
static bool pass_later(volt_cluster_lease *l, uint64_t ns) {
  l->pass.poll_ns = ns;
  recipe_wake_at_(l, ns);
  return false;
}

/* R4. All that wait look about as often as one that is second. */
static uint64_t pass_next_ns(const volt_cluster_lease *l) {
  uint64_t places = l->stats.hosts_before > 0 ? l->stats.hosts_before : 1;
  uint64_t in_ns = pass_min(places * PASS_CHECK * recipe_quantum_(l), l->c->stats.session_ns / 2);
  return cluster_now_(l->c) + in_ns;
}

/* Slots are free, and *first is the first without a mark. */
static bool pass_waits(volt_cluster_lease *l, const cluster_entry *first) {
  uint64_t now_ns = cluster_now_(l->c), patience_ns = pass_patience_ns(l);
  if (l->pass.first_since_ns == 0 || cluster_entry_by_age_(first, &l->pass.first) != 0) {
    l->pass.first = *first;
    l->pass.first_since_ns = now_ns;
    l->pass.patience_ns = UINT64_MAX;
    return pass_later(l, now_ns + patience_ns);
  }
  bool is_known = l->pass.patience_ns != UINT64_MAX;
  if (is_known && l->pass.patience_ns > patience_ns) patience_ns = l->pass.patience_ns;
  if (now_ns < l->pass.first_since_ns + patience_ns) {
    return pass_later(l, l->pass.first_since_ns + patience_ns);
  }
  return is_known ? pass_mark(l) : view_watch_entry_(l, ASK_FIRST_IN_QUEUE, first);
}

bool pass_check_(volt_cluster_lease *l) {
  if (l->pass.poll_ns == 0) l->pass.poll_ns = pass_next_ns(l);
  if (cluster_now_(l->c) < l->pass.poll_ns) return pass_later(l, l->pass.poll_ns);
  if (view_need_(l, ENGINE_BIT(ASK_SLOTS))) return true;
  if (view_free_count_(l) == 0) {
    l->pass.first_since_ns = 0;
    return pass_later(l, pass_next_ns(l));
  }
  if (view_need_(l, ENGINE_BIT(ASK_QUEUE))) return true;
  uint32_t place = view_place_(&l->queue, &l->queue_entry);
  const cluster_entry *first = NULL;
  for (uint32_t i = place == UINT32_MAX ? 0 : place; i > 0; i--) {
    const cluster_entry *before = pass_before_(l, i);
    if (!before) break;
    first = before;
    i = (uint32_t)(before - l->queue.at) + 1;
  }
  if (first) return pass_waits(l, first);
  l->watched &= ~ENGINE_BIT(ASK_BEFORE_IN_QUEUE); /* it may be the first now */
  l->is_dirty = true;
  return pass_later(l, pass_next_ns(l));
}

/* ---- slow hosts ---- */

/* What a stay of slots at this host costs the others. */
static uint64_t pass_stay_ns(const volt_cluster_lease *l) {
  return PASS_STAY * host_session_link_ns_(l->c);
}

static bool pass_is_slow(const volt_cluster_lease *l) {
  return pass_stay_ns(l) > recipe_quantum_(l);
}

const char *pass_asks_(volt_cluster_lease *l) {
  uint64_t take_ns = PASS_TAKE * l->c->stats.round_ns;
  if (take_ns <= pass_patience_ns(l)) return NULL;
  take_ns = pass_min(take_ns, l->c->stats.session_ns / 8 * 3);
  snprintf(l->pass.asks, sizeof l->pass.asks, "patience_ms %u", (unsigned)(take_ns / 1000000));
  return l->pass.asks;
}

static uint64_t pass_rest_check_ns(const volt_cluster_lease *l) {
  uint64_t in_ns = pass_stay_ns(l) > recipe_quantum_(l) ? pass_stay_ns(l) : recipe_quantum_(l);
  return pass_min(cluster_now_(l->c) + in_ns, l->pass.rests_until_ns);
}

void pass_begin_rest_(volt_cluster_lease *l) {
  if (!pass_is_slow(l)) return;
  uint64_t hosts = l->stats.hosts > 2 ? l->stats.hosts : 2, slots = l->data.limit;
  uint64_t stays_ns = PASS_REST * pass_stay_ns(l);
  if (hosts > slots && slots > 0) stays_ns = stays_ns * hosts / slots;
  stays_ns = pass_min(stays_ns, PASS_REST_SESSIONS * l->c->stats.session_ns);
  l->stats.rests += 1;
  l->pass.rests_until_ns = cluster_now_(l->c) + stays_ns;
  l->pass.rest_check_ns = pass_rest_check_ns(l);
  l->pass.rest_saw_free = false;
}

bool pass_is_resting_(const volt_cluster_lease *l) {
  return cluster_now_(l->c) < l->pass.rests_until_ns;
}

bool pass_rests_(volt_cluster_lease *l, bool *has_asked) {
  *has_asked = false;
  if (!pass_is_resting_(l)) return false;
  if (cluster_now_(l->c) >= l->pass.rest_check_ns) {
    *has_asked = view_need_(l, ENGINE_BIT(ASK_QUEUE) | ENGINE_BIT(ASK_SLOTS));
    if (*has_asked) return true;
    l->pass.rest_check_ns = pass_rest_check_ns(l);
    bool is_free = view_free_count_(l) > 0, is_alone = l->queue.count == 0;
    if (is_free && (is_alone || l->pass.rest_saw_free))
      l->pass.rests_until_ns = 0; /* none takes them */
    l->pass.rest_saw_free = is_free;
  }
  recipe_wake_at_(l, l->pass.rest_check_ns);
  return pass_is_resting_(l);
}

void pass_check_own_(volt_cluster_lease *l) {
  l->pass.first = l->queue_entry;
  l->pass.first_since_ns = 0;
  (void)view_watch_entry_(l, ASK_FIRST_IN_QUEUE, &l->pass.first);
}
