/* pg_error.h: PostgreSQL's ErrorResponse. */
#ifndef VOLTGATE_WIRE_PG_ERROR_H
#define VOLTGATE_WIRE_PG_ERROR_H

#include <stddef.h>

enum { PG_ERROR_ROOM_MIN = 64 };

struct pg_error {
  const char *severity; /* "FATAL", "ERROR": the words of protocol 3, in English */
  const char *sqlstate; /* five characters */
  const char *message;
  const char *detail, *hint; /* or NULL */
};

/* Write the message. What has no room is cut: the hint first.
 * room: at least PG_ERROR_ROOM_MIN. Returns the bytes. */
size_t pg_error_bytes(const struct pg_error *error, char *to, size_t room);

#endif
