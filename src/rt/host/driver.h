/* driver.h: what a runtime asks of the library that does its I/O. The runtime itself knows no I/O.
 *
 * A driver belongs to one runtime. Each worker has a share of it, by its index; by hand there is
 * one, of worker 0. A worker calls begin(), check(), must_sleep(), has_mail(), sleep() and end() of
 * its own share, and no other thread does; meanwhile volt_rt_worker_here_() is its index. A worker
 * that sleeps does so in one of two places:
 *   on its parker   if nothing that its share waits for can happen;
 *   in sleep()      otherwise. To wake it, a thread rings its doorbell.
 *
 * A doorbell is an eventfd, one for each worker of a runtime with a driver. The driver watches it,
 * so sleep() returns when it rings; a ring that comes before the sleep ends the next one. A ring
 * for one worker ends the sleep of that worker, also if another worker's check() sees it first. The
 * doorbell is never closed: a thread may ring late, when the runtime is gone, and must not meet
 * another file of the same number. It is kept, and given to a later runtime, for which a late ring
 * is a wake for no reason (doorbell.h).
 *
 * Between two polls of tasks a worker looks every 8 to 127 polls, or up to four times as rarely
 * while its queue is long (worker.c), and whenever it has no task: after its own queue, before it
 * searches those of others. If no other one is awake, and it is going to sleep in sleep(), it looks
 * there instead. So what tasks have staged since is submitted together. What a worker wakes in
 * check() or sleep() goes into its own queue. */
#ifndef VOLT_RT_HOST_DRIVER_H
#define VOLT_RT_HOST_DRIVER_H

#include <volt/runtime.h>

typedef struct volt_driver_ volt_driver_;

/* The calls of one kind of driver. */
typedef struct volt_driver_ops_ {
  const char *name; /* "io_uring", "epoll", "simulated" */

  /* On the thread of that worker, before its first task. By hand: on the thread that creates the
   * runtime. Not called if an earlier worker's thread could not be started. */
  void (*begin)(volt_driver_ *driver, unsigned worker);

  /* Submit what was staged, take mail and what has completed, and wake the tasks and threads that
   * waited for it; without waiting. Without a system call if nothing is staged and nothing can have
   * completed. A ring that it meets is for nothing, because the worker is awake: it takes it off
   * (by hand it must). Returns how much it has found or completed: unless 0, the worker comes back
   * before it searches or sleeps. */
  unsigned (*check)(volt_driver_ *driver, unsigned worker);

  /* Whether that worker has to sleep in sleep(). is_keeper: it also keeps the time, and sleeps
   * until the earliest timer; at most one worker does, but others ask what would be if. By hand: true. While the worker sleeps, only
   * that worker or mail may change the answer from false to true. NULL: never. If the clock is
   * virtual, it is not asked: then no worker sleeps in sleep(). */
  bool (*must_sleep)(volt_driver_ *driver, unsigned worker, bool is_keeper);

  /* Whether a worker must keep the time even if no timer is started: what the keeper alone would
   * see is waited for, as in one epoll instance for all workers. A worker that has slept, and now
   * polls tasks, then wakes another one to be the keeper, unless one watches. It may be asked on any worker. When it
   * becomes true, the driver calls volt_rt_keeper_wanted_(). NULL: never. */
  bool (*wants_keeper)(volt_driver_ *driver);

  /* Whether another thread has left something for that worker to do in check(). It is asked after
   * the worker has said that it is about to sleep (idle:D4). What volt_rt_mail_left_() was called
   * for before that is seen: loads need not be acquire. NULL: never. */
  bool (*has_mail)(volt_driver_ *driver, unsigned worker);

  /* As check(), and if nothing has completed: sleep until something does, until the doorbell rings,
   * or until deadline_ns (as volt_now_ns()). From its beginning on a ring is for this sleep: if it
   * takes one off, it must return. May return for no reason. It may wake tasks and threads, or
   * leave that to the check() that comes next. Returns how much it has found, for statistics. */
  unsigned (*sleep)(volt_driver_ *driver, unsigned worker, uint64_t deadline_ns);

  /* On the thread of that worker, after its last task; by hand on the thread that destroys the
   * runtime. Nothing is under way in its share. Called if begin() was. */
  void (*end)(volt_driver_ *driver, unsigned worker);

  /* By hand: a descriptor that is readable while check() has something to do, which is also when the
   * doorbell has rung; -1: none. */
  int (*descriptor)(volt_driver_ *driver);

  /* After every end(), on any thread: whether the program has something of it still, such as an open
   * descriptor. Then destroy() aborts. NULL: never. */
  bool (*is_used)(volt_driver_ *driver);

  /* After every end(), on any thread, and before the runtime's timers end. Frees the driver, and
   * leaves the doorbells open. */
  void (*destroy)(volt_driver_ *driver);
} volt_driver_ops_;

struct volt_driver_ {
  const volt_driver_ops_ *ops;
};

/* A kind of driver: what volt_rt_config.io points to. */
struct volt_io_kind {
  /* Make the driver of rt, whose worker i has doorbell[i], the descriptor of an eventfd; the array
   * is valid during this call. config: the runtime's, complete, and valid as long as rt. No thread
   * of rt runs yet; its timers may be used.
   * Returns VOLT_OK, or what volt_rt_create() is to return; then nothing is left behind. */
  int (*create)(volt_driver_ **out, volt_rt *rt, const volt_rt_config *config, const int *doorbell);
};

VOLT_BEGIN_DECLS

/* The driver of rt; NULL: it has none. */
VOLT_API volt_driver_ *volt_rt_driver_(volt_rt *rt);

/* The worker of rt that this thread is; by hand 0 for the thread that runs it; -1: none. */
VOLT_API int volt_rt_worker_here_(volt_rt *rt);

/* Something was left for that worker, for which has_mail() returns true: wake it if it sleeps. If
 * it is awake, it looks before it sleeps. Threads: any; rt lives until this has returned. */
VOLT_API void volt_rt_mail_left_(volt_rt *rt, unsigned worker);

/* wants_keeper() returns true from now on: wake a worker, unless there is a keeper, one watches or
 * none sleeps.
 * Threads: any; rt lives until this has returned. */
VOLT_API void volt_rt_keeper_wanted_(volt_rt *rt);

/* Whether rt is run by hand. */
VOLT_API bool volt_rt_is_by_hand_(volt_rt *rt);

/* By hand, on a thread that does not run rt: check() once, if no thread runs it meanwhile. Calls the
 * loop's waker if that has woken tasks. Returns whether check() has completed anything. */
VOLT_API bool volt_rt_check_by_hand_(volt_rt *rt);

VOLT_END_DECLS

/* ---- the runtime's side: driver.c ---- */

typedef struct volt_worker volt_worker;

/* Take doorbells, and make the driver that the config asks for, if any. Returns what the driver
 * says, or VOLT_ENOMEM: then nothing is left behind. */
int volt_rt_open_driver_(volt_rt *rt);

/* After every worker has ended: whether the program has an open descriptor, so that the driver must
 * not be closed; close it. */
bool volt_rt_driver_is_used_(volt_rt *rt);
void volt_rt_close_driver_(volt_rt *rt);

/* On the thread of that worker, before and after its tasks. */
void volt_worker_begin_driver_(volt_worker *w);
void volt_worker_end_driver_(volt_worker *w);

/* Look at the driver, which there is. now_ns: the time. Returns whether there may be tasks to poll
 * now. */
bool volt_worker_check_driver_(volt_worker *w, uint64_t now_ns);

/* The same, for a worker that has no task; unless it is going to do so in sleep(). */
bool volt_worker_check_before_search_(volt_worker *w, uint64_t now_ns);

#endif
