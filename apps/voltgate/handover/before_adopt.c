/* before_adopt.c: clients of permit gates come from the process before. Each is made whole here and does nothing, until
 * that process has said GO: it may take them back, or die with them. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gate/broker.h"
#include "handover/state.h"
#include "permit/passing.h"
#include "process/log.h"
#include "program/site.h"

struct before_client {
  struct before_client *next;
  struct session *session;
};

struct before_adopted {
  struct before_adopted *next;
  struct site *site;
  struct before_client *first, **last; /* in the order in which they came */
  uint32_t left;                       /* that have not come yet */
  bool can_claim;                      /* others could claim still */
};

/* ---- a client ---- */

static void before_adopt_forget_incoming(struct handover *h) {
  if (h->incoming.number >= 0) close(h->incoming.number);
  free(h->incoming.record);
  h->incoming = (struct before_incoming){.number = -1};
}

/* All of its record is there. */
static bool before_adopt_make(struct handover *h) {
  struct before_adopted *of = h->adopted;
  struct before_client *one = (struct before_client *)calloc(1, sizeof *one);
  const char *why = "there is no memory";
  if (one) {
    one->session = adopting_new(&of->site->gate, h->incoming.number, h->incoming.record, &why);
  }
  if (!one || !one->session) {
    h->adopt_why = why;
    free(one);
    return false;
  }
  h->incoming.number = -1; /* the session has it */
  before_adopt_forget_incoming(h);
  *of->last = one;
  of->last = &one->next;
  of->left -= 1;
  return true;
}

static bool before_adopt_client(struct handover *h, const struct message *m) {
  enum { RECORD_MOST = 1 << 24 };
  int number = channel_take_number(&h->before);
  bool is_next = h->adopted && h->adopted->left > 0 && !h->incoming.record && number >= 0;
  char *record = is_next && m->number < RECORD_MOST ? (char *)malloc(m->number + 1) : NULL;
  if (!record) {
    if (number >= 0) close(number);
    return false;
  }
  record[0] = '\0';
  h->incoming = (struct before_incoming){number, record, 0, m->number};
  return true;
}

static bool before_adopt_part(struct handover *h, const struct message *m) {
  struct before_incoming *in = &h->incoming;
  size_t size = strlen(m->text);
  if (!in->record || size == 0 || size > in->want - in->size) return false;
  memcpy(in->record + in->size, m->text, size + 1);
  in->size += size;
  return in->size < in->want || before_adopt_make(h);
}

/* ---- a gate ---- */

static bool before_adopt_gate(struct handover *h, const struct message *m) {
  struct gate *g = program_gate(h->program, m->name);
  bool is_next = !h->adopted || h->adopted->left == 0;
  struct before_adopted *one =
      g && g->broker && is_next ? (struct before_adopted *)calloc(1, sizeof *one) : NULL;
  if (!one) return false;
  one->site = site_of(g);
  one->last = &one->first;
  one->left = m->number;
  one->can_claim = strcmp(m->text, MESSAGE_CLAIMS) == 0;
  one->next = h->adopted;
  h->adopted = one;
  return true;
}

/* That was all. */
static bool before_adopt_all(struct handover *h, const struct message *m) {
  if (h->adopted && h->adopted->left > 0) return false;
  return channel_send(&h->before, MESSAGE_ADOPTED, m->number, NULL, NULL);
}

bool before_adopt_hear(struct handover *h, const struct message *m) {
  switch (m->kind) {
    case MESSAGE_PASSES: return before_adopt_gate(h, m);
    case MESSAGE_CLIENT: return before_adopt_client(h, m);
    case MESSAGE_PART: return before_adopt_part(h, m);
    case MESSAGE_PASSED: return before_adopt_all(h, m);
    default: return false;
  }
}

/* ---- how it ends ---- */

static void before_adopt_one_gate(struct before_adopted *one) {
  struct gate *g = &one->site->gate;
  unsigned count = 0;
  broker_begin_adoption(g->broker);
  for (struct before_client *c = one->first; c; c = c->next, count++) adopting_begin(c->session);
  broker_end_adoption(g->broker, one->can_claim);
  for (struct before_client *c = one->first, *next; c; c = next) {
    next = c->next;
    adopting_run(c->session, &one->site->sessions);
    free(c);
  }
  log_line(LOG_INFO, g->name, "%u clients of the process before are here", count);
}

static void before_adopt_drop_gate(struct before_adopted *one) {
  for (struct before_client *c = one->first, *next; c; c = next) {
    next = c->next;
    adopting_drop(c->session);
    free(c);
  }
}

void before_adopt_end(struct handover *h, bool is_ours) {
  before_adopt_forget_incoming(h);
  while (h->adopted) {
    struct before_adopted *one = h->adopted;
    h->adopted = one->next;
    if (is_ours) before_adopt_one_gate(one);
    if (!is_ours) before_adopt_drop_gate(one);
    free(one);
  }
}

void before_adopt_claims(struct handover *h) {
  for (struct site *s = h->program->first; s; s = s->next) { /* no other thread has them yet */
    if (s->gate.broker) broker_claim_again(s->gate.broker);
  }
}
