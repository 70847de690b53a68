/* waiters.h: a plain thread, and a task, that wait for one permit. */
#ifndef ONEQUEUE_WAITERS_H
#define ONEQUEUE_WAITERS_H

#include <pthread.h>
#include <volt/runtime.h>
#include <volt/volt.h>

#include "served.h"

struct waiting_thread {
  volt_sem *permits;
  struct served *served;
  unsigned arrival;
  pthread_t thread;
};

/* Start a thread that acquires a permit, blocking, and tells served. */
void waiting_thread_start(struct waiting_thread *w, volt_sem *permits, struct served *served,
                          unsigned arrival);

/* Returns when it has ended. */
void waiting_thread_join(struct waiting_thread *w);

struct waiting_task {
  volt_task task;
  volt_future permit;
  volt_sem *permits;
  struct served *served;
  unsigned arrival;
};

/* Spawn a task that awaits a permit and tells served. */
struct waiting_task *waiting_task_start(volt_rt *rt, volt_sem *permits, struct served *served,
                                        unsigned arrival);

/* Returns when it has ended, and frees it. */
void waiting_task_join(struct waiting_task *w);

/* End the program if result is not VOLT_OK. what: that failed. */
void must(int result, const char *what);

#endif
