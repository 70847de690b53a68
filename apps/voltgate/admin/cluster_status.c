/* cluster_status.c: what is shown of a cluster. */
#include "admin/cluster_status.h"

#include <inttypes.h>
#include <stdio.h>

#include "admin/metrics_line.h"
#include "cluster/cluster.h"
#include "cluster/leased.h"

/* ---- JSON ---- */

void cluster_status_put_process(struct json *j, struct program *p) {
  struct cluster_view v;
  char session[24];
  if (!p->cluster) return;
  gate_cluster_read(p->cluster, &v);
  snprintf(session, sizeof session, "0x%" PRIx64, v.session);
  json_put_object(j, "cluster");
  json_put_string(j, "state", v.state);
  json_put_string(j, "servers", v.servers);
  json_put_string(j, "session", session);
  json_put_seconds(j, "valid_for_s", v.valid_for_ns);
  json_put_seconds(j, "away_s", v.away_ns);
  json_put_number(j, "writes", v.writes);
  json_put_number(j, "heartbeats", v.heartbeats);
  json_put_number(j, "reads", v.reads);
  json_put_number(j, "events", v.events);
  json_put_number(j, "reconnects", v.reconnects);
  json_put_number(j, "expired", v.expired);
  json_end_object(j);
}

static void cluster_status_put_now(struct json *j, const struct lease_view *l) {
  json_put_string(j, "name", l->name);
  json_put_string(j, "mode", leased_mode_name(l->mode));
  json_put_number(j, "limit", l->limit);
  json_put_number(j, "leased", l->leased);
  json_put_number(j, "in_force", l->in_force);
  json_put_number(j, "hosts", l->hosts);
  json_put_number(j, "hosts_before", l->hosts_before);
  json_put_condition(j, "queued", l->is_queued);
}

void cluster_status_put_gate(struct json *j, const struct gate_view *v) {
  const struct lease_view *l = &v->lease;
  if (!v->is_leased) return;
  json_put_object(j, "cluster");
  cluster_status_put_now(j, l);
  json_put_string(j, "wrong", l->wrong ? l->wrong : "");
  json_put_string(j, "away", l->away);
  json_put_number(j, "unproved", l->unproved);
  json_put_number(j, "used", l->used);
  json_put_number(j, "owed", l->owed);
  json_put_number(j, "lost", l->lost);
  json_put_number(j, "era", l->era);
  json_put_number(j, "epoch", l->epoch);
  json_put_seconds(j, "quantum_s", l->quantum_ns);
  json_put_number(j, "leases", l->leases);
  json_put_number(j, "returns", l->returns);
  json_put_number(j, "revoked", l->revoked);
  json_put_number(j, "lost_ever", l->lost_ever);
  json_put_number(j, "given_up", l->given_up);
  json_put_number(j, "marks", l->marks);
  json_put_number(j, "rests", l->rests);
  json_end_object(j);
}

void cluster_status_put_queue(struct json *j, struct gate *gate) {
  struct lease *lease = gate_lease(gate);
  struct lease_view l;
  if (!lease) return;
  gate_lease_read(lease, &l);
  json_put_object(j, "cluster");
  cluster_status_put_now(j, &l);
  json_end_object(j);
}

const char *cluster_status_closed(struct program *p, const struct gate_view *v) {
  struct cluster_view c;
  if (!v->is_leased || !p->cluster || v->lease.mode != LEASE_CLOSED) return NULL;
  gate_cluster_read(p->cluster, &c);
  return c.is_connected ? "connecting" : c.state;
}

/* ---- metrics ---- */

#define LEASE_NUMBER(function, expression)               \
  static uint64_t function(const struct lease_view *l) { \
    return (expression);                                 \
  }
LEASE_NUMBER(limit_of, l->limit)
LEASE_NUMBER(leased_of, l->leased)
LEASE_NUMBER(in_force_of, l->in_force)
LEASE_NUMBER(used_of, l->used)
LEASE_NUMBER(owed_of, l->owed)
LEASE_NUMBER(lost_of, l->lost)
LEASE_NUMBER(hosts_of, l->hosts)
LEASE_NUMBER(hosts_before_of, l->hosts_before)
LEASE_NUMBER(queued_of, l->is_queued)
LEASE_NUMBER(era_of, l->era)
LEASE_NUMBER(epoch_of, l->epoch)
LEASE_NUMBER(leases_of, l->leases)
LEASE_NUMBER(returns_of, l->returns)
LEASE_NUMBER(revoked_of, l->revoked)
LEASE_NUMBER(lost_ever_of, l->lost_ever)
LEASE_NUMBER(unproved_of, l->unproved)
LEASE_NUMBER(given_up_of, l->given_up)
LEASE_NUMBER(marks_of, l->marks)
LEASE_NUMBER(rests_of, l->rests)

static const struct {
  const char *name, *type, *help;
  uint64_t (*of)(const struct lease_view *l);
} lease_numbers[] = {
    {"voltgate_cluster_limit", "gauge", "Permits of all gates of the cluster together.", limit_of},
    {"voltgate_cluster_leased", "gauge", "Of these, those that this gate leases.", leased_of},
    {"voltgate_cluster_unproved", "gauge",
     "Permits that it has at the ensemble besides, and cannot use: not known to be valid.",
     unproved_of},
    {"voltgate_cluster_in_force", "gauge", "Clients that this gate may serve at once now.",
     in_force_of},
    {"voltgate_cluster_used", "gauge", "Permits that clients of this gate hold.", used_of},
    {"voltgate_cluster_owed", "gauge", "Leased permits to be given back when they are released.",
     owed_of},
    {"voltgate_cluster_lost", "gauge", "Permits whose lease was lost, and that clients still hold.",
     lost_of},
    {"voltgate_cluster_hosts", "gauge", "Hosts that have or want permits, as last seen.", hosts_of},
    {"voltgate_cluster_hosts_before", "gauge", "Hosts that queue before this one.",
     hosts_before_of},
    {"voltgate_cluster_queued", "gauge", "1 while this host queues for permits.", queued_of},
    {"voltgate_cluster_era", "gauge", "The era of the fence.", era_of},
    {"voltgate_cluster_epoch", "gauge", "The epoch of the newest lease's fence.", epoch_of},
    {"voltgate_cluster_leases_total", "counter", "Permits that were leased.", leases_of},
    {"voltgate_cluster_returns_total", "counter", "Leased permits that were given back.",
     returns_of},
    {"voltgate_cluster_revoked_total", "counter", "Of these, because other hosts waited.",
     revoked_of},
    {"voltgate_cluster_lost_total", "counter", "Leased permits that were lost.", lost_ever_of},
    {"voltgate_cluster_given_up_total", "counter",
     "Of those given back, because they did not become valid in time.", given_up_of},
    {"voltgate_cluster_marks_total", "counter",
     "Hosts that this one has marked, because they let permits lie free.", marks_of},
    {"voltgate_cluster_rests_total", "counter",
     "How often this one did not queue for a while, because its link is slow.", rests_of},
};

static void cluster_status_put_modes(struct output *to, const struct view *view) {
  static const char name[] = "voltgate_cluster_mode";
  metrics_put_family(to, name, "gauge",
                     "1 for what the limit in force is: leased, or what cluster-away says.");
  for (size_t g = 0; g < view->count; g++) {
    const struct gate_view *v = &view->gates[g];
    const struct series s = {v->gate->name, NULL};
    for (int mode = LEASE_LEASED; v->is_leased && mode <= LEASE_CLOSED; mode++) {
      metrics_put_series(to, name, "", &s);
      OUTPUT(to, ",mode=\"");
      metrics_put_label(to, leased_mode_name((enum lease_mode)mode));
      OUTPUT(to, "\"");
      metrics_put_value(to, v->lease.mode == (enum lease_mode)mode);
    }
  }
}

static void cluster_status_put_gates(struct output *to, const struct view *view) {
  for (size_t i = 0; i < sizeof lease_numbers / sizeof *lease_numbers; i++) {
    const char *name = lease_numbers[i].name;
    metrics_put_family(to, name, lease_numbers[i].type, lease_numbers[i].help);
    for (size_t g = 0; g < view->count; g++) {
      const struct gate_view *v = &view->gates[g];
      const struct series s = {v->gate->name, NULL};
      if (!v->is_leased) continue;
      metrics_put_series(to, name, "", &s);
      metrics_put_value(to, lease_numbers[i].of(&v->lease));
    }
  }
  cluster_status_put_modes(to, view);
}

static void cluster_status_put_process_metrics(struct output *to, struct program *p) {
  struct cluster_view v;
  gate_cluster_read(p->cluster, &v);
  metrics_put_own(to, "voltgate_cluster_connected", "gauge",
                  "1 while a server of the ensemble answers.", v.is_connected);
  metrics_put_own_seconds(to, "voltgate_cluster_valid_seconds", "gauge",
                          "How long the leases are valid if the ensemble says nothing more.",
                          v.valid_for_ns);
  metrics_put_own(to, "voltgate_cluster_writes_total", "counter",
                  "Transactions at the ensemble, heartbeats among them.", v.writes);
  metrics_put_own(to, "voltgate_cluster_heartbeats_total", "counter",
                  "Transactions that only keep leases valid.", v.heartbeats);
  metrics_put_own(to, "voltgate_cluster_reads_total", "counter", "Reads at the ensemble.", v.reads);
  metrics_put_own(to, "voltgate_cluster_events_total", "counter", "Watches that fired.", v.events);
  metrics_put_own(to, "voltgate_cluster_reconnects_total", "counter", "Connections made again.",
                  v.reconnects);
  metrics_put_own(to, "voltgate_cluster_expired_total", "counter",
                  "Sessions that ended without our doing.", v.expired);
}

void cluster_status_put_metrics(struct output *to, struct program *p, const struct view *view) {
  if (!p->cluster) return;
  cluster_status_put_process_metrics(to, p);
  cluster_status_put_gates(to, view);
}
