/* connections.c: eight connections to PostgreSQL, through the non-blocking interface of libpq: what
 * runs a statement waits for the socket by volt. */
#include <errno.h>
#include <libpq-fe.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <volt/fiber.h>
#include <volt/io.h>

#include "query.h"

enum { CONNECTIONS = 8 };

struct connection {
  PGconn *server; /* NULL: it is not open */
  volt_fd socket;
  bool has_socket;
  struct connection *next; /* of those that are free */
};

static volt_rt *rt;
static const char *server_at;
static struct connection all[CONNECTIONS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* never held across a wait */
static struct connection *first_free;                    /* under lock, like all that follows */
static unsigned in_use, peak;

static struct connection *take(void) {
  pthread_mutex_lock(&lock);
  struct connection *c = first_free;
  first_free = c->next;
  in_use += 1;
  if (in_use > peak) peak = in_use;
  pthread_mutex_unlock(&lock);
  return c;
}

static void give(struct connection *c) {
  pthread_mutex_lock(&lock);
  c->next = first_free;
  first_free = c;
  in_use -= 1;
  pthread_mutex_unlock(&lock);
}

static int complain(const struct connection *c) {
  fprintf(stderr, "volt-query: %s", PQerrorMessage(c->server));
  return VOLT_ERRNO(EPROTO);
}

static void connection_close(struct connection *c) {
  if (c->has_socket) (void)volt_fd_detach(&c->socket); /* libpq closes it */
  c->has_socket = false;
  PQfinish(c->server);
  c->server = NULL;
}

/* On the blocking pool: it looks names up, and waits for the server. */
static int connection_dial(void *connection) {
  struct connection *c = connection;
  c->server = PQconnectdb(server_at);
  if (!c->server) return VOLT_ENOMEM;
  if (PQstatus(c->server) != CONNECTION_OK) return complain(c);
  return PQsetnonblocking(c->server, 1) == 0 ? VOLT_OK : complain(c);
}

static int connection_open(struct connection *c) {
  int result = volt_fiber_offload(connection_dial, c);
  if (result == VOLT_OK) result = volt_fd_init(&c->socket, rt, PQsocket(c->server), 0);
  c->has_socket = result == VOLT_OK;
  return result;
}

static int wait_until(struct connection *c, unsigned events) {
  volt_op op;
  return volt_future_wait(volt_fd_ready_future(&op, &c->socket, events));
}

static int statement_send(struct connection *c, const char *sql) {
  if (!PQsendQuery(c->server, sql)) return complain(c);
  for (;;) {
    int left = PQflush(c->server);
    if (left <= 0) return left == 0 ? VOLT_OK : complain(c);
    int result = wait_until(c, POLLIN | POLLOUT);
    if (result != VOLT_OK) return result;
    if (!PQconsumeInput(c->server)) return complain(c);
  }
}

/* All answers to one statement. */
static int statement_finish(struct connection *c) {
  int said = VOLT_OK;
  for (;;) {
    while (PQisBusy(c->server)) {
      int result = wait_until(c, POLLIN);
      if (result != VOLT_OK) return result;
      if (!PQconsumeInput(c->server)) return complain(c);
    }
    PGresult *answer = PQgetResult(c->server);
    if (!answer) return said;
    ExecStatusType status = PQresultStatus(answer);
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) said = complain(c);
    PQclear(answer);
  }
}

int run_on_a_connection(const char *sql) {
  struct connection *c = take();
  int result = c->server ? VOLT_OK : connection_open(c);
  if (result == VOLT_OK) result = statement_send(c, sql);
  if (result == VOLT_OK) result = statement_finish(c);
  if (result != VOLT_OK) connection_close(c); /* it may be in the middle of an answer */
  give(c);
  return result;
}

void connections_begin(volt_rt *its_rt, const char *server) {
  rt = its_rt;
  server_at = server;
  for (int i = 0; i < CONNECTIONS; i++) {
    all[i].next = first_free;
    first_free = &all[i];
  }
}

unsigned connections_peak(void) {
  return peak;
}

void connections_end(void) {
  for (int i = 0; i < CONNECTIONS; i++) {
    if (all[i].server) connection_close(&all[i]);
  }
}
