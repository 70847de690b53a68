/* cluster.c: the host at the ensemble, and the task that follows it.
 *
 * volt_cluster has a task of its own, which says what is leased. A second task looks ten times a
 * second whether the ensemble has come or gone, because that changes what an away gate may use, and
 * says so in the log. */
#define _GNU_SOURCE /* asprintf, strdup */
#include "cluster/cluster.h"

#include <stdlib.h>
#include <string.h>

#ifdef VOLTGATE_CLUSTER
#include <inttypes.h>
#include <stdio.h>
#include <volt/cluster.h>
#include <volt/task.h>
#include <volt/time.h>

#include "cluster/leased.h"
#include "process/log.h"

#define MS UINT64_C(1000000)
#define CLUSTER_FOLLOW_NS (100 * MS)
#define CLUSTER_CLOSE_NS (4000 * MS)
#define CLUSTER_CHANGE_NS (4000 * MS)

struct cluster {
  struct engine engine; /* first */
  struct leases leases;
  volt_rt *rt;
  volt_cluster *host;
  char *servers;
  volt_group follower;
  bool is_closed;
  enum volt_cluster_state state; /* that was logged; the follower's own */
  uint64_t session;
  _Atomic(uint64_t) away_since_ns; /* by the host's clock; 0: it is connected */
};

/* ---- the engine ---- */

static struct cluster *gate_cluster_of(struct engine *e) {
  return volt_container_of(e, struct cluster, engine);
}

static int gate_cluster_engine_open(struct engine *e, volt_cluster_lease **out, const char *name,
                                    const volt_cluster_sem_config *config,
                                    const volt_cluster_lease_user *user) {
  return volt_cluster_lease_open(out, gate_cluster_of(e)->host, name, config, user);
}

static void gate_cluster_engine_sees(struct engine *e, struct away_sees *sees) {
  const volt_cluster *host = gate_cluster_of(e)->host;
  volt_cluster_stats_of s;
  volt_cluster_stats(host, &s);
  *sees = (struct away_sees){.is_connected = s.state == VOLT_CLUSTER_CONNECTED,
                             .session = s.session,
                             .session_ns = s.session_ns,
                             .valid_until_ns = s.valid_until_ns,
                             .now_ns = volt_cluster_now_ns(host)};
}

static const struct engine_calls cluster_calls = {
    gate_cluster_engine_open, volt_cluster_lease_look, volt_cluster_lease_is_waiting,
    volt_cluster_lease_stats_get, gate_cluster_engine_sees};

static void gate_cluster_log(enum volt_cluster_level level, const char *text, void *ctx) {
  static const enum log_level levels[] = {[VOLT_CLUSTER_ERROR] = LOG_ERROR,
                                          [VOLT_CLUSTER_WARN] = LOG_WARN,
                                          [VOLT_CLUSTER_INFO] = LOG_DEBUG, /* gate_cluster_say() */
                                          [VOLT_CLUSTER_DEBUG] = LOG_DEBUG};
  (void)ctx;
  log_line(levels[level], NULL, "cluster: %s", text);
}

/* ---- follow ---- */

static const char *gate_cluster_state_name(enum volt_cluster_state state) {
  switch (state) {
    case VOLT_CLUSTER_CONNECTING: return "connecting";
    case VOLT_CLUSTER_CONNECTED: return "connected";
    case VOLT_CLUSTER_AWAY: return "away";
    case VOLT_CLUSTER_REFUSED: return "refused";
    case VOLT_CLUSTER_CLOSED: break;
  }
  return "closed";
}

static uint64_t gate_cluster_away_ns(const struct cluster *c, uint64_t now_ns) {
  uint64_t since_ns = atomic_load_explicit(&c->away_since_ns, memory_order_relaxed); /* shown */
  return since_ns && now_ns > since_ns ? now_ns - since_ns : 0;
}

static void gate_cluster_say(struct cluster *c, const volt_cluster_stats_of *s, uint64_t now_ns) {
  uint64_t away_ns = gate_cluster_away_ns(c, now_ns);
  if (s->state == VOLT_CLUSTER_CONNECTED) {
    log_line(LOG_INFO, NULL,
             "cluster: connected to %s: session 0x%" PRIx64 " of %" PRIu64
             " ms%s; it was away for "
             "%" PRIu64 " ms",
             c->servers, s->session, s->session_ns / MS,
             c->session && c->session != s->session ? ", a new one" : "", away_ns / MS);
    c->session = s->session;
  } else if (s->state != VOLT_CLUSTER_CLOSED) {
    log_line(LOG_WARN, NULL, "cluster: %s: %s", c->servers, gate_cluster_state_name(s->state));
  }
}

static void gate_cluster_check(struct cluster *c) {
  volt_cluster_stats_of s;
  volt_cluster_stats(c->host, &s);
  uint64_t now_ns = volt_cluster_now_ns(c->host);
  if (s.state != c->state || (s.session && s.session != c->session))
    gate_cluster_say(c, &s, now_ns);
  c->state = s.state;
  bool is_away = s.state != VOLT_CLUSTER_CONNECTED;
  uint64_t since_ns = atomic_load_explicit(&c->away_since_ns, memory_order_relaxed); /* our own */
  if (is_away != (since_ns != 0)) {
    atomic_store_explicit(&c->away_since_ns, is_away ? now_ns : 0, memory_order_relaxed);
  }
  leases_follow(&c->leases);
}

struct cluster_follower {
  volt_task task;
  struct cluster *cluster;
  volt_sleep_op sleep;
};

static int gate_cluster_follow_poll(volt_task *t, volt_ctx *ctx) {
  struct cluster_follower *self = volt_container_of(t, struct cluster_follower, task);
  volt_rt *rt = self->cluster->rt;
  VOLT_TASK_BEGIN(self);
  for (;;) {
    gate_cluster_check(self->cluster);
    VOLT_AWAIT(self, volt_sleep_future(&self->sleep, volt_rt_timers(rt),
                                       volt_rt_now_ns(rt) + CLUSTER_FOLLOW_NS));
  }
  VOLT_TASK_END(self);
}

/* ---- life ---- */

static int gate_cluster_begin(struct cluster *c, const struct settings *s) {
  const volt_cluster_config config = {
      .rt = c->rt,
      .servers = s->cluster,
      .root = s->cluster_root,
      .session_ns = s->cluster_session_ns,
      .auth = s->cluster_auth,
      .acl = s->cluster_acl == CLUSTER_ACL_OPEN      ? "open"
             : s->cluster_acl == CLUSTER_ACL_CREATOR ? "creator"
                                                     : NULL,
      .name = s->cluster_host,
      .log = gate_cluster_log,
  };
  int result = volt_cluster_open(&c->host, &config);
  if (result != VOLT_OK) return result;
  atomic_init(&c->away_since_ns, volt_cluster_now_ns(c->host));
  struct cluster_follower *f =
      VOLT_TASK_NEW(c->rt, struct cluster_follower, gate_cluster_follow_poll);
  if (f) f->cluster = c;
  result = volt_group_spawn(&c->follower, c->rt, f ? &f->task : NULL);
  if (result != VOLT_OK && f) volt_task_detach(&f->task);
  return result;
}

char *gate_cluster_open(struct cluster **out, volt_rt *rt, const struct settings *settings) {
  struct cluster *c = (struct cluster *)calloc(1, sizeof *c);
  char *words = NULL;
  *out = c;
  if (!c) return strdup("there is no memory");
  c->engine.calls = &cluster_calls;
  c->rt = rt;
  c->servers = strdup(settings->cluster);
  leases_init(&c->leases, &c->engine, settings->cluster_era);
  volt_group_init_how(&c->follower, VOLT_GROUP_KEEP_GOING);
  int result = c->servers ? gate_cluster_begin(c, settings) : VOLT_ENOMEM;
  if (result == VOLT_OK) return NULL;
  if (asprintf(&words, "cluster %s: %s", settings->cluster, volt_strerror(result)) < 0)
    words = NULL;
  return words ? words : strdup("there is no memory");
}

void gate_cluster_close(struct cluster *c) {
  volt_future closing;
  if (!c) return;
  volt_group_cancel(&c->follower);
  (void)volt_group_wait(&c->follower);
  if (!c->host) return;
  leases_begin_close(&c->leases);
  int result = volt_future_wait_until(volt_cluster_close_future(&closing, c->host),
                                      volt_deadline_ns(CLUSTER_CLOSE_NS));
  c->is_closed = result != VOLT_ETIMEDOUT;
  if (result == VOLT_OK) {
    log_line(LOG_INFO, NULL, "cluster: all leases are given back");
  } else if (c->session) {
    log_line(LOG_WARN, NULL, "cluster: away: others have the leases when the session has ended");
  }
}

void gate_cluster_destroy(struct cluster *c) {
  if (!c) return;
  volt_group_destroy(&c->follower);
  if (c->host && c->is_closed) volt_cluster_destroy(c->host);
  leases_destroy(&c->leases);
  free(c->servers);
  free(c);
}

struct lessor *gate_cluster_lessor(struct cluster *c) {
  return c ? &c->leases.lessor : NULL;
}

/* ---- what is shown, and changed ---- */

void gate_cluster_read(struct cluster *c, struct cluster_view *v) {
  volt_cluster_stats_of s;
  volt_cluster_stats(c->host, &s);
  uint64_t now_ns = volt_cluster_now_ns(c->host);
  *v = (struct cluster_view){
      .state = gate_cluster_state_name(s.state),
      .servers = c->servers,
      .is_connected = s.state == VOLT_CLUSTER_CONNECTED,
      .session = s.session,
      .valid_for_ns = s.valid_until_ns > now_ns ? s.valid_until_ns - now_ns : 0,
      .away_ns = s.state == VOLT_CLUSTER_CONNECTED ? 0 : gate_cluster_away_ns(c, now_ns),
      .writes = s.writes,
      .heartbeats = s.heartbeats,
      .reads = s.reads,
      .events = s.events,
      .reconnects = s.reconnects,
      .expired = s.expired};
}

static const char *gate_cluster_words(int result) {
  switch (result) {
    case VOLT_CLUSTER_ENONODE: return "its node was deleted, and is not there yet";
    case VOLT_CLUSTER_EDATA: return "its node's data is not volt's";
    case VOLT_CLUSTER_EERA: return "the ensemble is older than what was seen before: raise era";
    case VOLT_CLUSTER_EVERSION: return "another change came between";
    case VOLT_CLUSTER_EAUTH: return "the ensemble does not allow it";
    case VOLT_ECLOSED: return "it is closing";
    default: return "the ensemble refused it";
  }
}

enum cluster_change gate_cluster_set_limit(struct cluster *c, struct lease *l, uint32_t limit,
                                           const char **why) {
  volt_cluster_change change;
  volt_cluster_stats_of s;
  volt_cluster_stats(c->host, &s);
  if (s.state != VOLT_CLUSTER_CONNECTED) {
    *why = "the ensemble is away, and nothing was changed";
    return CLUSTER_IS_AWAY;
  }
  memset(&change, 0, sizeof change);
  int result =
      volt_future_wait_until(volt_cluster_lease_set_limit_future(&change, leased_handle(l), limit),
                             volt_deadline_ns(CLUSTER_CHANGE_NS));
  if (result == VOLT_OK) {
    leased_is_set(l, limit);
    return CLUSTER_CHANGED;
  }
  volt_future_cancel(&change.future);
  bool is_unsure = result == VOLT_ETIMEDOUT || result == VOLT_CLUSTER_EAWAY;
  *why =
      is_unsure ? "the ensemble did not answer: it may have been done" : gate_cluster_words(result);
  return is_unsure ? CLUSTER_UNSURE : CLUSTER_FAILED;
}

#else /* without libvolt-cluster: settings do not allow it (config/check.c) */

char *gate_cluster_open(struct cluster **out, volt_rt *rt, const struct settings *settings) {
  (void)rt;
  (void)settings;
  *out = NULL;
  return strdup("this voltgate was built without libvolt-cluster");
}
void gate_cluster_close(struct cluster *c) {
  (void)c;
}
void gate_cluster_destroy(struct cluster *c) {
  (void)c;
}
struct lessor *gate_cluster_lessor(struct cluster *c) {
  (void)c;
  return NULL;
}
void gate_cluster_read(struct cluster *c, struct cluster_view *v) {
  (void)c;
  *v = (struct cluster_view){.state = "closed", .servers = ""};
}
enum cluster_change gate_cluster_set_limit(struct cluster *c, struct lease *l, uint32_t limit,
                                           const char **why) {
  (void)c;
  (void)l;
  (void)limit;
  *why = "this voltgate was built without libvolt-cluster";
  return CLUSTER_FAILED;
}

#endif
