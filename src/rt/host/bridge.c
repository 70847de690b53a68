/* bridge.c: a runtime by hand in a loop that is not of volt, and single futures with callbacks.
 *
 * Algorithm: nothing here is shared but what other files share, and no operation here is atomic. A
 * wait is a task in the caller's memory, whose poll is that of its future. So a wait is woken,
 * cancelled and counted as every task is, and its callback is called when its task has ended: when
 * every wake that was on its way to it has arrived. The tasks of all waits are one group that keeps
 * them until the bridge takes them one by one, on the loop's thread, outside the runtime.
 *
 * Other threads wake the loop by a ring of the alarm only, which is safe at any time (alarm.h):
 *   the runtime's waker       volt_rt_run() has something to do again
 *   ended_future's waker      a wait has ended on another thread: by its last wake
 *   the watch of the end      the last task has ended, when the bridge is closing
 * volt_bridge_run() first takes what has rung, then looks at all that may have rung. What comes
 * after its look rings again. The futures of the loop are polled by tasks, so no ring refers to a
 * wait or to the bridge, and a ring that comes late is for nothing.
 *
 * Stages: OPEN, CLOSING (volt_bridge_close() was called), ENDING (the runtime takes no more tasks),
 * STOPPED (the runtime is gone). The thread of the loop alone reads and changes the stage.
 *
 * Invariants
 *   I1  a wait is in one place: its task is of the group `waits`, or it is in `refused`, until
 *       volt_bridge_run() takes it out and calls its callback
 *   I2  ended_future waits in the group whenever a wait is in the group and volt_bridge_run() does
 *       not run, except before the first run after that wait was spawned
 *   I3  the runtime is destroyed when no task is left in it, no wait is left in the group or in
 *       ended_future, and no thread is on its way to the group or the runtime
 *
 * Races
 *   R1  Interleaving: volt_bridge_run() finds nothing more to do; a thread wakes a task, or ends a
 *       wait, or the last task; the loop sleeps. Prevented by: the rings are taken first. The
 *       thread makes what it does visible and then rings: the runtime's waker is called for what
 *       comes after the look of volt_rt_run() (by_hand.c R3); the group wakes the future for a task
 *       that ends after its poll (group.c R4); the registry rings after it has counted off.
 *   R2  Interleaving: the loop's thread finds that no wait has ended; another thread ends the last
 *       one, which it gives to ended_future; the loop's thread finds that no task is left, and the
 *       group empty, and ends the bridge. That callback is never called. Prevented by: the loop's
 *       thread looks whether a task is left, then takes all waits that have ended, then ends.
 *   R3  Interleaving: another thread ends the last task, by its late wake, and is about to ring;
 *       the loop's thread sees that no task is left for another reason, and frees the bridge.
 *       Prevented by: what is rung outlives every bridge. The thread reads in the runtime which,
 *       before it says that no task is left (registry.c R4).
 *   R4  Interleaving: a callback runs the loop, which calls volt_bridge_run(); the inner call ends
 *       the bridge and frees it under the outer one. Prevented by: only the outermost call ends
 *       it. */
#include <string.h>

#include "../../core/os/check.h"
#include "../sched/registry.h"
#include "alarm.h"
#include "runtime.h"

enum { BRIDGE_POLLS = 256 }; /* before the loop goes on, because it has events of its own */

enum { OPEN = 0, CLOSING = 1, ENDING = 2, STOPPED = 3 };

extern inline int volt_bridge_descriptor(const volt_bridge *);
extern inline volt_rt *volt_bridge_rt(const volt_bridge *);

static void bridge_ring(volt_bridge *b) {
  volt_waker ring = volt_alarm_waker_(&b->alarm);
  ring.wake(ring.ctx);
}

/* ---- open ---- */

/* The alarm is open, and the runtime's waker rings it. */
void volt_bridge_begin_(volt_bridge *b, volt_rt *rt, void (*stop)(volt_bridge *b)) {
  b->rt = rt;
  rt->worker[0].hand_polls = BRIDGE_POLLS;
  volt_group_init_how(&b->waits, VOLT_GROUP_KEEP_GOING | VOLT_GROUP_KEEP_RESULTS);
  /* may be cancelled */
  volt_future_made(volt_group_next_future(&b->ended_future, &b->waits, &b->ended));
  b->refused = NULL;
  b->stop = stop;
  b->closed = NULL;
  b->arg = NULL;
  b->stage = OPEN;
  b->depth = 0;
  b->is_virtual = rt->config.flags & VOLT_RT_VIRTUAL_CLOCK;
}

int volt_bridge_open(volt_bridge *b, void (*stop)(volt_bridge *b), const volt_rt_config *config) {
  volt_rt_config c;
  memset(&c, 0, sizeof c);
  if (config) c = *config;
  if (c.waker.wake) return VOLT_EINVAL;
  if (!volt_alarm_open_(&b->alarm)) return VOLT_ENOMEM;
  c.flags |= VOLT_RT_BY_HAND;
  c.waker = volt_alarm_waker_(&b->alarm);
  volt_rt *rt;
  int result = volt_rt_create(&rt, &c);
  int descriptor = result == VOLT_OK ? volt_rt_io_descriptor(rt) : -1;
  if (descriptor >= 0 && !volt_alarm_watch_(&b->alarm, descriptor)) {
    volt_rt_destroy(rt);
    result = VOLT_ENOMEM;
  }
  if (result != VOLT_OK) {
    volt_alarm_close_(&b->alarm);
    return result;
  }
  volt_bridge_begin_(b, rt, stop);
  return VOLT_OK;
}

void volt_bridge_abandon(volt_bridge *b) {
  volt_group_destroy(&b->waits);
  volt_rt_destroy(b->rt);
  volt_alarm_close_(&b->alarm);
}

/* ---- wait ---- */

static int bridge_wait_poll(volt_task *t, volt_ctx *ctx) {
  volt_bridge_call *c = volt_container_of(t, volt_bridge_call, task);
  return volt_future_poll_ctx(c->future, ctx);
}

void volt_bridge_then(volt_bridge *b, volt_bridge_call *c, volt_future *f,
                      void (*fn)(int result, void *arg), void *arg) {
  VOLT_CHECK(b->stage != STOPPED, "volt_bridge_then", "%p has ended", (void *)b);
  volt_task_init(&c->task, bridge_wait_poll);
  c->future = f;
  c->fn = fn;
  c->arg = arg;
  c->bridge = NULL;
  c->next = NULL;
  if (b->stage == OPEN && volt_group_spawn(&b->waits, b->rt, &c->task) == VOLT_OK) return;
  c->bridge = b;
  c->next = b->refused;
  b->refused = c;
  bridge_ring(b);
}

void volt_bridge_cancel(volt_bridge_call *c) {
  if (!c->bridge) (void)volt_task_cancel(&c->task);
}

/* Take a wait that has ended. Returns NULL: none has. */
static volt_bridge_call *bridge_take_ended(volt_bridge *b) {
  volt_future_cancel(&b->ended_future); /* a callback has run the loop: an inner call left it */
  volt_future_made(volt_group_next_future(&b->ended_future, &b->waits, &b->ended));
  int result = volt_future_poll(&b->ended_future, volt_alarm_waker_(&b->alarm)); /* I2 */
  return result == VOLT_OK ? volt_container_of(b->ended, volt_bridge_call, task) : NULL;
}

static void bridge_call_ended(volt_bridge *b) {
  volt_bridge_call *c;
  while ((c = bridge_take_ended(b)) != NULL) c->fn(volt_task_result(&c->task), c->arg);
}

/* Those that a callback adds are for the next volt_bridge_run(). */
static void bridge_call_refused(volt_bridge *b) {
  volt_bridge_call *c = b->refused;
  b->refused = NULL;
  while (c) {
    volt_bridge_call *next = c->next;
    c->fn(VOLT_ECLOSED, c->arg);
    c = next;
  }
}

/* ---- end ---- */

void volt_bridge_close(volt_bridge *b, void (*closed)(void *arg), void *arg) {
  VOLT_CHECK(b->stage == OPEN, "volt_bridge_close", "%p is closed twice", (void *)b);
  b->closed = closed;
  b->arg = arg;
  b->stage = CLOSING;
  bridge_ring(b);
}

/* A shutdown whose deadline has passed cancels everything, and runs a bounded number of polls. */
static void bridge_begin_end(volt_bridge *b) {
  const uint64_t passed_ns = 0;
  b->stage = ENDING;
  (void)volt_rt_shutdown(b->rt, passed_ns);
  volt_rt_watch_end_(b->rt, volt_alarm_waker_(&b->alarm));
}

/* From now on every wait is in the group as one that has ended, or in ended_future. I3 */
static bool bridge_has_ended(volt_bridge *b) {
  return b->stage == ENDING && volt_rt_has_ended_(b->rt);
}

static void bridge_end(volt_bridge *b) {
  b->stage = STOPPED;
  volt_future_cancel(&b->ended_future);
  VOLT_ASSERT(volt_group_is_empty(&b->waits));
  volt_group_destroy(&b->waits);
  volt_rt_destroy(b->rt);
  b->rt = NULL;
  b->stop(b);
}

void volt_bridge_stopped(volt_bridge *b) {
  void (*closed)(void *arg) = b->closed;
  void *arg = b->arg;
  volt_alarm_close_(&b->alarm);
  if (closed) closed(arg);
}

/* ---- run ---- */

void volt_bridge_run(volt_bridge *b) {
  if (b->stage == STOPPED) return;
  b->depth += 1;
  volt_alarm_take_(&b->alarm);          /* R1 */
  volt_future_cancel(&b->ended_future); /* what ends in this call is taken in this call */
  if (b->stage == CLOSING) bridge_begin_end(b);
  uint64_t next_ns = volt_rt_run(b->rt);
  bool is_last = bridge_has_ended(b); /* R2: looked at before the waits */
  bridge_call_ended(b);
  bridge_call_refused(b);
  b->depth -= 1;
  if (next_ns == 0) {
    bridge_ring(b);
  } else if (!b->is_virtual) {
    volt_alarm_set_(&b->alarm, next_ns);
  }
  if (b->depth > 0) return; /* R4 */
  if (is_last && !b->refused) {
    bridge_end(b);
  } else if (bridge_has_ended(b)) {
    bridge_ring(b); /* a call within a callback may have taken the ring that said so */
  }
}
