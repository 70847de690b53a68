/* request.c: what a client of a permit gate asks for, and what it is answered. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "config/command.h"
#include "config/kinds.h"
#include "permit/taking.h"

enum { TAKING_WORDS = 230 }; /* of a refusal: with its word below 256 bytes */

/* Others see it from now on. */
static void taking_stands(struct taking *self, enum client_state state, uint64_t now_ns) {
  struct client *client = &self->body.session->entry;
  atomic_store_explicit(&client->since_ns, now_ns, memory_order_relaxed); /* shown only */
  /* clients:S1 -> clients:L1 */
  atomic_store_explicit(&client->state, (unsigned char)state, memory_order_release);
  if (state == CLIENT_IDLE) self->rests_ns = now_ns;
}

/* ---- it waits ---- */

void taking_say_place(struct taking *self) {
  struct permit_text line = {.size = 0};
  self->owes_place = link_is_full(&self->body.session->client);
  if (self->owes_place) return;
  uint32_t place = broker_news(taking_broker(self), &self->entry);
  if (place == 0) return;
  permits_say(&line, "queued %" PRIu32, place);
  taking_say(self, &line);
}

void taking_select(struct taking *self) {
  struct session *s = self->body.session;
  self->either[0] = broker_future(taking_broker(self), &self->entry);
  self->either[1] = &self->notified;
  s->wait.permit =
      volt_select_future(&self->select, self->either, 2, VOLT_SELECT_BIASED | VOLT_SELECT_KEEP);
}

static void taking_await_news(struct taking *self) {
  volt_future_made(volt_notify_wait_future(&self->notified, &self->entry.moved));
}

void taking_forget_select(struct taking *self) {
  self->body.session->wait.armed &= (uint8_t)~SESSION_PERMIT;
  volt_future_cancel(&self->select.future);
}

/* Nothing of its place is waited for any more, but the place itself. */
static void taking_forget_place(struct taking *self) {
  struct session *s = self->body.session;
  self->owes_place = false;
  taking_forget_select(self);
  volt_future_cancel(&self->notified);
  s->wait_ns += session_now_ns(s) - self->asked_ns;
}

void taking_queue(struct taking *self) {
  struct session *s = self->body.session;
  struct client *client = &s->entry;
  uint64_t ticket = atomic_fetch_add_explicit(&s->gate->tickets, 1, memory_order_relaxed);
  uint64_t deadline_ns = self->deadline_ns == VOLT_NO_DEADLINE ? 0 : self->deadline_ns;
  atomic_store_explicit(&client->ticket, ticket, memory_order_relaxed);
  atomic_store_explicit(&client->deadline_ns, deadline_ns, memory_order_relaxed);
  taking_stands(self, CLIENT_QUEUED, self->asked_ns);
  taking_await_news(self);
  taking_select(self);
  taking_say_place(self);
}

void taking_shows_hold(struct taking *self, uint64_t since_ns) {
  taking_stands(self, CLIENT_HOLDS, since_ns);
}

void taking_unqueue(struct taking *self) {
  taking_forget_place(self);
  broker_leave(taking_broker(self), &self->entry);
  taking_stands(self, CLIENT_IDLE, session_now_ns(self->body.session));
}

void taking_is_late(struct taking *self) {
  char words[64];
  uint64_t waited_ns = session_now_ns(self->body.session) - self->asked_ns;
  taking_unqueue(self);
  snprintf(words, sizeof words, "nothing within %" PRIu64 " ms", waited_ns / 1000000);
  taking_refuse(self, REASON_QUEUE_TIMEOUT, "timeout", words);
}

/* ---- it holds ---- */

static void taking_granted(struct taking *self, bool has_waited) {
  struct session *s = self->body.session;
  struct permit_text line = {.size = 0};
  struct permit_amounts amounts;
  uint64_t now_ns = session_now_ns(s), wait_ns = now_ns - self->asked_ns;
  self->granted_ns = now_ns;
  s->permits += 1;
  volt_shared_histogram_add_(&statistics_mine(&s->gate->statistics)->wait, wait_ns, 1);
  if (has_waited) statistics_count(&s->gate->statistics, COUNT_WAITED, 1);
  taking_stands(self, CLIENT_HOLDS, now_ns);
  broker_write(taking_broker(self), &self->entry.amounts, &amounts);
  permits_say(&line, "granted");
  permits_say_amounts(&line, &amounts);
  permits_say(&line, " id=%" PRIu64 " wait_ms=%" PRIu64, self->entry.id, wait_ns / 1000000);
  taking_say(self, &line);
}

static void taking_hold_ends(struct taking *self) {
  struct session *s = self->body.session;
  uint64_t now_ns = session_now_ns(s), hold_ns = now_ns - self->granted_ns;
  s->hold_ns += hold_ns;
  volt_shared_histogram_add_(&statistics_mine(&s->gate->statistics)->hold, hold_ns, 1);
  taking_stands(self, CLIENT_IDLE, now_ns);
}

void taking_give_all(struct taking *self) {
  broker_give_all(taking_broker(self), &self->entry);
  taking_hold_ends(self);
}

/* ---- what became of a request ---- */

static void taking_decide(struct taking *self, enum broker_outcome outcome, bool has_waited,
                          const char *why) {
  struct session *s = self->body.session;
  switch (outcome) {
    case BROKER_GRANTED: taking_granted(self, has_waited); break;
    case BROKER_QUEUED: taking_queue(self); break;
    case BROKER_BUSY: taking_refuse(self, REASON_BUSY, "busy", why); break;
    case BROKER_FULL: session_refuse(s, REASON_QUEUE_FULL); break;
    case BROKER_IMPOSSIBLE: taking_refuse(self, REASON_IMPOSSIBLE, "impossible", why); break;
    case BROKER_NEVER: taking_refuse(self, REASON_NEVER, "never", why); break;
  }
}

void taking_ready(struct taking *self) {
  struct session *s = self->body.session;
  char why[BROKER_WHY];
  if (volt_select_winner(&self->select) == 1) taking_await_news(self);
  enum broker_outcome outcome =
      broker_ready(taking_broker(self), &self->entry, session_now_ns(s), why);
  if (outcome == BROKER_QUEUED) {
    taking_select(self);
    taking_say_place(self);
    return;
  }
  taking_forget_place(self);
  if (outcome != BROKER_GRANTED) taking_stands(self, CLIENT_IDLE, session_now_ns(s));
  taking_decide(self, outcome, true, why);
}

/* ---- take, claim ---- */

/* A request that asks for more of a kind than there can be, or than `most` says. Returns false: it was refused. */
static bool taking_is_modest(struct taking *self, const struct permit_amounts *a) {
  const struct permit_amounts *most = &gate_settings(self->body.session->gate)->most;
  char words[BROKER_WHY];
  for (uint64_t i = 0; i < a->count; i++) {
    if (a->of[i].amount > PERMIT_MOST) { /* also of a claim */
      snprintf(words, sizeof words, "%s: more than 1T asked for", a->of[i].kind);
      taking_refuse(self, REASON_IMPOSSIBLE, "impossible", words);
      return false;
    }
    const uint64_t *amount = kinds_find(most, a->of[i].kind);
    if (!amount || a->of[i].amount <= *amount) continue;
    snprintf(words, sizeof words, "%s: %" PRIu64 " asked for, one request may ask for %" PRIu64,
             a->of[i].kind, a->of[i].amount, *amount);
    taking_refuse(self, REASON_NEVER, "never", words);
    return false;
  }
  return true;
}

static void taking_refuse_kind(struct taking *self, const char *kind) {
  const struct broker *b = taking_broker(self);
  struct permit_text words = {.size = 0};
  permits_say(&words, "there is no kind %s here, but", kind);
  for (uint32_t i = 0; i < b->kinds; i++) permits_say(&words, " %s", b->names[i]);
  words.bytes[words.size < TAKING_WORDS ? words.size : TAKING_WORDS] = '\0';
  taking_refuse(self, REASON_PROTOCOL, "kind", words.bytes);
}

/* Until when it may wait. */
static uint64_t taking_until_ns(const struct taking *self, const struct permit_request *r) {
  uint64_t most_ns = gate_settings(self->body.session->gate)->queue_timeout_ns;
  uint64_t wait_ns = r->has_wait ? r->wait_ns : UINT64_MAX;
  if (most_ns != 0 && wait_ns > most_ns) wait_ns = most_ns;
  bool has_end = wait_ns < VOLT_NO_DEADLINE - self->asked_ns;
  return has_end ? self->asked_ns + wait_ns : VOLT_NO_DEADLINE;
}

static void taking_take(struct taking *self, const struct permit_request *r) {
  struct session *s = self->body.session;
  struct broker *b = taking_broker(self);
  char why[BROKER_WHY];
  if (taking_waits(self) || taking_holds(self)) {
    taking_refuse(self, REASON_PROTOCOL, "state",
                  taking_holds(self) ? "it holds already: give first" : "it waits already");
    return;
  }
  if (session_is_over(s)) return; /* it drains */
  const char *unknown = broker_read(b, &r->amounts, &self->entry.amounts);
  if (unknown) {
    taking_refuse_kind(self, unknown);
    return;
  }
  if (!taking_is_modest(self, &r->amounts)) return;
  memcpy(self->entry.label, r->label, sizeof self->entry.label);
  memcpy(self->entry.command, r->command, sizeof self->entry.command);
  self->asked_ns = session_now_ns(s);
  self->deadline_ns = taking_until_ns(self, r);
  if (r->word == PERMIT_CLAIM && broker_claim(b, &self->entry, self->asked_ns)) {
    taking_granted(self, false);
    return;
  }
  bool may_wait = !r->has_wait || r->wait_ns != 0;
  taking_decide(self, broker_take(b, &self->entry, may_wait, self->asked_ns, why), false, why);
}

/* ---- give ---- */

static void taking_say_given(struct taking *self) {
  struct permit_text line = {.size = 0};
  struct permit_amounts amounts = {.count = 0};
  if (taking_holds(self)) broker_write(taking_broker(self), &self->entry.amounts, &amounts);
  permits_say(&line, "given");
  permits_say_amounts(&line, &amounts);
  taking_say(self, &line);
}

static void taking_give(struct taking *self, const struct permit_request *r) {
  struct broker *b = taking_broker(self);
  volt_amounts part;
  const char *unknown = broker_read(b, &r->amounts, &part);
  if (unknown) {
    taking_refuse_kind(self, unknown);
    return;
  }
  if (r->amounts.count > 0) {
    if (!taking_holds(self) || !broker_give(b, &self->entry, &part)) {
      taking_refuse(self, REASON_PROTOCOL, "state", "it does not hold as much");
      return;
    }
    if (!taking_holds(self)) taking_hold_ends(self);
  } else if (taking_waits(self)) {
    taking_unqueue(self);
  } else if (taking_holds(self)) {
    taking_give_all(self);
  }
  taking_say_given(self);
}

/* ---- all of it ---- */

static void taking_hello(struct taking *self, uint64_t version) {
  struct session *s = self->body.session;
  struct permit_text line = {.size = 0};
  if (version == PERMIT_VERSION) {
    permits_say(&line, "hello %d voltgate %s %s", PERMIT_VERSION, VOLTGATE_VERSION, s->gate->name);
    taking_say(self, &line);
    return;
  }
  permits_say(&line, "refused version: version 1 is spoken here");
  taking_say(self, &line);
  s->is_speechless = true; /* this was all */
  session_refuse(s, REASON_PROTOCOL);
}

static void taking_pong(struct taking *self) {
  struct permit_text line = {.size = 0};
  permits_say(&line, "pong");
  taking_say(self, &line);
}

void taking_do(struct taking *self, const struct permit_request *r) {
  if (r->word != PERMIT_NOTHING) self->rests_ns = session_now_ns(self->body.session);
  switch (r->word) {
    case PERMIT_NOTHING: break;
    case PERMIT_HELLO: taking_hello(self, r->version); break;
    case PERMIT_TAKE:
    case PERMIT_CLAIM: taking_take(self, r); break;
    case PERMIT_GIVE: taking_give(self, r); break;
    case PERMIT_LIST: taking_list(self); break;
    case PERMIT_PING: taking_pong(self); break;
  }
}
