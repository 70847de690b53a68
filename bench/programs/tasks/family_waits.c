/* family_waits.c: two tasks that wait for each other by one of the primitives. With one worker
 * every operation is a wait, a wake and a switch of tasks. What is awaited is awaited at once,
 * without a try: nearly always it is still to come. */
#include "tasks.h"

/* ---- one wakes the other, and waits: member 0 serves; ns is that of a hop ---- */

/* Each hop counts. */
static rt_outcome run_hops(const rt_options *o, const rt_crew *crew) {
  rt_outcome outcome = rt_crew_run(o, crew);
  rt_require(((family_counted *)crew->object)->done == rt_in_all(o), "every hop was made");
  return outcome;
}

struct notifies {
  family_counted counted;
  struct {
    VOLT_CACHE_ALIGNED volt_notify notify;
  } of[2];
};

static int notify_poll(volt_task *t, volt_ctx *ctx) {
  rt_member *self = volt_container_of(t, rt_member, task);
  struct notifies *s = (struct notifies *)self->object;
  volt_notify *mine = &s->of[self->index].notify, *other = &s->of[1 - self->index].notify;
  VOLT_TASK_BEGIN(self);
  self->start_ns = volt_now_ns();
  for (self->i = 0; self->i < self->operations; self->i++) {
    if (self->index == 0) volt_notify_one(other);
    VOLT_AWAIT(self, volt_notify_wait_future(&self->future, mine));
    self->sum += 1;
    if (self->index == 1) volt_notify_one(other);
  }
  self->end_ns = volt_now_ns();
  VOLT_TASK_END(self);
}

static rt_outcome run_notify(const rt_options *o) {
  static struct notifies s;
  const rt_crew crew = {notify_poll, &s, NULL, family_count, NULL};
  rt_outcome outcome = run_hops(o, &crew);
  for (unsigned i = 0; i < 2; i++) volt_notify_destroy(&s.of[i].notify);
  return outcome;
}

/* A number, and where the next one is awaited. */
struct letter {
  uint64_t value;
  volt_oneshot *reply;
};

struct oneshots {
  family_counted counted;
  struct end {
    VOLT_CACHE_ALIGNED volt_oneshot mine;
    struct letter slot, received;
    volt_oneshot *other;
  } ends[2];
};

static void make_mine(struct end *e) {
  volt_oneshot_init(&e->mine, sizeof e->slot, &e->slot);
}

static void send_with_mine(struct end *e, uint64_t value) {
  const struct letter letter = {value, &e->mine};
  rt_require(volt_oneshot_send(e->other, &letter) == VOLT_OK, "the other one is there");
}

/* A oneshot is made for each hop, and sent to the one who sends the next. */
static int oneshot_poll(volt_task *t, volt_ctx *ctx) {
  rt_member *self = volt_container_of(t, rt_member, task);
  struct end *e = &((struct oneshots *)self->object)->ends[self->index];
  VOLT_TASK_BEGIN(self);
  self->start_ns = volt_now_ns();
  for (self->i = 0; self->i < self->operations; self->i++) {
    if (self->index == 0) {
      make_mine(e);
      send_with_mine(e, self->i + 1);
    }
    VOLT_AWAIT(self, volt_oneshot_recv_future(&self->future, &e->mine, &e->received));
    volt_oneshot_destroy(&e->mine);
    e->other = e->received.reply;
    self->sum += e->received.value == self->i + 1;
    if (self->index == 1) {
      make_mine(e);
      send_with_mine(e, self->i + 1);
    }
  }
  self->end_ns = volt_now_ns();
  VOLT_TASK_END(self);
}

static void begin_oneshots(void *object, const rt_options *o, uint64_t operations) {
  struct oneshots *s = (struct oneshots *)object;
  (void)o, (void)operations;
  volt_oneshot_destroy(&s->ends[1].mine); /* what it made last; at first all-zero */
  make_mine(&s->ends[1]);
  s->ends[0].other = &s->ends[1].mine;
}

static rt_outcome run_oneshot(const rt_options *o) {
  static struct oneshots s;
  const rt_crew crew = {oneshot_poll, &s, begin_oneshots, family_count, NULL};
  rt_outcome outcome = run_hops(o, &crew);
  volt_oneshot_destroy(&s.ends[1].mine);
  return outcome;
}

struct tokens {
  family_counted counted;
  struct {
    VOLT_CACHE_ALIGNED volt_token token;
  } of[2];
};

/* A token is made for each hop: before the other one is told, who cancels it. */
static int token_poll(volt_task *t, volt_ctx *ctx) {
  rt_member *self = volt_container_of(t, rt_member, task);
  struct tokens *s = (struct tokens *)self->object;
  volt_token *mine = &s->of[self->index].token, *other = &s->of[1 - self->index].token;
  VOLT_TASK_BEGIN(self);
  self->start_ns = volt_now_ns();
  for (self->i = 0; self->i < self->operations; self->i++) {
    if (self->index == 0) {
      volt_token_init(mine);
      volt_token_cancel(other);
    }
    VOLT_AWAIT(self, volt_token_wait_future(&self->future, mine));
    self->sum += volt_token_is_cancelled(mine);
    volt_token_destroy(mine);
    if (self->index == 1) {
      volt_token_init(mine);
      volt_token_cancel(other);
    }
  }
  self->end_ns = volt_now_ns();
  VOLT_TASK_END(self);
}

static void begin_tokens(void *object, const rt_options *o, uint64_t operations) {
  struct tokens *s = (struct tokens *)object;
  (void)o, (void)operations;
  volt_token_destroy(&s->of[1].token); /* what it made last; at first all-zero */
  volt_token_init(&s->of[1].token);
}

static rt_outcome run_token(const rt_options *o) {
  static struct tokens s;
  const rt_crew crew = {token_poll, &s, begin_tokens, family_count, NULL};
  rt_outcome outcome = run_hops(o, &crew);
  volt_token_destroy(&s.of[1].token);
  return outcome;
}

struct conds {
  family_counted counted;
  VOLT_CACHE_ALIGNED volt_mutex mutex;
  uint32_t turn; /* plain: the mutex protects it */
  struct {
    VOLT_CACHE_ALIGNED volt_cond cond;
  } of[2];
};

static int cond_poll(volt_task *t, volt_ctx *ctx) {
  rt_member *self = volt_container_of(t, rt_member, task);
  struct conds *s = (struct conds *)self->object;
  VOLT_TASK_BEGIN(self);
  self->start_ns = volt_now_ns();
  for (self->i = 0; self->i < self->operations; self->i++) {
    VOLT_AWAIT_TRY(self, self->result, volt_mutex_try_lock(&s->mutex),
                   volt_mutex_lock_future(&self->future, &s->mutex));
    rt_require(self->result == VOLT_OK, "a task gets the lock");
    while (s->turn != self->index) {
      VOLT_AWAIT(self, volt_cond_wait_future(&self->future, &s->of[self->index].cond, &s->mutex));
    }
    s->turn = 1 - self->index;
    self->sum += 1;
    volt_cond_signal(&s->of[1 - self->index].cond);
    volt_mutex_unlock(&s->mutex);
  }
  self->end_ns = volt_now_ns();
  VOLT_TASK_END(self);
}

static rt_outcome run_cond(const rt_options *o) {
  static struct conds s;
  const rt_crew crew = {cond_poll, &s, NULL, family_count, NULL};
  rt_outcome outcome = run_hops(o, &crew);
  for (unsigned i = 0; i < 2; i++) volt_cond_destroy(&s.of[i].cond);
  volt_mutex_destroy(&s.mutex);
  return outcome;
}

struct limits {
  family_counted counted;
  struct {
    VOLT_CACHE_ALIGNED volt_sem sem;
  } of[2];
};

/* Limits are 0: the other one raises mine by the permit that I await and make disappear. */
static int limit_poll(volt_task *t, volt_ctx *ctx) {
  rt_member *self = volt_container_of(t, rt_member, task);
  struct limits *s = (struct limits *)self->object;
  volt_sem *mine = &s->of[self->index].sem, *other = &s->of[1 - self->index].sem;
  VOLT_TASK_BEGIN(self);
  self->start_ns = volt_now_ns();
  for (self->i = 0; self->i < self->operations; self->i++) {
    if (self->index == 0) volt_sem_set_limit(other, 1);
    VOLT_AWAIT(self, volt_sem_acquire_future(&self->future, mine, 1));
    volt_sem_forget(mine, 1);
    self->sum += 1;
    if (self->index == 1) volt_sem_set_limit(other, 1);
  }
  self->end_ns = volt_now_ns();
  VOLT_TASK_END(self);
}

static rt_outcome run_limit(const rt_options *o) {
  static struct limits s;
  const rt_crew crew = {limit_poll, &s, NULL, family_count, NULL};
  rt_outcome outcome = run_hops(o, &crew);
  for (unsigned i = 0; i < 2; i++) {
    rt_require(volt_sem_limit(&s.of[i].sem) == 0, "what was raised has been lowered");
    volt_sem_destroy(&s.of[i].sem);
  }
  return outcome;
}

/* ---- all of the permits, or one: held across a yield; ns is that of an acquire ---- */

struct all {
  family_counted counted;
  VOLT_CACHE_ALIGNED volt_sem sem;
  uint64_t count; /* plain: who has all permits counts */
};

static int take_all_poll(rt_member *self, volt_ctx *ctx) {
  struct all *s = (struct all *)self->object;
  VOLT_TASK_BEGIN(self);
  self->start_ns = volt_now_ns();
  for (self->i = 0; self->i < self->operations; self->i++) {
    VOLT_AWAIT(self, volt_sem_acquire_all_future(&self->future, &s->sem));
    self->value = s->count;
    VOLT_YIELD(self);
    s->count = self->value + 1;
    self->sum += 1;
    volt_sem_release(&s->sem, volt_sem_future_taken(&self->future));
  }
  self->end_ns = volt_now_ns();
  VOLT_TASK_END(self);
}

static int take_one_poll(rt_member *self, volt_ctx *ctx) {
  struct all *s = (struct all *)self->object;
  VOLT_TASK_BEGIN(self);
  self->start_ns = volt_now_ns();
  for (self->i = 0; self->i < self->operations; self->i++) {
    VOLT_AWAIT(self, volt_sem_acquire_future(&self->future, &s->sem, 1));
    self->value = s->count;
    VOLT_YIELD(self);
    self->sum += s->count == self->value; /* nobody has had all meanwhile */
    volt_sem_release(&s->sem, 1);
  }
  self->end_ns = volt_now_ns();
  VOLT_TASK_END(self);
}

static int all_poll(volt_task *t, volt_ctx *ctx) {
  rt_member *self = volt_container_of(t, rt_member, task);
  return self->index == 0 ? take_all_poll(self, ctx) : take_one_poll(self, ctx);
}

static rt_outcome run_all(const rt_options *o) {
  static struct all s;
  const rt_crew crew = {all_poll, &s, NULL, family_count, NULL};
  volt_sem_init(&s.sem, o->amount);
  rt_outcome outcome = rt_crew_run(o, &crew);
  rt_require(s.counted.done == rt_in_all(o) && s.count == rt_in_all(o) / o->tasks,
             "who takes all is alone");
  rt_require(volt_sem_available(&s.sem) == o->amount, "every permit was given back");
  volt_sem_destroy(&s.sem);
  return outcome;
}

const rt_case family_waits_cases[] = {{"notify", "native", run_notify},
                                      {"oneshot", "native", run_oneshot},
                                      {"token", "native", run_token},
                                      {"cond", "native", run_cond},
                                      {"limit", "native", run_limit},
                                      {"all", "native", run_all},
                                      {NULL, NULL, NULL}};
