/* bcs_lock.c: a lock that runs closures.
 *
 * Algorithm: a node of a queue of bcs_queue.h carries a job: what to run, and what to wake when it
 * has run. The thread that has the combiner's role (the combiner) runs jobs in the order of the
 * queue. After a batch the combiner searches the next nodes for a thread that waits in run(),
 * stores in lock->next where to go on, and unparks that thread with the role. The new combiner goes
 * on from there, and runs its own job when it comes to it. So the order is kept, and no thread runs
 * jobs of others for longer than a batch and the way to the next thread that waits.
 *
 * A job is completed as soon as it has run and its node is out of the queue. Two things are
 * deferred until no section runs, because they are slow or foreign: system calls that wake sleeping
 * threads, and wakers, of which copies are kept. The combiner calls its deferred wakers at the end,
 * after each batch, and when its list is full. If it is not at the end, it calls them before it
 * continues, and offers the role meanwhile: if such a waker waits for another section on the same
 * lock, it takes the role and becomes the combiner in place of its caller (R7).
 *
 * Source: kprotty, "Batched Critical Sections". That has no passing on of the role.
 *
 * Invariants
 *   I1  At most one thread has the role. Only that thread runs jobs and writes lock->next.
 *   I2  A job runs once, or, if a future's job is cancelled in time, never. It is completed once,
 *       after that.
 *   I3  Jobs run in the order in which they came.
 *   I4  These are the last accesses:
 *       - of the combiner to the lock: the one that gives up the role or passes it on
 *       - of any other thread to the lock: the one that links its node
 *       - of the combiner to a node: the one that completes its job. A submitted job without a
 *         waker has no such access: the combiner's last one comes before the next job begins.
 *
 * Races
 *   R1  Interleaving: the old combiner still uses the lock while the new one runs. Prevented by:
 *       the unpark that passes the role on is the old combiner's last access to the lock.
 *   R2  Interleaving: the combiner ends by leaving its own node to the next combiner (HANDED_OFF,
 *       bcs_queue.c), returns, and its node is gone while the next one uses it. Prevented by: the
 *       thread waits until its job is completed, as every other thread does.
 *   R3  Interleaving: a thread has lost the role, with a job of its own queued, and calls a waker;
 *       the waker waits for another job, or for something else that needs the queue to go on; the
 *       role is passed to the first job, whose thread does not look. Prevented by: a job is given
 *       the role only while its thread waits for that very job, and runs nothing else. The thread
 *       says so in hold before it looks for the first time, and takes that back with the role.
 *   R4  Interleaving: a section without a waker is freed by what a later section does, while the
 *       combiner that has advanced past it still reads it. Prevented by: what is needed of a job is
 *       copied before the combiner advances.
 *   R7  Interleaving: a waker runs or cancels a section on the same lock, and waits for it; its own
 *       caller is the thread that would run it. Prevented by: before the caller calls wakers, it
 *       offers the role in a frame that its own thread finds. A thread that is about to wait looks
 *       for such a frame. It does not look at the lock, which may be gone (I4).
 *   R8  Interleaving: jobs that no thread waits for keep coming, and deferred wakers wait for ever.
 *       Prevented by: the combiner calls them after each batch, too.
 * R5 and R6, of a future's job, are in bcs_job.c.
 *
 * A thread can lose the role while a job of its own is not completed. It then calls its deferred
 * wakers. After that it waits until its job is completed or it is given the role; with a future's
 * job it returns instead. There are three ways:
 *   - HANDED_OFF at the end: its own job has run, was the last, and is left behind (R2).
 *   - HANDED_OFF in the middle: its own job is behind a link that a producer has not made yet. That
 *     happens if a waker queued the job and took the role from further ahead (R7). Jobs of the
 *     frames around that waker may be in the queue, too. They can be completed, but are not given
 *     the role before their frame waits.
 *   - A waker took the role that was offered, and lost it in one of these ways.
 * A thread passes the role on after its own job has run: else it is woken again for that job. */
#include <volt/bcs_lock.h>

#include "../core/os/probe.h"
#include "../core/park/call.h"
#include "../core/park/spin.h"
#include "bcs_frame.h"
#include "bcs_job.h"

/* How many jobs a combiner runs, its own among them, before it passes the role to a thread that
 * waits awake; and before it does so to one that sleeps, too. With more threads than cores, a short
 * batch keeps all of them in the queue, and so in step: 2 is fairer and slower, 16 the reverse. */
#ifndef VOLT_BCS_BATCH
#define VOLT_BCS_BATCH 4
#endif
#ifndef VOLT_BCS_BATCH_ASLEEP
#define VOLT_BCS_BATCH_ASLEEP 64
#endif
/* How many nodes it searches for such a thread. */
#ifndef VOLT_BCS_SEARCH
#define VOLT_BCS_SEARCH 8
#endif
/* How many wakers it defers. */
#ifndef VOLT_BCS_WAKERS
#define VOLT_BCS_WAKERS 32
#endif
/* How often run() spins before it sleeps, while sections of others are ahead of its own. First it
 * keeps its core, which suits short sections. Then it yields, because the combiner may need the
 * core: that keeps the threads in order if there are more of them than cores. */
#ifndef VOLT_BCS_SPIN
#define VOLT_BCS_SPIN 10
#endif
#ifndef VOLT_BCS_YIELDS
#define VOLT_BCS_YIELDS 20
#endif

static volt_bcs_job_ *bcs_job_of(volt_bcs_node *node) {
  return (volt_bcs_job_ *)(void *)node->data;
}

/* ---- the two queues ---- */

/* Queue *node. Returns true if the caller is the combiner now; *before is then a node that was left
 * to it, or NULL. Returns false otherwise; *before is then the node in front of *node, or NULL if
 * that is not known. */
static bool bcs_push(volt_bcs_lock *lock, volt_bcs_node *node, volt_bcs_node **before) {
  uintptr_t state;
  if (!lock->lockfree) return volt_bcs_waitfree_push_(&lock->queue.tail, node, before, &state);
  *before = NULL;
  if (!volt_bcs_lockfree_push_(&lock->stack, node, &state)) return false;
  volt_store_relaxed(&node->next, 0); /* role held: a batch ends with 0 here */
  return true;
}

/* Abort if *before, which *node is to be queued behind, is *node itself. */
static VOLT_NOINLINE void bcs_check_behind(const volt_bcs_lock *lock, const volt_bcs_node *node,
                                           const volt_bcs_node *before) {
  VOLT_CHECK(before != node, "volt_bcs_lock",
             "%p: node %p is submitted twice, it is the last in the queue", (const void *)lock,
             (const void *)node);
}

/* The nodes from top down to bottom are linked newest first: link them oldest first. Returns the
 * oldest. */
static uintptr_t bcs_reverse(uintptr_t top, uintptr_t bottom) {
  uintptr_t after = 0;
  for (uintptr_t link = top; link != bottom;) {
    volt_bcs_node *at = volt_bcs_node_of_(link);
    uintptr_t next = volt_load_relaxed(&at->next); /* role held */
    volt_store_relaxed(&at->next, after);
    after = link;
    link = next;
  }
  return after;
}

/* The job of *node has run. Returns the next node; or 0: there is none, and the role is given up;
 * or VOLT_BCS_HANDED_OFF_: another thread has the role, and *node is left to it. */
static uintptr_t bcs_advance(volt_bcs_lock *lock, volt_bcs_node *node) {
  uintptr_t next = volt_bcs_waitfree_next_(node);
  if (next != 0) return next;
  if (!lock->lockfree) return volt_bcs_waitfree_give_up_(&lock->queue.tail, node, 0);
  uintptr_t bottom = volt_bcs_link_to_(node);
  uintptr_t top = volt_bcs_lockfree_give_up_(&lock->stack, bottom, 0);
  return top == 0 ? 0 : bcs_reverse(top, bottom);
}

/* ---- what this thread is in the middle of ---- */

void volt_bcs_lock_check_outside_(const volt_bcs_lock *lock, const char *where) {
  if (!VOLT_BCS_CHECK_SECTIONS_) return;
  for (volt_bcs_frame_ *f = volt_bcs_frame_innermost_(); f; f = f->outer) {
    VOLT_CHECK(f->lock != lock || f->next, where,
               "%p: called from a section of this lock, it would wait for itself",
               (const void *)lock);
  }
}

static void bcs_run_job(const volt_bcs_lock *lock, volt_bcs_job_ *job) {
  volt_bcs_frame_ f;
  if (VOLT_BCS_CHECK_SECTIONS_) volt_bcs_frame_enter_(&f, lock, NULL);
  volt_bcs_job_run_(job);
  if (VOLT_BCS_CHECK_SECTIONS_) volt_bcs_frame_leave_(&f);
}

/* ---- completing ---- */

/* What the combiner wakes when no section runs. */
struct deferred_wakes {
  volt_unpark_list asleep;
  unsigned count;
  volt_waker wakers[VOLT_BCS_WAKERS + 1]; /* one more: of a node that was left to this thread */
};

static void deferred_init(struct deferred_wakes *deferred) {
  deferred->asleep.count = 0;
  deferred->count = 0;
}

static void deferred_wake(struct deferred_wakes *deferred) {
  volt_unpark_all(&deferred->asleep);
  for (unsigned i = 0; i < deferred->count; i++) deferred->wakers[i].wake(deferred->wakers[i].ctx);
  deferred->count = 0;
}

/* What the combiner knows of a job when its node may be gone (R4). */
struct bcs_ending {
  uint32_t kind;
  bool has_waker; /* of a submitted job */
};

static struct bcs_ending bcs_ending_of(volt_bcs_job_ *job) {
  struct bcs_ending e = {.kind = job->kind, .has_waker = job->wake != NULL};
  return e;
}

/* The job has run and its node is out of the queue: complete it. The last access to *node (I4). */
static void bcs_complete(struct deferred_wakes *deferred, volt_bcs_node *node,
                         struct bcs_ending e) {
  if (e.kind == VOLT_BCS_RUN_) {
    volt_unpark_later(&bcs_job_of(node)->parker, &deferred->asleep);
  } else if (e.kind == VOLT_BCS_FUTURE_ || e.has_waker) {
    volt_waker waker = volt_bcs_job_complete_(bcs_job_of(node));
    if (waker.wake) deferred->wakers[deferred->count++] = waker;
  } /* else: R4, its memory may be gone */
}

/* ---- combining ---- */

enum { WAITED_FOR = 1 }; /* hold, of a run's job: its thread waits for it, and does nothing else */

/* A batch has run and *next is next: pass the role to a thread that waits, which goes on from
 * *next. Returns false if none was found. */
static bool bcs_pass_role(volt_bcs_lock *lock, volt_bcs_node *next, unsigned served) {
  volt_bcs_node *at = next;
  for (unsigned i = 0; i < VOLT_BCS_SEARCH; i++) {
    volt_bcs_job_ *job = bcs_job_of(at);
    /* R3. relaxed: hold carries no data; the queue has published the job, the unpark its flag */
    if (job->kind == VOLT_BCS_RUN_ && volt_load_relaxed(&job->hold) == WAITED_FOR &&
        (served >= VOLT_BCS_BATCH_ASLEEP || !volt_is_parked_(&job->parker))) {
      lock->next = next;
      VOLT_PROBE3(bcs__handover, lock, at, served);
      volt_bcs_job_give_role_(job);
      volt_unpark(&job->parker); /* R1: the last access to the lock */
      return true;
    }
    uintptr_t link = volt_bcs_waitfree_next_(at);
    if (link == 0) return false;
    at = volt_bcs_node_of_(link);
  }
  return false;
}

/* *node is next: offer the role, and call the deferred wakers. Returns false if a waker has taken
 * the role. */
static bool bcs_wake_between(const volt_bcs_lock *lock, volt_bcs_node *node,
                             struct deferred_wakes *deferred) {
  if (deferred->count == 0) {
    volt_unpark_all(&deferred->asleep);
    return true;
  }
  volt_bcs_frame_ f;
  volt_bcs_frame_enter_(&f, lock, node);
  deferred_wake(deferred);
  volt_bcs_frame_leave_(&f);
  return f.lock != NULL; /* R7 */
}

/* *node is the first, and its job has run: run those behind it.
 * own: this thread's job, which the thread is going to wait for; NULL if it has none.
 * Returns true if own has run and is out of the queue: it is not completed by any thread then. */
static bool bcs_combine_on(volt_bcs_lock *lock, volt_bcs_node *node, const volt_bcs_job_ *own,
                           struct deferred_wakes *deferred) {
  bool own_done = false;
  unsigned served = 1;
  for (;; served++) {
    volt_bcs_job_ *job = bcs_job_of(node);
    struct bcs_ending e = bcs_ending_of(job); /* R4 */
    uintptr_t next = bcs_advance(lock, node);
    if (next == (uintptr_t)VOLT_BCS_HANDED_OFF_) break; /* R2 */
    if (job == own) {
      own_done = true;
    } else {
      bcs_complete(deferred, node, e);
    }
    if (next == 0) break;
    node = volt_bcs_node_of_(next);
    bool may_pass = own == NULL || own_done; /* else it would have to be woken for its own job */
    if (may_pass && served >= VOLT_BCS_BATCH && bcs_pass_role(lock, node, served)) break;
    bool is_due = served % VOLT_BCS_BATCH == 0 || deferred->count >= VOLT_BCS_WAKERS; /* R8 */
    if (is_due && !bcs_wake_between(lock, node, deferred)) break;
    bcs_run_job(lock, bcs_job_of(node));
  }
  VOLT_PROBE2(bcs__batch, lock, served); /* its address only: the lock may be gone */
  return own_done;
}

/* Run the jobs from *node on. *before, if not NULL, is out of the queue, and is to be completed.
 * own, and what is returned: as in bcs_combine_on(). */
static bool bcs_combine(volt_bcs_lock *lock, volt_bcs_node *node, volt_bcs_node *before,
                        const volt_bcs_job_ *own) {
  struct deferred_wakes deferred;
  deferred_init(&deferred);
  if (before) bcs_complete(&deferred, before, bcs_ending_of(bcs_job_of(before)));
  bcs_run_job(lock, bcs_job_of(node));
  bool own_done = bcs_combine_on(lock, node, own, &deferred);
  deferred_wake(&deferred);
  return own_done;
}

bool volt_bcs_lock_submit_own_(volt_bcs_lock *lock, volt_bcs_node *node, volt_bcs_job_ *job) {
  node->data = job;
  volt_bcs_node *before;
  if (bcs_push(lock, node, &before)) return bcs_combine(lock, node, before, job);
  bcs_check_behind(lock, node, before);
  return false;
}

bool volt_bcs_lock_take_role_(volt_bcs_lock *lock, const volt_bcs_job_ *own) {
  for (volt_bcs_frame_ *f = volt_bcs_frame_innermost_(); f; f = f->outer) {
    if (f->lock != lock || !f->next) continue;
    f->lock = NULL; /* R7 */
    return bcs_combine(lock, f->next, NULL, own);
  }
  return false;
}

/* ---- the operations ---- */

/* The job is queued: wait until it is completed. Combine if this thread is given the role first. */
static VOLT_NOINLINE void bcs_wait(volt_bcs_lock *lock, volt_bcs_job_ *job) {
  const volt_call_ call = {"volt_bcs_lock_run", VOLT_KIND_BCS_, NULL, lock, 0, NULL, NULL};
  if (volt_bcs_lock_take_role_(lock, job)) return;
  for (;;) {
    volt_store_relaxed(&job->hold, WAITED_FOR); /* R3. relaxed: it carries no data */
    volt_park_spin_in_(&call, &job->parker, 1, VOLT_NO_DEADLINE, VOLT_BCS_SPIN, VOLT_BCS_YIELDS);
    if (!volt_bcs_job_has_role_(job)) return;
    volt_bcs_job_forget_role_(job);
    volt_store_relaxed(&job->hold, 0);        /* R3; role held: only the combiner reads it */
    volt_store_relaxed(&job->parker.word, 0); /* role held: no thread unparks it now */
    if (bcs_combine(lock, lock->next, NULL, job)) return;
  }
}

/* The job of a call of run(). In a fiber a future waits for it, so no suspended fiber is made the
 * combiner. A combiner itself, one of whose wakers runs another lock, waits as a thread. */
struct bcs_running {
  volt_bcs_job_ job;
  volt_blocker_ *fiber; /* NULL: a thread waits */
  volt_future future;   /* the fiber's */
};

static void bcs_running_init(struct bcs_running *r, volt_bcs_lock *lock, volt_bcs_fn *fn,
                             void *arg) {
  r->fiber = lock->brief || volt_bcs_frame_innermost_() ? NULL : volt_fiber_blocker_();
  volt_bcs_job_init_(&r->job, r->fiber ? VOLT_BCS_FUTURE_ : VOLT_BCS_RUN_, fn, arg);
  if (r->fiber) volt_bcs_job_await_(&r->job, &r->future, lock);
}

/* The job is queued: as bcs_wait(). */
static void bcs_running_wait(volt_bcs_lock *lock, struct bcs_running *r) {
  if (!r->fiber) {
    bcs_wait(lock, &r->job);
  } else if (!volt_bcs_lock_take_role_(lock, &r->job)) {
    r->fiber->shields += 1;
    (void)r->fiber->block_on(r->fiber, &r->future, VOLT_NO_DEADLINE);
    r->fiber->shields -= 1;
  }
}

/* The queue was empty: *node is in it without a job, and this thread has the role. Run fn(arg), and
 * give up the role. Returns false if the role is kept, because others have come meanwhile. */
static inline bool bcs_run_alone(volt_bcs_lock *lock, volt_bcs_node *node, volt_bcs_fn *fn,
                                 void *arg) {
  volt_bcs_frame_ f;
  if (VOLT_BCS_CHECK_SECTIONS_) volt_bcs_frame_enter_(&f, lock, NULL);
  fn(arg);
  if (VOLT_BCS_CHECK_SECTIONS_) volt_bcs_frame_leave_(&f);
  uintptr_t seen = volt_bcs_link_to_(node);
  VOLT_ATOMIC(uintptr_t) *word = lock->lockfree ? &lock->stack.top : &lock->queue.tail;
  /* bcs_lock:G1 -> bcs_lock:S1, bcs_queue:S1, bcs_queue:T1: the next combiner sees this section */
  return volt_cas_release(word, &seen, 0);
}

/* fn(arg) has run, this thread has the role, and others have come: run their jobs. */
static VOLT_NOINLINE void bcs_combine_others(volt_bcs_lock *lock, volt_bcs_node *node,
                                             volt_bcs_fn *fn, void *arg) {
  struct bcs_running r;
  bcs_running_init(&r, lock, fn, arg);
  node->data = &r.job;
  struct deferred_wakes deferred;
  deferred_init(&deferred);
  bool done = bcs_combine_on(lock, node, &r.job, &deferred);
  deferred_wake(&deferred);
  if (!done) bcs_running_wait(lock, &r);
}

/* The queue was not empty: queue a job for fn(arg), and wait for it. Wait-free: *node is the tail
 * already, and not linked to last yet. Lock-free: it is not in the stack yet. */
static VOLT_NOINLINE void bcs_run_behind(volt_bcs_lock *lock, volt_bcs_node *node, uintptr_t last,
                                         volt_bcs_fn *fn, void *arg) {
  struct bcs_running r;
  bcs_running_init(&r, lock, fn, arg);
  node->data = &r.job;
  volt_bcs_node *before = volt_bcs_node_of_(last);
  bcs_check_behind(lock, node, before);
  bool done;
  if (lock->lockfree) {
    done = volt_bcs_lock_submit_own_(lock, node, &r.job);
  } else {
    done = volt_bcs_waitfree_link_(last, node) != 0 && bcs_combine(lock, node, before, &r.job);
  }
  if (!done) bcs_running_wait(lock, &r);
}

void volt_bcs_lock_run(volt_bcs_lock *lock, volt_bcs_node *node, volt_bcs_fn *fn, void *arg) {
  volt_bcs_lock_check_outside_(lock, "volt_bcs_lock_run");
  uintptr_t last = 0; /* lock-free: if the CAS fails, a push follows, with a job */
  if (VOLT_LIKELY(!lock->lockfree)) {
    last = volt_bcs_waitfree_swap_(&lock->queue.tail, node);
  } else {
    volt_store_relaxed(&node->next, 0); /* published by bcs_lock:S1 */
    /* bcs_lock:S1 <-> bcs_lock:G1, bcs_queue:S2, bcs_queue:S3: sees the last section */
    volt_cas_acq_rel(&lock->stack.top, &last, volt_bcs_link_to_(node));
  }
  if (VOLT_LIKELY(last == 0)) {
    if (VOLT_LIKELY(bcs_run_alone(lock, node, fn, arg))) return;
    bcs_combine_others(lock, node, fn, arg);
  } else {
    bcs_run_behind(lock, node, last, fn, arg);
  }
}

void volt_bcs_lock_submit(volt_bcs_lock *lock, volt_bcs_section *section, volt_bcs_fn *fn,
                          void *arg, volt_waker waker) {
  volt_bcs_section_check_free_(section, "volt_bcs_lock_submit");
  volt_bcs_job_init_(&section->job, VOLT_BCS_SUBMIT_, fn, arg);
  volt_bcs_section_mark_(section);
  section->job.wake = waker.wake;
  section->job.ctx = waker.ctx;
  section->node.data = &section->job;
  volt_bcs_node *before;
  if (bcs_push(lock, &section->node, &before)) {
    bcs_combine(lock, &section->node, before, NULL);
  } else {
    bcs_check_behind(lock, &section->node, before);
  }
}

/* ---- life; its end is in bcs_job.c ---- */

void volt_bcs_lock_init(volt_bcs_lock *lock) {
  volt_bcs_waitfree_init(&lock->queue);
  volt_bcs_lockfree_init(&lock->stack);
  lock->next = NULL;
  lock->lockfree = false;
  lock->brief = false;
}

void volt_bcs_lock_init_lockfree(volt_bcs_lock *lock) {
  volt_bcs_lock_init(lock);
  lock->lockfree = true;
}
