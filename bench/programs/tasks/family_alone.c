/* family_alone.c: what each primitive costs when nobody waits: to one task, which awaits as its
 * header says; and, where plain threads have the same from others, to a thread. */
#include "tasks.h"

/* ---- by a task ---- */

struct alone {
  family_counted counted;
  union {
    volt_notify notify;
    volt_oneshot oneshot;
    volt_broadcast broadcast;
    volt_watch watch;
    volt_barrier barrier;
    volt_once once;
    volt_latch latch;
    volt_cond cond;
    volt_token token;
    volt_sem sem;
  };
  volt_broadcast_receiver receiver;
  uint64_t memory[16]; /* of elements */
  uint64_t seen;       /* of the watch: which version */
};

enum { PERMITS = 8 };

/* One task; each operation that goes as it should counts. */
static rt_outcome run_alone(const rt_options *o, struct alone *s, volt_task_fn *poll) {
  const rt_crew crew = {poll, s, NULL, family_count, NULL};
  rt_outcome outcome = rt_crew_run(o, &crew);
  rt_require(s->counted.done == rt_in_all(o), "every operation goes as it should");
  return outcome;
}

/* notify one, and await, which is over at once */
static int notify_poll(volt_task *t, volt_ctx *ctx) {
  rt_member *self = volt_container_of(t, rt_member, task);
  struct alone *s = (struct alone *)self->object;
  VOLT_TASK_BEGIN(self);
  self->start_ns = volt_now_ns();
  for (self->i = 0; self->i < self->operations; self->i++) {
    volt_notify_one(&s->notify);
    VOLT_AWAIT(self, volt_notify_wait_future(&self->future, &s->notify));
    self->sum += 1;
  }
  self->end_ns = volt_now_ns();
  VOLT_TASK_END(self);
}

static rt_outcome run_notify(const rt_options *o) {
  static struct alone s;
  volt_notify_init(&s.notify);
  rt_outcome outcome = run_alone(o, &s, notify_poll);
  volt_notify_destroy(&s.notify);
  return outcome;
}

/* a life: made, sent, received, ended */
static int oneshot_poll(volt_task *t, volt_ctx *ctx) {
  rt_member *self = volt_container_of(t, rt_member, task);
  struct alone *s = (struct alone *)self->object;
  VOLT_TASK_BEGIN(self);
  self->start_ns = volt_now_ns();
  for (self->i = 0; self->i < self->operations; self->i++) {
    volt_oneshot_init(&s->oneshot, sizeof *s->memory, s->memory);
    if (volt_oneshot_send(&s->oneshot, &self->i) != VOLT_OK) break;
    VOLT_AWAIT_TRY(self, self->result, volt_oneshot_try_recv(&s->oneshot, &self->value),
                   volt_oneshot_recv_future(&self->future, &s->oneshot, &self->value));
    self->sum += self->result == VOLT_OK && self->value == self->i;
    volt_oneshot_destroy(&s->oneshot);
  }
  self->end_ns = volt_now_ns();
  VOLT_TASK_END(self);
}

static rt_outcome run_oneshot(const rt_options *o) {
  static struct alone s;
  return run_alone(o, &s, oneshot_poll);
}

/* send to one receiver, receive */
static int broadcast_poll(volt_task *t, volt_ctx *ctx) {
  rt_member *self = volt_container_of(t, rt_member, task);
  struct alone *s = (struct alone *)self->object;
  VOLT_TASK_BEGIN(self);
  self->start_ns = volt_now_ns();
  for (self->i = 0; self->i < self->operations; self->i++) {
    volt_broadcast_send(&s->broadcast, &self->i);
    VOLT_AWAIT_TRY(self, self->result, volt_broadcast_try_recv(&s->receiver, &self->value),
                   volt_broadcast_recv_future(&self->future, &s->receiver, &self->value));
    self->sum += self->result == VOLT_OK && self->value == self->i;
  }
  self->end_ns = volt_now_ns();
  VOLT_TASK_END(self);
}

static rt_outcome run_broadcast(const rt_options *o) {
  static struct alone s;
  int result = volt_broadcast_init(&s.broadcast, 16, sizeof *s.memory, s.memory, sizeof s.memory);
  rt_require(result == VOLT_OK, "there is a broadcast");
  volt_broadcast_subscribe(&s.broadcast, &s.receiver);
  rt_outcome outcome = run_alone(o, &s, broadcast_poll);
  volt_broadcast_destroy(&s.broadcast);
  return outcome;
}

/* send, await the change, look */
static int watch_poll(volt_task *t, volt_ctx *ctx) {
  rt_member *self = volt_container_of(t, rt_member, task);
  struct alone *s = (struct alone *)self->object;
  VOLT_TASK_BEGIN(self);
  self->start_ns = volt_now_ns();
  for (self->i = 0; self->i < self->operations; self->i++) {
    volt_watch_send(&s->watch, &self->i);
    VOLT_AWAIT_TRY(self, self->result, volt_watch_try_changed(&s->watch, &s->seen),
                   volt_watch_changed_future(&self->future, &s->watch, &s->seen));
    volt_watch_get(&s->watch, &self->value);
    self->sum += self->result == VOLT_OK && self->value == self->i;
  }
  self->end_ns = volt_now_ns();
  VOLT_TASK_END(self);
}

static rt_outcome run_watch(const rt_options *o) {
  static struct alone s;
  volt_watch_init(&s.watch, sizeof *s.memory, s.memory, NULL);
  rt_outcome outcome = run_alone(o, &s, watch_poll);
  volt_watch_destroy(&s.watch);
  return outcome;
}

/* a barrier for one */
static int barrier_poll(volt_task *t, volt_ctx *ctx) {
  rt_member *self = volt_container_of(t, rt_member, task);
  struct alone *s = (struct alone *)self->object;
  VOLT_TASK_BEGIN(self);
  self->start_ns = volt_now_ns();
  for (self->i = 0; self->i < self->operations; self->i++) {
    VOLT_AWAIT_RESULT(self, self->result, volt_barrier_wait_future(&self->future, &s->barrier));
    self->sum += self->result == VOLT_LEADER;
  }
  self->end_ns = volt_now_ns();
  VOLT_TASK_END(self);
}

static rt_outcome run_barrier(const rt_options *o) {
  static struct alone s;
  volt_barrier_init(&s.barrier, 1);
  rt_outcome outcome = run_alone(o, &s, barrier_poll);
  volt_barrier_destroy(&s.barrier);
  return outcome;
}

/* come when it is done: one load says so, and nothing is awaited */
static int once_poll(volt_task *t, volt_ctx *ctx) {
  rt_member *self = volt_container_of(t, rt_member, task);
  struct alone *s = (struct alone *)self->object;
  VOLT_TASK_BEGIN(self);
  self->start_ns = volt_now_ns();
  for (self->i = 0; self->i < self->operations; self->i++) {
    if (!volt_once_is_done(&s->once)) {
      VOLT_AWAIT_RESULT(self, self->result, volt_once_begin_future(&self->future, &s->once));
      rt_require(self->result == VOLT_DONE, "it is done by another one");
    }
    self->sum += 1;
  }
  self->end_ns = volt_now_ns();
  VOLT_TASK_END(self);
}

static rt_outcome run_once(const rt_options *o) {
  static struct alone s;
  volt_once_init(&s.once);
  rt_require(volt_once_begin(&s.once) == VOLT_OK, "it begins");
  volt_once_done(&s.once);
  rt_outcome outcome = run_alone(o, &s, once_poll);
  volt_once_destroy(&s.once);
  return outcome;
}

/* a life: made for one, counted down, awaited, ended */
static int latch_poll(volt_task *t, volt_ctx *ctx) {
  rt_member *self = volt_container_of(t, rt_member, task);
  struct alone *s = (struct alone *)self->object;
  VOLT_TASK_BEGIN(self);
  self->start_ns = volt_now_ns();
  for (self->i = 0; self->i < self->operations; self->i++) {
    volt_latch_init(&s->latch, 1);
    volt_latch_done(&s->latch);
    VOLT_AWAIT_TRY(self, self->result, volt_latch_try_wait(&s->latch),
                   volt_latch_wait_future(&self->future, &s->latch));
    self->sum += self->result == VOLT_OK;
    volt_latch_destroy(&s->latch);
  }
  self->end_ns = volt_now_ns();
  VOLT_TASK_END(self);
}

static rt_outcome run_latch(const rt_options *o) {
  static struct alone s;
  return run_alone(o, &s, latch_poll);
}

/* signal, without the mutex */
static int cond_poll(volt_task *t, volt_ctx *ctx) {
  rt_member *self = volt_container_of(t, rt_member, task);
  struct alone *s = (struct alone *)self->object;
  (void)ctx; /* nothing is awaited */
  self->start_ns = volt_now_ns();
  for (self->i = 0; self->i < self->operations; self->i++) volt_cond_signal(&s->cond);
  self->sum = self->i;
  self->end_ns = volt_now_ns();
  return VOLT_OK;
}

static rt_outcome run_cond(const rt_options *o) {
  static struct alone s;
  volt_cond_init(&s.cond);
  rt_outcome outcome = run_alone(o, &s, cond_poll);
  volt_cond_destroy(&s.cond);
  return outcome;
}

/* is it cancelled? */
static int token_poll(volt_task *t, volt_ctx *ctx) {
  rt_member *self = volt_container_of(t, rt_member, task);
  struct alone *s = (struct alone *)self->object;
  (void)ctx; /* nothing is awaited */
  self->start_ns = volt_now_ns();
  for (self->i = 0; self->i < self->operations; self->i++) {
    self->sum += !volt_token_is_cancelled(&s->token);
  }
  self->end_ns = volt_now_ns();
  return VOLT_OK;
}

static rt_outcome run_token(const rt_options *o) {
  static struct alone s;
  volt_token_init(&s.token);
  rt_outcome outcome = run_alone(o, &s, token_poll);
  volt_token_destroy(&s.token);
  return outcome;
}

/* ---- what else a semaphore does; by a task ---- */

static rt_outcome run_sem(const rt_options *o, struct alone *s, volt_task_fn *poll) {
  volt_sem_init(&s->sem, PERMITS);
  rt_outcome outcome = run_alone(o, s, poll);
  rt_require(volt_sem_available(&s->sem) == PERMITS, "every permit was given back");
  volt_sem_destroy(&s->sem);
  return outcome;
}

/* the limit down by one, and up */
static int limit_poll(volt_task *t, volt_ctx *ctx) {
  rt_member *self = volt_container_of(t, rt_member, task);
  struct alone *s = (struct alone *)self->object;
  (void)ctx; /* nothing is awaited */
  self->start_ns = volt_now_ns();
  for (self->i = 0; self->i < self->operations; self->i++) {
    volt_sem_set_limit(&s->sem, PERMITS - 1);
    volt_sem_set_limit(&s->sem, PERMITS);
    self->sum += 1;
  }
  self->end_ns = volt_now_ns();
  return VOLT_OK;
}

/* drain, release */
static int drain_poll(volt_task *t, volt_ctx *ctx) {
  rt_member *self = volt_container_of(t, rt_member, task);
  struct alone *s = (struct alone *)self->object;
  (void)ctx; /* nothing is awaited */
  self->start_ns = volt_now_ns();
  for (self->i = 0; self->i < self->operations; self->i++) {
    uint32_t drained = volt_sem_drain(&s->sem);
    volt_sem_release(&s->sem, drained);
    self->sum += drained == PERMITS;
  }
  self->end_ns = volt_now_ns();
  return VOLT_OK;
}

/* acquire all, release them */
static int all_poll(volt_task *t, volt_ctx *ctx) {
  rt_member *self = volt_container_of(t, rt_member, task);
  struct alone *s = (struct alone *)self->object;
  VOLT_TASK_BEGIN(self);
  self->start_ns = volt_now_ns();
  for (self->i = 0; self->i < self->operations; self->i++) {
    VOLT_AWAIT(self, volt_sem_acquire_all_future(&self->future, &s->sem));
    self->sum += volt_sem_future_taken(&self->future) == PERMITS;
    volt_sem_release(&s->sem, volt_sem_future_taken(&self->future));
  }
  self->end_ns = volt_now_ns();
  VOLT_TASK_END(self);
}

static rt_outcome run_limit(const rt_options *o) {
  static struct alone s;
  return run_sem(o, &s, limit_poll);
}

static rt_outcome run_drain(const rt_options *o) {
  static struct alone s;
  return run_sem(o, &s, drain_poll);
}

static rt_outcome run_all(const rt_options *o) {
  static struct alone s;
  return run_sem(o, &s, all_poll);
}

/* ---- by a thread ---- */

/* So many operations. Returns how many went as they should. */
typedef uint64_t thread_fn(uint64_t operations);

/* The same as the tasks do, by the calls that block. */
static uint64_t thread_latch(uint64_t operations) {
  uint64_t done = 0;
  for (uint64_t i = 0; i < operations; i++) {
    volt_latch l;
    volt_latch_init(&l, 1);
    volt_latch_done(&l);
    done += volt_latch_wait_until(&l, VOLT_NO_DEADLINE) == VOLT_OK;
    volt_latch_destroy(&l);
  }
  return done;
}

static int nothing(void *arg) {
  (void)arg;
  return VOLT_OK;
}

static uint64_t thread_once(uint64_t operations) {
  volt_once o = VOLT_ONCE_INIT;
  uint64_t done = 0;
  for (uint64_t i = 0; i < operations; i++) done += volt_once_call(&o, nothing, NULL) == VOLT_OK;
  volt_once_destroy(&o);
  return done;
}

static uint64_t thread_cond(uint64_t operations) {
  volt_cond c = VOLT_COND_INIT;
  for (uint64_t i = 0; i < operations; i++) volt_cond_signal(&c);
  volt_cond_destroy(&c);
  return operations;
}

static uint64_t thread_barrier(uint64_t operations) {
  volt_barrier b = VOLT_BARRIER_INIT(1);
  uint64_t done = 0;
  for (uint64_t i = 0; i < operations; i++) {
    done += volt_barrier_wait(&b) == VOLT_LEADER;
  }
  volt_barrier_destroy(&b);
  return done;
}

static uint64_t thread_token(uint64_t operations) {
  volt_token t = VOLT_TOKEN_INIT;
  uint64_t done = 0;
  for (uint64_t i = 0; i < operations; i++) done += !volt_token_is_cancelled(&t);
  volt_token_destroy(&t);
  return done;
}

static rt_outcome measure(const rt_options *o, thread_fn *run) {
  uint64_t operations = o->operations;
  chan_sleeper sleeper;
  chan_sleeper_start(&sleeper);
  run(rt_warm_up(operations));
  uint64_t cpu_ns = rt_cpu_ns();
  uint64_t start_ns = volt_now_ns();
  uint64_t done = run(operations);
  double ns = (double)(volt_now_ns() - start_ns);
  cpu_ns = rt_cpu_ns() - cpu_ns;
  chan_sleeper_end(&sleeper);
  rt_require(done == operations, "every operation goes as it should");
  rt_outcome outcome = {0};
  rt_measured(&outcome, RT_NS, ns / (double)operations);
  rt_measured(&outcome, RT_CPU_NS, (double)cpu_ns / (double)operations);
  return outcome;
}

static rt_outcome by_thread_latch(const rt_options *o) {
  return measure(o, thread_latch);
}
static rt_outcome by_thread_once(const rt_options *o) {
  return measure(o, thread_once);
}
static rt_outcome by_thread_cond(const rt_options *o) {
  return measure(o, thread_cond);
}
static rt_outcome by_thread_barrier(const rt_options *o) {
  return measure(o, thread_barrier);
}
static rt_outcome by_thread_token(const rt_options *o) {
  return measure(o, thread_token);
}

const rt_case family_alone_cases[] = {
    {"alone-notify", "native", run_notify},       {"alone-oneshot", "native", run_oneshot},
    {"alone-broadcast", "native", run_broadcast}, {"alone-watch", "native", run_watch},
    {"alone-barrier", "native", run_barrier},     {"alone-once", "native", run_once},
    {"alone-latch", "native", run_latch},         {"alone-cond", "native", run_cond},
    {"alone-token", "native", run_token},         {"alone-limit", "native", run_limit},
    {"alone-drain", "native", run_drain},         {"alone-all", "native", run_all},
    {"alone-latch", "thread", by_thread_latch},   {"alone-once", "thread", by_thread_once},
    {"alone-cond", "thread", by_thread_cond},     {"alone-barrier", "thread", by_thread_barrier},
    {"alone-token", "thread", by_thread_token},   {NULL, NULL, NULL}};
