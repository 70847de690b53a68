/* admission.c: how a client gets its permit. */
#include "gate/admission.h"

void admission_init(struct admission *a, struct gate *gate, struct client *client) {
  volt_future_made(
      volt_sem_acquire_future(&a->leaf, &gate->permits, 1)); /* not begun, so it may be given up */
  a->gate = gate;
  a->client = client;
  a->loan = NULL;
  a->cost = 0;
  a->is_queued = false;
  a->is_shed = false;
}

/* When it queued; then when it got the permit. */
static uint64_t admission_since_ns(const struct admission *a) {
  return atomic_load_explicit(&a->client->since_ns, memory_order_relaxed);
}

/* ---- permits ---- */

static void admission_give_back(struct gate *g, struct tenant *t, uint32_t cost) {
  if (t) {
    turns_give_back(&t->turns, cost);
  } else {
    volt_sem_release(&g->permits, cost);
    gate_lease_released(gate_lease(g));
  }
}

/* Returns the permits taken; 0: none. */
static uint32_t admission_take(struct gate *g, struct tenant *t) {
  if (t) return turns_take(&t->turns);
  struct loan *loan = gate_loan(g);
  return volt_sem_try_acquire(loan ? &loan->permits : &g->permits, 1) == VOLT_OK ? 1 : 0;
}

static void admission_begin(struct admission *a, uint32_t cost, uint64_t now_ns, uint64_t wait_ns) {
  struct client *client = a->client;
  struct tenant *t = client->tenant;
  a->cost = cost;
  volt_shared_histogram_add_(&statistics_mine(&a->gate->statistics)->wait, wait_ns, 1);
  if (t) {
    atomic_fetch_add_explicit(&t->held, 1, memory_order_relaxed);
    volt_shared_histogram_add_(&t->wait, wait_ns, 1);
  }
  atomic_store_explicit(&client->since_ns, now_ns, memory_order_relaxed);
  atomic_store_explicit(&client->state, CLIENT_HOLDS, memory_order_release);
}

static bool admission_sheds(struct admission *a, uint64_t now_ns, uint64_t wait_ns) {
  const struct gate_settings *s = gate_settings(a->gate);
  if (s->shed_target_ns == 0) return false;
  return shed_decide(&a->gate->shed, s->shed_target_ns, s->shed_interval_ns, now_ns, wait_ns);
}

int admission_try(struct admission *a, uint64_t now_ns) {
  uint32_t cost = admission_take(a->gate, a->client->tenant);
  if (cost == 0) return VOLT_EAGAIN;
  (void)admission_sheds(a, now_ns, 0); /* there are admissions without a wait */
  admission_begin(a, cost, now_ns, 0);
  return VOLT_OK;
}

void admission_release(struct admission *a, uint64_t now_ns) {
  struct gate *g = a->gate;
  struct tenant *t = a->client->tenant;
  uint32_t cost = a->cost;
  uint64_t hold_ns = now_ns - admission_since_ns(a);
  a->cost = 0;
  volt_shared_histogram_add_(&statistics_mine(&g->statistics)->hold, hold_ns, 1);
  if (t) {
    volt_shared_histogram_add_(&t->hold, hold_ns, 1);
    atomic_fetch_sub_explicit(&t->held, 1, memory_order_relaxed);
  }
  atomic_store_explicit(&a->client->since_ns, now_ns, memory_order_relaxed);
  atomic_store_explicit(&a->client->state, CLIENT_IDLE, memory_order_release);
  admission_give_back(g, t, cost);
}

/* ---- the queue ---- */

/* Take one of the queue's places. */
static bool admission_take_place(struct gate *g) {
  unsigned bound = atomic_load_explicit(&g->queue_bound, memory_order_relaxed);
  unsigned queued = atomic_load_explicit(&g->queued, memory_order_relaxed);
  do {
    if (queued >= bound) return false;
    /* relaxed: it is a count; the FIFO has its own order */
  } while (!atomic_compare_exchange_weak_explicit(&g->queued, &queued, queued + 1,
                                                  memory_order_relaxed, memory_order_relaxed));
  return true;
}

int admission_join(struct admission *a, uint64_t now_ns) {
  struct gate *g = a->gate;
  struct client *client = a->client;
  struct tenant *t = client->tenant;
  if (!admission_take_place(g)) return VOLT_ECLOSED;
  uint64_t timeout_ns = gate_settings(g)->queue_timeout_ns;
  uint64_t ticket = atomic_fetch_add_explicit(&g->tickets, 1, memory_order_relaxed);
  a->is_queued = true;
  a->is_shed = false;
  atomic_store_explicit(&client->ticket, ticket, memory_order_relaxed);
  atomic_store_explicit(&client->since_ns, now_ns, memory_order_relaxed);
  atomic_store_explicit(&client->deadline_ns, timeout_ns ? now_ns + timeout_ns : 0,
                        memory_order_relaxed);
  /* clients:S1 -> clients:L1 */
  atomic_store_explicit(&client->state, CLIENT_QUEUED, memory_order_release);
  if (!t) {
    struct loan *loan = gate_loan(g);
    struct lease *lease = gate_lease(g);
    a->loan = loan;
    volt_future_made(volt_sem_acquire_future(&a->leaf, loan ? &loan->permits : &g->permits, 1));
    if (loan) loan_queue(loan, &a->leaf);
    if (lease) gate_lease_queue(lease, &a->leaf);
    return VOLT_OK;
  }
  volt_future_made(volt_sem_acquire_future(&a->leaf, &t->turns.grants, 1));
  turns_join(&t->turns);
  return VOLT_OK;
}

volt_future *admission_future(struct admission *a) {
  return &a->leaf;
}

/* It has left without a permit. If it was granted one that it has not seen, that is back where it has
 * queued: as if it was released there. */
static void admission_tell(struct admission *a) {
  struct loan *loan = a->loan ? a->loan : gate_loan(a->gate); /* handover/ledger.c R1 */
  if (loan) loan_tell(loan);
  gate_lease_released(gate_lease(a->gate));
}

bool admission_leave(struct admission *a, uint64_t now_ns) {
  struct gate *g = a->gate;
  struct client *client = a->client;
  struct tenant *t = client->tenant;
  if (!a->is_queued) return admission_holds(a);
  static const volt_waker no_waker = {NULL, NULL};
  volt_future_cancel(&a->leaf);
  bool is_granted = volt_future_poll(&a->leaf, no_waker) == VOLT_OK;
  uint32_t cost = is_granted ? 1 : 0;
  if (t) cost = turns_leave(&t->turns, is_granted);
  a->is_queued = false;
  atomic_fetch_sub_explicit(&g->queued, 1, memory_order_relaxed);
  if (is_granted) {
    uint64_t wait_ns = now_ns - admission_since_ns(a);
    a->is_shed = admission_sheds(a, now_ns, wait_ns);
    if (!a->is_shed) {
      statistics_count(&g->statistics, COUNT_WAITED, 1);
      admission_begin(a, cost, now_ns, wait_ns);
      return true;
    }
    admission_give_back(g, t, cost);
  } else if (!t) {
    admission_tell(a);
  }
  atomic_store_explicit(&client->since_ns, now_ns, memory_order_relaxed);
  atomic_store_explicit(&client->state, CLIENT_IDLE, memory_order_release);
  return false;
}
