/* stall.c: how soon a worker that computes is reported. */
#include <stdlib.h>

#include "sight.h"

static VOLT_ATOMIC(uint64_t) stall_reported_ns;

static void stall_report(void *ctx, const char *text, size_t length) {
  (void)ctx;
  (void)text;
  (void)length;
  /* relaxed: a time, which orders nothing */
  if (volt_load_relaxed(&stall_reported_ns) == 0) {
    volt_store_relaxed(&stall_reported_ns, volt_now_ns()); /* as above */
  }
}

typedef struct stall_task {
  volt_task task;
  uint64_t took_ns;
} stall_task;

static int stall_poll(volt_task *t, volt_ctx *ctx) {
  stall_task *self = volt_container_of(t, stall_task, task);
  (void)ctx;
  uint64_t began_ns = volt_now_ns();
  uint64_t reported_ns;
  do {
    reported_ns = volt_load_relaxed(&stall_reported_ns); /* as above */
  } while (reported_ns == 0 && volt_now_ns() < began_ns + UINT64_C(10000000000));
  sight_require(reported_ns != 0, "a stall is reported");
  self->took_ns = reported_ns - began_ns;
  return VOLT_OK;
}

static int stall_by_size(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static void stall_run(const sight_options *o) {
  volt_rt_config config = {.workers = o->workers};
  volt_sight_config sight = {.flags = VOLT_SIGHT_WATCHDOG, .report = stall_report};
  volt_rt *rt;
  uint64_t *took = calloc(o->operations, sizeof *took);
  sight_require(took && volt_rt_create(&rt, &config) == VOLT_OK, "there is a runtime");
  sight_require(volt_sight_enable(&sight) == VOLT_OK, "the watchdog is there");
  for (uint64_t i = 0; i < o->operations; i++) {
    stall_task *t = VOLT_TASK_NEW(rt, stall_task, stall_poll);
    volt_store_relaxed(&stall_reported_ns, 0); /* as above */
    sight_require(t && volt_spawn(rt, &t->task) == VOLT_OK, "there is a task");
    sight_require(volt_task_join(&t->task) == VOLT_OK, "it ends");
    took[i] = t->took_ns;
    volt_task_detach(&t->task);
  }
  volt_sight_disable();
  (void)volt_rt_destroy(rt);
  qsort(took, o->operations, sizeof *took, stall_by_size);
  sight_say("ns", (double)took[o->operations / 2]);
  sight_say("least_ns", (double)took[0]);
  sight_say("most_ns", (double)took[o->operations - 1]);
  free(took);
}

const sight_case sight_stall_cases[] = {
    {"stall", {.workers = 1, .operations = 20}, stall_run},
    {NULL, {0, 0, 0, 0}, NULL},
};
