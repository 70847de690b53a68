/* fiber.h: a function on a stack of its own as a task: straight code that waits without a thread.
 *
 *   static int fetch(void *arg) {
 *     struct page *page = arg;                    locals live across every wait
 *     int result = volt_sem_acquire_until(&pool, 1, volt_deadline_ms(50));
 *     if (result != VOLT_OK) return result;
 *     volt_op op;
 *     result = volt_future_wait(volt_fd_recv_future(&op, &page->socket, page->text, sizeof
 *     page->text, 0));
 *     volt_sem_release(&pool, 1);
 *     return result;
 *   }
 *
 *   int result = volt_fiber_spawn(rt, fetch, page);
 *
 * A fiber is a task (volt/task.h): it is spawned, joined, cancelled, and put into groups as any
 * other, and waits in the same queues as tasks, threads and event loops do. What differs is how it
 * is written. Every call of volt that waits for a task, an object or a time suspends a fiber instead
 * of blocking its thread: the worker goes on with other tasks, and resumes the fiber when the call is
 * over. So the same function runs on a thread and in a fiber.
 *
 * Cancel: a fiber that is cancelled gets VOLT_ECANCELED from one call: the one in which it is
 * suspended, or the next that has to wait. A call that need not wait does not look; but one in 128
 * of them lets others run first, and looks, as volt_fiber_yield() does. No stack is unwound by
 * force: the fiber returns in its own time. volt_fiber_shield() keeps a cancel away from a part of
 * it that cleans up.
 *
 * Deadlines in a fiber are on the clock of its runtime: volt_deadline_ns() asks that.
 *
 * Where it runs: any worker may begin a fiber. From then on it stays on that worker, its home,
 * because C and C++ compilers, errno, locale, malloc() and many libraries rely on the thread
 * staying the same. VOLT_FIBER_MOVES is for code that does not.
 *
 * What the system blocks (a read() from a file, a pthread mutex, getaddrinfo()) blocks the worker
 * with all its tasks: volt_fiber_offload() has such calls made on the blocking pool. A
 * pthread_mutex_t must not be held across a wait.
 *
 * A stack is 256 KiB of addresses by default (1 MiB in debug builds), taken when the fiber begins
 * and given back when it ends; what it has not touched takes no memory. Below each stack is a guard,
 * a sixteenth of it and at most 64 KiB, that cannot be accessed, so an overflow ends the process
 * (VOLT_RT_STACK_REPORT says of which fiber). */
#ifndef VOLT_FIBER_H
#define VOLT_FIBER_H

#include "runtime.h"

/* What a fiber runs. Returns its result, other than VOLT_PENDING: negative if it has failed. */
typedef int volt_fiber_fn(void *arg);

enum volt_fiber_flags {
  /* Any worker may resume it, so it may be on another thread after each wait. What is its own on
   * every thread: its locals, errno, the state of C++ exceptions. Not: other thread-local
   * variables, the locale, the error queue of OpenSSL. Its code must not keep an address that is
   * its thread's over a wait: compilers do so for thread-local variables, errno and pthread_self()
   * (docs/fiber.md). */
  VOLT_FIBER_MOVES = 1
};

/* All-zero: the defaults. */
typedef struct volt_fiber_config {
  size_t stack_bytes; /* 16 KiB to 64 MiB, rounded up to a power of two; 0: the runtime's */
  unsigned flags;     /* of volt_fiber_flags */
  const char *name;   /* in messages; not copied, so it lasts as long as the fiber. NULL: none */
  /* Called with arg on a worker, and fn is not, if there is no stack as the fiber begins; so that
   * arg can be given back. It must not wait. NULL: nothing is called */
  void (*unrun)(void *arg);
  uint64_t reserved[2]; /* zero */
} volt_fiber_config;

/* One value of each fiber, as thread-specific values are of a thread. Members are private. */
typedef struct volt_fiber_key {
  uint32_t index; /* 1 ...; 0: none */
} volt_fiber_key;

VOLT_BEGIN_DECLS

/* ---- make and spawn ---- */

/* Allocate a fiber of this runtime: a task, which then is spawned (volt_spawn(),
 * volt_group_spawn()). Its stack is taken when it begins: if there is none then, its result is
 * VOLT_ENOMEM, and fn is not called.
 * config: NULL for the defaults; copied. arg: the caller's, given to fn.
 * Returns the task; NULL: no memory, or config is wrong, or fibers do not work here
 *   (volt_fiber_supported()). The caller gives it back by volt_task_detach(), spawned or not.
 * Threads: any. */
VOLT_API VOLT_NODISCARD volt_task *volt_fiber_new(volt_rt *rt, volt_fiber_fn *fn, void *arg,
                                                  const volt_fiber_config *config);

/* Make a fiber with the defaults, spawn it, and detach it: nothing joins it.
 * Returns VOLT_OK; VOLT_ENOMEM; VOLT_ECLOSED: the runtime is shutting down. On failure fn is not
 *   called.
 * Threads: any. Order: as volt_spawn(). */
VOLT_API VOLT_NODISCARD int volt_fiber_spawn(volt_rt *rt, volt_fiber_fn *fn, void *arg);

/* Why fibers do not work here, in a sentence; NULL: they do. Threads: any. */
VOLT_API const char *volt_fiber_supported(void);

/* ---- wait ---- */

/* Wait so long, or until a time: a fiber is suspended, a thread blocks.
 * for_ns: how long from now. deadline_ns: in a fiber on the clock of its runtime, else as
 *   volt_now_ns().
 * Returns VOLT_OK; in a fiber that is cancelled VOLT_ECANCELED: the time has not come.
 * Threads: a fiber, or a thread that may block. */
VOLT_API int volt_sleep_until(uint64_t deadline_ns);
VOLT_INLINE int volt_sleep(uint64_t for_ns) {
  return volt_sleep_until(volt_deadline_ns(for_ns));
}

/* Let others run: the other tasks of this worker; of a thread that runs no tasks, other threads.
 * Returns VOLT_OK; in a fiber that is cancelled VOLT_ECANCELED.
 * Threads: any; in a task that is no fiber it does nothing. */
VOLT_API int volt_fiber_yield(void);

/* Call fn(arg) on a thread of the blocking pool and wait for it. Elsewhere than in a fiber it is
 * called at once, on this thread. In both cases fn finds the caller's errno, and the caller that of
 * fn.
 * Returns fn's result; VOLT_ENOMEM, VOLT_ECLOSED, VOLT_ECANCELED: as volt_blocking_future(), and fn
 *   was not called.
 * Threads: any that may block. Order: fn sees what the caller did, and the other way round. */
VOLT_API int volt_fiber_offload(int (*fn)(void *arg), void *arg);

/* ---- cancel ---- */

/* From here on, until as many volt_fiber_unshield(), no call of this fiber is cancelled: a cancel
 * meets the first call that has to wait after that. Elsewhere than in a fiber both do nothing.
 * Threads: the fiber. An unshield without a shield aborts. */
VOLT_API void volt_fiber_shield(void);
VOLT_API void volt_fiber_unshield(void);

/* ---- what runs here ---- */

/* The fiber that runs on this thread; NULL: none. Threads: any. */
VOLT_API volt_task *volt_fiber_self(void);

/* The name that the fiber's config has; NULL: none.
 * t: a fiber, not detached (aborts if it is another task). Threads: any. */
VOLT_API const char *volt_fiber_name(volt_task *t);

/* Move this fiber to another worker, where it stays from now on, also with VOLT_FIBER_MOVES. Between
 * two waits of its own choosing the fiber has nothing that depends on its thread, so it may move.
 * worker: 0..workers-1.
 * Returns VOLT_OK: this is that worker; VOLT_EINVAL: there is no such worker, or this is no fiber;
 *   VOLT_ECANCELED: it is cancelled, and did not move.
 * Threads: the fiber. */
VOLT_API int volt_fiber_rehome(uint32_t worker);

/* ---- stacks ---- */

/* How much of its stack a fiber has used so far, in bytes: exact in debug builds, else in pages, and
 * those count, too, that fibers before it have used on the same stack; 0: it has no stack, because
 * it has not begun or has ended.
 * t: a fiber, not detached (aborts if it is another task).
 * Threads: the fiber; or one that knows that the fiber stays suspended meanwhile. */
VOLT_API size_t volt_fiber_stack_used(volt_task *t);

/* ---- values of each fiber ---- */

/* Make a key, under which each fiber has a value of its own: NULL at first.
 * destroy: called with each value that is not NULL as its fiber ends, on its stack; or NULL.
 * Returns VOLT_OK; VOLT_ENOMEM: there are 1,024 keys already.
 * Threads: any. Keys are never given back. */
VOLT_API VOLT_NODISCARD int volt_fiber_key_new(volt_fiber_key *key, void (*destroy)(void *value));

/* Set the value of this fiber.
 * key: of volt_fiber_key_new(); aborts if no call has returned it.
 * Returns VOLT_OK; VOLT_ENOMEM; VOLT_EINVAL: this is no fiber, or key is all-zero. Threads: the
 *   fiber. */
VOLT_API VOLT_NODISCARD int volt_fiber_local_set(volt_fiber_key key, void *value);

/* The value of this fiber; NULL: none was set, or this is no fiber. Threads: any. */
VOLT_API void *volt_fiber_local(volt_fiber_key key);

VOLT_END_DECLS
#endif
