/* cluster_name.h: what a gate's semaphore is called at the ensemble. */
#ifndef VOLTGATE_CONFIG_CLUSTER_NAME_H
#define VOLTGATE_CONFIG_CLUSTER_NAME_H

#include <stdbool.h>

struct gate_settings;

enum { CLUSTER_NAME_MAX = 100 };

/* Whether it can be a name: 1 to 100 of A-Z a-z 0-9 . _ -, and no dot first. */
bool cluster_name_is_one(const char *name);

/* The name for a gate, or, tenant not being NULL, for a tenant of it: GATE.TENANT. What a name cannot
 * have, a dot and an underscore of a tenant become _hh. One that is too long ends with a hash. Two
 * tenants of a gate never have the same name, but by that hash. Returns to. */
const char *cluster_name(char to[CLUSTER_NAME_MAX + 1], const struct gate_settings *g,
                         const char *tenant);

#endif
