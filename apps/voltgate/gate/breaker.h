/* breaker.h: whether the server is thought to be away, or to accept connections and not to answer. */
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
  atomic_uint_fast64_t
      silent_ns;     /* since when it has not answered what it has accepted; 0: it does,
                                   * or it does not accept */
  uint64_t since_ns; /* when it opened */
  char reason[BREAKER_REASON_MAX];
};

void breaker_init(struct breaker *b);
void breaker_destroy(struct breaker *b);

/* A connection could not be made, or was made and not answered. allowed: failures in a row that open
 * it; 0: it never opens. silent_ns: since when it was not answered (also if it was
 * closed without an answer); 0: it could not be made.
 * Returns whether it has opened just now: then the caller wakes those that wait. */
bool breaker_failed(struct breaker *b, unsigned allowed, uint64_t now_ns, const char *reason,
                    uint64_t silent_ns);

/* The server has answered; or it has accepted, and is not asked for more. */
enum breaker_news { BREAKER_NO_NEWS, BREAKER_ANSWERS, BREAKER_CLOSES };
enum breaker_news breaker_succeeded(struct breaker *b);

static inline bool breaker_is_open(const struct breaker *b) {
  return atomic_load_explicit(&b->is_open, memory_order_acquire);
}

/* Since when the server accepts and does not answer; 0: it is not so. Shown only. */
static inline uint64_t breaker_silent_ns(const struct breaker *b) {
  return atomic_load_explicit(&b->silent_ns, memory_order_relaxed);
}

/* Whether there is something to be found out about the server. */
static inline bool breaker_is_in_doubt(const struct breaker *b) {
  return breaker_is_open(b) || breaker_silent_ns(b) != 0;
}

/* The last reason, and since when it is open (0: it is not). */
uint64_t breaker_reason(struct breaker *b, char reason[BREAKER_REASON_MAX]);

#endif
