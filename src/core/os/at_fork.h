/* at_fork.h: what fork() has to know of the library.
 *
 * The child of a fork() has one thread. A lock of the process that another thread held stays locked
 * there for ever, and what it protects may be half changed. So each file that has such a lock, or a
 * table of threads, has handlers. Either fork() takes the lock before, and both processes unlock it; or
 * the child forgets what is there, and makes the lock anew.
 *
 * Race
 *   R1  Interleaving: a thread has taken the lock in the first call that needs it, and fork() does not
 *       know of the lock yet; another thread forks. Prevented by: handlers are made known as the
 *       library is loaded, by a constructor (VOLT_AT_LOAD_), and nowhere else: not in the first
 *       call, and not under the lock. */
#ifndef VOLT_CORE_OS_AT_FORK_H
#define VOLT_CORE_OS_AT_FORK_H

#include <pthread.h>

#include "check.h"

/* The places of the handlers, which are those of the constructors. fork() takes the locks of later
 * places first, as does a thread that needs two of them. In the child, handlers of earlier places are
 * called first. */
enum {
  VOLT_FORK_SYNC_ = 60000,
  VOLT_FORK_STACK_REPORT_,
  VOLT_FORK_RUNTIMES_, /* the thread "volt-sight" takes that lock */
  VOLT_FORK_SIGHT_,
  VOLT_FORK_DUMP_SIGNAL_, /* whose locks are held in calls that wait for "volt-sight" */
  VOLT_FORK_SIMULATED_,
  VOLT_FORK_ZOOKEEPER_
};

/* From now on, at each fork() of this process: call before() before it, and after it parent() in this
 * process and child() in the new one. Inline, so that the C library knows of which library they are,
 * and forgets them when that is unloaded. */
static inline void volt_at_fork_(void (*before)(void), void (*parent)(void), void (*child)(void)) {
  int error = pthread_atfork(before, parent, child);
  VOLT_CHECK(error == 0, "volt", "no memory for a handler of fork() (errno %d)", error);
}

#endif
