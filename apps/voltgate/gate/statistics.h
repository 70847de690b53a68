/* statistics.h: what a gate and its tenants count. */
#ifndef VOLTGATE_GATE_STATISTICS_H
#define VOLTGATE_GATE_STATISTICS_H

#include <stdatomic.h>

#include "common/histogram.h"
#include "wire/refusal.h"

/* Counters; they never fall. */
enum count {
  COUNT_ACCEPTED,         /* connections of clients */
  COUNT_ADMITTED,         /* permits given to clients; read as the number of waits */
  COUNT_WAITED,           /* of these: after a wait */
  COUNT_LEFT,             /* clients that hung up while they were queued */
  COUNT_ENDED,            /* connections that have ended */
  COUNT_CONNECT_FAILURES, /* connections to the server that failed */
  COUNT_CANCELS,          /* CancelRequests passed on */
  COUNT_BLOCKING,         /* blocking commands, of redis */
  COUNT_BYTES_UP,         /* from clients to the server */
  COUNT_BYTES_DOWN,
  COUNT_KINDS
};

/* One part for a few threads, so that workers do not share cache lines. */
enum { STATISTICS_PARTS = 8 };
struct statistics_part {
  _Alignas(64) atomic_uint_fast64_t counts[COUNT_KINDS];
  atomic_uint_fast64_t refused[REASON_KINDS];
  volt_shared_histogram_ wait, hold;
};

/* Of a gate. All-zero at first. */
struct statistics {
  struct statistics_part parts[STATISTICS_PARTS];
};

/* The part of the calling thread. */
struct statistics_part *statistics_mine(struct statistics *s);

void statistics_count(struct statistics *s, enum count kind, uint64_t n);
void statistics_refused(struct statistics *s, enum gate_reason reason);

/* All parts together. */
struct statistics_values {
  uint64_t counts[COUNT_KINDS];
  uint64_t refused[REASON_KINDS];
  uint64_t refused_all; /* for any reason: their sum */
  volt_histogram wait, hold;
};
void statistics_read(const struct statistics *s, struct statistics_values *values);

/* *newer becomes what was counted since *older. */
void statistics_subtract(struct statistics_values *newer, const struct statistics_values *older);

#endif
