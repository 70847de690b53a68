/* link.h: one side of a session: a socket, in the clear or by TLS. Nothing here waits. */
#ifndef VOLTGATE_LINK_LINK_H
#define VOLTGATE_LINK_LINK_H

#include <stdbool.h>
#include <volt/io.h>
#include <volt/tls.h>

/* All-zero but fd: a plain link that is open. */
struct link {
  volt_fd fd;
  volt_tls *tls;                  /* NULL: in the clear; owned */
  char *kept;                     /* to be sent; there was no room */
  uint32_t kept_from, kept_until; /* in kept */
  bool has_ended;                 /* the peer sends nothing more */
  bool is_shut;                   /* we send nothing more */
  bool is_drained;                /* link_recv() has taken all: wait for POLLIN before the next */
  bool has_rest;                  /* TLS: records are committed and not sent */
  bool is_cut;                    /* TLS: such records were dropped, so only FIN can follow */
};

/* ---- TLS ---- */

/* The peer speaks TLS from now on. context: of a server, or of a client: name: of the server, as in
 * volt_tls_init(). early: size bytes of the peer that were received already; copied. Returns VOLT_OK,
 * or what failed: then it may be closed only. */
int link_begin_tls(struct link *l, volt_tls_context *context, const char *name, const void *early,
                   size_t size);

/* The same by a stream over l->fd whose handshake is done; allocated, and the link's from now on. */
void link_take_tls(struct link *l, volt_tls *tls);

/* Go on with the handshake. Returns VOLT_OK: it is done; VOLT_EAGAIN: wait for link_events(l, true);
 * VOLT_ECLOSED: the peer has gone; or what failed: volt_tls_why(l->tls) has words. */
int link_shake_hands(struct link *l);

/* ---- bytes ---- */

/* Receive what is there. *n == 0: the peer has ended. Returns VOLT_OK, VOLT_EAGAIN, or what failed
 * (VOLT_ERRNO(e), VOLT_ECLOSED; of TLS: VOLT_TLS_E...; VOLT_TLS_ETRUNCATED: cut off). */
int link_recv(struct link *l, void *to, size_t size, size_t *n);

/* Send all of it; what there is no room for is kept. While link_is_full() it is kept behind the
 * rest, so a caller that has much to send waits. Returns VOLT_OK, VOLT_ENOMEM, or what failed. */
int link_send(struct link *l, const void *from, size_t size);

/* Whether bytes are kept: wait for link_events() and call link_flush(). */
static inline bool link_is_full(const struct link *l) {
  return l->kept != NULL || l->has_rest;
}

/* Send what is kept, as far as there is room. Returns VOLT_OK, also if not all of it has gone, or
 * what failed. */
int link_flush(struct link *l);

/* Throw away what is kept. It may be a part of something: only the end can follow. */
void link_drop_kept(struct link *l);

/* What to wait for so that it can go on: POLLIN if the caller wants to receive, POLLOUT if bytes
 * are kept. (TLS may have to receive before it can send: then POLLIN.) */
unsigned link_events(const struct link *l, bool wants_bytes);

/* Send nothing more but what is kept: FIN, after the end of TLS. Returns VOLT_OK, or what failed. */
int link_shut(struct link *l);

/* Have the system ask a peer that is silent whether it is there: of a host that has vanished there is
 * no end to be read. Of a listener: all sockets that it accepts. */
void link_keep_alive(const volt_fd *fd);

/* Close it and free what it has. Nothing may be under way. Of TLS the end is not said, if link_shut() has
 * not: the peer knows that it was cut off. */
void link_close(struct link *l);

#endif
