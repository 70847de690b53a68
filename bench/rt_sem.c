/* rt_sem.c: workloads on a semaphore. Compiled once for each engine (ENGINE_<NAME>, see
 * tests/support/engine.h), which CMakeLists.txt says along with what its table is called
 * (RT_ENGINE, RT_NAME). With RT_NATIVE the futures are the library's own; else they are made here
 * of the engine's waiter, in the same way for all, so that the queues are compared and nothing
 * else. */
#include "engine.h"
#include "future.h"
#include "rt_bench.h"

/* ---- a future of an engine's waiter ---- */

#ifdef RT_NATIVE

#define acquire_future volt_sem_acquire_future

#else

static int start(volt_future *f, volt_waker waker) {
  return engine_sem_acquire((engine_sem *)f->object, &f->waiter, f->n, waker);
}

static bool cancel(volt_future *f) {
  return engine_sem_cancel((engine_sem *)f->object, &f->waiter);
}

static bool set_waker(volt_future *f, volt_waker waker) {
  return engine_sem_set_waker((engine_sem *)f->object, &f->waiter, waker);
}

static void give_back(volt_future *f) {
  engine_sem_release((engine_sem *)f->object, f->n);
}

static const volt_future_ops_ ops = {
    .start = start, .cancel = cancel, .set_waker = set_waker, .give_back = give_back};

static volt_future *acquire_future(volt_future *f, engine_sem *sem, uint32_t n) {
  return volt_future_make_(f, &ops, sem, n);
}

#endif

/* ---- acquire, give back ---- */

static int sem_poll(volt_task *t, volt_ctx *ctx) {
  rt_member *self = volt_container_of(t, rt_member, task);
  engine_sem *sem = (engine_sem *)self->object;
  VOLT_TASK_BEGIN(self);
  self->start_ns = volt_now_ns();
  for (self->i = 0; self->i < self->operations; self->i++) {
    VOLT_AWAIT(self, acquire_future(&self->future, sem, 1));
    engine_sem_release(sem, 1);
  }
  self->end_ns = volt_now_ns();
  VOLT_TASK_END(self);
}

static int held_poll(volt_task *t, volt_ctx *ctx) {
  rt_member *self = volt_container_of(t, rt_member, task);
  engine_sem *sem = (engine_sem *)self->object;
  VOLT_TASK_BEGIN(self);
  self->start_ns = volt_now_ns();
  for (self->i = 0; self->i < self->operations; self->i++) {
    VOLT_AWAIT(self, acquire_future(&self->future, sem, 1));
    VOLT_YIELD(self);
    engine_sem_release(sem, 1);
  }
  self->end_ns = volt_now_ns();
  VOLT_TASK_END(self);
}

static rt_outcome on_permits(const rt_options *o, volt_task_fn *poll) {
  static VOLT_CACHE_ALIGNED engine_sem sem;
  engine_sem_init(&sem, o->permits);
  rt_outcome outcome = rt_crew_run(o, &sem, poll);
  rt_require(engine_sem_available(&sem) == o->permits, "every permit was given back");
  engine_sem_destroy(&sem);
  return outcome;
}

static rt_outcome run_sem(const rt_options *o) {
  return on_permits(o, sem_poll);
}

static rt_outcome run_held(const rt_options *o) {
  return on_permits(o, held_poll);
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
    VOLT_AWAIT(self, acquire_future(&self->future, &sems[self->index].sem, 1));
    if (self->index == 1) engine_sem_release(&sems[0].sem, 1);
  }
  self->end_ns = volt_now_ns();
  VOLT_TASK_END(self);
}

static rt_outcome run_pingpong(const rt_options *o) {
  static cushioned sems[2];
  rt_require(o->tasks == 2, "two play");
  for (unsigned i = 0; i < 2; i++) engine_sem_init(&sems[i].sem, 0);
  rt_outcome outcome = rt_crew_run(o, sems, pingpong_poll);
  for (unsigned i = 0; i < 2; i++) engine_sem_destroy(&sems[i].sem);
  return outcome;
}

const rt_engine RT_ENGINE = {RT_NAME, run_sem, run_held, run_pingpong};
