/* bcs_lock_stress.c: sections of every kind on a lock of either form: run, submitted with and
 * without a waker, futures blocked on, polled with wakers that change, and cancelled. A section
 * runs once, alone, after those that its thread asked for before; its memory is poisoned and
 * freed as early as allowed. Storms: nothing but run(), and the last user frees the lock without
 * destroying it. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

#define ROUND_NS UINT64_C(30000000)

/* What the lock protects: plain. */
struct books {
  volt_bcs_lock lock;
  uint64_t ran;
  uint64_t last_of[STRESS_MAX_THREADS]; /* the number of the last section of each thread */
  uint32_t left;                        /* users that will not come again */
  VOLT_ATOMIC(uint64_t) asked;          /* that were not cancelled */
};

/* A section, in memory of its own. */
struct errand {
  volt_bcs_section section;
  volt_future future;
  struct books *books;
  struct errand *before; /* told nobody: to be freed when this one runs */
  unsigned thread;
  uint32_t effort;
  uint64_t number;
  uint32_t ran;
  uint32_t is_last; /* of all users */
};

/* What a thread has under way. */
struct user {
  struct books *books;
  struct errand *silent; /* the last one submitted without a waker */
  uint64_t number;
};

static void drop(struct errand *e) {
  memset((void *)e, 0xa5, sizeof *e);
  free(e);
}

static void go(void *arg) {
  struct errand *e = (struct errand *)arg;
  struct books *b = e->books;
  STRESS_CHECK(e->ran == 0 && e->number > b->last_of[e->thread]);
  e->ran = 1;
  b->last_of[e->thread] = e->number;
  b->ran += 1;
  if (e->before) drop(e->before); /* a later section has begun: R4 */
  for (volatile uint32_t i = e->effort; i > 0;) i = i - 1;
}

static struct errand *new_errand(stress_worker *w, struct user *u) {
  struct errand *e = (struct errand *)malloc(sizeof *e);
  STRESS_CHECK(e != NULL);
  memset((void *)e, 0xee, sizeof *e);
  e->books = u->books;
  e->before = NULL;
  e->thread = w->index;
  e->effort = stress_below(w, 8) == 0 ? stress_below(w, 2000) : stress_below(w, 50);
  e->number = ++u->number;
  e->ran = 0;
  e->is_last = 0;
  return e;
}

/* One that will run for certain takes the last silent one along. */
static struct errand *certain_errand(stress_worker *w, struct user *u) {
  struct errand *e = new_errand(w, u);
  e->before = u->silent;
  u->silent = NULL;
  (void)volt_fetch_add_relaxed(&u->books->asked, 1); /* a count */
  return e;
}

/* ---- the ways ---- */

static void way_run(stress_worker *w, struct user *u) {
  struct errand *e = certain_errand(w, u);
  volt_bcs_lock_run(&u->books->lock, &e->section.node, go, e);
  STRESS_CHECK(e->ran == 1);
  drop(e);
}

static void way_silent(stress_worker *w, struct user *u) {
  struct errand *e = certain_errand(w, u);
  u->silent = e;
  volt_bcs_lock_submit(&u->books->lock, &e->section, go, e, (volt_waker){NULL, NULL});
}

static void drop_in_waker(void *ctx) {
  struct errand *e = (struct errand *)ctx;
  STRESS_CHECK(e->ran == 1);
  drop(e);
}

static void way_submit(stress_worker *w, struct user *u) {
  struct errand *e = certain_errand(w, u);
  volt_bcs_lock_submit(&u->books->lock, &e->section, go, e, (volt_waker){drop_in_waker, e});
}

/* Whether its section has run is what it did, not what cancel says. */
static void end_future(stress_worker *w, struct user *u, struct errand *e, int result) {
  if (result == VOLT_OK) STRESS_CHECK(e->ran == 1);
  if (result == VOLT_ETIMEDOUT) STRESS_CHECK(e->ran == 0);
  if (e->ran == 1) {
    (void)volt_fetch_add_relaxed(&u->books->asked, 1);
  } else {
    w->gave_up += 1;
  }
  drop(e);
}

static struct errand *future_errand(stress_worker *w, struct user *u) {
  struct errand *e = new_errand(w, u);
  volt_future_made(volt_bcs_lock_run_future(&e->future, &u->books->lock, &e->section, go, e));
  return e;
}

static void way_block_on(stress_worker *w, struct user *u) {
  struct errand *e = future_errand(w, u);
  bool patient = stress_below(w, 2) == 0;
  uint64_t deadline_ns = patient ? VOLT_NO_DEADLINE : volt_deadline_ns(stress_below(w, 5000));
  int result = volt_future_wait_until(&e->future, deadline_ns);
  STRESS_CHECK(result == VOLT_OK || (result == VOLT_ETIMEDOUT && !patient));
  end_future(w, u, e, result);
}

/* One poll, and what its waker owes; a poll with another waker moves the wake there. */
static int poll_once(stress_worker *w, struct errand *e, stress_slot **slot) {
  stress_slot *next = *slot && stress_below(w, 2) == 0 ? *slot : stress_any_slot(w);
  int result = volt_future_poll(&e->future, stress_waker(next));
  if (result == VOLT_PENDING) {
    if (*slot) (*slot)->expected -= 1;
    next->expected += 1;
    *slot = next;
  }
  return result;
}

static void way_polled(stress_worker *w, struct user *u) {
  struct errand *e = future_errand(w, u);
  stress_slot *slot = NULL;
  uint32_t patience = stress_below(w, 3) == 0 ? UINT32_MAX : stress_below(w, 32);
  int result = VOLT_PENDING;
  for (; patience > 0 && result == VOLT_PENDING; patience--) {
    result = poll_once(w, e, &slot);
    if (result == VOLT_PENDING) stress_dawdle(w);
    if (patience % 8 == 0) sched_yield();
  }
  if (result == VOLT_PENDING) {
    volt_future_cancel(&e->future);
    if (slot && e->ran == 0) slot->expected -= 1; /* it has not run: no wake will come */
    result = VOLT_ECANCELED;
  }
  end_future(w, u, e, result);
}

/* ---- everything at once ---- */

static void run_more(void *arg) {
  struct books *b = (struct books *)arg;
  b->ran += 1;
}

/* Some wakers use the lock themselves. */
static void use_in_waker(void *arg) {
  struct books *b = (struct books *)arg;
  volt_bcs_node node;
  (void)volt_fetch_add_relaxed(&b->asked, 1);
  volt_bcs_lock_run(&b->lock, &node, run_more, b);
}

static void mix(stress_worker *w, void *arg) {
  static void (*const ways[])(stress_worker *, struct user *) = {
      way_run, way_run, way_silent, way_submit, way_block_on, way_polled, way_polled,
  };
  struct user u = {(struct books *)arg, NULL, 0};
  stress_arm(w, 0, use_in_waker, arg);
  while (!stress_stopping()) {
    ways[stress_below(w, sizeof ways / sizeof *ways)](w, &u);
    w->acquired += 1;
    stress_progress(w, "mixing");
    stress_dawdle(w);
  }
  way_run(w, &u); /* the last silent one is freed */
}

static void init_books(struct books *b, bool lockfree) {
  memset((void *)b, 0, sizeof *b);
  if (lockfree) {
    volt_bcs_lock_init_lockfree(&b->lock);
  } else {
    volt_bcs_lock_init(&b->lock);
  }
}

static void mixed_round(bool lockfree) {
  struct books *b = (struct books *)malloc(sizeof *b);
  STRESS_CHECK(b != NULL);
  init_books(b, lockfree);
  stress_round(stress_threads(), ROUND_NS, mix, b);
  STRESS_CHECK(b->ran == volt_load_relaxed(&b->asked));
  volt_bcs_lock_destroy(&b->lock);
  free(b);
}

/* ---- storms; the last user frees the lock ---- */

enum { GENERATIONS = 2000 };
static struct books *generations[GENERATIONS];
static unsigned storm_threads;

static void go_last(void *arg) {
  struct errand *e = (struct errand *)arg;
  go(arg);
  e->books->left += 1;
  e->is_last = e->books->left == storm_threads;
}

static void storm(stress_worker *w, void *arg) {
  (void)arg;
  for (unsigned i = 0; i < GENERATIONS; i++) {
    struct user u = {generations[i], NULL, 0};
    for (uint32_t j = stress_below(w, 8); j > 0; j--) way_run(w, &u);
    if (stress_below(w, 4) == 0) way_silent(w, &u);
    struct errand *e = certain_errand(w, &u);
    volt_bcs_lock_run(&u.books->lock, &e->section.node, go_last, e);
    if (e->is_last) { /* nobody touches it any more */
      STRESS_CHECK(u.books->ran == volt_load_relaxed(&u.books->asked));
      memset((void *)u.books, 0xa5, sizeof *u.books);
      free(u.books);
      generations[i] = NULL;
    }
    drop(e);
    w->acquired += 1;
    stress_progress(w, "storming");
  }
}

static void storm_round(bool lockfree) {
  storm_threads = stress_threads();
  for (unsigned i = 0; i < GENERATIONS; i++) {
    generations[i] = (struct books *)malloc(sizeof *generations[i]);
    STRESS_CHECK(generations[i] != NULL);
    init_books(generations[i], lockfree);
  }
  stress_round(storm_threads, ROUND_NS, storm, NULL);
  for (unsigned i = 0; i < GENERATIONS; i++) STRESS_CHECK(generations[i] == NULL);
}

int main(void) {
  stress_begin("bcs_lock (wait-free, lock-free)", NULL, NULL);
  for (unsigned i = 0; stress_time_left(); i++) {
    if (i % 4 < 2) {
      mixed_round(i % 2 != 0);
    } else {
      storm_round(i % 2 != 0);
    }
  }
  return stress_end();
}
