/* transport.h: how the bytes of a connection go: plain, or by TLS. A connection knows no other difference. */
#ifndef HTTPD_TRANSPORT_H
#define HTTPD_TRANSPORT_H

#include <volt/io.h>
#include <volt/tls.h>

struct transport;

/* One side of a connection. It must not move once it has begun. */
struct stream {
  volt_fd fd;
  volt_op op; /* of a plain one */
  const struct transport *by;
  size_t *n;             /* how many bytes the last operation has moved */
  struct secure *secure; /* NULL: it is plain */
  char first;            /* of what a connection was woken by: takes_first */
};

struct transport {
  bool has_sendfile; /* else a file is read, and sent as anything else */
  bool takes_first;  /* wake has received a byte, if *n is 1; else it receives nothing */
  bool commits;      /* *n of a send that was not done in time has bytes that have not gone: the
                      * next send, also one of 0 bytes, sends them first */

  /* Begin. s->fd is connected, s->by set. Returns VOLT_OK, or why not; it is closed all the same. */
  int (*begin)(struct stream *s, volt_tls_context *context);

  /* Futures of what comes before the first byte, and behind the last; NULL: there is nothing. */
  volt_future *(*handshake)(struct stream *s);
  volt_future *(*finish)(struct stream *s);

  /* A future of: there is something to receive, or never will be. It holds no buffer. */
  volt_future *(*wake)(struct stream *s);
  volt_future *(*receive)(struct stream *s, void *to, size_t room);

  /* more: a file follows at once. try_send: VOLT_EAGAIN: it cannot be done without a wait. */
  int (*try_send)(struct stream *s, const void *from, size_t size, bool more);
  volt_future *(*send)(struct stream *s, const void *from, size_t size, bool more);
  volt_future *(*send_file)(struct stream *s, volt_fd *file, uint64_t at, size_t size);

  /* Close it, or its descriptor if it has not begun. Nothing is under way. cut_off: so that the other side
   * sees that what was sent is not whole. */
  void (*close)(struct stream *s);
  void (*cut_off)(struct stream *s);
};

extern const struct transport plain_transport;

/* All-zero in a build without libvolt-tls. */
extern const struct transport secure_transport;

/* Load a server's certificates and key, or load them anew.
 * why: at most why_size bytes, the reason in words; of VOLT_OK none.
 * Returns VOLT_OK, or why not: then all is as before. */
int secure_load(volt_tls_context **context, const char *certificates, const char *key, char *why,
                size_t why_size);
void secure_unload(volt_tls_context *context);

#endif
