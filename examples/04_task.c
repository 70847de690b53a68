/* 04_task.c: a thousand clients as tasks, on as many threads as there are CPUs.
 * A task is a struct and a function that is entered again at each await: a task that waits needs no
 * stack. What lives across an await is a member of the struct.
 *
 *   cc -std=c11 04_task.c $(pkg-config --cflags --libs volt-rt)
 *
 * prints: 1000 clients, 3000 requests, 0 of them over the limit of 8 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#if __has_include("volt.h") /* volt in two files: cc 04_task.c volt.c -pthread */
#include "volt.h"
#else
#include <volt/runtime.h>
#include <volt/volt.h>
#endif

enum { CLIENTS = 1000, REQUESTS_EACH = 3, CONNECTIONS = 8 };

static volt_sem connections = VOLT_SEM_INIT(CONNECTIONS);
static atomic_int in_use, over_the_limit;

struct client {
  volt_task task; /* first: the task is this struct */
  volt_future permit;
  int requests; /* so far */
  bool is_connected;
};

static void use_connection(struct client *self) {
  self->is_connected = true;
  if (atomic_fetch_add(&in_use, 1) >= CONNECTIONS) atomic_fetch_add(&over_the_limit, 1);
}

static void leave_connection(struct client *self) {
  if (!self->is_connected) return;
  self->is_connected = false;
  atomic_fetch_sub(&in_use, 1);
  volt_sem_release(&connections, 1);
}

static int client_poll(volt_task *t, volt_ctx *ctx) {
  struct client *self = volt_container_of(t, struct client, task);
  VOLT_TASK_BEGIN(self);
  while (self->requests < REQUESTS_EACH) {
    VOLT_AWAIT(self, volt_sem_acquire_future(&self->permit, &connections, 1));
    use_connection(self);
    VOLT_YIELD(self); /* other tasks run here, and find this connection in use */
    self->requests += 1;
    leave_connection(self);
  }
  VOLT_FINALLY(self);
  leave_connection(self); /* if the task was cancelled meanwhile */
  VOLT_TASK_END(self);
}

static void must(int result, const char *what) {
  if (result == VOLT_OK) return;
  fprintf(stderr, "%s: %s\n", what, volt_strerror(result));
  exit(EXIT_FAILURE);
}

int main(void) {
  static struct client *clients[CLIENTS];
  int requests = 0;
  volt_rt *rt;
  must(volt_rt_create(&rt, NULL), "runtime");
  for (int i = 0; i < CLIENTS; i++) {
    clients[i] = VOLT_TASK_NEW(rt, struct client, client_poll); /* all zero */
    must(volt_spawn(rt, clients[i] != NULL ? &clients[i]->task : NULL), "spawn");
  }
  for (int i = 0; i < CLIENTS; i++) {
    must(volt_task_join(&clients[i]->task), "client");
    requests += clients[i]->requests;
    volt_task_detach(&clients[i]->task); /* its memory goes back to the runtime */
  }
  volt_rt_destroy(rt);
  volt_sem_destroy(&connections);
  printf("%d clients, %d requests, %d of them over the limit of %d\n", CLIENTS, requests,
         over_the_limit, CONNECTIONS);
  return EXIT_SUCCESS;
}
