/* probe.c: the breaker of a gate, and the task that looks whether the server is back. */
#include <volt/net.h>
#include <volt/time.h>

#include "gate/gate.h"
#include "process/log.h"

/* Looks whether the server is back, until it is. */
struct probe {
  volt_task task;
  struct gate *gate;
  volt_dial dial;
  volt_timeout timeout;
  volt_sleep sleep;
  volt_fd fd;
  int result;
};

static uint64_t gate_now_ns(const struct gate *g) {
  return g->rt ? volt_rt_now_ns(g->rt) : volt_now_ns();
}

static uint64_t probe_deadline_ns(const struct gate *g) {
  uint64_t timeout_ns = gate_settings(g)->connect_timeout_ns;
  return timeout_ns ? gate_now_ns(g) + timeout_ns : VOLT_NO_DEADLINE;
}

/* Whether the probe goes on. If not, the next failure that opens the breaker starts another. */
static bool probe_goes_on(struct gate *g) {
  if (breaker_is_open(&g->breaker)) return true;
  /* gate:P1 <-> gate:P2: either the breaker is seen open here, or is_probing false there */
  atomic_exchange_explicit(&g->is_probing, false, memory_order_acq_rel);
  return breaker_is_open(&g->breaker) &&
         !atomic_exchange_explicit(&g->is_probing, true, memory_order_acq_rel);
}

static int probe_poll(volt_task *t, volt_ctx *ctx) {
  struct probe *self = volt_container_of(t, struct probe, task);
  struct gate *g = self->gate;
  VOLT_TASK_BEGIN(self);
  while (probe_goes_on(g)) {
    VOLT_AWAIT(self, volt_sleep_until(&self->sleep, volt_rt_timers(g->rt),
                                      gate_now_ns(g) + gate_settings(g)->breaker_retry_ns));
    if (!breaker_is_open(&g->breaker)) continue;
    VOLT_AWAIT_RESULT(self, self->result,
                      volt_timeout_future(&self->timeout,
                                          volt_dial_future(&self->dial, g->rt, &self->fd,
                                                           gate_settings(g)->to, NULL),
                                          volt_rt_timers(g->rt), probe_deadline_ns(g)));
    if (self->result == VOLT_ECANCELED) VOLT_RETURN(self, VOLT_ECANCELED);
    if (self->result == VOLT_OK) {
      volt_fd_close(&self->fd);
      gate_connected(g);
    } else {
      gate_connect_failed(g, volt_dial_error(&self->dial, self->result));
    }
  }
  VOLT_TASK_END(self);
}

static void gate_probe(struct gate *g) {
  if (!g->rt) return;
  /* gate:P2 <-> gate:P1 */
  if (atomic_exchange_explicit(&g->is_probing, true, memory_order_acq_rel)) return;
  struct probe *probe = VOLT_TASK_NEW(g->rt, struct probe, probe_poll);
  if (probe) probe->gate = g;
  int result = volt_group_spawn(&g->probes, g->rt, probe ? &probe->task : NULL);
  if (result == VOLT_OK) return;
  if (probe) volt_task_detach(&probe->task);
  atomic_store_explicit(&g->is_probing, false, memory_order_relaxed);
  breaker_succeeded(&g->breaker); /* no probe would close it; the next client finds out again */
}

void gate_connect_failed(struct gate *g, const char *reason) {
  /* relaxed: two that fail at once may both be the first, and then both are logged */
  bool is_first = atomic_load_explicit(&g->breaker.failures, memory_order_relaxed) == 0;
  statistics_count(&g->statistics, COUNT_CONNECT_FAILURES, 1);
  if (!breaker_failed(&g->breaker, gate_settings(g)->breaker_failures, gate_now_ns(g), reason)) {
    if (is_first)
      log_line(LOG_WARN, g->name, "cannot connect: %s: %s", gate_settings(g)->to, reason);
    return;
  }
  log_line(LOG_ERROR, g->name, "breaker open: %s: %s", gate_settings(g)->to, reason);
  gate_probe(g);
  gate_tell(g);
}

void gate_connected(struct gate *g) {
  if (!breaker_succeeded(&g->breaker)) return;
  log_line(LOG_INFO, g->name, "breaker closed: %s is back", gate_settings(g)->to);
  gate_tell(g);
}
