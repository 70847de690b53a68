/* nap.h: descriptors that are reported to be ready after a while, although the system does not say
 * so. See nap.c. */
#ifndef VOLT_IO_BACKEND_NAP_H
#define VOLT_IO_BACKEND_NAP_H

#include <volt/runtime.h>
#include <volt/timer.h>

#include "../op/watched.h"

typedef struct volt_nap_entry_ {
  struct volt_nap_entry_ *next;
  uint32_t number, mark; /* of the descriptor (watched.h) */
  uint32_t ticks;        /* until it is reported */
} volt_nap_entry_;

/* Those of one runtime. */
typedef struct volt_naps_ {
  volt_short_lock lock;
  VOLT_PLAIN(volt_nap_entry_ *) first; /* under the lock, like the next */
  VOLT_PLAIN(bool) is_ticking;         /* the timer runs, or its waker does */
  volt_timer timer;
  volt_rt *rt;
  volt_watch_table *table;
} volt_naps_;

void volt_naps_init_(volt_naps_ *naps, volt_rt *rt, volt_watch_table *table);

/* No thread uses *naps, and no operation waits. May be called again. */
void volt_naps_end_(volt_naps_ *naps);

/* The runtime of them is about to end. Whether a descriptor is open; if none is, this ends them. May be
 * called again. */
bool volt_naps_are_needed_(volt_naps_ *naps);

/* Have what waits for the descriptor of that number and mark make its call again, after so many
 * ticks, of 4 ms each: at least 1.
 * Returns VOLT_OK or VOLT_ENOMEM. Any thread. */
int volt_nap_(volt_naps_ *naps, int number, uint32_t mark, uint32_t ticks);

#endif
