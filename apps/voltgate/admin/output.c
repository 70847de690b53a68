/* output.c: text that grows up to a bound. */
#include "admin/output.h"

#include <stdlib.h>

static bool output_make_room(struct output *to, size_t size) {
  if (to->is_cut || size > OUTPUT_MAX - to->size) {
    to->is_cut = true;
    return false;
  }
  size_t room = to->room < 4096 ? 4096 : to->room;
  while (room - to->size < size) room *= 2;
  if (room == to->room) return true;
  char *larger = realloc(to->at, room);
  if (larger == NULL) {
    to->is_cut = true;
    return false;
  }
  to->at = larger;
  to->room = room;
  return true;
}

void output_bytes(struct output *to, const void *bytes, size_t size) {
  if (size == 0 || (to->room - to->size < size && !output_make_room(to, size))) return;
  memcpy(to->at + to->size, bytes, size);
  to->size += size;
}

void output_number(struct output *to, uint64_t number) {
  char digits[20], *at = digits + sizeof digits;
  do {
    *--at = (char)('0' + number % 10);
    number /= 10;
  } while (number > 0);
  output_bytes(to, at, (size_t)(digits + sizeof digits - at));
}

void output_seconds(struct output *to, uint64_t ns) {
  const uint64_t second = 1000000000;
  output_number(to, ns / second);
  uint64_t fraction = ns % second;
  if (fraction == 0) return;
  char digits[10] = ".";
  int last = 0;
  for (int i = 9; i > 0; i--, fraction /= 10) {
    digits[i] = (char)('0' + fraction % 10);
    if (last == 0 && digits[i] != '0') last = i;
  }
  output_bytes(to, digits, (size_t)last + 1);
}

void output_free(struct output *to) {
  free(to->at);
  *to = (struct output){0};
}
