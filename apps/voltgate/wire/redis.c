/* redis.c: the ledger of a redis session: what was sent, what is to be answered, in which state the
 * server is.
 *
 * Invariants, while the session is neither raw nor lost:
 * I1. The replies that the server still has to send for what was passed on are those of the runs, in order:
 *     a run of messages has one message for each channel of each of its commands, or an error; a
 *     silent run has none; of every other each command has one reply.
 * I2. transaction, is_version_3, is_monitor and subscriptions are the server's after the last reply
 *     that was seen.
 * I3. A run of REDIS_BLOCKS or REDIS_SYNC is the last one: nothing is passed on behind it.
 *
 * How many channels UNSUBSCRIBE without arguments leaves is known because every message of (un)
 * subscription says how many subscriptions there are afterwards.
 *
 * A client may send any number of commands before it reads a reply. Plain ones in a row are one
 * run; when the ring is full, two runs in a row are merged: the number of replies stays exact, and
 * the effect on the transaction is that of both in a row, taken to succeed. So the ring's size never
 * stops a client. What cannot be merged makes the session lost: it keeps its permit until it ends,
 * which is safe. A client that changes its subscriptions in turns with other
 * commands, more than seven times ahead of the replies, is the only one that legally gets there. */
#include "wire/redis.h"

#include "wire/redis_parts.h"

/* ---- effects: functions from the four states of a transaction to the four, two bits each ---- */

#define EFFECT(none, watches, multi, both) ((none) | (watches) << 2 | (multi) << 4 | (both) << 6)
#define KEEPS EFFECT(0, 1, 2, 3)

static uint8_t redis_effect_of(unsigned kind) {
  switch (kind) {
    case REDIS_MULTI: return EFFECT(2, 3, 2, 3);
    case REDIS_EXEC:
    case REDIS_DISCARD: return EFFECT(0, 1, 0, 0);
    case REDIS_WATCH: return EFFECT(1, 1, 2, 3);
    case REDIS_UNWATCH: return EFFECT(0, 0, 2, 3);
    case REDIS_RESET: return EFFECT(0, 0, 0, 0);
    default: return KEEPS;
  }
}

static uint8_t redis_after(uint8_t effect, uint8_t state) {
  return effect >> 2 * state & 3;
}

static uint8_t redis_compose(uint8_t first, uint8_t then) {
  return (uint8_t)EFFECT(
      redis_after(then, redis_after(first, 0)), redis_after(then, redis_after(first, 1)),
      redis_after(then, redis_after(first, 2)), redis_after(then, redis_after(first, 3)));
}

/* It is not known any more what is to be answered. */
static void redis_lose(struct redis *r) {
  r->is_lost = true;
  r->why = "the replies to what was sent cannot be counted any more";
}

/* ---- runs ---- */

static struct redis_run *redis_first_run(struct redis *r) {
  return &r->runs[r->first];
}

static struct redis_run *redis_last_run(struct redis *r) {
  return &r->runs[(r->first + r->count + REDIS_RUNS - 1) % REDIS_RUNS];
}

static unsigned redis_last_kind(const struct redis *r) {
  return r->runs[(r->first + r->count + REDIS_RUNS - 1) % REDIS_RUNS].kind;
}

static bool redis_can_merge(unsigned kind) {
  return kind <= REDIS_SILENT;
}

static bool redis_is_subscribed(const struct redis *r) {
  return r->subscriptions[0] + r->subscriptions[1] + r->subscriptions[2] > 0;
}

/* A client that monitors already gets no answer to these. */
static bool redis_is_ignored(const struct redis *r, unsigned kind) {
  return (kind == REDIS_MONITOR || kind == REDIS_SYNC) && r->is_monitor &&
         (r->is_version_3 || !redis_is_subscribed(r));
}

/* Drops runs at the front that no reply is missing for. */
static void redis_advance(struct redis *r) {
  while (r->count > 0 &&
         (redis_first_run(r)->commands == 0 || redis_is_ignored(r, redis_first_run(r)->kind))) {
    r->transaction = redis_after(redis_first_run(r)->effect, r->transaction);
    r->first = (uint8_t)((r->first + 1) % REDIS_RUNS);
    r->count--;
  }
}

static struct redis_run *redis_run_at(struct redis *r, unsigned i) {
  return &r->runs[(r->first + i) % REDIS_RUNS];
}

/* Two runs in a row become one: first has the replies of both, and their effect. */
static void redis_merge(struct redis_run *first, const struct redis_run *then) {
  first->commands += then->commands;
  first->kind = first->commands > 0 ? REDIS_PLAIN : REDIS_SILENT;
  first->effect = redis_compose(first->effect, then->effect);
}

/* Makes room in a full ring by merging the last two in a row that can be. Returns whether it did. */
static bool redis_make_room(struct redis *r) {
  for (unsigned i = r->count - 1u; i > 0; i--) {
    struct redis_run *first = redis_run_at(r, i - 1), *then = redis_run_at(r, i);
    if (!redis_can_merge(first->kind) || !redis_can_merge(then->kind) ||
        first->commands > UINT32_MAX - then->commands)
      continue;
    redis_merge(first, then);
    for (; i + 1 < r->count; i++) *redis_run_at(r, i) = *redis_run_at(r, i + 1);
    r->count--;
    return true;
  }
  return false;
}

static void redis_add_run(struct redis *r, struct redis_run run) {
  struct redis_run *last = redis_last_run(r);
  if (r->count > 0 && last->kind == run.kind && last->effect == run.effect &&
      last->messages == run.messages && last->commands < UINT32_MAX) {
    last->commands += run.commands;
  } else if (r->count < REDIS_RUNS || redis_make_room(r)) {
    r->count++;
    *redis_last_run(r) = run;
  } else {
    redis_lose(r);
  }
  redis_advance(r);
}

/* What the transaction will be, if all that was sent succeeds. */
static void redis_look_ahead(struct redis *r) {
  r->ahead = r->transaction;
  for (unsigned i = 0; i < r->count; i++) {
    r->ahead = redis_after(r->runs[(r->first + i) % REDIS_RUNS].effect, r->ahead);
  }
}

/* ---- commands ---- */

static bool redis_is_leaver(unsigned kind) {
  return kind == REDIS_RESET || (kind >= REDIS_UNSUBSCRIBE && kind <= REDIS_SUNSUBSCRIBE);
}

/* Whether a command on its way may begin or end that a subscriber is refused most commands. */
static bool redis_changes_mode(const struct redis *r) {
  for (unsigned i = 0; i < r->count; i++) {
    unsigned kind = r->runs[(r->first + i) % REDIS_RUNS].kind;
    if (kind == REDIS_RESET || kind == REDIS_HELLO || redis_is_of_subscription_(kind)) return true;
  }
  return false;
}

/* CLIENT REPLY ON, OFF, SKIP. Returns whether it is answered. */
static bool redis_change_replies(struct redis *r, unsigned detail) {
  if (detail == REDIS_REPLY_ON) r->is_silent = r->is_skipped = false;
  if (detail == REDIS_REPLY_OFF) r->is_silent = true;
  if (detail == REDIS_REPLY_SKIP && !r->is_silent) r->is_skipped_next = true;
  return detail == REDIS_REPLY_ON;
}

/* Whether the command that has come is answered. A subscriber of RESP2 is refused those that are
 * not, and so answered. */
static bool redis_is_answered(struct redis *r) {
  const struct redis_request *q = &r->request;
  bool is = !r->is_silent && !r->is_skipped;
  bool is_replies = q->kind == REDIS_CLIENT && q->arguments == 3 && q->detail >= REDIS_REPLY_ON;
  bool is_acknowledgement =
      q->kind == REDIS_REPLCONF && q->detail == REDIS_ACKNOWLEDGES && q->arguments % 2 == 1;
  if (q->kind == REDIS_RESET && q->arguments == 1) {
    r->is_silent = false;
    return !r->is_skipped;
  }
  if (!is_replies && !is_acknowledgement) return is;
  if (r->ahead & REDIS_IN_MULTI || redis_changes_mode(r)) redis_lose(r);
  if (!r->is_version_3 && redis_is_subscribed(r)) return is;
  return is_replies ? redis_change_replies(r, q->detail) : false;
}

/* What the command is, now that its arguments have come. */
static unsigned redis_kind_of_request(const struct redis_request *q) {
  switch (q->kind) {
    case REDIS_XREAD:
    case REDIS_XREADGROUP: return q->detail == REDIS_OPTIONS_BLOCK ? REDIS_BLOCKS : REDIS_PLAIN;
    case REDIS_MULTI: /* with arguments these are refused and do nothing; EXEC ends what it is in */
    case REDIS_DISCARD:
    case REDIS_UNWATCH:
    case REDIS_RESET:
    case REDIS_MONITOR: return q->arguments == 1 ? q->kind : REDIS_PLAIN;
    case REDIS_CLIENT:
    case REDIS_REPLCONF: return REDIS_PLAIN;
    default: return q->kind;
  }
}

/* Inside MULTI a command is only queued. Returns what it is there. */
static unsigned redis_kind_in_multi(struct redis *r, unsigned kind) {
  if (redis_is_of_subscription_(kind) || kind == REDIS_HELLO) {
    redis_lose(r); /* EXEC's reply is none that can be counted */
  } else if (kind == REDIS_BLOCKS || kind == REDIS_MONITOR || kind == REDIS_SYNC) {
    return REDIS_PLAIN; /* does not block there; is refused there */
  }
  return kind;
}

/* A command whose reply is not sent. */
static void redis_add_silent(struct redis *r, unsigned kind) {
  if (kind > REDIS_SILENT && kind != REDIS_BLOCKS) {
    redis_lose(r);
    return;
  }
  if (redis_effect_of(kind) != KEEPS) {
    redis_add_run(r, (struct redis_run){.kind = REDIS_SILENT, .effect = redis_effect_of(kind)});
  }
}

static void redis_add_answered(struct redis *r, unsigned kind) {
  struct redis_run run = {.commands = 1, .kind = (uint8_t)kind, .effect = redis_effect_of(kind)};
  if (redis_is_of_subscription_(kind)) {
    uint64_t messages = r->request.arguments - 1;
    run.messages = messages > UINT32_MAX ? UINT32_MAX : (uint32_t)messages;
  }
  if (kind == REDIS_BLOCKS) r->blocking++;
  r->leavers += redis_is_leaver(kind);
  redis_add_run(r, run);
}

/* Whether redis does more for it than to note something. */
static bool redis_is_work(const struct redis_request *q) {
  bool may_note = q->kind == REDIS_CLIENT || q->kind == REDIS_REPLCONF;
  return !may_note || q->detail < REDIS_REPLY_ON;
}

void redis_sent_(struct redis *r) {
  unsigned kind = redis_kind_of_request(&r->request);
  r->commands++;
  if (r->ahead & REDIS_IN_MULTI) kind = redis_kind_in_multi(r, kind);
  bool is = redis_is_answered(r);
  r->is_skipped = r->is_skipped_next;
  r->is_skipped_next = false;
  if (r->is_lost) return;
  if (is) {
    redis_add_answered(r, kind);
    r->is_unheard = false; /* its reply says that all before it is done */
  } else {
    redis_add_silent(r, kind);
    r->is_unheard |= redis_is_work(&r->request);
  }
  r->ahead = redis_after(redis_effect_of(kind), r->ahead);
}

/* ---- replies ---- */

/* The first command of the first run has been answered. */
static void redis_pop(struct redis *r, bool has_failed) {
  struct redis_run *run = redis_first_run(r);
  bool is_merged = run->kind == REDIS_PLAIN && run->effect != KEEPS;
  bool is_last = --run->commands == 0;
  r->messages_left = 0;
  r->leavers -= redis_is_leaver(run->kind);
  if (is_merged ? is_last : !has_failed || run->kind == REDIS_EXEC)
    r->transaction = redis_after(run->effect, r->transaction);
  if (is_last) run->effect = KEEPS; /* it has had it */
  redis_advance(r);
  if (has_failed || r->count == 0) redis_look_ahead(r);
}

/* The kind that a message of (un)subscription names, or REDIS_PLAIN. */
static unsigned redis_kind_of_message(const struct redis_reply *a) {
  unsigned kind = redis_kind_of_(&a->word);
  return redis_is_of_subscription_(kind) ? kind : REDIS_PLAIN;
}

static bool redis_is_published(const struct redis_reply *a) {
  return redis_word_is_(&a->word, "message") || redis_word_is_(&a->word, "pmessage") ||
         redis_word_is_(&a->word, "smessage");
}

/* Notes the new number of subscriptions. That of channels and of patterns comes as a sum. */
static void redis_count_subscriptions(struct redis *r, unsigned kind, uint64_t now) {
  unsigned of = (kind - REDIS_SUBSCRIBE) % 3;
  uint64_t before = r->subscriptions[0] + r->subscriptions[1];
  if (of == 2) {
    r->subscriptions[2] = now;
  } else if (now > before) {
    r->subscriptions[of]++;
  } else if (now < before && r->subscriptions[of] > 0) {
    r->subscriptions[of]--;
  }
}

static void redis_on_subscription(struct redis *r, unsigned kind) {
  if (r->count > 0 && redis_first_run(r)->kind == kind) {
    uint64_t all = r->subscriptions[(kind - REDIS_SUBSCRIBE) % 3];
    if (r->messages_left == 0) r->messages_left = redis_first_run(r)->messages;
    if (r->messages_left == 0) r->messages_left = all > 0 ? all : 1;
    redis_count_subscriptions(r, kind, r->reply.third);
    if (--r->messages_left == 0) redis_pop(r, false);
    return;
  }
  redis_count_subscriptions(r, kind, r->reply.third); /* the server has ended it by itself */
}

static void redis_on_reset(struct redis *r) {
  memset(r->subscriptions, 0, sizeof r->subscriptions);
  r->is_version_3 = r->is_monitor = false;
}

static void redis_on_reply(struct redis *r) {
  bool has_failed = r->reply.first == '-' || r->reply.first == '!';
  if (r->count == 0) {
    if (r->commands > 0) redis_lose(r); /* else it greets: too many clients */
    return;
  }
  unsigned kind = redis_first_run(r)->kind;
  if (redis_is_of_subscription_(kind) && (!has_failed || r->messages_left > 0)) {
    redis_lose(r);
    return;
  }
  if (kind == REDIS_RESET && !has_failed) redis_on_reset(r);
  if (kind == REDIS_HELLO && !has_failed) r->is_version_3 = r->reply.first == '%';
  if (kind == REDIS_MONITOR && !has_failed) r->is_monitor = true;
  redis_pop(r, has_failed);
}

void redis_answered_(struct redis *r) {
  const struct redis_reply *a = &r->reply;
  bool is_push = a->first == '>', is_array = a->first == '*' && !r->is_version_3;
  if (r->is_lost || a->first == '|') return; /* an attribute: the reply follows */
  if (is_push || is_array) {
    unsigned kind = redis_kind_of_message(a);
    bool is_expected = r->count > 0 && redis_first_run(r)->kind == kind;
    if (kind != REDIS_PLAIN && (is_push || redis_is_subscribed(r) || is_expected)) {
      redis_on_subscription(r, kind);
      return;
    }
    if (is_push || (redis_is_subscribed(r) && redis_is_published(a))) return;
  }
  if (r->is_monitor && a->first == '+' && a->word.size > 0 && a->word.at[0] >= '0' &&
      a->word.at[0] <= '9')
    return; /* what it monitors begins with the time */
  redis_on_reply(r);
}

/* ---- what follows ---- */

void redis_init(struct redis *r) {
  *r = (struct redis){0};
}

bool redis_is_barred_(const struct redis *r) {
  return r->count > 0 && (redis_last_kind(r) == REDIS_BLOCKS || redis_last_kind(r) == REDIS_SYNC);
}

bool redis_is_exempt_(const struct redis *r) {
  return r->leavers == 0 && (r->is_monitor || (!r->is_version_3 && redis_is_subscribed(r)));
}

bool redis_is_sync_next_(const struct redis *r) {
  return r->count == 1 && redis_last_kind(r) == REDIS_SYNC;
}

bool redis_is_blocked(const struct redis *r) {
  return r->count == 1 && redis_last_kind(r) == REDIS_BLOCKS && !r->is_raw && !r->is_lost;
}

bool redis_is_asked(const struct redis *r) {
  return r->count > 0 && !r->is_raw && !r->is_lost;
}

bool redis_may_release(const struct redis *r) {
  if (!r->has_permit || r->is_lost) return false;
  if (r->is_raw || redis_is_blocked(r)) return true;
  return r->count == 0 && r->transaction == 0 && !r->is_unheard;
}

uint64_t redis_outstanding(const struct redis *r) {
  uint64_t n = 0;
  for (unsigned i = 0; i < r->count; i++) n += r->runs[(r->first + i) % REDIS_RUNS].commands;
  return n;
}
