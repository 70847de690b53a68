/* counters.h: what a server has done so far, and the JSON text that says so.
 *
 * Each thread counts in a line of its own, so that counting costs no atomic exchange; a reader adds
 * the lines up. There are more lines than workers. Threads beyond them share one, and may lose
 * counts. */
#ifndef HTTPD_COUNTERS_H
#define HTTPD_COUNTERS_H

#include <stdatomic.h>
#include <stdint.h>

#include "common/http/text.h"

enum counter {
  COUNT_ACCEPTED,
  COUNT_CLOSED,
  COUNT_2XX, /* answers, and so requests, by their status */
  COUNT_3XX,
  COUNT_4XX,
  COUNT_5XX,
  COUNT_BYTES,     /* of content: not of heads */
  COUNT_TIMEOUTS,  /* connections that were given up, because the client was too slow */
  COUNT_FAILURES,  /* connections that the client has broken off */
  COUNT_TRUNCATED, /* files that became shorter while they were sent */
  COUNT_CACHED,    /* files that were open already */
  COUNT_OPENED,    /* files that were opened, or not found */
  COUNT_ACCEPT_ERRORS,
  COUNT_HANDSHAKES, /* of TLS that are done */
  COUNT_RELOADS,    /* of certificates */
  COUNT_RELOAD_ERRORS,
  COUNTERS
};

#define COUNTER_LINES 64

struct counters {
  struct {
    _Alignas(64) _Atomic uint64_t values[COUNTERS];
  } lines[COUNTER_LINES];
};

/* Which line is this thread's; 0 is that of threads that have none yet. */
unsigned counters_line(void);

static inline void count(struct counters *c, enum counter which, uint64_t by) {
  _Atomic uint64_t *value = &c->lines[counters_line()].values[which];
  atomic_store_explicit(value, atomic_load_explicit(value, memory_order_relaxed) + by,
                        memory_order_relaxed);
}

uint64_t counters_sum(const struct counters *c, enum counter which);

/* How many requests were answered. */
uint64_t counters_requests(const struct counters *c);

/* What else is known of a server. */
struct about {
  const char *io; /* the back end */
  uint64_t uptime_s;
  unsigned workers;
  unsigned connections_max;
  bool is_stopping;
};

/* Write the status as JSON, at most STATUS_MAX bytes. */
#define STATUS_MAX 1024
void counters_write(struct writer *to, const struct counters *c, const struct about *about);

#endif
