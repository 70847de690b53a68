/* sem.c: workloads on a semaphore. Compiled for each engine (sem_future.h), of which CMakeLists.txt
 * says what its table is called (RT_CASES: sem, held), and its name. */
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
  const rt_crew crew = {poll, &sem, NULL, NULL};
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
  const rt_crew crew = {pingpong_poll, sems, NULL, NULL};
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
