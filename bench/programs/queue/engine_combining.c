/* engine_combining.c: the loops over variants/combining. */
#define ENGINE_COMBINING
#define BENCH_ENGINE bench_combining
#include "engine_loops.h"
