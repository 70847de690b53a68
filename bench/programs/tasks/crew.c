/* crew.c: some tasks that do the same number of operations each, and yield, which is nothing but
 * that; and the allocator, which counts. */
#define _GNU_SOURCE /* clock_gettime */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../sight/switch_on.h"
#include "tasks.h"

/* Not exit(): other threads are in the middle of their work. */
void rt_failed(const char *what) {
  fprintf(stderr, "bench-tasks: not so: %s\n", what);
  _exit(1);
}

uint64_t rt_cpu_ns(void) {
  struct timespec used;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

volt_rt *rt_create(const rt_options *o) {
  volt_rt *rt;
  volt_rt_config config;
  memset(&config, 0, sizeof config);
  config.workers = o->workers;
  rt_require(volt_rt_create(&rt, &config) == VOLT_OK, "there is a runtime");
  return rt;
}

void rt_run_root(volt_rt *rt, volt_task *root) {
  rt_require(volt_spawn(rt, root) == VOLT_OK, "the first task is spawned");
  rt_require(volt_task_join(root) == VOLT_OK, "the first task ends");
}

/* ---- a crew ---- */

/* The task that spawns and joins the members. */
struct chief {
  volt_task task;
  volt_future join;
  volt_rt *rt;
  rt_member **members;
  const rt_crew *crew;
  uint32_t tasks, i;
  uint64_t operations;
  uint64_t first_ns, last_ns, sum_ns;
};

static volt_task *task_of(rt_member *m) {
  return m->fiber ? m->fiber : &m->task;
}

static rt_member *new_member(const struct chief *c) {
  if (!c->crew->run) return VOLT_TASK_NEW(c->rt, rt_member, c->crew->poll);
  rt_member *m = (rt_member *)calloc(1, sizeof *m);
  if (m) m->fiber = volt_fiber_new(c->rt, c->crew->run, m, NULL);
  return m && m->fiber ? m : NULL;
}

static void spawn_member(struct chief *c) {
  rt_member *m = new_member(c);
  rt_require(m != NULL, "there is memory for a task");
  m->object = c->crew->object;
  m->index = c->i;
  m->operations = c->operations;
  c->members[c->i] = m;
  rt_require(volt_spawn(c->rt, task_of(m)) == VOLT_OK, "a task is spawned");
}

static void look_at_member(struct chief *c) {
  rt_member *m = c->members[c->i];
  if (m->start_ns < c->first_ns) c->first_ns = m->start_ns;
  if (m->end_ns > c->last_ns) c->last_ns = m->end_ns;
  c->sum_ns += m->end_ns - m->start_ns;
  if (c->crew->look) c->crew->look(c->crew->object, m);
  volt_task_detach(task_of(m));
  if (c->crew->run) free(m);
}

static int chief_poll(volt_task *t, volt_ctx *ctx) {
  struct chief *self = volt_container_of(t, struct chief, task);
  VOLT_TASK_BEGIN(self);
  for (self->i = 0; self->i < self->tasks; self->i++) spawn_member(self);
  for (self->i = 0; self->i < self->tasks; self->i++) {
    VOLT_AWAIT(self, volt_task_join_future(&self->join, task_of(self->members[self->i])));
    look_at_member(self);
  }
  VOLT_TASK_END(self);
}

static struct chief *new_chief(volt_rt *rt, const rt_options *o, const rt_crew *crew) {
  struct chief *c = VOLT_TASK_NEW(rt, struct chief, chief_poll);
  rt_require(c != NULL, "there is memory for a task");
  c->rt = rt;
  c->members = (rt_member **)calloc(o->tasks, sizeof *c->members);
  rt_require(c->members != NULL, "there is memory for handles");
  c->crew = crew;
  c->tasks = o->tasks;
  c->first_ns = UINT64_MAX;
  return c;
}

static rt_outcome run_once(volt_rt *rt, const rt_options *o, const rt_crew *crew,
                           uint64_t operations) {
  struct chief *c = new_chief(rt, o, crew);
  c->operations = operations;
  if (crew->begin) crew->begin(crew->object, o, operations);
  uint64_t cpu_ns = rt_cpu_ns();
  rt_run_root(rt, &c->task);
  cpu_ns = rt_cpu_ns() - cpu_ns;
  double whole_ns = (double)(c->last_ns - c->first_ns);
  double all = (double)operations * o->tasks;
  rt_outcome outcome = {0};
  rt_measured(&outcome, RT_NS, whole_ns / all);
  rt_measured(&outcome, RT_CPU_NS, (double)cpu_ns / all);
  rt_measured(&outcome, RT_OVERLAP, (double)c->sum_ns / whole_ns / o->tasks);
  free(c->members);
  volt_task_detach(&c->task);
  return outcome;
}

rt_outcome rt_crew_run(const rt_options *o, const rt_crew *crew) {
  volt_rt *rt = rt_create(o);
  bench_sight_begin(crew->object);
  run_once(rt, o, crew, rt_warm_up(o->operations));
  rt_outcome outcome = run_once(rt, o, crew, o->operations);
  bench_sight_end(crew->object);
  rt_require(volt_rt_destroy(rt) == 0, "every task has ended by itself");
  return outcome;
}

/* ---- yield ---- */

static int yield_poll(volt_task *t, volt_ctx *ctx) {
  rt_member *self = volt_container_of(t, rt_member, task);
  VOLT_TASK_BEGIN(self);
  self->start_ns = volt_now_ns();
  for (self->i = 0; self->i < self->operations; self->i++) VOLT_YIELD(self);
  self->end_ns = volt_now_ns();
  VOLT_TASK_END(self);
}

struct yields {
  uint64_t done; /* in both runs */
};

static void count_yields(void *object, const rt_member *m) {
  ((struct yields *)object)->done += m->i;
}

static rt_outcome run_yield(const rt_options *o) {
  struct yields yields = {0};
  const rt_crew crew = {yield_poll, &yields, NULL, count_yields, NULL};
  rt_outcome outcome = rt_crew_run(o, &crew);
  rt_require(yields.done == rt_in_all(o), "every task has yielded as often as it should");
  return outcome;
}

const rt_case rt_crew_cases[] = {{"yield", "native", run_yield}, {NULL, NULL, NULL}};

/* ---- malloc and its family are replaced for the whole program, to count their calls ---- */

/* glibc's own, under the names that it keeps for programs that replace the others. */
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *memory, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);
extern void __libc_free(void *memory);

void *malloc(size_t bytes);
void *calloc(size_t count, size_t bytes);
void *realloc(void *memory, size_t bytes);
void *aligned_alloc(size_t alignment, size_t bytes);
void *memalign(size_t alignment, size_t bytes);
int posix_memalign(void **memory, size_t alignment, size_t bytes);
void free(void *memory);

static VOLT_ATOMIC(uint32_t) is_counting;
static VOLT_CACHE_ALIGNED VOLT_ATOMIC(uint64_t) counted;

/* relaxed: a count; who reads it has waited for those who are counted */
static void count_call(void) {
  if (volt_load_relaxed(&is_counting)) volt_fetch_add_relaxed(&counted, 1);
}

void rt_allocations_count(void) {
  volt_store_relaxed(&counted, 0);
  volt_store_relaxed(&is_counting, 1);
}

uint64_t rt_allocations_counted(void) {
  volt_store_relaxed(&is_counting, 0);
  return volt_load_relaxed(&counted);
}

void *malloc(size_t bytes) {
  count_call();
  return __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes) {
  count_call();
  return __libc_calloc(n, bytes);
}

void *realloc(void *memory, size_t bytes) {
  count_call();
  return __libc_realloc(memory, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes) {
  count_call();
  return __libc_memalign(alignment, bytes);
}

void *memalign(size_t alignment, size_t bytes) {
  count_call();
  return __libc_memalign(alignment, bytes);
}

int posix_memalign(void **memory, size_t alignment, size_t bytes) {
  count_call();
  bool is_power = alignment != 0 && (alignment & (alignment - 1)) == 0;
  if (!is_power || alignment % sizeof(void *) != 0) return EINVAL;
  void *got = __libc_memalign(alignment, bytes);
  if (!got) return ENOMEM;
  *memory = got;
  return 0;
}

/* Not counted: what is freed was allocated. */
void free(void *memory) {
  __libc_free(memory);
}
