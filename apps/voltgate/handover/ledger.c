/* ledger.c: the permits of one gate between two processes.
 *
 * Both have a semaphore with the limit of the gate. What the other process may use, it holds: `away`
 * of its own permits. So a limit that changes, its excess, and what a client may cost are as always.
 *
 *   new    holds all that are with the old one (at first: all). GIVE from it releases some. WANT of it
 *          queues in the gate's FIFO, as a client would, and what is granted is given to it.
 *   old    a waiter is queued at its permits: what comes back goes to clients that had queued
 *          before the handover, then to the waiter, and from it to the new process. A client that
 *          has to queue from now on queues at a semaphore of its own, the loan, to which only what
 *          the new process gives is released. So all clients of both processes are in one order,
 *          that of the new FIFO.
 *
 * Invariants
 *   L1  What clients of the old process hold, and what is on its way, is at most what the new one
 *       holds for it: the old one holds them (away) before it sends GIVE, and releases them when
 *       GIVE has come; the new one the same. So both together never exceed the limit.
 *   L2  In quiet, nothing is in the old process but what its clients hold: a free permit goes to
 *       its waiter; what was brought, and finds no client, is given at once.
 *       A client that has queued before is most often served by what comes back here: it is asked
 *       for, too, because the limit may be higher now, and when it is served it is WANT_NOT.
 *   L3  For each client that is queued at the loan, a permit is asked for when giver_look() has run,
 *       and the call that lets it run comes after the client has queued. What is thought to be
 *       asked for is never more than what the new process knows of.
 *   L4  What a client with a cost needs comes at once, or not at all: the old process never sets a part
 *       aside. Only the new one does, in one FIFO. So the two cannot wait for each other.
 *
 * Races
 *   R1  Interleaving: the other process is gone, and a client that waits at the loan is given a permit
 *       of the gate; it hangs up before it has seen that, so the permit goes back to the loan; there is
 *       no other process, so no thread is called to look, and the permit stays there. Prevented by: a
 *       client that leaves without a permit calls the loan at which it has queued, whatever the gate's
 *       loan is by then.
 *   R2  Interleaving: the clients that have queued before are counted, and are fewer than the permits
 *       that were brought; more queue; they are counted again, and get permits that there are not.
 *       Prevented by: they are counted once.
 *
 * Crash of the other process: all of `away` is released. Its connections to the server are closed by
 * then, because the kernel closes all sockets of a process that ends; the server may see that later.
 *
 * A client that has read that there is no loan, and queues at the gate's permits after giver_begin(),
 * is seen by the next giver_look(): the thread of the handover calls it each 50 ms, too. */
#include "handover/ledger.h"

#include <stdlib.h>

/* ---- both ---- */

static void ledger_more_away(struct gate *g, uint32_t permits) {
  /* relaxed: only the thread of the handover changes it; others show it */
  atomic_fetch_add_explicit(&g->away, permits, memory_order_relaxed);
}

/* Returns false: they are not as many. */
static bool ledger_less_away(struct gate *g, uint32_t permits) {
  if (permits > atomic_load_explicit(&g->away, memory_order_relaxed)) return false;
  atomic_fetch_sub_explicit(&g->away, permits, memory_order_relaxed);
  return true;
}

static uint32_t ledger_all_away(struct gate *g) {
  return atomic_exchange_explicit(&g->away, 0, memory_order_relaxed);
}

/* ---- the old one ---- */

static void giver_wake(void *giver) {
  struct giver *g = (struct giver *)giver;
  loan_tell(&g->loan);
}

static bool giver_has_tenants(const struct giver *g) {
  return gate_tenants(g->gate) != NULL;
}

void giver_begin(struct giver *g, struct gate *gate, struct ledger_tell tell) {
  g->gate = gate;
  g->limit = volt_sem_limit(&gate->permits);
  g->is_pumping = g->is_over = false;
  g->asked = g->asked_early = 0;
  g->loan.tell = tell.call;
  g->loan.arg = tell.arg;
  /* relaxed: not shared yet */
  atomic_store_explicit(&g->loan.needs, 0, memory_order_relaxed);
  volt_sem_init(&g->loan.permits, 0);
  /* loan:L1 -> gate_loan() */
  atomic_store_explicit(&gate->loan, &g->loan, memory_order_release);
  turns_set_loan(&gate->turns, &g->loan);
}

/* Get free permits of the gate; without any, be queued for the next. Returns how many. */
static uint32_t giver_pump(struct giver *g) {
  volt_sem *permits = &g->gate->permits;
  uint32_t got = 0;
  for (;;) {
    if (!g->is_pumping) {
      volt_waker waker = {giver_wake, g};
      g->is_pumping = volt_sem_acquire_waiter(permits, &g->pump, 1, waker) == VOLT_PENDING;
    } else if (volt_waiter_result(&g->pump) == VOLT_PENDING) {
      return got;
    } else {
      g->is_pumping = false;
    }
    if (!g->is_pumping) got += 1 + volt_sem_drain(permits);
  }
}

/* Returns a permit that it was granted meanwhile, or 0. */
static uint32_t giver_stop_pump(struct giver *g) {
  if (!g->is_pumping) return 0;
  g->is_pumping = false;
  return volt_sem_cancel(&g->gate->permits, &g->pump) ? 0 : 1;
}

/* Clients without tenants that wait at the gate's permits: from before the handover. */
static uint32_t giver_early(const struct giver *g) {
  uint32_t waiters = volt_sem_waiters(&g->gate->permits);
  return waiters > g->is_pumping ? waiters - g->is_pumping : 0;
}

static uint32_t giver_needs(struct giver *g) {
  /* loan:B2 <- turns:B1 */
  if (giver_has_tenants(g)) return atomic_load_explicit(&g->loan.needs, memory_order_acquire);
  return volt_sem_waiters(&g->loan.permits);
}

/* What was brought and finds no client. */
static uint32_t giver_surplus(struct giver *g, uint32_t needs) {
  bool is_awaited =
      giver_has_tenants(g) && needs != 0 && volt_sem_available(&g->loan.permits) >= needs;
  return is_awaited ? 0 : volt_sem_drain(&g->loan.permits);
}

/* The gate's permits are ours again: clients that still wait at the loan get some. */
static void giver_serve(struct giver *g) {
  uint32_t surplus = volt_sem_drain(&g->loan.permits);
  if (surplus) volt_sem_release(&g->gate->permits, surplus);
  while (volt_sem_waiters(&g->loan.permits) != 0) {
    uint32_t got = giver_pump(g);
    if (got == 0) return;
    uint32_t waiters = volt_sem_waiters(&g->loan.permits);
    uint32_t some = got < waiters ? got : waiters;
    got += giver_stop_pump(g);
    volt_sem_release(&g->loan.permits, some);
    volt_sem_release(&g->gate->permits, got - some);
  }
  uint32_t left = giver_stop_pump(g);
  if (left) volt_sem_release(&g->gate->permits, left);
}

static void giver_ask(struct giver *g, struct ledger_says *says) {
  uint32_t needs = giver_needs(g);
  if (says->together) {
    says->want = g->asked == 0 ? needs : 0;
    g->asked += says->want;
    return;
  }
  uint32_t early = giver_early(g);
  if (early < g->asked_early) says->want_not = g->asked_early - early;
  if (early > g->asked_early) says->want = early - g->asked_early;
  g->asked_early = early;
  if (needs > g->asked) says->want += needs - g->asked;
  if (needs > g->asked) g->asked = needs;
}

struct ledger_says giver_look(struct giver *g) {
  struct ledger_says says = {0};
  if (g->is_over) {
    giver_serve(g);
    return says;
  }
  says.together = giver_has_tenants(g);
  uint32_t needs = giver_needs(g);
  says.give = giver_surplus(g, needs) + giver_pump(g);
  ledger_more_away(g->gate, says.give);
  giver_ask(g, &says);
  return says;
}

/* The limit of the new process is higher, so that clients here may have more than ours. Returns how
 * many of them are in our hands. */
static uint32_t giver_raise(struct giver *g, uint32_t more) {
  volt_sem *permits = &g->gate->permits;
  uint32_t got = giver_stop_pump(g);
  volt_sem_set_limit(permits, volt_sem_limit(permits) + more);
  return got + volt_sem_drain(permits); /* the others have gone to clients that queued before */
}

/* So many of those that were asked for have come, `early` of them for clients that queued before. What
 * is asked for is never more than what the other process knows of: else a client would wait for ever. */
static void giver_count_answers(struct giver *g, uint32_t answers, uint32_t early) {
  uint32_t some = early < g->asked_early ? early : g->asked_early;
  g->asked_early -= some;
  answers -= some;
  some = answers < g->asked ? answers : g->asked;
  g->asked -= some;
  answers -= some;
  g->asked_early -= answers < g->asked_early ? answers : g->asked_early;
}

bool giver_bring(struct giver *g, uint32_t permits) {
  if (permits > VOLT_SEM_MAX / 4) return false;
  uint32_t away = atomic_load_explicit(&g->gate->away, memory_order_relaxed);
  uint32_t ours = permits < away ? permits : away;
  uint32_t got = ours;
  (void)ledger_less_away(g->gate, ours);
  if (permits > ours) got += giver_raise(g, permits - ours);
  if (giver_has_tenants(g)) {
    g->asked = 0;
    volt_sem_release(&g->loan.permits, got);
    turns_brought(&g->gate->turns);
    return true;
  }
  uint32_t early = giver_early(g); /* R2 */
  if (early > got) early = got;
  giver_count_answers(g, permits, early);
  if (early != 0) volt_sem_release(&g->gate->permits, early + giver_stop_pump(g));
  volt_sem_release(&g->loan.permits, got - early);
  return true;
}

void giver_take_back(struct giver *g) {
  g->is_over = true;
  g->asked = g->asked_early = 0;
  atomic_store_explicit(&g->gate->loan, NULL, memory_order_relaxed);
  turns_set_loan(&g->gate->turns, NULL);
  uint32_t all = ledger_all_away(g->gate) + giver_stop_pump(g);
  volt_sem_release(&g->gate->permits, all);
  volt_sem_set_limit(&g->gate->permits, g->limit);
  (void)giver_look(g);
}

void giver_end(struct giver *g) {
  if (!g->is_over) giver_take_back(g);
  uint32_t left = giver_stop_pump(g);
  if (left) volt_sem_release(&g->gate->permits, left);
  volt_sem_destroy(&g->loan.permits);
}

/* ---- the new one ---- */

struct keeper_want {
  struct keeper_want *next;
  volt_waiter waiter;
  uint32_t permits;
  bool is_queued;
};

void keeper_begin(struct keeper *k, struct gate *gate, uint32_t permits, struct ledger_tell tell) {
  *k = (struct keeper){.gate = gate, .tell = tell};
  k->last = &k->first;
  uint32_t limit = volt_sem_limit(&gate->permits);
  /* a limit that is lower than the old one's: the difference is an excess, which it gives back */
  if (limit < permits) volt_sem_set_limit(&gate->permits, permits);
  if (volt_sem_try_acquire(&gate->permits, permits) == VOLT_OK) ledger_more_away(gate, permits);
  if (limit < permits) volt_sem_set_limit(&gate->permits, limit);
}

bool keeper_want_together(struct keeper *k, uint32_t permits) {
  struct keeper_want *want = (struct keeper_want *)calloc(1, sizeof *want);
  if (!want) return false;
  volt_waker waker = {k->tell.call, k->tell.arg};
  want->permits = permits;
  *k->last = want;
  k->last = &want->next;
  want->is_queued =
      volt_sem_acquire_waiter(&k->gate->permits, &want->waiter, permits, waker) == VOLT_PENDING;
  return true;
}

bool keeper_want_each(struct keeper *k, uint32_t permits) {
  for (uint32_t i = 0; i < permits; i++) {
    if (!keeper_want_together(k, 1)) return false;
  }
  return true;
}

static void keeper_forget_first(struct keeper *k) {
  struct keeper_want *want = k->first;
  k->first = want->next;
  if (!k->first) k->last = &k->first;
  free(want);
}

void keeper_want_not(struct keeper *k, uint32_t permits) {
  struct keeper_want **link = &k->first;
  while (*link && permits > 0) {
    struct keeper_want *want = *link;
    bool is_dropped = want->is_queued && volt_sem_cancel(&k->gate->permits, &want->waiter);
    if (is_dropped) {
      permits -= 1;
      *link = want->next;
      free(want);
    } else {
      link = &want->next;
    }
  }
  k->last = &k->first;
  while (*k->last) k->last = &(*k->last)->next;
}

static bool keeper_is_granted(struct keeper_want *want) {
  return !want->is_queued || volt_waiter_result(&want->waiter) != VOLT_PENDING;
}

uint32_t keeper_look(struct keeper *k) {
  uint32_t permits = 0;
  while (k->first && keeper_is_granted(k->first)) {
    permits += k->first->permits;
    keeper_forget_first(k);
  }
  ledger_more_away(k->gate, permits);
  return permits;
}

bool keeper_given(struct keeper *k, uint32_t permits) {
  if (!ledger_less_away(k->gate, permits)) return false;
  volt_sem_release(&k->gate->permits, permits);
  return true;
}

void keeper_end(struct keeper *k) {
  if (k->is_over) return;
  k->is_over = true;
  uint32_t all = ledger_all_away(k->gate);
  while (k->first) {
    struct keeper_want *want = k->first;
    bool is_granted = !want->is_queued || !volt_sem_cancel(&k->gate->permits, &want->waiter);
    if (is_granted) all += want->permits;
    keeper_forget_first(k);
  }
  volt_sem_release(&k->gate->permits, all);
}
