/* bcs_lock.c: a lock that runs closures.
 *
 * Algorithm: a node of bcs_queue.h carries a job: what to run, and who is to be told. Whoever has
 * the role serves: it runs jobs in the order of the queue. After a batch it looks for a thread
 * among those that wait, stores where to go on, and unparks it with the role instead of with
 * "done": that one serves from there, its own job in its turn. So the order stays, and nobody
 * serves for more than a batch and the way to the next thread that waits.
 *
 * Everybody is told as soon as the job is done and its node out of the queue. What is foreign or
 * slow comes later, with nothing held: system calls for threads that sleep, and wakers, of which
 * copies are kept. After a batch, or when there is no room for more, the server pays in the middle
 * of its work; what wakers run on the same lock, and would have to wait for, takes the role over
 * from it.
 *
 * Source: kprotty, "Batched Critical Sections"; the handover is ours.
 *
 * Invariants
 *   I1  one thread has the role; it alone runs jobs, and writes lock->next
 *   I2  a job is run once (or, a cancelled future's, not at all), and its owner told once, after it
 *   I3  jobs run in the order in which they came
 *   I4  nobody touches the lock after the role is given up or handed on, or, without it, after the
 *       node is linked; nor a node after its owner has been told (or, told nobody, after the next
 *       job has begun)
 *
 * Races
 *   R1  Handover: the new server runs while the old one is still at it. Closed: the unpark that
 *       hands over is the last that the old one does with the lock.
 *   R2  The last consumer leaves through the link (bcs_queue.c): its own node is then in the hands
 *       of the next, and it must not return. Closed: its owner waits to be told, like everybody.
 *   R3  Interleaving: a thread has lost the role, with a job of its own queued, and calls a waker;
 *       the waker waits for another job, or for something else that needs the queue to go on; the
 *       role is handed to the first job, at which its thread does not look. Prevented by: a job is
 *       handed the role only while its thread waits for that very job, where it runs nothing else.
 *       The thread says so in hold before it looks for the first time, and takes that back when it
 *       has the role.
 *   R4  A section that tells nobody is freed by what a later section does, while the server that
 *       left still reads it. Closed: what is needed of a job is copied before the queue is left.
 *   R7  A waker runs or cancels something on the same lock, and the one who would serve it is its
 *       own caller. Closed: that one has put the role down where its own thread finds it; whoever
 *       is about to wait looks there, and not at the lock, which may be gone (I4).
 *   R8  Sections that wait for nobody keep coming, and those who are owed a wake wait for ever.
 *       Closed: debts are paid after each batch, too.
 * R5 and R6, of a future's job, are in bcs_job.c.
 *
 * How a thread loses the role while a job of its own is unserved. In each case the thread pays what
 * it owes, which calls wakers. Then it waits to be told or handed the role; with a future's job it
 * returns.
 *   - HANDED_OFF at the end: the own job has run, was the last, and is left behind (R2).
 *   - HANDED_OFF in the middle: the own job is behind a link that a producer has not made yet. A
 *     waker has queued it there, and taken the role up from further ahead (R7). Jobs of the frames
 *     around that waker may be in the queue, too: those are only told until their frame waits.
 *   - Put down, and taken up by a waker's call, which has lost it in one of these ways.
 * Not by handing it over: that comes after the own job, for which the thread would be woken again. */
#include <volt/bcs_lock.h>

#include "../core/check.h"
#include "../core/futex.h"
#include "../core/spin.h"
#include "bcs_job.h"

/* How many jobs a thread serves, its own among them, before it looks for another that waits and is
 * awake; and for any that waits. With more threads than cores, a short batch keeps all of them in
 * the queue, and so in step: 2 is fairer still and slower, 16 faster and less fair. */
#ifndef VOLT_BCS_BATCH
#define VOLT_BCS_BATCH 4
#endif
#ifndef VOLT_BCS_BATCH_ASLEEP
#define VOLT_BCS_BATCH_ASLEEP 64
#endif
/* How far it looks. */
#ifndef VOLT_BCS_SEARCH
#define VOLT_BCS_SEARCH 8
#endif
/* How many wakers it keeps for later. */
#ifndef VOLT_BCS_WAKERS
#define VOLT_BCS_WAKERS 32
#endif
/* How often run() looks before it sleeps, since others' sections are ahead of its own: first on the
 * core, which is for those who serve fast; then letting others run on it, who may be the ones that
 * come next. The second is what keeps the order of threads when there are more of them than
 * cores. */
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

/* Returns true if the caller has the role now; *before: a node that is left to it, or NULL; else
 * the one that *node is behind, or NULL: not known. */
static bool bcs_push(volt_bcs_lock *lock, volt_bcs_node *node, volt_bcs_node **before) {
  uintptr_t state;
  if (!lock->lockfree) return volt_bcs_waitfree_push_(&lock->queue.tail, node, before, &state);
  *before = NULL;
  if (!volt_bcs_lockfree_push_(&lock->stack, node, &state)) return false;
  volt_store_relaxed(&node->next, 0); /* role held: a batch ends with 0 here */
  return true;
}

/* The caller comes with *node, or has come, behind *before: that must be another. */
static VOLT_NOINLINE void bcs_check_behind(const volt_bcs_lock *lock, const volt_bcs_node *node,
                                           const volt_bcs_node *before) {
  VOLT_CHECK(before != node, "volt_bcs_lock",
             "%p: node %p is submitted twice, it is the last in the queue", (const void *)lock,
             (const void *)node);
}

/* The nodes from top down to bottom came in the other order: link them so. Returns the first. */
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

/* *node has been served. Returns the next; or 0: there is none, and the role is given up; or
 * VOLT_BCS_HANDED_OFF_: the role is another's, and so is *node. */
static uintptr_t bcs_advance(volt_bcs_lock *lock, volt_bcs_node *node) {
  uintptr_t next = volt_bcs_waitfree_next_(node);
  if (next != 0) return next;
  if (!lock->lockfree) return volt_bcs_waitfree_give_up_(&lock->queue.tail, node, 0);
  uintptr_t bottom = volt_bcs_link_to_(node);
  uintptr_t top = volt_bcs_lockfree_give_up_(&lock->stack, bottom, 0);
  return top == 0 ? 0 : bcs_reverse(top, bottom);
}

/* ---- what this thread is in the middle of ---- */

/* On the stack of a thread that serves, linked from the thread's slot. */
struct role_frame {
  const volt_bcs_lock *lock; /* NULL: the role that was put down here has been taken up */
  volt_bcs_node *next;       /* the role is put down here: where to go on; NULL: a section runs */
  struct role_frame *outer;
};

static void frame_enter(struct role_frame *f, const volt_bcs_lock *lock, volt_bcs_node *next) {
  void **slot = volt_thread_slot_();
  f->lock = lock;
  f->next = next;
  f->outer = (struct role_frame *)*slot;
  *slot = f;
}

static void frame_leave(struct role_frame *f) {
  *volt_thread_slot_() = f->outer;
}

#if VOLT_DEBUG || defined(VOLT_MODEL)
#define CHECK_SECTIONS 1
#else
#define CHECK_SECTIONS 0
#endif

void volt_bcs_lock_check_outside_(const volt_bcs_lock *lock, const char *where) {
  if (!CHECK_SECTIONS) return;
  for (struct role_frame *f = (struct role_frame *)*volt_thread_slot_(); f; f = f->outer) {
    VOLT_CHECK(f->lock != lock || f->next, where,
               "%p: called from a section of this lock, it would wait for itself",
               (const void *)lock);
  }
}

static void bcs_run_job(const volt_bcs_lock *lock, volt_bcs_job_ *job) {
  struct role_frame f;
  if (CHECK_SECTIONS) frame_enter(&f, lock, NULL);
  volt_bcs_job_run_(job);
  if (CHECK_SECTIONS) frame_leave(&f);
}

/* ---- telling ---- */

/* What a server owes to others when nothing is held. */
struct deferred_wakes {
  volt_unpark_list asleep;
  unsigned count;
  volt_waker wakers[VOLT_BCS_WAKERS + 1]; /* one more: of a node that was left to us */
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

/* What is to be known of a job when its node may be gone. */
struct bcs_ending {
  uint32_t kind;
  bool has_waker; /* of a submitted one */
};

static struct bcs_ending bcs_ending_of(volt_bcs_job_ *job) {
  return (struct bcs_ending){.kind = job->kind, .has_waker = job->wake != NULL};
}

/* The job is done and its node out of the queue: tell its owner. The last of *node. */
static void bcs_complete(struct deferred_wakes *deferred, volt_bcs_node *node,
                         struct bcs_ending e) {
  if (e.kind == VOLT_BCS_RUN_) {
    volt_unpark_later(&bcs_job_of(node)->parker, &deferred->asleep);
  } else if (e.kind == VOLT_BCS_FUTURE_ || e.has_waker) {
    volt_waker waker = volt_bcs_job_complete_(bcs_job_of(node));
    if (waker.wake) deferred->wakers[deferred->count++] = waker;
  } /* else: R4, not ours any more */
}

/* ---- serving ---- */

enum { WAITED_FOR = 1 }; /* hold, of a run's job: its thread waits for it, and does nothing else */

/* A batch has been served and *next is next: find a thread that waits and let it go on from there.
 * Returns true: the role is gone. */
static bool bcs_pass_role(volt_bcs_lock *lock, volt_bcs_node *next, unsigned served) {
  volt_bcs_node *at = next;
  for (unsigned i = 0; i < VOLT_BCS_SEARCH; i++) {
    volt_bcs_job_ *job = bcs_job_of(at);
    /* R3. relaxed: it carries no data; the queue has published the job, the role its flag */
    if (job->kind == VOLT_BCS_RUN_ && volt_load_relaxed(&job->hold) == WAITED_FOR &&
        (served >= VOLT_BCS_BATCH_ASLEEP || !volt_is_parked_(&job->parker))) {
      lock->next = next;
      volt_bcs_job_give_role_(job);
      volt_unpark(&job->parker); /* R1: the last of the lock */
      return true;
    }
    uintptr_t link = volt_bcs_waitfree_next_(at);
    if (link == 0) return false;
    at = volt_bcs_node_of_(link);
  }
  return false;
}

/* It is time to pay, and *node is next: put the role down, and pay. Returns whether the role is
 * still there. */
static bool bcs_wake_between(const volt_bcs_lock *lock, volt_bcs_node *node,
                             struct deferred_wakes *deferred) {
  if (deferred->count == 0) {
    volt_unpark_all(&deferred->asleep);
    return true;
  }
  struct role_frame f;
  frame_enter(&f, lock, node);
  deferred_wake(deferred);
  frame_leave(&f);
  return f.lock != NULL; /* R7 */
}

/* *node is the first and has been served: serve on. own: this thread's job, which waits for nothing
 * but this; or NULL: it has none. Returns whether it has been served, and is out of the queue. */
static bool bcs_combine_on(volt_bcs_lock *lock, volt_bcs_node *node, const volt_bcs_job_ *own,
                           struct deferred_wakes *deferred) {
  bool own_done = false;
  for (unsigned served = 1;; served++) {
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
    bool may_pass = own == NULL || own_done; /* or it would have to be woken for it */
    if (may_pass && served >= VOLT_BCS_BATCH && bcs_pass_role(lock, node, served)) break;
    bool is_due = served % VOLT_BCS_BATCH == 0 || deferred->count >= VOLT_BCS_WAKERS; /* R8 */
    if (is_due && !bcs_wake_between(lock, node, deferred)) break;
    bcs_run_job(lock, bcs_job_of(node));
  }
  return own_done;
}

/* Serve from *node on; *before, if any, is out of the queue, and its owner not told. */
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
  for (struct role_frame *f = (struct role_frame *)*volt_thread_slot_(); f; f = f->outer) {
    if (f->lock != lock || !f->next) continue;
    f->lock = NULL; /* R7 */
    return bcs_combine(lock, f->next, NULL, own);
  }
  return false;
}

/* ---- the operations ---- */

/* Others are there, or were: wait for our turn, and serve when we are given the role. */
static VOLT_NOINLINE void bcs_wait(volt_bcs_lock *lock, volt_bcs_job_ *job) {
  if (volt_bcs_lock_take_role_(lock, job)) return;
  for (;;) {
    volt_store_relaxed(&job->hold, WAITED_FOR); /* R3. relaxed: it carries no data */
    volt_park_spin_(&job->parker, 1, VOLT_NO_DEADLINE, VOLT_BCS_SPIN, VOLT_BCS_YIELDS);
    if (!volt_bcs_job_has_role_(job)) return;
    volt_bcs_job_forget_role_(job);
    volt_store_relaxed(&job->hold, 0);        /* R3; role held: only who has it looks */
    volt_store_relaxed(&job->parker.word, 0); /* role held: nobody unparks us meanwhile */
    if (bcs_combine(lock, lock->next, NULL, job)) return;
  }
}

/* Nobody was there: *node is in the queue without a job, and we have the role. Run, and leave if
 * nobody has come. */
static inline bool bcs_run_alone(volt_bcs_lock *lock, volt_bcs_node *node, volt_bcs_fn *fn,
                                 void *arg) {
  struct role_frame f;
  if (CHECK_SECTIONS) frame_enter(&f, lock, NULL);
  fn(arg);
  if (CHECK_SECTIONS) frame_leave(&f);
  uintptr_t seen = volt_bcs_link_to_(node);
  VOLT_ATOMIC(uintptr_t) *word = lock->lockfree ? &lock->stack.top : &lock->queue.tail;
  /* bcs_lock:G1 -> bcs_lock:S1, bcs_queue:S1, bcs_queue:T1: the next combiner sees this section */
  return volt_cas_release(word, &seen, 0);
}

/* fn(arg) has run, and others have come meanwhile: serve them. */
static VOLT_NOINLINE void bcs_combine_others(volt_bcs_lock *lock, volt_bcs_node *node,
                                             volt_bcs_fn *fn, void *arg) {
  volt_bcs_job_ job;
  volt_bcs_job_init_(&job, VOLT_BCS_RUN_, fn, arg);
  node->data = &job;
  struct deferred_wakes deferred;
  deferred_init(&deferred);
  bool done = bcs_combine_on(lock, node, &job, &deferred);
  deferred_wake(&deferred);
  if (!done) bcs_wait(lock, &job);
}

/* Others were there: wait-free, *node is at the tail and not linked to last yet; lock-free, it is
 * not pushed yet. */
static VOLT_NOINLINE void bcs_run_behind(volt_bcs_lock *lock, volt_bcs_node *node, uintptr_t last,
                                         volt_bcs_fn *fn, void *arg) {
  volt_bcs_job_ job;
  volt_bcs_job_init_(&job, VOLT_BCS_RUN_, fn, arg);
  node->data = &job;
  volt_bcs_node *before = volt_bcs_node_of_(last);
  bcs_check_behind(lock, node, before);
  bool done;
  if (lock->lockfree) {
    done = volt_bcs_lock_submit_own_(lock, node, &job);
  } else {
    done = volt_bcs_waitfree_link_(last, node) != 0 && bcs_combine(lock, node, before, &job);
  }
  if (!done) bcs_wait(lock, &job);
}

void volt_bcs_lock_run(volt_bcs_lock *lock, volt_bcs_node *node, volt_bcs_fn *fn, void *arg) {
  volt_bcs_lock_check_outside_(lock, "volt_bcs_lock_run");
  uintptr_t last = 0;
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

/* ---- life and inspection ---- */

void volt_bcs_lock_init(volt_bcs_lock *lock) {
  volt_bcs_waitfree_init(&lock->queue);
  volt_bcs_lockfree_init(&lock->stack);
  lock->next = NULL;
  lock->lockfree = false;
}

void volt_bcs_lock_init_lockfree(volt_bcs_lock *lock) {
  volt_bcs_lock_init(lock);
  lock->lockfree = true;
}

bool volt_bcs_lock_is_busy(const volt_bcs_lock *lock) {
  /* relaxed: a snapshot */
  return volt_load_relaxed(&lock->queue.tail) != 0 || volt_load_relaxed(&lock->stack.top) != 0;
}

void volt_bcs_lock_destroy(volt_bcs_lock *lock) {
  VOLT_CHECK(!volt_bcs_lock_is_busy(lock), "volt_bcs_lock_destroy",
             "%p: destroyed while a section is queued or running", (void *)lock);
}
