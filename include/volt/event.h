/* event.h: volt in a loop of libevent. See volt/bridge.h.
 *
 *   volt_event b;
 *   int result = volt_event_open(&b, base, NULL);
 *   ... volt_spawn(volt_bridge_rt(&b.bridge), &task); volt_bridge_then(&b.bridge, ...);
 *   event_base_dispatch(base);                      runs the tasks, calls the callbacks
 *
 *   volt_bridge_close(&b.bridge, closed, &b);       in a callback, or before event_base_dispatch()
 *
 * event_base_dispatch() does not return before the bridge is closed. Other threads may wake tasks
 * and spawn them without evthread_use_pthreads(), because they do not touch the base.
 *
 * A program that includes this links libevent (libevent_core suffices) and libvolt-rt. */
#ifndef VOLT_EVENT_H
#define VOLT_EVENT_H

#include <event2/event.h>

#include "bridge.h"

typedef struct volt_event {
  volt_bridge bridge; /* first */
  struct event *readable;
} volt_event;

static inline void volt_event_readable_(evutil_socket_t descriptor, short events, void *b) {
  (void)descriptor;
  (void)events;
  volt_bridge_run((volt_bridge *)b);
}

static inline void volt_event_stop_(volt_bridge *b) {
  event_free(((volt_event *)b)->readable);
  volt_bridge_stopped(b);
}

/* Open a bridge in a loop of libevent.
 * b: the caller's memory, until closed() is called. config: of the runtime, as volt_bridge_open().
 * Returns as volt_bridge_open(); VOLT_ENOMEM also if libevent cannot watch the descriptor.
 * Threads: the loop's. */
static inline int volt_event_open(volt_event *b, struct event_base *base,
                                  const volt_rt_config *config) {
  int result = volt_bridge_open(&b->bridge, volt_event_stop_, config);
  if (result != VOLT_OK) return result;
  b->readable = event_new(base, volt_bridge_descriptor(&b->bridge), EV_READ | EV_PERSIST,
                          volt_event_readable_, &b->bridge);
  if (b->readable && event_add(b->readable, NULL) == 0) return VOLT_OK;
  if (b->readable) event_free(b->readable);
  volt_bridge_abandon(&b->bridge);
  return VOLT_ENOMEM;
}

#endif
