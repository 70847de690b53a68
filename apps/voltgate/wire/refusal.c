/* refusal.c: why a client is refused or ended, and its words. */
#include "wire/refusal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "wire/postgres.h"

#define SECOND UINT64_C(1000000000)
#define MILLISECOND UINT64_C(1000000)

enum { WORDS_MAX = 384 }; /* so that all of a refusal fits into REFUSAL_MAX */

static const struct {
  const char *name, *sqlstate, *hint;
  const char *permit; /* the word of a permit gate; NULL: its clients are not refused for it */
} reasons[REASON_KINDS] = {
    [REASON_QUEUE_FULL] = {"queue-full", "53300", "Try again later.", "full"},
    [REASON_QUEUE_TIMEOUT] = {"queue-timeout", "53300", "Try again later.", "timeout"},
    [REASON_CLIENTS] = {"clients", "53300", "Try again later.", "full"},
    [REASON_SHED] = {"shed", "53300", "Try again later.", NULL},
    [REASON_BREAKER] = {"breaker", "08006", "voltgate tries whether it is back. Try again soon.",
                        NULL},
    [REASON_CONNECT] = {"connect", "08006", NULL, NULL},
    [REASON_DRAINING] = {"draining", "57P03", "Connect again.", "draining"},
    [REASON_PROTOCOL] = {"protocol", "08P01", NULL, "syntax"},
    [REASON_LOGIN_TIMEOUT] = {"login-timeout", "57014", NULL, "timeout"},
    [REASON_IDLE_IN_TRANSACTION] = {"idle-in-transaction", "25P03",
                                    "End a transaction before the program waits for another thing.",
                                    NULL},
    [REASON_IDLE] = {"idle", "57P05", NULL, "timeout"},
    [REASON_MAX_AGE] = {"max-age", "57P01", "Connect again.", "draining"},
    [REASON_SERVER_TIMEOUT] = {"server-timeout", "08006", NULL, NULL},
    [REASON_IMPOSSIBLE] = {"impossible", "53300", NULL, "impossible"},
    [REASON_NEVER] = {"never", "53300", NULL, "never"},
    [REASON_BUSY] = {"busy", "53300", NULL, "busy"},
    [REASON_WHO] = {"who", "28000", NULL, "who"},
};

const char *refusal_reason_name(enum gate_reason reason) {
  return reasons[reason].name;
}

/* ---- words ---- */

/* Text in bounded memory that is always ended by 0. */
struct words {
  char *to;
  size_t size, room;
};

__attribute__((format(printf, 2, 3))) static void refusal_add(struct words *w, const char *format,
                                                              ...) {
  va_list list;
  va_start(list, format);
  int n = vsnprintf(w->to + w->size, w->room - w->size, format, list);
  va_end(list);
  if (n < 0) return;
  size_t left = w->room - w->size - 1;
  w->size += (size_t)n < left ? (size_t)n : left;
}

static void refusal_add_time(struct words *w, uint64_t ns) {
  uint64_t ms = ns / MILLISECOND;
  if (ns < SECOND) {
    refusal_add(w, "%" PRIu64 " ms", ms);
  } else if (ms % 1000 == 0) {
    refusal_add(w, "%" PRIu64 " s", ms / 1000);
  } else {
    refusal_add(w, "%" PRIu64 ".%" PRIu64 " s", ms / 1000, ms % 1000 / 100);
  }
}

/* "within 5 s", or nothing. */
static void refusal_add_span(struct words *w, const char *word, uint64_t ns) {
  if (ns == 0) return;
  refusal_add(w, " %s ", word);
  refusal_add_time(w, ns);
}

static void refusal_add_why(struct words *w, const char *why) {
  if (why != NULL && why[0] != 0) refusal_add(w, ": %s", why);
}

static void refusal_add_permits(struct words *w, const struct refusal_values *v) {
  if (v->limit == 0) return;
  refusal_add(w, ": %" PRIu64 " of %" PRIu64 " are held", v->held, v->limit);
  if (v->waiting > 0) {
    refusal_add(w, ", %" PRIu64 " client%s", v->waiting, v->waiting == 1 ? " waits" : "s wait");
  }
}

static void refusal_add_queue_full(struct words *w, const struct refusal_values *v) {
  if (v->queue > 0) refusal_add(w, "the queue of %" PRIu64 " is full, and ", v->queue);
  refusal_add(w, "no permit is free");
  refusal_add_permits(w, v);
}

static void refusal_add_sentence(struct words *w, enum gate_reason reason,
                                 const struct refusal_values *v) {
  switch (reason) {
    case REASON_QUEUE_FULL: refusal_add_queue_full(w, v); break;
    case REASON_QUEUE_TIMEOUT:
      refusal_add(w, "no permit");
      refusal_add_span(w, "within", v->time_ns);
      refusal_add_permits(w, v);
      break;
    case REASON_CLIENTS:
      refusal_add(w, "too many clients");
      if (v->clients > 0) refusal_add(w, ": %" PRIu64 " may be connected", v->clients);
      break;
    case REASON_SHED:
      refusal_add(w, "clients wait too long for permits");
      refusal_add_permits(w, v);
      break;
    case REASON_BREAKER: refusal_add(w, "the server is away"), refusal_add_why(w, v->why); break;
    case REASON_CONNECT:
      refusal_add(w, "no connection to the server"), refusal_add_why(w, v->why);
      break;
    case REASON_DRAINING: refusal_add(w, "shutting down"); break;
    case REASON_PROTOCOL:
      refusal_add(w, "the protocol is violated"), refusal_add_why(w, v->why);
      break;
    case REASON_LOGIN_TIMEOUT:
      refusal_add(w, "the login was not complete");
      refusal_add_span(w, "within", v->time_ns);
      break;
    case REASON_IDLE_IN_TRANSACTION:
      refusal_add(w, "idle in a transaction");
      refusal_add_span(w, "for", v->time_ns);
      break;
    case REASON_IDLE: refusal_add(w, "idle"), refusal_add_span(w, "for", v->time_ns); break;
    case REASON_MAX_AGE:
      refusal_add(w, "the connection has reached its age");
      refusal_add_span(w, "of", v->time_ns);
      break;
    case REASON_SERVER_TIMEOUT:
      refusal_add(w, "the server does not answer");
      refusal_add_span(w, "within", v->time_ns);
      break;
    case REASON_IMPOSSIBLE: refusal_add(w, "more than a limit"), refusal_add_why(w, v->why); break;
    case REASON_NEVER:
      refusal_add(w, "more than one request may ask for"), refusal_add_why(w, v->why);
      break;
    case REASON_BUSY: refusal_add(w, "not free now"), refusal_add_why(w, v->why); break;
    case REASON_WHO: refusal_add(w, "this user may not ask"), refusal_add_why(w, v->why); break;
    case REASON_KINDS: break;
  }
}

const char *refusal_words(enum gate_reason reason, const struct refusal_values *values, char *to,
                          size_t room) {
  struct words w = {.to = to, .room = room};
  to[0] = 0;
  refusal_add_sentence(&w, reason, values);
  for (char *p = to; *p != 0; p++) { /* no line end, nothing that a terminal obeys */
    if ((unsigned char)*p < ' ' || *p == 127) *p = ' ';
  }
  return to;
}

/* ---- how it is said ---- */

static size_t refusal_say_postgres(enum gate_reason reason, const char *words, char *to,
                                   size_t room) {
  char message[WORDS_MAX + 16];
  snprintf(message, sizeof message, "voltgate: %s", words);
  struct pg_error error = {.severity = "FATAL",
                           .sqlstate = reasons[reason].sqlstate,
                           .message = message,
                           .hint = reasons[reason].hint};
  return pg_error_bytes(&error, to, room);
}

static size_t refusal_say_redis(enum gate_reason reason, const char *words, char *to, size_t room) {
  const char *before = "-ERR voltgate: ", *after = "";
  if (strcmp(reasons[reason].sqlstate, "53300") == 0) {
    before = "-ERR max number of clients reached (voltgate: ", after = ")";
  } else if (reason == REASON_PROTOCOL) {
    before = "-ERR Protocol error (voltgate: ", after = ")";
  }
  return (size_t)snprintf(to, room, "%s%s%s\r\n", before, words, after);
}

static size_t refusal_say_http(const struct refusal_values *values, const char *words, char *to,
                               size_t room) {
  uint64_t retry = values->retry_ns / SECOND + (values->retry_ns % SECOND > 0);
  if (retry == 0) retry = 1;
  int n = snprintf(to, room,
                   "HTTP/1.1 503 Service Unavailable\r\n"
                   "Retry-After: %" PRIu64
                   "\r\n"
                   "Content-Type: text/plain; charset=utf-8\r\n"
                   "Content-Length: %zu\r\n"
                   "Cache-Control: no-store\r\n"
                   "Connection: close\r\n"
                   "\r\n"
                   "voltgate: %s\n",
                   retry, strlen(words) + sizeof "voltgate: \n" - 1, words);
  return (size_t)n;
}

static size_t refusal_say_permit(enum gate_reason reason, const char *words, char *to,
                                 size_t room) {
  const char *word = reasons[reason].permit != NULL ? reasons[reason].permit : "draining";
  return (size_t)snprintf(to, room, "refused %s: %s\n", word, words);
}

size_t refusal_bytes(enum refuse how, enum gate_reason reason, const struct refusal_values *values,
                     char *to, size_t room) {
  char words[WORDS_MAX];
  if (room < REFUSAL_MAX) return 0;
  refusal_words(reason, values, words, sizeof words);
  switch (how) {
    case REFUSE_CLOSE: return 0;
    case REFUSE_POSTGRES: return refusal_say_postgres(reason, words, to, room);
    case REFUSE_REDIS: return refusal_say_redis(reason, words, to, room);
    case REFUSE_HTTP: return refusal_say_http(values, words, to, room);
    case REFUSE_PERMIT: return refusal_say_permit(reason, words, to, room);
  }
  return 0;
}
