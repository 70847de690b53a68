/* change.c: futures that the driver completes: a host is closed, a limit is changed.
 *
 * Algorithm
 *   Each waits with one waiter, in a list under the host's lock. The driver takes waiters out of the
 *   list under the lock, and wakes them after it.
 *
 * Races
 *   R1  Interleaving: the driver takes a waiter out; its owner cancels, and frees it; the driver
 *       wakes it. Prevented by: an owner that does not find its waiter in the list waits for the
 *       grant, which comes at once, and is the driver's last access.
 *   R2  Interleaving: the host's last future becomes ready, its owner destroys the host, and the
 *       driver goes on to the next waiter. Prevented by: the driver takes all of them out of the list
 *       before it wakes one, and then touches nothing but those waiters; the destroyer joins it.
 *   R3  Interleaving: a change is asked for after the driver has looked for the last time, and no
 *       thread answers. Prevented by: is_ended is set, and asked for, under the lock.
 *
 * Labels: change */
#include "change.h"
#include "../../core/future/future_ops.h"
#include "../../core/inspect/describe.h"
#include "../../core/wait/grant.h"
#include "../../rt/sched/short_lock.h"
#include "cluster.h"
#include "engine.h"
#include "lease.h"

static engine_waiters *change_list(volt_future *f) {
  return (engine_waiters *)f->object;
}

/* ---- the list; under the lock ---- */

static void change_link(engine_waiters *list, volt_waiter *w) {
  volt_waiter **at = &list->first;
  while (*at) at = (volt_waiter **)(void *)&(*at)->next;
  w->next = NULL;
  *at = w;
}

static bool change_unlink(engine_waiters *list, volt_waiter *w) {
  for (volt_waiter **at = &list->first; *at; at = (volt_waiter **)(void *)&(*at)->next) {
    if (*at != w) continue;
    *at = w->next;
    return true;
  }
  return false;
}

static bool change_is_linked(const engine_waiters *list, const volt_waiter *w) {
  for (const volt_waiter *at = list->first; at; at = at->next) {
    if (at == w) return true;
  }
  return false;
}

/* A future of the parent, in a child, which has no driver. */
static void change_check_fork(const volt_future *f, const engine_waiters *list) {
  const volt_cluster *c = volt_container_of(list->lock, volt_cluster, lock);
  cluster_check_fork_(c, f->ops->operation);
}

/* Wake all of a list that was taken out. */
static void change_wake(volt_waiter *first) {
  while (first) {
    volt_waiter *w = first;
    first = w->next; /* R2 */
    volt_count_from_outside_(VOLT_KIND_CLUSTER_, VOLT_COUNTER_GRANTS_, 1);
    volt_claimed_grant_(volt_waiter_claim_(w), VOLT_WAITER_GRANTED_);
  }
}

/* ---- the futures ---- */

static bool change_cancel(volt_future *f) {
  if (volt_waiter_result(&f->waiter) != VOLT_PENDING) return false;
  engine_waiters *list = change_list(f);
  change_check_fork(f, list);
  volt_short_lock_lock_(list->lock);
  bool is_waiting = change_unlink(list, &f->waiter);
  volt_short_lock_unlock_(list->lock);
  if (is_waiting) {
    volt_store_relaxed(&f->waiter.state, VOLT_WAITER_UNUSED_); /* the owner's own again */
    volt_count_from_outside_(VOLT_KIND_CLUSTER_, VOLT_COUNTER_CANCELS_, 1);
  } else {
    volt_waiter_await_(&f->waiter); /* R1 */
  }
  return is_waiting;
}

static bool change_set_waker(volt_future *f, volt_waker waker) {
  if (volt_waiter_result(&f->waiter) != VOLT_PENDING) return false;
  engine_waiters *list = change_list(f);
  change_check_fork(f, list);
  volt_short_lock_lock_(list->lock);
  bool is_waiting = change_is_linked(list, &f->waiter);
  if (is_waiting) {
    f->waiter.wake = waker.wake;
    f->waiter.ctx = waker.ctx;
  }
  volt_short_lock_unlock_(list->lock);
  if (!is_waiting) volt_waiter_await_(&f->waiter); /* R1 */
  return is_waiting;
}

/* Wait in the list, unless the host has ended. Returns VOLT_PENDING, or VOLT_DONE. */
static int change_wait(volt_future *f, volt_cluster *c, volt_waker waker) {
  engine_waiters *list = change_list(f);
  change_check_fork(f, list);
  volt_waiter_arm_(&f->waiter, list, waker);
  volt_short_lock_lock_(&c->lock);
  bool is_ended = c->is_ended; /* R3 */
  if (!is_ended) change_link(list, &f->waiter);
  volt_short_lock_unlock_(&c->lock);
  if (!is_ended) volt_count_from_outside_(VOLT_KIND_CLUSTER_, VOLT_COUNTER_WAITS_, 1);
  if (!is_ended) return VOLT_PENDING;
  volt_store_relaxed(&f->waiter.state, VOLT_WAITER_UNUSED_); /* the owner's own again */
  return VOLT_DONE;
}

/* ---- the host's end ---- */

static volt_cluster *change_host(volt_future *f) {
  return volt_container_of(change_list(f), volt_cluster, closers);
}

static int change_closed_outcome(volt_future *f) {
  return change_host(f)->ended_result;
}

static int change_closed_start(volt_future *f, volt_waker waker) {
  volt_cluster *c = change_host(f);
  /* change:K1 -> host:C1: the driver sees what this thread did before */
  volt_store_release(&c->is_closing, 1);
  int result = change_wait(f, c, waker);
  if (result == VOLT_DONE) return c->ended_result;
  volt_notify_one(&c->bell);
  return result;
}

static void change_closed_describe(volt_future *f, volt_description_ *description) {
  description->object = change_host(f);
}

static const volt_future_ops_ change_closed_ops = {.operation = "volt_cluster_close",
                                                   .kind = VOLT_KIND_CLUSTER_,

                                                   .start = change_closed_start,
                                                   .cancel = change_cancel,
                                                   .set_waker = change_set_waker,
                                                   .give_back = volt_future_took_nothing_,
                                                   .outcome = change_closed_outcome,
                                                   .poll_ctx = volt_future_poll_leaf_any_,
                                                   .describe = change_closed_describe};

volt_future *volt_cluster_close_future(volt_future *f, volt_cluster *c) {
  cluster_check_fork_(c, "volt_cluster_close_future");
  return volt_future_make_(f, &change_closed_ops, &c->closers, 0);
}

/* ---- the limit ---- */

static volt_cluster_change *change_of(volt_waiter *w) {
  return volt_container_of(w, volt_cluster_change, future.waiter);
}

static int change_limit_outcome(volt_future *f) {
  return volt_container_of(f, volt_cluster_change, future)->result;
}

static int change_limit_start(volt_future *f, volt_waker waker) {
  volt_cluster_change *change = volt_container_of(f, volt_cluster_change, future);
  volt_cluster_lease *l = change->lease;
  /* change:C1 <- lease:K1: a semaphore that is closed is not changed */
  if (volt_load_acquire(&l->is_closing)) return VOLT_ECLOSED;
  if (change->limit > VOLT_SEM_MAX) return VOLT_EINVAL;
  change->result = VOLT_PENDING;
  int result = change_wait(f, l->c, waker);
  if (result == VOLT_DONE) return VOLT_ECLOSED;
  lease_ring_(l);
  return result;
}

static void change_limit_describe(volt_future *f, volt_description_ *description) {
  volt_cluster_change *change = volt_container_of(f, volt_cluster_change, future);
  description->object = change->lease;
  volt_describe_state_(description, "to %u", change->limit);
}

static const volt_future_ops_ change_limit_ops = {.operation = "volt_cluster_lease_set_limit",
                                                  .kind = VOLT_KIND_CLUSTER_LEASE_,

                                                  .start = change_limit_start,
                                                  .cancel = change_cancel,
                                                  .set_waker = change_set_waker,
                                                  .give_back = volt_future_took_nothing_,
                                                  .outcome = change_limit_outcome,
                                                  .poll_ctx = volt_future_poll_leaf_any_,
                                                  .describe = change_limit_describe};

volt_future *volt_cluster_lease_set_limit_future(volt_cluster_change *change, volt_cluster_lease *l,
                                                 uint32_t limit) {
  cluster_check_fork_(l->c, "volt_cluster_lease_set_limit_future");
  change->lease = l;
  change->limit = limit;
  return volt_future_make_(&change->future, &change_limit_ops, &l->changes, 0);
}

/* ---- the driver ---- */

bool change_begin_(volt_cluster_lease *l, uint32_t *limit) {
  bool is_asked = false;
  volt_short_lock_lock_(&l->c->lock);
  for (volt_waiter *w = l->changes.first; w; w = w->next) {
    volt_cluster_change *change = change_of(w);
    change->result = VOLT_OK; /* it is among those that change_done_() answers */
    *limit = change->limit;   /* the last one's */
    is_asked = true;
  }
  volt_short_lock_unlock_(&l->c->lock);
  return is_asked;
}

/* Take those out that change_begin_() has seen, or all. */
static volt_waiter *change_take(volt_cluster_lease *l, int result, bool only_begun) {
  volt_waiter *taken = NULL;
  volt_waiter **end = &taken;
  volt_waiter **at = &l->changes.first;
  while (*at) {
    volt_waiter *w = *at;
    if (only_begun && change_of(w)->result == VOLT_PENDING) {
      at = (volt_waiter **)(void *)&w->next;
      continue;
    }
    *at = w->next;
    change_of(w)->result = result;
    w->next = NULL;
    *end = w;
    end = (volt_waiter **)(void *)&w->next;
  }
  return taken;
}

static void change_answer(volt_cluster_lease *l, int result, bool only_begun) {
  volt_short_lock_lock_(&l->c->lock);
  volt_waiter *taken = change_take(l, result, only_begun);
  volt_short_lock_unlock_(&l->c->lock);
  change_wake(taken);
}

void change_done_(volt_cluster_lease *l, int result) {
  change_answer(l, result, true);
}

void change_refuse_(volt_cluster_lease *l, int result) {
  change_answer(l, result, false);
}

void change_ended_(volt_cluster *c, int result) {
  volt_short_lock_lock_(&c->lock);
  c->is_ended = true; /* R3: from here on no lease and no waiter is added */
  c->ended_result = result;
  volt_waiter *closers = c->closers.first;
  c->closers.first = NULL;
  volt_short_lock_unlock_(&c->lock);
  for (volt_cluster_lease *l = c->leases; l; l = l->next) {
    if (!l->is_closed) l->local.close(l->local.ctx); /* it was opened, and has not rung yet */
    l->is_closed = true;
    change_refuse_(l, VOLT_ECLOSED);
  }
  change_wake(closers); /* R2 */
}
