/* view.c: the gates at one moment. */
#include "admin/view.h"

#include <stdlib.h>

#include "common/program.h"

static uint32_t top_view_read_number(const atomic_uint *number) {
  return atomic_load_explicit(number, memory_order_relaxed); /* shown only: nothing follows of it */
}

static uint32_t top_view_above(uint32_t held, uint32_t limit) {
  return held > limit ? held - limit : 0;
}

void top_view_read_gate(struct gate_view *v, struct gate *gate) {
  struct lease *lease = gate_lease(gate);
  *v = (struct gate_view){.gate = gate,
                          .settings = gate_settings(gate),
                          .limit = gate_limit(gate),
                          .held = gate_held(gate),
                          .excess = volt_sem_excess(&gate->permits),
                          .away = top_view_read_number(&gate->away),
                          .queued = top_view_read_number(&gate->queued),
                          .bound = top_view_read_number(&gate->queue_bound),
                          .clients = top_view_read_number(&gate->clients.count),
                          .servers = top_view_read_number(&gate->servers),
                          .is_broken = breaker_is_open(&gate->breaker),
                          .silent_ns = breaker_silent_ns(&gate->breaker)};
  v->is_silent = v->silent_ns != 0;
  v->is_draining = atomic_load_explicit(&gate->is_draining, memory_order_relaxed);
  if (lease) {
    gate_lease_read(lease, &v->lease);
    v->is_leased = true;
    v->limit = v->lease.limit;
    v->excess = top_view_above(v->held, v->limit); /* what is above the leased part is `owed` */
  }
  statistics_read(&gate->statistics, &v->statistics);
}

void top_view_read_tenant(struct tenant_view *v, struct tenant *tenant) {
  struct lease *lease = tenant_lease(tenant);
  struct lease_view leased = {.leased = 0};
  if (lease) gate_lease_read(lease, &leased);
  *v = (struct tenant_view){
      .limit = tenant_limit(tenant),
      .leased = leased.leased,
      .weight = atomic_load_explicit(&tenant->turns.weight, memory_order_relaxed),
      .held = top_view_read_number(&tenant->held),
      .queued = tenant_queued(tenant),
      .is_leased = lease != NULL,
      .admitted = tenant_admitted(tenant),
      .refused = atomic_load_explicit(&tenant->refused, memory_order_relaxed)}; /* shown only */
}

/* ---- all of them ---- */

/* Gates stay until the program ends, so their addresses are kept, and read outside of the lock. */
struct gathering {
  struct view view;
  size_t room;
  bool has_failed;
};

static void top_view_gather(void *arg, struct gate *gate) {
  struct gathering *g = arg;
  struct gate_view *gates = make_room(g->view.gates, g->view.count, &g->room, sizeof *gates);
  if (gates == NULL) {
    g->has_failed = true;
    return;
  }
  g->view.gates = gates;
  g->view.gates[g->view.count++].gate = gate;
}

bool top_view_read(struct view *view, struct program *p) {
  struct gathering g = {.room = 0};
  program_each_gate(p, top_view_gather, &g);
  *view = g.view;
  if (g.has_failed) {
    top_view_free(view);
    return false;
  }
  for (size_t i = 0; i < view->count; i++) top_view_read_gate(&view->gates[i], view->gates[i].gate);
  return true;
}

void top_view_free(struct view *view) {
  free(view->gates);
  *view = (struct view){.gates = NULL};
}
