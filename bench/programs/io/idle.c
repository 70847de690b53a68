/* idle.c: connections that have had one answer and send nothing more: the memory and the CPU time
 * that they cost the server. With a path the answer is that of an HTTP server. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io.h"

enum { WARM = 16, SETTLE_MS = 300 };

static void one_answer(const io_options *o, int epoll, io_conn *c) {
  struct epoll_event event;
  io_conn_watch(epoll, c);
  if (o->path) {
    io_http_get(c, o->path, NULL);
    return;
  }
  io_conn_send(epoll, c, 0);
  do {
    if (epoll_wait(epoll, &event, 1, 10000) != 1) io_fail("no answer comes");
  } while (!io_conn_go_on(epoll, c, event.events));
}

void io_idle(const io_options *o, const io_children *children, io_said *said) {
  int epoll = epoll_create1(EPOLL_CLOEXEC);
  uint64_t before = 0;
  io_conn *conns = (io_conn *)calloc(o->tasks + WARM, sizeof *conns);
  if (!conns) io_fail("no memory");
  for (uint32_t i = 0; i < o->tasks + WARM; i++) {
    if (i == WARM) before = io_resident_bytes(children->server);
    conns[i] = (io_conn){.number = i, .size = o->amount};
    if (!io_conn_open(&conns[i], children->port, o->tls, i))
      io_fail("connection %u of %u is refused", i, o->tasks);
    one_answer(o, epoll, &conns[i]);
  }
  usleep(SETTLE_MS * 1000);
  uint64_t after = io_resident_bytes(children->server);
  io_clocks from = io_clocks_now(children);
  usleep(o->operations * 1000);
  io_clocks to = io_clocks_now(children);
  io_clocks_say(said, &from, &to);
  for (uint32_t i = 0; i < o->tasks + WARM; i++) {
    char byte;
    ssize_t n = recv(conns[i].fd, &byte, 1, MSG_DONTWAIT);
    if (n >= 0 || errno != EAGAIN) io_fail("connection %u of %u has not stayed", i, o->tasks);
  }
  said->operations = o->tasks;
  said->bytes = after > before ? (double)(after - before) / o->tasks : 0;
  said->cores = said->server_ns / said->wall_ns;
  free(conns);
  close(epoll);
}
