/* parking.h: a worker searches, sleeps and is woken.
 *
 * Labels: worker */
#ifndef VOLT_RT_SCHED_PARKING_H
#define VOLT_RT_SCHED_PARKING_H

#include "../host/driver.h"
#include "../host/runtime.h"
#include "home.h"
#include "worker.h"

/* Whether another thread has left something that this worker alone has to do: after idle:D4. */
static inline bool volt_worker_has_mail_(volt_worker *w) {
  if (volt_home_was_sent_any_(&w->home)) return true;
  volt_driver_ *driver = w->rt->driver;
  return driver && driver->ops->has_mail && driver->ops->has_mail(driver, w->index);
}

/* The bit of w was cleared by this thread, so w waits for this. *w may be gone when it returns. */
void volt_worker_unpark_(volt_worker *w);

/* A task was queued that this worker alone may take: wake it if it sleeps. */
void volt_rt_task_sent_(volt_rt *rt, unsigned worker);

/* A waker: wake the thread in volt_rt_run_until() for what is in no queue. */
void volt_rt_rouse_(void *rt);

/* Work was queued where any worker can take it: wake one, if that is needed. */
void volt_rt_work_queued_(volt_rt *rt);

/* The same, where a millisecond later would do: not needed either if a worker watches. */
void volt_worker_wake_for_little_(volt_rt *rt);

/* A waker, of the driver of the timers: the earliest deadline has become earlier. */
void volt_rt_timer_started_(void *rt);

/* Whether there is work that any worker may take: after idle:D4 or idle:D5. */
bool volt_rt_is_any_queued_(volt_rt *rt);

/* A hint: whether a worker is the keeper. */
static inline bool volt_worker_any_keeps_(volt_rt *rt) {
  return volt_load_relaxed(&rt->keeper) != 0; /* a hint */
}

static inline bool volt_rt_is_over_(volt_rt *rt) {
  /* worker:O2 <-> runtime:O1: after idle:D4: sees the end, or its bit is seen */
  return volt_load_seq_cst(&rt->is_over) != 0;
}

#if defined(VOLT_MODEL)
bool volt_model_polls_go_on(
    void); /* whether a watcher that comes back sees that others have polled */
#endif

/* Search the queues of all workers. Returns a task, or NULL. */
volt_task *volt_worker_search_(volt_worker *w);

/* A worker that searches has found work; or it ends, and may search or not. */
void volt_worker_found_(volt_worker *w);
void volt_worker_end_search_(volt_worker *w);

/* Sleep until there may be work, or until the end or the earliest timer. */
void volt_worker_park_(volt_worker *w);

/* A hint: whether this worker, which has no task, is the only one awake, and will sleep in the driver. */
bool volt_worker_goes_to_drive_(volt_worker *w);

/* The bit of sleeper is set. Sleep until another thread has cleared it, and has counted this worker
 * as searching. Returns false: the deadline has passed, or something has happened in the driver,
 * and this thread has cleared the bit. */
bool volt_worker_sleep_(volt_worker *w, unsigned sleeper, uint64_t deadline_ns);

#endif
