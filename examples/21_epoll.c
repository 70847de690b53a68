/* 21_epoll.c: a server around epoll_wait() answers pings, and waits for a database connection.
 * The same as 07_event_loop.c, by a bridge: the wait has a callback and a deadline, and a task runs
 * in the loop, too. volt is one descriptor among the server's own.
 *
 *   cc -std=c11 21_epoll.c $(pkg-config --cflags --libs volt-rt)
 *
 * prints: 3 pings answered while waiting; a wait of 1 ms: timed out; then the connection: VOLT_OK */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include <volt/epoll.h>
#include <volt/volt.h>

enum { PINGS = 3 };

static volt_sem connections = VOLT_SEM_INIT(0); /* the client below has the only one */
static volt_epoll bridge;
static bool is_over;
static int impatient = VOLT_PENDING, patient = VOLT_PENDING;

static void must(bool succeeded, const char *what) {
  if (succeeded) return;
  perror(what);
  exit(EXIT_FAILURE);
}

/* Sends pings to the loop, waits for each answer, and then gives its connection back. */
static void *client(void *arg) {
  int fd = *(int *)arg;
  for (char i = 0; i < PINGS; i++) {
    char answer;
    must(write(fd, &i, 1) == 1 && read(fd, &answer, 1) == 1, "ping");
  }
  volt_sem_release(&connections, 1);
  return NULL;
}

static void on_closed(void *arg) {
  *(bool *)arg = true;
}

static void on_connection(int result, void *arg) {
  (void)arg;
  patient = result;
  volt_bridge_close(&bridge.bridge, on_closed, &is_over);
}

/* Waits for 1 ms, and then leaves it to the callback above, and to the client. */
struct query {
  volt_task task;
  volt_future permit;
  volt_timeout timeout;
  pthread_t *thread;
  int *fd;
};

static int query_poll(volt_task *t, volt_ctx *ctx) {
  struct query *self = volt_container_of(t, struct query, task);
  volt_timers *timers = volt_rt_timers(volt_bridge_rt(&bridge.bridge));
  VOLT_TASK_BEGIN(self);
  volt_future_made(volt_sem_acquire_future(&self->permit, &connections, 1));
  VOLT_AWAIT_RESULT(
      self, impatient,
      volt_timeout_future(&self->timeout, &self->permit, timers, volt_deadline_ns(1000000)));
  must((errno = pthread_create(self->thread, NULL, client, self->fd)) == 0, "pthread_create");
  VOLT_TASK_END(self);
}

int main(void) {
  int sockets[2], pings = 0, epoll = epoll_create1(0);
  must(epoll >= 0, "epoll_create1");
  must(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0, "socketpair");
  struct epoll_event ping = {.events = EPOLLIN, .data.ptr = NULL};
  must(epoll_ctl(epoll, EPOLL_CTL_ADD, sockets[0], &ping) == 0, "epoll_ctl");
  must(volt_epoll_open(&bridge, epoll, (epoll_data_t){.ptr = &bridge}, NULL) == VOLT_OK, "open");

  pthread_t thread;
  struct query query = {.thread = &thread, .fd = &sockets[1]};
  volt_task_init(&query.task, query_poll);
  must(volt_spawn(volt_bridge_rt(&bridge.bridge), &query.task) == VOLT_OK, "volt_spawn");
  volt_bridge_call call;
  volt_future permit;
  volt_future_made(volt_sem_acquire_future(&permit, &connections, 1));
  volt_bridge_then(&bridge.bridge, &call, &permit, on_connection, NULL);

  while (!is_over) {
    struct epoll_event event;
    must(epoll_wait(epoll, &event, 1, -1) == 1, "epoll_wait");
    if (event.data.ptr == &bridge) {
      volt_bridge_run(&bridge.bridge);
    } else {
      char byte;
      must(read(sockets[0], &byte, 1) == 1 && write(sockets[0], &byte, 1) == 1, "answer");
      pings += 1;
    }
  }
  pthread_join(thread, NULL);
  close(epoll);
  printf("%d pings answered while waiting; a wait of 1 ms: %s; then the connection: %s\n", pings,
         impatient == VOLT_ETIMEDOUT ? "timed out" : "?", volt_strresult(patient));
}
