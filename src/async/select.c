/* select.c: the first of several futures, or all of them.
 *
 * Algorithm: a poll polls the branches, each of which registers the poller's waker by itself; there
 * is no waiter of its own and no shared state, so nothing here is concurrent. When it is known what
 * it will return, the other branches are ended; one that has to come to its end first (a function
 * that cleans up, a call that blocks) is polled until it has.
 *
 * Race R1: two branches are granted in the same instant. Closed: what can be given back, is, when
 *   the loser is cancelled (volt_future_cancel()) or if it had already been polled (undo; of a
 *   join, each of its branches). What
 *   cannot, an element that a channel has moved, is granted only by who takes the decision; and so
 *   is everything else chosen here. If somebody else has it, all branches are cancelled: the one
 *   that stands has won.
 * Race R2: a loser's wake comes when the select, and the memory of its branches, are gone. Closed:
 *   wakers refer to the poller alone, which counts them (volt_ctx.registered).
 * Race R3: a branch has taken the decision and must still end the losers of its own. Closed: it has
 *   won; the others are ended, and only that one is polled from then on. */
#include <volt/select.h>

#include "../core/check.h"
#include "../core/futex.h"
#include "../core/future_ops.h"

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

/* R2, for those that are kept. */
static void leave_all_but(volt_future *const *branches, uint32_t count, uint32_t kept) {
  for (uint32_t i = 0; i < count; i++) {
    if (i != kept && branches[i]) volt_future_leave_(branches[i]);
  }
}

static void cancel_all_but(volt_future *const *branches, uint32_t count, uint32_t kept) {
  for (uint32_t i = 0; i < count; i++) {
    if (i != kept && branches[i]) volt_future_cancel(branches[i]);
  }
}

/* Returns whether all have ended. */
static bool end_all_but(volt_future *const *branches, uint32_t count, uint32_t kept,
                        volt_ctx *ctx) {
  bool all = true;
  for (uint32_t i = 0; i < count; i++) {
    if (i != kept && branches[i] && !volt_future_end_branch_(branches[i], ctx)) all = false;
  }
  return all;
}

/* ---- select ---- */

static volt_select *select_of(volt_future *f) {
  return volt_container_of(f, volt_select, future);
}

/* All branches have ended and none was chosen: look whether one took effect, by the decision if
 * there is such a one. Returns whether. */
static bool select_find_standing(volt_select *s) {
  for (uint32_t i = 0; i < s->count; i++) {
    const volt_future *leaf = s->branches[i] ? volt_future_standing_(s->branches[i]) : NULL;
    if (leaf && (leaf->decision || s->winner == UINT32_MAX)) s->winner = i;
  }
  return s->winner != UINT32_MAX;
}

/* It is known what it returns: end the others, or leave them. Returns it when that is done. */
static int select_finish(volt_select *s, volt_ctx *ctx) {
  if (s->how & VOLT_SELECT_KEEP) {
    leave_all_but(s->branches, s->count, s->winner);
    return s->result;
  }
  if (!end_all_but(s->branches, s->count, s->winner, ctx)) return VOLT_PENDING; /* R1 */
  return s->winner == UINT32_MAX && select_find_standing(s) ? (int)VOLT_OK : s->result;
}

static int select_poll_branches(volt_select *s, volt_ctx *ctx) {
  bool any = false;
  for (uint32_t i = 0; i < s->count; i++) {
    uint32_t at = s->first + i < s->count ? s->first + i : s->first + i - s->count;
    if (!s->branches[at]) continue;
    any = true;
    s->result = volt_future_poll_branch_(s->branches[at], ctx);
    if (s->result == VOLT_PENDING && ctx->decision && ctx->decision->mine) {
      s->winner = at; /* R3 */
      (void)end_all_but(s->branches, s->count, at, ctx);
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

/* R3: the winner is known, and was still pending. Returns whether it has ended. */
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
    leave_all_but(s->branches, s->count, UINT32_MAX);
    return true;
  }
  cancel_all_but(s->branches, s->count, s->winner);
  if (s->winner == UINT32_MAX) return !select_find_standing(s);
  volt_future *winner = s->branches[s->winner];
  volt_future_cancel(winner); /* R3: it may be pending */
  volt_future_undo_(winner);  /* nobody has seen it */
  if (volt_future_standing_(winner)) return false;
  s->winner = UINT32_MAX;
  return true;
}

static void select_leave(volt_future *f) {
  volt_select *s = select_of(f);
  leave_all_but(s->branches, s->count, UINT32_MAX);
}

static volt_future *select_through(volt_future *f) {
  volt_select *s = select_of(f);
  return s->winner == UINT32_MAX ? NULL : s->branches[s->winner];
}

static const volt_future_ops_ select_ops = {.cancel = select_cancel,
                                            .poll = select_poll,
                                            .leave = select_leave,
                                            .through = select_through,
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
  volt_store_relaxed(&s->decision.taken, 0); /* not shared: no branch is queued */
  s->decision.mine = false;
  s->decision.shared = false;
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
    all = end_all_but(j->branches, j->count, UINT32_MAX, ctx);
    result = j->ended_by;
  }
  return all ? result : VOLT_PENDING;
}

static bool join_cancel_all(volt_future *f) {
  volt_join *j = join_of(f);
  cancel_all_but(j->branches, j->count, UINT32_MAX);
  return true;
}

static void join_leave(volt_future *f) {
  volt_join *j = join_of(f);
  leave_all_but(j->branches, j->count, UINT32_MAX);
}

/* What its branches have got stays theirs if it failed: their owner looks at them then. */
static void join_undo(volt_future *f) {
  volt_join *j = join_of(f);
  for (uint32_t i = 0; i < j->count; i++) {
    if (j->branches[i]) volt_future_undo_(j->branches[i]);
  }
}

static const volt_future_ops_ join_ops = {.cancel = join_cancel_all,
                                          .poll = join_poll,
                                          .leave = join_leave,
                                          .undo = join_undo,
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
