/* broker_status.c: what is shown of a permit gate. */
#include "admin/broker_status.h"

#include <stdlib.h>

#include "admin/metrics_line.h"
#include "gate/broker.h"

/* ---- the gate ---- */

void broker_status_put_gate(struct json *j, const struct gate_view *v) {
  struct broker_view b;
  if (!v->gate->broker) return;
  broker_read_view(v->gate->broker, &b);
  json_put_condition(j, "claims", b.is_claiming);
  json_put_array(j, "kinds");
  for (uint32_t i = 0; i < b.kinds; i++) {
    json_put_object(j, NULL);
    json_put_string(j, "name", b.of[i].name);
    json_put_number(j, "limit", b.of[i].limit);
    json_put_number(j, "held", b.of[i].held);
    json_put_number(j, "free", b.of[i].free);
    json_put_number(j, "excess", b.of[i].excess);
    json_put_number(j, "waiters", b.of[i].waiters);
    json_end_object(j);
  }
  json_end_array(j);
}

/* ---- its clients ---- */

static void broker_status_put_lacks(struct json *j, const struct broker *b, uint32_t lacks) {
  json_put_array(j, "lacks");
  for (uint32_t i = 0; i < b->kinds; i++) {
    if (lacks & (1u << i)) json_put_string(j, NULL, b->names[i]);
  }
  json_end_array(j);
}

static void broker_status_put_client(struct json *j, const struct broker *b,
                                     const struct broker_seen *one, bool is_holder,
                                     uint64_t now_ns) {
  json_put_object(j, NULL);
  json_put_number(j, "id", one->id);
  if (!is_holder) json_put_number(j, "place", one->place);
  if (one->has_peer) {
    json_put_number(j, "pid", one->pid);
    json_put_number(j, "uid", one->uid);
  }
  json_put_seconds(j, "since_s", now_ns > one->since_ns ? now_ns - one->since_ns : 0);
  json_put_object(j, "amounts");
  for (uint64_t i = 0; i < one->amounts.count; i++) {
    json_put_number(j, one->amounts.of[i].kind, one->amounts.of[i].amount);
  }
  json_end_object(j);
  if (!is_holder) broker_status_put_lacks(j, b, one->lacks);
  json_put_string(j, "tenant", one->tenant);
  json_put_string(j, "label", one->label);
  json_put_string(j, "command", one->command);
  json_end_object(j);
}

bool broker_status_put_clients(struct json *j, struct gate *gate, bool are_holders, size_t shown,
                               uint64_t now_ns) {
  size_t all;
  if (!gate->broker) return true;
  struct broker_seen *seen = (struct broker_seen *)malloc((shown > 0 ? shown : 1) * sizeof *seen);
  if (!seen) return false;
  struct broker_cursor at = {.order = 0};
  size_t count = broker_look(gate->broker, are_holders, &at, seen, shown, &all);
  json_put_array(j, "permits");
  for (size_t i = 0; i < count; i++) {
    broker_status_put_client(j, gate->broker, &seen[i], are_holders, now_ns);
  }
  json_end_array(j);
  free(seen);
  return true;
}

/* ---- metrics ---- */

static uint64_t broker_status_limit(const struct broker_kind_view *k) {
  return k->limit;
}
static uint64_t broker_status_held(const struct broker_kind_view *k) {
  return k->held;
}
static uint64_t broker_status_excess(const struct broker_kind_view *k) {
  return k->excess;
}
static uint64_t broker_status_waiters(const struct broker_kind_view *k) {
  return k->waiters;
}

static const struct {
  const char *name, *help;
  uint64_t (*of)(const struct broker_kind_view *k);
} broker_numbers[] = {
    {"voltgate_kind_limit", "How much there is of a kind.", broker_status_limit},
    {"voltgate_kind_held", "How much of a kind is held.", broker_status_held},
    {"voltgate_kind_excess", "How much of a kind is held above its limit.", broker_status_excess},
    {"voltgate_kind_waiters", "Of the 64 clients that have waited the longest: those that lack it.",
     broker_status_waiters},
};

void broker_status_put_metrics(struct output *to, const struct view *view) {
  bool has_any = false;
  for (size_t g = 0; g < view->count; g++) has_any |= view->gates[g].gate->broker != NULL;
  for (size_t n = 0; has_any && n < sizeof broker_numbers / sizeof *broker_numbers; n++) {
    metrics_put_family(to, broker_numbers[n].name, "gauge", broker_numbers[n].help);
    for (size_t g = 0; g < view->count; g++) {
      struct broker_view b = {.kinds = 0};
      const struct series s = {view->gates[g].gate->name, NULL};
      if (view->gates[g].gate->broker) broker_read_view(view->gates[g].gate->broker, &b);
      for (uint32_t i = 0; i < b.kinds; i++) {
        metrics_put_series(to, broker_numbers[n].name, "", &s);
        OUTPUT(to, ",kind=\"");
        metrics_put_label(to, b.of[i].name);
        OUTPUT(to, "\"");
        metrics_put_value(to, broker_numbers[n].of(&b.of[i]));
      }
    }
  }
}
