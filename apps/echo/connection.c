/* connection.c: what a connection does: it sends back, or passes on. */
#include <stdlib.h>
#include <sys/socket.h>
#include <volt/select.h>

#include "echo.h"

/* ---- both ---- */

/* connection: new, all zero, or NULL. */
static struct connection *connection_begin(struct connection *connection, struct service *service,
                                           unsigned buffers) {
  if (!connection) return NULL;
  connection->service = service;
  connection->buffer = (char *)malloc((size_t)service->options->buffer_bytes * buffers);
  if (connection->buffer) return connection;
  volt_task_detach(&connection->task);
  return NULL;
}

void connection_free(struct connection *connection) {
  if (!connection) return;
  free(connection->buffer);
  volt_task_detach(&connection->task);
}

void connection_end(struct connection *connection) {
  volt_fd_close(&connection->client);
  free(connection->buffer);
  connection->buffer = NULL;
  atomic_fetch_add_explicit(&connection->service->connections, 1, memory_order_relaxed);
  atomic_fetch_add_explicit(&connection->service->bytes, connection->bytes, memory_order_relaxed);
}

/* ---- echo ---- */

struct echo {
  struct connection connection; /* first: so the task is */
  volt_op op;
};

static int echo_poll(volt_task *t, volt_ctx *ctx) {
  struct connection *self = volt_container_of(t, struct connection, task);
  struct echo *echo = volt_container_of(self, struct echo, connection);
  VOLT_TASK_BEGIN(self);
  for (;;) {
    VOLT_AWAIT(self, volt_fd_recv_future(&echo->op, &self->client, self->buffer,
                                         self->service->options->buffer_bytes, 0));
    if (echo->op.n == 0) break;
    VOLT_AWAIT(self, volt_fd_send_future(&echo->op, &self->client, self->buffer, echo->op.n, 0));
    self->bytes += echo->op.n;
  }
  VOLT_FINALLY(self);
  connection_end(self);
  VOLT_TASK_END(self);
}

struct connection *echo_new(struct service *service) {
  struct echo *echo = (struct echo *)volt_task_new(service->rt, sizeof(struct echo), echo_poll);
  return connection_begin(echo ? &echo->connection : NULL, service, 1);
}

/* ---- relay ---- */

/* From one socket to another, until the sender has closed its side; then that is passed on, too. */
struct direction {
  volt_async async;
  volt_op op;
  volt_fd *from;
  volt_fd *to;
  char *buffer;
  size_t size;
  uint64_t bytes;
};

struct relay {
  struct connection connection; /* first: so the task is */
  volt_fd server;
  volt_dial dial;
  struct direction up, down;
  volt_future *both[2];
  volt_join join;
  int result;
};

static int direction_run(volt_async *a, volt_ctx *ctx) {
  struct direction *self = volt_container_of(a, struct direction, async);
  VOLT_ASYNC_BEGIN(self);
  for (;;) {
    VOLT_AWAIT(self, volt_fd_recv_future(&self->op, self->from, self->buffer, self->size, 0));
    if (self->op.n == 0) break;
    VOLT_AWAIT(self, volt_fd_send_future(&self->op, self->to, self->buffer, self->op.n, 0));
    self->bytes += self->op.n;
  }
  VOLT_RETURN(self, volt_fd_shutdown(self->to, SHUT_WR));
  VOLT_ASYNC_END(self);
}

/* Both directions at once. The first that fails ends the other. */
static volt_future *relay_both(struct relay *self) {
  struct connection *client = &self->connection;
  size_t size = client->service->options->buffer_bytes;
  self->up = (struct direction){
      .from = &client->client, .to = &self->server, .buffer = client->buffer, .size = size};
  self->down = (struct direction){
      .from = &self->server, .to = &client->client, .buffer = client->buffer + size, .size = size};
  self->both[0] = volt_async_future(&self->up.async, direction_run);
  self->both[1] = volt_async_future(&self->down.async, direction_run);
  return volt_join_future(&self->join, self->both, 2, VOLT_JOIN_FAIL_FAST);
}

static int relay_poll(volt_task *t, volt_ctx *ctx) {
  struct connection *self = volt_container_of(t, struct connection, task);
  struct relay *relay = volt_container_of(self, struct relay, connection);
  VOLT_TASK_BEGIN(self);
  (void)volt_fd_nodelay(&self->client);
  VOLT_AWAIT_RESULT(self, relay->result,
                    volt_dial_future(&relay->dial, self->service->rt, &relay->server,
                                     self->service->options->relay_to, NULL));
  if (relay->result != VOLT_OK) {
    if (relay->result != VOLT_ECANCELED)
      complain("%s: %s", self->service->options->relay_to,
               volt_dial_error(&relay->dial, relay->result));
    VOLT_RETURN(self, relay->result);
  }
  VOLT_AWAIT(self, relay_both(relay));
  VOLT_FINALLY(self);
  self->bytes = relay->up.bytes + relay->down.bytes;
  volt_fd_close(&relay->server);
  connection_end(self);
  VOLT_TASK_END(self);
}

struct connection *relay_new(struct service *service) {
  struct relay *relay =
      (struct relay *)volt_task_new(service->rt, sizeof(struct relay), relay_poll);
  return connection_begin(relay ? &relay->connection : NULL, service, 2);
}
