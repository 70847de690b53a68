/* engine_slot_in_word.c: the loops over variants/slot_in_word. */
#define ENGINE_SLOT_IN_WORD
#define BENCH_ENGINE bench_slot_in_word
#include "engine_loops.h"
