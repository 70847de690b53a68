/* session.h: one client from accept to its end. A session is one task, and waits for one future at a
 * time: session_wait().
 *
 *   accept          the memory is there first; clients, descriptors (acceptor.c)
 *   login           PROXY header, TLS (login.c), if the gate has them
 *   permit          tcp: before all else. Its place in the queue is taken as it is accepted
 *   body            what the protocol does: tcp.c, postgres.c, redis.c
 *   end             the server's socket is closed, then the permit is given back, then the client
 *                   hears why, and is closed (session.c)
 *
 * What only an admitted client needs is in its body, which is allocated later: a tcp client that is
 * queued has a struct session and nothing else. */
#ifndef VOLTGATE_SESSION_SESSION_H
#define VOLTGATE_SESSION_SESSION_H

#include <poll.h>
#include <volt/runtime.h>

#include "gate/admission.h"
#include "link/link.h"
#include "session/server.h"

struct acceptor;
struct farewell;
struct login;
struct session_body;

/* ---- waiting ---- */

/* What has happened, of session_wait(). */
enum session_event {
  SESSION_CLIENT = 1, /* wait.client_ready says what */
  SESSION_SERVER = 2, /* wait.server_ready */
  SESSION_TIME = 4,   /* the deadline has passed */
  SESSION_NEWS = 8,   /* gate->news: breaker, drain, settings */
  SESSION_PERMIT = 16 /* the admission's future is ready: session_queued() says how */
};

/* For session_wait(): no bytes are wanted; it is ready when the peer has gone altogether. */
#define SESSION_GONE POLLPRI

/* What a session waits for. Futures that have not fired stay registered from wait to wait: only what
 * has fired is made again. */
struct session_wait {
  volt_async async;
  volt_op client_op;                     /* readiness; of the server: in struct server */
  volt_future *client, *server, *permit; /* under way, if armed says so */
  volt_sleep_op timer;
  volt_future news;
  uint64_t news_seen;
  uint64_t deadline_ns;                  /* of this wait */
  uint64_t timer_ns;                     /* when the timer fires; it may be before the deadline */
  uint16_t client_events, server_events; /* of the futures that are under way; 0: none is */
  uint16_t client_ready, server_ready;   /* what a side was ready for: POLLIN, POLLHUP, ... */
  uint8_t armed;                         /* of enum session_event: under way */
  uint8_t fired;                         /* of the last wait */
  bool hears_news;                       /* news was polled, and is pending */
};

/* ---- the end ---- */

enum session_ending {
  SESSION_GOES_ON,
  SESSION_BY_CLIENT, /* it has closed, or was reset */
  SESSION_BY_SERVER,
  SESSION_LEFT,    /* the client hung up while it was queued */
  SESSION_REFUSED, /* reason */
  SESSION_DRAINED, /* ended by a drain */
  SESSION_PASSED,  /* another process has the connection */
  SESSION_FAILED   /* error */
};

/* ---- the session ---- */

/* What a protocol does. */
struct session_kind {
  size_t size;        /* of its body */
  bool is_admitted;   /* it holds a permit from its beginning to its end */
  bool hears_late;    /* it has to be run until words can be said, also if it is refused already */
  volt_async_fn *run; /* on the body's async. Cancel ends it. It sets how the session ends */
  void (*free)(
      struct session_body *b); /* what the body has, whichever way run has ended; or NULL */
};
extern const struct session_kind session_tcp, session_postgres, session_redis;
extern const struct session_kind session_permit; /* permit/taking.c */

/* The protocol's part: the beginning of its struct. */
struct session_body {
  volt_async async; /* first: run finds its struct by it */
  struct session *session;
};

struct session {
  volt_task task; /* first */
  struct gate *gate;
  struct link client;  /* the client's side */
  struct client entry; /* in gate->clients */
  struct admission admission;
  struct session_wait wait;
  struct server *server;     /* NULL: none; owned: made by server_dial(), freed by server_close() */
  struct session_body *body; /* NULL: not yet */
  struct client_details *details; /* the body's; NULL: none, or what it does is not followed */
  union {                         /* one at a time */
    struct login *login;
    struct farewell *farewell;
  };
  int result;                        /* of an await */
  uint64_t up, down;                 /* bytes passed on */
  uint64_t up_counted, down_counted; /* of these in the statistics */
  uint64_t wait_ns, hold_ns;         /* all together, for the access log */
  const char *user, *database;       /* the body's, until the session has ended; or NULL */
  const char
      *why;    /* of a refusal: what is malformed, why a connect has failed. It lives for ever */
  char *words; /* that why may point to; owned */
  uint64_t late_ns;      /* of a refusal: the timeout that has passed; 0: the one of its reason */
  uint32_t permits;      /* that it has had */
  int error;             /* SESSION_FAILED */
  uint16_t port;         /* that the client came to; 0: a unix socket */
  uint8_t protocol;      /* enum protocol: of its acceptor; a reload changes nothing */
  uint8_t ending;        /* enum session_ending */
  uint8_t reason;        /* enum gate_reason; SESSION_REFUSED */
  uint8_t is_speechless; /* the protocol is where no words can be said: it is just closed */
  uint8_t is_queued;     /* from session_admit() to its outcome */
  uint8_t needs_login;   /* PROXY header, TLS: as it was asked for when it was accepted */
  uint8_t is_entered;    /* in gate->clients */
};

/* The future that is ready when something has happened, of which wait.fired says what.
 * client, server: events to wait for: POLLIN, POLLOUT, POLLRDHUP, SESSION_GONE; 0: it is not looked
 *   at. Of a server that is not connected: 0. If they are as in the last wait, nothing is registered
 *   again.
 * also: SESSION_PERMIT if the session is queued, else 0.
 * deadline_ns: by the runtime's clock; VOLT_NO_DEADLINE: none. One that moves later costs nothing.
 * Returns the future: polls as VOLT_OK, or VOLT_ECANCELED. gate->news is always waited for. */
volt_future *session_wait(struct session *s, unsigned client, unsigned server, unsigned also,
                          uint64_t deadline_ns);

static inline bool session_fired(const struct session *s, enum session_event event) {
  return (s->wait.fired & event) != 0;
}

/* Nothing of a side is under way any more: before its descriptor is closed. */
void session_forget_client(struct session *s);
void session_forget_server(struct session *s);
void session_forget(struct session *s); /* nothing at all */

uint64_t session_now_ns(const struct session *s);

/* ---- permits ---- */

/* Get a permit, or queue for it.
 * Returns VOLT_OK: it holds one; VOLT_EAGAIN: it is queued: session_wait() with SESSION_PERMIT until
 *   session_deadline_ns(), and after each wait session_queued(); VOLT_ECLOSED: it is refused, and how
 *   the session ends is set. */
int session_admit(struct session *s);

/* The deadline of its place in the queue, or VOLT_NO_DEADLINE. */
uint64_t session_queue_deadline_ns(const struct session *s);

/* The session is queued, and something has happened (but to the client or the server: that is the
 * caller's to look at first). Returns as session_admit(). */
int session_queued(struct session *s);

/* The session ends: leave the queue, if it is in it. If the permit had come, the session holds it. */
void session_unqueue(struct session *s);

/* Its client has hung up while it was queued: leave the queue, count it as left, end. A client that
 * was given the permit at the same moment counts as admitted, and not as left. */
void session_left(struct session *s);

/* Give the permit back; count bytes. Does nothing if it holds none. */
void session_release(struct session *s);

/* Those that look at clients see this from now on, until the session has left them. follows: what the
 * client does with its permit will be said. */
void session_show(struct session *s, struct client_details *details, bool follows);

/* Bytes have gone on. */
static inline void session_show_bytes(const struct session *s, struct client_details *details) {
  atomic_store_explicit(&details->up, s->up, memory_order_relaxed); /* shown only, as is down */
  atomic_store_explicit(&details->down, s->down, memory_order_relaxed);
}

/* Count the bytes that were passed on since the last time. */
void session_count_bytes(struct session *s);

/* ---- how it ends ---- */

/* Say how the session ends; the first stands. Then the body returns. */
void session_end(struct session *s, enum session_ending ending);
void session_refuse(struct session *s, enum gate_reason reason);
void session_fail(struct session *s, int error);

/* Say why, for the words of a refusal. why: copied; without memory nothing is said. */
void session_explain(struct session *s, const char *why);

/* It is no client of the gate any more: it neither counts nor is seen. */
void session_leave_clients(struct session *s);

/* Whether an idle session has to end now: the gate drains, or the session is too old (max-age). Then how
 * it ends is set. Ask it whenever the session holds no permit and its client waits for nothing. */
bool session_is_over(struct session *s);

/* When max-age is reached, or VOLT_NO_DEADLINE. */
uint64_t session_max_age_ns(const struct session *s);

/* ---- for acceptors ---- */

/* Memory for the next client, to be filled in by accept. Returns NULL: there is none. */
struct session *session_new(struct acceptor *acceptor);
/* The same, of a client that comes from elsewhere. */
struct session *session_at(struct gate *gate, enum protocol protocol, uint16_t port);

/* Its client was accepted: s->client.fd is there. Counts it; takes its place in the queue, if that is
 * fixed now. Then it can be spawned. */
void session_begin(struct session *s);

/* Its client was accepted by another process, then, and its descriptor is there: in place of session_begin(). */
void session_resume(struct session *s, uint64_t accepted_ns);

/* It was begun, and cannot be spawned. */
void session_abandon(struct session *s);

/* Wait for nothing, be in no group and no list, free it: one that was never begun. */
void session_drop(struct session *s);

/* ---- what is known of the client ---- */

/* Its address: of a PROXY header, if there was one. Returns false: it is not known. */
bool session_client_address(const struct session *s, volt_address *to);

/* Its tenant, by the connection, if the gate separates them so. port: that it came to. Returns as
 * session_set_tenant(). */
bool session_find_tenant(struct session *s, uint16_t port);

/* Its tenant, by a name that the protocol knows (tenant-by user, database). Once. Returns false: no
 * memory: the session ends, as is set. */
bool session_set_tenant(struct session *s, const char *name);

#endif
