/* breaker.h: whether the server is thought to be away. */
#ifndef VOLTGATE_GATE_BREAKER_H
#define VOLTGATE_GATE_BREAKER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { BREAKER_REASON_MAX = 160 };

struct breaker {
  atomic_bool is_open;
  pthread_mutex_t lock;
  atomic_uint failures; /* in a row; changed under the lock, as all is */
  uint64_t since_ns;    /* when it opened */
  char reason[BREAKER_REASON_MAX];
};

void breaker_init(struct breaker *b);
void breaker_destroy(struct breaker *b);

/* A connection could not be made. allowed: failures in a row that open it; 0: it never opens.
 * Returns whether it has opened just now: then the caller starts to probe, and wakes those that wait. */
bool breaker_failed(struct breaker *b, unsigned allowed, uint64_t now_ns, const char *reason);

/* A connection was made. Returns whether it has closed just now. */
bool breaker_succeeded(struct breaker *b);

static inline bool breaker_is_open(const struct breaker *b) {
  return atomic_load_explicit(&b->is_open, memory_order_acquire);
}

/* The last reason, and since when it is open (0: it is not). */
uint64_t breaker_reason(struct breaker *b, char reason[BREAKER_REASON_MAX]);

#endif
