/* connection.c: what a connection does: it sends back, or passes on. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <volt/fiber.h>
#include <volt/select.h>

#include "common/program.h"
#include "echo.h"

/* ---- both ---- */

void connection_free(struct connection *connection) {
  if (!connection) return;
  bool is_fiber = connection->runs_as != &connection->task;
  free(connection->buffer);
  volt_task_detach(connection->runs_as);
  if (is_fiber) free(connection);
}

static struct connection *connection_of_task(struct connection *connection,
                                             struct service *service) {
  connection->runs_as = &connection->task;
  connection->service = service;
  return connection;
}

void connection_end(struct connection *connection) {
  volt_fd_close(&connection->client);
  free(connection->buffer);
  connection->buffer = NULL;
  atomic_fetch_add_explicit(&connection->service->connections, 1, memory_order_relaxed);
  atomic_fetch_add_explicit(&connection->service->bytes, connection->bytes, memory_order_relaxed);
}

/* ---- pass on ----
 *
 * While nothing comes, a connection has no buffer. What comes goes through the buffer of the thread
 * that polls the task, which is in that core's cache, and out again in the same poll. What there is
 * no room for is kept in memory of its own. */

/* The buffer of this thread. Returns NULL: there is no memory. */
static char *pass_scratch(const struct service *service) {
  char *scratch = (char *)pthread_getspecific(service->scratch);
  if (scratch) return scratch;
  scratch = (char *)malloc(service->options->buffer_bytes);
  if (!scratch || pthread_setspecific(service->scratch, scratch) == 0) return scratch;
  free(scratch);
  return NULL;
}

/* Pass on what is there, if anything is. *kept: memory for what there is no room for, the caller's to
 * free; *rest: how much that is. Returns VOLT_OK; VOLT_ECLOSED: the sender has ended; or what
 * failed. */
static int pass_once(const struct service *service, volt_fd *from, volt_fd *to, char **kept,
                     size_t *rest, uint64_t *bytes) {
  char *scratch = pass_scratch(service);
  size_t got;
  size_t sent;
  if (!scratch) return VOLT_ENOMEM;
  int result = volt_fd_try_recv(from, scratch, service->options->buffer_bytes, 0, &got);
  if (result != VOLT_OK) return result == VOLT_EAGAIN ? VOLT_OK : result;
  if (got == 0) return VOLT_ECLOSED;
  result = volt_fd_try_send(to, scratch, got, 0, &sent);
  if (result != VOLT_OK && result != VOLT_EAGAIN) return result;
  *bytes += sent;
  if (sent == got) return VOLT_OK;
  *kept = (char *)malloc(got - sent);
  if (!*kept) return VOLT_ENOMEM;
  memcpy(*kept, scratch + sent, got - sent);
  *rest = got - sent;
  return VOLT_OK;
}

/* ---- echo ---- */

struct echo {
  struct connection connection; /* first: so the task is */
  volt_op op;
  size_t rest; /* bytes in connection.buffer */
};

static int echo_once(struct echo *self) {
  struct connection *c = &self->connection;
  return pass_once(c->service, &c->client, &c->client, &c->buffer, &self->rest, &c->bytes);
}

static int echo_poll(volt_task *t, volt_ctx *ctx) {
  struct connection *self = volt_container_of(t, struct connection, task);
  struct echo *echo = volt_container_of(self, struct echo, connection);
  VOLT_TASK_BEGIN(self);
  for (;;) {
    int result = echo_once(echo); /* what a client sends at once may be there already */
    if (result == VOLT_ECLOSED) break;
    if (result != VOLT_OK) VOLT_RETURN(self, result);
    if (echo->rest > 0) {
      VOLT_AWAIT(self, volt_fd_send_future(&echo->op, &self->client, self->buffer, echo->rest, 0));
      self->bytes += echo->rest;
      echo->rest = 0;
      free(self->buffer);
      self->buffer = NULL;
    }
    VOLT_AWAIT(self, volt_fd_ready_future(&echo->op, &self->client, POLLIN));
  }
  VOLT_FINALLY(self);
  connection_end(self);
  VOLT_TASK_END(self);
}

struct connection *echo_new(struct service *service) {
  struct echo *echo = (struct echo *)volt_task_new(service->rt, sizeof(struct echo), echo_poll);
  return echo ? connection_of_task(&echo->connection, service) : NULL;
}

/* ---- the same as a fiber ---- */

/* Send what there was no room for. */
static int fiber_send_rest(struct connection *self, size_t rest) {
  volt_op op;
  int result = volt_future_wait(volt_fd_send_future(&op, &self->client, self->buffer, rest, 0));
  self->bytes += op.n;
  free(self->buffer);
  self->buffer = NULL;
  return result;
}

static int fiber_run(void *arg) {
  struct connection *self = arg;
  int result;
  do {
    volt_op op;
    size_t rest = 0;
    result =
        pass_once(self->service, &self->client, &self->client, &self->buffer, &rest, &self->bytes);
    if (result == VOLT_OK && rest > 0) result = fiber_send_rest(self, rest);
    if (result == VOLT_OK)
      result = volt_future_wait(volt_fd_ready_future(&op, &self->client, POLLIN));
  } while (result == VOLT_OK);
  connection_end(self);
  free(self);
  return result == VOLT_ECLOSED ? VOLT_OK : result;
}

/* There is no stack for it. */
static void fiber_give_up(void *arg) {
  struct connection *self = arg;
  connection_end(self);
  free(self);
}

struct connection *fiber_new(struct service *service) {
  const volt_fiber_config config = {.name = "connection", .unrun = fiber_give_up};
  struct connection *self = (struct connection *)calloc(1, sizeof *self);
  if (!self) return NULL;
  self->service = service;
  self->runs_as = volt_fiber_new(service->rt, fiber_run, self, &config);
  if (self->runs_as) return self;
  free(self);
  return NULL;
}

/* ---- relay ---- */

/* From one socket to another, until the sender has closed its side; then that is passed on, too. */
struct direction {
  volt_async async;
  volt_op op;
  volt_fd *from;
  volt_fd *to;
  const struct service *service;
  char *kept; /* NULL: none */
  size_t rest;
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
    int result =
        pass_once(self->service, self->from, self->to, &self->kept, &self->rest, &self->bytes);
    if (result == VOLT_ECLOSED) break;
    if (result != VOLT_OK) VOLT_RETURN(self, result);
    if (self->rest > 0) {
      VOLT_AWAIT(self, volt_fd_send_future(&self->op, self->to, self->kept, self->rest, 0));
      self->bytes += self->rest;
      self->rest = 0;
      free(self->kept);
      self->kept = NULL;
    }
    VOLT_AWAIT(self, volt_fd_ready_future(&self->op, self->from, POLLIN));
  }
  VOLT_RETURN(self, volt_fd_shutdown(self->to, SHUT_WR));
  VOLT_ASYNC_END(self);
}

/* Both directions at once. The first that fails ends the other. */
static volt_future *relay_both(struct relay *self) {
  struct connection *client = &self->connection;
  self->up =
      (struct direction){.from = &client->client, .to = &self->server, .service = client->service};
  self->down =
      (struct direction){.from = &self->server, .to = &client->client, .service = client->service};
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
  free(relay->up.kept);
  free(relay->down.kept);
  volt_fd_close(&relay->server);
  connection_end(self);
  VOLT_TASK_END(self);
}

struct connection *relay_new(struct service *service) {
  struct relay *relay =
      (struct relay *)volt_task_new(service->rt, sizeof(struct relay), relay_poll);
  return relay ? connection_of_task(&relay->connection, service) : NULL;
}
