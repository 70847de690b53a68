/* bcs_queue_stress.c: threads submit letters to a queue of each form in turn. A letter is
 * handled once, alone, in order where that is promised; some are submitted again as soon as the
 * form allows (from done(), with stub from handle() itself), all are poisoned and freed there. */
#include <stdlib.h>
#include <string.h>

#include "harness.h"

#define ROUND_NS UINT64_C(30000000)

typedef void submit_fn(volt_bcs_node *node, const volt_bcs_ops *ops, void *ctx);

static struct round {
  volt_bcs_lockfree lockfree;
  volt_bcs_waitfree waitfree;
  volt_bcs_waitfree_stub with_stub;
  submit_fn *submit;
  bool fifo;
  /* what only the critical section touches: plain */
  uint64_t handled;
  uint64_t unflushed;
  uint64_t next_of[STRESS_MAX_THREADS];
  VOLT_ATOMIC(uint64_t) submitted;
  VOLT_ATOMIC(uint64_t) freed;
  VOLT_ATOMIC(uint64_t) letters;
} books;

struct letter {
  volt_bcs_node node;
  unsigned from;
  uint64_t number;
  uint32_t hops; /* how often it is submitted again */
  bool first;    /* it has not been submitted again yet */
};

static void submit_lockfree(volt_bcs_node *node, const volt_bcs_ops *ops, void *ctx) {
  volt_bcs_lockfree_submit_ops(&books.lockfree, node, ops, ctx);
}
static void submit_waitfree(volt_bcs_node *node, const volt_bcs_ops *ops, void *ctx) {
  volt_bcs_waitfree_submit_ops(&books.waitfree, node, ops, ctx);
}
static void submit_stub(volt_bcs_node *node, const volt_bcs_ops *ops, void *ctx) {
  volt_bcs_waitfree_stub_submit_ops(&books.with_stub, node, ops, ctx);
}

static struct letter *letter_of(volt_bcs_node *node) {
  return (struct letter *)(void *)node;
}

static const volt_bcs_ops ops_of_done;
static const volt_bcs_ops ops_of_stub;

static void give_back(volt_bcs_node *node, const volt_bcs_ops *ops) {
  struct letter *l = letter_of(node);
  if (l->hops > 0) {
    l->hops -= 1;
    l->first = false;
    (void)volt_fetch_add_relaxed(&books.submitted, 1); /* counts; the round's end orders them */
    books.submit(node, ops, &books);
    return;
  }
  memset((void *)l, 0xa5, sizeof *l);
  free(l);
  (void)volt_fetch_add_relaxed(&books.freed, 1);
}

/* The state that rides in the queue counts, too. */
static uintptr_t read_letter(volt_bcs_node *node, void *ctx, uintptr_t state) {
  struct round *r = (struct round *)ctx;
  const struct letter *l = letter_of(node);
  STRESS_CHECK(state == r->handled); /* what the last one left behind, whoever it was */
  r->handled += 1;
  r->unflushed += 1;
  if (l->first) {
    if (r->fifo) STRESS_CHECK(l->number == r->next_of[l->from]);
    r->next_of[l->from] += 1;
  }
  return state + 1;
}

static uintptr_t read_and_give_back(volt_bcs_node *node, void *ctx, uintptr_t state) {
  state = read_letter(node, ctx, state);
  give_back(node, &ops_of_stub);
  return state;
}

static void done(volt_bcs_node *node, void *ctx) {
  (void)ctx;
  give_back(node, &ops_of_done);
}

static void flush(void *ctx) {
  ((struct round *)ctx)->unflushed = 0;
}

static const volt_bcs_ops ops_of_done = {NULL, read_letter, done, flush};
static const volt_bcs_ops ops_of_stub = {NULL, read_and_give_back, NULL, flush};

static void write_letters(stress_worker *w, void *arg) {
  const volt_bcs_ops *ops = (const volt_bcs_ops *)arg;
  uint64_t number = 0;
  while (!stress_stopping()) {
    struct letter *l = (struct letter *)malloc(sizeof *l);
    STRESS_CHECK(l != NULL);
    memset((void *)l, 0xee, sizeof *l);
    l->from = w->index;
    l->number = number++;
    l->hops = stress_below(w, 4) == 0 ? stress_below(w, 4) : 0;
    l->first = true;
    books.submit(&l->node, ops, &books);
    w->acquired += 1;
    stress_progress(w, "submitting");
    stress_dawdle(w);
  }
  (void)volt_fetch_add_relaxed(&books.submitted, number);
  (void)volt_fetch_add_relaxed(&books.letters, number);
}

static void one_round(unsigned form) {
  submit_fn *const submits[] = {submit_lockfree, submit_waitfree, submit_stub};
  memset((void *)&books, 0, sizeof books);
  books.submit = submits[form];
  books.fifo = form != 0;
  const volt_bcs_ops *ops = form == 2 ? &ops_of_stub : &ops_of_done;
  stress_round(stress_threads(), ROUND_NS, write_letters, (void *)(uintptr_t)ops);
  STRESS_CHECK(books.handled == volt_load_relaxed(&books.submitted));
  STRESS_CHECK(volt_load_relaxed(&books.freed) == volt_load_relaxed(&books.letters));
  STRESS_CHECK(books.unflushed == 0);
  uintptr_t states[] = {volt_bcs_lockfree_state(&books.lockfree),
                        volt_bcs_waitfree_state(&books.waitfree),
                        volt_bcs_waitfree_stub_state(&books.with_stub)};
  for (unsigned i = 0; i < 3; i++) STRESS_CHECK(states[i] == (i == form ? books.handled : 0));
}

int main(void) {
  stress_begin("bcs_queue (lock-free, wait-free, with stub)", NULL, NULL);
  for (unsigned i = 0; stress_time_left(); i++) one_round(i % 3);
  return stress_end();
}
