/* sem.c: workloads on a semaphore, and on a lock that one task holds for a while. Compiled for each engine (sem_future.h), of which CMakeLists.txt
 * says what its table is called (RT_CASES: sem, held), and its name. */
#include <stdlib.h>

#include "histogram.h"
#include "sem_future.h"

/* ---- acquire, give back ---- */

/* A future is made only of what has to wait. */
static int sem_poll(volt_task *t, volt_ctx *ctx) {
  rt_member *self = volt_container_of(t, rt_member, task);
  engine_sem *sem = (engine_sem *)self->object;
  VOLT_TASK_BEGIN(self);
  self->start_ns = volt_now_ns();
  for (self->i = 0; self->i < self->operations; self->i++) {
    VOLT_AWAIT_TRY(self, self->result, engine_sem_try_acquire(sem, 1),
                   engine_sem_future(&self->future, sem, 1));
    rt_require(self->result == VOLT_OK, "a task gets a permit");
    engine_sem_release(sem, 1);
  }
  self->end_ns = volt_now_ns();
  VOLT_TASK_END(self);
}

/* Nearly everyone has to wait. */
static int held_poll(volt_task *t, volt_ctx *ctx) {
  rt_member *self = volt_container_of(t, rt_member, task);
  engine_sem *sem = (engine_sem *)self->object;
  VOLT_TASK_BEGIN(self);
  self->start_ns = volt_now_ns();
  for (self->i = 0; self->i < self->operations; self->i++) {
    VOLT_AWAIT(self, engine_sem_future(&self->future, sem, 1));
    VOLT_YIELD(self);
    engine_sem_release(sem, 1);
  }
  self->end_ns = volt_now_ns();
  VOLT_TASK_END(self);
}

static rt_outcome on_permits(const rt_options *o, uint32_t permits, volt_task_fn *poll) {
  static VOLT_CACHE_ALIGNED engine_sem sem;
  engine_sem_init(&sem, permits);
  const rt_crew crew = {poll, &sem, NULL, NULL, NULL};
  rt_outcome outcome = rt_crew_run(o, &crew);
  rt_require(engine_sem_available(&sem) == permits, "every permit was given back");
  engine_sem_destroy(&sem);
  return outcome;
}

static rt_outcome run_alone(const rt_options *o) {
  return on_permits(o, 1, sem_poll);
}

static rt_outcome run_sem(const rt_options *o) {
  return on_permits(o, o->amount, sem_poll);
}

static rt_outcome run_held(const rt_options *o) {
  return on_permits(o, o->amount, held_poll);
}

/* ---- ping-pong ---- */

typedef struct cushioned {
  VOLT_CACHE_ALIGNED engine_sem sem;
} cushioned;

/* Member 0 serves: it gives first, and the other gives when it has received. */
static int pingpong_poll(volt_task *t, volt_ctx *ctx) {
  rt_member *self = volt_container_of(t, rt_member, task);
  cushioned *sems = (cushioned *)self->object;
  VOLT_TASK_BEGIN(self);
  self->start_ns = volt_now_ns();
  for (self->i = 0; self->i < self->operations; self->i++) {
    if (self->index == 0) engine_sem_release(&sems[1].sem, 1);
    VOLT_AWAIT(self, engine_sem_future(&self->future, &sems[self->index].sem, 1));
    if (self->index == 1) engine_sem_release(&sems[0].sem, 1);
  }
  self->end_ns = volt_now_ns();
  VOLT_TASK_END(self);
}

/* A hop is half of an operation of one of the two: that of all over all operations of both. */
static rt_outcome run_pingpong(const rt_options *o) {
  static cushioned sems[2];
  for (unsigned i = 0; i < 2; i++) engine_sem_init(&sems[i].sem, 0);
  const rt_crew crew = {pingpong_poll, sems, NULL, NULL, NULL};
  rt_outcome outcome = rt_crew_run(o, &crew);
  for (unsigned i = 0; i < 2; i++) {
    rt_require(engine_sem_available(&sems[i].sem) == 0, "every permit was taken");
    engine_sem_destroy(&sems[i].sem);
  }
  return outcome;
}

const rt_case RT_SEM_CASES[] = {{"alone-sem", RT_NAME, run_alone},
                                {"sem", RT_NAME, run_sem},
                                {"held", RT_NAME, run_held},
                                {"pingpong", RT_NAME, run_pingpong},
                                {NULL, NULL, NULL}};

/* ---- cycles, waits, cancel: the lock is the engine's semaphore with one permit; native: the
 * library's mutex, but for cancel, which is about permits ---- */

#ifdef RT_NATIVE
typedef volt_mutex lock;
#define lock_init(l, o) volt_mutex_init_bypass((l), (o)->bypass)
#define lock_destroy(l) volt_mutex_destroy(l)
#define lock_future(f, l) volt_mutex_lock_future((f), (l))
#define lock_give(l) volt_mutex_unlock(l)
#define lock_is_free(l) (!volt_mutex_is_locked(l))
#else
typedef engine_sem lock;
#define lock_init(l, o) engine_sem_init((l), 1)
#define lock_destroy(l) engine_sem_destroy(l)
#define lock_future(f, l) engine_sem_future((f), (l), 1)
#define lock_give(l) engine_sem_release((l), 1)
#define lock_is_free(l) (engine_sem_available(l) == 1)
#endif

/* ---- cycles: do waits allocate? ---- */

struct cycles {
  VOLT_CACHE_ALIGNED lock lock;
  uint64_t count; /* plain: the lock protects it */
  uint32_t tasks;
  VOLT_ATOMIC(uint32_t) came, left; /* members */
  VOLT_ATOMIC(uint32_t) counting;
  uint64_t allocations; /* of the last run */
};

/* Allocations are counted from when all have been spawned, which allocates, until all are done. */
static void come(struct cycles *s) {
  if (volt_fetch_add_acq_rel(&s->came, 1) + 1 < s->tasks) return;
  rt_allocations_count();
  volt_store_release(&s->counting, 1);
}

static void leave(struct cycles *s) {
  if (volt_fetch_add_acq_rel(&s->left, 1) + 1 < s->tasks) return;
  s->allocations = rt_allocations_counted();
}

/* Whoever else had the lock meanwhile would be overwritten. */
static int cycles_poll(volt_task *t, volt_ctx *ctx) {
  rt_member *self = volt_container_of(t, rt_member, task);
  struct cycles *s = (struct cycles *)self->object;
  VOLT_TASK_BEGIN(self);
  come(s);
  while (!volt_load_acquire(&s->counting)) VOLT_YIELD(self);
  self->start_ns = volt_now_ns();
  for (self->i = 0; self->i < self->operations; self->i++) {
    VOLT_AWAIT(self, lock_future(&self->future, &s->lock));
    self->value = s->count;
    VOLT_YIELD(self);
    s->count = self->value + 1;
    lock_give(&s->lock);
  }
  self->end_ns = volt_now_ns();
  leave(s);
  VOLT_TASK_END(self);
}

static void begin_cycles(void *object, const rt_options *o, uint64_t operations) {
  struct cycles *s = (struct cycles *)object;
  (void)operations;
  s->tasks = o->tasks;
  volt_store_relaxed(&s->came, 0); /* not shared: nobody runs */
  volt_store_relaxed(&s->left, 0);
  volt_store_relaxed(&s->counting, 0);
}

static rt_outcome run_cycles(const rt_options *o) {
  static struct cycles s;
  lock_init(&s.lock, o);
  const rt_crew crew = {cycles_poll, &s, begin_cycles, NULL, NULL};
  rt_outcome outcome = rt_crew_run(o, &crew);
  rt_require(s.count == rt_in_all(o), "one task at a time has the lock");
  lock_destroy(&s.lock);
  double all = (double)o->operations * o->tasks;
  rt_measured(&outcome, RT_ALLOCATIONS, (double)s.allocations / all);
  return outcome;
}

/* ---- waits: how long does each have to wait? ---- */

struct waits {
  VOLT_CACHE_ALIGNED lock lock;
  uint64_t done, total; /* plain: the lock protects them */
  uint64_t work_ns;
  histogram *own; /* of each member */
  histogram all;  /* of the last run, like what follows */
  uint64_t sum, least, most;
};

static void work_until(uint64_t end_ns) {
  while (volt_now_ns() < end_ns) continue;
}

/* value: when it began to wait; i: what it has done. */
static int waits_poll(volt_task *t, volt_ctx *ctx) {
  rt_member *self = volt_container_of(t, rt_member, task);
  struct waits *s = (struct waits *)self->object;
  VOLT_TASK_BEGIN(self);
  self->start_ns = volt_now_ns();
  for (;;) {
    self->value = volt_now_ns();
    VOLT_AWAIT(self, lock_future(&self->future, &s->lock));
    if (s->done == s->total) break;
    uint64_t now_ns = volt_now_ns();
    s->done += 1;
    if (s->work_ns > 0) work_until(now_ns + s->work_ns);
    lock_give(&s->lock);
    histogram_add(&s->own[self->index], now_ns - self->value);
    self->i += 1;
    VOLT_YIELD(self);
  }
  lock_give(&s->lock);
  self->end_ns = volt_now_ns();
  VOLT_TASK_END(self);
}

static void begin_waits(void *object, const rt_options *o, uint64_t operations) {
  static const histogram empty;
  struct waits *s = (struct waits *)object;
  s->total = operations * o->tasks;
  s->done = s->sum = s->most = 0;
  s->least = UINT64_MAX;
  s->all = empty;
  for (uint32_t i = 0; i < o->tasks; i++) s->own[i] = empty;
}

static void look_at_waits(void *object, const rt_member *m) {
  struct waits *s = (struct waits *)object;
  histogram_merge(&s->all, &s->own[m->index]);
  s->sum += m->i;
  if (m->i < s->least) s->least = m->i;
  if (m->i > s->most) s->most = m->i;
}

static rt_outcome run_waits(const rt_options *o) {
  static struct waits s;
  s.work_ns = o->amount;
  s.own = (histogram *)calloc(o->tasks, sizeof *s.own);
  rt_require(s.own != NULL, "there is memory for histograms");
  lock_init(&s.lock, o);
  const rt_crew crew = {waits_poll, &s, begin_waits, look_at_waits, NULL};
  rt_outcome outcome = rt_crew_run(o, &crew);
  rt_require(s.sum == s.total && s.all.count == s.total, "every operation has one wait");
  lock_destroy(&s.lock);
  free(s.own);
  rt_measured(&outcome, RT_P50_NS, (double)histogram_quantile(&s.all, 0.5));
  rt_measured(&outcome, RT_P99_NS, (double)histogram_quantile(&s.all, 0.99));
  rt_measured(&outcome, RT_P999_NS, (double)histogram_quantile(&s.all, 0.999));
  rt_measured(&outcome, RT_LONGEST_NS, (double)s.all.max);
  rt_measured(&outcome, RT_SLOWEST_SHARE, (double)s.least / (double)s.most);
  return outcome;
}

/* ---- cancel: some give up ---- */

struct cancels {
  VOLT_CACHE_ALIGNED engine_sem sem;
  uint64_t count;   /* plain: the permit protects it */
  uint64_t percent; /* of the attempts are given up, if they are not granted soon */
  uint64_t lost;    /* in the last run */
  uint64_t lost_in_all;
};

/* Evenly spread, and the same in every program. */
static bool is_impatient(const rt_member *m, uint64_t percent) {
  return m->i * percent / 100 != (m->i + 1) * percent / 100;
}

/* sum: attempts that were given up. */
static int cancel_poll(volt_task *t, volt_ctx *ctx) {
  rt_member *self = volt_container_of(t, rt_member, task);
  struct cancels *s = (struct cancels *)self->object;
  VOLT_TASK_BEGIN(self);
  self->start_ns = volt_now_ns();
  for (self->i = 0; self->i < self->operations; self->i++) {
    volt_future_made(engine_sem_future(&self->future, &s->sem, 1));
    if (is_impatient(self, s->percent) &&
        volt_future_poll_ctx(&self->future, ctx) == VOLT_PENDING) {
      VOLT_YIELD(self);
      if (volt_future_poll_ctx(&self->future, ctx) == VOLT_PENDING) {
        volt_future_cancel(&self->future);
      }
    }
    /* What is ready stays as it is. */
    VOLT_AWAIT_RESULT(self, self->result, &self->future);
    if (self->result == VOLT_ECANCELED) {
      self->sum += 1;
      continue;
    }
    rt_require(self->result == VOLT_OK, "a task gets the permit");
    self->value = s->count;
    VOLT_YIELD(self);
    s->count = self->value + 1;
    engine_sem_release(&s->sem, 1);
  }
  self->end_ns = volt_now_ns();
  VOLT_TASK_END(self);
}

static void begin_cancels(void *object, const rt_options *o, uint64_t operations) {
  struct cancels *s = (struct cancels *)object;
  (void)operations;
  s->percent = o->amount;
  s->lost = 0;
}

static void look_at_cancels(void *object, const rt_member *m) {
  struct cancels *s = (struct cancels *)object;
  s->lost += m->sum;
  s->lost_in_all += m->sum;
}

static rt_outcome run_cancel(const rt_options *o) {
  static struct cancels s;
  engine_sem_init(&s.sem, 1);
  const rt_crew crew = {cancel_poll, &s, begin_cancels, look_at_cancels, NULL};
  rt_outcome outcome = rt_crew_run(o, &crew);
  rt_require(s.count + s.lost_in_all == rt_in_all(o), "every attempt is granted or given up");
  rt_require(engine_sem_available(&s.sem) == 1, "the permit was given back");
  engine_sem_destroy(&s.sem);
  double all = (double)o->operations * o->tasks;
  rt_measured(&outcome, RT_LOST, (double)s.lost / all);
  return outcome;
}

const rt_case RT_HELD_CASES[] = {{"cycles", RT_NAME, run_cycles},
                                 {"waits", RT_NAME, run_waits},
                                 {"cancel", RT_NAME, run_cancel},
                                 {NULL, NULL, NULL}};
