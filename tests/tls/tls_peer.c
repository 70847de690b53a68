/* tls_peer.c: one side of a connection for interop_test.py and refused_test.py.
 *
 *   tls_peer serve CHAIN KEY [TRUST [REVOKED]]
 *       says its port; until standard input ends. What begins with GET gets a page and the end; all else is
 *       echoed. Of each connection a line on standard error
 *   tls_peer fetch HOST PORT TRUST [1.2|1.3|any [REVOKED]]
 *       says the protocol and the first line of what it gets, or why not: a code (the words)
 *
 * TRUST: a server asks for a certificate. REVOKED: CRLs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <volt/fiber.h>
#include <volt/net.h>
#include <volt/tls.h>

static volt_rt *rt;
static volt_fd listener;
static volt_tls_context *context;

typedef struct client {
  volt_fd fd;
  volt_tls tls;
} client;

static int answer(client *c) {
  static const char page[] =
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\npage\n";
  char bytes[20000];
  volt_tls_op op;
  int result = volt_future_wait(volt_tls_handshake_future(&op, &c->tls));
  while (result == VOLT_OK) {
    result = volt_future_wait(volt_tls_recv_future(&op, &c->tls, bytes, sizeof bytes));
    if (result != VOLT_OK || op.n == 0) break;
    bool is_get = op.n >= 4 && memcmp(bytes, "GET ", 4) == 0;
    const char *from = is_get ? page : bytes;
    size_t size = is_get ? sizeof page - 1 : op.n;
    result = volt_future_wait(volt_tls_send_all_future(&op, &c->tls, from, size));
    if (is_get || result != VOLT_OK) break;
  }
  if (result == VOLT_OK) result = volt_future_wait(volt_tls_shutdown_future(&op, &c->tls));
  char peer[100];
  fprintf(stderr, "%s %s \"%s\" %s: %s (%s)\n", volt_tls_version(&c->tls), volt_tls_cipher(&c->tls),
          volt_tls_peer(&c->tls, peer, sizeof peer),
          volt_tls_is_resumed(&c->tls) ? "resumed" : "new", volt_strresult(result),
          volt_tls_why(&c->tls));
  return result;
}

static int serve_one(void *arg) {
  client *c = (client *)arg;
  int result = volt_tls_init(&c->tls, context, &c->fd, NULL);
  if (result == VOLT_OK) result = answer(c);
  volt_tls_close(&c->tls);
  volt_fd_close(&c->fd);
  free(c);
  return result;
}

static int accept_all(void *arg) {
  (void)arg;
  volt_op op;
  for (;;) {
    client *c = (client *)calloc(1, sizeof *c);
    if (!c) return VOLT_ENOMEM;
    int result = volt_future_wait(volt_fd_accept_future(&op, &listener, &c->fd));
    volt_task *fiber = result == VOLT_OK ? volt_fiber_new(rt, serve_one, c, NULL) : NULL;
    if (!fiber || volt_spawn(rt, fiber) != VOLT_OK) {
      free(c);
      return result;
    }
    volt_task_detach(fiber);
  }
}

static int load(enum volt_tls_role role, const volt_tls_config *config) {
  char why[200];
  int result = volt_tls_context_create(&context, role, config, why, sizeof why);
  if (result != VOLT_OK) fprintf(stderr, "%s\n", why);
  return result;
}

static int serve(const char *chain, const char *key, const char *trust, const char *revoked) {
  volt_address at;
  volt_tls_config config = {.certificates = chain,
                            .key = key,
                            .trust = trust,
                            .revoked = revoked,
                            .alpn = "http/1.1",
                            .flags = trust ? VOLT_TLS_REQUIRE_CLIENT : 0};
  if (load(VOLT_TLS_SERVER, &config) != VOLT_OK) return 1;
  if (volt_address_parse(&at, "127.0.0.1:0") != VOLT_OK ||
      volt_listen(&listener, rt, &at, 0, 0) != VOLT_OK || volt_fd_local(&listener, &at) != VOLT_OK)
    return 1;
  volt_task *server = volt_fiber_new(rt, accept_all, NULL, NULL);
  if (!server || volt_spawn(rt, server) != VOLT_OK) return 1;
  printf("%u\n", volt_address_port(&at));
  fflush(stdout);
  char byte;
  while (read(STDIN_FILENO, &byte, 1) > 0) continue;
  volt_task_cancel(server);
  (void)volt_task_join(server);
  volt_task_detach(server);
  volt_fd_close(&listener);
  return 0;
}

static int fetch(const char *host, const char *port, const char *trust, const char *version,
                 const char *revoked) {
  char at[300], head[4000] = "";
  volt_fd fd = {.number = -1};
  volt_dial dial;
  volt_tls tls;
  volt_tls_op op;
  bool is_any = !version || strcmp(version, "any") == 0;
  unsigned only = is_any ? 0 : strcmp(version, "1.2") == 0 ? VOLT_TLS_1_2 : VOLT_TLS_1_3;
  volt_tls_config config = {.trust = trust, .revoked = revoked, .least = only, .most = only};
  (void)snprintf(at, sizeof at, "127.0.0.1:%s", port);
  if (load(VOLT_TLS_CLIENT, &config) != VOLT_OK) return 1;
  if (volt_future_wait(volt_dial_future(&dial, rt, &fd, at, NULL)) != VOLT_OK) return 1;
  if (volt_tls_init(&tls, context, &fd, host) != VOLT_OK) return 1;
  static const char request[] = "GET / HTTP/1.0\r\n\r\n";
  int result = volt_future_wait(volt_tls_handshake_future(&op, &tls));
  if (result == VOLT_OK)
    result = volt_future_wait(volt_tls_send_all_future(&op, &tls, request, sizeof request - 1));
  size_t have = 0;
  while (result == VOLT_OK && have < sizeof head - 1) {
    result = volt_future_wait(volt_tls_recv_future(&op, &tls, head + have, sizeof head - 1 - have));
    if (op.n == 0) break;
    have += op.n;
  }
  if (result != VOLT_OK && have == 0) {
    printf("%s (%s)\n", volt_strresult(result), volt_tls_why(&tls));
  } else {
    printf("%s %.*s\n", volt_tls_version(&tls), (int)strcspn(head, "\r\n"), head);
  }
  volt_tls_close(&tls);
  return 0;
}

int main(int argc, char **argv) {
  const volt_rt_config config = {.workers = 2, .io = volt_io_auto()};
  if (argc < 4 || volt_rt_create(&rt, &config) != VOLT_OK) return 2;
  bool serves = strcmp(argv[1], "serve") == 0;
  const char *fourth = argc > 4 ? argv[4] : NULL, *fifth = argc > 5 ? argv[5] : NULL;
  int code = serves   ? serve(argv[2], argv[3], fourth, fifth)
             : fourth ? fetch(argv[2], argv[3], fourth, fifth, argc > 6 ? argv[6] : NULL)
                      : 2;
  volt_rt_destroy(rt);
  volt_tls_context_drop(context);
  return code;
}
