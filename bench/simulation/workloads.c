/* workloads.c: the workloads of bench/programs, on the simulated machine. This file is compiled as
 * the library is, so what its tasks do costs what it would cost. */
#include "workloads.h"

#include <string.h>

#include <volt/runtime.h>
#include <volt/volt.h>

#include "machine.h"

/* ---- a crew: some tasks that do the same number of operations each ---- */

typedef struct objects {
  VOLT_CACHE_ALIGNED volt_mutex mutex;
  VOLT_CACHE_ALIGNED volt_rwlock rwlock;
  VOLT_CACHE_ALIGNED volt_sem sem;
  VOLT_CACHE_ALIGNED volt_sem hands[2];
  VOLT_CACHE_ALIGNED volt_sharded_rwlock sharded;
  volt_rwlock_shard shards[SIM_CORES];
  VOLT_CACHE_ALIGNED uint64_t count; /* plain: the lock protects it */
} objects;

typedef struct member {
  volt_task task;
  volt_future future;
  volt_sharded_write write;
  objects *on;
  const setup *setup;
  uint32_t index;
  bool asks; /* it waits for its turn, not for something else */
  bool writes;
  int result;
  unsigned shard;
  uint64_t operations, i, random;
  volt_task_fn *poll;
  uint64_t start_ns, end_ns;
} member;

typedef struct chief {
  volt_task task;
  volt_future join;
  volt_rt *rt;
  member **members;
  volt_task_fn *poll;
  objects *on;
  const setup *setup;
  uint32_t i;
  uint64_t operations;
  uint64_t first_ns, last_ns;
} chief;

/* A member that waits for its turn is queued when its poll returns. */
static int member_poll(volt_task *t, volt_ctx *ctx) {
  member *self = volt_container_of(t, member, task);
  int result = self->poll(t, ctx);
  if (result == VOLT_PENDING && self->asks && !ctx->yield) books_waits(self->index);
  return result;
}

static void chief_spawn(chief *c) {
  member *m = VOLT_TASK_NEW(c->rt, member, member_poll);
  m->on = c->on;
  m->setup = c->setup;
  m->index = c->i;
  m->poll = c->poll;
  m->operations = c->operations;
  m->random = sim_random() | 1;
  c->members[c->i] = m;
  if (volt_spawn(c->rt, &m->task) != VOLT_OK) sim_stop("a task is not spawned");
}

static void chief_look(chief *c) {
  member *m = c->members[c->i];
  if (m->start_ns < c->first_ns) c->first_ns = m->start_ns;
  if (m->end_ns > c->last_ns) c->last_ns = m->end_ns;
  volt_task_detach(&m->task);
}

static int chief_poll(volt_task *t, volt_ctx *ctx) {
  chief *self = volt_container_of(t, chief, task);
  VOLT_TASK_BEGIN(self);
  for (self->i = 0; self->i < self->setup->tasks; self->i++) chief_spawn(self);
  for (self->i = 0; self->i < self->setup->tasks; self->i++) {
    VOLT_AWAIT(self, volt_task_join_future(&self->join, &self->members[self->i]->task));
    chief_look(self);
  }
  VOLT_TASK_END(self);
}

static volt_rt *begin_runtime(const setup *s) {
  volt_rt *rt;
  volt_rt_config config;
  memset(&config, 0, sizeof config);
  config.workers = s->workers;
  config.seed = s->seed;
  if (volt_rt_create(&rt, &config) != VOLT_OK) sim_stop("there is no such runtime");
  return rt;
}

static void add_counts(volt_rt *rt, const setup *s, measured *m, int sign) {
  for (uint32_t i = 0; i < s->workers; i++) {
    volt_worker_stats stats;
    if (volt_rt_worker_stats(rt, i, &stats) != VOLT_OK) sim_stop("there is no such worker");
    m->steals += (uint64_t)sign * stats.steals;
    m->stolen += (uint64_t)sign * stats.stolen;
    m->injected += (uint64_t)sign * stats.injected;
    m->parks += (uint64_t)sign * stats.parks;
    m->overflows += (uint64_t)sign * stats.overflows;
  }
}

static void run_root(volt_rt *rt, volt_task *root) {
  if (volt_spawn(rt, root) != VOLT_OK) sim_stop("a task is not spawned");
  if (volt_task_join(root) != VOLT_OK) sim_stop("a task does not end");
  volt_task_detach(root);
}

static void run_crew(volt_rt *rt, const setup *s, volt_task_fn *poll, objects *on,
                     uint64_t operations, measured *m) {
  chief *c = VOLT_TASK_NEW(rt, chief, chief_poll);
  c->rt = rt;
  c->members = (member **)sim_alloc(s->tasks * sizeof *c->members);
  c->poll = poll;
  c->on = on;
  c->setup = s;
  c->operations = operations;
  c->first_ns = UINT64_MAX;
  double busy = sim_busy_ns();
  add_counts(rt, s, m, -1);
  member **members = c->members;
  (void)members;
  if (volt_spawn(rt, &c->task) != VOLT_OK) sim_stop("a task is not spawned");
  if (volt_task_join(&c->task) != VOLT_OK) sim_stop("it does not end");
  add_counts(rt, s, m, 1);
  double all = (double)operations * s->tasks;
  m->ns = (double)(c->last_ns - c->first_ns) / all;
  m->cpu_ns = (sim_busy_ns() - busy) / all;
  volt_task_detach(&c->task);
}

/* Twice: a run to warm up, and the one that counts. */
static measured crew(const setup *s, volt_task_fn *poll, uint32_t at_once, uint32_t bypass) {
  measured m;
  objects *on = (objects *)sim_alloc_lines(sizeof *on);
  memset((void *)on, 0, sizeof *on);
  volt_mutex_init_bypass(&on->mutex, s->bypass);
  volt_rwlock_init_bypass(&on->rwlock, s->bypass);
  volt_sem_init(&on->sem, s->amount);
  for (unsigned i = 0; i < 2; i++) volt_sem_init(&on->hands[i], 0);
  uint32_t shards = s->shards ? s->shards : (s->workers + sim_group - 1) / sim_group;
  volt_sharded_rwlock_init(&on->sharded, on->shards, shards);
  volt_rt *rt = begin_runtime(s);
  for (unsigned run = 0; run < 2; run++) {
    memset(&m, 0, sizeof m);
    books_begin(s->tasks, at_once, bypass);
    run_crew(rt, s, poll, on, run == 0 ? s->operations / 8 + 1 : s->operations, &m);
    m.books = books_end();
    m.has_books = m.books.entries > 0;
  }
  volt_rt_destroy(rt);
  return m;
}

/* ---- mutex, semaphore, read-write lock ---- */

#define OPERATIONS(self)            \
  VOLT_TASK_BEGIN(self);            \
  (self)->start_ns = volt_now_ns(); \
  for ((self)->i = 0; (self)->i < (self)->operations; (self)->i++) {
#define OPERATIONS_END(self)                                          \
  if ((self)->setup->apart_ns > 0) sim_work((self)->setup->apart_ns); \
  }                                                                   \
  (self)->end_ns = volt_now_ns();                                     \
  VOLT_TASK_END(self)

#define AWAIT_TURN(self, attempt, future, alone)           \
  books_asks((self)->index, alone);                        \
  (self)->asks = true;                                     \
  VOLT_AWAIT_TRY(self, (self)->result, attempt, future);   \
  (self)->asks = false;                                    \
  if ((self)->result != VOLT_OK) sim_stop("a turn fails"); \
  books_enters((self)->index)

static void section(member *self) {
  self->on->count += 1;
  if (self->setup->inside_ns > 0) sim_work(self->setup->inside_ns);
}

static void look(member *self) {
  if (self->on->count == UINT64_MAX) sim_stop("nobody counts that far");
  if (self->setup->inside_ns > 0) sim_work(self->setup->inside_ns);
}

static int mutex_poll(volt_task *t, volt_ctx *ctx) {
  member *self = volt_container_of(t, member, task);
  volt_mutex *m = &self->on->mutex;
  OPERATIONS(self)
  AWAIT_TURN(self, volt_mutex_try_lock(m), volt_mutex_lock_future(&self->future, m), true);
  section(self);
  books_leaves(self->index);
  volt_mutex_unlock(m);
  OPERATIONS_END(self);
}

static uint32_t promise(const setup *s) {
  return s->promise == UINT32_MAX ? s->bypass : s->promise;
}

static measured run_mutex(const setup *s) {
  return crew(s, mutex_poll, 1, promise(s));
}

static int sem_poll(volt_task *t, volt_ctx *ctx) {
  member *self = volt_container_of(t, member, task);
  volt_sem *sem = &self->on->sem;
  OPERATIONS(self)
  AWAIT_TURN(self, volt_sem_try_acquire(sem, 1), volt_sem_acquire_future(&self->future, sem, 1),
             false);
  if (self->setup->inside_ns > 0) sim_work(self->setup->inside_ns);
  books_leaves(self->index);
  volt_sem_release(sem, 1);
  OPERATIONS_END(self);
}

static measured run_sem(const setup *s) {
  return crew(s, sem_poll, s->amount, UINT32_MAX);
}

static int held_poll(volt_task *t, volt_ctx *ctx) {
  member *self = volt_container_of(t, member, task);
  volt_sem *sem = &self->on->sem;
  OPERATIONS(self)
  AWAIT_TURN(self, volt_sem_try_acquire(sem, 1), volt_sem_acquire_future(&self->future, sem, 1),
             false);
  VOLT_YIELD(self);
  books_leaves(self->index);
  volt_sem_release(sem, 1);
  OPERATIONS_END(self);
}

static measured run_held(const setup *s) {
  return crew(s, held_poll, s->amount, UINT32_MAX);
}

static void write_section(member *self) {
  section(self);
  books_leaves(self->index);
}

static void read_section(member *self) {
  look(self);
  books_leaves(self->index);
}

/* Whether the next operation writes: below 1000, amount is how many of 1000 do; from 1000 on, the
 * first amount - 1000 members do. */
static bool writes_next(member *self) {
  unsigned amount = self->setup->amount;
  if (amount >= 1000) return self->index < amount - 1000;
  self->random ^= self->random << 13;
  self->random ^= self->random >> 7;
  self->random ^= self->random << 17;
  return self->random % 1000 < amount;
}

static int rwlock_poll(volt_task *t, volt_ctx *ctx) {
  member *self = volt_container_of(t, member, task);
  volt_rwlock *rw = &self->on->rwlock;
  OPERATIONS(self)
  self->writes = writes_next(self);
  if (self->writes) {
    AWAIT_TURN(self, volt_rwlock_try_write(rw), volt_rwlock_write_future(&self->future, rw), true);
    write_section(self);
    volt_rwlock_write_unlock(rw);
  } else {
    AWAIT_TURN(self, volt_rwlock_try_read(rw), volt_rwlock_read_future(&self->future, rw), false);
    read_section(self);
    volt_rwlock_read_unlock(rw);
  }
  OPERATIONS_END(self);
}

static measured run_rwlock(const setup *s) {
  return crew(s, rwlock_poll, UINT32_MAX, promise(s));
}

/* With one shard for each group of cores the program knows its group. Else the library says by
 * which shard a thread reads. */
static uint32_t shard_here(member *self) {
  volt_sharded_rwlock *s = &self->on->sharded;
  return self->setup->shards > 0 ? volt_sharded_rwlock_here(s) : sim_core() / sim_group;
}

static int sharded_poll(volt_task *t, volt_ctx *ctx) {
  member *self = volt_container_of(t, member, task);
  volt_sharded_rwlock *s = &self->on->sharded;
  OPERATIONS(self)
  self->writes = writes_next(self);
  if (self->writes) {
    AWAIT_TURN(self, VOLT_EAGAIN, volt_sharded_rwlock_write_future(&self->write, s), true);
    write_section(self);
    volt_sharded_rwlock_write_unlock(s);
  } else {
    self->shard = shard_here(self);
    AWAIT_TURN(self, volt_sharded_rwlock_try_read(s, self->shard),
               volt_sharded_rwlock_read_future(&self->future, s, self->shard), false);
    read_section(self);
    volt_sharded_rwlock_read_unlock(s, self->shard);
  }
  OPERATIONS_END(self);
}

static measured run_sharded(const setup *s) {
  return crew(s, sharded_poll, UINT32_MAX, UINT32_MAX);
}

/* ---- two tasks hand over; yield ---- */

static int pingpong_poll(volt_task *t, volt_ctx *ctx) {
  member *self = volt_container_of(t, member, task);
  volt_sem *mine = &self->on->hands[self->index];
  volt_sem *other = &self->on->hands[1 - self->index];
  OPERATIONS(self)
  if (self->index == 0) volt_sem_release(other, 1);
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->future, mine, 1));
  if (self->index == 1) volt_sem_release(other, 1);
  OPERATIONS_END(self);
}

static measured run_pingpong(const setup *s) {
  return crew(s, pingpong_poll, 1, UINT32_MAX);
}

static int yield_poll(volt_task *t, volt_ctx *ctx) {
  member *self = volt_container_of(t, member, task);
  OPERATIONS(self)
  VOLT_YIELD(self);
  OPERATIONS_END(self);
}

static measured run_yield(const setup *s) {
  return crew(s, yield_poll, 1, UINT32_MAX);
}

/* ---- tasks that are spawned: by a task, by another thread, by each other ---- */

typedef struct child {
  volt_task task;
  const setup *setup;
  volt_latch *done;
  volt_rt *rt;
  uint32_t below; /* how many tasks it stands for: a tree */
} child;

typedef struct spawner {
  volt_task task;
  volt_future join;
  volt_rt *rt;
  const setup *setup;
  child **children;
  uint64_t batch, i;
  uint64_t start_ns, end_ns;
} spawner;

static child *child_new(volt_rt *rt, const setup *s, volt_latch *done, volt_task_fn *poll) {
  child *c = VOLT_TASK_NEW(rt, child, poll);
  c->setup = s;
  c->done = done;
  c->rt = rt;
  return c;
}

static int child_poll(volt_task *t, volt_ctx *ctx) {
  child *self = volt_container_of(t, child, task);
  (void)ctx;
  VOLT_TASK_BEGIN(self);
  if (self->setup->inside_ns > 0) sim_work(self->setup->inside_ns);
  VOLT_TASK_END(self);
}

static void spawner_batch(spawner *self) {
  for (unsigned i = 0; i < self->setup->tasks; i++) {
    child *c = child_new(self->rt, self->setup, NULL, child_poll);
    self->children[i] = c;
    if (volt_spawn(self->rt, &c->task) != VOLT_OK) sim_stop("a task is not spawned");
  }
}

static int spawner_poll(volt_task *t, volt_ctx *ctx) {
  spawner *self = volt_container_of(t, spawner, task);
  VOLT_TASK_BEGIN(self);
  for (self->batch = 0; self->batch < self->setup->operations + 1; self->batch++) {
    if (self->batch == 1) self->start_ns = volt_now_ns(); /* the first is to warm up */
    spawner_batch(self);
    for (self->i = 0; self->i < self->setup->tasks; self->i++) {
      VOLT_AWAIT(self, volt_task_join_future(&self->join, &self->children[self->i]->task));
      volt_task_detach(&self->children[self->i]->task);
    }
  }
  self->end_ns = volt_now_ns();
  VOLT_TASK_END(self);
}

static measured run_spawn(const setup *s) {
  measured m;
  memset(&m, 0, sizeof m);
  volt_rt *rt = begin_runtime(s);
  spawner *self = VOLT_TASK_NEW(rt, spawner, spawner_poll);
  self->rt = rt;
  self->setup = s;
  self->children = (child **)sim_alloc(s->tasks * sizeof *self->children);
  double busy = sim_busy_ns();
  if (volt_spawn(rt, &self->task) != VOLT_OK) sim_stop("a task is not spawned");
  if (volt_task_join(&self->task) != VOLT_OK) sim_stop("it does not end");
  double all = (double)(s->operations * s->tasks);
  m.ns = (double)(self->end_ns - self->start_ns) / all;
  m.cpu_ns = (sim_busy_ns() - busy) / (all + s->tasks);
  add_counts(rt, s, &m, 1);
  volt_task_detach(&self->task);
  volt_rt_destroy(rt);
  return m;
}

/* Each is counted down in a latch of its batch, and detached. */
static int counted_poll(volt_task *t, volt_ctx *ctx) {
  child *self = volt_container_of(t, child, task);
  (void)ctx;
  VOLT_TASK_BEGIN(self);
  if (self->setup->inside_ns > 0) sim_work(self->setup->inside_ns);
  if (volt_fetch_add_relaxed((VOLT_ATOMIC(uint64_t) *)(void *)self->done, UINT64_MAX) == 1) {
    volt_sem_release((volt_sem *)(void *)((char *)self->done + 64), 1);
  }
  VOLT_TASK_END(self);
}

/* What a batch counts down, on a line of its own, and whom the last one wakes. */
typedef struct batch {
  VOLT_CACHE_ALIGNED VOLT_ATOMIC(uint64_t) left;
  VOLT_CACHE_ALIGNED volt_sem done;
} batch;

static batch *new_batch(void) {
  batch *b = (batch *)sim_alloc_lines(sizeof *b);
  volt_sem_init(&b->done, 0);
  return b;
}

/* Threads that are no workers spawn tasks, by way of the injection queue, and wait for them. */
typedef struct outsider {
  volt_rt *rt;
  const setup *setup;
  uint64_t start_ns, end_ns;
} outsider;

static void *outside_main(void *arg) {
  outsider *self = (outsider *)arg;
  const setup *s = self->setup;
  batch *b = new_batch();
  for (uint64_t at = 0; at < s->operations + 1; at++) {
    if (at == 1) self->start_ns = volt_now_ns(); /* the first is to warm up */
    volt_store_relaxed(&b->left, s->tasks);
    for (unsigned i = 0; i < s->tasks; i++) {
      child *c = child_new(self->rt, s, (volt_latch *)(void *)b, counted_poll);
      if (volt_spawn(self->rt, &c->task) != VOLT_OK) sim_stop("a task is not spawned");
      volt_task_detach(&c->task);
    }
    if (volt_sem_acquire(&b->done, 1) != VOLT_OK) sim_stop("no end");
  }
  self->end_ns = volt_now_ns();
  return NULL;
}

/* amount threads, on the cores behind those of the workers. */
static measured run_outside(const setup *s) {
  measured m;
  memset(&m, 0, sizeof m);
  volt_rt *rt = begin_runtime(s);
  outsider *outsiders = (outsider *)sim_alloc_lines(s->amount * sizeof *outsiders);
  sim_thread **handles = (sim_thread **)sim_alloc_lines(s->amount * sizeof *handles);
  double busy = sim_busy_ns();
  for (unsigned i = 0; i < s->amount; i++) {
    outsiders[i].rt = rt;
    outsiders[i].setup = s;
    handles[i] = sim_start(outside_main, &outsiders[i]);
  }
  uint64_t first_ns = UINT64_MAX, last_ns = 0;
  for (unsigned i = 0; i < s->amount; i++) {
    sim_join(handles[i]);
    if (outsiders[i].start_ns < first_ns) first_ns = outsiders[i].start_ns;
    if (outsiders[i].end_ns > last_ns) last_ns = outsiders[i].end_ns;
  }
  double all = (double)(s->operations * s->tasks * s->amount);
  m.ns = (double)(last_ns - first_ns) / all;
  m.cpu_ns = (sim_busy_ns() - busy) / (all + (double)s->tasks * s->amount);
  add_counts(rt, s, &m, 1);
  volt_rt_destroy(rt);
  return m;
}

/* A tree of tasks: each spawns two that stand for half of the rest each. */
static int tree_poll(volt_task *t, volt_ctx *ctx) {
  child *self = volt_container_of(t, child, task);
  (void)ctx;
  VOLT_TASK_BEGIN(self);
  uint32_t rest = self->below - 1;
  for (unsigned i = 0; i < 2; i++) {
    uint32_t below = i == 0 ? rest / 2 : rest - rest / 2;
    if (below == 0) continue;
    child *c = child_new(self->rt, self->setup, self->done, tree_poll);
    c->below = below;
    if (volt_spawn(self->rt, &c->task) != VOLT_OK) sim_stop("a task is not spawned");
    volt_task_detach(&c->task);
  }
  if (self->setup->inside_ns > 0) sim_work(self->setup->inside_ns);
  if (self->below == 1) {
    batch *b = (batch *)(void *)self->done;
    if (volt_fetch_add_relaxed(&b->left, UINT64_MAX) == 1) volt_sem_release(&b->done, 1);
  }
  VOLT_TASK_END(self);
}

static uint32_t leaves(uint32_t below) {
  uint32_t rest = below - 1;
  if (rest == 0) return 1;
  return (rest / 2 > 0 ? leaves(rest / 2) : 0) + leaves(rest - rest / 2);
}

static measured run_tree(const setup *s) {
  measured m;
  memset(&m, 0, sizeof m);
  volt_rt *rt = begin_runtime(s);
  batch *b = new_batch();
  uint64_t start_ns = 0;
  double busy = 0;
  for (uint64_t at = 0; at < s->operations + 1; at++) {
    if (at == 1) {
      start_ns = volt_now_ns();
      busy = sim_busy_ns();
    }
    volt_store_relaxed(&b->left, leaves(s->tasks));
    child *c = child_new(rt, s, (volt_latch *)(void *)b, tree_poll);
    c->below = s->tasks;
    if (volt_spawn(rt, &c->task) != VOLT_OK) sim_stop("a task is not spawned");
    volt_task_detach(&c->task);
    if (volt_sem_acquire(&b->done, 1) != VOLT_OK) sim_stop("no end");
  }
  double all = (double)(s->operations * s->tasks);
  m.ns = (double)(volt_now_ns() - start_ns) / all;
  m.cpu_ns = (sim_busy_ns() - busy) / all;
  add_counts(rt, s, &m, 1);
  volt_rt_destroy(rt);
  return m;
}

/* ---- plain threads that block; and the line itself ---- */

typedef struct thread_crew {
  objects *on;
  const setup *setup;
  void (*operate)(objects *on, const setup *s, uint32_t index);
  VOLT_CACHE_ALIGNED VOLT_ATOMIC(uint64_t) left; /* operations, of all */
} thread_crew;

typedef struct thread_member {
  thread_crew *crew;
  uint32_t index;
  uint64_t start_ns, end_ns, done;
} thread_member;

/* Until together they have done so many: each takes a share at a time. */
static void *thread_main(void *arg) {
  thread_member *self = (thread_member *)arg;
  thread_crew *c = self->crew;
  self->start_ns = volt_now_ns();
  while (volt_load_relaxed(&c->left) > 0) {
    for (unsigned i = 0; i < 16; i++) {
      c->operate(c->on, c->setup, self->index);
      self->done += 1;
      if (c->setup->apart_ns > 0) sim_work(c->setup->apart_ns);
    }
    uint64_t left = volt_load_relaxed(&c->left);
    while (left > 0 && !volt_cas_relaxed(&c->left, &left, left > 16 ? left - 16 : 0)) continue;
  }
  self->end_ns = volt_now_ns();
  return NULL;
}

static void thread_mutex(objects *on, const setup *s, uint32_t index) {
  books_asks(index, true);
  volt_mutex_lock(&on->mutex);
  books_enters(index);
  on->count += 1;
  if (s->inside_ns > 0) sim_work(s->inside_ns);
  books_leaves(index);
  volt_mutex_unlock(&on->mutex);
}

static void thread_sem(objects *on, const setup *s, uint32_t index) {
  books_asks(index, false);
  if (volt_sem_acquire(&on->sem, 1) != VOLT_OK) sim_stop("a turn fails");
  books_enters(index);
  if (s->inside_ns > 0) sim_work(s->inside_ns);
  books_leaves(index);
  volt_sem_release(&on->sem, 1);
}

static void thread_rwlock(objects *on, const setup *s, uint32_t index) {
  books_asks(index, index < s->amount);
  if (index < s->amount) {
    volt_rwlock_write(&on->rwlock);
    books_enters(index);
    on->count += 1;
    books_leaves(index);
    volt_rwlock_write_unlock(&on->rwlock);
  } else {
    volt_rwlock_read(&on->rwlock);
    books_enters(index);
    if (on->count == UINT64_MAX) sim_stop("nobody counts that far");
    books_leaves(index);
    volt_rwlock_read_unlock(&on->rwlock);
  }
}

static measured threads(const setup *s, uint32_t at_once,
                        void (*operate)(objects *on, const setup *s, uint32_t index)) {
  measured m;
  memset(&m, 0, sizeof m);
  objects *on = (objects *)sim_alloc_lines(sizeof *on);
  memset((void *)on, 0, sizeof *on);
  volt_mutex_init_bypass(&on->mutex, s->bypass);
  volt_rwlock_init_bypass(&on->rwlock, s->bypass);
  volt_sem_init(&on->sem, s->amount);
  thread_crew *c = (thread_crew *)sim_alloc_lines(sizeof *c);
  c->on = on;
  c->setup = s;
  c->operate = operate;
  volt_store_relaxed(&c->left, s->operations * s->tasks);
  books_begin(s->tasks, at_once, UINT32_MAX);
  thread_member *members = (thread_member *)sim_alloc_lines(s->tasks * sizeof *members);
  sim_thread **handles = (sim_thread **)sim_alloc_lines(s->tasks * sizeof *handles);
  double busy = sim_busy_ns();
  for (uint32_t i = 0; i < s->tasks; i++) {
    members[i].crew = c;
    members[i].index = i;
    handles[i] = sim_start(thread_main, &members[i]);
  }
  uint64_t first_ns = UINT64_MAX, last_ns = 0, done = 0;
  for (uint32_t i = 0; i < s->tasks; i++) {
    sim_join(handles[i]);
    if (members[i].start_ns < first_ns) first_ns = members[i].start_ns;
    if (members[i].end_ns > last_ns) last_ns = members[i].end_ns;
    done += members[i].done;
  }
  m.ns = (double)(last_ns - first_ns) / (double)done;
  m.cpu_ns = (sim_busy_ns() - busy) / (double)done;
  m.books = books_end();
  m.has_books = true;
  return m;
}

static measured run_thread_mutex(const setup *s) {
  return threads(s, 1, thread_mutex);
}

static measured run_thread_sem(const setup *s) {
  return threads(s, s->amount, thread_sem);
}

static measured run_thread_rwlock(const setup *s) {
  return threads(s, UINT32_MAX, thread_rwlock);
}

/* Two threads that answer each other by a flag: what the peers' table calls a cache line, one way.
 * By two semaphores: a hop. */
typedef struct flags {
  VOLT_CACHE_ALIGNED VOLT_ATOMIC(uint64_t) flag;
  VOLT_CACHE_ALIGNED volt_sem hands[2];
  uint64_t times;
} flags;

typedef struct flag_side {
  flags *on;
  uint64_t index;
} flag_side;

static void *line_main(void *arg) {
  flag_side *self = (flag_side *)arg;
  for (uint64_t i = 0; i < self->on->times; i++) {
    while (volt_load_acquire(&self->on->flag) != 2 * i + self->index) continue;
    volt_store_release(&self->on->flag, 2 * i + self->index + 1);
  }
  return NULL;
}

static void *hop_main(void *arg) {
  flag_side *self = (flag_side *)arg;
  for (uint64_t i = 0; i < self->on->times; i++) {
    if (self->index == 0) volt_sem_release(&self->on->hands[1], 1);
    int result = volt_sem_acquire(&self->on->hands[self->index], 1);
    if (result != VOLT_OK) sim_stop("a turn fails");
    if (self->index == 1) volt_sem_release(&self->on->hands[0], 1);
  }
  return NULL;
}

static measured run_two(const setup *s, void *(*main)(void *)) {
  measured m;
  memset(&m, 0, sizeof m);
  flags *on = (flags *)sim_alloc_lines(sizeof *on);
  volt_store_relaxed(&on->flag, 0);
  for (unsigned i = 0; i < 2; i++) volt_sem_init(&on->hands[i], 0);
  on->times = s->operations;
  flag_side *sides = (flag_side *)sim_alloc_lines(2 * sizeof *sides);
  sim_thread *handles[2];
  uint64_t start_ns = volt_now_ns();
  for (unsigned i = 0; i < 2; i++) {
    sides[i].on = on;
    sides[i].index = i;
    handles[i] = sim_start(main, &sides[i]);
  }
  for (unsigned i = 0; i < 2; i++) sim_join(handles[i]);
  m.ns = (double)(volt_now_ns() - start_ns) / (double)(2 * s->operations);
  return m;
}

static measured run_line(const setup *s) {
  return run_two(s, line_main);
}

static measured run_hop(const setup *s) {
  return run_two(s, hop_main);
}

const workload workloads[] = {{"mutex", run_mutex},
                              {"sem", run_sem},
                              {"held", run_held},
                              {"rwlock", run_rwlock},
                              {"sharded", run_sharded},
                              {"pingpong", run_pingpong},
                              {"yield", run_yield},
                              {"spawn", run_spawn},
                              {"outside", run_outside},
                              {"tree", run_tree},
                              {"threads-mutex", run_thread_mutex},
                              {"threads-sem", run_thread_sem},
                              {"threads-rwlock", run_thread_rwlock},
                              {"threads-hop", run_hop},
                              {"line", run_line},
                              {"io", run_io},
                              {NULL, NULL}};
