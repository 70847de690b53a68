/* driver.h: what a runtime asks of the library that does its I/O. The runtime itself knows no I/O.
 *
 * A driver belongs to one runtime. Each worker has a share of it, by its index; by hand there is
 * one, of worker 0. A worker calls begin(), look(), sleep() and end() of its own share, and no other
 * thread does. A worker that sleeps does so in one of two places:
 *   on its parker   if nothing that its share waits for can happen;
 *   in sleep()      otherwise. To wake it, a thread rings its doorbell.
 *
 * A doorbell is an eventfd, one for each worker of a runtime with a driver. The driver watches it,
 * so sleep() returns when it rings; a ring that comes before the sleep ends the next one. It is
 * never closed: a thread may ring late, when the runtime is gone, and must not meet another file of
 * the same number. It is kept, and given to a later runtime, for which a late ring is a wake for no
 * reason (doorbell.c). */
#ifndef VOLT_RT_DRIVER_H
#define VOLT_RT_DRIVER_H

#include <volt/runtime.h>

typedef struct volt_driver_ volt_driver_;

/* The calls of one kind of driver. */
typedef struct volt_driver_ops_ {
  const char *name; /* "io_uring", "epoll", "simulated" */

  /* On the thread of that worker, before its first task. By hand: on the thread that creates the
   * runtime. */
  void (*begin)(volt_driver_ *driver, unsigned worker);

  /* Submit what was staged, take what has completed, and wake who waited for it; without waiting.
   * Without a system call if nothing is staged and nothing can have completed. Returns whether it
   * has completed anything. */
  bool (*look)(volt_driver_ *driver, unsigned worker);

  /* Whether that worker has to sleep in sleep(). is_keeper: it also keeps the time, and sleeps until
   * the earliest timer. NULL: never. */
  bool (*must_sleep)(volt_driver_ *driver, unsigned worker, bool is_keeper);

  /* Whether another thread has left something for that worker to do in look(). It is asked after
   * the worker has said that it is about to sleep (idle:D4). */
  bool (*has_mail)(volt_driver_ *driver, unsigned worker);

  /* As look(), and if nothing has completed: sleep until something does, until the doorbell rings,
   * or until deadline_ns. May return for no reason. */
  void (*sleep)(volt_driver_ *driver, unsigned worker, uint64_t deadline_ns);

  /* On the thread of that worker, after its last task. Nothing is under way in its share. */
  void (*end)(volt_driver_ *driver, unsigned worker);

  /* By hand: a descriptor that is readable while look() has something to do; -1: none. */
  int (*descriptor)(volt_driver_ *driver);

  /* After every end(). Frees the driver. */
  void (*destroy)(volt_driver_ *driver);
} volt_driver_ops_;

struct volt_driver_ {
  const volt_driver_ops_ *ops;
};

/* A kind of driver: what volt_rt_config.io points to. */
struct volt_io_kind {
  /* Make the driver of rt, whose worker i has doorbell[i]. config: the runtime's, complete.
   * Returns VOLT_OK, or what volt_rt_create() is to return; then nothing is left behind. */
  int (*create)(volt_driver_ **out, volt_rt *rt, const volt_rt_config *config, const int *doorbell);
};

VOLT_BEGIN_DECLS

/* The driver of rt; NULL: it has none. */
VOLT_API volt_driver_ *volt_rt_driver_(volt_rt *rt);

/* The worker of rt that this thread is; by hand 0 for the thread that runs it; -1: none. */
VOLT_API int volt_rt_worker_here_(volt_rt *rt);

/* Something was left for that worker, for which has_mail() returns true: wake it if it sleeps. */
VOLT_API void volt_rt_mail_left_(volt_rt *rt, unsigned worker);

VOLT_END_DECLS
#endif
