/* ensemble_leader.c: leaders and followers: elections, half ticks, and what goes wrong with servers.
 *
 * Each half tick the leader asks its followers whether they are alive. A follower that has heard
 * nothing for sync_limit ticks gives its leader up, and so does a leader that has not heard a majority:
 * it closes the connections of its clients and takes part in the next election. Until then a server
 * that is cut off answers reads as ever. A leader that the others have given up is e->leader until they
 * have another. */
#include <stdlib.h>

#include "../../core/os/check.h"
#include "ensemble.h"
#include "ensemble_leader.h"
#include "ensemble_link.h"
#include "ensemble_log.h"
#include "ensemble_message.h"
#include "ensemble_session.h"

static ensemble_server *ensemble_server_at(volt_ensemble *e, uint32_t server, const char *call) {
  VOLT_CHECK(server < e->config.servers, call, "%p: there is no server %u", (void *)e, server);
  return &e->server[server];
}

static bool ensemble_runs(const ensemble_server *s) {
  return s->is_up && !s->is_stopped;
}

bool ensemble_leads_(const volt_ensemble *e, uint32_t server) {
  return e->leader == server && ensemble_runs(&e->server[server]);
}

/* ---- belong to a leader, or not ---- */

static bool ensemble_is_of_this_leader(const volt_ensemble *e, uint32_t server) {
  const ensemble_server *s = &e->server[server];
  return e->leader != VOLT_ENSEMBLE_NONE && s->is_joined && s->epoch == e->epoch;
}

bool ensemble_reaches_(const volt_ensemble *e, uint32_t server) {
  if (!ensemble_is_of_this_leader(e, server)) return false;
  if (server == e->leader) return true;
  return !e->server[server].is_cut && !e->server[e->leader].is_cut;
}

static void ensemble_join(volt_ensemble *e, uint32_t server) {
  ensemble_server *s = &e->server[server];
  s->term += 1; /* what was sent to it before does not count */
  s->is_joined = true;
  s->epoch = e->epoch;
  s->heard_ns = e->now_ns;
  s->log_free_ns = 0;
  ensemble_log_sync_(e, server);
}

static void ensemble_hold_election(volt_ensemble *e) {
  if (e->election.place != 0) return;
  uint64_t in_ns = e->config.election_ns + ensemble_random_(e, e->config.election_more_ns + 1);
  ensemble_at_(e, &e->election, e->now_ns + in_ns);
}

static void ensemble_leave(volt_ensemble *e, uint32_t server) {
  ensemble_server *s = &e->server[server];
  s->term += 1;
  s->is_joined = s->is_serving = false;
  s->touched_count = 0;
  ENSEMBLE_TRACE(e, "server %u has no leader", server);
  ensemble_links_close_(e, server, 0);
  if (e->leader == server) e->leader = VOLT_ENSEMBLE_NONE;
  ensemble_hold_election(e);
}

/* ---- elections ---- */

static bool ensemble_may_vote(const ensemble_server *s) {
  return ensemble_runs(s) && !s->is_cut && !s->is_joined;
}

static uint32_t ensemble_winner(const volt_ensemble *e) {
  uint32_t winner = VOLT_ENSEMBLE_NONE, votes = 0;
  for (uint32_t i = 0; i < e->config.servers; i++) {
    if (!ensemble_may_vote(&e->server[i])) continue;
    votes += 1;
    bool is_more = winner == VOLT_ENSEMBLE_NONE || e->server[i].logged >= e->server[winner].logged;
    if (is_more) winner = i;
  }
  return 2 * votes > e->config.servers ? winner : VOLT_ENSEMBLE_NONE;
}

static void ensemble_begin_to_lead(volt_ensemble *e, uint32_t server) {
  ensemble_server *s = &e->server[server];
  ensemble_log_cut_(e, s->logged);
  e->leader = server;
  e->epoch += 1;
  e->transaction = e->epoch << 32;
  e->write_free_ns = 0;
  e->counts.elections += 1;
  s->term += 1;
  s->is_joined = s->is_serving = true;
  s->epoch = e->epoch;
  s->log_free_ns = 0;
  s->heard_ns = e->now_ns;
  s->acked = s->logged;
  ENSEMBLE_TRACE(e, "server %u leads", server);
}

static void ensemble_elect(volt_ensemble *e, ensemble_event *event) {
  (void)event;
  uint32_t winner = ensemble_winner(e);
  if (winner == VOLT_ENSEMBLE_NONE) return; /* again, when a server has come back */
  ensemble_begin_to_lead(e, winner);
  ensemble_apply_upto_(e, winner, e->committed);
  ensemble_tree_copy_(&e->head, &e->server[winner].tree);
  ensemble_log_to_head_(e);
  ensemble_sessions_renew_(e);
  for (uint32_t i = 0; i < e->config.servers; i++) {
    if (i != winner && ensemble_may_vote(&e->server[i])) ensemble_join(e, i);
  }
}

/* It may follow the leader there is, or help to elect one. */
static void ensemble_come_back(volt_ensemble *e, uint32_t server) {
  if (!ensemble_may_vote(&e->server[server])) return;
  bool may_join = e->leader != VOLT_ENSEMBLE_NONE && ensemble_leads_(e, e->leader) &&
                  !e->server[e->leader].is_cut;
  if (may_join) {
    ensemble_join(e, server);
  } else {
    ensemble_hold_election(e);
  }
}

/* ---- time ---- */

static void ensemble_ask_followers(volt_ensemble *e) {
  uint32_t heard = 1;
  for (uint32_t i = 0; i < e->config.servers; i++) {
    ensemble_server *s = &e->server[i];
    if (i == e->leader || !ensemble_runs(s) || !ensemble_reaches_(e, i)) continue;
    heard += 1;
    s->heard_ns = e->now_ns;
    if (s->is_serving) ensemble_touches_send_(e, i);
  }
  if (2 * heard > e->config.servers) e->server[e->leader].heard_ns = e->now_ns;
}

static void ensemble_give_up(volt_ensemble *e) {
  uint64_t limit_ns = e->config.sync_limit * e->config.tick_ns;
  for (uint32_t i = 0; i < e->config.servers; i++) {
    ensemble_server *s = &e->server[i];
    if (!ensemble_runs(s)) continue;
    if (s->is_joined && e->now_ns - s->heard_ns > limit_ns) {
      ensemble_leave(e, i);
    } else if (!s->is_joined) {
      ensemble_come_back(e, i);
    }
  }
}

static void ensemble_half_tick(volt_ensemble *e, ensemble_event *event) {
  ensemble_at_(e, event, e->now_ns + e->config.tick_ns / 2);
  if (e->leader != VOLT_ENSEMBLE_NONE && ensemble_leads_(e, e->leader)) ensemble_ask_followers(e);
  ensemble_give_up(e);
}

/* At each whole tick of the clock; the half ticks above are of any phase. */
static void ensemble_whole_tick(volt_ensemble *e, ensemble_event *event) {
  uint64_t tick_ns = e->config.tick_ns;
  ensemble_at_(e, event, e->now_ns / tick_ns * tick_ns + tick_ns);
  if (e->leader != VOLT_ENSEMBLE_NONE && ensemble_leads_(e, e->leader)) ensemble_sessions_check_(e);
}

/* ---- life ---- */

static void ensemble_server_begin(ensemble_server *s) {
  ensemble_tree_init_(&s->tree);
  s->is_up = true;
  s->backlog_end = &s->backlog;
}

void ensemble_servers_begin_(volt_ensemble *e) {
  for (uint32_t i = 0; i < e->config.servers; i++) ensemble_server_begin(&e->server[i]);
  for (uint32_t i = 0; i < e->config.servers; i++) {
    ensemble_find_(&e->server[i].tree, "/")->sequence = e->config.sequence;
  }
  ensemble_tree_init_(&e->head);
  e->leader = VOLT_ENSEMBLE_NONE;
  e->half_tick.happen = ensemble_half_tick;
  e->election.happen = ensemble_elect;
  ensemble_elect(e, NULL);
  e->whole_tick.happen = ensemble_whole_tick;
  ensemble_at_(e, &e->half_tick, e->now_ns + 1 + ensemble_random_(e, e->config.tick_ns / 2));
  ensemble_whole_tick(e, &e->whole_tick);
}

static void ensemble_backlog_free(ensemble_server *s) {
  while (s->backlog) {
    ensemble_message *m = s->backlog;
    s->backlog = m->next;
    ensemble_message_free_(m);
  }
  s->backlog_end = &s->backlog;
}

static void ensemble_server_end(volt_ensemble *e, uint32_t server) {
  ensemble_server *s = &e->server[server];
  ensemble_links_close_(e, server, 0);
  ensemble_backlog_free(s);
  ensemble_tree_clear_(&s->tree);
  free(s->touched);
  *s = (ensemble_server){.term = s->term + 1, .slow_ns = s->slow_ns};
}

void ensemble_servers_end_(volt_ensemble *e) {
  for (uint32_t i = 0; i < e->config.servers; i++) ensemble_server_end(e, i);
  ensemble_tree_clear_(&e->head);
  ensemble_log_clear_(e);
  ensemble_sessions_clear_(e);
}

void volt_ensemble_replace(volt_ensemble *e) {
  ensemble_servers_end_(e);
  ensemble_never_(e, &e->election);
  e->epoch = 0;
  ENSEMBLE_TRACE(e, "new servers");
  ensemble_servers_begin_(e);
}

uint32_t volt_ensemble_leader(const volt_ensemble *e) {
  bool leads = e->leader != VOLT_ENSEMBLE_NONE && ensemble_leads_(e, e->leader);
  return leads ? e->leader : VOLT_ENSEMBLE_NONE;
}

/* ---- faults ---- */

void volt_ensemble_server_kill(volt_ensemble *e, uint32_t server) {
  ensemble_server *s = ensemble_server_at(e, server, "volt_ensemble_server_kill");
  if (!s->is_up) return;
  bool led = e->leader == server;
  ENSEMBLE_TRACE(e, "server %u is killed", server);
  ensemble_leave(e, server);
  ensemble_backlog_free(s);
  s->is_up = s->is_stopped = false;
  for (uint32_t i = 0; led && i < e->config.servers; i++) { /* their connections are closed */
    ensemble_server *f = &e->server[i];
    if (f->is_joined && ensemble_runs(f) && !f->is_cut && !s->is_cut) ensemble_leave(e, i);
  }
}

void volt_ensemble_server_start(volt_ensemble *e, uint32_t server) {
  ensemble_server *s = ensemble_server_at(e, server, "volt_ensemble_server_start");
  if (s->is_up) return;
  s->is_up = true;
  ENSEMBLE_TRACE(e, "server %u is started", server);
  ensemble_come_back(e, server);
}

/* It hears of what has happened meanwhile: there may be another leader, or none. */
static void ensemble_find_out(volt_ensemble *e, uint32_t server) {
  bool is_late = e->server[server].is_joined && !ensemble_is_of_this_leader(e, server);
  if (is_late && !e->server[server].is_cut) ensemble_leave(e, server);
}

void volt_ensemble_server_stop(volt_ensemble *e, uint32_t server) {
  ensemble_server *s = ensemble_server_at(e, server, "volt_ensemble_server_stop");
  ENSEMBLE_TRACE(e, "server %u is stopped", server);
  if (s->is_up) s->is_stopped = true;
}

void volt_ensemble_server_continue(volt_ensemble *e, uint32_t server) {
  ensemble_server *s = ensemble_server_at(e, server, "volt_ensemble_server_continue");
  if (!s->is_stopped) return;
  ENSEMBLE_TRACE(e, "server %u goes on", server);
  s->is_stopped = false;
  ensemble_find_out(e, server);
  ensemble_message *m = s->backlog;
  s->backlog = NULL;
  s->backlog_end = &s->backlog;
  if (e->leader == server) ensemble_at_(e, &e->half_tick, e->now_ns); /* it is late */
  while (m) {
    ensemble_message *next = m->next;
    ensemble_at_(e, &m->event, e->now_ns);
    m = next;
  }
}

void volt_ensemble_server_cut(volt_ensemble *e, uint32_t server) {
  ensemble_server_at(e, server, "volt_ensemble_server_cut")->is_cut = true;
  ENSEMBLE_TRACE(e, "server %u is cut off", server);
}

/* What was sent to or by it was lost, so those that it was to belong together with begin anew. */
void volt_ensemble_server_slow(volt_ensemble *e, uint32_t server, uint64_t log_ns) {
  ensemble_server *s = ensemble_server_at(e, server, "volt_ensemble_server_slow");
  ENSEMBLE_TRACE(e, "server %u logs by %llu us later", server, (unsigned long long)(log_ns / 1000));
  s->slow_ns = log_ns;
}

void volt_ensemble_server_heal(volt_ensemble *e, uint32_t server) {
  ensemble_server *s = ensemble_server_at(e, server, "volt_ensemble_server_heal");
  if (!s->is_cut) return;
  s->is_cut = false;
  ENSEMBLE_TRACE(e, "server %u is not cut off any more", server);
  ensemble_find_out(e, server);
  for (uint32_t i = 0; i < e->config.servers; i++) {
    bool is_again = (i == server || e->leader == server) && i != e->leader;
    if (!is_again || !ensemble_reaches_(e, i)) continue;
    ensemble_leave(e, i);
    ensemble_come_back(e, i);
  }
}
