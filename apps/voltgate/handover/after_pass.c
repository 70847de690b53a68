/* after_pass.c: clients of permit gates go to the successor, before it accepts.
 *
 *   READY comes          the gates accept no more, and their clients have to stand still
 *   all stand still      what they are, hold and wait for is sent, with copies of their descriptors
 *   ADOPTED comes        the successor has all it needs: GO is sent, and the clients here end without a word
 * If anything goes wrong before GO, they go on here as if nothing had been: until then the successor has done nothing. */
#include <stdlib.h>
#include <unistd.h>

#include "handover/state.h"
#include "permit/passing.h"
#include "process/log.h"
#include "program/site.h"

#include "gate/broker.h"

struct after_pass {
  struct after_pass *next;
  struct site *site;
  struct passing passing;
  bool is_passed;
};

/* ---- they stand still ---- */

static bool after_pass_keep_all(void *arg, const struct site *s, const struct listener *l) {
  (void)arg, (void)s, (void)l;
  return true;
}

static const struct after_pass *after_pass_of(const struct handover *h, const struct site *s) {
  const struct after_pass *one = h->passes;
  while (one && one->site != s) one = one->next;
  return one;
}

/* Returns false: no memory, or too few descriptors. */
static bool after_pass_stop(struct handover *h, struct site *s) {
  struct after_pass *one = site_can_pause(s) ? (struct after_pass *)calloc(1, sizeof *one) : NULL;
  if (!one) return false;
  one->site = s;
  one->next = h->passes;
  h->passes = one;
  site_pause(s, after_pass_keep_all, NULL);
  for (size_t i = 0; i < s->listener_count; i++) {
    s->listeners[i]->is_lent = false; /* until GO its path is this process's alone */
  }
  broker_stop(s->gate.broker);
  return true;
}

bool after_pass_begin(struct handover *h) {
  bool is_whole = true;
  pthread_mutex_lock(&h->program->control);
  for (struct site *s = h->program->first; s; s = s->next) {
    if (after_pass_has(h, s)) is_whole = is_whole && after_pass_stop(h, s);
  }
  pthread_mutex_unlock(&h->program->control);
  return is_whole;
}

bool after_pass_is_whole(const struct handover *h) {
  bool is_whole = true;
  for (struct site *s = h->program->first; s; s = s->next) { /* control is held */
    if (after_pass_has(h, s)) is_whole = is_whole && after_pass_of(h, s) != NULL;
  }
  for (const struct after_pass *one = h->passes; one; one = one->next) {
    bool has_lost, is_still = broker_is_still(one->site->gate.broker, &has_lost);
    is_whole = is_whole && is_still && !has_lost;
  }
  return is_whole;
}

static bool after_pass_are_still(const struct handover *h) {
  for (const struct after_pass *one = h->passes; one; one = one->next) {
    bool has_lost;
    if (!volt_group_is_empty(&one->site->acceptors)) return false;
    if (!broker_is_still(one->site->gate.broker, &has_lost)) return false;
  }
  return true;
}

/* ---- they are sent ---- */

/* A text may be longer than that of one message. */
static bool after_pass_send_client(struct handover *h, struct after_pass *one, size_t i) {
  struct gate *g = &one->site->gate;
  const char *record = one->passing.all[i].record;
  int number = passing_copy(&one->passing, g, i);
  if (number < 0) return false;
  size_t size = strlen(record);
  bool is_sent =
      channel_send_number(&h->after, MESSAGE_CLIENT, (uint32_t)size, g->name, "", number);
  close(number);
  for (size_t at = 0; is_sent && at < size; at += MESSAGE_TEXT) {
    is_sent =
        channel_send(&h->after, MESSAGE_PART, 0, NULL, record + at); /* what is longer is cut */
  }
  return is_sent;
}

static bool after_pass_send(struct handover *h, struct after_pass *one) {
  struct passing *p = &one->passing;
  bool is_sent = channel_send(&h->after, MESSAGE_PASSES, (uint32_t)p->count, one->site->gate.name,
                              p->can_claim ? MESSAGE_CLAIMS : NULL);
  for (size_t i = 0; is_sent && i < p->count; i++) is_sent = after_pass_send_client(h, one, i);
  return is_sent;
}

const char *after_pass_look(struct handover *h) {
  uint32_t count = 0;
  if (!after_pass_are_still(h)) return NULL;
  for (struct after_pass *one = h->passes; one; one = one->next) {
    const char *why = passing_collect(&one->passing, &one->site->gate);
    if (why) return why;
  }
  for (struct after_pass *one = h->passes; one; one = one->next) {
    if (!after_pass_send(h, one)) return "the clients of a permit gate could not be sent";
    count += (uint32_t)one->passing.count;
  }
  if (!channel_send(&h->after, MESSAGE_PASSED, count, NULL, NULL)) return "it does not hear";
  h->passed_count = count;
  h->stage = AFTER_PASSES;
  return NULL;
}

/* ---- how it ends ---- */

void after_pass_done(struct handover *h) {
  for (struct after_pass *one = h->passes; one; one = one->next) {
    log_line(LOG_INFO, one->site->gate.name, "%zu clients are the other process's",
             one->passing.count);
    one->is_passed = true;
    broker_go_on(one->site->gate.broker, true);
    passing_drop(&one->passing);
  }
}

void after_pass_lost(struct handover *h) {
  for (struct after_pass *one = h->passes; one; one = one->next) {
    if (one->is_passed) broker_claim_again(one->site->gate.broker);
  }
}

static void after_pass_go_on(struct after_pass *one) {
  struct site *s = one->site;
  broker_go_on(s->gate.broker, false);
  int result = s->is_ending ? VOLT_OK : site_accept(s);
  if (result != VOLT_OK) log_line(LOG_ERROR, s->gate.name, "listen: %s", volt_strerror(result));
}

void after_pass_forget(struct handover *h) {
  pthread_mutex_lock(&h->program->control);
  while (h->passes) {
    struct after_pass *one = h->passes;
    h->passes = one->next;
    if (!one->is_passed) after_pass_go_on(one);
    passing_drop(&one->passing);
    free(one);
  }
  pthread_mutex_unlock(&h->program->control);
}
