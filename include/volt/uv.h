/* uv.h: volt in a loop of libuv. See volt/bridge.h.
 *
 *   volt_uv b;
 *   int result = volt_uv_open(&b, loop, NULL);
 *   ... volt_spawn(volt_bridge_rt(&b.bridge), &task); volt_bridge_then(&b.bridge, ...);
 *   uv_run(loop, UV_RUN_DEFAULT);                   runs the tasks, calls the callbacks
 *
 *   volt_bridge_close(&b.bridge, closed, &b);       in a callback of the loop's, or before uv_run()
 *
 * uv_run() does not return before the bridge is closed. A program that wants it to end with its own
 * handles calls uv_unref((uv_handle_t *)&b.poll). closed() is called in the callback of uv_close():
 * then uv_loop_close() may follow.
 *
 * A program that includes this links libuv and libvolt-rt. */
#ifndef VOLT_UV_H
#define VOLT_UV_H

#include <uv.h>

#include "bridge.h"

typedef struct volt_uv {
  volt_bridge bridge; /* first */
  uv_poll_t poll;
} volt_uv;

static inline void volt_uv_readable_(uv_poll_t *poll, int status, int events) {
  (void)status; /* of an epoll instance: never an error */
  (void)events;
  volt_bridge_run((volt_bridge *)poll->data);
}

static inline void volt_uv_closed_(uv_handle_t *poll) {
  volt_bridge_stopped((volt_bridge *)poll->data);
}

static inline void volt_uv_stop_(volt_bridge *b) {
  uv_close((uv_handle_t *)&((volt_uv *)b)->poll, volt_uv_closed_);
}

/* Open a bridge in a loop of libuv.
 * b: the caller's memory, until closed() is called. config: of the runtime, as volt_bridge_open().
 * Returns as volt_bridge_open(); VOLT_ENOMEM also if libuv cannot watch the descriptor.
 * Threads: the loop's. */
static inline int volt_uv_open(volt_uv *b, uv_loop_t *loop, const volt_rt_config *config) {
  int result = volt_bridge_open(&b->bridge, volt_uv_stop_, config);
  if (result != VOLT_OK) return result;
  if (uv_poll_init(loop, &b->poll, volt_bridge_descriptor(&b->bridge)) != 0) {
    volt_bridge_abandon(&b->bridge);
    return VOLT_ENOMEM;
  }
  b->poll.data = &b->bridge;
  (void)uv_poll_start(&b->poll, UV_READABLE, volt_uv_readable_); /* of a new handle: cannot fail */
  return VOLT_OK;
}

#endif
