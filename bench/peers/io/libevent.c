/* libevent.c: echo by a bufferevent for each connection, the way libevent's book has it: what came
 * into the input buffer is moved to the output buffer. */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>

#include "server.h"

static void on_read(struct bufferevent *b, void *nothing) {
  (void)nothing;
  bufferevent_write_buffer(b, bufferevent_get_input(b));
}

static void on_end(struct bufferevent *b, short what, void *nothing) {
  (void)nothing;
  if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR)) bufferevent_free(b);
}

static void on_connection(struct evconnlistener *listener, evutil_socket_t fd,
                          struct sockaddr *from, int size, void *nothing) {
  (void)from, (void)size, (void)nothing;
  struct bufferevent *b =
      bufferevent_socket_new(evconnlistener_get_base(listener), fd, BEV_OPT_CLOSE_ON_FREE);
  if (!b) server_fail("bufferevent_socket_new");
  server_no_delay(fd);
  bufferevent_set_max_single_read(b, SERVER_BYTES);
  bufferevent_set_max_single_write(b, SERVER_BYTES);
  bufferevent_setcb(b, on_read, NULL, on_end, NULL);
  bufferevent_enable(b, EV_READ | EV_WRITE);
}

int main(int count, char **values) {
  server_options o = server_take_options(count, values, 0);
  struct sockaddr_in at = server_address(o.port);
  struct event_base *base = event_base_new();
  if (!base ||
      !evconnlistener_new_bind(base, on_connection, NULL, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_REUSEABLE,
                               SERVER_BACKLOG, (struct sockaddr *)&at, sizeof at)) {
    server_fail("evconnlistener_new_bind");
  }
  return event_base_dispatch(base);
}
