/* tasks.h: bench-tasks, volt's tasks under the workloads of bench/README.md, which says what each
 * of them is. One run of one workload is one process and one line of JSON.
 *
 * A run is done twice in one runtime, first with an eighth of the operations, which does not count
 * (parked: once). A task on the runtime, not the main thread, spawns and joins. Each task stamps
 * its start and its end itself. */
#ifndef VOLT_BENCH_TASKS_H
#define VOLT_BENCH_TASKS_H

#include <pthread.h>

#include <volt/fiber.h>
#include <volt/runtime.h>
#include <volt/volt.h>

typedef struct rt_options {
  uint32_t workers, tasks, amount;
  uint32_t bypass, looks; /* of the library's locks; see main.c */
  uint64_t operations;    /* of each task; spawn: batches */
} rt_options;

/* ---- what was measured ---- */

typedef enum rt_field {
  RT_NS,
  RT_CPU_NS,
  RT_OVERLAP,
  RT_P50_NS,
  RT_P99_NS,
  RT_P999_NS,
  RT_LONGEST_NS,
  RT_SLOWEST_SHARE,
  RT_LOST,
  RT_BYTES,
  RT_ALLOCATIONS,
  RT_FIELDS
} rt_field;

typedef struct rt_outcome {
  double value[RT_FIELDS];
  bool is_measured[RT_FIELDS];
} rt_outcome;

static inline void rt_measured(rt_outcome *out, rt_field field, double value) {
  out->value[field] = value;
  out->is_measured[field] = true;
}

/* ---- what can be run ---- */

typedef rt_outcome rt_run_fn(const rt_options *o);

/* A workload on one engine. Where there is but one: "native". */
typedef struct rt_case {
  const char *workload, *engine;
  rt_run_fn *run;
} rt_case;

/* Each ends with an empty case. */
extern const rt_case rt_crew_cases[], rt_lock_cases[], rt_spawn_cases[], rt_parked_cases[],
    rt_timer_cases[], rt_fiber_cases[], rt_coroutine_cases[];

/* sem.c, compiled for each semaphore. native: the library's, and its mutex, by futures
 * of their own. volt and the variants: by one and the same adapter, which makes a future of an
 * engine's waiter. */
#define RT_SEM_ENGINES(X) \
  X(native) X(volt) X(locked) X(two_tier) X(slot_in_word) X(combining) X(allocating)
#define RT_SEM_CASES_(name) extern const rt_case rt_sem_##name[], rt_held_##name[];
RT_SEM_ENGINES(RT_SEM_CASES_)
#undef RT_SEM_CASES_

/* ---- crews: crew.c ---- */

typedef struct rt_member {
  volt_task task;
  volt_task *fiber; /* NULL: its task runs; else the task does not */
  volt_future future;
  void *object; /* what the crew works on */
  uint32_t index;
  int result;
  uint64_t operations, i;
  uint64_t value, sum; /* for the workload */
  uint64_t start_ns, end_ns;
} rt_member;

typedef struct rt_crew {
  volt_task_fn *poll; /* of a member */
  void *object;
  /* Before each of the two runs: of so many operations each. NULL: nothing. */
  void (*begin)(void *object, const rt_options *o, uint64_t operations);
  /* At a member that has ended. NULL: nothing. */
  void (*look)(void *object, const rt_member *m);
  volt_fiber_fn
      *run; /* of a member that is a fiber, given the rt_member; NULL: members are tasks */
} rt_crew;

/* Run o->tasks members on a runtime of their own: ns, cpu_ns, overlap. */
rt_outcome rt_crew_run(const rt_options *o, const rt_crew *crew);

/* How many operations the run has that does not count. */
static inline uint64_t rt_warm_up(uint64_t operations) {
  return operations / 8 + 1;
}

/* Operations of all tasks in both runs. */
static inline uint64_t rt_in_all(const rt_options *o) {
  return o->tasks * (o->operations + rt_warm_up(o->operations));
}

/* A runtime with so many workers; fails if there is none. */
volt_rt *rt_create(const rt_options *o);

/* Let it run on rt and wait for its end; the handle remains. */
void rt_run_root(volt_rt *rt, volt_task *root);

/* CPU time of the process; its resident memory. */
uint64_t rt_cpu_ns(void);
double rt_resident_bytes(void);

/* Say so and end the process: exit code 1. */
VOLT_NORETURN VOLT_NOINLINE void rt_failed(const char *what);

static inline void rt_require(bool so, const char *what) {
  if (VOLT_UNLIKELY(!so)) rt_failed(what);
}

/* ---- the program's allocator counts: crew.c ---- */

void rt_allocations_count(void); /* from now on */

/* No longer. Returns how many there were. */
uint64_t rt_allocations_counted(void);

/* ---- what is neither a lock nor a channel: one primitive each ---- */

/* family_alone.c: nobody waits; by a task, and by a thread. family_waits.c: one task waits.
 * family_rounds.c: several do. */
extern const rt_case family_alone_cases[], family_waits_cases[], family_rounds_cases[];

/* What a crew works on begins with this. */
typedef struct family_counted {
  uint64_t done; /* the sums of all members, in both runs */
} family_counted;

/* For rt_crew.look: adds up. */
static inline void family_count(void *object, const rt_member *m) {
  ((family_counted *)object)->done += m->sum;
}

/* ---- channels: elements are 64 bits; what was received is added up, and has to be what was sent ---- */

VOLT_CHAN_DECLARE(numbers, uint64_t);

/* By tasks: chan_tasks.c, compiled for each. */
#define CHAN_ENGINES(X) X(volt) X(dekker) X(slots)
#define CHAN_CASES_(name) extern const rt_case chan_##name[];
CHAN_ENGINES(CHAN_CASES_)
#undef CHAN_CASES_

/* By threads: chan_threads.c. generic: functions for elements of any size; typed: for 64 bits. */
extern const rt_case chan_threads_cases[];

/* Memory for a channel, aligned to a cache line; fails if there is none. */
void *chan_memory(size_t bytes);

/* ---- a second thread, which sleeps: chan_threads.c ---- */

typedef struct chan_sleeper {
  pthread_t thread;
  volt_sem end;
} chan_sleeper;

void chan_sleeper_start(chan_sleeper *s);
void chan_sleeper_end(chan_sleeper *s);

#endif
