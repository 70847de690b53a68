/* permit_client.h: permits of a voltgate, over a socket, as futures.
 *
 * For processes that share a machine, a GPU, a licence: the amounts of a volt_budget, but what grants
 * them is another process, a voltgate whose gate has `protocol = permit`. A connection holds at most
 * one permit. The kernel closes it when its process dies, so a permit never outlives its holder.
 *
 *   volt_permit_client broker;
 *   const volt_permit_request job = {.text = "cores=2 memory=4G", .label = "nightly"};
 *   volt_permit_client_init(&broker, rt);
 *   VOLT_AWAIT(self, volt_permit_client_connect_future(&broker, "unix:/run/voltgate/permits.sock"));
 *   VOLT_AWAIT(self, volt_permit_client_acquire_future(&broker, &job));
 *   ... the task has two cores and 4 GiB ...
 *   VOLT_AWAIT(self, volt_permit_client_release_future(&broker, NULL));
 *   volt_permit_client_close(&broker);
 *
 * A client is in the caller's memory, with its connection, its buffers and the future that its
 * operations return. Nothing is allocated, except for the lookup if the gate is dialled by a name.
 * One operation at a time is under way: a second one aborts with a message.
 *
 * What a cancel leaves behind
 * An acquire that is cancelled, times out, or loses a select never leaves a permit held.
 * volt_permit_client_outcome() says which of these it is:
 * - VOLT_PERMIT_NOT_ASKED: nothing of the request was sent. It was never granted.
 * - VOLT_PERMIT_LEFT: the request was sent, and no grant was seen. The client has sent a `give`, which
 *   leaves the queue; if the socket has no room, the `give` goes out before anything else.
 * - VOLT_PERMIT_RETURNED: it was granted, and the `give` gives it back.
 * A cancel waits for nothing. A grant that is on its way meanwhile is given back by the same `give`:
 * LEFT becomes RETURNED when the next operation reads it. After volt_permit_client_settle_future()
 * the outcome is final. A client may acquire again at once: the gate answers in order.
 *
 * A permit is lost when its connection ends while it is held: the gate has ended, or has let it
 * go. volt_permit_client_lost_future() says so; so do the other operations. To hold on, close,
 * connect again, and acquire with VOLT_PERMIT_CLAIM.
 *
 * Results are VOLT_OK, codes of volt, or VOLT_ERRNO(e) of the socket. When the gate refuses,
 * volt_permit_client_words() has its words, such as "impossible: cores: 64 asked for, the limit is 8". */
#ifndef VOLT_PERMIT_CLIENT_H
#define VOLT_PERMIT_CLIENT_H

#include "async.h"
#include "io.h"
#include "net.h"
#include "watch.h"

/* The sizes of a kind's name and of a permit's id, with the 0 at their ends. */
#define VOLT_PERMIT_NAME 32
/* How many kinds a permit has at most. */
#define VOLT_PERMIT_KINDS 8
/* The longest line of the protocol, with its end. */
#define VOLT_PERMIT_LINE 1024
/* How much of a label or a command is sent. */
#define VOLT_PERMIT_TEXT 128
/* What volt_permit_client_words() has at most, with the 0. */
#define VOLT_PERMIT_WORDS 256

/* An amount of a kind: {"cores", 2}. */
typedef struct volt_permit_amount {
  char kind[VOLT_PERMIT_NAME]; /* a small letter, then small letters, digits, '-' and '_' */
  uint64_t amount;
} volt_permit_amount;

/* For volt_permit_request.flags. */
enum volt_permit_flags {
  VOLT_PERMIT_NOW = 1,  /* at once, or not at all: VOLT_EAGAIN */
  VOLT_PERMIT_CLAIM = 2 /* the caller held this when the gate ended, and holds on to it */
};

/* What is asked for. All-zero but for text or amounts: wait for as long as that takes. */
typedef struct volt_permit_request {
  const char *text; /* "cores=2 memory=4G": with spaces or commas; K M G T are powers of 1024. NULL:
                     * amounts */
  const volt_permit_amount *amounts;
  unsigned count;      /* of amounts */
  unsigned flags;      /* of volt_permit_flags */
  uint64_t wait_ns;    /* how long the gate lets it wait, in whole milliseconds; 0: for ever */
  const char *label;   /* shown by the gate; cut off behind VOLT_PERMIT_TEXT bytes. NULL: none */
  const char *command; /* the same */
  uint64_t reserved[2];
} volt_permit_request;

/* How the last acquire has ended that was given up. */
enum volt_permit_outcome {
  VOLT_PERMIT_KEPT = 0,      /* none was given up since the last one began */
  VOLT_PERMIT_NOT_ASKED = 1, /* nothing of it was sent: it was never granted */
  VOLT_PERMIT_LEFT = 2,      /* it has left the queue; no grant was seen */
  VOLT_PERMIT_RETURNED = 3   /* it was granted, and given back */
};

/* Members are private. A connection to a gate. It must not move before it is closed. */
typedef struct volt_permit_client {
  volt_future future; /* of what is under way */
  volt_async async;
  volt_rt *rt;
  volt_fd fd;
  volt_dial dial;
  volt_op op;
  volt_watch places; /* of place */
  uint32_t place;    /* under the lock of places */
  uint32_t held_count;
  volt_permit_amount held[VOLT_PERMIT_KINDS];
  uint64_t waited_ns;
  int result; /* of the operation on the socket */
  int answer; /* of the gate; VOLT_PENDING: none yet */
  uint8_t work;
  uint8_t stage;
  uint8_t outcome;
  uint8_t gives_all;
  uint8_t has_begun;      /* the line at line_at may be on its way */
  uint32_t late;          /* answers that belong to what was given up */
  uint32_t late_releases; /* of them, the first */
  uint32_t line_at;       /* where the last line begins in out */
  uint32_t out_from;      /* what was sent of out */
  uint32_t out_size;
  uint32_t in_size;
  char id[VOLT_PERMIT_NAME];
  char words[VOLT_PERMIT_WORDS];
  char in[VOLT_PERMIT_LINE];
  char out[2 * VOLT_PERMIT_LINE + 64]; /* one line that is half sent, a give, and another line */
} volt_permit_client;
VOLT_SIZE_AT_MOST_(volt_permit_client, 6144);

VOLT_BEGIN_DECLS

/* ---- life ---- */

/* Make *c a client without a connection. All-zero is one, too, but it has no runtime to connect by
 * (VOLT_EINVAL).
 * c: the caller's. rt: does the I/O; has to live until *c is closed. Threads: one. */
VOLT_API void volt_permit_client_init(volt_permit_client *c, volt_rt *rt);

/* A future of a connection to a gate, which has said that it speaks this protocol.
 * to: as for volt_dial_future(): "unix:/run/x.sock", "127.0.0.1:7000"; copied.
 * Returns the future: polls as VOLT_OK; VOLT_ERRNO(EPROTONOSUPPORT): the gate does not speak version
 *   1; VOLT_ERRNO(EPROTO): it is no such gate; VOLT_ECLOSED: it has closed the connection;
 *   VOLT_ERRNO(EACCES): this peer may not (volt_permit_client_words()); what volt_dial_future() says;
 *   VOLT_ECANCELED. Unless VOLT_OK, there is no connection.
 * Cancel: as volt_dial_future(). A connection that no poll has returned is closed.
 * Threads: its owner, one at a time. Aborts if *c has a connection. */
VOLT_API VOLT_NODISCARD volt_future *volt_permit_client_connect_future(volt_permit_client *c,
                                                                       const char *to);

/* Close the connection at once. What it holds, or waits for, goes back when the gate sees that. *c can
 * connect again.
 * c: may be closed already. No operation may be under way (aborts). Threads: the owner. */
VOLT_API void volt_permit_client_close(volt_permit_client *c);

/* ---- acquire ---- */

/* A future of a permit.
 * request: read within the call.
 * Returns the future: polls as VOLT_OK: the amounts are held; VOLT_EAGAIN: VOLT_PERMIT_NOW, and they
 *   are not free; VOLT_ETIMEDOUT: wait_ns has passed at the gate; VOLT_EINVAL: the request is not
 *   valid, or can never be granted; VOLT_ERRNO(EBUSY): the gate's queue is full; VOLT_ERRNO(EACCES):
 *   this peer may not; VOLT_ECLOSED: there is no connection (any more), or the gate drains;
 *   VOLT_ERRNO(EPROTO): the gate breaks the protocol; VOLT_ERRNO(e); VOLT_ECANCELED.
 *   volt_permit_client_words() says why.
 * Cancel: as the essay above says; waits for nothing. Threads: its owner, one at a time. Aborts if
 *   *c holds a permit. */
VOLT_API VOLT_NODISCARD volt_future *volt_permit_client_acquire_future(
    volt_permit_client *c, const volt_permit_request *request);

/* Read the place in the gate's queue: 1 is the next to be granted; 0: it does not wait, or does not
 * know yet. It changes while an acquire is polled. Threads: any. */
VOLT_API uint32_t volt_permit_client_place(const volt_permit_client *c);

/* A future of another place than the one that was seen. Any number may be under way, beside the
 * acquire that makes them ready.
 * f: not WAITING. seen: the caller's, until it is ready: 0 at first; becomes the present version.
 * Returns f: polls as VOLT_OK: volt_permit_client_place() has the place; VOLT_ECANCELED.
 * Threads: its owner. The client must live until it is ready or cancelled. */
VOLT_API VOLT_NODISCARD volt_future *volt_permit_client_place_future(volt_future *f,
                                                                     volt_permit_client *c,
                                                                     uint64_t *seen);

/* A future that is ready when nothing is due of what was given up: when the gate has answered each
 * `give` of a cancel, and volt_permit_client_outcome() is final.
 * Returns the future: polls as VOLT_OK; VOLT_ECLOSED, VOLT_ERRNO(e): the connection has ended, and so
 *   nothing is held; VOLT_ECANCELED. Threads: its owner, one at a time. */
VOLT_API VOLT_NODISCARD volt_future *volt_permit_client_settle_future(volt_permit_client *c);

/* Read how the last acquire has ended that was given up. Returns one of volt_permit_outcome.
 * Threads: the owner. */
VOLT_API enum volt_permit_outcome volt_permit_client_outcome(const volt_permit_client *c);

/* ---- while it is held ---- */

/* A future that is ready when the connection has ended: what was held is lost. To be awaited beside
 * the work, in a select, and cancelled before the release.
 * Returns the future: polls as VOLT_ECLOSED: the gate has closed it, or there was none;
 *   VOLT_ERRNO(e): it has broken; VOLT_ECANCELED: it is still there. Threads: its owner, one at a
 *   time. */
VOLT_API VOLT_NODISCARD volt_future *volt_permit_client_lost_future(volt_permit_client *c);

/* A future that gives back what is held, or a part of it.
 * amounts: as volt_permit_request.text; read within the call; NULL: all.
 * Returns the future: polls as VOLT_OK: the gate has it back; VOLT_EINVAL: the amounts are not valid,
 *   or not held: nothing was given back; VOLT_ECLOSED, VOLT_ERRNO(e): the connection has ended, so all
 *   is back; VOLT_ECANCELED: all goes back all the same; a part may have gone: it is final after
 *   volt_permit_client_settle_future() how much is held. If no poll has begun it, nothing was done.
 * Threads: its owner, one at a time. Aborts if nothing is held. */
VOLT_API VOLT_NODISCARD volt_future *volt_permit_client_release_future(volt_permit_client *c,
                                                                       const char *amounts);

/* Give the connection away, with what it holds, as to a program that this process executes: the permit goes
 * back when the last process that has the descriptor open has closed it. No operation may be under way
 * (aborts). What was given up before should be settled (volt_permit_client_settle_future()).
 * Returns the number of the descriptor, the caller's, non-blocking and O_CLOEXEC; -1: there is no
 *   connection. *c is as closed. Threads: the owner. */
VOLT_API int volt_permit_client_detach(volt_permit_client *c);

/* ---- inspection; the owner ---- */

/* Read how much of a kind is held. */
VOLT_API uint64_t volt_permit_client_held(const volt_permit_client *c, const char *kind);
/* Whether a permit is held. */
VOLT_API bool volt_permit_client_holds(const volt_permit_client *c);
/* Read the gate's id of the last permit, as in its list; "" at first. */
VOLT_API const char *volt_permit_client_id(const volt_permit_client *c);
/* Read how long the last permit was waited for, as the gate says. */
VOLT_API uint64_t volt_permit_client_waited_ns(const volt_permit_client *c);
/* Read why the last operation has failed, in the gate's words or the client's own: "busy: ...", ""
 * if there are none. It stays until the next operation is made. */
VOLT_API const char *volt_permit_client_words(const volt_permit_client *c);

VOLT_END_DECLS
#endif
