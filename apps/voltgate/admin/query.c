/* query.c: what a request says behind the question mark. */
#include "admin/query.h"

bool query_find(const struct request *r, const char *name, char *to, size_t room) {
  struct text rest = r->query;
  size_t name_size = strlen(name);
  while (rest.size > 0) {
    const char *end = memchr(rest.at, '&', rest.size);
    struct text part = {rest.at, end != NULL ? (size_t)(end - rest.at) : rest.size};
    size_t used = part.size + (end != NULL);
    rest = (struct text){rest.at + used, rest.size - used};
    if (part.size <= name_size || memcmp(part.at, name, name_size) != 0 ||
        part.at[name_size] != '=') {
      continue;
    }
    size_t size = 0;
    for (size_t i = name_size + 1; i < part.size; i++) {
      int byte = part.at[i] == '+' ? ' ' : (unsigned char)part.at[i];
      if (byte == '%') {
        if (part.size - i < 3) return false;
        int high = byte_hex(part.at[i + 1]), low = byte_hex(part.at[i + 2]);
        if (high < 0 || low < 0 || (high == 0 && low == 0)) return false;
        byte = high * 16 + low;
        i += 2;
      }
      if (size + 1 >= room) return false;
      to[size++] = (char)byte;
    }
    to[size] = '\0';
    return true;
  }
  return false;
}

bool query_seconds(const char *text, uint64_t *ns) {
  const char *point = strchr(text, '.');
  struct text whole = {text, point != NULL ? (size_t)(point - text) : strlen(text)};
  uint64_t seconds, billionths = 0;
  if (!text_number(whole, &seconds) || seconds > UINT64_MAX / 2000000000) return false;
  if (point != NULL) {
    struct text fraction = {point + 1, strlen(point + 1)};
    if (fraction.size > 9 || !text_number(fraction, &billionths)) return false;
    for (size_t i = fraction.size; i < 9; i++) billionths *= 10;
  }
  *ns = seconds * 1000000000 + billionths;
  return true;
}
