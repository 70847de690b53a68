/* breaker.c: whether the server is thought to be away.
 *
 * All is changed under the lock. failures, silent_ns and is_open are atomic so that a connection that succeeds,
 * which is the usual case, takes no lock. */
#include "gate/breaker.h"

#include <stdio.h>

void breaker_init(struct breaker *b) {
  atomic_init(&b->is_open, false);
  atomic_init(&b->failures, 0);
  atomic_init(&b->silent_ns, 0);
  pthread_mutex_init(&b->lock, NULL);
  b->since_ns = 0;
  b->reason[0] = '\0';
}

void breaker_destroy(struct breaker *b) {
  pthread_mutex_destroy(&b->lock);
}

/* The first that was not answered says since when. */
static void breaker_note_silence(struct breaker *b, uint64_t silent_ns) {
  if (silent_ns != 0 && breaker_silent_ns(b) != 0) return;
  atomic_store_explicit(&b->silent_ns, silent_ns, memory_order_relaxed);
}

bool breaker_failed(struct breaker *b, unsigned allowed, uint64_t now_ns, const char *reason,
                    uint64_t silent_ns) {
  pthread_mutex_lock(&b->lock);
  unsigned failures = atomic_load_explicit(&b->failures, memory_order_relaxed);
  if (failures < UINT32_MAX) failures += 1;
  atomic_store_explicit(&b->failures, failures, memory_order_relaxed);
  snprintf(b->reason, sizeof b->reason, "%s", reason);
  breaker_note_silence(b, silent_ns);
  bool opens = allowed != 0 && failures >= allowed && !breaker_is_open(b);
  if (opens) {
    b->since_ns = now_ns;
    /* breaker:O1 -> breaker_is_open(): a thread that finds it open finds its reason */
    atomic_store_explicit(&b->is_open, true, memory_order_release);
  }
  pthread_mutex_unlock(&b->lock);
  return opens;
}

enum breaker_news breaker_succeeded(struct breaker *b) {
  if (atomic_load_explicit(&b->failures, memory_order_relaxed) == 0) return BREAKER_NO_NEWS;
  pthread_mutex_lock(&b->lock);
  atomic_store_explicit(&b->failures, 0, memory_order_relaxed);
  enum breaker_news news = breaker_silent_ns(b) ? BREAKER_ANSWERS : BREAKER_NO_NEWS;
  if (breaker_is_open(b)) news = BREAKER_CLOSES;
  b->since_ns = 0;
  atomic_store_explicit(&b->silent_ns, 0, memory_order_relaxed);
  atomic_store_explicit(&b->is_open, false, memory_order_release);
  pthread_mutex_unlock(&b->lock);
  return news;
}

uint64_t breaker_reason(struct breaker *b, char reason[BREAKER_REASON_MAX]) {
  pthread_mutex_lock(&b->lock);
  snprintf(reason, BREAKER_REASON_MAX, "%s", b->reason);
  uint64_t since = b->since_ns;
  pthread_mutex_unlock(&b->lock);
  return since;
}
