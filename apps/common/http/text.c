/* text.c: pieces of text, sets of bytes, and a writer. */
#include "common/http/text.h"

#define BIT(byte) (UINT64_C(1) << ((byte)&63))
#define DIGITS UINT64_C(0x03ff000000000000)  /* in bits[0] */
#define LETTERS UINT64_C(0x07fffffe07fffffe) /* in bits[1] */
#define SUB_DELIMITERS                                                                      \
  (BIT('!') | BIT('$') | BIT('&') | BIT('\'') | BIT('(') | BIT(')') | BIT('*') | BIT('+') | \
   BIT(',') | BIT(';') | BIT('='))
#define HOST_LOW (DIGITS | SUB_DELIMITERS | BIT('-') | BIT('.') | BIT('%'))
#define PATH_LOW (HOST_LOW | BIT(':') | BIT('/'))
#define UNRESERVED_HIGH (LETTERS | BIT('_') | BIT('~'))
#define BROWSERS \
  (BIT('[') | BIT(']') | BIT('\\') | BIT('^') | BIT('`') | BIT('{') | BIT('|') | BIT('}'))

const struct byte_set byte_token = {
    {DIGITS | BIT('!') | BIT('#') | BIT('$') | BIT('%') | BIT('&') | BIT('\'') | BIT('*') |
         BIT('+') | BIT('-') | BIT('.'),
     LETTERS | BIT('^') | BIT('_') | BIT('`') | BIT('|') | BIT('~')}};
const struct byte_set byte_path = {{PATH_LOW, UNRESERVED_HIGH | BIT('@')}};
const struct byte_set byte_query = {{PATH_LOW | BIT('?'), UNRESERVED_HIGH | BIT('@') | BROWSERS}};
const struct byte_set byte_host = {{HOST_LOW, UNRESERVED_HIGH}};

static char lower(char byte) {
  return byte >= 'A' && byte <= 'Z' ? (char)(byte - 'A' + 'a') : byte;
}

bool text_is(struct text text, struct text other) {
  if (text.size != other.size) return false;
  for (size_t i = 0; i < text.size; i++) {
    if (lower(text.at[i]) != lower(other.at[i])) return false;
  }
  return true;
}

static bool is_space(char byte) {
  return byte == ' ' || byte == '\t';
}

struct text text_trim(struct text text) {
  while (text.size > 0 && is_space(text.at[0])) text.at++, text.size--;
  while (text.size > 0 && is_space(text.at[text.size - 1])) text.size--;
  return text;
}

bool text_next(struct text *list, struct text *element) {
  while (list->size > 0) {
    const char *comma = memchr(list->at, ',', list->size);
    size_t size = comma != NULL ? (size_t)(comma - list->at) : list->size;
    size_t used = size + (comma != NULL);
    *element = text_trim((struct text){list->at, size});
    list->at += used;
    list->size -= used;
    if (element->size > 0) return true;
  }
  return false;
}

bool text_number(struct text text, uint64_t *number) {
  uint64_t value = 0;
  if (text.size == 0) return false;
  for (size_t i = 0; i < text.size; i++) {
    if (text.at[i] < '0' || text.at[i] > '9') return false;
    unsigned digit = (unsigned)(text.at[i] - '0');
    value = value > (UINT64_MAX - digit) / 10 ? UINT64_MAX : value * 10 + digit;
  }
  *number = value;
  return true;
}

static void put_digits(struct writer *to, uint64_t number, unsigned base) {
  char digits[20]; /* of 2^64 - 1 */
  size_t first = sizeof digits;
  do {
    digits[--first] = "0123456789abcdef"[number % base];
    number /= base;
  } while (number > 0);
  put_text(to, (struct text){digits + first, sizeof digits - first});
}

void put_number(struct writer *to, uint64_t number) {
  put_digits(to, number, 10);
}

void put_hex(struct writer *to, uint64_t number) {
  put_digits(to, number, 16);
}
