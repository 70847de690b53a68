/* refusal.h: why a client is refused or ended, and its words. */
#ifndef VOLTGATE_WIRE_REFUSAL_H
#define VOLTGATE_WIRE_REFUSAL_H

#include <stddef.h>
#include <stdint.h>

/* How it is said to a client. */
enum refuse { REFUSE_CLOSE, REFUSE_POSTGRES, REFUSE_REDIS, REFUSE_HTTP, REFUSE_PERMIT };

enum gate_reason {
  REASON_QUEUE_FULL,
  REASON_QUEUE_TIMEOUT,
  REASON_CLIENTS,
  REASON_SHED,
  REASON_BREAKER,
  REASON_CONNECT,
  REASON_DRAINING,
  REASON_PROTOCOL,
  REASON_LOGIN_TIMEOUT,
  REASON_IDLE_IN_TRANSACTION,
  REASON_IDLE,
  REASON_MAX_AGE,
  REASON_SERVER_TIMEOUT,
  REASON_IMPOSSIBLE, /* from here on at a permit gate only: more than a limit */
  REASON_NEVER,      /* more than one request may ask for */
  REASON_BUSY,       /* it is not free now, and the client does not wait */
  REASON_WHO,        /* this user may not ask */
  REASON_KINDS
};

/* The word of a reason in metrics, logs and JSON: "queue-full". It lives for ever. */
const char *refusal_reason_name(enum gate_reason reason);

/* The values in the words. All-zero is fine: what is not known is left out of the words. */
struct refusal_values {
  uint64_t limit, held;    /* permits: there are, are taken */
  uint64_t waiting, queue; /* clients that wait, that may */
  uint64_t clients;        /* that may be connected */
  uint64_t time_ns;        /* the timeout that has passed: of the queue, the login, idleness, ... */
  uint64_t retry_ns;       /* after which another try makes sense; 0: a second */
  const char *why; /* REASON_BREAKER, _CONNECT: the last error; _PROTOCOL: what is malformed.
                            * NULL: not known. Bytes that would break the protocol are replaced */
};

enum { REFUSAL_MAX = 1024 }; /* bytes, of any refusal */

/* Write what is said to a client that is refused or ended for this reason. What has no room is cut,
 * but the message is always whole.
 * room: at least REFUSAL_MAX. Returns the bytes; 0: nothing is said. */
size_t refusal_bytes(enum refuse how, enum gate_reason reason, const struct refusal_values *values,
                     char *to, size_t room);

/* The sentence alone, for logs: "no permit within 5 s: 16 of 16 are held, 212 clients wait". It is
 * cut if there is no room. room: at least 1. Returns to. */
const char *refusal_words(enum gate_reason reason, const struct refusal_values *values, char *to,
                          size_t room);

#endif
