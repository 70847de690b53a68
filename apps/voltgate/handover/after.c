/* after.c: a successor takes over from this process. */
#define _GNU_SOURCE /* struct ucred */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <volt/time.h>

#include "admin/admin.h"
#include "config/command.h"
#include "handover/state.h"
#include "process/log.h"
#include "process/systemd.h"
#include "program/site.h"

enum { AFTER_SAY_MS = 5000 };
#define AFTER_READY_NS UINT64_C(60000000000) /* a successor that starts may look up names */
#define AFTER_STOP_NS UINT64_C(10000000000)

uint64_t after_now_ns(const struct handover *h) {
  return volt_rt_now_ns(h->program->rt);
}

static void after_forget(struct handover *h) {
  channel_close(&h->after);
  after_pass_forget(h);
  offers_clear(&h->offers);
  for (size_t i = 0; i < h->gate_count; i++) free(h->gates[i].name);
  free(h->gates);
  h->gates = NULL;
  h->gate_count = 0;
  h->stage = AFTER_NONE;
}

static void after_refuse(struct handover *h, const char *why) {
  log_line(LOG_WARN, NULL, "process %ld may not take over: %s", (long)h->after_pid, why);
  (void)channel_send(&h->after, MESSAGE_REFUSED, 0, NULL, why);
  after_forget(h);
}

/* ---- one knocks ---- */

static bool after_is_allowed(int number, pid_t *pid) {
  struct ucred peer;
  socklen_t size = sizeof peer;
  if (getsockopt(number, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  *pid = peer.pid;
  return peer.uid == 0 || peer.uid == geteuid();
}

/* Why no process can take over now, or NULL. */
static const char *after_busy(const struct handover *h) {
  if (h->stage != AFTER_NONE) return "another process is taking over";
  if (channel_is_open(&h->before)) return "the process before this one still has clients";
  bool is_draining = atomic_load_explicit(&h->program->is_draining, memory_order_acquire);
  return is_draining ? "it drains" : NULL;
}

/* A permit gate whose clients speak TLS, which stays with this process. */
static const char *after_permit_gate(const struct handover *h) {
  for (const struct site *s = h->program->first; s; s = s->next) { /* control is held */
    bool is_tls = gate_settings(&s->gate)->tls != TLS_MODE_OFF;
    if (s->gate.broker && is_tls && !s->is_over) return s->gate.name;
  }
  return NULL;
}

static void after_refuse_permit(struct handover *h) {
  char words[MESSAGE_TEXT];
  pthread_mutex_lock(&h->program->control);
  const char *name = after_permit_gate(h); /* a gate stays until the program ends */
  pthread_mutex_unlock(&h->program->control);
  if (!name) return;
  snprintf(words, sizeof words,
           "gate %s has protocol = permit and TLS: what clients hold over TLS cannot be given to "
           "another process; end this process first, and they claim from the next what they hold",
           name);
  after_refuse(h, words);
}

static void after_turn_away(int number, pid_t pid, const char *why) {
  struct channel c;
  channel_open(&c, number, -1);
  c.timeout_ms = 0;
  log_line(LOG_WARN, NULL, "process %ld may not take over: %s", (long)pid, why);
  (void)channel_send(&c, MESSAGE_REFUSED, 0, NULL, why);
  channel_close(&c);
}

void after_accept(struct handover *h) {
  pid_t pid = 0;
  int number = accept4(h->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (number < 0) return;
  const char *busy =
      after_is_allowed(number, &pid) ? after_busy(h) : "it is another user's process";
  if (busy) {
    after_turn_away(number, pid, busy);
    return;
  }
  channel_open(&h->after, number, h->stop);
  h->after.timeout_ms = AFTER_SAY_MS;
  h->after_pid = pid;
  h->after_ns = after_now_ns(h);
  h->after_leaves = false;
  h->stage = AFTER_HELLO;
}

/* ---- what we have ---- */

/* The sockets are copied, so that they are open while they are sent. */
static void after_offer_one(void *arg, const struct program_listener *l) {
  struct offers *offers = (struct offers *)arg;
  int number = l->number < 0 ? -1 : fcntl(l->number, F_DUPFD_CLOEXEC, 0);
  if (number < 0) return;
  if (offers_add(offers, MESSAGE_OF_GATE, l->gate, l->text, number)) {
    (void)offers_locate(offers, l->address);
  } else {
    close(number);
  }
}

static bool after_send_offers(struct handover *h) {
  const struct settings *settings = program_settings(h->program);
  struct offers *offers = &h->offers;
  program_each_listener(h->program, after_offer_one, offers);
  if (h->program->admin && settings->metrics) {
    int number = fcntl(admin_number(h->program->admin), F_DUPFD_CLOEXEC, 0);
    if (number < 0 || !offers_add(offers, MESSAGE_OF_ADMIN, "", settings->metrics, number)) {
      close(number);
    } else {
      (void)offers_locate(offers, admin_address(h->program->admin));
    }
  }
  int own = fcntl(h->listener, F_DUPFD_CLOEXEC, 0);
  if (own >= 0 && !offers_add(offers, MESSAGE_OF_HANDOVER, "", h->path, own)) close(own);
  bool is_sent = true;
  for (size_t i = 0; i < offers->count; i++) {
    struct offer *o = &offers->all[i];
    is_sent = is_sent &&
              channel_send_number(&h->after, MESSAGE_LISTENER, o->of, o->gate, o->text, o->number);
    if (o->address) {
      is_sent = is_sent && channel_send(&h->after, MESSAGE_ADDRESS, 0, NULL, o->address);
    }
    close(o->number);
    o->number = -1;
  }
  return is_sent && channel_send(&h->after, MESSAGE_OFFERED, (uint32_t)offers->count, NULL, NULL);
}

static void after_hear_hello(struct handover *h, const struct message *m) {
  char words[MESSAGE_TEXT];
  after_refuse_permit(h);
  if (h->stage == AFTER_NONE) return;
  if (m->kind != MESSAGE_HELLO || m->number != MESSAGE_VERSION) {
    snprintf(words, sizeof words,
             "version %u of the handover is not known here (voltgate %s has version %d)",
             (unsigned)m->number, VOLTGATE_VERSION, MESSAGE_VERSION);
    after_refuse(h, words);
  } else if (!after_send_offers(h)) {
    after_refuse(h, "the listeners could not be sent");
  } else {
    log_line(LOG_INFO, NULL, "process %ld (voltgate %s) asks to take over", (long)h->after_pid,
             m->text);
    h->stage = AFTER_OFFERED;
  }
}

/* ---- what it says ---- */

static bool after_hear_gate(struct handover *h, const struct message *m) {
  struct after_gate *gates =
      (struct after_gate *)realloc(h->gates, (h->gate_count + 1) * sizeof *gates);
  if (!gates) return false;
  h->gates = gates;
  gates[h->gate_count] =
      (struct after_gate){strdup(m->name), m->number == 0, m->kind == MESSAGE_PERMIT_GATE};
  h->gate_count += gates[h->gate_count].name != NULL;
  return true;
}

static bool after_hear_choice(struct handover *h, const struct message *m) {
  if (m->kind == MESSAGE_GATE || m->kind == MESSAGE_PERMIT_GATE) return after_hear_gate(h, m);
  if (m->kind != MESSAGE_TAKES || m->number >= h->offers.count) return false;
  h->offers.all[m->number].is_taken = true;
  return true;
}

static bool after_hear_permits(struct handover *h, const struct message *m) {
  if (m->kind == MESSAGE_LEAVES) h->after_leaves = true;
  if (m->kind == MESSAGE_ACCEPTS || m->kind == MESSAGE_LEAVES) return true;
  for (struct given *g = h->given; m->kind == MESSAGE_GIVE && g; g = g->next) {
    bool is_it = !g->giver.is_over && strcmp(g->giver.gate->name, m->name) == 0;
    if (is_it) return giver_bring(&g->giver, m->number);
  }
  return false;
}

static void after_try_go(struct handover *h) {
  if (!after_go(h)) after_refuse(h, "it drains, or not all clients of permit gates can go now");
}

static void after_hear_ready(struct handover *h) {
  if (!after_pass_begin(h)) {
    after_refuse(h, "there is no memory, or there are too few descriptors");
  } else if (h->passes) {
    h->stage = AFTER_STOPS;
    h->after_ns = after_now_ns(h);
  } else {
    after_try_go(h);
  }
}

/* Clients of permit gates are to stand still, and are sent when they do. */
static void after_follow_stop(struct handover *h) {
  if (h->stage != AFTER_STOPS && h->stage != AFTER_PASSES) return;
  const char *why = h->stage == AFTER_STOPS ? after_pass_look(h) : NULL;
  if (after_now_ns(h) - h->after_ns > AFTER_STOP_NS) why = "clients of permit gates cannot go now";
  if (atomic_load_explicit(&h->program->is_draining, memory_order_acquire)) why = "it drains";
  if (why) after_refuse(h, why);
}

static void after_hear(struct handover *h, const struct message *m) {
  if (h->stage == AFTER_HELLO) {
    after_hear_hello(h, m);
  } else if (h->stage == AFTER_GIVES) {
    if (after_hear_permits(h, m)) return;
    log_line(LOG_ERROR, NULL, "what process %ld says makes no sense", (long)h->after_pid);
    h->after.is_deaf = true; /* it has permits until it ends */
  } else if (h->stage == AFTER_OFFERED && m->kind == MESSAGE_READY) {
    after_hear_ready(h);
  } else if (h->stage == AFTER_PASSES && m->kind == MESSAGE_ADOPTED &&
             m->number == h->passed_count) {
    after_try_go(h);
  } else if (h->stage != AFTER_OFFERED) {
    after_refuse(h, "that makes no sense");
  } else if (!after_hear_choice(h, m)) {
    after_refuse(h, "that makes no sense");
  }
}

/* ---- it is gone ---- */

static void after_serve_again(struct handover *h) {
  struct program *p = h->program;
  pthread_mutex_lock(&p->control);
  for (struct site *s = p->first; s; s = s->next) {
    int result = s->is_ending ? VOLT_OK : site_accept(s);
    if (result != VOLT_OK) log_line(LOG_ERROR, s->gate.name, "listen: %s", volt_strerror(result));
  }
  pthread_mutex_unlock(&p->control);
  if (h->admin >= 0) {
    int result = admin_start(&p->admin, p, program_settings(p)->metrics, h->admin);
    if (result != VOLT_OK) log_line(LOG_ERROR, NULL, "admin: %s", volt_strerror(result));
    if (result != VOLT_OK) close(h->admin);
    h->admin = -1;
  }
  h->is_passed_on = false;
  (void)systemd_main_pid((uint64_t)getpid());
}

void after_is_gone(struct handover *h) {
  if (h->stage != AFTER_GIVES) {
    log_line(LOG_WARN, NULL, "process %ld has ended before it took over: nothing has changed",
             (long)h->after_pid);
    after_forget(h);
    return;
  }
  for (struct given *g = h->given; g; g = g->next) {
    if (!g->giver.is_over) giver_take_back(&g->giver);
  }
  after_pass_lost(h);
  after_forget(h);
  bool is_draining = atomic_load_explicit(&h->program->is_draining, memory_order_acquire);
  bool is_back = !h->after_leaves && !h->has_cut && !is_draining;
  log_line(LOG_WARN, NULL, "process %ld has ended: %s", (long)h->after_pid,
           is_back ? "this one accepts again" : "its permits are here again");
  if (is_back) {
    handover_set_state(h, HANDOVER_NONE);
    after_serve_again(h);
  } else {
    program_drain(h->program);
  }
}

void after_look(struct handover *h) {
  struct message m;
  enum channel_result result = CHANNEL_NOTHING;
  while (h->stage != AFTER_NONE && !h->after.is_deaf &&
         (result = channel_receive(&h->after, &m)) == CHANNEL_MESSAGE) {
    after_hear(h, &m);
    result = CHANNEL_NOTHING;
  }
  if (h->stage == AFTER_GIVES || h->given) after_give_permits(h);
  if (result == CHANNEL_NOTHING) after_follow_stop(h);
  if (h->stage == AFTER_NONE) return;
  bool is_late = h->stage != AFTER_GIVES && after_now_ns(h) - h->after_ns > AFTER_READY_NS;
  if (result == CHANNEL_ENDED) {
    after_is_gone(h);
  } else if (result == CHANNEL_WRONG && h->stage == AFTER_GIVES) {
    h->after.is_deaf = true;
  } else if (result == CHANNEL_WRONG || is_late) {
    after_refuse(h, is_late ? "it was not ready in time" : "that makes no sense");
  }
}

/* ---- until all have finished ---- */

/* Returns whether clients are left. */
static bool after_follow_site(struct handover *h, struct site *s, uint64_t now_ns) {
  if (volt_group_is_empty(&s->acceptors) && volt_group_is_empty(&s->sessions)) return false;
  uint64_t timeout_ns = gate_settings(&s->gate)->drain_timeout_ns;
  if (timeout_ns == 0 || now_ns - h->after_ns < timeout_ns || s->is_ending) return true;
  if (!s->is_cut) log_line(LOG_INFO, s->gate.name, "clients that are left are cut off");
  s->is_cut = true;
  h->has_cut = true;
  site_stop(s);
  return true;
}

void after_follow_drain(struct handover *h) {
  struct program *p = h->program;
  bool are_left = false;
  if (h->stage != AFTER_GIVES || atomic_load_explicit(&p->is_draining, memory_order_acquire)) {
    return;
  }
  uint64_t now_ns = after_now_ns(h);
  pthread_mutex_lock(&p->control);
  for (struct site *s = p->first; s; s = s->next) {
    are_left |= after_follow_site(h, s, now_ns);
  }
  pthread_mutex_unlock(&p->control);
  if (!are_left) program_drain(p);
}

void after_end(struct handover *h) {
  for (struct given *g = h->given; g; g = g->next) giver_end(&g->giver);
  if (h->stage != AFTER_NONE) after_forget(h);
  if (h->admin >= 0) close(h->admin);
  h->admin = -1;
}
