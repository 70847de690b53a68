/* utf8.c: utf8.h. */
#include "common/utf8.h"

/* What each first byte allows the second one to be (Unicode, table 3-7): no longer form than needed,
 * no surrogates, nothing above U+10FFFF. */
size_t utf8_size(const char *text, size_t size) {
  const unsigned char *at = (const unsigned char *)text;
  if (size == 0) return 0;
  if (at[0] < 0x80) return 1;
  size_t bytes = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
  if (at[0] < 0xc2 || at[0] > 0xf4 || size < bytes) return 0;
  unsigned char low = at[0] == 0xe0 ? 0xa0 : at[0] == 0xf0 ? 0x90 : 0x80;
  unsigned char high = at[0] == 0xed ? 0x9f : at[0] == 0xf4 ? 0x8f : 0xbf;
  if (at[1] < low || at[1] > high) return 0;
  for (size_t i = 2; i < bytes; i++) {
    if (at[i] < 0x80 || at[i] > 0xbf) return 0;
  }
  return bytes;
}
