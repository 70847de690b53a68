/* check_cluster.c: what is wrong with the settings of a cluster. */
#include <stdio.h>
#include <string.h>
#include <volt/cluster.h>

#include "config/cluster_name.h"
#include "config/reading.h"

static struct place check_cluster_given(const struct reading *r, const char *name) {
  return r->given[options_find(name, OPTION_OF_PROCESS) - options_table];
}

/* ---- the process ---- */

static void check_cluster_root(struct reading *r) {
  const char *root = r->out->cluster_root;
  size_t size = strlen(root);
  bool is_path = root[0] == '/' && size > 1 && root[size - 1] != '/' && !strstr(root, "//");
  if (is_path && size <= VOLT_CLUSTER_ROOT_MAX) return;
  reading_error(r, check_cluster_given(r, "cluster-root"), "cluster-root",
                "'%.80s': want a path as /volt, of at most %d bytes", root, VOLT_CLUSTER_ROOT_MAX);
}

static void check_cluster_auth(struct reading *r) {
  struct settings *s = r->out;
  char why[OPTION_WHY];
  if (s->cluster_auth_file == NULL) return;
  struct place at = check_cluster_given(r, "cluster-auth-file");
  s->cluster_auth = reading_read_token(s->cluster_auth_file, why);
  if (s->cluster_auth == NULL) {
    reading_error(r, at, "cluster-auth-file", "'%.200s': %.300s", s->cluster_auth_file, why);
    return;
  }
  const char *user = strncmp(s->cluster_auth, "digest:", 7) == 0 ? s->cluster_auth + 7 : "";
  const char *colon = strchr(user, ':');
  if (colon == NULL || colon == user || colon[1] == '\0') {
    reading_error(r, at, "cluster-auth-file", "'%.200s': want digest:USER:PASSWORD",
                  s->cluster_auth_file);
  }
}

/* Options that were given, and have no effect. */
static void check_cluster_unused(struct reading *r) {
  for (size_t i = 0; i < options_count(); i++) {
    const struct option *o = &options_table[i];
    bool is_one = strncmp(o->name, "cluster-", 8) == 0;
    for (size_t g = 0; is_one && o->owner == OPTION_OF_GATE && g < r->out->gate_count; g++) {
      struct place at = r->gates[g].given[i];
      if (!reading_is_given(at)) continue;
      reading_error(r, at, o->name, "it has no effect without cluster");
    }
    if (!is_one || o->owner != OPTION_OF_PROCESS || !reading_is_given(r->given[i])) continue;
    reading_error(r, r->given[i], o->name, "it has no effect without cluster");
  }
}

/* ---- gates ---- */

static void check_cluster_name(struct reading *r, size_t i) {
  const struct gate_settings *g = &r->out->gates[i];
  struct place at = reading_gate_given(&r->gates[i], "cluster-name");
  char name[CLUSTER_NAME_MAX + 1], other[CLUSTER_NAME_MAX + 1];
  if (g->cluster_name && !cluster_name_is_one(g->cluster_name)) {
    reading_error(r, at, "cluster-name",
                  "'%.80s': want 1 to %d letters, digits, '_', '.' and '-', and no dot first",
                  g->cluster_name, CLUSTER_NAME_MAX);
    return;
  }
  cluster_name(name, g, NULL);
  for (size_t j = 0; j < r->out->gate_count; j++) {
    const struct gate_settings *h = &r->out->gates[j];
    size_t size = strlen(cluster_name(other, h, NULL));
    if (j < i && strcmp(name, other) == 0) {
      reading_error(r, reading_is_given(at) ? at : r->gates[i].section, "cluster-name",
                    "gate %s has the name %s, too: two gates of one process cannot share a limit",
                    h->name, name);
    }
    bool is_below = j != i && strncmp(name, other, size) == 0 && name[size] == '.';
    if (!is_below || h->tenant_by == TENANT_BY_NONE) continue;
    reading_error(r, reading_is_given(at) ? at : r->gates[i].section, "cluster-name",
                  "%s is how a tenant of gate %s would be called: want another cluster-name", name,
                  h->name);
  }
}

static void check_cluster_sources(struct reading *r, size_t i) {
  const struct gate_settings *g = &r->out->gates[i];
  if (g->tenant_by != TENANT_BY_SOURCE || g->tenant_default.limit == 0) return;
  reading_warning(r, reading_gate_given(&r->gates[i], "tenant-limit"), "tenant-limit",
                  "with a cluster each source that ever came has nodes at the ensemble");
}

/* Two gates that each have a part of what a client costs would wait for each other. */
static void check_cluster_costs(struct reading *r) {
  for (size_t i = 0; i < r->tenant_count; i++) {
    const struct tenant_draft *t = &r->tenants[i];
    if (t->settings.cost <= 1) continue;
    reading_error(r, t->section, "cost", "%u: with a cluster each client takes one permit",
                  t->settings.cost);
  }
}

void reading_check_cluster(struct reading *r) {
  if (r->out->cluster == NULL) {
    check_cluster_unused(r);
    return;
  }
#ifndef VOLTGATE_CLUSTER
  reading_error(r, check_cluster_given(r, "cluster"), "cluster",
                "this voltgate was built without libvolt-cluster");
#endif
  check_cluster_root(r);
  check_cluster_auth(r);
  check_cluster_costs(r);
  for (size_t i = 0; i < r->out->gate_count; i++) {
    check_cluster_name(r, i);
    check_cluster_sources(r, i);
  }
}
