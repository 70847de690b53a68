/* compare.c: what is different between two settings. */
#include <stdlib.h>
#include <string.h>

#include "config/reading.h"

static bool compare_is_same_tenants(const struct gate_settings *a, const struct gate_settings *b) {
  if (a->tenant_count != b->tenant_count) return false;
  for (size_t i = 0; i < a->tenant_count; i++) {
    const struct tenant_settings *s = &a->tenants[i], *t = &b->tenants[i];
    if (strcmp(s->name, t->name) != 0 || s->limit != t->limit || s->weight != t->weight ||
        s->cost != t->cost || s->uid != t->uid ||
        memcmp(&s->kinds, &t->kinds, sizeof s->kinds) != 0) {
      return false;
    }
  }
  return true;
}

/* One gate, as it was and as it is; what has changed is added to the line. */
static enum gate_change compare_gate(struct lines *summary, struct lines *restart,
                                     const struct gate_settings *old,
                                     const struct gate_settings *now) {
  enum gate_change change = GATE_SAME;
  for (size_t i = 0; i < options_count(); i++) {
    const struct option *o = &options_table[i];
    if (o->owner != OPTION_OF_GATE || option_is_equal(o, old, now)) continue;
    reading_add_line(o->needs_restart ? restart : summary, "%s of gate %s", o->name, now->name);
    if (o->kind == OPTION_LISTEN) {
      change = GATE_REBOUND;
    } else if (change == GATE_SAME) {
      change = GATE_CHANGED;
    }
  }
  if (compare_is_same_tenants(old, now)) return change;
  reading_add_line(summary, "tenants of gate %s", now->name);
  return change == GATE_SAME ? GATE_CHANGED : change;
}

static void compare_gates(struct settings_difference *d, struct lines *summary,
                          struct lines *restart, const struct settings *old,
                          const struct settings *now) {
  for (size_t i = 0; i < now->gate_count; i++) {
    const struct gate_settings *before = settings_gate(old, now->gates[i].name);
    struct gate_difference *one = &d->gates[d->gate_count++];
    one->name = now->gates[i].name;
    one->change = GATE_ADDED;
    if (before != NULL) one->change = compare_gate(summary, restart, before, &now->gates[i]);
    if (before == NULL) reading_add_line(summary, "gate %s added", one->name);
  }
  for (size_t i = 0; i < old->gate_count; i++) {
    if (settings_gate(now, old->gates[i].name) != NULL) continue;
    d->gates[d->gate_count++] = (struct gate_difference){old->gates[i].name, GATE_REMOVED};
    reading_add_line(summary, "gate %s removed", old->gates[i].name);
  }
}

/* Secrets are compared, too, and never named by their value. */
static bool compare_is_same_secret(const char *old, const char *now) {
  if (old == NULL || now == NULL) return old == now;
  return strcmp(old, now) == 0;
}

static void compare_process(struct lines *summary, struct lines *restart,
                            const struct settings *old, const struct settings *now) {
  for (size_t i = 0; i < options_count(); i++) {
    const struct option *o = &options_table[i];
    if (o->owner != OPTION_OF_PROCESS || option_is_equal(o, old, now)) continue;
    reading_add_line(o->needs_restart ? restart : summary, "%s", o->name);
  }
  if (!compare_is_same_secret(old->token, now->token)) reading_add_line(summary, "the token");
  if (!compare_is_same_secret(old->cluster_auth, now->cluster_auth)) {
    reading_add_line(restart, "what cluster-auth-file says");
  }
}

/* Lines become words behind commas. */
static char *compare_on_one_line(const struct lines *l) {
  char *text = NULL;
  size_t n = 0;
  if (l->text == NULL) return NULL;
  text = malloc(l->length + l->count + 1);
  for (const char *at = l->text; text != NULL && *at != '\0'; at++) {
    if (*at == '\n') {
      text[n++] = ',';
      text[n++] = ' ';
    } else {
      text[n++] = *at;
    }
  }
  if (text != NULL) text[n] = '\0';
  return text;
}

bool settings_compare(struct settings_difference *out, const struct settings *old,
                      const struct settings *now) {
  struct lines summary = {0}, restart = {0};
  *out = (struct settings_difference){0};
  out->gates = calloc(old->gate_count + now->gate_count + 1, sizeof *out->gates);
  if (out->gates != NULL) {
    compare_process(&summary, &restart, old, now);
    compare_gates(out, &summary, &restart, old, now);
    out->summary = compare_on_one_line(&summary);
    out->restart = compare_on_one_line(&restart);
  }
  bool is_whole = out->gates != NULL && !summary.is_short && !restart.is_short &&
                  (out->summary == NULL) == (summary.text == NULL) &&
                  (out->restart == NULL) == (restart.text == NULL);
  free(summary.text);
  free(restart.text);
  if (!is_whole) settings_difference_free(out);
  return is_whole;
}

void settings_difference_free(struct settings_difference *d) {
  free(d->gates);
  free(d->summary);
  free(d->restart);
  *d = (struct settings_difference){0};
}
