/* numbers.c: where the parts of the library are: a struct that begins with a text, which is looked for
 * in the data of the process. So no symbols are needed. */
#include "numbers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC "volt-debugger-2"

enum { HEAD_BYTES = 40, NUMBER_BYTES = 32, NUMBERS_MAX = 1024, CHUNK = 1 << 16 };

uint64_t numbers_of(numbers *n, const char *name) {
  for (size_t i = 0; i < n->count; i++) {
    if (strncmp(n->at[i].name, name, sizeof n->at[i].name) == 0) return n->at[i].value;
  }
  n->missing = name;
  return 0;
}

uint64_t numbers_word(numbers *n, uint64_t at, const char *name) {
  return at != 0 ? remote_u64(&n->r, at + numbers_of(n, name)) : 0;
}

uint32_t numbers_half(numbers *n, uint64_t at, const char *name) {
  return (uint32_t)numbers_word(n, at, name); /* little endian, as all that volt runs on */
}

static bool read_numbers(numbers *n, uint64_t at) {
  uint64_t head[HEAD_BYTES / 8];
  if (!remote_read(&n->r, at, head, sizeof head)) return false;
  if (head[2] < HEAD_BYTES || head[2] > HEAD_BYTES + NUMBERS_MAX * NUMBER_BYTES) return false;
  n->first = head[3];
  n->fiber_poll = head[4];
  size_t size = (size_t)(head[2] - HEAD_BYTES) / NUMBER_BYTES * NUMBER_BYTES;
  n->blocked = remote_u64(&n->r, at + HEAD_BYTES + size);
  n->names = remote_u64(&n->r, at + HEAD_BYTES + size + 8);
  free(n->at);
  n->at = malloc(size + 1);
  n->count = size / NUMBER_BYTES;
  return n->at && remote_read(&n->r, at + HEAD_BYTES, n->at, size);
}

/* Looks for the text in one mapping. Returns where it is; 0: nowhere. */
static uint64_t find_in(numbers *n, const remote_map *m) {
  static char bytes[CHUNK];
  for (uint64_t at = m->from; at < m->to; at += sizeof bytes) {
    size_t size = m->to - at < sizeof bytes ? (size_t)(m->to - at) : sizeof bytes;
    if (!remote_read(&n->r, at, bytes, size)) return 0;
    for (size_t i = 0; i + sizeof MAGIC <= size; i += 16) {
      if (memcmp(bytes + i, MAGIC, sizeof MAGIC) == 0) return at + i;
    }
  }
  return 0;
}

/* The one that has runtimes, if there is more than one. */
bool numbers_find(numbers *n) {
  bool is_found = false, may_read = false;
  for (size_t i = 0; i < n->r.maps && !(is_found && n->first != 0); i++) {
    if (!n->r.map[i].is_data) continue;
    uint64_t at = find_in(n, &n->r.map[i]);
    may_read = may_read || !n->r.why[0];
    if (at != 0 && read_numbers(n, at)) is_found = true;
  }
  if (is_found) return true;
  if (may_read) {
    snprintf(n->r.why, sizeof n->r.why, "process %jd has no volt, or another version of it",
             (intmax_t)n->r.process);
  }
  return false;
}

void numbers_free(numbers *n) {
  free(n->at);
  n->at = NULL;
  n->count = 0;
}
