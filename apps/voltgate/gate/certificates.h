/* certificates.h: what a gate shows and trusts in TLS, which a reload replaces. */
#ifndef VOLTGATE_GATE_CERTIFICATES_H
#define VOLTGATE_GATE_CERTIFICATES_H

#include <volt/tls.h>

#include "config/settings.h"

/* NULL: the gate speaks no TLS on that side. */
struct certificates {
  volt_tls_context *clients; /* towards clients: the certificate */
  volt_tls_context *servers; /* towards the server: roots, and the certificate of a client */
};

/* Read the files that the settings name. *out: the caller's. Returns NULL, or what is wrong: words that the
 * caller frees; then *out is empty. May block. */
char *certificates_read(struct certificates *out, const struct gate_settings *settings);

/* Give up both; *c is empty then. */
void certificates_drop(struct certificates *c);

#endif
