/* loop.c: a foreign event loop as the owner of wakers.
 *
 * Algorithm: one word: how many wakes are to come, whether the loop has been told since its last
 * poll, and whether it ends. A wake tells the loop first, if need be, and counts itself off last.
 *
 * Invariant I1: the count is that of the registrations (volt_ctx.registered) that neither wake nor
 *   drop has settled. Those of a poll are added at its end, so the count may be below zero during a
 *   poll, and only then.
 *
 * Races
 *   R1  Interleaving: the loop polls a future, which is pending; a wake for it comes, finds NOTIFIED
 *       set, and does not call tell(); the loop never polls it again. Prevented by: the loop clears
 *       NOTIFIED before it polls. So a wake that finds NOTIFIED set later comes after another wake that has
 *       set it since, and that one calls tell().
 *   R2  Interleaving: the loop sees that its futures are ready, and frees what tell() touches,
 *       while a wake is in tell() or on its way there. Prevented by: a wake is counted until it has
 *       returned from tell().
 *   R3  Interleaving: the last wake counts itself off and reads `settled`, while the loop frees *l.
 *       Prevented by: CLOSED and the count are one word. If the last wake finds CLOSED, *l is its
 *       own; else it does not touch *l any more.
 *   R4  Interleaving: the deadline of a close passes as the last wake counts itself off. Prevented
 *       by: the closing thread finds count 0 as it clears CLOSED; then it is owed the unpark, and
 *       waits for it.
 *
 * Pairs
 *   T1 (acq_rel) -> T2 (acq_rel)        the polls after NOTIFIED is cleared see what came before each
 *                                       wake that did not call tell()
 *   S1 (acq_rel) -> S2 (acquire), S1    all wakes have left what is freed
 *   S2 (acq_rel) -> S1 (acquire)        the last wake reads `settled` as the close has set it */
#include <volt/loop.h>

#include "../core/check.h"
#include "../core/spin.h"

#define NOTIFIED UINT64_C(1)
#define CLOSED UINT64_C(2)
#define ONE UINT64_C(4) /* wake to come */

static const char name[] = "volt_loop";

void volt_loop_init(volt_loop *l, volt_waker tell) {
  VOLT_CHECK(tell.wake, "volt_loop_init", "%p is to tell nobody", (void *)l);
  volt_store_relaxed(&l->word, 0); /* not shared yet */
  l->notify = tell.wake;
  l->arg = tell.ctx;
  l->settled = NULL;
  l->settled_ctx = NULL;
}

static uint64_t loop_minus(uint64_t n) {
  return 0 - n;
}

static void loop_notify(volt_loop *l) {
  /* loop:T1 <-> loop:T2: the polls after NOTIFIED is cleared see what came before each wake that did
   * not call tell() */
  uint64_t before = volt_fetch_or_acq_rel(&l->word, NOTIFIED);
  if (before & NOTIFIED) return; /* R1 */
  volt_wake_fn call = l->notify;
  call(l->arg);
}

static void loop_settle(void *ctx) {
  volt_loop *l = (volt_loop *)ctx;
  /* loop:S1 <-> loop:S1, loop:S2: all wakes have left what is freed */
  uint64_t before = volt_fetch_add_acq_rel(&l->word, loop_minus(ONE));
  if (!(before & CLOSED) || before / ONE != 1) return; /* R3 */
  volt_waker settled = {l->settled, l->settled_ctx};
  if (settled.wake) settled.wake(settled.ctx);
}

static void loop_wake(void *ctx) {
  loop_notify((volt_loop *)ctx);
  loop_settle(ctx); /* R2 */
}

int volt_loop_poll(volt_loop *l, volt_future *f) {
  uint64_t word = volt_load_relaxed(&l->word); /* the loop's own are seen, and who told it */
  VOLT_CHECK(!(word & CLOSED), name, "%p: future %p is polled with a loop that was closed",
             (void *)l, (void *)f);
  /* loop:T2 <-> loop:T1: the polls after NOTIFIED is cleared see what came before each wake that did
   * not call tell(); R1 */
  if (word & NOTIFIED) volt_fetch_and_acq_rel(&l->word, ~NOTIFIED);
  volt_waker waker = {loop_wake, l};
  volt_ctx ctx = VOLT_CTX_INIT(waker);
  ctx.drop = loop_settle;
  int result = volt_future_poll_ctx(f, &ctx);
  /* relaxed: who has settled one of them already is seen by S2 */
  if (ctx.registered > 0) volt_fetch_add_relaxed(&l->word, ctx.registered * ONE); /* I1 */
  if (result == VOLT_PENDING && ctx.yield) loop_notify(l);
  return result;
}

bool volt_loop_is_settled(volt_loop *l) {
  /* loop:S2 <- loop:S1: the last wake reads `settled` as the close has set it */
  return volt_load_acquire(&l->word) / ONE == 0;
}

int volt_loop_close(volt_loop *l, volt_waker settled) {
  l->settled = settled.wake;
  l->settled_ctx = settled.ctx;
  /* loop:S2 <-> loop:S1: the last wake reads `settled` as the close has set it */
  uint64_t before = volt_fetch_or_acq_rel(&l->word, CLOSED);
  VOLT_CHECK(!(before & CLOSED), name, "%p is closed twice", (void *)l);
  return before / ONE == 0 ? VOLT_OK : VOLT_PENDING;
}

int volt_loop_close_blocking(volt_loop *l, uint64_t deadline_ns) {
  volt_parker parker = VOLT_PARKER_INIT;
  if (volt_loop_close(l, volt_parker_waker(&parker)) == VOLT_OK) return VOLT_OK;
  if (volt_park_until(&parker, 1, deadline_ns) == VOLT_OK) return VOLT_OK;
  /* loop:S2 <-> loop:S1: the last wake reads `settled` as the close has set it */
  uint64_t before = volt_fetch_and_acq_rel(&l->word, ~CLOSED);
  if (before / ONE != 0) return VOLT_ETIMEDOUT;
  return volt_park_until(&parker, 1, VOLT_NO_DEADLINE); /* R4 */
}
