/* broker_tenant.c: tenants of a permit gate that have limits of their own. All is under the broker's lock. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* strdup */
#endif
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/kinds.h"
#include "gate/broker.h"
#include "gate/gate.h"

/* ---- which there are ---- */

static const struct tenant_settings *broker_tenant_settings(const struct gate_settings *s,
                                                            const char *name) {
  for (size_t i = 0; s->tenant_by != TENANT_BY_NONE && i < s->tenant_count; i++) {
    if (strcmp(s->tenants[i].name, name) == 0) return &s->tenants[i];
  }
  return NULL;
}

/* s: NULL: no limits of its own. */
static void broker_tenant_set(const struct broker *b, struct broker_tenant *t,
                              const struct tenant_settings *s) {
  if (s) t->uid = s->uid;
  t->is_named = s != NULL;
  for (uint32_t i = 0; i < b->kinds; i++) {
    const uint64_t *limit = s ? kinds_find(&s->kinds, b->names[i]) : NULL;
    t->limit.of[i] = limit ? *limit : VOLT_BUDGET_MAX;
  }
}

static struct broker_tenant *broker_tenant_named(struct broker *b, const char *name) {
  struct broker_tenant *t = b->tenants;
  while (t && strcmp(t->name, name) != 0) t = t->next;
  return t;
}

/* Returns false: no memory. */
static bool broker_add_tenant(struct broker *b, const struct tenant_settings *s) {
  struct broker_tenant *t = (struct broker_tenant *)calloc(1, sizeof *t);
  char *name = t ? strdup(s->name) : NULL;
  if (!name) {
    free(t);
    return false;
  }
  t->name = name;
  broker_tenant_set(b, t, s);
  t->next = b->tenants;
  b->tenants = t;
  return true;
}

bool broker_set_tenants(struct broker *b, const struct gate_settings *s) {
  bool is_whole = true;
  for (struct broker_tenant *t = b->tenants; t; t = t->next) {
    broker_tenant_set(b, t, broker_tenant_settings(s, t->name));
  }
  for (size_t i = 0; s->tenant_by != TENANT_BY_NONE && i < s->tenant_count; i++) {
    if (broker_tenant_named(b, s->tenants[i].name)) continue;
    is_whole &= broker_add_tenant(b, &s->tenants[i]);
  }
  return is_whole;
}

/* Whether a cgroup is the one of that name, or below it. name: with or without the first slash. */
static bool broker_is_below(const char *cgroup, const char *name) {
  cgroup += *cgroup == '/';
  name += *name == '/';
  size_t size = strlen(name);
  if (size == 0) return true;
  return strncmp(cgroup, name, size) == 0 && (cgroup[size] == '\0' || cgroup[size] == '/');
}

/* The nearest that is named. */
static struct broker_tenant *broker_tenant_of_cgroup(struct broker *b, const char *cgroup) {
  struct broker_tenant *nearest = NULL;
  for (struct broker_tenant *t = b->tenants; t && *cgroup; t = t->next) {
    if (!t->is_named || !broker_is_below(cgroup, t->name)) continue;
    if (!nearest || broker_is_below(t->name, nearest->name)) nearest = t;
  }
  return nearest;
}

struct broker_tenant *broker_find_tenant(struct broker *b, const struct broker_entry *e) {
  enum tenant_by by = gate_settings(b->gate)->tenant_by;
  if (by == TENANT_BY_LABEL) return broker_tenant_named(b, e->label);
  if (by == TENANT_BY_CGROUP) return broker_tenant_of_cgroup(b, e->cgroup);
  if (by != TENANT_BY_USER || !e->has_peer) return NULL;
  struct broker_tenant *t = b->tenants;
  while (t && !(t->is_named && t->uid == e->uid)) t = t->next;
  return t;
}

/* ---- their amounts ---- */

/* Of one kind: what is left of a tenant's limit. */
static uint64_t broker_tenant_left(const struct broker_tenant *t, uint32_t kind) {
  return t->limit.of[kind] > t->held.of[kind] ? t->limit.of[kind] - t->held.of[kind] : 0;
}

uint32_t broker_tenant_short(const struct broker *b, const struct broker_tenant *t,
                             const volt_amounts *need) {
  uint32_t i = 0;
  while (t && i < b->kinds && (need->of[i] == 0 || need->of[i] <= broker_tenant_left(t, i))) i++;
  return t ? i : b->kinds;
}

void broker_tenant_take(const struct broker *b, struct broker_tenant *t,
                        const volt_amounts *amounts) {
  for (uint32_t i = 0; t && i < b->kinds; i++) t->held.of[i] += amounts->of[i];
}

void broker_tenant_return(const struct broker *b, struct broker_tenant *t,
                          const volt_amounts *amounts) {
  for (uint32_t i = 0; i < b->kinds; i++) t->held.of[i] -= amounts->of[i];
}

void broker_explain_tenant(const struct broker *b, const struct broker_entry *e,
                           char why[BROKER_WHY]) {
  const struct broker_tenant *t = e->tenant;
  uint32_t over = 0, lacks = broker_tenant_short(b, t, &e->amounts);
  while (over < b->kinds && e->amounts.of[over] <= t->limit.of[over]) over++;
  if (over < b->kinds) {
    snprintf(why, BROKER_WHY, "%s: %" PRIu64 " asked for, the limit is %" PRIu64, b->names[over],
             e->amounts.of[over], t->limit.of[over]);
  } else if (lacks < b->kinds) {
    snprintf(why, BROKER_WHY, "%s: %" PRIu64 " asked for, %" PRIu64 " of %" PRIu64 " free",
             b->names[lacks], e->amounts.of[lacks], broker_tenant_left(t, lacks),
             t->limit.of[lacks]);
  } else {
    snprintf(why, BROKER_WHY, "other requests of %s come first", t->name);
  }
}
