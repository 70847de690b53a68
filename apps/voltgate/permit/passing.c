/* passing.c: what is said of clients that are passed on. Their tasks stand still, and the broker's lock is held. */
#define _GNU_SOURCE /* F_DUPFD_CLOEXEC */
#include "permit/passing.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "permit/record.h"
#include "permit/taking.h"

struct passing_to {
  struct passing *passing;
  struct gate *gate;
  const char *why;
};

static uint64_t passing_ago(uint64_t now_ns, uint64_t then_ns) {
  return now_ns > then_ns ? now_ns - then_ns : 0;
}

static enum record_stand passing_stand(const struct taking *t, bool is_waiting) {
  if (is_waiting) return RECORD_WAITS;
  return taking_holds(t) ? RECORD_HOLDS : RECORD_IDLE;
}

static void passing_tell(struct record *r, const struct taking *t, bool is_waiting) {
  const struct session *s = t->body.session;
  const struct link *link = &s->client;
  uint64_t now_ns = session_now_ns(s);
  *r = (struct record){.stand = passing_stand(t, is_waiting),
                       .id = t->entry.id,
                       .told = t->entry.told,
                       .age_ns = passing_ago(now_ns, s->entry.accepted_ns),
                       .since_ns = passing_ago(now_ns, t->entry.since_ns),
                       .asked_ns = passing_ago(now_ns, t->asked_ns),
                       .rests_ns = passing_ago(now_ns, t->rests_ns),
                       .left_ns = UINT64_MAX};
  if (t->deadline_ns != VOLT_NO_DEADLINE) r->left_ns = passing_ago(t->deadline_ns, now_ns);
  if (r->stand != RECORD_IDLE) broker_write(s->gate->broker, &t->entry.amounts, &r->amounts);
  memcpy(r->label, t->entry.label, sizeof r->label);
  memcpy(r->command, t->entry.command, sizeof r->command);
  memcpy(r->tenant, t->entry.cgroup, sizeof r->tenant);
  r->in = (struct record_bytes){(char *)(uintptr_t)t->bytes, t->size};
  if (link->kept) {
    r->out =
        (struct record_bytes){link->kept + link->kept_from, link->kept_until - link->kept_from};
  }
}

/* Returns false: no memory. */
static bool passing_grow(struct passing *p) {
  if (p->count < p->room) return true;
  size_t room = p->room ? 2 * p->room : 64;
  struct passing_client *all = (struct passing_client *)realloc(p->all, room * sizeof *all);
  if (!all) return false;
  p->all = all;
  p->room = room;
  return true;
}

static bool passing_add(void *arg, struct broker_entry *e, bool is_waiting) {
  struct passing_to *to = (struct passing_to *)arg;
  const struct taking *t = volt_container_of(e, struct taking, entry);
  const struct session *s = t->body.session;
  struct record r;
  if (s->client.tls) {
    to->why = "a client speaks TLS, which cannot go to another process";
    return false;
  }
  passing_tell(&r, t, is_waiting);
  char *text = passing_grow(to->passing) ? record_write(&r) : NULL;
  if (!text) {
    to->why = "there is no memory for its clients";
    return false;
  }
  to->passing->all[to->passing->count++] =
      (struct passing_client){text, volt_fd_number(&s->client.fd)};
  return true;
}

const char *passing_collect(struct passing *p, struct gate *g) {
  struct passing_to to = {p, g, NULL};
  *p = (struct passing){.count = 0};
  broker_lock(g->broker);
  bool is_whole = broker_each_still(g->broker, passing_add, &to);
  p->can_claim = g->broker->is_claiming;
  broker_unlock(g->broker);
  if (is_whole) return NULL;
  passing_drop(p);
  return to.why;
}

void passing_drop(struct passing *p) {
  for (size_t i = 0; i < p->count; i++) free(p->all[i].record);
  free(p->all);
  *p = (struct passing){.count = 0};
}

int passing_copy(const struct passing *p, struct gate *g, size_t i) {
  struct broker *b = g->broker;
  broker_lock(b); /* a session that ends takes it before its descriptor is closed */
  int number = b->has_lost ? -1 : fcntl(p->all[i].number, F_DUPFD_CLOEXEC, 0);
  broker_unlock(b);
  return number;
}
