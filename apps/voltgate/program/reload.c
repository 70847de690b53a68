/* reload.c: new settings, while clients are served.
 *
 * In two steps: first all that may fail (the file, listeners, certificates, logs), which changes
 * nothing; then all gates take what is theirs. */
#define _GNU_SOURCE /* asprintf */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gate/broker.h"
#include "process/log.h"
#include "program/budget.h"
#include "program/program.h"
#include "program/site.h"

/* What is ready for one gate of the new settings. */
struct reload_gate {
  struct site *site; /* that is there, or NULL: a new gate */
  struct site *made; /* a new one */
  struct listener_set listeners;
  struct certificates certificates;
};

struct reload {
  struct program *program;
  struct settings *settings;
  struct settings_difference difference;
  struct budget budget;
  struct reload_gate *gates; /* settings->gate_count */
};

static struct site *reload_site(struct program *p, const char *name) {
  for (struct site *s = p->first; s;
       s = s->next) { /* control is held: no other thread changes it */
    if (!s->is_ending && strcmp(s->gate.name, name) == 0) return s;
  }
  return NULL;
}

/* ---- what may fail ---- */

/* A permit gate keeps its kinds, and what one is stays one. */
static char *reload_check_permit(const struct gate *g, const struct gate_settings *settings) {
  bool is_permit = settings->protocol == PROTOCOL_PERMIT;
  const char *why = NULL;
  char *words = NULL;
  if ((g->broker != NULL) != is_permit) {
    why = "protocol: from or to permit";
  } else if (g->broker && !broker_has_kinds(g->broker, settings)) {
    why = "kinds: a kind that is new or gone";
  }
  if (!why) return NULL;
  int n = asprintf(&words, "gate %s: %s needs a restart", g->name, why);
  return n < 0 ? strdup("there is no memory") : words;
}

static char *reload_open_gate(struct reload *r, size_t i) {
  struct gate_settings *settings = &r->settings->gates[i];
  struct reload_gate *gate = &r->gates[i];
  gate->site = reload_site(r->program, settings->name);
  /* another protocol needs a restart (reload_say() says so) */
  char *wrong = gate->site ? reload_check_permit(&gate->site->gate, settings) : NULL;
  if (wrong) return wrong;
  if (gate->site) settings->protocol = gate_settings(&gate->site->gate)->protocol;
  wrong = site_open(&gate->listeners, r->program->rt, settings, gate->site, NULL);
  if (!wrong) wrong = certificates_read(&gate->certificates, settings);
  if (wrong || gate->site) return wrong;
  gate->made = site_new(r->program, settings, &gate->listeners, &gate->certificates);
  return gate->made ? NULL : strdup("there is no memory");
}

static char *reload_budget(struct reload *r) {
  char words[512];
  uint64_t all = r->program->descriptors_all;
  bool fits = fd_budget_compute(&r->budget, r->settings, all, words, sizeof words);
  return fits ? NULL : strdup(words);
}

static char *reload_logs(const struct reload *r) {
  const char *what = "";
  char *words = NULL;
  int result = log_start(&r->settings->log, &r->settings->access, &what);
  if (result == VOLT_OK) return NULL;
  return asprintf(&words, "%s: %s", what, volt_strerror(result)) < 0 ? strdup(what) : words;
}

/* Returns NULL, or what is wrong. */
static char *reload_prepare(struct reload *r) {
  struct program *p = r->program;
  if (atomic_load_explicit(&p->is_draining, memory_order_acquire)) {
    return strdup("it is draining"); /* acquire: no gate is added behind the drain */
  }
  if (atomic_load_explicit(&p->handing, memory_order_relaxed) == HANDOVER_GIVES) {
    return strdup("it is handing over: reload the process that has taken over");
  }
  r->settings = (struct settings *)calloc(1, sizeof *r->settings);
  if (!r->settings) return strdup("there is no memory");
  char *wrong = settings_reread(r->settings, p->argc, p->argv);
  if (wrong) {
    free(r->settings);
    r->settings = NULL;
    return wrong;
  }
  r->gates = (struct reload_gate *)calloc(r->settings->gate_count + 1, sizeof *r->gates);
  if (!r->gates || !settings_compare(&r->difference, program_settings(p), r->settings)) {
    return strdup("there is no memory");
  }
  wrong = reload_budget(r);
  for (size_t i = 0; !wrong && i < r->settings->gate_count; i++) wrong = reload_open_gate(r, i);
  return wrong ? wrong : reload_logs(r);
}

/* ---- what changes ---- */

/* What a command has changed is the configuration's again, also if that is as it was. */
static void reload_say_numbers(struct gate *g, const struct gate_settings *settings) {
  uint32_t limit = gate_limit(g);
  /* relaxed: a number for the log */
  uint32_t queue = atomic_load_explicit(&g->queue_bound, memory_order_relaxed);
  if (limit != settings->limit && !gate_lease(g) &&
      !g->broker) { /* a cluster's holds: that is said there */
    log_line(LOG_INFO, g->name, "limit %" PRIu32 " -> %" PRIu32 ", as configured", limit,
             settings->limit);
  }
  if (queue != settings->queue) {
    log_line(LOG_INFO, g->name, "queue %" PRIu32 " -> %" PRIu32 ", as configured", queue,
             settings->queue);
  }
}

static void reload_change(struct reload_gate *gate, const struct gate_settings *settings) {
  struct site *s = gate->site;
  reload_say_numbers(&s->gate, settings);
  gate_set_certificates(&s->gate, &gate->certificates);
  if (!gate_set(&s->gate, settings)) log_line(LOG_ERROR, settings->name, "no memory for tenants");
  int result = site_rebind(s, settings, &gate->listeners);
  if (result != VOLT_OK) log_line(LOG_ERROR, settings->name, "listen: %s", volt_strerror(result));
}

static void reload_add(struct program *p, struct site *made) {
  pthread_mutex_lock(&p->lock);
  struct site **last = &p->first;
  while (*last && !(*last)->is_gone) last = &(*last)->next;
  made->next = *last;
  *last = made;
  pthread_mutex_unlock(&p->lock);
  int result = site_accept(made);
  if (result != VOLT_OK) log_line(LOG_ERROR, made->gate.name, "listen: %s", volt_strerror(result));
}

/* Gates that are not configured any more. */
static void reload_remove(struct program *p, const struct settings *settings) {
  for (struct site *s = p->first; s; s = s->next) {
    if (s->is_ending || settings_gate(settings, s->gate.name)) continue;
    pthread_mutex_lock(&p->lock);
    s->is_gone = true;
    pthread_mutex_unlock(&p->lock);
    site_end(s);
  }
}

/* Each line of what looks wrong. */
static void reload_warn(const char *lines) {
  for (const char *line = lines; line && *line;) {
    int size = (int)strcspn(line, "\n");
    if (size > 0) log_line(LOG_WARN, NULL, "reload: %.*s", size, line);
    line += size + (line[size] == '\n');
  }
}

static void reload_say(const struct reload *r) {
  const struct settings_difference *d = &r->difference;
  log_line(LOG_INFO, NULL, "reload: %s", d->summary ? d->summary : "nothing has changed");
  if (d->restart) log_line(LOG_WARN, NULL, "reload: needs a restart: %s", d->restart);
  reload_warn(r->settings->warnings);
  fd_budget_say(r->program, &r->budget);
}

static void reload_apply(struct reload *r) {
  struct program *p = r->program;
  reload_say(r);
  reload_remove(p, r->settings);
  for (size_t i = 0; i < r->settings->gate_count; i++) {
    struct reload_gate *gate = &r->gates[i];
    if (gate->site) reload_change(gate, &r->settings->gates[i]);
    if (gate->made) reload_add(p, gate->made);
    gate->made = NULL;
  }
  fd_budget_follow(p);
  program_set_settings(p, r->settings);
  r->settings = NULL;
}

static void reload_end(struct reload *r) {
  for (size_t i = 0; r->gates && r->settings && i < r->settings->gate_count; i++) {
    struct reload_gate *gate = &r->gates[i];
    listener_set_close(&gate->listeners);
    certificates_drop(&gate->certificates);
    if (gate->made) site_free(gate->made);
  }
  free(r->gates);
  settings_difference_free(&r->difference);
  if (r->settings) settings_free(r->settings);
  free(r->settings);
}

char *program_reload(struct program *p) {
  struct reload r = {.program = p};
  pthread_mutex_lock(&p->control);
  char *wrong = reload_prepare(&r);
  if (!wrong) reload_apply(&r);
  reload_end(&r);
  pthread_mutex_unlock(&p->control);
  return wrong;
}
