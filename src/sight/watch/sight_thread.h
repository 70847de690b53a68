/* sight_thread.h: the thread "volt-sight", which looks after what no task and no worker can: it
 * watches workers that stand still, looks for deadlocks, dumps on a signal, and serves volt-top.
 * There is one in a process while there is something for it to do, and none otherwise.
 *
 * What it does is in duties, which it runs when their time has come or when a thread wakes them, and
 * in descriptors, which it polls. All of them run on this thread, one at a time, and none holds a
 * lock of this file: so each may add and remove others and itself. None may wait for long, because
 * the others wait meanwhile; a worker never waits for any of them. */
#ifndef VOLT_SIGHT_WATCH_SIGHT_THREAD_H
#define VOLT_SIGHT_WATCH_SIGHT_THREAD_H

#include <volt/detail/atomic.h>
#include <volt/sight.h>

/* Something to do at a time. Zero all but the first three members at first. */
typedef struct volt_duty_ {
  /* When to run it next, as volt_now_ns(); VOLT_NO_DEADLINE: when it is woken. It is set before the
   * duty is added, and by run() after that: the thread sets VOLT_NO_DEADLINE before it calls run(). */
  uint64_t at_ns;
  void (*run)(struct volt_duty_ *self, uint64_t now_ns);
  /* In the child of a fork(), where the thread is not: it was there, and is removed. Or NULL. */
  void (*forget)(struct volt_duty_ *self);
  struct volt_duty_ *next;        /* private */
  VOLT_ATOMIC(uint32_t) is_woken; /* private */
} volt_duty_;

/* A descriptor. */
typedef struct volt_sight_fd_ {
  int fd;
  short events; /* as in a pollfd; 0: errors only. ready() may change it, and no other thread */
  void (*ready)(struct volt_sight_fd_ *self, short revents);
  void (*forget)(struct volt_sight_fd_ *self); /* as that of a duty */
} volt_sight_fd_;

enum { VOLT_SIGHT_FDS_ = 8 }; /* at most so many */

/* Give the thread something to do, and start it if it is not there.
 * d, f: the caller's, until it is removed.
 * Returns VOLT_OK; VOLT_EAGAIN: there is no thread or no descriptor to be had, or there are
 *   VOLT_SIGHT_FDS_ of them. */
VOLT_NODISCARD int volt_sight_add_(volt_duty_ *d);
VOLT_NODISCARD int volt_sight_add_fd_(volt_sight_fd_ *f);

/* Take it away; it need not be there. When this returns, the thread does not run it and will not,
 * unless the caller is the thread itself. If there is nothing left to do, the thread ends; it has
 * ended when this returns, but if the caller is the thread itself. A duty that is removed may be
 * woken, for nothing. */
void volt_sight_remove_(volt_duty_ *d);
void volt_sight_remove_fd_(volt_sight_fd_ *f);

/* When a duty is due that runs so long after now_ns; VOLT_NO_DEADLINE: later than that is never. */
static inline uint64_t volt_sight_after_(uint64_t now_ns, uint64_t pause_ns) {
  return pause_ns < VOLT_NO_DEADLINE - now_ns ? now_ns + pause_ns : VOLT_NO_DEADLINE;
}

/* Have d run soon, whatever its time is. It runs at least once after this, if it is added. May be
 * called in a signal handler. errno is left alone. */
void volt_sight_wake_(volt_duty_ *d);

/* Whether the caller runs on the thread. */
bool volt_sight_is_here_(void);

/* ---- what volt_sight_enable() has said ---- */

/* A part that its flags switch on. sight_enable.c has the table of them. */
typedef struct volt_sight_part_ {
  uint32_t flags; /* any of these: it is started */
  /* config: a copy that lives until stop(); no member but flags, report and ctx is 0.
   * Returns VOLT_OK, or why it was not started. */
  int (*start)(const volt_sight_config *config);
  void (*stop)(void); /* what start() has added is removed */
  /* In the child of a fork(), where the thread is not; another thread may have been in start(), stop(),
   * or a duty. Duties are removed already. Or NULL. */
  void (*forget)(void);
} volt_sight_part_;

/* Give a report to where volt_sight_enable() has said, or to standard error; then abort if it has
 * said so. On the thread only. text: whole lines, with the last newline. */
void volt_sight_report_(const char *text, size_t length);

/* The same of what is nothing wrong: it never aborts. */
void volt_sight_notice_(const char *text, size_t length);

#endif
