/* signals.h: Ctrl-C and SIGTERM, taken by a thread.
 *
 * Nothing of volt may be called from a signal handler, so there is none: SIGINT and SIGTERM are
 * blocked in every thread, and one thread waits for them with sigwaitinfo(). It may lock, print,
 * close semaphores and cancel tasks like any other. */
#ifndef COMMON_SIGNALS_H
#define COMMON_SIGNALS_H

#include <pthread.h>
#include <signal.h>
#include <volt/semaphore.h>

struct signals {
  sigset_t watched;
  sigset_t mask_before;
  void (*stop)(void *ctx, int signal);
  void *ctx;
  int caught;     /* the thread's, until it has ended */
  volt_sem ended; /* a permit: the thread has to end */
  pthread_t thread;
};

/* Call stop(ctx, signal) at the first SIGINT or SIGTERM, on a thread of its own; end the program at
 * the second. To be called before there are other threads: they inherit the signal mask. */
void signals_watch(struct signals *signals, void (*stop)(void *ctx, int signal), void *ctx);

/* Stop watching; the signals end the program again. Returns the signal that came first, or 0. */
int signals_unwatch(struct signals *signals);

#endif
