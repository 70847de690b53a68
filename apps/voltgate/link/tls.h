/* tls.h: TLS towards clients, by OpenSSL, on a link.
 *
 *   context = tls_context_new(cert, key, TLS1_2_VERSION, &why);         once; again to reload
 *   tls_accept(&link, context, TLS_ALPN_NONE, NULL, 0);
 *   while ((r = tls_handshake(&link)) == VOLT_EAGAIN) wait for link_events(&link, true);
 *   ... link_recv(), link_send()
 *
 * OpenSSL is given a BIO that receives by volt's calls into OpenSSL's own buffer, and that gathers
 * what is to be sent: so all records of one link_send() go out in one call, nothing in OpenSSL ever
 * waits for room, and what there is no room for is kept in the link, like bytes in the clear. The
 * kernel's TLS (kTLS) needs OpenSSL's own socket BIO, and is not used.
 *
 * While nothing comes, a session has no buffers of records (SSL_MODE_RELEASE_BUFFERS). */
#ifndef VOLTGATE_LINK_TLS_H
#define VOLTGATE_LINK_TLS_H

#include "link/link.h"

/* A certificate and its key, and what is allowed. Sessions keep theirs when there is a new one. */
struct tls_context;

/* What protocol the client must name in ALPN, if it names any. */
enum tls_alpn { TLS_ALPN_NONE, TLS_ALPN_POSTGRES };

/* Read a certificate (with its chain) and its key. minimum: TLS1_2_VERSION, TLS1_3_VERSION. Returns
 * NULL: then *why is words that the caller frees (NULL: no memory). May block: files are read. */
struct tls_context *tls_context_new(const char *cert, const char *key, int minimum,
                                    enum tls_alpn alpn, char **why);

/* Another holder; one fewer. The last frees it. NULL does nothing. Any thread. */
struct tls_context *tls_context_hold(struct tls_context *c);
void tls_context_drop(struct tls_context *c);

/* The client of this link speaks TLS from now on. early: bytes that were received of it already,
 * copied. Returns VOLT_OK, VOLT_ENOMEM. */
int tls_accept(struct link *l, struct tls_context *c, const void *early, size_t size);

/* Go on with the handshake. Returns VOLT_OK: it is done; VOLT_EAGAIN: wait for link_events(l, true),
 * flush; VOLT_ECLOSED: the client has gone; or what failed: tls_why() has words. */
int tls_handshake(struct link *l);

/* Why the handshake or a receive has failed, in words; "" if TLS is not the reason. */
const char *tls_why(const struct link *l);

/* The version, as "TLSv1.3"; and what was chosen by ALPN, size bytes ("": nothing). */
const char *tls_version(const struct link *l);
const char *tls_alpn_chosen(const struct link *l, size_t *size);

/* Of link.c. */
int tls_recv(struct link *l, void *to, size_t size, size_t *n);
int tls_send(struct link *l, const void *from, size_t size);
void tls_shut(struct link *l);
void tls_free(struct tls *t);

#endif
