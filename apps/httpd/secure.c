/* secure.c: the transport by TLS.
 *
 * An idle connection waits by a receive of one byte, and not until its descriptor is ready: what it
 * waits for may have been received and decrypted with what came before it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "transport.h"

#ifdef HTTPD_TLS

struct secure {
  volt_tls tls;
  volt_tls_op op;
};

static int secure_begin(struct stream *s, volt_tls_context *context) {
  s->secure = calloc(1, sizeof *s->secure);
  if (s->secure == NULL) return VOLT_ENOMEM;
  s->n = &s->secure->op.n;
  return volt_tls_init(&s->secure->tls, context, &s->fd, NULL);
}

static volt_future *secure_handshake(struct stream *s) {
  return volt_tls_handshake_future(&s->secure->op, &s->secure->tls);
}

static volt_future *secure_finish(struct stream *s) {
  return volt_tls_shutdown_future(&s->secure->op, &s->secure->tls);
}

static volt_future *secure_wake(struct stream *s) {
  return volt_tls_recv_future(&s->secure->op, &s->secure->tls, &s->first, 1);
}

static volt_future *secure_receive(struct stream *s, void *to, size_t room) {
  return volt_tls_recv_future(&s->secure->op, &s->secure->tls, to, room);
}

static int secure_try_send(struct stream *s, const void *from, size_t size, bool more) {
  (void)s, (void)from, (void)size, (void)more;
  return VOLT_EAGAIN;
}

static volt_future *secure_send(struct stream *s, const void *from, size_t size, bool more) {
  (void)more;
  return volt_tls_send_future(&s->secure->op, &s->secure->tls, from, size);
}

static void secure_end(struct stream *s, void (*end)(volt_tls *tls)) {
  if (s->secure != NULL) end(&s->secure->tls);
  volt_fd_close(&s->fd); /* if the stream did not begin */
  free(s->secure);
  s->secure = NULL;
}

/* It says close_notify, if there is room for that at once. */
static void secure_close(struct stream *s) {
  secure_end(s, volt_tls_close);
}

static void secure_cut_off(struct stream *s) {
  secure_end(s, volt_tls_cut_off);
}

const struct transport secure_transport = {
    .takes_first = true,
    .commits = true,
    .begin = secure_begin,
    .handshake = secure_handshake,
    .finish = secure_finish,
    .wake = secure_wake,
    .receive = secure_receive,
    .try_send = secure_try_send,
    .send = secure_send,
    .close = secure_close,
    .cut_off = secure_cut_off,
};

int secure_load(volt_tls_context **context, const char *certificates, const char *key, char *why,
                size_t why_size) {
  const volt_tls_config config = {.certificates = certificates, .key = key, .alpn = "http/1.1"};
  if (*context != NULL) return volt_tls_context_reload(*context, &config, why, why_size);
  return volt_tls_context_create(context, VOLT_TLS_SERVER, &config, why, why_size);
}

void secure_unload(volt_tls_context *context) {
  volt_tls_context_drop(context);
}

#else

const struct transport secure_transport = {.has_sendfile = false};

int secure_load(volt_tls_context **context, const char *certificates, const char *key, char *why,
                size_t why_size) {
  (void)context, (void)certificates, (void)key;
  snprintf(why, why_size, "this program was built without libvolt-tls");
  return VOLT_ERRNO(ENOSYS);
}

void secure_unload(volt_tls_context *context) {
  (void)context;
}

#endif
