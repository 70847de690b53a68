/* server.c: the task that accepts connections, and waits for them in the end. */
#include <errno.h>
#include <stdlib.h>

#include "common/program.h"
#include "echo.h"

/* The connection that is accepted next; NULL: there is no memory for one. */
static struct connection *server_next(struct server *self) {
  if (self->next) return self->next;
  const struct options *options = self->service.options;
  self->next = options->relay_to ? relay_new(&self->service)
               : options->fibers ? fiber_new(&self->service)
                                 : echo_new(&self->service);
  return self->next;
}

static volt_future *server_accept(struct server *self) {
  return volt_fd_accept_future(&self->op, &self->listener, &self->next->client);
}

static void server_spawn(struct server *self) {
  struct connection *connection = self->next;
  self->next = NULL;
  self->is_short = false;
  if (volt_group_spawn(&self->connections, self->service.rt, connection->runs_as) == VOLT_OK)
    return;
  volt_fd_close(&connection->client);
  connection_free(connection);
}

/* It could not accept: say so, and wait if that helps. */
static volt_future *server_pause(struct server *self) {
  if (!self->is_short) complain("cannot accept a connection: %s", volt_strerror(self->result));
  self->is_short = true;
  return volt_accept_pause_future(&self->pause, self->service.rt, self->result);
}

/* Until all connections have ended, or for grace_s. Then those that are left are cancelled. */
static volt_future *server_end(struct server *self) {
  volt_timers *timers = volt_rt_timers(self->service.rt);
  return volt_timeout_future(&self->grace,
                             volt_group_wait_future(&self->all_ended, &self->connections), timers,
                             volt_deadline_s(self->service.options->grace_s));
}

static int server_poll(volt_task *t, volt_ctx *ctx) {
  struct server *self = volt_container_of(t, struct server, task);
  VOLT_TASK_BEGIN(self);
  for (;;) {
    self->result = VOLT_ERRNO(ENOMEM);
    if (server_next(self)) VOLT_AWAIT_RESULT(self, self->result, server_accept(self));
    if (self->result == VOLT_OK) {
      server_spawn(self);
    } else if (self->result != VOLT_ECANCELED) {
      VOLT_AWAIT_RESULT(self, self->result, server_pause(self));
      if (self->result != VOLT_OK && self->result != VOLT_ECANCELED)
        VOLT_RETURN(self, self->result); /* to accept again is of no use */
    }
    if (self->result == VOLT_ECANCELED) VOLT_RETURN(self, VOLT_OK); /* it ends as it was asked to */
  }
  VOLT_FINALLY(self);
  volt_fd_close(&self->listener);
  connection_free(self->next);
  VOLT_AWAIT_RESULT(self, self->result, server_end(self));
  volt_group_destroy(&self->connections);
  VOLT_TASK_END(self);
}

bool server_init(struct server *server, volt_rt *rt, const struct options *options) {
  *server = (struct server){.service = {.options = options, .rt = rt}};
  volt_task_init(&server->task, server_poll);
  volt_group_init_how(&server->connections, VOLT_GROUP_KEEP_GOING);
  return pthread_key_create(&server->service.scratch, free) == 0;
}

void server_destroy(struct server *server) {
  pthread_key_delete(server->service.scratch);
}
