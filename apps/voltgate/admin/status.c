/* status.c: how voltgate is, as JSON. */
#include "admin/status.h"

#include <stdlib.h>
#include <unistd.h>

#include "admin/broker_status.h"
#include "admin/cluster_status.h"
#include "admin/numbers.h"
#include "common/program.h"
#include "config/command.h"

static bool status_is_draining(const struct program *p) {
  return atomic_load_explicit(&p->is_draining, memory_order_relaxed); /* shown only */
}

const char *status_state(const struct program *p, const struct gate_view *v) {
  if (v->is_draining || status_is_draining(p)) return "draining";
  if (v->is_broken) return "breaker";
  return v->is_silent ? "silent" : "up";
}

static const char *status_protocol_name(enum protocol protocol) {
  switch (protocol) {
    case PROTOCOL_POSTGRES: return "postgres";
    case PROTOCOL_REDIS: return "redis";
    case PROTOCOL_PERMIT: return "permit";
    case PROTOCOL_TCP: break;
  }
  return "tcp";
}

/* ---- times ---- */

static void status_put_quantile(struct json *j, const char *key, const volt_histogram *values,
                                double share) {
  json_put_seconds(j, key, volt_histogram_at_ns(values, share));
}

static void status_put_times(struct json *j, const char *key, const volt_histogram *values) {
  json_put_object(j, key);
  json_put_number(j, "count", values->count);
  json_put_seconds(j, "sum", values->sum_ns);
  status_put_quantile(j, "p50", values, 0.5);
  status_put_quantile(j, "p90", values, 0.9);
  status_put_quantile(j, "p99", values, 0.99);
  status_put_quantile(j, "p999", values, 0.999);
  json_put_seconds(j, "max", values->longest_ns);
  json_end_object(j);
}

/* ---- tenants: the busiest ---- */

struct tenant_row {
  char name[TENANT_NAME_MAX];
  struct tenant_view now;
  volt_histogram wait, hold;
};

/* Two visits: the first finds how busy each is, the second copies those that are shown. A tenant
 * may be forgotten, and its memory used again, between them, so names are kept and no address. */
struct busyness {
  uint64_t held_or_queued, admitted;
  char name[TENANT_NAME_MAX];
};

struct ranking {
  struct busyness *at;
  size_t count, room;
  struct tenant_row *rows; /* of the second visit */
  size_t row_count, row_room;
  bool has_failed;
};

/* The one that is there from the beginning, for names beyond tenant-max: there may never be any. */
static bool status_tenant_is_unused(const struct tenant *t) {
  /* relaxed: shown only */
  return tenant_admitted(t) == 0 && tenant_queued(t) == 0 &&
         atomic_load_explicit(&t->held, memory_order_relaxed) == 0 &&
         atomic_load_explicit(&t->refused, memory_order_relaxed) == 0;
}

static void status_visit_for_rank(void *arg, struct tenant *tenant) {
  struct ranking *r = arg;
  if (tenant->is_spare && status_tenant_is_unused(tenant)) return;
  struct busyness *at = make_room(r->at, r->count, &r->room, sizeof *at);
  if (at == NULL) {
    r->has_failed = true;
    return;
  }
  r->at = at;
  struct busyness *b = &r->at[r->count++];
  b->held_or_queued =
      (uint64_t)atomic_load_explicit(&tenant->held, memory_order_relaxed) + /* shown only */
      tenant_queued(tenant);
  b->admitted = tenant_admitted(tenant);
  memcpy(b->name, tenant->name, sizeof b->name);
}

static int status_compare_numbers(uint64_t a, uint64_t b) {
  return a < b ? 1 : a > b ? -1 : 0; /* the larger first */
}

static int status_compare_busyness(const void *a, const void *b) {
  const struct busyness *one = a, *other = b;
  int order = status_compare_numbers(one->held_or_queued, other->held_or_queued);
  if (order == 0) order = status_compare_numbers(one->admitted, other->admitted);
  return order != 0 ? order : strcmp(one->name, other->name);
}

static int status_compare_names(const void *a, const void *b) {
  const struct busyness *one = a, *other = b;
  return strcmp(one->name, other->name);
}

static void status_visit_for_row(void *arg, struct tenant *tenant) {
  struct ranking *r = arg;
  struct busyness key;
  memcpy(key.name, tenant->name, sizeof key.name);
  if (r->row_count == r->row_room ||
      bsearch(&key, r->at, r->row_room, sizeof key, status_compare_names) == NULL) {
    return;
  }
  struct tenant_row *row = &r->rows[r->row_count++];
  memcpy(row->name, tenant->name, sizeof row->name);
  top_view_read_tenant(&row->now, tenant);
  volt_shared_histogram_read_(&tenant->wait, &row->wait);
  volt_shared_histogram_read_(&tenant->hold, &row->hold);
}

static int status_compare_rows(const void *a, const void *b) {
  const struct tenant_row *one = a, *other = b;
  int order = status_compare_numbers((uint64_t)one->now.held + one->now.queued,
                                     (uint64_t)other->now.held + other->now.queued);
  if (order == 0) order = status_compare_numbers(one->now.admitted, other->now.admitted);
  return order != 0 ? order : strcmp(one->name, other->name);
}

static void status_put_row(struct json *j, const struct tenant_row *row) {
  json_put_object(j, NULL);
  json_put_string(j, "name", row->name);
  numbers_put(j, &tenant_numbers, "", &row->now);
  if (row->now.is_leased) json_put_number(j, "leased", row->now.leased);
  status_put_times(j, "wait_s", &row->wait);
  status_put_times(j, "hold_s", &row->hold);
  json_end_object(j);
}

/* Returns false: no memory. */
static bool status_put_tenants(struct json *j, struct gate *gate) {
  struct ranking r = {.count = 0};
  size_t more = 0;
  struct tenants *tenants = gate_tenants(gate);
  if (tenants != NULL) tenants_each(tenants, status_visit_for_rank, &r);
  if (r.count > 0) {
    qsort(r.at, r.count, sizeof *r.at, status_compare_busyness);
    r.row_room = r.count < STATUS_TENANTS ? r.count : STATUS_TENANTS;
    more = r.count - r.row_room;
    qsort(r.at, r.row_room, sizeof *r.at, status_compare_names);
    r.rows = calloc(r.row_room, sizeof *r.rows);
    r.has_failed |= r.rows == NULL;
  }
  if (r.rows != NULL) {
    tenants_each(tenants, status_visit_for_row, &r);
    qsort(r.rows, r.row_count, sizeof *r.rows, status_compare_rows);
  }
  json_put_array(j, "tenants");
  for (size_t i = 0; i < r.row_count; i++) status_put_row(j, &r.rows[i]);
  json_end_array(j);
  json_put_number(j, "tenants_more", more);
  free(r.rows);
  free(r.at);
  return !r.has_failed;
}

/* ---- gates ---- */

static void status_put_totals(struct json *j, const struct gate_view *v) {
  json_put_object(j, "totals");
  numbers_put(j, &gate_numbers, "totals", v);
  json_put_object(j, "refused");
  for (int i = 0; i < REASON_KINDS; i++) {
    json_put_number(j, refusal_reason_name((enum gate_reason)i), v->statistics.refused[i]);
  }
  json_end_object(j);
  json_end_object(j);
}

/* Since when it is as it is, if the server is the reason. */
static void status_put_doubt(struct json *j, const struct gate_view *v, uint64_t now_ns) {
  char reason[BREAKER_REASON_MAX] = "";
  uint64_t since_ns = 0;
  if (v->is_broken || v->is_silent) since_ns = breaker_reason(&v->gate->breaker, reason);
  if (v->is_silent) since_ns = v->silent_ns;
  json_put_string(j, "reason", reason);
  json_put_seconds(j, "reason_s", since_ns && since_ns < now_ns ? now_ns - since_ns : 0);
}

static void status_put_queue(struct json *j, const struct gate_view *v, uint64_t now_ns) {
  struct client_seen oldest = {.since_ns = now_ns};
  uint64_t age_ns = 0;
  if (v->queued > 0 && clients_oldest(&v->gate->clients, CLIENT_QUEUED, &oldest, 1) == 1) {
    age_ns = oldest.since_ns < now_ns ? now_ns - oldest.since_ns : 0;
  }
  json_put_object(j, "queue");
  numbers_put(j, &gate_numbers, "queue", v);
  json_put_seconds(j, "oldest_s", age_ns);
  json_end_object(j);
}

/* NAME_per_s: count things in passed_ns, with three digits behind the point. */
static void status_put_rate(struct json *j, const char *name, uint64_t count, uint64_t passed_ns) {
  char key[40];
  uint64_t milliseconds = passed_ns / 1000000;
  uint64_t thousandths = milliseconds > 0 ? count * 1000000 / milliseconds : 0;
  snprintf(key, sizeof key, "%s_per_s", name);
  json_put_seconds(j, key,
                   thousandths * 1000000); /* a number of billionths, as a time in seconds is */
}

static void status_put_last(struct json *j, struct history *history, const struct gate_view *v,
                            uint64_t now_ns) {
  struct gate_view last = {.gate = v->gate};
  uint64_t passed_ns = history_last(history, v->gate, now_ns, &last.statistics);
  json_put_object(j, "last");
  json_put_seconds(j, "seconds", passed_ns / 1000000 * 1000000);
  for (size_t i = 0; i < gate_numbers.count; i++) {
    const struct number *n = &gate_numbers.at[i];
    if (n->history == NULL || n->kind != NUMBER_COUNTER) continue;
    status_put_rate(j, n->history, number_of(n, &last), passed_ns);
  }
  status_put_times(j, "wait_s", &last.statistics.wait);
  status_put_times(j, "hold_s", &last.statistics.hold);
  json_end_object(j);
}

static void status_put_address(void *arg, const char *address) {
  json_put_string(arg, NULL, address);
}

static bool status_put_gate(struct json *j, struct program *p, struct history *history,
                            const struct gate_view *v, bool has_tenants, uint64_t now_ns) {
  json_put_object(j, NULL);
  json_put_string(j, "name", v->gate->name);
  json_put_string(j, "protocol", status_protocol_name(v->settings->protocol));
  json_put_array(j, "listen");
  program_each_address(p, v->gate, status_put_address, j);
  json_end_array(j);
  json_put_string(j, "to", v->settings->to ? v->settings->to : "");
  numbers_put(j, &gate_numbers, "", v);
  cluster_status_put_gate(j, v);
  broker_status_put_gate(j, v);
  status_put_queue(j, v, now_ns);
  json_put_string(j, "state", status_state(p, v));
  status_put_doubt(j, v, now_ns);
  status_put_totals(j, v);
  status_put_times(j, "wait_s", &v->statistics.wait);
  status_put_times(j, "hold_s", &v->statistics.hold);
  status_put_last(j, history, v, now_ns);
  bool is_whole = !has_tenants || status_put_tenants(j, v->gate);
  json_end_object(j);
  return is_whole;
}

bool status_write(struct output *to, struct program *p, struct history *history,
                  struct status_of tenants) {
  const struct settings *settings = program_settings(p);
  struct view view;
  volt_rt_stats_of stats;
  uint64_t now_ns = volt_rt_now_ns(p->rt);
  if (!top_view_read(&view, p)) return false;
  volt_rt_stats(p->rt, &stats);
  struct json j = {.to = to};
  json_put_object(&j, NULL);
  json_put_string(&j, "version", VOLTGATE_VERSION);
  json_put_seconds(&j, "uptime_s", now_ns > p->began_ns ? now_ns - p->began_ns : 0);
  json_put_number(&j, "pid", (uint64_t)getpid());
  json_put_number(&j, "workers", stats.workers);
  json_put_string(&j, "io", volt_rt_io_name(p->rt));
  const char *handover = program_handing_words(p);
  json_put_string(&j, "state",
                  status_is_draining(p) ? "draining"
                  : handover            ? handover
                                        : "running");
  json_put_condition(&j, "can_change", settings != NULL && settings->token != NULL);
  cluster_status_put_process(&j, p);
  json_put_array(&j, "gates");
  bool is_whole = true;
  for (size_t i = 0; i < view.count; i++) {
    const struct gate_view *v = &view.gates[i];
    bool has_tenants = tenants.is_all || v->gate == tenants.gate;
    is_whole &= status_put_gate(&j, p, history, v, has_tenants, now_ns);
  }
  json_end_array(&j);
  json_end_object(&j);
  OUTPUT(to, "\n");
  top_view_free(&view);
  return is_whole && !to->is_cut;
}

/* ---- clients that wait, or hold permits ---- */

static uint64_t status_difference(uint64_t a, uint64_t b) {
  return a > b ? a - b : 0;
}

/* Look at the `shown` oldest in that state. Returns NULL: no memory. Free it. */
static struct client_seen *status_look(struct gate *gate, enum client_state state, size_t shown,
                                       size_t *count) {
  struct client_seen *seen = malloc((shown > 0 ? shown : 1) * sizeof *seen);
  if (seen != NULL) *count = clients_oldest(&gate->clients, state, seen, shown);
  return seen;
}

static void status_put_waiting(struct json *j, const struct client_seen *one, uint64_t now_ns) {
  json_put_number(j, "ticket", one->ticket);
  json_put_string(j, "client", one->address);
  json_put_string(j, "tenant", one->tenant);
  json_put_seconds(j, "age_s", status_difference(now_ns, one->since_ns));
  if (one->deadline_ns == 0) {
    json_put_null(j, "deadline_s");
  } else {
    json_put_seconds(j, "deadline_s", status_difference(one->deadline_ns, now_ns));
  }
}

static const char *status_work_name(enum client_work work) {
  switch (work) {
    case CLIENT_CONNECTING: break;
    case CLIENT_CONNECTED: return "connected";
    case CLIENT_ACTIVE: return "active";
    case CLIENT_RESTS: return "idle in transaction";
  }
  return "connecting";
}

/* A time that has begun, or none. */
static void status_put_since(struct json *j, const char *key, uint64_t since_ns, uint64_t now_ns) {
  if (since_ns == 0) {
    json_put_null(j, key);
  } else {
    json_put_seconds(j, key, status_difference(now_ns, since_ns));
  }
}

static void status_put_holder(struct json *j, const struct client_seen *one, uint64_t now_ns) {
  json_put_string(j, "client", one->address);
  json_put_string(j, "tenant", one->tenant);
  json_put_string(j, "user", one->user);
  json_put_string(j, "database", one->database);
  json_put_seconds(j, "held_s", status_difference(now_ns, one->since_ns));
  json_put_string(j, "state", status_work_name(one->work));
  status_put_since(j, "state_s", one->work == CLIENT_RESTS ? one->rests_ns : one->asked_ns, now_ns);
  status_put_since(j, "query_s", one->asked_ns, now_ns);
  json_put_number(j, "up", one->up);
  json_put_number(j, "down", one->down);
}

static void status_put_all(struct json *j, const struct client_seen *seen, size_t count,
                           uint64_t now_ns,
                           void (*put)(struct json *, const struct client_seen *, uint64_t)) {
  for (size_t i = 0; i < count; i++) {
    json_put_object(j, NULL);
    json_put_number(j, "position", i + 1);
    put(j, &seen[i], now_ns);
    json_end_object(j);
  }
}

bool status_queue_write(struct output *to, struct gate *gate, uint64_t now_ns, size_t shown) {
  size_t count = 0;
  struct client_seen *waiting = status_look(gate, CLIENT_QUEUED, shown, &count);
  if (waiting == NULL) return false;
  struct json j = {.to = to};
  json_put_object(&j, NULL);
  json_put_string(&j, "gate", gate->name);
  json_put_number(&j, "length", atomic_load_explicit(&gate->queued, memory_order_relaxed));
  json_put_number(&j, "bound", atomic_load_explicit(&gate->queue_bound, memory_order_relaxed));
  json_put_seconds(&j, "now_s", now_ns);
  cluster_status_put_queue(&j, gate);
  json_put_array(&j, "waiting");
  status_put_all(&j, waiting, count, now_ns, status_put_waiting);
  json_end_array(&j);
  bool is_whole = broker_status_put_clients(&j, gate, false, shown, now_ns);
  json_end_object(&j);
  OUTPUT(to, "\n");
  free(waiting);
  return is_whole && !to->is_cut;
}

bool status_holders_write(struct output *to, struct gate *gate, uint64_t now_ns, size_t shown) {
  size_t count = 0;
  struct client_seen *holders = status_look(gate, CLIENT_HOLDS, shown, &count);
  if (holders == NULL) return false;
  struct json j = {.to = to};
  json_put_object(&j, NULL);
  json_put_string(&j, "gate", gate->name);
  json_put_number(&j, "held", gate_held(gate));
  json_put_number(&j, "limit", gate_limit(gate));
  json_put_seconds(&j, "now_s", now_ns);
  json_put_array(&j, "holders");
  status_put_all(&j, holders, count, now_ns, status_put_holder);
  json_end_array(&j);
  bool is_whole = broker_status_put_clients(&j, gate, true, shown, now_ns);
  json_end_object(&j);
  OUTPUT(to, "\n");
  free(holders);
  return is_whole && !to->is_cut;
}
