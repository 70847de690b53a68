/* chancmp_rows.c: bench-chan's workloads beside the same on other channels, and on those of
 * variants/. Each run takes some 30 to 200 ms. */
#include "chancmp.h"

static const cmp_arm alone[] = {{"volt", CHANCMP_VOLT, "generic"},
                                {"volt, typed", CHANCMP_VOLT, "typed"},
                                {"volt, task", CHANCMP_VOLT, "volt"},
                                {"ck_ring", CHANCMP_CK, NULL},
                                {"crossbeam", CHANCMP_RUST, "crossbeam"},
                                {"flume", CHANCMP_RUST, "flume-threads"},
                                {"async-channel", CHANCMP_RUST, "async-channel"},
                                {"tokio mpsc", CHANCMP_RUST, "tokio"},
                                {"Go", CHANCMP_GO, NULL},
                                {"Boost.Fiber", CHANCMP_BOOST, NULL}};

static const cmp_arm tasks[] = {{"volt", CHANCMP_VOLT, "volt"},
                                {"async-channel", CHANCMP_RUST, "async-channel"},
                                {"flume", CHANCMP_RUST, "flume"},
                                {"tokio mpsc, 1 receives", CHANCMP_RUST, "tokio"},
                                {"crossbeam, threads", CHANCMP_RUST, "crossbeam"},
                                {"Go", CHANCMP_GO, NULL},
                                {"Boost.Fiber", CHANCMP_BOOST, NULL}};

static const cmp_arm players[] = {
    {"volt", CHANCMP_VOLT, "volt"},   {"async-channel", CHANCMP_RUST, "async-channel"},
    {"flume", CHANCMP_RUST, "flume"}, {"tokio mpsc", CHANCMP_RUST, "tokio"},
    {"Go", CHANCMP_GO, NULL},         {"Boost.Fiber", CHANCMP_BOOST, NULL}};

static const cmp_arm threads[] = {{"volt", CHANCMP_VOLT, "generic"},
                                  {"volt, typed", CHANCMP_VOLT, "typed"},
                                  {"crossbeam", CHANCMP_RUST, "crossbeam"},
                                  {"flume", CHANCMP_RUST, "flume-threads"},
                                  {"Go", CHANCMP_GO, NULL}};

static const cmp_arm variants[] = {{"volt", CHANCMP_VOLT, "volt"},
                                   {"dekker", CHANCMP_VOLT, "dekker"},
                                   {"slots", CHANCMP_VOLT, "slots"}};

static const cmp_arm family[] = {{"notify one, wait", CHANCMP_VOLT, "notify"},
                                 {"oneshot, a life", CHANCMP_VOLT, "oneshot"},
                                 {"latch, a life", CHANCMP_VOLT, "latch"},
                                 {"once: is it done?", CHANCMP_VOLT, "once"},
                                 {"cond: signal", CHANCMP_VOLT, "cond"},
                                 {"barrier of one", CHANCMP_VOLT, "barrier"},
                                 {"watch: send, get", CHANCMP_VOLT, "watch"},
                                 {"token: is it cancelled?", CHANCMP_VOLT, "token"}};

#define ARMS(arms) arms, sizeof arms / sizeof *arms

static const cmp_row rows[] = {
    {"pair", 1, 1, 64, 2000000, false, ARMS(alone), CHANCMP_ALONE, 0,
     "one thread sends and receives, capacity 64"},
    {"pair", 1, 1, 1024, 2000000, false, ARMS(alone), CHANCMP_ALONE, 0,
     "one thread sends and receives, capacity 1024"},
    {"mpmc", 1, 8, 1024, 200000, false, ARMS(players), CHANCMP_TASKS, 0,
     "4 tasks send, 4 receive, capacity 1024, 1 worker"},
    {"mpmc", 2, 8, 1024, 200000, true, ARMS(tasks), CHANCMP_TASKS, 0,
     "4 tasks send, 4 receive, capacity 1024, 2 workers"},
    {"mpmc", 2, 8, 64, 200000, true, ARMS(tasks), CHANCMP_TASKS, 0,
     "4 tasks send, 4 receive, capacity 64, 2 workers"},
    {"pingpong", 1, 2, 1, 200000, false, ARMS(players), CHANCMP_TASKS, 0,
     "two tasks, two channels of capacity 1: a hop, 1 worker"},
    {"pingpong", 2, 2, 1, 200000, true, ARMS(players), CHANCMP_TASKS, 0,
     "two tasks, two channels of capacity 1: a hop, 2 workers"},
    {"spsc", 2, 2, 64, 300000, true, ARMS(threads), CHANCMP_THREADS, 0,
     "one thread sends, one receives, capacity 64"},
    {"mpmc", 1, 8, 1024, 200000, false, ARMS(variants), CHANCMP_VARIANTS, 0,
     "4 tasks send, 4 receive, capacity 1024, 1 worker"},
    {"mpmc", 2, 8, 1024, 200000, true, ARMS(variants), CHANCMP_VARIANTS, 0,
     "4 tasks send, 4 receive, capacity 1024, 2 workers"},
    {"mpmc", 2, 8, 64, 200000, true, ARMS(variants), CHANCMP_VARIANTS, 0,
     "4 tasks send, 4 receive, capacity 64, 2 workers"},
    {"pingpong", 1, 2, 1, 200000, false, ARMS(variants), CHANCMP_VARIANTS, 0,
     "two tasks, two channels of capacity 1: a hop, 1 worker"},
    {"pingpong", 2, 2, 1, 200000, true, ARMS(variants), CHANCMP_VARIANTS, 0,
     "two tasks, two channels of capacity 1: a hop, 2 workers"},
    {"family", 1, 1, 1, 3000000, false, ARMS(family), CHANCMP_FAMILY, 0, "nobody waits"},
};
_Static_assert(sizeof rows / sizeof *rows <= CMP_MAX_ROWS, "too many rows");
_Static_assert(sizeof alone / sizeof *alone <= CMP_MAX_ARMS, "too many arms");

static const char *const tables[] = {
    "One thread, or one task, sends an element and receives it",
    "Tasks: volt's on its runtime, Rust's on Tokio's, goroutines, fibers; crossbeam's are threads",
    "Two threads", "The library's channel and those of `variants/`, on volt's runtime",
    "The rest of the family, one thread"};

const cmp_suite cmp_of = {"Channels, measured",
                          "./x bench chan --save",
                          "bench/chan_bench.h",
                          "capacity",
                          {"volt", "rust", "go", "boost", "ck"},
                          tables,
                          rows,
                          sizeof rows / sizeof *rows};
