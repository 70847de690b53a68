/* change.h: futures that the driver completes: closed, the limit is changed. */
#ifndef VOLT_CLUSTER_HOST_CHANGE_H
#define VOLT_CLUSTER_HOST_CHANGE_H

#include <volt/cluster_backend.h>
#include <volt/detail/short_lock.h>

/* Waiters of futures that the driver completes; under the lock. */
typedef struct engine_waiters {
  volt_short_lock *lock;
  volt_waiter *first;
} engine_waiters;

/* Complete the futures of the host's end, and those of limits. */
void change_ended_(volt_cluster *c, int result);
/* The limit that is asked for. Those that ask are answered by change_done_(), no others. Returns
 * false if there is none. */
bool change_begin_(volt_cluster_lease *l, uint32_t *limit);
void change_done_(volt_cluster_lease *l, int result);
/* Answer all that ask. */
void change_refuse_(volt_cluster_lease *l, int result);

#endif
