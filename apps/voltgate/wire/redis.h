/* redis.h: follows a redis session, both directions of it, to know when it needs a permit.
 *
 * A burst begins with the last byte of the first command that a client sends while it holds no
 * permit, because redis runs nothing before that has come: a client that stops in the middle of a
 * command holds none. It ends when the last reply to all it has sent has come. MULTI..EXEC and
 * WATCH..EXEC keep the permit, and so do commands whose reply is off (CLIENT REPLY), until a later
 * one is answered. Nothing is gathered and nothing is changed: the bytes are passed on as they are.
 *
 * The caller, for bytes of the client:
 *
 *     while (there are bytes) {
 *       size_t n;
 *       enum redis_want want = redis_from_client(r, at, size, &n);
 *       pass n bytes on to the server; or, if it has to wait: n - redis_take_back(r)
 *       REDIS_GOES_ON: all bytes are used
 *       REDIS_NEEDS_PERMIT: get one; redis_granted(r); again
 *       REDIS_WAITS: read the server until it is no more; again
 *       REDIS_MALFORMED: end the session; r->why says why
 *     }
 *
 * and for bytes of the server: redis_from_server(), then pass them on to the client. After either,
 * once the bytes have been passed on: if redis_may_release(r): release the permit, redis_released(r).
 *
 * Not followed, so that the caller has to end the session: SUBSCRIBE, HELLO and CLIENT REPLY
 * inside MULTI; SUBSCRIBE, MONITOR and HELLO while replies are off; a server that says more than it
 * was asked (as one that refuses CLIENT REPLY OFF for want of a password). Then is_lost is set. A
 * command that the server renames is taken for a plain one. */
#ifndef VOLTGATE_WIRE_REDIS_H
#define VOLTGATE_WIRE_REDIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum redis_want {
  REDIS_GOES_ON,
  REDIS_NEEDS_PERMIT, /* before the next byte of the client is passed on, which ends a command */
  REDIS_WAITS, /* a command blocks at the server: nothing is passed on until it has answered */
  REDIS_MALFORMED
};

enum { REDIS_WORD = 16, REDIS_RUNS = 16 };

/* Commands that are to be answered: a run of one kind. */
struct redis_run {
  uint32_t commands;
  uint32_t messages; /* of each, if its answer is one message for each channel; 0: as many as there
                      * are subscriptions */
  uint8_t kind;
  uint8_t effect; /* on the transaction */
};

/* The beginning of a word, and how long it is. */
struct redis_word {
  uint64_t size;
  char at[REDIS_WORD];
};

struct redis_number {
  uint64_t value;
  uint8_t digits;
  bool is_negative;
};

/* The command that the client is sending. */
struct redis_request {
  uint64_t left;                /* bytes of the argument that have not come; of an inline command:
                                 * that may come */
  uint64_t declared, arguments; /* how many there are; how many have come */
  struct redis_number number;
  struct redis_word word; /* the current argument, in lower case */
  uint8_t state, kind;
  uint8_t detail;      /* what the arguments have said */
  uint8_t skip;        /* arguments that say nothing */
  uint8_t quoted, hex; /* of an inline command */
};

/* What the server is sending: a reply or a message. */
struct redis_reply {
  uint64_t elements; /* that have not come; 0: nothing has begun */
  uint64_t items;    /* that have begun */
  uint64_t left;     /* bytes of a string that have not come */
  struct redis_number number;
  struct redis_word word; /* the first string: a message's name */
  uint64_t third;         /* the third element of an aggregate, if it is a number */
  uint8_t state, type;    /* of the current item */
  uint8_t first;          /* the type of the first item */
  bool is_after_cr;
};

/* A session. redis_init() first; it needs no end. */
struct redis {
  const char *why;   /* REDIS_MALFORMED, is_lost: words that live for ever */
  uint64_t commands; /* of the client so far */
  uint64_t blocking; /* of these: that block at the server */

  /* private */
  struct redis_request request;
  struct redis_reply reply;
  struct redis_run runs[REDIS_RUNS]; /* a ring */
  uint8_t first, count;              /* of runs */
  uint64_t messages_left;            /* of the first command of the first run; 0: none has come */
  uint64_t subscriptions[3];         /* to channels, patterns, shard channels */
  uint32_t leavers;                  /* commands on their way that end a subscription or MONITOR */
  uint8_t transaction;               /* at the server, after what it has answered */
  uint8_t ahead;                     /* and after all that was sent, if it succeeds */
  bool has_permit;
  bool is_raw;  /* a replica: bytes are not followed any more */
  bool is_lost; /* replies cannot be counted any more: the permit is kept */
  bool is_monitor, is_version_3;
  bool is_silent, is_skipped, is_skipped_next; /* CLIENT REPLY */
  bool is_unheard; /* what was sent last gets no reply: when it is done is not known */
  size_t here;     /* bytes of the current command that the last redis_from_client() was shown */
};

void redis_init(struct redis *r);

/* Follow bytes of the client.
 * n: how many of them may be passed on to the server: all, if it returns REDIS_GOES_ON. */
enum redis_want redis_from_client(struct redis *r, const char *at, size_t size, size_t *n);

/* It needs a permit, and has to wait for it: forget the command that would be whole, if all of it
 * was shown just now. Returns how many of the n bytes are not to be passed on, but shown again. */
size_t redis_take_back(struct redis *r);

/* Follow bytes of the server. All of them may be passed on to the client. Returns REDIS_GOES_ON or
 * REDIS_MALFORMED. */
enum redis_want redis_from_server(struct redis *r, const char *at, size_t size);

/* The session has got its permit. */
static inline void redis_granted(struct redis *r) {
  r->has_permit = true;
}

/* Whether the session holds a permit that it does not need any more. */
bool redis_may_release(const struct redis *r);

static inline void redis_released(struct redis *r) {
  r->has_permit = false;
}

/* Whether a command blocks at the server now: the session holds no permit for it. */
bool redis_is_blocked(const struct redis *r);

/* Whether replies are to come. While it is true and redis_is_blocked() is not, the client waits for
 * the server. */
bool redis_is_asked(const struct redis *r);

/* Replies that are to come, if they can be counted. */
uint64_t redis_outstanding(const struct redis *r);

#endif
