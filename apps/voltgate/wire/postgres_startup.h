/* postgres_startup.h: a PostgreSQL client's packets before authentication: requests for encryption,
 * a request to cancel, and the startup packet. */
#ifndef VOLTGATE_WIRE_POSTGRES_STARTUP_H
#define VOLTGATE_WIRE_POSTGRES_STARTUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  PG_STARTUP_MAX = 10004, /* bytes of a packet, its length included: PostgreSQL's own limit */
  PG_NAME_MAX = 63        /* of a user and a database: PostgreSQL cuts them, too */
};

enum pg_first {
  PG_FIRST_PART,     /* more has to come */
  PG_FIRST_SSL,      /* SSLRequest: answer 'S' or 'N' */
  PG_FIRST_GSSENC,   /* GSSENCRequest: answer 'N' */
  PG_FIRST_TLS,      /* no packet: TLS begins at once (sslnegotiation=direct). bytes is 0 */
  PG_FIRST_CANCEL,   /* CancelRequest: process and key. It is passed on, and gets no answer */
  PG_FIRST_STARTUP,  /* the startup packet; what follows is authentication: postgres.h */
  PG_FIRST_MALFORMED /* pg_startup_why(), sqlstate */
};

/* A piece of the packet; no zero need be behind it. at: NULL: it is not there. */
struct pg_text {
  const char *at;
  size_t size;
};

/* What a client has sent before authentication. All-zero at first; one for the whole connection,
 * because SSLRequest and GSSENCRequest may come once each. The pieces are in the caller's bytes. */
struct pg_startup {
  size_t bytes;     /* of the packet that was read: to be passed on, or dropped */
  uint32_t version; /* 0x30000: 3.0 */

  /* PG_FIRST_STARTUP. Of a parameter that is there twice, the last, as PostgreSQL takes it. */
  struct pg_text user;     /* at most PG_NAME_MAX bytes, not empty */
  struct pg_text database; /* the same; the user if it is not given */
  struct pg_text options, application_name;
  struct pg_text replication;
  bool is_replication; /* replication says so: physical or of a database */

  /* PG_FIRST_CANCEL */
  uint32_t process;
  struct pg_text key;

  /* PG_FIRST_MALFORMED */
  const char *sqlstate;

  /* private */
  bool has_ssl, has_gssenc;
  uint8_t fault;
  uint32_t fault_value, fault_limit;
};

/* Read the next packet.
 * at: all its bytes from the first on, also those that were there before, which may have moved.
 * A packet that cannot be right is malformed as soon as that is certain. Bytes behind a packet are
 * not looked at; behind SSLRequest and GSSENCRequest there must be none, since they would be taken
 * for what came encrypted: the caller ends the session if there are. */
enum pg_first pg_startup_read(struct pg_startup *s, const char *at, size_t size);

/* Why it is malformed, in words with values. It is cut if there is no room. room: at least 1.
 * Returns to. */
const char *pg_startup_why(const struct pg_startup *s, char *to, size_t room);

#endif
