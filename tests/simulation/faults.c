/* faults.c: what goes wrong, and when it is over. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulation.h"

/* Most are shorter than a session, some longer. */
static uint64_t fault_length_ns(world *w) {
  uint64_t session_ns = w->plan.session_ns;
  uint32_t chance = rng_below(&w->random, 8);
  uint64_t most_ns = chance < 2 ? session_ns / 8 : session_ns;
  uint64_t least_ns = chance < 4 ? 1 : 5 * session_ns / 4;
  return least_ns + rng_next(&w->random) % most_ns;
}

static host *fault_host(world *w) {
  host *h = &w->hosts[rng_below(&w->random, w->host_count)];
  bool is_well = h->is_there && !h->is_closing && h->over_ns == UINT64_MAX;
  return is_well ? h : NULL;
}

static void fault_host_goes_on(world *w, host *h) {
  if (h->is_stopped) volt_ensemble_host_continue(w->e, h->number);
  if (h->is_suspended) volt_ensemble_host_resume(w->e, h->number);
  if (h->is_cut) volt_ensemble_host_heal(w->e, h->number);
  h->is_stopped = h->is_suspended = h->is_cut = false;
  h->over_ns = UINT64_MAX;
}

/* ---- of a host ---- */

static void fault_of_host(world *w, host *h, enum fault fault) {
  uint64_t over_ns = volt_ensemble_now_ns(w->e) + fault_length_ns(w);
  switch (fault) {
    case FAULT_DISCONNECT: volt_ensemble_host_disconnect(w->e, h->number); return;
    case FAULT_LOSE_REQUEST: volt_ensemble_host_lose_request(w->e, h->number); return;
    case FAULT_LOSE_ANSWER: volt_ensemble_host_lose_answer(w->e, h->number); return;
    case FAULT_HOST_DRIFT:
      volt_ensemble_host_drift(w->e, h->number, (int32_t)rng_below(&w->random, 20001) - 10000);
      return;
    case FAULT_HOST_KILL: host_kill(h); return;
    case FAULT_HOST_CLOSE: host_close(h); return;
    case FAULT_HOST_CUT:
      h->is_cut = true;
      volt_ensemble_host_cut(w->e, h->number);
      break;
    case FAULT_HOST_STOP:
      h->is_stopped = true;
      volt_ensemble_host_stop(w->e, h->number);
      break;
    default:
      h->is_suspended = true;
      volt_ensemble_host_suspend(w->e, h->number);
      break;
  }
  h->over_ns = over_ns;
}

/* ---- of a server ---- */

static void fault_server_is_over(world *w, uint32_t server) {
  volt_ensemble_server_heal(w->e, server);
  volt_ensemble_server_continue(w->e, server);
  volt_ensemble_server_start(w->e, server);
  w->servers_over_ns[server] = UINT64_MAX;
}

static void fault_of_server(world *w, enum fault fault) {
  uint32_t servers = w->plan.ensemble.servers, server = rng_below(&w->random, servers);
  uint32_t leader = volt_ensemble_leader(w->e);
  if (leader != VOLT_ENSEMBLE_NONE && rng_below(&w->random, 3) == 0) server = leader;
  if (w->servers_over_ns[server] != UINT64_MAX) { /* a second one: a stall, and then an end */
    if (fault == FAULT_SERVER_KILL) volt_ensemble_server_continue(w->e, server);
  }
  w->servers_over_ns[server] = volt_ensemble_now_ns(w->e) + fault_length_ns(w);
  if (fault == FAULT_SERVER_KILL) volt_ensemble_server_kill(w->e, server);
  if (fault == FAULT_SERVER_STOP) volt_ensemble_server_stop(w->e, server);
  if (fault == FAULT_SERVER_CUT) volt_ensemble_server_cut(w->e, server);
}

/* What the server has heard of the host, and has not reported, is lost with it. */
static void fault_of_both(world *w, host *h) {
  uint32_t server = volt_ensemble_server_of(w->e, h->number);
  uint64_t until_ns = volt_ensemble_now_ns(w->e) + 5 * w->plan.session_ns / 4 + fault_length_ns(w);
  bool is_cut = rng_below(&w->random, 2);
  if (!is_cut || rng_below(&w->random, 2)) { /* else it goes on reading there */
    fault_of_host(w, h, (enum fault)(FAULT_HOST_CUT + rng_below(&w->random, 3)));
    h->over_ns = until_ns;
  }
  w->calm_ns = until_ns;
  if (server == VOLT_ENSEMBLE_NONE || w->servers_over_ns[server] != UINT64_MAX) return;
  w->servers_over_ns[server] = until_ns;
  if (is_cut) {
    volt_ensemble_server_cut(w->e, server);
  } else {
    volt_ensemble_server_kill(w->e, server);
  }
}

/* ---- by hand ---- */

static int fault_data(const world *w, uint32_t limit, unsigned generation, char *data,
                      size_t size) {
  return snprintf(data, size,
                  "volt-cluster 1\nlimit %u\nlease 0\nquantum_ms 0\nera %u\nqueue %u\nturn %u\n",
                  limit, w->era, generation, w->plan.turn);
}

/* Which directories are used is the hosts', and stays. Returns whether there is such a node. */
static bool fault_write_data(world *w, const watched *s, uint32_t limit) {
  char path[64], data[256], before[256];
  const char *now, *queue;
  volt_cluster_node node;
  uint32_t size;
  unsigned generation = 0;
  snprintf(path, sizeof path, "/volt/%s", s->name);
  if (volt_ensemble_look(w->e, path, &node, &now, &size) != VOLT_OK) return false;
  snprintf(before, sizeof before, "%.*s", (int)size, now);
  queue = strstr(before, "\nqueue ");
  if (queue) generation = (unsigned)strtoul(queue + 7, NULL, 10);
  int length = fault_data(w, limit, generation, data, sizeof data);
  return volt_ensemble_set_data(w->e, path, data, (uint32_t)length) == VOLT_OK;
}

/* As a person does who wants other data, or replaces the servers and knows what that means. */
void faults_make_nodes(world *w) {
  char path[64], data[256];
  (void)volt_ensemble_create_node(w->e, "/volt", "", 0);
  for (uint32_t i = 0; i < w->plan.sems; i++) {
    snprintf(path, sizeof path, "/volt/%s", w->sem[i].name);
    int length = fault_data(w, w->plan.limit, 0, data, sizeof data);
    (void)volt_ensemble_create_node(w->e, path, data, (uint32_t)length);
  }
}

/* The permits of a session that is ended by hand do not count: its host cannot know in time. */
static void fault_expire(world *w, uint64_t session) {
  volt_cluster_stats_of stats;
  for (uint32_t i = 0; i < w->host_count; i++) {
    host *h = &w->hosts[i];
    if (!h->is_there) continue;
    volt_cluster_stats(h->cluster, &stats);
    if (stats.session == session) h->void_session = session;
  }
  (void)volt_ensemble_expire(w->e, session);
}

static void fault_by_hand(world *w, enum fault fault) {
  const watched *s = &w->sem[rng_below(&w->random, w->plan.sems)];
  if (fault == FAULT_LIMIT) fault_write_data(w, s, rng_below(&w->random, 2 * w->plan.limit + 1));
  if (s->queue_count == 0) return;
  const queued *q = &s->queue[rng_below(&w->random, s->queue_count)];
  if (fault == FAULT_EXPIRE) fault_expire(w, q->owner);
  if (fault == FAULT_DELETE) {
    char path[32 + NAME_MAX_];
    snprintf(path, sizeof path, "/volt/%s/%s", s->name, q->name);
    (void)volt_ensemble_delete_node(w->e, path);
  }
}

/* The servers are lost for longer than any session; then there are new ones. */
static void fault_replace(world *w) {
  for (uint32_t i = 0; i < w->plan.ensemble.servers; i++) {
    volt_ensemble_server_kill(w->e, i);
    w->servers_over_ns[i] = UINT64_MAX;
  }
  w->replace_ns = volt_ensemble_now_ns(w->e) + 3 * w->plan.session_ns;
}

/* A person raises the era before any host connects. A host that is alone remembers what it has seen
 * itself, so the person may be late. */
static void fault_replaced(world *w) {
  uint64_t late_ns = SECOND + rng_next(&w->random) % (2 * SECOND);
  w->replace_ns = UINT64_MAX;
  volt_ensemble_replace(w->e);
  for (uint32_t i = 0; i < w->plan.sems; i++) {
    watched *s = &w->sem[i];
    memset(s->owner, 0, sizeof s->owner);
    s->leased = s->queue_count = 0;
    s->head = 0;
  }
  if (w->plan.hosts == 1) {
    w->era_ns = volt_ensemble_now_ns(w->e) + late_ns;
    return;
  }
  w->era += 1;
  faults_make_nodes(w);
}

static void fault_raise_era(world *w) {
  bool is_raised = true;
  w->era += 1;
  for (uint32_t i = 0; i < w->plan.sems; i++) {
    if (!fault_write_data(w, &w->sem[i], w->plan.limit)) is_raised = false;
  }
  if (!is_raised) w->era -= 1; /* again, when the host has made its nodes */
  w->era_ns = is_raised ? UINT64_MAX : volt_ensemble_now_ns(w->e) + SECOND / 10;
  if (is_raised) world_trace(w, "a person raises the era to %u", w->era);
}

/* ---- time ---- */

static void fault_happens(world *w) {
  enum fault fault = (enum fault)rng_below(&w->random, FAULTS);
  if ((w->plan.faults & ((1u << FAULTS) - 1)) == 0) return;
  while (!(w->plan.faults & 1u << fault)) fault = (enum fault)rng_below(&w->random, FAULTS);
  bool is_replaced = w->replace_ns != UINT64_MAX || w->era_ns != UINT64_MAX;
  w->results.faults += 1;
  if (fault <= FAULT_HOST_CLOSE) {
    host *h = fault_host(w);
    if (h && !(is_replaced && fault >= FAULT_HOST_KILL)) fault_of_host(w, h, fault);
  } else if (is_replaced) {
    return;
  } else if (fault <= FAULT_SERVER_CUT) {
    fault_of_server(w, fault);
  } else if (fault == FAULT_BOTH) {
    host *h = fault_host(w);
    if (h) fault_of_both(w, h);
  } else if (fault == FAULT_REPLACE) {
    if (w->era == 1) fault_replace(w);
  } else {
    fault_by_hand(w, fault);
  }
}

static void fault_draw(world *w) {
  uint64_t from_ns = volt_ensemble_now_ns(w->e);
  if (w->calm_ns > from_ns) from_ns = w->calm_ns;
  w->next_fault_ns = from_ns + 1 + rng_next(&w->random) % (2 * w->plan.each_fault_ns);
}

void faults_begin(world *w) {
  for (uint32_t i = 0; i < VOLT_ENSEMBLE_SERVERS_MAX; i++) w->servers_over_ns[i] = UINT64_MAX;
  w->replace_ns = w->era_ns = UINT64_MAX;
  fault_draw(w);
}

/* A host that has ended is followed by a new one. */
static void fault_reap_hosts(world *w) {
  bool is_replaced = w->replace_ns != UINT64_MAX || w->era_ns != UINT64_MAX;
  for (uint32_t i = 0; i < w->host_count; i++) {
    host *h = &w->hosts[i];
    if (h->is_there) host_reap(h);
    if (!h->is_there && w->phase == PHASE_FAULTS && !is_replaced) host_begin(w, h);
  }
}

void faults_look(world *w) {
  uint64_t now_ns = volt_ensemble_now_ns(w->e);
  for (uint32_t i = 0; i < w->host_count; i++) {
    host *h = &w->hosts[i];
    if (h->is_there && h->over_ns <= now_ns) fault_host_goes_on(w, h);
  }
  for (uint32_t i = 0; i < w->plan.ensemble.servers; i++) {
    if (w->servers_over_ns[i] <= now_ns) fault_server_is_over(w, i);
  }
  if (w->replace_ns <= now_ns) fault_replaced(w);
  if (w->era_ns <= now_ns) fault_raise_era(w);
  fault_reap_hosts(w);
  if (w->phase != PHASE_FAULTS || w->next_fault_ns > now_ns) return;
  fault_happens(w);
  fault_draw(w);
}

uint64_t faults_next_ns(const world *w) {
  uint64_t next_ns = w->phase == PHASE_FAULTS ? w->next_fault_ns : UINT64_MAX;
  if (w->replace_ns < next_ns) next_ns = w->replace_ns;
  if (w->era_ns < next_ns) next_ns = w->era_ns;
  for (uint32_t i = 0; i < w->host_count; i++) {
    if (w->hosts[i].is_there && w->hosts[i].over_ns < next_ns) next_ns = w->hosts[i].over_ns;
  }
  for (uint32_t i = 0; i < w->plan.ensemble.servers; i++) {
    if (w->servers_over_ns[i] < next_ns) next_ns = w->servers_over_ns[i];
  }
  return next_ns;
}

/* The write that raised it was cut off with the leader that had it, and a person looks whether what was
 * written is there. */
static bool fault_is_era_old(world *w, const watched *s) {
  char path[64], text[256];
  const char *now, *era;
  volt_cluster_node node;
  uint32_t size;
  snprintf(path, sizeof path, "/volt/%s", s->name);
  if (volt_ensemble_look(w->e, path, &node, &now, &size) != VOLT_OK) return false;
  snprintf(text, sizeof text, "%.*s", (int)size, now);
  era = strstr(text, "\nera ");
  return era && strtoul(era + 5, NULL, 10) < w->era;
}

/* With a limit of 0, or an era that is too old, every wait would be for ever. Returns whether that is
 * said. */
bool faults_restore_limits(world *w) {
  bool is_restored = true;
  for (uint32_t i = 0; i < w->plan.sems; i++) {
    watched *s = &w->sem[i];
    if (s->limit > 0 && !fault_is_era_old(w, s)) continue;
    if (!fault_write_data(w, s, s->limit > 0 ? s->limit : w->plan.limit)) is_restored = false;
  }
  return is_restored;
}

void faults_heal(world *w) {
  world_trace(w, "all is healed");
  if (w->replace_ns != UINT64_MAX) fault_replaced(w);
  for (uint32_t i = 0; i < w->plan.ensemble.servers; i++) fault_server_is_over(w, i);
  for (uint32_t i = 0; i < w->host_count; i++) {
    host *h = &w->hosts[i];
    if (!h->is_there) continue;
    fault_host_goes_on(w, h);
  }
}
