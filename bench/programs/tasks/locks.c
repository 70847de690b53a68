/* locks.c: the mutex and the read-write lock: alone, and several tasks that do little under it. A
 * future is made only of what has to wait (VOLT_AWAIT_TRY). */
#include "core/park/spin.h"
#include "tasks.h"

struct locked {
  VOLT_CACHE_ALIGNED volt_mutex mutex;
  VOLT_CACHE_ALIGNED volt_rwlock rwlock;
  uint64_t count;   /* plain: the lock protects it */
  uint32_t writers; /* the first members */
  uint32_t most_looks;
  VOLT_ATOMIC(uint32_t) looks;    /* what a task may spend now, before it queues */
  VOLT_ATOMIC(uintptr_t) granter; /* the worker that unlocked last */
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
  volt_mutex_init_bypass(&s->mutex, o->bypass);
  volt_rwlock_init_bypass(&s->rwlock, o->bypass);
  const rt_crew crew = {poll, s, NULL, NULL, NULL};
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
  static struct locked s;
  return run_on(&s, o, alone_mutex_poll);
}

static rt_outcome run_alone_read(const rt_options *o) {
  static struct locked s;
  return run_on(&s, o, alone_read_poll);
}

static rt_outcome run_alone_write(const rt_options *o) {
  static struct locked s;
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

/* ---- looking before queueing: what it would gain, tried outside of the library ----
 *
 * A task that finds the mutex locked looks again, up to so many times, before it queues. It looks
 * only if another worker was the last to unlock: else the next holder may be in this worker's own
 * slot, and cannot run meanwhile. How often it may look adapts: twice as often after a success, up
 * to the most; half as often after a failure; one attempt in 64 tries again when that is 0. */

enum { PROBE = 64 };

/* An address that only this worker has. */
static uintptr_t this_worker(void) {
  static _Thread_local char here;
  return (uintptr_t)&here;
}

/* relaxed: hints; the mutex orders what it protects */
static int look_and_lock(struct locked *s, const rt_member *m) {
  int result = volt_mutex_try_lock(&s->mutex);
  if (result == VOLT_OK || volt_load_relaxed(&s->granter) == this_worker()) return result;
  uint32_t looks = volt_load_relaxed(&s->looks);
  uint32_t most = looks > 0 ? looks : m->i % PROBE == 0;
  for (uint32_t i = 0; i < most; i++) {
    volt_cpu_relax_();
    result = volt_mutex_try_lock(&s->mutex);
    if (result != VOLT_OK) continue;
    uint32_t twice = looks > 0 ? 2 * looks : 1;
    volt_store_relaxed(&s->looks, twice < s->most_looks ? twice : s->most_looks);
    return result;
  }
  if (looks > 0) volt_store_relaxed(&s->looks, looks / 2);
  return result;
}

static int looking_poll(volt_task *t, volt_ctx *ctx) {
  rt_member *self = volt_container_of(t, rt_member, task);
  struct locked *s = (struct locked *)self->object;
  VOLT_TASK_BEGIN(self);
  self->start_ns = volt_now_ns();
  for (self->i = 0; self->i < self->operations; self->i++) {
    AWAIT(self, look_and_lock(s, self), volt_mutex_lock_future(&self->future, &s->mutex),
          "a task gets the lock");
    s->count += 1;
    volt_store_relaxed(&s->granter, this_worker()); /* a hint */
    volt_mutex_unlock(&s->mutex);
  }
  self->end_ns = volt_now_ns();
  VOLT_TASK_END(self);
}

static rt_outcome run_mutex(const rt_options *o) {
  static struct locked s;
  s.most_looks = o->looks;
  volt_store_relaxed(&s.looks, o->looks); /* not shared yet */
  rt_outcome outcome = run_on(&s, o, o->looks > 0 ? looking_poll : mutex_poll);
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
  static struct locked s;
  s.writers = o->amount;
  rt_outcome outcome = run_on(&s, o, rwlock_poll);
  rt_require(s.count == rt_in_all(o) / o->tasks * o->amount, "one writer at a time has the lock");
  return outcome;
}

const rt_case rt_lock_cases[] = {
    {"alone-mutex", "native", run_alone_mutex}, {"alone-read", "native", run_alone_read},
    {"alone-write", "native", run_alone_write}, {"mutex", "native", run_mutex},
    {"rwlock", "native", run_rwlock},           {NULL, NULL, NULL}};
