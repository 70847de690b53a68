/* history.c: the last five minutes of each gate. */
#include "admin/history.h"

#include <stddef.h>
#include <stdlib.h>

#include "admin/numbers.h"

void history_init(struct history *h) {
  h->first = NULL;
  pthread_mutex_init(&h->lock, NULL);
}

void history_destroy(struct history *h) {
  while (h->first != NULL) {
    struct gate_history *next = h->first->next;
    free(h->first);
    h->first = next;
  }
  pthread_mutex_destroy(&h->lock);
}

static struct gate_history *history_find(struct history *h, const struct gate *gate) {
  struct gate_history *at = h->first;
  while (at != NULL && at->gate != gate) at = at->next;
  return at;
}

static struct gate_history *history_find_or_add(struct history *h, struct gate *gate) {
  struct gate_history *found = history_find(h, gate);
  if (found != NULL) return found;
  found = calloc(1, sizeof *found);
  if (found == NULL) return NULL; /* this gate has no history, then */
  found->gate = gate;
  found->next = h->first;
  h->first = found;
  return found;
}

/* ---- a second ---- */

static const struct {
  const char *column;
  size_t offset; /* of a histogram, in struct statistics_values */
  double share;
} history_times[HISTORY_TIMES] = {
    {"wait_p50_s", offsetof(struct statistics_values, wait), 0.5},
    {"wait_p99_s", offsetof(struct statistics_values, wait), 0.99},
    {"hold_p50_s", offsetof(struct statistics_values, hold), 0.5},
    {"hold_p99_s", offsetof(struct statistics_values, hold), 0.99},
};

/* The next row from *i on that has a column, or NULL. */
static const struct number *history_next_number(size_t *i) {
  while (*i < gate_numbers.count) {
    const struct number *n = &gate_numbers.at[(*i)++];
    if (n->history != NULL) return n;
  }
  return NULL;
}

static void history_add_second(struct gate_history *g, const struct gate_view *v, uint64_t now_ns) {
  struct gate_view d = *v; /* how it is, and what was counted since */
  statistics_subtract(&d.statistics, &g->moments[(g->moment_count - 1) % HISTORY_MOMENTS].values);
  struct second *s = &g->seconds[g->count++ % HISTORY_SECONDS];
  const struct number *n;
  s->at_ns = now_ns;
  size_t column = 0, i = 0;
  while ((n = history_next_number(&i)) != NULL) s->numbers[column++] = number_of(n, &d);
  for (i = 0; i < HISTORY_TIMES; i++) {
    const void *times = (const char *)&d.statistics + history_times[i].offset;
    s->times_ns[i] = volt_histogram_at_ns(times, history_times[i].share);
  }
}

static void history_sample_gate(struct gate_history *g, const struct gate_view *v,
                                uint64_t now_ns) {
  if (g->moment_count > 0) history_add_second(g, v, now_ns);
  uint64_t place = g->moment_count++ % HISTORY_MOMENTS;
  g->moments[place].at_ns = now_ns;
  g->moments[place].values = v->statistics;
}

void history_sample(struct history *h, struct program *p, uint64_t now_ns) {
  struct view view;
  if (!top_view_read(&view, p)) return; /* this second is missing */
  pthread_mutex_lock(&h->lock);
  for (size_t i = 0; i < view.count; i++) {
    struct gate_history *g = history_find_or_add(h, view.gates[i].gate);
    if (g != NULL) history_sample_gate(g, &view.gates[i], now_ns);
  }
  pthread_mutex_unlock(&h->lock);
  top_view_free(&view);
}

/* The counters are read under the lock: so they were read after those of any moment, and none of
 * them is less. */
uint64_t history_last(struct history *h, const struct gate *gate, uint64_t now_ns,
                      struct statistics_values *values) {
  uint64_t passed_ns = 0;
  *values = (struct statistics_values){.counts = {0}};
  pthread_mutex_lock(&h->lock);
  const struct gate_history *g = history_find(h, gate);
  if (g != NULL && g->moment_count > 0) {
    uint64_t oldest = g->moment_count < HISTORY_MOMENTS ? 0 : g->moment_count - HISTORY_MOMENTS;
    uint64_t at_ns = g->moments[oldest % HISTORY_MOMENTS].at_ns;
    passed_ns = at_ns < now_ns ? now_ns - at_ns : 1;
    statistics_read(&gate->statistics, values);
    statistics_subtract(values, &g->moments[oldest % HISTORY_MOMENTS].values);
  }
  pthread_mutex_unlock(&h->lock);
  return passed_ns;
}

/* ---- as JSON ---- */

static void history_put_second(struct json *j, const struct second *s) {
  size_t column = 0, i = 0;
  json_put_array(j, NULL);
  json_put_seconds(j, NULL, s->at_ns);
  while (history_next_number(&i) != NULL) json_put_number(j, NULL, s->numbers[column++]);
  for (i = 0; i < HISTORY_TIMES; i++) json_put_seconds(j, NULL, s->times_ns[i]);
  json_end_array(j);
}

static void history_put_columns(struct json *j) {
  const struct number *n;
  size_t i = 0;
  json_put_array(j, "columns");
  json_put_string(j, NULL, "at_s");
  while ((n = history_next_number(&i)) != NULL) json_put_string(j, NULL, n->history);
  for (i = 0; i < HISTORY_TIMES; i++) json_put_string(j, NULL, history_times[i].column);
  json_end_array(j);
}

void history_write(struct output *to, struct history *h, struct gate *gate, uint64_t since_ns,
                   uint64_t now_ns) {
  struct json j = {.to = to};
  json_put_object(&j, NULL);
  json_put_string(&j, "gate", gate->name);
  json_put_seconds(&j, "now_s", now_ns);
  history_put_columns(&j);
  json_put_array(&j, "seconds");
  pthread_mutex_lock(&h->lock);
  const struct gate_history *g = history_find(h, gate);
  uint64_t count = g != NULL ? g->count : 0;
  for (uint64_t i = count > HISTORY_SECONDS ? count - HISTORY_SECONDS : 0; i < count; i++) {
    const struct second *s = &g->seconds[i % HISTORY_SECONDS];
    if (s->at_ns > since_ns) history_put_second(&j, s);
  }
  pthread_mutex_unlock(&h->lock);
  json_end_array(&j);
  json_end_object(&j);
  OUTPUT(to, "\n");
}
