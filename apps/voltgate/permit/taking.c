/* taking.c: a client of a permit gate, from its first line to its end.
 *
 * One task, which waits for one future at a time, as all sessions do: the client's socket, a deadline, news
 * of the gate, and while it is queued its place. What it says is read a line at a time; while words for
 * it are kept because it does not read, it is not read either, and only its end is seen.
 *
 * The end of the connection is the end of what it holds: behind VOLT_FINALLY, whichever way it comes, the
 * queue is left first, and then all is given back. Only then does it hear why. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* POLLRDHUP */
#endif
#include "permit/taking.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "permit/peer.h"

enum { TAKING_ROUNDS = 16 }; /* receives in a row */

static struct taking *taking_of(volt_async *a) {
  struct session_body *body = volt_container_of(a, struct session_body, async);
  return volt_container_of(body, struct taking, body);
}

/* ---- words ---- */

void taking_say(struct taking *self, struct permit_text *line) {
  struct session *s = self->body.session;
  permits_say_end(line);
  int result = link_send(&s->client, line->bytes, line->size);
  s->down += line->size;
  if (result == VOLT_ENOMEM) {
    session_fail(s, VOLT_ENOMEM);
  } else if (result != VOLT_OK) {
    session_end(s, SESSION_BY_CLIENT);
  }
}

void taking_refuse(struct taking *self, enum gate_reason reason, const char *word,
                   const char *words) {
  struct permit_text line = {.size = 0};
  gate_refused(self->body.session->gate, NULL, reason);
  permits_say(&line, "refused %s: %s", word, words);
  taking_say(self, &line);
}

/* ---- what it says ---- */

/* Returns true: a line was done; look for the next. */
static bool taking_do_line(struct taking *self) {
  struct session *s = self->body.session;
  struct permit_request r;
  size_t used;
  const char *why;
  if (self->size == 0 || link_is_full(&s->client)) return false;
  switch (permits_read(&r, self->bytes, self->size, &used, &why)) {
    case PERMIT_NEEDS_MORE: return false;
    case PERMIT_MALFORMED:
      s->why = why;
      session_refuse(s, REASON_PROTOCOL);
      return false;
    case PERMIT_LINE: break;
  }
  self->size = (uint16_t)(self->size - used);
  memmove(self->bytes, self->bytes + used, self->size);
  taking_do(self, &r);
  return s->ending == SESSION_GOES_ON;
}

/* Returns true: there may be more. */
static bool taking_receive(struct taking *self) {
  struct session *s = self->body.session;
  size_t n;
  int result = link_recv(&s->client, self->bytes + self->size, sizeof self->bytes - self->size, &n);
  if (result == VOLT_EAGAIN) return false;
  if (result != VOLT_OK || n == 0) {
    session_end(s, taking_waits(self) ? SESSION_LEFT : SESSION_BY_CLIENT);
    return false;
  }
  s->up += n;
  self->size = (uint16_t)(self->size + n);
  return true;
}

/* It neither holds nor waits: it may be its time to go. */
static void taking_look_at_rest(struct taking *self) {
  struct session *s = self->body.session;
  if (session_is_over(s)) return;
  uint64_t idle_ns = gate_settings(s->gate)->idle_timeout_ns;
  if (idle_ns && session_now_ns(s) >= self->rests_ns + idle_ns) session_refuse(s, REASON_IDLE);
}

/* What is kept for it, and what was put off while it did not read. */
static void taking_catch_up(struct taking *self) {
  struct session *s = self->body.session;
  if (link_is_full(&s->client) && link_flush(&s->client) != VOLT_OK) {
    session_end(s, SESSION_BY_CLIENT);
  }
  if (self->owes_place && s->ending == SESSION_GOES_ON) taking_say_place(self);
}

static bool taking_can_list(const struct taking *self) {
  const struct session *s = self->body.session;
  return self->listing != LISTING_NONE && s->ending == SESSION_GOES_ON && !link_is_full(&s->client);
}

/* All lines that are there. */
static void taking_do_lines(struct taking *self) {
  do {
    while (taking_can_list(self)) taking_list_piece(self);
  } while (self->listing == LISTING_NONE && taking_do_line(self));
}

/* Returns true: the session ends. */
static bool taking_round(struct taking *self) {
  struct session *s = self->body.session;
  self->may_have_more = false;
  taking_catch_up(self);
  for (int i = 0; s->ending == SESSION_GOES_ON; i++) {
    taking_do_lines(self);
    if (s->ending != SESSION_GOES_ON || link_is_full(&s->client)) break;
    self->may_have_more = i == TAKING_ROUNDS;
    if (self->may_have_more || !taking_receive(self)) break;
  }
  session_count_bytes(s);
  if (self->entry.stand == BROKER_IDLE && s->ending == SESSION_GOES_ON) taking_look_at_rest(self);
  return s->ending != SESSION_GOES_ON;
}

/* ---- waiting ---- */

static uint64_t taking_earlier(uint64_t one, uint64_t other) {
  return one < other ? one : other;
}

/* It neither holds nor waits. */
static uint64_t taking_rest_ends_ns(const struct taking *self) {
  uint64_t idle_ns = gate_settings(self->body.session->gate)->idle_timeout_ns;
  uint64_t until_ns = idle_ns ? self->rests_ns + idle_ns : VOLT_NO_DEADLINE;
  return taking_earlier(until_ns, session_max_age_ns(self->body.session));
}

static volt_future *taking_wait(struct taking *self) {
  struct session *s = self->body.session;
  bool is_full = link_is_full(&s->client);
  unsigned events = is_full ? link_events(&s->client, false) | POLLRDHUP : POLLIN;
  uint64_t deadline_ns = VOLT_NO_DEADLINE;
  if (taking_waits(self)) deadline_ns = self->deadline_ns;
  if (self->entry.stand == BROKER_IDLE) deadline_ns = taking_rest_ends_ns(self);
  return session_wait(s, events, 0, taking_waits(self) ? SESSION_PERMIT : 0, deadline_ns);
}

/* It reads nothing, and has hung up: what it has said before does not matter any more. */
static bool taking_has_vanished(const struct taking *self) {
  const struct session *s = self->body.session;
  return session_fired(s, SESSION_CLIENT) && link_is_full(&s->client) &&
         (s->wait.client_ready & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

/* While it waits: whether it has to leave the queue. Returns true: the session ends. */
static bool taking_look_at_wait(struct taking *self) {
  struct session *s = self->body.session;
  /* acquire: with the drain comes all that was set before it */
  if (taking_waits(self) && atomic_load_explicit(&s->gate->is_draining, memory_order_acquire)) {
    taking_unqueue(self);
  } else if (taking_waits(self) && session_now_ns(s) >= self->deadline_ns) {
    taking_is_late(self);
  }
  return s->ending != SESSION_GOES_ON;
}

/* Something has happened. Returns true: the session ends. */
static bool taking_look(struct taking *self) {
  struct session *s = self->body.session;
  if (taking_has_vanished(self)) {
    session_end(s, taking_waits(self) ? SESSION_LEFT : SESSION_BY_CLIENT);
    return true;
  }
  if (session_fired(s, SESSION_PERMIT)) taking_ready(self);
  return taking_look_at_wait(self);
}

/* ---- another process takes over ---- */

/* A list that is under way is written to its end. */
static void taking_end_list(struct taking *self) {
  while (self->listing != LISTING_NONE && self->body.session->ending == SESSION_GOES_ON) {
    taking_list_piece(self);
  }
}

/* Returns true: it does nothing more, until taking_goes_on(). */
static bool taking_stops(struct taking *self) {
  if (!broker_is_stopped(taking_broker(self))) return false;
  taking_end_list(self);
  if (self->body.session->ending != SESSION_GOES_ON) return false;
  if (taking_waits(self)) taking_forget_select(self);
  self->is_still = broker_stand_still(taking_broker(self), &self->entry);
  if (!self->is_still && taking_waits(self)) taking_select(self); /* it was over already */
  return self->is_still;
}

static bool taking_has_to_wait(const struct taking *self) {
  return broker_has_to_stand(taking_broker(self), &self->entry);
}

/* For news alone. */
static volt_future *taking_wait_still(struct taking *self) {
  return session_wait(self->body.session, 0, 0, 0, VOLT_NO_DEADLINE);
}

/* Returns true: another process has it. */
static bool taking_move_on(struct taking *self) {
  self->is_still = false;
  return broker_move_on(taking_broker(self), &self->entry);
}

/* Returns true: the session ends. */
static bool taking_goes_on(struct taking *self) {
  struct session *s = self->body.session;
  if (taking_move_on(self)) {
    session_end(s, SESSION_PASSED);
    return true;
  }
  if (taking_waits(self)) taking_select(self);
  return taking_look_at_wait(self);
}

/* ---- life ---- */

void taking_know_peer(struct taking *self) {
  struct session *s = self->body.session;
  struct broker_entry *e = &self->entry;
  struct peer_of *peer = &self->peer;
  e->has_peer = s->entry.address.family == AF_UNIX && peer_read(&s->client.fd, peer);
  if (!e->has_peer) return;
  e->pid = peer->pid;
  e->uid = peer->uid;
  snprintf(self->user, sizeof self->user, "%u", peer->uid);
  s->user = self->user;
  bool wants_cgroup = gate_settings(s->gate)->tenant_by == TENANT_BY_CGROUP && !*e->cgroup;
  if (wants_cgroup && !peer_read_cgroup(&s->client.fd, peer, e->cgroup)) e->cgroup[0] = '\0';
}

_Static_assert((int)BROKER_CGROUP == (int)PEER_CGROUP, "what can be read can be kept");

/* It goes on where it stood still in another process. */
static void taking_resume(struct taking *self) {
  struct session *s = self->body.session;
  struct taking_adopted *a = &self->adopted;
  int result = a->out_size > 0 ? link_send(&s->client, a->out, a->out_size) : VOLT_OK;
  free(a->out);
  a->out = NULL;
  self->is_adopted = false;
  if (taking_waits(self)) taking_queue(self);
  if (taking_holds(self)) taking_shows_hold(self, self->granted_ns);
  if (result != VOLT_OK) session_end(s, SESSION_BY_CLIENT);
}

/* What has to be known of its process for its tenant, and is not; or NULL. */
static const char *taking_unknown(const struct taking *self) {
  const struct broker_entry *e = &self->entry;
  switch (gate_settings(self->body.session->gate)->tenant_by) {
    case TENANT_BY_USER:
      return e->has_peer ? NULL
                         : "tenants are users here, and whose process this is, is only known at a "
                           "unix socket";
    case TENANT_BY_CGROUP:
      return *e->cgroup ? NULL : "tenants are cgroups here, and that of this process is not known";
    default: return NULL;
  }
}

/* Returns false: how it ends is set. */
static bool taking_begin(struct taking *self) {
  struct session *s = self->body.session;
  if (self->is_adopted) {
    taking_resume(self);
    return s->ending == SESSION_GOES_ON;
  }
  broker_entry_init(&self->entry);
  self->rests_ns = session_now_ns(s);
  taking_know_peer(self);
  const char *unknown = taking_unknown(self);
  const struct user_set *allowed = &gate_settings(s->gate)->allowed;
  if (unknown) {
    s->why = unknown;
    session_refuse(s, REASON_WHO);
  } else if (!peer_is_allowed(&s->client.fd, self->entry.has_peer ? &self->peer : NULL, allowed)) {
    session_refuse(s, REASON_WHO);
  }
  return s->ending == SESSION_GOES_ON;
}

void taking_leave(struct taking *self) {
  struct session *s = self->body.session;
  if (self->is_still) (void)taking_move_on(self);
  if (s->ending == SESSION_LEFT) statistics_count(&s->gate->statistics, COUNT_LEFT, 1);
  if (taking_waits(self)) taking_unqueue(self);
  if (taking_holds(self)) taking_give_all(self);
}

static int taking_run(volt_async *a, volt_ctx *ctx) {
  struct taking *self = taking_of(a);
  VOLT_ASYNC_BEGIN(&self->body);
  if (!taking_begin(self)) VOLT_RETURN(self, VOLT_OK);
  for (;;) {
    if (taking_stops(self)) {
      while (taking_has_to_wait(self)) VOLT_AWAIT(self, taking_wait_still(self));
      if (taking_goes_on(self)) break;
    }
    if (taking_round(self)) break;
    if (self->may_have_more) {
      VOLT_YIELD(self);
      continue;
    }
    VOLT_AWAIT(self, taking_wait(self));
    if (taking_look(self)) break;
  }
  VOLT_FINALLY(&self->body);
  taking_leave(self);
  VOLT_ASYNC_END(&self->body);
}

static void taking_free(struct session_body *b) {
  struct taking *self = volt_container_of(b, struct taking, body);
  free(self->adopted.out);
  if (self->entry.stand != BROKER_IDLE) taking_leave(self); /* it was adopted, and never ran */
  volt_notify_destroy(&self->entry.moved);
}

const struct session_kind session_permit = {
    .size = sizeof(struct taking), .is_admitted = false, .run = taking_run, .free = taking_free};
