/* park_stress.c: threads and fibers that park, some with a deadline, some cancelled, on parkers that
 * are freed the moment the call returns; and threads and fibers that find them and unpark them, at
 * once or by a list that is woken later. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <volt/fiber.h>

#include "harness.h"

#define ROUND_NS UINT64_C(30000000)

/* A parked thread, and the note that whoever unparks it leaves: plain, published by the unpark. */
struct sleeper {
  volt_parker parker;
  uint32_t wanted;
  uint64_t notes;
};

enum { FIBERS = 24, DOORS = STRESS_MAX_THREADS + FIBERS };

static struct table {
  VOLT_ATOMIC(struct sleeper *) doors[DOORS]; /* where each can be found */
  VOLT_ATOMIC(uint32_t) awake;                /* that park no more */
  unsigned threads;                           /* the first doors are theirs */
  unsigned doors_used;
} table;

/* How often a call has parked: counted in sections, which a fiber may run for a thread and the other
 * way round; and counted by an atomic. */
static struct books {
  volt_bcs_lock lock;
  uint64_t entries; /* in sections */
  VOLT_ATOMIC(uint64_t) calls;
} books;

static void enter(void *arg) {
  (void)arg;
  books.entries += 1;
}

static void count_call(void) {
  volt_bcs_node node;
  volt_bcs_lock_run(&books.lock, &node, enter, NULL);
  (void)volt_fetch_add_relaxed(&books.calls, 1);
}

static struct sleeper *take(unsigned door) {
  struct sleeper *nobody = NULL;
  return volt_exchange_acq_rel(&table.doors[door], nobody);
}

/* Unpark everybody who can be found. */
static void unpark_around(stress_worker *w, volt_unpark_list *list) {
  for (unsigned i = 0; i < table.doors_used; i++) {
    struct sleeper *s = take(i);
    if (!s) continue;
    uint32_t wanted = s->wanted;
    s->notes += 1;
    for (uint32_t j = 0; j < wanted; j++) { /* after the last one *s may be gone */
      if (stress_below(w, 4) == 0) {
        volt_unpark(&s->parker);
      } else {
        volt_unpark_later(&s->parker, list);
      }
    }
    w->acquired += 1;
  }
}

/* w: whose random numbers and counts. */
static void park_at(unsigned door, stress_worker *w) {
  struct sleeper *s = (struct sleeper *)malloc(sizeof *s);
  STRESS_CHECK(s != NULL);
  volt_store_relaxed(&s->parker.word, 0); /* published by the door */
  s->wanted = 1 + stress_below(w, 3);
  s->notes = 0;
  struct sleeper *before = volt_exchange_acq_rel(&table.doors[door], s);
  STRESS_CHECK(before == NULL);
  bool patient = stress_below(w, 2) == 0;
  uint64_t deadline_ns = patient ? VOLT_NO_DEADLINE : volt_deadline_ns(stress_below(w, 30000));
  int result = volt_park_until(&s->parker, s->wanted, deadline_ns);
  STRESS_CHECK(result == VOLT_OK || result == VOLT_ECANCELED || !patient);
  if (result != VOLT_OK && take(door) == s) {
    w->gave_up += 1;
    STRESS_CHECK(s->notes == 0);
  } else {
    volt_fiber_shield(); /* of a thread it does nothing */
    result = volt_park_until(&s->parker, s->wanted, VOLT_NO_DEADLINE);
    volt_fiber_unshield();
    STRESS_CHECK(result == VOLT_OK && s->notes == 1);
  }
  memset((void *)s, 0xa5, sizeof *s);
  free(s);
  count_call();
}

/* ---- fibers ---- */

/* A fiber, with what it has as a worker of the harness has. */
struct parked_fiber {
  volt_task *task;
  stress_worker worker;
};

static int parks_in_a_fiber(void *arg) {
  struct parked_fiber *f = (struct parked_fiber *)arg;
  volt_unpark_list list;
  list.count = 0;
  while (!stress_stopping()) {
    park_at(f->worker.index, &f->worker);
    if (stress_below(&f->worker, 3) == 0) unpark_around(&f->worker, &list);
    volt_unpark_all(&list); /* before this fiber is suspended */
    if (stress_below(&f->worker, 4) == 0) (void)volt_fiber_yield(); /* or it obeys a cancel */
  }
  (void)volt_fetch_add_release(&table.awake, 1);
  return VOLT_OK;
}

static struct parked_fiber fibers[FIBERS];
static volt_rt *rt;

static void start_fibers(stress_worker *w) {
  const volt_rt_config config = {.workers = 2};
  STRESS_CHECK(volt_rt_create(&rt, &config) == VOLT_OK);
  for (unsigned i = 0; i < FIBERS; i++) {
    struct parked_fiber *f = &fibers[i];
    memset((void *)f, 0, sizeof *f);
    f->worker.index = table.threads + i;
    f->worker.random = rng_seeded(stress_below(w, 1u << 30));
    f->task = volt_fiber_new(rt, parks_in_a_fiber, f, NULL);
    STRESS_CHECK(f->task && volt_spawn(rt, f->task) == VOLT_OK);
  }
}

static void end_fibers(void) {
  for (unsigned i = 0; i < FIBERS; i++) {
    STRESS_CHECK(volt_task_join(fibers[i].task) == VOLT_OK);
    volt_task_detach(fibers[i].task);
  }
  STRESS_CHECK(volt_rt_destroy(rt) == 0);
}

/* ---- threads ---- */

/* Worker 0 never parks: it has the fibers, cancels some, and lets the others out. */
static void park_and_unpark(stress_worker *w, void *arg) {
  (void)arg;
  volt_unpark_list list;
  list.count = 0;
  if (w->index == 0) {
    bool has_fibers = table.doors_used > table.threads;
    if (has_fibers) start_fibers(w);
    while (volt_load_acquire(&table.awake) + 1 < table.doors_used) {
      unpark_around(w, &list);
      stress_dawdle(w);
      volt_unpark_all(&list);
      if (has_fibers && stress_below(w, 16) == 0) {
        (void)volt_task_cancel(fibers[stress_below(w, FIBERS)].task);
      }
      if (stress_below(w, 4) == 0) sched_yield();
      stress_progress(w, "unparking");
    }
    return;
  }
  while (!stress_stopping()) {
    park_at(w->index, w);
    stress_progress(w, "parking");
    if (stress_below(w, 3) == 0) unpark_around(w, &list);
    stress_dawdle(w);
    volt_unpark_all(&list); /* it is owed, before this thread sleeps */
  }
  (void)volt_fetch_add_release(&table.awake, 1);
}

int main(void) {
  stress_begin("park", NULL, NULL);
  for (unsigned round = 0; stress_time_left(); round++) {
    bool has_fibers = round % 2 != 0;
    memset((void *)&table, 0, sizeof table);
    memset((void *)&books, 0, sizeof books);
    if (round % 4 < 2) volt_bcs_lock_init_lockfree(&books.lock);
    table.threads = stress_threads();
    table.doors_used = table.threads + (has_fibers ? FIBERS : 0);
    stress_round(table.threads, ROUND_NS, park_and_unpark, NULL);
    if (has_fibers) end_fibers();
    for (unsigned i = 0; i < table.doors_used; i++) STRESS_CHECK(take(i) == NULL);
    STRESS_CHECK(books.entries == volt_load_relaxed(&books.calls));
    volt_bcs_lock_destroy(&books.lock);
  }
  return stress_end();
}
