/* history.h: what the gates did in the last five minutes, second by second, so that a page that is
 * opened late has something to show, and what "the last ten seconds" are. */
#ifndef VOLTGATE_ADMIN_HISTORY_H
#define VOLTGATE_ADMIN_HISTORY_H

#include "admin/json.h"
#include "admin/view.h"

enum { HISTORY_SECONDS = 300, HISTORY_MOMENTS = 11 }; /* ten seconds are between eleven moments */
enum { HISTORY_NUMBERS_MOST = 12, HISTORY_TIMES = 4 };

/* One second of a gate: how it is at its end, and what it did in it. */
struct second {
  uint64_t at_ns;                         /* its end, by the runtime's clock */
  uint64_t numbers[HISTORY_NUMBERS_MOST]; /* of gate_numbers, those that have a column */
  uint64_t times_ns[HISTORY_TIMES];       /* of waits and holds; 0: there was none */
};

/* Of one gate. It lives as long as the history. */
struct gate_history {
  struct gate *gate;
  struct gate_history *next;
  uint64_t moment_count; /* so far; the last HISTORY_MOMENTS are kept */
  struct {
    uint64_t at_ns;
    struct statistics_values values; /* all that was counted by then */
  } moments[HISTORY_MOMENTS];
  uint64_t count; /* seconds so far; the last HISTORY_SECONDS are kept */
  struct second seconds[HISTORY_SECONDS];
};

/* All-zero but the lock. Threads: any. */
struct history {
  pthread_mutex_t lock;
  struct gate_history *first;
};

void history_init(struct history *h);
void history_destroy(struct history *h);

/* Take one sample of each gate. To be called once a second, not on a worker. */
void history_sample(struct history *h, struct program *p, uint64_t now_ns);

/* What a gate has counted in the last ten seconds, or since its first sample. Returns how long that
 * is; 0: it has no sample yet, and *values is zero. */
uint64_t history_last(struct history *h, const struct gate *gate, uint64_t now_ns,
                      struct statistics_values *values);

/* Write the seconds of a gate that are newer than since_ns, the oldest first. */
void history_write(struct output *to, struct history *h, struct gate *gate, uint64_t since_ns,
                   uint64_t now_ns);

#endif
