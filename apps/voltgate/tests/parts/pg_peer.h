/* pg_peer.h: what a test says as a PostgreSQL client or server, and what it has heard. */
#ifndef VOLTGATE_TEST_PG_PEER_H
#define VOLTGATE_TEST_PG_PEER_H

#include <stdio.h>
#include <string.h>

#include "stage.h"
#include "unit.h"
#include "wire/postgres.h"

static inline void pg_number(char *to, uint32_t value) {
  for (int i = 0; i < 4; i++) to[i] = (char)(value >> (24 - 8 * i));
}

static inline void pg_say_bytes(struct stage *s, struct peer *p, const void *bytes, size_t size) {
  size_t n;
  assert_result(volt_fd_try_send(&p->fd, bytes, size, 0, &n), VOLT_OK);
  assert_int_equal(n, size);
  stage_run(s);
}

/* One message of type, with this body. */
static inline size_t pg_message(char *to, char type, const void *body, size_t size) {
  to[0] = type;
  pg_number(to + 1, (uint32_t)size + 4);
  memcpy(to + 5, body, size);
  return size + 5;
}

static inline void pg_say(struct stage *s, struct peer *p, char type, const void *body,
                          size_t size) {
  char message[256];
  pg_say_bytes(s, p, message, pg_message(message, type, body, size));
}

static inline void pg_query(struct stage *s, struct peer *client, const char *sql) {
  pg_say(s, client, 'Q', sql, strlen(sql) + 1);
}

static inline void pg_terminate(struct stage *s, struct peer *client) {
  pg_say(s, client, 'X', "", 0);
}

static inline void pg_ready(struct stage *s, struct peer *server, char status) {
  pg_say(s, server, 'Z', &status, 1);
}

/* The answer to a Query: CommandComplete, ReadyForQuery. */
static inline void pg_complete(struct stage *s, struct peer *server, char status) {
  pg_say(s, server, 'C', "OK", 3);
  pg_ready(s, server, status);
}

static const char pg_startup_packet[] =
    "\0\0\0\x20\0\3\0\0user\0ann\0database\0shop\0"; /* and the 0 at its end */
enum { PG_STARTUP_PACKET = 0x20 };
_Static_assert(sizeof pg_startup_packet == PG_STARTUP_PACKET, "its length");

static const char pg_ssl_request[8] = "\0\0\0\x08\x04\xd2\x16\x2f";
static const char pg_gssenc_request[8] = "\0\0\0\x08\x04\xd2\x16\x30";

/* The types of the messages that have come since it was asked last, as "CZ". A part of a message at
 * the end is '~'. The bytes are dropped, but the last message stays in got. */
static inline const char *pg_heard(struct stage *s, struct peer *p) {
  static char types[1024];
  size_t count = 0, at = 0;
  p->size = 0;
  (void)stage_read(s, p);
  while (at < p->size) {
    size_t size = p->size - at >= 5 ? 1 + pg_number_at(p->got + at + 1) : p->size + 1;
    types[count++] = size <= p->size - at ? p->got[at] : '~';
    if (size > p->size - at) break;
    if (at + size == p->size) memmove(p->got, p->got + at, size);
    at += size;
  }
  types[count] = '\0';
  return types;
}

/* The last message is an ErrorResponse with this SQLSTATE. */
static inline void pg_heard_fatal(const struct peer *p, const char *sqlstate) {
  char field[8] = "C";
  assert_int_equal(p->got[0], 'E');
  memcpy(field + 1, sqlstate, 5);
  const char *at = p->got + 5;
  while (*at && strcmp(at, field) != 0) at += strlen(at) + 1;
  assert_string_equal(at, field);
}

static inline void pg_backend_key(char body[8], uint32_t process) {
  pg_number(body, process);
  memcpy(body + 4, "key!", 4);
}

/* A client connects, and is let in by the server, which names this process. */
static inline void pg_enter(struct stage *s, struct peer *client, struct peer *server,
                            uint32_t process) {
  char key[8];
  pg_backend_key(key, process);
  stage_connect(s, client);
  pg_say_bytes(s, client, pg_startup_packet, PG_STARTUP_PACKET);
  assert_true(stage_accept(s, server));
  (void)stage_read(s, server);
  assert_int_equal(server->size, PG_STARTUP_PACKET);
  assert_memory_equal(server->got, pg_startup_packet, PG_STARTUP_PACKET);
  pg_say(s, server, 'R', "\0\0\0", 4);
  pg_say(s, server, 'K', key, sizeof key);
  pg_ready(s, server, 'I');
  assert_string_equal(pg_heard(s, client), "RKZ");
}

#endif
