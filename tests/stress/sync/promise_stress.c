/* promise_stress.c: threads await operations that other threads complete, give them up in the midst
 * of it, and free each as soon as its header says so. Every operation is completed and seen, stopped,
 * or discarded: once. */
#include <stdlib.h>
#include <string.h>

#include "harness.h"

/* One operation, on the heap: its library is a list that any thread takes from. */
typedef struct operation {
  volt_promise promise;
  struct operation *next;
  int result;
} operation;

static struct {
  volt_mutex lock;
  operation *first;
  VOLT_ATOMIC(uint64_t) begun, seen, stopped, discarded;
} library;

static void count(VOLT_ATOMIC(uint64_t) *counter) {
  (void)volt_fetch_add_relaxed(counter, 1);
}

static void free_operation(operation *op) {
  memset((void *)op, 0xee, sizeof *op);
  free(op);
}

static operation *of(volt_promise *p) {
  return volt_container_of(p, operation, promise);
}

static int start(volt_promise *p) {
  operation *op = of(p);
  count(&library.begun);
  STRESS_CHECK(volt_mutex_lock_until(&library.lock, VOLT_NO_DEADLINE) == VOLT_OK);
  op->next = library.first;
  library.first = op;
  volt_mutex_unlock(&library.lock);
  return VOLT_PENDING;
}

/* Out of the list, if it is there still. */
static bool cancel(volt_promise *p) {
  bool found = false;
  STRESS_CHECK(volt_mutex_lock_until(&library.lock, VOLT_NO_DEADLINE) == VOLT_OK);
  for (operation **at = &library.first; *at && !found; at = &(*at)->next) {
    found = *at == of(p);
    if (!found) continue;
    *at = of(p)->next;
    break;
  }
  volt_mutex_unlock(&library.lock);
  if (found) count(&library.stopped);
  return found;
}

static void discard(volt_promise *p, int result) {
  if (result == VOLT_ECANCELED) {
    free_operation(of(p)); /* counted by cancel() */
    return;
  }
  STRESS_CHECK(result == of(p)->result);
  count(&library.discarded);
  free_operation(of(p));
}

static const volt_promise_ops discarding = {start, cancel, discard};
static const volt_promise_ops keeping = {start, cancel, NULL};

static void complete_one(stress_worker *w) {
  STRESS_CHECK(volt_mutex_lock_until(&library.lock, VOLT_NO_DEADLINE) == VOLT_OK);
  operation *op = library.first;
  if (op) library.first = op->next;
  volt_mutex_unlock(&library.lock);
  if (!op) return;
  stress_dawdle(w);
  op->result = stress_below(w, 2) ? VOLT_OK : VOLT_EINVAL;
  volt_promise_complete(&op->promise, op->result);
}

static void await_one(stress_worker *w) {
  static const volt_waker nobody = {NULL, NULL};
  operation *op = (operation *)malloc(sizeof *op);
  STRESS_CHECK(op != NULL);
  bool keeps = stress_below(w, 2) == 0;
  volt_promise_init(&op->promise, keeps ? &keeping : &discarding);
  volt_future f;
  int result = volt_future_poll(volt_promise_future(&f, &op->promise), nobody);
  for (uint32_t polls = stress_below(w, 8); polls > 0 && result == VOLT_PENDING; polls--) {
    complete_one(w);
    result = volt_future_poll(&f, nobody);
  }
  if (result == VOLT_PENDING) {
    volt_future_cancel(&f);
    memset((void *)&f, 0xee, sizeof f);
    w->gave_up += 1;
    if (!keeps) return;              /* discarded, now or later */
    while (result == VOLT_PENDING) { /* kept, or begun once more */
      volt_future_made(volt_promise_future(&f, &op->promise));
      if (volt_future_poll(&f, nobody) == VOLT_PENDING) complete_one(w);
      result = volt_future_wait_until(&f, volt_deadline_ns(stress_below(w, 2000)));
      if (result == VOLT_ETIMEDOUT) result = VOLT_PENDING;
    }
  }
  STRESS_CHECK(result == op->result);
  count(&library.seen);
  w->acquired += 1;
  free_operation(op);
}

static void body(stress_worker *w, void *arg) {
  (void)arg;
  while (!stress_stopping()) {
    stress_progress(w, "an operation");
    await_one(w);
  }
}

/* What was given up and is still in the list is completed at the end. */
static void complete_the_rest(void) {
  while (library.first) {
    operation *op = library.first;
    library.first = op->next;
    op->result = VOLT_OK;
    volt_promise_complete(&op->promise, VOLT_OK);
  }
}

static void expect_books(void) {
  uint64_t begun = volt_load_relaxed(&library.begun); /* all threads have ended */
  uint64_t ended = volt_load_relaxed(&library.seen) + volt_load_relaxed(&library.stopped) +
                   volt_load_relaxed(&library.discarded);
  STRESS_CHECK(begun == ended);
}

int main(void) {
  stress_begin("promise", "a result", NULL);
  volt_mutex_init(&library.lock);
  while (stress_time_left()) {
    stress_round(stress_threads(), 100000000, body, NULL);
    complete_the_rest();
    expect_books();
  }
  volt_mutex_destroy(&library.lock);
  return stress_end();
}
