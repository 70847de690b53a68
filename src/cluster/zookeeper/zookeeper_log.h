/* zookeeper_log.h: the lock around the calls of the client, and what it says. */
#ifndef VOLT_CLUSTER_ZOOKEEPER_ZOOKEEPER_LOG_H
#define VOLT_CLUSTER_ZOOKEEPER_ZOOKEEPER_LOG_H

#include <volt/cluster_backend.h>

#include "../../core/os/check.h"

typedef struct zookeeper zookeeper;

void zookeeper_enter_(zookeeper *b);
void zookeeper_leave_(zookeeper *b);

/* For our own lines: what for printf. */
void zookeeper_log_line_(const zookeeper *b, enum volt_cluster_level level, const char *format, ...)
    VOLT_PRINTF_(3, 4);

void zookeeper_heed_(const char *line); /* the client's log_callback_fn */

#endif
