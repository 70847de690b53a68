/* bcs_job.c: a job of a volt_bcs_lock, and the future that waits for one.
 *
 * Two threads use a future's job and do not wait for each other: the combiner, which runs and
 * completes it, and the owner, which may replace the waker or cancel meanwhile. The bits of hold
 * say which of them may do what:
 *   BEGUN      set by the combiner, which is about to run the job. If CANCELLED is set already, the
 *              job does not run.
 *   CANCELLED  set by the owner: the job is not to run. If BEGUN is set already, that is too late.
 *   REPLACING  set by the owner while it writes the waker, then cleared.
 *   CLAIMED    set by the combiner when the queue is past the node, before it reads the waker. If
 *              REPLACING is set already, the combiner leaves the grant to the owner, which finds
 *              CLAIMED when it clears REPLACING.
 *
 * Races
 *   R5  Interleaving: the owner replaces the waker while the combiner reads it. Prevented by:
 *       REPLACING and CLAIMED are bits of one word, so one of the two sees that the other was
 *       first. The grant follows the claim at once. The waker is called later, from a copy.
 *   R6  Interleaving: the owner cancels while the combiner is about to run the job. Prevented by:
 *       BEGUN and CANCELLED, in the same way. The node is in the queue in either case, and its
 *       owner's again only when the queue is past it. So cancel waits for the grant.
 *
 * Labels: bcs_lock */
#include <volt/name.h>

#include "bcs_job.h"

#include "../core/future/future_ops.h"
#include "../core/inspect/describe.h"
#include "../core/os/check.h"
#include "../core/wait/grant.h"

enum { BEGUN = 1, CANCELLED = 2, REPLACING = 4, CLAIMED = 8 };

void volt_bcs_job_init_(volt_bcs_job_ *job, uint32_t kind, volt_bcs_fn *fn, void *arg) {
  job->fn = fn;
  job->arg = arg;
  job->wake = NULL;
  job->ctx = NULL;
  job->waiter = NULL;
  job->kind = kind;
  job->flag = false;
  volt_store_relaxed(&job->parker.word, 0); /* not shared yet */
  volt_store_relaxed(&job->hold, 0);
}

#if VOLT_DEBUG
#define SECTION_MARK (~UINT32_C(15)) /* in hold */

static uint32_t bcs_section_mark(const volt_bcs_section *section) {
  return ((uint32_t)((uintptr_t)section >> 3) * UINT32_C(0x9e3779b1) | 1u << 31) & SECTION_MARK;
}

void volt_bcs_section_check_free_(volt_bcs_section *section, const char *where) {
  /* relaxed: no other thread writes it while it may be submitted */
  bool is_queued =
      section->node.data == &section->job &&
      (volt_load_relaxed(&section->job.hold) & SECTION_MARK) == bcs_section_mark(section);
  VOLT_CHECK(!is_queued, where, "section %p is in the queue already", (void *)section);
}

void volt_bcs_section_mark_(volt_bcs_section *section) {
  volt_store_relaxed(&section->job.hold, bcs_section_mark(section)); /* not shared yet */
}
#endif

/* The job has run, or was cancelled; its node is still in the queue. */
static void bcs_job_unmark(volt_bcs_job_ *job) {
#if VOLT_DEBUG
  /* relaxed, by bcs_queue:S2, bcs_queue:T2: published like what the job did */
  if (job->kind != VOLT_BCS_RUN_) volt_fetch_and_relaxed(&job->hold, ~SECTION_MARK);
#else
  (void)job;
#endif
}

static void bcs_job_run(volt_bcs_job_ *job) {
  if (job->kind == VOLT_BCS_FUTURE_) {
    /* R6. relaxed, no data: the queue has published the job */
    job->flag = (volt_fetch_or_relaxed(&job->hold, BEGUN) & CANCELLED) != 0;
    if (volt_bcs_job_is_cancelled_(job)) return;
  }
  volt_bcs_fn *fn = job->fn;
  fn(job->arg);
}

void volt_bcs_job_run_(volt_bcs_job_ *job) {
  bcs_job_run(job);
  bcs_job_unmark(job);
}

static volt_waker bcs_future_complete(volt_bcs_job_ *job) {
  volt_waiter *w = job->waiter;
  volt_waker waker = {NULL, NULL};
  bool cancelled = volt_bcs_job_is_cancelled_(job);
  /* bcs_lock:H2 <-> bcs_lock:H1: sees the waker, or shows the owner what its job did; R5 */
  if (volt_fetch_or_acq_rel(&job->hold, CLAIMED) & REPLACING) return waker;
  volt_claimed_ claimed = volt_waiter_claim_(w);
  if (!cancelled) waker = claimed.waker;
  claimed.waker.wake = NULL;
  if (!cancelled) volt_count_claims_(VOLT_KIND_BCS_, 1, false);
  volt_waiters_grant_(&claimed, 1, VOLT_WAITER_GRANTED_);
  return waker;
}

volt_waker volt_bcs_job_complete_(volt_bcs_job_ *job) {
  if (job->kind == VOLT_BCS_FUTURE_) return bcs_future_complete(job);
  volt_waker waker = {job->wake, job->ctx};
  return waker;
}

/* ---- the future ---- */

static volt_bcs_job_ *bcs_future_job(volt_future *f) {
  return (volt_bcs_job_ *)(void *)f->waiter.data;
}

static int bcs_future_start(volt_future *f, volt_waker waker) {
  volt_bcs_section *section = volt_container_of(bcs_future_job(f), volt_bcs_section, job);
  volt_bcs_section_check_free_(section, "volt_future_poll");
  volt_bcs_section_mark_(section);
  volt_waiter_arm_(&f->waiter, f->object, waker);
  section->job.waiter = &f->waiter;
  volt_bcs_lock *lock = (volt_bcs_lock *)f->object;
  if (!volt_bcs_lock_submit_own_(lock, &section->node, &section->job) &&
      !volt_bcs_lock_take_role_(lock, &section->job)) { /* R7, in bcs_lock.c */
    volt_count_wait_(VOLT_KIND_BCS_);
    VOLT_PROBE_ARMED(wait__begin, &f->waiter);
    return VOLT_PENDING;
  }
  volt_store_relaxed(&f->waiter.state, VOLT_WAITER_UNUSED_); /* no other thread reaches it */
  return VOLT_OK;
}

static bool bcs_future_cancel(volt_future *f) {
  volt_bcs_job_ *job = bcs_future_job(f);
  if (volt_waiter_result(&f->waiter) != VOLT_PENDING) return false;
  volt_bcs_lock_check_outside_((volt_bcs_lock *)f->object, "volt_future_cancel");
  /* R6. relaxed, no data: only CANCELLED itself counts */
  bool too_late = (volt_fetch_or_relaxed(&job->hold, CANCELLED) & BEGUN) != 0;
  if (!volt_bcs_lock_take_role_((volt_bcs_lock *)f->object, job)) { /* R7, in bcs_lock.c */
    volt_waiter_await_(&f->waiter);
  }
  if (too_late) return false;
  volt_store_relaxed(&f->waiter.state, VOLT_WAITER_UNUSED_); /* the owner's own again */
  volt_count_cancel_(VOLT_KIND_BCS_);
  VOLT_PROBE_ARMED(cancel, &f->waiter);
  return true;
}

static bool bcs_future_set_waker(volt_future *f, volt_waker waker) {
  volt_bcs_job_ *job = bcs_future_job(f);
  if (volt_waiter_result(&f->waiter) != VOLT_PENDING) return false;
  /* relaxed, by bcs_lock:H1: it publishes what is written here; if CLAIMED is set, nothing is */
  if (volt_fetch_or_relaxed(&job->hold, REPLACING) & CLAIMED) {
    volt_waiter_await_(&f->waiter); /* no user code runs before the grant */
    return false;
  }
  volt_claimed_ old = volt_waiter_claim_(&f->waiter);
  f->waiter.wake = waker.wake;
  f->waiter.ctx = waker.ctx;
  /* bcs_lock:H1 <-> bcs_lock:H2: shows the combiner the waker, or sees what the job did */
  bool is_ours = volt_fetch_and_acq_rel(&job->hold, ~(uint32_t)REPLACING) & CLAIMED;
  if (!is_ours && !volt_bcs_lock_take_role_((volt_bcs_lock *)f->object, job)) return true; /* R7 */
  volt_count_claims_(VOLT_KIND_BCS_, 1, false);
  volt_waiters_grant_(&old, 1, VOLT_WAITER_GRANTED_); /* R5: the grant is left to this thread */
  return false;
}

/* A section that has run holds nothing. */
static void bcs_future_give_back(volt_future *f) {
  (void)f;
}

/* The thread that combines may be any. What is queued with the lock is its own. */
static void bcs_future_describe(volt_future *f, volt_description_ *description) {
  (void)f;
  description->ends = VOLT_ENDS_UNKNOWN_;
}

static const volt_future_ops_ bcs_future_ops = {.operation = "volt_bcs_lock_run",
                                                .kind = VOLT_KIND_BCS_,
                                                .start = bcs_future_start,
                                                .cancel = bcs_future_cancel,
                                                .set_waker = bcs_future_set_waker,
                                                .give_back = bcs_future_give_back,
                                                .poll_ctx = volt_future_poll_leaf_any_,
                                                .describe = bcs_future_describe};

volt_future *volt_bcs_lock_run_future(volt_future *f, volt_bcs_lock *lock,
                                      volt_bcs_section *section, volt_bcs_fn *fn, void *arg) {
  volt_bcs_section_check_free_(section, "volt_bcs_lock_run_future");
  volt_future_make_(f, &bcs_future_ops, lock, 1);
  volt_bcs_job_init_(&section->job, VOLT_BCS_FUTURE_, fn, arg);
  f->waiter.data = &section->job;
  return f;
}

void volt_bcs_job_await_(volt_bcs_job_ *job, volt_future *f, volt_bcs_lock *lock) {
  static const volt_waker no_waker = {NULL, NULL};
  volt_future_make_(f, &bcs_future_ops, lock, 1);
  volt_future_set_state_(f, VOLT_FUTURE_WAITING_);
  volt_waiter_arm_(&f->waiter, lock, no_waker);
  f->waiter.data = job;
  job->waiter = &f->waiter;
  volt_count_wait_(VOLT_KIND_BCS_);
}

/* ---- the end of a lock, and inspection ---- */

bool volt_bcs_lock_is_busy(const volt_bcs_lock *lock) {
  /* relaxed: a snapshot */
  return volt_load_relaxed(&lock->queue.tail) != 0 || volt_load_relaxed(&lock->stack.top) != 0;
}

void volt_bcs_lock_destroy(volt_bcs_lock *lock) {
  volt_unname_at_end_(lock);
  VOLT_CHECK(!volt_bcs_lock_is_busy(lock), "volt_bcs_lock_destroy",
             "%p: destroyed while a section is queued or running", (void *)lock);
}
