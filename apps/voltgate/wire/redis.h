/* redis.h: follows a redis session, both directions of it, to know when it needs a permit.
 *
 * A burst begins with the first byte that a client sends while it holds no permit, and ends when
 * the last reply to all it has sent has come. MULTI..EXEC and WATCH..EXEC keep the permit. Nothing
 * is gathered and nothing is changed: the bytes are passed on as they are.
 *
 * The caller, for bytes of the client:
 *
 *     while (there are bytes) {
 *       size_t n;
 *       enum redis_want want = redis_from_client(r, at, size, &n);
 *       pass n bytes on to the server
 *       REDIS_GOES_ON: all bytes are used
 *       REDIS_NEEDS_PERMIT: get one; redis_granted(r); again
 *       REDIS_WAITS: read the server until it is no more; again
 *       REDIS_MALFORMED: end the session; r->why says why
 *     }
 *
 * and for bytes of the server: redis_from_server(), then pass them on to the client. After either,
 * once the bytes have been passed on: if redis_may_release(r): release the permit, redis_released(r).
 */
#ifndef VOLTGATE_WIRE_REDIS_H
#define VOLTGATE_WIRE_REDIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum redis_want {
  REDIS_GOES_ON,
  REDIS_NEEDS_PERMIT, /* before the next byte of the client is passed on */
  REDIS_WAITS,        /* a command blocks at the server: nothing is passed on until it has answered */
  REDIS_MALFORMED
};

enum { REDIS_WORD = 16, REDIS_QUEUE = 16 };

/* Commands that are to be answered: a run of one kind. */
struct redis_run {
  uint32_t commands;
  uint32_t messages; /* of each, if its answer is one message for each channel; 0: as many as there
                      * are subscriptions */
  uint8_t kind;
  uint8_t effect; /* on the transaction, if it succeeds */
};

/* A session. redis_init() first; it needs no end. */
struct redis {
  const char *why;   /* REDIS_MALFORMED: words that live for ever */
  uint64_t commands; /* of the client so far */
  uint64_t blocking; /* of these: that block at the server */

  /* private: the client's side */
  uint64_t left;          /* bytes of the argument or of the inline command */
  uint64_t argument_size; /* of the current argument, so far */
  uint32_t arguments;     /* that the command has had */
  uint32_t declared;      /* that it has */
  char word[REDIS_WORD];  /* the current argument's beginning, in lower case */
  uint8_t state, kind, quoted, hex, detail, skip;
  uint8_t number_size;
  bool is_negative;
  uint64_t number;

  /* private: the server's side */
  struct redis_run queue[REDIS_QUEUE];
  uint8_t first, count;   /* of queue */
  uint64_t first_left;    /* messages that the first command of the first run still gets */
  uint64_t subscriptions[3]; /* to channels, patterns, shard channels */
  uint64_t elements;         /* that the frame still has */
  uint64_t frame_left;       /* bytes of a string */
  uint64_t frame_number;
  char frame_word[REDIS_WORD];
  uint8_t frame_word_size, frame_state, frame_type, frame_first, frame_strings, frame_digits;
  uint8_t push_at;
  bool frame_negative, frame_cr;
  uint64_t push_end, frame_count;

  /* private: what both make of it */
  uint8_t transaction;       /* at the server, after what was answered */
  uint8_t transaction_ahead; /* after all that was sent, if it succeeds */
  uint8_t leavers;           /* commands on their way that may end a subscription or MONITOR */
  bool has_permit, is_raw, is_lost, is_monitor, is_version_3;
  bool is_silent, is_skip_next, is_skip; /* CLIENT REPLY */
};

void redis_init(struct redis *r);

/* Follow bytes of the client.
 * n: how many of them may be passed on to the server: all, if it returns REDIS_GOES_ON. */
enum redis_want redis_from_client(struct redis *r, const char *at, size_t size, size_t *n);

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
