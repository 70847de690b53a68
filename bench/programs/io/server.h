/* server.h: what the servers that are measured have in common: their command line, and the sockets.
 *
 *   PROGRAM PORT             send back whatever comes, on 127.0.0.1
 *   PROGRAM PORT TO_PORT     a relay: connect each client to 127.0.0.1:TO_PORT, pass on both ways
 *
 * One thread; a peer that can have several has $BENCH_WORKERS of them. A message has at most SERVER_BYTES, so that many bytes are read at a time. */
#ifndef VOLT_BENCH_IO_SERVER_H
#define VOLT_BENCH_IO_SERVER_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SERVER_BYTES 16384
#define SERVER_BACKLOG 4096

typedef struct server_options {
  unsigned port;
  unsigned to_port; /* 0: no relay */
} server_options;

static inline void server_fail(const char *what) {
  perror(what);
  exit(1);
}

static inline unsigned server_take_port(const char *text) {
  char *end;
  unsigned long port = strtoul(text, &end, 10);
  if (*text == '\0' || *end != '\0' || port < 1 || port > 65535) {
    fprintf(stderr, "not a port: %s\n", text);
    exit(2);
  }
  return (unsigned)port;
}

/* relays: whether the program can be one. */
static inline server_options server_take_options(int count, char **values, int relays) {
  server_options o = {0, 0};
  if (count < 2 || count > 2 + relays) {
    fprintf(stderr, "usage: %s PORT%s\n", values[0], relays ? " [TO_PORT]" : "");
    exit(2);
  }
  o.port = server_take_port(values[1]);
  if (count > 2) o.to_port = server_take_port(values[2]);
  signal(SIGPIPE, SIG_IGN);
  return o;
}

static inline struct sockaddr_in server_address(unsigned port) {
  struct sockaddr_in at;
  memset(&at, 0, sizeof at);
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  at.sin_port = htons((uint16_t)port);
  return at;
}

static inline void server_no_delay(int fd) {
  int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static inline int server_listen(unsigned port, int flags) {
  struct sockaddr_in at = server_address(port);
  int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
  if (fd < 0) server_fail("socket");
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(fd, (struct sockaddr *)&at, sizeof at) != 0) server_fail("bind");
  if (listen(fd, SERVER_BACKLOG) != 0) server_fail("listen");
  return fd;
}

/* -1 if it is refused. */
static inline int server_dial(unsigned port, int flags) {
  struct sockaddr_in to = server_address(port);
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
  if (fd < 0) return -1;
  server_no_delay(fd);
  if (connect(fd, (struct sockaddr *)&to, sizeof to) == 0 || errno == EINPROGRESS) return fd;
  close(fd);
  return -1;
}

#endif
