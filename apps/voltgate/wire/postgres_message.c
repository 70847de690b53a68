/* postgres_message.c: the beginnings of ErrorResponse and BackendKeyData; words. */
#include "wire/postgres_message.h"

#include <stdio.h>
#include <string.h>

/* Fields: a letter, and a string that ends in 0. */
static void read_error(struct pg *p) {
  const char *at = p->prefix, *end = at + p->gathered;
  memset(p->severity, 0, sizeof p->severity);
  memset(p->sqlstate, 0, sizeof p->sqlstate);
  while (at < end && *at != 0) {
    const char *value = at + 1;
    const char *zero = value < end ? memchr(value, 0, (size_t)(end - value)) : NULL;
    if (zero == NULL) break;
    size_t size = (size_t)(zero - value) + 1;
    if (*at == 'V' && size <= sizeof p->severity) memcpy(p->severity, value, size);
    if (*at == 'C' && size == sizeof p->sqlstate) memcpy(p->sqlstate, value, size);
    at = zero + 1;
  }
  p->has_failed = strcmp(p->severity, "FATAL") == 0 || strcmp(p->severity, "PANIC") == 0;
}

/* Of BackendKeyData; all of its body is in prefix, if it is no longer than that. */
static void read_key(struct pg *p, bool is_whole) {
  if (p->gathered < 4) return;
  size_t size = p->gathered - 4u;
  p->backend = pg_number_at(p->prefix);
  p->key_size = is_whole && size <= sizeof p->key ? (uint8_t)size : 0;
  memcpy(p->key, p->prefix + 4, p->key_size);
}

void pg_gather(struct pg *p, const char *at, size_t size, bool is_whole) {
  size_t room = sizeof p->prefix - p->gathered;
  size_t taken = size < room ? size : room;
  memcpy(p->prefix + p->gathered, at, taken);
  p->gathered = (uint8_t)(p->gathered + taken);
  if (!is_whole && p->gathered < sizeof p->prefix) return;
  if (p->gathers == 'E') read_error(p);
  if (p->gathers == 'K') read_key(p, is_whole);
  p->gathers = 0;
}

const char *pg_why(const struct pg *p, char *to, size_t room) {
  const char *side = p->fault & PG_FAULT_SERVER ? "server" : "client";
  char type[8];
  bool is_letter = p->fault_type > ' ' && p->fault_type < 127;
  snprintf(type, sizeof type, is_letter ? "'%c'" : "0x%02x", p->fault_type);
  switch (p->fault & ~PG_FAULT_SERVER) {
    case PG_FAULT_TYPE: snprintf(to, room, "the %s sent a message of type %s", side, type); break;
    case PG_FAULT_LENGTH:
      snprintf(to, room, "the %s sent a message of type %s with a length of %u", side, type,
               p->fault_value);
      break;
    case PG_FAULT_STATUS:
      snprintf(to, room, "the %s sent a ReadyForQuery with a status of 0x%02x", side,
               p->fault_value);
      break;
    default: snprintf(to, room, "nothing is wrong"); break;
  }
  return to;
}

/* ---- to cancel ---- */

static void put_number(char *to, uint32_t value) {
  for (int i = 0; i < 4; i++) to[i] = (char)(value >> (24 - 8 * i));
}

size_t pg_cancel_bytes(const struct pg *p, char to[PG_CANCEL_MAX]) {
  if (p->backend == 0 || p->key_size == 0) return 0;
  size_t size = 12u + p->key_size;
  put_number(to, (uint32_t)size);
  put_number(to + 4, 80877102);
  put_number(to + 8, p->backend);
  memcpy(to + 12, p->key, p->key_size);
  return size;
}
