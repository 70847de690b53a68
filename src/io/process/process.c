/* process.c: child processes, by pidfd.
 *
 * Algorithm: a wait awaits that the pidfd is readable, and then takes the status from the system,
 * which gives it once, under the lock. From then on the status stands, and each wait returns it.
 *
 * Invariant, under the lock
 *   I1  while result is VOLT_PENDING, the process or its zombie exists, and its number is its own;
 *       unless other code of this process has waited for it (SIGCHLD ignored, wait())
 *
 * Races
 *   R1  Interleaving: two threads see that the child has ended; one takes the status, which the
 *       system gives once, and the other one is refused. Prevented by: they ask under the lock.
 *   R2  Interleaving: a thread sends a signal to the group of a child that another thread has just
 *       waited for; the number is another's by now. Prevented by: the signal goes to the pidfd.
 *       Where the system cannot do that, it is asked first whether the child is there. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* waitid, syscall */
#endif
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <volt/process.h>

#include "../../core/park/blocker.h"
#include "../../core/park/spin.h"
#include "../../rt/sched/short_lock.h"
#include "spawn.h"

static const uint64_t process_nap_ns = 1000000;

/* ---- the end ---- */

/* As waitpid() gives it. */
static int process_status_in(const siginfo_t *info) {
  if (info->si_code == CLD_EXITED) return (info->si_status & 0xff) << 8;
  return info->si_status | (info->si_code == CLD_DUMPED ? 0x80 : 0);
}

/* Ask the system whether it has ended. The lock is held, or no other thread uses *p. */
static void process_ask(volt_process *p) {
  int saved = errno;
  siginfo_t info = {.si_pid = 0};
  int answer = waitid((idtype_t)VOLT_BY_PIDFD_, (id_t)p->fd.number, &info, WEXITED | WNOHANG);
  if (answer != 0) {
    p->result = VOLT_ERRNO(errno);
  } else if (info.si_pid != 0) {
    p->status = process_status_in(&info);
    p->result = VOLT_OK;
  }
  errno = saved;
}

/* Returns VOLT_PENDING, or the result of every wait. R1 */
static int process_result(volt_process *p) {
  volt_short_lock_lock_(&p->lock);
  if (p->result == VOLT_PENDING) process_ask(p);
  int result = p->result;
  volt_short_lock_unlock_(&p->lock);
  return result;
}

int volt_process_status(volt_process *p) {
  volt_short_lock_lock_(&p->lock);
  int status = p->result == VOLT_OK ? (int)p->status : -1;
  volt_short_lock_unlock_(&p->lock);
  return status;
}

/* ---- signals to it ---- */

/* Returns 0, or -1 and errno. */
static int process_signal(int pidfd, int number, unsigned flags) {
  return (int)syscall(SYS_pidfd_send_signal, pidfd, number, NULL, flags);
}

/* Whether the child or its zombie is there, so that its number is its own: I1 is broken by other
 * code of this process that waits for every child. */
static bool process_is_there(const volt_process *p) {
  siginfo_t info;
  int how = WEXITED | WNOHANG | WNOWAIT;
  return waitid((idtype_t)VOLT_BY_PIDFD_, (id_t)p->fd.number, &info, how) == 0;
}

/* The lock is held, or no other thread uses *p. R2. Returns 0, or -1 and errno. */
static int process_send(volt_process *p, int number) {
  enum { TO_GROUP = 4 }; /* PIDFD_SIGNAL_PROCESS_GROUP, since Linux 6.9 */
  bool to_group = (p->flags & VOLT_PROCESS_GROUP) != 0;
  if (process_signal(p->fd.number, number, to_group ? TO_GROUP : 0) == 0) return 0;
  /* ENOSYS: under valgrind. EPERM: a filter of system calls; if not, kill() says so as well */
  bool may_work = errno == ENOSYS || errno == EPERM || (to_group && errno == EINVAL);
  if (!may_work) return -1;
  if (process_is_there(p)) return kill(to_group ? -p->number : p->number, number);
  errno = ESRCH;
  return -1;
}

int volt_process_kill(volt_process *p, int number) {
  int saved = errno;
  int result = VOLT_ERRNO(ESRCH);
  volt_short_lock_lock_(&p->lock);
  if (p->result == VOLT_PENDING) /* R2 */
    result = process_send(p, number) == 0 ? VOLT_OK : VOLT_ERRNO(errno);
  volt_short_lock_unlock_(&p->lock);
  errno = saved;
  return result;
}

/* ---- start and close ---- */

int volt_process_start(volt_process *p, volt_rt *rt, const volt_process_config *config) {
  static const volt_process none = {.fd = {.number = -1}, .result = VOLT_OK};
  *p = none;
  volt_child_ child;
  int result = volt_spawn_child_(&child, rt, config);
  if (result != VOLT_OK) return result;
  int saved = errno;
  p->number = child.number;
  p->flags = config->flags;
  result = volt_fd_init(&p->fd, rt, child.pidfd, 0);
  if (result == VOLT_OK) {
    p->result = VOLT_PENDING;
  } else { /* it must not go on */
    p->fd.number = child.pidfd;
    (void)process_send(p, SIGKILL);
    volt_spawn_reap_(child.pidfd);
    volt_spawn_undo_(config);
    *p = none;
  }
  errno = saved;
  return result;
}

pid_t volt_process_number(const volt_process *p) {
  return p->number;
}

/* A fiber of the runtime of *p is suspended until the process has ended. */
static void process_suspend(volt_process *p) {
  volt_process_wait w;
  volt_blocker_ *fiber = volt_shield_();
  int result = volt_future_wait(volt_process_wait_future(&w, p));
  (void)result; /* the caller looks at the process */
  volt_unshield_(fiber);
}

/* No other thread uses *p. Returns when the status was taken. */
static void process_await_end(volt_process *p) {
  if (volt_fiber_blocker_() && volt_rt_current() == p->fd.rt) process_suspend(p);
  struct pollfd end = {.fd = p->fd.number, .events = POLLIN};
  while (process_result(p) == VOLT_PENDING) {
    (void)poll(&end, 1, -1);
    if (process_result(p) == VOLT_PENDING) (void)poll(NULL, 0, 1); /* as process_nap() */
  }
}

void volt_process_close(volt_process *p) {
  if (p->number != 0 && process_result(p) == VOLT_PENDING) {
    int saved = errno;
    (void)process_send(p, SIGKILL); /* it may have ended by now */
    volt_check_may_block_("volt_process_close");
    process_await_end(p);
    errno = saved;
  }
  volt_fd_close(&p->fd);
}

/* ---- wait ---- */

static volt_future *process_ready(volt_process_wait *w) {
  return volt_fd_ready_future(&w->op, &w->process->fd, POLLIN);
}

static volt_future *process_deadline(volt_process_wait *w, volt_future *inner, uint64_t ns) {
  volt_rt *rt = w->process->fd.rt;
  uint64_t now_ns = volt_rt_now_ns(rt);
  uint64_t deadline_ns = ns < VOLT_NO_DEADLINE - now_ns ? now_ns + ns : VOLT_NO_DEADLINE;
  return volt_timeout_future(&w->timeout, inner, volt_rt_timers(rt), deadline_ns);
}

/* The pidfd is readable, and the status is not there: a debugger has it, and gives it back soon. */
static volt_future *process_nap(volt_process_wait *w) {
  volt_rt *rt = w->process->fd.rt;
  return volt_sleep_future(&w->timeout.sleep, volt_rt_timers(rt),
                           volt_rt_now_ns(rt) + process_nap_ns);
}

static int process_wait_run(volt_async *a, volt_ctx *ctx) {
  volt_process_wait *w = volt_container_of(a, volt_process_wait, async);
  VOLT_ASYNC_BEGIN(w);
  if (w->is_end && w->grace_ns > 0 && volt_process_kill(w->process, SIGTERM) == VOLT_OK) {
    VOLT_AWAIT_RESULT(w, w->result, process_deadline(w, process_ready(w), w->grace_ns));
    if (w->result != VOLT_OK && w->result != VOLT_ETIMEDOUT) VOLT_RETURN(w, w->result);
  }
  if (w->is_end) (void)volt_process_kill(w->process, SIGKILL); /* nothing if it was waited for */
  while ((w->result = process_result(w->process)) == VOLT_PENDING) {
    VOLT_AWAIT(w, process_ready(w));
    if ((w->result = process_result(w->process)) != VOLT_PENDING) break;
    VOLT_AWAIT(w, process_nap(w));
  }
  VOLT_RETURN(w, w->result);
  VOLT_ASYNC_END(w);
}

volt_future *volt_process_wait_future(volt_process_wait *w, volt_process *p) {
  w->process = p;
  w->is_end = false;
  return volt_async_future(&w->async, process_wait_run);
}

volt_future *volt_process_end_future(volt_process_wait *w, volt_process *p, uint64_t grace_ns) {
  w->process = p;
  w->is_end = true;
  w->grace_ns = grace_ns;
  return volt_async_future(&w->async, process_wait_run);
}
