/* bcs_job.h: what a node of a volt_bcs_lock carries: what to run, and who is to be told. */
#ifndef VOLT_BCS_BCS_JOB_H
#define VOLT_BCS_BCS_JOB_H

#include <volt/bcs_lock.h>

#include "../core/check.h"

/* Who waits for a job. */
enum {
  VOLT_BCS_RUN_ = 1,    /* a thread, in run() */
  VOLT_BCS_SUBMIT_ = 2, /* a waker, or nobody */
  VOLT_BCS_FUTURE_ = 3  /* a future */
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

/* Debug builds abort if a section is submitted that is queued. That it is, the upper bits of hold
 * say, from the submission until its job has run: a mark that depends on its address, so that
 * memory that was never used, or a copy, does not look as if it were. */
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

/* The server: run it, unless its owner has cancelled it. */
void volt_bcs_job_run_(volt_bcs_job_ *job);

/* The server, with the node out of the queue: tell the owner, if that is a waker or a future. The
 * last access to *job. Returns the waker to be called when nothing is held, or a zero one. */
volt_waker volt_bcs_job_complete_(volt_bcs_job_ *job);

/* Put *node, which carries job, into the queue, and serve if nobody does. Returns true if this
 * thread has served it, and nobody is going to be told. */
bool volt_bcs_lock_submit_own_(volt_bcs_lock *lock, volt_bcs_node *node, volt_bcs_job_ *job);

/* About to wait for own, which is in the queue: if this thread has put the role down, to call the
 * waker that we are in, serve. Returns true if it has served own, and nobody is going to be
 * told. */
bool volt_bcs_lock_take_role_(volt_bcs_lock *lock, const volt_bcs_job_ *own);

/* Abort, in debug builds, if this thread is in a section of the lock. */
void volt_bcs_lock_check_outside_(const volt_bcs_lock *lock, const char *where);

#endif
