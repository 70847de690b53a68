/* debugger.c: what a debugger finds of libvolt-rt in a process, or in a core: the runtimes, and where in
 * their memory tasks and fibers are. async/numbers.c has the rest. */
#include "debugger.h"

#include "../fiber/fiber.h"
#include "../host/runtime.h"
#include "../sched/homed.h"
#include "../sched/registry.h"
#include "../sched/ring.h"
#include "../sched/task_state.h"
#include "../sched/worker.h"
#include "inspect.h"

/* Whether volt_switch_ is pc, sp, frame pointer and another register. */
#if defined(VOLT_FIBER_UCONTEXT) || !(defined(__x86_64__) || defined(__aarch64__))
enum { HAS_REGISTERS = 0 };
#else
enum { HAS_REGISTERS = 1 };
#endif

/* Its symbol stays, although no code reads the numbers. */
#define DEBUGGER_HERE VOLT_KEPT_ volt_debugger_ volt_debugger_here_

#define AT VOLT_DEBUGGER_AT_

/* Not constant: see core/hooks/numbers.h. */
DEBUGGER_HERE = {
    .magic = VOLT_DEBUGGER_MAGIC_,
    .bytes = sizeof(volt_debugger_),
    .first = NULL,
    .fiber_poll = (void (*)(void))volt_fiber_poll_,
    .numbers =
        {
            /* ---- runtimes ---- */
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
            AT("worker.looked_ns", volt_worker, checked_ns),
            AT("worker.polls", volt_worker, counts.polls),
            AT("worker.parks", volt_worker, counts.parks),
            AT("worker.woken", volt_worker, counts.woken),
            AT("worker.moved", volt_worker, counts.moved),
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
            AT("group.count", volt_group, count),
            AT("blocking.fn", volt_blocking, fn),
            AT("blocking.stage", volt_blocking, stage),
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
