/* 13_io.c: a TCP server and its clients, as tasks of one runtime.
 * Each await of an operation lets other tasks run; no thread waits for a socket. The server ends by
 * being cancelled: its accept returns VOLT_ECANCELED.
 *
 *   cc -std=c11 13_io.c $(pkg-config --cflags --libs volt-io)
 *
 * prints: 100 clients were answered, 1600 bytes; the server was cancelled */
#include <stdio.h>
#include <stdlib.h>
#include <volt/net.h>
#include <volt/volt.h>

enum { CLIENTS = 100, SIZE = 16 };

static volt_rt *rt;
static char address[VOLT_ADDRESS_TEXT];

struct connection {
  volt_task task;
  volt_fd fd;
  volt_op op;
  char bytes[SIZE];
};

static int echo_poll(volt_task *t, volt_ctx *ctx) {
  struct connection *self = volt_container_of(t, struct connection, task);
  VOLT_TASK_BEGIN(self);
  for (;;) {
    VOLT_AWAIT(self, volt_fd_recv_future(&self->op, &self->fd, self->bytes, SIZE, 0));
    if (self->op.n == 0) break; /* the client has closed its side */
    VOLT_AWAIT(self, volt_fd_send_future(&self->op, &self->fd, self->bytes, self->op.n, 0));
  }
  VOLT_FINALLY(self); /* an error of recv or send goes on here, too */
  volt_fd_close(&self->fd);
  VOLT_TASK_END(self);
}

struct server {
  volt_task task;
  volt_fd listener;
  volt_op op;
  volt_accept_pause pause;
  struct connection *next;
  int result;
};

static int server_poll(volt_task *t, volt_ctx *ctx) {
  struct server *self = volt_container_of(t, struct server, task);
  VOLT_TASK_BEGIN(self);
  for (;;) {
    if (!self->next) self->next = VOLT_TASK_NEW(rt, struct connection, echo_poll);
    if (!self->next) VOLT_RETURN(self, VOLT_ENOMEM);
    VOLT_AWAIT_RESULT(self, self->result,
                      volt_fd_accept_future(&self->op, &self->listener, &self->next->fd));
    if (self->result != VOLT_OK) { /* no descriptor is left: wait. Cancelled: this leaves */
      VOLT_AWAIT(self, volt_accept_pause_future(&self->pause, rt, self->result));
      continue;
    }
    if (volt_spawn(rt, &self->next->task) != VOLT_OK) volt_fd_close(&self->next->fd);
    volt_task_detach(&self->next->task); /* it frees itself when it ends */
    self->next = NULL;
  }
  VOLT_FINALLY(self);
  if (self->next) volt_task_detach(&self->next->task); /* of the accept that was cancelled */
  volt_fd_close(&self->listener);
  VOLT_TASK_END(self);
}

struct client {
  volt_task task;
  volt_fd fd;
  volt_dial dial;
  volt_op op;
  size_t got;
  char bytes[SIZE];
};

static int client_poll(volt_task *t, volt_ctx *ctx) {
  struct client *self = volt_container_of(t, struct client, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, volt_dial_future(&self->dial, rt, &self->fd, address, NULL));
  VOLT_AWAIT(self, volt_fd_send_future(&self->op, &self->fd, self->bytes, SIZE, 0));
  for (; self->got < SIZE; self->got += self->op.n) {
    VOLT_AWAIT(self, volt_fd_recv_future(&self->op, &self->fd, self->bytes + self->got,
                                         SIZE - self->got, 0));
    if (self->op.n == 0) break;
  }
  VOLT_FINALLY(self);
  volt_fd_close(&self->fd);
  VOLT_TASK_END(self);
}

static void must(int result, const char *what) {
  if (result == VOLT_OK) return;
  fprintf(stderr, "%s: %s\n", what, volt_strerror(result));
  exit(EXIT_FAILURE);
}

int main(void) {
  static struct server server;
  static struct client clients[CLIENTS];
  volt_rt_config config = {.workers = 2, .io = volt_io_auto()};
  volt_address at;
  size_t bytes = 0;
  int answered = 0;
  must(volt_rt_create(&rt, &config), "volt_rt_create");
  must(volt_address_parse(&at, "127.0.0.1:0"), "address");
  must(volt_listen(&server.listener, rt, &at, 0, 0), "listen");
  must(volt_fd_local(&server.listener, &at), "local");
  volt_address_text(&at, address);
  volt_task_init(&server.task, server_poll);
  must(volt_spawn(rt, &server.task), "spawn");
  for (int i = 0; i < CLIENTS; i++) {
    volt_task_init(&clients[i].task, client_poll);
    must(volt_spawn(rt, &clients[i].task), "spawn");
  }
  for (int i = 0; i < CLIENTS; i++) {
    answered += volt_task_join(&clients[i].task) == VOLT_OK;
    bytes += clients[i].got;
  }
  volt_task_cancel(&server.task);
  int end = volt_task_join(&server.task);
  printf("%d clients were answered, %zu bytes; the server was %s\n", answered, bytes,
         volt_strerror(end));
  volt_rt_destroy(rt);
}
