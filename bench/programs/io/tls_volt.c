/* tls_volt.c: echo over TLS by libvolt-tls, a stackless task for each connection: tls_volt PORT WORKERS; the
 * certificate as tls.h says. */
#include <volt/net.h>
#include <volt/tls.h>

#include "server.h"
#include "tls.h"
#include "volt_engine.h"

typedef struct conn {
  volt_task task;
  volt_fd fd;
  volt_tls tls;
  volt_tls_op op;
  char *buffer;
} conn;

static volt_rt *rt;
static volt_tls_context *context;

static int conn_poll(volt_task *t, volt_ctx *ctx) {
  conn *self = volt_container_of(t, conn, task);
  VOLT_TASK_BEGIN(self);
  engine_must(volt_tls_init(&self->tls, context, &self->fd, NULL), "a stream");
  VOLT_AWAIT(self, volt_tls_handshake_future(&self->op, &self->tls));
  for (;;) {
    VOLT_AWAIT(self, volt_tls_recv_future(&self->op, &self->tls, self->buffer, SERVER_BYTES));
    if (self->op.n == 0) break;
    VOLT_AWAIT(self, volt_tls_send_all_future(&self->op, &self->tls, self->buffer, self->op.n));
  }
  VOLT_FINALLY(self);
  volt_tls_close(&self->tls);
  free(self->buffer);
  VOLT_TASK_END(self);
}

typedef struct server {
  volt_task task;
  volt_fd listener;
  volt_op op;
  conn *next;
} server;

static int server_poll(volt_task *t, volt_ctx *ctx) {
  server *self = volt_container_of(t, server, task);
  VOLT_TASK_BEGIN(self);
  for (;;) {
    self->next = VOLT_TASK_NEW(rt, conn, conn_poll);
    if (!self->next || !(self->next->buffer = (char *)malloc(SERVER_BYTES))) server_fail("memory");
    VOLT_AWAIT(self, volt_fd_accept_future(&self->op, &self->listener, &self->next->fd));
    engine_must(volt_spawn(rt, &self->next->task), "a connection");
    volt_task_detach(&self->next->task);
  }
  VOLT_TASK_END(self);
}

int main(int count, char **values) {
  if (count != 3) {
    fprintf(stderr, "usage: %s PORT WORKERS\n", values[0]);
    return 2;
  }
  char chain[4096], key[4096], why[200], at[64];
  volt_tls_config files = {.certificates = tls_path(chain, sizeof chain, "tls.pem"),
                           .key = tls_path(key, sizeof key, "tls.key")};
  const volt_rt_config config = {.workers = server_take_port(values[2]), .io = volt_io_auto()};
  volt_address address;
  signal(SIGPIPE, SIG_IGN);
  engine_must(volt_rt_create(&rt, &config), "a runtime");
  engine_must(volt_tls_context_create(&context, VOLT_TLS_SERVER, &files, why, sizeof why), why);
  server *s = VOLT_TASK_NEW(rt, server, server_poll);
  if (!s) server_fail("memory");
  snprintf(at, sizeof at, "127.0.0.1:%u", server_take_port(values[1]));
  engine_must(volt_address_parse(&address, at), at);
  engine_must(volt_listen(&s->listener, rt, &address, 0, 0), at);
  engine_must(volt_fd_nodelay(&s->listener), at);
  engine_must(volt_spawn(rt, &s->task), "a server");
  return volt_task_join(&s->task) == VOLT_OK ? 0 : 1;
}
