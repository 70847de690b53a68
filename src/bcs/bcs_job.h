/* bcs_job.h: what a node of a volt_bcs_lock carries: what to run, and what to wake then. */
#ifndef VOLT_BCS_BCS_JOB_H
#define VOLT_BCS_BCS_JOB_H

#include <volt/bcs_lock.h>

#include "../core/os/check.h"

/* What waits for a job. */
enum {
  VOLT_BCS_RUN_ = 1,    /* a thread, in run() */
  VOLT_BCS_SUBMIT_ = 2, /* a waker, or nothing */
  VOLT_BCS_FUTURE_ = 3  /* a future; of a fiber in run(), too */
};

/* flag, of a run's job: its thread was unparked as the combiner, not because the job has run. */
static inline bool volt_bcs_job_has_role_(const volt_bcs_job_ *job) {
  return job->flag;
}
static inline void volt_bcs_job_give_role_(volt_bcs_job_ *job) {
  job->flag = true;
}
static inline void volt_bcs_job_forget_role_(volt_bcs_job_ *job) {
  job->flag = false;
}

/* flag, of a future's job: it was cancelled before it could run. */
static inline bool volt_bcs_job_is_cancelled_(const volt_bcs_job_ *job) {
  return job->flag;
}

/* Fill in a job before its node is submitted. */
void volt_bcs_job_init_(volt_bcs_job_ *job, uint32_t kind, volt_bcs_fn *fn, void *arg);

/* Debug builds abort if a section is submitted while it is queued. From its submission until its
 * job has run, the upper bits of hold are a mark. The mark depends on the section's address, so
 * that memory that was never used, or a copy, is not taken for a queued section. */
#if VOLT_DEBUG
void volt_bcs_section_check_free_(volt_bcs_section *section, const char *where);
void volt_bcs_section_mark_(volt_bcs_section *section);
#else
static inline void volt_bcs_section_check_free_(volt_bcs_section *section, const char *where) {
  (void)section;
  (void)where;
}
static inline void volt_bcs_section_mark_(volt_bcs_section *section) {
  (void)section;
}
#endif

/* Make f a future of job, which is about to be queued, in WAITING. The caller need not poll it, and
 * may free it when the job has run and no thread completes it. */
void volt_bcs_job_await_(volt_bcs_job_ *job, volt_future *f, volt_bcs_lock *lock);

/* The combiner: run the job, unless its owner has cancelled it. */
void volt_bcs_job_run_(volt_bcs_job_ *job);

/* The combiner, with the node out of the queue: complete the job of a waker or of a future. The
 * last access to *job. Returns the waker to call when no section runs, or a zero one. */
volt_waker volt_bcs_job_complete_(volt_bcs_job_ *job);

/* Queue *node, which carries job, and combine if the queue was empty. Returns true if this thread
 * has run the job: then no thread completes it. */
bool volt_bcs_lock_submit_own_(volt_bcs_lock *lock, volt_bcs_node *node, volt_bcs_job_ *job);

/* About to wait for own, which is queued: if this thread offers the role, because it is calling
 * wakers, take it and combine. Returns true if this has run own: then no thread completes it. */
bool volt_bcs_lock_take_role_(volt_bcs_lock *lock, const volt_bcs_job_ *own);

/* Abort, in debug builds, if this thread is in a section of the lock. */
void volt_bcs_lock_check_outside_(const volt_bcs_lock *lock, const char *where);

#endif
