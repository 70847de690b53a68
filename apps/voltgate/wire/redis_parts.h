/* redis_parts.h: what redis.c (the ledger), redis_request.c and redis_reply.c share. */
#ifndef VOLTGATE_WIRE_REDIS_PARTS_H
#define VOLTGATE_WIRE_REDIS_PARTS_H

#include <string.h>

#include "wire/redis.h"

/* What a command is, as far as permits go. The first six can be merged into one run. */
enum redis_kind {
  REDIS_PLAIN, /* one reply, and nothing changes */
  REDIS_MULTI,
  REDIS_EXEC,
  REDIS_DISCARD,
  REDIS_WATCH,
  REDIS_UNWATCH,
  REDIS_SILENT, /* no reply, but an effect */
  REDIS_RESET,
  REDIS_HELLO,
  REDIS_BLOCKS,
  REDIS_MONITOR,
  REDIS_SYNC,
  REDIS_SUBSCRIBE, /* these six in this order: channels, patterns, shard channels */
  REDIS_PSUBSCRIBE,
  REDIS_SSUBSCRIBE,
  REDIS_UNSUBSCRIBE,
  REDIS_PUNSUBSCRIBE,
  REDIS_SUNSUBSCRIBE,
  REDIS_XREAD, /* these become others when their arguments have been seen */
  REDIS_XREADGROUP,
  REDIS_CLIENT,
  REDIS_REPLCONF
};

/* What CLIENT and REPLCONF have said. */
enum redis_detail {
  REDIS_NO_DETAIL,
  REDIS_CLIENT_REPLY,
  REDIS_REPLY_ON,
  REDIS_REPLY_OFF,
  REDIS_REPLY_SKIP,
  REDIS_ACKNOWLEDGES,
  REDIS_OPTIONS_BLOCK, /* XREAD ... BLOCK */
  REDIS_OPTIONS_END    /* XREAD ... STREAMS, without BLOCK */
};

/* The bits of a transaction. */
enum { REDIS_WATCHES = 1, REDIS_IN_MULTI = 2 };

static inline bool redis_is_of_subscription_(unsigned kind) {
  return kind >= REDIS_SUBSCRIBE && kind <= REDIS_SUNSUBSCRIBE;
}

static inline void redis_word_add_(struct redis_word *w, char byte) {
  if (w->size < REDIS_WORD) w->at[w->size] = byte;
  w->size++;
}

static inline bool redis_word_is_(const struct redis_word *w, const char *word) {
  return w->size == strlen(word) && memcmp(w->at, word, (size_t)w->size) == 0;
}

/* Reads a number byte by byte, as redis does: no leading 0, no +. Returns 1: it ends, at a CR;
 * 0: it goes on; -1: it is none. All-zero at first. */
int redis_number_add_(struct redis_number *n, char byte);

/* The kind that a command's name says. */
enum redis_kind redis_kind_of_(const struct redis_word *name);

/* A command is whole: r->request has it. */
void redis_sent_(struct redis *r);

/* A reply or a message is whole: r->reply has it. */
void redis_answered_(struct redis *r);

/* Whether nothing may be passed on until the server has answered. */
bool redis_is_barred_(const struct redis *r);

/* Whether what the client sends now can only be of use to a subscriber or monitor. */
bool redis_is_exempt_(const struct redis *r);

/* The next reply is that of SYNC or PSYNC. */
bool redis_is_sync_next_(const struct redis *r);

#endif
