/* check_permit.c: what is wrong with the settings of a permit gate, and with options of one at another
 * gate. */
#include <stdio.h>
#include <string.h>

#include "config/kinds.h"
#include "config/reading.h"

/* A permit gate that is looked at. */
struct permit_gate {
  struct reading *r;
  struct gate_settings *g;
  const struct gate_draft *draft;
};

static struct place check_permit_place(const struct permit_gate *l, const char *name) {
  struct place at = reading_gate_given(l->draft, name);
  return reading_is_given(at) ? at : l->draft->section;
}

static bool check_permit_has(const struct permit_gate *l, const char *name) {
  return reading_is_given(reading_gate_given(l->draft, name));
}

/* ---- options of the other side ---- */

static const char *const of_permit[] = {"kinds", "most", "users", "bypass", "claim-period"};

static const char *const of_others[] = {"to",
                                        "limit",
                                        "connect-timeout",
                                        "server-timeout",
                                        "idle-in-transaction",
                                        "refuse",
                                        "half-close",
                                        "breaker",
                                        "breaker-retry",
                                        "shed-target",
                                        "shed-interval",
                                        "tenant-by-ipv6-bits",
                                        "tenant-limit",
                                        "tenant-weight",
                                        "tenant-max",
                                        "proxy-in",
                                        "proxy-out",
                                        "cluster-name",
                                        "cluster-away"};

static void check_permit_unused(const struct permit_gate *l, const char *const *names, size_t count,
                                const char *words) {
  for (size_t i = 0; i < count; i++) {
    struct place at = reading_gate_given(l->draft, names[i]);
    if (reading_is_given(at)) reading_error(l->r, at, names[i], "it has no effect %s", words);
  }
}

/* ---- the gate ---- */

static bool check_permit_is_unix(const char *address) {
  return strncmp(address, "unix:", 5) == 0;
}

/* Clients of other machines are let in with TLS only. */
static void check_permit_listen(const struct permit_gate *l) {
  const struct gate_settings *g = l->g;
  for (size_t i = 0; i < g->listen_count; i++) {
    const char *at = g->listen[i];
    bool is_here = check_permit_is_unix(at) || strncmp(at, "127.", 4) == 0 ||
                   strncmp(at, "[::1]", 5) == 0 || strncmp(at, "fd:", 3) == 0;
    if (!is_here && g->tls != TLS_MODE_SERVER) {
      reading_error(
          l->r, check_permit_place(l, "listen"), "listen",
          "'%.100s': other machines can ask there, and all is sent in the clear: want a unix "
          "socket, 127.0.0.1, or tls = server",
          at);
    }
    bool is_by_process = g->tenant_by == TENANT_BY_USER || g->tenant_by == TENANT_BY_CGROUP;
    bool needs_unix = check_permit_has(l, "users") || is_by_process;
    if (needs_unix && !check_permit_is_unix(at) && strncmp(at, "fd:", 3) != 0) {
      reading_error(
          l->r, check_permit_place(l, "listen"), "listen",
          "'%.100s': whose process a client is, is only known at a unix socket: that is what "
          "%s needs",
          at,
          !is_by_process                   ? "users"
          : g->tenant_by == TENANT_BY_USER ? "tenant-by = user"
                                           : "tenant-by = cgroup");
    }
  }
}

/* Each of these has to be a kind of the gate. limit: nothing may be above the gate's. */
static void check_permit_amounts(struct reading *r, const struct gate_settings *g, struct place at,
                                 const char *option, const struct permit_amounts *a) {
  for (uint64_t i = 0; i < a->count; i++) {
    const uint64_t *limit = kinds_find(&g->kinds, a->of[i].kind);
    if (!limit) {
      reading_error(r, at, option, "there is no kind %s: gate %s does not name it in kinds",
                    a->of[i].kind, g->name);
    } else if (a->of[i].amount > *limit) {
      reading_warning(r, at, option, "%s: it is above the gate's limit", a->of[i].kind);
    }
  }
}

static void check_permit_users(const struct permit_gate *l) {
  char why[USERS_WHY];
  if (!l->g->users) return;
  if (users_read(l->g->users, &l->g->allowed, why)) return;
  reading_error(l->r, reading_gate_given(l->draft, "users"), "users", "%s", why);
}

static void check_permit_tenant_by(const struct permit_gate *l) {
  enum tenant_by by = l->g->tenant_by;
  if (by == TENANT_BY_NONE || by == TENANT_BY_USER) return;
  if (by == TENANT_BY_LABEL || by == TENANT_BY_CGROUP) return;
  reading_error(l->r, reading_gate_given(l->draft, "tenant-by"), "tenant-by",
                "with protocol = permit, it is none, user, cgroup or label");
}

static void check_permit_gate(const struct permit_gate *l) {
  struct gate_settings *g = l->g;
  check_permit_unused(l, of_others, sizeof of_others / sizeof *of_others, "with protocol = permit");
  if (!check_permit_has(l, "kinds")) {
    reading_error(l->r, l->draft->section, NULL,
                  "gate %s: kinds is missing: what there is, as cores=8 memory=16G", g->name);
  }
  if (l->r->out->cluster) {
    reading_error(l->r, check_permit_place(l, "protocol"), "protocol",
                  "'permit': its limits are of one process: gate %s cannot be in a cluster",
                  g->name);
  }
  if (!check_permit_has(l, "queue-timeout")) g->queue_timeout_ns = 0;
  g->refuse = REFUSE_PERMIT;
  check_permit_listen(l);
  check_permit_users(l);
  check_permit_tenant_by(l);
  check_permit_amounts(l->r, g, reading_gate_given(l->draft, "most"), "most", &g->most);
}

void reading_check_permit(struct reading *r, size_t gate) {
  const struct permit_gate l = {r, &r->out->gates[gate], &r->gates[gate]};
  if (l.g->protocol == PROTOCOL_PERMIT) {
    check_permit_gate(&l);
    return;
  }
  check_permit_unused(&l, of_permit, sizeof of_permit / sizeof *of_permit,
                      "without protocol = permit");
  bool is_label = l.g->tenant_by == TENANT_BY_LABEL;
  if (!is_label && l.g->tenant_by != TENANT_BY_CGROUP) return;
  reading_error(r, reading_gate_given(l.draft, "tenant-by"), "tenant-by",
                "'%s': only a request at a gate with protocol = permit has one",
                is_label ? "label" : "cgroup");
}

/* ---- a tenant ---- */

void reading_check_permit_tenant(struct reading *r, const struct gate_settings *g,
                                 struct tenant_draft *t) {
  static const char *const of_other_tenants[] = {"limit", "weight", "cost"};
  struct place kinds_at = t->given[options_find("kinds", OPTION_OF_TENANT) - options_table];
  if (g->protocol != PROTOCOL_PERMIT) {
    if (!reading_is_given(kinds_at)) return;
    reading_error(r, kinds_at, "kinds", "it has no effect without protocol = permit");
    return;
  }
  for (size_t i = 0; i < sizeof of_other_tenants / sizeof *of_other_tenants; i++) {
    const struct option *o = options_find(of_other_tenants[i], OPTION_OF_TENANT);
    struct place at = t->given[o - options_table];
    if (reading_is_given(at)) {
      reading_error(r, at, o->name, "it has no effect with protocol = permit: want kinds");
    }
  }
  check_permit_amounts(r, g, kinds_at, "kinds", &t->settings.kinds);
  if (g->tenant_by == TENANT_BY_USER && !users_find(t->settings.name, &t->settings.uid)) {
    reading_error(r, t->section, NULL, "[tenant %s/%s]: there is no such user", g->name,
                  t->settings.name);
  }
}
