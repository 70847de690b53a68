/* chaos.h: for the harness of a build with VOLT_CHAOS. */
#ifndef VOLT_TEST_CHAOS_H
#define VOLT_TEST_CHAOS_H

#include <volt/base.h>
#include <volt/detail/atomic.h>

VOLT_BEGIN_DECLS

/* Let what follows depend on the seed, and say how much chaos there is. Before other threads
 * begin. */
VOLT_API void volt_chaos_begin(uint64_t seed);

VOLT_END_DECLS
#endif
