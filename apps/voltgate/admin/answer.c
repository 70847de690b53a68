/* answer.c: what is answered to a request.
 *
 * A poll decides which answer it is, and whether it is allowed. What has to be counted, written or
 * read from a file is done by admin_answer_work(), on the blocking pool. Nothing of a request comes
 * back in an answer but numbers that were read from it. */
#include "admin/answer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <volt/sight.h>

#include "admin/cluster_status.h"
#include "admin/guard.h"
#include "admin/metrics.h"
#include "admin/page.h"
#include "admin/sight.h"
#include "admin/status.h"
#include "cluster/cluster.h"
#include "common/http/date.h"
#include "gate/broker.h"
#include "process/log.h"

#define JSON_TYPE "application/json; charset=utf-8"
#define TEXT_TYPE "text/plain; charset=utf-8"
#define LIMIT_MAX 1000000

void admin_answers_init(struct answers *from, struct program *p) {
  *from = (struct answers){.program = p};
  history_init(&from->history);
  resources_open(&from->resources);
  page_policy_write(from->page_policy, sizeof from->page_policy, page_html, page_html_size);
}

void admin_answers_destroy(struct answers *from) {
  history_destroy(&from->history);
  resources_close(&from->resources);
}

/* ---- answers ---- */

void admin_answer_fail(struct answer *a, int status, const char *words) {
  struct json j = {.to = &a->text};
  a->status = status;
  a->type = JSON_TYPE;
  a->text.size = 0;
  json_put_object(&j, NULL);
  json_put_false(&j, "ok");
  json_put_string(&j, "error", words);
  json_end_object(&j);
  OUTPUT(&a->text, "\n");
}

static void admin_answer_succeed(struct answer *a, const char *type) {
  a->status = 200;
  a->type = type;
}

/* ---- routes ---- */

static const struct {
  const char *path;
  enum route route;
} fixed_routes[] = {
    {"", ROUTE_PAGE},           {"metrics", ROUTE_METRICS}, {"status", ROUTE_STATUS},
    {"queue", ROUTE_QUEUE},     {"history", ROUTE_HISTORY}, {"health", ROUTE_HEALTH},
    {"reload", ROUTE_RELOAD},   {"drain", ROUTE_DRAIN},     {"dump", ROUTE_DUMP},
    {"holders", ROUTE_HOLDERS},
};

static bool admin_answer_is_change(enum route route) {
  return route >= ROUTE_SET_LIMIT;
}

static bool admin_answer_needs_token(enum route route) {
  return route >= ROUTE_DUMP;
}

static const char *admin_answer_allowed(enum route route) {
  if (!admin_answer_is_change(route)) return "GET, HEAD";
  return route == ROUTE_RELOAD || route == ROUTE_DRAIN ? "POST" : "PUT";
}

static bool admin_answer_is_allowed(enum route route, enum method method) {
  if (!admin_answer_is_change(route)) return method == METHOD_GET || method == METHOD_HEAD;
  return method == (route == ROUTE_RELOAD || route == ROUTE_DRAIN ? METHOD_POST : METHOD_PUT);
}

/* Whether text ends with the other; then it is cut off. */
static bool admin_answer_cut_end(char *text, const char *end) {
  size_t size = strlen(text), cut = strlen(end);
  if (size < cut || strcmp(text + size - cut, end) != 0) return false;
  text[size - cut] = '\0';
  return true;
}

/* gates/NAME/limit, gates/NAME/queue, gates/NAME/kinds/KIND, gates/NAME/tenants/T/limit. A tenant's name may have slashes,
 * a gate's has none. The path is cut into pieces in place. */
static enum route admin_answer_find_gate_route(struct answer *a, char *path) {
  static const char beginning[] = "gates/", tenants[] = "tenants/", kinds[] = "kinds/";
  if (strncmp(path, beginning, sizeof beginning - 1) != 0) return ROUTE_NONE;
  char *name = path + sizeof beginning - 1;
  char *slash = strchr(name, '/');
  if (slash == NULL) return ROUTE_NONE;
  char *what = slash + 1;
  enum route route = ROUTE_NONE;
  if (strcmp(what, "limit") == 0) {
    route = ROUTE_SET_LIMIT;
  } else if (strcmp(what, "queue") == 0) {
    route = ROUTE_SET_QUEUE;
  } else if (strncmp(what, tenants, sizeof tenants - 1) == 0 &&
             admin_answer_cut_end(what, "/limit")) {
    a->tenant = what + sizeof tenants - 1;
    route = ROUTE_SET_TENANT;
  }
  if (strncmp(what, kinds, sizeof kinds - 1) == 0) {
    a->kind = what + sizeof kinds - 1;
    route = ROUTE_SET_KIND;
  }
  if (route == ROUTE_NONE) return ROUTE_NONE;
  *slash = '\0';
  a->gate = program_gate(a->from->program, name);
  return route;
}

static enum route admin_answer_find_route(struct answer *a, const struct request *r) {
  if (r->is_directory && r->path[0] != '\0') return ROUTE_NONE;
  for (size_t i = 0; i < sizeof fixed_routes / sizeof *fixed_routes; i++) {
    if (strcmp(r->path, fixed_routes[i].path) == 0) return fixed_routes[i].route;
  }
  return admin_answer_find_gate_route(a, r->path);
}

/* ---- what is asked for ---- */

/* Find the value of a name, and decode it. Returns false: there is none, or one that is no text or
 * too long for room bytes. */
static bool admin_answer_query_find(const struct request *r, const char *name, char *to,
                                    size_t room) {
  struct text rest = r->query;
  size_t name_size = strlen(name);
  while (rest.size > 0) {
    const char *end = memchr(rest.at, '&', rest.size);
    struct text part = {rest.at, end != NULL ? (size_t)(end - rest.at) : rest.size};
    size_t used = part.size + (end != NULL);
    rest = (struct text){rest.at + used, rest.size - used};
    if (part.size <= name_size || memcmp(part.at, name, name_size) != 0 ||
        part.at[name_size] != '=') {
      continue;
    }
    size_t size = 0;
    for (size_t i = name_size + 1; i < part.size; i++) {
      int byte = part.at[i] == '+' ? ' ' : (unsigned char)part.at[i];
      if (byte == '%') {
        if (part.size - i < 3) return false;
        int high = byte_hex(part.at[i + 1]), low = byte_hex(part.at[i + 2]);
        if (high < 0 || low < 0 || (high == 0 && low == 0)) return false;
        byte = high * 16 + low;
        i += 2;
      }
      if (size + 1 >= room) return false;
      to[size++] = (char)byte;
    }
    to[size] = '\0';
    return true;
  }
  return false;
}

/* Read seconds with up to nine digits behind the point. Returns false: it is no such number. */
static bool admin_answer_query_seconds(const char *text, uint64_t *ns) {
  const char *point = strchr(text, '.');
  struct text whole = {text, point != NULL ? (size_t)(point - text) : strlen(text)};
  uint64_t seconds, billionths = 0;
  if (!text_number(whole, &seconds) || seconds > UINT64_MAX / 2000000000) return false;
  if (point != NULL) {
    struct text fraction = {point + 1, strlen(point + 1)};
    if (fraction.size > 9 || !text_number(fraction, &billionths)) return false;
    for (size_t i = fraction.size; i < 9; i++) billionths *= 10;
  }
  *ns = seconds * 1000000000 + billionths;
  return true;
}

struct only {
  struct gate *gate;
  size_t count;
};

static void admin_answer_count_gate(void *arg, struct gate *gate) {
  struct only *only = arg;
  only->gate = gate;
  only->count++;
}

/* ?gate=NAME; it may be left out if there is one gate only. Returns false: it was answered. */
static bool admin_answer_find_gate(struct answer *a, const struct request *r) {
  char name[256];
  if (admin_answer_query_find(r, "gate", name, sizeof name)) {
    a->gate = program_gate(a->from->program, name);
    if (a->gate == NULL) admin_answer_fail(a, 404, "there is no gate of that name");
    return a->gate != NULL;
  }
  struct only only = {.count = 0};
  program_each_gate(a->from->program, admin_answer_count_gate, &only);
  if (only.count != 1) admin_answer_fail(a, 400, "which gate? ?gate=NAME");
  a->gate = only.gate;
  return only.count == 1;
}

/* Returns false: it was answered. */
static bool admin_answer_read_query(struct answer *a, const struct request *r) {
  char text[32], name[256];
  if (a->route == ROUTE_STATUS && admin_answer_query_find(r, "tenants", name, sizeof name)) {
    a->is_of_one = true;
    a->gate = program_gate(a->from->program, name);
  }
  if (a->route == ROUTE_DUMP) a->is_each = admin_answer_query_find(r, "each", text, sizeof text);
  bool is_of_gate =
      a->route == ROUTE_QUEUE || a->route == ROUTE_HOLDERS || a->route == ROUTE_HISTORY;
  if (!is_of_gate) return true;
  a->number = QUEUE_SHOWN;
  if (admin_answer_query_find(r, "limit", text, sizeof text) &&
      (!text_number((struct text){text, strlen(text)}, &a->number) ||
       a->number > QUEUE_SHOWN_MAX)) {
    admin_answer_fail(a, 400, "limit is a number from 0 to 10000");
    return false;
  }
  if (admin_answer_query_find(r, "since", text, sizeof text) &&
      !admin_answer_query_seconds(text, &a->since_ns)) {
    admin_answer_fail(a, 400, "since is a time in seconds");
    return false;
  }
  return admin_answer_find_gate(a, r);
}

/* ---- changes ---- */

static const char *admin_answer_token(const struct answers *from) {
  const struct settings *settings = program_settings(from->program);
  return settings != NULL ? settings->token : NULL;
}

/* Returns false: it was answered. */
static bool admin_answer_check_token(struct answer *a, const struct request *r) {
  const char *allows = admin_answer_token(a->from);
  int status = guard_change(r, allows);
  if (status == 0) return true;
  if (status == 401) {
    admin_answer_fail(a, 401,
                      a->route == ROUTE_DUMP
                          ? "a dump needs the token: Authorization: Bearer TOKEN"
                          : "a change needs the token: Authorization: Bearer TOKEN");
  } else if (allows == NULL) {
    admin_answer_fail(a, 403, "nothing can be changed or dumped: this voltgate was given no token");
  } else {
    admin_answer_fail(a, 403, "a page of another site cannot change anything");
  }
  return false;
}

/* What was changed here would hold for the clients only that are left. */
static bool admin_answer_is_handed_over(const struct answer *a) {
  unsigned state =
      atomic_load_explicit(&a->from->program->handing, memory_order_relaxed); /* a snapshot */
  return state == HANDOVER_GIVES;
}

/* The body is the limit of a kind. Returns false: it was answered. */
static bool admin_answer_read_amount(struct answer *a, struct text body) {
  if (!a->gate->broker || broker_kind(a->gate->broker, a->kind) < 0) {
    admin_answer_fail(a, 404, "there is no kind of that name");
    return false;
  }
  if (permits_number(body.at, body.size, &a->number) && a->number <= PERMIT_MOST) return true;
  admin_answer_fail(a, 400, "the body is a number from 0 to 1T, as 4 or 16G");
  return false;
}

/* The body is one number. Returns false: it was answered. */
static bool admin_answer_read_change(struct answer *a, struct text body) {
  if (a->route == ROUTE_RELOAD || a->route == ROUTE_DRAIN) return true;
  if (admin_answer_is_handed_over(a)) {
    admin_answer_fail(a, 409, "it is handing over: ask the process that has taken over");
    return false;
  }
  if (a->gate == NULL) {
    admin_answer_fail(a, 404, "there is no gate of that name");
    return false;
  }
  while (body.size > 0 && (body.at[body.size - 1] == '\n' || body.at[body.size - 1] == '\r')) {
    body.size--;
  }
  if (a->route == ROUTE_SET_KIND) return admin_answer_read_amount(a, text_trim(body));
  if (a->gate->broker && a->route == ROUTE_SET_LIMIT) {
    admin_answer_fail(a, 409, "a permit gate has a limit for each kind: kinds/KIND");
    return false;
  }
  uint64_t least = a->route == ROUTE_SET_LIMIT;
  if (text_number(text_trim(body), &a->number) && a->number >= least && a->number <= LIMIT_MAX) {
    return true;
  }
  admin_answer_fail(a, 400,
                    least > 0 ? "the body is a number from 1 to 1000000"
                              : "the body is a number from 0 to 1000000");
  return false;
}

/* Set the limit of all gates of the cluster. Returns false: it was answered. */
static bool admin_answer_set_leased(struct answer *a, struct lease *lease) {
  const char *why = "";
  enum cluster_change change =
      gate_cluster_set_limit(a->from->program->cluster, lease, (uint32_t)a->number, &why);
  if (change == CLUSTER_CHANGED) return true;
  char words[128] = "cluster: ";
  strncat(words, why, sizeof words - sizeof "cluster: ");
  admin_answer_fail(a, change == CLUSTER_IS_AWAY ? 503 : 502, words);
  return false;
}

static void admin_answer_set_limit(struct answer *a) {
  struct json j = {.to = &a->text};
  struct lease *lease = gate_lease(a->gate);
  uint32_t before = gate_limit(a->gate);
  if (lease && !admin_answer_set_leased(a, lease)) return;
  gate_set_limit(a->gate, (uint32_t)a->number);
  uint32_t after = lease ? (uint32_t)a->number : volt_sem_limit(&a->gate->permits);
  uint32_t held = gate_held(a->gate), excess = volt_sem_excess(&a->gate->permits);
  if (lease) excess = held > after ? held - after : 0;
  log_line(LOG_INFO, a->gate->name, "limit %u -> %u, asked for by %s", before, after, a->client);
  json_put_object(&j, NULL);
  json_put_string(&j, "gate", a->gate->name);
  json_put_number(&j, "limit", after);
  json_put_number(&j, "excess", excess);
  json_end_object(&j);
}

static void admin_answer_set_kind(struct answer *a) {
  struct json j = {.to = &a->text};
  struct broker *b = a->gate->broker;
  struct broker_view v;
  unsigned kind = (unsigned)broker_kind(b, a->kind);
  broker_read_view(b, &v);
  uint64_t before = v.of[kind].limit;
  broker_set_limit(b, kind, a->number);
  broker_read_view(b, &v);
  log_line(LOG_INFO, a->gate->name, "%s %" PRIu64 " -> %" PRIu64 ", asked for by %s",
           b->names[kind], before, v.of[kind].limit, a->client);
  json_put_object(&j, NULL);
  json_put_string(&j, "gate", a->gate->name);
  json_put_string(&j, "kind", b->names[kind]);
  json_put_number(&j, "limit", v.of[kind].limit);
  json_put_number(&j, "held", v.of[kind].held);
  json_put_number(&j, "excess", v.of[kind].excess);
  json_end_object(&j);
}

static void admin_answer_set_queue(struct answer *a) {
  struct json j = {.to = &a->text};
  uint32_t before = atomic_load_explicit(&a->gate->queue_bound, memory_order_relaxed);
  gate_set_queue(a->gate, (uint32_t)a->number);
  log_line(LOG_INFO, a->gate->name, "queue %u -> %u, asked for by %s", (unsigned)before,
           (unsigned)a->number, a->client);
  json_put_object(&j, NULL);
  json_put_string(&j, "gate", a->gate->name);
  json_put_number(&j, "queue", a->number);
  json_put_number(&j, "length", atomic_load_explicit(&a->gate->queued, memory_order_relaxed));
  json_end_object(&j);
}

static void admin_answer_set_tenant(struct answer *a) {
  struct json j = {.to = &a->text};
  struct tenants *tenants = gate_tenants(a->gate);
  if (a->number == 0 && a->from->program->cluster) {
    admin_answer_fail(a, 409,
                      "cluster: a limit that all gates have cannot be taken away by one of them");
    return;
  }
  if (tenants == NULL || !tenants_set_limit(tenants, a->tenant, (uint32_t)a->number)) {
    admin_answer_fail(a, 404, "there is no tenant of that name");
    return;
  }
  struct lease *lease = tenants_lease(tenants, a->tenant);
  if (lease && !admin_answer_set_leased(a, lease)) return;
  log_line(LOG_INFO, a->gate->name, "limit of tenant %s: %u, asked for by %s", a->tenant,
           (unsigned)a->number, a->client);
  json_put_object(&j, NULL);
  json_put_string(&j, "gate", a->gate->name);
  json_put_string(&j, "tenant", a->tenant);
  json_put_number(&j, "limit", a->number);
  json_end_object(&j);
}

static void admin_answer_reload(struct answer *a) {
  char *wrong = program_reload(a->from->program);
  if (wrong != NULL) {
    admin_answer_fail(a, 409, wrong);
  } else {
    OUTPUT(&a->text, "{\"ok\":true}");
  }
  free(wrong);
}

/* ---- what takes long ---- */

static int admin_answer_severity(const char *state) {
  static const char *const states[] = {"up", "cluster", "silent", "breaker", "draining"};
  int i = 0;
  while (strcmp(state, states[i]) != 0) i++;
  return i;
}

static void admin_answer_say_health(struct answer *a) {
  struct view view;
  if (!top_view_read(&view, a->from->program)) {
    admin_answer_fail(a, 500, "no memory");
    return;
  }
  const char *worst = "up", *gate = NULL, *closed = NULL;
  for (size_t i = 0; i < view.count; i++) {
    const char *state = status_state(a->from->program, &view.gates[i]);
    if (admin_answer_severity(state) > admin_answer_severity(worst)) {
      worst = state;
      gate = view.gates[i].gate->name;
    }
    if (closed == NULL) closed = cluster_status_closed(a->from->program, &view.gates[i]);
  }
  if (admin_answer_severity(worst) == 0 && closed != NULL) {
    worst = "cluster";
    gate = closed;
  }
  output_string(&a->text, admin_answer_severity(worst) == 0 ? "ok" : worst);
  if (admin_answer_severity(worst) != 0 && strcmp(worst, "draining") != 0) {
    OUTPUT(&a->text, ": ");
    output_string(&a->text, gate);
  }
  OUTPUT(&a->text, "\n");
  if (admin_answer_severity(worst) != 0) a->status = 503;
  top_view_free(&view);
}

static void admin_answer_write_page(struct answer *a) {
  output_bytes(&a->text, page_html, page_html_size);
}

void admin_answer_work(struct answer *a) {
  struct answers *from = a->from;
  uint64_t now_ns = volt_rt_now_ns(from->program->rt);
  bool is_whole = true;
  admin_answer_succeed(a, JSON_TYPE);
  switch (a->route) {
    case ROUTE_NONE: break;
    case ROUTE_PAGE:
      admin_answer_succeed(a, "text/html; charset=utf-8");
      admin_answer_write_page(a);
      break;
    case ROUTE_METRICS:
      admin_answer_succeed(a, METRICS_TYPE);
      is_whole = metrics_write(&a->text, from->program, &from->resources);
      break;
    case ROUTE_STATUS:
      is_whole = status_write(&a->text, from->program, &from->history,
                              (struct status_of){!a->is_of_one, a->gate});
      break;
    case ROUTE_QUEUE:
      is_whole = status_queue_write(&a->text, a->gate, now_ns, (size_t)a->number);
      break;
    case ROUTE_HOLDERS:
      is_whole = status_holders_write(&a->text, a->gate, now_ns, (size_t)a->number);
      break;
    case ROUTE_HISTORY:
      history_write(&a->text, &from->history, a->gate, a->since_ns, now_ns);
      break;
    case ROUTE_HEALTH:
      admin_answer_succeed(a, TEXT_TYPE);
      admin_answer_say_health(a);
      break;
    case ROUTE_DUMP:
      admin_answer_succeed(a, TEXT_TYPE);
      is_whole = admin_sight_write_dump(&a->text, from->program->rt,
                                        a->is_each ? VOLT_DUMP_EACH | VOLT_DUMP_STACKS : 0);
      break;
    case ROUTE_SET_LIMIT: admin_answer_set_limit(a); break;
    case ROUTE_SET_QUEUE: admin_answer_set_queue(a); break;
    case ROUTE_SET_TENANT: admin_answer_set_tenant(a); break;
    case ROUTE_SET_KIND: admin_answer_set_kind(a); break;
    case ROUTE_RELOAD: admin_answer_reload(a); break;
    case ROUTE_DRAIN:
      a->drains = true;
      OUTPUT(&a->text, "{\"ok\":true}");
      break;
  }
  if (admin_answer_is_change(a->route) && a->status == 200) OUTPUT(&a->text, "\n");
  if (is_whole && !a->text.is_cut) return;
  output_free(&a->text);
  admin_answer_fail(a, 500, "no memory");
}

bool admin_answer_begin(struct answer *a, struct answers *from, const struct request *r,
                        struct text body) {
  a->from = from;
  a->is_head = r->method == METHOD_HEAD;
  int status = guard_host(r, from->own_name[0] != '\0' ? from->own_name : NULL);
  if (status != 0) {
    admin_answer_fail(a, status,
                      "the field Host is not an address, localhost, or the configured name");
    return false;
  }
  if (r->method == METHOD_UNKNOWN) {
    admin_answer_fail(a, 501, "this method is not known");
    return false;
  }
  a->route = r->is_asterisk ? ROUTE_NONE : admin_answer_find_route(a, r);
  if (a->route == ROUTE_NONE) {
    admin_answer_fail(a, 404, "there is nothing at this path");
    return false;
  }
  if (!admin_answer_is_allowed(a->route, r->method)) {
    a->allow = admin_answer_allowed(a->route);
    admin_answer_fail(a, 405, "this path has another method");
    return false;
  }
  if (admin_answer_needs_token(a->route) && !admin_answer_check_token(a, r)) return false;
  return admin_answer_is_change(a->route) ? admin_answer_read_change(a, body)
                                          : admin_answer_read_query(a, r);
}

/* ---- the head ---- */

static const char *admin_answer_reason(int status) {
  switch (status) {
    case 200: return "200 OK";
    case 400: return "400 Bad Request";
    case 401: return "401 Unauthorized";
    case 403: return "403 Forbidden";
    case 404: return "404 Not Found";
    case 405: return "405 Method Not Allowed";
    case 408: return "408 Request Timeout";
    case 409: return "409 Conflict";
    case 411: return "411 Length Required";
    case 413: return "413 Content Too Large";
    case 414: return "414 URI Too Long";
    case 417: return "417 Expectation Failed";
    case 421: return "421 Misdirected Request";
    case 431: return "431 Request Header Fields Too Large";
    case 501: return "501 Not Implemented";
    case 503: return "503 Service Unavailable";
    case 505: return "505 HTTP Version Not Supported";
    default: return "500 Internal Server Error";
  }
}

size_t admin_answer_head(const struct answer *a, char to[ANSWER_HEAD_MAX], int64_t now_s,
                         bool closes) {
  char date[DATE_SIZE];
  struct writer w = {to, to + ANSWER_HEAD_MAX, false};
  date_write(date, now_s);
  PUT(&w, "HTTP/1.1 ");
  put_string(&w, admin_answer_reason(a->status));
  PUT(&w, "\r\nDate: ");
  put_text(&w, (struct text){date, sizeof date});
  PUT(&w, "\r\nContent-Type: ");
  put_string(&w, a->type);
  PUT(&w, "\r\nContent-Length: ");
  put_number(&w, a->text.size);
  PUT(&w,
      "\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff"
      "\r\nReferrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin"
      "\r\nContent-Security-Policy: ");
  bool is_page = a->route == ROUTE_PAGE && a->status == 200;
  put_string(&w, is_page ? a->from->page_policy : "default-src 'none'; frame-ancestors 'none'");
  if (a->allow != NULL) {
    PUT(&w, "\r\nAllow: ");
    put_string(&w, a->allow);
  }
  if (a->status == 401) PUT(&w, "\r\nWWW-Authenticate: Bearer realm=\"voltgate\"");
  if (a->status == 503) PUT(&w, "\r\nRetry-After: 1");
  if (closes) PUT(&w, "\r\nConnection: close");
  PUT(&w, "\r\n\r\n");
  return (size_t)(w.at - to);
}

struct text admin_answer_body(const struct answer *a) {
  return (struct text){a->text.at, a->is_head ? 0 : a->text.size};
}

void admin_answer_end(struct answer *a) {
  struct program *drained = a->drains && a->status == 200 ? a->from->program : NULL;
  output_free(&a->text);
  *a = (struct answer){.status = 0};
  if (drained) program_drain(drained);
}
