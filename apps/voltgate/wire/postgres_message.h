/* postgres_message.h: what is read of messages, and what is wrong with one. Private to postgres.c. */
#ifndef VOLTGATE_WIRE_POSTGRES_MESSAGE_H
#define VOLTGATE_WIRE_POSTGRES_MESSAGE_H

#include "wire/postgres.h"

/* Of pg->fault. With PG_FAULT_SERVER: the server's. */
enum { PG_FAULT_NONE, PG_FAULT_TYPE, PG_FAULT_LENGTH, PG_FAULT_STATUS, PG_FAULT_SERVER = 8 };

/* Four bytes, the highest first. */
static inline uint32_t pg_number_at(const char *at) {
  const uint8_t *b = (const uint8_t *)at;
  return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

/* Take the first bytes of a body, as they come: of ErrorResponse and BackendKeyData. */
void pg_gather(struct pg *p, const char *at, size_t size, bool is_whole);

#endif
