/* fibers.c: the workloads of crew.c, sem.c, locks.c and runtime.c by fibers: the same work, written
 * straight. */
#include <stdlib.h>

#include "tasks.h"

/* ---- crews ---- */

static void begin_member(rt_member *m) {
  m->start_ns = volt_now_ns();
}

static int end_member(rt_member *m) {
  m->end_ns = volt_now_ns();
  return VOLT_OK;
}

static int yield_run(void *arg) {
  rt_member *m = arg;
  begin_member(m);
  for (m->i = 0; m->i < m->operations; m->i++) (void)volt_fiber_yield();
  m->sum = m->i;
  return end_member(m);
}

static int sem_run(void *arg) {
  rt_member *m = arg;
  volt_sem *sem = m->object;
  begin_member(m);
  for (uint64_t i = 0; i < m->operations; i++) {
    int result = volt_sem_acquire(sem, 1);
    rt_require(result == VOLT_OK, "a fiber gets a permit");
    volt_sem_release(sem, 1);
  }
  return end_member(m);
}

static int held_run(void *arg) {
  rt_member *m = arg;
  volt_sem *sem = m->object;
  begin_member(m);
  for (uint64_t i = 0; i < m->operations; i++) {
    int result = volt_sem_acquire(sem, 1);
    rt_require(result == VOLT_OK, "a fiber gets a permit");
    (void)volt_fiber_yield();
    volt_sem_release(sem, 1);
  }
  return end_member(m);
}

static int mutex_run(void *arg) {
  rt_member *m = arg;
  volt_mutex *mutex = m->object;
  begin_member(m);
  for (uint64_t i = 0; i < m->operations; i++) {
    int result = volt_mutex_lock_until(mutex, VOLT_NO_DEADLINE);
    rt_require(result == VOLT_OK, "a fiber gets the lock");
    volt_mutex_unlock(mutex);
  }
  return end_member(m);
}

/* Member 0 serves, as in sem.c. */
static int pingpong_run(void *arg) {
  rt_member *m = arg;
  volt_sem *sems = m->object;
  begin_member(m);
  for (uint64_t i = 0; i < m->operations; i++) {
    if (m->index == 0) volt_sem_release(&sems[1], 1);
    int result = volt_sem_acquire(&sems[m->index], 1);
    rt_require(result == VOLT_OK, "a fiber gets the permit");
    if (m->index == 1) volt_sem_release(&sems[0], 1);
  }
  return end_member(m);
}

struct yields {
  uint64_t done; /* in both runs */
};

static void count_yields(void *object, const rt_member *m) {
  ((struct yields *)object)->done += m->sum;
}

static rt_outcome run_yield(const rt_options *o) {
  struct yields yields = {0};
  const rt_crew crew = {NULL, &yields, NULL, count_yields, yield_run};
  rt_outcome outcome = rt_crew_run(o, &crew);
  rt_require(yields.done == rt_in_all(o), "every fiber has yielded as often as it should");
  return outcome;
}

static rt_outcome on_permits(const rt_options *o, uint32_t permits, volt_fiber_fn *run) {
  static VOLT_CACHE_ALIGNED volt_sem sem;
  volt_sem_init(&sem, permits);
  const rt_crew crew = {NULL, &sem, NULL, NULL, run};
  rt_outcome outcome = rt_crew_run(o, &crew);
  rt_require(volt_sem_available(&sem) == permits, "every permit was given back");
  volt_sem_destroy(&sem);
  return outcome;
}

static rt_outcome run_alone(const rt_options *o) {
  return on_permits(o, 1, sem_run);
}

static rt_outcome run_sem(const rt_options *o) {
  return on_permits(o, o->amount, sem_run);
}

static rt_outcome run_held(const rt_options *o) {
  return on_permits(o, o->amount, held_run);
}

static rt_outcome run_mutex(const rt_options *o) {
  static VOLT_CACHE_ALIGNED volt_mutex mutex = VOLT_MUTEX_INIT;
  const rt_crew crew = {NULL, &mutex, NULL, NULL, mutex_run};
  rt_outcome outcome = rt_crew_run(o, &crew);
  rt_require(!volt_mutex_is_locked(&mutex), "the lock is free again");
  return outcome;
}

static rt_outcome run_pingpong(const rt_options *o) {
  static volt_sem sems[2] = {VOLT_SEM_INIT(0), VOLT_SEM_INIT(0)};
  const rt_crew crew = {NULL, sems, NULL, NULL, pingpong_run};
  rt_outcome outcome = rt_crew_run(o, &crew);
  rt_require(volt_sem_available(&sems[0]) + volt_sem_available(&sems[1]) == 0,
             "every permit was taken");
  return outcome;
}

/* ---- spawn and join in batches ---- */

struct batches {
  volt_rt *rt;
  volt_task **children;
  uint64_t *numbers;
  uint32_t size;
  uint64_t count, sum;
  uint64_t start_ns, end_ns;
};

static int child_run(void *arg) {
  *(uint64_t *)arg += 1;
  return VOLT_OK;
}

static void spawn_batch(struct batches *b) {
  for (uint32_t i = 0; i < b->size; i++) {
    b->numbers[i] = i;
    b->children[i] = volt_fiber_new(b->rt, child_run, &b->numbers[i], NULL);
    rt_require(volt_spawn(b->rt, b->children[i]) == VOLT_OK, "a fiber is spawned");
  }
}

static int spawner_run(void *arg) {
  struct batches *b = arg;
  b->start_ns = volt_now_ns();
  for (uint64_t n = 0; n < b->count; n++) {
    spawn_batch(b);
    for (uint32_t i = 0; i < b->size; i++) {
      rt_require(volt_task_join(b->children[i]) == VOLT_OK, "a fiber ends");
      b->sum += b->numbers[i];
      volt_task_detach(b->children[i]);
    }
  }
  b->end_ns = volt_now_ns();
  return VOLT_OK;
}

static rt_outcome run_batches(struct batches *b, uint64_t count) {
  b->count = count;
  b->sum = 0;
  volt_task *spawner = volt_fiber_new(b->rt, spawner_run, b, NULL);
  rt_require(spawner != NULL, "there is memory for a fiber");
  uint64_t cpu_ns = rt_cpu_ns();
  rt_run_root(b->rt, spawner);
  cpu_ns = rt_cpu_ns() - cpu_ns;
  volt_task_detach(spawner);
  uint64_t size = b->size;
  rt_require(b->sum == count * (size * (size + 1) / 2), "every fiber has run once");
  double all = (double)count * b->size;
  rt_outcome outcome = {0};
  rt_measured(&outcome, RT_NS, (double)(b->end_ns - b->start_ns) / all);
  rt_measured(&outcome, RT_CPU_NS, (double)cpu_ns / all);
  return outcome;
}

static rt_outcome run_spawn(const rt_options *o) {
  struct batches b = {.rt = rt_create(o), .size = o->tasks};
  b.children = (volt_task **)calloc(b.size, sizeof *b.children);
  b.numbers = (uint64_t *)calloc(b.size, sizeof *b.numbers);
  rt_require(b.children && b.numbers, "there is memory for handles");
  run_batches(&b, rt_warm_up(o->operations));
  rt_outcome outcome = run_batches(&b, o->operations);
  volt_rt_destroy(b.rt);
  free(b.children);
  free(b.numbers);
  return outcome;
}

/* ---- parked: as in runtime.c ---- */

struct shared {
  volt_sem sem, all_parked, all_served;
  uint64_t fibers;
  uint64_t tickets, served, out_of_turn; /* plain: the worker's */
};

static int parked_run(void *arg) {
  struct shared *s = arg;
  uint64_t ticket = s->tickets++;
  if (ticket + 1 == s->fibers) volt_sem_release(&s->all_parked, 1);
  int result = volt_sem_acquire(&s->sem, 1);
  s->out_of_turn += ticket != s->served;
  s->served += 1;
  volt_sem_release(s->served < s->fibers ? &s->sem : &s->all_served, 1);
  return result;
}

static void spawn_parked(volt_rt *rt, struct shared *s) {
  for (uint64_t i = 0; i < s->fibers; i++) {
    rt_require(volt_fiber_spawn(rt, parked_run, s) == VOLT_OK, "a fiber is spawned");
  }
  int result = volt_sem_acquire(&s->all_parked, 1);
  rt_require(result == VOLT_OK, "all are parked");
  while (volt_sem_waiters(&s->sem) < s->fibers) continue; /* the last is on its way */
}

static rt_outcome run_parked(const rt_options *o) {
  static struct shared s = {VOLT_SEM_INIT(0), VOLT_SEM_INIT(0), VOLT_SEM_INIT(0), 0, 0, 0, 0};
  volt_rt *rt = rt_create(o);
  s.fibers = o->tasks;
  double before = rt_resident_bytes();
  spawn_parked(rt, &s);
  rt_outcome outcome = {0};
  rt_measured(&outcome, RT_BYTES, (rt_resident_bytes() - before) / o->tasks);
  uint64_t start_ns = volt_now_ns();
  uint64_t cpu_ns = rt_cpu_ns();
  volt_sem_release(&s.sem, 1);
  int result = volt_sem_acquire(&s.all_served, 1);
  rt_measured(&outcome, RT_NS, (double)(volt_now_ns() - start_ns) / o->tasks);
  rt_measured(&outcome, RT_CPU_NS, (double)(rt_cpu_ns() - cpu_ns) / o->tasks);
  rt_require(result == VOLT_OK, "all are served");
  rt_require(s.out_of_turn == 0, "they come in the order in which they have queued");
  volt_rt_destroy(rt);
  return outcome;
}

const rt_case rt_fiber_cases[] = {
    {"alone-mutex", "fiber", run_mutex}, {"alone-sem", "fiber", run_alone},
    {"mutex", "fiber", run_mutex},       {"sem", "fiber", run_sem},
    {"held", "fiber", run_held},         {"pingpong", "fiber", run_pingpong},
    {"spawn", "fiber", run_spawn},       {"yield", "fiber", run_yield},
    {"parked", "fiber", run_parked},     {NULL, NULL, NULL}};
