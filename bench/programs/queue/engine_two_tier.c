/* engine_two_tier.c: the loops over variants/two_tier. */
#define ENGINE_TWO_TIER
#define BENCH_ENGINE bench_two_tier
#include "engine_loops.h"
