/* epoll.h: volt in a loop around epoll_wait(). See volt/bridge.h.
 *
 *   volt_epoll b;
 *   int result = volt_epoll_open(&b, epoll, (epoll_data_t){.ptr = &b}, NULL);
 *   ... volt_spawn(volt_bridge_rt(&b.bridge), &task); volt_bridge_then(&b.bridge, ...);
 *
 *   int count = epoll_wait(epoll, events, 16, -1);  no time-out for volt: it has a timer of its own
 *   for (int i = 0; i < count; i++) {
 *     if (events[i].data.ptr == &b) volt_bridge_run(&b.bridge);
 *     else ...
 *   }
 *
 *   volt_bridge_close(&b.bridge, closed, &b);       closed() is called in volt_bridge_run()
 *
 * A program that includes this links libvolt-rt. */
#ifndef VOLT_EPOLL_H
#define VOLT_EPOLL_H

#include <sys/epoll.h>

#include "bridge.h"

typedef struct volt_epoll {
  volt_bridge bridge; /* first */
  int epoll;
} volt_epoll;

static inline void volt_epoll_stop_(volt_bridge *b) {
  struct epoll_event unused = {0, {NULL}};
  (void)epoll_ctl(((volt_epoll *)b)->epoll, EPOLL_CTL_DEL, volt_bridge_descriptor(b), &unused);
  volt_bridge_stopped(b);
}

/* Open a bridge in an epoll instance of the program's.
 * b: the caller's memory, until closed() is called. epoll: the program's, which stays open until
 *   then. data: comes back from epoll_wait() when the program has to call volt_bridge_run().
 *   config: of the runtime, as volt_bridge_open().
 * Returns as volt_bridge_open(); VOLT_ENOMEM also if epoll cannot watch the descriptor.
 * Threads: any. */
static inline int volt_epoll_open(volt_epoll *b, int epoll, epoll_data_t data,
                                  const volt_rt_config *config) {
  int result = volt_bridge_open(&b->bridge, volt_epoll_stop_, config);
  if (result != VOLT_OK) return result;
  struct epoll_event event = {EPOLLIN, data};
  b->epoll = epoll;
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, volt_bridge_descriptor(&b->bridge), &event) == 0) {
    return VOLT_OK;
  }
  volt_bridge_abandon(&b->bridge);
  return VOLT_ENOMEM;
}

#endif
