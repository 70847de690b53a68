/* rt_internal.h: the parts of a runtime, and which threads may use which.
 *
 * Labels: worker */
#ifndef VOLT_RT_SCHED_RT_INTERNAL_H
#define VOLT_RT_SCHED_RT_INTERNAL_H

#include <volt/park.h>
#include <volt/runtime.h>

#include "../../core/os/futex.h"
#include "../../core/park/blocker.h"
#include "../fiber/fiber_switch.h"
#include "../fiber/stack.h"
#include "../fiber/stack_tools.h"
#include "../host/doorbell.h"
#include "../host/driver.h"
#include "../host/pins.h"
#include "home.h"
#include "idle.h"
#include "inject.h"
#include "ring.h"
#include "task_life.h"
#include "task_list.h"
#include "thread.h"

/* A call of volt_rt_shutdown() that waits, on its thread's stack; or the loop of a bridge, which
 * looks (registry.c R4). */
typedef struct volt_closer {
  volt_parker parker;
  VOLT_PLAIN(struct volt_closer *) next;
  VOLT_PLAIN(volt_wake_fn) then; /* called after the unpark; NULL: none */
  VOLT_PLAIN(void *) then_ctx;   /* lives as long as the program */
} volt_closer;

/* The tasks that were spawned by one worker, or by other threads, and have not ended. */
struct volt_registry {
  volt_short_lock lock;
  VOLT_PLAIN(uint32_t) is_closed; /* under the lock, like all that follows */
  VOLT_PLAIN(uint64_t) count;
  VOLT_PLAIN(uint64_t) spawned;
  VOLT_PLAIN(struct volt_closer *) closers; /* calls that wait until count is 0 */
  volt_task_link running;
  volt_task_link cancelled; /* by shutdown */
  char line[VOLT_CACHE_LINE];
};

enum { VOLT_RT_BATCH_ = 128 }; /* tasks that are moved at once */

/* By hand there are two sleepers, each with its bit: the loop around volt_rt_run(), whose waker is
 * called, and a thread in volt_rt_run_until(), which is unparked as a worker is. */
enum { VOLT_BY_HAND_LOOP_ = 0, VOLT_BY_HAND_THREAD_ = 1 };

/* Memory for tasks and coroutines, in blocks of a multiple of 16 bytes. */
#define VOLT_POOL_CLASSES 81 /* block sizes in units of 16 bytes: 1..80; 0: none */

/* What stands before the link stays as it was: a second use of a detached handle is found by it
 * (task.c I5). */
typedef struct volt_free_block {
  char left_alone[offsetof(volt_task, next)];
  struct volt_free_block *next;
} volt_free_block;

typedef struct volt_free_list {
  volt_free_block *first;
  uint32_t count;
} volt_free_list;

typedef struct volt_chunk {
  struct volt_chunk *next;
  size_t bytes;
} volt_chunk;

typedef struct volt_pool {
  volt_short_lock lock;
  volt_free_list free[VOLT_POOL_CLASSES]; /* under the lock, like all that follows */
  volt_chunk *chunks;
  char *fresh; /* the rest of the newest chunk */
  size_t fresh_bytes;
  VOLT_ATOMIC(uint64_t) in_use; /* blocks too big for the classes */
  uint64_t carved;              /* blocks so far */
} volt_pool;

/* Relaxed counters, which their worker writes and any thread reads. */
typedef struct volt_worker_counts {
  VOLT_ATOMIC(uint64_t) polls, lifo_hits, steals, stolen, injected, overflows, parks, look_delay_ns;
} volt_worker_counts;

/* What a worker has for the fibers that it polls: fiber.c. */
typedef struct volt_worker_fibers_ {
  volt_blocker_ **blocker; /* where this thread has what blocks. NULL: not asked yet */
  int *error;              /* where it has errno */
  void **exceptions;       /* where it has the state of C++ exceptions: two words; NULL: no C++ */
  uint64_t control;        /* volt_switch_control_() before the fiber that runs; debug builds */
  int error_before;        /* both, when they were asked for: the caller's of a run by hand */
  void *exceptions_before[2];
  volt_switch_outside_ outside;       /* where its loop goes on when the fiber that runs waits */
  volt_stack_tools_ tools;            /* of its thread's stack */
  VOLT_ATOMIC(uint64_t) begun, ended; /* relaxed counters */
} volt_worker_fibers_;

typedef struct volt_worker {
  volt_ring ring;
  VOLT_ATOMIC(uint32_t) how; /* of volt_worker_how */

  /* the worker's own */
  volt_task *lifo; /* woken last */
  volt_ctx ctx;    /* of each poll; its waker is of the task that runs */
  volt_rt *rt;
  unsigned index;
  unsigned lifo_run;     /* polls from lifo in a row */
  bool is_searching;     /* counted in idle */
  unsigned until_check;  /* polls until the injection queue and the clock are looked at */
  unsigned check_period; /* between two looks */
  unsigned driver_queue; /* polls before its next look at the driver */
  uint64_t checked_ns;   /* of the last look, plus the time since then in which it did not poll */
  uint32_t stamp;        /* for volt_task.since: volt_stamp_of_() the last look */
  uint32_t left;         /* shown: how many polls are to come before counts.polls is written */
  int32_t tid;           /* shown: of its thread; 0: not known */
  uint64_t driver_checked_ns; /* when its last look at the driver, or its sleep there, had ended */
  uint64_t random;
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
  volt_home home;
  VOLT_PLAIN(volt_doorbell *) doorbell; /* NULL: no driver */
  volt_parker parker;
#if VOLT_SIGHT
  volt_party_ holds;          /* what the task that it polls holds: task_holds.h */
  volt_party_ *holds_outside; /* volt_party_here_, while it does not poll */
#endif
  char line[VOLT_CACHE_LINE];
} volt_worker;

typedef struct volt_blocking_pool {
  volt_short_lock lock;
  VOLT_PLAIN(volt_blocking *) head; /* under the lock, like all that follows */
  VOLT_PLAIN(volt_blocking *) tail;
  VOLT_PLAIN(uint64_t) queued;
  VOLT_PLAIN(uint64_t) running; /* calls that were taken, until their owners were woken */
  VOLT_PLAIN(uint32_t) threads;
  VOLT_PLAIN(uint32_t) idle_count;
  VOLT_PLAIN(struct volt_blocking_thread *) idle; /* the thread that has become idle last */
  VOLT_PLAIN(uint32_t) is_closed;
  VOLT_PLAIN(volt_parker *) closer;
  VOLT_PLAIN(uint32_t) any_left;   /* whether there is a thread to join, */
  VOLT_PLAIN(volt_thread_) left;   /* which is the one that has ended last */
  VOLT_ATOMIC(uint32_t) last_name; /* threads so far, for their names */
} volt_blocking_pool;

struct volt_rt {
  volt_rt_config config;
  unsigned workers;
  volt_idle idle;
  VOLT_ATOMIC(uint32_t) keeper;  /* 1 + the worker that sleeps until the next timer; 0: none */
  VOLT_ATOMIC(uint32_t) is_over; /* workers end */
  VOLT_ATOMIC(uint64_t) driven;  /* a hint: a bit for each worker that sleeps in the driver */
  VOLT_ATOMIC(uint32_t) homed;   /* every worker knows that tasks have homes: home.c */
  volt_driver_ *driver;          /* NULL: none */
  volt_inject inject;
  volt_timers timers;
  volt_blocking_pool blocking;
  volt_pool pool;
  volt_stack_pool_ stacks;
  VOLT_ATOMIC(uint64_t) cancelled;  /* by shutdown */
  VOLT_ATOMIC(uint32_t) closing;    /* calls of volt_rt_shutdown() that have not returned */
  VOLT_ATOMIC(uint32_t) is_ending;  /* volt_rt_destroy() was called, or _background() */
  VOLT_ATOMIC(uint32_t) is_run;     /* by hand: whether a thread runs its tasks: by_hand.c */
  VOLT_ATOMIC(uint32_t) has_warned; /* that a worker has blocked */
  volt_signals_ signals;            /* blocked by the thread that has created it */
  char thread_prefix[VOLT_THREAD_NAME_];
  volt_short_lock inspected; /* virtual time: an inspector has claimed tasks: inspect.c R3 */
  volt_pins_ pins;           /* by inspectors */
  volt_closer watches[2];  /* by hand, of each registry: of the loop, once the runtime is to end */
  volt_registry *registry; /* one for each worker, and one for other threads */
  VOLT_PLAIN(volt_rt *) next_rt; /* of this process: runtimes.c */
  VOLT_PLAIN(volt_rt *) prev_rt;
  volt_worker worker[1];
};

/* ---- runtime.c ---- */

/* What a thread of the runtime has from begin to end: it sets its name and calls the user's
 * hook. */
typedef struct volt_rt_thread {
  volt_rt *rt;
  char name[VOLT_THREAD_NAME_];
} volt_rt_thread;

void volt_rt_thread_begins_(volt_rt_thread *thread, volt_rt *rt, char kind, unsigned index);
void volt_rt_thread_ends_(volt_rt_thread *thread);

/* ---- worker.c ---- */

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

/* Move tasks from the injection queue to the ring, and those that other threads have queued for
 * this worker alone to its list, and take the oldest; or NULL. */
volt_task *volt_worker_take_outside_(volt_worker *w);

/* Poll some thousand times, or until that task has ended; until: NULL: none. Returns whether there
 * is nothing left to poll. */
bool volt_worker_run_ready_(volt_worker *w, volt_task *until);

static inline void volt_worker_count_(VOLT_ATOMIC(uint64_t) *counter, uint64_t n) {
  uint64_t before = volt_load_relaxed(counter); /* this worker alone writes it */
  volt_store_relaxed(counter, before + n);      /* for statistics */
}

/* ---- home.c ---- */

/* Queue a task that has a home there, behind the others. This thread has set ACTIVE, or has polled
 * the task. */
void volt_rt_queue_homed_(volt_homed_ *h);

/* ---- driver.c ---- */

/* Take doorbells, and make the driver that the config asks for, if any. Returns what the driver
 * says, or VOLT_ENOMEM: then nothing is left behind. */
int volt_rt_open_driver_(volt_rt *rt);

/* After every worker has ended: whether the program has an open descriptor, so that the driver must
 * not be closed; close it. */
bool volt_rt_driver_is_used_(volt_rt *rt);
void volt_rt_close_driver_(volt_rt *rt);

/* On the thread of that worker, before and after its tasks. */
void volt_worker_begin_driver_(volt_worker *w);
void volt_worker_end_driver_(volt_worker *w);

/* Look at the driver, which there is. now_ns: the time. Returns whether there may be tasks to poll
 * now. */
bool volt_worker_check_driver_(volt_worker *w, uint64_t now_ns);

/* The same, for a worker that has no task; unless it is going to do so in sleep(). */
bool volt_worker_check_before_search_(volt_worker *w, uint64_t now_ns);

/* Whether another thread has left something that this worker alone has to do: after idle:D4. */
static inline bool volt_worker_has_mail_(volt_worker *w) {
  if (volt_home_was_sent_any_(&w->home)) return true;
  volt_driver_ *driver = w->rt->driver;
  return driver && driver->ops->has_mail && driver->ops->has_mail(driver, w->index);
}

/* ---- fiber.c ---- */

/* This thread has polled tasks of w, and does so no more: errno and the state of C++ exceptions are
 * what they were before. */
void volt_worker_end_fibers_(volt_worker *w);

/* ---- parking.c ---- */

/* The bit of w was cleared by this thread, so w waits for this. *w may be gone when it returns. */
void volt_worker_unpark_(volt_worker *w);

/* A task was queued that this worker alone may take: wake it if it sleeps. */
void volt_rt_task_sent_(volt_rt *rt, unsigned worker);

/* A waker: wake the thread in volt_rt_run_until() for what is in no queue. */
void volt_rt_rouse_(void *rt);

/* Work was queued where any worker can take it: wake one, if that is needed. */
void volt_rt_work_queued_(volt_rt *rt);

/* A waker, of the driver of the timers: the earliest deadline has become earlier. */
void volt_rt_timer_started_(void *rt);

/* Whether there is work that any worker may take: after idle:D4 or idle:D5. */
bool volt_rt_is_any_queued_(volt_rt *rt);

static inline bool volt_rt_is_over_(volt_rt *rt) {
  /* worker:O2 <-> runtime:O1: after idle:D4: sees the end, or its bit is seen */
  return volt_load_seq_cst(&rt->is_over) != 0;
}

/* Search the queues of all workers. Returns a task, or NULL. */
volt_task *volt_worker_search_(volt_worker *w);

/* A worker that searches has found work; or it ends, and may search or not. */
void volt_worker_found_(volt_worker *w);
void volt_worker_end_search_(volt_worker *w);

/* Sleep until there may be work, or until the end or the earliest timer. */
void volt_worker_park_(volt_worker *w);

/* Whether it would sleep in the driver, and not on its parker. */
bool volt_worker_must_drive_(volt_worker *w);

/* The bit of sleeper is set. Sleep until another thread has cleared it, and has counted this worker
 * as searching. Returns false: the deadline has passed, or something has happened in the driver,
 * and this thread has cleared the bit. */
bool volt_worker_sleep_(volt_worker *w, unsigned sleeper, uint64_t deadline_ns);

/* ---- by_hand.c ---- */

/* volt_rt_run(). */
uint64_t volt_worker_run_by_hand_(volt_worker *w);

/* ---- registry.c ---- */

void volt_registry_init_(volt_registry *registry);
int volt_registry_add_(volt_rt *rt, volt_task *t);

/* Add no more tasks, and ask every task to end. Returns how many were asked. */
uint64_t volt_registry_close_(volt_registry *registry);

/* Wait until none is left. Returns VOLT_OK or VOLT_ETIMEDOUT. */
int volt_registry_wait_(volt_registry *registry, uint64_t deadline_ns);

uint64_t volt_registry_count_(volt_registry *registry, uint64_t *spawned);

/* By hand, after volt_rt_shutdown(), once: call then, of a ctx that lives as long as the program,
 * when no task is left. Threads: the loop's. */
void volt_rt_watch_end_(volt_rt *rt, volt_waker then);

/* Whether no task is left, and no thread refers to rt because of one: it may be destroyed. Threads:
 * the loop's, after volt_rt_watch_end_(). */
bool volt_rt_has_ended_(volt_rt *rt);

/* ---- pool.c ---- */

void volt_rt_pool_init_(volt_pool *pool);

/* How many blocks are in use, when every thread has left. */
uint64_t volt_rt_pool_used_(volt_rt *rt);

/* Aborts if a block is in use. */
void volt_rt_pool_destroy_(volt_rt *rt);

/* ---- blocking.c ---- */

void volt_blocking_pool_init_(volt_blocking_pool *pool);

/* Whether a call is queued or runs. When the last one is done, a thread that runs a runtime of
 * virtual time by hand is roused. */
bool volt_blocking_pool_is_busy_(volt_blocking_pool *pool);

/* Wait until every call has returned and every thread has ended. */
void volt_blocking_pool_close_(volt_blocking_pool *pool);

/* Whether this thread is one of the pool of rt. */
bool volt_blocking_is_here_(volt_rt *rt);

#endif
