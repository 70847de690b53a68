/* chancmp.h: what chancmp_rows.c and chancmp_bars.c compare. */
#ifndef VOLT_BENCH_CHANCMP_H
#define VOLT_BENCH_CHANCMP_H

#include "cmp.h"

/* programs */
enum { CHANCMP_VOLT, CHANCMP_RUST, CHANCMP_GO, CHANCMP_BOOST, CHANCMP_CK };

/* tables */
enum { CHANCMP_ALONE, CHANCMP_TASKS, CHANCMP_THREADS, CHANCMP_VARIANTS, CHANCMP_FAMILY };

#endif
