/* worker.h: a worker: the thread that polls tasks, and what is its own. */
#ifndef VOLT_RT_SCHED_WORKER_H
#define VOLT_RT_SCHED_WORKER_H

#include <volt/park.h>
#include <volt/runtime.h>

#include "../../core/park/blocker.h"
#include "../fiber/fiber.h"
#include "../fiber/stack.h"
#include "../host/doorbell.h"
#include "../memory/pool.h"
#include "home.h"
#include "ring.h"
#include "thread.h"

enum { VOLT_RT_BATCH_ = 128 }; /* tasks that are moved at once */

/* Relaxed counters, which their worker writes and any thread reads. */
typedef struct volt_worker_counts {
  VOLT_ATOMIC(uint64_t) polls, lifo_hits, steals, stolen, injected, overflows, look_delay_ns;
  VOLT_ATOMIC(uint64_t) parks, woken, wakes, empty_searches, checks, events, moved;
} volt_worker_counts;

/* A worker has slept as the watcher, and was not woken (parking.c). */
typedef enum volt_worker_back {
  VOLT_NOT_BACK_,      /* no; or it has found a task since */
  VOLT_BACK_TO_POLLS_, /* meanwhile others have polled */
  VOLT_BACK_TO_NONE_   /* none has */
} volt_worker_back;

typedef struct volt_worker {
  volt_ring ring;
  VOLT_ATOMIC(uint32_t) how; /* of volt_worker_how */
  VOLT_ATOMIC(uint32_t)
  patience; /* a hint: with how many tasks in the ring it wakes no other, while
                                     one watches */

  /* the worker's own */
  volt_task *lifo; /* woken last */
  volt_ctx ctx;    /* of each poll; its waker is of the task that runs */
  volt_rt *rt;
  unsigned index;
  uint8_t mark; /* in frame.polled_by of its tasks: index + 1; of simulated ones 1 to 127 again */
  bool is_only; /* of its runtime, and not by hand: no other thread may be woken for tasks */
  unsigned lifo_run; /* polls from lifo in a row */
  bool is_searching; /* counted in idle */
  volt_worker_back back;
  bool has_rested;        /* it has slept for longer than a watcher does, and then polled */
  bool has_skipped_check; /* at the driver, because it was going to sleep there */
  unsigned until_check;   /* polls until the injection queue and the clock are looked at */
  unsigned check_period;  /* between two looks */
  unsigned driver_queue;  /* polls before its next look at the driver */
  uint64_t checked_ns;    /* of the last look, plus the time since then in which it did not poll */
  uint32_t stamp;         /* for volt_task.since: volt_stamp_of_() the last look */
  uint32_t left;          /* shown: how many polls are to come before counts.polls is written */
  int32_t tid;            /* shown: of its thread; 0: not known */
  uint64_t driver_checked_ns; /* when its last look at the driver, or its sleep there, had ended */
  VOLT_ATOMIC(uint64_t) driver_seen_ns; /* the same, for other workers: a hint; 0: none so far */
  bool has_driven;                      /* slept in the driver, which is not noted yet */
  VOLT_PLAIN(uint64_t) random;
  volt_free_list free[VOLT_POOL_CLASSES];
  volt_stack_cache_ stacks;
  void *signal_stack;                  /* stack_report.c; NULL: none */
  bool has_signal_stack;               /* the thread uses that */
  struct volt_worker *reported_before; /* by the thread, before this one */
  volt_blocker_ blocker;
  volt_worker_fibers_ fibers;
  volt_thread_ thread;
  unsigned hand_polls; /* how many before the loop around volt_rt_run() goes on */
  volt_worker_counts counts;
  VOLT_ATOMIC(uint64_t) polls_noted; /* counts.polls when the watcher went to sleep: a hint */
  volt_home home;
  VOLT_PLAIN(volt_doorbell *) doorbell; /* NULL: no driver */
  volt_parker parker;
#if VOLT_SIGHT
  volt_party_ holds;          /* what the task that it polls holds: task_holds.h */
  volt_party_ *holds_outside; /* volt_party_here_, while it does not poll */
#endif
  char line[VOLT_CACHE_LINE];
} volt_worker;

/* Whether this thread runs the tasks of rt. Then rt does not end before this thread stops doing
 * so. */
static inline bool volt_rt_is_here_(volt_rt *rt) {
  return volt_thread_here_()->rt == rt;
}

/* Queue a task that has become ACTIVE, behind the tasks that are ready: on this worker if this
 * thread is one of the task's runtime. */
void volt_rt_schedule_(volt_task *t);

/* The same, before the tasks that are ready on this worker. here: this thread's, of the task's
 * runtime. */
void volt_rt_schedule_next_(volt_here_ *here, volt_task *t);

void volt_worker_init_(volt_worker *w, volt_rt *rt, unsigned index);
void volt_worker_main_(void *worker);

/* The worker of rt that this thread is, or NULL. */
static inline volt_worker *volt_worker_here_(volt_rt *rt) {
  volt_here_ *here = volt_thread_here_();
  return here->rt == rt ? here->worker : NULL;
}

/* Time in units of 2^20 ns, 1.05 ms; 2^32 of them are 52 days. */
enum { VOLT_STAMP_BITS_ = 20 };

static inline uint32_t volt_stamp_of_(uint64_t now_ns) {
  return (uint32_t)(now_ns >> VOLT_STAMP_BITS_);
}

/* What polls note from here on: volt_task.since. By the clock of the runtime. now_ns: as
 * volt_now_ns(). */
void volt_worker_note_time_(volt_worker *w, uint64_t now_ns);

/* This thread runs the tasks of w's runtime from here on; or none any more. */
void volt_worker_begin_here_(volt_worker *w);
void volt_worker_end_here_(void);

/* The ring is full: move its older half to the injection queue, and t behind that. */
void volt_worker_overflow_(volt_worker *w, volt_task *t);

/* Queue a task behind all others of this worker. */
static inline void volt_worker_push_back_(volt_worker *w, volt_task *t) {
  if (VOLT_UNLIKELY(!volt_ring_push_(&w->ring, t))) volt_worker_overflow_(w, t);
}

/* Whether a task is in the slot, the ring or the list of w, which is this worker. */
static inline bool volt_worker_has_tasks_(volt_worker *w) {
  return w->lifo || volt_ring_count_(&w->ring) > 0 || w->home.first;
}

/* With how many tasks in its ring a worker whose polls take so long on average wakes no other, while one
 * watches: it comes to the last of them in about the time that the other would take to wake up. */
static inline uint32_t volt_worker_patience_(uint64_t each_ns) {
  const uint64_t wake_ns = 50000, most = 64;
  uint64_t tasks = each_ns > 0 ? wake_ns / each_ns : most;
  return (uint32_t)(tasks < most ? tasks : most);
}

/* A hint: whether so much is in the ring that another worker is worth its wake. */
static inline bool volt_worker_has_backlog_(volt_worker *w) {
  return volt_ring_count_(&w->ring) > volt_load_relaxed(&w->patience); /* a hint */
}

/* Move tasks from the injection queue to the ring, and those that other threads have queued for
 * this worker alone to its list, and take the oldest; or NULL. */
volt_task *volt_worker_take_outside_(volt_worker *w);

/* Poll some thousand times, or until that task has ended; until: NULL: none. Returns whether there
 * is nothing left to poll. */
bool volt_worker_run_ready_(volt_worker *w, volt_task *until);

/* In a model no thread waits for a count, and each would be one more step to interleave. */
static inline void volt_worker_count_(VOLT_ATOMIC(uint64_t) *counter, uint64_t n) {
#if defined(VOLT_MODEL)
  (void)counter, (void)n;
#else
  uint64_t before = volt_load_relaxed(counter);   /* this worker alone writes it */
  volt_store_relaxed(counter, before + n);        /* for statistics */
#endif
}

/* Its look at the driver, or its sleep there, has ended. In a model no time passes. */
static inline void volt_worker_note_check_(volt_worker *w, uint64_t now_ns) {
#if defined(VOLT_MODEL)
  (void)w, (void)now_ns;
#else
  volt_store_relaxed(&w->driver_seen_ns, now_ns); /* a hint */
#endif
}

/* The worker has looked at the driver, or has slept there, and has found so much. */
static inline void volt_worker_count_check_(volt_worker *w, unsigned events) {
  volt_worker_count_(&w->counts.checks, 1);
  volt_worker_count_(&w->counts.events, events);
}

#endif
