/* listing.c: what a permit gate has, for a client that asks: kinds, those that hold, those that wait.
 *
 * It is written in pieces: the next when the client has read the one before. So a client that does not read
 * costs a piece. Clients of one piece are seen at one moment, and between two pieces they come and go. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "permit/taking.h"

enum {
  LISTING_MOST = 1000, /* of those that hold, and of those that wait */
  LISTING_PIECE = 16
};

/* Lines in memory that grows. */
struct listing {
  char *bytes;
  size_t size, room;
  bool is_short; /* of memory */
};

static void listing_add(struct listing *l, struct permit_text *line) {
  permits_say_end(line);
  if (l->room - l->size < line->size && !l->is_short) {
    size_t room = 2 * l->room + PERMIT_LINE_MAX;
    char *bytes = (char *)realloc(l->bytes, room);
    l->is_short = bytes == NULL;
    if (bytes) l->bytes = bytes;
    if (bytes) l->room = room;
  }
  if (l->is_short) return;
  memcpy(l->bytes + l->size, line->bytes, line->size);
  l->size += line->size;
}

static void listing_add_kinds(struct listing *l, struct broker *b) {
  struct broker_view v;
  broker_read_view(b, &v);
  for (uint32_t i = 0; i < v.kinds; i++) {
    struct permit_text line = {.size = 0};
    permits_say(&line, "kind %s limit=%" PRIu64 " held=%" PRIu64 " free=%" PRIu64, v.of[i].name,
                v.of[i].limit, v.of[i].held, v.of[i].free);
    listing_add(l, &line);
  }
}

static void listing_add_lacks(struct permit_text *line, const struct broker *b, uint32_t lacks) {
  const char *before = " lacks=";
  for (uint32_t i = 0; i < b->kinds; i++) {
    if (!(lacks & (1u << i))) continue;
    permits_say(line, "%s%s", before, b->names[i]);
    before = ",";
  }
}

static void listing_add_client(struct listing *l, const struct broker *b,
                               const struct broker_seen *one, bool is_holder, uint64_t now_ns) {
  struct permit_text line = {.size = 0};
  if (is_holder) {
    permits_say(&line, "holder id=%" PRIu64, one->id);
  } else {
    permits_say(&line, "waiter place=%" PRIu32, one->place);
  }
  if (one->has_peer) permits_say(&line, " pid=%" PRIu32 " uid=%" PRIu32, one->pid, one->uid);
  uint64_t since_ns = now_ns > one->since_ns ? now_ns - one->since_ns : 0;
  permits_say(&line, " since_ms=%" PRIu64, since_ns / 1000000);
  permits_say_amounts(&line, &one->amounts);
  listing_add_lacks(&line, b, one->lacks);
  permits_say_quoted(&line, "label", one->label);
  permits_say_quoted(&line, "command", one->command);
  listing_add(l, &line);
}

/* The next of those that hold, or wait. Returns whether these were the last. */
static bool listing_add_clients(struct listing *l, struct taking *self, bool are_holders,
                                uint64_t now_ns) {
  struct broker *b = self->body.session->gate->broker;
  struct broker_seen seen[LISTING_PIECE];
  size_t all, room = LISTING_MOST - self->listed;
  if (room > LISTING_PIECE) room = LISTING_PIECE;
  size_t count = broker_look(b, are_holders, &self->cursor, seen, room, &all);
  for (size_t i = 0; i < count; i++) listing_add_client(l, b, &seen[i], are_holders, now_ns);
  self->listed += (uint32_t)count;
  if (count == LISTING_PIECE) return false;
  struct permit_text line = {.size = 0};
  if (self->listed == LISTING_MOST && all > LISTING_MOST) {
    permits_say(&line, "more %s=%zu", are_holders ? "holders" : "waiters", all - LISTING_MOST);
    listing_add(l, &line);
  }
  return true;
}

static void listing_next(struct taking *self, enum listing_part part) {
  self->listing = part;
  self->listed = 0;
  self->cursor = (struct broker_cursor){.order = 0};
}

void taking_list(struct taking *self) {
  listing_next(self, LISTING_KINDS);
}

void taking_list_piece(struct taking *self) {
  struct session *s = self->body.session;
  struct listing l = {.size = 0};
  struct permit_text end = {.size = 0};
  bool are_holders = self->listing != LISTING_WAITERS;
  if (self->listing == LISTING_KINDS) listing_add_kinds(&l, s->gate->broker);
  if (self->listing == LISTING_KINDS) listing_next(self, LISTING_HOLDERS);
  bool is_last = listing_add_clients(&l, self, are_holders, session_now_ns(s));
  if (is_last) listing_next(self, are_holders ? LISTING_WAITERS : LISTING_NONE);
  if (self->listing == LISTING_NONE) {
    permits_say(&end, "end");
    listing_add(&l, &end);
  }
  int result = l.is_short ? VOLT_ENOMEM : link_send(&s->client, l.bytes, l.size);
  s->down += l.size;
  free(l.bytes);
  if (result == VOLT_ENOMEM) {
    session_fail(s, VOLT_ENOMEM);
  } else if (result != VOLT_OK) {
    session_end(s, SESSION_BY_CLIENT);
  }
}
