/* loop.c: an event loop of somebody else's as the owner of wakers.
 *
 * Algorithm: one word: how many wakes are to come, whether the loop has been told since its last
 * poll, and whether it ends. A wake tells the loop first, if need be, and counts itself off last.
 *
 * Invariant I1: the count is that of the registrations (volt_ctx.registered) that neither wake nor
 *   drop has settled; those of a poll are added at its end, so it is below zero for a while, but
 *   only during a poll.
 *
 * Races
 *   R1  A wake comes as the loop polls, finds that the loop has been told, and tells nobody; the
 *       loop polled that future before. Closed: the loop takes TOLD away before it polls: whoever
 *       finds TOLD set after that has been preceded by one who tells it after that.
 *   R2  The loop sees that its futures are ready and frees what tell() touches, while a wake is on
 *       its way there, or in it. Closed: a wake is counted until it has returned from tell().
 *   R3  The last wake is counted off and looks for whom to tell, while the loop frees *l. Closed:
 *       CLOSED and the count are one word: if the last finds CLOSED, *l is its own, and else it
 *       does not touch it any more.
 *   R4  The deadline of a close passes as the last wake is counted off. Closed: whoever finds count 0
 *       as it takes CLOSED back is owed the unpark.
 *
 * Pairs
 *   T1 (acq_rel) -> T2 (acq_rel)        whoever was not told because of TOLD is seen by the polls
 *                                       after TOLD is taken away
 *   S1 (acq_rel) -> S2 (acquire), S1    what is freed has been left by all who have settled
 *   S2 (acq_rel) -> S1 (acquire)        the last finds settled */
#include <volt/loop.h>

#include "check.h"
#include "park.h"

#define TOLD UINT64_C(1)
#define CLOSED UINT64_C(2)
#define ONE UINT64_C(4) /* wake to come */

static const char name[] = "volt_loop";

void volt_loop_init(volt_loop *l, volt_waker tell) {
  VOLT_CHECK(tell.wake, "volt_loop_init", "%p is to tell nobody", (void *)l);
  volt_store_relaxed(&l->word, 0); /* not shared yet */
  l->tell = tell.wake;
  l->arg = tell.ctx;
  l->settled = NULL;
  l->settled_ctx = NULL;
}

static void tell(volt_loop *l) {
  uint64_t before = volt_fetch_or_acq_rel(&l->word, TOLD); /* T1: pairs T2 */
  if (before & TOLD) return;                               /* R1 */
  volt_wake_fn call = l->tell;
  call(l->arg);
}

static void settle(void *ctx) {
  volt_loop *l = (volt_loop *)ctx;
  uint64_t before = volt_fetch_add_acq_rel(&l->word, ~ONE + 1); /* S1: pairs S1, S2 */
  if (!(before & CLOSED) || before / ONE != 1) return;          /* R3 */
  volt_waker settled = {l->settled, l->settled_ctx};
  if (settled.wake) settled.wake(settled.ctx);
}

static void wake(void *ctx) {
  tell((volt_loop *)ctx);
  settle(ctx); /* R2 */
}

int volt_loop_poll(volt_loop *l, volt_future *f) {
  uint64_t word = volt_load_relaxed(&l->word); /* the loop's own are seen, and who told it */
  VOLT_CHECK(!(word & CLOSED), name, "%p: future %p is polled with a loop that was closed",
             (void *)l, (void *)f);
  if (word & TOLD) volt_fetch_and_acq_rel(&l->word, ~TOLD); /* T2: pairs T1; R1 */
  volt_waker waker = {wake, l};
  volt_ctx ctx = VOLT_CTX_INIT(waker);
  ctx.drop = settle;
  int result = volt_future_poll_ctx(f, &ctx);
  /* relaxed: who has settled one of them already is seen by S2 */
  if (ctx.registered > 0) volt_fetch_add_relaxed(&l->word, ctx.registered * ONE); /* I1 */
  if (result == VOLT_PENDING && ctx.yield) tell(l);
  return result;
}

bool volt_loop_is_settled(volt_loop *l) {
  return volt_load_acquire(&l->word) / ONE == 0; /* S2: pairs S1 */
}

int volt_loop_close(volt_loop *l, volt_waker settled) {
  l->settled = settled.wake;
  l->settled_ctx = settled.ctx;
  uint64_t before = volt_fetch_or_acq_rel(&l->word, CLOSED); /* S2: pairs S1 */
  VOLT_CHECK(!(before & CLOSED), name, "%p is closed twice", (void *)l);
  return before / ONE == 0 ? VOLT_OK : VOLT_PENDING;
}

int volt_loop_close_blocking(volt_loop *l, uint64_t deadline_ns) {
  volt_parker parker = VOLT_PARKER_INIT;
  if (volt_loop_close(l, volt_parker_waker(&parker)) == VOLT_OK) return VOLT_OK;
  if (volt_park_until(&parker, 1, deadline_ns) == VOLT_OK) return VOLT_OK;
  uint64_t before = volt_fetch_and_acq_rel(&l->word, ~CLOSED); /* S2: pairs S1 */
  if (before / ONE != 0) return VOLT_ETIMEDOUT;
  return volt_park_until(&parker, 1, VOLT_NO_DEADLINE); /* R4 */
}
