/* numbers.c: where the parts of the library are: structs that begin with a text, which is looked for in the
 * data of the process. So no symbols are needed. libvolt-sync has one, and libvolt-rt, which leads to
 * that. */
#include "numbers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC "volt-debugger-4"

/* One of the structs, as it begins (src/core/hooks/numbers.h). */
typedef struct head {
  char magic[16];
  uint64_t bytes, sync, first, fiber_poll, sleepers, names;
} head;

enum {
  HEAD_BYTES = sizeof(head),
  NUMBER_BYTES = sizeof(number),
  NUMBERS_MAX = 1024,
  CHUNK = 1 << 16
};

bool numbers_have(const numbers *n, const char *name) {
  for (size_t i = 0; i < n->count; i++) {
    if (strncmp(n->at[i].name, name, sizeof n->at[i].name) == 0) return true;
  }
  return false;
}

uint64_t numbers_of(numbers *n, const char *name) {
  for (size_t i = 0; i < n->count; i++) {
    if (strncmp(n->at[i].name, name, sizeof n->at[i].name) == 0) return n->at[i].value;
  }
  n->missing = name;
  return 0;
}

const char *numbers_kind(const numbers *n, uint64_t kind) {
  static const char prefix[] = "kind ";
  for (size_t i = 0; i < n->count; i++) {
    bool is_kind = strncmp(n->at[i].name, prefix, sizeof prefix - 1) == 0;
    if (is_kind && n->at[i].value == kind) return n->at[i].name + sizeof prefix - 1;
  }
  return "";
}

uint64_t numbers_word(numbers *n, uint64_t at, const char *name) {
  return at != 0 ? remote_u64(&n->r, at + numbers_of(n, name)) : 0;
}

uint32_t numbers_half(numbers *n, uint64_t at, const char *name) {
  return (uint32_t)numbers_word(n, at, name); /* little endian, as all that volt runs on */
}

static bool read_head(numbers *n, uint64_t at, head *h) {
  return remote_read(&n->r, at, h, sizeof *h) && memcmp(h->magic, MAGIC, sizeof MAGIC) == 0 &&
         h->bytes >= HEAD_BYTES && h->bytes <= HEAD_BYTES + NUMBERS_MAX * NUMBER_BYTES;
}

/* Append its numbers. */
static bool add_numbers(numbers *n, uint64_t at, const head *h) {
  size_t count = (size_t)(h->bytes - HEAD_BYTES) / NUMBER_BYTES;
  number *more = realloc(n->at, (n->count + count) * NUMBER_BYTES + 1);
  if (!more) return false;
  n->at = more;
  if (!remote_read(&n->r, at + HEAD_BYTES, n->at + n->count, count * NUMBER_BYTES)) return false;
  n->count += count;
  return true;
}

/* The struct there, and that of libvolt-sync if it is another. */
static bool read_numbers(numbers *n, uint64_t at) {
  head own, sync;
  n->count = 0;
  if (!read_head(n, at, &own) || !read_head(n, own.sync, &sync)) return false;
  n->first = own.first;
  n->fiber_poll = own.fiber_poll;
  n->sleepers = sync.sleepers;
  n->names = sync.names;
  return add_numbers(n, at, &own) && (own.sync == at || add_numbers(n, own.sync, &sync));
}

/* How much the struct there leads to. */
static unsigned worth(numbers *n, uint64_t at) {
  head h;
  if (!read_head(n, at, &h) || h.sync == 0) return 0;
  return h.first != 0 ? 3 : h.sync != at ? 2 : 1;
}

/* Looks for the text in one mapping, and keeps the best place. Returns false: it cannot be read. */
static bool look_in(numbers *n, const remote_map *m, uint64_t *best, unsigned *most) {
  static char bytes[CHUNK];
  for (uint64_t at = m->from; at < m->to; at += sizeof bytes) {
    size_t size = m->to - at < sizeof bytes ? (size_t)(m->to - at) : sizeof bytes;
    if (!remote_read(&n->r, at, bytes, size)) return false;
    for (size_t i = 0; i + sizeof MAGIC <= size; i += 16) {
      if (memcmp(bytes + i, MAGIC, sizeof MAGIC - 2) != 0) continue; /* but for the version */
      n->is_there = true;
      unsigned found = worth(n, at + i);
      if (found > *most) *most = found, *best = at + i;
    }
  }
  return true;
}

/* That of libvolt-rt with runtimes, or without; or that of libvolt-sync. */
bool numbers_find(numbers *n) {
  uint64_t best = 0;
  unsigned most = 0;
  bool may_read = false;
  for (size_t i = 0; i < n->r.maps && most < 3; i++) {
    if (n->r.map[i].is_data && look_in(n, &n->r.map[i], &best, &most)) may_read = true;
  }
  if (best != 0 && read_numbers(n, best)) return true;
  if (may_read) {
    snprintf(n->r.why, sizeof n->r.why, "process %jd has %s", (intmax_t)n->r.process,
             n->is_there ? "a volt of another version than this volt-top" : "no volt");
  }
  return false;
}

void numbers_free(numbers *n) {
  free(n->at);
  n->at = NULL;
  n->count = 0;
}
