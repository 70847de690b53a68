/* permit_client.c: a connection to a gate that grants permits.
 *
 * Algorithm: each operation is one line to the gate, and the lines that it answers. One async function
 * does them all: it sends what is in `out`, and reads lines until one is the answer. The future around
 * it is there for its undo: a permit that the owner does not get to see is given back.
 *
 * `out` has a rest of lines before, of which a part was sent, and behind it, from line_at on, the line of
 * the operation that was made last. What gives up an operation sends no part of its line if none was
 * sent yet; else a `give` behind it. The gate answers each give once, in order, so `late` counts the
 * answers that are due for what was given up; all lines before the last of them are of the past.
 *
 * Invariants
 *   I1  A byte of a line was sent => all of it stays in out until it is sent, before anything else.
 *   I2  A take was sent, and its acquire is neither under way nor HOLDING => a give stands behind it in
 *       out, or was sent.
 *   I3  late == gives of what was given up, in out or sent, that the gate has not answered. The first
 *       late_releases of them are of releases: to hold something, a client has read all answers before.
 *   I4  fd has a descriptor <=> stage is not CLOSED, or a connect is under way.
 *   I5  out has at most a part of a line that is half sent, a give, and the line that was made last.
 *
 * Races
 *   R1  Interleaving: the grant is received as the acquire is cancelled, or loses a select, or as its
 *       deadline passes; no poll returns it to the owner. Prevented by: cancel and undo give back what
 *       is held, or close what was connected.
 *   R2  Interleaving: the gate grants as the give of a cancel is on its way. Prevented by: the give
 *       gives that back; the grant is read before the answer to the give, and makes the outcome RETURNED
 *       (I3).
 *   R3  Interleaving: the gate refuses a take as the give of its cancel is on its way. Prevented by: the
 *       refusal is a line of the past, because an answer is still due. */
#include <errno.h>
#include <string.h>

#include "../../core/future/future_ops.h"
#include "../../core/inspect/describe.h"
#include "permit_line.h"

enum permit_client_stage {
  PERMIT_CLOSED,
  PERMIT_IDLE,   /* connected, and nothing is held */
  PERMIT_HOLDING /* what is in held */
};

enum permit_client_work {
  PERMIT_CONNECTS,
  PERMIT_ACQUIRES,
  PERMIT_SETTLES,
  PERMIT_WATCHES, /* until the connection ends */
  PERMIT_RELEASES
};

static volt_permit_client *permit_client_of(volt_future *f) {
  return volt_container_of(f, volt_permit_client, future);
}

static void permit_client_set_place(volt_permit_client *c, uint32_t place) {
  if (c->place != place) (void)volt_watch_send(&c->places, &place);
}

static void permit_client_hold(volt_permit_client *c, const permit_line_read *line) {
  c->held_count = line->count;
  memcpy(c->held, line->amounts, sizeof c->held);
  c->stage = line->count > 0 ? PERMIT_HOLDING : PERMIT_IDLE;
}

static void permit_client_forget(volt_permit_client *c) {
  c->stage = PERMIT_CLOSED;
  c->held_count = 0;
  c->late = c->late_releases = 0;
  c->in_size = c->out_from = c->out_size = c->line_at = 0;
  permit_client_set_place(c, 0);
}

/* The connection has ended, by this result. Returns it. */
static int permit_client_end(volt_permit_client *c, int result) {
  volt_fd_close(&c->fd);
  permit_client_forget(c);
  return result;
}

static void permit_client_note(volt_permit_client *c, const char *words) {
  size_t size = strlen(words);
  if (size >= sizeof c->words) size = sizeof c->words - 1;
  memcpy(c->words, words, size);
  c->words[size] = '\0';
}

/* ---- what the gate says ---- */

/* A line of what was given up. An acquire may be refused before its give is answered (R3); a release is
 * answered by one line. */
static void permit_client_past(volt_permit_client *c, enum permit_line_says says,
                               const permit_line_read *line) {
  if (says == PERMIT_SAYS_GRANTED && c->late == 1 && c->outcome == VOLT_PERMIT_LEFT)
    c->outcome = VOLT_PERMIT_RETURNED; /* R2; of the last that was given up, not of one before */
  bool is_refused = says == PERMIT_SAYS_REFUSED && (c->late_releases > 0 || line->is_state);
  if (says != PERMIT_SAYS_GIVEN && !is_refused) return;
  if (says == PERMIT_SAYS_GIVEN) permit_client_hold(c, line);
  if (c->late_releases > 0) c->late_releases -= 1;
  c->late -= 1;
}

static int permit_client_granted(volt_permit_client *c, const permit_line_read *line) {
  permit_client_hold(c, line);
  memcpy(c->id, line->id, sizeof c->id);
  c->waited_ns = line->waited_ns;
  return VOLT_OK;
}

/* Returns the answer to what is under way, or VOLT_PENDING. */
static int permit_client_answer(volt_permit_client *c, enum permit_line_says says,
                                const permit_line_read *line) {
  switch (says) {
    case PERMIT_SAYS_WRONG: return VOLT_ERRNO(EPROTO);
    case PERMIT_SAYS_HELLO: return c->work == PERMIT_CONNECTS ? (int)VOLT_OK : (int)VOLT_PENDING;
    case PERMIT_SAYS_QUEUED:
      if (c->work == PERMIT_ACQUIRES) permit_client_set_place(c, line->place);
      return VOLT_PENDING;
    case PERMIT_SAYS_GRANTED:
      if (c->work != PERMIT_ACQUIRES) return VOLT_ERRNO(EPROTO);
      return permit_client_granted(c, line);
    case PERMIT_SAYS_GIVEN:
      if (c->work != PERMIT_RELEASES) return VOLT_ERRNO(EPROTO);
      permit_client_hold(c, line);
      return VOLT_OK;
    case PERMIT_SAYS_REFUSED:
      permit_client_note(c, line->words);
      return c->work == PERMIT_WATCHES ? (int)VOLT_PENDING : line->result;
    case PERMIT_SAYS_NOTHING: break;
  }
  return VOLT_PENDING;
}

static int permit_client_line(volt_permit_client *c, char *line, size_t size) {
  permit_line_read read;
  if (size > 0 && line[size - 1] == '\r') size -= 1;
  line[size] = '\0';
  enum permit_line_says says = permit_line_parse(&read, line);
  if (c->late == 0 || says == PERMIT_SAYS_WRONG) return permit_client_answer(c, says, &read);
  permit_client_past(c, says, &read);
  return c->late == 0 && c->work == PERMIT_SETTLES ? (int)VOLT_OK : (int)VOLT_PENDING;
}

/* Take the lines that have come. Returns the answer, VOLT_PENDING, or VOLT_ERRNO(EPROTO). */
static int permit_client_lines(volt_permit_client *c) {
  int answer = VOLT_PENDING;
  char *at = c->in, *end = c->in + c->in_size, *stop;
  while (answer == VOLT_PENDING && (stop = (char *)memchr(at, '\n', (size_t)(end - at))) != NULL) {
    answer = permit_client_line(c, at, (size_t)(stop - at));
    at = stop + 1;
  }
  c->in_size = (uint32_t)(end - at);
  memmove(c->in, at, c->in_size);
  if (answer == VOLT_PENDING && c->in_size == sizeof c->in) return VOLT_ERRNO(EPROTO);
  return answer;
}

/* ---- what is given up ---- */

static void permit_client_hold_nothing(volt_permit_client *c) {
  c->held_count = 0;
  c->stage = PERMIT_IDLE;
}

/* The answer to the last line of out is due, and belongs to the past. Sends what can be sent at once. */
static void permit_client_await(volt_permit_client *c) {
  size_t sent = 0;
  c->late += 1;
  int result = volt_fd_try_send(&c->fd, c->out + c->out_from, c->out_size - c->out_from, 0, &sent);
  if (result == VOLT_OK) c->out_from += (uint32_t)sent; /* a failure: the next operation sees it */
}

/* An acquire is given up: it was granted, or the gate has not answered. */
static void permit_client_give_up(volt_permit_client *c) {
  static const char give[] = "give\n";
  permit_client_set_place(c, 0);
  if (c->stage == PERMIT_CLOSED) return;
  if (c->stage == PERMIT_IDLE && c->out_from <= c->line_at) {
    c->out_size = c->line_at;
    c->outcome = VOLT_PERMIT_NOT_ASKED;
    return;
  }
  c->outcome = c->stage == PERMIT_HOLDING ? VOLT_PERMIT_RETURNED : VOLT_PERMIT_LEFT;
  memcpy(c->out + c->out_size, give, sizeof give - 1); /* I2 */
  c->out_size += (uint32_t)(sizeof give - 1);
  permit_client_hold_nothing(c);
  permit_client_await(c);
}

/* A release is given up. Of all: it goes on by itself. Of a part: unless nothing of it was sent. */
static void permit_client_abandon(volt_permit_client *c) {
  if (c->stage != PERMIT_HOLDING) return;
  if (!c->gives_all && c->out_from <= c->line_at) {
    c->out_size = c->line_at;
    return;
  }
  if (c->gives_all) permit_client_hold_nothing(c);
  c->late_releases += 1;
  permit_client_await(c);
}

/* What is under way is given up: by a cancel, a lost select, a deadline. */
static void permit_client_drop(volt_permit_client *c) {
  if (c->work == PERMIT_CONNECTS) (void)permit_client_end(c, VOLT_ECANCELED);
  if (c->work == PERMIT_ACQUIRES) permit_client_give_up(c);
  if (c->work == PERMIT_RELEASES) permit_client_abandon(c);
}

/* ---- an operation ---- */

static volt_future *permit_client_send(volt_permit_client *c) {
  return volt_fd_send_future(&c->op, &c->fd, c->out + c->out_from, c->out_size - c->out_from, 0);
}

static volt_future *permit_client_receive(volt_permit_client *c) {
  return volt_fd_recv_future(&c->op, &c->fd, c->in + c->in_size, sizeof c->in - c->in_size, 0);
}

static int permit_client_run(volt_async *a, volt_ctx *ctx) {
  volt_permit_client *c = volt_container_of(a, volt_permit_client, async);
  VOLT_ASYNC_BEGIN(c);
  c->has_begun = true;
  if (c->answer != VOLT_PENDING) VOLT_RETURN(c, c->answer);
  if (c->work == PERMIT_CONNECTS) {
    VOLT_AWAIT(c, &c->dial.future);
    c->stage = PERMIT_IDLE;
  }
  for (;;) {
    while (c->out_from < c->out_size) {
      VOLT_AWAIT_RESULT(c, c->result, permit_client_send(c));
      c->out_from += (uint32_t)c->op.n;
      if (c->result == VOLT_ECANCELED) VOLT_RETURN(c, c->result);
      if (c->result != VOLT_OK) VOLT_RETURN(c, permit_client_end(c, c->result));
    }
    c->answer = permit_client_lines(c);
    if (c->answer == VOLT_ERRNO(EPROTO)) (void)permit_client_end(c, c->answer);
    if (c->answer != VOLT_PENDING) VOLT_RETURN(c, c->answer);
    VOLT_AWAIT_RESULT(c, c->result, permit_client_receive(c));
    if (c->result == VOLT_ECANCELED) VOLT_RETURN(c, c->result);
    if (c->result == VOLT_OK && c->op.n == 0) c->result = VOLT_ECLOSED;
    if (c->result != VOLT_OK) VOLT_RETURN(c, permit_client_end(c, c->result));
    c->in_size += (uint32_t)c->op.n;
  }
  VOLT_FINALLY(c);
  if (VOLT_LEAVING(c) == VOLT_ECANCELED) permit_client_drop(c);
  if (c->work == PERMIT_CONNECTS && VOLT_LEAVING(c) != VOLT_OK)
    (void)permit_client_end(c, VOLT_LEAVING(c));
  permit_client_set_place(c, 0);
  VOLT_ASYNC_END(c);
}

static int permit_client_poll(volt_future *f, volt_ctx *ctx) {
  return volt_future_poll_ctx(&permit_client_of(f)->async.future, ctx);
}

/* What its function returned with success, and no poll has returned to the owner, is given back. */
static void permit_client_undo(volt_future *f) {
  volt_permit_client *c = permit_client_of(f);
  bool is_connected = c->work == PERMIT_CONNECTS && c->stage != PERMIT_CLOSED;
  bool is_granted = c->work == PERMIT_ACQUIRES && c->stage == PERMIT_HOLDING;
  if (is_connected || is_granted) permit_client_drop(c); /* R1 */
}

static bool permit_client_cancel(volt_future *f) {
  volt_permit_client *c = permit_client_of(f);
  bool is_new = c->work == PERMIT_ACQUIRES && !c->has_begun;
  if (is_new) c->outcome = VOLT_PERMIT_NOT_ASKED;
  volt_future_cancel(&c->async.future);
  permit_client_undo(f);
  return true;
}

static void permit_client_leave_inner(volt_future *f) {
  volt_future *inner = &permit_client_of(f)->async.future;
  if (volt_future_is_waiting_(inner)) inner->ops->leave(inner);
}

static volt_future *permit_client_inside(volt_future *f, unsigned i) {
  return i == 0 ? &permit_client_of(f)->async.future : NULL;
}

static void permit_client_describe(volt_future *f, volt_description_ *description) {
  const volt_permit_client *c = permit_client_of(f);
  description->ends = VOLT_ENDS_INNER_;
  if (c->place > 0) volt_describe_state_(description, "place %u at the gate", c->place);
}

#define PERMIT_CLIENT_OPS_(name)                                                                \
  {                                                                                             \
    .operation = name, .cancel = permit_client_cancel, .poll_ctx = volt_future_poll_any_,       \
    .poll = permit_client_poll, .leave = permit_client_leave_inner, .undo = permit_client_undo, \
    .inside = permit_client_inside, .describe = permit_client_describe, .ends_itself = true     \
  }
static const volt_future_ops_ permit_client_ops[] = {
    [PERMIT_CONNECTS] = PERMIT_CLIENT_OPS_("volt_permit_client_connect"),
    [PERMIT_ACQUIRES] = PERMIT_CLIENT_OPS_("volt_permit_client_acquire"),
    [PERMIT_SETTLES] = PERMIT_CLIENT_OPS_("volt_permit_client_settle"),
    [PERMIT_WATCHES] = PERMIT_CLIENT_OPS_("volt_permit_client_lost"),
    [PERMIT_RELEASES] = PERMIT_CLIENT_OPS_("volt_permit_client_release"),
};
#undef PERMIT_CLIENT_OPS_

static void permit_client_check(const volt_permit_client *c, const char *where) {
  VOLT_CHECK(!c->future.ops || !volt_future_is_waiting_(&c->future), where,
             "%p: an operation of this client is under way", (const void *)c);
}

/* Begin a line behind what is left in out. Aborts if an operation is under way. */
static permit_line permit_client_begin(volt_permit_client *c, const char *where) {
  permit_client_check(c, where);
  if (!c->has_begun) c->out_size = c->line_at; /* of a future that was never polled */
  c->out_size -= c->out_from;
  memmove(c->out, c->out + c->out_from, c->out_size);
  c->out_from = 0;
  c->line_at = c->out_size;
  c->words[0] = '\0';
  c->has_begun = false;
  return (permit_line){.to = c->out + c->out_size, .size = 0, .is_cut = false};
}

/* The future of the work, with its line. answer: known already, or VOLT_PENDING. */
static volt_future *permit_client_make(volt_permit_client *c, enum permit_client_work work,
                                       const permit_line *line, int answer) {
  c->work = (uint8_t)work;
  c->answer = answer;
  if (answer == VOLT_PENDING) c->out_size += (uint32_t)line->size;
  volt_future_made(volt_async_future(&c->async, permit_client_run));
  return volt_future_make_(&c->future, &permit_client_ops[work], NULL, 0);
}

/* VOLT_PENDING, or why the gate cannot be asked. */
static int permit_client_ready(const volt_permit_client *c, int result) {
  if (c->stage == PERMIT_CLOSED) return VOLT_ECLOSED;
  return result == VOLT_OK ? (int)VOLT_PENDING : result;
}

/* ---- the interface ---- */

void volt_permit_client_init(volt_permit_client *c, volt_rt *rt) {
  static const volt_fd none = {.number = -1};
  memset((void *)c, 0, sizeof *c);
  c->rt = rt;
  c->fd = none;
  volt_watch_init(&c->places, sizeof c->place, &c->place, NULL);
}

volt_future *volt_permit_client_connect_future(volt_permit_client *c, const char *to) {
  static const char hello[] = "hello 1\n";
  const char *where = "volt_permit_client_connect_future";
  permit_line l = permit_client_begin(c, where);
  VOLT_CHECK(c->stage == PERMIT_CLOSED, where, "%p: this client has a connection", (void *)c);
  l.size = sizeof hello - 1;
  memcpy(l.to, hello, l.size);
  volt_future_made(volt_dial_future(&c->dial, c->rt, &c->fd, to, NULL));
  return permit_client_make(c, PERMIT_CONNECTS, &l, c->rt ? (int)VOLT_PENDING : (int)VOLT_EINVAL);
}

volt_future *volt_permit_client_acquire_future(volt_permit_client *c,
                                               const volt_permit_request *request) {
  const char *where = "volt_permit_client_acquire_future";
  permit_line l = permit_client_begin(c, where);
  VOLT_CHECK(c->stage != PERMIT_HOLDING, where, "%p: this client holds a permit", (void *)c);
  c->outcome = VOLT_PERMIT_KEPT;
  int result = permit_line_take(&l, request, c->words);
  return permit_client_make(c, PERMIT_ACQUIRES, &l, permit_client_ready(c, result));
}

volt_future *volt_permit_client_release_future(volt_permit_client *c, const char *amounts) {
  const char *where = "volt_permit_client_release_future";
  permit_line l = permit_client_begin(c, where);
  VOLT_CHECK(c->stage != PERMIT_IDLE, where, "%p: this client holds nothing", (void *)c);
  int result = permit_line_give(&l, amounts, c->words);
  c->gives_all = amounts == NULL;
  return permit_client_make(c, PERMIT_RELEASES, &l, permit_client_ready(c, result));
}

volt_future *volt_permit_client_settle_future(volt_permit_client *c) {
  permit_line l = permit_client_begin(c, "volt_permit_client_settle_future");
  int answer =
      c->late == 0 && c->stage != PERMIT_CLOSED ? (int)VOLT_OK : permit_client_ready(c, VOLT_OK);
  return permit_client_make(c, PERMIT_SETTLES, &l, answer);
}

volt_future *volt_permit_client_lost_future(volt_permit_client *c) {
  permit_line l = permit_client_begin(c, "volt_permit_client_lost_future");
  return permit_client_make(c, PERMIT_WATCHES, &l, permit_client_ready(c, VOLT_OK));
}

volt_future *volt_permit_client_place_future(volt_future *f, volt_permit_client *c,
                                             uint64_t *seen) {
  return volt_watch_changed_future(f, &c->places, seen);
}

void volt_permit_client_close(volt_permit_client *c) {
  permit_client_check(c, "volt_permit_client_close");
  (void)permit_client_end(c, VOLT_OK);
}

int volt_permit_client_detach(volt_permit_client *c) {
  permit_client_check(c, "volt_permit_client_detach");
  int number = c->stage == PERMIT_CLOSED ? -1 : volt_fd_detach(&c->fd);
  permit_client_forget(c);
  return number;
}

uint32_t volt_permit_client_place(const volt_permit_client *c) {
  uint32_t place = 0;
  (void)volt_watch_get((volt_watch *)(uintptr_t)&c->places, &place);
  return place;
}

enum volt_permit_outcome volt_permit_client_outcome(const volt_permit_client *c) {
  return (enum volt_permit_outcome)c->outcome;
}

uint64_t volt_permit_client_held(const volt_permit_client *c, const char *kind) {
  for (uint32_t i = 0; i < c->held_count; i++)
    if (strcmp(c->held[i].kind, kind) == 0) return c->held[i].amount;
  return 0;
}

bool volt_permit_client_holds(const volt_permit_client *c) {
  return c->stage == PERMIT_HOLDING;
}

const char *volt_permit_client_id(const volt_permit_client *c) {
  return c->id;
}

uint64_t volt_permit_client_waited_ns(const volt_permit_client *c) {
  return c->waited_ns;
}

const char *volt_permit_client_words(const volt_permit_client *c) {
  return c->words;
}
