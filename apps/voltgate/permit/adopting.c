/* adopting.c: clients that another process has passed on. Until they begin, that one may take them back: nothing is sent
 * or received here, and nothing is held. */
#include <stdlib.h>
#include <string.h>

#include "gate/host.h"
#include "permit/passing.h"
#include "permit/record.h"
#include "permit/taking.h"

static enum broker_stand adopting_stand(enum record_stand stand) {
  switch (stand) {
    case RECORD_WAITS: return BROKER_WAITS;
    case RECORD_HOLDS: return BROKER_HOLDS;
    case RECORD_IDLE: break;
  }
  return BROKER_IDLE;
}

/* When that was, by the clock of this process. */
static uint64_t adopting_then(uint64_t now_ns, uint64_t ago_ns) {
  return now_ns > ago_ns ? now_ns - ago_ns : 0;
}

static void adopting_fill(struct taking *t, struct record *r, uint64_t now_ns) {
  struct broker_entry *e = &t->entry;
  t->adopted = (struct taking_adopted){.stand = adopting_stand(r->stand),
                                       .id = r->id,
                                       .since_ns = adopting_then(now_ns, r->since_ns),
                                       .accepted_ns = adopting_then(now_ns, r->age_ns),
                                       .out = r->out.at,
                                       .out_size = r->out.size};
  t->is_adopted = true;
  t->asked_ns = adopting_then(now_ns, r->asked_ns);
  t->granted_ns = t->adopted.since_ns;
  t->rests_ns = adopting_then(now_ns, r->rests_ns);
  bool has_end = r->left_ns < VOLT_NO_DEADLINE - now_ns;
  t->deadline_ns = has_end ? now_ns + r->left_ns : VOLT_NO_DEADLINE;
  t->size = (uint16_t)r->in.size;
  memcpy(t->bytes, r->in.at, r->in.size);
  memcpy(e->label, r->label, sizeof e->label);
  memcpy(e->command, r->command, sizeof e->command);
  memcpy(e->cgroup, r->tenant, sizeof e->cgroup);
  e->told = r->told;
  r->out.at = NULL; /* it is the taking's */
}

/* Returns NULL: why says why. */
static struct taking *adopting_body(struct session *s, const char *record, const char **why) {
  struct record r;
  *why = "there is no memory, or what is said of a client makes no sense";
  if (!record_read(&r, record)) return NULL;
  struct taking *t = (struct taking *)calloc(1, sizeof *t);
  if (t && broker_read(s->gate->broker, &r.amounts, &t->entry.amounts)) {
    *why = "a client holds, or waits for, a kind that is not there any more";
    free(t);
    t = NULL;
  }
  if (t) adopting_fill(t, &r, session_now_ns(s));
  record_drop(&r);
  return t;
}

static void adopting_free(struct session *s) {
  struct taking *t = s->body ? volt_container_of(s->body, struct taking, body) : NULL;
  if (t) free(t->adopted.out);
  free(t);
  s->body = NULL;
  session_drop(s);
}

struct session *adopting_new(struct gate *g, int number, const char *record, const char **why) {
  *why = "there is no memory";
  struct session *s = session_at(g, PROTOCOL_PERMIT, 0);
  if (!s) return NULL;
  struct taking *t = adopting_body(s, record, why);
  s->body = t ? &t->body : NULL;
  if (t && volt_sem_try_acquire(&g->host->descriptors, 1) != VOLT_OK) {
    *why = "there are too few descriptors for its clients";
    t = NULL;
  } else if (t && volt_fd_init(&s->client.fd, g->rt, number, 0) != VOLT_OK) {
    *why = "a connection cannot be used";
    volt_sem_release(&g->host->descriptors, 1);
    t = NULL;
  }
  if (t) {
    t->body.session = s;
    broker_entry_init(&t->entry);
    return s;
  }
  adopting_free(s);
  return NULL;
}

void adopting_drop(struct session *s) {
  struct taking *t = volt_container_of(s->body, struct taking, body);
  volt_fd_close(&s->client.fd);
  volt_sem_release(&s->gate->host->descriptors, 1);
  volt_notify_destroy(&t->entry.moved);
  adopting_free(s);
}

void adopting_begin(struct session *s) {
  struct taking *t = volt_container_of(s->body, struct taking, body);
  const struct taking_adopted *a = &t->adopted;
  session_resume(s, a->accepted_ns);
  taking_know_peer(t);
  if (!broker_adopt(s->gate->broker, &t->entry, a->stand, a->id, a->since_ns)) {
    session_refuse(s, REASON_IMPOSSIBLE);
  }
}

void adopting_run(struct session *s, volt_group *sessions) {
  if (volt_group_spawn(sessions, s->gate->rt, &s->task) == VOLT_OK) return;
  session_abandon(s);
}
