/* debugger.c: what a debugger finds in a process, or in a core: the runtimes, and where in their
 * memory tasks, fibers and what they wait for are. A build for release has symbols but no types, so
 * the offsets are numbers with names; a stripped one has not even symbols, so all of it begins with
 * a text that can be searched for. A debugger reads them while no thread runs; volt-top while
 * threads run, and takes what it reads for hints. */
#include "debugger.h"

#include <volt/async.h>
#include <volt/channel.h>
#include <volt/mutex.h>
#include <volt/rwlock.h>
#include <volt/select.h>
#include <volt/time.h>

#include "../core/blocked.h"
#include "../core/future_ops.h"
#include "../core/grant.h"
#include "../core/named.h"
#include "fiber_parts.h"
#include "inspect.h"
#include "parts.h"
#include "task_state.h"

/* Whether volt_switch_ is pc, sp, frame pointer and another register. */
#if defined(VOLT_FIBER_UCONTEXT) || !(defined(__x86_64__) || defined(__aarch64__))
enum { HAS_REGISTERS = 0 };
#else
enum { HAS_REGISTERS = 1 };
#endif

/* Its symbol stays, although no code reads the numbers. */
#define DEBUGGER_HERE VOLT_KEPT_ volt_debugger_ volt_debugger_here_

#define AT(name, type, member) \
  { name, offsetof(type, member) }

/* Not constant: see debugger.h. */
DEBUGGER_HERE = {
    .magic = VOLT_DEBUGGER_MAGIC_,
    .bytes = sizeof(volt_debugger_),
    .first = NULL,
    .fiber_poll = volt_fiber_poll_,
    .numbers =
        {
            /* ---- runtimes ---- */
            {"version", 2},
            AT("rt.next", volt_rt, next_rt),
            AT("rt.prev", volt_rt, prev_rt),
            AT("rt.workers", volt_rt, workers),
            AT("rt.worker", volt_rt, worker),
            AT("rt.flags", volt_rt, config.flags),
            AT("rt.idle", volt_rt, idle.word),
            AT("rt.keeper", volt_rt, keeper),
            AT("rt.driven", volt_rt, driven),
            AT("rt.injected", volt_rt, inject.length),
            AT("rt.timers", volt_rt, timers),
            AT("rt.blocking.queued", volt_rt, blocking.queued),
            AT("rt.blocking.running", volt_rt, blocking.running),
            AT("rt.blocking.threads", volt_rt, blocking.threads),
            AT("rt.registry", volt_rt, registry),
            AT("rt.thread_prefix", volt_rt, thread_prefix),
            {"sizeof worker", sizeof(volt_worker)},
            AT("worker.running", volt_worker, ctx.waker.ctx),
            AT("worker.ring.head", volt_worker, ring.head),
            AT("worker.ring.tail", volt_worker, ring.tail),
            AT("worker.ring.slots", volt_worker, ring.slots),
            {"worker ring", VOLT_RT_RING},
            AT("worker.lifo", volt_worker, lifo),
            AT("worker.home.first", volt_worker, home.first),
            AT("worker.tid", volt_worker, tid),
            AT("worker.left", volt_worker, left),
            AT("worker.stamp", volt_worker, stamp),
            AT("worker.looked_ns", volt_worker, looked_ns),
            AT("worker.polls", volt_worker, counts.polls),
            AT("worker.parks", volt_worker, counts.parks),
            {"sizeof registry", sizeof(volt_registry)},
            AT("registry.count", volt_registry, count),
            AT("registry.running", volt_registry, running),
            AT("registry.cancelled", volt_registry, cancelled),
            AT("timers.root", volt_timers, root),
            AT("timers.is_virtual", volt_timers, is_virtual),
            AT("timers.virtual_ns", volt_timers, virtual_ns),
            AT("timer.waiter", volt_timer, waiter),
            AT("timer.deadline_ns", volt_timer, deadline_ns),
            /* ---- tasks ---- */
            AT("link.next", volt_task_link, next),
            AT("link.prev", volt_task_link, prev),
            AT("task.entry", volt_task, entry),
            AT("task.state", volt_task, state),
            AT("task.rt", volt_task, rt),
            AT("task.poll", volt_task, poll),
            AT("task.next", volt_task, next),
            AT("task.joiner", volt_task, joiner),
            AT("task.frame", volt_task, frame),
            AT("task.polls", volt_task, polls),
            AT("task.since", volt_task, since),
            {"task is spawned", SPAWNED},
            {"task is active", ACTIVE},
            {"task is notified", NOTIFIED},
            {"task is complete", COMPLETE},
            {"task is ended", ENDED},
            {"task has joiner", JOINER},
            {"task is grouped", GROUPED},
            {"task is asked", ASKED},
            {"task registration", ONE},
            AT("frame.awaiting", volt_frame, awaiting),
            AT("frame.step", volt_frame, step),
            AT("frame.site", volt_frame, site),
            AT("site.function", volt_site_, function),
            AT("site.file", volt_site_, file),
            AT("site.bytes", volt_site_, bytes),
            {"step trail", VOLT_STEP_TRAIL_},
            AT("trail.place", volt_trail_, place),
            AT("trail.awaited_by", volt_trail_, awaited_by),
            AT("trail.parent", volt_trail_, parent),
            AT("place.file", volt_place_, file),
            AT("place.function", volt_place_, function),
            AT("place.line", volt_place_, line),
            AT("group.count", volt_group, count),
            AT("blocking.fn", volt_blocking, fn),
            AT("blocking.stage", volt_blocking, stage),
            /* ---- futures, waiters, queues ---- */
            AT("future.ops", volt_future, ops),
            AT("future.object", volt_future, object),
            AT("future.waiter", volt_future, waiter),
            AT("ops.name", volt_future_ops_, name),
            AT("ops.operation", volt_future_ops_, operation),
            AT("ops.kind", volt_future_ops_, kind),
            AT("waiter.next", volt_waiter, next),
            AT("waiter.prev", volt_waiter, prev),
            AT("waiter.queue", volt_waiter, queue),
            AT("waiter.ctx", volt_waiter, ctx),
            AT("waiter.data", volt_waiter, data),
            AT("waiter.state", volt_waiter, state),
            AT("waiter.want", volt_waiter, want),
            AT("waiter.need", volt_waiter, need),
            AT("waiter.future", volt_waiter, future),
            {"waiter is granted", VOLT_WAITER_GRANTED_},
            {"waiter is closed", VOLT_WAITER_CLOSED_},
            AT("fifo.word", volt_fifo_, word),
            AT("fifo.head", volt_fifo_, head),
            AT("fifo.waiters", volt_fifo_, waiters),
            AT("fifo.rest", volt_fifo_, rest),
            AT("channel.capacity", volt_chan, capacity),
            AT("select.future", volt_select, future),
            AT("select.branches", volt_select, branches),
            AT("select.count", volt_select, count),
            AT("join.future", volt_join, future),
            AT("join.branches", volt_join, branches),
            AT("join.count", volt_join, count),
            AT("timeout.future", volt_timeout, future),
            AT("timeout.inner", volt_timeout, inner),
            AT("timeout.deadline_ns", volt_timeout, sleep.deadline_ns),
            AT("sleep.future", volt_sleep, future),
            AT("sleep.deadline_ns", volt_sleep, deadline_ns),
            AT("async.future", volt_async, future),
            AT("async.frame", volt_async, frame),
            AT("async.poll", volt_async, poll),
            /* ---- names, threads that sleep in a call ---- */
            {"name slots", VOLT_NAME_SLOTS_},
            {"sizeof name", sizeof(volt_name_slot_)},
            AT("name.object", volt_name_slot_, object),
            AT("name.name", volt_name_slot_, name),
            AT("blocked.head", volt_blocked_list_, head),
            AT("slot.next", volt_blocked_slot_, next),
            AT("slot.words", volt_blocked_slot_, words),
            AT("slot.wait", volt_blocked_slot_, wait),
            AT("slot.tid", volt_blocked_slot_, tid),
            AT("slot.number", volt_blocked_slot_, number),
            AT("blocked.operation", volt_blocked_wait_, operation),
            AT("blocked.kind", volt_blocked_wait_, kind),
            AT("blocked.object", volt_blocked_wait_, object),
            AT("blocked.future", volt_blocked_wait_, future),
            AT("blocked.waiter", volt_blocked_wait_, waiter),
            AT("blocked.deadline_ns", volt_blocked_wait_, deadline_ns),
            AT("blocked.since_ns", volt_blocked_wait_, since_ns),
            AT("blocked.wanted", volt_blocked_wait_, wanted),
/* ---- holders ---- */
#if VOLT_SIGHT
            AT("mutex.owner", volt_mutex, owner),
            AT("rwlock.owner", volt_rwlock, owner),
            AT("owner.who", volt_owner_, who),
            AT("owner.file", volt_owner_, file),
            AT("owner.line", volt_owner_, line),
            AT("owner.since", volt_owner_, since),
            {"who is a task", VOLT_WHO_TASK_},
            {"who is a thread", VOLT_WHO_THREAD_},
            {"who is granted", VOLT_WHO_GRANTED_},
#endif
            AT("group.running", volt_group, running),
            AT("group.cancelled", volt_group, cancelled),
            AT("task.sibling", volt_task, sibling),
            /* ---- fibers ---- */
            AT("fiber.home", volt_fiber, homed.home),
            AT("fiber.inside", volt_fiber, inside),
            {"has registers", HAS_REGISTERS},
            AT("fiber.stack.bottom", volt_fiber, stack.bottom),
            AT("fiber.stack.bytes", volt_fiber, stack.bytes),
            AT("fiber.fn", volt_fiber, fn),
            AT("fiber.name", volt_fiber, name),
            AT("fiber.stage", volt_fiber, stage),
            {"stage new", VOLT_FIBER_NEW_},
            {"stage suspended", VOLT_FIBER_SUSPENDED_},
            {"stage runs", VOLT_FIBER_RUNS_},
            {"stage ended", VOLT_FIBER_ENDED_},
        },
};

volt_debugger_ *volt_debugger_of_process_(void) {
  return &volt_debugger_here_;
}

volt_short_lock *volt_runtimes_lock_(void) {
  static volt_short_lock lock;
  return &lock;
}
