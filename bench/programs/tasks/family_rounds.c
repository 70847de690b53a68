/* family_rounds.c: rounds of several tasks that wait for each other by one of the primitives: one
 * sends and the others receive, or all meet. What is awaited is awaited at once, without a try. */
#include <stdlib.h>

#include "tasks.h"

static rt_outcome run_rounds(const rt_options *o, const rt_crew *crew, uint64_t each) {
  rt_outcome outcome = rt_crew_run(o, crew);
  rt_require(((family_counted *)crew->object)->done == rt_in_all(o) / o->tasks * each,
             "every round is whole");
  outcome.value[RT_NS] *= o->tasks;
  outcome.value[RT_CPU_NS] *= o->tasks;
  return outcome;
}

enum { RING = 16 };

/* Member 0 sends, the others wait. It yields until all of them have heard of it: with one worker,
 * once. */
struct senders {
  family_counted counted;
  volt_broadcast broadcast;
  volt_watch watch;
  uint64_t ring[RING], memory;
  uint32_t listeners;
  struct listener {
    VOLT_CACHE_ALIGNED volt_broadcast_receiver receiver;
    uint64_t seen; /* which version of the watch */
  } * listener;
  VOLT_CACHE_ALIGNED VOLT_ATOMIC(uint64_t) heard;
};

static int send_poll(rt_member *self, volt_ctx *ctx, bool watched) {
  struct senders *s = (struct senders *)self->object;
  VOLT_TASK_BEGIN(self);
  self->start_ns = volt_now_ns();
  for (self->i = 0; self->i < self->operations; self->i++) {
    self->value = self->i + 1;
    if (watched) {
      volt_watch_send(&s->watch, &self->value);
    } else {
      volt_broadcast_send(&s->broadcast, &self->value);
    }
    while (volt_load_acquire(&s->heard) < self->value * s->listeners) VOLT_YIELD(self);
  }
  self->end_ns = volt_now_ns();
  VOLT_TASK_END(self);
}

static int receive_poll(rt_member *self, volt_ctx *ctx) {
  struct senders *s = (struct senders *)self->object;
  volt_broadcast_receiver *r = &s->listener[self->index].receiver;
  VOLT_TASK_BEGIN(self);
  self->start_ns = volt_now_ns();
  for (self->i = 0; self->i < self->operations; self->i++) {
    VOLT_AWAIT(self, volt_broadcast_recv_future(&self->future, r, &self->value));
    self->sum += self->value == self->i + 1;
    volt_fetch_add_release(&s->heard, 1);
  }
  self->end_ns = volt_now_ns();
  VOLT_TASK_END(self);
}

static int broadcast_poll(volt_task *t, volt_ctx *ctx) {
  rt_member *self = volt_container_of(t, rt_member, task);
  return self->index == 0 ? send_poll(self, ctx, false) : receive_poll(self, ctx);
}

static int look_poll(rt_member *self, volt_ctx *ctx) {
  struct senders *s = (struct senders *)self->object;
  uint64_t *seen = &s->listener[self->index].seen;
  VOLT_TASK_BEGIN(self);
  self->start_ns = volt_now_ns();
  for (self->i = 0; self->i < self->operations; self->i++) {
    VOLT_AWAIT(self, volt_watch_changed_future(&self->future, &s->watch, seen));
    *seen = volt_watch_get(&s->watch, &self->value);
    self->sum += self->value == self->i + 1;
    volt_fetch_add_release(&s->heard, 1);
  }
  self->end_ns = volt_now_ns();
  VOLT_TASK_END(self);
}

static int watch_poll(volt_task *t, volt_ctx *ctx) {
  rt_member *self = volt_container_of(t, rt_member, task);
  return self->index == 0 ? send_poll(self, ctx, true) : look_poll(self, ctx);
}

/* Nobody has missed anything: they subscribe before any of them runs. */
static void begin_senders(void *object, const rt_options *o, uint64_t operations) {
  struct senders *s = (struct senders *)object;
  (void)operations;
  s->listeners = o->tasks - 1;
  for (uint32_t i = 0; i < o->tasks; i++) {
    volt_broadcast_subscribe(&s->broadcast, &s->listener[i].receiver);
    s->listener[i].seen = volt_watch_version(&s->watch);
  }
  volt_store_relaxed(&s->heard, 0); /* not shared: nobody runs */
}

static rt_outcome run_senders(const rt_options *o, volt_task_fn *poll) {
  static struct senders s;
  const rt_crew crew = {poll, &s, begin_senders, family_count, NULL};
  int result = volt_broadcast_init(&s.broadcast, RING, sizeof *s.ring, s.ring, sizeof s.ring);
  rt_require(result == VOLT_OK, "there is a broadcast");
  volt_watch_init(&s.watch, sizeof s.memory, &s.memory, NULL);
  s.listener = (struct listener *)aligned_alloc(VOLT_CACHE_LINE, o->tasks * sizeof *s.listener);
  rt_require(s.listener != NULL, "there is memory for receivers");
  rt_outcome outcome = run_rounds(o, &crew, o->tasks - 1);
  volt_broadcast_destroy(&s.broadcast);
  volt_watch_destroy(&s.watch);
  free(s.listener);
  return outcome;
}

static rt_outcome run_broadcast(const rt_options *o) {
  return run_senders(o, broadcast_poll);
}

static rt_outcome run_watch(const rt_options *o) {
  return run_senders(o, watch_poll);
}

struct barrier {
  family_counted counted;
  VOLT_CACHE_ALIGNED volt_barrier barrier;
};

/* A round has one leader. */
static int barrier_poll(volt_task *t, volt_ctx *ctx) {
  rt_member *self = volt_container_of(t, rt_member, task);
  struct barrier *s = (struct barrier *)self->object;
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
  static struct barrier s;
  const rt_crew crew = {barrier_poll, &s, NULL, family_count, NULL};
  volt_barrier_init(&s.barrier, o->tasks);
  rt_outcome outcome = run_rounds(o, &crew, 1);
  volt_barrier_destroy(&s.barrier);
  return outcome;
}

/* What is used up by a round: one for each. */
struct round {
  volt_once once;
  volt_latch start, end;
  uint64_t value; /* plain */
};

struct rounds {
  family_counted counted;
  struct round *round;
  uint64_t count;
};

static void end_rounds(struct rounds *s) {
  for (uint64_t i = 0; i < s->count; i++) {
    volt_once_destroy(&s->round[i].once);
    volt_latch_destroy(&s->round[i].start);
    volt_latch_destroy(&s->round[i].end);
  }
  free(s->round);
}

static void begin_rounds(void *object, const rt_options *o, uint64_t operations) {
  struct rounds *s = (struct rounds *)object;
  end_rounds(s);
  s->count = operations;
  s->round = (struct round *)calloc(operations, sizeof *s->round);
  rt_require(s->round != NULL, "there is memory for the rounds");
  for (uint64_t i = 0; i < operations; i++) {
    volt_once_init(&s->round[i].once);
    volt_latch_init(&s->round[i].start, 1);
    volt_latch_init(&s->round[i].end, o->tasks - 1);
  }
}

static int try_once(volt_once *o) {
  return volt_once_is_done(o) ? VOLT_DONE : VOLT_EAGAIN;
}

/* Who comes first begins, and yields, so that the others come and wait. */
static int once_poll(volt_task *t, volt_ctx *ctx) {
  rt_member *self = volt_container_of(t, rt_member, task);
  struct rounds *s = (struct rounds *)self->object;
  struct round *r = &s->round[self->i];
  VOLT_TASK_BEGIN(self);
  self->start_ns = volt_now_ns();
  for (self->i = 0; self->i < self->operations; self->i++) {
    r = &s->round[self->i];
    VOLT_AWAIT_TRY(self, self->result, try_once(&r->once),
                   volt_once_begin_future(&self->future, &r->once));
    if (self->result == VOLT_OK) {
      VOLT_YIELD(self);
      r->value = self->i + 1;
      self->sum += 1;
      volt_once_done(&r->once);
    }
    rt_require(r->value == self->i + 1, "who finds it done sees what was done");
  }
  self->end_ns = volt_now_ns();
  VOLT_TASK_END(self);
}

static rt_outcome run_once(const rt_options *o) {
  static struct rounds s;
  const rt_crew crew = {once_poll, &s, begin_rounds, family_count, NULL};
  rt_outcome outcome = run_rounds(o, &crew, 1);
  end_rounds(&s);
  return outcome;
}

/* Member 0 opens the start for the others, and waits until all of them have counted down. */
static int latch_poll(volt_task *t, volt_ctx *ctx) {
  rt_member *self = volt_container_of(t, rt_member, task);
  struct rounds *s = (struct rounds *)self->object;
  VOLT_TASK_BEGIN(self);
  self->start_ns = volt_now_ns();
  for (self->i = 0; self->i < self->operations; self->i++) {
    if (self->index == 0) {
      s->round[self->i].value = self->i + 1;
      volt_latch_done(&s->round[self->i].start);
      VOLT_AWAIT(self, volt_latch_wait_future(&self->future, &s->round[self->i].end));
    } else {
      VOLT_AWAIT(self, volt_latch_wait_future(&self->future, &s->round[self->i].start));
      self->sum += s->round[self->i].value == self->i + 1;
      volt_latch_done(&s->round[self->i].end);
    }
  }
  self->end_ns = volt_now_ns();
  VOLT_TASK_END(self);
}

static rt_outcome run_latch(const rt_options *o) {
  static struct rounds s;
  const rt_crew crew = {latch_poll, &s, begin_rounds, family_count, NULL};
  rt_outcome outcome = run_rounds(o, &crew, o->tasks - 1);
  end_rounds(&s);
  return outcome;
}

const rt_case family_rounds_cases[] = {
    {"broadcast", "native", run_broadcast}, {"watch", "native", run_watch},
    {"barrier", "native", run_barrier},     {"once", "native", run_once},
    {"latch", "native", run_latch},         {NULL, NULL, NULL}};
