/* ensemble.c: time, chance, the heap of what will happen; and what a test sees. */
#include "ensemble.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../core/os/check.h"
#include "../../core/os/hash.h"
#include "ensemble_host.h"
#include "ensemble_log.h"
#include "ensemble_message.h"

enum { MS = 1000000, TRACE_MAX = 600 };

/* ---- memory ---- */

void *ensemble_alloc_(size_t count, size_t size) {
  void *memory = calloc(count > 0 ? count : 1, size);
  VOLT_CHECK(memory, "volt_ensemble", "no memory for %zu times %zu bytes", count, size);
  return memory;
}

void *ensemble_resize_(void *memory, size_t count, size_t size) {
  void *larger = realloc(memory, count * size);
  VOLT_CHECK(larger, "volt_ensemble", "no memory for %zu times %zu bytes", count, size);
  return larger;
}

char *ensemble_copy_(const char *data, size_t size) {
  if (!data) return NULL;
  char *copy = (char *)ensemble_alloc_(size + 1, 1);
  memcpy(copy, data, size);
  return copy;
}

/* ---- chance ---- */

uint64_t ensemble_random_(volt_ensemble *e, uint64_t below) {
  if (below < 2) return 0;
  return volt_random_(&e->random) % below;
}

uint64_t ensemble_hop_ns_(volt_ensemble *e) {
  return e->config.hop_ns + ensemble_random_(e, e->config.hop_more_ns + 1);
}

void ensemble_trace_(volt_ensemble *e, const char *format, ...) {
  char text[TRACE_MAX];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  e->config.traced(e->config.ctx, text);
}

/* ---- the heap ---- */

static bool ensemble_is_before(const ensemble_event *a, const ensemble_event *b) {
  return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

static void ensemble_put(volt_ensemble *e, uint32_t place, ensemble_event *event) {
  e->heap[place - 1] = event;
  event->place = place;
}

/* Move it from place to where it belongs. */
static void ensemble_sift(volt_ensemble *e, uint32_t place, ensemble_event *event) {
  while (place > 1 && ensemble_is_before(event, e->heap[place / 2 - 1])) {
    ensemble_put(e, place, e->heap[place / 2 - 1]);
    place /= 2;
  }
  for (;;) {
    uint32_t child = 2 * place;
    if (child > e->heap_count) break;
    if (child < e->heap_count && ensemble_is_before(e->heap[child], e->heap[child - 1])) child += 1;
    if (!ensemble_is_before(e->heap[child - 1], event)) break;
    ensemble_put(e, place, e->heap[child - 1]);
    place = child;
  }
  ensemble_put(e, place, event);
}

void ensemble_never_(volt_ensemble *e, ensemble_event *event) {
  uint32_t place = event->place;
  if (place == 0) return;
  event->place = 0;
  ensemble_event *last = e->heap[--e->heap_count];
  if (last != event) ensemble_sift(e, place, last);
}

void ensemble_at_(volt_ensemble *e, ensemble_event *event, uint64_t at_ns) {
  ensemble_never_(e, event);
  if (at_ns == ENSEMBLE_NEVER) return;
  event->at_ns = at_ns > e->now_ns ? at_ns : e->now_ns;
  event->order = ++e->events_made;
  if (e->heap_count == e->heap_size) {
    e->heap_size = e->heap_size ? 2 * e->heap_size : 256;
    e->heap = (ensemble_event **)ensemble_resize_(e->heap, e->heap_size, sizeof *e->heap);
  }
  e->heap_count += 1;
  ensemble_sift(e, e->heap_count, event);
}

/* ---- steps ---- */

bool volt_ensemble_step(volt_ensemble *e, uint64_t until_ns) {
  e->ran = VOLT_ENSEMBLE_NONE;
  ensemble_event *event = e->heap_count > 0 ? e->heap[0] : NULL;
  if (!event || event->at_ns > until_ns) {
    if (until_ns > e->now_ns) e->now_ns = until_ns;
    return false;
  }
  e->now_ns = event->at_ns;
  e->counts.steps += 1;
  ensemble_never_(e, event);
  event->happen(e, event);
  return true;
}

void volt_ensemble_run(volt_ensemble *e, uint64_t until_ns) {
  while (volt_ensemble_step(e, until_ns)) continue;
}

static void ensemble_note_wake(void *ctx) {
  *(bool *)ctx = true;
}

static void ensemble_note_drop(void *ctx) {
  (void)ctx;
}

int volt_ensemble_run_future(volt_ensemble *e, volt_future *f, uint64_t until_ns) {
  bool is_woken = false;
  volt_waker waker = {.wake = ensemble_note_wake, .ctx = &is_woken};
  volt_ctx ctx = VOLT_CTX_INIT(waker);
  ctx.drop = ensemble_note_drop;
  int result = volt_future_poll_ctx(f, &ctx);
  while (result == VOLT_PENDING && volt_ensemble_step(e, until_ns)) {
    if (!is_woken) continue;
    is_woken = false;
    ctx.budget = VOLT_CTX_BUDGET;
    result = volt_future_poll_ctx(f, &ctx);
  }
  if (result == VOLT_PENDING) volt_future_cancel(f);
  return result;
}

uint64_t volt_ensemble_now_ns(const volt_ensemble *e) {
  return e->now_ns;
}

void volt_ensemble_counts_get(const volt_ensemble *e, volt_ensemble_counts *counts) {
  *counts = e->counts;
}

uint32_t volt_ensemble_host_ran(const volt_ensemble *e) {
  return e->ran;
}

/* ---- life ---- */

static void ensemble_complete_config(volt_ensemble_config *c) {
  if (c->servers == 0) c->servers = 3;
  if (c->hop_ns == 0) c->hop_ns = MS / 4;
  if (c->log_ns == 0) c->log_ns = 7 * MS / 2;
  if (c->tick_ns == 0) c->tick_ns = UINT64_C(500) * MS;
  if (c->sync_limit == 0) c->sync_limit = 4;
  if (c->election_ns == 0) c->election_ns = UINT64_C(200) * MS;
}

int volt_ensemble_create(volt_ensemble **e, const volt_ensemble_config *config) {
  *e = NULL;
  volt_ensemble_config complete;
  memset(&complete, 0, sizeof complete);
  if (config) complete = *config;
  ensemble_complete_config(&complete);
  if (complete.servers > VOLT_ENSEMBLE_SERVERS_MAX || complete.servers % 2 == 0) return VOLT_EINVAL;
  volt_ensemble *made = (volt_ensemble *)calloc(1, sizeof *made);
  if (!made) return VOLT_ENOMEM;
  made->config = complete;
  made->random = complete.seed;
  made->now_ns = UINT64_C(1000) * MS;
  made->ran = VOLT_ENSEMBLE_NONE;
  *e = made; /* traced() may use it */
  ensemble_servers_begin_(made);
  return VOLT_OK;
}

/* Messages under way are freed, nothing happens any more. */
static void ensemble_forget_messages(volt_ensemble *e) {
  while (e->heap_count > 0) {
    ensemble_event *event = e->heap[0];
    ensemble_never_(e, event);
    if (event == &e->half_tick || event == &e->whole_tick || event == &e->election) continue;
    ensemble_message_free_((ensemble_message *)(void *)event);
  }
}

void volt_ensemble_destroy(volt_ensemble *e) {
  if (!e) return;
  ensemble_hosts_end_(e); /* their alarms and timers */
  ensemble_forget_messages(e);
  ensemble_servers_end_(e);
  free(e->heap);
  free(e);
}

/* ---- what a test sees ---- */

int volt_ensemble_look(volt_ensemble *e, const char *path, volt_cluster_node *node,
                       const char **data, uint32_t *size) {
  const ensemble_node *n = ensemble_find_(ensemble_newest_tree_(e), path);
  if (!n) return VOLT_CLUSTER_ENONODE;
  *node = n->stat;
  if (data) *data = n->data;
  if (size) *size = n->size;
  return VOLT_OK;
}

uint32_t volt_ensemble_children(volt_ensemble *e, const char *path,
                                void (*each)(void *ctx, const char *name,
                                             const volt_cluster_node *node),
                                void *ctx) {
  const ensemble_node *n = ensemble_find_(ensemble_newest_tree_(e), path);
  if (!n) return 0;
  for (const ensemble_node *child = n->child; child; child = child->next) {
    if (each) each(ctx, child->name, &child->stat);
  }
  return n->children;
}

/* In every tree, as if it had always been so. */
int volt_ensemble_set_sequence(volt_ensemble *e, const char *path, int32_t sequence) {
  bool is_there = false;
  for (uint32_t i = 0; i <= e->config.servers; i++) {
    ensemble_tree *t = i < e->config.servers ? &e->server[i].tree : &e->head;
    ensemble_node *n = ensemble_find_(t, path);
    if (!n) continue;
    n->sequence = sequence;
    is_there = true;
  }
  return is_there ? VOLT_OK : (int)VOLT_CLUSTER_ENONODE;
}
