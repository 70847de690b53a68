/* bridge.h: tasks and single futures inside an event loop that exists: libuv, GLib, libevent,
 * libev, epoll, or any other that watches descriptors.
 *
 * The loop stays as it is. A bridge is one more descriptor in it. Behind that descriptor is a
 * runtime by hand (volt/runtime.h), which has no threads of its own: its tasks run, and the
 * callbacks of the futures that the loop waits for are called, on the loop's thread, when the loop
 * finds the descriptor readable. The headers volt/uv.h, volt/glib.h, volt/event.h, volt/ev.h and
 * volt/epoll.h have one function each, which opens a bridge in a loop of that library:
 *
 *   volt_uv b;
 *   int result = volt_uv_open(&b, uv_default_loop(), NULL);
 *
 * Tasks run inside uv_run() from then on. Any thread may spawn them:
 *
 *   result = volt_spawn(volt_bridge_rt(&b.bridge), &task);
 *
 * A future is awaited by a callback, in the caller's memory:
 *
 *   volt_future_made(volt_sem_acquire_future(&r->permit, &connections, 1));
 *   volt_bridge_then(&b.bridge, &r->call, &r->permit, on_permit, r);
 *
 *   static void on_permit(int result, void *arg) { ... }      VOLT_OK: a permit is ours
 *
 * And one call ends it all: waits and tasks are cancelled, each callback is called, every wake that
 * other threads have begun is waited for, the loop stops watching the descriptor. Then closed() is
 * called, and from then on the memory is the caller's:
 *
 *   volt_bridge_close(&b.bridge, closed, &b);
 *
 * The loop is not kept from its other events: each volt_bridge_run() polls tasks some hundred times
 * at most, and what is left to do makes the descriptor readable again. An open bridge keeps its
 * loop alive, where a loop ends when it has nothing to watch.
 *
 * Another kind of loop needs two things (docs/guide/4-your-own-event-loop.md): it calls
 * volt_bridge_run() whenever volt_bridge_descriptor() is readable; and its stop(), given to
 * volt_bridge_open(), stops watching the descriptor and calls volt_bridge_stopped().
 *
 * Which thread is the loop's: the one that runs the loop at the moment. */
#ifndef VOLT_BRIDGE_H
#define VOLT_BRIDGE_H

#include "runtime.h"

typedef struct volt_bridge volt_bridge;

/* Members are private. A callback that is called when a future is ready. */
typedef struct volt_bridge_call {
  volt_task task; /* that awaits the future */
  volt_future *future;
  void (*fn)(int result, void *arg);
  void *arg;
  volt_bridge *bridge;           /* that has refused it, or NULL */
  struct volt_bridge_call *next; /* of those that the bridge has refused */
} volt_bridge_call;

/* Members are private: what makes the descriptor readable (src/rt/host/alarm.h). */
typedef struct volt_alarm_ {
  struct volt_doorbell *bell; /* rung by any thread, also when the bridge is gone */
  int set;                    /* the epoll instance, which is the bridge's descriptor */
  int timer;
  uint64_t timer_ns; /* when the timer expires; VOLT_NO_DEADLINE: it is not set */
} volt_alarm_;

/* Members are private. */
struct volt_bridge {
  volt_rt *rt;
  volt_alarm_ alarm;
  volt_group waits;
  volt_future ended_future; /* of the next wait that ends */
  volt_task *ended;
  volt_bridge_call *refused; /* their callbacks are still to be called */
  void (*stop)(volt_bridge *b);
  void (*closed)(void *arg);
  void *arg;
  unsigned stage;
  unsigned depth; /* calls of volt_bridge_run() that have not returned */
  bool is_virtual;
};
VOLT_SIZE_AT_MOST_(volt_bridge, 320);

VOLT_BEGIN_DECLS

/* ---- open and close ---- */

/* Open a bridge for a loop that has no header of its own here. It waits for nothing.
 * b: the caller's memory; must not move, and is used until closed() is called. stop: called once,
 *   on the loop's thread, when the bridge has nothing more to do: the loop must not call
 *   volt_bridge_run() any more, stops watching the descriptor, and then volt_bridge_stopped() is
 *   called, within stop() or later. config: of the runtime by hand, or NULL; its waker must be
 *   zero. Its io works: tasks of the loop may use sockets (volt/io.h).
 * Returns VOLT_OK; VOLT_EINVAL (config has a waker), VOLT_ENOMEM (no memory, or no descriptor), or
 *   what volt_rt_create() returns: then nothing is left behind.
 * Threads: any. */
VOLT_API VOLT_NODISCARD int volt_bridge_open(volt_bridge *b, void (*stop)(volt_bridge *b),
                                             const volt_rt_config *config);

/* Undo volt_bridge_open(), because the loop cannot watch the descriptor. Nothing was spawned.
 * Neither stop() nor closed() is called. */
VOLT_API void volt_bridge_abandon(volt_bridge *b);

/* Begin to close: take no more tasks, cancel all, and those that wait for futures. What is left
 * happens as the loop runs: tasks come to their ends, each callback is called, wakes that are on
 * their way arrive, the runtime is destroyed, the loop stops watching the descriptor. If the
 * blocking pool still runs a call that no task awaits, the runtime's end waits for it.
 * closed: called once, on the loop's thread, not within this call, nor within a callback of this
 *   bridge: nothing refers to *b any more, and its memory, and the loop, are the caller's. NULL:
 *   none. To call this twice aborts.
 * Threads: the loop's; also in a task or in a callback of this bridge. */
VOLT_API void volt_bridge_close(volt_bridge *b, void (*closed)(void *arg), void *arg);

/* The loop does not watch the descriptor any more: the bridge closes it, and calls closed().
 * Called by what stop() has begun, once, on the loop's thread. It may free *b. */
VOLT_API void volt_bridge_stopped(volt_bridge *b);

/* ---- in the loop ---- */

/* Find what the loop watches for reading. Nothing is to be read from it: volt_bridge_run() makes it
 * unreadable again.
 * Returns the descriptor, an epoll instance, which is the bridge's and stays the same until it is
 * closed. */
VOLT_INLINE int volt_bridge_descriptor(const volt_bridge *b) {
  return b->alarm.set;
}

/* Do what is ready: run tasks, call callbacks of waits that have ended; at the end of all, call
 * stop(). A call without a cause is harmless. A callback may run the loop, which calls this again.
 * Threads: the loop's; not from a task (aborts). */
VOLT_API void volt_bridge_run(volt_bridge *b);

/* Find the runtime of the bridge, to spawn tasks (volt_spawn(): any thread), for its timers
 * (volt_rt_timers()), for descriptors (volt/io.h). The bridge runs and destroys it. A caller that
 * uses volt_rt_run_until() on it calls volt_bridge_run() afterwards. */
VOLT_INLINE volt_rt *volt_bridge_rt(const volt_bridge *b) {
  return b->rt;
}

/* ---- single futures ---- */

/* Wait for a future: call a callback once it is ready.
 * c: the caller's memory, content overwritten; must not move, and is used until the callback is
 *   called, which may free it. f: as c; it is polled on the loop's thread. fn: gets the future's
 *   result and arg. Called exactly once, on the loop's thread, within volt_bridge_run() and never
 *   within this call. No task runs then, so it may do what the loop's own callbacks may: wait
 *   again, cancel, close. The result is VOLT_ECANCELED if the wait was cancelled, or the bridge
 *   closed, before the future was ready; VOLT_ECLOSED if the bridge was closing already: then the
 *   future was not polled.
 * Threads: the loop's; before closed() was called. Order: as volt_future_poll(). */
VOLT_API void volt_bridge_then(volt_bridge *b, volt_bridge_call *c, volt_future *f,
                               void (*fn)(int result, void *arg), void *arg);

/* Ask a wait to end. Its callback is called all the same, later, with VOLT_ECANCELED, or with the
 * result if the future is ready, or has to come to its end first. May be called again.
 * c: its callback has not been called. Threads: the loop's. */
VOLT_API void volt_bridge_cancel(volt_bridge_call *c);

VOLT_END_DECLS
#endif
