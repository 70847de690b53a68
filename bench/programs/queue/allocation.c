/* allocation.c: what a wait costs that allocates its waiter, against the same engine without, and
 * against the library. malloc is replaced for the whole program, to count. */
#include <inttypes.h>
#include <stdio.h>

#include <volt/volt.h>

#include "engines.h"

#define CYCLES 1000000u

/* glibc's own, under the names it keeps for programs that replace the others. */
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *memory, size_t bytes);
extern void __libc_free(void *memory);

static _Thread_local uint64_t allocated, freed;

void *malloc(size_t bytes);
void *calloc(size_t count, size_t bytes);
void *realloc(void *memory, size_t bytes);
void free(void *memory);

void *malloc(size_t bytes) {
  allocated += 1;
  return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes) {
  allocated += 1;
  return __libc_calloc(count, bytes);
}

void *realloc(void *memory, size_t bytes) {
  allocated += 1;
  return __libc_realloc(memory, bytes);
}

void free(void *memory) {
  freed += memory != NULL;
  __libc_free(memory);
}

enum { COMPARED = 3 };
static const unsigned compared[COMPARED] = {BENCH_ALLOCATING, BENCH_LOCKED, BENCH_VOLT};
static const char *const names[COMPARED] = {"with allocation (allocating)",
                                            "the same without (locked)", "volt"};

static void time_both(const char *section, const char *title, uint32_t permits,
                      bench_loop_fn *(*loop_of)(const bench_engine *)) {
  static VOLT_CACHE_ALIGNED bench_memory engines[COMPARED];
  bench_case cases[COMPARED];
  for (unsigned i = 0; i < COMPARED; i++) {
    const bench_engine *e = bench_engines[compared[i]];
    e->init(&engines[i], permits);
    cases[i] = (bench_case){names[i],
                            i + 1 < COMPARED ? names[COMPARED - 1] : NULL,
                            bench_measure_loop,
                            &engines[i],
                            loop_of(e),
                            NULL,
                            0};
  }
  const bench_table table = {section, title, NULL, "x volt", cases, COMPARED};
  bench_run(&table);
}

static bench_loop_fn *pair_of(const bench_engine *e) {
  return e->blocking_pair;
}

static bench_loop_fn *handoff_of(const bench_engine *e) {
  return e->handoff_10;
}

static void count_both(const char *section, const char *what, uint32_t permits,
                       bench_loop_fn *(*loop_of)(const bench_engine *)) {
  static VOLT_CACHE_ALIGNED bench_memory memory;
  for (unsigned i = 0; i < COMPARED; i++) {
    const bench_engine *e = bench_engines[compared[i]];
    e->init(&memory, permits);
    uint64_t allocated_before = allocated, freed_before = freed;
    if (loop_of(e)(&memory, CYCLES) == BENCH_WRONG) bench_wrong(names[i]);
    bench_set_allocations(section, names[i], (double)(allocated - allocated_before) / CYCLES);
    printf("  %-34s %s: %" PRIu64 " malloc, %" PRIu64 " free\n", names[i], what,
           allocated - allocated_before, freed - freed_before);
  }
}

void bench_allocation(void) {
  time_both("allocation-uncontended", "allocation: uncontended lock+unlock (1 permit), one thread",
            1, pair_of);
  time_both("allocation-contended",
            "allocation: contended lock+unlock, 10 waiters, hand-polled in one thread", 0,
            handoff_of);
  printf("\nallocation: a million lock+unlock cycles\n");
  count_both("allocation-uncontended", "uncontended", 1, pair_of);
  count_both("allocation-contended", "with 10 waiters", 0, handoff_of);
}
