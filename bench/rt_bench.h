/* rt_bench.h: the workloads of bench-rt. One run of one workload is one process and one line of
 * JSON; bench/peers/tokio does the same work for the same command line.
 *
 *   sem       each task: acquire one permit, give it back at once, nothing in between
 *   held      each task: acquire one permit, yield, give it back
 *   mutex     each task: lock, count, unlock
 *   yield     each task: let the others run
 *   pingpong  two tasks: give the other one its permit, await one's own
 *   spawn     one task: spawn `tasks` tasks that return a number, then join each and add them up
 *   parked    `tasks` tasks await a permit that is not there; then one is, and each gives it on
 *   line      two threads on two cores pass a word to and fro: the state of the machine
 *
 * A run is done twice in one runtime, first with an eighth of the operations, which does not count
 * (parked and line: once). A task on the runtime, not the main thread, spawns and joins. Each task
 * does the same number of operations, and stamps its start and its end itself: ns is (last end -
 * first start) over all operations; for spawn, per task; for pingpong, per operation of one of the
 * two, which is a hop. */
#ifndef VOLT_BENCH_RT_BENCH_H
#define VOLT_BENCH_RT_BENCH_H

#include <volt/runtime.h>
#include <volt/volt.h>

typedef struct rt_options {
  uint32_t workers, tasks, permits;
  uint64_t operations; /* of each task; spawn: batches */
} rt_options;

typedef struct rt_outcome {
  double ns;
  double cpu_ns;  /* the same in CPU time of the process: what others do beside it does not count */
  double overlap; /* of the whole time, how much a task spent between its stamps: 1 / tasks if they
                   * ran one after the other */
  double bytes;   /* parked: of resident memory, per task */
} rt_outcome;

/* ---- crews: rt_crew.c ---- */

typedef struct rt_member {
  volt_task task;
  volt_future future;
  void *object; /* what the crew works on */
  unsigned index;
  uint64_t operations, i;
  uint64_t value, sum; /* for the workload */
  int result;
  uint64_t start_ns, end_ns;
} rt_member;

/* Run o->tasks members with this poll function on a runtime of their own. */
rt_outcome rt_crew_run(const rt_options *o, void *object, volt_task_fn *poll);

rt_outcome rt_yield(const rt_options *o);
rt_outcome rt_mutex(const rt_options *o);

/* A runtime with so many workers; aborts if there is none. */
volt_rt *rt_create(const rt_options *o);

/* Let it run on rt and wait for its end; the handle remains. */
void rt_run_root(volt_rt *rt, volt_task *root);

/* CPU time of the process. */
uint64_t rt_cpu_ns(void);

/* Abort unless it is so. */
void rt_require(bool so, const char *what);

/* ---- semaphores: rt_sem.c, compiled for each ---- */

/* Workloads on the library's semaphore through its own futures, and on it and each variant through
 * one and the same adapter, which makes a future of an engine's waiter. */
typedef struct rt_engine {
  const char *name;
  rt_outcome (*sem)(const rt_options *o);
  rt_outcome (*held)(const rt_options *o);
  rt_outcome (*pingpong)(const rt_options *o);
} rt_engine;

enum { RT_ENGINES = 7 };
extern const rt_engine rt_native, rt_volt, rt_locked, rt_two_tier, rt_slot_in_word, rt_combining,
    rt_allocating;

/* ---- the others ---- */

rt_outcome rt_spawn(const rt_options *o);  /* rt_spawn.c */
rt_outcome rt_parked(const rt_options *o); /* rt_parked.c */
rt_outcome rt_line(const rt_options *o);   /* rt_line.c */

#endif
