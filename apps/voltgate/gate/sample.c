/* sample.c: the last ten seconds of a gate. */
#include "gate/sample.h"

void samples_init(struct samples *s) {
  pthread_mutex_init(&s->lock, NULL);
  s->count = 0;
}

void samples_destroy(struct samples *s) {
  pthread_mutex_destroy(&s->lock);
}

void samples_take(struct samples *s, const struct statistics *statistics, uint64_t now_ns) {
  pthread_mutex_lock(&s->lock);
  struct sample *to = &s->ring[s->count % SAMPLES_KEPT];
  statistics_read(statistics, &to->values);
  to->at_ns = now_ns;
  s->count += 1;
  pthread_mutex_unlock(&s->lock);
}

uint64_t samples_last(struct samples *s, struct statistics_values *values) {
  *values = (struct statistics_values){.wait = {.count = 0}};
  pthread_mutex_lock(&s->lock);
  uint64_t span_ns = 0;
  if (s->count >= 2) {
    const struct sample *newest = &s->ring[(s->count - 1) % SAMPLES_KEPT];
    const struct sample *oldest = &s->ring[s->count < SAMPLES_KEPT ? 0 : s->count % SAMPLES_KEPT];
    *values = newest->values;
    statistics_subtract(values, &oldest->values);
    span_ns = newest->at_ns - oldest->at_ns;
  }
  pthread_mutex_unlock(&s->lock);
  return span_ns;
}
