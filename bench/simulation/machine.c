/* machine.c: the machine.
 *
 * Threads: each is a context with a stack of its own and a clock of its own. The one whose clock is
 *   the earliest runs, until its clock has passed another's. A thread looks at that before each
 *   atomic access and each miss. So these happen in one order for all threads, and the order
 *   depends on the seed and the costs, not on the host. Accesses that hit the core's own lines are
 *   only added up.
 * Lines: a line is owned by one core, or shared by several, as in MESI. A request travels to where
 *   the line is (half of the way's cost), waits until the line is free, and the line travels back
 *   (the other half). Requests are served in the order in which they arrive. The owner goes on
 *   using its line until a request arrives. A read-modify-write waits for its line, and for the
 *   stores before it. A store does not wait: the line comes while the core goes on.
 * Cores: each has a queue of threads that are ready. A thread runs until it sleeps, or yields, or
 *   its slice is over while another is ready. The time from a wake until the woken thread runs is
 *   its core's: the core leaves its idle state, and changes to the thread. A core may be lost for a
 *   time, as if another program ran there.
 * Other events: what happens outside of the machine is a function that is called at its time. It
 *   may wake threads (network.c).
 *
 * Not simulated: misses that overlap, prefetching, the size of caches, memory, bandwidth, the turbo,
 * two threads in one core. */
#define _GNU_SOURCE /* MAP_ANONYMOUS, swapcontext */
#include "machine.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { THREADS = 1024, EVENTS = 128 * 1024, LINE = 64, WORDS = (SIM_CORES + 63) / 64 };
static const size_t stack_bytes = 64 * 1024;
static const size_t arena_bytes = (size_t)192 * 1024 * 1024;

sim_costs sim_cost = {.access = 0.11,
                      .call = 0.25,
                      .rmw = 5.0,
                      .near = 22,
                      .far = 138,
                      .hold = 5,
                      .pause = 25,
                      .clock = 20,
                      .system_call = 150,
                      .wake = 1500,
                      .asleep = 12000,
                      .change = 1900,
                      .slice = 3000000,
                      .look = 400,
                      .event = 60,
                      .receive = 600,
                      .send = 2800};
unsigned sim_group = 8;

typedef uint64_t ps;

typedef struct line {
  ps free_at;
  uint64_t sharers[WORDS];
  int16_t owner; /* 1 + the core; 0: it is shared, or nowhere */
} line;

typedef enum where { RUNS, READY, SLEEPS, ENDED } where;

struct sim_thread {
  ps now;
  uint64_t turn; /* among those with the same clock */
  ps stored;     /* when the last of its stores is done */
  where where;
  unsigned core, index;
  uint32_t sleep; /* how often it has slept: a deadline is of one sleep */
  const uint32_t *word;
  bool timed_out;
  sim_thread *next; /* ready on the same core */
  sim_thread *joiner;
  sim_locals locals;
  void *(*main)(void *);
  void *arg;
  bool is_begun;
  jmp_buf at;
  ucontext_t begin;
};

typedef struct core {
  sim_thread *running, *ready, *last;
  ps slice_end, lost_at;
  ps busy, since; /* running since */
} core;

typedef struct event {
  ps at;
  uint64_t turn;
  sim_thread *thread; /* NULL: happens() */
  uint32_t sleep;     /* 0: it goes on; else the deadline of this sleep */
  void (*happens)(void *arg, uint64_t ns);
  void *arg;
} event;

static core cores[SIM_CORES];
static unsigned core_count, core_next;
static sim_thread *threads[THREADS];
static unsigned thread_count;
static event heap[EVENTS];
static unsigned heap_size;
static uint64_t turns, sleeps, random_state;
static sim_thread *self;
static bool is_free; /* nothing costs anything */
static ucontext_t host;
static char *arena, *arena_next;
static line *lines;

void sim_stop(const char *why) {
  fprintf(stderr, "bench-scale: not so: %s\n", why);
  _exit(1);
}

static ps of_ns(double ns) {
  return (ps)(ns * 1000);
}

uint64_t sim_random(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state;
}

/* ---- what happens next ---- */

static bool is_before(const event *a, const event *b) {
  return a->at != b->at ? a->at < b->at : a->turn < b->turn;
}

static void heap_push(event e) {
  if (heap_size == sizeof heap / sizeof *heap) sim_stop("too many events");
  unsigned i = heap_size++;
  while (i > 0 && is_before(&e, &heap[(i - 1) / 2])) {
    heap[i] = heap[(i - 1) / 2];
    i = (i - 1) / 2;
  }
  heap[i] = e;
}

static event heap_pop(void) {
  event first = heap[0];
  event e = heap[--heap_size];
  unsigned i = 0;
  for (;;) {
    unsigned child = 2 * i + 1;
    if (child >= heap_size) break;
    if (child + 1 < heap_size && is_before(&heap[child + 1], &heap[child])) child++;
    if (!is_before(&heap[child], &e)) break;
    heap[i] = heap[child];
    i = child;
  }
  heap[i] = e;
  return first;
}

static void goes_on(sim_thread *t) {
  heap_push((event){t->now, ++turns, t, 0, NULL, NULL});
}

/* From at + later on. In between the core is busy with that. */
static void core_runs(core *c, sim_thread *t, ps at, ps later) {
  c->running = t;
  t->where = RUNS;
  if (t->now < at + later) t->now = at + later;
  c->since = t->now - later;
  c->slice_end = t->now + of_ns(sim_cost.slice);
  goes_on(t);
}

static void core_queue(core *c, sim_thread *t) {
  t->where = READY;
  t->next = NULL;
  if (c->ready) {
    c->last->next = t;
  } else {
    c->ready = t;
  }
  c->last = t;
}

/* The running thread has left the core at that time: the next one runs. */
static void core_left(core *c, ps at) {
  c->busy += at - c->since;
  c->running = NULL;
  sim_thread *t = c->ready;
  if (!t) return;
  c->ready = t->next;
  core_runs(c, t, at, of_ns(sim_cost.change));
}

/* A thread that slept is ready. */
static void core_gets(sim_thread *t, ps at, ps later) {
  core *c = &cores[t->core];
  if (c->running) {
    core_queue(c, t);
    if (t->now < at) t->now = at;
  } else {
    core_runs(c, t, at, later);
  }
}

/* Go to the thread that is next. Does not return. */
static _Noreturn void dispatch(void) {
  for (;;) {
    if (heap_size == 0) sim_stop("every thread sleeps");
    event e = heap_pop();
    sim_thread *t = e.thread;
    if (!t) {
      e.happens(e.arg, e.at / 1000);
      continue;
    }
    if (e.sleep != 0) { /* a deadline */
      if (t->where != SLEEPS || t->sleep != e.sleep) continue;
      t->timed_out = true;
      core_gets(t, e.at, of_ns(sim_cost.asleep));
      continue;
    }
    self = t;
    if (t->is_begun) _longjmp(t->at, 1);
    t->is_begun = true;
    setcontext(&t->begin);
    sim_stop("a thread does not begin");
  }
}

static void thread_main(void) {
  sim_thread *t = self;
  t->main(t->arg);
  t->where = ENDED;
  if (t->joiner) core_gets(t->joiner, t->now, of_ns(sim_cost.asleep));
  core_left(&cores[t->core], t->now);
  if (t == threads[0]) setcontext(&host);
  dispatch();
}

/* The thread that runs stops here, and goes on when it is its turn. */
static void leave(void) {
  if (_setjmp(self->at) == 0) dispatch();
}

/* Before anything that others can see: whoever is earlier goes first. */
static void in_turn(void) {
  sim_thread *t = self;
  core *c = &cores[t->core];
  if (c->lost_at <= t->now) {
    t->now += of_ns(sim_cost.lost_for);
    double share = (double)(sim_random() >> 11) / (double)(UINT64_C(1) << 53);
    c->lost_at = t->now + of_ns(sim_cost.lost_every * 2 * share) + 1;
  }
  if (c->ready && t->now >= c->slice_end) {
    core_queue(c, t);
    core_left(c, t->now);
    leave();
  }
  if (heap_size > 0 && heap[0].at < t->now) {
    goes_on(t);
    leave();
  }
}

/* ---- threads ---- */

void sim_begin(unsigned count, uint64_t seed) {
  core_count = count;
  random_state = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
  for (unsigned i = 0; i < 8; i++) sim_random();
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  arena = (char *)mmap(NULL, arena_bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  lines =
      (line *)mmap(NULL, arena_bytes / LINE * sizeof(line), PROT_READ | PROT_WRITE, flags, -1, 0);
  if (arena == MAP_FAILED || (void *)lines == MAP_FAILED) sim_stop("no memory");
  arena_next = arena;
  for (unsigned i = 0; i <= count; i++) {
    double share = (double)(sim_random() >> 11) / (double)(UINT64_C(1) << 53);
    cores[i].lost_at = sim_cost.lost_every > 0 ? of_ns(sim_cost.lost_every * share) : UINT64_MAX;
  }
}

static sim_thread *start_on(unsigned on, void *(*main)(void *), void *arg, ps at) {
  if (thread_count == THREADS) sim_stop("too many threads");
  sim_thread *t = (sim_thread *)calloc(1, sizeof *t);
  char *stack = (char *)sim_alloc_lines(stack_bytes);
  if (!t) sim_stop("no memory");
  t->index = thread_count;
  t->core = on;
  t->main = main;
  t->arg = arg;
  getcontext(&t->begin);
  t->begin.uc_stack.ss_sp = stack;
  t->begin.uc_stack.ss_size = stack_bytes;
  t->begin.uc_link = NULL;
  makecontext(&t->begin, thread_main, 0);
  threads[thread_count++] = t;
  core_gets(t, at, of_ns(sim_cost.wake));
  return t;
}

void sim_run(void *(*main)(void *), void *arg) {
  start_on(core_count, main, arg, 0);
  volatile bool is_over = false;
  getcontext(&host);
  if (is_over) return;
  is_over = true;
  dispatch();
}

sim_thread *sim_start(void *(*main)(void *), void *arg) {
  in_turn();
  return start_on(core_next++ % core_count, main, arg, self->now);
}

void sim_join(sim_thread *t) {
  in_turn();
  if (t->where == ENDED) return;
  t->joiner = self;
  self->where = SLEEPS;
  self->sleep++;
  core_left(&cores[self->core], self->now);
  leave();
}

sim_thread *sim_self(void) {
  return self;
}

sim_locals *sim_own(void) {
  return &self->locals;
}

unsigned sim_core(void) {
  return self->core;
}

/* ---- what a thread does ---- */

uint64_t sim_now_ns(void) {
  const uint64_t an_hour_ns = UINT64_C(3600000000000);
  self->now += of_ns(sim_cost.clock);
  return an_hour_ns + self->now / 1000;
}

void sim_work(double ns) {
  self->now += of_ns(ns);
  in_turn();
}

void sim_yield(void) {
  self->now += of_ns(sim_cost.system_call);
  in_turn();
  core *c = &cores[self->core];
  if (!c->ready) return;
  core_queue(c, self);
  core_left(c, self->now);
  leave();
}

bool sim_sleep(const uint32_t *word, uint32_t seen, uint64_t deadline_ns) {
  sim_thread *t = self;
  t->now += of_ns(sim_cost.system_call);
  sim_load(word);
  if (__atomic_load_n(word, __ATOMIC_RELAXED) != seen) return true;
  sleeps += 1;
  t->word = word;
  t->timed_out = false;
  t->sleep++;
  t->where = SLEEPS;
  if (deadline_ns != UINT64_MAX) {
    ps deadline = (deadline_ns - UINT64_C(3600000000000)) * 1000;
    heap_push((event){deadline > t->now ? deadline : t->now, ++turns, t, t->sleep, NULL, NULL});
  }
  core_left(&cores[t->core], t->now);
  leave();
  t->word = NULL;
  return !t->timed_out;
}

/* Who sleeps there for the longest time; or NULL. */
static sim_thread *first_asleep(const uint32_t *word) {
  sim_thread *first = NULL;
  for (unsigned i = 0; i < thread_count; i++) {
    sim_thread *t = threads[i];
    if (t->where == SLEEPS && t->word == word && (!first || t->now < first->now)) first = t;
  }
  return first;
}

void sim_wake(const uint32_t *word, int count) {
  self->now += of_ns(sim_cost.system_call);
  in_turn();
  while (count-- > 0) {
    sim_thread *first = first_asleep(word);
    if (!first) return;
    self->now += of_ns(sim_cost.wake);
    first->word = NULL;
    core_gets(first, self->now, of_ns(sim_cost.asleep));
  }
}

void sim_at(uint64_t ns, void (*happens)(void *arg, uint64_t ns), void *arg) {
  heap_push((event){(ps)ns * 1000, ++turns, NULL, 0, happens, arg});
}

bool sim_wake_at(const uint32_t *word, uint64_t ns) {
  sim_thread *first = first_asleep(word);
  if (!first) return false;
  first->word = NULL;
  core_gets(first, (ps)ns * 1000, of_ns(sim_cost.asleep));
  return true;
}

double sim_busy_ns(void) {
  double sum = 0;
  for (unsigned i = 0; i < core_count; i++) {
    core *c = &cores[i];
    sum += (double)c->busy;
    if (c->running && self->now > c->since) sum += (double)(self->now - c->since);
  }
  return sum / 1000;
}

uint64_t sim_sleeps(void) {
  return sleeps;
}

/* ---- memory ---- */

void *sim_alloc_lines(size_t bytes) {
  char *memory = arena_next;
  arena_next += (bytes + LINE - 1) / LINE * LINE;
  if (arena_next > arena + arena_bytes) sim_stop("no memory");
  return memory;
}

void *sim_alloc(size_t bytes) {
  return (char *)sim_alloc_lines(bytes + 16) + 16;
}

void sim_aside(bool is_aside) {
  is_free = is_aside;
}

/* The line of an address; NULL: of what only one thread uses, or nobody writes. */
static line *line_of(const void *at) {
  size_t offset = (size_t)((const char *)at - arena);
  return offset < arena_bytes ? &lines[offset / LINE] : NULL;
}

static bool is_sharer(const line *l, unsigned of) {
  return l->sharers[of / 64] >> of % 64 & 1;
}

/* No two transfers take equally long; else cores that do the same would fall into step for ever. */
static ps about(double ns) {
  return (ps)(ns * (double)(500 + sim_random() % 1001));
}

static ps way(unsigned from, unsigned to) {
  if (from == to) return 0;
  return about(from / sim_group == to / sim_group ? sim_cost.near : sim_cost.far);
}

/* How far the line is from a core: to read, from the nearest copy; to own, all copies must go. */
static ps line_way(const line *l, unsigned of, bool own) {
  if (l->owner) return way((unsigned)l->owner - 1, of);
  unsigned first = of / sim_group * sim_group;
  bool any = false, near = false, away = false;
  for (unsigned i = 0; i < WORDS; i++) any = any || l->sharers[i];
  if (!any) return of_ns(sim_cost.near / 2); /* from a cache that all share */
  for (unsigned i = 0; i <= core_count; i++) {
    if (i == of || !is_sharer(l, i)) continue;
    if (i >= first && i < first + sim_group) {
      near = true;
      if (!own) break;
    } else {
      away = true;
    }
  }
  if (own ? !away && !near : false) return of_ns(sim_cost.rmw) / 2;
  bool far = own ? away : !near;
  return about(far ? sim_cost.far : sim_cost.near);
}

static void line_own(line *l, unsigned of) {
  memset(l->sharers, 0, sizeof l->sharers);
  l->sharers[of / 64] |= UINT64_C(1) << of % 64;
  l->owner = (int16_t)(of + 1);
}

static void line_share(line *l, unsigned of) {
  l->owner = 0;
  l->sharers[of / 64] |= UINT64_C(1) << of % 64;
}

/* When a line leaves for who asks at that time: the last to whom it was sent may use it first. */
static ps departs(const line *l, ps at) {
  ps after = l->free_at + about(sim_cost.hold);
  return at > after ? at : after;
}

static void read_miss(line *l) {
  sim_thread *t = self;
  t->now += line_way(l, t->core, false) / 2;
  in_turn();
  ps back = line_way(l, t->core, false) / 2;
  if (l->owner) { /* it gets a copy when the owner lets it go */
    t->now = departs(l, t->now);
    l->free_at = t->now + back;
    in_turn();
  }
  line_share(l, t->core);
  t->now += back;
  in_turn();
}

static void own_miss(line *l) {
  sim_thread *t = self;
  t->now += line_way(l, t->core, true) / 2;
  in_turn();
  ps back = line_way(l, t->core, true) / 2;
  t->now = departs(l, t->now);
  l->free_at = t->now + back;
  in_turn();
  line_own(l, t->core);
  t->now += back;
  in_turn();
}

void sim_read(const void *at) {
  if (is_free) return;
  self->now += of_ns(sim_cost.access);
  line *l = line_of(at);
  if (!l || is_sharer(l, self->core)) return;
  in_turn();
  if (!is_sharer(l, self->core)) read_miss(l);
}

void sim_load(const void *at) {
  if (is_free) return;
  self->now += of_ns(sim_cost.access);
  in_turn();
  line *l = line_of(at);
  if (l && !is_sharer(l, self->core)) read_miss(l);
}

static void write_line(line *l) {
  sim_thread *t = self;
  ps half = line_way(l, t->core, true) / 2;
  l->free_at = departs(l, t->now + half) + half;
  if (t->stored < l->free_at) t->stored = l->free_at;
  line_own(l, t->core);
}

void sim_write(void *at) {
  if (is_free) return;
  self->now += of_ns(sim_cost.access);
  line *l = line_of(at);
  if (!l || l->owner == (int16_t)(self->core + 1)) return;
  in_turn();
  if (l->owner != (int16_t)(self->core + 1)) write_line(l);
}

void sim_store(void *at) {
  if (is_free) return;
  self->now += of_ns(sim_cost.access);
  in_turn();
  line *l = line_of(at);
  if (l && l->owner != (int16_t)(self->core + 1)) write_line(l);
}

void sim_rmw(void *at) {
  if (is_free) return;
  sim_thread *t = self;
  if (t->now < t->stored) t->now = t->stored;
  in_turn();
  line *l = line_of(at);
  if (l && l->owner != (int16_t)(t->core + 1)) own_miss(l);
  t->now += of_ns(sim_cost.rmw);
}

void sim_fence(void) {
  if (is_free) return;
  if (self->now < self->stored) self->now = self->stored;
  self->now += of_ns(sim_cost.rmw);
}

void sim_call(void) {
  if (is_free) return;
  self->now += of_ns(sim_cost.call);
}

uint64_t sim_peek_ns(void) {
  return self->now / 1000;
}

void sim_pause(void) {
  self->now += of_ns(sim_cost.pause);
}
