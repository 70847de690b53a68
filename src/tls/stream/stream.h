/* stream.h: one side of a TLS connection.
 *
 * OpenSSL reads and writes through a BIO of our own (wire.c), which makes the calls of the socket
 * that do not wait: not through BIOs in memory, because each byte would be copied once more, and a
 * stream that waits would keep their buffers. With SSL_MODE_RELEASE_BUFFERS OpenSSL has no buffer of
 * records while it waits for the first byte of one.
 *
 * Writing never waits inside OpenSSL: the BIO takes all, and what the socket has no room for stays in
 * `rest`. So SSL_write() either encrypts nothing or commits a record, no call has to be repeated with
 * the same bytes (which a cancel may have taken away), and a record that is committed is sent by
 * whatever operation comes next. Two records of one send are gathered in `rest`, and go by one call.
 * Records of control (an answer to a KeyUpdate, an alert) go the same way, also if recv makes them.
 *
 * An operation that is a future is a loop: take the lock; make one step, which does not wait; release the lock; if the
 * step says VOLT_EAGAIN, await that the socket is ready for what the step has named. What it awaits
 * moves nothing, so a cancel there undoes nothing.
 *
 * A try (tls_try.c) is one step, without the lock: no operation is under way beside it. What the step would
 * await is kept in `events`, for the caller, which waits.
 *
 *   operation   uses       a step                                            it awaits
 *   handshake   both       SSL_do_handshake(), then rest is sent             in; out while rest
 *   recv        RECEIVES   rest is tried once; SSL_read()                    in, perhaps first (I8); out while rest
 *   send        SENDS      rest is sent; SSL_write(), a record or two        out; in (R7)
 *   shutdown    SENDS      rest is sent; SSL_shutdown()                      out; in (R7)
 *   close       CLOSES     close_notify is tried; descriptor; under_way      -
 *
 * The stage: NEW -> HANDSHAKE -> OPEN. `error` is what has ended it, whatever the stage.
 *
 * Invariants
 *   I1  ssl and rest are used by the holder of `lock` alone, or where no operation is under way. The
 *       lock is awaited as a future, and never held across a wait: it is released before a poll
 *       returns. The SSL object is not safe for two threads, not even one that reads and one that writes.
 *   I2  A byte of plaintext is counted in op->n in the same hold of the lock in which OpenSSL has
 *       given or taken it.
 *   I3  The bytes on the wire are the records in the order in which OpenSSL has made them: what is
 *       written while rest is not empty goes behind it.
 *   I4  rest is bounded. A send writes only when rest is empty, and then less than REST_MAX. While rest has more
 *       than REST_MAX, the BIO does not read, so OpenSSL has nothing to answer. So rest has at most
 *       REST_MAX, and behind that the answers to what one read of the socket has brought: a peer that
 *       sends KeyUpdates, and does not read the answers, does not make it grow. Nor does a peer keep a
 *       step going by records that have no data: after READS reads the BIO says that there is no more,
 *       and the step ends as VOLT_PENDING, with a yield: others run, and deadlines are seen.
 *   I5  rest is not NULL only while it has bytes.
 *   I6  under_way counts the operations that have begun and not ended; uses has their bits. The end of an
 *       operation gives up both, as its last access to the stream. A session that is saved counts itself
 *       in under_way in the same way, and has no bit.
 *
 *   I8  A recv that is a future waits for the socket before its first step, if the last recv has found the socket
 *       empty (is_dry). That is a hint, which may be old: it saves a step that finds nothing, and so a
 *       call of the system and a buffer of OpenSSL's. What has to be so is that OpenSSL has nothing
 *       that was received, and knows of no end: then all that this recv can find has to come through
 *       the socket, and the wait ends when it is there (R4).
 *
 * Races
 *   R1  Interleaving: a recv in a select decrypts; another thread grants another branch of the
 *       select; the bytes are in the loser's buffer. Prevented by: in a select a step first makes
 *       sure that there is plaintext (SSL_peek(), which leaves it), then takes the decision, then
 *       reads.
 *   R2  Interleaving: an operation has been woken, and is about to take the lock; another thread
 *       closes the stream and frees it. Prevented by: the close waits until under_way is 0, which
 *       each operation counts from its first poll to its end (I6).
 *   R3  Interleaving: the close has ended the wait of an operation for the socket; the operation
 *       begins another one on a descriptor that is gone. Prevented by: is_closing is set under the
 *       lock before the descriptor is closed, and each step looks at it first. The descriptor's
 *       memory is the caller's until the close is ready.
 *   R6  Interleaving: the close has found that no operation is under way, and frees what the stream has;
 *       another thread begins an operation. Prevented by: an operation counts itself in under_way, and
 *       then looks at CLOSES; the close sets CLOSES, and then waits for under_way. So it waits for the
 *       operation, or that sees CLOSES, which stays set, and touches nothing else of the stream.
 *   R4  Interleaving: a recv waits for bytes that have come already, also before its first step. Prevented by:
 *       readiness is that of volt_fd_ready_future(), which looks again after it has registered.
 *
 *   R7  Interleaving: a recv has received half a message of control (a session ticket in two records),
 *       and waits for the socket; a send cannot write before the other half, and receives it, with
 *       data that is behind it; the recv waits on. Prevented by: the send reads nothing ahead, so
 *       the data is in the socket still. If what it reads ends the stream, it shuts the socket's
 *       direction down, which wakes the recv.
 *
 * Labels: tls */
#ifndef VOLT_TLS_STREAM_STREAM_H
#define VOLT_TLS_STREAM_STREAM_H

#include "../context/context.h"

/* volt_tls.stage */
enum { VOLT_TLS_NEW_ = 0, VOLT_TLS_HANDSHAKE_, VOLT_TLS_OPEN_ };

/* volt_tls.uses */
enum {
  VOLT_TLS_RECEIVES_ = 1,
  VOLT_TLS_SENDS_ = 2,
  VOLT_TLS_CLOSES_ = 4,
  VOLT_TLS_DROPPED_ = 8 /* the handshake was cancelled */
};

/* READS: of the socket in one step, each of a record and what is behind it. */
enum { VOLT_TLS_RECORD_ = 16384, VOLT_TLS_REST_MAX_ = 49152, VOLT_TLS_READS_ = 4 };

/* volt_tls_op.kind */
enum {
  VOLT_TLS_OP_HANDSHAKE_,
  VOLT_TLS_OP_RECV_,
  VOLT_TLS_OP_SEND_, /* one record */
  VOLT_TLS_OP_SEND_ALL_,
  VOLT_TLS_OP_SHUTDOWN_,
  VOLT_TLS_OP_CLOSE_,
  VOLT_TLS_OP_SEND_SOME_ /* a record or two: of a try */
};

/* ---- step.c. Under the lock, or where no operation is under way ---- */

/* One step of an operation. ctx: decision, in; yield, out.
 * Returns VOLT_EAGAIN: *events are to be awaited; VOLT_PENDING: another step may find more, and others are
 * to run before, or a select has decided against it; else its result: then *events are what is to be
 * awaited before a step of the same kind, 0: nothing. */
int volt_tls_step_(volt_tls_op *op, volt_ctx *ctx, unsigned *events);

/* Whether a recv that begins is to wait for the socket before it makes a step (I8); once after each recv. */
bool volt_tls_waits_first_(volt_tls *t);

/* ---- wire.c. Under the lock ---- */

/* Give t->ssl its BIO. Returns false: there is no memory. */
bool volt_tls_wire_(volt_tls *t);

/* Send what is in rest, as far as there is room. */
void volt_tls_wire_flush_(volt_tls *t);

void volt_tls_wire_free_rest_(volt_tls *t);

/* Forget the bytes that had come before. */
void volt_tls_wire_free_early_(volt_tls *t);

static inline uint32_t volt_tls_rest_(const volt_tls *t) {
  return t->rest_until - t->rest_from;
}

/* ---- failure.c. Under the lock ---- */

/* A call of OpenSSL has returned `returned`, which is no success. Returns VOLT_EAGAIN: more has to be
 * received; VOLT_OK: the peer has sent its close_notify; else what has ended the stream, which is
 * noted. */
int volt_tls_failed_(volt_tls *t, int returned);

/* ---- end.c ---- */

/* Make sure that a record can be written. Returns VOLT_OK; VOLT_EAGAIN: half a message of the peer was
 * received, and the other half has to come before; else what has ended the stream. */
int volt_tls_send_begin_(volt_tls *t);

/* Say that nothing more is sent, if that has not been said; it may be in rest then. Returns as
 * volt_tls_send_begin_(): it was not said unless VOLT_OK. */
int volt_tls_send_end_(volt_tls *t);

/* The last of what it does on the wire, without a wait: its end, if there is room. From now on no step is
 * made. */
void volt_tls_part_(volt_tls *t);

/* Free all that it has: it is closed. Nothing is under way. */
void volt_tls_free_(volt_tls *t);

#endif
