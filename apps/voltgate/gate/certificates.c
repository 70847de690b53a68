/* certificates.c: what a gate shows and trusts in TLS. */
#define _GNU_SOURCE /* asprintf */
#include "gate/certificates.h"

#include <stdio.h>
#include <string.h>

enum { CERTIFICATES_WHY = 512 };

/* Returns NULL, or words. what: before them. */
static char *certificates_make(volt_tls_context **out, enum volt_tls_role role,
                               const volt_tls_config *config, const char *what) {
  char why[CERTIFICATES_WHY] = "", *words = NULL;
  int result = volt_tls_context_create(out, role, config, why, sizeof why);
  if (result == VOLT_OK) return NULL;
  if (!why[0]) snprintf(why, sizeof why, "%s", volt_strerror(result));
  if (asprintf(&words, "%s: %s", what, why) < 0) words = NULL;
  return words ? words : strdup("there is no memory for the certificate");
}

static char *certificates_of_clients(struct certificates *out, const struct gate_settings *g) {
  if (g->tls != TLS_MODE_SERVER) return NULL;
  const volt_tls_config config = {
      .certificates = g->tls_cert,
      .key = g->tls_key,
      .alpn = g->protocol == PROTOCOL_POSTGRES ? "postgresql" : NULL,
      .least = (unsigned)g->tls_min,
  };
  return certificates_make(&out->clients, VOLT_TLS_SERVER, &config, "tls");
}

char *certificates_read(struct certificates *out, const struct gate_settings *settings) {
  *out = (struct certificates){NULL, NULL};
  return certificates_of_clients(out, settings);
}

void certificates_drop(struct certificates *c) {
  volt_tls_context_drop(c->clients);
  volt_tls_context_drop(c->servers);
  *c = (struct certificates){NULL, NULL};
}
