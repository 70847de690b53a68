/* blocker.h: what a blocking call does on this thread: it blocks the thread, or reports that the
 * thread must not block, or suspends the fiber that runs here. */
#ifndef VOLT_CORE_PARK_BLOCKER_H
#define VOLT_CORE_PARK_BLOCKER_H

#include <volt/future.h>

#include "locals.h"

typedef struct volt_blocker_ {
  /* A worker polls a task here that is no fiber: report that `call` is about to block it. NULL: a
   * fiber runs here. */
  void (*blocks)(struct volt_blocker_ *self, const char *call);
  /* A fiber runs here: as volt_future_wait_until(), which calls this; also within a poll that it makes
   * itself. A cancel of the fiber ends the wait, unless it is shielded. NULL: no fiber. */
  int (*block_on)(struct volt_blocker_ *self, volt_future *f, uint64_t deadline_ns);
  /* While above 0, no cancel ends a wait of this fiber: it stays for a later one. */
  uint32_t shields;
  /* A wait has returned VOLT_ECANCELED, and the call that waited has succeeded after all: the next
   * block_on() takes this for a cancel that has come just now. */
  bool kept_cancel;
  /* The clock of this fiber's deadlines. NULL: volt_now_ns() */
  uint64_t (*now_ns)(struct volt_blocker_ *self);
  /* This fiber's own, as volt_thread_slot_() and volt_thread_calls_() are a thread's. */
  void *sections;
  void *calls;
} volt_blocker_;

/* This thread's; NULL: it may block. The address is the thread's own: code that may run in a fiber
 * asks again after each wait. */
VOLT_API volt_blocker_ **volt_thread_blocker_(void);

/* That of the fiber that runs here; NULL: none does. */
static inline volt_blocker_ *volt_fiber_blocker_(void) {
  volt_blocker_ *here = *volt_thread_blocker_();
  return here && !here->blocks ? here : NULL;
}

/* As volt_thread_slot_() and volt_thread_calls_(), of the fiber that runs here if one does. */
static inline void **volt_sections_(void) {
  volt_blocker_ *fiber = volt_fiber_blocker_();
  return fiber ? &fiber->sections : volt_thread_slot_();
}
static inline void **volt_calls_(void) {
  volt_blocker_ *fiber = volt_fiber_blocker_();
  return fiber ? &fiber->calls : volt_thread_calls_();
}

/* Until volt_unshield_() with what this returns, no cancel of the fiber that runs here ends a
 * wait. */
static inline volt_blocker_ *volt_shield_(void) {
  volt_blocker_ *fiber = volt_fiber_blocker_();
  if (fiber) fiber->shields += 1;
  return fiber;
}

static inline void volt_unshield_(volt_blocker_ *fiber) {
  if (fiber) fiber->shields -= 1;
}

/* A wait of the call that runs here has returned result, and the call succeeds after all. */
static inline void volt_keep_cancel_(int result) {
  volt_blocker_ *fiber = volt_fiber_blocker_();
  if (fiber && result == VOLT_ECANCELED) fiber->kept_cancel = true;
}

#endif
