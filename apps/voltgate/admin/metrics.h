/* metrics.h: what a monitoring system reads: Prometheus' text format, version 0.0.4. */
#ifndef VOLTGATE_ADMIN_METRICS_H
#define VOLTGATE_ADMIN_METRICS_H

#include "admin/output.h"
#include "admin/resources.h"

struct program;

#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* Write all there is. Returns false: no memory. May take a while: not on a worker. */
bool metrics_write(struct output *to, struct program *p, const struct resources *resources);

#endif
