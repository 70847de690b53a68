/* dial.c: connect to what a name stands for.
 *
 * Algorithm: an async function looks the name up, and connects to one address after another, each
 * attempt with a deadline. The future around it is there for its undo: a connection that the owner
 * does not get to see is closed.
 *
 * Invariant
 *   I1  *out has a descriptor while an attempt is under way, and when the function has returned
 *       VOLT_OK; else none.
 *
 * Races
 *   R1  Interleaving: the connection is made as the dial is cancelled, or loses a select, or as its
 *       deadline passes; its own result stands, and no poll returns it to the owner. Prevented by:
 *       cancel and undo close *out. A poll returns VOLT_OK to a task that is cancelled; so the
 *       connection is the task's. */
#include <volt/net.h>

#include "../../core/future/future_ops.h"
#include "../../core/inspect/describe.h"

static const uint64_t attempt_default_ns = 5000000000;

static volt_dial *dial_of(volt_future *f) {
  return volt_container_of(f, volt_dial, future);
}

static uint64_t dial_deadline_ns(const volt_dial *d) {
  uint64_t now_ns = volt_rt_now_ns(d->rt);
  return d->attempt_ns < VOLT_NO_DEADLINE - now_ns ? now_ns + d->attempt_ns : VOLT_NO_DEADLINE;
}

static int dial_open(volt_dial *d) {
  const volt_address *at = &d->resolve.addresses[d->next];
  int result = volt_socket_open(d->out, d->rt, at->as.any.sa_family, SOCK_STREAM, 0);
  if (result == VOLT_OK && !(d->flags & VOLT_DIAL_DELAY)) result = volt_fd_nodelay(d->out);
  if (result != VOLT_OK) volt_fd_close(d->out);
  return result;
}

static volt_future *dial_connect(volt_dial *d) {
  const volt_address *at = &d->resolve.addresses[d->next];
  volt_future *connect = volt_fd_connect_future(&d->op, d->out, &at->as.any, at->size);
  volt_timers *timers = volt_rt_timers(d->rt);
  return volt_timeout_future(&d->timeout, connect, timers, dial_deadline_ns(d));
}

static int dial_run(volt_async *a, volt_ctx *ctx) {
  volt_dial *d = volt_container_of(a, volt_dial, async);
  VOLT_ASYNC_BEGIN(d);
  if (d->result != VOLT_OK) VOLT_RETURN(d, d->result);
  VOLT_AWAIT(d, &d->resolve.async.future);
  for (d->next = 0; d->next < d->resolve.count; d->next++) {
    d->result = dial_open(d);
    if (d->result != VOLT_OK) continue;
    VOLT_AWAIT_RESULT(d, d->result, dial_connect(d));
    if (d->result == VOLT_OK) break;
    volt_fd_close(d->out);
    if (d->result == VOLT_ECANCELED) break;
  }
  VOLT_RETURN(d, d->result);
  VOLT_FINALLY(d);
  volt_resolve_free(&d->resolve);
  VOLT_ASYNC_END(d);
}

static int dial_poll(volt_future *f, volt_ctx *ctx) {
  return volt_future_poll_ctx(&dial_of(f)->async.future, ctx);
}

static bool dial_cancel(volt_future *f) {
  volt_dial *d = dial_of(f);
  volt_future_cancel(&d->async.future);
  volt_fd_close(d->out); /* R1 */
  return true;
}

static void dial_undo(volt_future *f) {
  volt_fd_close(dial_of(f)->out); /* R1 */
}

static void dial_leave(volt_future *f) {
  volt_future *inner = &dial_of(f)->async.future;
  if (volt_future_is_waiting_(inner)) inner->ops->leave(inner);
}

static volt_future *dial_inside(volt_future *f, unsigned i) {
  return i == 0 ? &dial_of(f)->async.future : NULL;
}

static void dial_describe(volt_future *f, volt_description_ *description) {
  volt_dial *d = dial_of(f);
  description->ends = VOLT_ENDS_INNER_;
  if (d->resolve.count > 0)
    volt_describe_state_(description, "address %zu of %zu", d->next + 1, d->resolve.count);
}

static const volt_future_ops_ dial_ops = {.operation = "volt_dial",
                                          .cancel = dial_cancel,
                                          .poll_ctx = volt_future_poll_any_,
                                          .poll = dial_poll,
                                          .leave = dial_leave,
                                          .undo = dial_undo,
                                          .inside = dial_inside,
                                          .describe = dial_describe,
                                          .ends_itself = true};

volt_future *volt_dial_future(volt_dial *d, volt_rt *rt, volt_fd *out, const char *to,
                              const volt_dial_config *config) {
  static const volt_dial_config defaults = {0};
  static const volt_fd none = {.number = -1};
  if (!config) config = &defaults;
  bool is_valid =
      !(config->flags & ~(unsigned)VOLT_DIAL_DELAY) && !config->reserved[0] && !config->reserved[1];
  *out = none;
  d->rt = rt;
  d->out = out;
  d->next = 0;
  d->attempt_ns = config->attempt_ns ? config->attempt_ns : attempt_default_ns;
  d->flags = config->flags;
  d->result = is_valid ? VOLT_OK : VOLT_EINVAL;
  volt_future_made(volt_resolve_future(&d->resolve, rt, to));
  volt_future_made(volt_async_future(&d->async, dial_run));
  return volt_future_make_(&d->future, &dial_ops, NULL, 0);
}

const char *volt_dial_error(const volt_dial *d, int result) {
  const char *lookup = volt_resolve_error(&d->resolve);
  return lookup && !volt_is_ok(result) ? lookup : volt_strerror(result);
}
