/* timer.c: one task sets a time-out an hour ahead and takes it back, again and again, while others
 * are pending in the timers of the same runtime. */
#include <stdlib.h>

#include "tasks.h"

#define MINUTE_NS UINT64_C(60000000000)

enum { BETWEEN_YIELDS = 128 }; /* what else would run in between, does, as after so many awaits */

struct timed {
  volt_task task;
  volt_timers *timers;
  volt_sleep *others;
  uint32_t other_count;
  uint64_t operations, i;
  volt_sleep sleep;
  uint64_t good; /* operations that were pending, and then cancelled */
  uint64_t start_ns, end_ns, cpu_ns;
};

/* Half an hour to one and a half, in no order, so that the hour is in the middle of them. */
static uint64_t other_deadline_ns(uint32_t i) {
  uint64_t scattered = (i * UINT64_C(2654435761)) & UINT32_MAX;
  return volt_deadline_ns(30 * MINUTE_NS + (scattered * (60 * MINUTE_NS >> 16) >> 16));
}

static void start_others(struct timed *self, volt_ctx *ctx) {
  for (uint32_t i = 0; i < self->other_count; i++) {
    volt_future *f = volt_sleep_until(&self->others[i], self->timers, other_deadline_ns(i));
    rt_require(volt_future_poll_ctx(f, ctx) == VOLT_PENDING, "a timer is pending");
  }
}

static void cancel_others(struct timed *self, volt_ctx *ctx) {
  for (uint32_t i = 0; i < self->other_count; i++) {
    volt_future *f = &self->others[i].future;
    rt_require(volt_future_poll_ctx(f, ctx) == VOLT_PENDING, "a timer is still pending");
    volt_future_cancel(f);
  }
}

static bool start_and_cancel(struct timed *self, volt_ctx *ctx) {
  volt_future *f = volt_sleep_until(&self->sleep, self->timers, volt_deadline_ns(60 * MINUTE_NS));
  bool pending = volt_future_poll_ctx(f, ctx) == VOLT_PENDING;
  volt_future_cancel(f);
  return pending && volt_future_poll_ctx(f, ctx) == VOLT_ECANCELED;
}

static int timed_poll(volt_task *t, volt_ctx *ctx) {
  struct timed *self = volt_container_of(t, struct timed, task);
  VOLT_TASK_BEGIN(self);
  start_others(self, ctx);
  self->cpu_ns = rt_cpu_ns();
  self->start_ns = volt_now_ns();
  for (self->i = 1; self->i <= self->operations; self->i++) {
    self->good += start_and_cancel(self, ctx);
    if (self->i % BETWEEN_YIELDS == 0) VOLT_YIELD(self);
  }
  self->end_ns = volt_now_ns();
  self->cpu_ns = rt_cpu_ns() - self->cpu_ns;
  cancel_others(self, ctx);
  VOLT_TASK_END(self);
}

static rt_outcome run_once(volt_rt *rt, const rt_options *o, uint64_t operations) {
  struct timed *t = VOLT_TASK_NEW(rt, struct timed, timed_poll);
  rt_require(t != NULL, "there is memory for a task");
  t->timers = volt_rt_timers(rt);
  t->other_count = o->amount;
  t->others = (volt_sleep *)calloc(o->amount + 1u, sizeof *t->others);
  rt_require(t->others != NULL, "there is memory for timers");
  t->operations = operations;
  rt_run_root(rt, &t->task);
  rt_require(t->good == operations, "every timer was pending and was cancelled");
  rt_require(volt_timers_earliest_ns(t->timers) == VOLT_NO_DEADLINE, "no timer is left");
  rt_outcome outcome = {0};
  rt_measured(&outcome, RT_NS, (double)(t->end_ns - t->start_ns) / (double)operations);
  rt_measured(&outcome, RT_CPU_NS, (double)t->cpu_ns / (double)operations);
  free(t->others);
  volt_task_detach(&t->task);
  return outcome;
}

static rt_outcome run_timer(const rt_options *o) {
  volt_rt *rt = rt_create(o);
  run_once(rt, o, rt_warm_up(o->operations));
  rt_outcome outcome = run_once(rt, o, o->operations);
  rt_require(volt_rt_destroy(rt) == 0, "the task has ended by itself");
  return outcome;
}

const rt_case rt_timer_cases[] = {{"timer", "native", run_timer}, {NULL, NULL, NULL}};
