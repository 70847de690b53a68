/* sem.c: a semaphore of the cluster on one host: the driver's part. permit.c is that of the tasks.
 *
 * Algorithm: tasks wait at a volt_sem, whose limit is as many as there are slots to use. A task that
 * has a permit of it takes a slot from a stack (slot_stack.h). A release puts the slot back on the
 * stack, and then releases the permit of the volt_sem. So there is a slot for each permit.
 *   The driver adds slots: on the stack first, and then to the limit. It takes back a number of them
 * by a lower limit. What is held beyond the limit is the volt_sem's excess, which the next releases
 * reduce, before any waiter gets a permit. As far as the excess is reduced, the stack has slots that
 * no permit will need, and the driver collects them ("revoke, then release").
 *   Slots with certain numbers are taken back (they are RETIRED), or all permits become LOST, by a
 * mark on the place. What is in the stack is taken out. A place that a permit has does not go back to
 * the stack: its release puts it into the list `returned`, and keeps the permit of the volt_sem. The
 * driver then lowers the limit by one, and releases that permit on behalf of the task. So a task that
 * waits does not get the permit of a slot that is gone.
 *
 * Words: U = usable, O = recalled, X = lost. L = the limit of the volt_sem. A permit is granted when a
 * task has one of the volt_sem and has not taken the slot yet; releasing, when a task has put the
 * slot back and not released the permit of the volt_sem yet.
 *
 * Invariants
 *   I1  L = U - O + X, whenever the driver has returned.
 *   I2  slots in the stack = available - excess + O + granted + releasing. (Counted at one moment.
 *       By I1: L = available - excess + held; and held = slots that permits have, of U or of X, +
 *       granted + releasing.)
 *   I3  excess <= O, if no place was lost. So the stack has a slot for each permit that is granted.
 *   I4  O - excess slots of the stack are needed by no permit: the driver may collect so many. The
 *       driver alone makes the excess larger; so while it looks there may be more, and not fewer.
 *   I5  A place that is LOST is not in the stack, once lose() has returned.
 *
 * Races
 *   R1  Interleaving: a task puts its slot back, releases, and finds that the driver does not wait
 *       for slots; the driver says that it does, finds none, and sleeps: a slot is forgotten.
 *       Prevented by: both change one word in between, the volt_sem's. The task releases, and then
 *       reads `asked`. The driver writes `asked`, lowers the limit, and then reads the excess. If the
 *       release comes first, the driver sees it. If the limit comes first, the release acquires it
 *       (permits:F1), so the task sees `asked`, and rings.
 *   R2  Interleaving: the driver reads that the excess was reduced, and does not see the slot in the
 *       stack. Prevented by: volt_sem_excess() acquires what the releaser did before.
 *   R3  Interleaving: a slot is collected while a task has a permit for it, and has not taken it.
 *       Prevented by: I4. The number is what counts, not which slot it is.
 *   R4  Interleaving: a task is granted a permit; then the slot is lost, and taken out of the stack.
 *       The task finds no slot. Prevented by: it keeps the permit of the volt_sem, and waits for a
 *       slot (it is slotless). The limit was lowered before the stack was cut; so such permits are the
 *       excess, and the next slots that are added or put back are for these tasks, before all that
 *       are still queued. Each time that the driver looks, they look. (I4 holds for them, too: they
 *       are granted. A caller that does not wait, or has just come, releases the permit instead.)
 *   R5  Interleaving: a permit is released as it becomes lost; it is counted as lost for ever, or its
 *       slot is used again. Prevented by: slot_stack.h R2. Either the place is in the stack when the
 *       driver looks, and is taken out; or it comes back by the list.
 *   R6  Interleaving: all leases are lost, a new session makes new ones, and valid_until moves on; a
 *       task with a lost permit reads that. Prevented by: the task reads valid_until first, with
 *       acquire, and then the mark. The driver marks before it writes a valid_until that is later.
 *   R7  Interleaving: a task is woken because its permit is lost, and finds it valid. Prevented by:
 *       the mark is written before the latch opens.
 *   R8  Interleaving: a task queues; the driver looks, finds no waiter, and sleeps. Prevented by:
 *       the task rings after it has queued, and the driver takes a ring before it looks (lease.c).
 *   R9  Interleaving: a task queues as the driver turns away those that wait, and waits for ever.
 *       Prevented by: as R8: the driver looks again, and turns it away. Interleaving: a task is turned
 *       away, and before it asks why, the driver finds that there is no reason any more. Prevented
 *       by: it queues again, and rings.
 *   R10 Interleaving: the driver finds that all slots are in use, says that it wants to know of the
 *       next release, and sleeps; a task has released in between, and has not rung. Prevented by: as
 *       R1. The driver says so, lowers the limit for a moment, and then reads what is available.
 *
 * Labels: local */
#include "../../core/os/check.h"
#include "../../sync/semaphore_limit.h"
#include "local.h"
#include "local_sem.h"

static volt_cluster_sem *csem_of(void *ctx) {
  return (volt_cluster_sem *)ctx;
}

/* What the driver alone writes, while no permit has the place. */
static uint32_t csem_state(const cluster_place *place) {
  return volt_load_relaxed(&place->state);
}

/* ---- lists of places: an index plus 1, or 0 ---- */

static uint32_t csem_index(const volt_cluster_sem *s, const cluster_place *place) {
  return (uint32_t)(place - s->stack.places) + 1;
}

static void csem_put(volt_cluster_sem *s, uint32_t *list, cluster_place *place, uint32_t state) {
  volt_store_relaxed(&place->state, state); /* no permit has it */
  volt_store_relaxed(&place->next, *list);
  *list = csem_index(s, place);
}

static cluster_place *csem_take(volt_cluster_sem *s, uint32_t *list) {
  cluster_place *place = slot_stack_at_(&s->stack, *list);
  *list = volt_load_relaxed(&place->next); /* the list is the driver's */
  return place;
}

static void csem_put_unused(volt_cluster_sem *s, cluster_place *place) {
  csem_put(s, &s->unused_list, place, CLUSTER_PLACE_UNUSED);
  s->unused += 1;
}

static void csem_put_ready(volt_cluster_sem *s, cluster_place *place) {
  csem_put(s, &s->ready_list, place, CLUSTER_PLACE_READY);
  s->ready += 1;
}

void cluster_sem_init_(volt_cluster_sem *s, const volt_cluster *c, cluster_place *places,
                       uint32_t capacity) {
  volt_sem_init(&s->local, 0);
  volt_notify_init(&s->changed);
  s->cluster = c;
  slot_stack_init_(&s->stack, places);
  s->capacity = capacity;
  for (uint32_t i = capacity; i > 0; i--) {
    volt_latch_init(&places[i - 1].lost, 1);
    csem_put_unused(s, &places[i - 1]);
  }
}

/* ---- the limit ---- */

/* Say what the driver waits for; before the limit falls (R1). */
static void csem_ask(volt_cluster_sem *s) {
  s->slotless_seen = volt_load_relaxed(&s->slotless); /* if it is old, a ring will come */
  uint32_t asked = s->recalled + s->retired + s->slotless_seen + s->watches;
  volt_store_relaxed(&s->asked, asked); /* R1, R10 */
  volt_store_relaxed(&s->back_snapshot,
                     s->recalled + s->retired + s->ready); /* both: to be counted */
  volt_store_relaxed(&s->lost_snapshot, s->lost);
}

/* I1; but: so many less. */
static void csem_set_limit(volt_cluster_sem *s, uint32_t but) {
  csem_ask(s);
  volt_sem_set_limit(&s->local, s->usable - s->recalled + s->lost - but);
}

/* Places were marked or taken out: no more slots are recalled than there are. */
static void csem_recall_less(volt_cluster_sem *s) {
  uint32_t most = s->usable - s->retired;
  if (s->recalled > most) s->recalled = most;
}

/* R4: tasks have a permit, and wait for a slot. Say to those that release that the driver waits, as
 * in csem_sift(), and let the tasks look again. */
static void csem_wake_slotless(volt_cluster_sem *s) {
  if (volt_load_relaxed(&s->slotless) == 0) { /* if it is old, a ring will come */
    if (s->slotless_seen) csem_ask(s);
    return;
  }
  csem_set_limit(s, s->usable - s->recalled + s->lost > 0);
  csem_set_limit(s, 0);
  volt_notify_all(&s->changed);
}

/* Take in what has come back with its mark. */
static void csem_settle(volt_cluster_sem *s) {
  csem_wake_slotless(s);
  if (volt_load_relaxed(&s->returned) == 0) return; /* if it is old, a ring will come */
  /* local:S1 <- local:F1: no permit has these places any more */
  uint32_t list = volt_exchange_acquire(&s->returned, 0);
  uint32_t count = 0;
  for (; list; count++) {
    cluster_place *place = csem_take(s, &list);
    if (csem_state(place) == CLUSTER_PLACE_LOST) {
      s->lost -= 1;
      csem_put_unused(s, place);
    } else {
      s->usable -= 1;
      s->retired -= 1;
      csem_put_ready(s, place);
    }
  }
  csem_set_limit(s, 0); /* first, so that no waiter gets the permits that follow */
  volt_sem_release(&s->local, count);
}

/* Take places with this state out of the stack, max at most. Returns a list. */
static uint32_t csem_unlink(volt_cluster_sem *s, uint32_t state, uint32_t max) {
  uint64_t head = slot_stack_lock_(&s->stack);
  uint32_t top = slot_stack_top_(head), out = 0;
  cluster_place *above = NULL;
  for (uint32_t at = top; at && max > 0;) {
    cluster_place *place = slot_stack_at_(&s->stack, at);
    uint32_t index = at;
    at = volt_load_relaxed(&place->next); /* the stack is locked; so are the others here */
    if (csem_state(place) != state) {
      above = place;
      continue;
    }
    if (above) {
      volt_store_relaxed(&above->next, at);
    } else {
      top = at;
    }
    volt_store_relaxed(&place->next, out);
    out = index;
    max -= 1;
  }
  slot_stack_unlock_(&s->stack, head, top);
  return out;
}

/* ---- what the driver calls ---- */

/* Slots that permits of the volt_sem have, or will take. */
static uint32_t csem_used(const volt_cluster_sem *s) {
  uint32_t available = volt_sem_available(&s->local);
  uint32_t held = volt_sem_limit(&s->local);
  held = available ? held - available : held + volt_sem_excess(&s->local);
  uint32_t lost = volt_load_relaxed(&s->lost_snapshot); /* a snapshot, as the others */
  return held > lost ? held - lost : 0;
}

static uint32_t csem_wanted(void *ctx) {
  volt_cluster_sem *s = csem_of(ctx);
  csem_settle(s);
  return csem_used(s) + volt_sem_waiters(&s->local);
}

static uint32_t csem_room(void *ctx) {
  volt_cluster_sem *s = csem_of(ctx);
  csem_settle(s);
  return s->unused;
}

/* The place is for this slot from now on. No permit has it. */
static void csem_lease(cluster_place *place, const cluster_slot *slot) {
  if (volt_latch_count(&place->lost) == 0) { /* its last lease was lost */
    volt_latch_destroy(&place->lost);
    volt_latch_init(&place->lost, 1);
  }
  place->slot = slot->slot;
  place->era = slot->era;
  place->epoch = slot->epoch;
  place->before = place->grants;
  volt_store_relaxed(&place->state, CLUSTER_PLACE_LEASED); /* published with the place: P1 */
}

static void csem_add(void *ctx, const cluster_slot *slots, uint32_t count) {
  volt_cluster_sem *s = csem_of(ctx);
  VOLT_CHECK(count <= s->unused, "volt_cluster_sem", "%p: %u slots, room for %u", (void *)s, count,
             s->unused);
  for (uint32_t i = 0; i < count; i++) {
    cluster_place *place = csem_take(s, &s->unused_list);
    s->unused -= 1;
    csem_lease(place, &slots[i]);
    if (slots[i].slot >= s->beyond) s->beyond = slots[i].slot + 1;
    (void)slot_stack_push_(&s->stack, place, csem_index(s, place)); /* before the limit rises: I3 */
  }
  s->usable += count;
  csem_set_limit(s, 0);
  csem_wake_slotless(s);
}

static void csem_take_back(void *ctx, uint32_t count) {
  volt_cluster_sem *s = csem_of(ctx);
  csem_settle(s);
  uint32_t most = s->usable - s->retired - s->recalled;
  s->recalled += count < most ? count : most;
  csem_set_limit(s, 0);
}

/* Take what is retired out of the stack, as far as no permit needs it (I4). While this looks, the
 * limit is lower by all that is retired: so R1 holds as for what is recalled. */
static void csem_sift(volt_cluster_sem *s) {
  if (s->retired == 0) return;
  csem_set_limit(s, s->retired);
  uint32_t most = s->recalled + s->retired, excess = volt_sem_excess(&s->local); /* R2 */
  uint32_t list = excess < most ? csem_unlink(s, CLUSTER_PLACE_RETIRED, most - excess) : 0;
  for (; list; s->usable -= 1, s->retired -= 1) csem_put_ready(s, csem_take(s, &list));
  csem_set_limit(s, 0);
}

/* Returns how many were taken back by their number, and are not collected yet. */
static uint32_t csem_take_back_from(void *ctx, uint32_t first_slot) {
  volt_cluster_sem *s = csem_of(ctx);
  csem_settle(s);
  bool any = s->beyond > first_slot; /* else no place has such a slot, or it is marked */
  for (uint32_t i = 0; any && i < s->capacity; i++) {
    cluster_place *place = &s->stack.places[i];
    if (csem_state(place) != CLUSTER_PLACE_LEASED || place->slot < first_slot) continue;
    volt_store_relaxed(&place->state, CLUSTER_PLACE_RETIRED); /* if it is seen late: csem_sift() */
    s->retired += 1;
  }
  if (any) s->beyond = first_slot;
  csem_recall_less(s);
  csem_sift(s);
  return s->retired + s->ready;
}

/* What the place has is collected. */
static cluster_slot csem_give_up(volt_cluster_sem *s, cluster_place *place) {
  cluster_slot slot = {.slot = place->slot, .era = place->era, .epoch = place->epoch};
  csem_put_unused(s, place);
  return slot;
}

static uint32_t csem_collect_recalled(volt_cluster_sem *s, cluster_slot *slots, uint32_t max) {
  if (s->recalled == 0) return 0;
  uint32_t excess = volt_sem_excess(&s->local);                    /* R2 */
  uint32_t free = s->recalled > excess ? s->recalled - excess : 0; /* I4 */
  uint32_t count = free < max ? free : max;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t index = slot_stack_pop_(&s->stack);
    VOLT_CHECK(index, "volt_cluster_sem", "%p: a free slot is not in the stack", (void *)s);
    cluster_place *place = slot_stack_at_(&s->stack, index);
    /* one that is retired does for itself, and the limit falls instead */
    *(csem_state(place) == CLUSTER_PLACE_RETIRED ? &s->retired : &s->recalled) -= 1;
    slots[i] = csem_give_up(s, place);
  }
  s->usable -= count;
  return count;
}

static uint32_t csem_collect(void *ctx, cluster_slot *slots, uint32_t max) {
  volt_cluster_sem *s = csem_of(ctx);
  csem_settle(s);
  csem_sift(s);
  uint32_t count = 0;
  for (; count < max && s->ready_list; count++, s->ready -= 1)
    slots[count] = csem_give_up(s, csem_take(s, &s->ready_list));
  count += csem_collect_recalled(s, slots + count, max - count);
  csem_set_limit(s, 0);
  return count;
}

/* ---- loss ---- */

/* slot NULL: any. */
static bool csem_is_slot(const cluster_place *place, const cluster_slot *slot) {
  return !slot || place->slot == slot->slot;
}

/* What is ready to be collected is lost: no release is waited for. */
static void csem_lose_ready(volt_cluster_sem *s, const cluster_slot *slot) {
  uint32_t list = s->ready_list;
  s->ready_list = 0;
  s->ready = 0;
  while (list) {
    cluster_place *place = csem_take(s, &list);
    (csem_is_slot(place, slot) ? csem_put_unused : csem_put_ready)(s, place);
  }
}

/* Mark what is in use, or could be. Returns how many places. */
static uint32_t csem_mark_lost(volt_cluster_sem *s, const cluster_slot *slot) {
  uint32_t marked = 0;
  for (uint32_t i = 0; i < s->capacity; i++) {
    cluster_place *place = &s->stack.places[i];
    uint32_t state = csem_state(place);
    if (state != CLUSTER_PLACE_LEASED && state != CLUSTER_PLACE_RETIRED) continue;
    if (!csem_is_slot(place, slot)) continue;
    if (state == CLUSTER_PLACE_RETIRED) s->retired -= 1;
    volt_store_relaxed(&place->state, CLUSTER_PLACE_LOST); /* published by U1 */
    marked += 1;
  }
  return marked;
}

/* R7: the marks are written. Wake the tasks that wait for it. */
static void csem_report_lost(volt_cluster_sem *s) {
  for (uint32_t i = 0; i < s->capacity; i++) {
    cluster_place *place = &s->stack.places[i];
    if (csem_state(place) != CLUSTER_PLACE_LOST) continue;
    if (volt_latch_count(&place->lost) > 0) volt_latch_done(&place->lost);
  }
}

static void csem_lose(void *ctx, const cluster_slot *slot) {
  volt_cluster_sem *s = csem_of(ctx);
  csem_settle(s);
  csem_lose_ready(s, slot);
  uint32_t marked = csem_mark_lost(s, slot);
  s->usable -= marked;
  csem_recall_less(s);
  csem_set_limit(s, 0); /* R4: before the stack has fewer */
  if (marked == 0) return;
  volt_store_relaxed(&s->was_cut, 1);                              /* published by U1 */
  uint32_t list = csem_unlink(s, CLUSTER_PLACE_LOST, s->capacity); /* R5 */
  for (; list; marked -= 1) csem_put_unused(s, csem_take(s, &list));
  s->lost += marked; /* these were not there: their permits are out */
  csem_set_limit(s, 0);
  csem_report_lost(s);
}

/* ---- the rest ---- */

static uint32_t csem_idle(void *ctx) {
  volt_cluster_sem *s = csem_of(ctx);
  csem_settle(s);
  return volt_sem_available(&s->local);
}

/* R10: the word changes between what is written for a releaser and what is read. */
static uint32_t csem_watch_idle(void *ctx, bool on) {
  volt_cluster_sem *s = csem_of(ctx);
  if (s->watches != on) {
    s->watches = on;
    csem_set_limit(s, on && s->usable - s->recalled + s->lost > 0);
    csem_set_limit(s, 0);
  }
  return csem_idle(ctx);
}

/* Any thread. */
static void csem_count(void *ctx, volt_cluster_lease_stats *stats) {
  volt_cluster_sem *s = csem_of(ctx);
  uint32_t slotless = volt_load_relaxed(&s->slotless), used = csem_used(s); /* snapshots */
  stats->used = used > slotless ? used - slotless : 0;
  if (stats->used > s->capacity)
    stats->used = s->capacity;                        /* the limit changed between two of them */
  stats->owed = volt_load_relaxed(&s->back_snapshot); /* snapshots */
  stats->lost = volt_load_relaxed(&s->lost_snapshot);
  stats->waiting = volt_sem_waiters(&s->local) + slotless;
}

/* Those that wait are turned away, and see why (R9). */
static void csem_refuse(void *ctx, int result) {
  volt_cluster_sem *s = csem_of(ctx);
  volt_store_relaxed(&s->refused, (uint32_t)result); /* published by what wakes them */
  if (result == VOLT_OK) return;
  volt_sem_turn_away_(&s->local);
  volt_notify_all(&s->changed);
}

static void csem_close(void *ctx) {
  volt_cluster_sem *s = csem_of(ctx);
  volt_sem_close(&s->local); /* first, so that a task that looks again finds it closed */
  csem_take_back(s, s->usable);
}

static bool csem_is_free(void *ctx) {
  volt_cluster_sem *s = csem_of(ctx);
  csem_settle(s);
  return csem_used(s) == 0 && s->lost == 0;
}

const cluster_local cluster_sem_local_ = {.wanted = csem_wanted,
                                          .add = csem_add,
                                          .room = csem_room,
                                          .take_back = csem_take_back,
                                          .take_back_from = csem_take_back_from,
                                          .collect = csem_collect,
                                          .lose = csem_lose,
                                          .idle = csem_idle,
                                          .watch_idle = csem_watch_idle,
                                          .tries = cluster_sem_tries_,
                                          .count = csem_count,
                                          .refuse = csem_refuse,
                                          .close = csem_close,
                                          .is_free = csem_is_free};
