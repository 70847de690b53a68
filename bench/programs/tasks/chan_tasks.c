/* chan_tasks.c: tasks that send and receive, by futures. Compiled for each channel, of which
 * CMakeLists.txt says what its table is called (CHAN_CASES) and its name: the library's, and those
 * of variants/, by the same calls under other names. */
#include <stdlib.h>

#include "tasks.h"

/* ---- the channel that this is compiled for: the library's, or with CHAN_DEKKER or CHAN_SLOTS one of
 * variants/ ---- */

#if defined(CHAN_DEKKER)
#include "chan_dekker.h"
typedef volt_chan_dekker engine_chan;
#define ENGINE_CHAN_(name) volt_chan_dekker_##name
#elif defined(CHAN_SLOTS)
#include "chan_slots.h"
typedef volt_chan_slots engine_chan;
#define ENGINE_CHAN_(name) volt_chan_slots_##name
#else
#include <volt/channel.h>
typedef volt_chan engine_chan;
#define ENGINE_CHAN_(name) volt_chan_##name
#endif

#define engine_chan_bytes ENGINE_CHAN_(bytes)
#define engine_chan_init ENGINE_CHAN_(init)
#define engine_chan_destroy ENGINE_CHAN_(destroy)
#define engine_chan_len ENGINE_CHAN_(len)
#define engine_chan_try_send ENGINE_CHAN_(try_send)
#define engine_chan_try_recv ENGINE_CHAN_(try_recv)
#define engine_chan_send_future ENGINE_CHAN_(send_future)
#define engine_chan_recv_future ENGINE_CHAN_(recv_future)

/* ---- the channels of a run ---- */

typedef struct cushioned {
  VOLT_CACHE_ALIGNED engine_chan chan;
  void *memory;
} cushioned;

typedef struct shared {
  cushioned channels[2];
  uint32_t tasks;
  VOLT_CACHE_ALIGNED VOLT_ATOMIC(uint64_t) sent;
  VOLT_ATOMIC(uint64_t) received;
} shared;

static shared *begin(const rt_options *o) {
  static shared s;
  size_t bytes = engine_chan_bytes(o->amount, sizeof(uint64_t));
  s.tasks = o->tasks;
  for (unsigned i = 0; i < 2; i++) {
    s.channels[i].memory = chan_memory(bytes);
    int result = engine_chan_init(&s.channels[i].chan, o->amount, sizeof(uint64_t),
                                  s.channels[i].memory, bytes);
    rt_require(result == VOLT_OK, "there is a channel");
  }
  return &s;
}

static void end(shared *s) {
  rt_require(volt_load_relaxed(&s->sent) == volt_load_relaxed(&s->received) &&
                 volt_load_relaxed(&s->sent) != 0,
             "what was sent is received");
  for (unsigned i = 0; i < 2; i++) {
    rt_require(engine_chan_len(&s->channels[i].chan) == 0, "everything was received");
    engine_chan_destroy(&s->channels[i].chan, NULL, NULL);
    free(s->channels[i].memory);
  }
}

/* What one would write in a hot path: no future is made for what need not wait. */
#define AWAIT_SEND(self, c)                                                       \
  VOLT_AWAIT_TRY(self, (self)->result, engine_chan_try_send((c), &(self)->value), \
                 engine_chan_send_future(&(self)->future, (c), &(self)->value))
#define AWAIT_RECV(self, c)                                                       \
  VOLT_AWAIT_TRY(self, (self)->result, engine_chan_try_recv((c), &(self)->value), \
                 engine_chan_recv_future(&(self)->future, (c), &(self)->value))

/* A number that only this operation of this member sends. */
static uint64_t number_of(const rt_member *m) {
  return ((uint64_t)m->index << 32) + m->i + 1;
}

/* ---- one task that sends to itself ---- */

static int alone_poll(volt_task *t, volt_ctx *ctx) {
  rt_member *self = volt_container_of(t, rt_member, task);
  shared *s = (shared *)self->object;
  engine_chan *c = &s->channels[0].chan;
  VOLT_TASK_BEGIN(self);
  self->start_ns = volt_now_ns();
  for (self->i = 0; self->i < self->operations; self->i++) {
    self->value = self->i + 1;
    AWAIT_SEND(self, c);
    self->value = 0;
    AWAIT_RECV(self, c);
    self->sum += self->value;
  }
  self->end_ns = volt_now_ns();
  volt_fetch_add_relaxed(&s->sent, self->operations * (self->operations + 1) / 2); /* a sum */
  volt_fetch_add_relaxed(&s->received, self->sum);
  VOLT_TASK_END(self);
}

static rt_outcome run_alone(const rt_options *o) {
  shared *s = begin(o);
  const rt_crew crew = {alone_poll, s, NULL, NULL, NULL};
  rt_outcome outcome = rt_crew_run(o, &crew);
  end(s);
  return outcome;
}

/* ---- many to many ---- */

static int send_poll(rt_member *self, volt_ctx *ctx) {
  shared *s = (shared *)self->object;
  engine_chan *c = &s->channels[0].chan;
  VOLT_TASK_BEGIN(self);
  self->start_ns = volt_now_ns();
  for (self->i = 0; self->i < self->operations; self->i++) {
    self->value = number_of(self);
    self->sum += self->value;
    AWAIT_SEND(self, c);
  }
  self->end_ns = volt_now_ns();
  volt_fetch_add_relaxed(&s->sent, self->sum); /* a sum */
  VOLT_TASK_END(self);
}

static int recv_poll(rt_member *self, volt_ctx *ctx) {
  shared *s = (shared *)self->object;
  engine_chan *c = &s->channels[0].chan;
  VOLT_TASK_BEGIN(self);
  self->start_ns = volt_now_ns();
  for (self->i = 0; self->i < self->operations; self->i++) {
    self->value = 0;
    AWAIT_RECV(self, c);
    self->sum += self->value;
  }
  self->end_ns = volt_now_ns();
  volt_fetch_add_relaxed(&s->received, self->sum); /* a sum */
  VOLT_TASK_END(self);
}

static int mpmc_poll(volt_task *t, volt_ctx *ctx) {
  rt_member *self = volt_container_of(t, rt_member, task);
  bool sends = self->index < ((shared *)self->object)->tasks / 2;
  return sends ? send_poll(self, ctx) : recv_poll(self, ctx);
}

/* Per element: half of the members' operations. */
static rt_outcome run_mpmc(const rt_options *o) {
  shared *s = begin(o);
  const rt_crew crew = {mpmc_poll, s, NULL, NULL, NULL};
  rt_outcome outcome = rt_crew_run(o, &crew);
  outcome.value[RT_NS] *= 2;
  outcome.value[RT_CPU_NS] *= 2;
  end(s);
  return outcome;
}

/* ---- ping-pong ---- */

/* Member 0 serves: it sends first, and the other sends when it has received. Nearly always what is
 * to be received is still to come. */
static int pingpong_poll(volt_task *t, volt_ctx *ctx) {
  rt_member *self = volt_container_of(t, rt_member, task);
  shared *s = (shared *)self->object;
  engine_chan *mine = &s->channels[self->index].chan;
  engine_chan *other = &s->channels[1 - self->index].chan;
  VOLT_TASK_BEGIN(self);
  self->start_ns = volt_now_ns();
  for (self->i = 0; self->i < self->operations; self->i++) {
    if (self->index == 0) {
      self->value = self->i + 1;
      AWAIT_SEND(self, other);
    }
    self->value = 0;
    VOLT_AWAIT(self, engine_chan_recv_future(&self->future, mine, &self->value));
    rt_require(self->value == self->i + 1, "elements are received in their order");
    self->sum += self->value;
    if (self->index == 1) {
      AWAIT_SEND(self, other);
    }
  }
  self->end_ns = volt_now_ns();
  volt_fetch_add_relaxed(self->index == 0 ? &s->received : &s->sent, self->sum); /* a sum */
  VOLT_TASK_END(self);
}

static rt_outcome run_pingpong(const rt_options *o) {
  shared *s = begin(o);
  const rt_crew crew = {pingpong_poll, s, NULL, NULL, NULL};
  rt_outcome outcome = rt_crew_run(o, &crew);
  end(s);
  return outcome;
}

const rt_case CHAN_CASES[] = {{"alone-chan", CHAN_NAME, run_alone},
                              {"mpmc", CHAN_NAME, run_mpmc},
                              {"chan-pingpong", CHAN_NAME, run_pingpong},
                              {NULL, NULL, NULL}};
