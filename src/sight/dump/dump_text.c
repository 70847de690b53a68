/* dump_text.c: numbers, addresses, durations and names as text. */
#include "dump_text.h"

#include <string.h>

enum { NAME_BYTES = 64, NUMBER_BYTES = 32 };

void volt_text_put_bytes_(volt_text_ *t, const char *bytes, size_t length) {
  size_t left = volt_text_left_(t);
  if (length > left) {
    length = left;
    t->is_cut = true;
  }
  memcpy(t->at, bytes, length);
  t->at += length;
}

void volt_text_put_(volt_text_ *t, const char *string) {
  volt_text_put_bytes_(t, string, strlen(string));
}

void volt_text_indent_(volt_text_ *t, unsigned depth) {
  while (depth-- > 0) volt_text_put_bytes_(t, "  ", 2);
}

void volt_text_put_name_(volt_text_ *t, const char *name) {
  char copy[NAME_BYTES];
  size_t length = 0;
  for (; length < NAME_BYTES && name[length]; length++) {
    unsigned char c = (unsigned char)name[length];
    copy[length] = c < ' ' || c == 127 ? '?' : (char)c;
  }
  volt_text_put_bytes_(t, copy, length);
}

void volt_text_quote_(volt_text_ *t, const char *name) {
  volt_text_put_(t, "'");
  volt_text_put_name_(t, name);
  volt_text_put_(t, "'");
}

/* "{anonymous}::" of gcc, "(anonymous namespace)::" of clang. */
static size_t text_anonymous(const char *at) {
  static const char *const words[] = {"{anonymous}::", "(anonymous namespace)::"};
  for (unsigned i = 0; i < 2; i++) {
    size_t length = strlen(words[i]);
    if (strncmp(at, words[i], length) == 0) return length;
  }
  return 0;
}

void volt_text_put_short_(volt_text_ *t, const char *function) {
  const char *begin = function, *at = function;
  int depth = 0; /* of brackets of a template */
  while (*at) {
    size_t skipped = text_anonymous(at);
    if (skipped == 0 && *at == '(' && depth == 0) break;
    depth += (*at == '<') - (*at == '>' && depth > 0);
    bool is_before = depth == 0 && (skipped > 0 || *at == ' ');
    at += skipped > 0 ? skipped : 1;
    if (is_before) begin = at;
  }
  char name[NAME_BYTES + 1];
  size_t length = (size_t)(at - begin) < NAME_BYTES ? (size_t)(at - begin) : NAME_BYTES;
  memcpy(name, begin, length);
  name[length] = 0;
  volt_text_put_name_(t, name);
}

void volt_text_put_file_(volt_text_ *t, const char *path) {
  const char *slash = strrchr(path, '/');
  volt_text_put_name_(t, slash ? slash + 1 : path);
}

/* The digits of n, with a comma before each three if commas. */
static void text_digits(volt_text_ *t, uint64_t n, bool commas) {
  char digits[NUMBER_BYTES], *at = digits + NUMBER_BYTES;
  for (unsigned i = 0; i == 0 || n > 0; i++, n /= 10) {
    if (commas && i > 0 && i % 3 == 0) *--at = ',';
    *--at = (char)('0' + n % 10);
  }
  volt_text_put_bytes_(t, at, (size_t)(digits + NUMBER_BYTES - at));
}

void volt_text_put_number_(volt_text_ *t, uint64_t n) {
  text_digits(t, n, true);
}

void volt_text_put_plain_(volt_text_ *t, uint64_t n) {
  text_digits(t, n, false);
}

void volt_text_put_address_(volt_text_ *t, const void *address) {
  char digits[NUMBER_BYTES], *at = digits + NUMBER_BYTES;
  uintptr_t n = (uintptr_t)address;
  do {
    *--at = "0123456789abcdef"[n % 16];
    n /= 16;
  } while (n > 0);
  volt_text_put_(t, "0x");
  volt_text_put_bytes_(t, at, (size_t)(digits + NUMBER_BYTES - at));
}

/* Of two units: 2 min 5 s. */
static void text_two(volt_text_ *t, uint64_t big, const char *of_big, uint64_t small,
                     const char *of_small) {
  volt_text_put_number_(t, big);
  volt_text_put_(t, of_big);
  volt_text_put_plain_(t, small);
  volt_text_put_(t, of_small);
}

void volt_text_put_duration_(volt_text_ *t, uint64_t ns) {
  const uint64_t ms = ns / 1000000, s = ms / 1000, min = s / 60, h = min / 60;
  if (ms < 1000) {
    volt_text_put_plain_(t, ms);
    volt_text_put_(t, " ms");
  } else if (s < 60) {
    text_two(t, s, ".", ms / 100 % 10, " s");
  } else if (min < 60) {
    text_two(t, min, " min ", s % 60, " s");
  } else if (h < 24) {
    text_two(t, h, " h ", min % 60, " min");
  } else {
    text_two(t, h / 24, " d ", h % 24, " h");
  }
}

void volt_text_count_(volt_text_ *t, uint64_t n, const char *thing) {
  volt_text_put_number_(t, n);
  volt_text_put_(t, " ");
  volt_text_put_(t, thing);
  if (n != 1) volt_text_put_(t, "s");
}
