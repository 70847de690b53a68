/* tls.h: the client's side of TLS 1.3, and what servers by OpenSSL have in common.
 *
 * BENCH_DIR has the certificate and key of the servers, tls.pem and tls.key. The client takes any
 * certificate: it is the server's time that is measured. */
#ifndef VOLT_BENCH_IO_TLS_H
#define VOLT_BENCH_IO_TLS_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Of a file in BENCH_DIR. */
static inline const char *tls_path(char *into, size_t room, const char *name) {
  const char *directory = getenv("BENCH_DIR");
  snprintf(into, room, "%s/%s", directory ? directory : ".", name);
  return into;
}

/* ---- the client: tls.c ---- */

typedef struct ssl_st tls_conn;

/* A connection that resumes the session of the last one with this number, if that is wanted. */
tls_conn *tls_conn_new(int fd, uint32_t number, bool resumes);
/* Says its end, and checks that it began as was wanted. */
void tls_conn_free(tls_conn *t);
/* As send() and recv() that do not wait: -1 with EAGAIN. The handshake is part of the first. */
long tls_conn_send(tls_conn *t, const void *from, size_t size);
long tls_conn_recv(tls_conn *t, void *to, size_t size);

#endif
