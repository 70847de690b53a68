/* text.h: pieces of text that are not copied, sets of bytes, and a writer into bounded memory. */
#ifndef COMMON_HTTP_TEXT_H
#define COMMON_HTTP_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ---- a piece of text: no zero behind it ---- */

struct text {
  const char *at;
  size_t size;
};

/* The text of a string literal. */
#define TEXT(literal) ((struct text){(literal), sizeof(literal) - 1})

/* Whether both are equal, but for the case of letters. */
bool text_is(struct text text, struct text other);

/* Without spaces and tabs at both ends. */
struct text text_trim(struct text text);

/* Take the first element of a list with commas (RFC 9110, 5.6.1) off its front. Elements are
 * trimmed, and empty ones are passed over. Returns false, and no element, at the list's end. */
bool text_next(struct text *list, struct text *element);

/* Read a number of decimal digits only. A number that is too large is UINT64_MAX.
 * Returns false if there is no digit, or another byte. */
bool text_number(struct text text, uint64_t *number);

/* ---- sets of bytes ---- */

/* Bytes of 128 and above are in no set. */
struct byte_set {
  uint64_t bits[2];
};

static inline bool byte_in(const struct byte_set *set, char byte) {
  unsigned char b = (unsigned char)byte;
  return b < 128 && (set->bits[b >> 6] >> (b & 63) & 1) != 0;
}

extern const struct byte_set byte_token; /* tchar of RFC 9110, 5.6.2 */
extern const struct byte_set byte_path;  /* pchar of RFC 3986, "/" and "%" */
extern const struct byte_set byte_query; /* the same, "?", and what browsers leave as it is */
extern const struct byte_set byte_host;  /* of a registered name or an IPv4 address; with "%" */

/* Whether a byte may be in a field's value: visible, a space, a tab, or not ASCII. */
static inline bool byte_is_of_value(char byte) {
  unsigned char b = (unsigned char)byte;
  return (b >= ' ' && b != 127) || b == '\t';
}

/* The value of a hexadecimal digit, or -1. */
static inline int byte_hex(char byte) {
  if (byte >= '0' && byte <= '9') return byte - '0';
  if (byte >= 'a' && byte <= 'f') return byte - 'a' + 10;
  if (byte >= 'A' && byte <= 'F') return byte - 'A' + 10;
  return -1;
}

/* ---- a writer ---- */

/* What does not fit is left out, and then is_cut is true. */
struct writer {
  char *at;
  char *end;
  bool is_cut;
};

static inline void put_text(struct writer *to, struct text text) {
  if ((size_t)(to->end - to->at) < text.size) {
    to->is_cut = true;
    return;
  }
  memcpy(to->at, text.at, text.size);
  to->at += text.size;
}

#define PUT(to, literal) put_text((to), TEXT(literal))

static inline void put_string(struct writer *to, const char *string) {
  put_text(to, (struct text){string, strlen(string)});
}

void put_number(struct writer *to, uint64_t number);
void put_hex(struct writer *to, uint64_t number);

#endif
