/* server.h: the HTTP server of the admin side: what its connections share. */
#ifndef VOLTGATE_ADMIN_SERVER_H
#define VOLTGATE_ADMIN_SERVER_H

#include <volt/io.h>
#include <volt/net.h>

#include "admin/admin.h"
#include "admin/answer.h"
#include "admin/places.h"

enum {
  ADMIN_HEAD_MAX = 8192,
  ADMIN_BODY_MAX = 4096,
  ADMIN_FIELDS = 64,
  ADMIN_REQUEST_S = 10, /* for a request to come, and for a piece of an answer to go */
  ADMIN_IDLE_S = 60
};

struct accepting;
struct sampling;

struct admin {
  struct program *program;
  struct answers answers;
  volt_timers *timers;
  struct places places;
  volt_group connections;
  volt_fd listener;
  struct accepting *accepting;
  struct sampling *sampling;
  char address[VOLT_ADDRESS_TEXT];
  char *path;        /* of the unix socket that it has made, or NULL */
  bool is_passed_on; /* the socket: another process listens at its path, too */
};

/* ---- connection.c ---- */

struct connection;

/* A connection's task, not spawned, without a descriptor. NULL: no memory. */
struct connection *connection_new(struct admin *admin);
volt_fd *connection_fd(struct connection *c);

/* It has one now, and this place, which it leaves when it ends. */
void connection_begin(struct connection *c, struct place *place);
volt_task *connection_task(struct connection *c);

#endif
