/* homed.h: a task that only one worker may poll: a fiber that has begun. Where it waits to run:
 * home.h. */
#ifndef VOLT_RT_SCHED_HOMED_H
#define VOLT_RT_SCHED_HOMED_H

#include <volt/fiber.h>

/* What every fiber begins with. Both belong to the thread that the task belongs to: home.h I1. */
typedef struct volt_homed_ {
  volt_task task;
  VOLT_PLAIN(uint32_t) home;   /* 1 + the worker that polls it; 0: any */
  VOLT_PLAIN(uint64_t) behind; /* in a worker's list: where the worker's ring ended */
} volt_homed_;

/* The poll function of every fiber, by which a fiber is known; fiber.c. */
int volt_fiber_poll_(volt_task *t, volt_ctx *ctx);

/* What a task that was spawned runs if it is a fiber, and its name or NULL; else both are NULL. */
volt_fiber_fn *volt_fiber_function_(const volt_task *t, const char **name);

/* 1 + the only worker that may poll t; 0: any may. */
static inline uint32_t volt_task_home_(const volt_task *t) {
  if (VOLT_LIKELY(t->poll != volt_fiber_poll_)) return 0;
  return ((const volt_homed_ *)(const void *)t)->home;
}

/* In a poll of h; home.c. From this poll on: only this worker polls it; or only that one; or, by
 * VOLT_RT_FIBERS_WANDER, only one that is not this, if there is another. */
void volt_homed_settle_(volt_homed_ *h);
void volt_homed_move_(volt_homed_ *h, uint32_t worker);
void volt_homed_wander_(volt_homed_ *h);

#endif
