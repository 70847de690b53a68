/* pg_error.c: a message is its type, its length without the type, and fields: a letter and a
 * string that ends in 0; a 0 ends the list. */
#include "wire/pg_error.h"

#include <stdint.h>
#include <string.h>

/* Adds a field, cut so that the list's end still has room. Returns the new size. */
static size_t put_field(char *to, size_t size, size_t room, char letter, const char *string) {
  if (string == NULL || size + 3 > room) return size;
  size_t most = room - size - 3; /* the letter, the field's end, the list's end */
  size_t length = strlen(string);
  if (length > most) {
    length = most;
    while (length > 0 && ((unsigned char)string[length] & 0xc0) == 0x80) length--; /* UTF-8 */
  }
  to[size] = letter;
  memcpy(to + size + 1, string, length);
  to[size + 1 + length] = 0;
  return size + length + 2;
}

size_t pg_error_bytes(const struct pg_error *error, char *to, size_t room) {
  size_t size = 5;
  size = put_field(to, size, room, 'S', error->severity);
  size = put_field(to, size, room, 'V', error->severity);
  size = put_field(to, size, room, 'C', error->sqlstate);
  size = put_field(to, size, room, 'M', error->message);
  size = put_field(to, size, room, 'D', error->detail);
  size = put_field(to, size, room, 'H', error->hint);
  to[size++] = 0;
  uint32_t length = (uint32_t)(size - 1);
  to[0] = 'E';
  for (unsigned i = 0; i < 4; i++) to[1 + i] = (char)(unsigned char)(length >> (24 - 8 * i));
  return size;
}
