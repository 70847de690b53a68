/* thread.h: what the runtime asks of the operating system. */
#ifndef VOLT_RT_SCHED_THREAD_H
#define VOLT_RT_SCHED_THREAD_H

#include <stdbool.h>
#include <stdint.h>

typedef uintptr_t volt_thread_; /* a pthread_t */

/* Start main(arg) on a thread, which must be joined, once. Signals are blocked in it, but for those
 * of faults and volt_thread_signal_(). Returns whether it was started. */
bool volt_thread_start_(volt_thread_ *thread, void *(*main)(void *arg), void *arg);

/* The signal that no such thread blocks, so that it can be asked for its stack
 * (sight/watch/watchdog_stack.c). */
int volt_thread_signal_(void);

/* Wait until a thread has ended: nothing of it runs any more, its destructors of thread-specific
 * values included. */
void volt_thread_join_(volt_thread_ thread);

volt_thread_ volt_thread_self_(void);

/* Its number in /proc/self/task; 0: not known. Takes a system call. */
int32_t volt_thread_id_(void);

/* No thread will join this one. */
void volt_thread_detach_self_(void);

/* Name this thread "<prefix>-<kind><index>". The system keeps 15 bytes, so a long prefix is cut.
 * name: gets the same name. */
#define VOLT_THREAD_NAME_ 16
void volt_thread_name_self_(char name[VOLT_THREAD_NAME_], const char *prefix, char kind,
                            unsigned index);

/* A sigset_t, which strict C11 does not know. */
typedef struct volt_signals_ {
  uint64_t set[16];
} volt_signals_;

/* Read the set of signals that this thread blocks; block that set from now on, and no other
 * signal. */
void volt_thread_blocked_signals_(volt_signals_ *signals);
void volt_thread_block_signals_(const volt_signals_ *signals);

/* Let a thread run on one CPU only. Returns whether that is possible. */
bool volt_thread_pin_(volt_thread_ thread, int cpu);

/* How many CPUs this process may use: at least 1. */
unsigned volt_thread_cpus_(void);

/* An eventfd: a count, 0 at first, behind a descriptor that is readable while it is not 0. A child
 * of this process shares it; a program that the process becomes does not have it.
 * Returns -1: there is none to be had. errno is left alone by all three. */
int volt_eventfd_open_(void);
void volt_eventfd_add_(int eventfd);   /* 1 to the count */
void volt_eventfd_clear_(int eventfd); /* the count */

/* The number of this process, which is not that of its parent. */
uint64_t volt_thread_process_(void);

/* What this thread does for a runtime. */
typedef struct volt_here_ {
  struct volt_rt *rt; /* it runs the tasks of this one, as this worker; NULL: of none */
  struct volt_worker *worker;
  struct volt_rt *served; /* it is of the blocking pool of this one; NULL: of none */
  struct volt_rt *frames; /* coroutines that it calls are for this one; NULL: for any */
} volt_here_;

/* This thread's own, all NULL at first. */
volt_here_ *volt_thread_here_(void);

#endif
