/* epoll_set.h: an epoll instance, and which descriptors it watches: all of the epoll back end, and with
 * io_uring for what waits for readiness. */
#ifndef VOLT_IO_BACKEND_EPOLL_SET_H
#define VOLT_IO_BACKEND_EPOLL_SET_H

#include <volt/io.h>

#include "../op/watched.h"
#include "nap.h"

enum { VOLT_EPOLL_BELLS = 64 }; /* more than a runtime has workers */

/* A worker's doorbell (driver.h). */
typedef struct volt_epoll_bell {
  int number;
  VOLT_ATOMIC(uint32_t) state;
} volt_epoll_bell;

typedef struct volt_epoll_ {
  int number; /* readable while volt_epoll_take_() has something to take */
  bool has_no_pwait2;
  VOLT_ATOMIC(uint32_t) watched; /* how many descriptors */
  VOLT_ATOMIC(uint32_t) is_checked;
  volt_watch_table table;
  volt_naps_ naps; /* of what is watched, the back end's own */
  volt_epoll_bell bells[VOLT_EPOLL_BELLS];
} volt_epoll_;

/* Returns VOLT_OK or VOLT_ERRNO(e). */
int volt_epoll_init_(volt_epoll_ *e);
void volt_epoll_destroy_(volt_epoll_ *e);

/* As volt_driver_ops_.is_used. */
bool volt_epoll_is_used_(volt_epoll_ *e);

/* As volt_io_ops_.watch and unwatch. */
int volt_epoll_watch_(volt_epoll_ *e, volt_fd *d, uint32_t *mark);
void volt_epoll_unwatch_(volt_epoll_ *e, volt_fd *d);

/* Watch the doorbell of a worker. Returns VOLT_OK or VOLT_ERRNO(e). */
int volt_epoll_add_doorbell_(volt_epoll_ *e, unsigned worker, int doorbell);

/* A hint: whether anything is watched. */
static inline bool volt_epoll_watches_(volt_epoll_ *e) {
  return volt_load_relaxed(&e->watched) != 0; /* a hint */
}

/* Take what is ready, and wake what waits for it; if nothing is ready, sleep until something is,
 * the doorbell of that worker rings, or deadline_ns has passed. Returns how much was ready,
 * a doorbell not counted. That worker's thread. */
unsigned volt_epoll_sleep_(volt_epoll_ *e, unsigned worker, uint64_t deadline_ns);

/* Take some of what is ready, without a sleep. Returns whether there may be more, also if all that
 * it has taken was of descriptors that are gone. Any thread, also several at a time. */
bool volt_epoll_take_(volt_epoll_ *e);

/* As volt_epoll_sleep_() without a sleep, on any thread; nothing is done if another thread is about
 * to. */
unsigned volt_epoll_check_(volt_epoll_ *e);

#endif
