/* group.c: tasks that end together, or are taken one by one as they end.
 *
 * Invariants, under the lock
 *   I1  count: tasks that were spawned into the group and whose memory is not settled yet. Settled:
 *       freed, the caller's, or in the list ended
 *   I2  a task that has not ended is in running, or in cancelled if it was asked to end
 *   I3  result: of the first task that failed. From then on the group is cancelled, if it fails
 *       fast
 *   I4  a handle to one task is linked right behind that task, in running, and nowhere else. Code
 *       that takes the task out of running unlinks the handle too
 *   I5  no future waits for the next task while a task is in ended
 *
 * Races
 *   R1  Interleaving: the last task ends; the thread that waits for the group, or takes that task,
 *       destroys the group while the ending task still uses it. Prevented by: the waiter is claimed
 *       under the lock and woken after it, without a further access to the group. A task that is
 *       kept is counted off and put into ended under one hold of that lock.
 *   R2  Interleaving: a task is spawned while the group is being cancelled. Prevented by: both take
 *       the lock, so the task is refused, or the cancel finds it in running.
 *   R3  Interleaving: a thread cancels one task by its handle; the task ends and is freed before
 *       the thread asks it. Prevented by: the handle names the task only while it is in running
 *       (I4). The thread reads the handle and asks the task under one hold of the lock, which the
 *       task needs to leave running. A task that was asked cannot end before volt_task_deliver_()
 *       (task.c R6).
 *   R4  Interleaving: a future finds no task in ended; a task ends and finds no waiter; the future
 *       waits (or gives a task back, which finds no waiter). Prevented by: the future looks into
 *       ended and sets the waiter in one hold of the lock; a task is put into ended, and the waiter
 *       claimed, in one hold too (I5). */
#include <volt/task.h>

#include "../../core/future/future_ops.h"
#include "../../core/inspect/describe.h"
#include "../../core/os/check.h"
#include "../../core/os/futex.h"
#include "../../core/os/probe.h"
#include "../../core/park/blocker.h"
#include "../../core/wait/grant.h"
#include "group.h"
#include "registry.h"
#include "short_lock.h"
#include "task.h"
#include "task_list.h"

static const char group_name[] = "volt_group";

enum { ALL = 0, NEXT = 1 }; /* volt_waiter.want: what the future waits for */
enum { NO_HANDLE = 0, HAS_HANDLE = 1, CANCELLED_ALONE = 2 }; /* volt_task.frame.member */

void volt_group_init_how(volt_group *g, unsigned how) {
  VOLT_CHECK(how <= (VOLT_GROUP_KEEP_GOING | VOLT_GROUP_KEEP_RESULTS), "volt_group_init_how",
             "%p: how is %u", (void *)g, how);
  volt_short_lock_init_(&g->lock);
  g->how = how | VOLT_GROUP_MADE_;
  g->count = 0;
  g->result = VOLT_OK;
  g->is_cancelled = 0;
  g->waiter = NULL;
  volt_task_list_init_(&g->running);
  volt_task_list_init_(&g->cancelled);
  volt_task_list_init_(&g->ended);
}

void volt_group_init(volt_group *g) {
  volt_group_init_how(g, VOLT_GROUP_FAIL_FAST);
}

uint64_t volt_group_count(volt_group *g) {
  volt_short_lock_lock_(&g->lock);
  uint64_t count = g->count;
  volt_short_lock_unlock_(&g->lock);
  return count;
}

int volt_group_result(volt_group *g) {
  volt_short_lock_lock_(&g->lock);
  int result = g->result;
  volt_short_lock_unlock_(&g->lock);
  return result;
}

bool volt_group_is_cancelled(volt_group *g) {
  volt_short_lock_lock_(&g->lock);
  bool is_cancelled = g->is_cancelled != 0;
  volt_short_lock_unlock_(&g->lock);
  return is_cancelled;
}

bool volt_group_is_empty(volt_group *g) {
  volt_short_lock_lock_(&g->lock);
  bool is_empty = g->count == 0 && volt_task_list_is_empty_(&g->ended);
  volt_short_lock_unlock_(&g->lock);
  return is_empty;
}

/* ---- under the lock ---- */

/* I4 */
static void group_unlink_member(volt_group_member *m) {
  volt_task_list_remove_(&m->link);
  m->task->frame.member = NO_HANDLE;
  m->task = NULL;
}

/* Of a future that waits: whether it takes the next task that ends, and where it puts that. */
static bool group_wants_next(const volt_waiter *w) {
  return w->want == NEXT;
}

static volt_task **group_taken(const volt_waiter *w) {
  return (volt_task **)(void *)w->data;
}

/* Take a task, and the handle to it, out of the list that it is in. */
static void group_unlink(volt_task *t) {
  if (t->frame.member == HAS_HANDLE) {
    volt_task_link *behind = t->sibling.next;
    group_unlink_member(volt_container_of(behind, volt_group_member, link));
  }
  volt_task_list_remove_(&t->sibling);
}

static volt_task *group_take_running(volt_task_link *from, volt_task_link *to) {
  volt_task_link *link = from->next;
  volt_task *t = volt_container_of(link, volt_task, sibling);
  group_unlink(t);
  volt_task_list_append_(to, link);
  return t;
}

/* The oldest task that is kept, or NULL. Its handle is the caller's. */
static volt_task *group_take_ended(volt_group *g) {
  if (volt_task_list_is_empty_(&g->ended)) return NULL;
  volt_task_link *link = g->ended.next;
  volt_task *t = volt_container_of(link, volt_task, sibling);
  volt_task_list_remove_(link);
  volt_task_ungroup_(t);
  return t;
}

/* Returns VOLT_OK, VOLT_EAGAIN or VOLT_EEMPTY. */
static int group_try_next(volt_group *g, volt_task **t) {
  *t = group_take_ended(g);
  if (*t) return VOLT_OK;
  return g->count > 0 ? VOLT_EAGAIN : VOLT_EEMPTY;
}

/* The lock is held. Claim the waiter if what it waits for is there, unlock, and wake it. R1 */
static void group_unlock_and_complete(volt_group *g) {
  volt_waiter *w = g->waiter;
  bool due = w && (group_wants_next(w) ? !volt_task_list_is_empty_(&g->ended) : g->count == 0);
  volt_claimed_ claimed = {.waiter = NULL};
  if (due) {
    claimed = volt_waiter_claim_(w);
    g->waiter = NULL;
    if (group_wants_next(w)) (void)group_try_next(g, group_taken(w));
    volt_count_from_outside_(VOLT_KIND_GROUP_, VOLT_COUNTER_GRANTS_, 1);
  }
  volt_short_lock_unlock_(&g->lock);
  if (due) volt_waiters_grant_(&claimed, 1, VOLT_WAITER_GRANTED_);
}

/* ---- spawn, cancel, end ---- */

static int group_link(volt_group *g, volt_rt *rt, volt_task *t, volt_group_member *m) {
  volt_short_lock_lock_(&g->lock);
  int result = g->is_cancelled ? (int)VOLT_ECANCELED : volt_registry_add_(rt, t); /* R2 */
  if (result == VOLT_OK) {
    volt_task_list_append_(&g->running, &t->sibling);
    g->count += 1;
  }
  if (result == VOLT_OK && m) {
    volt_task_list_insert_(&t->sibling, &m->link);
    m->task = t;
    t->frame.member = HAS_HANDLE;
  }
  volt_short_lock_unlock_(&g->lock);
  return result;
}

static int group_spawn(volt_group *g, volt_rt *rt, volt_task *t, volt_group_member *m) {
  volt_group_check_init_(g);
  if (!t) return VOLT_ENOMEM;
  volt_task_begin_(t, rt, g);
  int result = group_link(g, rt, t, m);
  if (result == VOLT_OK) {
    volt_task_start_(t);
  } else {
    volt_task_not_begun_(t);
  }
  return result;
}

int volt_group_spawn(volt_group *g, volt_rt *rt, volt_task *t) {
  return group_spawn(g, rt, t, NULL);
}

int volt_group_spawn_member(volt_group *g, volt_rt *rt, volt_task *t, volt_group_member *m) {
  m->group = g;
  m->task = NULL;
  return group_spawn(g, rt, t, m);
}

void volt_group_cancel(volt_group *g) {
  volt_group_check_init_(g);
  volt_short_lock_lock_(&g->lock);
  g->is_cancelled = 1;
  volt_short_lock_unlock_(&g->lock);
  volt_task_list_cancel_(&g->lock, &g->running, &g->cancelled, group_take_running);
}

/* The group lives until volt_group_count_off_(), because t is counted. */
bool volt_group_ended_(volt_group *g, volt_task *t) {
  bool keeps = g->how & VOLT_GROUP_KEEP_RESULTS;
  volt_short_lock_lock_(&g->lock);
  group_unlink(t);
  int result = t->frame.result;
  bool failed = result < 0 && !(result == VOLT_ECANCELED && t->frame.member == CANCELLED_ALONE);
  bool cancels = failed && !g->is_cancelled && !(g->how & VOLT_GROUP_KEEP_GOING);
  if (failed && g->result == VOLT_OK) g->result = result; /* I3 */
  volt_short_lock_unlock_(&g->lock);
  if (cancels) volt_group_cancel(g);
  return keeps;
}

void volt_group_count_off_(volt_group *g, volt_task *kept) {
  volt_short_lock_lock_(&g->lock);
  g->count -= 1;
  if (kept) volt_task_list_append_(&g->ended, &kept->sibling);
  group_unlock_and_complete(g);
}

void volt_group_destroy(volt_group *g) {
  volt_group_check_init_(g);
  volt_unname(g);
  uint64_t count = volt_group_count(g);
  VOLT_CHECK(count == 0, "volt_group_destroy", "%p: %llu tasks of it have not ended", (void *)g,
             (unsigned long long)count);
  for (volt_task *t; (t = group_take_ended(g)) != NULL;) volt_task_detach(t);
}

/* ---- one task ---- */

bool volt_group_member_cancel(volt_group_member *m) {
  volt_group *g = m->group;
  if (!g) return false;
  bool schedule = false;
  volt_short_lock_lock_(&g->lock);
  volt_task *t = m->task;
  if (t) { /* R3 */
    group_unlink(t);
    volt_task_list_append_(&g->cancelled, &t->sibling);
    if (volt_task_ask_(t, &schedule)) {
      t->frame.member = CANCELLED_ALONE;
    } else {
      t = NULL;
    }
  }
  volt_short_lock_unlock_(&g->lock);
  if (t) volt_task_deliver_(t, schedule);
  return t != NULL;
}

void volt_group_member_drop(volt_group_member *m) {
  volt_group *g = m->group;
  if (!g) return;
  volt_short_lock_lock_(&g->lock);
  if (m->task) group_unlink_member(m);
  volt_short_lock_unlock_(&g->lock);
}

/* ---- wait ---- */

static volt_group *group_of(volt_future *f) {
  return (volt_group *)f->object;
}

static int group_wait_outcome(volt_future *f) {
  return volt_group_result(group_of(f)); /* it may be filled again already */
}

/* The lock is held, and this unlocks. result: VOLT_PENDING, or the result that is there already. */
static int group_wait_unless_ready(volt_future *f, int result, uint32_t want) {
  volt_group *g = group_of(f);
  VOLT_CHECK(!g->waiter, group_name, "%p is being waited for already", (void *)g);
  if (result == VOLT_PENDING) {
    f->waiter.want = want;
    g->waiter = &f->waiter;
    VOLT_PROBE_ARMED(wait__begin, &f->waiter);
  }
  volt_short_lock_unlock_(&g->lock);
  if (result == VOLT_PENDING) {
    volt_count_from_outside_(VOLT_KIND_GROUP_, VOLT_COUNTER_WAITS_, 1);
  } else {
    volt_store_relaxed(&f->waiter.state, VOLT_WAITER_UNUSED_); /* the owner's own again */
  }
  return result;
}

static int group_wait_start(volt_future *f, volt_waker waker) {
  volt_group *g = group_of(f);
  volt_waiter_arm_(&f->waiter, g, waker);
  volt_short_lock_lock_(&g->lock);
  return group_wait_unless_ready(f, g->count > 0 ? (int)VOLT_PENDING : (int)g->result, ALL);
}

/* Under the lock: whether no thread has claimed the waiter. */
static bool group_is_waiting(volt_future *f) {
  return group_of(f)->waiter == &f->waiter;
}

static bool group_future_cancel(volt_future *f) {
  volt_group *g = group_of(f);
  if (volt_waiter_result(&f->waiter) != VOLT_PENDING) return false;
  volt_short_lock_lock_(&g->lock);
  bool waiting = group_is_waiting(f);
  if (waiting) g->waiter = NULL;
  volt_short_lock_unlock_(&g->lock);
  if (waiting) {
    volt_store_relaxed(&f->waiter.state, VOLT_WAITER_UNUSED_); /* the owner's own again */
    volt_count_from_outside_(VOLT_KIND_GROUP_, VOLT_COUNTER_CANCELS_, 1);
    VOLT_PROBE_ARMED(cancel, &f->waiter);
  } else {
    volt_waiter_await_(&f->waiter);
  }
  return waiting;
}

static bool group_future_set_waker(volt_future *f, volt_waker waker) {
  volt_group *g = group_of(f);
  if (volt_waiter_result(&f->waiter) != VOLT_PENDING) return false;
  volt_short_lock_lock_(&g->lock);
  bool waiting = group_is_waiting(f);
  if (waiting) {
    f->waiter.wake = waker.wake;
    f->waiter.ctx = waker.ctx;
  }
  volt_short_lock_unlock_(&g->lock);
  if (!waiting) volt_waiter_await_(&f->waiter);
  return waiting;
}

static void group_wait_give_back(volt_future *f) {
  (void)f; /* nothing is lost: the tasks stay ended */
}

/* The function that awaits the group is dropped: the tasks must end before this returns. */
static void group_end_now(volt_future *f) {
  volt_group *g = group_of(f);
  volt_future_cancel(f);
  if (volt_group_count(g) == 0) return;
  volt_blocker_ *here = *volt_thread_blocker_();
  VOLT_CHECK(!here || !here->blocks, group_name,
             "%p: dropped on a worker with tasks that have not ended: await the end", (void *)g);
  volt_blocker_ *fiber = volt_shield_();
  (void)volt_group_wait(g);
  volt_unshield_(fiber);
}

static int group_wait_poll(volt_future *f, volt_ctx *ctx) {
  volt_group *g = group_of(f);
  if (ctx->cancel != VOLT_CTX_GO_ON) volt_group_cancel(g);
  if (ctx->cancel == VOLT_CTX_CANCEL_ALL) {
    group_end_now(f);
    return VOLT_ECANCELED;
  }
  int result = volt_future_poll_leaf_(f, ctx);
  if (result == VOLT_PENDING || ctx->cancel == VOLT_CTX_GO_ON) return result;
  volt_ctx_obeyed_(ctx);
  return VOLT_ECANCELED;
}

static void group_wait_describe(volt_future *f, volt_description_ *description) {
  (void)f;
  description->ends = VOLT_ENDS_GROUP_;
}

static const volt_future_ops_ group_wait_ops = {.operation = "volt_group_wait",
                                                .kind = VOLT_KIND_GROUP_,
                                                .start = group_wait_start,
                                                .cancel = group_future_cancel,
                                                .set_waker = group_future_set_waker,
                                                .give_back = group_wait_give_back,
                                                .outcome = group_wait_outcome,
                                                .poll_ctx = volt_future_poll_any_,
                                                .poll = group_wait_poll,
                                                .describe = group_wait_describe,
                                                .ends_itself = true};

volt_future *volt_group_wait_future(volt_future *f, volt_group *g) {
  volt_group_check_init_(g);
  return volt_future_make_(f, &group_wait_ops, g, 0);
}

extern inline int volt_group_wait(volt_group *);
extern inline int volt_group_next(volt_group *, volt_task **);

int volt_group_wait_until(volt_group *g, uint64_t deadline_ns) {
  volt_check_blocks_("volt_group_wait_until", deadline_ns);
  volt_future f;
  return volt_future_wait_until(volt_group_wait_future(&f, g), deadline_ns);
}

/* ---- the next ---- */

static void group_check_keeps(volt_group *g) {
  volt_group_check_init_(g);
  VOLT_CHECK(g->how & VOLT_GROUP_KEEP_RESULTS, "volt_group_next", "%p keeps no results", (void *)g);
}

static int group_next_start(volt_future *f, volt_waker waker) {
  volt_group *g = group_of(f);
  volt_waiter_arm_(&f->waiter, g, waker);
  volt_short_lock_lock_(&g->lock);
  int result = group_try_next(g, group_taken(&f->waiter));
  return group_wait_unless_ready(f, result == VOLT_EAGAIN ? (int)VOLT_PENDING : result,
                                 NEXT); /* R4 */
}

static void group_next_give_back(volt_future *f) {
  volt_group *g = group_of(f);
  volt_task *t = *group_taken(&f->waiter);
  *group_taken(&f->waiter) = NULL;
  volt_task_regroup_(t);
  volt_short_lock_lock_(&g->lock);
  volt_task_list_insert_(&g->ended, &t->sibling); /* the oldest again */
  group_unlock_and_complete(g);                   /* R4 */
}

static void group_next_describe(volt_future *f, volt_description_ *description) {
  (void)f;
  description->ends = VOLT_ENDS_MEMBER_;
}

static const volt_future_ops_ group_next_ops = {.operation = "volt_group_next",
                                                .kind = VOLT_KIND_GROUP_,
                                                .start = group_next_start,
                                                .cancel = group_future_cancel,
                                                .set_waker = group_future_set_waker,
                                                .give_back = group_next_give_back,
                                                .poll_ctx = volt_future_poll_leaf_any_,
                                                .describe = group_next_describe};

volt_future *volt_group_next_future(volt_future *f, volt_group *g, volt_task **t) {
  group_check_keeps(g);
  *t = NULL;
  f->waiter.data = t;
  return volt_future_make_(f, &group_next_ops, g, 0);
}

int volt_group_try_next(volt_group *g, volt_task **t) {
  group_check_keeps(g);
  volt_short_lock_lock_(&g->lock);
  int result = group_try_next(g, t);
  volt_short_lock_unlock_(&g->lock);
  return result;
}

int volt_group_next_until(volt_group *g, volt_task **t, uint64_t deadline_ns) {
  volt_check_blocks_("volt_group_next_until", deadline_ns);
  volt_future f;
  return volt_future_wait_until(volt_group_next_future(&f, g, t), deadline_ns);
}
