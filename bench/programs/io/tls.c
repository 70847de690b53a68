/* tls.c: the client's side of TLS: tls.h. */
#include <errno.h>
#include <openssl/err.h>

#include "io.h"
#include "tls.h"

static SSL_CTX *context;
static SSL_SESSION *sessions[IO_TASKS_MOST]; /* the newest of each number */

/* A number for each connection, and whether it has a session to resume. */
typedef struct about {
  uint32_t number;
  bool is_to_resume;
} about;

static int take_session(SSL *ssl, SSL_SESSION *session) {
  const about *a = (const about *)SSL_get_app_data(ssl);
  SSL_SESSION_free(sessions[a->number]);
  sessions[a->number] = session;
  return 1; /* it is kept */
}

static SSL_CTX *the_context(void) {
  if (context) return context;
  context = SSL_CTX_new(TLS_client_method());
  if (!context || SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) != 1) io_fail("OpenSSL");
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
  SSL_CTX_sess_set_new_cb(context, take_session);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_read_ahead(context, 1);
  return context;
}

/* A copy, because OpenSSL's client takes each up once, and not every server gives another one. */
static void take_up(SSL *ssl, const SSL_SESSION *session) {
  SSL_SESSION *copy = SSL_SESSION_dup(session);
  if (!copy || SSL_set_session(ssl, copy) != 1) io_fail("OpenSSL has no memory");
  SSL_SESSION_free(copy);
}

tls_conn *tls_conn_new(int fd, uint32_t number, bool resumes) {
  SSL *ssl = SSL_new(the_context());
  about *a = (about *)calloc(1, sizeof *a);
  if (!ssl || !a || SSL_set_fd(ssl, fd) != 1) io_fail("OpenSSL has no memory");
  *a = (about){.number = number % IO_TASKS_MOST};
  a->is_to_resume = resumes && sessions[a->number];
  if (a->is_to_resume) take_up(ssl, sessions[a->number]);
  SSL_set_app_data(ssl, a);
  SSL_set_connect_state(ssl);
  return ssl;
}

void tls_conn_free(tls_conn *t) {
  about *a = (about *)SSL_get_app_data(t);
  if (SSL_is_init_finished(t) && a->is_to_resume != (bool)SSL_session_reused(t)) {
    io_fail("a session was %staken up", a->is_to_resume ? "not " : "");
  }
  ERR_clear_error();
  SSL_shutdown(t);
  free(a);
  SSL_free(t);
}

static long told(tls_conn *t, int done, size_t n) {
  if (done == 1) return (long)n;
  int kind = SSL_get_error(t, done);
  if (kind == SSL_ERROR_ZERO_RETURN) return 0;
  if (kind != SSL_ERROR_WANT_READ && kind != SSL_ERROR_WANT_WRITE) {
    io_fail("TLS: %s", ERR_reason_error_string(ERR_peek_last_error()));
  }
  errno = EAGAIN;
  return -1;
}

long tls_conn_send(tls_conn *t, const void *from, size_t size) {
  size_t n = 0;
  ERR_clear_error();
  int done = SSL_write_ex(t, from, size, &n);
  return told(t, done, n);
}

long tls_conn_recv(tls_conn *t, void *to, size_t size) {
  size_t n = 0;
  ERR_clear_error();
  int done = SSL_read_ex(t, to, size, &n);
  return told(t, done, n);
}
