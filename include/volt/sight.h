/* sight.h: see which task waits for what.
 *
 * When a program stands still, or is slow, one call says which tasks and threads wait, where in
 * the source, for which object, since when, and what holds it:
 *
 *   volt_dump(NULL, 0, volt_dump_to_fd, (void *)(intptr_t)2);
 *
 *   runtime 0x55d0c1a2e2a0 'volt': 2 workers, 16 tasks (1 run, 14 ready)
 *   worker 0: sleeps
 *   worker 1: runs 0x7f21c40030c0 parse for 12 ms (parse.c:120 parse or later), 14 tasks behind it
 *   task 0x7f21c40010c0 fetch_poll, waits for 4.2 s, poll 17
 *     fetch.c:31 fetch_poll: timeout, 812 ms left
 *       volt_sem_acquire 2 of 'pool' (semaphore 0x55d0c19a4080: 0 of 8 free, 12 wait), 3rd in line
 *
 * What is wrong for certain comes first: deadlocks that were found, tasks that nothing can wake,
 * polls that have not ended for 100 ms, a blocking pool that is full. Then comes each runtime, with
 * the largest groups of tasks that wait for the same at the same place first, and then the threads
 * that block in a call of volt.
 *
 * A dump stops nothing: other tasks run meanwhile, and it works as well when every worker hangs. It
 * takes a few tasks at a time from the scheduler, for some microseconds, looks at what they await,
 * and gives them back. It polls nothing and wakes nothing. It allocates nothing by malloc(), waits
 * for no lock for longer than 50 ms, and has one size, however many tasks there are.
 *
 * What it costs when it is not used: a task stores when it was polled last, and its function stores
 * once where its source is. volt_sight_enable() switches on what costs more: a thread that watches
 * for workers that stand still and for deadlocks, and histograms of waits (volt/counts.h). Holders
 * of objects are known in builds with VOLT_SIGHT=1: docs/sight.md. */
#ifndef VOLT_SIGHT_H
#define VOLT_SIGHT_H

#include "counts.h"
#include "name.h"
#include "runtime.h"

/* Gets a text in pieces, in order. text: length bytes, without a 0 at the end; valid during the
 * call. Returns whether to go on. It must not call volt. */
typedef bool volt_sink(void *ctx, const char *text, size_t length);

/* How to dump. 0: groups of tasks that wait at the same place for the same object, with the ten
 * that have waited longest of each. Tasks that wait for an object of their own are one group. */
enum volt_dump_how {
  VOLT_DUMP_EACH = 1,    /* every task by itself */
  VOLT_DUMP_STACKS = 2,  /* also the stack of a fiber of each group, or of each: for addr2line */
  VOLT_DUMP_NO_TASKS = 4 /* runtimes, workers and threads only */
};

/* What volt_sight_enable() switches on. */
enum volt_sight_flags {
  VOLT_SIGHT_WAITS = 1,     /* histograms of waits: volt_waits_of() */
  VOLT_SIGHT_WATCHDOG = 2,  /* a worker that computes, or blocks, for stall_ns */
  VOLT_SIGHT_LINTS = 4,     /* tasks that nothing can wake; grants that nothing polls */
  VOLT_SIGHT_DEADLOCKS = 8, /* in a build without VOLT_SIGHT=1: of joins and groups alone */
  VOLT_SIGHT_STACKS = 16,   /* with WATCHDOG: the worker's stack too; takes signal SIGRTMAX - 1 */
  VOLT_SIGHT_ABORT = 32     /* abort after the first report: for tests */
};

/* How to watch. All-zero: nothing is watched, but the thread "volt-sight" is there. */
typedef struct volt_sight_config {
  uint32_t flags;     /* of volt_sight_flags */
  uint32_t sample;    /* with WAITS: one wait of tasks in so many is timed. 0: 256 */
  uint64_t stall_ns;  /* with WATCHDOG: 0: 100 ms */
  uint64_t period_ns; /* between two looks for deadlocks and lints. 0: 400 ms */
  /* Gets each report, one at a time, on the thread "volt-sight". NULL: standard error. */
  void (*report)(void *ctx, const char *text, size_t length);
  void *ctx;
  uint64_t reserved[4]; /* 0 */
} volt_sight_config;

VOLT_BEGIN_DECLS

/* Say what tasks and threads wait for.
 * rt: of its tasks and workers; NULL: of all runtimes, and of threads that block in a call of volt.
 * how: of volt_dump_how, or 0. sink: gets the text, with ctx, while no task is held back. If every
 *   task is shown by itself, their runtime is not destroyed meanwhile: a sink that blocks keeps
 *   volt_rt_destroy() waiting.
 * Returns VOLT_OK;
 *   VOLT_ETIMEDOUT: a lock was not to be had within 50 ms, and the text says what is missing
 *   because of that;
 *   VOLT_ECANCELED: the sink returned false; VOLT_ENOMEM: there is no memory, nothing was said;
 *   VOLT_EINVAL: unknown flags, no sink, or rt is no runtime of this process.
 * Threads: any, also a worker. The caller may block where its sink does, and for memory. */
VOLT_API int volt_dump(volt_rt *rt, unsigned how, volt_sink *sink, void *ctx);

/* A sink: write to the descriptor `(void *)(intptr_t)descriptor`.
 * Returns true. Returns false: the descriptor is closed, its other end is, or it has taken nothing
 *   for five seconds.
 * Signals: a pipe without a reader raises no SIGPIPE. errno is as before.
 * Threads: any that may block. */
VOLT_API bool volt_dump_to_fd(void *fd, const char *text, size_t length);

/* Dump everything to a descriptor whenever a signal comes; also when all workers hang, and all
 * other threads. A thread of volt's, "volt-sight", takes the dump. It is there from this call on.
 * signal_number: SIGUSR1, SIGQUIT or the like: the handler is volt's from now on; it changes
 *   nothing but errno, which it puts back. 0: no signal any more, and the handler is the one from
 *   before. Another signal than at the last call takes its place.
 * fd: it stays open until a call with 0 has returned. how: of volt_dump_how.
 * Signals: the handler has SA_RESTART, so read() and the like go on. Calls that the
 *   system never restarts, such as sleep(), poll() and epoll_wait(), end early in the thread that the
 *   signal comes to: a thread that must not be disturbed blocks it (pthread_sigmask), or sleeps by
 *   volt_sleep_until().
 * Returns VOLT_OK; VOLT_EINVAL: unknown flags, or a signal that cannot have a handler; VOLT_ENOMEM;
 *   VOLT_EAGAIN: there is no thread to be had. Unless it is VOLT_OK, no signal dumps any more.
 * Threads: any that may block. Not from a report, or another call on "volt-sight" (aborts). */
VOLT_API int volt_dump_on_signal(int signal_number, int fd, unsigned how);

/* Watch from now on, as *config says. What was enabled before is switched off first, and histograms
 * begin anew.
 * config: copied. Members that are 0 are as their comments say.
 * With VOLT_SIGHT_DEADLOCKS in a build without VOLT_SIGHT=1, which does not know the holders of locks, a
 *   first report says so, and which deadlocks are looked for. VOLT_SIGHT_ABORT does not abort for it.
 * Returns VOLT_OK; VOLT_EINVAL: unknown flags, or reserved is not 0; VOLT_ENOMEM: no memory for
 *   histograms; VOLT_EAGAIN: there is no thread to be had, or, with VOLT_SIGHT_STACKS, no signal.
 *   Nothing is enabled if it fails.
 * In the child of a fork() nothing is enabled, and the thread is not there.
 * Threads: any that may block. Not from a report, or another call on "volt-sight" (aborts). */
VOLT_API int volt_sight_enable(const volt_sight_config *config);

/* Watch no more. The thread has ended when this returns, unless volt_sight_serve() or
 * volt_dump_on_signal() uses it; and no report runs any more. Does nothing if nothing is enabled.
 * Threads: any that may block. Not from a report, or another call on "volt-sight" (aborts). */
VOLT_API void volt_sight_disable(void);

/* Let volt-top look into this process, by a socket: what tasks wait for, which objects, how often
 * (docs/sight-protocol.md). Root and the user of this process alone get answers, and no request
 * changes anything. Four clients at once; one that does not read for two seconds is
 * dropped. The thread "volt-sight" answers, also when all workers hang; it is there from this call
 * on, and volt_sight_enable() is not needed.
 * Names of objects (volt/name.h) stay until volt_sight_disable() has returned, because answers have
 * them.
 * path: absolute, in a directory of this user's or root's where no other can remove a file; no
 *   other process uses it. A socket that a process has left there is replaced. NULL: PID.sock in
 *   $XDG_RUNTIME_DIR/volt, else in /run/user/UID/volt, else in /tmp/volt-UID, where volt-top looks for
 *   it; that directory is made, and no other user has access to it. Copied.
 * Returns VOLT_OK: until volt_sight_disable(), until the next call, which takes another path, or until
 *   the process ends by exit() or a return from main(). Then the socket is removed; what a process
 *   leaves that is killed, volt-top removes, and the next process that calls this with NULL. A child of
 *   this process serves nothing. Otherwise nothing is served:
 *   VOLT_EINVAL: path is not absolute; VOLT_ENOMEM: there is no thread to be had;
 *   VOLT_ERRNO(EADDRINUSE): another process serves there, or something else is in the way;
 *   VOLT_ERRNO(EACCES): the directory is open to others; VOLT_ERRNO(e): what else the system says.
 * Threads: any that may block, one at a time (aborts), as volt_sight_disable(); not from a report
 *   (aborts). errno is as before. */
VOLT_API int volt_sight_serve(const char *path);

/* Look for deadlocks now: tasks and threads that wait for locks, permits, tasks and groups, and of
 * which none can go on before another of them has. Looks twice, 100 ms apart, if the first look finds
 * a reason; so what it says is true (src/sight/graph/graph.c). A cancel, the close of a semaphore, or an
 * unlock by one that does not hold the lock may still end it.
 *   The holders of locks and permits are known in builds with VOLT_SIGHT=1. In others only tasks that join
 * each other, or wait for groups, are found; the result and the text say so. A wait with a deadline is
 * never part of a deadlock. Of a semaphore the holders count from the first time on that one of them has
 * released what it had acquired; and of any object, until one party has released what another had acquired.
 * sink: gets the text if there is a deadlock: what each waits for, by which other that is held, and what each task
 *   awaits; or, with VOLT_EAGAIN, a line that says what is not known. NULL: no text.
 * Returns VOLT_OK: there is none; VOLT_ESTALLED: there is; VOLT_ENOMEM: no memory to look;
 *   VOLT_EAGAIN: none of joins and groups, and of locks that is not known: this is not a build with
 *   VOLT_SIGHT=1.
 * Threads: any that may block; a fiber is suspended in between, on its runtime's clock. */
VOLT_API int volt_deadlocks(volt_sink *sink, void *ctx);

VOLT_END_DECLS
#endif
