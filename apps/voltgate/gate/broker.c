/* broker.c: the amounts of a permit gate: its limits, its tenants' limits, and claims.
 *
 * A gate is one volt_budget. A tenant that has limits of its own is a count under the broker's lock. A request waits
 * outside until its tenant has as much; then it counts there, and is queued in the gate's FIFO (broker_queue.c).
 * The call that gives something back to a tenant lets those in that this is enough for, in the order of their arrival.
 * The mutex of the broker covers the lists of clients, the places, and the tenants. The budget's own lock is below
 * it: a waker only makes a task ready.
 *
 * Claims. After the start no request is let in, so the gate's FIFO is empty. A claim takes from the budget, also above
 * the limit: that is raised for it under the lock, and set back. So what is claimed above a limit is the budget's
 * excess, as after a limit was lowered: what is given back reduces it first. When the time is over, the requests that
 * wait are let in.
 *
 * Invariants, whenever the lock is free. H: what clients hold of a kind, or have been granted and do not
 * know of yet.
 *   K1  held by the budget = H. Its limit is the one that was set.
 *   K2  When a request is granted, H is at most the limit: only the budget grants, but for claims.
 *   K3  While is_claiming, no client waits at the gate, so nothing is granted but claims.
 *   K4  A client is in exactly one list: that of where it is; BROKER_NOWHERE: in none. Those at the gate are in the order
 *       of the budget's FIFO, because a client is put into both under the lock. Those of a tenant that are outside are in
 *       the tenant's list, too.
 *   K5  What a client holds goes back exactly once: its amounts are set to less, or it leaves the list, under the lock,
 *       by the call that releases them.
 *   K6  held of a tenant = the amounts of its clients that hold or are at the gate. Unless is_claiming, the oldest that
 *       is outside asks for more than its tenant has left. So of what is allowed to queue, what came first is before
 *       in the FIFO: it was let in by the same call in the order of the list, or by an earlier one.
 *   K7  No request outside asks for more than a limit: the call that lowers one refuses them in the same critical section.
 *       At the gate the budget refuses those that ask for more than its limit, and the owner one that asks for more than
 *       its tenant's: it looks for that before it looks for a grant.
 *   K8  The future of a client is begun and polled under the lock when it is let in, and by its owner only after that has
 *       seen it at the gate, under the lock. So the two never poll it at once.
 *
 * Races
 *   R1  Interleaving: a request is granted, and its client hangs up before its task has seen that.
 *       Prevented by: broker_leave() cancels the future, and what a poll had returned already is
 *       released there; what no poll had, by the cancel.
 *   R2  Interleaving: one thread sees that a place is free in the queue, and so does another; one more
 *       waits than may. Prevented by: the count is of the lists, under the lock.
 *   R3  Interleaving: a client claims, and the time is over before its amounts are counted; a request
 *       that waits is granted, and the limit is exceeded. Prevented by: both look at is_claiming under the lock.
 *   R4  Interleaving: what a claim has given back is free while others can still claim; a request gets
 *       it, and a claim that comes later is above the limit. Prevented by: K3.
 *   R5  Interleaving: a limit is raised while clients can claim, and requests are granted before all
 *       claims. Prevented by: K3.
 *   R6  Interleaving: places have changed; the task that numbers them ends; no thread starts another.
 *       Prevented by: has_moved and is_ticking are read and written under the lock.
 *   R7  Interleaving: the owner looks, and its request is outside; it is let in, or refused, and notified; then the owner
 *       waits. Prevented by: a notification is stored until the owner waits.
 *   R8  Interleaving: a client that is outside hangs up while another lets it in. Prevented by: both are under the lock,
 *       and broker_leave() gives back what belongs to where it finds it.
 *   R9  Interleaving: one gives back to a tenant; before those outside are let in, a new request of that tenant takes it.
 *       Prevented by: both are one critical section; and a new one goes behind those that are outside. */
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

/* ---- the lock ---- */

static void broker_tick_start(struct broker *b);

void broker_lock(struct broker *b) {
  pthread_mutex_lock(&b->lock);
}

static uint32_t broker_waiting(const struct broker *b) {
  return b->lists[BROKER_OUTSIDE].count + b->lists[BROKER_AT_GATE].count;
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
  uint32_t claims; /* whose time it ends */
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

void broker_open(struct broker *b) {
  b->is_claiming = false;
  broker_let_all_in(b);
}

/* claims: which time is over. */
static void broker_end_claims(struct broker *b, uint32_t claims) {
  broker_lock(b);
  bool is_last = b->is_claiming && b->claims == claims;
  if (is_last) broker_open(b);
  uint32_t holders = b->lists[BROKER_HOLDERS].count, waiting = broker_waiting(b);
  broker_unlock(b);
  if (!is_last) return;
  log_line(LOG_INFO, b->gate->name, "claims are over: %u had their permits, %u wait", holders,
           waiting);
}

static int broker_claims_poll(volt_task *t, volt_ctx *ctx) {
  struct broker_task *self = volt_container_of(t, struct broker_task, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, broker_sleep(self, self->until_ns));
  broker_end_claims(self->broker, self->claims);
  VOLT_TASK_END(self);
}

/* Returns false: no memory, or the gate has ended. */
static bool broker_spawn(struct broker *b, volt_task_fn *poll, uint64_t ns, uint32_t claims) {
  struct gate *g = b->gate;
  if (!g->rt) return false;
  struct broker_task *task = VOLT_TASK_NEW(g->rt, struct broker_task, poll);
  if (task) task->broker = b;
  if (task) task->until_ns = ns;
  if (task) task->claims = claims;
  if (volt_group_spawn(&g->probes, g->rt, task ? &task->task : NULL) == VOLT_OK) return true;
  if (task) volt_task_detach(&task->task);
  return false;
}

static void broker_tick_start(struct broker *b) {
  if (broker_spawn(b, broker_tick_poll, 0, 0)) return;
  broker_lock(b);
  b->is_ticking = false; /* the next that moves tries again */
  pthread_mutex_unlock(&b->lock);
}

bool broker_begin_claims(struct broker *b, uint64_t period_ns) {
  broker_lock(b);
  b->is_claiming = true;
  uint32_t claims = ++b->claims;
  broker_unlock(b);
  return broker_spawn(b, broker_claims_poll, period_ns, claims);
}

/* ---- life ---- */

struct broker *broker_new(struct gate *g, const struct gate_settings *s) {
  uint64_t limits[VOLT_BUDGET_KINDS] = {0};
  struct broker *b = (struct broker *)calloc(1, sizeof *b);
  if (!b) return NULL;
  b->gate = g;
  b->kinds = (uint32_t)s->kinds.count;
  pthread_mutex_init(&b->lock, NULL);
  for (uint32_t i = 0; i < b->kinds; i++) {
    memcpy(b->names[i], s->kinds.of[i].kind, PERMIT_KIND_BYTES);
    limits[i] = s->kinds.of[i].amount;
  }
  volt_budget_init_bypass(&b->budget, b->kinds, limits, s->bypass);
  for (uint32_t i = 0; i < b->kinds; i++) volt_budget_name_kind(&b->budget, i, b->names[i]);
  (void)volt_name(&b->budget, g->name); /* as many names as there is room for */
  bool is_whole = broker_set_tenants(b, s);
  if (s->claim_period_ns != 0 && g->rt != NULL) {
    is_whole = is_whole && broker_begin_claims(b, s->claim_period_ns);
  }
  if (is_whole) return b;
  broker_free(b);
  return NULL;
}

void broker_free(struct broker *b) {
  if (!b) return;
  for (struct broker_tenant *t = b->tenants; t;) {
    struct broker_tenant *next = t->next;
    free(t->name);
    free(t);
    t = next;
  }
  volt_budget_destroy(&b->budget);
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
    if (limit) volt_budget_set_limit(&b->budget, i, *limit);
  }
  bool is_whole = broker_set_tenants(b, s);
  broker_notify_those_at_gate(b);
  broker_refuse_outside(b);
  broker_let_all_in(b);
  broker_unlock(b);
  return is_whole;
}

void broker_set_limit(struct broker *b, unsigned kind, uint64_t limit) {
  broker_lock(b);
  volt_budget_set_limit(&b->budget, kind, limit);
  broker_refuse_outside(b);
  broker_let_all_in(b);
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
