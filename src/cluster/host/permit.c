/* permit.c: what tasks do with a semaphore of the cluster: acquire, release, and what a permit is
 * worth. sem.c has the invariants, the races and the driver's part.
 *
 * Labels: local */
#define VOLT_NO_PLACES /* where its caller stands stays noted */
#include "../../core/future/leaf.h"
#include "../../core/inspect/describe.h"
#include "../../core/os/check.h"
#include "../../core/park/spin.h"
#include "cluster.h"
#include "lease.h"
#include "local.h"
#include "local_sem.h"

static const char permit_name[] = "volt_cluster_permit";
static const char acquire_name[] = "volt_cluster_acquire";

/* ---- taking a slot, with a permit of the local semaphore ---- */

static inline void permit_make(volt_cluster_sem *s, volt_cluster_permit *p, uint32_t index) {
  p->sem = s;
  p->place = index;
  p->grant = slot_stack_at_(&s->stack, index)->grants += 1;
}

/* Returns false: the slot was lost before it could be taken (R4). */
static VOLT_NOINLINE bool permit_take_slot(volt_cluster_sem *s, volt_cluster_permit *p) {
  cluster_check_fork_(s->cluster, acquire_name);
  uint32_t index = slot_stack_pop_(&s->stack);
  if (index != 0) {
    permit_make(s, p, index);
    return true;
  }
  VOLT_CHECK(volt_load_relaxed(&s->was_cut), permit_name, "%p: no slot for a permit", (void *)s);
  return false;
}

/* Release the permit of the local semaphore; its slot, if there is one, is in the stack. */
static inline void permit_release_local(volt_cluster_sem *s) {
  volt_sem_release(&s->local, 1);
  cluster_sem_released_(s); /* R1 */
}

/* Why nothing will be leased. */
static int permit_refused(const volt_cluster_sem *s) {
  return (int)volt_load_relaxed(
      &s->refused); /* a snapshot; or of a caller that was turned away: R9 */
}

/* There is no permit of the local semaphore. */
static VOLT_NOINLINE int permit_not_now(volt_cluster_sem *s, int result) {
  cluster_check_fork_(s->cluster, acquire_name);
  int why = result == VOLT_EAGAIN ? permit_refused(s) : result;
  return why != VOLT_OK ? why : result;
}

/* A caller that does not wait was not served: the driver asks for a slot, for the next try. It hears of
 * one try, and then of the next when it has said so. */
static int permit_note_in_vain(volt_cluster_sem *s, int result) {
  if (volt_load_relaxed(&s->tried) == CLUSTER_TRIES_ASKED)
    return result; /* a hint, as the others */
  volt_store_relaxed(&s->tried, CLUSTER_TRIES_ASKED);
  lease_ring_(s->lease);
  return result;
}

/* The driver asks. A try whose note another one overwrites is followed by others. */
enum cluster_tries cluster_sem_tries_(void *ctx, bool hears) {
  volt_cluster_sem *s = (volt_cluster_sem *)ctx;
  enum cluster_tries tries = (enum cluster_tries)volt_load_relaxed(&s->tried);
  if (hears && tries == CLUSTER_TRIES_ASKED) volt_store_relaxed(&s->tried, CLUSTER_TRIES_HEARD);
  return tries;
}

static int permit_try(volt_cluster_sem *s, volt_cluster_permit *p) {
  p->sem = NULL;
  int result = volt_sem_try_acquire(&s->local, 1);
  if (result != VOLT_OK) return permit_not_now(s, result);
  if (permit_take_slot(s, p)) return VOLT_OK;
  permit_release_local(s);
  return VOLT_EAGAIN;
}

int volt_cluster_try_acquire(volt_cluster_sem *s, volt_cluster_permit *p) {
  int result = permit_try(s, p);
  if (result == VOLT_EAGAIN) return permit_note_in_vain(s, result);
  if (result == VOLT_OK && volt_load_relaxed(&s->tried) != CLUSTER_TRIES_NONE)
    volt_store_relaxed(&s->tried, CLUSTER_TRIES_NONE); /* it has what it tried for */
  return result;
}

/* ---- waiting for one ---- */

static volt_cluster_acquire_op *permit_acquire_of(volt_future *f) {
  return volt_container_of(f, volt_cluster_acquire_op, future);
}

/* Whether it has a permit of the local semaphore, and waits for a slot (R4). */
static bool permit_is_slotless(const volt_cluster_acquire_op *a) {
  return a->local.object == (void *)&a->sem->changed.queue;
}

/* Poll the local future. If it was queued by this poll, the driver has to know. */
static int permit_poll_local(volt_cluster_acquire_op *a, volt_ctx *ctx) {
  volt_cluster_sem *s = a->sem;
  for (;;) {
    bool is_new = volt_future_state_(&a->local) == VOLT_FUTURE_INIT_ && !permit_is_slotless(a);
    int result = volt_future_poll_ctx(&a->local, ctx);
    if (is_new && volt_future_is_waiting_(&a->local)) lease_ring_(s->lease);
    if (result != VOLT_ECLOSED || volt_sem_is_closed(&s->local)) return result;
    int why = permit_refused(s);
    if (why != VOLT_OK) return why;
    volt_future_made(
        volt_sem_acquire_future(&a->local, &s->local, 1)); /* R9: it was, and is not any more */
  }
}

static void permit_count_slotless(volt_cluster_sem *s, uint32_t by) {
  (void)volt_fetch_add_relaxed(&s->slotless, by); /* what follows is a ring, or a release */
}

/* It has a permit of the local semaphore. Returns VOLT_OK: and a slot; VOLT_ECLOSED, or why nothing
 * will be leased; or VOLT_PENDING: a->local is to be polled. */
static int permit_find_slot(volt_cluster_acquire_op *a) {
  volt_cluster_sem *s = a->sem;
  bool was_slotless = permit_is_slotless(a);
  /* before it looks: it misses no change */
  volt_future_made(volt_notify_wait_future(&a->local, &s->changed));
  bool is_found = permit_take_slot(s, a->permit);
  int why = volt_sem_is_closed(&s->local) ? (int)VOLT_ECLOSED : permit_refused(s);
  if (!is_found && why == VOLT_OK) {
    if (was_slotless) return VOLT_PENDING;
    permit_count_slotless(s, 1);
    lease_ring_(s->lease);
    return VOLT_PENDING;
  }
  if (was_slotless) permit_count_slotless(s, 0u - 1);
  if (is_found) return VOLT_OK;
  permit_release_local(s);
  return why;
}

static int permit_acquire_poll(volt_future *f, volt_ctx *ctx) {
  volt_cluster_acquire_op *a = permit_acquire_of(f);
  cluster_check_fork_(a->sem->cluster, acquire_name);
  if (volt_future_state_(f) == VOLT_FUTURE_INIT_)
    volt_future_made(volt_sem_acquire_future(&a->local, &a->sem->local, 1));
  for (;;) {
    int result = permit_poll_local(a, ctx);
    if (result != VOLT_OK) return result;
    result = permit_find_slot(a);
    if (result != VOLT_PENDING) return result;
    ctx->budget += 1; /* it was not ready after all */
  }
}

static bool permit_acquire_cancel(volt_future *f) {
  volt_cluster_acquire_op *a = permit_acquire_of(f);
  if (!volt_future_is_waiting_(f)) return true;
  cluster_check_fork_(a->sem->cluster, acquire_name);
  bool is_slotless = permit_is_slotless(a);
  volt_future_cancel(&a->local); /* may release a permit whose slot is in the stack (I2) */
  if (is_slotless) {
    permit_count_slotless(a->sem, 0u - 1);
    permit_release_local(a->sem);
  } else {
    cluster_sem_released_(a->sem); /* R1 */
  }
  return true;
}

static void permit_acquire_undo(volt_future *f) {
  volt_cluster_release(permit_acquire_of(f)->permit);
}

static void permit_acquire_leave(volt_future *f) {
  volt_future_leave_(&permit_acquire_of(f)->local);
}

/* The first poll has a permit of the local semaphore, but no slot yet. */
static VOLT_NOINLINE int permit_acquire_slot(volt_future *f, volt_ctx *ctx) {
  volt_cluster_acquire_op *a = permit_acquire_of(f);
  if (!permit_take_slot(a->sem, a->permit)) {
    permit_release_local(a->sem); /* it has just come */
    return volt_future_poll_any_(f, ctx);
  }
  ctx->budget -= 1;
  return volt_future_end_(f, VOLT_OK);
}

/* The first poll, if it is quick. What is not is called in the end only, so that this has no frame. */
static int permit_acquire_poll_ctx(volt_future *f, volt_ctx *ctx) {
  volt_cluster_acquire_op *a = permit_acquire_of(f);
  volt_cluster_sem *s = a->sem;
  bool is_first = volt_future_state_(f) == VOLT_FUTURE_INIT_;
  if (VOLT_UNLIKELY(!volt_ctx_goes_on_(ctx) || !is_first) ||
      VOLT_UNLIKELY(volt_sem_try_acquire(&s->local, 1) != VOLT_OK))
    return volt_future_poll_any_(f, ctx);
  uint32_t index = slot_stack_pop_fast_(&s->stack);
  if (VOLT_UNLIKELY(index == 0)) return permit_acquire_slot(f, ctx);
  permit_make(s, a->permit, index);
  ctx->budget -= 1;
  return volt_future_end_(f, VOLT_OK);
}

static volt_future *permit_acquire_inside(volt_future *f, unsigned i) {
  bool has_begun = volt_future_is_waiting_(f);
  return i == 0 && has_begun ? &permit_acquire_of(f)->local : NULL;
}

static void permit_acquire_describe(volt_future *f, volt_description_ *description) {
  volt_cluster_acquire_op *a = permit_acquire_of(f);
  description->object = a->sem;
  description->ends = VOLT_ENDS_INNER_;
  description->wanted = 1;
}

static const volt_future_ops_ permit_acquire_ops = {.operation = acquire_name,
                                                    .kind = VOLT_KIND_CLUSTER_SEM_,
                                                    .cancel = permit_acquire_cancel,
                                                    .poll_ctx = permit_acquire_poll_ctx,
                                                    .poll = permit_acquire_poll,
                                                    .leave = permit_acquire_leave,
                                                    .undo = permit_acquire_undo,
                                                    .inside = permit_acquire_inside,
                                                    .describe = permit_acquire_describe};

volt_future *volt_cluster_acquire_future(volt_cluster_acquire_op *a, volt_cluster_sem *s,
                                         volt_cluster_permit *p) {
  a->sem = s;
  a->permit = p;
  p->sem = NULL;
  return volt_future_make_(&a->future, &permit_acquire_ops, NULL, 0);
}

extern inline int volt_cluster_acquire(volt_cluster_sem *, volt_cluster_permit *);

int volt_cluster_acquire_until(volt_cluster_sem *s, volt_cluster_permit *p, uint64_t deadline_ns) {
  volt_check_blocks_("volt_cluster_acquire_until", deadline_ns);
  volt_cluster_acquire_op a;
  int result = permit_try(s, p);
  if (result != VOLT_EAGAIN) return result;
  result = volt_future_wait_until(volt_cluster_acquire_future(&a, s, p), deadline_ns);
  return result == VOLT_ETIMEDOUT ? permit_note_in_vain(s, result) : result;
}

/* ---- what a permit is worth ---- */

static inline cluster_place *permit_place(const volt_cluster_permit *p, const char *function) {
  VOLT_CHECK(p->sem, function, "%p is no permit", (const void *)p);
  cluster_place *place = slot_stack_at_(&p->sem->stack, p->place);
  VOLT_CHECK(place->grants == p->grant, function, "%p was released already", (const void *)p);
  return place;
}

/* The place was marked while the permit was out: the driver takes it. */
static void permit_return(volt_cluster_sem *s, cluster_place *place, uint32_t index) {
  uint32_t first = volt_load_relaxed(&s->returned); /* a guess: the CAS decides */
  do {
    volt_store_relaxed(&place->next, first);
    /* local:F1 -> local:S1: the driver sees which place is next, and that no permit has this one */
  } while (!volt_cas_weak_release(&s->returned, &first, index));
  lease_ring_(s->lease);
}

static VOLT_NOINLINE void permit_put_back(volt_cluster_sem *s, cluster_place *place,
                                          uint32_t index) {
  cluster_check_fork_(s->cluster, "volt_cluster_release");
  if (!slot_stack_push_(&s->stack, place, index)) {
    permit_return(s, place, index);
    return;
  }
  permit_release_local(s);
}

void volt_cluster_release(volt_cluster_permit *p) {
  cluster_place *place = permit_place(p, "volt_cluster_release");
  volt_cluster_sem *s = p->sem;
  bool is_awaited = (volt_load_relaxed(&place->lost.queue.word) & VOLT_WORD_QUEUED_) != 0;
  VOLT_CHECK(!is_awaited, "volt_cluster_release", "%p: a lost future still waits", (void *)p);
  p->sem = NULL;
  if (VOLT_UNLIKELY(!slot_stack_push_fast_(&s->stack, place, p->place))) {
    permit_put_back(s, place, p->place);
    return;
  }
  permit_release_local(s);
}

volt_cluster_fence volt_cluster_permit_fence(const volt_cluster_permit *p) {
  const cluster_place *place = permit_place(p, "volt_cluster_permit_fence");
  volt_cluster_fence fence = {.slot = place->slot,
                              .era = place->era,
                              .epoch = place->epoch,
                              .grant = p->grant - place->before};
  return fence;
}

int volt_cluster_fence_compare(const volt_cluster_fence *a, const volt_cluster_fence *b) {
  if (a->era != b->era) return a->era < b->era ? -1 : 1;
  if (a->epoch != b->epoch) return a->epoch < b->epoch ? -1 : 1;
  if (a->grant != b->grant) return a->grant < b->grant ? -1 : 1;
  return 0;
}

uint64_t volt_cluster_permit_valid_until_ns(const volt_cluster_permit *p) {
  const cluster_place *place = permit_place(p, "volt_cluster_permit_valid_until_ns");
  uint64_t until_ns = cluster_valid_until_(p->sem->cluster); /* R6: first */
  return volt_load_relaxed(&place->state) == CLUSTER_PLACE_LOST ? 0 : until_ns;
}

bool volt_cluster_permit_is_valid(const volt_cluster_permit *p) {
  uint64_t until_ns = volt_cluster_permit_valid_until_ns(p);
  return volt_cluster_now_ns(p->sem->cluster) < until_ns; /* read last */
}

volt_future *volt_cluster_permit_lost_future(volt_future *f, const volt_cluster_permit *p) {
  cluster_place *place = permit_place(p, "volt_cluster_permit_lost_future");
  cluster_check_fork_(p->sem->cluster, "volt_cluster_permit_lost_future");
  return volt_latch_wait_future(f, &place->lost);
}
