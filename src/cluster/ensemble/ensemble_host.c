/* ensemble_host.c: hosts: a runtime by hand each, and two clocks.
 *
 * The clock of the runtime stands while the machine is suspended, CLOCK_BOOTTIME does not. Both are
 * as fast as per_million says since base_ns. A host runs when its alarm happens: because its runtime
 * has called its waker, a timer of the runtime is due, or it goes on after it was stopped. */
#include <stdlib.h>

#include "../../core/os/check.h"
#include "ensemble_host.h"
#include "simulated_client.h"

enum { DRIFT_MAX = 10000, MILLION = 1000000 };

/* ---- clocks ---- */

/* How far a clock of the host goes in ns of the world. */
static uint64_t ensemble_pace(const ensemble_host *h, uint64_t ns) {
  return (uint64_t)((int64_t)ns + (int64_t)ns / MILLION * h->per_million +
                    (int64_t)ns % MILLION * h->per_million / MILLION);
}

static uint64_t ensemble_rt_ns(const ensemble_host *h) {
  return h->base_rt_ns + (h->is_suspended ? 0 : ensemble_pace(h, h->e->now_ns - h->base_ns));
}

uint64_t ensemble_boot_ns_(const ensemble_host *h) {
  return h->base_boot_ns + ensemble_pace(h, h->e->now_ns - h->base_ns);
}

/* When a clock that was at base is at ns, in the world. */
static uint64_t ensemble_when(const ensemble_host *h, uint64_t base, uint64_t ns) {
  if (ns <= base) return h->base_ns;
  uint64_t by_ns = ns - base, far = UINT64_C(1) << 56;
  if (by_ns > far) return ENSEMBLE_NEVER;
  uint64_t at = by_ns - (uint64_t)((int64_t)by_ns / (MILLION + h->per_million) * h->per_million);
  while (at > 0 && ensemble_pace(h, at - 1) >= by_ns) at -= 1 + (ensemble_pace(h, at) - by_ns) / 2;
  while (ensemble_pace(h, at) < by_ns) at += 1 + (by_ns - ensemble_pace(h, at)) / 2;
  return h->base_ns + at;
}

uint64_t ensemble_boot_at_ns_(const ensemble_host *h, uint64_t boot_ns) {
  return ensemble_when(h, h->base_boot_ns, boot_ns);
}

/* Begin a new stretch of the clocks. */
static void ensemble_rebase(ensemble_host *h) {
  uint64_t rt_ns = ensemble_rt_ns(h), boot_ns = ensemble_boot_ns_(h);
  h->base_ns = h->e->now_ns;
  h->base_rt_ns = rt_ns;
  h->base_boot_ns = boot_ns;
}

/* ---- run ---- */

static bool ensemble_may_run(const ensemble_host *h) {
  return !h->is_stopped && !h->is_suspended;
}

static void ensemble_wake_host(void *ctx) {
  ensemble_host *h = (ensemble_host *)ctx;
  h->is_woken = true;
  if (!h->is_running && ensemble_may_run(h)) ensemble_at_(h->e, &h->alarm, h->e->now_ns);
}

static void ensemble_run_host(volt_ensemble *e, ensemble_event *event) {
  ensemble_host *h = (ensemble_host *)(void *)event;
  uint64_t next_ns;
  e->ran = h->number;
  h->is_running = true;
  h->is_woken = false;
  uint64_t rt_ns = ensemble_rt_ns(h), was_ns = volt_rt_now_ns(h->rt);
  if (rt_ns > was_ns) volt_rt_advance(h->rt, rt_ns - was_ns);
  do {
    next_ns = volt_rt_run(h->rt);
  } while (next_ns == 0);
  h->is_running = false;
  uint64_t at_ns = h->is_woken                   ? e->now_ns
                   : next_ns == VOLT_NO_DEADLINE ? ENSEMBLE_NEVER
                                                 : ensemble_when(h, h->base_rt_ns, next_ns);
  ensemble_at_(e, &h->alarm, at_ns);
}

/* Its clocks, or whether it may run, have changed. */
static void ensemble_host_changed(ensemble_host *h) {
  volt_ensemble *e = h->e;
  ensemble_at_(e, &h->alarm, ensemble_may_run(h) ? e->now_ns : ENSEMBLE_NEVER);
  if (h->client) simulated_clock_changed_(h->client);
}

/* ---- life ---- */

ensemble_host *ensemble_host_at_(const volt_ensemble *e, uint32_t host, const char *call) {
  VOLT_CHECK(host < e->hosts && e->host[host], call, "%p: there is no host %u", (const void *)e,
             host);
  return e->host[host];
}

ensemble_host *ensemble_host_of_(const volt_ensemble *e, const volt_rt *rt) {
  for (uint32_t i = 0; i < e->hosts; i++) {
    if (e->host[i] && e->host[i]->rt == rt) return e->host[i];
  }
  return NULL;
}

static uint32_t ensemble_free_host(volt_ensemble *e) {
  for (uint32_t i = 0; i < e->hosts; i++) {
    if (!e->host[i]) return i;
  }
  e->host = (ensemble_host **)ensemble_resize_(e->host, e->hosts + 1, sizeof *e->host);
  e->host[e->hosts] = NULL;
  return e->hosts++;
}

uint32_t volt_ensemble_host_add(volt_ensemble *e) {
  ensemble_host *h = (ensemble_host *)ensemble_alloc_(1, sizeof *h);
  h->e = e;
  h->number = ensemble_free_host(e);
  h->alarm.happen = ensemble_run_host;
  h->base_ns = e->now_ns;
  h->base_boot_ns = UINT64_C(3600000000000) + ensemble_random_(e, UINT64_C(1000000000000));
  volt_rt_config config = {.flags = VOLT_RT_BY_HAND | VOLT_RT_VIRTUAL_CLOCK,
                           .waker = {.wake = ensemble_wake_host, .ctx = h},
                           .seed = 1 + ensemble_random_(e, UINT64_MAX - 1)};
  int result = volt_rt_create(&h->rt, &config);
  VOLT_CHECK(result == VOLT_OK, "volt_ensemble_host_add", "%p: no runtime: %d", (void *)e, result);
  e->host[h->number] = h;
  return h->number;
}

static void ensemble_host_end(ensemble_host *h, const char *call) {
  VOLT_CHECK(!h->client, call, "%p: host %u has a volt_cluster", (void *)h->e, h->number);
  h->is_running = true; /* wakes are not wanted any more */
  volt_rt_destroy(h->rt);
  ensemble_never_(h->e, &h->alarm);
  h->e->host[h->number] = NULL;
  free(h);
}

void volt_ensemble_host_remove(volt_ensemble *e, uint32_t host) {
  ensemble_host_end(ensemble_host_at_(e, host, "volt_ensemble_host_remove"),
                    "volt_ensemble_host_remove");
}

void ensemble_hosts_end_(volt_ensemble *e) {
  for (uint32_t i = 0; i < e->hosts; i++) {
    if (e->host[i]) ensemble_host_end(e->host[i], "volt_ensemble_destroy");
  }
  free(e->host);
  e->host = NULL;
  e->hosts = 0;
}

volt_rt *volt_ensemble_host_rt(volt_ensemble *e, uint32_t host) {
  return ensemble_host_at_(e, host, "volt_ensemble_host_rt")->rt;
}

uint64_t volt_ensemble_host_now_ns(const volt_ensemble *e, uint32_t host) {
  return ensemble_boot_ns_(ensemble_host_at_(e, host, "volt_ensemble_host_now_ns"));
}

uint32_t volt_ensemble_server_of(const volt_ensemble *e, uint32_t host) {
  const ensemble_host *h = ensemble_host_at_(e, host, "volt_ensemble_server_of");
  return h->client ? simulated_server_(h->client) : VOLT_ENSEMBLE_NONE;
}

/* ---- faults ---- */

void volt_ensemble_host_stop(volt_ensemble *e, uint32_t host) {
  ensemble_host *h = ensemble_host_at_(e, host, "volt_ensemble_host_stop");
  ENSEMBLE_TRACE(e, "host %u is stopped", host);
  h->is_stopped = true;
  ensemble_host_changed(h);
}

void volt_ensemble_host_continue(volt_ensemble *e, uint32_t host) {
  ensemble_host *h = ensemble_host_at_(e, host, "volt_ensemble_host_continue");
  ENSEMBLE_TRACE(e, "host %u goes on", host);
  h->is_stopped = false;
  ensemble_host_changed(h);
}

void volt_ensemble_host_suspend(volt_ensemble *e, uint32_t host) {
  ensemble_host *h = ensemble_host_at_(e, host, "volt_ensemble_host_suspend");
  ENSEMBLE_TRACE(e, "host %u is suspended", host);
  ensemble_rebase(h);
  h->is_suspended = true;
  ensemble_host_changed(h);
}

void volt_ensemble_host_resume(volt_ensemble *e, uint32_t host) {
  ensemble_host *h = ensemble_host_at_(e, host, "volt_ensemble_host_resume");
  ENSEMBLE_TRACE(e, "host %u is resumed", host);
  ensemble_rebase(h);
  h->is_suspended = false;
  ensemble_host_changed(h);
}

void volt_ensemble_host_drift(volt_ensemble *e, uint32_t host, int32_t per_million) {
  ensemble_host *h = ensemble_host_at_(e, host, "volt_ensemble_host_drift");
  VOLT_CHECK(per_million >= -DRIFT_MAX && per_million <= DRIFT_MAX, "volt_ensemble_host_drift",
             "%p: %d per million", (void *)e, per_million);
  ENSEMBLE_TRACE(e, "host %u drifts by %d per million", host, per_million);
  ensemble_rebase(h);
  h->per_million = per_million;
  ensemble_host_changed(h);
}

void volt_ensemble_host_cut(volt_ensemble *e, uint32_t host) {
  ENSEMBLE_TRACE(e, "host %u is cut off", host);
  ensemble_host_at_(e, host, "volt_ensemble_host_cut")->is_cut = true;
}

void volt_ensemble_host_heal(volt_ensemble *e, uint32_t host) {
  ENSEMBLE_TRACE(e, "host %u is not cut off any more", host);
  ensemble_host_at_(e, host, "volt_ensemble_host_heal")->is_cut = false;
}

void volt_ensemble_host_slow(volt_ensemble *e, uint32_t host, uint64_t up_ns, uint64_t down_ns,
                             uint64_t more_ns) {
  ensemble_host *h = ensemble_host_at_(e, host, "volt_ensemble_host_slow");
  ENSEMBLE_TRACE(e, "host %u has a link that is slower by %llu us and %llu us", host,
                 (unsigned long long)(up_ns / 1000), (unsigned long long)(down_ns / 1000));
  h->up_ns = up_ns;
  h->down_ns = down_ns;
  h->more_ns = more_ns;
}

void volt_ensemble_host_disconnect(volt_ensemble *e, uint32_t host) {
  ensemble_host *h = ensemble_host_at_(e, host, "volt_ensemble_host_disconnect");
  ENSEMBLE_TRACE(e, "host %u is disconnected", host);
  if (h->client) simulated_disconnect_(h->client);
}

void volt_ensemble_host_lose_request(volt_ensemble *e, uint32_t host) {
  ENSEMBLE_TRACE(e, "host %u will lose a write", host);
  ensemble_host_at_(e, host, "volt_ensemble_host_lose_request")->loses_request = true;
}

void volt_ensemble_host_lose_answer(volt_ensemble *e, uint32_t host) {
  ENSEMBLE_TRACE(e, "host %u will lose the answer of a write", host);
  ensemble_host_at_(e, host, "volt_ensemble_host_lose_answer")->loses_answer = true;
}

void volt_ensemble_host_kill(volt_ensemble *e, uint32_t host) {
  ensemble_host *h = ensemble_host_at_(e, host, "volt_ensemble_host_kill");
  ENSEMBLE_TRACE(e, "host %u is killed", host);
  h->is_killed = true;
  ensemble_rebase(h);
  h->is_stopped = h->is_suspended = false;
  ensemble_host_changed(h);
  if (h->client) simulated_kill_(h->client);
}
