/* select.c: the first of several futures, or all of them.
 *
 * A future that is composed, and what its table (future_ops.h) is for:
 *
 *              task              the poller: its waker is in ctx
 *                |
 *             select             takes effect through one branch
 *            /       \
 *      timeout       async       a timeout takes effect through its inner future
 *      /     \         |
 *   receive  sleep    lock       leaves: each has a waiter, which holds the poller's waker
 *
 *   poll         Polls what is below. Each leaf registers the poller's waker by itself.
 *   cancel       Ends what is below, at once.
 *   ends_itself  Its poll obeys ctx->cancel, because something below may have to come to its end
 *                first (VOLT_FINALLY, a call on the blocking pool). A future without it is ended by
 *                cancel.
 *   leave        Lets what is below wait on without a waker, because the poller goes on without it
 *                (VOLT_SELECT_KEEP).
 *   through      The future below by which it took effect, or NULL: a select's winner, a timeout's
 *                inner future. A future without it has no such single one: a join, a function.
 *   undo         Gives back what a poll has just returned, because the future has lost: a join
 *                undoes each of its branches.
 * A leaf stands if it took effect although it was cancelled: a channel has moved its element, which
 * cannot be given back. volt_future_standing_() goes down by `through`, and returns the leaf that
 * stands, or NULL. The decision is one word of the outermost select. It is passed down where there
 * is a `through`. A thread that takes it may let one leaf take effect.
 *
 * Algorithm: a poll polls the branches. The select has no waiter of its own and no shared state but
 * the decision, so nothing else here is concurrent. When its result is known, the other branches
 * are ended. A branch that has to come to its end first is polled until it has.
 *
 * Races
 *   R1  Interleaving: two branches are granted at the same moment. Prevented by: what can be given
 *       back is given back, by cancelling the loser, or, if it was polled already, by undo. What
 *       cannot be given back is granted only by a thread that takes the decision. Each other choice
 *       here takes the decision first, too. If another thread has it, all branches are cancelled,
 *       and the one that stands has won.
 *   R2  Interleaving: the wake of a loser comes when the select and its branches are freed.
 *       Prevented by: wakers refer to the poller alone, which counts them (volt_ctx.registered).
 *   R3  Interleaving: a branch has taken the decision, and is still pending because it ends losers
 *       of its own; another branch becomes ready. Prevented by: the first one has won. The others
 *       are ended, and only the first is polled from then on.
 *   R4  Interleaving: the poller takes the decision for a send, which moves a part; meanwhile a
 *       granter finds the decision taken and dismisses its waiter, which wakes no thread; the poller
 *       frees the decision, and that branch can never win. Prevented by: before the poller frees
 *       it, it withdraws all that is queued with it, and then it polls every branch once more. What
 *       a granter does with the decision is under the lock that a withdrawal takes, too. */
#include <volt/select.h>

#include "../core/future/future_ops.h"
#include "../core/inspect/describe.h"
#include "../core/os/check.h"
#include "../core/park/locals.h"

/* xorshift64*: enough to be fair, one word a thread. */
static uint64_t select_random(void) {
  uint64_t *state = volt_thread_random_();
  uint64_t x = *state;
  if (x == 0) x = (uint64_t)(uintptr_t)state | 1;
  x ^= x >> 12;
  x ^= x << 25;
  x ^= x >> 27;
  *state = x;
  return (x * UINT64_C(0x2545F4914F6CDD1D)) >> 32;
}

void volt_select_seed(uint64_t seed) {
  *volt_thread_random_() = seed * 2 + 1;
}

/* For branches that are kept: R2. */
static void select_leave_all_but(volt_future *const *branches, uint32_t count, uint32_t kept) {
  for (uint32_t i = 0; i < count; i++) {
    if (i != kept && branches[i]) volt_future_leave_(branches[i]);
  }
}

static void select_cancel_all_but(volt_future *const *branches, uint32_t count, uint32_t kept) {
  for (uint32_t i = 0; i < count; i++) {
    if (i != kept && branches[i]) volt_future_cancel(branches[i]);
  }
}

/* Returns true if all have ended. */
static bool select_end_all_but(volt_future *const *branches, uint32_t count, uint32_t kept,
                               volt_ctx *ctx) {
  bool all = true;
  for (uint32_t i = 0; i < count; i++) {
    if (i != kept && branches[i] && !volt_future_end_branch_(branches[i], ctx)) all = false;
  }
  return all;
}

/* The i-th branch that is not NULL. */
static volt_future *select_branch_inside(volt_future *const *branches, uint32_t count, unsigned i) {
  for (uint32_t at = 0; at < count; at++) {
    if (branches[at] && i-- == 0) return branches[at];
  }
  return NULL;
}

/* ---- select ---- */

static volt_select *select_of(volt_future *f) {
  return volt_container_of(f, volt_select, future);
}

/* All branches have ended and none was chosen. If one stands all the same, it is the winner; a leaf
 * with a decision comes first. Returns true if there is a winner. */
static bool select_find_standing(volt_select *s) {
  for (uint32_t i = 0; i < s->count; i++) {
    const volt_future *leaf = s->branches[i] ? volt_future_standing_(s->branches[i]) : NULL;
    if (leaf && (leaf->decision || s->winner == UINT32_MAX)) s->winner = i;
  }
  return s->winner != UINT32_MAX;
}

/* The result is known: end the other branches, or leave them. Returns VOLT_PENDING until they have
 * ended, then the result. */
static int select_finish(volt_select *s, volt_ctx *ctx) {
  if (s->how & VOLT_SELECT_KEEP) {
    select_leave_all_but(s->branches, s->count, s->winner);
    return s->result;
  }
  if (!select_end_all_but(s->branches, s->count, s->winner, ctx)) return VOLT_PENDING; /* R1 */
  return s->winner == UINT32_MAX && select_find_standing(s) ? (int)VOLT_OK : s->result;
}

/* R4: no branch has won after all. */
static void select_open_again(volt_select *s) {
  for (uint32_t i = 0; i < s->count; i++) {
    if (s->branches[i]) volt_future_requeue_(s->branches[i], &s->decision);
  }
  volt_store_relaxed(&s->decision.taken, 0); /* nothing is queued with it */
  s->decision.mine = false;
  s->decision.shared = false;
  s->decision.is_open_again = false;
}

static int select_poll_branches(volt_select *s, volt_ctx *ctx) {
  bool any = false;
  bool is_second_round = false;
  uint32_t at = s->first;
  for (uint32_t left = s->count; left > 0; left--, at = at + 1 < s->count ? at + 1 : 0) {
    if (!s->branches[at]) continue;
    any = true;
    s->result = volt_future_poll_branch_(s->branches[at], ctx);
    bool is_taken = s->result == VOLT_PENDING && ctx->decision && ctx->decision->mine;
    if (is_taken && ctx->decision->is_open_again) {
      if (ctx->decision != &s->decision) return VOLT_PENDING; /* the outer select's */
      select_open_again(s);
      ctx->yield |= is_second_round; /* others are to run, too */
      if (is_second_round) return VOLT_PENDING;
      is_second_round = true;
      left = s->count + 1;
      continue;
    }
    if (is_taken) {
      s->winner = at; /* R3 */
      (void)select_end_all_but(s->branches, s->count, at, ctx);
      return VOLT_PENDING;
    }
    if (s->result == VOLT_PENDING) continue;
    if (volt_may_take_effect_(ctx->decision)) {
      s->winner = at;
    } else { /* R1 */
      volt_future_undo_(s->branches[at]);
      s->result = VOLT_ECANCELED;
    }
    return select_finish(s, ctx);
  }
  return any ? VOLT_PENDING : VOLT_EINVAL;
}

/* R3: the winner is known, and was still pending. Returns true if it has ended. */
static bool select_winner_has_ended(volt_select *s, volt_ctx *ctx) {
  s->result = volt_future_poll_branch_(s->branches[s->winner], ctx);
  return s->result != VOLT_PENDING;
}

static int select_poll(volt_future *f, volt_ctx *ctx) {
  volt_select *s = select_of(f);
  if (s->result == VOLT_PENDING && s->winner != UINT32_MAX && !select_winner_has_ended(s, ctx)) {
    return VOLT_PENDING;
  }
  if (s->result == VOLT_PENDING && ctx->cancel != VOLT_CTX_GO_ON) s->result = VOLT_ECANCELED;
  if (s->result != VOLT_PENDING) {
    int ended = select_finish(s, ctx);
    if (ended == VOLT_ECANCELED && s->winner == UINT32_MAX) volt_ctx_obeyed_(ctx);
    return ended;
  }
  volt_decision_ *outer = ctx->decision;
  if (!outer) ctx->decision = &s->decision;
  if (s->how & VOLT_SELECT_KEEP) ctx->decision = NULL;
  int result = select_poll_branches(s, ctx);
  ctx->decision = outer;
  return result;
}

static bool select_cancel(volt_future *f) {
  volt_select *s = select_of(f);
  if (s->how & VOLT_SELECT_KEEP) {
    select_leave_all_but(s->branches, s->count, UINT32_MAX);
    return true;
  }
  select_cancel_all_but(s->branches, s->count, s->winner);
  if (s->winner == UINT32_MAX) return !select_find_standing(s);
  volt_future *winner = s->branches[s->winner];
  volt_future_cancel(winner); /* R3: it may be pending still */
  volt_future_undo_(winner);  /* no poll has returned it */
  if (volt_future_standing_(winner)) return false;
  s->winner = UINT32_MAX;
  return true;
}

static void select_leave(volt_future *f) {
  volt_select *s = select_of(f);
  select_leave_all_but(s->branches, s->count, UINT32_MAX);
}

static volt_future *select_through(volt_future *f) {
  volt_select *s = select_of(f);
  return s->winner == UINT32_MAX ? NULL : s->branches[s->winner];
}

static volt_future *select_inside(volt_future *f, unsigned i) {
  volt_select *s = select_of(f);
  return select_branch_inside(s->branches, s->count, i);
}

/* A select that is ending waits for those that have not ended: the others are ready. */
static void select_describe(volt_future *f, volt_description_ *description) {
  volt_select *s = select_of(f);
  bool is_ending = s->result != VOLT_PENDING || s->winner != UINT32_MAX;
  description->ends = is_ending ? VOLT_ENDS_ALL_ : VOLT_ENDS_ANY_;
  volt_describe_state_(description, is_ending ? "ends %u branches" : "%u branches", s->count);
}

static const volt_future_ops_ select_ops = {.operation = "volt_select",
                                            .cancel = select_cancel,
                                            .poll_ctx = volt_future_poll_any_,
                                            .poll = select_poll,
                                            .leave = select_leave,
                                            .through = select_through,
                                            .inside = select_inside,
                                            .describe = select_describe,
                                            .ends_itself = true};

volt_future *volt_select_future(volt_select *s, volt_future *const *branches, uint32_t count,
                                unsigned how) {
  VOLT_CHECK(how <= (VOLT_SELECT_BIASED | VOLT_SELECT_KEEP), "volt_select_future", "%p: how is %u",
             (void *)s, how);
  s->branches = branches;
  s->count = count;
  s->how = how;
  s->winner = UINT32_MAX;
  s->result = VOLT_PENDING;
  volt_store_relaxed(&s->decision.taken, 0); /* not shared: no branch is queued yet */
  s->decision.mine = false;
  s->decision.shared = false;
  s->decision.is_open_again = false;
  s->first = 0;
  if (!(how & VOLT_SELECT_BIASED) && count > 1) s->first = (uint32_t)(select_random() % count);
  return volt_future_make_(&s->future, &select_ops, NULL, 0);
}

uint32_t volt_select_winner(const volt_select *s) {
  return s->winner;
}

/* ---- join ---- */

static volt_join *join_of(volt_future *f) {
  return volt_container_of(f, volt_join, future);
}

static int join_poll(volt_future *f, volt_ctx *ctx) {
  volt_join *j = join_of(f);
  if (j->ended_by == VOLT_PENDING && ctx->cancel != VOLT_CTX_GO_ON) {
    j->ended_by = VOLT_ECANCELED;
    volt_ctx_obeyed_(ctx);
  }
  int result = VOLT_OK;
  bool all = true;
  for (uint32_t i = 0; i < j->count && j->ended_by == VOLT_PENDING; i++) {
    if (!j->branches[i]) continue;
    int one = volt_future_poll_branch_(j->branches[i], ctx);
    if (one == VOLT_PENDING) {
      all = false;
    } else if (one < 0) {
      if (result == VOLT_OK) result = one;
      if (j->how & VOLT_JOIN_FAIL_FAST) j->ended_by = result;
    }
  }
  if (j->ended_by != VOLT_PENDING) {
    all = select_end_all_but(j->branches, j->count, UINT32_MAX, ctx);
    result = j->ended_by;
  }
  return all ? result : VOLT_PENDING;
}

static bool join_cancel_all(volt_future *f) {
  volt_join *j = join_of(f);
  select_cancel_all_but(j->branches, j->count, UINT32_MAX);
  return true;
}

static void join_leave(volt_future *f) {
  volt_join *j = join_of(f);
  select_leave_all_but(j->branches, j->count, UINT32_MAX);
}

/* Not called if the join failed: its branches then keep what they got, and their owner polls
 * them. */
static void join_undo(volt_future *f) {
  volt_join *j = join_of(f);
  for (uint32_t i = 0; i < j->count; i++) {
    if (j->branches[i]) volt_future_undo_(j->branches[i]);
  }
}

static volt_future *join_inside(volt_future *f, unsigned i) {
  volt_join *j = join_of(f);
  return select_branch_inside(j->branches, j->count, i);
}

static void join_describe(volt_future *f, volt_description_ *description) {
  volt_join *j = join_of(f);
  description->ends = VOLT_ENDS_ALL_;
  volt_describe_state_(description,
                       j->ended_by != VOLT_PENDING ? "ends %u branches" : "%u branches", j->count);
}

static const volt_future_ops_ join_ops = {.operation = "volt_join",
                                          .cancel = join_cancel_all,
                                          .poll_ctx = volt_future_poll_any_,
                                          .poll = join_poll,
                                          .leave = join_leave,
                                          .undo = join_undo,
                                          .inside = join_inside,
                                          .describe = join_describe,
                                          .ends_itself = true};

volt_future *volt_join_future(volt_join *j, volt_future *const *branches, uint32_t count,
                              unsigned how) {
  VOLT_CHECK(how <= VOLT_JOIN_FAIL_FAST, "volt_join_future", "%p: how is %u", (void *)j, how);
  j->branches = branches;
  j->count = count;
  j->how = how;
  j->ended_by = VOLT_PENDING;
  return volt_future_make_(&j->future, &join_ops, NULL, 0);
}
