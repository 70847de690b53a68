/* waiters.c: a plain thread, and a task, that wait for one permit; the order in which permits came.
 * */
#include "onequeue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the order ---- */

void served_init(struct served *served) {
  *served = (struct served){.count = 0};
  volt_sem_init(&served->unseen, 0);
}

void served_add(struct served *served, unsigned arrival) {
  served->order[served->count++] = arrival;
  volt_sem_release(&served->unseen, 1);
}

unsigned served_next(struct served *served) {
  if (volt_sem_acquire(&served->unseen, 1) != VOLT_OK) abort();
  return served->order[served->count - 1];
}

void served_destroy(struct served *served) {
  volt_sem_destroy(&served->unseen);
}

/* ---- a thread, a task ---- */

void must(int result, const char *what) {
  if (result == VOLT_OK) return;
  fprintf(stderr, "onequeue: %s: %s\n", what, volt_strerror(result));
  _Exit(EXIT_FAILURE); /* not exit(): others are still at work */
}

static void *run_thread(void *ctx) {
  struct waiting_thread *w = ctx;
  must(volt_sem_acquire(w->permits, 1), "a thread");
  served_add(w->served, w->arrival);
  return NULL;
}

void waiting_thread_start(struct waiting_thread *w, volt_sem *permits, struct served *served,
                          unsigned arrival) {
  *w = (struct waiting_thread){.permits = permits, .served = served, .arrival = arrival};
  int error = pthread_create(&w->thread, NULL, run_thread, w);
  if (error == 0) return;
  fprintf(stderr, "onequeue: a thread: %s\n", strerror(error));
  _Exit(EXIT_FAILURE);
}

void waiting_thread_join(struct waiting_thread *w) {
  pthread_join(w->thread, NULL);
}

static int run_task(volt_task *t, volt_ctx *ctx) {
  struct waiting_task *self = volt_container_of(t, struct waiting_task, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->permit, self->permits, 1));
  served_add(self->served, self->arrival);
  VOLT_TASK_END(self);
}

struct waiting_task *waiting_task_start(volt_rt *rt, volt_sem *permits, struct served *served,
                                        unsigned arrival) {
  struct waiting_task *w = VOLT_TASK_NEW(rt, struct waiting_task, run_task);
  if (w != NULL) {
    w->permits = permits;
    w->served = served;
    w->arrival = arrival;
  }
  must(volt_spawn(rt, w != NULL ? &w->task : NULL), "a task");
  return w;
}

void waiting_task_join(struct waiting_task *w) {
  must(volt_task_join(&w->task), "a task");
  volt_task_detach(&w->task);
}
