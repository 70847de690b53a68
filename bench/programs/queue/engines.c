/* engines.c: the list of engines. */
#include "engines.h"

const bench_engine *const bench_engines[BENCH_ENGINES] = {&bench_volt,       &bench_locked,
                                                          &bench_two_tier,   &bench_slot_in_word,
                                                          &bench_allocating, &bench_combining};
