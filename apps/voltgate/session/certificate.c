/* certificate.c: a gate's certificate. */
#define _GNU_SOURCE /* strdup */
#include "session/certificate.h"

#include <string.h>

#include "link/tls.h"

void certificate_init(struct certificate *c) {
  pthread_mutex_init(&c->lock, NULL);
  c->context = NULL;
}

void certificate_destroy(struct certificate *c) {
  tls_context_drop(c->context);
  pthread_mutex_destroy(&c->lock);
}

char *certificate_read(struct tls_context **out, const struct gate_settings *settings) {
  char *why = NULL;
  *out = NULL;
  if (settings->tls != TLS_MODE_SERVER) return NULL;
  enum tls_alpn alpn = settings->protocol == PROTOCOL_POSTGRES ? TLS_ALPN_POSTGRES : TLS_ALPN_NONE;
  *out = tls_context_new(settings->tls_cert, settings->tls_key, settings->tls_min, alpn, &why);
  if (*out) return NULL;
  return why ? why : strdup("there is no memory for the certificate");
}

struct tls_context *certificate_get(struct certificate *c) {
  pthread_mutex_lock(&c->lock);
  struct tls_context *context = tls_context_hold(c->context);
  pthread_mutex_unlock(&c->lock);
  return context;
}

void certificate_set(struct certificate *c, struct tls_context *context) {
  pthread_mutex_lock(&c->lock);
  struct tls_context *before = c->context;
  c->context = context;
  pthread_mutex_unlock(&c->lock);
  tls_context_drop(before);
}
