/* 35_https.c: an HTTPS client that fetches a page: chain and name are checked, the length is not guessed.
 * With a host it fetches its page "/"; without, it serves one itself, with a certificate that it makes
 * (by the command openssl), and fetches that.
 *
 *   cc -std=c11 35_https.c $(pkg-config --cflags --libs volt-tls)
 *   ./a.out example.org
 *
 * prints: HTTP/1.1 200 OK (83 bytes in all, by TLSv1.3 and http/1.1) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <volt/fiber.h>
#include <volt/net.h>
#include <volt/tls.h>

static volt_rt *rt;

static volt_tls_context *context_of(enum volt_tls_role role, const volt_tls_config *config) {
  char why[200];
  volt_tls_context *context;
  if (volt_tls_context_create(&context, role, config, why, sizeof why) == VOLT_OK) return context;
  fprintf(stderr, "%s\n", why);
  exit(1);
}

/* Receive until the server has said that it sends no more. Returns how many bytes; the first of them are
 * in head, which has a 0 at its end. */
static int receive_all(volt_tls *tls, char *head, size_t room, size_t *all) {
  char bytes[16384];
  volt_tls_op op;
  size_t kept = 0;
  for (*all = 0;; *all += op.n) {
    int result = volt_future_wait_until(volt_tls_recv_future(&op, tls, bytes, sizeof bytes),
                                        volt_deadline_s(30));
    size_t left = room - 1 - kept, more = op.n < left ? op.n : left;
    memcpy(head + kept, bytes, more);
    kept += more;
    head[kept] = '\0';
    if (result != VOLT_OK || op.n == 0) return result; /* VOLT_TLS_ETRUNCATED: it was cut off */
  }
}

static int fetch(const char *host, const char *at, const char *trust) {
  char request[300], head[300] = "", alpn[20];
  size_t all = 0;
  volt_fd fd = {0};
  volt_dial dial;
  volt_tls tls;
  volt_tls_op op;
  volt_tls_config config = {.trust = trust, .alpn = "http/1.1"}; /* NULL: the roots of the system */
  volt_tls_context *context = context_of(VOLT_TLS_CLIENT, &config);
  int size = snprintf(request, sizeof request,
                      "GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", host);
  int result = volt_future_wait(volt_dial_future(&dial, rt, &fd, at, NULL));
  if (result == VOLT_OK) result = volt_tls_init(&tls, context, &fd, host);
  volt_tls_context_drop(context); /* the stream holds it */
  if (result != VOLT_OK) {
    fprintf(stderr, "%s: %s\n", at, volt_dial_error(&dial, result));
    volt_fd_close(&fd);
    return 1;
  }
  result = volt_future_wait(volt_tls_handshake_future(&op, &tls));
  if (result == VOLT_OK)
    result = volt_future_wait(volt_tls_send_all_future(&op, &tls, request, (size_t)size));
  if (result == VOLT_OK) result = receive_all(&tls, head, sizeof head, &all);
  if (result == VOLT_OK) {
    printf("%.*s (%zu bytes in all, by %s and %s)\n", (int)strcspn(head, "\r\n"), head, all,
           volt_tls_version(&tls), volt_tls_alpn(&tls, alpn, sizeof alpn));
  } else {
    fprintf(stderr, "%s: %s (%s)\n", host, volt_strerror(result), volt_tls_why(&tls));
  }
  volt_tls_close(&tls);
  return result != VOLT_OK;
}

/* ---- a server of one page, for one client ---- */

struct server {
  volt_fd listener, fd;
  volt_tls_context *context;
};

static int serve_one(void *arg) {
  static const char page[] =
      "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\nfair, and in "
      "order\n";
  struct server *s = arg;
  char request[1000];
  volt_op accept;
  volt_tls tls;
  volt_tls_op op;
  int result = volt_future_wait(volt_fd_accept_future(&accept, &s->listener, &s->fd));
  if (result == VOLT_OK) result = volt_tls_init(&tls, s->context, &s->fd, NULL);
  if (result != VOLT_OK) {
    volt_fd_close(&s->fd);
    return result;
  }
  result = volt_future_wait(volt_tls_handshake_future(&op, &tls));
  if (result == VOLT_OK)
    result = volt_future_wait(volt_tls_recv_future(&op, &tls, request, sizeof request));
  if (result == VOLT_OK)
    result = volt_future_wait(volt_tls_send_all_future(&op, &tls, page, sizeof page - 1));
  if (result == VOLT_OK) result = volt_future_wait(volt_tls_close_future(&op, &tls));
  volt_tls_close(&tls);
  return result;
}

static int try_out(void) {
  static struct server s;
  char text[VOLT_ADDRESS_TEXT];
  volt_address at;
  volt_tls_config files = {
      .certificates = "volt-https.pem", .key = "volt-https.key", .alpn = "h2,http/1.1"};
  if (system("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes "
             "-subj /CN=localhost -addext subjectAltName=DNS:localhost -days 1 "
             "-keyout volt-https.key -out volt-https.pem 2> /dev/null") != 0)
    return 77; /* there is no openssl */
  s.context = context_of(VOLT_TLS_SERVER, &files);
  if (volt_address_parse(&at, "127.0.0.1:0") != VOLT_OK ||
      volt_listen(&s.listener, rt, &at, 0, 0) != VOLT_OK ||
      volt_fd_local(&s.listener, &at) != VOLT_OK)
    return 1;
  volt_task *server = volt_fiber_new(rt, serve_one, &s, NULL);
  if (!server || volt_spawn(rt, server) != VOLT_OK) return 1;
  int code = fetch("localhost", volt_address_text(&at, text), "volt-https.pem");
  if (code != 0) volt_task_cancel(server); /* it may wait for a client that has not come */
  (void)volt_task_join(server);
  volt_task_detach(server);
  volt_fd_close(&s.listener);
  volt_tls_context_drop(s.context);
  return code | remove("volt-https.pem") | remove("volt-https.key");
}

int main(int argc, char **argv) {
  char at[300];
  const volt_rt_config config = {.io = volt_io_auto()};
  if (volt_rt_create(&rt, &config) != VOLT_OK) return 1;
  (void)snprintf(at, sizeof at, "%s:443", argc > 1 ? argv[1] : "");
  int code = argc > 1 ? fetch(argv[1], at, NULL) : try_out();
  volt_rt_destroy(rt);
  return code;
}
