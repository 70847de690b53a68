/* ev.h: volt in a loop of libev. See volt/bridge.h.
 *
 *   volt_ev b;
 *   int result = volt_ev_open(&b, EV_DEFAULT, NULL);
 *   ... volt_spawn(volt_bridge_rt(&b.bridge), &task); volt_bridge_then(&b.bridge, ...);
 *   ev_run(loop, 0);                                runs the tasks, calls the callbacks
 *
 *   volt_bridge_close(&b.bridge, closed, &b);       in a callback, or before ev_run()
 *
 * ev_run() does not return before the bridge is closed. A program that wants it to end with its own
 * watchers calls ev_unref(loop), and ev_ref(loop) before it closes the bridge.
 *
 * A program that includes this links libev and libvolt-rt. It must not define EV_MULTIPLICITY 0. */
#ifndef VOLT_EV_H
#define VOLT_EV_H

#include <ev.h>

#include "bridge.h"

typedef struct volt_ev {
  volt_bridge bridge; /* first */
  struct ev_loop *loop;
  ev_io readable;
} volt_ev;

static inline void volt_ev_readable_(struct ev_loop *loop, ev_io *readable, int events) {
  (void)loop;
  (void)events;
  volt_bridge_run((volt_bridge *)readable->data);
}

static inline void volt_ev_stop_(volt_bridge *b) {
  volt_ev *self = (volt_ev *)b;
  ev_io_stop(self->loop, &self->readable);
  volt_bridge_stopped(b);
}

/* Open a bridge in a loop of libev.
 * b: the caller's memory, until closed() is called. config: of the runtime, as volt_bridge_open().
 * Returns as volt_bridge_open().
 * Threads: the loop's. */
static inline int volt_ev_open(volt_ev *b, struct ev_loop *loop, const volt_rt_config *config) {
  int result = volt_bridge_open(&b->bridge, volt_ev_stop_, config);
  if (result != VOLT_OK) return result;
  b->loop = loop;
  ev_io_init(&b->readable, volt_ev_readable_, volt_bridge_descriptor(&b->bridge), EV_READ);
  b->readable.data = &b->bridge;
  ev_io_start(loop, &b->readable);
  return VOLT_OK;
}

#endif
