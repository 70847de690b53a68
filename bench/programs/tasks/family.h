/* family.h: the workloads on what is neither a lock nor a channel: one primitive each. */
#ifndef VOLT_BENCH_FAMILY_H
#define VOLT_BENCH_FAMILY_H

#include "tasks.h"

/* family_alone.c: nobody waits; by a task, and by a thread. family_waits.c: one task waits.
 * family_rounds.c: several do. */
extern const rt_case family_alone_cases[], family_waits_cases[], family_rounds_cases[];

/* What a crew works on begins with this. */
typedef struct family_counted {
  uint64_t done; /* the sums of all members, in both runs */
} family_counted;

/* For rt_crew.look: adds up. */
static inline void family_count(void *object, const rt_member *m) {
  ((family_counted *)object)->done += m->sum;
}

#endif
