/* cluster_status.h: what is shown of a cluster, in /status, /queue and /metrics. */
#ifndef VOLTGATE_ADMIN_CLUSTER_STATUS_H
#define VOLTGATE_ADMIN_CLUSTER_STATUS_H

#include "admin/json.h"
#include "admin/view.h"

/* "cluster":{...} of the process; nothing if there is none. */
void cluster_status_put_process(struct json *j, struct program *p);

/* "cluster":{...} of a gate; nothing if its limit is not leased. */
void cluster_status_put_gate(struct json *j, const struct gate_view *v);

/* The same, without what only changes with the configuration: for those that wait. */
void cluster_status_put_queue(struct json *j, struct gate *gate);

/* Families of metrics, of the process and of gates; none if there is no cluster. */
void cluster_status_put_metrics(struct output *to, struct program *p, const struct view *view);

/* Why no client can be admitted, or NULL: "connecting", "away", "refused". */
const char *cluster_status_closed(struct program *p, const struct gate_view *v);

#endif
