/* until_stress.c: one thread runs a runtime by hand until one future after the other is ready, and
 * sleeps in between; other threads release permits, spawn tasks that do, and wake those that wait. A
 * wake that is lost is a thread that sleeps for ever. */
#include <sched.h>

#include <volt/runtime.h>

#include "harness.h"

enum { AT_ONCE = 64 };

typedef struct helper {
  volt_task task;
  volt_future permit;
  volt_sleep_op nap;
  volt_blocking call;
  rng random;
} helper;

static struct {
  volt_rt *rt;
  volt_sem sem;                /* what the runner takes */
  volt_sem woken;              /* what tasks wait for */
  VOLT_ATOMIC(uint64_t) given; /* permits of sem */
  VOLT_ATOMIC(uint64_t) live;  /* tasks, roughly */
  uint64_t taken;
} loop;

static void give(void) {
  (void)volt_fetch_add_relaxed(&loop.given, 1);
  volt_sem_release(&loop.sem, 1);
}

static int gives(void *arg) {
  (void)arg;
  give();
  return VOLT_OK;
}

static int help(volt_task *t, volt_ctx *ctx) {
  helper *self = volt_container_of(t, helper, task);
  VOLT_TASK_BEGIN(self);
  if (rng_below(&self->random, 3) == 0) {
    VOLT_AWAIT(self, volt_sleep_future(&self->nap, volt_rt_timers(loop.rt),
                                       volt_deadline_ns(rng_below(&self->random, 20000))));
    give();
  } else if (rng_below(&self->random, 2)) {
    VOLT_AWAIT(self, volt_sem_acquire_future(&self->permit, &loop.woken, 1));
    give();
  } else {
    VOLT_AWAIT(self, volt_blocking_future(&self->call, loop.rt, gives, NULL));
  }
  VOLT_FINALLY(self);
  (void)volt_fetch_add_relaxed(&loop.live, ~UINT64_C(0));
  VOLT_TASK_END(self);
}

static void run_one(stress_worker *w) {
  volt_future f;
  bool in_time = stress_below(w, 4) == 0;
  uint64_t deadline_ns = in_time ? volt_deadline_ns(stress_below(w, 100000)) : VOLT_NO_DEADLINE;
  volt_future_made(volt_sem_acquire_future(&f, &loop.sem, 1));
  int result = volt_rt_run_until(loop.rt, &f, deadline_ns);
  STRESS_CHECK(result == VOLT_OK || result == VOLT_ETIMEDOUT);
  if (result == VOLT_OK) {
    loop.taken += 1;
    w->acquired += 1;
  } else {
    w->gave_up += 1;
  }
  stress_progress(w, "run");
}

static void disturb(stress_worker *w) {
  switch (stress_below(w, 3)) {
    case 0: give(); break;
    case 1: volt_sem_release(&loop.woken, 1); break;
    default:
      if (volt_load_relaxed(&loop.live) < AT_ONCE) {
        helper *h = VOLT_TASK_NEW(loop.rt, helper, help);
        STRESS_CHECK(h != NULL);
        h->random = rng_seeded(rng_next(&w->random));
        (void)volt_fetch_add_relaxed(&loop.live, 1);
        STRESS_CHECK(volt_spawn(loop.rt, &h->task) == VOLT_OK);
        volt_task_detach(&h->task);
      }
  }
  stress_dawdle(w);
  if (stress_below(w, 8) == 0) (void)sched_yield();
  stress_progress(w, "disturb");
}

static void body(stress_worker *w, void *arg) {
  (void)arg;
  while (!stress_stopping()) {
    if (w->index == 0) {
      run_one(w);
    } else {
      disturb(w);
    }
  }
  if (w->index > 0) give(); /* whoever runs it comes back, and sees that it is over */
}

static void round_of(unsigned threads) {
  volt_rt_config config = {.flags = VOLT_RT_BY_HAND};
  STRESS_CHECK(volt_rt_create(&loop.rt, &config) == VOLT_OK);
  volt_sem_init(&loop.sem, 0);
  volt_sem_init(&loop.woken, 0);
  volt_store_relaxed(&loop.given, 0); /* published by the threads' start */
  volt_store_relaxed(&loop.live, 0);
  loop.taken = 0;
  stress_round(threads, 50000000, body, NULL);
  (void)volt_rt_destroy(loop.rt);
  STRESS_CHECK(volt_load_relaxed(&loop.live) == 0);
  STRESS_CHECK(loop.taken + volt_sem_available(&loop.sem) == volt_load_relaxed(&loop.given));
  volt_sem_destroy(&loop.woken);
  volt_sem_destroy(&loop.sem);
}

int main(void) {
  static const unsigned threads[] = {2, 3, 6};
  stress_begin("until", NULL, NULL);
  for (unsigned turn = 0; stress_time_left(); turn++) round_of(threads[turn % 3]);
  return stress_end();
}
