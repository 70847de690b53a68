/* fiber.h: what a fiber consists of: fiber.c, fiber_local.c, and the files of its stack. */
#ifndef VOLT_RT_FIBER_FIBER_H
#define VOLT_RT_FIBER_FIBER_H

#include <volt/fiber.h>

#include "../../core/park/blocker.h"
#include "../sched/homed.h"
#include "fiber_switch.h"
#include "stack.h"
#include "stack_tools.h"

enum volt_fiber_stage {
  VOLT_FIBER_NEW_ = 0,   /* it has no stack yet */
  VOLT_FIBER_SUSPENDED_, /* `inside` says where */
  VOLT_FIBER_RUNS_,
  VOLT_FIBER_ENDED_ /* it has no stack any more, or is about to give it back */
};

enum {
  VOLT_FIBER_HAS_EXCEPTIONS_ = 1 << 16 /* in flags: `exceptions` are not those of a new fiber */
};

/* What each switch uses comes first: three cache lines, from the state of the task to
 * blocker.kept_cancel. The fourth is of waits. */
typedef struct volt_fiber {
  volt_homed_ homed; /* first; its task is the fiber's */
  uint32_t stage;    /* of volt_fiber_stage */
  uint32_t cancel;   /* VOLT_CTX_CANCEL_ONCE: a cancel has come that no call has obeyed */
  int saved_errno;   /* while it is suspended */
  uint32_t flags;
  volt_ctx *ctx;         /* of the poll that runs: its worker's */
  volt_switch_ inside;   /* where it goes on, while it is suspended */
  volt_blocker_ blocker; /* this thread's while it runs */
  void *exceptions[2];   /* the state of C++ exceptions, while it is suspended */
  volt_stack_ stack;     /* none before it begins and after its end */
  volt_ctx own;          /* with which it polls what it waits for */
  volt_stack_tools_ tools;
  size_t stack_bytes;
  volt_fiber_fn *fn;
  void (*unrun)(void *arg);
  void *arg;
  const char *name;
  void **locals;
  uint32_t local_count;
  int result;
} volt_fiber;

/* The fiber that runs on this thread; NULL: none. The answer stays right for as long as the fiber
 * does not wait. */
volt_fiber *volt_fiber_here_(void);

/* The fiber that t is; aborts, in `call`, if it is none. */
volt_fiber *volt_fiber_of_(volt_task *t, const char *call);

static inline volt_task *volt_fiber_task_(volt_fiber *f) {
  return &f->homed.task;
}

/* What a worker has for the fibers that it polls: fiber.c. */
typedef struct volt_worker_fibers_ {
  volt_blocker_ **blocker; /* where this thread has what blocks. NULL: not asked yet */
  int *error;              /* where it has errno */
  void **exceptions;       /* where it has the state of C++ exceptions: two words; NULL: no C++ */
  uint64_t control;        /* volt_switch_control_() before the fiber that runs; debug builds */
  int error_before;        /* both, when they were asked for: the caller's of a run by hand */
  void *exceptions_before[2];
  volt_switch_outside_ outside;       /* where its loop goes on when the fiber that runs waits */
  volt_stack_tools_ tools;            /* of its thread's stack */
  VOLT_ATOMIC(uint64_t) begun, ended; /* relaxed counters */
} volt_worker_fibers_;

struct volt_worker;

/* This thread has polled tasks of w, and does so no more: errno and the state of C++ exceptions are
 * what they were before. */
void volt_worker_end_fibers_(struct volt_worker *w);

/* ---- fiber_wait.c ---- */

/* Those of a fiber's blocker. */
int volt_fiber_block_on_(volt_blocker_ *self, volt_future *future, uint64_t deadline_ns);
uint64_t volt_fiber_now_ns_(volt_blocker_ *self);

/* ---- fiber_local.c ---- */

/* The fiber's function has returned: call the destructors of its values, in the fiber. */
void volt_fiber_locals_end_(volt_fiber *f);

#endif
