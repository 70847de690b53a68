/* connects.c: connections that live for one message: connect, send, compare what comes back, close.
 * So many at a time; their wait is that of all of it. */
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "io.h"

enum { EVENTS = 512, WAIT_MS = 10 };

static void begin(int epoll, io_conn *c, const io_options *o, const io_children *children) {
  uint64_t began = io_now();
  uint32_t number = c->number + o->tasks;
  *c = (io_conn){.number = number, .size = o->amount};
  if (!io_conn_open(c, children->port, o->tls, number % o->tasks))
    io_fail("a connection is refused");
  io_conn_watch(epoll, c);
  io_conn_send(epoll, c, began);
}

void io_connects(const io_options *o, const io_children *children, io_said *said) {
  int epoll = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event events[EVENTS];
  io_conn *conns = (io_conn *)calloc(o->tasks, sizeof *conns);
  if (!conns) io_fail("no memory");
  io_window window = io_window_new(o);
  for (uint32_t i = 0; i < o->tasks; i++) {
    conns[i].number = i;
    begin(epoll, &conns[i], o, children);
  }
  while (!io_window_over(&window, children, said, io_now())) {
    int n = epoll_wait(epoll, events, EVENTS, WAIT_MS);
    for (int i = 0; i < n; i++) {
      io_conn *c = (io_conn *)events[i].data.ptr;
      if (!io_conn_go_on(epoll, c, events[i].events)) continue;
      said->operations += 1;
      histogram_add(&said->waits, io_now() - c->since);
      io_work(o->work);
      io_conn_close(c);
      begin(epoll, c, o, children);
    }
  }
  free(conns);
  close(epoll);
}
