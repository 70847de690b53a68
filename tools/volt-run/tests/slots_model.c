/* slots_model.c [MUTANT]: slots.c as it is, with 4 slots, by every schedule of two threads with up to 3 preemptions, and of
 * three with up to 2: a thread may be left before each atomic operation.
 *
 * Checks slots.c I1 (what is in all slots is what was added) and R1 (the width is doubled as often as needed, and not more).
 * Mutants, each of which has to be rejected:
 *   exchange    a fold reads a slot and clears it by two steps
 *   flag        two threads fold at once
 * Without a mutant exits with 0 if all schedules are right; with one, if a schedule is wrong. */
#define _GNU_SOURCE
#define SLOTS_COUNT 4
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

static const char *mutant = "";
static void step(void);

static bool is_mutant(const char *name) {
  return strcmp(mutant, name) == 0;
}

static uint64_t model_exchange(_Atomic uint64_t *at, uint64_t value) {
  step();
  uint64_t old = *at;
  if (is_mutant("exchange")) step();
  *at = value;
  return old;
}

static void model_add_64(_Atomic uint64_t *at, uint64_t n) {
  step();
  *at += n;
}

static void model_add_32(_Atomic uint32_t *at, uint32_t n) {
  step();
  *at += n;
}

static uint32_t model_load(const _Atomic uint32_t *at) {
  step();
  return *at;
}

static bool flag_is_set;

static bool model_set(void) {
  step();
  bool was = flag_is_set;
  flag_is_set = true;
  return was && !is_mutant("flag");
}

static void model_clear(void) {
  step();
  flag_is_set = false;
}

#undef atomic_exchange
#undef atomic_fetch_add
#undef atomic_fetch_add_explicit
#undef atomic_load_explicit
#undef atomic_flag_test_and_set_explicit
#undef atomic_flag_clear_explicit
#undef atomic_flag_clear
#define atomic_exchange(at, value) model_exchange(at, value)
#define atomic_fetch_add(at, n) model_add_64(at, n)
#define atomic_fetch_add_explicit(at, n, order) \
  _Generic((at), _Atomic uint32_t * : model_add_32, _Atomic uint64_t * : model_add_64)((at), (n))
#define atomic_load_explicit(at, order) model_load(at)
#define atomic_flag_test_and_set_explicit(at, order) ((void)(at), model_set())
#define atomic_flag_clear_explicit(at, order) ((void)(at), model_clear())
#define atomic_flag_clear(at) ((void)(at), model_clear())
#include "watch/slots.c"

/* ---- threads ---- */

enum { THREADS = 3, STACK = 65536, STEPS = 400, MOST_PREEMPTIONS = 3 };

struct add {
  uint64_t since, end; /* in widths of the first slots */
};

/* Of each thread two waits, which make it fold. */
static const struct add adds[THREADS][2] = {{{0, 1}, {3, 5}}, {{2, 3}, {1, 9}}, {{0, 4}, {6, 7}}};
static const uint64_t width = UINT64_C(1) << SLOTS_FIRST_SHIFT;

static struct slots slots;
static ucontext_t scheduler, thread[THREADS];
static char stack[THREADS][STACK];
static bool has_ended[THREADS];
static int current;

static void step(void) {
  if (current >= 0) swapcontext(&thread[current], &scheduler);
}

static void run_thread(void) {
  int self = current;
  for (int i = 0; i < 2; i++)
    slots_add(&slots, adds[self][i].since * width, adds[self][i].end * width);
  has_ended[self] = true;
}

struct schedule {
  int count;
  int at[MOST_PREEMPTIONS], to[MOST_PREEMPTIONS];
};

static int next_that_runs(int threads) {
  for (int i = 0; i < threads; i++) {
    if (!has_ended[i]) return i;
  }
  return -1;
}

static void start(int i) {
  getcontext(&thread[i]);
  thread[i].uc_stack.ss_sp = stack[i];
  thread[i].uc_stack.ss_size = STACK;
  thread[i].uc_link = &scheduler;
  makecontext(&thread[i], run_thread, 0);
  has_ended[i] = false;
}

/* Returns how many steps it took. */
static int run(const struct schedule *s, int threads) {
  int steps = 0, done = 0;
  memset(&slots, 0, sizeof slots);
  flag_is_set = false;
  for (int i = 0; i < threads; i++) start(i);
  for (int next = 0; next >= 0 && steps < STEPS; steps++) {
    if (done < s->count && s->at[done] == steps) next = s->to[done++];
    if (has_ended[next]) next = next_that_runs(threads);
    current = next;
    swapcontext(&scheduler, &thread[next]);
    current = -1;
    if (has_ended[next]) next = next_that_runs(threads);
  }
  return steps;
}

/* ---- what must hold ---- */

static bool is_right(int threads) {
  uint64_t ns = 0, waits = 0, added = 0, latest = 0;
  for (int i = 0; i < SLOTS; i++) ns += slots.ns[i], waits += slots.waits[i];
  for (int i = 0; i < threads; i++) {
    for (int k = 0; k < 2; k++) {
      added += (adds[i][k].end - adds[i][k].since) * width;
      latest = adds[i][k].end > latest ? adds[i][k].end : latest;
    }
  }
  bool is_needed = slots.doubled == 0 || latest >> (slots.doubled - 1) >= SLOTS;
  return ns == added && waits == 2u * (unsigned)threads && is_needed;
}

static unsigned long schedules, wrong;

static void check(const struct schedule *s, int threads, int preemptions) {
  int steps = run(s, threads);
  if (steps == STEPS || next_that_runs(threads) >= 0) {
    fprintf(stderr, "slots_model: a thread does not end\n");
    exit(1);
  }
  schedules++;
  wrong += !is_right(threads);
  if (s->count == preemptions || (wrong && *mutant)) return;
  for (int at = s->count ? s->at[s->count - 1] + 1 : 0; at < steps; at++) {
    for (int to = 0; to < threads; to++) {
      struct schedule more = *s;
      more.at[more.count] = at;
      more.to[more.count++] = to;
      check(&more, threads, preemptions);
    }
  }
}

int main(int argc, char **argv) {
  const struct schedule none = {0};
  if (argc > 1) mutant = argv[1];
  current = -1;
  check(&none, 2, 3);
  check(&none, 3, 2);
  printf("%s%s%lu schedules, %lu wrong\n", mutant, *mutant ? ": " : "", schedules, wrong);
  return (wrong == 0) == (*mutant == '\0') ? 0 : 1;
}
