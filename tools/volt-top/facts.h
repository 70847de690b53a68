/* facts.h: what is known of a process at one moment, whether it was asked (ask.c) or read without its
 * help (cold.c). All of it is bounded; what has no room is counted in `left_out`. */
#ifndef VOLT_TOP_FACTS_H
#define VOLT_TOP_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FACTS_WORKERS = 512, FACTS_OBJECTS = 2048, FACTS_TASKS = 1000, FACTS_STOPS = 256 };
enum { FACTS_THREADS = 512, FACTS_RUNTIMES = 32, FACTS_NAME = 64, FACTS_TEXT = 96 };

typedef struct fact_runtime {
  uint64_t rt;
  char name[FACTS_NAME];
  uint64_t workers, parked, live, spawned, injected, blocking_threads, blocking_queued, fibers;
} fact_runtime;

typedef struct fact_worker {
  uint64_t rt, worker, tid, task, looked_ns, queued, homed, polls, steals, moved, parks, woken;
  bool is_parked;
  char instance[24];
} fact_worker;

/* What is waited for. */
typedef struct fact_wait {
  char operation[FACTS_NAME]; /* "": not known */
  char kind[32];
  char name[FACTS_NAME];
  uint64_t object;
  bool is_granted;
} fact_wait;

typedef struct fact_task {
  uint64_t rt, task, age_ns, polls, worker, registrations, poll;
  bool has_registrations, is_fiber, is_cancelled;
  bool is_torn; /* it was read while it moved */
  char how[12];
  char function[FACTS_TEXT];
  char file[FACTS_TEXT];
  uint64_t line;
  fact_wait wait;
} fact_task;

typedef struct fact_stop {
  uint64_t depth, line, wanted, waiters, place, left_ns;
  bool has_left, is_ready, for_write, calls;
  char function[FACTS_TEXT];
  char file[FACTS_TEXT];
  char state[FACTS_TEXT];
  char holder[FACTS_TEXT];
  fact_wait wait;
} fact_stop;

typedef struct fact_thread {
  uint64_t tid, age_ns;
  char thread[24];
  char call[FACTS_NAME];
  char holder[FACTS_TEXT];
  fact_wait wait;
} fact_thread;

typedef struct fact_times {
  bool is_known; /* there were some */
  uint64_t count, p50_ns, p99_ns, longest_ns;
} fact_times;

typedef struct fact_object {
  uint64_t object, tasks, threads, oldest_ns;
  char name[FACTS_NAME];
  char kind[32];
  char state[FACTS_TEXT];
  char holder[FACTS_TEXT];
  fact_times waits, holds;
} fact_object;

typedef struct facts {
  uint64_t pid, at_ns; /* when it was looked at */
  char program[FACTS_NAME];
  char library[24];
  unsigned runtimes, workers, tasks, objects, threads, stops;
  uint64_t left_out;
  bool is_partial, is_cold;
  bool knows_holders; /* a build with VOLT_SIGHT=1 */
  fact_runtime runtime[FACTS_RUNTIMES];
  fact_worker worker[FACTS_WORKERS];
  fact_task task[FACTS_TASKS];
  fact_object object[FACTS_OBJECTS];
  fact_thread thread[FACTS_THREADS];
  fact_stop stop[FACTS_STOPS]; /* of one task */
  char text[1 << 18];          /* of deadlocks */
  size_t text_size;
} facts;

#endif
