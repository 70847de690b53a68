/* link.h: one side of a session: a socket, in the clear or by TLS. Nothing here waits. */
#ifndef VOLTGATE_LINK_LINK_H
#define VOLTGATE_LINK_LINK_H

#include <stdbool.h>
#include <volt/io.h>

struct tls; /* link/tls.h */

/* All-zero but fd: a plain link that is open. */
struct link {
  volt_fd fd;
  struct tls *tls;                /* NULL: in the clear */
  char *kept;                     /* to be sent, as it goes to the socket; there was no room */
  uint32_t kept_from, kept_until; /* in kept */
  bool has_ended;                 /* the peer sends nothing more */
  bool is_shut;                   /* we send nothing more */
  bool is_drained;                /* link_recv() has taken all: wait for POLLIN before the next */
};

/* Receive what is there. *n == 0: the peer has ended. Returns VOLT_OK, VOLT_EAGAIN, or what failed
 * (VOLT_ERRNO(e), VOLT_ECLOSED). */
int link_recv(struct link *l, void *to, size_t size, size_t *n);

/* Send all of it; what there is no room for is kept. While link_is_full() it is kept behind the
 * rest, so a caller that has much to send waits. Returns VOLT_OK, VOLT_ENOMEM, or what failed. */
int link_send(struct link *l, const void *from, size_t size);

/* Whether bytes are kept: wait for link_events() and call link_flush(). */
static inline bool link_is_full(const struct link *l) {
  return l->kept != NULL;
}

/* Send what is kept, as far as there is room. Returns VOLT_OK, also if not all of it has gone, or
 * what failed. */
int link_flush(struct link *l);

/* Throw away what is kept. It may be a part of something: only the end can follow. */
void link_drop_kept(struct link *l);

/* What to wait for so that it can go on: POLLIN if the caller wants to receive, POLLOUT if bytes
 * are kept. */
unsigned link_events(const struct link *l, bool wants_bytes);

/* Send nothing more but what is kept: FIN, after a TLS alert. Returns VOLT_OK, or what failed. */
int link_shut(struct link *l);

/* Have the system ask a peer that is silent whether it is there: of a host that has vanished there is
 * no end to be read. Of a listener: all sockets that it accepts. */
void link_keep_alive(const volt_fd *fd);

/* Close it and free what it has. Nothing may be under way. */
void link_close(struct link *l);

/* Send bytes as they are, or keep them behind those that are kept: of link.c and tls.c. Returns as
 * link_send(). */
int link_put(struct link *l, const void *from, size_t size);

#endif
