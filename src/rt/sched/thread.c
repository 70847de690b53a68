/* thread.c: threads, on Linux. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pthread_setaffinity_np, pthread_setname_np, sched_getaffinity */
#endif
#include "thread.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <volt/detail/base.h>

int volt_thread_signal_(void) {
  return SIGRTMAX - 1;
}

/* Signals are for the program's own threads; all but those that a thread brings on itself, and the
 * one that asks for its stack. */
static void thread_fill_blocked(sigset_t *set) {
  static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF};
  sigfillset(set);
  for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) sigdelset(set, own[i]);
  sigdelset(set, volt_thread_signal_());
}

bool volt_thread_start_(volt_thread_ *thread, void *(*main)(void *arg), void *arg) {
  sigset_t blocked;
  sigset_t before;
  thread_fill_blocked(&blocked);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  pthread_t id;
  bool started = pthread_create(&id, NULL, main, arg) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (started) *thread = (volt_thread_)id;
  return started;
}

void volt_thread_join_(volt_thread_ thread) {
  pthread_join((pthread_t)thread, NULL);
}

volt_thread_ volt_thread_self_(void) {
  return (volt_thread_)pthread_self();
}

int32_t volt_thread_id_(void) {
  return (int32_t)syscall(SYS_gettid); /* gettid() is of glibc 2.30 */
}

void volt_thread_detach_self_(void) {
  pthread_detach(pthread_self());
}

void volt_thread_name_self_(char name[VOLT_THREAD_NAME_], const char *prefix, char kind,
                            unsigned index) {
  char suffix[VOLT_THREAD_NAME_];
  int used = snprintf(suffix, sizeof suffix, "-%c%u", kind, index);
  size_t cut = VOLT_THREAD_NAME_ - 1 - (size_t)used;
  size_t length = strnlen(prefix, cut);
  memcpy(name, prefix, length);
  memcpy(name + length, suffix, (size_t)used + 1);
  pthread_setname_np(pthread_self(), name);
}

_Static_assert(sizeof(sigset_t) <= sizeof(volt_signals_), "a set of signals has room");

void volt_thread_blocked_signals_(volt_signals_ *signals) {
  sigset_t set;
  pthread_sigmask(SIG_SETMASK, NULL, &set);
  memcpy(signals->set, &set, sizeof set);
}

void volt_thread_block_signals_(const volt_signals_ *signals) {
  sigset_t set;
  memcpy(&set, signals->set, sizeof set);
  pthread_sigmask(SIG_SETMASK, &set, NULL);
}

bool volt_thread_pin_(volt_thread_ thread, int cpu) {
  cpu_set_t set;
  if (cpu < 0 || cpu >= CPU_SETSIZE) return false;
  CPU_ZERO(&set);
  CPU_SET((size_t)cpu, &set);
  return pthread_setaffinity_np((pthread_t)thread, sizeof set, &set) == 0;
}

unsigned volt_thread_cpus_(void) {
  cpu_set_t set;
  long count = sched_getaffinity(0, sizeof set, &set) == 0
                   ? CPU_COUNT(&set)
                   : sysconf(_SC_NPROCESSORS_ONLN); /* more of them than the set holds */
  return count > 0 ? (unsigned)count : 1;
}

int volt_eventfd_open_(void) {
  int saved = errno;
  int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  errno = saved;
  return fd;
}

/* It fails if the count is full, and then the descriptor is readable, too. */
void volt_eventfd_add_(int fd) {
  int saved = errno;
  const uint64_t one = 1;
  ssize_t written = write(fd, &one, sizeof one);
  (void)written;
  errno = saved;
}

/* It fails if the count is 0. */
void volt_eventfd_clear_(int fd) {
  int saved = errno;
  uint64_t count;
  ssize_t taken = read(fd, &count, sizeof count);
  (void)taken;
  errno = saved;
}

uint64_t volt_thread_process_(void) {
  return (uint64_t)getpid();
}

/* No compiler may know what it returns: see locals.c. */
VOLT_NOINLINE volt_here_ *volt_thread_here_(void) {
  static _Thread_local volt_here_ of_thread;
  volt_here_ *here = &of_thread;
  VOLT_FORGET_AGAIN_(here);
  return here;
}
