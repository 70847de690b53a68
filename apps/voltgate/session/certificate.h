/* certificate.h: a gate's certificate, which a reload replaces. */
#ifndef VOLTGATE_SESSION_CERTIFICATE_H
#define VOLTGATE_SESSION_CERTIFICATE_H

#include <pthread.h>

#include "config/settings.h"

struct tls_context;

/* Sessions that have begun keep theirs. */
struct certificate {
  pthread_mutex_t lock;
  struct tls_context *context; /* NULL: there is none */
};

void certificate_init(struct certificate *c);
void certificate_destroy(struct certificate *c);

/* Read the files that the settings name. *out: NULL if they name none. Returns NULL, or what is
 * wrong: words that the caller frees. May block. */
char *certificate_read(struct tls_context **out, const struct gate_settings *settings);

/* The present one, held, or NULL: tls_context_drop() it. Any thread. */
struct tls_context *certificate_get(struct certificate *c);

/* Another one holds from now on; its holder was the caller. */
void certificate_set(struct certificate *c, struct tls_context *context);

#endif
