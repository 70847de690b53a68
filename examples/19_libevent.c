/* 19_libevent.c: a server of volt's tasks in a loop of libevent, whose bufferevents are its clients.
 * Both do their I/O on one thread: the tasks by the runtime that runs in the loop, the clients by
 * libevent.
 *
 *   cc -std=c11 19_libevent.c $(pkg-config --cflags --libs volt-io libevent_core)
 *
 * prints: 10 clients were answered, 170 bytes, by tasks in libevent's loop */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <volt/event.h>
#include <volt/net.h>
#include <volt/volt.h>

enum { CLIENTS = 10 };
static const char question[] = "is anyone there?"; /* sent with its 0, and echoed */

static volt_event bridge;
static int answered;
static size_t bytes;

static void must(int result, const char *what) {
  if (result == VOLT_OK) return;
  fprintf(stderr, "%s: %s\n", what, volt_strerror(result));
  exit(EXIT_FAILURE);
}

/* ---- the server: tasks ---- */

struct connection {
  volt_task task;
  volt_fd fd;
  volt_op op;
  char bytes[64];
};

static int echo_poll(volt_task *t, volt_ctx *ctx) {
  struct connection *self = volt_container_of(t, struct connection, task);
  VOLT_TASK_BEGIN(self);
  for (;;) {
    VOLT_AWAIT(self, volt_fd_recv_future(&self->op, &self->fd, self->bytes, sizeof self->bytes, 0));
    if (self->op.n == 0) break; /* the client has closed its side */
    VOLT_AWAIT(self, volt_fd_send_future(&self->op, &self->fd, self->bytes, self->op.n, 0));
  }
  VOLT_FINALLY(self);
  volt_fd_close(&self->fd);
  VOLT_TASK_END(self);
}

struct server {
  volt_task task;
  volt_fd listener;
  volt_op op;
  struct connection *next;
};

/* Until the bridge is closed: then its accept is cancelled. */
static int server_poll(volt_task *t, volt_ctx *ctx) {
  struct server *self = volt_container_of(t, struct server, task);
  volt_rt *rt = volt_bridge_rt(&bridge.bridge);
  VOLT_TASK_BEGIN(self);
  for (;;) {
    self->next = VOLT_TASK_NEW(rt, struct connection, echo_poll);
    if (!self->next) VOLT_RETURN(self, VOLT_ENOMEM);
    VOLT_AWAIT(self, volt_fd_accept_future(&self->op, &self->listener, &self->next->fd));
    if (volt_spawn(rt, &self->next->task) != VOLT_OK) volt_fd_close(&self->next->fd);
    volt_task_detach(&self->next->task);
  }
  VOLT_FINALLY(self);
  if (self->next) volt_task_detach(&self->next->task);
  volt_fd_close(&self->listener);
  VOLT_TASK_END(self);
}

/* ---- the clients: libevent's ---- */

static void on_echo(struct bufferevent *client, void *arg) {
  char got[sizeof question];
  (void)arg;
  if (evbuffer_get_length(bufferevent_get_input(client)) < sizeof got) return;
  bytes += bufferevent_read(client, got, sizeof got);
  answered += memcmp(got, question, sizeof got) == 0;
  bufferevent_free(client); /* closes the connection */
  if (bytes == CLIENTS * sizeof question) volt_bridge_close(&bridge.bridge, NULL, NULL);
}

static void connect_to(struct event_base *base, volt_address *at) {
  struct bufferevent *client = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
  if (!client) must(VOLT_ENOMEM, "bufferevent_socket_new");
  bufferevent_setcb(client, on_echo, NULL, NULL, NULL);
  bufferevent_enable(client, EV_READ);
  bufferevent_write(client, question, sizeof question);
  if (bufferevent_socket_connect(client, &at->as.any, (int)at->size) != 0) {
    must(VOLT_EINVAL, "connect");
  }
}

int main(void) {
  static struct server server;
  volt_rt_config config = {.io = volt_io_auto()};
  volt_address at;
  struct event_base *base = event_base_new();
  must(volt_event_open(&bridge, base, &config), "volt_event_open");
  must(volt_address_parse(&at, "127.0.0.1:0"), "address");
  must(volt_listen(&server.listener, volt_bridge_rt(&bridge.bridge), &at, 0, 0), "listen");
  must(volt_fd_local(&server.listener, &at), "local");
  volt_task_init(&server.task, server_poll);
  must(volt_spawn(volt_bridge_rt(&bridge.bridge), &server.task), "spawn");
  for (int i = 0; i < CLIENTS; i++) connect_to(base, &at);

  event_base_dispatch(base);
  event_base_free(base);
  printf("%d clients were answered, %zu bytes, by tasks in libevent's loop\n", answered, bytes);
}
