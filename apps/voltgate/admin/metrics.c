/* metrics.c: Prometheus' text format.
 *
 * A family is written for all gates before the next one begins. The edges of the histograms are
 * powers of two of nanoseconds, because there the counts are exact (volt/counts.h). A histogram's
 * count is the sum of the buckets that were read, so its last bucket is equal to it, always. */
#include "admin/metrics.h"

#include <stdlib.h>
#include <string.h>

#include "admin/broker_status.h"
#include "admin/cluster_status.h"
#include "admin/metrics_line.h"
#include "admin/numbers.h"
#include "admin/sight.h"
#include "admin/view.h"
#include "common/program.h"
#include "config/command.h"

enum {
  EDGE_FIRST = 14, /* 2^14 ns: 16 us */
  EDGE_LAST = 36,  /* 69 s */
  EDGE_STEP = 1,
  TENANT_EDGE_STEP = 2,
  TENANT_EDGES = (EDGE_LAST - EDGE_FIRST) / TENANT_EDGE_STEP + 1
};

/* ---- lines ---- */

static void metrics_put_bucket(struct output *to, const char *name, const struct series *s,
                               uint64_t edge_ns, uint64_t count) {
  metrics_put_series(to, name, "_bucket", s);
  OUTPUT(to, ",le=\"");
  if (edge_ns == UINT64_MAX) {
    OUTPUT(to, "+Inf");
  } else {
    output_seconds(to, edge_ns);
  }
  OUTPUT(to, "\"");
  metrics_put_value(to, count);
}

static void metrics_put_sums(struct output *to, const char *name, const struct series *s,
                             uint64_t sum_ns, uint64_t count) {
  metrics_put_bucket(to, name, s, UINT64_MAX, count);
  metrics_put_series(to, name, "_sum", s);
  OUTPUT(to, "} ");
  output_seconds(to, sum_ns);
  OUTPUT(to, "\n");
  metrics_put_series(to, name, "_count", s);
  metrics_put_value(to, count);
}

static void metrics_put_histogram(struct output *to, const char *name, const struct series *s,
                                  const volt_histogram *values) {
  for (int edge = EDGE_FIRST; edge <= EDGE_LAST; edge += EDGE_STEP) {
    uint64_t edge_ns = UINT64_C(1) << edge;
    metrics_put_bucket(to, name, s, edge_ns, volt_histogram_below(values, edge_ns));
  }
  metrics_put_sums(to, name, s, values->sum_ns, values->count);
}

/* ---- numbers of a gate ---- */

static void metrics_put_gate_numbers(struct output *to, const struct view *view) {
  const char *before = "";
  for (size_t i = 0; i < gate_numbers.count; i++) {
    const struct number *n = &gate_numbers.at[i];
    if (n->metric == NULL) continue;
    if (strcmp(n->metric, before) != 0) {
      metrics_put_family(to, n->metric, number_type(n), n->help);
    }
    before = n->metric;
    for (size_t g = 0; g < view->count; g++) {
      struct series s = {view->gates[g].gate->name, NULL};
      metrics_put_series(to, n->metric, "", &s);
      if (n->label != NULL) OUTPUT(to, ",");
      if (n->label != NULL) output_string(to, n->label);
      metrics_put_value(to, number_of(n, &view->gates[g]));
    }
  }
}

static void metrics_put_refused(struct output *to, const struct view *view) {
  static const char name[] = "voltgate_refused_total";
  metrics_put_family(to, name, "counter", "Clients that were refused or ended, by reason.");
  for (size_t g = 0; g < view->count; g++) {
    struct series s = {view->gates[g].gate->name, NULL};
    for (int reason = 0; reason < REASON_KINDS; reason++) {
      metrics_put_series(to, name, "", &s);
      OUTPUT(to, ",reason=\"");
      metrics_put_label(to, refusal_reason_name((enum gate_reason)reason));
      OUTPUT(to, "\"");
      metrics_put_value(to, view->gates[g].statistics.refused[reason]);
    }
  }
}

static void metrics_put_gate_histograms(struct output *to, const struct view *view) {
  metrics_put_family(to, "voltgate_wait_seconds", "histogram", "From queueing to the permit.");
  for (size_t g = 0; g < view->count; g++) {
    struct series s = {view->gates[g].gate->name, NULL};
    metrics_put_histogram(to, "voltgate_wait_seconds", &s, &view->gates[g].statistics.wait);
  }
  metrics_put_family(to, "voltgate_hold_seconds", "histogram", "From the permit to its return.");
  for (size_t g = 0; g < view->count; g++) {
    struct series s = {view->gates[g].gate->name, NULL};
    metrics_put_histogram(to, "voltgate_hold_seconds", &s, &view->gates[g].statistics.hold);
  }
}

/* ---- tenants ---- */

struct times {
  uint64_t at_most[TENANT_EDGES];
  uint64_t count, sum_ns;
};

struct tenant_line {
  const char *gate;
  char name[TENANT_NAME_MAX];
  struct tenant_view now;
  struct times wait, hold;
};

struct tenant_list {
  struct tenant_line *at;
  size_t count, room;
  const char *gate; /* whose tenants are visited */
  bool has_failed;
};

static void metrics_read_times(struct times *times, const volt_shared_histogram_ *h) {
  volt_histogram values = {.count = 0};
  volt_shared_histogram_read_(h, &values);
  for (int i = 0; i < TENANT_EDGES; i++) {
    uint64_t edge_ns = UINT64_C(1) << (EDGE_FIRST + i * TENANT_EDGE_STEP);
    times->at_most[i] = volt_histogram_below(&values, edge_ns);
  }
  times->count = values.count;
  times->sum_ns = values.sum_ns;
}

static void metrics_visit_tenant(void *arg, struct tenant *tenant) {
  struct tenant_list *list = arg;
  struct tenant_line *at = make_room(list->at, list->count, &list->room, sizeof *at);
  if (at == NULL) {
    list->has_failed = true;
    return;
  }
  list->at = at;
  struct tenant_line *v = &list->at[list->count++];
  v->gate = list->gate;
  top_view_read_tenant(&v->now, tenant);
  memcpy(v->name, tenant->name, sizeof v->name);
  metrics_read_times(&v->wait, &tenant->wait);
  metrics_read_times(&v->hold, &tenant->hold);
}

static void metrics_put_times(struct output *to, const char *name, const struct series *s,
                              const struct times *times) {
  for (int i = 0; i < TENANT_EDGES; i++) {
    metrics_put_bucket(to, name, s, UINT64_C(1) << (EDGE_FIRST + i * TENANT_EDGE_STEP),
                       times->at_most[i]);
  }
  metrics_put_sums(to, name, s, times->sum_ns, times->count);
}

static void metrics_put_tenants(struct output *to, const struct tenant_list *list) {
  static const char wait[] = "voltgate_tenant_wait_seconds",
                    hold[] = "voltgate_tenant_hold_seconds";
  for (size_t i = 0; i < tenant_numbers.count; i++) {
    const struct number *n = &tenant_numbers.at[i];
    if (n->metric == NULL) continue;
    metrics_put_family(to, n->metric, number_type(n), n->help);
    for (size_t t = 0; t < list->count; t++) {
      struct series s = {list->at[t].gate, list->at[t].name};
      metrics_put_series(to, n->metric, "", &s);
      metrics_put_value(to, number_of(n, &list->at[t].now));
    }
  }
  metrics_put_family(to, wait, "histogram", "From queueing to the permit, by tenant.");
  for (size_t t = 0; t < list->count; t++) {
    struct series s = {list->at[t].gate, list->at[t].name};
    metrics_put_times(to, wait, &s, &list->at[t].wait);
  }
  metrics_put_family(to, hold, "histogram", "From the permit to its return, by tenant.");
  for (size_t t = 0; t < list->count; t++) {
    struct series s = {list->at[t].gate, list->at[t].name};
    metrics_put_times(to, hold, &s, &list->at[t].hold);
  }
}

/* Returns false: no memory. */
static bool metrics_write_tenants(struct output *to, const struct view *view) {
  struct tenant_list list = {.count = 0};
  for (size_t g = 0; g < view->count; g++) {
    list.gate = view->gates[g].gate->name;
    struct tenants *tenants = gate_tenants(view->gates[g].gate);
    if (tenants != NULL) tenants_each(tenants, metrics_visit_tenant, &list);
  }
  if (list.count > 0) metrics_put_tenants(to, &list);
  free(list.at);
  return !list.has_failed;
}

/* ---- the process ---- */

static void metrics_put_process(struct output *to, const struct resources *resources) {
  struct resources_values v;
  resources_read(resources, &v);
  metrics_put_own(to, "process_open_fds", "gauge", "Descriptors that are open.", v.open_fds);
  metrics_put_own(to, "process_max_fds", "gauge", "Descriptors that may be open.", v.max_fds);
  metrics_put_own(to, "process_resident_memory_bytes", "gauge", "Memory that is resident.",
                  v.resident_bytes);
  metrics_put_own_seconds(to, "process_cpu_seconds_total", "counter",
                          "Time that CPUs have spent on the process.", v.cpu_ns);
  if (resources->start_ms == 0) return;
  metrics_put_own_seconds(to, "process_start_time_seconds", "gauge",
                          "When the process began, in seconds since 1970.",
                          resources->start_ms * 1000000);
}

/* ---- all of it ---- */

bool metrics_write(struct output *to, struct program *p, const struct resources *resources) {
  struct view view;
  if (!top_view_read(&view, p)) return false;
  metrics_put_own(to, "voltgate_up", "gauge", "1: voltgate runs.", 1);
  metrics_put_family(to, "voltgate_build_info", "gauge", "Always 1; the version is in a label.");
  OUTPUT(to, "voltgate_build_info{version=\"" VOLTGATE_VERSION "\"} 1\n");
  metrics_put_gate_numbers(to, &view);
  metrics_put_refused(to, &view);
  metrics_put_gate_histograms(to, &view);
  cluster_status_put_metrics(to, p, &view);
  broker_status_put_metrics(to, &view);
  bool is_whole = metrics_write_tenants(to, &view);
  admin_sight_put_metrics(to, p);
  metrics_put_process(to, resources);
  top_view_free(&view);
  return is_whole && !to->is_cut;
}
