/* server.h: a server: its options, what its connections share, its life. */
#ifndef HTTPD_SERVER_H
#define HTTPD_SERVER_H

#include <stdatomic.h>
#include <volt/io.h>
#include <volt/net.h>

#include "counters.h"
#include "files.h"
#include "session.h"
#include "transport.h"

struct options {
  const char *listen;
  const char *certificates, *key; /* NULL: without TLS */
  bool redirects;                 /* clients that come by http, to https */
  unsigned redirect_port;         /* there; 0: any */
  unsigned hsts_s;                /* 0: not said */
  const char *root;               /* NULL: no files */
  unsigned workers;               /* 0: one for each CPU */
  bool has_hello, has_status;
  unsigned connections; /* at most, by each door; more wait to be accepted */
  unsigned buffers;     /* of requests that are at work at the same time */
  unsigned open_files;  /* that are kept open */
  unsigned cache_ms;
  unsigned handshake_s, idle_s, request_s, send_s, stop_s; /* timeouts */
  struct limits limits;
};

/* One address at which connections come, and what holds for them. */
struct door {
  struct server *server;
  const struct transport *by;
  volt_tls_context *context; /* NULL: plain */
  struct terms terms;
  volt_sem places; /* a permit for each connection that may come; no other door can use them up */
  volt_fd listener;
  char address[VOLT_ADDRESS_TEXT];
  struct accepting *accepting; /* NULL: it is not open */
};

struct server {
  const struct options *options;
  volt_rt *rt;
  volt_timers *timers;
  struct counters counters;
  struct files files;
  bool has_files;
  volt_sem buffers;   /* a permit for each buffer that is free */
  struct pool memory; /* the buffers */
  size_t in_bytes;    /* of a buffer's input */
  uint64_t started_ns;
  atomic_bool is_stopping;
  uint64_t stop_ns;    /* when all has to have ended; set before the tasks are cancelled */
  atomic_uint cut_off; /* connections that had not ended by then */
  volt_group connections;
  volt_tls_context *context;
  struct door door;     /* of the site */
  struct door redirect; /* to it */
  volt_task *sweeper;   /* of the files */
};

/* Start to serve: on return it listens at the addresses of its doors. The program ends if this fails.
 * Returns VOLT_OK, or why not; *what is then what could not be done. */
int server_start(struct server *server, const struct options *options, const char **what);

/* Load certificates and key anew, and say on standard error what has come of it: after a failure those
 * of before stay. With TLS. Threads: one. */
void server_reload(struct server *server);

/* Stop to accept, let what is at work end by deadline_ns. Threads: one. */
void server_stop(struct server *server, uint64_t deadline_ns);

/* A future of: all connections have ended. After server_stop(). */
volt_future *server_end_future(volt_future *f, struct server *server);

/* After that: give all back. */
void server_destroy(struct server *server);

/* The status, as JSON. */
void server_write_status(struct writer *to, struct server *server);

/* ---- connection.c ---- */

struct connection;

/* The task of a connection that comes by a door, not spawned, without a descriptor. NULL: no memory. */
struct connection *connection_new(struct door *door);
volt_fd *connection_fd(struct connection *c);
volt_task *connection_task(struct connection *c);

/* What the memory of one buffer takes. */
size_t connection_buffer_bytes(const struct options *options);

#endif
