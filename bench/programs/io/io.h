/* io.h: the load of the I/O benchmark: what a run is told, what it says, and its parts.
 *
 * A run is one process of bench-io. It starts the server in a process of its own, on the first core
 * that it may use, loads it from the second one, and measures the server by the server's own CPU
 * clock. Or both have all cores, for a server of several threads. Everything that comes back is compared with what was sent. */
#ifndef VOLT_BENCH_IO_IO_H
#define VOLT_BENCH_IO_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "histogram.h"

#define IO_BYTES_MOST 16384u
#define IO_TASKS_MOST 16384u

typedef struct io_options {
  const char *server;  /* a command, with @ for its port and % for the origin's */
  const char *origin;  /* NULL: none */
  const char *path;    /* of HTTP, NULL: what is sent comes back */
  uint32_t tasks;      /* connections */
  uint32_t amount;     /* bytes of a message */
  uint32_t operations; /* milliseconds that are measured */
  uint32_t rate;       /* messages a second, 0: each connection sends when it has its answer */
  uint32_t work;       /* nanoseconds that the client computes for each answer */
  uint32_t all_cores;  /* 1: server and client have all of them; 0: one each */
  uint32_t tls;        /* of io_tls */
} io_options;

/* How connections begin: plainly, with a full handshake of TLS 1.3, or by the session of the one before. */
enum io_tls { IO_PLAIN = 0, IO_TLS_FULL = 1, IO_TLS_RESUMED = 2 };

/* What is said of a run. What is IO_UNSAID is left out. */
#define IO_UNSAID (-1.0)
typedef struct io_said {
  uint64_t operations;
  double wall_ns, server_ns, client_idle; /* idle: share of the time that the client slept */
  double bytes, cores;
  histogram waits;
} io_said;

void io_said_new(io_said *said);

/* ---- children.c ---- */

_Noreturn void io_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
uint64_t io_now(void);

typedef struct io_children {
  pid_t server, origin;
  uint16_t port;
} io_children;

/* Starts the server, and the origin if there is one; returns when they take connections. */
void io_children_start(io_children *c, const io_options *o);
void io_children_stop(io_children *c);
/* Runs it where the client runs; its output without the end that does not fit. */
void io_child_read(const char *command, char *into, size_t size, double *cpu_ns);

typedef struct io_clocks {
  uint64_t now, server, client;
} io_clocks;

/* client: what this thread and the origin have run, and what this thread has waited to run. */
io_clocks io_clocks_now(const io_children *c);
void io_clocks_say(io_said *said, const io_clocks *from, const io_clocks *to);
uint64_t io_resident_bytes(pid_t of);

/* ---- exchange.c: a message, and its answer ---- */

typedef struct io_conn {
  int fd;
  uint32_t number, count; /* of the connection; of its messages so far */
  uint32_t size, sent, got;
  uint64_t since;     /* what its wait is counted from */
  struct ssl_st *tls; /* NULL: it is plain */
  bool waits_for_room;
} io_conn;

/* -1 if it is refused. Connections of different numbers have different addresses of their own, so
 * that ports do not run out. */
int io_connect(uint16_t port, uint32_t number);
/* The same, as c->fd, which is to be fd of its number; tls: of io_tls. Its handshake comes with its first
 * message. slot: of the connection whose session is resumed. Returns whether it could be. */
bool io_conn_open(io_conn *c, uint16_t port, uint32_t tls, uint32_t slot);
void io_conn_close(io_conn *c);
/* All of a short request; and what comes then. They wait. */
void io_conn_write(io_conn *c, const char *from, size_t size);
size_t io_conn_read(io_conn *c, char *to, size_t size);
void io_conn_watch(int epoll, io_conn *c);
/* Sends the next message; the wait for its answer is counted from since. */
void io_conn_send(int epoll, io_conn *c, uint64_t since);
/* Goes on after an event. Whether the answer is there; wrong bytes end the run. */
bool io_conn_go_on(int epoll, io_conn *c, uint32_t events);
/* Computes for so long. */
void io_work(uint32_t ns);

/* Reads one answer of status 200: how long its body is, and where. body may be NULL. */
size_t io_http_get(io_conn *c, const char *path, char **body);

/* ---- workloads ---- */

void io_echo(const io_options *o, const io_children *c, io_said *said);     /* echo.c */
void io_connects(const io_options *o, const io_children *c, io_said *said); /* connects.c */
void io_idle(const io_options *o, const io_children *c, io_said *said);     /* idle.c */
void io_http(const io_options *o, const io_children *c, io_said *said);     /* http.c */

/* When a run that has begun at `began` measures: after an eighth, or 50 ms if that is longer. */
typedef struct io_window {
  uint64_t from, to;
  bool open;
  io_clocks clocks;
} io_window;

io_window io_window_new(const io_options *o);
/* Whether the run is over. What was counted before the window opened is forgotten. */
bool io_window_over(io_window *w, const io_children *c, io_said *said, uint64_t now);

#endif
