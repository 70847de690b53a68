/* registry.c: the tasks that have not ended, so that shutdown finds them, and knows when none is
 * left. A runtime has one registry for each worker, and one for all other threads.
 *
 * Invariants
 *   I1  the runtime exists while the count of any registry is above zero. A thread that is no
 *       worker and lowers a count uses the runtime for the last time as it unlocks; or, if a loop
 *       watches for the end, as it unparks the last of the runtime's closers
 *   I2  a task that is linked has not ENDED, so a thread that finds it under the lock may use it
 *       under the lock
 *   I3  the count is lowered after ENDED, so a thread that sees 0 finds no task pending
 *
 * Races
 *   R1  Interleaving: a spawn adds a task as the runtime shuts down. Prevented by: both decide
 *       under the lock.
 *   R2  Interleaving: a thread that waits for the last task gives up as that task ends. Prevented
 *       by: the thread takes itself out under the lock, or waits for its unpark.
 *   R3  Interleaving: two threads wait for the last task; the first is woken, and frees the runtime
 *       before the second is woken. Prevented by: the list of waiting threads is taken out under
 *       the lock, and the threads are woken from there. After that neither the runtime is used, nor
 *       a thread that was woken.
 *   R4  Interleaving: the last task ends on another thread; a loop that runs the runtime by hand
 *       sees that, destroys the runtime, and ends; the thread is about to wake the loop for
 *       that. Prevented by: the loop looks at the parkers of its closers, not at the counts. The
 *       thread reads what to call before it unparks, and what it calls lives as long as the
 *       program. */
#include "registry.h"

#include "../../core/os/check.h"
#include "../../core/park/blocker.h"
#include "../../core/park/call.h"
#include "../../core/park/spin.h"
#include "../host/runtime.h"
#include "thread.h"

void volt_registry_init_(volt_registry *registry) {
  volt_short_lock_init_(&registry->lock);
  registry->is_closed = 0;
  registry->count = 0;
  registry->spawned = 0;
  registry->closers = NULL;
  volt_task_list_init_(&registry->running);
  volt_task_list_init_(&registry->cancelled);
}

int volt_registry_add_(volt_rt *rt, volt_task *t) {
  volt_here_ *here = volt_thread_here_();
  unsigned shard = VOLT_LIKELY(here->rt == rt) ? here->worker->index : rt->workers;
  t->frame.shard = (uint8_t)shard; /* VOLT_RT_WORKERS_MAX at most */
  volt_registry *registry = &rt->registry[shard];
  volt_short_lock_lock_(&registry->lock);
  bool is_closed = registry->is_closed != 0; /* R1 */
  if (!is_closed) {
    registry->count += 1;
    volt_task_list_append_(&registry->running, &t->entry);
    registry->spawned += 1;
  }
  volt_short_lock_unlock_(&registry->lock);
  return is_closed ? VOLT_ECLOSED : VOLT_OK;
}

volt_registry *volt_registry_lock_(volt_rt *rt, unsigned shard) {
  volt_registry *registry = &rt->registry[shard];
  volt_short_lock_lock_(&registry->lock);
  return registry;
}

void volt_registry_unlink_(volt_task *t) {
  volt_task_list_remove_(&t->entry);
}

/* Its links are as they were, and so is what it was between. */
void volt_registry_link_again_(volt_task *t) {
  volt_task_list_insert_(t->entry.prev, &t->entry);
}

/* Each is used for the last time by its unpark, because its thread may go on. R4 */
static void registry_wake_closer(volt_closer *c) {
  volt_wake_fn then = c->then;
  void *ctx = c->then_ctx;
  volt_unpark(&c->parker);
  if (then) then(ctx);
}

static VOLT_NOINLINE void registry_wake_closers(volt_closer *c) {
  while (c) {
    volt_closer *next = c->next;
    registry_wake_closer(c);
    c = next;
  }
}

void volt_registry_unlock_(volt_registry *registry) {
  volt_short_lock_unlock_(&registry->lock);
}

void volt_registry_count_off_and_unlock_(volt_registry *registry) {
  volt_closer *closers = NULL;
  VOLT_ASSERT(registry->count > 0);
  registry->count -= 1;
  if (registry->count == 0) {
    closers = registry->closers;
    registry->closers = NULL;
  }
  volt_short_lock_unlock_(&registry->lock); /* I1 */
  if (closers) registry_wake_closers(closers);
}

static volt_task *registry_take(volt_task_link *from, volt_task_link *to) {
  volt_task_link *link = from->next;
  volt_task_list_remove_(link);
  volt_task_list_append_(to, link);
  return volt_container_of(link, volt_task, entry);
}

uint64_t volt_registry_close_(volt_registry *registry) {
  volt_short_lock_lock_(&registry->lock);
  registry->is_closed = 1;
  volt_short_lock_unlock_(&registry->lock);
  return volt_task_list_cancel_(&registry->lock, &registry->running, &registry->cancelled,
                                registry_take);
}

/* Returns whether closer was in the list. */
static bool registry_remove_closer(volt_registry *registry, volt_closer *closer) {
  volt_closer *before = NULL;
  for (volt_closer *at = registry->closers; at; before = at, at = at->next) {
    if (at != closer) continue;
    if (before) {
      before->next = at->next;
    } else {
      registry->closers = at->next;
    }
    return true;
  }
  return false;
}

/* Returns false: no task is left, and closer was not added. */
static bool registry_add_closer(volt_registry *registry, volt_closer *closer) {
  volt_short_lock_lock_(&registry->lock);
  bool any = registry->count > 0;
  if (any) {
    closer->next = registry->closers;
    registry->closers = closer;
  }
  volt_short_lock_unlock_(&registry->lock);
  return any;
}

int volt_registry_wait_(volt_registry *registry, uint64_t deadline_ns) {
  volt_closer self = {.parker = VOLT_PARKER_INIT};
  self.then = NULL;
  bool any = registry_add_closer(registry, &self);
  const volt_call_ call = {.name = "volt_rt_shutdown"};
  int result = any ? volt_park_in_(&call, &self.parker, 1, deadline_ns) : (int)VOLT_OK;
  if (result == VOLT_OK) return VOLT_OK;
  volt_short_lock_lock_(&registry->lock);
  bool gave_up = registry_remove_closer(registry, &self); /* R2 */
  volt_short_lock_unlock_(&registry->lock);
  if (gave_up) return result;
  volt_park_out_(&self.parker, 1);
  volt_keep_cancel_(result);
  return VOLT_OK;
}

uint64_t volt_registry_count_(volt_registry *registry, uint64_t *spawned) {
  volt_short_lock_lock_(&registry->lock);
  uint64_t count = registry->count;
  *spawned += registry->spawned;
  volt_short_lock_unlock_(&registry->lock);
  return count;
}

/* ---- a loop that runs it by hand ---- */

enum { REGISTRIES_BY_HAND = 2 }; /* of the one worker, and of other threads */

void volt_rt_watch_end_(volt_rt *rt, volt_waker then) {
  for (unsigned i = 0; i < REGISTRIES_BY_HAND; i++) {
    volt_closer *c = &rt->watches[i];
    c->then = then.wake;
    c->then_ctx = then.ctx;
    if (!registry_add_closer(&rt->registry[i], c)) registry_wake_closer(c);
  }
}

bool volt_rt_has_ended_(volt_rt *rt) {
  for (unsigned i = 0; i < REGISTRIES_BY_HAND; i++) {
    if (volt_unparks_since_(&rt->watches[i].parker, 0) == 0) return false;
  }
  return true;
}
