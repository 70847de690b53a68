/* session.c: the session of a host: what it asks, what answers prove, when its leases become void.
 *
 * Invariants
 *   I1  a lease's request that is answered after its session has ended changes nothing: each has the
 *       number of the session in which it was submitted.
 *   I2  valid_until is 0 before the first lease becomes void, and is another time only after all have.
 *   I3  while a host has leases, a write is sent each twelfth of the session's time at the latest, whether
 *       or not those before were answered: so a lease is valid for as long as the link allows.
 *   I4  a host that could not use what it had leased leases nothing more before heartbeats alone have kept
 *       valid_until ahead for a quarter of the session's time.
 *
 * Labels: session */
#include <stdio.h>

#include "../recipe/recipe.h"
#include "cluster.h"
#include "engine.h"
#include "session.h"
#include "slots.h"
#include "validity.h"

/* Of volt_cluster_request.watch: lease, and which of its watches. */
enum { SESSION_WATCHES = 16 };

bool host_session_is_connected_(const volt_cluster *c) {
  return c->stats.state == VOLT_CLUSTER_CONNECTED;
}

bool host_session_is_valid_(const volt_cluster *c) {
  return cluster_now_(c) < volt_load_relaxed(&c->valid_until_ns); /* the driver wrote it */
}

static bool host_session_has(const volt_cluster *c, bool only_in_use) {
  for (const volt_cluster_lease *l = c->driven; l; l = l->next_driven) {
    if (l->in_state[SLOT_IN_USE] > 0) return true;
    if (!only_in_use && l->in_state[SLOT_NEW] > 0) return true;
  }
  return false;
}

/* ---- how slow the link is ---- */

/* What counts is how long a write takes. Before there was one, a read has to do. quick_ns falls at once, and
 * rises as slowly as the average. */
static void host_session_measure(volt_cluster *c, bool is_write, uint64_t round_ns) {
  uint64_t *mean = &c->stats.round_ns;
  bool is_first = *mean == 0 || (is_write && !c->has_written);
  if (!is_write && c->has_written) return;
  bool is_quicker = is_first || round_ns < c->quick_ns;
  c->quick_ns = is_quicker ? round_ns : c->quick_ns + (round_ns - c->quick_ns) / 8;
  *mean = is_first ? round_ns : *mean - *mean / 8 + round_ns / 8;
  if (is_first) c->measured_ns = cluster_now_(c);
  c->has_written = is_write;
}

uint64_t host_session_link_ns_(const volt_cluster *c) {
  bool is_known = c->has_written && cluster_now_(c) >= c->measured_ns + c->stats.session_ns / 4;
  return is_known ? c->quick_ns : 0;
}

/* How often to write, with a read between two writes. By validity.c, valid_until is 7T/12 - 3d - 5p/2 ahead
 * at least. With d up to T/24 and p = T/12 that is T/4; with d up to T/8 and p = T/24 it is 5T/48. */
static uint64_t host_session_period_ns(const volt_cluster *c) {
  uint64_t session_ns = c->stats.session_ns;
  return c->stats.round_ns > session_ns / 24 ? session_ns / 24 : session_ns / 12;
}

/* Leases can be held with rounds of an eighth: see host_session_period_ns(). */
bool host_session_is_slow_(const volt_cluster *c) {
  return c->stats.round_ns > c->stats.session_ns / 8;
}

bool host_session_stays_valid_(const volt_cluster *c) {
  uint64_t until_ns = volt_load_relaxed(&c->valid_until_ns); /* the driver wrote it */
  return cluster_now_(c) + host_session_period_ns(c) < until_ns;
}

void host_session_doubt_(volt_cluster *c) {
  uint64_t most_ns = 8 * c->stats.session_ns, now_ns = cluster_now_(c);
  c->doubt_ns = c->doubt_ns == 0 ? c->stats.session_ns / 2 : 2 * c->doubt_ns;
  if (c->doubt_ns > most_ns) c->doubt_ns = most_ns;
  c->doubt_until_ns = now_ns + c->doubt_ns;
  c->stats.doubts += 1;
  cluster_log_(
      c, VOLT_CLUSTER_WARN,
      "leases cannot be used: an answer takes %llu ms, of %llu ms at most; nothing is leased "
      "for %llu ms, and then only if heartbeats are answered in time",
      (unsigned long long)(c->stats.round_ns / 1000000),
      (unsigned long long)(c->stats.session_ns / 8000000),
      (unsigned long long)(c->doubt_ns / 1000000));
}

bool host_session_is_proved_(const volt_cluster *c) {
  return c->valid_since_ns > 0 && cluster_now_(c) >= c->valid_since_ns + c->stats.session_ns / 4;
}

bool host_session_may_lease_(const volt_cluster *c) {
  bool is_over = cluster_now_(c) >= c->doubt_until_ns && host_session_is_proved_(c);
  return c->doubt_ns == 0 || is_over;
}

/* Heartbeats have kept leases valid, or would have. */
static void host_session_doubt_less(volt_cluster *c) {
  uint64_t now_ns = cluster_now_(c), session_ns = c->stats.session_ns;
  if (!host_session_is_valid_(c)) {
    c->valid_since_ns = 0;
  } else if (c->valid_since_ns == 0) {
    c->valid_since_ns = now_ns;
  }
  bool is_proved = c->valid_since_ns > 0 && now_ns >= c->valid_since_ns + 2 * session_ns;
  if (is_proved && now_ns >= c->doubt_until_ns + 2 * session_ns) c->doubt_ns = 0;
}

/* ---- what answers prove ---- */

static void host_session_prove(volt_cluster *c, const volt_cluster_request *r) {
  if (r->result == VOLT_CLUSTER_EAWAY || r->result == VOLT_CLUSTER_EEXPIRED) return;
  uint64_t now_ns = cluster_now_(c);
  host_session_measure(c, r->kind == VOLT_CLUSTER_WRITE, now_ns - r->sent_ns);
  if (r->kind == VOLT_CLUSTER_WRITE && r->result == VOLT_OK) {
    validity_wrote_(&c->validity, r->sent_ns, now_ns);
  } else {
    validity_heard_(&c->validity, r->sent_ns, now_ns);
    if (r->kind == VOLT_CLUSTER_WRITE)
      c->write_sent_ns = 0; /* it proves nothing: a heartbeat has to */
  }
  uint64_t until_ns = validity_until_(&c->validity);
  /* relaxed: the driver alone writes it */
  if (until_ns <= volt_load_relaxed(&c->valid_until_ns)) return;
  /* session:U1 -> host:A1: the leases of before are lost (I2) */
  volt_store_release(&c->valid_until_ns, until_ns);
}

static void host_session_answered(volt_cluster_request *r) {
  engine_call *call = (engine_call *)r->ctx;
  volt_cluster *c = call->c;
  volt_cluster_lease *l = call->lease;
  bool is_now = call->session == c->sessions; /* I1 */
  if (is_now) host_session_prove(c, r);
  if (!l) {
    ((engine_beat *)call)->is_under_way = false;
    return;
  }
  l->under_way -= 1;
  l->is_dirty = true;
  if (is_now) recipe_answered_(l, call->ask, r);
}

/* ---- asking ---- */

void host_session_ask_(engine_call *call) {
  volt_cluster *c = call->c;
  volt_cluster_request *r = &call->request;
  call->session = c->sessions;
  r->done = host_session_answered;
  r->ctx = call;
  r->next = NULL;
  r->of_backend = NULL;
  r->result = VOLT_PENDING;
  c->sent_ns = cluster_now_(c);
  if (r->kind == VOLT_CLUSTER_WRITE) {
    c->stats.writes += 1;
    c->write_sent_ns = c->sent_ns;
    c->heartbeat_was_last = !call->lease;
  } else {
    c->stats.reads += 1;
  }
  if (call->lease) {
    call->lease->under_way += 1;
    if (r->watch) r->watch += SESSION_WATCHES * call->lease->number;
  }
  c->kind->submit(c->backend, r);
}

/* ---- leases that become void ---- */

void host_session_lose_(volt_cluster *c) {
  /* I2. relaxed: a thread that reads 0 has nothing to see but that */
  volt_store_relaxed(&c->valid_until_ns, 0);
  cluster_publish_(c); /* before a user hears of it */
  for (volt_cluster_lease *l = c->driven; l; l = l->next_driven) recipe_lose_(l);
}

/* The time of the leases has passed, although the session may live. */
static void host_session_lose_if_late(volt_cluster *c) {
  if (host_session_is_valid_(c) || !host_session_has(c, true)) return;
  if (c->late_ns >= c->stats.session_ns / 8) {
    cluster_log_(c, VOLT_CLUSTER_WARN,
                 "the leases are void: this host did not run its client for %llu ms: was a worker "
                 "blocked, or the process stopped?",
                 (unsigned long long)(c->late_ns / 1000000));
  } else {
    cluster_log_(c, VOLT_CLUSTER_WARN,
                 "the leases are void: the ensemble has not answered in time");
  }
  if (host_session_is_connected_(c) && host_session_is_slow_(c)) host_session_doubt_(c);
  host_session_lose_(c);
}

/* ---- sessions ---- */

/* The ensemble may have agreed to less time than before. */
static void host_session_shorten(volt_cluster *c) {
  uint64_t until_ns = validity_until_(&c->validity);
  /* relaxed: the driver alone writes it */
  if (until_ns < volt_load_relaxed(&c->valid_until_ns)) {
    /* relaxed: a thread that still reads the later time could have done so a little earlier */
    volt_store_relaxed(&c->valid_until_ns, until_ns);
  }
}

static void host_session_connected(volt_cluster *c, bool is_new, uint64_t session,
                                   uint64_t session_ns, uint64_t since_ns) {
  c->stats.state = VOLT_CLUSTER_CONNECTED;
  c->stats.session = session;
  c->stats.session_ns = session_ns;
  if (is_new) {
    c->sessions += 1;
    c->write_sent_ns = 0;
    c->sent_ns = 0;
    validity_begin_(&c->validity, session_ns, since_ns);
  } else {
    c->stats.reconnects += 1;
    validity_again_(&c->validity, session_ns, since_ns);
    host_session_shorten(c);
  }
  cluster_log_(c, VOLT_CLUSTER_INFO, "%s: session %#llx, %llu ms", is_new ? "connected" : "again",
               (unsigned long long)session, (unsigned long long)(session_ns / 1000000));
  for (volt_cluster_lease *l = c->driven; l; l = l->next_driven) recipe_connected_(l, is_new);
}

static void host_session_expired(volt_cluster *c) {
  cluster_log_(c, VOLT_CLUSTER_WARN, "session %#llx has expired",
               (unsigned long long)c->stats.session);
  c->stats.state = VOLT_CLUSTER_CONNECTING;
  c->stats.session = 0;
  c->stats.expired += 1;
  c->sessions += 1;
  c->must_connect = true;
  host_session_lose_(c);
  for (volt_cluster_lease *l = c->driven; l; l = l->next_driven) recipe_expired_(l);
}

static void host_session_on_session(void *ctx, enum volt_cluster_session_event event,
                                    uint64_t session, uint64_t session_ns, uint64_t since_ns) {
  volt_cluster *c = (volt_cluster *)ctx;
  switch (event) {
    case VOLT_CLUSTER_SESSION_NEW:
      host_session_connected(c, true, session, session_ns, since_ns);
      break;
    case VOLT_CLUSTER_SESSION_AGAIN:
      host_session_connected(c, false, session, session_ns, since_ns);
      break;
    case VOLT_CLUSTER_SESSION_AWAY:
      c->stats.state = VOLT_CLUSTER_AWAY;
      cluster_log_(c, VOLT_CLUSTER_INFO, "the connection is lost");
      break;
    case VOLT_CLUSTER_SESSION_EXPIRED: host_session_expired(c); break;
    case VOLT_CLUSTER_SESSION_REFUSED:
      c->stats.state = VOLT_CLUSTER_REFUSED;
      cluster_log_(c, VOLT_CLUSTER_ERROR, "the ensemble refuses the authentication");
      break;
  }
}

static void host_session_on_event(void *ctx, uint32_t watch) {
  volt_cluster *c = (volt_cluster *)ctx;
  c->stats.events += 1;
  for (volt_cluster_lease *l = c->driven; l; l = l->next_driven) {
    if (l->number != watch / SESSION_WATCHES) continue;
    recipe_watch_fired_(l, (enum engine_ask)(watch % SESSION_WATCHES));
    return;
  }
}

static void host_session_log(void *ctx, enum volt_cluster_level level, const char *text) {
  cluster_log_((volt_cluster *)ctx, level, "%s", text);
}

void host_session_open_(volt_cluster *c, volt_cluster_client *client) {
  *client = (volt_cluster_client){.on_session = host_session_on_session,
                                  .on_event = host_session_on_event,
                                  .log = host_session_log,
                                  .ctx = c};
  for (int i = 0; i < ENGINE_BEATS; i++) c->beats[i].call.c = c;
  c->must_connect = true;
  c->stats.state = VOLT_CLUSTER_CONNECTING;
}

/* ---- heartbeats ---- */

/* Whether heartbeats are sent before there are leases: because of a doubt (I4), or because the link is so slow
 * that a new lease would not stay valid until two heartbeats behind it were answered. */
static bool host_session_begins_early(const volt_cluster *c) {
  bool is_so = c->doubt_ns > 0 || host_session_period_ns(c) < c->stats.session_ns / 12;
  for (const volt_cluster_lease *l = c->driven; l && is_so; l = l->next_driven) {
    if (l->is_wanted) return true;
  }
  return false;
}

static engine_beat *host_session_free_beat(volt_cluster *c) {
  for (int i = 0; i < ENGINE_BEATS; i++) {
    if (!c->beats[i].is_under_way) return &c->beats[i];
  }
  return NULL;
}

/* A write that changes nothing, or a read, which makes known to the servers that the host lives. */
static void host_session_beat(volt_cluster *c, engine_beat *beat, bool is_write) {
  volt_cluster_request *r = &beat->call.request;
  *r = (volt_cluster_request){.kind = is_write ? VOLT_CLUSTER_WRITE : VOLT_CLUSTER_TOUCH};
  const char *root = c->root[0] ? c->root : "/";
  snprintf(r->path, sizeof r->path, "%s", root);
  if (is_write) {
    beat->action = (volt_cluster_action){.kind = VOLT_CLUSTER_CHECK, .version = -1};
    snprintf(beat->action.path, sizeof beat->action.path, "%s", root);
    r->actions = &beat->action;
    r->count = 1;
    c->stats.heartbeats += 1;
  }
  beat->is_under_way = true;
  host_session_ask_(&beat->call);
}

/* Send one if it is due. Returns when the next is. */
static uint64_t host_session_beat_if_due(volt_cluster *c) {
  if (!host_session_is_connected_(c) || !c->driven) return VOLT_NO_DEADLINE;
  uint64_t period_ns = host_session_period_ns(c);
  bool has_leases = host_session_has(c, false) || host_session_begins_early(c);
  uint64_t now_ns = cluster_now_(c);
  uint64_t write_ns = has_leases ? c->write_sent_ns + period_ns : VOLT_NO_DEADLINE;
  /* Leases that are new after a long wait are not valid yet, or not for long: a write behind the one
   * that took them makes them so */
  if (has_leases && !host_session_stays_valid_(c) && !c->heartbeat_was_last) write_ns = now_ns;
  uint64_t touch_ns = c->sent_ns + (has_leases ? period_ns / 2 : c->stats.session_ns / 6);
  uint64_t due_ns = write_ns < touch_ns ? write_ns : touch_ns;
  if (due_ns > now_ns) return due_ns;
  engine_beat *beat = host_session_free_beat(c);
  if (!beat) return VOLT_NO_DEADLINE; /* an answer comes first */
  host_session_beat(c, beat, write_ns <= now_ns);
  return now_ns + period_ns / 2;
}

uint64_t host_session_check_(volt_cluster *c) {
  if (c->must_connect) {
    c->must_connect = false;
    c->kind->connect(c->backend);
  }
  host_session_lose_if_late(c);
  host_session_doubt_less(c);
  uint64_t until_ns = host_session_beat_if_due(c);
  uint64_t valid_ns = volt_load_relaxed(&c->valid_until_ns); /* the driver wrote it */
  bool is_used = host_session_has(c, true);
  return is_used && valid_ns < until_ns ? valid_ns : until_ns;
}
