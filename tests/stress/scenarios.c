/* scenarios.c: what threads do to an object, and what must hold.
 *
 * Conservation  what is held never exceeds the total; when all is over, everything is there again.
 * Exclusion     who holds everything writes a plain variable that who holds a part reads: a race
 *               is a report of ThreadSanitizer, a lost update a failed check.
 * Destruction   the last user destroys the object, while others are still leaving it.
 * Close         whoever waits or comes sees VOLT_ECLOSED, and nothing is lost. */
#define _GNU_SOURCE /* pthread_barrier */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "subject.h"

#define ROUND_NS UINT64_C(60000000)

/* An object, and what the tests know about it. The last user frees both. */
struct arena {
  const stress_subject *subject;
  void *object;
  uint32_t total;
  VOLT_ATOMIC(uint64_t) held;
  uint64_t written; /* plain: by who holds the total */
  uint64_t written_twice;
  uint32_t users; /* plain: by who holds the total */
};

static void arena_init(struct arena *a, const stress_subject *s, uint32_t total) {
  memset((void *)a, 0, sizeof *a);
  a->subject = s;
  a->total = total;
  a->object = malloc(s->bytes);
  STRESS_CHECK(a->object != NULL);
  s->init(a->object, total);
}

static void arena_end(struct arena *a) {
  const stress_subject *s = a->subject;
  s->destroy(a->object);
  memset(a->object, 0xa5, s->bytes);
  free(a->object);
}

static void check_quiet(struct arena *a) {
  STRESS_CHECK(volt_load_relaxed(&a->held) == 0);
  STRESS_CHECK(a->subject->waiters(a->object) == 0);
  STRESS_CHECK(a->subject->available(a->object) == a->total);
  STRESS_CHECK(a->written == a->written_twice);
}

/* relaxed, all of held: a count; ordering would hide missing ordering from the race detector */
static void enter(struct arena *a, uint32_t n) {
  stress_count_entry();
  STRESS_CHECK(volt_fetch_add_relaxed(&a->held, n) + n <= a->total);
  STRESS_CHECK(a->written == a->written_twice);
  if (n == a->total) a->written += 1;
}

static void leave(stress_worker *w, struct arena *a, uint32_t n) {
  stress_dawdle(w);
  if (n == a->total) a->written_twice += 1;
  volt_fetch_add_relaxed(&a->held, (uint64_t)0 - n);
}

static int visit(stress_worker *w, struct arena *a) {
  uint32_t n = stress_pick(w, a->subject, a->total);
  int result = stress_take(w, a->subject, a->object, n);
  if (result == VOLT_OK) {
    enter(a, n);
    leave(w, a, n);
    stress_give(w, a->subject, a->object, n);
  }
  return result;
}

/* ---- everything at once ---- */

/* A waker that uses the object it is called by: nothing is held when it is called. */
static void wake_re_enters(void *arg) {
  static _Thread_local unsigned depth;
  struct arena *a = (struct arena *)arg;
  if (depth == 3) return;
  depth += 1;
  if (a->subject->try_acquire(a->object, 1) == VOLT_OK) {
    enter(a, 1);
    if (a->total == 1) a->written_twice += 1;
    volt_fetch_add_relaxed(&a->held, (uint64_t)0 - 1);
    a->subject->release(a->object, 1);
  }
  depth -= 1;
}

static void mixed_body(stress_worker *w, void *arg) {
  struct arena *a = (struct arena *)arg;
  stress_arm(w, a->total, wake_re_enters, a);
  while (!stress_stopping()) {
    uint32_t n = stress_pick(w, a->subject, a->total);
    uint64_t start_ns = volt_now_ns();
    if (stress_take(w, a->subject, a->object, n) != VOLT_OK) {
      w->gave_up += 1;
      continue;
    }
    enter(a, n);
    histogram_add(&w->waits[n == a->total && n > 1], volt_now_ns() - start_ns);
    w->acquired += 1;
    leave(w, a, n);
    stress_give(w, a->subject, a->object, n);
    stress_dawdle(w);
  }
}

void stress_mixed_round(const stress_subject *s, uint32_t total) {
  struct arena a;
  arena_init(&a, s, total);
  stress_round(stress_threads(), ROUND_NS, mixed_body, &a);
  check_quiet(&a);
  arena_end(&a);
}

/* ---- generations: one object after the other ---- */

struct generations {
  const stress_subject *subject;
  uint32_t total;
  pthread_barrier_t gate;
  struct arena *arenas[2]; /* in turns: nobody is more than one generation ahead */
  uint64_t close_after;
};

/* Begin the next generation together. Returns its arena, or NULL: the round is over. */
static struct arena *next_arena(stress_worker *w, struct generations *g, unsigned generation) {
  struct arena **next = &g->arenas[generation % 2];
  if (w->index == 0) {
    *next = NULL;
    if (!stress_stopping()) {
      *next = (struct arena *)malloc(sizeof **next);
      STRESS_CHECK(*next != NULL);
      arena_init(*next, g->subject, g->total);
      (*next)->users = stress_threads();
      g->close_after = stress_below(w, 8);
    }
  }
  stress_progress(w, "waiting for the next object");
  pthread_barrier_wait(&g->gate);
  return *next;
}

static void generations_round(const stress_subject *s, uint32_t total, stress_body *body) {
  struct generations g = {.subject = s, .total = total};
  STRESS_CHECK(pthread_barrier_init(&g.gate, NULL, stress_threads()) == 0);
  stress_round(stress_threads(), ROUND_NS, body, &g);
  pthread_barrier_destroy(&g.gate);
}

/* Users come and go; each leaves for good with everything in hand. The last one out frees it. */
static void last_user_body(stress_worker *w, void *arg) {
  struct generations *g = (struct generations *)arg;
  stress_arm(w, g->total, NULL, NULL);
  struct arena *a;
  for (unsigned generation = 0; (a = next_arena(w, g, generation)) != NULL; generation++) {
    for (uint32_t visits = stress_below(w, 3); visits > 0; visits--) visit(w, a);
    while (stress_take(w, a->subject, a->object, a->total) != VOLT_OK) continue;
    enter(a, a->total);
    a->users -= 1;
    bool last = a->users == 0;
    leave(w, a, a->total);
    a->subject->release(a->object, a->total);
    if (!last) continue;
    arena_end(a);
    free(a);
  }
}

void stress_last_user_round(const stress_subject *s, uint32_t total) {
  generations_round(s, total, last_user_body);
}

/* One thread closes the object while the others take and give back, until each has been told. */
static void close_body(stress_worker *w, void *arg) {
  struct generations *g = (struct generations *)arg;
  stress_arm(w, g->total, NULL, NULL);
  struct arena *a;
  for (unsigned generation = 0; (a = next_arena(w, g, generation)) != NULL; generation++) {
    bool closer = w->index == generation % stress_threads();
    for (uint64_t visits = 0;; visits++) {
      if (closer && visits == g->close_after) a->subject->close(a->object);
      if (visit(w, a) == VOLT_ECLOSED) break;
    }
    stress_progress(w, "waiting for the others to see that it is closed");
    pthread_barrier_wait(&g->gate);
    if (w->index != 0) continue;
    check_quiet(a);
    arena_end(a);
    free(a);
  }
}

void stress_close_round(const stress_subject *s, uint32_t total) {
  generations_round(s, total, close_body);
}

/* ---- all of it ---- */

void stress_rounds(const stress_subject *s, unsigned turn) {
  uint32_t total = s->totals[turn % s->total_count];
  stress_mixed_round(s, total);
  stress_mixed_round(s, total);
  stress_last_user_round(s, total);
  if (s->acquire) stress_fifo_round(s, total);
  if (s->close) stress_close_round(s, total);
}

void stress_run(const stress_subject *s) {
  for (unsigned turn = 0; stress_time_left(); turn++) stress_rounds(s, turn);
}
