/* timer_stress.c: threads start timers, cancel some of them and give others another waker around
 * the moment when they expire; one thread drives them on the real clock: it sleeps until the
 * earliest, and the driver waker wakes it. In some rounds others expire what is due as well, the
 * driver waker among them.
 *
 * The books: a started timer is either cancelled and never wakes, or it expires, not before its
 * time, and wakes once, by the last waker it was given. Its memory is poisoned as soon as it is its
 * owner's again. A wake of the driver that is lost leaves somebody waiting for ever, which the
 * watchdog sees. */
#include <stdlib.h>
#include <string.h>

#include "harness.h"

enum { CROWD = 48 }; /* timers of one thread; more than expire() takes out at once */

/* What a waker points at: it outlives every timer. */
typedef struct record {
  VOLT_ATOMIC(uint32_t) wakes[2]; /* by each of the two wakers it can have */
  uint32_t expected[2];           /* the rest is its thread's */
  uint32_t waker;
  uint64_t deadline_ns;
  volt_timer *timer; /* NULL: none is started */
} record;

static record records[STRESS_MAX_THREADS][CROWD];

static struct {
  volt_timers timers;
  volt_parker parker;            /* of the thread that drives */
  VOLT_ATOMIC(uint32_t) working; /* threads that are not at their end */
  VOLT_ATOMIC(uint32_t) pairs;   /* alive */
  bool eager;                    /* others expire as well, in this round */
} shared;

static void poison_and_free(void *memory, size_t bytes) {
  memset(memory, 0xa5, bytes);
  free(memory);
}

static volt_timer *new_timer(void) {
  volt_timer *timer = (volt_timer *)calloc(1, sizeof *timer);
  STRESS_CHECK(timer != NULL);
  return timer;
}

/* ---- two timers that a waker starts, the second of which cancels the first ---- */

enum { FIRST = 1u, SECOND = 2u };

typedef struct pair {
  volt_timer first;
  volt_timer second;
  VOLT_ATOMIC(uint32_t) owed; /* FIRST, SECOND: whose end is still to come */
} pair;

static void end_of_pair(pair *p, uint32_t ends) {
  uint32_t before = volt_fetch_and_acq_rel(&p->owed, ~ends);
  STRESS_CHECK((before & ends) == ends);
  if (before != ends) return;
  poison_and_free(p, sizeof *p);
  volt_fetch_add_relaxed(&shared.pairs, UINT32_MAX); /* a count: read when the threads have ended */
}

static void wake_first(void *ctx) {
  end_of_pair((pair *)ctx, FIRST);
}

static void wake_second(void *ctx) {
  pair *p = (pair *)ctx;
  bool cancelled = volt_timer_cancel(&shared.timers, &p->first);
  end_of_pair(p, cancelled ? FIRST | SECOND : SECOND);
}

static void start_pair(rng *random) {
  pair *p = (pair *)calloc(1, sizeof *p);
  STRESS_CHECK(p != NULL);
  volt_store_relaxed(&p->owed, FIRST | SECOND); /* published by the starts */
  volt_fetch_add_relaxed(&shared.pairs, 1);
  uint64_t now_ns = volt_now_ns();
  uint64_t second_ns = now_ns + rng_below(random, 100000);
  volt_waker wakers[2] = {{wake_first, p}, {wake_second, p}};
  volt_timer_start(&shared.timers, &p->first, now_ns + rng_below(random, 100000), wakers[0]);
  volt_timer_start(&shared.timers, &p->second, second_ns, wakers[1]);
}

/* ---- the timers of a thread ---- */

static void count_wake(record *r, uint32_t waker) {
  uint32_t wakes = volt_fetch_add_relaxed(&r->wakes[waker], 1); /* the round's end orders it */
  rng random = rng_seeded(wakes + ((uint64_t)(uintptr_t)r << 32));
  if (rng_below(&random, 4) == 0) start_pair(&random);
}

static void wake_record(void *ctx) {
  count_wake((record *)ctx, 0);
}

static void wake_record_otherwise(void *ctx) {
  count_wake((record *)ctx, 1);
}

static volt_waker waker_of(record *r, uint32_t waker) {
  volt_waker made = {waker == 0 ? wake_record : wake_record_otherwise, r};
  return made;
}

static uint64_t any_deadline(stress_worker *w) {
  uint64_t now_ns = volt_now_ns();
  switch (stress_below(w, 16)) {
    case 0: return VOLT_NO_DEADLINE;
    case 1: return now_ns - stress_below(w, 1000000); /* the past */
    case 2:
    case 3: return now_ns / 100000 * 100000 + 100000; /* the same as others */
    default: return now_ns + stress_below(w, 200000);
  }
}

static void start_one(stress_worker *w, record *r) {
  r->timer = new_timer();
  r->deadline_ns = any_deadline(w);
  r->waker = 0;
  volt_timer_start(&shared.timers, r->timer, r->deadline_ns, waker_of(r, r->waker));
  stress_progress(w, "start");
}

static void end_one(stress_worker *w, record *r, bool cancelled) {
  STRESS_CHECK(volt_timer_result(r->timer) == (cancelled ? VOLT_ECANCELED : VOLT_OK));
  if (cancelled) {
    w->gave_up += 1;
  } else {
    STRESS_CHECK(volt_now_ns() >= r->deadline_ns); /* and so never without a deadline */
    w->acquired += 1;
    r->expected[r->waker] += 1;
  }
  poison_and_free(r->timer, sizeof *r->timer);
  r->timer = NULL;
  stress_progress(w, cancelled ? "cancelled" : "expired");
}

static void cancel_one(stress_worker *w, record *r) {
  end_one(w, r, volt_timer_cancel(&shared.timers, r->timer));
}

/* Another waker, unless the expiry comes first. */
static void move_one(record *r) {
  if (volt_timer_set_waker(&shared.timers, r->timer, waker_of(r, 1 - r->waker))) {
    r->waker = 1 - r->waker;
  } else {
    STRESS_CHECK(volt_timer_result(r->timer) == VOLT_OK);
  }
}

/* Have all expire; whoever drives must come to each of them in time. */
static void wait_for_all(stress_worker *w) {
  for (unsigned i = 0; i < CROWD; i++) {
    record *r = &records[w->index][i];
    if (!r->timer) continue;
    if (r->deadline_ns == VOLT_NO_DEADLINE) {
      cancel_one(w, r);
    } else {
      while (volt_timer_result(r->timer) == VOLT_PENDING) {
        move_one(r);
        stress_dawdle(w);
      }
      end_one(w, r, false);
    }
  }
}

static void work(stress_worker *w) {
  while (!stress_stopping()) {
    record *r = &records[w->index][stress_below(w, CROWD)];
    if (!r->timer) {
      start_one(w, r);
    } else if (volt_timer_result(r->timer) == VOLT_OK) {
      end_one(w, r, false);
    } else if (stress_below(w, 4) == 0) {
      cancel_one(w, r);
    } else if (stress_below(w, 2) == 0) {
      move_one(r);
    }
    stress_dawdle(w);
    if (shared.eager && stress_below(w, 64) == 0) {
      (void)volt_timers_expire(&shared.timers, volt_now_ns());
    }
    if (stress_below(w, 512) == 0) wait_for_all(w);
  }
  wait_for_all(w);
  if (volt_fetch_add_release(&shared.working, UINT32_MAX) == 1) volt_unpark(&shared.parker);
}

/* ---- the thread that drives ---- */

static void wake_driver(void *ctx) {
  (void)ctx;
  if (shared.eager) (void)volt_timers_expire(&shared.timers, volt_now_ns());
  volt_unpark(&shared.parker);
}

static void drive(stress_worker *w) {
  uint32_t seen = 0; /* unparks */
  for (;;) {
    (void)volt_timers_expire(&shared.timers, volt_now_ns());
    bool over = volt_load_acquire(&shared.working) == 0;
    uint64_t earliest_ns = volt_timers_earliest_ns(&shared.timers);
    if (over && earliest_ns == VOLT_NO_DEADLINE) return;
    if (volt_park_until(&shared.parker, seen + 1, earliest_ns) == VOLT_OK) seen += 1;
    stress_progress(w, "drive");
  }
}

static void body(stress_worker *w, void *arg) {
  (void)arg;
  if (w->index == 0) {
    drive(w);
  } else {
    work(w);
  }
}

static void round_of(unsigned threads, bool eager) {
  volt_waker driver = {wake_driver, NULL};
  volt_timers_init(&shared.timers, driver);
  volt_store_relaxed(&shared.parker.word, 0); /* all of it is published by the threads' start */
  volt_store_relaxed(&shared.working, threads - 1);
  shared.eager = eager;
  stress_round(threads, 30000000, body, NULL);
  volt_timers_destroy(&shared.timers);
  STRESS_CHECK(volt_load_relaxed(&shared.pairs) == 0);
  for (unsigned i = 0; i < STRESS_MAX_THREADS; i++) {
    for (unsigned j = 0; j < CROWD; j++) {
      record *r = &records[i][j];
      for (unsigned k = 0; k < 2; k++) {
        STRESS_CHECK(!r->timer && volt_load_relaxed(&r->wakes[k]) == r->expected[k]);
      }
    }
  }
}

int main(void) {
  stress_begin("timer", NULL, NULL);
  for (unsigned turn = 0; stress_time_left(); turn++) {
    round_of(2 + turn / 2 % (stress_threads() - 1), turn % 2 == 1);
  }
  return stress_end();
}
