/* libuv_cancel.c: cancel.h by a uv_udp_t and a uv_timer_t for each receive. */
#include <uv.h>

#include "cancel.h"

typedef struct receive {
  uv_udp_t udp; /* first */
  uv_timer_t timer;
  char bytes[64];
} receive;

static unsigned ended;

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *into) {
  receive *r = (receive *)handle;
  (void)suggested;
  *into = uv_buf_init(r->bytes, sizeof r->bytes);
}

static void on_received(uv_udp_t *udp, ssize_t n, const uv_buf_t *into, const struct sockaddr *from,
                        unsigned flags) {
  (void)udp, (void)n, (void)into, (void)from, (void)flags;
  cancel_fail("a receive has ended by itself");
}

static void on_time(uv_timer_t *timer) {
  receive *r = (receive *)timer->data;
  if (uv_udp_recv_stop(&r->udp) != 0) cancel_fail("uv_udp_recv_stop");
  ended++;
}

int main(int count, char **values) {
  cancel_options o = cancel_take_options(count, values);
  uv_loop_t *loop = uv_default_loop();
  receive *all = (receive *)calloc(o.tasks, sizeof *all);
  if (!all) cancel_fail("calloc");
  for (unsigned i = 0; i < o.tasks; i++) {
    uv_udp_init(loop, &all[i].udp);
    uv_timer_init(loop, &all[i].timer);
    if (uv_udp_open(&all[i].udp, cancel_socket()) != 0) cancel_fail("uv_udp_open");
  }
  uint64_t until = cancel_now() + CANCEL_NS;
  for (unsigned i = 0; i < o.tasks; i++) {
    all[i].timer.data = &all[i];
    uv_update_time(loop);
    uint64_t now = cancel_now(), left = until > now ? until - now : 0;
    if (uv_udp_recv_start(&all[i].udp, on_room, on_received) != 0 ||
        uv_timer_start(&all[i].timer, on_time, (left + 999999) / 1000000, 0) != 0) {
      cancel_fail("uv_udp_recv_start");
    }
  }
  cancel_started(until);
  while (uv_run(loop, UV_RUN_ONCE) && ended < o.tasks) {
  }
  if (ended < o.tasks) cancel_fail("not all have ended");
  cancel_say("libuv", until);
  return 0;
}
