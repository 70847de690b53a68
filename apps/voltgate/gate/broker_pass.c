/* broker_pass.c: clients of a permit gate are passed on to another process, and are adopted there.
 *
 * The old process lets its clients stand still: each task comes to a point where it has done all that it has begun, says
 * so, and waits for news alone. What is said of them then is true until they go on. If the other process has them all,
 * they are its own, and here they end without a word; if not, they go on as if nothing had been.
 *
 * Invariants
 *   S1  A client that stands still gives nothing back and asks for nothing. So when all do, nothing is granted but by a
 *       limit that is raised, or when claims are over; and a client hears of that only when it goes on.
 *   S2  While requests are adopted, is_claiming holds them outside (broker.c: K3). So what clients hold is complete before
 *       the first request is let in, and all are let in by one call, in the order in which they were adopted.
 *
 * Races
 *   S1  Interleaving: all stand still, and their records are written; one is cut off, and gives back what it holds; the other
 *       process adopts it. Prevented by: has_lost is looked at under the lock after the last record was sent. One that
 *       is cut off later ends in both: its connection is the other's.
 *   S2  Interleaving: a client sees that it may go on; it has to stop; it waits for its socket.
 *       Prevented by: gate_tell() comes after the change, and wakes it.
 *   S3  Interleaving: a grant comes to a client that stands still; its record says that it waits. Prevented by: its
 *       future is polled under the lock, which its own task does not do while it stands still. It is adopted as the first
 *       of those that wait, and what it was granted is free there.
 *   S4  Interleaving: clients are passed on; the other process serves them and dies; this one goes on, and a client that has
 *       not seen the first of this goes on with what it had before. Prevented by: it sees in which stop it stood still,
 *       and up to which stop clients were passed on.
 *   S5  Interleaving: the old process has just begun, and clients can still claim; it passes on those that it has; the
 *       other one lets requests in, and a client that was late claims what one of them has got. Prevented by: the old one
 *       says so with its clients, and claims begin anew there.
 *   S6  Interleaving: clients are passed on; the other process dies; one claims, while another one that waited at the gate
 *       has not ended yet, and would get what the claim raises the limit for. Prevented by: the call that passes them on
 *       takes all that wait out of the queue. */
#include "gate/broker.h"
#include "gate/gate.h"

void broker_stop(struct broker *b) {
  broker_lock(b);
  b->stops += 1;
  b->has_lost = false;
  atomic_store_explicit(&b->is_stopped, true, memory_order_relaxed);
  broker_unlock(b);
  gate_tell(b->gate);
}

void broker_go_on(struct broker *b, bool is_passed) {
  broker_lock(b);
  if (is_passed) b->passed = b->stops;
  if (is_passed) broker_forget_waiters(b); /* S6 */
  atomic_store_explicit(&b->is_stopped, false, memory_order_relaxed);
  broker_unlock(b);
  gate_tell(b->gate);
}

bool broker_stand_still(struct broker *b, struct broker_entry *e) {
  broker_lock(b);
  bool stops = broker_is_stopped(b);
  if (stops) broker_list_add(&b->still, e, BROKER_IN_STILL);
  if (stops) e->stop = b->stops;
  broker_unlock(b);
  return stops;
}

static bool broker_is_passed(const struct broker *b, const struct broker_entry *e) {
  return e->stop <= b->passed;
}

bool broker_has_to_stand(struct broker *b, const struct broker_entry *e) {
  broker_lock(b);
  bool has_to = broker_is_stopped(b) && !broker_is_passed(b, e);
  broker_unlock(b);
  return has_to;
}

bool broker_move_on(struct broker *b, struct broker_entry *e) {
  broker_lock(b);
  bool is_passed = broker_is_passed(b, e);
  broker_list_remove(&b->still, e, BROKER_IN_STILL);
  if (broker_is_stopped(b)) b->has_lost = true;
  broker_unlock(b);
  return is_passed;
}

bool broker_is_still(struct broker *b, bool *has_lost) {
  broker_lock(b);
  /* relaxed: a client that is counted and does not stand still yet is waited for */
  uint32_t all = atomic_load_explicit(&b->gate->clients.count, memory_order_relaxed);
  bool is_still = b->still.count == all;
  if (b->still.first && broker_is_passed(b, b->still.first))
    is_still = false; /* of a former stop */
  *has_lost = b->has_lost;
  broker_unlock(b);
  return is_still;
}

typedef bool broker_each(void *arg, struct broker_entry *e, bool is_waiting);

static bool broker_each_at(struct broker *b, enum broker_where where, broker_each *each,
                           void *arg) {
  bool goes_on = true;
  struct broker_entry *e = b->lists[where].first;
  for (; e && goes_on; e = e->links[BROKER_IN_ALL].next) {
    goes_on = each(arg, e, where != BROKER_HOLDERS);
  }
  return goes_on;
}

/* Of those at the gate: that were granted what they ask for, or were not. */
static bool broker_each_at_gate(struct broker *b, bool are_granted, broker_each *each, void *arg) {
  static const volt_waker none = {NULL, NULL};
  bool goes_on = true;
  struct broker_entry *e = b->lists[BROKER_AT_GATE].first;
  for (; e && goes_on; e = e->links[BROKER_IN_ALL].next) {
    bool is_granted = volt_future_poll(&e->leaf, none) == VOLT_OK; /* race S3 */
    if (is_granted == are_granted) goes_on = each(arg, e, true);
  }
  return goes_on;
}

bool broker_each_still(struct broker *b, broker_each *each, void *arg) {
  bool goes_on =
      broker_each_at(b, BROKER_HOLDERS, each, arg) && broker_each_at_gate(b, true, each, arg) &&
      broker_each_at_gate(b, false, each, arg) && broker_each_at(b, BROKER_OUTSIDE, each, arg);
  struct broker_entry *e = b->still.first;
  for (; e && goes_on; e = e->links[BROKER_IN_STILL].next) {
    if (e->where == BROKER_NOWHERE) goes_on = each(arg, e, e->stand == BROKER_WAITS);
  }
  return goes_on;
}

/* ---- the other process ---- */

void broker_begin_adoption(struct broker *b) {
  broker_lock(b);
  b->is_claiming = true;
  b->claims += 1; /* the time that runs already does not end this */
  broker_unlock(b);
}

static bool broker_adopt_holder(struct broker *b, struct broker_entry *e, uint64_t since_ns) {
  if (!broker_claim_at_gate(b, &e->amounts)) {
    e->tenant = NULL;
    return false;
  }
  broker_tenant_take(b, e->tenant, &e->amounts);
  broker_grant(b, e, since_ns);
  return true;
}

static void broker_adopt_waiter(struct broker *b, struct broker_entry *e, uint64_t since_ns) {
  e->since_ns = since_ns;
  e->refusal = broker_judge(b, e);
  if (e->refusal == BROKER_QUEUED) {
    broker_wait_at(b, e, BROKER_OUTSIDE);
    return;
  }
  e->stand = BROKER_WAITS; /* limits are lower here: it hears that when it looks */
  volt_notify_one(&e->moved);
}

bool broker_adopt(struct broker *b, struct broker_entry *e, enum broker_stand stand, uint64_t id,
                  uint64_t since_ns) {
  bool is_adopted = true;
  broker_lock(b);
  if (id > b->ids) b->ids = id;
  e->id = id;
  if (stand != BROKER_IDLE) e->tenant = broker_find_tenant(b, e);
  if (stand == BROKER_WAITS) broker_adopt_waiter(b, e, since_ns);
  if (stand == BROKER_HOLDS) is_adopted = broker_adopt_holder(b, e, since_ns);
  broker_unlock(b);
  return is_adopted;
}

void broker_end_adoption(struct broker *b, bool can_claim) {
  uint64_t period_ns = gate_settings(b->gate)->claim_period_ns;
  if (can_claim && period_ns != 0 && broker_begin_claims(b, period_ns)) return;
  broker_lock(b); /* also without memory: as if there were no such time */
  broker_open(b);
  broker_unlock(b);
}

void broker_claim_again(struct broker *b) {
  if (gate_settings(b->gate)->claim_period_ns != 0) broker_end_adoption(b, true);
}
