/* select.h: wait for the first of several futures, or for all of them.
 *
 *   volt_future *either[] = {volt_sem_acquire_future(&self->permit, &pool, 1),
 *                            volt_sleep_future(&self->nap, timers, deadline_ns)};
 *   VOLT_AWAIT_RESULT(self, r, volt_select_future(&self->select, either, 2, VOLT_SELECT_FAIR));
 *   if (volt_select_winner(&self->select) == 0) ... the permit is ours, the sleep was cancelled
 *
 * Branches may be any mixture of futures, selects and joins included. Nothing is allocated: the
 * branches are the caller's, and so is the array, both until the select or join is ready or
 * cancelled. (So in a function that awaits them, they belong in its struct, the array above too.) A
 * branch that is NULL takes no part.
 *
 * One branch of a select wins, and only it takes effect, with the exceptions below. The others are
 * cancelled before the select is ready (with VOLT_SELECT_KEEP they are not):
 *   - A branch that was granted at the same moment gives back what it got. That includes what it
 *     got before it came into the select: if a branch is ready already and its grant in use, put
 *     NULL in its place.
 *   - A channel moves an element for one branch only. It may do so for a loser, too, with
 *     VOLT_SELECT_KEEP, or before the branch came into the select. The loser then polls as VOLT_OK.
 *   - A send, write or sendfile that loses may have moved a part: its volt_op.n says how much.
 *   - What a loser has already run is not undone: an async function that has come to its end, a
 *     task.
 *   - A branch that must come to its end first is awaited: an async function runs its VOLT_FINALLY,
 *     a call on the blocking pool returns, a group's tasks end.
 * The same happens when the task that awaits the select is cancelled, and at the deadline of
 * volt_future_wait_until() in a fiber. volt_future_cancel() of the whole, and that deadline on a
 * thread, do not wait: they cancel all of it at once (volt/async.h), and block until a call on the
 * blocking pool has returned. */
#ifndef VOLT_SELECT_H
#define VOLT_SELECT_H

#include "future.h"

/* What a select does when more than one branch is ready, and with those that lose. */
enum volt_select_how {
  VOLT_SELECT_FAIR = 0,   /* the first that is ready, from a random branch on */
  VOLT_SELECT_BIASED = 1, /* the first that is ready, from branch 0 on */
  VOLT_SELECT_KEEP = 2    /* with either: losers stay queued, and wake nothing until polled again */
};

/* What a join does when a branch fails. */
enum volt_join_how {
  VOLT_JOIN_ALL = 0,      /* waits for the others */
  VOLT_JOIN_FAIL_FAST = 1 /* cancels the others */
};

/* Members are private. */
typedef struct volt_select {
  volt_future future;
  volt_future *const *branches;
  uint32_t count;
  uint32_t first; /* the branch to begin with */
  uint32_t winner;
  uint32_t how;
  int result; /* VOLT_PENDING until it is known */
  volt_decision_ decision;
} volt_select;

/* Members are private. */
typedef struct volt_join {
  volt_future future;
  volt_future *const *branches;
  uint32_t count;
  uint32_t how;
  int ended_by; /* the result with which it ends its branches, or VOLT_PENDING */
} volt_join;

VOLT_BEGIN_DECLS

/* A future that is ready when one of the branches is, with the result of that branch.
 * s: the caller's memory; its content is overwritten. branches: the caller's, count of them, until
 *   the select is ready or cancelled. how: VOLT_SELECT_FAIR or VOLT_SELECT_BIASED,
 *   optionally | VOLT_SELECT_KEEP. With KEEP the losers are still pending: select them again, or
 *   cancel them, before you free them.
 * Returns &s->future: polls as the winner; VOLT_EINVAL if there is no branch; VOLT_ECANCELED or
 *   VOLT_ETIMEDOUT if it was given up: then all branches were cancelled (with KEEP none was).
 * Cancel: volt_future_cancel(); all branches are cancelled, too (with KEEP none is).
 * Threads: the owner of *s and of all branches, one at a time. */
VOLT_API VOLT_NODISCARD volt_future *volt_select_future(volt_select *s,
                                                        volt_future *const *branches,
                                                        uint32_t count, unsigned how);

/* A future that is ready when all branches are. The first poll starts the branches in the array's
 * order. Each later poll polls all of them in that order (a poll of a branch that is ready does
 * nothing). With VOLT_JOIN_FAIL_FAST a poll stops at the first branch that failed; all others are
 * then cancelled in the array's order, also those that were not started yet.
 * j: the caller's memory; its content is overwritten. branches: the caller's, count of them, until
 *   the join is ready or cancelled. how: VOLT_JOIN_ALL or VOLT_JOIN_FAIL_FAST.
 * Returns &j->future: polls as VOLT_OK if all branches succeed (volt_is_ok()); else as the first
 *   branch, in the array's order, that failed by itself; VOLT_ECANCELED or VOLT_ETIMEDOUT if it was
 *   given up. Then the branches that were not ready were cancelled, and the others keep what they
 *   got: poll them to know.
 * Cancel: volt_future_cancel(). If a join that has just succeeded (or got VOLT_ELAGGED: a broadcast
 *   receiver lost values) loses a select, its branches give back what can be given back. If it
 *   failed, they keep what they got.
 * Threads: the owner of *j and of all branches, one at a time.
 * Cost: each poll polls every branch; for hundreds of tasks use a volt_group. */
VOLT_API VOLT_NODISCARD volt_future *volt_join_future(volt_join *j, volt_future *const *branches,
                                                      uint32_t count, unsigned how);

/* Which branch has won, as an index; UINT32_MAX if none has, or the select is not ready. A
 * volt_future_poll() of that branch returns its result once more.
 * Threads: the owner of *s. */
VOLT_API uint32_t volt_select_winner(const volt_select *s);

/* Make the fair selects of this thread reproducible: the same seed gives the same sequence of first
 * branches.
 * Threads: any; affects only the calling thread. */
VOLT_API void volt_select_seed(uint64_t seed);

VOLT_END_DECLS
#endif
