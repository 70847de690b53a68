/* task_holds.h: what a task holds, in builds with VOLT_SIGHT=1 (volt/detail/holders.h). While it is
 * polled, that is in a list of its worker; between polls, if it holds anything, in a record of the
 * task's own. */
#ifndef VOLT_RT_SCHED_TASK_HOLDS_H
#define VOLT_RT_SCHED_TASK_HOLDS_H

#include <volt/task.h>

#if VOLT_SIGHT

#include "../../core/inspect/holders.h"
#include "worker.h"

static inline void volt_task_holds_init_(volt_task *t) {
  t->held = NULL;
  t->held_file = NULL;
  t->held_line = 0;
}

/* t is spawned. */
static inline void volt_task_born_(volt_task *t) {
  static VOLT_ATOMIC(uint32_t) tasks;
  t->born = volt_fetch_add_relaxed(&tasks, 1) + 1; /* a number, which orders nothing */
}

/* Before a poll of t. ctx: its worker's. */
static inline void volt_party_enters_(volt_task *t, volt_ctx *ctx) {
  volt_worker *w = volt_container_of(ctx, volt_worker, ctx);
  volt_party_ *p = t->held ? t->held : &w->holds;
  if (p->sample == 0) p->sample = VOLT_HOLDS_SAMPLE_;
  p->who = (uintptr_t)t | VOLT_WHO_TASK_;
  p->stamp = (uint32_t)(w->checked_ns >> 20);
  p->file = t->held_file;
  p->line = t->held_line;
  w->holds_outside = VOLT_PARTY_HERE_;
  VOLT_PARTY_HERE_ = p;
}

/* After it: the list goes with the task if that waits and holds something. */
static inline void volt_party_leaves_(volt_task *t, volt_ctx *ctx, int result) {
  volt_worker *w = volt_container_of(ctx, volt_worker, ctx);
  volt_party_ *p = VOLT_PARTY_HERE_;
  VOLT_PARTY_HERE_ = w->holds_outside;
  bool holds = volt_load_relaxed(&p->count) != 0; /* this thread's own */
  if (result != VOLT_PENDING) {
    if (holds) volt_party_ends_(p);
    if (p != &w->holds) volt_party_drop_(p);
    t->held = NULL;
    return;
  }
  t->held_file = p->file;
  t->held_line = p->line;
  if (p == &w->holds) {
    if (holds) t->held = volt_party_keep_(p);
  } else if (!holds) {
    volt_party_drop_(p);
    t->held = NULL;
  }
}

#else
#define volt_task_holds_init_(t) ((void)0)
#define volt_task_born_(t) ((void)0)
#define volt_party_enters_(t, ctx) ((void)0)
#define volt_party_leaves_(t, ctx, result) ((void)0)
#endif

#endif
