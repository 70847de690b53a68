/* engine_allocating.c: the loops over variants/allocating. */
#define ENGINE_ALLOCATING
#define BENCH_ENGINE bench_allocating
#include "engine_loops.h"
