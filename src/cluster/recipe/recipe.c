/* recipe.c: one semaphore at the ensemble: what to do next.
 *
 *   NAME            the limit, and other data
 *   NAME/q<G>/..    the queue: hosts that want slots, each one entry, ephemeral and sequential
 *   NAME/h<G>/..    the holders: hosts that have slots, each one entry, made anew at each change
 *   NAME/s/<i>      slot i is leased, ephemeral; the transaction that made it is the lease's epoch
 *
 * Algorithm
 *   WANT   tasks wait                      create q/mine
 *   TAKE   the first in q, slots are free  create s/i.., delete q/mine, delete h/mine, create h/mine'
 *   GIVE   slots were collected            delete s/i.., delete h/mine, create h/mine', and q/mine if
 *                                          tasks wait
 *   LEAVE  no task waits                   delete q/mine
 *   MARK   the first lets slots lie free   set q/first (recipe_pass.c)
 *   Each is one transaction: all of it is done, or nothing.
 *
 *   Everything is "look again". An event, a ring, a time, an answer makes the lease dirty, and says no
 *   more. One pass then goes through what there may be to do, in an order: what is unsure, the node,
 *   slots to give, the queue, the holders. The first step that needs to know something reads it; the
 *   first that has something to do submits one transaction. Either ends the pass, and the answer makes
 *   the lease dirty. A pass that comes to its end without a request has nothing to do, and has set
 *   watches and a time, so that it looks again when that may have changed.
 *
 * Invariants
 *   I1  one transaction of a lease is under way at most, and then no read is.
 *   I2  a decision is taken on lists that were read after the last transaction was answered, and of
 *       which no watch has fired since (seen; submitting a transaction clears it).
 *   I3  a slot's node is deleted only if the host's half does not have the slot: local.collect() has
 *       returned it, local.lose() was called for it, or it was never offered (slots.c).
 *   I4  a slot is offered only if the host made its node, in this session, and the leases of the
 *       session are valid at that time.
 *   I5  at most one slot node of a number exists: the ensemble sees to that. So I3 and I4 are all that
 *       exclusion needs. Names, counts and order decide only which host is served, and when.
 *   I6  a lease that waits for nothing but time has a timer; one that waits for another host has a
 *       watch, set by the read on which it decided to wait.
 *
 * What can be under way, and what becomes of it
 *   read      its answer is lost (EAWAY): it is read again.
 *   WANT, TAKE, GIVE, LEAVE, MARK   EAWAY: it was done, was not, or will be. The lease is unsure, and asks
 *             the ensemble before it does anything else (recipe_lost.c). EEXPIRED: as the session.
 *   TAKE      EEXISTS: a slot was not free; the list is read again. The answer comes when the leases
 *             of the session are not valid (the process was stopped): the slots are kept, and offered
 *             as soon as heartbeats have shown that they are valid.
 *   any       ENONODE for a directory: it is made, after the data were read again. ENONODE for what
 *             this host has: a person has deleted it; the lease is unsure.
 *   SET       EVERSION: another host was quicker; the data are read again, and it is tried again.
 *
 * What happens
 *   SESSION_AWAY      nothing: leases are valid until valid_until, tasks are served from them.
 *   SESSION_AGAIN     all watches are taken as lost, all lists as old.
 *   SESSION_EXPIRED   leases are void, nothing is at the ensemble, nothing is unsure; a new guid.
 *   valid_until       leases are void, but their nodes are there: they are deleted before a slot is
 *                     offered again, if the session still lives.
 *   the limit is lower     slots of greater numbers are collected as tasks release them, and given.
 *   the node is deleted    leases are void; a host that has a limit in its config makes it anew.
 *   the data are not ours  what this host has, it keeps and gives back; it leases nothing more.
 *   a close           local.close() takes everything back; it is given as it is collected.
 *
 * Races
 *   R1  Interleaving: the host waits for its predecessor in the queue; that has gone before the watch
 *       is set. Prevented by: the watch is set by a read of the predecessor, which then fails, and
 *       the queue is read again. (A watch on a node that is not there would stay for ever.)
 *   R2  Interleaving: the first in the queue finds no free slot; one becomes free; then it sets the
 *       watch. Prevented by: the watch is set by another read of the slots, on which it decides again.
 *   R3  Interleaving: a task takes slots while the host wants to give them. Prevented by: the host's
 *       half takes back, and collects what is free (sem.c); what was not collected is not given (I3).
 *   R4  Interleaving: a watch of before a reconnect is lost, with what it would have said. Prevented
 *       by: watched is cleared at each SESSION event.
 *   R5  Interleaving: a read that sets a watch shows a free slot, or a host that waits; in the pass
 *       that follows, another step comes first, and its transaction (or a pause, or a new generation
 *       in the data) makes the lists old; then this host waits for the watch, and what it waits for has
 *       happened before it was set. Prevented by: such a watch counts as not set.
 *
 * Labels: recipe */
#include <stdio.h>

#include "../host/change.h"
#include "../host/cluster.h"
#include "../host/engine.h"
#include "../host/local.h"
#include "../host/slots.h"
#include "names.h"
#include "recipe.h"
#include "recipe_hold.h"
#include "recipe_lost.h"
#include "recipe_node.h"
#include "recipe_view.h"
#include "recipe_write.h"

/* ---- what the host's half says ---- */

static volt_cluster_lease_stats recipe_ask_local(const volt_cluster_lease *l) {
  volt_cluster_lease_stats stats = {.result = 0};
  l->local.count(l->local.ctx, &stats);
  return stats;
}

uint32_t recipe_owed_(const volt_cluster_lease *l) {
  return l->in_state[SLOT_IN_USE] == 0 ? 0 : recipe_ask_local(l).owed;
}

uint32_t recipe_kept_(const volt_cluster_lease *l) {
  return l->in_state[SLOT_NEW] + l->in_state[SLOT_IN_USE];
}

uint32_t recipe_active_(const volt_cluster_lease *l) {
  uint32_t kept = recipe_kept_(l);
  uint32_t owed = recipe_owed_(l);
  return kept > owed ? kept - owed : 0;
}

static uint32_t recipe_lease_max(const volt_cluster_lease *l) {
  uint32_t max = l->data.limit;
  if (l->config.lease_max > 0 && l->config.lease_max < max) max = l->config.lease_max;
  if (l->data.lease > 0 && l->data.lease < max) max = l->data.lease;
  return max;
}

uint32_t recipe_reserved_(const volt_cluster_lease *l) {
  return cluster_now_(l->c) < l->tried_until_ns ? 1 : 0;
}

static uint32_t recipe_want(const volt_cluster_lease *l) {
  if (l->is_closed || l->result != VOLT_OK || !l->is_good) return 0;
  uint32_t wanted = l->local.wanted(l->local.ctx) + recipe_reserved_(l);
  uint32_t kept = recipe_kept_(l);
  uint32_t active = recipe_active_(l);
  uint32_t max = recipe_lease_max(l);
  uint32_t room = l->local.room(l->local.ctx);
  if (wanted <= kept || max <= active || room <= l->in_state[SLOT_NEW]) return 0;
  uint32_t want = wanted - kept;
  if (want > max - active) want = max - active;
  if (want > room - l->in_state[SLOT_NEW]) want = room - l->in_state[SLOT_NEW];
  return want;
}

uint32_t recipe_want_(volt_cluster_lease *l) {
  uint32_t want = recipe_want(l);
  l->is_wanted = want > 0;
  return host_session_may_lease_(l->c) ? want : 0;
}

/* ---- times ---- */

#define RECIPE_RARELY_NS UINT64_C(3600000000000)

enum {
  RECIPE_QUANTUM_NS = 50000000,
  RECIPE_OF_TAKE_NS = 8000000, /* hosts take one after the other: an event, a read and a write */
  RECIPE_CHECKS = 4
};

bool recipe_complains_(volt_cluster_lease *l, int result) {
  engine_complaint *last = &l->complaint;
  uint64_t now_ns = cluster_now_(l->c);
  bool is_same = result == last->result;
  if (is_same && now_ns < last->again_ns) return false;
  uint64_t step_ns = is_same ? 2 * last->step_ns : 2 * RECIPE_PAUSE_NS;
  last->result = result;
  last->step_ns = step_ns < RECIPE_RARELY_NS ? step_ns : RECIPE_RARELY_NS;
  last->again_ns = now_ns + last->step_ns;
  return true;
}

uint64_t recipe_quantum_(const volt_cluster_lease *l) {
  if (l->config.quantum_ns > 0) return l->config.quantum_ns;
  if (l->data.quantum_ms > 0) return l->data.quantum_ms * UINT64_C(1000000);
  uint64_t takes = l->stats.hosts < l->data.limit ? l->stats.hosts : l->data.limit;
  uint64_t all_ns = takes * RECIPE_OF_TAKE_NS;
  return all_ns > RECIPE_QUANTUM_NS ? all_ns : RECIPE_QUANTUM_NS;
}

uint64_t recipe_linger_(const volt_cluster_lease *l) {
  return l->config.linger_ns > 0 ? l->config.linger_ns : recipe_quantum_(l);
}

void recipe_wake_at_(volt_cluster_lease *l, uint64_t ns) {
  if (ns < l->wake_ns) l->wake_ns = ns;
}

void recipe_pause_(volt_cluster_lease *l, uint64_t ns) {
  l->pause_until_ns = cluster_now_(l->c) + ns;
  recipe_wake_at_(l, l->pause_until_ns);
}

void recipe_refused_(volt_cluster_lease *l, int result) {
  l->result = result;
  l->refused_until_ns = cluster_now_(l->c) + 10 * RECIPE_PAUSE_NS;
}

/* ---- slots that are not used, or must not be ---- */

void recipe_take_back_(volt_cluster_lease *l, uint32_t count) {
  uint32_t owed = recipe_owed_(l);
  uint32_t most = l->in_state[SLOT_IN_USE] > owed ? l->in_state[SLOT_IN_USE] - owed : 0;
  l->local.take_back(l->local.ctx, count < most ? count : most);
  slots_collect_(l);
}

/* The limit is lower than a slot's number. */
static void recipe_cut(volt_cluster_lease *l) {
  if (!l->is_good || l->cut_limit == l->data.limit) return;
  l->cut_limit = l->data.limit;
  (void)l->local.take_back_from(l->local.ctx, l->data.limit);
}

/* Tasks try, and do not wait. Each try in vain asks for one slot, for the next try: for twice the time
 * that was between the last two, if they are at most a session apart (then a task seems to poll). Until
 * then other hosts do not get it; else two that poll would take it from each other for ever. */
static void recipe_heed_tries(volt_cluster_lease *l) {
  if (!l->local.tries) return;
  uint64_t now_ns = cluster_now_(l->c), linger_ns = recipe_linger_(l);
  bool hears =
      now_ns >= l->tried_ns + linger_ns / RECIPE_CHECKS; /* not all that try all the time */
  enum cluster_tries tries = l->local.tries(l->local.ctx, hears);
  if (tries == CLUSTER_TRIES_NONE) l->tried_until_ns = 0;
  if (tries == CLUSTER_TRIES_ASKED && hears) {
    uint64_t since_ns = now_ns - l->tried_ns;
    bool polls = l->tried_ns > 0 && since_ns <= l->c->stats.session_ns;
    uint64_t stays_ns = polls ? 2 * since_ns : 0;
    l->tried_ns = now_ns;
    l->tried_until_ns = now_ns + (stays_ns > linger_ns ? stays_ns : linger_ns);
  } else if (tries == CLUSTER_TRIES_ASKED) {
    recipe_wake_at_(l, l->tried_ns + linger_ns / RECIPE_CHECKS);
  }
  if (l->tried_until_ns > now_ns) recipe_wake_at_(l, l->tried_until_ns);
}

static uint32_t recipe_idle_of(const volt_cluster_lease *l, uint32_t idle) {
  uint32_t reserved = recipe_reserved_(l);
  return idle > reserved ? idle - reserved : 0;
}

static void recipe_watch_idle(volt_cluster_lease *l, bool on) {
  if (l->watches_idle != on) (void)l->local.watch_idle(l->local.ctx, on);
  l->watches_idle = on;
}

/* How many slots are idle. If none is, the next release rings. But a host that is busy is not rung all
 * the time: what was looked at for another reason is watched again after linger. */
static uint32_t recipe_idle(volt_cluster_lease *l) {
  if (l->in_state[SLOT_IN_USE] == 0) {
    recipe_watch_idle(l, false);
    return 0;
  }
  uint64_t now_ns = cluster_now_(l->c);
  uint32_t idle = recipe_idle_of(l, l->local.idle(l->local.ctx));
  if (l->watches_idle) l->watch_idle_at_ns = now_ns + recipe_linger_(l);
  recipe_watch_idle(l, idle == 0 && now_ns >= l->watch_idle_at_ns);
  if (l->watches_idle) return recipe_idle_of(l, l->local.idle(l->local.ctx));
  if (idle == 0) recipe_wake_at_(l, l->watch_idle_at_ns);
  return idle;
}

/* Slots that no task has used for linger. The host's half has a stack, so the deepest ones idle. */
static void recipe_return_idle(volt_cluster_lease *l) {
  uint32_t idle = recipe_idle(l);
  uint64_t now_ns = cluster_now_(l->c);
  if (idle == 0) {
    l->idle_since_ns = 0;
    return;
  }
  if (l->idle_since_ns == 0) {
    l->idle_since_ns = now_ns;
    l->idle_least = idle;
  }
  if (idle < l->idle_least) l->idle_least = idle;
  uint64_t linger_ns = recipe_linger_(l);
  if (now_ns >= l->idle_since_ns + linger_ns) {
    l->idle_since_ns = now_ns;
    uint32_t count = l->idle_least;
    l->idle_least = idle;
    recipe_take_back_(l, count);
    return;
  }
  uint64_t step_ns = linger_ns / RECIPE_CHECKS + 1;
  recipe_wake_at_(l, l->idle_since_ns + ((now_ns - l->idle_since_ns) / step_ns + 1) * step_ns);
}

static void recipe_settle(volt_cluster_lease *l) {
  recipe_heed_tries(l);
  slots_offer_(l);
  slots_give_up_(l);
  recipe_cut(l);
  slots_collect_(l);
  recipe_return_idle(l);
}

/* ---- looking ---- */

/* What was read with a watch, and not decided upon yet, would be waited for: what it said is forgotten,
 * and nothing may change any more (R5). */
void recipe_forget_lists_(volt_cluster_lease *l) {
  const enum engine_ask lists[] = {ASK_SLOTS, ASK_QUEUE};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
    uint32_t bit = ENGINE_BIT(lists[i]);
    if ((l->seen & bit) && l->calls[lists[i]].is_watched) l->watched &= ~bit;
  }
  l->seen = 0;
}

/* Returns whether it waits, for an answer or until there is a node. */
static bool recipe_pass(volt_cluster_lease *l) {
  uint64_t now_ns = cluster_now_(l->c);
  if (now_ns < l->pause_until_ns) {
    recipe_wake_at_(l, l->pause_until_ns);
    recipe_forget_lists_(l);
    return false;
  }
  if (l->refused_until_ns > now_ns) {
    recipe_wake_at_(l, l->refused_until_ns);
  } else if (l->refused_until_ns > 0) {
    l->refused_until_ns = 0;
    l->watched &= ~ENGINE_BIT(ASK_DATA); /* perhaps it is allowed now */
  }
  if (l->is_unsure && again_check_(l)) return true;
  if (l->is_unsure || node_check_(l)) return true;
  recipe_settle(l);
  if (hold_give_(l) || node_turn_(l)) return true;
  if (l->in_state[SLOT_NEW] > 0) { /* no read is in the way if they are to be given back */
    recipe_forget_lists_(l);
    return false;
  }
  return queue_check_(l) || hold_check_(l);
}

static void recipe_close(volt_cluster_lease *l) {
  l->is_closed = true;
  l->is_dirty = true;
  l->local.close(l->local.ctx);
}

void recipe_check_(volt_cluster_lease *l) {
  /* recipe:C1 <- lease:K1: the driver sees what came before the call to close */
  if (volt_load_acquire(&l->is_closing) && !l->is_closed) recipe_close(l);
  if (l->is_closed) change_refuse_(l, VOLT_ECLOSED); /* also those that came just then */
  while (l->is_dirty && l->under_way == 0) {
    l->is_dirty = false;
    l->wake_ns = VOLT_NO_DEADLINE;
    if (!host_session_is_connected_(l->c)) return;
    if (!recipe_pass(l)) l->seen = 0; /* it has decided, and may wait for a watch */
  }
  if (l->under_way > 0) l->wake_ns = VOLT_NO_DEADLINE; /* its answer comes first */
}

/* ---- what happens ---- */

static void recipe_check_read(volt_cluster_lease *l, const volt_cluster_request *r) {
  if (r->result == VOLT_OK || r->result == VOLT_CLUSTER_ENONODE) return;
  if (r->result == VOLT_CLUSTER_EAWAY || r->result == VOLT_CLUSTER_EEXPIRED) return;
  if (recipe_complains_(l, r->result)) {
    cluster_log_(l->c, VOLT_CLUSTER_ERROR, "%s: cannot be read (%s)", r->path,
                 volt_strresult(r->result));
  }
  l->result = r->result;
  recipe_pause_(l, RECIPE_PAUSE_NS);
}

void recipe_answered_(volt_cluster_lease *l, enum engine_ask ask, volt_cluster_request *r) {
  /* a session event follows, and ends the pause */
  if (r->result == VOLT_CLUSTER_EAWAY) recipe_pause_(l, RECIPE_PAUSE_NS / 50);
  if (ask != ASK_WRITE) recipe_check_read(l, r);
  switch ((int)ask) {
    case ASK_DATA: node_read_(l, r); break;
    case ASK_NODE: node_statted_(l, r); break;
    case ASK_BEFORE_IN_QUEUE:
    case ASK_FIRST_IN_QUEUE:
    case ASK_BEFORE_IN_HOLDERS: view_entry_read_(l, ask, r); break;
    case ASK_ONE_SLOT: again_slot_read_(l, r); break;
    case ASK_WRITE: write_answered_(l, r); break;
    default: view_listed_(l, ask, r);
  }
}

void recipe_watch_fired_(volt_cluster_lease *l, enum engine_ask ask) {
  uint32_t list = ask == ASK_BEFORE_IN_QUEUE     ? ENGINE_BIT(ASK_QUEUE)
                  : ask == ASK_BEFORE_IN_HOLDERS ? ENGINE_BIT(ASK_HOLDERS)
                                                 : ENGINE_BIT(ask);
  l->watched &= ~ENGINE_BIT(ask);
  l->seen &= ~list;
  if (ask == ASK_BEFORE_IN_QUEUE) l->first_check = ENGINE_BIT(ASK_SLOTS) | ENGINE_BIT(ASK_HOLDERS);
  if (ask == ASK_NODE) l->is_missing = false; /* it may be there now */
  l->is_dirty = true;
}

void recipe_connected_(volt_cluster_lease *l, bool is_new) {
  volt_cluster *c = l->c;
  l->watched = 0; /* what they would have said may be lost: all is read again */
  l->is_missing = false;
  l->result = VOLT_OK; /* as far as is known: the node is read first */
  l->cannot_make = VOLT_OK;
  l->is_barred = false;
  l->is_dirty = true;
  l->pause_until_ns = 0;
  recipe_forget_lists_(l);
  if (!is_new) return;
  l->guid = cluster_guid_make_(c->stats.session, l->name, ((uint64_t)l->number << 32) | ++l->guids);
  cluster_guid_write_(l->mark, &l->guid);
  snprintf(l->mark + 32, sizeof l->mark - 32, " %s\n", c->host);
}

void recipe_lose_(volt_cluster_lease *l) {
  if (l->slot_count == 0) return;
  slots_lose_(l);
  l->is_dirty = true;
}

void recipe_expired_(volt_cluster_lease *l) {
  slots_clear_(l);
  change_done_(l, VOLT_CLUSTER_EAWAY);
  l->in_queue = false;
  l->in_holders = false;
  l->watched = 0;
  l->is_unsure = false;
  l->doubtful.count = 0;
  l->check_at_ns = 0;
  l->steps_back = false;
  l->yields = false;
  l->pass.rests_until_ns = 0;
  l->pass.first_since_ns = 0;
  l->marked.count = 0;
  l->failures = 0;
  l->wake_ns = VOLT_NO_DEADLINE;
  recipe_forget_lists_(l);
}
