/* engine_locked.c: the loops over variants/locked. */
#define ENGINE_LOCKED
#define BENCH_ENGINE bench_locked
#include "engine_loops.h"
