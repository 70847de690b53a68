/* status.h: how voltgate is, and which clients wait, as JSON. */
#ifndef VOLTGATE_ADMIN_STATUS_H
#define VOLTGATE_ADMIN_STATUS_H

#include "admin/history.h"
#include "admin/json.h"

enum { STATUS_TENANTS = 100, QUEUE_SHOWN = 100, QUEUE_SHOWN_MAX = 10000 };

/* Whose tenants are written. */
struct status_of {
  bool is_all;
  const struct gate *gate; /* else of this one; NULL: of none */
};

/* Write what all gates do. Returns false: no memory. May take a while: not on a worker. */
bool status_write(struct output *to, struct program *p, struct history *history,
                  struct status_of tenants);

/* Write the `shown` oldest clients of those that wait at a gate, or that hold its permits. Else as
 * status_write(). */
bool status_queue_write(struct output *to, struct gate *gate, uint64_t now_ns, size_t shown);
bool status_holders_write(struct output *to, struct gate *gate, uint64_t now_ns, size_t shown);

/* Which words a gate's state is: "up", "breaker", "silent", "draining". */
const char *status_state(const struct program *p, const struct gate_view *v);

#endif
