/* rest_of_program.c: what gate/ calls of the rest of voltgate, for stress tests that have only gate/. */
#include <string.h>

#include "config/settings.h"
#include "gate/certificates.h"
#include "process/log.h"

const struct tenant_settings *settings_tenant(const struct gate_settings *g, const char *name) {
  for (size_t i = 0; i < g->tenant_count; i++) {
    if (strcmp(g->tenants[i].name, name) == 0) return &g->tenants[i];
  }
  return &g->tenant_default;
}

void log_line(enum log_level level, const char *to, const char *format, ...) {
  (void)level, (void)to, (void)format; /* nothing is said here */
}

void certificates_drop(struct certificates *c) {
  (void)c; /* there are none */
}

volt_tls_context *volt_tls_context_hold(volt_tls_context *c) {
  return c;
}
