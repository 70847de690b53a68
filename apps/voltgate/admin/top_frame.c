/* top_frame.c: what voltgate top shows. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>

#if VOLTGATE_JANSSON
#include "admin/top_frame.h"

enum { TENANTS_MAX = 100, NAME_COLUMNS = 18, SPARK_MAX = 300, WIDE = 108 };

const json_t *top_frame_gate(const struct top *t) {
  return json_array_get(admin_client_json_at(t->status, "gates"), t->chosen);
}

static bool top_frame_is_nothing(double number) {
  return !(number > 0);
}

static void top_frame_number(struct screen *s, unsigned columns, double value) {
  char text[32];
  screen_right(s, columns, screen_number(text, value));
}

static void top_frame_seconds(struct screen *s, unsigned columns, double value) {
  char text[32];
  screen_right(s, columns, screen_time(text, value));
}

/* ---- the first lines ---- */

static void top_frame_title(struct screen *s, const struct top *t) {
  char text[32];
  screen_style(s, SCREEN_BOLD);
  screen_left(s, 0, "voltgate ");
  screen_style(s, SCREEN_PLAIN);
  screen_left(s, 0, admin_client_json_text_at(t->status, "version"));
  screen_left(s, 0, "  ");
  screen_left(s, 0, t->admin);
  if (t->status != NULL) {
    screen_left(s, 0, "  up ");
    screen_left(s, 0, screen_time(text, admin_client_json_number_at(t->status, "uptime_s")));
    screen_left(s, 0, "  ");
    screen_left(s, 0, screen_number(text, admin_client_json_number_at(t->status, "workers")));
    screen_left(
        s, 0,
        admin_client_json_number_at(t->status, "workers") == 1 ? " worker on " : " workers on ");
    screen_left(s, 0, admin_client_json_text_at(t->status, "io"));
    if (strcmp(admin_client_json_text_at(t->status, "state"), "running") != 0) {
      screen_style(s, SCREEN_WARN);
      screen_left(s, 0, "  ");
      screen_left(s, 0, admin_client_json_text_at(t->status, "state"));
    }
  }
  screen_line(s);
  if (t->lost != NULL) {
    screen_style(s, SCREEN_BAD);
    screen_left(s, 0, "no answer since ");
    screen_left(s, 0, t->lost_since);
    screen_left(s, 0, ": ");
    screen_left(s, 0, t->lost);
  }
  screen_line(s);
}

/* ---- gates ---- */

/* Whether there is room for what is of less interest. */
static bool top_frame_is_wide(const struct screen *s) {
  return s->width >= WIDE;
}

static void top_frame_gate_row(struct screen *s, const json_t *g, bool is_chosen) {
  char text[80], limit[32];
  const char *state = admin_client_json_text_at(g, "state");
  enum screen_style style = strcmp(state, "breaker") == 0 ? SCREEN_BAD
                            : strcmp(state, "up") != 0    ? SCREEN_WARN
                                                          : SCREEN_PLAIN;
  if (is_chosen && s->is_terminal) style = SCREEN_CHOSEN;
  screen_style(s, style);
  screen_left(s, NAME_COLUMNS, admin_client_json_text_at(g, "name"));
  screen_left(s, 0, " ");
  screen_left(s, 8, state);
  char held[32];
  bool has_limit =
      admin_client_json_at(g, "kinds") == NULL; /* a permit gate has one for each kind */
  snprintf(text, sizeof text, "%s%s%s", screen_number(held, admin_client_json_number_at(g, "held")),
           has_limit ? "/" : "",
           has_limit ? screen_number(limit, admin_client_json_number_at(g, "limit")) : "");
  screen_right(s, 11, text);
  if (top_frame_is_wide(s)) top_frame_number(s, 6, admin_client_json_number_at(g, "excess"));
  top_frame_number(s, 7, admin_client_json_number_at(g, "queue.length"));
  top_frame_seconds(s, 8, admin_client_json_number_at(g, "queue.oldest_s"));
  top_frame_number(s, 8, admin_client_json_number_at(g, "last.admitted_per_s"));
  if (top_frame_is_wide(s))
    top_frame_number(s, 7, admin_client_json_number_at(g, "last.refused_per_s"));
  if (top_frame_is_wide(s))
    top_frame_seconds(s, 9, admin_client_json_number_at(g, "last.wait_s.p50"));
  top_frame_seconds(s, 9, admin_client_json_number_at(g, "last.wait_s.p99"));
  if (top_frame_is_wide(s))
    top_frame_seconds(s, 9, admin_client_json_number_at(g, "last.hold_s.p50"));
  top_frame_seconds(s, 9, admin_client_json_number_at(g, "last.hold_s.p99"));
  screen_line(s);
}

/* On a terminal the chosen one is always among those that are shown. */
static void top_frame_gates(struct screen *s, const struct top *t) {
  const json_t *all = admin_client_json_at(t->status, "gates");
  size_t count = json_array_size(all), first = 0, shown = count;
  if (count == 0) {
    screen_left(s, 0, "no gate is configured");
    screen_line(s);
    return;
  }
  if (s->is_terminal) {
    size_t room = s->height > 24 ? s->height / 3 : 5;
    if (shown > room) shown = room;
    if (t->chosen >= shown) first = t->chosen - shown + 1;
  }
  screen_style(s, SCREEN_SOFT);
  screen_left(s, NAME_COLUMNS + 1, "GATE");
  screen_left(s, 8, "STATE");
  static const struct {
    const char *title;
    unsigned columns;
    bool is_for_wide;
  } titles[] = {{"HELD/LIMIT", 11, false}, {"DEBT", 6, true},      {"QUEUE", 7, false},
                {"OLDEST", 8, false},      {"ADMIT/S", 8, false},  {"REF/S", 7, true},
                {"WAIT p50", 9, true},     {"WAIT p99", 9, false}, {"HOLD p50", 9, true},
                {"HOLD p99", 9, false}};
  for (size_t i = 0; i < sizeof titles / sizeof *titles; i++) {
    if (top_frame_is_wide(s) || !titles[i].is_for_wide) {
      screen_right(s, titles[i].columns, titles[i].title);
    }
  }
  screen_line(s);
  for (size_t i = first; i < first + shown; i++) {
    top_frame_gate_row(s, json_array_get(all, i), i == t->chosen);
  }
}

/* ---- the gate that is chosen ---- */

/* The queue's length of the last minutes; of several seconds that share a column, the most. */
static void top_frame_spark(struct screen *s, const struct top *t) {
  const json_t *rows = admin_client_json_at(t->history, "seconds");
  size_t count = json_array_size(rows), room = s->width > 24 ? s->width - 20 : 4;
  double values[SPARK_MAX], most = 0;
  char text[32];
  if (room > SPARK_MAX) room = SPARK_MAX;
  if (count > SPARK_MAX) count = SPARK_MAX;
  size_t each = (count + room - 1) / (room > 0 ? room : 1), columns = 0;
  if (each == 0) each = 1;
  for (size_t i = 0; i < count; i += each, columns++) {
    values[columns] = 0;
    for (size_t k = i; k < count && k < i + each; k++) {
      double value = json_number_value(json_array_get(json_array_get(rows, k), 1));
      if (value > values[columns]) values[columns] = value;
    }
    if (values[columns] > most) most = values[columns];
  }
  screen_style(s, SCREEN_SOFT);
  screen_left(s, 6, "queue ");
  screen_style(s, SCREEN_PLAIN);
  screen_bars(s, values, columns, most);
  screen_style(s, SCREEN_SOFT);
  screen_left(s, 0, " most ");
  screen_left(s, 0, screen_number(text, most));
  screen_line(s);
}

/* Why it is not up, if that is so, and for how long. */
static void top_frame_about_server(struct screen *s, const json_t *g) {
  const char *reason = admin_client_json_text_at(g, "reason");
  char text[32];
  if (reason[0] == '\0') return;
  bool is_silent = strcmp(admin_client_json_text_at(g, "state"), "silent") == 0;
  screen_style(s, is_silent ? SCREEN_WARN : SCREEN_BAD);
  screen_left(s, 0, is_silent ? "no answer for " : "server away for ");
  screen_left(s, 0, screen_time(text, admin_client_json_number_at(g, "reason_s")));
  screen_left(s, 0, ": ");
  screen_left(s, 0, reason);
  screen_line(s);
}

/* What a permit gate has. */
static void top_frame_about_kinds(struct screen *s, const json_t *g) {
  const json_t *kinds = admin_client_json_at(g, "kinds");
  char text[32];
  if (kinds == NULL) return;
  screen_style(s, SCREEN_SOFT);
  screen_left(s, 0, "held");
  for (size_t i = 0; i < json_array_size(kinds); i++) {
    const json_t *one = json_array_get(kinds, i);
    screen_left(s, 0, "  ");
    screen_left(s, 0, admin_client_json_text_at(one, "name"));
    screen_left(s, 0, " ");
    screen_left(s, 0, screen_number(text, admin_client_json_number_at(one, "held")));
    screen_left(s, 0, " of ");
    screen_left(s, 0, screen_number(text, admin_client_json_number_at(one, "limit")));
  }
  screen_line(s);
}

static void top_frame_about_gate(struct screen *s, const json_t *g) {
  char up[32], down[32];
  screen_style(s, SCREEN_BOLD);
  screen_left(s, 0, admin_client_json_text_at(g, "name"));
  screen_style(s, SCREEN_SOFT);
  screen_left(s, 0, "  ");
  screen_left(s, 0, admin_client_json_text_at(g, "protocol"));
  const char *to = admin_client_json_text_at(g, "to");
  screen_left(s, 0, to[0] != '\0' ? " to " : "");
  screen_left(s, 0, to);
  screen_left(s, 0, "  clients ");
  screen_left(s, 0, screen_number(up, admin_client_json_number_at(g, "clients")));
  screen_left(s, 0, "  up ");
  screen_left(s, 0, screen_bytes(up, admin_client_json_number_at(g, "last.bytes_up_per_s")));
  screen_left(s, 0, "/s  down ");
  screen_left(s, 0, screen_bytes(down, admin_client_json_number_at(g, "last.bytes_down_per_s")));
  screen_left(s, 0, "/s");
  screen_line(s);
  top_frame_about_kinds(s, g);
  top_frame_about_server(s, g);
}

/* What the gate has of its cluster's limit. */
static void top_frame_about_lease(struct screen *s, const struct top *t, const json_t *g) {
  const json_t *l = admin_client_json_at(g, "cluster");
  char text[32];
  if (l == NULL) return;
  bool is_leased = strcmp(admin_client_json_text_at(l, "mode"), "leased") == 0;
  bool is_closed = strcmp(admin_client_json_text_at(l, "mode"), "closed") == 0;
  screen_style(s, is_closed ? SCREEN_BAD : is_leased ? SCREEN_SOFT : SCREEN_WARN);
  screen_left(s, 0, "cluster ");
  screen_left(s, 0, admin_client_json_text_at(t->status, "cluster.state"));
  if (!is_leased) {
    screen_left(s, 0, ": ");
    screen_left(s, 0, admin_client_json_text_at(l, "mode"));
  }
  screen_left(s, 0, "  in force ");
  screen_left(s, 0, screen_number(text, admin_client_json_number_at(l, "in_force")));
  screen_left(s, 0, "  leased ");
  screen_left(s, 0, screen_number(text, admin_client_json_number_at(l, "leased")));
  screen_left(s, 0, "  owed ");
  screen_left(s, 0, screen_number(text, admin_client_json_number_at(l, "owed")));
  screen_left(s, 0, "  hosts ");
  screen_left(s, 0, screen_number(text, admin_client_json_number_at(l, "hosts")));
  screen_left(s, 0, "  before us ");
  screen_left(s, 0, screen_number(text, admin_client_json_number_at(l, "hosts_before")));
  screen_left(s, 0, "  valid ");
  screen_left(s, 0,
              screen_time(text, admin_client_json_number_at(t->status, "cluster.valid_for_s")));
  screen_left(s, 0, "  fence ");
  screen_left(s, 0, screen_number(text, admin_client_json_number_at(l, "era")));
  snprintf(text, sizeof text, "/%.0f", admin_client_json_number_at(l, "epoch"));
  screen_left(s, 0, text);
  screen_line(s);
  if (admin_client_json_text_at(l, "wrong")[0] == '\0') return;
  screen_style(s, SCREEN_BAD);
  screen_left(s, 0, "nothing is leased: ");
  screen_left(s, 0, admin_client_json_text_at(l, "wrong"));
  screen_line(s);
}

static void top_frame_refusals(struct screen *s, const json_t *g) {
  const char *reason;
  json_t *count, *refused = admin_client_json_at(g, "totals.refused");
  char text[32];
  screen_style(s, SCREEN_SOFT);
  screen_left(s, 0, "refused so far:");
  bool is_none = true;
  json_object_foreach(refused, reason, count) {
    if (top_frame_is_nothing(json_number_value(count))) continue;
    is_none = false;
    screen_left(s, 0, " ");
    screen_left(s, 0, reason);
    screen_left(s, 0, " ");
    screen_left(s, 0, screen_number(text, json_number_value(count)));
  }
  if (is_none) screen_left(s, 0, " none");
  screen_left(s, 0, "; left while waiting ");
  screen_left(s, 0, screen_number(text, admin_client_json_number_at(g, "totals.left")));
  screen_line(s);
}

static void top_frame_waiting(struct screen *s, const struct top *t, size_t most) {
  json_t *rows = admin_client_json_at(t->queue, "waiting");
  size_t count = json_array_size(rows);
  if (count == 0 || most < 2) return;
  screen_style(s, SCREEN_SOFT);
  screen_left(s, 10, "POSITION");
  screen_left(s, 24, "CLIENT");
  screen_left(s, NAME_COLUMNS, "TENANT");
  screen_right(s, 10, "WAITS");
  screen_right(s, 11, "DEADLINE");
  screen_line(s);
  for (size_t i = 0; i < count && i + 1 < most; i++) {
    const json_t *one = json_array_get(rows, i);
    char text[32];
    screen_left(s, 10, screen_number(text, admin_client_json_number_at(one, "position")));
    screen_left(s, 23, admin_client_json_text_at(one, "client"));
    screen_left(s, 0, " ");
    screen_left(s, NAME_COLUMNS, admin_client_json_text_at(one, "tenant"));
    top_frame_seconds(s, 10, admin_client_json_number_at(one, "age_s"));
    top_frame_seconds(s, 11, admin_client_json_number_at(one, "deadline_s"));
    screen_line(s);
  }
}

/* Those that hold permits for the longest time. */
static void top_frame_holders(struct screen *s, const struct top *t, size_t most) {
  json_t *rows = admin_client_json_at(t->holders, "holders");
  size_t count = json_array_size(rows);
  if (count == 0 || most < 2) return;
  screen_style(s, SCREEN_SOFT);
  screen_left(s, 9, "HOLDS");
  screen_left(s, 24, "CLIENT");
  screen_left(s, 20, "STATE");
  screen_right(s, 8, "FOR");
  screen_right(s, 9, "UP");
  screen_right(s, 9, "DOWN");
  if (top_frame_is_wide(s)) screen_left(s, 0, "  USER/DATABASE");
  screen_line(s);
  for (size_t i = 0; i < count && i + 1 < most; i++) {
    const json_t *one = json_array_get(rows, i);
    char text[32];
    screen_left(s, 9, screen_time(text, admin_client_json_number_at(one, "held_s")));
    screen_left(s, 23, admin_client_json_text_at(one, "client"));
    screen_left(s, 0, " ");
    bool rests = strcmp(admin_client_json_text_at(one, "state"), "idle in transaction") == 0;
    screen_style(s, rests ? SCREEN_WARN : SCREEN_PLAIN);
    screen_left(s, 20, admin_client_json_text_at(one, "state"));
    screen_style(s, SCREEN_PLAIN);
    top_frame_seconds(s, 8, admin_client_json_number_at(one, "state_s"));
    screen_right(s, 9, screen_bytes(text, admin_client_json_number_at(one, "up")));
    screen_right(s, 9, screen_bytes(text, admin_client_json_number_at(one, "down")));
    if (top_frame_is_wide(s)) {
      screen_left(s, 0, "  ");
      screen_left(s, 0, admin_client_json_text_at(one, "user"));
      screen_left(s, 0, "/");
      screen_left(s, 0, admin_client_json_text_at(one, "database"));
    }
    screen_line(s);
  }
}

/* ---- tenants ---- */

static enum top_order compare_order; /* qsort() takes no argument for it; one thread draws */

static double top_frame_rank(const json_t *tenant) {
  switch (compare_order) {
    case TOP_BY_ADMITTED: return admin_client_json_number_at(tenant, "admitted");
    case TOP_BY_WAIT: return admin_client_json_number_at(tenant, "wait_s.p99");
    case TOP_BY_REFUSED: return admin_client_json_number_at(tenant, "refused");
    default:
      return admin_client_json_number_at(tenant, "held") +
             admin_client_json_number_at(tenant, "queued");
  }
}

static int top_frame_compare(const void *a, const void *b) {
  const json_t *one = *(json_t *const *)a, *other = *(json_t *const *)b;
  double left = top_frame_rank(one), right = top_frame_rank(other);
  if (compare_order != TOP_BY_NAME && left != right) return left < right ? 1 : -1;
  return strcmp(admin_client_json_text_at(one, "name"), admin_client_json_text_at(other, "name"));
}

static void top_frame_tenants(struct screen *s, const struct top *t, size_t most) {
  static const char *const orders[] = {"busiest", "admitted", "wait p99", "refused", "name"};
  const json_t *rows = admin_client_json_at(top_frame_gate(t), "tenants");
  const json_t *sorted[TENANTS_MAX];
  size_t count = json_array_size(rows);
  if (count == 0 || most < 2) return;
  if (count > TENANTS_MAX) count = TENANTS_MAX;
  for (size_t i = 0; i < count; i++) sorted[i] = json_array_get(rows, i);
  compare_order = t->order;
  qsort(sorted, count, sizeof *sorted, top_frame_compare);
  screen_style(s, SCREEN_SOFT);
  char text[64];
  snprintf(text, sizeof text, "TENANT by %s", orders[t->order]);
  screen_left(s, top_frame_is_wide(s) ? 28 : 20, text);
  static const char *const titles[] = {"HELD",     "WAITING", "ADMITTED", "REFUSED",
                                       "WAIT p50", "p99",     "HOLD p99"};
  unsigned each = top_frame_is_wide(s) ? 10 : 9; /* the last ones are cut off at the edge */
  for (size_t i = 0; i < sizeof titles / sizeof *titles; i++) screen_right(s, each, titles[i]);
  screen_line(s);
  for (size_t i = 0; i < count && i + 1 < most; i++) {
    screen_left(s, top_frame_is_wide(s) ? 28 : 20, admin_client_json_text_at(sorted[i], "name"));
    top_frame_number(s, each, admin_client_json_number_at(sorted[i], "held"));
    top_frame_number(s, each, admin_client_json_number_at(sorted[i], "queued"));
    top_frame_number(s, each, admin_client_json_number_at(sorted[i], "admitted"));
    top_frame_number(s, each, admin_client_json_number_at(sorted[i], "refused"));
    top_frame_seconds(s, each, admin_client_json_number_at(sorted[i], "wait_s.p50"));
    top_frame_seconds(s, each, admin_client_json_number_at(sorted[i], "wait_s.p99"));
    top_frame_seconds(s, each, admin_client_json_number_at(sorted[i], "hold_s.p99"));
    screen_line(s);
  }
}

/* ---- all of it ---- */

/* Lines are shared between those that wait, those that hold permits, and tenants; the rest is for
 * keys. */
static void top_frame_below(struct screen *s, const struct top *t) {
  size_t of_tenants = json_array_size(admin_client_json_at(top_frame_gate(t), "tenants"));
  size_t of_holders = json_array_size(admin_client_json_at(t->holders, "holders"));
  size_t left = screen_lines_left(s), keys = s->is_terminal ? 2 : 0;
  size_t room = left > keys ? left - keys : 0;
  size_t for_tenants = of_tenants > 0 ? of_tenants + 2 : 0;
  size_t for_holders = of_holders > 0 ? of_holders + 2 : 0;
  if (for_tenants > room / 3) for_tenants = room / 3;
  if (for_holders > room / 3) for_holders = room / 3;
  size_t for_waiting = room - for_tenants - for_holders;
  if (!s->is_terminal) for_waiting = for_holders = 12;
  top_frame_waiting(s, t, for_waiting);
  if (of_holders > 0 && for_holders > 2) {
    screen_line(s);
    top_frame_holders(s, t, for_holders - 1);
  }
  if (of_tenants > 0 && for_tenants > 2) {
    screen_line(s);
    left = screen_lines_left(s);
    top_frame_tenants(s, t, left > keys ? left - keys : 0);
  }
}

void top_frame(struct screen *s, const struct top *t) {
  screen_begin(s);
  top_frame_title(s, t);
  if (t->status != NULL) top_frame_gates(s, t);
  const json_t *g = top_frame_gate(t);
  if (g != NULL) {
    screen_line(s);
    top_frame_about_gate(s, g);
    top_frame_about_lease(s, t, g);
    top_frame_spark(s, t);
    top_frame_refusals(s, g);
    screen_line(s);
    top_frame_below(s, t);
  }
  if (s->is_terminal) {
    while (screen_lines_left(s) > 1) screen_line(s);
    screen_style(s, SCREEN_SOFT);
    screen_left(s, 0, "q quit   up/down gate   s sort tenants");
    screen_line(s);
  }
  screen_end(s);
}
#endif
