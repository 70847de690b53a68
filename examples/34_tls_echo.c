/* 34_tls_echo.c: a TLS echo server, and a client that checks its certificate.
 * With a chain, a key and an address it serves until it is ended; without, it makes a certificate
 * (by the command openssl), and tries itself out.
 *
 *   cc -std=c11 34_tls_echo.c $(pkg-config --cflags --libs volt-tls)
 *   ./a.out chain.pem key.pem :7443
 *
 * prints: TLSv1.3: hello; another name: the peer's certificate is for another name */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <volt/fiber.h>
#include <volt/net.h>
#include <volt/tls.h>

static volt_rt *rt;
static volt_fd listener;
static volt_tls_context *server_context;

struct client {
  volt_fd fd;
  volt_tls tls;
};

static int echo(void *arg) {
  struct client *c = arg;
  char bytes[4096];
  volt_tls_op op;
  int result = volt_tls_init(&c->tls, server_context, &c->fd, NULL);
  if (result == VOLT_OK) result = volt_future_wait(volt_tls_handshake_future(&op, &c->tls));
  while (result == VOLT_OK) {
    result = volt_future_wait(volt_tls_recv_future(&op, &c->tls, bytes, sizeof bytes));
    if (result != VOLT_OK || op.n == 0) break; /* it failed, or the client sends no more */
    result = volt_future_wait(volt_tls_send_all_future(&op, &c->tls, bytes, op.n));
  }
  if (result != VOLT_OK && result != VOLT_TLS_EREFUSED)
    fprintf(stderr, "a client: %s (%s)\n", volt_strerror(result), volt_tls_why(&c->tls));
  volt_tls_close(&c->tls);
  volt_fd_close(&c->fd); /* of a stream that did not begin */
  free(c);
  return result;
}

static void drop(void *arg) {
  volt_fd_close(&((struct client *)arg)->fd);
  free(arg);
}

static int serve(void *arg) {
  const volt_fiber_config config = {.unrun = drop}; /* instead of echo(), if there is no stack */
  (void)arg;
  volt_op op;
  for (;;) {
    struct client *c = calloc(1, sizeof *c);
    int result = c ? volt_future_wait(volt_fd_accept_future(&op, &listener, &c->fd)) : VOLT_ENOMEM;
    volt_task *fiber = result == VOLT_OK ? volt_fiber_new(rt, echo, c, &config) : NULL;
    if (result == VOLT_OK) result = volt_spawn(rt, fiber);
    if (fiber) volt_task_detach(fiber); /* it frees itself when it ends */
    if (result == VOLT_OK) continue;
    if (c) drop(c);
    return result; /* cancelled. A server that has to go on waits: 26_fiber_echo.c */
  }
}

/* ---- a client, on the thread of main() ---- */

static void say(volt_tls_context *context, const char *at, const char *name) {
  char answer[6] = "";
  volt_fd fd = {0};
  volt_dial dial;
  volt_tls tls;
  volt_tls_op op;
  if (volt_future_wait(volt_dial_future(&dial, rt, &fd, at, NULL)) != VOLT_OK) exit(1);
  if (volt_tls_init(&tls, context, &fd, name) != VOLT_OK) exit(1);
  int result = volt_future_wait(volt_tls_handshake_future(&op, &tls));
  if (result == VOLT_OK) {
    result = volt_future_wait(volt_tls_send_all_future(&op, &tls, "hello", 5));
    if (result == VOLT_OK) result = volt_future_wait(volt_tls_recv_future(&op, &tls, answer, 5));
    printf("%s: %s; ", volt_tls_version(&tls), result == VOLT_OK ? answer : volt_strerror(result));
  } else {
    printf("another name: %s\n", volt_strerror(result));
  }
  volt_tls_close(&tls);
}

static volt_tls_context *context_of(enum volt_tls_role role, const volt_tls_config *config) {
  char why[200];
  volt_tls_context *context;
  if (volt_tls_context_create(&context, role, config, why, sizeof why) == VOLT_OK) return context;
  fprintf(stderr, "%s\n", why);
  exit(1);
}

static int try_out(const char *at) {
  volt_tls_config config = {.trust = "volt-echo.pem"};
  volt_tls_context *context = context_of(VOLT_TLS_CLIENT, &config);
  say(context, at, "localhost");
  say(context, at, "example.org");
  volt_tls_context_drop(context);
  return remove("volt-echo.pem") | remove("volt-echo.key");
}

int main(int argc, char **argv) {
  char text[VOLT_ADDRESS_TEXT];
  volt_address at;
  const volt_rt_config config = {.io = volt_io_auto()};
  volt_tls_config files = {.certificates = argc > 3 ? argv[1] : "volt-echo.pem",
                           .key = argc > 3 ? argv[2] : "volt-echo.key"};
  if (argc <= 3 && system("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes "
                          "-subj /CN=localhost -addext subjectAltName=DNS:localhost -days 1 "
                          "-keyout volt-echo.key -out volt-echo.pem 2> /dev/null") != 0)
    return 77; /* there is no openssl */
  if (volt_rt_create(&rt, &config) != VOLT_OK) return 1;
  if (volt_address_parse(&at, argc > 3 ? argv[3] : "127.0.0.1:0") != VOLT_OK) return 2;
  if (volt_listen(&listener, rt, &at, 0, 0) != VOLT_OK) return 1;
  if (volt_fd_local(&listener, &at) != VOLT_OK) return 1;
  server_context = context_of(VOLT_TLS_SERVER, &files);
  volt_task *server = volt_fiber_new(rt, serve, NULL, NULL);
  if (!server || volt_spawn(rt, server) != VOLT_OK) return 1;
  int code = 0;
  if (argc <= 3) {
    code = try_out(volt_address_text(&at, text));
    volt_task_cancel(server);
  }
  (void)volt_task_join(server);
  volt_task_detach(server);
  volt_fd_close(&listener);
  volt_rt_destroy(rt); /* ends the clients that are left */
  volt_tls_context_drop(server_context);
  return code;
}
