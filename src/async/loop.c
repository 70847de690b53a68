/* loop.c: an event loop that is not of volt, as the owner of wakers.
 *
 * Algorithm: one word has the number of wakes that are to come, whether the loop was notified since
 * its last poll, and whether it is closed. A wake notifies the loop first, if necessary, and counts
 * itself off last.
 *
 * Invariant
 *   I1  The count is that of the registrations (volt_ctx.registered) that neither a wake nor a drop
 *       has settled. Those of a poll are added at its end. So the count may be below 0 during a
 *       poll, and only then.
 *
 * Races
 *   R1  Interleaving: the loop polls a future, which is pending; a wake for it comes, finds
 *       NOTIFIED set, and does not call notify(); the loop never polls the future again. Prevented
 *       by: the loop clears NOTIFIED before it polls. A later wake that finds NOTIFIED set comes
 *       after another wake that has set it since, and that one calls notify().
 *   R2  Interleaving: the loop sees that its futures are ready, and frees what notify() touches,
 *       while a wake is in notify() or on its way there. Prevented by: a wake is counted until it
 *       has returned from notify().
 *   R3  Interleaving: the last wake counts itself off and reads `settled`, while the loop frees *l.
 *       Prevented by: CLOSED and the count are in one word. If the last wake finds CLOSED, *l is
 *       its own; else it does not touch *l any more.
 *   R4  Interleaving: the deadline of a close passes as the last wake counts itself off. Prevented
 *       by: the closing thread finds the count 0 as it clears CLOSED; then the unpark is due, and
 *       the thread waits for it. */
#include <volt/loop.h>

#include "../core/os/check.h"
#include "../core/park/blocker.h"
#include "../core/park/call.h"
#include "../core/park/spin.h"

#define NOTIFIED UINT64_C(1)
#define CLOSED UINT64_C(2)
#define ONE UINT64_C(4) /* one wake to come */

static const char loop_name[] = "volt_loop";

void volt_loop_init(volt_loop *l, volt_waker notify) {
  VOLT_CHECK(notify.wake, "volt_loop_init", "%p: notify.wake is NULL", (void *)l);
  volt_store_relaxed(&l->word, 0); /* not shared yet */
  l->notify = notify.wake;
  l->arg = notify.ctx;
  l->settled = NULL;
  l->settled_ctx = NULL;
}

static uint64_t loop_minus(uint64_t n) {
  return 0 - n;
}

static void loop_notify(volt_loop *l) {
  /* loop:T1 <-> loop:T2: polls after NOTIFIED is cleared see what came before each wake that did
   * not call notify() */
  uint64_t before = volt_fetch_or_acq_rel(&l->word, NOTIFIED);
  if (before & NOTIFIED) return; /* R1 */
  volt_wake_fn call = l->notify;
  call(l->arg);
}

static void loop_settle(void *ctx) {
  volt_loop *l = (volt_loop *)ctx;
  /* loop:S1 <-> loop:S1, loop:S2: what is freed comes after the last access of each wake */
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
  /* relaxed: CLOSED is this thread's own; notify() is still to come for a NOTIFIED not seen yet */
  uint64_t word = volt_load_relaxed(&l->word);
  VOLT_CHECK(!(word & CLOSED), loop_name, "%p: future %p is polled with a loop that was closed",
             (void *)l, (void *)f);
  /* R1. loop:T2 <-> loop:T1: this poll sees what came before each wake that did not call
   * notify() */
  if (word & NOTIFIED) volt_fetch_and_acq_rel(&l->word, ~NOTIFIED);
  volt_waker waker = {loop_wake, l};
  volt_ctx ctx = VOLT_CTX_INIT(waker);
  ctx.drop = loop_settle;
  int result = volt_future_poll_ctx(f, &ctx);
  /* relaxed: loop:S2 sees those that are settled already */
  if (ctx.registered > 0) volt_fetch_add_relaxed(&l->word, ctx.registered * ONE); /* I1 */
  VOLT_CHECK(result != VOLT_PENDING || l->notify, loop_name,
             "%p was not initialised: volt_loop_init()", (void *)l);
  if (result == VOLT_PENDING && ctx.yield) loop_notify(l);
  return result;
}

bool volt_loop_is_settled(volt_loop *l) {
  /* loop:S2 <- loop:S1: what is freed comes after the last access of each wake */
  return volt_load_acquire(&l->word) / ONE == 0;
}

int volt_loop_close_then(volt_loop *l, volt_waker settled) {
  l->settled = settled.wake;
  l->settled_ctx = settled.ctx;
  /* loop:S2 <-> loop:S1: the last wake reads `settled` as the close has set it */
  uint64_t before = volt_fetch_or_acq_rel(&l->word, CLOSED);
  VOLT_CHECK(!(before & CLOSED), loop_name, "%p is closed twice", (void *)l);
  return before / ONE == 0 ? VOLT_OK : VOLT_PENDING;
}

extern inline int volt_loop_close(volt_loop *);

int volt_loop_close_until(volt_loop *l, uint64_t deadline_ns) {
  volt_check_blocks_("volt_loop_close_until", deadline_ns);
  volt_parker parker = VOLT_PARKER_INIT;
  if (volt_loop_close_then(l, volt_parker_waker(&parker)) == VOLT_OK) return VOLT_OK;
  const volt_call_ call = {.name = "volt_loop_close_until", .kind = VOLT_KIND_LOOP_, .object = l};
  int result = volt_park_in_(&call, &parker, 1, deadline_ns);
  if (result == VOLT_OK) return VOLT_OK;
  /* loop:S2 <-> loop:S1: the last wake reads `settled` as the close has set it */
  uint64_t before = volt_fetch_and_acq_rel(&l->word, ~CLOSED);
  if (before / ONE != 0) return result;
  volt_park_out_(&parker, 1); /* R4 */
  volt_keep_cancel_(result);
  return VOLT_OK;
}
