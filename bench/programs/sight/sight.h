/* sight.h: bench-sight, what it costs to see which task waits for what. One run of one row is one
 * process and one line of JSON, whose members are what the row says; ns is among them.
 * ../../compare/sight_rows.py has the bars. */
#ifndef VOLT_BENCH_SIGHT_H
#define VOLT_BENCH_SIGHT_H

#include <volt/runtime.h>
#include <volt/sight.h>
#include <volt/volt.h>

typedef struct sight_options {
  uint32_t tasks, workers, objects;
  uint64_t operations;
} sight_options;

/* A row. What is not given on the command line is as here. run says what it has measured. */
typedef struct sight_case {
  const char *name;
  sight_options otherwise;
  void (*run)(const sight_options *o);
} sight_case;

/* A member of the line of JSON. */
void sight_say(const char *name, double value);

/* Say so and end the process: exit code 1. */
VOLT_NORETURN VOLT_NOINLINE void sight_failed(const char *what);

static inline void sight_require(bool so, const char *what) {
  if (VOLT_UNLIKELY(!so)) sight_failed(what);
}

/* CPU time of this thread, of the process. */
uint64_t sight_thread_ns(void);
uint64_t sight_process_ns(void);

/* ---- tasks that wait: scene.c ---- */

typedef struct sight_scene sight_scene;

/* A runtime on which o->tasks tasks wait for permits of o->objects semaphores; each waits
 * already, or does in a moment. */
sight_scene *sight_scene_begin(const sight_options *o);
volt_rt *sight_scene_rt(sight_scene *s);

/* Let one permit of every semaphore go round, once: each task runs and waits again. */
void sight_scene_stir(sight_scene *s);

/* All tasks end. */
void sight_scene_end(sight_scene *s);

/* ---- the rows; each list ends with an empty one ---- */

extern const sight_case sight_scene_cases[], sight_dump_cases[], sight_answer_cases[],
    sight_stall_cases[];

#endif
