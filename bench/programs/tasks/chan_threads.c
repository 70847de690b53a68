/* chan_threads.c: one thread that sends to itself, and two threads: by the functions for elements
 * of any size, and by those that are declared for one type. */
#include <stdlib.h>

#include "tasks.h"

void *chan_memory(size_t bytes) {
  size_t lines = (bytes + VOLT_CACHE_LINE - 1) / VOLT_CACHE_LINE;
  void *memory = aligned_alloc(VOLT_CACHE_LINE, lines * VOLT_CACHE_LINE);
  rt_require(memory != NULL, "there is memory for a channel");
  return memory;
}

/* ---- a second thread, which sleeps ---- */

static void *sleep_until_end(void *arg) {
  chan_sleeper *s = (chan_sleeper *)arg;
  int result = volt_sem_acquire(&s->end, 1);
  rt_require(result == VOLT_OK, "a thread is told to end");
  return NULL;
}

void chan_sleeper_start(chan_sleeper *s) {
  volt_sem_init(&s->end, 0);
  rt_require(pthread_create(&s->thread, NULL, sleep_until_end, s) == 0, "a thread starts");
  while (volt_sem_waiters(&s->end) == 0) continue; /* it is on its way */
}

void chan_sleeper_end(chan_sleeper *s) {
  volt_sem_release(&s->end, 1);
  pthread_join(s->thread, NULL);
  volt_sem_destroy(&s->end);
}

/* ---- a channel ---- */

struct cushioned {
  VOLT_CACHE_ALIGNED numbers numbers;
  VOLT_CACHE_ALIGNED char end;
};

/* Make it, and return its memory. */
static void *begin(struct cushioned *c, uint32_t capacity) {
  size_t bytes = numbers_bytes(capacity);
  void *memory = chan_memory(bytes);
  rt_require(numbers_init(&c->numbers, capacity, memory, bytes) == VOLT_OK, "there is a channel");
  return memory;
}

static void end(struct cushioned *c, void *memory) {
  rt_require(volt_chan_len(&c->numbers.chan) == 0, "everything was received");
  volt_chan_destroy(&c->numbers.chan, NULL, NULL);
  free(memory);
}

static uint64_t sum_below(uint64_t n) {
  return n * (n - 1) / 2; /* modulo 2^64, like what it is compared with */
}

/* ---- one thread ---- */

typedef uint64_t alone_fn(numbers *c, uint64_t operations);

static uint64_t alone_generic(numbers *c, uint64_t operations) {
  uint64_t sum = 0, value = 0;
  for (uint64_t i = 0; i < operations; i++) {
    if (volt_chan_send(&c->chan, &i) != VOLT_OK) return UINT64_MAX;
    if (volt_chan_recv(&c->chan, &value) != VOLT_OK) return UINT64_MAX;
    sum += value;
  }
  return sum;
}

static uint64_t alone_typed(numbers *c, uint64_t operations) {
  uint64_t sum = 0, value = 0;
  for (uint64_t i = 0; i < operations; i++) {
    if (numbers_send(c, i) != VOLT_OK) return UINT64_MAX;
    if (numbers_recv(c, &value) != VOLT_OK) return UINT64_MAX;
    sum += value;
  }
  return sum;
}

static rt_outcome run_alone(const rt_options *o, alone_fn *alone) {
  static struct cushioned c;
  uint64_t operations = o->operations;
  void *memory = begin(&c, o->amount);
  chan_sleeper sleeper;
  chan_sleeper_start(&sleeper);
  alone(&c.numbers, rt_warm_up(operations));
  uint64_t cpu_ns = rt_cpu_ns();
  uint64_t start_ns = volt_now_ns();
  uint64_t sum = alone(&c.numbers, operations);
  uint64_t end_ns = volt_now_ns();
  cpu_ns = rt_cpu_ns() - cpu_ns;
  chan_sleeper_end(&sleeper);
  rt_require(sum == sum_below(operations), "what was sent is received");
  end(&c, memory);
  rt_outcome outcome = {0};
  rt_measured(&outcome, RT_NS, (double)(end_ns - start_ns) / (double)operations);
  rt_measured(&outcome, RT_CPU_NS, (double)cpu_ns / (double)operations);
  return outcome;
}

static rt_outcome run_alone_generic(const rt_options *o) {
  return run_alone(o, alone_generic);
}

static rt_outcome run_alone_typed(const rt_options *o) {
  return run_alone(o, alone_typed);
}

/* ---- two threads ---- */

struct side {
  VOLT_CACHE_ALIGNED pthread_t thread;
  numbers *numbers;
  uint64_t operations, sum;
  uint64_t out_of_turn; /* received */
  uint64_t start_ns, end_ns;
};

typedef void *side_fn(void *side);

static void *send_generic(void *side) {
  struct side *s = (struct side *)side;
  s->start_ns = volt_now_ns();
  for (uint64_t i = 0; i < s->operations; i++) {
    int result = volt_chan_send(&s->numbers->chan, &i);
    rt_require(result == VOLT_OK, "an element is sent");
  }
  s->end_ns = volt_now_ns();
  return NULL;
}

static void *recv_generic(void *side) {
  struct side *s = (struct side *)side;
  uint64_t value = 0;
  s->start_ns = volt_now_ns();
  for (uint64_t i = 0; i < s->operations; i++) {
    int result = volt_chan_recv(&s->numbers->chan, &value);
    rt_require(result == VOLT_OK, "an element is received");
    s->sum += value;
    s->out_of_turn += value != i;
  }
  s->end_ns = volt_now_ns();
  return NULL;
}

static void *send_typed(void *side) {
  struct side *s = (struct side *)side;
  s->start_ns = volt_now_ns();
  for (uint64_t i = 0; i < s->operations; i++) {
    int result = numbers_send(s->numbers, i);
    rt_require(result == VOLT_OK, "an element is sent");
  }
  s->end_ns = volt_now_ns();
  return NULL;
}

static void *recv_typed(void *side) {
  struct side *s = (struct side *)side;
  uint64_t value = 0;
  s->start_ns = volt_now_ns();
  for (uint64_t i = 0; i < s->operations; i++) {
    int result = numbers_recv(s->numbers, &value);
    rt_require(result == VOLT_OK, "an element is received");
    s->sum += value;
    s->out_of_turn += value != i;
  }
  s->end_ns = volt_now_ns();
  return NULL;
}

static rt_outcome run_sides(numbers *c, uint64_t operations, side_fn *const *fns) {
  struct side sides[2] = {{.numbers = c, .operations = operations},
                          {.numbers = c, .operations = operations}};
  uint64_t cpu_ns = rt_cpu_ns();
  for (unsigned i = 0; i < 2; i++) {
    int failed = pthread_create(&sides[i].thread, NULL, fns[i], &sides[i]);
    rt_require(!failed, "a thread starts");
  }
  for (unsigned i = 0; i < 2; i++) pthread_join(sides[i].thread, NULL);
  cpu_ns = rt_cpu_ns() - cpu_ns;
  rt_require(sides[1].sum == sum_below(operations), "what was sent is received");
  rt_require(sides[1].out_of_turn == 0, "it is received in the order in which it was sent");
  uint64_t first_ns = sides[0].start_ns;
  uint64_t last_ns = sides[0].end_ns;
  if (sides[1].start_ns < first_ns) first_ns = sides[1].start_ns;
  if (sides[1].end_ns > last_ns) last_ns = sides[1].end_ns;
  double whole_ns = (double)(last_ns - first_ns);
  double own_ns =
      (double)(sides[0].end_ns - sides[0].start_ns) + (double)(sides[1].end_ns - sides[1].start_ns);
  rt_outcome outcome = {0};
  rt_measured(&outcome, RT_NS, whole_ns / (double)operations);
  rt_measured(&outcome, RT_CPU_NS, (double)cpu_ns / (double)operations);
  rt_measured(&outcome, RT_OVERLAP, own_ns / whole_ns / 2);
  return outcome;
}

static rt_outcome run_spsc(const rt_options *o, side_fn *const *fns) {
  static struct cushioned c;
  void *memory = begin(&c, o->amount);
  run_sides(&c.numbers, rt_warm_up(o->operations), fns);
  rt_outcome outcome = run_sides(&c.numbers, o->operations, fns);
  end(&c, memory);
  return outcome;
}

static rt_outcome run_spsc_generic(const rt_options *o) {
  static side_fn *const fns[2] = {send_generic, recv_generic};
  return run_spsc(o, fns);
}

static rt_outcome run_spsc_typed(const rt_options *o) {
  static side_fn *const fns[2] = {send_typed, recv_typed};
  return run_spsc(o, fns);
}

const rt_case chan_threads_cases[] = {{"alone-chan", "generic", run_alone_generic},
                                      {"alone-chan", "typed", run_alone_typed},
                                      {"spsc", "generic", run_spsc_generic},
                                      {"spsc", "typed", run_spsc_typed},
                                      {NULL, NULL, NULL}};
