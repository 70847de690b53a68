/* signals.c: signals through a signalfd. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* signalfd, pthread_sigmask */
#endif
#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <volt/process.h>

#include "../sys/sys.h"

VOLT_STATIC_ASSERT_(sizeof(volt_signal) == sizeof(struct signalfd_siginfo), "volt_signal: size");
VOLT_STATIC_ASSERT_(
    offsetof(volt_signal, number) == offsetof(struct signalfd_siginfo, ssi_signo) &&
        offsetof(volt_signal, error) == offsetof(struct signalfd_siginfo, ssi_errno) &&
        offsetof(volt_signal, code) == offsetof(struct signalfd_siginfo, ssi_code) &&
        offsetof(volt_signal, sender) == offsetof(struct signalfd_siginfo, ssi_pid) &&
        offsetof(volt_signal, user) == offsetof(struct signalfd_siginfo, ssi_uid),
    "volt_signal: members");

/* Returns whether all are signals that can be blocked. */
static bool signals_read(sigset_t *set, const int *numbers, unsigned count) {
  int saved = errno;
  bool are_valid = sigemptyset(set) == 0;
  for (unsigned i = 0; i < count && are_valid; i++) {
    are_valid = numbers[i] != SIGKILL && numbers[i] != SIGSTOP && sigaddset(set, numbers[i]) == 0;
  }
  errno = saved;
  return are_valid;
}

int volt_signals_block(const int *numbers, unsigned count) {
  sigset_t set;
  if (!signals_read(&set, numbers, count)) return VOLT_EINVAL;
  return pthread_sigmask(SIG_BLOCK, &set, NULL) == 0 ? VOLT_OK : VOLT_EINVAL;
}

static bool signals_are_blocked(const int *numbers, unsigned count) {
  sigset_t blocked;
  if (pthread_sigmask(SIG_BLOCK, NULL, &blocked) != 0) return false;
  for (unsigned i = 0; i < count; i++) {
    if (sigismember(&blocked, numbers[i]) != 1) return false;
  }
  return true;
}

int volt_signals_open(volt_signals *s, volt_rt *rt, const int *numbers, unsigned count) {
  static const volt_fd none = {.number = -1};
  sigset_t set;
  s->fd = none;
  if (!signals_read(&set, numbers, count) || !signals_are_blocked(numbers, count))
    return VOLT_EINVAL;
  int saved = errno;
  int number = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  int result = number < 0 ? VOLT_ERRNO(errno) : volt_fd_init(&s->fd, rt, number, 0);
  errno = saved;
  if (number < 0 || result == VOLT_OK) return result;
  (void)volt_sys_real_.close(number);
  s->fd = none;
  return result;
}

volt_future *volt_signal_future(volt_op *op, volt_signals *s, volt_signal *out) {
  return volt_fd_read_future(op, &s->fd, out, sizeof *out, -1);
}

void volt_signals_close(volt_signals *s) {
  volt_fd_close(&s->fd);
}
