/* thread.c: threads, on Linux. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pthread_setaffinity_np, sched_getaffinity */
#endif
#include "thread.h"

#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

/* Signals are for the program's own threads; all but those that a thread brings on itself. */
static void fill_blocked(sigset_t *set) {
  static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF};
  sigfillset(set);
  for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) sigdelset(set, own[i]);
}

static int create(pthread_t *id, const pthread_attr_t *attr, void *(*body)(void *), void *arg) {
  sigset_t blocked;
  sigset_t before;
  fill_blocked(&blocked);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  int error = pthread_create(id, attr, body, arg);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return error;
}

static void *body(void *arg) {
  volt_thread_ *thread = arg;
  thread->main(thread->arg);
  return NULL;
}

bool volt_thread_start_(volt_thread_ *thread, void (*main)(void *arg), void *arg) {
  thread->main = main;
  thread->arg = arg;
  return create(&thread->id, NULL, body, thread) == 0;
}

void volt_thread_join_(volt_thread_ *thread) {
  pthread_join(thread->id, NULL);
}

bool volt_thread_start_detached_(void *(*main)(void *arg), void *arg) {
  pthread_attr_t attr;
  if (pthread_attr_init(&attr) != 0) return false;
  pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
  pthread_t id;
  bool started = create(&id, &attr, main, arg) == 0;
  pthread_attr_destroy(&attr);
  return started;
}

bool volt_thread_pin_(volt_thread_ *thread, int cpu) {
  cpu_set_t set;
  if (cpu < 0 || cpu >= CPU_SETSIZE) return false;
  CPU_ZERO(&set);
  CPU_SET((size_t)cpu, &set);
  return pthread_setaffinity_np(thread->id, sizeof set, &set) == 0;
}

unsigned volt_thread_cpus_(void) {
  cpu_set_t set;
  long count = sched_getaffinity(0, sizeof set, &set) == 0
                   ? CPU_COUNT(&set)
                   : sysconf(_SC_NPROCESSORS_ONLN); /* more of them than the set holds */
  return count > 0 ? (unsigned)count : 1;
}
