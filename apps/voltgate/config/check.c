/* check.c: what is wrong with settings as a whole. */
#define _GNU_SOURCE /* strdup */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/options.h"
#include "config/reading.h"
#include "config/units.h"

/* ---- where it was said ---- */

static struct place check_given_at(const struct place *given, const char *name, unsigned owner) {
  return given[options_find(name, owner) - options_table];
}

struct place reading_gate_given(const struct gate_draft *d, const char *name) {
  return check_given_at(d->given, name, OPTION_OF_GATE);
}

static struct place check_process_given(const struct reading *r, const char *name) {
  return check_given_at(r->given, name, OPTION_OF_PROCESS);
}

/* One gate that is looked at. */
struct looked_at {
  struct reading *r;
  struct gate_settings *g;
  const struct gate_draft *draft;
};

/* An option that was given and has no effect without something else. */
static void check_needs(const struct looked_at *l, const char *name, bool is_met,
                        const char *what) {
  struct place at = reading_gate_given(l->draft, name);
  if (reading_is_given(at) && !is_met) {
    reading_error(l->r, at, name, "it has no effect without %s", what);
  }
}

/* Where to say what is wrong with an option that may not be given. */
static struct place check_place_of(const struct looked_at *l, const char *name) {
  struct place at = reading_gate_given(l->draft, name);
  return reading_is_given(at) ? at : l->draft->section;
}

/* ---- files ---- */

static bool check_is_readable(struct reading *r, struct place at, const char *key, const char *path,
                              mode_t *mode) {
  struct stat status;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0 || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    reading_error(r, at, key, "'%.200s': %s", path, fd < 0 ? strerror(errno) : "it is not a file");
    if (fd >= 0) close(fd);
    return false;
  }
  close(fd);
  *mode = status.st_mode;
  return true;
}

static void check_directory(struct reading *r, const char *key, const char *path) {
  struct stat status;
  if (path == NULL || strcmp(path, "-") == 0) return;
  const char *slash = strrchr(path, '/');
  if (slash == NULL || slash == path) return;
  char *directory = strndup(path, (size_t)(slash - path));
  if (directory == NULL) {
    r->errors.is_short = true;
  } else if (stat(directory, &status) != 0 || !S_ISDIR(status.st_mode)) {
    reading_error(r, check_process_given(r, key), key, "'%.200s': there is no directory %.200s",
                  path, directory);
  }
  free(directory);
}

/* ---- the token ---- */

/* Its owner alone may read it. Root's may be read by a group, as systemd's credentials are. */
static bool check_is_private(const struct stat *status, char why[OPTION_WHY]) {
  bool is_ours = status->st_uid == geteuid();
  if (!is_ours && status->st_uid != 0) {
    snprintf(why, OPTION_WHY, "it belongs to another user");
    return false;
  }
  if ((status->st_mode & (is_ours ? 077 : 037)) == 0) return true;
  snprintf(why, OPTION_WHY, "others may read or change it (mode %04o): want 0600",
           (unsigned)status->st_mode & 07777);
  return false;
}

/* The first line, which is all that the file may have. */
static char *check_token_of(char *text, size_t length, char why[OPTION_WHY]) {
  while (length > 0 && isspace((unsigned char)text[length - 1])) length--;
  text[length] = '\0';
  snprintf(why, OPTION_WHY, "want one line of 1 to 255 printable characters, without a blank");
  if (length == 0 || length > 255) return NULL;
  for (size_t i = 0; i < length; i++) {
    if (!isgraph((unsigned char)text[i])) return NULL;
  }
  char *token = strdup(text);
  if (token == NULL) snprintf(why, OPTION_WHY, "no memory");
  return token;
}

char *reading_token_of_text(const char *text, char why[OPTION_WHY]) {
  char copy[257];
  size_t length = strnlen(text, sizeof copy - 1);
  memcpy(copy, text, length);
  char *token = check_token_of(copy, length, why);
  explicit_bzero(copy, sizeof copy);
  return token;
}

char *reading_read_token(const char *path, char why[OPTION_WHY]) {
  struct stat status;
  char text[1024], *token = NULL;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0 || fstat(fd, &status) != 0) {
    snprintf(why, OPTION_WHY, "%s", strerror(errno));
  } else if (!S_ISREG(status.st_mode)) {
    snprintf(why, OPTION_WHY, "it is not a file");
  } else if (check_is_private(&status, why)) {
    ssize_t n = read(fd, text, sizeof text - 1);
    token = check_token_of(text, n < 0 ? 0 : (size_t)n, why);
    explicit_bzero(text, sizeof text);
  }
  if (fd >= 0) close(fd);
  return token;
}

static void check_admin_token(struct reading *r) {
  struct settings *s = r->out;
  struct place at = check_process_given(r, "token-file");
  char why[OPTION_WHY];
  if (s->token_file != NULL) {
    s->token = reading_read_token(s->token_file, why);
    if (s->token == NULL) {
      reading_error(r, at, "token-file", "'%.200s': %.300s", s->token_file, why);
    }
    if (s->metrics == NULL) {
      reading_error(r, at, "token-file", "it has no effect without metrics");
    }
    return;
  }
  const char *of_environment = getenv("VOLTGATE_TOKEN");
  if (of_environment == NULL || s->metrics == NULL) return;
  s->token = reading_token_of_text(of_environment, why);
  if (s->token == NULL) reading_error(r, (struct place){0}, "VOLTGATE_TOKEN", "%.300s", why);
}

/* ---- the process ---- */

static bool check_is_id(const char *name) {
  uint64_t id;
  return number_read(name, 0, UINT32_MAX - 1, &id);
}

static void check_account(struct reading *r) {
  struct settings *s = r->out;
  if (r->is_reload) return; /* it cannot change, and the sandbox may hide the answer */
  if (s->user != NULL && !check_is_id(s->user) && getpwnam(s->user) == NULL) {
    reading_error(r, check_process_given(r, "user"), "user", "'%.100s': there is no such user",
                  s->user);
  }
  if (s->group != NULL && !check_is_id(s->group) && getgrnam(s->group) == NULL) {
    reading_error(r, check_process_given(r, "group"), "group", "'%.100s': there is no such group",
                  s->group);
  }
}

static void check_admin(struct reading *r) {
  const char *at = r->out->metrics;
  if (at == NULL || strncmp(at, "127.", 4) == 0 || strncmp(at, "[::1]", 5) == 0) return;
  if (strncmp(at, "unix:", 5) == 0) return;
  reading_warning(r, check_process_given(r, "metrics"), "metrics",
                  "'%.100s': other machines can look at it, and all is sent in the clear", at);
}

static void check_process(struct reading *r) {
  struct settings *s = r->out;
  check_admin_token(r);
  check_account(r);
  check_admin(r);
  check_directory(r, "log", s->log.path);
  check_directory(r, "access-log", s->access.path);
  check_directory(r, "handover", s->handover);
  if (s->gate_count == 0 && r->errors.count == 0) {
    reading_error(r, (struct place){0}, NULL,
                  "there is no gate: want --listen ADDRESS --to ADDRESS, or --config FILE");
  }
}

/* ---- a gate ---- */

static void check_ends(const struct looked_at *l) {
  struct gate_settings *g = l->g;
  struct place at = l->draft->section;
  bool was_listen_given = reading_is_given(reading_gate_given(l->draft, "listen"));
  bool was_to_given = reading_is_given(reading_gate_given(l->draft, "to"));
  if (!was_listen_given) {
    reading_error(l->r, at, NULL, "gate %s: listen is missing: where clients come to, as :6432",
                  g->name);
  }
  if (!was_to_given && g->protocol != PROTOCOL_PERMIT) {
    reading_error(l->r, at, NULL, "gate %s: to is missing: the server, as 127.0.0.1:5432", g->name);
  }
  for (size_t i = 0; i < g->listen_count && g->to != NULL; i++) {
    if (!units_addresses_clash(g->listen[i], g->to) || strncmp(g->to, "fd:", 3) == 0) continue;
    if (strcmp(g->listen[i], g->to) != 0) continue; /* :5432 and 10.0.0.1:5432: another machine */
    reading_error(l->r, reading_gate_given(l->draft, "to"), "to",
                  "'%.100s': the gate listens there itself", g->to);
  }
}

static void check_refuse(const struct looked_at *l) {
  struct gate_settings *g = l->g;
  static const enum refuse of_protocol[] = {
      [PROTOCOL_TCP] = REFUSE_CLOSE,
      [PROTOCOL_POSTGRES] = REFUSE_POSTGRES,
      [PROTOCOL_REDIS] = REFUSE_REDIS,
      [PROTOCOL_PERMIT] = REFUSE_PERMIT,
  };
  struct place at = reading_gate_given(l->draft, "refuse");
  if (!reading_is_given(at)) {
    g->refuse = of_protocol[g->protocol];
  } else if (g->protocol == PROTOCOL_PERMIT) {
    return; /* said elsewhere: the option is not for it */
  } else if (g->protocol != PROTOCOL_TCP && g->refuse != REFUSE_CLOSE &&
             g->refuse != of_protocol[g->protocol]) {
    reading_error(l->r, at, "refuse", "a client of protocol %s does not understand it",
                  g->protocol == PROTOCOL_POSTGRES ? "postgres" : "redis");
  }
}

static void check_tls(const struct looked_at *l) {
  struct gate_settings *g = l->g;
  bool is_server = g->tls == TLS_MODE_SERVER;
  mode_t mode;
  static const char *const of_server[] = {"tls-cert", "tls-key", "tls-min", "tls-required"};
  for (size_t i = 0; i < sizeof of_server / sizeof *of_server; i++) {
    check_needs(l, of_server[i], is_server, "tls = server");
  }
  if (g->tls == TLS_MODE_PASS && g->protocol != PROTOCOL_POSTGRES) {
    reading_error(l->r, check_place_of(l, "tls"), "tls",
                  "'pass' is for protocol = postgres; with tcp, TLS passes as any bytes do");
  }
  if (!is_server) return;
  if (g->protocol != PROTOCOL_POSTGRES) g->tls_required = true;
  static const char *const files[] = {"tls-cert", "tls-key"};
  for (size_t i = 0; i < 2; i++) {
    const char *path = i == 0 ? g->tls_cert : g->tls_key;
    struct place at = reading_gate_given(l->draft, files[i]);
    if (!reading_is_given(at)) {
      reading_error(l->r, check_place_of(l, "tls"), "tls", "'server' needs %s", files[i]);
    } else if (path != NULL && check_is_readable(l->r, at, files[i], path, &mode) && i == 1 &&
               (mode & 007) != 0) {
      reading_warning(l->r, at, files[i], "'%.200s': every user may read it (mode %04o)", path,
                      (unsigned)mode & 07777);
    }
  }
}

/* It was asked for without saying how: then in the way that is safe. */
static void check_server_tls_default(const struct looked_at *l) {
  static const char *const asks[] = {"server-ca", "server-cert", "server-name",
                                     "server-tls-negotiation"};
  if (reading_is_given(reading_gate_given(l->draft, "server-tls"))) return;
  for (size_t i = 0; i < sizeof asks / sizeof *asks; i++) {
    if (reading_is_given(reading_gate_given(l->draft, asks[i])))
      l->g->server_tls = SERVER_TLS_VERIFY_FULL;
  }
}

static void check_server_files(const struct looked_at *l) {
  const struct gate_settings *g = l->g;
  const struct {
    const char *name, *path;
  } files[] = {
      {"server-ca", g->server_ca}, {"server-cert", g->server_cert}, {"server-key", g->server_key}};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    mode_t mode;
    struct place at = reading_gate_given(l->draft, files[i].name);
    bool is_there =
        files[i].path && check_is_readable(l->r, at, files[i].name, files[i].path, &mode);
    if (is_there && files[i].path == g->server_key && (mode & 007) != 0) {
      reading_warning(l->r, at, files[i].name, "'%.200s': every user may read it (mode %04o)",
                      files[i].path, (unsigned)mode & 07777);
    }
  }
}

static void check_server_tls(const struct looked_at *l) {
  struct gate_settings *g = l->g;
  static const char *const of_server_tls[] = {"server-cert", "server-key", "server-name"};
  check_server_tls_default(l);
  bool is_on = g->server_tls != SERVER_TLS_OFF;
  bool checks = is_on && g->server_tls != SERVER_TLS_REQUIRE;
  for (size_t i = 0; i < sizeof of_server_tls / sizeof *of_server_tls; i++) {
    check_needs(l, of_server_tls[i], is_on, "server-tls");
  }
  check_needs(l, "server-ca", checks, "server-tls = verify-full or verify-ca");
  check_needs(l, "server-cert", g->server_key != NULL, "server-key");
  check_needs(l, "server-key", g->server_cert != NULL, "server-cert");
  check_needs(l, "server-tls-negotiation", is_on && g->protocol == PROTOCOL_POSTGRES,
              "server-tls and protocol = postgres");
  struct place at = check_place_of(l, "server-tls");
  if (is_on && g->tls == TLS_MODE_PASS)
    reading_error(l->r, at, "server-tls",
                  "with tls = pass, clients speak TLS with the server themselves");
  bool is_unix = g->to && strncmp(g->to, "unix:", 5) == 0;
  if (g->server_tls == SERVER_TLS_VERIFY_FULL && is_unix && !g->server_name)
    reading_error(l->r, at, "server-tls",
                  "a unix socket has no name: verify-full needs server-name");
  check_server_files(l);
}

static void check_tenants_options(const struct looked_at *l) {
  const struct gate_settings *g = l->g;
  if (g->protocol == PROTOCOL_PERMIT) return;
  static const char *const of_tenants[] = {"tenant-limit", "tenant-weight", "tenant-max"};
  for (size_t i = 0; i < sizeof of_tenants / sizeof *of_tenants; i++) {
    check_needs(l, of_tenants[i], g->tenant_by != TENANT_BY_NONE, "tenant-by");
  }
  check_needs(l, "tenant-by-ipv6-bits", g->tenant_by == TENANT_BY_SOURCE, "tenant-by = source");
  bool is_of_startup = g->tenant_by == TENANT_BY_USER || g->tenant_by == TENANT_BY_DATABASE;
  if (is_of_startup && g->protocol != PROTOCOL_POSTGRES) {
    reading_error(l->r, reading_gate_given(l->draft, "tenant-by"), "tenant-by",
                  "only protocol = postgres says which user and database a client wants");
  }
  if (is_of_startup && g->tls == TLS_MODE_PASS) {
    reading_warning(l->r, reading_gate_given(l->draft, "tenant-by"), "tenant-by",
                    "with tls = pass, clients that speak TLS belong to no tenant");
  }
  if (g->tenant_default.limit > g->limit) {
    reading_warning(l->r, reading_gate_given(l->draft, "tenant-limit"), "tenant-limit",
                    "%u is above the gate's limit, %u", g->tenant_default.limit, g->limit);
  }
}

static void check_numbers(const struct looked_at *l) {
  struct gate_settings *g = l->g;
  char target[UNITS_TIME_TEXT], interval[UNITS_TIME_TEXT];
  check_needs(l, "idle-in-transaction", g->protocol == PROTOCOL_POSTGRES, "protocol = postgres");
  check_needs(l, "breaker-retry", g->breaker_failures != 0, "breaker");
  check_needs(l, "shed-interval", g->shed_target_ns != 0, "shed-target");
  g->clients_given = reading_is_given(reading_gate_given(l->draft, "clients"));
  if (g->limit > g->clients && g->protocol != PROTOCOL_PERMIT) {
    reading_warning(l->r, check_place_of(l, "limit"), "limit",
                    "%u is above clients, %u: permits stay unused", g->limit, g->clients);
  }
  if (g->shed_target_ns > g->shed_interval_ns) {
    reading_warning(l->r, reading_gate_given(l->draft, "shed-target"), "shed-target",
                    "%s is longer than shed-interval, %s",
                    units_time_text(g->shed_target_ns, target),
                    units_time_text(g->shed_interval_ns, interval));
  }
  if (g->queue == 0) check_needs(l, "queue-timeout", false, "a queue");
}

static void check_gate(struct reading *r, size_t i) {
  const struct looked_at l = {r, &r->out->gates[i], &r->gates[i]};
  l.g->tenant_default.cost = 1;
  check_ends(&l);
  check_refuse(&l);
  check_tls(&l);
  check_server_tls(&l);
  check_tenants_options(&l);
  check_numbers(&l);
  reading_check_permit(r, i);
}

/* ---- gates and tenants beside each other ---- */

static void check_clashes(struct reading *r, size_t i, size_t j) {
  const struct gate_settings *one = &r->out->gates[i], *other = &r->out->gates[j];
  for (size_t a = 0; a < one->listen_count; a++) {
    for (size_t b = i == j ? a + 1 : 0; b < other->listen_count; b++) {
      if (!units_addresses_clash(one->listen[a], other->listen[b])) continue;
      reading_error(r, reading_gate_given(&r->gates[j], "listen"), "listen",
                    "'%.100s': gate %s listens at %.100s", other->listen[b], one->name,
                    one->listen[a]);
    }
  }
}

static void check_admin_clash(struct reading *r, size_t i) {
  const struct gate_settings *g = &r->out->gates[i];
  for (size_t a = 0; r->out->metrics != NULL && a < g->listen_count; a++) {
    if (!units_addresses_clash(g->listen[a], r->out->metrics)) continue;
    reading_error(r, check_process_given(r, "metrics"), "metrics",
                  "'%.100s': gate %s listens at %.100s", r->out->metrics, g->name, g->listen[a]);
  }
}

static int check_by_gate_and_name(const void *one, const void *other) {
  const struct tenant_draft *a = *(const struct tenant_draft *const *)one;
  const struct tenant_draft *b = *(const struct tenant_draft *const *)other;
  int order = strcmp(a->gate, b->gate);
  if (order == 0) order = strcmp(a->settings.name, b->settings.name);
  return order != 0 ? order : a->section.line < b->section.line ? -1 : 1;
}

/* The name that clients of this one's addresses have: "10.1.2.0/24", "10.1.2.3". Returns false: it
 * is none. */
static bool check_source_name(const struct gate_settings *g, const char *name, char to[64]) {
  unsigned char bytes[16];
  char address[64];
  snprintf(address, sizeof address, "%.*s", (int)strcspn(name, "/"), name);
  bool is_v6 = strchr(address, ':') != NULL;
  uint32_t size = is_v6 ? 16 : 4, bits = is_v6 ? g->tenant_ipv6_bits : g->tenant_ipv4_bits;
  if (inet_pton(is_v6 ? AF_INET6 : AF_INET, address, bytes) != 1) return false;
  for (unsigned i = 0; i < size; i++) {
    unsigned kept = bits > 8 * i ? bits - 8 * i : 0;
    if (kept < 8) bytes[i] &= (unsigned char)(0xFF00u >> kept);
  }
  inet_ntop(is_v6 ? AF_INET6 : AF_INET, bytes, to, 48);
  if (bits < 8 * size) snprintf(to + strlen(to), 16, "/%u", bits);
  return true;
}

/* A section of a tenant that no client can be of. */
static void check_tenant_name(struct reading *r, const struct gate_settings *g,
                              const struct tenant_draft *t) {
  const char *name = t->settings.name;
  char expected[64];
  uint64_t port;
  if (strcmp(name, "other") == 0 || strcmp(name, "unix") == 0) return;
  if (g->tenant_by == TENANT_BY_SOURCE) {
    if (!check_source_name(g, name, expected)) {
      reading_warning(r, t->section, NULL, "[tenant %s/%s]: it is no address", g->name, name);
    } else if (strcmp(name, expected) != 0) {
      reading_warning(r, t->section, NULL, "[tenant %s/%s]: clients from there are the tenant %s",
                      g->name, name, expected);
    }
  }
  if (g->tenant_by == TENANT_BY_PORT && !number_read(name, 1, 65535, &port)) {
    reading_warning(r, t->section, NULL, "[tenant %s/%s]: it is no port", g->name, name);
  }
}

static void check_tenant(struct reading *r, const struct tenant_draft *t) {
  const struct gate_settings *g = settings_gate(r->out, t->gate);
  const struct tenant_settings *own = &t->settings;
  struct place cost_at = check_given_at(t->given, "cost", OPTION_OF_TENANT);
  struct place limit_at = check_given_at(t->given, "limit", OPTION_OF_TENANT);
  if (g == NULL) return; /* said elsewhere */
  if (g->tenant_by == TENANT_BY_NONE) {
    reading_error(r, t->section, NULL, "[tenant %s/%s]: gate %s has no tenant-by", g->name,
                  own->name, g->name);
  }
  check_tenant_name(r, g, t);
  if (own->cost > g->limit || (own->limit != 0 && own->cost > own->limit)) {
    reading_error(r, reading_is_given(cost_at) ? cost_at : t->section, "cost",
                  "%u is above the limit, %u: no client of it could be admitted", own->cost,
                  own->limit != 0 && own->limit < g->limit ? own->limit : g->limit);
  }
  if (own->limit > g->limit) {
    reading_warning(r, limit_at, "limit", "%u is above the gate's limit, %u", own->limit, g->limit);
  }
}

static void check_tenants(struct reading *r) {
  if (r->tenant_count == 0 || r->errors.is_short) return;
  const struct tenant_draft **sorted = malloc(r->tenant_count * sizeof *sorted);
  if (sorted == NULL) {
    r->errors.is_short = true;
    return;
  }
  for (size_t i = 0; i < r->tenant_count; i++) sorted[i] = &r->tenants[i];
  qsort(sorted, r->tenant_count, sizeof *sorted, check_by_gate_and_name);
  for (size_t i = 0; i < r->tenant_count; i++) {
    const struct tenant_draft *t = sorted[i], *last = i == 0 ? NULL : sorted[i - 1];
    check_tenant(r, t);
    if (last == NULL || strcmp(last->gate, t->gate) != 0) continue;
    if (strcmp(last->settings.name, t->settings.name) != 0) continue;
    reading_error(r, t->section, NULL, "[tenant %s/%s]: it has begun in line %u already", t->gate,
                  t->settings.name, last->section.line);
  }
  free(sorted);
}

void reading_check(struct reading *r) {
  size_t count = r->out->gate_count;
  check_process(r);
  for (size_t i = 0; i < count; i++) check_gate(r, i);
  for (size_t i = 0; i < count; i++) {
    for (size_t j = i; j < count; j++) check_clashes(r, i, j);
    check_admin_clash(r, i);
  }
  check_tenants(r);
  for (size_t i = 0; i < r->tenant_count; i++) {
    const struct gate_settings *g = settings_gate(r->out, r->tenants[i].gate);
    if (g != NULL) reading_check_permit_tenant(r, g, &r->tenants[i]);
  }
  reading_check_cluster(r);
}
