/* libuv.c: echo by a uv_tcp_t for each connection. What uv_try_write does not take is written by
 * uv_write, and nothing is read until it is out. */
#include <uv.h>

#include "server.h"

typedef struct client {
  uv_tcp_t tcp; /* first */
  uv_write_t write;
  char bytes[SERVER_BYTES];
} client;

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *into) {
  (void)suggested;
  *into = uv_buf_init(((client *)handle)->bytes, SERVER_BYTES);
}

static void on_closed(uv_handle_t *handle) {
  free(handle);
}

static void drop(client *c) {
  if (!uv_is_closing((uv_handle_t *)&c->tcp)) uv_close((uv_handle_t *)&c->tcp, on_closed);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *read);

static void on_written(uv_write_t *write, int status) {
  client *c = (client *)write->data;
  if (status != 0 || uv_read_start((uv_stream_t *)&c->tcp, on_room, on_read) != 0) drop(c);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *read) {
  client *c = (client *)stream;
  if (n == 0) return;
  if (n < 0) {
    drop(c);
    return;
  }
  uv_buf_t out = uv_buf_init(read->base, (unsigned)n);
  int done = uv_try_write(stream, &out, 1);
  if (done == n) return;
  if (done < 0 && done != UV_EAGAIN) {
    drop(c);
    return;
  }
  unsigned out_already = done > 0 ? (unsigned)done : 0;
  out = uv_buf_init(read->base + out_already, (unsigned)n - out_already);
  c->write.data = c;
  uv_read_stop(stream);
  if (uv_write(&c->write, stream, &out, 1, on_written) != 0) drop(c);
}

static void on_connection(uv_stream_t *listener, int status) {
  client *c = status == 0 ? (client *)malloc(sizeof *c) : NULL;
  if (!c) return;
  uv_tcp_init(listener->loop, &c->tcp);
  if (uv_accept(listener, (uv_stream_t *)&c->tcp) != 0 || uv_tcp_nodelay(&c->tcp, 1) != 0 ||
      uv_read_start((uv_stream_t *)&c->tcp, on_room, on_read) != 0) {
    drop(c);
  }
}

int main(int count, char **values) {
  server_options o = server_take_options(count, values, 0);
  struct sockaddr_in at = server_address(o.port);
  uv_loop_t *loop = uv_default_loop();
  uv_tcp_t listener;
  uv_tcp_init(loop, &listener);
  if (uv_tcp_bind(&listener, (struct sockaddr *)&at, 0) != 0 ||
      uv_listen((uv_stream_t *)&listener, SERVER_BACKLOG, on_connection) != 0) {
    server_fail("uv_listen");
  }
  return uv_run(loop, UV_RUN_DEFAULT);
}
