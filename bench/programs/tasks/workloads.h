/* workloads.h: which workloads there are, with what numbers, on which engines. */
#ifndef VOLT_BENCH_WORKLOADS_H
#define VOLT_BENCH_WORKLOADS_H

#include <stdio.h>

#include "tasks.h"

typedef struct rt_range {
  uint32_t least, most, otherwise; /* if it is not said */
} rt_range;

typedef struct rt_workload {
  const char *name;
  rt_range tasks, amount;
  uint64_t operations; /* of all tasks together, if it is not said */
  const char *amount_is;
} rt_workload;

/* NULL: there is no such workload. */
const rt_workload *rt_workload_named(const char *name);

/* The first with this name; engine NULL: whichever is first. NULL: there is none. */
const rt_case *rt_case_named(const char *workload, const char *engine);

/* Fill in what was not said (0; of amount UINT32_MAX) and look at what was. Returns whether it can
 * be run; if not, says why. */
bool rt_options_complete(const rt_workload *w, rt_options *o);

/* A line for each workload. */
void rt_workloads_print(FILE *out);

#endif
