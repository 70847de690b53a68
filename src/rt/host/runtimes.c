/* runtimes.c: the runtimes of this process, for inspectors and debuggers: a list, under a lock that is
 * held for a few steps.
 *
 * An inspector looks at a runtime for longer than that. It pins it (pins.h); volt_rt_destroy() waits
 * for the pins, and new ones are not made by then.
 *
 * Races
 *   R1  Interleaving: an inspector has found a runtime in the list, which is destroyed before the
 *       inspector looks at it. Prevented by: it is pinned before the lock is released, if it is not
 *       withdrawn, and the destroyer waits until no pin is left.
 *   R2  Interleaving: an inspector goes on from a runtime that was removed meanwhile. Prevented by: its
 *       pin of that ends only when it has pinned the next one, and to be removed it may have none.
 *   R3  Interleaving: a thread forks while another one holds the lock. Prevented by: fork() takes the
 *       lock before (at_fork.h). The child has no runtimes. */
#include "../../core/os/at_fork.h"
#include "../inspect/debugger.h"
#include "../inspect/inspect.h"
#include "../sched/short_lock.h"
#include "pins.h"
#include "runtime.h"

/* ---- the list ---- */

static void runtimes_lock(void) {
  volt_short_lock_lock_(volt_runtimes_lock_());
}

static void runtimes_unlock(void) {
  volt_short_lock_unlock_(volt_runtimes_lock_());
}

/* The child of a fork has none of the threads that run the parent's runtimes. */
static void runtimes_begin_child(void) {
  volt_debugger_of_process_()->first = NULL;
  runtimes_unlock();
}

/* R3; and a debugger finds the threads that wait, also if no runtime is made. */
static VOLT_AT_LOAD_(VOLT_FORK_RUNTIMES_) void runtimes_load(void) {
  volt_debugger_of_process_()->sync = volt_debugger_of_sync_();
  volt_at_fork_(runtimes_lock, runtimes_unlock, runtimes_begin_child);
}

void volt_debugger_add_(volt_rt *rt) {
  runtimes_lock();
  volt_debugger_of_process_()->sync = volt_debugger_of_sync_();
  rt->next_rt = volt_debugger_of_process_()->first;
  rt->prev_rt = NULL;
  if (rt->next_rt) rt->next_rt->prev_rt = rt;
  volt_debugger_of_process_()->first = rt;
  runtimes_unlock();
}

/* ---- inspectors ---- */

void volt_debugger_withdraw_(volt_rt *rt) {
  runtimes_lock();
  volt_pins_close_(&rt->pins);
  runtimes_unlock();
}

bool volt_debugger_is_pinned_(volt_rt *rt) {
  return volt_pins_are_left_(&rt->pins);
}

volt_rt *volt_rt_pin_next_(volt_rt *after) {
  runtimes_lock();
  volt_rt *rt = after ? after->next_rt : volt_debugger_of_process_()->first;
  while (rt && !volt_pins_make_(&rt->pins)) rt = rt->next_rt;
  runtimes_unlock();
  if (after) volt_rt_unpin_(after);
  return rt;
}

bool volt_rt_pin_(volt_rt *rt) {
  runtimes_lock();
  volt_rt *at = volt_debugger_of_process_()->first;
  while (at && at != rt) at = at->next_rt;
  bool is_pinned = at && volt_pins_make_(&at->pins);
  runtimes_unlock();
  return is_pinned;
}

void volt_rt_unpin_(volt_rt *rt) {
  volt_pins_end_(&rt->pins);
}

void volt_debugger_remove_(volt_rt *rt) {
  runtimes_lock();
  if (rt->prev_rt) {
    rt->prev_rt->next_rt = rt->next_rt;
  } else if (volt_debugger_of_process_()->first == rt) {
    volt_debugger_of_process_()->first = rt->next_rt;
  }
  if (rt->next_rt) rt->next_rt->prev_rt = rt->prev_rt;
  runtimes_unlock();
}
