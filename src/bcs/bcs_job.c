/* bcs_job.c: a job of a volt_bcs_lock, and the future that waits for one.
 *
 * A future's job has two parties that do not wait for each other: the server that runs it and
 * tells, and the owner that may replace the waker or cancel meanwhile. hold says who may touch
 *   what: BEGUN      server   comes to run it. CANCELLED there before: it does not run
 *   CANCELLED  owner    shall not run. BEGUN there before: too late
 *   REPLACING  owner    is writing the waker; set, then cleared
 *   CLAIMED    server   the queue is past it, the waker is about to be read. REPLACING there
 *                       before: the rest is left to the owner, who finds CLAIMED when it clears
 *                       REPLACING
 *
 * Races
 *   R5  The waker is replaced while the server reads it. Closed: REPLACING and CLAIMED, whichever
 *       is first in hold. The grant comes with the claim, the waker is called later from a copy.
 *   R6  Cancel meets the server. Closed: BEGUN and CANCELLED, likewise. The node is in the queue in
 *       any case, and its owner's only when the queue is past it: cancel waits for the grant.
 *
 * Labels: bcs_lock */
#include "bcs_job.h"

#include "../core/check.h"
#include "../core/future_ops.h"
#include "../core/grant.h"

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
  /* relaxed: nobody else writes it while it may be submitted */
  bool is_queued =
      section->node.data == &section->job &&
      (volt_load_relaxed(&section->job.hold) & SECTION_MARK) == bcs_section_mark(section);
  VOLT_CHECK(!is_queued, where, "section %p is in the queue already", (void *)section);
}

void volt_bcs_section_mark_(volt_bcs_section *section) {
  volt_store_relaxed(&section->job.hold, bcs_section_mark(section)); /* not shared yet */
}
#endif

/* The job has run, and its node is still in the queue. */
static void bcs_job_unmark(volt_bcs_job_ *job) {
#if VOLT_DEBUG
  /* relaxed: published like what the job did */
  if (job->kind != VOLT_BCS_RUN_) volt_fetch_and_relaxed(&job->hold, ~SECTION_MARK);
#else
  (void)job;
#endif
}

static void bcs_job_run(volt_bcs_job_ *job) {
  if (job->kind == VOLT_BCS_FUTURE_) {
    /* R6. relaxed: it carries no data; the queue has published the job */
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
  volt_waiters_grant_(&claimed, 1, VOLT_WAITER_GRANTED_);
  return waker;
}

volt_waker volt_bcs_job_complete_(volt_bcs_job_ *job) {
  if (job->kind == VOLT_BCS_FUTURE_) return bcs_future_complete(job);
  volt_waker waker = {job->wake, job->ctx};
  return waker;
}

/* ---- the future ---- */

static volt_bcs_section *bcs_future_section(volt_future *f) {
  return (volt_bcs_section *)(void *)f->waiter.data;
}

static int bcs_future_start(volt_future *f, volt_waker waker) {
  volt_bcs_section *section = bcs_future_section(f);
  volt_bcs_section_check_free_(section, "volt_future_poll");
  volt_bcs_section_mark_(section);
  volt_waiter_arm_(&f->waiter, f->object, waker);
  section->job.waiter = &f->waiter;
  volt_bcs_lock *lock = (volt_bcs_lock *)f->object;
  if (!volt_bcs_lock_submit_own_(lock, &section->node, &section->job) &&
      !volt_bcs_lock_take_role_(lock, &section->job)) { /* R7, in bcs_lock.c */
    return VOLT_PENDING;
  }
  volt_store_relaxed(&f->waiter.state, VOLT_WAITER_UNUSED_); /* nobody else knows of it any more */
  return VOLT_OK;
}

static bool bcs_future_cancel(volt_future *f) {
  volt_bcs_job_ *job = &bcs_future_section(f)->job;
  if (volt_waiter_result(&f->waiter) != VOLT_PENDING) return false;
  volt_bcs_lock_check_outside_((volt_bcs_lock *)f->object, "volt_future_cancel");
  /* R6. relaxed: it carries no data */
  bool too_late = (volt_fetch_or_relaxed(&job->hold, CANCELLED) & BEGUN) != 0;
  if (!volt_bcs_lock_take_role_((volt_bcs_lock *)f->object, job)) { /* R7, in bcs_lock.c */
    volt_waiter_await_(&f->waiter);
  }
  if (!too_late) volt_store_relaxed(&f->waiter.state, VOLT_WAITER_UNUSED_); /* the owner's own */
  return !too_late;
}

static bool bcs_future_set_waker(volt_future *f, volt_waker waker) {
  volt_bcs_job_ *job = &bcs_future_section(f)->job;
  if (volt_waiter_result(&f->waiter) != VOLT_PENDING) return false;
  /* relaxed: if the server has claimed it nothing is written; if not, H1 publishes what is */
  if (volt_fetch_or_relaxed(&job->hold, REPLACING) & CLAIMED) {
    volt_waiter_await_(&f->waiter); /* no foreign code runs before the grant */
    return false;
  }
  volt_claimed_ old = volt_waiter_claim_(&f->waiter);
  f->waiter.wake = waker.wake;
  f->waiter.ctx = waker.ctx;
  /* bcs_lock:H1 <-> bcs_lock:H2: shows the combiner the waker, or sees what the job did */
  bool is_ours = volt_fetch_and_acq_rel(&job->hold, ~(uint32_t)REPLACING) & CLAIMED;
  if (!is_ours && !volt_bcs_lock_take_role_((volt_bcs_lock *)f->object, job)) return true; /* R7 */
  volt_waiters_grant_(&old, 1, VOLT_WAITER_GRANTED_); /* R5: the rest is ours */
  return false;
}

/* The section has run: nothing is held. */
static void bcs_future_give_back(volt_future *f) {
  (void)f;
}

static const volt_future_ops_ bcs_future_ops = {.start = bcs_future_start,
                                                .cancel = bcs_future_cancel,
                                                .set_waker = bcs_future_set_waker,
                                                .give_back = bcs_future_give_back};

volt_future *volt_bcs_lock_run_future(volt_future *f, volt_bcs_lock *lock,
                                      volt_bcs_section *section, volt_bcs_fn *fn, void *arg) {
  volt_bcs_section_check_free_(section, "volt_bcs_lock_run_future");
  volt_future_make_(f, &bcs_future_ops, lock, 1);
  volt_bcs_job_init_(&section->job, VOLT_BCS_FUTURE_, fn, arg);
  f->waiter.data = section;
  return f;
}
