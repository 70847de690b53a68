/* rtcmp.h: what rtcmp_rows.c and rtcmp_bars.c compare. */
#ifndef VOLT_BENCH_RTCMP_H
#define VOLT_BENCH_RTCMP_H

#include "cmp.h"

enum { RTCMP_VOLT = 0, RTCMP_TOKIO = 1 };       /* programs, and arms of the first table */
enum { RTCMP_RUNTIMES = 0, RTCMP_ENGINES = 1 }; /* tables */

#endif
