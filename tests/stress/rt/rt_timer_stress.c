/* rt_timer_stress.c: many tasks on two workers, and the threads that spawn them, sleep for short
 * times, all on the timers of one runtime. Each of them wakes, and none before its time. The report
 * says how late. */
#include <string.h>

#include "rt_load.h"

enum { SLEEPERS = 64, NAPS = 4 };

typedef struct sleeper {
  volt_task task;
  volt_sleep_op nap;
  rng random;
  uint64_t deadline_ns;
  uint32_t left;
  uint64_t late_ns[NAPS];
} sleeper;

static rt_load load; /* of which no task is spawned */
static sleeper sleepers[STRESS_MAX_THREADS][SLEEPERS];

/* From the past to a quarter of a millisecond ahead, some at the same time as others. */
static uint64_t any_deadline(rng *random) {
  uint64_t now_ns = volt_now_ns();
  switch (rng_below(random, 8)) {
    case 0: return now_ns - rng_below(random, 1000);
    case 1: return (now_ns / 100000 + 1) * 100000;
    default: return now_ns + rng_below(random, 250000);
  }
}

static int sleeps(volt_task *t, volt_ctx *ctx) {
  sleeper *self = volt_container_of(t, sleeper, task);
  VOLT_TASK_BEGIN(self);
  while (self->left > 0) {
    self->deadline_ns = any_deadline(&self->random);
    VOLT_AWAIT(self, volt_sleep_future(&self->nap, volt_rt_timers(load.rt), self->deadline_ns));
    uint64_t now_ns = volt_now_ns();
    STRESS_CHECK(now_ns >= self->deadline_ns);
    self->late_ns[--self->left] = now_ns - self->deadline_ns;
  }
  VOLT_TASK_END(self);
}

static void spawn_all(stress_worker *w) {
  for (unsigned i = 0; i < SLEEPERS; i++) {
    sleeper *s = &sleepers[w->index][i];
    memset((void *)s, 0, sizeof *s);
    volt_task_init(&s->task, sleeps);
    s->random = rng_seeded(rng_next(&w->random));
    s->left = NAPS;
    STRESS_CHECK(volt_spawn(load.rt, &s->task) == VOLT_OK);
  }
}

static void join_all(stress_worker *w) {
  for (unsigned i = 0; i < SLEEPERS; i++) {
    sleeper *s = &sleepers[w->index][i];
    STRESS_CHECK(volt_task_join(&s->task) == VOLT_OK);
    for (unsigned nap = 0; nap < NAPS; nap++) histogram_add(&w->waits[0], s->late_ns[nap]);
    w->acquired += NAPS;
    stress_progress(w, "join");
  }
}

/* A thread on the same timers; sometimes it gives up. */
static void sleep_in_thread(stress_worker *w) {
  volt_sleep_op nap;
  uint64_t deadline_ns = any_deadline(&w->random);
  uint64_t patience_ns = stress_below(w, 2) ? VOLT_NO_DEADLINE : any_deadline(&w->random);
  volt_future *f = volt_sleep_future(&nap, volt_rt_timers(load.rt), deadline_ns);
  int result = volt_future_wait_until(f, patience_ns);
  STRESS_CHECK(volt_now_ns() >= (result == VOLT_OK ? deadline_ns : patience_ns));
  w->gave_up += result == VOLT_ETIMEDOUT;
  stress_progress(w, "sleep");
}

static void body(stress_worker *w, void *arg) {
  (void)arg;
  while (!stress_stopping()) {
    spawn_all(w);
    for (unsigned i = stress_below(w, 4); i > 0; i--) sleep_in_thread(w);
    join_all(w);
  }
}

int main(void) {
  stress_begin("a runtime's timers", "late", NULL);
  for (unsigned turn = 0; stress_time_left(); turn++) {
    rt_load_begin(&load, 2, turn + 1);
    stress_round(1 + turn % stress_threads(), 100000000, body, NULL);
    STRESS_CHECK(rt_load_destroy(&load) == 0);
  }
  return stress_end();
}
