/* tls_epoll.c: the limit: echo over TLS 1.3 by OpenSSL on the descriptor itself and epoll_wait, level triggered, one
 * thread. tls_epoll PORT; the certificate as tls.h says.
 *
 * One buffer serves all connections. What cannot be sent is kept in a buffer of the connection, and nothing
 * more is read for it until then. */
#include <openssl/err.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "server.h"
#include "tls.h"

enum { EVENTS = 512 };

typedef struct end {
  SSL *ssl;
  int fd;
  uint32_t watched;
  size_t rest, done; /* what has yet to go out: kept[done..rest) */
  char *kept;
} end;

static int epoll_fd;
static SSL_CTX *context;
static char buffer[SERVER_BYTES];

static void end_watch(end *e, uint32_t wanted) {
  if (wanted == e->watched) return;
  struct epoll_event event = {.events = wanted, .data.ptr = e};
  if (epoll_ctl(epoll_fd, EPOLL_CTL_MOD, e->fd, &event) != 0) server_fail("epoll_ctl");
  e->watched = wanted;
}

/* It has one event at a time, so no other one in hand is its own. */
static void end_close(end *e) {
  if (SSL_is_init_finished(e->ssl)) SSL_shutdown(e->ssl);
  SSL_free(e->ssl);
  close(e->fd);
  free(e->kept);
  free(e);
}

/* Whether it goes on: what it waits for is watched. */
static int end_waits(end *e, int returned) {
  int kind = SSL_get_error(e->ssl, returned);
  if (kind != SSL_ERROR_WANT_READ && kind != SSL_ERROR_WANT_WRITE) return 0;
  end_watch(e, kind == SSL_ERROR_WANT_READ ? EPOLLIN : EPOLLOUT);
  return 1;
}

static int end_send(end *e, const char *bytes, size_t size) {
  size_t n = 0;
  int returned = SSL_write_ex(e->ssl, bytes, size, &n);
  if (returned == 1) return 1;
  if (!end_waits(e, returned)) return 0;
  if (!e->kept && !(e->kept = (char *)malloc(SERVER_BYTES))) server_fail("malloc");
  memcpy(e->kept, bytes, size);
  e->rest = size;
  return 1;
}

/* What is kept goes first. Then all that has come goes out. Returns whether the connection goes on. */
static int end_go_on(end *e) {
  ERR_clear_error();
  if (e->rest) {
    size_t n = 0;
    int returned = SSL_write_ex(e->ssl, e->kept, e->rest, &n);
    if (returned != 1) return end_waits(e, returned);
    e->rest = 0;
  }
  do {
    size_t n = 0;
    int returned = SSL_read_ex(e->ssl, buffer, sizeof buffer, &n);
    if (returned != 1) return end_waits(e, returned);
    if (!end_send(e, buffer, n)) return 0;
  } while (!e->rest && SSL_has_pending(e->ssl));
  if (!e->rest) end_watch(e, EPOLLIN);
  return 1;
}

static void accept_all(int listener) {
  int fd;
  while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
    server_no_delay(fd);
    end *e = (end *)calloc(1, sizeof *e);
    if (!e) server_fail("calloc");
    *e = (end){.fd = fd, .watched = EPOLLIN, .ssl = SSL_new(context)};
    if (!e->ssl || SSL_set_fd(e->ssl, fd) != 1) server_fail("SSL_new");
    SSL_set_accept_state(e->ssl);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = e};
    if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0) server_fail("epoll_ctl");
  }
}

static void make_context(void) {
  char path[4096];
  context = SSL_CTX_new(TLS_server_method());
  if (!context ||
      SSL_CTX_use_certificate_chain_file(context, tls_path(path, sizeof path, "tls.pem")) != 1 ||
      SSL_CTX_use_PrivateKey_file(context, tls_path(path, sizeof path, "tls.key"),
                                  SSL_FILETYPE_PEM) != 1) {
    server_fail("BENCH_DIR/tls.pem");
  }
  SSL_CTX_set_mode(context, SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_read_ahead(context, 1);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF); /* tickets, as the others have */
}

int main(int count, char **values) {
  server_options o = server_take_options(count, values, 0);
  make_context();
  int listener = server_listen(o.port, SOCK_NONBLOCK);
  epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL}, events[EVENTS];
  if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, listener, &event) != 0) server_fail("epoll_ctl");
  for (;;) {
    int n = epoll_wait(epoll_fd, events, EVENTS, -1);
    for (int i = 0; i < n; i++) {
      end *e = (end *)events[i].data.ptr;
      if (!e) {
        accept_all(listener);
      } else if (!end_go_on(e)) {
        end_close(e);
      }
    }
  }
}
