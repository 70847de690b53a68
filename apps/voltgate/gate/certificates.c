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
      .flags = VOLT_TLS_NO_WIPE, /* what passes is in buffers of the gate, too */
  };
  return certificates_make(&out->clients, VOLT_TLS_SERVER, &config, "tls");
}

static char *certificates_of_servers(struct certificates *out, const struct gate_settings *g) {
  if (g->server_tls == SERVER_TLS_OFF) return NULL;
  volt_tls_config config = {
      .certificates = g->server_cert,
      .key = g->server_key,
      .trust = g->server_ca,
      .alpn = g->protocol == PROTOCOL_POSTGRES ? "postgresql" : NULL,
  };
  config.flags = VOLT_TLS_NO_WIPE;
  if (g->server_tls == SERVER_TLS_REQUIRE) config.flags |= VOLT_TLS_NO_CHECKS;
  if (g->server_tls == SERVER_TLS_VERIFY_CA) config.flags |= VOLT_TLS_ANY_NAME;
  return certificates_make(&out->servers, VOLT_TLS_CLIENT, &config, "server-tls");
}

char *certificates_read(struct certificates *out, const struct gate_settings *settings) {
  *out = (struct certificates){NULL, NULL};
  char *wrong = certificates_of_clients(out, settings);
  if (!wrong) wrong = certificates_of_servers(out, settings);
  if (wrong) certificates_drop(out);
  return wrong;
}

void certificates_drop(struct certificates *c) {
  volt_tls_context_drop(c->clients);
  volt_tls_context_drop(c->servers);
  *c = (struct certificates){NULL, NULL};
}
