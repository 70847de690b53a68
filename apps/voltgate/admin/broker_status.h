/* broker_status.h: what is shown of a permit gate, in /status, /queue, /holders and /metrics. */
#ifndef VOLTGATE_ADMIN_BROKER_STATUS_H
#define VOLTGATE_ADMIN_BROKER_STATUS_H

#include "admin/json.h"
#include "admin/view.h"

/* "kinds":[...] of a gate, and whether clients can claim; nothing if it is no permit gate. */
void broker_status_put_gate(struct json *j, const struct gate_view *v);

/* "permits":[...] of the `shown` oldest clients that hold, or that wait; nothing if it is no permit gate.
 * Returns false: no memory. */
bool broker_status_put_clients(struct json *j, struct gate *gate, bool are_holders, size_t shown,
                               uint64_t now_ns);

/* Families of metrics; none if no gate is a permit gate. */
void broker_status_put_metrics(struct output *to, const struct view *view);

#endif
