/* park_stress.c: threads that park, some with a deadline, on parkers that are freed the moment
 * the call returns; and threads that find them and unpark them, at once or by a list that is
 * woken later. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

#define ROUND_NS UINT64_C(30000000)

/* A parked thread, and the note that whoever unparks it leaves: plain, published by the unpark. */
struct sleeper {
  volt_parker parker;
  uint32_t wanted;
  uint64_t notes;
};

static struct table {
  VOLT_ATOMIC(struct sleeper *) doors[STRESS_MAX_THREADS]; /* where each can be found */
  VOLT_ATOMIC(uint32_t) awake;                             /* that park no more */
  unsigned threads;
} table;

static struct sleeper *take(unsigned door) {
  struct sleeper *nobody = NULL;
  return volt_exchange_acq_rel(&table.doors[door], nobody);
}

/* Unpark everybody who can be found. */
static void unpark_around(stress_worker *w, volt_unpark_list *list) {
  for (unsigned i = 0; i < table.threads; i++) {
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

static void park_once(stress_worker *w) {
  struct sleeper *s = (struct sleeper *)malloc(sizeof *s);
  STRESS_CHECK(s != NULL);
  volt_store_relaxed(&s->parker.word, 0); /* published by the door */
  s->wanted = 1 + stress_below(w, 3);
  s->notes = 0;
  struct sleeper *before = volt_exchange_acq_rel(&table.doors[w->index], s);
  STRESS_CHECK(before == NULL);
  bool patient = stress_below(w, 2) == 0;
  uint64_t deadline_ns = patient ? VOLT_NO_DEADLINE : volt_deadline_ns(stress_below(w, 30000));
  int result = volt_park_until(&s->parker, s->wanted, deadline_ns);
  STRESS_CHECK(result == VOLT_OK || !patient);
  if (result == VOLT_ETIMEDOUT && take(w->index) == s) {
    w->gave_up += 1;
    STRESS_CHECK(s->notes == 0);
  } else {
    result = volt_park_until(&s->parker, s->wanted, VOLT_NO_DEADLINE);
    STRESS_CHECK(result == VOLT_OK && s->notes == 1);
  }
  memset((void *)s, 0xa5, sizeof *s);
  free(s);
}

/* Worker 0 never parks: it lets the others out. */
static void park_and_unpark(stress_worker *w, void *arg) {
  (void)arg;
  volt_unpark_list list;
  list.count = 0;
  if (w->index == 0) {
    while (volt_load_acquire(&table.awake) + 1 < table.threads) {
      unpark_around(w, &list);
      stress_dawdle(w);
      volt_unpark_all(&list);
      if (stress_below(w, 4) == 0) sched_yield();
      stress_progress(w, "unparking");
    }
    return;
  }
  while (!stress_stopping()) {
    park_once(w);
    stress_progress(w, "parking");
    if (stress_below(w, 3) == 0) unpark_around(w, &list);
    stress_dawdle(w);
    volt_unpark_all(&list); /* it is owed, before this thread sleeps */
  }
  (void)volt_fetch_add_release(&table.awake, 1);
}

int main(void) {
  stress_begin("park", NULL, NULL);
  while (stress_time_left()) {
    memset((void *)&table, 0, sizeof table);
    table.threads = stress_threads();
    stress_round(table.threads, ROUND_NS, park_and_unpark, NULL);
    for (unsigned i = 0; i < table.threads; i++) STRESS_CHECK(take(i) == NULL);
  }
  return stress_end();
}
