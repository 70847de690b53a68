/* dump_signal.c: a dump whenever a signal comes.
 *
 * The handler wakes the thread "volt-sight" and does nothing else, because a dump is no thing for a
 * handler. The thread has that signal unblocked, so that it takes the signal itself where all other
 * threads block it. The memory of the dump is there from the beginning.
 *
 * A call first ends what the last call has begun, and then begins anew. It ends in this order: the
 * thread blocks the signal; the handler from before is back; the thread runs the dump no more. So
 * no signal meets a disposition that kills the process on a thread that had not asked for it.
 *
 * Races
 *   R1  Interleaving: the handler has begun; another thread ends what it belongs to; the handler
 *       wakes the duty. Prevented by: the duty is static, and to wake one that is removed does
 *       nothing.
 *   R2  Interleaving: a fork() while the duty is there, or comes, or goes. Prevented by: fork()
 *       takes both locks before. The child has the handler from before, and its copy of the memory
 *       is given back.
 *   R3  Interleaving: a call waits for the thread to unblock the signal; the thread is in a report,
 *       which calls, too, and waits for the first call. Prevented by: a call from a report
 *       aborts. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sigaction */
#endif
#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include "../../core/os/at_fork.h"
#include "../../core/os/check.h"
#include "../watch/sight_thread.h"
#include "dump.h"

static void dump_signal_run(volt_duty_ *self, uint64_t now_ns);
static void dump_signal_forget(volt_duty_ *self);

/* Of the process. All is under `lock`, but for what the handler uses. A call of
 * volt_dump_on_signal() has `calls` all the time, so there is one at a time. */
static struct {
  pthread_mutex_t calls, lock;
  pthread_cond_t changed;
  int number; /* 0: none */
  int fd;
  unsigned how;
  bool is_wanted, is_unblocked; /* on the thread */
  struct sigaction before;
  volt_dump_ *dump;
  VOLT_ATOMIC(uint32_t) has_come;
  volt_duty_ duty;
} dump_signal = {.calls = PTHREAD_MUTEX_INITIALIZER,
                 .lock = PTHREAD_MUTEX_INITIALIZER,
                 .changed = PTHREAD_COND_INITIALIZER};

static void dump_signal_handle(int number) {
  (void)number;
  volt_store_relaxed(&dump_signal.has_come, 1); /* published by the wake */
  volt_sight_wake_(&dump_signal.duty);          /* R1 */
}

/* ---- on the thread ---- */

static void dump_signal_mask(int how, int number) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, number);
  pthread_sigmask(how, &set, NULL);
}

/* Under the lock. */
static void dump_signal_obey(void) {
  if (dump_signal.is_unblocked == dump_signal.is_wanted) return;
  dump_signal.is_unblocked = dump_signal.is_wanted;
  dump_signal_mask(dump_signal.is_wanted ? SIG_UNBLOCK : SIG_BLOCK, dump_signal.number);
  pthread_cond_broadcast(&dump_signal.changed);
}

static void dump_signal_run(volt_duty_ *self, uint64_t now_ns) {
  (void)self;
  (void)now_ns;
  pthread_mutex_lock(&dump_signal.lock);
  dump_signal_obey();
  void *fd = (void *)(intptr_t)dump_signal.fd;
  unsigned how = dump_signal.how;
  pthread_mutex_unlock(&dump_signal.lock);
  /* relaxed, no data: the wake has come before */
  if (volt_exchange_relaxed(&dump_signal.has_come, 0) == 0) return;
  (void)volt_dump_in_(dump_signal.dump, NULL, how, volt_dump_to_fd, fd);
}

/* ---- begin and end: under the lock ---- */

/* Have the thread unblock the signal, or block it again, and wait until it has. */
static void dump_signal_unblock(bool is_wanted) {
  dump_signal.is_wanted = is_wanted;
  volt_sight_wake_(&dump_signal.duty);
  while (dump_signal.is_unblocked != is_wanted) {
    pthread_cond_wait(&dump_signal.changed, &dump_signal.lock);
  }
}

static void dump_signal_restore(void) {
  struct sigaction now;
  if (sigaction(dump_signal.number, NULL, &now) != 0) return;
  bool is_ours = !(now.sa_flags & SA_SIGINFO) && now.sa_handler == dump_signal_handle;
  if (is_ours) sigaction(dump_signal.number, &dump_signal.before, NULL);
}

static void dump_signal_end(void) {
  if (dump_signal.number == 0) return;
  dump_signal_unblock(false);
  dump_signal_restore();
  dump_signal.number = 0;
  pthread_mutex_unlock(&dump_signal.lock);
  volt_sight_remove_(&dump_signal.duty); /* a dump that runs comes to its end */
  pthread_mutex_lock(&dump_signal.lock);
  volt_dump_free_(dump_signal.dump);
  dump_signal.dump = NULL;
}

static int dump_signal_install(int number) {
  struct sigaction ours = {.sa_handler = dump_signal_handle, .sa_flags = SA_RESTART | SA_ONSTACK};
  sigemptyset(&ours.sa_mask);
  if (sigaction(number, &ours, &dump_signal.before) != 0) return VOLT_EINVAL;
  dump_signal.number = number;
  return VOLT_OK;
}

static int dump_signal_begin(int number) {
  volt_store_relaxed(&dump_signal.has_come, 0); /* no handler is there */
  dump_signal.dump = volt_dump_new_();
  if (!dump_signal.dump) return VOLT_ENOMEM;
  dump_signal.duty =
      (volt_duty_){.at_ns = VOLT_NO_DEADLINE, .run = dump_signal_run, .forget = dump_signal_forget};
  int result = volt_sight_add_(&dump_signal.duty);
  if (result == VOLT_OK) {
    result = dump_signal_install(number);
    if (result != VOLT_OK) volt_sight_remove_(&dump_signal.duty);
  }
  if (result == VOLT_OK) {
    dump_signal_unblock(true);
  } else {
    volt_dump_free_(dump_signal.dump);
    dump_signal.dump = NULL;
  }
  return result;
}

/* In the child, where one thread is, under the lock. R2 */
static void dump_signal_forget(volt_duty_ *self) {
  (void)self;
  if (dump_signal.number != 0) dump_signal_restore();
  if (dump_signal.dump) volt_dump_free_(dump_signal.dump);
  dump_signal.dump = NULL;
  dump_signal.number = 0;
  dump_signal.is_wanted = dump_signal.is_unblocked = false;
}

static void dump_signal_lock(void) {
  pthread_mutex_lock(&dump_signal.calls);
  pthread_mutex_lock(&dump_signal.lock);
}

static void dump_signal_unlock(void) {
  pthread_mutex_unlock(&dump_signal.lock);
  pthread_mutex_unlock(&dump_signal.calls);
}

/* R2 */
static VOLT_AT_LOAD_(VOLT_FORK_DUMP_SIGNAL_) void dump_signal_load(void) {
  volt_at_fork_(dump_signal_lock, dump_signal_unlock, dump_signal_unlock);
}

int volt_dump_on_signal(int signal_number, int fd, unsigned how) {
  VOLT_CHECK(!volt_sight_is_here_(), "volt_dump_on_signal", "called from a report");
  if (!volt_dump_is_how_(how)) return VOLT_EINVAL;
  int saved = errno;
  dump_signal_lock();
  dump_signal_end();
  int result = VOLT_OK;
  if (signal_number != 0) {
    dump_signal.fd = fd;
    dump_signal.how = how;
    result = dump_signal_begin(signal_number);
  }
  dump_signal_unlock();
  errno = saved;
  return result;
}
