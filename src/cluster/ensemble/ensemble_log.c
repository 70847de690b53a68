/* ensemble_log.c: the log: the leader proposes, servers log, what a majority has logged is committed,
 * each server applies it as it hears of that.
 *
 *   log_first <= applied <= known <= committed <= log_count, and known, applied <= logged, of each
 *   server that is joined; a server that is not is brought up to the leader before it serves. */
#include <inttypes.h>
#include <stdlib.h>

#include "ensemble.h"
#include "ensemble_leader.h"
#include "ensemble_link.h"
#include "ensemble_log.h"
#include "ensemble_session.h"
#include "ensemble_watch.h"

static ensemble_entry *ensemble_entry_at(const volt_ensemble *e, uint64_t place) {
  return e->log[place - e->log_first];
}

const ensemble_tree *ensemble_newest_tree_(const volt_ensemble *e) {
  uint32_t newest = 0;
  for (uint32_t i = 1; i < e->config.servers; i++) {
    if (e->server[i].applied > e->server[newest].applied) newest = i;
  }
  return &e->server[newest].tree;
}

/* ---- apply ---- */

static void ensemble_count_events(volt_ensemble *e, ensemble_entry *entry, uint64_t events) {
  bool is_set = false;
  for (uint32_t i = 0; i < entry->count; i++) is_set |= entry->parts[i].kind == VOLT_CLUSTER_SET;
  entry->events += events;
  if (!is_set && entry->events > e->counts.events_most) e->counts.events_most = entry->events;
}

static void ensemble_apply(volt_ensemble *e, uint32_t server, ensemble_entry *entry) {
  ensemble_server *s = &e->server[server];
  uint64_t events = e->counts.events;
  for (uint32_t i = 0; i < entry->count; i++) {
    ensemble_do_(&s->tree, &entry->parts[i], entry->transaction);
    ensemble_watches_fire_(e, server, &entry->parts[i]);
  }
  ensemble_count_events(e, entry, e->counts.events - events);
  s->applied_transaction = entry->transaction;
  if (entry->item->kind == ITEM_CLOSE && entry->item->link == NULL) {
    ensemble_links_close_(e, server, entry->item->session);
  }
  ensemble_link_done_(e, server, entry);
}

void ensemble_apply_upto_(volt_ensemble *e, uint32_t server, uint64_t count) {
  ensemble_server *s = &e->server[server];
  while (s->applied < count) {
    ensemble_apply(e, server, ensemble_entry_at(e, s->applied));
    s->applied += 1;
  }
}

/* What every server has applied is not needed any more. */
static void ensemble_log_forget(volt_ensemble *e) {
  uint64_t needed = e->committed;
  for (uint32_t i = 0; i < e->config.servers; i++) {
    if (e->server[i].applied < needed) needed = e->server[i].applied;
  }
  uint64_t count = needed - e->log_first;
  if (count < 64 || count < (e->log_count - e->log_first) / 2) return;
  for (uint64_t i = 0; i < count; i++) ensemble_entry_free_(e->log[i]);
  for (uint64_t i = count; i < e->log_count - e->log_first; i++) e->log[i - count] = e->log[i];
  e->log_first = needed;
}

/* ---- commit ---- */

static void ensemble_notify_change(volt_ensemble *e, const ensemble_part *part) {
  volt_ensemble_change change = {.kind = part->kind,
                                 .path = part->path,
                                 .data = part->data,
                                 .size = part->size,
                                 .node = part->node};
  ENSEMBLE_TRACE(e, "commit %s %s %.*s",
                 part->kind == VOLT_CLUSTER_CREATE   ? "create"
                 : part->kind == VOLT_CLUSTER_DELETE ? "delete"
                                                     : "set",
                 part->path, part->kind == VOLT_CLUSTER_SET ? (int)part->size : 0,
                 part->data ? part->data : "");
  if (e->config.changed) e->config.changed(e->config.ctx, &change);
}

static void ensemble_commit(volt_ensemble *e, uint64_t count) {
  while (e->committed < count) {
    const ensemble_entry *entry = ensemble_entry_at(e, e->committed);
    e->committed += 1;
    for (uint32_t i = 0; i < entry->count; i++) ensemble_notify_change(e, &entry->parts[i]);
  }
  e->server[e->leader].known = count;
  ensemble_apply_upto_(e, e->leader, count);
  for (uint32_t i = 0; i < e->config.servers; i++) {
    if (i == e->leader || !ensemble_reaches_(e, i)) continue;
    ensemble_message *m = ensemble_message_new_(MESSAGE_COMMIT);
    m->number = count;
    ensemble_send_across_(e, e->leader, i, m, ensemble_hop_ns_(e));
  }
  ensemble_log_forget(e);
}

static void ensemble_find_majority(volt_ensemble *e) {
  uint64_t count = e->committed;
  for (uint32_t i = 0; i < e->config.servers; i++) { /* the greatest that a majority has */
    uint64_t acked = e->server[i].acked;
    uint32_t have = 0;
    for (uint32_t j = 0; j < e->config.servers; j++) have += e->server[j].acked >= acked;
    if (2 * have > e->config.servers && acked > count) count = acked;
  }
  if (count > e->committed) ensemble_commit(e, count);
}

/* ---- propose ---- */

static void ensemble_send_entry(volt_ensemble *e, uint32_t to) {
  ensemble_message *m = ensemble_message_new_(MESSAGE_LOGGED);
  m->number = e->log_count;
  uint64_t delay_ns = e->config.log_ns + ensemble_random_(e, e->config.log_more_ns + 1);
  delay_ns += e->server[to].slow_ns;
  if (to != e->leader) delay_ns += ensemble_hop_ns_(e);
  ensemble_send_across_(e, e->leader, to, m, delay_ns);
}

static void ensemble_log_append(volt_ensemble *e, ensemble_entry *entry) {
  uint64_t kept = e->log_count - e->log_first;
  if (kept == e->log_size) {
    e->log_size = e->log_size ? 2 * e->log_size : 256;
    e->log = (ensemble_entry **)ensemble_resize_(e->log, e->log_size, sizeof *e->log);
  }
  e->log[kept] = entry;
  e->log_count += 1;
  for (uint32_t i = 0; i < e->config.servers; i++) {
    if (i == e->leader || ensemble_reaches_(e, i)) ensemble_send_entry(e, i);
  }
}

void ensemble_propose_(volt_ensemble *e, ensemble_item *item) {
  ensemble_entry *entry = ensemble_decide_(e, item);
  if (!entry) { /* it goes the same way, and changes nothing */
    bool has_moved = ensemble_session_find_(e, item->session) != NULL;
    item->result = has_moved ? VOLT_CLUSTER_EAWAY : VOLT_CLUSTER_EEXPIRED;
    entry = (ensemble_entry *)ensemble_alloc_(1, sizeof *entry);
    entry->transaction = item->transaction = ++e->transaction;
    entry->item = item;
    item->refs += 1;
  }
  ensemble_log_append(e, entry);
}

/* ---- messages ---- */

static void ensemble_send_ack(volt_ensemble *e, uint32_t server) {
  if (!ensemble_reaches_(e, server)) return;
  ensemble_message *m = ensemble_message_new_(MESSAGE_ACK);
  m->number = e->server[server].logged;
  ensemble_send_across_(e, server, e->leader, m, server == e->leader ? 0 : ensemble_hop_ns_(e));
}

/* It has what the leader has, and knows what is committed. */
static void ensemble_synced(volt_ensemble *e, uint32_t server) {
  ensemble_server *s = &e->server[server];
  s->logged = e->log_count;
  s->known = e->committed;
  s->heard_ns = e->now_ns;
  s->is_serving = true;
  ENSEMBLE_TRACE(e, "server %u follows %u", server, e->leader);
  ensemble_apply_upto_(e, server, s->known);
  ensemble_send_ack(e, server);
}

void ensemble_log_sync_(volt_ensemble *e, uint32_t server) {
  ensemble_message *m = ensemble_message_new_(MESSAGE_SYNCED);
  ensemble_send_across_(e, e->leader, server, m, e->config.log_ns + 3 * ensemble_hop_ns_(e));
}

static void ensemble_apply_known(volt_ensemble *e, uint32_t server) {
  const ensemble_server *s = &e->server[server];
  ensemble_apply_upto_(e, server, s->known < s->logged ? s->known : s->logged);
}

void ensemble_log_arrived_(volt_ensemble *e, const ensemble_message *m) {
  ensemble_server *s = &e->server[m->server];
  switch ((int)m->kind) {
    case MESSAGE_LOGGED:
      if (s->logged < m->number) s->logged = m->number;
      ensemble_apply_known(e, m->server);
      ensemble_send_ack(e, m->server);
      break;
    case MESSAGE_ACK:
      if (e->server[m->from].acked < m->number) e->server[m->from].acked = m->number;
      ensemble_find_majority(e);
      break;
    case MESSAGE_COMMIT:
      if (s->known < m->number) s->known = m->number;
      ensemble_apply_known(e, m->server);
      break;
    default: ensemble_synced(e, m->server); break;
  }
}

/* ---- elections ---- */

void ensemble_log_to_head_(volt_ensemble *e) {
  for (uint64_t i = e->committed; i < e->log_count; i++) {
    const ensemble_entry *entry = ensemble_entry_at(e, i);
    for (uint32_t part = 0; part < entry->count; part++) {
      ensemble_do_(&e->head, &entry->parts[part], entry->transaction);
    }
  }
}

void ensemble_log_cut_(volt_ensemble *e, uint64_t count) {
  while (e->log_count > count) {
    e->log_count -= 1;
    ensemble_entry *entry = ensemble_entry_at(e, e->log_count);
    ENSEMBLE_TRACE(e, "cut off: transaction %" PRIx64, entry->transaction);
    ensemble_entry_free_(entry);
  }
  ensemble_sessions_cut_(e, count);
  for (uint32_t i = 0; i < e->config.servers; i++) {
    ensemble_server *s = &e->server[i];
    if (s->logged > count) s->logged = count;
    s->acked = 0;
  }
}

void ensemble_log_clear_(volt_ensemble *e) {
  for (uint64_t i = 0; i < e->log_count - e->log_first; i++) ensemble_entry_free_(e->log[i]);
  free(e->log);
  e->log = NULL;
  e->log_size = 0;
  e->log_first = e->log_count = e->committed = 0;
}
