/* tls.h: TLS 1.2 and 1.3 over a descriptor, as futures, by OpenSSL 3.
 *
 *   volt_tls_context *context;                         once, for many connections
 *   volt_tls_context_create(&context, VOLT_TLS_CLIENT, NULL, why, sizeof why);
 *   ...
 *   VOLT_AWAIT(self, volt_dial_future(&self->dial, rt, &self->fd, "example.org:443", NULL));
 *   result = volt_tls_init(&self->tls, context, &self->fd, "example.org");
 *   VOLT_AWAIT(self, volt_tls_handshake_future(&self->op, &self->tls));
 *   VOLT_AWAIT(self, volt_tls_send_all_future(&self->op, &self->tls, request, size));
 *   VOLT_AWAIT(self, volt_tls_recv_future(&self->op, &self->tls, self->buffer, SIZE));
 *   if (self->op.n == 0) ...                           the peer has said that it sends no more
 *   VOLT_AWAIT(self, volt_tls_close_future(&self->op, &self->tls));
 *
 * A client checks the chain of the server's certificate and its name, unless its context says
 * otherwise. There is no renegotiation, no compression, no early data, and nothing below TLS 1.2.
 * Keys of less than 112 bits of security (RSA below 2,048 bits) and signatures by SHA-1 are
 * refused: OpenSSL's security level is 2, whatever the system's openssl.cnf says. (The list of ciphers may
 * say otherwise, by @SECLEVEL.)
 *
 * An operation is a future in the caller's memory, as in volt/io.h: a task awaits it, a thread
 * blocks for it, it has a deadline by volt_timeout_future(), and can be a branch of a select.
 * From its first poll until it is ready or was cancelled, its volt_tls_op and its buffer belong to the
 * operation, and its volt_tls stays where it is.
 *
 * What a cancel leaves behind
 * - A recv that is cancelled, times out, or loses a select has moved nothing: what is decrypted
 *   stays for the next one.
 * - A send has encrypted, and so committed, volt_tls_op.n bytes; 0: nothing. What is committed is
 *   sent by the next operation that begins on the stream, before anything else. So the next send
 *   continues behind these n bytes. A send of 0 bytes sends what is committed, and no more. In a
 *   select a send may lose after it has committed bytes: n says so.
 * - A handshake that has begun and is cancelled, or loses a select, ends the stream: every operation
 *   then polls as VOLT_ECANCELED, and volt_tls_why() says it.
 * - A shutdown can be made again, and goes on.
 * - A close that has begun is awaited.
 *
 * One task may receive and one may send at the same time; a second one that receives, or that sends,
 * aborts with a message. A handshake, a shutdown and a send are one at a time, too. The
 * descriptor must not be used beside the stream.
 *
 * The end: a recv with n == 0 says that the peer has sent its close_notify. A connection that ends
 * without it was cut off: that is VOLT_TLS_ETRUNCATED, and never an end of data.
 *
 * A program that waits for its descriptors itself uses volt_tls_try_recv() and its like, which do not wait.
 *
 * Memory: a stream that waits keeps no record buffers. OpenSSL allocates them when records move;
 * what the socket has no room for is kept, encrypted, until it is sent. Nothing is allocated for a wait. The
 * text of a key is read into memory that is wiped, and OpenSSL wipes keys and buffers of plaintext that
 * it releases (the latter not with VOLT_TLS_NO_WIPE); but while it decodes a key, it may leave parts of
 * it in memory that it has freed.
 *
 * Results: VOLT_OK; VOLT_TLS_E...; VOLT_ERRNO(e) of the socket. After one of VOLT_TLS_EEXPIRED,
 * ENOTYET, ENAME, EUNTRUSTED, EREVOKED, EPROTOCOL, EREFUSED, ETRUNCATED, of VOLT_ENOMEM or of an error of
 * the socket the stream has ended: all operations but a close say the same, and volt_tls_why() has the
 * reason for a log. So a peer that has only ended its direction of TCP, without close_notify, is not
 * answered any more. */
#ifndef VOLT_TLS_H
#define VOLT_TLS_H

#include "io.h"
#include "latch.h"
#include "mutex.h"

/* ---- contexts ---- */

/* Opaque, counted. Certificates, trust, versions, tickets: what many streams have in common. */
typedef struct volt_tls_context volt_tls_context;

enum volt_tls_role { VOLT_TLS_SERVER = 1, VOLT_TLS_CLIENT = 2 };

/* For volt_tls_config. 0: as the library does it: 1.2 at least, and 1.3 at most. */
enum volt_tls_protocol { VOLT_TLS_1_2 = 2, VOLT_TLS_1_3 = 3 };

/* For volt_tls_config.flags. */
enum volt_tls_flags {
  VOLT_TLS_ASK_CLIENT = 1,     /* server: asks for a certificate, and checks it if one comes */
  VOLT_TLS_REQUIRE_CLIENT = 2, /* server: refuses a client without one */
  VOLT_TLS_ANY_NAME = 4,       /* client: checks the chain, but no name */
  VOLT_TLS_NO_CHECKS = 8,      /* client: takes any certificate. For tests alone */
  VOLT_TLS_NO_TICKETS = 16,    /* server: every connection begins with a full handshake */
  VOLT_TLS_NO_WIPE = 32 /* plaintext is not wiped in buffers that are released, which are 16 KiB
                                * for each record that is received alone. Keys are */
};

/* What a context is made of. All-zero: the defaults. certificates, key, trust and revoked are paths
 * of regular files, or, if they have a new line or "-----BEGIN", the text itself, in PEM form. All is
 * read within the call. What stands in key is in no words of a failure. */
typedef struct volt_tls_config {
  const char *certificates; /* its own, and then those that lead to the root; NULL: none, which a
                             * server does not do without */
  const char *key;          /* NULL: it is among certificates. Without a passphrase */
  const char *trust;        /* roots; NULL: a client takes the system's, a server has none */
  const char *revoked;      /* CRLs; NULL: none. With one, each peer's certificate needs the CRL of
                             * its issuer */
  const char *alpn;         /* such as "h2,http/1.1", the preferred one first; NULL: none. A server
                             * refuses a client that offers only others. A client whose server has
                             * chosen none goes on: volt_tls_alpn() is "" then, and it has to check */
  const char *ciphers; /* of TLS 1.2, as OpenSSL's SSL_CTX_set_cipher_list(); NULL: OpenSSL's */
  const char *suites;  /* of TLS 1.3; NULL: OpenSSL's */
  unsigned least;      /* of volt_tls_protocol */
  unsigned most;
  unsigned flags; /* of volt_tls_flags */
  uint64_t reserved[2];
} volt_tls_config;

/* A key for session tickets: volt_tls_ticket_key_make(), or the same bytes in several processes. */
typedef struct volt_tls_ticket_key {
  unsigned char bytes[80];
} volt_tls_ticket_key;

/* How many keys a context has at most: it encrypts with the first. */
#define VOLT_TLS_TICKET_KEYS 4

VOLT_BEGIN_DECLS

/* Make a context. The caller holds it.
 * out: the caller's; untouched unless VOLT_OK. role: of volt_tls_role. config: read within the call;
 *   NULL: the defaults. why: the reason of a failure in words, at most why_size bytes with the 0 at
 *   its end; or NULL.
 * Returns VOLT_OK; VOLT_EINVAL: an argument is out of range, a certificate, key, CRL, list of
 *   ciphers or of protocols cannot be used, or a path is of no regular file, such as a FIFO, which is
 *   not waited for; VOLT_ERRNO(e): a file cannot be read; VOLT_ENOMEM.
 * Threads: any. It reads files, and allocates. */
VOLT_API VOLT_NODISCARD int volt_tls_context_create(volt_tls_context **out, enum volt_tls_role role,
                                                    const volt_tls_config *config, char *why,
                                                    size_t why_size);

/* Load a context anew, such as when certificates have been renewed. Streams that are initialised from
 * now on have the new certificates, trust and protocols; those before keep what they have, until they
 * are closed. Ticket keys, names and the log of keys stay as they are. A session is not taken up any
 * more if it began with other bytes of trust or of CRLs (of a server: if it asks clients for a
 * certificate). Else it lasts for 2 hours from its full handshake, also if a certificate expires
 * in between.
 * After a failure the context is as before. Else as volt_tls_context_create(). */
VOLT_API VOLT_NODISCARD int volt_tls_context_reload(volt_tls_context *c,
                                                    const volt_tls_config *config, char *why,
                                                    size_t why_size);

/* Hold the context once more. Returns c. Threads: any that hold it already. */
VOLT_API volt_tls_context *volt_tls_context_hold(volt_tls_context *c);

/* Give up one hold: the last frees the context, and wipes its keys. Each stream holds its context,
 * from volt_tls_init() until it is closed.
 * c: NULL: nothing is done. Threads: any. */
VOLT_API void volt_tls_context_drop(volt_tls_context *c);

/* Let a server's context pass clients that ask for a name on to another one (SNI). A client that
 * asks for a name that is not here, or for none, gets c itself. The protocols (least, most) and ticket
 * keys are always those of c; all else, VOLT_TLS_NO_TICKETS among it, is of the other one.
 * name: "www.example.org", or "*.example.org" for all with one label more; copied. Capitals
 *   do not count. other: a server's; c holds it; NULL: forget the name.
 * Returns VOLT_OK; VOLT_EINVAL: it is no server's, or name is empty or longer than 253 bytes;
 *   VOLT_ENOMEM. Threads: any. */
VOLT_API VOLT_NODISCARD int volt_tls_context_name(volt_tls_context *c, const char *name,
                                                  volt_tls_context *other);

/* Make a new random ticket key. Returns VOLT_OK; VOLT_ENOMEM: OpenSSL has no random numbers.
 * Threads: any. */
VOLT_API VOLT_NODISCARD int volt_tls_ticket_key_make(volt_tls_ticket_key *key);

/* Set the ticket keys of a server's context: new tickets are encrypted with the first; a ticket that
 * comes is taken if one of them has made it, and renewed if that is not the first; with TLS 1.3
 * always, because clients use each once. A new one lasts no longer than the one before. A new context has
 * one key that is random. To rotate, put a new key before the others and leave the oldest out.
 * Processes that share keys take each other's tickets.
 * keys: count of them, 1 to VOLT_TLS_TICKET_KEYS; copied.
 * Returns VOLT_OK; VOLT_EINVAL: it is no server's, or count is out of range. Threads: any. */
VOLT_API VOLT_NODISCARD int volt_tls_context_tickets(volt_tls_context *c,
                                                     const volt_tls_ticket_key *keys,
                                                     unsigned count);

/* Append the secrets of all streams whose handshake is from now on to a file, in the form of
 * SSLKEYLOGFILE: with it, recorded traffic can be read. The library never does so by itself.
 * path: of a regular file; NULL: no more. Returns VOLT_OK; VOLT_EINVAL: it is no regular file, such as
 *   a FIFO; VOLT_ERRNO(e). Threads: any. */
VOLT_API VOLT_NODISCARD int volt_tls_context_log_keys(volt_tls_context *c, const char *path);

VOLT_END_DECLS

/* ---- streams ---- */

/* Members are private. One side of a TLS connection. From the first operation on it must not move
 * until it is closed. All-zero: none. */
typedef struct volt_tls {
  VOLT_PLAIN(struct ssl_st *) ssl; /* under the lock, like all that follows but for the atomics */
  VOLT_PLAIN(volt_tls_context *) context;
  volt_tls_context *named; /* the one that the client's SNI has chosen; NULL: context */
  volt_fd *fd;
  volt_mutex lock;
  volt_latch under_way; /* operations that have begun and not ended */
  char *rest;           /* records that the socket had no room for: bytes from..until; NULL: none */
  uint32_t rest_from, rest_until, rest_room;
  char *early; /* bytes of volt_tls_feed(): early_from..early_until; NULL: none */
  uint32_t early_from, early_until;
  VOLT_ATOMIC(uint32_t) uses; /* which operations are under way, a bit for each; and its end */
  int error;                  /* what has ended it, or VOLT_OK */
  int send_error;             /* of the socket */
  const char *why;
  VOLT_PLAIN(uint8_t) stage;
  uint8_t is_server;
  uint8_t is_drained; /* the socket was found empty in this step */
  uint8_t reads;      /* of the socket in this step */
  uint8_t is_cut;     /* the step has read as much as one may */
  uint8_t has_eof;    /* of the socket */
  uint8_t has_ended;  /* the peer's close_notify has come */
  uint8_t is_shut;    /* its own was sent, or is in rest */
  VOLT_PLAIN(uint8_t) is_closing;
  uint8_t gathers;        /* what is written goes to rest, and is sent as one */
  uint8_t events;         /* of the last try */
  uint8_t is_dry;         /* the last recv has found the end of what was in the socket */
  unsigned char area[32]; /* a client's: what its sessions are of */
} volt_tls;
VOLT_SIZE_AT_MOST_(volt_tls, 384);

/* One operation. n: how many bytes were received, or are committed, exact whatever the result is.
 * All else is private. */
typedef struct volt_tls_op {
  volt_future future;
  size_t n;
  volt_tls *stream;
  void *to;
  const void *from;
  size_t size;
  union volt_tls_op_waits_ {
    volt_op ready; /* of the socket; or its close */
    volt_future lock;
    VOLT_UNION_LIKE_(volt_tls_op_waits_, ready)
  } on;
  int result;
  uint8_t kind;
  uint8_t waits;
  uint8_t has_begun;
} volt_tls_op;
VOLT_SIZE_AT_MOST_(volt_tls_op, 512);

VOLT_BEGIN_DECLS

/* Make *t a stream over *d. It allocates what OpenSSL needs for one connection. Nothing is sent yet.
 * t: the caller's; its content is overwritten. context: t holds it until it is closed. d: a stream
 *   socket that is connected; the caller's, and t's until that is closed. name: of the server that a
 *   client wants, which it asks for (SNI) and checks the certificate for; or its address as text,
 *   which is only checked; copied. A name has letters of ASCII, digits, '-', '_', and dots between its
 *   labels: one of other letters is given as its A-labels ("xn--..."). A dot at its end is left out.
 *   A server: NULL. A client may have NULL with VOLT_TLS_ANY_NAME or VOLT_TLS_NO_CHECKS.
 * Returns VOLT_OK; VOLT_EINVAL: a name where there is to be none, none where there is to be one, or
 *   one that is no name; VOLT_ENOMEM. Then *t is closed, and *d the caller's.
 * Threads: the owner. */
VOLT_API VOLT_NODISCARD int volt_tls_init(volt_tls *t, volt_tls_context *context, volt_fd *d,
                                          const char *name);

/* A future of the handshake, which comes before all other operations. It is ready when this side has
 * sent its part, too, but for session tickets of TLS 1.3, which the next operation sends.
 * op: the caller's, for this operation.
 * Returns the future: polls as VOLT_OK; VOLT_TLS_EEXPIRED, VOLT_TLS_ENOTYET, VOLT_TLS_ENAME,
 *   VOLT_TLS_EUNTRUSTED, VOLT_TLS_EREVOKED: the peer's certificate was refused;
 *   VOLT_TLS_EREFUSED: the peer has refused; VOLT_TLS_EPROTOCOL; VOLT_TLS_ETRUNCATED;
 *   VOLT_EINVAL: it was made before; VOLT_ECANCELED; VOLT_ECLOSED; VOLT_ENOMEM; VOLT_ERRNO(e).
 *   With TLS 1.3 a server may refuse a client after the client's handshake: then the client's next
 *   recv polls as VOLT_TLS_EREFUSED.
 * Wakes: once. Cancel: ends the stream. Threads: any may poll it. */
VOLT_API VOLT_NODISCARD volt_future *volt_tls_handshake_future(volt_tls_op *op, volt_tls *t);

/* A future that waits until something is there, and receives that, at most size bytes. op->n is how
 * many; 0: the peer has said that it sends no more, and so say all that follow.
 * to: size bytes (0, or NULL: VOLT_EINVAL).
 * Returns the future: polls as VOLT_OK; VOLT_TLS_ETRUNCATED: the connection ended without
 *   close_notify; VOLT_TLS_EPROTOCOL; VOLT_TLS_EREFUSED; VOLT_EINVAL: there was no handshake;
 *   VOLT_ECANCELED; VOLT_ECLOSED; VOLT_ENOMEM; VOLT_ERRNO(e).
 * Wakes: once. Cancel: nothing was moved. Threads: any may poll it. */
VOLT_API VOLT_NODISCARD volt_future *volt_tls_recv_future(volt_tls_op *op, volt_tls *t, void *to,
                                                          size_t size);

/* A future that sends one record, of at most size and at most 16,384 bytes: op->n is how many. It is
 * ready when the socket has taken it. With TLS 1.3, while half a message of control of the peer was
 * received, it waits for the other half.
 * from: size bytes; 0: send what an earlier operation has committed.
 * Returns the future: polls as VOLT_OK; VOLT_ECLOSED: the stream was shut down, or is being closed;
 *   VOLT_EINVAL: there was no handshake; VOLT_ECANCELED: op->n bytes are committed; VOLT_ENOMEM;
 *   VOLT_ERRNO(e); what has ended the stream.
 * Wakes: once. Cancel: op->n says what is committed. Threads: any may poll it. */
VOLT_API VOLT_NODISCARD volt_future *volt_tls_send_future(volt_tls_op *op, volt_tls *t,
                                                          const void *from, size_t size);

/* A future that sends all size bytes. Else as volt_tls_send_future(). */
VOLT_API VOLT_NODISCARD volt_future *volt_tls_send_all_future(volt_tls_op *op, volt_tls *t,
                                                              const void *from, size_t size);

/* A future that says that nothing more will be sent (close_notify), behind all that is committed. To
 * receive is still possible. A second one does nothing. Else as volt_tls_send_future(). */
VOLT_API VOLT_NODISCARD volt_future *volt_tls_shutdown_future(volt_tls_op *op, volt_tls *t);

/* A future that ends what is under way on *t, closes its descriptor, and frees what it has. Before, it
 * sends close_notify, if the socket has room for it at once, nothing that is committed is unsent, and no
 * half of a message of control was received; the peer's is not awaited. To know that the peer has
 * received all, shut it down, and receive until n is 0, before. Operations that had not been done end
 * with VOLT_ECLOSED. When it is ready, *t is closed, and may be freed or initialised again.
 * Returns the future: polls as VOLT_OK, or as volt_fd_close_future(); VOLT_EINVAL: *t is closed, or
 *   is being closed.
 * Wakes: once. Cancel: a close that has begun is awaited. It waits until each operation that is under
 *   way has been polled to its end, or was cancelled: they are woken. An owner that keeps such an
 *   operation itself cancels it before. volt_future_cancel() of a close that has begun blocks until
 *   they have ended: not on the thread that polls them, such as the only worker of their tasks.
 * Threads: any, also while other threads poll operations on it. An operation that begins once this one
 *   has polls as VOLT_ECLOSED; one that begins when *t was freed uses freed memory. */
VOLT_API VOLT_NODISCARD volt_future *volt_tls_close_future(volt_tls_op *op, volt_tls *t);

/* The same at once, on this thread. No operation may be under way (aborts). Does nothing if *t is
 * all-zero or closed. Threads: the owner. */
VOLT_API void volt_tls_close(volt_tls *t);

/* Close *t at once, as volt_tls_close(), and do not say the end (close_notify): the peer finds that the
 * connection was cut off. It is for what was sent in part, or ends for a failure.
 * What is committed and unsent is thrown away, and what the peer has not received yet may be lost. No
 * operation may be under way (aborts). Does nothing if *t
 * is all-zero or closed. Threads: the owner. */
VOLT_API void volt_tls_cut_off(volt_tls *t);

/* ---- without waiting: for a program that has a loop of its own ----
 *
 * Each does what can be done now, and never waits. VOLT_EAGAIN: wait until the descriptor is ready for
 * volt_tls_events(), such as by volt_fd_ready_future(), and try again. No operation may be under way beside
 * them (aborts): a stream is used by futures or by tries, one after the other. */

/* Say what the last try on *t has left to wait for, as events of poll(): POLLIN: all that had come is
 * received; POLLOUT: bytes are committed and unsent, and the next try of any kind sends them before all
 * else. After VOLT_EAGAIN: what has to be awaited. After VOLT_OK of a handshake or a recv: POLLIN says that
 * the next recv would find nothing. 0: nothing has to be awaited. One try reads the socket a few times at most, so
 * after VOLT_EAGAIN there may be bytes in it still: what is awaited is that it is ready, and not that it becomes so.
 * Threads: the owner. */
VOLT_API unsigned volt_tls_events(const volt_tls *t);

/* Give *t bytes that were received of the peer already: they are read before those of the descriptor.
 * Once, before the handshake.
 * from: size bytes, copied. size: 0: nothing is done.
 * Returns VOLT_OK; VOLT_EINVAL: the handshake has begun, *t has such bytes already, or is closed;
 *   VOLT_ENOMEM. Threads: the owner. */
VOLT_API VOLT_NODISCARD int volt_tls_feed(volt_tls *t, const void *from, size_t size);

/* Go on with the handshake. Returns VOLT_OK: it is done; VOLT_EAGAIN; else as
 * volt_tls_handshake_future(). One that is not gone on with is ended by a close.
 * Threads: the owner. */
VOLT_API VOLT_NODISCARD int volt_tls_try_handshake(volt_tls *t);

/* Receive what is there, at most size bytes. *n: how many; 0 with VOLT_OK: the peer has said that it sends
 * no more.
 * to: size bytes (0, or NULL: VOLT_EINVAL).
 * Returns VOLT_OK, VOLT_EAGAIN, else as volt_tls_recv_future(). Threads: the owner. */
VOLT_API VOLT_NODISCARD int volt_tls_try_recv(volt_tls *t, void *to, size_t size, size_t *n);

/* Commit some of size bytes: up to two records, 32,768 bytes, which go by one call of the socket.
 * Nothing is committed while an earlier part is unsent. *n: how many are committed, exact whatever the
 * result is: what is committed is encrypted, and is sent by the next try, so the caller goes on behind it.
 * from: size bytes; 0: send what is committed; VOLT_OK: nothing of it is left.
 * Returns VOLT_OK: *n are committed; volt_tls_events() says whether all of it is sent; VOLT_EAGAIN: none is;
 *   else as volt_tls_send_future(). Threads: the owner. */
VOLT_API VOLT_NODISCARD int volt_tls_try_send(volt_tls *t, const void *from, size_t size,
                                              size_t *n);

/* Say that nothing more will be sent (close_notify), behind all that is committed. Returns VOLT_OK: it was
 * sent; VOLT_EAGAIN; else as volt_tls_shutdown_future(). Threads: the owner. */
VOLT_API VOLT_NODISCARD int volt_tls_try_shutdown(volt_tls *t);

/* ---- what it is ---- */

/* Say why the stream has failed, in words for a log. Returns the text, in static memory; "": it has
 * not. Threads: the owner, while no operation is under way. */
VOLT_API const char *volt_tls_why(const volt_tls *t);

/* The protocol, "TLSv1.3" or "TLSv1.2"; the cipher; the protocol that ALPN has chosen, at most 255
 * bytes, of which room - 1 are written and a 0.
 * Returns the text, or "" before the handshake, or if there is none. It lives as long as *t, or is to.
 * Threads: the owner, after the handshake. */
VOLT_API const char *volt_tls_version(const volt_tls *t);
VOLT_API const char *volt_tls_cipher(const volt_tls *t);
VOLT_API const char *volt_tls_alpn(const volt_tls *t, char *to, size_t room);

/* Write the name of the peer's certificate: its subject, as in RFC 2253; "" if it has sent none.
 * Returns to. Threads: the owner, after the handshake. */
VOLT_API const char *volt_tls_peer(const volt_tls *t, char *to, size_t room);

/* Write what a login can be bound to (RFC 5929, tls-server-end-point): a hash of the server's certificate,
 * by the hash of its signature, SHA-256 in place of MD5 and SHA-1. The same on both sides.
 * to: room bytes; 64 are enough. *size: how many it has, also if that is more than room.
 * Returns VOLT_OK; VOLT_EINVAL: there was no handshake or no certificate, its signature has no hash of its
 *   own (Ed25519), or room is less than *size. Threads: the owner, after the handshake. */
VOLT_API VOLT_NODISCARD int volt_tls_end_point(const volt_tls *t, void *to, size_t room,
                                               size_t *size);

/* Read the name that the client has asked for (SNI), on both sides. Returns "" if it has not.
 * Threads: the owner, after the handshake. */
VOLT_API const char *volt_tls_asked(const volt_tls *t);

/* Whether the handshake has taken up an earlier session. Threads: the owner, after the handshake. */
VOLT_API bool volt_tls_is_resumed(const volt_tls *t);

/* ---- sessions of a client ---- */

/* Write the session, for a later connection to the same server. With TLS 1.3 it comes with what is
 * received first. It is secret: it has keys.
 * to: room bytes. *size: how many it has, also if that is more than room.
 * Returns VOLT_OK; VOLT_EAGAIN: there is none that could be taken up, an operation uses the stream
 *   just now, or it is closed or being closed; VOLT_EINVAL: room is less than *size.
 * Threads: any, also beside a volt_tls_close_future(), which waits for it; not beside a
 *   volt_tls_close(). */
VOLT_API VOLT_NODISCARD int volt_tls_session_save(volt_tls *t, void *to, size_t room, size_t *size);

/* Take up a session, before the handshake. The server decides whether it does, too
 * (volt_tls_is_resumed()); else it is a full handshake. The certificate was checked when the session
 * began, and is not checked again while the session lasts: for 2 hours from its full handshake, as a
 * server of this library has it.
 * from: size bytes, of volt_tls_session_save(). Returns VOLT_OK; VOLT_EINVAL: they are no session, the
 *   stream of the session had another name, or a context with other checks (flags, bytes of trust or
 *   of CRLs), or the handshake has begun; it begins without a session then. Threads: the owner. */
VOLT_API VOLT_NODISCARD int volt_tls_session_load(volt_tls *t, const void *from, size_t size);

VOLT_END_DECLS
#endif
