/* engine_volt.c: the loops over the library's semaphore. */
#define BENCH_ENGINE bench_volt
#include "engine_loops.h"
