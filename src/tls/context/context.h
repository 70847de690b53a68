/* context.h: what streams have in common.
 *
 * A context is counted, and has one SSL_CTX at a time: `now`. A reload makes another one and puts it
 * there. OpenSSL counts those: a connection keeps the one that it was made of.
 *
 * Invariant
 *   I7  What an SSL_CTX refers to lives as long as itself (tls_setup, which it frees), or is the
 *       context. A stream holds its context, and the one that a name has chosen, while it has an SSL;
 *       so a callback of OpenSSL finds them alive.
 *
 * Race
 *   R5  Interleaving: a connection takes `now`; a reload replaces it and frees it; the connection is
 *       made of freed memory. Prevented by: it is counted up under the lock under which it is
 *       replaced.
 *
 * Labels: tls */
#ifndef VOLT_TLS_CONTEXT_CONTEXT_H
#define VOLT_TLS_CONTEXT_CONTEXT_H

#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <volt/tls.h>

#include "../../core/os/check.h"
#include "../../rt/sched/short_lock.h"

/* A name that clients ask for, and the context for it. */
typedef struct volt_tls_name_ {
  struct volt_tls_name_ *next;
  volt_tls_context *other;
  char name[]; /* in small letters */
} volt_tls_name_;

struct volt_tls_context {
  VOLT_ATOMIC(uint32_t) holders;
  enum volt_tls_role role;
  volt_short_lock lock; /* all that follows; nothing is allocated, read or freed under it */
  SSL_CTX *now;
  volt_tls_name_ *names;
  int log; /* -1: none */
  unsigned key_count;
  volt_tls_ticket_key keys[VOLT_TLS_TICKET_KEYS];
};

/* Of SHA-256. */
enum { VOLT_TLS_DIGEST_ = 32 };

/* What belongs to an SSL_CTX, which frees it. */
typedef struct volt_tls_setup_ {
  unsigned flags;
  unsigned char area[VOLT_TLS_DIGEST_]; /* by what a peer is checked */
  unsigned alpn_size;
  unsigned char alpn[256]; /* as on the wire */
} volt_tls_setup_;

/* Where a failure is put into words. */
typedef struct volt_tls_words_ {
  char *to;
  size_t room;
} volt_tls_words_;

/* Write words, as printf, cut if there is not room. Returns result. */
int volt_tls_words_put_(volt_tls_words_ *words, int result, const char *format, ...)
    VOLT_PRINTF_(3, 4);

/* What OpenSSL says of the last failure on this thread, in static memory. */
const char *volt_tls_words_of_openssl_(void);

/* Make an SSL_CTX as config says. Returns VOLT_OK, or what volt_tls_context_create() says. */
int volt_tls_load_(volt_tls_context *c, const volt_tls_config *config, SSL_CTX **out,
                   volt_tls_words_ *words);

/* Set the callback that logs keys where the context says, and that of tickets. */
void volt_tls_context_log_to_(SSL_CTX *ssl);
void volt_tls_ticket_use_(SSL_CTX *ssl);

/* stream.c: set the callback that chooses a context by name. */
void volt_tls_choose_by_name_(SSL_CTX *ssl);

/* The stream of an SSL, which its BIO has (wire.c): data of the SSL's own would cost two allocations. */
static inline volt_tls *volt_tls_context_stream_(const SSL *ssl) {
  return (volt_tls *)BIO_get_data(SSL_get_rbio(ssl));
}

/* The setup of an SSL_CTX. */
volt_tls_setup_ *volt_tls_setup_of_(const SSL_CTX *ssl);

/* The present SSL_CTX, counted up. */
SSL_CTX *volt_tls_context_now_(volt_tls_context *c);

/* The context for a name, held; NULL: there is none. */
volt_tls_context *volt_tls_context_find_(volt_tls_context *c, const char *name);

#endif
