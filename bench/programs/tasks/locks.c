/* locks.c: the mutex and the read-write lock: alone, and several tasks that do little under it. A
 * future is made only of what has to wait (VOLT_AWAIT_TRY). */
#include "tasks.h"

struct locked {
  VOLT_CACHE_ALIGNED volt_mutex mutex;
  VOLT_CACHE_ALIGNED volt_rwlock rwlock;
  uint64_t count;   /* plain: the lock protects it */
  uint32_t writers; /* the first members */
};

#define AWAIT(self, attempt, future, what)                 \
  do {                                                     \
    VOLT_AWAIT_TRY(self, (self)->result, attempt, future); \
    rt_require((self)->result == VOLT_OK, what);           \
  } while (0)
#define AWAIT_LOCK(self, m)                                                       \
  AWAIT(self, volt_mutex_try_lock(m), volt_mutex_lock_future(&(self)->future, m), \
        "a task gets the lock")
#define AWAIT_READ(self, rw)                                                          \
  AWAIT(self, volt_rwlock_try_read(rw), volt_rwlock_read_future(&(self)->future, rw), \
        "a task may read")
#define AWAIT_WRITE(self, rw)                                                           \
  AWAIT(self, volt_rwlock_try_write(rw), volt_rwlock_write_future(&(self)->future, rw), \
        "a task may write")

static rt_outcome run_on(struct locked *s, const rt_options *o, volt_task_fn *poll) {
  const rt_crew crew = {poll, s, NULL, NULL};
  rt_outcome outcome = rt_crew_run(o, &crew);
  volt_mutex_destroy(&s->mutex); /* aborts if it is locked */
  volt_rwlock_destroy(&s->rwlock);
  return outcome;
}

/* ---- alone ---- */

static int alone_mutex_poll(volt_task *t, volt_ctx *ctx) {
  rt_member *self = volt_container_of(t, rt_member, task);
  struct locked *s = (struct locked *)self->object;
  VOLT_TASK_BEGIN(self);
  self->start_ns = volt_now_ns();
  for (self->i = 0; self->i < self->operations; self->i++) {
    AWAIT_LOCK(self, &s->mutex);
    volt_mutex_unlock(&s->mutex);
  }
  self->end_ns = volt_now_ns();
  VOLT_TASK_END(self);
}

static int alone_read_poll(volt_task *t, volt_ctx *ctx) {
  rt_member *self = volt_container_of(t, rt_member, task);
  struct locked *s = (struct locked *)self->object;
  VOLT_TASK_BEGIN(self);
  self->start_ns = volt_now_ns();
  for (self->i = 0; self->i < self->operations; self->i++) {
    AWAIT_READ(self, &s->rwlock);
    volt_rwlock_read_unlock(&s->rwlock);
  }
  self->end_ns = volt_now_ns();
  VOLT_TASK_END(self);
}

static int alone_write_poll(volt_task *t, volt_ctx *ctx) {
  rt_member *self = volt_container_of(t, rt_member, task);
  struct locked *s = (struct locked *)self->object;
  VOLT_TASK_BEGIN(self);
  self->start_ns = volt_now_ns();
  for (self->i = 0; self->i < self->operations; self->i++) {
    AWAIT_WRITE(self, &s->rwlock);
    volt_rwlock_write_unlock(&s->rwlock);
  }
  self->end_ns = volt_now_ns();
  VOLT_TASK_END(self);
}

static rt_outcome run_alone_mutex(const rt_options *o) {
  static struct locked s = {VOLT_MUTEX_INIT, VOLT_RWLOCK_INIT, 0, 0};
  return run_on(&s, o, alone_mutex_poll);
}

static rt_outcome run_alone_read(const rt_options *o) {
  static struct locked s = {VOLT_MUTEX_INIT, VOLT_RWLOCK_INIT, 0, 0};
  return run_on(&s, o, alone_read_poll);
}

static rt_outcome run_alone_write(const rt_options *o) {
  static struct locked s = {VOLT_MUTEX_INIT, VOLT_RWLOCK_INIT, 0, 0};
  return run_on(&s, o, alone_write_poll);
}

/* ---- several ---- */

static int mutex_poll(volt_task *t, volt_ctx *ctx) {
  rt_member *self = volt_container_of(t, rt_member, task);
  struct locked *s = (struct locked *)self->object;
  VOLT_TASK_BEGIN(self);
  self->start_ns = volt_now_ns();
  for (self->i = 0; self->i < self->operations; self->i++) {
    AWAIT_LOCK(self, &s->mutex);
    s->count += 1;
    volt_mutex_unlock(&s->mutex);
  }
  self->end_ns = volt_now_ns();
  VOLT_TASK_END(self);
}

static rt_outcome run_mutex(const rt_options *o) {
  static struct locked s = {VOLT_MUTEX_INIT, VOLT_RWLOCK_INIT, 0, 0};
  rt_outcome outcome = run_on(&s, o, mutex_poll);
  rt_require(s.count == rt_in_all(o), "one task at a time has the lock");
  return outcome;
}

static int write_poll(rt_member *self, volt_ctx *ctx) {
  struct locked *s = (struct locked *)self->object;
  VOLT_TASK_BEGIN(self);
  self->start_ns = volt_now_ns();
  for (self->i = 0; self->i < self->operations; self->i++) {
    AWAIT_WRITE(self, &s->rwlock);
    s->count += 1;
    volt_rwlock_write_unlock(&s->rwlock);
  }
  self->end_ns = volt_now_ns();
  VOLT_TASK_END(self);
}

/* value: what it has seen last. */
static int read_poll(rt_member *self, volt_ctx *ctx) {
  struct locked *s = (struct locked *)self->object;
  VOLT_TASK_BEGIN(self);
  self->start_ns = volt_now_ns();
  for (self->i = 0; self->i < self->operations; self->i++) {
    AWAIT_READ(self, &s->rwlock);
    rt_require(s->count >= self->value, "a reader sees what it has seen before, or more");
    self->value = s->count;
    volt_rwlock_read_unlock(&s->rwlock);
  }
  self->end_ns = volt_now_ns();
  VOLT_TASK_END(self);
}

static int rwlock_poll(volt_task *t, volt_ctx *ctx) {
  rt_member *self = volt_container_of(t, rt_member, task);
  bool writes = self->index < ((struct locked *)self->object)->writers;
  return writes ? write_poll(self, ctx) : read_poll(self, ctx);
}

static rt_outcome run_rwlock(const rt_options *o) {
  static struct locked s = {VOLT_MUTEX_INIT, VOLT_RWLOCK_INIT, 0, 0};
  s.writers = o->amount;
  rt_outcome outcome = run_on(&s, o, rwlock_poll);
  rt_require(s.count == rt_in_all(o) / o->tasks * o->amount, "one writer at a time has the lock");
  return outcome;
}

const rt_case rt_lock_cases[] = {
    {"alone-mutex", "native", run_alone_mutex}, {"alone-read", "native", run_alone_read},
    {"alone-write", "native", run_alone_write}, {"mutex", "native", run_mutex},
    {"rwlock", "native", run_rwlock},           {NULL, NULL, NULL}};
