/* mpsc_stress.c: the queue of many producers, popped by one thread, and the actor: started, stopped
 * and freed under way. Nodes are poisoned and freed as soon as they are the consumer's. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

#define ROUND_NS UINT64_C(30000000)

struct letter {
  volt_bcs_node node;
  unsigned from;
  uint64_t number;
  VOLT_ATOMIC(uint32_t) *answer; /* set when it has been handled; or NULL */
};

/* What the consumer alone touches: a plain variable is the proof of it. */
struct books {
  uint64_t handled;
  uint64_t next_of[STRESS_MAX_THREADS];
};

struct round {
  volt_mpsc queue;
  volt_actor *actor;
  struct books books;
  VOLT_ATOMIC(uint64_t) submitted;
  VOLT_ATOMIC(uint32_t) producers; /* that are still at it */
  VOLT_ATOMIC(uint32_t) turn;      /* in turns: which of the two run()s it is */
  unsigned threads;
};

static struct letter *new_letter(unsigned from, uint64_t number) {
  struct letter *l = (struct letter *)malloc(sizeof *l);
  STRESS_CHECK(l != NULL);
  memset((void *)l, 0xee, sizeof *l);
  l->from = from;
  l->number = number;
  l->answer = NULL;
  return l;
}

static void open_letter(volt_bcs_node *node, void *ctx) {
  struct books *books = (struct books *)ctx;
  struct letter *l = (struct letter *)(void *)node;
  STRESS_CHECK(l->number == books->next_of[l->from]); /* in order, none twice, none lost */
  books->next_of[l->from] += 1;
  books->handled += 1;
  VOLT_ATOMIC(uint32_t) *answer = l->answer;
  memset((void *)l, 0xa5, sizeof *l);
  free(l);
  if (answer) (void)volt_fetch_add_release(answer, 1);
}

static void check_books(struct round *r) {
  STRESS_CHECK(r->books.handled == volt_load_relaxed(&r->submitted));
}

static void count_submitted(struct round *r, uint64_t count) {
  (void)volt_fetch_add_relaxed(&r->submitted, count); /* a count; the round's end orders it */
}

/* ---- the queue ---- */

static void pop_all(stress_worker *w, struct round *r) {
  for (;;) {
    bool last_look = volt_load_acquire(&r->producers) == 0;
    volt_bcs_node *node;
    int result = volt_mpsc_pop(&r->queue, &node);
    if (result == VOLT_OK) {
      open_letter(node, &r->books);
      w->acquired += 1;
      stress_progress(w, "popping");
    } else {
      STRESS_CHECK(result == VOLT_EAGAIN || (result == VOLT_ESTALLED && !last_look));
      if (last_look) return;
      sched_yield();
    }
  }
}

static void push_or_pop(stress_worker *w, void *arg) {
  struct round *r = (struct round *)arg;
  if (w->index == 0) {
    pop_all(w, r);
    return;
  }
  uint64_t number = 0;
  while (!stress_stopping()) {
    volt_mpsc_push(&r->queue, &new_letter(w->index, number++)->node);
    stress_progress(w, "pushing");
    stress_dawdle(w);
    if (number % 64 == 0) sched_yield();
  }
  count_submitted(r, number);
  (void)volt_fetch_add_release(&r->producers, UINT32_MAX);
}

/* ---- the actor: one run(), stopped by the last who submits, freed as it has returned ---- */

static void run_actor(stress_worker *w, struct round *r) {
  stress_progress(w, "running the actor");
  volt_actor_run(r->actor, open_letter, &r->books);
  w->acquired += r->books.handled;
  memset((void *)r->actor, 0xa5, sizeof *r->actor);
  free(r->actor);
}

static void submit_or_run(stress_worker *w, void *arg) {
  struct round *r = (struct round *)arg;
  if (w->index == 0) {
    run_actor(w, r);
    return;
  }
  uint64_t number = 0;
  while (!stress_stopping()) {
    volt_actor_submit(r->actor, &new_letter(w->index, number++)->node);
    stress_progress(w, "submitting");
    for (uint32_t i = stress_below(w, 4); i > 0; i--) stress_dawdle(w);
  }
  count_submitted(r, number);
  if (volt_fetch_and_acq_rel(&r->producers, ~(1u << w->index)) == 1u << w->index) {
    volt_actor_stop(r->actor);
  }
}

/* ---- the actor, run again and again: what comes as one run() ends is the next one's ---- */

/* So that the two threads meet at any point. */
static void linger(stress_worker *w) {
  for (volatile uint32_t i = stress_below(w, 200); i > 0;) i = i - 1;
}

static void run_twice_a_turn(stress_worker *w, struct round *r) {
  uint32_t turn = 0;
  while (!stress_stopping()) {
    volt_actor_stop(r->actor);
    volt_store_release(&r->turn, ++turn); /* odd: about to run, and to return at once */
    linger(w);
    volt_actor_run(r->actor, open_letter, &r->books);
    volt_store_release(&r->turn, ++turn); /* even: until the other has had its answer */
    volt_actor_run(r->actor, open_letter, &r->books);
    w->acquired += 1;
    stress_progress(w, "running the actor by turns");
  }
  volt_store_release(&r->turn, UINT32_MAX);
}

static uint32_t await_turn(struct round *r, uint32_t turn) {
  uint32_t seen;
  unsigned looks = 0;
  while ((seen = volt_load_acquire(&r->turn)) < turn) {
    if (++looks > 1000) sched_yield();
  }
  return seen;
}

static void submit_once_a_turn(stress_worker *w, void *arg) {
  struct round *r = (struct round *)arg;
  if (w->index == 0) {
    run_twice_a_turn(w, r);
    return;
  }
  uint64_t number = 0;
  for (uint32_t turn = 1; await_turn(r, turn) != UINT32_MAX; turn += 2) {
    VOLT_ATOMIC(uint32_t) answer;
    volt_store_relaxed(&answer, 0); /* published with the letter */
    struct letter *l = new_letter(w->index, number++);
    l->answer = &answer;
    linger(w);
    volt_actor_submit(r->actor, &l->node);
    stress_progress(w, "waiting for the answer");
    while (volt_load_acquire(&answer) == 0) sched_yield();
    await_turn(r, turn + 1); /* once per run() */
    volt_actor_stop(r->actor);
  }
  count_submitted(r, number);
}

int main(void) {
  stress_begin("mpsc queue, actor", NULL, NULL);
  static struct round r;
  for (unsigned i = 0; stress_time_left(); i++) {
    memset((void *)&r, 0, sizeof r);
    r.threads = i % 3 == 2 ? 2 : stress_threads();
    r.actor = (volt_actor *)calloc(1, sizeof *r.actor);
    STRESS_CHECK(r.actor != NULL);
    if (i % 3 == 0) {
      volt_store_relaxed(&r.producers, r.threads - 1);
      stress_round(r.threads, ROUND_NS, push_or_pop, &r);
      free(r.actor);
    } else if (i % 3 == 1) {
      volt_store_relaxed(&r.producers, (1u << r.threads) - 2);
      stress_round(r.threads, ROUND_NS, submit_or_run, &r);
    } else {
      stress_round(r.threads, ROUND_NS, submit_once_a_turn, &r);
      free(r.actor);
    }
    check_books(&r);
  }
  return stress_end();
}
