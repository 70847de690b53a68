/* permit.h: the wire of a permit gate: what a client says, a line at a time, and amounts as they are
 * written. docs/voltgate/permits.md has the protocol. */
#ifndef VOLTGATE_WIRE_PERMIT_H
#define VOLTGATE_WIRE_PERMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  PERMIT_VERSION = 1,
  PERMIT_LINE_MAX = 1024, /* bytes, with its end; of either side */
  PERMIT_KINDS = 8,
  PERMIT_KIND_BYTES = 32,    /* of a kind's name, with its zero */
  PERMIT_LABEL_BYTES = 129,  /* with the zero; what is longer is cut */
  PERMIT_COMMAND_BYTES = 256 /* the same */
};

/* The largest amount. One that is larger is read as PERMIT_MOST + 1. */
#define PERMIT_MOST (UINT64_C(1) << 40)

/* Amounts of named kinds, each at least 1. What is behind `count`, and behind a name, is zero: equal
 * amounts have equal bytes. */
struct permit_amounts {
  uint64_t count;
  struct permit_amount {
    char kind[PERMIT_KIND_BYTES];
    uint64_t amount;
  } of[PERMIT_KINDS];
};

/* ---- what a client says ---- */

enum permit_word {
  PERMIT_NOTHING, /* an empty line */
  PERMIT_HELLO,
  PERMIT_TAKE,
  PERMIT_CLAIM,
  PERMIT_GIVE,
  PERMIT_LIST,
  PERMIT_PING
};

struct permit_request {
  enum permit_word word;
  uint64_t version; /* hello */
  struct permit_amounts amounts;
  bool has_wait, has_label, has_command;
  uint64_t wait_ns; /* take; UINT64_MAX: for ever */
  char label[PERMIT_LABEL_BYTES], command[PERMIT_COMMAND_BYTES];
};

enum permit_result { PERMIT_LINE, PERMIT_NEEDS_MORE, PERMIT_MALFORMED };

/* Read one line from its beginning.
 * used: set to its bytes, with its end; 0 if more are needed. why: PERMIT_MALFORMED: words that live
 *   for ever. */
enum permit_result permits_read(struct permit_request *r, const char *at, size_t size, size_t *used,
                                const char **why);

/* ---- amounts, as they are written ---- */

/* Whether text of that size can be the name of a kind: [a-z][a-z0-9_-]*, 1 to 31 bytes, and no key of
 * the wire. */
bool permits_is_kind(const char *text, size_t size);

/* Read a number: digits, and K, M, G or T (powers of 1024) behind them. More than PERMIT_MOST becomes
 * PERMIT_MOST + 1. Returns false: it is none. */
bool permits_number(const char *text, size_t size, uint64_t *number);

/* Add KIND=NUMBER. Returns NULL, or what is wrong: words that live for ever. */
const char *permits_amounts_add(struct permit_amounts *a, const char *kind, size_t kind_size,
                                uint64_t number);

/* ---- what the gate says ---- */

/* A line that is written. What has no room is cut; the end of the line always has room. */
struct permit_text {
  size_t size;
  char bytes[PERMIT_LINE_MAX];
};
void permits_say(struct permit_text *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* " KIND=NUMBER" of each. */
void permits_say_amounts(struct permit_text *t, const struct permit_amounts *a);
/* " key=\"value\"", with \" and \\ inside; nothing if it is empty. */
void permits_say_quoted(struct permit_text *t, const char *key, const char *value);
/* Its end. */
void permits_say_end(struct permit_text *t);

#endif
