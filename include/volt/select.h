/* select.h: wait for the first of several futures, or for all of them.
 *
 *   volt_future *either[] = {volt_sem_acquire_future(&self->permit, &pool, 1),
 *                            volt_sleep_until(&self->nap, timers, deadline_ns)};
 *   VOLT_AWAIT_RESULT(self, r, volt_select_future(&self->select, either, 2, VOLT_SELECT_FAIR));
 *   if (volt_select_winner(&self->select) == 0) ... the permit is ours, the sleep was cancelled
 *
 * Any mixture of futures, these included; nothing is allocated: the branches are the caller's, and
 * so is the array, both until the whole is ready or cancelled. (Across an await they belong into
 * the task's struct, the array above too.) A branch that is NULL takes no part.
 *
 * Exactly one branch of a select takes effect. The others are cancelled before it is ready, each in
 * whatever state it is: one that was granted in the same instant gives back what it got (or before
 * it came here: what is yours already, put NULL in its place), and a channel moves an element for
 * one branch only (with VOLT_SELECT_KEEP, or before the branch came here, it may do so for a loser,
 * too: that one then polls as VOLT_OK). What has run by then, an async function to its end, a task,
 * has run. One that must come to its end first, is awaited: an async function runs its
 * VOLT_FINALLY, a call on the blocking pool returns, a group's tasks end. The same when the task
 * that awaits is cancelled.
 * volt_future_cancel() of the whole, and the deadline of volt_block_on(), do not wait: they cancel
 * all of it at once (volt/async.h), and block until a call that blocks has returned. */
#ifndef VOLT_SELECT_H
#define VOLT_SELECT_H

#include "future.h"

/* What a select does when more than one branch is ready, and with those that lose. */
enum volt_select_how {
  VOLT_SELECT_FAIR = 0,   /* looks at the branches from a random one on, in turn */
  VOLT_SELECT_BIASED = 1, /* the first branch that is ready */
  VOLT_SELECT_KEEP = 2    /* added to either: losers wait on, and wake nobody until polled again */
};

/* What a join does when a branch fails. */
enum volt_join_how {
  VOLT_JOIN_ALL = 0,      /* waits for the others all the same */
  VOLT_JOIN_FAIL_FAST = 1 /* cancels the others */
};

/* Members are private. */
typedef struct volt_select {
  volt_future future;
  volt_future *const *branches;
  uint32_t count;
  uint32_t first; /* that is looked at */
  uint32_t winner;
  uint32_t how;
  int result; /* once it is known */
  volt_decision_ decision;
} volt_select;

/* Members are private. */
typedef struct volt_join {
  volt_future future;
  volt_future *const *branches;
  uint32_t count;
  uint32_t how;
  int ended_by; /* why it ends the rest, once it does */
} volt_join;

VOLT_BEGIN_DECLS

/* A future that is ready when one of the branches is, with its result.
 * branches: of the caller, until it is ready or cancelled. how: VOLT_SELECT_FAIR or
 *   VOLT_SELECT_BIASED, plus VOLT_SELECT_KEEP. With KEEP the losers are still pending: select them
 *   again, or cancel them, before their memory ends.
 * Returns &s->future: polls as the winner; VOLT_EINVAL if there is no branch; VOLT_ECANCELED or
 *   VOLT_ETIMEDOUT if it was given up, then all branches were cancelled (with KEEP none was).
 * Threads: the owner of s and of all branches. */
VOLT_API volt_future *volt_select_future(volt_select *s, volt_future *const *branches,
                                         uint32_t count, unsigned how);

/* A future that is ready when all branches are.
 * Returns &j->future: polls as VOLT_OK if all of them succeed (volt_is_ok()); else as
 *   the first branch, in the array's order, that failed by itself (with VOLT_JOIN_FAIL_FAST others
 *   may have been cancelled then); VOLT_ECANCELED or VOLT_ETIMEDOUT if it was given up: then the
 *   branches that were not ready were cancelled; those that were keep what they got: poll them to
 *   know. Ready with a success, or VOLT_ELAGGED, in the instant in which it loses a select, its
 *   branches give back what can be; if it failed, they keep what they got then, too.
 * Order: the first poll starts the branches in the array's order, and each later poll polls all of
 *   them in that order (a poll of a branch that is ready does nothing). With VOLT_JOIN_FAIL_FAST a
 *   poll stops at the first branch that failed. All others are then cancelled in the array's order,
 *   those that were not started yet, too.
 * Cost: each poll looks at every branch; for hundreds of tasks use a volt_group. */
VOLT_API volt_future *volt_join_future(volt_join *j, volt_future *const *branches, uint32_t count,
                                       unsigned how);

/* Which branch it was, if the select has become ready; its result is what volt_future_poll() of it
 * returns once more. UINT32_MAX: none. */
VOLT_API uint32_t volt_select_winner(const volt_select *s);

/* Make this thread's fair selects reproducible: the same seed, the same sequence of first
 * branches. */
VOLT_API void volt_select_seed(uint64_t seed);

VOLT_END_DECLS
#endif
