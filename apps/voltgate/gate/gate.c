/* gate.c: one listening side, one server, one limit, one queue. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* strdup */
#endif
#include "gate/gate.h"

#include <stdlib.h>
#include <string.h>
#include <volt/name.h>

#include "gate/broker.h"

bool gate_init(struct gate *g, struct gate_host *host, volt_rt *rt,
               const struct gate_settings *settings) {
  memset(g, 0, sizeof *g);
  g->host = host;
  g->rt = rt;
  g->name = strdup(settings->name);
  if (!g->name) return false;
  atomic_init(&g->settings, settings);
  volt_sem_init(&g->permits, settings->limit);
  (void)volt_name(&g->permits, g->name); /* as many names as there is room for */
  turns_init(&g->turns, &g->permits);
  atomic_init(&g->queue_bound, settings->queue);
  atomic_init(&g->tickets, 1);
  volt_watch_init(&g->news, 0, NULL, NULL);
  (void)volt_name(&g->news, "news");
  clients_init(&g->clients);
  breaker_init(&g->breaker);
  pthread_mutex_init(&g->certificates_lock, NULL);
  volt_group_init_how(&g->probes, VOLT_GROUP_KEEP_GOING);
  if (settings->protocol == PROTOCOL_PERMIT) {
    g->broker = broker_new(g, settings);
    if (!g->broker) gate_destroy(g);
    return g->broker != NULL;
  }
  if (settings->tenant_by == TENANT_BY_NONE) return true;
  struct tenants *tenants = tenants_new(&g->turns, settings);
  atomic_store_explicit(&g->tenants, tenants, memory_order_release);
  if (!tenants) gate_destroy(g);
  return tenants != NULL;
}

/* Returns false: no memory. */
static bool gate_renew_lease(struct gate *g) {
  const struct gate_settings *s = gate_settings(g);
  const struct lease_target target = {&g->permits, &g->turns.wants};
  if (!g->lessor) return true;
  struct lease *lease = g->lessor->lease(g->lessor, s, NULL, s->limit, &target);
  turns_set_lease(&g->turns, lease);
  /* gate_lease(): with the lease comes what it points to */
  atomic_store_explicit(&g->lease, lease, memory_order_release);
  return lease != NULL;
}

bool gate_lease_from(struct gate *g, struct lessor *lessor) {
  g->lessor = lessor;
  if (!gate_renew_lease(g)) return false;
  struct tenants *tenants = gate_tenants(g);
  return !tenants || tenants_lease_from(tenants, lessor);
}

void gate_end_leases(struct gate *g) {
  struct tenants *tenants = gate_tenants(g);
  if (!g->lessor) return;
  if (tenants) tenants_end_leases(tenants);
  g->lessor->end(gate_lease(g));
}

void gate_destroy(struct gate *g) {
  volt_group_cancel(&g->probes);
  (void)volt_group_wait(&g->probes);
  volt_group_destroy(&g->probes);
  broker_free(g->broker);
  tenants_free(gate_tenants(g));
  breaker_destroy(&g->breaker);
  clients_destroy(&g->clients);
  volt_watch_destroy(&g->news);
  volt_sem_destroy(&g->permits);
  certificates_drop(&g->certificates);
  pthread_mutex_destroy(&g->certificates_lock);
  free(g->name);
}

bool gate_set(struct gate *g, const struct gate_settings *settings) {
  atomic_store_explicit(&g->settings, settings, memory_order_release);
  gate_set_queue(g, settings->queue);
  if (g->broker) {
    bool is_whole = broker_set(g->broker, settings);
    gate_tell(g);
    return is_whole;
  }
  struct tenants *tenants = gate_tenants(g);
  bool is_fine = true;
  if (tenants) {
    tenants_set(tenants, settings);
  } else if (settings->tenant_by != TENANT_BY_NONE) {
    tenants = tenants_new(&g->turns, settings);
    if (tenants && g->lessor) is_fine = tenants_lease_from(tenants, g->lessor);
    atomic_store_explicit(&g->tenants, tenants, memory_order_release);
    is_fine = is_fine && tenants != NULL;
  }
  is_fine = gate_renew_lease(g) && is_fine;
  gate_set_limit(g, settings->limit);
  if (settings->breaker_failures == 0) breaker_succeeded(&g->breaker);
  gate_tell(g);
  return is_fine;
}

void gate_set_limit(struct gate *g, uint32_t limit) {
  if (gate_lease(g)) return;
  volt_sem_set_limit(&g->permits, limit);
  struct tenants *tenants = gate_tenants(g);
  if (tenants) tenants_tell(tenants);
}

void gate_set_queue(struct gate *g, uint32_t bound) {
  atomic_store_explicit(&g->queue_bound, bound, memory_order_relaxed);
}

uint32_t gate_held(const struct gate *g) {
  if (g->broker) return broker_holders(g->broker);
  int64_t held = (int64_t)volt_sem_limit(&g->permits) + volt_sem_excess(&g->permits) -
                 volt_sem_available(&g->permits) -
                 atomic_load_explicit(&g->away, memory_order_relaxed);
  return held > 0 ? (uint32_t)held : 0;
}

static void gate_exchange_context(volt_tls_context **now, volt_tls_context **other) {
  volt_tls_context *before = *now;
  if (!*other) return;
  *now = *other;
  *other = before;
}

void gate_set_certificates(struct gate *g, struct certificates *c) {
  pthread_mutex_lock(&g->certificates_lock);
  gate_exchange_context(&g->certificates.clients, &c->clients);
  gate_exchange_context(&g->certificates.servers, &c->servers);
  pthread_mutex_unlock(&g->certificates_lock);
  certificates_drop(c); /* those before */
}

static volt_tls_context *gate_hold_context(struct gate *g, volt_tls_context *const *which) {
  pthread_mutex_lock(&g->certificates_lock);
  volt_tls_context *context = *which ? volt_tls_context_hold(*which) : NULL;
  pthread_mutex_unlock(&g->certificates_lock);
  return context;
}

volt_tls_context *gate_tls_of_clients(struct gate *g) {
  return gate_hold_context(g, &g->certificates.clients);
}

volt_tls_context *gate_tls_of_servers(struct gate *g) {
  return gate_hold_context(g, &g->certificates.servers);
}

void gate_tell(struct gate *g) {
  static const uint64_t nothing = 0;
  (void)volt_watch_send(&g->news, &nothing);
}

void gate_refused(struct gate *g, struct tenant *tenant, enum gate_reason reason) {
  statistics_refused(&g->statistics, reason);
  if (tenant) atomic_fetch_add_explicit(&tenant->refused, 1, memory_order_relaxed);
}

/* ---- */

void gate_refusal_values(struct gate *g, enum gate_reason reason, struct refusal_values *out) {
  static _Thread_local char why[BREAKER_REASON_MAX];
  const struct gate_settings *s = gate_settings(g);
  *out = (struct refusal_values){
      .limit = volt_sem_limit(&g->permits),
      .held = gate_held(g),
      .waiting = atomic_load_explicit(&g->queued, memory_order_relaxed),
      .queue = atomic_load_explicit(&g->queue_bound, memory_order_relaxed),
      .clients = s->clients,
  };
  if (g->broker) out->limit = out->held = 0; /* there are kinds */
  if (reason == REASON_QUEUE_TIMEOUT) out->time_ns = s->queue_timeout_ns;
  if (reason == REASON_LOGIN_TIMEOUT) out->time_ns = s->login_timeout_ns;
  if (reason == REASON_IDLE) out->time_ns = s->idle_timeout_ns;
  if (reason == REASON_IDLE_IN_TRANSACTION) out->time_ns = s->idle_in_transaction_ns;
  if (reason == REASON_MAX_AGE) out->time_ns = s->max_age_ns;
  if (reason == REASON_SERVER_TIMEOUT) out->time_ns = s->server_timeout_ns;
  if (reason == REASON_BREAKER || reason == REASON_CONNECT) {
    (void)breaker_reason(&g->breaker, why);
    out->why = why[0] ? why : NULL;
    out->retry_ns = s->breaker_retry_ns;
  }
}
