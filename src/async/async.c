/* async.c: what the macros of volt/async.h leave to functions, and the future of an async function.
 *
 * A frame:
 *   step      0: at the beginning. A line: at the await or the yield there. FINALLY, END: where to
 *             go on, for the length of a jump. ENDED: the function has returned.
 *   result    VOLT_OK until the function leaves with something else. The first failure stands;
 *             until there is one, the first success other than VOLT_OK. */
#include <volt/async.h>

#include "../core/future/future_ops.h"
#include "../core/future/leaf.h"
#include "../core/inspect/describe.h"
#include "../core/os/check.h"
#include "frame.h"

void volt_frame_leave_(volt_frame *frame, int result) {
  VOLT_CHECK(result != VOLT_PENDING, "VOLT_RETURN", "VOLT_PENDING is not a result");
  bool fails = !volt_is_ok(result) && volt_is_ok(frame->result);
  if (frame->result == VOLT_OK || fails) frame->result = result;
  frame->step = frame->is_finally ? VOLT_STEP_END_ : VOLT_STEP_FINALLY_;
}

/* Returns true if the cancellation in ctx is not for this function: it is after VOLT_FINALLY, and
 * is not dropped. */
static bool frame_is_shielded(const volt_frame *frame, const volt_ctx *ctx) {
  return frame->is_finally && ctx->cancel == VOLT_CTX_CANCEL_ONCE;
}

int volt_frame_poll_shielded_(volt_frame *frame, volt_ctx *ctx) {
  if (!frame_is_shielded(frame, ctx)) return volt_future_poll_ctx(frame->awaiting, ctx);
  ctx->cancel = VOLT_CTX_GO_ON;
  int result = volt_future_poll_ctx(frame->awaiting, ctx);
  ctx->cancel = VOLT_CTX_CANCEL_ONCE;
  return result;
}

bool volt_frame_yields_(const volt_frame *frame, volt_ctx *ctx) {
  if (ctx->cancel != VOLT_CTX_GO_ON && !frame_is_shielded(frame, ctx)) return false;
  ctx->yield = true;
  return true;
}

bool volt_frame_yielded_(volt_frame *frame, volt_ctx *ctx) {
  if (ctx->cancel == VOLT_CTX_GO_ON || frame_is_shielded(frame, ctx)) return false;
  volt_ctx_obeyed_(ctx);
  volt_frame_leave_(frame, VOLT_ECANCELED);
  return true;
}

void volt_frame_check_(const volt_frame *frame, const char *function) {
  VOLT_CHECK(frame->step != VOLT_STEP_ENDED_, function, "polled after it has returned %s",
             volt_strresult(frame->result));
  VOLT_CHECK(frame->step == VOLT_STEP_FINALLY_ || frame->step == VOLT_STEP_END_, function,
             "the await in line %u is inside a switch", frame->step);
}

/* Where the function has awaited last; or begins. */
static uint32_t frame_line(const volt_frame *frame, const volt_site_ *site) {
  bool is_line = frame->step != 0 && frame->step < VOLT_STEP_TRAIL_;
  return is_line ? frame->step : site->line;
}

void volt_frame_check_end_(const volt_frame *frame, uintptr_t poll, int result) {
  const volt_site_ *site = volt_frame_site_(frame->site, poll);
  bool has_end = site && !site->inside; /* else it is written without BEGIN and END */
  if (!has_end || frame->step == VOLT_STEP_ENDED_) return;
  volt_panic_(site->function,
              "%s:%u: it returned %s (%d) between BEGIN and END, last at line %u: "
              "VOLT_RETURN(self, %d) would go on at VOLT_FINALLY",
              site->file, site->line, volt_strresult(result), result, frame_line(frame, site),
              result);
}

void volt_frame_blocks_(const volt_frame *frame, uintptr_t poll, const void *task,
                        const char *call) {
  static const char advice[] = "a thread that runs tasks must not block: await a future instead";
  const volt_site_ *site = volt_frame_site_(frame->site, poll);
  if (!site) volt_panic_(call, "task %p: %s", task, advice);
  volt_panic_(call, "task %p, in %s behind %s:%u: %s", task, site->function, site->file,
              frame_line(frame, site), advice);
}

/* Debug builds, and those that know the holders: a function that has returned has ended. */
static void async_check_end(const volt_async *a, int result) {
  if (VOLT_DEBUG || VOLT_SIGHT) volt_frame_check_end_(&a->frame, (uintptr_t)a->poll, result);
}

static volt_async *async_of(volt_future *f) {
  return volt_container_of(f, volt_async, future);
}

static int async_poll(volt_future *f, volt_ctx *ctx) {
  volt_async *a = async_of(f);
  int result = a->poll(a, ctx);
  if (result != VOLT_PENDING) async_check_end(a, result);
  return result;
}

static bool async_cancel(volt_future *f) {
  volt_async *a = async_of(f);
  if (volt_future_state_(f) == VOLT_FUTURE_INIT_) return true; /* the function has not begun */
  static const volt_waker none = {NULL, NULL};
  volt_ctx ctx = VOLT_CTX_INIT(none);
  ctx.budget = VOLT_CTX_BUDGET_MAX_;
  ctx.cancel = VOLT_CTX_CANCEL_ALL;
  int result = a->poll(a, &ctx);
  VOLT_CHECK(result != VOLT_PENDING, "volt_future_cancel",
             "async function %p is still pending with everything cancelled", (void *)a);
  async_check_end(a, result);
  return true;
}

static void async_leave(volt_future *f) {
  volt_frame *frame = &async_of(f)->frame;
  VOLT_CHECK(frame->step != 0, "volt_select_future",
             "async function %p has no BEGIN and END: it cannot be kept", (void *)f);
  if (frame->awaiting) volt_future_leave_(frame->awaiting);
}

/* volt_future_poll_ctx(), of what happens most: the function runs, and is not cancelled. Debug
 * builds check more. */
static int async_poll_ctx(volt_future *f, volt_ctx *ctx) {
  bool runs = volt_ctx_goes_on_(ctx) && volt_future_state_(f) < VOLT_FUTURE_READY_;
  if (VOLT_DEBUG || VOLT_UNLIKELY(!runs)) return volt_future_poll_any_(f, ctx);
  volt_decision_ *decision = ctx->decision;
  ctx->decision = NULL; /* of a select around it: not for what it awaits */
  int result = async_poll(f, ctx);
  ctx->decision = decision;
  if (result != VOLT_PENDING) return volt_future_end_(f, result);
  volt_future_set_state_(f, VOLT_FUTURE_WAITING_);
  return VOLT_PENDING;
}

static volt_future *async_inside(volt_future *f, unsigned i) {
  return i == 0 ? async_of(f)->frame.awaiting : NULL;
}

static volt_frame *async_frame(volt_future *f) {
  return &async_of(f)->frame;
}

static void async_describe(volt_future *f, volt_description_ *description) {
  description->ends = async_of(f)->frame.awaiting ? VOLT_ENDS_INNER_ : VOLT_ENDS_UNKNOWN_;
}

static const volt_future_ops_ async_ops = {.operation = "volt_async",
                                           .cancel = async_cancel,
                                           .poll_ctx = async_poll_ctx,
                                           .poll = async_poll,
                                           .leave = async_leave,
                                           .inside = async_inside,
                                           .frame = async_frame,
                                           .describe = async_describe,
                                           .ends_itself = true};

volt_future *volt_async_future(volt_async *a, volt_async_fn *fn) {
  a->frame.awaiting = NULL;
  a->frame.step = 0;
  a->frame.result = VOLT_OK;
  a->frame.is_finally = 0;
  a->frame.site = 0;
  a->poll = fn;
  return volt_future_make_(&a->future, &async_ops, NULL, 0);
}
