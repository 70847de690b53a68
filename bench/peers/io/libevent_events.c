/* libevent_events.c: echo by libevent's events alone: it says that a socket is readable, recv and
 * send are the program's own. */
#include <event2/event.h>
#include <fcntl.h>

#include "server.h"

typedef struct client {
  struct event *readable, *writable;
  size_t have, sent;
  char bytes[SERVER_BYTES];
} client;

static void drop(client *c) {
  close(event_get_fd(c->readable));
  event_free(c->readable);
  event_free(c->writable);
  free(c);
}

static void send_rest(client *c, int fd) {
  ssize_t n = send(fd, c->bytes + c->sent, c->have - c->sent, MSG_NOSIGNAL);
  if (n < 0 && errno != EAGAIN) {
    drop(c);
    return;
  }
  if (n > 0) c->sent += (size_t)n;
  if (c->sent < c->have) {
    event_del(c->readable);
    event_add(c->writable, NULL);
  }
}

static void on_readable(evutil_socket_t fd, short what, void *arg) {
  client *c = (client *)arg;
  ssize_t n = recv(fd, c->bytes, sizeof c->bytes, 0);
  (void)what;
  if (n < 0 && errno == EAGAIN) return;
  if (n <= 0) {
    drop(c);
    return;
  }
  c->have = (size_t)n;
  c->sent = 0;
  send_rest(c, fd);
}

/* Not persistent: send_rest() adds it again if it has to. */
static void on_writable(evutil_socket_t fd, short what, void *arg) {
  client *c = (client *)arg;
  (void)what;
  event_add(c->readable, NULL);
  send_rest(c, fd);
}

static void on_connection(evutil_socket_t listener, short what, void *arg) {
  struct event_base *base = (struct event_base *)arg;
  int fd;
  (void)what;
  while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
    client *c = (client *)malloc(sizeof *c);
    if (!c) server_fail("malloc");
    server_no_delay(fd);
    c->readable = event_new(base, fd, EV_READ | EV_PERSIST, on_readable, c);
    c->writable = event_new(base, fd, EV_WRITE, on_writable, c);
    event_add(c->readable, NULL);
  }
}

int main(int count, char **values) {
  server_options o = server_take_options(count, values, 0);
  struct event_base *base = event_base_new();
  int listener = server_listen(o.port, SOCK_NONBLOCK);
  struct event *accepting = event_new(base, listener, EV_READ | EV_PERSIST, on_connection, base);
  if (!accepting || event_add(accepting, NULL) != 0) server_fail("event_add");
  return event_base_dispatch(base);
}
