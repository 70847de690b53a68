/* rtcmp_rows.c: bench-rt's workloads beside the same on Tokio, and on the engines of variants/.
 * Each run takes some 60 to 150 ms. */
#include "rtcmp.h"

static const cmp_arm runtimes[] = {{"volt", RTCMP_VOLT, "native"}, {"tokio", RTCMP_TOKIO, NULL}};

static const cmp_arm engines[] = {
    {"volt", RTCMP_VOLT, "volt"},           {"locked", RTCMP_VOLT, "locked"},
    {"two_tier", RTCMP_VOLT, "two_tier"},   {"slot_in_word", RTCMP_VOLT, "slot_in_word"},
    {"combining", RTCMP_VOLT, "combining"}, {"allocating", RTCMP_VOLT, "allocating"}};

#define RUNTIMES runtimes, sizeof runtimes / sizeof *runtimes, RTCMP_RUNTIMES
#define ENGINES engines, sizeof engines / sizeof *engines, RTCMP_ENGINES

static const cmp_row rows[] = {
    {"sem", 1, 8, 2, 100000, false, RUNTIMES, 0, NULL},
    {"sem", 2, 8, 2, 100000, true, RUNTIMES, 0, NULL},
    {"held", 1, 8, 2, 25000, false, RUNTIMES, 0, NULL},
    {"held", 2, 8, 2, 25000, true, RUNTIMES, 0, NULL},
    {"mutex", 1, 4, 0, 200000, false, RUNTIMES, 0, NULL},
    {"mutex", 2, 4, 0, 100000, true, RUNTIMES, 0, NULL},
    {"pingpong", 1, 2, 0, 200000, false, RUNTIMES, 0, NULL},
    {"pingpong", 2, 2, 0, 200000, true, RUNTIMES, 0, NULL},
    {"spawn", 1, 1000, 0, 500, false, RUNTIMES, 0, NULL},
    {"spawn", 2, 1000, 0, 500, true, RUNTIMES, 0, NULL},
    {"yield", 1, 100, 0, 20000, false, RUNTIMES, 0, NULL},
    {"yield", 2, 100, 0, 20000, true, RUNTIMES, 0, NULL},
    {"parked", 1, 1000000, 0, 1, false, RUNTIMES, 3, NULL},
    {"sem", 1, 8, 2, 100000, false, ENGINES, 0, NULL},
    {"sem", 2, 8, 2, 100000, true, ENGINES, 0, NULL},
    {"held", 1, 8, 2, 25000, false, ENGINES, 0, NULL},
    {"held", 2, 8, 2, 25000, true, ENGINES, 0, NULL},
};
_Static_assert(sizeof rows / sizeof *rows <= CMP_MAX_ROWS, "too many rows");

static const char *const tables[] = {
    "volt and Tokio",
    "The library's queue and those of `variants/`, on volt's runtime, each by the same adapter"};

const cmp_suite cmp_of = {"The runtime, measured",
                          "./x bench rt --save",
                          "bench/rt_bench.h",
                          "permits",
                          {"volt", "tokio"},
                          tables,
                          rows,
                          sizeof rows / sizeof *rows};
