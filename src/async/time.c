/* time.c: futures of time, on the timers of volt/timer.h.
 *
 * Algorithm: a sleep is a leaf; its waiter is that of its timer. A timeout polls its inner future,
 * and then a sleep. A tick polls a sleep, and then sets when the next one is due. All that is
 * concurrent happens in timer.c. The words of composed futures are in select.c. */
#include <volt/time.h>

#include "../core/future/future_ops.h"
#include "../core/inspect/describe.h"
#include "../core/os/check.h"

/* ---- sleep ---- */

static volt_sleep_op *sleep_of(volt_future *f) {
  return volt_container_of(f, volt_sleep_op, future);
}

static volt_timers *sleep_timers_of(volt_future *f) {
  return (volt_timers *)f->object;
}

static int sleep_start(volt_future *f, volt_waker waker) {
  volt_sleep_op *s = sleep_of(f);
  bool comes = s->deadline_ns != VOLT_NO_DEADLINE;
  if (comes && s->deadline_ns <= volt_timers_now_ns(sleep_timers_of(f))) return VOLT_OK;
  volt_timer_start(sleep_timers_of(f), &s->timer, s->deadline_ns, waker);
  return VOLT_PENDING;
}

static bool sleep_cancel(volt_future *f) {
  return volt_timer_cancel(sleep_timers_of(f), &sleep_of(f)->timer);
}

static bool sleep_set_waker(volt_future *f, volt_waker waker) {
  return volt_timer_set_waker(sleep_timers_of(f), &sleep_of(f)->timer, waker);
}

static void sleep_give_back(volt_future *f) {
  (void)f; /* time that has passed cannot be given back */
}

static volt_waiter *sleep_waiter(volt_future *f) {
  return &sleep_of(f)->timer.waiter;
}

/* The clock ends it at deadline_ns. */
static void time_describe_until(volt_description_ *description, volt_timers *timers,
                                uint64_t deadline_ns) {
  description->deadline_ns = deadline_ns;
  if (description->is_granted || description->is_brief || deadline_ns == VOLT_NO_DEADLINE) return;
  uint64_t now_ns = volt_timers_now_ns(timers);
  description->left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
}

static void sleep_describe(volt_future *f, volt_description_ *description) {
  description->object = NULL; /* the timers, which have no name */
  description->ends = VOLT_ENDS_TIME_;
  time_describe_until(description, sleep_timers_of(f), sleep_of(f)->deadline_ns);
}

static const volt_future_ops_ sleep_ops = {.operation = "volt_sleep",
                                           .kind = VOLT_KIND_SLEEP_,
                                           .start = sleep_start,
                                           .cancel = sleep_cancel,
                                           .set_waker = sleep_set_waker,
                                           .give_back = sleep_give_back,
                                           .waiter = sleep_waiter,
                                           .poll_ctx = volt_future_poll_leaf_any_,
                                           .describe = sleep_describe};

static volt_future *sleep_make(volt_sleep_op *s, volt_timers *timers, uint64_t deadline_ns) {
  s->deadline_ns = deadline_ns;
  s->timer.waiter.place = 0;
  volt_store_relaxed(&s->timer.waiter.state, 0); /* not shared: unused */
  return volt_future_make_(&s->future, &sleep_ops, timers, 0);
}

/* A virtual clock may have begun at 0. */
static void time_check(volt_timers *timers, const char *where, uint64_t deadline_ns) {
  if (!timers->is_virtual) volt_check_deadline_(where, deadline_ns);
}

volt_future *volt_sleep_future(volt_sleep_op *s, volt_timers *timers, uint64_t deadline_ns) {
  time_check(timers, "volt_sleep_future", deadline_ns);
  return sleep_make(s, timers, deadline_ns);
}

/* ---- timeout ---- */

static volt_timeout *timeout_of(volt_future *f) {
  return volt_container_of(f, volt_timeout, future);
}

/* End the inner future. Returns VOLT_PENDING until it has ended; then result, or, if a leaf of it
 * stands, the inner future's own result. */
static int timeout_end_inner(volt_timeout *t, int result, volt_ctx *ctx) {
  t->result = result;
  volt_future_cancel(&t->sleep.future);
  if (!volt_future_end_branch_(t->inner, ctx)) return VOLT_PENDING;
  return volt_future_standing_(t->inner) ? volt_future_result_(t->inner) : result;
}

static int timeout_poll(volt_future *f, volt_ctx *ctx) {
  volt_timeout *t = timeout_of(f);
  if (t->result == VOLT_PENDING && ctx->cancel != VOLT_CTX_GO_ON) t->result = VOLT_ECANCELED;
  if (t->result != VOLT_PENDING) {
    int ended = timeout_end_inner(t, t->result, ctx);
    if (ended == VOLT_ECANCELED) volt_ctx_obeyed_(ctx);
    return ended;
  }
  int result = volt_future_poll_ctx(t->inner, ctx);
  if (result != VOLT_PENDING) {
    volt_future_cancel(&t->sleep.future);
    return result;
  }
  if (volt_future_poll_branch_(&t->sleep.future, ctx) == VOLT_PENDING) return VOLT_PENDING;
  return timeout_end_inner(t, VOLT_ETIMEDOUT, ctx);
}

static bool timeout_cancel(volt_future *f) {
  volt_timeout *t = timeout_of(f);
  volt_future_cancel(t->inner);
  volt_future_cancel(&t->sleep.future);
  return !volt_future_standing_(t->inner);
}

static volt_future *timeout_through(volt_future *f) {
  return timeout_of(f)->inner;
}

static void timeout_leave(volt_future *f) {
  volt_timeout *t = timeout_of(f);
  volt_future_leave_(t->inner);
  volt_future_leave_(&t->sleep.future);
}

/* The sleep is not among them: a look says when it ends. */
static volt_future *timeout_inside(volt_future *f, unsigned i) {
  return i == 0 ? timeout_of(f)->inner : NULL;
}

static void timeout_describe(volt_future *f, volt_description_ *description) {
  volt_timeout *t = timeout_of(f);
  description->ends = VOLT_ENDS_INNER_;
  bool is_ending = t->result != VOLT_PENDING; /* the inner future has to come to its end */
  if (!is_ending)
    time_describe_until(description, sleep_timers_of(&t->sleep.future), t->sleep.deadline_ns);
}

static const volt_future_ops_ timeout_ops = {.operation = "volt_timeout",
                                             .cancel = timeout_cancel,
                                             .poll_ctx = volt_future_poll_any_,
                                             .poll = timeout_poll,
                                             .leave = timeout_leave,
                                             .through = timeout_through,
                                             .inside = timeout_inside,
                                             .describe = timeout_describe,
                                             .ends_itself = true};

volt_future *volt_timeout_future(volt_timeout *t, volt_future *inner, volt_timers *timers,
                                 uint64_t deadline_ns) {
  t->inner = inner;
  t->result = VOLT_PENDING;
  time_check(timers, "volt_timeout_future", deadline_ns);
  (void)sleep_make(&t->sleep, timers, deadline_ns);
  return volt_future_make_(&t->future, &timeout_ops, NULL, 0);
}

/* ---- interval ---- */

static volt_interval *interval_of(volt_future *f) {
  return volt_container_of(f, volt_interval, future);
}

static uint64_t interval_add_saturating(uint64_t a, uint64_t b) {
  return b < VOLT_NO_DEADLINE - a ? a + b : VOLT_NO_DEADLINE;
}

static uint64_t interval_due_after(const volt_interval *i, uint64_t now_ns) {
  uint64_t next_ns = interval_add_saturating(i->next_ns, i->period_ns);
  if (next_ns > now_ns || i->missed == VOLT_INTERVAL_BURST) return next_ns;
  if (i->missed == VOLT_INTERVAL_DELAY) return interval_add_saturating(now_ns, i->period_ns);
  uint64_t late_ns = (now_ns - i->next_ns) % i->period_ns;
  return interval_add_saturating(now_ns - late_ns, i->period_ns);
}

static int interval_poll(volt_future *f, volt_ctx *ctx) {
  volt_interval *i = interval_of(f);
  int result = volt_future_poll_ctx(&i->sleep.future, ctx);
  if (result != VOLT_OK) return result;
  i->ticked_before_ns = i->ticked_ns;
  i->ticked_ns = i->next_ns;
  i->next_ns = interval_due_after(i, volt_timers_now_ns(i->timers));
  return VOLT_OK;
}

static bool interval_cancel(volt_future *f) {
  volt_future_cancel(&interval_of(f)->sleep.future);
  return true;
}

/* The tick is due again. */
static void interval_undo(volt_future *f) {
  volt_interval *i = interval_of(f);
  i->next_ns = i->ticked_ns;
  i->ticked_ns = i->ticked_before_ns;
}

static void interval_leave(volt_future *f) {
  volt_future_leave_(&interval_of(f)->sleep.future);
}

static void interval_describe(volt_future *f, volt_description_ *description) {
  volt_interval *i = interval_of(f);
  description->object = i;
  description->ends = VOLT_ENDS_TIME_;
  time_describe_until(description, i->timers, i->sleep.deadline_ns);
}

static const volt_future_ops_ interval_ops = {.operation = "volt_interval_tick",
                                              .kind = VOLT_KIND_INTERVAL_,
                                              .cancel = interval_cancel,
                                              .poll_ctx = volt_future_poll_any_,
                                              .poll = interval_poll,
                                              .leave = interval_leave,
                                              .undo = interval_undo,
                                              .describe = interval_describe};

void volt_interval_init(volt_interval *i, volt_timers *timers, uint64_t start_ns,
                        uint64_t period_ns, enum volt_interval_missed missed) {
  VOLT_CHECK(period_ns > 0, "volt_interval_init", "%p: a period of 0 ns", (void *)i);
  VOLT_CHECK((unsigned)missed <= VOLT_INTERVAL_DELAY, "volt_interval_init", "%p: missed is %u",
             (void *)i, (unsigned)missed);
  time_check(timers, "volt_interval_init", start_ns);
  i->timers = timers;
  i->next_ns = start_ns;
  i->period_ns = period_ns;
  i->missed = (uint32_t)missed;
  i->ticked_ns = 0;
  i->ticked_before_ns = 0;
  volt_future_make_(&i->future, &interval_ops, NULL, 0);
  volt_future_set_result_(&i->future, VOLT_PENDING); /* no tick has been asked for */
}

volt_future *volt_interval_tick_future(volt_interval *i) {
  VOLT_CHECK(i->timers, "volt_interval", "%p was not initialised: volt_interval_init()", (void *)i);
  VOLT_CHECK(!volt_future_is_waiting_(&i->future), "volt_interval_tick_future",
             "%p: its last tick is pending", (void *)i);
  (void)sleep_make(&i->sleep, i->timers, i->next_ns);
  return volt_future_make_(&i->future, &interval_ops, NULL, 0);
}

uint64_t volt_interval_due_ns(const volt_interval *i) {
  return i->ticked_ns;
}
