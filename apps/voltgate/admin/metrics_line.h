/* metrics_line.h: lines of Prometheus' text format. */
#ifndef VOLTGATE_ADMIN_METRICS_LINE_H
#define VOLTGATE_ADMIN_METRICS_LINE_H

#include "admin/output.h"

/* Which series: gate, and tenant unless it is NULL. */
struct series {
  const char *gate, *tenant;
};

/* The head of a family. */
void metrics_put_family(struct output *to, const char *name, const char *type, const char *help);

/* A label's value: UTF-8, with a backslash before quotes and backslashes. */
void metrics_put_label(struct output *to, const char *value);

/* name{gate="..." without the end of the labels. */
void metrics_put_series(struct output *to, const char *name, const char *suffix,
                        const struct series *s);

/* The end of the labels, and the value. */
void metrics_put_value(struct output *to, uint64_t value);

/* A family with one series that has no labels. UINT64_MAX: it is not known, and left out. */
void metrics_put_own(struct output *to, const char *name, const char *type, const char *help,
                     uint64_t value);
void metrics_put_own_seconds(struct output *to, const char *name, const char *type,
                             const char *help, uint64_t ns);

#endif
