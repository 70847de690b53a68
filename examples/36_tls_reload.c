/* 36_tls_reload.c: a server that reloads its certificate: connections that are there stay.
 * It makes two certificates (by the command openssl). A server would reload at SIGHUP (volt/process.h).
 *
 *   cc -std=c11 36_tls_reload.c $(pkg-config --cflags --libs volt-tls)
 *
 * prints: before: CN=one; after: CN=two; the first connection: ok */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <volt/net.h>
#include <volt/task.h>
#include <volt/tls.h>

static volt_rt *rt;

/* ---- the server: it echoes, as tasks ---- */

struct connection {
  volt_task task;
  volt_fd fd;
  volt_tls tls;
  volt_tls_op op;
  int result;
  char bytes[100];
};

struct server {
  volt_task task;
  volt_fd listener;
  volt_op op;
  volt_tls_context *context;
  struct connection *next;
};

static struct server server;

static int echo_poll(volt_task *t, volt_ctx *ctx) {
  struct connection *self = volt_container_of(t, struct connection, task);
  VOLT_TASK_BEGIN(self);
  self->result = volt_tls_init(&self->tls, server.context, &self->fd, NULL);
  if (self->result != VOLT_OK) VOLT_RETURN(self, self->result);
  VOLT_AWAIT(self, volt_tls_handshake_future(&self->op, &self->tls));
  for (;;) {
    VOLT_AWAIT(self, volt_tls_recv_future(&self->op, &self->tls, self->bytes, sizeof self->bytes));
    if (self->op.n == 0) break;
    VOLT_AWAIT(self, volt_tls_send_all_future(&self->op, &self->tls, self->bytes, self->op.n));
  }
  VOLT_FINALLY(self);
  volt_tls_close(&self->tls);
  volt_fd_close(&self->fd);
  VOLT_TASK_END(self);
}

static int server_poll(volt_task *t, volt_ctx *ctx) {
  struct server *self = volt_container_of(t, struct server, task);
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

/* ---- clients, on the thread of main() ---- */

struct client {
  volt_fd fd;
  volt_tls tls;
};

static void must(int result, const char *what) {
  if (result == VOLT_OK) return;
  fprintf(stderr, "%s: %s\n", what, volt_strerror(result));
  exit(EXIT_FAILURE);
}

static void begin(struct client *c, volt_tls_context *context, const char *at, const char *when) {
  char peer[100];
  volt_dial dial;
  volt_tls_op op;
  must(volt_future_wait(volt_dial_future(&dial, rt, &c->fd, at, NULL)), "dial");
  must(volt_tls_init(&c->tls, context, &c->fd, "localhost"), "init");
  must(volt_future_wait(volt_tls_handshake_future(&op, &c->tls)), "handshake");
  printf("%s: %s; ", when, volt_tls_peer(&c->tls, peer, sizeof peer));
}

static const char *echo_of(struct client *c) {
  char answer[3] = "";
  volt_tls_op op;
  must(volt_future_wait(volt_tls_send_all_future(&op, &c->tls, "ok", 2)), "send");
  must(volt_future_wait(volt_tls_recv_future(&op, &c->tls, answer, 2)), "recv");
  return strcmp(answer, "ok") == 0 ? "ok" : "no";
}

static void make_certificate(const char *name) {
  char command[400];
  (void)snprintf(
      command, sizeof command,
      "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=%s "
      "-addext subjectAltName=DNS:localhost -days 1 -keyout volt-reload.pem "
      "-out volt-reload-%s.pem 2> /dev/null && cat volt-reload-%s.pem >> volt-reload.pem",
      name, name, name);
  if (system(command) != 0) exit(77); /* there is no openssl */
}

static volt_tls_context *client_of(const char *trust) {
  volt_tls_context *context;
  volt_tls_config config = {.trust = trust};
  must(volt_tls_context_create(&context, VOLT_TLS_CLIENT, &config, NULL, 0), trust);
  return context;
}

int main(void) {
  static struct client first, second;
  char text[VOLT_ADDRESS_TEXT], why[200];
  volt_address at;
  const volt_rt_config config = {.io = volt_io_auto()};
  const volt_tls_config files = {.certificates = "volt-reload.pem"}; /* and its key */
  make_certificate("one");
  must(volt_rt_create(&rt, &config), "volt_rt_create");
  must(volt_tls_context_create(&server.context, VOLT_TLS_SERVER, &files, why, sizeof why), why);
  must(volt_address_parse(&at, "127.0.0.1:0"), "address");
  must(volt_listen(&server.listener, rt, &at, 0, 0), "listen");
  must(volt_fd_local(&server.listener, &at), "local");
  volt_address_text(&at, text);
  volt_task_init(&server.task, server_poll);
  must(volt_spawn(rt, &server.task), "spawn");
  volt_tls_context *one = client_of("volt-reload-one.pem");
  begin(&first, one, text, "before");
  make_certificate("two");
  must(volt_tls_context_reload(server.context, &files, why, sizeof why), why);
  volt_tls_context *two = client_of("volt-reload-two.pem");
  begin(&second, two, text, "after");
  printf("the first connection: %s\n", echo_of(&first));
  volt_tls_close(&first.tls);
  volt_tls_close(&second.tls);
  volt_task_cancel(&server.task);
  (void)volt_task_join(&server.task);
  volt_rt_destroy(rt);
  volt_tls_context_drop(one);
  volt_tls_context_drop(two);
  volt_tls_context_drop(server.context);
  return remove("volt-reload.pem") | remove("volt-reload-one.pem") | remove("volt-reload-two.pem");
}
