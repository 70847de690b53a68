/* broker.c: the amounts of a permit gate: its limits, its tenants' limits, and claims.
 *
 * A gate is one volt_budget, and so is each tenant that has a limit of its own. A request is queued in
 * the FIFO of its tenant's budget first, and when it has what it asks for of that, in the gate's
 * (broker_queue.c). The mutex of the broker covers the lists of clients, the places, and what is beside
 * the budgets here. A budget's own lock is below it: a waker only makes a task ready.
 *
 * Claims. After the start, the broker itself holds all of every limit (the plug), so that no request
 * can be granted; they queue in their order. A claim takes from the plug; what it needs more is `beyond`.
 * What is given back meanwhile goes to the plug again. When the time is over, limits that have changed are
 * set, and the rest of the plug is released, which grants the requests that wait.
 *
 * Invariants, whenever the lock is free. H: what clients hold of a kind, or have been granted and do not
 * know of yet.
 *   K1  held by the budget = H + plug - beyond. Of one kind, `plug` and `beyond` are never both above 0 while
 *       clients can claim, and plug is 0 afterwards.
 *   K2  When a request is granted, H is at most the limit: only the budget grants. Its own limit is that of the pool if
 *       `beyond` is 0; else what it has free is at most limit - H, or nothing (broker_pool_enforce()). So as long as more is
 *       claimed than there is, a limit that is raised counts less that. All that changes a budget is done under
 *       the lock.
 *   K3  While is_claiming, the budget has nothing free, so it grants nothing.
 *   K4  A client is in exactly one list: that of its stand; BROKER_IDLE: in none. The list of those that
 *       wait at the gate is in the order of the gate's FIFO, because a client is put into both under the
 *       lock. So is that of a tenant, among its own.
 *   K5  What a client holds goes back exactly once: its amounts are set to less, or its stand to
 *       BROKER_IDLE, under the lock, by the call that releases them.
 *
 * Races
 *   R1  Interleaving: a request is granted, and its client hangs up before its task has seen that.
 *       Prevented by: broker_leave() cancels the future, and what a poll had returned already is
 *       released there; what no poll had, by the cancel.
 *   R2  Interleaving: one thread sees that a place is free in the queue, and so does another; one more
 *       waits than may. Prevented by: the count is of the lists, under the lock.
 *   R3  Interleaving: a client claims, and the time is over before its amounts are counted; a request
 *       that waits is granted, and the limit is exceeded without being counted in `beyond`. Prevented by: both look at
 *       is_claiming under the lock.
 *   R4  Interleaving: what a claim has given back is free while others can still claim; a request gets
 *       it, and a claim that comes later is above the limit. Prevented by: it goes to the plug (K3).
 *   R5  Interleaving: a limit is raised while clients can claim, and requests are granted before all
 *       claims. Prevented by: it is set when the time is over.
 *   R6  Interleaving: places have changed; the task that numbers them ends; no thread starts another.
 *       Prevented by: has_moved and is_ticking are read and written under the lock. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* strdup */
#endif
#include "gate/broker.h"

#include <stdlib.h>
#include <string.h>
#include <volt/name.h>
#include <volt/time.h>

#include "config/kinds.h"
#include "gate/gate.h"
#include "process/log.h"

_Static_assert(PERMIT_MOST == VOLT_BUDGET_MAX && (int)PERMIT_KINDS == (int)VOLT_BUDGET_KINDS,
               "what can be written can be had");

#define BROKER_TICK_NS \
  UINT64_C(100000000) /* a client hears of its place 10 times a second, at most */

/* ---- a budget, with a plug, and what is beyond it ---- */

static uint64_t broker_less(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}

static void broker_pool_init(struct broker *b, struct broker_pool *pool, const uint64_t *limits,
                             uint32_t bypass) {
  volt_budget_init_bypass(&pool->budget, b->kinds, limits, bypass);
  for (uint32_t i = 0; i < b->kinds; i++) {
    volt_budget_name_kind(&pool->budget, i, b->names[i]);
    pool->limit[i] = limits[i];
    if (b->is_claiming) pool->plug.of[i] = limits[i];
  }
  /* it is free: no other thread knows the budget */
  if (b->is_claiming) (void)!volt_budget_try_acquire(&pool->budget, &pool->plug);
}

/* Have the limit in force, so that what the budget has free is what is free, also if more was claimed than
 * there is: the budget does not know of `beyond` (K2). */
static void broker_pool_enforce(struct broker_pool *pool, uint32_t kind) {
  uint64_t limit = pool->limit[kind], beyond = pool->beyond.of[kind], now = limit;
  if (beyond > 0) {
    uint64_t held = broker_less(volt_budget_held(&pool->budget, kind), limit);
    uint64_t left = limit - broker_less(limit, beyond);
    now = held > left ? held : left;
  }
  if (volt_budget_limit(&pool->budget, kind) == now) return;
  volt_budget_set_limit(&pool->budget, kind, now);
}

static void broker_pool_set_limit(struct broker *b, struct broker_pool *pool, uint32_t kind,
                                  uint64_t limit) {
  pool->limit[kind] = limit;
  if (!b->is_claiming) broker_pool_enforce(pool, kind); /* R5 */
}

void broker_pool_release(struct broker *b, struct broker_pool *pool, const volt_amounts *amounts) {
  volt_amounts rest = *amounts;
  for (uint32_t i = 0; i < b->kinds; i++) {
    uint64_t paid = broker_less(rest.of[i], pool->beyond.of[i]);
    pool->beyond.of[i] -= paid;
    rest.of[i] -= paid;
    if (b->is_claiming) pool->plug.of[i] += rest.of[i]; /* R4 */
    if (!b->is_claiming && paid > 0) broker_pool_enforce(pool, i);
  }
  if (!b->is_claiming) volt_budget_release(&pool->budget, &rest);
}

void broker_pool_claim(struct broker *b, struct broker_pool *pool, const volt_amounts *amounts) {
  for (uint32_t i = 0; i < b->kinds; i++) {
    uint64_t there = broker_less(amounts->of[i], pool->plug.of[i]);
    pool->plug.of[i] -= there;
    pool->beyond.of[i] += amounts->of[i] - there;
  }
}

/* No client can claim any more. */
static void broker_pool_open(struct broker *b, struct broker_pool *pool) {
  volt_amounts rest = pool->plug;
  memset(&pool->plug, 0, sizeof pool->plug);
  for (uint32_t i = 0; i < b->kinds; i++) broker_pool_enforce(pool, i);
  volt_budget_release(&pool->budget, &rest);
}

/* ---- the lock ---- */

static void broker_tick_start(struct broker *b);

void broker_lock(struct broker *b) {
  pthread_mutex_lock(&b->lock);
}

static uint32_t broker_waiting(const struct broker *b) {
  return b->lists[BROKER_AT_TENANT].count + b->lists[BROKER_AT_GATE].count;
}

void broker_unlock(struct broker *b) {
  uint32_t waiting = broker_waiting(b);
  bool is_due = b->has_moved && !b->is_ticking && waiting > 0;
  if (is_due) b->is_ticking = true;
  atomic_store_explicit(&b->gate->queued, waiting, memory_order_relaxed); /* shown only */
  pthread_mutex_unlock(&b->lock);
  if (is_due) broker_tick_start(b);
}

/* ---- tasks: places are numbered; the time for claims ends ---- */

struct broker_task {
  volt_task task; /* first */
  struct broker *broker;
  volt_sleep_op sleep;
  uint64_t until_ns;
};

static volt_future *broker_sleep(struct broker_task *self, uint64_t ns) {
  volt_rt *rt = self->broker->gate->rt;
  return volt_sleep_future(&self->sleep, volt_rt_timers(rt), volt_rt_now_ns(rt) + ns);
}

/* R6 */
static bool broker_tick_goes_on(struct broker *b) {
  broker_lock(b);
  bool goes_on = b->has_moved && broker_waiting(b) > 0;
  b->is_ticking = goes_on;
  pthread_mutex_unlock(&b->lock);
  return goes_on;
}

static int broker_tick_poll(volt_task *t, volt_ctx *ctx) {
  struct broker_task *self = volt_container_of(t, struct broker_task, task);
  VOLT_TASK_BEGIN(self);
  while (broker_tick_goes_on(self->broker)) {
    VOLT_AWAIT(self, broker_sleep(self, BROKER_TICK_NS));
    broker_number_places(self->broker);
  }
  VOLT_TASK_END(self);
}

static void broker_end_claims(struct broker *b) {
  broker_lock(b);
  b->is_claiming = false;
  broker_pool_open(b, &b->pool);
  for (struct broker_tenant *t = b->tenants; t; t = t->next) broker_pool_open(b, &t->pool);
  uint32_t holders = b->lists[BROKER_HOLDS].count, waiting = broker_waiting(b);
  broker_unlock(b);
  log_line(LOG_INFO, b->gate->name, "claims are over: %u had their permits, %u wait", holders,
           waiting);
}

static int broker_claims_poll(volt_task *t, volt_ctx *ctx) {
  struct broker_task *self = volt_container_of(t, struct broker_task, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, broker_sleep(self, self->until_ns));
  broker_end_claims(self->broker);
  VOLT_TASK_END(self);
}

/* Returns false: no memory, or the gate has ended. */
static bool broker_spawn(struct broker *b, volt_task_fn *poll, uint64_t ns) {
  struct gate *g = b->gate;
  if (!g->rt) return false;
  struct broker_task *task = VOLT_TASK_NEW(g->rt, struct broker_task, poll);
  if (task) task->broker = b;
  if (task) task->until_ns = ns;
  if (volt_group_spawn(&g->probes, g->rt, task ? &task->task : NULL) == VOLT_OK) return true;
  if (task) volt_task_detach(&task->task);
  return false;
}

static void broker_tick_start(struct broker *b) {
  if (broker_spawn(b, broker_tick_poll, 0)) return;
  broker_lock(b);
  b->is_ticking = false; /* the next that moves tries again */
  pthread_mutex_unlock(&b->lock);
}

/* ---- tenants ---- */

static const struct tenant_settings *broker_tenant_settings(const struct gate_settings *s,
                                                            const char *name) {
  for (size_t i = 0; s->tenant_by != TENANT_BY_NONE && i < s->tenant_count; i++) {
    if (strcmp(s->tenants[i].name, name) == 0) return &s->tenants[i];
  }
  return NULL;
}

static void broker_tenant_limits(const struct broker *b, const struct tenant_settings *s,
                                 uint64_t limits[VOLT_BUDGET_KINDS]) {
  for (uint32_t i = 0; i < b->kinds; i++) {
    const uint64_t *limit = s ? kinds_find(&s->kinds, b->names[i]) : NULL;
    limits[i] = limit ? *limit : VOLT_BUDGET_MAX;
  }
}

static struct broker_tenant *broker_tenant_named(struct broker *b, const char *name) {
  struct broker_tenant *t = b->tenants;
  while (t && strcmp(t->name, name) != 0) t = t->next;
  return t;
}

/* Returns false: no memory. */
static bool broker_add_tenant(struct broker *b, const struct tenant_settings *s) {
  uint64_t limits[VOLT_BUDGET_KINDS] = {0};
  struct broker_tenant *t = (struct broker_tenant *)calloc(1, sizeof *t);
  char *name = t ? strdup(s->name) : NULL;
  if (!name) {
    free(t);
    return false;
  }
  t->name = name;
  t->uid = s->uid;
  broker_tenant_limits(b, s, limits);
  broker_pool_init(b, &t->pool, limits, 0);
  t->next = b->tenants;
  b->tenants = t;
  return true;
}

/* Returns false: no memory for a new one, which has no limit of its own then. */
static bool broker_set_tenants(struct broker *b, const struct gate_settings *s) {
  bool is_whole = true;
  for (struct broker_tenant *t = b->tenants; t; t = t->next) {
    uint64_t limits[VOLT_BUDGET_KINDS];
    const struct tenant_settings *own = broker_tenant_settings(s, t->name);
    broker_tenant_limits(b, own, limits);
    if (own) t->uid = own->uid;
    for (uint32_t i = 0; i < b->kinds; i++) broker_pool_set_limit(b, &t->pool, i, limits[i]);
  }
  for (size_t i = 0; s->tenant_by != TENANT_BY_NONE && i < s->tenant_count; i++) {
    if (broker_tenant_named(b, s->tenants[i].name)) continue;
    is_whole &= broker_add_tenant(b, &s->tenants[i]);
  }
  return is_whole;
}

struct broker_tenant *broker_find_tenant(struct broker *b, const struct broker_entry *e) {
  enum tenant_by by = gate_settings(b->gate)->tenant_by;
  if (by == TENANT_BY_LABEL) return broker_tenant_named(b, e->label);
  if (by != TENANT_BY_USER || !e->has_peer) return NULL;
  struct broker_tenant *t = b->tenants;
  while (t && t->uid != e->uid) t = t->next;
  return t;
}

/* ---- life ---- */

struct broker *broker_new(struct gate *g, const struct gate_settings *s) {
  uint64_t limits[VOLT_BUDGET_KINDS] = {0};
  struct broker *b = (struct broker *)calloc(1, sizeof *b);
  if (!b) return NULL;
  b->gate = g;
  b->kinds = (uint32_t)s->kinds.count;
  b->is_claiming = s->claim_period_ns != 0 && g->rt != NULL;
  pthread_mutex_init(&b->lock, NULL);
  for (uint32_t i = 0; i < b->kinds; i++) {
    memcpy(b->names[i], s->kinds.of[i].kind, PERMIT_KIND_BYTES);
    limits[i] = s->kinds.of[i].amount;
  }
  broker_pool_init(b, &b->pool, limits, s->bypass);
  (void)volt_name(&b->pool.budget, g->name); /* as many names as there is room for */
  bool is_whole = broker_set_tenants(b, s);
  if (is_whole && b->is_claiming) {
    is_whole = broker_spawn(b, broker_claims_poll, s->claim_period_ns);
  }
  if (is_whole) return b;
  broker_free(b);
  return NULL;
}

void broker_free(struct broker *b) {
  if (!b) return;
  for (struct broker_tenant *t = b->tenants; t;) {
    struct broker_tenant *next = t->next;
    volt_budget_destroy(&t->pool.budget);
    free(t->name);
    free(t);
    t = next;
  }
  volt_budget_destroy(&b->pool.budget);
  pthread_mutex_destroy(&b->lock);
  free(b);
}

/* ---- settings ---- */

int broker_kind(const struct broker *b, const char *name) {
  for (uint32_t i = 0; i < b->kinds; i++) {
    if (strcmp(b->names[i], name) == 0) return (int)i;
  }
  return -1;
}

bool broker_has_kinds(const struct broker *b, const struct gate_settings *s) {
  bool are_same = s->kinds.count == b->kinds;
  for (uint32_t i = 0; are_same && i < b->kinds; i++) {
    are_same = kinds_find(&s->kinds, b->names[i]) != NULL;
  }
  return are_same;
}

bool broker_set(struct broker *b, const struct gate_settings *s) {
  broker_lock(b);
  for (uint32_t i = 0; i < b->kinds; i++) {
    const uint64_t *limit = kinds_find(&s->kinds, b->names[i]);
    if (limit) broker_pool_set_limit(b, &b->pool, i, *limit);
  }
  bool is_whole = broker_set_tenants(b, s);
  broker_unlock(b);
  return is_whole;
}

void broker_set_limit(struct broker *b, unsigned kind, uint64_t limit) {
  broker_lock(b);
  broker_pool_set_limit(b, &b->pool, kind, limit);
  broker_unlock(b);
}

const char *broker_read(const struct broker *b, const struct permit_amounts *a, volt_amounts *to) {
  memset(to, 0, sizeof *to);
  for (uint64_t i = 0; i < a->count; i++) {
    int kind = broker_kind(b, a->of[i].kind);
    if (kind < 0) return a->of[i].kind;
    to->of[kind] = a->of[i].amount;
  }
  return NULL;
}

void broker_write(const struct broker *b, const volt_amounts *a, struct permit_amounts *to) {
  memset(to, 0, sizeof *to);
  for (uint32_t i = 0; i < b->kinds; i++) {
    if (a->of[i] == 0) continue;
    memcpy(to->of[to->count].kind, b->names[i], PERMIT_KIND_BYTES);
    to->of[to->count++].amount = a->of[i];
  }
}
