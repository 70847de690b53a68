/* server.c: a server's life: it listens, accepts, and stops.
 *
 * A task accepts for each door. It takes a place first, of those that the door has for connections, and memory for
 * one more; then it accepts. So connections beyond the limit wait in the system's queue, and are
 * accepted in the order of their arrival. It keeps the place while no client comes, which is why doors do
 * not share theirs. */
#define _GNU_SOURCE
#include "server.h"

#include <errno.h>
#include <stdio.h>

#include "common/program.h"

struct accepting {
  volt_task task;
  volt_op op;
  volt_future place;
  volt_accept_pause pause;
  struct server *server;
  struct door *door;
  struct connection *next; /* that will be accepted */
  int result;
};

/* ---- accepting ---- */

static void begin(struct accepting *self) {
  struct server *server = self->server;
  count(&server->counters, COUNT_ACCEPTED, 1);
  int result = volt_group_spawn(&server->connections, server->rt, connection_task(self->next));
  if (result == VOLT_OK) {
    self->next = NULL; /* it has its place */
    return;
  }
  volt_fd_close(connection_fd(self->next)); /* the server stops */
  count(&server->counters, COUNT_CLOSED, 1);
  volt_task_detach(connection_task(self->next));
  self->next = NULL;
  volt_sem_release(&self->door->places, 1);
}

static int accepting_poll(volt_task *t, volt_ctx *ctx) {
  struct accepting *self = volt_container_of(t, struct accepting, task);
  VOLT_TASK_BEGIN(self);
  for (;;) {
    if (self->next == NULL) {
      VOLT_AWAIT(self, volt_sem_acquire_future(&self->place, &self->door->places, 1));
      self->next = connection_new(self->door);
    }
    self->result = VOLT_ERRNO(ENOMEM);
    if (self->next == NULL) {
      volt_sem_release(&self->door->places, 1);
    } else {
      VOLT_AWAIT_RESULT(
          self, self->result,
          volt_fd_accept_future(&self->op, &self->door->listener, connection_fd(self->next)));
    }
    if (self->result == VOLT_OK) {
      begin(self);
    } else {
      if (self->result == VOLT_ECANCELED) VOLT_RETURN(self, VOLT_OK);
      count(&self->server->counters, COUNT_ACCEPT_ERRORS, 1);
      VOLT_AWAIT(self, volt_accept_pause_future(&self->pause, self->server->rt, self->result));
    }
  }
  VOLT_FINALLY(self);
  if (self->next != NULL) {
    volt_task_detach(connection_task(self->next));
    volt_sem_release(&self->door->places, 1);
  }
  volt_fd_close(&self->door->listener);
  VOLT_TASK_END(self);
}

/* ---- life ---- */

static int start_listening(struct door *door, const char *text) {
  volt_address at;
  volt_sem_init(&door->places, door->server->options->connections);
  int result = volt_address_parse(&at, text);
  if (result != VOLT_OK) return result;
  result = volt_listen(&door->listener, door->server->rt, &at, 0, 0);
  if (result != VOLT_OK) return result;
  result = volt_fd_local(&door->listener, &at);
  volt_address_text(&at, door->address);
  if (result == VOLT_OK) result = volt_fd_nodelay(&door->listener); /* accepted ones inherit it */
  return result;
}

/* The site, plain or by TLS. */
static int open_door(struct server *server) {
  const struct options *options = server->options;
  bool is_secure = server->context != NULL;
  server->door = (struct door){.server = server,
                               .by = is_secure ? &secure_transport : &plain_transport,
                               .context = server->context,
                               .terms = {.limits = options->limits, .hsts_s = options->hsts_s}};
  server->door.terms.limits.is_https = is_secure;
  return start_listening(&server->door, options->listen);
}

/* The same host, another port. */
static int open_redirect(struct server *server) {
  char text[VOLT_ADDRESS_TEXT];
  volt_address site;
  int result = volt_fd_local(&server->door.listener, &site);
  if (result != VOLT_OK) return result;
  const char *end = strrchr(server->door.address, ':');
  if (volt_address_port(&site) == 0 || end == NULL) return VOLT_EINVAL; /* it is of unix */
  snprintf(text, sizeof text, "%.*s:%u", (int)(end - server->door.address), server->door.address,
           server->options->redirect_port);
  server->redirect = (struct door){
      .server = server,
      .by = &plain_transport,
      .terms = {.limits = server->options->limits, .https_port = volt_address_port(&site)}};
  return start_listening(&server->redirect, text);
}

/* ---- certificates ---- */

enum { WHY_SIZE = 256 };

static int load(struct server *server) {
  char why[WHY_SIZE] = "";
  const struct options *options = server->options;
  int result = secure_load(&server->context, options->certificates, options->key, why, sizeof why);
  if (result != VOLT_OK) complain("%s", why);
  return result;
}

void server_reload(struct server *server) {
  bool is_done = load(server) == VOLT_OK;
  count(&server->counters, is_done ? COUNT_RELOADS : COUNT_RELOAD_ERRORS, 1);
  complain(is_done ? "certificate and key are loaded anew"
                   : "certificate and key stay as they were");
}

static int start_runtime(struct server *server) {
  volt_rt_config config = {
      .workers = server->options->workers, .io = volt_io_auto(), .thread_prefix = "httpd"};
  int result = volt_rt_create(&server->rt, &config);
  if (result == VOLT_OK) server->timers = volt_rt_timers(server->rt);
  return result;
}

static int start_accepting(struct door *door) {
  door->accepting = VOLT_TASK_NEW(door->server->rt, struct accepting, accepting_poll);
  if (door->accepting == NULL) return VOLT_ENOMEM;
  door->accepting->server = door->server;
  door->accepting->door = door;
  return volt_spawn(door->server->rt, &door->accepting->task);
}

static int start_tasks(struct server *server) {
  int result = VOLT_OK;
  if (server->has_files) {
    server->sweeper = files_sweeper(&server->files);
    if (server->sweeper == NULL) return VOLT_ENOMEM;
    result = volt_spawn(server->rt, server->sweeper);
  }
  if (result == VOLT_OK) result = start_accepting(&server->door);
  if (result == VOLT_OK && server->options->redirects) {
    result = start_accepting(&server->redirect);
  }
  return result;
}

int server_start(struct server *server, const struct options *options, const char **what) {
  *server = (struct server){.options = options, .has_files = options->root != NULL};
  volt_sem_init(&server->buffers, options->buffers);
  volt_group_init_how(&server->connections, VOLT_GROUP_KEEP_GOING);
  server->in_bytes = options->limits.head_bytes + SESSION_BODY_ROOM;
  server->started_ns = volt_now_ns();
  *what = "cannot start a runtime with I/O (VOLT_IO?)";
  int result = start_runtime(server);
  if (result != VOLT_OK) return result;
  if (server->has_files) {
    *what = options->root;
    result = files_open(&server->files, server->rt, options->root, options->open_files,
                        options->buffers, options->cache_ms * UINT64_C(1000000));
    if (result != VOLT_OK) return result;
  }
  *what = "--tls";
  if (options->certificates != NULL) result = load(server);
  if (result != VOLT_OK) return result;
  *what = options->listen;
  result = open_door(server);
  if (result != VOLT_OK) return result;
  *what = "--redirect";
  if (options->redirects) result = open_redirect(server);
  if (result != VOLT_OK) return result;
  pool_init(&server->memory, options->buffers, connection_buffer_bytes(options));
  *what = "cannot start";
  return start_tasks(server);
}

static void stop_accepting(struct door *door) {
  if (door->accepting == NULL) return;
  volt_task_cancel(&door->accepting->task);
  volt_task_join(&door->accepting->task);
}

void server_stop(struct server *server, uint64_t deadline_ns) {
  server->stop_ns = deadline_ns; /* read by tasks that were cancelled after this */
  atomic_store(&server->is_stopping, true);
  stop_accepting(&server->door);
  stop_accepting(&server->redirect);
  volt_group_cancel(&server->connections);
}

volt_future *server_end_future(volt_future *f, struct server *server) {
  return volt_group_wait_future(f, &server->connections);
}

void server_destroy(struct server *server) {
  volt_group_destroy(&server->connections);
  volt_task_detach(&server->door.accepting->task);
  if (server->redirect.accepting != NULL) volt_task_detach(&server->redirect.accepting->task);
  if (server->has_files) {
    volt_task_cancel(server->sweeper);
    volt_task_join(server->sweeper);
    volt_task_detach(server->sweeper);
    files_close(&server->files);
  }
  volt_rt_destroy(server->rt);
  secure_unload(server->context);
  pool_destroy(&server->memory);
  volt_sem_destroy(&server->buffers);
  volt_sem_destroy(&server->door.places);
  volt_sem_destroy(&server->redirect.places);
}

void server_write_status(struct writer *to, struct server *server) {
  volt_rt_stats_of stats;
  volt_rt_stats(server->rt, &stats);
  unsigned doors = server->options->redirects ? 2 : 1;
  struct about about = {.io = volt_rt_io_name(server->rt),
                        .uptime_s = (volt_now_ns() - server->started_ns) / 1000000000u,
                        .workers = stats.workers,
                        .connections_max = server->options->connections * doors,
                        .is_stopping = atomic_load(&server->is_stopping)};
  counters_write(to, &server->counters, &about);
}
