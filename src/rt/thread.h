/* thread.h: what the runtime asks of the operating system. */
#ifndef VOLT_RT_THREAD_H
#define VOLT_RT_THREAD_H

#include <pthread.h>
#include <stdbool.h>

typedef struct volt_thread_ {
  pthread_t id;
  void (*main)(void *arg);
  void *arg;
} volt_thread_;

/* Start main(arg) on a thread of its own. Returns whether it was started. *thread stays where it is
 * until it has been joined. Signals are blocked in it, but for those of faults. */
bool volt_thread_start_(volt_thread_ *thread, void (*main)(void *arg), void *arg);
void volt_thread_join_(volt_thread_ *thread);

/* The same for a thread that nobody joins. */
bool volt_thread_start_detached_(void *(*main)(void *arg), void *arg);

/* Let a thread run on one CPU only. Returns whether that is possible. */
bool volt_thread_pin_(volt_thread_ *thread, int cpu);

/* How many CPUs this process may use: at least 1. */
unsigned volt_thread_cpus_(void);

#endif
