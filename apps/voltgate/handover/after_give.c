/* after_give.c: the successor takes over: it gets gates, permits and the admin side, and this process accepts no more. */
#define _GNU_SOURCE /* F_DUPFD_CLOEXEC */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "admin/admin.h"
#include "handover/state.h"
#include "process/log.h"
#include "process/systemd.h"
#include "program/site.h"

static const struct after_gate *after_find_gate(const struct handover *h, const char *name) {
  for (size_t i = 0; i < h->gate_count; i++) {
    if (strcmp(h->gates[i].name, name) == 0) return &h->gates[i];
  }
  return NULL;
}

bool after_pass_has(const struct handover *h, const struct site *s) {
  const struct after_gate *other = after_find_gate(h, s->gate.name);
  return s->gate.broker && !s->is_ending && other && other->is_permit;
}

static bool after_takes(const struct handover *h, enum message_listener of, const char *gate,
                        const char *text) {
  for (size_t i = 0; i < h->offers.count; i++) {
    const struct offer *o = &h->offers.all[i];
    bool is_same = o->of == of && strcmp(o->gate, gate) == 0 && strcmp(o->text, text) == 0;
    if (is_same && o->is_taken) return true;
  }
  return false;
}

static bool after_takes_listener(void *arg, const struct site *s, const struct listener *l) {
  return after_takes((struct handover *)arg, MESSAGE_OF_GATE, s->gate.name, l->text);
}

/* With a cluster each process leases its own permits. This one gives its leases back as its clients
 * finish. */
static void after_leave_gate(struct handover *h, struct site *s, bool is_other_leasing) {
  if (is_other_leasing != (gate_lease(&s->gate) != NULL)) {
    log_line(
        LOG_WARN, s->gate.name,
        "process %ld has %s cluster, and this one has %s: until the clients here have finished, "
        "both have a limit of their own",
        (long)h->after_pid, is_other_leasing ? "a" : "no", is_other_leasing ? "none" : "one");
  }
  (void)channel_send(&h->after, MESSAGE_PERMITS, 0, s->gate.name, NULL);
  site_pause(s, after_takes_listener, h);
}

static void after_give_gate(struct handover *h, struct site *s) {
  struct given *given = (struct given *)calloc(1, sizeof *given);
  if (!given) { /* its permits stay here until this process ends: the successor has none before */
    log_line(LOG_ERROR, s->gate.name, "there is no memory: no permits are handed over");
  }
  uint32_t limit = volt_sem_limit(&s->gate.permits);
  (void)channel_send(&h->after, MESSAGE_PERMITS, limit, s->gate.name, NULL);
  site_pause(s, after_takes_listener, h);
  if (!given) return;
  giver_begin(&given->giver, &s->gate, handover_tell(h));
  given->next = h->given;
  h->given = given;
}

static void after_give_gates(struct handover *h) {
  for (struct site *s = h->program->first; s; s = s->next) {
    if (s->is_ending) continue;
    const struct after_gate *other = after_find_gate(h, s->gate.name);
    if (other && other->is_permit != (s->gate.broker != NULL)) other = NULL; /* it is another one */
    if (other && other->is_permit) {
      site_pause(s, after_takes_listener, h); /* its clients stand still */
    } else if (other && (other->leases || gate_lease(&s->gate))) {
      after_leave_gate(h, s, other->leases);
    } else if (other) {
      after_give_gate(h, s);
    } else {
      log_line(LOG_INFO, s->gate.name, "process %ld does not have it", (long)h->after_pid);
      site_end(s);
    }
  }
}

/* The admin side ends here, because the successor listens at its socket. */
static void after_give_admin(struct handover *h) {
  struct program *p = h->program;
  const char *address = program_settings(p)->metrics;
  if (!p->admin || !after_takes(h, MESSAGE_OF_ADMIN, "", address)) return;
  h->admin = fcntl(admin_number(p->admin), F_DUPFD_CLOEXEC, 0);
  admin_keep_path(p->admin, true);
  admin_stop(p->admin);
  p->admin = NULL;
}

void after_give_permits(struct handover *h) {
  for (struct given *g = h->given; g; g = g->next) {
    const char *name = g->giver.gate->name;
    struct ledger_says says = giver_look(&g->giver);
    enum message_kind want = says.together ? MESSAGE_WANT_TOGETHER : MESSAGE_WANT;
    if (says.give) (void)channel_send(&h->after, MESSAGE_GIVE, says.give, name, NULL);
    if (says.want_not) {
      (void)channel_send(&h->after, MESSAGE_WANT_NOT, says.want_not, name, NULL);
    }
    if (says.want) (void)channel_send(&h->after, want, says.want, name, NULL);
  }
}

bool after_go(struct handover *h) {
  struct program *p = h->program;
  pthread_mutex_lock(&p->control);
  bool is_draining = atomic_load_explicit(&p->is_draining, memory_order_acquire);
  bool is_whole = after_pass_is_whole(h); /* a reload may have brought a gate */
  if (!is_draining && is_whole) {
    h->stage = AFTER_GIVES;
    h->after_ns = after_now_ns(h);
    h->after.timeout_ms = -1; /* there is no way back while the successor lives */
    handover_set_state(h, HANDOVER_GIVES);
    after_give_gates(h);
  }
  pthread_mutex_unlock(&p->control);
  if (is_draining || !is_whole) return false;
  after_give_admin(h);
  h->is_passed_on = after_takes(h, MESSAGE_OF_HANDOVER, "", h->path);
  after_give_permits(h);
  if (channel_send(&h->after, MESSAGE_GO, 0, NULL, NULL)) after_pass_done(h);
  (void)systemd_main_pid((uint64_t)h->after_pid);
  log_line(LOG_INFO, NULL, "hands over to process %ld: accepts no more", (long)h->after_pid);
  return true;
}
