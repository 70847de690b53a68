/* numbers.c: what a debugger finds of libvolt-sync in a process, or in a core: the threads that sleep in
 * its calls, the names of objects, and where the members of futures, waiters, queues and locks are. A
 * build for release has symbols but no types, so the offsets are numbers with names; a stripped one has
 * not even symbols, so all of it begins with a text that can be searched for. A debugger reads them while
 * no thread runs; volt-top while threads run, and takes what it reads for hints. So a program that has
 * threads and no runtime can be looked into, too. */
#include "../core/hooks/numbers.h"

#include <volt/async.h>
#include <volt/channel.h>
#include <volt/detail/await.h>
#include <volt/mutex.h>
#include <volt/rwlock.h>
#include <volt/select.h>
#include <volt/time.h>

#include "../core/future/future_ops.h"
#include "../core/hooks/named.h"
#include "../core/inspect/sleepers.h"
#include "../core/park/fiber_futex.h"
#include "../core/wait/grant.h"

#define AT VOLT_DEBUGGER_AT_

/* Its symbol stays, although no code reads the numbers. */
#define NUMBERS_HERE VOLT_KEPT_ volt_debugger_ volt_debugger_sync_

/* Not constant: see core/hooks/numbers.h. */
NUMBERS_HERE = {
    .magic = VOLT_DEBUGGER_MAGIC_,
    .bytes = sizeof(volt_debugger_),
    .sync = &volt_debugger_sync_,
    .names = volt_name_table_,
    .numbers =
        {
            {"version", 4},
            /* ---- functions that await ---- */
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
            /* ---- futures, waiters, queues ---- */
            AT("future.ops", volt_future, ops),
            AT("future.object", volt_future, object),
            AT("future.waiter", volt_future, waiter),
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
            {"waiter is refused", VOLT_WAITER_REFUSED_},
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
            AT("sleep.future", volt_sleep_op, future),
            AT("sleep.deadline_ns", volt_sleep_op, deadline_ns),
            AT("async.future", volt_async, future),
            AT("async.frame", volt_async, frame),
            AT("async.poll", volt_async, poll),
            /* ---- a fiber that waits in a blocking call ---- */
            AT("fiber_futex.call", volt_fiber_futex_future_, call),
            AT("parker.word", volt_parker, word),
            AT("call.name", volt_call_, name),
            AT("call.kind", volt_call_, kind),
            AT("call.object", volt_call_, object),
            AT("call.future", volt_call_, future),
            AT("call.n", volt_call_, n),
/* ---- kinds of objects: by its name, the number of each ---- */
#define NUMBERS_KIND(constant, name, api, counted) {"kind " name, VOLT_KIND_##constant##_},
            VOLT_KIND_TABLE_(NUMBERS_KIND)
#undef NUMBERS_KIND
            /* ---- names, threads that sleep in a call ---- */
            {"name slots", VOLT_NAME_SLOTS_},
            {"sizeof name", sizeof(volt_name_slot_)},
            AT("name.object", volt_name_slot_, object),
            AT("name.name", volt_name_slot_, name),
            AT("sleeper.head", volt_sleeper_list_, head),
            AT("slot.next", volt_sleeper_slot_, next),
            AT("slot.words", volt_sleeper_slot_, words),
            AT("slot.wait", volt_sleeper_slot_, wait),
            AT("slot.tid", volt_sleeper_slot_, tid),
            AT("slot.number", volt_sleeper_slot_, number),
            AT("sleeper.call", volt_sleeper_wait_, call),
            AT("sleeper.operation", volt_sleeper_wait_, operation),
            AT("sleeper.kind", volt_sleeper_wait_, kind),
            AT("sleeper.object", volt_sleeper_wait_, object),
            AT("sleeper.future", volt_sleeper_wait_, future),
            AT("sleeper.waiter", volt_sleeper_wait_, waiter),
            AT("sleeper.deadline_ns", volt_sleeper_wait_, deadline_ns),
            AT("sleeper.since_ns", volt_sleeper_wait_, since_ns),
            AT("sleeper.wanted", volt_sleeper_wait_, wanted),
/* ---- holders ---- */
#if VOLT_SIGHT
            AT("mutex.holder", volt_mutex, holder),
            AT("rwlock.holder", volt_rwlock, holder),
            AT("holder.who", volt_holder_, who),
            AT("holder.file", volt_holder_, file),
            AT("holder.line", volt_holder_, line),
            AT("holder.since", volt_holder_, since),
            {"who is a task", VOLT_WHO_TASK_},
            {"who is a thread", VOLT_WHO_THREAD_},
            {"who is granted", VOLT_WHO_GRANTED_},
#endif
        },
};
